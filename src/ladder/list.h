/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - the players of a ladder by number: an iteration that stays valid while the ladder changes, unlike a
 * cursor. */
#ifndef RUNG_LADDER_LIST_H
#define RUNG_LADDER_LIST_H

#include "ladder/ladder.h"

/* Players with an entry from number `from` on, ascending, at most `room`; returns how many. To list all, call
 * again from the last + 1 until fewer than `room` come. Costs as rung_numbermap_list(). */
uint32_t rung_ladder_list(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room);

#endif
