/* SPDX-License-Identifier: Apache-2.0 */
/* Which proxies are trusted, and the PROXY header: good ones, bad ones, cut at every byte. */
#include "front/net/proxies.h"

#include "support/check.h"

#include <string.h>

static bool trusts(const char *list, const char *who) {
    rung_proxies p;
    rung_address a = {.is_unix = strcmp(who, "unix") == 0};
    CHECK_OK(rung_proxies_parse(rung_slice_str(list), &p, NULL));
    CHECK(a.is_unix || rung_address_parse_ip(rung_slice_str(who), &a));
    return rung_proxies_trust(&p, &a);
}

TEST(lists) {
    static const struct {
        const char *list, *who;
        bool is_trusted;
    } rows[] = {
        {"", "127.0.0.1", false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"127.0.0.1", "::ffff:127.0.0.1", true},
        {"10.0.0.0/8, 192.0.2.128/25", "10.255.1.2", true},
        {"10.0.0.0/8, 192.0.2.128/25", "192.0.2.129", true},
        {"10.0.0.0/8, 192.0.2.128/25", "192.0.2.127", false},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"0.0.0.0/0", "203.0.113.9", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"::1", "::1", true},
        {" unix ,::1,", "unix", true},
        {"::1", "unix", false},
        {"unix", "127.0.0.1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK_MSG(trusts(rows[i].list, rows[i].who) == rows[i].is_trusted, "%s, %s", rows[i].list,
                  rows[i].who);
}

TEST(lists_that_are_none) {
    static const char *const rows[] = {
        "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/8x", "localhost", "10.0.0.1:80",
        "a b",         "10.0.0", "[::1]:80",  "unix:/x",     "1/8",       "10.0.0.1 10.0.0.2"};
    rung_proxies p;
    char many[4096] = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rung_err err = {0};
        CHECK_MSG(rung_proxies_parse(rung_slice_str(rows[i]), &p, &err) == RUNG_EINVAL, "%s",
                  rows[i]);
        CHECK_EQ_STR(err.field, "trusted_proxies");
    }
    for (size_t i = 0; i <= RUNG_PROXIES_MAX; i++)
        memcpy(many + 9 * i, "10.0.0.1,", 9);
    CHECK_STATUS(rung_proxies_parse(rung_slice_str(many), &p, NULL), RUNG_ELIMIT);
}

TEST(addresses_of_clients) {
    static const struct {
        const char *text, *back; /* NULL: not an address */
    } rows[] = {
        {"192.0.2.1", "192.0.2.1:0"},
        {"192.0.2.1:443", "192.0.2.1:443"},
        {"2001:db8::1", "[2001:db8::1]:0"},
        {"[2001:db8::1]", "[2001:db8::1]:0"},
        {"[2001:db8::1]:443", "[2001:db8::1]:443"},
        {"::ffff:192.0.2.1", "192.0.2.1:0"},
        {"", NULL},
        {"unknown", NULL},
        {"_hidden", NULL},
        {"localhost", NULL},
        {"*", NULL},
        {"192.0.2.1:", NULL},
        {"192.0.2.1:x", NULL},
        {"192.0.2.1:65536", NULL},
        {"192.0.2", NULL},
        {"[::1", NULL},
        {"[::1]x", NULL},
        {"[]", NULL},
        {"[192.0.2.1]", NULL},
        {"fe80::1%eth0", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rung_address a;
        char text[RUNG_ADDRESS_TEXT_MAX];
        bool is_good = rung_address_parse_ip(rung_slice_str(rows[i].text), &a);
        CHECK_MSG(is_good == (rows[i].back != NULL), "%s", rows[i].text);
        if (!is_good)
            continue;
        rung_address_text(&a, text);
        CHECK_EQ_STR(text, rows[i].back);
    }
}

/* ---- the header ---- */

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

static void read_whole(rung_slice bytes, const char *client) {
    rung_proxy_header h;
    char text[RUNG_ADDRESS_TEXT_MAX];
    for (size_t len = 0; len < bytes.len; len++)
        CHECK_STATUS(rung_proxy_header_read(rung_slice_of(bytes.ptr, len), &h), RUNG_PARTIAL);
    CHECK_OK(rung_proxy_header_read(bytes, &h));
    CHECK_EQ_U64(h.size, bytes.len);
    CHECK(h.has_client == (client != NULL));
    if (!client)
        return;
    rung_address_text(&h.client, text);
    CHECK_EQ_STR(text, client);
}

#define READ(literal, client) read_whole(RUNG_SLICE(SIGNATURE literal), client)

TEST(headers) {
    READ("\x21\x11\x00\x0c\xcb\x00\x71\x07\xc0\x00\x02\x01\x04\xd2\x01\xbb", "203.0.113.7:1234");
    READ("\x21\x21\x00\x24\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"
         "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x04\xd2\x01\xbb",
         "[2001:db8::7]:1234");
    /* an extension behind the addresses */
    READ("\x21\x11\x00\x10\xcb\x00\x71\x07\xc0\x00\x02\x01\x04\xd2\x01\xbb\x04\x00\x01x",
         "203.0.113.7:1234");
    READ("\x20\x00\x00\x00", NULL); /* the proxy's own: a health check */
    READ("\x20\x11\x00\x0c\xcb\x00\x71\x07\xc0\x00\x02\x01\x04\xd2\x01\xbb", NULL);
    READ("\x21\x00\x00\x02xx", NULL); /* of an unknown kind */
    READ("\x21\x31\x00\x02xx", NULL); /* of a unix socket */
}

#define REFUSE(literal) CHECK_STATUS(rung_proxy_header_read(RUNG_SLICE(literal), &h), RUNG_EINVAL)

TEST(headers_that_are_none) {
    rung_proxy_header h;
    REFUSE("G");
    REFUSE("PROXY TCP4 203.0.113.7 192.0.2.1 1234 443\r\n");
    REFUSE("\r\n\r\n\0\r\nQUIT\r");
    REFUSE(SIGNATURE "\x11\x11\x00\x0c");                         /* version 1 */
    REFUSE(SIGNATURE "\x22\x11\x00\x0c");                         /* no such command */
    REFUSE(SIGNATURE "\x21\x12\x00\x0c");                         /* datagrams */
    REFUSE(SIGNATURE "\x21\x41\x00\x0c");                         /* no such family */
    REFUSE(SIGNATURE "\x21\x11\x00\x0b\xcb\x00\x71\x07\xc0\x00"); /* too short for IPv4 */
    REFUSE(SIGNATURE "\x21\x21\x00\x23");                         /* for IPv6 */
    REFUSE(SIGNATURE "\x21\x11\x08\x01");                         /* longer than allowed */
}

RUNG_TEST_MAIN
