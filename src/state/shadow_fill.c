/* SPDX-License-Identifier: Apache-2.0 */
/* What fills a shadow: records, packed into the payloads of RUNG_EVENT_BOARD_FILLED, in the terms of base/bytes.h.
 *
 *   byte 1 meta      the first record of part 0, and of no other part: text definition; signed time of creation; signed
 *                    time by which windows that are not in memory are over (INT64_MIN: none); number of zone rules, at
 *                    least 1; then per rule except the last text packed zone, number day start in minutes; and per rule
 *                    except the first, for hour to year, signed from, signed window before
 *   byte 2 window    byte: bits 0-2 kind, bit 3 closed, bit 4 dropped; of a season text name, of a calendar window
 *                    signed ordinal; of both signed start, signed end. The entries after it are of this window
 *   byte 3 entry     text player; number per key word; in a closed window text per scope slot, empty for none
 *   byte 4 wipe      text player: has no entry in any window, until one follows
 *   byte 5 minute    signed minute of the rate limit: nobody has submitted in it yet
 *   byte 6 rate      text player, number of submissions in that minute
 *   byte 9 windows   number of windows; per window byte kind, then of a season text name, of a calendar window signed
 *                    ordinal: the shadow has no others
 *   byte 11 rated    text player; reals rating, deviation, volatility; signed time of the last match; numbers games,
 *                    wins, draws, losses; signed streak: the player's rating
 *   byte 12 unrated  text player: has no rating
 *   byte 13 match    number sequence; signed at, signed log time; text id; number of players; per player text, empty
 *                    for nobody, number side x 2 + 1 for a new player, signed place, number rank, reals expected,
 *                    weight, played, rating before, rating, deviation, signed score before, signed score: a kept match
 *   byte 14 removed  number of matches; per match the difference to the sequence before it: those that were left out
 *   byte 7 queue     the last record: from here on submissions are queued
 *   byte 8 complete  the last record: apply the queue, then follow
 *
 * A payload is checked as a whole before anything of it is applied. A player who is banned has entries as well; they go
 * to the ban, whichever side of the event the ban is on. */
#include "model/utf8.h"
#include "state/attribute.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/match.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/shadow.h"

#include <string.h>

typedef enum record_kind {
    META = 1,
    WINDOW,
    ENTRY,
    WIPE,
    MINUTE,
    RATE,
    QUEUE,
    COMPLETE,
    WINDOWS,
    HELD, /* an entry that a ban holds: with the scopes it had when the ban began */
    RATED,
    UNRATED,
    MATCH,
    REMOVED,
} record_kind;

static const char queue_byte = QUEUE, complete_byte = COMPLETE;
const rung_slice rung_fill_queue = {&queue_byte, 1}, rung_fill_complete = {&complete_byte, 1};

typedef struct record {
    record_kind kind;
    rung_slice player;
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    rung_slice values[RUNG__SCOPE_SLOTS];
    uint32_t window, count;
    bool closed, dropped;
    bool has_values; /* of an entry; otherwise the player's scopes of now */
    rung_window span;
    rung_slice season;
    rung_slice def;
    int64_t created_ms, over_ms; /* of MINUTE: created_ms is the minute */
    rung_byte_reader rules;      /* at their number */
    rung_byte_reader list; /* of WINDOWS and REMOVED, at their number; of MATCH, at its players */
    rung_rating_card card;
    rung__kept_match match;
} record;

typedef struct reading {
    rung_byte_reader r;
    const rung_board_def *def; /* NULL: not known yet */
    bool has_window, is_closed, is_dropped, is_over;
} reading;

static uint32_t slots_of(const rung_board_def *def) {
    bool is_scope = false;
    for (uint32_t i = 0; i < def->scope_count; i++)
        is_scope = is_scope || rung_slice_eq(def->scopes[i], def->team_by);
    return def->scope_count + (def->has_teams && !is_scope);
}

static void fail(reading *in, const char *fault) {
    rung_byte_reader_fail(&in->r, fault);
}

/* ---- reading ---- */

/* A time that can be added to another one, or none. */
static int64_t get_time(reading *in, bool or_none) {
    int64_t ms = rung_get_signed(&in->r);
    if ((or_none && ms == INT64_MIN) || (ms >= -(INT64_C(1) << 60) && ms <= INT64_C(1) << 60))
        return ms;
    fail(in, "a time is out of range");
    return 0;
}

static void get_player(reading *in, record *out) {
    out->player = rung_get_text(&in->r);
    if (!in->r.fault && !rung_name_is_valid(out->player))
        fail(in, "a player's name is not valid");
}

static void skip_rules(reading *in) {
    uint32_t count = rung_get_count(&in->r, RUNG__RULES_MAX);
    if (!count)
        fail(in, "a board has no rules");
    for (uint32_t i = 0; i < count && !in->r.fault; i++) {
        if (i + 1 < count) {
            if (rung_get_text(&in->r).len > RUNG_ZONE_PACKED_MAX)
                fail(in, "the rules of a time zone are too long");
            rung_get_count(&in->r, RUNG_DAY_STARTS_MAX);
        }
        for (uint32_t kind = RUNG_WINDOW_HOUR; i && kind <= RUNG_WINDOW_YEAR; kind++) {
            get_time(in, false);
            rung_get_signed(&in->r);
        }
    }
}

static void get_meta(reading *in, record *out) {
    out->def = rung_get_text(&in->r);
    out->created_ms = get_time(in, false);
    out->over_ms = get_time(in, true);
    out->rules = in->r;
    skip_rules(in);
}

static void get_window(reading *in, record *out) {
    uint8_t head = rung_get_byte(&in->r);
    out->window = head & 7;
    out->closed = head >> 3 & 1;
    out->dropped = head >> 4 & 1;
    out->span = (rung_window){0, INT64_MIN, INT64_MAX};
    out->season = (rung_slice){NULL, 0};
    if (out->window == RUNG_WINDOW_SEASON)
        out->season = rung_get_text(&in->r);
    else if (out->window)
        out->span.ordinal = rung_get_signed(&in->r);
    if (out->window) {
        out->span.start_ms = get_time(in, false);
        out->span.end_ms = get_time(in, false);
    }
    if (in->r.fault)
        return;
    if (head >> 5 || out->window > RUNG_WINDOW_SEASON || (out->dropped && !out->closed) ||
        (out->closed && !out->window) ||
        !rung__window_is_valid(in->def, out->window, &out->span, out->season))
        fail(in, "a window is not valid");
    in->has_window = true;
    in->is_closed = out->closed;
    in->is_dropped = out->dropped;
}

static void get_entry(reading *in, record *out) {
    if (!in->has_window || in->is_dropped) {
        fail(in, "an entry is of no window");
        return;
    }
    get_player(in, out);
    memset(out->key, 0, sizeof out->key);
    for (uint32_t k = 0; k < rung_keyspec_words(&in->def->key); k++)
        out->key[k] = rung_get_number(&in->r);
    out->has_values = in->is_closed || out->kind == HELD;
    for (uint32_t i = 0; out->has_values && i < slots_of(in->def); i++) {
        out->values[i] = rung_get_text(&in->r);
        if (!in->r.fault && out->values[i].len && !rung_name_is_valid(out->values[i]))
            fail(in, "a scope is not valid");
    }
    if (!in->r.fault && !rung__key_is_valid(in->def, out->key))
        fail(in, "a key is not valid");
}

typedef struct identity {
    uint32_t kind;
    int64_t ordinal;
    rung_slice season;
} identity;

static identity get_identity(rung_byte_reader *r) {
    identity w = {.kind = rung_get_byte(r)};
    if (w.kind == RUNG_WINDOW_SEASON)
        w.season = rung_get_text(r);
    else if (w.kind)
        w.ordinal = rung_get_signed(r);
    if (w.kind > RUNG_WINDOW_SEASON)
        rung_byte_reader_fail(r, "a window is of an unknown kind");
    return w;
}

static void get_list(reading *in, record *out) {
    out->list = in->r;
    for (uint32_t n = rung_get_count(&in->r, RUNG__WINDOWS_ALL_MAX); n && !in->r.fault; n--)
        get_identity(&in->r);
}

static bool is_within(double x, double least, double most) {
    return x >= least && x <= most;
}

static void get_rated(reading *in, record *out) {
    rung_rating_card *c = &out->card;
    get_player(in, out);
    c->rating.rating = rung_get_real(&in->r);
    c->rating.deviation = rung_get_real(&in->r);
    c->rating.volatility = rung_get_real(&in->r);
    c->rating.at_ms = rung_get_signed(&in->r);
    c->rating.games = rung_get_count(&in->r, UINT32_MAX);
    c->wins = rung_get_count(&in->r, UINT32_MAX);
    c->draws = rung_get_count(&in->r, UINT32_MAX);
    c->losses = rung_get_count(&in->r, UINT32_MAX);
    int64_t streak = rung_get_signed(&in->r);
    c->streak = (int32_t)streak;
    if (!in->r.fault && (streak != c->streak || !rung__rated_is_valid(in->def, c)))
        fail(in, "a rating is not valid");
}

/* A result of a match; `side` is that of the one before. */
static void get_result(rung_byte_reader *r, rung__result *out, rung_slice *player, uint32_t *side) {
    *player = rung_get_text(r);
    uint32_t head = rung_get_count(r, RUNG_MATCH_PLAYERS_MAX << 1 | 1);
    int64_t place = rung_get_signed(r);
    *out = (rung__result){.player = RUNG_PLAYER_NONE,
                          .side = (uint16_t)(head >> 1),
                          .was_new = head & 1,
                          .place = (int32_t)place};
    out->rank = rung_get_count(r, UINT32_MAX);
    out->expected = rung_get_real(r);
    out->weight = rung_get_real(r);
    out->played = rung_get_real(r);
    out->rating_before = rung_get_real(r);
    out->rating = rung_get_real(r);
    out->deviation = rung_get_real(r);
    out->score_before = rung_get_signed(r);
    out->score = rung_get_signed(r);
    if (r->fault)
        return;
    if ((player->len && !rung_name_is_valid(*player)) || place != out->place ||
        (out->side != *side && out->side != *side + 1) || !is_within(out->expected, 0, 1) ||
        !is_within(out->weight, 0.01, 100) || !is_within(out->played, 0.001, 1) ||
        !is_within(out->rating_before, -RUNG_RATING_MAX, RUNG_RATING_MAX) ||
        !is_within(out->rating, -RUNG_RATING_MAX, RUNG_RATING_MAX) ||
        !is_within(out->deviation, 0, RUNG_RATING_MAX))
        rung_byte_reader_fail(r, "a result of a match is not valid");
    *side = out->side;
}

static void get_match(reading *in, record *out) {
    rung__kept_match *m = &out->match;
    rung__result result;
    rung_slice player;
    uint32_t side = UINT32_MAX; /* the first is 0 */
    *m = (rung__kept_match){.seq = rung_get_number(&in->r)};
    m->at_ms = get_time(in, false);
    m->ts_ms = get_time(in, false);
    rung_slice id = rung_get_text(&in->r);
    if (id.len > sizeof m->id || !rung_utf8_is_plain(id)) {
        fail(in, "the id of a match is not valid");
        return;
    }
    m->id_len = (uint8_t)id.len;
    if (id.len)
        memcpy(m->id, id.ptr, id.len);
    m->players = (uint16_t)rung_get_count(&in->r, RUNG_MATCH_PLAYERS_MAX);
    out->list = in->r;
    for (uint32_t i = 0; i < m->players && !in->r.fault; i++)
        get_result(&in->r, &result, &player, &side);
    if (!in->r.fault && (m->players < 2 || side == 0))
        fail(in, "a match is not valid");
    m->sides = (uint16_t)(side + 1);
}

static void get_removed(reading *in, record *out) {
    uint64_t seq = 0, more;
    out->list = in->r;
    for (uint32_t n = rung_get_count(&in->r, RUNG_MATCHES_REMOVED_MAX); n && !in->r.fault; n--) {
        more = rung_get_number(&in->r);
        if (!more || __builtin_add_overflow(seq, more, &seq))
            fail(in, "removed matches are out of order");
    }
}

static void get_of_ratings(reading *in, record *out) {
    if (!rung_update_is_rating(in->def->update))
        fail(in, "the board has no ratings");
    else if (out->kind == RATED)
        get_rated(in, out);
    else if (out->kind == UNRATED)
        get_player(in, out);
    else if (out->kind == MATCH)
        get_match(in, out);
    else
        get_removed(in, out);
}

/* The next record; false at the end, and after a fault. */
static bool next_record(reading *in, record *out) {
    if (in->r.fault || !rung_byte_reader_left(&in->r))
        return false;
    out->kind = rung_get_byte(&in->r);
    if (in->is_over || (!in->def && out->kind != META))
        fail(in, "a record is out of place");
    else if (out->kind == META)
        get_meta(in, out);
    else if (out->kind == WINDOW)
        get_window(in, out);
    else if (out->kind == ENTRY || out->kind == HELD)
        get_entry(in, out);
    else if (out->kind == WIPE || out->kind == RATE)
        get_player(in, out);
    else if (out->kind == MINUTE)
        out->created_ms = get_time(in, true);
    else if (out->kind == WINDOWS)
        get_list(in, out);
    else if (out->kind >= RATED && out->kind <= REMOVED)
        get_of_ratings(in, out);
    else if (out->kind == QUEUE || out->kind == COMPLETE)
        in->is_over = true;
    else
        fail(in, "a record is of an unknown kind");
    if (out->kind == RATE)
        out->count = rung_get_count(&in->r, RUNG_NUMBER_NONE - 1);
    return !in->r.fault;
}

/* ---- checking ---- */

/* Zones are unpacked for their validity alone. */
static rung_status check_rules(const rung_state *s, rung_byte_reader r, rung_err *err) {
    uint32_t count = rung_get_count(&r, RUNG__RULES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        rung_slice packed = i + 1 < count ? rung_get_text(&r) : (rung_slice){NULL, 0};
        rung_zone *zone = NULL;
        rung_status st = packed.len ? rung_zone_unpack(s->alloc, packed, &zone, NULL) : RUNG_OK;
        rung_zone_destroy(zone);
        if (st < 0)
            return st == RUNG_ENOMEM ? st
                                     : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "packed",
                                                       "the rules of a time zone are not valid");
        if (i + 1 < count)
            rung_get_number(&r);
        for (uint32_t kind = RUNG_WINDOW_HOUR; i && kind <= RUNG_WINDOW_YEAR; kind++) {
            rung_get_signed(&r);
            rung_get_signed(&r);
        }
    }
    return RUNG_OK;
}

static rung_status check_records(const rung_state *s, const rung_event *e, const rung__shadow *sh,
                                 rung_board_def *room, rung_err *err) {
    reading in = {.r = rung_byte_reader_of(e->filled.packed), .def = sh ? sh->board->def : NULL};
    record rec;
    for (bool is_first = true; next_record(&in, &rec); is_first = false) {
        if (rec.kind == COMPLETE && (!sh || sh->phase != RUNG_SHADOW_QUEUEING))
            return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "part", "the queue was interrupted");
        if (rec.kind != META)
            continue;
        if (!is_first || e->filled.part != 0)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "packed", "a definition is out of place");
        rung_status st = rung_board_def_decode(rec.def, room, err);
        if (st < 0)
            return st == RUNG_ENOMEM ? RUNG_EINVAL : st;
        st = check_rules(s, rec.rules, err);
        if (st < 0)
            return st;
        in.def = room;
    }
    if (in.r.fault)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "packed", "%s", in.r.fault);
    return in.def ? RUNG_OK
                  : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "packed", "part 0 begins with a definition");
}

/* ---- applying ---- */

/* All rules, instead of the one that the board was created with. */
static rung_status take_rules(rung_state *s, rung__board *b, rung_byte_reader r) {
    uint32_t count = rung_get_count(&r, RUNG__RULES_MAX);
    rung__rule newest = b->rules[0];
    rung__rule *rules = rung_alloc_zeroed(s->alloc, count * sizeof *rules);
    if (!rules)
        return RUNG_ENOMEM;
    rung_alloc_free(s->alloc, b->rules, b->rule_count * sizeof *b->rules);
    b->rules = rules;
    b->rule_count = count;
    for (uint32_t i = 0; i < count; i++) {
        rung__rule *rule = &rules[i];
        *rule = newest;
        if (i + 1 < count) {
            rung_slice packed = rung_get_text(&r);
            rule->zone = NULL;
            rule->day_starts_min = (int32_t)rung_get_number(&r);
            if (packed.len && rung_zone_unpack(s->alloc, packed, &rule->zone, NULL) < 0) {
                rules[count - 1].zone = newest.zone; /* so that it is freed */
                return RUNG_ENOMEM;
            }
        }
        for (uint32_t kind = RUNG_WINDOW_HOUR; i && kind <= RUNG_WINDOW_YEAR; kind++) {
            rule->from_ms[kind] = rung_get_signed(&r);
            rule->before[kind] = rung_get_signed(&r);
        }
    }
    return RUNG_OK;
}

static rung_status take_meta(rung_state *s, rung__board *b, const record *rec) {
    rung__digest_subtract(&s->digest, rung__board_digest(s, b));
    b->created_ms = rec->created_ms;
    b->over_ms = rec->over_ms;
    rung_status st = take_rules(s, b, rec->rules);
    rung__digest_add(&s->digest, rung__board_digest(s, b));
    return st;
}

static rung_status take_entry(rung_state *s, rung__board *b, rung__window *w, const record *rec) {
    uint32_t player, values[RUNG__SCOPE_SLOTS];
    if (!w->ladder)
        return RUNG_OK; /* it has left memory meanwhile */
    if (rung__intern_player(s, rec->player, &player) < 0)
        return RUNG_ENOMEM;
    for (uint32_t slot = 0; slot < b->scope_count; slot++) {
        values[slot] = rec->has_values ? RUNG__NONE : rung__value_of(s, b, slot, player);
        if (rec->has_values && rec->values[slot].len &&
            rung_names_intern(s->attributes[b->attribute[slot]].values, rec->values[slot],
                              &values[slot]) < 0)
            return RUNG_ENOMEM;
    }
    if (rung__sparse_get(&s->bans, player))
        return rung__stash_put(s, player, b, w, rec->key, values);
    rung__ranking_remove(s, b, w, player, NULL);
    return rung__ranking_restore(s, b, w, player, rec->key, values);
}

static void take_minute(rung_state *s, rung__board *b, int64_t minute) {
    rung__digest_subtract(&s->digest, b->rate_digest);
    rung_numbermap_deinit(&b->rate, s->alloc);
    memset(&b->rate, 0, sizeof b->rate);
    b->rate_digest = (rung_digest){0, 0};
    b->rate_minute = minute;
}

static rung_status take_rate(rung_state *s, rung__board *b, const record *rec) {
    uint32_t player;
    if (rung__intern_player(s, rec->player, &player) < 0)
        return RUNG_ENOMEM;
    rung_status st = rung_numbermap_add(&b->rate, s->alloc, player, rec->count);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_OK;
    rung_digest fact = rung__rate_digest(b, player, rec->count);
    rung__digest_add(&b->rate_digest, fact);
    rung__digest_add(&s->digest, fact);
    return RUNG_OK;
}

static bool is_listed(rung_byte_reader list, const rung__window *w) {
    for (uint32_t n = rung_get_count(&list, RUNG__WINDOWS_ALL_MAX); n; n--) {
        identity id = get_identity(&list);
        if (id.kind == w->kind && id.ordinal == w->ordinal && rung_slice_eq(id.season, w->season))
            return true;
    }
    return false;
}

/* Windows that the helper saw closing have left its memory, but came back here with a part that was late. */
static void take_list(rung_state *s, rung__board *b, const record *rec) {
    for (uint32_t i = b->window_count; i-- > 0;)
        if (!is_listed(rec->list, b->windows[i]))
            rung__window_remove(s, b, i);
}

static rung_status take_rated(rung_state *s, rung__board *b, const record *rec) {
    uint32_t player;
    if (rung__intern_player(s, rec->player, &player) < 0)
        return RUNG_ENOMEM;
    uint32_t i = rung_numbermap_get(&b->rated_of, player);
    if (i == RUNG_NUMBER_NONE)
        return rung__rated_add(s, b, player, &rec->card);
    rung__rated_set(s, b, i, &rec->card);
    return RUNG_OK;
}

static rung_status take_match(rung_state *s, rung__board *b, const record *rec) {
    rung__result results[RUNG_MATCH_PLAYERS_MAX];
    rung_byte_reader r = rec->list;
    uint32_t side = UINT32_MAX, number;
    const rung__kept *k = &b->kept;
    bool is_old = k->match_end > k->match_first &&
                  rung__kept_match_at(k, k->match_end - 1)->seq >= rec->match.seq;
    rung_status st = is_old ? RUNG_UNCHANGED : rung__kept_reserve(s, b, rec->match.players);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_OK;
    for (uint32_t i = 0; i < rec->match.players; i++) {
        rung_slice player;
        get_result(&r, &results[i], &player, &side);
        if (player.len && rung_names_find(s->players, player, &number) == RUNG_OK &&
            rung__rated_find(b, number))
            results[i].player = number;
    }
    rung__kept_append(s, b, &rec->match, results);
    return RUNG_OK;
}

static rung_status take_removed(rung_state *s, rung__board *b, const record *rec) {
    uint64_t seqs[RUNG_MATCHES_REMOVED_MAX], seq = 0;
    rung_byte_reader r = rec->list;
    uint32_t count = rung_get_count(&r, RUNG_MATCHES_REMOVED_MAX);
    for (uint32_t i = 0; i < count; i++)
        seqs[i] = seq += rung_get_number(&r);
    return rung__removed_set(s, b, seqs, count);
}

static rung_status take(rung_state *s, rung__board *live, const record *rec,
                        rung__window **window) {
    rung__board *b = live->shadow->board;
    uint32_t player;
    switch (rec->kind) {
    case META:
        return take_meta(s, b, rec);
    case WINDOW:
        if (b->window_count >= RUNG__WINDOWS_ALL_MAX)
            return RUNG_OK;
        return rung__window_restore(s, b, rec->window, &rec->span, rec->season, rec->closed,
                                    rec->dropped, window);
    case ENTRY:
    case HELD:
        return *window ? take_entry(s, b, *window, rec) : RUNG_OK;
    case WIPE:
        if (rung_names_find(s->players, rec->player, &player) == RUNG_OK)
            rung__entry_take_out(s, b, player);
        return RUNG_OK;
    case RATED:
        return take_rated(s, b, rec);
    case UNRATED:
        if (rung_names_find(s->players, rec->player, &player) == RUNG_OK)
            rung__rated_remove(s, b, player);
        return RUNG_OK;
    case MATCH:
        return take_match(s, b, rec);
    case REMOVED:
        return take_removed(s, b, rec);
    case MINUTE:
        take_minute(s, b, rec->created_ms);
        return RUNG_OK;
    case RATE:
        return take_rate(s, b, rec);
    case QUEUE:
        rung__shadow_interrupt(s, live);
        rung__digest_subtract(&s->digest, rung__shadow_digest(live));
        live->shadow->phase = RUNG_SHADOW_QUEUEING;
        rung__digest_add(&s->digest, rung__shadow_digest(live));
        return RUNG_OK;
    case WINDOWS:
        take_list(s, b, rec);
        *window = NULL;
        return RUNG_OK;
    case COMPLETE:
        break;
    }
    return rung__shadow_complete(s, live);
}

static rung_status take_records(rung_state *s, rung__board *live, rung_slice packed) {
    reading in = {.r = rung_byte_reader_of(packed), .def = live->shadow->board->def};
    rung__window *window = NULL;
    rung_status st = RUNG_OK;
    for (record rec; st >= 0 && next_record(&in, &rec);)
        st = take(s, live, &rec, &window);
    return st < 0 ? RUNG_ENOMEM : RUNG_OK;
}

rung_status rung__apply_fill(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b = rung__board_find(s, e->filled.board);
    if (s->rules < 2)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "rules", "shadows need level 2");
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (b->def->rule_count || rung_board_has_reviews(b->def))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "rules", "a board with rules has no shadow");
    rung__shadow *sh = b->shadow;
    if (sh ? sh->job != e->filled.job : e->filled.part != 0)
        return RUNG_FAIL_FIELD(err, sh ? RUNG_EREFUSED : RUNG_EABSENT, "job", "%s",
                               sh ? "the board has a shadow of another job"
                                  : "the board has no shadow of this job");
    if (sh && sh->parts != e->filled.part)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "part", "part %u is next", sh->parts);
    if (sh && sh->phase == RUNG_SHADOW_READY)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "part", "the shadow is complete");
    rung_board_def def;
    rung_status st = check_records(s, e, sh, &def, err);
    if (st >= 0 && !sh &&
        rung_update_is_rating(def.update) != rung_update_is_rating(b->def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "update",
                               "of board and shadow, both take matches or neither does");
    if (st >= 0 && !sh)
        st = rung__shadow_create(s, b, &def, e->filled.job, err);
    if (st < 0)
        return st;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    b->shadow->parts++;
    rung__digest_add(&s->digest, rung__shadow_digest(b));
    return take_records(s, b, e->filled.packed);
}

/* ---- writing ---- */

enum {
    STAGE_META,
    STAGE_LIST,
    STAGE_WIPES,
    STAGE_RATINGS,
    STAGE_ENTRIES,
    STAGE_STASH,
    STAGE_RATES,
    STAGE_MATCHES,
    STAGE_END,
    /* The longest record but the meta, twice. */
    ROOM = 2 * (RUNG_NAME_MAX + 4) + 2 * (RUNG__SCOPE_SLOTS + 1) * (RUNG_NAME_MAX + 2) + 256,
};
_Static_assert(ROOM <= 4096, "RUNG_FILL_PIECE_MIN");

rung_status rung_fill_begin(const rung_state *s, rung_slice board, bool only_noted,
                            rung_fill *out) {
    const rung__board *b = rung__board_find(s, board);
    if (!b || !b->shadow)
        return RUNG_NOT_FOUND;
    *out = (rung_fill){.s = s,
                       .board = b->shadow->board,
                       .only_noted = only_noted,
                       .stage = only_noted ? STAGE_LIST : STAGE_META,
                       .kept = only_noted ? b->shadow->board->kept_sent : 0};
    return RUNG_OK;
}

static rung_status put_rule(rung_byte_writer *w, const rung__rule *rule, bool is_first,
                            bool is_newest) {
    if (!is_newest) {
        uint8_t packed[RUNG_ZONE_PACKED_MAX];
        size_t len = 0;
        rung_status st = rule->zone
                             ? rung_zone_pack(rule->zone, INT64_MIN, packed, sizeof packed, &len)
                             : RUNG_OK;
        if (st < 0)
            return st;
        rung_put_text(w, rung_slice_of(packed, len));
        rung_put_number(w, (uint64_t)rule->day_starts_min);
    }
    for (uint32_t kind = RUNG_WINDOW_HOUR; !is_first && kind <= RUNG_WINDOW_YEAR; kind++) {
        rung_put_signed(w, rule->from_ms[kind]);
        rung_put_signed(w, rule->before[kind]);
    }
    return RUNG_OK;
}

static rung_status put_meta(rung_byte_writer *w, const rung__board *b) {
    rung_status st = RUNG_OK;
    rung_put_byte(w, META);
    rung_put_text(w, b->shared->bytes);
    rung_put_signed(w, b->created_ms);
    rung_put_signed(w, b->over_ms);
    rung_put_number(w, b->rule_count);
    for (uint32_t i = 0; st >= 0 && i < b->rule_count; i++)
        st = put_rule(w, &b->rules[i], i == 0, i + 1 == b->rule_count);
    return st;
}

static void put_list(rung_byte_writer *out, const rung__board *b) {
    rung_put_byte(out, WINDOWS);
    rung_put_number(out, b->window_count);
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung__window *w = b->windows[i];
        rung_put_byte(out, (uint8_t)w->kind);
        if (w->kind == RUNG_WINDOW_SEASON)
            rung_put_text(out, w->season);
        else if (w->kind)
            rung_put_signed(out, w->ordinal);
    }
}

static void put_window(rung_byte_writer *out, const rung__window *w) {
    rung_put_byte(out, WINDOW);
    rung_put_byte(out, (uint8_t)(w->kind | (unsigned)w->closed << 3 | (unsigned)w->dropped << 4));
    if (w->kind == RUNG_WINDOW_SEASON)
        rung_put_text(out, w->season);
    else if (w->kind)
        rung_put_signed(out, w->ordinal);
    if (w->kind) {
        rung_put_signed(out, w->start_ms);
        rung_put_signed(out, w->end_ms);
    }
}

static void put_entry(rung_byte_writer *out, const rung_state *s, const rung__board *b,
                      record_kind kind, uint32_t player, const uint64_t *key,
                      const uint32_t *values) {
    rung_put_byte(out, (uint8_t)kind);
    rung_put_text(out, rung_names_id(s->players, player));
    for (uint32_t k = 0; k < rung_keyspec_words(&b->def->key); k++)
        rung_put_number(out, key[k]);
    for (uint32_t slot = 0; values && slot < b->scope_count; slot++) {
        const rung_names *names = s->attributes[b->attribute[slot]].values;
        rung_put_text(out, values[slot] == RUNG__NONE ? (rung_slice){NULL, 0}
                                                      : rung_names_id(names, values[slot]));
    }
}

static void put_ranked(rung_byte_writer *out, const rung_state *s, const rung__board *b,
                       const rung__window *w, const rung_ladder_entry *e) {
    uint32_t values[RUNG__SCOPE_SLOTS];
    for (uint32_t slot = 0; w->closed && slot < b->scope_count; slot++)
        values[slot] = rung__value_in(s, b, w, slot, e->player);
    put_entry(out, s, b, ENTRY, e->player, e->key, w->closed ? values : NULL);
}

static void put_stashed(rung_byte_writer *out, const rung_state *s, const rung__board *b,
                        uint32_t player, const rung__stashed *e) {
    uint32_t values[RUNG__SCOPE_SLOTS];
    rung__stashed_values(s, b, player, e, values);
    put_entry(out, s, b, HELD, player, e->key, values);
}

static const rung__stashed *stashed_in(const rung__ban *ban, const rung__board *b,
                                       const rung__window *w) {
    for (uint32_t k = 0; ban && k < ban->count; k++)
        if (ban->entries[k].board_serial == b->serial && ban->entries[k].window_tag == w->tag)
            return &ban->entries[k];
    return NULL;
}

/* The next noted player from f->player on; false at the end. */
static bool next_noted(rung_fill *f, uint32_t *player) {
    while (rung_numbermap_list(&f->s->noted, f->player, player, 1)) {
        f->player = *player + 1;
        if (rung_names_is_used(f->s->players, *player))
            return true;
    }
    f->player = 0;
    return false;
}

static void put_rating(const rung_fill *f, rung_byte_writer *out, uint32_t player) {
    const rung_rating_card *c = rung__rated_find(f->board, player);
    rung_put_byte(out, c ? RATED : UNRATED);
    rung_put_text(out, rung_names_id(f->s->players, player));
    if (!c)
        return;
    rung_put_real(out, c->rating.rating);
    rung_put_real(out, c->rating.deviation);
    rung_put_real(out, c->rating.volatility);
    rung_put_signed(out, c->rating.at_ms);
    rung_put_number(out, c->rating.games);
    rung_put_number(out, c->wins);
    rung_put_number(out, c->draws);
    rung_put_number(out, c->losses);
    rung_put_signed(out, c->streak);
}

/* All ratings; of a round with noted players, they came with their wipes. */
static bool put_next_rating(rung_fill *f, rung_byte_writer *out) {
    const rung__board *b = f->board;
    if (f->only_noted || f->at >= b->rated_count)
        return false;
    put_rating(f, out, b->rated[f->at++].player);
    return true;
}

static void put_removed(rung_byte_writer *out, const rung__board *b) {
    uint64_t before = 0;
    rung_put_byte(out, REMOVED);
    rung_put_number(out, b->removed_count);
    for (uint32_t i = 0; i < b->removed_count; i++) {
        rung_put_number(out, b->removed[i] - before);
        before = b->removed[i];
    }
}

static void put_match(const rung_fill *f, rung_byte_writer *out, const rung__kept *k,
                      const rung__kept_match *m) {
    rung_put_byte(out, MATCH);
    rung_put_number(out, m->seq);
    rung_put_signed(out, m->at_ms);
    rung_put_signed(out, m->ts_ms);
    rung_put_text(out, rung_slice_of(m->id, m->id_len));
    rung_put_number(out, m->players);
    for (uint32_t i = 0; i < m->players; i++) {
        const rung__result *r = rung__kept_result_at(k, m->first + i);
        const double reals[] = {r->expected,      r->weight, r->played,
                                r->rating_before, r->rating, r->deviation};
        rung_put_text(out, r->player == RUNG_PLAYER_NONE ? (rung_slice){NULL, 0}
                                                         : rung_names_id(f->s->players, r->player));
        rung_put_number(out, (uint64_t)r->side << 1 | r->was_new);
        rung_put_signed(out, r->place);
        rung_put_number(out, r->rank);
        for (size_t k2 = 0; k2 < sizeof reals / sizeof *reals; k2++)
            rung_put_real(out, reals[k2]);
        rung_put_signed(out, r->score_before);
        rung_put_signed(out, r->score);
    }
}

/* One that is too long for any piece is not remembered. */
static bool put_next_match(rung_fill *f, rung_byte_writer *out) {
    rung__board *b = (rung__board *)(uintptr_t)f->board;
    const rung__kept *k = &b->kept;
    f->kept = f->kept < k->match_first ? k->match_first : f->kept;
    if (!rung_update_is_rating(b->def->update) || f->kept >= k->match_end) {
        b->kept_sent = f->kept;
        return false;
    }
    const rung__kept_match *m = rung__kept_match_at(k, f->kept);
    size_t need = 128 + (size_t)m->players * (RUNG_NAME_MAX + 96);
    bool has_room = need <= rung_byte_writer_room(out);
    if (has_room)
        put_match(f, out, k, m);
    f->is_full = !has_room && rung_byte_writer_length(out) > 0;
    f->kept += !f->is_full;
    return true;
}

static bool put_next_wipe(rung_fill *f, rung_byte_writer *out) {
    uint32_t player;
    if (!next_noted(f, &player))
        return false;
    rung_put_byte(out, WIPE);
    rung_put_text(out, rung_names_id(f->s->players, player));
    if (rung_update_is_rating(((const rung__board *)f->board)->def->update))
        put_rating(f, out, player);
    return true;
}

/* The next entry of a window, of all of them or of noted players; false at its end. */
static bool put_next_entry(rung_fill *f, rung_byte_writer *out, const rung__window *w) {
    const rung__board *b = f->board;
    rung_ladder_entry e;
    uint32_t player;
    if (!w->ladder)
        return false;
    if (!f->only_noted) {
        if (rung_ladder_at(w->ladder, f->at, &e) != RUNG_OK)
            return false;
        f->at++;
        put_ranked(out, f->s, b, w, &e);
        return true;
    }
    if (!next_noted(f, &player))
        return false;
    const rung__stashed *stashed = stashed_in(rung__sparse_get(&f->s->bans, player), b, w);
    if (rung_ladder_find(w->ladder, player, &e) == RUNG_OK)
        put_ranked(out, f->s, b, w, &e);
    else if (stashed)
        put_stashed(out, f->s, b, player, stashed);
    return true;
}

static bool put_next_of_windows(rung_fill *f, rung_byte_writer *out) {
    const rung__board *b = f->board;
    if (f->window >= b->window_count)
        return false;
    const rung__window *w = b->windows[f->window];
    put_window(out, w);
    while (rung_byte_writer_room(out) >= ROOM)
        if (!put_next_entry(f, out, w)) {
            f->window++;
            f->at = f->player = 0;
            break;
        }
    return true;
}

static bool put_next_stash(rung_fill *f, rung_byte_writer *out) {
    const rung__board *b = f->board;
    const rung__ban *ban = f->only_noted ? NULL : rung__ban_next(f->s, &f->player);
    if (!ban)
        return false;
    for (; f->window < b->window_count; f->window++) {
        const rung__window *w = b->windows[f->window];
        const rung__stashed *e = stashed_in(ban, b, w);
        if (!e)
            continue;
        put_window(out, w);
        put_stashed(out, f->s, b, f->player, e);
        f->window++;
        return true;
    }
    f->window = 0;
    f->player++;
    return true;
}

static bool put_next_rate(rung_fill *f, rung_byte_writer *out) {
    const rung__board *b = f->board;
    uint32_t player;
    if (!f->at) {
        f->at = 1;
        rung_put_byte(out, MINUTE);
        rung_put_signed(out, b->rate_minute);
    }
    if (!rung_numbermap_list(&b->rate, f->player, &player, 1))
        return false;
    f->player = player + 1;
    rung_put_byte(out, RATE);
    rung_put_text(out, rung_names_id(f->s->players, player));
    rung_put_number(out, rung_numbermap_get(&b->rate, player));
    return true;
}

rung_status rung_fill_next(rung_fill *f, void *out, size_t size, size_t *length_out) {
    static bool (*const NEXT[])(rung_fill *, rung_byte_writer *) = {
        [STAGE_WIPES] = put_next_wipe,  [STAGE_ENTRIES] = put_next_of_windows,
        [STAGE_STASH] = put_next_stash, [STAGE_RATINGS] = put_next_rating,
        [STAGE_RATES] = put_next_rate,  [STAGE_MATCHES] = put_next_match};
    rung_byte_writer w = rung_byte_writer_of(out, size);
    if (f->stage == STAGE_END)
        return RUNG_NOT_FOUND;
    if (f->stage == STAGE_META) {
        const rung__board *b = f->board;
        f->stage = STAGE_RATINGS;
        rung_status st = put_meta(&w, b);
        if (b->removed_count)
            put_removed(&w, b);
        *length_out = rung_byte_writer_length(&w);
        return st < 0 || *length_out > size ? RUNG_ELIMIT : RUNG_OK;
    }
    if (f->stage == STAGE_LIST) {
        f->stage = STAGE_WIPES;
        put_list(&w, f->board);
        *length_out = rung_byte_writer_length(&w);
        return *length_out > size ? RUNG_ELIMIT : RUNG_OK;
    }
    f->is_full = false;
    while (f->stage != STAGE_END && rung_byte_writer_room(&w) >= ROOM && !f->is_full)
        if (!NEXT[f->stage](f, &w)) {
            f->stage++;
            f->window = f->at = f->player = 0;
        }
    *length_out = rung_byte_writer_length(&w);
    return RUNG_OK;
}

rung_status rung_state_shadow_define(rung_state *s, rung_slice board, const rung_board_def *def,
                                     rung_err *err) {
    rung__board *b = rung__board_find(s, board);
    if (!b || !b->shadow)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "it has no shadow");
    return rung__board_change(s, b->shadow->board, def, err);
}

rung_status rung_state_redefine(rung_state *s, rung_slice board, const rung_board_def *def,
                                rung_err *err) {
    rung__board *b = rung__board_find(s, board);
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    return rung__board_change(s, b, def, err);
}
