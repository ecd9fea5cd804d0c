/* SPDX-License-Identifier: Apache-2.0 */
/* Every command: how it is called, its keys, who may call it, and its documentation. COMMAND, the permission checks and
 * docs/redis.md come from here. */
#include "codec/resp_parser.h"
#include "front/resp/handlers.h"

#include "base/ascii.h"
#define ZSET "sorted-set"
#define KEYS "generic"

/* A question about keys. */
#define ASK_KEYS(n, a, f, handler, grp, ver, text, ...)                                            \
    {                                                                                              \
        .name = n, .arity = a, .flags = f, .role = RUNG_ROLE_READ, .answer = handler,              \
        .group = grp, .since = ver, .summary = text, __VA_ARGS__                                   \
    }
/* A change of keys. */
#define CHANGE_KEYS(n, a, f, builder, replier, grp, ver, text, ...)                                \
    {                                                                                              \
        .name = n, .arity = a, .flags = f, .role = RUNG_ROLE_SERVER, .build = builder,             \
        .reply = replier, .group = grp, .since = ver, .summary = text, __VA_ARGS__                 \
    }
/* The same for one key, the first argument. */
#define ASK(...)    ASK_KEYS(__VA_ARGS__, KEYS_TO(1))
#define CHANGE(...) CHANGE_KEYS(__VA_ARGS__, KEYS_TO(1))
/* About the connection or the server. */
#define SAY(n, a, f, handler, grp, ver, text, ...)                                                 \
    {                                                                                              \
        .name = n, .arity = a, .flags = f, .answer = handler, .group = grp, .since = ver,          \
        .summary = text, __VA_ARGS__                                                               \
    }

#define FLUSH(n)                                                                                   \
    {                                                                                              \
        .name = n, .arity = -1, .flags = W, .role = RUNG_ROLE_ADMIN,                               \
        .build = rung__resp_build_flush, .reply = rung__resp_reply_ok, .group = "server",          \
        .since = "1.0.0", .summary = "Delete all keys: every board and every set"                  \
    }

#define KEYS_TO(to) .first_key = 1, .last_key = (to), .key_step = 1

enum {
    R = RUNG__READ,
    RF = RUNG__READ | RUNG__FAST,
    W = RUNG__WRITE,
    WF = RUNG__WRITE | RUNG__FAST,
    M = RUNG__MOVABLE,
    N = RUNG__NOW | RUNG__FAST,
};

static const char *const client_subcommands[] = {"getname",  "id",      "info",    "list",
                                                 "reply",    "setinfo", "setname", "no-evict",
                                                 "no-touch", "help",    NULL};
static const char *const config_subcommands[] = {"get",     "set",  "resetstat",
                                                 "rewrite", "help", NULL};
static const char *const command_subcommands[] = {"count", "docs", "getkeys", "info",
                                                  "list",  "help", NULL};

static const rung__resp_command commands[] = {
    /* sorted sets: questions */
    ASK("zscore", 3, RF | RUNG__BATCH, rung__resp_answer_zscore, ZSET, "1.2.0",
        "Get the score of a member in a sorted set", .player_arg = 2),
    ASK("zmscore", -3, RF, rung__resp_answer_zmscore, ZSET, "6.2.0",
        "Get the scores of several members of a sorted set"),
    ASK("zrank", -3, RF | RUNG__BATCH, rung__resp_answer_zrank, ZSET, "2.0.0",
        "Get the index of a member, scores from low to high", .player_arg = 2),
    ASK("zrevrank", -3, RF | RUNG__BATCH, rung__resp_answer_zrank, ZSET, "2.0.0",
        "Get the index of a member, scores from high to low", .player_arg = 2, .is_rev = true),
    ASK("zcard", 2, RF, rung__resp_answer_zcard, ZSET, "1.2.0",
        "Count the members of a sorted set"),
    ASK("zcount", 4, RF | RUNG__BATCH, rung__resp_answer_zcount, ZSET, "2.0.0",
        "Count the members with scores in a range", .by = RUNG_RANGE_SCORE),
    ASK("zlexcount", 4, RF, rung__resp_answer_zcount, ZSET, "2.8.9",
        "Count the members in a range of names", .by = RUNG_RANGE_LEX),
    ASK("zrange", -4, R | RUNG__BATCH, rung__resp_answer_zrange, ZSET, "1.2.0",
        "Return a range of members", .has_order_options = true),
    ASK("zrevrange", -4, R | RUNG__BATCH, rung__resp_answer_zrange, ZSET, "1.2.0",
        "Return a range of members by index, scores from high to low", .is_rev = true),
    ASK("zrangebyscore", -4, R, rung__resp_answer_zrange, ZSET, "1.0.5",
        "Return the members with scores in a range", .by = RUNG_RANGE_SCORE),
    ASK("zrevrangebyscore", -4, R, rung__resp_answer_zrange, ZSET, "2.2.0",
        "Return the members with scores in a range, from high to low", .by = RUNG_RANGE_SCORE,
        .is_rev = true),
    ASK("zrangebylex", -4, R, rung__resp_answer_zrange, ZSET, "2.8.9",
        "Return the members in a range of names", .by = RUNG_RANGE_LEX),
    ASK("zrevrangebylex", -4, R, rung__resp_answer_zrange, ZSET, "2.8.9",
        "Return the members in a range of names, from high to low", .by = RUNG_RANGE_LEX,
        .is_rev = true),
    ASK("zrandmember", -2, R | RUNG__HEAVY, rung__resp_answer_zrandmember, ZSET, "6.2.0",
        "Return random members of a sorted set"),
    ASK("zscan", -3, R, rung__resp_answer_zscan, ZSET, "2.8.0", "Iterate over members and scores"),
    ASK_KEYS("zunion", -3, R | M | RUNG__HEAVY, rung__resp_answer_zcombine, ZSET, "6.2.0",
             "Return the union of sorted sets", .count_arg = 1, .combine = RUNG_KEYS_UNION),
    ASK_KEYS("zinter", -3, R | M | RUNG__HEAVY, rung__resp_answer_zcombine, ZSET, "6.2.0",
             "Return the intersection of sorted sets", .count_arg = 1, .combine = RUNG_KEYS_INTER),
    ASK_KEYS("zdiff", -3, R | M | RUNG__HEAVY, rung__resp_answer_zcombine, ZSET, "6.2.0",
             "Return the difference of sorted sets", .count_arg = 1, .combine = RUNG_KEYS_DIFF),
    ASK_KEYS("zintercard", -3, R | M | RUNG__HEAVY, rung__resp_answer_zintercard, ZSET, "7.0.0",
             "Count the intersection of sorted sets", .count_arg = 1, .combine = RUNG_KEYS_INTER),
    /* sorted sets: changes */
    CHANGE("zadd", -4, WF | RUNG__DENYOOM, rung__resp_build_zadd, rung__resp_reply_zadd, ZSET,
           "1.2.0", "Add members, or change their scores",
           .reply_score = rung__resp_reply_score_zadd),
    CHANGE("zincrby", 4, WF | RUNG__DENYOOM, rung__resp_build_zadd, rung__resp_reply_zadd, ZSET,
           "1.2.0", "Increment the score of a member", .reply_score = rung__resp_reply_score_zadd,
           .is_incr = true),
    CHANGE("zrem", -3, WF, rung__resp_build_members, rung__resp_reply_count, ZSET, "1.2.0",
           "Remove members", .kind = RUNG_ZCOMMAND_ZREM),
    CHANGE("zremrangebyrank", 4, W, rung__resp_build_zremrange, rung__resp_reply_count, ZSET,
           "2.0.0", "Remove the members in a range of indexes", .by = RUNG_RANGE_RANK),
    CHANGE("zremrangebyscore", 4, W, rung__resp_build_zremrange, rung__resp_reply_count, ZSET,
           "1.2.0", "Remove the members in a range of scores", .by = RUNG_RANGE_SCORE),
    CHANGE("zremrangebylex", 4, W, rung__resp_build_zremrange, rung__resp_reply_count, ZSET,
           "2.8.9", "Remove the members in a range of names", .by = RUNG_RANGE_LEX),
    CHANGE("zpopmin", -2, WF, rung__resp_build_zpop, rung__resp_reply_zpop, ZSET, "5.0.0",
           "Remove and return the members with the lowest scores",
           .answer = rung__resp_answer_zpop_none),
    CHANGE("zpopmax", -2, WF, rung__resp_build_zpop, rung__resp_reply_zpop, ZSET, "5.0.0",
           "Remove and return the members with the highest scores",
           .answer = rung__resp_answer_zpop_none, .is_max = true),
    CHANGE_KEYS("bzpopmin", -3, WF | RUNG__BLOCKS, rung__resp_build_bzpop, rung__resp_reply_zpop,
                ZSET, "5.0.0", "As ZPOPMIN, or wait until there is a member", KEYS_TO(-2)),
    CHANGE_KEYS("bzpopmax", -3, WF | RUNG__BLOCKS, rung__resp_build_bzpop, rung__resp_reply_zpop,
                ZSET, "5.0.0", "As ZPOPMAX, or wait until there is a member", KEYS_TO(-2),
                .is_max = true),
    CHANGE_KEYS("zmpop", -4, W | M, rung__resp_build_zmpop, rung__resp_reply_zpop, ZSET, "7.0.0",
                "Remove and return members of the first sorted set that has some", .count_arg = 1),
    CHANGE_KEYS("bzmpop", -5, W | M | RUNG__BLOCKS, rung__resp_build_zmpop, rung__resp_reply_zpop,
                ZSET, "7.0.0", "As ZMPOP, or wait until there is a member", .count_arg = 2),
    CHANGE_KEYS("zrangestore", -5, W | RUNG__DENYOOM, rung__resp_build_zrangestore,
                rung__resp_reply_count, ZSET, "6.2.0", "Store a range of members under another key",
                KEYS_TO(2), .has_order_options = true),
    CHANGE("zunionstore", -4, W | M | RUNG__DENYOOM, rung__resp_build_zstore,
           rung__resp_reply_count, ZSET, "2.0.0", "Store the union of sorted sets", .count_arg = 2,
           .combine = RUNG_KEYS_UNION),
    CHANGE("zinterstore", -4, W | M | RUNG__DENYOOM, rung__resp_build_zstore,
           rung__resp_reply_count, ZSET, "2.0.0", "Store the intersection of sorted sets",
           .count_arg = 2, .combine = RUNG_KEYS_INTER),
    CHANGE("zdiffstore", -4, W | M | RUNG__DENYOOM, rung__resp_build_zstore, rung__resp_reply_count,
           ZSET, "6.2.0", "Store the difference of sorted sets", .count_arg = 2,
           .combine = RUNG_KEYS_DIFF),
    /* keys */
    CHANGE_KEYS("del", -2, W | RUNG__REMOVES, rung__resp_build_members, rung__resp_reply_count,
                KEYS, "1.0.0", "Delete keys", KEYS_TO(-1), .kind = RUNG_ZCOMMAND_DEL),
    CHANGE_KEYS("unlink", -2, WF | RUNG__REMOVES, rung__resp_build_members, rung__resp_reply_count,
                KEYS, "4.0.0", "Delete keys", KEYS_TO(-1), .kind = RUNG_ZCOMMAND_DEL),
    ASK_KEYS("exists", -2, RF, rung__resp_answer_exists, KEYS, "1.0.0",
             "Count how many of the keys exist", KEYS_TO(-1)),
    ASK_KEYS("touch", -2, RF, rung__resp_answer_exists, KEYS, "3.2.1",
             "Count how many of the keys exist", KEYS_TO(-1)),
    ASK("type", 2, RF, rung__resp_answer_type, KEYS, "1.0.0", "Return the type of a key"),
    ASK("ttl", 2, RF, rung__resp_answer_ttl, KEYS, "1.0.0",
        "Return the seconds until a key expires"),
    ASK("pttl", 2, RF, rung__resp_answer_ttl, KEYS, "2.6.0",
        "Return the milliseconds until a key expires", .is_ms = true),
    ASK("expiretime", 2, RF, rung__resp_answer_ttl, KEYS, "7.0.0",
        "Return when a key expires, in Unix seconds", .is_absolute = true),
    ASK("pexpiretime", 2, RF, rung__resp_answer_ttl, KEYS, "7.0.0",
        "Return when a key expires, in Unix milliseconds", .is_ms = true, .is_absolute = true),
    CHANGE("expire", -3, WF | RUNG__REMOVES, rung__resp_build_expire, rung__resp_reply_count, KEYS,
           "1.0.0", "Set the expiry of a key in seconds from now"),
    CHANGE("pexpire", -3, WF | RUNG__REMOVES, rung__resp_build_expire, rung__resp_reply_count, KEYS,
           "2.6.0", "Set the expiry of a key in milliseconds from now", .is_ms = true),
    CHANGE("expireat", -3, WF | RUNG__REMOVES, rung__resp_build_expire, rung__resp_reply_count,
           KEYS, "1.2.0", "Set the expiry of a key to a Unix time in seconds", .is_absolute = true),
    CHANGE("pexpireat", -3, WF | RUNG__REMOVES, rung__resp_build_expire, rung__resp_reply_count,
           KEYS, "2.6.0", "Set the expiry of a key to a Unix time in milliseconds", .is_ms = true,
           .is_absolute = true),
    CHANGE("persist", 2, WF | RUNG__REMOVES, rung__resp_build_persist, rung__resp_reply_count, KEYS,
           "2.2.0", "Remove the expiry of a key"),
    CHANGE_KEYS("rename", 3, W | RUNG__REMOVES, rung__resp_build_rename, rung__resp_reply_ok, KEYS,
                "1.0.0", "Rename a key, replacing one of the new name", KEYS_TO(2)),
    CHANGE_KEYS("renamenx", 3, WF | RUNG__REMOVES, rung__resp_build_rename, rung__resp_reply_count,
                KEYS, "1.0.0", "Rename a key if no key has the new name", KEYS_TO(2),
                .is_if_new = true),
    SAY("keys", 2, R | RUNG__HEAVY, rung__resp_answer_keys, KEYS, "1.0.0",
        "List the keys whose names match a pattern", .role = RUNG_ROLE_READ),
    SAY("scan", -2, R | RUNG__HEAVY, rung__resp_answer_scan, KEYS, "2.8.0", "Iterate over the keys",
        .role = RUNG_ROLE_READ),
    SAY("dbsize", 1, RF, rung__resp_answer_dbsize, "server", "1.0.0", "Count the keys",
        .role = RUNG_ROLE_READ),
    FLUSH("flushall"),
    FLUSH("flushdb"),
    /* sets */
    CHANGE("sadd", -3, WF | RUNG__DENYOOM, rung__resp_build_members, rung__resp_reply_count, "set",
           "1.0.0", "Add members to a set", .kind = RUNG_ZCOMMAND_SADD),
    CHANGE("srem", -3, WF, rung__resp_build_members, rung__resp_reply_count, "set", "1.0.0",
           "Remove members from a set", .kind = RUNG_ZCOMMAND_SREM),
    ASK("smembers", 2, R, rung__resp_answer_smembers, "set", "1.0.0",
        "Return all members of a set"),
    ASK("sismember", 3, RF, rung__resp_answer_sismember, "set", "1.0.0",
        "Check whether a set has a member"),
    ASK("smismember", -3, RF, rung__resp_answer_smismember, "set", "6.2.0",
        "Check which of several members a set has"),
    ASK("scard", 2, RF, rung__resp_answer_scard, "set", "1.0.0", "Count the members of a set"),
    ASK("sscan", -3, R, rung__resp_answer_sscan, "set", "2.8.0",
        "Iterate over the members of a set"),
    /* sketches */
    CHANGE("topk.reserve", -3, W | RUNG__DENYOOM, rung__resp_build_topk_reserve,
           rung__resp_reply_made, "topk", "8.0.0", "Make a board of the largest counts",
           .sketch = RUNG_SKETCH_COUNTS, .is_listing = true),
    CHANGE("topk.add", -3, W | RUNG__DENYOOM, rung__resp_build_sketch_add,
           rung__resp_reply_sketch_add, "topk", "8.0.0",
           "Count names once each; who leaves the top for them", .sketch = RUNG_SKETCH_COUNTS,
           .is_listing = true),
    CHANGE("topk.incrby", -4, W | RUNG__DENYOOM, rung__resp_build_sketch_add,
           rung__resp_reply_sketch_add, "topk", "8.0.0",
           "Count names several times; who leaves the top for them", .sketch = RUNG_SKETCH_COUNTS,
           .is_listing = true, .is_incr = true),
    ASK("topk.list", -2, R | RUNG__HEAVY, rung__resp_answer_topk_list, "topk", "8.0.0",
        "List the names with the largest counts"),
    ASK("topk.query", -3, R | RUNG__HEAVY, rung__resp_answer_topk_query, "topk", "8.0.0",
        "Check which names are among the largest counts"),
    CHANGE("cms.initbydim", 4, W | RUNG__DENYOOM, rung__resp_build_cms_init, rung__resp_reply_made,
           "cms", "8.0.0", "Make a board of counts with so many counters",
           .sketch = RUNG_SKETCH_COUNTS),
    CHANGE("cms.initbyprob", 4, W | RUNG__DENYOOM, rung__resp_build_cms_init, rung__resp_reply_made,
           "cms", "8.0.0", "Make a board of counts with a guaranteed error",
           .sketch = RUNG_SKETCH_COUNTS, .is_by_share = true),
    CHANGE("cms.incrby", -4, W | RUNG__DENYOOM, rung__resp_build_sketch_add,
           rung__resp_reply_sketch_add, "cms", "8.0.0", "Add to the counts of names",
           .sketch = RUNG_SKETCH_COUNTS, .is_incr = true),
    ASK("cms.query", -3, R, rung__resp_answer_cms_query, "cms", "8.0.0",
        "The counts of names, at most; never too small"),
    CHANGE("tdigest.create", -2, W | RUNG__DENYOOM, rung__resp_build_tdigest_create,
           rung__resp_reply_made, "tdigest", "8.0.0", "Make a board of percentiles",
           .sketch = RUNG_SKETCH_PERCENTILE),
    CHANGE("tdigest.add", -3, W | RUNG__DENYOOM, rung__resp_build_sketch_add,
           rung__resp_reply_sketch_add, "tdigest", "8.0.0", "Add values to a board of percentiles",
           .sketch = RUNG_SKETCH_PERCENTILE),
    ASK("tdigest.rank", -3, R, rung__resp_answer_tdigest_rank, "tdigest", "8.0.0",
        "How many values are below each of these"),
    ASK("tdigest.quantile", -3, R, rung__resp_answer_tdigest_quantile, "tdigest", "8.0.0",
        "The values at these shares of all"),
    CHANGE("pfadd", -2, WF | RUNG__DENYOOM, rung__resp_build_sketch_add,
           rung__resp_reply_sketch_add, "hyperloglog", "2.8.9",
           "Add elements to a count of distinct ones", .sketch = RUNG_SKETCH_DISTINCT),
    ASK_KEYS("pfcount", -2, R, rung__resp_answer_pfcount, "hyperloglog", "2.8.9",
             "Estimate how many distinct elements several counts have together", KEYS_TO(-1)),
    CHANGE_KEYS("pfmerge", -2, W | RUNG__DENYOOM, rung__resp_build_pfmerge, rung__resp_reply_merged,
                "hyperloglog", "2.8.9", "Merge counts of distinct elements into one", KEYS_TO(-1)),
    /* transactions */
    SAY("multi", 1, N | RUNG__IN_MULTI, rung__resp_answer_multi, "transactions", "1.2.0",
        "Begin a transaction"),
    SAY("exec", 1, RUNG__NOW | RUNG__EXEC | RUNG__IN_MULTI, rung__resp_answer_exec, "transactions",
        "1.2.0", "Execute the commands of a transaction atomically"),
    SAY("discard", 1, N | RUNG__IN_MULTI, rung__resp_answer_discard, "transactions", "2.0.0",
        "Discard a transaction"),
    SAY("watch", -2, N | RUNG__ALONE | RUNG__IN_MULTI, rung__resp_answer_watch, "transactions",
        "2.2.0", "Abort the next EXEC if one of the keys changes before it", .role = RUNG_ROLE_READ,
        KEYS_TO(-1)),
    SAY("unwatch", 1, N, rung__resp_answer_unwatch, "transactions", "2.2.0",
        "Stop watching all keys"),
    /* the connection */
    SAY("ping", -1, N, rung__resp_answer_ping, "connection", "1.0.0",
        "Reply PONG, or the argument"),
    SAY("echo", 2, N, rung__resp_answer_echo, "connection", "1.0.0", "Reply the argument"),
    SAY("select", 2, N, rung__resp_answer_select, "connection", "1.0.0",
        "Select database 0, the only one"),
    SAY("auth", -2, N | RUNG__NO_AUTH, rung__resp_answer_auth, "connection", "1.0.0",
        "Authenticate with a Rung key or a player's token"),
    SAY("hello", -1, N | RUNG__ALONE | RUNG__NO_AUTH, rung__resp_answer_hello, "connection",
        "6.0.0", "Choose RESP2 or RESP3, and authenticate"),
    SAY("quit", -1, N | RUNG__ALONE | RUNG__NO_AUTH | RUNG__IN_MULTI, rung__resp_answer_quit,
        "connection", "1.0.0", "Close the connection"),
    SAY("reset", 1, N | RUNG__ALONE | RUNG__NO_AUTH | RUNG__IN_MULTI, rung__resp_answer_reset,
        "connection", "6.2.0", "Reset the connection to its initial state"),
    SAY("client", -2, RUNG__NOW | RUNG__ALONE, rung__resp_answer_client, "connection", "2.4.0",
        "Information about connections", .subcommands = client_subcommands),
    /* the server */
    SAY("info", -1, RUNG__NOW, rung__resp_answer_info, "server", "1.0.0",
        "Information and statistics of the server", .role = RUNG_ROLE_READ),
    SAY("config", -2, RUNG__NOW | RUNG__ADMIN, rung__resp_answer_config, "server", "2.0.0",
        "Read the settings that clients ask for", .role = RUNG_ROLE_READ,
        .subcommands = config_subcommands),
    SAY("command", -1, RUNG__NOW, rung__resp_answer_command, "server", "2.8.13",
        "Information about commands", .subcommands = command_subcommands),
    SAY("time", 1, N, rung__resp_answer_time, "server", "2.6.0",
        "Return the time in seconds and microseconds"),
    SAY("role", 1, N, rung__resp_answer_role, "server", "2.8.12",
        "Return the replication role: always master"),
    SAY("lastsave", 1, N, rung__resp_answer_lastsave, "server", "1.0.0",
        "Return when the newest snapshot was written, in Unix seconds"),
    /* what Redis cannot do */
    ASK("rung.rank", -3, RF | RUNG__PAST, rung__resp_answer_rung_rank, "rung", "",
        "The rank of a member from 1, in any style, window and scope", .player_arg = 2),
    ASK("rung.mrank", -3, RF | RUNG__PAST, rung__resp_answer_rung_mrank, "rung", "",
        "The ranks of several members"),
    ASK("rung.around", -3, R | RUNG__PAST, rung__resp_answer_rung_around, "rung", "",
        "A member with those just above and below", .player_arg = 2),
    ASK("rung.top", -2, R | RUNG__PAST, rung__resp_answer_rung_top, "rung", "", "The best, ranked"),
    ASK("rung.friends", -3, R | RUNG__KEYED | RUNG__PAST, rung__resp_answer_rung_friends, "rung",
        "", "A player and their friends, ranked among themselves", .player_arg = 2),
    ASK("rung.percentile", -3, RF | RUNG__PAST, rung__resp_answer_rung_percentile, "rung", "",
        "The share of entries at or below a member's score, in percent", .player_arg = 2),
    CHANGE("rung.submit", -3, WF | RUNG__DENYOOM | RUNG__NO_MULTI | RUNG__ON_BOARD | RUNG__SIGNED,
           rung__resp_build_submit, NULL, "rung", "",
           "Submit a score: one event, all windows, scopes and teams",
           .reply_score = rung__resp_reply_submit),
    CHANGE("rung.match", 3, W | RUNG__DENYOOM | RUNG__NO_MULTI | RUNG__ON_BOARD,
           rung__resp_build_match, NULL, "rung", "",
           "Submit the result of a match to a rating board: all its players change together",
           .reply_score = rung__resp_reply_match),
    ASK("rung.movers", -3, R | RUNG__ALONE | RUNG__NO_MULTI, rung__resp_answer_rung_movers, "rung",
        "", "Who rose and who fell most in ranks since so long ago"),
    SAY("rung.asof", -3, R | RUNG__ALONE | RUNG__NO_MULTI, rung__resp_answer_rung_asof, "rung", "",
        "A command that reads a key, as it was answered at a moment"),
    SAY("rung.seq", 1, RF | RUNG__NO_MULTI, rung__resp_answer_rung_seq, "rung", "",
        "The position in the log that the replies so far reflect", .role = RUNG_ROLE_READ),
    SAY("rung.waitseq", 2, R | RUNG__ALONE | RUNG__NO_MULTI, rung__resp_answer_rung_waitseq, "rung",
        "", "Wait until this server has applied a position of the log", .role = RUNG_ROLE_READ),
    SAY("rung.latest", 1, R | RUNG__ALONE | RUNG__NO_MULTI, rung__resp_answer_rung_latest, "rung",
        "", "Wait for everything that any server has acknowledged", .role = RUNG_ROLE_READ),
    SAY("rung.help", -1, N, rung__resp_answer_rung_help, "rung", "", "Usage of the RUNG commands"),
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* Commands of Redis 7 that are not here, so that they can be refused by name; a space on each side. */
static const char foreign[] =
    " acl append asking bgrewriteaof bgsave bitcount bitfield bitfield_ro bitop bitpos "
    "blmove blmpop blpop brpop brpoplpush cluster copy debug decr decrby dump eval eval_ro "
    "evalsha evalsha_ro failover fcall fcall_ro function geoadd geodist geohash geopos "
    "georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch "
    "geosearchstore get getbit getdel getex getrange getset hdel hexists hget hgetall "
    "hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hset hsetnx hstrlen "
    "hvals incr incrby incrbyfloat latency lcs lindex linsert llen lmove lmpop lolwut lpop "
    "lpos lpush lpushx lrange lrem lset ltrim memory mget migrate module monitor move mset "
    "msetnx object pfdebug pfselftest psetex psubscribe psync "
    "publish pubsub punsubscribe randomkey readonly readwrite replconf replicaof restore "
    "rpop rpoplpush rpush rpushx save script sdiff sdiffstore set setbit setex setnx "
    "setrange shutdown sinter sintercard sinterstore slaveof slowlog smove sort sort_ro "
    "spop spublish srandmember ssubscribe strlen subscribe substr sunion sunionstore "
    "sunsubscribe swapdb sync unsubscribe wait xack xadd xautoclaim xclaim xdel xgroup "
    "xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim ";

uint32_t rung__resp_command_count(void) {
    return COMMANDS;
}

const rung__resp_command *rung__resp_command_at(uint32_t i) {
    return &commands[i];
}

/* ---- by name ---- */

static bool is_named(const char *name, rung_slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (rung_lower(text.ptr[i]) != name[i] || !name[i])
            return false;
    return !name[text.len];
}

/* Of the name in any case: the bit that tells cases apart is set everywhere. */
static uint32_t hash_of(rung_slice name) {
    uint64_t h = name.len, word;
    for (size_t i = 0; i < name.len; i += sizeof word) {
        size_t n = name.len - i < sizeof word ? name.len - i : sizeof word;
        word = 0;
        memcpy(&word, name.ptr + i, n);
        h = (h ^ (word | 0x2020202020202020u)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 32) % RUNG__COMMAND_SLOTS;
}

void rung__resp_commands_index(rung__resp_command_index *index) {
    _Static_assert(COMMANDS < RUNG__COMMAND_SLOTS / 2 && COMMANDS < UINT8_MAX, "room in the index");
    for (uint32_t i = 0; i < COMMANDS; i++) {
        uint32_t at = hash_of(rung_slice_str(commands[i].name));
        while (index->slots[at])
            at = (at + 1) % RUNG__COMMAND_SLOTS;
        index->slots[at] = (uint8_t)(i + 1);
    }
}

const rung__resp_command *rung__resp_command_find(const rung__resp_command_index *index,
                                                  rung_slice name) {
    if (!name.len || name.len > 32)
        return NULL;
    for (uint32_t at = hash_of(name); index->slots[at]; at = (at + 1) % RUNG__COMMAND_SLOTS)
        if (is_named(commands[index->slots[at] - 1].name, name))
            return &commands[index->slots[at] - 1];
    return NULL;
}

bool rung__resp_command_is_foreign(rung_slice name) {
    char word[35] = " ";
    if (!name.len || name.len > 32 || memchr(name.ptr, ' ', name.len) ||
        memchr(name.ptr, 0, name.len))
        return false;
    for (size_t i = 0; i < name.len; i++)
        word[1 + i] = rung_lower(name.ptr[i]);
    word[1 + name.len] = ' ';
    return strstr(foreign, word) != NULL;
}

/* ---- keys ---- */

/* The i-th of the keys that an argument counts. */
static bool counted_key(const rung__resp_command *c, const rung_slice *argv, uint32_t argc,
                        uint32_t i, rung_slice *key_out) {
    int64_t count;
    uint32_t at = (uint32_t)c->count_arg;
    if (at >= argc || !rung_resp_integer(argv[at], &count) || i >= count || i >= argc - at - 1)
        return false;
    *key_out = argv[at + 1 + i];
    return true;
}

bool rung__resp_command_key(const rung__resp_command *c, const rung_slice *argv, uint32_t argc,
                            uint32_t i, rung_slice *key_out) {
    uint32_t fixed = 0;
    if (c->first_key) {
        int64_t last = c->last_key < 0 ? (int64_t)argc + c->last_key : c->last_key;
        int64_t span = last - c->first_key;
        fixed = span < 0 ? 0 : (uint32_t)(span / c->key_step) + 1;
        if (i < fixed) {
            uint32_t at = (uint32_t)(c->first_key + (int)i * c->key_step);
            if (at >= argc)
                return false;
            *key_out = argv[at];
            return true;
        }
    }
    return c->count_arg && counted_key(c, argv, argc, i - fixed, key_out);
}
