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

/* What the command before found out that holds for this one, too, since its name, its key and the number of its
 * arguments are the same, and neither the time, the state nor the keys in force change between the two. */
typedef struct rung__resp_before {
    bool is_allowed;           /* for its key alone */
    rung__resp_request *group; /* the group that it joined, which may be full; NULL: none */
    const rung_board_def *def; /* of its board; NULL: it did not look */
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
    bool is_inside;     /* between the changes of one event: the state has no position of its own */
    bool is_continued;  /* another piece of the same reply */
    bool may_wait;      /* nothing is behind or around it: its answer may come later */
    bool is_known;      /* the session has shown a key, or needs none */
    bool may_spill;     /* what is written goes to the connection as it is */
    uint64_t work;      /* that the change which is being built will take */
    uint64_t *spent;    /* work of the script or transaction so far; NULL: a command by itself */
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
/* The same once it is much, so that a long reply needs no long buffer. */
enum { RUNG__SPILL_AT = 64 << 10 };
static inline void rung__resp_spill(rung__resp_call *call) {
    if (call->out->len >= RUNG__SPILL_AT && call->may_spill)
        rung__resp_flush(call);
}

const rung_alloc *rung__resp_alloc(const rung__resp_call *call);
uint64_t rung__resp_random(rung_resp *r);

/* ---- work that is not in proportion to command and reply: members (or names) to look at ---- */

/* Before it; false: it is more than one command, script or transaction may do, and the error has been written. */
bool rung__resp_afford(rung__resp_call *call, uint64_t work);
/* After it, perhaps by the hub: when it was much, the rest of the line waits for the next turn. */
void rung__resp_worked(rung_resp *r, uint64_t work);
/* Was so much done in this turn that heavy commands wait for the next? */
bool rung__resp_is_tired(const rung_resp *r);
uint64_t rung__resp_work_max(const rung__resp_call *call);

#endif
