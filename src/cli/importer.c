/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the state file ---- */

#define STATE_FORMAT                                                                               \
    "rung-import 1\nrun %016" PRIx64 "\nhead %" PRIu64 " %016" PRIx64 "\noffset %" PRIu64          \
    "\nline %" PRIu64 "\naccepted %" PRIu64 "\nduplicate %" PRIu64 "\nrefused %" PRIu64            \
    "\ndone %d\n"
#define STATE_SCAN                                                                                 \
    "rung-import 1\nrun %16" SCNx64 "\nhead %20" SCNu64 " %16" SCNx64 "\noffset %20" SCNu64        \
    "\nline %20" SCNu64 "\naccepted %20" SCNu64 "\nduplicate %20" SCNu64 "\nrefused %20" SCNu64    \
    "\ndone %1d\n"

rung_status rung_import_state_read(const char *path, rung_import_state *out, rung_err *err) {
    rung_import_state s = {0};
    int is_done = 0;
    FILE *f = fopen(path, "re");
    if (!f && errno == ENOENT)
        return RUNG_NOT_FOUND;
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot open %.120s: %s", path, strerror(errno));
    int got = fscanf(f, STATE_SCAN, &s.run, &s.head_size, &s.head_hash, &s.offset, &s.line,
                     &s.accepted, &s.duplicate, &s.refused, &is_done);
    fclose(f);
    if (got != 9)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "%.120s is no state file of an import; --restart begins anew", path);
    s.is_done = is_done != 0;
    *out = s;
    return RUNG_OK;
}

/* Beside, then renamed: a reader sees the old one or the new one, whole. */
rung_status rung_import_state_write(const char *path, const rung_import_state *s, rung_err *err) {
    char beside[4200];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *f = fopen(beside, "we");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot write %.120s: %s", beside,
                            strerror(errno));
    fprintf(f, STATE_FORMAT, s->run, s->head_size, s->head_hash, s->offset, s->line, s->accepted,
            s->duplicate, s->refused, s->is_done);
    bool is_good = !ferror(f);
    is_good &= fclose(f) == 0;
    if (!is_good || rename(beside, path) != 0) {
        unlink(beside);
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot write %.120s: %s", path, strerror(errno));
    }
    return RUNG_OK;
}

/* ---- a batch ---- */

void rung_importer_begin(rung_importer *im) {
    im->lines.is_comma_due = false;
    rung_json_open_object(&im->lines);
}

void rung_importer_end(rung_importer *im, uint64_t place) {
    rung_json_close_object(&im->lines);
    rung_json_append(&im->lines, RUNG_SLICE("\n"));
    im->places[im->count++] = place;
}

bool rung_importer_is_full(const rung_importer *im) {
    return im->count >= im->batch_max || im->lines.len >= RUNG_IMPORT_BYTES_MAX;
}

void rung_importer_write_id(rung_importer *im, uint64_t place) {
    char id[64];
    snprintf(id, sizeof id, "import-%016" PRIx64 "-%" PRIu64, im->state.run, place);
    RUNG_JSON_MEMBER(&im->lines, "id", word, id);
}

static void complain(rung_importer *im, uint64_t place, const char *why) {
    enum { COMPLAINTS_MAX = 10 };
    im->state.refused++;
    if (im->complaints > COMPLAINTS_MAX)
        return;
    rung_progress_end(&im->progress);
    if (im->complaints++ == COMPLAINTS_MAX)
        fprintf(stderr, "rung %s: further refusals are only counted\n", im->self->name);
    else
        fprintf(stderr, "rung %s: line %" PRIu64 ": %s\n", im->self->name, place, why);
}

void rung_importer_refuse(rung_importer *im, uint64_t place, const char *why) {
    im->unsendable++;
    complain(im, place, why);
}

/* ---- answers ---- */

typedef struct verdicts {
    uint64_t accepted, duplicate, read;
    bool is_full; /* the server had no room for some of it */
} verdicts;

static bool means_later(int64_t status) {
    return status == 429 || status == 503;
}

/* The status and text of a refused line; 0: it was accepted. */
static int64_t refusal(rung_slice line, char why[400]) {
    rung_slice error = line;
    rung_answer_find(line, "error", &error);
    int64_t status = rung_answer_number(error.len ? error : line, "status", 0);
    if (status < 400)
        return 0;
    rung_answer_member(error.len ? error : line, "detail", why, 400);
    rung_answer_cut_place(why);
    return status;
}

/* Read the answers; refusals are told only in the last try. */
static verdicts read_answers(rung_importer *im, rung_slice body, bool is_last_try) {
    verdicts v = {0};
    char why[400];
    const char *at = body.ptr, *end = body.ptr + body.len;
    while (at < end && v.read < im->count) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        rung_slice line = rung_slice_of(at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
        int64_t status = refusal(line, why);
        v.is_full |= means_later(status);
        if (status == 0 && rung_answer_is_true(line, "duplicate"))
            v.duplicate++;
        else if (status == 0)
            v.accepted++;
        if (v.is_full && !is_last_try)
            return v;
        v.read++;
    }
    at = body.ptr;
    for (uint64_t i = 0; i < v.read; i++) { /* once more, now that they are final */
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        rung_slice line = rung_slice_of(at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
        if (refusal(line, why))
            complain(im, im->places[i], why);
    }
    return v;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int post(rung_importer *im, rung_reply *reply) {
    rung_path path = {0};
    rung_err err = {0};
    rung_path_add(&path, "/v1/scores");
    rung_status st = rung_client_ask(im->client, "POST", &path, "application/x-ndjson",
                                     rung_json_written(&im->lines), reply, &err);
    if (st == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_progress_end(&im->progress);
    rung_command_fail(im->self, &err);
    return st == RUNG_EIO ? RUNG_EXIT_UNREACHED : RUNG_EXIT_PROBLEM;
}

/* Until it is taken in. The ids let the whole batch be sent again. */
static int post_patiently(rung_importer *im, verdicts *v) {
    enum { TRIES = 60 };
    rung_reply reply;
    for (int try = 1;; try++) {
        int code = post(im, &reply);
        if (code)
            return code;
        bool is_refused = reply.status >= 300;
        if (!is_refused)
            *v = read_answers(im, rung_reply_body(&reply), try == TRIES);
        bool is_later = is_refused ? means_later(reply.status) : v->is_full;
        if (is_later && try < TRIES) {
            pause_ms(try < 10 ? 100 * try : 1000);
            continue;
        }
        if (try > 1) { /* what was taken in before is known now */
            v->accepted += v->duplicate;
            v->duplicate = 0;
        }
        if (!is_refused && v->read == im->count)
            return RUNG_EXIT_OK;
        rung_progress_end(&im->progress);
        if (is_refused)
            return rung_ask_fail(im->self, &reply);
        fprintf(stderr, "rung %s: the server answered %" PRIu64 " of %u submissions\n",
                im->self->name, v->read, im->count);
        return RUNG_EXIT_PROBLEM;
    }
}

int rung_importer_send(rung_importer *im, uint64_t offset, uint64_t line) {
    rung_err err = {0};
    verdicts v = {0};
    int code = RUNG_EXIT_OK;
    if (rung_json_failed(&im->lines)) {
        RUNG_FAIL(&err, RUNG_ENOMEM, "out of memory");
        return rung_command_fail(im->self, &err);
    }
    if (im->count > 0)
        code = post_patiently(im, &v);
    if (code)
        return code;
    im->sent += im->count;
    im->state.accepted += v.accepted;
    im->state.duplicate += v.duplicate;
    im->state.offset = offset;
    im->state.line = line;
    im->count = 0;
    rung_json_writer_reset(&im->lines);
    if (im->state_path && rung_import_state_write(im->state_path, &im->state, &err) < 0)
        return rung_command_fail(im->self, &err);
    return RUNG_EXIT_OK;
}
