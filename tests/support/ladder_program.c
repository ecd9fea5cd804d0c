/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation follows one pattern: decode, ask the ladder, ask the model, compare. The first difference is noted
 * in the verdict and ends the run; nothing aborts, so that a failing program can be shrunk. */
#include "support/ladder_program.h"

#include "base/hash.h"
#include "ladder/pipeline.h"
#include "support/check.h"
#include "support/ladder_batch.h"
#include "support/ladder_model.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64 }; /* up to here everything is checked after every step */

typedef struct step {
    ladder_op op;
    rung_rank_style style;
    ladder_players players;
    ladder_keys keys;
    unsigned own;
    uint16_t selector;
    uint8_t bytes[4];
    uint32_t bits; /* the four bytes as one number */
    uint64_t hash; /* of the whole step */
} step;

/* A put whose descent advances by a stage with every step of the program. */
enum { IN_FLIGHT = 3 };
typedef struct in_flight {
    bool is_in_use;
    uint32_t stage, player;
    ladder_model_key key;
    rung_descent descent;
} in_flight;

typedef struct run {
    const uint8_t *steps;
    size_t step_count, at; /* `at`: the step being run */
    const ladder_run_options *options;
    rung_ladder *ladder;
    ladder_model model;
    uint64_t unchecked; /* steps since the last check */
    ladder_verdict verdict;

    /* The players a tie may be asked about besides those in the model. */
    rung_descent descent; /* the last one */
    bool has_descent;
    in_flight in_flight[IN_FLIGHT];
    const uint32_t *putting;
    uint32_t putting_count;
} run;

/* ---- saying what differs ---- */

__attribute__((format(printf, 2, 3))) static void complain(run *r, const char *format, ...) {
    if (!r->verdict.is_good)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(r->verdict.message, sizeof r->verdict.message, format, args);
    va_end(args);
    r->verdict.is_good = false;
    r->verdict.step = r->at;
}

static void expect_u32(run *r, const char *what, uint32_t got, uint32_t want) {
    if (got != want)
        complain(r, "%s: %" PRIu32 ", not %" PRIu32, what, got, want);
}

static void expect_status(run *r, const char *what, rung_status got, rung_status want) {
    if (got != want)
        complain(r, "%s: %s, not %s", what, rung_status_name(got), rung_status_name(want));
}

static void expect_entry_at(run *r, const char *what, const rung_ladder_entry *got,
                            uint32_t index) {
    expect_u32(r, what, got->player, r->model.players[index]);
    if (memcmp(got->key, r->model.keys[index].words, sizeof got->key) != 0)
        complain(r,
                 "%s: the key of player %" PRIu32 " is wrong, first word %" PRIu64 ", not %" PRIu64,
                 what, got->player, got->key[0], r->model.keys[index].words[0]);
}

/* An entry no answer looks like: what is returned only on success must not be written otherwise. */
static rung_ladder_entry untouched_entry(void) {
    rung_ladder_entry e;
    memset(&e, 0xe7, sizeof e);
    return e;
}

/* The answer of find, at, select or quantile; `index` is the right one, or the count for "not found". */
static void expect_answer(run *r, const char *what, rung_status st, const rung_ladder_entry *got,
                          uint32_t index) {
    bool is_found = index < r->model.count;
    expect_status(r, what, st, is_found ? RUNG_OK : RUNG_NOT_FOUND);
    rung_ladder_entry untouched = untouched_entry();
    if (is_found)
        expect_entry_at(r, what, got, index);
    else if (memcmp(got, &untouched, sizeof untouched) != 0)
        complain(r, "%s: wrote its result without success", what);
}

/* ---- ties ---- */

static int tie_by_number(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a == b ? 0 : a < b ? INT_MIN : 3; /* only the sign may matter */
}

static int tie_by_number_down(const void *ctx, uint32_t a, uint32_t b) {
    return tie_by_number(ctx, b, a);
}

static int tie_by_fake_id(const void *ctx, uint32_t a, uint32_t b) {
    uint64_t x = rung_hash_word(a), y = rung_hash_word(b);
    (void)ctx;
    return x == y ? 0 : x < y ? -1 : INT_MAX;
}

static bool is_known(const run *r, uint32_t player) {
    for (uint32_t i = 0; i < r->putting_count; i++)
        if (r->putting[i] == player)
            return true;
    return r->model.count > SMALL || ladder_model_index_of(&r->model, player) < r->model.count;
}

/* What the ladder calls: it may only ask about players that are in it or being put. */
static int tie_of_ladder(const void *ctx, uint32_t a, uint32_t b) {
    run *r = *(run *const *)ctx;
    if (!is_known(r, a) || !is_known(r, b))
        complain(r,
                 "the tie of %" PRIu32 " and %" PRIu32 " was asked for; one of them is a stranger",
                 a, b);
    return r->model.tie(NULL, a, b);
}

/* Coarse, so that many are equal. The origin remembers what it was begun with. */
static void begin_prefixes_of_ladder(const void *ctx, uint32_t n, const uint32_t *players,
                                     void *origin) {
    run *r = *(run *const *)ctx;
    for (uint32_t i = 0; i < n; i++)
        if (!is_known(r, players[i]))
            complain(r, "prefixes begin with %" PRIu32 ", a stranger", players[i]);
    memcpy(origin, &n, sizeof n);
}

static uint32_t prefix_of(const run *r, uint32_t player) {
    if (r->model.tie == tie_by_fake_id)
        return (uint32_t)(rung_hash_word(player) >> 61);
    return r->model.tie == tie_by_number ? player / 3 : UINT32_MAX - player / 3;
}

static uint32_t prefix_of_ladder(const void *ctx, const void *origin, uint32_t player) {
    run *r = *(run *const *)ctx;
    uint32_t n;
    memcpy(&n, origin, sizeof n);
    if (!is_known(r, player) || n == 0)
        complain(r, "the prefix of %" PRIu32 " was asked for, a stranger", player);
    return prefix_of(r, player);
}

/* Of players in the order of their numbers, strangers among them. */
static void prefixes_of_ladder(const void *ctx, const void *origin, uint32_t from, uint32_t n,
                               uint32_t *prefixes_out) {
    run *r = *(run *const *)ctx;
    uint32_t begun;
    memcpy(&begun, origin, sizeof begun);
    if (begun == 0)
        complain(r, "prefixes were asked for that had not begun");
    for (uint32_t i = 0; i < n; i++)
        prefixes_out[i] = prefix_of(r, from + i);
}

static uint32_t span_of_ladder(const void *ctx) {
    const run *r = *(run *const *)ctx;
    uint32_t span = 0;
    for (uint32_t i = 0; i < r->model.count; i++) {
        if (r->model.players[i] == UINT32_MAX)
            return UINT32_MAX;
        span = r->model.players[i] >= span ? r->model.players[i] + 1 : span;
    }
    return span;
}

/* Called before that, for the same players. */
static void prefetch_of_ladder(const void *ctx, uint32_t player, int part) {
    run *r = *(run *const *)ctx;
    if (!is_known(r, player) || part < 0 || part > 1)
        complain(r, "part %d of %" PRIu32 " was asked for", part, player);
}

/* ---- decoding ---- */

static step step_at(const run *r, size_t index) {
    const uint8_t *b = r->steps + index * LADDER_STEP_SIZE;
    uint64_t all = 0;
    for (int i = 0; i < LADDER_STEP_SIZE; i++)
        all |= (uint64_t)b[i] << 8 * i;
    return (step){
        .op = (ladder_op)(b[0] % LADDER_OP_COUNT),
        .style = (rung_rank_style)((b[1] & 3) % 3),
        .players = (ladder_players)(b[1] >> 2 & 3),
        .keys = (ladder_keys)(b[1] >> 4 & 3),
        .own = b[1] >> 6,
        .selector = (uint16_t)(b[2] | b[3] << 8),
        .bytes = {b[4], b[5], b[6], b[7]},
        .bits = (uint32_t)(all >> 32),
        .hash = rung_hash_word(all + 1),
    };
}

static uint32_t player_of(const run *r, const step *s) {
    switch (s->players) {
    case LADDER_SCATTERED:
        return s->selector * UINT32_C(0x9e3779b1); /* odd, so no two selectors meet */
    case LADDER_HIGH:
        return UINT32_MAX - s->selector;
    case LADDER_HELD:
        if (r->model.count)
            return r->model.players[s->selector % r->model.count];
        return s->selector;
    case LADDER_LOW:
        break;
    }
    return s->selector;
}

static uint64_t word_of(uint8_t byte, uint64_t hash) {
    static const uint64_t edges[] = {
        UINT64_MAX,        UINT64_MAX - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1,
        UINT64_C(1) << 32, UINT32_MAX,
    };
    if (byte < LADDER_KEY_EDGES)
        return byte;
    size_t from_top = 0xffu - byte;
    return from_top < sizeof edges / sizeof *edges ? edges[from_top] : hash;
}

static ladder_model_key key_of(const run *r, const step *s) {
    ladder_model_key key = {{0}};
    uint8_t word_count = r->model.key_words;
    ladder_keys source = r->model.count ? s->keys : (ladder_keys)(s->keys & LADDER_KEY_MIXED);
    if (source == LADDER_KEY_HELD || source == LADDER_KEY_NEAR)
        key = r->model.keys[s->bits % r->model.count];
    if (source == LADDER_KEY_NEAR)
        key.words[s->hash % word_count] += s->hash >> 63 ? 1 : UINT64_MAX;
    for (unsigned i = 0; i < word_count; i++) {
        uint64_t hash = rung_hash_word(s->hash + i);
        if (source == LADDER_KEY_MIXED)
            key.words[i] = hash;
        if (source == LADDER_KEY_BYTES)
            key.words[i] = word_of(s->bytes[i], hash);
    }
    return key;
}

/* A key as the ladder gets it: key_words words and not one more to read behind them. */
typedef struct tight_key {
    uint64_t words[RUNG_LADDER_WORDS_MAX];
} tight_key;

static const uint64_t *tighten(const run *r, const ladder_model_key *key, tight_key *out) {
    uint64_t *words = out->words + RUNG_LADDER_WORDS_MAX - r->model.key_words;
    memcpy(words, key->words, r->model.key_words * sizeof *words);
    return words;
}

/* ---- whole-ladder checks ---- */

static void check_walks(run *r) {
    uint32_t n = r->model.count;
    rung_ladder_entry e;
    rung_ladder_cursor c = rung_ladder_seek(r->ladder, 0);
    for (uint32_t i = 0; i < n && r->verdict.is_good; i++) {
        if (!rung_ladder_next(&c, &e))
            return complain(r, "walk: ends before %" PRIu32 " of %" PRIu32, i, n);
        expect_entry_at(r, "walk", &e, i);
    }
    if (rung_ladder_next(&c, &e))
        return complain(r, "walk: goes on after the last entry");
    for (uint32_t i = n; i-- > 0 && r->verdict.is_good;) {
        if (!rung_ladder_prev(&c, &e))
            return complain(r, "walk back: ends at %" PRIu32, i);
        expect_entry_at(r, "walk back", &e, i);
    }
    if (rung_ladder_prev(&c, &e))
        complain(r, "walk back: goes on before the first entry");
}

static void check_sound(run *r) {
    const char *broken = rung_ladder_check(r->ladder);
    if (broken)
        return complain(r, "check: %s", broken);
    expect_u32(r, "count", rung_ladder_count(r->ladder), r->model.count);
    expect_u32(r, "distinct", rung_ladder_distinct(r->ladder), ladder_model_distinct(&r->model));
    const rung_failalloc *fa = r->options->failalloc;
    if (fa && fa->live_bytes != rung_ladder_memory(r->ladder))
        complain(r, "memory: %zu bytes, the allocator says %zu", rung_ladder_memory(r->ladder),
                 fa->live_bytes);
    check_walks(r);
    r->unchecked = 0;
}

/* Check now, or later when the ladder is so large that checking would be all we do. */
static void check_sound_when_due(run *r) {
    r->unchecked++;
    if (r->model.count <= SMALL || r->unchecked * 8 >= r->model.count)
        check_sound(r);
}

static void check_entry(run *r, uint32_t index, const uint32_t *ranks) {
    rung_ladder_entry e;
    uint32_t player = r->model.players[index];
    expect_status(r, "at", rung_ladder_at(r->ladder, index, &e), RUNG_OK);
    expect_entry_at(r, "at", &e, index);
    expect_status(r, "find", rung_ladder_find(r->ladder, player, &e), RUNG_OK);
    expect_entry_at(r, "find", &e, index);
    for (int style = RUNG_RANK_UNIQUE; style <= RUNG_RANK_DENSE; style++) {
        uint32_t rank = 0;
        expect_status(r, "rank", rung_ladder_rank(r->ladder, player, (rung_rank_style)style, &rank),
                      RUNG_OK);
        expect_u32(r, "rank", rank, ranks[style]);
    }
}

static void check_everything(run *r) {
    check_sound(r);
    uint32_t ranks[3] = {0};
    for (uint32_t i = 0; i < r->model.count && r->verdict.is_good; i++) {
        bool is_new_score = i == 0 || !ladder_model_same_score(&r->model, i - 1, i);
        ranks[RUNG_RANK_UNIQUE] = i + 1;
        ranks[RUNG_RANK_SPARSE] = is_new_score ? i + 1 : ranks[RUNG_RANK_SPARSE];
        ranks[RUNG_RANK_DENSE] += is_new_score;
        check_entry(r, i, ranks);
    }
}

/* Was that RUNG_ENOMEM, and may it be? Then nothing has changed. */
static bool ran_out(run *r, rung_status st) {
    if (st != RUNG_ENOMEM || !r->options->may_run_out)
        return false;
    r->verdict.enomem_count++;
    return true;
}

/* ---- changes ---- */

/* What the model says a put of `player` at `key` does; the model is changed. */
static rung_status put_model(run *r, uint32_t player, const ladder_model_key *key,
                             rung_ladder_change *change) {
    uint32_t index = ladder_model_index_of(&r->model, player);
    change->existed = index < r->model.count;
    change->rank_before = 0;
    change->index_before = index;
    rung_status st = RUNG_OK;
    if (change->existed) {
        const ladder_model_key *old = &r->model.keys[index];
        change->rank_before = ladder_model_rank_at(&r->model, index, change->style);
        memcpy(change->old_key, old->words, sizeof change->old_key);
        if (memcmp(old, key, sizeof *key) == 0)
            st = RUNG_UNCHANGED;
    }
    ladder_model_put(&r->model, player, key);
    if (r->model.count > r->verdict.count_max)
        r->verdict.count_max = r->model.count;
    change->index_after = ladder_model_index_of(&r->model, player);
    change->rank_after = ladder_model_rank_at(&r->model, change->index_after, change->style);
    change->has_above = change->index_after > 0;
    if (change->has_above) {
        change->above.player = r->model.players[change->index_after - 1];
        memcpy(change->above.key, r->model.keys[change->index_after - 1].words,
               sizeof change->above.key);
    }
    return st;
}

static void expect_change(run *r, const rung_ladder_change *got, const rung_ladder_change *want) {
    if (got->style != want->style)
        complain(r, "change: the style was overwritten");
    if (got->existed != want->existed)
        complain(r, "change: existed is %d", got->existed);
    if (want->existed &&
        memcmp(got->old_key, want->old_key, r->model.key_words * sizeof *got->old_key) != 0)
        complain(r, "change: old key begins %" PRIu64 ", not %" PRIu64, got->old_key[0],
                 want->old_key[0]);
    expect_u32(r, "change: rank before", got->rank_before, want->rank_before);
    expect_u32(r, "change: rank after", got->rank_after, want->rank_after);
    expect_u32(r, "change: index before", got->index_before, want->index_before);
    expect_u32(r, "change: index after", got->index_after, want->index_after);
    expect_u32(r, "change: has above", got->has_above, want->has_above);
    if (!want->has_above)
        return;
    expect_u32(r, "change: player above", got->above.player, want->above.player);
    if (memcmp(got->above.key, want->above.key, sizeof want->above.key) != 0)
        complain(r, "change: the key above begins %" PRIu64 ", not %" PRIu64, got->above.key[0],
                 want->above.key[0]);
}

/* The descent may have missed its entry, if others changed the ladder. */
static void check_descent(run *r, rung_descent *d, uint32_t player, bool is_fresh) {
    uint32_t index = ladder_model_index_of(&r->model, player);
    rung_ladder_entry entry;
    rung_status st = rung_descent_entry(d, &entry);
    if (is_fresh)
        expect_status(r, "entry", st, index < r->model.count ? RUNG_OK : RUNG_NOT_FOUND);
    else if (st == RUNG_OK && index == r->model.count)
        complain(r, "entry: player %" PRIu32 " has none", player);
    if (st == RUNG_OK && index < r->model.count)
        expect_entry_at(r, "entry of a descent", &entry, index);
}

/* All stages before a put, without a change in between. */
static void descend(run *r, uint32_t player, const uint64_t *words) {
    rung_ladder_prefetch(r->ladder, 0);
    rung_ladder_prefetch(r->ladder, 1);
    rung_descent_init(&r->descent, r->ladder, player);
    for (uint32_t stage = 0; stage < RUNG_DESCENT_UPPER; stage++)
        if (stage != (player & 2 ? RUNG_DESCENT_COUNTS : RUNG_DESCENT_RANKS))
            rung_descent_advance(&r->descent, 1, stage);
    check_descent(r, &r->descent, player, true);
    rung_descent_set_key(&r->descent, words);
    for (uint32_t stage = RUNG_DESCENT_UPPER; stage < RUNG_DESCENT_STAGES; stage++)
        rung_descent_advance(&r->descent, 1, stage);
    r->has_descent = true;
}

static void start_flight(run *r, uint32_t player, const ladder_model_key *key) {
    for (uint32_t i = 0; i < IN_FLIGHT; i++)
        if (!r->in_flight[i].is_in_use) {
            r->in_flight[i] = (in_flight){
                .is_in_use = true, .stage = RUNG_DESCENT_LEAF, .player = player, .key = *key};
            rung_descent_init(&r->in_flight[i].descent, r->ladder, player);
            return;
        }
}

static void advance(run *r, in_flight *f) {
    tight_key tight;
    if (f->stage == RUNG_DESCENT_UPPER) {
        check_descent(r, &f->descent, f->player, false);
        rung_descent_set_key(&f->descent, tighten(r, &f->key, &tight));
    }
    rung_descent_advance(&f->descent, 1, f->stage++);
    if (f->stage == RUNG_DESCENT_COUNTS) {
        rung_descent_advance(&f->descent, 1, f->stage);
        f->stage = RUNG_DESCENT_UPPER;
    } else if (f->stage == RUNG_DESCENT_INNER) {
        rung_descent_advance(&f->descent, 1, f->stage++);
    }
}

static void put_in_flight(run *r, in_flight *f) {
    tight_key tight;
    rung_ladder_change want = {0};
    rung_status st = rung_descent_put(r->ladder, f->player, tighten(r, &f->key, &tight),
                                      &f->descent, &f->descent, NULL);
    f->is_in_use = false;
    if (!ran_out(r, st))
        expect_status(r, "put after a descent", st, put_model(r, f->player, &f->key, &want));
}

static void advance_all(run *r) {
    for (uint32_t i = 0; i < IN_FLIGHT && r->verdict.is_good; i++) {
        in_flight *f = &r->in_flight[i];
        if (!f->is_in_use)
            continue;
        r->putting = &f->player;
        r->putting_count = 1;
        if (f->stage == RUNG_DESCENT_STAGES)
            put_in_flight(r, f);
        else
            advance(r, f);
        r->putting_count = 0;
    }
}

static void run_put(run *r, const step *s) {
    uint32_t player = player_of(r, s);
    ladder_model_key key = key_of(r, s);
    tight_key tight;
    bool wants_change = s->own & 1;
    if (s->own == 2)
        start_flight(r, player_of(r, s), &key);
    rung_ladder_change got = {.style = s->style, .rank_before = 77, .rank_after = 77},
                       want = {.style = s->style};

    r->putting = &player;
    r->putting_count = 1;
    const uint64_t *words = tighten(r, &key, &tight);
    if (s->own == 3)
        descend(r, player, words);
    rung_status st = s->own & 2 && r->has_descent /* a fresh one, or a stale one */
                         ? rung_descent_put(r->ladder, player, words, &r->descent, &r->descent,
                                            wants_change ? &got : NULL)
                         : rung_ladder_put(r->ladder, player, words, wants_change ? &got : NULL);
    r->putting_count = 0;
    if (ran_out(r, st))
        return check_everything(r);
    expect_status(r, "put", st, put_model(r, player, &key, &want));
    if (wants_change)
        expect_change(r, &got, &want);
}

/* A put that was secured needs nothing more: with a failing allocator it must do its work all the same. */
static void run_secured_put(run *r, const step *s) {
    rung_failalloc *fa = r->options->failalloc;
    uint32_t player = player_of(r, s);
    bool is_new = ladder_model_index_of(&r->model, player) == r->model.count;
    rung_status st = rung_ladder_secure(r->ladder, player, is_new);
    if (ran_out(r, st))
        return check_everything(r);
    expect_status(r, "secure", st, RUNG_OK);
    check_sound(r);
    if (!fa)
        return run_put(r, s);

    rung_failalloc before =
        *fa; /* what happens here is not part of whatever plan of failures there is */
    uint64_t enomem_count = r->verdict.enomem_count;
    rung_failalloc_fail_at(fa, 1, true);
    run_put(r, s);
    if (r->verdict.enomem_count > enomem_count)
        complain(r, "put: out of memory although it was secured");
    fa->fail_at = before.fail_at;
    fa->is_sticky = before.is_sticky;
    fa->call_count = before.call_count;
    fa->failed_count = before.failed_count;
}

static void run_remove(run *r, const step *s) {
    uint32_t player = player_of(r, s), index = ladder_model_index_of(&r->model, player);
    bool is_held = index < r->model.count;
    expect_status(r, "remove", rung_ladder_remove(r->ladder, player),
                  is_held ? RUNG_OK : RUNG_NOT_FOUND);
    if (is_held)
        ladder_model_remove_at(&r->model, index);
}

/* How many of the following steps belong to this one. */
static uint32_t batch_size(const run *r, const step *s) {
    size_t left = r->step_count - r->at - 1;
    uint32_t n = s->selector % LADDER_BATCH_MAX;
    return n < left ? n : (uint32_t)left;
}

/* The elements of a batch, each array exactly as long as the batch: a sanitizer sees a step too far. */
typedef struct batch {
    uint32_t n;
    uint32_t *players;
    ladder_model_key *keys;
    rung_rank_style *styles;
} batch;

static void *exact_array(uint32_t n, size_t item_size) {
    void *array = malloc(n * item_size);
    CHECK(array || n == 0);
    return array;
}

static batch read_batch(const run *r, const step *s) {
    uint32_t n = batch_size(r, s);
    batch b = {n, exact_array(n, sizeof *b.players), exact_array(n, sizeof *b.keys),
               exact_array(n, sizeof *b.styles)};
    for (uint32_t i = 0; i < n; i++) {
        step element = step_at(r, r->at + 1 + i);
        b.players[i] = player_of(r, &element);
        b.keys[i] = key_of(r, &element);
        b.styles[i] = element.style;
    }
    return b;
}

/* Done with the steps of the batch. */
static void close_batch(run *r, batch *b) {
    r->at += b->n;
    free(b->players);
    free(b->keys);
    free(b->styles);
}

static uint64_t *pack_keys(const run *r, const batch *b) {
    size_t word_count = r->model.key_words;
    uint64_t *packed = exact_array(b->n, word_count * sizeof *packed);
    for (uint32_t i = 0; i < b->n; i++)
        memcpy(packed + i * word_count, b->keys[i].words, word_count * sizeof *packed);
    return packed;
}

/* How many the ladder has put, or a complaint. */
static uint32_t done_of_batch(run *r, const batch *b, rung_status st, const uint32_t *done_out) {
    if (ran_out(r, st)) {
        if (*done_out >= b->n)
            complain(r, "put_batch: failed with %" PRIu32 " of %" PRIu32 " done", *done_out, b->n);
        return *done_out;
    }
    expect_status(r, "put_batch", st, RUNG_OK);
    if (done_out)
        expect_u32(r, "put_batch: done", *done_out, b->n);
    return b->n;
}

static void run_put_batch(run *r, const step *s) {
    bool wants_changes = s->own & 1, wants_done = s->own & 2 || r->options->may_run_out;
    batch b = read_batch(r, s);
    uint64_t *packed = pack_keys(r, &b);
    rung_ladder_change *changes = exact_array(b.n, sizeof *changes);
    for (uint32_t i = 0; i < b.n; i++)
        changes[i] =
            (rung_ladder_change){.style = b.styles[i], .rank_before = 77, .rank_after = 77};
    uint32_t done = 77777, *done_out = wants_done ? &done : NULL;

    r->putting = b.players;
    r->putting_count = b.n;
    rung_status st = ladder_put_batch(r->ladder, r->model.key_words, b.n, b.players, packed,
                                      wants_changes ? changes : NULL, done_out);
    r->putting_count = 0;
    done = done_of_batch(r, &b, st, done_out);
    for (uint32_t i = 0; i < done && r->verdict.is_good; i++) {
        rung_ladder_change want = {.style = b.styles[i]};
        put_model(r, b.players[i], &b.keys[i], &want);
        if (wants_changes)
            expect_change(r, &changes[i], &want);
    }
    if (st < 0)
        check_everything(r);
    free(changes);
    free(packed);
    close_batch(r, &b);
}

static void run_clear(run *r) {
    memset(r->in_flight, 0, sizeof r->in_flight);
    rung_ladder_clear(r->ladder);
    r->model.count = 0;
}

/* ---- building: the model holds what the ladder shall hold; the source reads it out, with one thing wrong ---- */

typedef struct source {
    const ladder_model *model;
    uint32_t next, end;
    ladder_defect defect;
    uint32_t at;   /* where the defect lies */
    uint64_t dice; /* which form it takes */
} source;

static bool supply(void *ctx, rung_ladder_entry *out) {
    source *s = ctx;
    if (s->next == s->end)
        return false;
    uint32_t index = s->next++, player_at = index;
    if (s->defect == LADDER_UNSORTED && (index == s->at || index == s->at + 1)) {
        bool is_swap = s->dice & 1;
        index = player_at = is_swap ? 2 * s->at + 1 - index : s->at;
    } else if (s->defect == LADDER_SAME_PLAYER && index == s->at + 1) {
        player_at = (uint32_t)(s->dice % index);
    }
    memcpy(out->key, s->model->keys[index].words, sizeof out->key);
    out->player = s->model->players[player_at];
    return true;
}

/* Build with a defect: must be refused, and leave nothing behind. */
static void build_badly(run *r, const step *s) {
    uint32_t n = r->model.count, promised = n;
    source bad = {.model = &r->model, .end = n, .defect = (ladder_defect)s->own, .dice = s->hash};
    if (bad.defect == LADDER_SOUND || (bad.defect != LADDER_DRY && n < 2))
        return;
    if (bad.defect == LADDER_DRY) {
        bad.end = s->bits % (n + 1);
        promised = n + (bad.end == n);
    } else {
        bad.at = s->bits % (n - 1);
    }
    rung_status st = rung_ladder_build(r->ladder, promised, supply, &bad);
    if (!ran_out(r, st))
        expect_status(r, "build from bad input", st, RUNG_EINVAL);
    expect_u32(r, "count after a refused build", rung_ladder_count(r->ladder), 0);
    expect_u32(r, "distinct after a refused build", rung_ladder_distinct(r->ladder), 0);
    const char *broken = rung_ladder_check(r->ladder);
    if (broken)
        complain(r, "check after a refused build: %s", broken);
    if (n)
        expect_status(r, "find after a refused build",
                      rung_ladder_find(r->ladder, r->model.players[0], NULL), RUNG_NOT_FOUND);
}

static void build_on_top(run *r) {
    source good = {.model = &r->model, .end = r->model.count};
    if (r->model.count == 0)
        return;
    expect_status(r, "build on top", rung_ladder_build(r->ladder, r->model.count, supply, &good),
                  RUNG_EINVAL);
    check_sound(r);
}

static void build(run *r, const step *s) {
    build_badly(r, s);
    source good = {.model = &r->model, .end = r->model.count};
    rung_status st = rung_ladder_build(r->ladder, r->model.count, supply, &good);
    if (ran_out(r, st))
        r->model.count = 0;
    else
        expect_status(r, "build", st, RUNG_OK);
    if (r->model.count > r->verdict.count_max)
        r->verdict.count_max = r->model.count;
    check_sound(r);
}

static void run_build(run *r, const step *s) {
    batch b = read_batch(r, s);
    run_clear(r);
    for (uint32_t i = 0; i < b.n; i++)
        ladder_model_put(&r->model, b.players[i], &b.keys[i]);
    build(r, s);
    close_batch(r, &b);
}

static void run_rebuild(run *r, const step *s) {
    build_on_top(r);
    memset(r->in_flight, 0, sizeof r->in_flight);
    rung_ladder_clear(r->ladder);
    build(r, s);
}

/* ---- questions ---- */

static void run_find(run *r, const step *s) {
    uint32_t player = player_of(r, s), index = ladder_model_index_of(&r->model, player);
    rung_ladder_entry e = untouched_entry();
    rung_status st = rung_ladder_find(r->ladder, player, &e);
    expect_answer(r, "find", st, &e, index);
    expect_status(r, "find without result", rung_ladder_find(r->ladder, player, NULL), st);
}

static void run_rank(run *r, const step *s) {
    uint32_t player = player_of(r, s), index = ladder_model_index_of(&r->model, player),
             rank = 77777;
    bool is_held = index < r->model.count;
    rung_status st = rung_ladder_rank(r->ladder, player, s->style, &rank);
    expect_status(r, "rank", st, is_held ? RUNG_OK : RUNG_NOT_FOUND);
    expect_u32(r, "rank", rank, is_held ? ladder_model_rank_at(&r->model, index, s->style) : 77777);
}

static void run_rank_of_key(run *r, const step *s) {
    ladder_model_key key = key_of(r, s);
    tight_key tight;
    expect_u32(r, "rank_of_key",
               rung_ladder_rank_of_key(r->ladder, tighten(r, &key, &tight), s->style),
               ladder_model_rank_of_key(&r->model, &key, s->style));
}

/* A number around 0..count, or the largest there is. */
static uint32_t number_of(const run *r, const step *s) {
    return s->own == 3 ? UINT32_MAX : s->selector % (r->model.count + 3);
}

static void run_at(run *r, const step *s) {
    uint32_t index = number_of(r, s);
    rung_ladder_entry e = untouched_entry();
    rung_status st = rung_ladder_at(r->ladder, index, &e);
    expect_answer(r, "at", st, &e, index < r->model.count ? index : r->model.count);
}

static void run_select(run *r, const step *s) {
    uint32_t rank = number_of(r, s);
    rung_ladder_entry e = untouched_entry();
    rung_status st = rung_ladder_select(r->ladder, rank, s->style, &e);
    expect_answer(r, "select", st, &e, ladder_model_select(&r->model, rank, s->style));
}

/* 32 moves from where the cursor stands: 1 = next, 0 = prev. */
static void walk(run *r, rung_ladder_cursor c, uint32_t index, uint32_t directions) {
    for (int move = 0; move < 32 && r->verdict.is_good; move++) {
        bool is_forward = directions >> move & 1,
             can_move = is_forward ? index < r->model.count : index > 0;
        rung_ladder_entry e;
        bool has_moved = is_forward ? rung_ladder_next(&c, &e) : rung_ladder_prev(&c, &e);
        if (has_moved != can_move)
            return complain(r, "%s at %" PRIu32 " of %" PRIu32 ": %d", is_forward ? "next" : "prev",
                            index, r->model.count, has_moved);
        if (has_moved) {
            index -= !is_forward;
            expect_entry_at(r, is_forward ? "next" : "prev", &e, index);
            index += is_forward;
        }
        rung_rank_style style = (rung_rank_style)(move % 3);
        expect_u32(r, "cursor_rank", rung_ladder_cursor_rank(&c, style),
                   index < r->model.count ? ladder_model_rank_at(&r->model, index, style) : 0);
        expect_u32(r, "cursor_sparse", rung_ladder_cursor_sparse(&c, index),
                   index < r->model.count ? ladder_model_rank_at(&r->model, index, RUNG_RANK_SPARSE)
                                          : 0);
    }
}

/* From the player at `index` some entries back, and on from there. */
static void walk_back(run *r, uint32_t index, const step *s) {
    rung_ladder_entry e;
    rung_ladder_cursor c;
    uint32_t found, back = (uint32_t)(s->hash % (index + 1));
    if (rung_ladder_at(r->ladder, index, &e) != RUNG_OK)
        return complain(r, "at %" PRIu32 ": nobody", index);
    for (int part = 0; part < 3; part++)
        rung_ladder_prefetch_player(r->ladder, e.player, part);
    if (rung_ladder_seek_player(r->ladder, e.player, &c, &found) != RUNG_OK)
        return complain(r, "seek_player %" PRIu32 ": not found", e.player);
    expect_u32(r, "seek_player", found, index);
    rung_ladder_back(&c, back);
    walk(r, c, index - back, s->bits);
}

static void run_walk(run *r, const step *s) {
    uint32_t index = number_of(r, s), n = r->model.count;
    walk(r, rung_ladder_seek(r->ladder, index), index < n ? index : n, s->bits);
    if (index < n)
        walk_back(r, index, s);
}

static void run_walk_key(run *r, const step *s) {
    ladder_model_key key = key_of(r, s);
    tight_key tight;
    uint32_t index = rung_ladder_count_before(r->ladder, tighten(r, &key, &tight), false);
    walk(r, rung_ladder_seek(r->ladder, index), ladder_model_count_before(&r->model, &key, false),
         (uint32_t)s->hash);
}

static void run_count(run *r, const step *s) {
    ladder_model_key a = key_of(r, s);
    tight_key tight;
    const uint64_t *x = tighten(r, &a, &tight);
    const ladder_model *m = &r->model;
    expect_u32(r, "count before", rung_ladder_count_before(r->ladder, x, false),
               ladder_model_count_before(m, &a, false));
    expect_u32(r, "count up to", rung_ladder_count_before(r->ladder, x, true),
               ladder_model_count_before(m, &a, true));
}

static void run_quantile(run *r, const step *s) {
    uint32_t n = r->model.count, denominators[] = {1 + s->bytes[0], UINT32_MAX, n ? n : 1, 100};
    uint32_t denominator = denominators[s->own];
    uint32_t numerator = (uint32_t)(s->hash % ((uint64_t)denominator + 1));
    rung_ladder_entry e = untouched_entry();
    rung_status st = rung_ladder_quantile(r->ladder, numerator, denominator, &e);
    expect_answer(r, "quantile", st, &e,
                  n ? ladder_model_quantile(&r->model, numerator, denominator) : 0);
}

static void run_sizes(run *r) {
    expect_u32(r, "count", rung_ladder_count(r->ladder), r->model.count);
    expect_u32(r, "distinct", rung_ladder_distinct(r->ladder), ladder_model_distinct(&r->model));
    if (rung_ladder_memory(r->ladder) <
        r->model.count * (r->model.key_words * sizeof(uint64_t) + sizeof(uint32_t)))
        complain(r, "memory: %zu bytes cannot hold %" PRIu32 " entries",
                 rung_ladder_memory(r->ladder), r->model.count);
}

static void run_prefetch(run *r, const step *s) {
    uint32_t player = player_of(r, s);
    ladder_model_key key = key_of(r, s);
    tight_key tight;
    r->putting = &player;
    r->putting_count = 1;
    descend(r, player, tighten(r, &key, &tight)); /* for some later put, perhaps of another */
    r->putting_count = 0;
}

static void run_rank_batch(run *r, const step *s) {
    batch b = read_batch(r, s);
    uint32_t *ranks = exact_array(b.n, sizeof *ranks);
    rung_ladder_rank_batch(r->ladder, b.n, b.players, s->style, ranks);
    for (uint32_t i = 0; i < b.n; i++) {
        uint32_t index = ladder_model_index_of(&r->model, b.players[i]);
        expect_u32(r, "rank_batch", ranks[i],
                   index < r->model.count ? ladder_model_rank_at(&r->model, index, s->style) : 0);
    }
    free(ranks);
    close_batch(r, &b);
}

static void run_find_batch(run *r, const step *s) {
    batch b = read_batch(r, s);
    rung_ladder_entry *entries = exact_array(b.n, sizeof *entries);
    bool *found = exact_array(b.n, sizeof *found);
    uint64_t *words = exact_array(b.n, sizeof *words);
    bool *has_word = exact_array(b.n, sizeof *has_word);
    rung_ladder_find_batch(r->ladder, b.n, b.players, entries, found);
    rung_ladder_word_batch(r->ladder, b.n, b.players, words, has_word);
    for (uint32_t i = 0; i < b.n; i++) {
        uint32_t index = ladder_model_index_of(&r->model, b.players[i]);
        if (found[i] != (index < r->model.count) || has_word[i] != found[i])
            complain(r, "find_batch: player %" PRIu32 ": %d", b.players[i], found[i]);
        else if (found[i] && words[i] != entries[i].key[0])
            complain(r, "word_batch: player %" PRIu32, b.players[i]);
        else if (found[i])
            expect_entry_at(r, "find_batch", &entries[i], index);
        for (uint32_t k = 0; found[i] && k <= i; k++) {
            uint32_t other = ladder_model_index_of(&r->model, b.players[k]);
            int order = found[k] ? rung_ladder_compare(r->ladder, &entries[i], &entries[k]) : 0;
            if (found[k] && (order > 0) - (order < 0) != (index > other) - (index < other))
                complain(r, "compare: players %" PRIu32 " and %" PRIu32, b.players[i],
                         b.players[k]);
        }
    }
    free(entries);
    free(found);
    free(words);
    free(has_word);
    close_batch(r, &b);
}

/* ---- the interpreter ---- */

static void run_step(run *r, const step *s) {
    /* clang-format off */
    switch (s->op) {
    case LADDER_PUT: run_put(r, s); break;
    case LADDER_REMOVE: run_remove(r, s); break;
    case LADDER_FIND: run_find(r, s); break;
    case LADDER_RANK: run_rank(r, s); break;
    case LADDER_RANK_OF_KEY: run_rank_of_key(r, s); break;
    case LADDER_AT: run_at(r, s); break;
    case LADDER_SELECT: run_select(r, s); break;
    case LADDER_WALK: run_walk(r, s); break;
    case LADDER_WALK_KEY: run_walk_key(r, s); break;
    case LADDER_COUNT: run_count(r, s); break;
    case LADDER_QUANTILE: run_quantile(r, s); break;
    case LADDER_SIZES: run_sizes(r); break;
    case LADDER_PREFETCH: run_prefetch(r, s); break;
    case LADDER_CHECK: check_everything(r); break;
    case LADDER_PUT_BATCH: run_put_batch(r, s); break;
    case LADDER_RANK_BATCH: run_rank_batch(r, s); break;
    case LADDER_FIND_BATCH: run_find_batch(r, s); break;
    case LADDER_BUILD: run_build(r, s); break;
    case LADDER_REBUILD: run_rebuild(r, s); break;
    case LADDER_CLEAR: run_clear(r); break;
    case LADDER_SECURED_PUT: run_secured_put(r, s); break;
    case LADDER_OP_COUNT: break;
    }
    /* clang-format on */
}

static void run_steps(run *r) {
    for (r->at = 0; r->at < r->step_count && r->verdict.is_good; r->at++) {
        size_t from = r->at;
        step s = step_at(r, r->at);
        run_step(r, &s);
        advance_all(r);
        check_sound_when_due(r);
        r->verdict.step_count += r->at + 1 - from;
    }
    if (r->verdict.is_good)
        check_everything(r);
}

ladder_verdict ladder_program_run(const uint8_t *program, size_t size,
                                  const ladder_run_options *options) {
    static const rung_ladder_tie ties[] = {tie_by_number, tie_by_number_down, tie_by_fake_id};
    static const ladder_run_options defaults;
    uint8_t config = size ? program[0] : 0;
    uint8_t key_words = (uint8_t)(1 + config % 4),
            score_words = (uint8_t)(1 + config / 4 % 4 % key_words);
    ladder_tie_kind tie = (ladder_tie_kind)(config / 16 % LADDER_TIE_COUNT);

    run r = {.options = options ? options : &defaults, .verdict = {.is_good = true}};
    r.steps = size ? program + 1 : program;
    r.step_count = size ? (size - 1) / LADDER_STEP_SIZE : 0;
    ladder_model_init(&r.model, key_words, score_words, ties[tie]);
    run *self = &r;
    static const rung_ladder_aid plain = {.prefetch = prefetch_of_ladder},
                                 prefixed = {prefetch_of_ladder, begin_prefixes_of_ladder,
                                             prefix_of_ladder, NULL, NULL},
                                 prefixed_at_once = {prefetch_of_ladder, begin_prefixes_of_ladder,
                                                     prefix_of_ladder, span_of_ladder,
                                                     prefixes_of_ladder};
    static const rung_ladder_aid *const aids[] = {&plain, &prefixed, &plain, &prefixed_at_once};
    rung_ladder_config shape = {
        .alloc =
            r.options->failalloc ? rung_failalloc_port(r.options->failalloc) : rung_alloc_heap(),
        .key_words = key_words,
        .score_words = score_words,
        .tie = tie == LADDER_BY_NUMBER ? NULL : tie_of_ladder,
        .tie_ctx = &self,
        .tie_aid = aids[config / 16 / LADDER_TIE_COUNT % 4],
    };
    rung_status st = rung_ladder_create(&shape, &r.ladder);
    if (st == RUNG_OK)
        run_steps(&r);
    else if (!ran_out(&r, st))
        complain(&r, "create: %s", rung_status_name(st));
    rung_ladder_destroy(r.ladder);
    ladder_model_deinit(&r.model);
    return r.verdict;
}

/* ---- printing ---- */

void ladder_program_print(const uint8_t *program, size_t size) {
    static const char *const ops[] = {
        "PUT",       "REMOVE",     "FIND",       "RANK",     "RANK_OF_KEY", "AT",    "SELECT",
        "WALK",      "WALK_KEY",   "COUNT",      "QUANTILE", "SIZES",       "WARM",  "CHECK",
        "PUT_BATCH", "RANK_BATCH", "FIND_BATCH", "BUILD",    "REBUILD",     "CLEAR", "SECURED_PUT"};
    static const char *const players[] = {"LOW", "SCATTERED", "HIGH", "HELD"};
    static const char *const keys[] = {"BYTES", "MIXED", "HELD", "NEAR"};
    _Static_assert(sizeof ops / sizeof *ops == LADDER_OP_COUNT, "a name for every operation");
    run r = {.steps = program + 1, .step_count = size ? (size - 1) / LADDER_STEP_SIZE : 0};
    fprintf(stderr, "    %u,\n", size ? program[0] : 0u);
    for (size_t i = 0; i < r.step_count; i++) {
        step s = step_at(&r, i);
        fprintf(stderr,
                "    LADDER_STEP(LADDER_%s, LADDER_FLAGS(%d, LADDER_%s, LADDER_KEY_%s, %u), %u, "
                "%u, %u, %u, %u),\n",
                ops[s.op], (int)s.style, players[s.players], keys[s.keys], s.own, s.selector,
                s.bytes[0], s.bytes[1], s.bytes[2], s.bytes[3]);
    }
}
