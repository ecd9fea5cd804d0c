/* SPDX-License-Identifier: Apache-2.0 */
/* lagging_log.h - a log on memfs that says that other nodes write to it, too, and where it ends: for what a node does
 * that is behind.
 *
 *     rung_log *log = lagging_log_open(&fs, "topic");   // open, not started: for rung_hub_config.log
 *     lagging_log_end_seq = 500;                        // from now on
 *
 * One at a time in a process. Header-only. */
#ifndef RUNG_TESTS_LAGGING_LOG_H
#define RUNG_TESTS_LAGGING_LOG_H

#include "journal/segment_log.h"
#include "support/check.h"
#include "support/memfs.h"

static uint64_t lagging_log_end_seq;

static inline rung_log_stats lagging_log_stat(rung_log *log) {
    rung_log_stats s = {.end_seq = rung_log_durable_seq(log)};
    if (s.end_seq < lagging_log_end_seq)
        s.end_seq = lagging_log_end_seq;
    return s;
}

static inline rung_status lagging_log_end(rung_log *log, uint64_t *ticket, uint64_t *seq_out,
                                         rung_err *err) {
    (void)ticket, (void)err;
    *seq_out = lagging_log_stat(log).end_seq;
    return RUNG_OK;
}

static inline rung_log *lagging_log_open(rung_memfs *fs, const char *path) {
    static rung_log_ops ops;
    rung_segment_log_config config = {.fs = &fs->port,
                                      .alloc = rung_alloc_heap(),
                                      .path = path,
                                      .segment_size = 1 << 20,
                                      .writer = {.is_inline = true}};
    rung_segment_log *segments;
    CHECK_OK(rung_segment_log_open(&config, &segments, NULL));
    rung_log *log = rung_segment_log_port(segments);
    ops = *log->ops;
    ops.end = lagging_log_end;
    ops.stat = lagging_log_stat;
    log->ops = &ops;
    return log;
}

#endif
