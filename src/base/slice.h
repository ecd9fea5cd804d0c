/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - borrowed bytes, not necessarily NUL-terminated. The owner documents how long they live. */
#ifndef RUNG_BASE_SLICE_H
#define RUNG_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct rung_slice {
    const char *ptr;
    size_t len;
} rung_slice;

/* The number of elements of an array. */
#define RUNG_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A slice over a string literal. */
#define RUNG_SLICE(literal) ((rung_slice){(literal), sizeof(literal) - 1})

static inline rung_slice rung_slice_of(const void *ptr, size_t len) {
    return (rung_slice){(const char *)ptr, len};
}

static inline rung_slice rung_slice_str(const char *text) {
    return (rung_slice){text, strlen(text)};
}

/* What is between `from` and `to`, without blanks and tabs at its ends. */
static inline rung_slice rung_slice_trim(const char *from, const char *to) {
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (from < to && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return rung_slice_of(from, (size_t)(to - from));
}

static inline bool rung_slice_eq(rung_slice a, rung_slice b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Copy the text to *at and move *at behind it; returns the copy. NULL stays NULL. */
static inline rung_slice rung_slice_put(char **at, rung_slice text) {
    rung_slice copy = {text.ptr ? *at : NULL, text.len};
    if (text.len)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

/* memcpy() for short lengths: copies 4 to 16 bytes as two overlapping words or half words, without a call. */
static inline void rung_bytes_copy(void *to, const void *from, size_t len) {
    const char *source = from;
    char *target = to;
    if (len >= 8 && len <= 16) {
        uint64_t head, tail;
        memcpy(&head, source, sizeof head);
        memcpy(&tail, source + len - sizeof tail, sizeof tail);
        memcpy(target, &head, sizeof head);
        memcpy(target + len - sizeof tail, &tail, sizeof tail);
    } else if (len >= 4 && len < 8) {
        uint32_t head, tail;
        memcpy(&head, source, sizeof head);
        memcpy(&tail, source + len - sizeof tail, sizeof tail);
        memcpy(target, &head, sizeof head);
        memcpy(target + len - sizeof tail, &tail, sizeof tail);
    } else if (len) {
        memcpy(target, source, len);
    }
}

/* Byte order, a prefix before its extensions: <0, 0, >0. */
static inline int rung_slice_cmp(rung_slice a, rung_slice b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

#endif
