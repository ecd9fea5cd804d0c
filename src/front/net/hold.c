/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - the memory that all connections hold together: counted, and bounded by cutting off the largest. */
#include "front/net/conn.h"

/* What is queued counts from when the socket did not take it: what leaves with this turn is nobody's burden. */
static size_t memory_held(const rung_conn *c) {
    if (c->state == RUNG__CONN_CLOSING)
        return 0;
    size_t input = c->kept_size + (c->tls ? c->tls->kept_size : 0) + c->session_held;
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

/* What would be gained by its end, if it alone has the blobs that it does not take. */
static size_t weight(const rung_conn *c) {
    return c->held + (c->writing && c->state != RUNG__CONN_CLOSING ? c->out.blobs : 0);
}

static void shed(rung_conn *c) {
    c->net->stats.cut_off++;
    rung__conn_close(c, true);
}

/* Cut off the largest, then those an eighth smaller, and so on down to a share, until an eighth of all is free. */
static void make_room(rung_net *n, size_t share) {
    size_t enough = n->config.held_max / 8 * 7, above = share;
    for (const rung_conn *c = n->conns; c; c = c->next)
        above = weight(c) > above ? weight(c) : above;
    while (above > share && all_held(n) > enough) {
        size_t less = above - (above / 8 + 1);
        above = less > share ? less : share;
        for (rung_conn *c = n->conns; c && all_held(n) > enough; c = c->next)
            if (weight(c) > above)
                shed(c);
    }
}

/* 6. Called when `c` has come to hold more. Making room once in a turn is enough: afterwards there is room, or nobody
 * but the one who asks for more has more than a share. */
void rung__conn_stay_within(rung_conn *c) {
    rung_net *n = c->net;
    size_t max = n->config.held_max, share = max / n->stats.open;
    if (all_held(n) <= max || weight(c) <= share)
        return;
    uint64_t turn = n->config.loop->turn.number + 1; /* never 0 */
    if (n->shed_turn != turn)
        make_room(n, share);
    n->shed_turn = turn;
    if (all_held(n) > max && c->state != RUNG__CONN_CLOSING)
        shed(c);
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
