/* SPDX-License-Identifier: Apache-2.0 */
/* set.h - a set of members under a number of its own among the boards; private to state. */
#ifndef RUNG_STATE_KEYSPACE_SET_H
#define RUNG_STATE_KEYSPACE_SET_H

#include "base/numbermap.h"
#include "state/keyspace/expiry.h"
#include "state/state.h"

typedef struct rung__set {
    uint32_t number;
    uint32_t count;
    uint64_t serial, version; /* as a board's */
    rung__expiry expiry;
    uint32_t *list; /* ascending, while there are few members */
    uint32_t list_cap;
    rung_numbermap *map; /* instead, once there were many; its values are unused */
} rung__set;

rung__set *rung__set_find(const rung_state *s, rung_slice name);
RUNG_NODISCARD rung_status rung__set_create(rung_state *s, rung_slice name, rung__set **out,
                                            rung_err *err);
void rung__set_delete(rung_state *s, rung__set *set);
void rung__set_free(rung_state *s, rung__set *set);
rung_digest rung__set_digest(const rung_state *s, const rung__set *set); /* without its members */
rung_digest rung__set_digest_all(const rung_state *s, const rung__set *set);
bool rung__set_has(const rung__set *set, uint32_t player);
/* RUNG_OK, RUNG_UNCHANGED or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__set_add(rung_state *s, rung__set *set, uint32_t player);
rung_status rung__set_remove(rung_state *s, rung__set *set, uint32_t player);
/* Members from `from` on, ascending; returns how many. */
uint32_t rung__set_list(const rung__set *set, uint32_t from, uint32_t *players, uint32_t room);
size_t rung__set_memory(const rung__set *set);
const char *rung__set_check(const rung_state *s, const rung__set *set);

#endif
