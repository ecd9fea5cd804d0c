/* SPDX-License-Identifier: Apache-2.0 */
/* rung reconcile DIR: replay the kept log from its oldest snapshot on, and compare with every later snapshot, with the
 * closed windows of the archive, and with a digest. Only reads, and can run while a server uses the folder; a server
 * runs it itself now and then (reconcile_pass.h). */
#define _GNU_SOURCE
#include "app/past_helper.h"
#include "archive/attach.h"
#include "archive/closed_window.h"
#include "archive/compare.h"
#include "archive/postgres/postgres_archive.h"
#include "archive/postgres/url.h"
#include "archive/sqlite/sqlite_archive.h"
#include "cli/ask.h"
#include "cli/reconcile_servers.h"
#include "journal/snapshot_list.h"
#include "service/past.h"
#include "service/reconcile.h"
#include "service/store.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef unsigned long long ull;

enum { PACE = 3 }; /* in the background: rest so many times as long as it worked */

typedef struct reconcile_args {
    rung_ask_args ask;
    const char *folder, *other, *archive, *digest;
    uint64_t archive_keep_s, memory_max, parent;
} reconcile_args;

static const rung_option reconcile_options[] = {
    RUNG_OPERAND(reconcile_args, folder, "DIR",
                 "the data folder, or a backup; or the URL of a server"),
    RUNG_OPERAND_OPTIONAL(reconcile_args, other, "URL", "the server to compare that one with"),
    RUNG_OPTION_TEXT(reconcile_args, archive, "--archive", "URL",
                     "its archive (or RUNG_ARCHIVE): FILE, postgres://... or off"),
    RUNG_OPTION_NUMBER(reconcile_args, archive_keep_s, "--archive-keep", "SECONDS",
                       "do not miss windows in the archive that ended longer ago"),
    RUNG_OPTION_TEXT(reconcile_args, digest, "--digest", "SEQ:DIGEST",
                     "end at this record, where the state has this digest (GET /v1/digest)"),
    RUNG_OPTION_NUMBER(reconcile_args, memory_max, "--memory-max", "BYTES",
                       "memory of each of the two states"),
    RUNG_OPTION_NUMBER(reconcile_args, parent, "--parent", "PID",
                       "slowly, at the lowest priority; end with this process"),
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
    const reconcile_args *args;
    /* The archive. */
    rung_hub_follower follower; /* of the replay: windows that close */
    rung_archive *archive;      /* NULL: none */
    const char *archive_url;
    uint64_t archive_seq;    /* how far it has come */
    int64_t archive_time_ms; /* log time there */
    uint64_t windows, windows_skipped;
    rung_status window_st; /* RUNG_UNCHANGED as long as all are equal */
    rung_err window_err;
    rung_archive_difference window_difference;
    bool is_other_digest; /* at `seq` the state had another digest */
    double worked_s;      /* processor time until the last rest */
} reconciling;

/* ---- closed windows of the archive ---- */

static rung_status open_reader(const reconciling *r, uint64_t as_of_seq, rung_archive **out,
                               rung_err *err) {
    if (rung_postgres_url_is(r->archive_url)) {
        rung_postgres_archive_config c = {.url = r->archive_url,
                                          .alloc = rung_alloc_heap(),
                                          .is_read_only = true,
                                          .as_of_seq = as_of_seq};
        return rung_postgres_archive_open(&c, out, NULL, err);
    }
    rung_sqlite_archive_config c = {.path = r->archive_url,
                                    .alloc = rung_alloc_heap(),
                                    .is_read_only = true,
                                    .as_of_seq = as_of_seq};
    return rung_sqlite_archive_open(&c, out, err);
}

/* The archive that the arguments name. NULL: none. */
static const char *archive_of(const reconcile_args *args, char path[PATH_MAX]) {
    const char *url = args->archive ? args->archive : getenv("RUNG_ARCHIVE");
    char wal[PATH_MAX + 8];
    struct stat s;
    if (url && *url)
        return strcmp(url, "off") == 0 ? NULL : strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
    snprintf(path, PATH_MAX, "%s/%s", args->folder, RUNG_ATTACH_FILE);
    snprintf(wal, sizeof wal, "%s-wal", path);
    return stat(wal, &s) == 0 ? path
                              : NULL; /* reading one that nobody has open would change the folder */
}

static rung_status open_archive(reconciling *r, char path[PATH_MAX], rung_err *err) {
    r->archive_url = archive_of(r->args, path);
    if (!r->archive_url)
        return RUNG_OK;
    rung_status st = open_reader(r, 0, &r->archive, err);
    return st < 0 ? st : rung_archive_cursor(r->archive, &r->archive_seq, &r->archive_time_ms, err);
}

/* The archive had the window until its board was deleted. */
static bool is_retired(const reconciling *r, rung_slice packed) {
    rung_archive_difference ignored;
    rung_archive *then;
    rung_packed_reader reader;
    if (rung_packed_open(packed, &reader, NULL) < 0 ||
        open_reader(r, reader.window.closed_seq, &then, NULL) != RUNG_OK)
        return false;
    rung_status st = rung_archive_compare(then, rung_alloc_heap(), packed, &ignored, NULL);
    rung_archive_close(then);
    return st != RUNG_NOT_FOUND;
}

/* Its time in the archive is over. */
static bool is_expired(const reconciling *r, const rung_view *view) {
    uint64_t keep_s = r->args->archive_keep_s;
    return keep_s && view->end_ms < r->archive_time_ms - (int64_t)keep_s * 1000;
}

static void compare_window(reconciling *r, rung_slice packed, const rung_view *view) {
    rung_status st = rung_archive_compare(r->archive, rung_alloc_heap(), packed,
                                          &r->window_difference, &r->window_err);
    if (st == RUNG_NOT_FOUND && (is_expired(r, view) || is_retired(r, packed)))
        st = RUNG_PARTIAL;
    r->windows += st == RUNG_UNCHANGED;
    r->windows_skipped += st == RUNG_PARTIAL;
    if (st == RUNG_NOT_FOUND) {
        r->window_difference.what = "missing";
        st = RUNG_OK;
    }
    r->window_st = st == RUNG_PARTIAL ? RUNG_UNCHANGED : st;
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    reconciling *r = ctx;
    rung_buffer packed = {0};
    if (!r->archive || r->window_st != RUNG_UNCHANGED ||
        rung_state_seq(view->state) > r->archive_seq)
        return;
    rung_status st = rung_closed_window_pack(rung_alloc_heap(), board, view, &packed);
    if (st < 0)
        r->window_st = RUNG_FAIL(&r->window_err, st, "no memory to compare windows");
    else
        compare_window(r, rung_buffer_slice(&packed), view);
    rung_buffer_deinit(&packed);
}

/* ---- the replay ---- */

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In the background: take a quarter of a core. Ends the replay at the first window that differs. */
static bool progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    reconciling *r = ctx;
    (void)what, (void)done, (void)total;
    if (r->args->parent) {
        double rest_s = PACE * (processor_seconds() - r->worked_s);
        struct timespec t = {(time_t)rest_s, (long)((rest_s - (double)(time_t)rest_s) * 1e9)};
        nanosleep(&t, NULL);
        r->worked_s = processor_seconds();
    }
    return r->window_st == RUNG_UNCHANGED;
}

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
    rung_alloc_meter meter;
    rung_alloc_meter_init(&meter, rung_alloc_heap());
    meter.max = r->args->memory_max;
    rung_state_config config = {.alloc = &meter.port};
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

/* "81934:" and 32 hexadecimal digits. */
static bool read_digest(const char *text, uint64_t *seq_out, rung_digest *digest_out) {
    ull seq;
    int len = 0;
    if (sscanf(text, "%20llu:%16" SCNx64 "%16" SCNx64 "%n", &seq, &digest_out->a, &digest_out->b,
               &len) != 3 ||
        text[len] || seq == 0)
        return false;
    *seq_out = seq;
    return true;
}

/* Go on to the digest's record, or to the end of what the archive has. RUNG_OK: the digest is another one. */
static rung_status finish(reconciling *r, uint64_t end_seq, const rung_digest *digest,
                          rung_err *err) {
    rung_moment end = {.seq = end_seq};
    if (!digest && !r->archive)
        return RUNG_UNCHANGED;
    if (!digest) {
        uint64_t last = rung_past_log_last(rung_past_log_of(r->past));
        end.seq = r->archive_seq < last ? r->archive_seq : last;
        if (end.seq <= rung_state_seq(rung_past_state(r->past)))
            return RUNG_UNCHANGED;
    }
    rung_status st = rung_past_advance(r->past, &end, err);
    if (st < 0 || !digest)
        return st < 0 ? st : RUNG_UNCHANGED;
    rung_digest ours = rung_state_digest(rung_past_state(r->past));
    r->seq = end.seq;
    r->is_other_digest = ours.a != digest->a || ours.b != digest->b;
    return r->is_other_digest ? RUNG_OK : RUNG_UNCHANGED;
}

/* RUNG_UNCHANGED: all are equal; RUNG_OK: the first difference is `difference`, or `window_difference` if `window_st`
 * says so, or `is_other_digest`. */
static rung_status reconcile(reconciling *r, rung_err *err) {
    uint64_t first, end_seq = UINT64_MAX;
    rung_digest digest;
    if (r->args->digest && !read_digest(r->args->digest, &end_seq, &digest))
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "--digest: expected a sequence, a colon and 32 hexadecimal digits");
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
    for (; st >= 0 && at < r->list.count && r->list.entries[at].seq <= end_seq; at++) {
        r->seq = r->list.entries[at].seq;
        st = compare_with(r, r->seq, err);
        if (st == RUNG_OK)
            return st;
        r->compared += st == RUNG_UNCHANGED;
    }
    if (st >= 0)
        st = finish(r, end_seq, r->args->digest ? &digest : NULL, err);
    return st;
}

/* A difference in the archive ends the replay, and so does an archive that cannot be read. */
static rung_status outcome(const reconciling *r, rung_status st, rung_err *err) {
    if (r->window_st < 0)
        *err = r->window_err;
    return r->window_st == RUNG_UNCHANGED ? st : r->window_st;
}

static void print_window_difference(const rung_archive_difference *d) {
    printf("the archive is not what the log gives: board %s, window %s, closed by record %llu: ",
           d->board, d->window, (ull)d->closed_seq);
    if (d->place)
        printf("place %u, player %s: another %s\n", d->place, d->player, d->what);
    else if (strcmp(d->what, "entries") == 0)
        printf("%u entries by the log, %u in the archive\n", d->total, d->archived_total);
    else
        puts(strcmp(d->what, "missing") == 0 ? "it is missing" : "another definition");
}

static void print_difference(const reconciling *r) {
    const rung_difference *d = &r->difference;
    if (r->window_st != RUNG_UNCHANGED) {
        print_window_difference(&r->window_difference);
        return;
    }
    if (r->is_other_digest) {
        printf("the state at sequence %llu is not what the log gives: another digest\n",
               (ull)r->seq);
        return;
    }
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

static void print_place(uint64_t seq, const char *kind, const char *board, const char *window,
                        const char *player) {
    printf(",\"seq\":%llu,\"kind\":\"%s\",\"board\":", (ull)seq, kind);
    rung_print_json(stdout, rung_slice_str(board));
    fputs(",\"window\":", stdout);
    rung_print_json(stdout, rung_slice_str(window));
    fputs(",\"player\":", stdout);
    rung_print_json(stdout, rung_slice_str(player));
}

static void print_json(const reconciling *r, bool is_ok) {
    const rung_difference *d = &r->difference;
    const rung_archive_difference *w = &r->window_difference;
    static const char *const kinds[] = {"seq", "board", "window", "entry", "other"};
    printf("{\"ok\":%s,\"compared\":%llu,\"from_seq\":%llu,\"archive\":%s,\"windows\":%llu,"
           "\"windows_skipped\":%llu",
           is_ok ? "true" : "false", (ull)r->compared, (ull)r->from_seq,
           r->archive ? "true" : "false", (ull)r->windows, (ull)r->windows_skipped);
    if (is_ok) {
    } else if (r->window_st != RUNG_UNCHANGED) {
        print_place(w->closed_seq, "archive", w->board, w->window, w->player);
        printf(",\"what\":\"%s\"", w->what);
    } else if (r->is_other_digest) {
        print_place(r->seq, "digest", "", "", "");
    } else {
        print_place(r->seq, kinds[d->kind], d->board, d->window, d->player);
    }
    puts("}");
}

static void print_fine(const reconciling *r) {
    printf("fine: %llu snapshot%s equal to the log, replayed from sequence %llu on\n",
           (ull)r->compared, r->compared == 1 ? " is" : "s are", (ull)r->from_seq);
    if (r->archive)
        printf("fine: %llu closed window%s equal in the archive, which has the log up to %llu; "
               "%llu not compared\n",
               (ull)r->windows, r->windows == 1 ? " is" : "s are", (ull)r->archive_seq,
               (ull)r->windows_skipped);
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
    if (args->parent && !rung__past_helper_settle(args->parent))
        return RUNG_EXIT_PROBLEM;
    char path[PATH_MAX];
    reconciling r = {.args = args, .window_st = RUNG_UNCHANGED};
    r.follower = (rung_hub_follower){.ctx = &r, .on_close = on_close};
    r.config = (rung_past_config){.log = {.alloc = rung_alloc_heap(), .path = args->folder},
                                  .memory_max = args->memory_max,
                                  .follower = &r.follower,
                                  .progress = progress,
                                  .ctx = &r};
    rung_status st = rung_dir_open(&r.dir, rung_fs_posix(), args->folder, false, &err);
    if (st >= 0)
        st = open_archive(&r, path, &err);
    if (st >= 0)
        st = outcome(&r, reconcile(&r, &err), &err);
    rung_past_close(r.past);
    rung_archive_close(r.archive);
    rung_snapshot_list_deinit(&r.list);
    rung_dir_close(&r.dir);
    if (st < 0)
        return rung_command_fail(self, &err);
    bool is_ok = st == RUNG_UNCHANGED;
    if (args->ask.json)
        print_json(&r, is_ok);
    else if (is_ok)
        print_fine(&r);
    else
        print_difference(&r);
    return is_ok ? RUNG_EXIT_OK : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_reconcile = {
    .name = "reconcile",
    .summary = "compare snapshots and archive with the log, or servers with each other",
    .details =
        "Builds the state from the oldest snapshot that is kept, or from the first event, and\n"
        "replays the log. At each later snapshot the two states must be equal; the first\n"
        "difference is named: board, window, player. Exit code 1 if there is one. Every window\n"
        "that closes on the way is compared with the archive. Changes nothing, takes no lock,\n"
        "and needs the memory of two states. Without --archive it is archive.db of the folder, if\n"
        "a server has it open: reading another one would leave files beside it.\n"
        "\n"
        "With two URLs it compares two servers that share a log, window by window, while they\n"
        "work, and names the first difference the same way.\n"
        "\n"
        "  rung reconcile /var/lib/rung\n"
        "  rung reconcile http://a:7864 http://b:7864\n",
    RUNG_OPTIONS(reconcile_args, reconcile_options),
    .run = run_reconcile,
};
