/* SPDX-License-Identifier: Apache-2.0 */
/* replay_task.h - what to replay, as one block of bytes with all its texts: to keep it, and to send it to a helper.
 *
 *     rung_replay_task_copy(alloc, &spec, &task, &err);
 *     send(rung_replay_task_bytes(task));            // in the helper: rung_replay_task_read(alloc, bytes, &task, &err)
 *
 * Pure. */
#ifndef RUNG_SERVICE_REPLAY_TASK_H
#define RUNG_SERVICE_REPLAY_TASK_H

#include "service/replay_fold.h"

typedef struct rung_replay_task
    rung_replay_task; /* heap object; rung_replay_task_free() frees it */

#define RUNG_REPLAY_TASK_BYTES_MAX ((size_t)2 << 20)

/* RUNG_OK; RUNG_ENOMEM; or why the definition cannot be encoded. */
RUNG_NODISCARD rung_status rung_replay_task_copy(const rung_alloc *alloc,
                                                 const rung_replay_spec *spec,
                                                 rung_replay_task **out, rung_err *err);
/* RUNG_OK, RUNG_ENOMEM, RUNG_ECORRUPT. */
RUNG_NODISCARD rung_status rung_replay_task_read(const rung_alloc *alloc, rung_slice bytes,
                                                 rung_replay_task **out, rung_err *err);
void rung_replay_task_free(rung_replay_task *t); /* accepts NULL */

const rung_replay_spec *rung_replay_task_spec(const rung_replay_task *t); /* borrowed */
rung_slice rung_replay_task_bytes(const rung_replay_task *t);             /* borrowed */

#endif
