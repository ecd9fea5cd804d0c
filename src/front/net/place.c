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

/* An IPv4 address mapped to IPv6 counts as IPv4. */
static bool peer_address(const rung_conn *c, rung_address *out) {
    struct sockaddr_storage raw = {0};
    *out = (rung_address){0};
    if (rung__conn_ops(c)->peer(rung__conn_stream(c), &raw) != 0)
        return false;
    if (raw.ss_family == AF_INET)
        memcpy(&out->ip4, &raw, sizeof out->ip4);
    else
        memcpy(&out->ip6, &raw, sizeof out->ip6);
    if (raw.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&out->ip6.sin6_addr)) {
        struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = out->ip6.sin6_port};
        memcpy(&ip4.sin_addr, out->ip6.sin6_addr.s6_addr + 12, sizeof ip4.sin_addr);
        out->ip4 = ip4;
    }
    return true;
}

/* Count the connection for its address; false: no memory, or the peer has gone. */
static bool join_peer(rung_conn *c) {
    rung_net *n = c->net;
    rung_address from;
    if (rung_conn_is_unix(c))
        return true;
    if (!peer_address(c, &from))
        return false;
    c->peer_key = rung__peer_key(&from.any);
    if (!n->config.per_address_max || (!n->config.counts_loopback && rung_address_is_local(&from)))
        return true;
    c->peer = rung__peers_join(&n->peers, n->config.alloc, &from.any);
    return c->peer != NULL;
}

bool rung__conn_find_place(rung_conn *c) {
    rung_net *n = c->net;
    if (!join_peer(c))
        return false;
    bool is_one_too_many = c->peer && c->peer->count > n->config.per_address_max;
    if (!is_one_too_many && n->common_count < common_max(n, c->protocol)) {
        c->place = RUNG__PLACE_COMMON;
        n->common_count++;
        return true;
    }
    if (c->protocol->has_reserve && n->config.connections_reserved && find_reserved(n)) {
        take_reserved(c);
        return true;
    }
    n->stats.refused_address += is_one_too_many;
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
    memcpy(text, "unix:", 6);
    if (rung_conn_is_unix(c))
        return;
    text[0] = 0;
    if (peer_address(c, &a))
        rung_address_text(&a, text);
}
