/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that stores a state.
 *
 * Opening: lock the folder and examine the log, load the newest intact snapshot, replay the records after it, start the
 * log.
 *
 * Invariants:
 *   S1  After opening, the state's sequence is that of the log; of a shared log, the one it had when it was opened.
 *   S2  The log is durable up to a snapshot's sequence before the snapshot gets its name (the caller has synced).
 *   S3  At most one save at a time, in this process or in its child. The child shares the folder's lock: nobody else
 *       can open the folder while it lives, and it ends when we do. */
#define _GNU_SOURCE
#include "service/store.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "journal/folder.h"
#include "journal/segment_log.h"
#include "journal/snapshot_file.h"
#include "service/applier.h"
#include "service/child.h"
#include "state/image/save.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    REPLAY_RECORDS = 1024, /* per read */
    SNAPSHOTS_LISTED = 16, /* two are kept; a crash may leave one more */
    LOCK_TRIES = 25,
    LOCK_PAUSE_MS = 20,
    PAUSE_BYTES = 1 << 16, /* a saving child pauses after this many */
    PAUSE_MS = 1,
    NODE_TEXT_MAX = 64, /* of the file with the server's id */
};

struct rung_store {
    rung_store_config config;
    rung_log *log;
    rung_segment_log *segments; /* the same log, if it is in the folder; NULL: a shared log */
    rung_dir dir;               /* with a shared log: the folder, and its lock */
    rung_file lock;
    rung_child *child; /* NULL: no save is running */
    rung_nodes *nodes; /* NULL: the log is not shared */
    uint64_t *keep;    /* ascending; NULL and has_keep: only the newest two */
    size_t keep_count;
    bool has_keep;
    bool is_followed; /* between the follower's begin and end */
    rung_store_stats stats;
};

/* ---- opening: the snapshot ---- */

static void say_passed_over(const rung_store *s, uint64_t seq, const char *why) {
    char line[400];
    if (!s->config.say)
        return;
    snprintf(line, sizeof line,
             "snapshot %llu is damaged and passed over, more of the log is replayed: %s",
             (unsigned long long)seq, why);
    s->config.say(s->config.ctx, line);
}

static void tell_snapshot(void *ctx, uint64_t done, uint64_t total) {
    const rung_store *s = ctx;
    s->config.progress(s->config.ctx, "snapshot", done, total);
}

typedef struct snapshot_source {
    rung_snapshot_reader *reader;
    rung_err *err;
} snapshot_source;

static rung_status next_block(void *ctx, const void **bytes_out, size_t *len_out) {
    snapshot_source *source = ctx;
    return rung_snapshot_reader_next(source->reader, bytes_out, len_out, source->err);
}

/* Half of the loading runs in a worker. */
typedef struct helper {
    const rung_store *store;
    rung_worker *worker;
    void (*work)(void *arg);
    void *arg;
} helper;

static uint32_t help(void *arg, bool is_stopping) {
    const helper *h = arg;
    (void)is_stopping;
    h->work(h->arg);
    return RUNG_WORKER_END;
}

static bool begin_help(void *ctx, void (*work)(void *arg), void *arg) {
    helper *h = ctx;
    const rung_store_config *c = &h->store->config;
    h->work = work;
    h->arg = arg;
    return rung_worker_start(c->writer.threads, c->alloc, help, h, &h->worker, NULL) == RUNG_OK;
}

static void wait_for_help(void *ctx) {
    helper *h = ctx;
    rung_worker_stop(h->worker);
    h->worker = NULL;
}

static void digest_bytes(const rung_state *state, uint8_t out[RUNG_SNAPSHOT_DIGEST_SIZE]) {
    rung_digest d = rung_state_digest(state);
    memset(out, 0, RUNG_SNAPSHOT_DIGEST_SIZE);
    rung_put64(out, d.a);
    rung_put64(out + 8, d.b);
}

/* Compare the loaded state with the snapshot file's header. */
static rung_status check_loaded(const rung_state *state, const rung_snapshot_info *info,
                                rung_err *err) {
    uint8_t digest[RUNG_SNAPSHOT_DIGEST_SIZE];
    digest_bytes(state, digest);
    if (rung_state_seq(state) != info->seq || memcmp(digest, info->digest, sizeof digest) != 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "snapshot %llu does not match its digest",
                         (unsigned long long)info->seq);
    return RUNG_OK;
}

rung_status rung_store_load_snapshot(rung_snapshot_reader *reader, const rung_state_config *config,
                                     const rung_save_progress *progress,
                                     const rung_load_helper *beside, rung_state **state_out,
                                     rung_err *err) {
    snapshot_source source = {.reader = reader, .err = err};
    rung_state *state = NULL;
    rung_status st = rung_state_load(config, next_block, &source, progress, beside, &state, err);
    if (st == RUNG_OK) {
        rung_snapshot_info info = rung_snapshot_reader_info(reader);
        st = check_loaded(state, &info, err);
    }
    if (st < 0) {
        rung_state_destroy(state);
        return st;
    }
    *state_out = state;
    return RUNG_OK;
}

static rung_status load_snapshot(rung_store *s, uint64_t seq, rung_state **state_out,
                                 rung_err *err) {
    rung_save_progress progress = {.tell = tell_snapshot, .ctx = s};
    helper thread = {.store = s};
    rung_load_helper beside = {&thread, begin_help, wait_for_help};
    bool is_helped =
        rung_alloc_is_shared(s->config.state.alloc); /* others may be single-threaded */
    rung_snapshot_reader *reader;
    rung_status st = rung_snapshot_reader_open(rung_store_dir(s), s->config.alloc,
                                               rung_log_id(s->log), seq, &reader, err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "snapshot %llu is missing", (unsigned long long)seq);
    if (st < 0)
        return st;
    st = rung_store_load_snapshot(reader, &s->config.state, s->config.progress ? &progress : NULL,
                                  is_helped ? &beside : NULL, state_out, err);
    rung_snapshot_reader_close(reader);
    return st;
}

/* The newest intact snapshot, or the empty state if the log begins at 1. */
static rung_status load_newest(rung_store *s, rung_state **state_out, rung_err *err) {
    uint64_t seqs[SNAPSHOTS_LISTED], end = rung_log_durable_seq(s->log);
    size_t count;
    rung_status st = rung_snapshot_list(rung_store_dir(s), seqs, SNAPSHOTS_LISTED, &count, err);
    if (st < 0)
        return st;
    rung_snapshot_compare_manifest(rung_store_dir(s), rung_log_id(s->log), seqs, count,
                                   s->config.say, s->config.ctx);
    for (size_t i = 0; i < count; i++) {
        rung_err why = {0};
        if (seqs[i] > end) /* S2 */
            return RUNG_FAIL(err, RUNG_ECORRUPT,
                             "snapshot %llu is newer than the log, which ends at %llu",
                             (unsigned long long)seqs[i], (unsigned long long)end);
        st = load_snapshot(s, seqs[i], state_out, &why);
        if (st == RUNG_OK) {
            s->stats.snapshot_seq = seqs[i];
            return st;
        }
        if (err)
            *err = why;
        if (st != RUNG_ECORRUPT)
            return st;
        say_passed_over(s, seqs[i], why.message);
    }
    if (count > 0 && rung_log_first_seq(s->log) > 1)
        return RUNG_ECORRUPT; /* `err` describes the last one tried */
    st = rung_state_create(&s->config.state, state_out);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}

/* ---- opening: the rest of the log ---- */

static rung_status replay_from(rung_store *s, rung_log_cursor *cursor, rung_log_record *records,
                               rung_applier *applier, const rung_state *state, rung_err *err) {
    const rung_hub_follower *f = s->config.follower;
    uint64_t from = rung_state_seq(state), end = rung_log_durable_seq(s->log);
    bool is_shared = rung_log_is_shared(s->log);
    /* S1: other nodes go on writing, but the log is known to be durable only up to here. */
    while (!is_shared || rung_state_seq(state) < end) {
        uint64_t left = is_shared ? end - rung_state_seq(state) : REPLAY_RECORDS;
        size_t count, max = left < REPLAY_RECORDS ? (size_t)left : REPLAY_RECORDS;
        rung_status st = rung_log_cursor_read(cursor, records, max, &count, err);
        if (st == RUNG_NOT_FOUND)
            break;
        if (st == RUNG_OK)
            st = rung_applier_replay(applier, records, count, err);
        if (st < 0)
            return st;
        for (size_t i = 0; i < count; i++)
            s->stats.replayed_bytes += rung_log_framed_size(records[i].payload.len);
        if (f && f->catch_up)
            f->catch_up(f->ctx);
        if (s->config.progress)
            s->config.progress(s->config.ctx, "log", rung_state_seq(state) - from, end - from);
    }
    if (rung_state_seq(state) < end) /* S1 */
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "the log ends at %llu, but only %llu of it can be read",
                         (unsigned long long)end, (unsigned long long)rung_state_seq(state));
    return RUNG_OK;
}

static rung_status replay(rung_store *s, rung_state *state, rung_err *err) {
    const rung_alloc *a = s->config.alloc;
    size_t size = REPLAY_RECORDS * sizeof(rung_log_record);
    rung_log_cursor *cursor = NULL;
    rung_applier *applier = NULL;
    rung_applier_config config = {.alloc = a,
                                  .state = state,
                                  .follower = s->config.follower,
                                  .nodes = s->nodes,
                                  .is_shared = rung_log_is_shared(s->log)};
    uint64_t next = rung_state_seq(state) + 1;
    int64_t began_us = rung_clock_monotonic_us(&s->config.writer.clock);
    rung_log_record *records = rung_alloc_get(a, size);
    if (!records || rung_applier_create(&config, &applier, NULL) < 0) {
        rung_alloc_free(a, records, size);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    rung_status st = rung_log_cursor_open(s->log, next, &cursor, err);
    if (st == RUNG_ESTALE)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "the log begins at %llu, but %llu is needed%s",
                       (unsigned long long)rung_log_first_seq(s->log), (unsigned long long)next,
                       rung_log_is_shared(s->log)
                           ? ": empty the data folder, and fill it with rung join from a server "
                             "that has a newer snapshot"
                           : "");
    if (st >= 0)
        st = replay_from(s, cursor, records, applier, state, err);
    rung_log_cursor_close(cursor);
    rung_applier_destroy(applier);
    rung_alloc_free(a, records, size);
    s->stats.replay_us = (uint64_t)(rung_clock_monotonic_us(&s->config.writer.clock) - began_us);
    return st;
}

/* ---- opening: the folder ---- */

typedef struct id_text {
    char text[2 * RUNG_LOG_ID_SIZE + 1];
} id_text;

static id_text id_as_text(const rung_log *log) {
    id_text out;
    for (size_t i = 0; i < RUNG_LOG_ID_SIZE; i++)
        snprintf(out.text + 2 * i, 3, "%02x", rung_log_id(log)[i]);
    return out;
}

static void note_segment(void *arg, const char *name) {
    uint64_t first_seq;
    uint32_t epoch;
    *(bool *)arg |= rung_segment_name_parse(name, &first_seq, &epoch);
}

/* A folder beside a log that is elsewhere says in a file whose snapshots it has. */
static rung_status claim_folder(const rung_store *s, rung_err *err) {
    rung_file file = {0};
    char found[sizeof(id_text)] = "";
    size_t got = 0;
    bool has_segments = false;
    id_text ours = id_as_text(s->log);
    rung_status st = rung_dir_list(&s->dir, note_segment, &has_segments, err);
    if (st < 0)
        return st;
    if (has_segments)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "folder %s has a log of its own: start with an empty folder", s->dir.path);
    st = rung_file_open(&file, &s->dir, RUNG_FOLDER_LOG_ID, RUNG_FILE_READ, err);
    if (st == RUNG_NOT_FOUND)
        return rung_file_replace(&s->dir, RUNG_FOLDER_LOG_ID, ours.text, sizeof ours.text - 1, err);
    if (st == RUNG_OK)
        st = rung_file_read(&file, found, sizeof found - 1, 0, &got, err);
    rung_file_close(&file);
    if (st == RUNG_OK && strcmp(found, ours.text) != 0)
        st = RUNG_FAIL(err, RUNG_EREFUSED,
                       "folder %s belongs to another log, of another topic or Kafka cluster (%s, "
                       "not %s)",
                       s->dir.path, found, ours.text);
    return st;
}

/* The file has the id, made once so that the others know this server after a restart, and the number of its runs. */
static rung_status read_node_file(const rung_store *s, uint64_t *id, uint64_t *runs,
                                  rung_err *err) {
    char text[NODE_TEXT_MAX] = "", *end;
    size_t got = 0;
    rung_status st =
        rung_file_read_small(&s->dir, RUNG_FOLDER_NODE_ID, text, sizeof text - 1, &got, err);
    if (st < 0)
        return st;
    if (st == RUNG_NOT_FOUND)
        return rung_random_fill(s->config.random, id, sizeof *id, err);
    *id = strtoull(text, &end, 16);
    bool has_id = end == text + 16;
    *runs = strtoull(end, &end, 10);
    return has_id && *end == '\n' && end + 1 == text + got
               ? RUNG_OK
               : RUNG_FAIL(err, RUNG_ECORRUPT, "%s/%s is damaged: delete it to get another id",
                           s->dir.path, RUNG_FOLDER_NODE_ID);
}

/* A run's number grows from one to the next whatever the clock does, and differs in a copy of the folder. */
static rung_status begin_run(const rung_store *s, uint64_t *id_out, uint64_t *run_out,
                             rung_err *err) {
    char text[NODE_TEXT_MAX];
    uint64_t runs = 0;
    uint16_t chance;
    rung_status st = read_node_file(s, id_out, &runs, err);
    if (st == RUNG_OK)
        st = rung_random_fill(s->config.random, &chance, sizeof chance, err);
    if (st < 0)
        return st;
    *run_out = (runs + 1) << 16 | chance;
    int len = snprintf(text, sizeof text, "%016llx %llu\n", (unsigned long long)*id_out,
                       (unsigned long long)runs + 1);
    return rung_file_replace(&s->dir, RUNG_FOLDER_NODE_ID, text, (size_t)len, err);
}

static rung_status meet_nodes(rung_store *s, rung_err *err) {
    rung_nodes_config config = s->config.nodes;
    config.alloc = s->config.alloc;
    rung_status st = begin_run(s, &config.id, &config.run, err);
    return st < 0 ? st : rung_nodes_create(&config, &s->nodes, err);
}

static void leave_folder(rung_store *s) {
    rung_file_close(&s->lock);
    rung_dir_close(&s->dir);
}

static rung_status take_folder(rung_store *s, rung_err *err) {
    const rung_fs *fs = s->config.fs ? s->config.fs : rung_fs_posix();
    rung_status st = rung_dir_open(&s->dir, fs, s->config.path, true, err);
    if (st == RUNG_OK)
        st = rung_folder_lock(&s->dir, &s->lock, err);
    if (st == RUNG_OK)
        st = claim_folder(s, err);
    if (st < 0)
        leave_folder(s);
    return st;
}

static rung_status open_segments(rung_store *s, rung_err *err) {
    const rung_store_config *c = &s->config;
    rung_segment_log_config log = {
        .fs = c->fs ? c->fs : rung_fs_posix(),
        .alloc = c->alloc,
        .path = c->path,
        .segment_size = c->segment_size,
        .is_relaxed = c->writer.sync_every_ms > 0,
        .say = c->say,
        .say_ctx = c->ctx,
        .writer = c->writer,
    };
    rung_status st = rung_segment_log_open(&log, &s->segments, err);
    if (st == RUNG_OK)
        s->log = rung_segment_log_port(s->segments);
    return st;
}

/* The child of a killed process may hold the lock until it notices that its parent is gone. */
static rung_status open_log(rung_store *s, rung_err *err) {
    rung_status (*try)(rung_store * s, rung_err * err) = s->log ? take_folder : open_segments;
    rung_status st = try(s, err);
    for (int tries = 0; st == RUNG_EBUSY && tries < LOCK_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_MS * 1000000L}, NULL);
        st = try(s, err);
    }
    return st;
}

/* Before the first event is replayed. */
static rung_status begin_follower(rung_store *s, const rung_state *state, rung_err *err) {
    const rung_hub_follower *f = s->config.follower;
    if (!f || !f->begin)
        return RUNG_OK;
    return f->begin(f->ctx, s->log, rung_log_id(s->log), rung_log_first_seq(s->log),
                    rung_state_seq(state), state, err);
}

static void end_follower(rung_store *s) {
    const rung_hub_follower *f = s->config.follower;
    if (f && f->end)
        f->end(f->ctx);
}

static rung_status start_log(rung_store *s, const rung_state *state, rung_err *err) {
    rung_status st = rung_log_start(s->log, rung_state_seq(state) + 1, err);
    s->stats.is_full = st == RUNG_OK && s->segments && rung_segment_log_is_start_due(s->segments);
    return st;
}

rung_status rung_store_open(const rung_store_config *config, rung_store **store_out,
                            rung_state **state_out, rung_err *err) {
    rung_store *s = rung_alloc_zeroed(config->alloc, sizeof *s);
    rung_state *state = NULL;
    if (!s) {
        rung_ignore(rung_log_close(config->log, NULL), "the failure to open is the one to tell");
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    s->config = *config;
    s->log = config->log;
    s->config.state.id_capacity = 0;
    s->config.state.id_keep_ms = 0;
    s->config.state.rules_level = 0;
    rung_status st = open_log(s, err);
    if (st == RUNG_OK && rung_log_is_shared(s->log))
        st = meet_nodes(s, err);
    if (st == RUNG_OK)
        st = load_newest(s, &state, err);
    if (st == RUNG_OK)
        st = begin_follower(s, state, err);
    s->is_followed = st == RUNG_OK;
    if (st == RUNG_OK)
        st = replay(s, state, err);
    if (st == RUNG_OK)
        st = start_log(s, state, err);
    if (st < 0) {
        if (s->is_followed)
            end_follower(s);
        s->is_followed = false;
        rung_state_destroy(state);
        rung_ignore(rung_store_close(s, NULL), "the failure to open is the one to tell");
        return st;
    }
    *store_out = s;
    *state_out = state;
    return RUNG_OK;
}

rung_status rung_store_close(rung_store *s, rung_err *err) {
    if (!s)
        return RUNG_OK;
    rung_ignore(rung_store_save_poll(s, true, NULL),
                "a snapshot less is a longer replay, nothing worse");
    if (s->is_followed)
        end_follower(s);
    rung_status st = rung_log_close(s->log, err);
    leave_folder(s);
    rung_nodes_destroy(s->nodes);
    rung_alloc_free(s->config.alloc, s->keep, s->keep_count * sizeof *s->keep);
    rung_alloc_free(s->config.alloc, s, sizeof *s);
    return st;
}

bool rung_store_ids_event(const rung_state *state, uint32_t id_capacity, int64_t id_keep_ms,
                          rung_event *event_out) {
    rung_stats now;
    rung_state_stats(state, &now);
    uint32_t capacity = id_capacity ? id_capacity : (uint32_t)now.id_capacity;
    int64_t keep_ms = id_keep_ms ? id_keep_ms : now.id_keep_ms;
    *event_out = (rung_event){.kind = RUNG_EVENT_IDS_SET, .ids = {capacity, keep_ms}};
    return capacity != now.id_capacity || keep_ms != now.id_keep_ms;
}

bool rung_store_rules_event(const rung_state *state, rung_event *event_out) {
    *event_out = (rung_event){.kind = RUNG_EVENT_RULES_SET, .rules = {RUNG_RULES_LEVEL}};
    return rung_state_rules(state) < RUNG_RULES_LEVEL;
}

rung_log *rung_store_log(rung_store *s) {
    return s->log;
}

const rung_dir *rung_store_dir(const rung_store *s) {
    return s->segments ? rung_segment_log_dir(s->segments) : &s->dir;
}

rung_nodes *rung_store_nodes(rung_store *s) {
    return s->nodes;
}

rung_status rung_store_check_place(const rung_store *s, rung_err *err) {
    return s->segments ? rung_segment_log_check_place(s->segments, err)
                       : rung_folder_check(&s->lock, s->config.path, err);
}

rung_store_stats rung_store_stat(const rung_store *s) {
    return s->stats;
}

/* ---- saving ---- */

typedef struct snapshot_target {
    rung_snapshot_writer *writer;
    rung_err *err;
    const rung_child_life *life; /* NULL: not in a child */
    size_t unpaused;             /* bytes since the last pause */
} snapshot_target;

/* A child pauses so that it seldom competes with the log's syncs for the disk. With 16 submissions in flight at 10 M
 * players, a snapshot makes their p99 1.2 times as long; without pauses 2.5 times. */
static rung_status pause_now_and_then(snapshot_target *to, size_t len) {
    to->unpaused += len;
    bool is_due = to->unpaused >= PAUSE_BYTES;
    if (is_due)
        to->unpaused = 0;
    return to->life->pause(to->life, is_due ? PAUSE_MS : 0);
}

static rung_status write_block(void *ctx, const void *bytes, size_t len) {
    snapshot_target *to = ctx;
    if (to->life && pause_now_and_then(to, len) < 0) /* S3 */
        return RUNG_FAIL(to->err, RUNG_ECLOSED, "the requesting process is gone");
    return rung_snapshot_writer_append(to->writer, bytes, len, to->err);
}

static rung_status write_snapshot(rung_store *s, const rung_state *state,
                                  const rung_child_life *life, rung_err *err) {
    snapshot_target to = {.err = err, .life = life};
    uint8_t digest[RUNG_SNAPSHOT_DIGEST_SIZE];
    const rung_alloc *alloc = life ? life->alloc : s->config.alloc;
    if (s->has_keep)
        rung_snapshot_remove_old(rung_store_dir(s), alloc, UINT64_MAX, s->keep, s->keep_count);
    rung_status st = rung_snapshot_writer_begin(rung_store_dir(s), alloc, rung_log_id(s->log),
                                                rung_state_seq(state), &to.writer, err);
    if (st < 0)
        return st;
    st = rung_state_save(state, write_block, &to, NULL);
    if (st < 0) {
        rung_snapshot_writer_abort(to.writer);
        return st;
    }
    rung_snapshot_info info;
    int64_t time_ms = rung_state_time(state);
    digest_bytes(state, digest);
    rung_snapshot_writer_set_time(to.writer, time_ms == INT64_MIN ? 0 : time_ms);
    rung_snapshot_writer_keep(to.writer, s->keep, s->keep_count);
    return rung_snapshot_writer_finish(to.writer, digest, &info, err);
}

rung_status rung_store_keep(rung_store *s, const uint64_t *seqs, size_t count, rung_err *err) {
    uint64_t *copy = count ? rung_alloc_get(s->config.alloc, count * sizeof *copy) : NULL;
    if (count && !copy)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the list of snapshots to keep");
    if (count)
        memcpy(copy, seqs, count * sizeof *copy);
    rung_alloc_free(s->config.alloc, s->keep, s->keep_count * sizeof *s->keep);
    s->keep = copy;
    s->keep_count = count;
    s->has_keep = true;
    return RUNG_OK;
}

void rung_store_remove_old(rung_store *s) {
    if (!s->child && s->has_keep)
        rung_snapshot_remove_old(rung_store_dir(s), s->config.alloc, UINT64_MAX, s->keep,
                                 s->keep_count);
}

/* RUNG_OK when there is something to save and nobody at it. */
static rung_status may_save(rung_store *s, const rung_state *state, rung_err *err) {
    uint64_t newest = 0;
    size_t count;
    if (s->child)
        return RUNG_FAIL(err, RUNG_EBUSY, "a snapshot is being written");
    RUNG_ASSERT(rung_log_durable_seq(s->log) >= rung_state_seq(state)); /* S2 */
    rung_status st = rung_snapshot_list(rung_store_dir(s), &newest, 1, &count, err);
    if (st < 0)
        return st;
    return newest == rung_state_seq(state) ? RUNG_UNCHANGED : RUNG_OK;
}

rung_status rung_store_save(rung_store *s, const rung_state *state, rung_err *err) {
    rung_status st = may_save(s, state, err);
    return st == RUNG_OK ? write_snapshot(s, state, NULL, err) : st;
}

/* ---- saving in a child ---- */

typedef struct save {
    rung_store *store;
    const rung_state *state;
} save;

static rung_status save_in_child(void *arg, const rung_child_life *life, rung_err *err) {
    const save *what = arg;
    return write_snapshot(what->store, what->state, life, err);
}

rung_status rung_store_save_begin(rung_store *s, const rung_state *state, rung_err *err) {
    const rung_store_config *c = &s->config;
    save what = {s, state}; /* the child has a copy */
    rung_status st = may_save(s, state, err);
    return st == RUNG_OK
               ? rung_child_begin(c->children, c->alloc, save_in_child, &what, &s->child, err)
               : st;
}

rung_status rung_store_save_poll(rung_store *s, bool wait, rung_err *err) {
    if (!s->child)
        return RUNG_NOT_FOUND;
    rung_status st = rung_child_poll(s->child, wait, err);
    if (st != RUNG_PARTIAL)
        s->child = NULL;
    return st;
}

void rung_store_save_cancel(rung_store *s) {
    rung_child_kill(s->child);
    s->child = NULL;
}

rung_status rung_store_needed_from(rung_store *s, uint64_t *seq_out, rung_err *err) {
    uint64_t seqs[RUNG_SNAPSHOT_KEEP] = {0};
    size_t count;
    rung_status st = rung_snapshot_list(rung_store_dir(s), seqs, RUNG_SNAPSHOT_KEEP, &count, err);
    if (st < 0)
        return st;
    *seq_out = count == RUNG_SNAPSHOT_KEEP ? seqs[RUNG_SNAPSHOT_KEEP - 1] + 1 : 1;
    return RUNG_OK;
}

rung_status rung_store_list(const rung_store *s, rung_snapshot_entries *out, rung_err *err) {
    return rung_snapshot_list_read(rung_store_dir(s), s->config.alloc, rung_log_id(s->log), out,
                                   err);
}

rung_status rung_store_entry(const rung_store *s, uint64_t seq, rung_snapshot_entry *out,
                             rung_err *err) {
    return rung_snapshot_entry_read(rung_store_dir(s), rung_log_id(s->log), seq, out, err);
}

uint64_t rung_store_log_bytes(const rung_store *s, uint64_t seq) {
    return s->segments ? rung_segment_log_bytes_from(s->segments, seq) : 0;
}
