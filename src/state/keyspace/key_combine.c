/* SPDX-License-Identifier: Apache-2.0 */
/* Unions, intersections and differences of keys, with Redis's arithmetic. Keys are processed by size, smallest first
 * (of equals, the first named), because sums of doubles depend on the order. A product that is NaN counts as 0. In an
 * intersection that holds only for the smallest key; a NaN in any other makes the whole sum 0.
 *
 * The typical workload is friends: a set of a few hundred and a board of millions. An intersection walks the smallest
 * key and looks up its members in the others, in groups, to hide memory latency. */
#include "state/keyspace/key_read.h"
#include "state/keyspace/set.h"
#include "state/machine.h"

#include <math.h>
#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { GROUP = 5, FEW = 6, SOME = 16, BUCKETS = 8 };
#else
enum {
    GROUP = 256,  /* members looked up at a time */
    FEW = 48,     /* up to this many, a comparison sort beats the radix sort */
    SOME = 1024,  /* and up to this many, a bucket sort */
    BUCKETS = 256 /* of the bucket sort */
};
#endif

/* ---- pairs ---- */

void rung__pairs_free(const rung_alloc *alloc, rung__pairs *pairs) {
    rung_alloc_free(alloc, pairs->items, pairs->cap * sizeof *pairs->items);
    memset(pairs, 0, sizeof *pairs);
}

static rung_status reserve(const rung_alloc *alloc, rung__pairs *pairs, uint32_t more,
                           uint32_t rows_max) {
    if (more > rows_max || pairs->count > rows_max - more)
        return RUNG_ELIMIT;
    return rung__grow(alloc, &pairs->items, &pairs->cap, pairs->count + more, sizeof *pairs->items);
}

/* By score, then by name; without `players`, by number. */
static bool goes_before(const rung_names *players, const rung__pair *a, const rung__pair *b) {
    if (a->score != b->score)
        return a->score < b->score;
    return players ? rung_names_compare(players, a->player, b->player) < 0 : a->player < b->player;
}

static void merge(const rung_names *players, const rung__pair *from, rung__pair *to, size_t low,
                  size_t mid, size_t high) {
    size_t a = low, b = mid;
    for (size_t i = low; i < high; i++)
        to[i] = a < mid && (b == high || !goes_before(players, &from[b], &from[a])) ? from[a++]
                                                                                    : from[b++];
}

/* Bottom-up merge sort: at most n log n comparisons, whatever scores a client chose. */
static void sort_by_merging(const rung_names *players, rung__pair *pairs, rung__pair *spare,
                            size_t n) {
    rung__pair *from = pairs, *to = spare;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n;
            merge(players, from, to, low, mid, mid + width < n ? mid + width : n);
        }
        rung__pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
}

static uint64_t bits_of(const rung__pair *p) {
    uint64_t bits;
    memcpy(&bits, &p->score, sizeof bits);
    return bits;
}

/* Map scores to unsigned numbers with the same order, or back. The two zeros differ but are adjacent. */
static void turn(rung__pair *pairs, size_t n, bool back) {
    const uint64_t sign = (uint64_t)1 << 63;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = bits_of(&pairs[i]);
        bits ^= (bits >> 63) != back ? UINT64_MAX : sign;
        memcpy(&pairs[i].score, &bits, sizeof bits);
    }
}

/* One counting pass over eight bits: `to` gets the pairs sorted by them, otherwise in the order of `from`. */
static void sort_by_byte(const rung__pair *from, rung__pair *to, size_t n, unsigned shift) {
    uint32_t places[256] = {0}, place = 0;
    for (size_t i = 0; i < n; i++)
        places[bits_of(&from[i]) >> shift & 255]++;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t count = places[byte];
        places[byte] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        to[places[bits_of(&from[i]) >> shift & 255]++] = from[i];
}

/* Radix sort by score, eight bits at a time, starting at the lowest differing bits: no branch depends on the scores.
 * Integers up to a million usually differ in 24 bits. */
static void sort_by_counting(rung__pair *pairs, rung__pair *spare, size_t n) {
    rung__pair *from = pairs, *to = spare;
    uint64_t differing = 0;
    turn(pairs, n, false);
    for (size_t i = 1; i < n; i++)
        differing |= bits_of(&pairs[i]) ^ bits_of(&pairs[0]);
    unsigned lowest = differing ? (unsigned)__builtin_ctzll(differing) : 64;
    for (unsigned shift = lowest; shift < 64; shift += 8) {
        if (!(differing >> shift & 255))
            continue;
        sort_by_byte(from, to, n, shift);
        rung__pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
    turn(pairs, n, true);
}

/* The relative position of a score between the lowest and highest. Rounded, but monotonic. */
static inline uint32_t bucket_of(double score, double least, double scale) {
    return (uint32_t)(int32_t)((score - least) * scale);
}

/* `to` has the pairs by their buckets. */
static void sort_by_bucket(const rung__pair *from, rung__pair *to, size_t n, double least,
                           double scale) {
    uint16_t places[BUCKETS] = {0}, place = 0;
    for (size_t i = 0; i < n; i++)
        places[bucket_of(from[i].score, least, scale)]++;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint16_t count = places[bucket];
        places[bucket] = place;
        place = (uint16_t)(place + count);
    }
    for (size_t i = 0; i < n; i++)
        to[places[bucket_of(from[i].score, least, scale)]++] = from[i];
}

/* Bucket sort by score, for at most SOME pairs: into buckets, then insertion within each. Scores are usually spread
 * well enough. false: they are not, and `pairs` is in any order. */
static bool sort_by_spread(rung__pair *pairs, rung__pair *spare, size_t n) {
    double least = pairs[0].score, most = least;
    for (size_t i = 1; i < n; i++) {
        least = pairs[i].score < least ? pairs[i].score : least;
        most = pairs[i].score > most ? pairs[i].score : most;
    }
    double scale = (BUCKETS - 1) / (most - least);
    if (!(scale > 0 && scale < HUGE_VAL)) /* one score only, or they are infinitely far apart */
        return false;
    sort_by_bucket(pairs, spare, n, least, scale);
    size_t moves_left = 4 * n;
    for (size_t i = 0, at; i < n; i++) {
        for (at = i; at && pairs[at - 1].score > spare[i].score; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = spare[i];
        if (i - at > moves_left) {
            memcpy(pairs, spare, n * sizeof *pairs);
            return false;
        }
        moves_left -= i - at;
    }
    return true;
}

/* Read only the names of members whose scores tie: names are scattered over memory. */
rung_status rung__pairs_sort(const rung_alloc *alloc, const rung_names *players,
                             rung__pairs *pairs) {
    size_t n = pairs->count, bytes = n * sizeof *pairs->items;
    rung__pair *items = pairs->items;
    if (n < 2)
        return RUNG_OK;
    rung__pair *spare = rung_alloc_get(alloc, bytes);
    if (!spare)
        return RUNG_ENOMEM;
    if (n <= FEW) {
        sort_by_merging(players, items, spare, n);
    } else {
        if (n > SOME || !sort_by_spread(items, spare, n))
            sort_by_counting(items, spare, n);
        for (size_t start = 0, end; start < n; start = end) {
            for (end = start + 1; end < n && items[end].score == items[start].score;)
                end++;
            if (end - start > 1)
                sort_by_merging(players, items + start, spare, end - start);
        }
    }
    rung_alloc_free(alloc, spare, bytes);
    return RUNG_OK;
}

rung_status rung__pairs_read(const rung_alloc *alloc, const rung_zkey *k, uint32_t first,
                             uint32_t end, rung__pairs *out) {
    if (first >= end)
        return RUNG_OK;
    if (reserve(alloc, out, end - first, UINT32_MAX) < 0)
        return RUNG_ENOMEM;
    rung_ladder_cursor c = rung_ladder_seek(k->ladder, k->is_ascending ? first : k->count - first);
    for (uint32_t i = first; i < end; i++) {
        rung_ladder_entry e;
        if (k->is_ascending)
            rung_ladder_next(&c, &e);
        else
            rung_ladder_prev(&c, &e);
        out->items[out->count++] = (rung__pair){rung__zkey_score(k, e.key), e.player};
    }
    return RUNG_OK;
}

/* ---- members of one key, group by group ---- */

typedef struct walk {
    const rung_zkey *k;
    rung_ladder_cursor cursor;
    uint32_t from; /* of a set */
    uint32_t n;
    uint32_t players[GROUP];
    double scores[GROUP];
} walk;

static void walk_begin(walk *w, const rung_zkey *k) {
    w->k = k;
    w->from = 0;
    if (k->ladder)
        w->cursor = rung_ladder_seek(k->ladder, 0);
}

/* Banned players are in no ranking: a set may contain them, a ranking made from it may not. */
static void drop_banned(walk *w) {
    const rung__sparse *bans = &w->k->state->bans;
    uint32_t kept = 0;
    if (bans->count == 0)
        return;
    for (uint32_t i = 0; i < w->n; i++)
        if (rung_numbermap_get(&bans->map, w->players[i]) == RUNG_NUMBER_NONE)
            w->players[kept++] = w->players[i];
    w->n = kept;
}

/* The next group, perhaps of none; false when there are no more. */
static bool walk_next(walk *w) {
    rung_ladder_entry e;
    w->n = 0;
    if (w->k->ladder) {
        for (; w->n < GROUP && rung_ladder_next(&w->cursor, &e); w->n++) {
            w->players[w->n] = e.player;
            w->scores[w->n] = rung__zkey_score(w->k, e.key);
        }
        return w->n > 0;
    }
    if (!w->k->set || w->from == RUNG_PLAYER_NONE)
        return false;
    w->n = rung__set_list(w->k->set, w->from, w->players, GROUP);
    w->from = w->n == GROUP ? w->players[GROUP - 1] + 1 : RUNG_PLAYER_NONE;
    drop_banned(w);
    for (uint32_t i = 0; i < w->n; i++)
        w->scores[i] = 1;
    return true;
}

/* ---- arithmetic ---- */

static double weigh(double weight, double score) {
    double value = weight * score;
    return isnan(value) ? 0 : value;
}

static double aggregate_of(rung_aggregate aggregate, double a, double b) {
    double sum = a + b;
    switch (aggregate) {
    case RUNG_AGGREGATE_MIN:
        return b < a ? b : a;
    case RUNG_AGGREGATE_MAX:
        return b > a ? b : a;
    case RUNG_AGGREGATE_SUM:
        break;
    }
    return isnan(sum) ? 0 : sum;
}

/* ---- the three ---- */

typedef struct combination {
    const rung_alloc *alloc;
    rung_aggregate aggregate;
    uint32_t n;
    const rung_zkey *keys;
    const double *weights; /* NULL: all 1 */
    const rung__pair
        *order; /* the size and index of each key; smallest first, of a difference as named */
    uint32_t rows_max;
    rung__pairs *out;
} combination;

static double weight_of(const combination *c, uint32_t key) {
    return c->weights ? c->weights[key] : 1;
}

/* Keep the members of the group that are in a key (or are not), and aggregate their values. */
static void keep_members(const combination *c, walk *w, uint32_t key, bool wanted) {
    double scores[GROUP];
    bool found[GROUP];
    uint32_t kept = 0;
    rung__zkey_find(&c->keys[key], w->n, w->players, scores, found);
    for (uint32_t i = 0; i < w->n; i++) {
        if (found[i] != wanted)
            continue;
        w->players[kept] = w->players[i];
        w->scores[kept++] =
            found[i] ? aggregate_of(c->aggregate, w->scores[i], weight_of(c, key) * scores[i])
                     : w->scores[i];
    }
    w->n = kept;
}

static rung_status add_group(const combination *c, const walk *w) {
    rung_status st = reserve(c->alloc, c->out, w->n, c->rows_max);
    if (st < 0)
        return st;
    for (uint32_t i = 0; i < w->n; i++)
        c->out->items[c->out->count++] = (rung__pair){w->scores[i], w->players[i]};
    return RUNG_OK;
}

/* The members of the first key that are in all others, or if not `wanted`, in none of them. Only an intersection has
 * weights. */
static rung_status filter(const combination *c, bool wanted) {
    walk w;
    walk_begin(&w, &c->keys[c->order[0].player]);
    while (walk_next(&w)) {
        for (uint32_t i = 0; wanted && i < w.n; i++)
            w.scores[i] = weigh(weight_of(c, c->order[0].player), w.scores[i]);
        for (uint32_t k = 1; w.n && k < c->n; k++)
            keep_members(c, &w, c->order[k].player, wanted);
        rung_status st = add_group(c, &w);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

/* Compare the first key with the members of all others, collected once. */
static rung_status subtract_gathered(const combination *c) {
    rung_numbermap others = {0};
    rung_status st = RUNG_OK;
    walk w;
    for (uint32_t k = 1; st >= 0 && k < c->n; k++) {
        walk_begin(&w, &c->keys[k]);
        while (st >= 0 && walk_next(&w))
            for (uint32_t i = 0; st >= 0 && i < w.n; i++)
                st = rung_numbermap_add(&others, c->alloc, w.players[i], 0);
    }
    walk_begin(&w, &c->keys[0]);
    while (st >= 0 && walk_next(&w)) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < w.n; i++) {
            if (rung_numbermap_get(&others, w.players[i]) != RUNG_NUMBER_NONE)
                continue;
            w.players[kept] = w.players[i];
            w.scores[kept++] = w.scores[i];
        }
        w.n = kept;
        st = add_group(c, &w);
    }
    rung_numbermap_deinit(&others, c->alloc);
    return st;
}

/* A few look-ups are cheaper than collecting; with a large first key and a thousand small keys, collecting is
 * cheaper. */
static bool is_gathered_cheaper(const rung_zkey_sizes *sizes) {
    return sizes->first * sizes->n > 2 * sizes->all;
}

static rung_status subtract(const combination *c) {
    rung_zkey_sizes sizes = {0};
    for (uint32_t i = 0; i < c->n; i++)
        rung_zkey_sizes_add(&sizes, c->keys[i].count);
    return is_gathered_cheaper(&sizes) ? subtract_gathered(c) : filter(c, false);
}

/* Add one member of one key to the union. `places` has the index of each among the pairs. */
static rung_status unite_one(const combination *c, rung_numbermap *places, uint32_t player,
                             double value) {
    rung__pairs *out = c->out;
    uint32_t at = rung_numbermap_get(places, player);
    if (at != RUNG_NUMBER_NONE) {
        out->items[at].score = aggregate_of(c->aggregate, out->items[at].score, value);
        return RUNG_OK;
    }
    rung_status st = reserve(c->alloc, out, 1, c->rows_max);
    if (st >= 0)
        st = rung_numbermap_add(places, c->alloc, player, out->count);
    if (st < 0)
        return st;
    out->items[out->count++] = (rung__pair){value, player};
    return RUNG_OK;
}

static rung_status unite(const combination *c) {
    rung_numbermap places = {0};
    rung_status st = RUNG_OK;
    for (uint32_t k = 0; st >= 0 && k < c->n; k++) {
        walk w;
        walk_begin(&w, &c->keys[c->order[k].player]);
        while (st >= 0 && walk_next(&w))
            for (uint32_t i = 0; st >= 0 && i < w.n; i++)
                st = unite_one(c, &places, w.players[i],
                               weigh(weight_of(c, c->order[k].player), w.scores[i]));
    }
    rung_numbermap_deinit(&places, c->alloc);
    return st;
}

rung_status rung__pairs_combine(const rung_alloc *alloc, rung_combine_keys combine,
                                rung_aggregate aggregate, uint32_t n, const rung_zkey *keys,
                                const double *weights, uint32_t rows_max, rung__pairs *out) {
    size_t bytes = 2 * (size_t)n * sizeof(rung__pair);
    rung__pair *order = rung_alloc_get(alloc, bytes);
    if (!order)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        order[i] = (rung__pair){keys[i].count, i};
    if (combine != RUNG_KEYS_DIFF)
        sort_by_merging(NULL, order, order + n, n);
    combination c = {alloc, aggregate, n, keys, weights, order, rows_max, out};
    rung_status st = combine == RUNG_KEYS_UNION   ? unite(&c)
                     : combine == RUNG_KEYS_INTER ? filter(&c, true)
                                                  : subtract(&c);
    rung_alloc_free(alloc, order, bytes);
    if (st < 0)
        rung__pairs_free(alloc, out);
    return st;
}

/* ---- for front ends ---- */

rung_status rung_zkeys_combine(const rung_alloc *alloc, rung_combine_keys combine,
                               rung_aggregate aggregate, uint32_t n, const rung_zkey *keys,
                               const double *weights, uint32_t rows_max, rung_zkey_list *out) {
    rung__pairs pairs = {0};
    const rung_state *state = keys[0].state;
    rung_status st =
        rung__pairs_combine(alloc, combine, aggregate, n, keys, weights, rows_max, &pairs);
    if (st >= 0)
        st = rung__pairs_sort(alloc, state->players, &pairs);
    if (st < 0)
        rung__pairs_free(alloc, &pairs);
    *out = (rung_zkey_list){pairs.count, pairs.cap, pairs.items, alloc, state};
    return st;
}

uint32_t rung_zkey_list_read(const rung_zkey_list *list, uint32_t from, uint32_t room,
                             rung_zkey_row *rows) {
    uint32_t numbers[GROUP];
    rung_slice names[GROUP];
    if (from >= list->count || room == 0)
        return 0;
    uint32_t left = list->count - from, n = room < GROUP ? room : GROUP;
    n = left < n ? left : n;
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = list->pairs[from + i].player;
    rung_names_id_used(list->state->players, numbers, n, names);
    for (uint32_t i = 0; i < n; i++)
        rows[i] = (rung_zkey_row){names[i], list->pairs[from + i].score};
    return n;
}

void rung_zkey_list_free(rung_zkey_list *list) {
    rung_alloc_free(list->alloc, list->pairs, list->cap * sizeof *list->pairs);
    memset(list, 0, sizeof *list);
}

uint64_t rung_zkeys_work(rung_combine_keys combine, const rung_zkey_sizes *sizes) {
    switch (combine) {
    case RUNG_KEYS_UNION:
        return sizes->all + sizes->n;
    case RUNG_KEYS_INTER:
        return sizes->smallest * sizes->n + sizes->n;
    case RUNG_KEYS_DIFF:
        break;
    }
    return (is_gathered_cheaper(sizes) ? sizes->all : sizes->first * sizes->n) + sizes->n;
}

uint64_t rung_zkeys_intersect_count(uint32_t n, const rung_zkey *keys, uint64_t limit) {
    uint32_t smallest = 0;
    uint64_t count = 0;
    for (uint32_t i = 1; i < n; i++)
        smallest = keys[i].count < keys[smallest].count ? i : smallest;
    combination c = {.n = n, .keys = keys};
    walk w;
    walk_begin(&w, &keys[smallest]);
    while (walk_next(&w) && (!limit || count < limit)) {
        for (uint32_t k = 0; w.n && k < n; k++)
            if (k != smallest)
                keep_members(&c, &w, k, true);
        count += w.n;
    }
    return limit && count > limit ? limit : count;
}
