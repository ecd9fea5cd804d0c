/* SPDX-License-Identifier: Apache-2.0 */
#include "support/options.h"

#include "support/stopwatch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_count(const char *text, uint64_t *out) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    uint64_t unit = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : *end == 'G' ? 1000000000 : 1;
    if (end[unit > 1] != '\0' || value > UINT64_MAX / unit)
        return false;
    *out = value * unit;
    return true;
}

static _Noreturn void help(const bench_options *o, const char *program, const char *purpose,
                           const bench_option *own) {
    printf("%s: %s\n\n  %s [switches] [sizes]     sizes as 500k, 10M; default:", program, purpose,
           program);
    for (size_t i = 0; i < o->size_count; i++)
        printf(" %s", bench_count_label(o->sizes[i]).text);
    printf("\n\n");
    for (; own->name; own++)
        printf("  %-10s %-6s %s\n", own->name,
               own->kind == BENCH_NUMBER ? "N"
               : own->kind == BENCH_TEXT ? "TEXT"
                                         : "",
               own->help);
    printf("  --rounds   N      how often everything is measured; the median counts (now %llu)\n",
           (unsigned long long)o->rounds);
    printf("  --seed     N      for all that is random\n");
    printf("  --write           put the result into docs/benchmarks.md\n");
    printf(
        "  --markdown FILE   put the result into this page, between the markers of the section\n");
    printf("  --section  NAME   which section (now %s)\n", o->section);
    exit(0);
}

static const bench_option *find_option(const bench_option *list, const char *name) {
    while (list->name && strcmp(list->name, name) != 0)
        list++;
    return list->name ? list : NULL;
}

static const char *need_value(int argc, char **argv, int *i) {
    if (*i + 1 >= argc)
        bench_die("%s needs a value", argv[*i]);
    return argv[++*i];
}

static void note(bench_options *o, const char *word) {
    size_t len = strlen(o->command);
    snprintf(o->command + len, sizeof o->command - len, "%s%s", len ? " " : "", word);
}

/* A switch of the benchmark or a number all of them know; these are worth repeating. False when it is neither. */
static bool parse_switch(const bench_option *option, int argc, char **argv, int *i,
                         bench_options *o) {
    if (!option)
        return false;
    note(o, argv[*i]);
    if (option->kind == BENCH_FLAG) {
        *(bool *)option->target = true;
        return true;
    }
    const char *name = argv[*i], *value = need_value(argc, argv, i);
    if (option->kind == BENCH_TEXT)
        *(const char **)option->target = value;
    else if (!parse_count(value, option->target))
        bench_die("%s: %s is not a count", name, value);
    note(o, value);
    return true;
}

void bench_options_parse(bench_options *o, int argc, char **argv, const char *purpose,
                         const bench_option *own) {
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];
    const bench_option common[] = {{"--rounds", BENCH_NUMBER, &o->rounds, NULL},
                                   {"--seed", BENCH_NUMBER, &o->seed, NULL},
                                   {0}};
    size_t given = 0;
    if (!strncmp(program, "bench_", 6)) { /* as people start it */
        note(o, "./dev bench");
        note(o, program + 6);
    } else {
        note(o, program);
    }
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (parse_switch(find_option(own, arg), argc, argv, &i, o) ||
            parse_switch(find_option(common, arg), argc, argv, &i, o))
            continue;
        if (!strcmp(arg, "--help")) {
            help(o, program, purpose, own);
        } else if (!strcmp(arg, "--write")) {
            o->markdown = "docs/benchmarks.md";
        } else if (!strcmp(arg, "--markdown")) {
            o->markdown = need_value(argc, argv, &i);
        } else if (!strcmp(arg, "--section")) {
            o->section = need_value(argc, argv, &i);
        } else if (given < BENCH_SIZES_MAX && parse_count(arg, &o->sizes[given])) {
            note(o, arg);
            o->size_count = ++given;
        } else {
            bench_die("what is %s? See --help", arg);
        }
    }
    if (o->rounds == 0)
        bench_die("at least one round");
}

int bench_options_finish(const bench_options *o, const bench_report *r) {
    bench_report_print(r);
    if (!o->markdown)
        return 0;
    const char *why = bench_report_splice(r, o->markdown, o->section);
    if (why)
        bench_die("%s, section %s: %s", o->markdown, o->section, why);
    bench_progress("written to %s, section %s", o->markdown, o->section);
    return 0;
}
