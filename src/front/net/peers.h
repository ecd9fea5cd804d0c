/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - how many connections each address has.
 *
 * An address is an IPv4 address, or the first 64 bits of an IPv6 one: a host has a whole /64. Only addresses with open
 * connections are kept, so there are never more of them than connections. The zero value is empty. Private to
 * front/net. */
#ifndef RUNG_FRONT_NET_PEERS_H
#define RUNG_FRONT_NET_PEERS_H

#include "base/alloc.h"
#include "base/hash.h"

#include <stdint.h>
#include <sys/socket.h>

typedef struct rung__peer {
    struct rung__peer *next; /* of its slot */
    uint64_t key;
    uint32_t count; /* of connections */
} rung__peer;

typedef struct rung__peers {
    rung__peer **slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t count;      /* of addresses */
    rung_hash_key hash;  /* secret, set by the owner: peers cannot choose a slot */
} rung__peers;

void rung__peers_deinit(rung__peers *p, const rung_alloc *a);

/* One connection more of that address; NULL: no memory. */
rung__peer *rung__peers_join(rung__peers *p, const rung_alloc *a, const struct sockaddr *address);
/* One less; the last one takes the peer with it. */
void rung__peers_leave(rung__peers *p, const rung_alloc *a, rung__peer *peer);

/* What an address is counted by. */
uint64_t rung__peer_key(const struct sockaddr *address);

#endif
