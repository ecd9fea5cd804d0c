/* SPDX-License-Identifier: Apache-2.0 */
/* rung export: a ranking as CSV or NDJSON, page by page. What it writes, rung import reads. */
#include "cli/ask.h"
#include "cli/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 1000 };

typedef struct export_args {
    rung_view_args view;
    const char *board, *format, *output;
} export_args;

static const rung_option export_options[] = {
    RUNG_OPERAND(export_args, board, "BOARD", "the board"),
    RUNG_OPTION_TEXT(export_args, format, "--format", "csv|ndjson", "(default csv)"),
    RUNG_OPTION_TEXT(export_args, output, "--output", "FILE",
                     "write here instead of standard output"),
    RUNG_VIEW_OPTIONS,
    RUNG_READ_OPTIONS,
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

typedef struct exporting {
    const rung_command *self;
    const export_args *args;
    rung_client *client;
    FILE *out;
    bool is_csv, has_head;
    uint64_t count, total;
    int64_t first_seq, last_seq;
    char page
        [128]; /* of the next page; empty: pages by offset, as the board is when each is asked for */
    bool is_held; /* all pages are of one moment */
    rung_progress progress;
} exporting;

/* ---- rows ---- */

static void print_text(const exporting *e, rung_slice raw) {
    char text[1024];
    rung_csv_print(e->out, rung_slice_str(rung_answer_text(raw, text, sizeof text)));
}

/* The names of the further columns are those of the first entry. */
static void print_head(const exporting *e, rung_slice entry) {
    static rung_answer_items it;
    rung_slice columns, raw;
    fputs("rank,player,score", e->out);
    if (rung_answer_find(entry, "columns", &columns))
        for (rung_answer_begin(&it, columns); rung_answer_next(&it, &raw);) {
            fputc(',', e->out);
            rung_csv_print(e->out, rung_slice_str(it.key));
        }
    fputs(",at\n", e->out);
}

static void print_csv(const exporting *e, rung_slice entry) {
    static rung_answer_items it;
    static const char *const names[] = {"rank", "player", "score"};
    rung_slice raw, columns;
    for (size_t i = 0; i < 3; i++) {
        rung_answer_find(entry, names[i], &raw);
        fputs(i ? "," : "", e->out);
        print_text(e, raw);
    }
    if (rung_answer_find(entry, "columns", &columns))
        for (rung_answer_begin(&it, columns); rung_answer_next(&it, &raw);) {
            fputc(',', e->out);
            print_text(e, raw);
        }
    rung_answer_find(entry, "at", &raw);
    fputc(',', e->out);
    print_text(e, raw);
    fputc('\n', e->out);
}

static void print_ndjson(const exporting *e, rung_slice entry) {
    static const char *const names[] = {"rank", "player", "score", "columns", "at"};
    rung_slice raw;
    for (size_t i = 0; i < 5; i++)
        if (rung_answer_find(entry, names[i], &raw))
            fprintf(e->out, "%s\"%s\":%.*s", i ? "," : "{", names[i], (int)raw.len, raw.ptr);
    fputs("}\n", e->out);
}

static void print_entry(exporting *e, rung_slice entry) {
    if (e->is_csv && !e->has_head)
        print_head(e, entry);
    e->has_head = true;
    if (e->is_csv)
        print_csv(e, entry);
    else
        print_ndjson(e, entry);
    e->count++;
}

/* ---- pages ---- */

/* Pages of one moment: of a ranking of all players, in memory, at a server that knows them. */
static bool may_hold(const exporting *e) {
    return !e->args->view.scope && !e->args->view.ask.as_of;
}

static int ask_page(exporting *e, rung_reply *reply) {
    rung_path path = {0};
    bool is_later = *e->page && strcmp(e->page, "first") != 0;
    if (is_later)
        rung_ask_path(e->self, "/v1/boards/{BOARD}/top", e->args, &path);
    else
        rung_ask_path(e->self, "/v1/boards/{BOARD}/top?" RUNG_VIEW_QUERY "," RUNG_PAST_QUERY,
                      e->args, &path);
    rung_path_query_number(&path, "limit", PAGE);
    rung_path_query(&path, "page", *e->page ? e->page : NULL);
    if (!*e->page)
        rung_path_query_number(&path, "offset", e->count);
    if (strcmp(e->page, "first") != 0)
        return rung_ask_for(e->self, e->client, "GET", &path, (rung_slice){0}, reply);
    int code = rung_ask_status(e->self, e->client, "GET", &path, reply);
    if (code || reply->status < 300)
        return code;
    e->page[0] = '\0'; /* an older server, or a window from the archive */
    return ask_page(e, reply);
}

static int export_page(exporting *e, bool *more_out) {
    static rung_answer_items it;
    rung_reply reply;
    rung_slice entries, entry;
    uint64_t before = e->count;
    int code = ask_page(e, &reply);
    if (code)
        return code;
    rung_slice body = rung_reply_body(&reply);
    e->last_seq = rung_answer_number(body, "seq", 0);
    e->first_seq = before == 0 ? e->last_seq : e->first_seq;
    e->total = (uint64_t)rung_answer_number(body, "total", 0);
    if (rung_answer_find(body, "entries", &entries))
        for (rung_answer_begin(&it, entries); rung_answer_next(&it, &entry);)
            print_entry(e, entry);
    *more_out = e->count - before == PAGE;
    if (*e->page) {
        e->is_held = true;
        rung_answer_member(body, "next", e->page, sizeof e->page);
        *more_out = *e->page != '\0';
    }
    rung_progress_show(&e->progress, "export", e->count, e->total);
    return RUNG_EXIT_OK;
}

static int export_all(exporting *e) {
    bool is_more = true;
    int code = RUNG_EXIT_OK;
    while (code == RUNG_EXIT_OK && is_more)
        code = export_page(e, &is_more);
    rung_progress_end(&e->progress);
    if (code == RUNG_EXIT_OK && e->is_csv && !e->has_head)
        fputs("rank,player,score,at\n", e->out);
    if (code == RUNG_EXIT_OK && !e->is_held && e->first_seq != e->last_seq && e->count > PAGE)
        rung_command_refuse(e->self, code,
                            "the board changed during the export (sequence %" PRId64 " to %" PRId64
                            "): entries that moved\nbetween pages may be missing or duplicated. A "
                            "closed window, or a restored backup, does not change.",
                            e->first_seq, e->last_seq);
    return code;
}

static int finish(exporting *e, int code) {
    char text[RUNG_COUNT_TEXT_MAX];
    bool is_bad = fflush(e->out) != 0 || ferror(e->out);
    if (e->out != stdout)
        is_bad |= fclose(e->out) != 0;
    if (code)
        return code;
    if (is_bad)
        return rung_command_refuse(e->self, RUNG_EXIT_PROBLEM, "cannot write the output");
    if (e->out != stdout)
        printf("%s entries in %s\n", rung_count_text(e->count, text), e->args->output);
    return RUNG_EXIT_OK;
}

static int export(const rung_command *self, rung_client *client, void *arguments) {
    const export_args *args = arguments;
    exporting e = {.self = self, .args = args, .client = client, .out = stdout};
    if (may_hold(&e))
        snprintf(e.page, sizeof e.page, "first");
    e.is_csv = !args->format || strcmp(args->format, "csv") == 0;
    if (!e.is_csv && strcmp(args->format, "ndjson") != 0)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--format: expected csv or ndjson");
    if (args->output && !(e.out = fopen(args->output, "we")))
        return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "cannot open %.120s: %s", args->output,
                                   strerror(errno));
    return finish(&e, export_all(&e));
}

const rung_command rung_command_export = {
    .name = "export",
    .summary = "write a ranking as CSV or NDJSON",
    .details = "Reads the ranking of one moment, in pages of 1,000, also while it changes. Of a\n"
               "scope, or a window from the archive, pages are read one by one: it warns if the\n"
               "board changed meanwhile.\n"
               "rung import reads the output.\n"
               "\n"
               "  rung export race --window week --window-id 2026-W46 > week.csv\n",
    RUNG_OPTIONS(export_args, export_options),
    .ask = export,
};
