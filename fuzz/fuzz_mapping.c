/* SPDX-License-Identifier: Apache-2.0 */
/* A mapping and a record: lines of expressions (board, player, score, delta, at, id, meta, columns; an empty one is
 * left out), then the record. Whatever is mapped can be made an event, or is refused with a field. */
#include "stream/mapping.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 8 };

static rung_slice take_line(rung_slice *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    rung_slice line = rung_slice_of(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
    size_t taken = line.len + (end != NULL);
    *rest = rung_slice_of(rest->ptr + taken, rest->len - taken);
    return line;
}

static rung_status set(rung_mapping *m, rung_slice *rest, rung_err *err) {
    rung_status st = RUNG_OK;
    for (int i = 0; i < LINES && st == RUNG_OK; i++) {
        rung_slice line = take_line(rest);
        if (line.len)
            st = i < RUNG_MAP_COLUMN ? rung_mapping_set(m, (rung_map_target)i, line, err)
                                     : rung_mapping_set_columns(m, line, err);
    }
    return st < 0 ? st : rung_mapping_check(m, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static rung_json reader;
    static uint8_t bytes[4096 + RUNG_EVENT_META_MAX];
    rung_slice rest = rung_slice_of(data, size);
    rung_mapping m = {0};
    rung_mapped mapped;
    rung_event event = {.ts_ms = 1};
    rung_err err = {0};
    rung_board_def def = rung_board_def_default();
    def.key.column_count = 2;
    def.key.columns[1] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_ASC, 0};
    def.column_names[0] = RUNG_SLICE("time");
    if (set(&m, &rest, &err) < 0)
        return 0;
    char *text = malloc(rest.len + 1);
    if (!text)
        abort();
    if (rest.len)
        memcpy(text, rest.ptr, rest.len);
    rung_map_record record = {
        .text = text, .len = rest.len, .key = RUNG_SLICE("key"), .timestamp_ms = 1};
    rung_status st = rung_mapping_read(&m, &record, &reader, &mapped, &err);
    if (st < 0 && err.reason != RUNG_REASON_MALFORMED && !err.field[0])
        abort(); /* it is not said what is wrong */
    if (st == RUNG_OK) {
        size_t length;
        st = rung_mapping_fill(&m, &mapped, &def, &event, &err);
        if (st < 0 && !err.field[0])
            abort();
        if (st == RUNG_OK && rung_event_encode(&event, bytes, sizeof bytes, &length) == RUNG_OK &&
            rung_event_decode(rung_slice_of(bytes, length), &event, NULL) != RUNG_OK)
            abort();
    }
    free(text);
    return 0;
}
