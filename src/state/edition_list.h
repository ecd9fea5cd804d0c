/* SPDX-License-Identifier: Apache-2.0 */
/* edition_list.h - a board's editions, and when the next ones are due; private to state. */
#ifndef RUNG_STATE_EDITION_LIST_H
#define RUNG_STATE_EDITION_LIST_H

#include "state/board.h"
#include "state/editions.h"

/* One edition, in one block: the rows follow, then the season's name. A row is 4 bytes player number, 8 bytes for each
 * word of the key, one byte length of the name, the name. */
typedef struct rung__edition {
    uint64_t version;
    int64_t at_ms, ordinal, start_ms, end_ms;
    rung_digest entries; /* of the window, when it was taken */
    uint32_t kind, rank, total, count;
    uint32_t size, season_len; /* of the bytes; the name's at their end */
    uint8_t bytes[];
} rung__edition;

typedef struct rung__editions {
    struct rung__board *board;
    struct rung__editions *next, **at; /* of the state's list */
    rung__edition **items;             /* of all windows, oldest first */
    uint32_t count, cap;
    int64_t
        next_ms; /* the boundary at which to look for changed windows; INT64_MAX: nothing has changed */
    bool is_noted; /* it is the next boundary */
    size_t bytes;
    rung_digest digest; /* of all of them */
} rung__editions;

/* The board has a (new) definition: begin, go on by it, or end. */
RUNG_NODISCARD rung_status rung__editions_redefine(rung_state *s, rung__board *b);
/* RUNG_OK, or RUNG_ELIMIT: with this definition all boards' editions might hold too much. */
RUNG_NODISCARD rung_status rung__editions_admit(const rung_state *s, const rung__board *except,
                                                const rung_board_def *def, rung_err *err);
/* Forget them all. */
void rung__editions_drop(rung_state *s, rung__board *b);
/* A window of the board has changed. */
void rung__editions_note(rung_state *s, rung__editions *e);
static inline void rung__editions_touch(rung_state *s, const rung__board *b) {
    if (b->editions && !b->editions->is_noted)
        rung__editions_note(s, b->editions);
}
/* Log time went on from before_ms and has reached s->next_edition_ms: take those that are due. Before the event counts.
 * RUNG_OK; RUNG_UNCHANGED: there was nothing to take; RUNG_ENOMEM: some are not taken, call it again. */
RUNG_NODISCARD rung_status rung__editions_take(rung_state *s, int64_t before_ms);
/* A player is banned or erased: forget every edition that shows them. */
void rung__editions_forget(rung_state *s, uint32_t player);

/* A board without editions was loaded whose definition asks for them. */
RUNG_NODISCARD rung_status rung__editions_begin(rung_state *s, rung__board *b);
/* Take over an edition from an image. RUNG_OK; RUNG_EINVAL: apply would not have made it, and it is the caller's. */
RUNG_NODISCARD rung_status rung__edition_restore(rung_state *s, rung__board *b, rung__edition *e);
/* After the last one, and after bans. */
void rung__editions_restored(rung_state *s);

rung_digest rung__editions_digest_all(const rung__board *b);
const char *rung__editions_check(const rung_state *s, const rung__board *b);

#endif
