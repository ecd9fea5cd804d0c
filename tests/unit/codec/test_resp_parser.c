/* SPDX-License-Identifier: Apache-2.0 */
/* Every sample is fed whole, byte by byte, and split at every point: the commands must be the same. */
#include "codec/resp_parser.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <stdlib.h>
#include <string.h>

enum { TRACE_MAX = 1 << 16 };

/* What was understood, as text: each command's arguments in brackets, then the error. */
typedef struct trace {
    char text[TRACE_MAX];
    size_t len;
} trace;

static void note(trace *t, const char *bytes, size_t len) {
    CHECK(t->len + len < sizeof t->text);
    memcpy(t->text + t->len, bytes, len);
    t->len += len;
    t->text[t->len] = 0;
}

static const rung_resp_limits wide = {1000, 100000, 1 << 20, false};

/* Feed `bytes` in two steps, or in steps of one when `split` is 0, from memory that ends where the bytes end. */
static void run(rung_slice bytes, size_t split, rung_resp_limits limits, trace *t) {
    rung_resp_args args = {.alloc = rung_alloc_heap()};
    rung_resp_parser p;
    rung_resp_parser_init(&p, rung_alloc_heap(), limits);
    t->len = 0;
    t->text[0] = 0;
    size_t done = 0, given = 0;
    bool is_bad = false;
    while (given < bytes.len && !is_bad) {
        given = split ? (given < split ? split : bytes.len) : given + 1;
        for (;;) {
            size_t used;
            rung_resp_command c;
            char *copy = malloc(given - done + 1);
            memcpy(copy, bytes.ptr + done, given - done);
            copy = realloc(copy, given - done ? given - done : 1);
            rung_status st =
                rung_resp_parse(&p, &args, rung_slice_of(copy, given - done), &used, &c);
            if (st == RUNG_OK && c.count) {
                for (uint32_t i = 0; i < c.count; i++) {
                    note(t, i ? "|" : "[", 1);
                    note(t, args.items[c.first + i].ptr, args.items[c.first + i].len);
                }
                note(t, "]", 1);
            }
            free(copy);
            if (st == RUNG_OK)
                done += used;
            rung_resp_args_reset(&args);
            if (st == RUNG_EINVAL)
                note(t, p.error, strlen(p.error));
            is_bad = st < 0;
            if (st != RUNG_OK)
                break;
        }
    }
    if (!is_bad && done < bytes.len)
        note(t, "...", 3);
    rung_resp_parser_deinit(&p);
    rung_resp_args_deinit(&args);
}

static void check_parsed(rung_slice bytes, rung_resp_limits limits, const char *want) {
    static trace t;
    for (size_t split = 0; split <= bytes.len; split++) {
        run(bytes, split, limits, &t);
        CHECK_EQ_STR(t.text, want);
    }
}

TEST(commands) {
    static const struct {
        rung_slice in;
        const char *want;
    } cases[] = {
#define CASE(in, want) {{in, sizeof in - 1}, want}
        CASE("*1\r\n$4\r\nPING\r\n", "[PING]"),
        CASE("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "[ECHO|]"),
        CASE("*2\r\n$1\r\na\r\n$2\r\n\r\n\r\n*1\r\n$1\r\nb\r\n", "[a|\r\n][b]"),
        CASE("*0\r\n*-1\r\n*1\r\n$1\r\nx\r\n", "[x]"),
        CASE("PING\r\n", "[PING]"),
        CASE("PING\n", "[PING]"),
        CASE("\r\n\n  \r\nPING  a\tb \r\n", "[PING|a|b]"),
        CASE("SET \"a b\\x41\\n\\\"\" 'c\\'d\\n' e\"f\"\r\n", "[SET|a bA\n\"|c'd\\n|ef]"),
        CASE("x \"\" ''\r\n*1\r\n$1\r\ny\r\nz\r\n", "[x||][y][z]"),
        CASE("*3\r\n$1\r\na\r\n$1\r\nb\r\n", "..."),
        CASE("*1\r\n$10\r\nabc", "..."),
        CASE("*1\r", "..."),
        CASE("*12\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$"
             "1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$1\r\nA\r\n$1\r\nB\r\n",
             "[0|1|2|3|4|5|6|7|8|9|A|B]"),
        CASE("*x\r\n", "Protocol error: invalid multibulk length"),
        CASE("*\r\n", "Protocol error: invalid multibulk length"),
        CASE("*01\r\n", "Protocol error: invalid multibulk length"),
        CASE("*+1\r\n", "Protocol error: invalid multibulk length"),
        CASE("*1001\r\n", "Protocol error: invalid multibulk length"),
        CASE("*9223372036854775808\r\n", "Protocol error: invalid multibulk length"),
        CASE("*2147483648\r\n", "Protocol error: invalid multibulk length"),
        CASE("*1\r\n:1\r\n", "Protocol error: expected '$', got ':'"),
        CASE("*1\r\n\r\n", "Protocol error: expected '$', got ' '"),
        CASE("*1\r\n$x\r\n", "Protocol error: invalid bulk length"),
        CASE("*1\r\n$-1\r\n", "Protocol error: invalid bulk length"),
        CASE("*1\r\n$100001\r\n", "Protocol error: invalid bulk length"),
        CASE("*1\r\n$1\r\na\r\n*1\r\n$\r\n", "[a]Protocol error: invalid bulk length"),
        CASE("a \"b\r\n", "Protocol error: unbalanced quotes in request"),
        CASE("a \"b\"c\r\n", "Protocol error: unbalanced quotes in request"),
        CASE("a 'b\\'\r\n", "Protocol error: unbalanced quotes in request"),
        CASE("a \"b\\\r\n", "Protocol error: unbalanced quotes in request"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_parsed(cases[i].in, wide, cases[i].want);
}

TEST(strangers) {
    check_parsed(RUNG_SLICE("*10\r\n"), RUNG_RESP_LIMITS_STRANGER, "...");
    check_parsed(RUNG_SLICE("*11\r\n"), RUNG_RESP_LIMITS_STRANGER,
                 "Protocol error: unauthenticated multibulk length");
    check_parsed(RUNG_SLICE("*1\r\n$16384\r\n"), RUNG_RESP_LIMITS_STRANGER, "...");
    check_parsed(RUNG_SLICE("*1\r\n$16385\r\n"), RUNG_RESP_LIMITS_STRANGER,
                 "Protocol error: unauthenticated bulk length");
}

TEST(long_lines) {
    static char line[RUNG_RESP_INLINE_MAX + 64];
    static trace t;
    memset(line, 'a', sizeof line);
    run(rung_slice_of(line, RUNG_RESP_INLINE_MAX), 1, wide, &t);
    CHECK_EQ_STR(t.text, "...");
    run(rung_slice_of(line, sizeof line), 1, wide, &t);
    CHECK_EQ_STR(t.text, "Protocol error: too big inline request");
    line[0] = '*';
    run(rung_slice_of(line, sizeof line), 1, wide, &t);
    CHECK_EQ_STR(t.text, "Protocol error: too big mbulk count string");
    memcpy(line, "*1\r\n", 4);
    run(rung_slice_of(line, sizeof line), 1, wide, &t);
    CHECK_EQ_STR(t.text, "Protocol error: too big bulk count string");
}

/* The sum of all arguments has a limit of its own. */
TEST(long_commands) {
    rung_resp_limits small = {1000, 50, 100, false};
    check_parsed(
        RUNG_SLICE("*3\r\n$20\r\n01234567890123456789\r\n$20\r\n01234567890123456789\r\n$50\r\n"),
        small, "Protocol error: invalid bulk length");
}

TEST(integers) {
    static const struct {
        const char *in;
        bool is_good;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-1", true, -1},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"", false, 0},
                 {"-", false, 0},
                 {"-0", false, 0},
                 {"00", false, 0},
                 {"+1", false, 0},
                 {" 1", false, 0},
                 {"1 ", false, 0},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775809", false, 0},
                 {"99999999999999999999", false, 0},
                 {"1.0", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        CHECK_MSG(rung_resp_integer(rung_slice_str(cases[i].in), &value) == cases[i].is_good, "%s",
                  cases[i].in);
        CHECK_EQ_I64(value, cases[i].value);
    }
}

/* Several commands into the same args: the arguments of each, behind a '=' if it is known to be like the one before. */
static void check_together(rung_slice bytes, rung_resp_limits limits, const char *want) {
    static trace t;
    rung_resp_args args = {.alloc = rung_alloc_heap()};
    rung_resp_parser p;
    rung_resp_parser_init(&p, rung_alloc_heap(), limits);
    char *copy = malloc(bytes.len);
    memcpy(copy, bytes.ptr, bytes.len);
    t.len = 0;
    rung_status st = RUNG_OK;
    for (size_t done = 0, used; done < bytes.len && st == RUNG_OK; done += used) {
        rung_resp_command c;
        st = rung_resp_parse(&p, &args, rung_slice_of(copy + done, bytes.len - done), &used, &c);
        if (st != RUNG_OK)
            break;
        note(&t, c.is_alike ? "=" : "", c.is_alike);
        for (uint32_t i = 0; i < c.count; i++) {
            rung_slice arg = args.items[c.first + i];
            CHECK(c.is_inline ||
                  (arg.ptr >= copy + done && arg.ptr + arg.len <= copy + done + used));
            note(&t, i ? "|" : "[", 1);
            note(&t, arg.ptr, arg.len);
        }
        note(&t, "]", 1);
    }
    note(&t, st == RUNG_OK ? "" : "!", st != RUNG_OK);
    CHECK_EQ_STR(t.text, want);
    free(copy);
    rung_resp_parser_deinit(&p);
    rung_resp_args_deinit(&args);
}

TEST(commands_alike) {
#define ONE(key, value)    "*3\r\n$1\r\nc\r\n$1\r\n" key "\r\n$2\r\n" value "\r\n"
#define TOGETHER(in, want) check_together(RUNG_SLICE(in), wide, want)
    /* the first is read at leisure, since there is no room for arguments yet */
    TOGETHER(ONE("k", "10") ONE("k", "11") ONE("k", "12") ONE("k", "13"),
             "[c|k|10][c|k|11]=[c|k|12]=[c|k|13]");
    TOGETHER(ONE("k", "10") ONE("k", "11") ONE("l", "12") ONE("l", "13") ONE("k", "14"),
             "[c|k|10][c|k|11][c|l|12]=[c|l|13][c|k|14]");
    TOGETHER(ONE("k", "10") ONE("k", "11") "*2\r\n$1\r\nc\r\n$1\r\nk\r\n"
                                           "*2\r\n$1\r\nc\r\n$1\r\nk\r\n" ONE("k", "12"),
             "[c|k|10][c|k|11][c|k]=[c|k][c|k|12]");
    TOGETHER(ONE("k", "10") ONE("k", "11") "*0\r\n" ONE("k", "12") ONE("k", "13"),
             "[c|k|10][c|k|11]][c|k|12]=[c|k|13]");
    TOGETHER(ONE("k", "10") ONE("k", "11") "c k 12\r\n" ONE("k", "13") ONE("k", "14"),
             "[c|k|10][c|k|11][c|k|12][c|k|13]=[c|k|14]");
    TOGETHER(ONE("k", "10") "*1\r\n$1\r\nc\r\n*1\r\n$1\r\nc\r\n" ONE("k", "11"),
             "[c|k|10][c][c][c|k|11]");
    TOGETHER(ONE("k", "10") ONE("k", "11") "*3\r\n$1\r\nc\r\n$1\r\nk\r\n$x\r\n",
             "[c|k|10][c|k|11]!");
    TOGETHER(ONE("k", "10") ONE("k", "11") "*3\r\n$1\r\nc\r\n$1\r\nk\r\n$2\r\n1",
             "[c|k|10][c|k|11]!");
    TOGETHER(ONE("k", "10") ONE("k", "11") "*3\r\n$1\r\nc\r\n$1\r\nk\r\n", "[c|k|10][c|k|11]!");
    /* the head alone is longer than an argument may be: found in the usual way */
    check_together(RUNG_SLICE(ONE("k", "10") ONE("k", "11") ONE("k", "12")),
                   (rung_resp_limits){10, 10, 1000, false}, "[c|k|10][c|k|11][c|k|12]");
    check_together(RUNG_SLICE(ONE("k", "10") ONE("k", "11") ONE("k", "12")),
                   (rung_resp_limits){10, 20, 25, false}, "!");
}

TEST(out_of_memory) {
    static const char in[] = "*20\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$"
                             "1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n"
                             "$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$"
                             "1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n"
                             "inline words\r\n";
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_resp_args args = {.alloc = rung_failalloc_port(&fa)};
        rung_resp_parser p;
        rung_resp_parser_init(&p, rung_failalloc_port(&fa), wide);
        size_t done = 0, used = 0;
        rung_resp_command c;
        rung_status st = RUNG_OK;
        while (st == RUNG_OK && done < sizeof in - 1) {
            st = rung_resp_parse(&p, &args, rung_slice_of(in + done, sizeof in - 1 - done), &used,
                                 &c);
            done += used;
        }
        CHECK_STATUS(st, fa.failed_count ? RUNG_ENOMEM : RUNG_OK);
        rung_resp_parser_deinit(&p);
        rung_resp_args_deinit(&args);
        rung_failalloc_deinit(&fa);
        if (st == RUNG_OK)
            break;
    }
}

RUNG_TEST_MAIN
