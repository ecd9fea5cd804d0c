#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""What does not belong into a topic, on real brokers: a foreign program's records stop every server, and `rung log skip` lets all of them
pass over it, also those of the future; a record of ours that cannot be read is never passed over; a topic of another cluster is refused."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
import brokers as kafka  # noqa: E402
from server import ServerTest, rung, until  # noqa: E402

ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("RUNG_")}, "RUNG_LOG_KAFKA_REPLICATION": "1"}
OTHER_ID = "YW5vdGhlci1jbHVzdGVyIQ"


def setUpModule():
    """One broker for all tests; each has a topic of its own."""
    Strangers.brokers = kafka.Brokers(1).start()
    unittest.addModuleCleanup(Strangers.brokers.close)


class Strangers(ServerTest):
    topics = 0

    def setUp(self):
        Strangers.topics += 1
        self.topic = f"skip-{Strangers.topics}"

    def url(self, brokers=None):
        return f"kafka://{(brokers or self.brokers).addresses}/{self.topic}"

    def node(self, *flags, brokers=None, **more):
        return self.serve("--log", self.url(brokers), "--log-kafka-replication", "1", *flags, **more)

    def skip(self, *words, code=0):
        run = rung("log", "skip", self.url(), *words, "--json", env=ENV)
        self.assertEqual(run.returncode, code, run)
        return json.loads(run.stdout) if run.stdout else run.stderr

    def submit(self, server, player):
        return self.check(server.post("/v1/boards/race/scores", {"player": player, "score": 1}), 200)

    def same(self, *servers):
        def look():
            states = [s.get("/readyz").json for s in servers]
            return states[0] if all((s["seq"], s["digest"]) == (states[0]["seq"], states[0]["digest"]) for s in states) else None
        return until(look, "the same state on all servers")

    def stopped(self, server, *words, code=4):
        self.assertEqual(server.wait_exit(), code, server.log)
        for word in words:
            self.assertIn(word, server.log)

    def test_it_stops_servers_that_run(self):
        a, b = self.node(), self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.same(a, b)
        offset = self.brokers.client().produce(self.topic, b"junk", key=b"junk")
        for server in (a, b):
            self.stopped(server, f"offset {offset} ", "is not of this log", "rung help log skip")

    def test_all_pass_over_it_after_one_command(self):
        a, b = self.node(), self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.submit(a, "ada")
        # With no server running, no report of theirs comes between the two records or after them.
        self.assertEqual((a.stop(), b.stop()), (0, 0))
        client = self.brokers.client()
        offset = client.produce(self.topic, b"junk", key=b"junk")
        client.produce(self.topic, b'{"a":1}')
        for server in (a, b):
            self.stopped(server.start(wait=False), f"offset {offset} ", code=1)
        found = self.skip(code=1)["strange"]
        self.assertEqual([(s["offset"], s["count"], s["skipped"]) for s in found], [(offset, 2, 0)])
        # Records of ours are not passed over, nor what is not there; and it takes a reason.
        self.assertIn("is of this log", self.skip("--offset", offset - 1, "--reason", "no", code=1))
        self.assertIn("is of this log", self.skip("--offset", offset - 1, "--count", "3", "--reason", "no", code=1))
        self.assertIn("offset: topic", self.skip("--offset", offset + 2, "--reason", "no", code=1))
        self.assertIn("--reason: missing", self.skip("--offset", offset, code=2))
        self.assertIn("--offset: expected", self.skip("--offset", "x", "--reason", "no", code=2))
        self.assertEqual(len(client.records(self.topic)), offset + 2)
        # One command; every server passes over both, and so does one that begins later.
        done = self.skip("--offset", offset, "--count", "2", "--reason", "a test tool, ticket 77")
        self.assertEqual(done, {"offset": offset, "count": 2, "decided_at": offset + 2})
        c = self.node()
        for server in (a, b):
            server.start()
        for server in (a, b, c):
            self.assertIn(f"2 records from offset {offset} on are not of this log and are passed over, as decided at offset {offset + 2}: "
                          "a test tool, ticket 77", server.log)
        seq = self.submit(a, "bob").json["seq"]
        self.assertGreater(seq, offset + 3)
        self.same(a, b, c)
        found = self.skip()["strange"]
        self.assertEqual([(s["count"], s["skipped"], s["decided_at"], s["reason"]) for s in found], [(2, 2, offset + 2, "a test tool, ticket 77")])
        said = rung("log", "skip", self.url(), env=ENV).stdout
        self.assertRegex(said, rf"\Aoffset {offset}, 2 records: .*; passed over: \"a test tool, ticket 77\"\n\Z")
        # A snapshot behind it needs no decision; a copy has what all servers have.
        until(lambda: a.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: list(a.data.glob("snapshot*.snap")), "the snapshot")
        self.assertEqual((a.stop(), b.stop(), c.stop()), (0, 0, 0))
        a.start()
        self.assertNotIn("passed over", a.log)
        self.assertEqual(a.stop(), 0)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-e2e-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        run = rung("log", "copy", self.url(), folder / "new", "--json", env=ENV)
        self.assertEqual(run.returncode, 0, run)
        status = json.loads(rung("status", folder / "new", "--json", env=ENV).stdout)
        self.assertEqual(status["state"]["digest"], json.loads(run.stdout)["digest"])
        lines = rung("log", "cat", folder / "new", env=ENV)
        self.assertEqual((lines.returncode, lines.stdout.count("void, 0 bytes: no effect")), (0, 2), lines)

    def test_a_record_of_ours_that_cannot_be_read(self):
        a, b = self.node(), self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.same(a, b)
        client = self.brokers.client()
        key = next(r.key for r in client.records(self.topic) if r.key[4:6] == b"\x01\x00")
        offset = client.produce(self.topic, b"\x01\xfejunk", key=key)  # as of a newer version, or damaged on its way
        for server in (a, b):
            self.stopped(server, f"(offset {offset} of the topic) is not an event")
        a.start(wait=False)
        self.stopped(a, f"(offset {offset} of the topic) is not an event", code=1)
        self.assertEqual(self.skip()["strange"], [])
        self.assertIn("is of this log", self.skip("--offset", offset, "--reason", "no", code=1))
        # Nor a newer form of our own key.
        newer = client.produce(self.topic, b"value", key=b"RGK2" + key[4:])
        self.assertIn(f"offset {newer} ", self.skip("--offset", newer, "--reason", "no", code=1))
        self.assertEqual(len(client.records(self.topic)), newer + 1)

    def test_a_topic_of_another_cluster(self):
        a = self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.submit(a, "ada")
        self.assertEqual(a.stop(), 0)
        before, kafka.CLUSTER_ID = kafka.CLUSTER_ID, OTHER_ID
        try:
            others = kafka.Brokers(1).start()
        finally:
            kafka.CLUSTER_ID = before
        self.addCleanup(others.close)
        self.assertNotEqual(others.client().cluster_id(), self.brokers.client().cluster_id())
        # A folder of the one with the topic of the same name in the other.
        moved = self.node(brokers=others, data=a.data, start=False).start(wait=False)
        self.stopped(moved, "belongs to another log, of another topic or Kafka cluster", code=1)
        # A topic that was mirrored from the one to the other.
        records = self.brokers.client().records(self.topic)
        client = others.client()
        self.topic += "-mirror"
        client.create_topic(self.topic, configs={"min.insync.replicas": "1", "retention.ms": "-1"})
        for record in records:
            client.produce(self.topic, record.value, key=record.key)
        mirror = self.node(brokers=others, start=False).start(wait=False)
        self.stopped(mirror, "offset 0 ", "it belongs to another topic or Kafka cluster", code=1)


if __name__ == "__main__":
    unittest.main()
