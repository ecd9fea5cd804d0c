#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""docs/replication.md does what it says, with a broker and three servers; what the dashboard and the alerts ask of such servers is
there; rung status shows all of them."""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import Brokers  # noqa: E402
from pages import HERE, clean_environment, examples, pattern, say  # noqa: E402
from server import Server, ServerTest, rung, until  # noqa: E402
from test_deploy import SHARED, dashboard_queries, metrics_in, rule_queries  # noqa: E402


def setUpModule():
    global brokers
    brokers = Brokers(1).start()
    unittest.addModuleCleanup(brokers.close)


class Page(unittest.TestCase):
    """Several servers at once: each `rung serve` of the page starts one more, at an address of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rung-replication-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.there = {"127.0.0.1:9092": brokers.addresses}  # what the page says: what is meant

    def to_there(self, text):
        return re.sub("|".join(map(re.escape, self.there)), lambda found: self.there[found[0]], text)

    def to_page(self, text):
        return re.sub("|".join(map(re.escape, self.there.values())), lambda found: self.page[found[0]], text)

    @property
    def page(self):
        return {there: page for page, there in self.there.items()}

    def serve(self, words):
        said = words[words.index("--http") + 1] if "--http" in words else "127.0.0.1:7864"
        for flag in ("--http", "--resp"):  # a free port instead
            if flag in words:
                at = words.index(flag)
                words = words[:at] + words[at + 2:]
        server = Server(*map(self.to_there, words), data=False, preexec=lambda: os.chdir(self.folder))
        self.addCleanup(server.close)
        server.start()
        self.there[said] = "%s:%d" % server.http
        return server

    def test_page(self):
        count = 0
        for command, expected in examples("docs/replication.md"):
            count += 1
            if re.match(r"rung serve\b", command):
                server = self.serve(command.split()[2:])
                until(lambda: re.search(pattern(expected), self.to_page(server.log) + "\n"), command)
                continue
            env = {**clean_environment(), "RUNG_URL": "http://" + self.there["127.0.0.1:7864"]}
            text = self.to_page(say(self.to_there(command), HERE, self.folder, env))
            self.assertRegex(text, rf"\A{pattern(expected)}\Z", command)
        self.assertGreater(count, 8)


class Several(ServerTest):
    topics = 0

    def nodes(self, count, *flags):
        Several.topics += 1
        return [self.serve("--log", f"kafka://{brokers.addresses}/several-{Several.topics}", "--log-kafka-replication", "1", *flags)
                for _ in range(count)]

    def test_metrics(self):
        """With a feed and an ingest, which have panels, too."""
        brokers.client().create_topic("plays")
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(f"[ingest.plays]\nbrokers = {brokers.addresses}\ntopic = plays\nboard = race\nplayer = $.player\nscore = $.score\n")
            file.flush()
            server = self.nodes(1, "--config", file.name, "--feed-topic", "changes")[0]
        server.put("/v1/boards/race", {})
        server.post("/v1/boards/race/scores", {"player": "ada", "score": 1})
        names = set(re.findall(r"^([a-z_]+)(?:\{| )", server.get("/metrics").body.decode(), re.M))
        queries = dashboard_queries(SHARED) + rule_queries("alerts-replicated.yml") + rule_queries("alerts-feed.yml")
        self.assertGreater(len(queries), 10)
        for query in queries:
            self.assertLessEqual(metrics_in(query), names, query)

    def test_status(self):
        a, b = self.nodes(2)
        urls = ["http://%s:%d" % s.http for s in (a, b)]
        seq = self.check(a.put("/v1/boards/race", {}), 201).json["seq"]
        self.check(b.get(f"/v1/boards/race?min_seq={seq}"), 200)
        run = rung("status", "--url", urls[0], "--peers", ",".join(urls))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("log          shared; this server is 0 events behind", run.stdout)
        self.assertEqual(len(re.findall(rf"(?m)^  (?:{'|'.join(urls)}) .*\bready\b.*\b[0-9a-f]{{32}}$", run.stdout)), 2, run.stdout)
        answer = json.loads(rung("status", "--url", urls[0], "--peers", urls[1], "--json").stdout)
        self.assertEqual([s["url"] for s in answer["servers"]], urls)
        self.assertEqual({s["state"] for s in answer["servers"]}, {"ready"})
        self.assertEqual([s["lag"] for s in answer["servers"]], [0, 0])
        b.stop()
        run = rung("status", "--url", urls[0], env={**os.environ, "RUNG_PEERS": urls[1]})
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, rf"(?m)^  {urls[1]}  \"?not reached")

    def test_status_lists_who_was_heard_in_the_log(self):
        a, b = self.nodes(2, "--log-heartbeat", "1s")
        addresses = {"%s:%d" % s.http for s in (a, b)}
        url = "http://%s:%d" % a.http

        def heard():
            nodes = json.loads(rung("status", "--url", url, "--json").stdout)["nodes"]
            return nodes if {n["address"] for n in nodes if n["state"] == "present"} == addresses else None
        self.assertTrue(until(heard, "both")[0]["self"])
        run = rung("status", "--url", url)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for address in addresses:
            self.assertRegex(run.stdout, rf"(?m)^  {address} +present +\S+ +\d+ +\d+ +[0-9a-f]{{32}} ")
        b.stop()
        until(lambda: re.search(r"(?m)^  \S+ +left ", rung("status", "--url", url).stdout), "it has left")

    def test_status_finds_different_states(self):
        """Two servers that never shared a log, at the same sequence."""
        servers = [self.serve(), self.serve()]
        for i, server in enumerate(servers):
            server.put(f"/v1/boards/race-{i}", {})
        urls = ["http://%s:%d" % s.http for s in servers]
        run = rung("status", "--url", urls[0], "--peers", urls[1])
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"different states at sequence 2: {urls[0]} and {urls[1]}", run.stdout)


if __name__ == "__main__":
    unittest.main()
