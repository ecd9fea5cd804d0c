/* SPDX-License-Identifier: Apache-2.0 */
/* envelope.h - the key of a record in a topic: whose it is. Private to the room.
 *
 * The value of a record is its payload, the same bytes as in a segment file. The key is the envelope, 40 bytes,
 * little-endian:
 *
 *     0   4  magic, "RGK1"
 *     4   2  type of the record (log.h)
 *     6   2  zero
 *     8  16  id of the log
 *    24   8  node: a random number, new each time a node opens the log
 *    32   8  serial: the node counts its proposals, from 0
 *
 * A record is ours to read if the key has this length, the magic, the zero, and the log's id. Anything else was written
 * by another program, or copied from another log. */
#ifndef RUNG_STREAM_ENVELOPE_H
#define RUNG_STREAM_ENVELOPE_H

#include "base/slice.h"
#include "base/status.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG__ENVELOPE_SIZE 40u

typedef struct rung__envelope {
    uint8_t log_id[RUNG_LOG_ID_SIZE];
    uint64_t node, serial;
    uint16_t type;
} rung__envelope;

void rung__envelope_encode(const rung__envelope *e, uint8_t out[RUNG__ENVELOPE_SIZE]);

/* RUNG_OK; RUNG_ECORRUPT: not a record of this log. `err` says why, without the place. */
RUNG_NODISCARD rung_status rung__envelope_decode(rung_slice key,
                                                 const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                                 rung__envelope *out, rung_err *err);

/* Can no version of this program have applied a record with this key to this log? False for one of our records, and for
 * what only looks like one: it may come from a newer version. Pure: every server answers alike. */
bool rung__envelope_is_strange(rung_slice key, const uint8_t log_id[RUNG_LOG_ID_SIZE]);

#endif
