#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Tentative scores: what is held back, who sees it, verdicts, expiry, bans that end, notes, restarts."""
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, token, until  # noqa: E402

SECRET = b"a secret of thirty-two bytes, or more"
RULES = [{"rule": "max", "value": 1000, "action": "review"},
         {"rule": "attested_seed", "action": "flag"}]


class Reviews(ServerTest):
    def post(self, server, player, score, board="race", **more):
        return server.post("/v1/boards/%s/scores" % board, {"player": player, "score": score, **more})

    def reviews(self, server, query=""):
        return self.check(server.get("/v1/reviews" + query), 200).json

    def test_held_back_promoted_and_rejected(self):
        server = self.serve()
        made = self.check(server.put("/v1/boards/race", {"rules": RULES, "windows": ["all", "day"]}), 201).json
        self.assertEqual(made["rules"], RULES)
        self.assertEqual((made["review"], made["review_expires"], made["review_outcome"]), (None, 604800, "reject"))
        self.check(server.put("/v1/boards/race", server.get("/v1/boards/race").json), 200)

        seed = {"attested": {"seed": "7"}}
        self.check(self.post(server, "ada", 500, **seed), 200)
        dry = self.check(server.post("/v1/boards/race/check", {"player": "bob", "score": 5000}), 200).json
        self.assertEqual((dry["verdict"], dry["rank"]), ("tentative", 1))
        held = self.check(self.post(server, "bob", 5000, id="one", **seed), 200).json
        self.assertEqual((held["tentative"], held["changed"], held["rank"], held["score"]), (True, False, 1, 5000))
        self.assertEqual(held["review"], str(held["seq"]))
        self.assertEqual(held["rules"], [{"rule": "max", "action": "review", "value": 5000, "limit": 1000}])
        again = self.check(self.post(server, "bob", 5000, id="one", **seed), 200).json
        self.assertEqual((again["duplicate"], again["tentative"], again["review"]), (True, True, held["review"]))
        lines = self.check(server.post("/v1/scores", [{"board": "race", "player": "cyd", "score": 2000}]), 200).json
        self.assertEqual(lines[0]["tentative"], True)

        top = server.get("/v1/boards/race/top").json
        self.assertEqual([e["player"] for e in top["entries"]], ["ada"])
        self.check(server.get("/v1/boards/race/players/bob"), 404)
        listed = self.reviews(server)
        self.assertEqual([(r["player"], r["score"]) for r in listed["reviews"]], [("bob", 5000), ("cyd", 2000)])
        self.assertEqual((listed["total"], listed["next"]), (2, None))
        self.assertEqual((listed["reviews"][0]["rank"], listed["reviews"][0]["standing"]), (1, None))
        self.assertEqual([r["rule"] for r in listed["reviews"][1]["rules"]], ["max", "attested_seed"])
        self.assertEqual([r["player"] for r in self.reviews(server, "?rule=attested_seed")["reviews"]], ["cyd"])
        self.assertEqual(self.reviews(server, "?board=other")["reviews"], [])
        page = self.reviews(server, "?limit=1")
        self.assertEqual([r["player"] for r in self.reviews(server, "?after=" + page["next"])["reviews"]], ["cyd"])

        server.kill()
        server.start()
        self.assertEqual(self.reviews(server)["reviews"][0]["id"], held["review"])
        one = "/v1/reviews/" + held["review"]
        self.check(server.post(one, {"verdict": "maybe"}), 400)
        self.check(server.post("/v1/reviews/999999", {"verdict": "promote"}), 404)
        self.check(server.post("/v1/reviews/x", {"verdict": "promote"}), 404)
        done = self.check(server.post(one, {"verdict": "promote", "reason": "seen the recording"}), 200).json
        self.assertEqual(done["changed"], True)
        self.check(server.post(one, {"verdict": "promote"}), 404)
        dry = self.check(server.post("/v1/boards/race/check", {"player": "bob", "score": 6000}), 200).json  # after an admin's change
        self.assertEqual(dry["verdict"], "tentative")
        entries = server.get("/v1/boards/race/top?window=day").json["entries"]
        self.assertEqual([(e["player"], e["score"]) for e in entries], [("bob", 5000), ("ada", 500)])
        self.assertEqual(entries[0]["at"], listed["reviews"][0]["at"])

        many = self.check(server.post("/v1/reviews", {"verdict": "reject", "ids": [listed["reviews"][1]["id"], "77"]}), 200).json
        self.assertEqual([r["changed"] for r in many["results"]], [True, False])
        self.assertEqual(many["results"][1]["code"], "not_found")
        self.assertEqual(self.reviews(server)["total"], 0)

        audit = lambda: [r for r in server.get("/v1/audit?kind=reviewed").json["records"]]
        until(lambda: len(audit()) == 2, "the verdicts are audited")
        promoted = audit()[-1]
        self.assertEqual((promoted["board"], promoted["player"], promoted["reason"]), ("race", "bob", "seen the recording"))
        self.assertEqual(promoted["before"]["rules"], ["max"])
        self.assertEqual(promoted["details"]["verdict"], "promote")
        sent = server.get("/v1/players/cyd/submissions").json
        self.assertEqual(sent["submissions"][0]["outcome"], "tentative")

    def test_top_anomalies_and_limits(self):
        server = self.serve()
        self.check(server.put("/v1/boards/top", {"review": "top:2"}), 201)
        for player in ("ada", "bob", "cyd"):
            self.assertEqual(self.check(self.post(server, player, 10, "top"), 200).json["tentative"], True)
        self.assertEqual(self.reviews(server)["reviews"][0]["rules"],
                         [{"rule": "top", "action": "review", "value": 1, "limit": 2}])
        self.check(server.put("/v1/boards/odd", {"review": "anomalies", "rules": [{"rule": "max", "value": 5, "action": "flag"}]}), 201)
        self.assertEqual(self.check(self.post(server, "ada", 6, "odd"), 200).json["tentative"], True)
        self.assertNotIn("tentative", self.check(self.post(server, "ada", 5, "odd"), 200).json)
        for _ in range(14):
            self.check(self.post(server, "ada", 7, "odd"), 200)
        full = self.check(self.post(server, "ada", 8, "odd"), 422, "limit_reached").json
        self.assertEqual(full["field"], "review")
        for body, field in (({"review": "top:0"}, "review"), ({"review": "all"}, "review"),
                            ({"review_expires": 0.5}, "review_expires"), ({"review_outcome": "ban"}, "review_outcome"),
                            ({"rules": [{"rule": "top", "value": 1}]}, "rules[0]"),
                            ({"rules": [{"rule": "attested_seed", "value": 1}]}, "rules[0]")):
            refused = server.put("/v1/boards/bad", body)
            self.assertIn(refused.status, (400, 422), body)
            self.assertEqual(refused.json["field"], field)

    def test_expiry_promotes(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {"review": "top:5", "review_expires": 1, "review_outcome": "promote"}), 201)
        self.check(server.put("/v1/boards/lost", {"review": "top:5", "review_expires": 1}), 201)
        at = "2026-01-02T03:04:05Z"
        self.check(self.post(server, "ada", 7, at=at), 200)
        self.check(self.post(server, "ada", 7, "lost"), 200)
        until(lambda: self.reviews(server)["total"] == 0, "both expire")
        entries = server.get("/v1/boards/race/top").json["entries"]
        self.assertEqual([(e["player"], e["at"][:19]) for e in entries], [("ada", at[:19])])
        self.assertEqual(server.get("/v1/boards/lost/top").json["entries"], [])

    def test_bans_that_end_previews_and_notes(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {"rules": RULES[:1]}), 201)
        for player, score in (("ada", 30), ("bob", 20), ("cyd", 10)):
            self.check(self.post(server, player, score), 200)
        preview = self.check(server.get("/v1/players/ada/ban"), 200).json
        self.assertEqual((preview["banned"], preview["complete"]), (False, True))
        self.assertEqual(preview["boards"], [{"board": "race", "rank": 1, "score": 30, "total": 3, "move_up": 2, "next": ["bob", "cyd"]}])
        self.check(server.post("/v1/players/ada/ban", {"until": "2001-01-01T00:00:00Z"}), 422)
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
        self.check(server.post("/v1/players/ada/ban", {"until": soon, "reason": "cool down"}), 200)
        self.assertEqual(server.get("/v1/players/ada").json["banned"], True)
        self.assertIn("banned_until", server.get("/v1/players/ada").json)
        self.assertEqual(self.check(self.post(server, "ada", 31), 422).json["rule"], "banned")
        until(lambda: not server.get("/v1/players/ada").json["banned"], "the ban ends")
        self.assertEqual(server.get("/v1/boards/race/players/ada").json["entry"]["rank"], 1)

        self.check(self.post(server, "bob", 5000), 200)
        self.check(self.post(server, "bob", 6000), 200)
        first = self.reviews(server, "?player=bob")["reviews"][0]
        self.check(server.post("/v1/reviews/" + first["id"], {"verdict": "ban", "reason": "bot"}), 200)
        self.assertEqual(self.reviews(server)["total"], 0)
        self.assertEqual(server.get("/v1/players/bob").json["banned"], True)
        self.check(server.delete("/v1/players/bob/ban"), 200)
        self.assertEqual(server.get("/v1/boards/race/players/bob").json["entry"]["score"], 20)

        self.check(server.post("/v1/players/bob/notes", {"note": "asked support"}), 200)
        self.check(server.post("/v1/players/bob/notes", {"note": ""}), 400)
        noted = lambda: server.get("/v1/audit?player=bob&kind=noted").json["records"]
        until(lambda: len(noted()) == 1, "the note is in the audit trail")
        self.assertEqual(noted()[0]["details"]["note"], "asked support")

    def test_the_past_hides_what_the_present_hides(self):
        """A helper has no keys, and takes everybody for an admin."""
        server = self.serve("--public", "race")
        secret = server.own_folder / "secret"
        secret.write_bytes(SECRET)
        admin = server.key("admin")
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
        reader = server.key("read")
        ada, bob = (token({"sub": name, "exp": int(time.time()) + 3600}, secret=SECRET, kid="login") for name in ("ada", "bob"))
        self.check(server.put("/v1/boards/race", {"rules": RULES}, key=admin), 201)
        for player, score in (("ada", 10), ("ada", 5000), ("cyd", 6000)):
            seq = self.check(server.post("/v1/boards/race/scores", {"player": player, "score": score}, key=admin), 200).json["seq"]
        self.check(server.post("/v1/boards/race/scores", {"player": "eve", "score": 1}, key=admin), 200)
        until(lambda: server.get("/v1/boards/race/players/ada", key=ada).status == 200, "the new key")
        for key, sees in ((None, False), (reader, False), (bob, False), (ada, True), (admin, True)):
            for query in ("", f"?as_of={seq}"):
                where = "/v1/boards/race/players/ada" + query
                answer = until(lambda: (a := server.get(where, key=key)).status != 503 and a, "the past")
                if key == bob:
                    self.assertIn(answer.status, (200, 403), answer)
                    continue
                self.assertEqual("tentative" in self.check(answer, 200).json, sees, (query, key, answer))
                self.assertNotIn(b"5000", answer.body if not sees else b"")
        headers = {"Rung-Tentative": "all"}  # between servers only
        self.assertNotIn("tentative", server.get(f"/v1/boards/race/players/ada?as_of={seq}", headers=headers).json)
        self.check(server.get(f"/v1/boards/race/players/cyd?as_of={seq}"), 404)


if __name__ == "__main__":
    unittest.main()
