/* SPDX-License-Identifier: Apache-2.0 */
/* Heads and chunked bodies: what is accepted, what is refused and how, at every split. */
#include "codec/http1.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

static const rung_head_limits limits = {.size_max = 2048, .target_max = 200, .fields_max = 8};

/* Parse `text` given whole, and again byte by byte: both must agree. */
static rung_status parse(const char *text, rung_head *head, size_t *size, rung_head_problem *p) {
    size_t len = strlen(text);
    rung_head whole = {0}, grown = {0};
    rung_head_problem whole_problem = {0}, grown_problem = {0};
    size_t whole_size = 0, grown_size = 0;
    rung_status st = rung_head_parse(&whole, &limits, rung_slice_of(text, len), &whole_size,
                                     &whole_problem),
                again = RUNG_PARTIAL;
    for (size_t n = 1; n <= len && again == RUNG_PARTIAL; n++)
        again =
            rung_head_parse(&grown, &limits, rung_slice_of(text, n), &grown_size, &grown_problem);
    CHECK_EQ_I64(again, st);
    CHECK_EQ_I64(grown_problem.status, whole_problem.status);
    if (st == RUNG_OK) {
        CHECK_EQ_U64(grown_size, whole_size);
        CHECK(memcmp(&grown, &whole, sizeof whole) == 0);
    }
    *head = whole;
    *size = whole_size;
    *p = whole_problem;
    return st;
}

static void good(const char *text, const char *path, const char *query) {
    rung_head h;
    size_t size;
    rung_head_problem p;
    rung_status st = parse(text, &h, &size, &p);
    CHECK_MSG(st == RUNG_OK, "%s: %d %s", text, p.status, p.detail);
    CHECK_EQ_U64(size, strlen(text));
    CHECK(rung_slice_eq(rung_head_slice(text, h.path), rung_slice_str(path)));
    CHECK(rung_slice_eq(rung_head_slice(text, h.query), rung_slice_str(query)));
}

static void bad(const char *text, int status) {
    rung_head h;
    size_t size;
    rung_head_problem p;
    rung_status st = parse(text, &h, &size, &p);
    CHECK_MSG(st == RUNG_EINVAL, "accepted: %s", text);
    CHECK_MSG(p.status == status, "%s: %d instead of %d (%s)", text, p.status, status, p.detail);
    CHECK(p.code && p.detail);
}

#define H "Host: x\r\n"

TEST(good_heads) {
    good("GET / HTTP/1.1\r\n" H "\r\n", "/", "");
    good("\r\nGET / HTTP/1.1\r\n" H "\r\n", "/", "");
    good("GET /a/b%2Fc?x=1&y=%20 HTTP/1.1\r\n" H "\r\n", "/a/b%2Fc", "x=1&y=%20");
    good("GET /? HTTP/1.1\r\n" H "\r\n", "/", "");
    good("GET //a//b HTTP/1.1\r\n" H "\r\n", "//a//b", "");
    good("GET /a?b?c HTTP/1.1\r\n" H "\r\n", "/a", "b?c");
    good("OPTIONS * HTTP/1.1\r\n" H "\r\n", "*", "");
    good("GET http://x/a?b HTTP/1.1\r\n" H "\r\n", "/a", "b");
    good("GET HTTPS://x/ HTTP/1.1\r\n" H "\r\n", "/", "");
    good("GET / HTTP/1.0\r\n\r\n", "/", "");
    good("PROPFIND / HTTP/1.1\r\n" H "\r\n", "/", "");
    good("GET / HTTP/1.1\r\nhOsT: x\r\n\r\n", "/", "");
    good("GET / HTTP/1.1\r\nHost:x\r\nA:\r\nB: \t \r\n\r\n", "/", "");
    good("GET / HTTP/1.1\r\nHost: [::1]:7864\r\nA: caf\xc3\xa9\r\n\r\n", "/", "");
    good("POST / HTTP/1.1\r\n" H "Content-Length: 00012\r\n\r\n", "/", "");
    good("POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked \r\n\r\n", "/", "");
}

TEST(the_request_line_is_strict) {
    bad("GET  / HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /  HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET\t/ HTTP/1.1\r\n" H "\r\n", 400);
    bad(" GET / HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET / HTTP/1.1 \r\n" H "\r\n", 400);
    bad("GET /\r\n" H "\r\n", 400);
    bad("GET /a b HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET / HTTP/1.1\n" H "\r\n", 400);
    bad("GET / http/1.1\r\n" H "\r\n", 400);
    bad("GET / HTTP/1.10\r\n" H "\r\n", 400);
    bad("GET / HTTP/11\r\n" H "\r\n", 400);
    bad("GET / HTTP/+1.1\r\n" H "\r\n", 400);
    bad("GET / HTTP/2.0\r\n" H "\r\n", 505);
    bad("GET / HTTP/1.2\r\n" H "\r\n", 505);
    bad("GET / HTTP/0.9\r\n" H "\r\n", 505);
    bad("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
    bad("G(T / HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET a HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET * HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /a#b HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /a\x01 HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /\x7f HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /caf\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET /<x> HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET ftp://x/ HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET http:///a HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET http://x HTTP/1.1\r\n" H "\r\n", 400);
    bad("GET http://u@x/ HTTP/1.1\r\nHost: u@x\r\n\r\n", 400);
    bad("GET http://y/ HTTP/1.1\r\n" H "\r\n", 400);
    bad("CONNECT x:443 HTTP/1.1\r\n" H "\r\n", 501);
    bad("\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", 400);
    bad("\nGET / HTTP/1.1\r\n" H "\r\n", 400);
    bad("\x16\x03\x01\x02", 400);
    bad("GET / HTTP/1.1\rX" H "\r\n", 400);
}

TEST(header_fields_are_strict) {
    bad("GET / HTTP/1.1\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H H "\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost\t: x\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\nHost\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n: x\r\n" H "\r\n", 400);
    bad("GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H " folded\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "\tfolded\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A: b\nC: d\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A: b\rC: d\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A: b\r\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A: \x01\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A: \x7f\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "A(: b\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "\xc3\xa9: b\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "\n", 400);
    bad("GET / HTTP/1.1\r\n" H "Authorization: a\r\nauthorization: b\r\n\r\n", 400);
    bad("GET / HTTP/1.1\r\n" H "Expect: 200-maybe\r\n\r\n", 417);
    bad("GET / HTTP/1.1\r\n" H "1:\r\n2:\r\n3:\r\n4:\r\n5:\r\n6:\r\n7:\r\n8:\r\n\r\n", 431);
}

TEST(there_is_one_way_to_frame_a_body) {
#define POST "POST / HTTP/1.1\r\n" H
    bad(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400);
    bad(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400);
    bad(POST "Content-Length: 5, 5\r\n\r\n", 400);
    bad(POST "Content-Length: +5\r\n\r\n", 400);
    bad(POST "Content-Length: -5\r\n\r\n", 400);
    bad(POST "Content-Length: 0x5\r\n\r\n", 400);
    bad(POST "Content-Length: 5 5\r\n\r\n", 400);
    bad(POST "Content-Length: 5;\r\n\r\n", 400);
    bad(POST "Content-Length: \r\n\r\n", 400);
    bad(POST "Content-Length: 9999999999999999999\r\n\r\n", 400);
    bad(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    bad(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400);
    bad(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    bad(POST "Transfer-Encoding: identity\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: chunked, identity\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: xchunked\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: chunked;q=1\r\n\r\n", 501);
    bad(POST "Transfer-Encoding: \x0b"
             "chunked\r\n\r\n",
        400);
    bad(POST "Transfer-Encoding : chunked\r\n\r\n", 400);
    bad(POST "Transfer-Encoding:\r\n chunked\r\n\r\n", 501);
    bad("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

TEST(a_head_has_limits) {
    char text[4096] = "GET /";
    memset(text + 5, 'a', 300);
    snprintf(text + 305, 100, " HTTP/1.1\r\n" H "\r\n");
    bad(text, 414);
    memset(text + 5, 'a', 3000);
    text[3005] = 0;
    bad(text, 414);
    memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
    bad(text, 431);
}

TEST(fields_are_found_by_name) {
    char text[] =
        "GET / HTTP/1.1\r\nHost: x\r\nAccept-ENCODING:  br, gzip;q=0.5 \r\nEmpty:\r\n\r\n";
    rung_head h = {0};
    size_t size;
    rung_head_problem p;
    CHECK_OK(rung_head_parse(&h, &limits, rung_slice_str(text), &size, &p));
    rung_slice v = rung_head_find(&h, text, RUNG_SLICE("accept-encoding"));
    CHECK(rung_slice_eq(v, RUNG_SLICE("br, gzip;q=0.5")));
    CHECK(rung_list_has(v, RUNG_SLICE("gzip")));
    CHECK(!rung_list_has(v, RUNG_SLICE("zip")));
    CHECK(rung_head_find(&h, text, RUNG_SLICE("empty")).ptr != NULL);
    CHECK_NULL(rung_head_find(&h, text, RUNG_SLICE("none")).ptr);
    CHECK(!rung_list_has(RUNG_SLICE("gzip;q=0, br"), RUNG_SLICE("gzip")));
    CHECK(!rung_list_has(RUNG_SLICE("gzip; q=0.000"), RUNG_SLICE("gzip")));
    CHECK(rung_list_has(RUNG_SLICE("gzip; q=0.001"), RUNG_SLICE("gzip")));
    CHECK(!rung_list_has((rung_slice){0}, RUNG_SLICE("gzip")));
}

TEST(ranges) {
    static const struct {
        const char *field;
        rung_status st;
        uint64_t from, len;
    } rows[] = {
        {"bytes=0-", RUNG_OK, 0, 100},
        {"bytes=5-", RUNG_OK, 5, 95},
        {"bytes=5-9", RUNG_OK, 5, 5},
        {"Bytes=5-5", RUNG_OK, 5, 1},
        {"bytes= 5-9", RUNG_OK, 5, 5},
        {"bytes=99-", RUNG_OK, 99, 1},
        {"bytes=5-1000", RUNG_OK, 5, 95},
        {"bytes=5-18446744073709551615", RUNG_OK, 5, 95},
        {"bytes=-5", RUNG_OK, 95, 5},
        {"bytes=-1000", RUNG_OK, 0, 100},
        {"bytes=100-", RUNG_ERANGE, 0, 0},
        {"bytes=18446744073709551615-", RUNG_ERANGE, 0, 0},
        {"bytes=-0", RUNG_ERANGE, 0, 0},
        {"", RUNG_NOT_FOUND, 0, 0},
        {"bytes=", RUNG_NOT_FOUND, 0, 0},
        {"bytes=-", RUNG_NOT_FOUND, 0, 0},
        {"bytes=5", RUNG_NOT_FOUND, 0, 0},
        {"bytes=9-5", RUNG_NOT_FOUND, 0, 0},
        {"bytes=0-1,5-6", RUNG_NOT_FOUND, 0, 0},
        {"bytes=5-x", RUNG_NOT_FOUND, 0, 0},
        {"bytes=+5-", RUNG_NOT_FOUND, 0, 0},
        {"bytes=18446744073709551616-", RUNG_NOT_FOUND, 0, 0},
        {"lines=5-", RUNG_NOT_FOUND, 0, 0},
    };
    uint64_t from, len;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rung_status st = rung_range_read(rung_slice_str(rows[i].field), 100, &from, &len);
        CHECK_EQ_I64(st, rows[i].st);
        if (st == RUNG_OK) {
            CHECK_EQ_U64(from, rows[i].from);
            CHECK_EQ_U64(len, rows[i].len);
        }
    }
    CHECK(rung_content_range_read(RUNG_SLICE("bytes 5-9/100"), &from, &len));
    CHECK_EQ_U64(from, 5);
    CHECK_EQ_U64(len, 100);
    CHECK(rung_content_range_read(RUNG_SLICE("bytes */70"), &from, &len));
    CHECK_EQ_U64(from, 70);
    CHECK_EQ_U64(len, 70);
    static const char *const wrong[] = {"",
                                        "bytes",
                                        "bytes ",
                                        "bytes 5/100",
                                        "bytes 5-9",
                                        "bytes 9-5/",
                                        "bytes 5-9/*",
                                        "bytes 9-5/10",
                                        "bytes 5-10/10",
                                        "bytes 5-9/10x",
                                        "lines 5-9/10"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!rung_content_range_read(rung_slice_str(wrong[i]), &from, &len));
    CHECK_EQ_I64(rung_range_read((rung_slice){0}, 100, &from, &len), RUNG_NOT_FOUND);
    CHECK_EQ_I64(rung_range_read(RUNG_SLICE("bytes=0-"), 0, &from, &len), RUNG_ERANGE);
}

/* ---- chunked ---- */

/* Decode with the input cut in two at `split`; "" and false when refused. */
static bool decode(const char *text, size_t split, char *body, size_t *rest) {
    rung_chunks c = {0};
    size_t len = strlen(text), out = 0;
    rung_slice parts[2] = {rung_slice_of(text, split), rung_slice_of(text + split, len - split)};
    for (int i = 0; i < 2; i++)
        for (;;) {
            rung_slice piece;
            rung_chunks_event e = rung_chunks_next(&c, &parts[i], &piece);
            if (e == RUNG_CHUNKS_BAD)
                return false;
            if (e == RUNG_CHUNKS_END) {
                body[out] = 0;
                *rest = parts[i].len + (i == 0 ? parts[1].len : 0);
                return true;
            }
            if (e == RUNG_CHUNKS_MORE)
                break;
            CHECK(piece.len > 0);
            memcpy(body + out, piece.ptr, piece.len);
            out += piece.len;
        }
    memcpy(body, "incomplete", 11);
    *rest = 0;
    return true;
}

static void chunks(const char *text, const char *want, size_t want_rest) {
    for (size_t split = 0; split <= strlen(text); split++) {
        char body[512];
        size_t rest = 0;
        bool ok = decode(text, split, body, &rest);
        CHECK_MSG(ok == (want != NULL), "%s split at %zu", text, split);
        if (want)
            CHECK_EQ_STR(body, want);
        CHECK_EQ_U64(rest, want_rest);
    }
}

TEST(chunked_bodies) {
    chunks("5\r\nhello\r\n0\r\n\r\n", "hello", 0);
    chunks("5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\nGET /", "hello 0123456789", 5);
    chunks("0\r\n\r\n", "", 0);
    chunks("000\r\n\r\n", "", 0);
    chunks("5;a=b;c=\"d\"\r\nhello\r\n0;x\r\nTrailer: yes\r\nOther:\r\n\r\n", "hello", 0);
    chunks("5\r\nhel", "incomplete", 0);
    chunks("5\r\nhello\r\n0\r\n", "incomplete", 0);
}

TEST(chunk_framing_is_strict) {
    chunks("5\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("5\r\nhello\n0\r\n\r\n", NULL, 0);
    chunks("5\rXhello\r\n0\r\n\r\n", NULL, 0);
    chunks("5\r\nhello\rX0\r\n\r\n", NULL, 0);
    chunks("5\r\nhelloX\r\n0\r\n\r\n", NULL, 0);
    chunks("5 \r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks(" 5\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("+5\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("-5\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("0x5\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("5_\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("\r\n", NULL, 0);
    chunks(";a\r\n", NULL, 0);
    chunks("ffffffffffffffff\r\n", NULL, 0);
    chunks("0000000000000000000005\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("5;a\nb\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("5;a\rb\r\nhello\r\n0\r\n\r\n", NULL, 0);
    chunks("0\r\n\n", NULL, 0);
    chunks("0\r\n\rX", NULL, 0);
    chunks("0\r\nA : b\r\n\r\n", NULL, 0);
    chunks("0\r\n folded: b\r\n\r\n", NULL, 0);
    chunks("0\r\nA: b\n\r\n", NULL, 0);
    chunks("0\r\nA: \x01\r\n\r\n", NULL, 0);
}

TEST(extensions_and_trailers_have_limits) {
    char text[8192] = "5;";
    memset(text + 2, 'a', 400);
    text[402] = 0;
    chunks(text, NULL, 0);
    memcpy(text, "0\r\nA: ", 6);
    memset(text + 6, 'b', 5000);
    text[5006] = 0;
    chunks(text, NULL, 0);
}

RUNG_TEST_MAIN
