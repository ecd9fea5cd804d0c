#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""Replays over HTTP: preview, swap, undo, drop, against plain sums and maxima; and kill -9 at any point.

RUNG_REPLAY_ROUNDS and RUNG_SEED make a hunt of the last one (tests/hunt/replay.sh)."""
import collections
import os
import random
import unittest

from server import ServerTest, rung, until

BOARD = "/v1/boards/race"


def best(scores, without=()):
    """What a board with update best shows: scores by player."""
    found = {}
    for player, score in scores:
        if player not in without:
            found[player] = max(score, found.get(player, score))
    return found


def total(scores):
    found = collections.Counter()
    for player, score in scores:
        found[player] += score
    return dict(found)


class Replay(ServerTest):
    def submit(self, server, scores):
        for player, score in scores:
            answer = server.post(f"{BOARD}/scores", {"player": player, "score": score})
            self.assertEqual(answer.status, 200, answer)

    def fill(self, server, count, seed=1, players=30):
        rng = random.Random(seed)
        scores = [(f"p{rng.randrange(players)}", rng.randrange(1000)) for _ in range(count)]
        lines = "\n".join(f'{{"board":"race","player":"{p}","score":{s}}}' for p, s in scores)
        answer = server.post("/v1/scores", lines.encode(), headers={"content-type": "application/x-ndjson"})
        self.assertEqual(answer.status, 200, answer)
        return scores

    def shown(self, server):
        entries = server.get(f"{BOARD}/top?limit=1000&latest=true").json["entries"]
        return {e["player"]: e["score"] for e in entries}

    def ready(self, server):
        def look():
            answer = server.get(f"{BOARD}/replay").json
            self.assertNotEqual(answer["state"], "failed", answer)
            return answer if answer["state"] == "ready" and answer["report"] else None

        return until(look, "the replay is ready")

    def moves(self, server):
        found, cursor = [], 0
        while cursor is not None:
            page = server.get(f"{BOARD}/replay/moves?limit=7&cursor={cursor}").json
            found += page["moves"]
            cursor = page["next"]
        return found

    def test_without_players(self):
        server = self.serve()
        server.put(BOARD, {"windows": ["all", "day"]})
        scores = self.fill(server, 500)
        without = ["p3", "p4"]
        answer = server.post(f"{BOARD}/replay", {"exclude": {"players": without}})
        self.assertEqual(answer.status, 202, answer)
        self.check(server.post(f"{BOARD}/replay", {"exclude": {"players": ["x"]}}), 409, "busy")
        replay = self.ready(server)
        self.assertEqual(replay["left_out"], sum(p in without for p, _ in scores))
        old, new = best(scores), best(scores, without)
        self.assertEqual(self.shown(server), old)
        window = replay["report"]["windows"][0]
        self.assertEqual((window["entries_before"], window["entries_after"]), (len(old), len(new)))
        self.assertEqual((window["entered"], window["left"]), (0, 2))
        moves = self.moves(server)
        self.assertEqual({m["player"] for m in moves if m["rank_after"] is None}, set(without))
        self.assertEqual(len([m for m in moves if m["rank_after"]]), window["moved"])
        for m in moves:
            self.assertEqual(m["score_before"], old[m["player"]])
            self.assertEqual(m["score_after"], new.get(m["player"]))
        # The board goes on, and so does its shadow: later submissions of those players count.
        scores += [("p1", 5000), ("p3", 4), ("fresh", 77)]
        self.submit(server, scores[-3:])
        new = best(scores[:-3], without)
        for player, score in scores[-3:]:
            new[player] = max(score, new.get(player, score))
        self.assertEqual(server.post(f"{BOARD}/replay/swap?reason=cheats").json["changed"], True)
        self.assertEqual(self.shown(server), new)
        self.check(server.post(f"{BOARD}/replay/swap"), 422, "refused")
        self.assertEqual(server.get(f"{BOARD}/replay").json["state"], "swapped")
        self.assertEqual(server.post(f"{BOARD}/replay/swap?undo=true").status, 200)
        self.assertEqual(self.shown(server), best(scores))
        self.check(server.post(f"{BOARD}/replay/swap?undo=true"), 422, "refused")
        # All of it survives a restart.
        server.kill()
        server.start()
        self.assertEqual(server.post(f"{BOARD}/replay/swap").status, 200)
        self.assertEqual(self.shown(server), new)
        self.assertEqual(server.delete(f"{BOARD}/replay").json["changed"], True)
        self.check(server.get(f"{BOARD}/replay"), 404, "not_found")
        self.check(server.delete(f"{BOARD}/replay"), 404, "not_found")
        self.assertEqual(self.shown(server), new)
        records = until(
            lambda: [r for r in server.get("/v1/audit").json["records"] if r["kind"] == "board swapped"] or None,
            "the audit",
        )
        self.assertIn("cheats", [r.get("reason") for r in records])

    def test_with_another_definition(self):
        server = self.serve()
        server.put(BOARD, {"windows": ["all"]})
        scores = self.fill(server, 400, seed=2)
        definition = {"update": "sum", "windows": ["all", "week"], "title": "Sums"}
        self.assertEqual(server.post(f"{BOARD}/replay", {"definition": definition}).status, 202)
        replay = self.ready(server)
        self.assertEqual(replay["definition"]["update"], "sum")
        server.post(f"{BOARD}/replay/swap")
        self.assertEqual(self.shown(server), total(scores))
        self.assertEqual(server.get(BOARD).json["title"], "Sums")
        scores += [("p1", 3)]
        self.submit(server, scores[-1:])
        self.assertEqual(self.shown(server), total(scores))
        server.post(f"{BOARD}/replay/swap?undo=true")
        self.assertEqual(self.shown(server), best(scores))
        # Without a definition a replay takes those that the log has; this one came by a swap.
        server.post(f"{BOARD}/replay/swap")
        server.delete(f"{BOARD}/replay")
        server.post(f"{BOARD}/replay", {"exclude": {"players": ["p1"]}})
        failed = until(
            lambda: (a := server.get(f"{BOARD}/replay").json)["state"] == "failed" and a, "it fails"
        )
        self.assertEqual(failed["error"]["code"], "unsupported")
        # A replay that failed is in nobody's way.
        again = server.post(f"{BOARD}/replay", {"definition": definition, "exclude": {"players": ["p1"]}})
        self.assertEqual(again.status, 202, again)
        self.ready(server)
        server.post(f"{BOARD}/replay/swap")
        self.assertEqual(self.shown(server), total([s for s in scores if s[0] != "p1"]))

    def test_the_commands(self):
        server = self.serve()
        server.put(BOARD, {"windows": ["all"]})
        scores = self.fill(server, 200, seed=5)
        url = "--url", f"http://127.0.0.1:{server.http[1]}"

        def run(*words):
            done = rung("replay", *words, *url)
            self.assertEqual(done.returncode, 0, done)
            return done.stdout

        run("begin", "race", "--without-players", "p1,p2")
        self.ready(server)
        self.assertIn("ready", run("show", "race"))
        lines = run("moves", "race").splitlines()
        self.assertEqual(lines[0], "player,rank_before,rank_after,score_before,score_after")
        self.assertEqual(len(lines) - 1, len(self.moves(server)))
        self.assertEqual(len(run("moves", "race", "--format", "ndjson").splitlines()), len(lines) - 1)
        run("swap", "race", "--reason", "cheats")
        self.assertEqual(self.shown(server), best(scores, ("p1", "p2")))
        run("undo", "race")
        self.assertEqual(self.shown(server), best(scores))
        run("drop", "race")
        self.check(server.get(f"{BOARD}/replay"), 404, "not_found")

    def test_a_board_that_goes_on(self):
        server = self.serve()
        server.put(BOARD, {"windows": ["all", "hour"]})
        scores = self.fill(server, 3000, seed=3, players=900)
        server.post(f"{BOARD}/replay", {"exclude": {"from": "2000-01-01T00:00:00Z", "to": "2001-01-01T00:00:00Z"}})
        for i in range(40):
            scores += self.fill(server, 100, seed=100 + i, players=900)
        self.ready(server)
        server.post(f"{BOARD}/replay/swap")
        self.assertEqual(self.shown(server), best(scores))

    def test_what_is_refused(self):
        server = self.serve()
        server.put(BOARD, {})
        for body, status, code in [
            ({}, 422, "invalid"),
            ({"exclude": {}}, 422, "invalid"),
            ({"exclude": {"players": [""]}}, 422, "invalid"),
            ({"exclude": {"players": [7]}}, 400, "malformed"),
            ({"exclude": {"who": 1}}, 400, "malformed"),
            ({"exclude": {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}}, 422, "invalid"),
            ({"definition": {"update": "often"}}, 400, "malformed"),
            ({"definition": {"timezone": "Mars/Olympus"}}, 422, "invalid"),
            ({"other": 1}, 400, "malformed"),
        ]:
            with self.subTest(body=body):
                self.check(server.post(f"{BOARD}/replay", body), status, code)
                self.check(server.get(f"{BOARD}/replay"), 404, "not_found")
        self.check(server.post("/v1/boards/none/replay", {"exclude": {"players": ["x"]}}), 404, "board_not_found")
        self.check(server.post(f"{BOARD}/replay/swap"), 404, "not_found")
        self.check(server.get(f"{BOARD}/replay/moves"), 404, "not_found")

    def test_kill_at_any_point(self):
        rng = random.Random(int(os.environ.get("RUNG_SEED", "1")))
        server = self.serve()
        server.put(BOARD, {"windows": ["all", "day"]})
        scores = self.fill(server, 4000, seed=4, players=900)
        old, without = best(scores), [f"p{i}" for i in range(0, 900, 3)]
        new = best(scores, without)
        for _ in range(int(os.environ.get("RUNG_REPLAY_ROUNDS", "6"))):
            server.post(f"{BOARD}/replay", {"exclude": {"players": without}})
            point = rng.randrange(4)
            if point == 0:  # while it works
                for _ in range(rng.randrange(30)):
                    server.get(f"{BOARD}/replay")
            else:
                self.ready(server)
            acknowledged = None
            for i in range(point - 1):
                acknowledged = i % 2 == 0
                self.assertEqual(server.post(f"{BOARD}/replay/swap?undo={'false' if acknowledged else 'true'}").status, 200)
            server.kill()
            server.start()
            shown = self.shown(server)
            self.assertEqual(shown, new if acknowledged else old)
            # What was not finished is gone; what was complete can be swapped, or back.
            state = until(
                lambda: (a := server.get(f"{BOARD}/replay")) and (a.status == 404 or a.json["state"] != "unattended") and a,
                "the rest is dropped",
            )
            if state.status == 200:
                server.post(f"{BOARD}/replay/swap?undo={'true' if acknowledged else 'false'}")
                self.assertEqual(self.shown(server), old if acknowledged else new)
                if not acknowledged:
                    server.post(f"{BOARD}/replay/swap?undo=true")
                server.delete(f"{BOARD}/replay")
            self.assertEqual(self.shown(server), old)


if __name__ == "__main__":
    unittest.main()
