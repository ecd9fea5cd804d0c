/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a match: refused with a reason, or an event that encodes and decodes to the same players. */
#include "base/assert.h"
#include "codec/match_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_event(const rung_match_event *match) {
    static uint8_t bytes[RUNG_EVENT_BYTES_MAX];
    static rung_event event, again;
    size_t length;
    event = (rung_event){.kind = RUNG_EVENT_MATCH, .ts_ms = 1, .match = *match};
    event.match.board = RUNG_SLICE("b");
    if (rung_event_encode(&event, bytes, sizeof bytes, &length) < 0)
        return; /* ids and times are its business */
    RUNG_ASSERT(rung_event_decode(rung_slice_of(bytes, length), &again, NULL) == RUNG_OK);
    RUNG_ASSERT(rung_slice_eq(again.match.packed, match->packed));
    RUNG_ASSERT(again.match.player_count == match->player_count);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static rung_json reader;
    static uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_match_event match;
    rung_err err = {0};
    if (size == 0)
        return 0;
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    rung_status st = rung_match_json_read(data[0] & 1 ? &rung_match_schema : &rung_lineup_schema,
                                          text, size - 1, &reader, packed, &match, &err);
    RUNG_ASSERT(st >= 0 || err.message[0]);
    if (st >= 0)
        check_event(&match);
    free(text);
    return 0;
}
