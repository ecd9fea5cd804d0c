/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stream of requests: the same outcome at every cut, and what we accept, another parser reads
 * alike.
 *
 * The first byte chooses how the input is cut; the rest is the stream. The other parser (http-parser) is
 * lenient: it may accept what we refuse; what both accept, they must read alike. */
#include "base/assert.h"
#include "codec/http1.h"

#include <stdlib.h>
#include <string.h>
#if __has_include(<http_parser.h>)
#include <http_parser.h>
#define HAS_OTHER 1
#endif

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define REQUESTS_MAX 8
#define BODY_MAX     65536

/* What a stream came to: the requests' facts, one after the other. */
typedef struct facts {
    size_t count, consumed;
    bool is_refused, is_partial;
    struct {
        char method[40];
        size_t target_len, body_len;
        uint64_t body_hash;
    } requests[REQUESTS_MAX];
} facts;

static uint64_t hash(uint64_t h, const char *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)bytes[i]) * 1099511628211u;
    return h;
}

static const rung_head_limits limits = {.size_max = 8192, .target_max = 4096, .fields_max = 64};

/* The body behind a head, given in pieces of `step`; false: refused or not complete. */
static bool take_body(const rung_head *h, rung_slice *input, size_t step, size_t *len,
                      uint64_t *sum, bool *refused) {
    rung_chunks c = {0};
    *sum = 14695981039346656037u;
    *len = 0;
    if (!h->is_chunked) {
        if (h->length > input->len)
            return false;
        *len = (size_t)h->length;
        *sum = hash(*sum, input->ptr, *len);
        *input = rung_slice_of(input->ptr + *len, input->len - *len);
        return true;
    }
    for (;;) {
        size_t n = input->len < step ? input->len : step;
        rung_slice part = rung_slice_of(input->ptr, n), piece;
        rung_chunks_event e = rung_chunks_next(&c, &part, &piece);
        *input = rung_slice_of(part.ptr, input->len - (n - part.len));
        if (e == RUNG_CHUNKS_PIECE) {
            RUNG_ASSERT(piece.len > 0);
            *sum = hash(*sum, piece.ptr, piece.len);
            *len += piece.len;
        } else if (e != RUNG_CHUNKS_MORE) {
            *refused = e == RUNG_CHUNKS_BAD;
            return e == RUNG_CHUNKS_END;
        } else if (!input->len) {
            return false;
        }
    }
}

/* Read the stream with heads that grow by `step` bytes. */
static void read_all(rung_slice input, size_t step, facts *f) {
    memset(f, 0, sizeof *f);
    while (input.len && f->count < REQUESTS_MAX) {
        rung_head head = {0};
        rung_head_problem problem = {0};
        size_t size = 0, shown = 0;
        rung_status st = RUNG_PARTIAL;
        while (st == RUNG_PARTIAL && shown < input.len) {
            shown = input.len - shown < step ? input.len : shown + step;
            st = rung_head_parse(&head, &limits, rung_slice_of(input.ptr, shown), &size, &problem);
        }
        f->is_refused = st < 0;
        f->is_partial = st == RUNG_PARTIAL;
        if (st != RUNG_OK)
            return;
        RUNG_ASSERT(size <= shown && !(head.is_chunked && head.has_length));
        rung_slice method = rung_head_slice(input.ptr, head.method_text);
        memcpy(f->requests[f->count].method, method.ptr, method.len);
        f->requests[f->count].target_len = head.path.len;
        rung_slice rest = rung_slice_of(input.ptr + size, input.len - size);
        if (!take_body(&head, &rest, step, &f->requests[f->count].body_len,
                       &f->requests[f->count].body_hash, &f->is_refused)) {
            f->is_partial = !f->is_refused;
            return;
        }
        f->count++;
        f->consumed += input.len - rest.len;
        input = rest;
    }
}

/* ---- the other parser, where the system has it ---- */

#ifdef HAS_OTHER

typedef struct other {
    size_t count;
    char method[REQUESTS_MAX][40];
    size_t body_len[REQUESTS_MAX];
    uint64_t body_hash[REQUESTS_MAX];
} other;

static int on_begin(http_parser *p) {
    other *o = p->data;
    if (o->count < REQUESTS_MAX)
        o->body_hash[o->count] = 14695981039346656037u;
    return 0;
}

static int on_head(http_parser *p) {
    (void)p;
    return 0;
}

static int on_body(http_parser *p, const char *at, size_t len) {
    other *o = p->data;
    if (o->count < REQUESTS_MAX) {
        o->body_len[o->count] += len;
        o->body_hash[o->count] = hash(o->body_hash[o->count], at, len);
    }
    return 0;
}

static int on_complete(http_parser *p) {
    other *o = p->data;
    if (o->count < REQUESTS_MAX) {
        const char *method = http_method_str(p->method);
        memcpy(o->method[o->count], method, strlen(method));
    }
    o->count++;
    return 0;
}

/* Everything we accepted, in one go: so many requests, with these methods and bodies. Where it stops early (a method it
 * does not know, an upgrade, a mistake of its own) what it has read until then must agree. */
static void compare(rung_slice input, const facts *f) {
    static const http_parser_settings settings = {.on_message_begin = on_begin,
                                                  .on_headers_complete = on_head,
                                                  .on_body = on_body,
                                                  .on_message_complete = on_complete};
    other o = {0};
    http_parser p;
    http_parser_init(&p, HTTP_REQUEST);
    p.data = &o;
    http_parser_execute(&p, &settings, input.ptr, f->consumed);
    bool is_whole = HTTP_PARSER_ERRNO(&p) == HPE_OK && !p.upgrade;
    RUNG_ASSERT(is_whole ? o.count == f->count : o.count <= f->count);
    for (size_t i = 0; i < o.count; i++) {
        RUNG_ASSERT(strcmp(o.method[i], f->requests[i].method) == 0);
        RUNG_ASSERT(o.body_len[i] == f->requests[i].body_len);
        RUNG_ASSERT(o.body_hash[i] == f->requests[i].body_hash);
    }
}

#else

static void compare(rung_slice input, const facts *f) {
    (void)input;
    (void)f;
}

#endif

/* Whatever the bytes are as a Range or Content-Range field: the part lies inside the body. */
static void read_range(rung_slice field, uint64_t size) {
    uint64_t from, len;
    if (rung_range_read(field, size, &from, &len) == RUNG_OK)
        RUNG_ASSERT(len > 0 && from < size && len <= size - from);
    if (rung_content_range_read(field, &from, &len))
        RUNG_ASSERT(from <= len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static facts whole, cut;
    if (size < 1 || size > BODY_MAX)
        return 0;
    rung_slice input = rung_slice_of(data + 1, size - 1);
    read_range(input, data[0]);
    read_range(input, UINT64_MAX - data[0]);
    read_all(input, SIZE_MAX / 2, &whole);
    read_all(input, 1u + data[0], &cut);
    RUNG_ASSERT(whole.count == cut.count && whole.consumed == cut.consumed);
    RUNG_ASSERT(whole.is_refused == cut.is_refused && whole.is_partial == cut.is_partial);
    RUNG_ASSERT(memcmp(whole.requests, cut.requests, sizeof whole.requests) == 0);
    if (whole.count)
        compare(input, &whole);
    return 0;
}
