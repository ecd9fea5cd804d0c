/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_load.h - load the newest intact snapshot of a folder into a sink, as a server does when it starts. */
#ifndef RUNG_TEST_SNAPSHOT_LOAD_H
#define RUNG_TEST_SNAPSHOT_LOAD_H

#include "journal/snapshot_file.h"

#include <stdio.h>

/* Receives a load. `begin` starts over; it may be called twice, since a damaged snapshot is detected late. `end` may
 * return RUNG_ECORRUPT if the digest does not match the state. Any other failure ends the load. */
typedef struct snapshot_sink {
    void *ctx;
    rung_status (*begin)(void *ctx, uint64_t seq);
    rung_status (*feed)(void *ctx, const void *bytes, size_t len);
    rung_status (*end)(void *ctx, const rung_snapshot_info *info);
    void (*say)(
        void *ctx,
        const char *line); /* one line for the operator when one is passed over; may be NULL */
} snapshot_sink;

static inline rung_status snapshot_load_one(const rung_dir *dir, const rung_alloc *alloc,
                                            const uint8_t *uuid, uint64_t seq,
                                            const snapshot_sink *sink, rung_snapshot_info *info_out,
                                            rung_err *err) {
    rung_snapshot_reader *r;
    rung_status st = rung_snapshot_reader_open(dir, alloc, uuid, seq, &r, err);
    if (st != RUNG_OK)
        return st == RUNG_NOT_FOUND ? RUNG_FAIL(err, RUNG_ECORRUPT, "the file is missing") : st;
    st = sink->begin(sink->ctx, seq);
    if (st < 0)
        RUNG_FAIL(err, st, "the state refused to begin: %s", rung_status_text(st));
    while (st >= 0) {
        const void *bytes = NULL;
        size_t len = 0;
        st = rung_snapshot_reader_next(r, &bytes, &len, err);
        if (st != RUNG_OK)
            break;
        st = sink->feed(sink->ctx, bytes, len);
        if (st < 0)
            RUNG_FAIL(err, st, "the state refused the content: %s", rung_status_text(st));
    }
    if (st == RUNG_NOT_FOUND) {
        rung_snapshot_info info = rung_snapshot_reader_info(r);
        st = sink->end(sink->ctx, &info);
        if (st < 0)
            RUNG_FAIL(err, st, "the digest is not that of the state: %s", rung_status_text(st));
        else
            *info_out = info;
    }
    rung_snapshot_reader_close(r);
    return st;
}

/* Feed the newest intact snapshot that is not newer than `seq_max`. RUNG_NOT_FOUND: there is none; RUNG_ECORRUPT: all
 * are damaged. */
static inline rung_status snapshot_load(const rung_dir *dir, const rung_alloc *alloc,
                                        const uint8_t uuid[RUNG_UUID_SIZE], uint64_t seq_max,
                                        const snapshot_sink *sink, rung_snapshot_info *info_out,
                                        rung_err *err) {
    uint64_t seqs[16];
    size_t count = 0;
    rung_status st = rung_snapshot_list(dir, seqs, 16, &count, err);
    if (st < 0)
        return st;
    rung_snapshot_compare_manifest(dir, uuid, seqs, count, sink->say, sink->ctx);
    st = RUNG_NOT_FOUND;
    for (size_t i = 0; i < count; i++) {
        if (seqs[i] > seq_max)
            continue;
        rung_err detail = {0};
        st = snapshot_load_one(dir, alloc, uuid, seqs[i], sink, info_out, &detail);
        if (st >= 0)
            return RUNG_OK;
        if (err)
            *err = detail;
        if (st != RUNG_ECORRUPT)
            return st;
        char name[RUNG_FILE_NAME_MAX], line[400];
        rung_snapshot_name(name, seqs[i]);
        snprintf(line, sizeof line, "%s: %s", name, detail.message);
        if (sink->say)
            sink->say(sink->ctx, line);
    }
    return st;
}

#endif
