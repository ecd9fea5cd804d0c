/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.h - the proxies whose word on a client's address is taken, and the PROXY protocol, version 2, in which they
 * may give it.
 *
 *     rung_proxies_parse(RUNG_SLICE("10.0.0.0/8, ::1, unix"), &proxies, &err);
 *     if (rung_proxies_trust(&proxies, &peer))
 *         ... it may say whom it speaks for
 *
 * Nothing is trusted unless it is listed: an address, a network, or "unix" for all unix sockets. Pure; any thread. */
#ifndef RUNG_FRONT_NET_PROXIES_H
#define RUNG_FRONT_NET_PROXIES_H

#include "base/slice.h"
#include "base/status.h"
#include "front/net/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_PROXIES_MAX 64

/* Networks of IPv6; one of IPv4 is its mapped form. */
typedef struct rung_proxies {
    uint32_t count;
    bool has_unix;
    struct {
        uint8_t address[16];
        uint8_t bits;
    } networks[RUNG_PROXIES_MAX];
} rung_proxies;

/* Read a list with commas between: addresses, networks such as 10.0.0.0/8, the word unix. An empty list is fine.
 * RUNG_EINVAL names the entry, RUNG_ELIMIT: too many; the field is trusted_proxies. */
RUNG_NODISCARD rung_status rung_proxies_parse(rung_slice text, rung_proxies *out, rung_err *err);

bool rung_proxies_trust(const rung_proxies *p, const rung_address *peer);

/* ---- the PROXY protocol, version 2 ---- */

#define RUNG_PROXY_HEADER_MAX (16 + 2048) /* with its extensions; longer ones are refused */

typedef struct rung_proxy_header {
    size_t size; /* bytes that it takes */
    /* The client. False: the proxy speaks for itself (a health check), or of a client that has no such address. */
    bool has_client;
    rung_address client;
} rung_proxy_header;

/* RUNG_OK; RUNG_PARTIAL: more bytes are needed; RUNG_EINVAL: not such a header. */
RUNG_NODISCARD rung_status rung_proxy_header_read(rung_slice bytes, rung_proxy_header *out);

#endif
