/* SPDX-License-Identifier: Apache-2.0 */
/* resp_replies.h - replies as they are expected, without counting bytes:
 *
 *     resp_ask(fd, "ZPOPMIN k", array(bulk("a"), bulk("1.1000000000000001")));
 *     resp_expect(fd, replies(simple("OK"), integer(2)));
 *
 * What is made is good until some hundred others have been. */
#ifndef RUNG_TESTS_RESP_REPLIES_H
#define RUNG_TESTS_RESP_REPLIES_H

#include "support/check.h"

#include <stdio.h>
#include <string.h>

#define simple(text) "+" text "\r\n"
#define error(text)  "-" text "\r\n"
#define integer(n)   ":" #n "\r\n"
#define nil          "$-1\r\n"
#define nil_array    "*-1\r\n"
#define empty_array  "*0\r\n"
/* RESP3 */
#define real(text) "," text "\r\n"
#define null       "_\r\n"

static inline char *reply_room(size_t *size_out) {
    static char made[256][2048];
    static unsigned next;
    *size_out = sizeof made[0];
    return made[next++ % (sizeof made / sizeof made[0])];
}

static inline const char *bulk(const char *text) {
    size_t size;
    char *out = reply_room(&size);
    snprintf(out, size, "$%zu\r\n%s\r\n", strlen(text), text);
    return out;
}

/* `kind` is 0 for replies one after the other; a map has half as many pairs as parts. */
static inline const char *reply_join(char kind, const char *const *parts, size_t count) {
    size_t size, len = 0;
    char *out = reply_room(&size);
    out[0] = 0;
    if (kind)
        len = (size_t)snprintf(out, size, "%c%zu\r\n", kind, kind == '%' ? count / 2 : count);
    for (size_t i = 0; i < count; i++) {
        size_t part = strlen(parts[i]);
        CHECK(len + part < size);
        memmove(out + len, parts[i], part + 1);
        len += part;
    }
    return out;
}

#define REPLY_JOIN(kind, ...)                                                                      \
    reply_join(kind, (const char *const[]){__VA_ARGS__},                                           \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
#define array(...)   REPLY_JOIN('*', __VA_ARGS__)
#define set(...)     REPLY_JOIN('~', __VA_ARGS__)
#define map(...)     REPLY_JOIN('%', __VA_ARGS__)
#define replies(...) REPLY_JOIN(0, __VA_ARGS__)

#endif
