/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - HTTP/1.1 on connections of the net: framing, limits, order. The handler knows what a request means.
 *
 *     rung_http_create(&(rung_http_config){.alloc = a, .net = net, .handle = handle, .ctx = api}, &http, &err);
 *     rung_net_listen(net, &address, rung_http_protocol(), http, tls, &bound, &err);
 *     ...
 *     rung_http_destroy(http);          // after the net has stopped and every exchange was ended
 *
 * Limits: head too long or too many fields: 431; target too long: 414; head not complete in head_ms: 408; body slower
 * than body_rate or not complete in body_max_ms: 408; more than in_flight_max requests: 503 with Retry-After; more than
 * pipeline_max on one connection: they wait in the socket; body over the route's limit: 413. Each answer has a problem
 * body; the connection closes where the framing is in doubt. Thread: the loop's. */
#ifndef RUNG_FRONT_HTTP_HTTP_H
#define RUNG_FRONT_HTTP_HTTP_H

#include "base/alloc.h"
#include "base/status.h"
#include "front/http/exchange.h"
#include "front/http/forwarded.h"
#include "front/net/net.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_http rung_http; /* heap object; whoever created it calls rung_http_destroy() */

/* The problems that the transport itself answers with: status, code, description. The handler uses some of these codes
 * too. Codes are never renamed. */
#define RUNG_HTTP_PROBLEM_MAP(X)                                                                   \
    X(400, "malformed", "not a request this server understands")                                   \
    X(403, "origin_not_allowed", "pages of this origin are not allowed")                           \
    X(408, "request_timeout", "the head or the body came too slowly")                              \
    X(413, "too_large", "a body, a line or an array beyond its limit")                             \
    X(414, "target_too_long", "path and query beyond their limit")                                 \
    X(417, "expectation_failed", "Expect is not 100-continue")                                     \
    X(431, "headers_too_large", "header fields beyond their limit")                                \
    X(431, "too_many_headers", "more header fields than their limit")                              \
    X(501, "method_not_implemented", "CONNECT: this is not a proxy")                               \
    X(501, "coding_not_implemented", "Transfer-Encoding is not chunked")                           \
    X(503, "overloaded", "too much in flight: try again")                                          \
    X(503, "too_many_connections", "try again later")                                              \
    X(505, "version_not_supported", "neither HTTP/1.1 nor HTTP/1.0")

/* Zero is a good default for every field but alloc, net and handle. Texts are used until destroy. */
typedef struct rung_http_config {
    const rung_alloc *alloc;
    rung_net *net;
    void (*handle)(void *ctx, rung_exchange *x); /* the head of a request has been read */
    /* An exchange has ended, with status 0 if its client is gone: for metrics and the access log. The request's slices
     * and rung_exchange_user() are still valid. May be NULL. */
    void (*observe)(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                    uint64_t bytes_in, uint64_t bytes_out);
    void *ctx;
    uint32_t head_size_max; /* request line and fields; 0: 16 KiB */
    uint32_t target_max;    /* 0: 8 KiB */
    uint32_t fields_max;    /* header fields; 0: 64. Trailers: 16 fields, 4 KiB, ignored */
    uint32_t idle_ms;       /* between requests; head_ms where connections are scarce. 0: 75 s */
    uint32_t head_ms;       /* from its first byte to its last; 0: 10 s */
    uint32_t body_ms;       /* for a body, plus 1 / body_rate for every byte; 0: 10 s */
    uint32_t body_rate;     /* bytes per second; 0: 500 */
    uint32_t body_max_ms;   /* for a whole body; streamed: between two pieces. 0: 60 s */
    uint32_t pipeline_max;  /* requests in flight on one connection; 0: 64 */
    uint32_t in_flight_max; /* on all of them; 0: 16,384 */
    uint32_t discard_max;   /* bytes read of an unwanted body before we close; 0: 64 KiB */
    uint32_t gzip_min;      /* whole answers from this size on; 0: 1,024; UINT32_MAX: never */
    int gzip_level;         /* 1 .. 9; 0: 1 */
    /* Proxies that say in a header whom they speak for; used until destroy. NULL: none */
    const rung_proxies *proxies;
    rung_forwarded_by forwarded_by; /* in which one */
    /* "https://game.example", or "*" for any; ends with NULL; NULL: none */
    const char *const *cors_origins;
} rung_http_config;

RUNG_NODISCARD rung_status rung_http_create(const rung_http_config *config, rung_http **http_out,
                                            rung_err *err);
void rung_http_destroy(rung_http *h); /* NULL is fine */

/* Close each connection with its next answer from now on; new ones are still accepted. */
void rung_http_drain(rung_http *h);

/* For rung_net_listen(); its ctx is the rung_http. */
const rung_protocol *rung_http_protocol(void);

typedef struct rung_http_stats {
    uint64_t requests, malformed, overloaded, timed_out; /* the last three: refused here */
    uint64_t upgraded, gzipped;
    uint32_t in_flight;
    size_t memory; /* bytes of exchanges in use and pooled */
} rung_http_stats;
rung_http_stats rung_http_stat(const rung_http *h);

#endif
