/* SPDX-License-Identifier: Apache-2.0 */
/* Kept matches.
 *
 *   M1 Sequences ascend. The results of a match are those from its `first` on, and follow those of the match before.
 *   M2 A result that has a player is in that player's chain, which begins at the card's `last`; so removing the card
 *      finds all of them, and no number of a player outlives the player.
 *   M3 k->digest is the sum of the matches' facts, and part of the state's digest.
 *   M4 No more results than the definition's results_kept. */
#include "state/kept.h"

#include "base/assert.h"
#include "state/board.h"
#include "state/digest.h"
#include "state/match.h"

#include <string.h>

enum { CAP_MIN = 64 };

/* ---- digest ---- */

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static rung_digest fact_of(const rung__board *b, const rung__kept_match *m) {
    uint64_t id = m->id_len ? rung__bytes_hash(m->id, m->id_len) : 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->players; i++) {
        const rung__result *r = rung__kept_result_at(&b->kept, m->first + i);
        uint64_t who = (uint64_t)r->player << 32 | (uint64_t)r->side << 16 | r->was_new;
        uint64_t place = (uint64_t)(uint32_t)r->place << 32 | r->rank;
        sum = rung_hash_word(sum ^ who) + place;
        sum = rung_hash_word(sum ^ bits_of(r->rating)) + bits_of(r->deviation);
    }
    uint64_t words[] = {(uint64_t)m->at_ms, (uint64_t)m->ts_ms, id, sum};
    return rung__fact_digest(RUNG__FACT_MATCH, b->serial, m->seq, words,
                             sizeof words / sizeof *words);
}

static void add_fact(rung_state *s, rung__board *b, rung__kept_match *m) {
    m->fact = fact_of(b, m);
    rung__digest_add(&s->digest, m->fact);
    rung__digest_add(&b->kept.digest, m->fact);
}

static void subtract_fact(rung_state *s, rung__board *b, const rung__kept_match *m) {
    rung__digest_subtract(&s->digest, m->fact);
    rung__digest_subtract(&b->kept.digest, m->fact);
}

/* ---- change ---- */

/* Twice the room in a ring of `size`-byte items numbered first to end. */
static rung_status grow(rung_state *s, void *ring_ptr, uint32_t *cap, uint64_t first, uint64_t end,
                        uint64_t need, size_t size) {
    uint32_t wide = *cap ? *cap : CAP_MIN;
    while (wide < need)
        wide *= 2;
    if (wide == *cap)
        return RUNG_OK;
    char *ring, *wider = rung_alloc_zeroed(s->alloc, wide * size);
    if (!wider)
        return RUNG_ENOMEM;
    memcpy(&ring, ring_ptr, sizeof ring);
    for (uint64_t i = first; i < end; i++)
        memcpy(wider + (i & (wide - 1)) * size, ring + (i & (*cap - 1)) * size, size);
    rung_alloc_free(s->alloc, ring, *cap * size);
    memcpy(ring_ptr, &wider, sizeof wider);
    *cap = wide;
    return RUNG_OK;
}

static void drop_oldest(rung_state *s, rung__board *b) {
    rung__kept *k = &b->kept;
    const rung__kept_match *m = rung__kept_match_at(k, k->match_first);
    subtract_fact(s, b, m);
    k->result_first += m->players;
    k->match_first++;
}

void rung__kept_trim(rung_state *s, rung__board *b) {
    rung__kept *k = &b->kept;
    uint32_t most = rung_update_is_rating(b->def->update) ? b->def->rating.results_kept : 0;
    while (k->result_end - k->result_first > most)
        drop_oldest(s, b);
}

rung_status rung__kept_reserve(rung_state *s, rung__board *b, uint32_t players) {
    rung__kept *k = &b->kept;
    uint32_t most = b->def->rating.results_kept;
    if (players > most)
        return RUNG_UNCHANGED;
    while (k->result_end - k->result_first + players > most)
        drop_oldest(s, b);
    if (grow(s, &k->matches, &k->match_cap, k->match_first, k->match_end,
             k->match_end - k->match_first + 1, sizeof *k->matches) < 0 ||
        grow(s, &k->results, &k->result_cap, k->result_first, k->result_end,
             k->result_end - k->result_first + players, sizeof *k->results) < 0)
        return RUNG_ENOMEM;
    return RUNG_OK;
}

void rung__kept_append(rung_state *s, rung__board *b, const rung__kept_match *head,
                       const rung__result *results) {
    rung__kept *k = &b->kept;
    rung__kept_match *m = rung__kept_match_at(k, k->match_end++);
    *m = *head;
    m->first = k->result_end;
    for (uint32_t i = 0; i < m->players; i++) {
        rung__result *r = rung__kept_result_at(k, k->result_end++);
        *r = results[i];
        r->before = 0;
        if (r->player == RUNG_PLAYER_NONE)
            continue;
        uint64_t *last = rung__rated_last(b, r->player);
        r->before = *last;
        *last = k->result_end;
    }
    add_fact(s, b, m);
}

/* The match that a result belongs to: by bisection. */
static uint64_t match_of(const rung__kept *k, uint64_t result) {
    uint64_t low = k->match_first, high = k->match_end;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (rung__kept_match_at(k, middle)->first <= result)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void rung__kept_forget(rung_state *s, rung__board *b, uint64_t last) {
    rung__kept *k = &b->kept;
    while (last > k->result_first) {
        rung__kept_match *m = rung__kept_match_at(k, match_of(k, last - 1));
        rung__result *r = rung__kept_result_at(k, last - 1);
        subtract_fact(s, b, m);
        r->player = RUNG_PLAYER_NONE;
        add_fact(s, b, m);
        last = r->before;
        r->before = 0;
    }
}

rung__kept_match *rung__kept_find(const rung__kept *k, uint64_t seq) {
    uint64_t low = k->match_first, high = k->match_end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        rung__kept_match *m = rung__kept_match_at(k, middle);
        if (m->seq == seq)
            return m;
        if (m->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- matches that are left out ---- */

rung_digest rung__removed_digest(const rung__board *b) {
    rung_digest d = {0, 0};
    for (uint32_t i = 0; i < b->removed_count; i++)
        rung__digest_add(
            &d, rung__fact_digest(RUNG__FACT_UNMATCHED, b->serial, b->removed[i], NULL, 0));
    return d;
}

rung_status rung__removed_set(rung_state *s, rung__board *b, const uint64_t *seqs, uint32_t count) {
    uint64_t *copy = count ? rung_alloc_get(s->alloc, count * sizeof *copy) : NULL;
    if (count && !copy)
        return RUNG_ENOMEM;
    if (count)
        memcpy(copy, seqs, count * sizeof *copy);
    rung__digest_subtract(&s->digest, rung__removed_digest(b));
    rung_alloc_free(s->alloc, b->removed, b->removed_count * sizeof *b->removed);
    b->removed = copy;
    b->removed_count = count;
    rung__digest_add(&s->digest, rung__removed_digest(b));
    return RUNG_OK;
}

uint32_t rung_state_removed_matches(const rung_state *s, rung_slice board, uint64_t *out) {
    const rung__board *b = rung__board_find(s, board);
    if (!b || !b->removed_count)
        return 0;
    memcpy(out, b->removed, b->removed_count * sizeof *out);
    return b->removed_count;
}

/* ---- memory ---- */

void rung__kept_deinit(rung_state *s, rung__board *b) {
    rung__kept *k = &b->kept;
    rung_alloc_free(s->alloc, k->matches, k->match_cap * sizeof *k->matches);
    rung_alloc_free(s->alloc, k->results, k->result_cap * sizeof *k->results);
    rung_alloc_free(s->alloc, b->removed, b->removed_count * sizeof *b->removed);
}

size_t rung__kept_bytes(const rung__kept *k) {
    return k->match_cap * sizeof *k->matches + k->result_cap * sizeof *k->results;
}

/* ---- self-check ---- */

const char *rung__kept_check(const rung__board *b) {
    const rung__kept *k = &b->kept;
    rung_digest sum = {0, 0};
    uint64_t result = k->result_first, seq = 0, with_player = 0, chained = 0;
    uint32_t most = rung_update_is_rating(b->def->update) ? b->def->rating.results_kept : 0;
    if (k->result_end - k->result_first > most)
        return "M4: too many results are kept";
    for (uint64_t i = k->match_first; i < k->match_end; i++) {
        const rung__kept_match *m = rung__kept_match_at(k, i);
        rung_digest fact = fact_of(b, m);
        if (m->seq <= seq || m->first != result)
            return "M1: kept matches are out of order";
        if (fact.a != m->fact.a || fact.b != m->fact.b)
            return "M3: the fact of a kept match";
        rung__digest_add(&sum, fact);
        seq = m->seq;
        result += m->players;
    }
    if (result != k->result_end)
        return "M1: kept matches are out of order";
    if (sum.a != k->digest.a || sum.b != k->digest.b)
        return "M3: the digest of the kept matches";
    for (uint64_t i = k->result_first; i < k->result_end; i++)
        with_player += rung__kept_result_at(k, i)->player != RUNG_PLAYER_NONE;
    for (uint32_t i = 0; i < b->rated_count; i++)
        for (uint64_t at = b->rated[i].last; at > k->result_first; chained++) {
            const rung__result *r = rung__kept_result_at(k, at - 1);
            if (r->player != b->rated[i].player || r->before >= at)
                return "M2: a chain has another player's result";
            at = r->before;
        }
    return chained == with_player ? NULL : "M2: a result is in no chain";
}

/* ---- questions ---- */

static rung_match_info info_of(const rung__kept_match *m) {
    return (rung_match_info){.seq = m->seq,
                             .at_ms = m->at_ms,
                             .ts_ms = m->ts_ms,
                             .id = rung_slice_of(m->id, m->id_len),
                             .player_count = m->players,
                             .side_count = m->sides};
}

static rung_match_result result_of(const rung_state *s, const rung__result *r) {
    return (rung_match_result){.player = r->player == RUNG_PLAYER_NONE
                                             ? (rung_slice){NULL, 0}
                                             : rung_names_id(s->players, r->player),
                               .side = r->side,
                               .place = r->place,
                               .was_new = r->was_new,
                               .rank = r->rank,
                               .expected = r->expected,
                               .weight = r->weight,
                               .played = r->played,
                               .rating_before = r->rating_before,
                               .rating = r->rating,
                               .deviation = r->deviation,
                               .score_before = r->score_before,
                               .score = r->score};
}

/* The newest match of that id: a linear search, of at most results_kept / 2 matches. */
static const rung__kept_match *find_id(const rung__kept *k, rung_slice id) {
    for (uint64_t i = k->match_end; i-- > k->match_first;) {
        const rung__kept_match *m = rung__kept_match_at(k, i);
        if (m->id_len == id.len && memcmp(m->id, id.ptr, id.len) == 0)
            return m;
    }
    return NULL;
}

rung_status rung_state_match(const rung_state *s, rung_slice board, rung_slice id, uint64_t seq,
                             rung_match_info *out) {
    const rung__board *b = rung__board_find(s, board);
    const rung__kept_match *m = !b       ? NULL
                                : id.len ? find_id(&b->kept, id)
                                         : rung__kept_find(&b->kept, seq);
    if (!m)
        return RUNG_NOT_FOUND;
    *out = info_of(m);
    return RUNG_OK;
}

uint32_t rung_state_match_results(const rung_state *s, rung_slice board, uint64_t seq,
                                  uint32_t room, rung_match_result *out) {
    const rung__board *b = rung__board_find(s, board);
    const rung__kept_match *m = b ? rung__kept_find(&b->kept, seq) : NULL;
    uint32_t count = 0;
    for (; m && count < m->players && count < room; count++)
        out[count] = result_of(s, rung__kept_result_at(&b->kept, m->first + count));
    return count;
}

uint32_t rung_state_matches(const rung_state *s, rung_slice board, uint64_t before_seq,
                            uint32_t room, rung_match_info *out) {
    const rung__board *b = rung__board_find(s, board);
    uint32_t count = 0;
    if (!b)
        return 0;
    uint64_t low = b->kept.match_first, high = b->kept.match_end;
    while (before_seq && low < high) { /* the first one that is not before it */
        uint64_t middle = low + (high - low) / 2;
        if (rung__kept_match_at(&b->kept, middle)->seq < before_seq)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint64_t i = high; i > b->kept.match_first && count < room; i--)
        out[count++] = info_of(rung__kept_match_at(&b->kept, i - 1));
    return count;
}

uint32_t rung_state_results_of(const rung_state *s, rung_slice board, rung_slice player,
                               uint64_t before_seq, uint32_t room, rung_match_info *matches,
                               rung_match_result *results) {
    rung__board *b = rung__board_find(s, board);
    uint32_t number, count = 0;
    if (!b || rung_names_find(s->players, player, &number) != RUNG_OK ||
        !rung__rated_find(b, number))
        return 0;
    const rung__kept *k = &b->kept;
    uint64_t at = *rung__rated_last(b, number);
    while (at > k->result_first && count < room) {
        const rung__result *r = rung__kept_result_at(k, at - 1);
        const rung__kept_match *m = rung__kept_match_at(k, match_of(k, at - 1));
        at = r->before;
        if (before_seq && m->seq >= before_seq)
            continue;
        matches[count] = info_of(m);
        results[count++] = result_of(s, r);
    }
    return count;
}
