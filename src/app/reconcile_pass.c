/* SPDX-License-Identifier: Apache-2.0 */
/* The pass prints one JSON object, which fits a pipe, and exits with 0, or with 1 if it found a difference. Anything
 * else is a failure to compare, which is no finding: the archive is away, or the log is shorter than before. */
#define _GNU_SOURCE
#include "app/reconcile_pass.h"

#include "app/past_helper.h"
#include "base/clock.h"
#include "cli/command.h"
#include "codec/json_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_AFTER = 24 }; /* the first pass begins after this part of the interval */

static int64_t monotonic_ms(void) {
    rung_clock clock = rung_clock_real();
    return rung_clock_monotonic_ms(&clock);
}

void rung__reconcile_pass_init(rung__reconcile_pass *p, const rung_settings *settings,
                               uint64_t memory_max, void (*say)(void *ctx, const char *line),
                               void *ctx) {
    *p = (rung__reconcile_pass){.memory_max = memory_max, .say = say, .ctx = ctx};
    if (!settings->data || settings->as_of || !settings->reconcile_every_ms)
        return;
    p->settings = settings;
    p->due_ms = monotonic_ms() + (int64_t)settings->reconcile_every_ms / FIRST_AFTER;
}

/* ---- its beginning ---- */

static void begin(rung__reconcile_pass *p, const rung_state *state) {
    int ends[2];
    char digest[33];
    rung_digest d = rung_state_digest(state);
    p->due_ms = monotonic_ms() + (int64_t)p->settings->reconcile_every_ms;
    if (rung_state_seq(state) == 0)
        return;
    snprintf(digest, sizeof digest, "%016llx%016llx", (unsigned long long)d.a,
             (unsigned long long)d.b);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        p->stat.failures++;
        return;
    }
    int failure = rung__helper_reconcile(p->settings, p->memory_max, rung_state_seq(state), digest,
                                         ends[1], &p->pid);
    close(ends[1]);
    if (failure) {
        close(ends[0]);
        p->pid = 0;
        p->stat.failures++;
        return;
    }
    p->fd = ends[0];
    p->len = 0;
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
}

/* ---- its end ---- */

typedef struct finding {
    char what[64], board[RUNG_NAME_MAX + 1], window[RUNG_NAME_MAX + 1];
    uint64_t compared, windows, seq;
} finding;

static void keep(char *out, size_t size, rung_slice text) {
    size_t len = text.len < size - 1 ? text.len : size - 1;
    if (len)
        memcpy(out, text.ptr, len);
    out[len] = '\0';
}

static rung_status read_number(rung_json *r, uint64_t *out) {
    int64_t number = 0;
    rung_status st = rung_json_int64(r, &number);
    *out = (uint64_t)number;
    return st;
}

static rung_status read_member(rung_json *r, rung_slice key, finding *f) {
    rung_slice text;
    char name[16];
    keep(name, sizeof name, key);
    if (strcmp(name, "compared") == 0)
        return read_number(r, &f->compared);
    if (strcmp(name, "windows") == 0)
        return read_number(r, &f->windows);
    if (strcmp(name, "seq") == 0)
        return read_number(r, &f->seq);
    bool is_kind = strcmp(name, "kind") == 0, is_board = strcmp(name, "board") == 0;
    if (!is_kind && !is_board && strcmp(name, "window") != 0)
        return rung_json_skip(r, NULL);
    rung_status st = rung_json_string(r, &text);
    if (st == RUNG_OK && is_kind)
        keep(f->what, sizeof f->what, text);
    else if (st == RUNG_OK)
        keep(is_board ? f->board : f->window, RUNG_NAME_MAX + 1, text);
    return st;
}

static bool read_finding(const rung__reconcile_pass *p, finding *f) {
    static rung_json r; /* large; the loop's thread */
    rung_slice key;
    *f = (finding){0};
    rung_json_init_at(&r, rung_slice_of(p->text, p->len), NULL, 0, NULL);
    rung_status st = rung_json_enter_object(&r);
    while (st == RUNG_OK && (st = rung_json_next_key(&r, &key)) == RUNG_OK)
        st = read_member(&r, key, f);
    return st >= 0;
}

static void tell(const rung__reconcile_pass *p, const finding *f) {
    char line[512];
    const char *where = strcmp(f->what, "archive") == 0  ? "the archive"
                        : strcmp(f->what, "digest") == 0 ? "the state"
                                                         : "a snapshot";
    int len = snprintf(line, sizeof line, "%s is not what the log gives: sequence %llu", where,
                       (unsigned long long)f->seq);
    if (f->board[0])
        len += snprintf(line + len, sizeof line - (size_t)len, ", board %.128s, window %.128s",
                        f->board, f->window);
    snprintf(line + len, sizeof line - (size_t)len, "; rung reconcile says more");
    p->say(p->ctx, line);
}

/* `status` as of waitpid(). */
static void take(rung__reconcile_pass *p, int status) {
    finding f;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool is_whole = (code == RUNG_EXIT_OK || code == RUNG_EXIT_PROBLEM) && read_finding(p, &f);
    if (!is_whole || (code == RUNG_EXIT_PROBLEM && !f.what[0])) {
        p->stat.failures++;
        return;
    }
    rung_clock clock = rung_clock_real();
    bool had_difference = p->stat.has_difference;
    p->stat.passes++;
    p->stat.has_difference = code != RUNG_EXIT_OK;
    p->stat.snapshots = f.compared;
    p->stat.windows = f.windows;
    p->stat.last_ms = rung_clock_now(&clock);
    if (p->stat.has_difference && !had_difference)
        tell(p, &f);
}

static void look(rung__reconcile_pass *p) {
    int status;
    ssize_t n;
    while (p->len < sizeof p->text &&
           (n = read(p->fd, p->text + p->len, sizeof p->text - p->len)) > 0)
        p->len += (size_t)n;
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return;
    while (p->len < sizeof p->text && /* what it wrote last */
           (n = read(p->fd, p->text + p->len, sizeof p->text - p->len)) > 0)
        p->len += (size_t)n;
    close(p->fd);
    p->pid = 0;
    take(p, status);
}

void rung__reconcile_pass_tick(rung__reconcile_pass *p, const rung_state *state) {
    if (p->pid)
        look(p);
    else if (p->settings && monotonic_ms() >= p->due_ms)
        begin(p, state);
    p->stat.is_running = p->pid != 0;
}

void rung__reconcile_pass_end(rung__reconcile_pass *p) {
    if (!p->pid)
        return;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(p->fd);
    p->pid = 0;
}
