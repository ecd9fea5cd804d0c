#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker
"""Servers that share a log on Kafka: writes to any of them reach all, nothing acknowledged is lost when servers or the broker are
killed, an id sent to several counts once, and what does not belong into the log stops them."""
import http.client
import itertools
import os
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from resp import Connection  # noqa: E402
from server import BUILD, rung, until  # noqa: E402

ROUNDS = int(os.environ.get("RUNG_STEPS", "3"))


class RaceTest(KafkaTest):
    def node(self, *flags, timeout="3s", **more):
        return super().node("--log-kafka-timeout", timeout, *flags, **more)

    def submit(self, server, player, id_=None, delta=1, **more):
        return server.post("/v1/boards/race/scores", {"player": player, "delta": delta, **({"id": id_} if id_ else {})}, **more)

    def score(self, server, player, **query):
        more = "".join(f"&{k}={v}" for k, v in query.items())
        answer = server.get(f"/v1/boards/race/players/{player}?window=all{more}")
        return answer.json["entry"]["score"] if answer.status == 200 else answer


class Writer(threading.Thread):
    """Submits to servers in turn, again with the same id until it is acknowledged; `count` times, or until told to stop."""

    def __init__(self, servers, number, count):
        super().__init__()
        self.servers, self.player, self.count = servers, f"p{number}", count
        self.acked, self.repeated, self.codes, self.failure = 0, 0, set(), None
        self.ended, self.stop = threading.Event(), False

    def one(self, id_, at):
        server = self.servers[at % len(self.servers)]
        try:
            answer = server.post("/v1/boards/race/scores", {"player": self.player, "delta": 1, "id": id_})
        except (OSError, http.client.HTTPException):
            return False  # it is down
        if answer.status == 503:
            self.codes.add(answer.code)
            return False
        if answer.status != 200:
            raise AssertionError(answer)
        return True

    def run(self):
        try:
            for i in itertools.count():
                if self.stop or i == self.count:
                    break
                at = i
                while not self.one(f"{self.player}-{i}", at):
                    self.repeated += 1
                    at += 1
                    time.sleep(0.02)  # the server is down: do not turn like mad
                self.acked += 1
        except AssertionError as e:
            self.failure = e
        self.ended.set()


class Replicated(RaceTest):
    def board(self, *servers):
        """Defined at the first, and known to all."""
        seq = self.check(servers[0].put("/v1/boards/race", {"update": "sum"}), 201).json["seq"]
        for server in servers:
            self.check(server.get(f"/v1/boards/race?min_seq={seq}"), 200)

    def test_two_servers_have_one_state(self):
        a, b = self.node(), self.node()
        self.board(a, b)
        seq = self.check(self.submit(a, "ada"), 200).json["seq"]
        self.assertEqual(self.score(b, "ada", min_seq=seq), 1)
        self.check(self.submit(b, "ada"), 200)
        self.assertEqual(self.score(a, "ada", latest="true"), 2)
        self.same(a, b)
        self.assertEqual(a.stop(), 0)
        self.check(self.submit(b, "ada"), 200)
        a.start()
        self.assertEqual(self.score(a, "ada"), 3)  # ready means that it has caught up
        self.same(a, b)
        self.assertEqual(a.stop(), 0)
        self.assertEqual(b.stop(), 0)

    def test_the_same_id_to_two_servers_counts_once(self):
        servers = [self.node(), self.node()]
        self.board(*servers)
        answers = {}

        def send(at, id_):
            answers[at, id_] = self.submit(servers[at], "ada", id_, connection=connections[at])
        for n in range(100):
            connections = [s.open() for s in servers]
            threads = [threading.Thread(target=send, args=(at, f"id-{n}")) for at in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for connection in connections:
                connection.close()
            pair = [self.check(answers[at, f"id-{n}"], 200).json for at in (0, 1)]
            self.assertEqual(sorted(p.get("duplicate", False) for p in pair), [False, True], pair)
        self.assertEqual(self.score(servers[0], "ada", latest="true"), 100)
        self.assertEqual(self.score(servers[1], "ada", latest="true"), 100)
        self.same(*servers)

    def test_nothing_is_lost_when_servers_and_the_broker_are_killed(self):
        servers = [self.node(), self.node()]
        self.board(*servers)
        writers = [Writer(servers, n, 400) for n in range(4)]
        for w in writers:
            w.start()
        for n in range(ROUNDS):
            victim = servers[n % 2]
            until(lambda: sum(w.acked for w in writers) > 150 * (2 * n + 1) or all(w.ended.is_set() for w in writers), "progress")
            victim.kill()
            victim.start()
            until(lambda: sum(w.acked for w in writers) > 150 * (2 * n + 2) or all(w.ended.is_set() for w in writers), "progress")
            self.brokers[0].kill()
            self.brokers[0].start()
        for w in writers:
            w.join()
            self.assertIsNone(w.failure)
        for server in servers:
            for w in writers:
                until(lambda s=server, w=w: self.score(s, w.player, latest="true") == w.count,
                      f"the score {w.count} of {w.player}, once the broker answers again; before: {w.codes}")
        self.same(*servers)

    def test_a_broker_that_is_gone(self):
        server = self.node(timeout="500ms")
        self.board(server)
        self.check(self.submit(server, "ada", "one"), 200)
        self.brokers[0].pause()
        try:
            answer = self.submit(server, "ada", "two")
            self.check(answer, 503)
            self.assertIn(answer.code, ("log_unavailable", "outcome_unknown"), answer)
            self.assertEqual(self.score(server, "ada"), 1)  # reads go on
            self.check(server.get("/v1/boards/race/players/ada?latest=true"), 503, "log_unavailable")
        finally:
            self.brokers[0].resume()
        until(lambda: self.submit(server, "ada", "two").status == 200, "the broker is back")
        until(lambda: self.score(server, "ada", latest="true") == 2, "an answer of the broker")
        self.brokers[0].kill()
        try:
            until(lambda: "log_unavailable" in server.get("/readyz").json.get("warnings", []), "the warning")
            self.assertEqual(self.score(server, "ada"), 2)
        finally:
            self.brokers[0].start()
        until(lambda: not server.get("/readyz").json.get("warnings"), "the end of the warning")
        until(lambda: self.submit(server, "ada", "three").status == 200, "the broker is back")
        self.assertEqual(self.score(server, "ada"), 3)

    def test_reads_tell_their_age(self):
        """A broker that hangs, its connections open: reads go on and say for how long nothing was heard."""
        server = self.node(timeout="500ms")
        self.board(server)
        self.check(self.submit(server, "ada"), 200)
        answer = self.check(server.get("/v1/boards/race/top"), 200)
        self.assertIsNone(answer.headers["rung-age"])
        ready = self.check(server.get("/readyz?writes=true"), 200).json
        self.assertEqual((ready["log"]["silent_ms"], ready["log"]["lag"]), (0, 0), ready)

        def age():
            answer = self.check(server.get("/v1/boards/race/top"), 200)
            self.assertEqual(answer.json["total"], 1)
            return int(answer.headers["rung-age"] or 0)
        self.brokers[0].pause()
        try:
            first = until(age, "an age")
            until(lambda: age() > first, "a higher age")
            self.check(server.get("/readyz?writes=true"), 503, "log_unavailable")
            self.check(server.get("/v1/boards/race/top?latest=true"), 503, "log_unavailable")
            ready = self.check(server.get("/readyz"), 200).json
            self.assertIn("log_unavailable", ready["warnings"])
            self.assertGreaterEqual(ready["log"]["silent_ms"], 1000 * first)
            with Connection(server.resp) as client:
                self.assertRegex(client.call("INFO", "replication").raw.decode(), r"log_silent_ms:[1-9]\d{3}")
        finally:
            self.brokers[0].resume()
        until(lambda: not age(), "the end of the age")
        self.check(server.get("/readyz?writes=true"), 200)

    def test_redis_clients_read_their_writes(self):
        servers = [self.node(), self.node()]
        with Connection(servers[0].resp) as one, Connection(servers[1].resp) as two:
            for n in range(50):
                one.call("ZADD", "race", n, "ada")
                seq = one.call("RUNG.SEQ").value
                self.assertGreaterEqual(two.call("RUNG.WAITSEQ", seq).value, seq)
                self.assertEqual(float(two.call("ZSCORE", "race", "ada").value), n)
                two.call("ZADD", "race", n, "bob")
                self.assertGreater(one.call("RUNG.LATEST").value, seq)
                self.assertEqual(float(one.call("ZSCORE", "race", "bob").value), n)

    def test_redis_clients_hear_of_a_broker_that_is_gone(self):
        server = self.node(timeout="500ms")
        with Connection(server.resp) as client:
            client.call("ZADD", "race", 1, "ada")
            self.brokers[0].pause()
            try:
                self.assertRegex(client.call("ZADD", "race", 2, "ada").raw, b"^-(LOGDOWN|UNKNOWN) ")
                self.assertRegex(client.call("RUNG.LATEST").raw, b"^-(LOGDOWN|TRYAGAIN) ")
                self.assertEqual(float(client.call("ZSCORE", "race", "ada").value), 1)
            finally:
                self.brokers[0].resume()
            until(lambda: client.call("ZADD", "race", 3, "ada").raw.startswith(b":"), "the broker is back")

    def test_snapshots(self):
        a, b = self.node(), self.node()
        self.board(a, b)
        for n in range(50):
            self.check(self.submit(a, f"p{n}"), 200)
        until(lambda: a.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: list(a.data.glob("*.snap*")) or list(a.data.glob("snapshot*")), "the snapshot")
        self.check(self.submit(b, "late"), 200)
        a.kill()
        self.check(self.submit(b, "later"), 200)
        a.start()
        self.assertEqual(self.score(a, "later"), 1)
        self.same(a, b)


class Contract(RaceTest):
    """What every log does (tests/support/log_contract.h), on a real broker."""

    def test_contract(self):
        for name in ("order_and_tags", "limits", "foreign_records", "what_was_delivered_survives", "closed_with_proposals_in_flight"):
            run = subprocess.run([BUILD / "tests" / "test_stream_kafka_log", name], capture_output=True, text=True, timeout=120,
                                 env={**os.environ, "RUNG_KAFKA_BROKERS": self.brokers.addresses})
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class Refused(RaceTest):
    def fails(self, *flags, words, **more):
        server = self.node(*flags, start=False, **more).start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        for word in words:
            self.assertIn(word, server.log)
        return server

    def test_unsafe_topics(self):
        client = self.brokers.client()
        for n, (name, value) in enumerate((("cleanup.policy", "compact"), ("unclean.leader.election.enable", "true"),
                                           ("retention.ms", "60000"), ("retention.bytes", "1000000"), ("max.message.bytes", "1000"))):
            self.topic = f"unsafe-{n}"
            client.create_topic(self.topic, configs={name: value})
            self.fails(words=("unsafe", name, value))
        accepted = self.node("--log-kafka-accept-unsafe", "on")
        self.assertIn("unsafe", accepted.log)
        self.topic = "wide"
        client.create_topic(self.topic, partitions=2)
        self.fails("--log-kafka-accept-unsafe", "on", words=("2 partitions",))

    def test_more_replicas_than_brokers(self):
        self.fails(replication="3", words=("cannot be created", "eplication"))

    def test_another_programs_record_stops_the_server(self):
        a, b = self.node(), self.node()
        seq = self.check(a.put("/v1/boards/race", {}), 201).json["seq"]
        offset = self.brokers.client().produce(self.topic, b"junk", key=b"junk")
        self.assertGreaterEqual(offset, seq)
        for server in (a, b):
            self.assertEqual(server.wait_exit(), 4)
            self.assertIn(f"offset {offset} ", server.log)
        a.start(wait=False)
        self.assertNotEqual(a.wait_exit(), 0)
        self.assertIn(f"offset {offset} ", a.log)

    def test_a_folder_of_another_topic(self):
        a = self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.assertEqual(a.stop(), 0)
        self.topic = "another"
        self.fails(data=a.data, words=("another log",))

    def test_a_folder_with_a_log_of_its_own(self):
        local = self.serve()
        self.check(local.put("/v1/boards/race", {}), 201)
        self.assertEqual(local.stop(), 0)
        self.fails(data=local.data, words=("a log of its own",))

    def test_a_gap_before_the_first_offset(self):
        a = self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        self.brokers.client().delete_records(self.topic, before=1)
        self.fails(words=("the log begins at 2, but 1 is needed", "rung join"))
        self.check(a.put("/v1/boards/more", {}), 201)  # who has read them goes on
        self.assertEqual(a.stop(), 0)

    def test_an_empty_folder_begins_with_a_peers_snapshot(self):
        a = self.node("--snapshot-every", "off")
        self.check(a.put("/v1/boards/race", {}), 201)
        for i in range(50):
            self.check(self.submit(a, f"p{i}"), 200)
        until(lambda: a.get("/v1/snapshot").status == 200, "the snapshot")
        seq = int(a.get("/v1/snapshot").headers["rung-seq"])
        self.check(self.submit(a, "later"), 200)
        self.brokers.client().delete_records(self.topic, before=seq)
        url = "http://%s:%d" % a.http
        self.fails(words=(f"the log begins at {seq + 1}, but 1 is needed", "rung join"))
        b = self.node("--peers", f"http://127.0.0.1:1,{url}")
        self.same(a, b)
        self.assertIn("http://127.0.0.1:1", b.log)
        self.assertTrue((b.data / f"snapshot-{seq:020}.snap").exists())
        self.check(self.submit(b, "p7"), 200)
        self.same(a, b)
        # By hand, and again: a folder that has a snapshot asks nobody.
        c = self.node(start=False)
        self.assertEqual(rung("join", url, "--data", c.data).returncode, 0)
        c.start()
        self.same(a, b, c)
        self.assertEqual((a.stop(), b.stop(), c.stop()), (0, 0, 0))
        b.start()
        self.assertNotIn("127.0.0.1:1", b.log)
        # A peer of another topic is refused, and an empty log needs none.
        self.topic += "-other"
        d = self.node()
        self.check(d.put("/v1/boards/race", {}), 201)
        e = self.node("--peers", "http://%s:%d" % b.http)
        self.assertIn("has another log", e.log)
        self.same(d, e)

    def test_a_topic_that_was_created_again(self):
        a = self.node()
        self.check(a.put("/v1/boards/race", {}), 201)
        until(lambda: a.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: a.get("/metrics").body.decode().split("rung_snapshot_seq ")[-1].split()[0] != "0", "the snapshot")
        self.assertEqual(a.stop(), 0)
        self.brokers.client().delete_topic(self.topic)
        a.start(wait=False)
        self.assertNotEqual(a.wait_exit(), 0)
        self.assertIn("newer than the log", a.log)


if __name__ == "__main__":
    unittest.main()
