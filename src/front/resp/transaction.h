/* SPDX-License-Identifier: Apache-2.0 */
/* transaction.h - MULTI, EXEC and WATCH. */
#ifndef RUNG_FRONT_RESP_TRANSACTION_H
#define RUNG_FRONT_RESP_TRANSACTION_H

#include "front/resp/session.h"

/* Queue a command between MULTI and EXEC. */
void rung__resp_transaction_queue(rung__resp_call *call);
/* A command between MULTI and EXEC was wrong: EXEC will be refused. */
void rung__resp_transaction_spoil(rung__resp_session *s);
/* EXEC was refused by the error written from `mark` on: end the transaction, reply EXECABORT with that reason. */
void rung__resp_transaction_abort(rung__resp_call *call, size_t mark);
/* Forget what was queued and what is watched. */
void rung__resp_transaction_clear(rung__resp_session *s);

#endif
