/* SPDX-License-Identifier: Apache-2.0 */
/* rung reconcile DIR: replay the kept log from its oldest snapshot on, and compare with every later snapshot. Only
 * reads, and can run while a server uses the folder. */
#include "service/reconcile.h"
#include "cli/ask.h"
#include "cli/reconcile_servers.h"
#include "journal/snapshot_list.h"
#include "service/past.h"
#include "service/store.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

typedef struct reconcile_args {
    rung_ask_args ask;
    const char *folder, *other;
} reconcile_args;

static const rung_option reconcile_options[] = {
    RUNG_OPERAND(reconcile_args, folder, "DIR",
                 "the data folder, or a backup; or the URL of a server"),
    RUNG_OPERAND_OPTIONAL(reconcile_args, other, "URL", "the server to compare that one with"),
    RUNG_OPTION_TEXT(rung_ask_args, key_file, "--key-file", "FILE",
                     "servers: file with the key (or RUNG_KEY, RUNG_KEY_FILE)"),
    RUNG_OPTION_TEXT(rung_ask_args, ca_file, "--ca-file", "FILE",
                     "servers: certificates to trust, PEM (or RUNG_CA_FILE)"),
    RUNG_OPTION_FLAG(rung_ask_args, json, "--json", "print the result as one JSON object"),
};

typedef struct reconciling {
    rung_past_config config;
    rung_past *past;
    rung_snapshot_entries list;
    uint8_t log_id[RUNG_LOG_ID_SIZE];
    rung_dir dir;
    uint64_t compared, from_seq, seq;
    rung_difference difference;
} reconciling;

static rung_status list_snapshots(reconciling *r, uint64_t *first_out, rung_err *err) {
    rung_past_log *log;
    rung_status st = rung_past_log_open(&r->config.log, &log, err);
    if (st < 0)
        return st;
    memcpy(r->log_id, rung_past_log_id(log), sizeof r->log_id);
    *first_out = rung_past_log_first(log);
    st = rung_snapshot_list_read(rung_past_log_dir(log), rung_alloc_heap(), r->log_id, &r->list,
                                 err);
    rung_past_log_close(log);
    return st;
}

/* RUNG_UNCHANGED: it is what the log gives. RUNG_NOT_FOUND: a server has removed it. */
static rung_status compare_with(reconciling *r, uint64_t seq, rung_err *err) {
    rung_snapshot_reader *reader;
    rung_state *state;
    rung_moment moment = {.seq = seq};
    rung_state_config config = {.alloc = rung_alloc_heap()};
    rung_status st =
        rung_snapshot_reader_open(&r->dir, rung_alloc_heap(), r->log_id, seq, &reader, err);
    if (st != RUNG_OK)
        return st;
    st = rung_store_load_snapshot(reader, &config, NULL, NULL, &state, err);
    rung_snapshot_reader_close(reader);
    if (st != RUNG_OK)
        return st;
    st = rung_past_advance(r->past, &moment, err);
    if (st == RUNG_OK)
        st = rung_reconcile_states(rung_alloc_heap(), rung_past_state(r->past), state,
                                   &r->difference, err);
    rung_state_destroy(state);
    return st;
}

/* RUNG_UNCHANGED: all are equal; RUNG_OK: `difference` is the first one. */
static rung_status reconcile(reconciling *r, rung_err *err) {
    uint64_t first;
    rung_status st = list_snapshots(r, &first, err);
    if (st < 0)
        return st;
    size_t at = 0;
    while (at < r->list.count && r->list.entries[at].seq + 1 < first)
        at++;
    if (first > 1 && at == r->list.count)
        return RUNG_FAIL(err, RUNG_EABSENT, "there is no snapshot that the log goes on from");
    r->from_seq = first == 1 ? 1 : r->list.entries[at++].seq;
    r->config.moment.seq = r->from_seq;
    st = rung_past_open(&r->config, &r->past, NULL, err);
    for (; st >= 0 && at < r->list.count; at++) {
        r->seq = r->list.entries[at].seq;
        st = compare_with(r, r->seq, err);
        if (st == RUNG_OK)
            return st;
        r->compared += st == RUNG_UNCHANGED;
    }
    return st < 0 ? st : RUNG_UNCHANGED;
}

static void print_difference(const reconciling *r) {
    const rung_difference *d = &r->difference;
    printf("snapshot %llu is not what the log gives: ", (ull)r->seq);
    switch (d->kind) {
    case RUNG_DIFFERENCE_SEQ:
        puts("it is of another sequence");
        return;
    case RUNG_DIFFERENCE_BOARD:
        printf("board %s\n", d->board);
        return;
    case RUNG_DIFFERENCE_WINDOW:
        printf("board %s, window %s\n", d->board, d->window);
        return;
    case RUNG_DIFFERENCE_ENTRY:
        printf("board %s, window %s, place %u, player %s (%u entries by the log, %u in the "
               "snapshot)\n",
               d->board, d->window, d->index + 1, d->player, d->total_a, d->total_b);
        return;
    case RUNG_DIFFERENCE_OTHER:
        puts("no ranking differs, but profiles, friends, bans, submission ids or sets do");
        return;
    }
}

static void print_json(const reconciling *r, bool is_ok) {
    const rung_difference *d = &r->difference;
    static const char *const kinds[] = {"seq", "board", "window", "entry", "other"};
    printf("{\"ok\":%s,\"compared\":%llu,\"from_seq\":%llu", is_ok ? "true" : "false",
           (ull)r->compared, (ull)r->from_seq);
    if (!is_ok) {
        printf(",\"seq\":%llu,\"kind\":\"%s\",\"board\":", (ull)r->seq, kinds[d->kind]);
        rung_print_json(stdout, rung_slice_str(d->board));
        fputs(",\"window\":", stdout);
        rung_print_json(stdout, rung_slice_str(d->window));
        fputs(",\"player\":", stdout);
        rung_print_json(stdout, rung_slice_str(d->player));
    }
    puts("}");
}

static int run_reconcile(const rung_command *self, void *arguments) {
    const reconcile_args *args = arguments;
    rung_err err = {0};
    if (args->other)
        return rung_reconcile_servers(self, (const char *const[2]){args->folder, args->other},
                                      &args->ask);
    if (strstr(args->folder, "://"))
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   "one server is compared with another: give two URLs");
    reconciling r = {.config = {.log = {.alloc = rung_alloc_heap(), .path = args->folder}}};
    rung_status st = rung_dir_open(&r.dir, rung_fs_posix(), args->folder, false, &err);
    if (st >= 0)
        st = reconcile(&r, &err);
    rung_past_close(r.past);
    rung_snapshot_list_deinit(&r.list);
    rung_dir_close(&r.dir);
    if (st < 0)
        return rung_command_fail(self, &err);
    bool is_ok = st == RUNG_UNCHANGED;
    if (args->ask.json)
        print_json(&r, is_ok);
    else if (is_ok)
        printf("fine: %llu snapshot%s equal to the log, replayed from sequence %llu on\n",
               (ull)r.compared, r.compared == 1 ? " is" : "s are", (ull)r.from_seq);
    else
        print_difference(&r);
    return is_ok ? RUNG_EXIT_OK : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_reconcile = {
    .name = "reconcile",
    .summary = "compare snapshots with the log, or one server with another",
    .details =
        "Builds the state from the oldest snapshot that is kept, or from the first event, and\n"
        "replays the log. At each later snapshot the two states must be equal; the first\n"
        "difference is named: board, window, player. Exit code 1 if there is one. Changes\n"
        "nothing, takes no lock, and needs the memory of two states.\n"
        "\n"
        "With two URLs it compares two servers that share a log, window by window, while they\n"
        "work, and names the first difference the same way.\n"
        "\n"
        "  rung reconcile /var/lib/rung\n"
        "  rung reconcile http://a:7864 http://b:7864\n",
    RUNG_OPTIONS(reconcile_args, reconcile_options),
    .run = run_reconcile,
};
