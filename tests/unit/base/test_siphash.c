/* SPDX-License-Identifier: Apache-2.0 */
/* The keyed hash against SipHash-1-3 written out byte by byte, at every length and every alignment, one by one
 * and many at once. */
#include "base/hash.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_MAX = 70, MANY = 19 };

typedef struct sip {
    uint64_t v[4];
} sip;

static uint64_t turn(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static void sip_round(sip *s) {
    uint64_t *v = s->v;
    v[0] += v[1];
    v[1] = turn(v[1], 13) ^ v[0];
    v[0] = turn(v[0], 32);
    v[2] += v[3];
    v[3] = turn(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = turn(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = turn(v[1], 17) ^ v[2];
    v[2] = turn(v[2], 32);
}

static uint64_t plain_hash(const rung_hash_key *key, const unsigned char *bytes, size_t len) {
    static const char name[] = "somepseudorandomlygeneratedbytes";
    sip s;
    for (int i = 0; i < 4; i++) {
        s.v[i] = i % 2 ? key->k1 : key->k0;
        for (int k = 0; k < 8; k++)
            s.v[i] ^= (uint64_t)(unsigned char)name[i * 8 + k] << (8 * (7 - k));
    }
    for (size_t from = 0; from <= len; from += 8) {
        uint64_t word = 0;
        for (size_t i = from; i < from + 8 && i < len; i++)
            word |= (uint64_t)bytes[i] << (8 * (i - from));
        if (from + 8 > len)
            word |= (uint64_t)len << 56;
        s.v[3] ^= word;
        sip_round(&s);
        s.v[0] ^= word;
    }
    s.v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

TEST(every_length_at_every_alignment) {
    const rung_hash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char bytes[LENGTH_MAX], placed[LENGTH_MAX + 8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 151 + 7);
    for (size_t shift = 0; shift < 8; shift++) {
        for (size_t len = 0; len <= LENGTH_MAX; len++) {
            memset(placed, 0xee, sizeof placed); /* what stands around must not matter */
            memcpy(placed + shift, bytes, len);
            CHECK_EQ_U64(rung_hash_keyed(&key, placed + shift, len), plain_hash(&key, bytes, len));
        }
    }
}

/* As many as there are lanes and more, with lengths around `len`. Each text is a block of its own: whoever reads past
 * its ends is found out by a sanitizer. */
static void check_many(rung_rng *rng, size_t n, size_t len, size_t spread) {
    const rung_hash_key key = {rung_rng_next(rng), rung_rng_next(rng)};
    rung_slice texts[MANY] = {{NULL, 0}};
    uint64_t hashes[MANY + 1];
    for (size_t i = 0; i < n; i++) {
        size_t own = len + (size_t)rung_rng_below(rng, spread + 1);
        char *text = malloc(own ? own : 1);
        for (size_t k = 0; k < own; k++)
            text[k] = (char)rung_rng_below(rng, 256);
        texts[i] = rung_slice_of(text, own);
    }
    hashes[n] = 42;
    rung_hash_keyed_many(&key, texts, n, hashes);
    CHECK_EQ_U64(hashes[n], 42);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ_U64(hashes[i],
                     plain_hash(&key, (const unsigned char *)texts[i].ptr, texts[i].len));
        free((char *)(uintptr_t)texts[i].ptr);
    }
}

TEST(many_at_once) {
    rung_rng rng;
    rung_rng_seed(&rng, 13);
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        for (size_t n = 0; n <= MANY; n++) {
            check_many(&rng, n, len, 0);
            check_many(&rng, n, len, 7);
        }
    }
}

/* From the description of SipHash-1-3 as others have it: the bytes 0, 1, 2, ... under the key 0, 1, 2, ... */
TEST(a_known_one) {
    const rung_hash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    CHECK_EQ_U64(rung_hash_keyed(&key, "", 0), UINT64_C(0xabac0158050fc4dc));
}

RUNG_TEST_MAIN
