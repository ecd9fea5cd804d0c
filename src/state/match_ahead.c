/* SPDX-License-Identifier: Apache-2.0 */
/* Each tick advances every match in flight by one stage. A stage reads what its predecessor prefetched a tick earlier,
 * so the cache misses of a dozen matches overlap (as lookahead.c does for scores; there the new keys are known as
 * well).
 *
 * A match in flight may change what a later one has already read: a player who was not known may be by then, and a card
 * may be there that was not. So only what was found counts at the turn. Nothing that is found can go away: within a run
 * there are only matches. Ladders that are freed in between (a window closes) end the preparations. */
#include "state/match_ahead.h"

#include "ladder/pipeline.h"
#include "state/machine.h"
#include "state/match.h"

/* ---- stages of one match ---- */

static void name_players(const rung_state *s, rung__seats *t) {
    rung_match_cursor c = {.rest = t->event->packed};
    rung_match_entry e;
    t->count = t->ladder_count = 0;
    t->board = NULL;
    while (t->count < RUNG__SEATS && rung_match_next(&c, &e)) {
        uint32_t i = t->count++;
        t->names[i] = e.player;
        t->hashes[i] = rung_names_hash(s->players, e.player);
        t->numbers[i] = RUNG_PLAYER_NONE;
        t->cards[i] = RUNG_NUMBER_NONE;
        rung_names_prefetch(s->players, t->hashes[i]);
    }
}

/* The rankings that most matches reach: those of the windows used last. */
static void find_ladders(rung__seats *t) {
    const rung__board *b = t->board;
    for (uint32_t kind = 0; b && kind < RUNG__KINDS && t->ladder_count < RUNG__SEATS_LADDERS;
         kind++)
        if (b->current[kind] && b->current[kind]->ladder)
            t->ladders[t->ladder_count++] = b->current[kind]->ladder;
}

static void find_players(const rung_state *s, rung__seats *t) {
    t->board = rung__board_find(s, t->event->board);
    find_ladders(t);
    for (uint32_t i = 0; i < t->count; i++) {
        if (rung_names_find_hashed(s->players, t->hashes[i], t->names[i], &t->numbers[i]) !=
            RUNG_OK)
            t->numbers[i] = RUNG_PLAYER_NONE;
        if (t->numbers[i] == RUNG_PLAYER_NONE || !t->board)
            continue;
        rung_numbermap_prefetch(&t->board->rated_of, t->numbers[i]);
        rung_names_prefetch_id(s->players, t->numbers[i], 0);
    }
}

static void prefetch_ladders(const rung__seats *t, int part) {
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t k = 0; t->numbers[i] != RUNG_PLAYER_NONE && k < t->ladder_count; k++)
            rung_ladder_prefetch_player(t->ladders[k], t->numbers[i], part);
}

static void find_cards(rung__seats *t) {
    for (uint32_t i = 0; t->board && i < t->count; i++) {
        if (t->numbers[i] == RUNG_PLAYER_NONE)
            continue;
        t->cards[i] = rung_numbermap_get(&t->board->rated_of, t->numbers[i]);
        if (t->cards[i] != RUNG_NUMBER_NONE) {
            const char *card = (const char *)&t->board->rated[t->cards[i]];
            rung_prefetch(card);
            rung_prefetch(card + sizeof(rung__rated) - 1);
        }
    }
}

/* ---- all matches in flight ---- */

enum { NAME, NUMBER, CELL, FIND, CARDS, LEAVES, ROWS, STAGES };
_Static_assert((int)STAGES < (int)RUNG__SEATS_RING, "as many are in flight at a time");

static void advance(const rung_state *s, rung__match_ahead *a) {
    for (uint32_t stage = STAGES; stage-- > 0;) {
        uint32_t i = a->tick - stage;
        if (i >= a->n || i < a->turn)
            continue;
        rung__seats *t = &a->ring[i % RUNG__SEATS_RING];
        switch (stage) {
        case NAME:
            t->event = &a->events[i]->match;
            name_players(s, t);
            break;
        case NUMBER:
            for (uint32_t k = 0; k < t->count; k++)
                rung_names_prefetch_number(s->players, t->hashes[k]);
            break;
        case CELL:
            for (uint32_t k = 0; k < t->count; k++)
                rung_names_prefetch_cell(s->players, t->hashes[k]);
            break;
        case FIND:
            find_players(s, t);
            prefetch_ladders(t, 0);
            break;
        case CARDS:
            find_cards(t);
            prefetch_ladders(t, 1);
            break;
        case LEAVES:
            prefetch_ladders(t, 2);
            break;
        default:
            break;
        }
    }
    a->tick++;
}

void rung__match_ahead_begin(rung_state *s, uint32_t n, const rung_event *const *events) {
    if (!s->match_ahead)
        s->match_ahead = rung_alloc_zeroed(s->alloc, sizeof *s->match_ahead);
    rung__match_ahead *a = s->match_ahead;
    if (!a)
        return; /* it goes without */
    a->events = events;
    a->n = n;
    a->turn = a->tick = 0;
    a->ladders_freed = s->ladders_freed;
}

const rung__seats *rung__match_ahead_next(rung_state *s, const rung_match_event *e) {
    rung__match_ahead *a = s->match_ahead;
    if (!a || a->turn >= a->n || &a->events[a->turn]->match != e)
        return NULL;
    if (a->ladders_freed != s->ladders_freed) /* what is in flight may point to one of them */
        for (uint32_t i = a->turn; i < a->tick && i < a->n; i++)
            a->ring[i % RUNG__SEATS_RING].ladder_count = 0;
    a->ladders_freed = s->ladders_freed;
    while (a->tick < a->turn + STAGES)
        advance(s, a);
    return &a->ring[a->turn++ % RUNG__SEATS_RING];
}

void rung__match_ahead_end(rung_state *s) {
    if (s->match_ahead)
        s->match_ahead->n = s->match_ahead->turn = 0;
}
