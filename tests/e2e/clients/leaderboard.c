/* SPDX-License-Identifier: Apache-2.0 */
/* The leaderboard patterns that people build on sorted sets, with hiredis: leaderboard HOST PORT. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static redisContext *c;

static void print(const redisReply *r) {
    switch (r->type) {
    case REDIS_REPLY_INTEGER:
        printf(" %lld", r->integer);
        break;
    case REDIS_REPLY_NIL:
        printf(" nil");
        break;
    case REDIS_REPLY_ARRAY:
        printf(" [");
        for (size_t i = 0; i < r->elements; i++)
            print(r->element[i]);
        printf(" ]");
        break;
    default:
        printf(" %.*s", (int)r->len, r->str);
    }
}

static void show(redisReply *r) {
    if (!r) {
        fprintf(stderr, "%s\n", c->errstr);
        exit(1);
    }
    print(r);
    printf("\n");
    freeReplyObject(r);
}

static void run(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%s:", format);
    show(redisvCommand(c, format, args));
    va_end(args);
}

static void take(void) {
    void *r = NULL;
    redisGetReply(c, &r);
    show(r);
}

int main(int argc, char **argv) {
    c = argc == 3 ? redisConnect(argv[1], atoi(argv[2])) : NULL;
    if (!c || c->err)
        return 1;
    run("FLUSHALL");
    for (int i = 0; i < 500; i++) /* all in one go */
        redisAppendCommand(c, "ZADD leaderboard:global %d player:%08d", i * 7919 % 1000, i);
    for (int i = 0; i < 500; i++)
        take();
    run("MULTI");
    run("ZINCRBY leaderboard:global %d ada", 700);
    run("ZINCRBY leaderboard:weekly %d ada", 700);
    run("ZINCRBY leaderboard:daily %d ada", 700);
    run("EXPIRE leaderboard:daily %d", 86400);
    run("EXEC");
    run("ZREVRANK leaderboard:global ada");
    run("ZREVRANK leaderboard:global nobody");
    run("ZSCORE leaderboard:global ada");
    run("ZREVRANGE leaderboard:global 0 9 WITHSCORES");
    run("ZREVRANGEBYSCORE leaderboard:global +inf -inf LIMIT 200 10");
    run("ZRANGE leaderboard:global 0 4 REV WITHSCORES");
    run("ZCOUNT leaderboard:global (500 +inf");
    run("ZCARD leaderboard:global");
    run("SADD friends ada player:00000007 stranger");
    run("ZINTERSTORE board 2 leaderboard:global friends WEIGHTS 1 0");
    run("ZREVRANGE board 0 -1 WITHSCORES");
    run("ZMSCORE leaderboard:global ada stranger");
    run("ZADD best GT CH 10 ada");
    run("ZADD best GT CH 5 ada");
    run("ZADD best INCR 0.5 ada");
    run("ZADD %b 1 %b", "a b", (size_t)3, "x\xc3\xa4y", (size_t)4);
    run("ZRANGE %b 0 -1", "a b", (size_t)3);
    run("ZADD friends 1 x");
    run("ZADD");
    run("ZPOPMAX leaderboard:global 2");
    run("FLUSHALL");
    run("DBSIZE");
    redisFree(c);
    return 0;
}
