/* SPDX-License-Identifier: Apache-2.0 */
/* rung - find the command by its name and run it, or print its help. */
#include "cli/command.h"
#include "cli/terminal.h"

#include <rung/rung.h>

#include <stdio.h>
#include <string.h>

static bool is_family(const char *word) {
    for (size_t i = 0; i < rung_command_count; i++)
        if (rung_command_is_of(rung_command_table[i].command, word))
            return true;
    return false;
}

static const rung_command *find(int argc, char **argv, int *used_out) {
    size_t used = 0;
    const rung_command *c = rung_command_find((size_t)argc, (const char *const *)argv, &used);
    *used_out = (int)used;
    return c;
}

/* ---- help ---- */

static void print_command(const rung_command *c, FILE *out) {
    fprintf(out, "  %s%-14s%s %s\n", rung_terminal_color(out, RUNG_COLOR_BOLD), c->name,
            rung_terminal_color(out, RUNG_COLOR_PLAIN), c->summary);
}

static void print_family(const char *word, FILE *out) {
    for (size_t i = 0; i < rung_command_count; i++)
        if (rung_command_is_of(rung_command_table[i].command, word))
            print_command(rung_command_table[i].command, out);
}

static int print_overview(void) {
    const char *group = "";
    puts("Rung, a leaderboard: exact ranks in memory, every event in a durable log.\n\n"
         "usage: rung COMMAND ...");
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command_row *row = &rung_command_table[i];
        if (strcmp(group, row->group) != 0)
            printf("\n%s\n", row->group);
        group = row->group;
        print_command(row->command, stdout);
    }
    puts("\nrung help COMMAND explains a command, rung help --man prints the manual page,\n"
         "rung --version prints the version.\n"
         "Exit codes: " RUNG_EXIT_CODES_TEXT ".");
    return RUNG_EXIT_OK;
}

static int print_help(const rung_command *c) {
    rung_print_colored(RUNG_COLOR_BOLD, "%s", c->name);
    printf(" - %s\n\n", c->summary);
    rung_command_print_usage(c, stdout);
    if (c->option_count)
        putchar('\n');
    rung_options_print_help(c->options, c->option_count, stdout);
    if (c->details)
        printf("\n%s", c->details);
    return RUNG_EXIT_OK;
}

/* ---- running ---- */

static int refuse(const char *word) {
    if (is_family(word)) {
        fprintf(stderr, "rung %s: which one?\n", word);
        print_family(word, stderr);
    } else {
        fprintf(stderr, "rung: there is no command \"%s\"; rung help lists them\n", word);
    }
    return RUNG_EXIT_USAGE;
}

static int help(int argc, char **argv) {
    int used;
    const rung_command *c = argc ? find(argc, argv, &used) : NULL;
    if (argc == 0)
        return print_overview();
    if (argc == 1 && strcmp(argv[0], "--man") == 0) {
        rung_man_print(stdout);
        return RUNG_EXIT_OK;
    }
    if (c)
        return print_help(c);
    if (argc == 1 && is_family(argv[0])) {
        print_family(argv[0], stdout);
        return RUNG_EXIT_OK;
    }
    return refuse(argv[0]);
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int dispatch(int argc, char **argv) {
    int used;
    if (argc == 0)
        return print_overview();
    if (strcmp(argv[0], "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return print_overview();
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "version") == 0) {
        printf("rung %s\n", rung_version());
        return RUNG_EXIT_OK;
    }
    const rung_command *c = find(argc, argv, &used);
    if (!c && is_family(argv[0]) && asks_for_help(argc - 1, argv + 1))
        return help(1, argv);
    if (!c)
        return refuse(argv[0]);
    if (asks_for_help(argc - used, argv + used))
        return print_help(c);
    return rung_command_run(c, argc - used, argv + used);
}

int main(int argc, char **argv) {
    int code = dispatch(argc > 0 ? argc - 1 : 0, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) { /* a full disk must not look like success */
        fputs("rung: cannot write the output\n", stderr);
        return code ? code : RUNG_EXIT_PROBLEM;
    }
    return code;
}
