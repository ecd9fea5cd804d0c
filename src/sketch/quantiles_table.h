/* SPDX-License-Identifier: Apache-2.0 */
/* quantiles_table.h - how the rank histogram lies in memory. Private to the
 * room.
 *
 * One block of memory: the object, then slots for ranges (the first range_count
 * in use, the others are working space of a flush), the buffer of keys that are
 * not in a range yet, and sums: sums[i] counts the keys in the ranges before
 * range i * RUNG__SUM_STRIDE.
 *
 * Invariants:
 *  1. Ranges are strictly ascending, aligned, and their counts are not 0.
 *  2. A range of level 1 and more counts at most `step` keys.
 *  3. Counts of ranges and keys in the buffer sum up to `count`.
 *  4. At most `capacity` ranges and fewer than buffer_max keys in the buffer.
 *  5. sums and levels (bit l - 1 for level l) say what the ranges are.
 *  6. least and greatest lie in ranges or in the buffer, and nothing lies
 * outside of them. */
#ifndef RUNG_SKETCH_QUANTILES_TABLE_H
#define RUNG_SKETCH_QUANTILES_TABLE_H

#include "sketch/quantiles.h"
#include "sketch/ranges.h"

enum { RUNG__SUM_STRIDE = 64 };

struct rung_quantiles {
    const rung_alloc *alloc;
    size_t block_bytes, memory_bytes;
    uint64_t count, step, least, greatest, levels;
    uint32_t capacity, slot_count, range_count, buffer_max, buffered;
    rung__range *slots;
    uint64_t *buffer, *sums;
};

/* Renew sums and levels after a change of the ranges. */
void rung__quantiles_index(rung_quantiles *q);
void rung__quantiles_sort_buffer(rung_quantiles *q);
/* Sort n keys; `second` has room for as many. */
void rung__sort_keys(uint64_t *keys, uint32_t n, uint64_t *second);
/* Fold the n ranges at the end of `slots` until at most `capacity` are left. */
uint32_t rung__quantiles_shrink(rung__range *slots, uint32_t slot_count, uint32_t n,
                                uint32_t capacity, uint64_t count, uint64_t *step);

#endif
