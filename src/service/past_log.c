/* SPDX-License-Identifier: Apache-2.0 */
/* A read-only view of a log that somebody else writes.
 *
 * Invariants:
 *   P1  What looks like damage is looked at again, several times, before it is reported: the writer may have been in
 *       the middle of a change, or removed what the view still lists.
 *   P2  Sequences never change, so that a reader goes on where it was after another look. */
#define _GNU_SOURCE
#include "service/past_log.h"

#include "journal/folder.h"
#include "journal/segment_log.h"
#include "service/applier.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    TRIES = 10,
    PAUSE_MS = 20,
    FIND_RECORDS = 256, /* per read while looking for a time */
    NEAR = 65536,       /* so many records of a topic are read one after the other */
    SKEW_MS = 600000,   /* between the clocks of servers that share a log */
};

struct rung_past_log {
    rung_past_log_config config;
    rung_log *log;              /* config.log, or of: */
    rung_segment_log *segments; /* NULL: the log is elsewhere */
    rung_dir dir;               /* of its own if the log is elsewhere */
    rung_log_cursor *cursor;    /* NULL: to be opened at next_seq */
    uint64_t next_seq;
    uint8_t id[RUNG_LOG_ID_SIZE]; /* must stay the same */
};

static const rung_fs *fs_of(const rung_past_log *p) {
    return p->config.fs ? p->config.fs : rung_fs_posix();
}

static void pause(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

static void leave(rung_past_log *p) {
    rung_log_cursor_close(p->cursor);
    p->cursor = NULL;
    if (p->segments)
        rung_ignore(rung_segment_log_close(p->segments, NULL), "it was only read");
    p->segments = NULL;
    if (!p->config.log)
        p->log = NULL;
}

/* ---- opening ---- */

static rung_status look(rung_past_log *p, rung_err *err) {
    rung_segment_log_config config = {
        .fs = fs_of(p), .alloc = p->config.alloc, .path = p->config.path, .is_read_only = true};
    rung_status st = rung_segment_log_open(&config, &p->segments, err);
    for (int tries = 1; st == RUNG_ECORRUPT && tries < TRIES; tries++) { /* P1 */
        pause();
        st = rung_segment_log_open(&config, &p->segments, err);
    }
    if (st < 0) {
        p->segments = NULL;
        return st;
    }
    p->log = rung_segment_log_port(p->segments);
    return RUNG_OK;
}

static rung_status check_elsewhere(const rung_dir *dir, rung_err *err) {
    char text[2 * RUNG_LOG_ID_SIZE + 2];
    size_t got;
    if (rung_file_read_small(dir, RUNG_FOLDER_LOG_ID, text, sizeof text - 1, &got, NULL) == RUNG_OK)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "folder %.150s has the snapshots of a log that is elsewhere: say where",
                         dir->path);
    return RUNG_FAIL(err, RUNG_EABSENT, "folder %.180s has no log", dir->path);
}

static rung_status open_own(rung_past_log *p, rung_err *err) {
    rung_status st = look(p, err);
    if (st < 0)
        return st;
    if (rung_past_log_last(p) == 0 && rung_segment_log_stat(p->segments).segment_count == 0)
        return check_elsewhere(rung_segment_log_dir(p->segments), err);
    memcpy(p->id, rung_log_id(p->log), sizeof p->id);
    return RUNG_OK;
}

/* The folder must have the snapshots of this very log, or none yet. */
static rung_status open_elsewhere(rung_past_log *p, rung_err *err) {
    char found[2 * RUNG_LOG_ID_SIZE + 2] = "", ours[2 * RUNG_LOG_ID_SIZE + 1];
    size_t got;
    p->log = p->config.log;
    memcpy(p->id, rung_log_id(p->log), sizeof p->id);
    rung_status st = rung_dir_open(&p->dir, fs_of(p), p->config.path, false, err);
    if (st < 0)
        return st;
    for (size_t i = 0; i < RUNG_LOG_ID_SIZE; i++)
        snprintf(ours + 2 * i, 3, "%02x", p->id[i]);
    st = rung_file_read_small(&p->dir, RUNG_FOLDER_LOG_ID, found, sizeof found - 1, &got, err);
    if (st == RUNG_OK && strcmp(found, ours) != 0)
        return RUNG_FAIL(err, RUNG_EREFUSED, "folder %.150s belongs to another log", p->dir.path);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_past_log_open(const rung_past_log_config *config, rung_past_log **log_out,
                               rung_err *err) {
    rung_past_log *p = rung_alloc_zeroed(config->alloc, sizeof *p);
    if (!p)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    p->config = *config;
    p->next_seq = 1;
    rung_status st = config->log ? open_elsewhere(p, err) : open_own(p, err);
    if (st < 0) {
        rung_past_log_close(p);
        return st;
    }
    *log_out = p;
    return RUNG_OK;
}

void rung_past_log_close(rung_past_log *p) {
    if (!p)
        return;
    leave(p);
    rung_dir_close(&p->dir);
    rung_alloc_free(p->config.alloc, p, sizeof *p);
}

const rung_dir *rung_past_log_dir(const rung_past_log *p) {
    return p->segments ? rung_segment_log_dir(p->segments) : &p->dir;
}

const uint8_t *rung_past_log_id(const rung_past_log *p) {
    return p->id;
}

uint64_t rung_past_log_first(const rung_past_log *p) {
    return p->log ? rung_log_first_seq(p->log) : 1;
}

uint64_t rung_past_log_last(const rung_past_log *p) {
    return p->log ? rung_log_durable_seq(p->log) : 0;
}

rung_status rung_past_log_refresh(rung_past_log *p, rung_err *err) {
    if (!p->segments)
        return RUNG_OK; /* its cursors look for themselves */
    leave(p);
    rung_status st = look(p, err);
    if (st == RUNG_OK && memcmp(p->id, rung_log_id(p->log), sizeof p->id) != 0)
        st = RUNG_FAIL(err, RUNG_EREFUSED, "folder %.150s was replaced by one of another log",
                       p->config.path);
    return st;
}

/* ---- reading ---- */

void rung_past_log_seek(rung_past_log *p, uint64_t from) {
    if (p->cursor && p->next_seq == from)
        return;
    rung_log_cursor_close(p->cursor);
    p->cursor = NULL;
    p->next_seq = from;
}

static rung_status try_read(rung_past_log *p, rung_log_record *records, size_t max,
                            size_t *count_out, rung_err *err) {
    if (!p->cursor) {
        rung_status st = rung_log_cursor_open(p->log, p->next_seq, &p->cursor, err);
        if (st < 0) {
            p->cursor = NULL;
            return st;
        }
    }
    return rung_log_cursor_read(p->cursor, records, max, count_out, err);
}

rung_status rung_past_log_read(rung_past_log *p, rung_log_record *records, size_t max,
                               size_t *count_out, rung_err *err) {
    rung_status st = RUNG_EIO;
    bool has_looked = false;
    for (int tries = 0; tries < TRIES; tries++) {
        st = p->log ? try_read(p, records, max, count_out, err)
                    : RUNG_FAIL(err, RUNG_EIO, "the folder cannot be read");
        if (st == RUNG_OK) {
            p->next_seq = records[*count_out - 1].seq + 1;
            return st;
        }
        bool may_change = st == RUNG_ECORRUPT || st == RUNG_ESTALE || st == RUNG_NOT_FOUND;
        if (!p->segments || !may_change || (has_looked && st != RUNG_ECORRUPT))
            return st;
        if (has_looked)
            pause(); /* P1 */
        rung_status seen = rung_past_log_refresh(p, err);
        if (seen < 0)
            return seen;
        has_looked = true;
    }
    return st;
}

/* ---- times ---- */

/* The time of the first event at or after `from`, and its sequence; RUNG_NOT_FOUND: there is none. With `after`, of the
 * first one that is later than that. */
static rung_status find_event(rung_past_log *p, uint64_t from, const int64_t *after,
                              uint64_t *seq_out, int64_t *time_out, rung_err *err) {
    rung_log_record records[FIND_RECORDS];
    size_t count, max = after ? FIND_RECORDS : 16;
    rung_event event;
    rung_past_log_seek(p, from);
    for (;;) {
        rung_status st = rung_past_log_read(p, records, max, &count, err);
        if (st != RUNG_OK)
            return st;
        for (size_t i = 0; i < count; i++) {
            if (records[i].type != RUNG_LOG_TYPE_EVENT)
                continue;
            st = rung_event_decode(records[i].payload, &event, err);
            if (st < 0)
                return st;
            if (after && event.ts_ms <= *after)
                continue;
            *seq_out = records[i].seq;
            *time_out = event.ts_ms;
            return RUNG_OK;
        }
    }
}

rung_status rung_past_log_time(rung_past_log *p, uint64_t seq, int64_t *time_ms_out,
                               rung_err *err) {
    uint64_t at;
    return find_event(p, seq, NULL, &at, time_ms_out, err);
}

/* Places between which to look: segments, or pieces of a topic. */
static uint64_t piece_count(const rung_past_log *p, uint64_t first, uint64_t last) {
    return p->segments ? rung_segment_log_segments(p->segments, NULL, 0)
                       : (last - first) / NEAR + 1;
}

static rung_status find_in(rung_past_log *p, const uint64_t *starts, uint64_t first, uint64_t count,
                           int64_t time_ms, uint64_t *from_out, rung_err *err) {
    uint64_t low = 0, high = count; /* the last piece that begins at time_ms or before it */
    *from_out = starts ? starts[0] : first;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, at;
        uint64_t start = starts ? starts[middle] : first + middle * NEAR;
        int64_t found_ms;
        rung_status st = find_event(p, start, NULL, &at, &found_ms, err);
        if (st < 0)
            return st;
        if (st == RUNG_NOT_FOUND || found_ms > time_ms) {
            high = middle;
        } else {
            *from_out = start;
            low = middle + 1;
        }
    }
    return RUNG_OK;
}

/* Where to begin to read for the first event after `time_ms`. */
static rung_status find_piece(rung_past_log *p, int64_t time_ms, uint64_t *from_out,
                              rung_err *err) {
    const rung_alloc *a = p->config.alloc;
    uint64_t first = rung_past_log_first(p), last = rung_past_log_last(p), *starts = NULL;
    uint64_t count = piece_count(p, first, last);
    if (!p->segments)
        return find_in(p, NULL, first, count, time_ms - SKEW_MS, from_out, err);
    size_t size = count * sizeof(rung_segment_info);
    rung_segment_info *infos = rung_alloc_get(a, size);
    starts = rung_alloc_get(a, count * sizeof *starts);
    rung_status st = RUNG_OK;
    if (!infos || !starts)
        st = RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_OK) {
        rung_segment_log_segments(p->segments, infos, count);
        for (uint64_t i = 0; i < count; i++)
            starts[i] = infos[i].first_seq;
        st = find_in(p, starts, first, count, time_ms, from_out, err);
    }
    rung_alloc_free(a, starts, count * sizeof *starts);
    rung_alloc_free(a, infos, size);
    return st;
}

rung_status rung_past_log_find(rung_past_log *p, int64_t time_ms, uint64_t *seq_out,
                               rung_err *err) {
    uint64_t from = 0, at = 0;
    int64_t found_ms = 0;
    rung_status st = RUNG_OK;
    for (int tries = 0; tries < TRIES; tries++) {
        uint64_t first = rung_past_log_first(p), last = rung_past_log_last(p);
        if (first > last) {
            *seq_out = last;
            return RUNG_OK;
        }
        st = find_piece(p, time_ms, &from, err);
        if (st == RUNG_OK)
            st = find_event(p, from, &time_ms, &at, &found_ms, err);
        if (st == RUNG_OK)
            *seq_out = at - 1;
        if (st == RUNG_NOT_FOUND)
            *seq_out = p->next_seq - 1;
        if (st != RUNG_ESTALE) /* otherwise the oldest segment was removed meanwhile */
            break;
    }
    return st < 0 ? st : RUNG_OK;
}
