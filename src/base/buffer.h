/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - a growing byte buffer: append, then test once at the end whether everything fitted.
 *
 *     rung_buffer b = {.alloc = alloc, .limit = 1 << 20};
 *     rung_buffer_put(&b, bytes, len);
 *     if (b.is_failed) ...
 *     rung_buffer_deinit(&b);
 *
 * It doubles up to `limit` (0: no limit). Without an allocator it is a fixed buffer in the caller's memory. The first
 * failure to grow is sticky: nothing more is appended, and `data` is incomplete. Pure; one thread at a time.
 *
 * The writer of a format embeds the fields of a buffer beside its own:
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

typedef struct rung_buffer { /* initialise to zero with an allocator, or with memory */
    RUNG__BUFFER_FIELDS;
} rung_buffer;

#define RUNG_BUFFER_PART                                                                           \
    union {                                                                                        \
        rung_buffer buffer;                                                                        \
        RUNG__BUFFER_FIELDS;                                                                       \
    }

/* Free the memory if the buffer owns it. The buffer is then empty, with the same allocator and limit. */
void rung_buffer_deinit(rung_buffer *b);
/* Empty the buffer for reuse, and shrink its memory to at most `keep` bytes. */
void rung_buffer_reset(rung_buffer *b, size_t keep);

/* For the next function: grow to hold `n` more bytes, or set is_failed. */
bool rung_buffer_grow(rung_buffer *b, size_t n);

/* Make room for `n` bytes at data + len. false: there is none. */
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
