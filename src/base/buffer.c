/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

enum { SIZE_FIRST = 512 };

void rung_buffer_deinit(rung_buffer *b) {
    if (b->alloc)
        rung_alloc_free(b->alloc, b->data, b->size);
    *b = (rung_buffer){.alloc = b->alloc, .limit = b->limit};
}

void rung_buffer_reset(rung_buffer *b, size_t keep) {
    if (b->size > keep)
        rung_buffer_deinit(b);
    b->len = 0;
    b->is_failed = false;
}

static bool fail(rung_buffer *b) {
    b->is_failed = true;
    return false;
}

bool rung_buffer_grow(rung_buffer *b, size_t n) {
    size_t limit = b->limit ? b->limit : SIZE_MAX / 2;
    if (b->is_failed || !b->alloc || n > limit || b->len > limit - n)
        return fail(b);
    size_t size = b->size ? b->size : SIZE_FIRST;
    while (size < b->len + n)
        size *= 2;
    if (size > limit)
        size = limit;
    char *data = rung_alloc_resize(b->alloc, b->data, b->size, size);
    if (!data)
        return fail(b);
    b->data = data;
    b->size = size;
    return true;
}
