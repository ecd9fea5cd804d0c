/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clock port, and the system's clocks behind it.
 *
 * The state machine takes time as an argument; its callers get the time here. Any thread. */
#ifndef RUNG_BASE_CLOCK_H
#define RUNG_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define RUNG_BOOT_ID_MAX 40 /* with its NUL */

/* The time of day in Unix milliseconds, and a clock that nobody can set, to detect jumps (steady_clock.h). A plain
 * value; tests pass their own functions. */
typedef struct rung_clock {
    int64_t (*now_ms)(void *ctx);
    void *ctx;
    int64_t (*boot_ms)(void *ctx); /* since boot, including sleep; NULL: unknown */
    /* Identifies the boot; set with boot_ms. */
    bool (*boot_id)(void *ctx, char out[RUNG_BOOT_ID_MAX]);
    int64_t (*monotonic_us)(void *ctx); /* as rung_clock_monotonic_us; NULL: the system's */
} rung_clock;

static inline int64_t rung_clock_now(const rung_clock *c) {
    return c->now_ms(c->ctx);
}

/* The system's clock. */
rung_clock rung_clock_real(void);

/* Monotonic microseconds from an arbitrary origin, to measure durations. `c` may be NULL: the system's. */
int64_t rung_clock_monotonic_us(const rung_clock *c);

static inline int64_t rung_clock_monotonic_ms(const rung_clock *c) {
    return rung_clock_monotonic_us(c) / 1000;
}

#endif
