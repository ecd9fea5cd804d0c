/* SPDX-License-Identifier: Apache-2.0 */
/* A software pipeline over a run of submissions.
 *
 * Each tick advances every submission in flight by one stage: the one whose turn is next does its last stage, the one
 * behind it the last but one, and so on. A stage reads what its predecessor prefetched a tick earlier, so cache misses
 * of about twenty submissions overlap with the work of applying others.
 *
 * Applying a submission may change what a later one has already read. The ladder's descents allow for that
 * (ladder/pipeline.h), and a second submission of a player in flight is not prepared at all. Ladders that are freed end
 * all preparations. */
#include "state/lookahead.h"

#include "state/attribute.h"

#include <string.h>

/* ---- stages of one submission ---- */

static void drop(rung__prepared *p) {
    p->player = RUNG_PLAYER_NONE;
    p->is_ready = false;
    p->count = p->slot_count = p->descent_count = 0;
}

static void hash_player(const rung_state *s, rung__prepared *p) {
    drop(p);
    p->hash = rung_names_hash(s->players, p->event->player);
    rung_names_prefetch(s->players, p->hash);
}

/* A player in flight already is left to its turn: what the submission before changes is not known yet. */
static void find_player(const rung_state *s, rung__prepared *p, bool is_in_flight) {
    if (is_in_flight ||
        rung_names_find_hashed(s->players, p->hash, p->event->player, &p->player) != RUNG_OK)
        p->player = RUNG_PLAYER_NONE;
}

/* Find the windows reached. Leaves a->board NULL if they are too many or not all open. */
static void learn_windows(rung_state *s, rung__lookahead *a, const rung__prepared *p,
                          int64_t at_ms) {
    rung__reach reached[RUNG__REACH_MAX];
    int64_t before_ms = s->time_ms;
    a->board = NULL;
    if (at_ms < RUNG_TIME_MS_MIN || at_ms >= RUNG_TIME_MS_END)
        return;
    s->time_ms = p->time_ms; /* as it will be when it is applied */
    uint32_t count = rung__reach_windows(s, p->board, at_ms, reached);
    s->time_ms = before_ms;
    if (count > RUNG__LOOKAHEAD_WINDOWS)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (!reached[i].window)
            return;
        a->windows[i] = reached[i].window;
    }
    a->count = count;
    a->board = p->board;
    a->serial = p->board->serial;
    a->time_ms = p->time_ms;
    a->at_ms = at_ms;
}

/* Which windows the submission reaches. Windows close only as time passes, so at the same time they are the same for
 * the whole run. */
static void reach_windows(rung_state *s, rung__lookahead *a, rung__prepared *p) {
    const rung_score_event *e = p->event;
    if (p->player == RUNG_PLAYER_NONE)
        return;
    rung__board *b = p->board = rung__board_find(s, e->board);
    p->time_ms = p->ts_ms > s->time_ms ? p->ts_ms : s->time_ms;
    if (!b || b->def->sketch || rung__score_check(b, e, NULL) < 0)
        return;
    int64_t at_ms = e->has_at ? e->at_ms : p->time_ms;
    if (a->board != b || a->serial != b->serial || a->time_ms != p->time_ms || a->at_ms != at_ms)
        learn_windows(s, a, p, at_ms);
    if (!a->board)
        return;
    for (uint32_t i = 0; i < a->count; i++) {
        p->reached[i].window = a->windows[i];
        p->reached[i].fresh = false;
        rung_descent_init(&p->descents[i], a->windows[i]->ladder, p->player);
    }
    p->count = p->descent_count = a->count;
    p->slot_count = b->scope_count < RUNG__LOOKAHEAD_SLOTS ? b->scope_count : RUNG__LOOKAHEAD_SLOTS;
    for (uint32_t slot = 0; slot < p->slot_count; slot++)
        rung_numbermap_prefetch(&s->attributes[b->attribute[slot]].of_player, p->player);
    p->serial = b->serial;
}

/* The scope ladders that the player is in. */
static void find_scopes(const rung_state *s, rung__prepared *p) {
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        uint32_t value = rung__value_of(s, p->board, slot, p->player);
        for (uint32_t i = 0; i < p->count; i++) {
            const rung__scope *scope = &p->reached[i].window->scopes[slot];
            p->slots[i][slot].ladder = value < scope->cap ? scope->ladders[value] : NULL;
            p->slots[i][slot].pair = NULL;
        }
    }
}

static void prefetch_scopes(const rung__prepared *p, int part) {
    for (uint32_t slot = 0; slot < p->slot_count; slot++)
        for (uint32_t i = 0; i < p->count; i++)
            if (p->slots[i][slot].ladder)
                rung_ladder_prefetch(p->slots[i][slot].ladder, part);
}

/* Descend in the scope ladders of the i-th window reached. */
static void begin_scopes(rung__prepared *p, uint32_t i) {
    const rung__reach *r = &p->reached[i];
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        rung__slot_descents *d = &p->slots[i][slot];
        if (!d->ladder)
            continue;
        d->pair = &p->descents[p->descent_count];
        p->descent_count += 2;
        rung_descent_init_guided(&d->pair[0], &d->pair[1], d->ladder, p->player,
                                 r->existed ? r->old_key : NULL, r->key);
    }
}

/* Compute the new keys, and so where the entries go. */
static void find_keys(rung__prepared *p) {
    const rung_score_event *e = p->event;
    int64_t at_ms = e->has_at ? e->at_ms : p->time_ms;
    for (uint32_t i = 0; i < p->count; i++) {
        rung__reach *r = &p->reached[i];
        rung_ladder_entry entry;
        r->existed = rung_descent_entry(&p->descents[i], &entry) == RUNG_OK;
        if (r->existed)
            memcpy(r->old_key, entry.key, sizeof r->old_key);
        if (rung__score_become(p->board, e, at_ms, r) < 0) {
            drop(p);
            return;
        }
        rung_descent_set_key(&p->descents[i], r->key);
        begin_scopes(p, i);
    }
    p->is_ready = p->count > 0;
}

/* ---- all submissions in flight ---- */

/* In the order in which a submission goes through them; the descents' own stages follow. */
enum { HASH, NUMBER, CELL, REACH, LEAVES, PLAYERS, ROWS, KEYS, DOWN };
enum { STAGES = DOWN + RUNG_DESCENT_STAGES - RUNG_DESCENT_DOWN };
_Static_assert((int)STAGES < (int)RUNG__LOOKAHEAD_RING, "as many are in flight at a time");

/* The submission at a stage, or NULL. `is_full`: there is one at every stage. */
static inline rung__prepared *at_stage(rung__lookahead *a, uint32_t stage, bool is_full) {
    uint32_t i = a->tick - stage;
    return is_full || i < a->n ? &a->ring[i % RUNG__LOOKAHEAD_RING] : NULL;
}

/* Count the submission at a stage as in flight. Is another one of the same player in flight before it? */
static bool enter_flight(rung__lookahead *a, uint32_t stage) {
    uint32_t i = a->tick - stage;
    uint64_t hash = a->ring[i % RUNG__LOOKAHEAD_RING].hash;
    if (!a->in_flight[hash % RUNG__LOOKAHEAD_HASHES]++)
        return false;
    for (uint32_t k = a->turn; k < i; k++)
        if (a->ring[k % RUNG__LOOKAHEAD_RING].hash == hash)
            return true;
    return false;
}

static inline void descend(rung__lookahead *a, uint32_t stage, bool is_full) {
    uint32_t first = is_full ? RUNG_DESCENT_DOWN_LAST : a->first_down;
    rung__prepared *p = stage < first ? NULL : at_stage(a, DOWN + stage - first, is_full);
    if (p)
        rung_descent_advance(p->descents, p->descent_count, stage);
}

/* Advance every submission by one stage. First the stages that compute; then, close together, those that prefetch from
 * pages not touched before, so that their page walks overlap. */
__attribute__((always_inline)) static inline void advance_all(rung_state *s, rung__lookahead *a,
                                                              bool is_full) {
    rung__prepared *p;
#pragma GCC unroll 9
    for (uint32_t stage = RUNG_DESCENT_STAGES; stage-- > RUNG_DESCENT_DOWN;)
        if (stage != RUNG_DESCENT_DOWN_LEAF)
            descend(a, stage, is_full);
    if ((p = at_stage(a, KEYS, is_full)))
        find_keys(p);
    if ((p = at_stage(a, ROWS, is_full))) {
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_ROW);
        prefetch_scopes(p, 2);
    }
    if ((p = at_stage(a, REACH, is_full))) {
        find_player(s, p, enter_flight(a, REACH));
        reach_windows(s, a, p);
    }
    if ((p = at_stage(a, LEAVES, is_full))) {
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_LEAF);
        find_scopes(s, p);
        prefetch_scopes(p, 0);
    }
    if ((p = at_stage(a, KEYS, is_full)))
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_UPPER);
    if ((p = at_stage(a, HASH, is_full))) {
        p->event = a->get(a->ctx, a->tick, &p->ts_ms);
        hash_player(s, p);
    }
    if ((p = at_stage(a, KEYS, is_full)))
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_INNER);
    if ((p = at_stage(a, ROWS, is_full)))
        rung_descent_advance(p->descents, p->count,
                             rung__is_brief(s, p->event) ? RUNG_DESCENT_COUNTS
                                                         : RUNG_DESCENT_RANKS);
    if ((p = at_stage(a, REACH, is_full)))
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_MAP);
    if ((p = at_stage(a, NUMBER, is_full)))
        rung_names_prefetch_number(s->players, p->hash);
    if ((p = at_stage(a, CELL, is_full)))
        rung_names_prefetch_cell(s->players, p->hash);
    if ((p = at_stage(a, PLAYERS, is_full))) {
        rung_descent_advance(p->descents, p->count, RUNG_DESCENT_PLAYERS);
        prefetch_scopes(p, 1);
    }
    descend(a, RUNG_DESCENT_DOWN_LEAF, is_full);
    a->tick++;
}

/* Usually there are no scopes and every stage has a submission; that case is compiled without those checks. */
static void advance(rung_state *s, rung__lookahead *a) {
    bool is_full = a->tick >= DOWN + RUNG_DESCENT_STAGES - RUNG_DESCENT_DOWN_LAST &&
                   a->tick < a->n && a->first_down == RUNG_DESCENT_DOWN_LAST;
    if (is_full)
        advance_all(s, a, true);
    else
        advance_all(s, a, false);
}

void rung__lookahead_begin(rung_state *s, uint32_t n, rung__lookahead_source get, const void *ctx) {
    rung__lookahead *a = s->lookahead;
    a->n = n;
    a->get = get;
    a->ctx = ctx;
    a->tick = a->turn = 0;
    a->ladders_freed = s->ladders_freed;
    a->board = NULL;
    memset(a->in_flight, 0, sizeof a->in_flight);
    /* Without scopes all descents are in main rankings. */
    a->first_down = s->attribute_cap ? RUNG_DESCENT_DOWN : RUNG_DESCENT_DOWN_LAST;
}

const rung__prepared *rung__lookahead_next(rung_state *s) {
    rung__lookahead *a = s->lookahead;
    if (a->ladders_freed != s->ladders_freed) { /* some submission may be descending in one */
        for (uint32_t i = a->turn; i < a->tick && i < a->n; i++)
            drop(&a->ring[i % RUNG__LOOKAHEAD_RING]);
        a->board = NULL;
    }
    a->ladders_freed = s->ladders_freed;
    while (a->tick < a->turn + DOWN + RUNG_DESCENT_STAGES - a->first_down)
        advance(s, a);
    const rung__prepared *p = &a->ring[a->turn++ % RUNG__LOOKAHEAD_RING];
    a->in_flight[p->hash % RUNG__LOOKAHEAD_HASHES]--;
    return p;
}
