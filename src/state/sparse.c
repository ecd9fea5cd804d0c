/* SPDX-License-Identifier: Apache-2.0 */
/* A number map from players to slots of an array; freed slots form a list and are reused. */
#include "state/sparse.h"

#include "state/machine.h"

#include <string.h>

void *rung__sparse_get(const rung__sparse *t, uint32_t player) {
    uint32_t slot = rung_numbermap_get(&t->map, player);
    return slot == RUNG_NUMBER_NONE ? NULL : t->items[slot];
}

rung_status rung__sparse_put(rung__sparse *t, const rung_alloc *a, uint32_t player, void *item) {
    uint32_t slot = rung_numbermap_get(&t->map, player);
    if (slot == RUNG_NUMBER_NONE) {
        if (rung_numbermap_reserve(&t->map, a, player) < 0)
            return RUNG_ENOMEM;
        if (!t->free_head && rung__grow(a, &t->items, &t->cap, t->count + 1, sizeof *t->items) < 0)
            return RUNG_ENOMEM;
        slot = t->free_head ? t->free_head - 1 : t->count++;
        if (t->free_head)
            t->free_head = (uint32_t)(uintptr_t)t->items[slot];
        rung_numbermap_set(&t->map, player, slot);
    }
    t->items[slot] = item;
    return RUNG_OK;
}

void rung__sparse_remove(rung__sparse *t, uint32_t player) {
    uint32_t slot = rung_numbermap_get(&t->map, player);
    if (slot == RUNG_NUMBER_NONE)
        return;
    rung_numbermap_remove(&t->map, player);
    t->items[slot] = (void *)(uintptr_t)t->free_head;
    t->free_head = slot + 1;
}

void rung__sparse_deinit(rung__sparse *t, const rung_alloc *a) {
    rung_numbermap_deinit(&t->map, a);
    rung_alloc_free(a, t->items, t->cap * sizeof *t->items);
    memset(t, 0, sizeof *t);
}

uint32_t rung__list_place(const uint32_t *list, uint32_t n, uint32_t player) {
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (list[mid] < player)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
