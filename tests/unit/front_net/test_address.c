/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, both ways. */
#include "front/net/address.h"

#include "support/check.h"

static void good(const char *text, const char *back, bool is_local) {
    rung_address a;
    rung_err err;
    char again[RUNG_ADDRESS_TEXT_MAX];
    CHECK_OK(rung_address_parse(rung_slice_str(text), 7864, &a, &err));
    rung_address_text(&a, again);
    CHECK_EQ_STR(again, back);
    CHECK(rung_address_is_local(&a) == is_local);
}

static void bad(const char *text) {
    rung_address a;
    rung_err err;
    CHECK_MSG(rung_address_parse(rung_slice_str(text), 7864, &a, &err) == RUNG_EINVAL, "%s", text);
}

TEST(what_is_an_address) {
    good("127.0.0.1:7864", "127.0.0.1:7864", true);
    good("127.0.0.1", "127.0.0.1:7864", true);
    good("127.9.9.9:0", "127.9.9.9:0", true);
    good("0.0.0.0:80", "0.0.0.0:80", false);
    good("10.1.2.3:65535", "10.1.2.3:65535", false);
    good("localhost:1", "127.0.0.1:1", true);
    good("[::1]:0", "[::1]:0", true);
    good("[::1]", "[::1]:7864", true);
    good("[2001:db8::7]:99", "[2001:db8::7]:99", false);
    good("*:7864", "[::]:7864", false);
    good("unix:/run/rung.sock", "unix:/run/rung.sock", true);
}

TEST(what_is_none) {
    bad("");
    bad(":7864");
    bad("127.0.0.1:");
    bad("127.0.0.1:65536");
    bad("127.0.0.1:-1");
    bad("127.0.0.1:7864 ");
    bad("127.0.0.1:78 64");
    bad("127.0.0.256:1");
    bad("127.0.0:1");
    bad("::1");
    bad("::1:7864");
    bad("[::1");
    bad("[::1]7864");
    bad("[::1]]:1");
    bad("[127.0.0.1]:1");
    bad("[]:1");
    bad("example.com:80");
    bad("unix:");
    bad("unix:/a/path/that/is/longer/than/a/socket/address/can/hold/by/any/means/whatever/one/"
        "tries/to/do/about/it/"
        "really/it/is");
}

RUNG_TEST_MAIN
