#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""Scores from foreign topics of a real broker: one effect per record across kills, rebalances and broker restarts; what cannot be
ingested becomes a dead letter and blocks nothing."""
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from client import KafkaError  # noqa: E402
from server import SOURCE, rung, until  # noqa: E402

ROUNDS = int(os.environ.get("RUNG_STEPS", "3"))
PARTITIONS = 4


class IngestTest(KafkaTest):
    wanted = {"count": 1, "group_min_session_timeout_ms": 1000}  # it lets go of silent members after a second

    def setUp(self):
        super().setUp()
        self.plays = f"plays-{self.topic}"
        self.client = self.brokers.client()
        self.client.create_topic(self.plays, partitions=PARTITIONS)
        self.total, self.sent = {}, 0

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="rung-ingest-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def configured(self, *more, **settings):
        """The flags for a configuration with the section [ingest.plays]."""
        settings = {"brokers": self.brokers.addresses, "topic": self.plays, "board": "$.board", "player": "$.player", "delta": "$.points",
                    "session_timeout": "1s", **settings}
        path = self.folder() / "rung.conf"
        path.write_text("[ingest.plays]\n" + "".join(f"{k} = {v}\n" for k, v in settings.items() if v is not None))
        return ["--config", path, *more]

    def node(self, **settings):
        """A server that shares a log on the same broker."""
        return super().node(*self.configured("--log-kafka-timeout", "3s", **settings))

    def board(self, server, name="sum", **definition):
        self.check(server.put(f"/v1/boards/{name}", {"update": "sum", **definition}), 201)

    def record(self, player, points, board="sum", **more):
        return json.dumps({"board": board, "player": player, "points": points, **more}).encode()

    def send(self, count):
        """Records for some players; remembers what they add up to."""
        records = []
        for _ in range(count):
            player, points = f"p{random.randrange(20)}", random.randrange(1, 100)
            self.total[player] = self.total.get(player, 0) + points
            records.append((random.randrange(PARTITIONS), self.record(player, points)))
        self.client.produce_all(self.plays, records)
        self.sent += count

    def scores(self, server, board="sum"):
        answer = server.get(f"/v1/boards/{board}/top?limit=100")
        return {e["player"]: e["score"] for e in answer.json["entries"]} if answer.status == 200 else None

    def count(self, server, name):
        """The sum over its labels."""
        text = server.get("/metrics").body.decode()
        return sum(float(v) for v in re.findall(rf"^rung_ingest_{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.M))

    def check_totals(self, *servers):
        for server in servers:
            until(lambda s=server: self.scores(s) == self.total, "the totals of what was sent")
        until(lambda: sum(self.count(s, "behind_records") for s in servers) == 0 and
              sum(self.count(s, "in_flight") for s in servers) == 0, "no lag")
        for server in servers:
            self.assertEqual(self.scores(server), self.total)


class OneServer(IngestTest):
    def test_records_become_scores(self):
        server = self.serve(*self.configured())
        self.board(server)
        self.send(500)
        self.check_totals(server)
        self.assertEqual(self.count(server, "records_total"), 500)
        self.assertEqual(self.count(server, "applied_total"), 500)
        text = server.get("/metrics").body.decode()
        for partition in range(PARTITIONS):
            self.assertIn(f'rung_ingest_lag_records{{ingest="plays",partition="{partition}"}} 0', text)
        status = rung("status", "--url", f"http://127.0.0.1:{server.http[1]}", "--json").stdout
        self.assertEqual(json.loads(status)["rung_ingest_behind_records"], 0)
        self.assertIn("ingest", rung("status", "--url", f"http://127.0.0.1:{server.http[1]}").stdout)
        self.assertEqual(server.stop(), 0)  # commits
        server.start()
        self.send(10)
        self.check_totals(server)
        self.assertEqual(self.count(server, "records_total"), 10)
        self.assertEqual(self.count(server, "duplicates_total"), 0)

    def test_everything_that_can_be_mapped(self):
        server = self.serve(*self.configured(topic=self.plays, board="race", player="$.user.id", delta=None, score="$.result.points",
                                             columns="time: $.result.ms", at="$.when", id="$.run", meta="$.extra"))
        self.check(server.put("/v1/boards/race", {"columns": [{"name": "time", "type": "integer", "order": "asc"}],
                                                  "windows": ["all", "day"]}), 201)
        run = {"user": {"id": 42}, "result": {"points": 7, "ms": 1234}, "when": "2026-01-02T03:04:05Z", "run": "run-1",
               "extra": {"level": 3}}
        self.client.produce(self.plays, json.dumps(run).encode(), partition=0)
        entry = until(lambda: self.entry(server, "race", "42"), "the score")
        self.assertEqual((entry["score"], entry["columns"]), (7, {"time": 1234}))
        self.client.produce(self.plays, json.dumps(run).encode(), partition=1)  # its own id: once
        until(lambda: self.count(server, "duplicates_total") == 1, "the duplicate")
        events = rung("log", "cat", server.data, "--json").stdout if server.stop() == 0 else ""
        event = [json.loads(line) for line in events.splitlines() if '"source"' in line][0]
        self.assertEqual((event["source"], event["offset"], event["id"]), (f"rung-plays/{self.plays}/0", 0, "run-1"))
        self.assertEqual(json.loads(event["meta"]), {"level": 3})

    def test_records_become_matches(self):
        server = self.serve(*self.configured(board="$.game", player=None, delta=None, sides="$.result.sides", id="$.id"))
        self.check(server.put("/v1/boards/chess", {"update": "elo"}), 201)
        def match(winner, loser, **more):
            return json.dumps({"game": "chess", "result": {"sides": [{"place": 1, "players": [winner]}, {"place": 2, "players": [{"player": loser, "weight": 2}]}]}, **more}).encode()
        bad = [(b'{"game": "chess"}', "sides"), (b'{"game": "chess", "result": {"sides": 5}}', "sides"),
               (match("ada", "ada"), "sides[1].players[0].player"), (match("ada", "bob").replace(b"chess", b"none"), "board")]
        for value in [match("ada", "bob", id="m1"), *(b for b, _ in bad), match("ada", "\u00e9\"x"), match("ada", "bob", id="m1")]:
            self.client.produce(self.plays, value, partition=0)
        until(lambda: self.count(server, "records_total") == 7 and self.count(server, "behind_records") == 0, "the matches")
        self.assertEqual(self.count(server, "duplicates_total"), 1)
        entries = server.get("/v1/boards/chess/top").json["entries"]
        self.assertEqual({e["player"]: e["rating"]["games"] for e in entries}, {"ada": 2, "bob": 1, "\u00e9\"x": 1})
        letters = {int(h["rung.offset"]): h for _, h in self.client.records_and_headers(f"{self.plays}.dead")}
        self.assertEqual([letters[1 + i].get("rung.field") for i in range(4)], [field for _, field in bad])
        server.kill()
        server.start()
        self.client.produce(self.plays, match("bob", "ada"), partition=0)
        until(lambda: server.get("/v1/boards/chess/top").json["entries"][0]["rating"]["games"] == 3, "the next match")
        self.assertEqual({e["player"]: e["rating"]["games"] for e in server.get("/v1/boards/chess/top").json["entries"]}, {"ada": 3, "bob": 2, "\u00e9\"x": 1})

    def entry(self, server, board, player):
        answer = server.get(f"/v1/boards/{board}/players/{player}?window=all")
        return answer.json["entry"] if answer.status == 200 else None

    def test_dead_letters(self):
        server = self.serve(*self.configured())
        self.board(server, limits={"max": 1000})
        bad = [(b"not json", "malformed", None), (b"", "malformed", None), (b"\xff\x00", "malformed", None),
               (b'{"board": "sum", "points": 1}', "invalid", "player"), (self.record("ada", 1, board="none"), "board_not_found", "board"),
               (self.record("ada", 1.5), "invalid", "delta"), (self.record("ada", 2000), "refused", "max"),
               (self.record("a\u0000", 1), "malformed", "player"), (b"{" + b'"x":"' + b"y" * 500000 + b'"}', "invalid", "board")]
        for value, _, _ in bad:
            self.client.produce(self.plays, value, key=b"k", partition=1)
            self.client.produce(self.plays, self.record("ada", 1), partition=1)
        self.total = {"ada": len(bad)}
        self.check_totals(server)  # none of them blocks the partition
        until(lambda: self.count(server, "dead_letters_total") == len(bad), "the dead letters")
        letters = {int(h["rung.offset"]): (r, h) for r, h in self.client.records_and_headers(f"{self.plays}.dead")}
        self.assertEqual(len(letters), len(bad))
        for i, (value, code, field) in enumerate(bad):
            record, headers = letters[2 * i]
            self.assertEqual((record.key, record.value), (b"k", value))
            self.assertEqual((headers["rung.code"], headers.get("rung.field")), (code, field), headers)
            self.assertEqual((headers["rung.topic"], headers["rung.partition"], headers["rung.ingest"]), (self.plays, "1", "plays"))
            self.assertTrue(headers["rung.reason"])

    def test_killed_again_and_again(self):
        """kill -9 while records stream in: the log of the folder knows what was applied."""
        server = self.serve(*self.configured(), env={"RUNG_SNAPSHOT_EVERY": "1MiB"})
        self.board(server)
        for _ in range(ROUNDS):
            self.send(2000)
            until(lambda: self.count(server, "applied_total") > 200, "some of them")
            server.kill()
            self.send(100)
            server.start()
        self.check_totals(server)

    def test_stopped_until_the_group_lets_it_go(self):
        """A member that the group gave up goes on where it was; nothing that was fetched too early is left out."""
        server = self.serve(*self.configured())
        self.board(server)
        for _ in range(ROUNDS):
            self.send(1000)
            for _ in range(2):
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(1.3)  # longer than its session
                server.process.send_signal(signal.SIGCONT)
                time.sleep(0.3)
            self.check_totals(server)

    def test_offsets_that_were_lost(self):
        """Another group begins anew; the same one, its offsets set back by an operator, applies nothing twice."""
        server = self.serve(*self.configured())
        self.board(server)
        self.send(300)
        self.check_totals(server)
        self.assertEqual(server.stop(), 0)
        self.client.set_offsets("rung-plays", self.plays, {p: 0 for p in range(PARTITIONS)})
        server.start()
        until(lambda: self.count(server, "duplicates_total") == 300, "all records again")
        self.check_totals(server)

    def test_a_topic_that_comes_later(self):
        server = self.serve(*self.configured(topic=f"{self.plays}-later"))
        self.board(server)
        until(lambda: "ingest plays" in server.log, "a line about the topic")
        self.plays += "-later"
        self.client.create_topic(self.plays, partitions=PARTITIONS)
        self.send(10)
        self.check_totals(server)


class Page(IngestTest):
    def test_the_example_of_the_page_works(self):
        """docs/ingest.md: its record, its configuration and its board, with other brokers and another topic."""
        page = (SOURCE / "docs/ingest.md").read_text()
        record = re.search(r"^    (\{.*\})$", page, re.M)[1]
        section = re.search(r"^    \[ingest\.plays\].*?(?=\n\n)", page, re.M | re.S)[0]
        settings = dict(re.findall(r"^    (\w+) = (.*)$", section, re.M))
        board = json.loads(re.search(r"-d '(\{.*\})'", page)[1])
        server = self.serve(*self.configured(**{"delta": None, **settings, "brokers": self.brokers.addresses, "topic": self.plays}))
        self.check(server.put("/v1/boards/race", board), 201)
        self.client.produce(self.plays, record.encode())
        answer = until(lambda: self.scores(server, "race"), "the score")
        self.assertEqual(answer, {"ada": 4200})


class Settings(IngestTest):
    def check_refused(self, message, **settings):
        run = rung("config", "check", *self.configured(**settings))
        self.assertEqual(run.returncode, 1, run)
        self.assertIn(message, run.stderr)

    def test_checked_and_shown(self):
        run = rung("config", "check", *self.configured())
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        shown = json.loads(rung("config", "show", "--json", *self.configured()).stdout)
        self.assertEqual(shown["ingest.plays.player"]["value"], "$.player")
        self.assertRegex(shown["ingest.plays.player"]["from"], r"rung\.conf:\d+")
        self.assertEqual(shown["ingest.plays.start"], {"value": "earliest", "from": "default"})
        self.check_refused("ingest.plays.player: expected $.KEY.KEY", player="$name")
        self.check_refused("ingest.plays.delta: not together with score", score="$.s")
        self.check_refused("ingest.plays.brokers: missing, and log has no brokers", brokers=None)
        self.check_refused("ingest.plays.topic: required but missing", topic=None)
        self.check_refused("ingest.plays.in_flight: expected a whole number from 1 to 2048", in_flight="0")
        self.check_refused('there is no setting "ingest.plays.bord"', bord="x")
        self.check_refused("ingest.plays.user: missing; sasl needs it", sasl="plain")

    def test_a_written_example_is_good(self):
        text = rung("config", "show", "--example", *self.configured()).stdout
        path = self.folder() / "again.conf"
        path.write_text(text)
        run = rung("config", "check", "--config", path)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)


class Group(IngestTest):
    def sender(self, stop):
        while not stop.is_set():
            try:
                self.send(200)
            except KafkaError as e:
                self.failure = e
                return

    def test_two_servers_are_killed_in_turn(self):
        servers = [self.node(), self.node()]
        self.board(servers[0])
        self.failure, stop = None, threading.Event()
        thread = threading.Thread(target=self.sender, args=(stop,))
        thread.start()
        try:
            for n in range(2 * ROUNDS):
                victim, other = servers[n % 2], servers[(n + 1) % 2]
                before = self.count(other, "applied_total")
                until(lambda o=other, b=before: self.count(o, "applied_total") > b + 100, "progress")
                victim.kill()
                until(lambda o=other: self.count(o, "applied_total") > 0 and self.partitions(o) == PARTITIONS, "all partitions")
                victim.start()
                until(lambda s=servers: all(self.partitions(x) == PARTITIONS // 2 for x in s), "half of the partitions each")
        finally:
            stop.set()
            thread.join()
        self.assertIsNone(self.failure)
        self.check_totals(*servers)
        states = [s.get("/readyz").json["digest"] for s in servers]
        until(lambda: len({s.get("/readyz").json["digest"] for s in servers}) == 1, f"equal digests, not {states}")

    def partitions(self, server):
        return len(re.findall(r"^rung_ingest_lag_records\{", server.get("/metrics").body.decode(), re.M))

    def test_the_broker_restarts(self):
        """Log, topic and group are all on it: writes are refused or unknown meanwhile, and tried again."""
        server = self.node()
        self.board(server)
        self.send(1000)
        until(lambda: self.count(server, "applied_total") > 0, "the first record")
        self.brokers[0].kill()
        until(lambda: self.count(server, "stalled_seconds") > 0 or self.scores(server) == self.total, "it notices")
        self.brokers[0].start()
        self.send(1000)
        self.check_totals(server)
        until(lambda: self.count(server, "stalled_seconds") == 0, "it goes on")


if __name__ == "__main__":
    unittest.main()
