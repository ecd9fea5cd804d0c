/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a submission to a few boards: refused with a reason, or an event that the log takes. */
#include "base/assert.h"
#include "front/api/submission.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static rung_board_def board(unsigned choice) {
    rung_board_def def = rung_board_def_default();
    def.key.columns[0].type = (rung_score_type)(choice % 3);
    def.key.columns[0].decimals = choice % 3 == RUNG_SCORE_DECIMAL ? 3 : 0;
    if (choice & 4) {
        def.key.column_count = 3;
        def.key.columns[1] = (rung_column){.type = RUNG_SCORE_REAL};
        def.column_names[0] = RUNG_SLICE("a");
        def.column_names[1] = RUNG_SLICE("b");
    }
    return def;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static rung_json reader;
    static rung_event event;
    rung_slot slots[SCORE_FIELDS];
    rung_err err = {0};
    if (size == 0)
        return 0;
    rung_board_def def = board(data[0]);
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    rung_status st =
        rung_submission_read(&rung_submission_schema, text, size - 1, &reader, slots, &err);
    if (st >= 0)
        st = rung_submission_fill(slots, RUNG_SLICE("b"), &def, &reader, &event, &err);
    RUNG_ASSERT(st >= 0 || err.message[0]);
    event.ts_ms = 1;
    if (st >= 0 && rung_event_check(&event, &err) < 0)
        RUNG_ASSERT(err.message[0]); /* names, metas and times are its business */
    free(text);
    return 0;
}
