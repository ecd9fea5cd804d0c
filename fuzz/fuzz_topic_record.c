/* SPDX-License-Identifier: Apache-2.0 */
/* A record in a topic whose key and payload a stranger chose. First byte: the length of the key. What is decoded must
 * encode to the same bytes, and a record is of this log, strange, or neither: never two of them. */
#include "stream/envelope.h"
#include "stream/skip.h"
#include "support/check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t log_id[RUNG_LOG_ID_SIZE] = "the id of a log";

static void try_key(rung_slice key) {
    rung__envelope e;
    uint8_t again[RUNG__ENVELOPE_SIZE];
    bool is_ours = rung__envelope_decode(key, log_id, &e, NULL) == RUNG_OK;
    CHECK(!is_ours || !rung__envelope_is_strange(key, log_id));
    if (!is_ours)
        return;
    rung__envelope_encode(&e, again);
    CHECK_EQ_MEM(again, key.ptr, sizeof again);
}

static void try_payload(rung_slice payload) {
    rung_kafka_decision d;
    uint8_t again[RUNG_KAFKA_DECISION_MAX];
    if (!rung_kafka_decision_decode(payload, log_id, &d))
        return;
    CHECK(d.count > 0 && d.offset + d.count > d.offset);
    CHECK_EQ_U64(rung_kafka_decision_encode(&d, log_id, again), payload.len);
    CHECK_EQ_MEM(again, payload.ptr, payload.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    size_t len = data[0] < size - 1 ? data[0] : size - 1;
    try_key(rung_slice_of(data + 1, len));
    try_payload(rung_slice_of(data + 1 + len, size - 1 - len));
    return 0;
}
