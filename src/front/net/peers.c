/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - a hash table with chains. It grows and never shrinks: it has a few bytes per connection. */
#include "front/net/peers.h"

#include "base/assert.h"

#include <netinet/in.h>
#include <string.h>

enum { SLOTS_FIRST = 64 };

/* The first half of no IPv6 peer: a multicast address. */
#define IPV4_PREFIX ((uint64_t)0xfffffffe << 32)

uint64_t rung__peer_key(const struct sockaddr *address) {
    uint32_t ip4 = 0;
    uint64_t prefix = 0;
    if (address->sa_family == AF_INET) {
        memcpy(&ip4, &((const struct sockaddr_in *)(const void *)address)->sin_addr, sizeof ip4);
        return IPV4_PREFIX | ip4;
    }
    const struct in6_addr *ip6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(ip6)) {
        memcpy(&ip4, ip6->s6_addr + 12, sizeof ip4);
        return IPV4_PREFIX | ip4;
    }
    memcpy(&prefix, ip6->s6_addr, sizeof prefix);
    return prefix;
}

void rung__peers_deinit(rung__peers *p, const rung_alloc *a) {
    RUNG_ASSERT(!p->count);
    rung_alloc_free(a, p->slots, p->slot_count * sizeof *p->slots);
    *p = (rung__peers){0};
}

static rung__peer **slot_of(const rung__peers *p, uint64_t key) {
    return &p->slots[rung_hash_keyed(&p->hash, &key, sizeof key) & (p->slot_count - 1)];
}

/* Twice the slots. Without memory the chains grow longer, once there are any. */
static bool grow(rung__peers *p, const rung_alloc *a) {
    rung__peers bigger = {.slot_count = p->slot_count ? p->slot_count * 2 : SLOTS_FIRST,
                          .count = p->count,
                          .hash = p->hash};
    bigger.slots = rung_alloc_zeroed(a, bigger.slot_count * sizeof *bigger.slots);
    if (!bigger.slots)
        return p->slot_count > 0;
    for (uint32_t i = 0; i < p->slot_count; i++)
        for (rung__peer *peer = p->slots[i], *next; peer; peer = next) {
            rung__peer **slot = slot_of(&bigger, peer->key);
            next = peer->next;
            peer->next = *slot;
            *slot = peer;
        }
    rung_alloc_free(a, p->slots, p->slot_count * sizeof *p->slots);
    *p = bigger;
    return true;
}

rung__peer *rung__peers_join(rung__peers *p, const rung_alloc *a, const struct sockaddr *address) {
    if (p->count >= p->slot_count && !grow(p, a))
        return NULL;
    uint64_t key = rung__peer_key(address);
    rung__peer **slot = slot_of(p, key), *peer = *slot;
    while (peer && peer->key != key)
        peer = peer->next;
    if (!peer) {
        peer = rung_alloc_zeroed(a, sizeof *peer);
        if (!peer)
            return NULL;
        peer->key = key;
        peer->next = *slot;
        *slot = peer;
        p->count++;
    }
    peer->count++;
    return peer;
}

void rung__peers_leave(rung__peers *p, const rung_alloc *a, rung__peer *peer) {
    if (--peer->count)
        return;
    rung__peer **at = slot_of(p, peer->key);
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    p->count--;
    rung_alloc_free(a, peer, sizeof *peer);
}
