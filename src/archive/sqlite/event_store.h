/* SPDX-License-Identifier: Apache-2.0 */
/* event_store.h - score events in the SQLite file: packed blocks in order of the log, and runs of an index over them.
 *
 * A row per event with its indexes would cost more than everything else the archive does. So events are packed, some
 * thousand to a block (event_block.h); the last block is replaced until it is full. Which blocks have a player or a
 * board is found in sorted runs of hashes (event_run.h): one for every RUNG_EVENT_RUN_BLOCKS blocks, and
 * RUNG_EVENT_RUN_FAN of them are merged into one. Blocks too young to be in a run are simply read.
 *
 *     rung_event_store_add(s, &score); ... rung_event_store_flush(s);      // in a transaction
 *
 *     rung_event_store_find(s, &filter, &spans, &count);                   // blocks that may have matching events
 *     rung_event_store_open(s, spans[i].block);
 *     while (rung_event_store_next(s, &filter, &score) == SQLITE_ROW) ...
 *
 * Functions return SQLite's codes; rung_event_store_why() says more. A damaged block is SQLITE_CORRUPT.
 * Threads: one at a time, as the connection. */
#ifndef RUNG_ARCHIVE_SQLITE_EVENT_STORE_H
#define RUNG_ARCHIVE_SQLITE_EVENT_STORE_H

#include "archive/sqlite/event_block.h"
#include "service/archive_port.h"

#ifdef RUNG_TEST_BUILD
#define RUNG_EVENT_RUN_BLOCKS 4u
#define RUNG_EVENT_RUN_FAN    3u
#else
#define RUNG_EVENT_RUN_BLOCKS 8u
#define RUNG_EVENT_RUN_FAN    8u
#endif

/* Heap object. Release it with rung_event_store_destroy(). */
typedef struct rung_event_store rung_event_store;
struct sqlite3;

/* NULL: out of memory. Nothing is read yet. The connection must outlive it. */
rung_event_store *rung_event_store_create(struct sqlite3 *db, const rung_alloc *alloc);
void rung_event_store_destroy(rung_event_store *s); /* accepts NULL */
/* More about the last failure; "" if SQLite's message says it all. */
const char *rung_event_store_why(const rung_event_store *s);

/* ---- changes, within a transaction ---- */

/* In order of (seq, part). Not visible before flush. */
int rung_event_store_add(rung_event_store *s, const rung_archive_score *score);
int rung_event_store_flush(rung_event_store *s);
/* After a rollback: forget what was added. */
void rung_event_store_reset(rung_event_store *s);
/* Remove all events of a player, and the traces of the name in the index. */
int rung_event_store_erase(rung_event_store *s, rung_slice player);
/* Remove up to `max` blocks whose events were all received before. *count_out: how many were removed. */
int rung_event_store_expire(rung_event_store *s, int64_t before_ms, uint32_t max,
                            uint32_t *count_out);

/* ---- queries ---- */

typedef struct rung_event_filter {
    rung_slice board, player; /* empty: any */
    int64_t from_ms, to_ms;   /* at: both included */
    uint64_t from_seq, to_seq;
} rung_event_filter;
#define RUNG_EVENT_FILTER_ALL                                                                      \
    { .from_ms = INT64_MIN, .to_ms = INT64_MAX, .to_seq = UINT64_MAX }

typedef struct rung_event_span {
    uint32_t block;
    int64_t min_at_ms, max_at_ms;
} rung_event_span;

/* Blocks that may have matching events, ascending. Valid until the next call. */
int rung_event_store_find(rung_event_store *s, const rung_event_filter *f,
                          rung_event_span **spans_out, uint32_t *count_out);
int rung_event_store_open(rung_event_store *s, uint32_t block);
/* No block is open: next returns SQLITE_DONE. */
void rung_event_store_rewind(rung_event_store *s);
/* SQLITE_ROW: the next matching event of the block; its texts are valid until the next open. SQLITE_DONE. */
int rung_event_store_next(rung_event_store *s, const rung_event_filter *f, rung_archive_score *out);
/* Read every block. SQLITE_OK, or SQLITE_CORRUPT with the first finding. */
int rung_event_store_check(rung_event_store *s);

#endif
