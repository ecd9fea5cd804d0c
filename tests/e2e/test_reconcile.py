#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""rung reconcile: servers, archives and states that are equal are found equal; a planted difference is named."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import BUILD, ServerTest, until  # noqa: E402

DEFINITION = {"windows": ["all", "day"], "keep": 3}


class Servers(ServerTest):
    def pair(self):
        """Two servers that begin with the same folder."""
        first = self.serve()
        for board in ("one", "two"):
            self.check(first.put(f"/v1/boards/{board}", DEFINITION), 201)
            for i in range(700):
                first.post(f"/v1/boards/{board}/scores", {"player": f"p{i}", "score": i})
        first.stop()
        second_folder = first.own_folder / "second"
        shutil.copytree(first.data, second_folder)
        first.start()
        return first, self.serve(data=second_folder)

    def reconcile(self, servers, *words):
        urls = ["http://%s:%d" % s.http for s in servers]
        run = subprocess.run([BUILD / "rung", "reconcile", *urls, *words], capture_output=True, text=True, timeout=60)
        return run.returncode, run.stdout, run.stderr

    def test_equal_and_different(self):
        servers = self.pair()
        code, out, _ = self.reconcile(servers)
        self.assertEqual((code, out), (0, "fine: the servers have the same state\n"))
        # a different score of one player far down, at the same sequence
        for server, score in zip(servers, (5, 6)):
            self.check(server.post("/v1/boards/two/scores", {"player": "late", "score": score, "at": "2026-11-17T00:00:00Z"}), 200)
        code, out, _ = self.reconcile(servers)
        self.assertEqual(code, 1, out)
        self.assertRegex(out, r"^the servers differ: board two, window (all|20\S+), place \d+, player \S+$")
        code, out, _ = self.reconcile(servers, "--json")
        found = json.loads(out)
        self.assertEqual((code, found["ok"], found["kind"], found["board"]), (1, False, "entry", "two"))
        self.assertIn(found["player"], ("late", "p5", "p6"))

    def test_a_board_of_one_and_other_things(self):
        servers = self.pair()
        for server, name in zip(servers, ("ada", "bob")):
            self.check(server.put("/v1/players/p1", {"name": name}), 200)
        self.assertRegex(self.reconcile(servers)[1], "no ranking does")
        self.check(servers[1].put("/v1/boards/three", DEFINITION), 201)
        self.check(servers[0].put("/v1/players/p1", {"name": "c"}), 200)
        self.assertIn("board three", self.reconcile(servers)[1])
        self.assertIn("two URLs", subprocess.run([BUILD / "rung", "reconcile", "http://127.0.0.1:1"], capture_output=True, text=True).stderr)
        self.assertEqual(self.reconcile([servers[0], type("Nobody", (), {"http": ("127.0.0.1", 1)})])[0], 3)


SEASON = {"name": "s", "starts": "2026-01-01T00:00:00Z", "ends": "2026-02-01T00:00:00Z"}


class Archive(ServerTest):
    def open(self, *flags):
        """A server whose archive has a closed season, with players who were banned, erased and removed before and after."""
        server = self.serve(*flags)
        self.check(server.put("/v1/boards/b", {"windows": ["all", SEASON], "grace": 366 * 86400, "keep": 0, "scopes": ["country"]}), 201)
        for i in range(700):
            self.check(server.post("/v1/boards/b/scores", {"player": f"p{i}", "score": i // 3, "at": "2026-01-02T00:00:00Z"}), 200)
        self.check(server.post("/v1/players/p7/ban", {}), 200)
        self.check(server.put("/v1/boards/b", {"windows": ["all", SEASON], "keep": 0}), 200)
        self.check(server.post("/v1/players/p8/ban", {}), 200)
        self.check(server.delete("/v1/players/p9"), 200)
        self.check(server.delete("/v1/boards/b/players/p300"), 200)
        until(lambda: self.metric(server, "rung_archive_behind_events") == 0, "the archive")
        return server

    def metric(self, server, name):
        return float(re.search(rf"^{name} (\S+)$", server.get("/metrics").body.decode(), re.M).group(1))

    def reconcile(self, server, *words):
        run = subprocess.run([BUILD / "rung", "reconcile", server.data, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def change(self, server, sql):
        with sqlite3.connect(server.data / "archive.db", timeout=30) as db:
            db.execute(sql)
        db.close()

    def test_closed_windows(self):
        server = self.open()
        code, out = self.reconcile(server)
        self.assertEqual(code, 0, out)
        self.assertIn("fine: 1 closed window is equal in the archive", out)
        for change, undo, what in (
                ("UPDATE standings SET score = score + 1 WHERE player = 'p5'", "UPDATE standings SET score = score - 1 WHERE player = 'p5'", "score"),
                ("UPDATE standings SET player = 'eve' WHERE player = 'p6'", "UPDATE standings SET player = 'p6' WHERE player = 'eve'", "player"),
                ("UPDATE standings SET dense_rank = dense_rank + 1 WHERE player = 'p8'",
                 "UPDATE standings SET dense_rank = dense_rank - 1 WHERE player = 'p8'", "rank")):
            self.change(server, change)
            code, out = self.reconcile(server)
            self.assertEqual(code, 1, out)
            self.assertRegex(out, rf"^the archive is not what the log gives: board b, window s, closed by record \d+: place \d+, player p\d+: another {what}$")
            self.change(server, undo)
        found = json.loads(self.reconcile(server, "--json")[1])
        self.assertEqual((found["ok"], found["windows"], found["archive"]), (True, 1, True))
        self.assertEqual(self.reconcile(server, "--archive", "off")[0], 0)
        self.change(server, "UPDATE closed_windows SET window_id = 'other'")
        self.assertIn("it is missing", self.reconcile(server)[1])
        self.assertEqual(self.reconcile(server, "--archive-keep", "3600")[0], 0)  # its time was over
        self.change(server, "UPDATE closed_windows SET window_id = 's'")
        # A board that is deleted takes its windows with it.
        self.check(server.delete("/v1/boards/b"), 200)
        until(lambda: self.metric(server, "rung_archive_behind_events") == 0, "the archive")
        code, out = self.reconcile(server)
        self.assertEqual(code, 0, out)
        self.assertIn("1 not compared", out)

    def test_a_digest(self):
        server = self.open()
        digest = server.get("/v1/digest").json
        self.assertEqual(self.reconcile(server, "--digest", f"{digest['seq']}:{digest['digest']}")[0], 0)
        code, out = self.reconcile(server, "--digest", f"{digest['seq']}:{digest['digest'][:-1]}{'1' if digest['digest'][-1] == '0' else '0'}")
        self.assertEqual((code, out), (1, f"the state at sequence {digest['seq']} is not what the log gives: another digest\n"))
        for wrong in ("x", "1:", "1:12", "0:" + "0" * 32, f"1:{'0' * 33}"):
            run = subprocess.run([BUILD / "rung", "reconcile", server.data, "--digest", wrong], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn("--digest", run.stderr)

    def test_in_the_background(self):
        server = self.open("--reconcile-every", "1s")
        passes = self.metric(server, "rung_reconcile_passes_total")
        until(lambda: self.metric(server, "rung_reconcile_passes_total") > passes, "a pass")
        self.assertEqual(self.metric(server, "rung_reconcile_difference"), 0)
        until(lambda: self.metric(server, "rung_reconcile_windows") == 1, "a pass with the window")
        self.assertGreater(self.metric(server, "rung_reconcile_last_timestamp_seconds"), 1e9)
        self.change(server, "UPDATE standings SET score = score + 1 WHERE player = 'p5'")
        until(lambda: self.metric(server, "rung_reconcile_difference") == 1, "the difference")
        until(lambda: [line for line in server.said if "the archive is not what the log gives" in line and "board b, window s;" in line], "a line")
        self.change(server, "UPDATE standings SET score = score - 1 WHERE player = 'p5'")
        until(lambda: self.metric(server, "rung_reconcile_difference") == 0, "no difference")
        self.assertEqual(self.metric(server, "rung_reconcile_failures_total"), 0)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
