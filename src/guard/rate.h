/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - token buckets by name, in a table of fixed size.
 *
 * A bucket holds up to `count` tokens and refills evenly with `count` tokens per `period_ms`. It counts in integers
 * (a token is `period_ms` parts, a millisecond adds `count` parts), so rounding loses nothing. When the table is
 * full, the least recently used bucket is evicted. A bucket unused for one period is full anyway, so eviction forgives
 * nothing as long as the table has more buckets than names per period. Beyond that, a new name does not start with a
 * full bucket but with just enough for its first request: a sender with very many names (an IPv6 /48 has 65,536 /64s)
 * gains one request per name and no more by pushing its own used-up buckets out.
 *
 *     rung_rate_answer a;
 *     if (!rung_rate_take(rate, RUNG_RATE_KEY, key_id, limit, 1, now_ms, &a))
 *         ... 429; Retry-After: a.retry_s
 *
 * The caller passes the time; a clock that goes backwards neither adds nor removes tokens. One thread. */
#ifndef RUNG_GUARD_RATE_H
#define RUNG_GUARD_RATE_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_RATE_COUNT_MAX     UINT32_C(1000000000)
#define RUNG_RATE_PERIOD_MAX_MS UINT32_C(86400000)

/* `count` per `period_ms`. Count 0: no limit. Values above the maxima are clamped. */
typedef struct rung_rate_limit {
    uint32_t count;
    uint32_t period_ms;
} rung_rate_limit;

/* Names of different kinds never share a bucket. */
typedef enum rung_rate_kind {
    RUNG_RATE_KEY = 1,
    RUNG_RATE_PLAYER = 2,      /* submissions for a player */
    RUNG_RATE_PEER = 3,        /* an address, for requests without a key */
    RUNG_RATE_TOKEN = 4,       /* a player's own requests */
    RUNG_RATE_FORGER = 5,      /* an address, for tokens whose signature was checked and refused */
    RUNG_RATE_ADDRESS = 6,     /* an address, for all requests */
    RUNG_RATE_SUBMISSIONS = 7, /* an address, for its submissions */
} rung_rate_kind;

/* The values of the headers RateLimit-Limit, -Remaining, -Reset and Retry-After. All 0 without a limit. */
typedef struct rung_rate_answer {
    uint32_t limit;
    uint32_t remaining; /* whole tokens left */
    uint32_t reset_s;   /* until the bucket is full, rounded up */
    uint32_t retry_s;   /* until the refused request would succeed, rounded up; else 0 */
} rung_rate_answer;

typedef struct rung_rate rung_rate; /* heap object; release it with rung_rate_destroy() */

/* `capacity` buckets (at least 1), all allocated now: 40 to 48 bytes each. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_rate_create(const rung_alloc *alloc, uint32_t capacity,
                                            rung_hash_key hash_key, rung_rate **rate_out);
void rung_rate_destroy(rung_rate *rate);

/* Take `cost` tokens (at most `count`), all or none. false: not enough. O(1), no allocation. */
bool rung_rate_take(rung_rate *rate, rung_rate_kind kind, rung_slice name, rung_rate_limit limit,
                    uint32_t cost, int64_t now_ms, rung_rate_answer *answer_out);

/* Return tokens that were taken but not needed. */
void rung_rate_give(rung_rate *rate, rung_rate_kind kind, rung_slice name, rung_rate_limit limit,
                    uint32_t cost, int64_t now_ms);

uint32_t rung_rate_count(const rung_rate *rate); /* buckets in use */

/* NULL, or which invariant is broken; O(capacity), for tests. */
const char *rung_rate_check(const rung_rate *rate);

#endif
