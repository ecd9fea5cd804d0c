/* SPDX-License-Identifier: Apache-2.0 */
/* proposals.h - the proposals of a log that are under way: a ring of entries, whose bytes stay with the proposer.
 *
 *     freed          head          committed      settled        taken          tail
 *       | lent out     | committed     | not          | in a batch   | queued       |
 *
 * Entries pass from right to left: write, add -> take -> commit or settle -> deliver, and are overwritten only when the
 * next deliver gives them up. Positions count up for ever.
 *
 * Threads: none here. Its owner may let one thread push and deliver and another take and settle: who pushes writes
 * behind `tail` and nothing else, and a batch that was taken is only read. The positions need a lock. */
#ifndef RUNG_JOURNAL_PROPOSALS_H
#define RUNG_JOURNAL_PROPOSALS_H

#include "base/alloc.h"
#include "journal/log.h"

/* Read-only outside. */
typedef struct rung_proposals {
    rung_log_entry *entries;
    size_t size; /* a power of two */
    uint64_t freed, head, committed, settled, taken, tail;
    uint64_t next_seq;        /* of the entry at `head`, if it is committed */
    rung_log_outcome outcome; /* of those between committed and settled */
    rung_err why;
} rung_proposals;

/* Room for `max` entries. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_proposals_init(rung_proposals *p, const rung_alloc *alloc,
                                               size_t max, uint64_t next_seq, rung_err *err);
void rung_proposals_deinit(rung_proposals *p, const rung_alloc *alloc);

/* Is there room for `count` more, and does each fit a batch of `bytes_max`? RUNG_OK, RUNG_EINVAL (none) or RUNG_ELIMIT.
 * By who pushes, without a lock; so is the next. */
RUNG_NODISCARD rung_status rung_proposals_check(const rung_proposals *p,
                                                const rung_log_entry *entries, size_t count,
                                                size_t bytes_max, rung_err *err);
/* Copy them behind the tail. They count once they are added. */
void rung_proposals_write(rung_proposals *p, const rung_log_entry *entries, size_t count);
/* RUNG_OK, or RUNG_ELIMIT while a rejection was not delivered. */
RUNG_NODISCARD rung_status rung_proposals_add(rung_proposals *p, size_t count, rung_err *err);

/* The next batch: what is queued, in one piece, at most `bytes_max` when framed. NULL: nothing is. */
const rung_log_entry *rung_proposals_take(rung_proposals *p, size_t bytes_max, size_t *count_out,
                                          size_t *bytes_out);
static inline void rung_proposals_commit(rung_proposals *p) { /* what was taken */
    p->committed = p->settled = p->taken;
}
/* All that is not committed. */
void rung_proposals_settle(rung_proposals *p, rung_log_outcome outcome, const rung_err *why);

/* As rung_log_deliver: false when there is nothing. */
bool rung_proposals_deliver(rung_proposals *p, size_t max, rung_log_delivery *out);

#endif
