/* SPDX-License-Identifier: Apache-2.0 */
/* Workload: a hundred million ids that come once and are looked up for ever, in batches, in random order. What
 * counts is cache misses per look-up, bytes per id, and that no call ever stops to rehash the table.
 *
 *     hash(id) --> bucket --(tag matches)--> number --> offset --> cell: the id's bytes
 *
 * Four chunked arrays, none of which is ever copied as it grows:
 *   buckets  one cache line each: 12 slots of (8-bit tag, 32-bit number) and one counter
 *   offsets  number -> where its cell is; for a free number: the next free number
 *   used     one bit per number; meaningless from `span` on
 *   cells    [length byte][bytes], rounded up to units of 4 bytes; freed cells are kept in lists by size
 * For a 15-byte id: 16 bytes of cell, 4 of offset and 6 to 8 of bucket.
 *
 * Home of a hash: the array of `homes` buckets is the range of the hash, stretched: home = hash * homes / 2^64.
 * A full home passes the entry on to the next bucket, and each bucket counts the entries that passed it: a search ends
 * at a bucket that no entry passed. Removal decrements the counts along the same path, so there are no tombstones, and
 * moves an entry that passed the bucket back into it. The array does not wrap; it extends beyond the last home as far
 * as entries were passed on.
 *
 * Growth is a stretch of the same array by a quarter, in place. As homes only move up, it is done from the top down,
 * old home by old home, two for each new name:
 *
 *     0                    swept          homes                      homes_next
 *     |--- old layout -----|-- emptied -----|......................|=== new layout ===|
 *                                       low_end              high_start          high_end
 *
 * A hash whose old home is below `swept` lives by the old layout, any other by the new one. Both may share a bucket;
 * that is harmless, since the counters count both alike. Buckets between low_end and high_start
 * are not yet zeroed, perhaps not even allocated; when the two meet, the high range joins the low one.
 * Hashes are not stored: moving an entry reads its id again, and 8 bytes per name are saved.
 *
 * Invariants (numbers in rung_names_check):
 *  1. swept <= homes <= homes_next; all three are equal when the table is not growing.
 *  2. Every bucket that is home to some hash is open: below low_end, or from high_start to before high_end.
 *  3. A slot with tag 0 is empty; any other tag is that of the hash of its number's id.
 *  4. bucket.passed = entries with a home at or before the bucket that lie after it.
 *  5. Each used number is in exactly one slot, and is found by its id.
 *  6. Used numbers are `count` bits below `span`; the others below `span` are the free list, once each.
 *  7. Cells in use and free cells together fill [0, cells_end). A cell does not cross a chunk. */
#include "ladder/names.h"

#include "base/assert.h"
#include "base/prefetch.h"
#include "ladder/ladder.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Sizes. The test personality makes everything so small that a hundred names exercise all of it. */
#ifdef RUNG_TEST_BUILD
#define SLOTS          3
#define BUCKETS        ((shape){sizeof(bucket), 1, 3})
#define OFFSETS        ((shape){sizeof(uint32_t), 1, 4})
#define USED           ((shape){sizeof(uint64_t), 0, 1})
#define CELLS          ((shape){CELL_UNIT, 6, 7})
#define CELLS_END_MAX  ((uint64_t)1 << 23)
#define SWEEP_LOCAL    8
#define FULL_NUMERATOR 11
#define REGION_BITS    2
#define REGION_QUEUE   5
#else
#define SLOTS          12
#define BUCKETS        ((shape){sizeof(bucket), 2, 15})
#define OFFSETS        ((shape){sizeof(uint32_t), 4, 19})
#define USED           ((shape){sizeof(uint64_t), 1, 13})
#define CELLS          ((shape){CELL_UNIT, 6, 19})
#define CELLS_END_MAX  ((uint64_t)NO_CELL)
#define SWEEP_LOCAL    192
#define FULL_NUMERATOR 13
#define REGION_BITS    14
#define REGION_QUEUE   (1 << 15)
#endif

#define CELL_UNIT      ((size_t)4)
#define CELL_UNITS_MAX ((RUNG_PLAYER_ID_MAX + CELL_UNIT) / CELL_UNIT) /* length byte included */
#define NO_CELL        UINT32_MAX
#define NO_BUCKET      UINT64_MAX

/* Growth begins when 13/16 of the home slots are taken. Two old homes move for each new name, so by the end half a name
 * per home has been added: a load of 0.85. Above that, the runs of full buckets that a step reads become long. */
#define FULL_DENOMINATOR 16
#define SWEEP_STEPS      2

#define BATCH 32 /* enough to hide a cache miss, few enough to stay in L1 */

typedef struct bucket {
    uint8_t tags[SLOTS];
    uint32_t passed;
    uint32_t numbers[SLOTS];
} bucket;

#ifndef RUNG_TEST_BUILD
_Static_assert(sizeof(bucket) == 64, "a bucket is a cache line");
#endif

/* A chunked array: the first chunk has 2^first units, the next as many, then each as many as all before it, up to
 * 2^full units; from there on all have 2^full (2 MiB: the heap gives those huge pages, aligned). So small arrays are
 * small, big ones waste little, and nothing moves. The shape is a constant at each call, folded away. */
typedef struct shape {
    size_t unit; /* bytes */
    unsigned first, full;
} shape;

typedef struct chunks {
    char **spine; /* chunks; NULL where there is none yet */
    size_t len;
} chunks;

struct rung_names {
    const rung_alloc *alloc;
    rung_hash_key key;
    uint64_t hash_mask; /* all ones, but for tests */
    chunks buckets, offsets, used, cells;
    uint64_t homes, homes_next, swept;
    uint64_t low_end, high_start, high_end; /* the last two NO_BUCKET when there is no high range */
    uint64_t cells_end;
    /* Free cells by units, linked through the first word of each; bit u of free_sizes: list u is not empty. */
    uint64_t free_sizes;
    uint32_t free_cells[CELL_UNITS_MAX + 1];
    uint32_t free_number; /* the last removed; linked through offsets */
    uint32_t count, span, limit;
    size_t size_bytes;
};

/* An entry that may have to move. */
typedef struct mover {
    uint64_t hash, at; /* `at`: the bucket it is in */
    uint32_t number, slot;
} mover;

/* --- Chunked arrays --- */

static inline size_t chunk_index(shape s, uint64_t i) {
    if (i >> s.full)
        return (size_t)(i >> s.full) + (s.full - s.first);
    i >>= s.first;
    return i ? 64 - (size_t)__builtin_clzll(i) : 0;
}

static inline uint64_t chunk_units(shape s, size_t chunk) {
    if (chunk > s.full - s.first)
        return (uint64_t)1 << s.full;
    return (uint64_t)1 << (s.first + (chunk ? chunk - 1 : 0));
}

/* From the second chunk on sizes are powers of two and a chunk starts at a multiple of its size. */
static inline void *chunks_at(const chunks *c, shape s, uint64_t i) {
    size_t chunk = chunk_index(s, i);
    return c->spine[chunk] + (size_t)(i & (chunk_units(s, chunk) - 1)) * s.unit;
}

static rung_status spine_grow(rung_names *t, chunks *c, size_t len_min) {
    size_t len = c->len * 2 < len_min ? len_min + 1 : c->len * 2;
    char **spine =
        rung_alloc_resize(t->alloc, c->spine, c->len * sizeof *spine, len * sizeof *spine);
    if (!spine)
        return RUNG_ENOMEM;
    memset(spine + c->len, 0, (len - c->len) * sizeof *spine);
    t->size_bytes += (len - c->len) * sizeof *spine;
    c->spine = spine;
    c->len = len;
    return RUNG_OK;
}

static rung_status chunk_make(rung_names *t, chunks *c, shape s, size_t chunk) {
    if (chunk >= c->len && spine_grow(t, c, chunk + 1) < 0)
        return RUNG_ENOMEM;
    size_t size = (size_t)chunk_units(s, chunk) * s.unit;
    c->spine[chunk] = rung_alloc_get(t->alloc, size);
    if (!c->spine[chunk])
        return RUNG_ENOMEM;
    t->size_bytes += size;
    return RUNG_OK;
}

static inline rung_status chunk_ready(rung_names *t, chunks *c, shape s, size_t chunk) {
    return chunk < c->len && c->spine[chunk] ? RUNG_OK : chunk_make(t, c, s, chunk);
}

/* Memory for unit `i`, not zeroed. */
static inline rung_status chunks_ready(rung_names *t, chunks *c, shape s, uint64_t i) {
    return chunk_ready(t, c, s, chunk_index(s, i));
}

/* Free all chunks from number `keep` on, and the spine too if nothing is kept. */
static void chunks_release(rung_names *t, chunks *c, shape s, size_t keep) {
    for (size_t chunk = keep; chunk < c->len; chunk++) {
        size_t size = (size_t)chunk_units(s, chunk) * s.unit;
        if (!c->spine[chunk])
            continue;
        rung_alloc_free(t->alloc, c->spine[chunk], size);
        c->spine[chunk] = NULL;
        t->size_bytes -= size;
    }
    if (keep)
        return;
    rung_alloc_free(t->alloc, c->spine, c->len * sizeof *c->spine);
    t->size_bytes -= c->len * sizeof *c->spine;
    *c = (chunks){0};
}

static inline bucket *bucket_at(const rung_names *t, uint64_t i) {
    return chunks_at(&t->buckets, BUCKETS, i);
}

static inline uint32_t *offset_at(const rung_names *t, uint32_t number) {
    return chunks_at(&t->offsets, OFFSETS, number);
}

static inline uint64_t *used_at(const rung_names *t, uint32_t number) {
    return chunks_at(&t->used, USED, number / 64);
}

/* A cell begins anywhere in a line and may end in the next. Prefetch only its first sixteen bytes: the ids of many
 * games fit, and cells of that size never cross a line. */
static inline void prefetch_cell(const void *cell) {
    enum { USUAL = 16 };
    rung_prefetch(cell);
    rung_prefetch((const char *)cell + USUAL - 1);
}

static inline unsigned char *cell_at(const rung_names *t, uint32_t offset) {
    return chunks_at(&t->cells, CELLS, offset);
}

/* --- Numbers: invariant 6 --- */

static inline rung_status number_ready(rung_names *t) {
    if (t->free_number != RUNG_PLAYER_NONE)
        return RUNG_OK;
    if (chunks_ready(t, &t->offsets, OFFSETS, t->span) < 0)
        return RUNG_ENOMEM;
    return chunks_ready(t, &t->used, USED, t->span / 64);
}

static inline uint32_t number_take(rung_names *t) {
    uint32_t number = t->free_number;
    if (number != RUNG_PLAYER_NONE)
        t->free_number = *offset_at(t, number);
    else
        number = t->span++;
    *used_at(t, number) |= (uint64_t)1 << number % 64;
    t->count++;
    return number;
}

static void number_give(rung_names *t, uint32_t number) {
    *used_at(t, number) &= ~((uint64_t)1 << number % 64);
    *offset_at(t, number) = t->free_number;
    t->free_number = number;
    t->count--;
}

bool rung_names_is_used(const rung_names *t, uint32_t number) {
    return number < t->span && (*used_at(t, number) >> number % 64 & 1);
}

/* --- Cells: invariant 7 --- */

static uint32_t cell_units(size_t id_len) {
    return (uint32_t)((id_len + CELL_UNIT) / CELL_UNIT);
}

static void cell_give(rung_names *t, uint32_t offset, uint32_t units) {
    unsigned char *cell = cell_at(t, offset);
#ifdef RUNG_TEST_BUILD
    memset(cell, 0xdb, units * CELL_UNIT); /* make a use after free visible */
#endif
    memcpy(cell, &t->free_cells[units], sizeof(uint32_t));
    t->free_cells[units] = offset;
    t->free_sizes |= (uint64_t)1 << units;
}

/* After this cell_take(units) cannot fail. What is left of a chunk that is too short becomes a free cell. */
static inline rung_status cell_ready(rung_names *t, uint32_t units) {
    if (t->free_sizes >> units)
        return RUNG_OK;
    size_t chunk = chunk_index(CELLS, t->cells_end);
    uint64_t size = chunk_units(CELLS, chunk), rest = size - (t->cells_end & (size - 1));
    uint64_t start = rest < units ? t->cells_end + rest : t->cells_end;
    if (start + units > CELLS_END_MAX)
        return RUNG_ELIMIT;
    if (chunks_ready(t, &t->cells, CELLS, start) < 0)
        return RUNG_ENOMEM;
    if (start != t->cells_end)
        cell_give(t, (uint32_t)t->cells_end, (uint32_t)rest);
    t->cells_end = start;
    return RUNG_OK;
}

/* The best fit among the free cells, its rest freed again; else fresh ones from the end. */
static inline uint32_t cell_take(rung_names *t, uint32_t units) {
    if (!(t->free_sizes >> units)) {
        t->cells_end += units;
        return (uint32_t)(t->cells_end - units);
    }
    uint32_t found = units + (uint32_t)__builtin_ctzll(t->free_sizes >> units);
    uint32_t offset = t->free_cells[found];
    memcpy(&t->free_cells[found], cell_at(t, offset), sizeof(uint32_t));
    if (t->free_cells[found] == NO_CELL)
        t->free_sizes &= ~((uint64_t)1 << found);
    if (found > units)
        cell_give(t, offset + units, found - units);
    return offset;
}

static inline rung_slice id_at(const rung_names *t, uint32_t number) {
    const unsigned char *cell = cell_at(t, *offset_at(t, number));
    return rung_slice_of(cell + 1, cell[0]);
}

static inline uint64_t load64(const char *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Not memcmp: for short blocks its vector versions load past the end, from a cache line that was not prefetched. */
static inline bool id_is(rung_slice id, rung_slice other) {
    size_t len = id.len, i = 0;
    if (len != other.len)
        return false;
    for (; i + 8 <= len; i += 8) {
        if (load64(id.ptr + i) != load64(other.ptr + i))
            return false;
    }
    if (len >= 8)
        return load64(id.ptr + len - 8) == load64(other.ptr + len - 8); /* the rest, overlapping */
    for (; i < len; i++) {
        if (id.ptr[i] != other.ptr[i])
            return false;
    }
    return true;
}

/* The first 8 bytes as a number with the order of the bytes. */
static inline uint64_t load64_ordered(const char *p) {
    uint64_t word = load64(p);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Not memcmp, for the same reason. */
static inline int id_compare(rung_slice a, rung_slice b) {
    size_t len = a.len < b.len ? a.len : b.len, i = 0;
    while (i < len && len >= 8) {
        size_t at =
            i + 8 <= len ? i : len - 8; /* the rest overlaps with what is known to be equal */
        uint64_t x = load64_ordered(a.ptr + at), y = load64_ordered(b.ptr + at);
        if (x != y)
            return x < y ? -1 : 1;
        i = at + 8;
    }
    for (; i < len; i++) {
        if (a.ptr[i] != b.ptr[i])
            return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[i] ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

/* --- Buckets --- */

static inline uint64_t stretch(uint64_t hash, uint64_t homes) {
    return (uint64_t)((unsigned __int128)hash * homes >> 64);
}

static inline uint64_t home_of(const rung_names *t, uint64_t hash) {
    uint64_t home = stretch(hash, t->homes);
    return home < t->swept ? home : stretch(hash, t->homes_next);
}

/* From the low end of the hash, which the home does not depend on. */
static inline uint8_t tag_of(uint64_t hash) {
    uint8_t tag = (uint8_t)hash;
    return tag ? tag : 1;
}

/* Bit s: slot s has this tag. */
static inline unsigned bucket_match(const bucket *b, uint8_t tag) {
#if defined(__SSE2__) && SLOTS == 12
    __m128i tags = _mm_loadu_si128((const __m128i *)(const void *)b); /* and `passed`, masked out */
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) & 0xfffu;
#else
    unsigned mask = 0;
    for (unsigned s = 0; s < SLOTS; s++)
        mask |= (unsigned)(b->tags[s] == tag) << s;
    return mask;
#endif
}

static bool has_high_range(const rung_names *t) {
    return t->high_start != NO_BUCKET;
}

/* Open the bucket next to an open range: at low_end, at high_end or before high_start. Its memory is ready. */
static void bucket_open(rung_names *t, uint64_t i) {
    memset(bucket_at(t, i), 0, sizeof(bucket));
    if (i == t->low_end)
        t->low_end++;
    else if (i == t->high_end)
        t->high_end++;
    else
        t->high_start--;
    if (has_high_range(t) && t->low_end == t->high_start) {
        t->low_end = t->high_end;
        t->high_start = t->high_end = NO_BUCKET;
    }
}

/* Memory for `n` more buckets behind each range: after this n * SLOTS calls of entry_place cannot fail. */
static rung_status ends_ready(rung_names *t, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (chunks_ready(t, &t->buckets, BUCKETS, t->low_end + i) < 0)
            return RUNG_ENOMEM;
        if (has_high_range(t) && chunks_ready(t, &t->buckets, BUCKETS, t->high_end + i) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

/* Put a number into the first bucket with an empty slot, from the home of its hash on. */
static void entry_place(rung_names *t, uint64_t hash, uint32_t number) {
    for (uint64_t i = home_of(t, hash);; i++) {
        if (i == t->low_end || i == t->high_end)
            bucket_open(t, i);
        bucket *b = bucket_at(t, i);
        unsigned empty = bucket_match(b, 0);
        if (empty) {
            unsigned s = (unsigned)__builtin_ctz(empty);
            b->tags[s] = tag_of(hash);
            b->numbers[s] = number;
            return;
        }
        b->passed++;
    }
}

/* List all entries of the buckets first..last with their hashes. In passes: each reads what the one
 * before it prefetched. */
static size_t movers_list(const rung_names *t, uint64_t first, uint64_t last, mover *movers) {
    size_t n = 0;
    for (uint64_t i = first; i <= last; i++) {
        const bucket *b = bucket_at(t, i);
        for (unsigned s = 0; s < SLOTS; s++) {
            if (!b->tags[s])
                continue;
            rung_prefetch(offset_at(t, b->numbers[s]));
            movers[n++] = (mover){0, i, b->numbers[s], s};
        }
    }
    for (size_t i = 0; i < n; i++)
        prefetch_cell(cell_at(t, *offset_at(t, movers[i].number)));
    for (size_t i = 0; i < n; i++)
        movers[i].hash = rung_names_hash(t, id_at(t, movers[i].number));
    return n;
}

/* Close the gap that a removal leaves in a bucket: an entry that passed it moves back, which leaves a gap further on.
 * Without this a table stays correct, but under steady change a quarter of its entries end up away from home. */
static void gap_close(rung_names *t, uint64_t gap, unsigned slot) {
    for (uint64_t from = gap + 1; bucket_at(t, gap)->passed; from++) {
        mover movers[SLOTS];
        size_t n = movers_list(t, from, from, movers), k = 0;
        while (k < n && home_of(t, movers[k].hash) > gap)
            k++;
        if (k == n)
            continue;
        for (uint64_t passed = gap; passed < from; passed++)
            bucket_at(t, passed)->passed--;
        bucket_at(t, gap)->tags[slot] = tag_of(movers[k].hash);
        bucket_at(t, gap)->numbers[slot] = movers[k].number;
        bucket_at(t, from)->tags[movers[k].slot] = 0;
        gap = from;
        slot = movers[k].slot;
    }
}

/* Take a number that is there out of its bucket. */
static void entry_take(rung_names *t, uint64_t hash, uint32_t number) {
    for (uint64_t i = home_of(t, hash);; i++) {
        bucket *b = bucket_at(t, i);
        for (unsigned m = bucket_match(b, tag_of(hash)); m; m &= m - 1) {
            unsigned s = (unsigned)__builtin_ctz(m);
            if (b->numbers[s] != number)
                continue;
            b->tags[s] = 0;
            gap_close(t, i, s);
            return;
        }
        RUNG_ASSERT(b->passed > 0);
        b->passed--;
    }
}

/* --- Growth --- */

static bool is_growing(const rung_names *t) {
    return t->homes != t->homes_next;
}

static void growth_begin(rung_names *t, uint64_t homes) {
    t->homes_next = homes;
    if (homes > t->low_end)
        t->high_start = t->high_end = homes;
}

/* Of the listed entries take those at home in `home` out of their buckets. Returns how many are left in the list.
 * Entries of the new layout are not among them: their old home is `swept` or above. */
static size_t movers_take(rung_names *t, uint64_t home, mover *movers, size_t n) {
    size_t taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (stretch(movers[i].hash, t->homes) != home)
            continue;
        bucket_at(t, movers[i].at)->tags[movers[i].slot] = 0;
        for (uint64_t passed = home; passed < movers[i].at; passed++)
            bucket_at(t, passed)->passed--;
        movers[taken++] = movers[i];
    }
    return taken;
}

/* Open the new layout's buckets down to the lowest home that entries of old home `home` may move to. */
static rung_status high_range_lower(rung_names *t, uint64_t home) {
    uint64_t lowest = home * t->homes_next / t->homes;
    while (has_high_range(t) && t->high_start > lowest) {
        if (chunks_ready(t, &t->buckets, BUCKETS, t->high_start - 1) < 0)
            return RUNG_ENOMEM;
        bucket_open(t, t->high_start - 1);
    }
    return RUNG_OK;
}

static void sweep_home(rung_names *t, uint64_t home, uint64_t last, mover *movers) {
    size_t n = movers_take(t, home, movers, movers_list(t, home, last, movers));
    t->swept = home;
    for (size_t i = 0; i < n; i++)
        entry_place(t, movers[i].hash, movers[i].number);
    if (t->swept == 0)
        t->homes = t->swept = t->homes_next;
}

/* Move the entries of the highest old home to the new layout. A few buckets of work, unless very many ids have
 * the same hash, which only an attacker who knows the key can arrange. */
static rung_status sweep_step(rung_names *t) {
    uint64_t home = t->swept - 1, last = home;
    while (bucket_at(t, last)->passed)
        last++;
    if (high_range_lower(t, home) < 0 || ends_ready(t, last - home + 1) < 0)
        return RUNG_ENOMEM;

    mover local[SWEEP_LOCAL], *movers = local;
    size_t size = (size_t)(last - home + 1) * SLOTS * sizeof(mover);
    if (size > sizeof local)
        movers = rung_alloc_get(t->alloc, size);
    if (!movers)
        return RUNG_ENOMEM;
    sweep_home(t, home, last, movers);
    if (movers != local)
        rung_alloc_free(t->alloc, movers, size);
    return RUNG_OK;
}

static bool is_full(uint64_t count, uint64_t homes) {
    return count * FULL_DENOMINATOR >= homes * SLOTS * FULL_NUMERATOR;
}

/* The share of growth that each new name does. */
static rung_status grow(rung_names *t) {
    if (!is_growing(t) && is_full(t->count, t->homes))
        growth_begin(t, t->homes + (t->homes < 4 ? 1 : t->homes / 4));
    for (int i = 0; i < SWEEP_STEPS && is_growing(t); i++) {
        if (sweep_step(t) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

/* Memory for buckets up to `homes`, or none of it: growth must not set out for a size it cannot reach. */
static rung_status homes_ready(rung_names *t, uint64_t homes) {
    size_t in_use = chunk_index(BUCKETS, t->low_end) + 1;
    for (size_t chunk = in_use; chunk <= chunk_index(BUCKETS, homes); chunk++) {
        if (chunk_ready(t, &t->buckets, BUCKETS, chunk) == RUNG_OK)
            continue;
        chunks_release(t, &t->buckets, BUCKETS, in_use);
        return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

static rung_status growth_finish(rung_names *t) {
    while (is_growing(t)) {
        if (sweep_step(t) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

rung_status rung_names_reserve(rung_names *t, uint32_t count) {
    if (growth_finish(t) < 0)
        return RUNG_ENOMEM;
    if (!is_full(count, t->homes))
        return RUNG_OK;
    uint64_t homes = (uint64_t)count * FULL_DENOMINATOR / (SLOTS * FULL_NUMERATOR) + 1;
    if (homes_ready(t, homes) < 0)
        return RUNG_ENOMEM;
    growth_begin(t, homes);
    return growth_finish(t);
}

/* --- Life cycle --- */

static void reset(rung_names *t) {
    t->homes = t->homes_next = t->swept = 1;
    t->low_end = 0;
    t->high_start = t->high_end = NO_BUCKET;
    bucket_open(t, 0);
    t->cells_end = 0;
    t->free_sizes = 0;
    memset(t->free_cells, 0xff, sizeof t->free_cells); /* NO_CELL */
    t->free_number = RUNG_PLAYER_NONE;
    t->count = t->span = 0;
}

rung_status rung_names_create(const rung_alloc *alloc, const rung_hash_key *key,
                              rung_names **players_out) {
    rung_names *t = rung_alloc_zeroed(alloc, sizeof *t);
    if (!t)
        return RUNG_ENOMEM;
    t->alloc = alloc;
    t->key = *key;
    t->hash_mask = UINT64_MAX;
    t->limit = UINT32_MAX;
    t->size_bytes = sizeof *t;
    if (chunks_ready(t, &t->buckets, BUCKETS, 0) < 0) {
        rung_names_destroy(t);
        return RUNG_ENOMEM;
    }
    reset(t);
    *players_out = t;
    return RUNG_OK;
}

static void release(rung_names *t, size_t keep_buckets) {
    chunks_release(t, &t->buckets, BUCKETS, keep_buckets);
    chunks_release(t, &t->offsets, OFFSETS, 0);
    chunks_release(t, &t->used, USED, 0);
    chunks_release(t, &t->cells, CELLS, 0);
}

void rung_names_destroy(rung_names *t) {
    if (!t)
        return;
    release(t, 0);
    rung_alloc_free(t->alloc, t, sizeof *t);
}

void rung_names_clear(rung_names *t) {
    release(t, 1);
    reset(t);
}

void rung_names_set_limit(rung_names *t, uint32_t count) {
    t->limit = count;
}

void rung__names_weaken(rung_names *t, uint64_t mask) {
    RUNG_ASSERT(t->count == 0);
    t->hash_mask = mask;
}

/* --- Changes --- */

/* Everything that can fail, before any visible change. */
static rung_status intern_ready(rung_names *t, uint32_t units) {
    if (t->count >= t->limit)
        return RUNG_ELIMIT;
    if (grow(t) < 0 || ends_ready(t, 1) < 0 || number_ready(t) < 0)
        return RUNG_ENOMEM;
    return cell_ready(t, units);
}

/* Store an id in a cell of so many units; memory is ready. Returns its number, which is not in the index yet. */
static inline uint32_t name_add(rung_names *t, uint32_t units, rung_slice id) {
    uint32_t offset = cell_take(t, units), number = number_take(t);
    unsigned char *cell = cell_at(t, offset);
    cell[0] = (unsigned char)id.len;
    rung_bytes_copy(cell + 1, id.ptr, id.len);
    *offset_at(t, number) = offset;
    return number;
}

rung_status rung_names_intern_hashed(rung_names *t, uint64_t hash, rung_slice id,
                                     uint32_t *number_out) {
    RUNG_ASSERT_SLOW(hash == rung_names_hash(t, id));
    if (id.len == 0 || id.len > RUNG_PLAYER_ID_MAX)
        return RUNG_EINVAL;
    if (rung_names_find_hashed(t, hash, id, number_out) == RUNG_OK)
        return RUNG_UNCHANGED;
    uint32_t units = cell_units(id.len);
    rung_status st = intern_ready(t, units);
    if (st < 0)
        return st;

    uint32_t number = name_add(t, units, id);
    entry_place(t, hash, number);
    *number_out = number;
    return RUNG_OK;
}

rung_status rung_names_intern(rung_names *t, rung_slice id, uint32_t *number_out) {
    return rung_names_intern_hashed(t, rung_names_hash(t, id), id, number_out);
}

rung_status rung_names_remove(rung_names *t, uint32_t number) {
    if (!rung_names_is_used(t, number))
        return RUNG_NOT_FOUND;
    rung_slice id = id_at(t, number);
    entry_take(t, rung_names_hash(t, id), number);
    cell_give(t, *offset_at(t, number), cell_units(id.len));
    number_give(t, number);
    return RUNG_OK;
}

/* --- Restoring --- */

/* A free number that is not yet on the free list points to itself. */
static bool is_unlisted(const rung_names *t, uint32_t number) {
    return number < t->span && !rung_names_is_used(t, number) && *offset_at(t, number) == number;
}

rung_status rung_names_restore(rung_names *t, rung_slice id) {
    RUNG_ASSERT(t->free_number == RUNG_PLAYER_NONE);
    if (id.len > RUNG_PLAYER_ID_MAX)
        return RUNG_EINVAL;
    if (t->span == RUNG_PLAYER_NONE || (id.len && t->count >= t->limit))
        return RUNG_ELIMIT;
    if (number_ready(t) < 0)
        return RUNG_ENOMEM;
    if (id.len == 0) {
        uint32_t number = t->span++;
        *used_at(t, number) &= ~((uint64_t)1 << number % 64);
        *offset_at(t, number) = number;
        return RUNG_OK;
    }
    uint32_t units = cell_units(id.len);
    rung_status st = cell_ready(t, units);
    if (st < 0)
        return st;
    name_add(t, units, id);
    return RUNG_OK;
}

rung_status rung_names_restore_free(rung_names *t, uint32_t before, uint32_t number) {
    if (!is_unlisted(t, number))
        return RUNG_EINVAL;
    *offset_at(t, number) = RUNG_PLAYER_NONE;
    if (before == RUNG_PLAYER_NONE)
        t->free_number = number;
    else
        *offset_at(t, before) = number;
    return RUNG_OK;
}

/* Pairs of numbers that may have the same id. They are compared together, to overlap the cache misses of their ids. */
typedef struct possible_twins {
    uint32_t count, numbers[BATCH], others[BATCH];
} possible_twins;

/* Compare them and empty the list. False: two have the same id. */
static bool all_differ(const rung_names *t, possible_twins *s) {
    rung_slice ids[BATCH], others[BATCH];
    bool differ = true;
    rung_names_id_used(t, s->numbers, s->count, ids);
    rung_names_id_used(t, s->others, s->count, others);
    for (uint32_t i = 0; i < s->count; i++)
        differ &= !id_is(ids[i], others[i]);
    s->count = 0;
    return differ;
}

/* The index is built region by region, twice as fast as one by one: 2^REGION_BITS buckets stay in the cache while the
 * queue of entries at home there is placed. An item of a queue: number 32 bits | tag 8 | home in the region 24. */
_Static_assert(REGION_BITS <= 24, "a home in a region has 24 bits");

typedef struct regions {
    uint64_t *queues;
    uint32_t *lengths; /* of the queues; stored after them */
    size_t count, size_bytes;
} regions;

static rung_status regions_init(const rung_names *t, regions *r) {
    r->count = (size_t)(t->homes >> REGION_BITS) + 1;
    size_t queues = r->count * REGION_QUEUE * sizeof *r->queues,
           lengths = r->count * sizeof *r->lengths;
    r->size_bytes = queues + lengths;
    r->queues = rung_alloc_get(t->alloc, r->size_bytes);
    if (!r->queues)
        return RUNG_ENOMEM;
    r->lengths = (uint32_t *)(r->queues + r->count * REGION_QUEUE);
    memset(r->lengths, 0, lengths);
    return RUNG_OK;
}

/* Put a number into the first bucket with an empty slot, from its home on. Nothing was ever removed, so an entry
 * with the same id is on that path. False: there is one. */
static bool restore_place(rung_names *t, uint64_t home, uint8_t tag, uint32_t number,
                          possible_twins *s) {
    for (uint64_t i = home;; i++) {
        if (i == t->low_end || i == t->high_end)
            bucket_open(t, i);
        bucket *b = bucket_at(t, i);
        for (unsigned m = bucket_match(b, tag); m; m &= m - 1) {
            s->numbers[s->count] = number;
            s->others[s->count++] = b->numbers[__builtin_ctz(m)];
            if (s->count == BATCH && !all_differ(t, s))
                return false;
        }
        unsigned empty = bucket_match(b, 0);
        if (empty) {
            unsigned at = (unsigned)__builtin_ctz(empty);
            b->tags[at] = tag;
            b->numbers[at] = number;
            return true;
        }
        b->passed++;
    }
}

static rung_status region_place(rung_names *t, regions *r, size_t region, possible_twins *s) {
    const uint64_t *queue = r->queues + region * REGION_QUEUE;
    uint64_t first = (uint64_t)region << REGION_BITS;
    uint32_t n = r->lengths[region];
    for (uint32_t i = 0; i < n; i++) {
        if (i + BATCH < n)
            rung_prefetch(bucket_at(t, first + (queue[i + BATCH] >> 40)));
        if (ends_ready(t, 1) < 0)
            return RUNG_ENOMEM;
        if (!restore_place(t, first + (queue[i] >> 40), (uint8_t)(queue[i] >> 32),
                           (uint32_t)queue[i], s))
            return RUNG_EINVAL;
    }
    r->lengths[region] = 0;
    return RUNG_OK;
}

static rung_status restore_queue(rung_names *t, regions *r, uint64_t hash, uint32_t number,
                                 possible_twins *s) {
    uint64_t home = home_of(t, hash), at = home & ((UINT64_C(1) << REGION_BITS) - 1);
    size_t region = (size_t)(home >> REGION_BITS);
    r->queues[region * REGION_QUEUE + r->lengths[region]++] =
        at << 40 | (uint64_t)tag_of(hash) << 32 | number;
    return r->lengths[region] == REGION_QUEUE ? region_place(t, r, region, s) : RUNG_OK;
}

/* The ids of numbers in use from `*number` on, up to BATCH of them; 0 at the end. */
static uint32_t restore_list(const rung_names *t, uint32_t *number, uint32_t *numbers,
                             rung_slice *ids) {
    uint32_t n = 0;
    for (; *number < t->span && n < BATCH; (*number)++) {
        if (!rung_names_is_used(t, *number))
            continue;
        ids[n] = id_at(t, *number);
        numbers[n++] = *number;
    }
    return n;
}

static rung_status restore_index(rung_names *t, regions *r) {
    possible_twins alike = {.count = 0};
    rung_slice ids[BATCH];
    uint64_t hashes[BATCH];
    uint32_t numbers[BATCH], next = 0, n;
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && (n = restore_list(t, &next, numbers, ids)) > 0) {
        rung_hash_keyed_many(&t->key, ids, n, hashes);
        for (uint32_t i = 0; i < n && st == RUNG_OK; i++)
            st = restore_queue(t, r, hashes[i] & t->hash_mask, numbers[i], &alike);
    }
    for (size_t region = 0; region < r->count && st == RUNG_OK; region++)
        st = region_place(t, r, region, &alike);
    if (st == RUNG_OK && !all_differ(t, &alike))
        st = RUNG_EINVAL;
    return st;
}

rung_status rung_names_restore_finish(rung_names *t) {
    regions r;
    for (uint32_t number = 0; t->count < t->span && number < t->span; number++) {
        if (is_unlisted(t, number))
            return RUNG_EINVAL;
    }
    if (rung_names_reserve(t, t->count) < 0 || regions_init(t, &r) < 0)
        return RUNG_ENOMEM;
    rung_status st = restore_index(t, &r);
    rung_alloc_free(t->alloc, r.queues, r.size_bytes);
    return st;
}

/* --- Queries --- */

uint32_t rung_names_next_free(const rung_names *t, uint32_t number) {
    return number == RUNG_PLAYER_NONE ? t->free_number : *offset_at(t, number);
}

uint64_t rung_names_hash(const rung_names *t, rung_slice id) {
    return rung_hash_keyed(&t->key, id.ptr, id.len) & t->hash_mask;
}

rung_status rung_names_find_hashed(const rung_names *t, uint64_t hash, rung_slice id,
                                   uint32_t *number_out) {
    uint8_t tag = tag_of(hash);
    for (uint64_t i = home_of(t, hash);; i++) {
        const bucket *b = bucket_at(t, i);
        for (unsigned m = bucket_match(b, tag); m; m &= m - 1) {
            uint32_t number = b->numbers[__builtin_ctz(m)];
            if (id_is(id_at(t, number), id)) {
                *number_out = number;
                return RUNG_OK;
            }
        }
        if (!b->passed)
            return RUNG_NOT_FOUND;
    }
}

rung_status rung_names_find(const rung_names *t, rung_slice id, uint32_t *number_out) {
    return rung_names_find_hashed(t, rung_names_hash(t, id), id, number_out);
}

rung_slice rung_names_id(const rung_names *t, uint32_t number) {
    return rung_names_is_used(t, number) ? id_at(t, number) : (rung_slice){NULL, 0};
}

int rung_names_compare(const void *table, uint32_t a, uint32_t b) {
    const rung_names *t = table;
    RUNG_ASSERT_SLOW(rung_names_is_used(t, a) && rung_names_is_used(t, b));
    return id_compare(id_at(t, a), id_at(t, b));
}

/* What an origin holds. */
typedef struct common {
    unsigned char len;
    char bytes[RUNG_LADDER_ORIGIN_BYTES - 1];
} common;

void rung_names_prefix_begin(const void *table, uint32_t n, const uint32_t *numbers, void *origin) {
    const rung_names *t = table;
    common *c = origin;
    c->len = 0;
    for (uint32_t i = 0; i < n; i++) {
        rung_slice id = id_at(t, numbers[i]);
        size_t most = i ? c->len : sizeof c->bytes, len = 0;
        most = most < id.len ? most : id.len;
        if (i == 0)
            memcpy(c->bytes, id.ptr, most);
        while (len < most && c->bytes[len] == id.ptr[len])
            len++;
        c->len = (unsigned char)len;
    }
}

/* Ids without the common beginning sort before or after all that have it. */
static inline uint32_t prefix_of(const common *c, rung_slice id) {
    size_t len = c->len < id.len ? c->len : id.len, same = 0;
    while (same + 8 <= len && load64(id.ptr + same) == load64(c->bytes + same))
        same += 8;
    for (size_t i = same; i < len; i++)
        if (id.ptr[i] != c->bytes[i])
            return (unsigned char)id.ptr[i] < (unsigned char)c->bytes[i] ? 0 : UINT32_MAX;
    uint32_t prefix = 0;
    for (size_t i = c->len; i < c->len + sizeof prefix; i++)
        prefix = prefix << 8 | (i < id.len ? (unsigned char)id.ptr[i] : 0);
    return prefix;
}

uint32_t rung_names_prefix(const void *table, const void *origin, uint32_t number) {
    return prefix_of(origin, id_at(table, number));
}

void rung_names_prefixes(const void *table, const void *origin, uint32_t from, uint32_t n,
                         uint32_t *prefixes_out) {
    for (uint32_t i = 0; i < n; i++)
        prefixes_out[i] = prefix_of(origin, rung_names_id(table, from + i));
}

uint32_t rung_names_prefix_span(const void *table) {
    return rung_names_span(table);
}

void rung_names_prefetch_id(const void *table, uint32_t number, int part) {
    const rung_names *t = table;
    const uint32_t *offset = offset_at(t, number);
    if (part == 0)
        rung_prefetch(offset);
    else
        prefetch_cell(cell_at(t, *offset));
}

uint32_t rung_names_count(const rung_names *t) {
    return t->count;
}

uint32_t rung_names_span(const rung_names *t) {
    return t->span;
}

size_t rung_names_size_bytes(const rung_names *t) {
    return t->size_bytes;
}

/* --- Batches: each stage reads only what the stage before it prefetched --- */

void rung_names_prefetch(const rung_names *t, uint64_t hash) {
    rung_prefetch(bucket_at(t, home_of(t, hash)));
}

/* The first bucket from the home on with a slot of the right tag, and which slots those are; 0 if there is none. */
static inline unsigned candidates(const rung_names *t, uint64_t hash, const bucket **bucket_out) {
    for (uint64_t i = home_of(t, hash);; i++) {
        const bucket *b = *bucket_out = bucket_at(t, i);
        unsigned m = bucket_match(b, tag_of(hash));
        if (m || !b->passed)
            return m;
    }
}

void rung_names_prefetch_number(const rung_names *t, uint64_t hash) {
    const bucket *b;
    for (unsigned m = candidates(t, hash, &b); m; m &= m - 1)
        rung_prefetch(offset_at(t, b->numbers[__builtin_ctz(m)]));
}

void rung_names_prefetch_cell(const rung_names *t, uint64_t hash) {
    const bucket *b;
    for (unsigned m = candidates(t, hash, &b); m; m &= m - 1)
        prefetch_cell(cell_at(t, *offset_at(t, b->numbers[__builtin_ctz(m)])));
}

static void batch_prepare(const rung_names *t, const rung_slice *ids, size_t n, uint64_t *hashes) {
    for (size_t i = 0; i < n; i++) {
        hashes[i] = rung_names_hash(t, ids[i]);
        rung_names_prefetch(t, hashes[i]);
    }
    for (size_t i = 0; i < n; i++)
        rung_names_prefetch_number(t, hashes[i]);
    for (size_t i = 0; i < n; i++)
        rung_names_prefetch_cell(t, hashes[i]);
}

size_t rung_names_find_batch(const rung_names *t, const rung_slice *ids, size_t n,
                             uint32_t *numbers_out) {
    uint64_t hashes[BATCH];
    size_t found = 0;
    for (size_t start = 0; start < n; start += BATCH) {
        size_t len = n - start < BATCH ? n - start : BATCH;
        batch_prepare(t, ids + start, len, hashes);
        for (size_t i = 0; i < len; i++) {
            uint32_t *number = numbers_out + start + i;
            if (rung_names_find_hashed(t, hashes[i], ids[start + i], number) == RUNG_OK)
                found++;
            else
                *number = RUNG_PLAYER_NONE;
        }
    }
    return found;
}

/* Not in groups, which would stall at their ends: number i is prefetched while number i - LAG reads its offset. */
void rung_names_id_used(const rung_names *t, const uint32_t *numbers, size_t n,
                        rung_slice *ids_out) {
    enum { LAG = BATCH / 2 };
    for (size_t i = 0; i < n + 2 * LAG; i++) {
        size_t cell = i - LAG, id = i - 2 * LAG; /* a negative number wraps and is not below n */
        if (i < n)
            rung_prefetch(offset_at(t, numbers[i]));
        if (cell < n) {
            ids_out[cell].ptr = (const char *)cell_at(t, *offset_at(t, numbers[cell])) + 1;
            prefetch_cell(ids_out[cell].ptr - 1);
        }
        if (id < n)
            ids_out[id].len = (unsigned char)ids_out[id].ptr[-1];
    }
}

/* --- Self-check: in an order in which each part may rely on those before it --- */

#define EXPECT(cond, broken)                                                                       \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return broken;                                                                         \
    } while (0)

static bool is_open(const rung_names *t, uint64_t i) {
    return i < t->low_end || (i >= t->high_start && i < t->high_end);
}

static const char *check_layout(const rung_names *t) {
    EXPECT(t->swept <= t->homes && t->homes <= t->homes_next,
           "1: swept, homes and homes_next are out of order");
    EXPECT(is_growing(t) || t->swept == t->homes, "1: swept without growth");
    EXPECT(is_growing(t) || !has_high_range(t), "2: a high range without growth");
    EXPECT(t->low_end >= t->swept, "2: an old home is not open");
    bool has_moved = t->swept < t->homes;
    EXPECT(!has_moved || is_open(t, t->swept * t->homes_next / t->homes),
           "2: the lowest new home is not open");
    EXPECT(!has_moved || is_open(t, t->homes_next - 1), "2: the highest new home is not open");
    return NULL;
}

static const char *check_numbers(const rung_names *t) {
    uint64_t used = 0, free = 0;
    for (uint32_t number = 0; number < t->span; number++)
        used += rung_names_is_used(t, number);
    EXPECT(used == t->count, "6: count is not the number of bits in use");
    for (uint32_t number = t->free_number; number != RUNG_PLAYER_NONE;
         number = *offset_at(t, number)) {
        EXPECT(number < t->span && !rung_names_is_used(t, number),
               "6: a number on the free list is not free");
        EXPECT(++free <= t->span, "6: the free list does not end");
    }
    EXPECT(used + free == t->span, "6: a free number is not on the free list");
    return NULL;
}

static bool is_cell(const rung_names *t, uint32_t offset, uint64_t units) {
    return offset + units <= t->cells_end &&
           chunk_index(CELLS, offset) == chunk_index(CELLS, offset + units - 1);
}

static const char *check_cells(const rung_names *t) {
    uint64_t units = 0;
    for (uint32_t number = 0; number < t->span; number++) {
        if (!rung_names_is_used(t, number))
            continue;
        EXPECT(is_cell(t, *offset_at(t, number), 1), "7: the offset of a player leads nowhere");
        size_t len = id_at(t, number).len;
        EXPECT(len >= 1 && len <= RUNG_PLAYER_ID_MAX, "7: an id is empty or too long");
        EXPECT(is_cell(t, *offset_at(t, number), cell_units(len)),
               "7: a cell crosses the end of its chunk");
        units += cell_units(len);
    }
    for (uint32_t u = 1; u <= CELL_UNITS_MAX; u++) {
        EXPECT((t->free_cells[u] != NO_CELL) == (t->free_sizes >> u & 1),
               "7: free_sizes and free_cells differ");
        for (uint32_t offset = t->free_cells[u]; offset != NO_CELL;) {
            EXPECT(is_cell(t, offset, u) && (units += u) <= t->cells_end,
                   "7: free cells that cannot be");
            memcpy(&offset, cell_at(t, offset), sizeof offset);
        }
    }
    EXPECT(units == t->cells_end, "7: cells in use and free cells are not all cells");
    return NULL;
}

/* Invariant 4 in one pass. Let W be any function of the bucket. An entry that lies in bucket i and has its home in h
 * passed the buckets between, whose steps W(x + 1) - W(x) add up to W(i) - W(h). Over all entries that is the sum of
 * each step times its bucket's `passed`. With a W like this one, wrong counters do not come out right by chance. */
typedef struct totals {
    uint64_t entries, passed_steps, entry_steps;
} totals;

static const char *check_range(const rung_names *t, uint64_t start, uint64_t end, totals *sum) {
    for (uint64_t i = start; i < end; i++) {
        const bucket *b = bucket_at(t, i);
        sum->passed_steps += b->passed * (rung_hash_word(i + 1) - rung_hash_word(i));
        for (unsigned s = 0; s < SLOTS; s++) {
            if (!b->tags[s])
                continue;
            EXPECT(rung_names_is_used(t, b->numbers[s]), "5: a slot holds a number nobody has");
            uint64_t hash = rung_names_hash(t, id_at(t, b->numbers[s])), home = home_of(t, hash);
            EXPECT(b->tags[s] == tag_of(hash), "3: a tag is not that of its id");
            EXPECT(home >= start && home <= i, "4: an entry lies before its home");
            sum->entry_steps += rung_hash_word(i) - rung_hash_word(home);
            sum->entries++;
        }
    }
    EXPECT(start == end || bucket_at(t, end - 1)->passed == 0, "4: entries passed the last bucket");
    return NULL;
}

static const char *check_buckets(const rung_names *t) {
    totals sum = {0};
    const char *broken = check_range(t, 0, t->low_end, &sum);
    if (!broken && has_high_range(t))
        broken = check_range(t, t->high_start, t->high_end, &sum);
    EXPECT(!broken, broken);
    EXPECT(sum.passed_steps == sum.entry_steps,
           "4: passed is not the number of entries that passed");
    EXPECT(sum.entries == t->count, "5: slots in use and players differ in number");
    return NULL;
}

static const char *check_found(const rung_names *t) {
    for (uint32_t number = 0; number < t->span; number++) {
        uint32_t found = number;
        if (!rung_names_is_used(t, number))
            continue;
        rung_status st = rung_names_find(t, id_at(t, number), &found);
        EXPECT(st == RUNG_OK && found == number, "5: a player is not found by its id");
    }
    return NULL;
}

const char *rung_names_check(const rung_names *t) {
    static const char *(*const parts[])(const rung_names *) = {
        check_layout, check_numbers, check_cells, check_buckets, check_found};
    const char *broken = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !broken; i++)
        broken = parts[i](t);
    return broken;
}
