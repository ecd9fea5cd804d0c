/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ladder.c - the ladder against a skip list with a hash table, in one run on one machine.
 *
 * Both structures get the same load: every player once, in random order, with a random score of 0 .. 10^6
 * (inverted, so that the best comes first) and the time as the second word. Then each question is put to both
 * in turn, round after round, and what counts is the median of the rounds' ratios: machines differ and
 * neighbours make noise, but both sides of a ratio had the same machine and the same neighbours within the same
 * second. Times are processor times, so that being interrupted does not count.
 *
 * Before anything is timed, the skip list is linked in the ladder's order, entry by entry, and both must then answer
 * some thousands of random questions alike; so no number here comes from a broken structure. No time is asserted: a
 * missed bar is reported, and the exit code is 0. */
#include "ladder/names.h"
#include "ladder/pipeline.h"
#include "skiplist.h"
#include "support/ladder_batch.h"
#include "support/machine.h"
#include "support/names_batch.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/shuffle.h"
#include "support/stopwatch.h"

#include "base/hash.h"

#include <malloc.h>
#include <string.h>

enum {
    CHUNK =
        4096, /* questions made up before the clock starts; small enough to stay in the second cache */
    BATCH = 32,
    TOP = 100,
    SIDE = 5,
    SCORE_MAX = 1000000,
    ROUNDS_MAX = 99,
    ID_BYTES = 15,
    VERIFY_QUESTIONS = 20000,
};
#define TIME_FIRST UINT64_C(1700000000000) /* milliseconds, as a server would have them */
#define GIB        1073741824.0

/* Beyond this, the load goes in batches: by then the one-by-one figures are known. */
#define SINGLE_LOAD_MAX UINT64_C(50000000)

typedef struct setting {
    bench_options common;
    bool is_full, has_no_peer;
    uint64_t slice_ms; /* how long each question is put to each side in a round */
} setting;

/* The two structures under the same load. */
typedef struct duel {
    rung_ladder *ladder;
    skiplist *peer; /* NULL: left out */
    uint32_t n;
    uint64_t now; /* the time word of the next change */
    rung_rng rng;
} duel;

/* Random questions, of all kinds. */
typedef struct chunk {
    uint32_t players[CHUNK];
    uint32_t indexes[CHUNK];
    uint64_t keys[CHUNK][2];
    uint64_t lo[CHUNK][2], hi[CHUNK][2];
} chunk;

/* What one size gave. Times in nanoseconds per question; 0 = not measured. */
enum { SINGLE, BATCHED, PEER, SIDES };
enum { QUESTIONS_MAX = 12 };

typedef struct outcome {
    uint32_t n;
    double ns[QUESTIONS_MAX][SIDES];    /* medians */
    double ratio[QUESTIONS_MAX][SIDES]; /* medians of peer / side */
    double load_rate, longest_us;
    uint64_t slow_puts; /* longer than a millisecond */
    double build_seconds, churn_rate;
    size_t bytes_loaded, bytes_churned, bytes_built, bytes_resident, bytes_peer, bytes_ids;
    double id_find_ns, id_rank_ns, id_move_ns, id_longest_us;
    const char *peer_absence; /* why there is none */
} outcome;

/* ---- load ---- */

/* The i-th arrival: a player nobody was before, with a random score, now. */
static uint32_t arrival(const bench_shuffle *order, uint64_t i, uint64_t *key) {
    uint64_t score = rung_hash_word(i ^ order->seed << 40) % (SCORE_MAX + 1);
    key[0] = ~score;
    key[1] = TIME_FIRST + i;
    return (uint32_t)bench_shuffle_at(order, i);
}

static void must(rung_status st, const char *what) {
    if (st < 0)
        bench_die("%s: %s", what, rung_status_text(st));
}

static double cpu_seconds_since(uint64_t start_ns) {
    return (double)(bench_cpu_ns() - start_ns) * 1e-9;
}

static rung_ladder *new_ladder(void) {
    rung_ladder *l = NULL;
    must(rung_ladder_create(
             &(rung_ladder_config){.alloc = rung_alloc_heap(), .key_words = 2, .score_words = 1},
             &l),
         "create");
    return l;
}

static void load_single(duel *d, const bench_shuffle *order, bench_laps *laps) {
    for (uint64_t i = 0; i < d->n; i++) {
        uint64_t key[2];
        uint32_t player = arrival(order, i, key);
        must(rung_ladder_put(d->ladder, player, key, NULL), "put");
        bench_lap(laps);
    }
}

static void load_batched(duel *d, const bench_shuffle *order, bench_laps *laps) {
    for (uint64_t i = 0; i < d->n; i += BATCH) {
        uint32_t players[BATCH], count = d->n - i < BATCH ? (uint32_t)(d->n - i) : BATCH;
        uint64_t keys[BATCH][2];
        for (uint32_t k = 0; k < count; k++)
            players[k] = arrival(order, i + k, keys[k]);
        must(ladder_put_batch(d->ladder, 2, count, players, keys[0], NULL, NULL), "put");
        bench_lap(laps);
    }
}

static void load_ladder(duel *d, const bench_shuffle *order, outcome *o) {
    malloc_trim(0); /* what the size before left in the heap must not hide what this one takes */
    size_t resident = bench_memory_resident();
    d->ladder = new_ladder();
    bench_laps laps;
    uint64_t start = bench_cpu_ns();
    bench_laps_begin(&laps);
    if (d->n <= SINGLE_LOAD_MAX)
        load_single(d, order, &laps);
    else
        load_batched(d, order, &laps);
    o->load_rate = d->n / cpu_seconds_since(start);
    o->longest_us = (double)laps.longest_ns * 1e-3;
    o->slow_puts = laps.over_1ms;
    o->bytes_loaded = rung_ladder_memory(d->ladder);
    size_t resident_now = bench_memory_resident();
    o->bytes_resident = resident_now > resident ? resident_now - resident : 0;
    d->now = TIME_FIRST + d->n;
    if (rung_ladder_count(d->ladder) != d->n)
        bench_die("the ladder lost entries");
}

static bool next_for_build(void *ctx, rung_ladder_entry *out) {
    return rung_ladder_next(ctx, out);
}

/* A second ladder from the first one's order. */
static void time_build(duel *d, outcome *o) {
    rung_ladder *copy = new_ladder();
    rung_ladder_cursor from = rung_ladder_seek(d->ladder, 0);
    uint64_t start = bench_cpu_ns();
    must(rung_ladder_build(copy, d->n, next_for_build, &from), "build");
    o->build_seconds = cpu_seconds_since(start);
    o->bytes_built = rung_ladder_memory(copy);
    rung_ladder_destroy(copy);
}

static bool next_for_peer(void *ctx, skiplist_entry *out) {
    rung_ladder_entry e;
    if (!rung_ladder_next(ctx, &e))
        return false;
    *out = (skiplist_entry){.key = {e.key[0], e.key[1]}, .member = e.player};
    return true;
}

static void load_peer(duel *d, const bench_shuffle *order, uint64_t seed, outcome *o) {
    d->peer = skiplist_create(seed);
    for (uint64_t i = 0; i < d->n; i++) {
        uint64_t key[2];
        uint32_t player = arrival(order, i, key);
        skiplist_stage(d->peer, player, key);
    }
    rung_ladder_cursor from = rung_ladder_seek(d->ladder, 0);
    if (!skiplist_link(d->peer, next_for_peer, &from))
        bench_die("the ladder's order or contents are wrong");
    o->bytes_peer = skiplist_memory(d->peer);
}

/* Why the peer does not take part at this size; NULL when it does. */
static const char *peer_absence(const setting *s, uint32_t n) {
    enum { PEER_BYTES_ENTRY = 120 }; /* node, table entry, bucket, malloc's words */
    enum { PEER_ENTRIES_MAX = 20000000 };
    if (s->has_no_peer)
        return "left out on request";
    if ((double)n * (double)PEER_BYTES_ENTRY > 0.9 * (double)bench_memory_available())
        return "left out: not enough memory";
    if (n > PEER_ENTRIES_MAX)
        return "left out: loading it would take many minutes";
    return NULL;
}

/* ---- questions ---- */

static void random_key(duel *d, uint64_t *key) {
    key[0] = ~rung_rng_below(&d->rng, SCORE_MAX + 1);
    key[1] = d->now++;
}

/* All keys with a score between two random ones. */
static void random_range(duel *d, uint64_t *lo, uint64_t *hi) {
    uint64_t a = ~rung_rng_below(&d->rng, SCORE_MAX + 1),
             b = ~rung_rng_below(&d->rng, SCORE_MAX + 1);
    lo[0] = a < b ? a : b;
    lo[1] = 0;
    hi[0] = a < b ? b : a;
    hi[1] = UINT64_MAX;
}

static void fill(chunk *c, duel *d) {
    for (uint32_t i = 0; i < CHUNK; i++) {
        c->players[i] = (uint32_t)rung_rng_below(&d->rng, d->n);
        c->indexes[i] = (uint32_t)rung_rng_below(&d->rng, d->n);
        random_key(d, c->keys[i]);
        random_range(d, c->lo[i], c->hi[i]);
    }
}

/* Puts a chunk of questions to one side; returns something that depends on all the answers. */
typedef uint64_t (*runner)(duel *d, const chunk *c);

static uint64_t move_single(duel *d, const chunk *c) {
    for (uint32_t i = 0; i < CHUNK; i++)
        must(rung_ladder_put(d->ladder, c->players[i], c->keys[i], NULL), "put");
    return 0;
}

static uint64_t move_batched(duel *d, const chunk *c) {
    for (uint32_t i = 0; i < CHUNK; i += BATCH)
        must(ladder_put_batch(d->ladder, 2, BATCH, &c->players[i], c->keys[i], NULL, NULL), "put");
    return 0;
}

static uint64_t move_peer(duel *d, const chunk *c) {
    for (uint32_t i = 0; i < CHUNK; i++)
        skiplist_put(d->peer, c->players[i], c->keys[i]);
    return 0;
}

static uint64_t rank_all_single(duel *d, const chunk *c, rung_rank_style style) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        uint32_t rank = 0;
        rung_ladder_rank(d->ladder, c->players[i], style, &rank);
        sum += rank;
    }
    return sum;
}

static uint64_t rank_all_batched(duel *d, const chunk *c, rung_rank_style style) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i += BATCH) {
        uint32_t ranks[BATCH];
        rung_ladder_rank_batch(d->ladder, BATCH, &c->players[i], style, ranks);
        for (uint32_t k = 0; k < BATCH; k++)
            sum += ranks[k];
    }
    return sum;
}

static uint64_t unique_single(duel *d, const chunk *c) {
    return rank_all_single(d, c, RUNG_RANK_UNIQUE);
}

static uint64_t unique_batched(duel *d, const chunk *c) {
    return rank_all_batched(d, c, RUNG_RANK_UNIQUE);
}

static uint64_t sparse_single(duel *d, const chunk *c) {
    return rank_all_single(d, c, RUNG_RANK_SPARSE);
}

static uint64_t sparse_batched(duel *d, const chunk *c) {
    return rank_all_batched(d, c, RUNG_RANK_SPARSE);
}

static uint64_t dense_single(duel *d, const chunk *c) {
    return rank_all_single(d, c, RUNG_RANK_DENSE);
}

static uint64_t dense_batched(duel *d, const chunk *c) {
    return rank_all_batched(d, c, RUNG_RANK_DENSE);
}

static uint64_t rank_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++)
        sum += skiplist_rank(d->peer, c->players[i]);
    return sum;
}

static uint64_t find_single(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        rung_ladder_entry e;
        if (rung_ladder_find(d->ladder, c->players[i], &e) == RUNG_OK)
            sum += e.key[0];
    }
    return sum;
}

static uint64_t find_batched(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i += BATCH) {
        rung_ladder_entry entries[BATCH];
        bool found[BATCH];
        rung_ladder_find_batch(d->ladder, BATCH, &c->players[i], entries, found);
        for (uint32_t k = 0; k < BATCH; k++)
            sum += found[k] ? entries[k].key[0] : 0;
    }
    return sum;
}

static uint64_t find_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        skiplist_entry e;
        if (skiplist_find(d->peer, c->players[i], &e))
            sum += e.key[0];
    }
    return sum;
}

static uint64_t at_single(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        rung_ladder_entry e;
        if (rung_ladder_at(d->ladder, c->indexes[i], &e) == RUNG_OK)
            sum += e.player;
    }
    return sum;
}

static uint64_t at_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        skiplist_entry e;
        if (skiplist_at(d->peer, c->indexes[i], &e))
            sum += e.member;
    }
    return sum;
}

/* Entries with lo <= words <= hi. */
static uint32_t count_between(const rung_ladder *l, const uint64_t *lo, const uint64_t *hi) {
    return rung_ladder_count_before(l, hi, true) - rung_ladder_count_before(l, lo, false);
}

static uint64_t count_single(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++)
        sum += count_between(d->ladder, c->lo[i], c->hi[i]);
    return sum;
}

static uint64_t count_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++)
        sum += skiplist_count_between(d->peer, c->lo[i], c->hi[i]);
    return sum;
}

static uint32_t read_rows(const rung_ladder *l, uint32_t index, uint32_t n,
                          rung_ladder_entry *out) {
    rung_ladder_cursor at = rung_ladder_seek(l, index);
    uint32_t i = 0;
    while (i < n && rung_ladder_next(&at, &out[i]))
        i++;
    return i;
}

static uint64_t top_single(duel *d, const chunk *c) {
    uint64_t sum = 0;
    (void)c;
    for (uint32_t i = 0; i < CHUNK; i++) {
        rung_ladder_entry rows[TOP];
        sum += rows[read_rows(d->ladder, 0, TOP, rows) - 1].player;
    }
    return sum;
}

static uint64_t top_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    (void)c;
    for (uint32_t i = 0; i < CHUNK; i++) {
        skiplist_entry rows[TOP];
        sum += rows[skiplist_top(d->peer, TOP, rows) - 1].member;
    }
    return sum;
}

/* The rows from SIDE before the player to SIDE behind; returns how many, and the rank of the first. */
static uint32_t around(const rung_ladder *l, uint32_t player, rung_ladder_entry *out,
                       uint32_t *rank_out) {
    uint32_t rank = 1;
    rung_ladder_rank(l, player, RUNG_RANK_UNIQUE, &rank);
    uint32_t before = rank - 1 < SIDE ? rank - 1 : SIDE;
    *rank_out = rank - before;
    return read_rows(l, rank - 1 - before, before + 1 + SIDE, out);
}

static uint64_t around_single(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        rung_ladder_entry rows[2 * SIDE + 1];
        uint32_t rank, n = around(d->ladder, c->players[i], rows, &rank);
        sum += rank + rows[n - 1].player;
    }
    return sum;
}

static uint64_t around_peer(duel *d, const chunk *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        skiplist_entry rows[2 * SIDE + 1];
        uint32_t rank, n = skiplist_around(d->peer, c->players[i], SIDE, rows, &rank);
        sum += rank + rows[n - 1].member;
    }
    return sum;
}

enum { MOVE, RANK }; /* the questions the bars speak of come first */

static const struct {
    const char *name;
    runner run[SIDES];
} questions[] = {
    {"move a player to a random score", {move_single, move_batched, move_peer}},
    {"rank of a player, unique", {unique_single, unique_batched, rank_peer}},
    {"rank of a player, sparse", {sparse_single, sparse_batched, NULL}},
    {"rank of a player, dense", {dense_single, dense_batched, NULL}},
    {"score of a player", {find_single, find_batched, find_peer}},
    {"player at a random index", {at_single, NULL, at_peer}},
    {"count between two random scores", {count_single, NULL, count_peer}},
    {"top 100", {top_single, NULL, top_peer}},
    {"around a player, 11 rows", {around_single, NULL, around_peer}},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };
_Static_assert((int)QUESTIONS <= (int)QUESTIONS_MAX, "outcome has room for every question");

/* ---- agreement ---- */

static bool is_same(const rung_ladder_entry *a, const skiplist_entry *b) {
    return a->player == b->member && a->key[0] == b->key[0] && a->key[1] == b->key[1];
}

static bool agree_on_rows(duel *d, uint32_t player, uint32_t index) {
    rung_ladder_entry mine[2 * SIDE + 1];
    skiplist_entry theirs[2 * SIDE + 1];
    uint32_t my_rank = 0, their_rank = 0;
    uint32_t n = around(d->ladder, player, mine, &my_rank);
    if (n != skiplist_around(d->peer, player, SIDE, theirs, &their_rank) || my_rank != their_rank)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!is_same(&mine[i], &theirs[i]))
            return false;
    return rung_ladder_at(d->ladder, index, &mine[0]) == RUNG_OK &&
           skiplist_at(d->peer, index, &theirs[0]) && is_same(&mine[0], &theirs[0]);
}

static bool agree_on_numbers(duel *d, uint32_t player) {
    uint64_t lo[2], hi[2];
    uint32_t rank = 0;
    random_range(d, lo, hi);
    rung_ladder_rank(d->ladder, player, RUNG_RANK_UNIQUE, &rank);
    return rank == skiplist_rank(d->peer, player) &&
           count_between(d->ladder, lo, hi) == skiplist_count_between(d->peer, lo, hi);
}

static void verify(duel *d) {
    for (uint32_t i = 0; i < VERIFY_QUESTIONS; i++) {
        uint32_t player = (uint32_t)rung_rng_below(&d->rng, d->n),
                 index = (uint32_t)rung_rng_below(&d->rng, d->n);
        if (!agree_on_rows(d, player, index) || !agree_on_numbers(d, player))
            bench_die("ladder and skip list disagree about player %u or index %u", player, index);
    }
}

/* ---- rounds ---- */

/* Nanoseconds per question over at least `slice_ms`. */
static double measure(duel *d, runner run, uint64_t slice_ms) {
    static chunk c;
    uint64_t total_ns = 0, asked = 0;
    while (total_ns < slice_ms * 1000000) {
        fill(&c, d);
        uint64_t start = bench_cpu_ns();
        bench_use(run(d, &c));
        total_ns += bench_cpu_ns() - start;
        asked += CHUNK;
    }
    return (double)total_ns / (double)asked;
}

static void play_rounds(duel *d, const setting *s, outcome *o) {
    static double ns[QUESTIONS][SIDES][ROUNDS_MAX], ratio[QUESTIONS][SIDES][ROUNDS_MAX];
    size_t rounds = s->common.rounds;
    for (size_t r = 0; r < rounds; r++) {
        bench_progress("  round %zu of %zu", r + 1, rounds);
        for (int q = 0; q < QUESTIONS; q++) {
            for (int side = 0; side < SIDES; side++) {
                bool is_asked = questions[q].run[side] && (side != PEER || d->peer);
                ns[q][side][r] = is_asked ? measure(d, questions[q].run[side], s->slice_ms) : 0;
            }
            for (int side = 0; side < PEER; side++)
                ratio[q][side][r] = ns[q][side][r] > 0 ? ns[q][PEER][r] / ns[q][side][r] : 0;
        }
    }
    for (int q = 0; q < QUESTIONS; q++) {
        for (int side = 0; side < SIDES; side++) {
            o->ns[q][side] = bench_median(ns[q][side], rounds);
            o->ratio[q][side] = side == PEER ? 1 : bench_median(ratio[q][side], rounds);
        }
    }
}

/* Three moves per entry on average: what is left of the memory figures when the order has been turned over. */
enum { CHURN_MAX = 30000000 }; /* more would take minutes at a hundred million */

static void churn(duel *d, outcome *o) {
    static chunk c;
    uint64_t moves = 3 * (uint64_t)d->n, done = 0, timed_ns = 0;
    if (moves > CHURN_MAX)
        moves = CHURN_MAX;
    for (; done < moves; done += CHUNK) {
        fill(&c, d);
        uint64_t start = bench_cpu_ns();
        move_batched(d, &c);
        timed_ns += bench_cpu_ns() - start;
    }
    o->churn_rate = (double)done / ((double)timed_ns * 1e-9);
    o->bytes_churned = rung_ladder_memory(d->ladder);
}

/* ---- with ids ---- */

typedef struct id_chunk {
    char text[CHUNK][ID_BYTES + 1];
    rung_slice ids[CHUNK];
} id_chunk;

/* "player:00000042"; written by hand, since a hundred million of them are needed. */
static rung_slice write_id(char *text, uint64_t number) {
    memcpy(text, "player:", 7);
    for (int at = ID_BYTES - 1; at >= 7; at--) {
        text[at] = (char)('0' + number % 10);
        number /= 10;
    }
    return rung_slice_of(text, ID_BYTES);
}

static rung_names *load_ids(duel *d, uint64_t seed, outcome *o) {
    static id_chunk c;
    const rung_hash_key key = {seed, ~seed};
    bench_shuffle order = bench_shuffle_of(d->n, seed + 1);
    rung_names *players = NULL;
    must(rung_names_create(rung_alloc_heap(), &key, &players), "players");
    bench_laps laps;
    bench_laps_begin(&laps);
    for (uint32_t i = 0; i < d->n; i += BATCH) {
        uint32_t numbers[BATCH], count = d->n - i < BATCH ? d->n - i : BATCH;
        size_t done;
        for (uint32_t k = 0; k < count; k++)
            c.ids[k] = write_id(c.text[k], bench_shuffle_at(&order, i + k));
        must(names_intern_batch(players, c.ids, count, numbers, NULL, &done), "intern");
        bench_lap(&laps);
    }
    o->id_longest_us = (double)laps.longest_ns * 1e-3;
    o->bytes_ids = rung_names_size_bytes(players);
    return players;
}

enum { ID_FIND, ID_RANK, ID_MOVE };

static void run_ids(duel *d, const rung_names *players, const id_chunk *ids, const chunk *c,
                    int what) {
    for (uint32_t i = 0; i < CHUNK; i += BATCH) {
        uint32_t numbers[BATCH], ranks[BATCH];
        if (rung_names_find_batch(players, &ids->ids[i], BATCH, numbers) != BATCH)
            bench_die("the player table lost an id");
        if (what == ID_RANK)
            rung_ladder_rank_batch(d->ladder, BATCH, numbers, RUNG_RANK_UNIQUE, ranks);
        else if (what == ID_MOVE)
            must(ladder_put_batch(d->ladder, 2, BATCH, numbers, c->keys[i], NULL, NULL), "put");
        bench_use(numbers[BATCH - 1]);
    }
}

static double measure_ids(duel *d, const rung_names *players, int what, uint64_t slice_ms) {
    static id_chunk ids;
    static chunk c;
    uint64_t total_ns = 0, asked = 0;
    while (total_ns < slice_ms * 1000000) {
        fill(&c, d);
        for (uint32_t i = 0; i < CHUNK; i++)
            ids.ids[i] = write_id(ids.text[i], c.players[i]);
        uint64_t start = bench_cpu_ns();
        run_ids(d, players, &ids, &c, what);
        total_ns += bench_cpu_ns() - start;
        asked += CHUNK;
    }
    return (double)total_ns / (double)asked;
}

static void play_ids(duel *d, const setting *s, outcome *o) {
    rung_names *players = load_ids(d, s->common.seed, o);
    double ns[3][ROUNDS_MAX];
    for (size_t r = 0; r < s->common.rounds; r++)
        for (int what = ID_FIND; what <= ID_MOVE; what++)
            ns[what][r] = measure_ids(d, players, what, s->slice_ms);
    o->id_find_ns = bench_median(ns[ID_FIND], s->common.rounds);
    o->id_rank_ns = bench_median(ns[ID_RANK], s->common.rounds);
    o->id_move_ns = bench_median(ns[ID_MOVE], s->common.rounds);
    rung_names_destroy(players);
}

/* ---- one size ---- */

static void play(const setting *s, uint32_t n, outcome *o) {
    duel d = {.n = n};
    bench_shuffle order = bench_shuffle_of(n, s->common.seed);
    bench_label label = bench_count_label(n);
    *o = (outcome){.n = n, .peer_absence = peer_absence(s, n)};
    rung_rng_seed(&d.rng, s->common.seed);

    bench_progress("%s entries: loading the ladder", label.text);
    load_ladder(&d, &order, o);
    bench_progress("%s entries: building a second one in bulk", label.text);
    time_build(&d, o);
    if (o->peer_absence) {
        bench_progress("%s entries: skip list %s", label.text, o->peer_absence);
    } else {
        bench_progress("%s entries: loading the skip list", label.text);
        load_peer(&d, &order, s->common.seed, o);
        verify(&d);
    }
    play_rounds(&d, s, o);
    skiplist_destroy(d.peer);
    malloc_trim(0); /* or whoever asks for a large piece next pays for joining millions */
    d.peer = NULL;
    bench_progress("%s entries: moving them about", label.text);
    churn(&d, o);
    bench_progress("%s entries: with ids", label.text);
    play_ids(&d, s, o);
    rung_ladder_destroy(d.ladder);
}

/* ---- report ---- */

static void rate_cell(bench_table *t, double ns) {
    double rate = ns > 0 ? 1e3 / ns : 0; /* millions per second */
    if (ns <= 0)
        bench_table_skip(t, 1);
    else
        bench_table_cell(t, rate >= 10 ? "%.1f" : rate >= 0.1 ? "%.2f" : "%.3f", rate);
}

static void ratio_cell(bench_table *t, double ratio) {
    if (ratio <= 0)
        bench_table_skip(t, 1);
    else
        bench_table_cell(t, "%.1fx", ratio);
}

static void report_latency(bench_report *r, uint64_t seed) {
    static const size_t mib[] = {64, 512, 2048};
    bench_table t = {0};
    bench_table_head(&t, 3, "one dependent load, ns", "4 KiB pages", "huge pages");
    for (size_t i = 0; i < sizeof mib / sizeof mib[0]; i++) {
        size_t bytes = mib[i] << 20;
        bench_progress("latency of memory over %s", bench_bytes_label(bytes).text);
        bench_table_cell(&t, "over %s", bench_bytes_label(bytes).text);
        bench_table_cell(&t, "%.0f", bench_latency_ns(bytes, false, seed));
        bench_table_cell(&t, "%.0f", bench_latency_ns(bytes, true, seed));
    }
    bench_table_end(&t, r);
}

static void id_row(bench_table *t, const char *question, double ns) {
    bench_table_cell(t, "%s", question);
    bench_table_skip(t, 1);
    rate_cell(t, ns);
    bench_table_skip(t, 3);
}

static void report_rates(bench_report *r, const outcome *o) {
    bench_table t = {0};
    bench_report_line(r, "### %s entries, millions of operations per second",
                      bench_count_label(o->n).text);
    bench_report_gap(r);
    bench_table_head(&t, 6, "question", "ladder", "in batches of 32", "skip list", "ratio",
                     "ratio in batches");
    for (int q = 0; q < QUESTIONS; q++) {
        bench_table_cell(&t, "%s", questions[q].name);
        for (int side = 0; side < SIDES; side++)
            rate_cell(&t, o->ns[q][side]);
        ratio_cell(&t, o->ratio[q][SINGLE]);
        ratio_cell(&t, o->ratio[q][BATCHED]);
    }
    id_row(&t, "id of 15 bytes to player", o->id_find_ns);
    id_row(&t, "id to player to rank", o->id_rank_ns);
    id_row(&t, "id to player to move", o->id_move_ns);
    bench_table_end(&t, r);
    if (o->peer_absence) {
        bench_report_line(r, "The skip list is %s.", o->peer_absence);
        bench_report_gap(r);
    }
}

static double per_entry(size_t bytes, const outcome *o) {
    return (double)bytes / o->n;
}

static void report_memory(bench_report *r, const outcome *all, size_t count) {
    bench_table t = {0};
    bench_report_line(r, "### Memory, bytes per entry");
    bench_report_gap(r);
    bench_table_head(&t, 8, "entries", "ladder", "after 3 moves each, 30 M at most",
                     "built in bulk", "resident after the load", "ids", "ladder + ids",
                     "skip list");
    for (size_t i = 0; i < count; i++) {
        const outcome *o = &all[i];
        bench_table_cell(&t, "%s", bench_count_label(o->n).text);
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_loaded, o));
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_churned, o));
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_built, o));
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_resident, o));
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_ids, o));
        bench_table_cell(&t, "%.1f", per_entry(o->bytes_loaded + o->bytes_ids, o));
        if (o->bytes_peer)
            bench_table_cell(&t, "%.1f", per_entry(o->bytes_peer, o));
        else
            bench_table_skip(&t, 1);
    }
    bench_table_end(&t, r);
}

static void report_loading(bench_report *r, const outcome *all, size_t count) {
    bench_table t = {0};
    bench_report_line(r, "### Loading");
    bench_report_gap(r);
    bench_table_head(&t, 7, "entries", "random load, M/s", "longest put, us", "puts over 1 ms",
                     "built in bulk, s", "moves, M/s", "longest batch of new ids, us");
    for (size_t i = 0; i < count; i++) {
        const outcome *o = &all[i];
        const char *how = o->n > SINGLE_LOAD_MAX ? " (batch)" : "";
        bench_table_cell(&t, "%s", bench_count_label(o->n).text);
        bench_table_cell(&t, "%.2f%s", o->load_rate * 1e-6, how);
        bench_table_cell(&t, "%.0f%s", o->longest_us, how);
        bench_table_cell(&t, "%llu", (unsigned long long)o->slow_puts);
        bench_table_cell(&t, "%.2f", o->build_seconds);
        bench_table_cell(&t, "%.2f", o->churn_rate * 1e-6);
        bench_table_cell(&t, "%.0f", o->id_longest_us);
    }
    bench_table_end(&t, r);
}

static void bar_row(bench_table *t, const char *bar, const char *unit, double measured,
                    double limit, bool is_ceiling) {
    bool is_met = is_ceiling ? measured <= limit : measured >= limit;
    bench_table_cell(t, "%s", bar);
    bench_table_cell(t, "%s %g%s", is_ceiling ? "at most" : "at least", limit, unit);
    if (measured > 0)
        bench_table_cell(t, "%.1f%s", measured, unit);
    else
        bench_table_skip(t, 1);
    bench_table_cell(t, "%s", measured <= 0 ? "not measured" : is_met ? "met" : "MISSED");
}

static void report_bars(bench_report *r, const outcome *all, size_t count) {
    static const outcome none = {.n = 1};
    const outcome *ten = &none, *hundred = &none;
    for (size_t i = 0; i < count; i++) {
        ten = all[i].n == 10000000 ? &all[i] : ten;
        hundred = all[i].n == 100000000 ? &all[i] : hundred;
    }
    bench_table t = {0};
    bench_report_line(r, "### Bars");
    bench_report_gap(r);
    bench_table_head(&t, 4, "at 10 M entries, against the skip list", "bar", "measured", "verdict");
    bar_row(&t, "move, batches of 32", "x", ten->ratio[MOVE][BATCHED], 10, false);
    bar_row(&t, "rank, batches of 32", "x", ten->ratio[RANK][BATCHED], 10, false);
    bar_row(&t, "move, one by one", "x", ten->ratio[MOVE][SINGLE], 5, false);
    bar_row(&t, "rank, one by one", "x", ten->ratio[RANK][SINGLE], 5, false);
    bar_row(&t, "bytes per entry after a random load", "", per_entry(ten->bytes_loaded, ten), 32,
            true);
    bar_row(&t, "bytes per member with its id of 15 bytes", "",
            per_entry(ten->bytes_loaded + ten->bytes_ids, ten), 60, true);
    bar_row(&t, "100 M entries, id table apart", " GiB", (double)hundred->bytes_loaded / GIB, 4,
            true);
    bench_table_end(&t, r);
}

static void report_method(bench_report *r) {
    static const char *const lines[] = {
        "Keys of two words (score 0 .. 10^6 inverted, time), players loaded in random order.",
        "Times are CPU times of the one thread. A figure is the median of the rounds. A ratio",
        "is the median of the rounds' ratios; both sides are measured alternately. The skip list",
        "follows Redis 7 (32 levels, p = 1/4, spans, backward pointer, chained hash table, a",
        "malloc block per node and per table entry), but has 32-bit members instead of strings,",
        "and descends less often where Redis descends more than it must. Both differences favour",
        "the skip list.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        bench_report_line(r, "%s", lines[i]);
    bench_report_gap(r);
}

int main(int argc, char **argv) {
    static outcome all[BENCH_SIZES_MAX + 1];
    setting s = {.common = {.sizes = {1000000, 10000000},
                            .size_count = 2,
                            .rounds = 7,
                            .seed = 1,
                            .section = "ladder"},
                 .slice_ms = 150};
    const bench_option own[] = {
        {"--full", BENCH_FLAG, &s.is_full, "also 100 M entries, without the skip list"},
        {"--no-peer", BENCH_FLAG, &s.has_no_peer, "the ladder alone"},
        {"--slice", BENCH_NUMBER, &s.slice_ms, "milliseconds per question, side and round"},
        {0},
    };
    bench_options_parse(&s.common, argc, argv, "the ladder against a skip list", own);
    if (s.common.rounds > ROUNDS_MAX)
        bench_die("at most %d rounds", ROUNDS_MAX);
    if (s.is_full && s.common.size_count < BENCH_SIZES_MAX)
        s.common.sizes[s.common.size_count++] = 100000000;

    bench_report r = {0};
    bench_machine_describe(&r, s.common.command);
    report_method(&r);
    report_latency(&r, s.common.seed);
    size_t count = s.common.size_count;
    for (size_t i = 0; i < count; i++) {
        if (s.common.sizes[i] < TOP || s.common.sizes[i] > 100000000)
            bench_die("sizes from %d to 100M: ids have eight digits", TOP);
        play(&s, (uint32_t)s.common.sizes[i], &all[i]);
        report_rates(&r, &all[i]);
    }
    report_memory(&r, all, count);
    report_loading(&r, all, count);
    report_bars(&r, all, count);
    int code = bench_options_finish(&s.common, &r);
    bench_report_deinit(&r);
    return code;
}
