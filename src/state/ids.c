/* SPDX-License-Identifier: Apache-2.0 */
/* Remembered submissions: a record per id in a list by arrival, and a table from (board, id) to records.
 * docs/boards.md, "Ids", specifies how long they are remembered, and why an id with its own time is never applied
 * twice. A record costs about 220 bytes with a 36-byte id.
 *
 * Since level 1 the boards share the capacity, so that no board can push out the ids of another one that holds fewer:
 *   I1 Every record is also in the list of its board, in the same order as in the list of all.
 *   I2 The boards that have ids form a max-heap by the number of ids; of equals, the older board comes first. */
#include "state/ids.h"

#include "base/ascii.h"
#include "base/bytes.h"
#include "state/board.h"
#include "state/digest.h"
#include "state/review.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 };
enum { AHEAD_MS = 60 * 1000 }; /* how far ahead of log time an id may be dated */
enum { TURNS = 16 };           /* how many ids ahead of log time to skip before evicting one */
#define KEEP_DEFAULT_MS  (INT64_C(24) * 3600 * 1000)
#define CAPACITY_DEFAULT 1000000u

rung_status rung__ids_create(rung_state *s, const rung_state_config *config) {
    s->ids.first = s->ids.last = RUNG__NONE;
    s->ids.capacity = config->id_capacity ? config->id_capacity : CAPACITY_DEFAULT;
    s->ids.keep_ms = config->id_keep_ms ? config->id_keep_ms : KEEP_DEFAULT_MS;
    s->ids.horizon_ms = INT64_MIN;
    return rung_names_create(s->alloc, &s->hash_key, &s->ids.table);
}

void rung__ids_destroy(rung_state *s) {
    for (uint32_t i = 0; i < s->ids.chunk_count; i++)
        rung_alloc_free(s->alloc, s->ids.chunks[i],
                        s->ids.chunks[i] ? CHUNK * sizeof(rung__id_record) : 0);
    rung_alloc_free(s->alloc, s->ids.chunks, s->ids.chunk_count * sizeof *s->ids.chunks);
    rung_alloc_free(s->alloc, s->ids.largest, s->ids.largest_cap * sizeof *s->ids.largest);
    rung_names_destroy(s->ids.table);
}

size_t rung__ids_count(const rung_state *s) {
    return rung_names_count(s->ids.table);
}

rung__id_record *rung__ids_record(const rung_state *s, uint32_t i) {
    return &s->ids.chunks[i / CHUNK][i % CHUNK];
}

/* ---- what an id says about itself ---- */

/* Crockford's base 32. */
static int base32_digit(char c) {
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 32);
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool uuid7_time(rung_slice id, int64_t *ms_out) {
    uint64_t ms = 0;
    if (id.len != 36 || id.ptr[14] != '7')
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        int digit = rung_hex_value(id.ptr[i]);
        if (dash ? id.ptr[i] != '-' : digit < 0)
            return false;
        if (!dash && i < 13)
            ms = ms << 4 | (unsigned)digit;
    }
    *ms_out = (int64_t)ms;
    return true;
}

static bool ulid_time(rung_slice id, int64_t *ms_out) {
    uint64_t ms = 0;
    if (id.len != 26 || base32_digit(id.ptr[0]) > 7)
        return false;
    for (size_t i = 0; i < 26; i++) {
        int digit = base32_digit(id.ptr[i]);
        if (digit < 0)
            return false;
        if (i < 10)
            ms = ms << 5 | (unsigned)digit;
    }
    *ms_out = (int64_t)ms;
    return true;
}

static bool id_time(rung_slice id, int64_t *ms_out) {
    return uuid7_time(id, ms_out) || ulid_time(id, ms_out);
}

/* ---- the table ---- */

typedef struct table_key {
    char bytes[8 + RUNG_EVENT_ID_MAX];
    size_t len;
} table_key;

static rung_slice key_of(const rung__board *b, rung_slice id, table_key *key) {
    rung_put64((uint8_t *)key->bytes, b->id_serial);
    memcpy(key->bytes + 8, id.ptr, id.len);
    return rung_slice_of(key->bytes, 8 + id.len);
}

static uint64_t attested_hash(const rung_attested *a) {
    uint64_t h = rung_hash_word((uint64_t)a->has_duration ^ (uint64_t)a->duration_ms << 1);
    h = rung_hash_word(h ^ rung__bytes_hash(a->seed.ptr, a->seed.len));
    return rung_hash_word(h ^ rung__bytes_hash(a->replay.ptr, a->replay.len));
}

static uint64_t body_hash(const rung_score_event *e) {
    uint64_t h = rung__bytes_hash(e->player.ptr, e->player.len);
    h = rung_hash_word(h ^ (uint64_t)e->is_delta ^ (uint64_t)e->has_at << 1 ^
                       (uint64_t)e->value_count << 2);
    for (uint32_t i = 0; i < e->value_count; i++)
        h = rung_hash_word(h ^ (uint64_t)e->values[i].i) + e->types[i] + e->decimals[i];
    h = rung_hash_word(h ^ (e->has_at ? (uint64_t)e->at_ms : 0));
    if (rung_attested_is_given(&e->attested))
        h = rung_hash_word(h ^ attested_hash(&e->attested));
    return e->meta.len ? rung_hash_word(h ^ rung__bytes_hash(e->meta.ptr, e->meta.len)) : h;
}

static rung_digest record_digest(const rung_state *s, uint32_t i) {
    const rung__id_record *r = rung__ids_record(s, i);
    rung_slice key = rung_names_id(s->ids.table, i);
    uint64_t words[4] = {rung__bytes_hash(key.ptr, key.len), (uint64_t)r->effective_ms, r->seq,
                         r->rank};
    return rung__fact_digest(RUNG__FACT_ID, r->body, r->total, words, 4);
}

static bool is_remembered(const rung_state *s, const rung__id_record *r) {
    return s->time_ms - r->effective_ms <= s->ids.keep_ms;
}

/* ---- the boards' shares ---- */

static bool holds_more(const rung__board *a, const rung__board *b) {
    return a->ids.count != b->ids.count ? a->ids.count > b->ids.count : a->id_serial < b->id_serial;
}

static void put_at(rung_state *s, uint32_t place, rung__board *b) {
    s->ids.largest[place] = b;
    b->ids.place = place + 1;
}

/* Find the place of `b`, starting at one that is free. */
static void settle(rung_state *s, uint32_t at, rung__board *b) {
    rung__board **heap = s->ids.largest;
    for (; at && holds_more(b, heap[(at - 1) / 2]); at = (at - 1) / 2)
        put_at(s, at, heap[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < s->ids.largest_count; at = child) {
        if (child + 1 < s->ids.largest_count && holds_more(heap[child + 1], heap[child]))
            child++;
        if (holds_more(b, heap[child]))
            break;
        put_at(s, at, heap[child]);
    }
    put_at(s, at, b);
}

/* Room for one more board in the heap. */
static rung_status reserve_share(rung_state *s, const rung__board *b) {
    uint32_t cap = s->ids.largest_cap;
    if (b->ids.count)
        return RUNG_OK;
    rung_status st = rung__grow(s->alloc, &s->ids.largest, &s->ids.largest_cap,
                                s->ids.largest_count + 1, sizeof *s->ids.largest);
    s->ids.bytes += (s->ids.largest_cap - cap) * sizeof *s->ids.largest;
    return st;
}

/* Was reserved. */
static void join_board(rung_state *s, uint32_t i) {
    rung__id_record *r = rung__ids_record(s, i);
    rung__board_ids *share = &r->board->ids;
    r->board_next = RUNG__NONE;
    r->board_prev = share->count ? share->last : RUNG__NONE;
    if (share->count)
        rung__ids_record(s, share->last)->board_next = i;
    else
        share->first = i;
    share->last = i;
    share->count++;
    settle(s, share->place ? share->place - 1 : s->ids.largest_count++, r->board);
}

static void leave_board(rung_state *s, uint32_t i) {
    const rung__id_record *r = rung__ids_record(s, i);
    rung__board_ids *share = &r->board->ids;
    if (r->board_prev == RUNG__NONE)
        share->first = r->board_next;
    else
        rung__ids_record(s, r->board_prev)->board_next = r->board_next;
    if (r->board_next == RUNG__NONE)
        share->last = r->board_prev;
    else
        rung__ids_record(s, r->board_next)->board_prev = r->board_prev;
    uint32_t at = share->place - 1;
    if (--share->count) {
        settle(s, at, r->board);
        return;
    }
    share->place = 0;
    rung__board *last = s->ids.largest[--s->ids.largest_count];
    if (last != r->board)
        settle(s, at, last);
}

/* ---- the list ---- */

static void append(rung_state *s, uint32_t i) {
    rung__id_record *r = rung__ids_record(s, i);
    r->prev = s->ids.last;
    r->next = RUNG__NONE;
    if (s->ids.last == RUNG__NONE)
        s->ids.first = i;
    else
        rung__ids_record(s, s->ids.last)->next = i;
    s->ids.last = i;
    if (r->board)
        join_board(s, i);
}

static void detach(rung_state *s, uint32_t i) {
    const rung__id_record *r = rung__ids_record(s, i);
    if (r->prev == RUNG__NONE)
        s->ids.first = r->next;
    else
        rung__ids_record(s, r->prev)->next = r->next;
    if (r->next == RUNG__NONE)
        s->ids.last = r->prev;
    else
        rung__ids_record(s, r->next)->prev = r->prev;
    if (r->board)
        leave_board(s, i);
}

static void put_on_list(rung_state *s, uint32_t i) {
    append(s, i);
    rung__digest_add(&s->digest, record_digest(s, i));
}

static void take_off_list(rung_state *s, uint32_t i) {
    rung__digest_subtract(&s->digest, record_digest(s, i));
    detach(s, i);
}

static void forget(rung_state *s, uint32_t i) {
    take_off_list(s, i);
    rung_names_remove(s->ids.table, i);
}

/* ---- what goes for lack of room ---- */

static void forget_oldest(rung_state *s) {
    int64_t gone = rung__ids_record(s, s->ids.first)->effective_ms;
    forget(s, s->ids.first);
    if (gone + 1 > s->ids.horizon_ms)
        s->ids.horizon_ms = gone + 1;
}

rung_digest rung__ids_horizon_digest(const rung__board *b) {
    uint64_t word = (uint64_t)b->ids.horizon_ms;
    return rung__fact_digest(RUNG__FACT_HORIZON, b->id_serial, 0, &word, 1);
}

static void raise_horizon(rung_state *s, rung__board *b, int64_t ms) {
    if (ms <= b->ids.horizon_ms)
        return;
    if (b->ids.horizon_ms != INT64_MIN)
        rung__digest_subtract(&s->digest, rung__ids_horizon_digest(b));
    b->ids.horizon_ms = ms;
    rung__digest_add(&s->digest, rung__ids_horizon_digest(b));
}

/* Evict the oldest id of the board that holds the most. An id whose own time is still ahead goes to the end instead:
 * if it were forgotten, the board's horizon would pass log time. That can only happen if nearly everything that the
 * board got in the last minute was dated ahead, and then by less than AHEAD_MS. */
static void forget_of_largest(rung_state *s) {
    rung__board *b = s->ids.largest[0];
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t first = b->ids.first;
        if (rung__ids_record(s, first)->effective_ms <= s->time_ms)
            break;
        detach(s, first);
        append(s, first);
    }
    int64_t gone = rung__ids_record(s, b->ids.first)->effective_ms;
    forget(s, b->ids.first);
    raise_horizon(s, b, gone + 1);
}

static void forget_beyond_capacity(rung_state *s) {
    while (rung_names_count(s->ids.table) > s->ids.capacity) {
        if (s->rules < 1)
            forget_oldest(s);
        else
            forget_of_largest(s);
    }
}

static void answer_again(const rung_state *s, const rung__id_record *r, rung_outcome *out) {
    out->seq = r->seq;
    out->changed = r->changed;
    out->duplicate = true;
    out->tentative = r->tentative;
    out->review = r->tentative ? r->seq << RUNG_REVIEW_PART_BITS : 0;
    out->value_count = r->value_count;
    memcpy(out->values, r->values, sizeof out->values);
    out->rank_before = r->rank_before;
    out->rank = r->rank;
    out->total = r->total;
    out->passed = r->passed;
    out->percentile = r->percentile;
    out->has_next = r->has_next;
    out->next_number = r->next_player;
    out->next = r->next_player == RUNG__NONE ? (rung_slice){NULL, 0}
                                             : rung_names_id(s->players, r->next_player);
    out->gap = r->gap;
}

rung_status rung__ids_look(rung_state *s, const rung__board *b, const rung_score_event *e,
                           rung_outcome *out) {
    table_key key;
    uint32_t i;
    int64_t ms;
    if (rung_names_find(s->ids.table, key_of(b, e->id, &key), &i) == RUNG_OK &&
        is_remembered(s, rung__ids_record(s, i))) {
        if (rung__ids_record(s, i)->body != body_hash(e))
            return RUNG_ECONFLICT;
        answer_again(s, rung__ids_record(s, i), out);
        return RUNG_DUPLICATE;
    }
    if (!id_time(e->id, &ms))
        return RUNG_NOT_FOUND;
    if (ms < s->ids.horizon_ms || ms < b->ids.horizon_ms || ms < s->time_ms - s->ids.keep_ms)
        return RUNG_ESTALE;
    if (s->rules < 1)
        return ms > s->time_ms + s->ids.keep_ms ? RUNG_ESTALE : RUNG_NOT_FOUND;
    return ms > s->time_ms + AHEAD_MS ? RUNG_EFUTURE : RUNG_NOT_FOUND;
}

static rung_status reserve_record(rung_state *s) {
    uint32_t need =
        rung_names_span(s->ids.table) / CHUNK + 1; /* the next number is at most the span */
    if (need <= s->ids.chunk_count && s->ids.chunks[need - 1])
        return RUNG_OK;
    uint32_t cap = s->ids.chunk_count;
    if (rung__grow(s->alloc, &s->ids.chunks, &s->ids.chunk_count, need, sizeof *s->ids.chunks) < 0)
        return RUNG_ENOMEM;
    s->ids.bytes += (s->ids.chunk_count - cap) * sizeof *s->ids.chunks;
    s->ids.chunks[need - 1] = rung_alloc_get(s->alloc, CHUNK * sizeof(rung__id_record));
    if (!s->ids.chunks[need - 1])
        return RUNG_ENOMEM;
    s->ids.bytes += CHUNK * sizeof(rung__id_record);
    return RUNG_OK;
}

rung_status rung__ids_claim(rung_state *s, const rung__board *b, rung_slice id,
                            uint32_t *record_out, bool *old_out) {
    table_key key;
    if (reserve_record(s) < 0 || (s->rules >= 1 && reserve_share(s, b) < 0))
        return RUNG_ENOMEM;
    rung_status st = rung_names_intern(s->ids.table, key_of(b, id, &key), record_out);
    *old_out = st == RUNG_UNCHANGED;
    return st < 0 ? RUNG_ENOMEM : RUNG_OK;
}

rung_status rung__ids_restore(rung_state *s, rung_slice key, const rung__id_record *record) {
    uint32_t i;
    if (reserve_record(s) < 0)
        return RUNG_ENOMEM;
    rung_status st = rung_names_intern(s->ids.table, key, &i);
    if (st != RUNG_OK)
        return st;
    *rung__ids_record(s, i) = *record;
    put_on_list(s, i);
    return RUNG_OK;
}

void rung__ids_unclaim(rung_state *s, uint32_t record) {
    rung_names_remove(s->ids.table, record);
}

void rung__ids_remember(rung_state *s, rung__board *b, uint32_t record, bool old,
                        const rung_score_event *e, const rung_outcome *out) {
    int64_t ms;
    rung__id_record *r = rung__ids_record(s, record);
    if (old)
        take_off_list(s, record);
    memset(r, 0, sizeof *r);
    r->body = body_hash(e);
    r->board = s->rules >= 1 ? b : NULL;
    r->effective_ms = id_time(e->id, &ms) && ms > s->time_ms ? ms : s->time_ms;
    r->next_player = out->next_number;
    r->changed = out->changed;
    r->has_next = out->has_next;
    r->tentative = out->tentative;
    r->value_count = (uint8_t)out->value_count;
    r->rank_before = out->rank_before;
    r->rank = out->rank;
    r->total = out->total;
    r->passed = out->passed;
    r->seq = s->seq;
    r->percentile = out->percentile;
    memcpy(r->values, out->values, sizeof r->values);
    r->gap = out->gap;
    put_on_list(s, record);

    while (!is_remembered(s, rung__ids_record(s, s->ids.first)))
        forget(s, s->ids.first);
    forget_beyond_capacity(s);
}

/* Ids that expired under a shorter memory stay refused under a longer one: they may have been applied. */
rung_status rung__apply_ids(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t capacity = e->ids.capacity;
    int64_t keep_ms = e->ids.keep_ms;
    (void)err;
    if (s->ids.capacity == capacity && s->ids.keep_ms == keep_ms)
        return RUNG_UNCHANGED;
    if (keep_ms > s->ids.keep_ms && s->time_ms - s->ids.keep_ms > s->ids.horizon_ms)
        s->ids.horizon_ms = s->time_ms - s->ids.keep_ms;
    s->ids.capacity = capacity;
    s->ids.keep_ms = keep_ms;
    forget_beyond_capacity(s);
    return RUNG_OK;
}

/* ---- sharing out ---- */

static int by_serial(const void *a, const void *b) {
    const rung__board *const *x = a, *const *y = b;
    return ((*x)->id_serial > (*y)->id_serial) - ((*x)->id_serial < (*y)->id_serial);
}

static rung__board *board_of_serial(rung__board **sorted, uint32_t count, uint64_t serial) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (sorted[mid]->id_serial < serial)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && sorted[low]->id_serial == serial ? sorted[low] : NULL;
}

static rung_status share_among(rung_state *s, rung__board **sorted, uint32_t count) {
    for (uint32_t i = s->ids.first, next; i != RUNG__NONE; i = next) {
        rung__id_record *r = rung__ids_record(s, i);
        rung_slice key = rung_names_id(s->ids.table, i);
        next = r->next;
        r->board = NULL;
        rung__board *b = board_of_serial(sorted, count, rung_get64((const uint8_t *)key.ptr));
        if (!b) {
            forget(s, i);
            continue;
        }
        if (reserve_share(s, b) < 0)
            return RUNG_ENOMEM;
        r->board = b;
        join_board(s, i);
    }
    return RUNG_OK;
}

rung_status rung__ids_share_out(rung_state *s) {
    uint32_t count = 0;
    if (s->ids.first == RUNG__NONE)
        return RUNG_OK;
    rung__board **sorted = rung_alloc_get(s->alloc, (s->board_cap + 1) * sizeof(rung__board *));
    if (!sorted)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i])
            sorted[count++] = s->boards[i];
    qsort(sorted, count, sizeof(rung__board *), by_serial);
    rung_status st = share_among(s, sorted, count);
    rung_alloc_free(s->alloc, sorted, (s->board_cap + 1) * sizeof(rung__board *));
    return st;
}

void rung__ids_forget_board(rung_state *s, rung__board *b) {
    while (b->ids.count)
        forget(s, b->ids.first);
}

/* The records of a board's list belong to another one now. */
static void give_to(rung_state *s, rung__board *b) {
    uint32_t i = b->ids.count ? b->ids.first : RUNG__NONE;
    for (; i != RUNG__NONE; i = rung__ids_record(s, i)->board_next)
        rung__ids_record(s, i)->board = b;
    if (b->ids.place)
        s->ids.largest[b->ids.place - 1] = b;
}

void rung__ids_swap(rung_state *s, rung__board *a, rung__board *b) {
    rung__board_ids ids = a->ids;
    uint64_t serial = a->id_serial;
    a->ids = b->ids;
    b->ids = ids;
    a->id_serial = b->id_serial;
    b->id_serial = serial;
    give_to(s, a);
    give_to(s, b);
}

const char *rung__ids_check(const rung_state *s) {
    const rung__ids *ids = &s->ids;
    uint64_t shared = 0;
    if (s->rules < 1)
        return ids->largest_count ? "I2: boards have shares before level 1" : NULL;
    for (uint32_t i = 0; i < ids->largest_count; i++) {
        const rung__board_ids *share = &ids->largest[i]->ids;
        if (share->place != i + 1 || !share->count)
            return "I2: a board is not where it believes to be, or has no ids";
        if (i && holds_more(ids->largest[i], ids->largest[(i - 1) / 2]))
            return "I2: a board holds more than the one above it";
        shared += share->count;
    }
    if (shared != rung__ids_count(s))
        return "I1: an id is in no board's share";
    for (uint32_t i = ids->first; i != RUNG__NONE; i = rung__ids_record(s, i)->next) {
        const rung__id_record *r = rung__ids_record(s, i);
        if (!r->board ||
            (r->board_prev == RUNG__NONE ? r->board->ids.first
                                         : rung__ids_record(s, r->board_prev)->board_next) != i)
            return "I1: an id is not in its board's list";
    }
    return NULL;
}

void rung__ids_forget_player(rung_state *s, uint32_t player) {
    for (uint32_t i = s->ids.first; i != RUNG__NONE; i = rung__ids_record(s, i)->next)
        if (rung__ids_record(s, i)->next_player == player)
            rung__ids_record(s, i)->next_player = RUNG__NONE;
}

rung_digest rung__ids_digest_all(const rung_state *s) {
    rung_digest d = {0, 0};
    for (uint32_t i = s->ids.first; i != RUNG__NONE; i = rung__ids_record(s, i)->next)
        rung__digest_add(&d, record_digest(s, i));
    return d;
}
