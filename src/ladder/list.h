/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - who has an entry, by player number: for a walk over a ladder that survives changes in between, as no walk
 * by place does. */
#ifndef RUNG_LADDER_LIST_H
#define RUNG_LADDER_LIST_H

#include "ladder/ladder.h"

/* Players with an entry from number `from` on, ascending, at most `room`; returns how many. All of them: again from the
 * last + 1 until fewer than `room` come. Costs as rung_numbermap_list(). */
uint32_t rung_ladder_list(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room);

#endif
