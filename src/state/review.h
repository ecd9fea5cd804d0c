/* SPDX-License-Identifier: Apache-2.0 */
/* review.h - tentative scores: submissions that count when a moderator says so (docs/boards.md, "Reviews").
 *
 *     rung_review r = {0};
 *     while (rung_state_review_next(s, r.id, &r) == RUNG_OK)     // oldest first
 *         ...
 *     event = {.kind = RUNG_EVENT_REVIEWED, .reviewed = {r.board, r.player, r.id, RUNG_VERDICT_PROMOTE, reason}};
 *
 * Pure; as state.h. */
#ifndef RUNG_STATE_REVIEW_H
#define RUNG_STATE_REVIEW_H

#include "state/state.h"

#define RUNG_REVIEWS_MAX        10000 /* tentative scores in all */
#define RUNG_REVIEWS_PLAYER_MAX 16    /* of one player, on all boards */
/* An id is the sequence of the submission, and its number among the tentative scores of the event: Redis commands may
 * make several. In text "1234", or "1234-2". */
#define RUNG_REVIEW_PART_BITS   14
#define RUNG_REVIEW_ID_TEXT_MAX 32

typedef struct rung_review {
    uint64_t id; /* ascending in the order of submission */
    rung_slice board, player;
    const rung_board_def *def;
    int64_t ts_ms, at_ms; /* log time of the submission, and the time at which it would count */
    int64_t expires_ms;   /* the tick at or after it decides by `outcome` */
    rung_review_verdict outcome; /* reject or promote */
    bool is_delta;
    uint32_t value_count; /* 0 on a board that counts */
    rung_value values[RUNG_COLUMNS_MAX];
    uint8_t types[RUNG_COLUMNS_MAX], decimals[RUNG_COLUMNS_MAX]; /* of the values */
    rung_column score; /* of the board, when it was submitted: the type of scores in findings */
    uint32_t finding_count;
    const rung_finding *findings; /* the rules that it broke, except those that refuse */
} rung_review;

/* The first one after `after` (0: the first). RUNG_OK or RUNG_NOT_FOUND. O(log n). */
rung_status rung_state_review_next(const rung_state *s, uint64_t after, rung_review *out);
/* The one with this id. RUNG_OK or RUNG_NOT_FOUND. */
rung_status rung_state_review(const rung_state *s, uint64_t id, rung_review *out);
uint32_t rung_state_review_count(const rung_state *s);

/* A player's best tentative score in a view of a main ranking (no scope, no teams), with the score, time and ranks that
 * it would have if it was promoted now. RUNG_NOT_FOUND: there is none, or it would change nothing there. O(reviews). */
rung_status rung_view_tentative(const rung_view *v, rung_slice player, rung_row *row_out,
                                uint64_t *id_out);

/* What the rules of a board know of a player's submissions. */
typedef struct rung_history {
    uint32_t count; /* scores learned from */
    double mean, deviation;
    int64_t last_ms;
} rung_history;
/* RUNG_OK, or RUNG_NOT_FOUND: nothing is known, or no rule needs it. */
rung_status rung_state_history(const rung_state *s, rung_slice board, rung_slice player,
                               rung_history *out);

/* An id as text, and back. Returns the length, without a NUL. */
uint32_t rung_review_id_format(uint64_t id, char out[RUNG_REVIEW_ID_TEXT_MAX]);
bool rung_review_id_parse(rung_slice text, uint64_t *id_out);

#endif
