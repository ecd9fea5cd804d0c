/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - the last matches of a rating board, with what they did to everybody; private to state.
 *
 * Two rings: matches, and the results of their players. Both number their items from 0 on, for ever. A player's results
 * are a chain, newest first, whose end is the first number that has left the ring. */
#ifndef RUNG_STATE_KEPT_H
#define RUNG_STATE_KEPT_H

#include "state/ratings.h"

struct rung__board;

typedef struct rung__result {
    uint32_t player; /* RUNG_PLAYER_NONE: removed from the board since, or erased */
    uint16_t side;
    bool was_new; /* the player's first match */
    int32_t place;
    uint32_t rank;
    uint64_t before; /* 1 + the number of the player's result before; 0: none */
    double expected, weight, played;
    double rating_before, rating, deviation;
    int64_t score_before, score;
} rung__result;

typedef struct rung__kept_match {
    uint64_t seq;
    int64_t at_ms, ts_ms;
    uint64_t first; /* number of its first result */
    rung_digest fact;
    uint16_t players, sides;
    uint8_t id_len;
    char id[RUNG_EVENT_ID_MAX];
} rung__kept_match;

typedef struct rung__kept {
    rung__kept_match *matches;
    rung__result *results;
    uint32_t match_cap, result_cap; /* powers of two; 0: no memory yet */
    uint64_t match_first, match_end;
    uint64_t result_first, result_end;
    rung_digest digest; /* the sum of the matches' facts */
} rung__kept;

static inline rung__kept_match *rung__kept_match_at(const rung__kept *k, uint64_t number) {
    return &k->matches[number & (k->match_cap - 1)];
}
static inline rung__result *rung__kept_result_at(const rung__kept *k, uint64_t number) {
    return &k->results[number & (k->result_cap - 1)];
}

/* Make room for one match more of `players`: the oldest ones leave. RUNG_OK; RUNG_UNCHANGED: the board keeps none so
 * large; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__kept_reserve(rung_state *s, struct rung__board *b,
                                              uint32_t players);
/* Then append it: the head, and its results, whose `before` is filled in here. */
void rung__kept_append(rung_state *s, struct rung__board *b, const rung__kept_match *head,
                       const rung__result *results);
/* Let the oldest leave until as many are kept as the definition says. */
void rung__kept_trim(rung_state *s, struct rung__board *b);
/* The player's results are nobody's from now on; `last` is 1 + the number of the newest. */
void rung__kept_forget(rung_state *s, struct rung__board *b, uint64_t last);
/* The match with that sequence; NULL: not kept. */
rung__kept_match *rung__kept_find(const rung__kept *k, uint64_t seq);
/* Which matches the board leaves out, ascending; `count` is at most RUNG_MATCHES_REMOVED_MAX. RUNG_OK or
 * RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__removed_set(rung_state *s, struct rung__board *b,
                                             const uint64_t *seqs, uint32_t count);
rung_digest rung__removed_digest(const struct rung__board *b);
void rung__kept_deinit(rung_state *s, struct rung__board *b); /* memory alone */
size_t rung__kept_bytes(const rung__kept *k);
const char *rung__kept_check(const struct rung__board *b);

#endif
