/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - examine a log's folder and describe the log in it. Only reads; the caller acts on the result.
 *
 * Returns a complete image or none: RUNG_ECORRUPT names segment, offset and sequence, and changes nothing. A torn
 * tail is not damage: the image describes it, and the log continues before it. */
#ifndef RUNG_JOURNAL_RECOVERY_H
#define RUNG_JOURNAL_RECOVERY_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/segment.h"
#include "journal/segment_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rung_segment_info {
    uint64_t first_seq;
    uint64_t last_seq; /* first_seq - 1 when it holds no record */
    uint64_t end;      /* end offset of the last record */
    uint64_t capacity;
    uint32_t epoch;
    uint32_t chain_before, chain; /* before the first record, and after the last */
    bool is_sealed;               /* its footer is on the disk */
    bool is_packed;               /* it is compressed, or is better left as it is */
    uint64_t file_bytes;          /* on the disk */
    uint8_t previous_sha[RUNG_SHA256_SIZE];
    uint8_t sha[RUNG_SHA256_SIZE]; /* when sealed */
} rung_segment_info;

/* The bytes of the footer that seals it. */
void rung_segment_info_footer(const rung_segment_info *info, const uint8_t uuid[RUNG_UUID_SIZE],
                              uint8_t footer_out[RUNG_SEGMENT_FOOTER_SIZE]);

/* A position between two records. */
typedef struct rung_log_place {
    uint64_t seq; /* of the record before it */
    uint64_t offset;
    uint32_t chain;
} rung_log_place;

typedef struct rung_log_image {
    const rung_alloc *alloc;
    uint8_t uuid[RUNG_UUID_SIZE]; /* valid when has_mark */
    bool has_mark;                /* false: the folder holds no log yet */
    rung_high_water mark;         /* the newer valid slot */
    bool is_mark_slot_bad;        /* the other slot was invalid */
    rung_segment_info *segments;  /* by first sequence, then epoch; the last one is newest */
    size_t count;
    uint32_t capacity;
    /* For the last segment, if it is not sealed: */
    rung_tail tail;
    uint64_t torn_end; /* end of the last non-zero byte; torn bytes are [end, torn_end) */
    /* Known to be synced: the mark, or the start of the segment. Records after it are persisted again. */
    rung_log_place sure;
    uint8_t sure_sha[RUNG_SHA256_SIZE];
    uint32_t epoch_max;
} rung_log_image;

/* Fill `image`. RUNG_OK (also for an empty folder), RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_log_image_read(rung_log_image *image, const rung_alloc *alloc,
                                               const rung_dir *dir, rung_err *err);
/* The same beside a running server, which may be in the middle of a change: damage is looked at again before it is
 * reported. */
RUNG_NODISCARD rung_status rung_log_image_read_live(rung_log_image *image, const rung_alloc *alloc,
                                                    const rung_dir *dir, rung_err *err);
void rung_log_image_deinit(rung_log_image *image);

/* Read the newer valid slot of the high-water file. RUNG_NOT_FOUND: no file; RUNG_ECORRUPT: neither slot is valid. */
RUNG_NODISCARD rung_status rung_high_water_read(const rung_dir *dir, rung_high_water *mark_out,
                                                bool *is_slot_bad_out, rung_err *err);

/* Make room for one more segment. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_log_image_reserve(rung_log_image *image);

/* List all segments in order; fills only first_seq and epoch of each. */
RUNG_NODISCARD rung_status rung_log_image_list(rung_log_image *image, const rung_alloc *alloc,
                                               const rung_dir *dir, rung_err *err);

#endif
