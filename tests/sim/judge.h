/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - who holds every answer of a run against the promises (tests/sim/README.md has the list).
 *
 * Two things are gathered while a run goes on. The *history* is what the servers applied, in order: the events of the
 * log, told by the service's follower, live and in every replay. Of several nodes each must apply the same. A *claim*
 * is an answer that a client received, with the range of sequences at which it may have been true: one, where the
 * answer names it; otherwise from what the server had applied when the question left to what it had applied when the
 * answer came. In the end sim_judge_sum_up() walks once through the history with a brute-force model
 * (support/state_model.h for boards, a table for keys), and holds every claim against the model at its sequences. */
#ifndef RUNG_TESTS_SIM_JUDGE_H
#define RUNG_TESTS_SIM_JUDGE_H

#include "sim/op.h"
#include "sim/topic.h"
#include "sim/trace.h"
#include "state/state.h"

typedef struct sim_record {
    uint8_t *bytes; /* the event, as it is logged; NULL: a node's report, which changes nothing */
    size_t len;
    rung_status status;
    bool has_digest;
    rung_digest digest; /* of the state right after it */
} sim_record;

/* What became of a request. */
typedef enum sim_answer {
    SIM_OK,
    SIM_REFUSED,   /* by what the state is: the model must refuse it, too */
    SIM_DENIED,    /* by the guard; no event */
    SIM_NOT_TAKEN, /* a limit, a full disk, a stop; no event */
    SIM_UNKNOWN,   /* the log failed: an event or none */
} sim_answer;

typedef struct sim_claim {
    sim_op *op;
    sim_answer answer;
    int status;      /* of HTTP; 0: over the Redis protocol */
    uint64_t lo, hi; /* a change's event comes after lo */
    uint64_t step;
    int64_t wall_ms; /* of the server, when it was heard */
    char *text;
    bool has_archive; /* of the server that gave it: closed windows can be asked for */
    bool is_met;
} sim_claim;

typedef struct sim_judge {
    sim_trace *trace;
    const sim_topic *topic; /* the log that all nodes share; NULL: one node with its own */
    sim_record *records;    /* of sequence i + 1 */
    uint64_t count, room;
    sim_claim *claims;
    uint32_t claim_count, claim_room;
    bool has_jumps; /* the wall clock may have jumped */
    bool is_over;   /* what is applied from now on does not count */
    uint32_t id_capacity;
    int64_t id_keep_ms;
    sim_op **ops;
    uint32_t op_count, op_room;
} sim_judge;

void sim_judge_init(sim_judge *j, sim_trace *trace);
void sim_judge_deinit(sim_judge *j);

sim_op *sim_judge_new_op(sim_judge *j); /* zero but for its number; the judge's */

/* The state, opened from a snapshot, has everything up to `seq`. */
void sim_judge_opened(sim_judge *j, uint64_t seq, rung_digest digest);
/* Events were applied, for the first time or again; `digest` is the state's after the last. */
void sim_judge_applied(sim_judge *j, uint64_t first_seq, uint32_t count,
                       const rung_event *const *events, const rung_status *statuses,
                       rung_digest digest);
/* The record of this sequence is a report. */
void sim_judge_passed(sim_judge *j, uint64_t seq, rung_digest digest);

/* Events beyond `seq` were only replayed, in a life that ended before anybody could see them. A topic keeps them. */
void sim_judge_forget(sim_judge *j, uint64_t seq);

void sim_judge_claim(sim_judge *j, sim_claim claim, const char *text); /* both are copied */

/* The run is over and nothing is under way. */
void sim_judge_sum_up(sim_judge *j);

#endif
