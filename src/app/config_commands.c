/* SPDX-License-Identifier: Apache-2.0 */
/* rung config check, show: the settings a server would use, and where they come from. */
#include "app/config.h"
#include "archive/postgres/url.h"
#include "base/alloc.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "front/net/tls.h"
#include "service/access.h"

#include <string.h>

typedef struct config_args {
    rung_setting_flags settings;
    bool json, markdown, example;
} config_args;

static const rung_option check_options[] = {RUNG_SETTING_OPTIONS};

static const rung_option show_options[] = {
    RUNG_SETTING_OPTIONS RUNG_OPTION_FLAG(config_args, json, "--json", "print one JSON object"),
    RUNG_OPTION_FLAG(config_args, example, "--example",
                     "print a configuration file with every setting explained"),
    RUNG_OPTION_FLAG(config_args, markdown, "--markdown",
                     "print the table of docs/configuration.md"),
};

/* ---- check ---- */

/* Check the files that the settings name. */
static rung_status check_files(const rung_settings *s, rung_err *err) {
    char path[4096];
    rung_access *access = NULL;
    rung_tls *tls = NULL;
    rung_access_config config = {.alloc = rung_alloc_heap(),
                                 .path = rung_settings_keys_path(s, path, sizeof path),
                                 .public_boards = s->public_boards};
    rung_status st = rung_access_create(&config, &access, err);
    if (st == RUNG_OK)
        st = rung_settings_check_reach(s, access, err);
    if (st == RUNG_OK && s->tls_cert)
        st = rung_tls_create(rung_alloc_heap(), s->tls_cert, s->tls_key, &tls, err);
    rung_tls_destroy(tls);
    rung_access_destroy(access);
    return st;
}

static int run_check(const rung_command *self, void *args) {
    rung_settings settings;
    rung_err err = {0};
    rung_status st = rung_settings_load_flags(&settings, args, &err);
    if (st == RUNG_OK)
        st = check_files(&settings, &err);
    size_t given = 0;
    for (size_t i = 0; i < RUNG_SETTING_COUNT; i++)
        given += settings.sources[i] != RUNG_SETTING_FROM_DEFAULT;
    if (st == RUNG_OK)
        printf("fine: %zu settings given, %zu by default; %s%s\n", given,
               RUNG_SETTING_COUNT - given, settings.file ? "file " : "no file",
               settings.file ? settings.file : "");
    rung_settings_deinit(&settings);
    return st == RUNG_OK ? RUNG_EXIT_OK : rung_command_fail(self, &err);
}

const rung_command rung_command_config_check = {
    .name = "config check",
    .summary = "check a server's configuration",
    .details = "Reads file, environment, flags, keys and certificate as rung serve does, and\n"
               "changes nothing. Exit code 1 if a server would not start; the message names the\n"
               "place and the setting.\n"
               "\n"
               "  rung config check --config /etc/rung/rung.conf && systemctl restart rung\n",
    RUNG_OPTIONS(rung_setting_flags, check_options),
    .run = run_check,
};

/* ---- show ---- */

static void show_member(const char *before, const char *name, const char *value,
                        const char *origin) {
    printf("%s\"%s\":{\"value\":", before, name);
    rung_print_json(stdout, rung_slice_str(value));
    fputs(",\"from\":", stdout);
    rung_print_json(stdout, rung_slice_str(origin));
    putchar('}');
}

/* The settings of the sections [ingest.NAME], as rows of a table; without one, as members of a JSON object. */
static void show_ingests(const rung_settings *s, rung_table *t) {
    for (uint32_t i = 0; i < s->ingest_count; i++)
        for (int k = 0; k < RUNG_INGEST_SETTING_COUNT; k++) {
            const rung_ingest_settings *set = &s->ingests[i];
            char name[96], origin[192] = "default";
            snprintf(name, sizeof name, "ingest.%s.%s", set->name,
                     rung_ingest_setting_table[k].name);
            if (set->lines[k])
                snprintf(origin, sizeof origin, "%.120s:%u", s->file, set->lines[k]);
            if (t) {
                rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", name);
                rung_table_cell(t, set->lines[k] ? RUNG_COLOR_BOLD : RUNG_COLOR_PLAIN, "%s",
                                *set->texts[k] ? set->texts[k] : "-");
                rung_table_cell(t, RUNG_COLOR_DIM, "%s", origin);
            } else {
                show_member(",", name, set->texts[k], origin);
            }
        }
}

/* A setting for people: the address of a database without its password. */
static const char *shown_text(const rung_settings *s, int i) {
    static rung_postgres_url url;
    const char *text = s->texts[i];
    if (i != RUNG_SETTING_archive || !rung_postgres_url_is(text))
        return text;
    return rung_postgres_url_parse(text, &url, NULL) == RUNG_OK ? url.shown : "postgres://";
}

static void show_table(const rung_settings *s) {
    static const rung_table_column columns[] = {
        {"setting", false}, {"value", false}, {"from", false}};
    char origin[192];
    rung_table *t = rung_table_begin(3, columns);
    for (int i = 0; i < RUNG_SETTING_COUNT; i++) {
        bool is_given = s->sources[i] != RUNG_SETTING_FROM_DEFAULT;
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_setting_table[i].name);
        rung_table_cell(t, is_given ? RUNG_COLOR_BOLD : RUNG_COLOR_PLAIN, "%s",
                        *s->texts[i] ? shown_text(s, i) : "-");
        rung_table_cell(t, RUNG_COLOR_DIM, "%s",
                        rung_setting_origin(s, (rung_setting_id)i, origin, sizeof origin));
    }
    show_ingests(s, t);
    rung_table_print(t, stdout);
}

static void show_json(const rung_settings *s) {
    char origin[192];
    for (int i = 0; i < RUNG_SETTING_COUNT; i++)
        show_member(i ? "," : "{", rung_setting_table[i].name, shown_text(s, i),
                    rung_setting_origin(s, (rung_setting_id)i, origin, sizeof origin));
    show_ingests(s, NULL);
    puts("}");
}

/* Length of "limits" in "limits.body"; 0 without a section. */
static size_t section_len(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

static bool begins_section(int i) {
    const char *name = rung_setting_table[i].name;
    size_t len = section_len(name);
    return len && (i == 0 || strncmp(rung_setting_table[i - 1].name, name, len + 1) != 0);
}

/* A section, or a commented one for the operator to fill in. */
static void show_example_ingest(const rung_ingest_settings *set) {
    printf("\n%s[ingest.%s]\n", set ? "" : "# ", set ? set->name : "NAME");
    for (int k = 0; k < RUNG_INGEST_SETTING_COUNT; k++) {
        const rung_setting *row = &rung_ingest_setting_table[k];
        const char *text = set ? set->texts[k] : row->fallback;
        printf("# %s\n%s%s =%s%s\n", row->help, set && set->lines[k] ? "" : "# ", row->name,
               *text ? " " : "", text);
    }
}

static void show_example(const rung_settings *s) {
    puts("# Configuration of a Rung server: rung serve --config FILE; docs/configuration.md "
         "explains.");
    for (int i = 0; i < RUNG_SETTING_COUNT; i++) {
        const rung_setting *row = &rung_setting_table[i];
        size_t len = section_len(row->name);
        if (begins_section(i))
            printf("\n[%.*s]", (int)len, row->name);
        bool is_given = s->sources[i] != RUNG_SETTING_FROM_DEFAULT;
        printf("\n# %s\n%s%s =%s%s\n", row->help, is_given ? "" : "# ",
               row->name + (len ? len + 1 : 0), *s->texts[i] ? " " : "", shown_text(s, i));
    }
    for (uint32_t i = 0; i < s->ingest_count; i++)
        show_example_ingest(&s->ingests[i]);
    if (!s->ingest_count)
        show_example_ingest(NULL);
}

static void show_cell(const char *text) {
    for (; *text; text++)
        printf(*text == '|' ? "\\%c" : "%c", *text);
    fputs(" |", stdout);
}

/* The table of [ingest.NAME] follows that of all other settings. */
static void show_markdown_ingest(void) {
    puts("\n### [ingest.NAME]\n\n"
         "A section for each foreign topic ([ingest.md](ingest.md)), in the file only.\n\n"
         "| setting | default | value | |\n|---|---|---|---|");
    for (int k = 0; k < RUNG_INGEST_SETTING_COUNT; k++) {
        const rung_setting *row = &rung_ingest_setting_table[k];
        printf("| `%s` | %s%s%s | ", row->name, *row->fallback ? "`" : "", row->fallback,
               *row->fallback ? "`" : "");
        show_cell(row->word);
        putchar(' ');
        show_cell(row->help);
        putchar('\n');
    }
}

static void show_markdown(void) {
    char env[RUNG_SETTING_ENV_MAX];
    puts("| setting | default | environment | flag | |\n|---|---|---|---|---|");
    for (int i = 0; i < RUNG_SETTING_COUNT; i++) {
        const rung_setting *row = &rung_setting_table[i];
        printf("| `%s` | %s%s%s | `%s` | `%s` | ", row->name, *row->fallback ? "`" : "",
               row->fallback, *row->fallback ? "`" : "", rung_setting_env((rung_setting_id)i, env),
               row->flag);
        show_cell(row->help);
        putchar('\n');
    }
    show_markdown_ingest();
}

static int run_show(const rung_command *self, void *arguments) {
    const config_args *args = arguments;
    rung_settings settings;
    rung_err err = {0};
    rung_status st = rung_settings_load_flags(&settings, &args->settings, &err);
    if (st == RUNG_OK && args->json)
        show_json(&settings);
    else if (st == RUNG_OK && args->example)
        show_example(&settings);
    else if (st == RUNG_OK && args->markdown)
        show_markdown();
    else if (st == RUNG_OK)
        show_table(&settings);
    rung_settings_deinit(&settings);
    return st == RUNG_OK ? RUNG_EXIT_OK : rung_command_fail(self, &err);
}

const rung_command rung_command_config_show = {
    .name = "config show",
    .summary = "show every setting, its value and where it comes from",
    .details = "Flags override the environment, which overrides the file, which overrides the\n"
               "defaults. To start a configuration file:\n"
               "\n"
               "  rung config show --example --data /var/lib/rung > rung.conf\n",
    RUNG_OPTIONS(config_args, show_options),
    .run = run_show,
};
