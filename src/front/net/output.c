/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - what a connection writes: queued in `out`, and sent at the end of the turn. What the socket does not take
 * then is handed to the loop, one write at a time. */
#include "front/net/conn.h"

#define BUFFERS_MAX 32u    /* buffers per attempt to write */
#define WIRE_MAX    65536u /* encrypted ahead of the socket */

size_t rung_conn_queued(const rung_conn *c) {
    return c->out.size + (c->tls ? c->tls->wire.size : 0);
}

static void after_write(rung_conn *c) {
    size_t size = rung_conn_queued(c);
    if (size > c->net->config.output_max) {
        rung__conn_cut_off(c);
        return;
    }
    if (!(c->holds & RUNG__HOLD_OUTPUT) && size > c->net->config.output_high) {
        c->holds |= RUNG__HOLD_OUTPUT;
        rung__conn_update_reading(c);
    }
    rung__conn_to_turn(c);
    if (c->writing) {
        rung__conn_count_held(c);
        rung__conn_stay_within(c);
    }
}

void rung_conn_write(rung_conn *c, rung_slice bytes) {
    if (c->state >= RUNG__CONN_FINISHING || !bytes.len)
        return;
    if (!rung__queue_add(&c->out, &c->net->pool, bytes))
        rung__conn_cut_off(c);
    else
        after_write(c);
}

void rung_conn_write_blob(rung_conn *c, rung_blob *b) {
    if (c->state >= RUNG__CONN_FINISHING)
        return;
    if (!rung__queue_add_blob(&c->out, &c->net->pool, b))
        rung__conn_cut_off(c);
    else
        after_write(c);
}

/* Encrypt as much as is worth having ready. */
static bool encrypt(rung_conn *c) {
    if (!rung__tls_is_open(c->tls))
        return true;
    while (c->out.size && c->tls->wire.size < WIRE_MAX) {
        struct iovec part;
        size_t n = 0;
        rung__queue_front(&c->out, &part, 1);
        if (rung__tls_write(c->tls, rung_slice_of(part.iov_base, part.iov_len), &n) != RUNG_OK)
            return false;
        rung__queue_drop(&c->out, &c->net->pool, n);
    }
    return true;
}

static void sent(rung_conn *c, size_t n) {
    rung__queue_drop(c->tls ? &c->tls->wire : &c->out, &c->net->pool, n);
    c->net->stats.bytes_out += n;
    c->write_ms = 0;
}

static void send_later(rung_conn *c, rung__queue *wire) {
    struct iovec parts[4];
    uint32_t count = rung__queue_front(wire, parts, 4);
    c->writing = 0;
    for (uint32_t i = 0; i < count; i++)
        c->writing += (uint32_t)parts[i].iov_len;
    if (rung__conn_ops(c)->write(rung__conn_stream(c), parts, count) != 0) {
        c->writing = 0;
        rung__conn_close(c, true);
        return;
    }
    c->write_left = c->writing;
    c->write_ms = rung__net_now_ms(c->net) + c->net->config.write_timeout_ms;
    rung__net_schedule(c);
    rung__conn_count_held(c);
    rung__conn_stay_within(c);
}

void rung__conn_flush(rung_conn *c) {
    rung__queue *wire = c->tls ? &c->tls->wire : &c->out;
    while (!c->writing && c->state != RUNG__CONN_CLOSING) {
        struct iovec parts[BUFFERS_MAX];
        if (c->tls && !encrypt(c)) {
            rung__conn_close(c, true);
            return;
        }
        uint32_t count = rung__queue_front(wire, parts, BUFFERS_MAX);
        if (!count)
            return;
        ssize_t n = rung__conn_ops(c)->try_write(rung__conn_stream(c), parts, count);
        if (n == RUNG_STREAM_AGAIN)
            send_later(c, wire);
        else if (n < 0)
            rung__conn_close(c, false);
        else
            sent(c, (size_t)n);
    }
}

void rung__conn_written(rung_stream *s, bool is_ok) {
    rung_conn *c = s->ctx;
    size_t n = c->writing;
    c->writing = 0;
    if (c->state == RUNG__CONN_CLOSING)
        return;
    if (!is_ok) {
        rung__conn_close(c, false);
        return;
    }
    sent(c, n);
    rung__conn_count_held(c);
    rung__conn_to_turn(c);
}

void rung__conn_check_drained(rung_conn *c) {
    if (!(c->holds & RUNG__HOLD_OUTPUT) || rung_conn_queued(c) > c->net->config.output_low ||
        c->state == RUNG__CONN_CLOSING)
        return;
    c->holds &= ~RUNG__HOLD_OUTPUT;
    c->due |= RUNG__DUE_INPUT;
    rung__conn_to_turn(c);
    if (c->state < RUNG__CONN_FINISHING && c->protocol->drained)
        c->protocol->drained(c);
}

bool rung_conn_is_full(const rung_conn *c) {
    return c->holds & RUNG__HOLD_OUTPUT;
}
