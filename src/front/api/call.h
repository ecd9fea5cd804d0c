/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - shared inside the room: one request on its way through the API.
 *
 * A call lives in its exchange's memory and ends with it. A handler (one for each route, named in routes.c) answers
 * now, or puts a change into the hub and answers when that does, or asks the archive. Loop's thread. */
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
    rung_slice board, player; /* of the path, "me" resolved; ptr NULL: there is none */
    char *body;               /* during the handler; may be changed */
    size_t body_len;
    rung_slice note; /* what a handler needs again when its change is answered */
    bool is_new;     /* likewise: the board was not there before */
    bool is_stream;  /* it lasts as long as its sender wants: its time says nothing */

    /* while it waits, for a sequence or for the archive */
    uint32_t share; /* 0: not asked for yet */
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
/* A whole answer: did it change anything, and the sequence that shows it. */
void rung__call_answer_changed(rung_call *c, int status, bool changed);
/* With the problem of (st, reason, field); `err` may be NULL. */
void rung__call_fail(rung_call *c, rung_status st, const rung_err *err);
/* The same, of an error that is made here. `field` is what of the request it is about, or NULL. */
void rung__call_fail_with(rung_call *c, rung_status st, rung_reason reason, const char *field,
                          const char *text);
/* With these members, as JSON text, instead of a field. */
void rung__call_fail_more(rung_call *c, const rung_err *err, rung_slice members);
/* The request cannot be read, unless `err` has another reason. */
void rung__call_malformed(rung_call *c, rung_status st, rung_err *err);
/* What `field` names is not there. */
void rung__call_absent(rung_call *c, const char *field, const char *text);
/* The definition of the call's board; NULL: there is none, and the call is ended. */
const rung_board_def *rung__call_board(rung_call *c);
/* There is no room for it now. */
void rung__call_overloaded(rung_call *c);
/* The server has not recovered yet, or stops. */
void rung__call_not_ready(rung_call *c);

/* ---- who asks ---- */

/* Once more, after a wait: false: they may not any more, and the call is ended. */
bool rung__call_may_still(rung_call *c);
/* End the call with an error of `service`, whether of access or not; and the problem that it is. */
void rung__call_refuse(rung_call *c, rung_status st, const rung_access_answer *why);
rung_problem rung__access_problem(rung_status st, const rung_access_answer *why);
/* Who asks, where something is shared: the key, or the address of who has none (base/fair.h). */
uint32_t rung__call_share(rung_call *c);
static inline rung_hub_sender rung__call_sender(rung_call *c) {
    return (rung_hub_sender){.share = rung__call_share(c)};
}

/* ---- changes ---- */

/* Put api->event and answer with {changed, seq} when it is applied; on failure the call is ended here. */
void rung__call_change(rung_call *c);
/* Memory that lives as long as the call, zeroed; NULL: out of memory, and the call is ended. */
void *rung__call_alloc(rung_call *c, size_t size);
/* Read the body by the route's schema; false: it is malformed, and the call is ended. */
bool rung__call_read_body(rung_call *c, rung_slot *slots);

#endif
