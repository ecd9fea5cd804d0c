/* SPDX-License-Identifier: Apache-2.0 */
/* node_report.h - what a server that shares its log says about itself: a record of its own type in that log.
 *
 * A report takes a sequence and changes nothing of the state: who applies the log passes over it
 * (rung_state_pass). docs/formats/kafka.md has the bytes, docs/adr/0016-digest-votes.md the reasons. Pure. */
#ifndef RUNG_SERVICE_NODE_REPORT_H
#define RUNG_SERVICE_NODE_REPORT_H

#include "base/slice.h"
#include "base/status.h"
#include "state/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of a log record that is a report; events have type 1 (service/applier.h). */
#define RUNG_LOG_TYPE_REPORT 2u

#define RUNG_NODE_VERSION_MAX     32  /* bytes */
#define RUNG_NODE_ADDRESS_MAX     255 /* bytes */
#define RUNG_REPORT_CHECKPOINTS   8
#define RUNG_NODE_REPORT_SIZE_MAX 640 /* bytes of the longest that this version writes */

/* The digest of a state that has applied everything up to `seq`. */
typedef struct rung_checkpoint {
    uint64_t seq;
    rung_digest digest;
} rung_checkpoint;

typedef struct rung_node_report {
    uint64_t node;               /* a random number, kept in the data folder */
    uint64_t run;                /* grows each time the server opens the log */
    int64_t time_ms;             /* when it made the report */
    uint64_t seq;                /* up to where it had applied the log */
    uint32_t level;              /* the highest level of rules that it knows */
    uint32_t heartbeat_ms;       /* it reports at least this often */
    bool makes_checkpoint;       /* everybody takes a checkpoint right after this record */
    bool is_leaving;             /* the last one: it stops */
    bool is_diverged;            /* the last one: its state is not that of the others */
    rung_slice version, address; /* of the program, and where it answers HTTP; may be empty */
    uint32_t checkpoint_count;
    rung_checkpoint checkpoints[RUNG_REPORT_CHECKPOINTS]; /* its last ones, the newest first */
} rung_node_report;

/* Returns the length: at most RUNG_NODE_REPORT_SIZE_MAX. Texts that are too long are cut. */
size_t rung_node_report_encode(const rung_node_report *report,
                               uint8_t out[RUNG_NODE_REPORT_SIZE_MAX]);

/* Texts borrow from `bytes`. What follows the fields known here is ignored: a newer version may add to a report
 * without stopping the older servers of a cluster. RUNG_OK; RUNG_ECORRUPT; RUNG_EVERSION: another format. */
RUNG_NODISCARD rung_status rung_node_report_decode(rung_slice bytes, rung_node_report *out,
                                                   rung_err *err);

#endif
