/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides are the same program, so requests and replies are structures as they are in memory:
 *
 *     to the helper:  task_head, the task's bytes; then rung_replay_ask, ...
 *     from it:        reply_head and a piece, for each of them
 *
 * Threads: start, cut and end are the loop's; ask runs in another thread, one at a time for each helper. */
#define _GNU_SOURCE
#include "app/replay_helper.h"

#include "app/past_helper.h"
#include "app/replay_port.h"
#include "base/alloc.h"
#include "base/random.h"
#include "service/replay_task.h"
#include "service/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct task_head {
    uint64_t size;
} task_head;

typedef struct reply_head {
    rung_status status;
    rung_err err; /* but for `where`, which is an address */
    uint64_t seq, left_out, piece_len;
} reply_head;

struct rung_replay_helper {
    pid_t pid;
    int fd;
    bool is_told; /* it has its task */
    rung_replay_task *task;
    uint8_t piece[RUNG_FILL_BYTES_MAX];
};

/* ---- bytes ---- */

static bool send_all(int fd, const void *bytes, size_t len) {
    const uint8_t *at = bytes;
    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t len) {
    uint8_t *at = bytes;
    while (len) {
        ssize_t n = recv(fd, at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* ---- the server's side ---- */

static rung_status start(void *ctx, const rung_replay_spec *spec, rung_replay_helper **out,
                         rung_err *err) {
    const rung__replay_helpers *all = ctx;
    int ends[2];
    rung_replay_helper *h = rung_alloc_zeroed(rung_alloc_heap(), sizeof *h);
    if (!h)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    rung_status st = rung_replay_task_copy(rung_alloc_heap(), spec, &h->task, err);
    int failure = 0;
    if (st == RUNG_OK && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        failure = errno;
    if (st == RUNG_OK && !failure) {
        failure = rung__helper_spawn(all->settings, all->memory_max, ends[1], &h->pid);
        close(ends[1]);
        if (failure)
            close(ends[0]);
    }
    if (st == RUNG_OK && failure)
        st = RUNG_FAIL_OS(err, RUNG_EIO, failure, "a helper cannot be started: %s",
                          strerror(failure));
    if (st < 0) {
        rung_replay_task_free(h->task);
        rung_alloc_free(rung_alloc_heap(), h, sizeof *h);
        return st;
    }
    h->fd = ends[0];
    *out = h;
    return RUNG_OK;
}

static void cut(rung_replay_helper *h) {
    kill(h->pid, SIGKILL);
}

static void end(rung_replay_helper *h) {
    kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(h->fd);
    rung_replay_task_free(h->task);
    rung_alloc_free(rung_alloc_heap(), h, sizeof *h);
}

static bool tell(rung_replay_helper *h) {
    rung_slice task = rung_replay_task_bytes(h->task);
    task_head head = {task.len};
    if (!h->is_told)
        h->is_told = send_all(h->fd, &head, sizeof head) && send_all(h->fd, task.ptr, task.len);
    return h->is_told;
}

static rung_status ask(rung_replay_helper *h, const rung_replay_ask *question,
                       rung_replay_reply *out, rung_err *err) {
    reply_head head;
    if (!tell(h) || !send_all(h->fd, question, sizeof *question) ||
        !receive_all(h->fd, &head, sizeof head) || head.piece_len > sizeof h->piece ||
        !receive_all(h->fd, h->piece, head.piece_len))
        return RUNG_FAIL(err, RUNG_EIO, "the replay's helper process has ended");
    *out = (rung_replay_reply){head.seq, head.left_out, rung_slice_of(h->piece, head.piece_len)};
    if (head.status < 0) {
        *err = head.err;
        err->where = RUNG_HERE;
    }
    return head.status;
}

void rung__replay_helpers_init(rung__replay_helpers *h, const rung_settings *settings,
                               uint64_t memory_max) {
    *h = (rung__replay_helpers){
        .settings = settings,
        .memory_max = memory_max,
        .port = {.start = start, .ask = ask, .cut = cut, .end = end, .ctx = h}};
}

/* ---- the helper's side ---- */

static rung_status receive_task(rung_replay_task **out, rung_err *err) {
    task_head head;
    rung_status st = RUNG_EIO;
    if (!receive_all(0, &head, sizeof head) || head.size > RUNG_REPLAY_TASK_BYTES_MAX)
        return RUNG_FAIL(err, RUNG_EIO, "no task");
    uint8_t *bytes = rung_alloc_get(rung_alloc_heap(), head.size);
    if (!bytes)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (receive_all(0, bytes, head.size))
        st = rung_replay_task_read(rung_alloc_heap(), rung_slice_of(bytes, head.size), out, err);
    rung_alloc_free(rung_alloc_heap(), bytes, head.size);
    return st;
}

static void on_wake(void *ctx) {
    (void)ctx;
}

static void on_fatal(void *ctx, const rung_err *err) {
    (void)ctx, (void)err;
    _exit(RUNG_EXIT_PROBLEM);
}

/* What the helper works on: one of the two. */
typedef struct helper_work {
    rung_replay_source *source;
    rung_trial *trial;
} helper_work;

static rung_status open_work(rung__server *s, const rung_replay_spec *spec, helper_work *out,
                             rung_err *err) {
    rung_replay_source_config config = {
        .log = {.alloc = rung_alloc_heap(), .path = s->settings.data},
        .memory_max = s->settings.memory_max == UINT64_MAX ? 0 : s->settings.memory_max};
    rung_hub_config hub = {.wake = on_wake, .fatal = on_fatal, .say = rung__server_say, .ctx = s};
    rung_status st = rung_random_hash_key(NULL, &config.hash_key, err);
    if (st == RUNG_OK && rung__server_is_replicated(s))
        st = rung__server_open_kafka(s, &hub, &config.log.log, err);
    if (st < 0)
        return st;
    return spec->trial_last ? rung_trial_open(&config, spec, &out->trial, err)
                            : rung_replay_source_open(&config, spec, &out->source, err);
}

static rung_status do_work(helper_work *w, const rung_replay_ask *question,
                           rung_replay_reply *reply, rung_err *err) {
    if (!w->trial)
        return rung_replay_source_ask(w->source, question, reply, err);
    rung_status st = rung_trial_step(w->trial, err);
    reply->seq = rung_trial_seq(w->trial);
    if (st == RUNG_OK)
        reply->piece = rung_slice_of(rung_trial_result_of(w->trial), sizeof(rung_trial_result));
    return st;
}

static bool answer(rung_status st, const rung_replay_reply *reply, const rung_err *err) {
    reply_head head = {.status = st,
                       .err = *err,
                       .seq = reply->seq,
                       .left_out = reply->left_out,
                       .piece_len = reply->piece.len};
    return send_all(0, &head, sizeof head) && send_all(0, reply->piece.ptr, reply->piece.len);
}

int rung__replay_helper_run(rung__server *s) {
    rung_replay_task *task = NULL;
    helper_work work = {0};
    rung_replay_ask question;
    rung_err err = {0};
    rung_status opened = receive_task(&task, &err);
    if (opened < 0)
        return RUNG_EXIT_PROBLEM;
    opened = open_work(s, rung_replay_task_spec(task), &work, &err);
    bool goes_on = true;
    while (goes_on && receive_all(0, &question, sizeof question)) {
        rung_replay_reply reply = {0};
        rung_status st = opened < 0 ? opened : do_work(&work, &question, &reply, &err);
        goes_on = answer(st, &reply, &err);
    }
    rung_replay_source_close(work.source);
    rung_trial_close(work.trial);
    rung_replay_task_free(task);
    return RUNG_EXIT_OK;
}
