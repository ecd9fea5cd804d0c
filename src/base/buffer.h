/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - bytes that grow: append, look once at the end whether all of it fitted.
 *
 *     rung_buffer b = {.alloc = alloc, .limit = 1 << 20};
 *     rung_buffer_put(&b, bytes, len);
 *     if (b.is_failed) ...
 *     rung_buffer_deinit(&b);
 *
 * It grows by doubling up to `limit` (0: as long as there is memory); without an allocator it is the caller's memory
 * and fixed. The first failure to grow is sticky: nothing more is appended, and what is in `data` is not the whole.
 * Pure; one thread at a time.
 *
 * A writer of a format has the fields of a buffer and some of its own:
 *
 *     typedef struct json_writer { RUNG_BUFFER_PART; bool is_comma_due; } json_writer;     // w->len, &w->buffer */
#ifndef RUNG_BASE_BUFFER_H
#define RUNG_BASE_BUFFER_H

#include "base/alloc.h"
#include "base/slice.h"

#define RUNG__BUFFER_FIELDS                                                                        \
    struct {                                                                                       \
        char *data;                                                                                \
        size_t len, size;                                                                          \
        const rung_alloc *alloc; /* NULL: data[size] is the caller's */                            \
        size_t limit;            /* bytes; 0: none */                                              \
        bool is_failed;                                                                            \
    }

typedef struct rung_buffer { /* zero and an allocator, or zero and memory, is ready for use */
    RUNG__BUFFER_FIELDS;
} rung_buffer;

#define RUNG_BUFFER_PART                                                                           \
    union {                                                                                        \
        rung_buffer buffer;                                                                        \
        RUNG__BUFFER_FIELDS;                                                                       \
    }

/* Give the memory back, if it is the buffer's own; it is empty then, with the same allocator and limit. */
void rung_buffer_deinit(rung_buffer *b);
/* Begin anew in the same memory, of which more than `keep` bytes are given back. */
void rung_buffer_reset(rung_buffer *b, size_t keep);

/* For the next function: grow to hold `n` more bytes, or fail for good. */
bool rung_buffer_grow(rung_buffer *b, size_t n);

/* Make room for `n` bytes at data + len: false when there is none. */
static inline bool rung_buffer_reserve(rung_buffer *b, size_t n) {
    return __builtin_expect(b->size - b->len >= n && !b->is_failed, 1) || rung_buffer_grow(b, n);
}

static inline void rung_buffer_put(rung_buffer *b, const void *bytes, size_t len) {
    if (len && rung_buffer_reserve(b, len)) {
        memcpy(b->data + b->len, bytes, len);
        b->len += len;
    }
}

static inline rung_slice rung_buffer_slice(const rung_buffer *b) {
    return rung_slice_of(b->data, b->len);
}

#endif
