/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring between a hub and an archive, and nothing else: README.md lists the steps, each function here is one.
 *
 * Invariants:
 *   T1  Between begin and end there are an archive, a follower and a sampler; otherwise none of the three.
 *   T2  The order of ending is the reverse of beginning: the follower's thread uses the archive and the log. */
#define _GNU_SOURCE
#include "archive/attach.h"

#include "archive/change.h"
#include "archive/postgres/postgres_archive.h"
#include "archive/results.h"
#include "archive/sampler.h"
#include "archive/sqlite/sqlite_archive.h"
#include "base/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLAY_BYTES_DEFAULT ((size_t)128 << 20)

enum { PATH_SIZE = 4096, LOG_ID_SIZE = 32, CATCH_UP_MS = 200 };

struct rung_attach {
    rung_attach_config config;
    rung_hub_follower port;
    char path[PATH_SIZE];
    /* T1 */
    rung_archive *archive;
    rung_sampler *sampler;
    rung_log *log;
    const rung_state *state; /* the last that an event that is no score was applied to */
    rung_archive *readers[RUNG_ATTACH_READERS_MAX]; /* opened when asked for */
    uint32_t reader_count;
    const char *vfs;
    rung_worker *checker;   /* searches for damage; NULL: not running */
    _Atomic bool is_ending; /* the search shall stop */
    _Atomic int checked;    /* a status: RUNG_PARTIAL while it searches */
    pthread_mutex_t lock;   /* protects the next: another thread may ask for the stats */
    rung_follower *follower;
    uint64_t changed_seq, closed_seq; /* as in rung_archive_stats */
    rung_archive *checking;           /* the checker's, while it may be interrupted */
    uint64_t past_seq, past_cursor;   /* with rung_attach_open_past(); `archive` is a reader */
};

/* ---- the file ---- */

/* Tell the operator. */
__attribute__((format(printf, 2, 3))) static void say(const rung_attach *a, const char *format,
                                                      ...) {
    char line[PATH_SIZE + 256];
    va_list args;
    if (!a->config.say)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    a->config.say(a->config.ctx, line);
}

static rung_status open_reader(const rung_attach *a, rung_archive **archive_out, rung_err *err) {
    rung_postgres_archive_config p = {.url = a->config.url,
                                      .alloc = a->config.alloc,
                                      .is_read_only = true,
                                      .as_of_seq = a->past_seq};
    if (p.url)
        return rung_postgres_archive_open(&p, archive_out, NULL, err);
    rung_sqlite_archive_config c = {.path = a->path,
                                    .alloc = a->config.alloc,
                                    .is_read_only = true,
                                    .as_of_seq = a->past_seq,
                                    .vfs = a->vfs};
    return rung_sqlite_archive_open(&c, archive_out, err);
}

static void set_checking(rung_attach *a, rung_archive *archive) {
    pthread_mutex_lock(&a->lock);
    a->checking = archive;
    pthread_mutex_unlock(&a->lock);
}

/* Uses its own reader: the follower continues meanwhile. */
static rung_status check_file(rung_attach *a, rung_err *err) {
    rung_archive *archive;
    rung_status st = open_reader(a, &archive, err);
    if (st != RUNG_OK)
        return st;
    set_checking(a, archive);
    st = a->is_ending ? RUNG_ECLOSED : rung_sqlite_archive_check(archive, err);
    set_checking(a, NULL);
    rung_archive_close(archive);
    return st;
}

/* The step of the worker that searches for damage. */
static uint32_t check(void *arg, bool is_stopping) {
    rung_attach *a = arg;
    rung_err err = {0};
    (void)is_stopping;               /* is_ending was set before */
    if (!a->config.follower.threads) /* this thread reads only while the disk is idle */
        syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 3 << 13 /* IOPRIO_CLASS_IDLE */);
    rung_status st = check_file(a, &err);
    if (st == RUNG_ECORRUPT)
        say(a,
            "the archive is damaged: %s. Windows gone by may be missing or wrong: restore "
            "%.80s from a backup",
            err.message, a->path);
    else if (st < 0 && st != RUNG_ECLOSED)
        say(a, "the archive could not be looked through for damage: %s", err.message);
    a->checked = st == RUNG_ECORRUPT ? st : RUNG_OK;
    return RUNG_WORKER_END;
}

/* If no thread can be started, skip the search. */
static void begin_check(rung_attach *a) {
    a->is_ending = false;
    a->checked = RUNG_PARTIAL;
    rung_ignore(
        rung_worker_start(a->config.follower.threads, a->config.alloc, check, a, &a->checker, NULL),
        "the archive works without it");
}

static bool is_checked(void *arg) {
    return ((const rung_attach *)arg)->checked != RUNG_PARTIAL;
}

/* SQLite loses an interruption that comes before the check has begun, so repeat it until the check ends. */
static void end_check(rung_attach *a) {
    a->is_ending = true;
    while (a->checker && !rung_worker_await(a->checker, is_checked, a, 1)) {
        pthread_mutex_lock(&a->lock);
        if (a->checking)
            rung_sqlite_archive_interrupt(a->checking);
        pthread_mutex_unlock(&a->lock);
    }
    rung_worker_stop(a->checker);
    a->checker = NULL;
}

/* SQLite leaves no file of 0 bytes: another program emptied it. */
static void look_for_emptied(const rung_attach *a) {
    struct stat s;
    if (stat(a->path, &s) == 0 && s.st_size == 0)
        say(a, "the archive %s is an empty file and begins anew: if it held anything, that is gone",
            a->path);
}

static void look_for_gap(const rung_attach *a, uint64_t cursor_seq, uint64_t first_seq) {
    if (cursor_seq + 1 < first_seq)
        say(a,
            "the archive has events up to %" PRIu64 ", the log begins at %" PRIu64
            ": it goes on with a gap. Was it removed, or an old one put in its place?",
            cursor_seq, first_seq);
}

/* ---- beginning and ending ---- */

static void set_follower(rung_attach *a, rung_follower *f) {
    pthread_mutex_lock(&a->lock);
    a->follower = f;
    a->changed_seq = a->closed_seq = 0;
    pthread_mutex_unlock(&a->lock);
}

static void close_archives(rung_attach *a) {
    while (a->reader_count)
        rung_archive_close(a->readers[--a->reader_count]);
    rung_archive_close(a->archive);
    a->archive = NULL;
}

static void end(void *ctx) {
    rung_attach *a = ctx;
    rung_follower *f = a->follower;
    end_check(a);
    set_follower(a, NULL);
    rung_follower_destroy(f); /* T2 */
    rung_sampler_destroy(a->sampler);
    a->sampler = NULL;
    close_archives(a);
}

static rung_status open_file(rung_attach *a, rung_slice log_id, rung_err *err) {
    rung_sqlite_archive_config c = {
        .path = a->path, .alloc = a->config.alloc, .log_id = log_id, .vfs = a->config.vfs};
    look_for_emptied(a);
    a->vfs = a->config.vfs;
    rung_status st = rung_sqlite_archive_open(&c, &a->archive, err);
    if (st != RUNG_ENOSPC || c.vfs)
        return st;
    c.vfs = a->vfs =
        "unix-excl"; /* keep the WAL index in memory: reading then needs no disk space */
    st = rung_sqlite_archive_open(&c, &a->archive, err);
    if (st == RUNG_OK)
        say(a,
            "there is no space for what the archive shares with other programs: only this server "
            "can read it until the next start");
    return st;
}

/* A database that is out of reach is the follower's to report. */
static rung_status open_archive(rung_attach *a, const uint8_t log_id[16], rung_err *err) {
    char id[LOG_ID_SIZE + 1];
    for (int i = 0; i < LOG_ID_SIZE / 2; i++)
        snprintf(id + 2 * i, 3, "%02x", log_id[i]);
    rung_postgres_archive_config c = {
        .url = a->config.url, .alloc = a->config.alloc, .log_id = rung_slice_of(id, LOG_ID_SIZE)};
    return c.url ? rung_postgres_archive_open(&c, &a->archive, NULL, err)
                 : open_file(a, c.log_id, err);
}

static rung_status make_sampler(rung_attach *a, rung_err *err) {
    rung_hash_key key;
    rung_status st = rung_random_hash_key(NULL, &key, err);
    if (st < 0)
        return st;
    st = rung_sampler_create(a->config.alloc, &key, a->config.sample_players_max, &a->sampler);
    return st < 0 ? RUNG_FAIL(err, st, "archive: out of memory") : RUNG_OK;
}

static rung_status make_follower(rung_attach *a, rung_log *log, uint64_t first_seq, rung_err *err) {
    rung_follower_config c = a->config.follower;
    rung_follower *f;
    c.archive = a->archive;
    c.log = log;
    c.alloc = a->config.alloc;
    c.first_seq = first_seq;
    c.say = a->config.say;
    c.say_ctx = a->config.ctx;
    rung_status st = rung_follower_create(&c, &f, err);
    if (st == RUNG_OK) {
        set_follower(a, f);
        if (rung_follower_stat(f).is_known)
            look_for_gap(a, rung_follower_cursor(f), first_seq);
        if (!a->config.vfs &&
            !a->config.url) /* a test counts what is read; a database is its own to check */
            begin_check(a);
    }
    return st;
}

/* ---- windows that closed while no archive was attached ---- */

/* After a failure assume that it is there, rather than add it twice. */
static bool has_window(rung_archive *archive, rung_slice board, const rung_window_info *w) {
    rung_archive_window found;
    rung_status st =
        archive->ops->find_window(archive, board, w->kind, rung_slice_str(w->id), &found, NULL);
    rung__archive_forget(archive);
    return st != RUNG_NOT_FOUND;
}

static void add_window(rung_attach *a, const rung_state *state, rung_slice board,
                       const rung_window_info *w) {
    rung_view view;
    rung_slice id = rung_slice_str(w->id);
    bool is_season = w->kind == RUNG_WINDOW_SEASON;
    rung_query q = {.board = board, .window = id};
    if (!is_season) {
        q.window = rung_slice_str(rung_window_words[w->kind]);
        q.window_id = id;
    }
    if (rung_state_view(state, &q, &view, NULL) == RUNG_OK && view.closed)
        rung_follower_close_window(a->follower, board, &view);
}

static void add_windows_of(rung_attach *a, const rung_state *state, rung_slice board) {
    uint32_t count = rung_state_windows(state, board, NULL, 0);
    size_t size = count * sizeof(rung_window_info);
    rung_window_info *windows = count ? rung_alloc_get(a->config.alloc, size) : NULL;
    if (!windows)
        return;
    rung_state_windows(state, board, windows, count);
    for (uint32_t i = 0; i < count; i++)
        if (windows[i].closed && !has_window(a->readers[0], board, &windows[i]))
            add_window(a, state, board, &windows[i]);
    rung_alloc_free(a->config.alloc, windows, size);
}

/* Windows that the state still has and the archive never saw are added with the state's last event. */
static void add_missed_windows(rung_attach *a, const rung_state *state) {
    rung_archive *reader;
    rung_slice board;
    const rung_board_def *def;
    if (rung_attach_reader(a, &reader, NULL) != RUNG_OK)
        return;
    for (uint32_t i = 0; i < rung_state_board_span(state); i++)
        if (rung_state_board_at(state, i, &board, &def) == RUNG_OK)
            add_windows_of(a, state, board);
}

/* Event `changed_seq` changed archived windows, `closed_seq` closed some; 0: none did. */
static void mark(rung_attach *a, uint64_t changed_seq, uint64_t closed_seq) {
    pthread_mutex_lock(&a->lock);
    a->changed_seq = changed_seq ? changed_seq : a->changed_seq;
    a->closed_seq = closed_seq ? closed_seq : a->closed_seq;
    pthread_mutex_unlock(&a->lock);
}

static rung_status begin(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                         uint64_t state_seq, const rung_state *state, rung_err *err) {
    rung_attach *a = ctx;
    a->log = log;
    rung_status st = open_archive(a, log_id, err);
    if (st == RUNG_OK)
        st = make_sampler(a, err);
    if (st == RUNG_OK)
        st = make_follower(a, log, first_seq, err);
    if (st < 0) {
        end(a);
        return st;
    }
    if (state_seq) {
        mark(a, state_seq, state_seq);
        add_missed_windows(a, state); /* before the follower may continue past them */
        rung_follower_resume(a->follower, state_seq);
    }
    return RUNG_OK;
}

/* ---- following ---- */

static void before(void *ctx, const rung_state *state, int64_t ts_ms) {
    rung_attach *a = ctx;
    rung_sampler_before(a->sampler, state, a->follower, ts_ms);
}

/* Without memory the record lacks it. */
static void prepare(void *ctx, const rung_state *state, uint64_t seq, const rung_event *event) {
    rung_attach *a = ctx;
    a->state = state;
    rung_json_writer old = {.alloc = a->config.alloc}, new = {.alloc = a->config.alloc};
    if (!rung_event_is_audited(event) || !rung_follower_wants(a->follower, seq))
        return;
    rung_change_write(state, event, &old, &new);
    if (!old.is_failed && !new.is_failed && old.len + new.len)
        rung_follower_change(a->follower, seq, rung_json_written(&old), rung_json_written(&new));
    rung_json_writer_deinit(&old);
    rung_json_writer_deinit(&new);
}

/* What came of an event with several players. It is applied alone, and was prepared. */
static void hand_results(rung_attach *a, uint64_t seq, const rung_event *event) {
    rung_buffer packed = {.alloc = a->config.alloc};
    if (!rung_results_has(event) || !rung_follower_wants(a->follower, seq))
        return;
    rung_results_pack(a->state, event, &packed);
    rung_follower_results(a->follower, seq, packed);
}

static void applied(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes) {
    rung_attach *a = ctx;
    uint64_t changed_seq = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (statuses[i] >= 0)
            rung_sampler_note(a->sampler, events[i]);
        if (rung_archive_is_changed_by(events[i]))
            changed_seq = first_seq + i;
    }
    if (changed_seq)
        mark(a, changed_seq, 0);
    if (count == 1 && statuses[0] >= 0 && events[0]->kind != RUNG_EVENT_SCORE)
        hand_results(a, first_seq, events[0]);
    rung_follower_applied(a->follower, first_seq, count, statuses, outcomes);
}

static void passed(void *ctx, uint64_t seq) {
    rung_attach *a = ctx;
    const rung_status nothing = RUNG_UNCHANGED;
    rung_follower_applied(a->follower, seq, 1, &nothing, NULL);
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    rung_attach *a = ctx;
    mark(a, 0, rung_state_seq(view->state));
    rung_follower_close_window(a->follower, board, view);
}

/* No client is served yet: wait for the archive rather than queue up windows, unless the archive fails. */
static void catch_up(void *ctx) {
    rung_attach *a = ctx;
    size_t max = a->config.replay_bytes_max ? a->config.replay_bytes_max : REPLAY_BYTES_DEFAULT;
    for (;;) {
        rung_follower_pins p = rung_follower_pinned(a->follower);
        if (p.bytes <= max || rung_follower_stat(a->follower).status < 0 ||
            p.oldest_seq > rung_log_sure_seq(a->log))
            return;
        rung_ignore(rung_follower_wait(a->follower, p.oldest_seq, CATCH_UP_MS),
                    "asked again at once");
    }
}

static uint64_t needed_from(void *ctx) {
    return rung_follower_cursor(((rung_attach *)ctx)->follower) + 1;
}

static uint64_t snapshot_before(void *ctx) {
    uint64_t oldest = rung_follower_pinned(((rung_attach *)ctx)->follower).oldest_seq;
    return oldest ? oldest : UINT64_MAX;
}

/* ---- life ---- */

rung_status rung_attach_create(const rung_attach_config *config, rung_attach **out, rung_err *err) {
    if (!config->path && !config->folder && !config->url)
        return RUNG_FAIL(err, RUNG_EINVAL, "archive: expected a folder, a path or an address");
    rung_attach *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    a->config = *config;
    int len = config->url ? 0
              : config->path
                  ? snprintf(a->path, PATH_SIZE, "%s", config->path)
                  : snprintf(a->path, PATH_SIZE, "%s/%s", config->folder, RUNG_ATTACH_FILE);
    if (len < 0 || len >= PATH_SIZE) {
        rung_alloc_free(config->alloc, a, sizeof *a);
        return RUNG_FAIL(err, RUNG_EINVAL, "archive: its path is too long");
    }
    pthread_mutex_init(&a->lock, NULL);
    a->port = (rung_hub_follower){.ctx = a,
                                  .begin = begin,
                                  .before = before,
                                  .prepare = prepare,
                                  .applied = applied,
                                  .passed = passed,
                                  .on_close = on_close,
                                  .catch_up = catch_up,
                                  .needed_from = needed_from,
                                  .snapshot_before = snapshot_before,
                                  .end = end};
    *out = a;
    return RUNG_OK;
}

void rung_attach_destroy(rung_attach *a) {
    if (!a)
        return;
    if (a->past_seq)
        close_archives(a);
    pthread_mutex_destroy(&a->lock);
    rung_alloc_free(a->config.alloc, a, sizeof *a);
}

const rung_hub_follower *rung_attach_port(rung_attach *a) {
    return &a->port;
}

/* ---- asking ---- */

rung_status rung_attach_reader(rung_attach *a, rung_archive **archive_out, rung_err *err) {
    if (!a->reader_count)
        return rung_attach_add_reader(a, archive_out, err);
    *archive_out = a->readers[0];
    return RUNG_OK;
}

rung_status rung_attach_add_reader(rung_attach *a, rung_archive **archive_out, rung_err *err) {
    if (!a->archive)
        return RUNG_NOT_FOUND;
    if (a->reader_count == RUNG_ATTACH_READERS_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "reader limit of the archive reached");
    rung_status st = open_reader(a, &a->readers[a->reader_count], err);
    if (st == RUNG_OK)
        *archive_out = a->readers[a->reader_count++];
    return st;
}

/* Opening a file in WAL mode leaves files beside it, unless its server has made them. */
static bool is_served(const rung_attach *a) {
    char path[PATH_SIZE + 8];
    struct stat s;
    snprintf(path, sizeof path, "%s-wal", a->path);
    return a->config.url || stat(path, &s) == 0;
}

rung_status rung_attach_open_past(rung_attach *a, uint64_t seq, rung_err *err) {
    if (!is_served(a))
        return RUNG_NOT_FOUND;
    a->vfs = a->config.vfs;
    a->past_seq = seq;
    return open_reader(a, &a->archive, err);
}

/* How far the archive's writer has come; once that is far enough it is not looked at again. */
static void look_at_cursor(rung_attach *a, rung_archive_stats *stats) {
    rung_err err;
    uint64_t seq;
    if (a->past_cursor < a->past_seq && a->archive) {
        rung_status st = rung_archive_cursor(a->archive, &seq, NULL, &err);
        stats->is_failing = st < 0;
        a->past_cursor = st < 0 ? a->past_cursor : seq;
    }
    stats->cursor_seq = a->past_cursor;
    stats->changed_seq = stats->closed_seq = a->past_seq;
}

rung_archive_stats rung_attach_stat(rung_attach *a) {
    rung_follower_stats f = {0};
    pthread_mutex_lock(&a->lock);
    if (a->follower)
        f = rung_follower_stat(a->follower);
    rung_archive_stats stats = {.cursor_seq = f.cursor_seq,
                                .changed_seq = a->changed_seq,
                                .closed_seq = a->closed_seq,
                                .behind_events = f.behind_events,
                                .windows = f.windows,
                                .failures = f.failures,
                                .outcomes_lost = f.statuses_lost,
                                .changes_lost = f.changes_lost,
                                .cpu_ns = f.cpu_ns,
                                .behind_ms = f.behind_ms,
                                .is_damaged = a->checked == RUNG_ECORRUPT,
                                .is_failing = f.status < 0,
                                .is_writer = f.is_writer};
    if (a->past_seq)
        look_at_cursor(a, &stats);
    pthread_mutex_unlock(&a->lock);
    return stats;
}

rung_status rung_attach_wait(rung_attach *a, uint64_t seq, uint32_t timeout_ms) {
    return a->follower ? rung_follower_wait(a->follower, seq, timeout_ms) : RUNG_PARTIAL;
}
