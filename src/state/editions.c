/* SPDX-License-Identifier: Apache-2.0 */
/* Timed snapshots (docs/adr/0032-timed-snapshots.md).
 *
 *   T1 The editions of one window (of a kind, or a season) are at most `keep`, and their versions ascend.
 *   T2 An edition is taken when log time leaves a span of `every`, of the windows that were current at the span's end
 *      and differ from their newest edition. next_ms is never later than the next time that this can happen, so an
 *      idle board makes no editions, and no ticks.
 *   T3 Nobody who is banned or erased is in an edition: those that show them are forgotten.
 *
 * A window differs if the digest of its entries does, which the state keeps anyway: taking an edition costs nothing
 * while scores come in. */
#include "state/editions.h"

#include "base/bytes.h"
#include "model/civil.h"
#include "model/utf8.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/ranking.h"

#include <string.h>

/* ---- one edition ---- */

static uint32_t words_of(const rung__board *b) {
    return rung_keyspec_words(&b->def->key);
}

static rung_slice season_of(const rung__edition *e) {
    return rung_slice_of(e->bytes + e->size - e->season_len, e->season_len);
}

static uint64_t content_hash(const rung__edition *e) {
    return rung__bytes_hash(e->bytes, e->size);
}

static rung_digest edition_digest(const rung__board *b, const rung__edition *e) {
    uint64_t words[11] = {(uint64_t)e->at_ms,
                          e->kind,
                          (uint64_t)e->ordinal,
                          (uint64_t)e->start_ms,
                          (uint64_t)e->end_ms,
                          e->entries.a,
                          e->entries.b,
                          e->rank,
                          e->total,
                          e->count,
                          content_hash(e)};
    return rung__fact_digest(RUNG__FACT_EDITION, b->serial, e->version, words, 11);
}

static size_t block_size(const rung__edition *e) {
    return sizeof *e + e->size;
}

/* The next row of an edition; false at the end. */
typedef struct reader {
    const uint8_t *at;
    uint32_t left, words;
} reader;

typedef struct stored_row {
    uint32_t player;
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    rung_slice name;
} stored_row;

static reader read_from(const rung__board *b, const rung__edition *e) {
    return (reader){e->bytes, e->count, words_of(b)};
}

static bool next_row(reader *r, stored_row *row) {
    if (!r->left)
        return false;
    r->left--;
    row->player = rung_get32(r->at);
    for (uint32_t k = 0; k < r->words; k++)
        row->key[k] = rung_get64(r->at + 4 + 8 * (size_t)k);
    r->at += 4 + 8 * (size_t)r->words;
    row->name = rung_slice_of(r->at + 1, *r->at);
    r->at += 1 + (size_t)*r->at;
    return true;
}

/* ---- the list ---- */

static bool is_of(const rung__edition *e, uint32_t kind, rung_slice season) {
    return e->kind == kind && (kind != RUNG_WINDOW_SEASON || rung_slice_eq(season_of(e), season));
}

static const rung__edition *newest_of(const rung__editions *all, uint32_t kind, rung_slice season) {
    for (uint32_t i = all->count; i-- > 0;)
        if (is_of(all->items[i], kind, season))
            return all->items[i];
    return NULL;
}

static void count_in(rung_state *s, rung__editions *all, const rung__edition *e) {
    rung_digest fact = edition_digest(all->board, e);
    rung__digest_add(&s->digest, fact);
    rung__digest_add(&all->digest, fact);
    all->bytes += block_size(e);
}

static void remove_at(rung_state *s, rung__editions *all, uint32_t i) {
    rung__edition *e = all->items[i];
    rung_digest fact = edition_digest(all->board, e);
    rung__digest_subtract(&s->digest, fact);
    rung__digest_subtract(&all->digest, fact);
    all->bytes -= block_size(e);
    memmove(&all->items[i], &all->items[i + 1], (all->count - i - 1) * sizeof *all->items);
    all->count--;
    rung_alloc_free(s->alloc, e, block_size(e));
}

/* T1, of one window. */
static void enforce_keep(rung_state *s, rung__editions *all, uint32_t kind, rung_slice season) {
    uint32_t kept = 0;
    for (uint32_t i = all->count; i-- > 0;)
        if (is_of(all->items[i], kind, season) && ++kept > all->board->def->snapshot_keep)
            remove_at(s, all, i);
}

static void enforce_keep_all(rung_state *s, rung__editions *all) {
    const rung_board_def *def = all->board->def;
    for (uint32_t kind = 0; kind < RUNG_WINDOW_SEASON; kind++)
        enforce_keep(s, all, kind, (rung_slice){NULL, 0});
    for (uint32_t i = 0; i < def->season_count; i++)
        enforce_keep(s, all, RUNG_WINDOW_SEASON, def->seasons[i].name);
}

static bool def_has(const rung_board_def *def, const rung__edition *e) {
    return e->kind == RUNG_WINDOW_SEASON ? rung_board_season(def, season_of(e)) != NULL
                                         : def->windows >> e->kind & 1;
}

/* ---- when ---- */

static void recompute_next(rung_state *s) {
    s->next_edition_ms = INT64_MAX;
    for (const rung__editions *e = s->editions; e; e = e->next)
        if (e->next_ms < s->next_edition_ms)
            s->next_edition_ms = e->next_ms;
}

void rung__editions_note(rung_state *s, rung__editions *e) {
    int64_t every = e->board->def->snapshot_every_ms;
    if (s->time_ms == INT64_MIN || !every) /* no longer: the definition is changing */
        return;
    e->is_noted = true;
    e->next_ms = (rung_floor_div(s->time_ms, every) + 1) * every;
    if (e->next_ms < s->next_edition_ms)
        s->next_edition_ms = e->next_ms;
}

/* ---- life ---- */

rung_status rung__editions_admit(const rung_state *s, const rung__board *except,
                                 const rung_board_def *def, rung_err *err) {
    uint64_t rows = rung_board_snapshot_rows(def);
    if (!rows)
        return RUNG_OK;
    for (const rung__editions *e = s->editions; e; e = e->next)
        if (e->board != except)
            rows += rung_board_snapshot_rows(e->board->def);
    return rows <= RUNG_EDITION_ROWS_MAX
               ? RUNG_OK
               : RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "snapshots",
                                 "top x keep x windows of all boards would be %llu entries; at "
                                 "most %llu are kept",
                                 (unsigned long long)rows,
                                 (unsigned long long)RUNG_EDITION_ROWS_MAX);
}

rung_status rung__editions_begin(rung_state *s, rung__board *b) {
    rung__editions *all = rung_alloc_zeroed(s->alloc, sizeof *all);
    if (!all)
        return RUNG_ENOMEM;
    all->board = b;
    all->next_ms = INT64_MAX;
    all->next = s->editions;
    all->at = &s->editions;
    if (all->next)
        all->next->at = &all->next;
    s->editions = b->editions = all;
    return RUNG_OK;
}

void rung__editions_drop(rung_state *s, rung__board *b) {
    rung__editions *all = b->editions;
    if (!all)
        return;
    while (all->count)
        remove_at(s, all, all->count - 1);
    *all->at = all->next;
    if (all->next)
        all->next->at = all->at;
    rung_alloc_free(s->alloc, all->items, all->cap * sizeof *all->items);
    rung_alloc_free(s->alloc, all, sizeof *all);
    b->editions = NULL;
    recompute_next(s);
}

rung_status rung__editions_redefine(rung_state *s, rung__board *b) {
    if (!b->def->snapshot_every_ms) {
        rung__editions_drop(s, b);
        return RUNG_OK;
    }
    if (!b->editions && rung__editions_begin(s, b) < 0)
        return RUNG_ENOMEM;
    rung__editions *all = b->editions;
    for (uint32_t i = all->count; i-- > 0;)
        if (!def_has(b->def, all->items[i]))
            remove_at(s, all, i);
    enforce_keep_all(s, all);
    rung__editions_note(s, all); /* the boundaries may be others, and `top` */
    recompute_next(s);
    return RUNG_OK;
}

/* ---- taking ---- */

static rung_slice name_of(const rung_state *s, uint32_t player) {
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count = rung_state_profile(s, player, attributes);
    for (uint32_t i = 0; i < count; i++)
        if (rung_slice_eq(attributes[i].name, RUNG_SLICE("name")))
            return attributes[i].value.len <= RUNG_EDITION_NAME_MAX ? attributes[i].value
                                                                    : (rung_slice){NULL, 0};
    return (rung_slice){NULL, 0};
}

static uint8_t *put_row(uint8_t *at, const rung_ladder_entry *e, uint32_t words, rung_slice name) {
    rung_put32(at, e->player);
    for (uint32_t k = 0; k < words; k++)
        rung_put64(at + 4 + 8 * (size_t)k, e->key[k]);
    at += 4 + 8 * (size_t)words;
    *at = (uint8_t)name.len;
    rung_bytes_copy(at + 1, name.ptr, name.len);
    return at + 1 + name.len;
}

/* The edition of a window as it is now; NULL: no memory. */
static rung__edition *make(rung_state *s, const rung__board *b, const rung__window *w,
                           int64_t at_ms) {
    uint32_t total = rung_ladder_count(w->ladder), words = words_of(b);
    uint32_t count = total < b->def->snapshot_top ? total : b->def->snapshot_top;
    size_t size = (size_t)count * (5 + 8 * (size_t)words) + w->season.len;
    rung_ladder_entry entry;
    rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0);
    for (uint32_t i = 0; i < count && rung_ladder_next(&c, &entry); i++)
        size += name_of(s, entry.player).len;
    rung__edition *e = rung_alloc_get(s->alloc, sizeof *e + size);
    if (!e)
        return NULL;
    *e = (rung__edition){.version = s->seq,
                         .at_ms = at_ms,
                         .ordinal = w->ordinal,
                         .start_ms = w->start_ms,
                         .end_ms = w->end_ms,
                         .entries = w->entries,
                         .kind = w->kind,
                         .rank = b->def->rank,
                         .total = total,
                         .count = count,
                         .size = (uint32_t)size,
                         .season_len = (uint32_t)w->season.len};
    uint8_t *at = e->bytes;
    c = rung_ladder_seek(w->ladder, 0);
    for (uint32_t i = 0; i < count && rung_ladder_next(&c, &entry); i++)
        at = put_row(at, &entry, words, name_of(s, entry.player));
    rung_bytes_copy(at, w->season.ptr, w->season.len);
    return e;
}

static bool differs(const rung__board *b, const rung__window *w, const rung__edition *newest) {
    uint32_t total = rung_ladder_count(w->ladder);
    if (!newest || newest->ordinal != w->ordinal)
        return total > 0;
    return newest->entries.a != w->entries.a || newest->entries.b != w->entries.b ||
           newest->count != (total < b->def->snapshot_top ? total : b->def->snapshot_top);
}

/* The window of a kind or a season that was current just before a boundary; NULL: none has entries. */
static const rung__window *current_window(const rung__board *b, uint32_t kind,
                                          const rung_season *season, int64_t at_ms) {
    rung_window span = {0, INT64_MIN, INT64_MAX};
    const rung__window *w;
    if (season && (at_ms <= season->starts_ms || at_ms > season->ends_ms))
        return NULL;
    if (kind && !season && rung__window_at(b, kind, at_ms - 1, &span) != RUNG_OK)
        return NULL;
    w = rung__window_find(b, kind, span.ordinal, season ? season->name : (rung_slice){NULL, 0});
    return w && w->ladder ? w : NULL;
}

/* RUNG_OK: it got one; RUNG_UNCHANGED: it needs none. */
static rung_status take_one(rung_state *s, rung__editions *all, const rung__window *w,
                            int64_t at_ms) {
    rung__board *b = all->board;
    if (!w || !differs(b, w, newest_of(all, w->kind, w->season)))
        return RUNG_UNCHANGED;
    if (rung__grow(s->alloc, &all->items, &all->cap, all->count + 1, sizeof *all->items) < 0)
        return RUNG_ENOMEM;
    rung__edition *e = make(s, b, w, at_ms);
    if (!e)
        return RUNG_ENOMEM;
    all->items[all->count++] = e;
    count_in(s, all, e);
    enforce_keep(s, all, w->kind, w->season);
    b->version = s->seq + 1; /* the event that is about to count */
    return RUNG_OK;
}

/* Will a window that is current at the next boundary be another one than in its newest edition? */
static bool is_behind(const rung_state *s, const rung__editions *all) {
    const rung__board *b = all->board;
    int64_t every = b->def->snapshot_every_ms;
    int64_t next_ms = (rung_floor_div(s->time_ms, every) + 1) * every;
    const rung__window *w;
    for (uint32_t kind = 0; kind < RUNG_WINDOW_SEASON; kind++)
        if (b->def->windows >> kind & 1 && (w = current_window(b, kind, NULL, next_ms)) &&
            differs(b, w, newest_of(all, kind, w->season)))
            return true;
    for (uint32_t i = 0; i < b->def->season_count; i++)
        if ((w = current_window(b, RUNG_WINDOW_SEASON, &b->def->seasons[i], next_ms)) &&
            differs(b, w, newest_of(all, RUNG_WINDOW_SEASON, w->season)))
            return true;
    return false;
}

/* The first boundary after the begin of a window that has entries ahead of its time. */
static int64_t first_ahead(const rung_state *s, const rung__editions *all) {
    const rung__board *b = all->board;
    int64_t every = b->def->snapshot_every_ms, first_ms = INT64_MAX;
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung__window *w = b->windows[i];
        if (w->kind && w->ladder && w->start_ms > s->time_ms && w->start_ms < first_ms)
            first_ms = w->start_ms;
    }
    return first_ms == INT64_MAX ? first_ms : (rung_floor_div(first_ms, every) + 1) * every;
}

/* T2, after all due ones were taken. */
static void settle(rung_state *s, rung__editions *all) {
    all->is_noted = false;
    all->next_ms = INT64_MAX;
    if (is_behind(s, all))
        rung__editions_note(s, all);
    else
        all->next_ms = first_ahead(s, all);
}

/* What counts is the end of the span that log time was in, not when that was noticed: next_ms may be earlier on a
 * server that did not start anew in between. */
static rung_status take_board(rung_state *s, rung__editions *all, int64_t before_ms) {
    const rung__board *b = all->board;
    int64_t every = b->def->snapshot_every_ms,
            at_ms = (rung_floor_div(before_ms, every) + 1) * every;
    rung_status st = RUNG_OK, any = RUNG_UNCHANGED;
    for (uint32_t kind = 0; kind < RUNG_WINDOW_SEASON && st >= 0; kind++) {
        if (!(b->def->windows >> kind & 1))
            continue;
        st = take_one(s, all, current_window(b, kind, NULL, at_ms), at_ms);
        any = st == RUNG_OK ? st : any;
    }
    for (uint32_t i = 0; i < b->def->season_count && st >= 0; i++) {
        const rung_season *season = &b->def->seasons[i];
        st = take_one(s, all, current_window(b, RUNG_WINDOW_SEASON, season, at_ms), at_ms);
        any = st == RUNG_OK ? st : any;
    }
    if (st < 0)
        return st;
    settle(s, all);
    return any;
}

rung_status rung__editions_take(rung_state *s, int64_t before_ms) {
    rung_status st = RUNG_OK, any = RUNG_UNCHANGED;
    for (rung__editions *e = s->editions; e && st >= 0; e = e->next) {
        if (e->next_ms > s->time_ms)
            continue;
        st = take_board(s, e, before_ms);
        any = st == RUNG_OK ? st : any;
    }
    recompute_next(s);
    return st < 0 ? st : any;
}

/* ---- T3 ---- */

static bool shows(const rung__board *b, const rung__edition *e, uint32_t player) {
    reader r = read_from(b, e);
    stored_row row;
    while (next_row(&r, &row))
        if (row.player == player)
            return true;
    return false;
}

void rung__editions_forget(rung_state *s, uint32_t player) {
    for (rung__editions *all = s->editions; all; all = all->next)
        for (uint32_t i = all->count; i-- > 0;)
            if (shows(all->board, all->items[i], player)) {
                remove_at(s, all, i);
                rung__editions_touch(s, all->board);
                all->board->version = s->seq;
            }
}

/* ---- images ---- */

/* Its rows are complete, in order, of known players who are not banned, with keys that apply makes. */
static bool rows_are_valid(const rung_state *s, const rung__board *b, const rung__edition *e) {
    size_t fixed = 5 + 8 * (size_t)words_of(b), left = e->size - e->season_len;
    const uint8_t *at = e->bytes;
    stored_row row, before = {0};
    for (uint32_t i = 0; i < e->count; i++, before = row) {
        if (left < fixed || left - fixed < at[fixed - 1])
            return false;
        reader r = {at, 1, words_of(b)};
        next_row(&r, &row);
        left -= (size_t)(r.at - at);
        at = r.at;
        int order = 0;
        for (uint32_t k = 0; k < words_of(b) && !order; k++)
            order = (row.key[k] > before.key[k]) - (row.key[k] < before.key[k]);
        if (!rung_names_is_used(s->players, row.player) || rung__sparse_get(&s->bans, row.player) ||
            (i && order < 0) || !rung__key_is_valid(b->def, row.key) ||
            row.name.len > RUNG_EDITION_NAME_MAX || !rung_utf8_is_plain(row.name))
            return false;
    }
    return left == 0;
}

static bool is_valid(const rung_state *s, const rung__board *b, const rung__edition *e) {
    rung_window span = {e->ordinal, e->start_ms, e->end_ms};
    const rung__edition *newest = newest_of(b->editions, e->kind, season_of(e));
    return e->kind <= RUNG_WINDOW_SEASON && e->season_len <= e->size &&
           (e->kind == RUNG_WINDOW_SEASON) == (e->season_len != 0) &&
           e->count <= RUNG_SNAPSHOT_TOP_MAX && e->count <= e->total && e->version <= s->seq &&
           e->rank <= RUNG_RANK_DENSE && e->at_ms <= s->time_ms &&
           (!newest || newest->version < e->version) && def_has(b->def, e) &&
           rung__window_is_valid(b->def, e->kind, &span, season_of(e)) && rows_are_valid(s, b, e);
}

rung_status rung__edition_restore(rung_state *s, rung__board *b, rung__edition *e) {
    rung__editions *all = b->editions;
    if (!is_valid(s, b, e) || (all->count && all->items[all->count - 1]->version > e->version))
        return RUNG_EINVAL;
    if (rung__grow(s->alloc, &all->items, &all->cap, all->count + 1, sizeof *all->items) < 0)
        return RUNG_ENOMEM;
    all->items[all->count++] = e;
    count_in(s, all, e);
    return RUNG_OK;
}

void rung__editions_restored(rung_state *s) {
    for (rung__editions *e = s->editions; e && s->time_ms != INT64_MIN; e = e->next) {
        enforce_keep_all(s, e);
        settle(s, e);
    }
    recompute_next(s);
}

/* ---- for the self-check ---- */

rung_digest rung__editions_digest_all(const rung__board *b) {
    rung_digest d = {0, 0};
    for (uint32_t i = 0; b->editions && i < b->editions->count; i++)
        rung__digest_add(&d, edition_digest(b, b->editions->items[i]));
    return d;
}

const char *rung__editions_check(const rung_state *s, const rung__board *b) {
    const rung__editions *all = b->editions;
    bool should = b->def->snapshot_every_ms && !b->twin;
    if (!all)
        return should ? "T: a board has no editions" : NULL;
    if (!should)
        return "T: a board has editions without a definition of them";
    size_t bytes = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const rung__edition *e = all->items[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < all->count; k++)
            kept += is_of(all->items[k], e->kind, season_of(e));
        if (kept > b->def->snapshot_keep)
            return "T1: a window has too many editions";
        if (i && all->items[i - 1]->version > e->version)
            return "T1: versions do not ascend";
        if (!def_has(b->def, e) || !rows_are_valid(s, b, e))
            return "T3: an edition shows what it should not";
        bytes += block_size(e);
    }
    if (bytes != all->bytes)
        return "T: the bytes of editions are miscounted";
    if (all->next_ms < s->next_edition_ms)
        return "T2: an edition is due earlier than the state knows";
    return all->next_ms == INT64_MAX && s->time_ms != INT64_MIN && is_behind(s, all)
               ? "T2: a window differs from its newest edition, and none is due"
               : NULL;
}

/* ---- queries ---- */

static void describe(const rung_state *s, const rung__board *b, const rung__edition *e,
                     rung_edition *out) {
    *out = (rung_edition){.version = e->version,
                          .at_ms = e->at_ms,
                          .kind = e->kind,
                          .ordinal = e->ordinal,
                          .start_ms = e->start_ms,
                          .end_ms = e->end_ms,
                          .season = season_of(e),
                          .rank = (rung_rank_style)e->rank,
                          .total = e->total,
                          .count = e->count,
                          .hash = edition_digest(b, e).a,
                          .serial = b->serial,
                          .state = s,
                          .board = b,
                          .own = e};
}

/* Which editions a query means. */
typedef struct wanted {
    const rung__editions *all;
    uint32_t kind;
    rung_slice season;
    bool has_ordinal;
    int64_t ordinal;
} wanted;

static bool is_wanted(const wanted *want, const rung__edition *e) {
    return is_of(e, want->kind, want->season) &&
           (!want->has_ordinal || e->ordinal == want->ordinal);
}

static rung_status find_wanted(const rung_state *s, const rung_query *q, wanted *out,
                               rung_err *err) {
    const rung__board *b = rung__board_find(s, q->board);
    rung_err why;
    *out = (wanted){0};
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "no such board");
    if (!b->editions)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "version",
                               "the board's definition has no snapshots");
    if (q->scope.len || q->teams)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "versions are of whole rankings of players",
                               q->teams ? "version" : "scope");
    if (q->window_id.len && q->on.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "on", "not together with window_id");
    out->all = b->editions;
    out->kind = rung_board_window_kind(b->def, q->window, &out->season);
    if (out->kind == RUNG_WINDOW_SEASON ? !rung_board_season(b->def, out->season)
                                        : !(b->def->windows >> out->kind & 1))
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window", "the board has no such windows");
    if (!q->window_id.len && !q->on.len)
        return RUNG_OK;
    if (out->kind == 0 || out->kind == RUNG_WINDOW_SEASON) {
        rung_slice name = out->kind ? out->season : rung_slice_str(rung_window_words[0]);
        return q->on.len || rung_slice_eq(q->window_id, name)
                   ? RUNG_OK
                   : RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window_id", "there is no such window");
    }
    out->has_ordinal = true;
    if (rung_window_find((rung_window_kind)out->kind, q->window_id, q->on, &out->ordinal, &why) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%s", q->window_id.len ? "window_id" : "on",
                               why.message);
    return RUNG_OK;
}

rung_status rung_state_edition(const rung_state *s, const rung_query *q, uint64_t version,
                               rung_edition *out, rung_err *err) {
    wanted want;
    rung_status st = find_wanted(s, q, &want, err);
    if (st != RUNG_OK)
        return st;
    for (uint32_t i = want.all->count; i-- > 0;) {
        const rung__edition *e = want.all->items[i];
        if (is_wanted(&want, e) && (version == RUNG_EDITION_NEWEST || e->version == version)) {
            describe(s, want.all->board, e, out);
            return RUNG_OK;
        }
    }
    return version == RUNG_EDITION_NEWEST
               ? RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "version", "there is none yet")
               : RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "version",
                                 "there is no such version, or it is no longer kept");
}

rung_status rung_state_editions(const rung_state *s, const rung_query *q, uint32_t room,
                                rung_edition *out, uint32_t *count_out, uint32_t *total_out,
                                rung_err *err) {
    wanted want;
    rung_status st = find_wanted(s, q, &want, err);
    *count_out = *total_out = 0;
    if (st != RUNG_OK)
        return st;
    for (uint32_t i = want.all->count; i-- > 0;) {
        const rung__edition *e = want.all->items[i];
        if (!is_wanted(&want, e))
            continue;
        if (*count_out < room)
            describe(s, want.all->board, e, &out[(*count_out)++]);
        (*total_out)++;
    }
    return RUNG_OK;
}

uint64_t rung_state_edition_newest(const rung_state *s, rung_slice board, uint32_t kind,
                                   rung_slice season) {
    const rung__board *b = rung__board_find(s, board);
    const rung__edition *e = b && b->editions ? newest_of(b->editions, kind, season) : NULL;
    return e ? e->version : 0;
}

uint32_t rung_edition_rows(const rung_edition *edition, rung_rank_style rank, uint32_t offset,
                           uint32_t limit, rung_row *rows, rung_slice *names) {
    const rung__board *b = edition->board;
    const rung__edition *e = edition->own;
    reader r = read_from(b, e);
    stored_row row, before = {0};
    uint32_t sparse = 1, dense = 1, done = 0, words = rung_keyspec_score_words(&b->def->key);
    for (uint32_t i = 0; done < limit && next_row(&r, &row); i++, before = row) {
        if (i && memcmp(row.key, before.key, words * sizeof row.key[0]) != 0) {
            sparse = i + 1;
            dense++;
        }
        if (i < offset)
            continue;
        rung_row *to = &rows[done];
        *to = (rung_row){.index = i,
                         .number = row.player,
                         .id = rung_names_id(edition->state->players, row.player),
                         .value_count = b->def->key.column_count,
                         .has_at = rung_tie_keeps_time(b->def->key.tie),
                         .rank = rung_rank_in(rank, i + 1, sparse, dense)};
        rung__key_values(b, row.key, e->at_ms, to->values, &to->at_ms);
        to->percentile = 100.0 * (double)(e->total - sparse + 1) / (double)e->total;
        names[done++] = row.name;
    }
    return done;
}
