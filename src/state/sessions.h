/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - players' sessions and the nonces used in them; private to state. state.h has the queries.
 *
 * The state knows whose a session is and until when, not its secret: that is derived from its id and a key of the
 * server (guard/signature.h). */
#ifndef RUNG_STATE_SESSIONS_H
#define RUNG_STATE_SESSIONS_H

#include "ladder/names.h"
#include "model/event.h"
#include "state/state.h"

typedef struct rung__session {
    uint32_t owner;  /* number in `owners` */
    uint32_t newer;  /* the player's next session; RUNG__NONE: none */
    uint32_t place;  /* in the heap of ends */
    uint64_t opened; /* the event that began it */
    int64_t expires_ms, window_ms;
    uint32_t nonce_count;
    uint64_t nonces[RUNG_SESSION_NONCES]; /* the highest ones that were used, ascending */
    uint8_t key_len;
    char key[]; /* the id of the key that its secret is derived from */
} rung__session;

typedef struct rung__owner {
    uint32_t oldest; /* of the player's sessions */
    uint32_t count;
} rung__owner;

typedef struct rung__sessions {
    rung_names *ids;
    rung__session **items; /* by number in `ids` */
    uint32_t cap;
    rung_names *owners; /* players that have a session */
    rung__owner *owner; /* by number in `owners` */
    uint32_t owner_cap;
    uint32_t *ends; /* numbers of sessions: a heap, the one that expires first on top */
    uint32_t end_count, end_cap;
} rung__sessions;

RUNG_NODISCARD rung_status rung__sessions_create(rung_state *s);
void rung__sessions_destroy(rung_state *s);

rung_status rung__apply_session(rung_state *s, const rung_event *e, rung_err *err);
/* End those that have expired by log time. */
void rung__sessions_purge(rung_state *s);
/* Note the nonce of a signed submission, which rung_state_check_signed() let pass. */
void rung__session_use(rung_state *s, const rung_score_event *e);
/* End the sessions of a player. false: there were none. */
bool rung__sessions_end_of(rung_state *s, rung_slice player);

/* For a loaded state: the session with a number of `ids`. Takes ownership of nothing; copies. RUNG_OK, RUNG_EINVAL,
 * RUNG_ENOMEM. Sessions of one player come in any order. */
RUNG_NODISCARD rung_status rung__session_restore(rung_state *s, uint32_t number, rung_slice player,
                                                 rung_slice key, const rung__session *from);

size_t rung__sessions_bytes(const rung_state *s);
/* Recomputed from all records, for the self-check. */
rung_digest rung__sessions_digest_all(const rung_state *s);
const char *rung__sessions_check(const rung_state *s);

#endif
