/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and how a request's target is read by it.
 *
 * Invariants, checked by the unit test:
 *  1. No two routes match the same method and path: where one has a word, another of the same method and length may
 *     have a parameter only if it comes later in the table.
 *  2. The parameters in a path come first in `params`, in the path's order.
 *  3. Operation ids and parameters of one route are unique. */
#include "front/api/routes.h"

#include "codec/board_json.h"
#include "codec/match_json.h"
#include "front/api/handlers.h"
#include "front/api/metrics.h"
#include "front/api/schemas.h"
#include "model/board.h"
#include "model/calendar.h"
#include "model/text.h"
#include "service/matches.h"
#include "service/paging.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters ---- */

static const char *const SPREADS[] = {"width", "count", NULL};

#define PARAM(word, kind, low, high, text)                                                         \
    { .name = (word), .type = RUNG_PARAM_##kind, .min = (low), .max = (high), .doc = (text) }
#define CHOICE(word, list, text)                                                                   \
    { .name = (word), .type = RUNG_PARAM_CHOICE, .choices = (list), .doc = (text) }
#define TIME(word, text)                                                                           \
    { .name = (word), .type = RUNG_PARAM_TIME, .doc = (text) }
#define IN_PATH(word, text)                                                                        \
    {                                                                                              \
        .name = (word), .type = RUNG_PARAM_NAME, .in_path = true, .required = true, .min = 1,      \
        .max = RUNG_NAME_MAX, .doc = (text)                                                        \
    }
#define BOARD  IN_PATH("board", "The board's id.")
#define PLAYER IN_PATH("player", "The player's id; `me` with a player's token.")
#define FRIEND IN_PATH("friend", "Another player's id.")
#define MATCH                                                                                      \
    IN_PATH("match", "The id that was sent with the match, or `@` and its `seq`: `@4711`.")
#define TEAM IN_PATH("team", "The team: a value of the attribute that the board's `teams` names.")

#define REASON PARAM("reason", TEXT, 1, RUNG_REASON_MAX, "Why, for the audit trail.")

#define NUMBER(word, low, high, default_, text)                                                    \
    {                                                                                              \
        .name = (word), .type = RUNG_PARAM_COUNT, .min = (low), .max = (high),                     \
        .has_default = true, .otherwise = (default_), .doc = (text)                                \
    }
#define LIMIT  NUMBER("limit", 1, 1000, 10, "How many entries.")
#define OFFSET NUMBER("offset", 0, UINT32_MAX, 0, "How many entries to skip.")
#define AROUND                                                                                     \
    NUMBER("around", 0, 100, 5, "How many above and below; near an end, more on the other side.")
#define AROUND_SCORE NUMBER("around", 0, 100, 5, "How many above and below.")
#define FOLLOW                                                                                     \
    {                                                                                              \
        .name = "follow", .type = RUNG_PARAM_FLAG, .has_default = true,                            \
        .doc = "One way only: the friend's own list does not change."                              \
    }
#define MIN_SEQ                                                                                    \
    PARAM("min_seq", COUNT, 0, INT64_MAX,                                                          \
          "Wait until the answer reflects at least this log position; 503 if that takes too "      \
          "long, 409 if it is far ahead of the log."),                                             \
    {                                                                                              \
        .name = "latest", .type = RUNG_PARAM_FLAG, .has_default = true,                            \
        .doc = "Wait until the answer reflects everything that any server has acknowledged; "      \
               "503 if that takes too long. Where servers share a log, this adds a small record "  \
               "to it."                                                                            \
    }
#define SCOPE                                                                                      \
    PARAM("scope", TEXT, 1, RUNG_ATTRIBUTE_NAME_MAX + 1 + RUNG_NAME_MAX,                           \
          "One value of an attribute in the board's `scopes`.")
#define WINDOW                                                                                     \
    PARAM("window", TEXT, 1, RUNG_NAME_MAX,                                                        \
          "`all`, `hour`, `day`, `week`, `month`, `year` or a season's name. Default: `all`, "     \
          "or else the board's longest window, or its first season."),                             \
        PARAM("window_id", TEXT, 1, RUNG_NAME_MAX,                                                 \
              "Which window of that kind: `2026-W46`, `2026-11-15`, ... Default: the current "     \
              "one."),                                                                             \
        PARAM("on", TEXT, 1, 13,                                                                   \
              "Instead of `window_id`: a local date inside the wanted window, `2026-11-15` or "    \
              "`2026-11-15T14`.")
#define RANK CHOICE("rank", rung_rank_words, "How ranks count ties. Default: the board's style.")
#define AS_OF                                                                                      \
    PARAM("as_of", TEXT, 1, 40,                                                                    \
          "Answer as it was at that moment: a time, or a log position (`seq`). 503 "               \
          "`as_of_building` while its state is being built, 404 `as_of_too_old` before the kept "  \
          "log, 422 in the future.")
#define RANKED      WINDOW, SCOPE, RANK, MIN_SEQ, AS_OF
#define TEAM_RANKED WINDOW, RANK, MIN_SEQ, AS_OF

#define SINCE                                                                                      \
    PARAM("since", COUNT, 0, INT64_MAX,                                                            \
          "Continue after this id. The header Last-Event-ID takes precedence.")
#define ABOUT(word, text) PARAM((word), TEXT, 1, RUNG_NAME_MAX, (text))

/* ---- routes ---- */

#define PARAMS(...)                                                                                \
    .params = (const rung_param[]){__VA_ARGS__},                                                   \
    .param_count = sizeof((const rung_param[]){__VA_ARGS__}) / sizeof(rung_param)
#define JSON_BODY(s, most) .body_kind = RUNG_BODY_JSON, .body = &(s), .body_max = (most)
#define ANSWER(s, text)    .results = {{200, RUNG_TYPE_JSON, &(s), (text)}}
#define ROUTE(verb, template, name, group, who, text)                                              \
    .method = RUNG_METHOD_##verb, .path = (template), .id = (name), .tag = (group),                \
    .role = RUNG_ROLE_##who, .summary = (text)

const rung_route rung_routes[] = {
    {ROUTE(GET, "/v1/boards", "listBoards", "Boards", READ, "List boards"),
     .doc = "Definitions of the boards that the key may see, in no particular order. Follow `next` "
            "until it is null.",
     PARAMS(NUMBER("limit", 1, 1000, 100, "How many boards."),
            PARAM("cursor", COUNT, 0, UINT32_MAX, "`next` of the previous page."), MIN_SEQ),
     .flags = RUNG_IS_LIST, ANSWER(rung_board_list_schema, "A page of boards."),
     .handle = rung_api_list_boards},
    {ROUTE(PUT, "/v1/boards/{board}", "putBoard", "Boards", ADMIN, "Create or change a board"),
     .doc =
         "The body is the whole definition: omitted fields get their defaults, also if the board "
         "exists. Score type, order, columns, update and tie of an existing board cannot change.",
     PARAMS(BOARD), JSON_BODY(rung_board_schema, 64 << 10),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     .results = {{200, RUNG_TYPE_JSON, &rung_board_schema,
                  "The board existed and is now as defined."},
                 {201, RUNG_TYPE_JSON, &rung_board_schema, "The board is new."}},
     .handle = rung_api_put_board},
    {ROUTE(GET, "/v1/boards/{board}", "getBoard", "Boards", READ, "Read a definition"),
     .doc = "Every field, including defaults.", PARAMS(BOARD, MIN_SEQ, AS_OF),
     .flags = RUNG_MAY_MISS, ANSWER(rung_board_schema, "The definition."),
     .handle = rung_api_get_board},
    {ROUTE(DELETE, "/v1/boards/{board}", "deleteBoard", "Boards", ADMIN, "Delete a board"),
     .doc = "With all its entries and windows. The archive keeps what it has.",
     PARAMS(BOARD, REASON), .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS,
     ANSWER(rung_change_schema, "It is deleted."), .handle = rung_api_delete_board},

    {ROUTE(POST, "/v1/boards/{board}/replay", "beginReplay", "Boards", ADMIN,
           "Compute a board again from the log"),
     .doc = "Under another definition, or without some players or a span of time, in the "
            "background and beside the board, which goes on. Nothing changes until it is swapped "
            "in. See docs/replay.md.",
     PARAMS(BOARD), JSON_BODY(rung_new_replay_schema, 2 << 20),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE | RUNG_MAY_CONFLICT,
     .results = {{202, RUNG_TYPE_JSON, &rung_replay_schema, "It has begun."}},
     .handle = rung_api_begin_replay},
    {ROUTE(GET, "/v1/boards/{board}/replay", "getReplay", "Boards", ADMIN, "Look at a replay"),
     .doc = "How far it is, and once complete who moves where.", PARAMS(BOARD),
     .flags = RUNG_MAY_MISS, ANSWER(rung_replay_schema, "The replay."),
     .handle = rung_api_get_replay},
    {ROUTE(GET, "/v1/boards/{board}/replay/moves", "getReplayMoves", "Boards", ADMIN,
           "Export who moves"),
     .doc = "Every player of one window whose rank or score changes. Follow `next` until it is "
            "null. While the board goes on, pages are of different moments.",
     PARAMS(BOARD, WINDOW, NUMBER("limit", 1, 1000, 100, "How many players."),
            {.name = "cursor",
             .type = RUNG_PARAM_COUNT,
             .max = (INT64_C(1) << 33) - 1,
             .has_default = true,
             .doc = "`next` of the previous page."}),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_replay_moves_schema, "A page."),
     .handle = rung_api_replay_moves},
    {ROUTE(POST, "/v1/boards/{board}/replay/swap", "swapReplay", "Boards", ADMIN,
           "Put a replay in its board's place"),
     .doc = "Definition, windows, scopes and teams change in one event. The old content goes on in "
            "the background, so that `undo=true` gives it back at any time.",
     PARAMS(BOARD,
            {.name = "undo",
             .type = RUNG_PARAM_FLAG,
             .has_default = true,
             .doc = "Give the old content back."},
            REASON),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE | RUNG_MAY_CONFLICT,
     ANSWER(rung_change_schema, "They have changed places."), .handle = rung_api_swap_replay},
    {ROUTE(DELETE, "/v1/boards/{board}/replay", "dropReplay", "Boards", ADMIN, "Drop a replay"),
     .doc = "Ends it if it is running, and frees its memory. After a swap: the old content is "
            "gone, and the swap cannot be undone.",
     PARAMS(BOARD, REASON), .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "It is gone."), .handle = rung_api_drop_replay},

    {ROUTE(POST, "/v1/boards/{board}/scores", "submitScore", "Scores", SERVER, "Submit a score"),
     .doc = "Durable when answered. One submission changes all of the board's windows, scopes and "
            "teams atomically. On boards with `writers` `player` also by the player themself, with "
            "a token and the headers `Rung-Session`, `Rung-Time`, `Rung-Nonce` and "
            "`Rung-Signature`: see docs/trust.md.",
     PARAMS(BOARD), JSON_BODY(rung_submission_schema, 64 << 10),
     .flags = RUNG_MAY_SIGN | RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE | RUNG_MAY_CONFLICT,
     ANSWER(rung_outcome_schema, "Its outcome."), .handle = rung_api_submit},
    {ROUTE(POST, "/v1/boards/{board}/check", "checkScore", "Scores", SERVER, "Check a score"),
     .doc = "A dry run: what the board's limits and rules would say to this submission now. "
            "Nothing changes and nothing is logged.",
     PARAMS(BOARD), JSON_BODY(rung_submission_schema, 64 << 10),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_check_schema, "What would happen."),
     .handle = rung_api_check},
    {ROUTE(POST, "/v1/boards/{board}/rules/check", "checkRules", "Boards", ADMIN,
           "Try rules on past submissions"),
     .doc = "What other `rules`, `limits` and `review` would have said to the board's last "
            "submissions: a helper process builds the state before them again and judges each by "
            "what the ones before it would have become. Nothing changes. One at a time; the "
            "answer takes as long as reading the log, at most 20,000,000 records of it.",
     PARAMS(BOARD), JSON_BODY(rung_new_trial_schema, 64 << 10),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_trial_schema, "The result."),
     .handle = rung_api_check_rules},
    {ROUTE(POST, "/v1/scores", "submitScores", "Scores", SERVER, "Submit many scores"),
     .doc = "A JSON array (up to 10,000 submissions, 8 MiB), or NDJSON of any length as "
            "`application/x-ndjson`: one submission a line. Each has its own result, in order: a "
            "refused one does not stop the others, and each counts as one request against the "
            "key's rate. NDJSON is streamed both ways: read the results while you send.",
     .body_kind = RUNG_BODY_BATCH, .body = &rung_batch_submission_schema, .body_max = 8 << 20,
     .flags = RUNG_IS_CHANGE, ANSWER(rung_batch_result_schema, "One result for each submission."),
     .handle = rung_api_submit_many},

    {ROUTE(POST, "/v1/boards/{board}/matches", "submitMatch", "Matches", SERVER,
           "Submit a match, or many"),
     .doc = "For rating boards: all players of the match change together, durable when answered. A "
            "match counts when it arrives, also one with an older `at`. A repeated `id` is "
            "answered with `duplicate` and no players. One match is an object of up to 128 KiB. "
            "For many, send a JSON array (up to 10,000 matches, 8 MiB), or NDJSON of any length "
            "as `application/x-ndjson`: each match has its own result, in order, a refused one "
            "does not stop the others, and each counts as one request against the key's rate.",
     PARAMS(BOARD), .body_kind = RUNG_BODY_ANY, .body = &rung_match_schema, .body_max = 8 << 20,
     .each = &rung_match_result_schema,
     .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE | RUNG_MAY_CONFLICT,
     ANSWER(rung_match_answer_schema, "What it did to every player."),
     .handle = rung_api_submit_match},
    {ROUTE(GET, "/v1/boards/{board}/matches", "listMatches", "Matches", READ,
           "The last matches of a board"),
     .doc = "Newest first, with the first 16 players of each. The board keeps as many as "
            "`rating.results_kept` of its definition says. Follow `next` until it is null.",
     PARAMS(BOARD, NUMBER("limit", 1, 1000, 10, "How many matches."),
            PARAM("before", COUNT, 1, INT64_MAX, "`next` of the previous page."), MIN_SEQ),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_match_list_schema, "A page."),
     .handle = rung_api_matches},
    {ROUTE(GET, "/v1/boards/{board}/matches/{match}", "getMatch", "Matches", READ, "Read a match"),
     .doc = "With what it did to every player. 404 `match_not_found` when the board has none of "
            "that name, or none any more.",
     PARAMS(BOARD, MATCH, MIN_SEQ), .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE,
     ANSWER(rung_match_answer_read_schema, "The match."), .handle = rung_api_match},
    {ROUTE(DELETE, "/v1/boards/{board}/matches/{match}", "removeMatch", "Matches", ADMIN,
           "Remove a match"),
     .doc = "Computes the board again from the log without the match, in the background, and swaps "
            "the result in when it is complete: everybody's rating is then as if the match had "
            "never been played, and reading it gives 404. Follow it with `getReplay`, which says "
            "404 once it is done. One at a time for each board (409 `busy`); for several at once "
            "see `beginReplay`.",
     PARAMS(BOARD, MATCH, REASON),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE | RUNG_MAY_CONFLICT,
     .results = {{202, RUNG_TYPE_JSON, &rung_replay_schema, "It has begun."}},
     .handle = rung_api_remove_match},
    {ROUTE(GET, "/v1/boards/{board}/players/{player}/matches", "getResults", "Matches", READ,
           "A player's matches: the rating curve"),
     .doc = "Newest first, each with the player's rating, deviation and displayed rating before "
            "and after it, and the first 8 of the other players. Only matches that the board still "
            "knows. Follow `next` until it is null.",
     PARAMS(BOARD, PLAYER, NUMBER("limit", 1, 1000, 100, "How many matches."),
            PARAM("before", COUNT, 1, INT64_MAX, "`next` of the previous page."), MIN_SEQ),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_results_schema, "A page."),
     .handle = rung_api_results},
    {ROUTE(POST, "/v1/boards/{board}/predict", "predictMatch", "Matches", READ, "Predict a match"),
     .doc = "What the ratings say about a match that was not played yet. Players without a match "
            "count as new ones.",
     PARAMS(BOARD), JSON_BODY(rung_lineup_schema, 128 << 10),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_forecast_schema, "The prediction."),
     .handle = rung_api_predict},
    {ROUTE(GET, "/v1/boards/{board}/opponents/{player}", "getOpponents", "Matches", READ,
           "Good opponents of a player"),
     .doc = "The best matches for the player, by the ratings and their uncertainty, among the 200 "
            "neighbours above and the 200 below in the ranking asked for. A player who is not "
            "ranked there is compared by their displayed rating, one without a match as a new "
            "player.",
     PARAMS(BOARD, PLAYER, WINDOW, SCOPE, RANK, MIN_SEQ,
            NUMBER("n", 1, RUNG_OPPONENTS_MAX, 10, "How many opponents.")),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE, ANSWER(rung_opponents_schema, "The opponents."),
     .handle = rung_api_opponents},

    {ROUTE(GET, "/v1/boards/{board}/top", "getTop", "Rankings", READ, "Top of the board"),
     .doc = "Entries from `offset` on, best first, at any depth. With `version`, those of a timed "
            "snapshot, which never change: caches may keep them for a year.",
     PARAMS(
         BOARD, RANKED, LIMIT, OFFSET,
         PARAM("version", TEXT, 1, 20,
               "A timed snapshot of the board (see `versions`), or `newest`; not with `scope`."),
         PARAM(
             "page", TEXT, 1, RUNG_PAGING_TOKEN_SIZE,
             "`first`: hold the ranking as it is now, to read it page by page; then `next` of the "
             "page before. Each player is on one page, with the rank of that moment. 410 "
             "`page_expired` when it is no longer held. Not with `scope` or `offset`.")),
     .flags = RUNG_MAY_MISS | RUNG_MAY_REFUSE,
     .results = {{200, RUNG_TYPE_JSON, &rung_top_schema, "A page."},
                 {304, NULL, NULL, "Not changed since the given ETag."}},
     .handle = rung_api_top},
    {ROUTE(GET, "/v1/boards/{board}/players/{player}", "getEntry", "Rankings", READ,
           "A player and neighbours"),
     .doc = "The player's entry with those just above and below.",
     PARAMS(BOARD, PLAYER, RANKED, AROUND), .flags = RUNG_MAY_MISS,
     ANSWER(rung_around_schema, "The player among neighbours."), .handle = rung_api_around},
    {ROUTE(GET, "/v1/boards/{board}/players", "getEntries", "Rankings", READ,
           "Several players at once"),
     .doc = "One entry for each id that is ranked, in the order asked for.",
     PARAMS(BOARD, RANKED,
            {.name = "ids",
             .type = RUNG_PARAM_NAMES,
             .required = true,
             .min = 1,
             .max = 1000,
             .doc = "Ids separated by commas; a comma inside an id is sent as %2C."}),
     .flags = RUNG_MAY_MISS, ANSWER(rung_players_schema, "Their entries."),
     .handle = rung_api_players},
    {ROUTE(GET, "/v1/boards/{board}/friends/{player}", "getFriendRanking", "Rankings", READ,
           "A player among friends"),
     .doc = "The player and those they follow, ranked among themselves. Who follows whom is not "
            "public: this needs a key or the player's own token, even if the board is public.",
     PARAMS(BOARD, PLAYER, RANKED, NUMBER("limit", 1, 1000, 100, "How many entries."), OFFSET),
     .flags = RUNG_MAY_MISS | RUNG_NEEDS_KEY, ANSWER(rung_friend_ranking_schema, "The ranking."),
     .handle = rung_api_friend_ranking},
    {ROUTE(GET, "/v1/boards/{board}/at-score/{score}", "getAtScore", "Rankings", READ,
           "The rank a score would have"),
     .doc = "The rank that a new player would get with this score, and the neighbours.",
     PARAMS(BOARD,
            {.name = "score",
             .type = RUNG_PARAM_SCORE,
             .in_path = true,
             .required = true,
             .min = 1,
             .max = 64,
             .doc = "A score, exact in the board's type."},
            RANKED, AROUND_SCORE,
            PARAM("columns", SCORES, 1, RUNG_COLUMNS_MAX - 1,
                  "The further columns in the board's order, separated by commas. Default: 0.")),
     .flags = RUNG_MAY_MISS, ANSWER(rung_at_score_schema, "The place."),
     .handle = rung_api_at_score},
    {ROUTE(GET, "/v1/boards/{board}/target", "getTarget", "Rankings", READ, "The score it takes"),
     .doc =
         "For a `rank`, or for a place among the best `top_percent` percent. Give one of the two.",
     PARAMS(BOARD, WINDOW, SCOPE, MIN_SEQ, AS_OF,
            PARAM("rank", COUNT, 1, UINT32_MAX, "The rank wanted."),
            PARAM("top_percent", REAL, 0, 100,
                  "Instead of `rank`: the percentage of best entries to be among."),
            CHOICE("rank_style", rung_rank_words,
                   "How ranks count ties (`rank` of other queries). Default: the board's style.")),
     .flags = RUNG_MAY_MISS, ANSWER(rung_target_schema, "The score."), .handle = rung_api_target},
    {ROUTE(GET, "/v1/boards/{board}/count", "getCount", "Rankings", READ,
           "How many have a score in a range"),
     .doc = "Both ends are included; an omitted one is open.",
     PARAMS(BOARD, RANKED, PARAM("min", SCORE, 1, 64, "The smallest score counted."),
            PARAM("max", SCORE, 1, 64, "The largest score counted.")),
     .flags = RUNG_MAY_MISS, ANSWER(rung_count_schema, "The number."), .handle = rung_api_count},
    {ROUTE(GET, "/v1/boards/{board}/distribution", "getDistribution", "Rankings", READ,
           "Histogram and quantiles"),
     .doc = "How the scores (of the first column) are spread.",
     PARAMS(BOARD, RANKED, NUMBER("buckets", 1, 1000, 20, "How many."),
            {.name = "by",
             .type = RUNG_PARAM_CHOICE,
             .choices = SPREADS,
             .has_default = true,
             .doc = "Buckets of equal width, or of equal count."}),
     .flags = RUNG_MAY_MISS, ANSWER(rung_distribution_schema, "The distribution."),
     .handle = rung_api_distribution},
    {ROUTE(GET, "/v1/boards/{board}/movers", "getMovers", "Rankings", READ,
           "Who rose and who fell most"),
     .doc = "Exact ranks at two moments, compared in a helper process: `since` before `as_of`. "
            "Without `as_of` the later moment is the last full minute; for a `since` of six hours "
            "or more the last full ten minutes, of three days or more the last full hour. 503 "
            "`as_of_building` while the ranks are being built: ask again.",
     PARAMS(BOARD,
            {.name = "since",
             .type = RUNG_PARAM_TEXT,
             .required = true,
             .min = 2,
             .max = 10,
             .doc = "How long before: `1h`, `1d`, `1w`, `90m`; up to `366d`."},
            NUMBER("limit", 1, 1000, 10, "How many of each list."), WINDOW, SCOPE, AS_OF),
     .flags = RUNG_MAY_MISS, ANSWER(rung_movers_schema, "The movers."), .handle = rung_api_movers},
    {ROUTE(GET, "/v1/boards/{board}/scopes/{attribute}", "getScopeValues", "Rankings", READ,
           "The values of a scope"),
     .doc = "Each value of the attribute with its number of entries, the largest first. Only for "
            "windows in memory.",
     PARAMS(BOARD, IN_PATH("attribute", "An attribute in the board's `scopes`."), WINDOW, MIN_SEQ,
            NUMBER("limit", 1, 1000, 20, "How many values.")),
     .flags = RUNG_MAY_MISS, ANSWER(rung_scope_list_schema, "The values."),
     .handle = rung_api_scope_values},
    {ROUTE(GET, "/v1/boards/{board}/teams", "getTeams", "Rankings", READ, "Top of the teams"),
     .doc = "Of a board with `teams`.", PARAMS(BOARD, TEAM_RANKED, LIMIT, OFFSET),
     .flags = RUNG_MAY_MISS, ANSWER(rung_team_list_schema, "A page."), .handle = rung_api_teams},
    {ROUTE(GET, "/v1/boards/{board}/teams/{team}", "getTeam", "Rankings", READ,
           "A team and neighbours"),
     .doc = "The team with those just above and below.", PARAMS(BOARD, TEAM, TEAM_RANKED, AROUND),
     .flags = RUNG_MAY_MISS, ANSWER(rung_team_schema, "The team among neighbours."),
     .handle = rung_api_team},
    {ROUTE(GET, "/v1/boards/{board}/windows", "listWindows", "Boards", READ,
           "Open and closed windows"),
     .doc = "From memory and archive, the latest end first.",
     PARAMS(
         BOARD, CHOICE("kind", rung_window_words, "Only windows of this kind."),
         NUMBER("limit", 1, 1000, 100, "How many windows; those that end together stay together."),
         TIME("before", "Only windows that end before this time; `next` of the previous page."),
         MIN_SEQ, AS_OF),
     .flags = RUNG_MAY_MISS, ANSWER(rung_window_list_schema, "Windows."),
     .handle = rung_api_windows},
    {ROUTE(GET, "/v1/boards/{board}/versions", "listVersions", "Rankings", READ,
           "Timed snapshots of a board"),
     .doc = "Of a board with `snapshots`: the versions of a window that are kept, newest first.",
     PARAMS(BOARD, WINDOW, NUMBER("limit", 1, 1000, 100, "How many versions."), MIN_SEQ),
     .flags = RUNG_MAY_MISS, ANSWER(rung_version_list_schema, "The versions."),
     .handle = rung_api_versions},
    {ROUTE(DELETE, "/v1/boards/{board}/players/{player}", "removeEntry", "Scores", SERVER,
           "Remove an entry"),
     .doc = "From every window of the board, including archived ones.",
     PARAMS(BOARD, PLAYER, REASON), .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS,
     ANSWER(rung_change_schema, "It is removed; `changed` is false if there was none in memory."),
     .handle = rung_api_remove_entry},

    {ROUTE(PUT, "/v1/players/{player}", "putPlayer", "Players", SERVER, "Set a profile"),
     .doc = "The whole profile, replacing the old one. Changed attributes move the player between "
            "scopes and teams.",
     PARAMS(PLAYER), JSON_BODY(rung_profile_schema, 64 << 10),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE, ANSWER(rung_change_schema, "It is set."),
     .handle = rung_api_put_player},
    {ROUTE(GET, "/v1/players/{player}", "getPlayer", "Players", READ, "Read a player"),
     .doc = "Profile, ban, number of friends. A key limited to boards sees only what those boards "
            "show: name, avatar, country and the attributes they rank by.",
     PARAMS(PLAYER, MIN_SEQ), .flags = RUNG_MAY_MISS, ANSWER(rung_player_schema, "The player."),
     .handle = rung_api_get_player},
    {ROUTE(DELETE, "/v1/players/{player}", "erasePlayer", "Players", ADMIN, "Erase a player"),
     .doc =
         "Entries on all boards, profile, friendships, ban and name, in memory and in the archive.",
     PARAMS(PLAYER, REASON), .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS,
     ANSWER(rung_change_schema, "The player is erased."), .handle = rung_api_erase_player},
    {ROUTE(GET, "/v1/players/{player}/history", "getHistory", "Players", READ,
           "Rank and score over time"),
     .doc = "From the archive: exact at the ends of windows, and once a day.",
     PARAMS(PLAYER,
            {.name = "board",
             .type = RUNG_PARAM_NAME,
             .required = true,
             .min = 1,
             .max = RUNG_NAME_MAX,
             .doc = "The board's id."},
            TIME("from", "From this time on."), TIME("to", "Before this time."),
            NUMBER("limit", 1, 1000, 100, "How many points."), RANK, AS_OF),
     .flags = RUNG_MAY_MISS, ANSWER(rung_history_schema, "Points."), .handle = rung_api_history},
    {ROUTE(GET, "/v1/players/{player}/submissions", "getSubmissions", "Players", SERVER,
           "A player's submissions and their outcomes"),
     .doc =
         "From the archive, newest first: every submission that was logged, including those that "
         "a rule refused, but not malformed ones. Follow `next` until it is null.",
     PARAMS(PLAYER,
            PARAM("board", NAME, 1, RUNG_NAME_MAX,
                  "Only those for this board. Required with a key limited to boards."),
            TIME("from", "From this time on."), TIME("to", "Before this time."),
            NUMBER("limit", 1, 1000, 100, "How many submissions."),
            PARAM("before", TEXT, 1, 48, "`next` of the previous page.")),
     ANSWER(rung_sent_list_schema, "A page."), .handle = rung_api_submissions},
    {ROUTE(GET, "/v1/players/{player}/friends", "getFriends", "Players", READ,
           "Whom a player follows"),
     .doc =
         "Ids in the order of internal player numbers: mostly the order of first appearance, but "
         "numbers of erased players are reused.",
     PARAMS(PLAYER, NUMBER("limit", 1, RUNG_FRIENDS_MAX, 1000, "How many."), OFFSET, MIN_SEQ),
     .flags = RUNG_MAY_MISS, ANSWER(rung_friends_schema, "A page."),
     .handle = rung_api_get_friends},
    {ROUTE(PUT, "/v1/players/{player}/friends", "putFriends", "Players", SERVER,
           "Replace a list of friends"),
     .doc = "Replaces the whole list; both ways, unless `follow=true`.", PARAMS(PLAYER, FOLLOW),
     JSON_BODY(rung_friend_list_schema, 4 << 20), .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "It is replaced."), .handle = rung_api_put_friends},
    {ROUTE(PUT, "/v1/players/{player}/friends/{friend}", "putFriend", "Players", SERVER,
           "Make friends"),
     .doc = "Both ways, unless `follow=true`.", PARAMS(PLAYER, FRIEND, FOLLOW),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE, ANSWER(rung_change_schema, "They are friends."),
     .handle = rung_api_put_friend},
    {ROUTE(DELETE, "/v1/players/{player}/friends/{friend}", "removeFriend", "Players", SERVER,
           "End a friendship"),
     .doc = "Both ways, unless `follow=true`.", PARAMS(PLAYER, FRIEND, FOLLOW),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "They are no longer friends."), .handle = rung_api_remove_friend},
    {ROUTE(POST, "/v1/players/{player}/ban", "banPlayer", "Players", ADMIN, "Ban a player"),
     .doc = "Hides the player everywhere and refuses their scores until the ban is lifted. With "
            "`shadow` the player is not told, and goes on as if nothing had happened.",
     PARAMS(PLAYER), .body_kind = RUNG_BODY_OPTIONAL, .body = &rung_ban_schema, .body_max = 4 << 10,
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE, ANSWER(rung_change_schema, "The player is banned."),
     .handle = rung_api_ban},
    {ROUTE(DELETE, "/v1/players/{player}/ban", "unbanPlayer", "Players", ADMIN, "Lift a ban"),
     .doc = "Restores every entry exactly as it was.", PARAMS(PLAYER, REASON),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "The player is not banned."), .handle = rung_api_unban},

    {ROUTE(GET, "/v1/players/{player}/ban", "previewBan", "Players", ADMIN,
           "What a ban would change"),
     .doc = "On each board's first window: the player's rank and who would move up. For a banned "
            "player, until when.",
     PARAMS(PLAYER), .flags = RUNG_MAY_MISS, ANSWER(rung_ban_preview_schema, "The preview."),
     .handle = rung_api_ban_preview},
    {ROUTE(POST, "/v1/players/{player}/notes", "addNote", "Players", ADMIN, "Note on a player"),
     .doc = "For moderators: kept in the audit trail as the kind `noted`, with who wrote it.",
     PARAMS(PLAYER), JSON_BODY(rung_note_schema, 16 << 10),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE, ANSWER(rung_change_schema, "It is noted."),
     .handle = rung_api_note},

    {ROUTE(GET, "/v1/reviews", "listReviews", "Reviews", ADMIN, "List tentative scores"),
     .doc = "Oldest first, with the rules that they broke, the player's place and history. Follow "
            "`next` until it is null.",
     PARAMS(PARAM("board", NAME, 1, RUNG_NAME_MAX,
                  "Only those of this board. Required with a key limited to boards."),
            PARAM("player", NAME, 1, RUNG_NAME_MAX, "Only those of this player."),
            CHOICE("rule", rung_rule_words, "Only those that broke this rule."),
            NUMBER("limit", 1, 1000, 100, "How many reviews."),
            PARAM("after", TEXT, 1, 32, "`next` of the previous page.")),
     ANSWER(rung_review_list_schema, "A page."), .handle = rung_api_reviews},
    {ROUTE(POST, "/v1/reviews", "decideReviews", "Reviews", ADMIN, "Decide on several reviews"),
     .doc = "Each is an event of its own; one that fails has a `code`.",
     JSON_BODY(rung_verdicts_schema, 16 << 10),
     .flags = RUNG_IS_LIST | RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_verdict_results_schema, "What became of each."), .handle = rung_api_review_many},
    {ROUTE(POST, "/v1/reviews/{review}", "decideReview", "Reviews", ADMIN, "Decide on a review"),
     .doc = "Promote or reject the tentative score, or ban its player. `ban` needs a key for all "
            "boards.",
     PARAMS(IN_PATH("review", "The review's id.")), JSON_BODY(rung_verdict_schema, 4 << 10),
     .flags = RUNG_IS_LIST | RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "It is decided."), .handle = rung_api_review},

    {ROUTE(GET, "/v1/boards/{board}/live", "watchBoard", "Live", READ, "Watch a ranking"),
     .doc = "An endless stream: the full ranking, then changes, at most ten times per second. "
            "WebSocket on upgrade. See docs/live.md.",
     PARAMS(BOARD, WINDOW, SCOPE, RANK,
            NUMBER("limit", 1, 200, 10, "How many entries; of the top at most 100."),
            ABOUT("player", "Watch this player and their neighbours instead of the top."),
            NUMBER("around", 0, 50, 5, "With `player`: how many above and below."),
            ABOUT("friends", "Watch this player and those they follow instead of the top."), SINCE),
     .flags = RUNG_MAY_MISS | RUNG_IS_STREAM,
     .results = {{200, RUNG_TYPE_EVENTS, NULL, "Server-sent events."}},
     .handle = rung_api_board_live},
    {ROUTE(GET, "/v1/players/{player}/live", "watchPlayer", "Live", READ,
           "Watch a player on every board"),
     .doc = "An endless stream: the player's ranks on the boards that the key may see, then each "
            "change, with who passed them and whom they passed. WebSocket on upgrade. See "
            "docs/live.md.",
     PARAMS(
         PLAYER,
         PARAM("window", TEXT, 1, RUNG_NAME_MAX, "Which window of each board. Default: its first."),
         SINCE),
     .flags = RUNG_IS_STREAM, .results = {{200, RUNG_TYPE_EVENTS, NULL, "Server-sent events."}},
     .handle = rung_api_player_live},

    {ROUTE(GET, "/v1/audit", "getAudit", "Operations", ADMIN, "Read the audit trail"),
     .doc = "From the archive: who did what, why, and what was there before and after. Follow "
            "`next` until it is null. 422 without an archive.",
     PARAMS(
         PARAM("board", NAME, 1, RUNG_NAME_MAX,
               "Only records about this board. Required with a key limited to boards."),
         PARAM("player", NAME, 1, RUNG_NAME_MAX, "Only records about this player."),
         PARAM("actor", TEXT, 1, RUNG_ACTOR_TEXT_MAX, "Only what this key asked for, by its id."),
         PARAM("kind", TEXT, 1, 32, "Only records of this kind, such as `banned`."),
         TIME("from", "From this time on."), TIME("to", "Before this time."),
         {.name = "oldest_first",
          .type = RUNG_PARAM_FLAG,
          .has_default = true,
          .doc = "In the order of the log."},
         PARAM("after", TEXT, 1, 48, "`next` of the previous page."),
         NUMBER("limit", 1, 1000, 100, "How many records.")),
     .flags = RUNG_MAY_REFUSE, ANSWER(rung_audit_schema, "A page."), .handle = rung_api_audit},

    {ROUTE(GET, "/v1/keys", "listKeys", "Keys", ADMIN, "List keys"),
     .doc = "Without secrets: the server stores only hashes.",
     ANSWER(rung_key_list_schema, "All keys."), .handle = rung_api_list_keys},
    {ROUTE(POST, "/v1/keys", "createKey", "Keys", ADMIN, "Create a key"),
     .doc = "Durable and in force when answered; the key is shown only once. The first key must be "
            "an admin's for all boards: from then on every request needs a key. Keys that verify "
            "players' tokens are created with `rung keys`.",
     JSON_BODY(rung_new_key_schema, 16 << 10), .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     .results = {{201, RUNG_TYPE_JSON, &rung_key_made_schema, "The key."}},
     .handle = rung_api_create_key},
    {ROUTE(DELETE, "/v1/keys/{key}", "revokeKey", "Keys", ADMIN, "Revoke a key"),
     .doc =
         "Refused from the next request on, also on open connections. The key stays in the list. "
         "This cannot be undone.",
     PARAMS(IN_PATH("key", "The key's id.")),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_MISS | RUNG_MAY_REFUSE,
     ANSWER(rung_key_schema, "It is revoked, now or earlier."), .handle = rung_api_revoke_key},

    {ROUTE(POST, "/v1/sessions", "beginSession", "Sessions", SERVER, "Begin a player's session"),
     .doc = "The secret with which a game's client signs the player's own submissions. It is shown "
            "only here. A player has up to 4 sessions at a time: one more ends the oldest, so a "
            "new one can be handed over while the old one is still used. 422 `limit_reached` "
            "beyond 1,000,000 sessions; 422 `unsupported` without a key for sessions. See "
            "docs/trust.md.",
     JSON_BODY(rung_new_session_schema, 4 << 10), .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     .results = {{201, RUNG_TYPE_JSON, &rung_session_schema, "The session."}},
     .handle = rung_api_begin_session},
    {ROUTE(DELETE, "/v1/sessions/{session}", "endSession", "Sessions", SERVER, "End a session"),
     .doc = "What is signed with it is refused from now on, by every server.",
     PARAMS(IN_PATH("session", "The session's id."), REASON),
     .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "It is over, now or earlier."), .handle = rung_api_end_session},
    {ROUTE(DELETE, "/v1/players/{player}/sessions", "endSessions", "Sessions", SERVER,
           "End all sessions of a player"),
     .doc = "What is signed with them is refused from now on, by every server.",
     PARAMS(PLAYER, REASON), .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_change_schema, "The player has no session."), .handle = rung_api_end_sessions},

    {ROUTE(POST, "/v1/snapshot", "takeSnapshot", "Operations", ADMIN, "Begin a snapshot"),
     .doc = "The server writes it in the background; the metric `rung_snapshots_total` counts "
            "completed ones. `changed` is false if nothing happened since the last. 409 while one "
            "is being written, or before the archive has caught up.",
     .flags = RUNG_IS_CHANGE | RUNG_MAY_CONFLICT | RUNG_MAY_REFUSE,
     .results = {{202, RUNG_TYPE_JSON, &rung_change_schema, "It has begun, or none is needed."}},
     .handle = rung_api_snapshot},
    {ROUTE(GET, "/v1/snapshot", "getSnapshot", "Operations", ADMIN, "Download the newest snapshot"),
     .doc = "The file as it is on the disk, with everything that the server knows at the sequence "
            "in `Rung-Seq`; `Rung-Log` is the id of its log. `rung join` makes a data folder of "
            "it. To resume after a cut, send `Range: bytes=N-` with the `ETag` in `If-Range`: a "
            "newer snapshot is sent from its beginning. 503 while there is none yet; then one is "
            "begun.",
     .flags = RUNG_MAY_REFUSE | RUNG_HAS_RANGES,
     .results = {{200, RUNG_TYPE_BYTES, NULL, "The snapshot."},
                 {206, RUNG_TYPE_BYTES, NULL, "The part that `Range` asked for."}},
     .handle = rung_api_download_snapshot},
    {ROUTE(GET, "/v1/nodes", "listNodes", "Operations", READ, "The servers that share the log"),
     .doc = "This one first, then the others as they last reported. Without a shared log there is "
            "only this one. A server that has diverged answers this, too.",
     .flags = RUNG_IS_DIAGNOSIS, ANSWER(rung_nodes_schema, "The servers."),
     .handle = rung_api_nodes},
    {ROUTE(GET, "/v1/digest", "getDigest", "Operations", READ, "The digest of the state"),
     .doc = "Servers of one log with the same `seq` have the same digest. Where servers share a "
            "log, also what they found out by comparing theirs; a server that has diverged "
            "answers this, too.",
     PARAMS(MIN_SEQ), .flags = RUNG_IS_DIAGNOSIS, ANSWER(rung_digest_schema, "The digest."),
     .handle = rung_api_digest},
    {ROUTE(GET, "/v1/boards/{board}/digest", "getBoardDigest", "Operations", READ,
           "The digests of a board's windows"),
     .doc = "Of the windows in memory, open and closed. Two servers of one log have the same ones "
            "at the same `seq`; `rung reconcile URL URL` finds the first difference by them.",
     PARAMS(BOARD, MIN_SEQ), .flags = RUNG_IS_DIAGNOSIS | RUNG_MAY_MISS,
     ANSWER(rung_board_digest_schema, "The digests."), .handle = rung_api_board_digest},
    {ROUTE(GET, "/v1/clock", "getClock", "Operations", ADMIN, "The server's time"),
     .doc = "Whether the server follows the wall clock. See docs/operations.md, \"The clock\".",
     ANSWER(rung_clock_schema, "The time."), .handle = rung_api_clock},
    {ROUTE(POST, "/v1/clock", "acceptClock", "Operations", ADMIN, "Confirm the wall clock"),
     .doc = "After a correct jump ahead. Windows that have ended by then close, and log time never "
            "runs back. No effect if the server follows the clock already.",
     JSON_BODY(rung_accept_clock_schema, 1 << 10), .flags = RUNG_IS_CHANGE | RUNG_MAY_REFUSE,
     ANSWER(rung_clock_schema, "The time from now on."), .handle = rung_api_accept_clock},
    {ROUTE(GET, "/healthz", "getHealth", "Operations", NONE, "Is the process alive?"),
     .doc = "Always 200.", .flags = RUNG_IS_UNGUARDED | RUNG_IS_OPEN_EARLY,
     ANSWER(rung_health_schema, "It is."), .handle = rung_api_health},
    {ROUTE(GET, "/readyz", "getReady", "Operations", NONE, "Is the server ready?"),
     .doc =
         "503 until recovery is complete and a shared log is applied up to `ready.lag_max` records "
         "before its end (`progress` has the numbers), and from the moment that the server is told "
         "to stop. "
         "`warnings` lists problems for the operator.",
     PARAMS({.name = "writes",
             .type = RUNG_PARAM_FLAG,
             .has_default = true,
             .doc = "Also 503 while changes cannot be stored: no broker answers, or the disk is "
                    "full. For a load balancer that sends changes elsewhere."}),
     .flags = RUNG_IS_UNGUARDED | RUNG_IS_OPEN_EARLY, ANSWER(rung_ready_schema, "It does."),
     .handle = rung_api_ready},
    {ROUTE(GET, "/metrics", "getMetrics", "Operations", READ, "Metrics"),
     .doc = "In the Prometheus text format. A key limited to boards sees only their numbers.",
     .flags = RUNG_IS_OPEN_EARLY,
     .results = {{200, "text/plain; version=0.0.4; charset=utf-8", NULL, "Metrics."}},
     .handle = rung_api_metrics},
    {ROUTE(GET, "/openapi.json", "getOpenapi", "Operations", NONE, "This document"),
     .doc = "OpenAPI 3.1.", .flags = RUNG_IS_UNGUARDED | RUNG_IS_OPEN_EARLY,
     .results = {{200, RUNG_TYPE_JSON, NULL, "The document."}}, .handle = rung_api_openapi},
};
const uint32_t rung_route_count = RUNG_COUNT_OF(rung_routes);
_Static_assert(RUNG_COUNT_OF(rung_routes) < RUNG_METRICS_ROUTES_MAX, "each route is counted");

/* ---- finding ---- */

/* The next segment of a template or path, after its '/'; false at the end. */
static bool next_segment(const char **at, const char *end, rung_slice *out) {
    if (*at == end)
        return false;
    const char *from = *at + 1, *to = from;
    while (to < end && *to != '/')
        to++;
    *out = rung_slice_of(from, (size_t)(to - from));
    *at = to;
    return true;
}

static bool is_param(rung_slice segment) {
    return segment.len > 1 && segment.ptr[0] == '{';
}

static bool path_matches(const char *path, const rung_slice *segments, uint32_t count) {
    const char *at = path, *end = path + strlen(path);
    rung_slice expected;
    uint32_t i = 0;
    while (next_segment(&at, end, &expected)) {
        if (i == count || (!is_param(expected) && !rung_slice_eq(expected, segments[i])))
            return false;
        i++;
    }
    return i == count;
}

/* Append to a list of words in a buffer; cut off where it is full. */
static void add_word(char *list, size_t size, const char *word) {
    size_t len = strlen(list);
    snprintf(list + len, size - len, "%s%s", len ? ", " : "", word);
}

rung_status rung_route_find(rung_method method, rung_slice path, const rung_route **route_out,
                            rung_slice *segments, char allowed[RUNG_ALLOWED_MAX], rung_err *err) {
    uint32_t count;
    rung_status st = rung_url_segments(path, segments, RUNG_URL_SEGMENTS_MAX, &count, err);
    if (st == RUNG_ELIMIT)
        return RUNG_FAIL(err, RUNG_NOT_FOUND, "there is nothing at this path");
    if (st < 0)
        return st;
    if (method == RUNG_METHOD_HEAD)
        method = RUNG_METHOD_GET;
    static const char *const methods[] = {[RUNG_METHOD_GET] = "GET, HEAD",
                                          [RUNG_METHOD_POST] = "POST",
                                          [RUNG_METHOD_PUT] = "PUT",
                                          [RUNG_METHOD_DELETE] = "DELETE"};
    char others[RUNG_ALLOWED_MAX] = "";
    for (uint32_t i = 0; i < rung_route_count; i++) {
        if (!path_matches(rung_routes[i].path, segments, count))
            continue;
        if (rung_routes[i].method == method) {
            *route_out = &rung_routes[i];
            return RUNG_OK;
        }
        add_word(others, sizeof others, methods[rung_routes[i].method]);
    }
    if (!others[0])
        return RUNG_FAIL(err, RUNG_NOT_FOUND, "there is nothing at this path");
    if (allowed)
        memcpy(allowed, others, sizeof others);
    return RUNG_FAIL_WHY(err, RUNG_EUNSUPPORTED, RUNG_REASON_METHOD, "this path takes %s", others);
}

/* ---- arguments ---- */

bool rung_arg_next(rung_slice *names, rung_slice *name_out) {
    if (names->len == 0)
        return false;
    size_t len = strnlen(names->ptr, names->len);
    *name_out = rung_slice_of(names->ptr, len);
    *names = rung_slice_of(names->ptr + len + 1, names->len - len - 1);
    return true;
}

static rung_status read_text(const rung_param *p, rung_arg *arg, rung_err *err) {
    bool is_name = p->type == RUNG_PARAM_NAME;
    int64_t len = (int64_t)arg->text.len;
    if (is_name ? rung_name_is_valid(arg->text) : len >= p->min && len <= p->max)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected %lld to %lld bytes%s", p->name,
                           (long long)p->min, (long long)p->max,
                           is_name ? " of UTF-8 without control characters" : "");
}

/* Digits only: 1e3 is not a count. */
static bool is_whole(rung_slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0;
}

static rung_status read_count(const rung_param *p, rung_arg *arg, rung_err *err) {
    if (!is_whole(arg->text) || rung_text_parse_fixed(arg->text, 0, &arg->number, NULL) < 0 ||
        arg->number < p->min || arg->number > p->max)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected a whole number from %lld to %lld",
                               p->name, (long long)p->min, (long long)p->max);
    return RUNG_OK;
}

static rung_status read_real(const rung_param *p, rung_arg *arg, rung_err *err) {
    if (rung_text_parse_real(arg->text, &arg->real, NULL) < 0 || !(arg->real > (double)p->min) ||
        !(arg->real <= (double)p->max))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected a number above %lld, up to %lld",
                               p->name, (long long)p->min, (long long)p->max);
    return RUNG_OK;
}

static rung_status read_flag(const rung_param *p, rung_arg *arg, rung_err *err) {
    arg->number = rung_slice_eq(arg->text, RUNG_SLICE("true"));
    if (!arg->number && !rung_slice_eq(arg->text, RUNG_SLICE("false")))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected true or false", p->name);
    return RUNG_OK;
}

static rung_status read_choice(const rung_param *p, rung_arg *arg, rung_err *err) {
    char list[96] = "";
    for (int64_t i = 0; p->choices[i]; i++) {
        if (rung_slice_eq(arg->text, rung_slice_str(p->choices[i]))) {
            arg->number = i;
            return RUNG_OK;
        }
        add_word(list, sizeof list, p->choices[i]);
    }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected one of %s", p->name, list);
}

static rung_status read_time(const rung_param *p, rung_arg *arg, rung_err *err) {
    bool is_ms = is_whole(arg->text) &&
                 rung_text_parse_fixed(arg->text, 0, &arg->number, NULL) == RUNG_OK &&
                 arg->number < RUNG_TIME_MS_END;
    if (!is_ms && rung_time_parse(arg->text, &arg->number, NULL) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s",
                               "expected an RFC 3339 time or Unix milliseconds", p->name);
    return RUNG_OK;
}

/* Lists are read by read_list(). */
static rung_status read_arg(const rung_param *p, rung_arg *arg, rung_err *err) {
    static rung_status (*const readers[])(const rung_param *, rung_arg *, rung_err *) = {
        [RUNG_PARAM_NAME] = read_text,     [RUNG_PARAM_TEXT] = read_text,
        [RUNG_PARAM_SCORE] = read_text,    [RUNG_PARAM_COUNT] = read_count,
        [RUNG_PARAM_REAL] = read_real,     [RUNG_PARAM_FLAG] = read_flag,
        [RUNG_PARAM_CHOICE] = read_choice, [RUNG_PARAM_TIME] = read_time};
    return readers[p->type](p, arg, err);
}

rung_status rung_route_read_path(const rung_route *route, const rung_slice *segments,
                                 rung_args *args, char *scratch, rung_err *err) {
    const char *at = route->path, *end = route->path + strlen(route->path);
    rung_slice word;
    uint32_t param = 0;
    rung_err why;
    for (uint32_t i = 0; next_segment(&at, end, &word); i++) {
        if (!is_param(word))
            continue;
        const rung_param *p = &route->params[param];
        rung_arg *arg = &args->arg[param++];
        *arg = (rung_arg){.given = true};
        if (rung_url_decode(segments[i], false, scratch, &arg->text, &why) < 0)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%s", p->name, why.message);
        scratch += arg->text.len;
        rung_status st = read_arg(p, arg, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

/* ---- the query ---- */

/* Split at the first `byte`; false at the end. */
static bool cut(rung_slice *rest, char byte, rung_slice *part_out) {
    if (!rest->ptr)
        return false;
    const char *at = rest->len ? memchr(rest->ptr, byte, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
    *part_out = rung_slice_of(rest->ptr, len);
    *rest = at ? rung_slice_of(at + 1, rest->len - len - 1) : (rung_slice){NULL, 0};
    return true;
}

static const rung_param *find_param(const rung_route *route, rung_slice name, uint32_t *index_out) {
    for (uint32_t i = 0; i < route->param_count; i++)
        if (!route->params[i].in_path &&
            rung_slice_eq(name, rung_slice_str(route->params[i].name))) {
            *index_out = i;
            return &route->params[i];
        }
    return NULL;
}

/* Split at commas before decoding, so that a name can contain an encoded comma. */
static rung_status read_list(const rung_param *p, rung_slice raw, rung_arg *arg, char **scratch,
                             rung_err *err) {
    rung_slice piece, decoded;
    rung_err why;
    arg->text.ptr = *scratch;
    while (cut(&raw, ',', &piece)) {
        if (rung_url_decode(piece, true, *scratch, &decoded, &why) < 0)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%s", p->name, why.message);
        if (p->type == RUNG_PARAM_NAMES && !rung_name_is_valid(decoded))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s",
                                   "expected names of 1 to %d bytes with commas between", p->name,
                                   RUNG_NAME_MAX);
        if (p->type == RUNG_PARAM_SCORES && (decoded.len < 1 || decoded.len > 64))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected numbers with commas between",
                                   p->name);
        if (++arg->number > p->max)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected at most %lld", p->name,
                                   (long long)p->max);
        *scratch += decoded.len;
        *(*scratch)++ = 0;
    }
    arg->text.len = (size_t)(*scratch - arg->text.ptr);
    return RUNG_OK;
}

static rung_status read_pair(const rung_route *route, rung_slice pair, rung_args *args,
                             char **scratch, rung_err *err) {
    rung_slice value = pair, raw_name, name;
    uint32_t i = 0;
    rung_err why;
    cut(&value, '=', &raw_name);
    if (rung_url_decode(raw_name, true, *scratch, &name, &why) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "query", "%s", why.message);
    const rung_param *p = find_param(route, name, &i);
    if (!p) {
        bool is_plain = rung_name_is_valid(name);
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%.*s", "there is no such parameter",
                               is_plain ? (int)name.len : 5, is_plain ? name.ptr : "query");
    }
    rung_arg *arg = &args->arg[i];
    if (arg->given)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "given twice", p->name);
    *arg = (rung_arg){.given = true};
    if (p->type == RUNG_PARAM_NAMES || p->type == RUNG_PARAM_SCORES)
        return read_list(p, value.ptr ? value : RUNG_SLICE(""), arg, scratch, err);
    if (rung_url_decode(value, true, *scratch, &arg->text, &why) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%s", p->name, why.message);
    *scratch += arg->text.len;
    return read_arg(p, arg, err);
}

rung_status rung_route_read_query(const rung_route *route, rung_slice query, rung_args *args,
                                  char *scratch, rung_err *err) {
    rung_slice pair;
    for (uint32_t i = 0; i < route->param_count; i++)
        if (!route->params[i].in_path)
            args->arg[i] = (rung_arg){.number = route->params[i].otherwise};
    if (!query.len)
        query.ptr = NULL; /* no parts, instead of one empty part */
    while (cut(&query, '&', &pair)) {
        rung_status st = pair.len ? read_pair(route, pair, args, &scratch, err)
                                  : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "query", "an empty part");
        if (st < 0)
            return st;
    }
    for (uint32_t i = 0; i < route->param_count; i++)
        if (!route->params[i].in_path && route->params[i].required && !args->arg[i].given)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "required but missing",
                                   route->params[i].name);
    return RUNG_OK;
}
