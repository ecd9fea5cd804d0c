/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_file.h - a byte stream in a file that is complete or absent: the state at one sequence.
 *
 * The caller defines the content. Each block has a checksum; a trailer has the total and a digest of the state. The
 * file gets its name only after everything is synced. The newest two are always kept, and listed in a manifest;
 * rung_snapshot_writer_keep() names older ones to keep as well (snapshot_list.h).
 * docs/formats/snapshot-file.md specifies every byte.
 *
 *     rung_snapshot_writer_begin(&dir, alloc, uuid, seq, &w, &err);
 *     rung_snapshot_writer_append(w, bytes, len, &err);          // any number of times
 *     rung_snapshot_writer_finish(w, digest, &info, &err);       // or rung_snapshot_writer_abort(w)
 *
 *     rung_snapshot_reader_open(&dir, alloc, uuid, seq, &r, &err);
 *     rung_snapshot_reader_next(r, &bytes, &len, &err);          // until RUNG_NOT_FOUND
 *
 * Threads: a writer or reader belongs to one thread; both may run beside the log. One writer per folder. */
#ifndef RUNG_JOURNAL_SNAPSHOT_FILE_H
#define RUNG_JOURNAL_SNAPSHOT_FILE_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/segment.h"

#include <stddef.h>
#include <stdint.h>

#define RUNG_SNAPSHOT_VERSION       1u
#define RUNG_SNAPSHOT_BLOCK_SIZE    ((size_t)1 << 16)
#define RUNG_SNAPSHOT_DIGEST_SIZE   32u
#define RUNG_SNAPSHOT_KEEP          2u /* the newest ones, which the manifest lists */
#define RUNG_SNAPSHOT_MANIFEST      "manifest"
#define RUNG_SNAPSHOT_MANIFEST_SIZE 512u

typedef struct rung_snapshot_info {
    uint64_t seq;        /* the state after this record */
    uint64_t size_bytes; /* of the stream */
    uint32_t crc;        /* of the stream */
    int64_t
        time_ms; /* log time of that record; 0: unknown (not in the manifest, nor in older files) */
    uint8_t digest[RUNG_SNAPSHOT_DIGEST_SIZE];
} rung_snapshot_info;

/* Heap object. Finish or abort releases it. */
typedef struct rung_snapshot_writer rung_snapshot_writer;

RUNG_NODISCARD rung_status rung_snapshot_writer_begin(const rung_dir *dir, const rung_alloc *alloc,
                                                      const uint8_t uuid[RUNG_UUID_SIZE],
                                                      uint64_t seq,
                                                      rung_snapshot_writer **writer_out,
                                                      rung_err *err);
/* The log time of the snapshot. Not called: it says none. */
void rung_snapshot_writer_set_time(rung_snapshot_writer *w, int64_t time_ms);
/* Finish shall also keep these older snapshots, `seqs` in ascending order, borrowed until then. */
void rung_snapshot_writer_keep(rung_snapshot_writer *w, const uint64_t *seqs, size_t count);
/* After a failure only abort remains. */
RUNG_NODISCARD rung_status rung_snapshot_writer_append(rung_snapshot_writer *w, const void *bytes,
                                                       size_t len, rung_err *err);
/* Sync the file, give it its name, list it, and remove all but the newest two and those to keep. Frees the writer in
 * any case. After a failure the older snapshots are unchanged; this one may exist, and if it does, it is complete. */
RUNG_NODISCARD rung_status rung_snapshot_writer_finish(
    rung_snapshot_writer *w, const uint8_t digest[RUNG_SNAPSHOT_DIGEST_SIZE],
    rung_snapshot_info *info_out, rung_err *err);
void rung_snapshot_writer_abort(rung_snapshot_writer *w); /* NULL is fine */

/* Heap object. Release it with rung_snapshot_reader_close(). */
typedef struct rung_snapshot_reader rung_snapshot_reader;

/* The snapshot at `seq` of the log `uuid`. RUNG_NOT_FOUND, RUNG_ECORRUPT, RUNG_EVERSION. */
RUNG_NODISCARD rung_status rung_snapshot_reader_open(const rung_dir *dir, const rung_alloc *alloc,
                                                     const uint8_t uuid[RUNG_UUID_SIZE],
                                                     uint64_t seq,
                                                     rung_snapshot_reader **reader_out,
                                                     rung_err *err);
/* The same for a file with another name. */
RUNG_NODISCARD rung_status rung_snapshot_reader_open_file(const rung_dir *dir,
                                                          const rung_alloc *alloc, const char *name,
                                                          const uint8_t uuid[RUNG_UUID_SIZE],
                                                          uint64_t seq,
                                                          rung_snapshot_reader **reader_out,
                                                          rung_err *err);
/* Read the next block, verified; borrowed until the next call. RUNG_NOT_FOUND at the end, after the trailer was
 * verified: do not trust the data before that. RUNG_ECORRUPT names file and offset. */
RUNG_NODISCARD rung_status rung_snapshot_reader_next(rung_snapshot_reader *r,
                                                     const void **bytes_out, size_t *len_out,
                                                     rung_err *err);
/* Complete once next has returned RUNG_NOT_FOUND. */
rung_snapshot_info rung_snapshot_reader_info(const rung_snapshot_reader *r);
void rung_snapshot_reader_close(rung_snapshot_reader *r); /* NULL is fine */
/* Read it to its end. RUNG_OK: whole; otherwise as open and next. */
RUNG_NODISCARD rung_status rung_snapshot_check(const rung_dir *dir, const rung_alloc *alloc,
                                               const uint8_t uuid[RUNG_UUID_SIZE], uint64_t seq,
                                               rung_snapshot_info *info_out, rung_err *err);

/* A snapshot file as it is, to be copied. While it is open it stays readable, even when newer ones replace it. */
typedef struct rung_snapshot_raw {
    rung_file file; /* the caller closes it */
    uint64_t size;  /* of the file */
    uint8_t uuid[RUNG_UUID_SIZE];
    rung_snapshot_info info; /* of its trailer */
} rung_snapshot_raw;
/* Open the file `name` and check its header and trailer, not its blocks. RUNG_NOT_FOUND, RUNG_ECORRUPT,
 * RUNG_EVERSION. */
RUNG_NODISCARD rung_status rung_snapshot_raw_open(const rung_dir *dir, const char *name,
                                                  rung_snapshot_raw *raw_out, rung_err *err);

/* Copy the snapshot at `seq` of the log `uuid` to the folder `to`, as one of the log `to_uuid`, which must have the
 * same records up to `seq`. Verifies every block. As rung_snapshot_reader_open(), and the failures of writing. */
RUNG_NODISCARD rung_status rung_snapshot_adopt(const rung_dir *dir, const rung_alloc *alloc,
                                               const uint8_t uuid[RUNG_UUID_SIZE], uint64_t seq,
                                               const rung_dir *to,
                                               const uint8_t to_uuid[RUNG_UUID_SIZE],
                                               rung_snapshot_info *info_out, rung_err *err);

/* Report through `say` (may be NULL) snapshots that the manifest lists and the folder lacks, or a damaged manifest. No
 * data is lost, but somebody changed the folder. `seqs` come from rung_snapshot_list(). */
void rung_snapshot_compare_manifest(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                                    const uint64_t *seqs, size_t count,
                                    void (*say)(void *ctx, const char *line), void *ctx);

/* The sequences of the snapshots in the folder, newest first; at most `max`, the newest ones. */
RUNG_NODISCARD rung_status rung_snapshot_list(const rung_dir *dir, uint64_t *seqs, size_t max,
                                              size_t *count_out, rung_err *err);

/* What the manifest lists, newest first. RUNG_NOT_FOUND, RUNG_ECORRUPT, RUNG_EVERSION. */
RUNG_NODISCARD rung_status rung_snapshot_manifest_read(const rung_dir *dir,
                                                       const uint8_t uuid[RUNG_UUID_SIZE],
                                                       rung_snapshot_info infos[RUNG_SNAPSHOT_KEEP],
                                                       size_t *count_out, rung_err *err);
RUNG_NODISCARD rung_status rung_snapshot_manifest_write(const rung_dir *dir,
                                                        const uint8_t uuid[RUNG_UUID_SIZE],
                                                        const rung_snapshot_info *infos,
                                                        size_t count, rung_err *err);

void rung_snapshot_name(char name_out[RUNG_FILE_NAME_MAX], uint64_t seq);
bool rung_snapshot_name_parse(const char *name, uint64_t *seq_out);

#endif
