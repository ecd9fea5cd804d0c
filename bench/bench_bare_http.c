/* SPDX-License-Identifier: Apache-2.0 */
/* bench_bare_http.c - the floor for ./dev bench http: a server that does nothing but answer.
 *
 *     bench_bare_http [--transport] [port]      prints "listening 127.0.0.1:PORT", runs until killed
 *
 * Bare: libuv and http-parser, a fixed 180-byte body, one write per read. With --transport: the same body
 * through our own transport (front/net, front/http) and no handler to speak of. The difference of the two is
 * what limits, order, strictness and back-pressure cost; the difference of the second to the real server is
 * what the questions cost. */
#include "base/alloc.h"
#include "front/http/http.h"
#include "front/net/net.h"
#include "front/net/uv_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#if __has_include(<http_parser.h>)
#include <http_parser.h>
#else /* its successor */
#include <llhttp.h>
typedef llhttp_t http_parser;
typedef llhttp_settings_t http_parser_settings;
#endif

#define BODY                                                                                       \
    "{\"board\":\"race\",\"window\":\"all\",\"entry\":{\"rank\":1234567,\"player\":\"player:"      \
    "01234567\","                                                                                  \
    "\"score\":98765,\"at\":\"2026-11-15T09:01:30.000Z\",\"percentile\":87.65},\"total\":"         \
    "10000000,"                                                                                    \
    "\"seq\":12345678}"

static const char answer[] = "HTTP/1.1 200 OK\r\nDate: Sun, 15 Nov 2026 09:01:30 GMT\r\n"
                             "Content-Type: application/json\r\nContent-Length: 180\r\n\r\n" BODY;

/* ---- bare ---- */

typedef struct bare {
    uv_tcp_t tcp;
    http_parser parser;
    unsigned due; /* requests of this read to answer */
} bare;

static char input[65536];
static char output[sizeof answer * 1024];

static int on_complete(http_parser *p) {
    ((bare *)p->data)->due++;
    return 0;
}

static const http_parser_settings settings = {.on_message_complete = on_complete};

#if __has_include(<http_parser.h>)
static void start_parser(bare *b) {
    http_parser_init(&b->parser, HTTP_REQUEST);
    b->parser.data = b;
}

static void parse(bare *b, const char *bytes, size_t len) {
    http_parser_execute(&b->parser, &settings, bytes, len);
}
#else
static void start_parser(bare *b) {
    llhttp_init(&b->parser, HTTP_REQUEST, &settings);
    b->parser.data = b;
}

static void parse(bare *b, const char *bytes, size_t len) {
    llhttp_execute(&b->parser, bytes, len);
}
#endif

static void on_bare_closed(uv_handle_t *handle) {
    free(handle->data);
}

static void on_bare_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(input, sizeof input);
}

static void on_bare_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    bare *b = stream->data;
    if (n < 0) {
        uv_close((uv_handle_t *)stream, on_bare_closed);
        return;
    }
    b->due = 0;
    parse(b, buf->base, (size_t)n);
    size_t len = 0;
    for (unsigned i = 0; i < b->due && i < 1024; i++, len += sizeof answer - 1)
        memcpy(output + len, answer, sizeof answer - 1);
    uv_buf_t out = uv_buf_init(output, (unsigned)len);
    if (len && uv_try_write(stream, &out, 1) != (int)len)
        uv_close((uv_handle_t *)stream, on_bare_closed);
}

static void on_bare_connection(uv_stream_t *server, int status) {
    bare *b = status == 0 ? calloc(1, sizeof *b) : NULL;
    if (!b)
        return;
    uv_tcp_init(server->loop, &b->tcp);
    b->tcp.data = b;
    start_parser(b);
    uv_accept(server, (uv_stream_t *)&b->tcp);
    uv_tcp_nodelay(&b->tcp, 1);
    uv_read_start((uv_stream_t *)&b->tcp, on_bare_alloc, on_bare_read);
}

static int listen_bare(uv_loop_t *loop, int port) {
    static uv_tcp_t server;
    struct sockaddr_in address;
    int len = sizeof address;
    uv_ip4_addr("127.0.0.1", port, &address);
    uv_tcp_init(loop, &server);
    if (uv_tcp_bind(&server, (struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server, 1024, on_bare_connection) != 0 ||
        uv_tcp_getsockname(&server, (struct sockaddr *)&address, &len) != 0)
        return -1;
    return ntohs(address.sin_port);
}

/* ---- our transport ---- */

static void handle(void *ctx, rung_exchange *x) {
    (void)ctx;
    rung_exchange_answer(x, 200, RUNG_TYPE_JSON, RUNG_SLICE(BODY));
}

static int listen_transport(rung_loop *loop, int port) {
    const rung_alloc *alloc = rung_alloc_heap();
    rung_net *net;
    rung_http *http;
    rung_address address = {.ip4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
    address.ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (rung_net_create(&(rung_net_config){.alloc = alloc, .loop = loop}, &net, NULL) < 0 ||
        rung_http_create(&(rung_http_config){.alloc = alloc, .net = net, .handle = handle}, &http,
                         NULL) < 0 ||
        rung_net_listen(net, &address, rung_http_protocol(), http, NULL, &address, NULL) < 0)
        return -1;
    return rung_address_port(&address);
}

int main(int argc, char **argv) {
    bool is_transport = argc > 1 && strcmp(argv[1], "--transport") == 0;
    int port = argc > 1 + is_transport ? atoi(argv[1 + is_transport]) : 0;
    rung_loop *loop = NULL;
    if (is_transport && rung_uv_loop_create(rung_alloc_heap(), &loop, NULL) < 0)
        return 1;
    port = is_transport ? listen_transport(loop, port) : listen_bare(uv_default_loop(), port);
    if (port < 0) {
        fprintf(stderr, "bench_bare_http: cannot listen\n");
        return 1;
    }
    printf("listening 127.0.0.1:%d\n", port);
    fflush(stdout);
    if (is_transport)
        rung_loop_run(loop, RUNG_RUN_UNTIL_STOP);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
