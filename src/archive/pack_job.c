/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "archive/pack_job.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct rung_pack_job {
    const rung_alloc *alloc;
    rung_child *child; /* NULL: it has ended */
    int file;
    rung_slice board;      /* the child's copy of them stays */
    const rung_view *view; /* as they were when it began */
    rung_status status;    /* once it has ended */
    char *bytes;           /* mapped; NULL: not yet */
    size_t len;
};

/* ---- the child ---- */

typedef struct output {
    int file;
    const rung_child_life *life;
} output;

static rung_status write_piece(void *ctx, const void *bytes, size_t len) {
    const output *to = ctx;
    const char *at = bytes;
    rung_status st = to->life->pause(to->life, 0);
    while (st == RUNG_OK && len > 0) {
        ssize_t wrote = write(to->file, at, len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return errno == ENOSPC || errno == ENOMEM ? RUNG_ENOMEM : RUNG_EIO;
        at += wrote;
        len -= (size_t)wrote;
    }
    return st;
}

static rung_status pack(void *arg, const rung_child_life *life, rung_err *err) {
    const rung_pack_job *job = arg;
    output to = {job->file, life};
    (void)err; /* the status says enough */
    return rung_closed_window_write(life->alloc, job->board, job->view, write_piece, &to);
}

/* ---- the parent ---- */

rung_status rung_pack_job_begin(const rung_children *children, const rung_alloc *alloc,
                                rung_slice board, const rung_view *view, rung_pack_job **job_out,
                                rung_err *err) {
    rung_pack_job *job = rung_alloc_get(alloc, sizeof *job);
    if (!job)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    *job = (rung_pack_job){.alloc = alloc,
                           .file = memfd_create("rung-window", MFD_CLOEXEC),
                           .board = board,
                           .view = view};
    rung_status st =
        job->file >= 0
            ? rung_child_begin(children, alloc, pack, job, &job->child, err)
            : RUNG_FAIL_OS(err, errno == ENOMEM ? RUNG_ENOMEM : RUNG_EIO, errno,
                           "archive: cannot make a file in memory: %s", strerrordesc_np(errno));
    if (st < 0) {
        rung_pack_job_end(job);
        return st;
    }
    *job_out = job;
    return RUNG_OK;
}

static void wait_for_child(rung_pack_job *job) {
    job->status = rung_child_poll(job->child, true, NULL);
    job->child = NULL;
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
    rung_child_kill(job->child);
    if (job->bytes)
        munmap(job->bytes, job->len);
    if (job->file >= 0)
        close(job->file);
    rung_alloc_free(job->alloc, job, sizeof *job);
}
