/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the event loop as a port: time, timers, work on other threads, listeners and streams.
 *
 *     rung_uv_loop_create(alloc, &loop, &err);              // or the simulator's
 *     rung_timer tick = {.call = on_tick, .ctx = self};
 *     rung_timer_start(loop, &tick, 100, 100);
 *     rung_loop_run(loop, RUNG_RUN_UNTIL_STOP);
 *
 * The fronts reach the outside world only through this header. An implementation fills in rung_loop_ops and embeds a
 * rung_loop as its first member. uv_loop.c has the server's, on libuv; tests/sim has one with a simulated clock,
 * network and source of random numbers.
 *
 * An implementation guarantees:
 *   1. It calls rung_turn_end() before it waits, and does not wait when that returns true.
 *   2. `now_ms` is monotonic, and current during every callback.
 *   3. Callbacks come only from run(), never from another function here.
 *   4. `closed` is the last callback of a stream. A listener has none after unlisten().
 *
 * Thread: the loop's, except rung_loop_wake() and a work's `run`. */
#ifndef RUNG_FRONT_NET_LOOP_H
#define RUNG_FRONT_NET_LOOP_H

#include "base/status.h"
#include "front/net/address.h"
#include "front/net/turn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef struct rung_loop rung_loop;
typedef struct rung_listener rung_listener; /* the loop's, from listen() to unlisten() */
typedef struct rung_stream rung_stream;     /* in its owner's memory, see stream_size */
typedef struct rung_work rung_work;

typedef enum rung_run { RUNG_RUN_UNTIL_STOP, RUNG_RUN_ONCE, RUNG_RUN_NOWAIT } rung_run;

/* Instead of a count of bytes. */
enum {
    RUNG_STREAM_END = -1,    /* the peer will send nothing more */
    RUNG_STREAM_BROKEN = -2, /* reset, or any other error: nothing but closing it makes sense */
    RUNG_STREAM_AGAIN = -3,  /* the socket takes nothing now: use write() */
};

typedef struct rung_loop_ops {
    uint64_t (*clock_ns)(rung_loop *l);
    int64_t (*wall_ms)(rung_loop *l);
    rung_status (*random)(rung_loop *l, void *to, size_t len);
    /* Call rung_loop_expire() once now_ms has reached `due_ms`; replaces the alarm before. UINT64_MAX: none. */
    void (*alarm)(rung_loop *l, uint64_t due_ms);
    void (*wake)(rung_loop *l); /* from any thread: end the wait, or skip the next one */
    void (*run)(rung_loop *l, rung_run mode);
    void (*stop)(rung_loop *l); /* a run until stop returns after this turn */
    rung_status (*work)(rung_loop *l, rung_work *w);

    rung_status (*listen)(rung_loop *l, const rung_address *address,
                          void (*arrived)(void *ctx, rung_listener *from), void *ctx,
                          rung_listener **out, rung_address *bound_out, rung_err *err);
    void (*unlisten)(rung_listener *l);

    /* Streams: one connected socket each. The net calls these directly. An int that is not 0 means: broken. */
    size_t stream_size; /* bytes of a stream, aligned like a pointer */
    /* Accept the connection that has arrived. `s` has stream_size bytes, and loop, events and ctx are set. Small
     * packets leave at once, dead peers are noticed (keepalive). Close it even if this fails. */
    int (*accept)(rung_listener *from, rung_stream *s);
    int (*read_start)(rung_stream *s);
    void (*read_stop)(rung_stream *s);
    /* Write what the socket takes: a count, AGAIN or BROKEN. Not while a write() is in flight. */
    ssize_t (*try_write)(rung_stream *s, const struct iovec *parts, uint32_t count);
    /* Write at most four parts completely when the socket takes them, then call `written`; one write at a time. The
     * bytes stay in place until then, `parts` need not. If it fails, `written` is not called. */
    int (*write)(rung_stream *s, const struct iovec *parts, uint32_t count);
    size_t (*unwritten)(const rung_stream *s); /* bytes of write() that the socket has not taken */
    int (*shutdown)(rung_stream *s);           /* send no more, after what was written */
    void (*close)(rung_stream *s, bool with_reset); /* once; with a reset the peer sees an error */
    int (*peer)(const rung_stream *s, struct sockaddr_storage *out); /* not for a unix socket */
} rung_loop_ops;

struct rung_loop {
    const rung_loop_ops *ops;
    uint64_t now_ms;           /* the implementation keeps it, see 2 */
    struct rung_timer *timers; /* running, the next first */
    uint64_t timer_serial;
    rung_turn turn;
};

/* ---- running ---- */

static inline void rung_loop_run(rung_loop *l, rung_run mode) {
    l->ops->run(l, mode);
}

static inline void rung_loop_stop(rung_loop *l) {
    l->ops->stop(l);
}

/* From any thread: make a task due in the next turn, and let that come soon. */
static inline void rung_loop_wake(rung_loop *l, rung_task *task) {
    rung_turn_wake(&l->turn, task);
    l->ops->wake(l);
}

/* ---- time and chance ---- */

/* Monotonic, the same during a whole callback; no system call. */
static inline uint64_t rung_loop_now_ms(const rung_loop *l) {
    return l->now_ms;
}

/* Monotonic and precise, for measuring. */
static inline uint64_t rung_loop_clock_ns(rung_loop *l) {
    return l->ops->clock_ns(l);
}

/* The time of day, Unix milliseconds, good to some milliseconds. */
static inline int64_t rung_loop_wall_ms(rung_loop *l) {
    return l->ops->wall_ms(l);
}

/* Unpredictable bytes; RUNG_EIO: the system has none. */
RUNG_NODISCARD static inline rung_status rung_loop_random(rung_loop *l, void *to, size_t len) {
    return l->ops->random(l, to, len);
}

/* ---- timers ---- */

/* Embedded by its owner, with `call` and `ctx` set; the rest is zero. A stopped timer may be freed at once. */
typedef struct rung_timer {
    void (*call)(void *ctx);
    void *ctx;
    uint64_t due_ms, repeat_ms, serial;
    struct rung_timer *next;
    bool is_running;
} rung_timer;

/* Call it in `ms`, never among this turn's timers, and then every `repeat_ms` (0: once). Restarts a running timer.
 * O(timers): a server has a handful, a connection none. */
void rung_timer_start(rung_loop *l, rung_timer *t, uint64_t ms, uint64_t repeat_ms);
void rung_timer_stop(rung_loop *l, rung_timer *t);

/* The implementation's: call the timers that are due, then set the next alarm. */
void rung_loop_expire(rung_loop *l);

/* ---- work on another thread ---- */

/* The owner's memory until `done`. */
struct rung_work {
    void (*run)(rung_work *w);  /* on another thread */
    void (*done)(rung_work *w); /* on the loop, afterwards */
    void *ctx;
};

/* RUNG_ENOMEM: nothing was begun, neither is called. */
RUNG_NODISCARD static inline rung_status rung_loop_work(rung_loop *l, rung_work *w) {
    return l->ops->work(l, w);
}

/* ---- listeners ---- */

/* `arrived` is called once for each connection that waits. Until that is accepted, then or later, no other arrives. The
 * unix socket of a dead process is replaced, that of a living one is not (RUNG_EBUSY). RUNG_EBUSY: in use; RUNG_EINVAL;
 * RUNG_EIO; RUNG_ENOMEM. */
RUNG_NODISCARD static inline rung_status
rung_loop_listen(rung_loop *l, const rung_address *address,
                 void (*arrived)(void *ctx, rung_listener *from), void *ctx, rung_listener **out,
                 rung_address *bound_out, rung_err *err) {
    return l->ops->listen(l, address, arrived, ctx, out, bound_out, err);
}

/* Accept no more; a unix socket's file is removed. */
static inline void rung_loop_unlisten(rung_loop *l, rung_listener *listener) {
    l->ops->unlisten(listener);
}

/* ---- streams ---- */

typedef struct rung_stream_events {
    struct iovec (*room)(rung_stream *s); /* where to read to; must not close it. No room: BROKEN */
    void (*got)(rung_stream *s, char *bytes, ssize_t n); /* in that room; or END or BROKEN */
    void (*written)(rung_stream *s, bool is_ok);         /* write() is over; also before `closed` */
    void (*closed)(rung_stream *s);                      /* its memory is the owner's again */
} rung_stream_events;

/* What implementations have in common; their own part follows. */
struct rung_stream {
    rung_loop *loop;
    const rung_stream_events *events;
    void *ctx;
    bool is_unix;
};

#endif
