/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on one key. A key created by commands is a board with one ladder, best first: descending by score, then by
 * member, which is ZREVRANGE's order; ZRANGE reads it from the other end. The same few functions read a defined
 * board: only direction and score differ. */
#include "state/keyspace/key_read.h"

#include "base/assert.h"
#include "ladder/pipeline.h"
#include "state/board.h"
#include "state/keyspace/set.h"

#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { GROUP = 5, FOUND = 7, PAGES = 3, RANGES = 3 };
#else
enum {
    GROUP = 32,  /* members looked up by name at a time */
    FOUND = 256, /* by number: larger groups, since only the end of a group waits */
    PAGES = 16,
    RANGES = 32
};
#endif

/* ---- opening ---- */

static bool is_over(const rung__expiry *e, int64_t now_ms) {
    return e->place && e->at_ms <= now_ms;
}

static void note_expiry(const rung__expiry *e, rung_zkey *out) {
    out->has_expiry = e->place != 0;
    out->expires_ms = e->at_ms;
}

static void open_board(const rung_state *s, const rung__board *b, rung_slice name, int64_t now_ms,
                       rung_zkey *out) {
    const rung_ladder *ladder = NULL;
    rung_view view;
    if (b->def->sketch) {
        out->kind = RUNG_ZKEY_SKETCH;
        out->sketch = b->def->sketch;
        out->is_defined = !b->is_key;
        out->board = b;
        out->version = b->version;
        note_expiry(&b->expiry, out);
        return;
    }
    if (b->is_key) {
        ladder = b->window_count ? b->windows[0]->ladder : NULL;
        if (!ladder || rung_ladder_count(ladder) == 0)
            return; /* only bans can leave it so */
    } else if (rung_state_view(s, &(rung_query){.board = name, .now_ms = now_ms}, &view, NULL) ==
               RUNG_OK) {
        ladder = view.ladder;
    }
    out->kind = b->is_key ? RUNG_ZKEY_ZSET : RUNG_ZKEY_BOARD;
    out->board = b;
    out->ladder = ladder;
    out->count = ladder ? rung_ladder_count(ladder) : 0;
    out->is_ascending = b->def->key.columns[0].order == RUNG_ORDER_ASC;
    out->version = b->version;
    note_expiry(&b->expiry, out);
}

void rung_zkey_open(const rung_state *s, rung_slice name, int64_t now_ms, rung_zkey *out) {
    memset(out, 0, sizeof *out);
    out->state = s;
    out->now_ms = now_ms;
    const rung__board *b = rung__board_find(s, name);
    if (b) {
        if (!is_over(&b->expiry, now_ms))
            open_board(s, b, name, now_ms, out);
        return;
    }
    const rung__set *set = rung__set_find(s, name);
    if (!set || is_over(&set->expiry, now_ms))
        return;
    out->kind = RUNG_ZKEY_SET;
    out->set = set;
    out->count = set->count;
    out->version = set->version;
    note_expiry(&set->expiry, out);
}

/* ---- scores ---- */

static double as_double(const rung_column *column, rung_value value) {
    if (column->type == RUNG_SCORE_REAL)
        return value.d;
    double unit = 1;
    for (unsigned i = 0; i < column->decimals; i++)
        unit *= 10;
    return (double)value.i / unit;
}

double rung__zkey_score(const rung_zkey *k, const uint64_t *key) {
    const rung__board *b = k->board;
    const rung_column *column = &b->def->key.columns[0];
    if (k->kind == RUNG_ZKEY_ZSET)
        return rung_score_decode(column, key[0]).d;
    rung_value values[RUNG_COLUMNS_MAX];
    rung__key_values(b, key, k->now_ms, values, NULL);
    return as_double(column, values[0]);
}

double rung_zkey_outcome_score(const rung_state *s, rung_slice key, const rung_outcome *outcome) {
    const rung__board *b = rung__board_find(s, key);
    return b && outcome->value_count ? as_double(&b->def->key.columns[0], outcome->values[0]) : 0;
}

/* ---- by member ---- */

/* Of a sorted set the first word of the key is the score. */
static void find_words(const rung_zkey *k, uint32_t n, const uint32_t *players, double *scores,
                       bool *found) {
    const rung__board *b = k->board;
    const rung_column *column = &b->def->key.columns[0];
    uint64_t words[FOUND];
    rung_ladder_word_batch(k->ladder, n, players, words, found);
    for (uint32_t i = 0; i < n; i++)
        if (found[i])
            scores[i] = rung_score_decode(column, words[i]).d;
}

static void find_scores(const rung_zkey *k, uint32_t n, const uint32_t *players, double *scores,
                        bool *found) {
    rung_ladder_entry entries[FOUND];
    if (k->kind == RUNG_ZKEY_ZSET) {
        find_words(k, n, players, scores, found);
        return;
    }
    rung_ladder_find_batch(k->ladder, n, players, entries, found);
    for (uint32_t i = 0; i < n; i++)
        if (found[i])
            scores[i] = rung__zkey_score(k, entries[i].key);
}

void rung__zkey_find(const rung_zkey *k, uint32_t n, const uint32_t *players, double *scores,
                     bool *found) {
    for (uint32_t done = 0; done < n; done += FOUND) {
        uint32_t count = n - done < FOUND ? n - done : FOUND;
        if (k->ladder)
            find_scores(k, count, players + done, scores + done, found + done);
        for (uint32_t i = done; !k->ladder && i < done + count; i++) {
            found[i] =
                k->set && players[i] != RUNG_PLAYER_NONE && rung__set_has(k->set, players[i]);
            scores[i] = 1;
        }
    }
}

void rung_zkey_scores(const rung_zkey *k, uint32_t n, const rung_slice *members, double *scores,
                      bool *found) {
    uint32_t players[GROUP];
    for (uint32_t done = 0; done < n; done += GROUP) {
        uint32_t count = n - done < GROUP ? n - done : GROUP;
        rung_names_find_batch(k->state->players, members + done, count, players);
        rung__zkey_find(k, count, players, scores + done, found + done);
    }
}

void rung_zkey_ranks(const rung_zkey *k, uint32_t n, const rung_slice *members, bool rev,
                     uint32_t *ranks, double *scores, bool *found) {
    uint32_t players[GROUP], from_best[GROUP];
    for (uint32_t done = 0; done < n; done += GROUP) {
        uint32_t count = n - done < GROUP ? n - done : GROUP;
        memset(from_best, 0, sizeof from_best);
        if (k->ladder) {
            rung_names_find_batch(k->state->players, members + done, count, players);
            rung_ladder_rank_batch(k->ladder, count, players, RUNG_RANK_UNIQUE, from_best);
            if (scores)
                find_scores(k, count, players, scores + done, found + done);
        }
        for (uint32_t i = 0; i < count; i++) {
            found[done + i] = from_best[i] != 0;
            if (from_best[i])
                ranks[done + i] =
                    rev != k->is_ascending ? from_best[i] - 1 : k->count - from_best[i];
        }
    }
}

bool rung_zkey_has(const rung_zkey *k, rung_slice member) {
    double score;
    bool found;
    rung_zkey_scores(k, 1, &member, &score, &found);
    return found;
}

/* ---- by place ---- */

/* Read rows from a cursor without names: the length of a member temporarily holds its number. */
static void take_rows(const rung_zkey *k, rung_ladder_cursor *c, bool back, uint32_t count,
                      rung_zkey_row *rows) {
    rung_ladder_entry entries[GROUP];
    for (uint32_t done = 0; done < count;) {
        uint32_t want = count - done < GROUP ? count - done : GROUP;
        uint32_t n = rung_ladder_walk(c, back, want, entries);
        RUNG_ASSERT(n == want); /* within the count */
        for (uint32_t i = 0; i < n; i++) {
            rows[done + i].member.len = entries[i].player;
            rows[done + i].score = rung__zkey_score(k, entries[i].key);
        }
        done += n;
    }
}

static void name_rows(const rung_zkey *k, uint32_t count, rung_zkey_row *rows) {
    for (uint32_t done = 0; done < count; done += FOUND) {
        uint32_t players[FOUND], n = count - done < FOUND ? count - done : FOUND;
        rung_slice names[FOUND];
        for (uint32_t i = 0; i < n; i++)
            players[i] = (uint32_t)rows[done + i].member.len;
        rung_names_id_used(k->state->players, players, n, names);
        for (uint32_t i = 0; i < n; i++)
            rows[done + i].member = names[i];
    }
}

/* At most PAGES of them; returns their rows. */
static uint32_t read_pages(const rung_zkey *k, uint32_t n, const rung_zkey_page *pages, bool rev,
                           rung_zkey_row *rows) {
    bool back = rev == k->is_ascending;
    uint32_t indexes[PAGES], total = 0;
    rung_ladder_cursor cursors[PAGES];
    for (uint32_t i = 0; i < n; i++)
        indexes[i] = back ? k->count - pages[i].start : pages[i].start;
    rung_ladder_seek_batch(k->ladder, n, indexes, cursors);
    for (int part = 0; part < 2; part++)
        for (uint32_t i = 0; i < n; i++)
            rung_ladder_prefetch_walk(&cursors[i], back, pages[i].count, part);
    for (uint32_t i = 0; i < n; i++) {
        take_rows(k, &cursors[i], back, pages[i].count, rows + total);
        total += pages[i].count;
    }
    name_rows(k, total, rows);
    return total;
}

void rung_zkey_pages(const rung_zkey *k, uint32_t n, const rung_zkey_page *pages, bool rev,
                     rung_zkey_row *rows) {
    for (uint32_t done = 0; k->ladder && done < n; done += PAGES)
        rows += read_pages(k, n - done < PAGES ? n - done : PAGES, pages + done, rev, rows);
}

uint32_t rung_zkey_rows(const rung_zkey *k, uint32_t start, uint32_t count, bool rev,
                        rung_zkey_row *rows) {
    if (!k->ladder || start >= k->count)
        return 0;
    count = k->count - start < count ? k->count - start : count;
    bool back = rev == k->is_ascending;
    rung_ladder_cursor c = rung_ladder_seek(k->ladder, back ? k->count - start : start);
    take_rows(k, &c, back, count, rows);
    name_rows(k, count, rows);
    return count;
}

void rung__zkey_at(const rung_zkey *k, uint32_t index, rung_ladder_entry *out) {
    rung_status st = rung_ladder_at(k->ladder, k->is_ascending ? index : k->count - 1 - index, out);
    RUNG_ASSERT(st == RUNG_OK); /* within the count */
}

/* ---- ranges ---- */

static void range_by_rank(const rung_zkey *k, int64_t start, int64_t stop, bool rev,
                          uint32_t *first, uint32_t *end) {
    int64_t n = k->count;
    start = start < 0 ? (start + n < 0 ? 0 : start + n) : start;
    stop = stop < 0 ? stop + n : stop;
    stop = stop >= n ? n - 1 : stop;
    *first = *end = 0;
    if (start > stop || start >= n)
        return;
    *first = (uint32_t)(rev ? n - 1 - stop : start);
    *end = (uint32_t)(rev ? n - start : stop + 1);
}

/* How many members come before a bound, in ascending order: a score, or a text if that is not NULL. `or_equal`: also
 * those that equal it. For scores of any type, as displayed. */
static uint32_t count_before(const rung_zkey *k, double score, const rung_slice *text,
                             bool or_equal) {
    uint32_t low = 0, high = k->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        rung_ladder_entry e;
        rung__zkey_at(k, mid, &e);
        double shown = text ? 0 : rung__zkey_score(k, e.key);
        int c = text ? rung_slice_cmp(rung_names_id(k->state->players, e.player), *text)
                     : (shown > score) - (shown < score);
        if (c < 0 || (or_equal && c == 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The same for both ends of at most RANGES ranges of a sorted set. The ladder is descending, so members not below the
 * bound come first. One word is the whole key. */
static void ranges_of_zset(const rung_zkey *k, uint32_t n, const rung_range *ranges,
                           uint32_t *firsts, uint32_t *ends) {
    const rung__board *b = k->board;
    uint64_t words[2 * RANGES];
    bool or_equal[2 * RANGES];
    uint32_t counts[2 * RANGES];
    for (uint32_t i = 0; i < 2 * n; i++) {
        const rung_range *range = &ranges[i / 2];
        rung_value bound = {.d = i % 2 ? range->max : range->min};
        rung_status st = rung_score_encode(&b->def->key.columns[0], bound, &words[i]);
        RUNG_ASSERT(st == RUNG_OK); /* not NaN */
        or_equal[i] = i % 2 ? range->max_is_open : !range->min_is_open;
    }
    rung_ladder_count_before_batch(k->ladder, 2 * n, words, or_equal, counts);
    for (uint32_t i = 0; i < n; i++) {
        firsts[i] = k->count - counts[2 * i];
        ends[i] = k->count - counts[2 * i + 1];
    }
}

static void ranges_by_score(const rung_zkey *k, uint32_t n, const rung_range *ranges,
                            uint32_t *firsts, uint32_t *ends) {
    if (k->kind == RUNG_ZKEY_ZSET) {
        ranges_of_zset(k, n, ranges, firsts, ends);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        firsts[i] = count_before(k, ranges[i].min, NULL, ranges[i].min_is_open);
        ends[i] = count_before(k, ranges[i].max, NULL, !ranges[i].max_is_open);
    }
}

void rung_zkey_counts(const rung_zkey *k, uint32_t n, const rung_range *ranges,
                      uint32_t *counts_out) {
    uint32_t firsts[RANGES], ends[RANGES];
    for (uint32_t done = 0; done < n; done += RANGES) {
        uint32_t count = n - done < RANGES ? n - done : RANGES;
        memset(firsts, 0, sizeof firsts);
        memset(ends, 0, sizeof ends);
        if (k->ladder && k->count)
            ranges_by_score(k, count, ranges + done, firsts, ends);
        for (uint32_t i = 0; i < count; i++)
            counts_out[done + i] = ends[i] > firsts[i] ? ends[i] - firsts[i] : 0;
    }
}

/* Members before a bound; with `through`, also one that is the bound. */
static uint32_t count_before_bound(const rung_zkey *k, const rung_lex_bound *bound, bool through) {
    if (bound->kind == RUNG_LEX_LOWEST || bound->kind == RUNG_LEX_HIGHEST)
        return bound->kind == RUNG_LEX_LOWEST ? 0 : k->count;
    return count_before(k, 0, &bound->text, through);
}

void rung_zkey_range(const rung_zkey *k, const rung_range *range, bool rev, uint32_t *first_out,
                     uint32_t *end_out) {
    *first_out = *end_out = 0;
    if (!k->ladder || k->count == 0)
        return;
    switch (range->by) {
    case RUNG_RANGE_RANK:
        range_by_rank(k, range->start, range->stop, rev, first_out, end_out);
        return;
    case RUNG_RANGE_SCORE:
        ranges_by_score(k, 1, range, first_out, end_out);
        break;
    case RUNG_RANGE_LEX:
        *first_out = count_before_bound(k, &range->lex_min, range->lex_min.kind == RUNG_LEX_OPEN);
        *end_out = count_before_bound(k, &range->lex_max, range->lex_max.kind == RUNG_LEX_CLOSED);
        break;
    }
    if (*end_out < *first_out)
        *end_out = *first_out;
}

/* ---- walks ---- */

uint32_t rung__zkey_list(const rung_zkey *k, uint32_t from, uint32_t *players, uint32_t room) {
    return k->ladder ? rung_ladder_list(k->ladder, from, players, room)
           : k->set  ? rung__set_list(k->set, from, players, room)
                     : 0;
}

uint64_t rung_zkey_scan(const rung_zkey *k, uint64_t cursor, uint32_t room, rung_zkey_row *rows,
                        uint32_t *count_out) {
    *count_out = 0;
    while (*count_out < room && cursor < RUNG_PLAYER_NONE) {
        uint32_t players[GROUP], want = room - *count_out < GROUP ? room - *count_out : GROUP;
        double scores[GROUP];
        bool found[GROUP];
        uint32_t n = rung__zkey_list(k, (uint32_t)cursor, players, want);
        rung__zkey_find(k, n, players, scores, found);
        for (uint32_t i = 0; i < n; i++) {
            rows[*count_out + i].member.len = players[i];
            rows[*count_out + i].score = scores[i];
        }
        name_rows(k, n, rows + *count_out);
        *count_out += n;
        if (n < want)
            return 0;
        cursor = (uint64_t)players[n - 1] + 1;
    }
    return cursor < RUNG_PLAYER_NONE ? cursor : 0;
}

void rung_zkey_nth(const rung_zkey *k, uint32_t nth, rung_zkey_row *row) {
    RUNG_ASSERT(nth < k->count);
    if (k->ladder) {
        rung_zkey_rows(k, nth, 1, false, row);
        return;
    }
    uint32_t players[GROUP], from = 0, n;
    while ((n = rung__set_list(k->set, from, players, GROUP)) <= nth) {
        nth -= n;
        from = players[n - 1] + 1;
    }
    row->score = 1;
    row->member = rung_names_id(k->state->players, players[nth]);
}

/* ---- all keys ---- */

uint64_t rung_zkeys_count(const rung_state *s) {
    return rung_names_count(s->board_ids) - s->shadow_count;
}

bool rung_zkeys_next(const rung_state *s, int64_t now_ms, uint64_t *cursor, rung_slice *name_out,
                     rung_zkey_kind *kind_out) {
    while (*cursor < rung_names_span(s->board_ids)) {
        rung_zkey k;
        rung_slice name = rung_names_id(s->board_ids, (uint32_t)(*cursor)++);
        if (name.len == 0)
            continue;
        rung_zkey_open(s, name, now_ms, &k);
        if (k.kind == RUNG_ZKEY_NONE)
            continue;
        *name_out = name;
        *kind_out = k.kind;
        return true;
    }
    return false;
}
