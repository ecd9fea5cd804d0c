/* SPDX-License-Identifier: Apache-2.0 */
/* A submission: check it, compute the new entry of every reached window, reserve all memory, then change everything.
 * Nothing changes before the last step that can fail. docs/boards.md fixes the order of the checks, because it
 * decides which refusal is reported. */
#include "state/score.h"
#include "state/decay.h"

#include "state/attribute.h"
#include "state/digest.h"
#include "state/ghost.h"
#include "state/judge.h"
#include "state/keyspace/commands.h"
#include "state/keyspace/set.h"
#include "state/lookahead.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <math.h>
#include <string.h>

typedef struct submission {
    rung_state *s;
    rung__board *b;
    const rung_score_event *e;
    const rung__prepared *prepared; /* NULL: nothing is known ahead of its turn */
    int64_t at_ms;
    uint32_t player; /* RUNG_PLAYER_NONE: not known yet */
    bool new_player;
    bool is_promoted; /* it was tentative: judged and counted before */
    bool is_ghost;    /* of a player who is banned in the shadow, and shown for the moment */
    uint32_t record;  /* of the id; RUNG__NONE: none */
    bool old_record;  /* the record is of the same id, too old to count */
    uint32_t count;   /* windows reached */
    uint32_t fresh;   /* of these, to be opened */
    uint32_t ahead;   /* of these, that begin after log time */
    /* The rate counts of a minute that begins with this submission; NULL: no rate limit. */
    rung_numbermap *new_minute;
    rung__reach *reached;
} submission;

/* ---- checks ---- */

/* What the sender called value `i`. */
static const char *value_field(const rung_score_event *e, uint32_t i) {
    return i ? "columns" : e->is_delta ? "delta" : "score";
}

rung_status rung__score_check(const rung__board *b, const rung_score_event *e, rung_err *err) {
    const rung_board_def *def = b->def;
    uint32_t expected = def->key.column_count;
    if (rung_update_is_rating(def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "update", "the board takes matches, not scores");
    if (def->update == RUNG_UPDATE_COUNT ? e->value_count > 1 : e->value_count != expected)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "the board takes %u values, got %u",
                               value_field(e, 0), expected, e->value_count);
    for (uint32_t i = 0; i < e->value_count; i++) {
        const rung_column *column = &def->key.columns[i];
        if (e->types[i] != column->type ||
            (column->type == RUNG_SCORE_DECIMAL && e->decimals[i] != column->decimals))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "not of the board's type",
                                   value_field(e, i));
        if (column->type != RUNG_SCORE_REAL)
            continue;
        if (isnan(e->values[i].d))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "not a number", value_field(e, i));
        if (isinf(e->values[i].d) && def->update == RUNG_UPDATE_SUM)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "infinite", value_field(e, i));
    }
    if (e->id.len > RUNG_EVENT_ID_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id", "longer than %d bytes", RUNG_EVENT_ID_MAX);
    if (e->player.len < 1 || e->player.len > RUNG_PLAYER_ID_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "player", "must have 1 to %d bytes",
                               RUNG_PLAYER_ID_MAX);
    return RUNG_OK;
}

/* ---- which windows ---- */

/* Where the windows that a submission reaches are noted. */
typedef struct reaching {
    rung_state *s;
    rung__board *b;
    int64_t at_ms;
    rung__reach *next;
} reaching;

static void reach_window(reaching *to, uint32_t kind, const rung_window *span, rung_slice season,
                         rung__window *w) {
    if (!rung__window_takes_scores(to->s, to->b, span->end_ms, w))
        return;
    rung__reach *r = to->next++;
    r->window = w;
    r->fresh = false;
    if (w)
        return;
    r->kind = kind;
    r->span = *span;
    r->season = season;
}

static void reach_calendar(reaching *to, uint32_t kind) {
    rung__board *b = to->b;
    rung__window *w = b->current[kind];
    rung_window span;
    if (w && to->at_ms >= w->start_ms && to->at_ms < w->end_ms) {
        span = (rung_window){w->ordinal, w->start_ms, w->end_ms};
    } else {
        if (rung__window_at(b, kind, to->at_ms, &span) != RUNG_OK)
            return;
        w = rung__window_find(b, kind, span.ordinal, (rung_slice){NULL, 0});
        if (w && !w->closed)
            b->current[kind] = w;
    }
    reach_window(to, kind, &span, (rung_slice){NULL, 0}, w);
}

uint32_t rung__reach_windows(rung_state *s, rung__board *b, int64_t at_ms, rung__reach *reached) {
    static const uint8_t order[] = {RUNG_WINDOW_YEAR, RUNG_WINDOW_MONTH, RUNG_WINDOW_WEEK,
                                    RUNG_WINDOW_DAY, RUNG_WINDOW_HOUR};
    reaching to = {s, b, at_ms, reached};
    if (b->def->windows & RUNG_WINDOWS_ALL) {
        if (!b->current[0])
            b->current[0] = rung__window_find(b, 0, 0, (rung_slice){NULL, 0});
        reach_window(&to, 0, &(rung_window){0, INT64_MIN, INT64_MAX}, (rung_slice){NULL, 0},
                     b->current[0]);
    }
    for (size_t i = 0; i < sizeof order; i++)
        if (b->def->windows & RUNG_WINDOWS_BIT(order[i]))
            reach_calendar(&to, order[i]);
    for (uint32_t i = 0; i < b->def->season_count; i++) {
        const rung_season *season = &b->def->seasons[i];
        rung_window span = rung__season_span(season);
        if (at_ms < season->starts_ms || at_ms >= season->ends_ms)
            continue;
        reach_window(&to, RUNG_WINDOW_SEASON, &span, season->name,
                     rung__window_find(b, RUNG_WINDOW_SEASON, 0, season->name));
    }
    return (uint32_t)(to.next - reached);
}

/* ---- what the entry becomes ---- */

static rung_status add_value(const rung_column *column, rung_value a, rung_value b,
                             rung_value *out) {
    if (column->type == RUNG_SCORE_REAL) {
        out->d = a.d + b.d;
        return isnan(out->d) ? RUNG_ERANGE : RUNG_OK;
    }
    return __builtin_add_overflow(a.i, b.i, &out->i) ? RUNG_ERANGE : RUNG_OK;
}

/* <0 when tuple a is better. */
static int compare_tuples(const rung_keyspec *key, const rung_value *a, const rung_value *b) {
    for (unsigned i = 0; i < key->column_count; i++) {
        int c = rung_score_compare(&key->columns[i], a[i], b[i]);
        if (c)
            return c;
    }
    return 0;
}

/* `at_ms`: of the submission; `later_ms`: kept with the entry. */
static rung_status become_decayed(const rung__board *b, const rung_score_event *e, int64_t at_ms,
                                  int64_t later_ms, rung__reach *r) {
    uint64_t weight;
    rung_status st =
        rung__decay_weight(e->values[0].d, at_ms, b->created_ms, b->def->half_life_ms, &weight);
    if (st < 0)
        return st;
    rung_value none = {.d = 0};
    st = rung_keyspec_encode(&b->def->key, &none, later_ms, r->key);
    r->key[0] = ~rung__decay_add(weight, r->existed ? ~r->old_key[0] : 0);
    r->candidate = e->values[0];
    return st;
}

static bool is_summed(const rung__board *b, const rung_score_event *e) {
    rung_update update = b->def->update;
    return update == RUNG_UPDATE_SUM || update == RUNG_UPDATE_COUNT || e->is_delta;
}

/* The key is the score alone. */
static rung_status become_single(const rung__board *b, const rung_score_event *e, rung__reach *r) {
    const rung_column *column = &b->def->key.columns[0];
    rung_update update = b->def->update;
    rung_value next = update == RUNG_UPDATE_COUNT ? (rung_value){.i = 1} : e->values[0];
    if (r->existed && is_summed(b, e) &&
        add_value(column, rung_score_decode(column, r->old_key[0]), next, &next) < 0)
        return RUNG_ERANGE;
    memset(r->key, 0, sizeof r->key);
    r->candidate = next;
    rung_status st = rung_score_encode(column, next, &r->key[0]);
    if (update == RUNG_UPDATE_BEST && r->existed && r->old_key[0] < r->key[0])
        r->key[0] = r->old_key[0];
    return st;
}

rung_status rung__score_become(const rung__board *b, const rung_score_event *e, int64_t at_ms,
                               rung__reach *r) {
    const rung_keyspec *spec = &b->def->key;
    if (rung_keyspec_words(spec) == 1 && b->def->update != RUNG_UPDATE_DECAY)
        return become_single(b, e, r);
    rung_value old[RUNG_COLUMNS_MAX] = {{0}}, next[RUNG_COLUMNS_MAX];
    int64_t old_at = 0, at = at_ms;
    if (r->existed)
        rung_keyspec_decode(spec, r->old_key, old, &old_at);
    rung_update update = b->def->update;
    int64_t later = r->existed && old_at > at ? old_at : at;
    if (update == RUNG_UPDATE_DECAY)
        return become_decayed(b, e, at_ms, later, r);
    for (unsigned i = 0; i < spec->column_count; i++) {
        next[i] = update == RUNG_UPDATE_COUNT ? (rung_value){.i = 1} : e->values[i];
        if (is_summed(b, e) && r->existed &&
            add_value(&spec->columns[i], old[i], next[i], &next[i]) < 0)
            return RUNG_ERANGE;
    }
    r->candidate = next[0];
    if (update == RUNG_UPDATE_BEST && r->existed) {
        int c = compare_tuples(spec, next, old);
        if (c > 0 || (c == 0 && at >= old_at)) {
            memcpy(r->key, r->old_key, sizeof r->key);
            return RUNG_OK;
        }
    } else if (update == RUNG_UPDATE_LAST && !e->is_delta) {
        if (r->existed && rung_tie_keeps_time(spec->tie) && at < old_at) {
            memcpy(r->key, r->old_key, sizeof r->key);
            return RUNG_OK;
        }
    } else if (update != RUNG_UPDATE_BEST) {
        at = later;
    }
    return rung_keyspec_encode(spec, next, at, r->key);
}

static rung_status find_and_become(const submission *u, rung__reach *r) {
    rung_ladder_entry entry;
    r->existed = r->window && u->player != RUNG_PLAYER_NONE &&
                 rung_ladder_find(r->window->ladder, u->player, &entry) == RUNG_OK;
    if (r->existed)
        memcpy(r->old_key, entry.key, sizeof r->old_key);
    return rung__score_become(u->b, u->e, u->at_ms, r);
}

/* Does the entry become another one? */
static bool moves(const submission *u, const rung__reach *r) {
    return memcmp(r->key, r->old_key, rung_keyspec_words(&u->b->def->key) * sizeof *r->key) != 0;
}

/* The rank that the new entry would have in the first window reached. */
static uint32_t rank_in(const submission *u, rung_rank_style style) {
    const rung__reach *r = &u->reached[0];
    uint32_t rank = 1;
    if (!r->window)
        return 1;
    if (r->existed && !moves(u, r)) {
        rung_ignore(rung_ladder_rank(r->window->ladder, u->player, style, &rank), "it is there");
        return rank;
    }
    rank = rung_ladder_rank_of_key(r->window->ladder, r->key, style);
    /* The player's own old entry, if it is above, leaves its place. */
    return rank - (r->existed && style != RUNG_RANK_DENSE &&
                   memcmp(r->old_key, r->key, sizeof r->key) != 0 &&
                   rung_ladder_rank_of_key(r->window->ladder, r->old_key, style) < rank);
}

/* ---- limits ---- */

static bool less(const rung_column *column, rung_value a, rung_value b) {
    return column->type == RUNG_SCORE_REAL ? a.d < b.d : a.i < b.i;
}

static bool minute_is_new(const submission *u) {
    return u->b->rate_minute != u->s->time_ms / 60000;
}

static rung__case case_of(const submission *u) {
    return (rung__case){u->s, u->b, u->e, u->player, &u->reached[0], u->s->time_ms};
}

static uint32_t rank_of(const submission *u) {
    return rank_in(u, u->b->def->rank);
}

/* Would the submission enter the first places that the definition's `review` names? Then add the finding. */
static uint32_t judge_top(const submission *u, uint32_t n, rung_finding *findings) {
    const rung_board_def *def = u->b->def;
    const rung__reach *r = &u->reached[0];
    if (def->review != RUNG_REVIEW_TOP || (r->existed && !moves(u, r)))
        return n;
    uint32_t rank = rank_of(u);
    if (rank > def->review_top)
        return n;
    findings[n] =
        (rung_finding){RUNG_RULE_TOP, RUNG_ACTION_REVIEW, {.i = rank}, {.i = def->review_top}};
    return n + 1;
}

/* Every rule that it breaks. */
static uint32_t find_all(const submission *u, const rung__case *c, rung_finding *findings) {
    uint32_t n = u->b->def->rule_count ? rung__judge_rules(c, findings) : 0;
    for (uint32_t i = 0; i < n && u->b->def->review == RUNG_REVIEW_ANOMALIES; i++)
        if (findings[i].action == RUNG_ACTION_FLAG)
            findings[i].action = RUNG_ACTION_REVIEW;
    return judge_top(u, n, findings);
}

static bool needs_review(uint32_t n, const rung_finding *findings) {
    for (uint32_t i = 0; i < n; i++)
        if (findings[i].action == RUNG_ACTION_REVIEW)
            return true;
    return false;
}

/* The limit or rule that refuses; otherwise `out` has those that do not. */
static rung_rule judge(const submission *u, rung_outcome *out) {
    rung__case c = case_of(u);
    rung_finding findings[RUNG_FINDINGS_MAX];
    rung_rule rule = u->b->def->limits ? rung__judge_limits(&c, &out->limit) : RUNG_RULE_NONE;
    uint32_t n = rule ? 0 : find_all(u, &c, findings);
    for (uint32_t i = 0; i < n && !rule; i++)
        if (findings[i].action == RUNG_ACTION_REFUSE) {
            out->limit = findings[i].limit;
            rule = findings[i].rule;
        }
    for (uint32_t i = 0; i < n && !rule; i++)
        out->findings[out->finding_count++] = findings[i];
    return rule;
}

rung_digest rung__rate_digest(const rung__board *b, uint32_t player, uint32_t count) {
    uint64_t words[2] = {(uint64_t)b->rate_minute, count};
    return rung__fact_digest(RUNG__FACT_RATE, b->serial, player, words, 2);
}

static rung_status secure_rate(submission *u) {
    if (!u->new_minute)
        return RUNG_OK;
    if (minute_is_new(u))
        return rung_numbermap_reserve(u->new_minute, u->s->alloc, u->player);
    if (rung_numbermap_get(&u->b->rate, u->player) != RUNG_NUMBER_NONE)
        return RUNG_OK;
    return rung_numbermap_reserve(&u->b->rate, u->s->alloc, u->player);
}

static void count_rate(submission *u) {
    rung__board *b = u->b;
    if (!u->new_minute)
        return;
    if (minute_is_new(u)) { /* nobody's old count matters any more */
        rung_numbermap_deinit(&b->rate, u->s->alloc);
        rung__digest_subtract(&u->s->digest, b->rate_digest);
        b->rate = *u->new_minute;
        b->rate_digest = (rung_digest){0, 0};
        b->rate_minute = u->s->time_ms / 60000;
    }
    uint32_t so_far = rung_numbermap_get(&b->rate, u->player);
    rung_digest fact = {0, 0};
    if (so_far != RUNG_NUMBER_NONE)
        rung__digest_subtract(&fact, rung__rate_digest(b, u->player, so_far));
    else
        so_far = 0;
    rung_numbermap_set(&b->rate, u->player, so_far + 1);
    rung__digest_add(&fact, rung__rate_digest(b, u->player, so_far + 1));
    rung__digest_add(&b->rate_digest, fact);
    rung__digest_add(&u->s->digest, fact);
}

/* ---- memory ---- */

/* Undo what secure() did that shows. */
static void release(submission *u) {
    for (uint32_t i = 0; i < u->count; i++)
        if (u->reached[i].fresh)
            rung__window_free(u->s, u->b, u->reached[i].window);
    if (u->new_minute)
        rung_numbermap_deinit(u->new_minute, u->s->alloc);
    if (u->record != RUNG__NONE && !u->old_record)
        rung__ids_unclaim(u->s, u->record);
    if (u->new_player) {
        rung__forget_player(u->s, u->player);
    }
}

/* Reserve what even a tentative score needs. */
static rung_status secure_sender(submission *u) {
    rung_state *s = u->s;
    if (u->player == RUNG_PLAYER_NONE) {
        rung_status st = rung__intern_player(s, u->e->player, &u->player);
        if (st < 0)
            return st;
        u->new_player = true;
    }
    if (u->e->id.len && rung__ids_claim(s, u->b, u->e->id, &u->record, &u->old_record) < 0) {
        u->record = RUNG__NONE;
        return RUNG_ENOMEM;
    }
    if (rung_board_needs_form(u->b->def) && rung__form_secure(s, u->b, u->player) < 0)
        return RUNG_ENOMEM;
    return secure_rate(u);
}

/* Reserve everything the change may need, including new windows. Exception: without scopes, the first window's put is
 * not reserved; it comes first and may fail. */
static rung_status secure(submission *u) {
    rung_state *s = u->s;
    rung_status st = secure_sender(u);
    if (st < 0)
        return st;
    if (u->fresh && rung__window_list_reserve(s, u->b, u->fresh) < 0)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        if (!r->window) {
            r->window = rung__window_new(s, u->b, r->kind, &r->span, r->season);
            if (!r->window)
                return RUNG_ENOMEM;
            r->fresh = true;
        }
        if (u->b->scope_count == 0 && i == 0)
            continue;
        if (rung__ranking_secure(s, u->b, r->window, u->player, !r->existed) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

/* ---- the answer ---- */

static inline void set_types(const rung__board *b, rung_outcome *out) {
    const rung_keyspec *key = &b->def->key;
    out->value_count = key->column_count;
    for (uint32_t i = 0; i < key->column_count; i++)
        out->types[i] = (uint8_t)(key->columns[i].type | key->columns[i].decimals << 4);
}

static void answer(const submission *u, const rung_ladder_change *change, rung_outcome *out) {
    const rung__board *b = u->b;
    const rung__reach *first = &u->reached[0];
    const rung_ladder *ladder = first->window->ladder;
    uint32_t total = rung_ladder_count(ladder), sparse = change->rank_after;
    int64_t now = u->s->time_ms;
    set_types(b, out);
    rung__key_values(b, first->key, now, out->values, NULL);
    out->is_new = !change->existed;
    out->next_number = RUNG__NONE;
    if (change->is_brief)
        return;
    if (change->style != RUNG_RANK_SPARSE)
        rung_ignore(rung_ladder_rank(ladder, u->player, RUNG_RANK_SPARSE, &sparse), "just put");
    out->rank_before = change->rank_before;
    out->rank = change->rank_after;
    out->total = total;
    out->percentile = 100.0 * (double)(total - sparse + 1) / (double)total;
    if (!change->existed)
        out->passed = total - change->index_after - 1;
    else if (change->index_before > change->index_after)
        out->passed = change->index_before - change->index_after;
    out->has_next = change->has_above;
    if (!change->has_above)
        return;
    rung_value above[RUNG_COLUMNS_MAX];
    rung__key_values(b, change->above.key, now, above, NULL);
    out->next_number = change->above.player;
    if (!u->prepared) /* in a run, names are looked up at the end, in bulk */
        out->next = rung_names_id(u->s->players, change->above.player);
    if (b->def->key.columns[0].type == RUNG_SCORE_REAL) {
        out->gap.d = above[0].d == out->values[0].d
                         ? 0
                         : fabs(above[0].d - out->values[0].d); /* two infinities too */
    } else {
        rung__wide gap = (rung__wide)above[0].i - out->values[0].i;
        gap = gap < 0 ? -gap : gap;
        out->gap.i = gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
    }
}

static rung__descents descents_for(const submission *u, uint32_t i) {
    const rung__prepared *p = u->prepared;
    if (!p || u->reached != p->reached)
        return (rung__descents){0};
    return (rung__descents){&p->descents[i], p->slots[i], p->slot_count};
}

/* `is_moved`: the entry is another one now. */
static void note_form(const submission *u, bool is_moved) {
    rung__case c = case_of(u);
    bool learns = u->b->def->update != RUNG_UPDATE_COUNT;
    if (!u->is_promoted)
        rung__form_note(u->s, u->b, u->player, rung__judged_score(&c), learns);
    else if (learns)
        rung__form_learn(u->s, u->b, u->player, rung__judged_score(&c), is_moved);
}

/* Change everything. Only the very first put can fail, and then nothing has changed. */
static rung_status commit(submission *u, rung_outcome *out) {
    rung_status any = RUNG_UNCHANGED;
    bool brief = rung__is_brief(u->s, u->e), fresh = false;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        rung_ladder_change change; /* the put fills the remaining fields that are needed */
        change.style = u->b->def->rank;
        change.is_brief = brief;
        rung__descents descents = descents_for(u, i);
        rung_status st =
            rung__ranking_put(u->s, u->b, r->window, u->player, r->existed ? r->old_key : NULL,
                              r->key, &descents, &change);
        if (st < 0)
            return st;
        if (st == RUNG_OK)
            any = RUNG_OK;
        fresh |= r->fresh;
        if (i == 0)
            answer(u, &change, out);
        if (i < RUNG_OUTCOME_WINDOWS_MAX && !brief)
            out->windows[out->window_count++] =
                (rung_window_outcome){r->window->kind,
                                      r->window->ordinal,
                                      r->window->season,
                                      st == RUNG_OK,
                                      change.rank_before,
                                      change.rank_after,
                                      rung_ladder_count(r->window->ladder)};
        if (u->s->on_change)
            rung__tell_entry(u->s, u->b, r->window, u->player, r->key, &change, st == RUNG_OK);
    }
    for (uint32_t i = 0; fresh && i < u->count; i++)
        if (u->reached[i].fresh) {
            rung__window_list_add(u->s, u->b, u->reached[i].window);
            if (u->reached[i].kind != RUNG_WINDOW_SEASON)
                u->b->current[u->reached[i].kind] = u->reached[i].window;
        }
    out->changed = any == RUNG_OK;
    count_rate(u);
    if (rung_board_needs_form(u->b->def))
        note_form(u, any == RUNG_OK);
    if (u->record != RUNG__NONE)
        rung__ids_remember(u->s, u->b, u->record, u->old_record, u->e, out);
    return any;
}

/* ---- scores that name a key ---- */

/* A real value as one of the board's type, exactly. */
static rung_status convert_value(const rung__board *b, const rung_score_event *e,
                                 rung_score_event *own, rung_err *err) {
    const rung_column *column = &b->def->key.columns[0];
    double value = e->values[0].d;
    *own = *e;
    for (unsigned i = 0; i < column->decimals; i++)
        value *= 10;
    if (!(value >= -9007199254740992.0 && value <= 9007199254740992.0) || value != rint(value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "not exact in the board's type",
                               value_field(e, 0));
    own->values[0].i = (int64_t)value;
    own->types[0] = (uint8_t)column->type;
    own->decimals[0] = (uint8_t)column->decimals;
    return RUNG_OK;
}

static bool needs_conversion(const rung__board *b, const rung_score_event *e) {
    return e->when && e->value_count == 1 && e->types[0] == RUNG_SCORE_REAL &&
           b->def->key.columns[0].type != RUNG_SCORE_REAL;
}

/* Does a condition prevent the submission? It applies to the first window reached. */
static bool is_held(const submission *u) {
    const rung__reach *first = &u->reached[0];
    const rung_column *column = &u->b->def->key.columns[0];
    unsigned when = u->e->when;
    if (!first->existed)
        return when & RUNG_IF_XX;
    if (when & RUNG_IF_NX)
        return true;
    rung_value old[RUNG_COLUMNS_MAX];
    rung__key_values(u->b, first->old_key, u->s->time_ms, old, NULL);
    return (when & RUNG_IF_GT && !less(column, old[0], first->candidate)) ||
           (when & RUNG_IF_LT && !less(column, first->candidate, old[0]));
}

static rung_status hold(const submission *u, rung_outcome *out) {
    const rung__reach *first = &u->reached[0];
    out->held = true;
    if (first->existed) {
        set_types(u->b, out);
        rung__key_values(u->b, first->old_key, u->s->time_ms, out->values, NULL);
    }
    return RUNG_UNCHANGED;
}

/* ---- all steps ---- */

/* Was the id seen before? RUNG_OK: no. */
static rung_status check_id(const submission *u, rung_outcome *out, rung_err *err) {
    rung_status st = rung__ids_look(u->s, u->b, u->e, out);
    if (st == RUNG_ECONFLICT)
        return RUNG_FAIL_FIELD(err, st, "id", "seen before with a different body");
    if (st == RUNG_ESTALE)
        return RUNG_FAIL_FIELD(err, st, "id",
                               "its timestamp is too far from now to detect duplicates");
    if (st == RUNG_EFUTURE)
        return RUNG_FAIL_FIELD(err, st, "id", "its timestamp is more than a minute in the future");
    return st == RUNG_DUPLICATE ? st : RUNG_OK;
}

/* All checks that need no windows: player, values, time. RUNG_DUPLICATE: `out` has the first result. */
static rung_status check(submission *u, bool is_ready, rung_outcome *out, rung_err *err) {
    rung_state *s = u->s;
    const rung_score_event *e = u->e;
    rung_status st = is_ready ? RUNG_OK : rung__score_check(u->b, e, err);
    if (st < 0)
        return st;
    u->player = u->prepared ? u->prepared->player : RUNG_PLAYER_NONE;
    if (u->player == RUNG_PLAYER_NONE &&
        rung_names_find(s->players, e->player, &u->player) != RUNG_OK)
        u->player = RUNG_PLAYER_NONE;
    if (u->player != RUNG_PLAYER_NONE && !u->is_ghost &&
        rung_numbermap_get(&s->bans.map, u->player) != RUNG_NUMBER_NONE) {
        out->rule = RUNG_RULE_BANNED;
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "banned", "the player is banned");
    }
    st = e->id.len ? check_id(u, out, err) : RUNG_OK;
    if (st != RUNG_OK)
        return st;
    u->at_ms = e->has_at ? e->at_ms : s->time_ms;
    if (u->at_ms < RUNG_TIME_MS_MIN || u->at_ms >= RUNG_TIME_MS_END)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "at", "outside the years %d to %d", RUNG_YEAR_MIN,
                               RUNG_YEAR_MAX);
    return RUNG_OK;
}

/* Find the windows and compute the new entries, unless the look-ahead did. RUNG_UNCHANGED: a condition prevents the
 * submission, and `out` has the result. */
static rung_status reach(submission *u, rung_outcome *out, rung_err *err) {
    u->count = rung__reach_windows(u->s, u->b, u->at_ms, u->reached);
    if (u->count == 0) {
        out->rule = RUNG_RULE_WINDOW;
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "window",
                               "no window that contains the submission's time accepts scores");
    }
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        u->fresh += r->window == NULL;
        u->ahead += r->window == NULL && r->span.start_ms > u->s->time_ms;
        if (find_and_become(u, r) >= 0)
            continue;
        if (u->e->when & RUNG_IF_NX && u->reached[0].existed)
            return hold(u, out); /* what it would have become does not matter */
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s",
                               "the result would leave the range of the board's type",
                               value_field(u->e, 0));
    }
    return RUNG_OK;
}

static rung__review review_of(const submission *u, uint32_t finding_count) {
    const rung_score_event *e = u->e;
    const rung_board_def *def = u->b->def;
    rung__review r = {.board = u->b->number,
                      .player = u->player,
                      .ts_ms = u->s->time_ms,
                      .at_ms = u->at_ms,
                      .value_count = (uint8_t)e->value_count,
                      .score_type = (uint8_t)def->key.columns[0].type,
                      .score_decimals = (uint8_t)def->key.columns[0].decimals,
                      .outcome = (uint8_t)def->review_outcome,
                      .is_delta = e->is_delta,
                      .is_left_out = u->s->shadow_skip,
                      .finding_count = finding_count};
    r.expires_ms = r.ts_ms + (def->review_ms ? def->review_ms : RUNG_REVIEW_DEFAULT_MS);
    for (uint32_t i = 0; i < e->value_count; i++) {
        r.values[i] = e->values[i];
        r.types[i] = e->types[i];
        r.decimals[i] = e->decimals[i];
    }
    return r;
}

/* A rule asks for a review: the score waits. It counts as a submission of its player, but nobody learns from it. */
static rung_status hold_back(submission *u, rung_outcome *out, rung_err *err) {
    const rung__reach *first = &u->reached[0];
    rung_state *s = u->s;
    rung_status st = rung__reviews_admit(s, u->player, err);
    if (st < 0) {
        out->finding_count = 0;
        return st;
    }
    st = secure_sender(u);
    if (st >= 0)
        st = rung__reviews_secure(s, out->finding_count);
    if (st < 0) {
        u->count = 0; /* no window was opened */
        release(u);
        return st == RUNG_ELIMIT ? RUNG_FAIL_FIELD(err, st, "player", "player limit reached") : st;
    }
    rung__review r = review_of(u, out->finding_count);
    rung__review_add(s, &r, out->findings);
    set_types(u->b, out);
    rung__key_values(u->b, first->key, s->time_ms, out->values, NULL);
    out->is_new = false;
    out->tentative = true;
    out->review = r.id;
    out->rank = rank_of(u);
    out->total = first->window ? rung_ladder_count(first->window->ladder) : 0;
    if (first->existed)
        rung_ignore(
            rung_ladder_rank(first->window->ladder, u->player, u->b->def->rank, &out->rank_before),
            "it is there");
    count_rate(u);
    if (rung_board_needs_form(u->b->def))
        rung__form_note(s, u->b, u->player, (rung_value){0}, false);
    if (u->record != RUNG__NONE)
        rung__ids_remember(s, u->b, u->record, u->old_record, u->e, out);
    return RUNG_TENTATIVE;
}

/* ---- sketch boards ---- */

/* The ranking that one submission changes, and its fact. */
typedef struct target {
    rung__window *window;
    uint64_t place;
    rung__sketch *sketch;
} target;

static rung_status sketch_add_of(const submission *u, rung__sketch_add *add, rung_err *err) {
    const rung_board_def *def = u->b->def;
    const rung_value value = u->e->values[0];
    *add = (rung__sketch_add){.player = u->e->player, .weight = 1};
    if (def->sketch == RUNG_SKETCH_COUNTS && def->update == RUNG_UPDATE_SUM) {
        if (value.i < 1)
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s", "a counts board takes 1 and more",
                                   value_field(u->e, 0));
        add->weight = (uint64_t)value.i;
    }
    if (def->sketch != RUNG_SKETCH_PERCENTILE)
        return RUNG_OK;
    if (u->e->is_delta)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "delta",
                               "a percentile board has no score that it could be added to");
    return rung_score_encode(&def->key.columns[0], value, &add->key) < 0
               ? RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "not a number")
               : RUNG_OK;
}

/* All rankings reached, with NULL for those that have to be made. */
static uint32_t find_targets(const submission *u, target *targets, uint32_t *missing_out) {
    uint32_t n = 0, missing = 0, slots[RUNG__SCOPE_SLOTS + 1], values[RUNG__SCOPE_SLOTS + 1];
    rung__sketch *found[RUNG__SCOPE_SLOTS + 1];
    static const rung__window none;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__window *w = u->reached[i].window;
        uint32_t count =
            rung__sketches_of(u->s, u->b, w ? w : &none, u->player, slots, values, found);
        for (uint32_t k = 0; k < count; k++) {
            missing += found[k] == NULL;
            targets[n] = (target){w, k ? rung__sketch_place(slots[k], values[k]) : 0, found[k]};
            n++;
        }
    }
    *missing_out = missing;
    return n;
}

/* Take back rankings of scopes that nothing was added to. */
static void release_sketches(submission *u) {
    for (uint32_t i = 0; i < u->count; i++) {
        rung__window *w = u->reached[i].fresh ? NULL : u->reached[i].window;
        for (uint32_t slot = 0; w && slot < u->b->scope_count; slot++)
            for (uint32_t v = 0; v < w->scopes[slot].sketch_cap; v++) {
                rung__sketch **k = &w->scopes[slot].sketches[v];
                if (!*k || (*k)->submissions)
                    continue;
                rung__sketch_free(u->s, u->b, *k);
                *k = NULL;
            }
    }
    release(u);
}

static rung_status secure_sketches(submission *u) {
    rung_state *s = u->s;
    uint32_t slots[RUNG__SCOPE_SLOTS + 1], values[RUNG__SCOPE_SLOTS + 1];
    rung__sketch *found[RUNG__SCOPE_SLOTS + 1];
    if (u->e->id.len && rung__ids_claim(s, u->b, u->e->id, &u->record, &u->old_record) < 0) {
        u->record = RUNG__NONE;
        return RUNG_ENOMEM;
    }
    if (u->fresh && rung__window_list_reserve(s, u->b, u->fresh) < 0)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        if (!r->window) {
            r->window = rung__window_new(s, u->b, r->kind, &r->span, r->season);
            if (!r->window)
                return RUNG_ENOMEM;
            r->fresh = true;
        }
        uint32_t count = rung__sketches_of(s, u->b, r->window, u->player, slots, values, found);
        for (uint32_t k = 1; k < count; k++)
            if (!found[k] && rung__sketch_open_value(s, u->b, r->window, slots[k], values[k]) < 0)
                return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

static void answer_sketch(const submission *u, const rung__sketch *first,
                          const rung__sketch_add *add, rung_outcome *out) {
    set_types(u->b, out);
    out->values[0] = u->e->value_count ? u->e->values[0] : (rung_value){.i = 1};
    rung_hitter row;
    if (first->hitters && rung_hitters_find(first->hitters, add->player, &row) == RUNG_OK)
        out->values[0].i = (int64_t)row.count;
    out->next_number = RUNG__NONE;
    uint64_t total = rung__sketch_size(first);
    out->total = rung__sketch_size32(first);
    if (!first->quantiles || rung__is_brief(u->s, u->e))
        return;
    rung_rank_bounds better;
    rung_quantiles_below(first->quantiles, add->key, &better);
    out->rank = better.estimate < UINT32_MAX ? (uint32_t)better.estimate + 1 : UINT32_MAX;
    out->percentile = 100.0 * (double)(total - better.estimate) / (double)total;
}

static void commit_sketches(submission *u, const target *targets, uint32_t n,
                            const rung__sketch_add *add, rung_outcome *out) {
    rung_state *s = u->s;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        if (r->fresh) {
            rung__window_list_add(s, u->b, r->window);
            if (r->kind != RUNG_WINDOW_SEASON)
                u->b->current[r->kind] = r->window;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const target *t = &targets[i];
        rung_digest fact = rung__sketch_digest(t->window, t->place, t->sketch);
        bool is_known = t->place == 0 || t->sketch->submissions;
        bool is_new = rung__sketch_put(t->sketch, add);
        out->is_new |= is_new && i == 0;
        rung_digest change = rung__sketch_digest(t->window, t->place, t->sketch);
        if (is_known)
            rung__digest_subtract(&change, fact);
        rung__digest_add(&s->digest, change);
        rung__digest_add(&t->window->entries, change);
    }
    for (uint32_t i = 0; i < u->count && i < RUNG_OUTCOME_WINDOWS_MAX; i++) {
        const rung__window *w = u->reached[i].window;
        if (!rung__is_brief(s, u->e))
            out->windows[out->window_count++] =
                (rung_window_outcome){.kind = w->kind,
                                      .ordinal = w->ordinal,
                                      .season = w->season,
                                      .changed = true,
                                      .total = rung__sketch_size32(w->sketch)};
    }
    u->b->version = s->seq;
    out->changed = true;
    answer_sketch(u, u->reached[0].window->sketch, add, out);
    if (u->record != RUNG__NONE)
        rung__ids_remember(s, u->b, u->record, u->old_record, u->e, out);
}

static rung_status reach_sketches(submission *u, const rung__sketch_add *add, rung_outcome *out,
                                  rung_err *err) {
    target targets[RUNG__REACH_MAX * (RUNG__SCOPE_SLOTS + 1)];
    uint32_t missing;
    u->count = rung__reach_windows(u->s, u->b, u->at_ms, u->reached);
    if (u->count == 0) {
        out->rule = RUNG_RULE_WINDOW;
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "window",
                               "no window that contains the submission's time accepts scores");
    }
    for (uint32_t i = 0; i < u->count; i++) {
        const rung__reach *r = &u->reached[i];
        u->fresh += r->window == NULL;
        u->ahead += r->window == NULL && r->span.start_ms > u->s->time_ms;
    }
    if (u->fresh && !rung__window_may_open(u->s, u->b, u->fresh, u->ahead))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "window", "window limit of the board reached");
    uint32_t n = find_targets(u, targets, &missing);
    for (uint32_t i = 0; i < n; i++)
        if (targets[i].sketch && rung__sketch_is_full(targets[i].sketch, add))
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s", "the total would be out of range",
                                   value_field(u->e, 0));
    if (missing && !rung__sketch_has_room(u->b, missing))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "memory",
                               "a sketch board has at most %d rankings and %llu MiB in them",
                               RUNG__SKETCHES_MAX,
                               (unsigned long long)(RUNG__SKETCH_BYTES_MAX >> 20));
    return RUNG_OK;
}

/* Nobody is interned, and nothing is judged: every submission counts. */
static rung_status submit_to_sketch(submission *u, rung_outcome *out, rung_err *err) {
    rung__reach room[RUNG__REACH_MAX];
    target targets[RUNG__REACH_MAX * (RUNG__SCOPE_SLOTS + 1)];
    rung__sketch_add add;
    uint32_t missing;
    u->b->submissions++;
    rung_status st = check(u, false, out, err);
    if (st != RUNG_OK)
        return st;
    u->reached = room;
    st = sketch_add_of(u, &add, err);
    if (st >= 0)
        st = reach_sketches(u, &add, out, err);
    if (st < 0)
        return st;
    st = secure_sketches(u);
    if (st < 0) {
        release_sketches(u);
        return st;
    }
    uint32_t n = find_targets(u, targets, &missing);
    commit_sketches(u, targets, n, &add, out);
    return RUNG_OK;
}

static rung_status submit_shown(submission *u, rung_outcome *out, rung_err *err) {
    const rung__prepared *p = u->prepared;
    rung__reach room[RUNG__REACH_MAX];
    rung_numbermap minute;
    bool is_ready = p && p->is_ready && p->time_ms == u->s->time_ms && p->serial == u->b->serial;
    u->b->submissions++;
    if (u->b->def->limits & RUNG_LIMIT_RATE && !u->is_promoted) {
        memset(&minute, 0, sizeof minute);
        u->new_minute = &minute;
    }
    rung_status st = check(u, is_ready, out, err);
    if (st != RUNG_OK)
        return st;
    if (is_ready) { /* all windows exist, so nothing will be written there */
        u->reached = (rung__reach *)(uintptr_t)p->reached;
        u->count = p->count;
    } else {
        u->reached = room;
        st = reach(u, out, err);
        if (st != RUNG_OK)
            return st;
    }
    if (u->e->when & RUNG_IF_MASK && is_held(u))
        return hold(u, out);
    bool is_judged = u->b->def->limits || u->b->def->rule_count || u->b->def->review;
    if (is_judged && !u->is_promoted && (out->rule = (uint8_t)judge(u, out))) {
        set_types(u->b, out);
        out->value_count = 0;
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "%s", "the board's limit refuses this score",
                               rung_rule_words[out->rule]);
    }
    if (needs_review(out->finding_count, out->findings) && !u->b->twin)
        return hold_back(u, out, err);
    if (u->fresh && !rung__window_may_open(u->s, u->b, u->fresh, u->ahead))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "window", "window limit of the board reached");
    st = secure(u);
    if (st >= 0)
        st = commit(u, out);
    if (st < 0) {
        release(u);
        if (st == RUNG_ELIMIT)
            return RUNG_FAIL_FIELD(err, st, "player", "player limit reached");
    }
    return st;
}

static rung_status submit(submission *u, rung_outcome *out, rung_err *err) {
    if (u->b->def->sketch) /* where a ban of any kind refuses: nothing could be shown to the player alone */
        return submit_to_sketch(u, out, err);
    uint32_t player = u->s->shadow_bans ? rung__ghost_find(u->s, u->e->player) : RUNG__NONE;
    rung__ghost ghost;
    if (player == RUNG__NONE)
        return submit_shown(u, out, err);
    if (rung__ghost_begin(u->s, u->b, player, &ghost) < 0)
        return RUNG_ENOMEM;
    u->is_ghost = true;
    u->prepared = NULL; /* it was prepared without the entries */
    rung_status st = submit_shown(u, out, err);
    rung__ghost_end(u->s, &ghost, st >= 0);
    return st;
}

static rung_status apply(rung_state *s, const rung_score_event *e, const rung__prepared *prepared,
                         rung_outcome *out, rung_err *err) {
    submission u = {.s = s, .e = e, .prepared = prepared, .record = RUNG__NONE};
    rung_score_event own;
    u.b = rung__board_find(s, e->board);
    if (!e->when)
        return u.b ? submit(&u, out, err)
                   : RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    bool made = !u.b;
    if (u.b && u.b->def->sketch)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "key", "it holds a sketch");
    if (made && rung__set_find(s, e->board))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "key", "it holds a set");
    if (made && e->when & RUNG_IF_XX) {
        out->held = true;
        return RUNG_UNCHANGED;
    }
    rung_status st = made ? rung__zset_make(s, e->board, &u.b, err) : RUNG_OK;
    if (st >= 0 && needs_conversion(u.b, e)) {
        st = convert_value(u.b, e, &own, err);
        u.e = &own;
    }
    if (st < 0)
        return st;
    st = submit(&u, out, err);
    if (st < 0 && made)
        rung__board_delete(s, u.b);
    return st;
}

/* ---- dry runs ---- */

void rung_state_judge(const rung_state *s, const rung_score_event *e, int64_t now_ms,
                      rung_judgement *out, rung_err *err) {
    rung__reach room[RUNG__REACH_MAX];
    rung_outcome first;
    /* Only caches of the board are written. */
    submission u = {.s = (rung_state *)(uintptr_t)s, .e = e, .record = RUNG__NONE, .reached = room};
    memset(out, 0, sizeof *out);
    memset(&first, 0, offsetof(rung_outcome, windows));
    u.b = rung__board_find(s, e->board);
    out->status = u.b ? check(&u, false, &first, err)
                      : RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (out->status == RUNG_OK && u.b->def->sketch) {
        rung__sketch_add add;
        out->status = sketch_add_of(&u, &add, err);
        if (out->status >= 0)
            out->status = reach_sketches(&u, &add, &first, err);
        out->rule = first.rule;
        return;
    }
    if (out->status == RUNG_OK)
        out->status = reach(&u, &first, err);
    out->rule = first.rule;
    if (out->status != RUNG_OK)
        return;
    rung__case c = case_of(&u);
    c.now_ms = now_ms > c.now_ms ? now_ms : c.now_ms;
    out->rule = u.b->def->limits ? (uint8_t)rung__judge_limits(&c, &out->limit) : RUNG_RULE_NONE;
    out->finding_count = find_all(&u, &c, out->findings);
    for (uint32_t i = 0; i < out->finding_count && !out->rule; i++)
        if (out->findings[i].action == RUNG_ACTION_REFUSE) {
            out->rule = out->findings[i].rule;
            out->limit = out->findings[i].limit;
        }
    if (!out->rule && needs_review(out->finding_count, out->findings)) {
        out->tentative = true;
        out->status = rung__reviews_admit(s, u.player, err);
    }
    if (out->rule)
        out->status =
            RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "%s", "the board's limit refuses this score",
                            rung_rule_words[out->rule]);
    else if (out->status >= 0)
        out->rank = rank_of(&u);
}

/* One effect per offset of a source. A refused one may come again, since its sender may not have heard of it. */
__attribute__((noinline)) static rung_status apply_of_source(rung_state *s,
                                                             const rung_score_event *e,
                                                             const rung__prepared *prepared,
                                                             rung_outcome *out, rung_err *err) {
    uint32_t number;
    if (rung__source_has(s, e->source, e->offset)) {
        out->duplicate = true;
        out->seq = s->seq;
        return RUNG_DUPLICATE;
    }
    rung_status claimed = rung__source_claim(s, e->source, &number);
    if (claimed == RUNG_ELIMIT)
        return RUNG_FAIL_FIELD(err, claimed, "source", "at most %d sources", RUNG__SOURCES_MAX);
    if (claimed < 0)
        return claimed;
    rung_status st = apply(s, e, prepared, out, err);
    if (st >= 0)
        rung__source_mark(s, number, e->offset);
    else if (claimed == RUNG_OK)
        rung__source_unclaim(s, number);
    return st;
}

rung_status rung__apply_score(rung_state *s, const rung_score_event *e,
                              const rung__prepared *prepared, rung_outcome *out, rung_err *err) {
    /* A signature that is refused has no effect on a shadow either. */
    rung_status st = e->session.len ? rung_state_check_signed(s, e, s->time_ms, err) : RUNG_OK;
    if (st < 0)
        return st;
    st =
        e->source.len ? apply_of_source(s, e, prepared, out, err) : apply(s, e, prepared, out, err);
    if (e->session.len && st >= 0)
        rung__session_use(s, e);
    return s->shadow_count ? rung__shadow_score(s, e, st) : st;
}

/* ---- scores that a shadow gets ---- */

static rung_status scale(int64_t *value, unsigned from, unsigned to) {
    for (; from < to; from++)
        if (__builtin_mul_overflow(*value, 10, value))
            return RUNG_ERANGE;
    for (; from > to; from--) {
        if (*value % 10)
            return RUNG_ERANGE;
        *value /= 10;
    }
    return RUNG_OK;
}

/* Value `i` as one of the column's type. From and to a real by the nearest double, otherwise exactly. */
static rung_status adapt_value(const rung_column *column, rung_score_event *e, uint32_t i) {
    rung_value *v = &e->values[i];
    unsigned from = e->types[i] == RUNG_SCORE_DECIMAL ? e->decimals[i] : 0,
             to = column->type == RUNG_SCORE_DECIMAL ? column->decimals : 0;
    double power = 1;
    rung_status st = RUNG_OK;
    if (e->types[i] == RUNG_SCORE_REAL && column->type != RUNG_SCORE_REAL) {
        while (to--)
            power *= 10;
        double d = rint(v->d * power);
        if (!(d >= -9007199254740992.0 && d <= 9007199254740992.0) || d / power != v->d)
            return RUNG_ERANGE;
        v->i = (int64_t)d;
    } else if (e->types[i] != RUNG_SCORE_REAL && column->type == RUNG_SCORE_REAL) {
        while (from--)
            power *= 10;
        v->d = (double)v->i / power;
    } else if (column->type != RUNG_SCORE_REAL) {
        st = scale(&v->i, from, to);
    }
    e->types[i] = (uint8_t)column->type;
    e->decimals[i] = (uint8_t)(column->type == RUNG_SCORE_DECIMAL ? column->decimals : 0);
    return st;
}

static rung_status adapt(const rung__board *b, rung_score_event *e) {
    const rung_keyspec *key = &b->def->key;
    if (e->value_count > key->column_count)
        e->value_count = key->column_count;
    if (b->def->update == RUNG_UPDATE_COUNT)
        e->value_count = 0;
    for (uint32_t i = 0; i < e->value_count; i++)
        if (adapt_value(&key->columns[i], e, i) < 0)
            return RUNG_ERANGE;
    return RUNG_OK;
}

bool rung__score_would(const rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                       const rung_score_event *e, rung_rank_style style, rung__reach *r_out,
                       uint32_t *rank_out) {
    rung_score_event own = *e;
    submission u = {.s = (rung_state *)(uintptr_t)s, /* only read */
                    .b = b,
                    .e = &own,
                    .at_ms = e->at_ms,
                    .player = player,
                    .reached = r_out};
    *r_out = (rung__reach){.window = w};
    if (adapt(b, &own) < 0 || find_and_become(&u, r_out) < 0 ||
        (r_out->existed && !moves(&u, r_out)))
        return false;
    *rank_out = rank_in(&u, style);
    return true;
}

rung_status rung__score_promote(rung_state *s, rung__board *b, const rung_score_event *e,
                                rung_err *err) {
    rung_score_event own = *e;
    rung_outcome out;
    submission u = {.s = s, .b = b, .e = &own, .record = RUNG__NONE, .is_promoted = true};
    memset(&out, 0, offsetof(rung_outcome, windows));
    if (adapt(b, &own) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "score",
                               "the board has another type of score now");
    return submit(&u, &out, err);
}

rung_status rung__score_follow(rung_state *s, rung__board *b, const rung_score_event *e) {
    rung_score_event own = *e;
    rung_outcome out;
    submission u = {.s = s, .b = b, .e = &own, .record = RUNG__NONE};
    memset(&out, 0, offsetof(rung_outcome, windows));
    own.source = own.id = (rung_slice){NULL, 0};
    rung_status st = adapt(b, &own);
    return st < 0 ? st : submit(&u, &out, NULL);
}
