/* SPDX-License-Identifier: Apache-2.0 */
/* The child reports through a pipe and not by its exit code, which a host program's own wait() might take. */
#define _GNU_SOURCE
#include "archive/pack_job.h"

#include "service/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct rung_pack_job {
    const rung_alloc *alloc;
    pid_t child;  /* 0: it has ended */
    int pipe_end; /* what it reports comes here */
    int file;
    rung_status status; /* once it has ended */
    char *bytes;        /* mapped; NULL: not yet */
    size_t len;
};

/* ---- the child ---- */

typedef struct output {
    int file;
    pid_t parent;
} output;

static rung_status write_piece(void *ctx, const void *bytes, size_t len) {
    const output *to = ctx;
    const char *at = bytes;
    if (getppid() != to->parent)
        return RUNG_ECLOSED; /* nobody waits for it any more */
    while (len > 0) {
        ssize_t wrote = write(to->file, at, len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return errno == ENOSPC || errno == ENOMEM ? RUNG_ENOMEM : RUNG_EIO;
        at += wrote;
        len -= (size_t)wrote;
    }
    return RUNG_OK;
}

/* Its whole life. Leaves without the host program's exit handlers and buffers. */
static _Noreturn void live_as_child(const rung_pack_job *job, int report, pid_t parent,
                                    rung_slice board, const rung_view *view) {
    output to = {job->file, parent};
    rung_status st = rung_closed_window_write(rung_child_alloc(), board, view, write_piece, &to);
    ssize_t wrote = write(report, &st, sizeof st);
    _exit(wrote == (ssize_t)sizeof st ? 0 : 1);
}

/* ---- the parent ---- */

static rung_status fail_to_begin(rung_pack_job *job, const char *what, rung_err *err) {
    int cause = errno;
    rung_pack_job_end(job);
    return RUNG_FAIL_OS(err, cause == ENOMEM ? RUNG_ENOMEM : RUNG_EIO, cause,
                        "archive: cannot %s: %s", what, strerrordesc_np(cause));
}

rung_status rung_pack_job_begin(const rung_alloc *alloc, rung_slice board, const rung_view *view,
                                rung_pack_job **job_out, rung_err *err) {
    rung_pack_job *job = rung_alloc_get(alloc, sizeof *job);
    if (!job)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    *job = (rung_pack_job){
        .alloc = alloc, .pipe_end = -1, .file = memfd_create("rung-window", MFD_CLOEXEC)};
    int ends[2];
    if (job->file < 0)
        return fail_to_begin(job, "make a file in memory", err);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail_to_begin(job, "make a pipe", err);
    job->pipe_end = ends[0];
    pid_t parent = getpid();
    job->child = rung_child_fork();
    if (job->child == 0)
        live_as_child(job, ends[1], parent, board, view);
    int cause = errno;
    close(ends[1]);
    errno = cause;
    if (job->child < 0) {
        job->child = 0;
        return fail_to_begin(job, "fork", err);
    }
    *job_out = job;
    return RUNG_OK;
}

static void wait_for_child(rung_pack_job *job) {
    ssize_t got;
    do
        got = read(job->pipe_end, &job->status, sizeof job->status);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof job->status)
        job->status = RUNG_EIO; /* it was ended */
    while (waitpid(job->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    job->child = 0;
}

static rung_status map_bytes(rung_pack_job *job, rung_err *err) {
    off_t len = lseek(job->file, 0, SEEK_END);
    void *bytes =
        len > 0 ? mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, job->file, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: no memory to read a window that closed");
    job->bytes = bytes;
    job->len = (size_t)len;
    return RUNG_OK;
}

rung_status rung_pack_job_wait(rung_pack_job *job, rung_slice *packed_out, rung_err *err) {
    if (job->child)
        wait_for_child(job);
    if (job->status < 0)
        return RUNG_FAIL(err, job->status,
                         "archive: the process that packed a window that closed failed");
    rung_status st = job->bytes ? RUNG_OK : map_bytes(job, err);
    if (st == RUNG_OK)
        *packed_out = rung_slice_of(job->bytes, job->len);
    return st;
}

void rung_pack_job_end(rung_pack_job *job) {
    if (!job)
        return;
    if (job->child) {
        kill(job->child, SIGKILL);
        wait_for_child(job);
    }
    if (job->bytes)
        munmap(job->bytes, job->len);
    if (job->pipe_end >= 0)
        close(job->pipe_end);
    if (job->file >= 0)
        close(job->file);
    rung_alloc_free(job->alloc, job, sizeof *job);
}
