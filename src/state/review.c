/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tentative scores, in the order of their ids. There are few, and they are looked at by people, so a list
 * will do: to find all of one player takes microseconds.
 *
 * Invariants V1  ids ascend, and none is of the future. V2  players[i] is the player of items[i]; at most
 * RUNG_REVIEWS_PLAYER_MAX are equal. V3  Its board exists and is no shadow, its player has a name. V4  next_ms is at
 * most the time at which the first one expires. */
#include "state/review.h"

#include "model/text.h"
#include "state/ban.h"
#include "state/board.h"
#include "state/digest.h"
#include "state/reviews.h"
#include "state/score.h"
#include "state/shadow.h"

#include <string.h>

_Static_assert(RUNG_REVIEWS_MAX < 1 << RUNG_REVIEW_PART_BITS, "one event may fill the list");

static rung_digest review_digest(const rung__review *r) {
    enum { HEAD = 12 };
    uint64_t words[HEAD + 3 * RUNG_FINDINGS_MAX] = {
        r->board,
        r->player,
        (uint64_t)r->ts_ms,
        (uint64_t)r->at_ms,
        (uint64_t)r->expires_ms,
        (uint64_t)r->values[0].i,
        (uint64_t)r->values[1].i,
        (uint64_t)r->values[2].i,
        (uint64_t)r->types[0] | (uint64_t)r->types[1] << 8 | (uint64_t)r->types[2] << 16,
        (uint64_t)r->decimals[0] | (uint64_t)r->decimals[1] << 8 | (uint64_t)r->decimals[2] << 16,
        (uint64_t)r->value_count | (uint64_t)r->is_delta << 8 | (uint64_t)r->outcome << 16 |
            (uint64_t)r->score_type << 24 | (uint64_t)r->score_decimals << 32,
        r->finding_count};
    uint32_t n = HEAD;
    for (uint32_t i = 0; i < r->finding_count; i++) {
        words[n++] = (uint64_t)r->findings[i].rule | (uint64_t)r->findings[i].action << 8;
        words[n++] = (uint64_t)r->findings[i].value.i;
        words[n++] = (uint64_t)r->findings[i].limit.i;
    }
    return rung__fact_digest(RUNG__FACT_REVIEW, r->id, 0, words, n);
}

/* ---- the list ---- */

/* The place of the first one whose id is at least `id`. */
static uint32_t place_of(const rung__reviews *all, uint64_t id) {
    uint32_t low = 0, high = all->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (all->items[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

rung_status rung__reviews_admit(const rung_state *s, uint32_t player, rung_err *err) {
    const rung__reviews *all = &s->reviews;
    uint32_t own = 0;
    if (all->count >= RUNG_REVIEWS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "review", "%d scores wait for a review",
                               RUNG_REVIEWS_MAX);
    for (uint32_t i = 0; i < all->count && player != RUNG_PLAYER_NONE; i++)
        own += all->players[i] == player;
    return own < RUNG_REVIEWS_PLAYER_MAX
               ? RUNG_OK
               : RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "review",
                                 "%d scores of this player wait for a review",
                                 RUNG_REVIEWS_PLAYER_MAX);
}

static size_t findings_bytes(uint32_t count) {
    return count * sizeof(rung_finding);
}

rung_status rung__reviews_secure(rung_state *s, uint32_t finding_count) {
    rung__reviews *all = &s->reviews;
    if (rung__grow(s->alloc, &all->items, &all->cap, all->count + 1, sizeof *all->items) < 0)
        return RUNG_ENOMEM;
    if (all->cap > all->player_cap &&
        rung__grow(s->alloc, &all->players, &all->player_cap, all->cap, sizeof *all->players) < 0)
        return RUNG_ENOMEM;
    if (all->spare && all->spare_count == finding_count)
        return RUNG_OK;
    rung_finding *spare = rung_alloc_get(s->alloc, findings_bytes(finding_count));
    if (!spare)
        return RUNG_ENOMEM;
    rung_alloc_free(s->alloc, all->spare, findings_bytes(all->spare_count));
    all->spare = spare;
    all->spare_count = finding_count;
    return RUNG_OK;
}

/* The memory for it was secured. */
static void append(rung_state *s, rung__review *r, const rung_finding *findings) {
    rung__reviews *all = &s->reviews;
    r->findings = all->spare;
    all->spare = NULL;
    all->spare_count = 0;
    memcpy(r->findings, findings, findings_bytes(r->finding_count));
    all->players[all->count] = r->player;
    all->items[all->count++] = *r;
    if (r->expires_ms < all->next_ms)
        all->next_ms = r->expires_ms;
    rung__digest_add(&s->digest, review_digest(r));
}

void rung__review_add(rung_state *s, rung__review *r, const rung_finding *findings) {
    const rung__reviews *all = &s->reviews;
    uint64_t first = s->seq << RUNG_REVIEW_PART_BITS;
    uint64_t last = all->count ? all->items[all->count - 1].id : 0;
    r->id = last >= first ? last + 1 : first;
    append(s, r, findings);
}

rung_status rung__review_restore(rung_state *s, rung__review *r, const rung_finding *findings) {
    const rung__reviews *all = &s->reviews;
    uint64_t last = all->count ? all->items[all->count - 1].id : 0;
    if (r->id <= last || r->id >> RUNG_REVIEW_PART_BITS > s->seq)
        return RUNG_EINVAL;
    if (rung__reviews_secure(s, r->finding_count) < 0)
        return RUNG_ENOMEM;
    append(s, r, findings);
    return RUNG_OK;
}

/* Take it off the list. *out is a copy whose findings are gone. */
static void take(rung_state *s, uint32_t i, rung__review *out) {
    rung__reviews *all = &s->reviews;
    *out = all->items[i];
    rung__digest_subtract(&s->digest, review_digest(out));
    rung_alloc_free(s->alloc, out->findings, findings_bytes(out->finding_count));
    out->findings = NULL;
    uint32_t behind = --all->count - i;
    memmove(&all->items[i], &all->items[i + 1], behind * sizeof *all->items);
    memmove(&all->players[i], &all->players[i + 1], behind * sizeof *all->players);
}

static void note_next(rung__reviews *all) {
    all->next_ms = INT64_MAX;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].expires_ms < all->next_ms)
            all->next_ms = all->items[i].expires_ms;
}

void rung__reviews_forget_board(rung_state *s, uint32_t board) {
    rung__review gone;
    for (uint32_t i = s->reviews.count; i-- > 0;)
        if (s->reviews.items[i].board == board)
            take(s, i, &gone);
}

void rung__reviews_forget_player(rung_state *s, uint32_t player) {
    rung__review gone;
    for (uint32_t i = s->reviews.count; i-- > 0;)
        if (s->reviews.players[i] == player)
            take(s, i, &gone);
}

void rung__reviews_renumber(rung_state *s, uint32_t board, uint32_t number) {
    for (uint32_t i = 0; i < s->reviews.count; i++) {
        rung__review *r = &s->reviews.items[i];
        if (r->board != board)
            continue;
        rung__digest_subtract(&s->digest, review_digest(r));
        r->board = number;
        rung__digest_add(&s->digest, review_digest(r));
    }
}

/* ---- verdicts ---- */

rung_score_event rung__review_event(const rung_state *s, const rung__review *r) {
    rung_score_event e = {.board = rung_names_id(s->board_ids, r->board),
                          .player = rung_names_id(s->players, r->player),
                          .is_delta = r->is_delta,
                          .has_at = true,
                          .at_ms = r->at_ms,
                          .value_count = r->value_count};
    memcpy(e.values, r->values, sizeof e.values);
    memcpy(e.types, r->types, sizeof e.types);
    memcpy(e.decimals, r->decimals, sizeof e.decimals);
    return e;
}

/* Count it now, on its board and on the board's shadow. */
static rung_status promote(rung_state *s, const rung__review *r, rung_err *err) {
    rung_score_event e = rung__review_event(s, r);
    rung_status st = rung__score_promote(s, s->boards[r->board], &e, err);
    if (st == RUNG_ENOMEM || !s->shadow_count)
        return st;
    bool skip = s->shadow_skip;
    s->shadow_skip = r->is_left_out;
    st = rung__shadow_score(s, &e, st);
    s->shadow_skip = skip;
    return st;
}

/* Whoever decides on a ban means the player, even if the review has ended meanwhile. */
static rung_status ban(rung_state *s, const rung_event *e, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BANNED,
                        .ban = {.player = e->reviewed.player, .reason = e->reviewed.reason}};
    uint32_t player;
    if (rung_names_find(s->players, e->reviewed.player, &player) == RUNG_OK)
        rung__reviews_forget_player(s, player);
    rung_status st = rung__apply_ban(s, &event, err);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung__apply_reviewed(rung_state *s, const rung_event *e, rung_err *err) {
    if (e->reviewed.verdict == RUNG_VERDICT_BAN)
        return ban(s, e, err);
    uint32_t i = place_of(&s->reviews, e->reviewed.id);
    if (i == s->reviews.count || s->reviews.items[i].id != e->reviewed.id)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "review", "no such review, or it has ended");
    rung__review r = s->reviews.items[i];
    if (!rung_slice_eq(rung_names_id(s->board_ids, r.board), e->reviewed.board) ||
        !rung_slice_eq(rung_names_id(s->players, r.player), e->reviewed.player))
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "review", "of another board or player");
    rung_status st = RUNG_OK;
    if (e->reviewed.verdict == RUNG_VERDICT_PROMOTE)
        st = promote(s, &r, err);
    if (st < 0)
        return st;
    take(s, i, &r);
    note_next(&s->reviews);
    return RUNG_OK;
}

/* All at once: thousands may expire together, and each would move those behind it. */
static void take_expired(rung_state *s) {
    rung__reviews *all = &s->reviews;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        rung__review *r = &all->items[i];
        if (r->expires_ms <= s->time_ms) {
            rung__digest_subtract(&s->digest, review_digest(r));
            rung_alloc_free(s->alloc, r->findings, findings_bytes(r->finding_count));
            continue;
        }
        all->players[kept] = all->players[i];
        all->items[kept++] = *r;
    }
    all->count = kept;
}

rung_status rung__reviews_expire(rung_state *s) {
    rung__reviews *all = &s->reviews;
    if (!all->count || s->time_ms < all->next_ms)
        return RUNG_UNCHANGED;
    for (uint32_t i = 0; i < all->count; i++) {
        rung__review r = all->items[i];
        /* What cannot be counted any more is rejected. */
        if (r.expires_ms <= s->time_ms && r.outcome == RUNG_VERDICT_PROMOTE &&
            promote(s, &r, NULL) == RUNG_ENOMEM)
            return RUNG_ENOMEM;
    }
    uint32_t before = all->count;
    take_expired(s);
    note_next(all);
    return all->count < before ? RUNG_OK : RUNG_UNCHANGED;
}

/* ---- questions ---- */

/* <0: the key `a` is better. */
static int compare_keys(const uint64_t *a, const uint64_t *b) {
    for (uint32_t i = 0; i < RUNG_LADDER_WORDS_MAX; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static void show(const rung_state *s, const rung__review *r, rung_review *out) {
    const rung__board *b = s->boards[r->board];
    *out = (rung_review){.id = r->id,
                         .board = rung_names_id(s->board_ids, r->board),
                         .player = rung_names_id(s->players, r->player),
                         .def = b->def,
                         .ts_ms = r->ts_ms,
                         .at_ms = r->at_ms,
                         .expires_ms = r->expires_ms,
                         .outcome = (rung_review_verdict)r->outcome,
                         .is_delta = r->is_delta,
                         .value_count = r->value_count,
                         .score = {.type = (rung_score_type)r->score_type,
                                   .order = b->def->key.columns[0].order,
                                   .decimals = r->score_decimals},
                         .finding_count = r->finding_count,
                         .findings = r->findings};
    memcpy(out->values, r->values, sizeof out->values);
    memcpy(out->types, r->types, sizeof out->types);
    memcpy(out->decimals, r->decimals, sizeof out->decimals);
}

rung_status rung_state_review_next(const rung_state *s, uint64_t after, rung_review *out) {
    uint32_t i = after == UINT64_MAX ? s->reviews.count : place_of(&s->reviews, after + 1);
    if (i == s->reviews.count)
        return RUNG_NOT_FOUND;
    show(s, &s->reviews.items[i], out);
    return RUNG_OK;
}

rung_status rung_state_review(const rung_state *s, uint64_t id, rung_review *out) {
    uint32_t i = place_of(&s->reviews, id);
    if (i == s->reviews.count || s->reviews.items[i].id != id)
        return RUNG_NOT_FOUND;
    show(s, &s->reviews.items[i], out);
    return RUNG_OK;
}

rung_status rung_state_history(const rung_state *s, rung_slice board, rung_slice player,
                               rung_history *out) {
    const rung__board *b = rung__board_find(s, board);
    uint32_t number;
    if (!b || rung_names_find(s->players, player, &number) != RUNG_OK)
        return RUNG_NOT_FOUND;
    const rung__form *f = rung__form_find(b, number);
    if (!f)
        return RUNG_NOT_FOUND;
    *out = (rung_history){f->count, f->mean, f->deviation, f->last_ms};
    return RUNG_OK;
}

uint32_t rung_state_review_count(const rung_state *s) {
    return s->reviews.count;
}

rung_status rung_view_tentative(const rung_view *v, rung_slice player, rung_row *row_out,
                                uint64_t *id_out) {
    const rung_state *s = v->state;
    rung__board *b = (rung__board *)(uintptr_t)v->board; /* only read */
    rung__window *w = (rung__window *)(uintptr_t)v->window;
    uint64_t best[RUNG_LADDER_WORDS_MAX] = {0};
    uint32_t number;
    bool is_found = false;
    if (!s->reviews.count || !b || v->teams || v->closed || (w && v->ladder != w->ladder) ||
        rung_names_find(s->players, player, &number) != RUNG_OK)
        return RUNG_NOT_FOUND;
    for (uint32_t i = 0; i < s->reviews.count; i++) {
        const rung__review *r = &s->reviews.items[i];
        rung__reach reach;
        uint32_t rank;
        if (s->reviews.players[i] != number || r->board != b->number || r->at_ms < v->start_ms ||
            r->at_ms >= v->end_ms)
            continue;
        rung_score_event e = rung__review_event(s, r);
        if (!rung__score_would(s, b, w, number, &e, v->rank, &reach, &rank) ||
            (is_found && compare_keys(reach.key, best) >= 0))
            continue;
        is_found = true;
        memcpy(best, reach.key, sizeof best);
        *id_out = r->id;
        *row_out = (rung_row){.rank = rank,
                              .number = number,
                              .id = rung_names_id(s->players, number),
                              .value_count = b->def->key.column_count,
                              .has_at = rung_tie_keeps_time(b->def->key.tie)};
        rung__key_values(b, reach.key, v->now_ms, row_out->values, &row_out->at_ms);
    }
    return is_found ? RUNG_OK : RUNG_NOT_FOUND;
}

uint32_t rung_review_id_format(uint64_t id, char out[RUNG_REVIEW_ID_TEXT_MAX]) {
    uint64_t part = id & ((1 << RUNG_REVIEW_PART_BITS) - 1);
    uint32_t len = (uint32_t)rung_digits_format(id >> RUNG_REVIEW_PART_BITS, out);
    if (!part)
        return len;
    out[len++] = '-';
    return len + (uint32_t)rung_digits_format(part, out + len);
}

/* Digits alone, without a zero in front. */
static bool parse_digits(const char **at, const char *end, uint64_t max, uint64_t *out) {
    uint64_t n = 0;
    const char *from = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        n = n * 10 + (uint64_t)(**at - '0');
        if (n > max)
            return false;
    }
    *out = n;
    return n && *from != '0';
}

bool rung_review_id_parse(rung_slice text, uint64_t *id_out) {
    const char *at = text.ptr, *end = at + text.len;
    uint64_t seq, part = 0;
    if (!parse_digits(&at, end, UINT64_MAX >> RUNG_REVIEW_PART_BITS, &seq))
        return false;
    if (at < end &&
        (*at++ != '-' || !parse_digits(&at, end, (1 << RUNG_REVIEW_PART_BITS) - 1, &part)))
        return false;
    *id_out = seq << RUNG_REVIEW_PART_BITS | part;
    return at == end;
}

/* ---- life ---- */

rung_digest rung__reviews_digest_all(const rung_state *s) {
    rung_digest d = {0, 0};
    for (uint32_t i = 0; i < s->reviews.count; i++)
        rung__digest_add(&d, review_digest(&s->reviews.items[i]));
    return d;
}

static const char *check_item(const rung_state *s, uint32_t i) {
    const rung__reviews *all = &s->reviews;
    const rung__review *r = &all->items[i];
    const rung__board *b = r->board < s->board_cap ? s->boards[r->board] : NULL;
    uint32_t own = 0;
    if ((i && all->items[i - 1].id >= r->id) || r->id >> RUNG_REVIEW_PART_BITS > s->seq)
        return "V1: reviews are not in order";
    for (uint32_t k = 0; k < all->count; k++)
        own += all->players[k] == r->player;
    if (all->players[i] != r->player || own > RUNG_REVIEWS_PLAYER_MAX)
        return "V2: the players of reviews";
    if (!b || b->twin || !rung_names_is_used(s->players, r->player))
        return "V3: a review without a board or player";
    return r->expires_ms < all->next_ms ? "V4: a review expires earlier than noted" : NULL;
}

const char *rung__reviews_check(const rung_state *s) {
    const char *wrong = s->reviews.count > RUNG_REVIEWS_MAX ? "V2: too many reviews" : NULL;
    for (uint32_t i = 0; !wrong && i < s->reviews.count; i++)
        wrong = check_item(s, i);
    return wrong;
}

void rung__reviews_deinit(rung_state *s) {
    rung__reviews *all = &s->reviews;
    for (uint32_t i = 0; i < all->count; i++)
        rung_alloc_free(s->alloc, all->items[i].findings,
                        findings_bytes(all->items[i].finding_count));
    rung_alloc_free(s->alloc, all->items, all->cap * sizeof *all->items);
    rung_alloc_free(s->alloc, all->players, all->player_cap * sizeof *all->players);
    rung_alloc_free(s->alloc, all->spare, findings_bytes(all->spare_count));
}

size_t rung__reviews_bytes(const rung_state *s) {
    const rung__reviews *all = &s->reviews;
    size_t bytes = all->cap * sizeof *all->items + all->player_cap * sizeof *all->players;
    for (uint32_t i = 0; i < all->count; i++)
        bytes += findings_bytes(all->items[i].finding_count);
    return bytes;
}
