/* SPDX-License-Identifier: Apache-2.0 */
/* ladder_batch.h - many puts into one ladder through the pipeline of ladder/pipeline.h, for tests and benchmarks. */
#ifndef RUNG_TEST_LADDER_BATCH_H
#define RUNG_TEST_LADDER_BATCH_H

#include "ladder/pipeline.h"

enum { LADDER_GROUP = 16 };

/* Find the places of up to LADDER_GROUP moves, which all begin and end together. */
static inline void ladder_descend(const rung_ladder *l, uint32_t n, const uint32_t *players,
                                  const uint64_t *keys, uint32_t key_words, bool ranked,
                                  rung_descent *d) {
    for (uint32_t i = 0; i < n; i++)
        rung_descent_init(&d[i], l, players[i]);
    for (uint32_t stage = RUNG_DESCENT_MAP; stage < RUNG_DESCENT_COUNTS; stage++)
        rung_descent_advance(d, n, stage);
    rung_descent_advance(d, n, ranked ? RUNG_DESCENT_RANKS : RUNG_DESCENT_COUNTS);
    for (uint32_t i = 0; i < n; i++)
        rung_descent_set_key(&d[i], keys + (size_t)i * key_words);
    for (uint32_t stage = RUNG_DESCENT_UPPER; stage < RUNG_DESCENT_STAGES; stage++)
        if (stage < RUNG_DESCENT_DOWN || stage >= RUNG_DESCENT_DOWN_LAST)
            rung_descent_advance(d, n, stage);
}

/* Many puts, with the same result as one by one. `keys` holds n keys of key_words words each. Stops at the first
 * failure; `*done_out` (may be NULL) says how many were put. `changes` may be NULL, else n of them, styles set. */
static inline rung_status ladder_put_batch(rung_ladder *l, uint32_t key_words, uint32_t n,
                                           const uint32_t *players, const uint64_t *keys,
                                           rung_ladder_change *changes, uint32_t *done_out) {
    rung_status st = RUNG_OK;
    uint32_t done = 0;
    rung_descent descents[LADDER_GROUP];
    while (done < n && st >= 0) {
        uint32_t start = done, stop = n - done < LADDER_GROUP ? n : done + LADDER_GROUP;
        ladder_descend(l, stop - start, players + start, keys + (size_t)start * key_words,
                       key_words, changes != NULL, descents);
        for (; done < stop && st >= 0; done += st >= 0) {
            const rung_descent *d = &descents[done - start];
            st = rung_descent_put(l, players[done], keys + (size_t)done * key_words, d, d,
                                  changes ? &changes[done] : NULL);
        }
    }
    if (done_out)
        *done_out = done;
    return st < 0 ? st : RUNG_OK;
}

#endif
