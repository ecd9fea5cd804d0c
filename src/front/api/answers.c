/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are written directly, for speed: keys are literals, and nothing is built first. schemas.c describes them;
 * tests/e2e/test_openapi.py checks one against the other. */
#include "front/api/answers.h"

#include "codec/board_json.h"
#include "model/calendar.h"

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

static void write_player_row(rung_json_writer *w, const rung_ranking *k, const rung_row *row,
                             bool among) {
    RUNG_JSON_MEMBER(w, "rank", uint, among ? row->list_rank : row->rank);
    if (among)
        RUNG_JSON_MEMBER(w, "global_rank", uint, row->rank);
    RUNG_JSON_MEMBER(w, "player", string, row->id);
    write_profile(w, k, row);
    rung_values_json_write(w, k->def, row->values, row->value_count);
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
    RUNG_JSON_MEMBER(w, "rank", uint, o->rank);
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

void rung_answer_outcome(rung_json_writer *w, const rung_board_def *def, rung_slice player,
                         const rung_outcome *o) {
    RUNG_JSON_MEMBER(w, "player", string, player);
    rung_values_json_write(w, def, o->values, o->value_count);
    RUNG_JSON_MEMBER(w, "changed", bool, o->changed);
    RUNG_JSON_MEMBER(w, "duplicate", bool, o->duplicate);
    RUNG_JSON_MEMBER(w, "rank_before", uint_or_null, o->rank_before);
    RUNG_JSON_MEMBER(w, "rank", uint, o->rank);
    RUNG_JSON_MEMBER(w, "total", uint, o->total);
    write_percentile(w, o->percentile);
    RUNG_JSON_MEMBER(w, "passed", uint, o->passed);
    write_next(w, &def->key.columns[0], o);
    RUNG_JSON_OPEN(w, "windows", object);
    for (uint32_t i = 0; i < o->window_count; i++)
        write_window_outcome(w, &o->windows[i]);
    rung_json_close_object(w);
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
    RUNG_JSON_MEMBER(w, "rank", uint, o->rank);
    RUNG_JSON_MEMBER(w, "total", uint, o->total);
    RUNG_JSON_MEMBER(w, "seq", uint, o->seq);
    rung_json_close_object(w);
}
