/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - look at a log's folder and decide what the log is. Reads only; what to do about it is the caller's.
 *
 * The image is complete or there is none: RUNG_ECORRUPT names segment, offset and sequence, and nothing was
 * changed. A torn tail is not damage: it is described in the image, and the log goes on before it. */
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
    uint64_t end;      /* offset behind the last record */
    uint64_t capacity;
    uint32_t epoch;
    uint32_t chain_before, chain; /* before the first and of the last record */
    bool is_sealed;               /* its footer is on the disk */
    uint8_t previous_sha[RUNG_SHA256_SIZE];
    uint8_t sha[RUNG_SHA256_SIZE]; /* when sealed */
} rung_segment_info;

/* A place between two records. */
typedef struct rung_log_place {
    uint64_t seq; /* of the record before it */
    uint64_t offset;
    uint32_t chain;
} rung_log_place;

typedef struct rung_log_image {
    const rung_alloc *alloc;
    uint8_t uuid[RUNG_UUID_SIZE]; /* valid when has_mark */
    bool has_mark;                /* false: the folder holds no log yet */
    rung_high_water mark;         /* the newer whole slot */
    bool is_mark_slot_bad;        /* the other slot was not whole */
    rung_segment_info *segments;  /* by first sequence, then epoch; the last one is the newest */
    size_t count, capacity;
    /* Of the last segment, when it is not sealed: */
    rung_tail tail;
    uint64_t torn_end; /* behind the last byte that is not zero; torn bytes are [end, torn_end) */
    rung_log_place
        sure; /* synced for certain: the mark, or the segment's beginning; what follows is re-persisted */
    uint8_t sure_sha[RUNG_SHA256_SIZE];
    uint32_t epoch_max;
} rung_log_image;

/* Fill `image`. RUNG_OK (also for an empty folder), RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_log_image_read(rung_log_image *image, const rung_alloc *alloc,
                                               const rung_dir *dir, rung_err *err);
void rung_log_image_deinit(rung_log_image *image);

/* The newer whole slot of the high-water file. RUNG_NOT_FOUND when there is no file, RUNG_ECORRUPT when neither slot
 * is whole. */
RUNG_NODISCARD rung_status rung_high_water_read(const rung_dir *dir, rung_high_water *mark_out,
                                                bool *is_slot_bad_out, rung_err *err);

/* The names of all segments, in order, as `segments` with first_seq and epoch only. */
RUNG_NODISCARD rung_status rung_log_image_list(rung_log_image *image, const rung_alloc *alloc,
                                               const rung_dir *dir, rung_err *err);

#endif
