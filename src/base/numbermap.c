/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants, checked by rung_numbermap_check():
 *
 *   L1 A key is in at most one of the two stores.
 *   L2 array_count and hash_count are the numbers of keys in each.
 *   L3 A page of local depth d is in exactly the 1 << (depth - d) directory slots that share its top d bits, and
 *      contains only keys whose hash starts with them, each reachable by probing from its home slot.
 *   L4 A page is never full, so probing ends.
 *
 * The array costs 4 bytes times the span, the hash table about 13 bytes per entry: the array wins from a density of
 * about 1/3. Between 1/12 and 1/3 nothing switches, so a map cannot flap between homes. */
#include "base/numbermap.h"

#include "base/assert.h"
#include "base/hash.h"

#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { CHUNK0_LEN = 4, PAGE_BITS = 3, ARRAY_DRAIN = 3, SPAN_SMALL = 16 };
#else
enum { CHUNK0_LEN = 256, PAGE_BITS = 8, ARRAY_DRAIN = 64, SPAN_SMALL = 1024 };
#endif
enum {
    CHUNK_BITS = RUNG__NUMBER_CHUNK_BITS,
    CHUNK_LEN = 1 << CHUNK_BITS,
    PAGE_SLOTS = 1 << PAGE_BITS,
    PAGE_FILL = PAGE_SLOTS - PAGE_SLOTS / 8, /* a page splits rather than hold more */
    DENSE_FROM = 3,                          /* array when count * 3 >= span */
    SPARSE_FROM = 12,                        /* hash when count * 12 < span */
};

#define EMPTY UINT64_MAX /* no value is RUNG_NUMBER_NONE */

struct rung__number_page {
    uint16_t used;
    uint8_t local_depth;
    uint64_t slot[PAGE_SLOTS]; /* key << 32 | value, or EMPTY */
};

/* ---- the hash table ---- */

static uint64_t player_hash(uint32_t key) {
    return rung_hash_word(key + UINT64_C(0x9e3779b97f4a7c15));
}

static uint32_t directory_index(const rung_numbermap *m, uint64_t h) {
    return m->depth ? (uint32_t)(h >> (64 - m->depth)) : 0;
}

static uint32_t home_slot(uint64_t h) {
    return (uint32_t)h & (PAGE_SLOTS - 1);
}

static uint32_t slot_player(uint64_t slot) {
    return (uint32_t)(slot >> 32);
}

/* The slot of the key, or the empty slot where probing for it ends (L4). */
static uint32_t page_probe(const rung__number_page *page, uint32_t key, uint64_t h) {
    uint32_t i = home_slot(h);
    while (page->slot[i] != EMPTY && slot_player(page->slot[i]) != key)
        i = (i + 1) & (PAGE_SLOTS - 1);
    return i;
}

static rung__number_page *hash_page(const rung_numbermap *m, uint64_t h) {
    return m->pages ? m->pages[directory_index(m, h)] : NULL;
}

static uint64_t *hash_find(const rung_numbermap *m, uint32_t key) {
    uint64_t h = player_hash(key);
    rung__number_page *page = hash_page(m, h);
    if (!page)
        return NULL;
    uint64_t *slot = &page->slot[page_probe(page, key, h)];
    return *slot == EMPTY ? NULL : slot;
}

static void page_add(rung__number_page *page, uint32_t key, uint32_t value) {
    uint32_t i = page_probe(page, key, player_hash(key));
    RUNG_ASSERT(page->slot[i] == EMPTY && page->used < PAGE_SLOTS - 1);
    page->slot[i] = (uint64_t)key << 32 | value;
    page->used++;
}

/* Close the gap so that no probe sequence is cut: move back every entry that may fill the hole. */
static void page_erase(rung__number_page *page, uint32_t hole) {
    uint32_t i = hole;
    page->used--;
    for (;;) {
        i = (i + 1) & (PAGE_SLOTS - 1);
        uint64_t v = page->slot[i];
        if (v == EMPTY)
            break;
        uint32_t home = home_slot(player_hash(slot_player(v)));
        if (((i - home) & (PAGE_SLOTS - 1)) >= ((i - hole) & (PAGE_SLOTS - 1))) {
            page->slot[hole] = v;
            hole = i;
        }
    }
    page->slot[hole] = EMPTY;
}

static rung__number_page *page_new(rung_numbermap *m, const rung_alloc *a, uint8_t local_depth) {
    rung__number_page *page = rung_alloc_get(a, sizeof *page);
    if (!page)
        return NULL;
    m->bytes += sizeof *page;
    page->used = 0;
    page->local_depth = local_depth;
    memset(page->slot, 0xff, sizeof page->slot);
    return page;
}

static rung_status directory_double(rung_numbermap *m, const rung_alloc *a) {
    size_t old = (size_t)1 << m->depth;
    rung__number_page **wide = rung_alloc_get(a, 2 * old * sizeof *wide);
    if (!wide)
        return RUNG_ENOMEM;
    for (size_t i = 0; i < old; i++)
        wide[2 * i] = wide[2 * i + 1] = m->pages[i];
    rung_alloc_free(a, m->pages, old * sizeof *wide);
    m->pages = wide;
    m->bytes += old * sizeof *wide;
    m->depth++;
    return RUNG_OK;
}

/* Split the page at directory slot `at`; its keys go left or right by the next bit of their hash. */
static rung_status page_split(rung_numbermap *m, const rung_alloc *a, uint32_t at) {
    rung__number_page *page = m->pages[at];
    if (page->local_depth == m->depth) {
        if (directory_double(m, a) < 0)
            return RUNG_ENOMEM;
        at *= 2;
    }
    uint8_t bit = (uint8_t)(page->local_depth + 1);
    rung__number_page *right = page_new(m, a, bit), *left = page_new(m, a, bit);
    if (!left || !right) {
        rung__number_page *got = left ? left : right;
        m->bytes -= got ? sizeof *got : 0;
        rung_alloc_free(a, got, sizeof *got);
        return RUNG_ENOMEM;
    }
    for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
        if (page->slot[i] == EMPTY)
            continue;
        uint32_t key = slot_player(page->slot[i]);
        page_add(player_hash(key) >> (64 - bit) & 1 ? right : left, key, (uint32_t)page->slot[i]);
    }
    uint32_t run = UINT32_C(1) << (m->depth - page->local_depth), first = at & ~(run - 1);
    for (uint32_t i = 0; i < run; i++)
        m->pages[first + i] = i < run / 2 ? left : right;
    m->bytes -= sizeof *page;
    rung_alloc_free(a, page, sizeof *page);
    return RUNG_OK;
}

static rung_status hash_reserve(rung_numbermap *m, const rung_alloc *a, uint32_t key) {
    if (!m->pages) {
        rung__number_page **pages = rung_alloc_get(a, sizeof *pages);
        if (!pages)
            return RUNG_ENOMEM;
        pages[0] = page_new(m, a, 0);
        if (!pages[0]) {
            rung_alloc_free(a, pages, sizeof *pages);
            return RUNG_ENOMEM;
        }
        m->pages = pages;
        m->bytes += sizeof *pages;
        m->depth = 0;
        m->hash_drained = 0;
    }
    uint64_t h = player_hash(key);
    while (hash_page(m, h)->used >=
           PAGE_FILL) /* distinct keys have distinct hashes: splitting ends */
        if (page_split(m, a, directory_index(m, h)) < 0)
            return RUNG_ENOMEM;
    return RUNG_OK;
}

static void hash_free(rung_numbermap *m, const rung_alloc *a) {
    if (!m->pages)
        return;
    size_t slots = (size_t)1 << m->depth;
    for (size_t i = 0; i < slots;) {
        size_t run = (size_t)1 << (m->depth - m->pages[i]->local_depth);
        rung_alloc_free(a, m->pages[i], sizeof *m->pages[i]);
        m->bytes -= sizeof(rung__number_page);
        i += run;
    }
    rung_alloc_free(a, m->pages, slots * sizeof *m->pages);
    m->bytes -= slots * sizeof *m->pages;
    m->pages = NULL;
}

/* ---- the array ---- */

/* Make an array cell for the key, which has none. The cell and the `*fresh_out` cells allocated with it are not
 * zeroed. */
static uint32_t *array_open(rung_numbermap *m, const rung_alloc *a, uint32_t key,
                            uint32_t *fresh_out) {
    uint32_t c = key >> CHUNK_BITS, i = key & (CHUNK_LEN - 1);
    if (c >= m->chunk_count) {
        uint32_t count = c + 1 + c / 4;
        uint32_t **chunks = rung_alloc_resize(a, m->chunks, m->chunk_count * sizeof *chunks,
                                              count * sizeof *chunks);
        if (!chunks)
            return NULL;
        memset(chunks + m->chunk_count, 0, (count - m->chunk_count) * sizeof *chunks);
        m->bytes += (count - m->chunk_count) * sizeof *chunks;
        m->chunks = chunks;
        m->chunk_count = count;
    }
    uint32_t old = c == 0 ? m->chunk0_len : 0, len = c == 0 ? (old ? old : CHUNK0_LEN) : CHUNK_LEN;
    while (len <= i)
        len *= 2;
    uint32_t *chunk = rung_alloc_resize(a, m->chunks[c], old * sizeof *chunk, len * sizeof *chunk);
    if (!chunk)
        return NULL;
    m->bytes += (len - old) * sizeof *chunk;
    m->chunks[c] = chunk;
    if (c == 0)
        m->chunk0_len = len;
    *fresh_out = len - old;
    return chunk + old;
}

static rung_status array_reserve(rung_numbermap *m, const rung_alloc *a, uint32_t key) {
    uint32_t n, *fresh;
    if (rung__numbermap_cell(m, key))
        return RUNG_OK;
    fresh = array_open(m, a, key, &n);
    if (!fresh)
        return RUNG_ENOMEM;
    memset(fresh, 0, n * sizeof *fresh);
    return RUNG_OK;
}

static uint32_t chunk_len(const rung_numbermap *m, uint32_t c) {
    return c == 0 ? m->chunk0_len : (uint32_t)CHUNK_LEN;
}

static void chunk_free(rung_numbermap *m, const rung_alloc *a, uint32_t c) {
    size_t len = m->chunks[c] ? chunk_len(m, c) * sizeof **m->chunks : 0;
    rung_alloc_free(a, m->chunks[c], len);
    m->bytes -= len;
    m->chunks[c] = NULL;
    if (c == 0)
        m->chunk0_len = 0;
}

static void array_free(rung_numbermap *m, const rung_alloc *a) {
    for (uint32_t c = 0; c < m->chunk_count; c++)
        chunk_free(m, a, c);
    rung_alloc_free(a, m->chunks, m->chunk_count * sizeof *m->chunks);
    m->bytes -= m->chunk_count * sizeof *m->chunks;
    m->chunks = NULL;
    m->chunk_count = 0;
}

/* ---- homes ---- */

static void choose_home(rung_numbermap *m, uint32_t key) {
    uint64_t count = (uint64_t)m->array_count + m->hash_count + 1;
    count = count < m->expected ? m->expected : count;
    uint64_t span = key >= m->span ? (uint64_t)key + 1 : m->span;
    if (m->hash_is_home && count * DENSE_FROM >= span) {
        m->hash_is_home = false;
        m->hash_drained = 0;
    } else if (!m->hash_is_home && count * SPARSE_FROM < span && span > SPAN_SMALL) {
        m->hash_is_home = true;
        m->array_drained = 0;
    }
}

/* Move a few entries from the array into the hash table, but not into the slot reserved for `guest`: a repeated
 * reservation must not need memory. If out of memory, retry later. */
static void drain_array(rung_numbermap *m, const rung_alloc *a, uint32_t guest) {
    for (int i = 0; i < ARRAY_DRAIN && m->array_count; i++) {
        uint32_t key = m->array_drained, *value = rung__numbermap_cell(m, key);
        if (!value) { /* a chunk that was never opened */
            m->array_drained = (key | (CHUNK_LEN - 1)) + 1;
            continue;
        }
        if (*value) {
            if (hash_reserve(m, a, key) < 0)
                return;
            rung__number_page *page = hash_page(m, player_hash(key));
            if (page->used == PAGE_FILL - 1 && page == hash_page(m, player_hash(guest)))
                return;
            page_add(page, key, *value - 1);
            m->hash_count++;
            m->array_count--;
            *value = 0;
        }
        m->array_drained++;
    }
    if (!m->array_count && m->chunks)
        array_free(m, a);
}

/* Move a page of the hash table, or as much as fits with one new chunk, into the array: a chunk is 2 MiB of zeros,
 * and the keys of a page are scattered over the span. */
static void drain_hash(rung_numbermap *m, const rung_alloc *a) {
    if (m->hash_count) {
        rung__number_page *page = m->pages[m->hash_drained];
        bool opened = false;
        for (uint32_t i = 0; i < PAGE_SLOTS;) {
            uint64_t v = page->slot[i];
            if (v == EMPTY) {
                i++;
                continue;
            }
            if (!rung__numbermap_cell(m, slot_player(v))) {
                if (opened || array_reserve(m, a, slot_player(v)) < 0)
                    return;
                opened = true;
            }
            *rung__numbermap_cell(m, slot_player(v)) = (uint32_t)v + 1;
            page_erase(page, i); /* may pull another one into slot i */
            m->array_count++;
            m->hash_count--;
        }
        m->hash_drained += UINT32_C(1) << (m->depth - page->local_depth);
    }
    if (!m->hash_count && m->pages)
        hash_free(m, a);
}

rung_status rung_numbermap_reserve(rung_numbermap *m, const rung_alloc *a, uint32_t key) {
    choose_home(m, key);
    if (m->hash_is_home) {
        if (hash_reserve(m, a, key) < 0)
            return RUNG_ENOMEM;
        if (m->chunks)
            drain_array(m, a, key);
        return RUNG_OK;
    }
    if (m->pages)
        drain_hash(m, a);
    return array_reserve(m, a, key);
}

/* In the hash table, or for the first time. */
void rung__numbermap_set_elsewhere(rung_numbermap *m, uint32_t key, uint32_t value) {
    RUNG_ASSERT(value != RUNG_NUMBER_NONE);
    uint64_t *slot = m->hash_count ? hash_find(m, key) : NULL;
    if (slot) {
        *slot = (uint64_t)key << 32 | value;
        return;
    }
    if (m->hash_is_home) {
        page_add(hash_page(m, player_hash(key)), key, value);
        m->hash_count++;
    } else {
        *rung__numbermap_cell(m, key) = value + 1;
        m->array_count++;
    }
    if (key >= m->span)
        m->span = (uint64_t)key + 1;
}

uint32_t rung__numbermap_get_hashed(const rung_numbermap *m, uint32_t key) {
    const uint64_t *slot = hash_find(m, key);
    return slot ? (uint32_t)*slot : RUNG_NUMBER_NONE;
}

rung_status rung_numbermap_add(rung_numbermap *m, const rung_alloc *a, uint32_t key,
                               uint32_t value) {
    uint32_t *cell = rung__numbermap_cell(m, key);
    RUNG_ASSERT(value != RUNG_NUMBER_NONE);
    /* The common case: another key within a span for which the array was chosen cannot make it the wrong home. */
    if (cell && !*cell && key < m->span && !m->hash_is_home && !m->pages) {
        *cell = value + 1;
        m->array_count++;
        return RUNG_OK;
    }
    if (rung_numbermap_get(m, key) != RUNG_NUMBER_NONE)
        return RUNG_UNCHANGED;
    if (rung_numbermap_reserve(m, a, key) < 0)
        return RUNG_ENOMEM;
    rung_numbermap_set(m, key, value);
    return RUNG_OK;
}

void rung_numbermap_remove(rung_numbermap *m, uint32_t key) {
    uint32_t *cell = rung__numbermap_cell(m, key);
    if (cell && *cell) {
        *cell = 0;
        m->array_count--;
        return;
    }
    uint64_t h = player_hash(key);
    rung__number_page *page = hash_page(m, h);
    uint32_t i = page_probe(page, key, h);
    RUNG_ASSERT(page->slot[i] != EMPTY);
    page_erase(page, i);
    m->hash_count--;
}

/* ---- many at once ---- */

static size_t bitmap_bytes(uint32_t span) {
    return ((size_t)span + 63) / 64 * sizeof(uint64_t);
}

bool rung_numbermap_fill_fits(uint32_t count, uint32_t span) {
    return span && (uint64_t)count * DENSE_FROM >= span;
}

rung_status rung_numbermap_fill_begin(rung_numbermap_fill *f, rung_numbermap *m,
                                      const rung_alloc *a, uint32_t span) {
    RUNG_ASSERT(span && !m->chunks && !m->pages);
    uint64_t *is_in = rung_alloc_zeroed(a, bitmap_bytes(span));
    bool is_open = is_in != NULL;
    for (uint32_t c = (span - 1) >> CHUNK_BITS; is_open && c; c--) {
        uint32_t n;
        is_open = array_open(m, a, (c << CHUNK_BITS) + CHUNK_LEN - 1, &n) != NULL;
    }
    uint32_t n, last = span < CHUNK_LEN ? span - 1 : CHUNK_LEN - 1;
    is_open = is_open && array_open(m, a, last, &n);
    if (!is_open) {
        array_free(m, a);
        rung_alloc_free(a, is_in, is_in ? bitmap_bytes(span) : 0);
        return RUNG_ENOMEM;
    }
    m->hash_is_home = false;
    *f = (rung_numbermap_fill){m, a, is_in, span};
    return RUNG_OK;
}

uint32_t *rung_numbermap_fill_notes(const rung_numbermap_fill *f, uint32_t from, uint32_t *n_out) {
    uint32_t in_chunk = CHUNK_LEN - (from & (CHUNK_LEN - 1));
    if (from >= f->span)
        return NULL;
    *n_out = f->span - from < in_chunk ? f->span - from : in_chunk;
    return rung__numbermap_cell(f->map, from);
}

/* In 64 cells from `at` on: count the filled ones, and clear the others. */
static void settle(rung_numbermap *m, uint64_t at, uint64_t is_in) {
    m->array_count += (uint32_t)__builtin_popcountll(is_in);
    if (is_in)
        m->span = at + 64 - (uint64_t)__builtin_clzll(is_in);
    for (uint64_t out = ~is_in; out; out &= out - 1) {
        uint32_t *cell = rung__numbermap_cell(m, (uint32_t)at + (uint32_t)__builtin_ctzll(out));
        if (cell)
            *cell = 0;
    }
}

static bool chunk_is_empty(const rung_numbermap *m, uint32_t c) {
    uint32_t i = 0, len = m->chunks[c] ? chunk_len(m, c) : 0;
    while (i < len && !m->chunks[c][i])
        i++;
    return i == len;
}

void rung_numbermap_fill_end(rung_numbermap_fill *f) {
    rung_numbermap *m = f->map;
    if (!m)
        return;
    uint64_t end = ((uint64_t)((f->span - 1) >> CHUNK_BITS) + 1) << CHUNK_BITS;
    for (uint64_t at = 0; at < end; at += 64)
        settle(m, at, at < f->span ? f->is_in[at / 64] : 0);
    for (uint32_t c = 0; c < m->chunk_count; c++)
        if (chunk_is_empty(m, c))
            chunk_free(m, f->alloc, c);
    if (!m->array_count)
        array_free(m, f->alloc);
    rung_alloc_free(f->alloc, f->is_in, bitmap_bytes(f->span));
    *f = (rung_numbermap_fill){0};
}

/* ---- in order ---- */

/* The smallest numbers so far: a max-heap, whose top can be replaced. */
typedef struct smallest {
    uint32_t *heap;
    uint32_t count, room;
} smallest;

static void heap_sink(uint32_t *heap, uint32_t count, uint32_t value) {
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < count) {
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static void smallest_offer(smallest *s, uint32_t number) {
    if (s->count == s->room) {
        if (number < s->heap[0])
            heap_sink(s->heap, s->count, number);
        return;
    }
    uint32_t at = s->count++;
    for (; at && s->heap[(at - 1) / 2] < number; at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = number;
}

static void smallest_sort(smallest *s) {
    for (uint32_t end = s->count; end > 1;) {
        uint32_t last = s->heap[--end];
        s->heap[end] = s->heap[0];
        heap_sink(s->heap, end, last);
    }
}

/* Visit every entry of both stores. */
static uint32_t list_by_store(const rung_numbermap *m, uint32_t from, uint32_t *keys,
                              uint32_t room) {
    smallest s = {keys, 0, room};
    for (uint32_t c = from >> CHUNK_BITS; c < m->chunk_count; c++)
        for (uint32_t i = 0; m->chunks[c] && i < chunk_len(m, c); i++)
            if (m->chunks[c][i] && (c << CHUNK_BITS) + i >= from)
                smallest_offer(&s, (c << CHUNK_BITS) + i);
    for (uint32_t at = 0; at < UINT32_C(1) << m->depth;) {
        const rung__number_page *page = m->pages[at];
        for (uint32_t i = 0; i < PAGE_SLOTS; i++)
            if (page->slot[i] != EMPTY && slot_player(page->slot[i]) >= from)
                smallest_offer(&s, slot_player(page->slot[i]));
        at += UINT32_C(1) << (m->depth - page->local_depth);
    }
    smallest_sort(&s);
    return s.count;
}

/* Look up every number in the span. */
static uint32_t list_by_number(const rung_numbermap *m, uint32_t from, uint32_t *keys,
                               uint32_t room) {
    uint32_t n = 0;
    for (uint64_t key = from; key < m->span && n < room; key++)
        if (rung_numbermap_get(m, (uint32_t)key) != RUNG_NUMBER_NONE)
            keys[n++] = (uint32_t)key;
    return n;
}

uint32_t rung_numbermap_list(const rung_numbermap *m, uint32_t from, uint32_t *keys,
                             uint32_t room) {
    uint64_t count = (uint64_t)m->array_count + m->hash_count;
    bool scattered = m->hash_count && count * (count / room + 1) < m->span;
    return scattered ? list_by_store(m, from, keys, room)
           : count   ? list_by_number(m, from, keys, room)
                     : 0;
}

void rung__numbermap_prefetch_hashed(const rung_numbermap *m, uint32_t key) {
    uint64_t h = player_hash(key);
    rung_prefetch(&hash_page(m, h)->slot[home_slot(h)]);
}

void rung_numbermap_deinit(rung_numbermap *m, const rung_alloc *a) {
    hash_free(m, a);
    array_free(m, a);
    RUNG_ASSERT(m->bytes == 0);
    memset(m, 0, sizeof *m);
}

const char *rung_numbermap_check(const rung_numbermap *m) {
    uint32_t in_array = 0, in_hash = 0;
    for (uint32_t c = 0; c < m->chunk_count; c++)
        for (uint32_t i = 0; m->chunks[c] && i < chunk_len(m, c); i++) {
            if (m->chunks[c][i] && m->hash_count && hash_find(m, (c << CHUNK_BITS) + i))
                return "L1: a key is in both stores";
            in_array += m->chunks[c][i] != 0;
        }
    for (uint32_t at = 0; m->pages && at < UINT32_C(1) << m->depth;) {
        const rung__number_page *page = m->pages[at];
        uint32_t run = UINT32_C(1) << (m->depth - page->local_depth), used = 0;
        for (uint32_t i = 0; i < run; i++)
            if (m->pages[at + i] != page)
                return "L3: a page does not stand in all of its directory slots";
        for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
            if (page->slot[i] == EMPTY)
                continue;
            uint64_t h = player_hash(slot_player(page->slot[i]));
            if (directory_index(m, h) - at >= run ||
                page_probe(page, slot_player(page->slot[i]), h) != i)
                return "L3: a key cannot be reached by its hash";
            used++;
        }
        if (used != page->used || used >= PAGE_SLOTS)
            return "L4: a page's count is wrong, or it is full";
        in_hash += used;
        at += run;
    }
    return in_array == m->array_count && in_hash == m->hash_count
               ? NULL
               : "L2: the map's counts are wrong";
}
