/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/join.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "journal/file.h"
#include "journal/folder.h"
#include "journal/segment.h"
#include "service/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_PREFIX "join-"
#define PART_SUFFIX ".part"

enum {
    TRIES_MAX = 6,    /* without a byte received, after the server has answered once */
    PAUSE_MS = 200,   /* doubled with each */
    WAIT_MS = 600000, /* for the server's first snapshot */
    WAIT_STEP_MS = 500,
    NAME_MAX_LEN = RUNG_FILE_NAME_MAX - 1 - (int)(sizeof PART_PREFIX + sizeof PART_SUFFIX - 2),
};

typedef struct joining {
    const rung_join_config *config;
    rung_join_report *report;
    rung_err *err;
    rung_client *client;
    rung_dir dir;
    rung_file lock, part;
    char log_id[2 * RUNG_UUID_SIZE + 1]; /* "": any log */
    char etag[96];                       /* of the part, with quotes; "": there is none */
    char part_name[RUNG_FILE_NAME_MAX];
    uint64_t at;                 /* bytes of it */
    int64_t until_ms;            /* how long to wait for a server that answers 503 */
    bool has_answered, is_begun; /* a server; the part of this answer */
} joining;

/* ---- the folder ---- */

typedef struct contents {
    bool has_log, has_snapshot;
    char part[RUNG_FILE_NAME_MAX];
} contents;

/* The text between the quotes of an ETag is a part of a file's name. */
static bool is_plain(const char *text, size_t len) {
    return len > 0 && len <= NAME_MAX_LEN && strspn(text, "0123456789abcdef-") >= len;
}

static void note_name(void *arg, const char *name) {
    contents *c = arg;
    uint64_t seq;
    uint32_t epoch;
    size_t len = strlen(name), before = strlen(PART_PREFIX), after = strlen(PART_SUFFIX);
    c->has_log |=
        rung_segment_name_parse(name, &seq, &epoch) || strcmp(name, RUNG_HIGH_WATER_NAME) == 0;
    c->has_snapshot |= rung_snapshot_name_parse(name, &seq);
    if (len > before + after && len < sizeof c->part && strncmp(name, PART_PREFIX, before) == 0 &&
        strcmp(name + len - after, PART_SUFFIX) == 0 &&
        is_plain(name + before, len - before - after))
        snprintf(c->part, sizeof c->part, "%s", name);
}

static rung_status take_folder(joining *j, rung_err *err) {
    rung_status st = rung_dir_open(&j->dir, rung_fs_posix(), j->config->folder, true, err);
    if (st == RUNG_OK)
        st = rung_folder_lock(&j->dir, &j->lock, err);
    return st;
}

/* The log that the snapshot must belong to: the caller's, or the one that the folder was used with. */
static rung_status find_log(joining *j, rung_err *err) {
    size_t got = 0;
    if (j->config->log_id) {
        snprintf(j->log_id, sizeof j->log_id, "%s", j->config->log_id);
        return RUNG_OK;
    }
    rung_status st = rung_file_read_small(&j->dir, RUNG_FOLDER_LOG_ID, j->log_id,
                                          sizeof j->log_id - 1, &got, err);
    return st < 0 ? st : RUNG_OK;
}

/* Refuse a folder that has something to lose, and find what an earlier call has left. */
static rung_status look_around(joining *j, rung_err *err) {
    contents c = {0};
    rung_status st = rung_dir_list(&j->dir, note_name, &c, err);
    if (st < 0)
        return st;
    if (c.has_log || c.has_snapshot)
        return RUNG_FAIL(err, RUNG_EEXIST, "folder %s holds a %s already", j->config->folder,
                         c.has_log ? "log" : "snapshot");
    if (!c.part[0])
        return RUNG_OK;
    st = rung_file_open(&j->part, &j->dir, c.part, RUNG_FILE_WRITE, err);
    if (st == RUNG_OK)
        st = rung_file_size(&j->part, &j->at, err);
    if (st != RUNG_OK)
        return st;
    snprintf(j->part_name, sizeof j->part_name, "%s", c.part);
    snprintf(j->etag, sizeof j->etag, "\"%.*s\"",
             (int)(strlen(c.part) - strlen(PART_PREFIX PART_SUFFIX)), c.part + strlen(PART_PREFIX));
    j->report->resumed_from = j->at;
    return RUNG_OK;
}

static void drop_part(joining *j) {
    if (!j->etag[0])
        return;
    rung_file_close(&j->part);
    rung_ignore(rung_dir_unlink(&j->dir, j->part_name, NULL), "the next download writes over it");
    j->etag[0] = '\0';
    j->at = 0;
}

/* ---- the download ---- */

static rung_status begin_part(joining *j, const rung_download_head *head) {
    size_t len = strlen(head->etag);
    drop_part(j);
    j->report->resumed_from = 0;
    if (len < 2 || head->etag[0] != '"' || !is_plain(head->etag + 1, len - 2))
        return RUNG_FAIL(j->err, RUNG_EREFUSED, "%s is not a Rung server",
                         rung_client_url(j->client));
    snprintf(j->part_name, sizeof j->part_name, PART_PREFIX "%.*s" PART_SUFFIX, (int)(len - 2),
             head->etag + 1);
    rung_status st = rung_file_open_empty(&j->part, &j->dir, j->part_name, j->err);
    if (st == RUNG_OK)
        snprintf(j->etag, sizeof j->etag, "%s", head->etag);
    return st;
}

/* The first piece of an answer: does it belong to what is here, and to this log? */
static rung_status begin_answer(joining *j, const rung_download_head *head) {
    j->has_answered = j->is_begun = true;
    if (!head->seq[0])
        return RUNG_FAIL(j->err, RUNG_EREFUSED, "%s is not a Rung server",
                         rung_client_url(j->client));
    if (j->log_id[0] && strcmp(head->log, j->log_id) != 0)
        return RUNG_FAIL(j->err, RUNG_EREFUSED, "%s has another log (%s, not %s)",
                         rung_client_url(j->client), head->log, j->log_id);
    j->report->size = head->size;
    if (head->status == 200)
        return begin_part(j, head);
    if (head->from != j->at || strcmp(head->etag, j->etag) != 0)
        return RUNG_FAIL(j->err, RUNG_EREFUSED, "%s sent another part than it was asked for",
                         rung_client_url(j->client));
    return RUNG_OK;
}

static rung_status put(void *ctx, const rung_download_head *head, rung_slice bytes) {
    joining *j = ctx;
    rung_status st = j->is_begun ? RUNG_OK : begin_answer(j, head);
    if (st == RUNG_OK)
        st = rung_file_write(&j->part, bytes.ptr, bytes.len, j->at, j->err);
    if (st < 0)
        return st;
    j->at += bytes.len;
    if (j->config->progress)
        j->config->progress(j->config->ctx, "download", j->at, head->size);
    return RUNG_OK;
}

static rung_status refused(const joining *j, const rung_reply *reply, rung_err *err) {
    char code[64], detail[256];
    rung_slice body = rung_reply_body(reply);
    rung_answer_member(body, "code", code, sizeof code);
    rung_answer_member(body, "detail", detail, sizeof detail);
    for (char *p = detail; *p; p++)
        *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
    if (!code[0] || reply->status == 404 || reply->status == 405)
        return RUNG_FAIL(err, RUNG_EREFUSED, "%s is not a Rung server, or an old one (status %ld)",
                         rung_client_url(j->client), reply->status);
    return RUNG_FAIL(
        err, RUNG_EREFUSED, "%s: %s (%ld %s)%s", rung_client_url(j->client), detail, reply->status,
        code, reply->status == 401 || reply->status == 403 ? "; an admin key is needed" : "");
}

/* What an answer other than 200 and 206 means. RUNG_PARTIAL: ask again after a pause. */
static rung_status judge(joining *j, const rung_download_head *head, const rung_reply *reply,
                         rung_err *err) {
    if (head->status == 416 && head->size == j->at && j->at > 0) { /* all of it was here */
        j->report->size = j->at;
        return RUNG_OK;
    }
    if (head->status == 416 && j->etag[0]) {
        drop_part(j);
        return RUNG_PARTIAL;
    }
    if (head->status == 503 && rung_elapsed_ms() < j->until_ms) {
        if (j->config->progress)
            j->config->progress(j->config->ctx, "waiting for a snapshot", 0, 0);
        rung_pause_ms(WAIT_STEP_MS);
        return RUNG_PARTIAL;
    }
    return refused(j, reply, err);
}

/* Ask once. RUNG_OK: the part is complete; RUNG_PARTIAL: ask again. */
static rung_status download_once(joining *j, rung_err *err) {
    static const rung_path path = {.len = 12, .text = "/v1/snapshot"};
    rung_download_head head;
    rung_reply reply;
    j->is_begun = false;
    rung_status st =
        rung_client_download(j->client, &path, j->at, j->etag, put, j, &head, &reply, err);
    j->has_answered |= head.status > 0;
    if (st < 0)
        return st;
    if (head.status != 200 && head.status != 206)
        return judge(j, &head, &reply, err);
    if (!j->is_begun) /* cut inside the head */
        return RUNG_FAIL(err, RUNG_EIO, "%s sent nothing", rung_client_url(j->client));
    return RUNG_OK;
}

static rung_status download(joining *j, rung_err *err) {
    uint32_t tries = 0;
    j->until_ms = rung_elapsed_ms() + (j->config->wait_ms ? j->config->wait_ms : WAIT_MS);
    for (;;) {
        uint64_t before = j->at;
        rung_status st = download_once(j, err);
        if (st == RUNG_OK)
            return st;
        if (st != RUNG_EIO && st != RUNG_PARTIAL)
            return st;
        if (st == RUNG_PARTIAL)
            continue;
        j->report->cuts += j->at > before;
        tries = j->at > before ? 0 : tries + 1;
        if (!j->has_answered || tries >= TRIES_MAX)
            return st;
        rung_pause_ms((long)PAUSE_MS << tries);
    }
}

/* ---- verifying ---- */

static void tell_loaded(void *ctx, uint64_t done, uint64_t total) {
    const joining *j = ctx;
    if (j->config->progress)
        j->config->progress(j->config->ctx, "snapshot", done, total);
}

static rung_status read_blocks(rung_snapshot_reader *reader, rung_err *err) {
    const void *bytes;
    size_t len;
    rung_status st;
    do
        st = rung_snapshot_reader_next(reader, &bytes, &len, err);
    while (st == RUNG_OK);
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

static rung_status load(joining *j, rung_snapshot_reader *reader, rung_err *err) {
    rung_state_config config = {.alloc = rung_alloc_heap()};
    rung_save_progress progress = {.tell = tell_loaded, .ctx = j};
    rung_state *state;
    rung_status st = rung_store_load_snapshot(reader, &config, &progress, NULL, &state, err);
    if (st == RUNG_OK)
        rung_state_destroy(state);
    return st;
}

static rung_status verify(joining *j, rung_snapshot_raw *raw, rung_err *err) {
    rung_snapshot_reader *reader;
    rung_status st = rung_snapshot_raw_open(&j->dir, j->part_name, raw, err);
    if (st != RUNG_OK)
        return st;
    rung_file_close(&raw->file);
    st = rung_snapshot_reader_open_file(&j->dir, rung_alloc_heap(), j->part_name, raw->uuid,
                                        raw->info.seq, &reader, err);
    if (st != RUNG_OK)
        return st;
    st = j->config->is_unloaded ? read_blocks(reader, err) : load(j, reader, err);
    rung_snapshot_reader_close(reader);
    return st;
}

/* ---- installing ---- */

static rung_status install(joining *j, const rung_snapshot_raw *raw, rung_err *err) {
    char name[RUNG_FILE_NAME_MAX], id[2 * RUNG_UUID_SIZE + 1];
    rung_snapshot_name(name, raw->info.seq);
    for (size_t i = 0; i < RUNG_UUID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", raw->uuid[i]);
    rung_status st = rung_file_sync(&j->part, err);
    if (st == RUNG_OK)
        st = rung_file_replace(&j->dir, RUNG_FOLDER_LOG_ID, id, strlen(id), err);
    if (st == RUNG_OK)
        st = rung_dir_rename(&j->dir, j->part_name, name, err);
    if (st == RUNG_OK)
        st = rung_dir_sync(&j->dir, err);
    if (st == RUNG_OK)
        st = rung_snapshot_manifest_write(&j->dir, raw->uuid, &raw->info, 1, err);
    j->report->snapshot = raw->info;
    return st;
}

static rung_status join_locked(joining *j, rung_err *err) {
    rung_snapshot_raw raw;
    rung_err why = {0};
    rung_status st = look_around(j, err);
    if (st == RUNG_OK)
        st = find_log(j, err);
    if (st == RUNG_OK)
        st = download(j, err);
    if (st < 0)
        return st;
    st = verify(j, &raw, &why);
    if (st == RUNG_ECORRUPT) {
        drop_part(j);
        return RUNG_FAIL(err, st, "the snapshot from %s is damaged and was removed: %s",
                         rung_client_url(j->client), why.message);
    }
    if (st < 0) {
        if (err)
            *err = why;
        return st;
    }
    return install(j, &raw, err);
}

rung_status rung_join(const rung_join_config *config, rung_join_report *report_out, rung_err *err) {
    joining j = {.config = config, .report = report_out, .err = err};
    *report_out = (rung_join_report){0};
    rung_status st = rung_client_create(&config->server, &j.client, err);
    if (st == RUNG_OK)
        st = take_folder(&j, err);
    if (st == RUNG_OK)
        st = join_locked(&j, err);
    rung_client_destroy(j.client);
    rung_file_close(&j.part);
    rung_file_close(&j.lock);
    rung_dir_close(&j.dir);
    return st;
}

/* ---- the command ---- */

typedef struct join_args {
    rung_ask_args ask;
    const char *url, *data;
} join_args;

static const rung_option join_options[] = {
    RUNG_OPERAND(join_args, url, "URL", "the server whose snapshot to take"),
    RUNG_OPTION_TEXT(join_args, data, "--data", "DIR", "the new data folder; required"),
    RUNG_OPTION_TEXT(rung_ask_args, key_file, "--key-file", "FILE",
                     "file with an admin key (or RUNG_KEY, RUNG_KEY_FILE)"),
    RUNG_OPTION_TEXT(rung_ask_args, ca_file, "--ca-file", "FILE",
                     "certificates to trust, PEM (or RUNG_CA_FILE)"),
    RUNG_OPTION_FLAG(rung_ask_args, json, "--json", "the result as one JSON object"),
};

static void show(void *ctx, const char *what, uint64_t done, uint64_t total) {
    rung_progress_show(ctx, what, done, total);
}

static void print_report(const rung_join_report *r, const join_args *args) {
    char digest[40], seq[RUNG_COUNT_TEXT_MAX], size[RUNG_COUNT_TEXT_MAX];
    snprintf(digest, sizeof digest, "%016llx%016llx",
             (unsigned long long)rung_get64(r->snapshot.digest),
             (unsigned long long)rung_get64(r->snapshot.digest + 8));
    if (args->ask.json)
        printf("{\"seq\":%llu,\"size_bytes\":%llu,\"resumed_from\":%llu,\"cuts\":%u,\"digest\":"
               "\"%s\"}\n",
               (unsigned long long)r->snapshot.seq, (unsigned long long)r->size,
               (unsigned long long)r->resumed_from, r->cuts, digest);
    else
        printf("joined at sequence %s: %s, verified, digest %s\n",
               rung_count_text(r->snapshot.seq, seq), rung_size_text(r->size, size), digest);
}

static int run_join(const rung_command *self, void *arguments) {
    const join_args *args = arguments;
    rung_progress progress = {0};
    rung_join_report report;
    rung_err err = {0};
    rung_join_config config = {
        .server = {args->url, args->ask.key_file, args->ask.ca_file},
        .folder = args->data,
        .progress = show,
        .ctx = &progress,
    };
    if (!args->data)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--data: missing");
    rung_status st = rung_join(&config, &report, &err);
    rung_progress_end(&progress);
    if (st == RUNG_OK)
        print_report(&report, args);
    else
        rung_command_fail(self, &err);
    return st == RUNG_OK       ? RUNG_EXIT_OK
           : st == RUNG_EINVAL ? RUNG_EXIT_USAGE
           : st == RUNG_EIO    ? RUNG_EXIT_UNREACHED
                               : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_join = {
    .name = "join",
    .summary = "make a data folder from another server's newest snapshot",
    .details = "For a new server on a log that servers share: it then reads only what the log has\n"
               "after the snapshot. The download resumes where it was cut, also when the command\n"
               "is run again, and is verified before it is used: the checksum of every block, and\n"
               "the digest of the state, which needs as much memory as a server. A folder with a\n"
               "log or a snapshot is refused. Needs an admin key if the server has keys.\n"
               "\n"
               "  rung join https://rung-1:7864 --data scores --key-file admin.key\n",
    RUNG_OPTIONS(join_args, join_options),
    .run = run_join,
};
