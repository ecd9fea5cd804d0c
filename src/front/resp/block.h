/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - clients that wait for a member: BZPOPMIN, BZPOPMAX, BZMPOP. */
#ifndef RUNG_FRONT_RESP_BLOCK_H
#define RUNG_FRONT_RESP_BLOCK_H

#include "base/fair.h"
#include "base/hash.h"
#include "front/resp/session.h"

enum { RUNG__BLOCKED_KEYS_MAX = 1024, RUNG__WAITS_MAX = 1 << 16 };

typedef struct rung__resp_waited rung__resp_waited;

/* All clients that wait, in the order of coming. */
typedef struct rung__resp_waiters {
    RUNG_LIST(rung__resp_blocked) all;
    rung__resp_waited **keys; /* what they wait for, by name; NULL: no client ever has */
    RUNG_LIST(rung__resp_waited) touched; /* keys to look at */
    uint32_t touched_count;
    rung_hash_key hash;
    rung_fair clients, waits; /* each sender's clients, and their places in the lines of keys */
    uint64_t generation;      /* rung_access_generation() when rights were last checked */
} rung__resp_waiters;

/* Outside a transaction, when nothing of the session is in flight. */
void rung__resp_block(rung__resp_call *call);
void rung__resp_unblock(rung__resp_session *s); /* it was answered, or closes */
void rung__resp_applied(void *ctx, uint32_t count, const rung_event *const *events); /* the hub's */
/* After it: serve those whose keys have changed. */
void rung__resp_blocked_look(rung_resp *r);
/* Answer those whose time is over; true: some are left. */
bool rung__resp_blocked_due(rung_resp *r, int64_t now_ms);
/* The pop that was put for the session came back; `is_told`: with something. */
void rung__resp_pop_answered(rung__resp_session *s, bool is_told);
void rung__resp_waiters_free(rung_resp *r);

#endif
