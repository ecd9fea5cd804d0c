/* SPDX-License-Identifier: Apache-2.0 */
/* matches.h - results of matches, and questions about matches to come: the same checks for every protocol.
 *
 *     event.kind = RUNG_EVENT_MATCH; event.match = ...;                 // its board set
 *     rung_match_submit(&service, from, &event, answer, ctx, &err);     // in the answer: rung_state_match_rows()
 *
 * Access to the board is checked by the caller (RUNG_ROLE_SERVER to submit, RUNG_ROLE_READ to ask).
 * Thread: the owner of the state. */
#ifndef RUNG_SERVICE_MATCHES_H
#define RUNG_SERVICE_MATCHES_H

#include "service/service.h"
#include "state/ratings.h"

/* Propose a match. RUNG_EABSENT: no such board; RUNG_EREFUSED: it is not a rating board; or as rung_commit_put(). */
RUNG_NODISCARD rung_status rung_match_submit(const rung_service *s, rung_hub_sender from,
                                             rung_event *event, rung_hub_answer *answer, void *ctx,
                                             rung_err *err);

typedef struct rung_match_forecast {
    uint32_t side_count;
    double draw; /* probability that a pair of sides draws, on average */
    rung_prediction sides[RUNG_MATCH_PLAYERS_MAX];
} rung_match_forecast;

/* What to expect of a match between these players (their places do not matter); those without a match yet count as
 * new. The same refusals. */
RUNG_NODISCARD rung_status rung_match_predict(const rung_service *s, const rung_match_event *match,
                                              int64_t now_ms, rung_match_forecast *out,
                                              rung_err *err);

/* ---- matches that were played ---- */

/* How a player did: by the best places among `results`. */
typedef enum rung_match_outcome {
    RUNG_MATCH_WIN,
    RUNG_MATCH_DRAW,
    RUNG_MATCH_LOSS
} rung_match_outcome;
extern const char *const rung_match_outcome_words[]; /* NULL at the end */
rung_match_outcome rung_match_outcome_of(const rung_match_result *results, uint32_t count,
                                         int32_t place);

/* Find a match that the board still knows by its name: the id that was sent with it, or "@" and its sequence.
 * RUNG_EABSENT: no such board, or no such match; RUNG_EREFUSED: not a rating board. */
RUNG_NODISCARD rung_status rung_match_find(const rung_service *s, rung_slice board, rung_slice name,
                                           rung_match_info *out, rung_err *err);
/* Is it a board whose matches can be listed? The same refusals. */
RUNG_NODISCARD rung_status rung_match_check_board(const rung_service *s, rung_slice board,
                                                  rung_err *err);

/* ---- opponents ---- */

#define RUNG_OPPONENTS_MAX    100
#define RUNG_OPPONENTS_AROUND 200 /* candidates above and below */

typedef struct rung_opponent {
    rung_row row;
    double quality;  /* of a match with them, 0 to 1 */
    double expected; /* what the player may expect of it, in points */
} rung_opponent;

/* The best matches for a player among the RUNG_OPPONENTS_AROUND neighbours on either side in a view of the board's,
 * best first; of equal ones the better ranked first. The player need not be ranked there: then the neighbours of the
 * displayed rating count, of a new player's if there was no match yet. Work is bounded, whatever the view. `limit` is
 * at most RUNG_OPPONENTS_MAX. RUNG_EREFUSED: not a rating board. */
RUNG_NODISCARD rung_status rung_match_opponents(const rung_service *s, rung_slice board,
                                                const rung_view *view, rung_slice player,
                                                int64_t now_ms, uint32_t limit, rung_opponent *out,
                                                uint32_t *count_out, rung_err *err);

#endif
