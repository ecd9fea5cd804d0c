/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic has the same bits here as where RATING_PROGRAM_DIGEST was written down. If a change of the formulas
 * is meant to change ratings, it needs a new rules level (docs/adr/0012-rules-level.md) and then a new number. */
#include "support/rating_program.h"

#include "support/check.h"

TEST(the_digest_of_a_long_history) {
    static rating_program program;
    CHECK_EQ_U64(rating_program_run(&program, 1, RATING_PROGRAM_STEPS), RATING_PROGRAM_DIGEST);
}

TEST(another_history_has_another_digest) {
    static rating_program program;
    CHECK(rating_program_run(&program, 2, 100) != rating_program_run(&program, 3, 100));
    CHECK(rating_program_run(&program, 2, 100) != rating_program_run(&program, 2, 101));
}

RUNG_TEST_MAIN
