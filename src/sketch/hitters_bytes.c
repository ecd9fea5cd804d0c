/* SPDX-License-Identifier: Apache-2.0 */
/* Heavy hitters as bytes, and the merge of two.
 *
 * Saved form (numbers as in base/bytes.h):
 *   byte 1 (version), number memory_bytes, 8 bytes seed, number total, number
 * floor, number of entries, for each entry, the lightest first: text name,
 * number count, number error; 4 bytes CRC-32C of all before, little-endian.
 * Valid: nothing more, entries strictly ascending in the order of
 * hitters_table.h, and its invariants 3 to 5. */
#include "sketch/hitters.h"

#include "sketch/hitters_table.h"

#include <string.h>

enum { VERSION = 1, CRC_BYTES = 4 };

void rung_hitters_stream(rung_hitters *h, rung_sketch_put *put, void *ctx) {
    rung_sketch_stream s;
    uint8_t word[8];
    rung__hitters_sort(h);
    rung_sketch_stream_begin(&s, put, ctx);
    rung_put_byte(&s.w, VERSION);
    rung_put_number(&s.w, h->memory_bytes);
    rung_put64(word, h->seed);
    rung_put_bytes(&s.w, word, sizeof word);
    rung_put_number(&s.w, h->total);
    rung_put_number(&s.w, h->floor);
    rung_put_number(&s.w, h->count);
    for (uint32_t i = 0; i < h->count; i++) {
        rung_sketch_stream_room(&s, RUNG_HITTERS_NAME_MAX + 3 * RUNG_NUMBER_BYTES_MAX);
        rung_put_text(&s.w, rung__hitters_name(h, h->cells[i].place.entry));
        rung_put_number(&s.w, h->cells[i].place.count);
        rung_put_number(&s.w, rung__error_unpack(h->cells[h->cells[i].place.entry].entry.error));
    }
    rung_sketch_stream_end(&s);
}

void rung_hitters_save(rung_hitters *h, rung_byte_writer *w) {
    rung_hitters_stream(h, rung_sketch_put_writer, w);
}

static uint64_t get_word(rung_byte_reader *r) {
    uint64_t word = 0;
    for (int i = 0; i < 64; i += 8)
        word |= (uint64_t)rung_get_byte(r) << i;
    return word;
}

typedef struct candidate {
    rung_slice name;
    uint64_t count, error;
    uint32_t tie;
} candidate;

/* What is certain of a name's total. */
static uint64_t certain_of(const candidate *c) {
    return c->error < c->count ? c->count - c->error : 0;
}

static const char *fault_of(const rung_hitters *h, const candidate *c, const candidate *before,
                            uint64_t certain) {
    if (c->name.len == 0 || c->name.len > RUNG_HITTERS_NAME_MAX)
        return "a name has no allowed length";
    if (!rung__hitters_fits(h, c->name.len))
        return "too many names";
    if (c->count < h->floor || c->count > RUNG_HITTERS_TOTAL_MAX ||
        c->error > rung__error_unpack(rung__error_pack(h->floor)) ||
        rung__error_unpack(rung__error_pack(c->error)) != c->error ||
        certain_of(c) > h->total - certain)
        return "a count or an error is out of bounds";
    if (before && rung__hitters_order(before->count, before->tie, before->name, c->count, c->tie,
                                      c->name) >= 0)
        return "the entries are not in order";
    rung_hitter row;
    if (rung_hitters_find(h, c->name, &row) == RUNG_OK)
        return "a name comes twice";
    return NULL;
}

static void read_entries(rung_hitters *h, rung_byte_reader *r) {
    uint32_t count = rung_get_count(r, h->capacity);
    uint64_t certain = 0;
    candidate before = {0};
    for (uint32_t i = 0; i < count && !r->fault; i++) {
        candidate c = {.name = rung_get_text(r)};
        c.count = rung_get_number(r);
        c.error = rung_get_number(r);
        c.tie = rung__hitters_tie(h, c.name);
        const char *fault = r->fault ? r->fault : fault_of(h, &c, i ? &before : NULL, certain);
        if (fault) {
            rung_byte_reader_fail(r, fault);
            return;
        }
        certain += certain_of(&c);
        rung__hitters_append(h, c.tie, c.name, c.count, c.error);
        before = c;
    }
}

rung_status rung_hitters_load(const rung_alloc *alloc, uint64_t secret, rung_slice bytes,
                              rung_hitters **out, rung_err *err) {
    if (bytes.len < CRC_BYTES || rung_get32((const uint8_t *)bytes.ptr + bytes.len - CRC_BYTES) !=
                                     rung_crc32c(0, bytes.ptr, bytes.len - CRC_BYTES))
        return RUNG_FAIL(err, RUNG_ECORRUPT, "heavy hitters fail their checksum");
    bytes.len -= CRC_BYTES;
    rung_byte_reader r = rung_byte_reader_of(bytes);
    uint8_t version = rung_get_byte(&r);
    uint64_t memory = rung_get_number(&r);
    rung_hitters_config config = {alloc, (size_t)memory, get_word(&r), secret};
    rung_hitters *h = NULL;
    rung_status st = RUNG_EINVAL;
    if (!r.fault && version == VERSION && memory <= RUNG_HITTERS_MEMORY_MAX)
        st = rung_hitters_create(&config, &h);
    if (st < 0)
        return RUNG_FAIL(err, st == RUNG_EINVAL ? RUNG_ECORRUPT : st,
                         st == RUNG_EINVAL ? "not heavy hitters" : "out of memory");
    h->total = rung_get_number(&r);
    h->floor = rung_get_number(&r);
    if (h->total > RUNG_HITTERS_TOTAL_MAX || h->floor > h->total)
        rung_byte_reader_fail(&r, "the total is out of bounds");
    read_entries(h, &r);
    st = rung_byte_reader_finish(&r, bytes, "heavy hitters", err);
    if (st < 0)
        rung_hitters_destroy(h);
    else
        *out = h;
    return st;
}

/* ---- merge ---- */

/* All names of `h`, with what `other` knows about them; of `other`'s own names
 * only those that `h` does not have, when `is_second`. */
static uint32_t gather(const rung_hitters *h, const rung_hitters *other, bool is_second,
                       candidate *to) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t entry = h->cells[i].place.entry;
        rung_hitter row = {.count = other->floor, .error = other->floor};
        rung_slice name = rung__hitters_name(h, entry);
        bool is_in_both = rung_hitters_find(other, name, &row) == RUNG_OK;
        if (!(is_in_both && is_second))
            to[n++] = (candidate){name, h->cells[i].place.count + row.count,
                                  rung__error_unpack(h->cells[entry].entry.error) + row.error,
                                  h->cells[i].place.tie};
    }
    return n;
}

static bool is_heavier(const candidate *a, const candidate *b) {
    return rung__hitters_order(a->count, a->tie, a->name, b->count, b->tie, b->name) > 0;
}

static void sink_candidate(candidate *list, uint32_t i, uint32_t n) {
    candidate c = list[i];
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_heavier(&list[child], &list[child + 1]))
            child++;
        if (!is_heavier(&c, &list[child]))
            break;
        list[i] = list[child];
    }
    list[i] = c;
}

/* Heap sort, the heaviest first. */
static void sort_candidates(candidate *list, uint32_t n) {
    for (uint32_t i = n / 2; i-- > 0;)
        sink_candidate(list, i, n);
    for (uint32_t m = n; m > 1; m--) {
        candidate c = list[m - 1];
        list[m - 1] = list[0];
        list[0] = c;
        sink_candidate(list, 0, m - 1);
    }
}

/* A name that only one side holds gets the other side's floor, as count and as
 * error. The heaviest stay; the first that does not fit raises the floor. With
 * u = count - floor on both sides, the u of a name add up, and dropping all
 * below the capacity's place takes at least capacity times the rise of the
 * floor from their sum: the bound of hitters.c holds for the sum of the totals.
 */
static void fill(rung_hitters *h, const candidate *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!rung__hitters_fits(h, list[i].name.len)) {
            h->floor = list[i].count > h->floor ? list[i].count : h->floor;
            return;
        }
        rung__hitters_append(h, list[i].tie, list[i].name, list[i].count, list[i].error);
    }
}

rung_status rung_hitters_merge(rung_hitters *h, const rung_hitters *from) {
    if (h->memory_bytes != from->memory_bytes || h->seed != from->seed)
        return RUNG_EINVAL;
    if (from->total > RUNG_HITTERS_TOTAL_MAX - h->total)
        return RUNG_ERANGE;
    size_t room = ((size_t)h->count + from->count) * sizeof(candidate);
    if (!from->total)
        return RUNG_OK;
    candidate *list = rung_alloc_get(h->alloc, room);
    rung_hitters *merged = NULL;
    rung_status st =
        list ? rung_hitters_create(
                   &(rung_hitters_config){h->alloc, h->memory_bytes, h->seed, h->secret}, &merged)
             : RUNG_ENOMEM;
    if (st == RUNG_OK) {
        uint32_t n = gather(h, from, false, list);
        n += gather(from, h, true, list + n);
        sort_candidates(list, n);
        merged->total = h->total + from->total;
        merged->floor = h->floor + from->floor;
        fill(merged, list, n);
        memcpy(h + 1, merged + 1,
               h->block_bytes - sizeof *h); /* the arrays; equal sizes, no pointers */
        h->total = merged->total;
        h->floor = merged->floor;
        h->count = merged->count;
        h->name_used = merged->name_used;
        h->name_size = merged->name_size;
        memset(h->holes, 0, sizeof h->holes);
    }
    rung_hitters_destroy(merged);
    rung_alloc_free(h->alloc, list, list ? room : 0);
    return st;
}
