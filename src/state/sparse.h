/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - a table from players to pointers, for what only some players have; private to state. */
#ifndef RUNG_STATE_SPARSE_H
#define RUNG_STATE_SPARSE_H

#include "base/numbermap.h"

typedef struct rung__sparse { /* zero is empty */
    rung_numbermap map;
    void **items;
    uint32_t count, cap; /* slots in use, allocated */
    uint32_t free_head;  /* 1 + the first free slot; free slots form a list through `items` */
} rung__sparse;

void *rung__sparse_get(const rung__sparse *t, uint32_t player); /* NULL: none */
RUNG_NODISCARD rung_status rung__sparse_put(rung__sparse *t, const rung_alloc *a, uint32_t player,
                                            void *item);
/* The caller frees the item first. */
void rung__sparse_remove(rung__sparse *t, uint32_t player);
void rung__sparse_deinit(rung__sparse *t, const rung_alloc *a);

/* The index of `player` in an ascending list, or where it would be inserted. */
uint32_t rung__list_place(const uint32_t *list, uint32_t n, uint32_t player);

#endif
