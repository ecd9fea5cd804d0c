/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* The server over a real socket: order, transactions, waiting, keys, limits. What each sorted-set command answers is
 * held against a real Redis elsewhere (tests/e2e). */
#include "guard/keys_file.h"
#include "support/resp_server.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>

static resp_server srv;

static int start(const resp_server_config *config) {
    resp_server_start(&srv, config);
    return resp_connect(&srv);
}

static int start_plain(void) {
    return start(&(resp_server_config){0});
}

static void stop(int fd) {
    close(fd);
    resp_server_stop(&srv);
}

/* ---- commands ---- */

TEST(simple_commands) {
    int fd = start_plain();
    resp_ask(fd, "PING", "+PONG\r\n");
    resp_ask(fd, "zadd k 1 a 2 b 3.5 c", ":3\r\n");
    resp_ask(fd, "ZADD k XX CH 5 b 7 zz", ":1\r\n");
    resp_ask(fd, "ZADD k INCR 1.5 c", "$1\r\n5\r\n");
    resp_ask(fd, "ZADD k NX INCR 1.5 c", "$-1\r\n");
    resp_ask(fd, "ZRANGE k 0 -1 WITHSCORES",
             "*6\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n5\r\n$1\r\nc\r\n$1\r\n5\r\n");
    resp_ask(fd, "ZREVRANK k a", ":2\r\n");
    resp_ask(fd, "ZREVRANK k a WITHSCORE", "*2\r\n:2\r\n$1\r\n1\r\n");
    resp_ask(fd, "ZREVRANK k nobody WITHSCORE", "*-1\r\n");
    resp_ask(fd, "ZSCORE k nobody", "$-1\r\n");
    resp_ask(fd, "ZINCRBY k 0.1 a", "$18\r\n1.1000000000000001\r\n");
    resp_ask(fd, "TYPE k", "+zset\r\n");
    resp_ask(fd, "SADD k x",
             "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    resp_ask(fd, "SADD s a b", ":2\r\n");
    resp_ask(fd, "ZADD s 1 a",
             "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    resp_ask(fd, "ZADD k inf x", ":1\r\n");
    resp_ask(fd, "ZINCRBY k -inf x", "-ERR resulting score is not a number (NaN)\r\n");
    resp_ask(fd, "ZINTER 2 k s", "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    resp_ask(fd, "ZPOPMAX k", "*2\r\n$1\r\nx\r\n$3\r\ninf\r\n");
    resp_ask(fd, "ZPOPMIN k 0", "*0\r\n");
    resp_ask(fd, "DEL k s nothing", ":2\r\n");
    resp_ask(fd, "DBSIZE", ":0\r\n");
    stop(fd);
}

TEST(errors_in_the_words_of_redis) {
    int fd = start_plain();
    resp_ask(fd, "nosuch a \"b c\"",
             "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b c' \r\n");
    resp_ask(fd, "zcard", "-ERR wrong number of arguments for 'zcard' command\r\n");
    resp_ask(fd, "zadd k x a", "-ERR value is not a valid float\r\n");
    resp_ask(fd, "zadd k 1 a 2", "-ERR syntax error\r\n");
    resp_ask(fd, "zrange k 0 x", "-ERR value is not an integer or out of range\r\n");
    resp_ask(fd, "client nosuch", "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.\r\n");
    resp_ask(
        fd, "SHUTDOWN",
        "-ERR the command 'SHUTDOWN' of Redis is not supported by Rung, see docs/redis.md\r\n");
    resp_ask(fd, "select 1", "-ERR DB index is out of range\r\n");
    resp_ask(fd, "zadd k 1 \"\"",
             "-ERR player: 1 to 128 bytes of UTF-8 without control characters\r\n");
    stop(fd);
}

TEST(resp3) {
    int fd = start_plain();
    resp_ask(fd, "HELLO 4", "-NOPROTO unsupported protocol version\r\n");
    resp_ask(
        fd, "HELLO 3 SETNAME me",
        "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:"
        "3\r\n$2\r\nid\r\n:1\r\n"
        "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n");
    resp_ask(fd, "CLIENT GETNAME", "$2\r\nme\r\n");
    resp_ask(fd, "ZADD k 1 a 2 b", ":2\r\n");
    resp_ask(fd, "ZSCORE k a", ",1\r\n");
    resp_ask(fd, "ZSCORE k x", "_\r\n");
    resp_ask(fd, "ZRANGE k 0 -1 WITHSCORES",
             "*2\r\n*2\r\n$1\r\na\r\n,1\r\n*2\r\n$1\r\nb\r\n,2\r\n");
    resp_ask(fd, "ZPOPMIN k", "*2\r\n$1\r\na\r\n,1\r\n");
    resp_ask(fd, "ZPOPMIN k 1", "*1\r\n*2\r\n$1\r\nb\r\n,2\r\n");
    resp_ask(fd, "SADD s a", ":1\r\n");
    resp_ask(fd, "SMEMBERS s", "~1\r\n$1\r\na\r\n");
    resp_ask(fd, "RESET", "+RESET\r\n");
    resp_ask(fd, "ZSCORE k a", "$-1\r\n");
    stop(fd);
}

TEST(rung_commands) {
    int fd = start_plain();
    resp_ask(fd, "ZADD k 10 a 20 b 20 c 30 d", ":4\r\n");
    resp_ask(fd, "RUNG.RANK k a", ":4\r\n");
    resp_ask(fd, "RUNG.RANK k a DENSE", ":3\r\n");
    resp_ask(fd, "RUNG.RANK k b SPARSE", ":2\r\n");
    resp_ask(fd, "RUNG.RANK k b UNIQUE", ":3\r\n");
    resp_ask(fd, "RUNG.RANK k nobody", "$-1\r\n");
    resp_ask(fd, "RUNG.RANK nokey a", "$-1\r\n");
    resp_ask(fd, "RUNG.RANK k a WINDOW", "-ERR syntax error\r\n");
    resp_ask(fd, "RUNG.MRANK k 3 a x d", "*3\r\n:4\r\n$-1\r\n:1\r\n");
    resp_ask(fd, "RUNG.PERCENTILE k d", "$3\r\n100\r\n");
    resp_ask(fd, "RUNG.TOP k COUNT 2",
             "*2\r\n*3\r\n:1\r\n$1\r\nd\r\n$2\r\n30\r\n*3\r\n:2\r\n$1\r\nc\r\n$2\r\n20\r\n");
    resp_ask(fd, "RUNG.AROUND k a COUNT 0", "*1\r\n*3\r\n:4\r\n$1\r\na\r\n$2\r\n10\r\n");
    resp_ask(fd, "RUNG.SUBMIT nokey a 1", "-ERR no such board\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 25",
             "*16\r\n$7\r\nchanged\r\n:1\r\n$9\r\nduplicate\r\n:0\r\n$5\r\nscore\r\n$2\r\n25\r\n$"
             "11\r\nrank_before\r\n:4\r\n"
             "$4\r\nrank\r\n:2\r\n$5\r\ntotal\r\n:4\r\n$6\r\npassed\r\n:2\r\n$10\r\npercentile\r\n$"
             "2\r\n75\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 26 BRIEF", "$2\r\n26\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 27 BRIEF ID twice", "$2\r\n27\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 27 ID twice BRIEF", "$2\r\n27\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 28 Delta bRIEF iD again", "$2\r\n55\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a -0 BRIEF", "$1\r\n0\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 007 BRIEF", "$1\r\n7\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a +5 BRIEF", "$1\r\n5\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 1e3 BRIEF", "$4\r\n1000\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a -12.75 BRIEF", "$6\r\n-12.75\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 1e15 BRIEF", "$16\r\n1000000000000000\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a -999999999999999 BRIEF", "$16\r\n-999999999999999\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a inf BRIEF", "$3\r\ninf\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 1 2", "-ERR the board has fewer columns\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a BRIEF 1", "-ERR syntax error\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a 1 META", "-ERR syntax error\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a BRIEFS", "-ERR not a number\r\n");
    resp_ask(fd, "RUNG.SUBMIT k a BRIEF", "-ERR score: the board takes 1 values, got 0\r\n");
    stop(fd);
}

TEST(keys_that_expire) {
    int fd = start_plain();
    resp_ask(fd, "ZADD k 1 a", ":1\r\n");
    resp_ask(fd, "TTL k", ":-1\r\n");
    resp_ask(fd, "EXPIRE k 10", ":1\r\n");
    resp_ask(fd, "PTTL k", ":10000\r\n");
    resp_server_advance(&srv, 9999);
    resp_ask(fd, "PTTL k", ":1\r\n");
    resp_ask(fd, "ZCARD k", ":1\r\n");
    resp_server_advance(&srv, 1);
    resp_ask(fd, "ZCARD k", ":0\r\n");
    resp_ask(fd, "TTL k", ":-2\r\n");
    resp_ask(fd, "ZADD k 5 b", ":1\r\n");
    resp_ask(fd, "TTL k", ":-1\r\n");
    stop(fd);
}

/* ---- order ---- */

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
    resp_ask(fd, "DEL k", ":1\r\n");
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

static void make_folder(char path[32]) {
    memcpy(path, "/tmp/rung-resp-XXXXXX", 22);
    CHECK(mkdtemp(path));
}

static void remove_folder(const char *path) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", path);
    CHECK(system(command) == 0);
}

TEST(pipelines_on_disk) {
    char path[32];
    make_folder(path);
    int fd = start(&(resp_server_config){.path = path});
    check_pipeline(fd, 300);
    resp_ask(fd, "ZADD kept 1 a", ":1\r\n");
    stop(fd);
    fd = start(&(resp_server_config){.path = path});
    resp_ask(fd, "ZSCORE kept a", "$1\r\n1\r\n");
    stop(fd);
    remove_folder(path);
}

TEST(every_split_point) {
    int fd = start_plain();
    static const char all[] = "*4\r\n$4\r\nZADD\r\n$1\r\nk\r\n$1\r\n1\r\n$1\r\na\r\nPING\r\n*2\r\n$"
                              "5\r\nZCARD\r\n$1\r\nk\r\n";
    resp_ask(fd, "ZADD k 1 a", ":1\r\n");
    for (size_t split = 1; split < sizeof all - 1; split++) {
        resp_send_bytes(fd, all, split);
        usleep(500);
        resp_send_bytes(fd, all + split, sizeof all - 1 - split);
        resp_expect(fd, ":0\r\n+PONG\r\n:1\r\n");
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
        resp_expect(fd, ":1\r\n");
        w += (size_t)snprintf(want + w, sizeof want - w, "$3\r\nm%02d\r\n", i);
    }
    for (int i = 0; i < 3; i++)
        resp_ask(fd, "ZREVRANGE k 0 -1", want);
    resp_ask(fd, "ZADD k 1000 m24", ":0\r\n");
    resp_ask(fd, "ZREVRANGE k 0 0", "*1\r\n$3\r\nm24\r\n");
    resp_send(fd, "ZREVRANGE k 0 -1\r\n");
    resp_expect(fd, "*25\r\n$3\r\nm24\r\n$3\r\nm00\r\n");
    close(fd);
    fd = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 m24", ":0\r\n");
    /* In a transaction the position in the log stays the same while the state changes. */
    resp_send(fd, "MULTI\r\nZREVRANGE k 0 -1\r\nZADD k 2000 m24\r\nZREVRANGE k 0 -1\r\nZADD k 1 "
                  "m24\r\nZREVRANGE k 0 -1\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*5\r\n");
    resp_expect(fd, want);
    resp_expect(fd, ":0\r\n*25\r\n$3\r\nm24\r\n$3\r\nm00\r\n");
    stop(fd);
}

/* ---- alike ---- */

/* A line of words as an array, which a pipeline may ask together; lines as they are typed are worked off one by one. */
static size_t as_array(const char *line, char *out, size_t size) {
    char words[256], *rest = words, *word, body[512];
    size_t n = 0, len = 0;
    snprintf(words, sizeof words, "%s", line);
    while ((word = strsep(&rest, " ")) != NULL) {
        len +=
            (size_t)snprintf(body + len, sizeof body - len, "$%zu\r\n%s\r\n", strlen(word), word);
        n++;
    }
    return (size_t)snprintf(out, size, "*%zu\r\n%.*s", n, (int)len, body);
}

/* Read all replies up to that of a PING; returns their length. */
static size_t read_replies(int fd, char *out, size_t size) {
    static const char end[] = "+PONG\r\n";
    size_t len = 0, end_len = sizeof end - 1;
    while (len < end_len || memcmp(out + len - end_len, end, end_len) != 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK(len < size && poll(&p, 1, 60000) > 0);
        ssize_t n = recv(fd, out + len, size - len, 0);
        CHECK(n > 0);
        len += (size_t)n;
    }
    return len - end_len;
}

/* Sent together, commands are answered as one by one. `begin`, unless NULL, makes both start from the same keys. */
static void check_alike(int fd, void (*begin)(int fd), const char *const *lines, uint32_t count) {
    static char sent[1 << 16], want[1 << 20], got[1 << 20];
    size_t len = 0, wanted = 0;
    if (begin)
        begin(fd);
    for (uint32_t i = 0; i < count; i++) {
        char one[1024];
        size_t n = as_array(lines[i], one, sizeof one);
        CHECK(len + n < sizeof sent);
        memcpy(sent + len, one, n);
        len += n;
        n += as_array("PING", one + n, sizeof one - n);
        resp_send_bytes(fd, one, n);
        wanted += read_replies(fd, want + wanted, sizeof want - wanted);
    }
    if (begin)
        begin(fd);
    len += as_array("PING", sent + len, sizeof sent - len);
    resp_send_bytes(fd, sent, len);
    CHECK_EQ_U64(read_replies(fd, got, sizeof got), wanted);
    CHECK_EQ_MEM(got, want, wanted);
}

static void flush_all(int fd) {
    resp_ask(fd, "FLUSHALL", "+OK\r\n");
}

TEST(boards_that_come_and_go_in_the_same_pipeline) {
    static const char *const lines[] = {
        "RUNG.SUBMIT k a 5 BRIEF", "ZADD k 1 a",   "RUNG.SUBMIT k a 5 BRIEF",
        "RUNG.SUBMIT k b 6 BRIEF", "DEL k",        "RUNG.SUBMIT k a 7 BRIEF",
        "ZINCRBY k 2 a",           "RUNG.RANK k a"};
    char path[32];
    make_folder(path);
    int fd = start_plain();
    resp_ask(fd, "RUNG.SUBMIT k a 5 BRIEF", "-ERR no such board\r\n");
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
        resp_expect(fd, ":1\r\n");
    }
    resp_ask(fd, "ZADD z inf top -inf bottom 2.5 half -0 zero", ":4\r\n");
    resp_ask(fd, "SADD s m1 m2", ":2\r\n");
    resp_ask(fd, "ZADD e 1 m1 2 m2", ":2\r\n");
    resp_ask(fd, "PEXPIRE e 1000", ":1\r\n");
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
    resp_ask(fd, "FLUSHALL", "+OK\r\n");
    resp_ask(fd, "SADD set m1", ":1\r\n");
    resp_ask(fd, "ZADD c 1 m1", ":1\r\n");
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

/* ---- transactions ---- */

TEST(transactions) {
    int fd = start_plain();
    resp_ask(fd, "EXEC", "-ERR EXEC without MULTI\r\n");
    resp_ask(fd, "DISCARD", "-ERR DISCARD without MULTI\r\n");
    resp_send(fd, "MULTI\r\nZCARD k\r\nZADD k 1 a\r\nZCARD k\r\nZADD k x b\r\nZADD k 2 b\r\nZRANGE "
                  "k 0 -1\r\nPING\r\nEXEC\r\nZCARD k\r\n");
    resp_expect(
        fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
            "*7\r\n:0\r\n:1\r\n:1\r\n-ERR value is not a valid "
            "float\r\n:1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n:2\r\n");
    resp_send(fd, "MULTI\r\nMULTI\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n-ERR MULTI calls can not be nested\r\n*0\r\n");
    resp_send(fd, "MULTI\r\nnosuch\r\nZADD k 9 z\r\nEXEC\r\nZSCORE k z\r\n");
    resp_expect(fd,
                "+OK\r\n-ERR unknown command 'nosuch', with args beginning with: \r\n+QUEUED\r\n"
                "-EXECABORT Transaction discarded because of previous errors.\r\n$-1\r\n");
    resp_send(fd, "MULTI\r\nZADD k 9 z\r\nDISCARD\r\nZSCORE k z\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+OK\r\n$-1\r\n");
    resp_send(fd, "MULTI\r\nEXEC\r\nMULTI\r\nZCARD k\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n*1\r\n:2\r\n");
    resp_send(fd, "MULTI\r\nRUNG.SUBMIT k a 1\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n-ERR Command not allowed inside a transaction\r\n"
                    "-EXECABORT Transaction discarded because of previous errors.\r\n");
    resp_send(fd, "MULTI\r\nBZPOPMIN nokey 0\r\nBZPOPMIN k 0\r\nEXEC\r\n");
    resp_expect(
        fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*-1\r\n*3\r\n$1\r\nk\r\n$1\r\na\r\n$1\r\n1\r\n");
    stop(fd);
}

TEST(a_pop_of_many_in_a_transaction) {
    int fd = start_plain();
    for (int i = 0; i < 600; i++) {
        char line[64];
        snprintf(line, sizeof line, "ZADD k %d m%03d\r\n", i, i);
        resp_send(fd, line);
        resp_expect(fd, ":1\r\n");
    }
    resp_send(fd, "MULTI\r\nZPOPMIN k 550\r\nZCARD k\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*1100\r\n");
    for (int i = 0; i < 550; i++) {
        char want[64];
        int digits = i < 10 ? 1 : i < 100 ? 2 : 3;
        snprintf(want, sizeof want, "$4\r\nm%03d\r\n$%d\r\n%d\r\n", i, digits, i);
        resp_expect(fd, want);
    }
    resp_expect(fd, ":50\r\n");
    stop(fd);
}

TEST(watching) {
    int fd = start_plain(), other = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 a", ":1\r\n");
    resp_ask(fd, "WATCH k", "+OK\r\n");
    resp_send(fd, "MULTI\r\nZADD k 2 a\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n*1\r\n:0\r\n");
    /* somebody else changes it */
    resp_ask(fd, "WATCH k", "+OK\r\n");
    resp_ask(other, "ZADD k 3 a", ":0\r\n");
    resp_send(fd, "MULTI\r\nZADD k 4 a\r\nEXEC\r\nZSCORE k a\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n*-1\r\n$1\r\n3\r\n");
    /* EXEC, DISCARD and UNWATCH end it */
    resp_send(fd, "WATCH k\r\nUNWATCH\r\nZADD k 5 a\r\nMULTI\r\nZADD k 6 a\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+OK\r\n:0\r\n+OK\r\n+QUEUED\r\n*1\r\n:0\r\n");
    /* one's own change counts, also when it is still under way */
    resp_send(fd, "WATCH k\r\nZADD k 7 a\r\nMULTI\r\nZADD k 8 a\r\nEXEC\r\nZSCORE k a\r\n");
    resp_expect(fd, "+OK\r\n:0\r\n+OK\r\n+QUEUED\r\n*-1\r\n$1\r\n7\r\n");
    /* a key that is not there yet */
    resp_ask(fd, "WATCH new", "+OK\r\n");
    resp_ask(other, "ZADD new 1 a", ":1\r\n");
    resp_send(fd, "MULTI\r\nPING\r\nWATCH k\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n-ERR WATCH inside MULTI is not allowed\r\n*-1\r\n");
    close(other);
    stop(fd);
}

/* Two clients add one to the same score with WATCH until each has done it 50 times: nothing is lost. */
static void *add_ones(void *ctx) {
    int fd = *(int *)ctx;
    for (int done = 0; done < 50;) {
        char text[64] = {0}, line[128];
        resp_send(fd, "WATCH n\r\nZSCORE n x\r\n");
        resp_expect(fd, "+OK\r\n$");
        size_t len = 0;
        while (len < 3 || strcmp(text + len - 2, "\r\n") != 0 || !strchr(text, '\n') ||
               strchr(text, '\n') == text + len - 1) {
            CHECK(len < sizeof text - 1 && recv(fd, text + len, 1, 0) == 1);
            len++;
        }
        int value = atoi(strchr(text, '\n') + 1);
        snprintf(line, sizeof line, "MULTI\r\nZADD n %d x\r\nEXEC\r\n", value + 1);
        resp_send(fd, line);
        resp_expect(fd, "+OK\r\n+QUEUED\r\n*");
        char c;
        CHECK(recv(fd, &c, 1, 0) == 1);
        if (c == '1') {
            resp_expect(fd, "\r\n:0\r\n");
            done++;
        } else {
            resp_expect(fd, "1\r\n");
        }
    }
    return NULL;
}

TEST(two_watchers) {
    char path[32];
    make_folder(path);
    int fd = start(&(resp_server_config){.path = path}), fds[2];
    pthread_t threads[2];
    resp_ask(fd, "ZADD n 0 x", ":1\r\n");
    for (int i = 0; i < 2; i++) {
        fds[i] = resp_connect(&srv);
        CHECK(pthread_create(&threads[i], NULL, add_ones, &fds[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        close(fds[i]);
    }
    resp_ask(fd, "ZSCORE n x", "$3\r\n100\r\n");
    stop(fd);
    remove_folder(path);
}

/* ---- work ---- */

#define TOO_MUCH(members, after)                                                                   \
    "-ERR too much work: " members " members to look at" after ", at most 100 (limits.work)\r\n"

static uint64_t work_now;
static void count_work(resp_server *s) {
    work_now = rung_resp_stat(s->resp).work;
}

/* `count` members m0, m1, ... in z. */
static void fill_z(int fd, int count) {
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "ZADD z %d m%d\r\n", i, i);
        resp_send(fd, text);
        resp_expect(fd, ":1\r\n");
    }
}

TEST(work_is_limited) {
    int fd = start(&(resp_server_config){.resp = {.work_max = 100}});
    char text[400];
    fill_z(fd, 60);
    resp_ask(fd, "ZINTERCARD 9 z z z z z z z z z", ":60\r\n"); /* one key */
    resp_ask(fd, "ZINTERCARD 9 z z z z z z z z nokey", ":0\r\n");
    resp_ask(fd, "ZINTER 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZUNION 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFF 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFF 10 z a b c d e f g h i", /* all members once are fewer */
             "*60\r\n"
             "$2\r\nm0\r\n$2\r\nm1\r\n$2\r\nm2\r\n$2\r\nm3\r\n$2\r\nm4\r\n$2\r\nm5\r\n"
             "$2\r\nm6\r\n$2\r\nm7\r\n$2\r\nm8\r\n$2\r\nm9\r\n$3\r\nm10\r\n$3\r\nm11\r\n"
             "$3\r\nm12\r\n$3\r\nm13\r\n$3\r\nm14\r\n$3\r\nm15\r\n$3\r\nm16\r\n$3\r\nm17\r\n"
             "$3\r\nm18\r\n$3\r\nm19\r\n$3\r\nm20\r\n$3\r\nm21\r\n$3\r\nm22\r\n$3\r\nm23\r\n"
             "$3\r\nm24\r\n$3\r\nm25\r\n$3\r\nm26\r\n$3\r\nm27\r\n$3\r\nm28\r\n$3\r\nm29\r\n"
             "$3\r\nm30\r\n$3\r\nm31\r\n$3\r\nm32\r\n$3\r\nm33\r\n$3\r\nm34\r\n$3\r\nm35\r\n"
             "$3\r\nm36\r\n$3\r\nm37\r\n$3\r\nm38\r\n$3\r\nm39\r\n$3\r\nm40\r\n$3\r\nm41\r\n"
             "$3\r\nm42\r\n$3\r\nm43\r\n$3\r\nm44\r\n$3\r\nm45\r\n$3\r\nm46\r\n$3\r\nm47\r\n"
             "$3\r\nm48\r\n$3\r\nm49\r\n$3\r\nm50\r\n$3\r\nm51\r\n$3\r\nm52\r\n$3\r\nm53\r\n"
             "$3\r\nm54\r\n$3\r\nm55\r\n$3\r\nm56\r\n$3\r\nm57\r\n$3\r\nm58\r\n$3\r\nm59\r\n");
    resp_ask(fd, "ZRANDMEMBER z -101", TOO_MUCH("101", ""));
    resp_ask(fd, "ZUNIONSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZINTERSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFFSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZUNIONSTORE d 5 a a a a a", "-ERR a key is named more than 4 times\r\n");
    resp_ask(fd, "EXISTS d", ":0\r\n");
    resp_ask(fd, "ZUNIONSTORE d 1 z", ":60\r\n");
    resp_ask(fd, "ZRANGESTORE d z 0 -1", ":60\r\n");
    /* a transaction has as much as one command, also of what it moves to other names itself */
    resp_send(fd, "MULTI\r\nZINTERCARD 1 z\r\nZINTERCARD 1 z\r\nZCARD z\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:60\r\n" TOO_MUCH(
                        "61", " after others") ":60\r\n");
    resp_send(fd, "MULTI\r\nRENAME z y\r\nZUNIONSTORE d 2 y y\r\nRENAME y z\r\nEXEC\r\n");
    resp_expect(
        fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n" TOO_MUCH("122", "") "+OK\r\n");
    resp_send(fd, "MULTI\r\nZRANGESTORE y z 0 -1\r\nZRANGESTORE x y 0 -1\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:60\r\n" TOO_MUCH("60", " after others"));
    /* patterns */
    memset(text, '*', 300);
    memcpy(text, "KEYS ", 5);
    snprintf(text + 5 + 257, sizeof text - 262, "\r\n");
    resp_send(fd, text);
    resp_expect(fd, "-ERR the pattern is too long: at most 256 bytes\r\n");
    resp_ask(fd, "SCAN 0 MATCH z", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nz\r\n");
    stop(fd);
}

/* Commands that look at much come one by one, whoever sends them; each is answered, in its place. */
TEST(heavy_commands_take_turns) {
    enum { CLIENTS = 5, EACH = 40 };
    int fd = start(&(resp_server_config){.resp = {.work_max = 100}}), other[CLIENTS];
    fill_z(fd, 60);
    resp_ask(fd, "ZADD o 1 a", ":1\r\n");
    for (int i = 0; i < CLIENTS; i++) {
        other[i] = resp_connect(&srv);
        for (int j = 0; j < EACH; j++)
            resp_send(other[i], i % 2 ? "ZADD o 1 a\r\nZINTERCARD 1 z\r\n"
                                      : "ZINTERCARD 1 z\r\nZSCORE z m5\r\n");
    }
    for (int i = 0; i < CLIENTS; i++)
        for (int j = 0; j < EACH; j++) {
            resp_expect(other[i], i % 2 ? ":0\r\n:60\r\n" : ":60\r\n$1\r\n5\r\n");
        }
    resp_server_run(&srv, count_work);
    CHECK(work_now >= CLIENTS * EACH * 61);
    for (int i = 0; i < CLIENTS; i++)
        close(other[i]);
    stop(fd);
}

/* ---- waiting ---- */

static uint32_t blocked_now;
static void count_blocked(resp_server *s) {
    blocked_now = rung_resp_stat(s->resp).blocked;
}

static void wait_until_blocked(uint32_t count) {
    do
        resp_server_run(&srv, count_blocked);
    while (blocked_now != count);
}

TEST(blocking) {
    int fd = start_plain(), one = resp_connect(&srv), two = resp_connect(&srv);
    resp_send(one, "BZPOPMIN k 0\r\nPING\r\n");
    wait_until_blocked(1);
    resp_send(two, "BZMPOP 0 2 j k MAX COUNT 2\r\n");
    wait_until_blocked(2);
    resp_ask(fd, "ZADD k 1 a", ":1\r\n");
    resp_expect(one, "*3\r\n$1\r\nk\r\n$1\r\na\r\n$1\r\n1\r\n+PONG\r\n");
    resp_ask(fd, "ZADD k 2 b 3 c 4 d", ":3\r\n");
    resp_expect(two,
                "*2\r\n$1\r\nk\r\n*2\r\n*2\r\n$1\r\nd\r\n$1\r\n4\r\n*2\r\n$1\r\nc\r\n$1\r\n3\r\n");
    resp_ask(fd, "ZCARD k", ":1\r\n");
    /* at once where there is something */
    resp_ask(one, "BZPOPMAX nokey k 0", "*3\r\n$1\r\nk\r\n$1\r\nb\r\n$1\r\n2\r\n");
    resp_ask(fd, "SADD s x", ":1\r\n");
    resp_ask(one, "BZPOPMAX s 0",
             "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    resp_ask(one, "BZPOPMAX k x", "-ERR timeout is not a float or out of range\r\n");
    /* until the time is over */
    resp_send(one, "BZPOPMIN k 5\r\n");
    wait_until_blocked(1);
    resp_server_advance(&srv, 5000);
    resp_expect(one, "*-1\r\n");
    wait_until_blocked(0);
    /* gone before it was answered: the next one gets it */
    resp_send(one, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    close(one);
    wait_until_blocked(0);
    resp_send(two, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_ask(fd, "ZADD k 7 q", ":1\r\n");
    resp_expect(two, "*3\r\n$1\r\nk\r\n$1\r\nq\r\n$1\r\n7\r\n");
    close(two);
    stop(fd);
}

static void resp_ask_text(int fd, const char *text, const char *want) {
    resp_send(fd, text);
    resp_send(fd, "\r\n");
    resp_expect(fd, want);
}

static uint64_t looks_now;
static void count_looks(resp_server *s) {
    looks_now = rung_resp_stat(s->resp).blocked_looks;
}

static uint64_t looks(void) {
    resp_server_run(&srv, count_looks);
    return looks_now;
}

/* Many wait for many keys; changes of others cost nothing, and one of theirs as much as it serves. */
TEST(waiting_clients_cost_what_they_are_served) {
    enum { CLIENTS = 20, KEYS = 100, CHANGES = 200 };
    static char text[KEYS * 16 + 64];
    int fd = start_plain(), waiting[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        size_t len = (size_t)snprintf(text, sizeof text, "BZPOPMIN");
        for (int j = 0; j < KEYS; j++)
            len += (size_t)snprintf(text + len, sizeof text - len, " own%d.%d", i, j);
        snprintf(text + len, sizeof text - len, " shared 0\r\n");
        waiting[i] = resp_connect(&srv);
        resp_send(waiting[i], text);
        wait_until_blocked((uint32_t)i + 1);
    }
    uint64_t before = looks();
    CHECK_EQ_U64(before, CLIENTS * (KEYS + 1)); /* once each, when they came */
    for (int i = 0; i < CHANGES; i++) {
        snprintf(text, sizeof text, "ZADD other%d %d m", i, i);
        resp_ask_text(fd, text, ":1\r\n");
    }
    CHECK_EQ_U64(looks(), before);
    resp_ask(fd, "ZADD own7.99 5 m", ":1\r\n");
    resp_expect(waiting[7], "*3\r\n$7\r\nown7.99\r\n$1\r\nm\r\n$1\r\n5\r\n");
    wait_until_blocked(CLIENTS - 1);
    CHECK_EQ_U64(looks(), before + 1);
    /* Who came first is served first, from whichever key. */
    resp_ask(fd, "ZADD shared 1 a 2 b 3 c", ":3\r\n");
    resp_expect(waiting[0], "*3\r\n$6\r\nshared\r\n$1\r\na\r\n$1\r\n1\r\n");
    resp_expect(waiting[1], "*3\r\n$6\r\nshared\r\n$1\r\nb\r\n$1\r\n2\r\n");
    resp_expect(waiting[2], "*3\r\n$6\r\nshared\r\n$1\r\nc\r\n$1\r\n3\r\n");
    wait_until_blocked(CLIENTS - 4);
    CHECK(looks() <= before + 1 + 4);
    for (int i = 0; i < CLIENTS; i++)
        close(waiting[i]);
    wait_until_blocked(0);
    stop(fd);
}

TEST(waiting_clients_hear_of_every_way_members_come) {
    static const char *const ways[] = {
        "ZADD k 1 m",
        "ZADD k 1 m 2 n",
        "ZINCRBY k 1 m",
        "ZUNIONSTORE k 1 full",
        "ZINTERSTORE k 1 full",
        "ZDIFFSTORE k 1 full",
        "ZRANGESTORE k full 0 -1",
        "RENAME spare k",
        "MULTI\r\nZADD j 1 m\r\nZADD k 1 m\r\nEXEC",
        "MULTI\r\nZADD k 1 m\r\nDEL k\r\nZADD k 1 m\r\nEXEC",
    };
    int fd = start_plain(), other = resp_connect(&srv);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        resp_ask(fd, "ZADD full 1 m", ":1\r\n");
        resp_ask(fd, "ZADD spare 1 m", ":1\r\n");
        resp_send(other, "BZPOPMIN nokey k 0\r\n");
        wait_until_blocked(1);
        resp_send(fd, ways[i]);
        resp_send(fd, "\r\n");
        resp_expect(other, "*3\r\n$1\r\nk\r\n$1\r\nm\r\n$1\r\n1\r\n");
        close(fd);
        fd = resp_connect(&srv);
        resp_ask(fd, "FLUSHALL", "+OK\r\n");
    }
    /* A pop that comes to nothing: the client waits on, and is served by the next. */
    resp_send(other, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_send(fd, "ZADD k 1 m\r\nZREM k m\r\nZCARD k\r\n");
    resp_expect(fd, ":1\r\n:1\r\n:0\r\n");
    wait_until_blocked(1);
    resp_ask(fd, "ZADD k 2 n", ":1\r\n");
    resp_expect(other, "*3\r\n$1\r\nk\r\n$1\r\nn\r\n$1\r\n2\r\n");
    close(other);
    stop(fd);
}

TEST(keys_to_wait_for_have_a_limit) {
    enum { MOST = 1024, ALL = 65536 / 2 };
    static char text[(MOST + 1) * 8 + 64];
    int fd = start_plain(), waiting[ALL / MOST + 1];
    for (int more = 0; more < 2; more++) {
        size_t len = (size_t)snprintf(text, sizeof text, "BZPOPMIN");
        for (int j = 0; j < MOST + more; j++)
            len += (size_t)snprintf(text + len, sizeof text - len, " k%d", j);
        snprintf(text + len, sizeof text - len, " 0");
        if (more)
            resp_ask_text(fd, text,
                          "-ERR too many keys to wait for: at most 1024 in one command\r\n");
    }
    size_t end = strlen(text) - strlen(" k1024 0");
    snprintf(text + end, sizeof text - end, " 0");
    int count = 0; /* all of one sender: it gets half */
    for (; count < ALL / MOST; count++) {
        waiting[count] = resp_connect(&srv);
        resp_send(waiting[count], text);
        resp_send(waiting[count], "\r\n");
        wait_until_blocked((uint32_t)count + 1);
    }
    resp_ask_text(fd, text, "-ERR too many keys are waited for by blocked clients\r\n");
    while (count)
        close(waiting[--count]);
    wait_until_blocked(0);
    resp_send(fd, text);
    resp_send(fd, "\r\n");
    wait_until_blocked(1);
    stop(fd);
}

TEST(blocking_has_a_limit) {
    int fd = start(&(resp_server_config){.resp = {.blocked_max = 1}}), other = resp_connect(&srv);
    resp_send(fd, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_ask(other, "BZPOPMIN k 0", "-ERR too many clients are blocked\r\n");
    close(other);
    stop(fd);
}

/* ---- ends ---- */

TEST(closing) {
    int fd = start_plain();
    resp_send(fd, "ZADD k 1 a\r\nQUIT\r\nPING\r\n");
    resp_expect(fd, ":1\r\n+OK\r\n");
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "ZADD k 2 b\r\nZCARD k\r\n");
    shutdown(fd, SHUT_WR);
    resp_expect(fd, ":1\r\n:2\r\n");
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "ZADD k 3 c\r\n*1\r\n:5\r\nPING\r\n");
    resp_expect(fd, ":1\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    resp_expect_closed(fd);
    close(fd);
    /* gone while its changes are under way */
    for (int i = 0; i < 50; i++) {
        fd = resp_connect(&srv);
        resp_send(fd, "ZADD k 3 c\r\nMULTI\r\nZADD k 4 d\r\nZCARD k\r\nEXEC\r\nZRANGE k 0 -1\r\n");
        close(fd);
    }
    fd = resp_connect(&srv);
    resp_ask(fd, "ZSCORE k b", "$1\r\n2\r\n");
    stop(fd);
}

TEST(silence) {
    int fd = start_plain();
    resp_send(fd, "PING\r\nZADD k 0 a\r\nPING\r\nCLIENT REPLY OFF\r\nZADD k 1 a\r\nPING\r\nZCARD "
                  "k\r\nCLIENT REPLY ON\r\n");
    resp_expect(fd, "+PONG\r\n:1\r\n+PONG\r\n+OK\r\n");
    resp_ask(fd, "ZCARD k", ":1\r\n");
    stop(fd);
}

/* ---- keys ---- */

typedef struct minted {
    rung_key key;
    char text[RUNG_KEY_TEXT_MAX];
} minted;

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, &((minted *)ctx)->key, keys_out, err);
}

static void make_key(const char *path, rung_role role, const char *pattern, minted *out) {
    static uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    rung_err err = {0};
    chance[0]++;
    out->key = (rung_key){.role = role, .created_ms = 1};
    if (pattern) {
        out->key.patterns[0] = rung_slice_str(pattern);
        out->key.pattern_count = 1;
    }
    CHECK_OK(rung_key_mint(&out->key, chance, out->text, &err));
    CHECK_MSG(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, out, &err) == RUNG_OK,
              "%s", err.message);
}

static void log_in(int fd, const minted *m) {
    char line[256];
    snprintf(line, sizeof line, "AUTH %s\r\n", m->text);
    resp_send(fd, line);
    resp_expect(fd, "+OK\r\n");
}

TEST(roles_and_patterns) {
    char path[32], keys_path[64];
    minted reader, writer, admin;
    make_folder(path);
    snprintf(keys_path, sizeof keys_path, "%s/keys", path);
    make_key(keys_path, RUNG_ROLE_READ, NULL, &reader);
    make_key(keys_path, RUNG_ROLE_SERVER, "game:*", &writer);
    make_key(keys_path, RUNG_ROLE_ADMIN, NULL, &admin);
    int fd = start(&(resp_server_config){.keys_path = keys_path});
    resp_ask(fd, "PING", "-NOAUTH Authentication required.\r\n");
    resp_ask(fd, "ZCARD game:1", "-NOAUTH Authentication required.\r\n");
    resp_ask(fd, "AUTH wrong",
             "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    log_in(fd, &reader);
    resp_ask(fd, "PING", "+PONG\r\n");
    resp_ask(fd, "ZCARD game:1", ":0\r\n");
    resp_ask(fd, "ZADD game:1 1 a",
             "-NOPERM this user has no permissions to run the 'zadd' command\r\n");
    resp_send(fd, "MULTI\r\nZADD game:1 1 a\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n-NOPERM this user has no permissions to run the 'zadd' command\r\n"
                    "-EXECABORT Transaction discarded because of previous errors.\r\n");
    log_in(fd, &writer);
    resp_ask(fd, "ZADD game:1 1 a", ":1\r\n");
    check_alike(fd, NULL,
                (const char *[]){"ZCOUNT game:1 0 9", "ZCOUNT game:1 2 9", "ZCOUNT other 0 9",
                                 "ZCOUNT other 2 9", "ZREVRANGE other 0 1", "ZREVRANGE other 0 2",
                                 "ZREVRANGE game:1 0 1", "ZREVRANGE game:1 0 2"},
                8);
    resp_ask(
        fd, "ZADD other 1 a",
        "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n");
    resp_ask(
        fd, "ZUNIONSTORE game:2 2 game:1 other",
        "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n");
    resp_ask(fd, "FLUSHALL",
             "-NOPERM this user has no permissions to run the 'flushall' command\r\n");
    /* what was allowed a moment ago is looked at again for another key and after another AUTH */
    char lines[512];
    snprintf(lines, sizeof lines,
             "ZADD game:1 1 a\r\nZADD game:1 2 b\r\nZADD other 1 a\r\nZADD game:1 3 c\r\n"
             "AUTH %s\r\nZADD game:1 4 d\r\nAUTH %s\r\nZADD game:1 5 e\r\nZADD game:1\r\n",
             reader.text, writer.text);
    resp_send(fd, lines);
    resp_expect(
        fd,
        ":0\r\n:1\r\n"
        "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n:1\r\n"
        "+OK\r\n-NOPERM this user has no permissions to run the 'zadd' command\r\n+OK\r\n:1\r\n"
        "-ERR wrong number of arguments for 'zadd' command\r\n");
    log_in(fd, &admin);
    resp_ask(fd, "ZADD other 1 a", ":1\r\n");
    log_in(fd, &writer);
    resp_ask(fd, "KEYS *", "*1\r\n$6\r\ngame:1\r\n");
    resp_ask(fd, "SCAN 0", "*2\r\n$1\r\n0\r\n*1\r\n$6\r\ngame:1\r\n");
    resp_ask(fd, "RESET", "+RESET\r\n");
    resp_ask(fd, "PING", "-NOAUTH Authentication required.\r\n");
    stop(fd);
    remove_folder(path);
}

TEST(strangers_get_little_room) {
    char path[32], keys_path[64];
    minted admin;
    make_folder(path);
    snprintf(keys_path, sizeof keys_path, "%s/keys", path);
    make_key(keys_path, RUNG_ROLE_ADMIN, NULL, &admin);
    int fd = start(&(resp_server_config){.keys_path = keys_path});
    resp_send(fd, "*11\r\n");
    resp_expect(fd, "-ERR Protocol error: unauthenticated multibulk length\r\n");
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "*2\r\n$4\r\nPING\r\n$16385\r\n");
    resp_expect(fd, "-ERR Protocol error: unauthenticated bulk length\r\n");
    resp_expect_closed(fd);
    close(fd);
    /* AUTH and what follows it in one piece */
    fd = resp_connect(&srv);
    char line[512];
    snprintf(line, sizeof line,
             "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n*12\r\n$4\r\nZADD\r\n$1\r\nk\r\n",
             strlen(admin.text), admin.text);
    resp_send(fd, line);
    resp_send(fd, "$1\r\n1\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\nc\r\n$1\r\n1\r\n$"
                  "1\r\nd\r\n$1\r\n1\r\n$1\r\ne\r\n");
    resp_expect(fd, "+OK\r\n:5\r\n");
    stop(fd);
    remove_folder(path);
}

TEST(limits_of_everybody) {
    int fd =
        start(&(resp_server_config){.resp = {.args_max = 20, .bulk_max = 100, .command_max = 500}});
    resp_send(fd, "*21\r\n");
    resp_expect(fd, "-ERR Protocol error: invalid multibulk length\r\n");
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "*2\r\n$4\r\nPING\r\n$101\r\n");
    resp_expect(fd, "-ERR Protocol error: invalid bulk length\r\n");
    resp_expect_closed(fd);
    stop(fd);
}

TEST(the_table_is_told) {
    int fd = start_plain();
    resp_ask(fd, "COMMAND GETKEYS ZUNIONSTORE d 2 a b WEIGHTS 1 2",
             "*3\r\n$1\r\nd\r\n$1\r\na\r\n$1\r\nb\r\n");
    resp_ask(fd, "COMMAND GETKEYS BZPOPMIN a b 0", "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    resp_ask(fd, "COMMAND GETKEYS PING", "-ERR The command has no key arguments\r\n");
    resp_send(fd, "COMMAND INFO zadd nosuch\r\n");
    resp_expect(
        fd,
        "*2\r\n*10\r\n$4\r\nzadd\r\n:-4\r\n*3\r\n+write\r\n+denyoom\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
        "*3\r\n+@write\r\n+@sortedset\r\n+@fast\r\n*0\r\n");
    close(fd);
    fd = resp_connect(&srv);
    resp_ask(fd, "CONFIG GET save appendonly",
             "*4\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$4\r\nsave\r\n$0\r\n\r\n");
    stop(fd);
}

RUNG_TEST_MAIN
