/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - from parsed commands to their answers, or to their places in the hub's line. */
#ifndef RUNG_FRONT_RESP_DISPATCH_H
#define RUNG_FRONT_RESP_DISPATCH_H

#include "front/resp/session.h"

enum { RUNG__BATCH_MAX = 64 };

typedef struct rung__resp_parsed {
    uint32_t first, count; /* in r->args */
    size_t end;            /* in the bytes given */
    bool is_alike;         /* as the one before it, up to its key */
} rung__resp_parsed;

/* Execute commands until the session reads no more. Returns how many. */
uint32_t rung__resp_dispatch(rung__resp_call *call, const rung__resp_parsed *commands, uint32_t n);

#endif
