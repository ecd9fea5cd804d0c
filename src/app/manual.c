/* SPDX-License-Identifier: Apache-2.0 */
/* The man page, from the table of commands and the table of settings: it cannot say other than --help does. */
#include "app/config.h"
#include "cli/command.h"

#include <rung/rung.h>

#include <string.h>

/* Text for troff: a backslash and a dash mean something there, and so do a dot and a quote at the start of a line. */
static void put_text(FILE *out, const char *text) {
    for (bool is_start = true; *text; is_start = *text++ == '\n') {
        if (is_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void put_macro(FILE *out, const char *macro, const char *text) {
    fprintf(out, ".%s ", macro);
    put_text(out, text);
    fputc('\n', out);
}

static void put_option(FILE *out, const rung_option *o) {
    fputs(".TP\n\\fB", out);
    put_text(out, o->name);
    fputs("\\fR", out);
    if (o->value) {
        fputs(" \\fI", out);
        put_text(out, o->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_text(out, o->help);
    fputc('\n', out);
}

/* Details are written for a terminal: lines that begin with blanks are examples and stay as they are. */
static void put_details(FILE *out, const char *text) {
    bool is_example = false;
    char line[256];
    while (*text) {
        size_t len = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
        bool was_example = is_example;
        is_example = line[0] == ' ';
        if (is_example != was_example)
            fputs(is_example ? ".nf\n" : ".fi\n", out);
        if (line[0] == '\0') {
            fputs(".PP\n", out);
        } else {
            put_text(out, line);
            fputc('\n', out);
        }
    }
    if (is_example)
        fputs(".fi\n", out);
}

static void put_command(FILE *out, const rung_command *c) {
    char usage[512] = "";
    FILE *to = fmemopen(usage, sizeof usage - 1, "w");
    if (to) {
        rung_command_print_usage(c, to);
        fclose(to);
    }
    usage[strcspn(usage, "\n")] = '\0';
    char name[64];
    snprintf(name, sizeof name, "rung %s", c->name);
    put_macro(out, "SS", name);
    put_text(out, c->summary);
    fputs(".\n.PP\n.nf\n", out);
    put_text(out, usage);
    fputs("\n.fi\n", out);
    for (size_t i = 0; i < c->option_count; i++)
        put_option(out, &c->options[i]);
    if (*c->details) {
        fputs(".PP\n", out);
        put_details(out, c->details);
    }
}

static void put_settings(FILE *out) {
    fputs(".SH CONFIGURATION\n", out);
    put_text(out, "A setting is given by flag, environment, file or default, in this order. The "
                  "file has lines\n"
                  "\"name = value\", [sections] and # comments.\n");
    for (size_t i = 0; i < RUNG_SETTING_COUNT; i++) {
        const rung_setting *s = &rung_setting_table[i];
        fputs(".TP\n\\fB", out);
        put_text(out, s->name);
        fputs("\\fR, ", out);
        put_text(out, s->env);
        fputs(", ", out);
        put_text(out, s->flag);
        fputc('\n', out);
        put_text(out, s->help);
        fputs(*s->fallback ? " (default: " : ".\n", out);
        if (*s->fallback) {
            put_text(out, s->fallback);
            fputs(").\n", out);
        }
    }
}

void rung_man_print(FILE *out) {
    const char *group = "";
    fprintf(out, ".TH RUNG 1 \"\" \"rung %s\" \"Rung\"\n", rung_version());
    fputs(".SH NAME\nrung \\- an exact leaderboard: server, client and tools\n", out);
    fputs(".SH SYNOPSIS\n.B rung\n.I COMMAND\n[...]\n", out);
    fputs(".SH DESCRIPTION\n", out);
    put_text(out, "Rung keeps every ranking in memory and every event in a durable log, and "
                  "answers who is on\n"
                  "top, where a player stands and who is just above, for every player.\n");
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i];
        if (strcmp(group, c->group) != 0) {
            group = c->group;
            put_macro(out, "SH", group);
        }
        put_command(out, c);
    }
    put_settings(out);
    fputs(".SH ENVIRONMENT\n", out);
    put_text(
        out,
        "RUNG_URL names the server for commands that ask one, RUNG_KEY the key, RUNG_KEY_FILE a\n"
        "file that holds it, RUNG_CA_FILE certificates to trust. REDISCLI_AUTH is the password of\n"
        "a Redis server to import from. NO_COLOR turns colours off. The settings of the server "
        "are\n"
        "listed above.\n");
    fputs(".SH EXIT STATUS\n", out);
    put_text(out, RUNG_EXIT_CODES_TEXT ".\n");
}
