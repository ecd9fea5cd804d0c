/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - where many ladders that end together take their nodes from.
 *
 * A ladder of thousands of entries is too small for huge pages of its own; two hundred of them, moved in at random,
 * cost a page walk for every node. Here their nodes stand in blocks that grow with the whole, up to 2 MiB each.
 * Nothing is given back before all is: a ladder keeps the nodes it has taken until the arena is destroyed.
 *
 * One thread at a time. */
#ifndef RUNG_LADDER_ARENA_H
#define RUNG_LADDER_ARENA_H

#include "base/alloc.h"

typedef struct rung_arena rung_arena; /* heap object; outlives the ladders that take from it */

/* NULL when out of memory. `alloc` outlives it. */
rung_arena *rung_arena_create(const rung_alloc *alloc);
void rung_arena_destroy(rung_arena *q); /* accepts NULL */

/* `size` bytes, a multiple of 8, for as long as the arena lives; NULL when out of memory. */
void *rung_arena_take(rung_arena *q, size_t size);

size_t rung_arena_memory(const rung_arena *q); /* bytes held, all of them, O(1); 0 for NULL */

#endif
