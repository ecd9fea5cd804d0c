#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""The same commands to a real redis-server 7.0 and to rung serve: the replies are the same bytes.

Random programs by seed, over every command of docs/redis.md with every option, and with everything that can be wrong
about one. RUNG_SEED=n runs that program only, RUNG_STEPS=n so many programs. What is meant to differ is in DIFFERENCES,
each by the name it has in docs/redis.md; nothing else may.

With RUNG_RESP_SELF=1 a second redis-server takes Rung's place: a check of this test itself."""
import os
import random
import subprocess
import unittest

from resp import Connection, Error, Redis
from server import ServerTest

ZKEYS = ["z0", "z1", "z2", "z3", "board:4"]
SKEYS = ["s0", "s1"]
MEMBERS = ["a", "b", "c", "aa", "ab", "ba", "member:7", "x y", "\u00e4", "10", "9", "Z", "~", "longer-than-the-others"]


def by_type(value):
    return type(value).__name__


def sorted_deep(value):
    return sorted(value, key=repr) if isinstance(value, list) else value


def nearly(a, b, slack):
    return isinstance(a, int) and isinstance(b, int) and (a == b or (a > 0 and b > 0 and abs(a - b) <= slack))


# Name in docs/redis.md -> (is this command one of those?, are these two values alike?)
DIFFERENCES = {
    "order of sets": (lambda c: c[0] in ("SMEMBERS", "KEYS"), lambda a, b: sorted_deep(a) == sorted_deep(b)),
    "clock": (lambda c: c[0] in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), lambda a, b: nearly(a, b, 2000)),
}


def same(command, one, other):
    """None when the replies agree; else what is wrong."""
    if one.raw == other.raw:
        return None
    name = [str(command[0]).upper(), *command[1:]]
    for applies, alike in DIFFERENCES.values():
        if applies(name) and by_type(one.value) == by_type(other.value) and alike(one.value, other.value):
            return None
    return f"{command}\n  redis: {one}\n  rung:  {other}"


class Program:
    """Commands by chance. The same seed gives the same ones."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *of):
        return self.r.choice(of)

    def chance(self, share):
        return self.r.random() < share

    def some(self, what, least=1, most=4):
        return [what() for _ in range(self.r.randint(least, most))]

    # ---- words ----

    def zkey(self):
        if self.chance(0.04):
            return self.pick(*SKEYS)
        return "nokey" if self.chance(0.05) else self.pick(*ZKEYS)

    def skey(self):
        return self.pick(*ZKEYS) if self.chance(0.06) else self.pick(*SKEYS, "nokey")

    def any_key(self):
        return self.pick(*ZKEYS, *SKEYS, "nokey")

    def member(self):
        return "nobody" if self.chance(0.05) else self.pick(*MEMBERS)

    def score(self):
        if self.chance(0.03):
            return self.pick("abc", "", "1x", "nan", "NaN", " 1", "1 ", "--1", "1,5", "0x", "e5")
        if self.chance(0.3):
            return self.pick("1.5", "-0.25", "1e3", "+7", "inf", "-inf", "+inf", "Infinity", "-INFINITY", "3.0", "0.1",
                             "0.30000000000000004", ".5", "5.", "1e-7", "123456789.125", "1e20", "1e308", "-1e308",
                             "9007199254740993", "17179869184.5", "1e-320", "12345678901234567890")
        return str(self.r.randint(-6, 6))

    def finite(self):
        return str(self.r.randint(-6, 6)) if self.chance(0.7) else self.pick("1.5", "0.1", "-2.25", "1e5", "inf", "-inf")

    def score_bound(self):
        if self.chance(0.03):
            return self.pick("(", "(abc", "abc", "", "((1", "[1", "(nan", "nan")
        return ("(" if self.chance(0.3) else "") + self.pick("-inf", "+inf", "inf", "0", "1.5", *map(str, range(-6, 7)))

    def lex_bound(self):
        if self.chance(0.04):
            return self.pick("a", "", "1", "--", "++")
        if self.chance(0.3):
            return self.pick("-", "+", "[", "(")
        return self.pick("[", "(") + self.pick(*MEMBERS)

    def integer(self, small=True):
        if self.chance(0.04):
            return self.pick("x", "1.5", "", "9223372036854775808", "01", "+1", " 1", "-", "1e3", "--1")
        if self.chance(0.05):
            return self.pick("9223372036854775807", "-9223372036854775808", "4294967296", "-4294967297")
        return str(self.r.randint(-8, 8) if small else self.r.randint(-100, 100))

    def count(self):
        return self.integer() if self.chance(0.1) else str(self.r.randint(0, 6))

    def limit(self):
        if self.chance(0.6):
            return []
        return ["LIMIT", self.count() if self.chance(0.9) else "-1", self.count() if self.chance(0.8) else "-1"]

    # ---- commands ----

    def ZADD(self):
        options = []
        for word, share in (("NX", 0.15), ("XX", 0.15), ("GT", 0.12), ("LT", 0.12), ("CH", 0.25), ("INCR", 0.12)):
            if self.chance(share):
                options.append(word)
        self.r.shuffle(options)
        pairs = self.some(lambda: (self.score(), self.member()), 1, 1 if "INCR" in options and self.chance(0.9) else 5)
        return ["ZADD", self.zkey(), *options, *[word for pair in pairs for word in pair]]

    def ZADD_equal(self):
        """Equal scores: for ranges by members, which mean nothing otherwise."""
        return ["ZADD", "lex", *[word for m in self.some(self.member, 1, 6) for word in ("0", m)]]

    def ZINCRBY(self):
        return ["ZINCRBY", self.zkey(), self.score(), self.member()]

    def ZREM(self):
        return ["ZREM", self.zkey(), *self.some(self.member)]

    def ZREMRANGEBYRANK(self):
        return ["ZREMRANGEBYRANK", self.zkey(), self.integer(), self.integer()]

    def ZREMRANGEBYSCORE(self):
        return ["ZREMRANGEBYSCORE", self.zkey(), self.score_bound(), self.score_bound()]

    def ZREMRANGEBYLEX(self):
        return ["ZREMRANGEBYLEX", "lex", self.lex_bound(), self.lex_bound()]

    def ZSCORE(self):
        return ["ZSCORE", self.zkey(), self.member()]

    def ZMSCORE(self):
        return ["ZMSCORE", self.zkey(), *self.some(self.member, 1, 6)]

    def ZRANK(self):
        return [self.pick("ZRANK", "ZREVRANK"), self.zkey(), self.member()]

    def ZCARD(self):
        return ["ZCARD", self.zkey()]

    def ZCOUNT(self):
        return ["ZCOUNT", self.zkey(), self.score_bound(), self.score_bound()]

    def ZLEXCOUNT(self):
        return ["ZLEXCOUNT", "lex", self.lex_bound(), self.lex_bound()]

    def range_tail(self, source, store=False):
        """Arguments of ZRANGE and ZRANGESTORE from the source on."""
        how = self.pick("", "", "BYSCORE", "BYLEX")
        bound = {"": self.integer, "BYSCORE": self.score_bound, "BYLEX": self.lex_bound}[how]
        options = [[how]] if how else []
        if self.chance(0.4):
            options.append(["REV"])
        limit = self.limit()
        if limit and (how or self.chance(0.1)):
            options.append(limit)
        if not store and (how != "BYLEX" or self.chance(0.1)) and self.chance(0.5):
            options.append(["WITHSCORES"])
        if store and self.chance(0.03):
            options.append(["WITHSCORES"])
        self.r.shuffle(options)
        return ["lex" if how == "BYLEX" else source, bound(), bound(), *[word for o in options for word in o]]

    def ZRANGE(self):
        return ["ZRANGE", *self.range_tail(self.zkey())]

    def ZRANGESTORE(self):
        return ["ZRANGESTORE", self.zkey(), *self.range_tail(self.zkey(), store=True)]

    def ZREVRANGE(self):
        return ["ZREVRANGE", self.zkey(), self.integer(), self.integer(), *self.pick([], ["WITHSCORES"])]

    def ZRANGEBYSCORE(self):
        options = [self.pick([], ["WITHSCORES"]), self.limit()]
        self.r.shuffle(options)
        return [self.pick("ZRANGEBYSCORE", "ZREVRANGEBYSCORE"), self.zkey(), self.score_bound(), self.score_bound(),
                *options[0], *options[1]]

    def ZRANGEBYLEX(self):
        return [self.pick("ZRANGEBYLEX", "ZREVRANGEBYLEX"), "lex", self.lex_bound(), self.lex_bound(), *self.limit()]

    def ZPOP(self):
        return [self.pick("ZPOPMIN", "ZPOPMAX"), self.zkey(), *self.pick([], [self.count()])]

    def BZPOP(self):
        """With something to pop, or nearly no time to wait."""
        return [self.pick("BZPOPMIN", "BZPOPMAX"), *self.some(self.zkey), self.pick("0.01", "0.002", "abc", "-1")]

    def ZMPOP(self):
        keys = self.some(self.zkey)
        head = ["ZMPOP"] if self.chance(0.5) else ["BZMPOP", self.pick("0.01", "0.002")]
        return [*head, len(keys) if self.chance(0.93) else self.integer(), *keys, self.pick("MIN", "MAX", "MAX", "MID")
                if self.chance(0.1) else self.pick("MIN", "MAX"), *self.pick([], ["COUNT", self.count()])]

    def combine_tail(self, least=1):
        keys = self.some(lambda: self.any_key() if self.chance(0.3) else self.zkey(), least, 4)
        words = [len(keys) if self.chance(0.95) else self.integer(), *keys]
        options = []
        if self.chance(0.3):
            options.append(["WEIGHTS", *[self.finite() if self.chance(0.97) else "x" for _ in keys]])
        if self.chance(0.3):
            options.append(["AGGREGATE", self.pick("SUM", "MIN", "MAX") if self.chance(0.95) else "AVG"])
        self.r.shuffle(options)
        return words + [word for o in options for word in o]

    def ZSTORE(self):
        return [self.pick("ZUNIONSTORE", "ZINTERSTORE"), self.zkey(), *self.combine_tail()]

    def ZDIFFSTORE(self):
        keys = self.some(self.any_key)
        return ["ZDIFFSTORE", self.zkey(), len(keys) if self.chance(0.95) else self.integer(), *keys]

    def ZCOMBINE(self):
        return [self.pick("ZUNION", "ZINTER"), *self.combine_tail(), *self.pick([], ["WITHSCORES"])]

    def ZDIFF(self):
        keys = self.some(self.any_key)
        return ["ZDIFF", len(keys) if self.chance(0.95) else self.integer(), *keys, *self.pick([], ["WITHSCORES"])]

    def ZINTERCARD(self):
        keys = self.some(self.any_key)
        return ["ZINTERCARD", len(keys) if self.chance(0.95) else self.integer(), *keys,
                *self.pick([], ["LIMIT", self.count()])]

    def DEL(self):
        return [self.pick("DEL", "UNLINK"), *self.some(self.any_key, 1, 2)]

    def EXISTS(self):
        return ["EXISTS", *self.some(self.any_key)]

    def TYPE(self):
        return ["TYPE", self.any_key()]

    def EXPIRE(self):
        name, times = self.pick(("EXPIRE", ("100", "1000", "-1", "0")), ("PEXPIRE", ("100000", "900000", "0", "-5")),
                                ("EXPIREAT", ("4000000000", "5000000000", "1", "0")),
                                ("PEXPIREAT", ("4000000000000", "1000")))
        time = self.pick(*times) if self.chance(0.9) else self.pick("x", "", "9223372036854775807", "1.5")
        return [name, self.any_key(), time, *self.pick([], [], ["NX"], ["XX"], ["GT"], ["LT"], ["XX", "GT"], ["NX", "LT"],
                                                       ["GT", "LT"], ["FOO"])]

    def TTL(self):
        return [self.pick("TTL", "PTTL"), self.any_key()]

    def PERSIST(self):
        return ["PERSIST", self.any_key()]

    def RENAME(self):
        return [self.pick("RENAME", "RENAMENX"), self.any_key(), self.any_key()]

    def KEYS(self):
        return ["KEYS", self.pick("*", "z*", "?0", "s[01]", "z[^0]", "board:*", "z\\0", "nothing", "[", "z[0-2]", "")]

    def DBSIZE(self):
        return ["DBSIZE"]

    def FLUSH(self):
        return [self.pick("FLUSHALL", "FLUSHDB"), *self.pick([], ["ASYNC"], ["SYNC"], ["FOO"])]

    def SADD(self):
        return ["SADD", self.skey(), *self.some(self.member, 1, 6)]

    def SREM(self):
        return ["SREM", self.skey(), *self.some(self.member)]

    def SREAD(self):
        return self.pick(["SMEMBERS", self.skey()], ["SCARD", self.skey()], ["SISMEMBER", self.skey(), self.member()],
                         ["SMISMEMBER", self.skey(), *self.some(self.member)])

    def SMALL(self):
        return self.pick(["PING"], ["PING", "hello"], ["ECHO", "x y"], ["SELECT", "0"], ["SELECT", "x"], ["SELECT", "1000"],
                         ["RESET"] if self.chance(0.1) else ["PING"], ["FOO", "bar"], ["foo bar", "b\r\naz"], ["", "x"],
                         ["UNWATCH"], ["DISCARD"], ["EXEC"], ["CLIENT", "GETNAME"], ["CLIENT", "SETNAME", "me"],
                         ["CLIENT", "NOSUCH"], ["WATCH"], ["MULTI", "x"], ["HELLO", "9", "x"], ["AUTH", "a", "b", "c"])

    OFTEN = {"ZADD": 10, "ZINCRBY": 4, "ZRANGE": 6, "ZRANGEBYSCORE": 3, "ZSTORE": 3, "ZRANGESTORE": 3, "SADD": 3,
             "ZADD_equal": 3, "ZCOMBINE": 3, "FLUSH": 0.1, "SMALL": 1.5, "BZPOP": 0.4, "ZREMRANGEBYSCORE": 0.4,
             "ZREMRANGEBYRANK": 0.5, "ZPOP": 1, "EXPIRE": 1.5, "DEL": 0.5}
    NAMES = ["ZADD", "ZADD_equal", "ZINCRBY", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "ZREMRANGEBYLEX", "ZSCORE",
             "ZMSCORE", "ZRANK", "ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZRANGE", "ZRANGESTORE", "ZREVRANGE", "ZRANGEBYSCORE",
             "ZRANGEBYLEX", "ZPOP", "BZPOP", "ZMPOP", "ZSTORE", "ZDIFFSTORE", "ZCOMBINE", "ZDIFF", "ZINTERCARD", "DEL",
             "EXISTS", "TYPE", "EXPIRE", "TTL", "PERSIST", "RENAME", "KEYS", "DBSIZE", "FLUSH", "SADD", "SREM", "SREAD",
             "SMALL"]

    def command(self, skip=()):
        """One command; now and then with a word too many or too few, and in any case."""
        while True:
            name = self.r.choices(self.NAMES, [self.OFTEN.get(n, 1) for n in self.NAMES])[0]
            if name not in skip:
                break
        words = [str(word) for word in getattr(self, name)()]
        if self.chance(0.02) and len(words) > 1 and words[0] != "HELLO":
            words.pop()
        elif self.chance(0.02) and name != "ZRANK":  # Redis 7.2 has an option more
            words.append(self.pick("extra", "WITHSCORES", "1", "LIMIT"))
        if self.chance(0.2):
            words[0] = self.pick(words[0].lower(), words[0].title())
        return words

    def commands(self, n, skip=()):
        return [self.command(skip) for _ in range(n)]


# Within a transaction replies are compared as a whole: nothing whose reply may differ, and nothing that ends it.
NOT_QUEUED = ("SMALL", "KEYS", "TTL", "SREAD", "BZPOP")


class Differential(ServerTest):
    @classmethod
    def setUpClass(cls):
        if not Redis.is_there():
            raise unittest.SkipTest("no redis-server")
        version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout
        if "v=7.0." not in version:
            raise unittest.SkipTest(f"another version: {version}")
        cls.is_self = bool(os.environ.get("RUNG_RESP_SELF"))
        if not cls.is_self:
            super().setUpClass()

    def setUp(self):
        self.redis = Redis().__enter__()
        self.addCleanup(self.redis.__exit__)
        if self.is_self:
            other = Redis().__enter__()
            self.addCleanup(other.__exit__)
            self.other_address = other.address
        else:
            self.other_address = self.serve(data=False).resp

    def connect(self, version=2):
        pair = Connection(self.redis.address, version), Connection(self.other_address, version)
        for c in pair:
            self.addCleanup(c.close)
        return pair

    def check(self, commands, pair, pipeline=1):
        """Send to both, so many at a time; all replies agree."""
        for at in range(0, len(commands), pipeline):
            some = commands[at:at + pipeline]
            for command, one, other in zip(some, pair[0].pipeline(some), pair[1].pipeline(some)):
                wrong = same(command, one, other)
                if wrong:
                    self.fail(f"{wrong}\n  after:\n" + "\n".join(f"    {c}" for c in commands[:at + pipeline][-25:]))

    def seeds(self, programs):
        if "RUNG_SEED" in os.environ:
            return [int(os.environ["RUNG_SEED"])]
        return range(1, int(os.environ.get("RUNG_STEPS", programs)) + 1)

    def run_programs(self, base, programs, body):
        for seed in self.seeds(programs):
            with self.subTest(seed=seed):
                program = Program(base + seed)
                pair = self.connect(2 + program.r.randrange(2))
                self.check([["FLUSHALL"]], pair)
                body(program, pair)
                for c in pair:
                    c.close()

    def test_programs(self):
        """One after the other, and in pipelines."""
        self.run_programs(0, 60, lambda p, pair: self.check(p.commands(150), pair, p.pick(1, 1, 7, 50)))

    def test_alike(self):
        """Runs of one question with changing arguments, as pipelines have them: Rung asks those together."""
        def body(p, pair):
            self.check(p.commands(60), pair, 20)
            for _ in range(12):
                name, key = p.pick("ZRANGE", "ZREVRANGE", "ZCOUNT", "ZSCORE", "ZRANK"), p.any_key()
                some = []
                while len(some) < 30:
                    words = [str(word) for word in getattr(p, name)()]
                    if "BYLEX" not in words and p.chance(0.9):  # means something only where scores are equal
                        words[1] = key
                    some += [words] * p.pick(1, 1, 3)
                self.check(some, pair, p.pick(3, 16, 30))
                self.check(p.commands(5), pair)
        self.run_programs(5000, 25, body)

    def test_transactions(self):
        def body(p, pair):
            commands = p.commands(30)
            for _ in range(15):
                inner = p.commands(p.r.randint(0, 6), NOT_QUEUED)
                end = p.pick(["EXEC"], ["EXEC"], ["EXEC"], ["DISCARD"])
                commands += [["MULTI"], *inner, *p.pick([], [], [], [["MULTI"]], [["WATCH", "z0"]], [["NOSUCH"]]), end]
                commands += p.commands(3)
            self.check(commands, pair, p.pick(1, 5, 40))
        self.run_programs(10000, 25, body)

    def test_watch(self):
        """Two clients: what one watches the other may change."""
        def body(p, pair):
            others = self.connect()
            self.check(p.commands(20), pair)
            for _ in range(20):
                self.check([["WATCH", *p.some(p.any_key)]], pair)
                self.check(p.commands(p.r.randint(0, 2), ("SMALL", "FLUSH")), others)
                if p.chance(0.2):
                    self.check([["UNWATCH"]], pair)
                self.check([["MULTI"], *p.commands(2, NOT_QUEUED), ["EXEC"]], pair)
        self.run_programs(20000, 15, body)

    def test_scan(self):
        """However the cursors run: whole walks give the same members."""
        def walk(c, words, more):
            found, cursor = [], b"0"
            while True:
                reply = c.call(*words, cursor, *more)
                if isinstance(reply.value, Error):
                    return reply.raw
                cursor, items = reply.value
                found += [tuple(items[i:i + 2]) for i in range(0, len(items), 2)] if words[0] == "ZSCAN" else items
                if cursor == b"0":
                    return sorted(set(found))

        def body(p, pair):
            self.check(p.commands(60), pair)
            self.check([["ZADD", "big", *[w for i in range(1000) for w in (i % 50, f"m{i}")]],
                        ["SADD", "bigset", *[f"m{i}" for i in range(2000)]]], pair)
            for words in (["SCAN"], *[["ZSCAN", k] for k in (*ZKEYS, "big", "nokey", "s0", "bigset")],
                          *[["SSCAN", k] for k in (*SKEYS, "bigset", "z0", "big")]):
                more = p.pick([], ["COUNT", 3], ["MATCH", "*1*"], ["MATCH", "z*", "COUNT", 100], ["COUNT", 0], ["COUNT", "x"])
                if words[0] == "SCAN":
                    more = more + p.pick([], ["TYPE", "zset"], ["TYPE", "set"], ["TYPE", "hash"])
                self.assertEqual(walk(pair[0], words, more), walk(pair[1], words, more), (words, more))
        self.run_programs(30000, 6, body)

    def test_random_members(self):
        """As many as asked for, of those that are there; all different when the count is positive."""
        pair = self.connect()
        self.check([["ZADD", "z0", *[w for i, m in enumerate(MEMBERS) for w in (i, m)]]], pair)
        for words in (["ZRANDMEMBER", "nokey"], ["ZRANDMEMBER", "nokey", 3], ["ZRANDMEMBER", "z0", 0],
                      ["ZRANDMEMBER", "z0", "x"], ["ZRANDMEMBER", "z0", 1, "FOO"], ["ZRANDMEMBER"],
                      ["ZRANDMEMBER", "nokey", -3, "WITHSCORES"]):
            self.check([words], pair)
        for count in (1, 3, len(MEMBERS), 100, -1, -30):
            for more in ([], ["WITHSCORES"]):
                one, other = (c.call("ZRANDMEMBER", "z0", count, *more).value for c in pair)
                self.assertEqual(len(one), len(other))
                step = 2 if more else 1
                self.assertTrue({m.decode() for m in other[::step]} <= set(MEMBERS))
                if count > 0:
                    self.assertEqual(len(set(other[::step])), len(other) // step)
                for member, score in zip(other[::2], other[1::2]) if more else ():
                    self.assertEqual(MEMBERS.index(member.decode()), int(score))

    def test_blocking(self):
        """A client that waits is woken by another's ZADD, in the order of waiting."""
        first, second, writers = self.connect(), self.connect(3), self.connect()
        for wait, wake, reads in (
                (["BZPOPMIN", "z0", "z1", 0], [["ZADD", "z1", 5, "a", 7, "b"]], 1),
                (["BZPOPMAX", "z0", 20], [["ZADD", "z0", 5, "a", 7, "b"]], 1),
                (["BZMPOP", 20, 2, "z2", "z0", "MAX", "COUNT", 2], [["ZADD", "z0", 1, "x", 2, "y", 3, "w"]], 1),
                (["BZPOPMIN", "z3", 20], [["MULTI"], ["ZADD", "z3", 1, "a"], ["ZADD", "z3", 0, "b"], ["EXEC"]], 1),
                (["BZPOPMIN", "z4", 20], [["SADD", "z4", "a"], ["DEL", "z4"], ["ZADD", "z4", 1, "a"]], 1),
                (["BZPOPMIN", "z5", 20], [["ZADD", "from", 1, "a"], ["RENAME", "from", "z5"]], 1),
                (["BZPOPMIN", "z6", 20], [["ZADD", "from", 1, "a"], ["ZUNIONSTORE", "z6", 1, "from"]], 1)):
            with self.subTest(wait=wait):
                self.check([["FLUSHALL"]], writers)
                for c in first:
                    c.send(wait)
                for c in second:
                    c.send(["PING"])
                self.assertEqual(*[c.read().raw for c in second])
                self.check(wake, writers)
                for _ in range(reads):
                    one, other = (c.read() for c in first)
                    self.assertIsNone(same(wait, one, other))
                self.check([["ZRANGE", key, 0, -1] for key in ("z0", "z1", "z3", "z4", "z5", "z6")], writers)
        for c in (*first, *second):
            c.send(["BZPOPMIN", "q", 20])
            c.send(["PING"])
        self.check([["ZADD", "q", 1, "a"], ["ZADD", "q", 2, "b"]], writers)
        self.assertEqual(*[(c.read().raw, c.read().raw) for c in first])
        self.assertEqual(*[(c.read().raw, c.read().raw) for c in second])

    def test_inline_and_framing(self):
        """Commands as plain lines, several in one packet, one in many; and what is no command at all."""
        well = [(b"PING\r\n", 1), (b"ping hello\n", 1), (b"ZADD z0 1 \"a b\" 2 'c\\'d'\r\nZRANGE z0 0 -1\r\n", 2),
                (b"\r\n\r\nPING\r\n", 1), (b"ZADD z0 3 \"\\x41\"\r\n", 1), (b"*1\r\n$4\r\nPING\r\nPING\r\n", 2),
                (b"*0\r\n*-1\r\nPING\r\n", 1)]
        broken = [b"ZADD z0 1 \"a\r\n", b"ZADD z0 \"1\"x a\r\n", b"*1\r\nPING\r\n", b"*x\r\n", b"*1\r\n$-5\r\n", b"*1\r\n$x\r\n",
                  b"*99999999999\r\n", b"*1\r\n$99999999999\r\n"]
        for size in (1000, 1):
            for data, replies in well:
                pair = self.connect()
                for c in pair:
                    for at in range(0, len(data), size):
                        c.send_raw(data[at:at + size])
                for _ in range(replies):
                    self.assertEqual(*[c.read().raw for c in pair], data)
        for data in broken:
            pair = self.connect()
            for c in pair:
                c.send_raw(data)
            self.assertEqual(*[c.read().raw for c in pair], data)
            self.assertTrue(all(c.is_closed() for c in pair))

    def test_meant_to_differ(self):
        """What docs/redis.md says is not as in Redis, by the names it has there."""
        if self.is_self:
            self.skipTest("nothing differs from itself")
        redis, rung = self.connect()

        def both(*words):
            return redis.call(*words).value, rung.call(*words).value
        for name in (b"", b"x" * 129, b"\xff", b"a\nb"):  # names
            one, other = both("ZADD", "names", 1, name)
            self.assertEqual(one, 1)
            self.assertIsInstance(other, Error)
            one, other = both("ZADD", name, 1, "a")
            self.assertEqual(one, 1)
            self.assertIsInstance(other, Error)
        self.assertEqual(both("ZADD", "zero", "INCR", "-0", "a"), (b"-0", b"0"))  # negative zero
        for words in (["GET", "x"], ["SET", "x", "1"], ["HSET", "h", "f", "1"], ["LPUSH", "l", "a"], ["EVAL", "return 1", "0"],
                      ["SUBSCRIBE", "c"], ["XADD", "s", "*", "a", "1"], ["SINTER", "s0", "s1"]):
            reply = rung.call(*words).value  # not supported
            self.assertIsInstance(reply, Error)
            self.assertIn(words[0].lower(), reply.lower())
        self.assertIsInstance(both("ZADD", "hex", "0x10", "a")[1], (int, Error))  # hexadecimal
        self.assertEqual(rung.call("ZADD", "r", 1, "a").value, 1)  # WITHSCORE of ZRANK, as in Redis 7.2
        self.assertEqual(rung.call("ZRANK", "r", "a", "WITHSCORE").value, [0, b"1"])

    def test_restarts(self):
        """What was answered is there after a stop and after a kill, to the last TTL."""
        if self.is_self:
            self.skipTest("a redis-server that keeps nothing")
        server = self.serve()
        self.other_address = server.resp
        for seed in self.seeds(6):
            with self.subTest(seed=seed):
                program = Program(40000 + seed)
                pair = self.connect()
                self.check([["FLUSHALL"], *program.commands(120, ("SMALL",))], pair, program.pick(1, 20))
                pair[1].close()
                if program.chance(0.5):
                    self.assertEqual(server.stop(), 0)
                else:
                    server.kill()
                self.other_address = server.start().resp
                pair = pair[0], Connection(self.other_address)
                self.addCleanup(pair[1].close)
                for key in (*ZKEYS, *SKEYS, "lex", "nokey"):
                    self.check([["TYPE", key], ["PTTL", key]], pair)
                    self.check([["ZRANGE", key, 0, -1, "WITHSCORES"], ["SMEMBERS", key]], pair)

    def test_many_members(self):
        """Long enough for trees: the same in every way of asking."""
        pair = self.connect()
        r = random.Random(5)
        for at in range(0, 3000, 500):
            pairs = [w for i in range(at, at + 500) for w in (r.randint(0, 400) / 4, f"player:{i * 7919 % 3000:08d}")]
            self.check([["ZADD", "big", *pairs], ["ZADD", "other", *pairs[:300]]], pair)
        for _ in range(300):
            self.check([r.choice([
                ["ZREVRANK", "big", f"player:{r.randrange(3100):08d}"], ["ZRANK", "big", f"player:{r.randrange(3100):08d}"],
                ["ZREVRANGE", "big", r.randrange(3000), r.randrange(3000), "WITHSCORES"],
                ["ZRANGE", "big", r.randint(0, 100), r.randint(0, 100), "BYSCORE", "LIMIT", r.randint(0, 50), 20],
                ["ZCOUNT", "big", r.randint(0, 50), f"({r.randint(40, 100)}"],
                ["ZINCRBY", "big", r.randint(-3, 3), f"player:{r.randrange(3000):08d}"],
                ["ZINTER", 2, "big", "other", "WITHSCORES"], ["ZDIFF", 2, "big", "other", "WITHSCORES"],
                ["ZUNION", 2, "big", "other", "WEIGHTS", 0.5, -2, "WITHSCORES"],
                ["ZINTERCARD", 2, "big", "other", "LIMIT", 100], ["ZPOPMAX", "big", 3], ["ZPOPMIN", "big", 2],
                ["ZREMRANGEBYRANK", "big", 1000, 1010], ["ZRANGESTORE", "dst", "big", 5, 90, "BYSCORE", "LIMIT", 3, 400]])],
                pair)


if __name__ == "__main__":
    unittest.main()
