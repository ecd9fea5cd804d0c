/* SPDX-License-Identifier: Apache-2.0 */
/* reads.h - shared inside the room: a ranked question of a call (service/ask.h), and how its answer is written.
 *
 * The archive's answer comes later, in the same struct, and is written by the same function. */
#ifndef RUNG_FRONT_API_READS_H
#define RUNG_FRONT_API_READS_H

#include "front/api/answers.h"
#include "front/api/call.h"

typedef struct rung_read {
    rung_question q; /* the first member */
    rung_call *call;
} rung_read;

/* Choose the ranking that the call's arguments name. True: `*view` and r->q.k are set. False: the call is ended, or has
 * gone to ask the archive, if the window has left memory. */
bool rung__read_open(rung_read *r, rung_view *view, bool teams);
/* Write and send: the head, then call->write. */
void rung__read_answer(const rung_read *r);
/* Only write it; the answer is the caller's. */
rung_json_writer *rung__read_write(const rung_read *r);

#endif
