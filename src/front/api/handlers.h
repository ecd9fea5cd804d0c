/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.h - shared inside the room: what a call of each route does. routes.c names them. */
#ifndef RUNG_FRONT_API_HANDLERS_H
#define RUNG_FRONT_API_HANDLERS_H

#include "front/api/call.h"

typedef void rung_handler(rung_call *c);

/* api_boards.c */
rung_handler rung_api_list_boards, rung_api_put_board, rung_api_get_board, rung_api_delete_board,
    rung_api_windows;
/* api_scores.c, batch.c */
rung_handler rung_api_submit, rung_api_submit_many, rung_api_check, rung_api_check_rules;
/* api_matches.c */
rung_handler rung_api_submit_match, rung_api_predict, rung_api_opponents, rung_api_matches,
    rung_api_match, rung_api_results, rung_api_remove_match;
/* api_reads.c */
rung_handler rung_api_top, rung_api_around, rung_api_players, rung_api_friend_ranking,
    rung_api_at_score, rung_api_target, rung_api_count, rung_api_distribution, rung_api_movers,
    rung_api_scope_values, rung_api_teams, rung_api_team;
/* api_versions.c */
rung_handler rung_api_versions;
/* api_players.c */
rung_handler rung_api_put_player, rung_api_get_player, rung_api_erase_player, rung_api_remove_entry,
    rung_api_history, rung_api_submissions, rung_api_get_friends, rung_api_put_friends,
    rung_api_put_friend, rung_api_remove_friend, rung_api_ban, rung_api_unban;
/* api_reviews.c */
rung_handler rung_api_reviews, rung_api_review, rung_api_review_many, rung_api_note,
    rung_api_ban_preview;
/* api_live.c */
rung_handler rung_api_board_live, rung_api_player_live;
/* api_keys.c */
rung_handler rung_api_list_keys, rung_api_create_key, rung_api_revoke_key;
/* api_sessions.c */
rung_handler rung_api_begin_session, rung_api_end_session, rung_api_end_sessions;
/* api_audit.c */
rung_handler rung_api_audit;
rung_handler rung_api_begin_replay, rung_api_get_replay, rung_api_replay_moves,
    rung_api_swap_replay, rung_api_drop_replay;
/* api_nodes.c */
rung_handler rung_api_nodes, rung_api_digest, rung_api_board_digest;
/* api_snapshot.c */
rung_handler rung_api_download_snapshot;
/* api_ops.c */
rung_handler rung_api_snapshot, rung_api_clock, rung_api_accept_clock, rung_api_health,
    rung_api_ready, rung_api_metrics, rung_api_openapi;

#endif
