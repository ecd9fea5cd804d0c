/* SPDX-License-Identifier: Apache-2.0 */
/* uv_loop.h - the event loop (loop.h) on libuv: the server's.
 *
 *     rung_uv_loop_create(alloc, &loop, &err);
 *     rung_uv_loop_on_signal(loop, SIGTERM, on_signal, self);
 *     rung_loop_run(loop, RUNG_RUN_UNTIL_STOP);
 *     rung_uv_loop_destroy(loop); */
#ifndef RUNG_FRONT_NET_UV_LOOP_H
#define RUNG_FRONT_NET_UV_LOOP_H

#include "base/alloc.h"
#include "front/net/loop.h"

#define RUNG_UV_SIGNALS_MAX 8

/* Also makes the process ignore SIGPIPE. RUNG_ENOMEM, RUNG_EIO: no more open files. */
RUNG_NODISCARD rung_status rung_uv_loop_create(const rung_alloc *alloc, rung_loop **out,
                                               rung_err *err);
/* After the last stream, listener and work. NULL is fine. */
void rung_uv_loop_destroy(rung_loop *loop);

/* Catch a signal from now on, and call back when the loop runs. At most RUNG_UV_SIGNALS_MAX. */
void rung_uv_loop_on_signal(rung_loop *loop, int number, void (*call)(void *ctx, int number),
                            void *ctx);

#endif
