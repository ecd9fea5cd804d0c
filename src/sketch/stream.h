/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the bytes of a sketch in small pieces, for a writer without room for all of them.
 *
 * A saver calls `put` with one piece after the other; the pieces are what rung_*_save() writes at once. Nothing is
 * allocated, so a forked child may save. Pure. */
#ifndef RUNG_SKETCH_STREAM_H
#define RUNG_SKETCH_STREAM_H

#include "base/bytes.h"

typedef void rung_sketch_put(void *ctx, const void *bytes, size_t len);

/* Pieces on their way, with the checksum of all of them. */
typedef struct rung_sketch_stream {
    rung_sketch_put *put;
    void *ctx;
    uint32_t crc;
    uint8_t piece[512];
    rung_byte_writer w; /* into `piece` */
} rung_sketch_stream;

void rung_sketch_stream_begin(rung_sketch_stream *s, rung_sketch_put *put, void *ctx);
/* Room in s->w for `len` more bytes, at most 512. */
void rung_sketch_stream_room(rung_sketch_stream *s, size_t len);
/* The rest, and the checksum (CRC-32C, little-endian). */
void rung_sketch_stream_end(rung_sketch_stream *s);

/* `put` for a byte writer. */
void rung_sketch_put_writer(void *writer, const void *bytes, size_t len);

#endif
