#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Plausibility rules of a board: refused, flagged, a dry run, restarts, what is not a rule."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402

RULES = [{"rule": "max", "value": 1000, "action": "refuse"},
         {"rule": "max_step", "value": 300, "action": "flag"},
         {"rule": "first_max", "value": 500, "action": "flag"},
         {"rule": "submissions", "value": 100, "per": 3600, "action": "refuse"},
         {"rule": "z_player", "value": 6.5, "action": "flag"}]


class Rules(ServerTest):
    def test_refused_flagged_and_checked(self):
        server = self.serve()
        made = self.check(server.put("/v1/boards/race", {"rules": RULES, "update": "last"}), 201).json
        self.assertEqual(made["rules"], RULES)
        self.check(server.put("/v1/boards/race", server.get("/v1/boards/race").json), 200)

        post = lambda player, score: server.post("/v1/boards/race/scores", {"player": player, "score": score})
        check = lambda player, score: self.check(server.post("/v1/boards/race/check", {"player": player, "score": score}), 200).json
        before = server.get("/v1/boards/race/top").json
        said = check("ada", 700)
        self.assertEqual((said["verdict"], said["rule"], said["rank"]), ("flagged", None, 1))
        self.assertEqual(said["broken"], [{"rule": "first_max", "action": "flag", "value": 700, "limit": 500}])
        said = check("ada", 5000)
        self.assertEqual((said["verdict"], said["rule"], said["rank"]), ("refused", "max", None))
        self.assertEqual([b["rule"] for b in said["broken"]], ["max", "first_max"])
        self.assertEqual(server.get("/v1/boards/race/top").json, before)

        refused = self.check(post("ada", 5000), 422).json
        self.assertEqual((refused["code"], refused["rule"]), ("refused", "max"))
        self.assertNotIn("flagged", self.check(post("ada", 400), 200).json)
        for i in range(20):
            self.assertNotIn("flagged", self.check(post("ada", 390 + i % 5 * 5), 200).json)
        flagged = self.check(post("ada", 660), 200).json
        self.assertEqual([f["rule"] for f in flagged["flagged"]], ["z_player"])
        self.assertEqual(flagged["flagged"][0]["limit"], 6.5)
        self.assertGreater(flagged["flagged"][0]["value"], 6.5)
        self.assertEqual(server.get("/v1/boards/race/top").json["entries"][0]["score"], 660)
        lines = self.check(server.post("/v1/scores", [{"board": "race", "player": "bob", "score": 900}]), 200).json
        self.assertEqual(lines[0]["flagged"], True)

        server.kill()
        server.start()
        self.assertEqual(check("ada", 5000)["broken"][0]["rule"], "max")
        self.assertEqual([b["rule"] for b in check("ada", 100)["broken"]], ["max_step", "z_player"])

    def test_what_is_not_a_rule(self):
        server = self.serve()
        for rules, field in (([{"rule": "banned", "value": 1}], "rules[0]"),
                             ([{"rule": "max"}], "rules[0].value"),
                             ([{"rule": "max", "value": 1, "per": 5}], "rules[0].per"),
                             ([{"rule": "max_rate", "value": 1}], "rules[0].per"),
                             ([{"rule": "max", "value": 1}, {"rule": "z_player", "value": -1}], "rules[1].value"),
                             ([{"rule": "max", "value": 1, "action": "shout"}], "rules[0].action"),
                             ([{"rule": "max", "value": 1}] * 17, "rules")):
            answer = server.put("/v1/boards/race", {"rules": rules})
            self.assertIn(answer.status, (400, 422), answer.json)
            self.assertIn(field, answer.json["field"] + answer.json["detail"], answer.json)
        self.check(server.get("/v1/boards/race"), 404)
        self.check(server.post("/v1/boards/race/check", {"player": "ada", "score": 1}), 404)


if __name__ == "__main__":
    unittest.main()
