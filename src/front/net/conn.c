/* SPDX-License-Identifier: Apache-2.0 */
/* conn.c - a connection from accept to closed.
 *
 *     open --rung_conn_finish--> finished --all sent--> goodbye --peer's end or own_ms--> closing --> gone
 *       \------------- rung_conn_abort, error, timeout: from any state ------------------^
 *
 * Input: read into the loop's buffer and given to the protocol at once; only what it leaves is copied into
 * `kept`, and as long as something is kept, the next bytes are read right behind it. Output: written into
 * `out`, sent by rung__conn_turn() at the end of the turn: tried at once, and what the kernel does not take is
 * handed to the loop, one write at a time.
 *
 * 1. kept_len > 0 only while the protocol waits for more bytes, is paused, or output is full.
 * 2. While is_paused or is_full, nothing is read and `data` is not called.
 * 3. At most one write is under way, over the first `writing` bytes of what goes on the wire.
 * 4. The protocol is called from the loop only: from a read, the turn, the wheel, or the end.
 * 5. After is_closing the struct lives until the stream is closed, and nothing is sent or given any more.
 * 6. net.held is the sum of what connections hold; beyond held_max only those grow that stay within an equal share.
 * 7. A connection has a place until it is closing: common_count and the list of reserved ones count no others. */
#include "front/net/conn.h"

#include "base/assert.h"

#include <string.h>

#define BUFFERS_MAX        32u    /* buffers per attempt to write */
#define WIRE_MAX           65536u /* encrypted ahead of the socket */
#define STRUCTS_KEPT_BYTES (1u << 20)
#define KEPT_LARGE         16384u /* kept input behind which more is read in place */
#define REFUSED_MAX        64u    /* connections beyond the limit that are being told so */

static void close_now(rung_conn *c, bool with_reset);
static void flush(rung_conn *c);
static struct iovec room_to_read(rung_stream *s);
static void on_read(rung_stream *s, char *at, ssize_t n);
static void on_written(rung_stream *s, bool is_ok);
static void on_closed(rung_stream *s);

static const rung_stream_events events = {
    .room = room_to_read, .got = on_read, .written = on_written, .closed = on_closed};

/* ---- small questions ---- */

static size_t unsent(const rung_conn *c) {
    return c->out.size + (c->tls ? c->tls->wire.size : 0);
}

static bool is_blocked(const rung_conn *c) {
    return c->is_paused || c->is_full;
}

static void to_turn(rung_conn *c) {
    if (c->is_in_turn || c->is_closing)
        return;
    rung_turn_want(&c->net->send);
    c->is_in_turn = true;
    c->turn_next = NULL;
    c->turn_prev = c->net->turn_last;
    if (c->net->turn_last)
        c->net->turn_last->turn_next = c;
    else
        c->net->turn_first = c;
    c->net->turn_last = c;
}

/* Read when somebody wants it: the protocol, or the goodbye, which throws it away. */
static void update_reading(rung_conn *c) {
    bool wants =
        !c->is_closing && !c->is_ended && (c->is_shut || (!c->is_finished && !is_blocked(c)));
    if (wants == c->is_reading)
        return;
    c->is_reading = wants;
    if (!wants)
        rung_stream_read_stop(rung__conn_stream(c));
    else if (rung_stream_read_start(rung__conn_stream(c)) != 0)
        close_now(c, false);
}

/* ---- birth and death ---- */

static rung_conn *struct_take(rung_net *n) {
    rung_conn *c = n->idle_structs;
    if (c) {
        n->idle_structs = c->next;
        n->idle_struct_count--;
        memset(c, 0, n->conn_size);
    } else if ((c = rung_alloc_zeroed(n->config.alloc, n->conn_size))) {
        n->stats.memory += n->conn_size;
    } else if ((c = n->spare)) {
        n->spare = NULL;
        memset(c, 0, n->conn_size);
        c->is_spare = true;
    } else {
        return NULL;
    }
    c->net = n;
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
        c->next = n->idle_structs;
        n->idle_structs = c;
        n->idle_struct_count++;
        return;
    }
#endif
    n->stats.memory -= n->conn_size;
    rung_alloc_free(n->config.alloc, c, n->conn_size);
}

/* ---- what all hold together ---- */

/* What is queued counts from when the socket did not take it: what leaves with this turn is nobody's burden. */
static size_t memory_held(const rung_conn *c) {
    if (c->is_closing)
        return 0;
    size_t input = c->kept_size + (c->tls ? c->tls->kept_size : 0) + c->session_held;
    size_t queued = c->out.memory + (c->tls ? c->tls->wire.memory : 0);
    return input + (c->writing ? queued : 0);
}

static void count_held(rung_conn *c) {
    size_t held = memory_held(c);
    c->net->held += held;
    c->net->held -= c->held;
    c->held = held;
    if (c->writing && c->out.unstuck_count && !c->is_closing)
        rung__queue_stick(&c->out, &c->net->pool);
}

static size_t all_held(const rung_net *n) {
    return n->held + n->pool.stuck;
}

/* What would be gained by its end, if it alone has the blobs that it does not take. */
static size_t weight(const rung_conn *c) {
    return c->held + (c->writing && !c->is_closing ? c->out.blobs : 0);
}

static void shed(rung_conn *c) {
    c->net->stats.cut_off++;
    close_now(c, true);
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
static void stay_within(rung_conn *c) {
    rung_net *n = c->net;
    size_t max = n->config.held_max, share = max / n->stats.open;
    if (all_held(n) <= max || weight(c) <= share)
        return;
    uint64_t turn = n->config.loop->turn.number + 1; /* never 0 */
    if (n->shed_turn != turn)
        make_room(n, share);
    n->shed_turn = turn;
    if (all_held(n) > max && !c->is_closing)
        shed(c);
}

void rung_conn_hold(rung_conn *c, size_t bytes) {
    if (bytes == c->session_held)
        return;
    bool is_more = bytes > c->session_held;
    c->session_held = bytes;
    count_held(c);
    if (is_more && !c->is_closing)
        stay_within(c);
}

static void kept_free(rung_conn *c) {
    c->net->stats.memory -= c->kept_size;
    rung_alloc_free(c->net->config.alloc, c->kept, c->kept_size);
    c->kept = NULL;
    c->kept_len = c->kept_size = 0;
    count_held(c);
}

static void on_closed(rung_stream *s) {
    rung_conn *c = s->ctx;
    rung_net *n = c->net;
    if (c->is_opened)
        c->protocol->closed(c);
    rung__queue_clear(&c->out, &n->pool);
    rung__tls_session_destroy(c->tls);
    kept_free(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        n->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    n->stats.open--;
    struct_give(c);
    rung__net_closed(n);
}

void rung__conn_leave_turn(rung_conn *c) {
    rung_net *n = c->net;
    if (!c->is_in_turn)
        return;
    if (c->turn_prev)
        c->turn_prev->turn_next = c->turn_next;
    else
        n->turn_first = c->turn_next;
    if (c->turn_next)
        c->turn_next->turn_prev = c->turn_prev;
    else
        n->turn_last = c->turn_prev;
    c->is_in_turn = false;
}

/* ---- places ---- */

static void leave_place(rung_conn *c) {
    rung_net *n = c->net;
    if (c->place == RUNG__PLACE_COMMON) {
        n->common_count--;
    } else if (c->place == RUNG__PLACE_RESERVED) {
        *(c->reserved_prev ? &c->reserved_prev->reserved_next : &n->reserved_first) =
            c->reserved_next;
        *(c->reserved_next ? &c->reserved_next->reserved_prev : &n->reserved_last) =
            c->reserved_prev;
        n->stats.reserved--;
    } else if (c->is_told) {
        n->told_count--;
    }
    if (c->peer)
        rung__peers_leave(&n->peers, n->config.alloc, c->peer);
    c->place = RUNG__PLACE_NONE;
    c->is_told = false;
    c->peer = NULL;
}

static uint32_t common_max(const rung_net *n, const rung_protocol *protocol) {
    uint32_t reserved = n->config.connections_reserved;
    return n->config.connections_max - (protocol->has_reserve ? reserved : 2 * reserved);
}

bool rung_net_is_crowded(const rung_net *n, const rung_protocol *protocol) {
    uint32_t max = common_max(n, protocol);
    return n->common_count >= max - max / 8;
}

/* A reserved place is free, or whoever came first to one and has not claimed it goes. */
static bool find_reserved(rung_net *n) {
    if (n->stats.reserved < n->config.connections_reserved)
        return true;
    for (rung_conn *c = n->reserved_first; c; c = c->reserved_next)
        if (!c->is_claimed || c->is_finished) {
            close_now(c, true);
            return true;
        }
    return false;
}

static void take_reserved(rung_conn *c) {
    rung_net *n = c->net;
    c->place = RUNG__PLACE_RESERVED;
    c->reserved_prev = n->reserved_last;
    *(n->reserved_last ? &n->reserved_last->reserved_next : &n->reserved_first) = c;
    n->reserved_last = c;
    n->stats.reserved++;
}

/* An IPv4 address that came to a listener of both kinds is one all the same. */
static bool peer_address(const rung_conn *c, rung_address *out) {
    struct sockaddr_storage raw = {0};
    *out = (rung_address){0};
    if (rung_stream_peer(rung__conn_stream(c), &raw) != 0)
        return false;
    if (raw.ss_family == AF_INET)
        memcpy(&out->ip4, &raw, sizeof out->ip4);
    else
        memcpy(&out->ip6, &raw, sizeof out->ip6);
    if (raw.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&out->ip6.sin6_addr)) {
        struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = out->ip6.sin6_port};
        memcpy(&ip4.sin_addr, out->ip6.sin6_addr.s6_addr + 12, sizeof ip4.sin_addr);
        out->ip4 = ip4;
    }
    return true;
}

/* Count it with its address; false: no memory, or the peer has gone. */
static bool join_peer(rung_conn *c) {
    rung_net *n = c->net;
    rung_address from;
    if (rung__conn_stream(c)->is_unix)
        return true;
    if (!peer_address(c, &from))
        return false;
    c->peer_key = rung__peer_key(&from.any);
    if (!n->config.per_address_max || (!n->config.counts_loopback && rung_address_is_local(&from)))
        return true;
    c->peer = rung__peers_join(&n->peers, n->config.alloc, &from.any);
    return c->peer != NULL;
}

/* Give it a place; false: there is none for it. */
static bool find_place(rung_conn *c) {
    rung_net *n = c->net;
    if (!join_peer(c))
        return false;
    bool is_one_too_many = c->peer && c->peer->count > n->config.per_address_max;
    if (!is_one_too_many && n->common_count < common_max(n, c->protocol)) {
        c->place = RUNG__PLACE_COMMON;
        n->common_count++;
        return true;
    }
    if (c->protocol->has_reserve && n->config.connections_reserved && find_reserved(n)) {
        take_reserved(c);
        return true;
    }
    n->stats.refused_address += is_one_too_many;
    return false;
}

void rung_conn_claim(rung_conn *c) {
    c->is_claimed = true;
}

bool rung_conn_is_reserved(const rung_conn *c) {
    return c->place == RUNG__PLACE_RESERVED;
}

static void close_now(rung_conn *c, bool with_reset) {
    if (c->is_closing)
        return;
    c->is_closing = c->is_finished = true;
    c->is_reading = false;
    leave_place(c);
    rung__queue_unstick(&c->out, &c->net->pool);
    rung__conn_leave_turn(c);
    rung__net_unschedule(c);
    if (!c->is_in_data)
        kept_free(c); /* the protocol may be looking at it */
    count_held(c);
    rung_stream_close(rung__conn_stream(c), with_reset);
}

/* Tell a connection without a place so, if there is anything to tell and not too many are being told already. */
static void refuse(rung__listener *l, rung_conn *c) {
    rung_net *n = c->net;
    n->stats.refused++;
    if (l->tls || !l->protocol->busy.len || n->told_count == REFUSED_MAX) {
        close_now(c, true);
        return;
    }
    c->is_told = true;
    n->told_count++;
    rung_conn_write(c, l->protocol->busy);
    rung_conn_finish(c);
}

static void open_conn(rung__listener *l, rung_conn *c) {
    rung_net *n = c->net;
    n->stats.accepted++;
    if (l->tls && rung__tls_session_create(l->tls, &n->pool, &c->tls) != RUNG_OK) {
        close_now(c, true);
        return;
    }
    if (c->tls) {
        c->own_ms = rung__net_now_ms(n) + n->config.handshake_ms;
        rung__net_schedule(c);
    }
    c->session = l->protocol->opened(l->ctx, c);
    if (!c->session) {
        close_now(c, true);
        return;
    }
    c->is_opened = true;
    update_reading(c);
}

void rung__conn_accept(rung__listener *l) {
    rung_net *n = l->net;
    rung_conn *c = struct_take(n);
    l->is_waiting = !c;
    if (!c)
        return; /* nobody else arrives until it is accepted: rung__net_closed() tries again */
    rung_stream *s = rung__conn_stream(c);
    s->events = &events;
    s->ctx = c;
    c->protocol = l->protocol;
    c->next = n->conns;
    if (c->next)
        c->next->prev = c;
    n->conns = c;
    n->stats.open++;
    if (rung_stream_accept(n->config.loop, l->from, s) != 0 || c->is_spare)
        close_now(c, true);
    else if (!find_place(c))
        refuse(l, c);
    else
        open_conn(l, c);
}

/* ---- input ---- */

static bool kept_grow(rung_conn *c, uint32_t room) {
    uint32_t need = c->kept_len + room, size = c->kept_size ? c->kept_size : 256;
    if (need <= c->kept_size)
        return true;
    while (size < need)
        size *= 2;
    char *bigger = rung_alloc_resize(c->net->config.alloc, c->kept, c->kept_size, size);
    if (!bigger)
        return false;
    c->net->stats.memory += size - c->kept_size;
    c->kept = bigger;
    c->kept_size = size;
    count_held(c);
    return true;
}

/* False: no memory, or `c` was closed because all hold too much. */
static bool kept_reserve(rung_conn *c, uint32_t room) {
    if (!kept_grow(c, room))
        return false;
    stay_within(c);
    return !c->is_closing;
}

static uint32_t input_max(const rung_conn *c) {
    return c->protocol->input_max ? c->protocol->input_max : 65536;
}

/* Much plain input goes right behind what is kept; all else into the loop's buffer, so that a little takes little. */
static struct iovec room_to_read(rung_stream *s) {
    rung_conn *c = s->ctx;
    if (c->kept_len < KEPT_LARGE || c->tls || c->is_finished)
        return (struct iovec){c->net->read_buffer, RUNG__READ_SIZE};
    if (kept_grow(c, 4096)) /* it must not be closed here */
        return (struct iovec){c->kept + c->kept_len, c->kept_size - c->kept_len};
    return (struct iovec){NULL, 0}; /* reported as broken */
}

static void cut_off(rung_conn *c) {
    c->net->stats.cut_off += !c->is_closing;
    close_now(c, true);
}

/* Call the protocol; `bytes` are in `kept` or elsewhere. What it leaves is in `kept` afterwards. */
static void deliver(rung_conn *c, rung_slice bytes) {
    bool is_kept = bytes.ptr == c->kept;
    const rung_protocol *before = c->protocol;
    c->is_in_data = true;
    size_t done = c->protocol->data(c, bytes);
    c->is_in_data = false;
    RUNG_ASSERT(done <= bytes.len);
    if (c->is_closing)
        return;
    size_t rest = c->is_finished ? 0 : bytes.len - done;
    if (!rest) {
        if (c->kept)
            kept_free(c);
        return;
    }
    if (is_kept) {
        memmove(c->kept, c->kept + done, rest);
    } else {
        if (!kept_reserve(c, (uint32_t)rest)) {
            cut_off(c);
            return;
        }
        memcpy(c->kept, bytes.ptr + done, rest);
    }
    c->kept_len = (uint32_t)rest;
    if (c->protocol != before && !is_blocked(c)) {
        c->has_input = true; /* another protocol takes over in the middle */
        to_turn(c);
    } else if (rest >= input_max(c) && !is_blocked(c)) {
        cut_off(c);
    }
}

/* New plain bytes, not yet in `kept`. */
static void take_plain(rung_conn *c, rung_slice bytes) {
    if (!c->kept_len) {
        deliver(c, bytes);
        return;
    }
    if (!kept_reserve(c, (uint32_t)bytes.len)) {
        cut_off(c);
        return;
    }
    memcpy(c->kept + c->kept_len, bytes.ptr, bytes.len);
    c->kept_len += (uint32_t)bytes.len;
    deliver(c, rung_slice_of(c->kept, c->kept_len));
}

static void tell_end(rung_conn *c) {
    if (c->is_closing || c->is_end_told || c->is_finished)
        return;
    if (is_blocked(c) && (c->kept_len || (c->tls && c->tls->in.len)))
        return; /* it is told when it has seen all */
    c->is_end_told = true;
    if (c->protocol->ended)
        c->protocol->ended(c);
    else
        rung_conn_finish(c);
}

/* Decrypt and deliver until there is no more, or the protocol wants no more. */
static void pump_tls(rung_conn *c) {
    rung_status st = RUNG_OK;
    bool was_open = rung__tls_is_open(c->tls);
    while (st == RUNG_OK && !c->is_finished && !is_blocked(c)) {
        size_t n = 0;
        st = rung__tls_read(c->tls, c->net->plain_buffer, RUNG__READ_SIZE, &n);
        if (!was_open && rung__tls_is_open(c->tls)) {
            was_open = true;
            c->own_ms = 0;
        }
        if (st == RUNG_OK)
            take_plain(c, rung_slice_of(c->net->plain_buffer, n));
    }
    if (c->is_closing)
        return;
    if (st == RUNG_ECLOSED) {
        c->is_ended = true;
        update_reading(c);
        tell_end(c);
    } else if (st < 0) {
        c->net->stats.tls_failures++;
        rung__queue_clear(&c->out, &c->net->pool); /* only the alert is worth sending */
        rung_conn_finish(c);
    }
    if (c->is_finished)
        c->tls->in.len = 0;
    if (!rung__tls_keep(c->tls)) {
        cut_off(c);
        return;
    }
    count_held(c);
    stay_within(c);
    if (c->tls->wire.size || c->out.size)
        to_turn(c);
}

static void take_raw(rung_conn *c, rung_slice bytes) {
    if (!rung__tls_feed(c->tls, bytes)) {
        cut_off(c);
        return;
    }
    pump_tls(c);
}

static void on_read(rung_stream *s, char *at, ssize_t n) {
    rung_conn *c = s->ctx;
    if (c->is_closing)
        return;
    if (n < 0) {
        c->is_ended = true;
        if (n != RUNG_STREAM_END || c->is_shut) {
            close_now(c, false);
            return;
        }
        update_reading(c);
        tell_end(c);
        return;
    }
    c->net->stats.bytes_in += (uint64_t)n;
    if (c->is_finished)
        return; /* the goodbye throws it away */
    rung_net *net = c->net;
    rung_slice bytes = rung_slice_of(at, (size_t)n);
    if (c->tls) {
        take_raw(c, bytes);
    } else if (bytes.ptr != net->read_buffer) {
        c->kept_len += (uint32_t)n; /* it was read right there */
        stay_within(c);
        if (!c->is_closing)
            deliver(c, rung_slice_of(c->kept, c->kept_len));
    } else {
        take_plain(c, bytes);
    }
    if (net->pool.used > net->config.held_max / 2)
        rung__net_send(net); /* a turn of very many requests: not all of their answers at once */
}

void rung_conn_pause(rung_conn *c) {
    c->is_paused = true;
    update_reading(c);
}

void rung_conn_resume(rung_conn *c) {
    if (!c->is_paused)
        return;
    c->is_paused = false;
    c->has_input = true;
    to_turn(c);
}

void rung_conn_wake(rung_conn *c) {
    c->is_woken = true;
    to_turn(c);
}

/* Give again what was left, when the protocol or the output was in the way. */
static void take_up(rung_conn *c) {
    c->has_input = false;
    if (c->kept_len && !is_blocked(c) && !c->is_finished)
        deliver(c, rung_slice_of(c->kept, c->kept_len));
    if (c->tls && !c->is_closing && !is_blocked(c) && !c->is_finished)
        pump_tls(c);
    if (c->is_ended)
        tell_end(c);
    if (!c->is_closing)
        update_reading(c);
}

/* ---- output ---- */

static void after_write(rung_conn *c) {
    size_t size = unsent(c);
    if (size > c->net->config.output_max) {
        cut_off(c);
        return;
    }
    if (!c->is_full && size > c->net->config.output_high) {
        c->is_full = true;
        update_reading(c);
    }
    to_turn(c);
    if (c->writing) {
        count_held(c);
        stay_within(c);
    }
}

void rung_conn_write(rung_conn *c, rung_slice bytes) {
    if (c->is_finished || !bytes.len)
        return;
    if (!rung__queue_add(&c->out, &c->net->pool, bytes))
        cut_off(c);
    else
        after_write(c);
}

void rung_conn_write_blob(rung_conn *c, rung_blob *b) {
    if (c->is_finished)
        return;
    if (!rung__queue_add_blob(&c->out, &c->net->pool, b))
        cut_off(c);
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
    if (rung_stream_write(rung__conn_stream(c), parts, count) != 0) {
        c->writing = 0;
        close_now(c, true);
        return;
    }
    c->write_left = c->writing;
    c->write_ms = rung__net_now_ms(c->net) + c->net->config.write_timeout_ms;
    rung__net_schedule(c);
    count_held(c);
    stay_within(c);
}

static void flush(rung_conn *c) {
    rung__queue *wire = c->tls ? &c->tls->wire : &c->out;
    while (!c->writing && !c->is_closing) {
        struct iovec parts[BUFFERS_MAX];
        if (c->tls && !encrypt(c)) {
            close_now(c, true);
            return;
        }
        uint32_t count = rung__queue_front(wire, parts, BUFFERS_MAX);
        if (!count)
            return;
        ssize_t n = rung_stream_try_write(rung__conn_stream(c), parts, count);
        if (n == RUNG_STREAM_AGAIN)
            send_later(c, wire);
        else if (n < 0)
            close_now(c, false);
        else
            sent(c, (size_t)n);
    }
}

static void on_written(rung_stream *s, bool is_ok) {
    rung_conn *c = s->ctx;
    size_t n = c->writing;
    c->writing = 0;
    if (c->is_closing)
        return;
    if (!is_ok) {
        close_now(c, false);
        return;
    }
    sent(c, n);
    count_held(c);
    to_turn(c);
}

static void check_drained(rung_conn *c) {
    if (!c->is_full || unsent(c) > c->net->config.output_low || c->is_closing)
        return;
    c->is_full = false;
    c->has_input = true;
    to_turn(c);
    if (!c->is_finished && c->protocol->drained)
        c->protocol->drained(c);
}

size_t rung_conn_queued(const rung_conn *c) {
    return unsent(c);
}

bool rung_conn_is_full(const rung_conn *c) {
    return c->is_full;
}

/* ---- the end ---- */

void rung_conn_finish(rung_conn *c) {
    if (c->is_finished)
        return;
    c->is_finished = true;
    c->deadline_ms = 0;
    update_reading(c);
    to_turn(c);
}

void rung_conn_abort(rung_conn *c) {
    close_now(c, true);
}

/* All is sent: close our side, and give the peer a moment to read it. A socket closed while it holds unread
 * input would reset the connection, and take our last answer with it. */
static void say_goodbye(rung_conn *c) {
    if (c->tls && !c->is_goodbye) {
        c->is_goodbye = true;
        rung__tls_goodbye(c->tls);
        if (c->tls->wire.size) {
            to_turn(c);
            return;
        }
    }
    c->is_shut = true;
    if (c->kept)
        kept_free(c);
    if (c->is_ended || rung_stream_shutdown(rung__conn_stream(c)) != 0) {
        close_now(c, false);
        return;
    }
    c->own_ms = rung__net_now_ms(c->net) + c->net->config.linger_ms;
    rung__net_schedule(c);
    update_reading(c);
}

/* Input first: its answers leave with the same write. */
void rung__conn_turn(rung_conn *c) {
    if (c->is_woken && !c->is_finished) {
        c->is_woken = false;
        if (c->protocol->woken)
            c->protocol->woken(c);
    }
    if (c->has_input && !c->is_finished)
        take_up(c);
    if (!c->is_closing)
        flush(c);
    check_drained(c);
    if (c->is_closing || !c->is_finished || c->writing || c->is_shut)
        return;
    bool is_unsendable = c->tls && !rung__tls_is_open(c->tls);
    if (c->tls ? !c->tls->wire.size && (!c->out.size || is_unsendable) : !c->out.size)
        say_goodbye(c);
}

void rung__conn_expire(rung_conn *c) {
    uint64_t now = rung__net_now_ms(c->net);
    if (c->own_ms && c->own_ms <= now) {
        c->net->stats.timed_out += !c->is_shut;
        close_now(c, !c->is_shut);
        return;
    }
    if (c->write_ms && c->write_ms <= now) {
        size_t left = rung_stream_unwritten(rung__conn_stream(c));
        if (left >= c->write_left) {
            c->net->stats.timed_out++;
            close_now(c, true);
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
            close_now(c, true);
        }
    }
    if (!c->is_closing)
        rung__net_schedule(c);
}

void rung__conn_stop(rung_conn *c) {
    if (c->is_finished)
        return;
    if (c->protocol->stopping)
        c->protocol->stopping(c);
    else
        rung_conn_finish(c);
}

void rung_conn_deadline(rung_conn *c, uint32_t ms) {
    if (c->is_finished)
        return;
    c->deadline_ms = ms ? rung__net_now_ms(c->net) + ms : 0;
    if (ms)
        rung__net_schedule(c);
}

void rung_conn_switch(rung_conn *c, const rung_protocol *protocol, void *session) {
    c->protocol = protocol;
    c->session = session;
    c->deadline_ms = 0;
    if (c->kept_len && !c->is_in_data) {
        c->has_input = true;
        to_turn(c);
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

bool rung_conn_is_unix(const rung_conn *c) {
    return rung__conn_stream(c)->is_unix;
}

bool rung_conn_is_finished(const rung_conn *c) {
    return c->is_finished;
}

rung_slice rung_conn_peer_key(const rung_conn *c) {
    return rung_slice_of((const char *)&c->peer_key, sizeof c->peer_key);
}

void rung_conn_peer(const rung_conn *c, char text[RUNG_ADDRESS_TEXT_MAX]) {
    rung_address a;
    memcpy(text, "unix:", 6);
    if (rung_conn_is_unix(c))
        return;
    text[0] = 0;
    if (peer_address(c, &a))
        rung_address_text(&a, text);
}
