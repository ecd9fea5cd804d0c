/* SPDX-License-Identifier: Apache-2.0 */
/* feed_ring.h - the newest records of the change feed in memory of a fixed size. Private to the room.
 *
 * The oldest make room for new ones, whether they were read or not. A reader notices that what it wanted is gone, and
 * makes it again from the log (feed_replay.h). Threads: one at a time; feed.c has the lock. */
#ifndef RUNG_STREAM_FEED_RING_H
#define RUNG_STREAM_FEED_RING_H

#include "base/alloc.h"
#include "stream/feed_record.h"

typedef struct rung__feed_ring { /* private, but for head and first_seq */
    char *bytes;
    size_t size; /* a power of two */
    uint64_t head, tail;
    uint64_t first_seq; /* the ring has every record of the events from here on */
} rung__feed_ring;

/* `size` is rounded up to a power of two. Records of events from first_seq on will be added. */
RUNG_NODISCARD rung_status rung__feed_ring_init(rung__feed_ring *r, const rung_alloc *alloc,
                                                size_t size, uint64_t first_seq);
void rung__feed_ring_deinit(rung__feed_ring *r, const rung_alloc *alloc);

void rung__feed_ring_add(rung__feed_ring *r, const rung__feed_record *record);
/* The records up to this event are not complete. */
void rung__feed_ring_forget(rung__feed_ring *r, uint64_t seq);

/* Has something been lost that a reader at `place` has not passed? Of an event of which it has passed a part, too. */
static inline bool rung__feed_ring_has_lost(const rung__feed_ring *r, uint64_t place) {
    return place < r->head;
}
/* The record at *place, or after it the next one; *place begins at `head` and moves on with rung__feed_ring_pass().
 * False at the end. Borrowed until the ring changes. */
bool rung__feed_ring_look(const rung__feed_ring *r, uint64_t *place, rung__feed_record *out);
void rung__feed_ring_pass(const rung__feed_ring *r, uint64_t *place);

#endif
