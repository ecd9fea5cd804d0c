/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/envelope.h"

#include "base/bytes.h"

#include <string.h>

static const char magic[4] = {'R', 'G', 'K', '1'};

void rung__envelope_encode(const rung__envelope *e, uint8_t out[RUNG__ENVELOPE_SIZE]) {
    memcpy(out, magic, sizeof magic);
    rung_put16(out + 4, e->type);
    rung_put16(out + 6, 0);
    memcpy(out + 8, e->log_id, RUNG_LOG_ID_SIZE);
    rung_put64(out + 24, e->node);
    rung_put64(out + 32, e->serial);
}

static bool has_form(rung_slice key) {
    const uint8_t *in = (const uint8_t *)key.ptr;
    return key.len == RUNG__ENVELOPE_SIZE && memcmp(in, magic, sizeof magic) == 0 &&
           rung_get16(in + 6) == 0;
}

bool rung__envelope_is_strange(rung_slice key, const uint8_t log_id[RUNG_LOG_ID_SIZE]) {
    enum { NAME = 3 }; /* of the magic, without the version */
    if (has_form(key))
        return memcmp(key.ptr + 8, log_id, RUNG_LOG_ID_SIZE) != 0;
    return key.len < NAME || memcmp(key.ptr, magic, NAME) != 0;
}

rung_status rung__envelope_decode(rung_slice key, const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                  rung__envelope *out, rung_err *err) {
    const uint8_t *in = (const uint8_t *)key.ptr;
    if (!has_form(key))
        return RUNG_FAIL(err, RUNG_ECORRUPT, "written by another program (a key of %zu bytes)",
                         key.len);
    if (memcmp(in + 8, log_id, RUNG_LOG_ID_SIZE) != 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "it belongs to another topic or Kafka cluster");
    memcpy(out->log_id, log_id, RUNG_LOG_ID_SIZE);
    out->type = rung_get16(in + 4);
    out->node = rung_get64(in + 24);
    out->serial = rung_get64(in + 32);
    return RUNG_OK;
}
