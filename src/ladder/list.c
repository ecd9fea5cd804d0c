/* SPDX-License-Identifier: Apache-2.0 */
/* A tree lists its map from players to leaves; a ladder of one leaf scans it once per player listed. */
#include "ladder/list.h"

#include "ladder/tree.h"

static uint32_t list_leaf(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room) {
    rung__node *leaf = rung__leaf(l, l->root);
    const uint32_t *all = rung__column(l, leaf, RUNG__PLAYER);
    uint32_t n = 0;
    for (uint32_t last = from; n < room; last = players[n++] + 1) {
        uint32_t next = RUNG_NUMBER_NONE;
        for (uint32_t i = 0; i < leaf->n; i++)
            if (all[i] >= last && all[i] < next)
                next = all[i];
        if (next == RUNG_NUMBER_NONE)
            break;
        players[n] = next;
    }
    return n;
}

uint32_t rung_ladder_list(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room) {
    if (l->tree)
        return rung_numbermap_list(&l->tree->map, from, players, room);
    return l->root == RUNG__NODE_NONE ? 0 : list_leaf(l, from, players, room);
}
