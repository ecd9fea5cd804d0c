/* SPDX-License-Identifier: Apache-2.0 */
/* Folding the ranges of a histogram in one pass over the sorted ranges.
 *
 * The ranges form a binary trie with empty levels left out. Ranges inside come
 * first, so a stack of finished subtrees is enough: when a range arrives, all
 * pairs of subtrees that meet below the place where it joins are finished. A
 * subtree offers at most one range upwards, its `offer`: the only one it has if
 * it is light, else the one that a q-digest (Shrivastava, Buragohain, Agrawal,
 * Suri 2004) would have at its root.
 *
 * Folding only whole subtrees keeps what is known about heavy regions apart
 * from what is known about light ones. On ordinary scores the bounds are a
 * third and the errors a tenth of those of a q-digest of equal size, but
 * nothing limits the number of ranges that are left: 64 levels of light ranges
 * may surround one heavy key. Folding families, as a q-digest does, leaves at
 * most 3 * count / step.
 *
 * The result overlaps the input: it is written from slot 0, the input ends at
 * `end`. A range that was folded away and is not the last one written leaves a
 * hole; when the writer meets the reader, the holes are closed. Folding removes
 * more than it writes, so there is room then. */
#include "sketch/ranges.h"

#include "base/assert.h"

enum { NONE = -1, DEPTH_MAX = 68 };

typedef struct subtree {
    uint64_t last;
    uint32_t level;
    uint64_t weight; /* keys in it */
    int64_t offer;   /* slot of a range with a count of at most `step`, or NONE */
} subtree;

typedef struct folding {
    rung__range *slots;
    uint64_t step;
    bool is_by_family;
    uint32_t read, written, depth;
    subtree stack[DEPTH_MAX];
} folding;

static bool is_hole(rung__range r) {
    return r.packed == 0;
}

static void close_holes(folding *f) {
    uint32_t to = 0;
    int64_t moved[DEPTH_MAX];
    for (uint32_t i = 0; i < f->depth; i++)
        moved[i] = f->stack[i].offer;
    for (uint32_t from = 0; from < f->written; from++) {
        for (uint32_t part = 0; part < f->depth; part++)
            if (f->stack[part].offer == from)
                moved[part] = to;
        if (!is_hole(f->slots[from]))
            f->slots[to++] = f->slots[from];
    }
    for (uint32_t i = 0; i < f->depth; i++)
        f->stack[i].offer = moved[i];
    f->written = to;
}

static int64_t write_range(folding *f, rung__range r) {
    if (f->written == f->read)
        close_holes(f);
    RUNG_ASSERT(f->written < f->read);
    f->slots[f->written] = r;
    return f->written++;
}

static void erase(folding *f, int64_t slot) {
    f->slots[slot] = (rung__range){0, 0};
    while (f->written && is_hole(f->slots[f->written - 1]))
        f->written--;
}

/* The level at which two ranges or subtrees meet. */
static uint32_t meeting(uint64_t a_last, uint32_t a_level, uint64_t b_last, uint32_t b_level) {
    uint64_t bits = a_last ^ b_last;
    uint32_t level = bits ? 64 - (uint32_t)__builtin_clzll(bits) : 0;
    level = level > a_level ? level : a_level;
    return level > b_level ? level : b_level;
}

/* The `parts` subtrees on top of the stack become one at `level`, with `own`
 * keys counted at the range itself. */
static void join(folding *f, uint32_t parts, uint64_t last, uint32_t level, uint64_t own) {
    subtree *below = &f->stack[f->depth - parts];
    uint64_t sum = own, weight = own;
    uint32_t offers = own > 0;
    int64_t offer = NONE;
    for (uint32_t i = 0; i < parts; i++) {
        weight += below[i].weight;
        if (below[i].offer != NONE) {
            sum += rung__range_count(f->slots[below[i].offer]);
            offer = below[i].offer;
            offers++;
        }
    }
    f->depth -= parts;
    if ((f->is_by_family ? sum : weight) <= f->step && offers >= 2) {
        for (uint32_t i = parts; i-- > 0;)
            if (below[i].offer != NONE)
                erase(f, below[i].offer);
        offer = write_range(f, rung__range_of(last, level, sum));
    } else if (own) {
        offer = write_range(f, rung__range_of(last, level, own));
        offer = own <= f->step ? offer : NONE;
    } else if (sum > f->step) {
        offer = NONE;
    }
    f->stack[f->depth++] = (subtree){last, level, weight, offer};
}

static void join_top_two(folding *f, uint32_t level) {
    uint64_t last = f->stack[f->depth - 1].last | rung__range_mask(level);
    join(f, 2, last, level, 0);
}

static uint32_t top_meeting(const folding *f) {
    const subtree *a = &f->stack[f->depth - 2], *b = &f->stack[f->depth - 1];
    return meeting(a->last, a->level, b->last, b->level);
}

static void take(folding *f, rung__range r) {
    uint32_t level = rung__range_level(r), parts = 0;
    if (f->depth) {
        const subtree *top = &f->stack[f->depth - 1];
        uint32_t joint = meeting(top->last, top->level, r.last, level);
        while (f->depth >= 2 && top_meeting(f) < joint)
            join_top_two(f, top_meeting(f));
        if (joint == level) /* the range contains the top, and perhaps the one below it */
            parts = f->depth >= 2 && top_meeting(f) == level ? 2 : 1;
    }
    join(f, parts, r.last, level, rung__range_count(r));
}

uint32_t rung__ranges_fold(rung__range *slots, uint32_t end, uint32_t n, uint64_t step,
                           bool is_by_family) {
    folding f = {.slots = slots, .step = step, .is_by_family = is_by_family, .read = end - n};
    while (f.read < end)
        take(&f, slots[f.read++]);
    while (f.depth >= 2)
        join_top_two(&f, top_meeting(&f));
    close_holes(&f);
    return f.written;
}
