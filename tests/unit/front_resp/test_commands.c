/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* Each kind of command, in RESP2 and RESP3. What sorted-set commands answer is held against a real Redis elsewhere
 * (tests/e2e). */
#include "support/resp_kit.h"

TEST(simple_commands) {
    int fd = start_plain();
    resp_ask(fd, "PING", simple("PONG"));
    resp_ask(fd, "zadd k 1 a 2 b 3.5 c", integer(3));
    resp_ask(fd, "ZADD k XX CH 5 b 7 zz", integer(1));
    resp_ask(fd, "ZADD k INCR 1.5 c", bulk("5"));
    resp_ask(fd, "ZADD k NX INCR 1.5 c", nil);
    resp_ask(fd, "ZRANGE k 0 -1 WITHSCORES",
             array(bulk("a"), bulk("1"), bulk("b"), bulk("5"), bulk("c"), bulk("5")));
    resp_ask(fd, "ZREVRANK k a", integer(2));
    resp_ask(fd, "ZREVRANK k a WITHSCORE", array(integer(2), bulk("1")));
    resp_ask(fd, "ZREVRANK k nobody WITHSCORE", nil_array);
    resp_ask(fd, "ZSCORE k nobody", nil);
    resp_ask(fd, "ZINCRBY k 0.1 a", bulk("1.1000000000000001"));
    resp_ask(fd, "TYPE k", simple("zset"));
    resp_ask(fd, "SADD k x",
             error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    resp_ask(fd, "SADD s a b", integer(2));
    resp_ask(fd, "ZADD s 1 a",
             error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    resp_ask(fd, "ZADD k inf x", integer(1));
    resp_ask(fd, "ZINCRBY k -inf x", error("ERR resulting score is not a number (NaN)"));
    resp_ask(fd, "ZINTER 2 k s", array(bulk("a"), bulk("b")));
    resp_ask(fd, "ZPOPMAX k", array(bulk("x"), bulk("inf")));
    resp_ask(fd, "ZPOPMIN k 0", empty_array);
    resp_ask(fd, "DEL k s nothing", integer(2));
    resp_ask(fd, "DBSIZE", integer(0));
    stop(fd);
}

TEST(errors_in_the_words_of_redis) {
    int fd = start_plain();
    resp_ask(fd, "nosuch a \"b c\"",
             error("ERR unknown command 'nosuch', with args beginning with: 'a' 'b c' "));
    resp_ask(fd, "zcard", error("ERR wrong number of arguments for 'zcard' command"));
    resp_ask(fd, "zadd k x a", error("ERR value is not a valid float"));
    resp_ask(fd, "zadd k 1 a 2", error("ERR syntax error"));
    resp_ask(fd, "zrange k 0 x", error("ERR value is not an integer or out of range"));
    resp_ask(fd, "client nosuch", error("ERR unknown subcommand 'nosuch'. Try CLIENT HELP."));
    resp_ask(
        fd, "SHUTDOWN",
        error("ERR the command 'SHUTDOWN' of Redis is not supported by Rung, see docs/redis.md"));
    resp_ask(fd, "select 1", error("ERR DB index is out of range"));
    resp_ask(fd, "zadd k 1 \"\"",
             error("ERR player: 1 to 128 bytes of UTF-8 without control characters"));
    stop(fd);
}

TEST(resp3) {
    int fd = start_plain();
    resp_ask(fd, "HELLO 4", error("NOPROTO unsupported protocol version"));
    resp_ask(fd, "HELLO 3 SETNAME me",
             map(bulk("server"), bulk("redis"), bulk("version"), bulk("7.0.15"), bulk("proto"),
                 integer(3), bulk("id"), integer(1), bulk("mode"), bulk("standalone"), bulk("role"),
                 bulk("master"), bulk("modules"), empty_array));
    resp_ask(fd, "CLIENT GETNAME", bulk("me"));
    resp_ask(fd, "ZADD k 1 a 2 b", integer(2));
    resp_ask(fd, "ZSCORE k a", real("1"));
    resp_ask(fd, "ZSCORE k x", null);
    resp_ask(fd, "ZRANGE k 0 -1 WITHSCORES",
             array(array(bulk("a"), real("1")), array(bulk("b"), real("2"))));
    resp_ask(fd, "ZPOPMIN k", array(bulk("a"), real("1")));
    resp_ask(fd, "ZPOPMIN k 1", array(array(bulk("b"), real("2"))));
    resp_ask(fd, "SADD s a", integer(1));
    resp_ask(fd, "SMEMBERS s", set(bulk("a")));
    resp_ask(fd, "RESET", simple("RESET"));
    resp_ask(fd, "ZSCORE k a", nil);
    stop(fd);
}

TEST(rung_commands) {
    int fd = start_plain();
    resp_ask(fd, "ZADD k 10 a 20 b 20 c 30 d", integer(4));
    resp_ask(fd, "RUNG.RANK k a", integer(4));
    resp_ask(fd, "RUNG.RANK k a DENSE", integer(3));
    resp_ask(fd, "RUNG.RANK k b SPARSE", integer(2));
    resp_ask(fd, "RUNG.RANK k b UNIQUE", integer(3));
    resp_ask(fd, "RUNG.RANK k nobody", nil);
    resp_ask(fd, "RUNG.RANK nokey a", nil);
    resp_ask(fd, "RUNG.RANK k a WINDOW", error("ERR syntax error"));
    resp_ask(fd, "RUNG.MRANK k 3 a x d", array(integer(4), nil, integer(1)));
    resp_ask(fd, "RUNG.PERCENTILE k d", bulk("100"));
    resp_ask(
        fd, "RUNG.TOP k COUNT 2",
        array(array(integer(1), bulk("d"), bulk("30")), array(integer(2), bulk("c"), bulk("20"))));
    resp_ask(fd, "RUNG.AROUND k a COUNT 0", array(array(integer(4), bulk("a"), bulk("10"))));
    resp_ask(fd, "RUNG.SUBMIT nokey a 1", error("ERR no such board"));
    resp_ask(fd, "RUNG.SUBMIT k a 25",
             array(bulk("changed"), integer(1), bulk("duplicate"), integer(0), bulk("score"),
                   bulk("25"), bulk("rank_before"), integer(4), bulk("rank"), integer(2),
                   bulk("total"), integer(4), bulk("passed"), integer(2), bulk("percentile"),
                   bulk("75")));
    resp_ask(fd, "RUNG.SUBMIT k a 26 BRIEF", bulk("26"));
    resp_ask(fd, "RUNG.SUBMIT k a 27 BRIEF ID twice", bulk("27"));
    resp_ask(fd, "RUNG.SUBMIT k a 27 ID twice BRIEF", bulk("27"));
    resp_ask(fd, "RUNG.SUBMIT k a 28 Delta bRIEF iD again", bulk("55"));
    resp_ask(fd, "RUNG.SUBMIT k a -0 BRIEF", bulk("0"));
    resp_ask(fd, "RUNG.SUBMIT k a 007 BRIEF", bulk("7"));
    resp_ask(fd, "RUNG.SUBMIT k a +5 BRIEF", bulk("5"));
    resp_ask(fd, "RUNG.SUBMIT k a 1e3 BRIEF", bulk("1000"));
    resp_ask(fd, "RUNG.SUBMIT k a -12.75 BRIEF", bulk("-12.75"));
    resp_ask(fd, "RUNG.SUBMIT k a 1e15 BRIEF", bulk("1000000000000000"));
    resp_ask(fd, "RUNG.SUBMIT k a -999999999999999 BRIEF", bulk("-999999999999999"));
    resp_ask(fd, "RUNG.SUBMIT k a inf BRIEF", bulk("inf"));
    resp_ask(fd, "RUNG.SUBMIT k a 1 2", error("ERR the board has fewer columns"));
    resp_ask(fd, "RUNG.SUBMIT k a BRIEF 1", error("ERR syntax error"));
    resp_ask(fd, "RUNG.SUBMIT k a 1 META", error("ERR syntax error"));
    resp_ask(fd, "RUNG.SUBMIT k a BRIEFS", error("ERR not a number"));
    resp_ask(fd, "RUNG.SUBMIT k a BRIEF", error("ERR score: the board takes 1 values, got 0"));
    stop(fd);
}

TEST(keys_that_expire) {
    int fd = start_plain();
    resp_ask(fd, "ZADD k 1 a", integer(1));
    resp_ask(fd, "TTL k", integer(-1));
    resp_ask(fd, "EXPIRE k 10", integer(1));
    resp_ask(fd, "PTTL k", integer(10000));
    resp_server_advance(&srv, 9999);
    resp_ask(fd, "PTTL k", integer(1));
    resp_ask(fd, "ZCARD k", integer(1));
    resp_server_advance(&srv, 1);
    resp_ask(fd, "ZCARD k", integer(0));
    resp_ask(fd, "TTL k", integer(-2));
    resp_ask(fd, "ZADD k 5 b", integer(1));
    resp_ask(fd, "TTL k", integer(-1));
    stop(fd);
}

RUNG_TEST_MAIN
