/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

bool rung_command_read(const rung_command *self, int argc, char **argv, void *args) {
    rung_err err;
    if (rung_options_read(self->options, self->option_count, argc, argv, args, &err) == RUNG_OK)
        return true;
    fprintf(stderr, "rung %s: %s\n", self->name, err.message);
    rung_command_print_usage(self, stderr);
    fprintf(stderr, "rung help %s tells more.\n", self->name);
    return false;
}

void rung_command_print_usage(const rung_command *self, FILE *out) {
    fprintf(out, "usage: rung %s", self->name);
    rung_options_print_usage(self->options, self->option_count, out);
    fputc('\n', out);
}

int rung_command_fail(const rung_command *self, const rung_err *err) {
    fflush(stdout); /* so that the two come in order where they go to one place */
    fprintf(stderr, "rung %s: %s\n", self->name, err->message);
    return RUNG_EXIT_PROBLEM;
}
