/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "base/alloc.h"
#include "cli/ask.h"

#include <stdarg.h>

static bool read_words(const rung_command *self, int argc, char **argv, void *args) {
    rung_err err;
    if (rung_options_read(self->options, self->option_count, argc, argv, args, &err) == RUNG_OK)
        return true;
    rung_command_fail(self, &err);
    rung_command_print_usage(self, stderr);
    fprintf(stderr, "For details: rung help %s\n", self->name);
    return false;
}

int rung_command_run(const rung_command *self, int argc, char **argv) {
    int code = RUNG_EXIT_USAGE;
    void *args = rung_alloc_zeroed(rung_alloc_heap(), self->args_size);
    if (!args)
        return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "out of memory");
    if (read_words(self, argc, argv, args))
        code = self->run ? self->run(self, args) : rung_ask_run(self, args);
    rung_alloc_free(rung_alloc_heap(), args, self->args_size);
    return code;
}

void rung_command_print_usage(const rung_command *self, FILE *out) {
    fprintf(out, "usage: rung %s", self->name);
    rung_options_print_usage(self->options, self->option_count, out);
    fputc('\n', out);
}

int rung_command_refuse(const rung_command *self, int code, const char *format, ...) {
    va_list args;
    fflush(stdout); /* keeps the order when both streams go to one place */
    fprintf(stderr, "rung %s: ", self->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

int rung_command_fail(const rung_command *self, const rung_err *err) {
    return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "%s", err->message);
}
