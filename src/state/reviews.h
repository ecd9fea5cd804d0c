/* SPDX-License-Identifier: Apache-2.0 */
/* reviews.h - the list of tentative scores; private to state. */
#ifndef RUNG_STATE_REVIEWS_H
#define RUNG_STATE_REVIEWS_H

#include "model/event.h"
#include "state/machine.h"
#include "state/review.h"

struct rung__board;

/* A submission that waits. */
typedef struct rung__review {
    uint64_t id;
    uint32_t board, player; /* numbers */
    int64_t ts_ms, at_ms, expires_ms;
    rung_value values[RUNG_COLUMNS_MAX];
    uint8_t types[RUNG_COLUMNS_MAX], decimals[RUNG_COLUMNS_MAX];
    uint8_t value_count, score_type, score_decimals, outcome;
    bool is_delta;
    bool is_left_out; /* of the shadow; in a helper process alone */
    uint32_t finding_count;
    rung_finding *findings; /* owned */
} rung__review;

/* May the player have one more? RUNG_OK, or RUNG_ELIMIT with `err`. RUNG_PLAYER_NONE: nobody known. */
RUNG_NODISCARD rung_status rung__reviews_admit(const rung_state *s, uint32_t player, rung_err *err);
/* Make sure that rung__review_add() with so many findings cannot fail. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__reviews_secure(rung_state *s, uint32_t finding_count);
/* Add a review of the event that is being applied; its id is set here. `findings` are copied. */
void rung__review_add(rung_state *s, rung__review *r, const rung_finding *findings);
/* For images: add what was saved, with its id. RUNG_OK, RUNG_ENOMEM or RUNG_EINVAL: not in order. */
RUNG_NODISCARD rung_status rung__review_restore(rung_state *s, rung__review *r,
                                                const rung_finding *findings);

/* The submission that waits, as an event of the present moment. */
rung_score_event rung__review_event(const rung_state *s, const rung__review *r);

/* A board was deleted, got another number, a player is erased or banned by a verdict. */
void rung__reviews_forget_board(rung_state *s, uint32_t board);
void rung__reviews_renumber(rung_state *s, uint32_t board, uint32_t number);
void rung__reviews_forget_player(rung_state *s, uint32_t player);

RUNG_NODISCARD rung_status rung__apply_reviewed(rung_state *s, const rung_event *e, rung_err *err);
/* Decide on what has expired. RUNG_OK, RUNG_UNCHANGED: there was nothing; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__reviews_expire(rung_state *s);

rung_digest rung__reviews_digest_all(const rung_state *s);
const char *rung__reviews_check(const rung_state *s);
void rung__reviews_deinit(rung_state *s);
size_t rung__reviews_bytes(const rung_state *s);

#endif
