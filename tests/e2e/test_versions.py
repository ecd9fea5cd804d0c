#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""Timed snapshots over HTTP: numbered versions of the top that never change, their headers, restarts, bans, refusals."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, until  # noqa: E402

FOREVER = "max-age=31536000, immutable"


class Versions(ServerTest):
    def define(self, server, name="race", status=201, **more):
        definition = {"windows": ["all", "day"], "snapshots": {"every": "1s", "top": 3, "keep": 4}, **more}
        return self.check(server.put(f"/v1/boards/{name}", definition), status)

    def submit(self, server, player, score, board="race"):
        return self.check(server.post(f"/v1/boards/{board}/scores", {"player": player, "score": score}), 200).json["seq"]

    def newest(self, server, after=0, query=""):
        """Wait for a version that has all events up to `after`."""
        def look():
            answer = server.get(f"/v1/boards/race/top?version=newest{query}")
            return answer if answer.status == 200 and answer.json["version"] >= after else None
        return until(look, "a new version")

    def versions(self, server, query=""):
        return self.check(server.get(f"/v1/boards/race/versions{query}"), 200).json

    def test_versions(self):
        server = self.serve()
        self.define(server)
        self.check(server.get("/v1/boards/race/top?version=newest"), 404, "not_found")
        self.assertEqual(self.versions(server)["versions"], [])
        self.check(server.put("/v1/players/ada", {"name": "Ada", "avatar": "a.png"}), 200)
        for i, player in enumerate(["ada", "bob", "cid", "dan"]):
            seq = self.submit(server, player, 10 - i)
        first = self.newest(server, seq)
        version = first.json["version"]
        self.assertEqual(first.headers["Cache-Control"], "no-cache")
        address = f"/v1/boards/race/top?version={version}"
        page = self.check(server.get(address), 200)
        self.assertEqual(page.headers["Cache-Control"], "public, " + FOREVER)
        self.assertEqual(page.headers["ETag"], first.headers["ETag"])
        body = page.json
        self.assertEqual((body["seq"], body["total"], body["kept"], body["window"]), (version, 4, 3, "all"))
        self.assertEqual([(e["rank"], e["player"], e["name"], e["score"]) for e in body["entries"]],
                         [(1, "ada", "Ada", 10), (2, "bob", None, 9), (3, "cid", None, 8)])
        self.assertNotIn("avatar", body["entries"][0])
        self.assertEqual(body["entries"][2]["percentile"], 50)
        live = server.get("/v1/boards/race/top").json
        self.assertEqual(live["newest_version"], version)
        self.assertEqual([e["player"] for e in live["entries"]], ["ada", "bob", "cid", "dan"])
        for header, status in [(page.headers["ETag"], 304), ("*", 304), ('"0-0"', 200), (f'"0-0", {page.headers["ETag"]}', 304)]:
            again = self.check(server.get(address, headers={"If-None-Match": header}), status)
            self.assertEqual(again.headers["ETag"], page.headers["ETag"])

        # Nothing changes: no version, however long it takes. Then what comes is in a new one, and the old one is as it was.
        self.check(server.put("/v1/players/ada", {"name": "Countess"}), 200)
        seq = self.submit(server, "dan", 99)
        second = self.newest(server, seq)
        self.assertEqual([e["player"] for e in second.json["entries"]], ["dan", "ada", "bob"])
        self.assertEqual(second.json["entries"][1]["name"], "Countess")
        self.assertEqual(server.get(address).body, page.body)
        listed = self.versions(server, "?window=all")
        self.assertEqual([v["version"] for v in listed["versions"]], [second.json["version"], version])
        self.assertEqual((listed["every"], listed["top"], listed["keep"], listed["count"]), (1, 3, 4, 2))
        self.assertEqual(len(self.versions(server, "?limit=1")["versions"]), 1)
        rows = server.get(f"{address}&offset=1&limit=1&rank=dense").json["entries"]
        self.assertEqual([(e["rank"], e["player"]) for e in rows], [(2, "bob")])
        day = self.newest(server, seq, "&window=day").json
        self.assertEqual((day["window"], day["entries"][0]["player"]), ("day", "dan"))
        self.check(server.get(f"/v1/boards/race/top?version={day['version']}&window=day&window_id={day['window_id']}"), 200)

        # The same after a restart, and after a crash.
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.get(address).body, page.body)
        server.kill()
        server.start()
        again = self.check(server.get(address), 200)
        self.assertEqual((again.body, again.headers["ETag"]), (page.body, page.headers["ETag"]))

        # `keep` of them stay.
        for score in range(100, 105):
            self.newest(server, self.submit(server, "dan", score))
        self.assertEqual(len(self.versions(server)["versions"]), 4)
        self.check(server.get(address), 404, "not_found")

        # A ban takes away what shows the player.
        kept = [v["version"] for v in self.versions(server)["versions"]]
        seq = self.check(server.post("/v1/players/bob/ban", {"reason": "no"}), 200).json["seq"]
        self.assertFalse(set(kept) & {v["version"] for v in self.versions(server)["versions"]})
        for version in kept:
            self.check(server.get(f"/v1/boards/race/top?version={version}"), 404, "not_found")
        self.assertEqual([e["player"] for e in self.newest(server, seq).json["entries"]], ["dan", "ada", "cid"])

        # Without `snapshots` they are gone.
        self.define(server, status=200, snapshots=None)
        self.check(server.get("/v1/boards/race/versions"), 404, "not_found")
        self.assertNotIn("newest_version", server.get("/v1/boards/race/top").json)

    def test_refusals(self):
        server = self.serve()
        self.define(server, scopes=["country"])
        self.newest(server, self.submit(server, "ada", 1))
        for query, status, code, field in [
                ("version=x", 400, "malformed", "version"), ("version=-1", 400, "malformed", "version"),
                ("version=1", 404, "not_found", "version"), ("version=99999999", 404, "not_found", "version"),
                ("version=newest&scope=country:FI", 400, "malformed", "scope"),
                ("version=newest&window=week", 404, "window_not_found", "window"),
                ("version=newest&window=day&window_id=noon", 400, "malformed", "window_id"),
                ("version=newest&window=day&window_id=2020-01-01", 404, "not_found", "version")]:
            answer = self.check(server.get("/v1/boards/race/top?" + query), status, code)
            self.assertEqual(answer.json["field"], field, query)
        self.check(server.get("/v1/boards/nobody/top?version=newest"), 404, "board_not_found")
        self.check(server.get("/v1/boards/nobody/versions"), 404, "board_not_found")

    def test_with_a_key_it_is_private(self):
        server = self.serve()
        self.define(server)
        key = server.key("server")
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, key=key), 200)
        got = until(lambda: (a := server.get("/v1/boards/race/top?version=newest", key=key)).status == 200 and a, "a version")
        page = self.check(server.get(f"/v1/boards/race/top?version={got.json['version']}", key=key), 200)
        self.assertEqual(page.headers["Cache-Control"], "private, " + FOREVER)
        self.check(server.get(f"/v1/boards/race/top?version={got.json['version']}"), 401, "unauthorized")


if __name__ == "__main__":
    unittest.main()
