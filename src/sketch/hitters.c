/* SPDX-License-Identifier: Apache-2.0 */
/* Space-Saving (Metwally, Agrawal, El Abbadi 2005) for weighted items with
 * names.
 *
 * A name that is not held takes the place of the lightest one, whose count
 * becomes its error. Two things differ from the textbook. Names take room of
 * their own, so several entries may have to go for a long name; `floor` is the
 * largest count that was ever evicted, and a name that enters later starts from
 * there. And entries are kept in a heap instead of buckets of equal counts,
 * because weights are not always 1.
 *
 * Why the bound holds: let u = count - floor for every entry. Adding w to an
 * entry, or a new entry at floor + w, adds w to the sum of u. An eviction with
 * m entries present raises floor by the smallest u and so takes m times as much
 * from the sum. Hence (sum of u) + m * floor <= total for the smallest such m.
 * The layout and the invariants are in hitters_table.h. */
#include "sketch/hitters.h"

#include "sketch/hitters_table.h"
#include "sketch/seed.h"

#include <string.h>

#define LONGEST_RECORD (1 + RUNG_HITTERS_NAME_MAX)

/* Three fifths of the slots are taken at most. The shortest names that the slots are made for have 7 bytes. */
static uint32_t slots_of(uint32_t capacity) {
    return capacity + capacity * 2 / 3 + 1;
}

/* Bytes of names with the eighth more that keeps the work of moving them small.
 */
static uint64_t padded(uint64_t name_bytes) {
    return name_bytes + name_bytes / 8;
}

static size_t fixed_bytes(uint32_t capacity) {
    return sizeof(rung_hitters) + slots_of(capacity) * sizeof(uint32_t);
}

static uint32_t capacity_max(size_t memory_bytes) {
    return (uint32_t)((memory_bytes - sizeof(rung_hitters)) * 3 /
                      (3 * sizeof(rung__hitters_cell) + 20 + 27));
}

uint32_t rung_hitters_capacity_of(size_t memory_bytes, uint32_t name_len) {
    uint32_t most = capacity_max(memory_bytes);
    size_t area = memory_bytes - fixed_bytes(most) - LONGEST_RECORD;
    size_t entry_eighths = sizeof(rung__hitters_cell) * 8 + ((size_t)name_len + 1) * 9;
    size_t fitting = area * 8 / entry_eighths;
    return fitting < most ? (uint32_t)fitting : most;
}

static void empty(rung_hitters *h) {
    memset(h->slots, 0, h->slot_count * sizeof *h->slots);
    h->total = h->floor = 0;
    memset(h->holes, 0, sizeof h->holes);
    h->count = h->name_used = h->name_size = 0;
}

rung_status rung_hitters_create(const rung_hitters_config *config, rung_hitters **out) {
    if (config->memory_bytes < RUNG_HITTERS_MEMORY_MIN ||
        config->memory_bytes > RUNG_HITTERS_MEMORY_MAX)
        return RUNG_EINVAL;
    size_t bytes = config->memory_bytes & ~(size_t)7;
    uint32_t capacity = capacity_max(config->memory_bytes);
    rung_hitters *h = rung_alloc_get(config->alloc, bytes);
    if (!h)
        return RUNG_ENOMEM;
    uint32_t *slots = (uint32_t *)(h + 1);
    *h = (rung_hitters){
        .alloc = config->alloc,
        .block_bytes = bytes,
        .memory_bytes = config->memory_bytes,
        .seed = config->seed,
        .secret = config->secret,
        .key = rung__sketch_key(config->seed),
        .capacity = capacity,
        .slot_count = slots_of(capacity),
        .area_bytes = (uint32_t)(bytes - fixed_bytes(capacity)),
        .slots = slots,
        .cells = (rung__hitters_cell *)(slots + slots_of(capacity)),
        .names_end = (uint8_t *)h + bytes,
    };
    empty(h);
    *out = h;
    return RUNG_OK;
}

void rung_hitters_destroy(rung_hitters *h) {
    if (h)
        rung_alloc_free(h->alloc, h, h->block_bytes);
}

void rung_hitters_clear(rung_hitters *h) {
    empty(h);
}

/* ---- names ---- */

static rung_slice name_at(const rung_hitters *h, uint32_t at) {
    const uint8_t *end = h->names_end - at - 1; /* at its length */
    return rung_slice_of(end - *end, *end);
}

rung_slice rung__hitters_name(const rung_hitters *h, uint32_t entry) {
    return name_at(h, h->cells[entry].entry.name_at);
}

uint32_t rung__hitters_tie(const rung_hitters *h, rung_slice name) {
    return (uint32_t)(rung_hash_keyed(&h->key, name.ptr, name.len) >> 32);
}

bool rung__hitters_fits(const rung_hitters *h, size_t name_len) {
    return h->count < h->capacity && ((uint64_t)h->count + 1) * sizeof(rung__hitters_cell) +
                                             padded(h->name_used + 1 + name_len) + LONGEST_RECORD <=
                                         h->area_bytes;
}

/* ---- the table ---- */

static uint64_t mixed(const rung_hitters *h, uint32_t tie) {
    return rung_hash_word(tie ^ h->secret);
}

static uint32_t home_of(const rung_hitters *h, uint64_t mix) {
    return (uint32_t)((mix >> 32) * h->slot_count >> 32);
}

static uint32_t tag_of(uint64_t mix) {
    return (uint32_t)mix & ~((1u << RUNG__HITTERS_NUMBER_BITS) - 1);
}

static uint32_t entry_in(uint32_t slot) {
    return (slot & ((1u << RUNG__HITTERS_NUMBER_BITS) - 1)) - 1;
}

static uint32_t next_slot(const rung_hitters *h, uint32_t i) {
    return i + 1 == h->slot_count ? 0 : i + 1;
}

/* The slot with that name, or the free one where the search ends. */
static uint32_t search(const rung_hitters *h, uint32_t tie, rung_slice name) {
    uint64_t mix = mixed(h, tie);
    uint32_t i = home_of(h, mix), tag = tag_of(mix);
    for (; h->slots[i]; i = next_slot(h, i)) {
        if ((h->slots[i] ^ tag) >> RUNG__HITTERS_NUMBER_BITS)
            continue;
        if (rung_slice_eq(rung__hitters_name(h, entry_in(h->slots[i])), name))
            break;
    }
    return i;
}

static uint32_t tie_of(const rung_hitters *h, uint32_t entry) {
    return h->cells[h->cells[entry].entry.heap_at].place.tie;
}

/* Free slot i and move later ones of the run into the gap where they may stand
 * there. */
static void free_slot(rung_hitters *h, uint32_t i) {
    h->slots[i] = 0;
    for (uint32_t j = next_slot(h, i); h->slots[j]; j = next_slot(h, j)) {
        uint32_t home = home_of(h, mixed(h, tie_of(h, entry_in(h->slots[j]))));
        bool is_between = i <= j ? i < home && home <= j : i < home || home <= j;
        if (!is_between) {
            h->slots[i] = h->slots[j];
            h->slots[j] = 0;
            i = j;
        }
    }
}

/* ---- where names go ---- */

/* Move the records in use to the end. A record is in use if the entry of that
 * name has it. */
static void compact_names(rung_hitters *h) {
    uint32_t to = 0;
    for (uint32_t from = 0; from < h->name_size;) {
        rung_slice name = name_at(h, from);
        uint32_t size = (uint32_t)name.len + 1;
        uint32_t slot = h->slots[search(h, rung__hitters_tie(h, name), name)];
        from += size;
        if (!slot || h->cells[entry_in(slot)].entry.name_at != from - size)
            continue;
        to += size;
        memmove(h->names_end - to, h->names_end - from, size);
        h->cells[entry_in(slot)].entry.name_at = to - size;
    }
    h->name_size = to;
    memset(h->holes, 0, sizeof h->holes);
}

static void free_name(rung_hitters *h, uint32_t at) {
    rung_slice name = name_at(h, at);
    h->name_used -= (uint32_t)name.len + 1;
    if (name.len < 4)
        return;
    rung_put32(h->names_end - at - 1 - name.len, h->holes[name.len]);
    h->holes[name.len] = at + 1;
}

/* Space for a record of that size: a free one, or new at the end, with room for one more cell below it. */
static uint32_t take_record(rung_hitters *h, uint32_t size) {
    uint32_t *hole = &h->holes[size - 1];
    bool is_full = (h->count + 1) * sizeof(rung__hitters_cell) + h->name_size > h->area_bytes;
    if (*hole && !is_full) {
        uint32_t at = *hole - 1;
        *hole = rung_get32(h->names_end - at - size);
        return at;
    }
    if ((h->count + 1) * sizeof(rung__hitters_cell) + h->name_size + size > h->area_bytes)
        compact_names(h);
    h->name_size += size;
    return h->name_size - size;
}

static uint32_t put_name(rung_hitters *h, rung_slice name) {
    uint32_t size = (uint32_t)name.len + 1, at = take_record(h, size);
    uint8_t *end = h->names_end - at;
    end[-1] = (uint8_t)name.len;
    memcpy(end - size, name.ptr, name.len);
    h->name_used += size;
    return at;
}

/* ---- the heap ---- */

int rung__hitters_order(uint64_t a_count, uint32_t a_tie, rung_slice a_name, uint64_t b_count,
                        uint32_t b_tie, rung_slice b_name) {
    if (a_count != b_count)
        return a_count < b_count ? -1 : 1;
    if (a_tie != b_tie)
        return a_tie < b_tie ? -1 : 1;
    size_t len = a_name.len < b_name.len ? a_name.len : b_name.len;
    int order = memcmp(a_name.ptr, b_name.ptr, len);
    return order ? order : (a_name.len > b_name.len) - (a_name.len < b_name.len);
}

static bool is_lighter(const rung_hitters *h, const rung__hitters_place *a,
                       const rung__hitters_place *b) {
    if (a->count != b->count)
        return a->count < b->count;
    if (a->tie != b->tie)
        return a->tie < b->tie;
    return rung__hitters_order(a->count, a->tie, rung__hitters_name(h, a->entry), b->count, b->tie,
                               rung__hitters_name(h, b->entry)) < 0;
}

static void put_place(rung_hitters *h, uint32_t i, rung__hitters_place place) {
    h->cells[i].place = place;
    h->cells[place.entry].entry.heap_at = i;
}

/* The place at i has become heavier. */
static void sink(rung_hitters *h, uint32_t i, uint32_t count) {
    rung__hitters_place place = h->cells[i].place;
    for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_lighter(h, &h->cells[child + 1].place, &h->cells[child].place))
            child++;
        if (!is_lighter(h, &h->cells[child].place, &place))
            break;
        put_place(h, i, h->cells[child].place);
    }
    put_place(h, i, place);
}

static void rise(rung_hitters *h, uint32_t i) {
    rung__hitters_place place = h->cells[i].place;
    for (; i && is_lighter(h, &place, &h->cells[(i - 1) / 2].place); i = (i - 1) / 2)
        put_place(h, i, h->cells[(i - 1) / 2].place);
    put_place(h, i, place);
}

void rung__hitters_sort(rung_hitters *h) {
    for (uint32_t n = h->count; n > 1; n--) { /* heap sort leaves the heaviest first */
        rung__hitters_place last = h->cells[n - 1].place;
        put_place(h, n - 1, h->cells[0].place);
        put_place(h, 0, last);
        sink(h, 0, n - 1);
    }
    for (uint32_t i = 0, j = h->count; i + 1 < j; i++) {
        rung__hitters_place place = h->cells[i].place;
        put_place(h, i, h->cells[--j].place);
        put_place(h, j, place);
    }
}

/* ---- changes ---- */

void rung__hitters_append(rung_hitters *h, uint32_t tie, rung_slice name, uint64_t count,
                          uint64_t error) {
    uint32_t entry = h->count, at = put_name(h, name), slot = search(h, tie, name);
    h->cells[entry].entry = (rung__hitters_entry){rung__error_pack(error), at, entry};
    h->cells[entry].place = (rung__hitters_place){count, tie, entry};
    h->slots[slot] = tag_of(mixed(h, tie)) | (entry + 1);
    h->count++;
    rise(h, entry);
}

/* Entry numbers stay dense: the last one takes the number of one that goes. */
static void renumber(rung_hitters *h, uint32_t from, uint32_t to) {
    uint32_t slot = search(h, tie_of(h, from), rung__hitters_name(h, from));
    h->slots[slot] += to - from;
    h->cells[to].entry = h->cells[from].entry;
    h->cells[h->cells[to].entry.heap_at].place.entry = to;
}

static void evict_lightest(rung_hitters *h) {
    uint32_t entry = h->cells[0].place.entry, last = h->count - 1;
    rung_slice name = rung__hitters_name(h, entry);
    h->floor = h->cells[0].place.count;
    free_slot(h, search(h, h->cells[0].place.tie, name));
    free_name(h, h->cells[entry].entry.name_at);
    put_place(h, 0, h->cells[last].place);
    h->count--;
    if (h->count)
        sink(h, 0, h->count);
    if (entry != last)
        renumber(h, last, entry);
}

/* Would the name fit in place of the lightest one, and not without that? */
static bool is_replacement(const rung_hitters *h, size_t name_len) {
    size_t old = rung__hitters_name(h, h->cells[0].place.entry).len;
    return (uint64_t)h->count * sizeof(rung__hitters_cell) + padded(h->name_used - old + name_len) +
               LONGEST_RECORD <=
           h->area_bytes;
}

/* The same as evicting the lightest and appending, with one walk through the heap. */
static void replace_lightest(rung_hitters *h, uint32_t tie, rung_slice name, uint64_t weight) {
    rung__hitters_place *place = &h->cells[0].place;
    rung__hitters_entry *e = &h->cells[place->entry].entry;
    free_slot(h, search(h, place->tie, name_at(h, e->name_at)));
    free_name(h, e->name_at);
    h->floor = place->count;
    e->name_at = put_name(h, name);
    e->error = rung__error_pack(h->floor);
    place->count += weight;
    place->tie = tie;
    h->slots[search(h, tie, name)] = tag_of(mixed(h, tie)) | (place->entry + 1);
    sink(h, 0, h->count);
}

rung_status rung_hitters_add(rung_hitters *h, rung_slice name, uint64_t weight) {
    if (name.len == 0 || name.len > RUNG_HITTERS_NAME_MAX || weight == 0)
        return RUNG_EINVAL;
    if (weight > RUNG_HITTERS_TOTAL_MAX - h->total)
        return RUNG_ERANGE;
    h->total += weight;
    uint32_t tie = rung__hitters_tie(h, name), slot = h->slots[search(h, tie, name)];
    if (slot) {
        uint32_t at = h->cells[entry_in(slot)].entry.heap_at;
        h->cells[at].place.count += weight;
        sink(h, at, h->count);
        return RUNG_OK;
    }
    while (!rung__hitters_fits(h, name.len)) {
        if (is_replacement(h, name.len)) {
            replace_lightest(h, tie, name, weight);
            return RUNG_OK;
        }
        evict_lightest(h);
    }
    rung__hitters_append(h, tie, name, h->floor + weight, h->floor);
    return RUNG_OK;
}

rung_status rung_hitters_remove(rung_hitters *h, rung_slice name) {
    uint32_t at = search(h, rung__hitters_tie(h, name), name);
    if (!h->slots[at])
        return RUNG_NOT_FOUND;
    uint32_t entry = entry_in(h->slots[at]), place = h->cells[entry].entry.heap_at;
    uint32_t last = h->count - 1;
    free_slot(h, at);
    free_name(h, h->cells[entry].entry.name_at);
    h->count = last;
    if (place != last) {
        put_place(h, place, h->cells[last].place);
        rise(h, place);
        sink(h, place, last);
    }
    if (entry != last)
        renumber(h, last, entry);
    return RUNG_OK;
}

/* ---- queries ---- */

uint64_t rung_hitters_total(const rung_hitters *h) {
    return h->total;
}

uint64_t rung_hitters_floor(const rung_hitters *h) {
    return h->floor;
}

uint32_t rung_hitters_count(const rung_hitters *h) {
    return h->count;
}

uint32_t rung_hitters_capacity(const rung_hitters *h) {
    return h->capacity;
}

size_t rung_hitters_memory(const rung_hitters *h) {
    return h->block_bytes;
}

static rung_hitter row_of(const rung_hitters *h, uint32_t entry) {
    const rung__hitters_entry *e = &h->cells[entry].entry;
    uint64_t count = h->cells[e->heap_at].place.count, error = rung__error_unpack(e->error);
    return (rung_hitter){rung__hitters_name(h, entry), count, error < count ? error : count};
}

rung_status rung_hitters_find(const rung_hitters *h, rung_slice name, rung_hitter *out) {
    uint32_t tie = rung__hitters_tie(h, name), slot = h->slots[search(h, tie, name)];
    if (!slot)
        return RUNG_NOT_FOUND;
    *out = row_of(h, entry_in(slot));
    return RUNG_OK;
}

bool rung_hitters_is_alike(const rung_hitters *a, const rung_hitters *b) {
    return a->memory_bytes == b->memory_bytes && a->seed == b->seed;
}

uint32_t rung_hitters_above(const rung_hitters *h, uint64_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->count; i++)
        n += h->cells[i].place.count > count;
    return n;
}

static bool is_row_lighter(const rung_hitters *h, const rung_hitter *a, const rung_hitter *b) {
    if (a->count != b->count)
        return a->count < b->count;
    return rung__hitters_order(a->count, rung__hitters_tie(h, a->name), a->name, b->count,
                               rung__hitters_tie(h, b->name), b->name) < 0;
}

static void sink_row(const rung_hitters *h, rung_hitter *rows, uint32_t i, uint32_t n) {
    rung_hitter row = rows[i];
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_row_lighter(h, &rows[child + 1], &rows[child]))
            child++;
        if (!is_row_lighter(h, &rows[child], &row))
            break;
        rows[i] = rows[child];
    }
    rows[i] = row;
}

uint32_t rung_hitters_top(const rung_hitters *h, uint32_t offset, uint32_t limit,
                          rung_hitter *rows) {
    uint32_t want = limit > h->count || offset > h->count - limit ? h->count : offset + limit,
             n = 0;
    if (offset >= want)
        return 0;
    for (uint32_t i = h->count; i-- > 0;) { /* the heavy ones are at the end */
        if (n == want && h->cells[i].place.count < rows[0].count)
            continue;
        rung_hitter row = row_of(h, h->cells[i].place.entry);
        if (n < want) {
            rows[n++] = row;
            for (uint32_t j = n == want ? n / 2 : 0; j-- > 0;)
                sink_row(h, rows, j, n);
        } else if (is_row_lighter(h, &rows[0], &row)) {
            rows[0] = row;
            sink_row(h, rows, 0, n);
        }
    }
    for (uint32_t m = n; m > 1; m--) { /* heap sort of a heap with the lightest
                                        first: the heaviest first */
        rung_hitter row = rows[m - 1];
        rows[m - 1] = rows[0];
        rows[0] = row;
        sink_row(h, rows, 0, m - 1);
    }
    memmove(rows, rows + offset, (n - offset) * sizeof *rows);
    return n - offset;
}

uint64_t rung_hitters_digest(const rung_hitters *h) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        rung_slice name = rung__hitters_name(h, i);
        uint64_t hash = rung_hash_keyed(&h->key, name.ptr, name.len);
        const rung__hitters_entry *e = &h->cells[i].entry;
        sum += rung_hash_word(rung_hash_word(hash + h->cells[e->heap_at].place.count) + e->error);
    }
    sum = rung_hash_word(sum + h->total);
    sum = rung_hash_word(sum + h->floor);
    return rung_hash_word(sum + h->memory_bytes);
}

/* ---- self-check ---- */

static const char *check_place(const rung_hitters *h, uint32_t i) {
    const rung__hitters_place *place = &h->cells[i].place;
    if (i && is_lighter(h, place, &h->cells[(i - 1) / 2].place))
        return "1: the heap is not ordered";
    if (place->entry >= h->count || h->cells[place->entry].entry.heap_at != i)
        return "1: heap and entry do not point to each other";
    rung_slice name = rung__hitters_name(h, place->entry);
    if (place->tie != rung__hitters_tie(h, name))
        return "1: an entry has another name's hash";
    uint32_t slot = h->slots[search(h, place->tie, name)];
    if (!slot)
        return "2: an entry is not in the table";
    if (entry_in(slot) != place->entry)
        return "5: two entries have one name";
    if (h->cells[place->entry].entry.error > rung__error_pack(h->floor) || place->count < h->floor)
        return "3: a count or an error is out of bounds";
    return NULL;
}

const char *rung_hitters_check(const rung_hitters *h) {
    uint64_t certain = 0, used = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const char *broken = check_place(h, i);
        if (broken)
            return broken;
        rung_hitter row = row_of(h, i);
        certain += row.count - row.error;
        used += row.name.len + 1;
    }
    for (uint32_t i = 0; i < h->slot_count; i++)
        taken += h->slots[i] != 0;
    if (taken != h->count)
        return "2: the table has other than the entries";
    if (certain > h->total)
        return "3: the lower bounds exceed the total";
    if (used != h->name_used || h->count > h->capacity ||
        h->count * sizeof *h->cells + h->name_size > h->area_bytes ||
        h->count * sizeof *h->cells + padded(used) + LONGEST_RECORD > h->area_bytes)
        return "4: cells and names do not fit";
    return NULL;
}
