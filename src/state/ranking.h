/* SPDX-License-Identifier: Apache-2.0 */
/* ranking.h - the ladders of one window, changed together: everybody, scopes, teams; private to state. */
#ifndef RUNG_STATE_RANKING_H
#define RUNG_STATE_RANKING_H

#include "state/board.h"

/* A window's main ranking, empty. */
/* An empty ladder of the board's order, which is in no window. */
RUNG_NODISCARD rung_status rung__ranking_ladder(const rung_state *s, const rung__board *b,
                                                rung_ladder **out);
RUNG_NODISCARD rung_status rung__ranking_create(const rung_state *s, const rung__board *b,
                                                rung__window *w);
/* Create the ladder for a value of a slot, if there is none. */
RUNG_NODISCARD rung_status rung__ranking_open_value(rung_state *s, const rung__board *b,
                                                    rung__window *w, uint32_t slot, uint32_t value);
/* All memory that a put of this player in this window may need. */
RUNG_NODISCARD rung_status rung__ranking_secure(rung_state *s, rung__board *b, rung__window *w,
                                                uint32_t player, bool is_new);
struct rung__descents;

/* Put: main ranking, scopes, team, digest. `old` is the player's present key; NULL: none. Fails
 * only if the board has no scopes and the main ranking was not secured, and then changes nothing. */
RUNG_NODISCARD rung_status rung__ranking_put(rung_state *s, rung__board *b, rung__window *w,
                                             uint32_t player, const uint64_t *old,
                                             const uint64_t *key,
                                             const struct rung__descents *descents,
                                             rung_ladder_change *change);
/* Remove a player. `values` (may be NULL) receives the scope values it had. RUNG_NOT_FOUND when not ranked. */
rung_status rung__ranking_remove(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                 uint32_t *values);
/* Put back what a ban took out; in a closed window into the given scope values. */
RUNG_NODISCARD rung_status rung__ranking_restore(rung_state *s, rung__board *b, rung__window *w,
                                                 uint32_t player, const uint64_t *key,
                                                 const uint32_t *values);
/* The player's value of a slot changed from `old` to `now` (RUNG__NONE: none). The window is open. */
RUNG_NODISCARD rung_status rung__ranking_rescope(rung_state *s, rung__board *b, rung__window *w,
                                                 uint32_t slot, uint32_t player, uint32_t old,
                                                 uint32_t now);
/* The value under which a ranked player is listed in a slot; RUNG__NONE: none. */
uint32_t rung__value_in(const rung_state *s, const rung__board *b, const rung__window *w,
                        uint32_t slot, uint32_t player);
/* Fill one empty slot of a window from its main ranking, by the players' present attributes; the teams from their
 * slot. */
RUNG_NODISCARD rung_status rung__ranking_fill_slot(rung_state *s, rung__board *b, rung__window *w,
                                                   uint32_t slot);
RUNG_NODISCARD rung_status rung__ranking_fill_teams(rung_state *s, rung__board *b, rung__window *w);
void rung__ranking_drop_slot(rung_state *s, rung__board *b, rung__window *w, uint32_t slot);
void rung__ranking_drop_teams(rung_state *s, rung__window *w);
/* A team's key in the team ranking. */
uint64_t rung__team_key(const rung__board *b, const rung__window *w, uint32_t value);

/* Report to on_change, which is set. An entry that was put as `change` says; a removal, before it is made; a board. */
void rung__tell_entry(rung_state *s, const rung__board *b, const rung__window *w, uint32_t player,
                      const uint64_t *key, const rung_ladder_change *change, bool changed);
void rung__tell_removal(rung_state *s, const rung__board *b, const rung__window *w, uint32_t player,
                        const uint64_t *key);
void rung__tell_board(rung_state *s, const rung__board *b, rung_change_kind kind);

/* Make `n` entries a heap, the first in the order of the ladder on top; take the first out. */
void rung__entries_heap(const rung_ladder *l, rung_ladder_entry *list, uint32_t n);
rung_ladder_entry rung__entries_pop(const rung_ladder *l, rung_ladder_entry *list, uint32_t *n);

#endif
