/* SPDX-License-Identifier: Apache-2.0 */
/* A child reports through a pipe, since a host program's wait() may take its exit code. The parent closes another pipe,
 * `unpause`, when it waits for the child: then the child stops pausing. */
#define _GNU_SOURCE
#include "service/child.h"

#include "journal/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_socket(void *arg, const char *name) {
    struct stat about;
    int fd = (int)strtol(name, NULL, 10);
    (void)arg;
    if (fd > 2 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode))
        close(fd);
}

static void close_sockets(void) {
    rung_dir open_files = {0};
    if (rung_dir_open(&open_files, rung_fs_posix(), "/proc/self/fd", false, NULL) < 0)
        return;
    rung_ignore(rung_dir_list(&open_files, close_socket, NULL, NULL),
                "a connection that is closed late does no harm");
    rung_dir_close(&open_files);
}

static void settle(bool is_bound, pid_t parent) {
    if (is_bound) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it has ended already */
            _exit(1);
    }
    close_sockets();
    /* A nice child finishes its time slice when a thread of the parent wakes: milliseconds of latency. An idle one is
     * preempted at once. */
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}

pid_t rung__child_fork(void) {
    pid_t parent = getpid();
    bool is_bound = gettid() == parent; /* the signal comes when the forking thread ends */
    pid_t child = fork();
    if (child == 0)
        settle(is_bound, parent);
    return child;
}

static void *map(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    (void)ctx;
    if (!ptr)
        return map(new_size);
    if (new_size == 0) {
        munmap(ptr, old_size);
        return NULL;
    }
    void *moved = mremap(ptr, old_size, new_size, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

const rung_alloc *rung__child_alloc(void) {
    static const rung_alloc child = {.resize = resize, .ctx = NULL};
    return &child;
}

/* ---- the child's side ---- */

typedef struct child_report {
    rung_status status;
    rung_err err; /* its texts are of our own program: the child is our image */
} child_report;

typedef struct forked_life {
    rung_child_life port;
    pid_t parent;
    int unpause;
} forked_life;

static rung_status pause_child(const rung_child_life *life, uint32_t ms) {
    const forked_life *l = (const forked_life *)life;
    if (getppid() != l->parent)
        return RUNG_ECLOSED;
    if (ms)
        poll(&(struct pollfd){.fd = l->unpause}, 1, (int)ms);
    return RUNG_OK;
}

/* Does not run the host program's exit handlers. */
static _Noreturn void live(rung_child_work *work, void *arg, const forked_life *life,
                           int pipe_end) {
    child_report r = {0};
    r.status = work(arg, &life->port, &r.err);
    ssize_t wrote = write(pipe_end, &r, sizeof r); /* atomic: it fits a pipe */
    _exit(wrote == (ssize_t)sizeof r ? 0 : 1);
}

/* ---- the parent's side ---- */

typedef struct forked {
    rung_child port;
    const rung_alloc *alloc;
    pid_t pid;
    int report;  /* -1: it has reported */
    int unpause; /* -1: closed */
    rung_status status;
    rung_err err;
} forked;

static void close_both(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

static rung_status make_pipes(int report[2], int unpause[2], rung_err *err) {
    if (pipe2(report, O_CLOEXEC) < 0)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot make a pipe: %s", strerrordesc_np(errno));
    if (pipe2(unpause, O_CLOEXEC) == 0)
        return RUNG_OK;
    int cause = errno;
    close_both(report);
    return RUNG_FAIL_OS(err, RUNG_EIO, cause, "cannot make a pipe: %s", strerrordesc_np(cause));
}

static rung_status fork_child(forked *c, rung_child_work *work, void *arg, rung_err *err) {
    int report[2], unpause[2];
    pid_t parent = getpid();
    rung_status st = make_pipes(report, unpause, err);
    if (st < 0)
        return st;
    c->pid = rung__child_fork();
    if (c->pid == 0) {
        close(unpause[1]);
        live(work, arg, &(forked_life){{rung__child_alloc(), pause_child}, parent, unpause[0]},
             report[1]);
    }
    if (c->pid < 0) {
        int cause = errno;
        close_both(report);
        close_both(unpause);
        return RUNG_FAIL_OS(err, cause == ENOMEM ? RUNG_ENOMEM : RUNG_EIO, cause, "cannot fork: %s",
                            strerrordesc_np(cause));
    }
    close(report[1]);
    close(unpause[0]);
    c->report = report[0];
    c->unpause = unpause[1];
    return RUNG_OK;
}

static rung_status begin(const rung_children *children, const rung_alloc *alloc,
                         rung_child_work *work, void *arg, rung_child **child_out, rung_err *err) {
    forked *c = rung_alloc_zeroed(alloc, sizeof *c);
    if (!c)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    c->port.children = children;
    c->alloc = alloc;
    rung_status st = fork_child(c, work, arg, err);
    if (st < 0) {
        rung_alloc_free(alloc, c, sizeof *c);
        return st;
    }
    *child_out = &c->port;
    return RUNG_OK;
}

static void hang_up(forked *c) {
    if (c->unpause >= 0)
        close(c->unpause);
    c->unpause = -1;
}

/* False: no report yet. */
static bool read_report(forked *c, bool wait) {
    child_report r = {0};
    int flags = fcntl(c->report, F_GETFL);
    ssize_t got;
    fcntl(c->report, F_SETFL, wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
    do
        got = read(c->report, &r, sizeof r);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got != (ssize_t)sizeof r)
        r.status = RUNG_FAIL(&r.err, RUNG_EIO, "the child process was killed");
    close(c->report);
    c->report = -1;
    c->status = r.status;
    c->err = r.err;
    return true;
}

/* After its report, a child may need some time to release gigabytes of shared pages. Do not wait for that. */
static bool has_ended(const forked *c, bool wait) {
    pid_t gone;
    do
        gone = waitpid(c->pid, NULL, wait ? 0 : WNOHANG);
    while (gone < 0 && errno == EINTR);
    return gone != 0;
}

static rung_status poll_child(rung_child *child, bool wait, rung_err *err) {
    forked *c = (forked *)child;
    if (wait)
        hang_up(c);
    if ((c->report >= 0 && !read_report(c, wait)) || !has_ended(c, wait))
        return RUNG_PARTIAL;
    hang_up(c);
    rung_status st = c->status;
    if (st < 0 && err)
        *err = c->err;
    rung_alloc_free(c->alloc, c, sizeof *c);
    return st;
}

static void kill_child(rung_child *child) {
    kill(((forked *)child)->pid, SIGKILL);
    rung_ignore(poll_child(child, true, NULL), "nobody asks for the result of a killed child");
}

const rung_children *rung_children_forked(void) {
    static const rung_children forked_children = {begin, poll_child, kill_child, NULL};
    return &forked_children;
}
