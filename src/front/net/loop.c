/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - timers, as a sorted list over the implementation's one alarm.
 *
 * 1. The list is in the order of (due_ms, serial): equal times in the order of starting.
 * 2. The alarm is set to the first one's time, or later while rung_loop_expire() runs. */
#include "front/net/loop.h"

static void set_alarm(rung_loop *l) {
    l->ops->alarm(l, l->timers ? l->timers->due_ms : UINT64_MAX);
}

static void take_out(rung_loop *l, rung_timer *t) {
    rung_timer **at = &l->timers;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->is_running = false;
}

static void put_in(rung_loop *l, rung_timer *t, uint64_t ms) {
    rung_timer **at = &l->timers;
    t->due_ms = l->now_ms + ms;
    t->serial = l->timer_serial++;
    while (*at && (*at)->due_ms <= t->due_ms)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    t->is_running = true;
}

void rung_timer_start(rung_loop *l, rung_timer *t, uint64_t ms, uint64_t repeat_ms) {
    const rung_timer *first = l->timers;
    if (t->is_running)
        take_out(l, t);
    t->repeat_ms = repeat_ms;
    put_in(l, t, ms);
    if (first == t || l->timers == t)
        set_alarm(l);
}

void rung_timer_stop(rung_loop *l, rung_timer *t) {
    bool is_first = l->timers == t;
    if (!t->is_running)
        return;
    take_out(l, t);
    if (is_first)
        set_alarm(l);
}

void rung_loop_expire(rung_loop *l) {
    uint64_t end = l->timer_serial; /* those started from here on wait for another turn */
    while (l->timers && l->timers->due_ms <= l->now_ms && l->timers->serial < end) {
        rung_timer *t = l->timers;
        take_out(l, t);
        if (t->repeat_ms)
            put_in(l, t, t->repeat_ms);
        t->call(t->ctx);
    }
    set_alarm(l);
}
