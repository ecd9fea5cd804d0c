/* SPDX-License-Identifier: Apache-2.0 */
/* people.h - profiles and friendships of players, and their removal; private to state. */
#ifndef RUNG_STATE_PEOPLE_H
#define RUNG_STATE_PEOPLE_H

#include "state/board.h"

typedef struct rung__friends {
    uint32_t *following, *followers; /* following ascending, followers in no order */
    uint32_t following_count, following_cap, followers_count, followers_cap;
} rung__friends;

typedef struct rung__profile {
    uint32_t count;
    uint32_t bytes; /* of the packed attributes */
    char packed[];  /* each: u8 length, name, u16 little-endian length, value */
} rung__profile;

RUNG_NODISCARD rung_status rung__apply_profile(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_erase(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_friend(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_friends(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_remove_entry(rung_state *s, const rung_event *e,
                                                    rung_err *err);
/* p follows q. RUNG_OK, RUNG_UNCHANGED or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__follow(rung_state *s, uint32_t p, uint32_t q);
/* Sort ascending and drop repetitions; returns how many are left. */
uint32_t rung__sort_unique(uint32_t *list, uint32_t n);
/* Remove a player from all windows of a board and from what bans hold of it. RUNG_OK or RUNG_UNCHANGED. */
/* The same in the rankings and bans alone. */
void rung__entry_take_out(rung_state *s, rung__board *b, uint32_t player);
rung_status rung__entry_remove(rung_state *s, rung__board *b, uint32_t player);
/* The next attribute of a packed profile; *offset begins at 0. */
bool rung__profile_next(const rung__profile *p, uint32_t *offset, rung_attribute *out);
/* The digest of all players, recomputed for the self-check. */
rung_digest rung__people_digest_all(const rung_state *s);
void rung__people_deinit(rung_state *s);

#endif
