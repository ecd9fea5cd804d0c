/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - which web pages may use the server: the whole policy about Origin and Host.
 *
 *  1. Pages of the configured origins may read and change (CORS). "*" is any page.
 *  2. Pages that this server sent may change, and open WebSockets, to which CORS does not apply.
 *  3. Without keys every client is an admin, so only pages of this machine may ask. DNS rebinding lets a foreign page
 * use our address under its own name: the browser then treats it as our page and sends no Origin with a read. So Host
 * must name this machine too.
 *
 * A request without Origin does not come from a page of another site, one without Host not from a browser. Pure. */
#ifndef RUNG_FRONT_HTTP_ORIGIN_H
#define RUNG_FRONT_HTTP_ORIGIN_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>

/* The value of Access-Control-Allow-Origin: "*", the origin itself when it is on the list, or nothing. The list ends
 * with NULL, and may be NULL. */
rung_slice rung_origin_allowed(const char *const *list, rung_slice origin);

/* Rules 1 and 2. `host` is that of the request. */
bool rung_origin_may_change(const char *const *list, rung_slice origin, rung_slice host);

/* http://localhost:3000 and the like; http://127.0.0.1, http://[::1]. */
bool rung_origin_is_local(rung_slice origin);

/* Rule 3, for a server without keys: RUNG_OK, or RUNG_EREFUSED with the reason RUNG_REASON_FORBIDDEN. On a unix socket
 * the Host means nothing. */
RUNG_NODISCARD rung_status rung_origin_check_local(rung_slice origin, rung_slice host, bool is_unix,
                                                   rung_err *err);

#endif
