/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sqlite/event_run.h"

#include "base/bytes.h"
#include "base/hash.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

/* One pass of a radix sort by 11 bits of the hash. */
static void sort_pass(const uint64_t *from, uint64_t *to, size_t count, int shift) {
    size_t at[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        at[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t n = at[d];
        at[d] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

size_t rung_event_pairs_sort(uint64_t *pairs, uint64_t *scratch, size_t count) {
    uint64_t *from = pairs, *to = scratch;
    for (int pass = 0; pass < PASSES; pass++) {
        sort_pass(from, to, count, 32 + pass * DIGIT_BITS);
        uint64_t *old = from;
        from = to;
        to = old;
    }
    size_t kept = 0; /* an odd number of passes: they are in `scratch` */
    for (size_t i = 0; i < count; i++)
        if (i == 0 || from[i] != from[i - 1])
            pairs[kept++] = from[i];
    return kept;
}

size_t rung_event_chunk_write(const uint64_t *pairs, size_t count, uint32_t base, uint8_t *out) {
    uint8_t *at = out + 4;
    uint32_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t next = (uint32_t)(pairs[i] >> 32);
        at = rung_encode_number(at, next - hash);
        at = rung_encode_number(at, (uint32_t)pairs[i] - base);
        hash = next;
    }
    rung_put32(out, rung_crc32c(0, out + 4, (size_t)(at - out) - 4));
    return (size_t)(at - out);
}

bool rung_event_chunk_read(rung_slice bytes, uint32_t base,
                           uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS_MAX], size_t *count_out) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    if (bytes.len < 4 || rung_get32(p) != rung_crc32c(0, p + 4, bytes.len - 4))
        return false;
    rung_byte_reader r = rung_byte_reader_of(rung_slice_of(p + 4, bytes.len - 4));
    uint64_t hash = 0;
    size_t count = 0;
    while (r.at != r.end && count < RUNG_EVENT_CHUNK_PAIRS_MAX) {
        uint64_t more = rung_get_number(&r), block = rung_get_number(&r);
        if (more > UINT32_MAX - hash || block > UINT32_MAX - base)
            return false;
        hash += more;
        pairs[count++] = rung_event_pair((uint32_t)hash, base + (uint32_t)block);
    }
    *count_out = count;
    return !r.fault && r.at == r.end;
}
