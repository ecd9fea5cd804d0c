/* SPDX-License-Identifier: Apache-2.0 */
/* Tables only. In answers, `required` means: always there. `format` carries what the tables of codec/schema.h have no
 * place for, for openapi.c: "pattern:...", "enum|a|b", "readonly", "number" (a string holds a number), "later" (left
 * out of the document), or a format of OpenAPI's own. */
#include "front/api/schemas.h"

#include "codec/board_json.h"
#include "guard/keys.h"
#include "model/event.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define STRING  .types = RUNG_FIELD_STRING
#define INTEGER .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 0, .max = INT64_MAX
#define FLAG    .types = RUNG_FIELD_BOOL
#define TIME    .types = RUNG_FIELD_TIME
#define NUMBER  .types = RUNG_FIELD_NUMBER
/* An exact number; infinities of real boards are the strings "inf" and "-inf". */
#define SCORE .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING, .format = "number"

#define SCHEMA(ident, title, text, table)                                                          \
    const rung_schema ident = {                                                                    \
        .name = (title), .doc = (text), .fields = (table), .count = COUNT(table)}

static const rung_field any_score = {RUNG_NAMED("*"), SCORE, .doc = "A column by its name."};
static const rung_field any_text = {
    RUNG_NAMED("*"),   STRING,
    .len_min = 1,      .len_max = RUNG_ATTRIBUTE_VALUE_MAX,
    .format = "plain", .doc = "Any attribute: text without control characters."};
static const rung_schema columns_schema = {
    .name = "Columns",
    .doc = "The further columns of a score, by name.",
    .others = &any_score,
    .others_max = 2,
};

/* ---- bodies ---- */

static const rung_field score_fields[SCORE_FIELDS] = {
    [SCORE_PLAYER] = {RUNG_NAMED("player"), STRING, .required = true, .len_min = 1,
                      .len_max = RUNG_NAME_MAX, .format = "plain", .doc = "Who scored.",
                      .example = "\"ada\""},
    [SCORE_SCORE] = {RUNG_NAMED("score"), SCORE,
                     .doc = "The score, exact in the board's type; as a string where a sender's "
                            "numbers are not. Left "
                            "out on `count` boards, where it says nothing.",
                     .example = "4200"},
    [SCORE_DELTA] = {RUNG_NAMED("delta"), SCORE,
                     .doc = "Instead of `score`: what to add to the one that stands.",
                     .example = "50"},
    [SCORE_COLUMNS] = {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
                       .doc = "All further columns of the board, by name."},
    [SCORE_AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME | RUNG_FIELD_INTEGER,
                  .doc = "When it was scored: RFC 3339, or Unix milliseconds. Now, when left out.",
                  .example = "\"2026-11-15T14:00:00Z\""},
    [SCORE_ID] =
        {RUNG_NAMED("id"), STRING, .len_min = 1, .len_max = RUNG_EVENT_ID_MAX, .format = "plain",
         .doc =
             "A name for this submission: sent again it changes nothing and is answered as before.",
         .example = "\"0193259e-7c1d-7a53-8f0e-1f2d3c4b5a69\""},
    [SCORE_META] = {RUNG_NAMED("meta"), .types = RUNG_FIELD_ANY,
                    .doc = "Anything, up to 4096 bytes as JSON, of a string without its quotes; "
                           "kept in the log and the archive.",
                    .example = "{\"level\":3}"},
    [SCORE_BOARD] = {RUNG_NAMED("board"), STRING, .required = true, .len_min = 1,
                     .len_max = RUNG_NAME_MAX, .doc = "The board it is for.",
                     .example = "\"race\""},
};
const rung_schema rung_submission_schema = {.name = "Submission",
                                            .doc = "One score of one player.",
                                            .fields = score_fields,
                                            .count = SCORE_BOARD};
const rung_schema rung_batch_submission_schema = {.name = "BatchSubmission",
                                                  .doc = "One score of one player on one board.",
                                                  .fields = score_fields,
                                                  .count = SCORE_FIELDS};

#define ATTRIBUTE STRING, .len_min = 1, .len_max = RUNG_ATTRIBUTE_VALUE_MAX, .format = "plain"
static const rung_field profile_fields[PROFILE_FIELDS] = {
    [PROFILE_NAME] = {RUNG_NAMED("name"), ATTRIBUTE, .doc = "The name shown.",
                      .example = "\"Ada\""},
    [PROFILE_AVATAR] = {RUNG_NAMED("avatar"), ATTRIBUTE, .doc = "The address of a picture."},
    [PROFILE_COUNTRY] = {RUNG_NAMED("country"), ATTRIBUTE, .doc = "By custom ISO 3166-1 alpha-2.",
                         .example = "\"FI\""},
    [PROFILE_GUILD] = {RUNG_NAMED("guild"), ATTRIBUTE, .doc = "A team, by custom."},
};
const rung_schema rung_profile_schema = {
    .name = "Profile",
    .doc = "A player's attributes: any names (1 to 64 of `a-z A-Z 0-9 _ . -`), any text. A profile "
           "is always whole: what "
           "is left out is gone.",
    .fields = profile_fields,
    .count = PROFILE_FIELDS,
    .others = &any_text,
    .others_max = RUNG_ATTRIBUTES_MAX,
};

static const rung_field friend_list_fields[FRIENDS_FIELDS] = {
    [FRIENDS_FRIENDS] = {RUNG_NAMED("friends"), .types = RUNG_FIELD_ARRAY, .required = true,
                         .items = RUNG_FIELD_STRING, .items_max = RUNG_FRIENDS_MAX,
                         .item_len_max = RUNG_NAME_MAX, .doc = "The whole list.",
                         .example = "[\"bob\",\"cyd\"]"},
};
SCHEMA(rung_friend_list_schema, "FriendList", "Whom a player follows.", friend_list_fields);

static const rung_field ban_fields[BAN_FIELDS] = {
    [BAN_REASON] = {RUNG_NAMED("reason"), STRING, .len_max = RUNG_REASON_MAX,
                    .doc = "Kept in the log and the audit trail.", .example = "\"speed hack\""},
};
SCHEMA(rung_ban_schema, "Ban", "Why a player is banned.", ban_fields);

static const rung_field accept_clock_fields[CLOCK_FIELDS] = {
    [CLOCK_ACCEPT] = {RUNG_NAMED("accept"), FLAG, .required = true, .example = "true",
                      .doc =
                          "`true`: the wall clock is right, follow it from now on. Log time never "
                          "runs back, so this cannot be undone."},
};
SCHEMA(rung_accept_clock_schema, "ClockConfirmation", "An operator's word on the wall clock.",
       accept_clock_fields);

static const char *const key_roles[] = {"read", "server", "admin", NULL};
static const rung_field new_key_fields[KEY_FIELDS] = {
    [KEY_ROLE] = {RUNG_NAMED("role"), STRING, .required = true, .values = key_roles,
                  .doc = "`read` asks, `server` also submits and keeps players, `admin` also "
                         "defines, bans and makes keys.",
                  .example = "\"server\""},
    [KEY_BOARDS] = {RUNG_NAMED("boards"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
                    .items_max = RUNG_KEY_PATTERNS_MAX, .item_len_max = RUNG_NAME_MAX,
                    .doc = "Boards it is for: `*` stands for any characters, `?` for one. All of "
                           "them when left out or empty.",
                    .example = "[\"race-*\"]"},
    [KEY_LABEL] = {RUNG_NAMED("label"), STRING, .len_max = RUNG_KEY_LABEL_MAX, .format = "plain",
                   .doc = "What it is for.", .example = "\"game servers\""},
    [KEY_EXPIRES] = {RUNG_NAMED("expires"), TIME,
                     .doc = "When it ends by itself; never when left "
                            "out."},
    [KEY_RATE] = {RUNG_NAMED("rate"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
                  .max = UINT32_MAX,
                  .doc = "Requests a second; as the server's configuration says when left out."},
};
SCHEMA(rung_new_key_schema, "NewKey", "A key to be made.", new_key_fields);

/* ---- answers ---- */

static const rung_field problem_fields[] = {
    {RUNG_NAMED("type"), STRING, .required = true,
     .doc = "`about:blank`: `code` tells problems apart."},
    {RUNG_NAMED("title"), STRING, .required = true, .doc = "The status in words."},
    {RUNG_NAMED("status"), INTEGER, .required = true, .doc = "The HTTP status."},
    {RUNG_NAMED("code"), STRING, .required = true,
     .doc = "Stable, for programs: `board_not_found`, `refused`, ..."},
    {RUNG_NAMED("detail"), STRING, .required = true, .doc = "For people."},
    {RUNG_NAMED("field"), STRING, .doc = "The field or parameter that is wrong."},
    {RUNG_NAMED("rule"), STRING,
     .doc = "The board's rule that refused it: `max`, `banned`, `window`, ..."},
    {RUNG_NAMED("retry_after"), INTEGER,
     .doc = "Of one submission of a batch: seconds after which to send it again."},
};
SCHEMA(rung_problem_schema, "Problem", "Why a request failed (RFC 9457).", problem_fields);

#define SEQ                                                                                        \
    {                                                                                              \
        RUNG_NAMED("seq"), INTEGER, .required = true,                                              \
                                    .doc = "The log position the answer reflects; send it as "     \
                                           "`min_seq` to read your own writes."                    \
    }

static const rung_field board_list_fields[] = {
    {RUNG_NAMED("boards"), .types = RUNG_FIELD_ARRAY, .required = true, .items = RUNG_FIELD_OBJECT,
     .nested = &rung_board_schema, .doc = "Definitions."},
    {RUNG_NAMED("next"), .types = RUNG_FIELD_INTEGER | RUNG_FIELD_NULL, .required = true,
     .doc = "The `cursor` of the next page; null at the end."},
    SEQ,
};
SCHEMA(rung_board_list_schema, "BoardList", "Boards, a page at a time.", board_list_fields);

#define RANK_BEFORE                                                                                \
    {                                                                                              \
        RUNG_NAMED("rank_before"), .types = RUNG_FIELD_INTEGER | RUNG_FIELD_NULL,                  \
                                   .required = true, .doc = "Null for a player who had no entry."  \
    }

static const rung_field window_outcome_fields[] = {
    {RUNG_NAMED("id"), STRING, .required = true, .doc = "`2026-W46`, `all`, ..."},
    {RUNG_NAMED("changed"), FLAG, .required = true, .doc = "Did the entry change?"},
    RANK_BEFORE,
    {RUNG_NAMED("rank"), INTEGER, .required = true, .doc = "In the board's rank style."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries in the window."},
};
static const rung_schema window_outcome_schema = {.name = "WindowOutcome",
                                                  .doc = "A submission's effect in one window.",
                                                  .fields = window_outcome_fields,
                                                  .count = COUNT(window_outcome_fields)};
static const rung_field any_window_outcome = {RUNG_NAMED("*"), .types = RUNG_FIELD_OBJECT,
                                              .nested = &window_outcome_schema,
                                              .doc = "By kind of window, seasons by name."};
static const rung_schema window_outcomes_schema = {
    .name = "WindowOutcomes",
    .doc = "The windows the submission reached; the first 16.",
    .others = &any_window_outcome,
    .others_max = 16};

static const rung_field next_fields[] = {
    {RUNG_NAMED("player"), .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL, .required = true,
     .doc = "Who stands just above; null if erased since the first answer."},
    {RUNG_NAMED("gap"), SCORE, .required = true,
     .doc = "How far it is: the difference of the scores; of whole numbers and decimals at most "
            "2^63 - 1 units."},
};
static const rung_schema next_schema = {.name = "Next",
                                        .doc = "The player just above.",
                                        .fields = next_fields,
                                        .count = COUNT(next_fields)};

static const rung_field outcome_fields[] = {
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "Who scored."},
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "The score that stands now."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns, where the board has some."},
    {RUNG_NAMED("changed"), FLAG, .required = true, .doc = "Did any ranking change?"},
    {RUNG_NAMED("duplicate"), FLAG, .required = true,
     .doc = "The id was seen before: this is the first answer."},
    RANK_BEFORE,
    {RUNG_NAMED("rank"), INTEGER, .required = true,
     .doc = "In the board's rank style, in the first window reached."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries there."},
    {RUNG_NAMED("percentile"), NUMBER, .required = true,
     .doc = "Percent of entries at or below the score."},
    {RUNG_NAMED("passed"), INTEGER, .required = true, .doc = "Places gained."},
    {RUNG_NAMED("next"), .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL, .nested = &next_schema,
     .required = true, .doc = "Null at the top."},
    {RUNG_NAMED("windows"), .types = RUNG_FIELD_OBJECT, .nested = &window_outcomes_schema,
     .required = true, .doc = "Each window reached; empty for a duplicate."},
    SEQ,
};
SCHEMA(rung_outcome_schema, "Outcome", "What became of a submission.", outcome_fields);

/* What the status in words and a type would add to every line is not worth their bytes. */
static const rung_schema line_problem_schema = {.name = "LineProblem",
                                                .doc = "Why one submission of a batch failed.",
                                                .fields = problem_fields + 2,
                                                .count = COUNT(problem_fields) - 2};

static const rung_field batch_result_fields[] = {
    {RUNG_NAMED("line"), INTEGER, .required = true, .doc = "Which submission, from 1."},
    {RUNG_NAMED("changed"), FLAG, .doc = "Did any ranking change?"},
    {RUNG_NAMED("duplicate"), FLAG, .doc = "Only when true: the id was seen before."},
    {RUNG_NAMED("score"), SCORE, .doc = "The score that stands now."},
    {RUNG_NAMED("rank"), INTEGER, .doc = "In the first window reached."},
    {RUNG_NAMED("total"), INTEGER, .doc = "Entries there."},
    {RUNG_NAMED("seq"), INTEGER, .doc = "The log position."},
    {RUNG_NAMED("error"), .types = RUNG_FIELD_OBJECT, .nested = &line_problem_schema,
     .doc = "Instead of all others but `line`: why it was refused."},
};
SCHEMA(rung_batch_result_schema, "BatchResult", "What became of one submission of a batch.",
       batch_result_fields);

static const rung_field window_fields[] = {
    {RUNG_NAMED("kind"), STRING, .required = true, .values = rung_window_words, .doc = "Its kind."},
    {RUNG_NAMED("id"), STRING, .required = true, .doc = "`2026-W46`, a season's name, `all`."},
    {RUNG_NAMED("starts"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,
     .doc = "Null for `all`."},
    {RUNG_NAMED("ends"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,
     .doc = "Null for `all`."},
    {RUNG_NAMED("closed"), FLAG, .required = true, .doc = "A closed window takes no more scores."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries."},
    {RUNG_NAMED("source"), STRING, .required = true, .format = "enum|memory|archive",
     .doc = "Where it is answered from."},
};
static const rung_schema window_info_schema = {.name = "WindowInfo",
                                               .doc = "One window of a board.",
                                               .fields = window_fields,
                                               .count = COUNT(window_fields)};

static const rung_schema attributes_schema = {
    .name = "Attributes", .doc = "Attributes by name.", .others = &any_text, .others_max = 9};

static const rung_field row_fields[] = {
    {RUNG_NAMED("rank"), INTEGER, .required = true,
     .doc = "From 1, in the answer's rank style; among friends: theirs."},
    {RUNG_NAMED("global_rank"), INTEGER, .doc = "In lists of friends: the rank among all."},
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "The id."},
    {RUNG_NAMED("name"), .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL, .required = true,
     .doc = "From the profile; null where it has none."},
    {RUNG_NAMED("avatar"), STRING, .doc = "From the profile."},
    {RUNG_NAMED("country"), STRING, .doc = "From the profile."},
    {RUNG_NAMED("attributes"), .types = RUNG_FIELD_OBJECT, .nested = &attributes_schema,
     .doc = "Other attributes by which the board ranks (`scopes`, `teams`)."},
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "The score."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns, where the board has some."},
    {RUNG_NAMED("at"), TIME, .doc = "The time that decides ties; not where ties go by player."},
    {RUNG_NAMED("percentile"), NUMBER, .required = true,
     .doc = "Percent of entries at or below the score."},
};
static const rung_schema row_schema = {.name = "Entry",
                                       .doc = "One entry of a ranking.",
                                       .fields = row_fields,
                                       .count = COUNT(row_fields)};

static const rung_field team_row_fields[] = {
    {RUNG_NAMED("rank"), INTEGER, .required = true, .doc = "From 1, in the answer's rank style."},
    {RUNG_NAMED("team"), STRING, .required = true, .doc = "The value of the attribute."},
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "Sum, mean or sum of the best."},
    {RUNG_NAMED("members"), INTEGER, .required = true, .doc = "Ranked players."},
    {RUNG_NAMED("percentile"), NUMBER, .required = true,
     .doc = "Percent of teams at or below the score."},
};
static const rung_schema team_row_schema = {.name = "TeamEntry",
                                            .doc = "One team.",
                                            .fields = team_row_fields,
                                            .count = COUNT(team_row_fields)};

/* What every ranked answer begins with. */
#define HEAD                                                                                       \
    {RUNG_NAMED("board"), STRING, .required = true, .doc = "The board's id."},                     \
        {RUNG_NAMED("window"), STRING, .required = true,                                           \
         .doc = "As `window=` names it: `all`, a kind, or a season's name."},                      \
        {RUNG_NAMED("window_id"), STRING, .required = true,                                        \
         .doc = "Which one of its kind: `2026-W46`, `2026-11-15`, ..."},                           \
        {RUNG_NAMED("starts"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,       \
         .doc = "Null for all of time."},                                                          \
        {RUNG_NAMED("ends"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,         \
         .doc = "Null for all of time."},                                                          \
        {RUNG_NAMED("closed"), FLAG, .required = true, .doc = "Nothing is added any more."},       \
        {RUNG_NAMED("scope"), .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL, .required = true,      \
         .doc = "`country:FI`; null: everybody."},                                                 \
        {RUNG_NAMED("rank_style"), STRING, .required = true, .values = rung_rank_words,            \
         .doc = "How places are counted."},                                                        \
        {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries of the ranking."}, SEQ

#define ROWS(field, text)                                                                          \
    {                                                                                              \
        RUNG_NAMED(field), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,                  \
                           .nested = &row_schema, .required = true, .doc = (text)                  \
    }
#define ONE_ROW(text)                                                                              \
    {                                                                                              \
        RUNG_NAMED("entry"), .types = RUNG_FIELD_OBJECT, .nested = &row_schema, .required = true,  \
                             .doc = (text)                                                         \
    }
#define TEAM_ROWS(field, text)                                                                     \
    {                                                                                              \
        RUNG_NAMED(field), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,                  \
                           .nested = &team_row_schema, .required = true, .doc = (text)             \
    }

static const rung_field top_fields[] = {HEAD, ROWS("entries", "Best first.")};
SCHEMA(rung_top_schema, "Top", "A page of a ranking.", top_fields);

static const rung_field around_fields[] = {HEAD, ONE_ROW("The player."),
                                           ROWS("above", "Those above, best first."),
                                           ROWS("below", "Those below, best first.")};
SCHEMA(rung_around_schema, "Around", "A player among neighbours.", around_fields);

static const rung_field players_fields[] = {HEAD,
                                            ROWS("entries", "In the order asked for."),
                                            {RUNG_NAMED("missing"), .types = RUNG_FIELD_ARRAY,
                                             .items = RUNG_FIELD_STRING, .required = true,
                                             .doc = "Ids that are not ranked here."}};
SCHEMA(rung_players_schema, "Players", "Several players at once.", players_fields);

static const rung_field friend_ranking_fields[] = {
    HEAD,
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "Whose friends."},
    {RUNG_NAMED("count"), INTEGER, .required = true,
     .doc = "Friends that are ranked, the player included."},
    ROWS("entries", "Best first; `rank` counts among them, `global_rank` among all.")};
SCHEMA(rung_friend_ranking_schema, "FriendRanking",
       "A player and the friends, ranked among themselves.", friend_ranking_fields);

static const rung_field at_score_fields[] = {
    HEAD,
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "The score asked about."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns."},
    {RUNG_NAMED("rank"), INTEGER, .required = true,
     .doc = "The rank a new player would have with it, now."},
    ROWS("above", "Those who would stand above, best first."),
    ROWS("below", "Those who would stand below, best first.")};
SCHEMA(rung_at_score_schema, "AtScore", "Where a score would stand.", at_score_fields);

static const rung_field target_fields[] = {
    HEAD,
    {RUNG_NAMED("rank"), INTEGER, .doc = "As asked for."},
    {RUNG_NAMED("top_percent"), NUMBER, .doc = "As asked for."},
    {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING | RUNG_FIELD_NULL,
     .required = true, .format = "number",
     .doc = "The score of who holds that place; null: nobody does, any score is enough."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns."},
    {RUNG_NAMED("entry"), .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL, .nested = &row_schema,
     .required = true, .doc = "Who holds it."}};
SCHEMA(rung_target_schema, "Target", "The score it takes.", target_fields);

static const rung_field count_fields[] = {
    HEAD,
    {RUNG_NAMED("count"), INTEGER, .required = true, .doc = "Entries with a score in the range."}};
SCHEMA(rung_count_schema, "Count", "How many have a score in a range.", count_fields);

static const rung_field bucket_fields[] = {
    {RUNG_NAMED("low"), SCORE, .required = true, .doc = "The smallest score."},
    {RUNG_NAMED("high"), SCORE, .required = true,
     .doc = "By width: the first score no longer in it, but for the last bucket; by count: the "
            "largest score."},
    {RUNG_NAMED("count"), INTEGER, .required = true, .doc = "Entries."},
};
static const rung_schema bucket_schema = {.name = "Bucket",
                                          .doc = "A part of a distribution.",
                                          .fields = bucket_fields,
                                          .count = COUNT(bucket_fields)};
static const rung_field quantile_fields[] = {
    {RUNG_NAMED("top_percent"), NUMBER, .required = true, .doc = "The best so many percent ..."},
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "... have this score or a better one."},
};
static const rung_schema quantile_schema = {.name = "Quantile",
                                            .doc = "A quantile, nearest rank.",
                                            .fields = quantile_fields,
                                            .count = COUNT(quantile_fields)};
static const rung_field distribution_fields[] = {
    HEAD,
    {RUNG_NAMED("by"), STRING, .required = true, .format = "enum|width|count",
     .doc = "As asked for."},
    {RUNG_NAMED("buckets"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &bucket_schema, .required = true,
     .doc = "By width: ascending by score; by count: best first."},
    {RUNG_NAMED("quantiles"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &quantile_schema, .required = true,
     .doc = "Best first; empty for an empty ranking."}};
SCHEMA(rung_distribution_schema, "Distribution", "How scores are spread.", distribution_fields);

static const rung_field scope_size_fields[] = {
    {RUNG_NAMED("value"), STRING, .required = true,
     .doc = "The value; with the attribute it makes a `scope`: `country:FI`."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries under it."},
};
static const rung_schema scope_size_schema = {.name = "ScopeValue",
                                              .doc = "A value of a scope.",
                                              .fields = scope_size_fields,
                                              .count = COUNT(scope_size_fields)};
static const rung_field scope_list_fields[] = {
    HEAD,
    {RUNG_NAMED("attribute"), STRING, .required = true, .doc = "As asked for."},
    {RUNG_NAMED("value_count"), INTEGER, .required = true,
     .doc = "Values that have an entry, of the 65,536 known longest."},
    {RUNG_NAMED("values"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &scope_size_schema, .required = true, .doc = "The largest first."},
};
SCHEMA(rung_scope_list_schema, "ScopeValues", "The values of a scope.", scope_list_fields);

static const rung_field team_list_fields[] = {HEAD, TEAM_ROWS("entries", "Best first.")};
SCHEMA(rung_team_list_schema, "TeamList", "A page of the team ranking.", team_list_fields);
static const rung_field team_fields[] = {HEAD,
                                         {RUNG_NAMED("entry"), .types = RUNG_FIELD_OBJECT,
                                          .nested = &team_row_schema, .required = true,
                                          .doc = "The team."},
                                         TEAM_ROWS("above", "Those above, best first."),
                                         TEAM_ROWS("below", "Those below, best first.")};
SCHEMA(rung_team_schema, "Team", "A team among neighbours.", team_fields);

static const rung_field window_list_fields[] = {
    {RUNG_NAMED("board"), STRING, .required = true, .doc = "The board's id."},
    {RUNG_NAMED("windows"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &window_info_schema, .required = true, .doc = "The last to end first."},
    {RUNG_NAMED("next"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,
     .doc = "The `before` of the next page; null at the end."},
    SEQ,
};
SCHEMA(rung_window_list_schema, "WindowList", "Open and closed windows.", window_list_fields);

static const rung_field change_fields[] = {
    {RUNG_NAMED("changed"), FLAG, .required = true, .doc = "Was there anything to change?"},
    SEQ,
};
SCHEMA(rung_change_schema, "Change", "A change is made.", change_fields);

static const rung_field player_fields[] = {
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "The id."},
    {RUNG_NAMED("profile"), .types = RUNG_FIELD_OBJECT, .nested = &rung_profile_schema,
     .required = true, .doc = "All attributes."},
    {RUNG_NAMED("banned"), FLAG, .required = true, .doc = "Hidden everywhere?"},
    {RUNG_NAMED("friends"), INTEGER, .required = true, .doc = "How many the player follows."},
    SEQ,
};
SCHEMA(rung_player_schema, "Player", "A player.", player_fields);

static const rung_field friends_fields[] = {
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "Whose friends."},
    {RUNG_NAMED("friends"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING, .required = true,
     .doc = "A page of ids."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "All of them."},
    SEQ,
};
SCHEMA(rung_friends_schema, "Friends", "Whom a player follows.", friends_fields);

static const rung_field point_window_fields[] = {
    {RUNG_NAMED("kind"), STRING, .required = true, .values = rung_window_words, .doc = "Its kind."},
    {RUNG_NAMED("id"), STRING, .required = true, .doc = "Its id."},
};
static const rung_schema point_window_schema = {.name = "WindowName",
                                                .doc = "A window by kind and id.",
                                                .fields = point_window_fields,
                                                .count = COUNT(point_window_fields)};
static const rung_field point_fields[] = {
    {RUNG_NAMED("at"), TIME, .required = true, .doc = "When."},
    {RUNG_NAMED("taken"), STRING, .required = true, .format = "enum|window_end|daily",
     .doc = "On what occasion."},
    {RUNG_NAMED("window"), .types = RUNG_FIELD_OBJECT, .nested = &point_window_schema,
     .required = true, .doc = "In which window."},
    {RUNG_NAMED("rank"), INTEGER, .required = true, .doc = "The rank at the time."},
    {RUNG_NAMED("total"), INTEGER, .required = true, .doc = "Entries at the time."},
    {RUNG_NAMED("score"), SCORE, .required = true, .doc = "The score at the time."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns."},
};
static const rung_schema point_schema = {.name = "HistoryPoint",
                                         .doc = "Where a player stood.",
                                         .fields = point_fields,
                                         .count = COUNT(point_fields)};
static const rung_field history_fields[] = {
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "The id."},
    {RUNG_NAMED("board"), STRING, .required = true, .doc = "The board's id."},
    {RUNG_NAMED("rank_style"), STRING, .required = true, .values = rung_rank_words,
     .doc = "How places are counted."},
    {RUNG_NAMED("points"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &point_schema, .required = true, .doc = "Oldest first."},
    {RUNG_NAMED("archived_seq"), INTEGER, .required = true, .doc = "How far the archive had come."},
    SEQ,
};
SCHEMA(rung_history_schema, "History", "Rank and score over time.", history_fields);

static const rung_field sent_fields[] = {
    {RUNG_NAMED("seq"), INTEGER, .required = true, .doc = "Its position in the log."},
    {RUNG_NAMED("at"), TIME, .required = true,
     .doc = "When it was scored, as sent; when it came, if that was left out."},
    {RUNG_NAMED("board"), STRING, .required = true, .doc = "The board it was for."},
    {RUNG_NAMED("score"), SCORE, .doc = "The score that was sent, unless it was a delta or none."},
    {RUNG_NAMED("delta"), SCORE, .doc = "Or what was to be added."},
    {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
     .doc = "Its further columns, as long as there is the board, which names them."},
    {RUNG_NAMED("id"), STRING, .doc = "The name it was given."},
    {RUNG_NAMED("meta"), .types = RUNG_FIELD_ANY,
     .doc = "What came with it: an object or array as it was sent, all else as text."},
    {RUNG_NAMED("outcome"), STRING, .required = true,
     .format = "enum|accepted|unchanged|duplicate|refused|unknown",
     .doc = "What became of it; `unknown`: the archive was not told."},
    {RUNG_NAMED("reason"), STRING, .doc = "The `code` with which it was refused."},
};
static const rung_schema sent_schema = {.name = "SentSubmission",
                                        .doc = "A submission and its outcome.",
                                        .fields = sent_fields,
                                        .count = COUNT(sent_fields)};
static const rung_field sent_list_fields[] = {
    {RUNG_NAMED("player"), STRING, .required = true, .doc = "The id."},
    {RUNG_NAMED("submissions"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &sent_schema, .required = true, .doc = "Newest first, by `at`."},
    {RUNG_NAMED("next"), .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL, .required = true,
     .doc = "The `before` of the next page; null at the end."},
    {RUNG_NAMED("archived_seq"), INTEGER, .required = true, .doc = "How far the archive had come."},
    SEQ,
};
SCHEMA(rung_sent_list_schema, "SentSubmissions", "What a player sent.", sent_list_fields);

#define KEY_INFO                                                                                   \
    {RUNG_NAMED("id"), STRING, .required = true,                                                   \
     .doc = "Names the key; no secret. Of the role `player-token`: the `kid` of its tokens."},     \
        {RUNG_NAMED("role"), STRING, .required = true,                                             \
         .format = "enum|read|server|admin|player-token", .doc = "What it may do."},               \
        {RUNG_NAMED("state"), STRING, .required = true, .format = "enum|live|revoked|expired",     \
         .doc = "Whether it still opens anything."},                                               \
        {RUNG_NAMED("boards"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,              \
         .required = true, .doc = "Patterns of the boards it is for; empty: all."},                \
        {RUNG_NAMED("label"), STRING, .required = true, .doc = "What it is for."},                 \
        {RUNG_NAMED("created"), TIME, .required = true, .doc = "When it was made."},               \
        {RUNG_NAMED("expires"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,      \
         .doc = "When it ends by itself; null: never."},                                           \
        {RUNG_NAMED("revoked"), .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL, .required = true,      \
         .doc = "When it was revoked; null: it was not."},                                         \
    {                                                                                              \
        RUNG_NAMED("rate"),                                                                        \
            .types = RUNG_FIELD_INTEGER | RUNG_FIELD_NULL, .required = true,                       \
            .doc = "Requests a second of its own; null: as the configuration says."                \
    }

static const rung_field key_fields[] = {KEY_INFO};
SCHEMA(rung_key_schema, "Key", "A key without its secret.", key_fields);
static const rung_field key_made_fields[] = {
    KEY_INFO,
    {RUNG_NAMED("key"), STRING, .required = true,
     .doc = "The key itself, shown this once: what is kept is its SHA-256."}};
SCHEMA(rung_key_made_schema, "KeyMade", "A new key.", key_made_fields);
static const rung_field key_list_fields[] = {
    {RUNG_NAMED("keys"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
     .nested = &rung_key_schema, .required = true,
     .doc = "In the order they were made, revoked and expired ones too."},
    {RUNG_NAMED("can_change"), FLAG, .required = true,
     .doc = "Whether keys can be made and revoked here: false on a server without a data folder."},
};
SCHEMA(rung_key_list_schema, "KeyList", "The keys there are.", key_list_fields);

static const rung_field health_fields[] = {
    {RUNG_NAMED("status"), STRING, .required = true, .doc = "`ok`."},
};
SCHEMA(rung_health_schema, "Health", "The process is alive.", health_fields);
static const rung_field ready_fields[] = {
    {RUNG_NAMED("status"), STRING, .required = true, .format = "enum|ready|read_only",
     .doc = "`read_only`: the disk is full; reads go on."},
    SEQ,
    {RUNG_NAMED("warnings"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
     .doc = "What an operator should look at, though everything is answered: `clock_held` (the "
            "wall clock jumped ahead and is not followed), `log_time_ahead` (it is behind what has "
            "been logged). Absent when there is nothing."},
};
static const rung_field clock_fields[] = {
    {RUNG_NAMED("wall"), TIME, .required = true, .doc = "The system's clock."},
    {RUNG_NAMED("log_time"), TIME, .required = true,
     .doc = "What a change counts as that is taken in now."},
    {RUNG_NAMED("offset_ms"), .types = RUNG_FIELD_INTEGER, .required = true,
     .doc = "`wall` minus `log_time`, in milliseconds."},
    {RUNG_NAMED("held"), FLAG, .required = true,
     .doc = "The wall clock has jumped ahead by more than `max_jump_ms` and is not followed."},
    {RUNG_NAMED("log_time_ahead"), FLAG, .required = true,
     .doc = "The wall clock is behind `log_time` by more than `max_jump_ms`: log time stands "
            "still."},
    {RUNG_NAMED("max_jump_ms"), .types = RUNG_FIELD_INTEGER, .required = true,
     .doc = "The setting `clock.max_jump`, in milliseconds."},
};
SCHEMA(rung_clock_schema, "Clock", "What the time is, and whether the wall clock is followed.",
       clock_fields);
SCHEMA(rung_ready_schema, "Ready", "The server answers.", ready_fields);
