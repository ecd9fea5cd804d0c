/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void rung_assert_failed(const char *what, const char *file, int line) {
    fprintf(stderr, "rung: assertion failed: %s (%s:%d)\n", what, file, line);
    abort();
}
