/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static rung_status fill_from_system(void *bytes, size_t len, rung_err *err) {
    char *at = bytes;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot get random bytes: %s",
                                strerrordesc_np(errno));
        at += got;
        len -= (size_t)got;
    }
    return RUNG_OK;
}

rung_status rung_random_fill(const rung_random *r, void *bytes, size_t len, rung_err *err) {
    return r ? r->fill(r->ctx, bytes, len, err) : fill_from_system(bytes, len, err);
}
