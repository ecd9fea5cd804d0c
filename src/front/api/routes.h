/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - the table of routes. Routing, checks of parameters and bodies, permissions, /openapi.json and docs/http.md
 * all come from it, so they cannot drift apart.
 *
 *     st = rung_route_find(method, path, &route, segments, &err);          // RUNG_NOT_FOUND; RUNG_EUNSUPPORTED: 405
 *     st = rung_route_read_path(route, segments, &args, scratch, &err);
 *     st = rung_route_read_query(route, query, &args, scratch, &err);
 *
 * Pure but for the handlers it names; any thread. */
#ifndef RUNG_FRONT_API_ROUTES_H
#define RUNG_FRONT_API_ROUTES_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/schema.h"
#include "codec/url.h"
#include "front/http/exchange.h"
#include "guard/keys.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_PARAMS_MAX 16 /* of one route, in path and query together */

typedef enum rung_param_type {
    RUNG_PARAM_NAME,   /* a board, player or team: UTF-8 without control characters */
    RUNG_PARAM_TEXT,   /* min .. max bytes */
    RUNG_PARAM_SCORE,  /* a number; the board's type decides what is exact */
    RUNG_PARAM_SCORES, /* numbers with commas between */
    RUNG_PARAM_COUNT,  /* a whole number, min .. max */
    RUNG_PARAM_REAL,   /* a number above min, up to max */
    RUNG_PARAM_FLAG,   /* true or false */
    RUNG_PARAM_CHOICE, /* one of `choices` */
    RUNG_PARAM_TIME,   /* RFC 3339, or Unix milliseconds */
    RUNG_PARAM_NAMES,  /* min .. max names with commas between; a comma in a name is sent as %2C */
} rung_param_type;

typedef struct rung_param {
    const char *name;
    rung_param_type type;
    bool in_path, required, has_default;
    int64_t min, max;
    int64_t otherwise;          /* the default of a count, flag or choice */
    const char *const *choices; /* NULL at the end */
    const char *doc;
} rung_param;

/* What was sent for one parameter, or its default. */
typedef struct rung_arg {
    bool given;      /* it was sent */
    rung_slice text; /* decoded; of names: each followed by a NUL byte, which no name contains */
    int64_t number;  /* count; 0 or 1 of a flag; index of a choice; milliseconds; how many names */
    double real;
} rung_arg;

/* The next of the names or numbers of RUNG_PARAM_NAMES and RUNG_PARAM_SCORES; false at the end. */
bool rung_arg_next(rung_slice *names, rung_slice *name_out);

/* Properties of a route, some with the statuses that it may answer. */
enum {
    RUNG_MAY_MISS = 1,        /* 404: the board, player, window ... is not there */
    RUNG_MAY_REFUSE = 2,      /* 422 */
    RUNG_MAY_CONFLICT = 4,    /* 409 */
    RUNG_IS_CHANGE = 8,       /* 507, 503 */
    RUNG_IS_UNGUARDED = 16,   /* needs no key */
    RUNG_IS_OPEN_EARLY = 32,  /* answered before recovery is complete */
    RUNG_IS_STREAM = 64,      /* the answer does not end by itself */
    RUNG_IS_LIST = 128,       /* of boards: shows those that the caller may read */
    RUNG_NEEDS_KEY = 256,     /* even on a public board */
    RUNG_MAY_SIGN = 2048,     /* a player may do it, signed */
    RUNG_HAS_RANGES = 512,    /* 416: answers parts of a file */
    RUNG_IS_DIAGNOSIS = 1024, /* answered even if the state has diverged from the other servers' */
};

typedef enum rung_body_kind {
    RUNG_BODY_NONE = 0,
    RUNG_BODY_JSON,     /* one object */
    RUNG_BODY_OPTIONAL, /* one object, or nothing */
    RUNG_BODY_BATCH,    /* an array, or NDJSON as a stream; about any boards */
    RUNG_BODY_ANY,      /* one object, an array, or NDJSON as a stream; about one board */
} rung_body_kind;

typedef struct rung_result {
    int status; /* 0: no more */
    const char *type;
    const rung_schema *schema; /* NULL: text, or nothing */
    const char *doc;
} rung_result;

struct rung_call;

typedef struct rung_route {
    rung_method method;
    const char *path; /* "/v1/boards/{board}/top" */
    const char *id;   /* operationId */
    const char *tag;
    rung_role role;
    const char *summary, *doc;
    const rung_param *params; /* those in the path first, in its order */
    uint32_t param_count;
    rung_body_kind body_kind;
    const rung_schema *body;
    uint32_t body_max;
    const rung_schema *each; /* of RUNG_BODY_ANY: one result of many */
    uint32_t flags;
    rung_result results[3];
    void (*handle)(struct rung_call *call);
} rung_route;

extern const rung_route rung_routes[];
extern const uint32_t rung_route_count;

/* The arguments of a call: one for each parameter of the route, in the table's order. */
typedef struct rung_args {
    rung_arg arg[RUNG_PARAMS_MAX];
} rung_args;

/* The route of a request, and the raw segments of its path (room for RUNG_URL_SEGMENTS_MAX). HEAD is looked up as GET.
 * RUNG_NOT_FOUND: no such path; RUNG_EUNSUPPORTED: not this method, and `allowed` (may be NULL) is the value of the
 * Allow header; RUNG_EINVAL: not a path. */
#define RUNG_ALLOWED_MAX 48
RUNG_NODISCARD rung_status rung_route_find(rung_method method, rung_slice path,
                                           const rung_route **route_out, rung_slice *segments,
                                           char allowed[RUNG_ALLOWED_MAX], rung_err *err);

/* Decode and check the parameters in the path. `scratch` has room for the path's bytes. RUNG_EINVAL naming one. */
RUNG_NODISCARD rung_status rung_route_read_path(const rung_route *route, const rung_slice *segments,
                                                rung_args *args, char *scratch, rung_err *err);
/* The same for the query; parameters that are not sent get their default. `scratch` has room for twice the query's
 * bytes. RUNG_EINVAL naming what is unknown, repeated, missing or wrong. */
RUNG_NODISCARD rung_status rung_route_read_query(const rung_route *route, rung_slice query,
                                                 rung_args *args, char *scratch, rung_err *err);

#endif
