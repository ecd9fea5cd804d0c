/* SPDX-License-Identifier: Apache-2.0 */
/* fair.h - fair shares of a limited resource among senders who do not know each other.
 *
 *     if (rung_fair_may(&f, share, false))   // the share holds less than what is free
 *         rung_fair_take(&f, share, 1);
 *     rung_fair_give(&f, share, 1);
 *
 * A sender may take more only while it holds less than what is free. One busy sender then gets half of the resource,
 * two get a third each, n get 1/(n + 1) each. So there is always something left for a new sender, and nobody has to
 * count the busy ones. A patient sender, one that can wait instead of being refused, stops at a quarter of what is
 * free.
 *
 * A share is a small number: the hash of the sender's identity. Two senders rarely collide; if they do, they share.
 * Share 0 is the server's own and is limited only by the total.
 *
 * One thread at a time. */
#ifndef RUNG_BASE_FAIR_H
#define RUNG_BASE_FAIR_H

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_FAIR_SHARES 4096u /* a power of two */

typedef struct rung_fair {
    uint32_t max, total;
    uint32_t held[RUNG_FAIR_SHARES];
} rung_fair;

static inline uint32_t rung_fair_free(const rung_fair *f) {
    return f->total < f->max ? f->max - f->total : 0;
}

/* How much more the share may take. The last piece taken may exceed it. */
static inline uint32_t rung_fair_room(const rung_fair *f, uint32_t share, bool is_patient) {
    uint32_t left = rung_fair_free(f);
    uint32_t most = is_patient ? left / 4 + (left % 4 != 0) : left; /* at least 1 if any is free */
    if (share == 0)
        return left;
    return f->held[share] < most ? most - f->held[share] : 0;
}

static inline bool rung_fair_may(const rung_fair *f, uint32_t share, bool is_patient) {
    return rung_fair_room(f, share, is_patient) > 0;
}

static inline void rung_fair_take(rung_fair *f, uint32_t share, uint32_t count) {
    f->total += count;
    f->held[share] += count;
}

static inline void rung_fair_give(rung_fair *f, uint32_t share, uint32_t count) {
    RUNG_ASSERT(f->held[share] >= count && f->total >= count);
    f->total -= count;
    f->held[share] -= count;
}

#endif
