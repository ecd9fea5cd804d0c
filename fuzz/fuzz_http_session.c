/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP clients of a whole server: pipelines, requests that wait, streams both ways, ends of all kinds (session.h). */
#include "session.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    session_run(data, size, false);
    return 0;
}
