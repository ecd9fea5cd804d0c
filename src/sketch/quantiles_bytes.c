/* SPDX-License-Identifier: Apache-2.0 */
/* The rank histogram as bytes, and the merge of two.
 *
 * Saved form (numbers as in base/bytes.h):
 *   byte 1 (version), number memory_bytes, number step, number least, number
 * greatest (0 and 0 without keys), number of ranges; for each, in order: byte
 * level, number last minus the last of the one before (or 0), number count;
 *   number of buffered keys; for each, ascending: number key minus the one
 * before (or 0); 4 bytes CRC-32C of all before, little-endian. Valid: nothing
 * more, and the invariants of quantiles_table.h. */
#include "sketch/quantiles.h"

#include "base/hash.h"
#include "sketch/quantiles_table.h"

#include <string.h>

enum { VERSION = 1, CRC_BYTES = 4 };

void rung_quantiles_stream(rung_quantiles *q, rung_sketch_put *put, void *ctx) {
    enum { ITEM = 1 + 2 * RUNG_NUMBER_BYTES_MAX };
    rung_sketch_stream s;
    uint64_t before = 0;
    rung__quantiles_sort_buffer(q);
    rung_sketch_stream_begin(&s, put, ctx);
    rung_put_byte(&s.w, VERSION);
    rung_put_number(&s.w, q->memory_bytes);
    rung_put_number(&s.w, q->step);
    rung_put_number(&s.w, q->count ? q->least : 0);
    rung_put_number(&s.w, q->greatest);
    rung_put_number(&s.w, q->range_count);
    for (uint32_t i = 0; i < q->range_count; i++) {
        rung_sketch_stream_room(&s, ITEM);
        rung_put_byte(&s.w, (uint8_t)rung__range_level(q->slots[i]));
        rung_put_number(&s.w, q->slots[i].last - before);
        rung_put_number(&s.w, rung__range_count(q->slots[i]));
        before = q->slots[i].last;
    }
    before = 0;
    rung_sketch_stream_room(&s, ITEM);
    rung_put_number(&s.w, q->buffered);
    for (uint32_t i = 0; i < q->buffered; i++) {
        rung_sketch_stream_room(&s, ITEM);
        rung_put_number(&s.w, q->buffer[i] - before);
        before = q->buffer[i];
    }
    rung_sketch_stream_end(&s);
}

void rung_quantiles_save(rung_quantiles *q, rung_byte_writer *w) {
    rung_quantiles_stream(q, rung_sketch_put_writer, w);
}

static void read_ranges(rung_quantiles *q, rung_byte_reader *r) {
    uint64_t before = 0;
    uint32_t n = rung_get_count(r, q->capacity);
    for (uint32_t i = 0; i < n && !r->fault; i++) {
        uint8_t level = rung_get_byte(r);
        uint64_t gap = rung_get_number(r), count = rung_get_number(r);
        if (level > 64 || gap > UINT64_MAX - before ||
            count > RUNG_QUANTILES_COUNT_MAX - q->count) {
            rung_byte_reader_fail(r, "a range is out of bounds");
            return;
        }
        before += gap;
        q->count += count;
        q->slots[i] = rung__range_of(before, level, count);
        q->range_count = i + 1;
    }
}

static void read_buffer(rung_quantiles *q, rung_byte_reader *r) {
    uint64_t before = 0;
    uint32_t n = rung_get_count(r, q->buffer_max - 1);
    if (n > RUNG_QUANTILES_COUNT_MAX - q->count)
        rung_byte_reader_fail(r, "too many keys");
    for (uint32_t i = 0; i < n && !r->fault; i++) {
        uint64_t gap = rung_get_number(r);
        if (gap > UINT64_MAX - before)
            rung_byte_reader_fail(r, "a key is out of bounds");
        before += gap;
        q->buffer[i] = before;
        q->buffered = i + 1;
    }
    q->count += q->buffered;
}

/* What check does not see: the least and the greatest key must be possible. */
static bool has_true_span(const rung_quantiles *q) {
    uint64_t first = UINT64_MAX, last = 0;
    bool is_least_in = false, is_greatest_in = false;
    for (uint32_t i = 0; i < q->range_count; i++) {
        rung__range r = q->slots[i];
        is_least_in = is_least_in || (rung__range_first(r) <= q->least && q->least <= r.last);
        is_greatest_in =
            is_greatest_in || (rung__range_first(r) <= q->greatest && q->greatest <= r.last);
    }
    if (q->buffered) {
        first = q->buffer[0];
        last = q->buffer[q->buffered - 1];
    }
    return q->count == 0
               ? q->least == 0 && q->greatest == 0
               : (is_least_in || first == q->least) && (is_greatest_in || last == q->greatest);
}

static void read_all(rung_quantiles *q, rung_byte_reader *r) {
    q->step = rung_get_number(r);
    q->least = rung_get_number(r);
    q->greatest = rung_get_number(r);
    read_ranges(q, r);
    read_buffer(q, r);
    if (r->fault)
        return;
    if (q->step > RUNG_QUANTILES_COUNT_MAX || q->least > q->greatest || !has_true_span(q)) {
        rung_byte_reader_fail(r, "step, least or greatest key is out of bounds");
        return;
    }
    if (!q->count)
        q->least = UINT64_MAX;
    rung__quantiles_index(q);
    const char *broken = rung_quantiles_check(q);
    if (broken)
        rung_byte_reader_fail(r, broken);
}

rung_status rung_quantiles_load(const rung_alloc *alloc, rung_slice bytes, rung_quantiles **out,
                                rung_err *err) {
    if (bytes.len < CRC_BYTES || rung_get32((const uint8_t *)bytes.ptr + bytes.len - CRC_BYTES) !=
                                     rung_crc32c(0, bytes.ptr, bytes.len - CRC_BYTES))
        return RUNG_FAIL(err, RUNG_ECORRUPT, "a rank histogram fails its checksum");
    bytes.len -= CRC_BYTES;
    rung_byte_reader r = rung_byte_reader_of(bytes);
    uint8_t version = rung_get_byte(&r);
    uint64_t memory = rung_get_number(&r);
    rung_quantiles *q = NULL;
    rung_status st = RUNG_EINVAL;
    if (!r.fault && version == VERSION && memory <= RUNG_QUANTILES_MEMORY_MAX)
        st = rung_quantiles_create(&(rung_quantiles_config){alloc, (size_t)memory}, &q);
    if (st < 0)
        return RUNG_FAIL(err, st == RUNG_EINVAL ? RUNG_ECORRUPT : st,
                         st == RUNG_EINVAL ? "not a rank histogram" : "out of memory");
    read_all(q, &r);
    st = rung_byte_reader_finish(&r, bytes, "a rank histogram", err);
    if (st < 0)
        rung_quantiles_destroy(q);
    else
        *out = q;
    return st;
}

/* ---- merge ---- */

typedef struct source {
    const rung_quantiles *q;
    uint32_t range, key; /* next of each */
} source;

static bool peek(const source *s, rung__range *out) {
    bool has_range = s->range < s->q->range_count, has_key = s->key < s->q->buffered;
    if (!has_range && !has_key)
        return false;
    if (has_key)
        *out = rung__range_of(s->q->buffer[s->key], 0, 1);
    if (has_range && (!has_key || !rung__range_is_before(*out, s->q->slots[s->range])))
        *out = s->q->slots[s->range];
    return true;
}

static void skip(source *s) {
    rung__range next = {0};
    peek(s, &next);
    if (s->range < s->q->range_count && s->q->slots[s->range].last == next.last &&
        s->q->slots[s->range].packed == next.packed)
        s->range++;
    else
        s->key++;
}

/* Ranges and buffered keys of both, in order, equal ranges added up; into the
 * slots from `to` on. */
static uint32_t merge_sources(source *a, source *b, rung__range *to) {
    uint32_t n = 0;
    rung__range x = {0}, y = {0};
    for (;;) {
        bool has_x = peek(a, &x), has_y = peek(b, &y);
        if (!has_x && !has_y)
            return n;
        bool is_a = has_x && (!has_y || !rung__range_is_before(y, x));
        rung__range next = is_a ? x : y;
        skip(is_a ? a : b);
        if (n && !rung__range_is_before(to[n - 1], next))
            to[n - 1].packed += rung__range_count(next);
        else
            to[n++] = next;
    }
}

/* `from` with a sorted copy of its buffer in `space`, which has room for two.
 */
static rung_quantiles with_sorted_buffer(const rung_quantiles *from, uint64_t *space) {
    rung_quantiles q = *from;
    q.buffer = space;
    memcpy(q.buffer, from->buffer, from->buffered * sizeof *space);
    rung__sort_keys(q.buffer, q.buffered, space + q.buffer_max);
    return q;
}

rung_status rung_quantiles_merge(rung_quantiles *q, const rung_quantiles *from) {
    if (q->memory_bytes != from->memory_bytes)
        return RUNG_EINVAL;
    if (from->count > RUNG_QUANTILES_COUNT_MAX - q->count)
        return RUNG_ERANGE;
    uint32_t all = q->range_count + q->buffered + from->range_count + from->buffered;
    size_t slot_bytes = ((size_t)all + q->capacity / 16 + 1) * sizeof(rung__range);
    size_t space_bytes = 2 * (size_t)q->buffer_max * sizeof(uint64_t);
    rung__range *slots = rung_alloc_get(q->alloc, slot_bytes);
    uint64_t *space = rung_alloc_get(q->alloc, space_bytes);
    rung_status st = slots && space ? RUNG_OK : RUNG_ENOMEM;
    if (st == RUNG_OK && from->count) {
        uint32_t slot_count = (uint32_t)(slot_bytes / sizeof *slots);
        rung_quantiles other = with_sorted_buffer(from, space);
        rung__quantiles_sort_buffer(q);
        uint32_t n = merge_sources(&(source){.q = q}, &(source){.q = &other}, slots);
        memmove(slots + slot_count - n, slots, n * sizeof *slots);
        q->step += from->step;
        q->count += from->count;
        q->range_count =
            rung__quantiles_shrink(slots, slot_count, n, q->capacity, q->count, &q->step);
        memcpy(q->slots, slots, q->range_count * sizeof *slots);
        q->buffered = 0;
        q->least = from->least < q->least ? from->least : q->least;
        q->greatest = from->greatest > q->greatest ? from->greatest : q->greatest;
        rung__quantiles_index(q);
    }
    rung_alloc_free(q->alloc, slots, slots ? slot_bytes : 0);
    rung_alloc_free(q->alloc, space, space ? space_bytes : 0);
    return st;
}
