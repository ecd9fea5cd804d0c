/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: published values, and the fast version against the table at every length, alignment and start. */
#include "base/hash.h"
#include "support/check.h"
#include "support/rng.h"

#include <string.h>

TEST(published_values) {
    unsigned char zeros[32] = {0}, ones[32];
    memset(ones, 0xff, sizeof ones);
    CHECK_EQ_U64(rung_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_EQ_U64(rung_crc32c(0, zeros, sizeof zeros), 0x8a9136aa); /* RFC 3720, B.4 */
    CHECK_EQ_U64(rung_crc32c(0, ones, sizeof ones), 0x62a8ab43);
    CHECK_EQ_U64(rung_crc32c(7, zeros, 0), 7);
}

TEST(same_as_the_table) {
    enum { LENGTH_MAX = 200 };
    unsigned char bytes[LENGTH_MAX + 8];
    rung_rng r;
    rung_rng_seed(&r, 1);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rung_rng_next(&r);
    for (size_t len = 0; len <= LENGTH_MAX; len++)
        for (size_t from = 0; from < 8; from++) {
            uint32_t start = (uint32_t)rung_rng_next(&r),
                     all = rung_crc32c(start, bytes + from, len);
            CHECK_EQ_U64(all, rung_crc32c_table(start, bytes + from, len));
            CHECK_EQ_U64(all, rung_crc32c(rung_crc32c(start, bytes + from, len / 3),
                                          bytes + from + len / 3, len - len / 3));
        }
}

RUNG_TEST_MAIN
