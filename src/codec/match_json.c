/* SPDX-License-Identifier: Apache-2.0 */
/* Sides are read first, then scores become places, then players are packed side by side. */
#include "codec/match_json.h"

#include "model/text.h"

#include <string.h>

enum { PLAYER_PLAYER, PLAYER_WEIGHT, PLAYER_PLAYED, PLAYER_FIELDS };
static const rung_field player_fields[PLAYER_FIELDS] = {
    [PLAYER_PLAYER] = {RUNG_NAMED("player"), .types = RUNG_FIELD_STRING, .required = true,
                       .len_min = 1, .len_max = RUNG_NAME_MAX, .format = "plain",
                       .doc = "Who played.", .example = "\"ada\""},
    [PLAYER_WEIGHT] = {RUNG_NAMED("weight"), .types = RUNG_FIELD_NUMBER, .fallback = "1",
                       .doc = "Gains are multiplied by it, losses divided; 0.01 to 100."},
    [PLAYER_PLAYED] = {RUNG_NAMED("played"), .types = RUNG_FIELD_NUMBER, .fallback = "1",
                       .doc = "The part of the match in which the player took part; 0.001 to 1."},
};
static const rung_schema player_schema = {.name = "MatchPlayer",
                                          .doc = "A player of a side.",
                                          .fields = player_fields,
                                          .count = PLAYER_FIELDS};

/* The results come last: a question's sides have the table without them. */
enum { SIDE_PLAYERS, SIDE_PLACE, SIDE_SCORE, SIDE_FIELDS };
static const rung_field side_fields[SIDE_FIELDS] = {
    [SIDE_PLAYERS] = {RUNG_NAMED("players"), .types = RUNG_FIELD_ARRAY, .required = true,
                      .items = RUNG_FIELD_STRING | RUNG_FIELD_OBJECT, .nested = &player_schema,
                      .item_len_max = RUNG_NAME_MAX, .doc = "Ids, or objects.",
                      .example = "[\"ada\"]"},
    [SIDE_PLACE] = {RUNG_NAMED("place"), .types = RUNG_FIELD_INTEGER, .has_range = true,
                    .min = INT32_MIN, .max = INT32_MAX,
                    .doc = "1 for the best; equal places are a draw.", .example = "1"},
    [SIDE_SCORE] = {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER,
                    .doc = "Instead of a place: larger is better, equal scores are a draw."},
};
static const rung_schema side_schema = {.name = "MatchSide",
                                        .doc = "A side and its result.",
                                        .fields = side_fields,
                                        .count = SIDE_FIELDS};
static const rung_schema lineup_side_schema = {
    .name = "LineupSide", .doc = "A side.", .fields = side_fields, .count = SIDE_PLACE};

enum { MATCH_SIDES, MATCH_ID, MATCH_AT, MATCH_FIELDS };
#define SIDES(table)                                                                               \
    [MATCH_SIDES] = {                                                                              \
        RUNG_NAMED("sides"), .types = RUNG_FIELD_ARRAY,                                            \
        .required = true,    .items = RUNG_FIELD_OBJECT,                                           \
        .nested = &(table),  .doc = "At least two; together at most 256 players, nobody twice."}
static const rung_field match_fields[MATCH_FIELDS] = {
    SIDES(side_schema),
    [MATCH_ID] = {RUNG_NAMED("id"), .types = RUNG_FIELD_STRING, .len_min = 1,
                  .len_max = RUNG_EVENT_ID_MAX, .format = "plain",
                  .doc = "The same id again changes nothing; with another body it is a 409.",
                  .example = "\"final-1\""},
    [MATCH_AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME,
                  .doc = "When it was played; now if left out. A match counts when it arrives, and "
                         "in the windows "
                         "that contain its time."},
};
const rung_schema rung_match_schema = {
    .name = "Match", .doc = "A result.", .fields = match_fields, .count = MATCH_FIELDS};
static const rung_field lineup_fields[] = {SIDES(lineup_side_schema)};
const rung_schema rung_lineup_schema = {
    .name = "Lineup", .doc = "Who would play against whom.", .fields = lineup_fields, .count = 1};

typedef struct side {
    rung_slot players;
    double score;
    int32_t place;
} side;

typedef struct sheet {
    uint32_t count;
    side sides[RUNG_MATCH_PLAYERS_MAX];
    rung_byte_writer w;
} sheet;

/* All sides have a place, or all a score. */
static rung_status read_result(const rung_slot *slots, side *s, int *kind, rung_json *r) {
    const rung_slot *place = &slots[SIDE_PLACE], *score = &slots[SIDE_SCORE];
    int found = place->present ? SIDE_PLACE : SIDE_SCORE;
    if (place->present == score->present)
        return rung_json_refuse(r, RUNG_EINVAL, "expected a place or a score, and not both");
    if (*kind && *kind != found)
        return rung_json_refuse(r, RUNG_EINVAL, "expected places of all sides, or scores of all");
    *kind = found;
    if (found == SIDE_PLACE)
        s->place = (int32_t)place->integer;
    else if (rung_text_parse_real(score->text, &s->score, NULL) < 0)
        return rung_json_refuse(r, RUNG_ERANGE, "the score is out of range");
    return RUNG_OK;
}

static rung_status read_sides(rung_json *r, const rung_slot *slot, bool has_results, sheet *sh,
                              rung_err *err) {
    rung_slot slots[SIDE_FIELDS];
    int kind = 0;
    rung_json_init_at(r, slot->text, "sides", slot->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        if (sh->count == RUNG_MATCH_PLAYERS_MAX)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "at most %d players",
                                   RUNG_MATCH_PLAYERS_MAX);
        side *s = &sh->sides[sh->count++];
        *s = (side){0};
        st = rung_schema_read(has_results ? &side_schema : &lineup_side_schema, r, slots);
        if (st == RUNG_OK)
            s->players = slots[SIDE_PLAYERS];
        if (st == RUNG_OK && has_results)
            st = read_result(slots, s, &kind, r);
    }
    for (uint32_t i = 0; st >= 0 && kind == SIDE_SCORE && i < sh->count; i++) {
        sh->sides[i].place = 1;
        for (uint32_t k = 0; k < sh->count; k++)
            sh->sides[i].place += sh->sides[k].score > sh->sides[i].score;
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_part(const rung_slot *slot, double *out, rung_json *r) {
    if (slot->present && rung_text_parse_real(slot->text, out, NULL) < 0)
        return rung_json_refuse(r, RUNG_ERANGE, "the number is out of range");
    return RUNG_OK;
}

static rung_status read_player(rung_json *r, rung_match_entry *e) {
    rung_slot slots[PLAYER_FIELDS];
    if (rung_json_peek(r) == RUNG_JSON_STRING)
        return rung_json_string(r, &e->player);
    rung_status st = rung_schema_read(&player_schema, r, slots);
    if (st == RUNG_OK)
        st = read_part(&slots[PLAYER_WEIGHT], &e->weight, r);
    if (st == RUNG_OK)
        st = read_part(&slots[PLAYER_PLAYED], &e->played, r);
    if (st == RUNG_OK)
        e->player = slots[PLAYER_PLAYER].text;
    return st;
}

static rung_status pack_side(rung_json *r, sheet *sh, uint32_t index, rung_err *err) {
    char path[40] = "sides[";
    size_t digits = rung_digits_format(index, path + 6);
    const side *s = &sh->sides[index];
    memcpy(path + 6 + digits, "].players", sizeof "].players");
    rung_json_init_at(r, s->players.text, path, s->players.offset, err);
    rung_status st = rung_json_enter_array(r);
    for (uint32_t i = 0; st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK; i++) {
        rung_match_entry e = {.is_first = i == 0,
                              .place = s->place,
                              .side = index,
                              .index = i,
                              .weight = 1,
                              .played = 1};
        st = read_player(r, &e);
        if (st == RUNG_OK)
            st = rung_match_entry_check(&e, err);
        if (st == RUNG_OK && !rung_match_put(&sh->w, &e))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "at most %d players",
                                   RUNG_MATCH_PLAYERS_MAX);
    }
    if (st >= 0 && s->players.integer == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players",
                               "a side has at least one player", index);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_match_json_sides(rung_slice sides, rung_json *r, uint8_t *packed,
                                  rung_match_event *match, rung_err *err) {
    sheet sh = {.w = rung_byte_writer_of(packed, RUNG_MATCH_PACKED_MAX)};
    rung_slot slot = {.text = sides};
    rung_status st = read_sides(r, &slot, true, &sh, err);
    for (uint32_t i = 0; st >= 0 && i < sh.count; i++)
        st = pack_side(r, &sh, i, err);
    if (st < 0)
        return st;
    match->packed = rung_slice_of(packed, rung_byte_writer_length(&sh.w));
    return rung_match_packed_check(match->packed, &match->player_count, err);
}

rung_status rung_match_json_read(const rung_schema *schema, char *body, size_t len, rung_json *r,
                                 uint8_t *packed, rung_match_event *match, rung_err *err) {
    rung_slot slots[MATCH_FIELDS] = {{0}};
    sheet sh = {.w = rung_byte_writer_of(packed, RUNG_MATCH_PACKED_MAX)};
    rung_json_init(r, body, len, err);
    rung_status st = rung_schema_read(schema, r, slots);
    if (st >= 0)
        st = rung_json_end(r);
    if (st < 0 && err)
        err->reason = RUNG_REASON_MALFORMED;
    if (st >= 0)
        st = read_sides(r, &slots[MATCH_SIDES], schema == &rung_match_schema, &sh, err);
    for (uint32_t i = 0; st >= 0 && i < sh.count; i++)
        st = pack_side(r, &sh, i, err);
    if (st < 0)
        return st;
    *match = (rung_match_event){.packed = rung_slice_of(packed, rung_byte_writer_length(&sh.w))};
    if (slots[MATCH_ID].present)
        match->id = slots[MATCH_ID].text;
    match->has_at = slots[MATCH_AT].present;
    match->at_ms = slots[MATCH_AT].integer;
    return rung_match_packed_check(match->packed, &match->player_count, err);
}
