/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/ask.h"

#include <stdlib.h>
#include <string.h>

/* The value of a metric in the text of /metrics: the sum over its labels. false: none. */
static bool find_metric(rung_slice text, const char *name, double *value_out) {
    size_t len = strlen(name);
    const char *at = text.ptr, *end = text.ptr + text.len;
    double sum = 0;
    bool is_found = false;
    for (size_t line; at < end; at += line + 1) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        line = (size_t)((stop ? stop : end) - at);
        if (line <= len || memcmp(at, name, len) != 0 || (at[len] != ' ' && at[len] != '{'))
            continue;
        const char *space = memrchr(at, ' ', line);
        char copy[64] = "";
        if (space)
            snprintf(copy, sizeof copy, "%.*s", (int)(at + line - space - 1), space + 1);
        sum += strtod(copy, NULL);
        is_found = true;
    }
    if (is_found)
        *value_out = sum;
    return is_found;
}

static uint64_t metric(rung_slice text, const char *name) {
    double value = 0;
    return find_metric(text, name, &value) && value > 0 ? (uint64_t)value : 0;
}

static void print_numbers(rung_slice m) {
    char text[256], a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX];
    double writable = 1, behind;
    snprintf(text, sizeof text, "%s boards, %s players, %s ranked entries",
             rung_count_text(metric(m, "rung_boards"), a),
             rung_count_text(metric(m, "rung_players"), b),
             rung_count_text(metric(m, "rung_entries"), c));
    rung_terminal_line("state", text);
    snprintf(text, sizeof text, "%s, of which %s for the state",
             rung_size_text(metric(m, "process_resident_memory_bytes"), a),
             rung_size_text(metric(m, "rung_state_bytes"), b));
    rung_terminal_line("memory", text);
    snprintf(text, sizeof text, "%s open, %s requests in flight, %s changes waiting for the disk",
             rung_count_text(metric(m, "rung_connections"), a),
             rung_count_text(metric(m, "rung_http_in_flight"), b),
             rung_count_text(metric(m, "rung_changes_waiting"), c));
    rung_terminal_line("connections", text);
    find_metric(m, "rung_log_writable", &writable);
    if (writable < 1)
        rung_terminal_line("log", "cannot be written: the disk is full or failed");
    if (find_metric(m, "rung_archive_behind_events", &behind)) {
        snprintf(text, sizeof text, "%s events behind", rung_count_text((uint64_t)behind, a));
        rung_terminal_line("archive", text);
    }
}

/* What /metrics says, as numbers by their names. */
static void print_json(const rung_client *c, bool is_ready, int64_t seq, rung_slice m) {
    static const char *const names[] = {
        "rung_boards",
        "rung_players",
        "rung_entries",
        "rung_state_bytes",
        "rung_connections",
        "rung_http_in_flight",
        "rung_log_writable",
        "rung_changes_waiting",
        "rung_log_durable_seq",
        "rung_snapshot_seq",
        "rung_archive_seq",
        "rung_archive_behind_events",
        "process_resident_memory_bytes",
    };
    double value;
    fputs("{\"url\":", stdout);
    rung_print_json(stdout, rung_slice_str(rung_client_url(c)));
    printf(",\"ready\":%s", is_ready ? "true" : "false");
    if (is_ready)
        printf(",\"seq\":%lld", (long long)seq);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (find_metric(m, names[i], &value))
            printf(",\"%s\":%.0f", names[i], value);
    puts("}");
}

static void print_ready(const rung_client *c, bool is_ready, rung_slice ready) {
    char text[300], count[RUNG_COUNT_TEXT_MAX];
    rung_terminal_line("server", rung_client_url(c));
    if (is_ready)
        snprintf(text, sizeof text, "%s",
                 rung_count_text((uint64_t)rung_answer_number(ready, "seq", 0), count));
    rung_terminal_line(is_ready ? "sequence" : "not ready",
                       is_ready ? text : rung_answer_member(ready, "detail", text, sizeof text));
}

static int ask_status(const rung_command *self, rung_client *client, bool is_json, bool is_quiet) {
    rung_path ready_path = {0}, metrics_path = {0};
    rung_reply ready, metrics = {0};
    rung_slice text = {"", 0};
    rung_path_add(&ready_path, "/readyz");
    rung_path_add(&metrics_path, "/metrics");
    int code = rung_ask_status(self, client, "GET", &ready_path, &ready);
    if (code)
        return code;
    bool is_ready = ready.status == 200;
    code = is_ready ? RUNG_EXIT_OK : RUNG_EXIT_PROBLEM;
    if (is_quiet)
        return code;
    if (!is_json)
        print_ready(client, is_ready, rung_reply_body(&ready)); /* the next request replaces it */
    int64_t seq = rung_answer_number(rung_reply_body(&ready), "seq", 0);
    if (rung_client_ask(client, "GET", &metrics_path, NULL, (rung_slice){0}, &metrics, NULL) ==
            RUNG_OK &&
        metrics.status == 200)
        text = rung_reply_body(&metrics);
    if (is_json)
        print_json(client, is_ready, seq, text);
    else if (text.len)
        print_numbers(text);
    return code;
}

int rung_server_status(const rung_command *self, const rung_ask_args *args, bool is_quiet) {
    rung_client *client;
    int code = rung_ask_open(self, args, &client);
    if (code)
        return code;
    code = ask_status(self, client, args->json, is_quiet);
    rung_client_destroy(client);
    return code;
}
