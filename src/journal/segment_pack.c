/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a packed segment:
 *
 *     header 64 | block | block | ... | index, 16 bytes for each block | trailer 64
 *
 *   P1 Block 0 is the segment's header, the last block its footer, and those between are of BLOCK_SIZE plain bytes
 *      except the last of them. So the block of an offset is computed, not searched for.
 *   P2 Header, index, trailer and every block have a CRC, there are no other bytes, and lengths are used only after
 *      the CRC over them was checked.
 *   P3 The file gets its name only when it is complete and synced, and was read back and compared with the plain one
 *      (block by block): it replaces the only copy of the log. */
#include "journal/segment_pack.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/worker.h"
#include "journal/segment.h"

#include <string.h>
#include <zstd.h>

#define MAGIC        "RUNGPACK"
#define END_MAGIC    "RUNGPEND"
#define VERSION      1u
#define HEADER_SIZE  64u
#define TRAILER_SIZE 64u
#define ENTRY_SIZE   16u
#define TEMPORARY    "pack.tmp"
#ifdef RUNG_TEST_BUILD
#define BLOCK_SIZE ((size_t)1 << 12)
#else
#define BLOCK_SIZE ((size_t)1 << 18) /* a reader unpacks this much to get at one record */
#endif
#define BLOCK_SIZE_MAX ((size_t)1 << 22) /* that a reader accepts */
#define LEVEL          3
/* The log's own syncs wait behind this one's: many short waits instead of one for the whole file. */
#define SYNC_EVERY ((uint64_t)1 << 20)

typedef struct block {
    uint64_t at;   /* in the file */
    uint32_t size; /* there */
    uint32_t plain;
    uint32_t crc; /* of the packed bytes */
} block;

typedef struct layout {
    uint8_t uuid[RUNG_UUID_SIZE];
    uint64_t plain_size;
    uint32_t block_count, block_size;
} layout;

struct rung_segment_packed {
    const rung_alloc *alloc;
    const rung_file *file;
    layout layout;
    block *blocks;
    ZSTD_DCtx *zstd;
    uint8_t *plain;       /* the last block read */
    uint32_t plain_block; /* its number; UINT32_MAX: none */
    uint8_t *scratch;     /* packed bytes of a block */
    size_t plain_room, scratch_size;
};

/* ---- blocks (P1) ---- */

static uint64_t records_size(const layout *l) {
    return l->plain_size - RUNG_SEGMENT_HEADER_SIZE - RUNG_SEGMENT_FOOTER_SIZE;
}

static uint32_t count_blocks(const layout *l) {
    return 2 + (uint32_t)((records_size(l) + l->block_size - 1) / l->block_size);
}

static uint64_t plain_start(const layout *l, uint32_t i) {
    if (i == 0)
        return 0;
    if (i + 1 == l->block_count)
        return l->plain_size - RUNG_SEGMENT_FOOTER_SIZE;
    return RUNG_SEGMENT_HEADER_SIZE + (uint64_t)(i - 1) * l->block_size;
}

static uint32_t plain_length(const layout *l, uint32_t i) {
    uint64_t end = i + 1 == l->block_count ? l->plain_size : plain_start(l, i + 1);
    return (uint32_t)(end - plain_start(l, i));
}

static uint32_t block_of(const layout *l, uint64_t offset) {
    if (offset < RUNG_SEGMENT_HEADER_SIZE)
        return 0;
    if (offset >= l->plain_size - RUNG_SEGMENT_FOOTER_SIZE)
        return l->block_count - 1;
    return 1 + (uint32_t)((offset - RUNG_SEGMENT_HEADER_SIZE) / l->block_size);
}

/* ---- header, index, trailer ---- */

static void encode_header(const layout *l, uint8_t out[HEADER_SIZE]) {
    rung__block_begin(out, HEADER_SIZE, MAGIC, VERSION, l->uuid);
    rung_put64(out + 32, l->plain_size);
    rung_put32(out + 40, l->block_count);
    rung_put32(out + 44, l->block_size);
    rung__block_end(out, HEADER_SIZE);
}

static void encode_index(const layout *l, const block *blocks, uint8_t *out) {
    for (uint32_t i = 0; i < l->block_count; i++, out += ENTRY_SIZE) {
        rung_put32(out, blocks[i].size);
        rung_put32(out + 4, blocks[i].plain);
        rung_put32(out + 8, blocks[i].crc);
        rung_put32(out + 12, 0);
    }
}

static void encode_trailer(const layout *l, uint64_t index_at, uint32_t index_crc,
                           uint8_t out[TRAILER_SIZE]) {
    rung__block_begin(out, TRAILER_SIZE, END_MAGIC, VERSION, l->uuid);
    rung_put64(out + 32, index_at);
    rung_put32(out + 40, index_crc);
    rung__block_end(out, TRAILER_SIZE);
}

static rung_status damage(const rung_file *file, uint64_t offset, const char *what, rung_err *err) {
    return RUNG_FAIL(err, RUNG_ECORRUPT, "packed segment %s, offset %llu: %s", file->name,
                     (unsigned long long)offset, what);
}

static bool is_block(const uint8_t *bytes, size_t size, const char *magic) {
    return memcmp(bytes, magic, 8) == 0 && rung_get32(bytes + 12) == rung__block_crc(bytes, size);
}

/* RUNG_NOT_FOUND: a plain segment, or something else that its reader will judge. */
static rung_status read_header(const rung_file *file, layout *l, rung_err *err) {
    uint8_t bytes[HEADER_SIZE];
    size_t got;
    rung_status st = rung_file_read(file, bytes, sizeof bytes, 0, &got, err);
    if (st < 0)
        return st;
    if (got < sizeof bytes || memcmp(bytes, MAGIC, 8) != 0)
        return RUNG_NOT_FOUND;
    if (!is_block(bytes, sizeof bytes, MAGIC))
        return damage(file, 0, "the header does not match its checksum", err);
    if (rung_get32(bytes + 8) != VERSION)
        return RUNG_FAIL(err, RUNG_EVERSION, "segment %s was packed by a newer version",
                         file->name);
    memcpy(l->uuid, bytes + 16, sizeof l->uuid);
    l->plain_size = rung_get64(bytes + 32);
    l->block_count = rung_get32(bytes + 40);
    l->block_size = rung_get32(bytes + 44);
    bool is_sane = l->plain_size >= RUNG_SEGMENT_HEADER_SIZE + RUNG_SEGMENT_FOOTER_SIZE &&
                   l->plain_size <= RUNG_SEGMENT_SIZE_MAX && l->block_size > 0 &&
                   l->block_size <= BLOCK_SIZE_MAX && l->block_count == count_blocks(l);
    return is_sane ? RUNG_OK : damage(file, 0, "the header contradicts itself", err);
}

/* The blocks must fill the file exactly from header to index (P2). */
static rung_status take_index(rung_segment_packed *p, const uint8_t *index, uint64_t index_at,
                              rung_err *err) {
    const layout *l = &p->layout;
    uint64_t at = HEADER_SIZE;
    for (uint32_t i = 0; i < l->block_count; i++, index += ENTRY_SIZE) {
        block *b = &p->blocks[i];
        *b = (block){at, rung_get32(index), rung_get32(index + 4), rung_get32(index + 8)};
        if (b->plain != plain_length(l, i) || b->size == 0 ||
            b->size > ZSTD_compressBound(b->plain) || rung_get32(index + 12) != 0)
            return damage(p->file, index_at, "the index contradicts the header", err);
        at += b->size;
        p->plain_room = b->plain > p->plain_room ? b->plain : p->plain_room;
        p->scratch_size = b->size > p->scratch_size ? b->size : p->scratch_size;
    }
    return at == index_at ? RUNG_OK
                          : damage(p->file, index_at, "the blocks do not end at the index", err);
}

static rung_status read_index(rung_segment_packed *p, rung_err *err) {
    const layout *l = &p->layout;
    uint8_t trailer[TRAILER_SIZE];
    uint64_t size, index_size = (uint64_t)l->block_count * ENTRY_SIZE;
    size_t got;
    rung_status st = rung_file_size(p->file, &size, err);
    if (st < 0)
        return st;
    if (size < HEADER_SIZE + index_size + TRAILER_SIZE)
        return damage(p->file, size, "the file ends too soon", err);
    uint64_t index_at = size - TRAILER_SIZE - index_size;
    st = rung_file_read(p->file, trailer, sizeof trailer, size - sizeof trailer, &got, err);
    if (st < 0)
        return st;
    if (got < sizeof trailer || !is_block(trailer, sizeof trailer, END_MAGIC) ||
        memcmp(trailer + 16, l->uuid, sizeof l->uuid) != 0 || rung_get64(trailer + 32) != index_at)
        return damage(p->file, size - sizeof trailer, "the trailer is damaged", err);
    uint8_t *index = rung_alloc_get(p->alloc, (size_t)index_size);
    if (!index)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the index of %s", p->file->name);
    st = rung_file_read(p->file, index, (size_t)index_size, index_at, &got, err);
    if (st == RUNG_OK &&
        (got < index_size || rung_crc32c(0, index, (size_t)index_size) != rung_get32(trailer + 40)))
        st = damage(p->file, index_at, "the index does not match its checksum", err);
    if (st == RUNG_OK)
        st = take_index(p, index, index_at, err);
    rung_alloc_free(p->alloc, index, (size_t)index_size);
    return st;
}

/* ---- reading ---- */

rung_status rung_segment_packed_open(rung_segment_packed **packed_out, const rung_alloc *alloc,
                                     const rung_file *file, rung_err *err) {
    layout l;
    rung_status st = read_header(file, &l, err);
    if (st != RUNG_OK)
        return st;
    rung_segment_packed *p = rung_alloc_zeroed(alloc, sizeof *p);
    if (!p)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to read segment %s", file->name);
    *p =
        (rung_segment_packed){.alloc = alloc, .file = file, .layout = l, .plain_block = UINT32_MAX};
    p->blocks = rung_alloc_get(alloc, l.block_count * sizeof *p->blocks);
    p->zstd = ZSTD_createDCtx();
    st = p->blocks && p->zstd ? read_index(p, err) : RUNG_ENOMEM;
    if (st == RUNG_OK) {
        p->plain = rung_alloc_get(alloc, p->plain_room);
        p->scratch = rung_alloc_get(alloc, p->scratch_size);
        st = p->plain && p->scratch ? RUNG_OK : RUNG_ENOMEM;
    }
    if (st < 0) {
        rung_segment_packed_close(p);
        return st == RUNG_ENOMEM ? RUNG_FAIL(err, st, "no memory to read segment %s", file->name)
                                 : st;
    }
    *packed_out = p;
    return RUNG_OK;
}

void rung_segment_packed_close(rung_segment_packed *p) {
    if (!p)
        return;
    const rung_alloc *a = p->alloc;
    ZSTD_freeDCtx(p->zstd);
    rung_alloc_free(a, p->scratch, p->scratch ? p->scratch_size : 0);
    rung_alloc_free(a, p->plain, p->plain ? p->plain_room : 0);
    rung_alloc_free(a, p->blocks, p->blocks ? p->layout.block_count * sizeof *p->blocks : 0);
    rung_alloc_free(a, p, sizeof *p);
}

uint64_t rung_segment_packed_plain_size(const rung_segment_packed *p) {
    return p->layout.plain_size;
}

static rung_status load_block(rung_segment_packed *p, uint32_t i, rung_err *err) {
    const block *b = &p->blocks[i];
    size_t got;
    if (p->plain_block == i)
        return RUNG_OK;
    p->plain_block = UINT32_MAX;
    rung_status st = rung_file_read(p->file, p->scratch, b->size, b->at, &got, err);
    if (st < 0)
        return st;
    if (got < b->size || rung_crc32c(0, p->scratch, b->size) != b->crc)
        return damage(p->file, b->at, "the block does not match its checksum", err);
    size_t size = ZSTD_decompressDCtx(p->zstd, p->plain, b->plain, p->scratch, b->size);
    if (ZSTD_isError(size) || size != b->plain)
        return damage(p->file, b->at, "the block cannot be decompressed", err);
    p->plain_block = i;
    return RUNG_OK;
}

rung_status rung_segment_packed_read(rung_segment_packed *p, void *buffer, size_t len,
                                     uint64_t offset, size_t *got_out, rung_err *err) {
    const layout *l = &p->layout;
    uint64_t left = offset < l->plain_size ? l->plain_size - offset : 0;
    uint8_t *out = buffer;
    len = left < len ? (size_t)left : len;
    *got_out = 0;
    while (len > 0) {
        uint32_t i = block_of(l, offset);
        rung_status st = load_block(p, i, err);
        if (st < 0)
            return *got_out ? RUNG_OK : st; /* what is before a damaged block can be read */
        size_t at = (size_t)(offset - plain_start(l, i)), n = p->blocks[i].plain - at;
        n = n < len ? n : len;
        memcpy(out, p->plain + at, n);
        out += n;
        *got_out += n;
        offset += n;
        len -= n;
    }
    return RUNG_OK;
}

/* ---- packing ---- */

typedef struct packer {
    const rung_alloc *alloc;
    const rung_file *from;
    rung_file to;
    layout layout;
    block *blocks;
    ZSTD_CCtx *zstd;
    uint8_t *plain, *packed;
    size_t plain_room, packed_size;
    uint64_t end; /* of the file so far */
    uint64_t synced;
    bool gives_way;
} packer;

/* A sealed segment ends with a footer that fits its header. RUNG_UNCHANGED: a crash left zeros behind the footer, or it
 * is not sealed; it stays as it is. */
static rung_status measure(packer *k, rung_err *err) {
    uint8_t header[RUNG_SEGMENT_HEADER_SIZE], bytes[RUNG_SEGMENT_FOOTER_SIZE];
    rung_segment_header h;
    rung_segment_footer f;
    uint64_t size;
    size_t got;
    rung_status st = rung_file_size(k->from, &size, err);
    if (st == RUNG_OK)
        st = rung_file_read(k->from, header, sizeof header, 0, &got, err);
    if (st < 0)
        return st;
    k->layout.plain_size = size;
    if (got < sizeof header || rung_segment_header_decode(header, &h) < 0 || size < sizeof bytes)
        return damage(k->from, 0, "not a segment", err);
    st = rung_file_read(k->from, bytes, sizeof bytes, size - sizeof bytes, &got, err);
    if (st < 0)
        return st;
    if (got == sizeof bytes && rung_is_zero(bytes, got))
        return RUNG_UNCHANGED;
    if (got < sizeof bytes || rung_segment_footer_decode(bytes, &f) < 0 ||
        f.offset != size - sizeof bytes || f.offset < sizeof header || f.epoch != h.epoch ||
        f.first_seq != h.first_seq || memcmp(f.uuid, h.uuid, sizeof h.uuid) != 0)
        return damage(k->from, size, "the segment does not end with its footer", err);
    memcpy(k->layout.uuid, h.uuid, sizeof h.uuid);
    k->layout.block_size = BLOCK_SIZE;
    k->layout.block_count = count_blocks(&k->layout);
    return RUNG_OK;
}

static rung_status prepare(packer *k, rung_err *err) {
    k->plain_room = BLOCK_SIZE > RUNG_SEGMENT_HEADER_SIZE ? BLOCK_SIZE : RUNG_SEGMENT_HEADER_SIZE;
    k->packed_size = ZSTD_compressBound(k->plain_room);
    k->blocks = rung_alloc_get(k->alloc, k->layout.block_count * sizeof *k->blocks);
    k->plain = rung_alloc_get(k->alloc, k->plain_room);
    k->packed = rung_alloc_get(k->alloc, k->packed_size);
    k->zstd = ZSTD_createCCtx();
    if (k->blocks && k->plain && k->packed && k->zstd)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to pack segment %s", k->from->name);
}

static void release(packer *k) {
    const rung_alloc *a = k->alloc;
    ZSTD_freeCCtx(k->zstd);
    rung_alloc_free(a, k->packed, k->packed ? k->packed_size : 0);
    rung_alloc_free(a, k->plain, k->plain ? k->plain_room : 0);
    rung_alloc_free(a, k->blocks, k->blocks ? k->layout.block_count * sizeof *k->blocks : 0);
    rung_file_close(&k->to);
}

static rung_status read_plain(const packer *k, uint32_t i, rung_err *err) {
    size_t got;
    rung_status st = rung_file_read(k->from, k->plain, plain_length(&k->layout, i),
                                    plain_start(&k->layout, i), &got, err);
    if (st == RUNG_OK && got < plain_length(&k->layout, i))
        return damage(k->from, plain_start(&k->layout, i), "the file became shorter", err);
    return st;
}

static rung_status put(packer *k, const void *bytes, size_t len, rung_err *err) {
    rung_status st = rung_file_write(&k->to, bytes, len, k->end, err);
    k->end += len;
    if (st == RUNG_OK && k->end - k->synced >= SYNC_EVERY) {
        k->synced = k->end;
        st = rung_file_sync(&k->to, err);
    }
    return st;
}

static rung_status pack_block(packer *k, uint32_t i, rung_err *err) {
    rung_status st = read_plain(k, i, err);
    if (st < 0)
        return st;
    uint32_t plain = plain_length(&k->layout, i);
    if (k->gives_way)
        rung_thread_set_idle(true);
    size_t size = ZSTD_compressCCtx(k->zstd, k->packed, k->packed_size, k->plain, plain, LEVEL);
    if (k->gives_way)
        rung_thread_set_idle(false);
    if (ZSTD_isError(size))
        return RUNG_FAIL(err, RUNG_ENOMEM, "segment %s cannot be packed: %s", k->from->name,
                         ZSTD_getErrorName(size));
    k->blocks[i] = (block){k->end, (uint32_t)size, plain, rung_crc32c(0, k->packed, size)};
    return put(k, k->packed, size, err);
}

static rung_status put_index(packer *k, rung_err *err) {
    uint8_t trailer[TRAILER_SIZE];
    size_t size = (size_t)k->layout.block_count * ENTRY_SIZE;
    uint8_t *index = rung_alloc_get(k->alloc, size);
    if (!index)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to pack segment %s", k->from->name);
    encode_index(&k->layout, k->blocks, index);
    encode_trailer(&k->layout, k->end, rung_crc32c(0, index, size), trailer);
    rung_status st = put(k, index, size, err);
    rung_alloc_free(k->alloc, index, size);
    return st == RUNG_OK ? put(k, trailer, sizeof trailer, err) : st;
}

static rung_status write_all(packer *k, rung_err *err) {
    uint8_t header[HEADER_SIZE];
    encode_header(&k->layout, header);
    rung_status st = put(k, header, sizeof header, err);
    for (uint32_t i = 0; st == RUNG_OK && i < k->layout.block_count; i++)
        st = pack_block(k, i, err);
    return st == RUNG_OK ? put_index(k, err) : st;
}

/* P3. */
static rung_status compare(packer *k, rung_err *err) {
    rung_segment_packed *p = NULL;
    rung_status st = rung_segment_packed_open(&p, k->alloc, &k->to, err);
    if (st == RUNG_NOT_FOUND)
        return damage(&k->to, 0, "what was written cannot be read back", err);
    for (uint32_t i = 0; st == RUNG_OK && i < k->layout.block_count; i++) {
        st = read_plain(k, i, err);
        if (st == RUNG_OK)
            st = load_block(p, i, err);
        if (st == RUNG_OK && memcmp(p->plain, k->plain, plain_length(&k->layout, i)) != 0)
            st = damage(&k->to, p->blocks[i].at, "what was written reads differently", err);
    }
    rung_segment_packed_close(p);
    return st;
}

static rung_status replace(packer *k, const rung_dir *dir, const char *name, rung_err *err) {
    rung_status st = write_all(k, err);
    if (st == RUNG_OK && k->end >= k->layout.plain_size)
        return RUNG_UNCHANGED;
    if (st == RUNG_OK)
        st = compare(k, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&k->to, err);
    if (st == RUNG_OK)
        st = rung_dir_rename(dir, TEMPORARY, name, err);
    return st == RUNG_OK ? rung_dir_sync(dir, err) : st;
}

static rung_status pack_file(packer *k, const rung_dir *dir, const char *name, uint64_t *size_out,
                             rung_err *err) {
    rung_status st = measure(k, err);
    *size_out = k->layout.plain_size;
    if (st == RUNG_OK)
        st = prepare(k, err);
    if (st == RUNG_OK)
        st = rung_file_open_empty(&k->to, dir, TEMPORARY, err);
    if (st == RUNG_OK)
        st = replace(k, dir, name, err);
    if (st == RUNG_OK)
        *size_out = k->end;
    else if (rung_file_is_open(&k->to))
        rung_ignore(rung_dir_unlink(dir, TEMPORARY, NULL), "the next one overwrites it");
    return st;
}

rung_status rung_segment_pack(const rung_dir *dir, const rung_alloc *alloc, const char *name,
                              bool gives_way, uint64_t *size_out, rung_err *err) {
    rung_file from;
    layout l;
    rung_status st = rung_file_open(&from, dir, name, RUNG_FILE_READ, err);
    if (st != RUNG_OK)
        return st;
    packer k = {.alloc = alloc, .from = &from, .gives_way = gives_way};
    st = read_header(&from, &l, err);
    if (st == RUNG_OK) {
        st = rung_file_size(&from, size_out, err);
        st = st < 0 ? st : RUNG_UNCHANGED;
    } else if (st == RUNG_NOT_FOUND) {
        st = pack_file(&k, dir, name, size_out, err);
    }
    release(&k);
    rung_file_close(&from);
    return st;
}
