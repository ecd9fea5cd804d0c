/* SPDX-License-Identifier: Apache-2.0 */
/* hold_list.h - how holds learn of changes; private to state. */
#ifndef RUNG_STATE_HOLD_LIST_H
#define RUNG_STATE_HOLD_LIST_H

#include "state/board.h"
#include "state/hold.h"

/* A player's entry in the window has changed, come or gone. `old`: its key before; NULL: there was none. */
void rung__holds_note_all(rung__window *w, uint32_t player, const uint64_t *old);
static inline void rung__holds_note(rung__window *w, uint32_t player, const uint64_t *old) {
    if (w->holds)
        rung__holds_note_all(w, player, old);
}
void rung__holds_end(rung__window *w);                   /* its rankings go */
void rung__holds_end_board(const rung__board *b);        /* or belong to another name */
void rung__holds_forget(rung_state *s, uint32_t player); /* the number will be another player's */

#endif
