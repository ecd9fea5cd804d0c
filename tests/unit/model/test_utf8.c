/* SPDX-License-Identifier: Apache-2.0 */
/* Against a decoder that reads like RFC 3629, over every short sequence of bytes and at every place in a word. */
#include "model/utf8.h"

#include "support/check.h"
#include "support/rng.h"

/* The code point at p[0..left), or -1, and its length: by value, not by table. */
static int32_t plain_decode(const uint8_t *p, size_t left, size_t *size_out) {
    static const int32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = p[0] < 0x80             ? 1
                  : (p[0] & 0xe0) == 0xc0 ? 2
                  : (p[0] & 0xf0) == 0xe0 ? 3
                  : (p[0] & 0xf8) == 0xf0 ? 4
                                          : 0;
    if (size == 0 || size > left)
        return -1;
    int32_t c = size == 1 ? p[0] : p[0] & (0x7f >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (p[i] & 0x3f);
    }
    *size_out = size;
    return c < LEAST[size] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? -1 : c;
}

static void plain_answers(rung_slice s, bool *is_text, bool *is_plain) {
    const uint8_t *p = (const uint8_t *)s.ptr;
    *is_text = *is_plain = true;
    for (size_t i = 0, size = 0; i < s.len; i += size) {
        int32_t c = plain_decode(p + i, s.len - i, &size);
        if (c < 0)
            *is_text = *is_plain = false;
        if (c < 0)
            return;
        *is_text &= c != 0;
        *is_plain &= c >= 0x20 && !(c >= 0x7f && c <= 0x9f);
    }
}

static void check_bytes(const uint8_t *bytes, size_t len) {
    bool is_text, is_plain;
    rung_slice s = rung_slice_of(bytes, len);
    plain_answers(s, &is_text, &is_plain);
    if (rung_utf8_is_text(s) != is_text || rung_utf8_is_plain(s) != is_plain)
        test_fail(__FILE__, __LINE__,
                  "%zu bytes %02x %02x %02x %02x...: text %d, plain %d expected", len, bytes[0],
                  len > 1 ? bytes[1] : 0, len > 2 ? bytes[2] : 0, len > 3 ? bytes[3] : 0, is_text,
                  is_plain);
}

TEST(the_empty_text_is_fine) {
    CHECK(rung_utf8_is_text((rung_slice){NULL, 0}));
    CHECK(rung_utf8_is_plain((rung_slice){NULL, 0}));
}

TEST(every_sequence_of_one_to_three_bytes) {
    uint8_t b[3];
    for (uint32_t x = 0; x < 1u << 24; x++) {
        b[0] = (uint8_t)(x >> 16), b[1] = (uint8_t)(x >> 8), b[2] = (uint8_t)x;
        if (b[0] == 0)
            check_bytes(b + 1, 2);
        if (b[0] == 0 && b[1] == 0)
            check_bytes(b + 2, 1);
        if (x % 7 == 0 ||
            b[0] >= 0xc0) /* of those that begin with ASCII or a tail, a share will do */
            check_bytes(b, 3);
    }
}

TEST(sequences_of_four_bytes_at_the_borders) {
    static const uint8_t EDGES[] = {0x00, 0x1f, 0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                    0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed,
                                    0xef, 0xf0, 0xf4, 0xf5, 0xf8, 0xff};
    enum { N = sizeof EDGES };
    for (unsigned lead = 0xee; lead < 0x100; lead++)
        for (unsigned i = 0; i < N * N * N; i++) {
            uint8_t b[] = {(uint8_t)lead, EDGES[i / (N * N)], EDGES[i / N % N], EDGES[i % N]};
            check_bytes(b, sizeof b);
        }
}

TEST(one_odd_byte_at_every_place_of_every_length) {
    uint8_t b[40];
    for (size_t len = 1; len <= sizeof b; len++)
        for (size_t at = 0; at < len; at++)
            for (unsigned byte = 0; byte < 256; byte++) {
                memset(b, 'a', len);
                b[at] = (uint8_t)byte;
                check_bytes(b, len);
            }
}

TEST(random_texts_of_few_bytes) {
    static const uint8_t ALPHABET[] = {'a',  0x1f, 0x20, 0x7e, 0x7f, 0x80, 0x9f, 0xa0, 0xbf,
                                       0xc2, 0xc3, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 'z',  'z'};
    uint8_t b[24];
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (uint64_t n = test_steps(500000); n; n--) {
        size_t len = 1 + rung_rng_below(&rng, sizeof b);
        for (size_t i = 0; i < len; i++)
            b[i] = ALPHABET[rung_rng_below(&rng, sizeof ALPHABET)];
        check_bytes(b, len);
    }
}

RUNG_TEST_MAIN
