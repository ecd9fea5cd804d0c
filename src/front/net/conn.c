/* SPDX-License-Identifier: Apache-2.0 */
/* conn.c - the life of a connection, from accept to closed. Its input is in input.c, its output in output.c, its place
 * in place.c and what it holds in hold.c.
 *
 *     NEW --> HANDSHAKE --> OPEN --rung_conn_finish--> FINISHING --all sent--> GOODBYE --sent--> LINGERING --> CLOSING
 *       \------^-------------^                            \------- without TLS -------------------^
 *
 * Between NEW and the rest a connection from a trusted proxy is in PROXY, until its header was read. A connection can
 * finish from NEW (refused for lack of a place) and during the handshake. An abort, an error or a
 * timeout leads from every state to CLOSING. enter() checks the transition and does what a state begins with.
 *
 *  1. kept.len > 0 only while the protocol waits for more bytes, is paused, or output is full.
 *  2. While the protocol or the output holds the input, nothing is read and `data` is not called.
 *  3. At most one write is in flight, over the first `writing` bytes of what goes on the wire.
 *  4. The protocol is called from the loop only: from a read, the turn, the wheel, or the end.
 *  5. In CLOSING the struct lives until the stream is closed, and nothing is sent or given any more.
 *  6. net.held is the sum of what connections hold; beyond held_max only those grow that stay within an equal share.
 *  7. A connection has a place until it is closing: common_count and the list of reserved ones count no others. */
#include "front/net/conn.h"

#include "base/assert.h"

#include <string.h>

#define STRUCTS_KEPT_BYTES (1u << 20)
#define REFUSED_MAX        64u /* connections beyond the limit that are being told so */

static void on_closed(rung_stream *s);

static const rung_stream_events events = {.room = rung__conn_room,
                                          .got = rung__conn_got,
                                          .written = rung__conn_written,
                                          .closed = on_closed};

/* ---- the turn, and reading ---- */

void rung__conn_to_turn(rung_conn *c) {
    if (c->is_in_turn || c->state == RUNG__CONN_CLOSING)
        return;
    rung_turn_want(&c->net->send);
    c->is_in_turn = true;
    RUNG_LIST_APPEND(&c->net->turn, c, turn);
}

void rung__conn_leave_turn(rung_conn *c) {
    if (!c->is_in_turn)
        return;
    RUNG_LIST_REMOVE(&c->net->turn, c, turn);
    c->is_in_turn = false;
}

/* Read for the protocol, or while lingering, when the input is discarded. */
void rung__conn_update_reading(rung_conn *c) {
    bool is_wanted =
        c->state == RUNG__CONN_LINGERING || (c->state < RUNG__CONN_FINISHING && !c->holds);
    bool wants = is_wanted && c->input == RUNG__INPUT_OPEN;
    if (wants == c->is_reading)
        return;
    c->is_reading = wants;
    if (!wants)
        rung__conn_ops(c)->read_stop(rung__conn_stream(c));
    else if (rung__conn_ops(c)->read_start(rung__conn_stream(c)) != 0)
        rung__conn_close(c, false);
}

/* ---- states ---- */

#define TO(state) (1u << RUNG__CONN_##state)

static const uint8_t edges[] = {
    [RUNG__CONN_NEW] = TO(PROXY) | TO(HANDSHAKE) | TO(OPEN) | TO(FINISHING) | TO(CLOSING),
    [RUNG__CONN_PROXY] = TO(HANDSHAKE) | TO(OPEN) | TO(FINISHING) | TO(CLOSING),
    [RUNG__CONN_HANDSHAKE] = TO(OPEN) | TO(FINISHING) | TO(CLOSING),
    [RUNG__CONN_OPEN] = TO(FINISHING) | TO(CLOSING),
    [RUNG__CONN_FINISHING] = TO(GOODBYE) | TO(LINGERING) | TO(CLOSING),
    [RUNG__CONN_GOODBYE] = TO(LINGERING) | TO(CLOSING),
    [RUNG__CONN_LINGERING] = TO(CLOSING),
    [RUNG__CONN_CLOSING] = 0,
};

static void set_own_deadline(rung_conn *c, uint32_t ms) {
    c->own_ms = rung__net_now_ms(c->net) + ms;
    rung__net_schedule(c);
}

static void enter(rung_conn *c, rung__conn_state state) {
    RUNG_ASSERT(edges[c->state] & 1u << state);
    c->state = state;
    switch (state) {
    case RUNG__CONN_PROXY:
    case RUNG__CONN_HANDSHAKE:
        set_own_deadline(c, c->net->config.handshake_ms);
        break;
    case RUNG__CONN_OPEN:
        c->own_ms = 0;
        break;
    case RUNG__CONN_FINISHING:
        c->deadline_ms = 0;
        rung__conn_update_reading(c);
        rung__conn_to_turn(c);
        break;
    case RUNG__CONN_GOODBYE:
        rung__tls_goodbye(c->tls);
        break;
    case RUNG__CONN_LINGERING:
        if (c->kept.data)
            rung__conn_drop_input(c);
        set_own_deadline(c, c->net->config.linger_ms);
        rung__conn_update_reading(c);
        break;
    case RUNG__CONN_NEW:
    case RUNG__CONN_CLOSING:
        break;
    }
}

void rung__conn_opened(rung_conn *c) {
    if (c->state == RUNG__CONN_HANDSHAKE)
        enter(c, RUNG__CONN_OPEN);
}

void rung__conn_close(rung_conn *c, bool with_reset) {
    if (c->state == RUNG__CONN_CLOSING)
        return;
    enter(c, RUNG__CONN_CLOSING);
    c->is_reading = false;
    rung__conn_leave_place(c);
    rung__queue_unstick(&c->out, &c->net->pool);
    rung__conn_leave_turn(c);
    rung__net_unschedule(c);
    if (!c->is_in_data)
        rung__conn_drop_input(c); /* not while the protocol reads it */
    rung__conn_count_held(c);
    rung__conn_ops(c)->close(rung__conn_stream(c), with_reset);
}

void rung__conn_cut_off(rung_conn *c) {
    c->net->stats.cut_off += c->state != RUNG__CONN_CLOSING;
    rung__conn_close(c, true);
}

/* ---- birth and death ---- */

/* The spare struct serves to refuse a connection when there is no memory. */
static rung_conn *struct_take(rung_net *n, bool *is_spare_out) {
    rung_conn *c = n->idle_structs;
    if (c) {
        n->idle_structs = c->all.next;
        n->idle_struct_count--;
        memset(c, 0, n->conn_size);
    } else if ((c = rung_alloc_zeroed(n->config.alloc, n->conn_size))) {
        n->stats.memory += n->conn_size;
    } else if ((c = n->spare)) {
        n->spare = NULL;
        memset(c, 0, n->conn_size);
        *is_spare_out = true;
    } else {
        return NULL;
    }
    c->net = n;
    c->kept.alloc = n->config.alloc;
    return c;
}

static void struct_give(rung_conn *c) {
    rung_net *n = c->net;
    if (!n->spare) {
        n->spare = c;
        return;
    }
#if !defined(__SANITIZE_ADDRESS__)
    if (n->idle_struct_count < STRUCTS_KEPT_BYTES / n->conn_size) {
        c->all.next = n->idle_structs;
        n->idle_structs = c;
        n->idle_struct_count++;
        return;
    }
#endif
    n->stats.memory -= n->conn_size;
    rung_alloc_free(n->config.alloc, c, n->conn_size);
}

static void on_closed(rung_stream *s) {
    rung_conn *c = s->ctx;
    rung_net *n = c->net;
    if (c->session)
        c->protocol->closed(c);
    rung__queue_clear(&c->out, &n->pool);
    rung__tls_session_destroy(c->tls);
    rung__conn_drop_input(c);
    RUNG_LIST_REMOVE(&n->all, c, all);
    n->stats.open--;
    struct_give(c);
    rung__net_closed(n);
}

/* Tell a connection that there is no place for it, unless the protocol has no words for that or too many are being
 * told already. */
static void refuse(rung_conn *c) {
    const rung__listener *l = c->listener;
    rung_net *n = c->net;
    n->stats.refused++;
    if (l->tls || !l->protocol->busy.len || n->told_count == REFUSED_MAX) {
        rung__conn_close(c, true);
        return;
    }
    c->place = RUNG__PLACE_TOLD;
    n->told_count++;
    rung_conn_write(c, l->protocol->busy);
    rung_conn_finish(c);
}

void rung__conn_open(rung_conn *c) {
    const rung__listener *l = c->listener;
    rung_net *n = c->net;
    if (l->tls && rung__tls_session_create(l->tls, &n->pool, &c->tls) != RUNG_OK) {
        rung__conn_close(c, true);
        return;
    }
    enter(c, c->tls ? RUNG__CONN_HANDSHAKE : RUNG__CONN_OPEN);
    c->session = l->protocol->opened(l->ctx, c);
    if (!c->session) {
        rung__conn_close(c, true);
        return;
    }
    rung__conn_update_reading(c);
}

static void begin(rung_conn *c) {
    c->net->stats.accepted++;
    if (!rung__conn_awaits_header(c)) {
        rung__conn_open(c);
        return;
    }
    enter(c, RUNG__CONN_PROXY);
    rung__conn_update_reading(c);
}

void rung__conn_accept(rung__listener *l) {
    rung_net *n = l->net;
    bool is_spare = false;
    rung_conn *c = struct_take(n, &is_spare);
    l->is_waiting = !c;
    if (!c)
        return; /* no other arrives until it is accepted: rung__net_closed() tries again */
    rung_stream *s = rung__conn_stream(c);
    s->loop = n->config.loop;
    s->events = &events;
    s->ctx = c;
    c->listener = l;
    c->protocol = l->protocol;
    RUNG_LIST_PREPEND(&n->all, c, all);
    n->stats.open++;
    if (rung__conn_ops(c)->accept(l->from, s) != 0 || is_spare)
        rung__conn_close(c, true);
    else if (!rung__conn_find_place(c))
        refuse(c);
    else
        begin(c);
}

/* ---- the end ---- */

void rung_conn_finish(rung_conn *c) {
    if (c->state < RUNG__CONN_FINISHING)
        enter(c, RUNG__CONN_FINISHING);
}

void rung_conn_abort(rung_conn *c) {
    rung__conn_close(c, true);
}

/* All is sent: close our side, and give the peer a moment to read it. Closing a socket with unread input would reset
 * the connection, and the peer might lose our last answer. */
static void say_goodbye(rung_conn *c) {
    if (c->tls && c->state == RUNG__CONN_FINISHING) {
        enter(c, RUNG__CONN_GOODBYE);
        if (c->tls->wire.size) {
            rung__conn_to_turn(c);
            return;
        }
    }
    if (c->input != RUNG__INPUT_OPEN || rung__conn_ops(c)->shutdown(rung__conn_stream(c)) != 0)
        rung__conn_close(c, false);
    else
        enter(c, RUNG__CONN_LINGERING);
}

/* Is it finished, and all sent that can be? */
static bool is_all_said(const rung_conn *c) {
    if ((c->state != RUNG__CONN_FINISHING && c->state != RUNG__CONN_GOODBYE) || c->writing)
        return false;
    if (!c->tls)
        return !c->out.size;
    return !c->tls->wire.size && (!c->out.size || !rung__tls_is_open(c->tls));
}

/* Input first: its answers leave with the same write. */
void rung__conn_turn(rung_conn *c) {
    if (c->due & RUNG__DUE_WOKEN && c->state < RUNG__CONN_FINISHING) {
        c->due &= ~RUNG__DUE_WOKEN;
        if (c->protocol->woken)
            c->protocol->woken(c);
    }
    if (c->due & RUNG__DUE_INPUT && c->state < RUNG__CONN_FINISHING)
        rung__conn_take_up(c);
    if (c->state != RUNG__CONN_CLOSING)
        rung__conn_flush(c);
    rung__conn_check_drained(c);
    if (is_all_said(c))
        say_goodbye(c);
}

void rung__conn_expire(rung_conn *c) {
    uint64_t now = rung__net_now_ms(c->net);
    if (c->own_ms && c->own_ms <= now) {
        c->net->stats.timed_out += c->state != RUNG__CONN_LINGERING;
        rung__conn_close(c, c->state != RUNG__CONN_LINGERING);
        return;
    }
    if (c->write_ms && c->write_ms <= now) {
        size_t left = rung__conn_ops(c)->unwritten(rung__conn_stream(c));
        if (left >= c->write_left) {
            c->net->stats.timed_out++;
            rung__conn_close(c, true);
            return;
        }
        c->write_left = left;
        c->write_ms = now + c->net->config.write_timeout_ms;
    }
    if (c->deadline_ms && c->deadline_ms <= now) {
        c->deadline_ms = 0;
        if (c->protocol->expired) {
            c->protocol->expired(c);
        } else {
            c->net->stats.timed_out++;
            rung__conn_close(c, true);
        }
    }
    if (c->state != RUNG__CONN_CLOSING)
        rung__net_schedule(c);
}

void rung__conn_stop(rung_conn *c) {
    if (c->state >= RUNG__CONN_FINISHING)
        return;
    if (c->session && c->protocol->stopping)
        c->protocol->stopping(c);
    else
        rung_conn_finish(c);
}

void rung_conn_deadline(rung_conn *c, uint32_t ms) {
    if (c->state >= RUNG__CONN_FINISHING)
        return;
    c->deadline_ms = ms ? rung__net_now_ms(c->net) + ms : 0;
    if (ms)
        rung__net_schedule(c);
}

void rung_conn_switch(rung_conn *c, const rung_protocol *protocol, void *session) {
    c->protocol = protocol;
    c->session = session;
    c->deadline_ms = 0;
    if (c->kept.len && !c->is_in_data) {
        c->due |= RUNG__DUE_INPUT;
        rung__conn_to_turn(c);
    }
}

/* ---- what is known ---- */

void *rung_conn_session(const rung_conn *c) {
    return c->session;
}

rung_net *rung_conn_net(const rung_conn *c) {
    return c->net;
}

bool rung_conn_is_tls(const rung_conn *c) {
    return c->tls != NULL;
}

bool rung_conn_is_finished(const rung_conn *c) {
    return c->state >= RUNG__CONN_FINISHING;
}
