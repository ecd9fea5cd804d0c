/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a time: refused, or within the supported years and the same after being written and read again. */
#include "base/assert.h"
#include "model/calendar.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    int64_t at_ms, again_ms;
    if (rung_time_parse(rung_slice_of(data, size), &at_ms, NULL) != RUNG_OK)
        return 0;
    RUNG_ASSERT(at_ms >= RUNG_TIME_MS_MIN && at_ms < RUNG_TIME_MS_END);
    char text[RUNG_TIME_TEXT_MAX];
    size_t len = rung_time_format(at_ms, text);
    rung_status st = rung_time_parse(rung_slice_of(text, len), &again_ms, NULL);
    RUNG_ASSERT(st == RUNG_OK && again_ms == at_ms);
    return 0;
}
