/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes live. A pool hands out node ids; the nodes stand in slabs that grow with the pool (leaves by a
 * sixteenth, from one node up to 2 MiB), so a small ladder wastes little and a large one uses huge pages. Inner nodes
 * are few and every access passes them, so their slabs double, to reach huge pages soon. Memory is freed when the
 * ladder is cleared or destroyed; until then a freed node is reused.
 *
 * A ladder with an arena takes its nodes from there one by one: then every node is a slab.
 *
 * The first leaf is special: alone in slab 0, it starts with a few rows and doubles until it has full size, because
 * a server with a hundred thousand boards of ten players is normal. */
#include "ladder/tree.h"

#include "base/assert.h"

#include <string.h>

enum { SLAB_BYTES_MAX = 2 << 20, LEAF_SHARE = 16, PAGE = 4096 };

static size_t node_bytes(const rung_ladder *l, uint32_t columns, uint32_t cap) {
    size_t bytes =
        sizeof(rung__node) + (size_t)cap * (l->key_words * sizeof(uint64_t) +
                                            (columns + l->has_prefixes) * sizeof(uint32_t));
    return (bytes + 7) & ~(size_t)7;
}

/* Pad nodes so that none crosses a page, if that costs at most an eighth more. */
static size_t stride_of(size_t bytes) {
    size_t whole = PAGE;
    while (whole / 2 >= bytes)
        whole /= 2;
    return whole - bytes <= bytes / 8 ? whole : bytes;
}

void rung__pool_init(const rung_ladder *l, rung__pool *pool, uint32_t columns, uint32_t cap) {
    memset(pool, 0, sizeof *pool);
    pool->stride = (uint16_t)stride_of(node_bytes(l, columns, cap));
    while (!l->arena && (size_t)pool->stride << pool->shift < SLAB_BYTES_MAX)
        pool->shift++;
    pool->free_head = RUNG__NODE_NONE;
}

static void node_reset(rung__node *node, uint32_t columns, uint32_t cap) {
    memset(node, 0, sizeof *node);
    node->prev = node->next = node->parent = RUNG__NODE_NONE;
    node->cap = (uint16_t)cap;
    node->prefix_column = (uint16_t)columns;
}

/* One more slab, with `nodes` unused nodes. */
static rung_status slab_add(rung_ladder *l, rung__pool *pool, size_t bytes, uint32_t nodes) {
    if (pool->slab_count == pool->slab_cap) {
        uint32_t cap = pool->slab_cap ? pool->slab_cap + pool->slab_cap / 4 + 1 : 1;
        rung__slab *slabs = rung_alloc_resize(l->alloc, pool->slabs, pool->slab_cap * sizeof *slabs,
                                              cap * sizeof *slabs);
        if (!slabs)
            return RUNG_ENOMEM;
        l->bytes += (cap - pool->slab_cap) * sizeof *slabs;
        pool->slabs = slabs;
        pool->slab_cap = cap;
    }
    char *raw = bytes ? rung_alloc_get(l->alloc, bytes) : rung_arena_take(l->arena, pool->stride);
    if (!raw)
        return RUNG_ENOMEM;
    l->bytes += bytes;
    uint32_t first = pool->slab_count << pool->shift;
    uintptr_t base = (uintptr_t)raw - (uintptr_t)first * pool->stride;
    pool->slabs[pool->slab_count++] = (rung__slab){base, (uint32_t)bytes, 0};
    pool->node_count += nodes;
    pool->fresh_count += nodes;
    return RUNG_OK;
}

rung_status rung__pool_grow(rung_ladder *l, rung__pool *pool, uint32_t want) {
    while (rung__pool_spare(pool) < want) {
        size_t nodes = pool == &l->leaves ? pool->node_count / LEAF_SHARE : pool->node_count,
               most = (size_t)SLAB_BYTES_MAX / pool->stride,
               missing = want - rung__pool_spare(pool);
        nodes = nodes < missing ? missing : nodes;
        nodes = nodes > most ? most : nodes;
        /* A full slab takes a whole huge page: with a few bytes less the heap would not give it one. */
        size_t bytes = nodes == most ? SLAB_BYTES_MAX : nodes * pool->stride;
        if (slab_add(l, pool, l->arena ? 0 : bytes, l->arena ? 1 : (uint32_t)nodes) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

/* The next unused node. Its memory is not touched before, so the kernel need not supply it earlier. */
static uint32_t take_fresh(rung__pool *pool) {
    for (;; pool->fresh_slab++) {
        rung__slab *slab = &pool->slabs[pool->fresh_slab];
        if (slab->used < (slab->bytes ? slab->bytes / pool->stride : 1)) {
            pool->fresh_count--;
            return pool->fresh_slab << pool->shift | slab->used++;
        }
    }
}

uint32_t rung__pool_take(rung__pool *pool, uint32_t columns, uint32_t cap) {
    RUNG_ASSERT(rung__pool_spare(pool) > 0);
    uint32_t id = pool->free_head;
    if (pool->free_count) {
        pool->free_head = rung__pool_node(pool, id)->parent;
        pool->free_count--;
    } else {
        id = take_fresh(pool);
    }
    node_reset(rung__pool_node(pool, id), columns, cap);
    return id;
}

void rung__pool_give(rung__pool *pool, uint32_t id) {
    rung__node *node = rung__pool_node(pool, id);
    node->parent = pool->free_head;
    node->place = RUNG__PLACE_NONE;
    pool->free_head = id;
    pool->free_count++;
}

void rung__pool_clear(rung_ladder *l, rung__pool *pool) {
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        l->bytes -= pool->slabs[i].bytes;
        if (pool->slabs[i].bytes)
            rung_alloc_free(l->alloc, rung__pool_node(pool, i << pool->shift),
                            pool->slabs[i].bytes);
    }
    rung_alloc_free(l->alloc, pool->slabs, pool->slab_cap * sizeof *pool->slabs);
    l->bytes -= pool->slab_cap * sizeof *pool->slabs;
    *pool =
        (rung__pool){.stride = pool->stride, .shift = pool->shift, .free_head = RUNG__NODE_NONE};
}

rung_status rung__pool_fit_first_leaf(rung_ladder *l, uint32_t cap) {
    rung__pool *pool = &l->leaves;
    size_t bytes = cap == RUNG__LEAF_CAP ? pool->stride : node_bytes(l, RUNG__LEAF_COLUMNS, cap);
    if (l->root == RUNG__NODE_NONE) {
        if (slab_add(l, pool, bytes, 1) < 0)
            return RUNG_ENOMEM;
        pool->fresh_count--;
        pool->slabs[0].used = 1;
        l->root = 0;
        node_reset(rung__leaf(l, l->root), RUNG__LEAF_COLUMNS, cap);
        return RUNG_OK;
    }
    RUNG_ASSERT(l->height == 0 && pool->slab_count == 1);
    rung__node *wide = rung_alloc_get(l->alloc, bytes), *old = rung__leaf(l, l->root);
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
    pool->slabs[0].base = (uintptr_t)wide;
    pool->slabs[0].bytes = (uint32_t)bytes;
    return RUNG_OK;
}
