/* SPDX-License-Identifier: Apache-2.0 */
/* See archive_contract.h. Top-down: the kit, comparing with the state, the contract by topic, random histories. */
#define _GNU_SOURCE
#include "support/archive_contract.h"

#include "archive/compare.h"
#include "base/bytes.h"

#include "support/check.h"
#include "support/history_gen.h"
#include "support/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS (INT64_C(3600) * 1000)
#define DAY_MS  (24 * HOUR_MS)
#define T0      INT64_C(1763164800000) /* 2025-11-15T00:00:00Z, a Saturday */

/* ---- the kit ---- */

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    archive_kit *k = ctx;
    k->closed_count++;
    if (!k->archive)
        return;
    CHECK(k->packed_count < ARCHIVE_KIT_PACKED_MAX);
    CHECK_OK(
        rung_closed_window_pack(rung_alloc_heap(), board, view, &k->packed[k->packed_count++]));
}

void archive_kit_init(archive_kit *k, rung_archive *archive) {
    memset(k, 0, sizeof *k);
    k->archive = archive;
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .on_close = on_close, .on_close_ctx = k},
        &k->state));
}

void archive_kit_deinit(archive_kit *k) {
    archive_kit_commit(k);
    rung_state_destroy(k->state);
    rung_buffer_deinit(&k->last);
}

rung_archive_effect archive_effect_of(rung_status st, const rung_outcome *o) {
    rung_archive_effect e = {.status = st};
    for (uint32_t i = 0; i < RUNG_COLUMNS_MAX; i++) {
        e.result.types[i] = o->types[i] & 15;
        e.result.decimals[i] = o->types[i] >> 4;
        e.result.values[i] = o->values[i];
    }
    e.result.count = st < 0 || o->duplicate ? 0 : o->value_count;
    e.rule = st < 0 ? (rung_rule)o->rule : RUNG_RULE_NONE;
    e.limit = o->limit;
    return e;
}

rung_status archive_kit_apply(archive_kit *k, const rung_event *event) {
    rung_err err = {0};
    rung_outcome outcome;
    rung_status status = rung_state_apply(k->state, event, &outcome, &err);
    if (!k->archive)
        return status;
    if (!k->in_batch)
        CHECK_OK(rung_archive_begin(k->archive, &err));
    k->in_batch = true;
    rung_archive_effect effect = archive_effect_of(status, &outcome);
    rung_status st = rung_archive_add_event(k->archive, rung_state_seq(k->state), event,
                                            rung_state_time(k->state), &effect, &err);
    CHECK_MSG(st == RUNG_OK, "add_event: %s", err.message);
    for (uint32_t i = 0; i < k->packed_count; i++) {
        rung_packed_reader r;
        CHECK_OK(rung_packed_open(rung_buffer_slice(&k->packed[i]), &r, &err));
        CHECK_EQ_U64(r.window.closed_seq, rung_state_seq(k->state));
        st = rung_archive_add_packed(k->archive, rung_slice_of(k->packed[i].data, k->packed[i].len),
                                     &err);
        CHECK_MSG(st == RUNG_OK, "add_packed: %s", err.message);
        rung_buffer_deinit(&k->last);
        k->last = k->packed[i];
    }
    k->packed_count = 0;
    if (event->kind != RUNG_EVENT_SCORE)
        archive_ages_note(&k->ages, k->state);
    return status;
}

void archive_kit_commit(archive_kit *k) {
    rung_err err = {0};
    if (!k->in_batch)
        return;
    k->in_batch = false;
    rung_status st =
        rung_archive_commit(k->archive, rung_state_seq(k->state), rung_state_time(k->state), &err);
    CHECK_MSG(st == RUNG_OK, "commit: %s", err.message);
}

static void apply_ok(archive_kit *k, rung_event event) {
    CHECK(archive_kit_apply(k, &event) >= 0);
}

rung_event archive_event_define(const char *board, const rung_board_def *def, int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED,
                        .ts_ms = ts_ms,
                        .defined = {.board = rung_slice_str(board), .def = *def}};
}

rung_event archive_event_score(const char *board, const char *player, int64_t score,
                               int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .ts_ms = ts_ms,
                        .score = {.board = rung_slice_str(board),
                                  .player = rung_slice_str(player),
                                  .value_count = 1,
                                  .values = {{.i = score}}}};
}

rung_event archive_event_tick(int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_TICK, .ts_ms = ts_ms};
}

rung_event archive_event_ban(const char *player, bool on, int64_t ts_ms) {
    return (rung_event){
        .kind = on ? RUNG_EVENT_BANNED : RUNG_EVENT_UNBANNED,
        .ts_ms = ts_ms,
        .ban = {.player = rung_slice_str(player), .reason = RUNG_SLICE("said \"so\"")}};
}

rung_event archive_event_erase(const char *player, int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_PLAYER_ERASED,
                        .ts_ms = ts_ms,
                        .erased = {.player = rung_slice_str(player)}};
}

rung_event archive_event_profile(const char *player, const char *attribute, const char *value,
                                 int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = ts_ms};
    e.profile.player = rung_slice_str(player);
    e.profile.count = 1;
    e.profile.attributes[0] = (rung_attribute){rung_slice_str(attribute), rung_slice_str(value)};
    return e;
}

rung_event archive_event_remove(const char *board, const char *player, int64_t ts_ms) {
    return (rung_event){
        .kind = RUNG_EVENT_ENTRY_REMOVED,
        .ts_ms = ts_ms,
        .removed = {.board = rung_slice_str(board), .player = rung_slice_str(player)}};
}

/* ---- what was changed when ---- */

static uint32_t find_age(const archive_ages *a, rung_slice board, const char *what) {
    uint32_t i = 0;
    while (i < a->count && (!rung_slice_eq(board, rung_slice_str(a->ages[i].board)) ||
                            strcmp(what, a->ages[i].what) != 0))
        i++;
    return i;
}

static void note_age(archive_ages *a, rung_slice board, const char *what, uint64_t seq) {
    uint32_t i = find_age(a, board, what);
    if (i == a->count) {
        CHECK(i < ARCHIVE_AGES_MAX && board.len < sizeof a->ages[i].board);
        memset(&a->ages[i], 0, sizeof a->ages[i]);
        memcpy(a->ages[i].board, board.ptr, board.len);
        snprintf(a->ages[i].what, sizeof a->ages[i].what, "%s", what);
        a->ages[i].since = seq;
        a->count++;
    }
    a->ages[i].is_seen = true;
}

static void attribute_age_name(rung_slice attribute, char out[96]) {
    snprintf(out, 96, "by %.*s", (int)attribute.len, attribute.ptr);
}

static void team_age_name(const rung_board_def *def, char out[96]) {
    snprintf(out, 96, "teams %.*s %d %u", (int)def->team_by.len, def->team_by.ptr,
             (int)def->team_combine, def->team_top);
}

/* Of whom is banned while an attribute comes to a board, memory asks for the value when they come back: such an
 * attribute is never compared. */
static void note_attribute(archive_ages *a, const rung_state *state, rung_slice board, bool is_new,
                           rung_slice name) {
    rung_stats stats;
    char what[96];
    rung_state_stats(state, &stats);
    attribute_age_name(name, what);
    note_age(a, board, what, stats.banned && !is_new ? UINT64_MAX : rung_state_seq(state));
}

void archive_ages_note(archive_ages *a, const rung_state *state) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->count; i++)
        a->ages[i].is_seen = false;
    for (uint32_t i = 0; i < rung_state_board_span(state); i++) {
        rung_slice board;
        const rung_board_def *def;
        char name[96];
        if (rung_state_board_at(state, i, &board, &def) != RUNG_OK)
            continue;
        bool is_new = find_age(a, board, "board") == a->count;
        note_age(a, board, "board", rung_state_seq(state));
        for (uint32_t k = 0; k < def->scope_count + (def->has_teams ? 1 : 0); k++)
            note_attribute(a, state, board, is_new,
                           k < def->scope_count ? def->scopes[k] : def->team_by);
        team_age_name(def, name);
        if (def->has_teams)
            note_age(a, board, name, rung_state_seq(state));
    }
    for (uint32_t i = 0; i < a->count; i++)
        if (a->ages[i].is_seen)
            a->ages[kept++] = a->ages[i];
    a->count = kept;
}

/* Was it so when the window closed, and ever since? */
static bool is_older(const archive_ages *a, rung_slice board, const char *what,
                     uint64_t closed_seq) {
    uint32_t i = a ? find_age(a, board, what) : 0;
    return !a || (i < a->count && a->ages[i].since < closed_seq);
}

/* ---- the same rows ---- */

/* Decayed scores come from another computation: equal to a few units in the last place. */
static void same_value(rung_value a, rung_value b, bool is_decay) {
    if (is_decay)
        CHECK_MSG(a.d == b.d || fabs(a.d - b.d) <= 1e-12 * fabs(a.d) || fabs(a.d) < 1e-300,
                  "decayed %g is not %g", a.d, b.d);
    else
        CHECK_EQ_I64(a.i, b.i);
}

static void same_row(const rung_row *a, const rung_row *b, bool is_decay) {
    CHECK_EQ_U64(a->rank, b->rank);
    CHECK_EQ_U64(a->index, b->index);
    if (!a->members) /* teams have no numbers in an archive */
        CHECK_EQ_U64(a->number, b->number);
    CHECK_EQ_U64(a->id.len, b->id.len);
    CHECK_EQ_MEM(a->id.ptr, b->id.ptr, a->id.len);
    CHECK_EQ_U64(a->value_count, b->value_count);
    for (uint32_t i = 0; i < a->value_count; i++)
        same_value(a->values[i], b->values[i], is_decay);
    CHECK_EQ_U64(a->has_at, b->has_at);
    CHECK_EQ_I64(a->at_ms, b->at_ms);
    CHECK_EQ_F64(a->percentile, b->percentile);
    CHECK_EQ_U64(a->members, b->members);
    CHECK_EQ_U64(a->list_rank, b->list_rank);
}

static void compare_around(const rung_view *v, rung_archive_view *av, rung_slice id,
                           uint32_t around, bool is_decay) {
    rung_row *a = malloc((2 * around + 1) * sizeof *a), *b = malloc((2 * around + 1) * sizeof *b);
    uint32_t na = 0, nb = 0, sa = 0, sb = 0;
    rung_err err;
    CHECK(a && b);
    rung_status st = rung_view_around(v, id, around, a, &na, &sa);
    CHECK_STATUS(rung_archive_reading.around(av, id, around, b, &nb, &sb, &err), st);
    CHECK_EQ_U64(na, nb);
    CHECK_EQ_U64(sa, sb);
    for (uint32_t i = 0; i < na; i++)
        same_row(&a[i], &b[i], is_decay);
    free(a);
    free(b);
}

static void compare_view(const rung_view *v, rung_archive_view *av, bool is_decay) {
    uint32_t na, nb, room = v->total + 2;
    rung_row *a = calloc(room, sizeof *a), *b = calloc(room, sizeof *b);
    rung_err err;
    CHECK(a && b);
    CHECK_EQ_U64(v->total, av->total);
    CHECK_EQ_U64(v->distinct, av->distinct);
    static const uint32_t offsets[] = {0, 1, 3};
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        na = rung_view_top(v, offsets[k], k == 2 ? 2 : room, a);
        CHECK_OK(rung_archive_reading.top(av, offsets[k], k == 2 ? 2 : room, b, &nb, &err));
        CHECK_EQ_U64(na, nb);
        for (uint32_t i = 0; i < na; i++)
            same_row(&a[i], &b[i], is_decay);
    }
    na = rung_view_top(v, 0, room, a);
    for (uint32_t i = 0; i < na; i += 1 + na / 4) {
        bool found = false;
        CHECK_OK(rung_archive_reading.rows(av, 1, &a[i].id, b, &found, &err));
        CHECK(found);
        same_row(&a[i], &b[0], is_decay);
        compare_around(v, av, a[i].id, i % 4, is_decay);
    }
    compare_around(v, av, RUNG_SLICE("nobody at all"), 2, is_decay);
    free(a);
    free(b);
}

/* Open the same ranking in both; `q` has board, scope, teams and rank. */
static void open_both(const rung_state *state, rung_archive *archive, const rung_window_info *w,
                      rung_query q, rung_view *v, rung_archive_view *av) {
    rung_err err = {0};
    q.window =
        w->kind == RUNG_WINDOW_SEASON ? w->season : rung_slice_str(rung_window_words[w->kind]);
    q.window_id = rung_slice_str(w->id);
    q.has_rank = true;
    q.now_ms = w->end_ms + 17 * (int64_t)q.rank;
    rung_status st = rung_state_view(state, &q, v, &err);
    CHECK_MSG(st == RUNG_OK, "state: %s", err.message);
    CHECK(v->closed);
    st = rung_archive_reading.open(archive,
                                   &(rung_archive_query){.board = q.board,
                                                         .kind = w->kind,
                                                         .window_id = q.window_id,
                                                         .scope = q.scope,
                                                         .teams = q.teams,
                                                         .has_rank = true,
                                                         .rank = q.rank,
                                                         .now_ms = q.now_ms},
                                   av, &err);
    CHECK_MSG(st == RUNG_OK, "archive: window %s: %s", w->id, err.message);
}

static void compare_ranking(const rung_state *state, rung_archive *archive,
                            const rung_window_info *w, rung_query q, bool is_decay) {
    for (int style = 0; style < 3; style++) {
        rung_view v;
        rung_archive_view av;
        q.rank = (rung_rank_style)style;
        open_both(state, archive, w, q, &v, &av);
        compare_view(&v, &av, is_decay);
        rung_archive_reading.close(&av);
    }
}

static uint64_t closed_seq_of(rung_archive *archive, rung_slice board, const rung_window_info *w) {
    rung_archive_view av;
    rung_err err = {0};
    CHECK_OK(rung_archive_reading.open(
        archive,
        &(rung_archive_query){.board = board, .kind = w->kind, .window_id = rung_slice_str(w->id)},
        &av, &err));
    uint64_t seq = av.window.closed_seq;
    rung_archive_reading.close(&av);
    return seq;
}

/* Each value that somebody stands under, and some that perhaps nobody does. */
static uint32_t compare_scope(const rung_state *state, rung_archive *archive,
                              const rung_window_info *w, rung_slice board, rung_slice attribute,
                              bool is_decay) {
    static const char *const others[] = {"", "FI", "nobody has this", "erased-1"};
    enum { VALUES_MAX = 64 };
    rung_slice values[VALUES_MAX];
    uint32_t count = 0, slot = 0, total;
    rung_view v;
    rung_archive_view av;
    rung_scope_values of_players;
    open_both(state, archive, w, (rung_query){.board = board}, &v, &av);
    rung_archive_reading.close(&av);
    rung_row *rows = calloc(v.total + 1, sizeof *rows);
    CHECK(rows);
    CHECK_OK(rung_scope_values_init(&v, rung_alloc_heap(), &of_players));
    while (slot < of_players.count && !rung_slice_eq(of_players.attributes[slot], attribute))
        slot++;
    CHECK(slot < of_players.count);
    for (; count < sizeof others / sizeof *others; count++)
        values[count] = rung_slice_str(others[count]);
    total = rung_view_top(&v, 0, v.total, rows);
    for (uint32_t i = 0; i < total && count < VALUES_MAX; i++) {
        rung_slice value = rung_scope_values_of(&of_players, slot, rows[i].number);
        uint32_t k = 0;
        while (k < count && !rung_slice_eq(values[k], value))
            k++;
        if (k == count)
            values[count++] = value;
    }
    for (uint32_t i = 0; i < count; i++) {
        char scope[300];
        int len = snprintf(scope, sizeof scope, "%.*s:%.*s", (int)attribute.len, attribute.ptr,
                           (int)values[i].len, values[i].ptr);
        compare_ranking(state, archive, w,
                        (rung_query){.board = board, .scope = rung_slice_of(scope, (size_t)len)},
                        is_decay);
    }
    rung_scope_values_deinit(&of_players, rung_alloc_heap());
    free(rows);
    return count;
}

/* Sums of weights and sums of doubles agree to some eleven digits, so that near teams may change places: each by its
 * name. */
static void compare_decayed_teams(const rung_state *state, rung_archive *archive,
                                  const rung_window_info *w, rung_slice board) {
    rung_view v;
    rung_archive_view av;
    rung_err err;
    open_both(state, archive, w, (rung_query){.board = board, .teams = true}, &v, &av);
    CHECK_EQ_U64(v.total, av.total);
    for (uint32_t i = 0; i < v.total; i++) {
        rung_row a, b;
        bool found;
        CHECK_EQ_U64(rung_view_top(&v, i, 1, &a), 1);
        CHECK_OK(rung_archive_reading.rows(&av, 1, &a.id, &b, &found, &err));
        CHECK(found);
        CHECK_EQ_U64(a.members, b.members);
        CHECK_MSG(fabs(a.values[0].d - b.values[0].d) <= 1e-9 * fabs(a.values[0].d) ||
                      fabs(a.values[0].d) < 1e-300,
                  "decayed %g is not %g", a.values[0].d, b.values[0].d);
    }
    rung_archive_reading.close(&av);
}

static uint32_t compare_scopes_of(const rung_state *state, rung_archive *archive,
                                  const archive_ages *ages, rung_slice board,
                                  const rung_board_def *def, const rung_window_info *w) {
    bool is_decay = def->update == RUNG_UPDATE_DECAY;
    uint64_t closed_seq = closed_seq_of(archive, board, w);
    uint32_t compared = 0;
    char name[96];
    for (uint32_t i = 0; i < def->scope_count; i++) {
        attribute_age_name(def->scopes[i], name);
        if (is_older(ages, board, name, closed_seq))
            compared += compare_scope(state, archive, w, board, def->scopes[i], is_decay);
    }
    attribute_age_name(def->team_by, name);
    if (!def->has_teams || !is_older(ages, board, name, closed_seq))
        return compared;
    team_age_name(def, name);
    if (!is_older(ages, board, name, closed_seq))
        return compared;
    if (is_decay)
        compare_decayed_teams(state, archive, w, board);
    else
        compare_ranking(state, archive, w, (rung_query){.board = board, .teams = true}, false);
    return compared + 1;
}

typedef uint32_t each_window(const rung_state *state, rung_archive *archive,
                             const archive_ages *ages, rung_slice board, const rung_board_def *def,
                             const rung_window_info *w);

static uint32_t for_each_window(const rung_state *state, rung_archive *archive,
                                const archive_ages *ages, each_window *what) {
    static rung_window_info windows[4096];
    uint32_t compared = 0;
    for (uint32_t i = 0; i < rung_state_board_span(state); i++) {
        rung_slice board;
        const rung_board_def *def;
        if (rung_state_board_at(state, i, &board, &def) != RUNG_OK)
            continue;
        uint32_t count = rung_state_windows(state, board, windows, 4096);
        CHECK(count <= 4096);
        for (uint32_t k = 0; k < count; k++)
            if (windows[k].closed)
                compared += what(state, archive, ages, board, def, &windows[k]);
    }
    return compared;
}

static uint32_t compare_window(const rung_state *state, rung_archive *archive,
                               const archive_ages *ages, rung_slice board,
                               const rung_board_def *def, const rung_window_info *w) {
    (void)ages;
    compare_ranking(state, archive, w, (rung_query){.board = board},
                    def->update == RUNG_UPDATE_DECAY);
    return 1;
}

uint32_t archive_compare(const rung_state *state, rung_archive *archive) {
    return for_each_window(state, archive, NULL, compare_window);
}

uint32_t archive_compare_scopes(const rung_state *state, rung_archive *archive,
                                const archive_ages *ages) {
    return for_each_window(state, archive, ages, compare_scopes_of);
}

/* ---- the contract ---- */

static rung_archive *open_archive(const archive_maker *m) {
    rung_archive *a;
    rung_err err = {0};
    rung_status st = m->open(m->ctx, &a, &err);
    CHECK_MSG(st == RUNG_OK, "open: %s", err.message);
    return a;
}

static uint64_t cursor_of(rung_archive *a) {
    uint64_t seq = 99;
    rung_err err;
    CHECK_OK(rung_archive_cursor(a, &seq, NULL, &err));
    return seq;
}

void archive_contract_empty(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_archive_view view;
    uint32_t count;
    rung_archive_score scores[1];
    int64_t time_ms = 1;
    uint64_t seq = 1;
    CHECK_OK(rung_archive_cursor(a, &seq, &time_ms, &err));
    CHECK_EQ_U64(seq, 0);
    CHECK_EQ_I64(time_ms, INT64_MIN);
    CHECK_STATUS(
        rung_archive_reading.open(a,
                                  &(rung_archive_query){.board = RUNG_SLICE("b"),
                                                        .kind = RUNG_WINDOW_DAY,
                                                        .window_id = RUNG_SLICE("2025-11-15")},
                                  &view, &err),
        RUNG_NOT_FOUND);
    CHECK(err.message[0]);
    CHECK_OK(rung_archive_reading.scores(a, &(rung_archive_score_query){.board = RUNG_SLICE("b")},
                                         1, scores, &count, &err));
    CHECK_EQ_U64(count, 0);
    CHECK_STATUS(
        rung_archive_reading.scores(a, &(rung_archive_score_query){0}, 1, scores, &count, &err),
        RUNG_EINVAL);
    rung_archive_rollback(a); /* harmless without a batch */
    rung_archive_close(a);
    rung_archive_close(NULL);
}

static uint32_t count_scores(rung_archive *a, const char *board) {
    static rung_archive_score scores[1000];
    uint32_t count;
    rung_err err;
    CHECK_OK(
        rung_archive_reading.scores(a, &(rung_archive_score_query){.board = rung_slice_str(board)},
                                    1000, scores, &count, &err));
    return count;
}

void archive_contract_batches(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_event e = archive_event_score("b", "p", 1, T0);
    /* Undone: nothing of it. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 1, &e, T0, &(rung_archive_effect){0}, &err));
    rung_archive_rollback(a);
    CHECK_EQ_U64(cursor_of(a), 0);
    CHECK_EQ_U64(count_scores(a, "b"), 0);
    /* Committed: all of it, also for whoever opens it next. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 1, &e, T0, &(rung_archive_effect){0}, &err));
    CHECK_OK(rung_archive_add_event(a, 2, &e, T0, &(rung_archive_effect){0}, &err));
    CHECK_OK(rung_archive_commit(a, 2, T0, &err));
    /* An open batch is undone by closing. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 3, &e, T0, &(rung_archive_effect){0}, &err));
    rung_archive_close(a);
    a = open_archive(m);
    CHECK_EQ_U64(cursor_of(a), 2);
    CHECK_EQ_U64(count_scores(a, "b"), 2);
    /* The same event a second time: refused, and so is the batch. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK(rung_archive_add_event(a, 2, &e, T0, &(rung_archive_effect){0}, &err) < 0);
    CHECK(rung_archive_commit(a, 3, T0, &err) < 0);
    rung_archive_rollback(a);
    /* The cursor does not move back. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK(rung_archive_commit(a, 1, T0, &err) < 0);
    rung_archive_rollback(a);
    CHECK_EQ_U64(cursor_of(a), 2);
    CHECK_EQ_U64(count_scores(a, "b"), 2);
    /* Bytes that are no packed window. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_STATUS(rung_archive_add_packed(a, RUNG_SLICE("\1nonsense"), &err), RUNG_ECORRUPT);
    CHECK_STATUS(rung_archive_add_packed(a, RUNG_SLICE(""), &err), RUNG_ECORRUPT);
    rung_archive_rollback(a);
    rung_archive_close(a);
}

void archive_contract_score_events(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_archive_score s[8];
    uint32_t count;
    rung_event events[] = {
        archive_event_score("b", "ada", 5, T0 + 3), archive_event_score("b", "bob", -7, T0 + 1),
        archive_event_score("c", "ada", 1, T0 + 2), archive_event_score("b", "ada", 6, T0),
        archive_event_score("b", "ada", 8, T0 + 9),
    };
    events[3].score.has_at = true; /* tie with the first by at: ordered by sequence */
    events[3].score.at_ms = T0 + 3;
    events[3].score.is_delta = true;
    events[3].score.value_count = 3;
    events[3].score.types[0] = RUNG_SCORE_DECIMAL;
    events[3].score.decimals[0] = 9;
    events[3].score.types[1] = RUNG_SCORE_REAL;
    events[3].score.values[1].d = -0x1.fffffffffffffp-1022;
    events[3].score.values[2].i = INT64_MIN;
    events[3].score.id = RUNG_SLICE("an id");
    events[3].score.meta = RUNG_SLICE("{\"level\": 3, \"it's\": \"\xc3\xa4\"}");
    events[4].score.value_count = 0;
    static const int statuses[] = {RUNG_OK, RUNG_EREFUSED, RUNG_DUPLICATE, RUNG_STATUS_UNKNOWN,
                                   RUNG_UNCHANGED};
    CHECK_OK(rung_archive_begin(a, &err));
    for (uint64_t i = 0; i < 5; i++)
        CHECK_OK(rung_archive_add_event(a, i + 1, &events[i], T0 + 3,
                                        &(rung_archive_effect){.status = statuses[i]}, &err));
    CHECK_OK(rung_archive_commit(a, 5, T0 + 9, &err));

    rung_archive_score_query q = {.board = RUNG_SLICE("b"), .player = RUNG_SLICE("ada")};
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK_EQ_U64(count, 3);
    CHECK_EQ_U64(s[0].seq, 1);
    CHECK_EQ_I64(s[0].at_ms, T0 + 3);
    CHECK(!s[0].has_at && !s[0].is_delta && s[0].id.len == 0 && s[0].meta.len == 0);
    CHECK_EQ_I64(s[0].status, RUNG_OK);
    CHECK_EQ_U64(s[1].seq, 4);
    CHECK(s[1].has_at && s[1].is_delta);
    CHECK_EQ_I64(s[1].ts_ms, T0);
    CHECK_EQ_U64(s[1].values.count, 3);
    CHECK_EQ_U64(s[1].values.types[0], RUNG_SCORE_DECIMAL);
    CHECK_EQ_U64(s[1].values.decimals[0], 9);
    CHECK_EQ_F64(s[1].values.values[1].d, -0x1.fffffffffffffp-1022);
    CHECK_EQ_I64(s[1].values.values[2].i, INT64_MIN);
    CHECK(rung_slice_eq(s[1].meta, events[3].score.meta) &&
          rung_slice_eq(s[1].id, RUNG_SLICE("an id")));
    CHECK_EQ_I64(s[1].status, RUNG_STATUS_UNKNOWN);
    CHECK_EQ_U64(s[2].values.count, 0);

    /* Pages of one, by board; by time; by player. */
    q = (rung_archive_score_query){.board = RUNG_SLICE("b")};
    uint64_t want[] = {1, 2, 4, 5}; /* log time was T0 + 3 for all that name no time */
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
        CHECK_EQ_U64(count, 1);
        CHECK_EQ_U64(s[0].seq, want[i]);
        q.after_at_ms = s[0].at_ms;
        q.after_seq = s[0].seq;
    }
    CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
    CHECK_EQ_U64(count, 0);
    q = (rung_archive_score_query){.board = RUNG_SLICE("b"), .newest_first = true};
    for (uint32_t i = 4; i-- > 0;) {
        CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
        CHECK_EQ_U64(count, 1);
        CHECK_EQ_U64(s[0].seq, want[i]);
        q.after_at_ms = s[0].at_ms;
        q.after_seq = s[0].seq;
    }
    CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
    CHECK_EQ_U64(count, 0);
    q = (rung_archive_score_query){.player = RUNG_SLICE("ada"), .newest_first = true};
    CHECK_OK(rung_archive_reading.scores(a, &q, 3, s, &count, &err));
    CHECK(count == 3 && s[0].seq == 5 && s[1].seq == 4 && s[2].seq == 3);
    q.board = RUNG_SLICE("b");
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK(count == 3 && s[0].seq == 5 && s[1].seq == 4 && s[2].seq == 1);
    q = (rung_archive_score_query){.player = RUNG_SLICE("ada"), .from_ms = T0 + 3, .to_ms = T0 + 4};
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK_EQ_U64(count, 4);
    CHECK(rung_slice_eq(s[1].board, RUNG_SLICE("c")));
    q.from_ms = T0 + 4;
    q.to_ms = T0 + 400;
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK_EQ_U64(count, 0);
    rung_archive_close(a);
}

static rung_event event_of_commands(const rung_zcommand *commands, uint32_t count,
                                    char packed[1024]) {
    rung_event e = {.kind = RUNG_EVENT_KEYS, .ts_ms = T0, .keys = {.count = count}};
    rung_err err = {0};
    size_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t n;
        CHECK_OK(rung_zcommand_encode(&commands[i], packed + len, 1024 - len, &n, &err));
        len += n;
    }
    e.keys.packed = rung_slice_of(packed, len);
    return e;
}

/* Every command of a Redis transaction has its rows, with the names of members and keys. */
void archive_contract_commands(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    static char packed[1024];
    const rung_zcommand_item two[] = {{RUNG_SLICE("ada"), 1.5}, {RUNG_SLICE("bob"), -2}};
    const rung_zcommand_item keys[] = {{RUNG_SLICE("race"), 0}, {RUNG_SLICE("other"), 0}};
    const rung_zcommand commands[] = {
        {.kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("race"), .item_count = 2, .items = two},
        {.kind = RUNG_ZCOMMAND_ZADD,
         .flags = RUNG_ZCOMMAND_INCR,
         .key = RUNG_SLICE("race"),
         .item_count = 1,
         .items = two},
        {.kind = RUNG_ZCOMMAND_ZREM,
         .key = RUNG_SLICE("race"),
         .item_count = 1,
         .items = (const rung_zcommand_item[]){{RUNG_SLICE("bob"), 0}}},
        {.kind = RUNG_ZCOMMAND_ZPOP, .item_count = 1, .items = keys, .pop_count = 3},
        {.kind = RUNG_ZCOMMAND_RENAME, .key = RUNG_SLICE("race"), .other = RUNG_SLICE("gone")},
        {.kind = RUNG_ZCOMMAND_DEL, .item_count = 2, .items = keys},
        {.kind = RUNG_ZCOMMAND_FLUSH},
    };
    static const char *const kinds[] = {"score", "score",  "delta", "removal",
                                        "zpop",  "rename", "del"}; /* of race */
    static const uint32_t parts[] = {1, 2, 3, 4, 5, 6, 8};
    rung_event e = event_of_commands(commands, sizeof commands / sizeof *commands, packed);
    rung_archive_effect effect = {.status = RUNG_OK};
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 5, &e, T0, &effect, &err));
    CHECK_OK(rung_archive_commit(a, 5, T0, &err));

    rung_archive_score s[8];
    uint32_t count;
    for (int back = 0; back < 2; back++) { /* pages of one */
        rung_archive_score_query q = {.board = RUNG_SLICE("race"), .newest_first = back};
        for (uint32_t i = 0; i < 7; i++) {
            uint32_t k = back ? 6 - i : i;
            CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
            CHECK_EQ_U64(count, 1);
            CHECK_EQ_STR(rung_archive_kind_of(s), kinds[k]);
            CHECK_EQ_U64(s->part, parts[k]);
            CHECK_EQ_U64(s->seq, 5);
            CHECK_EQ_U64(s->values.count, k < 3);
            CHECK_EQ_U64(s->player.len, k < 4 ? 3 : 0);
            q.after_at_ms = s->at_ms;
            q.after_seq = s->seq;
            q.after_part = s->part;
        }
        CHECK_OK(rung_archive_reading.scores(a, &q, 1, s, &count, &err));
        CHECK_EQ_U64(count, 0);
    }
    rung_archive_score_query q = {.player = RUNG_SLICE("bob")};
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK_EQ_U64(count, 2);
    CHECK(s[0].values.types[0] == RUNG_SCORE_REAL && s[0].values.values[0].d == -2);
    CHECK(s[1].is_removal);
    q = (rung_archive_score_query){.board = RUNG_SLICE("gone")};
    CHECK_OK(rung_archive_reading.scores(a, &q, 8, s, &count, &err));
    CHECK_EQ_U64(count, 1);
    CHECK_EQ_STR(rung_archive_kind_of(s), "rename");
    /* The keys that were deleted have their names in the audit trail. */
    rung_archive_audit r[4];
    rung_archive_audit_query aq = {.kind = RUNG_SLICE("keys")};
    CHECK_OK(rung_archive_reading.audit(a, &aq, 4, r, &count, &err));
    CHECK_EQ_U64(count, 1);
    CHECK(memmem(r[0].details.ptr, r[0].details.len, "other", 5) != NULL);
    rung_archive_close(a);
}

static void add_now(rung_archive *a, uint64_t seq, const rung_event *e, rung_slice results) {
    rung_err err = {0};
    rung_archive_effect effect = {.status = RUNG_OK, .results = results};
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, seq, e, T0, &effect, &err));
    CHECK_OK(rung_archive_commit(a, seq, T0, &err));
}

static void check_row(const rung_archive_score *s, const char *kind, const char *player,
                      uint32_t part, const int64_t *result) {
    CHECK_EQ_STR(rung_archive_kind_of(s), kind);
    CHECK(rung_slice_eq(s->player, rung_slice_str(player)));
    CHECK_EQ_U64(s->part, part);
    CHECK_EQ_U64(s->has_result, result != NULL);
    if (result)
        CHECK(s->result.count == 1 && s->result.types[0] == RUNG_SCORE_INTEGER &&
              s->result.values[0].i == *result);
}

/* Events that name several players: a row for each of them, with the score afterwards, as far as it is known. */
void archive_contract_players(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    static char packed[1024];
    uint8_t players[256];
    const rung_zcommand_item two[] = {{RUNG_SLICE("ada"), 1.5}, {RUNG_SLICE("bob"), -2}};
    const rung_zcommand add = {
        .kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("race"), .item_count = 2, .items = two};
    rung_event e = event_of_commands(&add, 1, packed);
    /* one value each: the type, and eight bytes; of the second player nothing is known */
    static const char one[] = "\1\0\7\0\0\0\0\0\0\0\0";
    add_now(a, 5, &e, rung_slice_of(one, 11));
    rung_byte_writer w = rung_byte_writer_of(players, sizeof players);
    CHECK(rung_match_put(
        &w,
        &(rung_match_entry){
            .player = RUNG_SLICE("ada"), .is_first = true, .place = 2, .weight = 1, .played = 1}));
    CHECK(rung_match_put(&w, &(rung_match_entry){.player = RUNG_SLICE("bob"),
                                                 .is_first = true,
                                                 .place = 1,
                                                 .weight = 1,
                                                 .played = 0.5}));
    e = (rung_event){.kind = RUNG_EVENT_MATCH,
                     .ts_ms = T0,
                     .match = {.board = RUNG_SLICE("race"),
                               .id = RUNG_SLICE("m1"),
                               .player_count = 2,
                               .packed = rung_slice_of(players, (size_t)(w.at - players))}};
    add_now(a, 6, &e, rung_slice_of("\1\0\1\0\0\0\0\0\0\0\1\0\2\0\0\0\0\0\0\0", 20));
    e = (rung_event){.kind = RUNG_EVENT_REVIEWED,
                     .ts_ms = T0,
                     .reviewed = {.board = RUNG_SLICE("race"),
                                  .player = RUNG_SLICE("ada"),
                                  .id = 5,
                                  .verdict = RUNG_VERDICT_PROMOTE}};
    add_now(a, 7, &e, rung_slice_of("\1\0\3\0\0\0\0\0\0\0", 10));
    e = (rung_event){.kind = RUNG_EVENT_BOARD_SWAPPED,
                     .ts_ms = T0,
                     .swapped = {.board = RUNG_SLICE("race"), .job = 1}};
    add_now(a, 8, &e, (rung_slice){0});

    rung_archive_score s[8];
    uint32_t count;
    CHECK_OK(rung_archive_reading.scores(
        a, &(rung_archive_score_query){.board = RUNG_SLICE("race")}, 8, s, &count, &err));
    CHECK_EQ_U64(count, 6);
    check_row(&s[0], "score", "ada", 1, &(int64_t){7});
    check_row(&s[1], "score", "bob", 2, NULL);
    check_row(&s[2], "match", "ada", 1, &(int64_t){1});
    check_row(&s[3], "match", "bob", 2, &(int64_t){2});
    check_row(&s[4], "promoted", "ada", 1, &(int64_t){3});
    check_row(&s[5], "swapped", "", 1, NULL);
    CHECK(rung_slice_eq(s[3].id, RUNG_SLICE("m1")));
    CHECK(rung_slice_eq(s[3].meta, RUNG_SLICE("{\"side\":1,\"place\":1,\"played\":0.5}")));
    CHECK(memmem(s[4].meta.ptr, s[4].meta.len, "\"review\":", 9) != NULL);
    /* They go with their player. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(a->ops->erase(a, 9, RUNG_SLICE("bob"), &err));
    CHECK_OK(rung_archive_commit(a, 9, T0, &err));
    CHECK_OK(rung_archive_reading.scores(
        a, &(rung_archive_score_query){.board = RUNG_SLICE("race")}, 8, s, &count, &err));
    CHECK_EQ_U64(count, 4);
    check_row(&s[1], "match", "ada", 1, &(int64_t){1});
    rung_archive_close(a);
}

static rung_board_def daily_board(void) {
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.keep = 100;
    return def;
}

/* Nine players with ties at 10, 30 and 40 on 2025-11-15, then the day closes. */
/* What came of a submission: its result, or the rule that refused it. */
void archive_contract_results(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_archive_score s[3] = {0};
    uint32_t count;
    for (uint32_t i = 0; i < 3; i++)
        s[i] = (rung_archive_score){.seq = i + 1,
                                    .board = RUNG_SLICE("b"),
                                    .player = RUNG_SLICE("p"),
                                    .at_ms = T0 + i,
                                    .ts_ms = T0 + i,
                                    .values = {.count = 1}};
    s[0].has_result = true;
    s[0].result =
        (rung_archive_values){.count = 3,
                              .types = {RUNG_SCORE_DECIMAL, RUNG_SCORE_REAL, RUNG_SCORE_INTEGER},
                              .decimals = {2},
                              .values = {{.i = -1234}, {.d = 0x1.8p-1074}, {.i = INT64_MIN}}};
    s[1].status = RUNG_EREFUSED;
    s[1].rule = RUNG_RULE_STEP;
    CHECK_OK(rung_archive_begin(a, &err));
    for (uint32_t i = 0; i < 3; i++)
        CHECK_OK(a->ops->add_score(a, &s[i], &err));
    CHECK_OK(rung_archive_commit(a, 3, T0, &err));
    rung_archive_score got[4];
    rung_archive_score_query q = {.board = RUNG_SLICE("b")};
    CHECK_OK(rung_archive_reading.scores(a, &q, 4, got, &count, &err));
    CHECK_EQ_U64(count, 3);
    CHECK(got[0].has_result && got[0].rule == RUNG_RULE_NONE);
    CHECK_EQ_U64(got[0].result.count, 3);
    for (uint32_t k = 0; k < 3; k++)
        CHECK(got[0].result.types[k] == s[0].result.types[k] &&
              got[0].result.decimals[k] == s[0].result.decimals[k] &&
              got[0].result.values[k].i == s[0].result.values[k].i);
    CHECK(!got[1].has_result && got[1].rule == RUNG_RULE_STEP);
    CHECK_EQ_I64(got[1].status, RUNG_EREFUSED);
    CHECK(!got[2].has_result && got[2].rule == RUNG_RULE_NONE);
    rung_archive_close(a);
}

static uint32_t audit_of(rung_archive *a, const rung_archive_audit_query *q, uint32_t limit,
                         rung_archive_audit *out) {
    uint32_t count;
    rung_err err = {0};
    CHECK_OK(rung_archive_reading.audit(a, q, limit, out, &count, &err));
    return count;
}

static bool same_audit(const rung_archive_audit *x, const rung_archive_audit *y) {
    return x->seq == y->seq && x->ts_ms == y->ts_ms && rung_slice_eq(x->kind, y->kind) &&
           rung_slice_eq(x->board, y->board) && rung_slice_eq(x->player, y->player) &&
           rung_slice_eq(x->details, y->details) && x->status == y->status && x->rule == y->rule &&
           rung_slice_eq(x->actor_key, y->actor_key) &&
           rung_slice_eq(x->actor_player, y->actor_player) &&
           rung_slice_eq(x->actor_address, y->actor_address) &&
           rung_slice_eq(x->reason, y->reason) && rung_slice_eq(x->before, y->before) &&
           rung_slice_eq(x->after, y->after);
}

/* All pages of `limit` records, in both directions, are the given records of `all`. */
static void check_audit_pages(rung_archive *a, rung_archive_audit_query q, uint32_t limit,
                              const rung_archive_audit *all, uint32_t n, const uint32_t *which) {
    rung_archive_audit page[8];
    for (int back = 0; back < 2; back++) {
        uint32_t seen = 0, count;
        q.newest_first = back;
        q.after_seq = q.after_entry = 0;
        while ((count = audit_of(a, &q, limit, page)) > 0) {
            for (uint32_t i = 0; i < count; i++, seen++)
                CHECK(seen < n && same_audit(&page[i], &all[which[back ? n - 1 - seen : seen]]));
            q.after_seq = page[count - 1].seq;
            q.after_entry = page[count - 1].entry;
        }
        CHECK_EQ_U64(seen, n);
    }
}

void archive_contract_audit(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_archive_audit all[] = {
        {.seq = 1,
         .ts_ms = T0,
         .kind = RUNG_SLICE("board defined"),
         .board = RUNG_SLICE("b"),
         .details = RUNG_SLICE("{\"x\":1}"),
         .actor_key = RUNG_SLICE("ops"),
         .actor_address = RUNG_SLICE("::1"),
         .after = RUNG_SLICE("{\"update\":\"best\"}")},
        {.seq = 2,
         .ts_ms = T0 + 1,
         .kind = RUNG_SLICE("banned"),
         .player = RUNG_SLICE("eve"),
         .actor_key = RUNG_SLICE("mod"),
         .actor_player = RUNG_SLICE("ada"),
         .reason = RUNG_SLICE("it's \xc3\xa4"),
         .before = RUNG_SLICE("{\"banned\":false}"),
         .after = RUNG_SLICE("{\"banned\":true}")},
        {.seq = 3,
         .ts_ms = T0 + 2,
         .kind = RUNG_SLICE("window archived"),
         .board = RUNG_SLICE("b")},
        {.seq = 3,
         .ts_ms = T0 + 2,
         .kind = RUNG_SLICE("window archived"),
         .board = RUNG_SLICE("b")},
        {.seq = 3,
         .ts_ms = T0 + 2,
         .kind = RUNG_SLICE("window archived"),
         .board = RUNG_SLICE("c")},
        {.seq = 7,
         .ts_ms = T0 + 3,
         .kind = RUNG_SLICE("refused"),
         .board = RUNG_SLICE("b"),
         .player = RUNG_SLICE("eve"),
         .status = RUNG_EREFUSED,
         .rule = RUNG_RULE_MAX},
        {.seq = 9, .kind = RUNG_SLICE("not archived"), .status = RUNG_STATUS_UNKNOWN},
    };
    enum { N = sizeof all / sizeof *all };
    CHECK_OK(rung_archive_begin(a, &err));
    for (uint32_t i = 0; i < N; i++)
        CHECK_OK(a->ops->add_audit(a, &all[i], &err));
    CHECK_OK(rung_archive_commit(a, 9, T0 + 3, &err));
    for (uint32_t limit = 1; limit <= 8; limit++) {
        check_audit_pages(a, (rung_archive_audit_query){0}, limit, all, N,
                          (uint32_t[]){0, 1, 2, 3, 4, 5, 6});
        check_audit_pages(a, (rung_archive_audit_query){.board = RUNG_SLICE("b")}, limit, all, 4,
                          (uint32_t[]){0, 2, 3, 5});
        check_audit_pages(a, (rung_archive_audit_query){.player = RUNG_SLICE("eve")}, limit, all, 2,
                          (uint32_t[]){1, 5});
        check_audit_pages(a, (rung_archive_audit_query){.actor = RUNG_SLICE("ops")}, limit, all, 1,
                          (uint32_t[]){0});
        check_audit_pages(a, (rung_archive_audit_query){.kind = RUNG_SLICE("window archived")},
                          limit, all, 3, (uint32_t[]){2, 3, 4});
        check_audit_pages(a, (rung_archive_audit_query){.from_ms = T0 + 1, .to_ms = T0 + 3}, limit,
                          all, 4, (uint32_t[]){1, 2, 3, 4});
        check_audit_pages(a,
                          (rung_archive_audit_query){.board = RUNG_SLICE("b"),
                                                     .player = RUNG_SLICE("eve"),
                                                     .kind = RUNG_SLICE("refused"),
                                                     .from_ms = T0,
                                                     .to_ms = T0 + 9},
                          limit, all, 1, (uint32_t[]){5});
        check_audit_pages(
            a, (rung_archive_audit_query){.board = RUNG_SLICE("b"), .actor = RUNG_SLICE("mod")},
            limit, all, 0, NULL);
    }
    /* Erasing takes the names, and what may tell of the player; the records stay. */
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(a->ops->erase(a, 9, RUNG_SLICE("eve"), &err));
    CHECK_OK(a->ops->erase(a, 9, RUNG_SLICE("ada"), &err));
    CHECK_OK(rung_archive_commit(a, 10, T0 + 3, &err));
    for (uint32_t i = 1; i < N; i += 4)
        all[i].player = all[i].reason = all[i].details = all[i].before = all[i].after =
            all[i].actor_player = all[i].actor_address = (rung_slice){0};
    check_audit_pages(a, (rung_archive_audit_query){0}, 3, all, N,
                      (uint32_t[]){0, 1, 2, 3, 4, 5, 6});
    rung_archive_close(a);
}

void archive_contract_refusals(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    rung_archive_refusals r = {
        .board = RUNG_SLICE("b"), .rule = RUNG_RULE_RATE, .minute_ms = T0, .count = 9};
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(a->ops->find_refusals(a, &r, &err));
    CHECK(r.count == 0 && r.first_seq == 0 && r.last_seq == 0);
    r.count = 5;
    r.first_seq = 3;
    r.last_seq = 8;
    CHECK_OK(a->ops->put_refusals(a, &r, &err));
    rung_archive_refusals other = r;
    other.minute_ms += 60000;
    other.count = 1;
    CHECK_OK(a->ops->put_refusals(a, &other, &err));
    r.count = 6;
    r.last_seq = 9;
    CHECK_OK(a->ops->put_refusals(a, &r, &err)); /* replaces */
    CHECK_OK(rung_archive_commit(a, 9, T0, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    r.count = r.first_seq = r.last_seq = 0;
    CHECK_OK(a->ops->find_refusals(a, &r, &err));
    CHECK(r.count == 6 && r.first_seq == 3 && r.last_seq == 9);
    other.rule = RUNG_RULE_MIN;
    CHECK_OK(a->ops->find_refusals(a, &other, &err));
    CHECK_EQ_U64(other.count, 0);
    rung_archive_rollback(a);
    rung_archive_close(a);
}

static void play_a_day(archive_kit *k) {
    static const int64_t scores[] = {10, 20, 30, 30, 40, 10, 40, 40, 50};
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"};
    rung_board_def def = daily_board();
    apply_ok(k, archive_event_define("b", &def, T0));
    for (uint32_t i = 0; i < 9; i++)
        apply_ok(k, archive_event_score("b", names[i], scores[i], T0 + 100 + i));
    apply_ok(k, archive_event_tick(T0 + DAY_MS));
    CHECK_EQ_U64(k->closed_count, 1);
}

static rung_archive *open_after_a_day(const archive_maker *m, archive_kit *k) {
    rung_archive *a = open_archive(m);
    archive_kit_init(k, a);
    play_a_day(k);
    archive_kit_commit(k);
    return a;
}

/* What the log gives for a window is what was archived, whoever was hidden since; anything else is a difference. */
void archive_contract_compared(const archive_maker *m) {
    static archive_kit k;
    rung_archive *a = open_after_a_day(m, &k);
    rung_archive_difference d;
    rung_err err = {0};
    const rung_alloc *heap = rung_alloc_heap();
    rung_slice packed = rung_buffer_slice(&k.last);
    CHECK_STATUS(rung_archive_compare(a, heap, packed, &d, &err), RUNG_UNCHANGED);
    apply_ok(&k, archive_event_ban("p4", true, T0 + DAY_MS));
    apply_ok(&k, archive_event_remove("b", "p7", T0 + DAY_MS));
    apply_ok(&k, archive_event_erase("p8", T0 + DAY_MS));
    archive_kit_commit(&k);
    CHECK_STATUS(rung_archive_compare(a, heap, packed, &d, &err), RUNG_UNCHANGED);
    char *name = memmem(k.last.data, k.last.len, "p3", 2);
    CHECK(name != NULL);
    name[1] = '9';
    CHECK_STATUS(rung_archive_compare(a, heap, packed, &d, &err), RUNG_OK);
    CHECK_EQ_STR(d.what, "player");
    CHECK_EQ_STR(d.player, "p9");
    CHECK_EQ_STR(d.board, "b");
    CHECK_EQ_STR(d.window, "2025-11-15");
    CHECK(d.place >= 5 && d.place <= 6); /* 50, 40 x 3, 30 x 2, 20, 10 x 2 */
    name[1] = '3';
    apply_ok(&k, (rung_event){.kind = RUNG_EVENT_BOARD_DELETED,
                              .ts_ms = T0 + DAY_MS,
                              .deleted = {RUNG_SLICE("b")}});
    archive_kit_commit(&k);
    CHECK_STATUS(rung_archive_compare(a, heap, packed, &d, &err), RUNG_NOT_FOUND);
    CHECK_STATUS(rung_archive_compare(a, heap, rung_slice_of(packed.ptr, 3), &d, &err),
                 RUNG_ECORRUPT);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

static const rung_archive_query that_day = {
    .board = {"b", 1}, .kind = RUNG_WINDOW_DAY, .window_id = {"2025-11-15", 10}};

void archive_contract_closed_windows(const archive_maker *m) {
    static archive_kit k;
    rung_archive *a = open_after_a_day(m, &k);
    rung_err err = {0};
    CHECK_EQ_U64(archive_compare(k.state, a), 1);
    rung_archive_view v;
    rung_row rows[16];
    uint32_t count;
    CHECK_OK(rung_archive_reading.open(a, &that_day, &v, &err));
    CHECK_EQ_U64(v.total, 9);
    CHECK_EQ_U64(v.distinct, 5);
    CHECK_EQ_I64(v.window.start_ms, T0);
    CHECK_EQ_I64(v.window.end_ms, T0 + DAY_MS);
    CHECK_EQ_U64(v.window.closed_seq, 11);
    CHECK_OK(rung_archive_reading.top(&v, 0, 16, rows, &count, &err));
    CHECK_EQ_U64(count, 9);
    CHECK(rung_slice_eq(rows[0].id, RUNG_SLICE("p8")));
    CHECK_EQ_U64(rows[2].rank, 2); /* sparse */
    CHECK_EQ_U64(rows[4].rank, 5);
    CHECK_OK(rung_archive_reading.top(&v, 9, 16, rows, &count, &err));
    CHECK_EQ_U64(count, 0);
    CHECK_OK(rung_archive_reading.top(&v, 0, 0, rows, &count, &err));
    CHECK_EQ_U64(count, 0);
    rung_archive_reading.close(&v);
    rung_archive_window w[4];
    CHECK_OK(rung_archive_reading.windows(a, RUNG_SLICE("b"), 0, INT64_MAX, 4, w, &count, &err));
    CHECK_EQ_U64(count, 1);
    CHECK_EQ_U64(w[0].kind, RUNG_WINDOW_DAY);
    CHECK(rung_slice_eq(w[0].id, RUNG_SLICE("2025-11-15")));
    CHECK_OK(rung_archive_reading.windows(a, RUNG_SLICE("b"), RUNG_WINDOW_WEEK, INT64_MAX, 4, w,
                                          &count, &err));
    CHECK_EQ_U64(count, 0);
    CHECK_OK(rung_archive_reading.windows(a, RUNG_SLICE("b"), 0, T0 + DAY_MS, 4, w, &count, &err));
    CHECK_EQ_U64(count, 0);
    /* A deleted board has no windows; one of the same name begins anew. */
    apply_ok(&k, (rung_event){.kind = RUNG_EVENT_BOARD_DELETED,
                              .ts_ms = T0 + DAY_MS,
                              .deleted = {RUNG_SLICE("b")}});
    archive_kit_commit(&k);
    CHECK_STATUS(rung_archive_reading.open(a, &that_day, &v, &err), RUNG_NOT_FOUND);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* Where p0, p8 and nobody stand when the day is over. */
static void take_samples(const archive_kit *k, rung_archive *a) {
    rung_err err = {0};
    rung_view view;
    rung_buffer packed;
    rung_slice ids[] = {RUNG_SLICE("p0"), RUNG_SLICE("p8"), RUNG_SLICE("nobody")};
    CHECK_OK(rung_state_view(k->state, &(rung_query){.board = RUNG_SLICE("b")}, &view, &err));
    CHECK_OK(rung_sample_pack(rung_alloc_heap(), RUNG_SLICE("b"), &view, T0 + DAY_MS, 2, 3, ids,
                              &packed));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_packed(a, rung_slice_of(packed.data, packed.len), &err));
    CHECK_OK(rung_archive_commit(a, 11, T0 + DAY_MS, &err));
    rung_buffer_deinit(&packed);
}

static uint32_t history_of_p0(rung_archive *a, rung_archive_point points[8]) {
    rung_err err = {0};
    uint32_t count;
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p0"), 0, INT64_MAX, 8,
                                          points, &count, &err));
    return count;
}

/* FLUSHALL deletes every board; one of the same name begins anew. */
void archive_contract_flushed(const archive_maker *m) {
    static archive_kit k;
    rung_archive *a = open_after_a_day(m, &k);
    rung_err err = {0};
    rung_archive_view v;
    rung_archive_point points[8];
    take_samples(&k, a);
    CHECK_EQ_U64(history_of_p0(a, points), 2);
    CHECK_OK(rung_archive_reading.open(a, &that_day, &v, &err));
    rung_archive_reading.close(&v);
    char packed[64];
    size_t length;
    CHECK_OK(rung_zcommand_encode(&(rung_zcommand){.kind = RUNG_ZCOMMAND_FLUSH}, packed,
                                  sizeof packed, &length, &err));
    rung_event flush = {.kind = RUNG_EVENT_KEYS,
                        .ts_ms = T0 + DAY_MS,
                        .keys = {.count = 1, .packed = rung_slice_of(packed, length)}};
    CHECK(rung_archive_is_changed_by(&flush));
    apply_ok(&k, flush);
    rung_board_def def = daily_board();
    apply_ok(&k, archive_event_define("b", &def, T0 + DAY_MS));
    archive_kit_commit(&k);
    CHECK_STATUS(rung_archive_reading.open(a, &that_day, &v, &err), RUNG_NOT_FOUND);
    CHECK_EQ_U64(history_of_p0(a, points), 0);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* Bans and removals reach windows that left memory; places close up, and come back. */
void archive_contract_hidden(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    static archive_kit k;
    archive_kit_init(&k, a);
    play_a_day(&k);
    static const char *const order[] = {"p4", "p8", "p6", "p0", "p5", "p7", "p1"};
    enum { N = sizeof order / sizeof *order };
    for (size_t i = 0; i < N; i++) {
        apply_ok(&k, archive_event_ban(order[i], true, T0 + DAY_MS));
        archive_kit_commit(&k);
        CHECK_EQ_U64(archive_compare(k.state, a), 1);
    }
    for (size_t i = 0; i < N; i++) {
        apply_ok(&k, archive_event_ban(order[(i * 3) % N], false, T0 + DAY_MS));
        archive_kit_commit(&k);
        CHECK_EQ_U64(archive_compare(k.state, a), 1);
    }
    /* A list of windows counts those that are shown. */
    rung_archive_window w;
    rung_err err = {0};
    uint32_t count;
    CHECK_OK(rung_archive_reading.windows(a, RUNG_SLICE("b"), 0, INT64_MAX, 1, &w, &count, &err));
    CHECK_EQ_U64(w.total, 9);
    apply_ok(&k, archive_event_ban("p3", true, T0 + DAY_MS));
    archive_kit_commit(&k);
    CHECK_OK(rung_archive_reading.windows(a, RUNG_SLICE("b"), 0, INT64_MAX, 1, &w, &count, &err));
    CHECK_EQ_U64(w.total, 8);
    /* Removed stays removed, banned or not. */
    apply_ok(&k, archive_event_ban("p2", true, T0 + DAY_MS));
    apply_ok(&k, archive_event_remove("b", "p2", T0 + DAY_MS));
    apply_ok(&k, archive_event_ban("p2", false, T0 + DAY_MS));
    apply_ok(&k, archive_event_remove("b", "p8", T0 + DAY_MS));
    archive_kit_commit(&k);
    CHECK_EQ_U64(archive_compare(k.state, a), 1);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* p0 .. p8 live in FI, SE and DE; p8 alone is in DE, p7 nowhere. Teams: p0 to p3, p4 to p6, p8. */
static void play_a_day_in_places(archive_kit *k, rung_combine combine, uint32_t top) {
    static const int64_t scores[] = {10, 20, 30, 30, 40, 10, 40, 40, 50};
    static const char *const places[] = {"FI", "SE", "FI", "SE", "FI", "FI", "SE", "", "DE"};
    rung_board_def def = daily_board();
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    def.has_teams = true;
    def.team_by = RUNG_SLICE("guild");
    def.team_combine = combine;
    def.team_top = top;
    apply_ok(k, archive_event_define("b", &def, T0));
    for (uint32_t i = 0; i < 9; i++) {
        char name[] = {'p', (char)('0' + i), 0}, guild[] = {'g',
                                                            i < 4   ? '0'
                                                            : i < 7 ? '1'
                                                                    : '2',
                                                            0};
        rung_event profile = archive_event_profile(name, "country", places[i], T0);
        profile.profile.attributes[1] =
            (rung_attribute){RUNG_SLICE("guild"), rung_slice_str(guild)};
        profile.profile.count = i == 7 ? 0 : 2;
        apply_ok(k, profile);
        apply_ok(k, archive_event_score("b", name, scores[i], T0 + 100 + i));
    }
    apply_ok(k,
             archive_event_ban("p6", true, T0 + 200)); /* then moves, which counts elsewhere only */
    apply_ok(k, archive_event_profile("p6", "country", "DE", T0 + 200));
    apply_ok(k, archive_event_tick(T0 + DAY_MS));
    CHECK_EQ_U64(k->closed_count, 1);
}

static void compare_all(archive_kit *k) {
    archive_kit_commit(k);
    CHECK_EQ_U64(archive_compare(k->state, k->archive), 1);
    CHECK(archive_compare_scopes(k->state, k->archive, &k->ages) > 4);
}

/* Bans, unbans, removals and erasures, with everything compared after each. */
static void hide_some(archive_kit *k) {
    static const char *const order[] = {"p4", "p8", "p3", "p0", "p5", "p2", "p1"};
    enum { N = sizeof order / sizeof *order };
    compare_all(k);
    for (size_t i = 0; i < N; i++) {
        apply_ok(k, archive_event_ban(order[i], true, T0 + DAY_MS));
        compare_all(k);
    }
    apply_ok(k, archive_event_ban("p6", false, T0 + DAY_MS));
    compare_all(k);
    for (size_t i = 0; i < N; i++) {
        apply_ok(k, archive_event_profile(order[i], "country", "NO",
                                          T0 + DAY_MS)); /* closed is closed */
        apply_ok(k, archive_event_ban(order[(i * 3) % N], false, T0 + DAY_MS));
        compare_all(k);
    }
    apply_ok(k, archive_event_remove("b", "p2", T0 + DAY_MS));
    compare_all(k);
    apply_ok(k, archive_event_erase("p8", T0 + DAY_MS));
    apply_ok(k, archive_event_erase("p3", T0 + DAY_MS));
    compare_all(k);
}

void archive_contract_scopes(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    static archive_kit k;
    archive_kit_init(&k, a);
    play_a_day_in_places(&k, RUNG_COMBINE_SUM, 0);
    archive_kit_commit(&k);
    rung_archive_query q = that_day;
    rung_archive_view v;
    rung_row rows[16];
    uint32_t count, self;
    q.scope = RUNG_SLICE("country:FI");
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 4);
    CHECK_EQ_U64(v.distinct, 3);
    CHECK_OK(rung_archive_reading.around(&v, RUNG_SLICE("p0"), 1, rows, &count, &self, &err));
    CHECK_EQ_U64(count, 3);
    CHECK_EQ_U64(self, 1);
    CHECK_EQ_U64(rows[1].rank, 3); /* p5 has the same score, later */
    CHECK_EQ_U64(rows[2].rank, 3);
    CHECK_STATUS(rung_archive_reading.around(&v, RUNG_SLICE("p8"), 1, rows, &count, &self, &err),
                 RUNG_NOT_FOUND);
    rung_archive_reading.close(&v);
    q.scope = RUNG_SLICE("country");
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EINVAL);
    q.scope = RUNG_SLICE("planet:Mars");
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EABSENT);
    q.scope = RUNG_SLICE("guild:g0"); /* teams are made of it */
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 4);
    rung_archive_reading.close(&v);
    q.teams = true;
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EINVAL);
    hide_some(&k);
    /* A scope that comes later is not that of windows that closed before. */
    rung_board_def def = daily_board();
    apply_ok(&k, archive_event_define("b", &def, T0 + DAY_MS));
    apply_ok(&k, archive_event_score("b", "p1", 3, T0 + DAY_MS));
    apply_ok(&k, archive_event_tick(T0 + 2 * DAY_MS));
    archive_kit_commit(&k);
    q = that_day;
    q.window_id = RUNG_SLICE("2025-11-16");
    q.scope = RUNG_SLICE("country:FI");
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EABSENT);
    q.scope = (rung_slice){NULL, 0};
    q.teams = true;
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EABSENT);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

void archive_contract_teams(const archive_maker *m, rung_combine combine, uint32_t top) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    static archive_kit k;
    archive_kit_init(&k, a);
    play_a_day_in_places(&k, combine, top);
    archive_kit_commit(&k);
    rung_archive_query q = that_day;
    rung_archive_view v;
    rung_row rows[4];
    uint32_t count;
    q.teams = true;
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 3);
    CHECK_OK(rung_archive_reading.top(&v, 0, 4, rows, &count, &err));
    CHECK_EQ_U64(count, 3);
    if (combine == RUNG_COMBINE_SUM) { /* p6 is banned */
        CHECK(rung_slice_eq(rows[0].id, RUNG_SLICE("g0")) && rows[0].values[0].i == 90 &&
              rows[0].members == 4);
        CHECK(rung_slice_eq(rows[1].id, RUNG_SLICE("g1")) && rows[1].values[0].i == 50 &&
              rows[1].members == 2);
        CHECK(rung_slice_eq(rows[2].id, RUNG_SLICE("g2")) && rows[2].rank == 2);
    }
    rung_archive_reading.close(&v);
    hide_some(&k);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

void archive_contract_erased(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    rung_err err = {0};
    static archive_kit k;
    archive_kit_init(&k, a);
    rung_event profile = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = T0};
    profile.profile.player = RUNG_SLICE("p6");
    profile.profile.count = 1;
    profile.profile.attributes[0] =
        (rung_attribute){RUNG_SLICE("name"), RUNG_SLICE("Ann \"A\" \\ Bee")};
    apply_ok(&k, profile);
    play_a_day(&k);
    apply_ok(&k, archive_event_ban("p6", true, T0 + DAY_MS));
    apply_ok(&k, archive_event_ban("p6", false, T0 + DAY_MS));
    apply_ok(&k, archive_event_erase("p6", T0 + DAY_MS));
    archive_kit_commit(&k);
    rung_archive_view v;
    rung_row rows[16];
    uint32_t count, self;
    rung_archive_score scores[4];
    rung_archive_point points[4];
    CHECK_OK(rung_archive_reading.open(a, &that_day, &v, &err));
    CHECK_OK(rung_archive_reading.top(&v, 0, 16, rows, &count, &err));
    CHECK_EQ_U64(count, 8);
    rung_archive_reading.close(&v);
    CHECK_EQ_U64(archive_compare(k.state, a), 1); /* as in memory */
    CHECK_OK(rung_archive_reading.open(a, &that_day, &v, &err));
    CHECK_OK(rung_archive_reading.top(&v, 0, 16, rows, &count, &err));
    for (uint32_t i = 0; i < count; i++)
        CHECK(!rung_slice_eq(rows[i].id, RUNG_SLICE("p6")));
    CHECK_STATUS(rung_archive_reading.around(&v, RUNG_SLICE("p6"), 1, rows, &count, &self, &err),
                 RUNG_NOT_FOUND);
    CHECK_STATUS(
        rung_archive_reading.around(&v, RUNG_SLICE("erased-3"), 1, rows, &count, &self, &err),
        RUNG_NOT_FOUND);
    rung_archive_reading.close(&v);
    CHECK_OK(rung_archive_reading.scores(a, &(rung_archive_score_query){.player = RUNG_SLICE("p6")},
                                         4, scores, &count, &err));
    CHECK_EQ_U64(count, 0);
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p6"), 0, INT64_MAX, 4,
                                          points, &count, &err));
    CHECK_EQ_U64(count, 0);
    /* Somebody else by that name is somebody else. */
    apply_ok(&k, archive_event_score("b", "p6", 5, T0 + DAY_MS + 1));
    apply_ok(&k, archive_event_ban("p6", true, T0 + DAY_MS + 1));
    archive_kit_commit(&k);
    CHECK_OK(rung_archive_reading.open(a, &that_day, &v, &err));
    CHECK_EQ_U64(v.total, 8);
    rung_archive_reading.close(&v);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

void archive_contract_history(const archive_maker *m) {
    static archive_kit k;
    rung_archive *a = open_after_a_day(m, &k);
    rung_err err = {0};
    take_samples(&k, a);
    take_samples(&k, a); /* the same sample twice is one */
    rung_archive_point p[8];
    uint32_t count = history_of_p0(a, p);
    CHECK_EQ_U64(count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQ_I64(p[i].time_ms, T0 + DAY_MS);
        CHECK_EQ_U64(p[i].place, 8);
        CHECK_EQ_U64(p[i].sparse, 8);
        CHECK_EQ_U64(p[i].dense, 5);
        CHECK_EQ_U64(p[i].total, 9);
        CHECK_EQ_I64(p[i].values.values[0].i, 10);
    }
    CHECK(!p[0].is_sample && p[0].kind == RUNG_WINDOW_DAY &&
          rung_slice_eq(p[0].window_id, RUNG_SLICE("2025-11-15")));
    CHECK(p[1].is_sample && p[1].kind == 0 && rung_slice_eq(p[1].window_id, RUNG_SLICE("all")));
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p4"), 0, INT64_MAX, 8, p,
                                          &count, &err));
    CHECK_EQ_U64(count, 2); /* second: in the top 2 of the sample */
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p8"), 0, INT64_MAX, 8, p,
                                          &count, &err));
    CHECK_EQ_U64(count, 2);
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p1"), 0, INT64_MAX, 8, p,
                                          &count, &err));
    CHECK_EQ_U64(count, 1);
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("b"), RUNG_SLICE("p0"), 0, T0 + DAY_MS, 8,
                                          p, &count, &err));
    CHECK_EQ_U64(count, 0);
    CHECK_OK(rung_archive_reading.history(a, RUNG_SLICE("c"), RUNG_SLICE("p0"), 0, INT64_MAX, 8, p,
                                          &count, &err));
    CHECK_EQ_U64(count, 0);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* Every type at its limits, three columns, and a window that nobody is in. */
void archive_contract_extremes(const archive_maker *m) {
    rung_archive *a = open_archive(m);
    static archive_kit k;
    archive_kit_init(&k, a);
    rung_board_def def = daily_board();
    def.key.column_count = 3;
    def.key.columns[1] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_ASC, 0};
    def.key.columns[2] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 9};
    def.column_names[0] = RUNG_SLICE("real");
    def.column_names[1] = RUNG_SLICE("decimal");
    apply_ok(&k, archive_event_define("b", &def, T0));
    static const int64_t integers[] = {INT64_MIN, -1, 0, 1, INT64_MAX, (INT64_C(1) << 53) + 1};
    static const double reals[] = {-(double)INFINITY,  -0x1.fffffffffffffp1023, 0x1p-1074, 3,
                                   9007199254740993.0, (double)INFINITY};
    for (uint32_t i = 0; i < 36; i++) {
        char name[8] = {'x', (char)('a' + i / 6), (char)('a' + i % 6)};
        rung_event e = archive_event_score("b", name, integers[i / 6], T0);
        e.score.value_count = 3;
        e.score.types[1] = RUNG_SCORE_REAL;
        e.score.values[1].d = reals[i % 6];
        e.score.types[2] = RUNG_SCORE_DECIMAL;
        e.score.decimals[2] = 9;
        e.score.values[2].i = integers[5 - i / 6];
        apply_ok(&k, e);
    }
    rung_event open = {
        .kind = RUNG_EVENT_WINDOW_OPENED,
        .ts_ms = T0,
        .window = {.board = RUNG_SLICE("b"), .kind = RUNG_WINDOW_DAY, .ordinal = T0 / DAY_MS + 1}};
    apply_ok(&k, open);
    apply_ok(&k, archive_event_tick(T0 + 3 * DAY_MS));
    archive_kit_commit(&k);
    CHECK_EQ_U64(archive_compare(k.state, a), 2);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* ---- random histories ---- */

uint32_t archive_contract_random(const archive_maker *m, uint64_t seed, uint32_t events,
                                 uint32_t *rankings_out) {
    rung_archive *a = open_archive(m);
    static archive_kit k;
    history_gen *g = history_gen_create(seed);
    rung_rng rng;
    uint32_t compared = 0;
    rung_event *e = calloc(1, sizeof *e);
    CHECK(e);
    rung_rng_seed(&rng, seed);
    archive_kit_init(&k, a);
    for (uint32_t i = 0; i < events; i++) {
        history_gen_next(g, e);
        if (rung_event_check(e, NULL) < 0)
            continue;
        rung_ignore(archive_kit_apply(&k, e), "refusals are archived too");
        bool matters = e->kind != RUNG_EVENT_SCORE && e->kind != RUNG_EVENT_PLAYER_SET;
        if (rung_rng_below(&rng, matters ? 6 : 60) == 0) {
            archive_kit_commit(&k);
            compared += archive_compare(k.state, a);
            *rankings_out += archive_compare_scopes(k.state, a, &k.ages);
        }
    }
    archive_kit_commit(&k);
    compared += archive_compare(k.state, a);
    *rankings_out += archive_compare_scopes(k.state, a, &k.ages);
    archive_kit_deinit(&k);
    free(e);
    history_gen_destroy(g);
    rung_archive_close(a);
    return compared;
}
