/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

const rung_command *const rung_command_table[] = {
#define X(id) &rung_command_##id,
    RUNG_COMMANDS(X)
#undef X
};

const size_t rung_command_count = sizeof rung_command_table / sizeof rung_command_table[0];
