/* SPDX-License-Identifier: Apache-2.0 */
/* Redis clients of a whole server: pipelines, transactions, blocked commands, ends of all kinds. See session.h. */
#include "session.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    session_run(data, size, true);
    return 0;
}
