/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - node memory for many ladders that are destroyed together.
 *
 * A ladder of thousands of entries is too small for huge pages of its own; with two hundred of them, random moves
 * cost a page walk per node. An arena puts their nodes into shared blocks that grow with the total, up to 2 MiB each.
 * Memory is freed only with the arena: a ladder keeps the nodes it has taken.
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
