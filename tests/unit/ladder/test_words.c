/* SPDX-License-Identifier: Apache-2.0 */
/* The search of a node's words, against counting them: all sizes a node can have, all answers, with and without runs of
 * the same word. The words stand alone in memory, so that sanitizers see who reads past them. */
#include "ladder/tree.h"
#include "support/check.h"

#include <stdlib.h>

enum { MOST = 130 };

static uint32_t count_less(const uint64_t *words, uint32_t n, uint64_t value) {
    uint32_t less = 0;
    for (uint32_t i = 0; i < n; i++)
        less += words[i] < value;
    return less;
}

/* Words 1, 3, 5, ... each `run` times. */
static uint64_t *make_words(uint32_t n, uint32_t run) {
    uint64_t *words = malloc(n ? n * sizeof *words : 1);
    CHECK(words != NULL);
    for (uint32_t i = 0; i < n; i++)
        words[i] = UINT64_C(2) * (i / run) + 1;
    return words;
}

TEST(words_of_all_sizes) {
    for (uint32_t n = 0; n <= MOST; n++)
        for (uint32_t run = 1; run <= 5; run += 2) {
            uint64_t *words = make_words(n, run);
            for (uint64_t value = 0; value <= 2 * n + 2; value++)
                CHECK_EQ_U64(rung__words_less(words, n, value), count_less(words, n, value));
            CHECK_EQ_U64(rung__words_less(words, n, UINT64_MAX), n);
            free(words);
        }
}

#define CHECK_KNOWN_SIZE(n)                                                                        \
    do {                                                                                           \
        uint64_t *words = make_words(n, 3);                                                        \
        for (uint64_t value = 0; value <= 2 * (n) + 2; value++)                                    \
            CHECK_EQ_U64(rung__words_less_of(words, n, value), count_less(words, n, value));       \
        free(words);                                                                               \
    } while (0)

TEST(words_of_sizes_the_compiler_knows) {
    CHECK_KNOWN_SIZE(1);
    CHECK_KNOWN_SIZE(2);
    CHECK_KNOWN_SIZE(4);
    CHECK_KNOWN_SIZE(8);
    CHECK_KNOWN_SIZE(16);
    CHECK_KNOWN_SIZE(19);
    CHECK_KNOWN_SIZE(64);
}

RUNG_TEST_MAIN
