/* SPDX-License-Identifier: Apache-2.0 */
/* The client's address from what proxies and clients write into headers. */
#include "front/http/forwarded.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

/* Proxies: 10.0.0.0/8. The connection comes from `peer`; `fields` are whole header lines. */
static void expect(const char *peer, rung_forwarded_by by, const char *fields, const char *client) {
    static const rung_head_limits limits = {65535, 8192, 64};
    char bytes[8192], text[RUNG_ADDRESS_TEXT_MAX];
    rung_proxies trusted;
    rung_address a;
    rung_head head = {0};
    rung_head_problem problem;
    size_t size;
    int len = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n", fields);
    CHECK_OK(rung_head_parse(&head, &limits, rung_slice_of(bytes, (size_t)len), &size, &problem));
    CHECK_OK(rung_proxies_parse(RUNG_SLICE("10.0.0.0/8"), &trusted, NULL));
    CHECK(rung_address_parse_ip(rung_slice_str(peer), &a));
    rung_forwarded_find(&head, bytes, by, &trusted, &a);
    rung_address_text(&a, text);
    CHECK_EQ_STR(text, client);
}

TEST(x_forwarded_for) {
    rung_forwarded_by by = RUNG_FORWARDED_X_FORWARDED_FOR;
    expect("10.0.0.1", by, "X-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7:0");
    expect("10.0.0.1", by, "", "10.0.0.1:0");
    expect("10.0.0.1", by, "X-Forwarded-For:\r\n", "10.0.0.1:0");
    /* what a client writes before is not believed */
    expect("10.0.0.1", by, "X-Forwarded-For: 1.1.1.1, 10.0.0.9, 203.0.113.7\r\n", "203.0.113.7:0");
    expect("10.0.0.1", by, "X-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: 203.0.113.7\r\n",
           "203.0.113.7:0");
    /* a chain of proxies */
    expect("10.0.0.1", by, "X-Forwarded-For: 203.0.113.7 ,10.0.0.3,\t10.0.0.2\r\n",
           "203.0.113.7:0");
    expect("10.0.0.1", by, "X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n", "10.0.0.3:0");
    /* nonsense ends the search */
    expect("10.0.0.1", by, "X-Forwarded-For: 203.0.113.7, unknown, 10.0.0.2\r\n", "10.0.0.2:0");
    expect("10.0.0.1", by, "X-Forwarded-For: 203.0.113.7,\r\n", "10.0.0.1:0");
    expect("10.0.0.1", by, "X-Forwarded-For: [2001:db8::7]:443\r\n", "[2001:db8::7]:443");
    expect("10.0.0.1", by, "X-Forwarded-For: 2001:db8::7\r\n", "[2001:db8::7]:0");
    /* a quote that a client opened hides nothing */
    expect("10.0.0.1", by, "X-Forwarded-For: \", 203.0.113.7\r\n", "203.0.113.7:0");
    expect("10.0.0.1", by, "X-Forwarded-For: \"a\\\", \", 203.0.113.7\r\n", "203.0.113.7:0");
    /* the other header is not looked at */
    expect("10.0.0.1", by, "Forwarded: for=203.0.113.7\r\n", "10.0.0.1:0");
}

TEST(nobody_else_is_heard) {
    expect("192.0.2.1", RUNG_FORWARDED_X_FORWARDED_FOR, "X-Forwarded-For: 203.0.113.7\r\n",
           "192.0.2.1:0");
    expect("192.0.2.1", RUNG_FORWARDED_FORWARDED, "Forwarded: for=203.0.113.7\r\n", "192.0.2.1:0");
    expect("10.0.0.1", RUNG_FORWARDED_OFF,
           "X-Forwarded-For: 203.0.113.7\r\nForwarded: for=203.0.113.7\r\n", "10.0.0.1:0");
}

TEST(forwarded) {
    rung_forwarded_by by = RUNG_FORWARDED_FORWARDED;
    /* a quote that a client opened hides nothing */
    expect("10.0.0.1", by, "Forwarded: for=\"x, for=203.0.113.7\r\n", "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: for=\"x\\, for=\"203.0.113.7\";proto=https\r\n",
           "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: for=203.0.113.7\r\n", "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: proto=https;For=203.0.113.7;by=10.0.0.1\r\n",
           "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: for=\"[2001:db8::7]:443\"\r\n", "[2001:db8::7]:443");
    expect("10.0.0.1", by, "Forwarded: for=1.1.1.1, for=203.0.113.7 ;proto=http, for=10.0.0.2\r\n",
           "203.0.113.7:0");
    /* separators inside quotes belong to the text */
    expect("10.0.0.1", by, "Forwarded: for=203.0.113.7;host=\"a,for=1.1.1.1\"\r\n",
           "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: host=\"a\\\";for=1.1.1.1\";for=203.0.113.7\r\n",
           "203.0.113.7:0");
    expect("10.0.0.1", by, "Forwarded: for=unknown\r\n", "10.0.0.1:0");
    expect("10.0.0.1", by, "Forwarded: for=\"_secret\"\r\n", "10.0.0.1:0");
    expect("10.0.0.1", by, "Forwarded: proto=https\r\n", "10.0.0.1:0");
    expect("10.0.0.1", by, "Forwarded: for=\"203.0.113.7\r\n", "10.0.0.1:0");
}

/* A list that is longer than any chain of proxies: its end counts. */
TEST(a_very_long_list) {
    char fields[4096];
    int len = snprintf(fields, sizeof fields, "X-Forwarded-For: 1.1.1.1");
    for (int i = 0; i < 100; i++)
        len += snprintf(fields + len, sizeof fields - (size_t)len, ", 10.0.0.2");
    snprintf(fields + len, sizeof fields - (size_t)len, "\r\n");
    expect("10.0.0.1", RUNG_FORWARDED_X_FORWARDED_FOR, fields, "10.0.0.2:0");
}

RUNG_TEST_MAIN
