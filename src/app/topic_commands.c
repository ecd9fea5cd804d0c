/* SPDX-License-Identifier: Apache-2.0 */
/* rung log copy, skip: logs in topics.
 *
 * A copy has four steps; each can be repeated after an interruption:
 *
 *     the source's state  -> its digest, and proof that it is whole
 *     the snapshot        -> as one of the target's log, where a server of the target looks for it
 *     the records         -> copied behind those that are there, read back, compared (journal/log_copy.h)
 *     the target's state  -> must have the same digest */
#include "app/kafka.h"
#include "base/alloc.h"
#include "cli/command.h"
#include "cli/folder.h"
#include "cli/terminal.h"
#include "journal/folder.h"
#include "journal/log_copy.h"
#include "journal/segment_copy.h"
#include "journal/snapshot_file.h"
#include "service/applier.h"
#include "stream/skip.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum { COPY_TIMEOUT_MS = 300000, REPLAY_RECORDS = 512, SNAPSHOTS_LISTED = 16 };

#define TOPIC_OPTIONS(type)                                                                        \
    RUNG_OPTION_TEXT(type, config, "--config", "FILE",                                             \
                     "settings log.kafka.* (or RUNG_CONFIG, RUNG_LOG_KAFKA_*)"),                   \
        RUNG_OPTION_FLAG(type, json, "--json", "the result as one JSON object")

static bool is_topic(const char *text) {
    return strncmp(text, "kafka://", 8) == 0;
}

static rung_status load_settings(const char *file, rung_settings *out, rung_err *err) {
    return rung_settings_load_flags(out, &(rung_setting_flags){.config = file}, err);
}

static void say_line(void *ctx, const char *line) {
    (void)ctx;
    fprintf(stderr, "rung: %s\n", line);
}

/* ---- copy ---- */

typedef struct copy_args {
    const char *from, *to, *data, *config;
    bool json;
} copy_args;

static const rung_option copy_options[] = {
    RUNG_OPERAND(copy_args, from, "FROM", "a data folder not in use, or kafka://HOST:PORT/TOPIC"),
    RUNG_OPERAND(copy_args, to, "TO", "the other kind; empty, or a copy that was interrupted"),
    RUNG_OPTION_TEXT(copy_args, data, "--data", "DIR",
                     "data folder of a server of the topic: its snapshot goes there, or comes from "
                     "there"),
    TOPIC_OPTIONS(copy_args),
};

/* One of the two logs. Its snapshots are in `dir`: the data folder itself, or that of a server of the topic. */
typedef struct side {
    const char *name; /* as it was given */
    const char *folder;
    bool is_topic;
    rung_dir dir; /* not open: there are no snapshots */
    rung_file
        lock; /* of a data folder for a server of the topic, while a snapshot is written to it */
    rung_log *log;
    uint8_t id[RUNG_LOG_ID_SIZE];
} side;

typedef struct copying {
    const copy_args *args;
    rung_settings settings;
    rung__kafka kafka;
    rung_kafka_config topic; /* whichever side it is */
    side from, to;
    rung_progress progress;
    rung_log_copy_report report;
    uint64_t snapshot_seq; /* 0: none was brought */
    rung_digest digest;
} copying;

static void show(void *ctx, const char *what, uint64_t done, uint64_t total) {
    rung_progress_show(ctx, what, done, total);
}

static bool is_stopped(void *ctx) {
    (void)ctx;
    return rung_is_interrupted();
}

static void close_log(side *s) {
    rung_ignore(rung_log_close(s->log, NULL), "it was only read");
    s->log = NULL;
}

static void close_side(side *s) {
    close_log(s);
    rung_file_close(&s->lock);
    rung_dir_close(&s->dir);
}

static rung_status open_topic(copying *c, side *s, bool must_exist, rung_err *err) {
    c->topic.must_exist = must_exist;
    return rung_kafka_log_open(&c->topic, &s->log, err);
}

static rung_status open_folder(side *s, bool is_read_only, rung_err *err) {
    rung_segment_log_config config = {.fs = rung_fs_posix(),
                                      .alloc = rung_alloc_heap(),
                                      .path = s->folder,
                                      .is_read_only = is_read_only};
    rung_segment_log *log;
    rung_status st = rung_segment_log_open(&config, &log, err);
    if (st == RUNG_OK)
        s->log = rung_segment_log_port(log);
    return st;
}

static rung_status open_log(copying *c, side *s, bool is_read_only, rung_err *err) {
    rung_status st =
        s->is_topic ? open_topic(c, s, is_read_only, err) : open_folder(s, is_read_only, err);
    if (st == RUNG_OK)
        memcpy(s->id, rung_log_id(s->log), sizeof s->id);
    return st;
}

/* ---- copy: the state at the end of a log ---- */

static rung_status replay(copying *c, const side *s, rung_applier *applier, const rung_state *state,
                          rung_err *err) {
    rung_log_record records[REPLAY_RECORDS];
    rung_log_cursor *cursor;
    uint64_t from = rung_state_seq(state), end = rung_log_durable_seq(s->log);
    rung_status st = rung_log_cursor_open(s->log, from + 1, &cursor, err);
    if (st < 0)
        return st;
    while (st == RUNG_OK && rung_state_seq(state) < end) {
        size_t count = 0;
        uint64_t left = end - rung_state_seq(state);
        st = rung_log_cursor_read(
            cursor, records, left < REPLAY_RECORDS ? (size_t)left : REPLAY_RECORDS, &count, err);
        if (st == RUNG_NOT_FOUND)
            st = RUNG_FAIL(err, RUNG_ECORRUPT, "%.100s ends early", s->name);
        if (st == RUNG_OK)
            st = rung_applier_replay(applier, records, count, err);
        if (st == RUNG_OK && rung_is_interrupted())
            st = RUNG_FAIL(err, RUNG_ECLOSED, "stopped: run it again to go on");
        rung_progress_show(&c->progress, "state", rung_state_seq(state) - from, end - from);
    }
    rung_log_cursor_close(cursor);
    return st;
}

static rung_status digest_of(copying *c, const side *s, rung_digest *out, rung_err *err) {
    rung_state_config config = {.alloc = rung_alloc_heap()};
    rung_state *state = NULL;
    rung_applier *applier = NULL;
    rung_status st = RUNG_OK;
    if (s->dir.fs)
        st = rung_folder_newest(&s->dir, s->id, &config, &c->progress, &state, err);
    else if (rung_state_create(&config, &state) < 0)
        st = RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_OK)
        st = rung_applier_create(
            &(rung_applier_config){.alloc = config.alloc, .state = state, .is_shared = s->is_topic},
            &applier, err);
    if (st == RUNG_OK)
        st = replay(c, s, applier, state, err);
    if (st == RUNG_OK)
        *out = rung_state_digest(state);
    rung_applier_destroy(applier);
    rung_state_destroy(state);
    return st;
}

/* ---- copy: the snapshot ---- */

/* The newest snapshot of the source from which its log can be replayed; 0: there is none. */
static rung_status find_snapshot(const side *s, uint64_t *seq_out, rung_err *err) {
    uint64_t seqs[SNAPSHOTS_LISTED];
    size_t count = 0;
    rung_snapshot_info info;
    *seq_out = 0;
    if (!s->dir.fs)
        return RUNG_OK;
    rung_status st = rung_snapshot_list(&s->dir, seqs, SNAPSHOTS_LISTED, &count, err);
    for (size_t i = 0; st == RUNG_OK && i < count && !*seq_out; i++) {
        if (seqs[i] + 1 < rung_log_first_seq(s->log) || seqs[i] > rung_log_durable_seq(s->log))
            continue;
        st = rung_snapshot_check(&s->dir, rung_alloc_heap(), s->id, seqs[i], &info, err);
        *seq_out = st == RUNG_OK ? seqs[i] : 0;
        st = st == RUNG_ECORRUPT || st == RUNG_NOT_FOUND ? RUNG_OK : st; /* the next one */
    }
    return st;
}

/* A folder beside a topic says whose snapshots it has. */
static rung_status claim(const side *s, rung_err *err) {
    char id[2 * RUNG_LOG_ID_SIZE + 1], found[sizeof id] = "";
    size_t got = 0;
    for (size_t i = 0; i < RUNG_LOG_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", s->id[i]);
    rung_status st =
        rung_file_read_small(&s->dir, RUNG_FOLDER_LOG_ID, found, sizeof found - 1, &got, err);
    if (st == RUNG_NOT_FOUND)
        return rung_file_replace(&s->dir, RUNG_FOLDER_LOG_ID, id, sizeof id - 1, err);
    if (st == RUNG_OK && strcmp(found, id) != 0)
        st = RUNG_FAIL(err, RUNG_EREFUSED, "folder %s belongs to another log", s->folder);
    return st;
}

/* Which snapshot goes along. A log without its beginning needs one, and a place for it. */
static rung_status choose_snapshot(copying *c, rung_err *err) {
    uint64_t first = rung_log_first_seq(c->from.log);
    rung_status st = find_snapshot(&c->from, &c->snapshot_seq, err);
    if (st < 0)
        return st;
    if (!c->to.folder)
        c->snapshot_seq = 0;
    if (first > 1 && c->snapshot_seq == 0)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "the log begins at sequence %llu and needs a snapshot of what was before: "
                         "name with --data %s",
                         (ull)first,
                         c->from.is_topic ? "the data folder of a server of the topic"
                                          : "a new data folder for a server of the topic");
    return RUNG_OK;
}

static rung_status bring_snapshot(copying *c, rung_err *err) {
    rung_snapshot_info info;
    if (c->snapshot_seq == 0)
        return RUNG_OK;
    rung_status st = c->to.is_topic ? claim(&c->to, err) : RUNG_OK;
    if (st == RUNG_OK)
        st = rung_snapshot_adopt(&c->from.dir, rung_alloc_heap(), c->from.id, c->snapshot_seq,
                                 &c->to.dir, c->to.id, &info, err);
    return st;
}

/* ---- copy: the two sides ---- */

static rung_status open_source(copying *c, rung_err *err) {
    side *s = &c->from;
    rung_status st = RUNG_OK;
    if (!s->is_topic)
        st = rung_folder_open(&s->dir, rung_fs_posix(), s->folder, err);
    else if (s->folder)
        st = rung_dir_open(&s->dir, rung_fs_posix(), s->folder, false, err);
    if (st == RUNG_OK) /* a folder is locked, and not changed */
        st = open_log(c, s, s->is_topic, err);
    return st;
}

typedef struct contents {
    bool has_log, has_more;
} contents;

static void note_name(void *arg, const char *name) {
    contents *found = arg;
    uint64_t seq;
    uint32_t epoch;
    bool is_log =
        rung_segment_name_parse(name, &seq, &epoch) || strcmp(name, RUNG_HIGH_WATER_NAME) == 0;
    found->has_log |= is_log;
    found->has_more |= !is_log && strcmp(name, "lock") != 0;
}

/* A folder for the log: one with a log, which will be compared, or an empty one. */
static rung_status prepare_folder(const copying *c, const contents *found, rung_err *err) {
    uint64_t first = rung_log_first_seq(c->from.log);
    if (!found->has_log && found->has_more)
        return RUNG_FAIL(err, RUNG_EEXIST, "folder %s is not empty, and has no log", c->to.folder);
    return !found->has_log && first > 1 ? rung_log_begin_after(&c->to.dir, first - 1, err)
                                        : RUNG_OK;
}

/* A data folder of a server of the topic. */
static rung_status check_beside(const side *s, const contents *found, rung_err *err) {
    return found->has_log
               ? RUNG_FAIL(err, RUNG_EREFUSED, "folder %s has a log of its own", s->folder)
               : RUNG_OK;
}

static rung_status open_target(copying *c, rung_err *err) {
    side *s = &c->to;
    contents found = {0};
    rung_status st = RUNG_OK;
    if (s->folder) {
        st = rung_dir_open(&s->dir, rung_fs_posix(), s->folder, true, err);
        if (st == RUNG_OK)
            st = rung_folder_lock(&s->dir, &s->lock, err);
        if (st == RUNG_OK)
            st = rung_dir_list(&s->dir, note_name, &found, err);
        if (st == RUNG_OK)
            st = s->is_topic ? check_beside(s, &found, err) : prepare_folder(c, &found, err);
        if (!s->is_topic)
            rung_file_close(&s->lock); /* the log takes it */
    }
    return st == RUNG_OK ? open_log(c, s, false, err) : st;
}

/* ---- copy: all of it ---- */

static rung_status copy_records(copying *c, rung_err *err) {
    rung_log_copy_config config = {
        .alloc = rung_alloc_heap(),
        .from = c->from.log,
        .to = c->to.log,
        .progress = show,
        .is_stopped = is_stopped,
        .ctx = &c->progress,
    };
    c->to.log = NULL; /* closed by the copy */
    return rung_log_copy(&config, &c->report, err);
}

static rung_status check_target(copying *c, rung_err *err) {
    rung_digest digest;
    rung_status st = open_log(c, &c->to, true, err);
    if (st == RUNG_OK)
        st = digest_of(c, &c->to, &digest, err);
    if (st == RUNG_OK && (digest.a != c->digest.a || digest.b != c->digest.b))
        st = RUNG_FAIL(err, RUNG_ECORRUPT,
                       "the copy has the digest %016llx%016llx, and the source %016llx%016llx",
                       (ull)digest.a, (ull)digest.b, (ull)c->digest.a, (ull)c->digest.b);
    return st;
}

/* What fills the topic up to the first record has done its work. If it stays, nobody can apply it either. */
static void drop_filling(const copying *c) {
    rung_err err = {0};
    if (c->to.is_topic && c->report.first_seq > 1 &&
        rung_log_first_seq(c->to.log) < c->report.first_seq &&
        rung_kafka_delete_before(&c->topic, c->report.first_seq, &err) < 0)
        fprintf(stderr, "rung log copy: %s; that does no harm\n", err.message);
}

static rung_status copy(copying *c, rung_err *err) {
    rung_status st = rung__kafka_configure(
        &c->kafka, &c->settings, c->from.is_topic ? c->from.name : c->to.name, &c->topic, err);
    c->topic.say = say_line;
    if (c->topic.timeout_ms < COPY_TIMEOUT_MS) /* what is given up could leave a hole */
        c->topic.timeout_ms = COPY_TIMEOUT_MS;
    if (st == RUNG_OK)
        st = open_source(c, err);
    if (st == RUNG_OK)
        st = choose_snapshot(c, err);
    if (st == RUNG_OK)
        st = digest_of(c, &c->from, &c->digest, err);
    if (st == RUNG_OK)
        st = open_target(c, err);
    if (st == RUNG_OK)
        st = bring_snapshot(c, err);
    if (st == RUNG_OK)
        st = copy_records(c, err);
    if (st == RUNG_OK)
        st = check_target(c, err);
    if (st == RUNG_OK)
        drop_filling(c);
    return st;
}

static void print_copy(const copying *c) {
    const rung_log_copy_report *r = &c->report;
    char copied[RUNG_COUNT_TEXT_MAX], present[RUNG_COUNT_TEXT_MAX], last[RUNG_COUNT_TEXT_MAX];
    if (c->args->json) {
        printf("{\"first_seq\":%llu,\"last_seq\":%llu,\"present\":%llu,\"filled\":%llu,\"copied\":"
               "%llu,\"snapshot_seq\":%llu,\"digest\":\"%016llx%016llx\"}\n",
               (ull)r->first_seq, (ull)r->last_seq, (ull)r->present, (ull)r->filled, (ull)r->copied,
               (ull)c->snapshot_seq, (ull)c->digest.a, (ull)c->digest.b);
        return;
    }
    printf("copied %s records to %s", rung_count_text(r->copied, copied), c->args->to);
    if (r->present)
        printf(" (%s were there)", rung_count_text(r->present, present));
    printf(": it ends at sequence %s, verified, digest %016llx%016llx\n",
           rung_count_text(r->last_seq, last), (ull)c->digest.a, (ull)c->digest.b);
    if (r->first_seq > 1)
        printf("it begins at sequence %s, behind the snapshot of %llu in %s\n",
               rung_count_text(r->first_seq, copied), (ull)c->snapshot_seq, c->to.folder);
}

static int run_copy(const rung_command *self, void *arguments) {
    const copy_args *args = arguments;
    rung_err err = {0};
    copying c = {.args = args};
    c.from = (side){.name = args->from, .is_topic = is_topic(args->from)};
    c.to = (side){.name = args->to, .is_topic = is_topic(args->to)};
    c.from.folder = c.from.is_topic ? args->data : args->from;
    c.to.folder = c.to.is_topic ? args->data : args->to;
    if (c.from.is_topic == c.to.is_topic)
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   c.from.is_topic
                                       ? "copies between a folder and a topic, not two topics"
                                       : "copies between a folder and a topic; rung backup copies "
                                         "a folder");
    rung_interrupt_catch();
    rung_status st = load_settings(args->config, &c.settings, &err);
    if (st == RUNG_OK)
        st = copy(&c, &err);
    rung_progress_end(&c.progress);
    if (st == RUNG_OK)
        print_copy(&c);
    close_side(&c.from);
    close_side(&c.to);
    rung_settings_deinit(&c.settings);
    if (st == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return err.reason == RUNG_REASON_LOG_UNAVAILABLE ? RUNG_EXIT_UNREACHED : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_log_copy = {
    .name = "log copy",
    .summary = "move a data folder into a Kafka topic, or back",
    .details =
        "The copy has the same events with the same sequences, and so the same state: both\n"
        "digests are compared at the end, which needs as much memory as a server. Stop the\n"
        "servers of a folder first. An interrupted copy goes on where it was when the command\n"
        "is run again; until it is done, start no server on the copy. A target that has\n"
        "anything but the beginning of the source is refused.\n"
        "\n"
        "If the beginning of the log was removed, its snapshot is copied, too: --data names the\n"
        "data folder of the topic's first server; the others fill theirs with rung join.\n"
        "\n"
        "  rung log copy scores kafka://b1:9092/rung --data rung-1\n"
        "  rung serve --log kafka://b1:9092/rung --data rung-1\n"
        "  rung log copy kafka://b1:9092/rung scores --data rung-1\n",
    RUNG_OPTIONS(copy_args, copy_options),
    .run = run_copy,
};

/* ---- skip ---- */

typedef struct skip_args {
    const char *topic, *config, *offset, *reason;
    uint64_t count;
    bool json;
} skip_args;

static const rung_option skip_options[] = {
    RUNG_OPERAND(skip_args, topic, "URL", "kafka://HOST:PORT/TOPIC"),
    RUNG_OPTION_TEXT(skip_args, offset, "--offset", "N",
                     "the first record to pass over; not given: list what could be"),
    RUNG_OPTION_NUMBER(skip_args, count, "--count", "N", "how many; 1 if not given"),
    RUNG_OPTION_TEXT(skip_args, reason, "--reason", "TEXT", "why, for everybody who looks later"),
    TOPIC_OPTIONS(skip_args),
};

typedef struct skip_list {
    bool is_json;
    uint64_t count, open; /* runs of strangers; those that stop servers */
} skip_list;

static void print_stranger(void *ctx, const rung_kafka_stranger *s) {
    skip_list *l = ctx;
    bool is_open = s->skipped < s->count;
    if (l->is_json) {
        printf("%s{\"offset\":%llu,\"count\":%llu,\"skipped\":%llu,\"why\":", l->count ? "," : "",
               (ull)s->offset, (ull)s->count, (ull)s->skipped);
        rung_print_json(stdout, rung_slice_str(s->why));
        if (s->skipped) {
            printf(",\"decided_at\":%llu,\"decided_ms\":%lld,\"reason\":", (ull)s->decided_at,
                   (long long)s->decided_ms);
            rung_print_json(stdout, s->reason);
        }
        putchar('}');
    } else {
        printf("offset %llu, %llu record%s: %s; %s", (ull)s->offset, (ull)s->count,
               s->count == 1 ? "" : "s", s->why, is_open ? "stops every server" : "passed over: ");
        if (!is_open)
            rung_print_word(stdout, s->reason);
        putchar('\n');
    }
    l->count++;
    l->open += is_open;
}

static rung_status list_strangers(const rung_kafka_config *config, skip_list *l, rung_err *err) {
    fputs(l->is_json ? "{\"strange\":[" : "", stdout);
    rung_status st = rung_kafka_strangers(config, print_stranger, l, err);
    fputs(l->is_json ? "]}\n" : "", stdout);
    if (st == RUNG_OK && !l->is_json && l->count == 0)
        puts("every record is of this log");
    return st;
}

static rung_status decide(const skip_args *args, const rung_kafka_config *config, uint64_t offset,
                          rung_err *err) {
    uint64_t seq, count = args->count ? args->count : 1;
    rung_clock clock = rung_clock_real();
    rung_kafka_decision decision = {
        .offset = offset,
        .count = count,
        .decided_ms = rung_clock_now(&clock),
        .reason = rung_slice_str(args->reason),
    };
    rung_status st = rung_kafka_skip(config, &decision, &seq, err);
    if (st < 0)
        return st;
    if (args->json)
        printf("{\"offset\":%llu,\"count\":%llu,\"decided_at\":%llu}\n", (ull)offset, (ull)count,
               (ull)seq - 1);
    else
        printf("every server passes over %llu record%s from offset %llu on (decided at offset "
               "%llu): start those that stopped\n",
               (ull)count, count == 1 ? "" : "s", (ull)offset, (ull)seq - 1);
    return RUNG_OK;
}

static int run_skip(const rung_command *self, void *arguments) {
    const skip_args *args = arguments;
    rung_settings settings = {0};
    rung__kafka kafka;
    rung_kafka_config config;
    rung_err err = {0};
    uint64_t offset = 0;
    skip_list list = {.is_json = args->json};
    if (args->offset && !rung_number_parse(args->offset, &offset))
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--offset: expected a whole number");
    if (args->offset && !args->reason)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--reason: missing");
    rung_status st = load_settings(args->config, &settings, &err);
    if (st == RUNG_OK)
        st = rung__kafka_configure(&kafka, &settings, args->topic, &config, &err);
    if (st == RUNG_OK)
        st = args->offset ? decide(args, &config, offset, &err)
                          : list_strangers(&config, &list, &err);
    rung_settings_deinit(&settings);
    if (st == RUNG_OK)
        return list.open ? RUNG_EXIT_PROBLEM : RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return err.reason == RUNG_REASON_LOG_UNAVAILABLE ? RUNG_EXIT_UNREACHED
           : st == RUNG_EINVAL                       ? RUNG_EXIT_USAGE
                                                     : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_log_skip = {
    .name = "log skip",
    .summary = "list records in a topic that are not of its log; pass over them",
    .details =
        "A server stops at a record that another program wrote into its topic. Without --offset\n"
        "this lists such records (exit code 1 if one stops servers). With --offset it writes\n"
        "into the topic that every server passes over them, now and at every later replay; then\n"
        "start the servers again. First find who wrote them: with permissions on the topic it\n"
        "cannot happen.\n"
        "\n"
        "A record of this log that cannot be read is refused: a newer version may have applied\n"
        "it, and passing over it would make states differ.\n"
        "\n"
        "  rung log skip kafka://b1:9092/rung\n"
        "  rung log skip kafka://b1:9092/rung --offset 512 --reason 'test tool, ticket 77'\n",
    RUNG_OPTIONS(skip_args, skip_options),
    .run = run_skip,
};
