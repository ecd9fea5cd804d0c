#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Trials of rules: what they would have said to the last submissions, against a plain fold of the same submissions."""
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402

BOARD = "/v1/boards/race"


def fold(scores, last, most, step, first):
    """max refuses, max_step flags, first_max sends to a review; on a board with update last. Scores: (player, score)."""
    standing, known, counts = {}, set(), {"counted": 0, "flagged": 0, "refused": 0, "tentative": 0}
    broken, seen = [0, 0, 0], []
    for i, (player, score) in enumerate(scores):
        found = [score > most, player in standing and abs(score - standing[player]) > step,
                 player not in known and player not in standing and score > first]
        verdict = "refused" if found[0] else "tentative" if found[2] else "flagged" if found[1] else "counted"
        if i >= len(scores) - last:
            counts[verdict] += 1
            for rule in range(3):
                broken[rule] += found[rule]
            if verdict != "counted":
                seen.append((player, score, verdict))
        if verdict in ("flagged", "counted"):
            standing[player] = score
            known.add(player)
    return counts, broken, seen[::-1][:20]


class Trials(ServerTest):
    def fill(self, server, count, seed):
        rng = random.Random(seed)
        scores = [(f"p{rng.randrange(40)}", int(rng.paretovariate(1) * 50)) for _ in range(count)]
        lines = "\n".join(f'{{"board":"race","player":"{p}","score":{s}}}' for p, s in scores)
        answer = server.post("/v1/scores", lines.encode(), headers={"content-type": "application/x-ndjson"})
        self.assertEqual(answer.status, 200, answer)
        return scores

    def test_against_a_fold(self):
        server = self.serve()
        server.put(BOARD, {"update": "last", "windows": ["all"]})
        server.put("/v1/boards/other", {})
        scores = self.fill(server, 700, 1)
        server.post("/v1/boards/other/scores", {"player": "p1", "score": 5})
        scores += self.fill(server, 300, 2)
        rules = [{"rule": "max", "value": 3000, "action": "refuse"},
                 {"rule": "max_step", "value": 400, "action": "flag"},
                 {"rule": "first_max", "value": 150, "action": "review"}]
        before = server.get(f"{BOARD}/top?limit=1000").json
        for last in (1000, 5000):
            said = self.check(server.post(f"{BOARD}/rules/check", {"rules": rules, "last": last}), 200).json
            counts, broken, seen = fold(scores, last, 3000, 400, 150)
            self.assertEqual({k: said[k] for k in counts}, counts)
            self.assertEqual([r["broken"] for r in said["rules"]], broken)
            self.assertEqual([(e["player"], e["score"], e["verdict"]) for e in said["examples"]], seen)
            self.assertEqual((said["judged"], said["complete"], said["other"]), (1000, True, 0))
        # Of a part, rules know what came before it.
        said = self.check(server.post(f"{BOARD}/rules/check", {"rules": rules, "last": 100}), 200).json
        counts, broken, seen = fold(scores, 100, 3000, 400, 150)
        self.assertEqual(({k: said[k] for k in counts}, said["judged"]), (counts, 100))
        self.assertEqual([r["broken"] for r in said["rules"]], broken)
        # Limits, and the review of the first places. What is left out is as the board has it: no rules.
        said = self.check(server.post(f"{BOARD}/rules/check", {"limits": {"max": 3000}, "review": "top:1"}), 200).json
        self.assertEqual(said["limits"], {"max": sum(s > 3000 for _, s in scores)})
        self.assertEqual(said["top"], said["tentative"] + said["refused"])
        self.assertEqual(said["rules"], [])
        self.assertEqual(server.get(f"{BOARD}/top?limit=1000").json, before)
        # After a restart from a snapshot, and with rules in force meanwhile.
        self.check(server.post("/v1/snapshot"), 202)
        self.check(server.put(BOARD, {"update": "last", "windows": ["all"], "rules": rules}), 200)
        server.kill()
        server.start()
        said = self.check(server.post(f"{BOARD}/rules/check", {"last": 1000}), 200).json
        self.assertEqual({k: said[k] for k in counts}, fold(scores, 1000, 3000, 400, 150)[0])

    def test_what_is_refused(self):
        server = self.serve()
        self.check(server.post(f"{BOARD}/rules/check", {"rules": []}), 404)
        server.put(BOARD, {})
        said = self.check(server.post(f"{BOARD}/rules/check", {"rules": []}), 200).json
        self.assertEqual((said["judged"], said["complete"], said["examples"]), (0, True, []))
        for body, field in (({"rules": [{"rule": "max"}]}, "rules[0].value"), ({"last": 0}, "last"),
                            ({"last": 100001}, "last"), ({"review": "all"}, "review"),
                            ({"limits": {"min": 5, "max": 4}}, "limits"), ({"rule": []}, "rule")):
            answer = server.post(f"{BOARD}/rules/check", body)
            self.assertIn(answer.status, (400, 422), answer)
            self.assertIn(field, answer.json.get("field", "") + answer.json["detail"], answer)
        server.put("/v1/boards/chess", {"update": "elo"})
        self.check(server.post("/v1/boards/chess/rules/check", {"rules": []}), 422, "unsupported")
        memory = self.serve(data=False)
        memory.put(BOARD, {})
        self.check(memory.post(f"{BOARD}/rules/check", {"rules": []}), 422, "unsupported")


if __name__ == "__main__":
    unittest.main()
