/* SPDX-License-Identifier: Apache-2.0 */
/* position.h - clients that wait for a position of the log: RUNG.WAITSEQ, RUNG.LATEST. */
#ifndef RUNG_FRONT_RESP_POSITION_H
#define RUNG_FRONT_RESP_POSITION_H

#include "base/fair.h"
#include "base/list.h"
#include "front/resp/session.h"

enum { RUNG__POSITIONS_MAX = 10000 };

/* All clients that wait, in the order of their deadlines. */
typedef struct rung__resp_positions {
    RUNG_LIST(rung__resp_position) all;
    rung_fair clients;
} rung__resp_positions;

/* The session closes: it waits no more, and is not answered. No effect if it does not wait. */
void rung__resp_position_drop(rung__resp_session *s);
/* Answer those whose time is over; true: some are left. */
bool rung__resp_positions_due(rung_resp *r);

#endif
