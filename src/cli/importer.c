/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/importer.h"

#include "journal/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
                         "%.120s is not the state file of an import; --restart begins anew", path);
    s.is_done = is_done != 0;
    *out = s;
    return RUNG_OK;
}

rung_status rung_import_state_write(const char *path, const rung_import_state *s, rung_err *err) {
    char text[400];
    int len = snprintf(text, sizeof text, STATE_FORMAT, s->run, s->head_size, s->head_hash,
                       s->offset, s->line, s->accepted, s->duplicate, s->refused, s->is_done);
    const char *name;
    rung_dir folder;
    rung_status st = rung_dir_open_parent(&folder, rung_fs_posix(), path, &name, err);
    if (st == RUNG_OK)
        st = rung_file_replace(&folder, name, text, (size_t)len, err);
    rung_dir_close(&folder);
    return st;
}

/* ---- a batch ---- */

void rung_importer_begin(rung_importer *im) {
    im->lines.is_comma_due = false;
    rung_json_open_object(&im->lines);
}

void rung_importer_end(rung_importer *im, uint64_t place, bool has_board, bool has_id) {
    char id[64];
    snprintf(id, sizeof id, "import-%016" PRIx64 "-%" PRIu64, im->state.run, place);
    if (!has_board && im->board)
        RUNG_JSON_MEMBER(&im->lines, "board", word, im->board);
    if (!has_id)
        RUNG_JSON_MEMBER(&im->lines, "id", word, id);
    rung_json_close_object(&im->lines);
    rung_json_append(&im->lines, RUNG_SLICE("\n"));
    im->places[im->count++] = place;
}

bool rung_importer_is_full(const rung_importer *im) {
    return im->count >= im->batch_max || im->lines.len >= RUNG_IMPORT_BYTES_MAX;
}

void rung_importer_show(rung_importer *im, uint64_t done, uint64_t total) {
    static char note[96];
    char count[RUNG_COUNT_TEXT_MAX], rate[RUNG_COUNT_TEXT_MAX];
    double seconds = (double)(rung_elapsed_ms() - im->began_ms + 1) / 1000;
    snprintf(note, sizeof note, "%s scores, %s per second", rung_count_text(im->sent, count),
             rung_count_text((uint64_t)((double)im->sent / seconds), rate));
    im->progress.note = note;
    rung_progress_show(&im->progress, "import", done, total);
}

static void complain(rung_importer *im, uint64_t place, const char *why) {
    enum { COMPLAINTS_MAX = 10 };
    im->state.refused++;
    if (im->complaints > COMPLAINTS_MAX)
        return;
    rung_progress_end(&im->progress);
    if (im->complaints++ == COMPLAINTS_MAX)
        rung_command_refuse(im->self, RUNG_EXIT_OK, "further refusals are only counted");
    else
        rung_command_refuse(im->self, RUNG_EXIT_OK, "line %" PRIu64 ": %s", place, why);
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

static rung_slice next_line(const char **at, const char *end) {
    const char *from = *at, *stop = memchr(from, '\n', (size_t)(end - from));
    *at = stop ? stop + 1 : end;
    return rung_slice_of(from, (size_t)((stop ? stop : end) - from));
}

/* Count the answers. Refusals are printed once they are final: no retry follows. */
static verdicts read_answers(rung_importer *im, rung_slice body, bool is_last_try) {
    verdicts v = {0};
    char why[400];
    const char *at = body.ptr, *end = body.ptr + body.len;
    while (at < end && v.read < im->count) {
        rung_slice line = next_line(&at, end);
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
    for (uint64_t i = 0; i < v.read; i++)
        if (refusal(next_line(&at, end), why))
            complain(im, im->places[i], why);
    return v;
}

/* Retry until the server accepts the batch. Ids make it safe to send all of it again. */
static int post_patiently(rung_importer *im, verdicts *v) {
    enum { TRIES = 60 };
    rung_reply reply;
    for (int try = 1;; try++) {
        int code = rung_ask_submit(im->self, im->client, rung_json_written(&im->lines), &reply);
        if (code)
            return code;
        bool is_refused = reply.status >= 300;
        if (!is_refused)
            *v = read_answers(im, rung_reply_body(&reply), try == TRIES);
        bool is_later = is_refused ? means_later(reply.status) : v->is_full;
        if (is_later && try < TRIES) {
            rung_pause_ms(try < 10 ? 100 * try : 1000);
            continue;
        }
        if (try > 1) { /* the duplicates are from our own earlier tries */
            v->accepted += v->duplicate;
            v->duplicate = 0;
        }
        if (!is_refused && v->read == im->count)
            return RUNG_EXIT_OK;
        rung_progress_end(&im->progress);
        if (is_refused)
            return rung_ask_fail(im->self, &reply);
        return rung_command_refuse(im->self, RUNG_EXIT_PROBLEM,
                                   "the server answered %" PRIu64 " of %u submissions", v->read,
                                   im->count);
    }
}

int rung_importer_send(rung_importer *im, uint64_t offset, uint64_t line) {
    rung_err err = {0};
    verdicts v = {0};
    int code = RUNG_EXIT_OK;
    if (rung_json_failed(&im->lines))
        return rung_command_refuse(im->self, RUNG_EXIT_PROBLEM, "out of memory");
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
