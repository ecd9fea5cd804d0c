/* SPDX-License-Identifier: Apache-2.0 */
/* schemas.h - schemas of bodies and answers: tables to read bodies and to document both.
 *
 * Board definitions are in board_json.h. Bodies are read by these tables. Answers are written by hand (answers.h),
 * and a test checks them against the tables. Constant data. */
#ifndef RUNG_FRONT_API_SCHEMAS_H
#define RUNG_FRONT_API_SCHEMAS_H

#include "codec/schema.h"

/* bodies */
enum {
    SCORE_PLAYER,
    SCORE_SCORE,
    SCORE_DELTA,
    SCORE_COLUMNS,
    SCORE_AT,
    SCORE_ID,
    SCORE_META,
    SCORE_ATTESTED,
    SCORE_BOARD,
    SCORE_FIELDS
};
extern const rung_schema rung_submission_schema;       /* without the board */
extern const rung_schema rung_batch_submission_schema; /* with it */
enum { ATTESTED_DURATION, ATTESTED_SEED, ATTESTED_REPLAY, ATTESTED_FIELDS };
extern const rung_schema rung_attested_schema;
enum { PROFILE_NAME, PROFILE_AVATAR, PROFILE_COUNTRY, PROFILE_GUILD, PROFILE_FIELDS };
extern const rung_schema rung_profile_schema;
enum { FRIENDS_FRIENDS, FRIENDS_FIELDS };
extern const rung_schema rung_friend_list_schema;
enum { BAN_REASON, BAN_UNTIL, BAN_SHADOW, BAN_FIELDS };
extern const rung_schema rung_ban_schema;
enum { VERDICT_VERDICT, VERDICT_REASON, VERDICT_FIELDS };
extern const rung_schema rung_verdict_schema;
enum { VERDICTS_IDS = VERDICT_FIELDS, VERDICTS_FIELDS };
extern const rung_schema rung_verdicts_schema;
enum { NOTE_NOTE, NOTE_FIELDS };
extern const rung_schema rung_note_schema;

enum { SESSION_PLAYER, SESSION_LIFE, SESSION_FIELDS };
extern const rung_schema rung_new_session_schema, rung_session_schema;

enum { EXCLUDE_PLAYERS, EXCLUDE_FROM, EXCLUDE_TO, EXCLUDE_MATCHES, EXCLUDE_FIELDS };
extern const rung_schema rung_replay_exclude_schema;
enum { REPLAY_DEFINITION, REPLAY_EXCLUDE, REPLAY_FIELDS };
extern const rung_schema rung_new_replay_schema;

enum { TRIAL_RULES, TRIAL_LIMITS, TRIAL_REVIEW, TRIAL_LAST, TRIAL_FIELDS };
extern const rung_schema rung_new_trial_schema, rung_trial_schema;

enum { CLOCK_ACCEPT, CLOCK_FIELDS };
extern const rung_schema rung_accept_clock_schema;
enum { KEY_ROLE, KEY_BOARDS, KEY_LABEL, KEY_EXPIRES, KEY_RATE, KEY_FIELDS };
extern const rung_schema rung_new_key_schema;

/* answers */
extern const rung_schema rung_review_list_schema, rung_verdict_results_schema,
    rung_ban_preview_schema;
extern const rung_schema rung_replay_schema, rung_replay_moves_schema;
extern const rung_schema rung_problem_schema, rung_board_list_schema, rung_outcome_schema,
    rung_check_schema, rung_batch_result_schema, rung_top_schema, rung_around_schema,
    rung_players_schema, rung_friend_ranking_schema, rung_at_score_schema, rung_target_schema,
    rung_count_schema, rung_distribution_schema, rung_movers_schema, rung_team_list_schema,
    rung_team_schema, rung_window_list_schema, rung_change_schema, rung_player_schema,
    rung_friends_schema, rung_history_schema, rung_sent_list_schema, rung_audit_schema,
    rung_scope_list_schema, rung_version_list_schema, rung_key_list_schema, rung_key_made_schema,
    rung_key_schema, rung_clock_schema, rung_nodes_schema, rung_digest_schema, rung_health_schema,
    rung_ready_schema, rung_match_answer_schema, rung_match_result_schema, rung_forecast_schema,
    rung_opponents_schema, rung_match_list_schema, rung_match_answer_read_schema,
    rung_results_schema;
extern const rung_schema rung_board_digest_schema;

#endif
