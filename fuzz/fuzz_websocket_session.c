/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket clients of a whole server, from the handshake on: an input without one begins with that of a board. See
 * session.h. */
#define _GNU_SOURCE /* memmem */
#include "session.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static unsigned char program[SESSION_SIZE_MAX];
    if (size < 1 || size > sizeof program - 5)
        return 0;
    if (memmem(data, size, "\xfeH", 2)) {
        session_run(data, size, false);
        return 0;
    }
    program[0] = data[0];
    memcpy(program + 1,
           "\xfeH\x00\xfe"
           "f",
           5);
    memcpy(program + 6, data + 1, size - 1);
    session_run(program, size + 5, false);
    return 0;
}
