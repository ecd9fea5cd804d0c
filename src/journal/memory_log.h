/* SPDX-License-Identifier: Apache-2.0 */
/* memory_log.h - the log port where nothing is kept: what is proposed is committed at once, and gone once delivered.
 *
 * Its cursors find nothing, durable_seq is the last sequence proposed. Threads: one at a time. */
#ifndef RUNG_JOURNAL_MEMORY_LOG_H
#define RUNG_JOURNAL_MEMORY_LOG_H

#include "base/alloc.h"
#include "journal/log.h"

/* Room for `proposals_max` in flight. RUNG_OK or RUNG_ENOMEM. Release it with rung_log_close(). */
RUNG_NODISCARD rung_status rung_memory_log_create(const rung_alloc *alloc, size_t proposals_max,
                                                  rung_log **log_out, rung_err *err);

#endif
