/* SPDX-License-Identifier: Apache-2.0 */
/* pack_job.h - pack a large closed window in a forked child: the owner of the state waits only for the fork. Packing
 * ten million rows takes seconds.
 *
 * The child has the state as of the fork, whatever happens to the window later. It writes to an unnamed file in
 * memory. If the child dies, the window is lost: the caller must be able to rebuild it.
 *
 *     rung_pack_job_begin(NULL, alloc, board, view, &job, &err);   // inside on_close
 *     rung_pack_job_wait(job, &packed, &err);                      // any thread; may take seconds
 *     rung_pack_job_end(job);
 *
 * Linux. Threads: begin from the owner of the state, the others from one other thread. */
#ifndef RUNG_ARCHIVE_PACK_JOB_H
#define RUNG_ARCHIVE_PACK_JOB_H

#include "archive/closed_window.h"
#include "service/child.h"

/* Heap object. Release it with rung_pack_job_end(). */
typedef struct rung_pack_job rung_pack_job;

/* RUNG_OK: running. RUNG_ENOMEM, RUNG_EIO: no child; pack the window synchronously instead. */
RUNG_NODISCARD rung_status rung_pack_job_begin(const rung_children *children,
                                               const rung_alloc *alloc, rung_slice board,
                                               const rung_view *view, rung_pack_job **job_out,
                                               rung_err *err);

/* Wait for the child. RUNG_OK: all bytes, valid until the job ends; repeated calls return the same. Otherwise the
 * failure. */
RUNG_NODISCARD rung_status rung_pack_job_wait(rung_pack_job *job, rung_slice *packed_out,
                                              rung_err *err);

/* Kill the child if it is still running. Accepts NULL. */
void rung_pack_job_end(rung_pack_job *job);

#endif
