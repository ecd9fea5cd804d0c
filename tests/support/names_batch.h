/* SPDX-License-Identifier: Apache-2.0 */
/* names_batch.h - intern many names, each stage prefetched by the one before, as the state does. */
#ifndef RUNG_TEST_NAMES_BATCH_H
#define RUNG_TEST_NAMES_BATCH_H

#include "ladder/names.h"

/* Intern `n` ids in order, several times faster than one by one. `is_new_out` may be NULL. Stops at the first
 * failure and returns it; `*done_out` ids are then interned and stay. RUNG_OK when all are. */
static inline rung_status names_intern_batch(rung_names *t, const rung_slice *ids, size_t n,
                                             uint32_t *numbers_out, bool *is_new_out,
                                             size_t *done_out) {
    enum { BATCH = 32 };
    uint64_t hashes[BATCH];
    rung_status st = RUNG_OK;
    size_t done = 0;
    while (done < n && st >= 0) {
        size_t start = done, end = n - start < BATCH ? n : start + BATCH;
        for (size_t i = start; i < end; i++)
            rung_names_prefetch(t, hashes[i - start] = rung_names_hash(t, ids[i]));
        for (size_t i = start; i < end; i++)
            rung_names_prefetch_number(t, hashes[i - start]);
        for (size_t i = start; i < end; i++)
            rung_names_prefetch_cell(t, hashes[i - start]);
        for (; done < end; done++) {
            st = rung_names_intern_hashed(t, hashes[done - start], ids[done], numbers_out + done);
            if (st < 0)
                break;
            if (is_new_out)
                is_new_out[done] = st == RUNG_OK;
        }
    }
    *done_out = done;
    return st < 0 ? st : RUNG_OK;
}

#endif
