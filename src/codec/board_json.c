/* SPDX-License-Identifier: Apache-2.0 */
/* The tables define the form of each field. The functions below them check what a table cannot express (a score of the
 * board's own type, "HH:MM", "top:5") and fill in the definition, one field each. */
#include "codec/board_json.h"

#include "base/ascii.h"
#include "codec/rating_json.h"
#include "model/calendar.h"
#include "model/text.h"

/* ---- tables ---- */

/* The score has no name: it uses the table without its last field. */
enum { COLUMN_TYPE, COLUMN_ORDER, COLUMN_DECIMALS, COLUMN_NAME, COLUMN_FIELDS };
static const rung_field column_fields[COLUMN_FIELDS] = {
    [COLUMN_TYPE] =
        {RUNG_NAMED("type"), .types = RUNG_FIELD_STRING, .values = rung_score_type_words,
         .fallback = "\"integer\"",
         .doc = "`integer`: exact, 64 bits; `decimal`: exact, with `decimals` places; `real`: a "
                "double. It cannot change later."},
    [COLUMN_ORDER] =
        {RUNG_NAMED("order"), .types = RUNG_FIELD_STRING, .values = rung_score_order_words,
         .fallback = "\"desc\"",
         .doc = "`desc`: bigger is better; `asc`: smaller is better. It cannot change later."},
    [COLUMN_DECIMALS] = {RUNG_NAMED("decimals"), .types = RUNG_FIELD_INTEGER, .has_range = true,
                         .min = 0, .max = RUNG_DECIMALS_MAX,
                         .doc = "Places after the point, of a `decimal`."},
    [COLUMN_NAME] = {RUNG_NAMED("name"), .types = RUNG_FIELD_STRING, .required = true, .len_min = 1,
                     .len_max = RUNG_ATTRIBUTE_NAME_MAX, .format = "pattern:^[A-Za-z0-9_.-]{1,64}$",
                     .doc = "Letters, digits, `_`, `.` and `-`; not `score`.",
                     .example = "\"time\""},
};
static const rung_schema score_schema = {
    .name = "ScoreType", .doc = "What a score is.", .fields = column_fields, .count = COLUMN_NAME};
static const rung_schema column_schema = {
    .name = "Column",
    .doc = "A further sort column: it decides among equal scores, before the tie rule.",
    .fields = column_fields,
    .count = COLUMN_FIELDS};

enum { SEASON_NAME, SEASON_STARTS, SEASON_ENDS, SEASON_FIELDS };
static const rung_field season_fields[SEASON_FIELDS] = {
    [SEASON_NAME] = {RUNG_NAMED("name"), .types = RUNG_FIELD_STRING, .required = true, .len_min = 1,
                     .len_max = RUNG_NAME_MAX,
                     .doc = "Also the id of the window; not the name of a kind of window.",
                     .example = "\"summer\""},
    [SEASON_STARTS] = {RUNG_NAMED("starts"), .types = RUNG_FIELD_TIME, .required = true,
                       .doc = "The first moment that counts.",
                       .example = "\"2026-06-01T00:00:00Z\""},
    [SEASON_ENDS] = {RUNG_NAMED("ends"), .types = RUNG_FIELD_TIME, .required = true,
                     .doc = "The first moment that no longer counts.",
                     .example = "\"2026-09-01T00:00:00Z\""},
};
static const rung_schema season_schema = {.name = "Season",
                                          .doc = "A window with a name and dates of its own.",
                                          .fields = season_fields,
                                          .count = SEASON_FIELDS};

enum { TEAMS_BY, TEAMS_COMBINE, TEAMS_FIELDS };
static const rung_field teams_fields[TEAMS_FIELDS] = {
    [TEAMS_BY] = {RUNG_NAMED("by"), .types = RUNG_FIELD_STRING, .required = true, .len_min = 1,
                  .len_max = RUNG_ATTRIBUTE_NAME_MAX, .format = "pattern:^[A-Za-z0-9_.-]{1,64}$",
                  .doc = "The attribute of players whose values are the teams.",
                  .example = "\"guild\""},
    [TEAMS_COMBINE] =
        {RUNG_NAMED("combine"), .types = RUNG_FIELD_STRING, .fallback = "\"sum\"",
         .format = "pattern:^(sum|mean|top:([1-9][0-9]?|100))$",
         .doc = "`sum` or `mean` of the members' scores, or `top:5`: the sum of the five best.",
         .example = "\"top:5\""},
};
static const rung_schema teams_schema = {.name = "Teams",
                                         .doc = "A ranking of teams beside that of players.",
                                         .fields = teams_fields,
                                         .count = TEAMS_FIELDS};

enum { LIMIT_MIN, LIMIT_MAX, LIMIT_STEP, LIMIT_RATE, LIMIT_Z, LIMIT_FIELDS };
static const rung_field limit_fields[LIMIT_FIELDS] = {
    [LIMIT_MIN] = {RUNG_NAMED("min"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING,
                   .format = "number", .doc = "The smallest score that is accepted.",
                   .example = "0"},
    [LIMIT_MAX] = {RUNG_NAMED("max"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING,
                   .format = "number", .doc = "The largest score that is accepted.",
                   .example = "1000000"},
    [LIMIT_STEP] = {RUNG_NAMED("max_step"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING,
                    .format = "number",
                    .doc = "The most by which one submission may change a player's score.",
                    .example = "5000"},
    [LIMIT_RATE] = {RUNG_NAMED("per_player_per_minute"), .types = RUNG_FIELD_INTEGER,
                    .has_range = true, .min = 1, .max = UINT32_MAX,
                    .doc = "Accepted submissions of one player in a minute."},
    [LIMIT_Z] = {RUNG_NAMED("z_score"), .types = RUNG_FIELD_NUMBER, .format = "positive",
                 .doc = "Refuse scores further from the median than so many standard deviations, "
                        "estimated from the "
                        "quartiles; from 100 entries on.",
                 .example = "6"},
};
const rung_schema rung_limit_schema = {.name = "Limits",
                                       .doc = "What a submission must keep to; each is optional.",
                                       .fields = limit_fields,
                                       .count = LIMIT_FIELDS};

enum { RULE_RULE, RULE_VALUE, RULE_PER, RULE_ACTION, RULE_FIELDS };
static const rung_field rule_fields[RULE_FIELDS] = {
    [RULE_RULE] = {RUNG_NAMED("rule"), .types = RUNG_FIELD_STRING, .required = true,
                   .format = "enum|min|max|max_step|max_rate|submissions|z_score|z_player|"
                             "first_min|first_max|attested_duration|attested_seed|"
                             "attested_replay",
                   .doc = "What is compared: see \"Rules\" in docs/boards.md.",
                   .example = "\"max_rate\""},
    [RULE_VALUE] = {RUNG_NAMED("value"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING,
                    .format = "number",
                    .doc = "The limit: a score, a number of points or submissions, or of "
                           "deviations. Not of `attested_*`, which only ask that it is there.",
                    .example = "500"},
    [RULE_PER] = {RUNG_NAMED("per"), .types = RUNG_FIELD_NUMBER, .format = "positive",
                  .doc = "Seconds, 1 to 31622400: the time in which `max_rate` allows `value` "
                         "points, or `submissions` so many of them.",
                  .example = "60"},
    [RULE_ACTION] = {RUNG_NAMED("action"), .types = RUNG_FIELD_STRING, .values = rung_action_words,
                     .fallback = "\"refuse\"",
                     .doc = "`refuse`: it changes nothing; `flag`: it counts, and the answer says "
                            "which rules it broke; `review`: it is tentative and counts when a "
                            "moderator promotes it."},
};
const rung_schema rung_rule_schema = {
    .name = "Rule",
    .doc = "A plausibility rule, judged when a submission is applied.",
    .fields = rule_fields,
    .count = RULE_FIELDS};

/* By kind of window. The window all never closes; its place has the kinds that are not named. */
enum { KEEP_OTHER = RUNG_WINDOW_ALL, KEEP_FIELDS = RUNG_WINDOW_SEASON + 1 };
#define KEEP_FIELD(kind, number, text)                                                             \
    [kind] = {.name = (number) ? (text) : "other",                                                 \
              .name_len = (number) ? sizeof(text) - 1 : sizeof "other" - 1,                        \
              .types = RUNG_FIELD_INTEGER,                                                         \
              .has_range = true,                                                                   \
              .min = 0,                                                                            \
              .max = RUNG_KEEP_MAX,                                                                \
              .fallback = (number) ? NULL : "2",                                                   \
              .doc = (number) ? "Closed windows of this kind kept in memory; left out: as other."  \
                              : "Closed windows of each kind that is not named."},
static const rung_field keep_fields[KEEP_FIELDS] = {RUNG_WINDOW_KINDS(KEEP_FIELD)};
static const rung_schema keep_schema = {.name = "Keep",
                                        .doc = "Closed windows kept in memory, by kind; all "
                                               "seasons together are one kind.",
                                        .fields = keep_fields,
                                        .count = KEEP_FIELDS};

enum { SNAPSHOTS_EVERY, SNAPSHOTS_TOP, SNAPSHOTS_KEEP, SNAPSHOTS_FIELDS };
static const rung_field snapshots_fields[SNAPSHOTS_FIELDS] = {
    [SNAPSHOTS_EVERY] = {RUNG_NAMED("every"), .types = RUNG_FIELD_STRING, .required = true,
                         .format = "pattern:^[1-9][0-9]{0,6}[smhd]$",
                         .doc = "How often, in log time: `10s`, `1m`, `2h`, `1d`; from `1s` to "
                                "`31d`. Windows that have not changed get none.",
                         .example = "\"1m\""},
    [SNAPSHOTS_TOP] = {RUNG_NAMED("top"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
                       .max = RUNG_SNAPSHOT_TOP_MAX, .fallback = "100", .doc = "Entries of each.",
                       .example = "1000"},
    [SNAPSHOTS_KEEP] = {RUNG_NAMED("keep"), .types = RUNG_FIELD_INTEGER, .has_range = true,
                        .min = 1, .max = RUNG_SNAPSHOT_KEEP_MAX, .fallback = "60",
                        .doc = "Versions of each window that are kept; `top` x `keep` x windows "
                               "is at most 1,048,576, and 4,194,304 for all boards together.",
                        .example = "60"},
};
static const rung_schema snapshots_schema = {
    .name = "Snapshots",
    .doc = "Immutable, numbered versions of the top of each window, for heavy reads.",
    .fields = snapshots_fields,
    .count = SNAPSHOTS_FIELDS};
static const char *const kind_words[] = {"exact", "sketch", NULL};

enum {
    BOARD_ID,
    BOARD_TITLE,
    BOARD_KIND,
    BOARD_SKETCH,
    BOARD_MEMORY,
    BOARD_TOP,
    BOARD_ERROR,
    BOARD_SCORE,
    BOARD_COLUMNS,
    BOARD_UPDATE,
    BOARD_HALF_LIFE,
    BOARD_RATING,
    BOARD_TIE,
    BOARD_RANK,
    BOARD_WINDOWS,
    BOARD_TIMEZONE,
    BOARD_DAY_STARTS,
    BOARD_GRACE,
    BOARD_KEEP,
    BOARD_SCOPES,
    BOARD_TEAMS,
    BOARD_LIMITS,
    BOARD_RULES,
    BOARD_WRITERS,
    BOARD_REVIEW,
    BOARD_REVIEW_EXPIRES,
    BOARD_REVIEW_OUTCOME,
    BOARD_SNAPSHOTS,
    BOARD_EXPIRES,
    BOARD_SEQ,
    BOARD_FIELDS
};
static const rung_field board_fields[BOARD_FIELDS] = {
    [BOARD_ID] = {RUNG_NAMED("id"), .types = RUNG_FIELD_STRING, .len_min = 1,
                  .len_max = RUNG_NAME_MAX,
                  .doc = "The board's id. In a request it may be left out; otherwise it is the one "
                         "in the path.",
                  .example = "\"race\""},
    [BOARD_TITLE] = {RUNG_NAMED("title"), .types = RUNG_FIELD_STRING, .len_max = RUNG_TITLE_MAX,
                     .doc = "For people; the id when it is left out.",
                     .example = "\"The great race\""},
    [BOARD_KIND] = {RUNG_NAMED("kind"), .types = RUNG_FIELD_STRING, .values = kind_words,
                    .fallback = "\"exact\"",
                    .doc = "`exact`: an entry for every player; `sketch`: memory that is fixed in "
                           "advance, answers with a stated error (docs/boards.md, \"Sketch "
                           "boards\"). It cannot change later."},
    [BOARD_SKETCH] = {RUNG_NAMED("sketch"), .types = RUNG_FIELD_STRING,
                      .format = "enum" RUNG_SKETCHES(RUNG_OR),
                      .doc =
                          "What a sketch board keeps. `counts`: the largest sums of an unbounded "
                          "stream, each with a lower and an upper bound; `percentile`: where a "
                          "score stands among any number of scores; `distinct`: how many "
                          "different players there were. It cannot change later.",
                      .example = "\"counts\""},
    [BOARD_MEMORY] = {RUNG_NAMED("memory"), .types = RUNG_FIELD_STRING | RUNG_FIELD_INTEGER,
                      .has_range = true, .min = RUNG_SKETCH_MEMORY_MIN_DISTINCT,
                      .max = RUNG_SKETCH_MEMORY_MAX,
                      .format = "pattern:^[1-9][0-9]{0,7}(KiB|MiB)?$",
                      .doc = "What each ranking of a sketch board takes, in bytes or with a unit: "
                             "64KiB to 64MiB, of `distinct` from 16KiB on. Default: 1MiB. It "
                             "cannot change later.",
                      .example = "\"1MiB\""},
    [BOARD_TOP] = {RUNG_NAMED("top"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
                   .max = RUNG_SKETCH_TOP_MAX,
                   .doc = "Of a `counts` board: how many TOPK.LIST of the Redis protocol shows. "
                          "Default: 100."},
    [BOARD_ERROR] = {RUNG_NAMED("error"), .types = RUNG_FIELD_NUMBER, .format = "positive",
                     .doc = "Of a sketch board: the share of the total that no answer may be off "
                            "by, whatever the order of the stream (of `distinct`: the standard "
                            "error). Refused if `memory` is too small for it.",
                     .example = "0.001"},
    [BOARD_SCORE] = {RUNG_NAMED("score"), .types = RUNG_FIELD_OBJECT, .nested = &score_schema,
                     .doc = "What a score is.",
                     .example = "{\"type\":\"integer\",\"order\":\"desc\"}"},
    [BOARD_COLUMNS] =
        {RUNG_NAMED("columns"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
         .nested = &column_schema, .items_max = RUNG_COLUMNS_MAX - 1, .fallback = "[]",
         .doc =
             "Further sort columns. A submission carries all of them and is compared as one tuple. "
             "They cannot change later."},
    [BOARD_UPDATE] = {RUNG_NAMED("update"), .types = RUNG_FIELD_STRING,
                      .format = "enum" RUNG_UPDATES(RUNG_OR), .fallback = "\"best\"",
                      .doc = "What a submission does to the score that stands. `decay` needs a "
                             "real score, order `desc`, no columns, "
                             "and `half_life`. `elo`, `glicko2` and `openskill` make a rating "
                             "board, which takes matches instead of scores: an integer or decimal "
                             "score, order `desc`, no columns, no limits. It cannot change "
                             "later."},
    [BOARD_HALF_LIFE] = {RUNG_NAMED("half_life"), .types = RUNG_FIELD_NUMBER, .format = "half_life",
                         .doc = "Seconds after which a submission counts half, 60 to 3153600000 "
                                "(36500 days): of `decay` and of that "
                                "alone.",
                         .example = "86400"},
    [BOARD_RATING] = {RUNG_NAMED("rating"), .types = RUNG_FIELD_OBJECT,
                      .nested = &rung_rating_schema,
                      .doc = "The parameters of a rating board; a change counts from the next "
                             "match on.",
                      .example = "{\"k\":20}"},
    [BOARD_TIE] =
        {RUNG_NAMED("tie"), .types = RUNG_FIELD_STRING, .values = rung_tie_words,
         .fallback = "\"first\"",
         .doc =
             "Who stands higher among equals: the `first` or `last` to reach the score, or by the "
             "`player`'s id (`player_desc`: the larger first). It cannot change later."},
    [BOARD_RANK] = {RUNG_NAMED("rank"), .types = RUNG_FIELD_STRING, .values = rung_rank_words,
                    .fallback = "\"sparse\"",
                    .doc = "How places are counted unless a question says otherwise: `unique` 1 2 "
                           "3 4, `sparse` 1 1 3 "
                           "4, `dense` 1 1 2 3."},
    [BOARD_WINDOWS] = {RUNG_NAMED("windows"), .types = RUNG_FIELD_ARRAY,
                       .items = RUNG_FIELD_STRING | RUNG_FIELD_OBJECT, .nested = &season_schema,
                       .values = rung_plain_window_words, .items_min = 1,
                       .items_max = RUNG_WINDOW_SEASON + RUNG_SEASONS_MAX, .fallback = "[\"all\"]",
                       .doc =
                           "Every submission counts in each of these; weeks are those of ISO 8601.",
                       .example = "[\"all\",\"week\"]"},
    [BOARD_TIMEZONE] = {RUNG_NAMED("timezone"), .types = RUNG_FIELD_STRING, .len_min = 1,
                        .len_max = RUNG_ZONE_NAME_MAX, .fallback = "\"UTC\"",
                        .doc =
                            "The IANA zone whose hours, days, weeks, months and years are meant.",
                        .example = "\"Europe/Helsinki\""},
    [BOARD_DAY_STARTS] = {RUNG_NAMED("day_starts"), .types = RUNG_FIELD_STRING,
                          .format = "pattern:^([01][0-9]|2[0-3]):[0-5][0-9]$",
                          .fallback = "\"00:00\"",
                          .doc = "The local time at which a new day begins, HH:MM.",
                          .example = "\"04:00\""},
    [BOARD_GRACE] =
        {RUNG_NAMED("grace"), .types = RUNG_FIELD_NUMBER, .format = "grace", .fallback = "0",
         .doc =
             "Seconds after a window's end in which a late submission (by its `at`) still counts."},
    [BOARD_KEEP] = {RUNG_NAMED("keep"), .types = RUNG_FIELD_INTEGER | RUNG_FIELD_OBJECT,
                    .nested = &keep_schema, .has_range = true, .min = 0, .max = RUNG_KEEP_MAX,
                    .fallback = "2",
                    .doc = "Closed windows of each kind kept in memory; older ones are answered "
                           "from the archive. An object has a number for each kind that it names.",
                    .example = "{\"hour\":48,\"day\":30}"},
    [BOARD_SCOPES] = {RUNG_NAMED("scopes"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
                      .items_max = RUNG_SCOPES_MAX, .item_len_max = RUNG_ATTRIBUTE_NAME_MAX,
                      .format = "pattern:^[A-Za-z0-9_.-]{1,64}$", .fallback = "[]",
                      .doc = "Attributes of players; every value of each has a ranking of its own.",
                      .example = "[\"country\"]"},
    [BOARD_TEAMS] = {RUNG_NAMED("teams"), .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL,
                     .nested = &teams_schema, .fallback = "null",
                     .doc = "A ranking of teams; null or left out: none."},
    [BOARD_LIMITS] = {RUNG_NAMED("limits"), .types = RUNG_FIELD_OBJECT,
                      .nested = &rung_limit_schema, .doc = "What a submission must keep to."},
    [BOARD_RULES] = {RUNG_NAMED("rules"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
                     .nested = &rung_rule_schema, .items_max = RUNG_BOARD_RULES_MAX,
                     .fallback = "[]",
                     .doc = "Plausibility rules, in the order in which they are judged, after the "
                            "limits. A board that counts has only `submissions`, a rating board "
                            "none.",
                     .example = "[{\"rule\":\"max_rate\",\"value\":500,\"per\":60,"
                                "\"action\":\"flag\"}]"},
    [BOARD_WRITERS] =
        {RUNG_NAMED("writers"), .types = RUNG_FIELD_STRING, .values = rung_writers_words,
         .fallback = "\"server\"",
         .doc =
             "Who submits: `server`, trusted keys only; `player`, also players themselves, signed: "
             "see docs/trust.md."},
    [BOARD_REVIEW] =
        {RUNG_NAMED("review"), .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL,
         .format = "pattern:^(anomalies|top:[1-9][0-9]{0,6})$", .fallback = "null",
         .doc = "What is tentative until a moderator promotes it, beside what breaks a rule with "
                "the action `review`: `top:10`, a score that would enter the first ten of the "
                "board's first window; `anomalies`, a score that breaks a rule with the action "
                "`flag`.",
         .example = "\"top:10\""},
    [BOARD_REVIEW_EXPIRES] = {RUNG_NAMED("review_expires"), .types = RUNG_FIELD_NUMBER,
                              .format = "positive", .fallback = "604800",
                              .doc = "Seconds, 1 to 31622400, after which a tentative score is "
                                     "decided by `review_outcome`."},
    [BOARD_REVIEW_OUTCOME] = {RUNG_NAMED("review_outcome"), .types = RUNG_FIELD_STRING,
                              .values = rung_outcome_words, .fallback = "\"reject\"",
                              .doc = "What becomes of a tentative score that nobody decides on."},
    [BOARD_SNAPSHOTS] = {RUNG_NAMED("snapshots"), .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL,
                         .nested = &snapshots_schema, .fallback = "null",
                         .doc = "Timed snapshots, which `version=` of the top list names; null or "
                                "left out: none.",
                         .example = "{\"every\":\"1m\",\"top\":1000,\"keep\":60}"},
    [BOARD_EXPIRES] = {RUNG_NAMED("expires"), .types = RUNG_FIELD_TIME, .format = "readonly",
                       .doc =
                           "When the board goes, with all its scores, because EXPIRE of the Redis "
                           "protocol gave it an end; absent when it has none. In a request it "
                           "says nothing."},
    [BOARD_SEQ] = {RUNG_NAMED("seq"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 0,
                   .max = INT64_MAX, .format = "readonly",
                   .doc = "The log position the answer reflects. In a request it says nothing, so "
                          "that what was read "
                          "can be changed and sent back."},
};
const rung_schema rung_board_schema = {
    .name = "Board",
    .doc = "The definition of a board. What is left out of a request has its default.",
    .fields = board_fields,
    .count = BOARD_FIELDS};

/* ---- reading: each function reads one field of the board ---- */

typedef rung_status read_item(rung_json *r, rung_board_def *def);

/* Every item of the array of a slot. */
static rung_status read_items(rung_json *r, const rung_slot *slot, const char *name,
                              read_item *item, rung_board_def *def, rung_err *err) {
    rung_json_init_at(r, slot->text, name, slot->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK)
        st = item(r, def);
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_column(const rung_slot *slots, const char *field, rung_column *column,
                               rung_err *err) {
    if (slots[COLUMN_TYPE].present)
        column->type = (rung_score_type)slots[COLUMN_TYPE].choice;
    if (slots[COLUMN_ORDER].present)
        column->order = (rung_score_order)slots[COLUMN_ORDER].choice;
    if (slots[COLUMN_DECIMALS].present)
        column->decimals = (unsigned)slots[COLUMN_DECIMALS].integer;
    if (column->decimals && column->type != RUNG_SCORE_DECIMAL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.decimals", "only the type decimal has them",
                               field);
    return RUNG_OK;
}

static rung_status read_score(rung_json *r, const rung_slot *slot, rung_board_def *def,
                              rung_err *err) {
    rung_slot slots[COLUMN_NAME];
    rung_status st =
        rung_schema_read_at(&score_schema, r, slot->text, "score", slot->offset, slots, err);
    return st < 0 ? st : read_column(slots, "score", &def->key.columns[0], err);
}

static rung_status read_further_column(rung_json *r, rung_board_def *def) {
    static const char *const fields[] = {"columns[0]", "columns[1]"};
    rung_slot slots[COLUMN_FIELDS];
    rung_status st = rung_schema_read(&column_schema, r, slots);
    if (st < 0)
        return st;
    unsigned i = def->key.column_count++;
    def->column_names[i - 1] = slots[COLUMN_NAME].text;
    return read_column(slots, fields[i - 1], &def->key.columns[i], r->err);
}

static rung_status read_update(const rung_slot *slot, rung_board_def *def, rung_err *err) {
    int choice = rung_word_find(rung_update_words, slot->text);
    if (choice < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update", "expected one of %s",
                               RUNG_ALTERNATIVES(RUNG_UPDATES));
    def->update = (rung_update)choice;
    if (rung_update_is_rating(def->update))
        rung_rating_params_init(&def->rating, rung_update_system(def->update));
    return RUNG_OK;
}

/* Seconds, exact to the millisecond. */
static rung_status read_seconds(const rung_slot *slot, const char *field, int64_t *ms_out,
                                rung_err *err) {
    if (rung_text_parse_fixed(slot->text, 3, ms_out, NULL) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected seconds with at most 3 decimals",
                               field);
    return RUNG_OK;
}

static rung_status read_season(rung_json *r, rung_board_def *def) {
    rung_slot slots[SEASON_FIELDS];
    rung_status st = rung_schema_read(&season_schema, r, slots);
    if (st < 0)
        return st;
    if (def->season_count == RUNG_SEASONS_MAX)
        return rung_json_refuse(r, RUNG_ELIMIT, "too many seasons; 64 are allowed");
    rung_season *season = &def->seasons[def->season_count++];
    *season = (rung_season){.name = slots[SEASON_NAME].text,
                            .starts_ms = slots[SEASON_STARTS].integer,
                            .ends_ms = slots[SEASON_ENDS].integer};
    if (rung_word_find(rung_plain_window_words, season->name) >= 0)
        return rung_json_refuse(r, RUNG_EINVAL,
                                "a season needs another name than a kind of window");
    if (!rung_name_is_valid(season->name))
        return rung_json_refuse(r, RUNG_EINVAL, "a season's name has no control characters");
    if (season->starts_ms >= season->ends_ms)
        return rung_json_refuse(r, RUNG_EINVAL, "a season ends after it starts");
    for (uint32_t i = 0; i + 1 < def->season_count; i++)
        if (rung_slice_eq(def->seasons[i].name, season->name))
            return rung_json_refuse(r, RUNG_EINVAL, "another season has this name");
    return RUNG_OK;
}

static rung_status read_window(rung_json *r, rung_board_def *def) {
    rung_slice name;
    if (rung_json_peek(r) == RUNG_JSON_OBJECT)
        return read_season(r, def);
    rung_status st = rung_json_string(r, &name);
    if (st < 0)
        return st;
    int kind = rung_word_find(rung_plain_window_words, name);
    if (kind < 0)
        return rung_json_refuse(r, RUNG_EINVAL,
                                "expected one of all, hour, day, week, month, year");
    if (def->windows & RUNG_WINDOWS_BIT(kind))
        return rung_json_refuse(r, RUNG_EINVAL, "given twice");
    def->windows |= RUNG_WINDOWS_BIT(kind);
    return RUNG_OK;
}

static rung_status read_windows(rung_json *r, const rung_slot *slot, rung_board_def *def,
                                rung_err *err) {
    def->windows = 0;
    return read_items(r, slot, "windows", read_window, def, err);
}

static rung_status read_day_starts(const rung_slot *slot, rung_board_def *def, rung_err *err) {
    const char *t = slot->text.ptr;
    if (slot->text.len == 5 && rung_is_digit(t[0]) && rung_is_digit(t[1]) && t[2] == ':' &&
        rung_is_digit(t[3]) && rung_is_digit(t[4])) {
        int hour = (t[0] - '0') * 10 + t[1] - '0', minute = (t[3] - '0') * 10 + t[4] - '0';
        if (hour < 24 && minute < 60) {
            def->day_starts_min = hour * 60 + minute;
            return RUNG_OK;
        }
    }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "day_starts", "expected HH:MM, from 00:00 to 23:59");
}

static rung_status read_scope(rung_json *r, rung_board_def *def) {
    return rung_json_string(r, &def->scopes[def->scope_count++]);
}

/* "top:5" */
static bool read_top(rung_slice text, int64_t max, uint32_t *top_out) {
    static const rung_slice prefix = {"top:", 4};
    int64_t top;
    if (text.len <= prefix.len || memcmp(text.ptr, prefix.ptr, prefix.len) != 0 ||
        text.ptr[prefix.len] == '0' ||
        !rung_text_parse_plain(rung_slice_of(text.ptr + prefix.len, text.len - prefix.len), &top) ||
        top > max)
        return false;
    *top_out = (uint32_t)top;
    return true;
}

static rung_status read_teams(rung_json *r, const rung_slot *slot, rung_board_def *def,
                              rung_err *err) {
    rung_slot slots[TEAMS_FIELDS];
    rung_status st =
        rung_schema_read_at(&teams_schema, r, slot->text, "teams", slot->offset, slots, err);
    if (st < 0)
        return st;
    def->has_teams = true;
    def->team_by = slots[TEAMS_BY].text;
    rung_slice combine = slots[TEAMS_COMBINE].present
                             ? slots[TEAMS_COMBINE].text
                             : rung_slice_str(rung_combine_words[RUNG_COMBINE_SUM]);
    int word = rung_word_find(rung_combine_words, combine);
    if (word >= 0 && word != RUNG_COMBINE_TOP)
        def->team_combine = (rung_combine)word;
    else if (read_top(combine, RUNG_TEAM_TOP_MAX, &def->team_top))
        def->team_combine = RUNG_COMBINE_TOP;
    else
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "teams.combine",
                               "expected sum, mean or top:1 to top:%d", RUNG_TEAM_TOP_MAX);
    return RUNG_OK;
}

/* The limits that are scores: read and written alike. */
static const struct {
    unsigned field, bit;
    size_t offset; /* of a rung_value in the definition */
} score_limits[] = {{LIMIT_MIN, RUNG_LIMIT_MIN, offsetof(rung_board_def, min)},
                    {LIMIT_MAX, RUNG_LIMIT_MAX, offsetof(rung_board_def, max)},
                    {LIMIT_STEP, RUNG_LIMIT_STEP, offsetof(rung_board_def, max_step)}};

static rung_status read_score_limits(const rung_slot *slots, rung_board_def *def, rung_err *err) {
    for (size_t i = 0; i < RUNG_COUNT_OF(score_limits); i++) {
        const rung_slot *slot = &slots[score_limits[i].field];
        rung_value *value = (rung_value *)(void *)((char *)def + score_limits[i].offset);
        rung_err why;
        if (!slot->present)
            continue;
        def->limits |= score_limits[i].bit;
        rung_status st = rung_score_parse(&def->key.columns[0], slot->text, value, &why);
        if (st < 0)
            return RUNG_FAIL_FIELD(err, st, "limits.%s", "%s",
                                   limit_fields[score_limits[i].field].name, why.message);
    }
    return RUNG_OK;
}

static rung_status read_limits(rung_json *r, const rung_slot *slot, rung_board_def *def,
                               rung_err *err) {
    rung_slot slots[LIMIT_FIELDS];
    rung_status st =
        rung_schema_read_at(&rung_limit_schema, r, slot->text, "limits", slot->offset, slots, err);
    if (st >= 0)
        st = read_score_limits(slots, def, err);
    if (st < 0)
        return st;
    if (slots[LIMIT_RATE].present) {
        def->limits |= RUNG_LIMIT_RATE;
        def->per_player_per_minute = (uint32_t)slots[LIMIT_RATE].integer;
    }
    if (!slots[LIMIT_Z].present)
        return RUNG_OK;
    def->limits |= RUNG_LIMIT_Z;
    if (rung_text_parse_real(slots[LIMIT_Z].text, &def->z_score, NULL) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "limits.z_score", "the number is out of range");
    return RUNG_OK;
}

static rung_status read_rule_value(rung_json *r, rung_slice text, const rung_board_def *def,
                                   rung_board_rule *rule) {
    rung_err why;
    rung_measure measure = rung_rule_measure(rule->rule);
    rung_status st;
    if (measure == RUNG_MEASURE_SCORE)
        st = rung_score_parse(&def->key.columns[0], text, &rule->value, &why);
    else if (measure == RUNG_MEASURE_INTEGER)
        st = rung_text_parse_fixed(text, 0, &rule->value.i, &why);
    else
        st = rung_text_parse_real(text, &rule->value.d, &why);
    return st < 0 ? rung_json_refuse(r, st, why.message) : RUNG_OK;
}

static rung_status read_rule(rung_json *r, rung_board_def *def) {
    rung_slot slots[RULE_FIELDS];
    rung_status st = rung_schema_read(&rung_rule_schema, r, slots);
    if (st < 0)
        return st;
    if (def->rule_count == RUNG_BOARD_RULES_MAX)
        return rung_json_refuse(r, RUNG_ELIMIT, "too many rules; 16 are allowed");
    rung_board_rule *rule = &def->rules[def->rule_count++];
    int word = rung_word_find(rung_rule_words, slots[RULE_RULE].text);
    if (word < 0 || !rung_rule_is_definable((rung_rule)word))
        return rung_json_refuse(r, RUNG_EINVAL, "no rule has this name");
    bool has_value = rung_rule_measure((rung_rule)word) != RUNG_MEASURE_GIVEN;
    if (has_value && !slots[RULE_VALUE].present)
        return rung__json_refuse_missing(r, "value");
    if (!has_value && slots[RULE_VALUE].present)
        return rung_json_refuse(r, RUNG_EINVAL, "this rule has no value");
    *rule = (rung_board_rule){.rule = (rung_rule)word};
    if (slots[RULE_ACTION].present)
        rule->action = (rung_action)slots[RULE_ACTION].choice;
    if (slots[RULE_PER].present &&
        rung_text_parse_fixed(slots[RULE_PER].text, 3, &rule->per_ms, NULL) < 0)
        return rung_json_refuse(r, RUNG_EINVAL, "per: expected seconds with at most 3 decimals");
    return has_value ? read_rule_value(r, slots[RULE_VALUE].text, def, rule) : RUNG_OK;
}

static rung_status read_review_kind(const rung_slot *review, rung_board_def *def, rung_err *err) {
    if (!review->present || review->kind != RUNG_JSON_STRING)
        return RUNG_OK;
    bool is_top = read_top(review->text, RUNG_REVIEW_TOP_MAX, &def->review_top);
    if (!is_top && !rung_slice_eq(review->text, RUNG_SLICE("anomalies")))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "review",
                               "expected anomalies, or top:N with 1 to %d", RUNG_REVIEW_TOP_MAX);
    def->review = is_top ? RUNG_REVIEW_TOP : RUNG_REVIEW_ANOMALIES;
    return RUNG_OK;
}

static rung_status read_review(const rung_slot *slots, rung_board_def *def, rung_err *err) {
    rung_status st = read_review_kind(&slots[BOARD_REVIEW], def, err);
    if (st < 0)
        return st;
    if (slots[BOARD_REVIEW_OUTCOME].present)
        def->review_outcome = (rung_review_verdict)slots[BOARD_REVIEW_OUTCOME].choice;
    if (!slots[BOARD_REVIEW_EXPIRES].present)
        return RUNG_OK;
    st = read_seconds(&slots[BOARD_REVIEW_EXPIRES], "review_expires", &def->review_ms, err);
    if (def->review_ms == RUNG_REVIEW_DEFAULT_MS)
        def->review_ms = 0; /* the default is stored as absent */
    return st;
}

/* "90s", "1m", "2h", "1d" */
static const struct {
    char letter;
    int64_t ms;
} spans[] = {{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000}};

static rung_status read_span(rung_slice text, const char *field, int64_t *ms_out, rung_err *err) {
    int64_t number;
    for (size_t i = 0; i < RUNG_COUNT_OF(spans) && text.len >= 2 && text.len <= 8; i++)
        if (text.ptr[text.len - 1] == spans[i].letter && text.ptr[0] != '0' &&
            rung_text_parse_plain(rung_slice_of(text.ptr, text.len - 1), &number)) {
            *ms_out = number * spans[i].ms;
            return RUNG_OK;
        }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected a span such as 10s, 1m, 2h or 1d",
                           field);
}

static rung_status read_snapshots(rung_json *r, const rung_slot *slot, rung_board_def *def,
                                  rung_err *err) {
    rung_slot slots[SNAPSHOTS_FIELDS];
    rung_status st = rung_schema_read_at(&snapshots_schema, r, slot->text, "snapshots",
                                         slot->offset, slots, err);
    if (st < 0)
        return st;
    def->snapshot_top = slots[SNAPSHOTS_TOP].present ? (uint32_t)slots[SNAPSHOTS_TOP].integer
                                                     : RUNG_SNAPSHOT_TOP_DEFAULT;
    def->snapshot_keep = slots[SNAPSHOTS_KEEP].present ? (uint32_t)slots[SNAPSHOTS_KEEP].integer
                                                       : RUNG_SNAPSHOT_KEEP_DEFAULT;
    return read_span(slots[SNAPSHOTS_EVERY].text, "snapshots.every", &def->snapshot_every_ms, err);
}

static rung_status read_keep(rung_json *r, const rung_slot *slot, rung_board_def *def,
                             rung_err *err) {
    rung_slot slots[KEEP_FIELDS];
    if (slot->kind != RUNG_JSON_OBJECT) {
        def->keep = (uint32_t)slot->integer;
        return RUNG_OK;
    }
    rung_status st =
        rung_schema_read_at(&keep_schema, r, slot->text, "keep", slot->offset, slots, err);
    if (st < 0)
        return st;
    if (slots[KEEP_OTHER].present)
        def->keep = (uint32_t)slots[KEEP_OTHER].integer;
    for (uint32_t kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_SEASON; kind++) {
        if (!slots[kind].present)
            continue;
        def->keep_kinds |= RUNG_WINDOWS_BIT(kind);
        def->keep_of[kind] = (uint32_t)slots[kind].integer;
    }
    return RUNG_OK;
}

/* Fields that need no further checks. */
static void read_plain(const rung_slot *slots, rung_board_def *def) {
    if (slots[BOARD_TITLE].present)
        def->title = slots[BOARD_TITLE].text;
    if (slots[BOARD_TIE].present)
        def->key.tie = (rung_tie)slots[BOARD_TIE].choice;
    if (slots[BOARD_RANK].present)
        def->rank = (rung_rank_style)slots[BOARD_RANK].choice;
    if (slots[BOARD_TIMEZONE].present)
        def->zone_name = slots[BOARD_TIMEZONE].text;
    if (slots[BOARD_WRITERS].present)
        def->writers = (rung_writers)slots[BOARD_WRITERS].choice;
}

/* "1MiB", "64KiB", or bytes. */
static bool read_memory(const rung_slot *slot, uint32_t *bytes_out) {
    rung_slice text = slot->text;
    uint32_t shift = 0;
    int64_t number = slot->integer;
    if (slot->kind == RUNG_JSON_STRING) {
        bool has_unit =
            text.len > 3 && text.ptr[text.len - 2] == 'i' && text.ptr[text.len - 1] == 'B';
        if (has_unit) {
            char unit = text.ptr[text.len - 3];
            shift = unit == 'K' ? 10 : unit == 'M' ? 20 : 63;
            text.len -= 3;
        }
        if (shift == 63 || !rung_text_parse_plain(text, &number))
            return false;
    }
    if (number < 0 || number > RUNG_SKETCH_MEMORY_MAX >> shift)
        return false;
    *bytes_out = (uint32_t)number << shift;
    return true;
}

static rung_status read_sketch(const rung_slot *slots, rung_board_def *def, rung_err *err) {
    bool is_sketch = slots[BOARD_KIND].present && slots[BOARD_KIND].choice;
    for (unsigned i = BOARD_SKETCH; i <= BOARD_ERROR && !is_sketch; i++)
        if (slots[i].present)
            return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "%s",
                                   "only a board of the kind sketch has it", board_fields[i].name);
    if (!is_sketch)
        return RUNG_OK;
    int sketch = slots[BOARD_SKETCH].present
                     ? rung_word_find(rung_sketch_words, slots[BOARD_SKETCH].text)
                     : -1;
    if (sketch < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "sketch", "expected one of %s",
                               RUNG_ALTERNATIVES(RUNG_SKETCHES));
    def->sketch = (rung_sketch_kind)sketch;
    def->sketch_memory = RUNG_SKETCH_MEMORY_DEFAULT;
    if (sketch == RUNG_SKETCH_DISTINCT)
        def->sketch_memory = RUNG_SKETCH_MEMORY_MIN;
    if (slots[BOARD_MEMORY].present && !read_memory(&slots[BOARD_MEMORY], &def->sketch_memory))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "memory",
                               "expected bytes, or a number with KiB or MiB, up to 64MiB");
    if (slots[BOARD_TOP].present)
        def->sketch_top = (uint32_t)slots[BOARD_TOP].integer;
    if (slots[BOARD_ERROR].present &&
        (rung_text_parse_real(slots[BOARD_ERROR].text, &def->sketch_error, NULL) < 0 ||
         !(def->sketch_error > 0 && def->sketch_error < 1)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "error", "expected a number between 0 and 1");
    if (!slots[BOARD_UPDATE].present)
        def->update = sketch == RUNG_SKETCH_COUNTS     ? RUNG_UPDATE_SUM
                      : sketch == RUNG_SKETCH_DISTINCT ? RUNG_UPDATE_COUNT
                                                       : RUNG_UPDATE_BEST;
    return RUNG_OK;
}

static rung_status read_slots(rung_json *r, const rung_slot *slots, rung_board_def *def,
                              rung_err *err) {
    rung_status st = RUNG_OK;
    read_plain(slots, def);
    st = read_sketch(slots, def, err);
    if (st >= 0 && slots[BOARD_KEEP].present)
        st = read_keep(r, &slots[BOARD_KEEP], def, err);
    if (st >= 0 && slots[BOARD_SCORE].present)
        st = read_score(r, &slots[BOARD_SCORE], def, err);
    if (st >= 0 && slots[BOARD_COLUMNS].present)
        st = read_items(r, &slots[BOARD_COLUMNS], "columns", read_further_column, def, err);
    if (st >= 0 && slots[BOARD_UPDATE].present)
        st = read_update(&slots[BOARD_UPDATE], def, err);
    if (st >= 0 && slots[BOARD_HALF_LIFE].present)
        st = read_seconds(&slots[BOARD_HALF_LIFE], "half_life", &def->half_life_ms, err);
    if (st >= 0 && slots[BOARD_RATING].present)
        st = rung_update_is_rating(def->update)
                 ? rung_rating_json_read(r, &slots[BOARD_RATING], &def->rating, err)
                 : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating", "only a rating board has it");
    if (st >= 0 && slots[BOARD_WINDOWS].present)
        st = read_windows(r, &slots[BOARD_WINDOWS], def, err);
    if (st >= 0 && slots[BOARD_DAY_STARTS].present)
        st = read_day_starts(&slots[BOARD_DAY_STARTS], def, err);
    if (st >= 0 && slots[BOARD_GRACE].present)
        st = read_seconds(&slots[BOARD_GRACE], "grace", &def->grace_ms, err);
    if (st >= 0 && slots[BOARD_SCOPES].present)
        st = read_items(r, &slots[BOARD_SCOPES], "scopes", read_scope, def, err);
    if (st >= 0 && slots[BOARD_TEAMS].kind == RUNG_JSON_OBJECT && slots[BOARD_TEAMS].present)
        st = read_teams(r, &slots[BOARD_TEAMS], def, err);
    if (st >= 0 && slots[BOARD_LIMITS].present)
        st = read_limits(r, &slots[BOARD_LIMITS], def, err);
    if (st >= 0 && slots[BOARD_RULES].present)
        st = read_items(r, &slots[BOARD_RULES], "rules", read_rule, def, err);
    if (st >= 0 && slots[BOARD_SNAPSHOTS].present &&
        slots[BOARD_SNAPSHOTS].kind == RUNG_JSON_OBJECT)
        st = read_snapshots(r, &slots[BOARD_SNAPSHOTS], def, err);
    return st < 0 ? st : read_review(slots, def, err);
}

rung_status rung_board_json_read(char *body, size_t len, rung_slice id, rung_board_def *def_out,
                                 rung_err *err) {
    rung_json r;
    rung_slot slots[BOARD_FIELDS];
    rung_board_def def = rung_board_def_default();
    rung_json_init(&r, body, len, err);
    rung_status st = rung_schema_read(&rung_board_schema, &r, slots);
    if (st >= 0)
        st = rung_json_end(&r);
    if (st < 0)
        return st;
    if (slots[BOARD_ID].present && !rung_slice_eq(slots[BOARD_ID].text, id))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id", "expected the one in the path, or none");
    st = read_slots(&r, slots, &def, err);
    if (st < 0)
        return st;
    /* Store defaults as absent, so that sending back what was read changes nothing. */
    if (rung_slice_eq(def.title, id))
        def.title = (rung_slice){0};
    if (rung_slice_eq(def.zone_name, RUNG_SLICE("UTC")))
        def.zone_name = (rung_slice){0};
    *def_out = def;
    return RUNG_OK;
}

rung_status rung_board_json_read_judging(rung_json *r, const rung_slot *limits,
                                         const rung_slot *rules, const rung_slot *review,
                                         rung_board_def *def, rung_err *err) {
    rung_status st = RUNG_OK;
    if (limits->present) {
        def->limits = 0;
        st = read_limits(r, limits, def, err);
    }
    if (st >= 0 && rules->present) {
        def->rule_count = 0;
        st = read_items(r, rules, "rules", read_rule, def, err);
    }
    if (st < 0 || !review->present)
        return st;
    def->review = RUNG_REVIEW_NONE;
    def->review_top = 0;
    return read_review_kind(review, def, err);
}

/* ---- writing ---- */

void rung_score_json_write(rung_json_writer *w, const rung_column *column, rung_value value) {
    if (column->type == RUNG_SCORE_INTEGER)
        rung_json_write_int(w, value.i);
    else if (column->type == RUNG_SCORE_DECIMAL)
        rung_json_write_fixed(w, value.i, column->decimals);
    else
        rung_json_write_real(w, value.d);
}

static void write_column_members(rung_json_writer *w, const rung_column *column) {
    RUNG_JSON_MEMBER(w, "type", word, rung_score_type_words[column->type]);
    RUNG_JSON_MEMBER(w, "order", word, rung_score_order_words[column->order]);
    if (column->type == RUNG_SCORE_DECIMAL)
        RUNG_JSON_MEMBER(w, "decimals", uint, column->decimals);
}

static void write_columns(rung_json_writer *w, const rung_board_def *def) {
    RUNG_JSON_OPEN(w, "score", object);
    write_column_members(w, &def->key.columns[0]);
    rung_json_close_object(w);
    RUNG_JSON_OPEN(w, "columns", array);
    for (unsigned i = 1; i < def->key.column_count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "name", string, def->column_names[i - 1]);
        write_column_members(w, &def->key.columns[i]);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_windows(rung_json_writer *w, const rung_board_def *def) {
    RUNG_JSON_OPEN(w, "windows", array);
    for (unsigned kind = 0; rung_plain_window_words[kind]; kind++)
        if (def->windows & RUNG_WINDOWS_BIT(kind))
            rung_json_write_word(w, rung_plain_window_words[kind]);
    for (uint32_t i = 0; i < def->season_count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "name", string, def->seasons[i].name);
        RUNG_JSON_MEMBER(w, "starts", time, def->seasons[i].starts_ms);
        RUNG_JSON_MEMBER(w, "ends", time, def->seasons[i].ends_ms);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_keep(rung_json_writer *w, const rung_board_def *def) {
    RUNG_JSON_KEY(w, "keep");
    if (!def->keep_kinds) {
        rung_json_write_uint(w, def->keep);
        return;
    }
    rung_json_open_object(w);
    for (uint32_t kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_SEASON; kind++)
        if (def->keep_kinds >> kind & 1) {
            rung_json_write_key(w, rung_slice_str(rung_window_words[kind]));
            rung_json_write_uint(w, def->keep_of[kind]);
        }
    if (def->keep != RUNG_KEEP_DEFAULT)
        RUNG_JSON_MEMBER(w, "other", uint, def->keep);
    rung_json_close_object(w);
}

static void write_clock(rung_json_writer *w, const rung_board_def *def) {
    int m = def->day_starts_min;
    const char text[5] = {(char)('0' + m / 600), (char)('0' + m / 60 % 10), ':',
                          (char)('0' + m % 60 / 10), (char)('0' + m % 10)};
    RUNG_JSON_MEMBER(w, "timezone", string,
                     def->zone_name.len ? def->zone_name : RUNG_SLICE("UTC"));
    RUNG_JSON_MEMBER(w, "day_starts", string, rung_slice_of(text, sizeof text));
    RUNG_JSON_MEMBER(w, "grace", fixed, def->grace_ms, 3);
    write_keep(w, def);
}

static void write_teams(rung_json_writer *w, const rung_board_def *def) {
    char top[24] = "top:";
    RUNG_JSON_KEY(w, "teams");
    if (!def->has_teams) {
        rung_json_write_null(w);
        return;
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "by", string, def->team_by);
    RUNG_JSON_KEY(w, "combine");
    if (def->team_combine == RUNG_COMBINE_TOP)
        rung_json_write_string(w,
                               rung_slice_of(top, 4 + rung_digits_format(def->team_top, top + 4)));
    else
        rung_json_write_word(w, rung_combine_words[def->team_combine]);
    rung_json_close_object(w);
}

static void write_limits(rung_json_writer *w, const rung_board_def *def) {
    const rung_column *score = &def->key.columns[0];
    RUNG_JSON_OPEN(w, "limits", object);
    for (size_t i = 0; i < RUNG_COUNT_OF(score_limits); i++)
        if (def->limits & score_limits[i].bit) {
            const char *value = (const char *)def + score_limits[i].offset;
            rung_json_write_key(w, rung_slice_str(limit_fields[score_limits[i].field].name));
            rung_score_json_write(w, score, *(const rung_value *)(const void *)value);
        }
    if (def->limits & RUNG_LIMIT_RATE)
        RUNG_JSON_MEMBER(w, "per_player_per_minute", uint, def->per_player_per_minute);
    if (def->limits & RUNG_LIMIT_Z)
        RUNG_JSON_MEMBER(w, "z_score", real, def->z_score);
    rung_json_close_object(w);
}

void rung_measure_json_write(rung_json_writer *w, const rung_column *score, rung_measure measure,
                             rung_value value) {
    if (measure == RUNG_MEASURE_SCORE)
        rung_score_json_write(w, score, value);
    else if (measure == RUNG_MEASURE_INTEGER)
        rung_json_write_int(w, value.i);
    else if (measure == RUNG_MEASURE_GIVEN)
        rung_json_write_null(w);
    else
        rung_json_write_real(w, value.d);
}

static void write_review(rung_json_writer *w, const rung_board_def *def) {
    char top[24] = "top:";
    RUNG_JSON_KEY(w, "review");
    if (def->review == RUNG_REVIEW_NONE)
        rung_json_write_null(w);
    else if (def->review == RUNG_REVIEW_ANOMALIES)
        rung_json_write_word(w, "anomalies");
    else
        rung_json_write_string(
            w, rung_slice_of(top, 4 + rung_digits_format(def->review_top, top + 4)));
    RUNG_JSON_MEMBER(w, "review_expires", fixed,
                     def->review_ms ? def->review_ms : RUNG_REVIEW_DEFAULT_MS, 3);
    RUNG_JSON_MEMBER(w, "review_outcome", word, rung_outcome_words[def->review_outcome]);
}

static void write_snapshots(rung_json_writer *w, const rung_board_def *def) {
    char every[24];
    size_t i = 0;
    RUNG_JSON_KEY(w, "snapshots");
    if (!def->snapshot_every_ms) {
        rung_json_write_null(w);
        return;
    }
    while (i + 1 < RUNG_COUNT_OF(spans) && def->snapshot_every_ms % spans[i].ms)
        i++;
    size_t len = rung_digits_format((uint64_t)(def->snapshot_every_ms / spans[i].ms), every);
    every[len++] = spans[i].letter;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "every", string, rung_slice_of(every, len));
    RUNG_JSON_MEMBER(w, "top", uint, def->snapshot_top);
    RUNG_JSON_MEMBER(w, "keep", uint, def->snapshot_keep);
    rung_json_close_object(w);
}

static void write_rules(rung_json_writer *w, const rung_board_def *def) {
    RUNG_JSON_OPEN(w, "rules", array);
    for (uint32_t i = 0; i < def->rule_count; i++) {
        const rung_board_rule *r = &def->rules[i];
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "rule", word, rung_rule_words[r->rule]);
        if (rung_rule_measure(r->rule) != RUNG_MEASURE_GIVEN) {
            RUNG_JSON_KEY(w, "value");
            rung_measure_json_write(w, &def->key.columns[0], rung_rule_measure(r->rule), r->value);
        }
        if (rung_rule_has_per(r->rule))
            RUNG_JSON_MEMBER(w, "per", fixed, r->per_ms, 3);
        RUNG_JSON_MEMBER(w, "action", word, rung_action_words[r->action]);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_sketch(rung_json_writer *w, const rung_board_def *def) {
    char text[32];
    size_t shift = def->sketch_memory % (1u << 20) == 0   ? 20
                   : def->sketch_memory % (1u << 10) == 0 ? 10
                                                          : 0;
    RUNG_JSON_MEMBER(w, "kind", word, kind_words[def->sketch != RUNG_SKETCH_NONE]);
    if (!def->sketch)
        return;
    RUNG_JSON_MEMBER(w, "sketch", word, rung_sketch_words[def->sketch]);
    size_t len = rung_digits_format(def->sketch_memory >> shift, text);
    memcpy(text + len, shift == 20 ? "MiB" : "KiB", 3);
    RUNG_JSON_MEMBER(w, "memory", string, rung_slice_of(text, len + (shift ? 3 : 0)));
    if (def->sketch_top)
        RUNG_JSON_MEMBER(w, "top", uint, def->sketch_top);
    if (def->sketch_error > 0)
        RUNG_JSON_MEMBER(w, "error", real, def->sketch_error);
}

void rung_board_json_write(rung_json_writer *w, rung_slice id, const rung_board_def *def) {
    RUNG_JSON_MEMBER(w, "id", string, id);
    RUNG_JSON_MEMBER(w, "title", string, def->title.len ? def->title : id);
    write_columns(w, def);
    RUNG_JSON_MEMBER(w, "update", word, rung_update_words[def->update]);
    if (def->update == RUNG_UPDATE_DECAY)
        RUNG_JSON_MEMBER(w, "half_life", fixed, def->half_life_ms, 3);
    if (rung_update_is_rating(def->update)) {
        RUNG_JSON_KEY(w, "rating");
        rung_rating_json_write(w, &def->rating);
    }
    RUNG_JSON_MEMBER(w, "tie", word, rung_tie_words[def->key.tie]);
    RUNG_JSON_MEMBER(w, "rank", word, rung_rank_words[def->rank]);
    write_windows(w, def);
    write_clock(w, def);
    RUNG_JSON_OPEN(w, "scopes", array);
    for (uint32_t i = 0; i < def->scope_count; i++)
        rung_json_write_string(w, def->scopes[i]);
    rung_json_close_array(w);
    write_teams(w, def);
    write_limits(w, def);
    write_rules(w, def);
    write_review(w, def);
    write_snapshots(w, def);
    RUNG_JSON_MEMBER(w, "writers", word, rung_writers_words[def->writers]);
    write_sketch(w, def);
}

void rung_values_json_write(rung_json_writer *w, const rung_board_def *def,
                            const rung_value *values, uint32_t count) {
    RUNG_JSON_KEY(w, "score");
    rung_score_json_write(w, &def->key.columns[0], values[0]);
    if (count < 2)
        return;
    RUNG_JSON_OPEN(w, "columns", object);
    for (uint32_t i = 1; i < count && i < def->key.column_count; i++) {
        rung_json_write_key(w, def->column_names[i - 1]);
        rung_score_json_write(w, &def->key.columns[i], values[i]);
    }
    rung_json_close_object(w);
}
