/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes live. A pool hands out node ids; the nodes stand in slabs that grow with the pool (leaves by a
 * sixteenth, from one node up to 2 MiB), so a small ladder wastes little and a large one stands on huge pages. Inner
 * nodes are few, so they may double: they are on everybody's way, and should soon be on huge pages, too. Memory goes
 * back when the ladder is cleared or destroyed; until then a freed node waits for the next taker.
 *
 * A ladder with a quarry takes its nodes from there, one by one.
 *
 * The first leaf is special: alone in slab 0, it starts with a few rows and doubles until it has full size, because
 * a server with a hundred thousand boards of ten players is normal. */
#include "ladder/tree.h"

#include "base/assert.h"

#include <string.h>

enum { SLAB_BYTES_MAX = 2 << 20, LEAF_SHARE = 16 };

size_t rung__node_bytes(const rung_ladder *l, uint32_t columns, uint32_t cap) {
    size_t bytes = sizeof(rung__node) + (size_t)cap * (l->key_words * sizeof(uint64_t) +
                                                       (columns + l->has_marks) * sizeof(uint32_t));
    return (bytes + 7) & ~(size_t)7;
}

static void node_reset(rung__node *node, uint32_t columns, uint32_t cap) {
    node->prev = node->next = RUNG__NODE_NONE;
    node->n = 0;
    node->cap = (uint16_t)cap;
    node->start = node->changes = 0;
    node->mark_column = columns;
    node->starts = 0;
}

/* Room for `more` further slots and, if need be, one slab in the pool's own tables. */
static rung_status tables_reserve(rung_ladder *l, rung__pool *pool, uint32_t more, bool slab_too) {
    if (slab_too && pool->slab_count == pool->slab_cap) {
        uint32_t cap = pool->slab_cap ? pool->slab_cap + pool->slab_cap / 2 + 1 : 1;
        rung__slab *slabs = rung_alloc_resize(l->alloc, pool->slabs, pool->slab_cap * sizeof *slabs,
                                              cap * sizeof *slabs);
        if (!slabs)
            return RUNG_ENOMEM;
        l->bytes += (cap - pool->slab_cap) * sizeof *slabs;
        pool->slabs = slabs;
        pool->slab_cap = cap;
    }
    if (pool->slot_count + more > pool->slot_cap) {
        uint32_t cap = pool->slot_count + more;
        if (pool->slot_count)
            cap += cap / 4;
        rung__slot *slots = rung_alloc_resize(l->alloc, pool->slots, pool->slot_cap * sizeof *slots,
                                              cap * sizeof *slots);
        if (!slots)
            return RUNG_ENOMEM;
        l->bytes += (cap - pool->slot_cap) * sizeof *slots;
        pool->slots = slots;
        pool->slot_cap = cap;
    }
    return RUNG_OK;
}

static rung_status slab_add(rung_ladder *l, rung__pool *pool, size_t node_bytes, uint32_t nodes) {
    /* A full one takes the whole of its huge page: a few bytes less, and it would not be given one. */
    size_t used = node_bytes * nodes,
           bytes = used + node_bytes > SLAB_BYTES_MAX ? SLAB_BYTES_MAX : used;
    if (tables_reserve(l, pool, nodes, true) < 0)
        return RUNG_ENOMEM;
    char *raw = rung_alloc_get(l->alloc, bytes);
    if (!raw)
        return RUNG_ENOMEM;
    l->bytes += bytes;
    pool->slabs[pool->slab_count++] = (rung__slab){(rung__node *)raw, bytes};
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t id = pool->slot_count++;
        pool->slots[id].node =
            (rung__node *)(raw + i * node_bytes); /* not touched before it is taken */
    }
    for (uint32_t i = 1; i <= nodes; i++) /* last first, so that ids are taken in ascending order */
        rung__pool_give(pool, pool->slot_count - i);
    return RUNG_OK;
}

static rung_status node_add(rung_ladder *l, rung__pool *pool, size_t node_bytes) {
    if (tables_reserve(l, pool, 1, false) < 0)
        return RUNG_ENOMEM;
    rung__node *node = rung_quarry_take(l->quarry, node_bytes);
    if (!node)
        return RUNG_ENOMEM;
    pool->slots[pool->slot_count].node = node;
    rung__pool_give(pool, pool->slot_count++);
    return RUNG_OK;
}

rung_status rung__pool_reserve(rung_ladder *l, rung__pool *pool, uint32_t columns, uint32_t cap,
                               uint32_t want) {
    while (pool->free_count < want) {
        size_t bytes = rung__node_bytes(l, columns, cap);
        if (l->quarry) {
            if (node_add(l, pool, bytes) < 0)
                return RUNG_ENOMEM;
            continue;
        }
        size_t nodes = pool == &l->leaves ? pool->slot_count / LEAF_SHARE : pool->slot_count,
               most = SLAB_BYTES_MAX / bytes;
        size_t missing = want - pool->free_count;
        nodes = nodes < missing ? missing : nodes;
        nodes = nodes > most ? most : nodes;
        if (slab_add(l, pool, bytes, (uint32_t)nodes) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

uint32_t rung__pool_take(rung__pool *pool, uint32_t columns, uint32_t cap) {
    RUNG_ASSERT(pool->free_count > 0);
    uint32_t id = pool->free_head;
    rung__slot *slot = &pool->slots[id];
    pool->free_head = slot->parent;
    pool->free_count--;
    slot->parent = RUNG__NODE_NONE;
    slot->place = slot->start = 0;
    node_reset(slot->node, columns, cap);
    return id;
}

void rung__pool_give(rung__pool *pool, uint32_t id) {
    pool->slots[id].parent = pool->free_head;
    pool->slots[id].place = RUNG__PLACE_NONE;
    pool->free_head = id;
    pool->free_count++;
}

void rung__pool_deinit(rung_ladder *l, rung__pool *pool) {
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        l->bytes -= pool->slabs[i].bytes;
        rung_alloc_free(l->alloc, pool->slabs[i].nodes, pool->slabs[i].bytes);
    }
    rung_alloc_free(l->alloc, pool->slabs, pool->slab_cap * sizeof *pool->slabs);
    rung_alloc_free(l->alloc, pool->slots, pool->slot_cap * sizeof *pool->slots);
    l->bytes -= pool->slab_cap * sizeof *pool->slabs + pool->slot_cap * sizeof *pool->slots;
    memset(pool, 0, sizeof *pool);
    pool->free_head = RUNG__NODE_NONE;
}

rung_status rung__pool_fit_first_leaf(rung_ladder *l, uint32_t cap) {
    rung__pool *pool = &l->leaves;
    size_t bytes = rung__node_bytes(l, RUNG__LEAF_COLUMNS, cap);
    if (l->root == RUNG__NODE_NONE) {
        if (slab_add(l, pool, bytes, 1) < 0)
            return RUNG_ENOMEM;
        l->root = rung__pool_take(pool, RUNG__LEAF_COLUMNS, cap);
        return RUNG_OK;
    }
    RUNG_ASSERT(l->height == 0 && pool->slab_count == 1);
    rung__node *wide = rung_alloc_get(l->alloc, bytes), *old = pool->slots[0].node;
    if (!wide)
        return RUNG_ENOMEM;
    node_reset(wide, RUNG__LEAF_COLUMNS, cap);
    wide->n = old->n;
    wide->starts = old->starts;
    for (uint32_t k = 0; k < l->key_words; k++)
        memcpy(rung__words(wide, k), rung__words(old, k), old->n * sizeof(uint64_t));
    memcpy(rung__column(l, wide, RUNG__PLAYER), rung__column(l, old, RUNG__PLAYER),
           old->n * sizeof(uint32_t));
    l->bytes += bytes - pool->slabs[0].bytes;
    rung_alloc_free(l->alloc, old, pool->slabs[0].bytes);
    pool->slabs[0] = (rung__slab){wide, bytes};
    pool->slots[0].node = wide;
    return RUNG_OK;
}
