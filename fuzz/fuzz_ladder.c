/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder against its model: the input is a program of support/ladder_program.h. */
#include "support/check.h"
#include "support/ladder_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ladder_verdict v = ladder_program_run(data, size, NULL);
    if (!v.is_good) {
        ladder_program_print(data, size);
        CHECK_MSG(false, "step %zu: %s", v.step, v.message);
    }
    return 0;
}
