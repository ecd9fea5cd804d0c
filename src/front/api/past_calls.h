/* SPDX-License-Identifier: Apache-2.0 */
/* past_calls.h - shared inside the room: calls about the past, which a helper answers (service/as_of.h). */
#ifndef RUNG_FRONT_API_PAST_CALLS_H
#define RUNG_FRONT_API_PAST_CALLS_H

#include "front/api/call.h"

rung_status rung__past_create(rung_api *api, rung_err *err);

/* Relay a call that may be answered to the helper of that moment. The call is ended, now or later. */
void rung__past_ask(rung_call *c, rung_slice as_of);
/* The same for movers since so long before the last moment that they are kept for (service/movers.h). */
void rung__past_ask_since(rung_call *c, rung_slice since);

#endif
