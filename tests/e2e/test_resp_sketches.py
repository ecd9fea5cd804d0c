#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180
"""TOPK, CMS, TDIGEST and PF commands: the documented replies of Redis 8, exact counts, and for PF a real redis-server."""
import collections
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, Error, Redis  # noqa: E402
from server import ServerTest  # noqa: E402


def texts(value):
    if isinstance(value, list):
        return [texts(v) for v in value]
    return value.decode() if isinstance(value, bytes) else value


class Sketches(ServerTest):
    def connect_to(self, address, version=2):
        return self.enterContext(Connection(address, version))

    def connect(self, server, version=2):
        return self.connect_to(server.resp, version)

    def say(self, c, *words):
        return texts(c.call(*words).value)

    def check_error(self, c, text, *words):
        value = self.say(c, *words)
        self.assertIsInstance(value, Error, words)
        self.assertEqual(str(value), text, words)

    def test_topk(self):
        c = self.connect(self.serve())
        self.check_error(c, "TopK: key does not exist", "TOPK.ADD", "t", "a")
        self.check_error(c, "TopK: invalid k", "TOPK.RESERVE", "t", 0)
        self.check_error(c, "ERR wrong number of arguments for 'topk.reserve' command", "TOPK.RESERVE", "t", 3, 8)
        self.assertEqual(self.say(c, "TOPK.RESERVE", "t", 2, 50, 4, "0.9"), "OK")
        self.check_error(c, "TopK: key already exists", "TOPK.RESERVE", "t", 2)
        self.assertEqual(self.say(c, "TYPE", "t"), "TopK-TYPE")
        self.assertEqual(self.say(c, "TOPK.ADD", "t", "a", "b", "a"), [None, None, None])
        self.assertEqual(self.say(c, "TOPK.INCRBY", "t", "c", 5), ["b"])  # b leaves the two
        self.assertEqual(self.say(c, "TOPK.LIST", "t"), ["c", "a"])
        self.assertEqual(self.say(c, "TOPK.LIST", "t", "WITHCOUNT"), ["c", 5, "a", 2])
        self.assertEqual(self.say(c, "TOPK.QUERY", "t", "a", "b", "zed"), [1, 0, 0])
        self.assertEqual(self.say(self.connect(self.server, 3), "TOPK.QUERY", "t", "a", "b"), [True, False])
        self.assertEqual(self.say(c, "TOPK.INCRBY", "t", "b", 9, "d", 20), ["a", "c"])
        self.check_error(c, "TopK: increment must be an integer greater or equal to 1 and smaller or equal to 100,000",
                         "TOPK.INCRBY", "t", "a", 100001)
        self.say(c, "ZADD", "z", 1, "m")
        for words in (("TOPK.ADD", "z", "a"), ("TOPK.LIST", "z"), ("CMS.QUERY", "z", "a"), ("PFADD", "z", "a"), ("PFCOUNT", "z"),
                      ("TDIGEST.ADD", "z", 1), ("TDIGEST.RANK", "z", 1), ("ZADD", "t", 1, "a"), ("SADD", "t", "a"), ("ZRANGE", "t", 0, -1)):
            self.check_error(c, "WRONGTYPE Operation against a key holding the wrong kind of value", *words)
        self.assertEqual(self.say(c, "DEL", "t"), 1)
        self.assertEqual(self.say(c, "TYPE", "t"), "none")

    def serve(self, *flags, **more):
        self.server = super().serve(*flags, **more)
        return self.server

    def test_cms(self):
        c = self.connect(self.serve())
        self.check_error(c, "CMS: key does not exist", "CMS.INCRBY", "k", "a", 1)
        self.assertEqual(self.say(c, "CMS.INITBYDIM", "k", 2000, 5), "OK")
        self.check_error(c, "CMS: key already exists", "CMS.INITBYPROB", "k", "0.01", "0.01")
        self.assertEqual(self.say(c, "CMS.INITBYPROB", "p", "0.01", "0.01"), "OK")
        self.check_error(c, "CMS: invalid overestimation value", "CMS.INITBYPROB", "q", "0.00000001", "0.01")
        self.assertEqual(self.say(c, "CMS.INCRBY", "k", "foo", 10, "bar", 42, "foo", 1), [10, 42, 11])
        self.assertEqual(self.say(c, "CMS.QUERY", "k", "foo", "bar", "zed"), [11, 42, 0])
        self.check_error(c, "CMS: Cannot parse number", "CMS.INCRBY", "k", "foo", "x")
        rng, exact = random.Random(3), collections.Counter()
        for _ in range(200):
            words = ["CMS.INCRBY", "p"]
            for _ in range(40):
                name, n = f"n{int(3000 ** rng.random())}", rng.randint(1, 5)
                exact[name] += n
                words += [name, n]
            self.assertTrue(all(isinstance(v, int) for v in self.say(c, *words)))
        names = list(exact)[:500]
        for name, count in zip(names, self.say(c, "CMS.QUERY", "p", *names)):
            self.assertTrue(exact[name] <= count <= exact[name] + 0.01 * sum(exact.values()), name)

    def test_tdigest(self):
        c = self.connect(self.serve())
        self.check_error(c, "ERR T-Digest: key does not exist", "TDIGEST.ADD", "s", 1)
        self.assertEqual(self.say(c, "TDIGEST.CREATE", "s", "COMPRESSION", 1000), "OK")
        self.check_error(c, "ERR T-Digest: key already exists", "TDIGEST.CREATE", "s")
        self.assertEqual(self.say(c, "TDIGEST.RANK", "s", 1), [-2])
        self.assertEqual(self.say(c, "TDIGEST.QUANTILE", "s", 0.5), ["nan"])
        self.assertEqual(self.say(c, "TDIGEST.ADD", "s", 10, 20, 30, 40, 50, 60), "OK")  # the documented examples
        self.assertEqual(self.say(c, "TDIGEST.RANK", "s", 0, 10, 20, 30, 40, 50, 60, 70), [-1, 0, 1, 2, 3, 4, 5, 6])
        self.assertEqual(self.say(c, "TDIGEST.CREATE", "t"), "OK")
        self.say(c, "TDIGEST.ADD", "t", 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5)
        quantiles = self.say(c, "TDIGEST.QUANTILE", "t", 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
        self.assertEqual(quantiles, ["1", "2", "3", "3", "4", "4", "4", "5", "5", "5", "5"])
        self.check_error(c, "ERR T-Digest: quantile should be in [0,1]", "TDIGEST.QUANTILE", "t", 1.5)
        self.check_error(c, "ERR T-Digest: error parsing val parameter", "TDIGEST.ADD", "t", "x")
        self.server.put("/v1/boards/marks", {"kind": "sketch", "sketch": "percentile"})  # a defined board, desc
        self.assertEqual(self.say(c, "TDIGEST.ADD", "marks", 5, 7, 9), "OK")
        self.assertEqual(self.say(c, "TDIGEST.RANK", "marks", 4, 5, 6, 8.5, 10), [-1, 0, 1, 2, 3])
        self.assertEqual(self.say(c, "TDIGEST.QUANTILE", "marks", 0, 0.5, 1), ["5", "7", "9"])

    def test_pf_beside_redis(self):
        c, other = self.connect(self.serve()), None
        if Redis.is_there():
            other = self.connect_to(self.enterContext(Redis()).address)
        rng, exact = random.Random(5), collections.defaultdict(set)
        for step in range(400):
            key = f"h{rng.randint(0, 3)}"
            if step % 20 == 19:
                words = ["PFMERGE", key] + [f"h{rng.randint(0, 4)}" for _ in range(rng.randint(0, 3))]
                for source in words[2:]:
                    exact[key] |= exact[source]
            else:
                words = ["PFADD", key] + [f"e{int(rng.random() ** 2 * 20000)}" for _ in range(rng.randint(0, 60))]
                exact[key] |= set(words[2:])
            mine = self.say(c, *words)
            if other:
                theirs = self.say(other, *words)
                self.assertEqual(type(mine), type(theirs), words)
            if words[0] == "PFADD" and words[2:]:
                self.assertEqual(self.say(c, *words), 0)  # nothing new
            if step % 10 == 0:
                keys = rng.sample(["h0", "h1", "h2", "h3", "h9"], rng.randint(1, 4))
                truth = len(set().union(*(exact[k] for k in keys)))
                count = self.say(c, "PFCOUNT", *keys)
                self.assertLessEqual(abs(count - truth), 5 * 0.0081 * truth + 2, keys)
                if other:
                    self.assertLessEqual(abs(count - self.say(other, "PFCOUNT", *keys)), 10 * 0.0081 * truth + 2, keys)
        self.assertEqual(self.say(c, "TYPE", "h0"), "string")
        self.assertEqual(self.say(c, "PFCOUNT", "nothing"), 0)
        self.assertEqual(self.say(c, "PFADD", "fresh"), 1)
        self.assertEqual(self.say(c, "PFADD", "fresh"), 0)
        self.server.put("/v1/boards/big", {"kind": "sketch", "sketch": "distinct", "memory": "64KiB"})
        self.say(c, "PFADD", "big", "x")
        self.assertIsInstance(self.say(c, "PFCOUNT", "h0", "big"), Error)  # of another size
        self.assertIsInstance(self.say(c, "PFMERGE", "h0", "big"), Error)

    def test_a_transaction_and_a_restart(self):
        server = self.serve()
        c = self.connect(server)
        for words in (["MULTI"], ["TOPK.RESERVE", "t", 2], ["TOPK.ADD", "t", "a", "b"], ["PFADD", "h", "x", "y"], ["CMS.QUERY", "t", "a", "q"]):
            self.say(c, *words)
        self.assertEqual(self.say(c, "EXEC"), ["OK", [None, None], 1, [1, 0]])
        digest = server.get("/v1/digest").json["digest"]
        self.assertIn(server.post("/v1/snapshot").status, (200, 202, 409))
        server.stop()
        server.start()
        c = self.connect(server)
        self.assertEqual(server.get("/v1/digest").json["digest"], digest)
        self.assertEqual(self.say(c, "TOPK.LIST", "t", "WITHCOUNT")[1::2], [1, 1])
        self.assertEqual(self.say(c, "PFCOUNT", "h"), 2)
        self.assertEqual(self.say(c, "RENAME", "h", "g"), "OK")
        self.assertEqual(self.say(c, "PFCOUNT", "g"), 2)
        self.assertEqual(server.get("/v1/boards/t/top").json["counted"], 2)


if __name__ == "__main__":
    unittest.main()
