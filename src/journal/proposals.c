/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/proposals.h"

#include "base/assert.h"

#include <string.h>

static size_t index_of(const rung_proposals *p, uint64_t position) {
    return (size_t)position & (p->size - 1);
}

/* How many of the entries from `at` to `end` lie in one piece. */
static size_t piece(const rung_proposals *p, uint64_t at, uint64_t end) {
    size_t to_end = p->size - index_of(p, at);
    return end - at < to_end ? (size_t)(end - at) : to_end;
}

rung_status rung_proposals_init(rung_proposals *p, const rung_alloc *alloc, size_t max,
                                uint64_t next_seq, rung_err *err) {
    *p = (rung_proposals){.size = 16, .next_seq = next_seq};
    while (p->size < max)
        p->size *= 2;
    p->entries = rung_alloc_get(alloc, p->size * sizeof *p->entries);
    return p->entries ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the log's queue");
}

void rung_proposals_deinit(rung_proposals *p, const rung_alloc *alloc) {
    rung_alloc_free(alloc, p->entries, p->entries ? p->size * sizeof *p->entries : 0);
    p->entries = NULL;
}

rung_status rung_proposals_check(const rung_proposals *p, const rung_log_entry *entries,
                                 size_t count, size_t bytes_max, rung_err *err) {
    if (count == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "nothing to propose");
    if (count > p->size - (size_t)(p->tail - p->freed))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "the queue of the log is full");
    for (size_t i = 0; i < count; i++)
        if (entries[i].payload.len > RUNG_LOG_RECORD_MAX ||
            rung_log_framed_size(entries[i].payload.len) > bytes_max)
            return RUNG_FAIL(err, RUNG_ELIMIT, "a record of %zu bytes is longer than the log takes",
                             entries[i].payload.len);
    return RUNG_OK;
}

void rung_proposals_write(rung_proposals *p, const rung_log_entry *entries, size_t count) {
    size_t first = piece(p, p->tail, p->tail + count);
    memcpy(&p->entries[index_of(p, p->tail)], entries, first * sizeof *entries);
    memcpy(p->entries, entries + first, (count - first) * sizeof *entries);
}

rung_status rung_proposals_add(rung_proposals *p, size_t count, rung_err *err) {
    if (p->committed < p->settled && p->head < p->settled)
        return RUNG_FAIL(err, RUNG_ELIMIT, "what the log rejected was not delivered yet");
    p->tail += count;
    return RUNG_OK;
}

const rung_log_entry *rung_proposals_take(rung_proposals *p, size_t bytes_max, size_t *count_out,
                                          size_t *bytes_out) {
    const rung_log_entry *first = &p->entries[index_of(p, p->taken)];
    size_t max = piece(p, p->taken, p->tail), count = 0, bytes = 0;
    for (; count < max; count++) {
        size_t framed = rung_log_framed_size(first[count].payload.len);
        if (count && bytes + framed > bytes_max)
            break;
        bytes += framed;
    }
    p->taken += count;
    *count_out = count;
    *bytes_out = bytes;
    return count ? first : NULL;
}

void rung_proposals_settle(rung_proposals *p, rung_log_outcome outcome, const rung_err *why) {
    if (p->settled == p->tail)
        return;
    RUNG_ASSERT(p->committed == p->settled || p->settled <= p->head); /* as add saw to */
    p->committed = p->settled;
    p->taken = p->settled = p->tail;
    p->outcome = outcome;
    p->why = *why;
}

bool rung_proposals_deliver(rung_proposals *p, size_t max, rung_log_delivery *out) {
    bool is_committed = p->head < p->committed;
    p->freed = p->head; /* what was lent comes back */
    size_t count = piece(p, p->head, is_committed ? p->committed : p->settled);
    count = count < max ? count : max;
    if (count == 0)
        return false;
    out->outcome = is_committed ? RUNG_LOG_COMMITTED : p->outcome;
    out->count = count;
    out->entries = &p->entries[index_of(p, p->head)];
    out->first_seq = is_committed ? p->next_seq : 0;
    if (!is_committed)
        out->why = p->why;
    p->next_seq += is_committed ? count : 0;
    p->head += count;
    return true;
}
