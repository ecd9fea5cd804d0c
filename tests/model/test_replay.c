/* SPDX-License-Identifier: Apache-2.0 */
/* Replay and swap against a plain fold of the changed history.
 *
 * A random history is applied to a live state. In the middle a second state, the helper, folds the same events with the
 * shadow of one board, and fills the live state's shadow by events, round by round, while the history goes on. After
 * the swap the board must be what a third state has that folded only the changed history, and the brute-force model
 * must agree; after the undo it must be what it would be without any of this. Now and then the live state is saved and
 * loaded, and every other one of its events goes through the log's encoding. */
/* ctest: timeout=300 */
#include "service/replay_fold.h"
#include "state/image/save.h"
#include "support/check.h"
#include "support/history_gen.h"
#include "support/state_bytes.h"
#include "support/state_model.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 900, JOB = 77, ROWS = 400 };

typedef struct trial {
    uint64_t seed;
    history_gen *g;
    rung_event *events;
    rung_status *statuses; /* of the live state */
    uint32_t count;
    rung_slice board;
    rung_replay_spec spec;
    rung_board_def def;
    rung_slice players[3];
    rung_state *live;
    uint32_t filled, swap_at, undo_at; /* steps; 0: not yet */
    uint32_t part;
} trial;

static rung_state *new_state(void) {
    rung_state *s;
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL}, &s));
    return s;
}

static void check_state(const trial *t, const rung_state *s, const char *when) {
    const char *wrong = rung_state_check(s);
    CHECK_MSG(!wrong, "seed %llu, %s: %s", (unsigned long long)t->seed, when, wrong ? wrong : "");
}

/* Save and load the live state: the same digest, and the same bytes again. */
static void reload(trial *t) {
    state_bytes first = {0}, second = {0};
    rung_state *copy;
    rung_err err = {0};
    rung_state_config config = {.alloc = rung_alloc_heap()};
    state_bytes_save(&first, t->live);
    rung_status st = state_bytes_load(&first, &config, 0, false, &copy, &err);
    CHECK_MSG(st == RUNG_OK, "seed %llu: %s", (unsigned long long)t->seed, err.message);
    state_bytes_save(&second, copy);
    CHECK(first.len == second.len && memcmp(first.bytes, second.bytes, first.len) == 0);
    rung_state_destroy(t->live);
    t->live = copy;
    state_bytes_deinit(&first);
    state_bytes_deinit(&second);
    check_state(t, t->live, "loaded");
}

static rung_status apply_encoded(rung_state *s, const rung_event *e, rung_err *err) {
    static uint8_t bytes[RUNG_EVENT_BYTES_MAX];
    size_t length;
    rung_event back;
    if (rung_event_encode(e, bytes, sizeof bytes, &length) < 0)
        return rung_state_apply(s, e, NULL, err);
    CHECK_OK(rung_event_decode(rung_slice_of(bytes, length), &back, NULL));
    return rung_state_apply(s, &back, NULL, err);
}

/* ---- what is compared ---- */

/* Equal keys are in the order of player numbers, which depends on who was known first: then the ids may differ. */
static bool same_row(const rung_row *a, const rung_row *b, bool is_tied) {
    if (a->rank != b->rank || a->index != b->index || (!is_tied && !rung_slice_eq(a->id, b->id)) ||
        a->value_count != b->value_count || a->has_at != b->has_at || a->at_ms != b->at_ms ||
        a->percentile != b->percentile || a->members != b->members)
        return false;
    return memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0;
}

static bool has_same_key(const rung_row *a, const rung_row *b) {
    return a->has_at && a->at_ms == b->at_ms &&
           memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0;
}

static bool is_tied(const rung_row *rows, uint32_t n, uint32_t i) {
    return (i && has_same_key(&rows[i - 1], &rows[i])) ||
           (i + 1 < n && has_same_key(&rows[i], &rows[i + 1]));
}

static void check_rows(const trial *t, const rung_query *q, const rung_state *a,
                       const rung_state *b) {
    static rung_row x[ROWS], y[ROWS];
    rung_view v, w;
    rung_status st = rung_state_view(a, q, &v, NULL), other = rung_state_view(b, q, &w, NULL);
    CHECK_MSG(st == other, "seed %llu: view %d, %d", (unsigned long long)t->seed, st, other);
    if (st != RUNG_OK)
        return;
    uint32_t n = rung_view_top(&v, 0, ROWS, x), m = rung_view_top(&w, 0, ROWS, y);
    CHECK_MSG(n == m && v.closed == w.closed && v.start_ms == w.start_ms && v.end_ms == w.end_ms,
              "seed %llu: %u and %u rows, window %.*s %.*s scope %.*s", (unsigned long long)t->seed,
              n, m, (int)q->window.len, q->window.ptr, (int)q->window_id.len, q->window_id.ptr,
              (int)q->scope.len, q->scope.ptr);
    for (uint32_t i = 0; i < n; i++)
        CHECK_MSG(same_row(&x[i], &y[i], is_tied(x, n, i)),
                  "seed %llu: row %u of window %.*s %.*s scope %.*s: %.*s %lld at %lld, %.*s %lld "
                  "at %lld",
                  (unsigned long long)t->seed, i, (int)q->window.len, q->window.ptr,
                  (int)q->window_id.len, q->window_id.ptr, (int)q->scope.len, q->scope.ptr,
                  (int)x[i].id.len, x[i].id.ptr, (long long)x[i].values[0].i, (long long)x[i].at_ms,
                  (int)y[i].id.len, y[i].id.ptr, (long long)y[i].values[0].i,
                  (long long)y[i].at_ms);
}

static rung_slice window_word(const rung_window_info *w) {
    return w->kind == RUNG_WINDOW_SEASON ? w->season : rung_slice_str(rung_window_words[w->kind]);
}

/* The board is the same in both: definition, windows, rankings, scopes, teams. */
static void check_same(const trial *t, const rung_state *a, const rung_state *b) {
    static rung_window_info x[512], y[512];
    const rung_board_def *d, *e;
    rung_status st = rung_state_board(a, t->board, &d), other = rung_state_board(b, t->board, &e);
    CHECK_MSG(st == other, "seed %llu: board %d, %d", (unsigned long long)t->seed, st, other);
    if (st != RUNG_OK)
        return;
    static uint8_t p[RUNG_BOARD_DEF_BYTES_MAX], q[RUNG_BOARD_DEF_BYTES_MAX];
    size_t len_p, len_q;
    CHECK_OK(rung_board_def_encode(d, p, sizeof p, &len_p));
    CHECK_OK(rung_board_def_encode(e, q, sizeof q, &len_q));
    CHECK_MSG(len_p == len_q && memcmp(p, q, len_p) == 0, "seed %llu: definitions",
              (unsigned long long)t->seed);
    uint32_t n = rung_state_windows(a, t->board, x, 512),
             m = rung_state_windows(b, t->board, y, 512);
    CHECK_MSG(n == m, "seed %llu: %u and %u windows", (unsigned long long)t->seed, n, m);
    for (uint32_t i = 0; i < n && i < 512; i++) {
        CHECK_EQ_STR(x[i].id, y[i].id);
        CHECK_MSG(x[i].closed == y[i].closed && x[i].total == y[i].total,
                  "seed %llu: window %s: %u and %u entries, closed %d and %d",
                  (unsigned long long)t->seed, x[i].id, x[i].total, y[i].total, x[i].closed,
                  y[i].closed);
        rung_query query = {
            .board = t->board, .window = window_word(&x[i]), .window_id = rung_slice_str(x[i].id)};
        check_rows(t, &query, a, b);
        query.teams = true;
        check_rows(t, &query, a, b);
        query.teams = false;
        for (uint32_t k = 0; k < d->scope_count; k++)
            for (uint32_t tries = 0; tries < 4; tries++) {
                rung_slice value = history_attribute_value(t->g, d->scopes[k]);
                query.scope = history_text(t->g, "%.*s:%.*s", (int)d->scopes[k].len,
                                           d->scopes[k].ptr, (int)value.len, value.ptr);
                check_rows(t, &query, a, b);
            }
    }
}

/* ---- references ---- */

static bool is_of_board(const trial *t, const rung_event *e) {
    return e->kind == RUNG_EVENT_SCORE && rung_slice_eq(e->score.board, t->board);
}

static bool is_excluded(const trial *t, rung_slice player, int64_t at_ms) {
    for (uint32_t k = 0; k < t->spec.player_count; k++)
        if (rung_slice_eq(t->players[k], player))
            return true;
    return t->spec.has_span && at_ms >= t->spec.from_ms && at_ms < t->spec.to_ms;
}

/* Redis commands of one event are left out together. */
static bool is_left_out(const trial *t, const rung_event *e, uint32_t i, int64_t log_ms) {
    int64_t now = e->ts_ms > log_ms ? e->ts_ms : log_ms;
    rung_zcommand c;
    rung_zcommand_item item;
    if (i >= t->spec.until_seq)
        return false;
    if (is_of_board(t, e))
        return is_excluded(t, e->score.player, e->score.has_at ? e->score.at_ms : now);
    if (e->kind != RUNG_EVENT_KEYS)
        return false;
    rung_slice rest = e->keys.packed;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        while (c.kind == RUNG_ZCOMMAND_ZADD && rung_slice_eq(c.key, t->board) &&
               rung_zcommand_item_next(&c, &item))
            if (is_excluded(t, item.name, now))
                return true;
    return false;
}

/* An event that the board took for a repetition, could not tell, or was not valid for it. */
static bool is_repetition(const trial *t, uint32_t i) {
    rung_status st = t->statuses[i];
    return is_of_board(t, &t->events[i]) &&
           (st == RUNG_DUPLICATE || st == RUNG_ECONFLICT || st == RUNG_ESTALE ||
            st == RUNG_EFUTURE || st == RUNG_EINVAL);
}

/* A window that the board would not open or close: a shadow is not asked either. */
static bool is_refused_window(const trial *t, uint32_t i) {
    const rung_event *e = &t->events[i];
    return (e->kind == RUNG_EVENT_WINDOW_OPENED || e->kind == RUNG_EVENT_WINDOW_CLOSED) &&
           rung_slice_eq(e->window.board, t->board) && t->statuses[i] < 0;
}

/* The changed history up to step `end`: what the board should be after the swap. */
static void check_changed(const trial *t, uint32_t end) {
    rung_state *s = new_state();
    state_model *m =
        state_model_create(&(state_model_config){.id_capacity = 1000000, .id_keep_ms = 86400000});
    model_answer answer;
    rung_event rules = {.kind = RUNG_EVENT_RULES_SET, .ts_ms = t->events[0].ts_ms};
    rules.rules.level = RUNG_RULES_LEVEL;
    state_model_apply(m, &rules, RUNG_OK, &answer);
    for (uint32_t i = 0; i < end; i++) {
        rung_event e = t->events[i];
        bool is_def =
            e.kind == RUNG_EVENT_BOARD_DEFINED && rung_slice_eq(e.defined.board, t->board);
        const rung_board_def *def;
        bool is_there = rung_state_board(s, t->board, &def) == RUNG_OK;
        if ((is_def && t->statuses[i] < 0) || is_refused_window(t, i)) { /* nor the shadow */
            e.kind = RUNG_EVENT_TICK;
            is_def = false;
        }
        if (is_def && t->spec.def && (!t->swap_at || i < t->swap_at)) {
            if (is_there)
                e.kind = RUNG_EVENT_TICK; /* time passes, no definition */
            else
                e.defined.def = *t->spec.def;
        }
        if (is_left_out(t, &e, i, rung_state_time(s)) || is_repetition(t, i)) {
            rung_state_shadow_pass(s, e.ts_ms);
            rung_event pass = {.kind = RUNG_EVENT_ACCESS_SET, .ts_ms = e.ts_ms};
            state_model_apply(m, &pass, RUNG_OK, &answer);
            continue;
        }
        if (e.kind == RUNG_EVENT_TICK && t->events[i].kind != RUNG_EVENT_TICK) {
            rung_state_shadow_pass(s, e.ts_ms);
            rung_event pass = {.kind = RUNG_EVENT_ACCESS_SET, .ts_ms = e.ts_ms};
            state_model_apply(m, &pass, RUNG_OK, &answer);
            continue;
        }
        rung_status st = rung_state_apply(s, &e, NULL, NULL);
        state_model_apply(m, &e, st, &answer);
    }
    check_same(t, t->live, s);
    rung_query q = {.board = t->board};
    model_view v;
    rung_view w;
    static rung_row rows[ROWS], theirs[ROWS];
    rung_status st = rung_state_view(t->live, &q, &w, NULL);
    if (!t->spec.def && state_model_view(m, &q, &v) == RUNG_OK) {
        CHECK_STATUS(st, RUNG_OK);
        CHECK_EQ_U64(v.total, w.total);
        uint32_t n = rung_view_top(&w, 0, ROWS, rows);
        if (!v.is_decay && model_top(&v, 0, ROWS, theirs) == n)
            for (uint32_t i = 0; i < n; i++)
                CHECK_MSG(same_row(&rows[i], &theirs[i], is_tied(rows, n, i)),
                          "seed %llu: row %u: %.*s, the model has %.*s",
                          (unsigned long long)t->seed, i, (int)rows[i].id.len, rows[i].id.ptr,
                          (int)theirs[i].id.len, theirs[i].id.ptr);
        model_view_deinit(&v);
    }
    state_model_destroy(m);
    rung_state_destroy(s);
}

/* The history as it was, but without definitions since the swap: what the board should be after the undo. */
static void check_undone(const trial *t, uint32_t end) {
    rung_state *s = new_state();
    for (uint32_t i = 0; i < end; i++) {
        const rung_event *e = &t->events[i];
        bool is_def =
            e->kind == RUNG_EVENT_BOARD_DEFINED && rung_slice_eq(e->defined.board, t->board);
        bool is_passed = is_def || is_repetition(t, i) || is_refused_window(t, i);
        if (is_passed && i >= t->swap_at)
            rung_state_shadow_pass(s, e->ts_ms);
        else
            rung_ignore(rung_state_apply(s, e, NULL, NULL), "it may be refused");
    }
    check_same(t, t->live, s);
    rung_state_destroy(s);
}

/* ---- the job ---- */

static rung_status put(trial *t, rung_slice packed, rung_err *err) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_FILLED, .ts_ms = rung_state_time(t->live)};
    e.filled.board = t->board;
    e.filled.job = JOB;
    e.filled.part = t->part;
    e.filled.packed = packed;
    rung_status st = apply_encoded(t->live, &e, err);
    t->part += st >= 0;
    return st;
}

static void step(trial *t, uint32_t *at) {
    uint32_t i = (*at)++;
    t->statuses[i] = rung_state_apply(t->live, &t->events[i], NULL, NULL);
    /* A shadow does not remember the id or offset of what only the shadow took: nor must the references. */
    if (is_of_board(t, &t->events[i]) && t->statuses[i] < 0 && !is_repetition(t, i))
        t->events[i].score.id = t->events[i].score.source = (rung_slice){NULL, 0};
    rung_rng *rng = history_gen_rng(t->g);
    if (rung_rng_next(rng) % 100 == 0)
        reload(t);
}

/* Send what the helper has, and let the history go on between two parts. false: the shadow is gone. */
static bool send(trial *t, const rung_state *helper, bool only_noted, uint32_t *at, uint32_t end) {
    static uint8_t bytes[RUNG_FILL_BYTES_MAX];
    rung_fill fill;
    rung_err err = {0};
    size_t length;
    CHECK_STATUS(rung_fill_begin(helper, t->board, only_noted, &fill), RUNG_OK);
    rung_status st;
    while ((st = rung_fill_next(&fill, bytes,
                                !only_noted && t->part ? RUNG_FILL_PIECE_MIN : sizeof bytes,
                                &length)) == RUNG_OK) {
        st = put(t, rung_slice_of(bytes, length), &err);
        if (st < 0 && err.code == RUNG_EABSENT)
            return false;
        CHECK_MSG(st == RUNG_OK, "seed %llu: %s", (unsigned long long)t->seed, err.message);
        check_state(t, t->live, "filled");
        for (uint32_t n = rung_rng_next(history_gen_rng(t->g)) % 4; n && *at < end; n--)
            step(t, at);
    }
    CHECK_STATUS(st, RUNG_NOT_FOUND);
    return true;
}

static rung_status fold_to(rung_replay_fold *f, const trial *t, uint32_t end, rung_err *err) {
    rung_status st = RUNG_OK;
    while (st >= 0 && rung_state_seq(f->state) < end)
        st = rung_replay_fold_apply(f, &t->events[rung_state_seq(f->state)], err);
    return st;
}

/* One job from its beginning. false: it ended early (a player was erased, or the board redefined or deleted). */
static bool build(trial *t, uint32_t *at, uint32_t end) {
    rung_state *helper = new_state();
    rung_replay_fold fold;
    rung_err err = {0};
    rung_shadow_info info;
    bool done = false;
    t->part = 0;
    t->spec.until_seq = *at;
    CHECK_OK(rung_replay_fold_init(&fold, rung_alloc_heap(), helper, &t->spec));
    rung_status st = fold_to(&fold, t, *at, &err);
    const rung_board_def *def;
    if (st < 0 || rung_state_shadow(helper, t->board, &info) != RUNG_OK ||
        rung_state_board(t->live, t->board, &def) != RUNG_OK)
        goto out;
    check_state(t, helper, "helper");
    rung_state_shadow_note(helper);
    if (!send(t, helper, false, at, end))
        goto out;
    for (uint32_t round = 0; round < 20 && *at < end; round++) {
        rung_slice queue = rung_fill_queue;
        if (put(t, queue, &err) < 0)
            goto out;
        if (fold_to(&fold, t, *at, &err) < 0 ||
            rung_state_shadow(helper, t->board, &info) != RUNG_OK)
            goto out;
        check_state(t, helper, "helper");
        if (!send(t, helper, true, at, end))
            goto out;
        rung_state_shadow_note(helper);
        st = put(t, rung_fill_complete, &err);
        if (st == RUNG_OK)
            break;
        if (err.code == RUNG_EABSENT)
            goto out;
        CHECK_STATUS(st, RUNG_EREFUSED); /* interrupted */
    }
    done =
        rung_state_shadow(t->live, t->board, &info) == RUNG_OK && info.phase == RUNG_SHADOW_READY;
out:
    rung_replay_fold_deinit(&fold);
    rung_state_destroy(helper);
    return done;
}

static void drop(trial *t) {
    rung_event e = {.kind = RUNG_EVENT_SHADOW_DROPPED, .ts_ms = rung_state_time(t->live)};
    e.dropped.board = t->board;
    e.dropped.job = JOB;
    rung_ignore(rung_state_apply(t->live, &e, NULL, NULL), "there may be none");
    check_state(t, t->live, "dropped");
}

static rung_status swap(trial *t, bool is_undo) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_SWAPPED, .ts_ms = rung_state_time(t->live)};
    e.swapped.board = t->board;
    e.swapped.job = JOB;
    e.swapped.is_undo = is_undo;
    rung_status st = apply_encoded(t->live, &e, NULL);
    check_state(t, t->live, "swapped");
    return st;
}

/* Another definition with the same columns. */
static bool change_def(trial *t, const rung_board_def *now) {
    static uint8_t bytes[RUNG_BOARD_DEF_BYTES_MAX];
    rung_rng *rng = history_gen_rng(t->g);
    size_t length;
    CHECK_OK(rung_board_def_encode(now, bytes, sizeof bytes, &length));
    CHECK_OK(rung_board_def_decode(rung_slice_of(bytes, length), &t->def, NULL)); /* it borrows */
    if (now->update == RUNG_UPDATE_DECAY)
        return false;
    static const rung_update updates[] = {RUNG_UPDATE_BEST, RUNG_UPDATE_LAST, RUNG_UPDATE_SUM};
    t->def.update = updates[rung_rng_next(rng) % 3];
    t->def.key.columns[0].order =
        rung_rng_next(rng) % 2 ? RUNG_ORDER_ASC : t->def.key.columns[0].order;
    t->def.windows |=
        rung_rng_next(rng) % 2 ? RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) : 0;
    if (rung_rng_next(rng) % 2)
        t->def.limits = 0;
    if (rung_rng_next(rng) % 2)
        t->def.key.tie = RUNG_TIE_PLAYER;
    return rung_board_def_check(&t->def, NULL) == RUNG_OK;
}

static void choose(trial *t, const rung_board_def *now) {
    rung_rng *rng = history_gen_rng(t->g);
    t->spec = (rung_replay_spec){.board = t->board, .players = t->players, .has_sources = true};
    uint64_t what = rung_rng_next(rng) % 3;
    if (what == 0 && change_def(t, now)) {
        t->spec.def = &t->def;
    } else if (what == 1) {
        t->spec.player_count = 3;
        for (uint32_t i = 0; i < 3; i++)
            t->players[i] = history_player(t->g);
    } else {
        int64_t end = rung_state_time(t->live), start = t->events[0].ts_ms;
        t->spec.has_span = true;
        t->spec.from_ms = start + (end - start) / 4;
        t->spec.to_ms = start + (end - start) / 2 + 1;
    }
}

/* How far the trial came: 0 no shadow, 1 built, 2 undone. */
static int run_trial(uint64_t seed) {
    trial t = {.seed = seed, .g = history_gen_create(seed), .count = STEPS};
    t.events = calloc(STEPS, sizeof *t.events);
    t.statuses = calloc(STEPS, sizeof *t.statuses);
    CHECK(t.events && t.statuses);
    history_gen_without_rules(t.g); /* a board with rules has no shadow */
    for (uint32_t i = 0; i < STEPS; i++)
        history_gen_next(t.g, &t.events[i]);
    const history_taste *taste = history_gen_taste(t.g);
    t.board = taste->boards[seed % taste->board_count];
    t.live = new_state();
    int reached = 0;
    uint32_t at = 0;
    while (at < STEPS / 2)
        step(&t, &at);
    bool is_built = false;
    const rung_board_def *now;
    for (int tries = 0; tries < 4 && !is_built && at < STEPS * 3 / 4; tries++) {
        drop(&t);
        if (rung_state_board(t.live, t.board, &now) != RUNG_OK)
            break;
        choose(&t, now);
        is_built = build(&t, &at, STEPS * 3 / 4);
    }
    if (!is_built)
        goto out;
    for (uint64_t i = rung_rng_next(history_gen_rng(t.g)) % 40; i; i--)
        step(&t, &at);
    CHECK(swap(&t, true) < 0);
    if (swap(&t, false) < 0)
        goto out;
    reached = 1;
    t.swap_at = at;
    check_changed(&t, at);
    while (at < STEPS * 7 / 8)
        step(&t, &at);
    check_changed(&t, at);
    rung_shadow_info info;
    while (at < STEPS)
        step(&t, &at);
    if (rung_state_shadow(t.live, t.board, &info) != RUNG_OK)
        goto out; /* the board was deleted meanwhile */
    check_changed(&t, at);
    CHECK_STATUS(swap(&t, true), RUNG_OK);
    reached = 2;
    check_undone(&t, at);
    CHECK_STATUS(swap(&t, false), RUNG_OK); /* and once more */
    check_changed(&t, at);
    drop(&t);
    check_changed(&t, at);
    reload(&t);
out:
    rung_state_destroy(t.live);
    history_gen_destroy(t.g);
    free(t.events);
    free(t.statuses);
    return reached;
}

TEST(swapped_boards_are_what_the_changed_history_gives) {
    const char *seeds = getenv("RUNG_SEEDS"), *first = getenv("RUNG_SEED");
    uint64_t from = first ? strtoull(first, NULL, 10) : 1,
             n = seeds ? strtoull(seeds, NULL, 10) : 60;
    uint32_t reached[3] = {0, 0, 0};
    for (uint64_t seed = from; seed < from + n; seed++)
        reached[run_trial(seed)]++;
    printf("%u without a shadow, %u swapped, %u undone\n", reached[0], reached[1], reached[2]);
    CHECK(first || reached[2] * 4 > n);
}

/* Seeds that failed once. */
TEST(swapped_boards_of_seeds_that_failed) {
    static const uint64_t seeds[] = {
        122, /* after a swap the board refused to close a window that its shadow had open */
        1525, 3412, 4595, /* another board refused a submission and left its offset to this one */
        1486,             /* a window left memory between the part that made it and the last one */
        1806, 2661, 5623, /* a banned player's scopes changed before the window was closed */
        1619, 3280, /* the oracle's: equal keys, in another order because players were left out */
    };
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        run_trial(seeds[i]);
}

RUNG_TEST_MAIN
