/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - where time and chance come from: the ports of the use cases, and their real
 * implementations.
 *
 * The state machine takes time as an argument; whoever calls it gets the time here. Any thread. */
#ifndef RUNG_SERVICE_CLOCK_H
#define RUNG_SERVICE_CLOCK_H

#include "base/hash.h"
#include "base/status.h"

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
} rung_clock;

static inline int64_t rung_clock_now(const rung_clock *c) {
    return c->now_ms(c->ctx);
}

/* The system's clock. */
rung_clock rung_clock_real(void);

/* Milliseconds that never jump, from an arbitrary beginning: for "has N ms passed". */
int64_t rung_clock_monotonic_ms(void);

/* A secret key for the hash tables. RUNG_OK, or RUNG_EIO where the system has no randomness to
 * give. */
RUNG_NODISCARD rung_status rung_random_hash_key(rung_hash_key *key_out, rung_err *err);

#endif
