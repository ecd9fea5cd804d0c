/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.c - a deflate stream that is reset, not rebuilt: 256 KiB once, nothing per answer. */
#include "front/http/gzip.h"

#include "base/assert.h"

static bool open_stream(rung__gzip *g, int level) {
    if (g->is_open)
        return deflateReset(&g->stream) == Z_OK;
    /* 15 + 16: the largest window, with a gzip head instead of zlib's. */
    g->is_open =
        deflateInit2(&g->stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    return g->is_open;
}

bool rung__gzip_pack(rung__gzip *g, int level, rung_slice body, rung_slice *out) {
    rung_buffer_reset(&g->packed, SIZE_MAX);
    if (body.len > RUNG__GZIP_BODY_MAX || !open_stream(g, level) ||
        !rung_buffer_reserve(&g->packed, body.len))
        return false;
    g->stream.next_in = (Bytef *)(uintptr_t)body.ptr; /* zlib does not write there */
    g->stream.avail_in = (uInt)body.len;
    g->stream.next_out = (Bytef *)g->packed.data;
    g->stream.avail_out = (uInt)body.len;
    if (deflate(&g->stream, Z_FINISH) != Z_STREAM_END)
        return false; /* it did not become smaller */
    *out = rung_slice_of(g->packed.data, body.len - g->stream.avail_out);
    return true;
}

void rung__gzip_deinit(rung__gzip *g) {
    if (g->is_open)
        deflateEnd(&g->stream);
    g->is_open = false;
    rung_buffer_deinit(&g->packed);
}
