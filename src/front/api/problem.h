/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - one table from errors to HTTP problems, so that a refusal has the same code everywhere.
 *
 * The key is (status, reason, field) of an error. A row with the error's reason wins over one without a reason; a row
 * without a field matches every field. Codes are never renamed. The transport adds a few codes (front/http/http.h).
 * Pure. */
#ifndef RUNG_FRONT_API_PROBLEM_H
#define RUNG_FRONT_API_PROBLEM_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"

typedef struct rung_problem_row {
    int status;       /* of HTTP */
    const char *code; /* in lower_snake_case */
    int retry_s;      /* 0: no Retry-After */
    rung_status error;
    rung_reason reason; /* NONE: any that has no row of its own */
    const char *field;  /* NULL: any */
    const char *doc; /* for /openapi.json and docs/http.md; NULL: another row of the code has it */
} rung_problem_row;

extern const rung_problem_row rung_problem_rows[];
extern const uint32_t rung_problem_row_count;

typedef struct rung_problem {
    int status;
    const char *code;  /* static */
    rung_slice field;  /* what is wrong, or empty; borrows from the rung_err */
    bool is_rule;      /* `field` is a rule of the board */
    rung_slice detail; /* borrows from the message */
    int retry_s;       /* 0: no Retry-After */
} rung_problem;

/* `err` may be NULL; it lives as long as the problem. */
rung_problem rung_problem_of(rung_status st, const rung_err *err);

/* "field" or "rule", as one member of an open object, if there is one. */
void rung_problem_write_field(rung_json_writer *w, const rung_problem *p);

/* status, code, detail, field, retry_after: as the members of an open object. */
void rung_problem_write(rung_json_writer *w, const rung_problem *p);

#endif
