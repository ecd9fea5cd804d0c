/* SPDX-License-Identifier: Apache-2.0 */
/* ghost.h - the submissions of players who are banned in the shadow; private to state. */
#ifndef RUNG_STATE_GHOST_H
#define RUNG_STATE_GHOST_H

#include "state/ban.h"

/* From begin to end. */
typedef struct rung__ghost {
    rung__board *board;
    uint32_t player;
    rung__ban *fresh; /* takes the place of the ban, with what the submission made of the entries */
    void (*on_change)(void *ctx, const rung_change *change);
} rung__ghost;

/* The number of a player who is banned in the shadow; RUNG__NONE: there is no such ban. */
uint32_t rung__ghost_find(const rung_state *s, rung_slice player);
/* Show the entries that the ban holds of the board's open windows. RUNG_OK, or RUNG_ENOMEM: nothing has changed. */
RUNG_NODISCARD rung_status rung__ghost_begin(rung_state *s, rung__board *b, uint32_t player,
                                             rung__ghost *g);
/* Take them back into the ban: as they are now, if the submission was accepted, or as they were. */
void rung__ghost_end(rung_state *s, rung__ghost *g, bool is_accepted);

#endif
