/* SPDX-License-Identifier: Apache-2.0 */
/* distinct.h - how many different names were added, in fixed memory
 * (HyperLogLog).
 *
 * 2^precision registers of 6 bits. A name counts by its 64-bit hash under the
 * sketch's seed, so adding it again changes nothing, and two sketches with one
 * seed and precision merge without loss: the merged sketch has the bytes it
 * would have if it had seen both streams. The estimate is Ertl's
 * (arXiv:1702.01284), which corrects small and large counts in the same
 * formula, with no table and no logarithm: additions, products and square roots
 * of doubles, the same bits on every machine.
 *
 *     rung_distinct *d;
 *     rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), 12,
 * seed}, &d); rung_distinct_add(d, RUNG_SLICE("alice"));
 *     rung_distinct_estimate(d);                                  // 1
 *
 * Bound: the standard error is 1.04 / sqrt(2^precision) of the count: 1.6 % at
 * 12, 0.81 % at 14. It is a statement about chance: one count in twenty is off
 * by more than two standard errors. Pure: no I/O, clock or threads. One thread
 * at a time. */
#ifndef RUNG_SKETCH_DISTINCT_H
#define RUNG_SKETCH_DISTINCT_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/slice.h"
#include "base/status.h"
#include "sketch/stream.h"

enum { RUNG_DISTINCT_PRECISION_MIN = 4, RUNG_DISTINCT_PRECISION_MAX = 18 };

typedef struct rung_distinct
    rung_distinct; /* heap object; the creator calls rung_distinct_destroy() */

typedef struct rung_distinct_config {
    const rung_alloc *alloc; /* outlives the sketch */
    uint32_t precision;      /* 4..18 */
    uint64_t seed;           /* of the hash; sketches merge only with an equal one */
} rung_distinct_config;

/* RUNG_OK, RUNG_EINVAL (precision) or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_distinct_create(const rung_distinct_config *config,
                                                rung_distinct **out);
void rung_distinct_destroy(rung_distinct *d); /* accepts NULL */

/* Bytes held at that precision, without the object's head of about 400. */
static inline size_t rung_distinct_register_bytes(uint32_t precision) {
    return ((size_t)3 << precision) / 4;
}

/* ---- changes: none needs memory ---- */

/* True when the sketch changed. O(1). */
bool rung_distinct_add(rung_distinct *d, rung_slice name);
/* The same for a 64-bit hash of the caller's, which must be uniform. */
bool rung_distinct_add_hash(rung_distinct *d, uint64_t hash);

/* Add all that `from` has seen. RUNG_OK, or RUNG_EINVAL for another precision
 * or seed: nothing changed. */
RUNG_NODISCARD rung_status rung_distinct_merge(rung_distinct *d, const rung_distinct *from);
void rung_distinct_clear(rung_distinct *d);

/* ---- queries ---- */

uint64_t rung_distinct_estimate(const rung_distinct *d); /* rounded to the nearest; O(1) */
/* The standard error in parts per million of the count. */
uint32_t rung_distinct_error_ppm(const rung_distinct *d);
size_t rung_distinct_memory(const rung_distinct *d); /* bytes held */

/* ---- save and load: byte for byte in distinct.c ---- */

void rung_distinct_save(const rung_distinct *d, rung_byte_writer *w);
void rung_distinct_stream(const rung_distinct *d, rung_sketch_put *put, void *ctx); /* in pieces */
/* RUNG_OK, RUNG_ENOMEM, or RUNG_ECORRUPT for anything that save does not write.
 */
RUNG_NODISCARD rung_status rung_distinct_load(const rung_alloc *alloc, rung_slice bytes,
                                              rung_distinct **out, rung_err *err);

const char *
rung_distinct_check(const rung_distinct *d); /* NULL, or the broken invariant; O(registers) */

#endif
