/* SPDX-License-Identifier: Apache-2.0 */
#include "sketch/stream.h"

#include "base/hash.h"

void rung_sketch_stream_begin(rung_sketch_stream *s, rung_sketch_put *put, void *ctx) {
    s->put = put;
    s->ctx = ctx;
    s->crc = 0;
    s->w = rung_byte_writer_of(s->piece, sizeof s->piece);
}

static void flush(rung_sketch_stream *s) {
    size_t len = rung_byte_writer_length(&s->w);
    s->crc = rung_crc32c(s->crc, s->piece, len);
    s->put(s->ctx, s->piece, len);
    s->w = rung_byte_writer_of(s->piece, sizeof s->piece);
}

void rung_sketch_stream_room(rung_sketch_stream *s, size_t len) {
    if (rung_byte_writer_room(&s->w) < len)
        flush(s);
}

void rung_sketch_stream_end(rung_sketch_stream *s) {
    uint8_t crc[4];
    flush(s);
    rung_put32(crc, s->crc);
    s->put(s->ctx, crc, sizeof crc);
}

void rung_sketch_put_writer(void *writer, const void *bytes, size_t len) {
    rung_put_bytes(writer, bytes, len);
}
