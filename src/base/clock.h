/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - where time comes from: the clock port, and the system's clocks behind it.
 *
 * The state machine takes time as an argument; whoever calls it gets the time here. Any thread. */
#ifndef RUNG_BASE_CLOCK_H
#define RUNG_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define RUNG_BOOT_ID_MAX 40 /* with its NUL */

/* The time of day, Unix milliseconds; and, for who must know whether it jumped (steady_clock.h), a clock that nobody
 * can set. A plain value; tests bring their own functions. */
typedef struct rung_clock {
    int64_t (*now_ms)(void *ctx);
    void *ctx;
    int64_t (*boot_ms)(void *ctx); /* since the machine's start, sleep included; NULL: unknown */
    bool (*boot_id)(void *ctx, char out[RUNG_BOOT_ID_MAX]); /* which start; with boot_ms */
    int64_t (*monotonic_us)(void *ctx); /* as rung_clock_monotonic_us; NULL: the system's */
} rung_clock;

static inline int64_t rung_clock_now(const rung_clock *c) {
    return c->now_ms(c->ctx);
}

/* The system's clock. */
rung_clock rung_clock_real(void);

/* Microseconds that never jump, from an arbitrary beginning: for "has N us passed". `c` may be NULL: the system's. */
int64_t rung_clock_monotonic_us(const rung_clock *c);

static inline int64_t rung_clock_monotonic_ms(const rung_clock *c) {
    return rung_clock_monotonic_us(c) / 1000;
}

#endif
