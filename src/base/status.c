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

__attribute__((format(printf, 3, 0))) static void print(char *out, size_t size, const char *format,
                                                        va_list args) {
    vsnprintf(out, size, format, args); /* tidy: allow (only %s, %zu, %u, %lld) */
}

rung_status rung_err_set(rung_err *err, rung_status st, rung_reason reason, int os_errno,
                         const char *where, const char *field, const char *format, ...) {
    va_list args;
    if (!err)
        return st;
    err->code = st;
    err->reason = reason;
    err->os_errno = os_errno;
    err->where = where;
    err->field[0] = '\0';
    if (field) {
        va_start(args, format);
        print(err->field, sizeof err->field, field, args);
        va_end(args);
    }
    va_start(args, format);
    print(err->message, sizeof err->message, format, args);
    va_end(args);
    return st;
}
