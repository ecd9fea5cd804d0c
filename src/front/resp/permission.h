/* SPDX-License-Identifier: Apache-2.0 */
/* permission.h - who a session is and what it may do: the only file here that asks service/access. */
#ifndef RUNG_FRONT_RESP_PERMISSION_H
#define RUNG_FRONT_RESP_PERMISSION_H

#include "front/resp/session.h"

/* Forget the key, as on a new connection. */
void rung__resp_forget_who(rung__resp_session *s, int64_t now_ms);
/* AUTH; false: an error has been written. */
bool rung__resp_log_in(rung__resp_call *call, rung_slice user, rung_slice secret);

/* Must it show a key before anything else? */
bool rung__resp_is_stranger(rung__resp_session *s, int64_t now_ms);
/* May the session execute this command on these keys, now? With an error when not. */
bool rung__resp_is_permitted(rung__resp_call *call);
/* The same for a role on one board; RUNG_BOARDS_EACH: the role alone. */
bool rung__resp_has_role(rung__resp_session *s, rung_role role, rung_slice board, int64_t now_ms);
/* May it delete boards with their own rules? The state checks again when it applies the commands: a board may get its
 * rules in between. */
bool rung__resp_is_admin(rung__resp_session *s, int64_t now_ms);
/* Count `n` commands; false: over the rate limit. Finds out call->is_known on the way. */
bool rung__resp_is_within_rate(rung__resp_call *call, uint32_t n, rung_access_answer *why);
/* May it see every key? */
bool rung__resp_sees_all(const rung__resp_call *call);
/* How many it may see. */
uint64_t rung__resp_count_visible(const rung__resp_call *call);

/* False: the state has diverged from that of the other servers; the error has been written. */
bool rung__resp_is_served(rung__resp_call *call);

/* Answer the command. A player who is banned in the shadow sees their own entries. */
void rung__resp_reveal_and_answer(rung__resp_call *call);

#endif
