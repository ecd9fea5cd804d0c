/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* Many commands in one piece of input: in order, within limits, and answered as one by one. */
#include "support/resp_kit.h"
#include "support/rng.h"

/* Many commands in one piece: questions and changes mixed; each reply sees what came before it and nothing else. */
static void check_pipeline(int fd, int count) {
    static char out[1 << 18], want[1 << 18];
    size_t n = 0, w = 0;
    for (int i = 0; i < count; i++) {
        n += (size_t)snprintf(
            out + n, sizeof out - n,
            "ZADD k %d m%d\r\nZCARD k\r\nZREVRANK k m0\r\nZREVRANK k m%d\r\nZADD k x y\r\nPING\r\n",
            i, i, i);
        w += (size_t)snprintf(
            want + w, sizeof want - w,
            ":1\r\n:%d\r\n:%d\r\n:0\r\n-ERR value is not a valid float\r\n+PONG\r\n", i + 1, i);
    }
    resp_send_bytes(fd, out, n);
    for (size_t at = 0; at < w; at += 4000) {
        char piece[4001];
        size_t len = w - at < 4000 ? w - at : 4000;
        memcpy(piece, want + at, len);
        piece[len] = 0;
        resp_expect(fd, piece);
    }
    resp_ask(fd, "DEL k", integer(1));
}

TEST(pipelines_in_order) {
    int fd = start_plain();
    check_pipeline(fd, 1000);
    stop(fd);
}

TEST(pipelines_within_small_limits) {
    int fd = start(&(resp_server_config){.resp = {.pending_max = 2}, .waiting_max = 3});
    check_pipeline(fd, 200);
    stop(fd);
    fd = start(&(resp_server_config){.resp = {.pending_bytes_max = 100}});
    check_pipeline(fd, 200);
    stop(fd);
}

TEST(pipelines_on_disk) {
    char path[32];
    make_folder(path);
    int fd = start(&(resp_server_config){.path = path});
    check_pipeline(fd, 300);
    resp_ask(fd, "ZADD kept 1 a", integer(1));
    stop(fd);
    fd = start(&(resp_server_config){.path = path});
    resp_ask(fd, "ZSCORE kept a", bulk("1"));
    stop(fd);
    remove_folder(path);
}

TEST(every_split_point) {
    int fd = start_plain();
    static const char all[] = "*4\r\n$4\r\nZADD\r\n$1\r\nk\r\n$1\r\n1\r\n$1\r\na\r\nPING\r\n*2\r\n$"
                              "5\r\nZCARD\r\n$1\r\nk\r\n";
    resp_ask(fd, "ZADD k 1 a", integer(1));
    for (size_t split = 1; split < sizeof all - 1; split++) {
        resp_send_bytes(fd, all, split);
        usleep(500);
        resp_send_bytes(fd, all + split, sizeof all - 1 - split);
        resp_expect(fd, replies(integer(0), simple("PONG"), integer(1)));
    }
    stop(fd);
}

/* A page that many ask for is written once; it must never be an old one. */
TEST(the_same_page_again_and_again) {
    int fd = start_plain();
    char want[4096], line[64];
    size_t w = (size_t)snprintf(want, sizeof want, "*25\r\n");
    for (int i = 0; i < 25; i++) {
        snprintf(line, sizeof line, "ZADD k %d m%02d\r\n", 100 - i, i);
        resp_send(fd, line);
        resp_expect(fd, integer(1));
        w += (size_t)snprintf(want + w, sizeof want - w, "$3\r\nm%02d\r\n", i);
    }
    for (int i = 0; i < 3; i++)
        resp_ask(fd, "ZREVRANGE k 0 -1", want);
    resp_ask(fd, "ZADD k 1000 m24", integer(0));
    resp_ask(fd, "ZREVRANGE k 0 0", array(bulk("m24")));
    resp_send(fd, "ZREVRANGE k 0 -1\r\n");
    resp_expect(fd, "*25\r\n$3\r\nm24\r\n$3\r\nm00\r\n");
    close(fd);
    fd = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 m24", integer(0));
    /* In a transaction the position in the log stays the same while the state changes. */
    resp_send(fd, "MULTI\r\nZREVRANGE k 0 -1\r\nZADD k 2000 m24\r\nZREVRANGE k 0 -1\r\nZADD k 1 "
                  "m24\r\nZREVRANGE k 0 -1\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*5\r\n");
    resp_expect(fd, want);
    resp_expect(fd, ":0\r\n*25\r\n$3\r\nm24\r\n$3\r\nm00\r\n");
    stop(fd);
}

/* ---- alike ---- */

static void flush_all(int fd) {
    resp_ask(fd, "FLUSHALL", simple("OK"));
}

TEST(boards_that_come_and_go_in_the_same_pipeline) {
    static const char *const lines[] = {
        "RUNG.SUBMIT k a 5 BRIEF", "ZADD k 1 a",   "RUNG.SUBMIT k a 5 BRIEF",
        "RUNG.SUBMIT k b 6 BRIEF", "DEL k",        "RUNG.SUBMIT k a 7 BRIEF",
        "ZINCRBY k 2 a",           "RUNG.RANK k a"};
    char path[32];
    make_folder(path);
    int fd = start_plain();
    resp_ask(fd, "RUNG.SUBMIT k a 5 BRIEF", error("ERR no such board"));
    check_alike(fd, flush_all, lines, sizeof lines / sizeof *lines);
    stop(fd);
    fd = start(&(resp_server_config){.path = path});
    check_alike(fd, flush_all, lines, sizeof lines / sizeof *lines);
    stop(fd);
    remove_folder(path);
}

/* Runs of a few of these, in random order, so that runs of every kind meet. */
static void check_mixed(int fd, const char *const *lines, uint32_t line_count, uint64_t seed) {
    enum { COUNT = 150 };
    const char *chosen[COUNT];
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(seed));
    for (uint32_t i = 0; i < COUNT;) {
        uint32_t from = (uint32_t)rung_rng_below(&rng, line_count);
        for (uint32_t left = 1 + (uint32_t)rung_rng_below(&rng, 40); left && i < COUNT; left--)
            chosen[i++] = lines[(from + rung_rng_below(&rng, 8)) % line_count];
    }
    check_alike(fd, NULL, chosen, COUNT);
}

TEST(questions_alike) {
    static const char *const lines[] = {
        /* clang-format off */
        "ZREVRANGE z 0 10 WITHSCORES", "ZREVRANGE z 30 40 WITHSCORES", "ZREVRANGE z 95 105 WITHSCORES",
        "ZREVRANGE z -5 -1 WITHSCORES", "ZREVRANGE z 0 18 withscores", "ZREVRANGE z 0 19 WITHSCORES",
        "ZREVRANGE z 0 99 WITHSCORES", "ZREVRANGE z 7 x WITHSCORES", "ZREVRANGE z 9 2 WITHSCORES",
        "ZREVRANGE z 1000 1005 WITHSCORES", "ZREVRANGE z 3 5 NONSENSE", "ZREVRANGE z 3 5 REV",
        "ZREVRANGE z -9223372036854775808 9223372036854775807 WITHSCORES",
        "ZREVRANGE z 9223372036854775806 9223372036854775807 WITHSCORES",
        "ZREVRANGE z 0 5", "ZREVRANGE z 50 60", "ZREVRANGE z -3 -1", "ZREVRANGE z -1 -3", "ZREVRANGE z 07 9",
        "ZRANGE z 0 5", "ZRANGE z 50 60", "ZRANGE z -200 -195", "ZRANGE z -101 -95", "ZRANGE z 0 -1", "ZRANGE z 5 2",
        "ZRANGE z 0 5 WITHSCORES", "ZRANGE z 0 5 REV", "ZRANGE z 90 99 WITHSCORES", "ZRANGE z 3 6 BYSCORE",
        "ZRANGE z 0 5 REV WITHSCORES", "ZRANGE z 4 8 WITHSCORES REV", "ZRANGE z 4 8 WITHSCORES WITHSCORES",
        "ZRANGE z 4 8 BYSCORE REV", "ZRANGE z 4 8 LIMIT 1",
        "ZCOUNT z -inf +inf", "ZCOUNT z 3 6", "ZCOUNT z (3 6", "ZCOUNT z 3 (6", "ZCOUNT z (3 (6", "ZCOUNT z 6 3",
        "ZCOUNT z 5 5", "ZCOUNT z (5 (5", "ZCOUNT z inf inf", "ZCOUNT z (-inf -inf", "ZCOUNT z -inf -inf",
        "ZCOUNT z a 1",
        "ZCOUNT z 1 nan", "ZCOUNT z 2.5 2.5", "ZCOUNT z -0 0",
        "ZSCORE z m5", "ZSCORE z m17", "ZSCORE z nobody", "ZRANK z m5", "ZRANK z nobody", "ZREVRANK z m9",
        "ZREVRANK z m9 WITHSCORE", "ZSCORE none m5", "ZRANK none m5",
        "ZREVRANGE none 0 10 WITHSCORES", "ZREVRANGE none 1 2 WITHSCORES", "ZCOUNT none 1 2", "ZCOUNT none 2 x",
        "ZREVRANGE s 0 10 WITHSCORES", "ZREVRANGE s 1 y WITHSCORES", "ZCOUNT s 1 2", "ZCOUNT s 2 x", "ZSCORE s m1",
        "ZREVRANGE e 0 10 WITHSCORES", "ZREVRANGE e 1 2 WITHSCORES", "ZCOUNT e 0 9", "ZCOUNT e 1 2", "ZSCORE e m1",
        /* clang-format on */
    };
    int fd = start_plain();
    char line[64];
    for (int i = 0; i < 96; i++) { /* ten share a score */
        snprintf(line, sizeof line, "ZADD z %d m%d\r\n", i % 10, i);
        resp_send(fd, line);
        resp_expect(fd, integer(1));
    }
    resp_ask(fd, "ZADD z inf top -inf bottom 2.5 half -0 zero", integer(4));
    resp_ask(fd, "SADD s m1 m2", integer(2));
    resp_ask(fd, "ZADD e 1 m1 2 m2", integer(2));
    resp_ask(fd, "PEXPIRE e 1000", integer(1));
    for (uint64_t round = 0; round < 40; round++) {
        check_mixed(fd, lines, sizeof lines / sizeof *lines, round);
        if (round == 19) {
            resp_server_advance(&srv, 1000);
            resp_send(fd, "HELLO 3\r\nPING\r\n");
            read_replies(fd, (char[1024]){0}, 1024);
        }
    }
    stop(fd);
}

/* RUNG.SUBMIT needs a board that is there when it is read. */
static void begin_changes(int fd) {
    resp_ask(fd, "FLUSHALL", simple("OK"));
    resp_ask(fd, "SADD set m1", integer(1));
    resp_ask(fd, "ZADD c 1 m1", integer(1));
}

/* Runs of one command to one key, which come to an end in every way there is. */
static void check_runs(const resp_server_config *config, uint64_t seed) {
    static const char *const lines[] = {
        /* clang-format off: those alike stand together */
        "ZADD a 1 m1",
        "ZADD a 2 m2",
        "ZADD a 3.25 m1",
        "ZADD a -0 m2",
        "ZADD a x m1",
        "ZADD a 007 m3",
        "ZADD a +5 m3",
        "ZADD a 1e3 m3",
        "ZADD a 999999999999999 m4",
        "ZADD a 9007199254740993 m4",
        "ZADD a nan m1",
        "ZADD a NX 1",
        "ZADD a CH 4 m1",
        "ZADD a CH 4 m2",
        "ZADD a ch 5 m2",
        "ZADD a NX 5 m1",
        "ZADD a INCR 1 m3",
        "ZADD a Gt 6 m1",
        "ZADD a NX INCR 1 m1",
        "ZADD a incr CH 1 m1",
        "ZADD a 1 m1 2 m2",
        "ZADD a x m1 2 m2",
        "zadd a 8 m1",
        "ZADD b 1 m1",
        "ZADD b inf m2",
        "ZADD b -Inf m3",
        "ZADD set 1 m1",
        "ZADD set x m1",
        "ZINCRBY a 1 m1",
        "ZINCRBY a 0.5 m2",
        "ZINCRBY a -7 m1",
        "ZINCRBY a 1 m4",
        "ZINCRBY a word m4",
        "ZINCRBY b -inf m2",
        "ZINCRBY set 1 m1",
        "ZSCORE a m1",
        "ZRANGE a 0 -1",
        "ZCARD b",
        "ECHO word",
        "ZREM a m1",
        "DEL b",
        "RUNG.SUBMIT c m1 7",
        "RUNG.SUBMIT c m2 -8",
        "RUNG.SUBMIT c m1 x",
        "RUNG.SUBMIT c m2 2.5",
        "RUNG.SUBMIT c m3 1e3",
        "RUNG.SUBMIT c m2 9 BRIEF",
        "RUNG.SUBMIT c m1 12 brief",
        "RUNG.SUBMIT c m1 1.5 Brief",
        "RUNG.SUBMIT c m1 3 BRIEFS",
        "RUNG.SUBMIT c m2 -inf bRIEF",
        "RUNG.SUBMIT c m1 12 delta",
        "RUNG.SUBMIT c m1 12 13",
        "RUNG.SUBMIT c m1 12 ID",
        "RUNG.SUBMIT c m1 1e17 BRIEF",
        "RUNG.SUBMIT c m1 -999999999999999 BRIEF",
        "RUNG.SUBMIT none m1 7",
        "RUNG.SUBMIT c m1 12 ID i1",
        "RUNG.SUBMIT c m1 13 id i2",
        "RUNG.SUBMIT c m1 14 META text",
        "RUNG.SUBMIT c m1 15 AT x",
        "RUNG.SUBMIT c m1 BRIEF 15 DELTA",
        /* clang-format on */
    };
    enum { LINES = sizeof lines / sizeof *lines, COUNT = 400 };
    const char *chosen[COUNT];
    rung_rng rng;
    int fd = start(config);
    rung_rng_seed(&rng, test_seed(seed));
    for (uint32_t i = 0; i < COUNT;) {
        uint32_t from = (uint32_t)rung_rng_below(&rng, LINES);
        uint32_t among = rung_rng_below(&rng, 2) ? 1 : 5; /* the same, or some alike */
        bool is_long = rung_rng_below(&rng, 20) == 0;     /* longer than a run can be */
        for (uint32_t n = 1 + (uint32_t)rung_rng_below(&rng, is_long ? 150 : 6); n && i < COUNT;
             n--)
            chosen[i++] = lines[(from + rung_rng_below(&rng, among)) % LINES];
    }
    check_alike(fd, begin_changes, chosen, COUNT);
    stop(fd);
}

TEST(runs_of_changes) {
    char path[32];
    for (uint64_t seed = 0; seed < 20; seed++)
        check_runs(&(resp_server_config){0}, seed);
    for (uint64_t seed = 0; seed < 3; seed++)
        check_runs(&(resp_server_config){.resp = {.pending_max = 2}, .waiting_max = 3}, seed);
    make_folder(path);
    for (uint64_t seed = 0; seed < 3; seed++)
        check_runs(&(resp_server_config){.path = path}, seed);
    remove_folder(path);
}

RUNG_TEST_MAIN
