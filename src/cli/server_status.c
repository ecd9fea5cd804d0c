/* SPDX-License-Identifier: Apache-2.0 */
/* rung status of a server, from /readyz and /metrics; of the servers that it has heard of in a shared log, from
 * /v1/nodes; and of its peers, from the /readyz of each. */
#define _GNU_SOURCE
#include "cli/ask.h"

#include <stdlib.h>
#include <string.h>

enum { SERVERS_MAX = 64, URL_MAX = 512 };

/* What /readyz of one server says. */
typedef struct server_row {
    char url[URL_MAX], state[64], digest[40], detail[256];
    bool is_ready, has_log;
    uint64_t seq, lag;
    int64_t silent_ms;
} server_row;

static void read_row(server_row *row, const rung_reply *reply) {
    rung_slice body = rung_reply_body(reply), log;
    row->is_ready = reply->status == 200;
    rung_answer_member(body, row->is_ready ? "status" : "code", row->state, sizeof row->state);
    rung_answer_member(body, "detail", row->detail, sizeof row->detail);
    rung_answer_member(body, "digest", row->digest, sizeof row->digest);
    row->seq = (uint64_t)rung_answer_number(body, "seq", 0);
    row->has_log = rung_answer_find(body, "log", &log);
    row->lag = (uint64_t)rung_answer_number(body, "log.lag", 0);
    row->silent_ms = rung_answer_number(body, "log.silent_ms", 0);
}

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
    if (find_metric(m, "rung_ingest_behind_records", &behind)) {
        snprintf(text, sizeof text, "%s records behind, %s applied, %s dead letters",
                 rung_count_text((uint64_t)behind, a),
                 rung_count_text(metric(m, "rung_ingest_applied_total"), b),
                 rung_count_text(metric(m, "rung_ingest_dead_letters_total"), c));
        rung_terminal_line("ingest", text);
    }
}

/* What /metrics says, as numbers by their names. */
static void print_json_numbers(rung_slice m) {
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
        "rung_log_end_seq",
        "rung_log_lag_events",
        "rung_log_silent_seconds",
        "rung_snapshot_seq",
        "rung_archive_seq",
        "rung_archive_behind_events",
        "rung_ingest_behind_records",
        "rung_ingest_applied_total",
        "rung_ingest_dead_letters_total",
        "process_resident_memory_bytes",
    };
    double value;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (find_metric(m, names[i], &value))
            printf(",\"%s\":%.0f", names[i], value);
}

/* The members of a server, without braces. */
static void print_json_row(const server_row *row) {
    fputs("\"url\":", stdout);
    rung_print_json(stdout, rung_slice_str(row->url));
    printf(",\"ready\":%s,\"state\":", row->is_ready ? "true" : "false");
    rung_print_json(stdout, rung_slice_str(row->state));
    if (row->is_ready) {
        printf(",\"seq\":%llu,\"digest\":", (unsigned long long)row->seq);
        rung_print_json(stdout, rung_slice_str(row->digest));
    }
    if (row->has_log)
        printf(",\"lag\":%llu,\"silent_ms\":%lld", (unsigned long long)row->lag,
               (long long)row->silent_ms);
}

static void print_json_servers(const server_row *rows, size_t count) {
    fputs(",\"servers\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",{" : "{", stdout);
        print_json_row(&rows[i]);
        putchar('}');
    }
    putchar(']');
}

static void print_ready(const server_row *row) {
    char text[160], a[RUNG_COUNT_TEXT_MAX];
    rung_terminal_line("server", row->url);
    if (!row->is_ready) {
        rung_terminal_line("not ready", row->detail);
        return;
    }
    rung_terminal_line("sequence", rung_count_text(row->seq, a));
    rung_terminal_line("digest", row->digest);
    if (row->has_log) {
        snprintf(text, sizeof text, "shared; this server is %s events behind",
                 rung_count_text(row->lag, a));
        rung_terminal_line("log", text);
    }
    if (row->silent_ms > 0) {
        snprintf(text, sizeof text, "no broker has answered for %lld seconds: changes are refused",
                 (long long)(row->silent_ms + 999) / 1000);
        rung_terminal_line("", text);
    }
}

/* ---- several servers ---- */

static void add_row(rung_table *t, const server_row *row) {
    char count[RUNG_COUNT_TEXT_MAX];
    rung_color color = row->is_ready ? RUNG_COLOR_GOOD : RUNG_COLOR_BAD;
    rung_table_word(t, RUNG_COLOR_PLAIN, rung_slice_str(row->url));
    rung_table_word(t, color, rung_slice_str(row->state));
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    row->is_ready ? rung_count_text(row->seq, count) : "");
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    row->has_log ? rung_count_text(row->lag, count) : "");
    rung_table_word(t, RUNG_COLOR_DIM, rung_slice_str(row->digest));
    if (row->silent_ms > 0)
        rung_table_cell(t, RUNG_COLOR_BAD, "%lld s", (long long)(row->silent_ms + 999) / 1000);
    else
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", "");
}

static void print_servers(const server_row *rows, size_t count) {
    static const rung_table_column columns[] = {{"server", false},  {"state", false},
                                                {"sequence", true}, {"behind", true},
                                                {"digest", false},  {"silent", true}};
    rung_table *t = rung_table_begin(6, columns);
    for (size_t i = 0; i < count; i++)
        add_row(t, &rows[i]);
    rung_table_drop_empty(t, 5);
    putchar('\n');
    rung_table_print(t, stdout);
}

/* Two servers at the same sequence with different digests: NULL if there are none. */
static const server_row *find_different(const server_row *rows, size_t count,
                                        const server_row **other_out) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (rows[i].is_ready && rows[j].is_ready && rows[i].seq == rows[j].seq &&
                strcmp(rows[i].digest, rows[j].digest) != 0) {
                *other_out = &rows[j];
                return &rows[i];
            }
    return NULL;
}

/* ---- servers heard of in the log ---- */

static void add_node(rung_table *t, rung_slice node) {
    char text[300], heard[40];
    rung_answer_member(node, "state", text, sizeof text);
    bool is_good = strcmp(text, "present") == 0 && !rung_answer_is_true(node, "disagrees");
    rung_table_word(t, RUNG_COLOR_PLAIN,
                    rung_slice_str(rung_answer_member(node, "address", heard, sizeof heard)));
    rung_table_cell(t, is_good ? RUNG_COLOR_GOOD : RUNG_COLOR_BAD, "%s%s", text,
                    rung_answer_is_true(node, "disagrees") ? ", disagrees" : "");
    rung_table_word(t, RUNG_COLOR_PLAIN,
                    rung_slice_str(rung_answer_member(node, "version", text, sizeof text)));
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    rung_count_text((uint64_t)rung_answer_number(node, "seq", 0), text));
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    rung_count_text((uint64_t)rung_answer_number(node, "digest.seq", 0), text));
    rung_table_word(t, RUNG_COLOR_DIM,
                    rung_slice_str(rung_answer_member(node, "digest.digest", text, sizeof text)));
    rung_table_word(t, RUNG_COLOR_DIM,
                    rung_slice_str(rung_answer_member(node, "heard_at", heard, sizeof heard)));
    if (rung_answer_is_true(node, "self"))
        rung_table_mark(t);
}

/* A server that is not ready does not say whether it shares its log. */
static bool knows_nodes(const server_row *row) {
    return row->has_log || !row->is_ready;
}

/* The array of /v1/nodes; empty: the server does not share its log, or does not tell. */
static rung_slice ask_nodes(rung_client *client) {
    rung_path path = {0};
    rung_reply reply = {0};
    rung_slice nodes = {"", 0};
    rung_path_add(&path, "/v1/nodes");
    if (rung_client_ask(client, "GET", &path, NULL, (rung_slice){0}, &reply, NULL) == RUNG_OK &&
        reply.status == 200)
        rung_answer_find(rung_reply_body(&reply), "nodes", &nodes);
    return nodes;
}

static void print_nodes(rung_slice nodes) {
    static const rung_table_column columns[] = {
        {"node", false},     {"state", false},  {"version", false}, {"sequence", true},
        {"digest at", true}, {"digest", false}, {"heard", false}};
    rung_answer_items it;
    rung_slice node;
    rung_table *t = rung_table_begin(7, columns);
    for (rung_answer_begin(&it, nodes); rung_answer_next(&it, &node);)
        add_node(t, node);
    putchar('\n');
    rung_table_print(t, stdout);
}

static bool has_bad_node(rung_slice nodes) {
    char state[32];
    rung_answer_items it;
    rung_slice node;
    for (rung_answer_begin(&it, nodes); nodes.len && rung_answer_next(&it, &node);)
        if (rung_answer_is_true(node, "disagrees") ||
            strcmp(rung_answer_member(node, "state", state, sizeof state), "diverged") == 0)
            return true;
    return false;
}

/* ---- the verdict ---- */

static int judge(const server_row *rows, size_t count, bool is_json) {
    const server_row *other, *one = find_different(rows, count, &other);
    int code = one ? RUNG_EXIT_PROBLEM : RUNG_EXIT_OK;
    if (one && !is_json) {
        rung_print_colored(RUNG_COLOR_BAD,
                           "different states at sequence %llu: ", (unsigned long long)one->seq);
        printf("%s and %s\n", other->url, one->url);
    }
    for (size_t i = 0; i < count; i++)
        if (!rows[i].is_ready)
            code = RUNG_EXIT_PROBLEM;
    return code;
}

static void ask_peer(const rung_ask_args *args, server_row *row) {
    rung_client_config config = {
        .url = row->url, .key_file = args->key_file, .ca_file = args->ca_file};
    rung_client *client = NULL;
    rung_path path = {0};
    rung_reply reply;
    rung_path_add(&path, "/readyz");
    if (rung_client_create(&config, &client, NULL) < 0 ||
        rung_client_ask(client, "GET", &path, NULL, (rung_slice){0}, &reply, NULL) < 0)
        snprintf(row->state, sizeof row->state, "not reached");
    else
        read_row(row, &reply);
    rung_client_destroy(client);
}

/* `peers`: URLs with commas between them. Returns how many rows there are then. */
static size_t ask_peers(const rung_ask_args *args, const char *peers, server_row *rows) {
    size_t count = 1;
    while (*peers && count < SERVERS_MAX) {
        size_t len = strcspn(peers, ",");
        server_row *row = &rows[count];
        *row = (server_row){0};
        snprintf(row->url, sizeof row->url, "%.*s", (int)len, peers);
        if (len > 0 && strcmp(row->url, rows[0].url) != 0) {
            ask_peer(args, row);
            count++;
        }
        peers += len + (peers[len] == ',');
    }
    return count;
}

/* ---- the command ---- */

static int ask_status(const rung_command *self, rung_client *client, server_row *row) {
    rung_path path = {0};
    rung_reply reply;
    rung_path_add(&path, "/readyz");
    int code = rung_ask_status(self, client, "GET", &path, &reply);
    if (code)
        return code;
    snprintf(row->url, sizeof row->url, "%s", rung_client_url(client));
    read_row(row, &reply);
    return RUNG_EXIT_OK;
}

static rung_slice ask_metrics(rung_client *client) {
    rung_path path = {0};
    rung_reply reply = {0};
    rung_path_add(&path, "/metrics");
    if (rung_client_ask(client, "GET", &path, NULL, (rung_slice){0}, &reply, NULL) == RUNG_OK &&
        reply.status == 200)
        return rung_reply_body(&reply);
    return (rung_slice){"", 0};
}

/* Each request replaces the answer to the one before. Returns whether a node heard of in the log is wrong. */
static bool print_text(rung_client *client, const server_row *rows, size_t count) {
    print_ready(&rows[0]);
    rung_slice metrics = ask_metrics(client);
    if (metrics.len)
        print_numbers(metrics);
    rung_slice nodes = knows_nodes(&rows[0]) ? ask_nodes(client) : (rung_slice){"", 0};
    if (nodes.len)
        print_nodes(nodes);
    if (count > 1)
        print_servers(rows, count);
    return has_bad_node(nodes);
}

static bool print_json(rung_client *client, const server_row *rows, size_t count) {
    putchar('{');
    print_json_row(&rows[0]);
    print_json_numbers(ask_metrics(client));
    rung_slice nodes = knows_nodes(&rows[0]) ? ask_nodes(client) : (rung_slice){"", 0};
    if (nodes.len)
        printf(",\"nodes\":%.*s", (int)nodes.len, nodes.ptr);
    if (count > 1)
        print_json_servers(rows, count);
    puts("}");
    return has_bad_node(nodes);
}

int rung_server_status(const rung_command *self, const rung_ask_args *args, const char *peers,
                       bool is_quiet) {
    static server_row rows[SERVERS_MAX]; /* static: it is large */
    rung_client *client;
    size_t count = 1;
    bool is_bad = false;
    int code = rung_ask_open(self, args, &client);
    if (code)
        return code;
    code = ask_status(self, client, &rows[0]);
    if (code == RUNG_EXIT_OK && !is_quiet) {
        count = peers ? ask_peers(args, peers, rows) : 1;
        is_bad = (args->json ? print_json : print_text)(client, rows, count);
    }
    if (code == RUNG_EXIT_OK)
        code = judge(rows, count, args->json || is_quiet);
    rung_client_destroy(client);
    return code == RUNG_EXIT_OK && is_bad ? RUNG_EXIT_PROBLEM : code;
}
