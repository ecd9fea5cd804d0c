/* SPDX-License-Identifier: Apache-2.0 */
/* rate.c - buckets in one array, found by hash chains, kept in order of their last use.
 *
 * A bucket is identified by the keyed 64-bit hash of its kind and name. Two names with the same hash would share a
 * bucket; that is harmless, and nobody can provoke it without the key.
 *
 * Invariants:
 *   1. Buckets 0 .. used-1 are in the list from `newest` to `oldest`, each once.
 *   2. Each of them is in exactly the chain of its hash, once; no two have the same hash.
 *   3. All links of unused buckets and heads of empty chains are NONE. */
#include "guard/rate.h"

#include "base/assert.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct bucket {
    uint64_t hash;
    uint64_t level;     /* parts: `period_ms` of them are a token */
    int64_t at_ms;      /* when the level was so */
    uint32_t period_ms; /* of its limit: unused for this long, it is full */
    uint32_t chain;
    uint32_t newer, older;
} bucket;

struct rung_rate {
    const rung_alloc *alloc;
    rung_hash_key hash_key;
    bucket *buckets;
    uint32_t capacity, used;
    uint32_t *heads;
    uint32_t head_count; /* a power of two */
    uint32_t newest, oldest;
};

rung_status rung_rate_create(const rung_alloc *alloc, uint32_t capacity, rung_hash_key hash_key,
                             rung_rate **rate_out) {
    uint32_t head_count = 1;
    RUNG_ASSERT(capacity > 0 && capacity < NONE / 2);
    while (head_count < capacity)
        head_count *= 2;
    rung_rate *r = rung_alloc_zeroed(alloc, sizeof *r);
    if (!r)
        return RUNG_ENOMEM;
    *r = (rung_rate){.alloc = alloc,
                     .hash_key = hash_key,
                     .capacity = capacity,
                     .head_count = head_count,
                     .newest = NONE,
                     .oldest = NONE};
    r->buckets = rung_alloc_get(alloc, capacity * sizeof(bucket));
    r->heads = rung_alloc_get(alloc, head_count * sizeof(uint32_t));
    if (!r->buckets || !r->heads) {
        rung_rate_destroy(r);
        return RUNG_ENOMEM;
    }
    memset(r->heads, 0xFF, head_count * sizeof(uint32_t));
    *rate_out = r;
    return RUNG_OK;
}

void rung_rate_destroy(rung_rate *r) {
    if (!r)
        return;
    rung_alloc_free(r->alloc, r->buckets, r->capacity * sizeof(bucket));
    rung_alloc_free(r->alloc, r->heads, r->head_count * sizeof(uint32_t));
    rung_alloc_free(r->alloc, r, sizeof *r);
}

/* ---- the table ---- */

static uint32_t *head_of(const rung_rate *r, uint64_t hash) {
    return &r->heads[hash & (r->head_count - 1)];
}

static void unlink_use(rung_rate *r, uint32_t i) {
    bucket *b = &r->buckets[i];
    *(b->newer == NONE ? &r->newest : &r->buckets[b->newer].older) = b->older;
    *(b->older == NONE ? &r->oldest : &r->buckets[b->older].newer) = b->newer;
}

static void link_newest(rung_rate *r, uint32_t i) {
    bucket *b = &r->buckets[i];
    b->newer = NONE;
    b->older = r->newest;
    *(r->newest == NONE ? &r->oldest : &r->buckets[r->newest].newer) = i;
    r->newest = i;
}

static void unlink_chain(rung_rate *r, uint32_t i) {
    uint32_t *link = head_of(r, r->buckets[i].hash);
    while (*link != i)
        link = &r->buckets[*link].chain;
    *link = r->buckets[i].chain;
}

/* A free bucket, or the one unused for longest. `*is_early_out`: that one may not be full yet. */
static uint32_t claim(rung_rate *r, int64_t now_ms, bool *is_early_out) {
    *is_early_out = false;
    if (r->used < r->capacity)
        return r->used++;
    uint32_t i = r->oldest;
    *is_early_out = now_ms - r->buckets[i].at_ms < (int64_t)r->buckets[i].period_ms;
    unlink_use(r, i);
    unlink_chain(r, i);
    return i;
}

/* Find the bucket of this hash and make it the newest. A new one is full, or has `crowded` if the table is too small
 * for the names in use. */
static bucket *use(rung_rate *r, uint64_t hash, uint64_t full, uint64_t crowded, uint32_t period_ms,
                   int64_t now_ms) {
    uint32_t *head = head_of(r, hash);
    uint32_t i = *head;
    while (i != NONE && r->buckets[i].hash != hash)
        i = r->buckets[i].chain;
    if (i != NONE) {
        if (i != r->newest) {
            unlink_use(r, i);
            link_newest(r, i);
        }
        return &r->buckets[i];
    }
    bool is_early;
    i = claim(r, now_ms, &is_early);
    r->buckets[i] = (bucket){.hash = hash,
                             .level = is_early ? crowded : full,
                             .at_ms = now_ms,
                             .period_ms = period_ms,
                             .chain = *head};
    *head = i;
    link_newest(r, i);
    return &r->buckets[i];
}

/* ---- the bucket ---- */

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t hash_of(const rung_rate *r, rung_rate_kind kind, rung_slice name) {
    rung_hash_key key = {r->hash_key.k0 ^ (uint64_t)kind, r->hash_key.k1};
    return rung_hash_keyed(&key, name.ptr, name.len);
}

static uint32_t seconds_for(uint64_t parts, uint64_t count) {
    uint64_t ms = (parts + count - 1) / count;
    return (uint32_t)((ms + 999) / 1000);
}

static void fill(bucket *b, uint64_t count, uint64_t period, int64_t now_ms) {
    uint64_t full = count * period;
    if (now_ms > b->at_ms) {
        uint64_t passed = (uint64_t)now_ms - (uint64_t)b->at_ms;
        b->level += lesser(passed, period) * count;
    }
    if (b->level > full)
        b->level = full;
    b->at_ms = now_ms;
}

/* Never inlined, so that requests without a limit pay nothing. */
__attribute__((noinline)) static bool take(rung_rate *r, rung_rate_kind kind, rung_slice name,
                                           rung_rate_limit limit, uint32_t cost, int64_t now_ms,
                                           rung_rate_answer *answer_out) {
    uint64_t count = lesser(limit.count, RUNG_RATE_COUNT_MAX);
    uint64_t period = lesser(limit.period_ms, RUNG_RATE_PERIOD_MAX_MS);
    uint64_t full = count * period, wanted = lesser(cost, count) * period;
    bucket *b = use(r, hash_of(r, kind, name), full, wanted, (uint32_t)period, now_ms);
    fill(b, count, period, now_ms);
    bool is_taken = b->level >= wanted;
    if (is_taken)
        b->level -= wanted;
    *answer_out = (rung_rate_answer){
        .limit = (uint32_t)count,
        .remaining = (uint32_t)(b->level / period),
        .reset_s = seconds_for(full - b->level, count),
        .retry_s = is_taken ? 0 : seconds_for(wanted - b->level, count),
    };
    return is_taken;
}

bool rung_rate_take(rung_rate *r, rung_rate_kind kind, rung_slice name, rung_rate_limit limit,
                    uint32_t cost, int64_t now_ms, rung_rate_answer *answer_out) {
    if (limit.count && limit.period_ms)
        return take(r, kind, name, limit, cost, now_ms, answer_out);
    *answer_out = (rung_rate_answer){0};
    return true;
}

void rung_rate_give(rung_rate *r, rung_rate_kind kind, rung_slice name, rung_rate_limit limit,
                    uint32_t cost, int64_t now_ms) {
    if (!limit.count || !limit.period_ms)
        return;
    uint64_t count = lesser(limit.count, RUNG_RATE_COUNT_MAX);
    uint64_t period = lesser(limit.period_ms, RUNG_RATE_PERIOD_MAX_MS);
    bucket *b = use(r, hash_of(r, kind, name), count * period, 0, (uint32_t)period, now_ms);
    b->level += lesser(cost, count) * period;
    fill(b, count, period, now_ms);
}

uint32_t rung_rate_count(const rung_rate *r) {
    return r->used;
}

/* ---- self-check ---- */

static bool is_chained_once(const rung_rate *r, uint32_t wanted) {
    uint32_t steps = 0, found = 0;
    for (uint32_t i = *head_of(r, r->buckets[wanted].hash); i != NONE; i = r->buckets[i].chain) {
        if (++steps > r->used)
            return false;
        found += r->buckets[i].hash == r->buckets[wanted].hash;
    }
    return found == 1;
}

const char *rung_rate_check(const rung_rate *r) {
    uint32_t listed = 0, newer = NONE, chained = 0;
    for (uint32_t i = r->newest; i != NONE; newer = i, i = r->buckets[i].older) {
        if (++listed > r->used || r->buckets[i].newer != newer)
            return "1: the list of uses does not hold together";
        if (!is_chained_once(r, i))
            return "2: a bucket is not in its chain exactly once";
    }
    if (listed != r->used || r->oldest != newer)
        return "1: the list of uses has not all buckets";
    for (uint32_t h = 0; h < r->head_count; h++)
        for (uint32_t i = r->heads[h]; i != NONE && chained <= r->used; i = r->buckets[i].chain)
            chained++;
    return chained == r->used ? NULL : "3: the chains have more buckets than are used";
}
