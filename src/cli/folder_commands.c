/* SPDX-License-Identifier: Apache-2.0 */
/* rung status, snapshot, backup, restore: a data folder as a whole. */
#include "cli/ask.h"
#include "cli/folder.h"
#include "journal/backup.h"
#include "journal/snapshot_list.h"

#include <rung/rung.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef unsigned long long ull;

/* ---- status ---- */

typedef struct status_args {
    rung_ask_args ask;
    const char *folder, *peers;
    bool quick, ready;
} status_args;

static const rung_option status_options[] = {
    RUNG_OPERAND_OPTIONAL(status_args, folder, "DIR",
                          "a data folder or backup, instead of a server"),
    RUNG_OPTION_FLAG(status_args, ready, "--ready",
                     "server: print nothing; exit code 0 if it is ready"),
    RUNG_OPTION_TEXT(status_args, peers, "--peers", "URL,...",
                     "server: also the others on its log (or RUNG_PEERS)"),
    RUNG_OPTION_FLAG(status_args, quick, "--quick",
                     "folder: look at the files only, do not build the state"),
    RUNG_ASK_OPTIONS,
};

typedef struct folder_status {
    rung_segment_log_stats log;
    rung_snapshot_entries snapshots; /* oldest first */
    long user;
    bool has_state;
    rung_stats state;
    rung_digest digest;
} folder_status;

static rung_status read_state(const rung_dir *dir, const uint8_t *uuid, folder_status *s,
                              rung_err *err) {
    rung_progress progress = {0};
    rung_state *state;
    rung_state_config config = {.alloc = rung_alloc_heap()};
    rung_status st = rung_folder_state(dir, uuid, &config, &progress, &state, err);
    if (st < 0)
        return st;
    rung_state_stats(state, &s->state);
    s->digest = rung_state_digest(state);
    s->has_state = true;
    rung_state_destroy(state);
    return RUNG_OK;
}

static rung_status read_status(const status_args *args, folder_status *s, rung_err *err) {
    rung_segment_log_config config = {.fs = rung_fs_posix(),
                                      .alloc = rung_alloc_heap(),
                                      .path = args->folder,
                                      .is_read_only = true};
    rung_segment_log *log;
    rung_dir dir;
    rung_status st = rung_folder_open(&dir, rung_fs_posix(), args->folder, err);
    if (st < 0)
        return st;
    int tries = 0;
    do
        st = rung_segment_log_open(&config, &log, err);
    while (st == RUNG_ECORRUPT && rung_folder_user(args->folder) && rung_folder_wait(&tries));
    if (st == RUNG_OK) {
        s->log = rung_segment_log_stat(log);
        s->user = rung_folder_user(args->folder);
        st = rung_snapshot_list_read(&dir, rung_alloc_heap(), rung_segment_log_uuid(log),
                                     &s->snapshots, err);
        if (st >= 0 && !args->quick)
            st = read_state(&dir, rung_segment_log_uuid(log), s, err);
        rung_ignore(rung_segment_log_close(log, NULL), "it was only read");
    }
    rung_dir_close(&dir);
    return st < 0 ? st : RUNG_OK;
}

/* The log time of the oldest snapshot from which the log can be replayed: what is after it can be rebuilt. */
static bool reach_of(const folder_status *s, int64_t *time_ms_out) {
    for (size_t i = 0; i < s->snapshots.count; i++) {
        const rung_snapshot_entry *e = &s->snapshots.entries[i];
        if (e->seq + 1 >= s->log.first_seq) {
            *time_ms_out = e->time_ms;
            return e->time_ms != 0;
        }
    }
    return false;
}

static void print_snapshots(const folder_status *s) {
    char text[160], a[RUNG_COUNT_TEXT_MAX];
    size_t count = s->snapshots.count;
    uint64_t bytes = 0;
    int64_t reach_ms;
    for (size_t i = 0; i < count; i++)
        bytes += s->snapshots.entries[i].file_bytes;
    if (count == 0) {
        rung_terminal_line("snapshots", "none");
        return;
    }
    snprintf(text, sizeof text, "%zu, %s; the newest at %llu", count, rung_size_text(bytes, a),
             (ull)s->snapshots.entries[count - 1].seq);
    rung_terminal_line("snapshots", text);
    if (s->log.first_seq == 1)
        rung_terminal_line("history", "from the first event on");
    else if (reach_of(s, &reach_ms)) {
        time_t seconds = (time_t)(reach_ms / 1000);
        struct tm at;
        gmtime_r(&seconds, &at);
        strftime(text, sizeof text, "since %Y-%m-%d %H:%M:%S UTC", &at);
        rung_terminal_line("history", text);
    }
}

static void print_status_json(const folder_status *s) {
    printf("{\"seq\":%llu,\"first_seq\":%llu,\"segments\":%llu,\"size_bytes\":%llu,\"in_use_by\":",
           (ull)s->log.durable_seq, (ull)s->log.first_seq, (ull)s->log.segment_count,
           (ull)s->log.size_bytes);
    if (s->user)
        printf("%ld", s->user);
    else
        fputs("null", stdout);
    fputs(",\"snapshots\":[", stdout);
    for (size_t i = s->snapshots.count; i > 0; i--)
        printf("%llu%s", (ull)s->snapshots.entries[i - 1].seq, i > 1 ? "," : "");
    putchar(']');
    int64_t reach_ms;
    if (reach_of(s, &reach_ms))
        printf(",\"oldest_ms\":%lld", (long long)reach_ms);
    if (s->has_state)
        printf(",\"state\":{\"seq\":%llu,\"digest\":\"%016llx%016llx\",\"boards\":%llu,\"players\":"
               "%llu,"
               "\"entries\":%llu,\"windows\":%llu,\"friendships\":%llu,\"banned\":%llu,\"refused\":"
               "%llu,"
               "\"memory_bytes\":%llu}",
               (ull)s->state.seq, (ull)s->digest.a, (ull)s->digest.b, (ull)s->state.boards,
               (ull)s->state.players, (ull)s->state.entries, (ull)s->state.windows,
               (ull)s->state.friendships, (ull)s->state.banned, (ull)s->state.refused,
               (ull)s->state.bytes_total);
    puts("}");
}

static void print_state_part(const folder_status *s) {
    char text[160], a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX];
    snprintf(text, sizeof text, "%s board%s, %s player%s, %s ranked entr%s",
             rung_count_text(s->state.boards, a), s->state.boards == 1 ? "" : "s",
             rung_count_text(s->state.players, b), s->state.players == 1 ? "" : "s",
             rung_count_text(s->state.entries, c), s->state.entries == 1 ? "y" : "ies");
    rung_terminal_line("state", text);
    snprintf(text, sizeof text, "%s events, %s of them refused", rung_count_text(s->state.seq, a),
             rung_count_text(s->state.refused, b));
    rung_terminal_line("", text);
    rung_terminal_line("memory", rung_size_text(s->state.bytes_total, a));
    snprintf(text, sizeof text, "%016llx%016llx", (ull)s->digest.a, (ull)s->digest.b);
    rung_terminal_line("digest", text);
}

static void print_status(const folder_status *s) {
    char text[160], a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX];
    rung_terminal_line("sequence", rung_count_text(s->log.durable_seq, a));
    snprintf(text, sizeof text, "%llu segment%s, %s, from sequence %s on",
             (ull)s->log.segment_count, s->log.segment_count == 1 ? "" : "s",
             rung_size_text(s->log.size_bytes, a), rung_count_text(s->log.first_seq, b));
    rung_terminal_line("log", text);
    print_snapshots(s);
    snprintf(text, sizeof text, "by process %ld; all this was only read", s->user);
    rung_terminal_line("in use", s->user ? text : "no");
    if (s->has_state)
        print_state_part(s);
}

static int run_status(const rung_command *self, void *arguments) {
    const status_args *args = arguments;
    folder_status status = {0};
    rung_err err = {0};
    if (!args->folder)
        return rung_server_status(self, &args->ask,
                                  args->peers ? args->peers : getenv("RUNG_PEERS"), args->ready);
    if (read_status(args, &status, &err) < 0)
        return rung_command_fail(self, &err);
    if (args->ask.json)
        print_status_json(&status);
    else
        print_status(&status);
    rung_snapshot_list_deinit(&status.snapshots);
    return RUNG_EXIT_OK;
}

const rung_command rung_command_status = {
    .name = "status",
    .summary = "show the status of a server, or the contents of a data folder",
    .details =
        "Without DIR it asks the server: exit code 1 if that is not ready, 3 if it cannot\n"
        "be reached. With --peers it also asks the others: exit code 1 if one is not ready,\n"
        "or if two have different states at the same sequence.\n"
        "\n"
        "With DIR it reads that folder, without a lock, even while a server uses it. It\n"
        "builds the state in memory from the newest snapshot and the log, which needs as\n"
        "much memory as a server; --quick skips that. Two folders with the same sequence\n"
        "and digest hold the same state.\n",
    RUNG_OPTIONS(status_args, status_options),
    .run = run_status,
};

/* ---- snapshot ---- */

typedef struct snapshot_args {
    rung_ask_args ask;
    const char *folder;
} snapshot_args;

static const rung_option snapshot_options[] = {
    RUNG_OPERAND_OPTIONAL(snapshot_args, folder, "DIR",
                          "a data folder not in use, instead of a server"),
    RUNG_ASK_OPTIONS,
};

static void show_opening(void *ctx, const char *what, uint64_t done, uint64_t total) {
    rung_progress_show(ctx, what, done, total);
}

static void say_line(void *ctx, const char *text) {
    rung_progress_end(ctx);
    fprintf(stderr, "rung: %s\n", text);
}

/* rung_open() would create a folder for a mistyped name. */
static rung_status check_is_there(const char *path, rung_err *err) {
    rung_dir dir;
    rung_status st = rung_folder_open(&dir, rung_fs_posix(), path, err);
    if (st == RUNG_OK)
        rung_dir_close(&dir);
    return st;
}

static void print_snapshot(rung_status st, uint64_t seq, bool is_json) {
    char text[RUNG_COUNT_TEXT_MAX];
    if (is_json)
        printf("{\"written\":%s,\"seq\":%llu}\n", st == RUNG_OK ? "true" : "false", (ull)seq);
    else if (st == RUNG_OK)
        printf("snapshot of sequence %s written\n", rung_count_text(seq, text));
    else
        printf("nothing has changed since the snapshot of sequence %s\n",
               rung_count_text(seq, text));
}

/* A server writes it in the background. */
static void print_begun(rung_slice answer, const void *args) {
    char text[RUNG_COUNT_TEXT_MAX];
    (void)args;
    rung_count_text((uint64_t)rung_answer_number(answer, "seq", 0), text);
    printf(rung_answer_is_true(answer, "changed")
               ? "snapshot of sequence %s started\n"
               : "nothing has changed since the snapshot of sequence %s\n",
           text);
}

static const rung_question snapshot_of_server = {"POST", "/v1/snapshot", .print = print_begun};

static int snapshot_of_folder(const rung_command *self, const snapshot_args *args) {
    rung_progress progress = {0};
    rung_err err = {0};
    rung *db;
    rung_config config = {
        .path = args->folder,
        .progress = show_opening,
        .say = say_line,
        .ctx = &progress,
    };
    rung_status st = check_is_there(args->folder, &err);
    if (st == RUNG_OK)
        st = rung_open(&config, &db, &err);
    rung_progress_end(&progress);
    if (st < 0)
        return rung_command_fail(self, &err);
    st = rung_snapshot(db, false, &err);
    uint64_t seq = rung_state_seq(rung_state_of(db));
    rung_status closed = rung_close(db, st < 0 ? NULL : &err);
    if (st < 0 || closed < 0)
        return rung_command_fail(self, &err);
    print_snapshot(st, seq, args->ask.json);
    return RUNG_EXIT_OK;
}

static int run_snapshot(const rung_command *self, void *args) {
    return ((const snapshot_args *)args)->folder ? snapshot_of_folder(self, args)
                                                 : rung_ask_run(self, args);
}

const rung_command rung_command_snapshot = {
    .name = "snapshot",
    .summary = "write a snapshot, so that the next start replays less of the log",
    .details = "Without DIR it tells the server to start one; this needs an admin key if the\n"
               "server has keys. With DIR it opens that folder, which must not be in use. Two\n"
               "snapshots are kept, and the log from the older one on.\n",
    RUNG_OPTIONS(snapshot_args, snapshot_options),
    .run = run_snapshot,
    .question = &snapshot_of_server,
};

/* ---- backup and restore ---- */

typedef struct copy_args {
    const char *from, *to;
    uint64_t to_seq;
    bool json;
} copy_args;

static const rung_option backup_options[] = {
    RUNG_OPERAND(copy_args, from, "DIR", "the data folder; a server may be using it"),
    RUNG_OPERAND(copy_args, to, "TO", "an empty or new folder"),
    RUNG_OPTION_FLAG(copy_args, json, "--json", "the result as one JSON object"),
};

static const rung_option restore_options[] = {
    RUNG_OPERAND(copy_args, from, "FROM", "the backup"),
    RUNG_OPERAND(copy_args, to, "TO", "an empty or new folder"),
    RUNG_OPTION_NUMBER(copy_args, to_seq, "--to-seq", "SEQ", "stop after this record"),
    RUNG_OPTION_FLAG(copy_args, json, "--json", "the result as one JSON object"),
};

typedef rung_status copy_function(const copy_args *args, const rung_dir *from, const rung_dir *to,
                                  rung_backup_report *report, rung_err *err);

/* If a server removes segments meanwhile, the copy fails; the next try starts from the new beginning. */
static rung_status back_up(const copy_args *args, const rung_dir *from, const rung_dir *to,
                           rung_backup_report *report, rung_err *err) {
    (void)args;
    for (int tries = 0;;) {
        rung_status st = rung_backup_run(from, NULL, to, rung_alloc_heap(), report, err);
        bool may_pass =
            st == RUNG_ECORRUPT || st == RUNG_EIO || st == RUNG_ESTALE || st == RUNG_NOT_FOUND;
        if (!may_pass || !rung_folder_wait(&tries))
            return st;
        rung_folder_clear(to);
    }
}

static rung_status restore(const copy_args *args, const rung_dir *from, const rung_dir *to,
                           rung_backup_report *report, rung_err *err) {
    return rung_backup_restore(from, to, rung_alloc_heap(), args->to_seq, report, err);
}

static void print_copy(const rung_backup_report *r, const char *done, const copy_args *args) {
    char records[RUNG_COUNT_TEXT_MAX];
    uint64_t count = r->last_seq - r->first_seq + 1;
    if (args->json) {
        printf("{\"first_seq\":%llu,\"last_seq\":%llu,\"records\":%llu,\"segments\":%llu,"
               "\"snapshots\":%llu,"
               "\"newest_snapshot_seq\":%llu,\"linked\":%llu,\"copied\":%llu}\n",
               (ull)r->first_seq, (ull)r->last_seq, (ull)count, (ull)r->segment_count,
               (ull)r->snapshot_count, (ull)r->newest_snapshot_seq, (ull)r->linked_count,
               (ull)r->copied_count);
        return;
    }
    printf("%s %s records to %s", done, rung_count_text(count, records), args->to);
    if (count)
        printf(": sequence %llu to %llu", (ull)r->first_seq, (ull)r->last_seq);
    printf("; %llu snapshot%s, %llu files linked, %llu copied\n", (ull)r->snapshot_count,
           r->snapshot_count == 1 ? "" : "s", (ull)r->linked_count, (ull)r->copied_count);
}

static int run_copy(const rung_command *self, const copy_args *args, copy_function *copy,
                    uint64_t passes) {
    rung_dir from, to;
    rung_err err = {0};
    rung_meter meter;
    rung_backup_report report = {0};
    rung_meter_init(&meter, self->name);
    if (rung_folder_open(&from, &meter.fs, args->from, &err) < 0)
        return rung_command_fail(self, &err);
    if (rung_folder_open_empty(&to, &meter.fs, args->to, &err) < 0) {
        rung_dir_close(&from);
        return rung_command_fail(self, &err);
    }
    meter.total = passes * rung_folder_size(&from);
    rung_status st = copy(args, &from, &to, &report, &err);
    rung_progress_end(&meter.progress);
    if (st == RUNG_NOT_FOUND)
        st =
            RUNG_FAIL(&err, RUNG_ESTALE, "files of %s were removed while being copied", args->from);
    if (st < 0)
        rung_folder_clear(&to); /* it was empty; half a copy must not look like a whole one */
    rung_dir_close(&to);
    rung_dir_close(&from);
    if (st < 0)
        return rung_command_fail(self, &err);
    print_copy(&report, copy == restore ? "restored" : "backed up", args);
    return RUNG_EXIT_OK;
}

static int run_backup(const rung_command *self, void *args) {
    return run_copy(self, args, back_up, 1);
}

static int run_restore(const rung_command *self, void *args) {
    return run_copy(self, args, restore, 2); /* the copy is read again and checked */
}

const rung_command rung_command_backup = {
    .name = "backup",
    .summary = "copy a data folder consistently, even while a server uses it",
    .details = "On the same file system, files that no longer change are hard links, so a backup\n"
               "costs little; copy it to another disk to be safe. A backup is complete when it\n"
               "contains the file backup-complete.\n"
               "\n"
               "  rung backup /var/lib/rung /backups/monday\n",
    RUNG_OPTIONS(copy_args, backup_options),
    .run = run_backup,
};

const rung_command rung_command_restore = {
    .name = "restore",
    .summary = "create a data folder from a backup, whole or up to a record",
    .details = "Copies the backup, then checks every byte of the copy. To stop at an earlier\n"
               "record, find its sequence with rung log cat.\n"
               "\n"
               "  rung restore /backups/monday /var/lib/rung --to-seq 12345\n",
    RUNG_OPTIONS(copy_args, restore_options),
    .run = run_restore,
};
