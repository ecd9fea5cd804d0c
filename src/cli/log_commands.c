/* SPDX-License-Identifier: Apache-2.0 */
/* rung log verify, cat, repair. The first two only read and can run while a server uses the folder. */
#include "base/buffer.h"
#include "cli/command.h"
#include "cli/event_text.h"
#include "cli/folder.h"
#include "cli/terminal.h"
#include "journal/verify.h"
#include "service/applier.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- verify ---- */

typedef struct verify_args {
    const char *folder;
    bool json, quiet;
} verify_args;

static const rung_option verify_options[] = {
    RUNG_OPERAND(verify_args, folder, "DIR", "the data folder, or a backup"),
    RUNG_OPTION_FLAG(verify_args, quiet, "--quiet", "print nothing but damage"),
    RUNG_OPTION_FLAG(verify_args, json, "--json", "print the findings as one JSON object"),
};

/* Collects the lines of the report, each with a NUL. They are printed at the end: next to a running server the check
 * may have to be repeated. */
static void keep_finding(void *ctx, const char *line) {
    rung_buffer_put(ctx, line, strlen(line) + 1); /* out of memory: the counts are still right */
}

static void print_finding(const char *line, const verify_args *args) {
    bool is_damage = strncmp(line, "damage: ", 8) == 0;
    if (is_damage || !args->quiet)
        rung_print_colored(is_damage ? RUNG_COLOR_BAD : RUNG_COLOR_DIM, "%s\n", line);
}

static void print_findings(const rung_buffer *f, const verify_args *args) {
    fputs(args->json ? "{\"findings\":[" : "", stdout);
    for (size_t at = 0; at < f->len; at += strlen(f->data + at) + 1) {
        if (!args->json) {
            print_finding(f->data + at, args);
            continue;
        }
        fputs(at ? "," : "", stdout);
        rung_print_json(stdout, rung_slice_str(f->data + at));
    }
}

static void print_verify_json(const rung_verify_report *r, bool is_ok) {
    printf("],\"ok\":%s,\"segments\":%llu,\"records\":%llu,\"first_seq\":%llu,\"last_seq\":%llu,"
           "\"size_bytes\":%llu,"
           "\"torn_bytes\":%llu,\"snapshots\":%llu,\"newest_snapshot_seq\":%llu,"
           "\"oldest_snapshot_seq\":%llu,\"oldest_snapshot_ms\":%lld,\"damage\":%llu}\n",
           is_ok ? "true" : "false", (ull)r->segment_count, (ull)r->record_count, (ull)r->first_seq,
           (ull)r->last_seq, (ull)r->size_bytes, (ull)r->torn_bytes, (ull)r->snapshot_count,
           (ull)r->newest_snapshot_seq, (ull)r->oldest_snapshot_seq,
           (long long)r->oldest_snapshot_ms, (ull)r->damage_count);
}

static void print_verify(const rung_verify_report *r, bool is_ok, const verify_args *args) {
    char records[RUNG_COUNT_TEXT_MAX], size[RUNG_COUNT_TEXT_MAX];
    rung_print_colored(is_ok ? RUNG_COLOR_GOOD : RUNG_COLOR_BAD, is_ok ? "fine" : "damaged");
    printf(": %s records in %llu segment%s, %s", rung_count_text(r->record_count, records),
           (ull)r->segment_count, r->segment_count == 1 ? "" : "s",
           rung_size_text(r->size_bytes, size));
    if (r->record_count)
        printf("; sequence %llu to %llu", (ull)r->first_seq, (ull)r->last_seq);
    if (r->snapshot_count)
        printf("; %llu snapshot%s, the newest of %llu", (ull)r->snapshot_count,
               r->snapshot_count == 1 ? "" : "s", (ull)r->newest_snapshot_seq);
    if (r->oldest_snapshot_seq < r->newest_snapshot_seq && r->oldest_snapshot_seq)
        printf(", the oldest of %llu", (ull)r->oldest_snapshot_seq);
    if (r->torn_bytes)
        printf("; %llu bytes of a torn tail, which the next start cuts", (ull)r->torn_bytes);
    putchar('\n');
    if (!is_ok)
        printf("Restore a backup, or see what rung log repair %s could keep.\n", args->folder);
}

/* While a server writes, a partial batch can look like damage: only damage that stays counts. */
static rung_status verify(const verify_args *args, rung_dir *dir, rung_meter *meter, rung_buffer *f,
                          rung_verify_report *report, rung_err *err) {
    rung_status st;
    int tries = 0;
    do {
        f->len = 0;
        meter->done = 0;
        st = rung_log_verify(dir, rung_alloc_heap(), keep_finding, f, report, err);
    } while (st == RUNG_ECORRUPT && rung_folder_user(args->folder) && rung_folder_wait(&tries));
    rung_progress_end(&meter->progress);
    return st;
}

static int run_verify(const rung_command *self, void *arguments) {
    const verify_args *args = arguments;
    rung_dir dir;
    rung_err err = {0};
    rung_meter meter;
    rung_buffer f = {.alloc = rung_alloc_heap()};
    rung_verify_report report = {0};
    rung_meter_init(&meter, "verify");
    if (rung_folder_open(&dir, &meter.fs, args->folder, &err) < 0)
        return rung_command_fail(self, &err);
    meter.total = rung_folder_size(&dir);
    rung_status st = verify(args, &dir, &meter, &f, &report, &err);
    rung_dir_close(&dir);
    print_findings(&f, args);
    rung_buffer_deinit(&f);
    if (args->json)
        print_verify_json(&report, st == RUNG_OK);
    else if (st == RUNG_ECORRUPT || (st == RUNG_OK && !args->quiet))
        print_verify(&report, st == RUNG_OK, args);
    if (st < 0 && st != RUNG_ECORRUPT)
        return rung_command_fail(self, &err);
    return st == RUNG_OK ? RUNG_EXIT_OK : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_log_verify = {
    .name = "log verify",
    .summary = "check every byte of the log and its snapshots",
    .details =
        "Checks every record, seal and snapshot, and every rule by which a server accepts\n"
        "a folder. Takes no lock and can run while a server uses the folder. Exit code 1 if\n"
        "there is damage. A torn tail is not damage: a crash leaves it and the next start\n"
        "cuts it.\n",
    RUNG_OPTIONS(verify_args, verify_options),
    .run = run_verify,
};

/* ---- cat ---- */

typedef struct cat_args {
    const char *folder, *board, *player, *kind;
    uint64_t from, to;
    bool json;
} cat_args;

static const rung_option cat_options[] = {
    RUNG_OPERAND(cat_args, folder, "DIR", "the data folder, or a backup"),
    RUNG_OPTION_NUMBER(cat_args, from, "--from", "SEQ", "first record"),
    RUNG_OPTION_NUMBER(cat_args, to, "--to", "SEQ", "last record"),
    RUNG_OPTION_TEXT(cat_args, board, "--board", "BOARD", "only events of this board"),
    RUNG_OPTION_TEXT(cat_args, player, "--player", "PLAYER", "only events about this player"),
    RUNG_OPTION_TEXT(cat_args, kind, "--kind", "KIND", "only events of this kind (listed below)"),
    RUNG_OPTION_FLAG(cat_args, json, "--json", "one JSON object per line"),
};

typedef struct cat {
    const cat_args *args;
    rung_event_kind kind;
    rung_slice board, player;
    uint64_t strange_count; /* records that are not events */
} cat;

static bool is_wanted(const cat *c, const rung_event *e) {
    return (!c->args->kind || e->kind == c->kind) &&
           (!c->args->board || rung_event_is_of_board(e, c->board)) &&
           (!c->args->player || rung_event_is_about(e, c->player));
}

static void print_strange(cat *c, const rung_log_record *r, const char *why) {
    c->strange_count++;
    if (c->args->json) {
        printf("{\"seq\":%llu,\"kind\":null,\"type\":%u,\"size\":%zu,\"problem\":", (ull)r->seq,
               r->type, r->payload.len);
        rung_print_json(stdout, rung_slice_str(why));
        puts("}");
    } else {
        printf("%8llu  not an event (type %u, %zu bytes): %s\n", (ull)r->seq, r->type,
               r->payload.len, why);
    }
}

static void print_void(const rung_log_record *r, bool is_json) {
    printf(is_json ? "{\"seq\":%llu,\"kind\":\"void\",\"size\":%zu}\n"
                   : "%8llu  void, %zu bytes: no effect\n",
           (ull)r->seq, r->payload.len);
}

/* Of a log that was copied from one that servers share. */
static rung_status print_report(cat *c, const rung_log_record *r) {
    rung_node_report report;
    rung_err err = {0};
    if (rung_node_report_decode(r->payload, &report, &err) < 0)
        print_strange(c, r, err.message);
    else if (c->args->kind || c->args->board || c->args->player)
        return RUNG_OK;
    else if (c->args->json)
        printf("{\"seq\":%llu,\"kind\":\"report\",\"node\":\"%016llx\",\"position\":%llu}\n",
               (ull)r->seq, (ull)report.node, (ull)report.seq);
    else
        printf("%8llu  report of server %016llx, at %llu\n", (ull)r->seq, (ull)report.node,
               (ull)report.seq);
    return ferror(stdout) ? RUNG_EIO : RUNG_OK;
}

static rung_status print_record(void *ctx, const rung_log_record *r) {
    cat *c = ctx;
    rung_event e;
    rung_err err = {0};
    if (r->type == RUNG_LOG_TYPE_REPORT)
        return print_report(c, r);
    if (r->type == RUNG_LOG_TYPE_VOID) {
        if (!c->args->kind && !c->args->board && !c->args->player)
            print_void(r, c->args->json);
    } else if (r->type != RUNG_LOG_TYPE_EVENT)
        print_strange(c, r, "written by another version");
    else if (rung_event_decode(r->payload, &e, &err) < 0)
        print_strange(c, r, err.message);
    else if (is_wanted(c, &e))
        rung_event_print(stdout, r->seq, &e, c->args->json);
    return ferror(stdout) ? RUNG_EIO : RUNG_OK;
}

static int run_cat(const rung_command *self, void *arguments) {
    const cat_args *args = arguments;
    cat c = {.args = args};
    rung_dir dir;
    rung_err err = {.message = "cannot write the output"};
    if (args->kind && !rung_event_kind_parse(args->kind, &c.kind))
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   "--kind: there is no kind \"%s\"; rung help log cat lists them",
                                   args->kind);
    c.board = args->board ? rung_slice_str(args->board) : c.board;
    c.player = args->player ? rung_slice_str(args->player) : c.player;
    if (rung_folder_open(&dir, rung_fs_posix(), args->folder, &err) < 0)
        return rung_command_fail(self, &err);
    rung_status st = rung_folder_cat(&dir, args->from ? args->from : 1,
                                     args->to ? args->to : UINT64_MAX, print_record, &c, &err);
    rung_dir_close(&dir);
    if (st < 0)
        return rung_command_fail(self, &err);
    return c.strange_count ? RUNG_EXIT_PROBLEM : RUNG_EXIT_OK;
}

const rung_command rung_command_log_cat = {
    .name = "log cat",
    .summary = "print the events of the log, all or some",
    .details =
        "Prints every event in order, including those a board refused. Takes no lock and\n"
        "can run while a server uses the folder. Stops at damage, with exit code 1.\n"
        "\n"
        "Kinds: score, board-defined, board-deleted, entry-removed, player-set,\n"
        "player-erased, friend-added, friend-removed, friends-replaced, banned, unbanned,\n"
        "window-opened, window-closed, tick, keys (commands of the Redis protocol), ids-set,\n"
        "rules-set, access-set. A void record has no effect (rung help log skip).\n"
        "\n"
        "  rung log cat scores --board race --player ada --json | tail -n 5\n",
    RUNG_OPTIONS(cat_args, cat_options),
    .run = run_cat,
};

/* ---- repair ---- */

typedef struct repair_args {
    const char *folder;
    bool accept_loss, json;
} repair_args;

static const rung_option repair_options[] = {
    RUNG_OPERAND(repair_args, folder, "DIR", "the data folder"),
    RUNG_OPTION_FLAG(repair_args, accept_loss, "--accept-loss", "repair, even if records are lost"),
    RUNG_OPTION_FLAG(repair_args, json, "--json", "print the result as one JSON object"),
};

static void print_repair_json(const rung_repair_report *r, rung_status st) {
    printf("{\"repaired\":%s,\"needed\":%s,\"kept_seq\":%llu,\"lost_from\":%llu,\"lost_to\":%llu,"
           "\"restarted\":%s,"
           "\"mark_only\":%s}\n",
           st == RUNG_OK ? "true" : "false", st == RUNG_UNCHANGED ? "false" : "true",
           (ull)r->kept_seq, (ull)r->lost_from, (ull)r->lost_to, r->is_restarted ? "true" : "false",
           r->is_mark_only ? "true" : "false");
}

static void print_repair(const rung_repair_report *r, rung_status st, const repair_args *args) {
    if (st == RUNG_UNCHANGED) {
        puts("nothing to repair: a server would accept this folder");
        return;
    }
    const char *was = st == RUNG_OK ? "was" : "would be";
    if (r->is_mark_only)
        printf("only the record of what was synced is damaged: it %s rewritten; no known event is "
               "lost\n",
               was);
    else if (r->is_restarted)
        printf("the newest snapshot is ahead of the last whole record: the log %s restarted after "
               "sequence %llu\n",
               was, (ull)r->kept_seq);
    else
        printf("the log %s cut after sequence %llu\n", was, (ull)r->kept_seq);
    if (r->lost_to)
        printf("%slost: sequence %llu to %llu, perhaps more\n", st == RUNG_OK ? "" : "would be ",
               (ull)r->lost_from, (ull)r->lost_to);
    if (st == RUNG_OK)
        puts("every byte removed from the log is kept in files named damaged-*");
    else
        printf("Nothing was changed. To repair: rung log repair %s --accept-loss\n", args->folder);
}

static int run_repair(const rung_command *self, void *arguments) {
    const repair_args *args = arguments;
    rung_dir dir;
    rung_err err = {0};
    rung_repair_report report = {0};
    if (rung_folder_open(&dir, rung_fs_posix(), args->folder, &err) < 0)
        return rung_command_fail(self, &err);
    rung_status st = rung_log_repair(&dir, rung_alloc_heap(), args->accept_loss, &report, &err);
    rung_dir_close(&dir);
    if (st < 0 && st != RUNG_EREFUSED)
        return rung_command_fail(self, &err);
    if (args->json)
        print_repair_json(&report, st);
    else
        print_repair(&report, st, args);
    return st < 0 ? RUNG_EXIT_PROBLEM : RUNG_EXIT_OK;
}

const rung_command rung_command_log_repair = {
    .name = "log repair",
    .summary = "cut a damaged log after its last whole record",
    .details = "For damage without a backup. Without --accept-loss it only reports what would be\n"
               "lost (exit code 1 if there is something to repair). Every byte it removes is kept\n"
               "in files named damaged-*. Stop the server first; a server never repairs by\n"
               "itself.\n",
    RUNG_OPTIONS(repair_args, repair_options),
    .run = run_repair,
};
