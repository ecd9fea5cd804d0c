/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - bytes are read into the loop's buffer and given to the protocol at once. Only what it leaves is copied into
 * `kept`. While much is kept, the next bytes are read right behind it. */
#include "front/net/conn.h"

#include "base/assert.h"

#include <string.h>

#define KEPT_LARGE 16384u /* kept input behind which more is read in place */

static void end_input(rung_conn *c) {
    if (c->input == RUNG__INPUT_OPEN)
        c->input = RUNG__INPUT_ENDED;
}

static bool kept_reserve(rung_conn *c, size_t room) {
    size_t before = c->kept.size;
    bool has_room = rung_buffer_reserve(&c->kept, room);
    c->net->stats.memory += c->kept.size - before;
    rung__conn_count_held(c);
    return has_room;
}

void rung__conn_drop_input(rung_conn *c) {
    c->net->stats.memory -= c->kept.size;
    rung_buffer_deinit(&c->kept);
    rung__conn_count_held(c);
}

/* False: the connection was cut off, for lack of memory or because all connections hold too much. */
static bool keep(rung_conn *c, rung_slice bytes) {
    bool has_room = kept_reserve(c, bytes.len);
    rung__conn_stay_within(c);
    if (!has_room)
        rung__conn_cut_off(c);
    if (c->state == RUNG__CONN_CLOSING)
        return false;
    rung_buffer_put(&c->kept, bytes.ptr, bytes.len);
    return true;
}

static uint32_t input_max(const rung_conn *c) {
    return c->protocol->input_max ? c->protocol->input_max : 65536;
}

/* Behind much kept plain input; otherwise the loop's buffer, so that a little input needs little memory. */
struct iovec rung__conn_room(rung_stream *s) {
    rung_conn *c = s->ctx;
    if (c->kept.len < KEPT_LARGE || c->tls || c->state >= RUNG__CONN_FINISHING)
        return (struct iovec){c->net->read_buffer, RUNG__READ_SIZE};
    if (kept_reserve(c, 4096)) /* it must not be closed here */
        return (struct iovec){c->kept.data + c->kept.len, c->kept.size - c->kept.len};
    return (struct iovec){NULL, 0}; /* reported as broken */
}

/* Call the protocol; `bytes` are in `kept` or elsewhere. What it leaves is in `kept` afterwards. */
static void deliver(rung_conn *c, rung_slice bytes) {
    bool is_kept = bytes.ptr == c->kept.data;
    const rung_protocol *before = c->protocol;
    c->is_in_data = true;
    size_t done = c->protocol->data(c, bytes);
    c->is_in_data = false;
    RUNG_ASSERT(done <= bytes.len);
    if (c->state == RUNG__CONN_CLOSING)
        return;
    size_t rest = c->state >= RUNG__CONN_FINISHING ? 0 : bytes.len - done;
    if (!rest) {
        if (c->kept.data)
            rung__conn_drop_input(c);
        return;
    }
    if (is_kept) {
        memmove(c->kept.data, c->kept.data + done, rest);
        c->kept.len = rest;
    } else if (!keep(c, rung_slice_of(bytes.ptr + done, rest))) {
        return;
    }
    if (c->protocol != before && !c->holds) {
        c->due |= RUNG__DUE_INPUT; /* another protocol takes over in the middle */
        rung__conn_to_turn(c);
    } else if (rest >= input_max(c) && !c->holds) {
        rung__conn_cut_off(c);
    }
}

/* New plain bytes, not yet in `kept`. */
static void take_plain(rung_conn *c, rung_slice bytes) {
    if (!c->kept.len)
        deliver(c, bytes);
    else if (keep(c, bytes))
        deliver(c, rung_buffer_slice(&c->kept));
}

static void tell_end(rung_conn *c) {
    if (c->state >= RUNG__CONN_FINISHING || c->input == RUNG__INPUT_END_TOLD)
        return;
    if (c->holds && (c->kept.len || (c->tls && c->tls->in.len)))
        return; /* it is told once it has seen everything */
    c->input = RUNG__INPUT_END_TOLD;
    if (c->protocol->ended)
        c->protocol->ended(c);
    else
        rung_conn_finish(c);
}

/* Decrypt and deliver until there is no more, or the protocol wants no more. */
static void pump_tls(rung_conn *c) {
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && c->state < RUNG__CONN_FINISHING && !c->holds) {
        size_t n = 0;
        st = rung__tls_read(c->tls, c->net->plain_buffer, RUNG__READ_SIZE, &n);
        if (rung__tls_is_open(c->tls))
            rung__conn_opened(c);
        if (st == RUNG_OK)
            take_plain(c, rung_slice_of(c->net->plain_buffer, n));
    }
    if (c->state == RUNG__CONN_CLOSING)
        return;
    if (st == RUNG_ECLOSED) {
        end_input(c);
        rung__conn_update_reading(c);
        tell_end(c);
    } else if (st < 0) {
        c->net->stats.tls_failures++;
        rung__queue_clear(&c->out, &c->net->pool); /* only the alert is worth sending */
        rung_conn_finish(c);
    }
    if (c->state >= RUNG__CONN_FINISHING)
        c->tls->in.len = 0;
    if (!rung__tls_keep(c->tls)) {
        rung__conn_cut_off(c);
        return;
    }
    rung__conn_count_held(c);
    rung__conn_stay_within(c);
    if (c->tls->wire.size || c->out.size)
        rung__conn_to_turn(c);
}

/* ---- a proxy's header ---- */

static void refuse_header(rung_conn *c) {
    c->net->stats.refused_proxy++;
    rung__conn_close(c, true);
}

/* The header was read, and is out of `kept`: what came behind it is the client's. */
static void take_client_bytes(rung_conn *c) {
    rung__conn_open(c);
    if (c->state == RUNG__CONN_CLOSING)
        return;
    if (!c->kept.len) {
        rung__conn_drop_input(c);
        return;
    }
    if (!c->tls) {
        deliver(c, rung_buffer_slice(&c->kept));
        return;
    }
    rung_buffer bytes = c->kept; /* TLS borrows them, and `kept` is for what it decrypts */
    c->kept = (rung_buffer){.alloc = bytes.alloc};
    if (rung__tls_feed(c->tls, rung_buffer_slice(&bytes)))
        pump_tls(c);
    else
        rung__conn_cut_off(c);
    c->net->stats.memory -= bytes.size;
    rung_buffer_deinit(&bytes);
}

static void take_header(rung_conn *c, rung_slice bytes) {
    rung_proxy_header header;
    if (!keep(c, bytes))
        return;
    rung_status st = rung_proxy_header_read(rung_buffer_slice(&c->kept), &header);
    if (st == RUNG_PARTIAL)
        return;
    if (st < 0 || (header.has_client && !rung__conn_set_client(c, &header.client))) {
        refuse_header(c);
        return;
    }
    c->kept.len -= header.size;
    memmove(c->kept.data, c->kept.data + header.size, c->kept.len);
    take_client_bytes(c);
}

void rung__conn_got(rung_stream *s, char *at, ssize_t n) {
    rung_conn *c = s->ctx;
    if (c->state == RUNG__CONN_CLOSING)
        return;
    if (n < 0) {
        end_input(c);
        if (n != RUNG_STREAM_END || c->state == RUNG__CONN_LINGERING ||
            c->state == RUNG__CONN_PROXY) {
            rung__conn_close(c, false);
            return;
        }
        rung__conn_update_reading(c);
        tell_end(c);
        return;
    }
    c->net->stats.bytes_in += (uint64_t)n;
    if (c->state >= RUNG__CONN_FINISHING)
        return; /* discarded during the goodbye */
    rung_net *net = c->net;
    rung_slice bytes = rung_slice_of(at, (size_t)n);
    if (c->state == RUNG__CONN_PROXY) {
        take_header(c, bytes);
    } else if (c->tls && rung__tls_feed(c->tls, bytes)) {
        pump_tls(c);
    } else if (c->tls) {
        rung__conn_cut_off(c);
    } else if (bytes.ptr != net->read_buffer) {
        c->kept.len += bytes.len; /* it was read right there */
        rung__conn_stay_within(c);
        if (c->state != RUNG__CONN_CLOSING)
            deliver(c, rung_buffer_slice(&c->kept));
    } else {
        take_plain(c, bytes);
    }
    if (net->pool.used > net->config.held_max / 2)
        rung__net_send(net); /* very many requests in one turn: do not hold all their answers */
}

void rung_conn_pause(rung_conn *c) {
    c->holds |= RUNG__HOLD_PROTOCOL;
    rung__conn_update_reading(c);
}

void rung_conn_resume(rung_conn *c) {
    if (!(c->holds & RUNG__HOLD_PROTOCOL))
        return;
    c->holds &= ~RUNG__HOLD_PROTOCOL;
    c->due |= RUNG__DUE_INPUT;
    rung__conn_to_turn(c);
}

void rung_conn_wake(rung_conn *c) {
    c->due |= RUNG__DUE_WOKEN;
    rung__conn_to_turn(c);
}

void rung__conn_take_up(rung_conn *c) {
    c->due &= ~RUNG__DUE_INPUT;
    if (c->kept.len && !c->holds && c->state < RUNG__CONN_FINISHING)
        deliver(c, rung_buffer_slice(&c->kept));
    if (c->tls && !c->holds && c->state < RUNG__CONN_FINISHING)
        pump_tls(c);
    if (c->input != RUNG__INPUT_OPEN)
        tell_end(c);
    if (c->state != RUNG__CONN_CLOSING)
        rung__conn_update_reading(c);
}
