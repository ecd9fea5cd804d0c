/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a saved sketch: refused, or sound and the only spelling of what they say. The first byte chooses the
 * kind; the checksum is appended here, or no mutation would get past it. A sketch that was loaded is then used. */
#include "base/assert.h"
#include "base/hash.h"
#include "sketch/distinct.h"
#include "sketch/hitters.h"
#include "sketch/quantiles.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { SIZE_MAX_BYTES = 1 << 20 };
static unsigned char input[SIZE_MAX_BYTES], again[SIZE_MAX_BYTES];

static void check_same(rung_slice bytes, const rung_byte_writer *w) {
    RUNG_ASSERT(rung_byte_writer_length(w) == bytes.len);
    RUNG_ASSERT(memcmp(again, bytes.ptr, bytes.len) == 0);
}

static void run_hitters(rung_slice bytes) {
    rung_hitters *h = NULL;
    rung_byte_writer w = rung_byte_writer_of(again, sizeof again);
    if (rung_hitters_load(rung_alloc_heap(), 5, bytes, &h, NULL) != RUNG_OK)
        return;
    RUNG_ASSERT(rung_hitters_check(h) == NULL);
    rung_hitters_save(h, &w);
    check_same(bytes, &w);
    for (uint32_t i = 0; i < 300; i++)
        rung_ignore(rung_hitters_add(h, rung_slice_of(&i, 1 + i % 4), 1 + i),
                    "the total may be full");
    rung_ignore(rung_hitters_merge(h, h), "the total may be full");
    RUNG_ASSERT(rung_hitters_check(h) == NULL);
    rung_hitters_destroy(h);
}

static void run_quantiles(rung_slice bytes) {
    rung_quantiles *q = NULL;
    rung_byte_writer w = rung_byte_writer_of(again, sizeof again);
    rung_rank_bounds b;
    uint64_t key;
    if (rung_quantiles_load(rung_alloc_heap(), bytes, &q, NULL) != RUNG_OK)
        return;
    rung_quantiles_save(q, &w);
    check_same(bytes, &w);
    for (uint64_t i = 0; i < 300; i++)
        rung_ignore(rung_quantiles_add(q, rung_hash_word(i) >> i % 64), "the count may be full");
    RUNG_ASSERT(rung_quantiles_check(q) == NULL);
    for (uint64_t i = 0; i < 64; i++) {
        rung_quantiles_below(q, (uint64_t)1 << i, &b);
        RUNG_ASSERT(b.low <= b.estimate && b.estimate <= b.high &&
                    b.high <= rung_quantiles_count(q));
    }
    if (rung_quantiles_count(q))
        RUNG_ASSERT(rung_quantiles_at(q, rung_quantiles_count(q) / 2, &key) == RUNG_OK);
    rung_ignore(rung_quantiles_merge(q, q), "the count may be full");
    RUNG_ASSERT(rung_quantiles_check(q) == NULL);
    rung_quantiles_destroy(q);
}

static void run_distinct(rung_slice bytes) {
    rung_distinct *d = NULL;
    rung_byte_writer w = rung_byte_writer_of(again, sizeof again);
    if (rung_distinct_load(rung_alloc_heap(), bytes, &d, NULL) != RUNG_OK)
        return;
    RUNG_ASSERT(rung_distinct_check(d) == NULL);
    rung_distinct_save(d, &w);
    check_same(bytes, &w);
    rung_distinct_estimate(d);
    rung_distinct_destroy(d);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size < 1 || size + 4 > sizeof input)
        return 0;
    memcpy(input, data + 1, size - 1);
    rung_put32(input + size - 1, rung_crc32c(0, input, size - 1));
    rung_slice bytes = rung_slice_of(input, size + 3);
    if (data[0] % 3 == 0)
        run_hitters(bytes);
    else if (data[0] % 3 == 1)
        run_quantiles(bytes);
    else
        run_distinct(bytes);
    return 0;
}
