/* SPDX-License-Identifier: Apache-2.0 */
/* address.c - texts of addresses, both ways. */
#include "front/net/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static bool parse_port(rung_slice text, uint16_t *port_out) {
    uint32_t port = 0;
    if (text.len < 1 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        port = port * 10 + (uint32_t)(text.ptr[i] - '0');
    }
    *port_out = (uint16_t)port;
    return port <= UINT16_MAX;
}

static rung_status parse_path(rung_slice path, rung_address *out, rung_err *err) {
    if (path.len < 1 || path.len > RUNG_ADDRESS_PATH_MAX || memchr(path.ptr, 0, path.len))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "address",
                               "expected unix: and a path of 1 to %d bytes, got %zu",
                               RUNG_ADDRESS_PATH_MAX, path.len);
    out->is_unix = true;
    memcpy(out->path, path.ptr, path.len);
    return RUNG_OK;
}

/* The first character of an address, not of a name. */
static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The host as a number; IPv6 with its brackets taken off. */
static bool parse_host(rung_slice host, bool is_bracketed, rung_address *out) {
    char text[INET6_ADDRSTRLEN];
    if (rung_slice_eq(host, RUNG_SLICE("*")) && !is_bracketed) {
        out->ip6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
        return true;
    }
    if (rung_slice_eq(host, RUNG_SLICE("localhost")) && !is_bracketed)
        host = RUNG_SLICE("127.0.0.1");
    if (host.len >= sizeof text)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = 0;
    if (strlen(text) != host.len)
        return false;
    out->any.sa_family = is_bracketed ? AF_INET6 : AF_INET;
    void *to = is_bracketed ? (void *)&out->ip6.sin6_addr : (void *)&out->ip4.sin_addr;
    return inet_pton(out->any.sa_family, text, to) == 1;
}

rung_status rung_address_parse(rung_slice text, uint16_t default_port, rung_address *out,
                               rung_err *err) {
    rung_address a = {0};
    rung_slice host = text, port = {0};
    bool is_bracketed = text.len > 0 && text.ptr[0] == '[';
    if (text.len >= 5 && memcmp(text.ptr, "unix:", 5) == 0) {
        rung_status st = parse_path(rung_slice_of(text.ptr + 5, text.len - 5), &a, err);
        if (st == RUNG_OK)
            *out = a;
        return st;
    }
    const char *end = is_bracketed ? memchr(text.ptr, ']', text.len) : text.ptr;
    const char *colon =
        end && text.len ? memchr(end, ':', text.len - (size_t)(end - text.ptr)) : NULL;
    if (colon) {
        host.len = (size_t)(colon - text.ptr);
        port = rung_slice_of(colon + 1, text.len - host.len - 1);
    }
    if (is_bracketed && end && host.ptr + host.len == end + 1)
        host = rung_slice_of(host.ptr + 1, host.len - 2);
    else if (is_bracketed)
        host.len = 0;
    uint16_t number = default_port;
    if ((colon && !parse_port(port, &number)) || !host.len || !parse_host(host, is_bracketed, &a))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "address",
                               "expected 127.0.0.1:7864, [::1]:7864, localhost:7864, *:7864 or "
                               "unix:/path, got \"%.*s\"",
                               (int)(text.len < 80 ? text.len : 80), text.ptr);
    if (a.any.sa_family == AF_INET)
        a.ip4.sin_port = htons(number);
    else
        a.ip6.sin6_port = htons(number);
    *out = a;
    return RUNG_OK;
}

bool rung_address_parse_ip(rung_slice text, rung_address *out) {
    rung_address a = {0};
    uint16_t port = 0;
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    bool is_bracketed = text.len > 0 && text.ptr[0] == '[';
    bool is_bare6 =
        !is_bracketed && colon && memchr(colon + 1, ':', text.len - (size_t)(colon + 1 - text.ptr));
    if (is_bracketed) {
        const char *end = memchr(text.ptr, ']', text.len);
        if (!end)
            return false;
        colon = end + 1 < text.ptr + text.len ? end + 1 : NULL;
        if (colon && *colon != ':')
            return false;
    } else if (is_bare6) {
        colon = NULL;
    }
    rung_slice host = text;
    if (colon) {
        host.len = (size_t)(colon - text.ptr);
        if (!parse_port(rung_slice_of(colon + 1, text.len - host.len - 1), &port))
            return false;
    }
    if (is_bracketed)
        host = rung_slice_of(host.ptr + 1, host.len - 2);
    if (!host.len || (host.ptr[0] != ':' && !is_hex(host.ptr[0])) ||
        !parse_host(host, is_bracketed || is_bare6, &a))
        return false;
    if (a.any.sa_family == AF_INET)
        a.ip4.sin_port = htons(port);
    else
        a.ip6.sin6_port = htons(port);
    rung_address_unmap(&a);
    *out = a;
    return true;
}

void rung_address_unmap(rung_address *a) {
    if (a->is_unix || a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->ip6.sin6_addr))
        return;
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = a->ip6.sin6_port};
    memcpy(&ip4.sin_addr, a->ip6.sin6_addr.s6_addr + 12, sizeof ip4.sin_addr);
    *a = (rung_address){.ip4 = ip4};
}

void rung_address_text(const rung_address *a, char text[RUNG_ADDRESS_TEXT_MAX]) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (a->is_unix) {
        snprintf(text, RUNG_ADDRESS_TEXT_MAX, "unix:%s", a->path);
        return;
    }
    bool is_ip4 = a->any.sa_family == AF_INET;
    const void *from = is_ip4 ? (const void *)&a->ip4.sin_addr : (const void *)&a->ip6.sin6_addr;
    inet_ntop(a->any.sa_family, from, host, sizeof host);
    snprintf(text, RUNG_ADDRESS_TEXT_MAX, is_ip4 ? "%s:%u" : "[%s]:%u", host,
             (unsigned)rung_address_port(a));
}

uint16_t rung_address_port(const rung_address *a) {
    if (a->is_unix)
        return 0;
    return ntohs(a->any.sa_family == AF_INET ? a->ip4.sin_port : a->ip6.sin6_port);
}

bool rung_address_is_local(const rung_address *a) {
    if (a->is_unix)
        return true;
    if (a->any.sa_family == AF_INET)
        return ntohl(a->ip4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->ip6.sin6_addr);
}
