#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""The change feed on a real broker: every change is in it, in order, as the answers over HTTP said; across kills of the publisher,
of all servers and of the broker; and what it says of bans, removals, windows and boards."""
import http.client
import itertools
import json
import os
import re
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from resp import Connection as Resp  # noqa: E402
from server import until  # noqa: E402
from test_deploy import metrics_in, rule_queries  # noqa: E402

PARTITIONS = 3
ROUNDS = int(os.environ.get("RUNG_STEPS", "2"))


def murmur2(data):
    """As Kafka's Java client hashes keys."""
    m, mask = 0x5bd1e995, 0xffffffff
    h = (0x9747b28c ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7fffffff


class Reader:
    """What docs/feed.md tells a consumer to do: per partition, drop whatever is not after the last position."""

    def __init__(self, client, topic):
        self.client, self.topic = client, topic
        self.next, self.last = [0] * PARTITIONS, [(-1, -1)] * PARTITIONS
        self.records, self.duplicates = [], 0  # records: (partition, key, value)

    def read(self):
        for p in range(PARTITIONS):
            for r in self.client.records(self.topic, p, self.next[p] if self.next[p] else -2):
                self.next[p] = r.offset + 1
                value = json.loads(r.value)
                position = (value["seq"], value.get("n", float("inf")))
                if position <= self.last[p]:
                    self.duplicates += 1
                    continue
                self.last[p] = position
                self.records.append((p, r.key, value))
        return self

    def of(self, *types):
        return [v for _, _, v in self.records if v["type"] in types]


class FeedTest(KafkaTest):
    def setUp(self):
        super().setUp()
        self.feed = f"{self.topic}-feed"
        self.client = self.brokers.client()

    def feeding(self, *flags, start="first", **more):
        """A server with a log of its own."""
        return self.serve("--feed-topic", self.feed, "--feed-brokers", self.brokers.addresses, "--feed-start", start,
                          "--feed-partitions", PARTITIONS, "--log-kafka-replication", "1", *flags, **more)

    def node(self, *flags, **more):
        """One of several, on a log that they share."""
        return super().node("--log-kafka-timeout", "3s", "--feed-topic", self.feed, "--feed-start", "first", "--feed-partitions", PARTITIONS,
                            *flags, **more)

    def wait_published(self, *servers, seq):
        """Until one of the servers says that the feed has this event."""
        until(lambda: any((self.metric(s, "rung_feed_seq") or 0) >= seq for s in servers), f"event {seq} in the feed")

    def wait_publisher(self, *servers):
        return until(lambda: next((s for s in servers if self.metric(s, "rung_feed_publisher") == 1), None), "a publisher")

    def read(self):
        return Reader(self.client, self.feed).read()

    def board(self, server, name="race", **definition):
        return self.check(server.put(f"/v1/boards/{name}", definition), 201).json["seq"]

    def submit(self, server, player, score, board="race", **more):
        return self.check(server.post(f"/v1/boards/{board}/scores", {"player": player, "score": score, **more}), 200).json

    def check_same(self, record, answer, board="race"):
        """The record says what the answer said."""
        for field in ("player", "score", "rank_before", "rank", "total", "seq"):
            self.assertEqual(record[field], answer[field], (field, record, answer))
        self.assertEqual((record["type"], record["board"]), ("score", board))
        windows = {w["window"]: w for w in record["windows"]}
        self.assertEqual(set(windows), set(answer["windows"]))
        for name, window in answer["windows"].items():
            for field in ("id", "changed", "rank_before", "rank", "total"):
                self.assertEqual(windows[name][field], window[field], (name, field))


class Changes(FeedTest):
    def test_what_the_answers_said(self):
        server = self.feeding()
        self.board(server, windows=["all", "week"])
        answers = [self.submit(server, f"p{n % 7}", n * 37 % 101) for n in range(100)]
        self.wait_published(server, seq=answers[-1]["seq"])
        feed = self.read()
        self.assertEqual(feed.duplicates, 0)
        changed = [a for a in answers if a["changed"]]
        self.assertLess(len(changed), len(answers))  # `best` counts: some change nothing, and are not there
        records = sorted(feed.of("score"), key=lambda r: r["seq"])
        self.assertEqual(len(records), len(changed))
        for record, answer in zip(records, changed):
            self.check_same(record, answer)
        for p, key, value in feed.records:
            if value["type"] == "score":
                self.assertEqual((key, p), (value["player"].encode(), murmur2(key) % PARTITIONS))

    def test_hostile_names(self):
        server = self.feeding()
        self.board(server)
        names = ['"', "\\", "a\"b\\c/", "\u00e9\u2603\U0001f600", "\u2028", "</script>", "{}", "'; drop"]
        answers = [self.submit(server, name, n) for n, name in enumerate(names)]
        self.wait_published(server, seq=answers[-1]["seq"])
        records = {r["player"]: r for r in self.read().of("score")}
        self.assertEqual(set(records), set(names))
        for name, answer in zip(names, answers):
            self.check_same(records[name], answer)

    def test_everything_else_that_changes_standings(self):
        server = self.feeding()
        for name in ("race", "climb"):
            self.board(server, name)
            for n, player in enumerate(("ada", "bob", "cy")):
                self.submit(server, player, n, name)
        self.check(server.delete("/v1/boards/race/players/cy"), 200)
        self.check(server.post("/v1/players/bob/ban", {"reason": "x"}), 200)
        self.check(server.delete("/v1/players/bob/ban"), 200)
        self.check(server.delete("/v1/players/ada"), 200)
        self.check(server.delete("/v1/boards/climb"), 200)
        with Resp(server.resp) as r:
            r.call("ZADD", "z", "1", "x", "2", "y", "3", "x")
            r.call("ZUNIONSTORE", "zz", "1", "z")
            r.call("ZREM", "z", "x")
            r.call("RENAME", "zz", "zzz")
        self.wait_published(server, seq=server.get("/readyz").json["seq"])
        feed = self.read()
        said = [(r["type"], r["cause"], r["board"], r["player"], r["rank_before"], r["rank"])
                for r in sorted(feed.of("score", "removed"), key=lambda r: (r["seq"], r["n"])) if r["cause"] != "score"]
        self.assertEqual(said, [
            ("removed", "removal", "race", "cy", 1, None),
            ("removed", "ban", "race", "bob", 1, None), ("removed", "ban", "climb", "bob", 2, None),
            ("score", "unban", "race", "bob", None, 1), ("score", "unban", "climb", "bob", None, 2),
            ("removed", "erasure", "race", "ada", 2, None), ("removed", "erasure", "climb", "ada", 3, None),
            ("score", "redis", "z", "x", None, 1), ("score", "redis", "z", "y", None, 1), ("score", "redis", "z", "x", 2, 1),
            ("removed", "redis", "z", "x", 1, None)])
        for p in range(PARTITIONS):  # what is about a board is in every partition
            boards = [(v["type"], v["board"]) for q, _, v in feed.records if q == p and v["type"].startswith("board")]
            self.assertEqual(boards, [("board_defined", "race"), ("board_defined", "climb"), ("board_deleted", "climb"),
                                      ("board_replaced", "zz"), ("board_deleted", "zz"), ("board_replaced", "zzz")])

    def test_windows_that_close(self):
        server = self.feeding()
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
        self.board(server, windows=["all", {"name": "spring", "starts": "2020-01-01T00:00:00Z", "ends": ends}])
        self.assertIn("spring", self.submit(server, "ada", 5)["windows"])
        closed = until(lambda: [r for r in [self.read().of("window_closed")] if len(r) == PARTITIONS], "the end of the season")[0]
        for record in closed:
            self.assertEqual((record["board"], record["window"], record["id"], record["total"]), ("race", "spring", "spring", 1))

    def test_boards_and_the_start(self):
        server = self.feeding("--feed-boards", "race,weekly-*", start="now")
        for name in ("race", "weekly-1", "other"):
            self.board(server, name)
        self.wait_publisher(server)
        answers = [self.submit(server, "ada", 5, name) for name in ("race", "weekly-1", "other")]
        self.wait_published(server, seq=answers[-1]["seq"])
        feed = self.read()
        self.assertEqual([r["board"] for r in feed.of("score")], ["race", "weekly-1"])
        self.assertTrue(all(r["from"] == 1 and r["to"] == r["seq"] for r in feed.of("gap")))
        self.assertEqual(self.metric(server, "rung_feed_gaps_total"), 0)  # it is the beginning, nothing was lost

    def test_the_alerts_ask_for_what_there_is(self):
        names = set(re.findall(r"^([a-z_]+)(?:\{| )", self.feeding().get("/metrics").body.decode(), re.M))
        queries = rule_queries("alerts-feed.yml")
        self.assertGreater(len(queries), 1)
        for query in queries:
            self.assertLessEqual(metrics_in(query), names, query)


class Writer(threading.Thread):
    """Adds 1 to one player's score again and again, at servers in turn, until told to stop; repeats what was not acknowledged."""

    def __init__(self, servers, number):
        super().__init__()
        self.servers, self.player, self.answers, self.failure, self.stop = servers, f"p{number}", [], None, False

    def one(self, id_, at):
        server = self.servers[at % len(self.servers)]
        try:
            answer = server.post("/v1/boards/race/scores", {"player": self.player, "delta": 1, "id": id_})
        except (OSError, http.client.HTTPException):
            return None  # it is down
        if answer.status not in (200, 503):
            raise AssertionError(answer)
        return answer.json if answer.status == 200 else None

    def run(self):
        try:
            for i in itertools.count():
                at, answer = i, None
                while not self.stop and not (answer := self.one(f"{self.player}-{i}", at)):
                    at += 1
                    time.sleep(0.02)  # the server is down: do not turn like mad
                if self.stop:
                    break
                self.answers.append(answer)
        except AssertionError as e:
            self.failure = e


class Survives(FeedTest):
    def write(self, *servers, count=3):
        self.writers = [Writer(servers, n) for n in range(count)]
        for w in self.writers:
            w.start()
            self.addCleanup(setattr, w, "stop", True)

    def wait_acked(self, more):
        goal = sum(len(w.answers) for w in self.writers) + more
        until(lambda: sum(len(w.answers) for w in self.writers) >= goal or any(w.failure for w in self.writers), "progress")

    def end(self, *servers):
        """Every change is in the feed, once and in order, as it was answered. Returns the reader."""
        for w in self.writers:
            w.stop = True
        for w in self.writers:
            w.join()
            self.assertIsNone(w.failure)
        seq = max(s.get("/v1/boards/race/players/p0?latest=true").json["seq"] for s in servers)
        self.wait_published(*servers, seq=seq)
        feed = self.read()
        for w in self.writers:
            records = [r for r in feed.of("score") if r["player"] == w.player]
            self.assertEqual([r["score"] for r in records], list(range(1, len(records) + 1)))
            by_seq = {r["seq"]: r for r in records}
            firsts = [a for a in w.answers if not a["duplicate"]]
            self.assertGreater(len(firsts), 10)
            self.assertGreaterEqual(len(records), len(w.answers))
            for answer in firsts:
                self.check_same(by_seq[answer["seq"]], answer)
        for s in servers:
            self.assertEqual(self.metric(s, "rung_feed_gaps_total"), 0, s.log)
        return feed

    def test_kills_of_the_only_server(self):
        server = self.feeding("--feed-memory", "64KiB")
        self.board(server, update="sum", windows=["all", "day"])
        self.write(server)
        for _ in range(ROUNDS):
            self.wait_acked(100)
            until(lambda: server.post("/v1/snapshot").status in (202, 200), "a snapshot that need not wait for the feed")
            self.wait_acked(50)
            server.kill()
            server.start()
        self.wait_acked(100)
        self.end(server)

    def test_a_broker_that_is_gone(self):
        """Nobody waits for the feed. It falls behind, says so, and catches up from the log what memory could not hold."""
        server = self.feeding("--feed-memory", "64KiB")
        self.board(server, update="sum")
        self.write(server)
        self.wait_publisher(server)
        self.wait_acked(50)
        self.brokers[0].kill()
        try:
            self.wait_acked(600)  # more than 64 KiB of records
            self.assertGreater(self.metric(server, "rung_feed_behind_events"), 100)
            self.assertGreater(self.metric(server, "rung_feed_behind_seconds"), 0)
        finally:
            self.brokers[0].start()
        self.wait_acked(50)
        self.end(server)
        self.assertGreater(self.metric(server, "rung_feed_replays_total"), 0)
        until(lambda: self.metric(server, "rung_feed_behind_seconds") == 0, "the end of the backlog")

    def test_another_server_takes_over(self):
        nodes = [self.node(), self.node()]
        self.board(nodes[0], update="sum")
        for n in nodes:
            until(lambda: n.get("/v1/boards/race").status == 200, "the board")
        self.write(*nodes)
        for _ in range(ROUNDS):
            victim = self.wait_publisher(*nodes)
            other = nodes[1 - nodes.index(victim)]
            self.wait_acked(100)
            victim.kill()
            until(lambda: self.metric(other, "rung_feed_publisher") == 1, "another publisher")
            self.wait_acked(100)
            victim.start()
        self.assertEqual(nodes[0].stop(), 0)  # leaves the group at once
        self.wait_acked(50)
        nodes[0].start()
        feed = self.end(*nodes)
        self.assertLess(feed.duplicates, len(feed.records))

    def test_a_gap_is_stated(self):
        server = self.node()
        self.board(server)
        first = self.submit(server, "ada", 1)["seq"]
        self.wait_published(server, seq=first)
        self.assertEqual(server.stop(), 0)
        flags = server.flags
        server.flags = flags[:flags.index("--feed-topic")]
        server.start()
        for n in range(2):
            seq = self.submit(server, "bob", n + 1)["seq"]
            until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
            until(lambda: len(list(server.data.glob("*.snap"))) == n + 1, "the snapshot")
            older = seq if n == 0 else older
        self.assertEqual(server.stop(), 0)
        self.client.delete_records(self.topic, older)
        server.flags = flags
        server.start()
        last = self.submit(server, "cy", 9)
        self.wait_published(server, seq=last["seq"])
        feed = self.read()
        gaps = feed.of("gap")
        self.assertEqual(len(gaps), PARTITIONS)
        for gap in gaps:
            self.assertGreater(gap["from"], first)
            self.assertGreaterEqual(gap["to"], older)
        self.assertIn("goes on with a gap", server.log)
        self.assertEqual(self.metric(server, "rung_feed_gaps_total"), 1)
        self.assertEqual({(r["player"], r["score"]) for r in feed.of("score") if r["seq"] > gaps[0]["to"]} - {("bob", 2)}, {("cy", 9)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
