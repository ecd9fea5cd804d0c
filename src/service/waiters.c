/* SPDX-License-Identifier: Apache-2.0 */
#include "service/waiters.h"

#include "base/assert.h"

#include <stddef.h>

static rung_hub_waiter *meld(rung_waiters *all, rung_hub_waiter *a, rung_hub_waiter *b) {
    if (!a || !b)
        return a ? a : b;
    all->steps++;
    if (b->seq < a->seq || (b->seq == a->seq && b->ticket < a->ticket)) {
        rung_hub_waiter *c = a;
        a = b;
        b = c;
    }
    b->next = a->child;
    if (b->next)
        b->next->above = b;
    b->above = a;
    a->child = b;
    a->next = a->above = NULL;
    return a;
}

/* Meld a list of siblings: in pairs, then from the last to the first. */
static rung_hub_waiter *meld_all(rung_waiters *all, rung_hub_waiter *first) {
    rung_hub_waiter *pairs = NULL, *heap = NULL;
    while (first) {
        rung_hub_waiter *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->above = NULL;
        if (b)
            b->next = b->above = NULL;
        a = meld(all, a, b);
        a->next = pairs; /* reversed */
        pairs = a;
    }
    while (pairs) {
        rung_hub_waiter *a = pairs;
        pairs = a->next;
        a->next = NULL;
        heap = meld(all, heap, a);
    }
    return heap;
}

void rung_waiters_add(rung_waiters *all, rung_hub_waiter *w) {
    RUNG_ASSERT(!w->is_waiting);
    w->is_waiting = true;
    w->ticket = all->tickets++;
    w->child = w->next = w->above = NULL;
    all->first = meld(all, all->first, w);
}

void rung_waiters_remove(rung_waiters *all, rung_hub_waiter *w) {
    if (!w->is_waiting)
        return;
    w->is_waiting = false;
    rung_hub_waiter *left = meld_all(all, w->child);
    if (w == all->first) {
        all->first = left;
    } else {
        *(w->above->child == w ? &w->above->child : &w->above->next) = w->next;
        if (w->next)
            w->next->above = w->above;
        all->first = meld(all, all->first, left);
    }
    w->child = w->next = w->above = NULL;
}

rung_hub_waiter *rung_waiters_pop(rung_waiters *all, uint64_t seq) {
    rung_hub_waiter *w = all->first;
    if (!w || w->seq > seq)
        return NULL;
    rung_waiters_remove(all, w);
    return w;
}
