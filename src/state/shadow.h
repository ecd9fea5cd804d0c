/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.h - the hidden twin of a board (replay.h); private to state. */
#ifndef RUNG_STATE_SHADOW_H
#define RUNG_STATE_SHADOW_H

#include "base/bytes.h"
#include "state/board.h"
#include "state/replay.h"

/* Belongs to the board that has a shadow. The shadow is a board as well, with a number and a name that nobody can
 * write, so that ticks, bans, profiles and snapshots treat it as any other. */
typedef struct rung__shadow {
    rung__board *board; /* the hidden one */
    uint64_t job;
    rung_shadow_phase phase;
    bool was_live;
    uint32_t parts;  /* applied so far */
    uint8_t *queue;  /* events that wait for the last part, see shadow.c */
    uint32_t queued; /* bytes */
    uint32_t queue_cap;
    uint64_t queue_hash; /* of all events in it */
} rung__shadow;

/* The facts about a board's shadow: subtract before one of them changes, add after. */
rung_digest rung__shadow_digest(const rung__board *b);
/* Attach an existing board as the shadow of `b`. The caller adds the facts. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__shadow_attach(rung_state *s, rung__board *b, rung__board *hidden,
                                               uint64_t job);
/* A new board as the shadow of `b`, with its facts. */
RUNG_NODISCARD rung_status rung__shadow_create(rung_state *s, rung__board *b,
                                               const rung_board_def *def, uint64_t job,
                                               rung_err *err);
/* Delete the shadow of a board, if it has one. */
void rung__shadow_drop(rung_state *s, rung__board *b);
/* Free what belongs to a board that is being freed. */
void rung__shadow_free(rung_state *s, rung__board *b);
/* The shadow's queue cannot go on: a ban or a closed window came in between. */
void rung__shadow_interrupt(rung_state *s, rung__board *b);
void rung__shadow_interrupt_all(rung_state *s);
/* Drop every shadow that is not complete: a player was erased, and the helper may still know the name. */
void rung__shadow_drop_incomplete(rung_state *s);

/* A submission was applied to its board, with result `st`: apply it to the shadow. Returns `st`, or RUNG_ENOMEM: the
 * state is broken. */
RUNG_NODISCARD rung_status rung__shadow_score(rung_state *s, const rung_score_event *e,
                                              rung_status st);
/* The same for a match. `b` has a shadow. */
RUNG_NODISCARD rung_status rung__shadow_match(rung_state *s, rung__board *b,
                                              const rung_match_event *e, rung_status st);
/* The same for the removal of an entry. */
void rung__shadow_remove(rung_state *s, rung__board *b, uint32_t player);
/* Apply what was queued; the shadow is ready then. */
RUNG_NODISCARD rung_status rung__shadow_complete(rung_state *s, rung__board *b);
/* The hash of a queue's next event, after those before it. */
uint64_t rung__queue_hash(uint64_t before, const uint8_t *event, size_t length);
/* Walk over a queue: the next event. false: at the end, or it is not valid. */
bool rung__queue_next(rung_byte_reader *r, rung_slice *event_out);
/* Note that a player's entry in a shadow changed, if somebody wants to know. */
void rung__shadow_touch(rung_state *s, uint32_t player);

static inline bool rung__is_hidden_name(rung_slice name) {
    return name.len && name.ptr[0] == 1;
}

/* A board's own share of a fill (shadow_fill.c). */
RUNG_NODISCARD rung_status rung__apply_fill(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_swap(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_drop(rung_state *s, const rung_event *e, rung_err *err);

const char *rung__shadow_check(const rung_state *s);

#endif
