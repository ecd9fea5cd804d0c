/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - answers: heads, whole bodies, pieces, problems; and the request as a handler sees it.
 *
 * The answer of a connection's oldest exchange goes straight into the connection's output. Later ones are buffered in
 * `out` until it is their turn.
 *
 * 1. An answer begins once and ends once (rung__exchange_go); then the exchange is released (rung__session_advance).
 * 2. is_final is decided before the head is written, and the head says so.
 * 3. A handler cannot break a header line: control characters become blanks. */
#include "front/http/exchange.h"

#include "base/assert.h"
#include "codec/json_writer.h"
#include "front/http/origin.h"
#include "front/http/transport.h"
#include "model/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BEHIND_HIGH 65536u /* bytes that a streamed answer may buffer while others are before it */

bool rung__exchange_keep(rung_exchange *x, rung_buffer *b, rung_slice bytes) {
    size_t before = b->size;
    b->alloc = x->http->config.alloc;
    rung_buffer_put(b, bytes.ptr, bytes.len);
    if (b->size > before)
        rung_exchange_charge(x, (ptrdiff_t)(b->size - before));
    return !b->is_failed;
}

/* ---- the request ---- */

const rung_request *rung_exchange_request(const rung_exchange *x) {
    return &x->request;
}

rung_slice rung_exchange_header(const rung_exchange *x, const char *lower_name) {
    return rung_head_find(&x->head, x->head_bytes, rung_slice_str(lower_name));
}

static bool client_address(const rung_exchange *x, rung_address *out) {
    const rung_http_config *config = &x->http->config;
    if (!x->session || !rung_conn_address(x->session->conn, out))
        return false;
    if (x->session->is_from_proxy)
        rung_forwarded_find(&x->head, x->head_bytes, config->forwarded_by, config->proxies, out);
    return true;
}

void rung__exchange_note_client(rung_exchange *x) {
    rung_address a;
    if (x->session->is_from_proxy && client_address(x, &a))
        x->client_key = rung_address_key(&a);
}

/* A proxy does not always say the port. */
void rung_exchange_peer(const rung_exchange *x, char text[RUNG_ADDRESS_TEXT_MAX]) {
    rung_address a;
    text[0] = 0;
    if (!client_address(x, &a))
        return;
    rung_address_text(&a, text);
    if (!a.is_unix && rung_address_port(&a) == 0)
        *strrchr(text, ':') = 0;
}

rung_slice rung_exchange_peer_key(const rung_exchange *x) {
    if (!x->session)
        return (rung_slice){NULL, 0};
    if (x->session->is_from_proxy)
        return rung_slice_of((const char *)&x->client_key, sizeof x->client_key);
    return rung_conn_peer_key(x->session->conn);
}

void *rung_exchange_alloc(rung_exchange *x, size_t size) {
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded <= RUNG__ROOM_SIZE - x->room_used) {
        char *at = x->room + x->room_used;
        x->room_used += (uint32_t)rounded;
        return memset(at, 0, size);
    }
    if (size > SIZE_MAX / 2)
        return NULL;
    rung__block *b = rung_alloc_zeroed(x->http->config.alloc, sizeof *b + size);
    if (!b)
        return NULL;
    b->size = size;
    b->next = x->blocks;
    x->blocks = b;
    rung_exchange_charge(x, (ptrdiff_t)(sizeof *b + size));
    return b->bytes;
}

void rung_exchange_charge(rung_exchange *x, ptrdiff_t bytes) {
    x->charged = (size_t)((ptrdiff_t)x->charged + bytes);
    if (!x->session)
        return;
    x->session->charged = (size_t)((ptrdiff_t)x->session->charged + bytes);
    rung__session_tell_held(x->session);
}

bool rung_exchange_is_reserved(const rung_exchange *x) {
    return x->session && rung_conn_is_reserved(x->session->conn);
}

bool rung_exchange_may_change(const rung_exchange *x) {
    return rung_origin_may_change(x->http->config.cors_origins, rung_exchange_header(x, "origin"),
                                  x->request.host);
}

void rung_exchange_set_user(rung_exchange *x, void *user) {
    x->user = user;
}

void *rung_exchange_user(const rung_exchange *x) {
    return x->user;
}

void rung_exchange_watch(rung_exchange *x, const rung_exchange_watcher *w) {
    x->watcher = w ? *w : (rung_exchange_watcher){0};
}

bool rung_exchange_is_gone(const rung_exchange *x) {
    return !x->session;
}

/* ---- the body ---- */

/* The handler takes more of the body. */
static void read_on(rung_exchange *x) {
    if (!x->session || x->session->is_in_data)
        return;
    rung_conn_resume(x->session->conn);
    rung_conn_wake(x->session->conn);
}

static void ask_body(rung_exchange *x, rung__body_mode mode, uint64_t limit,
                     rung_exchange_body *body, void *ctx) {
    RUNG_ASSERT(x->body_mode == RUNG__BODY_UNASKED && x->state != RUNG__ENDED);
    x->body_mode = mode;
    x->body_limit = limit;
    x->body = body;
    x->body_ctx = ctx;
    if (!x->session)
        return;
    if (x->head.has_length && x->head.length > limit && x->state < RUNG__BEGUN) {
        x->is_final = true;
        rung__exchange_refuse(x, &rung__too_large);
        return;
    }
    bool is_due = x->head.expects_continue && x->body_state == RUNG__BODY_COMING && !x->body_size &&
                  x->state < RUNG__BEGUN;
    if (is_due && x->session->first == x)
        rung_conn_write(x->session->conn, RUNG_SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
    if (x->body_state == RUNG__BODY_HERE)
        x->body_state = RUNG__BODY_DUE;
    read_on(x);
}

void rung_exchange_collect(rung_exchange *x, size_t limit, rung_exchange_body *ready, void *ctx) {
    ask_body(x, RUNG__BODY_COLLECT, limit, ready, ctx);
}

void rung_exchange_stream(rung_exchange *x, uint64_t limit, rung_exchange_body *piece, void *ctx) {
    ask_body(x, RUNG__BODY_STREAM, limit, piece, ctx);
}

void rung_exchange_hold(rung_exchange *x) {
    if (x->body_state == RUNG__BODY_COMING)
        x->body_state = RUNG__BODY_HELD;
}

void rung_exchange_go_on(rung_exchange *x) {
    if (x->body_state != RUNG__BODY_HELD)
        return;
    x->body_state = RUNG__BODY_COMING;
    read_on(x);
}

/* ---- sending ---- */

static bool is_first(const rung_exchange *x) {
    return x->session && x->session->first == x;
}

static void emit(rung_exchange *x, rung_slice bytes) {
    rung__session *s = x->session;
    if (!s)
        return;
    x->bytes_out += bytes.len;
    if (s->first == x) {
        rung_conn_write(s->conn, bytes);
    } else if (rung__exchange_keep(x, &x->out, bytes)) {
        s->behind_bytes += bytes.len;
    } else {
        rung_conn_abort(s->conn);
    }
}

void rung__exchange_go(rung_exchange *x, rung__exchange_state to) {
    RUNG_ASSERT(x->state < to);
    x->state = to;
}

static void end_exchange(rung_exchange *x) {
    rung_http *h = x->http;
    rung__exchange_go(x, RUNG__ENDED);
    if (h->config.observe) {
        uint64_t took_us = (rung_loop_clock_ns(h->loop) - x->started_ns) / 1000;
        h->config.observe(h->config.ctx, x, x->session ? x->status : 0, took_us, x->bytes_in,
                          x->bytes_out);
    }
    if (x->session)
        rung__session_advance(x->session);
    else
        rung__exchange_release(x);
}

static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

static const char *date_now(rung_http *h) {
    time_t now_s = (time_t)(rung_loop_wall_ms(h->loop) / 1000);
    if (now_s != h->date_s) {
        struct tm t;
        h->date_s = now_s;
        strftime(h->date, sizeof h->date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now_s, &t));
    }
    return h->date;
}

/* Composes a head. Its parts are bounded: see RUNG__EXTRA_SIZE. */
typedef struct composer {
    char *at;
} composer;

static void put(composer *c, rung_slice text) {
    memcpy(c->at, text.ptr, text.len);
    c->at += text.len;
}

#define PUT(c, literal) put((c), RUNG_SLICE(literal))

static void put_number(composer *c, uint64_t number) {
    c->at += rung_digits_format(number, c->at);
}

static void put_cors(rung_exchange *x, composer *c) {
    if (!x->http->config.cors_origins)
        return;
    rung_slice origin = rung_exchange_header(x, "origin");
    rung_slice allowed = rung_origin_allowed(x->http->config.cors_origins, origin);
    if (!rung_slice_eq(allowed, RUNG_SLICE("*")))
        PUT(c, "Vary: Origin\r\n");
    if (!allowed.len)
        return;
    PUT(c, "Access-Control-Allow-Origin: ");
    put(c, allowed);
    PUT(c, "\r\nAccess-Control-Expose-Headers: ETag, Retry-After, RateLimit-Limit, "
           "RateLimit-Remaining, RateLimit-Reset, Rung-Age\r\n");
}

/* How the body is framed. */
typedef enum framing { LENGTH, CHUNKED, UNTIL_CLOSE, NO_BODY } framing;

static void decide_final(rung_exchange *x, bool is_body_wanted) {
    rung__session *s = x->session;
    bool is_read = s->phase <= RUNG__PHASE_HEAD || (s->reading == x && !x->request.has_body);
    /* A draining server answers a request whose head has begun. */
    bool is_ending = s->is_stopping || (x->http->is_draining && s->phase != RUNG__PHASE_HEAD);
    if (is_ending && x == s->last && is_read)
        x->is_final = s->is_last = true;
    if (s->reading != x || x->body_state >= RUNG__BODY_HERE || is_body_wanted)
        return;
    /* Nobody wants the body: discard a short one, and close rather than read a long one. */
    bool was_never_asked_for = x->head.expects_continue && x->body_mode == RUNG__BODY_UNASKED;
    bool is_long = s->phase == RUNG__PHASE_LENGTH && s->left > x->http->config.discard_max;
    if (was_never_asked_for || is_long)
        x->is_final = true;
}

static void put_connection(const rung_exchange *x, composer *c) {
    if (x->is_final)
        PUT(c, "Connection: close\r\n");
    else if (x->head.minor_version == 0)
        PUT(c, "Connection: keep-alive\r\n");
}

static void write_head(rung_exchange *x, const char *type, framing f, uint64_t length,
                       bool is_packed, bool is_varied) {
    char start[4096]; /* see RUNG__EXTRA_SIZE */
    composer c = {start};
    PUT(&c, "HTTP/1.1 ");
    put_number(&c, (uint64_t)x->status);
    PUT(&c, " ");
    put(&c, rung_slice_str(reason_of(x->status)));
    PUT(&c, "\r\nDate: ");
    put(&c, rung_slice_str(date_now(x->http)));
    PUT(&c, "\r\nX-Content-Type-Options: nosniff\r\n");
    if (type) {
        PUT(&c, "Content-Type: ");
        put(&c, rung_slice_str(type));
        PUT(&c, "\r\n");
    }
    if (f == LENGTH) {
        PUT(&c, "Content-Length: ");
        put_number(&c, length);
        PUT(&c, "\r\n");
    } else if (f == CHUNKED) {
        PUT(&c, "Transfer-Encoding: chunked\r\n");
    }
    if (is_packed)
        PUT(&c, "Content-Encoding: gzip\r\n");
    if (is_varied)
        PUT(&c, "Vary: Accept-Encoding\r\n");
    put_cors(x, &c);
    put_connection(x, &c);
    if (x->extra_len)
        put(&c, rung_slice_of(x->extra, x->extra_len));
    PUT(&c, "\r\n");
    RUNG_ASSERT((size_t)(c.at - start) <= sizeof start);
    emit(x, rung_slice_of(start, (size_t)(c.at - start)));
}

/* ---- whole answers ---- */

void rung_exchange_set(rung_exchange *x, const char *name, rung_slice value) {
    size_t name_len = strlen(name), len = name_len + value.len + 4;
    RUNG_ASSERT(x->state < RUNG__BEGUN);
    if (x->extra_len + len > RUNG__EXTRA_SIZE)
        return; /* beyond the limit of a head */
    if (x->extra_len + len > x->extra_size) {
        uint32_t size = x->extra_size ? RUNG__EXTRA_SIZE : 256;
        if (size < x->extra_len + len)
            size = RUNG__EXTRA_SIZE;
        char *bigger = rung_exchange_alloc(x, size);
        if (!bigger)
            return;
        if (x->extra_len)
            memcpy(bigger, x->extra, x->extra_len);
        x->extra = bigger;
        x->extra_size = size;
    }
    char *at = x->extra + x->extra_len;
    memcpy(at, name, name_len);
    memcpy(at + name_len, ": ", 2);
    for (size_t i = 0; i < value.len; i++) {
        uint8_t byte = (uint8_t)value.ptr[i];
        at[name_len + 2 + i] = byte < 0x20 || byte == 0x7f ? ' ' : value.ptr[i];
    }
    memcpy(at + len - 2, "\r\n", 2);
    x->extra_len += (uint32_t)len;
    x->has_encoding |= strcmp(name, "Content-Encoding") == 0;
}

#define GZIP_BODY_MAX (1u << 20) /* larger ones would block the loop for too long */

static bool open_deflate(rung__gzip *g, int level) {
    if (g->is_open)
        return deflateReset(&g->stream) == Z_OK;
    /* 15 + 16: the largest window, with a gzip head instead of zlib's. */
    g->is_open =
        deflateInit2(&g->stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    return g->is_open;
}

/* False: out of memory, too large, or not smaller than the body. `*out` is valid until the next call. */
static bool pack(rung__gzip *g, int level, rung_slice body, rung_slice *out) {
    rung_buffer_reset(&g->packed, SIZE_MAX);
    if (body.len > GZIP_BODY_MAX || !open_deflate(g, level) ||
        !rung_buffer_reserve(&g->packed, body.len))
        return false;
    g->stream.next_in = (Bytef *)(uintptr_t)body.ptr; /* zlib does not write there */
    g->stream.avail_in = (uInt)body.len;
    g->stream.next_out = (Bytef *)g->packed.data;
    g->stream.avail_out = (uInt)body.len;
    if (deflate(&g->stream, Z_FINISH) != Z_STREAM_END)
        return false; /* it did not become smaller */
    *out = rung_slice_of(g->packed.data, body.len - g->stream.avail_out);
    return true;
}

void rung__gzip_deinit(rung__gzip *g) {
    if (g->is_open)
        deflateEnd(&g->stream);
    g->is_open = false;
    rung_buffer_deinit(&g->packed);
}

static bool is_compressible(const char *type) {
    return strncmp(type, "application/json", 16) == 0 ||
           strncmp(type, "application/problem+json", 24) == 0 || strncmp(type, "text/", 5) == 0 ||
           strncmp(type, "application/x-ndjson", 20) == 0 ||
           strncmp(type, "application/javascript", 22) == 0 ||
           strncmp(type, "image/svg+xml", 13) == 0;
}

static bool has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

void rung_exchange_answer(rung_exchange *x, int status, const char *type, rung_slice body) {
    RUNG_ASSERT(status >= 200 && status <= 599);
    RUNG_ASSERT(!type || strlen(type) <= 128);
    rung__exchange_go(x, RUNG__BEGUN);
    x->status = status;
    if (x->session) {
        const rung_http_config *config = &x->http->config;
        bool is_packed = false;
        bool is_varied = type && body.len >= config->gzip_min && !x->has_encoding &&
                         !has_no_body(status) && is_compressible(type);
        if (is_varied &&
            rung_list_has(rung_exchange_header(x, "accept-encoding"), RUNG_SLICE("gzip"))) {
            is_packed = pack(&x->http->gzip, config->gzip_level, body, &body);
            x->http->stats.gzipped += is_packed;
        }
        decide_final(x, false);
        write_head(x, type, has_no_body(status) ? NO_BODY : LENGTH, body.len, is_packed, is_varied);
        if (x->request.method != RUNG_METHOD_HEAD && !has_no_body(status))
            emit(x, body);
    }
    end_exchange(x);
}

#define DETAIL_MAX   479u
#define PROBLEM_SIZE 6144u /* the detail grows sixfold at worst; members, and the rest */

static rung_slice problem_body(char text[PROBLEM_SIZE], int status, const char *code,
                               rung_slice members, rung_slice detail) {
    rung_json_writer w = {.data = text, .size = PROBLEM_SIZE};
    RUNG_ASSERT(members.len <= 2048);
    if (detail.len > DETAIL_MAX)
        detail.len = DETAIL_MAX;
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "type", string, RUNG_SLICE("about:blank"));
    RUNG_JSON_MEMBER(&w, "title", word, reason_of(status));
    RUNG_JSON_MEMBER(&w, "status", uint, (uint64_t)status);
    RUNG_JSON_MEMBER(&w, "code", word, code);
    RUNG_JSON_MEMBER(&w, "detail", string, detail);
    if (members.len) {
        rung_json_append(&w, RUNG_SLICE(","));
        rung_json_append(&w, members);
    }
    rung_json_close_object(&w);
    RUNG_ASSERT(!rung_json_failed(&w));
    return rung_json_written(&w);
}

void rung_exchange_problem(rung_exchange *x, int status, const char *code, rung_slice members,
                           rung_slice detail) {
    char text[PROBLEM_SIZE];
    rung_slice body = problem_body(text, status, code, members, detail);
    rung_exchange_answer(x, status, RUNG_TYPE_PROBLEM, body);
}

void rung__exchange_refuse(rung_exchange *x, const rung_head_problem *p) {
    if (p->status == 503)
        rung_exchange_set(x, "Retry-After", RUNG_SLICE("1"));
    rung_exchange_problem(x, p->status, p->code, (rung_slice){0}, rung_slice_str(p->detail));
}

void rung__exchange_tell(rung_exchange *x, const rung_head_problem *p) {
    char text[PROBLEM_SIZE];
    rung_slice body =
        problem_body(text, p->status, p->code, (rung_slice){0}, rung_slice_str(p->detail));
    x->status = p->status;
    write_head(x, RUNG_TYPE_PROBLEM, LENGTH, body.len, false, false);
    emit(x, body);
}

/* A CORS preflight: OPTIONS, sent by a browser before the real request. */
bool rung__exchange_preflight(rung_exchange *x) {
    if (x->request.method != RUNG_METHOD_OPTIONS || !x->http->config.cors_origins)
        return false;
    rung_slice origin = rung_exchange_header(x, "origin");
    if (!origin.ptr || !rung_exchange_header(x, "access-control-request-method").ptr)
        return false;
    if (!rung_origin_allowed(x->http->config.cors_origins, origin).len) {
        rung_exchange_problem(x, 403, "origin_not_allowed", (rung_slice){0},
                              RUNG_SLICE("Origin: not among the configured ones"));
        return true;
    }
    rung_exchange_set(x, "Access-Control-Allow-Methods",
                      RUNG_SLICE("GET, HEAD, POST, PUT, DELETE"));
    rung_exchange_set(x, "Access-Control-Allow-Headers",
                      RUNG_SLICE("Authorization, Content-Type, If-None-Match, Last-Event-ID"));
    rung_exchange_set(x, "Access-Control-Max-Age", RUNG_SLICE("600"));
    rung_exchange_answer(x, 204, NULL, (rung_slice){0});
    return true;
}

/* ---- answers in pieces ---- */

static void begin_pieces(rung_exchange *x, int status, const char *type, framing f,
                         uint64_t length) {
    RUNG_ASSERT(!has_no_body(status));
    rung__exchange_go(x, RUNG__BEGUN);
    x->status = status;
    x->is_events = type && strncmp(type, RUNG_TYPE_EVENTS, strlen(RUNG_TYPE_EVENTS)) == 0;
    x->http->stats.in_flight -= x->is_events;
    if (!x->session)
        return;
    x->is_chunked = f == CHUNKED;
    if (f == UNTIL_CLOSE)
        x->is_final = true;
    decide_final(x, x->body_mode == RUNG__BODY_STREAM);
    write_head(x, type, f, length, false, false);
}

void rung_exchange_begin(rung_exchange *x, int status, const char *type) {
    begin_pieces(x, status, type, x->head.minor_version == 1 ? CHUNKED : UNTIL_CLOSE, 0);
}

void rung_exchange_begin_sized(rung_exchange *x, int status, const char *type, uint64_t length) {
    begin_pieces(x, status, type, LENGTH, length);
}

bool rung_exchange_write(rung_exchange *x, rung_slice bytes) {
    RUNG_ASSERT(x->state == RUNG__BEGUN);
    if (!x->session)
        return false;
    if (bytes.len && x->request.method != RUNG_METHOD_HEAD) {
        char size[24];
        int len = x->is_chunked ? snprintf(size, sizeof size, "%zx\r\n", bytes.len) : 0;
        emit(x, rung_slice_of(size, (size_t)len));
        emit(x, bytes);
        emit(x, x->is_chunked ? RUNG_SLICE("\r\n") : RUNG_SLICE(""));
    }
    x->is_waiting = !x->session ||
                    (is_first(x) ? rung_conn_is_full(x->session->conn) : x->out.len > BEHIND_HIGH);
    return !x->is_waiting;
}

void rung_exchange_write_blob(rung_exchange *x, rung_blob *chunks) {
    RUNG_ASSERT(!x->session || rung_exchange_is_chunked(x));
    if (!is_first(x)) {
        emit(x, rung_slice_of(chunks->bytes, chunks->len));
        return;
    }
    rung_conn_write_blob(x->session->conn, chunks);
    x->bytes_out += chunks->len;
}

bool rung_exchange_is_chunked(const rung_exchange *x) {
    return x->is_chunked && x->request.method != RUNG_METHOD_HEAD;
}

size_t rung_exchange_queued(const rung_exchange *x) {
    if (!x->session)
        return 0;
    return x->out.len + (is_first(x) ? rung_conn_queued(x->session->conn) : 0);
}

void rung_exchange_end(rung_exchange *x) {
    RUNG_ASSERT(x->state >= RUNG__BEGUN);
    if (x->is_chunked && x->request.method != RUNG_METHOD_HEAD)
        emit(x, RUNG_SLICE("0\r\n\r\n"));
    end_exchange(x);
}

/* A chunked answer without its last chunk is incomplete for the client, and the rest still arrives. With other framing
 * only a reset shows that something is missing. */
void rung__exchange_cut_off(rung_exchange *x) {
    if (x->state >= RUNG__BEGUN && x->is_chunked)
        rung_conn_finish(x->session->conn);
    else
        rung_conn_abort(x->session->conn);
}

void rung_exchange_cut(rung_exchange *x) {
    if (x->session)
        rung__exchange_cut_off(x);
    end_exchange(x);
}

/* ---- leaving HTTP ---- */

rung_conn *rung_exchange_upgrade(rung_exchange *x, rung_slice headers,
                                 const rung_protocol *protocol, void *session) {
    rung__session *s = x->session;
    RUNG_ASSERT(x->request.wants_upgrade && (!s || s->first == x));
    rung__exchange_go(x, RUNG__BEGUN);
    x->status = 101;
    if (!s || rung_conn_is_finished(s->conn)) {
        end_exchange(x);
        return NULL;
    }
    rung_conn *conn = s->conn;
    emit(x, RUNG_SLICE("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"));
    emit(x, headers);
    emit(x, RUNG_SLICE("\r\n"));
    rung_conn_switch(conn, protocol, session);
    rung_conn_resume(conn);
    x->http->stats.upgraded++;
    s->phase = RUNG__PHASE_UPGRADED;
    end_exchange(x);
    return conn;
}
