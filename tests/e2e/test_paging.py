#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""The top page by page while scores come in: every player once, with the ranks of the moment; how it ends; rung export."""
import csv
import io
import os
import random
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, rung  # noqa: E402

PLAYERS = 2500


class Paging(ServerTest):
    def setUp(self):
        self.server = self.serve()
        self.check(self.server.put("/v1/boards/race", {"update": "last", "windows": ["all", "day"], "scopes": ["country"]}), 201)
        self.fill()

    def fill(self, seed=1):
        chance = random.Random(seed)
        order = list(range(PLAYERS))
        chance.shuffle(order)
        body = [{"board": "race", "player": f"p{i}", "score": chance.randrange(500)} for i in order]
        answer = self.check(self.server.post("/v1/scores", body), 200)
        self.assertNotIn(b'"error"', answer.body)

    def page(self, token, limit=137, status=200, code=None, more=""):
        return self.check(self.server.get(f"/v1/boards/race/top?page={token}&limit={limit}{more}"), status, code)

    def all_pages(self, between=lambda: None, first=None):
        token, entries = "first", []
        while token:
            answer = self.page(token, more=(first or "") if token == "first" else "")
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            entries += answer.json["entries"]
            token = answer.json["next"]
            between()
        return entries

    def top(self, query=""):
        """All of the ranking at rest."""
        pages = [self.check(self.server.get(f"/v1/boards/race/top?limit=1000&offset={n}{query}"), 200).json["entries"]
                 for n in range(0, PLAYERS, 1000)]
        return [e for page in pages for e in page]

    def test_everybody_once_while_everything_moves(self):
        before = self.top()
        self.assertEqual(len(before), PLAYERS)
        seeds = iter(range(2, 100))
        self.assertEqual(self.all_pages(lambda: self.fill(next(seeds))), before)
        self.assertNotEqual(self.top(), before)
        dense = self.top("&rank=dense&window=day")
        self.assertEqual(self.all_pages(lambda: self.fill(next(seeds)), "&rank=dense&window=day"), dense)

    def test_a_page_can_be_asked_for_again(self):
        first = self.page("first").json
        token = first["next"]
        second = self.page(token).json
        self.fill(7)
        again = self.page(token).json
        self.assertEqual((again["entries"], again["seq"], again["total"]), (second["entries"], first["seq"], PLAYERS))
        self.assertEqual(self.page(token, limit=10).json["entries"], second["entries"][:10])
        gone = second["entries"][3]["player"]
        self.check(self.server.post(f"/v1/players/{gone}/ban", {"reason": "no"}), 200)
        self.assertNotIn(gone, [e["player"] for e in self.page(token).json["entries"]])

    def test_how_it_ends(self):
        token = self.page("first").json["next"]
        for bad in ("second", "!" * 91, token[:-1], token + "A"):
            self.page(bad, status=400, code="malformed")
        for i in range(0, 90, 7):  # no bit of it can be made up
            self.page(token[:i] + ("A" if token[i] != "A" else "B") + token[i + 1:], status=410, code="page_expired")
        for query, field in (("&offset=1", "offset"), ("&scope=country:FI", "scope"), ("&version=newest", "version")):
            answer = self.page("first", more=query, status=422, code="unsupported")
            self.assertEqual(answer.json["field"], field)
        self.page(token, more="&window=day", status=422, code="unsupported")
        self.check(self.server.put("/v1/boards/other", {}), 201)
        answer = self.check(self.server.get(f"/v1/boards/other/top?page={token}"), 422, "invalid")
        self.assertEqual(answer.json["field"], "page")
        self.page(token)
        self.check(self.server.delete("/v1/players/p17"), 200)  # it is noted, then erased
        self.page(token, status=410, code="page_expired")
        token = self.page("first").json["next"]
        self.check(self.server.delete("/v1/boards/race"), 200)
        self.check(self.server.put("/v1/boards/race", {}), 201)
        self.page(token, status=410, code="page_expired")
        self.assertEqual(self.page("first").json["entries"], [])
        self.fill()
        token = self.page("first").json["next"]
        self.server.kill()
        self.server.start()
        self.page(token, status=410, code="page_expired")

    def test_export_is_of_one_moment(self):
        stop = threading.Event()
        seeds = iter(range(100, 100000))

        def write():
            while not stop.is_set():
                self.fill(next(seeds))
        writer = threading.Thread(target=write)
        writer.start()
        try:
            run = rung("export", "race", "--url", "http://%s:%d" % self.server.http)
        finally:
            stop.set()
            writer.join()
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = list(csv.DictReader(io.StringIO(run.stdout)))
        self.assertEqual(sorted(r["player"] for r in rows), sorted(f"p{i}" for i in range(PLAYERS)))
        scores = [int(r["score"]) for r in rows]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertNotIn("changed", run.stderr)


if __name__ == "__main__":
    unittest.main()
