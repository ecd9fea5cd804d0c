/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - the memory that all connections hold together: counted, and bounded by cutting off the largest. */
#include "front/net/conn.h"

/* Output counts only once the socket has not taken it: what leaves with this turn is no burden. */
static size_t memory_held(const rung_conn *c) {
    if (c->state == RUNG__CONN_CLOSING)
        return 0;
    size_t input = c->kept.size + (c->tls ? c->tls->kept.size : 0) + c->session_held;
    size_t queued = c->out.memory + (c->tls ? c->tls->wire.memory : 0);
    return input + (c->writing ? queued : 0);
}

void rung__conn_count_held(rung_conn *c) {
    size_t held = memory_held(c);
    c->net->held += held;
    c->net->held -= c->held;
    c->held = held;
    if (c->writing && c->out.unstuck_count && c->state != RUNG__CONN_CLOSING)
        rung__queue_stick(&c->out, &c->net->pool);
}

static size_t all_held(const rung_net *n) {
    return n->held + n->pool.stuck;
}

/* What closing it would free, if no other connection holds its blobs. */
static size_t weight(const rung_conn *c) {
    return c->held + (c->writing && c->state != RUNG__CONN_CLOSING ? c->out.blobs : 0);
}

/* Cut off the largest, then those an eighth smaller, and so on down to a share, until an eighth of all is free. */
static void make_room(rung_net *n, size_t share) {
    size_t enough = n->config.held_max / 8 * 7, above = share;
    for (const rung_conn *c = n->all.first; c; c = c->all.next)
        above = weight(c) > above ? weight(c) : above;
    while (above > share && all_held(n) > enough) {
        size_t less = above - (above / 8 + 1);
        above = less > share ? less : share;
        for (rung_conn *c = n->all.first; c && all_held(n) > enough; c = c->all.next)
            if (weight(c) > above)
                rung__conn_cut_off(c);
    }
}

/* Invariant 6. Called when `c` has come to hold more. Making room once in a turn is enough: afterwards there is room,
 * or only `c` holds more than a share. */
void rung__conn_stay_within(rung_conn *c) {
    rung_net *n = c->net;
    size_t max = n->config.held_max, share = max / n->stats.open;
    if (all_held(n) <= max || weight(c) <= share)
        return;
    uint64_t turn = n->config.loop->turn.number + 1; /* never 0 */
    if (n->shed_turn != turn)
        make_room(n, share);
    n->shed_turn = turn;
    if (all_held(n) > max)
        rung__conn_cut_off(c);
}

void rung_conn_hold(rung_conn *c, size_t bytes) {
    if (bytes == c->session_held)
        return;
    bool is_more = bytes > c->session_held;
    c->session_held = bytes;
    rung__conn_count_held(c);
    if (is_more && c->state != RUNG__CONN_CLOSING)
        rung__conn_stay_within(c);
}
