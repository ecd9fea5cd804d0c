/* SPDX-License-Identifier: Apache-2.0 */
/* failalloc.h - an allocator for tests: fails on demand, distrusts the caller, counts everything.
 *
 *     rung_failalloc fa;
 *     for (uint64_t n = 1;; n++) {
 *         rung_failalloc_init(&fa);
 *         rung_failalloc_fail_at(&fa, n, false);
 *         rung_status st = work(rung_failalloc_port(&fa));   // creates, uses and destroys
 *         rung_failalloc_deinit(&fa);                        // nothing may be left
 *         if (st >= 0 && !fa.failed_count) break;            // the N-th call was never reached: swept
 *     }
 *
 * A size at free or resize that is not the size of the block, a block that is not ours, a write past either end
 * ends the test. Fresh memory is filled with 0xA5, memory given back with 0xDD; a resize always moves, so that a
 * pointer kept across it is found out. Any thread may allocate. Cost: one malloc and two fills per call. */
#ifndef RUNG_TESTS_FAILALLOC_H
#define RUNG_TESTS_FAILALLOC_H

#include "base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rung_failalloc {
    rung_alloc port;       /* its ctx is this struct: do not move it */
    uint64_t call_count;   /* calls other than frees, failed ones included */
    uint64_t failed_count; /* of those, how many we failed */
    uint64_t fail_at;      /* fail this call, counted from 1; 0 = never */
    bool is_sticky;        /* and every one after it */
    size_t
        fill_max; /* bytes of a block that are filled; 0 = all. For tests that make large ones often */
    size_t live_bytes, live_bytes_max;
    size_t live_blocks;
    struct failalloc_block *blocks;
} rung_failalloc;

void rung_failalloc_init(rung_failalloc *fa);

/* The test fails if a block is still live. */
void rung_failalloc_deinit(rung_failalloc *fa);

/* Fail the n-th call from now (1 = the next); 0 = stop failing. Sticky: and all that follow. */
void rung_failalloc_fail_at(rung_failalloc *fa, uint64_t n, bool is_sticky);

static inline const rung_alloc *rung_failalloc_port(const rung_failalloc *fa) {
    return &fa->port;
}

#endif
