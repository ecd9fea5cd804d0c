/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine against docs/boards.md: random histories are applied to the state and to a brute-force model of the
 * law; every status, every outcome and, after each step, the answers to random questions must be the same.
 *
 * RUNG_SEED=n runs that one history again (RUNG_SEEDS=k: and those after it, k in all). A failure prints the seed, the
 * step, the event and both answers; RUNG_TRACE=1 prints every event on the way.
 * Also here: replay (the digest after every event depends on the events alone), batches (the same as one by one), and
 * by hand what chance does not reach. */
/* ctest: timeout=300 */
/* ctest: name=long timeout=900 labels=long env="RUNG_STEPS=1000000" args="histories" */
#include "state/state.h"
#include "support/check.h"
#include "support/history_gen.h"
#include "support/state_model.h"
#include "support/tzif.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { HISTORY_EVENTS = 60000, REPLAY_EVENTS = 10000 };
#else
enum { HISTORY_EVENTS = 200000, REPLAY_EVENTS = 40000 };
#endif

enum {
    ROWS_MAX = 2 * HISTORY_PLAYERS_MAX,
    GROUP_MAX = 40,
    WINDOWS_MAX = 4096,
    LISTED_MAX = 40,
    BUCKETS_MAX = 24
};

/* ---- the run at hand, and how it fails ---- */

typedef struct run {
    uint64_t seed, step;
    history_gen *gen;
    rung_state *state;
    state_model *model;
    bool via_bytes, in_groups;
    bool is_holding;                      /* an event is held over for the next group */
    uint32_t applied_count, applied_room; /* submissions whose id carries a time */
    struct applied {
        rung_slice board, id;
    } * applied;
    const rung_event *event;
    const rung_query *query;
} run;

static void print_query(const rung_query *q) {
    const rung_slice texts[] = {q->board, q->window, q->window_id, q->on, q->scope};
    static const char *const names[] = {"board", "window", "window_id", "on", "scope"};
    fprintf(stderr, "  query:");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].len)
            fprintf(stderr, " %s=%.*s", names[i], (int)texts[i].len, texts[i].ptr);
    fprintf(stderr, "%s rank=%d now=%" PRId64 "\n", q->teams ? " teams" : "",
            q->has_rank ? (int)q->rank : -1, q->now_ms);
}

__attribute__((format(printf, 4, 5))) static _Noreturn void
differ(const run *r, const char *file, int line, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "RUNG_SEED=%" PRIu64 " step %" PRIu64 "%s%s, after:\n  ", r->seed, r->step,
            r->via_bytes ? ", via bytes" : "", r->in_groups ? ", in groups" : "");
    history_print(stderr, r->event);
    if (r->query)
        print_query(r->query);
    test_fail(file, line, "%s (state, model)", message);
}

/* Both sides of one thing, as unsigned, signed, double and text. */
#define SAME_U(r, what, a, b)                                                                      \
    do {                                                                                           \
        uint64_t a_ = (uint64_t)(a), b_ = (uint64_t)(b);                                           \
        if (a_ != b_)                                                                              \
            differ((r), __FILE__, __LINE__, "%s: %" PRIu64 ", %" PRIu64, (what), a_, b_);          \
    } while (0)
#define SAME_I(r, what, a, b)                                                                      \
    do {                                                                                           \
        int64_t a_ = (a), b_ = (b);                                                                \
        if (a_ != b_)                                                                              \
            differ((r), __FILE__, __LINE__, "%s: %" PRId64 ", %" PRId64, (what), a_, b_);          \
    } while (0)
#define SAME_D(r, what, a, b)                                                                      \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (a_ != b_ && !(isnan(a_) && isnan(b_)))                                                 \
            differ((r), __FILE__, __LINE__, "%s: %.17g, %.17g", (what), a_, b_);                   \
    } while (0)
#define SAME_S(r, what, a, b)                                                                      \
    do {                                                                                           \
        rung_slice a_ = (a), b_ = (b);                                                             \
        if (!rung_slice_eq(a_, b_))                                                                \
            differ((r), __FILE__, __LINE__, "%s: '%.*s', '%.*s'", (what), (int)a_.len, a_.ptr,     \
                   (int)b_.len, b_.ptr);                                                           \
    } while (0)
#define SAME_STATUS(r, what, a, b)                                                                 \
    do {                                                                                           \
        rung_status a_ = (a), b_ = (b);                                                            \
        if (a_ != b_)                                                                              \
            differ((r), __FILE__, __LINE__, "%s: %s, %s", (what), rung_status_name(a_),            \
                   rung_status_name(b_));                                                          \
    } while (0)

static bool is_near(double a, double b) {
    return a == b || fabs(a - b) <= (double)MODEL_TOLERANCE * (fabs(a) + fabs(b)) ||
           (fabs(a) < 1e-290 && fabs(b) < 1e-290) || (fabs(a) > 1e290 && fabs(b) > 1e290);
}

/* ---- outcomes ---- */

static void same_value(const run *r, const char *what, bool is_real, rung_value a, rung_value b) {
    if (is_real)
        SAME_D(r, what, a.d, b.d);
    else
        SAME_I(r, what, a.i, b.i);
}

static void same_decay_outcome(const run *r, const rung_outcome *a, const model_answer *b) {
    if (!is_near(a->values[0].d, b->outcome.values[0].d))
        differ(r, __FILE__, __LINE__, "decayed score: %.17g, %.17g", a->values[0].d,
               b->outcome.values[0].d);
    if (b->is_rank_doubtful || !a->has_next)
        return;
    /* A gap is a difference: it is only as good as what it was taken from. */
    double slack =
        4 * (double)MODEL_TOLERANCE * (fabs(b->outcome.values[0].d) + fabs(b->outcome.gap.d)) +
        1e-290;
    if (!is_near(a->gap.d, b->outcome.gap.d) && !(fabs(a->gap.d - b->outcome.gap.d) <= slack))
        differ(r, __FILE__, __LINE__, "decayed gap: %.17g, %.17g", a->gap.d, b->outcome.gap.d);
}

static void same_ranks(const run *r, const rung_outcome *a, const rung_outcome *b) {
    SAME_U(r, "rank before", a->rank_before, b->rank_before);
    SAME_U(r, "rank", a->rank, b->rank);
    SAME_U(r, "passed", a->passed, b->passed);
    SAME_D(r, "percentile", a->percentile, b->percentile);
    SAME_U(r, "has next", a->has_next, b->has_next);
    SAME_S(r, "next", a->next, b->next);
    for (uint32_t i = 0; i < b->window_count; i++) {
        SAME_U(r, "window rank before", a->windows[i].rank_before, b->windows[i].rank_before);
        SAME_U(r, "window rank", a->windows[i].rank, b->windows[i].rank);
    }
}

/* Except of a duplicate: the definition may have changed since. */
static void same_types(const run *r, const rung_outcome *a) {
    const rung_board_def *def;
    if (a->duplicate || rung_state_board(r->state, r->event->score.board, &def) != RUNG_OK)
        return;
    for (uint32_t i = 0; i < a->value_count; i++)
        SAME_U(r, "type", a->types[i],
               (unsigned)def->key.columns[i].type | def->key.columns[i].decimals << 4);
}

static void same_outcome(const run *r, const rung_outcome *a, const model_answer *answer) {
    const rung_outcome *b = &answer->outcome;
    SAME_U(r, "outcome seq", a->seq, b->seq);
    SAME_U(r, "duplicate", a->duplicate, b->duplicate);
    if (!answer->is_change_doubtful)
        SAME_U(r, "changed", a->changed, b->changed);
    SAME_U(r, "value count", a->value_count, b->value_count);
    SAME_U(r, "rule", a->rule, RUNG_RULE_NONE);
    same_types(r, a);
    SAME_U(r, "total", a->total, b->total);
    SAME_U(r, "window count", a->window_count, b->window_count);
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung_window_outcome *x = &a->windows[i], *y = &b->windows[i];
        SAME_U(r, "window kind", x->kind, y->kind);
        SAME_I(r, "window ordinal", x->ordinal, y->ordinal);
        SAME_S(r, "window season", x->season, y->season);
        SAME_U(r, "window total", x->total, y->total);
        if (!answer->is_change_doubtful)
            SAME_U(r, "window changed", x->changed, y->changed);
    }
    if (!answer->is_rank_doubtful)
        same_ranks(r, a, b);
    const rung_board_def *def = state_model_board(r->model, r->event->score.board);
    if (answer->is_decay) {
        same_decay_outcome(r, a, answer);
        return;
    }
    for (uint32_t i = 0; i < b->value_count; i++)
        same_value(r, "score", def->key.columns[i].type == RUNG_SCORE_REAL, a->values[i],
                   b->values[i]);
    if (b->has_next)
        same_value(r, "gap", def->key.columns[0].type == RUNG_SCORE_REAL, a->gap, b->gap);
}

/* An id that carries its time is applied once, whatever is forgotten. */
static void never_applied_before(run *r, const rung_score_event *e) {
    if (e->id.len != 26 && e->id.len != 36)
        return;
    for (uint32_t i = 0; i < r->applied_count; i++)
        if (rung_slice_eq(r->applied[i].board, e->board) && rung_slice_eq(r->applied[i].id, e->id))
            differ(r, __FILE__, __LINE__, "id %.*s was applied a second time", (int)e->id.len,
                   e->id.ptr);
    if (r->applied_count == r->applied_room) {
        r->applied_room = r->applied_room ? 2 * r->applied_room : 64;
        r->applied = realloc(r->applied, r->applied_room * sizeof *r->applied);
        CHECK(r->applied);
    }
    /* Copies: the event's own texts may be gone with its bytes. */
    r->applied[r->applied_count++] =
        (struct applied){history_text(r->gen, "%.*s", (int)e->board.len, e->board.ptr),
                         history_text(r->gen, "%.*s", (int)e->id.len, e->id.ptr)};
}

static void forget_applied(run *r, rung_slice board) {
    for (uint32_t i = r->applied_count; i-- > 0;)
        if (rung_slice_eq(r->applied[i].board, board))
            r->applied[i] = r->applied[--r->applied_count];
}

/* The rule that the model says, and the limit in the definition. */
static void same_rule(const run *r, const rung_outcome *outcome, const model_answer *answer) {
    const char *rule = answer->rule;
    const rung_board_def *def;
    rung_value limit = {0};
    if (!rule || strcmp(rung_rule_words[outcome->rule], rule) != 0)
        differ(r, __FILE__, __LINE__, "rule: %s, %s", rung_rule_words[outcome->rule],
               rule ? rule : "");
    if (rung_state_board(r->state, r->event->score.board, &def) != RUNG_OK)
        return;
    if (answer->rule_count) { /* the limits kept quiet: the first rule that refuses */
        for (uint32_t i = def->rule_count; i-- > 0;)
            if (def->rules[i].action == RUNG_ACTION_REFUSE && answer->broken[i] &&
                def->rules[i].rule == outcome->rule)
                limit = def->rules[i].value;
    } else if (outcome->rule == RUNG_RULE_Z) {
        limit.d = def->z_score;
    } else if (outcome->rule == RUNG_RULE_RATE) {
        limit.i = def->per_player_per_minute;
    } else if (outcome->rule <= RUNG_RULE_STEP) {
        limit = outcome->rule == RUNG_RULE_MIN   ? def->min
                : outcome->rule == RUNG_RULE_MAX ? def->max
                                                 : def->max_step;
    }
    SAME_U(r, "limit", (uint64_t)outcome->limit.i, (uint64_t)limit.i);
    SAME_U(r, "values of a refusal", outcome->value_count, 0);
}

/* The rules that a counted submission broke. */
static void same_findings(const run *r, const rung_outcome *a, const model_answer *answer) {
    const rung_board_def *def;
    uint32_t n = 0;
    if (a->duplicate || rung_state_board(r->state, r->event->score.board, &def) != RUNG_OK)
        return;
    for (uint32_t i = 0; i < answer->rule_count; i++) {
        const rung_finding *f = n < a->finding_count ? &a->findings[n] : NULL;
        bool is_there = f && f->rule == def->rules[i].rule && f->limit.i == def->rules[i].value.i &&
                        f->action == def->rules[i].action;
        if (answer->broken[i] == 1 && !is_there)
            differ(r, __FILE__, __LINE__, "rule %s is not reported",
                   rung_rule_words[def->rules[i].rule]);
        n += answer->broken[i] == 1 || (answer->broken[i] == -1 && is_there);
    }
    SAME_U(r, "rules broken", a->finding_count, n);
}

static void compare_step(run *r, const rung_event *event, rung_status st,
                         const rung_outcome *outcome, const rung_err *err) {
    model_answer answer;
    r->event = event;
    if (getenv("RUNG_TRACE")) {
        fprintf(stderr, "%" PRIu64 " %s (%s): ", r->step, rung_status_name(st),
                st < 0 ? err->message : "");
        history_print(stderr, event);
    }
    state_model_apply(r->model, event, st, &answer);
    bool is_fine = answer.is_change_doubtful && (st == RUNG_OK || st == RUNG_UNCHANGED);
    if (st != answer.status && !is_fine)
        differ(r, __FILE__, __LINE__, "status: %s (%s), %s (%s)", rung_status_name(st),
               st < 0 ? err->message : "", rung_status_name(answer.status),
               answer.rule ? answer.rule : "");
    if (st < 0 && answer.rule && !strstr(err->message, answer.rule))
        differ(r, __FILE__, __LINE__, "reason: '%s', '%s'", err->message, answer.rule);
    if (st == RUNG_EREFUSED && event->kind == RUNG_EVENT_SCORE)
        same_rule(r, outcome, &answer);
    if (st == RUNG_OK && event->kind == RUNG_EVENT_BOARD_DELETED)
        forget_applied(r, event->deleted.board);
    if (st < 0 || event->kind != RUNG_EVENT_SCORE)
        return;
    same_outcome(r, outcome, &answer);
    same_findings(r, outcome, &answer);
    if (st != RUNG_DUPLICATE)
        never_applied_before(r, &event->score);
}

/* ---- questions ---- */

static uint32_t below(run *r, uint32_t n) {
    return (uint32_t)rung_rng_below(history_gen_rng(r->gen), n);
}

static bool chance(run *r, uint32_t percent) {
    return below(r, 100) < percent;
}

static rung_slice random_window_id(run *r, uint32_t kind, const rung_board_def *def) {
    if (chance(r, 5))
        return RUNG_SLICE("2026-W99");
    char id[RUNG_WINDOW_ID_MAX];
    rung_window w;
    if (rung_window_at((rung_window_kind)kind, NULL, 0, history_instant(r->gen, def), &w) < 0)
        return (rung_slice){0};
    rung_window_id_format((rung_window_kind)kind, w.ordinal, id);
    return history_text(r->gen, "%s", id);
}

static void random_window(run *r, const rung_board_def *def, rung_query *q) {
    static const char *const kinds[] = {"all", "hour", "day", "week", "month", "year"};
    if (chance(r, 15))
        return;
    if (chance(r, 20)) {
        if (def && def->season_count && chance(r, 90))
            q->window = def->seasons[below(r, def->season_count)].name;
        else
            q->window = RUNG_SLICE("winter of 1969");
        return;
    }
    uint32_t kind = below(r, 6);
    for (int tries = 0; def && tries < 8 && !(def->windows & RUNG_WINDOWS_BIT(kind)); tries++)
        kind = below(r, 6);
    q->window = rung_slice_str(kinds[kind]);
    if (kind && chance(r, 30))
        q->window_id = random_window_id(r, kind, def);
    else if (kind && chance(r, 15))
        q->on = random_window_id(r, RUNG_WINDOW_DAY, def);
}

static rung_query random_query(run *r) {
    const history_taste *taste = history_gen_taste(r->gen);
    uint32_t i = below(r, taste->board_count);
    rung_query q = {.board = chance(r, 98) ? taste->boards[i] : RUNG_SLICE("nowhere")};
    const rung_board_def *def = history_def(r->gen, i);
    random_window(r, def, &q);
    if (chance(r, 30)) {
        rung_slice name = RUNG_SLICE("country");
        if (def && def->scope_count && chance(r, 95))
            name = def->scopes[below(r, def->scope_count)];
        rung_slice value = history_attribute_value(r->gen, name);
        q.scope = chance(r, 97) ? history_text(r->gen, "%.*s:%.*s", (int)name.len, name.ptr,
                                               (int)value.len, value.ptr)
                                : RUNG_SLICE("countryFI");
    } else {
        q.teams = chance(r, 25);
    }
    q.has_rank = chance(r, 60);
    q.rank = (rung_rank_style)(q.has_rank ? below(r, 3) : 0);
    q.now_ms = chance(r, 60) ? 0 : history_instant(r->gen, def);
    return q;
}

static void same_row(const run *r, const model_view *v, const rung_row *a, const rung_row *b,
                     bool is_listed) {
    SAME_U(r, "row index", a->index, b->index);
    SAME_S(r, "row id", a->id, b->id);
    SAME_U(r, "row rank", a->rank, b->rank);
    if (!v->teams)
        SAME_U(r, "row number", a->number, b->number);
    SAME_U(r, "row value count", a->value_count, b->value_count);
    for (uint32_t i = 0; i < b->value_count; i++)
        same_value(r, "row value", v->key.columns[i].type == RUNG_SCORE_REAL, a->values[i],
                   b->values[i]);
    SAME_U(r, "row has at", a->has_at, b->has_at);
    if (b->has_at)
        SAME_I(r, "row at", a->at_ms, b->at_ms);
    SAME_D(r, "row percentile", a->percentile, b->percentile);
    SAME_U(r, "row members", a->members, b->members);
    if (is_listed)
        SAME_U(r, "row list rank", a->list_rank, b->list_rank);
}

static void same_rows(const run *r, const model_view *v, const char *what, uint32_t n,
                      const rung_row *a, uint32_t n_model, const rung_row *b, bool is_listed) {
    SAME_U(r, what, n, n_model);
    for (uint32_t i = 0; i < n; i++)
        same_row(r, v, &a[i], &b[i], is_listed);
}

static void same_single(const run *r, const model_view *v, const char *what, rung_status st,
                        const rung_row *a, rung_status st_model, const rung_row *b) {
    SAME_STATUS(r, what, st, st_model);
    if (st == RUNG_OK)
        same_row(r, v, a, b, false);
}

static rung_row rows[ROWS_MAX], model_rows[ROWS_MAX];

static void ask_top(run *r, const rung_view *a, const model_view *b) {
    uint32_t offset = chance(r, 50) ? 0 : below(r, b->total + 3),
             limit = chance(r, 30) ? ROWS_MAX : below(r, 12);
    uint32_t n = rung_view_top(a, offset, limit, rows);
    same_rows(r, b, "top", n, rows, model_top(b, offset, limit, model_rows), model_rows, false);
}

/* Somebody in the view if there is anybody, or any player or team. */
static rung_slice somebody(run *r, const model_view *b) {
    if (b->total && chance(r, 85))
        return b->rows[below(r, b->total)].row.id;
    return b->teams ? RUNG_SLICE("red") : history_player(r->gen);
}

static void ask_around(run *r, const rung_view *a, const model_view *b) {
    rung_slice id = somebody(r, b);
    uint32_t around = below(r, 7), n = 0, self = 0, n_model = 0, self_model = 0;
    rung_view_prefetch(1, &a, &id); /* changes nothing */
    rung_status st = rung_view_around(a, id, around, rows, &n, &self);
    SAME_STATUS(r, "around", st, model_around(b, id, around, model_rows, &n_model, &self_model));
    if (st != RUNG_OK)
        return;
    SAME_U(r, "around self", self, self_model);
    same_rows(r, b, "around", n, rows, n_model, model_rows, false);
}

static void ask_rows(run *r, const rung_view *a, const model_view *b) {
    rung_slice ids[LISTED_MAX];
    bool found[LISTED_MAX];
    uint32_t n = below(r, LISTED_MAX);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = somebody(r, b);
    rung_view_rows(a, n, ids, rows, found);
    for (uint32_t i = 0; i < n; i++) {
        SAME_U(r, "found", found[i], model_row_of(b, ids[i], &model_rows[i]));
        if (found[i])
            same_row(r, b, &rows[i], &model_rows[i], false);
    }
}

/* Decayed scores: entries between two values, which count for sure or, with the slack, perhaps. */
static uint32_t count_decayed(const model_view *b, double low, double high, double slack) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->total; i++) {
        double x = b->rows[i].row.values[0].d;
        n += x >= low * (1 - slack) && x <= high * (1 + slack);
    }
    return n;
}

static void ask_at_decayed_score(run *r, const rung_view *a, const model_view *b) {
    rung_value value = {.d = history_value(r->gen, b->def, &b->key.columns[0]).d};
    uint32_t rank = 0, n = 0, above = 0;
    rung_status st = rung_view_at_score(a, 1, &value, 3, &rank, rows, &n, &above, NULL);
    if (st == RUNG_EINVAL)
        return; /* not to be had at that time */
    SAME_STATUS(r, "at decayed score", st, RUNG_OK);
    uint32_t least = value.d > 1e-290 ? count_decayed(b, value.d, HUGE_VAL, -1e-9) : 0;
    uint32_t most = value.d > 1e-290 ? count_decayed(b, value.d, HUGE_VAL, 1e-9) : b->total;
    if (b->rank == RUNG_RANK_SPARSE && (rank < 1 + least || rank > 1 + most))
        differ(r, __FILE__, __LINE__, "rank of a decayed score: %u, %u to %u", rank, 1 + least,
               1 + most);
}

static void ask_at_score(run *r, const rung_view *a, const model_view *b) {
    if (b->is_decay) {
        ask_at_decayed_score(r, a, b);
        return;
    }
    const rung_keyspec *key = &b->key;
    uint32_t count = chance(r, 80) ? key->column_count : 1 + below(r, key->column_count);
    rung_value values[RUNG_COLUMNS_MAX] = {{0}};
    for (uint32_t i = 0; i < count; i++)
        values[i] = history_value(r->gen, b->def, &key->columns[i]);
    if (b->total && chance(r, 50))
        memcpy(values, b->rows[below(r, b->total)].row.values, sizeof values);
    uint32_t around = below(r, 5), rank = 0, n = 0, above = 0, rank_model = 0, n_model = 0,
             above_model = 0;
    rung_status st = rung_view_at_score(a, count, values, around, &rank, rows, &n, &above, NULL);
    SAME_STATUS(
        r, "at score", st,
        model_at_score(b, count, values, around, &rank_model, model_rows, &n_model, &above_model));
    if (st != RUNG_OK)
        return;
    SAME_U(r, "rank of score", rank, rank_model);
    SAME_U(r, "rows above score", above, above_model);
    same_rows(r, b, "at score", n, rows, n_model, model_rows, false);
}

static void ask_target(run *r, const rung_view *a, const model_view *b) {
    rung_row row, model_row_;
    uint32_t rank = below(r, b->total + 3);
    rung_status st = rung_view_target_rank(a, rank, &row);
    same_single(r, b, "target rank", st, &row, model_target_rank(b, rank, &model_row_),
                &model_row_);
    static const double percents[] = {100, 50, 25, 10, 5, 1, 0.1, 33.3, 99.9};
    double percent = percents[below(r, 9)];
    st = rung_view_target_percent(a, percent, &row);
    same_single(r, b, "target percent", st, &row, model_target_percent(b, percent, &model_row_),
                &model_row_);
}

static void ask_quantile(run *r, const rung_view *a, const model_view *b) {
    rung_row row, model_row_;
    uint32_t den = 1 + below(r, 10), num = below(r, den + 1);
    rung_status st = rung_view_quantile(a, num, den, &row);
    same_single(r, b, "quantile", st, &row, model_quantile(b, num, den, &model_row_), &model_row_);
}

/* Decayed scores are counted as they are shown, at the ends of the doubles, too. */
static void same_as_shown(run *r, const rung_view *a, uint32_t total) {
    static const double edges[] = {0, 5e-324, 1, DBL_MAX, HUGE_VAL};
    uint32_t n = rung_view_top(a, 0, ROWS_MAX, rows), count = 0, shown = 0;
    double ends[2];
    SAME_U(r, "decayed rows", n, total);
    for (uint32_t i = 0; i < 2; i++)
        ends[i] = n && chance(r, 50) ? rows[below(r, n)].values[0].d : edges[below(r, 5)];
    rung_value low = {.d = ends[0]}, high = {.d = ends[1]};
    for (uint32_t i = 0; i < n; i++)
        shown += rows[i].values[0].d >= low.d && rows[i].values[0].d <= high.d;
    SAME_STATUS(r, "count shown", rung_view_count_range(a, low, high, &count), RUNG_OK);
    SAME_U(r, "counted as shown", count, shown);
}

static void ask_count_range(run *r, const rung_view *a, const model_view *b) {
    rung_value low = history_value(r->gen, b->def, &b->key.columns[0]);
    rung_value high = history_value(r->gen, b->def, &b->key.columns[0]);
    uint32_t count = 0;
    if (b->is_decay) {
        same_as_shown(r, a, b->total);
        SAME_STATUS(r, "count range", rung_view_count_range(a, low, high, &count), RUNG_OK);
        if (low.d < 1e-290 || high.d < 1e-290)
            return; /* where doubles have few digits */
        uint32_t least = count_decayed(b, low.d, high.d, -1e-9),
                 most = count_decayed(b, low.d, high.d, 1e-9);
        if (count < least || count > most)
            differ(r, __FILE__, __LINE__, "decayed scores in a range: %u, %u to %u", count, least,
                   most);
        return;
    }
    SAME_STATUS(r, "count range", rung_view_count_range(a, low, high, &count), RUNG_OK);
    SAME_U(r, "count in range", count, model_count_range(b, low, high));
}

/* Reals: whatever the edges are to the last digit, they must rise from the lowest to the highest score in equal steps,
 * and the counts be true. */
static void check_real_buckets(const run *r, const model_view *b, uint32_t n,
                               const rung_bucket *buckets) {
    uint64_t sum = 0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (uint32_t k = 0; k < b->total; k++) {
        double x = b->rows[k].row.values[0].d;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    SAME_D(r, "lowest edge", buckets[0].low.d, low);
    SAME_D(r, "highest edge", buckets[n - 1].high.d, high);
    for (uint32_t i = 1; i < n; i++) {
        double share = (double)i / n, edge = low * (1 - share) + high * share;
        if (!(fabs(buckets[i].low.d - edge) <= 1e-9 * fabs(low) + 1e-9 * fabs(high)))
            differ(r, __FILE__, __LINE__, "edge %u of %u: %.17g, %.17g", i, n, buckets[i].low.d,
                   edge);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < b->total; k++) {
            double x = b->rows[k].row.values[0].d;
            count += x >= buckets[i].low.d && (x < buckets[i].high.d || (i == n - 1 && x == high));
        }
        if (!b->is_decay) /* there the edge itself is rounded */
            SAME_U(r, "bucket count", buckets[i].count, count);
        sum += buckets[i].count;
        if (i > 0)
            SAME_D(r, "bucket edge", buckets[i].low.d, buckets[i - 1].high.d);
    }
    SAME_U(r, "sum of buckets", sum, b->total);
}

static void ask_by_width(run *r, const rung_view *a, const model_view *b) {
    rung_bucket buckets[BUCKETS_MAX], expected[BUCKETS_MAX];
    uint32_t n = 1 + below(r, BUCKETS_MAX);
    uint32_t count = rung_view_distribution_by_width(a, n, buckets);
    if (b->key.columns[0].type == RUNG_SCORE_REAL) {
        rung_row first, last;
        bool is_empty =
            model_quantile(b, 0, 1, &first) != RUNG_OK || model_quantile(b, 1, 1, &last) != RUNG_OK;
        bool is_one = !is_empty && (first.values[0].d == last.values[0].d ||
                                    isinf(first.values[0].d) || isinf(last.values[0].d));
        SAME_U(r, "buckets", count, is_empty ? 0 : is_one ? 1 : n);
        if (count)
            check_real_buckets(r, b, count, buckets);
        return;
    }
    memset(expected, 0, sizeof expected);
    SAME_U(r, "buckets", count, model_distribution_by_width(b, n, expected));
    for (uint32_t i = 0; i < count; i++) {
        SAME_I(r, "bucket low", buckets[i].low.i, expected[i].low.i);
        SAME_I(r, "bucket high", buckets[i].high.i, expected[i].high.i);
        SAME_U(r, "bucket count", buckets[i].count, expected[i].count);
    }
}

/* As equal as can be, and true about what is in them. */
static void ask_by_count(run *r, const rung_view *a, const model_view *b) {
    rung_bucket buckets[BUCKETS_MAX];
    uint32_t n = 1 + below(r, BUCKETS_MAX), first = 0;
    uint32_t count = rung_view_distribution_by_count(a, n, buckets);
    bool is_real = b->key.columns[0].type == RUNG_SCORE_REAL;
    SAME_U(r, "buckets", count, n < b->total ? n : b->total);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = (uint32_t)buckets[i].count;
        if (size != b->total / count && size != (b->total + count - 1) / count)
            differ(r, __FILE__, __LINE__, "bucket %u of %u has %u of %u", i, count, size, b->total);
        rung_value x = b->rows[first].row.values[0], y = b->rows[first + size - 1].row.values[0];
        bool is_up = is_real ? x.d <= y.d : x.i <= y.i;
        same_value(r, "bucket low", is_real, buckets[i].low, is_up ? x : y);
        same_value(r, "bucket high", is_real, buckets[i].high, is_up ? y : x);
        first += size;
    }
    SAME_U(r, "sum of buckets", first, b->total);
}

static void ask_friends(run *r, const rung_view *a, const model_view *b) {
    if (b->teams)
        return;
    rung_slice id = history_player(r->gen);
    uint32_t offset = chance(r, 70) ? 0 : below(r, 5),
             limit = chance(r, 50) ? ROWS_MAX : below(r, 6);
    uint32_t n = 0, total = 0, n_model = 0, total_model = 0;
    rung_status st = rung_view_friends(a, rung_alloc_heap(), id, offset, limit, rows, &n, &total);
    SAME_STATUS(r, "friends", st,
                model_friends(b, id, offset, limit, model_rows, &n_model, &total_model));
    if (st != RUNG_OK)
        return;
    SAME_U(r, "friends in all", total, total_model);
    same_rows(r, b, "friends", n, rows, n_model, model_rows, true);
}

static void ask_list(run *r, const rung_view *a, const model_view *b) {
    rung_slice ids[LISTED_MAX];
    uint32_t listed = below(r, LISTED_MAX), n = 0, total = 0, n_model = 0, total_model = 0;
    for (uint32_t i = 0; i < listed; i++)
        ids[i] = somebody(r, b);
    uint32_t offset = chance(r, 70) ? 0 : below(r, 5),
             limit = chance(r, 50) ? ROWS_MAX : below(r, 6);
    SAME_STATUS(r, "list",
                rung_view_list(a, rung_alloc_heap(), listed, ids, offset, limit, rows, &n, &total),
                RUNG_OK);
    model_list(b, listed, ids, offset, limit, model_rows, &n_model, &total_model);
    SAME_U(r, "list in all", total, total_model);
    same_rows(r, b, "list", n, rows, n_model, model_rows, true);
}

/* Decayed scores differ in their last digits, and near ones may stand either way: take over the order that is. */
static void adopt_order(run *r, const rung_query *q, model_view *b) {
    rung_query sparse = *q;
    rung_view v;
    sparse.has_rank = true;
    sparse.rank = RUNG_RANK_SPARSE;
    CHECK_OK(rung_state_view(r->state, &sparse, &v, NULL));
    uint32_t n = rung_view_top(&v, 0, ROWS_MAX, rows);
    const char *wrong = model_view_adopt(b, rows, n);
    if (wrong)
        differ(r, __FILE__, __LINE__, "decay: %s", wrong);
}

static void same_view(const run *r, const rung_view *a, const model_view *b) {
    SAME_U(r, "view total", a->total, b->total);
    SAME_U(r, "view distinct", a->distinct, b->distinct);
    SAME_U(r, "view rank", a->rank, b->rank);
    SAME_U(r, "view closed", a->closed, b->closed);
    SAME_U(r, "view kind", a->kind, b->kind);
    SAME_I(r, "view ordinal", a->ordinal, b->ordinal);
    SAME_I(r, "view start", a->start_ms, b->start_ms);
    SAME_I(r, "view end", a->end_ms, b->end_ms);
    SAME_S(r, "view season", a->season, b->season);
}

static uint64_t ghosts_seen;

static void ask_one_view(run *r) {
    static void (*const asks[])(run *, const rung_view *, const model_view *) = {
        ask_top,         ask_around,   ask_rows,     ask_at_score, ask_target, ask_quantile,
        ask_count_range, ask_by_width, ask_by_count, ask_friends,  ask_list,
    };
    rung_query q = random_query(r);
    rung_view a;
    model_view b = {0};
    rung_err err = {0};
    r->query = &q;
    rung_status st = rung_state_view(r->state, &q, &a, &err),
                expected = state_model_view(r->model, &q, &b);
    SAME_STATUS(r, "view", st, expected);
    if (st == RUNG_OK) {
        if (b.is_decay)
            adopt_order(r, &q, &b);
        same_view(r, &a, &b);
        if (chance(r, 50))
            ask_top(r, &a, &b);
        asks[below(r, sizeof asks / sizeof *asks)](r, &a, &b);
        model_view_deinit(&b);
    }
    r->query = NULL;
}

/* Sometimes through the eyes of a player with a shadow ban: the board with their own entries. */
static void ask_view(run *r) {
    rung_slice self = history_player(r->gen);
    rung_digest before = rung_state_digest(r->state);
    rung_status st = rung_state_ghost_enter(r->state, (rung_slice){0}, self);
    SAME_U(r, "shadow ban", st == RUNG_OK, state_model_reveal(r->model, self, true));
    ask_one_view(r);
    if (st != RUNG_OK)
        return;
    rung_state_ghost_leave(r->state);
    CHECK(state_model_reveal(r->model, self, false));
    rung_digest after = rung_state_digest(r->state);
    CHECK(before.a == after.a && before.b == after.b);
    ghosts_seen++;
    ask_one_view(r);
}

static void ask_windows(run *r) {
    static rung_window_info a[WINDOWS_MAX], b[WINDOWS_MAX];
    const history_taste *taste = history_gen_taste(r->gen);
    rung_slice board = taste->boards[below(r, taste->board_count)];
    uint32_t n = rung_state_windows(r->state, board, a, WINDOWS_MAX);
    uint32_t n_model = state_model_windows(r->model, board, b, WINDOWS_MAX);
    for (uint32_t i = 0; n != n_model && i < (n > n_model ? n : n_model); i++)
        fprintf(stderr, "  %s %" PRId64 " | %s %" PRId64 "\n", i < n ? a[i].id : "",
                i < n ? a[i].start_ms : 0, i < n_model ? b[i].id : "",
                i < n_model ? b[i].start_ms : 0);
    SAME_U(r, "windows", n, n_model);
    for (uint32_t i = 0; i < n; i++) {
        SAME_S(r, "window id", rung_slice_str(a[i].id), rung_slice_str(b[i].id));
        SAME_U(r, "window kind", a[i].kind, b[i].kind);
        SAME_I(r, "window ordinal", a[i].ordinal, b[i].ordinal);
        SAME_I(r, "window start", a[i].start_ms, b[i].start_ms);
        SAME_I(r, "window end", a[i].end_ms, b[i].end_ms);
        SAME_S(r, "window season", a[i].season, b[i].season);
        SAME_U(r, "window closed", a[i].closed, b[i].closed);
        SAME_U(r, "window total", a[i].total, b[i].total);
    }
}

static void ask_player(run *r) {
    rung_attribute a[RUNG_ATTRIBUTES_MAX], b[RUNG_ATTRIBUTES_MAX];
    rung_slice follows[HISTORY_PLAYERS_MAX], model_follows[HISTORY_PLAYERS_MAX],
        id = history_player(r->gen);
    uint32_t n = 0, n_model = 0;
    bool banned = false, banned_model = false;
    rung_status st = rung_state_player(r->state, id, &n, a, &banned);
    SAME_STATUS(r, "player", st, state_model_player(r->model, id, &n_model, b, &banned_model));
    if (st == RUNG_OK) {
        SAME_U(r, "banned", banned, banned_model);
        SAME_U(r, "attributes", n, n_model);
        for (uint32_t i = 0; i < n; i++) {
            SAME_S(r, "attribute name", a[i].name, b[i].name);
            SAME_S(r, "attribute value", a[i].value, b[i].value);
        }
    }
    n = rung_state_friends(r->state, id, follows, HISTORY_PLAYERS_MAX);
    SAME_U(r, "friends", n, state_model_friends(r->model, id, model_follows, HISTORY_PLAYERS_MAX));
    for (uint32_t i = 0; i < n; i++)
        SAME_S(r, "friend", follows[i], model_follows[i]);
}

static void ask_whole(run *r) {
    rung_stats a;
    model_counts b = state_model_counts(r->model);
    rung_state_stats(r->state, &a);
    SAME_U(r, "seq", rung_state_seq(r->state), b.seq);
    SAME_I(r, "log time", rung_state_time(r->state), state_model_time(r->model));
    SAME_I(r, "next close", rung_state_next_close(r->state), state_model_next_close(r->model));
    SAME_U(r, "stats refused", a.refused, b.refused);
    SAME_U(r, "stats boards", a.boards, b.boards);
    SAME_U(r, "stats players", a.players, b.players);
    SAME_U(r, "stats ids", a.ids, b.ids);
    SAME_U(r, "stats friendships", a.friendships, b.friendships);
    SAME_U(r, "stats banned", a.banned, b.banned);
    SAME_U(r, "stats profiles", a.profiles, b.profiles);
    const history_taste *taste = history_gen_taste(r->gen);
    rung_slice board = taste->boards[below(r, taste->board_count)];
    const rung_board_def *def, *expected = state_model_board(r->model, board);
    rung_status st = rung_state_board(r->state, board, &def);
    SAME_STATUS(r, "board", st, expected ? RUNG_OK : RUNG_NOT_FOUND);
    if (st == RUNG_OK) {
        SAME_S(r, "board title", def->title, expected->title);
        SAME_U(r, "board windows", def->windows, expected->windows);
        SAME_U(r, "board seasons", def->season_count, expected->season_count);
        SAME_U(r, "board scopes", def->scope_count, expected->scope_count);
    }
}

static void ask_questions(run *r) {
    for (uint32_t n = 1 + below(r, 3); n > 0; n--)
        ask_view(r);
    if (chance(r, 15))
        ask_windows(r);
    if (chance(r, 15))
        ask_player(r);
    if (chance(r, 30))
        ask_whole(r);
}

/* ---- a history ---- */

/* Might a slice in the answer to an earlier event of a group not outlive this event? */
static bool ends_borrows(const rung_event *e) {
    return e->kind == RUNG_EVENT_PLAYER_ERASED || e->kind == RUNG_EVENT_BOARD_DEFINED ||
           e->kind == RUNG_EVENT_BOARD_DELETED || e->kind == RUNG_EVENT_WINDOW_CLOSED ||
           e->kind == RUNG_EVENT_TICK;
}

/* One event, or a few; one that ends borrows begins a group. */
static uint32_t next_group(run *r, rung_event *events) {
    static rung_event held;
    uint32_t n = 0, wanted = r->in_groups ? 1 + below(r, GROUP_MAX) : 1;
    if (r->is_holding)
        events[n++] = held;
    r->is_holding = false;
    while (n < wanted && !r->is_holding) {
        history_gen_next(r->gen, &events[n]);
        r->is_holding = n > 0 && ends_borrows(&events[n]);
        if (r->is_holding)
            held = events[n];
        else
            n++;
    }
    return n;
}

/* The same event after a journey through its bytes; as it is when it has none (NaN and the like). */
static void through_bytes(run *r, rung_event *e, char *bytes, size_t size) {
    size_t length;
    rung_err err = {0};
    if (rung_event_check(e, NULL) < 0)
        return;
    r->event = e;
    CHECK_OK(rung_event_encode(e, bytes, size, &length));
    static rung_event decoded;
    rung_status st = rung_event_decode(rung_slice_of(bytes, length), &decoded, &err);
    if (st != RUNG_OK)
        differ(r, __FILE__, __LINE__, "decoded: %s %s", rung_status_name(st), err.message);
    *e = decoded;
}

static void run_group(run *r) {
    static rung_event events[GROUP_MAX];
    static char bytes[GROUP_MAX][64 << 10];
    const rung_event *list[GROUP_MAX];
    rung_status statuses[GROUP_MAX];
    static rung_outcome outcomes[GROUP_MAX];
    static rung_err errs[GROUP_MAX];
    uint32_t n = next_group(r, events);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = &events[i];
        if (r->via_bytes)
            through_bytes(r, &events[i], bytes[i], sizeof bytes[i]);
    }
    memset(errs, 0, sizeof errs);
    r->event = &events[0];
    if (r->in_groups)
        SAME_U(r, "applied of the group",
               rung_state_apply_batch(r->state, n, list, statuses, outcomes, errs), n);
    else
        statuses[0] = rung_state_apply(r->state, &events[0], &outcomes[0], &errs[0]);
    for (uint32_t i = 0; i < n; i++) {
        r->step++;
        compare_step(r, &events[i], statuses[i], &outcomes[i], &errs[i]);
    }
    ask_questions(r);
}

static void check_state(run *r) {
    const char *broken = rung_state_check(r->state);
    if (broken)
        differ(r, __FILE__, __LINE__, "rung_state_check: %s", broken);
}

static rung_state *new_state(const history_taste *taste, uint64_t key) {
    rung_state_config config = {.alloc = rung_alloc_heap(),
                                .hash_key = {key, ~key},
                                .id_capacity = taste->id_capacity,
                                .id_keep_ms = taste->id_keep_ms};
    rung_state *s = NULL;
    CHECK_OK(rung_state_create(&config, &s));
    return s;
}

static uint64_t run_history(uint64_t seed) {
    run r = {.seed = seed, .via_bytes = seed % 3 == 1, .in_groups = seed % 2 == 0};
    r.gen = history_gen_create(seed);
    const history_taste *taste = history_gen_taste(r.gen);
    r.state = new_state(taste, seed);
    r.model = state_model_create(&(state_model_config){taste->id_capacity, taste->id_keep_ms});
    uint64_t steps = taste->player_count > 100 ? 1200 : 300, next_check = 1 + below(&r, 60);
    while (r.step < steps) {
        run_group(&r);
        if (r.step >= next_check) {
            check_state(&r);
            next_check = r.step + 1 + below(&r, taste->player_count > 100 ? 600 : 60);
        }
    }
    check_state(&r);
    steps = r.step;
    rung_state_destroy(r.state);
    state_model_destroy(r.model);
    history_gen_destroy(r.gen);
    free(r.applied);
    return steps;
}

/* Histories from a seed on: as many as it takes to have `wanted` events, or, when a seed was asked for, only that one
 * (or RUNG_SEEDS of them). */
static void run_seeds(uint64_t (*body)(uint64_t seed), uint64_t wanted) {
    uint64_t first = test_seed(1), done = 0;
    const char *count = getenv("RUNG_SEEDS");
    uint64_t seeds = !getenv("RUNG_SEED") ? UINT64_MAX : count ? strtoull(count, NULL, 10) : 1;
    for (uint64_t i = 0; i < seeds && (seeds != UINT64_MAX || done < wanted); i++)
        done += body(first + i);
}

TEST(histories) {
    run_seeds(run_history, test_steps(HISTORY_EVENTS));
}

/* ---- replay ---- */

typedef struct recorded {
    rung_event event;
    rung_status status;
    rung_digest digest; /* after it */
} recorded;

enum { REPLAY_LENGTH = 250 };

static uint64_t replayed_seed;

static bool same_digest(rung_digest a, rung_digest b) {
    return a.a == b.a && a.b == b.b;
}

/* Every digest depends on the events alone: another hash key, and the state built anew up to any point, give the same
 * one. */
static void check_replay(const history_taste *taste, const recorded *log, uint32_t count,
                         uint32_t from, uint64_t key) {
    rung_state *s = new_state(taste, key);
    for (uint32_t i = 0; i < count; i++) {
        rung_status st = rung_state_apply(s, &log[i].event, NULL, NULL);
        CHECK_MSG(st == log[i].status, "RUNG_SEED=%" PRIu64 ": another status after event %u of %u",
                  replayed_seed, i, count);
        CHECK_MSG(i < from || same_digest(rung_state_digest(s), log[i].digest),
                  "RUNG_SEED=%" PRIu64 ": another digest after event %u of %u", replayed_seed, i,
                  count);
    }
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

static void check_replay_in_batches(const history_taste *taste, const recorded *log, uint32_t count,
                                    rung_rng *rng) {
    rung_state *s = new_state(taste, 99), *one = new_state(taste, 98);
    const rung_event *list[64];
    rung_status statuses[64];
    static rung_outcome outcomes[64], expected;
    for (uint32_t i = 0, n; i < count; i += n) {
        n = 1 + (uint32_t)rung_rng_below(rng, 64);
        n = n < count - i ? n : count - i;
        for (uint32_t k = 0; k < n; k++)
            list[k] = &log[i + k].event;
        CHECK_EQ_U64(rung_state_apply_batch(s, n, list, statuses, outcomes, NULL), n);
        for (uint32_t k = 0; k < n; k++) {
            CHECK_MSG(statuses[k] == log[i + k].status,
                      "RUNG_SEED=%" PRIu64 ": event %u: another status in a batch", replayed_seed,
                      i + k);
            memset(&expected, 0, sizeof expected);
            CHECK_STATUS(rung_state_apply(one, list[k], &expected, NULL), log[i + k].status);
            if (statuses[k] < 0 || list[k]->kind != RUNG_EVENT_SCORE)
                continue;
            CHECK_EQ_U64(outcomes[k].seq, expected.seq);
            CHECK_EQ_U64(outcomes[k].rank_before, expected.rank_before);
            CHECK_EQ_U64(outcomes[k].rank, expected.rank);
            CHECK_EQ_U64(outcomes[k].passed, expected.passed);
            CHECK_EQ_U64(outcomes[k].window_count, expected.window_count);
            CHECK_EQ_F64(outcomes[k].percentile, expected.percentile);
            CHECK_EQ_MEM(outcomes[k].values, expected.values,
                         expected.value_count * sizeof(rung_value));
        }
        CHECK_MSG(same_digest(rung_state_digest(s), log[i + n - 1].digest),
                  "RUNG_SEED=%" PRIu64 ": another digest after the batch at %u", replayed_seed, i);
    }
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
    rung_state_destroy(one);
}

/* Each event is applied to five states. */
static uint64_t replay_seed(uint64_t seed) {
    static recorded log[REPLAY_LENGTH];
    replayed_seed = seed;
    history_gen *g = history_gen_create(seed);
    const history_taste *taste = history_gen_taste(g);
    rung_state *s = new_state(taste, 1);
    for (uint32_t i = 0; i < REPLAY_LENGTH; i++) {
        rung_digest before = rung_state_digest(s);
        history_gen_next(g, &log[i].event);
        log[i].status = rung_state_apply(s, &log[i].event, NULL, NULL);
        log[i].digest = rung_state_digest(s);
        CHECK_MSG(log[i].status != RUNG_OK || !same_digest(before, log[i].digest),
                  "RUNG_SEED=%" PRIu64 ": event %u changed the state but not the digest", seed, i);
    }
    rung_state_destroy(s);
    check_replay(taste, log, REPLAY_LENGTH, 0, 2);
    uint32_t split = (uint32_t)rung_rng_below(history_gen_rng(g), REPLAY_LENGTH);
    check_replay(taste, log, split + 1, split, 3);
    check_replay_in_batches(taste, log, REPLAY_LENGTH, history_gen_rng(g));
    history_gen_destroy(g);
    return REPLAY_LENGTH;
}

TEST(replay) {
    run_seeds(replay_seed, test_steps(REPLAY_EVENTS));
}

/* ---- what chance does not reach ---- */

static rung_event define_event(const char *board, rung_board_def def) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = 1000000};
    e.defined.board = rung_slice_str(board);
    e.defined.def = def;
    return e;
}

static rung_event score_event(const char *board, const char *player, int64_t score) {
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = 1000000};
    e.score = (rung_score_event){
        .board = rung_slice_str(board), .player = rung_slice_str(player), .value_count = 1};
    e.score.values[0].i = score;
    return e;
}

TEST(a_board_has_at_most_4096_windows) {
    enum { HOURS = 4096 };
    rung_state *s = new_state(&(history_taste){.id_capacity = 8}, 1);
    rung_board_def def = rung_board_def_default();
    def.windows = RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    rung_event e = define_event("hours", def), score = score_event("hours", "ada", 5);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    score.score.has_at = true;
    for (int64_t i = 0; i < HOURS; i++) {
        score.score.at_ms = 1000000 + i * 3600000;
        CHECK_OK(rung_state_apply(s, &score, NULL, NULL));
    }
    score.score.at_ms = 1000000 + INT64_C(4096) * 3600000;
    CHECK_STATUS(rung_state_apply(s, &score, NULL, NULL), RUNG_ELIMIT);
    score.score.at_ms -= 3600000;
    score.score.values[0].i = 6;
    CHECK_OK(rung_state_apply(s, &score, NULL, NULL));
    CHECK_EQ_U64(rung_state_windows(s, RUNG_SLICE("hours"), NULL, 0), HOURS);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(there_are_at_most_so_many_boards) {
    rung_state *s = NULL;
    CHECK_OK(
        rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .boards_max = 2}, &s));
    rung_event a = define_event("a", rung_board_def_default()),
               b = define_event("b", rung_board_def_default());
    rung_event c = define_event("c", rung_board_def_default());
    rung_event gone = {.kind = RUNG_EVENT_BOARD_DELETED, .ts_ms = 1000000};
    gone.deleted.board = RUNG_SLICE("a");
    CHECK_OK(rung_state_apply(s, &a, NULL, NULL));
    CHECK_OK(rung_state_apply(s, &b, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &c, NULL, NULL), RUNG_ELIMIT);
    CHECK_OK(rung_state_apply(s, &gone, NULL, NULL));
    CHECK_OK(rung_state_apply(s, &c, NULL, NULL));
    rung_state_destroy(s);
}

static bool is_known(const rung_state *s, const char *player) {
    uint32_t count;
    bool banned;
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    return rung_state_player(s, rung_slice_str(player), &count, attributes, &banned) == RUNG_OK;
}

/* Everybody may follow 10,000; a refused friendship makes nobody known. */
TEST(nobody_follows_more_than_they_may) {
    rung_state *s = new_state(&(history_taste){.id_capacity = 8}, 1);
    rung_event e = {.kind = RUNG_EVENT_FRIEND_ADDED, .ts_ms = 1000000};
    e.friend.player = RUNG_SLICE("ada");
    e.friend.follow = true;
    char name[32];
    for (int i = 0; i <= RUNG_FRIENDS_MAX; i++) {
        e.friend.other = rung_slice_of(name, (size_t)snprintf(name, sizeof name, "friend %d", i));
        CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL),
                     i < RUNG_FRIENDS_MAX ? RUNG_OK : RUNG_ELIMIT);
    }
    CHECK(!is_known(s, name));
    e.friend.player = RUNG_SLICE("newcomer"); /* both ways, but ada has no room */
    e.friend.other = RUNG_SLICE("ada");
    e.friend.follow = false;
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_ELIMIT);
    e = (rung_event){.kind = RUNG_EVENT_FRIENDS_REPLACED, .ts_ms = 1000000};
    e.friends.player = RUNG_SLICE("newcomer");
    e.friends.count = 1;
    e.friends.packed = RUNG_SLICE("\003ada");
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_ELIMIT);
    CHECK(!is_known(s, "newcomer"));
    CHECK_EQ_U64(rung_state_friends(s, RUNG_SLICE("ada"), NULL, 0), RUNG_FRIENDS_MAX);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

/* A clock gone mad is refused and does not become the log time; a submission's own time may be at the edge of all
 * time. */
TEST(times_at_the_edge) {
    rung_state *s = new_state(&(history_taste){.id_capacity = 8}, 1);
    rung_board_def def = rung_board_def_default();
    def.windows = RUNG_WINDOWS_MASK;
    rung_event e = define_event("edge", def), score = score_event("edge", "ada", 5);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    static const int64_t mad[] = {INT64_MIN, INT64_MAX, RUNG_TIME_MS_END, RUNG_TIME_MS_MIN - 1};
    for (size_t i = 0; i < sizeof mad / sizeof *mad; i++) {
        rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = mad[i]};
        CHECK_STATUS(rung_state_apply(s, &tick, NULL, NULL), RUNG_EINVAL);
        score.ts_ms = mad[i];
        score.score.id = RUNG_SLICE("01M6AV2Z0CKZ3EJQSH9PDA6WSS");
        CHECK_STATUS(rung_state_apply(s, &score, NULL, NULL), RUNG_EINVAL);
        CHECK_EQ_I64(rung_state_time(s), 1000000);
        score.ts_ms = 1000000;
        score.score.id = (rung_slice){0};
        score.score.has_at = true;
        score.score.at_ms = mad[i];
        CHECK_STATUS(rung_state_apply(s, &score, NULL, NULL), RUNG_EINVAL);
        rung_view v;
        CHECK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("edge"), .now_ms = mad[i]}, &v,
                              NULL) < 0);
    }
    static const int64_t edge[] = {RUNG_TIME_MS_END - 1, RUNG_TIME_MS_MIN};
    for (size_t i = 0; i < 2; i++) {
        score.score.at_ms = edge[i];
        score.score.values[0].i++;
        CHECK_OK(rung_state_apply(s, &score, NULL, NULL));
    }
    e.defined.def.day_starts_min = 60;
    e.ts_ms = RUNG_TIME_MS_END - 1;
    CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = RUNG_TIME_MS_END - 1};
    CHECK_STATUS(rung_state_apply(s, &tick, NULL, NULL),
                 RUNG_UNCHANGED); /* the last windows end a millisecond later */
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

/* ---- changes of zone, by hand: here the answers do not come from the model ---- */

static rung_slice zone_rules(const char *name, char *packed) {
    char path[128];
    size_t size;
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    rung_zone *zone = tzif_load(path);
    if (!zone)
        test_skip("the system has no time zone files");
    CHECK_OK(rung_zone_pack(zone, 946684800, packed, RUNG_ZONE_PACKED_MAX, &size));
    rung_zone_destroy(zone);
    return rung_slice_of(packed, size);
}

static int64_t instant(const char *text) {
    int64_t ms = 0;
    CHECK_OK(rung_time_parse(rung_slice_str(text), &ms, NULL));
    return ms;
}

TEST(a_change_of_zone_takes_hold_when_the_window_ends) {
    static const struct {
        rung_window_kind kind;
        const char *from, *to, *changed_at;  /* the zones, and the log time of the change */
        const char *at, *id, *starts, *ends; /* a submission then, and the window it must reach */
    } cases[] = {
        /* clang-format off */
        /* East to west, days: the same date goes on; before and behind it all is plain. */
        {RUNG_WINDOW_DAY, "Europe/Helsinki", "America/New_York", "2026-06-10T12:00:00Z",
         "2026-06-10T22:00:00Z", "2026-06-10", "2026-06-09T21:00:00Z", "2026-06-11T04:00:00Z"},
        {RUNG_WINDOW_DAY, "Europe/Helsinki", "America/New_York", "2026-06-10T12:00:00Z",
         "2026-06-11T04:00:00Z", "2026-06-11", "2026-06-11T04:00:00Z", "2026-06-12T04:00:00Z"},
        /* West to east: the next date is shorter. */
        {RUNG_WINDOW_DAY, "America/New_York", "Europe/Helsinki", "2026-06-10T12:00:00Z",
         "2026-06-11T04:00:00Z", "2026-06-11", "2026-06-11T04:00:00Z", "2026-06-11T21:00:00Z"},
        /* Hours would run back by seven: the one at hand goes on until New York is past it. */
        {RUNG_WINDOW_HOUR, "Europe/Helsinki", "America/New_York", "2026-06-10T12:30:00Z",
         "2026-06-10T19:59:59Z", "2026-06-10T15", "2026-06-10T12:00:00Z", "2026-06-10T20:00:00Z"},
        {RUNG_WINDOW_HOUR, "Europe/Helsinki", "America/New_York", "2026-06-10T12:30:00Z",
         "2026-06-10T20:00:00Z", "2026-06-10T16", "2026-06-10T20:00:00Z", "2026-06-10T21:00:00Z"},
        /* Into a zone that has no such hour, nor such a day: it goes on until there is a later one. */
        {RUNG_WINDOW_HOUR, "Australia/Lord_Howe", "Pacific/Apia", "2011-12-30T02:30:00Z",
         "2011-12-30T09:59:59Z", "2011-12-30T13", "2011-12-30T02:00:00Z", "2011-12-30T10:00:00Z"},
        {RUNG_WINDOW_HOUR, "Australia/Lord_Howe", "Pacific/Apia", "2011-12-30T02:30:00Z",
         "2011-12-30T10:00:00Z", "2011-12-31T00", "2011-12-30T10:00:00Z", "2011-12-30T11:00:00Z"},
        /* clang-format on */
    };
    static char from_rules[RUNG_ZONE_PACKED_MAX], to_rules[RUNG_ZONE_PACKED_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_state *s = new_state(&(history_taste){.id_capacity = 8}, 1);
        rung_board_def def = rung_board_def_default();
        def.windows = RUNG_WINDOWS_BIT(cases[i].kind);
        def.zone_name = rung_slice_str(cases[i].from);
        def.zone_rules = zone_rules(cases[i].from, from_rules);
        rung_event e = define_event("zones", def), score = score_event("zones", "ada", 5);
        e.ts_ms = score.ts_ms = instant(cases[i].changed_at);
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
        e.defined.def.zone_name = rung_slice_str(cases[i].to);
        e.defined.def.zone_rules = zone_rules(cases[i].to, to_rules);
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
        score.score.has_at = true;
        score.score.at_ms = instant(cases[i].at);
        CHECK_OK(rung_state_apply(s, &score, NULL, NULL));
        rung_window_info w;
        CHECK_EQ_U64(rung_state_windows(s, RUNG_SLICE("zones"), &w, 1), 1);
        CHECK_EQ_STR(w.id, cases[i].id);
        CHECK_EQ_I64(w.start_ms, instant(cases[i].starts));
        CHECK_EQ_I64(w.end_ms, instant(cases[i].ends));
        rung_state_destroy(s);
    }
}

RUNG_TEST_MAIN
