/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram of ranges over 64-bit keys that is filled through a buffer.
 *
 * Keys wait in a buffer. When it is full, they are sorted and merged into the
 * ranges as single keys; if there are then too many ranges, they are folded
 * (ranges.h). `step` grows by a sixteenth until they fit; if it would exceed
 * four times count / capacity, families are folded instead, which always ends.
 * Layout and invariants: quantiles_table.h.
 *
 * The keys of a range are placed within it as those are that were counted more
 * finely inside it later. */
#include "sketch/quantiles.h"

#include "base/hash.h"
#include "sketch/quantiles_table.h"

#include <string.h>

typedef unsigned __int128 wide;

enum {
    BUFFER_SHARE = 6, /* the buffer holds a sixth of the capacity: chosen by
                       measurement, see bench/bench_sketch.c */
    BUFFER_MAX = 65536,
    GAP_SHARE = 16, /* working space of a fold, as a share of the capacity */
    PRIOR = 16,     /* keys that stand for an even spread when a range's keys are
                     placed by those inside it */
};

static uint32_t buffer_of(uint32_t capacity) {
    return capacity / BUFFER_SHARE < BUFFER_MAX ? capacity / BUFFER_SHARE : BUFFER_MAX;
}

static uint32_t slots_of(uint32_t capacity) {
    return capacity + buffer_of(capacity) + capacity / GAP_SHARE + 1;
}

static uint32_t sums_of(uint32_t capacity) {
    return capacity / RUNG__SUM_STRIDE + 1;
}

static size_t bytes_of(uint32_t capacity) {
    return sizeof(rung_quantiles) + slots_of(capacity) * sizeof(rung__range) +
           ((size_t)buffer_of(capacity) + sums_of(capacity)) * sizeof(uint64_t);
}

uint32_t rung_quantiles_capacity_of(size_t memory_bytes) {
    uint32_t low = 1, high = (uint32_t)(memory_bytes / sizeof(rung__range));
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bytes_of(middle) <= memory_bytes)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double rung_quantiles_error_of(size_t memory_bytes) {
    return 64 * 4.25 / rung_quantiles_capacity_of(memory_bytes);
}

rung_status rung_quantiles_create(const rung_quantiles_config *config, rung_quantiles **out) {
    if (config->memory_bytes < RUNG_QUANTILES_MEMORY_MIN ||
        config->memory_bytes > RUNG_QUANTILES_MEMORY_MAX)
        return RUNG_EINVAL;
    uint32_t capacity = rung_quantiles_capacity_of(config->memory_bytes);
    rung_quantiles *q = rung_alloc_get(config->alloc, bytes_of(capacity));
    if (!q)
        return RUNG_ENOMEM;
    *q = (rung_quantiles){
        .alloc = config->alloc,
        .block_bytes = bytes_of(capacity),
        .memory_bytes = config->memory_bytes,
        .capacity = capacity,
        .slot_count = slots_of(capacity),
        .buffer_max = buffer_of(capacity),
        .slots = (rung__range *)(q + 1),
    };
    q->buffer = (uint64_t *)(q->slots + q->slot_count);
    q->sums = q->buffer + q->buffer_max;
    rung_quantiles_clear(q);
    *out = q;
    return RUNG_OK;
}

void rung_quantiles_destroy(rung_quantiles *q) {
    if (q)
        rung_alloc_free(q->alloc, q, q->block_bytes);
}

void rung_quantiles_clear(rung_quantiles *q) {
    q->count = q->step = q->greatest = 0;
    q->least = UINT64_MAX;
    q->range_count = q->buffered = 0;
    rung__quantiles_index(q);
}

/* ---- the flush ---- */

void rung__quantiles_index(rung_quantiles *q) {
    uint64_t sum = 0;
    q->levels = 0;
    q->sums[0] = 0;
    for (uint32_t i = 0; i < q->range_count; i++) {
        uint32_t level = rung__range_level(q->slots[i]);
        if (i % RUNG__SUM_STRIDE == 0)
            q->sums[i / RUNG__SUM_STRIDE] = sum;
        if (level)
            q->levels |= (uint64_t)1 << (level - 1);
        sum += rung__range_count(q->slots[i]);
    }
}

/* Radix sort by bytes; bytes in which no two keys differ are skipped. */
void rung__sort_keys(uint64_t *keys, uint32_t n, uint64_t *second) {
    uint64_t *from = keys, *to = second, any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= keys[i] ^ keys[0];
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        uint32_t starts[256] = {0}, sum = 0;
        if (!(any >> shift & 255))
            continue;
        for (uint32_t i = 0; i < n; i++)
            starts[from[i] >> shift & 255]++;
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t size = starts[i];
            starts[i] = sum;
            sum += size;
        }
        for (uint32_t i = 0; i < n; i++)
            to[starts[from[i] >> shift & 255]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != keys)
        memcpy(keys, from, n * sizeof *from);
}

/* There are as many free slots as the buffer has keys. */
void rung__quantiles_sort_buffer(rung_quantiles *q) {
    rung__sort_keys(q->buffer, q->buffered, (uint64_t *)(q->slots + q->range_count));
}

/* Merge the sorted buffer into the ranges, from the end of the slots downwards;
 * returns how many ranges there are. */
static uint32_t merge_buffer(rung_quantiles *q) {
    uint32_t to = q->slot_count, ranges = q->range_count, keys = q->buffered;
    while (keys) {
        uint64_t key = q->buffer[keys - 1];
        uint32_t run = 0;
        while (keys && q->buffer[keys - 1] == key) {
            keys--;
            run++;
        }
        rung__range single = rung__range_of(key, 0, run);
        while (ranges && rung__range_is_before(single, q->slots[ranges - 1]))
            q->slots[--to] = q->slots[--ranges];
        if (ranges && q->slots[ranges - 1].last == key) /* level 0, or it would be behind */
            single.packed += q->slots[--ranges].packed;
        q->slots[--to] = single;
    }
    memmove(q->slots + to - ranges, q->slots, ranges * sizeof *q->slots);
    return q->slot_count - to + ranges;
}

uint32_t rung__quantiles_shrink(rung__range *slots, uint32_t slot_count, uint32_t n,
                                uint32_t capacity, uint64_t count, uint64_t *step) {
    if (n <= capacity) {
        memmove(slots, slots + slot_count - n, n * sizeof *slots);
        return n;
    }
    n = rung__ranges_fold(slots, slot_count, n, *step, false);
    while (n > capacity) {
        bool is_last = *step / 4 > count / capacity; /* then families leave 3 / 4 of the capacity */
        if (!is_last)
            *step += *step / 16 + 1;
        memmove(slots + slot_count - n, slots, n * sizeof *slots);
        n = rung__ranges_fold(slots, slot_count, n, *step, is_last);
    }
    return n;
}

static void flush(rung_quantiles *q) {
    rung__quantiles_sort_buffer(q);
    uint32_t n = merge_buffer(q);
    q->range_count =
        rung__quantiles_shrink(q->slots, q->slot_count, n, q->capacity, q->count, &q->step);
    q->buffered = 0;
    rung__quantiles_index(q);
}

rung_status rung_quantiles_add(rung_quantiles *q, uint64_t key) {
    if (q->count == RUNG_QUANTILES_COUNT_MAX)
        return RUNG_ERANGE;
    q->count++;
    q->least = key < q->least ? key : q->least;
    q->greatest = key > q->greatest ? key : q->greatest;
    q->buffer[q->buffered++] = key;
    if (q->buffered == q->buffer_max)
        flush(q);
    return RUNG_OK;
}

/* ---- queries ---- */

uint64_t rung_quantiles_count(const rung_quantiles *q) {
    return q->count;
}

uint32_t rung_quantiles_capacity(const rung_quantiles *q) {
    return q->capacity;
}

size_t rung_quantiles_memory(const rung_quantiles *q) {
    return q->block_bytes;
}

bool rung_quantiles_span(const rung_quantiles *q, uint64_t *least_out, uint64_t *greatest_out) {
    if (!q->count)
        return false;
    *least_out = q->least;
    *greatest_out = q->greatest;
    return true;
}

/* Keys in the ranges before range i. */
static uint64_t sum_before(const rung_quantiles *q, uint32_t i) {
    if (i == 0)
        return 0;
    uint32_t block = (i - 1) / RUNG__SUM_STRIDE;
    uint64_t sum = q->sums[block];
    for (uint32_t j = block * RUNG__SUM_STRIDE; j < i; j++)
        sum += rung__range_count(q->slots[j]);
    return sum;
}

/* The first range from `from` on that is not before (last, level). */
static uint32_t find_range(const rung_quantiles *q, uint32_t from, uint64_t last, uint32_t level) {
    rung__range wanted = rung__range_of(last, level, 0);
    uint32_t low = from, high = q->range_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rung__range_is_before(q->slots[middle], wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many of the keys of range i lie below `key`, by estimate. `below`: keys
 * estimated below `key` in all ranges before it. The ranges inside it were
 * counted later; its own keys are taken to be spread as they are. */
static uint64_t share_below(const rung_quantiles *q, uint32_t i, uint64_t key, uint64_t below) {
    rung__range r = q->slots[i];
    uint32_t level = rung__range_level(r);
    uint64_t first = rung__range_first(r);
    uint64_t before = sum_before(q, find_range(q, 0, first, 0)), inside = sum_before(q, i) - before;
    uint64_t even = (uint64_t)(((wide)(key - first) * PRIOR) >> level);
    if (!inside) /* no ranges inside: spread evenly */
        return (uint64_t)(((wide)(key - first) * rung__range_count(r)) >> level);
    return (uint64_t)((wide)rung__range_count(r) * (below - before + even) / (inside + PRIOR));
}

static uint64_t buffered_below(const rung_quantiles *q, uint64_t key) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < q->buffered; i++)
        n += q->buffer[i] < key;
    return n;
}

/* Of the keys in ranges only. */
static rung_rank_bounds ranges_below(const rung_quantiles *q, uint64_t key) {
    uint32_t at = find_range(q, 0, key, 0);
    uint64_t sure = sum_before(q, at), estimate = sure, unsure = 0;
    for (uint64_t left = q->levels; left; left &= left - 1) {
        uint32_t level = (uint32_t)__builtin_ctzll(left) + 1;
        uint64_t mask = rung__range_mask(level);
        if (!(key & mask)) /* the first key of the range, and of all smaller ones:
                          none is below */
            continue;
        at = find_range(q, at, key | mask, level);
        if (at == q->range_count || q->slots[at].last != (key | mask) ||
            rung__range_level(q->slots[at]) != level)
            continue;
        estimate += share_below(q, at, key, estimate);
        unsure += rung__range_count(q->slots[at]);
    }
    return (rung_rank_bounds){sure, estimate, sure + unsure};
}

void rung_quantiles_below(const rung_quantiles *q, uint64_t key, rung_rank_bounds *out) {
    *out = (rung_rank_bounds){0, 0, 0};
    if (key <= q->least)
        return;
    if (key > q->greatest) {
        *out = (rung_rank_bounds){q->count, q->count, q->count};
        return;
    }
    uint64_t waiting = buffered_below(q, key);
    *out = ranges_below(q, key);
    out->low += waiting;
    out->estimate += waiting;
    out->high += waiting;
}

void rung_quantiles_upto(const rung_quantiles *q, uint64_t key, rung_rank_bounds *out) {
    if (key == UINT64_MAX)
        *out = (rung_rank_bounds){q->count, q->count, q->count};
    else
        rung_quantiles_below(q, key + 1, out);
}

rung_status rung_quantiles_at(const rung_quantiles *q, uint64_t index, uint64_t *key_out) {
    if (index >= q->count)
        return RUNG_NOT_FOUND;
    uint64_t low = q->least, high = q->greatest; /* nothing is below `low` at first */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 + 1;
        rung_rank_bounds below;
        rung_quantiles_below(q, middle, &below);
        if (below.estimate <= index)
            low = middle;
        else
            high = middle - 1;
    }
    *key_out = low;
    return RUNG_OK;
}

/* The greatest sum of counts of ranges that contain one key. Read backwards, a
 * range comes before those inside it: the stack holds the ranges that contain
 * the current one. */
uint64_t rung_quantiles_error(const rung_quantiles *q) {
    struct {
        uint64_t first, sum;
    } stack[65];
    uint32_t depth = 0;
    uint64_t greatest = 0;
    for (uint32_t i = q->range_count; i-- > 0;) {
        rung__range r = q->slots[i];
        if (!rung__range_level(r))
            continue;
        while (depth && stack[depth - 1].first > r.last)
            depth--;
        uint64_t sum = (depth ? stack[depth - 1].sum : 0) + rung__range_count(r);
        stack[depth].first = rung__range_first(r);
        stack[depth++].sum = sum;
        greatest = sum > greatest ? sum : greatest;
    }
    return greatest;
}

uint64_t rung_quantiles_digest(const rung_quantiles *q) {
    uint64_t sum = rung_hash_word(q->count), waiting = 0;
    for (uint32_t i = 0; i < q->range_count; i++)
        sum = rung_hash_word(rung_hash_word(sum + q->slots[i].last) + q->slots[i].packed);
    for (uint32_t i = 0; i < q->buffered; i++)
        waiting += rung_hash_word(q->buffer[i] + 1);
    sum = rung_hash_word(sum + waiting);
    sum = rung_hash_word(sum + q->step);
    return rung_hash_word(sum + q->memory_bytes);
}

/* ---- self-check ---- */

static const char *check_range(const rung_quantiles *q, uint32_t i) {
    rung__range r = q->slots[i];
    uint32_t level = rung__range_level(r);
    if (level > 64 || (r.last & rung__range_mask(level)) != rung__range_mask(level))
        return "1: a range is not aligned";
    if (!rung__range_count(r))
        return "1: a range is empty";
    if (i && !rung__range_is_before(q->slots[i - 1], r))
        return "1: the ranges are not in order";
    if (level && rung__range_count(r) > q->step)
        return "2: a range counts more than a step";
    if (r.last < q->least || rung__range_first(r) > q->greatest)
        return "6: a range lies outside of all keys";
    return NULL;
}

const char *rung_quantiles_check(const rung_quantiles *q) {
    uint64_t sum = 0, levels = 0;
    if (q->range_count > q->capacity || q->buffered >= q->buffer_max)
        return "4: too many ranges or keys";
    for (uint32_t i = 0; i < q->range_count; i++) {
        const char *broken = check_range(q, i);
        if (broken)
            return broken;
        if (i % RUNG__SUM_STRIDE == 0 && q->sums[i / RUNG__SUM_STRIDE] != sum)
            return "5: a sum is wrong";
        sum += rung__range_count(q->slots[i]);
        if (rung__range_level(q->slots[i]))
            levels |= (uint64_t)1 << (rung__range_level(q->slots[i]) - 1);
    }
    if (levels != q->levels)
        return "5: the levels are wrong";
    for (uint32_t i = 0; i < q->buffered; i++)
        if (q->buffer[i] < q->least || q->buffer[i] > q->greatest)
            return "6: a key in the buffer lies outside of all keys";
    if (sum + q->buffered != q->count)
        return "3: the counts do not sum up";
    return NULL;
}
