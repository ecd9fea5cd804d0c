/* SPDX-License-Identifier: Apache-2.0 */
/* segment_pack.h - a sealed segment, compressed: the same bytes in a file of the same name that takes less space.
 *
 *     rung_segment_pack(&dir, alloc, name, false, &size, &err);      // replaces the plain file, atomically
 *
 *     rung_segment_packed_open(&p, alloc, &file, &err);              // RUNG_NOT_FOUND: a plain segment
 *     rung_segment_packed_read(p, buffer, len, offset, &got, &err);  // as rung_file_read() of the plain file
 *
 * The plain bytes are cut into blocks, each compressed by zstd on its own, so that a reader can begin anywhere. Header
 * and footer of the segment are blocks of their own: a start reads only those. Every byte of the file is covered by a
 * checksum; the hash in the footer still covers the plain bytes, and so does the chain of segments.
 * docs/formats/journal.md specifies every byte. Threads: a reader belongs to one thread. */
#ifndef RUNG_JOURNAL_SEGMENT_PACK_H
#define RUNG_JOURNAL_SEGMENT_PACK_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heap object. Release it with rung_segment_packed_close(). */
typedef struct rung_segment_packed rung_segment_packed;

/* Read the index of a packed segment; `file` stays the caller's and must stay open. RUNG_OK; RUNG_NOT_FOUND: a plain
 * file; RUNG_ECORRUPT; RUNG_EVERSION; RUNG_EIO; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_segment_packed_open(rung_segment_packed **packed_out,
                                                    const rung_alloc *alloc, const rung_file *file,
                                                    rung_err *err);
void rung_segment_packed_close(rung_segment_packed *p); /* NULL is fine */

uint64_t rung_segment_packed_plain_size(const rung_segment_packed *p);
/* Up to `len` plain bytes from `offset` on; fewer only at the end, or before a damaged block. RUNG_ECORRUPT: the block
 * at `offset` is damaged. */
RUNG_NODISCARD rung_status rung_segment_packed_read(rung_segment_packed *p, void *buffer,
                                                    size_t len, uint64_t offset, size_t *got_out,
                                                    rung_err *err);

/* Compress the sealed segment `name`. A crash leaves the plain file or the packed one. RUNG_OK; RUNG_UNCHANGED: it is
 * packed already, not sealed, followed by zeros (a crash), or would not become smaller; RUNG_NOT_FOUND: it was
 * removed; RUNG_ECORRUPT: no sealed segment; otherwise nothing changed. `size_out`: of the file on the disk, also for
 * RUNG_UNCHANGED. `gives_way`: compress only when no other thread wants the processor. */
RUNG_NODISCARD rung_status rung_segment_pack(const rung_dir *dir, const rung_alloc *alloc,
                                             const char *name, bool gives_way, uint64_t *size_out,
                                             rung_err *err);

#endif
