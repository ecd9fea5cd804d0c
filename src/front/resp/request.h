/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what a connection has in flight in the hub. */
#ifndef RUNG_FRONT_RESP_REQUEST_H
#define RUNG_FRONT_RESP_REQUEST_H

#include "front/resp/session.h"

struct rung__resp_request {
    rung__resp_request *next_free;
    rung__resp_session *session;
    const rung__resp_command *command;
    uint32_t style;
    uint32_t slot;       /* which keys it may change, if is_counted */
    uint32_t tries;      /* EXEC with WATCH */
    uint64_t work;       /* that it took, or will take when it is applied */
    uint32_t joined;     /* of a group: scores that joined it */
    uint32_t left;       /* of them, those not answered yet */
    bool is_told;        /* something has been replied; EXEC: a part of the change's reply */
    bool is_counted;     /* in in_flight, and in in_flight_by_key or in_flight_wide */
    rung_status failure; /* EXEC: the change could not be put */
    rung__resp_script script;
    size_t at; /* how far the script has been answered */
    uint8_t key_len;
    char key[RUNG_NAME_MAX]; /* of a group */
};

/* Changes in flight, by the hash of their keys, or wide when they may change any. */
enum { RUNG__IN_FLIGHT_SLOTS = 1 << 16, RUNG__IN_FLIGHT_WIDE = UINT32_MAX };
uint32_t rung__resp_in_flight_slot(rung_slice key);

/* ---- for dispatch: from a command to its place in the line. false: not now, retry later ---- */

/* Put the score in r->event, which `build` made. Errors are answered. */
bool rung__resp_put_match(rung__resp_call *call); /* the same for r->event, a match */
bool rung__resp_put_score(rung__resp_call *call);
/* The previous command was a score that joined a group (call->before.group), and `n` like it follow, their arguments
 * right behind its own: put those that can join, too. Returns how many; the next one has to be executed by itself. */
uint32_t rung__resp_put_scores_alike(rung__resp_call *call, uint32_t n);
/* Put a command on keys. Errors are answered. */
bool rung__resp_put_keys(rung__resp_call *call, const rung_zcommand *c);
/* Answer a question in its place. */
bool rung__resp_ask_later(rung__resp_call *call);
/* Send a reply in its place. */
bool rung__resp_say_later(rung__resp_session *s, rung_slice bytes);

/* ---- for transactions and clients that wait ---- */

/* Counts as in flight until released; NULL: no memory. */
rung__resp_request *rung__resp_request_new(rung__resp_session *s);
/* The same for a command; NULL: no memory, and the error has been written. */
rung__resp_request *rung__resp_request_for(rung__resp_call *call);
void rung__resp_request_release(rung__resp_request *q); /* the session does not go on by itself */
void rung__resp_request_finish(rung__resp_request *q);  /* it does, and may be gone afterwards */
void rung__resp_requests_free(rung_resp *r);            /* those kept for the next */
/* Count as a change of the keys in `slot`. */
void rung__resp_enter_flight(rung__resp_request *q, uint32_t slot);
/* A call that writes the request's reply. */
rung__resp_call rung__resp_request_call(rung__resp_request *q);
/* Pack at r->pack + at. Negative: an error has been written; RUNG_ELIMIT: there is no room for it. */
rung_status rung__resp_pack(rung__resp_call *call, const rung_zcommand *c, size_t at,
                            size_t *length_out);
/* A request's commands on keys, from r->pack. */
rung_status rung__resp_put_packed(rung__resp_request *q, uint32_t count, size_t length,
                                  bool is_admin, bool is_patient, rung_zkey_sink *told,
                                  rung_hub_answer *answered, rung_err *err);
/* A reader of the hub's: answers the request's script. */
void rung__resp_script_ready(void *ctx);
/* Put a ZPOP for a blocked session; rung__resp_pop_answered() will be called. */
rung_status rung__resp_pop_for(rung__resp_session *s, const rung__resp_command *c, uint32_t style,
                               const rung_zcommand *pop);

#endif
