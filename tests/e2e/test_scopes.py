#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""The values of a scope with their sizes: GET /v1/boards/{board}/scopes/{attribute}."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402


class Scopes(ServerTest):
    def values(self, path):
        answer = self.check(self.server.get(path), 200).json
        return [(v["value"], v["total"]) for v in answer["values"]]

    def test_values(self):
        server = self.server = self.serve()
        server.put("/v1/boards/race", {"windows": ["all", "day"], "scopes": ["country", "a.b-C"], "teams": {"by": "guild", "combine": "sum"}})
        here = "/v1/boards/race/scopes/country"
        self.assertEqual(self.values(here), [])
        countries = ["FI"] * 5 + ["SE"] * 3 + ["DE"] * 3 + ["a,b / \u2605"] + [None]
        for i, country in enumerate(countries):
            server.put(f"/v1/players/p{i}", {"country": country, "guild": "x"} if country else {})
            server.post("/v1/boards/race/scores", {"player": f"p{i}", "score": i})
        server.put("/v1/players/nobody", {"country": "JP"})  # not ranked: no value of this board
        everything = [("FI", 5), ("DE", 3), ("SE", 3), ("a,b / \u2605", 1)]
        self.assertEqual(self.values(here), everything)
        self.assertEqual(self.values(here + "?window=day"), everything)
        self.assertEqual(self.values(here + "?limit=2"), everything[:2])
        answer = server.get(here + "?limit=2").json
        self.assertEqual((answer["attribute"], answer["value_count"], answer["total"], answer["board"]), ("country", 4, 13, "race"))
        for value, total in everything:  # each is a scope to ask for, of that size
            top = server.get("/v1/boards/race/top?scope=country:" + value.replace(" ", "%20").replace("\u2605", "%E2%98%85"))
            self.assertEqual(top.json["total"], total, value)
        server.put("/v1/players/p0", {"country": "SE"})  # who moves, moves
        server.post("/v1/players/p1/ban", {})            # and who is banned is in none
        self.assertEqual(self.values(here), [("SE", 4), ("DE", 3), ("FI", 3), ("a,b / \u2605", 1)])
        self.assertEqual(self.values("/v1/boards/race/scopes/a.b-C"), [])

    def test_what_is_not_there(self):
        server = self.serve()
        server.put("/v1/boards/race", {"scopes": ["country"], "teams": {"by": "guild", "combine": "sum"}})
        self.check(server.get("/v1/boards/race/scopes/guild"), 404, "not_found")  # teams are listed elsewhere
        self.check(server.get("/v1/boards/race/scopes/platform"), 404, "not_found")
        self.check(server.get("/v1/boards/nowhere/scopes/country"), 404, "board_not_found")
        self.check(server.get("/v1/boards/race/scopes/country?window=week"), 404)
        for query in ("limit=0", "limit=1001", "scope=country:FI", "offset=1"):
            self.check(server.get("/v1/boards/race/scopes/country?" + query), 400)


if __name__ == "__main__":
    unittest.main()
