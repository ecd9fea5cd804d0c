/* SPDX-License-Identifier: Apache-2.0 */
/* The player table against its model: the input is a program of support/names_program.h. */
#include "support/names_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* A program of all collisions is checked in quadratic time: often for short ones, seldom for long ones. */
    const players_run_options options = {.check_every = 1 + size / 256};
    names_program_run(data, size, &options);
    return 0;
}
