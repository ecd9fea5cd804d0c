/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

const rung_command_row rung_command_table[] = {
#define X(group, id) {RUNG_GROUP_##group, &rung_command_##id},
    RUNG_COMMANDS(X)
#undef X
};

const size_t rung_command_count = sizeof rung_command_table / sizeof rung_command_table[0];

bool rung_command_is_of(const rung_command *c, const char *family) {
    size_t len = strlen(family);
    return strncmp(c->name, family, len) == 0 && c->name[len] == ' ';
}

const rung_command *rung_command_find(size_t count, const char *const *words, size_t *used_out) {
    for (size_t i = 0; count && i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i].command;
        const char *space = strchr(c->name, ' ');
        if (space
                ? count < 2 || !rung_command_is_of(c, words[0]) || strcmp(words[1], space + 1) != 0
                : strcmp(words[0], c->name) != 0)
            continue;
        *used_out = space ? 2 : 1;
        return c;
    }
    return NULL;
}
