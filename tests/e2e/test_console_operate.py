#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=no-asan
"""The console as operators use it, in a real Chromium against a real server: tests/web/operate.mjs tells the stories, this has
the server, matches that were played and scores that wait for a review.

Screenshots go to <build>/screenshots: look at them."""
import datetime
import json
import os
import random
import sys
import time
import unittest

sys.path[:0] = [os.path.join(os.environ["RUNG_SOURCE"], "tests", room) for room in ("web", "e2e")]
from server import until  # noqa: E402
from stage import Stage, check  # noqa: E402

RULES = [{"rule": "max", "value": 5000, "action": "review"}, {"rule": "z_player", "value": 6, "action": "review"},
         {"rule": "max_step", "value": 900, "action": "flag"}]


def stamp(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")


def send(server, path, lines):
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answer = check(server.post(path, body, headers={"Content-Type": "application/x-ndjson"}))
    refused = [line for line in answer.lines if "error" in line]
    assert not refused, refused[:3]


def ratings(server):
    """Twenty-four players whose number is their skill, and a month of matches between them."""
    rng = random.Random(11)
    check(server.put("/v1/boards/duel", {"title": "Duels", "update": "glicko2", "score": {"type": "decimal", "decimals": 1}, "windows": ["all", "week"],
                                         "scopes": ["country"]}))
    lines, now = [], time.time()
    for i in range(400):
        a, b = rng.sample(range(24), 2)
        chance = 1 / (1 + 10 ** ((b - a) / 8))
        draw = rng.random() < 0.08
        first = draw or rng.random() < chance
        sides = [{"place": 1 if first else 2, "players": [f"player-{a}"]}, {"place": 1 if draw or not first else 2, "players": [f"player-{b}"]}]
        lines.append({"id": f"m{i}", "at": stamp(now - 28 * 86400 * (1 - i / 400)), "sides": sides})
    send(server, "/v1/boards/duel/matches", lines)


def cheats(server):
    """A board with rules, honest players, and a few scores that wait."""
    rng = random.Random(13)
    check(server.put("/v1/boards/quest", {"title": "Quest", "rules": RULES, "windows": ["all", "day"]}))
    lines = [{"board": "quest", "player": f"player-{i}", "score": rng.randrange(800, 1500) + 20 * turn} for turn in range(12) for i in range(30)]
    lines += [{"board": "quest", "player": f"player-{i}", "score": 9000 + 700 * i} for i in range(5, 13)]
    lines += [{"board": "quest", "player": "newcomer", "score": 999999}, {"board": "quest", "player": "player-12", "score": 4900}]
    send(server, "/v1/scores", lines)
    check(server.post("/v1/players/player-7/notes", {"note": "asked support about a refund"}))


def sketches(server):
    """Boards of fixed memory, where the server has them: so full that who comes late is known between two bounds."""
    board = check(server.get("/openapi.json")).json["components"]["schemas"]["Board"]["properties"]
    if "sketch" not in board:
        return
    rng = random.Random(17)
    check(server.put("/v1/boards/plays", {"title": "Songs played", "kind": "sketch", "sketch": "counts", "memory": "64KiB", "windows": ["all", "day"]}))
    check(server.put("/v1/boards/marks", {"title": "Marks", "kind": "sketch", "sketch": "percentile", "memory": "64KiB"}))
    check(server.put("/v1/boards/crowd", {"title": "Visitors", "kind": "sketch", "sketch": "distinct", "memory": "16KiB"}))
    lines = [{"board": "plays", "player": f"song-{int(4000 ** rng.random())}", "score": rng.randint(1, 9)} for _ in range(8000)]
    lines += [{"board": "plays", "player": f"late-{i}", "score": 600 + i} for i in range(4)]
    lines += [{"board": "marks", "player": f"player-{i}", "score": int(rng.triangular(0, 100000))} for i in range(6000)]
    lines += [{"board": "crowd", "player": f"visitor-{rng.randrange(3000)}"} for _ in range(4000)]
    send(server, "/v1/scores", lines)


def past(test, server):
    """A look at the server's folder with two moments to compare."""
    check(server.put("/v1/boards/climb", {"title": "The climb", "update": "last", "scopes": ["country"]}))
    send(server, "/v1/scores", [{"board": "climb", "player": f"player-{i}", "score": 1000 - i} for i in range(40)])
    before = time.time() + 0.002
    until(lambda: time.time() > before + 0.01, "the clock")
    send(server, "/v1/scores", [{"board": "climb", "player": f"player-{i}", "score": 1000 + (i * 37) % 90} for i in range(0, 40, 3)])
    after = time.time()
    until(lambda: time.time() > after + 0.01, "the clock")
    since = int(after * 1000) - int(before * 1000)
    return test.serve("--as-of", stamp(after), "--as-of-since", f"{since}ms", data=server.data)


class Operate(Stage):
    def test_operate(self):
        self.play("operate.mjs", "--public", "arena")

    def more_origins(self, server):
        ratings(server)
        cheats(server)
        sketches(server)
        return ["http://%s:%d" % past(self, server).http]


if __name__ == "__main__":
    unittest.main()
