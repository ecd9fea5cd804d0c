/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

/* Of a word, or of several in a vector. */
#define ROTL(x, b) ((x) << (b) | (x) >> (64 - (b)))

#define SIP_ROUND                                                                                  \
    do {                                                                                           \
        v0 += v1, v1 = ROTL(v1, 13), v1 ^= v0, v0 = ROTL(v0, 32);                                  \
        v2 += v3, v3 = ROTL(v3, 16), v3 ^= v2;                                                     \
        v0 += v3, v3 = ROTL(v3, 21), v3 ^= v0;                                                     \
        v2 += v1, v1 = ROTL(v1, 17), v1 ^= v2, v2 = ROTL(v2, 32);                                  \
    } while (0)

uint64_t rung_hash_keyed(const rung_hash_key *key, const void *bytes, size_t len) {
    uint64_t v0 = key->k0 ^ 0x736f6d6570736575u, v1 = key->k1 ^ 0x646f72616e646f6du;
    uint64_t v2 = key->k0 ^ 0x6c7967656e657261u, v3 = key->k1 ^ 0x7465646279746573u;
    const unsigned char *p = bytes, *whole = p + (len & ~(size_t)7);
    for (; p != whole; p += 8) {
        uint64_t m = rung_get64(p);
        v3 ^= m;
        SIP_ROUND;
        v0 ^= m;
    }
    uint64_t last = (uint64_t)len << 56;
    if (len >= 8 && len & 7) /* one load: the end of the last 8 bytes */
        last |= rung_get64(p + (len & 7) - 8) >> (64 - 8 * (len & 7));
    for (size_t i = 0; len < 8 && i < len; i++)
        last |= (uint64_t)p[i] << (8 * i);
    v3 ^= last;
    SIP_ROUND;
    v0 ^= last;
    v2 ^= 0xff;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

/* Hash LANES texts at once in vectors. false: not possible, and nothing done. */
enum { LANES = 4 };

#if defined(__x86_64__)
typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));
#define EACH_LANE(of) ((lanes){of(0), of(1), of(2), of(3)})
#define LEN(i)        (bytes[i].len)
#define WORD(i)       rung_get64((const uint8_t *)bytes[i].ptr + at)
#define TAIL(i)       rung_get64((const uint8_t *)bytes[i].ptr + bytes[i].len - 8)

/* All have `words` whole words, at least one, and possibly some bytes. */
__attribute__((always_inline)) static inline void
hash_lanes(const rung_hash_key *key, const rung_slice *bytes, size_t words, uint64_t *hashes_out) {
    const lanes zero = {0};
    lanes v0 = zero + (key->k0 ^ 0x736f6d6570736575u), v1 = zero + (key->k1 ^ 0x646f72616e646f6du);
    lanes v2 = zero + (key->k0 ^ 0x6c7967656e657261u), v3 = zero + (key->k1 ^ 0x7465646279746573u);
    lanes m, len = EACH_LANE(LEN);
    for (size_t at = 0; at < 8 * words; at += 8) {
        m = EACH_LANE(WORD);
        v3 ^= m;
        SIP_ROUND;
        v0 ^= m;
    }
    m = EACH_LANE(TAIL) >> 1 >>
        (63 - 8 * (len & 7)); /* shift out the bytes of the last whole word */
    m |= len << 56;
    v3 ^= m;
    SIP_ROUND;
    v0 ^= m;
    v2 ^= 0xff;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    v0 ^= v1 ^ v2 ^ v3;
    memcpy(hashes_out, &v0, sizeof v0);
}

__attribute__((target("avx512vl"))) static void hash_lanes_avx512(const rung_hash_key *key,
                                                                  const rung_slice *bytes,
                                                                  size_t words,
                                                                  uint64_t *hashes_out) {
    hash_lanes(key, bytes, words, hashes_out);
}

__attribute__((target("avx2"))) static void hash_lanes_avx2(const rung_hash_key *key,
                                                            const rung_slice *bytes, size_t words,
                                                            uint64_t *hashes_out) {
    hash_lanes(key, bytes, words, hashes_out);
}

static bool hash_together(const rung_hash_key *key, const rung_slice *bytes, uint64_t *hashes_out) {
    size_t words = bytes[0].len / 8, differ = 0;
    for (size_t i = 1; i < LANES; i++)
        differ |= bytes[i].len / 8 ^ words;
    if (!words || differ)
        return false;
    if (__builtin_cpu_supports("avx512vl")) /* has vector rotates */
        hash_lanes_avx512(key, bytes, words, hashes_out);
    else if (__builtin_cpu_supports("avx2"))
        hash_lanes_avx2(key, bytes, words, hashes_out);
    else
        return false;
    return true;
}
#else
static bool hash_together(const rung_hash_key *key, const rung_slice *bytes, uint64_t *hashes_out) {
    (void)key, (void)bytes, (void)hashes_out;
    return false;
}
#endif

void rung_hash_keyed_many(const rung_hash_key *key, const rung_slice *bytes, size_t n,
                          uint64_t *hashes_out) {
    for (size_t from = 0, end; from < n; from = end) {
        end = n - from < LANES ? n : from + LANES;
        if (end - from == LANES && hash_together(key, bytes + from, hashes_out + from))
            continue;
        for (size_t i = from; i < end; i++)
            hashes_out[i] = rung_hash_keyed(key, bytes[i].ptr, bytes[i].len);
    }
}

/* One byte at a time with the reflected polynomial: slow and obviously correct. */
uint32_t rung_crc32c_table(uint32_t crc, const void *bytes, size_t len) {
    static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                        0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *p = bytes;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_hardware(uint32_t crc, const unsigned char *p, size_t len) {
    uint64_t c = ~crc;
    for (; len >= 8; p += 8, len -= 8)
        c = _mm_crc32_u64(c, rung_get64(p));
    for (; len; p++, len--)
        c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}

uint32_t rung_crc32c(uint32_t crc, const void *bytes, size_t len) {
    return __builtin_cpu_supports("sse4.2") ? crc32c_hardware(crc, bytes, len)
                                            : rung_crc32c_table(crc, bytes, len);
}
#elif defined(__ARM_FEATURE_CRC32)
uint32_t rung_crc32c(uint32_t crc, const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8)
        crc = __crc32cd(crc, rung_get64(p));
    for (; len; p++, len--)
        crc = __crc32cb(crc, *p);
    return ~crc;
}
#else
uint32_t rung_crc32c(uint32_t crc, const void *bytes, size_t len) {
    return rung_crc32c_table(crc, bytes, len);
}
#endif
