/* SPDX-License-Identifier: Apache-2.0 */
#include "service/matches.h"

#include "model/text.h"

static rung_status find_board(const rung_service *s, rung_slice board, const rung_board_def **def,
                              rung_err *err) {
    if (rung_state_board(rung_hub_state(s->hub), board, def) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (!rung_update_is_rating((*def)->update))
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "update", "the board takes scores, not matches");
    return RUNG_OK;
}

rung_status rung_match_submit(const rung_service *s, rung_hub_sender from, rung_event *event,
                              rung_hub_answer *answer, void *ctx, rung_err *err) {
    const rung_board_def *def;
    rung_status st = find_board(s, event->match.board, &def, err);
    if (st < 0)
        return st;
    return rung_commit_put(rung_hub_commit(s->hub), from, event, NULL, answer, ctx, err);
}

typedef struct table {
    rung_match_player players[RUNG_MATCH_PLAYERS_MAX];
    rung_match_side sides[RUNG_MATCH_PLAYERS_MAX];
    rung_rating_scratch scratch;
    rung_match match;
} table;

/* Seat the players of a checked match. */
static void seat(const rung_service *s, const rung_match_event *e, const rung_rating_params *p,
                 table *t) {
    rung_match_cursor c = {.rest = e->packed};
    rung_match_entry entry;
    uint32_t count = 0, sides = 0;
    for (; rung_match_next(&c, &entry); count++) {
        rung_rating_card card;
        if (rung_state_rating(rung_hub_state(s->hub), e->board, entry.player, &card) != RUNG_OK)
            card.rating = rung_rating_initial(p);
        t->players[count] = (rung_match_player){card.rating, entry.weight, entry.played};
        if (entry.is_first)
            t->sides[sides++] = (rung_match_side){.first = count};
        t->sides[sides - 1].count++;
    }
    t->match = (rung_match){t->players, count, t->sides, sides, 0};
}

rung_status rung_match_predict(const rung_service *s, const rung_match_event *match, int64_t now_ms,
                               rung_match_forecast *out, rung_err *err) {
    const rung_board_def *def;
    table t;
    uint32_t count;
    rung_status st = find_board(s, match->board, &def, err);
    if (st >= 0)
        st = rung_match_packed_check(match->packed, &count, err);
    if (st < 0)
        return st;
    seat(s, match, &def->rating, &t);
    t.match.at_ms = now_ms;
    out->side_count = t.match.side_count;
    return rung_rating_predict(&def->rating, &t.match, &t.scratch, out->sides, &out->draw, err);
}

/* ---- matches that were played ---- */

const char *const rung_match_outcome_words[] = {"win", "draw", "loss", NULL};

rung_match_outcome rung_match_outcome_of(const rung_match_result *results, uint32_t count,
                                         int32_t place) {
    uint32_t other = UINT32_MAX;
    uint32_t side = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (results[i].place < place)
            return RUNG_MATCH_LOSS;
        if (results[i].place != place)
            continue;
        if (side != UINT32_MAX && results[i].side != side)
            other = results[i].side;
        side = results[i].side;
    }
    return other == UINT32_MAX ? RUNG_MATCH_WIN : RUNG_MATCH_DRAW;
}

rung_status rung_match_check_board(const rung_service *s, rung_slice board, rung_err *err) {
    const rung_board_def *def;
    return find_board(s, board, &def, err);
}

rung_status rung_match_find(const rung_service *s, rung_slice board, rung_slice name,
                            rung_match_info *out, rung_err *err) {
    const rung_state *state = rung_hub_state(s->hub);
    rung_status st = rung_match_check_board(s, board, err);
    int64_t seq;
    if (st < 0)
        return st;
    if (rung_state_match(state, board, name, 0, out) == RUNG_OK)
        return RUNG_OK;
    if (name.len > 1 && name.ptr[0] == '@' &&
        rung_text_parse_fixed(rung_slice_of(name.ptr + 1, name.len - 1), 0, &seq, NULL) ==
            RUNG_OK &&
        seq > 0 &&
        rung_state_match(state, board, (rung_slice){NULL, 0}, (uint64_t)seq, out) == RUNG_OK)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "match", "the board knows no such match");
}

/* ---- opponents ---- */

/* The neighbours, perhaps the player among them. Fails only if the displayed rating has no place on the board. */
static rung_status look_around(const rung_view *view, const rung_board_def *def, rung_slice player,
                               const rung_rating *rating, rung_row *rows, uint32_t *count_out,
                               rung_err *err) {
    uint32_t rank, self;
    if (rung_view_around(view, player, RUNG_OPPONENTS_AROUND, rows, count_out, &self) == RUNG_OK)
        return RUNG_OK;
    rung_value values[RUNG_COLUMNS_MAX] = {
        {.i = rung_rating_displayed(&def->rating, rating, def->key.columns[0].decimals)}};
    return rung_view_at_score(view, 1, values, RUNG_OPPONENTS_AROUND, &rank, rows, count_out, &self,
                              err);
}

static double expect(const rung_rating_params *p, const rung_rating *a, const rung_rating *b,
                     int64_t now_ms) {
    rung_rating_scratch scratch;
    rung_prediction sides[2];
    double draw;
    rung_match_player players[] = {{*a, 1, 1}, {*b, 1, 1}};
    rung_match_side both[] = {{.first = 0, .count = 1}, {.first = 1, .count = 1}};
    rung_match match = {players, 2, both, 2, now_ms};
    rung_status st = rung_rating_predict(p, &match, &scratch, sides, &draw, NULL);
    return st == RUNG_OK ? sides[0].score : 0.5;
}

rung_status rung_match_opponents(const rung_service *s, rung_slice board, const rung_view *view,
                                 rung_slice player, int64_t now_ms, uint32_t limit,
                                 rung_opponent *out, uint32_t *count_out, rung_err *err) {
    rung_row rows[2 * RUNG_OPPONENTS_AROUND + 1];
    double qualities[2 * RUNG_OPPONENTS_AROUND + 1];
    const rung_state *state = rung_hub_state(s->hub);
    const rung_board_def *def;
    rung_rating_card own, other;
    uint32_t count = 0, found = 0;
    rung_status st = find_board(s, board, &def, err);
    if (st < 0)
        return st;
    if (rung_state_rating(state, board, player, &own) != RUNG_OK)
        own.rating = rung_rating_initial(&def->rating);
    st = look_around(view, def, player, &own.rating, rows, &count, err);
    if (st < 0)
        return st;
    for (uint32_t i = 0; i < count; i++) {
        bool is_other = !rung_slice_eq(rows[i].id, player) &&
                        rung_state_rating_of(state, board, rows[i].number, &other) == RUNG_OK;
        qualities[i] =
            is_other ? rung_rating_quality(&def->rating, &own.rating, &other.rating, now_ms) : -1;
    }
    for (; found < limit && found < count; found++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            best = qualities[i] > qualities[best] ? i : best;
        if (qualities[best] < 0)
            break;
        rung_ignore(rung_state_rating_of(state, board, rows[best].number, &other), "as above");
        out[found] =
            (rung_opponent){.row = rows[best],
                            .quality = qualities[best],
                            .expected = expect(&def->rating, &own.rating, &other.rating, now_ms)};
        qualities[best] = -1;
    }
    *count_out = found;
    return RUNG_OK;
}
