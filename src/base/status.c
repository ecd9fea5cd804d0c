/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *rung_status_name(rung_status st) {
    switch (st) {
#define X(name, value, text)                                                                       \
    case RUNG_##name:                                                                              \
        return #name;
        RUNG_STATUS_MAP(X)
#undef X
    }
    return "UNKNOWN";
}

const char *rung_status_text(rung_status st) {
    switch (st) {
#define X(name, value, text)                                                                       \
    case RUNG_##name:                                                                              \
        return text;
        RUNG_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

rung_status rung_err_set(rung_err *err, rung_status st, int os_errno, const char *where,
                         const char *format, ...) {
    if (!err)
        return st;
    err->code = st;
    err->os_errno = os_errno;
    err->where = where;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format,
              args); /* tidy: allow (only %s, %zu, %u, %lld) */
    va_end(args);
    return st;
}
