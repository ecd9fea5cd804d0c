/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted set after Redis: Pugh's skip list with a backward pointer at the lowest level and, at every level, the
 * number of steps the pointer spans, so that a descent also counts. 32 levels, a quarter of the nodes of a level
 * reach the next. The hash table doubles when it holds as many entries as buckets. Every node and every table entry
 * is a malloc block of its own, as there.
 *
 * Invariants:
 *  1. Level 0 holds all nodes in strictly ascending (key, member) order; `backward` mirrors it, NULL at the first.
 *  2. A level is a subsequence of the one below; `span` is the distance to the next node of the level, or, at
 *     its last node, the number of nodes behind it.
 *  3. The table holds exactly the nodes of level 0, each once. */
#define _GNU_SOURCE
#include "skiplist.h"

#include "base/hash.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS_MAX = 32 };

typedef struct node node;

typedef struct level {
    node *forward;
    uint64_t span;
} level;

struct node {
    uint64_t key[SKIPLIST_WORDS];
    node *backward;
    uint32_t member;
    uint32_t height;
    level levels[];
};

typedef struct dict_entry {
    struct dict_entry *next;
    node *node;
    uint32_t member;
} dict_entry;

struct skiplist {
    node *head; /* LEVELS_MAX levels, no entry */
    uint32_t height;
    uint32_t count;
    uint32_t staged;
    dict_entry **buckets;
    uint64_t bucket_count; /* a power of two */
    uint64_t rng;
    size_t bytes;
};

/* ---- memory ---- */

static void *get(skiplist *s, size_t size) {
    void *p = malloc(size);
    if (!p) {
        fprintf(stderr, "skiplist: out of memory\n");
        exit(1);
    }
    s->bytes += malloc_usable_size(p) + sizeof(size_t);
    return p;
}

static void give(skiplist *s, void *p) {
    s->bytes -= malloc_usable_size(p) + sizeof(size_t);
    free(p);
}

static node *node_create(skiplist *s, uint32_t height, uint32_t member, const uint64_t *key) {
    node *x = get(s, sizeof *x + height * sizeof(level));
    x->key[0] = key[0];
    x->key[1] = key[1];
    x->backward = NULL;
    x->member = member;
    x->height = height;
    for (uint32_t i = 0; i < height; i++)
        x->levels[i] = (level){0};
    return x;
}

/* Each further level with probability 1/4: two zero bits at the low end of a random word. */
static uint32_t random_height(skiplist *s) {
    s->rng += 0x9e3779b97f4a7c15u;
    uint64_t bits = rung_hash_word(s->rng) | (UINT64_C(1) << 62);
    return 1 + (uint32_t)__builtin_ctzll(bits) / 2;
}

/* ---- the table ---- */

static dict_entry **dict_slot(const skiplist *s, uint32_t member) {
    return &s->buckets[rung_hash_word(member) & (s->bucket_count - 1)];
}

static dict_entry *dict_find(const skiplist *s, uint32_t member) {
    dict_entry *e = *dict_slot(s, member);
    while (e && e->member != member)
        e = e->next;
    return e;
}

static void dict_double(skiplist *s) {
    dict_entry **old = s->buckets;
    uint64_t old_count = s->bucket_count;
    s->bucket_count = old_count * 2;
    s->buckets = get(s, s->bucket_count * sizeof *s->buckets);
    for (uint64_t i = 0; i < s->bucket_count; i++)
        s->buckets[i] = NULL;
    for (uint64_t i = 0; i < old_count; i++) {
        for (dict_entry *e = old[i], *next; e; e = next) {
            dict_entry **slot = dict_slot(s, e->member);
            next = e->next;
            e->next = *slot;
            *slot = e;
        }
    }
    give(s, old);
}

/* `entries` is how many the table already holds. */
static void dict_add(skiplist *s, uint32_t entries, node *x) {
    if (entries >= s->bucket_count)
        dict_double(s);
    dict_entry *e = get(s, sizeof *e), **slot = dict_slot(s, x->member);
    *e = (dict_entry){.next = *slot, .node = x, .member = x->member};
    *slot = e;
}

/* ---- order ---- */

static int key_compare(const uint64_t *a, const uint64_t *b) {
    int i = a[0] == b[0];
    return (a[i] > b[i]) - (a[i] < b[i]);
}

static bool is_before(const node *x, const uint64_t *key, uint32_t member) {
    int c = key_compare(x->key, key);
    return c ? c < 0 : x->member < member;
}

/* ---- life ---- */

skiplist *skiplist_create(uint64_t seed) {
    skiplist *s = calloc(1, sizeof *s);
    if (!s)
        exit(1);
    s->rng = seed;
    s->head = node_create(s, LEVELS_MAX, 0, (uint64_t[SKIPLIST_WORDS]){0});
    s->height = 1;
    s->bucket_count = 4;
    s->buckets = get(s, s->bucket_count * sizeof *s->buckets);
    for (uint64_t i = 0; i < s->bucket_count; i++)
        s->buckets[i] = NULL;
    return s;
}

void skiplist_destroy(skiplist *s) {
    if (!s)
        return;
    for (uint64_t i = 0; i < s->bucket_count; i++) {
        for (dict_entry *e = s->buckets[i], *next; e; e = next) {
            next = e->next;
            free(e->node);
            free(e);
        }
    }
    free(s->buckets);
    free(s->head);
    free(s);
}

/* ---- changes ---- */

static node *insert(skiplist *s, uint32_t member, const uint64_t *key) {
    node *update[LEVELS_MAX], *x = s->head;
    uint64_t rank[LEVELS_MAX];
    for (uint32_t i = s->height; i-- > 0;) {
        rank[i] = i + 1 == s->height ? 0 : rank[i + 1];
        while (x->levels[i].forward && is_before(x->levels[i].forward, key, member)) {
            rank[i] += x->levels[i].span;
            x = x->levels[i].forward;
        }
        update[i] = x;
    }
    uint32_t height = random_height(s);
    for (; s->height < height; s->height++) {
        rank[s->height] = 0;
        update[s->height] = s->head;
        s->head->levels[s->height].span = s->count;
    }
    x = node_create(s, height, member, key);
    for (uint32_t i = 0; i < height; i++) {
        level *before = &update[i]->levels[i];
        x->levels[i].forward = before->forward;
        x->levels[i].span = before->span - (rank[0] - rank[i]);
        before->forward = x;
        before->span = rank[0] - rank[i] + 1;
    }
    for (uint32_t i = height; i < s->height; i++)
        update[i]->levels[i].span++;
    x->backward = update[0] == s->head ? NULL : update[0];
    if (x->levels[0].forward)
        x->levels[0].forward->backward = x;
    s->count++;
    return x;
}

/* The last node before `x` at every level. */
static void find_update(const skiplist *s, const node *x, node **update) {
    node *at = s->head;
    for (uint32_t i = s->height; i-- > 0;) {
        while (at->levels[i].forward && is_before(at->levels[i].forward, x->key, x->member))
            at = at->levels[i].forward;
        update[i] = at;
    }
}

static void unlink_node(skiplist *s, node *x, node **update) {
    for (uint32_t i = 0; i < s->height; i++) {
        level *before = &update[i]->levels[i];
        if (before->forward == x) {
            before->span += x->levels[i].span - 1;
            before->forward = x->levels[i].forward;
        } else {
            before->span--;
        }
    }
    if (x->levels[0].forward)
        x->levels[0].forward->backward = x->backward;
    while (s->height > 1 && !s->head->levels[s->height - 1].forward)
        s->height--;
    s->count--;
}

void skiplist_put(skiplist *s, uint32_t member, const uint64_t *key) {
    dict_entry *e = dict_find(s, member);
    if (!e) {
        dict_add(s, s->count, insert(s, member, key));
        return;
    }
    node *x = e->node, *update[LEVELS_MAX], *after;
    find_update(s, x, update);
    after = x->levels[0].forward;
    if ((!x->backward || is_before(x->backward, key, member)) &&
        (!after || !is_before(after, key, member))) {
        x->key[0] = key[0]; /* it stays where it is */
        x->key[1] = key[1];
        return;
    }
    unlink_node(s, x, update);
    e->node = insert(s, member, key);
    give(s, x);
}

/* ---- loading ---- */

void skiplist_stage(skiplist *s, uint32_t member, const uint64_t *key) {
    dict_add(s, s->staged, node_create(s, random_height(s), member, key));
    s->staged++;
}

bool skiplist_link(skiplist *s, skiplist_source next, void *ctx) {
    node *last[LEVELS_MAX], *previous = NULL;
    uint64_t last_rank[LEVELS_MAX] = {0};
    skiplist_entry in;
    for (uint32_t i = 0; i < LEVELS_MAX; i++)
        last[i] = s->head;
    while (next(ctx, &in)) {
        dict_entry *e = dict_find(s, in.member);
        if (!e || key_compare(e->node->key, in.key) != 0 ||
            (previous && !is_before(previous, in.key, in.member)))
            return false;
        node *x = e->node;
        s->count++;
        for (uint32_t i = 0; i < x->height; i++) {
            last[i]->levels[i] = (level){x, s->count - last_rank[i]};
            last[i] = x;
            last_rank[i] = s->count;
        }
        if (x->height > s->height)
            s->height = x->height;
        x->backward = previous;
        previous = x;
    }
    for (uint32_t i = 0; i < s->height; i++)
        last[i]->levels[i].span = s->count - last_rank[i];
    return s->count == s->staged;
}

/* ---- queries ---- */

static void copy_out(const node *x, skiplist_entry *out) {
    *out = (skiplist_entry){.key = {x->key[0], x->key[1]}, .member = x->member};
}

uint32_t skiplist_count(const skiplist *s) {
    return s->count;
}

size_t skiplist_memory(const skiplist *s) {
    return s->bytes + malloc_usable_size((void *)(uintptr_t)s) + sizeof(size_t);
}

bool skiplist_find(const skiplist *s, uint32_t member, skiplist_entry *out) {
    const dict_entry *e = dict_find(s, member);
    if (e)
        copy_out(e->node, out);
    return e != NULL;
}

/* The rank of a node that is in the list. */
static uint64_t rank_of(const skiplist *s, const node *target) {
    const node *x = s->head;
    uint64_t rank = 0;
    for (uint32_t i = s->height; i-- > 0;) {
        const node *next;
        while ((next = x->levels[i].forward) &&
               (next == target || is_before(next, target->key, target->member))) {
            rank += x->levels[i].span;
            x = next;
        }
        if (x == target)
            break;
    }
    return rank;
}

uint32_t skiplist_rank(const skiplist *s, uint32_t member) {
    const dict_entry *e = dict_find(s, member);
    return e ? (uint32_t)rank_of(s, e->node) : 0;
}

bool skiplist_at(const skiplist *s, uint32_t index, skiplist_entry *out) {
    const node *x = s->head;
    uint64_t left = (uint64_t)index + 1;
    if (index >= s->count)
        return false;
    for (uint32_t i = s->height; i-- > 0 && left;) {
        while (x->levels[i].forward && x->levels[i].span <= left) {
            left -= x->levels[i].span;
            x = x->levels[i].forward;
        }
    }
    copy_out(x, out);
    return true;
}

/* Entries whose key compares below `limit` with `key`: 0 = less, 1 = less or equal. */
static uint64_t count_below(const skiplist *s, const uint64_t *key, int limit) {
    const node *x = s->head;
    uint64_t count = 0;
    for (uint32_t i = s->height; i-- > 0;) {
        const node *next;
        while ((next = x->levels[i].forward) && key_compare(next->key, key) < limit) {
            count += x->levels[i].span;
            x = next;
        }
    }
    return count;
}

uint32_t skiplist_count_between(const skiplist *s, const uint64_t *lo, const uint64_t *hi) {
    if (key_compare(hi, lo) < 0)
        return 0;
    return (uint32_t)(count_below(s, hi, 1) - count_below(s, lo, 0));
}

uint32_t skiplist_top(const skiplist *s, uint32_t n, skiplist_entry *out) {
    uint32_t i = 0;
    for (const node *x = s->head->levels[0].forward; x && i < n; x = x->levels[0].forward)
        copy_out(x, &out[i++]);
    return i;
}

uint32_t skiplist_around(const skiplist *s, uint32_t member, uint32_t side, skiplist_entry *out,
                         uint32_t *rank_out) {
    const dict_entry *e = dict_find(s, member);
    if (!e)
        return 0;
    const node *x = e->node;
    uint32_t before = 0, n = 0;
    uint64_t rank = rank_of(s, x);
    for (; before < side && x->backward; before++)
        x = x->backward;
    for (; x && n < before + 1 + side; x = x->levels[0].forward)
        copy_out(x, &out[n++]);
    *rank_out = (uint32_t)rank - before;
    return n;
}

/* ---- self-check ---- */

/* Invariant 2, given that every node's rank is right: a level's spans add up to what its nodes' ranks say. */
static const char *check_level(const skiplist *s, uint32_t i) {
    uint64_t rank = 0;
    for (const node *x = s->head; x; x = x->levels[i].forward) {
        const node *next = x->levels[i].forward;
        if (next && next->height <= i)
            return "2: a node stands on a level above its height";
        if (!next && x->levels[i].span != s->count - rank)
            return "2: the last span of a level is wrong";
        rank += x->levels[i].span;
        if (next && i > 0 && rank_of(s, next) != rank)
            return "2: a span is wrong";
    }
    return NULL;
}

const char *skiplist_check(const skiplist *s) {
    uint32_t n = 0;
    for (const node *x = s->head->levels[0].forward, *previous = NULL; x;
         previous = x, x = x->levels[0].forward, n++) {
        const dict_entry *e = dict_find(s, x->member);
        if (x->backward != previous)
            return "1: a backward pointer is wrong";
        if (previous && !is_before(previous, x->key, x->member))
            return "1: out of order";
        if (!e || e->node != x)
            return "3: a node is not in the table";
    }
    if (n != s->count)
        return "1: the count is wrong";
    for (uint32_t i = 0; i < s->height; i++) {
        const char *broken = check_level(s, i);
        if (broken)
            return broken;
    }
    return NULL;
}
