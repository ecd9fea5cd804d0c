/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/origin.h"

#include "front/net/address.h"

#include <string.h>
#include <strings.h>

#define ORIGIN_MAX 256u /* bytes: it goes into the head of an answer */

rung_slice rung_origin_allowed(const char *const *list, rung_slice origin) {
    for (; list && *list && origin.len && origin.len <= ORIGIN_MAX; list++) {
        if (strcmp(*list, "*") == 0)
            return RUNG_SLICE("*");
        if (rung_slice_eq(rung_slice_str(*list), origin))
            return origin;
    }
    return (rung_slice){0};
}

/* The part after "://", of any scheme; ptr is NULL when it is not an origin. */
static rung_slice host_of(rung_slice origin) {
    const char *colon = origin.len ? memchr(origin.ptr, ':', origin.len) : NULL;
    size_t scheme = colon ? (size_t)(colon - origin.ptr) : 0;
    if (!colon || origin.len - scheme < 4 || memcmp(colon, "://", 3) != 0)
        return (rung_slice){0};
    return rung_slice_of(colon + 3, origin.len - scheme - 3);
}

bool rung_origin_may_change(const char *const *list, rung_slice origin, rung_slice host) {
    if (!origin.ptr || rung_origin_allowed(list, origin).len)
        return true;
    rung_slice own = host_of(origin);
    return own.ptr && rung_slice_eq(own, host);
}

/* `name`, with or without a port. */
static bool is_host(rung_slice host, rung_slice name) {
    return host.len >= name.len && strncasecmp(host.ptr, name.ptr, name.len) == 0 &&
           (host.len == name.len || host.ptr[name.len] == ':');
}

bool rung_origin_is_local(rung_slice origin) {
    rung_slice host = host_of(origin);
    size_t scheme = host.ptr ? (size_t)(host.ptr - origin.ptr) : 0;
    bool is_web = (scheme == 7 && memcmp(origin.ptr, "http", 4) == 0) ||
                  (scheme == 8 && memcmp(origin.ptr, "https", 5) == 0);
    return is_web && (is_host(host, RUNG_SLICE("localhost")) ||
                      is_host(host, RUNG_SLICE("127.0.0.1")) || is_host(host, RUNG_SLICE("[::1]")));
}

static bool is_local_host(rung_slice host) {
    rung_address address;
    return is_host(host, RUNG_SLICE("localhost")) ||
           (rung_address_parse(host, 0, &address, NULL) == RUNG_OK && !address.is_unix &&
            rung_address_is_local(&address));
}

rung_status rung_origin_check_local(rung_slice origin, rung_slice host, bool is_unix,
                                    rung_err *err) {
    if (host.len && !is_unix && !is_local_host(host))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN, "Host",
                                   "there are no keys, so only a name of this machine "
                                   "(localhost, 127.0.0.1, [::1]) is answered");
    if (origin.ptr && !rung_origin_is_local(origin))
        return RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN,
                             "there are no keys, so only pages of this machine may ask");
    return RUNG_OK;
}
