/* SPDX-License-Identifier: Apache-2.0 */
/* What connections are counted by: an IPv4 address, however it is written, or the network of an IPv6 one. */
#include "front/net/peers.h"

#include "support/check.h"

#include <arpa/inet.h>

static uint64_t key4(const char *text) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    CHECK(inet_pton(AF_INET, text, &a.sin_addr) == 1);
    return rung__peer_key((const struct sockaddr *)&a);
}

static uint64_t key6(const char *text) {
    struct sockaddr_in6 a = {.sin6_family = AF_INET6};
    CHECK(inet_pton(AF_INET6, text, &a.sin6_addr) == 1);
    return rung__peer_key((const struct sockaddr *)&a);
}

TEST(an_address_is_counted_by_who_has_it) {
    CHECK_EQ_U64(key4("10.0.0.1"), key4("10.0.0.1"));
    CHECK(key4("10.0.0.1") != key4("10.0.0.2"));
    CHECK_EQ_U64(key6("::ffff:10.0.0.1"), key4("10.0.0.1"));
    CHECK_EQ_U64(key6("2001:db8:1:2::1"), key6("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    CHECK(key6("2001:db8:1:2::1") != key6("2001:db8:1:3::1"));
    CHECK(key6("::1") != key4("127.0.0.1"));
}

RUNG_TEST_MAIN
