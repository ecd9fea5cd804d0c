/* SPDX-License-Identifier: Apache-2.0 */
/* uv_loop.c - the loop port on libuv.
 *
 * libuv runs timers, then idle and prepare, then waits and calls readers, then closers. The turn ends in prepare. All
 * timers share one uv_timer. An active idle handle keeps libuv from waiting, for a turn that is hurried. libuv closes a
 * handle in a later turn; only the owner of a stream waits for that. */
#include "front/net/uv_loop.h"

#include "base/assert.h"
#include "base/random.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG     1024
#define KEEPALIVE_S 60

typedef struct signal_watch {
    uv_signal_t handle;
    void (*call)(void *ctx, int number);
    void *ctx;
} signal_watch;

typedef struct rung_uv_loop {
    rung_loop base;
    const rung_alloc *alloc;
    uv_loop_t uv;
    uv_prepare_t before_wait;
    uv_idle_t hurry;
    uv_timer_t alarm;
    uv_async_t wake;
    signal_watch signals[RUNG_UV_SIGNALS_MAX];
    uint32_t signal_count;
} rung_uv_loop;

typedef union socket_handle {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
} socket_handle;

struct rung_listener {
    socket_handle socket;
    rung_uv_loop *loop;
    bool is_unix;
    void (*arrived)(void *ctx, rung_listener *from);
    void *ctx;
};

typedef struct uv_socket {
    rung_stream base;
    socket_handle socket;
    uv_write_t write;
} uv_socket;

typedef struct work_request {
    uv_work_t uv;
    rung_uv_loop *loop;
    rung_work *work;
} work_request;

/* libuv takes a writev's vector on Unix. */
_Static_assert(sizeof(uv_buf_t) == sizeof(struct iovec) &&
                   offsetof(uv_buf_t, base) == offsetof(struct iovec, iov_base) &&
                   offsetof(uv_buf_t, len) == offsetof(struct iovec, iov_len),
               "uv_buf_t is a struct iovec");

static rung_uv_loop *loop_of(rung_loop *l) {
    return (rung_uv_loop *)(void *)l;
}

static uv_socket *socket_of(rung_stream *s) {
    return (uv_socket *)(void *)s;
}

/* Call it before every callback. */
static void catch_up(rung_uv_loop *l) {
    l->base.now_ms = uv_now(&l->uv);
    if (!rung_turn_has_begun(&l->base.turn))
        rung_turn_begin(&l->base.turn, uv_hrtime());
}

/* ---- running ---- */

static void on_hurry(uv_idle_t *hurry) {
    (void)hurry;
}

static void on_before_wait(uv_prepare_t *before_wait) {
    rung_uv_loop *l = before_wait->data;
    catch_up(l);
    if (rung_turn_end(&l->base.turn))
        uv_idle_start(&l->hurry, on_hurry);
    else
        uv_idle_stop(&l->hurry);
    rung_turn_over(&l->base.turn, uv_hrtime());
}

static void on_alarm(uv_timer_t *alarm) {
    rung_uv_loop *l = alarm->data;
    catch_up(l);
    rung_loop_expire(&l->base);
}

/* At least a millisecond: libuv would call a timer of 0 ms that a timer starts in the same turn. */
static void uv_alarm(rung_loop *loop, uint64_t due_ms) {
    rung_uv_loop *l = loop_of(loop);
    uint64_t now_ms = uv_now(&l->uv);
    if (due_ms == UINT64_MAX)
        uv_timer_stop(&l->alarm);
    else
        uv_timer_start(&l->alarm, on_alarm, due_ms > now_ms ? due_ms - now_ms : 1, 0);
}

static void on_wake(uv_async_t *wake) {
    (void)wake; /* it only ends the wait */
}

static void uv_wake(rung_loop *loop) {
    uv_async_send(&loop_of(loop)->wake);
}

static void uv_run_loop(rung_loop *loop, rung_run mode) {
    static const uv_run_mode modes[] = {[RUNG_RUN_UNTIL_STOP] = UV_RUN_DEFAULT,
                                        [RUNG_RUN_ONCE] = UV_RUN_ONCE,
                                        [RUNG_RUN_NOWAIT] = UV_RUN_NOWAIT};
    uv_run(&loop_of(loop)->uv, modes[mode]);
}

static void uv_stop_loop(rung_loop *loop) {
    uv_stop(&loop_of(loop)->uv);
}

static void on_signal(uv_signal_t *handle, int number) {
    const signal_watch *w = handle->data;
    catch_up((rung_uv_loop *)handle->loop->data);
    w->call(w->ctx, number);
}

void rung_uv_loop_on_signal(rung_loop *loop, int number, void (*call)(void *ctx, int number),
                            void *ctx) {
    rung_uv_loop *l = loop_of(loop);
    RUNG_ASSERT(l->signal_count < RUNG_UV_SIGNALS_MAX);
    signal_watch *w = &l->signals[l->signal_count++];
    w->call = call;
    w->ctx = ctx;
    uv_signal_init(&l->uv, &w->handle);
    w->handle.data = w;
    uv_signal_start(&w->handle, on_signal, number);
}

/* ---- time and chance ---- */

static uint64_t uv_clock_ns(rung_loop *l) {
    (void)l;
    return uv_hrtime();
}

static int64_t wall_ms(rung_loop *l) {
    struct timespec now = {0};
    (void)l;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static rung_status random_bytes(rung_loop *l, void *to, size_t len) {
    (void)l;
    return rung_random_fill(NULL, to, len, NULL);
}

/* ---- work on another thread ---- */

static void run_work(uv_work_t *uv) {
    rung_work *w = ((work_request *)uv->data)->work;
    w->run(w);
}

static void after_work(uv_work_t *uv, int status) {
    work_request *q = uv->data;
    rung_work *w = q->work;
    (void)status; /* nobody cancels it */
    catch_up(q->loop);
    rung_alloc_free(q->loop->alloc, q, sizeof *q);
    w->done(w);
}

static rung_status uv_work(rung_loop *loop, rung_work *w) {
    rung_uv_loop *l = loop_of(loop);
    work_request *q = rung_alloc_get(l->alloc, sizeof *q);
    if (!q)
        return RUNG_ENOMEM;
    q->uv.data = q;
    q->loop = l;
    q->work = w;
    int e = uv_queue_work(&l->uv, &q->uv, run_work, after_work);
    RUNG_ASSERT(e == 0); /* it fails only without a function to run */
    return RUNG_OK;
}

/* ---- listeners ---- */

static void on_arrived(uv_stream_t *stream, int status) {
    rung_listener *l = stream->data;
    if (status != 0)
        return;
    catch_up(l->loop);
    l->arrived(l->ctx, l);
}

static void on_listener_closed(uv_handle_t *handle) {
    rung_listener *l = handle->data;
    rung_alloc_free(l->loop->alloc, l, sizeof *l);
}

static void uv_unlisten(rung_listener *l) {
    uv_close(&l->socket.handle, on_listener_closed);
}

static rung_status fail_listen(rung_err *err, const rung_address *a, int e) {
    char text[RUNG_ADDRESS_TEXT_MAX];
    rung_address_text(a, text);
    rung_status st = e == UV_EADDRINUSE                              ? RUNG_EBUSY
                     : e == UV_ENOMEM                                ? RUNG_ENOMEM
                     : e == UV_EADDRNOTAVAIL || e == UV_EAFNOSUPPORT ? RUNG_EINVAL
                                                                     : RUNG_EIO;
    return RUNG_FAIL_OS(err, st, -e, "listen on %s: %s", text, uv_strerror(e));
}

/* Remove the socket file of a dead process, which would block bind() for ever. UV_EADDRINUSE: its process lives. */
static int remove_stale(const rung_address *a) {
    struct stat st;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (lstat(a->path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return 0; /* nothing, or not a socket: bind reports that */
    memcpy(to.sun_path, a->path, sizeof to.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return uv_translate_sys_error(errno);
    int e = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? 0 : errno;
    close(fd);
    if (e != ECONNREFUSED)
        return UV_EADDRINUSE;
    return unlink(a->path) == 0 ? 0 : uv_translate_sys_error(errno);
}

static int bind_unix(rung_listener *l, const rung_address *a) {
    int e = remove_stale(a);
    return e ? e : uv_pipe_bind(&l->socket.pipe, a->path);
}

static int bind_tcp(rung_listener *l, const rung_address *a) {
    int e = uv_tcp_bind(&l->socket.tcp, &a->any, 0);
    if (e != UV_EAFNOSUPPORT || a->any.sa_family != AF_INET6 ||
        !IN6_IS_ADDR_UNSPECIFIED(&a->ip6.sin6_addr))
        return e;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = a->ip6.sin6_port};
    return uv_tcp_bind(&l->socket.tcp, (struct sockaddr *)&any, 0); /* "*" without IPv6 */
}

static void init_handle(uv_loop_t *uv, socket_handle *h, bool is_unix, void *data) {
    int e = is_unix ? uv_pipe_init(uv, &h->pipe, 0) : uv_tcp_init(uv, &h->tcp);
    RUNG_ASSERT(e == 0);
    h->handle.data = data;
}

static void bound_address(const rung_listener *l, const rung_address *asked, rung_address *out) {
    struct sockaddr_storage raw = {0};
    int len = sizeof raw;
    *out = *asked;
    if (!l->is_unix && uv_tcp_getsockname(&l->socket.tcp, (struct sockaddr *)&raw, &len) == 0)
        memcpy(&out->ip6, &raw, sizeof out->ip6);
}

static rung_status uv_listen_on(rung_loop *loop, const rung_address *address,
                                void (*arrived)(void *ctx, rung_listener *from), void *ctx,
                                rung_listener **out, rung_address *bound_out, rung_err *err) {
    rung_uv_loop *uv = loop_of(loop);
    rung_listener *l = rung_alloc_zeroed(uv->alloc, sizeof *l);
    if (!l)
        return RUNG_FAIL(err, RUNG_ENOMEM, "listen: out of memory");
    l->loop = uv;
    l->is_unix = address->is_unix;
    l->arrived = arrived;
    l->ctx = ctx;
    init_handle(&uv->uv, &l->socket, l->is_unix, l);
    int e = l->is_unix ? bind_unix(l, address) : bind_tcp(l, address);
    if (e == 0)
        e = uv_listen(&l->socket.stream, BACKLOG, on_arrived);
    if (e != 0) {
        uv_unlisten(l);
        return fail_listen(err, address, e);
    }
    bound_address(l, address, bound_out);
    *out = l;
    return RUNG_OK;
}

/* ---- streams ---- */

static int uv_accept_from(rung_listener *from, rung_stream *stream) {
    uv_socket *s = socket_of(stream);
    stream->is_unix = from->is_unix;
    init_handle(&from->loop->uv, &s->socket, from->is_unix, s);
    int e = uv_accept(&from->socket.stream, &s->socket.stream);
    if (e == 0 && !from->is_unix) {
        uv_tcp_nodelay(&s->socket.tcp, 1);
        uv_tcp_keepalive(&s->socket.tcp, 1, KEEPALIVE_S);
    }
    return e;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room) {
    uv_socket *s = handle->data;
    (void)suggested;
    struct iovec to = s->base.events->room(&s->base);
    *room = uv_buf_init(to.iov_base, (unsigned)to.iov_len);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *room) {
    uv_socket *s = stream->data;
    if (n == 0)
        return;
    if (n < 0)
        n = n == UV_EOF ? RUNG_STREAM_END : RUNG_STREAM_BROKEN;
    catch_up(loop_of(s->base.loop));
    s->base.events->got(&s->base, room->base, n);
}

static int uv_start_reading(rung_stream *s) {
    return uv_read_start(&socket_of(s)->socket.stream, on_room, on_read);
}

static void uv_stop_reading(rung_stream *s) {
    uv_read_stop(&socket_of(s)->socket.stream);
}

static ssize_t uv_try(rung_stream *s, const struct iovec *parts, uint32_t count) {
    int n = uv_try_write(&socket_of(s)->socket.stream, (const uv_buf_t *)parts, count);
    return n == UV_EAGAIN ? RUNG_STREAM_AGAIN : n < 0 ? RUNG_STREAM_BROKEN : n;
}

static void on_written(uv_write_t *write, int status) {
    uv_socket *s = write->data;
    catch_up(loop_of(s->base.loop));
    s->base.events->written(&s->base, status == 0);
}

/* libuv keeps four parts without allocating. */
static int uv_write_later(rung_stream *stream, const struct iovec *parts, uint32_t count) {
    uv_socket *s = socket_of(stream);
    s->write.data = s;
    return uv_write(&s->write, &s->socket.stream, (const uv_buf_t *)parts, count, on_written);
}

static size_t uv_unwritten(const rung_stream *s) {
    return uv_stream_get_write_queue_size(&((const uv_socket *)(const void *)s)->socket.stream);
}

static int uv_shut(rung_stream *s) {
    uv_os_fd_t fd;
    int e = uv_fileno(&socket_of(s)->socket.handle, &fd);
    return e ? e : shutdown(fd, SHUT_WR);
}

static void on_closed(uv_handle_t *handle) {
    uv_socket *s = handle->data;
    catch_up(loop_of(s->base.loop));
    s->base.events->closed(&s->base);
}

static void uv_close_stream(rung_stream *stream, bool with_reset) {
    uv_socket *s = socket_of(stream);
    if (with_reset && !stream->is_unix && uv_tcp_close_reset(&s->socket.tcp, on_closed) == 0)
        return;
    uv_close(&s->socket.handle, on_closed);
}

static int uv_peer(const rung_stream *s, struct sockaddr_storage *out) {
    int len = sizeof *out;
    return uv_tcp_getpeername(&((const uv_socket *)(const void *)s)->socket.tcp,
                              (struct sockaddr *)out, &len);
}

/* ---- life ---- */

static const rung_loop_ops uv_ops = {
    .clock_ns = uv_clock_ns,
    .wall_ms = wall_ms,
    .random = random_bytes,
    .alarm = uv_alarm,
    .wake = uv_wake,
    .run = uv_run_loop,
    .stop = uv_stop_loop,
    .work = uv_work,
    .listen = uv_listen_on,
    .unlisten = uv_unlisten,
    .stream_size = sizeof(uv_socket),
    .accept = uv_accept_from,
    .read_start = uv_start_reading,
    .read_stop = uv_stop_reading,
    .try_write = uv_try,
    .write = uv_write_later,
    .unwritten = uv_unwritten,
    .shutdown = uv_shut,
    .close = uv_close_stream,
    .peer = uv_peer,
};

rung_status rung_uv_loop_create(const rung_alloc *alloc, rung_loop **out, rung_err *err) {
    rung_uv_loop *l = rung_alloc_zeroed(alloc, sizeof *l);
    if (!l)
        return RUNG_FAIL(err, RUNG_ENOMEM, "loop: out of memory");
    int e = uv_loop_init(&l->uv);
    if (e == 0 && (e = uv_async_init(&l->uv, &l->wake, on_wake)) != 0)
        uv_loop_close(&l->uv);
    if (e != 0) {
        rung_alloc_free(alloc, l, sizeof *l);
        return RUNG_FAIL_OS(err, RUNG_EIO, -e, "loop: %s", uv_strerror(e));
    }
    signal(SIGPIPE, SIG_IGN); /* libuv writes with writev, which has no flag for that */
    l->base.ops = &uv_ops;
    l->alloc = alloc;
    l->uv.data = l;
    uv_prepare_init(&l->uv, &l->before_wait);
    uv_idle_init(&l->uv, &l->hurry);
    uv_timer_init(&l->uv, &l->alarm);
    l->before_wait.data = l->alarm.data = l;
    uv_prepare_start(&l->before_wait, on_before_wait);
    catch_up(l);
    *out = &l->base;
    return RUNG_OK;
}

void rung_uv_loop_destroy(rung_loop *loop) {
    if (!loop)
        return;
    rung_uv_loop *l = loop_of(loop);
    uv_close((uv_handle_t *)&l->before_wait, NULL);
    uv_close((uv_handle_t *)&l->hurry, NULL);
    uv_close((uv_handle_t *)&l->alarm, NULL);
    uv_close((uv_handle_t *)&l->wake, NULL);
    for (uint32_t i = 0; i < l->signal_count; i++)
        uv_close((uv_handle_t *)&l->signals[i].handle, NULL);
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
        ;
    int e = uv_loop_close(&l->uv);
    RUNG_ASSERT(e == 0); /* whoever opened a stream has closed it */
    rung_alloc_free(l->alloc, l, sizeof *l);
}
