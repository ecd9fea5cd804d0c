#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180
"""Sketch boards over HTTP, the Redis protocol, the command line and a restart: bounds against exact counts."""
import collections
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402

PLAYS = {"kind": "sketch", "sketch": "counts", "memory": "64KiB", "windows": ["all", "day"], "scopes": ["country"]}
MARKS = {"kind": "sketch", "sketch": "percentile", "memory": "64KiB"}


class Sketches(ServerTest):
    def send(self, server, lines):
        for i in range(0, len(lines), 5000):
            answer = server.post("/v1/scores", lines[i:i + 5000])
            self.check(answer, 200)

    def check_counts(self, server, exact):
        top = self.check(server.get("/v1/boards/plays/top?limit=200"), 200).json
        self.assertTrue(top["approximate"])
        self.assertEqual(top["counted"], sum(exact.values()))
        self.assertEqual(top["memory"], 64 << 10)
        for row in top["entries"]:
            self.assertLessEqual(row["low"], exact[row["player"]])
            self.assertGreaterEqual(row["high"], exact[row["player"]])
            self.assertEqual(row["score"], row["high"])
        listed = {row["player"] for row in top["entries"]}
        last = top["entries"][-1]["high"]
        for player, count in exact.items():  # who has more than the last one listed is listed
            self.assertTrue(player in listed or count <= max(last, top["error"]))
        players = top["distinct"]
        self.assertLess(abs(players["players"] - len(exact)), 5 * players["error"] * len(exact) + 2)
        return top

    def check_scores(self, server, scores):
        answer = server.get("/v1/boards/marks/distribution?buckets=7&by=count").json
        self.assertEqual(sum(b["count"] for b in answer["buckets"]), len(scores))
        for score in (0, 1, 777, 50000, 99999, 200000):
            place = self.check(server.get(f"/v1/boards/marks/at-score/{score}"), 200).json
            truth = 1 + sum(s > score for s in scores)
            self.assertTrue(place["approximate"])
            self.assertLessEqual(place["rank_low"], truth)
            self.assertGreaterEqual(place["rank_high"], truth)
            self.assertLessEqual(place["rank_high"] - place["rank_low"], place["error"])
            self.assertLessEqual(place["percentile_low"], place["percentile"])
        ordered = sorted(scores, reverse=True)
        for rank in (1, 100, len(scores) // 2, len(scores)):
            target = server.get(f"/v1/boards/marks/target?rank={rank}").json
            low, high = ordered[min(len(scores), rank + target["error"]) - 1], ordered[max(1, rank - target["error"]) - 1]
            self.assertTrue(low <= target["score"] <= high, (rank, target, low, high))
            self.assertIsNone(target["entry"])
        self.assertIsNone(server.get(f"/v1/boards/marks/target?rank={len(scores) + 1}").json["score"])

    def test_bounds_and_a_restart(self):
        server = self.serve()
        rng, exact, scores, lines = random.Random(7), collections.Counter(), [], []
        self.check(server.put("/v1/boards/plays", PLAYS), 201)
        self.check(server.put("/v1/boards/marks", MARKS), 201)
        for i in range(12000):
            player, weight, score = f"song-{int(4000 ** rng.random())}", rng.randint(1, 9), int(rng.triangular(0, 100000))
            exact[player] += weight
            scores.append(score)
            lines += [{"board": "plays", "player": player, "score": weight}, {"board": "marks", "player": player, "score": score}]
        self.send(server, lines)
        before = self.check_counts(server, exact)
        self.check_scores(server, scores)
        digest = server.get("/v1/digest").json["digest"]
        self.assertLess(server.post("/v1/snapshot").status, 300)
        server.stop()
        server.start()
        self.assertEqual(server.get("/v1/digest").json["digest"], digest)
        self.assertEqual(self.check_counts(server, exact)["entries"], before["entries"])
        self.check_scores(server, scores)

    def test_scopes_bans_and_ids(self):
        server = self.serve()
        server.put("/v1/boards/plays", PLAYS)
        server.put("/v1/players/ada", {"country": "FI"})
        for i, player in enumerate(["ada", "bob", "ada", "ada"]):
            answer = server.post("/v1/boards/plays/scores", {"player": player, "score": 2, "id": f"id-{i}"}).json
        self.assertEqual((answer["score"], answer["rank"], answer["changed"]), (6, None, True))
        again = server.post("/v1/boards/plays/scores", {"player": "ada", "score": 2, "id": "id-3"}).json
        self.assertEqual((again["score"], again["duplicate"]), (6, True))
        top = server.get("/v1/boards/plays/top?scope=country:FI").json
        self.assertEqual([(r["player"], r["score"], r["country"]) for r in top["entries"]], [("ada", 6, "FI")])
        self.assertEqual(server.get("/v1/boards/plays/scopes/country").json["values"], [{"value": "FI", "total": 3}])
        self.assertEqual(server.get("/v1/boards/plays/top?window=day").json["total"], 2)
        server.post("/v1/players/ada/ban", {})
        self.assertEqual([r["player"] for r in server.get("/v1/boards/plays/top").json["entries"]], ["bob"])
        self.check(server.post("/v1/boards/plays/scores", {"player": "ada", "score": 1}), 422, "refused")
        server.delete("/v1/players/ada/ban")
        row = server.get("/v1/boards/plays/players/bob").json["entry"]
        self.assertEqual((row["rank"], row["low"], row["high"]), (2, 2, 2))
        self.check(server.delete("/v1/boards/plays/players/bob"), 200)
        self.check(server.get("/v1/boards/plays/players/bob"), 404, "player_not_found")
        self.check(server.delete("/v1/players/ada"), 200)
        self.assertEqual(server.get("/v1/boards/plays/top").json["entries"], [])

    def refused(self, answer, field):
        self.assertEqual((answer.status, answer.json["field"]), (422, field), answer.json)

    def test_refusals(self):
        server = self.serve()
        counts = {"kind": "sketch", "sketch": "counts"}
        for more, field in (({"memory": "63KiB"}, "memory"), ({"memory": "65MiB"}, "memory"), ({"memory": 1}, "memory"),
                            ({"memory": "64KiB", "error": 0.0001}, "memory"), ({"columns": [{"name": "x"}]}, "columns"),
                            ({"teams": {"by": "guild"}}, "teams"), ({"limits": {"max": 9}}, "limits"), ({"update": "best"}, "update"),
                            ({"score": {"type": "real"}}, "score"), ({"sketch": "percentile", "top": 5}, "top")):
            answer = server.put("/v1/boards/x", {**counts, **more})
            if more.get("memory") == 1:
                self.assertEqual(answer.status, 400)  # outside the schema's range
                continue
            self.refused(answer, field)
        self.refused(server.put("/v1/boards/x", {"kind": "sketch"}), "sketch")
        self.refused(server.put("/v1/boards/x", {"memory": "1MiB"}), "memory")
        self.check(server.put("/v1/boards/x", {**counts, "memory": "64MiB", "error": 0.0001}), 201)
        self.refused(server.put("/v1/boards/x", {**counts, "memory": "1MiB"}), "memory")  # cannot change
        self.refused(server.put("/v1/boards/x", {}), "update")
        server.put("/v1/boards/marks", MARKS)
        for path in ("marks/top", "marks/players/ada", "marks/players?ids=ada", "marks/count", "x/at-score/3", "x/target?rank=1",
                     "x/distribution", "marks/live", "marks/friends/ada"):
            self.refused(server.get("/v1/boards/" + path), "sketch")
        self.refused(server.get("/v1/boards/x/top?rank=dense"), "rank")
        self.refused(server.post("/v1/boards/x/scores", {"player": "a", "score": 0}), "score")
        self.refused(server.post("/v1/boards/marks/scores", {"player": "a", "delta": 1}), "delta")
        self.refused(server.post("/v1/boards/x/replay", {"exclude": {"players": ["a"]}}), "kind")


if __name__ == "__main__":
    unittest.main()
