/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.c - a list of networks, and the binary header of the PROXY protocol:
 *
 *      0  12  signature
 *     12   1  version 2 (high half), command: 0 the proxy itself, 1 on behalf of a client
 *     13   1  address family: 1 IPv4, 2 IPv6, 3 unix (high half), transport: 1 stream (low half); 0 unspecified
 *     14   2  size of the rest, big-endian
 *     16      source and destination address, source and destination port, extensions, which are skipped */
#include "front/net/proxies.h"

#include <string.h>

/* As 16 bytes, in network order. */
static void widen(const rung_address *a, uint8_t out[16]) {
    if (a->any.sa_family == AF_INET6) {
        memcpy(out, &a->ip6.sin6_addr, 16);
        return;
    }
    memset(out, 0, 10);
    memset(out + 10, 0xFF, 2);
    memcpy(out + 12, &a->ip4.sin_addr, 4);
}

static bool is_same(const uint8_t *a, const uint8_t *b, uint32_t bits) {
    uint32_t bytes = bits / 8, rest = bits % 8;
    return memcmp(a, b, bytes) == 0 && (!rest || !((a[bytes] ^ b[bytes]) >> (8 - rest)));
}

/* ---- the list ---- */

static bool parse_bits(rung_slice text, uint32_t max, uint32_t *bits_out) {
    uint32_t bits = 0;
    if (text.len < 1 || text.len > 3)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        bits = bits * 10 + (uint32_t)(text.ptr[i] - '0');
    }
    *bits_out = bits;
    return bits <= max;
}

static rung_status add(rung_proxies *p, rung_slice entry, rung_err *err) {
    rung_address a;
    rung_slice host = entry;
    const char *slash = memchr(entry.ptr, '/', entry.len);
    if (rung_slice_eq(entry, RUNG_SLICE("unix"))) {
        p->has_unix = true;
        return RUNG_OK;
    }
    if (p->count == RUNG_PROXIES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "trusted_proxies", "more than %d entries",
                               RUNG_PROXIES_MAX);
    if (slash)
        host.len = (size_t)(slash - entry.ptr);
    bool is_good = rung_address_parse_ip(host, &a) && rung_address_port(&a) == 0;
    uint32_t max = is_good && a.any.sa_family == AF_INET ? 32 : 128, bits = max;
    if (is_good && slash)
        is_good = parse_bits(rung_slice_of(slash + 1, entry.len - host.len - 1), max, &bits);
    if (!is_good)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "trusted_proxies",
                               "expected addresses and networks such as 10.0.0.0/8, 192.0.2.1, "
                               "2001:db8::/32, or unix; got \"%.*s\"",
                               (int)(entry.len < 80 ? entry.len : 80), entry.ptr);
    widen(&a, p->networks[p->count].address);
    p->networks[p->count++].bits = (uint8_t)(bits + 128 - max);
    return RUNG_OK;
}

rung_status rung_proxies_parse(rung_slice text, rung_proxies *out, rung_err *err) {
    rung_proxies p = {0};
    rung_status st = RUNG_OK;
    for (const char *at = text.ptr, *end = at + text.len; st == RUNG_OK && at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        rung_slice entry = rung_slice_trim(at, comma ? comma : end);
        if (entry.len)
            st = add(&p, entry, err);
        at = comma ? comma + 1 : end;
    }
    if (st == RUNG_OK)
        *out = p;
    return st;
}

bool rung_proxies_trust(const rung_proxies *p, const rung_address *peer) {
    uint8_t address[16];
    if (peer->is_unix)
        return p->has_unix;
    widen(peer, address);
    for (uint32_t i = 0; i < p->count; i++)
        if (is_same(p->networks[i].address, address, p->networks[i].bits))
            return true;
    return false;
}

/* ---- the header ---- */

enum { FIXED = 16, SIGNATURE = 12, IP4 = 12, IP6 = 36 };

static const char signature[SIGNATURE + 1] = "\r\n\r\n\0\r\nQUIT\n";

static void read_client(const uint8_t *at, uint8_t family, size_t len, rung_proxy_header *out) {
    rung_address a = {0};
    if (family == 0x11 && len >= IP4) {
        a.ip4.sin_family = AF_INET;
        memcpy(&a.ip4.sin_addr, at, 4);
        memcpy(&a.ip4.sin_port, at + 8, 2);
    } else if (family == 0x21 && len >= IP6) {
        a.ip6.sin6_family = AF_INET6;
        memcpy(&a.ip6.sin6_addr, at, 16);
        memcpy(&a.ip6.sin6_port, at + 32, 2);
        rung_address_unmap(&a);
    } else {
        return;
    }
    out->has_client = true;
    out->client = a;
}

rung_status rung_proxy_header_read(rung_slice bytes, rung_proxy_header *out) {
    const uint8_t *b = (const uint8_t *)bytes.ptr;
    size_t known = bytes.len < SIGNATURE ? bytes.len : SIGNATURE;
    if (known && memcmp(b, signature, known) != 0)
        return RUNG_EINVAL;
    if (bytes.len < FIXED)
        return RUNG_PARTIAL;
    uint8_t version = b[12] >> 4, command = b[12] & 15, family = b[13];
    size_t len = (size_t)b[14] << 8 | b[15];
    bool is_known = family == 0 || ((family & 15) == 1 && family >> 4 >= 1 && family >> 4 <= 3);
    bool is_short = (family == 0x11 && len < IP4) || (family == 0x21 && len < IP6);
    if (version != 2 || command > 1 || FIXED + len > RUNG_PROXY_HEADER_MAX ||
        (command == 1 && (!is_known || is_short)))
        return RUNG_EINVAL;
    if (bytes.len < FIXED + len)
        return RUNG_PARTIAL;
    *out = (rung_proxy_header){.size = FIXED + len};
    if (command == 1)
        read_client(b + FIXED, family, len, out);
    return RUNG_OK;
}
