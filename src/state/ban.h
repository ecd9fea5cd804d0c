/* SPDX-License-Identifier: Apache-2.0 */
/* ban.h - a ban and the entries it holds until it ends (the stash); private to state. */
#ifndef RUNG_STATE_BAN_H
#define RUNG_STATE_BAN_H

#include "state/board.h"

/* An entry that a ban took out. */
typedef struct rung__stashed {
    uint64_t board_serial;
    uint64_t window_tag;
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    uint32_t values[RUNG__SCOPE_SLOTS]; /* the scopes it was in, for closed windows */
    uint32_t attributes[RUNG__SCOPE_SLOTS];
    uint32_t scope_count;
} rung__stashed;

typedef struct rung__ban {
    int64_t until_ms; /* when the server lifts it; 0: never by itself */
    bool is_shadow;   /* the player is not told: see ghost.c */
    uint32_t count, cap;
    rung__stashed entries[];
} rung__ban;

/* The next banned player from *player on; NULL at the end. Walks over the bans, since few players are banned while
 * keys come and go often. */
rung__ban *rung__ban_next(const rung_state *s, uint32_t *player);
/* Do bans hold entries of a board? */
bool rung__stash_has(const rung_state *s, uint64_t board_serial);
/* A board's number changed: sort the entries that bans hold of it again. */
void rung__stash_sort(rung_state *s, uint64_t board_serial);
/* A board, or one window of it, was deleted: forget what bans hold of it. */
void rung__stash_forget(rung_state *s, uint64_t board_serial, const uint64_t *window_tag);
/* A board no longer ranks by an attribute: forget banned players' values there. */
void rung__stash_drop_attribute(rung_state *s, uint64_t board_serial, uint32_t attribute);
/* A board also ranks by the attribute of a slot: remember banned players' present values. Call after the dropped
 * attributes were dropped. */
void rung__stash_add_attribute(rung_state *s, const rung__board *b, uint32_t slot);
/* A banned player has an entry in a window: put it into the stash. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__stash_put(rung_state *s, uint32_t player, rung__board *b,
                                           const rung__window *w, const uint64_t *key,
                                           const uint32_t *values);
/* The entry that a ban holds of the view's window, or NULL. */
const rung__stashed *rung__held_entry(const rung_view *v, const rung__ban *ban);
/* The scope values of a stashed entry, arranged for the slots the board has now. */
void rung__stashed_values(const rung_state *s, const rung__board *b, uint32_t player,
                          const rung__stashed *e, uint32_t *values);

/* Give a stashed entry another key, and count that in the digest. */
void rung__stashed_set_key(rung_state *s, uint32_t player, rung__stashed *e, const uint64_t *key);
/* Set when a ban ends, with the state's note of the next end; and whether it is a shadow ban. Not the digest. */
void rung__ban_set_end(rung_state *s, rung__ban *ban, int64_t until_ms);
void rung__ban_set_shadow(rung_state *s, rung__ban *ban, bool is_shadow);

/* ---- for ghost.c ---- */

size_t rung__ban_bytes(uint32_t cap);
rung_digest rung__stashed_digest(uint32_t player, const rung__stashed *e);
/* The number of the board with this serial. */
uint32_t rung__stash_board(const rung_state *s, uint64_t board_serial);

RUNG_NODISCARD rung_status rung__apply_ban(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_unban(rung_state *s, const rung_event *e, rung_err *err);

#endif
