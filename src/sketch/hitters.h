/* SPDX-License-Identifier: Apache-2.0 */
/* hitters.h - the heaviest names of an unbounded stream, in fixed memory
 * (Space-Saving, weighted).
 *
 * Each name that is held has a count and an error: its true total lies between
 * count - error and count. A name that is not held has a true total of at most
 * `floor`. These bounds always hold, whatever the order of the stream.
 *
 *     rung_hitters *h;
 *     rung_hitters_create(&(rung_hitters_config){.alloc = rung_alloc_heap(),
 * .memory_bytes = 1 << 20}, &h); rung_hitters_add(h, RUNG_SLICE("alice"), 3);
 *     rung_hitters_top(h, 0, 10, rows);
 *
 * Bound in advance: floor <= total / n, where n is
 * rung_hitters_capacity_of(memory, L) if no name is longer than L: about 45
 * bytes per entry with names of 8 bytes, 55 with 16, 79 with 36. Merged
 * sketches keep the bound of the sum of the totals.
 *
 * The contents are a function of what was added and in which order, not of
 * memory layout or saving and loading. All memory is taken by create. Pure: no
 * I/O, clock or threads. One thread at a time. */
#ifndef RUNG_SKETCH_HITTERS_H
#define RUNG_SKETCH_HITTERS_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/slice.h"
#include "base/status.h"
#include "sketch/stream.h"

enum { RUNG_HITTERS_NAME_MAX = 128 };
#define RUNG_HITTERS_MEMORY_MIN ((size_t)4 << 10)
#define RUNG_HITTERS_MEMORY_MAX ((size_t)64 << 20)
#define RUNG_HITTERS_TOTAL_MAX  ((uint64_t)INT64_MAX)

typedef struct rung_hitters
    rung_hitters; /* heap object; the creator calls rung_hitters_destroy() */

typedef struct rung_hitters_config {
    const rung_alloc *alloc; /* outlives the sketch */
    size_t memory_bytes;     /* RUNG_HITTERS_MEMORY_MIN..MAX: all that it will ever
                          take */
    uint64_t seed;           /* decides between equal counts; sketches merge only with an
                      equal one */
    uint64_t secret;         /* of this process: nobody else can craft names that collide.
                      Changes no answer */
} rung_hitters_config;

typedef struct rung_hitter {
    rung_slice name; /* valid until the next change of the sketch */
    uint64_t count;  /* upper bound of the name's total */
    uint64_t error;  /* count - error is the lower bound; at most count */
} rung_hitter;

/* ---- life ---- */

/* RUNG_OK, RUNG_EINVAL (memory) or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_hitters_create(const rung_hitters_config *config,
                                               rung_hitters **out);
void rung_hitters_destroy(rung_hitters *h); /* accepts NULL */
void rung_hitters_clear(rung_hitters *h);

/* ---- changes: on any failure the sketch is exactly as before ---- */

/* Add `weight` to `name`, 1 to 128 bytes. Needs no memory; O(log capacity).
 * RUNG_OK, RUNG_EINVAL (length, weight 0), or RUNG_ERANGE when the total would
 * exceed RUNG_HITTERS_TOTAL_MAX. */
RUNG_NODISCARD rung_status rung_hitters_add(rung_hitters *h, rung_slice name, uint64_t weight);

/* Forget a name. It then counts as one that is not held; the total stays. RUNG_OK or
 * RUNG_NOT_FOUND. O(log capacity). */
rung_status rung_hitters_remove(rung_hitters *h, rung_slice name);

/* Add all that `from` has seen. RUNG_OK, RUNG_EINVAL for other memory or
 * another seed, RUNG_ERANGE, or RUNG_ENOMEM (it needs three times the sketch's
 * memory while it works). */
RUNG_NODISCARD rung_status rung_hitters_merge(rung_hitters *h, const rung_hitters *from);

/* ---- queries ---- */

uint64_t rung_hitters_total(const rung_hitters *h); /* sum of all weights */
uint64_t rung_hitters_floor(const rung_hitters *h); /* upper bound of every name that is not held */
uint32_t rung_hitters_count(const rung_hitters *h); /* names held */
uint32_t rung_hitters_capacity(const rung_hitters *h); /* at most so many, if they are short */
size_t rung_hitters_memory(const rung_hitters *h);     /* bytes held, at most memory_bytes */
/* Equal memory and seed: they can be merged. */
bool rung_hitters_is_alike(const rung_hitters *a, const rung_hitters *b);
/* How many names of that length so much memory holds, at least. */
uint32_t rung_hitters_capacity_of(size_t memory_bytes, uint32_t name_len);

/* RUNG_OK, or RUNG_NOT_FOUND. O(1). */
rung_status rung_hitters_find(const rung_hitters *h, rung_slice name, rung_hitter *out);

/* How many names held have a greater count. O(entries), 1 ns each. */
uint32_t rung_hitters_above(const rung_hitters *h, uint64_t count);

/* Up to `limit` names from place `offset` on, greatest count first, into
 * `rows`, which has room for offset + limit of them; row 0 is the one at
 * `offset`. Returns how many. Between equal counts the seed decides. O(entries
 * * log(offset + limit)). */
uint32_t rung_hitters_top(const rung_hitters *h, uint32_t offset, uint32_t limit,
                          rung_hitter *rows);

/* ---- save and load: byte for byte in hitters_bytes.c ---- */

/* Sorts the entries in place first, which changes no answer. O(n log n). */
void rung_hitters_save(rung_hitters *h, rung_byte_writer *w);
void rung_hitters_stream(rung_hitters *h, rung_sketch_put *put, void *ctx); /* in pieces */
/* RUNG_OK, RUNG_ENOMEM, or RUNG_ECORRUPT for anything that save does not write.
 */
RUNG_NODISCARD rung_status rung_hitters_load(const rung_alloc *alloc, uint64_t secret,
                                             rung_slice bytes, rung_hitters **out, rung_err *err);

/* A digest of the contents, the same for equal contents whatever the layout.
 * O(n). */
uint64_t rung_hitters_digest(const rung_hitters *h);

const char *rung_hitters_check(const rung_hitters *h); /* NULL, or the broken invariant; O(n) */

#endif
