/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server_status.h"

#include <stdlib.h>
#include <string.h>

bool rung_metric_find(rung_slice text, const char *name, double *value_out) {
    size_t len = strlen(name);
    const char *at = text.ptr, *end = text.ptr + text.len;
    double sum = 0;
    bool is_found = false;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((stop ? stop : end) - at);
        if (line > len && memcmp(at, name, len) == 0 && (at[len] == ' ' || at[len] == '{')) {
            char copy[64];
            size_t from = line;
            while (from > 0 && at[from - 1] != ' ')
                from--;
            if (line - from >= sizeof copy)
                return false;
            memcpy(copy, at + from, line - from);
            copy[line - from] = '\0';
            sum += strtod(copy, NULL);
            is_found = true;
        }
        at += line + 1;
    }
    if (is_found)
        *value_out = sum;
    return is_found;
}

static uint64_t metric(rung_slice text, const char *name) {
    double value = 0;
    return rung_metric_find(text, name, &value) && value > 0 ? (uint64_t)value : 0;
}

static void print_numbers(rung_slice m) {
    char text[256], a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX];
    double writable = 1, behind;
    snprintf(text, sizeof text, "%s boards, %s players, %s ranked entries",
             rung_count_text(metric(m, "rung_boards"), a),
             rung_count_text(metric(m, "rung_players"), b),
             rung_count_text(metric(m, "rung_entries"), c));
    rung_terminal_line("state", text);
    snprintf(text, sizeof text, "%s, of them %s the state",
             rung_size_text(metric(m, "process_resident_memory_bytes"), a),
             rung_size_text(metric(m, "rung_state_bytes"), b));
    rung_terminal_line("memory", text);
    snprintf(text, sizeof text, "%s open, %s requests under way, %s changes waiting for the disk",
             rung_count_text(metric(m, "rung_connections"), a),
             rung_count_text(metric(m, "rung_http_in_flight"), b),
             rung_count_text(metric(m, "rung_changes_waiting"), c));
    rung_terminal_line("connections", text);
    rung_metric_find(m, "rung_log_writable", &writable);
    if (writable < 1)
        rung_terminal_line("log", "cannot be written: the disk is full, or it failed");
    if (rung_metric_find(m, "rung_archive_behind_events", &behind)) {
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
        if (rung_metric_find(m, names[i], &value))
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

int rung_server_status(const rung_command *self, const rung_ask_args *args, bool is_quiet) {
    rung_client *client;
    rung_path ready_path = {0}, metrics_path = {0};
    rung_reply ready, metrics = {0};
    rung_err err = {0};
    int code = rung_ask_open(self, args, &client);
    if (code)
        return code;
    rung_path_add(&ready_path, "/readyz");
    rung_path_add(&metrics_path, "/metrics");
    if (rung_client_ask(client, "GET", &ready_path, NULL, (rung_slice){0}, &ready, &err) < 0) {
        rung_command_fail(self, &err);
        rung_client_destroy(client);
        return RUNG_EXIT_UNREACHED;
    }
    bool is_ready = ready.status == 200;
    if (!is_quiet && !args->json)
        print_ready(client, is_ready, rung_reply_body(&ready)); /* before the next question */
    int64_t seq = rung_answer_number(rung_reply_body(&ready), "seq", 0);
    if (!is_quiet &&
        rung_client_ask(client, "GET", &metrics_path, NULL, (rung_slice){0}, &metrics, &err) < 0)
        metrics = (rung_reply){0};
    rung_slice text = metrics.status == 200 ? rung_reply_body(&metrics) : (rung_slice){"", 0};
    if (!is_quiet && args->json)
        print_json(client, is_ready, seq, text);
    else if (!is_quiet && text.len)
        print_numbers(text);
    rung_client_destroy(client);
    return is_ready ? RUNG_EXIT_OK : RUNG_EXIT_PROBLEM;
}
