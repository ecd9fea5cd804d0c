/* SPDX-License-Identifier: Apache-2.0 */
/* A block of events whose bytes a stranger chose: as stored, and, since no stranger guesses a checksum, as columns
 * that are packed here with a good one. What can be read is written and read again. Then the same bytes as a chunk of
 * the index. */
#include "archive/sqlite/event_block.h"
#include "archive/sqlite/event_run.h"
#include "base/hash.h"
#include "support/check.h"

#include <zstd.h>

enum { HEADER_SIZE = 20, SIZE_MAX_TRIED = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const rung_archive_score *a, const rung_archive_score *b) {
    CHECK_EQ_U64(a->seq, b->seq);
    CHECK_EQ_U64(a->part, b->part);
    CHECK(rung_slice_eq(a->board, b->board) && rung_slice_eq(a->player, b->player));
    CHECK(rung_slice_eq(a->id, b->id) && rung_slice_eq(a->meta, b->meta));
    CHECK_EQ_I64(a->at_ms, b->at_ms);
    CHECK_EQ_I64(a->ts_ms, b->ts_ms);
    CHECK_EQ_I64(a->status, b->status);
    CHECK(a->rule == b->rule && a->has_result == b->has_result && a->is_delta == b->is_delta);
    CHECK_EQ_U64(rung_score_format_of(&a->values), rung_score_format_of(&b->values));
}

static bool read_all(rung_event_reader *r, rung_slice bytes, rung_event_block *into) {
    rung_archive_score row;
    rung_err err = {0};
    rung_status st = rung_event_block_open(r, bytes, &err);
    while (st == RUNG_OK && (st = rung_event_block_next(r, &row, &err)) == RUNG_OK)
        if (into)
            CHECK_OK(rung_event_block_add(into, &row, NULL));
    return st == RUNG_NOT_FOUND;
}

/* Pack the rows of a block again, and compare. */
static void write_again(rung_slice bytes) {
    rung_event_block b = {.alloc = rung_alloc_heap()};
    rung_event_packer p = {.alloc = rung_alloc_heap()};
    rung_event_reader one = {.alloc = rung_alloc_heap()}, two = {.alloc = rung_alloc_heap()};
    rung_archive_score x, y;
    rung_slice again;
    rung_err err;
    if (read_all(&one, bytes, &b)) {
        CHECK_OK(rung_event_block_pack(&b, &p, &again, &err));
        CHECK_OK(rung_event_block_open(&one, bytes, &err));
        CHECK_OK(rung_event_block_open(&two, again, &err));
        while (rung_event_block_next(&one, &x, &err) == RUNG_OK) {
            CHECK_OK(rung_event_block_next(&two, &y, &err));
            same(&x, &y);
        }
        CHECK_STATUS(rung_event_block_next(&two, &y, &err), RUNG_NOT_FOUND);
    }
    rung_event_block_deinit(&b);
    rung_event_packer_deinit(&p);
    rung_event_reader_deinit(&one);
    rung_event_reader_deinit(&two);
}

static void try_columns(const uint8_t *data, size_t size) {
    static uint8_t bytes[HEADER_SIZE + ZSTD_COMPRESSBOUND(SIZE_MAX_TRIED)];
    if (size < 3 || size > SIZE_MAX_TRIED)
        return;
    size_t n =
        ZSTD_compress(bytes + HEADER_SIZE, sizeof bytes - HEADER_SIZE, data + 2, size - 2, 1);
    CHECK(!ZSTD_isError(n));
    memcpy(bytes, "REVB\0\0\0\0\0\0\0\0", 12);
    bytes[4] = 1 + data[1] / 128; /* version */
    rung_put32(bytes + 12, rung_get16(data) % RUNG_EVENT_BLOCK_ROWS_MAX + 1);
    rung_put32(bytes + 16, (uint32_t)(size - 2));
    rung_put32(bytes + 8, rung_crc32c(0, bytes, HEADER_SIZE + n));
    write_again(rung_slice_of(bytes, HEADER_SIZE + n));
}

static void try_chunk(const uint8_t *data, size_t size) {
    static uint8_t bytes[SIZE_MAX_TRIED + 4];
    static uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS_MAX];
    size_t count;
    if (size > SIZE_MAX_TRIED)
        return;
    rung_put32(bytes, rung_crc32c(0, data, size));
    rung_bytes_copy(bytes + 4, data, size);
    if (rung_event_chunk_read(rung_slice_of(bytes, size + 4), 7, pairs, &count))
        for (size_t i = 1; i < count; i++)
            CHECK(pairs[i] >> 32 >= pairs[i - 1] >> 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    write_again(rung_slice_of(data, size));
    try_columns(data, size);
    try_chunk(data, size);
    return 0;
}
