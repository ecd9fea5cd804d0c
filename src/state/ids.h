/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h - submissions seen before, by id; private to state. */
#ifndef RUNG_STATE_IDS_H
#define RUNG_STATE_IDS_H

#include "ladder/names.h"
#include "model/event.h"
#include "state/state.h"

struct rung__board;

/* A submission seen before, and its answer. */
typedef struct rung__id_record {
    uint64_t body; /* hash of what a repetition must repeat */
    int64_t effective_ms;
    uint32_t prev, next;             /* in the list of all */
    uint32_t board_prev, board_next; /* in the board's list */
    struct rung__board *board;       /* whose list it is in; NULL below level 1 */
    uint32_t next_player;            /* RUNG__NONE: nobody above, or erased since */
    bool changed, has_next, tentative;
    uint8_t value_count;
    uint32_t rank_before, rank, total, passed;
    uint64_t seq;
    double percentile;
    rung_value values[RUNG_COLUMNS_MAX];
    rung_value gap;
} rung__id_record;

typedef struct rung__ids {
    rung_names *table; /* board serial + id -> record number */
    rung__id_record **chunks;
    uint32_t chunk_count;
    uint32_t first, last; /* in order of arrival; RUNG__NONE when empty */
    uint32_t capacity;
    int64_t keep_ms;
    int64_t horizon_ms;
    struct rung__board **largest; /* boards that have ids: a heap, the one with the most on top */
    uint32_t largest_count, largest_cap;
    size_t bytes;
} rung__ids;

/* A board's share of the remembered ids, since level 1. */
typedef struct rung__board_ids {
    uint32_t count;
    uint32_t first, last; /* in order of arrival, while count > 0 */
    uint32_t place;       /* 1 + its place in rung__ids.largest; 0 without ids */
    int64_t horizon_ms;   /* ids older than this were dropped for lack of room; INT64_MIN: none */
} rung__board_ids;

RUNG_NODISCARD rung_status rung__ids_create(rung_state *s, const rung_state_config *config);
void rung__ids_destroy(rung_state *s);
rung_status rung__apply_ids(rung_state *s, const rung_event *e, rung_err *err);

/* RUNG_DUPLICATE (out filled), RUNG_ECONFLICT, RUNG_ESTALE, RUNG_EFUTURE, or RUNG_NOT_FOUND: never seen. */
rung_status rung__ids_look(rung_state *s, const struct rung__board *b, const rung_score_event *e,
                           rung_outcome *out);
/* Reserve a record for an id that is not remembered. `old_out`: it is the record of the same id, still in the list
 * though too old to count. Then either remember it, or give a new one back with unclaim. */
RUNG_NODISCARD rung_status rung__ids_claim(rung_state *s, const struct rung__board *b,
                                           rung_slice id, uint32_t *record_out, bool *old_out);
void rung__ids_unclaim(rung_state *s, uint32_t record);
void rung__ids_remember(rung_state *s, struct rung__board *b, uint32_t record, bool old,
                        const rung_score_event *e, const rung_outcome *out);

/* Give every board its list of ids, when level 1 begins or a state of that level was loaded. Forgets the ids of deleted
 * boards. */
RUNG_NODISCARD rung_status rung__ids_share_out(rung_state *s);
/* Two boards exchange their ids, with the serial by which those know them. */
void rung__ids_swap(rung_state *s, struct rung__board *a, struct rung__board *b);
void rung__ids_forget_board(rung_state *s, struct rung__board *b);
void rung__ids_forget_player(rung_state *s, uint32_t player);

size_t rung__ids_count(const rung_state *s);
rung__id_record *rung__ids_record(const rung_state *s, uint32_t i);
/* Append a record under its key in the table: the board's serial as 8 little-endian bytes, then the id.
 * RUNG_UNCHANGED: there is one already. */
RUNG_NODISCARD rung_status rung__ids_restore(rung_state *s, rung_slice key,
                                             const rung__id_record *record);

rung_digest rung__ids_horizon_digest(const struct rung__board *b);
/* Recomputed from all records, for the self-check. */
rung_digest rung__ids_digest_all(const rung_state *s);
const char *rung__ids_check(const rung_state *s);

#endif
