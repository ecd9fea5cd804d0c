#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""`rung log copy`: a data folder into a topic and back, with the same sequences and the same digest, also when the beginning of the log
is gone, when it is interrupted, and not over anything else. Only one broker."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from server import RUNG, rung, until  # noqa: E402

ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("RUNG_")}, "RUNG_LOG_KAFKA_REPLICATION": "1"}
MANY = 20000  # records: more than are in flight at a time


class LogCopy(KafkaTest):
    def setUp(self):
        super().setUp()
        self.url = self.log

    def node(self, *flags, log=None, **more):
        return super().node(*flags, log=log or self.url, **more)

    def new_folder(self):
        folder = tempfile.mkdtemp(prefix="rung-e2e-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return pathlib.Path(folder) / "new"

    def copy(self, *words, code=0):
        run = rung("log", "copy", *words, "--json", env=ENV, timeout=240)
        self.assertEqual(run.returncode, code, run)
        return json.loads(run.stdout) if code == 0 else run.stderr

    def fill(self, server, first, count):
        """With everything that leaves a trace: a window, a scope, an id, a ban."""
        server.put("/v1/boards/race", {"windows": ["all", "week"], "scopes": ["country"], "update": "sum"})
        for at in range(first, first + count, 5000):
            lines = "".join('{"board":"race","player":"p%d","score":%d,"id":"i%d"}\n' % (i % 997, i * 7919 % 10007, i)
                            for i in range(at, min(at + 5000, first + count)))
            answer = self.check(server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"}), 200)
            self.assertNotIn(b'"code"', answer.body)
        self.check(server.put(f"/v1/players/p{first}", {"country": "DE"}), 200)

    def state(self, server):
        return {k: server.get("/readyz").json[k] for k in ("seq", "digest")}

    def ranks(self, server):
        """The board as people see it. Servers of a topic write records of their own, so sequence and digest go on."""
        return self.check(server.get("/v1/boards/race/top?limit=1000"), 200).json["entries"]

    def folder(self, count=500, **more):
        """The data folder of a server that has stopped, and its state."""
        server = self.serve(**more)
        self.fill(server, 0, count)
        state, self.board = self.state(server), self.ranks(server)
        self.assertEqual(server.stop(), 0)
        return server.data, state

    def snapshot(self, server):
        seq = server.get("/readyz").json["seq"]
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: f"\nrung_snapshot_seq {seq}\n" in server.get("/metrics").body.decode(), "the snapshot")

    def short_folder(self):
        """The same, without the beginning of its log: two snapshots cover that."""
        server = self.serve("--log-keep", "off")
        for n in range(4):
            self.fill(server, 100 * n, 100)
            self.snapshot(server)
            if n < 3:
                self.assertEqual(server.stop(), 0)
                server.start()
        self.fill(server, 400, 50)
        until(lambda: not list(server.data.glob("00000000000000000001-*")), "the removal of the first segment")
        state, self.board = self.state(server), self.ranks(server)
        self.assertEqual(server.stop(), 0)
        self.assertGreater(self.status(server.data)["first_seq"], 1)
        return server.data, state

    def status(self, folder):
        return json.loads(rung("status", folder, "--json", env=ENV).stdout)

    def records(self):
        return [(r.key[4:6], r.value) for r in self.brokers.client().records(self.topic)]

    # ---- there and back ----

    def test_there_and_back(self):
        data, state = self.folder()
        files = {f.name: f.read_bytes() for f in data.iterdir() if f.name.endswith(".seg")}
        report = self.copy(data, self.url)
        self.assertEqual({**report, **state}, {"first_seq": 1, "last_seq": state["seq"], "present": 0, "filled": 0, "copied": state["seq"],
                                               "snapshot_seq": 0, **state})
        self.assertEqual({f.name: f.read_bytes() for f in data.iterdir() if f.name.endswith(".seg")}, files)
        again = self.copy(data, self.url)
        self.assertEqual((again["present"], again["copied"]), (state["seq"], 0))
        a = self.node()
        self.assertEqual(self.ranks(a), self.board)
        self.fill(a, 1000, 200)
        self.check(a.post("/v1/boards/race/scores", {"player": "late", "score": 1}), 200)
        later = self.state(a)
        back = self.new_folder()
        report = self.copy(self.url, back)  # the server goes on
        self.assertGreaterEqual(report["last_seq"], later["seq"])
        self.assertEqual(a.stop(), 0)
        report = self.copy(self.url, back)  # and what it wrote while it stopped
        status = self.status(back)
        self.assertEqual((status["state"]["digest"], status["seq"], status["first_seq"]), (report["digest"], report["last_seq"], 1))
        self.assertEqual(rung("log", "verify", back, env=ENV).returncode, 0)
        b = self.serve(data=back)
        self.check(b.get("/v1/boards/race/players/late"), 200)
        self.assertEqual(b.stop(), 0)

    def test_for_people(self):
        data, state = self.folder(20)
        run = rung("log", "copy", data, self.url, env=ENV)
        self.assertRegex(run.stdout, r"\Acopied \d+ records to kafka://\S+: it ends at sequence \d+, verified, digest [0-9a-f]{32}\n\Z", run)
        run = rung("log", "copy", data, self.url, env=ENV)
        self.assertIn(f"copied 0 records to {self.url} ({state['seq']} were there)", run.stdout)

    def test_without_the_beginning(self):
        data, state = self.short_folder()
        first = self.status(data)["first_seq"]
        self.assertIn("name with --data a new data folder", self.copy(data, self.url, code=1))
        new = self.new_folder()
        report = self.copy(data, self.url, "--data", new)
        self.assertEqual((report["first_seq"], report["last_seq"], report["filled"], report["digest"]),
                         (first, state["seq"], first - 1, state["digest"]))
        self.assertEqual(self.brokers.client().records(self.topic)[0].offset, first - 1)  # the filling is gone again
        a = self.node(data=new)
        self.assertEqual(self.ranks(a), self.board)
        empty = self.node(start=False).start(wait=False)
        self.assertNotEqual(empty.wait_exit(), 0)
        self.assertIn(f"the log begins at {first}, but 1 is needed", empty.log)
        b = self.node("--peers", "http://%s:%d" % a.http)
        until(lambda: self.state(a) == self.state(b), "the same state")
        self.fill(b, 2000, 30)
        self.assertEqual((a.stop(), b.stop()), (0, 0))
        back = self.new_folder()
        self.assertIn("name with --data the data folder of a server", self.copy(self.url, back, code=1))
        self.assertFalse(back.exists())
        report = self.copy(self.url, back, "--data", new)
        status = self.status(back)
        self.assertEqual((status["state"]["digest"], status["seq"], status["first_seq"]), (report["digest"], report["last_seq"], first))
        self.assertEqual(rung("log", "verify", back, env=ENV).returncode, 0)
        c = self.serve(data=back)
        self.check(c.get("/v1/boards/race/players/p29"), 200)
        self.assertEqual(c.stop(), 0)

    def test_what_fills_cannot_be_applied(self):
        data, _ = self.short_folder()
        first = self.status(data)["first_seq"]
        new = self.new_folder()
        self.copy(data, self.url, "--data", new)
        kept = self.brokers.client().records(self.topic)
        self.topic += "-kept"  # the same, as if the broker had not deleted it
        self.url += "-kept"
        client = self.brokers.client()
        self.assertEqual(self.node().stop(), 0)  # makes the topic, and tells its id
        start = len(client.records(self.topic))
        one = client.records(self.topic)[0].key
        for n in range(start, first - 1):
            client.produce(self.topic, b"", key=one[:4] + b"\xff\xff" + one[6:])
        self.assertTrue(kept)
        server = self.node(start=False).start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn(f"(offset {start} of the topic) is not in this log, which was copied with a snapshot", server.log)

    # ---- interrupted ----

    def begin_copy(self, *words):
        return subprocess.Popen([RUNG, "log", "copy", *map(str, words)], env=ENV, stderr=subprocess.PIPE, text=True)

    def has_some(self):
        """The broker has something of the topic on its disk."""
        file = self.brokers.folder / "1" / "data" / f"{self.topic}-0" / "00000000000000000000.log"
        return file.exists() and file.stat().st_size > 0

    def test_killed_and_run_again(self):
        data, state = self.folder(MANY)
        run = self.begin_copy(data, self.url)
        until(lambda: self.has_some() or run.poll() is not None, "the first record in the topic")
        run.kill()
        run.communicate()
        report = self.copy(data, self.url)
        self.assertGreater(report["present"], 0)
        self.assertEqual((report["present"] + report["copied"], report["digest"]), (state["seq"], state["digest"]))
        back = self.new_folder()
        run = self.begin_copy(self.url, back)
        until(lambda: list(back.glob("*.seg")) or run.poll() is not None, "the first segment in the folder")
        run.kill()
        run.communicate()
        report = self.copy(self.url, back)
        self.assertEqual((report["last_seq"], report["digest"]), (state["seq"], state["digest"]))
        self.assertEqual(self.status(back)["state"]["digest"], state["digest"])

    def test_interrupted(self):
        data, state = self.folder(MANY)
        run = self.begin_copy(data, self.url)
        until(lambda: self.has_some() or run.poll() is not None, "the first record in the topic")
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate()
        if run.returncode:  # it may have been done already
            self.assertIn("run it again to go on", stderr)
        self.assertEqual(self.copy(data, self.url)["digest"], state["digest"])

    # ---- refused ----

    def test_a_target_with_something_else(self):
        data, state = self.folder(50)
        self.assertEqual(self.node().stop(), 0)  # it writes something of its own
        before = self.records()
        self.assertTrue(before)
        self.assertRegex(self.copy(data, self.url, code=1), "the target has another record at sequence 1 than the source")
        self.assertEqual(self.records(), before)
        # A topic that has more than the folder.
        self.topic += "-more"
        self.url += "-more"
        self.copy(data, self.url)
        node = self.node()
        self.fill(node, 5000, 10)
        self.assertEqual(node.stop(), 0)
        self.assertRegex(self.copy(data, self.url, code=1), rf"the target ends at sequence \d+ and the source at {state['seq']}")
        # Folders.
        other, _ = self.folder(50)
        self.assertIn("the target has another record at sequence", self.copy(self.url, other, code=1))
        strange = self.new_folder()
        strange.mkdir()
        (strange / "notes.txt").write_text("mine")
        self.assertIn("is not empty, and has no log", self.copy(self.url, strange, code=1))
        self.assertEqual(sorted(f.name for f in strange.iterdir()), ["lock", "notes.txt"])
        self.assertIn("is not empty, and has no log", self.copy(self.url, node.data, code=1))  # of a server of the topic

    def test_a_folder_in_use(self):
        server = self.serve()
        self.fill(server, 0, 10)
        self.assertIn("is in use by another process", self.copy(server.data, self.url, code=1))
        data, _ = self.folder(10)
        self.copy(data, self.url)
        self.assertIn("is in use by another process", self.copy(self.url, server.data, code=1))
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 5}), 200)

    def test_a_folder_for_the_snapshot_that_is_not_free(self):
        data, _ = self.short_folder()
        before = {f.name: f.read_bytes() for f in data.iterdir() if f.name != "lock"}
        self.assertIn("is in use by another process", self.copy(data, self.url, "--data", data, code=1))
        other, _ = self.folder(10)
        self.assertIn("has a log of its own", self.copy(data, self.url, "--data", other, code=1))
        node = self.node(log=self.url + "-other")
        self.assertIn("is in use by another process", self.copy(data, self.url, "--data", node.data, code=1))
        self.assertEqual(node.stop(), 0)
        self.assertIn("belongs to another log", self.copy(data, self.url, "--data", node.data, code=1))
        self.assertEqual({f.name: f.read_bytes() for f in data.iterdir() if f.name != "lock"}, before)

    def test_usage(self):
        folder = self.new_folder()
        for words, code, text in (((folder, folder), 2, "rung backup"), ((self.url, self.url), 2, "not two topics"),
                                  ((folder, self.url), 1, "No such file"), ((self.url, folder), 1, "there is no topic"),
                                  ((folder, "kafka://"), 1, "expected brokers")):
            stderr = self.copy(*words, code=code)
            self.assertIn(text, stderr, words)
            self.assertEqual(stderr.count("\n"), 1, stderr)
            self.assertFalse(folder.exists(), words)


if __name__ == "__main__":
    unittest.main()
