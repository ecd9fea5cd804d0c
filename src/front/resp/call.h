/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one command being executed, and where its reply goes. */
#ifndef RUNG_FRONT_RESP_CALL_H
#define RUNG_FRONT_RESP_CALL_H

#include "base/alloc.h"
#include "codec/resp_writer.h"
#include "front/resp/command.h"
#include "front/resp/resp.h"

typedef struct rung__resp_session rung__resp_session;
typedef struct rung__resp_request rung__resp_request;

/* What was found out for the previous command and holds for this one, too: both have the same name, key and number of
 * arguments, and neither the time, the state nor the keys in force change in between. */
typedef struct rung__resp_before {
    bool is_allowed;           /* for its key alone */
    rung__resp_request *group; /* the group that it joined, which may be full; NULL: none */
    const rung_board_def *def; /* of its board; NULL: not looked up */
} rung__resp_before;

struct rung__resp_call {
    rung_resp *r;
    rung__resp_session *s;
    const rung__resp_command *command;
    const rung_slice *argv;
    uint32_t argc;
    rung_resp_writer *out;
    const rung_state *state;
    int64_t now_ms;
    uint32_t style;     /* what `build` wants `reply` to know */
    int64_t timeout_ms; /* of a command that blocks; 0: forever */
    bool
        is_inside; /* between the changes of one event, where the state has no position in the log */
    bool is_continued; /* another piece of the same reply */
    bool may_wait;     /* its answer may come later: it is not in a transaction */
    bool is_known;     /* the session has shown a key, or needs none */
    bool may_spill;    /* a part of a reply may be sent */
    uint64_t work;     /* of the change being built */
    uint64_t *spent;   /* work of the script or transaction so far; NULL: a command by itself */
    rung__resp_before before;
};

/* Begin and end writing replies of one session; there is never more than one writer. */
rung__resp_call rung__resp_call_begin(rung__resp_session *s);
void rung__resp_call_end(rung__resp_call *call);
/* The same for short answers of the hub to one session (r->gathering), without the time of day. They are sent together,
 * when another session writes or the hub has no more. */
rung__resp_call *rung__resp_gather_begin(rung__resp_session *s);
void rung__resp_gather_end(rung_resp *r);

/* Send what was written so far. */
void rung__resp_flush(rung__resp_call *call);
/* The same if it is much, so that a long reply needs no large buffer. */
enum { RUNG__SPILL_AT = 64 << 10 };
static inline void rung__resp_spill(rung__resp_call *call) {
    if (call->out->len >= RUNG__SPILL_AT && call->may_spill)
        rung__resp_flush(call);
}

const rung_alloc *rung__resp_alloc(const rung__resp_call *call);
uint64_t rung__resp_random(rung_resp *r);

/* ---- work: members (or names) looked at, beyond the size of command and reply ---- */

/* Call it before the work. false: it exceeds what one command or transaction may do; the error has been written. */
bool rung__resp_afford(rung__resp_call *call, uint64_t work);
/* Call it afterwards. After much work the hub answers the rest in the next turn. */
void rung__resp_worked(rung_resp *r, uint64_t work);
/* Was so much done in this turn that heavy commands must wait for the next? */
bool rung__resp_is_tired(const rung_resp *r);
uint64_t rung__resp_work_max(const rung__resp_call *call);

#endif
