/* SPDX-License-Identifier: Apache-2.0 */
/* expiry.h - keys that expire, soonest first; private to state. */
#ifndef RUNG_STATE_KEYSPACE_EXPIRY_H
#define RUNG_STATE_KEYSPACE_EXPIRY_H

#include "state/state.h"

/* When a key expires. Zero: never. */
typedef struct rung__expiry {
    int64_t at_ms;
    uint32_t place; /* 1 + its place in the heap of expiry.c; 0: it does not expire */
} rung__expiry;

/* The expiry of a board or set; NULL if nothing has the number. */
rung__expiry *rung__expiry_of(const rung_state *s, uint32_t number);
/* Reserve memory for one more. */
RUNG_NODISCARD rung_status rung__expiry_reserve(rung_state *s);
/* The key expires at at_ms. Memory was reserved; the caller updates the digest. */
void rung__expiry_set(rung_state *s, uint32_t number, int64_t at_ms);
void rung__expiry_clear(rung_state *s, uint32_t number);
/* The key has a new number, under which the tables already have it. */
void rung__expiry_renumber(rung_state *s, uint32_t number);
/* When the first key expires; INT64_MAX: none does. */
int64_t rung__expiry_next(const rung_state *s);
/* Delete every expired key. Were there any? */
bool rung__expiry_purge(rung_state *s);
const char *rung__expiry_check(const rung_state *s);

#endif
