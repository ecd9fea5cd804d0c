/* SPDX-License-Identifier: Apache-2.0 */
/* skip.h - records in a topic that are not of its log, and the decision to pass over them.
 *
 *     rung_kafka_strangers(&config, print_one, ctx, &err);                  // what is there
 *     rung_kafka_skip(&config, &(rung_kafka_decision){...}, &seq, &err);    // pass over it, on every server
 *
 * A server stops at a record of another program. The decision to pass over it is a record of the same topic, behind it:
 * whoever meets the stranger looks ahead for the decision. So all servers decide alike, those of the future too, and
 * the state stays a fold over the log (docs/adr/0018-skip-records.md). In the fold both are void.
 *
 * Only a stranger can be passed over: its key is not that of any version of our records, or names another log, so no
 * server can have applied it. A record of ours that cannot be decoded may have been applied by a newer version.
 *
 * The payload of a decision, little-endian (its type is RUNG_LOG_TYPE_VOID):
 *
 *     0   4  magic, "RGS1"
 *     4   4  zero
 *     8  16  id of the log
 *    24   8  offset of the first record to pass over
 *    32   8  how many, at least 1
 *    40   8  when it was decided, Unix milliseconds
 *    48      the reason, 1 to 200 bytes of text */
#ifndef RUNG_STREAM_SKIP_H
#define RUNG_STREAM_SKIP_H

#include "base/slice.h"
#include "base/status.h"
#include "journal/log.h"
#include "stream/kafka_log.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_KAFKA_REASON_MAX   200u
#define RUNG_KAFKA_DECISION_MAX (48u + RUNG_KAFKA_REASON_MAX)

typedef struct rung_kafka_decision {
    uint64_t offset, count;
    int64_t decided_ms;
    rung_slice reason; /* UTF-8 without control characters; read: borrowed from the payload */
} rung_kafka_decision;

/* Returns the size. The reason has at most RUNG_KAFKA_REASON_MAX bytes. */
size_t rung_kafka_decision_encode(const rung_kafka_decision *d,
                                  const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                  uint8_t out[RUNG_KAFKA_DECISION_MAX]);
/* False: not a decision, or one about another log. */
bool rung_kafka_decision_decode(rung_slice payload, const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                rung_kafka_decision *out);

/* Neighbouring records that are not of the log. */
typedef struct rung_kafka_stranger {
    uint64_t offset, count;
    char why[64];        /* of the first */
    uint64_t skipped;    /* how many of them servers pass over */
    uint64_t decided_at; /* the offset of the last decision about them */
    int64_t decided_ms;  /* of that one */
    rung_slice reason;   /* of that one; valid during the call */
} rung_kafka_stranger;

/* Read the whole topic and call `each` for what is strange in it, in order. RUNG_OK; RUNG_EABSENT: there is no such
 * topic; RUNG_ELIMIT: more than the program can list; RUNG_ECORRUPT: offsets are missing; RUNG_EIO. */
RUNG_NODISCARD rung_status rung_kafka_strangers(const rung_kafka_config *config,
                                                void (*each)(void *ctx,
                                                             const rung_kafka_stranger *one),
                                                void *ctx, rung_err *err);

/* Decide that servers pass over `decision->count` records from `decision->offset` on. RUNG_OK: the decision is in the
 * log, with the sequence *seq_out. RUNG_EREFUSED: one of them is a record of this log; RUNG_ERANGE: the topic does not
 * have them; RUNG_EINVAL: the reason; as above. */
RUNG_NODISCARD rung_status rung_kafka_skip(const rung_kafka_config *config,
                                           const rung_kafka_decision *decision, uint64_t *seq_out,
                                           rung_err *err);

/* ---- shared inside the room ---- */

typedef struct rung__skip {
    uint64_t offset, count;
} rung__skip;

/* The decisions that a cursor has found so far. Zero is empty. */
typedef struct rung__skips {
    rung__skip *all;
    uint32_t count, capacity;
    uint64_t read_to; /* the last sequence that was searched */
} rung__skips;

/* May the strange record with this sequence be passed over? Looks ahead in the topic if need be. RUNG_OK: yes;
 * RUNG_NOT_FOUND: no decision names it; or why that cannot be found out. */
RUNG_NODISCARD rung_status rung__skips_ask(rung__skips *s, const rung_kafka_config *config,
                                           const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t seq,
                                           rung_err *err);
void rung__skips_deinit(rung__skips *s, const rung_alloc *alloc);

#endif
