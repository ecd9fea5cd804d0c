/* SPDX-License-Identifier: Apache-2.0 */
/* quarry.h - where many ladders that end together take their nodes from.
 *
 * A ladder of thousands of entries is too small for huge pages of its own; two hundred of them, moved in at random,
 * cost a page walk for every node. Here their nodes stand in blocks that grow with the whole, up to 2 MiB each.
 * Nothing is given back before all is: a ladder keeps the nodes it has taken until the quarry is destroyed.
 *
 * One thread at a time. */
#ifndef RUNG_LADDER_QUARRY_H
#define RUNG_LADDER_QUARRY_H

#include "base/alloc.h"

typedef struct rung_quarry rung_quarry; /* heap object; outlives the ladders that take from it */

/* NULL when out of memory. `alloc` outlives it. */
rung_quarry *rung_quarry_create(const rung_alloc *alloc);
void rung_quarry_destroy(rung_quarry *q); /* accepts NULL */

/* `size` bytes, a multiple of 8, for as long as the quarry lives; NULL when out of memory. */
void *rung_quarry_take(rung_quarry *q, size_t size);

size_t rung_quarry_memory(const rung_quarry *q); /* bytes held, all of them, O(1); 0 for NULL */

#endif
