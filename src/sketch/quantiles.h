/* SPDX-License-Identifier: Apache-2.0 */
/* quantiles.h - where a key stands among billions, in fixed memory: an adaptive
 * histogram of ranks.
 *
 * Keys are unsigned 64-bit words compared as numbers, as in the ladder. The
 * histogram holds counts of aligned ranges of 2^level keys that may lie inside
 * each other, as a q-digest does; single keys that come often stay exact. As
 * long as memory allows, every key does.
 *
 *     rung_quantiles *q;
 *     rung_quantiles_create(&(rung_quantiles_config){rung_alloc_heap(), 1 <<
 * 20}, &q); rung_quantiles_add(q, key); rung_quantiles_below(q, key, &rank); //
 * rank.low <= true number <= rank.high
 *
 * Bound: every answer carries bounds that always hold, with no chance in them,
 * whatever the order of the keys. They are the counts of the ranges that
 * contain the key but are not known to lie on one side of it. In advance: the
 * width is at most 64 * step, where step <= 1 + count * 4.25 / capacity. For
 * scores that come in no special order the width is about count * 2 / capacity
 * and the estimate is a tenth of that from the truth
 * (docs/adr/0028-rank-histogram.md). Merging adds the widths of the parts: the
 * bound in proportion to the count stays, with 1 for each part.
 *
 * The contents are a function of the keys and their order, not of saving and
 * loading. All memory is taken by create. Pure: no I/O, clock or threads. One
 * thread at a time. */
#ifndef RUNG_SKETCH_QUANTILES_H
#define RUNG_SKETCH_QUANTILES_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/slice.h"
#include "base/status.h"
#include "sketch/stream.h"

#define RUNG_QUANTILES_MEMORY_MIN ((size_t)4 << 10)
#define RUNG_QUANTILES_MEMORY_MAX ((size_t)64 << 20)
#define RUNG_QUANTILES_COUNT_MAX  (((uint64_t)1 << 57) - 1)

/* Heap object; the creator calls rung_quantiles_destroy(). */
typedef struct rung_quantiles rung_quantiles;

typedef struct rung_quantiles_config {
    const rung_alloc *alloc; /* outlives the sketch */
    size_t memory_bytes;     /* RUNG_QUANTILES_MEMORY_MIN..MAX: all that it will ever
                          take */
} rung_quantiles_config;

/* A number of keys: low <= estimate <= high, and the truth lies between low and
 * high. */
typedef struct rung_rank_bounds {
    uint64_t low, estimate, high;
} rung_rank_bounds;

/* ---- life ---- */

/* RUNG_OK, RUNG_EINVAL (memory) or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_quantiles_create(const rung_quantiles_config *config,
                                                 rung_quantiles **out);
void rung_quantiles_destroy(rung_quantiles *q); /* accepts NULL */
void rung_quantiles_clear(rung_quantiles *q);

/* ---- changes: on any failure the sketch is exactly as before ---- */

/* RUNG_OK, or RUNG_ERANGE at RUNG_QUANTILES_COUNT_MAX keys. Needs no memory.
 * O(1) on average; once in so many keys as the buffer holds (a sixth of the
 * capacity, at most 65,536) it goes through the whole histogram, 10 ns per
 * range. */
RUNG_NODISCARD rung_status rung_quantiles_add(rung_quantiles *q, uint64_t key);

/* Add all that `from` has seen. RUNG_OK, RUNG_EINVAL for other memory,
 * RUNG_ERANGE, or RUNG_ENOMEM (it needs twice the sketch's memory while it
 * works). */
RUNG_NODISCARD rung_status rung_quantiles_merge(rung_quantiles *q, const rung_quantiles *from);

/* ---- queries ---- */

uint64_t rung_quantiles_count(const rung_quantiles *q);    /* keys seen */
uint32_t rung_quantiles_capacity(const rung_quantiles *q); /* ranges at most */
size_t rung_quantiles_memory(const rung_quantiles *q);     /* bytes held, at most memory_bytes */
/* How many ranges so much memory holds. */
uint32_t rung_quantiles_capacity_of(size_t memory_bytes);
/* The bound in advance, as a share of the count: 64 * 4.25 / capacity. */
double rung_quantiles_error_of(size_t memory_bytes);
/* The least and the greatest key, exactly. False when there is none. */
bool rung_quantiles_span(const rung_quantiles *q, uint64_t *least_out, uint64_t *greatest_out);

/* How many keys are less than `key`. O(levels in use * log capacity + buffer).
 */
void rung_quantiles_below(const rung_quantiles *q, uint64_t key, rung_rank_bounds *out);
/* How many keys are not greater. */
void rung_quantiles_upto(const rung_quantiles *q, uint64_t key, rung_rank_bounds *out);

/* A key that stands at `index` (from 0) by the estimate: the greatest with no
 * more than `index` keys estimated below it. Bounds:
 * rung_quantiles_below(key).low <= index < rung_quantiles_upto(key).high.
 * RUNG_OK, or RUNG_NOT_FOUND for an index that does not exist. 64 times the
 * cost of rung_quantiles_below(). */
rung_status rung_quantiles_at(const rung_quantiles *q, uint64_t index, uint64_t *key_out);

/* The greatest difference between high and low at any key: no answer is off by
 * more. O(capacity + buffer). */
uint64_t rung_quantiles_error(const rung_quantiles *q);

/* ---- save and load: byte for byte in quantiles_bytes.c ---- */

/* Sorts the buffer in place first, which changes no answer. */
void rung_quantiles_save(rung_quantiles *q, rung_byte_writer *w);
void rung_quantiles_stream(rung_quantiles *q, rung_sketch_put *put, void *ctx); /* in pieces */
/* RUNG_OK, RUNG_ENOMEM, or RUNG_ECORRUPT for anything that save does not write.
 */
RUNG_NODISCARD rung_status rung_quantiles_load(const rung_alloc *alloc, rung_slice bytes,
                                               rung_quantiles **out, rung_err *err);

/* A digest of the contents, the same for equal contents. O(n). */
uint64_t rung_quantiles_digest(const rung_quantiles *q);

const char *rung_quantiles_check(const rung_quantiles *q); /* NULL, or the broken invariant; O(n) */

#endif
