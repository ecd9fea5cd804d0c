/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - a connection's requests: read heads and bodies, hand out exchanges in order, within limits.
 *
 * A session reads one request at a time; several may be in flight. Its phases:
 *
 *     IDLE --part of a head--> HEAD --the rest--> LENGTH or CHUNKS --end of the body (none: at once)--> IDLE
 *     any --rung_exchange_upgrade()--> UPGRADED
 *
 * Reading stops while a request that must be alone waits for its turn, pipeline_max requests are in flight, answers
 * pile up, or the handler has not asked for the body or holds it. Whatever removes the reason wakes the connection.
 *
 * 1. Exchanges on the list are in order of arrival; only the last may still be queued. One that the transport refuses
 *    behind others has ended, and waits for its turn to be sent.
 * 2. `reading` is NULL, or the last on the list, whose body is coming. If that one ends early, the rest of its body is
 *    discarded. A connection with half a head holds those bytes and `half`, and no exchange.
 * 3. No byte is read after is_last.
 * 4. An exchange whose method is unsafe, or that upgrades, is alone on its connection while the handler has it. */
#include "front/http/http.h"

#include "base/assert.h"
#include "front/http/transport.h"

#include <string.h>

/* Free exchanges, and free sessions, that are kept; none under ASan, so that it sees a use after the end. */
#if defined(__SANITIZE_ADDRESS__)
#define POOLED_MAX 0u
#else
#define POOLED_MAX 1024u
#endif

/* Bytes of answers that wait for those before them; beyond this no more requests are handed out. */
#define BEHIND_MAX (256u << 10)

static const rung_head_problem no_memory = {503, "overloaded", "out of memory, try again later"};
static const rung_head_problem overloaded = {503, "overloaded",
                                             "too many requests in flight, try again later"};
const rung_head_problem rung__too_large = {413, "too_large",
                                           "the body is longer than this route allows"};
static const rung_head_problem bad_chunks = {400, "malformed", "chunked body: malformed framing"};
static const rung_head_problem slow_head = {408, "request_timeout",
                                            "the head of the request took too long"};
static const rung_head_problem slow_body = {408, "request_timeout",
                                            "the body of the request came too slowly"};

/* ---- pools ---- */

static void *pool_take(rung_http *h, rung__pool *pool, size_t size) {
    rung__pooled *item = pool->first;
    if (item) {
        pool->first = item->next;
        pool->count--;
        return item;
    }
    item = rung_alloc_get(h->config.alloc, size);
    h->stats.memory += item ? size : 0;
    return item;
}

static void pool_give(rung_http *h, rung__pool *pool, void *item, size_t size) {
    if (pool->count + 1 <= POOLED_MAX) {
        ((rung__pooled *)item)->next = pool->first;
        pool->first = item;
        pool->count++;
        return;
    }
    h->stats.memory -= size;
    rung_alloc_free(h->config.alloc, item, size);
}

static void pool_deinit(rung_http *h, rung__pool *pool, size_t size) {
    while (pool->first)
        rung_alloc_free(h->config.alloc, pool_take(h, pool, size), size);
}

static rung_exchange *exchange_take(rung_http *h) {
    rung_exchange *x = pool_take(h, &h->exchanges, sizeof *x);
    if (!x)
        return NULL;
    memset(x, 0, offsetof(rung_exchange, head) + offsetof(rung_head, fields));
    x->http = h;
    return x;
}

void rung__exchange_release(rung_exchange *x) {
    rung_http *h = x->http;
    rung_buffer_deinit(&x->collected);
    rung_buffer_deinit(&x->out);
    while (x->blocks) {
        rung__block *next = x->blocks->next;
        rung_alloc_free(h->config.alloc, x->blocks, sizeof *x->blocks + x->blocks->size);
        x->blocks = next;
    }
    h->stats.in_flight -= x->state != RUNG__NEW && !x->is_events;
    pool_give(h, &h->exchanges, x, sizeof *x);
}

/* The idle timeout: shorter where connections are scarce. */
static uint32_t idle_ms_of(const rung__session *s) {
    const rung_http_config *config = &s->http->config;
    bool is_scarce =
        rung_conn_is_reserved(s->conn) || rung_net_is_crowded(config->net, rung_http_protocol());
    return is_scarce && config->head_ms < config->idle_ms ? config->head_ms : config->idle_ms;
}

static void *on_opened(void *ctx, rung_conn *c) {
    rung_http *h = ctx;
    rung__session *s = pool_take(h, &h->sessions, sizeof *s);
    if (!s)
        return NULL;
    rung_address from;
    *s = (rung__session){.http = h, .conn = c};
    s->is_from_proxy = h->config.proxies && h->config.forwarded_by != RUNG_FORWARDED_OFF &&
                       rung_conn_address(c, &from) && rung_proxies_trust(h->config.proxies, &from);
    rung_conn_deadline(c, idle_ms_of(s));
    return s;
}

static void session_give(rung__session *s) {
    pool_give(s->http, &s->http->sessions, s, sizeof *s);
}

/* ---- the list of exchanges ---- */

void rung__session_tell_held(rung__session *s) {
    rung_conn_hold(s->conn, s->charged + s->half_size);
}

static bool is_exclusive(const rung_exchange *x) {
    rung_method m = x->request.method;
    bool is_safe = m == RUNG_METHOD_GET || m == RUNG_METHOD_HEAD || m == RUNG_METHOD_OPTIONS;
    return !is_safe || x->request.wants_upgrade;
}

static void list_add(rung__session *s, rung_exchange *x) {
    x->session = s;
    x->next = NULL;
    if (s->last)
        s->last->next = x;
    else
        s->first = x;
    s->last = x;
    s->count++;
    s->unsafe_count += is_exclusive(x);
    s->charged += x->charged;
    rung__session_tell_held(s);
}

static void list_pop(rung__session *s) {
    rung_exchange *x = s->first;
    s->first = x->next;
    if (!s->first)
        s->last = NULL;
    s->count--;
    s->unsafe_count -= is_exclusive(x);
    s->charged -= x->charged;
    rung__session_tell_held(s);
    if (s->reading == x)
        s->reading = NULL;
}

/* It is the first now: send what it has buffered. */
static void send_gathered(rung__session *s, rung_exchange *x) {
    if (!x->out.len)
        return;
    rung_conn_write(s->conn, rung_buffer_slice(&x->out));
    s->behind_bytes -= x->out.len;
    rung_exchange_charge(x, -(ptrdiff_t)x->out.size);
    rung_buffer_deinit(&x->out);
}

static void watch_idle(rung__session *s);

void rung__session_advance(rung__session *s) {
    bool is_final = false;
    while (s->first) {
        rung_exchange *x = s->first;
        send_gathered(s, x);
        if (x->state != RUNG__ENDED)
            break;
        is_final |= x->is_final;
        list_pop(s);
        rung__exchange_release(x);
    }
    if (is_final) {
        s->is_last = true;
        rung_conn_finish(s->conn);
        return;
    }
    if (s->phase == RUNG__PHASE_UPGRADED) {
        if (!s->is_in_data)
            session_give(s);
        return;
    }
    if (s->is_stopping && !s->count && s->phase != RUNG__PHASE_HEAD) {
        rung_conn_finish(s->conn);
        return;
    }
    if (s->is_in_data) {
        if (s->first && (s->first->is_waiting || s->last->state == RUNG__QUEUED))
            rung_conn_wake(s->conn);
        return;
    }
    watch_idle(s);
    rung_conn_wake(s->conn);
}

/* ---- handing out ---- */

static void hand_out(rung__session *s, rung_exchange *x) {
    rung_http *h = s->http;
    rung__exchange_go(x, RUNG__HANDED);
    rung_conn_claim(s->conn);
    if (h->stats.in_flight > h->config.in_flight_max) {
        h->stats.overloaded++;
        rung__exchange_refuse(x, &overloaded);
    } else if (!rung__exchange_preflight(x)) {
        h->config.handle(h->config.ctx, x);
    }
}

static bool may_run(const rung__session *s, const rung_exchange *x) {
    return s->count == 1 || (!is_exclusive(x) && !s->unsafe_count);
}

/* Tell the client if its answer has not begun, and end the connection. If the handler has the exchange, tell it that
 * the client is gone. */
static void fail_request(rung__session *s, rung_exchange *x, const rung_head_problem *p) {
    s->is_last = true;
    s->http->stats.malformed += p->status != 408;
    s->http->stats.timed_out += p->status == 408;
    if (x->state >= RUNG__BEGUN) {
        rung__exchange_cut_off(x); /* `closed` tells the handler */
        return;
    }
    x->is_final = true;
    if (x->state == RUNG__QUEUED || x->body_mode == RUNG__BODY_COLLECT) {
        rung__exchange_refuse(x, p);
        return;
    }
    rung__exchange_tell(x, p);
    rung_conn_finish(s->conn);
    if (s->first != x)
        return; /* `closed` tells the handler */
    list_pop(s);
    x->session = NULL;
    if (x->watcher.gone)
        x->watcher.gone(x->watcher.ctx, x);
}

/* ---- heads ---- */

static void enqueue(rung_exchange *x) {
    rung__exchange_go(x, RUNG__QUEUED);
    x->http->stats.in_flight++;
}

static bool keep_head(rung_exchange *x, rung_slice bytes) {
    char *copy = rung_exchange_alloc(x, bytes.len);
    if (!copy)
        return false;
    memcpy(copy, bytes.ptr, bytes.len);
    x->head_bytes = copy;
    enqueue(x);
    return true;
}

static void fill_request(rung__session *s, rung_exchange *x) {
    const rung_head *h = &x->head;
    const char *b = x->head_bytes;
    x->request = (rung_request){
        .method = h->method,
        .method_text = rung_head_slice(b, h->method_text),
        .path = rung_head_slice(b, h->path),
        .query = rung_head_slice(b, h->query),
        .host = rung_head_slice(b, h->host),
        .has_body = h->is_chunked || (h->has_length && h->length),
        .has_length = h->has_length,
        .length = h->length,
        .wants_upgrade = h->wants_upgrade && h->method == RUNG_METHOD_GET && !h->says_close,
        .is_tls = rung_conn_is_tls(s->conn),
        .is_unix = rung_conn_is_unix(s->conn),
    };
    if (!h->query.len)
        x->request.query = (rung_slice){0};
    x->is_final = h->says_close || (h->minor_version == 0 && !h->says_keep_alive) ||
                  rung_conn_is_reserved(s->conn);
    s->is_last = x->is_final;
}

static void start_body(rung__session *s, const rung_exchange *x) {
    s->phase = x->head.is_chunked ? RUNG__PHASE_CHUNKS : RUNG__PHASE_LENGTH;
    s->left = x->head.length;
    s->chunks = (rung_chunks){0};
    s->thrown = s->body_bytes = 0;
    s->body_since_ms = s->body_last_ms = rung_loop_now_ms(s->http->loop);
}

static void refuse_head(rung__session *s, rung_exchange *x, const rung_head_problem *p) {
    s->reading = NULL;
    if (!x->head_bytes) {
        static char nothing[1];
        x->head_bytes = nothing;
        x->head.field_count = 0; /* their offsets are into the input */
        x->started_ns = rung_loop_clock_ns(s->http->loop);
        enqueue(x);
    }
    x->request.method = x->head.method;
    list_add(s, x);
    fail_request(s, x, p);
}

static void half_free(rung__session *s) {
    s->http->stats.memory -= s->half_size;
    rung_alloc_free(s->http->config.alloc, s->half, s->half_size);
    s->half = NULL;
    s->half_size = 0;
    rung__session_tell_held(s);
}

/* Keep only the fields read so far: clients that never finish a head must cost little. */
static bool half_keep(rung__session *s, const rung_head *head) {
    uint32_t size =
        (uint32_t)(offsetof(rung_head, fields) + head->field_count * sizeof head->fields[0]);
    rung_head *half = rung_alloc_resize(s->http->config.alloc, s->half, s->half_size, size);
    if (!half)
        return false;
    s->http->stats.memory += size;
    s->http->stats.memory -= s->half_size;
    s->half = memcpy(half, head, size);
    s->half_size = size;
    rung__session_tell_held(s);
    return true;
}

/* An exchange for the next head, with the part that has been parsed; NULL: out of memory. */
static rung_exchange *exchange_begin(rung__session *s) {
    rung_exchange *x = exchange_take(s->http);
    if (x && s->half)
        memcpy(&x->head, s->half, s->half_size);
    return x;
}

/* The head is incomplete: give the exchange back until more of it arrives. */
static void wait_for_head(rung__session *s, rung_exchange *x) {
    bool is_kept = half_keep(s, &x->head);
    rung__exchange_release(x);
    if (!is_kept) {
        rung_conn_abort(s->conn);
        return;
    }
    if (s->phase == RUNG__PHASE_IDLE)
        rung_conn_deadline(s->conn, s->http->config.head_ms);
    s->phase = RUNG__PHASE_HEAD;
}

/* False: stop reading this input for now. */
static bool read_head(rung__session *s, rung_slice *input) {
    rung_http *h = s->http;
    rung_exchange *x = exchange_begin(s);
    rung_head_problem problem;
    size_t size = 0;
    if (!x) {
        rung_conn_abort(s->conn);
        return false;
    }
    rung_status st = rung_head_parse(&x->head, &h->limits, *input, &size, &problem);
    if (st == RUNG_PARTIAL) {
        wait_for_head(s, x);
        return false;
    }
    half_free(s);
    s->phase = RUNG__PHASE_IDLE;
    if (st == RUNG_OK && !keep_head(x, rung_slice_of(input->ptr, size))) {
        problem = no_memory;
        st = RUNG_EINVAL;
    }
    if (st < 0) {
        *input = (rung_slice){0};
        refuse_head(s, x, &problem);
        return false;
    }
    *input = rung_slice_of(input->ptr + size, input->len - size);
    h->stats.requests++;
    x->bytes_in = size;
    x->started_ns = h->config.observe ? rung_loop_clock_ns(h->loop) : 0;
    s->reading = x;
    fill_request(s, x);
    list_add(s, x);
    rung__exchange_note_client(x);
    start_body(s, x);
    if (may_run(s, x))
        hand_out(s, x);
    return true;
}

/* ---- bodies ---- */

static bool give_piece(rung__session *s, rung_exchange *x, rung_slice piece, bool is_all) {
    s->body_bytes += piece.len;
    s->body_last_ms = rung_loop_now_ms(s->http->loop);
    if (!x || x->state == RUNG__ENDED) {
        s->thrown += piece.len;
        if (s->thrown > s->http->config.discard_max) {
            s->is_last = true;
            rung_conn_finish(s->conn);
            return false;
        }
        return true;
    }
    x->bytes_in += piece.len;
    x->body_size += piece.len;
    if (x->body_size > x->body_limit) {
        fail_request(s, x, &rung__too_large);
        return false;
    }
    if (x->body_mode == RUNG__BODY_STREAM) {
        x->body(x->body_ctx, x, piece);
        return true;
    }
    if (is_all) { /* the usual case: nothing is copied */
        x->body_state = RUNG__BODY_HERE;
        s->reading = NULL;
        s->phase = RUNG__PHASE_IDLE;
        x->body(x->body_ctx, x, piece);
        return true;
    }
    if (!rung__exchange_keep(x, &x->collected, piece)) {
        fail_request(s, x, &no_memory);
        return false;
    }
    return true;
}

static void tell_body(rung_exchange *x) {
    rung_slice body = rung_buffer_slice(&x->collected);
    x->body_state = RUNG__BODY_HERE;
    x->body(x->body_ctx, x, x->body_mode == RUNG__BODY_COLLECT ? body : (rung_slice){0});
}

static void end_body(rung__session *s) {
    rung_exchange *x = s->reading;
    s->reading = NULL;
    s->phase = RUNG__PHASE_IDLE;
    if (!x || x->state == RUNG__ENDED)
        return;
    x->body_state = RUNG__BODY_HERE;
    if (x->body_mode != RUNG__BODY_UNASKED)
        tell_body(x);
}

/* A piece of a body of known length, or all of it. */
static bool read_length(rung__session *s, rung_slice *input) {
    rung_exchange *x = s->reading;
    size_t n = s->left < input->len ? (size_t)s->left : input->len;
    rung_slice piece = rung_slice_of(input->ptr, n);
    *input = rung_slice_of(input->ptr + n, input->len - n);
    s->left -= n;
    bool is_all = !s->left && x && x->body_mode == RUNG__BODY_COLLECT && !x->collected.len;
    if (n && !give_piece(s, x, piece, is_all))
        return false;
    if (s->phase == RUNG__PHASE_LENGTH && !s->left)
        end_body(s);
    return true;
}

static bool read_chunks(rung__session *s, rung_slice *input) {
    rung_slice piece;
    rung_exchange *x = s->reading;
    switch (rung_chunks_next(&s->chunks, input, &piece)) {
    case RUNG_CHUNKS_PIECE:
        return give_piece(s, x, piece, false);
    case RUNG_CHUNKS_END:
        end_body(s);
        return true;
    case RUNG_CHUNKS_MORE:
        return false;
    default:
        *input = (rung_slice){0};
        if (x && x->state != RUNG__ENDED) {
            fail_request(s, x, &bad_chunks);
        } else {
            s->is_last = true;
            rung_conn_finish(s->conn);
        }
        return false;
    }
}

/* May the body be read? The handler must have asked for it, and must not hold it. */
static bool is_body_wanted(rung__session *s) {
    rung_exchange *x = s->reading;
    if (!x || x->state == RUNG__ENDED)
        return true;
    if (x->state == RUNG__QUEUED || x->body_state == RUNG__BODY_HELD)
        return false;
    return x->body_mode != RUNG__BODY_UNASKED || !x->request.has_body;
}

/* ---- the reading loop ---- */

static bool may_read_on(const rung__session *s) {
    const rung_http *h = s->http;
    return (!s->last || s->last->state != RUNG__QUEUED) && s->count < h->config.pipeline_max &&
           s->behind_bytes < BEHIND_MAX;
}

/* One step; false: the rest of the input has to wait. */
static bool step(rung__session *s, rung_slice *input) {
    if (s->phase == RUNG__PHASE_UPGRADED)
        return false;
    if (rung_conn_is_finished(s->conn) || (s->is_last && s->phase <= RUNG__PHASE_HEAD)) {
        *input = (rung_slice){0};
        return false;
    }
    if (s->phase <= RUNG__PHASE_HEAD) {
        if (!input->len || rung_conn_is_full(s->conn))
            return false;
        if (!may_read_on(s)) {
            rung_conn_pause(s->conn);
            return false;
        }
        return read_head(s, input);
    }
    if (!is_body_wanted(s)) {
        rung_conn_pause(s->conn);
        return false;
    }
    bool has_more = s->phase == RUNG__PHASE_LENGTH ? input->len || !s->left : input->len;
    if (!has_more)
        return false;
    return s->phase == RUNG__PHASE_LENGTH ? read_length(s, input) : read_chunks(s, input);
}

/* A streamed body may last any time, so only the pause between its pieces is limited. */
static bool is_streamed(const rung__session *s) {
    return s->reading && s->reading->state != RUNG__ENDED &&
           s->reading->body_mode == RUNG__BODY_STREAM;
}

/* Set the deadline for what the session waits for. */
static void watch_idle(rung__session *s) {
    const rung_http_config *config = &s->http->config;
    if (rung_conn_is_finished(s->conn) || s->phase == RUNG__PHASE_HEAD)
        return; /* a head's deadline is set once, when it begins */
    if (s->phase == RUNG__PHASE_IDLE) {
        rung_conn_deadline(s->conn, s->count ? 0 : idle_ms_of(s));
    } else if (!is_body_wanted(s)) {
        rung_conn_deadline(s->conn, 0);
        s->body_since_ms = 0; /* our pauses do not count against the client */
    } else {
        uint64_t now = rung_loop_now_ms(s->http->loop);
        if (!s->body_since_ms) {
            s->body_since_ms = s->body_last_ms = now;
            s->body_bytes = 0;
        }
        uint64_t due =
            s->body_since_ms + config->body_ms + s->body_bytes * 1000 / config->body_rate;
        uint64_t last = (is_streamed(s) ? s->body_last_ms : s->body_since_ms) + config->body_max_ms;
        due = due < last ? due : last;
        rung_conn_deadline(s->conn, due > now ? (uint32_t)(due - now) : 1);
    }
}

static size_t on_data(rung_conn *c, rung_slice bytes) {
    rung__session *s = rung_conn_session(c);
    rung_slice rest = bytes;
    s->is_in_data = true;
    while (step(s, &rest)) {
    }
    s->is_in_data = false;
    size_t consumed = rest.ptr ? bytes.len - rest.len : bytes.len;
    if (s->phase == RUNG__PHASE_UPGRADED)
        session_give(s);
    else
        watch_idle(s);
    return consumed;
}

/* A reason to pause may have gone. */
static void on_woken(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    s->is_in_data = true;
    if (s->last && s->last->state == RUNG__QUEUED && may_run(s, s->last))
        hand_out(s, s->last);
    for (rung_exchange *x = s->first; x && s->phase != RUNG__PHASE_UPGRADED; x = x->next)
        if (x->body_state == RUNG__BODY_DUE && x->state != RUNG__ENDED) {
            tell_body(x);
            break; /* the list may have changed; at most one is due at a time */
        }
    rung_slice nothing = RUNG_SLICE("");
    if (s->phase == RUNG__PHASE_LENGTH || s->phase == RUNG__PHASE_CHUNKS)
        while (step(s, &nothing)) { /* an empty body ends without input */
        }
    rung_exchange *x = s->first;
    if (s->phase != RUNG__PHASE_UPGRADED && x && x->is_waiting && !rung_conn_is_full(c)) {
        x->is_waiting = false;
        if (x->watcher.drained)
            x->watcher.drained(x->watcher.ctx, x);
    }
    s->is_in_data = false;
    if (s->phase == RUNG__PHASE_UPGRADED) {
        session_give(s);
        return;
    }
    if (s->phase <= RUNG__PHASE_HEAD ? may_read_on(s) : is_body_wanted(s))
        rung_conn_resume(c);
    watch_idle(s);
}

static void on_drained(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    if (s->first && s->first->is_waiting)
        rung_conn_wake(c);
}

/* ---- the ends ---- */

static void on_ended(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    bool is_cut_short = s->phase > RUNG__PHASE_HEAD && s->reading;
    if (is_cut_short || (s->first && s->first->is_events)) {
        rung_conn_abort(c);
    } else if (!s->count) {
        rung_conn_finish(c);
    } else {
        s->is_last = true;
        s->is_stopping = true; /* the last answer says Connection: close */
        if (s->last->state >= RUNG__BEGUN)
            s->last->is_final = true;
    }
}

static void on_expired(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    if (s->phase > RUNG__PHASE_HEAD) {
        if (rung_conn_is_full(c)) {
            s->body_since_ms = 0; /* we do not read, since the client does not take its answers */
            watch_idle(s);
        } else if (s->reading && s->reading->state != RUNG__ENDED)
            fail_request(s, s->reading, &slow_body);
        else
            rung_conn_finish(c);
    } else if (s->phase == RUNG__PHASE_HEAD) {
        rung_exchange *x = exchange_begin(s);
        if (x)
            refuse_head(s, x, &slow_head);
        else
            rung_conn_abort(c);
    } else {
        rung_conn_finish(c);
    }
}

static void on_stopping(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    s->is_stopping = true;
    if (!s->count && s->phase != RUNG__PHASE_HEAD)
        rung_conn_finish(c);
    else if (s->last && s->last->state >= RUNG__BEGUN)
        s->last->is_final = true;
}

static void on_closed(rung_conn *c) {
    rung__session *s = rung_conn_session(c);
    rung_exchange *x = s->first;
    half_free(s);
    for (rung_exchange *at = x; at; at = at->next)
        at->session = NULL;
    while (x) {
        rung_exchange *next = x->next;
        bool is_collecting = x->body_mode == RUNG__BODY_COLLECT;
        bool is_ours =
            x->state == RUNG__QUEUED || (is_collecting && x->body_state != RUNG__BODY_HERE);
        if (x->state == RUNG__ENDED || is_ours)
            rung__exchange_release(x);
        else if (x->watcher.gone)
            x->watcher.gone(x->watcher.ctx, x);
        x = next;
    }
    session_give(s);
}

/* ---- the front ---- */

static void fill_defaults(rung_http_config *c) {
#define OR(field, value) c->field = c->field ? c->field : (value)
    OR(head_size_max, 16384);
    OR(target_max, 8192);
    OR(fields_max, 64);
    OR(idle_ms, 75000);
    OR(head_ms, 10000);
    OR(body_ms, 10000);
    OR(body_rate, 500);
    OR(body_max_ms, 60000);
    OR(pipeline_max, 64);
    OR(in_flight_max, 16384);
    OR(discard_max, 65536);
    OR(gzip_min, 1024);
    OR(gzip_level, 1);
#undef OR
}

rung_status rung_http_create(const rung_http_config *config, rung_http **http_out, rung_err *err) {
    rung_http_config c = *config;
    fill_defaults(&c);
    if (c.head_size_max > 60000 || c.fields_max > RUNG_HEAD_FIELDS_MAX || c.gzip_level > 9)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "http: expected head_size_max <= 60000, fields_max <= %d, gzip_level <= 9",
                         RUNG_HEAD_FIELDS_MAX);
    rung_http *h = rung_alloc_zeroed(c.alloc, sizeof *h);
    if (!h)
        return RUNG_FAIL(err, RUNG_ENOMEM, "http: out of memory");
    h->config = c;
    h->loop = rung_net_loop(c.net);
    h->limits = (rung_head_limits){c.head_size_max, c.target_max, c.fields_max};
    h->gzip.packed.alloc = c.alloc;
    h->date_s = -1;
    *http_out = h;
    return RUNG_OK;
}

void rung_http_destroy(rung_http *h) {
    if (!h)
        return;
    RUNG_ASSERT(!h->stats.in_flight);
    pool_deinit(h, &h->exchanges, sizeof(rung_exchange));
    pool_deinit(h, &h->sessions, sizeof(rung__session));
    rung__gzip_deinit(&h->gzip);
    rung_alloc_free(h->config.alloc, h, sizeof *h);
}

#define BUSY                                                                                       \
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"               \
    "Content-Length: 122\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"                           \
    "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"                  \
    "\"code\":\"too_many_connections\",\"detail\":\"try again later\"}"

const rung_protocol *rung_http_protocol(void) {
    static const rung_protocol protocol = {
        .opened = on_opened,
        .data = on_data,
        .ended = on_ended,
        .drained = on_drained,
        .woken = on_woken,
        .expired = on_expired,
        .stopping = on_stopping,
        .closed = on_closed,
        .busy = {BUSY, sizeof BUSY - 1},
        .input_max = 128u << 10,
        .has_reserve = true,
    };
    return &protocol;
}

void rung_http_drain(rung_http *h) {
    h->is_draining = true;
}

rung_http_stats rung_http_stat(const rung_http *h) {
    return h->stats;
}
