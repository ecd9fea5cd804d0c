/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.h - some thousand score events as one block of bytes: columns, compressed, with a checksum.
 *
 *     rung_event_block_add(&b, &score);                         // until rung_event_block_is_full(&b)
 *     rung_event_block_pack(&b, &packer, &bytes, &err);         // borrowed until the next pack
 *
 *     rung_event_block_open(&reader, bytes, &err);
 *     while (rung_event_block_next(&reader, &score) == RUNG_OK) ...
 *
 * docs/formats/archive.md specifies the bytes. The reader is safe for any bytes; every change of a stored block is
 * detected (RUNG_ECORRUPT). One thread at a time. */
#ifndef RUNG_ARCHIVE_SQLITE_EVENT_BLOCK_H
#define RUNG_ARCHIVE_SQLITE_EVENT_BLOCK_H

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "service/archive_port.h"

#ifdef RUNG_TEST_BUILD
#define RUNG_EVENT_BLOCK_ROWS 64u
#else
#define RUNG_EVENT_BLOCK_ROWS 4096u
#endif
#define RUNG_EVENT_BLOCK_ROWS_MAX  4096u               /* of any block */
#define RUNG_EVENT_BLOCK_BYTES     ((size_t)512 << 10) /* full from here on, before compression */
#define RUNG_EVENT_BLOCK_BYTES_MAX ((size_t)8 << 20)   /* that a reader accepts */

enum {
    RUNG_EVENT_COLUMN_SEQ,    /* number: how much more than the row before */
    RUNG_EVENT_COLUMN_FLAGS,  /* byte */
    RUNG_EVENT_COLUMN_PART,   /* number, of rows with that flag: part * 32 + command */
    RUNG_EVENT_COLUMN_BOARD,  /* number: the boards of the block, in order of appearance */
    RUNG_EVENT_COLUMN_BOARDS, /* text: their names */
    RUNG_EVENT_COLUMN_PLAYER, /* text */
    RUNG_EVENT_COLUMN_STATUS, /* byte */
    RUNG_EVENT_COLUMN_FORMAT, /* number: 0: that of the row before; or the format + 1 */
    RUNG_EVENT_COLUMN_VALUES, /* signed, or real */
    RUNG_EVENT_COLUMN_TS,     /* signed: how much more than the row before */
    RUNG_EVENT_COLUMN_AT,     /* signed: how much more than ts */
    RUNG_EVENT_COLUMN_ID,     /* text, of rows with that flag */
    RUNG_EVENT_COLUMN_META,   /* text, of rows with that flag */
    RUNG_EVENT_COLUMN_RESULT, /* format as above, then values; of rows with that flag */
    RUNG_EVENT_COLUMN_RULE,   /* byte, of rows with that flag */
    RUNG_EVENT_COLUMNS,
};

/* Zero with an allocator is an empty one. */
typedef struct rung_event_block {
    const rung_alloc *alloc;
    uint32_t rows;
    uint64_t first_seq, last_seq;
    int64_t min_at_ms, max_at_ms, min_ts_ms, max_ts_ms;
    rung_buffer columns[RUNG_EVENT_COLUMNS];
    uint32_t board_count;
    uint32_t *boards; /* a hash table of numbers + 1, twice as large as a block may have rows */
    size_t *board_at; /* where each begins in its column */
    uint64_t format, result_format; /* of the last row */
    int64_t ts_ms;
    rung_slice last_board; /* borrowed from the column */
    uint32_t last_board_number;
} rung_event_block;

void rung_event_block_deinit(rung_event_block *b);
void rung_event_block_clear(rung_event_block *b);
/* Rows are added in order of (seq, part). RUNG_OK, RUNG_ENOMEM. `is_new_board_out` may be NULL. */
RUNG_NODISCARD rung_status rung_event_block_add(rung_event_block *b, const rung_archive_score *s,
                                                bool *is_new_board_out);
bool rung_event_block_is_full(const rung_event_block *b);

/* Buffers and a compressor, for any number of blocks. Zero with an allocator is ready. */
typedef struct rung_event_packer {
    const rung_alloc *alloc;
    rung_buffer plain, packed;
    void *zstd; /* made when first used */
} rung_event_packer;
void rung_event_packer_deinit(rung_event_packer *p);
RUNG_NODISCARD rung_status rung_event_block_pack(const rung_event_block *b, rung_event_packer *p,
                                                 rung_slice *out, rung_err *err);

/* Zero with an allocator is ready; may open any number of blocks, one after the other. */
typedef struct rung_event_reader {
    const rung_alloc *alloc;
    rung_buffer plain;
    void *zstd;
    uint32_t version;
    uint32_t rows, done;
    rung_byte_reader columns[RUNG_EVENT_COLUMNS];
    uint32_t board_count;
    rung_slice *boards;
    uint32_t boards_room;
    uint64_t seq, format, result_format;
    int64_t ts_ms;
} rung_event_reader;
void rung_event_reader_deinit(rung_event_reader *r);
/* RUNG_OK, RUNG_ECORRUPT, RUNG_EVERSION, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_event_block_open(rung_event_reader *r, rung_slice bytes,
                                                 rung_err *err);
/* The next row; its texts are valid until the next open. RUNG_NOT_FOUND: there are no more. RUNG_ECORRUPT. */
RUNG_NODISCARD rung_status rung_event_block_next(rung_event_reader *r, rung_archive_score *out,
                                                 rung_err *err);

/* How types, decimals and the number of values are written in one number: docs/formats/archive.md, "Scores". */
uint32_t rung_score_format_of(const rung_archive_values *v);
/* false: it is not one. Values are left alone. */
bool rung_score_format_read(uint64_t format, rung_archive_values *v);

#endif
