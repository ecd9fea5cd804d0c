#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""Servers on one Kafka topic compare their states: a server that begins with a changed snapshot, whose checksums and digest are all
right, stops serving and says why; the others go on. And GET /v1/nodes, which lists them."""
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from resp import Connection  # noqa: E402
from server import BUILD, until  # noqa: E402


class DigestTest(KafkaTest):
    def nodes(self, server):
        return {n["id"]: n for n in self.check(server.get("/v1/nodes"), 200).json["nodes"]}


class Agreement(DigestTest):
    def test_an_idle_cluster_keeps_comparing(self):
        servers = [self.node("--log-heartbeat", "200ms", "--log-advertise", f"server-{n}:1") for n in range(3)]
        for server in servers:
            until(lambda: sorted(n["state"] for n in self.nodes(server).values()) == ["present"] * 3, "three servers")
            first = until(lambda: server.get("/v1/digest").json["agreed"], "a common checkpoint")
            until(lambda: server.get("/v1/digest").json["agreed"]["seq"] > first["seq"], "the next one")
            until(lambda: self.metric(server, "rung_digest_age_seconds") is not None, "its age")
            self.assertEqual(self.metric(server, "rung_nodes_present"), 3)
            self.assertEqual(self.metric(server, "rung_diverged"), 0)
        known = self.nodes(servers[0])
        self.assertEqual(sorted(n["address"] for n in known.values()), ["server-0:1", "server-1:1", "server-2:1"])
        self.assertEqual([n["self"] for n in known.values()], [True, False, False])
        self.assertEqual(len({n["version"] for n in known.values()} | {n["level"] for n in known.values()}), 2)
        own = next(n["id"] for n in self.nodes(servers[2]).values() if n["self"])
        self.assertEqual(servers[2].stop(), 0)
        until(lambda: self.nodes(servers[0])[own]["state"] == "left", "the one that was stopped")
        servers[1].kill()
        until(lambda: sorted(n["state"] for n in self.nodes(servers[0]).values()) == ["left", "present", "silent"], "the one that was killed")
        servers[2].start()
        until(lambda: self.nodes(servers[0])[own]["state"] == "present", "the same one again")


class Divergence(DigestTest):
    def tamper(self, server):
        run = subprocess.run([BUILD / "tests" / "test_service_hub_cluster", "tamper_with_a_folder"], capture_output=True, text=True,
                             timeout=60, env={**os.environ, "RUNG_TAMPER": str(server.data)})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def prepare(self):
        """Three servers with some scores; the third is stopped, and its snapshot changed. Their heartbeat is so slow that the log has
        no vote on anything behind that snapshot."""
        servers = [self.node("--log-heartbeat", "1h") for _ in range(3)]
        c = servers[2]
        seq = self.check(servers[0].put("/v1/boards/race", {}), 201).json["seq"]
        for server in servers:
            self.check(server.get(f"/v1/boards/race?min_seq={seq}"), 200)
        for n in range(20):
            self.check(servers[n % 3].post("/v1/boards/race/scores", {"player": f"p{n}", "score": n}), 200)
        for server in servers:
            until(lambda: len(self.nodes(server)) == 3, "three servers")
            until(lambda: server.get("/v1/digest?latest=true").json["agreed"], "a common checkpoint")
        until(lambda: c.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: self.metric(c, "rung_snapshots_total") == 1, "the snapshot")
        for n in range(20):
            self.check(servers[n % 2].post("/v1/boards/race/scores", {"player": f"q{n}", "score": n}), 200)
        self.assertEqual(c.stop(), 0)
        self.tamper(c)
        return servers

    def check_stopped(self, server):
        until(lambda: server.get("/readyz").code == "diverged", "the end of its service")
        for path in ("/readyz", "/v1/boards", "/v1/boards/race/top", "/v1/players/p1", "/v1/snapshot", "/v1/boards/race/live"):
            self.check(server.get(path), 503, "diverged")
        self.check(server.post("/v1/boards/race/scores", {"player": "p1", "score": 1}), 503, "diverged")
        self.check(server.post("/v1/snapshot"), 503, "diverged")
        self.check(server.get("/healthz"), 200)
        found = self.check(server.get("/v1/digest"), 200).json["diverged"]
        self.assertNotEqual(found["ours"], found["theirs"])
        # It has just started: when the first of the others votes, it may not have heard of the second.
        self.assertIn((found["with_them"], found["voters"], found["undecided"]), ((2, 3, False), (1, 2, True)))
        for word in (str(found["seq"]), found["ours"], found["theirs"], "serves no more"):
            self.assertIn(word, server.log)
        self.assertEqual(self.metric(server, "rung_diverged"), 1)
        self.assertEqual(self.metric(server, "rung_diverged_seq"), found["seq"])
        self.assertEqual(self.metric(server, "rung_ready"), 0)
        with Connection(server.resp) as redis:
            for words in (("ZSCORE", "race", "p1"), ("ZADD", "race", 1, "p1"), ("RUNG.TOP", "race")):
                self.assertTrue(redis.call(*words).value.startswith("DIVERGED "), words)
            self.assertEqual(redis.call("PING").value, "PONG")

    def test_a_changed_snapshot(self):
        a, b, c = self.prepare()
        c.start()
        self.check_stopped(c)
        own = next(n["id"] for n in self.nodes(c).values() if n["self"])
        for server in (a, b):
            until(lambda: self.nodes(server)[own]["state"] == "diverged", "its last words")
            self.check(server.get("/v1/boards/race/players/p1?latest=true"), 200)
            self.check(server.post("/v1/boards/race/scores", {"player": "p1", "score": 100}), 200)
            self.assertEqual(self.metric(server, "rung_diverged"), 0)
            until(lambda: "digests differ" in server.log, "its line")  # of the votes, or of the server that has stopped
        # Now that the votes are in the log, it does not even start with this snapshot.
        self.assertNotEqual(c.stop(), 0)
        c.start(wait=False)
        self.assertNotEqual(c.wait_exit(), 0)
        self.assertIn("the state differs from that of the other servers", c.log)
        # The log gives it the right state again.
        for file in c.data.glob("snapshot-*"):
            file.unlink()
        c.start()
        self.check(c.get("/v1/boards/race/players/cheat?latest=true"), 404)
        self.check(c.get("/v1/boards/race/players/p1"), 200)
        states = [s.get("/v1/digest?latest=true").json for s in (a, b, c)]
        self.same(a, b, c)
        self.assertEqual([s["diverged"] for s in states], [None] * 3)


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
