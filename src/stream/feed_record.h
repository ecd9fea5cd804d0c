/* SPDX-License-Identifier: Apache-2.0 */
/* feed_record.h - changes as records of the change feed (docs/feed.md). Private to the room.
 *
 *     rung__feed_writer w = {.alloc = a, .boards = "race-*", .emit = emit, .ctx = ctx};
 *     rung__feed_write_change(&w, &change);       // from the state's on_change
 *     rung__feed_write_close(&w, board, &view);   // from its on_close
 *     rung__feed_write_end(&w);                   // the events so far are complete
 *
 * The changes of one event to one player's entries on one board are one record, which lists the windows. A record's
 * position is its event's number and its own within the event: any server makes the same records from the same log. */
#ifndef RUNG_STREAM_FEED_RECORD_H
#define RUNG_STREAM_FEED_RECORD_H

#include "codec/json_writer.h"
#include "state/state.h"

/* All of an event's records: the position of a progress record. */
#define RUNG__FEED_ALL UINT32_MAX

typedef struct rung__feed_position {
    uint64_t seq;
    uint32_t n;
} rung__feed_position;

static inline bool rung__feed_is_after(rung__feed_position a, rung__feed_position b) {
    return a.seq != b.seq ? a.seq > b.seq : a.n > b.n;
}

typedef struct rung__feed_record {
    rung__feed_position position;
    bool is_for_all; /* partitions; otherwise for the one of `key` */
    rung_slice key;  /* the player */
    rung_slice json;
} rung__feed_record;

typedef struct rung__feed_writer {
    const rung_alloc *alloc;
    const char *boards; /* patterns with commas between; NULL or empty: every board */
    /* A record is complete; valid during the call. */
    void (*emit)(void *ctx, const rung__feed_record *record);
    /* A record of this event was lost, for lack of memory. */
    void (*lose)(void *ctx, uint64_t seq);
    void *ctx;
    /* private */
    rung_json_writer json;
    rung__feed_position next;
    bool is_open, is_changed; /* a record of windows is being written */
    rung_change first;        /* its first window; names in `board` and `player` */
    char board[RUNG_NAME_MAX], player[RUNG_NAME_MAX], season[RUNG_NAME_MAX];
} rung__feed_writer;

void rung__feed_write_change(rung__feed_writer *w, const rung_change *change);
void rung__feed_write_close(rung__feed_writer *w, rung_slice board, const rung_view *view);
void rung__feed_write_end(rung__feed_writer *w);
void rung__feed_writer_deinit(rung__feed_writer *w);

/* The publisher's own records, into `json`, which is emptied first: everything up to `seq` is published; the changes
 * from .. to are not in the feed. */
void rung__feed_write_progress(rung_json_writer *json, uint64_t seq, int64_t at_ms);
void rung__feed_write_gap(rung_json_writer *json, uint64_t from, uint64_t to);

/* The position of a record that was read back. RUNG_OK or RUNG_ECORRUPT: not a record of a feed. Unescapes in
 * `json`. */
RUNG_NODISCARD rung_status rung__feed_record_read(char *json, size_t len, rung__feed_position *out,
                                                  rung_err *err);

#endif
