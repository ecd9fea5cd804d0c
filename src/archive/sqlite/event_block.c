/* SPDX-License-Identifier: Apache-2.0 */
/* A block is a header of HEADER_SIZE bytes and a zstd frame. The frame has the length of each column, as numbers, and
 * then the columns. The checksum covers the rest of the header and the frame. */
#include "archive/sqlite/event_block.h"

#include "base/hash.h"
#include "model/zcommand.h"

#include <string.h>
#include <zstd.h>

#define MAGIC        "REVB"
#define VERSION      2u
#define HEADER_SIZE  20u /* magic, version 2, zero 2, crc 4, rows 4, plain bytes 4 */
#define CRC_AT       8u
#define LEVEL        1
#define COMMAND_BITS 5 /* in version 1: 4 */
#define BOARD_SLOTS  (2 * RUNG_EVENT_BLOCK_ROWS_MAX)

enum {
    IS_DELTA = 1,
    IS_REMOVAL = 2,
    HAS_AT = 4,
    HAS_ID = 8,
    HAS_META = 16,
    HAS_RESULT = 32,
    HAS_RULE = 64,
    HAS_PART = 128,
};

/* ---- formats of scores ---- */

uint32_t rung_score_format_of(const rung_archive_values *v) {
    uint32_t format = v->count << 24;
    for (uint32_t k = 0; k < v->count; k++)
        format |= (uint32_t)(v->types[k] | v->decimals[k] << 4) << (8 * k);
    return format;
}

bool rung_score_format_read(uint64_t format, rung_archive_values *v) {
    v->count = (uint32_t)(format >> 24);
    if (format > UINT32_MAX || v->count > RUNG_COLUMNS_MAX)
        return false;
    for (uint32_t k = 0; k < RUNG_COLUMNS_MAX; k++) {
        uint32_t byte = (uint32_t)(format >> (8 * k)) & 0xff;
        if (k >= v->count ? byte != 0 : (byte & 15) > RUNG_SCORE_REAL)
            return false;
        v->types[k] = (uint8_t)(byte & 15);
        v->decimals[k] = (uint8_t)(byte >> 4);
    }
    return true;
}

/* ---- writing ---- */

void rung_event_block_deinit(rung_event_block *b) {
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        rung_buffer_deinit(&b->columns[i]);
    if (b->boards)
        rung_alloc_free(b->alloc, b->boards, BOARD_SLOTS * sizeof *b->boards);
    if (b->board_at)
        rung_alloc_free(b->alloc, b->board_at, RUNG_EVENT_BLOCK_ROWS_MAX * sizeof *b->board_at);
    *b = (rung_event_block){.alloc = b->alloc};
}

void rung_event_block_clear(rung_event_block *b) {
    if (b->board_count)
        memset(b->boards, 0, BOARD_SLOTS * sizeof *b->boards);
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++) {
        b->columns[i].alloc = b->alloc;
        rung_buffer_reset(&b->columns[i], RUNG_EVENT_BLOCK_BYTES);
        b->columns[i].is_failed = false;
    }
    b->rows = b->board_count = 0;
    b->format = b->result_format = 0;
    b->last_board = (rung_slice){0};
}

bool rung_event_block_is_full(const rung_event_block *b) {
    size_t size = 0;
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        size += b->columns[i].len;
    return b->rows >= RUNG_EVENT_BLOCK_ROWS || size >= RUNG_EVENT_BLOCK_BYTES;
}

static void put_number(rung_event_block *b, int column, uint64_t number) {
    rung_buffer *c = &b->columns[column];
    if (rung_buffer_reserve(c, RUNG_NUMBER_BYTES_MAX))
        c->len =
            (size_t)(rung_encode_number((uint8_t *)c->data + c->len, number) - (uint8_t *)c->data);
}

static void put_byte(rung_event_block *b, int column, int byte) {
    rung_buffer *c = &b->columns[column];
    if (rung_buffer_reserve(c, 1))
        c->data[c->len++] = (char)byte;
}

static void put_text(rung_event_block *b, int column, rung_slice text) {
    rung_buffer *c = &b->columns[column];
    if (rung_buffer_reserve(c, RUNG_NUMBER_BYTES_MAX + text.len))
        c->len = (size_t)(rung_encode_text((uint8_t *)c->data + c->len, text) - (uint8_t *)c->data);
}

static void put_values(rung_event_block *b, int column, const rung_archive_values *v) {
    uint8_t real[sizeof(double)];
    for (uint32_t k = 0; k < v->count; k++)
        if (v->types[k] == RUNG_SCORE_REAL) {
            rung_encode_real(real, v->values[k].d);
            rung_buffer_put(&b->columns[column], real, sizeof real);
        } else {
            put_number(b, column, rung_zigzag(v->values[k].i));
        }
}

static void put_format(rung_event_block *b, int column, const rung_archive_values *v,
                       uint64_t *last) {
    uint64_t format = (uint64_t)rung_score_format_of(v) + 1;
    put_number(b, column, format == *last ? 0 : format);
    *last = format;
}

static rung_slice board_at(const rung_event_block *b, uint32_t number) {
    const rung_buffer *c = &b->columns[RUNG_EVENT_COLUMN_BOARDS];
    rung_byte_reader r = rung_byte_reader_of(
        rung_slice_of(c->data + b->board_at[number], c->len - b->board_at[number]));
    return rung_get_text(&r);
}

/* The number of a board in this block; a new one gets the next. */
static bool number_board(rung_event_block *b, rung_slice board, uint32_t *number_out) {
    uint32_t mask = BOARD_SLOTS - 1;
    uint32_t slot = rung_crc32c(0, board.ptr, board.len) & mask;
    for (; b->boards[slot]; slot = (slot + 1) & mask)
        if (rung_slice_eq(board_at(b, b->boards[slot] - 1), board)) {
            *number_out = b->boards[slot] - 1;
            return false;
        }
    *number_out = b->board_count++;
    b->boards[slot] = b->board_count;
    b->board_at[*number_out] = b->columns[RUNG_EVENT_COLUMN_BOARDS].len;
    put_text(b, RUNG_EVENT_COLUMN_BOARDS, board);
    return true;
}

static bool make_tables(rung_event_block *b) {
    if (!b->boards)
        b->boards = rung_alloc_zeroed(b->alloc, BOARD_SLOTS * sizeof *b->boards);
    if (!b->board_at)
        b->board_at = rung_alloc_get(b->alloc, RUNG_EVENT_BLOCK_ROWS_MAX * sizeof *b->board_at);
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        b->columns[i].alloc = b->alloc;
    return b->boards && b->board_at;
}

static void put_board(rung_event_block *b, rung_slice board, bool *is_new_out) {
    bool is_new = false;
    if (!b->last_board.len || !rung_slice_eq(b->last_board, board)) {
        is_new = number_board(b, board, &b->last_board_number);
        if (!b->columns[RUNG_EVENT_COLUMN_BOARDS].is_failed)
            b->last_board = board_at(b, b->last_board_number);
    }
    if (is_new) /* the column may have moved */
        b->last_board = (rung_slice){0};
    put_number(b, RUNG_EVENT_COLUMN_BOARD, b->last_board_number);
    if (is_new_out)
        *is_new_out = is_new;
}

static int flags_of(const rung_archive_score *s) {
    return (s->is_delta ? IS_DELTA : 0) | (s->is_removal ? IS_REMOVAL : 0) |
           (s->has_at ? HAS_AT : 0) | (s->id.len ? HAS_ID : 0) | (s->meta.len ? HAS_META : 0) |
           (s->has_result ? HAS_RESULT : 0) | (s->rule ? HAS_RULE : 0) | (s->part ? HAS_PART : 0);
}

static void put_rare(rung_event_block *b, const rung_archive_score *s, int flags) {
    if (flags & HAS_PART)
        put_number(b, RUNG_EVENT_COLUMN_PART, (uint64_t)s->part << COMMAND_BITS | s->command);
    if (flags & HAS_ID)
        put_text(b, RUNG_EVENT_COLUMN_ID, s->id);
    if (flags & HAS_META)
        put_text(b, RUNG_EVENT_COLUMN_META, s->meta);
    if (flags & HAS_RESULT) {
        put_format(b, RUNG_EVENT_COLUMN_RESULT, &s->result, &b->result_format);
        put_values(b, RUNG_EVENT_COLUMN_RESULT, &s->result);
    }
    if (flags & HAS_RULE)
        put_byte(b, RUNG_EVENT_COLUMN_RULE, (int)s->rule);
}

static void widen(int64_t *min, int64_t *max, int64_t value, bool is_first) {
    *min = is_first || value < *min ? value : *min;
    *max = is_first || value > *max ? value : *max;
}

rung_status rung_event_block_add(rung_event_block *b, const rung_archive_score *s,
                                 bool *is_new_board_out) {
    bool is_first = b->rows == 0, is_failed = false;
    if (!make_tables(b))
        return RUNG_ENOMEM;
    int flags = flags_of(s);
    put_number(b, RUNG_EVENT_COLUMN_SEQ, is_first ? s->seq : s->seq - b->last_seq);
    put_byte(b, RUNG_EVENT_COLUMN_FLAGS, flags);
    put_board(b, s->board, is_new_board_out);
    put_text(b, RUNG_EVENT_COLUMN_PLAYER, s->player);
    put_byte(b, RUNG_EVENT_COLUMN_STATUS, s->status);
    put_format(b, RUNG_EVENT_COLUMN_FORMAT, &s->values, &b->format);
    put_values(b, RUNG_EVENT_COLUMN_VALUES, &s->values);
    uint64_t since = is_first ? (uint64_t)s->ts_ms : (uint64_t)s->ts_ms - (uint64_t)b->ts_ms;
    put_number(b, RUNG_EVENT_COLUMN_TS, rung_zigzag((int64_t)since));
    put_number(b, RUNG_EVENT_COLUMN_AT,
               rung_zigzag((int64_t)((uint64_t)s->at_ms - (uint64_t)s->ts_ms)));
    put_rare(b, s, flags);
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        is_failed |= b->columns[i].is_failed;
    if (is_failed)
        return RUNG_ENOMEM;
    if (is_first)
        b->first_seq = s->seq;
    b->last_seq = s->seq;
    b->ts_ms = s->ts_ms;
    widen(&b->min_at_ms, &b->max_at_ms, s->at_ms, is_first);
    widen(&b->min_ts_ms, &b->max_ts_ms, s->ts_ms, is_first);
    b->rows++;
    return RUNG_OK;
}

/* ---- packing ---- */

void rung_event_packer_deinit(rung_event_packer *p) {
    rung_buffer_deinit(&p->plain);
    rung_buffer_deinit(&p->packed);
    ZSTD_freeCCtx(p->zstd);
    *p = (rung_event_packer){.alloc = p->alloc};
}

static void join_columns(const rung_event_block *b, rung_buffer *plain) {
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        if (rung_buffer_reserve(plain, RUNG_NUMBER_BYTES_MAX))
            plain->len = (size_t)(rung_encode_number((uint8_t *)plain->data + plain->len,
                                                     b->columns[i].len) -
                                  (uint8_t *)plain->data);
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        rung_buffer_put(plain, b->columns[i].data, b->columns[i].len);
}

static void finish_header(uint8_t *h, uint32_t rows, size_t plain, size_t size) {
    memcpy(h, MAGIC, 4);
    rung_put16(h + 4, VERSION);
    rung_put16(h + 6, 0);
    rung_put32(h + CRC_AT, 0);
    rung_put32(h + 12, rows);
    rung_put32(h + 16, (uint32_t)plain);
    rung_put32(h + CRC_AT, rung_crc32c(0, h, size));
}

rung_status rung_event_block_pack(const rung_event_block *b, rung_event_packer *p, rung_slice *out,
                                  rung_err *err) {
    p->plain.alloc = p->packed.alloc = p->alloc;
    rung_buffer_reset(&p->plain, RUNG_EVENT_BLOCK_BYTES_MAX);
    rung_buffer_reset(&p->packed, RUNG_EVENT_BLOCK_BYTES_MAX);
    if (!p->zstd)
        p->zstd = ZSTD_createCCtx();
    join_columns(b, &p->plain);
    size_t bound = ZSTD_compressBound(p->plain.len);
    if (!p->zstd || p->plain.is_failed || !rung_buffer_reserve(&p->packed, HEADER_SIZE + bound))
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    size_t n = ZSTD_compressCCtx(p->zstd, p->packed.data + HEADER_SIZE, bound, p->plain.data,
                                 p->plain.len, LEVEL);
    if (ZSTD_isError(n))
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: events cannot be compressed: %s",
                         ZSTD_getErrorName(n));
    p->packed.len = HEADER_SIZE + n;
    finish_header((uint8_t *)p->packed.data, b->rows, p->plain.len, p->packed.len);
    *out = rung_buffer_slice(&p->packed);
    return RUNG_OK;
}

/* ---- reading ---- */

static rung_status damaged(rung_err *err, const char *what) {
    return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: a block of events is damaged: %s", what);
}

void rung_event_reader_deinit(rung_event_reader *r) {
    rung_buffer_deinit(&r->plain);
    ZSTD_freeDCtx(r->zstd);
    if (r->boards)
        rung_alloc_free(r->alloc, r->boards, r->boards_room * sizeof *r->boards);
    *r = (rung_event_reader){.alloc = r->alloc};
}

/* The checksum is computed with zeros in its own place. */
static bool is_intact(const uint8_t *h, size_t size) {
    static const uint8_t zero[4];
    uint32_t crc = rung_crc32c(0, h, CRC_AT);
    crc = rung_crc32c(crc, zero, sizeof zero);
    crc = rung_crc32c(crc, h + CRC_AT + 4, size - CRC_AT - 4);
    return crc == rung_get32(h + CRC_AT);
}

static rung_status check_header(rung_slice bytes, rung_err *err) {
    const uint8_t *h = (const uint8_t *)bytes.ptr;
    if (bytes.len <= HEADER_SIZE || memcmp(h, MAGIC, 4) != 0)
        return damaged(err, "it is not one");
    if (!is_intact(h, bytes.len))
        return damaged(err, "its checksum is wrong");
    if (rung_get16(h + 4) < 1 || rung_get16(h + 4) > VERSION || rung_get16(h + 6) != 0)
        return RUNG_FAIL(err, RUNG_EVERSION, "archive: a block of events has version %u",
                         (unsigned)rung_get16(h + 4));
    uint32_t rows = rung_get32(h + 12), plain = rung_get32(h + 16);
    if (rows == 0 || rows > RUNG_EVENT_BLOCK_ROWS_MAX || plain > RUNG_EVENT_BLOCK_BYTES_MAX)
        return damaged(err, "its size is impossible");
    return RUNG_OK;
}

static rung_status unpack(rung_event_reader *r, rung_slice bytes, rung_err *err) {
    size_t size = rung_get32((const uint8_t *)bytes.ptr + 16);
    r->plain.alloc = r->alloc;
    rung_buffer_reset(&r->plain, RUNG_EVENT_BLOCK_BYTES_MAX);
    if (!r->zstd)
        r->zstd = ZSTD_createDCtx();
    if (!r->zstd || !rung_buffer_reserve(&r->plain, size + 1))
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    size_t n = ZSTD_decompressDCtx(r->zstd, r->plain.data, size, bytes.ptr + HEADER_SIZE,
                                   bytes.len - HEADER_SIZE);
    if (ZSTD_isError(n) || n != size)
        return damaged(err, "it cannot be unpacked");
    r->plain.len = size;
    return RUNG_OK;
}

static rung_status split_columns(rung_event_reader *r, rung_err *err) {
    rung_byte_reader all = rung_byte_reader_of(rung_buffer_slice(&r->plain));
    uint64_t sizes[RUNG_EVENT_COLUMNS];
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++)
        sizes[i] = rung_get_number(&all);
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++) {
        if (sizes[i] > rung_byte_reader_left(&all))
            return damaged(err, "a column ends too early");
        r->columns[i] = rung_byte_reader_of(rung_slice_of(all.at, (size_t)sizes[i]));
        all.at += sizes[i];
    }
    return all.fault || all.at != all.end ? damaged(err, "it has bytes beyond its columns")
                                          : RUNG_OK;
}

static rung_status read_boards(rung_event_reader *r, rung_err *err) {
    rung_byte_reader *c = &r->columns[RUNG_EVENT_COLUMN_BOARDS];
    for (r->board_count = 0; c->at != c->end; r->board_count++) {
        rung_slice *boards =
            rung_alloc_array(r->alloc, r->boards, &r->boards_room, r->board_count, sizeof *boards);
        if (!boards)
            return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
        r->boards = boards;
        boards[r->board_count] = rung_get_text(c);
        if (c->fault || r->board_count >= r->rows)
            return damaged(err, "its boards cannot be read");
    }
    return RUNG_OK;
}

rung_status rung_event_block_open(rung_event_reader *r, rung_slice bytes, rung_err *err) {
    r->rows = r->done = 0;
    rung_status st = check_header(bytes, err);
    if (st >= 0)
        st = unpack(r, bytes, err);
    if (st >= 0)
        st = split_columns(r, err);
    if (st < 0)
        return st;
    r->version = rung_get16((const uint8_t *)bytes.ptr + 4);
    r->rows = rung_get32((const uint8_t *)bytes.ptr + 12);
    r->seq = r->format = r->result_format = 0;
    r->ts_ms = 0;
    st = read_boards(r, err);
    if (st < 0)
        r->rows = 0;
    return st;
}

static void get_values(rung_byte_reader *c, rung_archive_values *v) {
    for (uint32_t k = 0; k < v->count; k++)
        if (v->types[k] == RUNG_SCORE_REAL)
            v->values[k].d = rung_get_real(c);
        else
            v->values[k].i = rung_get_signed(c);
}

static void get_format(rung_byte_reader *c, uint64_t *last, rung_archive_values *v) {
    uint64_t format = rung_get_number(c);
    *last = format ? format : *last;
    if (!rung_score_format_read(*last - 1, v)) { /* 0 - 1 is not one either */
        rung_byte_reader_fail(c, "a format is not known");
        v->count = 0;
    }
}

static bool is_command(uint8_t command) {
    return command <= RUNG_ZCOMMAND_SKETCH_ADD ||
           (command >= RUNG_ARCHIVE_MATCH && command < RUNG_ARCHIVE_KINDS_END);
}

static void get_part(rung_byte_reader *c, int bits, rung_archive_score *s) {
    uint64_t number = rung_get_number(c), part = number >> bits;
    uint8_t command = (uint8_t)(number & ((1u << bits) - 1));
    if (part == 0 || part > UINT32_MAX || !is_command(command)) {
        rung_byte_reader_fail(c, "a command is not known");
        return;
    }
    s->command = command;
    s->part = (uint32_t)part;
}

static void get_rare(rung_event_reader *r, int flags, rung_archive_score *s) {
    rung_byte_reader *c = r->columns;
    if (flags & HAS_PART)
        get_part(&c[RUNG_EVENT_COLUMN_PART], r->version == 1 ? 4 : COMMAND_BITS, s);
    if (flags & HAS_ID)
        s->id = rung_get_text(&c[RUNG_EVENT_COLUMN_ID]);
    if (flags & HAS_META)
        s->meta = rung_get_text(&c[RUNG_EVENT_COLUMN_META]);
    if (flags & HAS_RESULT) {
        s->has_result = true;
        get_format(&c[RUNG_EVENT_COLUMN_RESULT], &r->result_format, &s->result);
        get_values(&c[RUNG_EVENT_COLUMN_RESULT], &s->result);
    }
    if (flags & HAS_RULE) {
        uint8_t rule = rung_get_byte(&c[RUNG_EVENT_COLUMN_RULE]);
        if (rule >= RUNG_RULE_COUNT)
            rung_byte_reader_fail(&c[RUNG_EVENT_COLUMN_RULE], "a rule is not known");
        else
            s->rule = (rung_rule)rule;
    }
}

static void get_row(rung_event_reader *r, rung_archive_score *s) {
    rung_byte_reader *c = r->columns;
    int flags = rung_get_byte(&c[RUNG_EVENT_COLUMN_FLAGS]);
    r->seq += rung_get_number(&c[RUNG_EVENT_COLUMN_SEQ]);
    r->ts_ms = (int64_t)((uint64_t)r->ts_ms + (uint64_t)rung_get_signed(&c[RUNG_EVENT_COLUMN_TS]));
    *s = (rung_archive_score){.seq = r->seq,
                              .is_delta = flags & IS_DELTA,
                              .is_removal = flags & IS_REMOVAL,
                              .has_at = flags & HAS_AT,
                              .ts_ms = r->ts_ms,
                              .status = (int8_t)rung_get_byte(&c[RUNG_EVENT_COLUMN_STATUS]),
                              .player = rung_get_text(&c[RUNG_EVENT_COLUMN_PLAYER])};
    s->at_ms = (int64_t)((uint64_t)r->ts_ms + (uint64_t)rung_get_signed(&c[RUNG_EVENT_COLUMN_AT]));
    uint64_t board = rung_get_number(&c[RUNG_EVENT_COLUMN_BOARD]);
    if (board < r->board_count)
        s->board = r->boards[board];
    else
        rung_byte_reader_fail(&c[RUNG_EVENT_COLUMN_BOARD], "a board is missing");
    get_format(&c[RUNG_EVENT_COLUMN_FORMAT], &r->format, &s->values);
    get_values(&c[RUNG_EVENT_COLUMN_VALUES], &s->values);
    get_rare(r, flags, s);
}

/* After the last row every column is used up. */
static rung_status check_columns(const rung_event_reader *r, bool is_end, rung_err *err) {
    for (int i = 0; i < RUNG_EVENT_COLUMNS; i++) {
        const rung_byte_reader *c = &r->columns[i];
        if (c->fault)
            return damaged(err, c->fault);
        if (is_end && c->at != c->end)
            return damaged(err, "a column has more than the rows need");
    }
    return RUNG_OK;
}

rung_status rung_event_block_next(rung_event_reader *r, rung_archive_score *out, rung_err *err) {
    if (r->done == r->rows)
        return RUNG_NOT_FOUND;
    get_row(r, out);
    r->done++;
    rung_status st = check_columns(r, r->done == r->rows, err);
    if (st < 0)
        r->done = r->rows;
    return st;
}
