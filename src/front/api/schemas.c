/* SPDX-License-Identifier: Apache-2.0 */
/* Tables only. In answers, `required` means: always present. `format` tells openapi.c what codec/schema.h has no field
 * for: "pattern:...", "enum|a|b", "readonly", "number" (a string that holds a number), "later" (not documented), or a
 * format of OpenAPI. */
#include "front/api/schemas.h"

#include "codec/board_json.h"
#include "guard/keys.h"
#include "model/event.h"
#include "service/matches.h"
#include "service/replay_fold.h"
#include "service/sessions.h"
#include "service/trial.h"

#define STRING            .types = RUNG_FIELD_STRING
#define INTEGER           .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 0, .max = INT64_MAX
#define FLAG              .types = RUNG_FIELD_BOOL
#define TIME              .types = RUNG_FIELD_TIME
#define NUMBER            .types = RUNG_FIELD_NUMBER
#define STRINGS           .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING
#define NUMBERS           .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_INTEGER
#define ARRAY(s)          .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT, .nested = &(s)
#define OBJECT(s)         .types = RUNG_FIELD_OBJECT, .nested = &(s)
#define OBJECT_OR_NULL(s) .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL, .nested = &(s)
#define STRING_OR_NULL    .types = RUNG_FIELD_STRING | RUNG_FIELD_NULL
#define INTEGER_OR_NULL   .types = RUNG_FIELD_INTEGER | RUNG_FIELD_NULL
#define TIME_OR_NULL      .types = RUNG_FIELD_TIME | RUNG_FIELD_NULL
#define WORDS(list)       STRING, .values = (list)
#define ENUM(list)        STRING, .format = "enum|" list
/* An exact number; infinities of real boards are the strings "inf" and "-inf". */
#define SCORE .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING, .format = "number"
#define SCORE_OR_NULL                                                                              \
    .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING | RUNG_FIELD_NULL, .format = "number"

#define SCHEMA(ident, title, text, ...)                                                            \
    const rung_schema ident = {.name = (title),                                                    \
                               .doc = (text),                                                      \
                               .fields = (const rung_field[]){__VA_ARGS__},                        \
                               .count =                                                            \
                                   sizeof((const rung_field[]){__VA_ARGS__}) / sizeof(rung_field)}

#define FIELD(word, kind, text)                                                                    \
    { RUNG_NAMED(word), kind, .doc = (text) }
#define ALWAYS(word, kind, text)                                                                   \
    { RUNG_NAMED(word), kind, .required = true, .doc = (text) }

static const rung_field any_score = FIELD("*", SCORE, "A column by its name.");
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

static const rung_field attested_fields[ATTESTED_FIELDS] = {
    [ATTESTED_DURATION] = {RUNG_NAMED("duration_ms"), .types = RUNG_FIELD_INTEGER,
                           .has_range = true, .min = 0, .max = RUNG_ATTESTED_DURATION_MAX,
                           .doc = "How long it was played, in milliseconds.", .example = "93500"},
    [ATTESTED_SEED] = {RUNG_NAMED("seed"), STRING, .len_min = 1, .len_max = RUNG_ATTESTED_SEED_MAX,
                       .format = "plain", .doc = "The seed of the game's random numbers.",
                       .example = "\"8f14e45f\""},
    [ATTESTED_REPLAY] = {RUNG_NAMED("replay"), STRING, .len_min = 1,
                         .len_max = RUNG_ATTESTED_REPLAY_MAX, .format = "plain",
                         .doc = "A checksum of the recorded game.",
                         .example = "\"sha256:2c26b46b\""},
};
const rung_schema rung_attested_schema = {
    .name = "Attested",
    .doc = "What the client says about how the score was made. Rung does not verify it; rules can "
           "require and compare it.",
    .fields = attested_fields,
    .count = ATTESTED_FIELDS,
};

static const rung_field score_fields[SCORE_FIELDS] = {
    [SCORE_PLAYER] = {RUNG_NAMED("player"), STRING, .required = true, .len_min = 1,
                      .len_max = RUNG_NAME_MAX, .format = "plain", .doc = "Who scored.",
                      .example = "\"ada\""},
    [SCORE_SCORE] = {RUNG_NAMED("score"), SCORE,
                     .doc = "The score, exact in the board's type; send a string if the client's "
                            "numbers are not exact. Omitted on `count` boards.",
                     .example = "4200"},
    [SCORE_DELTA] = {RUNG_NAMED("delta"), SCORE,
                     .doc = "Instead of `score`: what to add to the current score.",
                     .example = "50"},
    [SCORE_COLUMNS] = {RUNG_NAMED("columns"), .types = RUNG_FIELD_OBJECT, .nested = &columns_schema,
                       .doc = "All further columns of the board, by name."},
    [SCORE_AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME | RUNG_FIELD_INTEGER,
                  .doc = "When it was scored: RFC 3339, or Unix milliseconds. Default: now.",
                  .example = "\"2026-11-15T14:00:00Z\""},
    [SCORE_ID] =
        {RUNG_NAMED("id"), STRING, .len_min = 1, .len_max = RUNG_EVENT_ID_MAX, .format = "plain",
         .doc =
             "Identifies this submission: a repetition changes nothing and gets the first answer.",
         .example = "\"0193259e-7c1d-7a53-8f0e-1f2d3c4b5a69\""},
    [SCORE_META] = {RUNG_NAMED("meta"), .types = RUNG_FIELD_ANY,
                    .doc = "Any JSON of up to 4096 bytes (a string: without its quotes); stored in "
                           "the log and the archive.",
                    .example = "{\"level\":3}"},
    [SCORE_ATTESTED] = {RUNG_NAMED("attested"), .types = RUNG_FIELD_OBJECT,
                        .nested = &rung_attested_schema,
                        .doc = "How the score was made; stored in the log."},
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
    [PROFILE_COUNTRY] = {RUNG_NAMED("country"), ATTRIBUTE,
                         .doc = "By convention ISO 3166-1 alpha-2.", .example = "\"FI\""},
    [PROFILE_GUILD] = {RUNG_NAMED("guild"), ATTRIBUTE, .doc = "By convention a team."},
};
const rung_schema rung_profile_schema = {
    .name = "Profile",
    .doc = "A player's attributes: any names (1 to 64 of `a-z A-Z 0-9 _ . -`), any text. Replaces "
           "the whole profile: omitted attributes are removed.",
    .fields = profile_fields,
    .count = PROFILE_FIELDS,
    .others = &any_text,
    .others_max = RUNG_ATTRIBUTES_MAX,
};

SCHEMA(rung_friend_list_schema, "FriendList", "Whom a player follows.",
       [FRIENDS_FRIENDS] = {RUNG_NAMED("friends"), .types = RUNG_FIELD_ARRAY, .required = true,
                            .items = RUNG_FIELD_STRING, .items_max = RUNG_FRIENDS_MAX,
                            .item_len_max = RUNG_NAME_MAX, .doc = "The whole list.",
                            .example = "[\"bob\",\"cyd\"]"});

#define BECAUSE(slot, sample)                                                                      \
    [slot] = {RUNG_NAMED("reason"), STRING, .len_max = RUNG_REASON_MAX,                            \
              .doc = "Kept in the log and the audit trail.", .example = (sample)}

SCHEMA(rung_ban_schema, "Ban", "Why a player is banned, and until when.",
       BECAUSE(BAN_REASON, "\"speed hack\""),
       [BAN_UNTIL] = {RUNG_NAMED("until"), TIME,
                      .doc = "When the server lifts the ban; absent: never. For a banned player "
                             "only this and `shadow` change."},
       [BAN_SHADOW] = {RUNG_NAMED("shadow"), FLAG, .fallback = "false",
                       .doc = "The player is not told: with their own token they still see their "
                              "own place, and their scores are accepted, but nobody else sees "
                              "them."});

#define VERDICT                                                                                    \
    [VERDICT_VERDICT] = {RUNG_NAMED("verdict"), WORDS(rung_verdict_words), .required = true,       \
                         .doc =                                                                    \
                             "`promote`: the score counts, at its own time; `reject`: it never "   \
                             "does; `ban`: the player is banned, and none of their tentative "     \
                             "scores counts.",                                                     \
                         .example = "\"promote\""},                                                \
    BECAUSE(VERDICT_REASON, "\"verified the recording\"")
SCHEMA(rung_verdict_schema, "Verdict", "What becomes of a tentative score.", VERDICT);
SCHEMA(rung_verdicts_schema, "Verdicts", "What becomes of several tentative scores.", VERDICT,
       [VERDICTS_IDS] = {RUNG_NAMED("ids"), STRINGS, .required = true, .items_max = 100,
                         .item_len_max = 32, .doc = "Of reviews.", .example = "[\"1207\"]"});

SCHEMA(rung_note_schema, "Note", "A note on a player, for moderators.",
       [NOTE_NOTE] = {RUNG_NAMED("note"), STRING, .required = true, .len_min = 1,
                      .len_max = RUNG_NOTE_MAX, .doc = "Kept in the log and the audit trail.",
                      .example = "\"asked support about a refund\""});

SCHEMA(rung_new_session_schema, "NewSession", "A session to begin.",
       [SESSION_PLAYER] = {RUNG_NAMED("player"), STRING, .required = true, .len_min = 1,
                           .len_max = RUNG_NAME_MAX, .format = "plain", .doc = "Whose it is.",
                           .example = "\"ada\""},
       [SESSION_LIFE] = {RUNG_NAMED("life_s"), .types = RUNG_FIELD_INTEGER, .has_range = true,
                         .min = RUNG_SESSION_LIFE_S_MIN, .max = RUNG_SESSION_LIFE_S_MAX,
                         .doc = "How long it lasts, in seconds. Default: 3600.",
                         .example = "3600"});

SCHEMA(rung_replay_exclude_schema, "ReplayExclude",
       "Submissions that a replay leaves out: by these players, and those of this span.",
       [EXCLUDE_PLAYERS] = {RUNG_NAMED("players"), STRINGS, .items_max = RUNG_REPLAY_PLAYERS_MAX,
                            .item_len_max = RUNG_NAME_MAX, .doc = "Players' ids.",
                            .example = "[\"mallory\"]"},
       [EXCLUDE_FROM] = {RUNG_NAMED("from"), TIME,
                         .doc = "From this time on, by `at` or else arrival. Without `to`: all "
                                "later ones that are in the log when the replay begins."},
       [EXCLUDE_TO] = {RUNG_NAMED("to"), TIME, .doc = "Before this time."},
       [EXCLUDE_MATCHES] = {RUNG_NAMED("matches"), STRINGS, .items_max = RUNG_MATCHES_REMOVED_MAX,
                            .item_len_max = RUNG_NAME_MAX,
                            .doc = "Matches of a rating board: ids, or `@` and the seq. Those that "
                                   "were left out before stay out."});
SCHEMA(rung_new_replay_schema, "NewReplay",
       "How a board is to be computed again. At least one of the two.",
       [REPLAY_DEFINITION] = {RUNG_NAMED("definition"), OBJECT(rung_board_schema),
                              .doc = "The whole definition, as if the board had been created with "
                                     "it. Default: the definitions it had."},
       [REPLAY_EXCLUDE] = {RUNG_NAMED("exclude"), OBJECT(rung_replay_exclude_schema),
                           .doc = "What to leave out."});

SCHEMA(rung_new_trial_schema, "NewTrial",
       "What is to be tried, as in a definition. What is left out is as the board has it.",
       [TRIAL_RULES] = {RUNG_NAMED("rules"), ARRAY(rung_rule_schema),
                        .items_max = RUNG_BOARD_RULES_MAX, .doc = "The rules.",
                        .example = "[{\"rule\":\"max\",\"value\":9000,\"action\":\"flag\"}]"},
       [TRIAL_LIMITS] = {RUNG_NAMED("limits"), OBJECT(rung_limit_schema), .doc = "The limits."},
       [TRIAL_REVIEW] = {RUNG_NAMED("review"), STRING_OR_NULL,
                         .format = "pattern:^(anomalies|top:[1-9][0-9]{0,6})$",
                         .doc = "What else goes to a review."},
       [TRIAL_LAST] = {RUNG_NAMED("last"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
                       .max = RUNG_TRIAL_LAST_MAX, .fallback = "10000",
                       .doc = "Over how many of the board's last submissions.",
                       .example = "10000"});

SCHEMA(rung_accept_clock_schema, "ClockConfirmation",
       "An operator's confirmation of the wall clock.",
       [CLOCK_ACCEPT] = {RUNG_NAMED("accept"), FLAG, .required = true, .example = "true",
                         .doc = "`true`: the wall clock is right, follow it from now on. Log time "
                                "never runs back, so this cannot be undone."});

static const char *const key_roles[] = {"read", "server", "admin", NULL};
SCHEMA(
    rung_new_key_schema, "NewKey", "A key to create.",
    [KEY_ROLE] = {RUNG_NAMED("role"), STRING, .required = true, .values = key_roles,
                  .doc = "`read` may query, `server` may also submit and edit players, `admin` may "
                         "also define boards, ban and create keys.",
                  .example = "\"server\""},
    [KEY_BOARDS] = {RUNG_NAMED("boards"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
                    .items_max = RUNG_KEY_PATTERNS_MAX, .item_len_max = RUNG_NAME_MAX,
                    .doc = "Boards it is for: `*` matches any characters, `?` one. Default and "
                           "empty: all boards.",
                    .example = "[\"race-*\"]"},
    [KEY_LABEL] = {RUNG_NAMED("label"), STRING, .len_max = RUNG_KEY_LABEL_MAX, .format = "plain",
                   .doc = "What it is for.", .example = "\"game servers\""},
    [KEY_EXPIRES] = {RUNG_NAMED("expires"), TIME, .doc = "When it expires. Default: never."},
    [KEY_RATE] = {RUNG_NAMED("rate"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
                  .max = UINT32_MAX,
                  .doc = "Requests per second. Default: as configured for the server."});

/* ---- answers ---- */

static const rung_field problem_fields[] = {
    ALWAYS("type", STRING, "`about:blank`: `code` tells problems apart."),
    ALWAYS("title", STRING, "The status in words."),
    ALWAYS("status", INTEGER, "The HTTP status."),
    ALWAYS("code", STRING, "Stable, for programs: `board_not_found`, `refused`, ..."),
    ALWAYS("detail", STRING, "For people."),
    FIELD("field", STRING, "The field or parameter that is wrong."),
    FIELD("rule", STRING, "The board's rule that refused it: `max`, `banned`, `window`, ..."),
    FIELD("retry_after", INTEGER, "In a batch: seconds after which to send the submission again."),
};
const rung_schema rung_problem_schema = {.name = "Problem",
                                         .doc = "Why a request failed (RFC 9457).",
                                         .fields = problem_fields,
                                         .count = RUNG_COUNT_OF(problem_fields)};

#define SEQ                                                                                        \
    ALWAYS("seq", INTEGER,                                                                         \
           "The log position the answer reflects; send it as `min_seq` to read your own writes.")

SCHEMA(rung_board_list_schema, "BoardList", "Boards, a page at a time.",
       ALWAYS("boards", ARRAY(rung_board_schema), "Definitions."),
       ALWAYS("next", INTEGER_OR_NULL, "The `cursor` of the next page; null at the end."), SEQ);

#define RANK_BEFORE ALWAYS("rank_before", INTEGER_OR_NULL, "Null for a player who had no entry.")

static SCHEMA(window_outcome_schema, "WindowOutcome", "A submission's effect in one window.",
              ALWAYS("id", STRING, "`2026-W46`, `all`, ..."),
              ALWAYS("changed", FLAG, "Did the entry change?"), RANK_BEFORE,
              ALWAYS("rank", INTEGER_OR_NULL, "In the board's rank style; null on a sketch board."),
              ALWAYS("total", INTEGER, "Entries in the window."));
static const rung_field any_window_outcome =
    FIELD("*", OBJECT(window_outcome_schema), "By kind of window, seasons by name.");
static const rung_schema window_outcomes_schema = {
    .name = "WindowOutcomes",
    .doc = "The windows the submission reached; the first 16.",
    .others = &any_window_outcome,
    .others_max = 16};

static SCHEMA(next_schema, "Next", "The player just above.",
              ALWAYS("player", STRING_OR_NULL,
                     "The player just above; null if erased since the first answer."),
              ALWAYS("gap", SCORE,
                     "The difference of the scores; for whole numbers and decimals at most 2^63 - "
                     "1 units."));

static SCHEMA(card_schema, "RatingCard", "A player on a rating board.",
              ALWAYS("rating", NUMBER, "The rating itself; the score is its conservative display."),
              FIELD("deviation", NUMBER, "As of the last match; not of elo."),
              FIELD("volatility", NUMBER, "Of glicko2."),
              ALWAYS("games", INTEGER, "Matches rated."),
              ALWAYS("wins", INTEGER, "Matches won: alone on the best place."),
              ALWAYS("draws", INTEGER, "Matches on a shared best place."),
              ALWAYS("losses", INTEGER, "All others."),
              ALWAYS("streak", .types = RUNG_FIELD_INTEGER,
                     "Wins in a row; negative: losses in a row."));
static SCHEMA(match_row_schema, "MatchRow", "What a match did to one player.",
              ALWAYS("player", STRING, "Who."), ALWAYS("side", INTEGER, "The side, from 0."),
              ALWAYS("place", .types = RUNG_FIELD_INTEGER, "The side's place."),
              ALWAYS("expected", NUMBER,
                     "Expected points per opponent: 1 for a win, 0.5 for a draw."),
              ALWAYS("score_before", .types = RUNG_FIELD_NUMBER | RUNG_FIELD_NULL,
                     "The displayed rating; null before the first match."),
              ALWAYS("score", NUMBER, "The displayed rating after it."),
              ALWAYS("rank_before", INTEGER_OR_NULL, "Null: was not ranked."),
              ALWAYS("rank", INTEGER_OR_NULL,
                     "In the first window reached; null: not ranked before `min_games`."),
              ALWAYS("before", OBJECT(card_schema), "Before the match."),
              ALWAYS("after", OBJECT(card_schema), "After it."));
SCHEMA(rung_match_answer_schema, "MatchOutcome", "The outcome of a match.",
       ALWAYS("board", STRING, "The board."),
       ALWAYS("duplicate", FLAG, "The id was used before; nothing changed."),
       ALWAYS("players", ARRAY(match_row_schema), "In the match's order; none for a duplicate."),
       SEQ);
#define RESULT                                                                                     \
    ALWAYS("side", INTEGER, "The side, from 0."),                                                  \
        ALWAYS("place", .types = RUNG_FIELD_INTEGER, "The side's place."),                         \
        ALWAYS("outcome", WORDS(rung_match_outcome_words),                                         \
               "win: alone on the best place; draw: shares it."),                                  \
        ALWAYS("expected", NUMBER, "Expected points per opponent before the match."),              \
        ALWAYS("score_before", .types = RUNG_FIELD_NUMBER | RUNG_FIELD_NULL,                       \
               "The displayed rating; null before the first match."),                              \
        ALWAYS("score", NUMBER, "The displayed rating after it."),                                 \
        ALWAYS("rating_before", NUMBER, "The rating before it."),                                  \
        ALWAYS("rating", NUMBER, "The rating after it."),                                          \
        FIELD("deviation", NUMBER, "The deviation after it; not of elo."),                         \
        ALWAYS("rank", INTEGER_OR_NULL, "After it; null: not ranked."),                            \
        FIELD("weight", NUMBER, "As sent, unless 1."),                                             \
        FIELD("played", NUMBER, "As sent, unless 1.")
#define MATCH_HEAD                                                                                 \
    ALWAYS("match", STRING, "Its name in paths: its id, or `@` and its seq."),                     \
        FIELD("id", STRING, "As sent with it."), ALWAYS("played_at", TIME, "When it was played."), \
        ALWAYS("received_at", TIME, "When it arrived, and counted."),                              \
                                                                                                   \
        ALWAYS("sides", INTEGER, "How many sides."), ALWAYS("player_count", INTEGER, "How many."), \
        ALWAYS("match_seq", INTEGER, "The log position of the match.")
static SCHEMA(result_schema, "MatchResultOfPlayer", "What a match did to a player.",
              ALWAYS("player", STRING_OR_NULL, "Who; null: removed from the board since."), RESULT);
static SCHEMA(kept_match_schema, "KeptMatch", "A match.", MATCH_HEAD,
              ALWAYS("players", ARRAY(result_schema), "In the match's order; the first 16."));
SCHEMA(rung_match_list_schema, "MatchList", "The last matches.",
       ALWAYS("board", STRING, "The board."),
       ALWAYS("matches", ARRAY(kept_match_schema), "Newest first."),
       ALWAYS("next", INTEGER_OR_NULL, "The `before` of the next page; null at the end."), SEQ);
SCHEMA(rung_match_answer_read_schema, "PlayedMatch", "A match.",
       ALWAYS("board", STRING, "The board."), MATCH_HEAD,
       ALWAYS("players", ARRAY(result_schema), "In the match's order, all of them."), SEQ);
static SCHEMA(other_schema, "OtherPlayer", "Another player of a match.",
              ALWAYS("player", STRING_OR_NULL, "Who; null: removed from the board since."),
              ALWAYS("side", INTEGER, "The side, from 0."),
              ALWAYS("place", .types = RUNG_FIELD_INTEGER, "The side's place."),
              ALWAYS("rating_before", NUMBER, "Rating before the match."));
static SCHEMA(own_result_schema, "OwnResult", "A match, from a player's side.", MATCH_HEAD, RESULT,
              ALWAYS("others", ARRAY(other_schema), "The other players; the first 8."));
SCHEMA(rung_results_schema, "Results", "A player's matches.", ALWAYS("board", STRING, "The board."),
       ALWAYS("player", STRING, "The player."),
       ALWAYS("results", ARRAY(own_result_schema), "Newest first."),
       ALWAYS("next", INTEGER_OR_NULL, "The `before` of the next page; null at the end."), SEQ);
static SCHEMA(side_forecast_schema, "SideForecast", "What one side may expect.",
              ALWAYS("win", NUMBER, "Probability of the first place, alone."),
              ALWAYS("expected", NUMBER, "Expected points per opponent."),
              ALWAYS("place", NUMBER, "Expected place, from 1."));
SCHEMA(rung_forecast_schema, "Forecast", "A prediction.", ALWAYS("board", STRING, "The board."),
       ALWAYS("draw", NUMBER, "Probability that a pair of sides draws, on average."),
       ALWAYS("sides", ARRAY(side_forecast_schema), "In the order of the request."), SEQ);

static SCHEMA(finding_schema, "BrokenRule", "A rule that a submission breaks.",
              ALWAYS("rule", STRING, "Which rule of the board's `rules`."),
              ALWAYS("action", WORDS(rung_action_words), "What the rule does."),
              ALWAYS("value", SCORE_OR_NULL, "What was measured; null: nothing."),
              ALWAYS("limit", SCORE_OR_NULL, "The rule's value; null: it has none."));
SCHEMA(rung_check_schema, "Check", "What would happen to a submission.",
       ALWAYS("player", STRING, "Whose it would be."),
       ALWAYS("verdict", ENUM("counts|flagged|tentative|refused|duplicate"),
              "What would happen to it."),
       ALWAYS("rule", STRING_OR_NULL, "The limit, rule or other reason that would refuse it."),
       ALWAYS("broken", ARRAY(finding_schema), "All rules that it breaks, in their order."),
       ALWAYS("rank", INTEGER_OR_NULL,
              "The rank that it would have in the first window; null: none."),
       SEQ);

static SCHEMA(tried_rule_schema, "TriedRule", "A rule of a trial.",
              ALWAYS("rule", STRING, "Which rule."),
              ALWAYS("action", WORDS(rung_action_words), "What it does."),
              ALWAYS("limit", SCORE_OR_NULL, "Its value; null: it has none."),
              ALWAYS("broken", INTEGER, "How many submissions broke it."));
static const rung_field any_count = FIELD("*", INTEGER, "Submissions that this limit refused.");
static const rung_schema tried_limits_schema = {
    .name = "TriedLimits",
    .doc = "The limits of a trial, by name.",
    .others = &any_count,
    .others_max = RUNG_TRIAL_LIMITS,
};
static SCHEMA(tried_example_schema, "TriedExample", "A submission that broke something.",
              ALWAYS("seq", INTEGER, "Its log position."), ALWAYS("player", STRING, "Who sent it."),
              FIELD("score", SCORE, "Its score."), FIELD("delta", SCORE, "Or its delta."),
              ALWAYS("at", TIME, "Its time."),
              ALWAYS("verdict", WORDS(rung_trial_words), "What would have happened to it."),
              ALWAYS("rule", STRING_OR_NULL, "The limit or rule that refuses it, or `top`."),
              ALWAYS("broken", NUMBERS,
                     "Which of the trial's rules it broke, by their position from 0."));
SCHEMA(
    rung_trial_schema, "Trial", "What would have happened to the last submissions.",
    ALWAYS("board", STRING, "The board."),
    ALWAYS("judged", INTEGER, "How many; all of the next six together."),
    ALWAYS("complete", FLAG,
           "As many as asked for, or all that the board has had. False: the kept log has fewer."),
    FIELD("from_seq", INTEGER, "Log position of the first."),
    FIELD("to_seq", INTEGER, "Of the last."), FIELD("from", TIME, "Log time of the first."),
    FIELD("to", TIME, "Of the last."),
    ALWAYS("counted", INTEGER, "Would have counted, and broke no rule."),
    ALWAYS("flagged", INTEGER, "Would have counted, with a flag."),
    ALWAYS("tentative", INTEGER, "Would have waited for a review."),
    ALWAYS("refused", INTEGER, "Would have been refused by a limit or rule."),
    ALWAYS("duplicates", INTEGER, "Repetitions, by their ids."),
    ALWAYS("other", INTEGER, "Refused for another reason, such as a ban."),
    ALWAYS("rules", ARRAY(tried_rule_schema), "Each rule, in the order of the request."),
    ALWAYS("limits", OBJECT(tried_limits_schema), "Each limit: how many it refused."),
    FIELD("top", INTEGER, "With `review` `top:N`: how many would have been among the first N."),
    ALWAYS("examples", ARRAY(tried_example_schema),
           "The last submissions that broke something, newest first, up to 20."),
    SEQ);

SCHEMA(
    rung_outcome_schema, "Outcome", "The outcome of a submission.",
    ALWAYS("player", STRING, "Who scored."), ALWAYS("score", SCORE, "The score that stands now."),
    FIELD("columns", OBJECT(columns_schema), "Its further columns, if the board has any."),
    ALWAYS("changed", FLAG, "Did any ranking change?"),
    ALWAYS("duplicate", FLAG, "The id was used before: this is the first answer."), RANK_BEFORE,
    ALWAYS("rank", INTEGER_OR_NULL,
           "In the board's rank style, in the first window reached; of a percentile board by the "
           "estimate, of other sketch boards null."),
    ALWAYS("total", INTEGER, "Entries there."),
    ALWAYS("percentile", NUMBER, "Percent of entries at or below the score."),
    ALWAYS("passed", INTEGER, "Places gained."),
    ALWAYS("next", OBJECT_OR_NULL(next_schema), "Null at the top."),
    ALWAYS("windows", OBJECT(window_outcomes_schema),
           "Each window reached; empty for a duplicate."),
    FIELD("flagged", ARRAY(finding_schema),
          "Present if it broke rules whose action is `flag`: which ones."),
    FIELD("tentative", FLAG,
          "Present if true: it waits for a review; score and rank are those it would have."),
    FIELD("review", STRING, "When tentative: the id of the review."),
    FIELD("rules", ARRAY(finding_schema), "When tentative: the rules that it broke."), SEQ);

/* Without type and title, to keep lines short. */
static const rung_schema line_problem_schema = {.name = "LineProblem",
                                                .doc = "Why one submission of a batch failed.",
                                                .fields = problem_fields + 2,
                                                .count = RUNG_COUNT_OF(problem_fields) - 2};

SCHEMA(rung_batch_result_schema, "BatchResult", "The outcome of one submission of a batch.",
       ALWAYS("line", INTEGER, "Which submission, from 1."),
       FIELD("changed", FLAG, "Did any ranking change?"),
       FIELD("duplicate", FLAG, "Present if true: the id was used before."),
       FIELD("score", SCORE, "The score that stands now."),
       FIELD("rank", INTEGER_OR_NULL,
             "In the first window reached; null on a sketch board that has none."),
       FIELD("total", INTEGER, "Entries there."),
       FIELD("flagged", FLAG, "Present if true: it broke rules whose action is `flag`."),
       FIELD("tentative", FLAG,
             "Present if true: it waits for a review; `score` and `rank` as if promoted."),
       FIELD("seq", INTEGER, "The log position."),
       FIELD("error", OBJECT(line_problem_schema),
             "Instead of all fields but `line`: why it was refused."));

SCHEMA(rung_match_result_schema, "MatchResult", "The outcome of one match of several.",
       ALWAYS("line", INTEGER, "Which match, from 1."), FIELD("board", STRING, "The board."),
       FIELD("duplicate", FLAG, "The id was used before; nothing changed."),
       FIELD("players", ARRAY(match_row_schema), "In the match's order; none for a duplicate."),
       FIELD("seq", INTEGER, "The log position."),
       FIELD("error", OBJECT(line_problem_schema),
             "Instead of all fields but `line`: why it was refused."));

static SCHEMA(window_info_schema, "WindowInfo", "One window of a board.",
              ALWAYS("kind", WORDS(rung_window_words), "Its kind."),
              ALWAYS("id", STRING, "`2026-W46`, a season's name, `all`."),
              ALWAYS("starts", TIME_OR_NULL, "Null for `all`."),
              ALWAYS("ends", TIME_OR_NULL, "Null for `all`."),
              ALWAYS("closed", FLAG, "A closed window takes no more scores."),
              ALWAYS("total", INTEGER, "Entries."),
              ALWAYS("source", ENUM("memory|archive"), "Where the answer comes from."));

static const rung_schema attributes_schema = {
    .name = "Attributes", .doc = "Attributes by name.", .others = &any_text, .others_max = 9};

static SCHEMA(
    row_schema, "Entry", "One entry of a ranking.",
    ALWAYS("rank", INTEGER, "From 1, in the answer's rank style; in lists of friends: among them."),
    FIELD("global_rank", INTEGER, "In lists of friends: the rank among all."),
    ALWAYS("player", STRING, "The id."),
    ALWAYS("name", STRING_OR_NULL, "From the profile; null if it has none."),
    FIELD("avatar", STRING, "From the profile."), FIELD("country", STRING, "From the profile."),
    FIELD("attributes", OBJECT(attributes_schema),
          "Other attributes by which the board ranks (`scopes`, `teams`)."),
    ALWAYS("score", SCORE, "The score."),
    FIELD("columns", OBJECT(columns_schema), "Its further columns, if the board has any."),
    FIELD("rating", OBJECT(card_schema), "Of a rating board, while the window is in memory."),
    FIELD("low", INTEGER, "Of a counts board: the true sum is at least this ..."),
    FIELD("high", INTEGER, "... and at most this, which is also `score`."),
    FIELD("at", TIME, "The time that decides ties; absent if ties go by player."),
    ALWAYS("percentile", NUMBER, "Percent of entries at or below the score."));

static SCHEMA(team_row_schema, "TeamEntry", "One team.",
              ALWAYS("rank", INTEGER, "From 1, in the answer's rank style."),
              ALWAYS("team", STRING, "The value of the attribute."),
              ALWAYS("score", SCORE, "Sum, mean or sum of the best."),
              ALWAYS("members", INTEGER, "Ranked players."),
              ALWAYS("percentile", NUMBER, "Percent of teams at or below the score."));

static SCHEMA(distinct_schema, "Distinct", "How many different players there were.",
              ALWAYS("players", INTEGER, "The number, estimated."),
              ALWAYS("error", NUMBER, "The standard error, as a share of it; 0: it is exact."));

/* The head of every ranked answer. */
#define HEAD                                                                                       \
    ALWAYS("board", STRING, "The board's id."),                                                    \
        ALWAYS("window", STRING, "As `window=` names it: `all`, a kind, or a season's name."),     \
        ALWAYS("window_id", STRING, "Which one of its kind: `2026-W46`, `2026-11-15`, ..."),       \
        ALWAYS("starts", TIME_OR_NULL, "Null for all of time."),                                   \
        ALWAYS("ends", TIME_OR_NULL, "Null for all of time."),                                     \
        ALWAYS("closed", FLAG, "A closed window takes no more scores."),                           \
        ALWAYS("scope", STRING_OR_NULL, "`country:FI`; null: everybody."),                         \
        ALWAYS("rank_style", WORDS(rung_rank_words), "How ranks count ties."),                     \
        ALWAYS("total", INTEGER,                                                                   \
               "Entries of the ranking; of a sketch board: names held, scores, or players."),      \
        SEQ, FIELD("approximate", FLAG, "Present and true when the answer is not exact."),         \
        FIELD("error", INTEGER,                                                                    \
              "When approximate: no answer is off by more; of a counts board also the most that "  \
              "anybody can have who is not listed."),                                              \
        FIELD("counted", INTEGER, "Of a sketch board: the sum of all counts, or all scores."),     \
        FIELD("memory", INTEGER, "Of a sketch board: bytes of this ranking."),                     \
        FIELD("distinct", OBJECT(distinct_schema), "How many different players there were.")

#define ROWS(field, text)      ALWAYS(field, ARRAY(row_schema), (text))
#define ONE_ROW(text)          ALWAYS("entry", OBJECT(row_schema), (text))
#define TEAM_ROWS(field, text) ALWAYS(field, ARRAY(team_row_schema), (text))

SCHEMA(rung_top_schema, "Top", "A page of a ranking.", HEAD,
       FIELD("newest_version", INTEGER, "The newest timed snapshot of this kind of window."),
       FIELD("version", INTEGER, "Of a timed snapshot: which one. `seq` is the same."),
       FIELD("version_at", TIME, "Of a timed snapshot: the moment it was taken for."),
       FIELD("kept", INTEGER, "Of a timed snapshot: how many entries it has."),
       FIELD("next", STRING_OR_NULL, "With `page`: that of the next one; null at the end."),
       ROWS("entries", "Best first. Of a timed snapshot without avatar, country, attributes and "
                       "rating; `name` is what it was."));

static SCHEMA(version_schema, "Version", "A timed snapshot of a ranking.",
              ALWAYS("version", INTEGER, "The log position that it reflects."),
              ALWAYS("at", TIME, "The moment it was taken for."),
              ALWAYS("window_id", STRING, "`2026-W46`, `2026-11-15`, ..."),
              ALWAYS("total", INTEGER, "Entries of the ranking."),
              ALWAYS("kept", INTEGER, "The first so many are in the snapshot."));
SCHEMA(rung_version_list_schema, "Versions", "Timed snapshots of a window, newest first.",
       ALWAYS("board", STRING, "The board's id."),
       ALWAYS("window", STRING, "As `window=` names it."),
       ALWAYS("every", NUMBER, "Seconds of log time between two of them."),
       ALWAYS("top", INTEGER, "The most entries of each."),
       ALWAYS("keep", INTEGER, "The most that are kept of each window."),
       ALWAYS("count", INTEGER, "How many there are."),
       ALWAYS("versions", ARRAY(version_schema), "Newest first."), SEQ);

static SCHEMA(tentative_schema, "Tentative", "A score that waits for a review.",
              ALWAYS("review", STRING, "The id of the review."),
              ALWAYS("rank", INTEGER, "The rank that it would have."),
              ALWAYS("score", SCORE, "The score that would stand."),
              FIELD("columns", OBJECT(columns_schema), "Its further columns."),
              FIELD("at", TIME, "The time that would decide ties."));
SCHEMA(rung_around_schema, "Around", "A player among neighbours.", HEAD,
       ALWAYS("entry", OBJECT_OR_NULL(row_schema),
              "The player; null if only a tentative score is there."),
       FIELD("tentative", OBJECT(tentative_schema),
             "The player's best score that waits for a review, if it would change the entry. Shown "
             "to the player's own token and to keys with the roles server and admin."),
       ROWS("above", "Those above, best first."), ROWS("below", "Those below, best first."));

static SCHEMA(opponent_schema, "Opponent", "A good opponent.",
              ALWAYS("quality", NUMBER, "How good the match would be, 0 to 1."),
              ALWAYS("expected", NUMBER, "The player's expected points: 1 for a win."),
              ONE_ROW("The opponent."));
SCHEMA(rung_opponents_schema, "Opponents", "Good opponents of a player.", HEAD,
       ALWAYS("player", STRING, "Whose opponents."),
       ALWAYS("opponents", ARRAY(opponent_schema), "The best match first."));

static SCHEMA(standing_schema, "Standing", "A player's place.",
              ALWAYS("rank", INTEGER, "In the board's first window."),
              ALWAYS("total", INTEGER, "Entries there."), ALWAYS("score", SCORE, "The score."),
              FIELD("columns", OBJECT(columns_schema), "Its further columns."));
static SCHEMA(form_schema, "Form", "What the board's rules know of a player's submissions.",
              ALWAYS("scores", INTEGER, "How many were learned from."),
              ALWAYS("mean", NUMBER, "Of the scores, recent ones with more weight."),
              ALWAYS("deviation", NUMBER, "The mean distance from the mean."),
              ALWAYS("last", TIME, "The last submission."));
static SCHEMA(review_schema, "Review", "A tentative score.", ALWAYS("id", STRING, "Of the review."),
              ALWAYS("seq", INTEGER, "The log position of the submission."),
              ALWAYS("board", STRING, "The board."), ALWAYS("player", STRING, "The player."),
              FIELD("score", SCORE, "As submitted."), FIELD("delta", SCORE, "As submitted."),
              FIELD("columns", OBJECT(columns_schema), "Its further columns."),
              ALWAYS("at", TIME, "When it would count."),
              ALWAYS("submitted", TIME, "Log time of the submission."),
              ALWAYS("expires", TIME, "When it is decided by `outcome`."),
              ALWAYS("outcome", WORDS(rung_outcome_words), "If nobody decides."),
              ALWAYS("rules", ARRAY(finding_schema), "The rules that it broke."),
              FIELD("standing", OBJECT_OR_NULL(standing_schema),
                    "Where the player stands now; null: not ranked."),
              FIELD("rank", INTEGER,
                    "The rank that it would have in the first window, if it is the player's best."),
              FIELD("history", OBJECT(form_schema), "If the board's rules keep it."));
SCHEMA(rung_review_list_schema, "ReviewList", "Tentative scores, oldest first.",
       ALWAYS("reviews", ARRAY(review_schema), "A page."),
       ALWAYS("next", STRING_OR_NULL, "`after` of the next page; null: there is none."),
       ALWAYS("total", INTEGER, "How many from `after` on."), SEQ);
static SCHEMA(verdict_result_schema, "VerdictResult", "The outcome of one verdict.",
              ALWAYS("id", STRING, "Of the review."), ALWAYS("changed", FLAG, "It is decided."),
              FIELD("code", STRING, "Why it failed."));
SCHEMA(rung_verdict_results_schema, "VerdictResults", "The outcomes of several verdicts.",
       ALWAYS("results", ARRAY(verdict_result_schema), "In the order sent."), SEQ);
static SCHEMA(preview_schema, "BanEffect", "What a ban would change on a board's first window.",
              ALWAYS("board", STRING, "The board."), ALWAYS("rank", INTEGER, "The player's."),
              ALWAYS("score", SCORE, "The player's."),
              FIELD("columns", OBJECT(columns_schema), "Its further columns."),
              ALWAYS("total", INTEGER, "Entries."),
              ALWAYS("move_up", INTEGER, "Entries below, which would move up."),
              ALWAYS("next", STRINGS, "The first of them."));
SCHEMA(rung_ban_preview_schema, "BanPreview", "A player's ban, or what it would change.",
       ALWAYS("player", STRING, "The player."), ALWAYS("banned", FLAG, "Is there a ban?"),
       FIELD("until", TIME, "When the ban ends by itself."),
       FIELD("shadow", FLAG, "Present if true: it is a shadow ban."),
       ALWAYS("boards", ARRAY(preview_schema), "Where the player is ranked, up to 100."),
       ALWAYS("complete", FLAG, "False: there are more boards than were looked at."), SEQ);

SCHEMA(rung_players_schema, "Players", "Several players at once.", HEAD,
       ROWS("entries", "In the order asked for."),
       ALWAYS("missing", STRINGS, "Ids that are not ranked here."));

SCHEMA(rung_friend_ranking_schema, "FriendRanking",
       "A player and their friends, ranked among themselves.", HEAD,
       ALWAYS("player", STRING, "Whose friends."),
       ALWAYS("count", INTEGER, "Ranked friends, including the player."),
       ROWS("entries", "Best first; `rank` counts among them, `global_rank` among all."));

SCHEMA(rung_at_score_schema, "AtScore", "The rank a score would have.", HEAD,
       ALWAYS("score", SCORE, "The score asked about."),
       FIELD("columns", OBJECT(columns_schema), "Its further columns."),
       ALWAYS("rank", INTEGER, "The rank a new player would have with it, now."),
       FIELD("rank_low", INTEGER, "When approximate: the rank is at least this ..."),
       FIELD("rank_high", INTEGER, "... and at most this."),
       FIELD("percentile", NUMBER, "When approximate: percent of scores at or below it."),
       FIELD("percentile_low", NUMBER, "It is at least this ..."),
       FIELD("percentile_high", NUMBER, "... and at most this."),
       ROWS("above", "Those who would stand above, best first."),
       ROWS("below", "Those who would stand below, best first."));

SCHEMA(rung_target_schema, "Target", "The score it takes.", HEAD,
       FIELD("rank", INTEGER, "As asked for."), FIELD("top_percent", NUMBER, "As asked for."),
       {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING | RUNG_FIELD_NULL,
        .required = true, .format = "number",
        .doc = "The score of the entry at that rank; null: there is none, any score suffices."},
       FIELD("columns", OBJECT(columns_schema), "Its further columns."),
       ALWAYS("entry", OBJECT_OR_NULL(row_schema), "The entry at that rank."));

static SCHEMA(mover_schema, "Mover", "A player whose rank changed.",
              ALWAYS("change", INTEGER, "By how many ranks; positive: upwards."),
              ALWAYS("rank_before", INTEGER, "The rank at `from`."),
              ALWAYS("entry", OBJECT(row_schema), "The entry at `to`."));
static SCHEMA(mover_moment_schema, "MoversMoment", "One of the two moments.",
              ALWAYS("at", TIME, "Its time."),
              ALWAYS("seq", INTEGER, "The last log position until then."));
SCHEMA(rung_movers_schema, "Movers", "Who rose and who fell most between two moments.", HEAD,
       ALWAYS("from", OBJECT(mover_moment_schema), "The earlier moment."),
       ALWAYS("to", OBJECT(mover_moment_schema), "The later one."),
       ALWAYS("compared", INTEGER, "Players who were ranked at both."),
       ALWAYS("entered", INTEGER, "Players who were ranked only at the later one."),
       ALWAYS("rose", INTEGER, "Of those compared, how many rose."),
       ALWAYS("fell", INTEGER, "Of those compared, how many fell."),
       ALWAYS("risers", ARRAY(mover_schema), "The largest change first, then the better rank."),
       ALWAYS("fallers", ARRAY(mover_schema), "Likewise."));

SCHEMA(rung_count_schema, "Count", "How many have a score in a range.", HEAD,
       ALWAYS("count", INTEGER, "Entries with a score in the range."));

static SCHEMA(bucket_schema, "Bucket", "A part of a distribution.",
              ALWAYS("low", SCORE, "The smallest score."),
              ALWAYS("high", SCORE,
                     "By width: the upper bound, exclusive except in the last bucket; by count: "
                     "the largest score."),
              ALWAYS("count", INTEGER, "Entries."));
static SCHEMA(quantile_schema, "Quantile", "A quantile, nearest rank.",
              ALWAYS("top_percent", NUMBER, "This percentage of the best entries ..."),
              ALWAYS("score", SCORE, "... have this score or a better one."));
SCHEMA(rung_distribution_schema, "Distribution", "How scores are spread.", HEAD,
       ALWAYS("by", ENUM("width|count"), "As asked for."),
       ALWAYS("buckets", ARRAY(bucket_schema),
              "By width: ascending by score; by count: best first."),
       ALWAYS("quantiles", ARRAY(quantile_schema), "Best first; empty for an empty ranking."));

static SCHEMA(scope_size_schema, "ScopeValue", "A value of a scope.",
              ALWAYS("value", STRING,
                     "The value; attribute and value form a `scope`: `country:FI`."),
              ALWAYS("total", INTEGER, "Entries with this value."));
SCHEMA(rung_scope_list_schema, "ScopeValues", "The values of a scope.", HEAD,
       ALWAYS("attribute", STRING, "As asked for."),
       ALWAYS("value_count", INTEGER, "Values with entries, among the first 65,536 known values."),
       ALWAYS("values", ARRAY(scope_size_schema), "The largest first."));

SCHEMA(rung_team_list_schema, "TeamList", "A page of the team ranking.", HEAD,
       TEAM_ROWS("entries", "Best first."));
SCHEMA(rung_team_schema, "Team", "A team among neighbours.", HEAD,
       ALWAYS("entry", OBJECT(team_row_schema), "The team."),
       TEAM_ROWS("above", "Those above, best first."),
       TEAM_ROWS("below", "Those below, best first."));

SCHEMA(rung_window_list_schema, "WindowList", "Open and closed windows.",
       ALWAYS("board", STRING, "The board's id."),
       ALWAYS("windows", ARRAY(window_info_schema), "The latest end first."),
       ALWAYS("next", TIME_OR_NULL, "The `before` of the next page; null at the end."), SEQ);

SCHEMA(rung_change_schema, "Change", "A change is made.",
       ALWAYS("changed", FLAG, "Was there anything to change?"), SEQ);

SCHEMA(rung_session_schema, "Session", "A session that has begun.",
       ALWAYS("session", STRING, "Its id, not secret."), ALWAYS("player", STRING, "Whose it is."),
       ALWAYS("secret", STRING,
              "The key of the signatures, as it is: its characters, not what they would "
              "decode to."),
       ALWAYS("expires", TIME, "When it ends."),
       ALWAYS("window_s", INTEGER, "How far a signed time may be from the server's, in seconds."),
       SEQ);

SCHEMA(rung_player_schema, "Player", "A player.", ALWAYS("player", STRING, "The id."),
       ALWAYS("profile", OBJECT(rung_profile_schema), "All attributes."),
       ALWAYS("banned", FLAG, "Hidden everywhere?"),
       FIELD("banned_until", TIME, "When the ban ends by itself."),
       FIELD("shadow", FLAG,
             "Present if true: the player is not told. Shown to servers and admins; to others such "
             "a player is not banned."),
       ALWAYS("friends", INTEGER, "How many the player follows."), SEQ);

SCHEMA(rung_friends_schema, "Friends", "Whom a player follows.",
       ALWAYS("player", STRING, "Whose friends."), ALWAYS("friends", STRINGS, "A page of ids."),
       ALWAYS("total", INTEGER, "All of them."), SEQ);

static SCHEMA(point_window_schema, "WindowName", "A window by kind and id.",
              ALWAYS("kind", WORDS(rung_window_words), "Its kind."),
              ALWAYS("id", STRING, "Its id."));
static SCHEMA(point_schema, "HistoryPoint", "Where a player stood.", ALWAYS("at", TIME, "When."),
              ALWAYS("taken", ENUM("window_end|daily"), "Why it was recorded."),
              ALWAYS("window", OBJECT(point_window_schema), "In which window."),
              ALWAYS("rank", INTEGER, "The rank at the time."),
              ALWAYS("total", INTEGER, "Entries at the time."),
              ALWAYS("score", SCORE, "The score at the time."),
              FIELD("columns", OBJECT(columns_schema), "Its further columns."));
SCHEMA(rung_history_schema, "History", "Rank and score over time.",
       ALWAYS("player", STRING, "The id."), ALWAYS("board", STRING, "The board's id."),
       ALWAYS("rank_style", WORDS(rung_rank_words), "How ranks count ties."),
       ALWAYS("points", ARRAY(point_schema), "Oldest first."),
       ALWAYS("archived_seq", INTEGER, "How far the archive had come."), SEQ);

static SCHEMA(
    sent_schema, "SentSubmission", "A submission and its outcome.",
    ALWAYS("seq", INTEGER, "Its position in the log."),
    ALWAYS("at", TIME, "When it was scored, as sent; by default when it arrived."),
    ALWAYS("board", STRING, "The board it was for."),
    FIELD("score", SCORE, "The score that was sent, if any."),
    FIELD("delta", SCORE, "The delta that was sent, if any."),
    FIELD("columns", OBJECT(columns_schema), "Its further columns, as long as the board exists."),
    ALWAYS("kind", ENUM("score|delta|removal|match|promoted"),
           "`removal`: the player was taken off the board; `match`: `meta` has side and place; "
           "`promoted`: a tentative score counts from here on."),
    FIELD("removed", FLAG, "Present if true: the kind is `removal`."),
    FIELD("result", SCORE, "The player's score afterwards, in the board's first window, if known."),
    FIELD("id", STRING, "The id that was sent."),
    FIELD("meta", .types = RUNG_FIELD_ANY,
          "The `meta` that was sent: an object or array unchanged, anything else as text."),
    ALWAYS("outcome", ENUM("accepted|unchanged|duplicate|tentative|refused|unknown"),
           "Its outcome; `unknown`: the archive has no record of it."),
    FIELD("reason", STRING, "The `code` with which it was refused."));
SCHEMA(rung_sent_list_schema, "SentSubmissions", "What a player sent.",
       ALWAYS("player", STRING, "The id."),
       ALWAYS("submissions", ARRAY(sent_schema), "Newest first, by `at`."),
       ALWAYS("next", STRING_OR_NULL, "The `before` of the next page; null at the end."),
       ALWAYS("archived_seq", INTEGER, "How far the archive had come."), SEQ);

static SCHEMA(actor_schema, "Actor", "Who asked for a change.",
              FIELD("key", STRING, "The id of the key."),
              FIELD("player", STRING, "The player of a token."),
              FIELD("address", STRING,
                    "The client's address; `library`: the process itself; `file`: who can write "
                    "the keys file."));
static SCHEMA(audit_record_schema, "AuditRecord", "One record of the audit trail.",
              ALWAYS("seq", INTEGER, "The event's position in the log."),
              FIELD("at", TIME, "When the server accepted it."),
              ALWAYS("kind", STRING, "`board defined`, `banned`, `key changed`, `refused`, ..."),
              FIELD("board", STRING, "The board, if it is about one."),
              FIELD("player", STRING, "The player, unless erased since."),
              FIELD("actor", OBJECT(actor_schema), "Who asked for it, if recorded."),
              FIELD("reason", STRING, "Why, as the actor gave it."),
              ALWAYS("outcome", ENUM("done|unchanged|refused|unknown"), "What came of it."),
              FIELD("code", STRING, "The `code` with which it was refused."),
              FIELD("rule", STRING, "The rule that refused a submission."),
              FIELD("before", .types = RUNG_FIELD_ANY, "What was there before."),
              FIELD("after", .types = RUNG_FIELD_ANY, "What is there since."),
              FIELD("details", .types = RUNG_FIELD_ANY, "More, by kind: docs/archive.md."));
SCHEMA(rung_audit_schema, "Audit", "A page of the audit trail.",
       ALWAYS("records", ARRAY(audit_record_schema), "Newest first, unless asked otherwise."),
       ALWAYS("next", STRING_OR_NULL, "The `after` of the next page; null at the end."),
       ALWAYS("archived_seq", INTEGER, "How far the archive had come."), SEQ);

static SCHEMA(move_schema, "Move", "A player's place without and with the replay.",
              ALWAYS("player", STRING, "Who."),
              ALWAYS("rank_before", INTEGER_OR_NULL, "Null: not ranked without it."),
              ALWAYS("rank_after", INTEGER_OR_NULL, "Null: not ranked with it."),
              ALWAYS("score_before",
                     .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING | RUNG_FIELD_NULL,
                     "The score without it."),
              ALWAYS("score_after",
                     .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING | RUNG_FIELD_NULL,
                     "The score with it."));
static SCHEMA(replay_window_schema, "ReplayWindow", "Who moves in one window.",
              ALWAYS("window", STRING, "`all`, `week`, or a season's name."),
              ALWAYS("window_id", STRING, "`2026-W46`, ..."),
              ALWAYS("entries_before", INTEGER, "Players without the replay."),
              ALWAYS("entries_after", INTEGER, "Players with it."),
              ALWAYS("moved", INTEGER, "Players with another rank."),
              ALWAYS("entered", INTEGER, "Players who are ranked only with it."),
              ALWAYS("left", INTEGER, "Players who are ranked only without it."),
              ALWAYS("rescored", INTEGER, "Players with another score and the same rank."),
              ALWAYS("same", INTEGER, "Players for whom nothing changes."),
              ALWAYS("up", ARRAY(move_schema), "The ten largest rises."),
              ALWAYS("down", ARRAY(move_schema), "The ten largest falls."));
static SCHEMA(replay_report_schema, "ReplayReport", "Who moves where.",
              ALWAYS("seq", INTEGER, "The log position it is about."),
              ALWAYS("windows", ARRAY(replay_window_schema), "The first 32 windows."),
              ALWAYS("windows_left_out", INTEGER, "How many more there are."));
static SCHEMA(replay_progress_schema, "ReplayProgress", "How far the log is read.",
              ALWAYS("seq", INTEGER, "Read so far; 0: not known."),
              ALWAYS("of", INTEGER, "To be read."));
static SCHEMA(replay_error_schema, "ReplayError", "Why a replay failed.",
              ALWAYS("code", STRING, "As in a problem."), ALWAYS("detail", STRING, "For people."));
static SCHEMA(replay_excluded_schema, "ReplayExcluded", "What is left out.",
              ALWAYS("players", STRINGS, "Players' ids."),
              FIELD("matches", STRINGS, "Matches, each `@` and its seq."),
              FIELD("from", TIME, "From this time on."), FIELD("to", TIME, "Before this time."));
SCHEMA(rung_replay_schema, "Replay", "A board computed again, beside the board.",
       ALWAYS("board", STRING, "The board."), ALWAYS("job", INTEGER, "The number of the replay."),
       ALWAYS("state", ENUM("reading|filling|ready|swapped|failed|unattended"),
              "`reading` the log, `filling` the shadow, `ready` to swap, `swapped` in, `failed`; "
              "`unattended`: another server works on it, or it will be dropped."),
       FIELD("progress", OBJECT(replay_progress_schema), "While `reading`."),
       FIELD("error", OBJECT(replay_error_schema), "When `failed`."),
       FIELD("exclude", OBJECT(replay_excluded_schema),
             "What is left out, if this server began it since its start."),
       FIELD("left_out", INTEGER, "Submissions left out so far."),
       FIELD("entries", INTEGER, "In all windows of the shadow."),
       FIELD("bytes", INTEGER, "Of memory for its rankings."),
       FIELD("definition", OBJECT(rung_board_schema), "With the replay."),
       FIELD("report", OBJECT_OR_NULL(replay_report_schema),
             "Who moves; null while that is being found out: ask again."),
       SEQ);
SCHEMA(rung_replay_moves_schema, "ReplayMoves", "Players whose rank or score changes, a page.",
       ALWAYS("board", STRING, "The board."),
       ALWAYS("moves", ARRAY(move_schema),
              "By rank with the replay, then those who are not ranked any more. A page may be "
              "empty."),
       ALWAYS("next", INTEGER_OR_NULL, "The `cursor` of the next page; null at the end."), SEQ);

#define KEY_INFO                                                                                   \
    ALWAYS("id", STRING,                                                                           \
           "The key's id, not secret. With the role `player-token`: the `kid` of its tokens."),    \
        ALWAYS("role", ENUM("read|server|admin|player-token"), "What it may do."),                 \
        ALWAYS("state", ENUM("live|revoked|expired"), "Whether it is in force."),                  \
        ALWAYS("boards", STRINGS, "Patterns of the boards it is for; empty: all."),                \
        ALWAYS("label", STRING, "What it is for."),                                                \
        ALWAYS("created", TIME, "When it was created."),                                           \
        ALWAYS("expires", TIME_OR_NULL, "When it expires; null: never."),                          \
        ALWAYS("revoked", TIME_OR_NULL, "When it was revoked; null: not revoked."),                \
        ALWAYS("rate", INTEGER_OR_NULL,                                                            \
               "Its own limit of requests per second; null: as configured.")

SCHEMA(rung_key_schema, "Key", "A key without its secret.", KEY_INFO);
SCHEMA(rung_key_made_schema, "KeyMade", "A new key.", KEY_INFO,
       ALWAYS("key", STRING, "The key itself, shown only once: the server stores its SHA-256."));
SCHEMA(rung_key_list_schema, "KeyList", "All keys.",
       ALWAYS("keys", ARRAY(rung_key_schema),
              "In the order of creation, including revoked and expired ones."),
       ALWAYS("can_change", FLAG,
              "Whether keys can be created and revoked: false without a data folder."));

SCHEMA(rung_health_schema, "Health", "The process is alive.", ALWAYS("status", STRING, "`ok`."));
SCHEMA(
    rung_clock_schema, "Clock", "The time, and whether the server follows the wall clock.",
    ALWAYS("wall", TIME, "The system's clock."),
    ALWAYS("log_time", TIME, "The time that a change made now would get."),
    ALWAYS("offset_ms", .types = RUNG_FIELD_INTEGER, "`wall` minus `log_time`, in milliseconds."),
    ALWAYS("held", FLAG,
           "The wall clock jumped ahead by more than `max_jump_ms` and is not followed."),
    ALWAYS(
        "log_time_ahead", FLAG,
        "The wall clock is behind `log_time` by more than `max_jump_ms`: log time stands still."),
    ALWAYS("max_jump_ms", .types = RUNG_FIELD_INTEGER,
           "The setting `clock.max_jump`, in milliseconds."));
static SCHEMA(ready_log_schema, "ReadyLog", "The shared log, and where this server is in it.",
              ALWAYS("end_seq", INTEGER, "Its last event, as last heard of."),
              ALWAYS("lag", INTEGER, "Events that are not applied here yet."),
              ALWAYS("silent_ms", INTEGER,
                     "How many milliseconds ago a broker last answered; 0 while they answer."));
static SCHEMA(checkpoint_schema, "Checkpoint", "The digest of a state.",
              ALWAYS("seq", INTEGER, "Of the last record that it has."),
              ALWAYS("digest", STRING, "32 hexadecimal digits."));
static SCHEMA(
    node_schema, "Node", "A server.",
    ALWAYS("id", STRING, "Kept in its data folder. Zeros: it does not share a log."),
    ALWAYS("self", FLAG, "Is it the one that answers?"),
    ALWAYS("state", ENUM("present|silent|left|diverged"),
           "`silent`: no report for three of its heartbeats; `left`: it was stopped; `diverged`: "
           "its state differs from that of the others, and it serves no more."),
    ALWAYS("address", STRING_OR_NULL, "Where it answers HTTP."),
    ALWAYS("version", STRING_OR_NULL, "Of the program."),
    ALWAYS("level", INTEGER, "The highest level of rules that it knows."),
    ALWAYS("seq", INTEGER, "Up to where it had applied the log when it reported."),
    ALWAYS("digest", OBJECT_OR_NULL(checkpoint_schema),
           "Its state now (the one that answers), or at its last checkpoint."),
    ALWAYS("disagrees", FLAG, "Its last digest that could be compared is not ours."),
    ALWAYS("heard_at", TIME_OR_NULL, "When its last report was read."));
SCHEMA(rung_nodes_schema, "Nodes", "The servers that share a log.",
       ALWAYS("shared", FLAG, "Is the log shared?"),
       ALWAYS("level", INTEGER, "The level of rules in force. See docs/boards.md, \"Levels\"."),
       ALWAYS("nodes", ARRAY(node_schema), "This one first; at most 64."), SEQ);
static SCHEMA(divergence_schema, "Divergence", "A state that is not that of the other servers.",
              ALWAYS("seq", INTEGER, "The checkpoint at which that was found."),
              ALWAYS("ours", STRING, "The digest of this server there."),
              ALWAYS("theirs", STRING, "That of most of the others."),
              ALWAYS("with_us", INTEGER, "Servers with our digest."),
              ALWAYS("with_them", INTEGER, "Servers with theirs."),
              ALWAYS("voters", INTEGER, "Servers that could tell."),
              ALWAYS("undecided", FLAG, "Nobody had a majority, so all stopped."));
SCHEMA(rung_digest_schema, "Digest", "The digest of the state, and what the servers agree on.",
       ALWAYS("digest", STRING, "Of the state at `seq`: 32 hexadecimal digits."),
       FIELD("agreed", OBJECT_OR_NULL(checkpoint_schema),
             "The last checkpoint at which more than half of the servers have our digest. With a "
             "shared log only, like the rest."),
       FIELD("agreed_at", TIME_OR_NULL, "When that checkpoint was taken."),
       FIELD("checkpoints", ARRAY(checkpoint_schema), "The last ones, newest first."),
       FIELD("diverged", OBJECT_OR_NULL(divergence_schema), "Null: all is well."), SEQ);
static SCHEMA(window_digest_schema, "WindowDigest", "The digest of a window in memory.",
              ALWAYS("kind", WORDS(rung_window_words), "Its kind."),
              ALWAYS("id", STRING, "Its id, or the season's name."),
              ALWAYS("closed", FLAG, "Is it over?"), ALWAYS("total", INTEGER, "Entries."),
              ALWAYS("digest", STRING, "Of its entries: 32 hexadecimal digits."));
SCHEMA(rung_board_digest_schema, "BoardDigest", "The digests of a board's windows.",
       ALWAYS("board", STRING, "The board's id."),
       ALWAYS("windows", ARRAY(window_digest_schema), "Those in memory."), SEQ);
SCHEMA(rung_ready_schema, "Ready", "The server answers.",
       ALWAYS("status", ENUM("ready|read_only"), "`read_only`: the disk is full; reads go on."),
       SEQ,
       ALWAYS("digest", STRING, "Of the state: servers with the same `seq` have the same digest."),
       FIELD("log", OBJECT(ready_log_schema), "Absent if the log is the server's own."),
       FIELD("warnings", STRINGS,
             "Problems for the operator while reads are answered: `log_unavailable` (no broker "
             "answers, writes wait or fail), `clock_held` (the wall clock jumped ahead and is not "
             "followed), `log_time_ahead` (the wall clock is behind the log). Absent if there are "
             "none."));
