/* SPDX-License-Identifier: Apache-2.0 */
/* A submission: check, compute what every reached window's entry becomes, secure all memory, then change all
 * together.
 *
 * Nothing is changed before the last step that can fail. The order of the checks is the law's (docs/boards.md),
 * because which refusal comes first is part of the answer. */
#include "state/score.h"
#include "state/decay.h"

#include "state/attribute.h"
#include "state/digest.h"
#include "state/keyspace/commands.h"
#include "state/keyspace/set.h"
#include "state/lookahead.h"
#include "state/ranking.h"

#include <math.h>
#include <string.h>

enum { REACH_MAX = 6 + RUNG_SEASONS_MAX };

typedef struct submission {
    rung_state *s;
    rung__board *b;
    const rung_score_event *e;
    const rung__aim *aim;
    int64_t at_ms;
    uint32_t player; /* RUNG_PLAYER_NONE: not known yet */
    bool new_player;
    uint32_t record; /* of the id; RUNG__NONE */
    bool old_record; /* it is that of the same id, too old to count */
    rung_numbermap *
        new_minute; /* the counts of a minute that begins with this submission; NULL where none are kept */
    uint32_t count;
    rung__reach *reached; /* room for REACH_MAX, or what was prepared */
} submission;

/* ---- checks ---- */

/* What the sender called value `i`. */
static const char *value_field(const rung_score_event *e, uint32_t i) {
    return i ? "columns" : e->is_delta ? "delta" : "score";
}

static rung_status check_values(const rung__board *b, const rung_score_event *e, rung_err *err) {
    const rung_board_def *def = b->def;
    uint32_t expected = def->key.column_count;
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

static void reach_window(submission *u, uint32_t kind, const rung_window *span, rung_slice season,
                         rung__window *w) {
    if (!rung__window_takes_scores(u->s, u->b, span->end_ms, w))
        return;
    rung__reach *r = &u->reached[u->count++];
    r->window = w;
    r->fresh = false;
    if (w)
        return;
    r->kind = kind;
    r->span = *span;
    r->season = season;
}

static void reach_calendar(submission *u, uint32_t kind) {
    rung__board *b = u->b;
    rung__window *w = b->current[kind];
    rung_window span;
    if (w && u->at_ms >= w->start_ms && u->at_ms < w->end_ms) {
        span = (rung_window){w->ordinal, w->start_ms, w->end_ms};
    } else {
        if (rung__window_at(b, kind, u->at_ms, &span) != RUNG_OK)
            return;
        w = rung__window_find(b, kind, span.ordinal, (rung_slice){NULL, 0});
        if (w && !w->closed)
            b->current[kind] = w;
    }
    reach_window(u, kind, &span, (rung_slice){NULL, 0}, w);
}

static void reach_windows(submission *u) {
    static const uint8_t order[] = {RUNG_WINDOW_YEAR, RUNG_WINDOW_MONTH, RUNG_WINDOW_WEEK,
                                    RUNG_WINDOW_DAY, RUNG_WINDOW_HOUR};
    rung__board *b = u->b;
    u->count = 0;
    if (b->def->windows & RUNG_WINDOWS_ALL) {
        if (!b->current[0])
            b->current[0] = rung__window_find(b, 0, 0, (rung_slice){NULL, 0});
        reach_window(u, 0, &(rung_window){0, INT64_MIN, INT64_MAX}, (rung_slice){NULL, 0},
                     b->current[0]);
    }
    for (size_t i = 0; i < sizeof order; i++)
        if (b->def->windows & RUNG_WINDOWS_BIT(order[i]))
            reach_calendar(u, order[i]);
    for (uint32_t i = 0; i < b->def->season_count; i++) {
        const rung_season *season = &b->def->seasons[i];
        rung_window span = {0, season->starts_ms, season->ends_ms};
        if (u->at_ms < season->starts_ms || u->at_ms >= season->ends_ms)
            continue;
        reach_window(u, RUNG_WINDOW_SEASON, &span, season->name,
                     rung__window_find(b, RUNG_WINDOW_SEASON, 0, season->name));
    }
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

static rung_status become_decayed(const submission *u, rung__reach *r, int64_t at_ms) {
    const rung__board *b = u->b;
    uint64_t weight;
    rung_status st = rung__decay_weight(u->e->values[0].d, u->at_ms, b->created_ms,
                                        b->def->half_life_ms, &weight);
    if (st < 0)
        return st;
    rung_value none = {.d = 0};
    st = rung_keyspec_encode(&b->def->key, &none, at_ms, r->key);
    r->key[0] = ~rung__decay_add(weight, r->existed ? ~r->old_key[0] : 0);
    r->candidate = u->e->values[0];
    return st;
}

static bool is_summed(const submission *u) {
    rung_update update = u->b->def->update;
    return update == RUNG_UPDATE_SUM || update == RUNG_UPDATE_COUNT || u->e->is_delta;
}

/* Where the score is all there is in a key. */
static rung_status become_single(const submission *u, rung__reach *r) {
    const rung_column *column = &u->b->def->key.columns[0];
    rung_update update = u->b->def->update;
    rung_value next = update == RUNG_UPDATE_COUNT ? (rung_value){.i = 1} : u->e->values[0];
    if (r->existed && is_summed(u) &&
        add_value(column, rung_score_decode(column, r->old_key[0]), next, &next) < 0)
        return RUNG_ERANGE;
    memset(r->key, 0, sizeof r->key);
    r->candidate = next;
    rung_status st = rung_score_encode(column, next, &r->key[0]);
    if (update == RUNG_UPDATE_BEST && r->existed && r->old_key[0] < r->key[0])
        r->key[0] = r->old_key[0];
    return st;
}

static rung_status become(const submission *u, rung__reach *r) {
    const rung_keyspec *spec = &u->b->def->key;
    const rung_score_event *e = u->e;
    if (rung_keyspec_words(spec) == 1 && u->b->def->update != RUNG_UPDATE_DECAY)
        return become_single(u, r);
    rung_value old[RUNG_COLUMNS_MAX] = {{0}}, next[RUNG_COLUMNS_MAX];
    int64_t old_at = 0, at = u->at_ms;
    if (r->existed)
        rung_keyspec_decode(spec, r->old_key, old, &old_at);
    rung_update update = u->b->def->update;
    int64_t later = r->existed && old_at > at ? old_at : at;
    if (update == RUNG_UPDATE_DECAY)
        return become_decayed(u, r, later);
    for (unsigned i = 0; i < spec->column_count; i++) {
        next[i] = update == RUNG_UPDATE_COUNT ? (rung_value){.i = 1} : e->values[i];
        if (is_summed(u) && r->existed &&
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
    return become(u, r);
}

/* ---- limits ---- */

static double as_double(const rung_column *column, rung_value v) {
    return column->type == RUNG_SCORE_REAL ? v.d : (double)v.i;
}

static bool less(const rung_column *column, rung_value a, rung_value b) {
    return column->type == RUNG_SCORE_REAL ? a.d < b.d : a.i < b.i;
}

/* |a - b| > step */
static bool apart(const rung_column *column, rung_value a, rung_value b, rung_value step) {
    if (column->type == RUNG_SCORE_REAL)
        return fabs(a.d - b.d) > step.d;
    rung__wide gap = (rung__wide)a.i - b.i;
    return (gap < 0 ? -gap : gap) > step.i;
}

static bool is_outlier(const submission *u, const rung__reach *first, rung_value x) {
    const rung__board *b = u->b;
    rung_ladder_entry at[3];
    double v[3];
    if (!first->window || rung_ladder_count(first->window->ladder) < 100)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        rung_value values[RUNG_COLUMNS_MAX];
        rung_ignore(rung_ladder_quantile(first->window->ladder, i + 1, 4, &at[i]),
                    "there are a hundred entries");
        rung__key_values(b, at[i].key, u->s->time_ms, values, NULL);
        v[i] = as_double(&b->def->key.columns[0], values[0]);
    }
    double spread = fabs(v[2] - v[0]);
    return spread != 0 &&
           fabs(as_double(&b->def->key.columns[0], x) - v[1]) > b->def->z_score * spread / 1.349;
}

static bool minute_is_new(const submission *u) {
    return u->b->rate_minute != u->s->time_ms / 60000;
}

/* Which limit refuses the submission; NULL if none does. */
static const char *refusing_limit(const submission *u) {
    const rung_board_def *def = u->b->def;
    const rung_column *column = &def->key.columns[0];
    const rung__reach *first = &u->reached[0];
    bool competes = def->update == RUNG_UPDATE_BEST || def->update == RUNG_UPDATE_LAST;
    if (u->e->value_count > 0 && def->update != RUNG_UPDATE_COUNT) {
        rung_value x = competes && u->e->is_delta ? first->candidate : u->e->values[0];
        if (def->limits & RUNG_LIMIT_MIN && less(column, x, def->min))
            return "min";
        if (def->limits & RUNG_LIMIT_MAX && less(column, def->max, x))
            return "max";
        if (def->limits & RUNG_LIMIT_STEP) {
            rung_value from = {0}, to = u->e->values[0];
            if (competes && first->existed) {
                rung_value old[RUNG_COLUMNS_MAX];
                rung_keyspec_decode(&def->key, first->old_key, old, NULL);
                from = old[0];
                to = first->candidate;
            }
            if ((!competes || first->existed) && apart(column, to, from, def->max_step))
                return "max_step";
        }
    }
    if (def->limits & RUNG_LIMIT_RATE && u->player != RUNG_PLAYER_NONE && !minute_is_new(u)) {
        uint32_t so_far = rung_numbermap_get(&u->b->rate, u->player);
        if (so_far != RUNG_NUMBER_NONE && so_far >= def->per_player_per_minute)
            return "per_player_per_minute";
    }
    if (def->limits & RUNG_LIMIT_Z && u->e->value_count > 0 && def->update != RUNG_UPDATE_COUNT &&
        is_outlier(u, first, competes && u->e->is_delta ? first->candidate : u->e->values[0]))
        return "z_score";
    return NULL;
}

static rung_digest rate_fact(const rung__board *b, uint32_t player, uint32_t count) {
    uint64_t words[2] = {(uint64_t)b->rate_minute, count};
    return rung__fact_digest(RUNG__FACT_RATE, b->serial, player, words, 2);
}

static rung_status secure_rate(submission *u) {
    if (!(u->b->def->limits & RUNG_LIMIT_RATE))
        return RUNG_OK;
    if (minute_is_new(u))
        return rung_numbermap_reserve(u->new_minute, u->s->alloc, u->player);
    if (rung_numbermap_get(&u->b->rate, u->player) != RUNG_NUMBER_NONE)
        return RUNG_OK;
    return rung_numbermap_reserve(&u->b->rate, u->s->alloc, u->player);
}

static void count_rate(submission *u) {
    rung__board *b = u->b;
    if (!(b->def->limits & RUNG_LIMIT_RATE))
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
        rung__digest_subtract(&fact, rate_fact(b, u->player, so_far));
    else
        so_far = 0;
    rung_numbermap_set(&b->rate, u->player, so_far + 1);
    rung__digest_add(&fact, rate_fact(b, u->player, so_far + 1));
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
        rung__digest_subtract(
            &u->s->digest,
            rung__fact_digest(RUNG__FACT_PLAYER, u->player,
                              rung__bytes_hash(u->e->player.ptr, u->e->player.len), NULL, 0));
        rung_names_remove(u->s->players, u->player);
    }
}

/* Everything the change may need, `fresh` windows to be opened included; but without scopes, the first window's put
 * comes first and may still fail. */
static rung_status secure(submission *u, uint32_t fresh) {
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
    if (fresh && rung__window_list_reserve(s, u->b, fresh) < 0)
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
    return secure_rate(u);
}

/* ---- the answer ---- */

/* Does nobody want to know more than what stands now? Ranks and the next one above take time to find out. */
static bool is_brief(const rung_score_event *e) {
    return (e->when || e->is_brief) && !e->id.len;
}

static void answer(const submission *u, const rung_ladder_change *change, rung_outcome *out) {
    const rung__board *b = u->b;
    const rung__reach *first = &u->reached[0];
    const rung_ladder *ladder = first->window->ladder;
    uint32_t total = rung_ladder_count(ladder), sparse = change->rank_after;
    int64_t now = u->s->time_ms;
    out->value_count = b->def->key.column_count;
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
    if (!u->aim) /* in a group the names are looked up at the end, all together */
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

static rung__hints hints_for(const submission *u, uint32_t i) {
    const rung__aim *aim = u->aim;
    if (!aim || u->reached != aim->reached)
        return (rung__hints){0};
    return (rung__hints){&aim->main[i], aim->slot[i], aim->slots[i]};
}

/* All together. Only the very first put can fail, and then nothing has changed. */
static rung_status commit(submission *u, rung_outcome *out) {
    rung_status any = RUNG_UNCHANGED;
    bool brief = is_brief(u->e), fresh = false;
    for (uint32_t i = 0; i < u->count; i++) {
        rung__reach *r = &u->reached[i];
        rung_ladder_change change; /* the put fills the rest, or as much of it as is asked for */
        change.style = u->b->def->rank;
        change.is_brief = brief;
        rung__hints hints = hints_for(u, i);
        rung_status st = rung__ranking_put(u->s, u->b, r->window, u->player,
                                           r->existed ? r->old_key : NULL, r->key, &hints, &change);
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
    }
    for (uint32_t i = 0; fresh && i < u->count; i++)
        if (u->reached[i].fresh) {
            rung__window_list_add(u->s, u->b, u->reached[i].window);
            if (u->reached[i].kind != RUNG_WINDOW_SEASON)
                u->b->current[u->reached[i].kind] = u->reached[i].window;
        }
    out->changed = any == RUNG_OK;
    count_rate(u);
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

/* Does a condition hold the submission back? It is asked of the first window reached. */
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
        out->value_count = u->b->def->key.column_count;
        rung__key_values(u->b, first->old_key, u->s->time_ms, out->values, NULL);
    }
    return RUNG_UNCHANGED;
}

static rung_status submit(submission *u, rung_outcome *out, rung_err *err);

rung_status rung__apply_score(rung_state *s, const rung_score_event *e, const rung__aim *aim,
                              rung_outcome *out, rung_err *err) {
    submission u = {.s = s, .e = e, .aim = aim, .record = RUNG__NONE};
    rung_score_event own;
    u.b = rung__board_find(s, e->board);
    if (!e->when)
        return u.b ? submit(&u, out, err)
                   : RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    bool made = !u.b;
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

static rung_status submit(submission *u, rung_outcome *out, rung_err *err) {
    rung_state *s = u->s;
    const rung_score_event *e = u->e;
    const rung__aim *aim = u->aim;
    rung__reach room[REACH_MAX];
    rung_numbermap minute;
    bool ready = aim && aim->prepared && aim->time_ms == s->time_ms && aim->serial == u->b->serial;
    u->b->submissions++;
    rung_status st = ready ? RUNG_OK : check_values(u->b, e, err);
    if (st < 0)
        return st;
    if (u->b->def->limits & RUNG_LIMIT_RATE) {
        memset(&minute, 0, sizeof minute);
        u->new_minute = &minute;
    }
    u->player = aim ? aim->player : RUNG_PLAYER_NONE;
    if (u->player == RUNG_PLAYER_NONE &&
        rung_names_find(s->players, e->player, &u->player) != RUNG_OK)
        u->player = RUNG_PLAYER_NONE;
    if (u->player != RUNG_PLAYER_NONE &&
        rung_numbermap_get(&s->bans.map, u->player) != RUNG_NUMBER_NONE)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "banned", "the player is banned");
    if (e->id.len) {
        st = rung__ids_look(s, u->b, e, out);
        if (st == RUNG_DUPLICATE)
            return st;
        if (st == RUNG_ECONFLICT)
            return RUNG_FAIL_FIELD(err, st, "id", "seen before with another body");
        if (st == RUNG_ESTALE)
            return RUNG_FAIL_FIELD(err, st, "id",
                                   "carries a time too far from now to be told from a repetition");
        if (st == RUNG_EFUTURE)
            return RUNG_FAIL_FIELD(err, st, "id", "carries a time more than a minute ahead");
    }
    u->at_ms = e->has_at ? e->at_ms : s->time_ms;
    if (u->at_ms < RUNG_TIME_MS_MIN || u->at_ms >= RUNG_TIME_MS_END)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "at", "outside the years %d to %d", RUNG_YEAR_MIN,
                               RUNG_YEAR_MAX);
    uint32_t fresh = 0, ahead = 0;
    if (ready) {
        u->reached = (rung__reach *)(uintptr_t)
                         aim->reached; /* existing windows only: nothing will be written */
        u->count = aim->count;
    } else {
        u->reached = room;
        reach_windows(u);
        if (u->count == 0)
            return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "window",
                                   "none that contains the submission's time takes scores");
        for (uint32_t i = 0; i < u->count; i++) {
            fresh += u->reached[i].window == NULL;
            ahead += u->reached[i].window == NULL && u->reached[i].span.start_ms > s->time_ms;
            if (find_and_become(u, &u->reached[i]) >= 0)
                continue;
            if (e->when & RUNG_IF_NX && u->reached[0].existed)
                return hold(u, out); /* what it would have become does not matter */
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s",
                                   "the result would leave the range of the board's type",
                                   value_field(e, 0));
        }
    }
    if (e->when & RUNG_IF_MASK && is_held(u))
        return hold(u, out);
    const char *limit = u->b->def->limits ? refusing_limit(u) : NULL;
    if (limit)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "%s", "the board's limit refuses this score",
                               limit);
    if (fresh && !rung__window_may_open(s, u->b, fresh, ahead))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "window",
                               "the board has as many windows as it may");
    st = secure(u, fresh);
    if (st >= 0)
        st = commit(u, out);
    if (st < 0) {
        release(u);
        if (st == RUNG_ELIMIT)
            return RUNG_FAIL_FIELD(err, st, "player", "there are as many players as there may be");
    }
    return st;
}

/* ---- looking ahead ---- */

/* A submission is looked at in stages, and each finds in the cache what the one before asked for, because between the
 * two come stages of others: of the submission whose turn is next the last, of the one behind it the last but one,
 * and so on. So the memory is asked for evenly while others are applied. What they change in the meantime is what the
 * ladder allows for (ladder.h), and none of it is about the same player: who is under way is not looked up again. */

static void aim_drop(rung__aim *aim) {
    aim->player = RUNG_PLAYER_NONE;
    aim->prepared = false;
    aim->count = aim->slot_count = aim->way_count = 0;
}

static void aim_hash(const rung_state *s, rung__aim *aim) {
    aim_drop(aim);
    aim->hash = rung_names_hash(s->players, aim->event->player);
    rung_names_prefetch(s->players, aim->hash);
}

/* Whoever is under way already is left to its turn: what the one before does to it is not known. */
static void aim_player(const rung_state *s, rung__aim *aim, bool is_under_way) {
    if (is_under_way ||
        rung_names_find_hashed(s->players, aim->hash, aim->event->player, &aim->player) != RUNG_OK)
        aim->player = RUNG_PLAYER_NONE;
}

/* Find out what is reached; nothing is known afterwards where that is too much or not all there. */
static void learn_windows(rung_state *s, rung__lookahead *a, const rung__aim *aim, int64_t at_ms) {
    rung__reach room[REACH_MAX];
    submission u = {.s = s, .e = aim->event, .b = aim->board, .at_ms = at_ms, .reached = room};
    int64_t before_ms = s->time_ms;
    a->board = NULL;
    if (u.at_ms < RUNG_TIME_MS_MIN || u.at_ms >= RUNG_TIME_MS_END)
        return;
    s->time_ms = aim->time_ms; /* as it will be, for a moment */
    reach_windows(&u);
    s->time_ms = before_ms;
    if (u.count > RUNG__AIM_KINDS)
        return;
    for (uint32_t i = 0; i < u.count; i++) {
        if (!room[i].window)
            return;
        a->windows[i] = room[i].window;
    }
    a->count = u.count;
    a->board = aim->board;
    a->serial = aim->board->serial;
    a->time_ms = aim->time_ms;
    a->at_ms = at_ms;
}

/* Which windows it reaches, and where to ask for the player. Within a run they are the same at the same time: windows
 * close when time passes, and what is given up is noticed. */
static void aim_reach(rung_state *s, rung__lookahead *a, rung__aim *aim) {
    const rung_score_event *e = aim->event;
    if (aim->player == RUNG_PLAYER_NONE)
        return;
    rung__board *b = aim->board = rung__board_find(s, e->board);
    aim->time_ms = aim->ts_ms > s->time_ms ? aim->ts_ms : s->time_ms;
    if (!b || check_values(b, e, NULL) < 0)
        return;
    int64_t at_ms = e->has_at ? e->at_ms : aim->time_ms;
    if (a->board != b || a->serial != b->serial || a->time_ms != aim->time_ms || a->at_ms != at_ms)
        learn_windows(s, a, aim, at_ms);
    if (!a->board)
        return;
    for (uint32_t i = 0; i < a->count; i++) {
        aim->reached[i].window = a->windows[i];
        aim->reached[i].fresh = false;
        aim->slots[i] = 0;
    }
    aim->count = a->count;
    aim->slot_count = b->scope_count < RUNG__AIM_SLOTS ? b->scope_count : RUNG__AIM_SLOTS;
    for (uint32_t slot = 0; slot < aim->slot_count; slot++)
        rung_numbermap_prefetch(&s->attributes[b->attribute[slot]].of_player, aim->player);
    aim->serial = b->serial;
}

static void aim_maps(const rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_warm_map(aim->reached[i].window->ladder, aim->player);
}

/* The ladder of a slot where the player is, in the i-th window reached; NULL: none. */
static rung_ladder *aim_ladder(const rung__aim *aim, uint32_t i, uint32_t slot) {
    const rung__scope *scope = &aim->reached[i].window->scopes[slot];
    uint32_t value = aim->values[slot];
    return value < scope->cap ? scope->ladders[value] : NULL;
}

static void aim_leaves(const rung_state *s, rung__aim *aim) {
    for (uint32_t slot = 0; slot < aim->slot_count; slot++)
        aim->values[slot] = rung__value_of(s, aim->board, slot, aim->player);
    for (uint32_t i = 0; i < aim->count; i++) {
        rung_ladder_aim_leaf(aim->reached[i].window->ladder, aim->player, &aim->main[i]);
        for (uint32_t slot = 0; slot < aim->slot_count; slot++)
            aim->slots[i] |= (uint32_t)(aim_ladder(aim, i, slot) != NULL) << slot;
    }
}

static void warm_scopes(const rung__aim *aim, int part) {
    for (uint32_t slot = 0; slot < aim->slot_count; slot++)
        for (uint32_t i = 0; i < aim->count; i++)
            if (aim->slots[i] >> slot & 1)
                rung_ladder_warm_ladder(aim_ladder(aim, i, slot), part);
}

static void aim_players(const rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_aim_players(aim->reached[i].window->ladder, &aim->main[i]);
}

static void aim_rows(rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_aim_row(aim->reached[i].window->ladder, &aim->main[i]);
}

static void aim_parents(const rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_aim_parent(aim->reached[i].window->ladder, !is_brief(aim->event),
                               &aim->main[i]);
}

/* Where the player's ladders of the scopes are headed, in the i-th window reached. */
static void aim_scopes(rung__aim *aim, uint32_t i) {
    const rung__reach *r = &aim->reached[i];
    for (uint32_t slot = 0; slot < aim->slot_count; slot++) {
        rung_ladder_move *move = &aim->slot[i][slot];
        rung_ladder *ladder = aim->slots[i] >> slot & 1 ? aim_ladder(aim, i, slot) : NULL;
        if (!ladder)
            continue;
        rung_ladder_move_begin(ladder, aim->player, r->existed ? r->old_key : NULL, r->key, move);
        aim->ways[aim->way_count++] = (rung_ladder_way){ladder, &move->from};
        aim->ways[aim->way_count++] = (rung_ladder_way){ladder, &move->to};
    }
}

/* What the entries become, and so where they go. */
static void aim_keys(rung_state *s, rung__aim *aim) {
    const rung_score_event *e = aim->event;
    submission u = {.s = s, .e = e, .player = aim->player, .b = aim->board};
    u.at_ms = e->has_at ? e->at_ms : aim->time_ms;
    for (uint32_t i = 0; i < aim->count; i++) {
        rung__reach *r = &aim->reached[i];
        rung_ladder *main = r->window->ladder;
        rung_ladder_entry entry;
        r->existed = rung_ladder_aim_entry(main, &aim->main[i], &entry) == RUNG_OK;
        if (r->existed)
            memcpy(r->old_key, entry.key, sizeof r->old_key);
        if (become(&u, r) < 0) {
            aim_drop(aim);
            return;
        }
        rung_ladder_aim_begin(main, r->key, &aim->main[i]);
        aim->ways[aim->way_count++] = (rung_ladder_way){main, &aim->main[i]};
        aim_scopes(aim, i);
    }
    aim->prepared = aim->count > 0;
}

static void aim_uppers(rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_aim_upper(aim->reached[i].window->ladder, &aim->main[i]);
}

static void aim_inners(const rung__aim *aim) {
    for (uint32_t i = 0; i < aim->count; i++)
        rung_ladder_aim_inner(aim->reached[i].window->ladder, &aim->main[i]);
}

/* In the order in which a submission goes through them; the ladder's own steps follow. */
enum { HASH, NUMBER, CELL, REACH, LEAVES, PLAYERS, ROWS, KEYS, STEPS };
enum { STAGES = STEPS + RUNG_LADDER_AIM_STEPS };
_Static_assert((int)STAGES < (int)RUNG__AHEAD_RING, "as many are under way at a time");

/* The aim of the submission that is so many stages on, or NULL; never NULL if `is_full`: somebody is at each. */
static inline rung__aim *aim_at(rung__lookahead *a, uint32_t stage, bool is_full) {
    uint32_t i = a->tick - stage;
    return is_full || i < a->n ? &a->ring[i % RUNG__AHEAD_RING] : NULL;
}

/* Is somebody before it, whose turn has not come, the same player? From now on it is under way itself. */
static bool set_out(rung__lookahead *a, uint32_t stage) {
    uint32_t i = a->tick - stage;
    uint64_t hash = a->ring[i % RUNG__AHEAD_RING].hash;
    if (!a->under_way[hash % RUNG__AHEAD_HASHES]++)
        return false;
    for (uint32_t k = a->turn; k < i; k++)
        if (a->ring[k % RUNG__AHEAD_RING].hash == hash)
            return true;
    return false;
}

static inline void aim_step(rung__lookahead *a, uint32_t step, bool is_full) {
    uint32_t first = is_full ? RUNG_LADDER_AIM_FIRST : a->first_step;
    rung__aim *aim = step < first ? NULL : aim_at(a, STEPS + step - first, is_full);
    if (aim)
        rung_ladder_aim_step(aim->ways, aim->way_count, step);
}

/* Everybody under way one stage on. First whatever takes thought; then, close together, what asks for memory far from
 * anything asked for before: to find out where its pages are takes longest, and that is done for several at a time. */
__attribute__((always_inline)) static inline void look_all(rung_state *s, rung__lookahead *a,
                                                           bool is_full) {
    rung__aim *aim;
#pragma GCC unroll 9
    for (uint32_t step = RUNG_LADDER_AIM_STEPS; step-- > 0;)
        if (step != RUNG_LADDER_AIM_LEAF)
            aim_step(a, step, is_full);
    if ((aim = aim_at(a, KEYS, is_full)))
        aim_keys(s, aim);
    if ((aim = aim_at(a, ROWS, is_full))) {
        aim_rows(aim);
        warm_scopes(aim, 2);
    }
    if ((aim = aim_at(a, REACH, is_full))) {
        aim_player(s, aim, set_out(a, REACH));
        aim_reach(s, a, aim);
    }
    if ((aim = aim_at(a, LEAVES, is_full))) {
        aim_leaves(s, aim);
        warm_scopes(aim, 0);
    }
    if ((aim = aim_at(a, KEYS, is_full)))
        aim_uppers(aim);
    if ((aim = aim_at(a, HASH, is_full))) {
        aim->event = a->get(a->ctx, a->tick, &aim->ts_ms);
        aim_hash(s, aim);
    }
    if ((aim = aim_at(a, KEYS, is_full)))
        aim_inners(aim);
    if ((aim = aim_at(a, ROWS, is_full)))
        aim_parents(aim);
    if ((aim = aim_at(a, REACH, is_full)))
        aim_maps(aim);
    if ((aim = aim_at(a, NUMBER, is_full)))
        rung_names_prefetch_number(s->players, aim->hash);
    if ((aim = aim_at(a, CELL, is_full)))
        rung_names_prefetch_cell(s->players, aim->hash);
    if ((aim = aim_at(a, PLAYERS, is_full))) {
        aim_players(aim);
        warm_scopes(aim, 1);
    }
    aim_step(a, RUNG_LADDER_AIM_LEAF, is_full);
    a->tick++;
}

/* As a rule there is somebody at each stage, and no scope; then nothing has to be asked. */
static void look_ahead(rung_state *s, rung__lookahead *a) {
    bool is_full = a->tick >= STAGES - RUNG_LADDER_AIM_FIRST && a->tick < a->n &&
                   a->first_step == RUNG_LADDER_AIM_FIRST;
    if (is_full)
        look_all(s, a, true);
    else
        look_all(s, a, false);
}

void rung__ahead_begin(rung_state *s, uint32_t n, rung__ahead_source get, const void *ctx) {
    rung__lookahead *a = s->lookahead;
    a->n = n;
    a->get = get;
    a->ctx = ctx;
    a->tick = a->turn = 0;
    a->ladders_freed = s->ladders_freed;
    a->board = NULL;
    memset(a->under_way, 0, sizeof a->under_way);
    /* Without scopes all ways are to keys of main rankings. */
    a->first_step = s->attribute_cap ? 0 : RUNG_LADDER_AIM_FIRST;
}

const rung__aim *rung__ahead_next(rung_state *s) {
    rung__lookahead *a = s->lookahead;
    if (a->ladders_freed !=
        s->ladders_freed) { /* rankings are gone that somebody may be under way in */
        for (uint32_t i = a->turn; i < a->tick && i < a->n; i++)
            aim_drop(&a->ring[i % RUNG__AHEAD_RING]);
        a->board = NULL;
    }
    a->ladders_freed = s->ladders_freed;
    while (a->tick < a->turn + STAGES - a->first_step)
        look_ahead(s, a);
    const rung__aim *aim = &a->ring[a->turn++ % RUNG__AHEAD_RING];
    a->under_way[aim->hash % RUNG__AHEAD_HASHES]--;
    return aim;
}
