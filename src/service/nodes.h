/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.h - the servers that share a log: who is there, and whether their states agree.
 *
 *     rung_nodes_checkpoint(n, seq, digest);            // our state's digest, every so many records
 *     rung_nodes_hear(n, seq, &report, digest);         // a report, in the order of the log; ours come back, too
 *     rung_nodes_tick(n, now_ms);                       // a few times a second
 *     if (rung_nodes_is_due(n)) ...                     // write a report: rung_nodes_write()
 *     if (rung_nodes_divergence(n)) ...                 // stop serving
 *
 * A checkpoint is a sequence at which every server computes its digest: each multiple of `checkpoint_every`, and each
 * report that says so, which keeps an idle log moving. Servers report their digests at the last checkpoints; these are
 * votes. docs/adr/0016-digest-votes.md says how they decide. Pure: no clock, no log. Threads: one at a time. */
#ifndef RUNG_SERVICE_NODES_H
#define RUNG_SERVICE_NODES_H

#include "base/alloc.h"
#include "service/node_report.h"

#define RUNG_NODES_MAX 64 /* servers known at a time; those beyond are neither listed nor vote */

/* A server without a report for this many of its heartbeats is not present. */
#define RUNG_NODES_SILENT_BEATS 3

typedef struct rung_nodes rung_nodes; /* heap object; whoever created it destroys it */

/* Texts are used until destroy; NULL: none. */
typedef struct rung_nodes_config {
    const rung_alloc *alloc;
    uint64_t id, run; /* of this server; as in a report */
    const char *version, *address;
    uint32_t level;
    uint64_t checkpoint_every;                /* records; 0: 65,536 */
    uint32_t heartbeat_ms;                    /* 0: 10 s */
    void (*say)(void *ctx, const char *line); /* one line for the operator; may be NULL */
    void *ctx;
} rung_nodes_config;

/* RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_nodes_create(const rung_nodes_config *config, rung_nodes **out,
                                             rung_err *err);
void rung_nodes_destroy(rung_nodes *n); /* accepts NULL */

/* ---- what the log brings ---- */

/* Must a checkpoint be taken after the record `seq`, whatever it is? */
bool rung_nodes_is_checkpoint(const rung_nodes *n, uint64_t seq);
void rung_nodes_checkpoint(rung_nodes *n, uint64_t seq, rung_digest digest);
/* The report is record `seq`, and `digest` that of the state after it. */
void rung_nodes_hear(rung_nodes *n, uint64_t seq, const rung_node_report *report,
                     rung_digest digest);

/* ---- time and our own reports ---- */

/* Everything before was replayed, and is judged by the times in the reports; what follows by ours. Votes of servers
 * that are not present any more are forgotten. */
void rung_nodes_go_live(rung_nodes *n, int64_t now_ms);
void rung_nodes_tick(rung_nodes *n, int64_t now_ms);

/* Is it time for a report? Not before go_live. */
bool rung_nodes_is_due(const rung_nodes *n);
typedef enum rung_report_kind {
    RUNG_REPORT_USUAL,
    RUNG_REPORT_LEAVING,
    RUNG_REPORT_DIVERGED,
} rung_report_kind;
/* Make one; `seq` is that of the state. Valid until the next tick. It counts as sent. */
void rung_nodes_write(rung_nodes *n, rung_report_kind kind, uint64_t seq, rung_node_report *out);

/* ---- what follows ---- */

typedef struct rung_divergence {
    uint64_t seq; /* of the checkpoint */
    rung_digest ours, theirs;
    uint32_t with_us, with_them, voters; /* servers */
    bool is_tie;                         /* nobody has a majority: all stop */
} rung_divergence;
/* NULL: our state is not known to differ from that of the others. */
const rung_divergence *rung_nodes_divergence(const rung_nodes *n);
/* It as an error: RUNG_ECORRUPT, RUNG_REASON_DIVERGED. */
rung_status rung_divergence_fail(const rung_divergence *d, rung_err *err);

/* May the log be raised to our level of rules? Everybody present knows it, and this server has listened for long
 * enough to have heard everybody. */
bool rung_nodes_may_raise(const rung_nodes *n);

typedef enum rung_node_state {
    RUNG_NODE_PRESENT,
    RUNG_NODE_SILENT, /* no report for RUNG_NODES_SILENT_BEATS heartbeats */
    RUNG_NODE_LEFT,
    RUNG_NODE_DIVERGED,
} rung_node_state;

typedef struct rung_node_info {
    uint64_t id;
    bool is_self, is_disagreeing; /* its last vote that could be compared was not ours */
    rung_node_state state;
    int64_t heard_ms; /* 0: not yet */
    uint64_t seq;     /* its position when it reported last */
    uint32_t level;
    rung_checkpoint checkpoint;  /* its newest; seq 0: none */
    rung_slice version, address; /* valid until the next report */
} rung_node_info;
/* The i-th server: itself first. False: there are no more. */
bool rung_nodes_at(const rung_nodes *n, uint32_t i, rung_node_info *out);

/* Our i-th checkpoint, the newest first. False: there are no more. */
bool rung_nodes_checkpoint_at(const rung_nodes *n, uint32_t i, rung_checkpoint *out);

typedef struct rung_nodes_stats {
    uint32_t present, disagreeing; /* servers */
    rung_checkpoint checkpoint;    /* our newest; seq 0: none */
    rung_checkpoint agreed; /* the newest that a majority has in common with us; seq 0: none */
    int64_t agreed_ms;      /* when it was taken */
    uint64_t disputes;      /* checkpoints that somebody had another digest of */
} rung_nodes_stats;
rung_nodes_stats rung_nodes_stat(const rung_nodes *n);

#endif
