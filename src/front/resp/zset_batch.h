/* SPDX-License-Identifier: Apache-2.0 */
/* zset_batch.h - questions of one kind about one key, answered together. */
#ifndef RUNG_FRONT_RESP_ZSET_BATCH_H
#define RUNG_FRONT_RESP_ZSET_BATCH_H

#include "front/resp/call.h"

/* Can this command, which has RUNG__BATCH, be answered together with others of its kind, of the same key and with as
 * many arguments? */
bool rung__resp_can_batch(const rung__resp_command *c, const rung_slice *argv, uint32_t argc);
/* Answer n such, argvs[0 .. n), the first of which can be. Returns how many were answered: fewer where one of them has
 * to be answered by itself. */
uint32_t rung__resp_answer_batch(rung__resp_call *call, uint32_t n, const rung_slice *const *argvs);

#endif
