/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - the places for connections: common ones, reserved ones, and how many each address has. */
#include "front/net/conn.h"

#include <string.h>

void rung__conn_leave_place(rung_conn *c) {
    rung_net *n = c->net;
    if (c->place == RUNG__PLACE_COMMON) {
        n->common_count--;
    } else if (rung_conn_is_reserved(c)) {
        RUNG_LIST_REMOVE(&n->reserved, c, reserved);
        n->stats.reserved--;
    } else if (c->place == RUNG__PLACE_TOLD) {
        n->told_count--;
    }
    if (c->peer)
        rung__peers_leave(&n->peers, n->config.alloc, c->peer);
    c->place = RUNG__PLACE_NONE;
    c->peer = NULL;
}

static uint32_t common_max(const rung_net *n, const rung_protocol *protocol) {
    uint32_t reserved = n->config.connections_reserved;
    return n->config.connections_max - (protocol->has_reserve ? reserved : 2 * reserved);
}

bool rung_net_is_crowded(const rung_net *n, const rung_protocol *protocol) {
    uint32_t max = common_max(n, protocol);
    return n->common_count >= max - max / 8;
}

/* Find a free reserved place, or free one: the oldest connection that has not claimed its place is closed. */
static bool find_reserved(rung_net *n) {
    if (n->stats.reserved < n->config.connections_reserved)
        return true;
    for (rung_conn *c = n->reserved.first; c; c = c->reserved.next)
        if (c->place != RUNG__PLACE_CLAIMED || c->state >= RUNG__CONN_FINISHING) {
            rung__conn_close(c, true);
            return true;
        }
    return false;
}

static void take_reserved(rung_conn *c) {
    rung_net *n = c->net;
    c->place = RUNG__PLACE_RESERVED;
    RUNG_LIST_APPEND(&n->reserved, c, reserved);
    n->stats.reserved++;
}

/* Of the connection. An IPv4 address mapped to IPv6 counts as IPv4. */
static bool socket_address(const rung_conn *c, rung_address *out) {
    struct sockaddr_storage raw = {0};
    *out = (rung_address){.is_unix = rung_conn_is_unix(c)};
    if (out->is_unix)
        return true;
    if (rung__conn_ops(c)->peer(rung__conn_stream(c), &raw) != 0)
        return false;
    if (raw.ss_family == AF_INET)
        memcpy(&out->ip4, &raw, sizeof out->ip4);
    else
        memcpy(&out->ip6, &raw, sizeof out->ip6);
    rung_address_unmap(out);
    return true;
}

bool rung_conn_address(const rung_conn *c, rung_address *out) {
    if (!c->client.any.sa_family)
        return socket_address(c, out);
    *out = (rung_address){.ip6 = c->client.ip6};
    return true;
}

static bool is_trusted(const rung_conn *c, const rung_address *from) {
    const rung_proxies *p = c->net->config.proxies;
    return p && rung_proxies_trust(p, from);
}

bool rung__conn_awaits_header(const rung_conn *c) {
    rung_address from;
    return c->net->config.needs_proxy_header && socket_address(c, &from) && is_trusted(c, &from);
}

/* Count the connection for that address, unless it is a proxy's; false: no memory. */
static bool join_peer(rung_conn *c, const rung_address *from) {
    rung_net *n = c->net;
    c->peer_key = rung_address_key(from);
    if (from->is_unix || !n->config.per_address_max || is_trusted(c, from) ||
        (!n->config.counts_loopback && rung_address_is_local(from)))
        return true;
    c->peer = rung__peers_join(&n->peers, n->config.alloc, &from->any);
    return c->peer != NULL;
}

static bool is_one_too_many(const rung_conn *c) {
    return c->peer && c->peer->count > c->net->config.per_address_max;
}

bool rung__conn_set_client(rung_conn *c, const rung_address *client) {
    c->client.ip6 = client->ip6;
    if (!join_peer(c, client))
        return false;
    c->net->stats.refused_address += is_one_too_many(c);
    return !is_one_too_many(c);
}

bool rung__conn_find_place(rung_conn *c) {
    rung_net *n = c->net;
    rung_address from;
    if (!socket_address(c, &from) || !join_peer(c, &from))
        return false;
    bool is_over = is_one_too_many(c);
    if (!is_over && n->common_count < common_max(n, c->protocol)) {
        c->place = RUNG__PLACE_COMMON;
        n->common_count++;
        return true;
    }
    if (c->protocol->has_reserve && n->config.connections_reserved && find_reserved(n)) {
        take_reserved(c);
        return true;
    }
    n->stats.refused_address += is_over;
    return false;
}

void rung_conn_claim(rung_conn *c) {
    if (c->place == RUNG__PLACE_RESERVED)
        c->place = RUNG__PLACE_CLAIMED;
}

bool rung_conn_is_reserved(const rung_conn *c) {
    return c->place == RUNG__PLACE_RESERVED || c->place == RUNG__PLACE_CLAIMED;
}

rung_slice rung_conn_peer_key(const rung_conn *c) {
    return rung_slice_of((const char *)&c->peer_key, sizeof c->peer_key);
}

bool rung_conn_is_unix(const rung_conn *c) {
    return rung__conn_stream(c)->is_unix;
}

void rung_conn_peer(const rung_conn *c, char text[RUNG_ADDRESS_TEXT_MAX]) {
    rung_address a;
    text[0] = 0;
    if (rung_conn_address(c, &a))
        rung_address_text(&a, text);
}

uint64_t rung_address_key(const rung_address *a) {
    return a->is_unix ? 0 : rung__peer_key(&a->any);
}
