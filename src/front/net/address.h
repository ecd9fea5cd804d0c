/* SPDX-License-Identifier: Apache-2.0 */
/* address.h - where to listen: "127.0.0.1:7864", "[::1]:0", "localhost:80", "*:7864", "unix:/run/rung.sock".
 *
 * No name is ever looked up ("localhost" is 127.0.0.1, "*" is every IPv4 and IPv6 address). Port 0 lets the system
 * choose a free one; rung_net_listen() returns it. Plain values; any thread. */
#ifndef RUNG_FRONT_NET_ADDRESS_H
#define RUNG_FRONT_NET_ADDRESS_H

#include "base/slice.h"
#include "base/status.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define RUNG_ADDRESS_PATH_MAX 107 /* what a struct sockaddr_un holds besides the NUL */
#define RUNG_ADDRESS_TEXT_MAX 128 /* room for any address as text, with the NUL */

typedef struct rung_address {
    bool is_unix;
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        char path[RUNG_ADDRESS_PATH_MAX + 1];
    };
} rung_address;

/* RUNG_EINVAL says what was expected. A text without a port gets `default_port`. */
RUNG_NODISCARD rung_status rung_address_parse(rung_slice text, uint16_t default_port,
                                              rung_address *out, rung_err *err);

/* Read what proxies write about a client: 192.0.2.1, 192.0.2.1:443, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:443. No
 * names; without a port it is 0. */
bool rung_address_parse_ip(rung_slice text, rung_address *out);

/* Turn an IPv4 address that is mapped to IPv6 into that IPv4 address. */
void rung_address_unmap(rung_address *a);

/* The same form that rung_address_parse() takes. */
void rung_address_text(const rung_address *a, char text[RUNG_ADDRESS_TEXT_MAX]);

uint16_t rung_address_port(const rung_address *a); /* 0 for a unix socket */

/* Can it be reached from this machine only? A unix socket, 127.0.0.0/8, ::1. */
bool rung_address_is_local(const rung_address *a);

#endif
