/* SPDX-License-Identifier: Apache-2.0 */
/* event_run.h - which blocks have a name: pairs of a hash and a block, sorted, in chunks of bytes.
 *
 * A pair is one word, the hash above the block. docs/formats/archive.md specifies the bytes of a chunk. Safe for any
 * bytes; a change is detected. Pure. */
#ifndef RUNG_ARCHIVE_SQLITE_EVENT_RUN_H
#define RUNG_ARCHIVE_SQLITE_EVENT_RUN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef RUNG_TEST_BUILD
#define RUNG_EVENT_CHUNK_PAIRS 16u
#else
#define RUNG_EVENT_CHUNK_PAIRS 2048u
#endif
#define RUNG_EVENT_CHUNK_PAIRS_MAX 2048u                                 /* of any chunk */
#define RUNG_EVENT_CHUNK_BYTES     (4 + RUNG_EVENT_CHUNK_PAIRS_MAX * 10) /* at most */

static inline uint64_t rung_event_pair(uint32_t hash, uint32_t block) {
    return (uint64_t)hash << 32 | block;
}

/* Sort by hash, keeping the order of equal ones; `scratch` has as many. Returns how many are left without repeats. */
size_t rung_event_pairs_sort(uint64_t *pairs, uint64_t *scratch, size_t count);

/* Write up to RUNG_EVENT_CHUNK_PAIRS_MAX sorted pairs with blocks from `base` on. Returns the number of bytes. */
size_t rung_event_chunk_write(const uint64_t *pairs, size_t count, uint32_t base, uint8_t *out);
/* Read a chunk. false: it is damaged. */
bool rung_event_chunk_read(rung_slice bytes, uint32_t base,
                           uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS_MAX], size_t *count_out);

#endif
