/* SPDX-License-Identifier: Apache-2.0 */
/* The man page, from the tables of commands and settings. */
#include "app/config.h"
#include "cli/command.h"

#include <rung/rung.h>

#include <string.h>

/* Escape text for troff. */
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

/* A name in bold, what follows it in italics (may be NULL), and a text below. */
static void put_item(FILE *out, const char *name, const char *more, const char *text) {
    fputs(".TP\n\\fB", out);
    put_text(out, name);
    fputs("\\fR", out);
    if (more) {
        fputs(" \\fI", out);
        put_text(out, more);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_text(out, text);
    fputc('\n', out);
}

/* Indented lines are examples. */
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
        put_item(out, c->options[i].name, c->options[i].value, c->options[i].help);
    if (c->details) {
        fputs(".PP\n", out);
        put_details(out, c->details);
    }
}

static void put_settings(FILE *out) {
    char env[RUNG_SETTING_ENV_MAX], names[200], text[300];
    fputs(".SH CONFIGURATION\n", out);
    put_text(out, "Flags override the environment, which overrides the file, which overrides the\n"
                  "defaults. The file has lines \"name = value\", [sections] and # comments.\n");
    for (rung_setting_id i = 0; i < RUNG_SETTING_COUNT; i++) {
        const rung_setting *s = &rung_setting_table[i];
        snprintf(names, sizeof names, "%s, %s", rung_setting_env(i, env), s->flag);
        snprintf(text, sizeof text, *s->fallback ? "%s (default: %s)." : "%s.", s->help,
                 s->fallback);
        put_item(out, s->name, names, text);
    }
}

void rung_man_print(FILE *out) {
    const char *group = "";
    fprintf(out, ".TH RUNG 1 \"\" \"rung %s\" \"Rung\"\n", rung_version());
    fputs(".SH NAME\nrung \\- an exact leaderboard: server, client and tools\n", out);
    fputs(".SH SYNOPSIS\n.B rung\n.I COMMAND\n[...]\n", out);
    fputs(".SH DESCRIPTION\n", out);
    put_text(out,
             "Rung keeps every ranking in memory and every event in a durable log. It answers\n"
             "who is on top, and the rank and the neighbours of every player.\n");
    for (size_t i = 0; i < rung_command_count; i++) {
        const rung_command *c = rung_command_table[i].command;
        if (strcmp(group, rung_command_table[i].group) != 0) {
            group = rung_command_table[i].group;
            put_macro(out, "SH", group);
        }
        put_command(out, c);
    }
    put_settings(out);
    fputs(".SH ENVIRONMENT\n", out);
    put_text(out,
             "Commands that ask a server read its address from RUNG_URL, the key from RUNG_KEY or\n"
             "from the file RUNG_KEY_FILE, and trusted certificates from RUNG_CA_FILE.\n"
             "REDISCLI_AUTH is the password of a Redis server to import from. NO_COLOR turns\n"
             "colours off. The settings of the server are listed above.\n");
    fputs(".SH EXIT STATUS\n", out);
    put_text(out, RUNG_EXIT_CODES_TEXT ".\n");
}
