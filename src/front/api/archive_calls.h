/* SPDX-License-Identifier: Apache-2.0 */
/* archive_calls.h - shared inside the room: calls that wait for the archive (service/asker.h).
 *
 *     window_ask *ask = rung__archive_call_new(c, size, run, finish);      // NULL: the call is ended
 *     ... what is asked ...
 *     rung__archive_call_put(&ask->base);                                  // finish() writes the answer
 *
 * Thread: the loop's, except a job's `run`. */
#ifndef RUNG_FRONT_API_ARCHIVE_CALLS_H
#define RUNG_FRONT_API_ARCHIVE_CALLS_H

#include "front/api/call.h"

/* The first member of a question's own struct. */
typedef struct rung_archive_call {
    rung_archive_job job; /* the first member */
    rung_call *call;
    uint64_t cursor_seq;                         /* how far the archive had come, if `run` asks */
    void (*finish)(struct rung_archive_call *a); /* writes the answer, and ends the call */
    size_t size;
} rung_archive_call;

typedef rung_status rung_archive_run(rung_archive_job *job, const rung_archive_port *port,
                                     rung_archive *archive);

/* Zeroed. */
void *rung__archive_call_new(rung_call *c, size_t size, rung_archive_run *run,
                             void (*finish)(rung_archive_call *a));
void rung__archive_call_put(rung_archive_call *a);

rung_status rung__archive_create(rung_api *api, rung_err *err);

#endif
