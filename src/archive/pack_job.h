/* SPDX-License-Identifier: Apache-2.0 */
/* pack_job.h - a large closed window packed by a forked child, so that the owner of the state stops for the fork
 * and not for the packing: ten million rows take seconds.
 *
 * The child has the state as it was at the fork, whatever becomes of the window afterwards. Its bytes go to a file
 * in memory that has no name. A child that cannot finish costs the window: whoever waits for it must be able to
 * rebuild it.
 *
 *     rung_pack_job_begin(NULL, alloc, board, view, &job, &err);   // inside on_close
 *     rung_pack_job_wait(job, &packed, &err);                      // from any thread: seconds, perhaps
 *     rung_pack_job_end(job);
 *
 * Linux. Threads: begin from the owner of the state, the others from one other. */
#ifndef RUNG_ARCHIVE_PACK_JOB_H
#define RUNG_ARCHIVE_PACK_JOB_H

#include "archive/closed_window.h"
#include "service/child.h"

/* heap object; whoever began it calls rung_pack_job_end() */
typedef struct rung_pack_job rung_pack_job;

/* RUNG_OK: under way. RUNG_ENOMEM, RUNG_EIO: no child could be had; pack it here and now instead. */
RUNG_NODISCARD rung_status rung_pack_job_begin(const rung_children *children,
                                               const rung_alloc *alloc, rung_slice board,
                                               const rung_view *view, rung_pack_job **job_out,
                                               rung_err *err);

/* Wait for the child. RUNG_OK: all bytes, valid until the job's end; the same again if asked again. Otherwise the
 * failure. */
RUNG_NODISCARD rung_status rung_pack_job_wait(rung_pack_job *job, rung_slice *packed_out,
                                              rung_err *err);

/* Ends the child if it is still at work. Accepts NULL. */
void rung_pack_job_end(rung_pack_job *job);

#endif
