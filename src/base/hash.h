/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - hashing of bytes and words.
 *
 * rung_hash_keyed is SipHash-1-3 with a secret key, for tables whose keys clients choose: nobody can craft
 * collisions. rung_hash_word is a fast fixed mixer for numbers that we assign ourselves. rung_crc32c protects bytes
 * on disk; it uses the hardware where possible, and tests compare that with the table version. */
#ifndef RUNG_BASE_HASH_H
#define RUNG_BASE_HASH_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rung_hash_key {
    uint64_t k0, k1;
} rung_hash_key;

uint64_t rung_hash_keyed(const rung_hash_key *key, const void *bytes, size_t len);

/* The same for each of `n`, several at a time if the CPU supports it and their lengths are similar. */
void rung_hash_keyed_many(const rung_hash_key *key, const rung_slice *bytes, size_t n,
                          uint64_t *hashes_out);

/* A bijection of 64-bit words with full avalanche (the finaliser of splitmix64). */
static inline uint64_t rung_hash_word(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* CRC-32C (Castagnoli). Pass 0 to start, or the previous value to continue. */
uint32_t rung_crc32c(uint32_t crc, const void *bytes, size_t len);
/* portable; same answers */
uint32_t rung_crc32c_table(uint32_t crc, const void *bytes, size_t len);

#endif
