/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.h - shared inside the room: what a call of each route does. routes.c names them. */
#ifndef RUNG_FRONT_API_HANDLERS_H
#define RUNG_FRONT_API_HANDLERS_H

#include "front/api/call.h"

void rung_api_list_boards(rung_call *c);
void rung_api_put_board(rung_call *c);
void rung_api_get_board(rung_call *c);
void rung_api_delete_board(rung_call *c);
void rung_api_windows(rung_call *c);
void rung_api_submit(rung_call *c);
void rung_api_submit_many(rung_call *c);
void rung_api_remove_entry(rung_call *c);
void rung_api_top(rung_call *c);
void rung_api_around(rung_call *c);
void rung_api_players(rung_call *c);
void rung_api_friend_ranking(rung_call *c);
void rung_api_at_score(rung_call *c);
void rung_api_target(rung_call *c);
void rung_api_count(rung_call *c);
void rung_api_distribution(rung_call *c);
void rung_api_scope_values(rung_call *c);
void rung_api_teams(rung_call *c);
void rung_api_team(rung_call *c);
void rung_api_put_player(rung_call *c);
void rung_api_get_player(rung_call *c);
void rung_api_erase_player(rung_call *c);
void rung_api_history(rung_call *c);
void rung_api_submissions(rung_call *c);
void rung_api_get_friends(rung_call *c);
void rung_api_put_friends(rung_call *c);
void rung_api_put_friend(rung_call *c);
void rung_api_remove_friend(rung_call *c);
void rung_api_ban(rung_call *c);
void rung_api_unban(rung_call *c);
void rung_api_board_live(rung_call *c);
void rung_api_player_live(rung_call *c);
void rung_api_list_keys(rung_call *c);
void rung_api_create_key(rung_call *c);
void rung_api_revoke_key(rung_call *c);
void rung_api_snapshot(rung_call *c);
void rung_api_clock(rung_call *c);
void rung_api_accept_clock(rung_call *c);
void rung_api_health(rung_call *c);
void rung_api_ready(rung_call *c);
void rung_api_metrics(rung_call *c);
void rung_api_openapi(rung_call *c);

#endif
