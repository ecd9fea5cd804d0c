/* SPDX-License-Identifier: Apache-2.0 */
/* Every command, in the order of the overview. */
#include "cli/command.h"

const rung_command *const rung_command_table[] = {
    /* the server */
    &rung_command_serve,
    &rung_command_config_check,
    &rung_command_config_show,
    &rung_command_keys_create,
    &rung_command_keys_list,
    &rung_command_keys_revoke,
    &rung_command_clock_show,
    &rung_command_clock_accept,
    &rung_command_demo,
    /* boards and players */
    &rung_command_top,
    &rung_command_rank,
    &rung_command_submit,
    &rung_command_watch,
    &rung_command_board_list,
    &rung_command_board_show,
    &rung_command_board_create,
    &rung_command_board_delete,
    &rung_command_player_show,
    &rung_command_player_set,
    &rung_command_player_ban,
    &rung_command_player_unban,
    &rung_command_player_friends,
    /* many scores */
    &rung_command_import,
    &rung_command_export,
    /* data folders */
    &rung_command_status,
    &rung_command_snapshot,
    &rung_command_backup,
    &rung_command_restore,
    &rung_command_log_cat,
    &rung_command_log_verify,
    &rung_command_log_repair,
    /* help */
    &rung_command_completion,
};

const size_t rung_command_count = sizeof rung_command_table / sizeof rung_command_table[0];
