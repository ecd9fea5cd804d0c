#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Movers between two moments, and rank over time, against the rankings that were recorded then."""
import random
import time
import unittest

from resp import Connection, Error
from server import ServerTest, rung, until


def stamp(seconds):
    ms = int(seconds * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def ranks_of(server, query):
    return {e["player"]: e["rank"] for e in server.get(f"/v1/boards/race/top?limit=1000{query}").json["entries"]}


def expected(then, now):
    """Risers and fallers: the largest change first, then the better rank, which is the order of `now`."""
    changes = [(p, then[p] - rank, then[p]) for p, rank in now.items() if p in then]
    rose, fell = ([c for c in changes if c[1] > 0], [c for c in changes if c[1] < 0])
    return sorted(rose, key=lambda c: -c[1]), sorted(fell, key=lambda c: c[1])


class Movers(ServerTest):
    QUERIES = ("", "&window=day", "&scope=country:FI", "&window=day&scope=country:CH")

    def play(self, server, r, count):
        for _ in range(count):
            player = f"p{r.randrange(30)}"
            if r.random() < 0.2:
                server.put(f"/v1/players/{player}", {"country": r.choice(("FI", "CH"))})
            else:
                self.assertEqual(server.post("/v1/boards/race/scores", {"player": player, "score": r.randrange(40)}).status, 200)

    def test_against_recorded_rankings(self):
        r = random.Random(5)
        server = self.serve()
        server.put("/v1/boards/race", {"update": "last", "windows": ["all", "day"], "scopes": ["country"]})
        self.play(server, r, 120)
        then, before = {q: ranks_of(server, q) for q in self.QUERIES}, time.time() + 0.002
        until(lambda: time.time() > before + 0.01, "the clock")
        self.play(server, r, 120)
        now, after = {q: ranks_of(server, q) for q in self.QUERIES}, time.time()
        until(lambda: time.time() > after + 0.01, "the clock")
        since = int(after * 1000) - int(before * 1000)
        past = self.serve("--as-of", stamp(after), "--as-of-since", f"{since}ms", data=server.data)
        for query in self.QUERIES:
            answer = past.get(f"/v1/boards/race/movers?since=1m&limit=1000{query}")
            self.check(answer, 200)
            rose, fell = expected(then[query], now[query])
            for name, want in (("risers", rose), ("fallers", fell)):
                got = [(m["entry"]["player"], m["change"], m["rank_before"]) for m in answer.json[name]]
                self.assertEqual(got, want, (query, name))
            self.assertEqual(answer.json["rose"], len(rose))
            self.assertEqual(answer.json["compared"] + answer.json["entered"], len(now[query]))
            self.assertEqual(answer.json["from"]["at"], stamp(before))
            with Connection(past.resp) as redis:
                words = [w for part in query.split("&") if part for w in part.upper().split("=", 1)]
                words = [w.replace("COUNTRY", "country").replace("DAY", "day") for w in words]
                lists = redis.call("RUNG.MOVERS", "race", "1m", "COUNT", 1000, *words).value
                self.assertEqual([(row[1].decode(), row[3] - row[0], row[3]) for row in lists[0]], rose)
                self.assertEqual([(row[1].decode(), row[3] - row[0], row[3]) for row in lists[1]], fell)
        self.assertEqual(len(past.get("/v1/boards/race/movers?since=1m&limit=2").json["risers"]), 2)

    def test_of_a_running_server(self):
        server = self.serve("--as-of-wait", "60s", "--as-of-rate", "off")
        server.put("/v1/boards/race", {"scopes": ["country"]})
        seq = server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}).json["seq"]
        answer = server.get(f"/v1/boards/race/movers?since=1d&as_of={seq}")
        self.check(answer, 200)  # the log did not exist a day ago: everybody has entered
        self.assertEqual((answer.json["entered"], answer.json["compared"], answer.json["risers"]), (1, 0, []))
        done = rung("movers", "race", "--since", "1d", "--as-of", seq, "--url", f"http://{server.http[0]}:{server.http[1]}")
        self.assertEqual(done.returncode, 0, done)
        for query, status, code in (("", 400, "malformed"), ("since=x", 400, "malformed"), ("since=1s", 400, "malformed"),
                                    ("since=9999d", 400, "malformed"), ("since=1d&limit=0", 400, "malformed"),
                                    (f"since=1d&window=week&as_of={seq}", 404, "not_archived"), (f"since=1d&scope=x:y&as_of={seq}", 404, "not_found")):
            self.check(server.get(f"/v1/boards/race/movers?{query}"), status, code)
        self.check(server.get(f"/v1/boards/none/movers?since=1d&as_of={seq}"), 404, "board_not_found")
        self.check(self.serve(data=False).get("/v1/boards/race/movers?since=1d"), 422, "unsupported")
        with Connection(server.resp) as redis:
            self.assertIsInstance(redis.call("RUNG.MOVERS", "race", "x").value, Error)
            self.assertIsInstance(redis.call("RUNG.MOVERS", "race", "1d", "NONSENSE").value, Error)
            self.assertEqual(redis.call("PING").value, "PONG")


if __name__ == "__main__":
    unittest.main()
