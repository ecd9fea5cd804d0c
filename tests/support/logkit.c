/* SPDX-License-Identifier: Apache-2.0 */
#include "support/logkit.h"

#include "support/check.h"
#include "support/rng.h"

#include <string.h>

rung_slice logkit_payload_into(uint64_t seq, char out[LOGKIT_PAYLOAD_MAX]) {
    uint64_t state = seq;
    size_t len = (size_t)(rung_splitmix64(&state) % 90);
    if (seq % 16 == 0)
        len = 40 + (size_t)(rung_splitmix64(&state) % 2360);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = rung_splitmix64(&state) | 0x0101010101010101u;
        memcpy(out + i, &word, 8);
    }
    return rung_slice_of(out, len);
}

rung_slice logkit_payload(uint64_t seq) {
    static _Thread_local char bytes[LOGKIT_PAYLOAD_MAX];
    return logkit_payload_into(seq, bytes);
}

uint16_t logkit_type(uint64_t seq) {
    return (uint16_t)(seq * 7 + 1);
}

rung_segment_log_config logkit_config(rung_memfs *fs, uint64_t segment_size) {
    return (rung_segment_log_config){
        .fs = &fs->port,
        .alloc = rung_alloc_heap(),
        .path = LOGKIT_PATH,
        .segment_size = segment_size ? segment_size : RUNG_SEGMENT_SIZE_MIN,
        .mark_every = 4,
    };
}

rung_status logkit_open(const rung_segment_log_config *config, bool start,
                        rung_segment_log **log_out, rung_err *err) {
    rung_segment_log *log;
    rung_status st = rung_segment_log_open(config, &log, err);
    if (st < 0)
        return st;
    if (start)
        st = rung_segment_log_start(log, err);
    if (st < 0) {
        rung_segment_log_close(log, NULL);
        return st;
    }
    *log_out = log;
    return RUNG_OK;
}

rung_status logkit_append(rung_segment_log *log, uint64_t seq, size_t count, rung_err *err) {
    rung_log_entry entries[LOGKIT_BATCH_MAX];
    CHECK(count <= LOGKIT_BATCH_MAX);
    char bytes[LOGKIT_BATCH_MAX]
              [LOGKIT_PAYLOAD_MAX]; /* on the stack: a hook may append to another log meanwhile */
    for (size_t i = 0; i < count; i++)
        entries[i] = (rung_log_entry){.payload = logkit_payload_into(seq + i, bytes[i]),
                                      .type = logkit_type(seq + i)};
    uint64_t first = 0, durable = 0;
    rung_status st = rung_segment_log_append(log, entries, count, &first, err);
    if (st < 0)
        return st;
    CHECK_EQ_U64(first, seq);
    st = rung_segment_log_sync(log, &durable, err);
    if (st < 0)
        return st;
    CHECK_EQ_U64(durable, seq + count - 1);
    return RUNG_OK;
}

rung_status logkit_read(rung_segment_log *log, uint64_t *first_out, uint64_t *last_out,
                        rung_err *err) {
    uint64_t first = rung_segment_log_stat(log).first_seq, next = first;
    rung_log_cursor *cursor;
    rung_status st = rung_log_cursor_open(rung_segment_log_port(log), first, &cursor, err);
    if (st < 0)
        return st;
    for (;;) {
        rung_log_record records[32];
        size_t count;
        st = rung_log_cursor_read(cursor, records, 32, &count, err);
        if (st != RUNG_OK)
            break;
        CHECK(count > 0);
        for (size_t i = 0; i < count; i++, next++) {
            rung_slice want = logkit_payload(next);
            CHECK_EQ_U64(records[i].seq, next);
            CHECK_EQ_U64(records[i].type, logkit_type(next));
            CHECK(rung_slice_eq(records[i].payload, want));
        }
    }
    rung_log_cursor_close(cursor);
    *first_out = first;
    *last_out = next - 1;
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

void logkit_abandon(rung_memfs *fs, rung_segment_log *log) {
    fs->is_frozen = true;
    rung_segment_log_close(log, NULL);
    fs->is_frozen = false;
}
