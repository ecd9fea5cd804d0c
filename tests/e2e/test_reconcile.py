#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""rung reconcile URL URL: servers with the same state are found equal; a planted difference is named."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import BUILD, ServerTest  # noqa: E402

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


if __name__ == "__main__":
    unittest.main()
