/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - the encoding of the log: segment header, record, footer and high-water mark. Pure; no files.
 * docs/formats/journal.md specifies every byte; this header names them. All numbers are little-endian.
 *
 *     segment file:  header 4096 | record | record | ... | footer 128        (sealed)
 *                    header 4096 | record | record | ... | zeros             (open; size = header.capacity)
 *     record:        header 32 | payload | zeros to a multiple of 8
 *     high-water:    slot 4096 | slot 4096                                   (written alternately)
 *
 * Two checksums protect a record. The header's CRC is independent: it distinguishes a bad length from a bad payload
 * and makes a record recognisable after a bad one. The payload's CRC is chained to the record before: a swapped,
 * repeated or stale record breaks it even if the record itself is intact. */
#ifndef RUNG_JOURNAL_SEGMENT_H
#define RUNG_JOURNAL_SEGMENT_H

#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"
#include "journal/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_SEGMENT_VERSION      1u
#define RUNG_SEGMENT_HEADER_SIZE  4096u
#define RUNG_SEGMENT_FOOTER_SIZE  128u
#define RUNG_RECORD_HEADER_SIZE   32u
#define RUNG_HIGH_WATER_SLOT_SIZE 4096u
#define RUNG_HIGH_WATER_SIZE      (2 * RUNG_HIGH_WATER_SLOT_SIZE)
#define RUNG_SECTOR_SIZE          512u /* a disk writes this much atomically */
#define RUNG_UUID_SIZE            16u

#define RUNG_SEGMENT_SIZE_DEFAULT ((uint64_t)64 << 20)
#define RUNG_SEGMENT_SIZE_MIN     ((uint64_t)8192)
#define RUNG_SEGMENT_SIZE_MAX     ((uint64_t)1 << 31)

#define RUNG_HIGH_WATER_NAME "high-water"

/* Record flags. */
#define RUNG_RECORD_END     1u /* the last record of its append */
#define RUNG_RECORD_RELAXED 2u /* written under sync_every_ms: several appends may share a batch */

typedef struct rung_segment_header {
    uint8_t uuid[RUNG_UUID_SIZE]; /* of the log; the same in all its segments */
    uint64_t first_seq;           /* of the first record; the previous segment ends one below */
    uint64_t capacity;            /* size of the open file */
    uint32_t epoch;               /* incremented at each start of the log */
    uint32_t chain; /* payload CRC of record first_seq - 1; 0 at the start of the log */
    uint8_t previous_sha[RUNG_SHA256_SIZE]; /* of the previous segment; zeros if none */
} rung_segment_header;

typedef struct rung_segment_footer {
    uint8_t uuid[RUNG_UUID_SIZE];
    uint64_t first_seq, last_seq;
    uint64_t offset; /* offset of the footer = end of the records */
    uint32_t epoch;
    uint32_t chain; /* payload CRC of the last record */
    /* Of the file from 0 to `offset`; through previous_sha it covers all segments before. */
    uint8_t sha[RUNG_SHA256_SIZE];
} rung_segment_footer;

typedef struct rung_record_header {
    uint32_t length;
    uint64_t seq;
    uint32_t epoch;
    uint32_t batch; /* counts the syncs of this segment from 1 */
    uint16_t type;
    uint16_t flags;
    uint32_t payload_crc; /* seeded with the CRC of the previous record */
} rung_record_header;

/* "Everything up to `seq`, which ends at `offset` of that segment, was synced before this was written." */
typedef struct rung_high_water {
    uint8_t uuid[RUNG_UUID_SIZE];
    uint64_t generation;
    uint64_t seq;
    uint64_t segment_first_seq; /* 0: the log has no segment yet */
    uint64_t offset;
    uint32_t segment_epoch;
    uint32_t chain;
} rung_high_water;

/* "00000000000000000001-00000001.seg": first sequence in decimal, epoch in hexadecimal. */
void rung_segment_name(char name_out[RUNG_FILE_NAME_MAX], uint64_t first_seq, uint32_t epoch);
/* false for any other name. */
bool rung_segment_name_parse(const char *name, uint64_t *first_seq_out, uint32_t *epoch_out);

/* The seed of header checksums: records of another log never look valid in this one. */
uint32_t rung_segment_salt(const uint8_t uuid[RUNG_UUID_SIZE]);

/* The blocks of segments and snapshots: begin with magic, version and log, end with the CRC. */
void rung__block_begin(uint8_t *block, size_t size, const char magic[8], uint32_t version,
                       const uint8_t uuid[RUNG_UUID_SIZE]);
void rung__block_end(uint8_t *block, size_t size);
uint32_t rung__block_crc(const uint8_t *block, size_t size);

void rung_segment_header_encode(const rung_segment_header *h,
                                uint8_t out[RUNG_SEGMENT_HEADER_SIZE]);
void rung_segment_footer_encode(const rung_segment_footer *f,
                                uint8_t out[RUNG_SEGMENT_FOOTER_SIZE]);
void rung_high_water_encode(const rung_high_water *m, uint8_t out[RUNG_HIGH_WATER_SLOT_SIZE]);
void rung_record_header_encode(const rung_record_header *r, uint32_t salt,
                               uint8_t out[RUNG_RECORD_HEADER_SIZE]);

/* RUNG_OK; RUNG_ECORRUPT; or RUNG_EVERSION: valid, but of a newer version. */
RUNG_NODISCARD rung_status rung_segment_header_decode(const uint8_t in[RUNG_SEGMENT_HEADER_SIZE],
                                                      rung_segment_header *h_out);
RUNG_NODISCARD rung_status rung_segment_footer_decode(const uint8_t in[RUNG_SEGMENT_FOOTER_SIZE],
                                                      rung_segment_footer *f_out);
RUNG_NODISCARD rung_status rung_high_water_decode(const uint8_t in[RUNG_HIGH_WATER_SLOT_SIZE],
                                                  rung_high_water *m_out);
/* Are the 32 bytes a record header of the log with this salt? */
bool rung_record_header_decode(const uint8_t in[RUNG_RECORD_HEADER_SIZE], uint32_t salt,
                               rung_record_header *r_out);

static inline uint64_t rung_record_end(uint64_t offset, uint32_t length) {
    return offset + rung_log_framed_size(length);
}

/* ---- writing a batch ---- */

/* The state from which the next record of a segment continues. */
typedef struct rung_frame_state {
    uint32_t salt;
    uint32_t epoch;
    uint64_t next_seq;
    uint32_t chain;
    uint32_t batch; /* of the last record; 0 before the first */
    uint16_t flags; /* of the last record */
} rung_frame_state;

/* Encode one record at `out` (rung_log_framed_size bytes) and advance the state. `length` <= RUNG_LOG_RECORD_MAX. */
void rung_frame_encode(rung_frame_state *s, uint8_t *out, const rung_log_entry *entry,
                       uint32_t batch, uint16_t flags);

/* ---- reading records in order ---- */

typedef enum rung_frame_verdict {
    RUNG_FRAME_OK,          /* a record; the state has advanced past it */
    RUNG_FRAME_MORE,        /* `need` bytes are needed to decide */
    RUNG_FRAME_ZERO,        /* no record: the header is all zeros */
    RUNG_FRAME_FOOTER,      /* no record: a footer's magic */
    RUNG_FRAME_BAD_HEADER,  /* none of these, or a length beyond the limit */
    RUNG_FRAME_BAD_PAYLOAD, /* the header is valid, but the payload or its chain is not */
    RUNG_FRAME_BAD_ORDER,   /* a valid header of this log, but not the next one */
} rung_frame_verdict;

/* Examine the bytes where the next record should be. `available` bytes are readable now, at most `space` ever (to the
 * end of the record area). On RUNG_FRAME_OK, fills `header_out`; the payload is at in + 32. */
rung_frame_verdict rung_frame_next(rung_frame_state *s, const uint8_t *in, size_t available,
                                   uint64_t space, rung_record_header *header_out,
                                   size_t *need_out);

/* For messages: "the payload does not match its checksum". */
const char *rung_frame_verdict_text(rung_frame_verdict v);

#endif
