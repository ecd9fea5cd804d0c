/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

#include <stdlib.h>
#include <string.h>

int rung_ask_open(const rung_command *self, const rung_ask_args *args, rung_client **client_out) {
    rung_err err = {0};
    rung_client_config config = {
        .url = args->url, .key_file = args->key_file, .ca_file = args->ca_file};
    rung_status st = rung_client_create(&config, client_out, &err);
    if (st == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return st == RUNG_EINVAL ? RUNG_EXIT_USAGE : RUNG_EXIT_PROBLEM;
}

int rung_ask_run(const rung_command *self, void *args) {
    rung_client *client;
    int code = rung_ask_open(self, args, &client);
    if (code)
        return code;
    code = self->ask ? self->ask(self, client, args)
                     : rung_question_send(self, client, self->question, args);
    rung_client_destroy(client);
    return code;
}

int rung_ask_fail(const rung_command *self, const rung_reply *reply) {
    char code[64], detail[512];
    rung_slice body = rung_reply_body(reply);
    rung_answer_member(body, "code", code, sizeof code);
    rung_answer_member(body, "detail", detail, sizeof detail);
    rung_answer_cut_place(detail);
    for (char *p = detail; *p; p++) /* a server's text may be a stranger's */
        *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
    rung_command_refuse(self, RUNG_EXIT_PROBLEM, "%s (%ld%s%s)",
                        *detail ? detail : "the server refused", reply->status, *code ? " " : "",
                        code);
    if (reply->status == 401)
        fputs("Give a key with RUNG_KEY or --key-file. rung keys create makes one.\n", stderr);
    return RUNG_EXIT_PROBLEM;
}

static int ask(const rung_command *self, rung_client *c, const char *method, const rung_path *path,
               const char *type, rung_slice body, rung_reply *reply_out) {
    rung_err err = {0};
    rung_status st = rung_client_ask(c, method, path, type, body, reply_out, &err);
    if (st >= 0)
        return RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return st == RUNG_EIO ? RUNG_EXIT_UNREACHED : RUNG_EXIT_PROBLEM;
}

int rung_ask_for(const rung_command *self, rung_client *c, const char *method,
                 const rung_path *path, rung_slice body, rung_reply *reply_out) {
    int code = ask(self, c, method, path, NULL, body, reply_out);
    return code || reply_out->status < 300 ? code : rung_ask_fail(self, reply_out);
}

int rung_ask_status(const rung_command *self, rung_client *c, const char *method,
                    const rung_path *path, rung_reply *reply_out) {
    return ask(self, c, method, path, NULL, (rung_slice){0}, reply_out);
}

int rung_ask_submit(const rung_command *self, rung_client *c, rung_slice lines,
                    rung_reply *reply_out) {
    rung_path path = {0};
    rung_path_add(&path, "/v1/scores");
    return ask(self, c, "POST", &path, "application/x-ndjson", lines, reply_out);
}

/* ---- one request as data ---- */

static const void *field_of(const rung_option *o, const void *args) {
    return (const char *)args + o->offset;
}

/* The option or operand of that name; in a query, without its dashes. The table always has it. */
static const rung_option *option_named(const rung_command *self, rung_slice name, bool is_query) {
    for (size_t i = 0; i < self->option_count; i++) {
        const char *known =
            self->options[i].name + (is_query ? strspn(self->options[i].name, "-") : 0);
        if (rung_slice_eq(rung_slice_str(known), name))
            return &self->options[i];
    }
    return NULL;
}

/* One item of the query: "limit", "window-id", "around=2". */
static void add_parameter(const rung_command *self, rung_path *path, rung_slice item,
                          const void *args) {
    char name[32], *equals;
    snprintf(name, sizeof name, "%.*s", (int)item.len, item.ptr);
    if ((equals = strchr(name, '=')))
        *equals = '\0';
    const rung_option *o = option_named(self, rung_slice_str(name), true);
    for (char *p = name; *p; p++)
        *p = *p == '-' ? '_' : *p;
    if (o->kind == RUNG_OPTION_IS_TEXT) {
        rung_path_query(path, name, *(const char *const *)field_of(o, args));
    } else if (o->kind == RUNG_OPTION_IS_FLAG) {
        rung_path_query(path, name, *(const bool *)field_of(o, args) ? "true" : NULL);
    } else {
        uint64_t number = *(const uint64_t *)field_of(o, args);
        rung_path_query_number(path, name, number);
        rung_path_query(path, name, !number && equals ? equals + 1 : NULL);
    }
}

void rung_ask_path(const rung_command *self, const char *text, const void *args, rung_path *path) {
    char literal[64];
    for (; *text && *text != '?'; text += strcspn(text, "}") + 1) {
        size_t len = strcspn(text, "{?"), name = strcspn(text + len, "}");
        snprintf(literal, sizeof literal, "%.*s", (int)len, text);
        rung_path_add(path, literal);
        text += len;
        if (*text != '{')
            break;
        const rung_option *o = option_named(self, rung_slice_of(text + 1, name - 1), false);
        rung_path_name(path, *(const char *const *)field_of(o, args));
    }
    for (text += *text == '?'; *text; text += *text == ',') {
        size_t len = strcspn(text, ",");
        add_parameter(self, path, rung_slice_of(text, len), args);
        text += len;
    }
}

int rung_question_send(const rung_command *self, rung_client *c, const rung_question *q,
                       const void *args) {
    rung_path path = {0};
    rung_reply reply;
    rung_json_writer body = {.alloc = rung_alloc_heap()};
    rung_ask_path(self, q->path, args, &path);
    if (q->write)
        q->write(&body, args);
    int code = rung_ask_for(self, c, q->method, &path, rung_json_written(&body), &reply);
    if (code == RUNG_EXIT_OK && ((const rung_ask_args *)args)->json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        q->print(rung_reply_body(&reply), args);
    rung_json_writer_deinit(&body);
    return code;
}

/* ---- bodies and answers ---- */

void rung_value_write(rung_json_writer *w, rung_slice text) {
    rung_json r;
    rung_slice number;
    rung_json_init_at(&r, text, NULL, 0, NULL);
    if (rung_json_number(&r, &number) == RUNG_OK && rung_json_end(&r) == RUNG_OK)
        rung_json_write_raw(w, number);
    else
        rung_json_write_string(w, text);
}

void rung_reply_print(const rung_reply *reply) {
    fwrite(reply->body, 1, reply->len, stdout);
    if (reply->len == 0 || reply->body[reply->len - 1] != '\n')
        putchar('\n');
}

void rung_change_print(rung_slice answer, const void *args) {
    (void)args;
    puts(rung_answer_is_true(answer, "changed") ? "changed" : "unchanged");
}

void rung_value_print(rung_slice raw) {
    char text[600];
    rung_print_word(stdout, rung_slice_str(rung_answer_text(raw, text, sizeof text)));
}

void rung_member_print(const char *name, rung_slice raw) {
    rung_print_colored(RUNG_COLOR_DIM, "%-12s", name);
    putchar(' ');
    rung_value_print(raw);
    putchar('\n');
}

/* ---- rankings ---- */

void rung_ranking_print_title(rung_slice answer) {
    char text[300];
    rung_slice raw;
    fputs(rung_terminal_color(stdout, RUNG_COLOR_BOLD), stdout);
    rung_answer_find(answer, "board", &raw);
    rung_value_print(raw);
    rung_answer_member(answer, "window", text, sizeof text);
    if (strcmp(text, "all") != 0) {
        printf(", %s ", text);
        rung_answer_find(answer, "window_id", &raw);
        rung_value_print(raw);
    }
    if (rung_answer_find(answer, "scope", &raw)) {
        fputs(", ", stdout);
        rung_value_print(raw);
    }
    printf("%s: ", rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
    if (rung_answer_find(answer, "count", &raw)) /* friends: how many of them have an entry */
        printf("%s of ", rung_answer_amount(raw, text, sizeof text));
    rung_answer_find(answer, "total", &raw);
    rung_answer_amount(raw, text, sizeof text);
    printf("%s %s%s\n", text, strcmp(text, "1") == 0 ? "entry" : "entries",
           rung_answer_is_true(answer, "closed") ? ", closed" : "");
}

static const rung_table_column entry_columns[] = {
    {"rank", true},  {"player", false},    {"name", false},
    {"score", true}, {"percentile", true}, {"since", false},
};

/* "4,200", or "4,200 / 17 / 3" with more columns. */
static const char *score_text(rung_slice entry, char out[192]) {
    rung_slice raw, item;
    rung_answer_find(entry, "score", &raw);
    rung_answer_amount(raw, out, 64);
    if (!rung_answer_find(entry, "columns", &raw))
        return out;
    static rung_answer_items it; /* large; one thread */
    for (rung_answer_begin(&it, raw); rung_answer_next(&it, &item);) {
        size_t len = strlen(out);
        if (len + 48 > 192)
            break;
        snprintf(out + len, 192 - len, " / ");
        rung_answer_amount(item, out + len + 3, 192 - len - 3);
    }
    return out;
}

static void add_entry(rung_table *t, rung_slice entry, bool is_marked) {
    char text[192], name[300];
    rung_slice raw;
    rung_answer_find(entry, "rank", &raw);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_answer_amount(raw, text, sizeof text));
    rung_answer_member(entry, "player", name, sizeof name);
    rung_table_word(t, is_marked ? RUNG_COLOR_ACCENT : RUNG_COLOR_PLAIN, rung_slice_str(name));
    rung_answer_member(entry, "name", name, sizeof name);
    if (*name)
        rung_table_word(t, RUNG_COLOR_PLAIN, rung_slice_str(name));
    else
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", "");
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", score_text(entry, text));
    rung_answer_member(entry, "percentile", text, sizeof text);
    if (*text)
        rung_table_cell(t, RUNG_COLOR_DIM, "%.2f %%", strtod(text, NULL));
    else
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", "");
    rung_answer_member(entry, "at", text, sizeof text);
    text[strcspn(text, ".Z")] = '\0'; /* without fractions of a second */
    rung_table_cell(t, RUNG_COLOR_DIM, "%s", text);
    if (is_marked)
        rung_table_mark(t);
}

static void add_entries(rung_table *t, rung_slice answer, const char *name, const char *marked) {
    rung_answer_items it;
    rung_slice entries, entry;
    char player[300];
    if (!rung_answer_find(answer, name, &entries))
        return;
    for (rung_answer_begin(&it, entries); rung_answer_next(&it, &entry);) {
        rung_answer_member(entry, "player", player, sizeof player);
        add_entry(t, entry, marked && strcmp(player, marked) == 0);
    }
}

void rung_ranking_print(rung_slice answer, const char *marked) {
    enum { NAME = 2 };
    rung_slice entry;
    rung_ranking_print_title(answer);
    rung_table *t = rung_table_begin(sizeof entry_columns / sizeof entry_columns[0], entry_columns);
    add_entries(t, answer, "above", NULL);
    if (rung_answer_find(answer, "entry", &entry))
        add_entry(t, entry, true);
    add_entries(t, answer, "below", NULL);
    add_entries(t, answer, "entries", marked);
    rung_table_drop_empty(t, NAME);
    rung_table_print(t, stdout);
}
