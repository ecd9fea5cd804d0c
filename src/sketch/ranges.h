/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h - aligned ranges of keys with counts, and folding them into fewer.
 * Private to the room.
 *
 * A range of level l holds the 2^l keys that differ from `last` in the lowest l
 * bits only; `last` is the greatest of them. Level 0 is a single key, level 64
 * all keys. Ranges are sorted by (last, level): those inside a range come just
 * before it. */
#ifndef RUNG_SKETCH_RANGES_H
#define RUNG_SKETCH_RANGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rung__range {
    uint64_t last;
    uint64_t packed; /* level in the upper 7 bits, count below */
} rung__range;

#define RUNG__RANGE_COUNT_MAX (((uint64_t)1 << 57) - 1)

static inline rung__range rung__range_of(uint64_t last, uint32_t level, uint64_t count) {
    return (rung__range){last, (uint64_t)level << 57 | count};
}

static inline uint32_t rung__range_level(rung__range r) {
    return (uint32_t)(r.packed >> 57);
}

static inline uint64_t rung__range_count(rung__range r) {
    return r.packed & RUNG__RANGE_COUNT_MAX;
}

/* The lowest `level` bits. */
static inline uint64_t rung__range_mask(uint32_t level) {
    return level == 64 ? UINT64_MAX : ((uint64_t)1 << level) - 1;
}

static inline uint64_t rung__range_first(rung__range r) {
    return r.last & ~rung__range_mask(rung__range_level(r));
}

static inline bool rung__range_is_before(rung__range a, rung__range b) {
    return a.last != b.last ? a.last < b.last : a.packed >> 57 < b.packed >> 57;
}

/* Fold ranges with small counts into larger ranges. Reads the `n` ranges that
 * end at slot `end` of `slots`, and writes the result from slot 0 on; returns
 * how many. All ranges within a range become one if they count at most `step`
 * keys together. By family: a range and its two halves become one if they count
 * at most `step` themselves, whatever lies further inside; a range within a
 * half with nothing beside it stands for the half. */
uint32_t rung__ranges_fold(rung__range *slots, uint32_t end, uint32_t n, uint64_t step,
                           bool is_by_family);

#endif
