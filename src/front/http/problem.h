/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - from our statuses to what HTTP says: one place, so that the same refusal has the same code everywhere.
 *
 * The same status means different things by where it arose: a value of a body that is not valid is 400, one that the
 * board does not take is 422; no room in the queue is 503, no room on the board 422. Pure. */
#ifndef RUNG_FRONT_HTTP_PROBLEM_H
#define RUNG_FRONT_HTTP_PROBLEM_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"

typedef enum rung_stage {
    RUNG_STAGE_FORM,  /* reading path, query or body: malformed */
    RUNG_STAGE_RULES, /* well-formed, held against the board, before anything was queued */
    RUNG_STAGE_PUT,   /* rung_hub_put() and its like */
    RUNG_STAGE_APPLY, /* the answer of the state */
} rung_stage;

typedef struct rung_problem {
    int status;
    const char *code;  /* static */
    rung_slice field;  /* what is wrong, taken off the message; may be empty */
    bool is_rule;      /* `field` is a rule of the board */
    rung_slice detail; /* borrows from the message */
    int retry_s;       /* 0: no Retry-After */
} rung_problem;

/* `err` may be NULL; its message lives as long as the problem. */
rung_problem rung_problem_of(rung_status st, const rung_err *err, rung_stage stage);

/* "field" or "rule", as one member of an open object, if there is one. */
void rung_problem_write_field(rung_json_writer *w, const rung_problem *p);

/* status, code, detail, field: as the members of an open object. */
void rung_problem_write(rung_json_writer *w, const rung_problem *p);

#endif
