/* SPDX-License-Identifier: Apache-2.0 */
/* Boards: their definitions and how they change, their windows and how these open and close.
 *
 *   B1 Slot i < def.scope_count ranks by def.scopes[i]. The team attribute uses the slot of its scope, or one after
 *      them.
 *   B2 A board's rules are in order of creation. For a kind of window, the last rule whose `from` is not after an
 *      instant decides. If it would lead back to the window before it, or to an earlier one, that window continues.
 *      So ordinals never decrease over time, and every window is one contiguous interval.
 *   B3 next_close_ms is not later than the end plus grace of any open window. */
#include "state/board.h"

#include "state/attribute.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/hold_list.h"
#include "state/keyspace/set.h"
#include "state/lookahead.h"
#include "state/match.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/season_reset.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <string.h>

rung__board *rung__board_find(const rung_state *s, rung_slice id) {
    if (s->last_board && rung_slice_eq(s->last_name, id))
        return s->last_board;
    uint32_t number;
    if (rung__is_hidden_name(id))
        return NULL;
    if (rung_names_find(s->board_ids, id, &number) != RUNG_OK || number >= s->board_cap)
        return NULL;                              /* nobody has the name, or a set */
    rung_state *own = (rung_state *)(uintptr_t)s; /* a shortcut, not state */
    own->last_board = s->boards[number];
    own->last_name = rung_names_id(s->board_ids, number);
    return s->boards[number];
}

/* ---- windows ---- */

/* The instant from which a later rule overrides rule i for a kind. */
static int64_t rule_until(const rung__board *b, uint32_t i, uint32_t kind) {
    int64_t until = INT64_MAX;
    for (uint32_t j = i + 1; j < b->rule_count; j++)
        if (b->rules[j].from_ms[kind] < until)
            until = b->rules[j].from_ms[kind];
    return until;
}

rung__window *rung__window_find(const rung__board *b, uint32_t kind, int64_t ordinal,
                                rung_slice season) {
    for (uint32_t i = 0; i < b->window_count; i++) {
        rung__window *w = b->windows[i];
        if (w->kind == kind && w->ordinal == ordinal &&
            (kind != RUNG_WINDOW_SEASON || rung_slice_eq(w->season, season)))
            return w;
    }
    return NULL;
}

rung__window *rung__next_window(const rung_state *s, uint32_t *board, uint32_t *window,
                                rung__board **b_out) {
    for (; *board < s->board_cap; (*board)++, *window = 0) {
        rung__board *b = s->boards[*board];
        if (b && *window < b->window_count) {
            *b_out = b;
            return b->windows[(*window)++];
        }
    }
    return NULL;
}

rung_status rung__window_span(const rung__board *b, uint32_t kind, int64_t ordinal,
                              rung_window *out) {
    rung_window all = {ordinal, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < b->rule_count; i++) {
        const rung__rule *rule = &b->rules[i];
        rung_window w;
        rung_status st =
            rung_window_span((rung_window_kind)kind, ordinal, rule->zone, rule->day_starts_min, &w);
        if (st < 0)
            return st;
        int64_t until = rule_until(b, i, kind);
        bool goes_on =
            ordinal == rule->before[kind]; /* also when the rule itself gives it no time at all */
        int64_t start =
            goes_on || w.start_ms < rule->from_ms[kind] ? rule->from_ms[kind] : w.start_ms;
        int64_t end = w.end_ms > until ? until : w.end_ms;
        if (start >= end || ordinal < rule->before[kind])
            continue;
        all.start_ms = start < all.start_ms ? start : all.start_ms;
        all.end_ms = end > all.end_ms ? end : all.end_ms;
    }
    if (all.start_ms >=
        all.end_ms) { /* empty, but an earlier rule may have opened it ahead of time */
        const rung__window *w = rung__window_find(b, kind, ordinal, (rung_slice){NULL, 0});
        if (!w || w->dropped)
            return RUNG_NOT_FOUND;
        all.start_ms = w->start_ms;
        all.end_ms = w->end_ms;
    }
    *out = all;
    return RUNG_OK;
}

rung_status rung__window_at(const rung__board *b, uint32_t kind, int64_t at_ms, rung_window *out) {
    uint32_t i = b->rule_count - 1;
    while (b->rules[i].from_ms[kind] > at_ms)
        i--; /* the first rule holds from INT64_MIN on */
    rung_status st = rung_window_at((rung_window_kind)kind, b->rules[i].zone,
                                    b->rules[i].day_starts_min, at_ms, out);
    if (st < 0 || b->rule_count == 1)
        return st;
    if (out->ordinal < b->rules[i].before[kind])
        out->ordinal = b->rules[i].before[kind];
    return rung__window_span(b, kind, out->ordinal, out);
}

static rung_digest window_digest(const rung__window *w) {
    uint64_t words[4] = {(uint64_t)w->start_ms, (uint64_t)w->end_ms, w->closed, w->dropped};
    return rung__fact_digest(RUNG__FACT_WINDOW, w->tag, 0, words, 4);
}

rung__window *rung__window_new(rung_state *s, rung__board *b, uint32_t kind,
                               const rung_window *span, rung_slice season) {
    rung__window *w = rung_alloc_zeroed(s->alloc, sizeof *w);
    if (!w)
        return NULL;
    w->kind = kind;
    w->ordinal = span->ordinal;
    w->start_ms = span->start_ms;
    w->end_ms = span->end_ms;
    w->season.ptr = season.len ? rung__copy_bytes(s, season.ptr, season.len) : NULL;
    w->season.len = season.len;
    bool is_sketch = b->def->sketch != RUNG_SKETCH_NONE;
    if ((season.len && !w->season.ptr) || rung__ranking_create(s, b, w) < 0 ||
        (is_sketch && !(w->sketch = rung__sketch_new(s, b)))) {
        if (!w->season.ptr)
            w->season.len = 0;
        rung__window_free(s, b, w);
        return NULL;
    }
    uint64_t words[3] = {kind, (uint64_t)span->ordinal,
                         season.len ? rung__bytes_hash(season.ptr, season.len) : 0};
    w->tag = rung__fact_digest(RUNG__FACT_WINDOW, b->serial, 1, words, 3).a;
    if (w->sketch) /* counts from the moment the window is in the list */
        w->entries = rung__sketch_digest(w, 0, w->sketch);
    return w;
}

/* Give back the rankings, keep the window. */
static void window_empty(rung_state *s, rung__board *b, rung__window *w) {
    rung__holds_end(w);
    s->ladders_freed++;
    rung_ladder_destroy(w->ladder);
    w->ladder = NULL;
    rung__sketch_free(s, b, w->sketch);
    w->sketch = NULL;
    for (uint32_t slot = 0; slot < RUNG__SCOPE_SLOTS; slot++)
        rung__ranking_drop_slot(s, b, w, slot);
    rung__ranking_drop_teams(s, w);
}

void rung__window_forget_rankings(rung_state *s, rung__board *b, rung__window *w) {
    window_empty(s, b, w);
    w->entries = (rung_digest){0, 0};
}

void rung__window_free(rung_state *s, rung__board *b, rung__window *w) {
    for (uint32_t k = 0; k < RUNG__KINDS; k++)
        if (b->current[k] == w)
            b->current[k] = NULL;
    window_empty(s, b, w);
    rung_alloc_free(s->alloc, (void *)(uintptr_t)w->season.ptr, w->season.len);
    rung_alloc_free(s->alloc, w, sizeof *w);
}

rung_status rung__window_list_reserve(rung_state *s, rung__board *b, uint32_t more) {
    return rung__grow(s->alloc, &b->windows, &b->window_cap, b->window_count + more,
                      sizeof *b->windows);
}

static int64_t due_ms(const rung__board *b, const rung__window *w) {
    return w->end_ms + b->def->grace_ms;
}

static void note_due(rung_state *s, const rung__board *b, const rung__window *w) {
    if (w->kind != 0 && !w->closed && due_ms(b, w) < s->next_close_ms)
        s->next_close_ms = due_ms(b, w);
}

void rung__window_list_add(rung_state *s, rung__board *b, rung__window *w) {
    b->windows[b->window_count++] = w;
    b->version = s->seq;
    rung__digest_add(&s->digest, window_digest(w));
    if (w->sketch) /* entries of others were added when they were put */
        rung__digest_add(&s->digest, w->entries);
    note_due(s, b, w);
}

bool rung__window_takes_scores(const rung_state *s, const rung__board *b, int64_t end_ms,
                               const rung__window *w) {
    if (end_ms == INT64_MAX)
        return true;
    return (w ? !w->closed : end_ms > b->over_ms) && s->time_ms < end_ms + b->def->grace_ms;
}

/* Since level 1 only windows that begin after log time are limited: a client that fills the board with those cannot
 * block a window that has begun. `grace` and `keep` bound the number of the others. */
bool rung__window_may_open(const rung_state *s, const rung__board *b, uint32_t fresh,
                           uint32_t ahead) {
    if (s->rules < 1)
        return b->window_count + fresh <= RUNG__WINDOWS_MAX;
    for (uint32_t i = 0; ahead && i < b->window_count; i++)
        ahead += b->windows[i]->start_ms > s->time_ms;
    return ahead <= RUNG__WINDOWS_MAX;
}

rung_digest rung__entries_digest(const rung__board *b, const rung__window *w) {
    rung_digest d = {0, 0};
    rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0);
    for (rung_ladder_entry e; rung_ladder_next(&c, &e);)
        rung__digest_add(&d, rung__entry_digest(b, w, e.player, e.key));
    rung__digest_add(&d, rung__sketches_digest(w));
    return d;
}

/* The facts about a window's entries, which disappear with its rankings. */
static void forget_entries(rung_state *s, rung__board *b, rung__window *w) {
    if (!w->ladder)
        return;
    rung__digest_subtract(&s->digest, w->entries);
    w->entries = (rung_digest){0, 0};
    if (b->has_stash)
        rung__stash_forget(s, b->serial, &w->tag);
}

void rung__window_remove(rung_state *s, rung__board *b, uint32_t i) {
    rung__window *w = b->windows[i];
    b->version = s->seq;
    forget_entries(s, b, w);
    rung__digest_subtract(&s->digest, window_digest(w));
    memmove(&b->windows[i], &b->windows[i + 1], (b->window_count - i - 1) * sizeof *b->windows);
    b->window_count--;
    rung__window_free(s, b, w);
}

/* If this closed window were forgotten, could a submission open it again? A season must be kept because its dates are
 * fixed, and a window that was closed early because part of its time is left; a change of zone may have added to
 * that. */
static bool could_open_again(const rung_state *s, const rung__board *b, const rung__window *w) {
    rung_window span = {w->ordinal, w->start_ms, w->end_ms};
    if (w->kind == RUNG_WINDOW_SEASON)
        return true;
    rung_ignore(rung__window_span(b, w->kind, w->ordinal, &span),
                "it has no time of its own: its old span will do");
    return rung__window_takes_scores(s, b, span.end_ms, NULL);
}

/* Only its name stays. */
static void window_forget(rung_state *s, rung__board *b, rung__window *w) {
    b->version = s->seq;
    forget_entries(s, b, w);
    rung__digest_subtract(&s->digest, window_digest(w));
    w->dropped = true;
    rung__digest_add(&s->digest, window_digest(w));
    for (uint32_t k = 0; k < RUNG__KINDS; k++)
        if (b->current[k] == w)
            b->current[k] = NULL;
    window_empty(s, b, w);
}

/* Drop a closed window from memory. Its name stays as long as it is needed. */
static void window_drop(rung_state *s, rung__board *b, uint32_t i) {
    rung__window *w = b->windows[i];
    if (!could_open_again(s, b, w)) {
        rung__window_remove(s, b, i);
        return;
    }
    window_forget(s, b, w);
}

/* Windows that end together are ordered by ordinal or name. */
static bool ended_before(const rung__window *a, const rung__window *b) {
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms;
    return a->ordinal != b->ordinal ? a->ordinal < b->ordinal
                                    : rung_slice_cmp(a->season, b->season) < 0;
}

/* Of each kind, keep as many closed windows as the definition says: those that ended last. */
static void enforce_keep(rung_state *s, rung__board *b) {
    for (uint32_t kind = 1; kind < RUNG__KINDS; kind++) {
        for (;;) {
            uint32_t closed = 0, oldest = RUNG__NONE;
            for (uint32_t i = 0; i < b->window_count; i++) {
                const rung__window *w = b->windows[i],
                                   *o = oldest == RUNG__NONE ? NULL : b->windows[oldest];
                if (w->kind != kind || !w->closed || w->dropped)
                    continue;
                closed++;
                if (!o || ended_before(w, o))
                    oldest = i;
            }
            if (closed <= rung_board_keep(b->def, kind))
                break;
            window_drop(s, b, oldest);
        }
    }
}

static void window_close(rung_state *s, rung__board *b, rung__window *w) {
    b->version = s->seq;
    rung__digest_subtract(&s->digest, window_digest(w));
    w->closed = true;
    rung__digest_add(&s->digest, window_digest(w));
    rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0);
    for (rung_ladder_entry e; b->twin && s->is_noting && rung_ladder_next(&c, &e);)
        rung__shadow_touch(s, e.player);              /* its scopes count as they are now */
    if (s->on_close && !b->twin && !b->def->sketch) { /* the archive keeps entries */
        rung_view view = rung__window_view(s, b, w);
        s->on_close(s->on_close_ctx, rung_names_id(s->board_ids, b->number), &view);
    }
}

static void recompute_next_close(rung_state *s) {
    s->next_close_ms = INT64_MAX;
    rung__board *b;
    uint32_t i = 0, k = 0;
    for (const rung__window *w; (w = rung__next_window(s, &i, &k, &b));)
        note_due(s, b, w);
}

rung_status rung__apply_tick(rung_state *s, const rung_event *e, rung_err *err) {
    (void)e;
    (void)err;
    if (s->time_ms < s->next_close_ms)
        return RUNG_UNCHANGED; /* keys whose time is over are gone before any event */
    for (uint32_t i = 0; i < s->board_cap; i++) {
        rung__board *b = s->boards[i];
        if (!b)
            continue;
        for (uint32_t w = b->window_count; w-- > 0;) {
            rung__window *window = b->windows[w];
            if (window->kind == 0 || s->time_ms < due_ms(b, window))
                continue;
            if (window->dropped && !could_open_again(s, b, window))
                rung__window_remove(s, b, w);
            else if (!window->closed) {
                window_close(s, b, window);
                rung__shadow_interrupt(s, b->twin ? b->twin : b);
            }
        }
        enforce_keep(s, b);
    }
    recompute_next_close(s);
    return RUNG_OK;
}

static rung_status apply_window_of(rung_state *s, rung__board *b, const rung_event *e,
                                   rung_err *err) {
    uint32_t kind = e->window.kind ? e->window.kind : RUNG_WINDOW_SEASON;
    rung_window span = {0, 0, 0};
    if (kind == RUNG_WINDOW_SEASON) {
        const rung_season *season = rung_board_season(b->def, e->window.season);
        if (!season)
            return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "season", "the board has no such season");
        span = rung__season_span(season);
    } else if (!(b->def->windows & RUNG_WINDOWS_BIT(kind))) {
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "kind", "the board has no such windows");
    } else if (rung__window_span(b, kind, e->window.ordinal, &span) != RUNG_OK) {
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "ordinal", "there is no such window");
    }
    rung_slice season = kind == RUNG_WINDOW_SEASON ? e->window.season : (rung_slice){NULL, 0};
    rung__window *w = rung__window_find(b, kind, span.ordinal, season);
    if (e->kind == RUNG_EVENT_WINDOW_CLOSED) {
        if (!w || w->dropped)
            return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "window", "it is not open");
        if (w->closed)
            return RUNG_UNCHANGED;
        window_close(s, b, w);
        enforce_keep(s, b);
        recompute_next_close(s);
        return RUNG_OK;
    }
    if (w && !w->closed)
        return RUNG_UNCHANGED;
    if (!rung__window_takes_scores(s, b, span.end_ms, w))
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "window", "the window has ended");
    if (!rung__window_may_open(s, b, 1, span.start_ms > s->time_ms))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "window", "window limit of the board reached");
    if (rung__window_list_reserve(s, b, 1) < 0 ||
        !(w = rung__window_new(s, b, kind, &span, season)))
        return RUNG_ENOMEM;
    rung__window_list_add(s, b, w);
    return RUNG_OK;
}

rung_status rung__apply_window(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b = rung__board_find(s, e->window.board);
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    rung_status st = apply_window_of(s, b, e, err);
    if (st < 0 || !b->shadow)
        return st;
    rung__shadow_interrupt(s, b);
    return apply_window_of(s, b->shadow->board, e, NULL) == RUNG_ENOMEM ? RUNG_ENOMEM : st;
}

rung_status rung__window_restore(rung_state *s, rung__board *b, uint32_t kind,
                                 const rung_window *span, rung_slice season, bool closed,
                                 bool dropped, rung__window **out) {
    rung__window *w = rung__window_find(b, kind, span->ordinal, season);
    if (w) {
        rung__digest_subtract(&s->digest, window_digest(w));
        w->start_ms = span->start_ms;
        w->end_ms = span->end_ms;
        w->closed = w->closed || closed;
        rung__digest_add(&s->digest, window_digest(w));
        if (dropped && !w->dropped) /* an earlier part of a fill had it in memory */
            window_forget(s, b, w);
        note_due(s, b, w);
        *out = w;
        return RUNG_OK;
    }
    if (rung__window_list_reserve(s, b, 1) < 0 || !(w = rung__window_new(s, b, kind, span, season)))
        return RUNG_ENOMEM;
    w->closed = closed;
    w->dropped = dropped;
    if (dropped)
        rung__window_forget_rankings(s, b, w);
    rung__window_list_add(s, b, w);
    *out = w;
    return RUNG_OK;
}

bool rung__window_is_valid(const rung_board_def *def, uint32_t kind, const rung_window *span,
                           rung_slice season) {
    const int64_t slack_ms =
        INT64_C(400) *
        86400000; /* allow for a year that starts late, a zone offset and a late day start */
    rung_window calendar;
    if (kind == 0)
        return def->windows & RUNG_WINDOWS_ALL;
    if (span->start_ms >= span->end_ms || span->start_ms < RUNG_TIME_MS_MIN - slack_ms ||
        span->end_ms > RUNG_TIME_MS_END + slack_ms)
        return false;
    if (kind < RUNG_WINDOW_SEASON)
        return def->windows & RUNG_WINDOWS_BIT(kind) &&
               rung_window_span((rung_window_kind)kind, span->ordinal, NULL, 0, &calendar) ==
                   RUNG_OK;
    return rung_board_season(def, season) != NULL;
}

bool rung__key_is_valid(const rung_board_def *def, const uint64_t *key) {
    const rung_keyspec *spec = &def->key;
    rung_value values[RUNG_COLUMNS_MAX];
    int64_t at_ms;
    rung_keyspec_decode(spec, key, values, &at_ms);
    if (at_ms < RUNG_TIME_MS_MIN || at_ms >= RUNG_TIME_MS_END)
        return false;
    for (unsigned i = 0; i < spec->column_count && def->update != RUNG_UPDATE_DECAY; i++) {
        uint64_t again;
        if (spec->columns[i].type == RUNG_SCORE_REAL &&
            (rung_score_encode(&spec->columns[i], values[i], &again) < 0 || again != key[i]))
            return false;
    }
    return true;
}

/* ---- definitions ---- */

rung_digest rung__board_digest(const rung_state *s, const rung__board *b) {
    rung_slice id = rung_names_id(s->board_ids, b->number);
    uint64_t words[5] = {rung__bytes_hash(id.ptr, id.len),
                         rung__bytes_hash(b->shared->bytes.ptr, b->shared->bytes.len),
                         (uint64_t)b->created_ms, b->rule_count, (uint64_t)b->over_ms};
    rung_digest d = rung__fact_digest(RUNG__FACT_BOARD, b->serial, b->number, words, 5);
    for (uint32_t i = 0; i < b->rule_count; i++)
        rung__digest_add(&d, rung__fact_digest(RUNG__FACT_RULE, b->serial, i,
                                               (const uint64_t *)b->rules[i].from_ms, RUNG__KINDS));
    if (b->is_key || b->expiry.place) {
        uint64_t key[3] = {b->is_key, b->expiry.place != 0,
                           b->expiry.place ? (uint64_t)b->expiry.at_ms : 0};
        rung__digest_add(&d, rung__fact_digest(RUNG__FACT_KEY, b->serial, 0, key, 3));
    }
    if (b->ids.horizon_ms != INT64_MIN)
        rung__digest_add(&d, rung__ids_horizon_digest(b));
    if (b->id_serial != b->serial)
        rung__digest_add(&d,
                         rung__fact_digest(RUNG__FACT_ID_SERIAL, b->serial, b->id_serial, NULL, 0));
    return d;
}

rung_digest rung__board_digest_all(const rung_state *s, const rung__board *b) {
    rung_digest d = rung__board_digest(s, b);
    rung__digest_add(&d, rung__shadow_digest(b));
    rung__digest_add(&d, b->rate_digest);
    rung__digest_add(&d, b->rated_digest);
    rung__digest_add(&d, b->kept.digest);
    rung__digest_add(&d, rung__removed_digest(b));
    rung__digest_add(&d, b->forms.digest);
    rung__digest_add(&d, rung__editions_digest_all(b));
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung__window *w = b->windows[i];
        rung__digest_add(&d, window_digest(w));
        rung__digest_add(&d, w->entries);
    }
    return d;
}

void rung__board_renew_digests(rung__board *b) {
    for (uint32_t i = 0; i < b->window_count; i++)
        if (b->windows[i]->ladder)
            b->windows[i]->entries = rung__entries_digest(b, b->windows[i]);
}

/* Which field that cannot change would; NULL if none. */
static const char *fixed_field(const rung_board_def *a, const rung_board_def *b) {
    if (a->key.column_count != b->key.column_count)
        return "columns";
    for (unsigned i = 0; i < a->key.column_count; i++) {
        const rung_column *x = &a->key.columns[i], *y = &b->key.columns[i];
        if (x->type != y->type)
            return i ? "columns.type" : "score.type";
        if (x->decimals != y->decimals)
            return i ? "columns.decimals" : "score.decimals";
        if (x->order != y->order)
            return i ? "columns.order" : "score.order";
        if (i && !rung_slice_eq(a->column_names[i - 1], b->column_names[i - 1]))
            return "columns.name";
    }
    if (a->update != b->update)
        return "update";
    if (a->half_life_ms != b->half_life_ms)
        return "half_life";
    if (!a->sketch != !b->sketch)
        return "kind";
    if (a->sketch != b->sketch)
        return "sketch";
    if (a->sketch_memory != b->sketch_memory)
        return "memory";
    return a->key.tie != b->key.tie ? "tie" : NULL;
}

rung_status rung__def_use(rung_state *s, char *bytes, size_t size, rung__def **out, rung_err *err) {
    rung__def **slot = &s->defs[rung__bytes_hash(bytes, size) % RUNG__DEFS], *d = *slot;
    rung_status st = RUNG_OK;
    if (d && rung_slice_eq(d->bytes, rung_slice_of(bytes, size))) {
        rung_alloc_free(s->alloc, bytes, size);
        d->uses++;
        *out = d;
        return RUNG_OK;
    }
    d = rung_alloc_get(s->alloc, sizeof *d);
    st = d ? rung_board_def_decode(rung_slice_of(bytes, size), &d->def, err) : RUNG_ENOMEM;
    if (st != RUNG_OK) {
        rung_alloc_free(s->alloc, d, d ? sizeof *d : 0);
        rung_alloc_free(s->alloc, bytes, size);
        return st;
    }
    d->uses = 1;
    d->bytes = rung_slice_of(bytes, size);
    *slot = *out = d;
    return RUNG_OK;
}

void rung__def_unuse(rung_state *s, rung__def *d) {
    if (!d || --d->uses)
        return;
    rung__def **slot = &s->defs[rung__bytes_hash(d->bytes.ptr, d->bytes.len) % RUNG__DEFS];
    if (*slot == d)
        *slot = NULL;
    rung_alloc_free(s->alloc, (void *)(uintptr_t)d->bytes.ptr, d->bytes.len);
    rung_alloc_free(s->alloc, d, sizeof *d);
}

static void set_def(rung__board *b, rung__def *d) {
    b->shared = d;
    b->def = &d->def;
}

/* Take over a definition; the old one is the caller's. */
static rung_status take_def(rung_state *s, rung__board *b, const rung_board_def *def,
                            rung_err *err) {
    size_t size = 0;
    rung_status st = rung_board_def_encode(def, NULL, 0, &size);
    char *bytes = size ? rung_alloc_get(s->alloc, size) : NULL;
    if (!bytes)
        return size ? RUNG_ENOMEM : st;
    st = rung_board_def_encode(def, bytes, size, &size);
    if (st != RUNG_OK) {
        rung_alloc_free(s->alloc, bytes, size);
        return st;
    }
    rung__def *d;
    st = rung__def_use(s, bytes, size, &d, err);
    if (st == RUNG_OK)
        set_def(b, d);
    return st;
}

/* Add the definition's zone and day start as the newest rule: effective at once, or when the current windows end. */
static rung_status add_rule(rung_state *s, rung__board *b, const rung_board_def *def, bool first,
                            rung_err *err) {
    if (b->rule_count >= RUNG__RULES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "timezone", "changed too often");
    rung__rule rule = {.day_starts_min = def->day_starts_min};
    for (uint32_t kind = 0; kind < RUNG__KINDS; kind++) {
        rung_window w = {INT64_MIN, 0, INT64_MIN};
        if (!first && kind >= RUNG_WINDOW_HOUR && kind <= RUNG_WINDOW_YEAR &&
            rung__window_at(b, kind, s->time_ms, &w) != RUNG_OK)
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "timezone",
                                   "the time is outside the supported years");
        rule.from_ms[kind] = w.end_ms;
        rule.before[kind] = w.ordinal;
    }
    if (def->zone_rules.len) {
        rung_status st = rung_zone_unpack(s->alloc, def->zone_rules, &rule.zone, err);
        if (st < 0)
            return st;
    }
    rung__rule *rules = rung_alloc_resize(s->alloc, b->rules, b->rule_count * sizeof rule,
                                          (b->rule_count + 1) * sizeof rule);
    if (!rules) {
        rung_zone_destroy(rule.zone);
        return RUNG_ENOMEM;
    }
    b->rules = rules;
    b->rules[b->rule_count++] = rule;
    return RUNG_OK;
}

/* Windows that are still open follow a new rule or new dates of a season. */
static void refresh_spans(rung_state *s, rung__board *b) {
    for (uint32_t i = 0; i < b->window_count; i++) {
        rung__window *w = b->windows[i];
        rung_window span = {w->ordinal, w->start_ms, w->end_ms};
        if (w->closed || w->kind == 0)
            continue;
        if (w->kind != RUNG_WINDOW_SEASON)
            rung_ignore(rung__window_span(b, w->kind, w->ordinal, &span),
                        "it is in memory: it has a span");
        const rung_season *season = rung_board_season(b->def, w->season);
        if (w->kind == RUNG_WINDOW_SEASON && season)
            span = rung__season_span(season);
        rung__digest_subtract(&s->digest, window_digest(w));
        w->start_ms = span.start_ms;
        w->end_ms = span.end_ms;
        rung__digest_add(&s->digest, window_digest(w));
    }
}

/* Does the definition still have this kind of window? */
static bool def_has_window(const rung_board_def *def, const rung__window *w) {
    return w->kind == RUNG_WINDOW_SEASON ? rung_board_season(def, w->season) != NULL
                                         : def->windows >> w->kind & 1;
}

rung_status rung__board_use_slots(rung_state *s, rung__board *b) {
    const rung_board_def *def = b->def;
    uint32_t count = 0, team = RUNG__NONE;
    for (; count < def->scope_count; count++) {
        if (rung__attribute_use(s, def->scopes[count], &b->attribute[count]) < 0)
            return RUNG_ENOMEM;
        if (def->has_teams && rung_slice_eq(def->scopes[count], def->team_by))
            team = count;
    }
    if (def->has_teams && team == RUNG__NONE) {
        if (rung__attribute_use(s, def->team_by, &b->attribute[count]) < 0)
            return RUNG_ENOMEM;
        team = count++;
    }
    b->scope_count = count;
    b->team_slot = team;
    return RUNG_OK;
}

/* Rearrange a window's slots from the old attributes to the board's present ones; new ones are filled. */
static rung_status arrange_slots(rung_state *s, rung__board *b, rung__window *w,
                                 const uint32_t *old, uint32_t old_count, bool teams_changed) {
    rung__scope before[RUNG__SCOPE_SLOTS];
    bool have[RUNG__SCOPE_SLOTS] = {false};
    if (teams_changed)
        rung__ranking_drop_teams(s, w);
    if (w->sketch) { /* a fact names the slot; a new scope begins without the past */
        rung_digest facts = rung__sketches_digest(w);
        rung__digest_subtract(&s->digest, facts);
        rung__digest_subtract(&w->entries, facts);
    }
    memcpy(before, w->scopes, sizeof before);
    memset(w->scopes, 0, sizeof w->scopes);
    for (uint32_t i = 0; i < b->scope_count; i++)
        for (uint32_t j = 0; j < old_count; j++)
            if (old[j] == b->attribute[i]) {
                w->scopes[i] = before[j];
                memset(&before[j], 0, sizeof before[j]);
                have[i] = true;
            }
    rung__window gone = {0};
    memcpy(gone.scopes, before, sizeof before);
    for (uint32_t j = 0; j < old_count; j++)
        rung__ranking_drop_slot(s, b, &gone, j);
    if (w->sketch) {
        rung_digest facts = rung__sketches_digest(w);
        rung__digest_add(&s->digest, facts);
        rung__digest_add(&w->entries, facts);
    }
    for (uint32_t i = 0; i < b->scope_count; i++)
        if (!have[i] && rung__ranking_fill_slot(s, b, w, i) < 0)
            return RUNG_ENOMEM;
    if (teams_changed && b->team_slot != RUNG__NONE)
        return rung__ranking_fill_teams(s, b, w);
    return RUNG_OK;
}

/* A new kind of window (or season) starts with the known scores that were reached inside it. */
static rung_status seed_window(rung_state *s, rung__board *b, uint32_t kind,
                               const rung_window *span, rung_slice season) {
    rung__window *all = rung__window_find(b, 0, 0, (rung_slice){NULL, 0}), *w = NULL;
    bool known = (b->def->update == RUNG_UPDATE_BEST || b->def->update == RUNG_UPDATE_LAST) &&
                 rung_tie_keeps_time(b->def->key.tie);
    if (!all || !known || !rung__window_takes_scores(s, b, span->end_ms, NULL) ||
        !rung__window_may_open(s, b, 1, 0))
        return RUNG_OK;
    rung_ladder_cursor c = rung_ladder_seek(all->ladder, 0);
    rung_ladder_entry e;
    while (rung_ladder_next(&c, &e)) {
        rung_value values[RUNG_COLUMNS_MAX];
        int64_t at_ms;
        rung_ladder_change change = {.style = RUNG_RANK_UNIQUE};
        rung_keyspec_decode(&b->def->key, e.key, values, &at_ms);
        if (at_ms < span->start_ms || at_ms >= span->end_ms)
            continue;
        if (!w) {
            if (rung__window_list_reserve(s, b, 1) < 0 ||
                !(w = rung__window_new(s, b, kind, span, season)))
                return RUNG_ENOMEM;
            rung__window_list_add(s, b, w);
        }
        if (rung__ranking_secure(s, b, w, e.player, true) < 0 ||
            rung__ranking_put(s, b, w, e.player, NULL, e.key, &(rung__descents){0}, &change) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

static rung_status seed_new_windows(rung_state *s, rung__board *b, const rung_board_def *old) {
    for (uint32_t kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++) {
        rung_window span;
        if (!(b->def->windows & ~old->windows & RUNG_WINDOWS_BIT(kind)))
            continue;
        if (rung__window_at(b, kind, s->time_ms, &span) == RUNG_OK &&
            seed_window(s, b, kind, &span, (rung_slice){NULL, 0}) < 0)
            return RUNG_ENOMEM;
    }
    for (uint32_t i = 0; i < b->def->season_count; i++) {
        const rung_season *season = &b->def->seasons[i];
        rung_window span = rung__season_span(season);
        if (rung_board_season(old, season->name) || s->time_ms < season->starts_ms ||
            s->time_ms >= season->ends_ms)
            continue;
        if (seed_window(s, b, RUNG_WINDOW_SEASON, &span, season->name) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

uint64_t rung__serial_new(rung_state *s) {
    if (s->made_seq != s->seq) {
        s->made_seq = s->seq;
        s->made = 0;
    }
    return s->made++ << RUNG__SERIAL_SEQ_BITS | s->seq;
}

bool rung__key_may_be_made(const rung_state *s) {
    return s->rules < 1 || rung_names_count(s->board_ids) < s->keys_max;
}

rung_status rung__board_create(rung_state *s, rung_slice id, const rung_board_def *def, bool is_key,
                               rung__board **out, rung_err *err) {
    uint32_t number;
    if (is_key && !rung__key_may_be_made(s))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "key", "key limit reached");
    rung_status st = rung__editions_admit(s, NULL, def, err);
    if (st < 0)
        return st;
    st = rung_names_intern(s->board_ids, id, &number);
    if (st < 0)
        return st == RUNG_ELIMIT ? RUNG_FAIL_FIELD(err, st, "board", "board limit reached") : st;
    rung__board *b = rung_alloc_zeroed(s->alloc, sizeof *b);
    if (!b || rung__grow(s->alloc, &s->boards, &s->board_cap, number + 1, sizeof *s->boards) < 0) {
        rung_alloc_free(s->alloc, b, b ? sizeof *b : 0);
        rung_names_remove(s->board_ids, number);
        return RUNG_ENOMEM;
    }
    b->number = number;
    b->serial = b->id_serial = rung__serial_new(s);
    b->version = s->seq;
    b->is_key = is_key;
    b->created_ms = s->time_ms;
    b->rate_minute = INT64_MIN;
    b->over_ms = INT64_MIN;
    b->ids.horizon_ms = INT64_MIN;
    st = take_def(s, b, def, err);
    if (st >= 0)
        st = add_rule(s, b, b->def, true, err);
    if (st >= 0)
        st = rung__board_use_slots(s, b);
    if (st >= 0 && !rung__is_hidden_name(id))
        st = rung__editions_redefine(s, b);
    if (st < 0) {
        rung__board_free(s, b);
        rung_names_remove(s->board_ids, number);
        return st;
    }
    s->boards[number] = b;
    rung__digest_add(&s->digest, rung__board_digest(s, b));
    rung__season_reset_note(s, b);
    *out = b;
    return RUNG_OK;
}

static bool has_attribute(const uint32_t *attributes, uint32_t count, uint32_t attribute) {
    for (uint32_t i = 0; i < count; i++)
        if (attributes[i] == attribute)
            return true;
    return false;
}

/* A season that has closed keeps its dates. The error names it by its index in the board's list, where seasons come
 * last. */
static rung_status check_closed_seasons(const rung__board *b, const rung_board_def *def,
                                        rung_err *err) {
    for (uint32_t i = 0; i < def->season_count; i++) {
        const rung_season *now = &def->seasons[i], *old = rung_board_season(b->def, now->name);
        const rung__window *w = rung__window_find(b, RUNG_WINDOW_SEASON, 0, now->name);
        bool starts = old && old->starts_ms != now->starts_ms;
        if (w && w->closed && old && (starts || old->ends_ms != now->ends_ms))
            return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "windows[%u].%s",
                                   "the season has closed; its dates cannot change",
                                   (uint32_t)__builtin_popcount(def->windows) + i,
                                   starts ? "starts" : "ends");
    }
    return RUNG_OK;
}

static rung_status check_change(const rung__board *b, const rung_board_def *def, rung_err *err) {
    const char *fixed = fixed_field(b->def, def);
    if (fixed)
        return RUNG_FAIL_FIELD(
            err, RUNG_EUNSUPPORTED, "%s",
            "cannot be changed on an existing board; delete it and send its scores again", fixed);
    return check_closed_seasons(b, def, err);
}

/* A redefinition in progress. */
typedef struct redefinition {
    rung__def *shared; /* the old definition, in use until the end */
    uint32_t attribute[RUNG__SCOPE_SLOTS], scope_count;
} redefinition;

/* Take the new definition, and a rule if zone or day start changed. On failure the board is as before. */
static rung_status adopt_def(rung_state *s, rung__board *b, const rung_board_def *def,
                             rung__def *old, rung_err *err) {
    rung_status st = take_def(s, b, def, err);
    if (st < 0)
        return st;
    if (!rung_slice_eq(old->def.zone_rules, b->def->zone_rules) ||
        old->def.day_starts_min != b->def->day_starts_min)
        st = add_rule(s, b, b->def, false, err);
    if (st < 0) {
        rung__def_unuse(s, b->shared);
        set_def(b, old);
    }
    return st;
}

static bool teams_differ(const rung_board_def *a, const rung_board_def *b) {
    return a->has_teams != b->has_teams || !rung_slice_eq(a->team_by, b->team_by) ||
           a->team_combine != b->team_combine || a->team_top != b->team_top;
}

/* Rank by the attributes of the new definition, in every window that it still has. */
static rung_status change_slots(rung_state *s, rung__board *b, const redefinition *old) {
    rung_status st = rung__board_use_slots(s, b);
    bool teams_changed = teams_differ(&old->shared->def, b->def);
    for (uint32_t i = b->window_count; i-- > 0;)
        if (!def_has_window(b->def, b->windows[i]))
            rung__window_remove(s, b, i);
    for (uint32_t i = 0; st >= 0 && i < b->window_count; i++)
        st = arrange_slots(s, b, b->windows[i], old->attribute, old->scope_count, teams_changed);
    for (uint32_t i = 0; st >= 0 && i < old->scope_count; i++) {
        if (!has_attribute(b->attribute, b->scope_count, old->attribute[i]))
            rung__stash_drop_attribute(s, b->serial, old->attribute[i]);
        rung__attribute_unuse(s, old->attribute[i]);
    }
    for (uint32_t i = 0; st >= 0 && b->has_stash && i < b->scope_count; i++)
        if (!has_attribute(old->attribute, old->scope_count, b->attribute[i]))
            rung__stash_add_attribute(s, b, i);
    return st;
}

static rung_status change_windows(rung_state *s, rung__board *b, const rung_board_def *old) {
    memset(b->current, 0, sizeof b->current);
    refresh_spans(s, b);
    rung_status st = seed_new_windows(s, b, old);
    if (st < 0)
        return st;
    enforce_keep(s, b);
    recompute_next_close(s);
    return RUNG_OK;
}

rung_status rung__board_change(rung_state *s, rung__board *b, const rung_board_def *def,
                               rung_err *err) {
    rung_status st = check_change(b, def, err);
    if (st >= 0)
        st = rung__editions_admit(s, b, def, err);
    if (st < 0)
        return st;
    redefinition old = {.shared = b->shared, .scope_count = b->scope_count};
    memcpy(old.attribute, b->attribute, sizeof old.attribute);
    rung_digest before = rung__board_digest(s, b);
    st = adopt_def(s, b, def, old.shared, err);
    if (st < 0)
        return st;
    bool same = rung_slice_eq(old.shared->bytes, b->shared->bytes) && !b->is_key;
    int64_t old_grace_ms = old.shared->def.grace_ms;
    if (!same)
        b->version = s->seq;
    if (old_grace_ms != b->def->grace_ms && s->time_ms - old_grace_ms > b->over_ms)
        b->over_ms = s->time_ms - old_grace_ms;
    if (b->is_key && s->rules >= 1)
        rung__expiry_clear(s, b->number); /* the client that set it need not be an admin */
    b->is_key = false;
    rung__digest_subtract(&s->digest, before);
    rung__digest_add(&s->digest, rung__board_digest(s, b));
    rung__form_redefine(s, b, &old.shared->def);
    /* From here on only an allocation can fail, which makes the state unusable. */
    st = change_slots(s, b, &old);
    if (st >= 0)
        st = change_windows(s, b, &old.shared->def);
    if (st >= 0)
        rung__kept_trim(s, b);
    rung__season_reset_note(s, b);
    if (st >= 0 && !b->twin && !same)
        st = rung__editions_redefine(s, b);
    rung__def_unuse(s, old.shared);
    return st < 0 ? st : same ? RUNG_UNCHANGED : RUNG_OK;
}

rung_status rung__apply_define(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b = rung__board_find(s, e->defined.board);
    if (!b && rung__set_find(s, e->defined.board))
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "board", "a set has this name");
    rung_status st = rung_sketch_def_check(&e->defined.def, err);
    if (st < 0)
        return st;
    st = b ? rung__board_change(s, b, &e->defined.def, err)
           : rung__board_create(s, e->defined.board, &e->defined.def, false, &b, err);
    /* What a shadow was made of is outdated, unless it is there for an undo. */
    if (st == RUNG_OK && b->shadow && !b->shadow->was_live && !s->is_helper)
        rung__shadow_drop(s, b);
    if (st == RUNG_OK && s->on_change)
        rung__tell_board(s, b, RUNG_CHANGE_BOARD_DEFINED);
    return st;
}

rung_status rung__apply_delete(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b = rung__board_find(s, e->deleted.board);
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    rung__board_delete(s, b);
    return RUNG_OK;
}

void rung__board_delete(rung_state *s, rung__board *b) {
    bool is_next = false; /* the next window to close may be one of its own */
    rung__shadow_drop(s, b);
    rung__editions_drop(s, b);
    if (s->on_change)
        rung__tell_board(s, b, RUNG_CHANGE_BOARD_DELETED);
    for (uint32_t i = 0; i < b->window_count; i++)
        is_next = is_next || (b->windows[i]->kind && !b->windows[i]->closed &&
                              due_ms(b, b->windows[i]) <= s->next_close_ms);
    if (b->has_stash)
        rung__stash_forget(s, b->serial, NULL);
    if (s->reviews.count)
        rung__reviews_forget_board(s, b->number);
    rung__ids_forget_board(s, b);
    while (b->window_count)
        rung__window_remove(s, b, b->window_count - 1);
    rung__digest_subtract(&s->digest, rung__board_digest(s, b));
    rung__expiry_clear(s, b->number);
    rung__digest_subtract(&s->digest, b->rate_digest);
    rung__digest_subtract(&s->digest, b->rated_digest);
    rung__digest_subtract(&s->digest, b->kept.digest);
    rung__digest_subtract(&s->digest, rung__removed_digest(b));
    rung__digest_subtract(&s->digest, b->forms.digest);
    for (uint32_t slot = 0; slot < b->scope_count; slot++)
        rung__attribute_unuse(s, b->attribute[slot]);
    s->boards[b->number] = NULL;
    s->last_board = NULL;
    rung_names_remove(s->board_ids, b->number);
    rung__board_free(s, b);
    if (is_next)
        recompute_next_close(s);
}

void rung__board_free(rung_state *s, rung__board *b) {
    s->ladders_freed++;
    for (uint32_t i = 0; i < b->window_count; i++)
        rung__window_free(s, b, b->windows[i]);
    rung_alloc_free(s->alloc, b->windows, b->window_cap * sizeof *b->windows);
    for (uint32_t i = 0; i < b->rule_count; i++)
        rung_zone_destroy(b->rules[i].zone);
    rung_alloc_free(s->alloc, b->rules, b->rule_count * sizeof *b->rules);
    rung_numbermap_deinit(&b->rate, s->alloc);
    rung__shadow_free(s, b);
    rung__editions_drop(s, b);
    rung__rated_deinit(s, b);
    rung__form_deinit(s, b);
    rung__def_unuse(s, b->shared);
    rung_alloc_free(s->alloc, b, sizeof *b);
}
