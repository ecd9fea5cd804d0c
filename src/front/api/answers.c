/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are written directly, for speed: keys are literals, and nothing is built first. schemas.c describes them;
 * tests/e2e/test_openapi.py checks one against the other. */
#include "front/api/answers.h"

#include "codec/board_json.h"
#include "model/calendar.h"
#include "state/review.h"

/* ---- heads ---- */

static void write_span(rung_json_writer *w, int64_t start_ms, int64_t end_ms, bool closed) {
    RUNG_JSON_MEMBER(w, "starts", time, start_ms); /* null for all of time */
    RUNG_JSON_MEMBER(w, "ends", time, end_ms);
    RUNG_JSON_MEMBER(w, "closed", bool, closed);
}

void rung_answer_window(rung_json_writer *w, uint32_t kind, rung_slice id, int64_t start_ms,
                        int64_t end_ms, bool closed) {
    RUNG_JSON_MEMBER(w, "kind", word, rung_window_words[kind]);
    RUNG_JSON_MEMBER(w, "id", string, id);
    write_span(w, start_ms, end_ms, closed);
}

static void write_sketch(rung_json_writer *w, const rung_sketch_info *s) {
    RUNG_JSON_MEMBER(w, "approximate", bool, true);
    RUNG_JSON_MEMBER(w, "error", uint, s->error);
    RUNG_JSON_MEMBER(w, "counted", uint, s->total);
    RUNG_JSON_MEMBER(w, "memory", uint, s->memory_bytes);
    RUNG_JSON_OPEN(w, "distinct", object);
    RUNG_JSON_MEMBER(w, "players", uint, s->players);
    RUNG_JSON_MEMBER(w, "error", fixed, s->players_error_ppm, 6);
    rung_json_close_object(w);
}

void rung_answer_head(rung_json_writer *w, const rung_ranking *k) {
    RUNG_JSON_MEMBER(w, "board", string, k->board);
    rung_slice window_id = rung_slice_of(k->window_id, k->window_id_len);
    RUNG_JSON_KEY(w, "window"); /* as a request names it */
    if (k->kind == RUNG_WINDOW_SEASON)
        rung_json_write_string(w, window_id);
    else
        rung_json_write_word(w, rung_window_words[k->kind]);
    RUNG_JSON_MEMBER(w, "window_id", string, window_id);
    write_span(w, k->start_ms, k->end_ms, k->closed);
    RUNG_JSON_MEMBER(w, "scope", string_or_null, k->scope);
    RUNG_JSON_MEMBER(w, "rank_style", word, rung_rank_words[k->rank]);
    RUNG_JSON_MEMBER(w, "total", uint, k->total);
    RUNG_JSON_MEMBER(w, "seq", uint, k->seq);
    if (k->sketch.kind)
        write_sketch(w, &k->sketch);
}

/* ---- rows ---- */

/* Nine decimals tell apart a billion places. Formatting a double would take longer than the rest of the row. */
static void write_percentile(rung_json_writer *w, double percentile) {
    RUNG_JSON_MEMBER(w, "percentile", fixed, (int64_t)(percentile * 1e9 + 0.5), 9);
}

bool rung_board_ranks_by(const rung_board_def *def, rung_slice attribute) {
    for (uint32_t i = 0; i < def->scope_count; i++)
        if (rung_slice_eq(def->scopes[i], attribute))
            return true;
    return def->has_teams && rung_slice_eq(def->team_by, attribute);
}

/* The public part of a profile: name, avatar, country, and the attributes that the board ranks by. */
static void write_profile(rung_json_writer *w, const rung_ranking *k, const rung_row *row) {
    static const rung_slice shown[] = {{"name", 4}, {"avatar", 6}, {"country", 7}};
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count, others = 0;
    bool banned;
    if (k->has_numbers)
        count = rung_state_profile(k->state, row->number, attributes);
    else if (rung_state_player(k->state, row->id, &count, attributes, &banned) != RUNG_OK)
        count = 0;
    for (size_t s = 0; s < sizeof shown / sizeof shown[0]; s++) {
        uint32_t i = 0;
        while (i < count && !rung_slice_eq(attributes[i].name, shown[s]))
            i++;
        if (i < count) {
            rung_json_write_key(w, shown[s]);
            rung_json_write_string(w, attributes[i].value);
            attributes[i].name.len = 0;
        } else if (s == 0) { /* always present */
            RUNG_JSON_KEY(w, "name");
            rung_json_write_null(w);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!attributes[i].name.len || !rung_board_ranks_by(k->def, attributes[i].name))
            continue;
        if (others++ == 0)
            RUNG_JSON_OPEN(w, "attributes", object);
        rung_json_write_key(w, attributes[i].name);
        rung_json_write_string(w, attributes[i].value);
    }
    if (others)
        rung_json_close_object(w);
}

static void write_team_row(rung_json_writer *w, const rung_ranking *k, const rung_row *row) {
    rung_column column = k->def->key.columns[0];
    if (k->def->team_combine == RUNG_COMBINE_MEAN)
        column = (rung_column){.type = RUNG_SCORE_REAL, .order = column.order};
    RUNG_JSON_MEMBER(w, "rank", uint, row->rank);
    RUNG_JSON_MEMBER(w, "team", string, row->id);
    RUNG_JSON_KEY(w, "score");
    rung_score_json_write(w, &column, row->values[0]);
    RUNG_JSON_MEMBER(w, "members", uint, row->members);
}

void rung_answer_card(rung_json_writer *w, const rung_board_def *def,
                      const rung_rating_card *card) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "rating", real, card->rating.rating);
    if (def->update != RUNG_UPDATE_ELO)
        RUNG_JSON_MEMBER(w, "deviation", real, card->rating.deviation);
    if (def->update == RUNG_UPDATE_GLICKO2)
        RUNG_JSON_MEMBER(w, "volatility", real, card->rating.volatility);
    RUNG_JSON_MEMBER(w, "games", uint, card->rating.games);
    RUNG_JSON_MEMBER(w, "wins", uint, card->wins);
    RUNG_JSON_MEMBER(w, "draws", uint, card->draws);
    RUNG_JSON_MEMBER(w, "losses", uint, card->losses);
    RUNG_JSON_MEMBER(w, "streak", int, card->streak);
    rung_json_close_object(w);
}

static void write_score(rung_json_writer *w, const rung_board_def *def, int64_t score) {
    rung_score_json_write(w, &def->key.columns[0], (rung_value){.i = score});
}

static void write_match_row(rung_json_writer *w, const rung_board_def *def,
                            const rung_match_row *row) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "player", string, row->player);
    RUNG_JSON_MEMBER(w, "side", uint, row->side);
    RUNG_JSON_MEMBER(w, "place", int, row->place);
    RUNG_JSON_MEMBER(w, "expected", real, row->expected);
    RUNG_JSON_KEY(w, "score_before");
    if (row->before.rating.games)
        write_score(w, def, row->score_before);
    else
        rung_json_write_null(w);
    RUNG_JSON_KEY(w, "score");
    write_score(w, def, row->score);
    RUNG_JSON_MEMBER(w, "rank_before", uint_or_null, row->rank_before);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, row->rank);
    RUNG_JSON_KEY(w, "before");
    rung_answer_card(w, def, &row->before);
    RUNG_JSON_KEY(w, "after");
    rung_answer_card(w, def, &row->after);
    rung_json_close_object(w);
}

/* The board is there: matches are answered before anything else is applied. */
void rung_answer_match(rung_json_writer *w, const rung_state *state, rung_slice board,
                       rung_status st, const rung_outcome *outcome) {
    const rung_board_def *def = NULL;
    uint32_t count = 0;
    const rung_match_row *rows = rung_state_match_rows(state, &count);
    bool is_there = rung_state_board(state, board, &def) == RUNG_OK;
    RUNG_JSON_MEMBER(w, "board", string, board);
    RUNG_JSON_MEMBER(w, "duplicate", bool, st == RUNG_DUPLICATE);
    RUNG_JSON_OPEN(w, "players", array);
    for (uint32_t i = 0; is_there && i < count; i++)
        write_match_row(w, def, &rows[i]);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "seq", uint, outcome->seq);
}

/* The rating as it is now; the archive does not know what it was. */
static void write_rating(rung_json_writer *w, const rung_ranking *k, const rung_row *row) {
    rung_rating_card card;
    if (!k->has_numbers || rung_state_rating_of(k->state, k->board, row->number, &card) != RUNG_OK)
        return;
    RUNG_JSON_KEY(w, "rating");
    rung_answer_card(w, k->def, &card);
}

static void write_player_row(rung_json_writer *w, const rung_ranking *k, const rung_row *row,
                             bool among) {
    RUNG_JSON_MEMBER(w, "rank", uint, among ? row->list_rank : row->rank);
    if (among)
        RUNG_JSON_MEMBER(w, "global_rank", uint, row->rank);
    RUNG_JSON_MEMBER(w, "player", string, row->id);
    write_profile(w, k, row);
    rung_values_json_write(w, k->def, row->values, row->value_count);
    if (rung_update_is_rating(k->def->update))
        write_rating(w, k, row);
    if (row->has_bounds) {
        RUNG_JSON_MEMBER(w, "low", uint, row->low);
        RUNG_JSON_MEMBER(w, "high", uint, row->high);
    }
    if (row->has_at)
        RUNG_JSON_MEMBER(w, "at", time, row->at_ms);
}

void rung_answer_row(rung_json_writer *w, const rung_ranking *k, const rung_row *row, bool among) {
    rung_json_open_object(w);
    if (k->teams)
        write_team_row(w, k, row);
    else
        write_player_row(w, k, row, among);
    write_percentile(w, row->percentile);
    rung_json_close_object(w);
}

void rung_answer_place(rung_json_writer *w, const rung_ranking *k, const rung_row *row,
                       uint32_t place, bool among) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "place", uint, place);
    write_player_row(w, k, row, among);
    rung_json_close_object(w);
}

void rung_answer_rows(rung_json_writer *w, const rung_ranking *k, const char *name,
                      const rung_row *rows, uint32_t count, bool among) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_array(w);
    for (uint32_t i = 0; i < count; i++)
        rung_answer_row(w, k, &rows[i], among);
    rung_json_close_array(w);
}

/* ---- outcomes ---- */

static void write_window_outcome(rung_json_writer *w, const rung_window_outcome *o) {
    char id[RUNG_NAME_MAX + 1];
    uint32_t len = rung_window_id_write(o->kind, o->ordinal, o->season, id);
    if (o->kind == RUNG_WINDOW_SEASON)
        rung_json_write_key(w, o->season);
    else
        rung_json_write_key(w, rung_slice_str(rung_window_words[o->kind]));
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "id", string, rung_slice_of(id, len));
    RUNG_JSON_MEMBER(w, "changed", bool, o->changed);
    RUNG_JSON_MEMBER(w, "rank_before", uint_or_null, o->rank_before);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, o->rank);
    RUNG_JSON_MEMBER(w, "total", uint, o->total);
    rung_json_close_object(w);
}

static void write_next(rung_json_writer *w, const rung_column *score, const rung_outcome *o) {
    RUNG_JSON_KEY(w, "next");
    if (!o->has_next) {
        rung_json_write_null(w);
        return;
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "player", string_or_null, o->next);
    RUNG_JSON_KEY(w, "gap");
    rung_score_json_write(w, score, o->gap);
    rung_json_close_object(w);
}

void rung_answer_findings(rung_json_writer *w, const rung_board_def *def, const char *name,
                          const rung_finding *findings, uint32_t count) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_array(w);
    for (uint32_t i = 0; i < count; i++) {
        const rung_finding *f = &findings[i];
        rung_measure measure = rung_rule_measure((rung_rule)f->rule);
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "rule", word, rung_rule_words[f->rule]);
        RUNG_JSON_MEMBER(w, "action", word, rung_action_words[f->action]);
        RUNG_JSON_KEY(w, "value");
        rung_measure_json_write(w, &def->key.columns[0], measure, f->value);
        RUNG_JSON_KEY(w, "limit");
        rung_measure_json_write(w, &def->key.columns[0], measure, f->limit);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_review(rung_json_writer *w, const rung_board_def *def, const rung_outcome *o) {
    char id[RUNG_REVIEW_ID_TEXT_MAX];
    RUNG_JSON_MEMBER(w, "tentative", bool, true);
    RUNG_JSON_MEMBER(w, "review", string, rung_slice_of(id, rung_review_id_format(o->review, id)));
    if (!o->duplicate)
        rung_answer_findings(w, def, "rules", o->findings, o->finding_count);
}

void rung_answer_outcome(rung_json_writer *w, const rung_board_def *def, rung_slice player,
                         const rung_outcome *o) {
    RUNG_JSON_MEMBER(w, "player", string, player);
    rung_values_json_write(w, def, o->values, o->value_count);
    RUNG_JSON_MEMBER(w, "changed", bool, o->changed);
    RUNG_JSON_MEMBER(w, "duplicate", bool, o->duplicate);
    RUNG_JSON_MEMBER(w, "rank_before", uint_or_null, o->rank_before);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, o->rank);
    RUNG_JSON_MEMBER(w, "total", uint, o->total);
    write_percentile(w, o->percentile);
    RUNG_JSON_MEMBER(w, "passed", uint, o->passed);
    write_next(w, &def->key.columns[0], o);
    RUNG_JSON_OPEN(w, "windows", object);
    for (uint32_t i = 0; i < o->window_count; i++)
        write_window_outcome(w, &o->windows[i]);
    rung_json_close_object(w);
    if (o->tentative)
        write_review(w, def, o);
    else if (o->finding_count)
        rung_answer_findings(w, def, "flagged", o->findings, o->finding_count);
    RUNG_JSON_MEMBER(w, "seq", uint, o->seq);
}

void rung_answer_batch_line(rung_json_writer *w, const rung_column *score, uint64_t line,
                            const rung_outcome *o) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "line", uint, line);
    RUNG_JSON_MEMBER(w, "changed", bool, o->changed);
    if (o->duplicate)
        RUNG_JSON_MEMBER(w, "duplicate", bool, true);
    RUNG_JSON_KEY(w, "score");
    rung_score_json_write(w, score, o->values[0]);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, o->rank);
    RUNG_JSON_MEMBER(w, "total", uint, o->total);
    if (o->tentative)
        RUNG_JSON_MEMBER(w, "tentative", bool, true);
    else if (o->finding_count)
        RUNG_JSON_MEMBER(w, "flagged", bool, true);
    RUNG_JSON_MEMBER(w, "seq", uint, o->seq);
    rung_json_close_object(w);
}
