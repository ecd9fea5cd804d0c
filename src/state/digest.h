/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - the 128-bit number of a fact, and sums of them; private to state.
 *
 * The digest of a state is the sum of the digests of all facts that hold (state.c). */
#ifndef RUNG_STATE_DIGEST_H
#define RUNG_STATE_DIGEST_H

#include "base/hash.h"
#include "base/slice.h"
#include "state/state.h"

typedef enum rung__fact {
    RUNG__FACT_PLAYER = 1,
    RUNG__FACT_ENTRY,
    RUNG__FACT_PROFILE,
    RUNG__FACT_FOLLOW,
    RUNG__FACT_BAN,
    RUNG__FACT_STASHED,
    RUNG__FACT_BOARD,
    RUNG__FACT_RULE,
    RUNG__FACT_WINDOW,
    RUNG__FACT_ID,
    RUNG__FACT_RATE,
    RUNG__FACT_KEY,
    RUNG__FACT_SET,
    RUNG__FACT_MEMBER,
    RUNG__FACT_RULES,
    RUNG__FACT_HORIZON,
    RUNG__FACT_SOURCE,
    RUNG__FACT_SHADOW,
    RUNG__FACT_ID_SERIAL,
    RUNG__FACT_RATING = 40, /* the numbers between are free */
    RUNG__FACT_FORM = 41,
    RUNG__FACT_MATCH = 42,
    RUNG__FACT_UNMATCHED = 43,
    RUNG__FACT_SESSION = 44,
    RUNG__FACT_NONCE = 45,
    RUNG__FACT_REVIEW = 50,
    RUNG__FACT_BAN_END = 51,
    RUNG__FACT_BAN_SHADOW = 52,
    RUNG__FACT_EDITION = 60,
    RUNG__FACT_SKETCH = 64,
} rung__fact;

static inline rung_digest rung__fact_digest(rung__fact fact, uint64_t x, uint64_t y,
                                            const uint64_t *words, uint32_t count) {
    uint64_t h = rung_hash_word((uint64_t)fact * UINT64_C(0x9e3779b97f4a7c15) + x);
    h = rung_hash_word(h ^ y) + UINT64_C(0x2545f4914f6cdd1d);
    for (uint32_t i = 0; i < count; i++)
        h = rung_hash_word(h ^ words[i]) + i;
    return (rung_digest){h, rung_hash_word(h ^ UINT64_C(0x6a09e667f3bcc909))};
}

static inline void rung__digest_add(rung_digest *d, rung_digest fact) {
    d->a += fact.a;
    d->b += fact.b;
}

static inline void rung__digest_subtract(rung_digest *d, rung_digest fact) {
    d->a -= fact.a;
    d->b -= fact.b;
}

/* The sum of all facts, recomputed. */
rung_digest rung__facts_digest(const rung_state *s);

/* A hash of bytes that is the same on every machine. */
uint64_t rung__bytes_hash(const void *bytes, size_t len);
void rung__bytes_hash_many(const rung_slice *bytes, size_t n, uint64_t *hashes_out);

#endif
