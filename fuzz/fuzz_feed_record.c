/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a record of the change feed, as a publisher reads them back from a topic: a position, or refused with a
 * reason. What the writer makes of the position reads back as the same. */
#include "base/assert.h"
#include "stream/feed_record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    rung__feed_position p, again;
    rung_err err = {0};
    char *copy = malloc(size + 1), room[256];
    memcpy(copy, data, size);
    rung_status st = rung__feed_record_read(copy, size, &p, &err);
    free(copy);
    RUNG_ASSERT(st == RUNG_OK || (st == RUNG_ECORRUPT && err.message[0]));
    if (st < 0)
        return 0;
    rung_json_writer w = {.data = room, .size = sizeof room};
    rung__feed_write_progress(&w, p.seq, 0);
    RUNG_ASSERT(!rung_json_failed(&w));
    st = rung__feed_record_read(w.data, w.len, &again, &err);
    RUNG_ASSERT(st == RUNG_OK && again.seq == p.seq && again.n == RUNG__FEED_ALL);
    return 0;
}
