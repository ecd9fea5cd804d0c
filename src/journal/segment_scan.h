/* SPDX-License-Identifier: Apache-2.0 */
/* segment_scan.h - read one segment file record by record, in large blocks, and classify its tail. Packed files
 * (segment_pack.h) read as the plain ones that they were.
 *
 * Used by everything that reads a log: recovery, cursors, verify, backup. Never writes. One thread at a time. */
#ifndef RUNG_JOURNAL_SEGMENT_SCAN_H
#define RUNG_JOURNAL_SEGMENT_SCAN_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/segment.h"
#include "journal/segment_pack.h"
#include "journal/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Public for reading: `header`, `offset`, `state` and `verdict`. */
typedef struct rung_segment_scan {
    const rung_alloc *alloc;
    rung_file file;
    rung_segment_packed *packed; /* NULL: a plain file */
    uint64_t file_size;          /* of the plain bytes */
    rung_segment_header header;
    rung_frame_state state;     /* after the last good record */
    uint64_t offset;            /* of the next record */
    uint64_t limit;             /* records must end here at the latest */
    rung_frame_verdict verdict; /* why `next` ended */
    bool has_sha;
    rung_sha256 sha; /* of the file up to `offset`, when asked for */
    uint8_t *buffer;
    size_t buffer_size, buffer_len;
    uint64_t buffer_at; /* file offset of buffer[0] */
} rung_segment_scan;

/* Open `name`, and check its header and that the header matches the name. RUNG_NOT_FOUND, RUNG_ECORRUPT,
 * RUNG_EVERSION, RUNG_ENOMEM and RUNG_EIO leave the scan closed. */
RUNG_NODISCARD rung_status rung_segment_scan_open(rung_segment_scan *s, const rung_alloc *alloc,
                                                  const rung_dir *dir, const char *name,
                                                  bool with_sha, rung_err *err);
void rung_segment_scan_close(rung_segment_scan *s);

/* Read plain bytes of the file, as rung_file_read(). */
RUNG_NODISCARD rung_status rung_segment_scan_read(const rung_segment_scan *s, void *buffer,
                                                  size_t len, uint64_t offset, size_t *got_out,
                                                  rung_err *err);

/* Read the next record; the payload is borrowed until the next call. RUNG_NOT_FOUND at the limit, at zeros or at a
 * footer; RUNG_ECORRUPT at anything else. `verdict` says which. Without `may_refill` the buffer is not refilled, so
 * that earlier payloads stay valid; RUNG_PARTIAL if it does not contain the next record. */
RUNG_NODISCARD rung_status rung_segment_scan_next(rung_segment_scan *s, bool may_refill,
                                                  rung_log_record *record_out, rung_err *err);

/* Skip to record `seq`, verifying all records before it. RUNG_NOT_FOUND: the records end before. */
RUNG_NODISCARD rung_status rung_segment_scan_seek(rung_segment_scan *s, uint64_t seq,
                                                  rung_err *err);

/* Read the footer at the current offset. RUNG_OK: valid, and consistent with the records read (except their hash: see
 * footer_out->sha); RUNG_NOT_FOUND: none; RUNG_ECORRUPT: invalid or inconsistent. */
RUNG_NODISCARD rung_status rung_segment_scan_footer(rung_segment_scan *s,
                                                    rung_segment_footer *footer_out, rung_err *err);

/* Read the footer at the very end of a sealed file, without reading its records. RUNG_NOT_FOUND: no valid footer that
 * matches the header. */
RUNG_NODISCARD rung_status rung_segment_scan_last_footer(rung_segment_scan *s,
                                                         rung_segment_footer *footer_out,
                                                         rung_err *err);

typedef enum rung_tail {
    RUNG_TAIL_CLEAN,   /* the records end with a complete batch, and zeros follow */
    RUNG_TAIL_TORN,    /* the last batch is incomplete: a crash explains every byte */
    RUNG_TAIL_DAMAGED, /* no crash explains it */
} rung_tail;

/* Classify what follows the last good record of an open segment; call it when `next` has ended. `data_end_out` is the
 * end of the last non-zero byte. `why_out` receives a static text for RUNG_TAIL_DAMAGED. Ends the scan. */
RUNG_NODISCARD rung_status rung_segment_scan_judge(rung_segment_scan *s, rung_tail *tail_out,
                                                   uint64_t *data_end_out, const char **why_out,
                                                   rung_err *err);

/* Fill `err`: "segment <name>, offset <n>, sequence <n>: <what>", code RUNG_ECORRUPT. */
rung_status rung_segment_scan_damage(const rung_segment_scan *s, const char *what, rung_err *err);

#endif
