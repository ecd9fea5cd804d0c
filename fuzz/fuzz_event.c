/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an event and as a board's definition: refused, or valid and the only spelling of what they say. */
#include "base/assert.h"
#include "model/event.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static unsigned char again[RUNG_EVENT_BYTES_MAX];

static void check_encoding(const rung_event *event, rung_slice bytes) {
    size_t length = 0;
    RUNG_ASSERT(rung_event_check(event, NULL) == RUNG_OK);
    rung_status st = rung_event_encode(event, again, sizeof again, &length);
    RUNG_ASSERT(st == RUNG_OK);
    RUNG_ASSERT(rung_slice_eq(bytes, rung_slice_of(again, length)));
}

static void check_event(rung_slice bytes) {
    static rung_event event;
    if (rung_event_decode(bytes, &event, NULL) != RUNG_OK)
        return;
    check_encoding(&event, bytes);
    rung_status st = rung_event_decode_own(bytes, &event, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    check_encoding(&event, bytes);
}

static void check_def(rung_slice bytes) {
    static rung_board_def def;
    size_t length = 0;
    if (rung_board_def_decode(bytes, &def, NULL) != RUNG_OK)
        return;
    RUNG_ASSERT(rung_board_def_check(&def, NULL) == RUNG_OK);
    rung_status st = rung_board_def_encode(&def, again, sizeof again, &length);
    RUNG_ASSERT(st == RUNG_OK);
    RUNG_ASSERT(rung_slice_eq(bytes, rung_slice_of(again, length)));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    check_event(rung_slice_of(data, size));
    check_def(rung_slice_of(data, size));
    return 0;
}
