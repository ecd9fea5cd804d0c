/* SPDX-License-Identifier: Apache-2.0 */
/* forwarded.h - whom trusted proxies speak for: the client's address from X-Forwarded-For or Forwarded (RFC 7239).
 *
 * Each proxy appends the address it was called from, so only the end of the list can be trusted: it is read from its
 * end, past the proxies that are trusted themselves, up to the first address that is not. What stands before that is
 * whatever the client wrote. Pure; any thread. */
#ifndef RUNG_FRONT_HTTP_FORWARDED_H
#define RUNG_FRONT_HTTP_FORWARDED_H

#include "codec/http1.h"
#include "front/net/proxies.h"

typedef enum rung_forwarded_by {
    RUNG_FORWARDED_X_FORWARDED_FOR,
    RUNG_FORWARDED_FORWARDED,
    RUNG_FORWARDED_OFF, /* no header is looked at */
} rung_forwarded_by;

/* Replace `*address`, the connection's own, by the client's. An entry that is not an address ("unknown", a made-up
 * name, nonsense) ends the search: the client is then the last trusted proxy that was found. */
void rung_forwarded_find(const rung_head *head, const char *bytes, rung_forwarded_by by,
                         const rung_proxies *trusted, rung_address *address);

#endif
