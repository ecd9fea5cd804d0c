/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - shared inside the room: one request on its way through the API.
 *
 * A call lives in its exchange's memory and ends with it. A handler (one for each route, named in routes.c) answers at
 * once, or after the hub has applied its change, or after the archive has answered. Thread: the loop's. */
#ifndef RUNG_FRONT_API_CALL_H
#define RUNG_FRONT_API_CALL_H

#include "base/list.h"
#include "codec/json_writer.h"
#include "front/api/api.h"
#include "front/api/problem.h"
#include "front/api/routes.h"
#include "service/service.h"

struct rung_read;

typedef struct rung_call {
    rung_api *api;
    rung_exchange *x;
    const rung_route *route;
    rung_who who;
    rung_args args;
    rung_slice board, player; /* of the path, "me" resolved; ptr NULL: none */
    char *body;               /* valid during the handler, which may change it */
    size_t body_len;
    rung_slice note; /* kept by a handler until its change is answered */
    bool is_new;     /* likewise: the board was not there before */
    bool is_ghost;   /* it sees what a shadow ban holds: the answer is for this player alone */
    bool is_stream;  /* its duration is the sender's choice, so it is not timed */

    /* while it waits, for a sequence or for the archive */
    uint32_t share; /* 0: not looked up yet */
    rung_hub_waiter waiter;
    int64_t deadline_ms;
    RUNG_LINK(struct rung_call) link;
    void (*write)(rung_json_writer *w, const struct rung_read *r); /* members of a ranked answer */
} rung_call;

/* The argument of that name; NULL: the route has no such parameter. */
const rung_arg *rung__call_find(const rung_call *c, const char *name);
/* Its text, empty if it was not sent. */
rung_slice rung__call_text(const rung_call *c, const char *name);
/* The route has it. */
const rung_arg *rung__call_arg(const rung_call *c, const char *name);
static inline uint32_t rung__call_count(const rung_call *c, const char *name) {
    return (uint32_t)rung__call_arg(c, name)->number;
}

/* ---- ending a call ---- */

/* Begin an answer, an object in api->out; then close and send it, with the sequence it shows or without. */
rung_json_writer *rung__call_begin(rung_call *c);
void rung__call_answer(rung_call *c, int status);
void rung__call_answer_seq(rung_call *c, int status, uint64_t seq);
/* Send what is in api->out. */
void rung__call_send(rung_call *c, int status);
/* The whole answer {changed, seq}. */
void rung__call_answer_changed(rung_call *c, int status, bool changed);
/* The same for a change of the call `ctx` that the hub has answered. */
void rung__call_changed(void *ctx, rung_status st, const rung_outcome *outcome,
                        const rung_err *err);
/* End it with the problem of (st, reason, field); `err` may be NULL. These three return false, for checks. */
bool rung__call_fail(rung_call *c, rung_status st, const rung_err *err);
/* The same for a new error. `field` names the part of the request that is wrong, or is NULL. */
bool rung__call_fail_with(rung_call *c, rung_status st, rung_reason reason, const char *field,
                          const char *text);
/* The same with these members, as JSON text, instead of a field. */
void rung__call_fail_more(rung_call *c, const rung_err *err, rung_slice members);
/* The same with the reason MALFORMED, unless `err` has another. */
bool rung__call_malformed(rung_call *c, rung_status st, rung_err *err);
/* The thing that `field` names does not exist. */
void rung__call_absent(rung_call *c, const char *field, const char *text);
/* The definition of the call's board; NULL: there is none, and the call is ended. */
const rung_board_def *rung__call_board(rung_call *c);
/* 503: no room for it now. */
void rung__call_overloaded(rung_call *c);
/* False: the state has diverged from that of the other servers, the route needs it, and the call is ended. */
bool rung__call_check_state(rung_call *c);
/* 503: the server recovers, or stops. */
void rung__call_not_ready(rung_call *c);

/* ---- who asks ---- */

/* Check state and permission again after a wait. False: one of them is gone, and the call is ended. */
bool rung__call_may_still(rung_call *c);
/* End the call with an error of a use case, of access or otherwise; and the problem of such an error. */
void rung__call_refuse(rung_call *c, rung_status st, const rung_access_answer *why);
rung_problem rung__access_problem(rung_status st, const rung_access_answer *why);
/* Whose share of a limited resource it uses: the key's, or the address's (base/fair.h). */
uint32_t rung__call_share(rung_call *c);
static inline rung_hub_sender rung__call_sender(rung_call *c) {
    return (rung_hub_sender){.share = rung__call_share(c)};
}

/* The same, with who it is for the audit trail; `room` is in use as long as the result is. */
typedef struct rung__call_actor {
    rung_actor actor;
    char address[RUNG_ADDRESS_TEXT_MAX];
} rung__call_actor;
rung_hub_sender rung__call_signed(rung_call *c, rung__call_actor *room);

/* What of reviews of `player` the call may see. */
typedef enum rung__tentative {
    RUNG__TENTATIVE_HIDDEN,
    RUNG__TENTATIVE_OWN, /* it is the player's */
    RUNG__TENTATIVE_ALL,
} rung__tentative;
rung__tentative rung__call_tentative(const rung_call *c);

/* ---- changes ---- */

/* Propose api->event and answer {changed, seq} when it is applied; on failure the call is ended. */
void rung__call_change(rung_call *c);
/* Memory that lives as long as the call, zeroed; NULL: out of memory, and the call is ended. */
void *rung__call_alloc(rung_call *c, size_t size);
/* Read the body by the route's schema. False: it is malformed, and the call is ended. */
bool rung__call_read_body(rung_call *c, rung_slot *slots);

#endif
