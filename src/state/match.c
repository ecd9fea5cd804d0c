/* SPDX-License-Identifier: Apache-2.0 */
/* One match: check it, rate all players with the arithmetic of src/rating, then put everybody's displayed rating
 * into every window that the match's time reaches. A match counts when it arrives, whatever its time.
 *
 * Invariants R1  b->rated[i].player is mapped to i, and every mapped player has a card. R2  b->rated_digest is the
 * sum of the cards' facts, and part of the state's digest. R3  A refused match changes nothing. Memory that runs out
 * in the middle breaks the state (state.h), as it does for
 *       all events but scores. */
#include "state/match.h"

#include "base/assert.h"
#include "state/digest.h"
#include "state/lookahead.h"
#include "state/match_ahead.h"
#include "state/ranking.h"
#include "state/score.h"
#include "state/shadow.h"
#include "state/sources.h"

#include <string.h>

/* Working memory of one match, and what it did. */
struct rung__match_room {
    rung_match_player players[RUNG_MATCH_PLAYERS_MAX];
    rung_match_side sides[RUNG_MATCH_PLAYERS_MAX];
    rung_rating after[RUNG_MATCH_PLAYERS_MAX];
    rung_prediction predicted[RUNG_MATCH_PLAYERS_MAX];
    rung_rating_scratch scratch;
    rung__result kept[RUNG_MATCH_PLAYERS_MAX];
    uint32_t numbers[RUNG_MATCH_PLAYERS_MAX]; /* RUNG_PLAYER_NONE: not known yet */
    rung_match_row rows[RUNG_MATCH_PLAYERS_MAX];
    rung_match match;
};

typedef struct meeting {
    rung_state *s;
    rung__board *b;
    const rung_match_event *e;
    const rung__seats *seats; /* NULL: nothing is known ahead of its turn */
    struct rung__match_room *room;
    uint64_t seq;
    int64_t at_ms;
    uint32_t count; /* windows reached */
    rung__reach reached[RUNG__REACH_MAX];
} meeting;

/* ---- cards ---- */

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static rung_digest card_digest(const rung__board *b, uint32_t player, const rung_rating_card *c) {
    uint64_t words[] = {bits_of(c->rating.rating),
                        bits_of(c->rating.deviation),
                        bits_of(c->rating.volatility),
                        (uint64_t)c->rating.at_ms,
                        c->rating.games,
                        (uint64_t)c->wins << 32 | c->draws,
                        (uint64_t)c->losses << 32 | (uint32_t)c->streak};
    return rung__fact_digest(RUNG__FACT_RATING, b->serial, player, words,
                             sizeof words / sizeof *words);
}

static void count_fact(rung_state *s, rung__board *b, rung_digest fact, bool is_there) {
    if (is_there) {
        rung__digest_add(&s->digest, fact);
        rung__digest_add(&b->rated_digest, fact);
    } else {
        rung__digest_subtract(&s->digest, fact);
        rung__digest_subtract(&b->rated_digest, fact);
    }
}

const rung_rating_card *rung__rated_find(const rung__board *b, uint32_t player) {
    uint32_t i = rung_numbermap_get(&b->rated_of, player);
    return i == RUNG_NUMBER_NONE ? NULL : &b->rated[i].card;
}

uint64_t *rung__rated_last(rung__board *b, uint32_t player) {
    uint32_t i = rung_numbermap_get(&b->rated_of, player);
    RUNG_ASSERT(i != RUNG_NUMBER_NONE);
    return &b->rated[i].last;
}

rung_status rung__rated_add(rung_state *s, rung__board *b, uint32_t player,
                            const rung_rating_card *card) {
    if (rung__grow(s->alloc, &b->rated, &b->rated_cap, b->rated_count + 1, sizeof *b->rated) < 0 ||
        rung_numbermap_add(&b->rated_of, s->alloc, player, b->rated_count) != RUNG_OK)
        return RUNG_ENOMEM;
    b->rated[b->rated_count++] = (rung__rated){.card = *card, .player = player};
    count_fact(s, b, card_digest(b, player, card), true);
    return RUNG_OK;
}

void rung__rated_set(rung_state *s, rung__board *b, uint32_t i, const rung_rating_card *card) {
    rung__rated *r = &b->rated[i];
    count_fact(s, b, card_digest(b, r->player, &r->card), false);
    r->card = *card;
    count_fact(s, b, card_digest(b, r->player, card), true);
}

bool rung__rated_remove(rung_state *s, rung__board *b, uint32_t player) {
    uint32_t i = rung_numbermap_get(&b->rated_of, player);
    if (i == RUNG_NUMBER_NONE)
        return false;
    rung__kept_forget(s, b, b->rated[i].last);
    count_fact(s, b, card_digest(b, player, &b->rated[i].card), false);
    rung_numbermap_remove(&b->rated_of, player);
    rung__rated last = b->rated[--b->rated_count];
    if (i < b->rated_count) { /* the last one fills the gap */
        b->rated[i] = last;
        rung_numbermap_set(&b->rated_of, last.player, i);
    }
    return true;
}

void rung__rated_deinit(rung_state *s, rung__board *b) {
    rung_numbermap_deinit(&b->rated_of, s->alloc);
    rung_alloc_free(s->alloc, b->rated, b->rated_cap * sizeof *b->rated);
    rung__kept_deinit(s, b);
}

void rung__match_room_free(rung_state *s) {
    rung_alloc_free(s->alloc, s->match_room, s->match_room ? sizeof *s->match_room : 0);
    rung_alloc_free(s->alloc, s->shadow_room, s->shadow_room ? sizeof *s->shadow_room : 0);
    rung_alloc_free(s->alloc, s->match_ahead, s->match_ahead ? sizeof *s->match_ahead : 0);
}

size_t rung__rated_bytes(const rung__board *b) {
    return b->rated_of.bytes + b->rated_cap * sizeof *b->rated + rung__kept_bytes(&b->kept);
}

bool rung__rated_is_valid(const rung_board_def *def, const rung_rating_card *c) {
    const rung_rating *r = &c->rating;
    return rung_rating_is_valid(&def->rating, r) && r->games > 0 && r->at_ms >= RUNG_TIME_MS_MIN &&
           r->at_ms < RUNG_TIME_MS_END &&
           (r->games == UINT32_MAX || (uint64_t)c->wins + c->draws + c->losses == r->games);
}

const char *rung__rated_check(const rung__board *b) {
    rung_digest sum = {0, 0};
    for (uint32_t i = 0; i < b->rated_count; i++) {
        const rung__rated *r = &b->rated[i];
        if (rung_numbermap_get(&b->rated_of, r->player) != i)
            return "R1: a card is not where the map says";
        if (!rung__rated_is_valid(b->def, &r->card))
            return "R1: a card is not valid";
        rung__digest_add(&sum, card_digest(b, r->player, &r->card));
    }
    if (sum.a != b->rated_digest.a || sum.b != b->rated_digest.b)
        return "R2: the digest of the ratings";
    const char *wrong = rung__kept_check(b);
    return wrong ? wrong : rung_numbermap_check(&b->rated_of);
}

/* ---- reading the match ---- */

static rung_status find_player(meeting *m, uint32_t i, const rung_match_entry *e, rung_err *err) {
    struct rung__match_room *room = m->room;
    rung_match_row *row = &room->rows[i];
    uint32_t player = RUNG_PLAYER_NONE;
    if (m->seats && i < m->seats->count)
        player = m->seats->numbers[i];
    if (player == RUNG_PLAYER_NONE && rung_names_find(m->s->players, e->player, &player) != RUNG_OK)
        player = RUNG_PLAYER_NONE;
    if (player == RUNG_PLAYER_NONE && m->b->def->rating.known_players_only)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].player",
                               "nothing is known of this player", e->side, e->index);
    if (player != RUNG_PLAYER_NONE &&
        rung_numbermap_get(&m->s->bans.map, player) != RUNG_NUMBER_NONE)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "banned", "sides[%u].players[%u] is banned",
                               e->side, e->index);
    const rung_rating_card *card =
        player == RUNG_PLAYER_NONE ? NULL : rung__rated_find(m->b, player);
    *row = (rung_match_row){.player = e->player, .side = e->side, .place = e->place};
    if (card)
        row->before = *card;
    else
        row->before.rating = rung_rating_initial(&m->b->def->rating);
    room->numbers[i] = player;
    room->players[i] = (rung_match_player){row->before.rating, e->weight, e->played};
    return RUNG_OK;
}

static rung_status read_players(meeting *m, rung_err *err) {
    struct rung__match_room *room = m->room;
    rung_match_cursor c = {.rest = m->e->packed};
    rung_match_entry e;
    uint32_t count = 0, sides = 0;
    while (rung_match_next(&c, &e)) { /* the event was checked: at most 256, in order */
        rung_status st = find_player(m, count, &e, err);
        if (st < 0)
            return st;
        if (e.is_first)
            room->sides[sides++] = (rung_match_side){.first = count, .place = e.place};
        room->sides[sides - 1].count++;
        count++;
    }
    room->match = (rung_match){room->players, count, room->sides, sides, m->at_ms};
    return RUNG_OK;
}

/* ---- what becomes of the players ---- */

/* 1: alone on the best place, 0: shares it, -1: others are better. */
static int result_of(const rung_match *match, int32_t place) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < match->side_count; i++) {
        if (match->sides[i].place < place)
            return -1;
        best += match->sides[i].place == place;
    }
    return best == 1 ? 1 : 0;
}

static void count_result(rung_rating_card *card, int result) {
    int32_t streak = card->streak;
    card->wins += result > 0 && card->wins < UINT32_MAX;
    card->draws += result == 0 && card->draws < UINT32_MAX;
    card->losses += result < 0 && card->losses < UINT32_MAX;
    if (result == 0)
        card->streak = 0;
    else if (result > 0)
        card->streak = streak < 0 ? 1 : streak < INT32_MAX ? streak + 1 : streak;
    else
        card->streak = streak > 0 ? -1 : streak > -INT32_MAX ? streak - 1 : streak;
}

static rung_status rate(meeting *m, rung_err *err) {
    struct rung__match_room *room = m->room;
    const rung_rating_params *p = &m->b->def->rating;
    const rung_match *match = &room->match;
    uint32_t decimals = m->b->def->key.columns[0].decimals;
    double draw;
    rung_status st = rung_rating_predict(p, match, &room->scratch, room->predicted, &draw, err);
    if (st >= 0)
        st = rung_rating_rate(p, match, &room->scratch, room->after, err);
    if (st < 0)
        return st;
    for (uint32_t i = 0; i < match->player_count; i++) {
        rung_match_row *row = &room->rows[i];
        row->expected = room->predicted[row->side].score;
        row->after = row->before;
        row->after.rating = room->after[i];
        count_result(&row->after, result_of(match, row->place));
        row->score_before = rung_rating_displayed(p, &row->before.rating, decimals);
        row->score = rung_rating_displayed(p, &row->after.rating, decimals);
    }
    return RUNG_OK;
}

/* ---- change ---- */

static rung_status open_windows(meeting *m) {
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < m->count; i++)
        fresh += m->reached[i].window == NULL;
    if (fresh && rung__window_list_reserve(m->s, m->b, fresh) < 0)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < m->count; i++) {
        rung__reach *r = &m->reached[i];
        if (r->window)
            continue;
        r->window = rung__window_new(m->s, m->b, r->kind, &r->span, r->season);
        if (!r->window)
            return RUNG_ENOMEM;
        rung__window_list_add(m->s, m->b, r->window);
        if (r->kind != RUNG_WINDOW_SEASON)
            m->b->current[r->kind] = r->window;
    }
    return RUNG_OK;
}

/* Number the players who are new. The last step that can fail without harm: then none of them stays. */
static rung_status intern_players(meeting *m, rung_err *err) {
    struct rung__match_room *room = m->room;
    uint32_t n = room->match.player_count, i = 0, made[RUNG_MATCH_PLAYERS_MAX], made_count = 0;
    rung_status st = RUNG_OK;
    for (; i < n && st >= 0; i++) {
        if (room->numbers[i] != RUNG_PLAYER_NONE)
            continue;
        st = rung__intern_player(m->s, room->rows[i].player, &room->numbers[i]);
        if (st >= 0)
            made[made_count++] = room->numbers[i];
    }
    if (st >= 0)
        return RUNG_OK;
    while (made_count)
        rung__forget_player(m->s, made[--made_count]);
    return st == RUNG_ELIMIT ? RUNG_FAIL_FIELD(err, st, "player", "player limit reached") : st;
}

static rung_status keep_card(meeting *m, uint32_t i) {
    rung_match_row *row = &m->room->rows[i];
    uint32_t player = m->room->numbers[i];
    uint32_t at = rung_numbermap_get(&m->b->rated_of, player);
    if (m->b->twin)
        rung__shadow_touch(m->s, player);
    if (at == RUNG_NUMBER_NONE)
        return rung__rated_add(m->s, m->b, player, &row->after);
    rung__rated_set(m->s, m->b, at, &row->after);
    return RUNG_OK;
}

static rung_status put_entry(meeting *m, uint32_t i, rung__reach *r) {
    const rung_match_row *row = &m->room->rows[i];
    const rung_board_def *def = m->b->def;
    uint32_t player = m->room->numbers[i];
    rung_ladder_entry entry;
    rung_value values[RUNG_COLUMNS_MAX] = {{.i = row->score}};
    int64_t at_ms = m->at_ms, old_at_ms = INT64_MIN;
    bool existed = rung_ladder_find(r->window->ladder, player, &entry) == RUNG_OK;
    if (!existed && row->after.rating.games < def->rating.min_games)
        return RUNG_OK;
    if (existed) {
        rung_value old[RUNG_COLUMNS_MAX];
        memcpy(r->old_key, entry.key, sizeof r->old_key);
        rung_keyspec_decode(&def->key, r->old_key, old, &old_at_ms);
        at_ms = old_at_ms > at_ms ? old_at_ms : at_ms;
    }
    memset(r->key, 0, sizeof r->key);
    rung_status st = rung_keyspec_encode(&def->key, values, at_ms, r->key);
    RUNG_ASSERT(st == RUNG_OK); /* below 2^54, and the match's time was checked */
    if (rung__ranking_secure(m->s, m->b, r->window, player, !existed) < 0)
        return RUNG_ENOMEM;
    rung_ladder_change change;
    change.style = def->rank;
    change.is_brief = m->s->on_change == NULL; /* ranks are of before and after the whole match */
    rung__descents none = {0};
    st = rung__ranking_put(m->s, m->b, r->window, player, existed ? r->old_key : NULL, r->key,
                           &none, &change);
    if (st >= 0 && m->s->on_change)
        rung__tell_entry(m->s, m->b, r->window, player, r->key, &change, st == RUNG_OK);
    return st < 0 ? st : RUNG_OK;
}

/* Everybody's rank in the first window reached; 0: not ranked. */
static uint32_t rank_of(const meeting *m, uint32_t i) {
    const rung__window *w = m->reached[0].window;
    uint32_t rank = 0, player = m->room->numbers[i];
    if (!w || player == RUNG_PLAYER_NONE ||
        rung_ladder_rank(w->ladder, player, m->b->def->rank, &rank) != RUNG_OK)
        return 0;
    return rank;
}

/* Remember the match, with its results. */
static rung_status keep_match(meeting *m) {
    const struct rung__match_room *room = m->room;
    const rung_match *match = &room->match;
    rung_status st = rung__kept_reserve(m->s, m->b, match->player_count);
    if (st != RUNG_OK)
        return st;
    rung__kept_match head = {.seq = m->seq,
                             .at_ms = m->at_ms,
                             .ts_ms = m->s->time_ms,
                             .players = (uint16_t)match->player_count,
                             .sides = (uint16_t)match->side_count,
                             .id_len = (uint8_t)m->e->id.len};
    if (m->e->id.len)
        memcpy(head.id, m->e->id.ptr, m->e->id.len);
    for (uint32_t i = 0; i < match->player_count; i++) {
        const rung_match_row *row = &room->rows[i];
        m->room->kept[i] = (rung__result){.player = room->numbers[i],
                                          .side = (uint16_t)row->side,
                                          .was_new = row->before.rating.games == 0,
                                          .place = row->place,
                                          .rank = row->rank,
                                          .expected = row->expected,
                                          .weight = room->players[i].weight,
                                          .played = room->players[i].played,
                                          .rating_before = row->before.rating.rating,
                                          .rating = row->after.rating.rating,
                                          .deviation = row->after.rating.deviation,
                                          .score_before = row->score_before,
                                          .score = row->score};
    }
    rung__kept_append(m->s, m->b, &head, room->kept);
    return RUNG_OK;
}

static rung_status commit(meeting *m) {
    uint32_t n = m->room->match.player_count;
    for (uint32_t i = 0; i < n; i++)
        m->room->rows[i].rank_before = rank_of(m, i);
    rung_status st = open_windows(m);
    for (uint32_t i = 0; i < n && st >= 0; i++)
        st = keep_card(m, i);
    for (uint32_t w = 0; w < m->count; w++)
        for (uint32_t i = 0; i < n && st >= 0; i++)
            st = put_entry(m, i, &m->reached[w]);
    for (uint32_t i = 0; i < n && st >= 0; i++) {
        rung_match_row *row = &m->room->rows[i];
        row->rank = rank_of(m, i);
        row->player = rung_names_id(m->s->players, m->room->numbers[i]);
    }
    m->b->version = m->s->seq;
    if (st >= 0)
        st = keep_match(m);
    return st < 0 ? RUNG_ENOMEM : RUNG_OK;
}

/* ---- all steps ---- */

/* Ids are remembered as those of scores: the packed players stand where a score has its data. */
static rung_score_event as_score(const rung_match_event *e) {
    rung_score_event score = {.board = e->board, .has_at = e->has_at, .at_ms = e->at_ms};
    score.id = e->id;
    score.meta = e->packed;
    return score;
}

static rung_status check_id(const meeting *m, rung_outcome *out, rung_err *err) {
    rung_score_event score = as_score(m->e);
    rung_status st = rung__ids_look(m->s, m->b, &score, out);
    if (st == RUNG_ECONFLICT)
        return RUNG_FAIL_FIELD(err, st, "id", "seen before with a different body");
    if (st == RUNG_ESTALE)
        return RUNG_FAIL_FIELD(err, st, "id",
                               "its timestamp is too far from now to detect duplicates");
    if (st == RUNG_EFUTURE)
        return RUNG_FAIL_FIELD(err, st, "id", "its timestamp is more than a minute in the future");
    return st == RUNG_DUPLICATE ? st : RUNG_OK;
}

static rung_status check_windows(meeting *m, rung_err *err) {
    uint32_t fresh = 0, ahead = 0;
    m->count = rung__reach_windows(m->s, m->b, m->at_ms, m->reached);
    if (m->count == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "window",
                               "no window that contains the match's time accepts results");
    for (uint32_t i = 0; i < m->count; i++) {
        fresh += m->reached[i].window == NULL;
        ahead += m->reached[i].window == NULL && m->reached[i].span.start_ms > m->s->time_ms;
    }
    if (fresh && !rung__window_may_open(m->s, m->b, fresh, ahead))
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "window", "window limit of the board reached");
    return RUNG_OK;
}

static rung_status remember(meeting *m, rung_outcome *out) {
    uint32_t record;
    bool old;
    rung_score_event score = as_score(m->e);
    if (!score.id.len)
        return RUNG_OK;
    if (rung__ids_claim(m->s, m->b, score.id, &record, &old) < 0)
        return RUNG_ENOMEM;
    rung__ids_remember(m->s, m->b, record, old, &score, out);
    return RUNG_OK;
}

/* All that a match does to a board. */
static rung_status play(meeting *m, rung_err *err) {
    rung_status st = read_players(m, err);
    if (st == RUNG_OK)
        st = check_windows(m, err);
    if (st == RUNG_OK)
        st = rate(m, err);
    if (st == RUNG_OK)
        st = intern_players(m, err);
    return st == RUNG_OK ? commit(m) : st;
}

rung_status rung__match_follow(rung_state *s, rung__board *b, const rung_match_event *e,
                               uint64_t seq) {
    if (!s->shadow_room)
        s->shadow_room = rung_alloc_get(s->alloc, sizeof *s->shadow_room);
    if (!s->shadow_room)
        return RUNG_ENOMEM;
    meeting m = {.s = s, .b = b, .e = e, .room = s->shadow_room, .seq = seq};
    m.at_ms = e->has_at ? e->at_ms : s->time_ms;
    return play(&m, NULL);
}

static rung_status apply(rung_state *s, const rung_match_event *e, const rung__seats *seats,
                         rung_outcome *out, rung_err *err) {
    if (!s->match_room)
        s->match_room = rung_alloc_get(s->alloc, sizeof *s->match_room);
    if (!s->match_room)
        return RUNG_ENOMEM;
    meeting m = {.s = s,
                 .seq = s->seq,
                 .b = rung__board_find(s, e->board),
                 .e = e,
                 .seats = seats,
                 .room = s->match_room};
    if (!m.b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    m.b->submissions++;
    if (!rung_update_is_rating(m.b->def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "update", "the board takes scores, not matches");
    m.at_ms = e->has_at ? e->at_ms : s->time_ms;
    rung_status st = e->id.len ? check_id(&m, out, err) : RUNG_OK;
    if (st != RUNG_OK)
        return st;
    st = play(&m, err);
    if (m.b->shadow)
        st = rung__shadow_match(s, m.b, e, st);
    if (st == RUNG_OK) {
        out->changed = true;
        st = remember(&m, out);
    }
    if (st == RUNG_OK)
        s->match_rows = s->match_room->match.player_count;
    return st;
}

/* One effect per offset of a source, as of scores. */
rung_status rung__apply_match(rung_state *s, const rung_match_event *e, const rung__seats *seats,
                              rung_outcome *out, rung_err *err) {
    uint32_t number;
    if (!e->source.len)
        return apply(s, e, seats, out, err);
    if (rung__source_has(s, e->source, e->offset)) {
        out->duplicate = true;
        out->seq = s->seq;
        return RUNG_DUPLICATE;
    }
    rung_status claimed = rung__source_claim(s, e->source, &number);
    if (claimed == RUNG_ELIMIT)
        return RUNG_FAIL_FIELD(err, claimed, "source", "at most %d sources", RUNG__SOURCES_MAX);
    if (claimed < 0)
        return claimed;
    rung_status st = apply(s, e, seats, out, err);
    if (st >= 0)
        rung__source_mark(s, number, e->offset);
    else if (claimed == RUNG_OK)
        rung__source_unclaim(s, number);
    return st;
}

/* ---- questions ---- */

const rung_match_row *rung_state_match_rows(const rung_state *s, uint32_t *count_out) {
    *count_out = s->match_rows;
    return s->match_rows ? s->match_room->rows : NULL;
}

rung_status rung_state_rating_of(const rung_state *s, rung_slice board, uint32_t number,
                                 rung_rating_card *out) {
    const rung__board *b = rung__board_find(s, board);
    const rung_rating_card *card = b ? rung__rated_find(b, number) : NULL;
    if (!card)
        return RUNG_NOT_FOUND;
    *out = *card;
    return RUNG_OK;
}

rung_status rung_state_rating(const rung_state *s, rung_slice board, rung_slice player,
                              rung_rating_card *out) {
    uint32_t number;
    if (rung_names_find(s->players, player, &number) != RUNG_OK)
        return RUNG_NOT_FOUND;
    return rung_state_rating_of(s, board, number, out);
}
