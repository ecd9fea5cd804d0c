#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Rating boards: POST /v1/boards/{board}/matches and /predict, ratings in rankings, restarts, refusals."""
import json
import os
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, until  # noqa: E402


def duel(winner, loser, **more):
    return {"sides": [{"place": 1, "players": [winner]}, {"place": 2, "players": [loser]}], **more}


def stamp(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


class Matches(ServerTest):
    def test_elo(self):
        server = self.serve()
        made = self.check(server.put("/v1/boards/chess", {"update": "elo", "windows": ["all", "day"], "scopes": ["country"]}), 201).json
        self.assertEqual((made["update"], made["rating"]["k"], made["rating"]["initial"]), ("elo", 32, 1500))
        server.put("/v1/players/ada", {"country": "FI"})
        answer = self.check(server.post("/v1/boards/chess/matches", duel("ada", "bob", id="m1")), 200).json
        ada, bob = answer["players"]
        self.assertEqual((ada["player"], ada["score"], ada["score_before"], ada["rank"], ada["rank_before"]), ("ada", 1516, None, 1, None))
        self.assertEqual((bob["after"]["rating"], bob["after"]["losses"], bob["after"]["streak"], bob["rank"]), (1484, 1, -1, 2))
        self.assertEqual(ada["expected"], 0.5)

        again = self.check(server.post("/v1/boards/chess/matches", duel("ada", "bob", id="m1")), 200).json
        self.assertEqual((again["duplicate"], again["players"]), (True, []))
        self.check(server.post("/v1/boards/chess/matches", duel("bob", "ada", id="m1")), 409)

        for path in ("top", "top?window=day"):
            top = self.check(server.get("/v1/boards/chess/" + path), 200).json["entries"]
            self.assertEqual([(e["player"], e["score"], e["rating"]["games"]) for e in top], [("ada", 1516, 1), ("bob", 1484, 1)])
        self.assertEqual(server.get("/v1/boards/chess/top?scope=country:FI").json["total"], 1)

        scores = {"sides": [{"score": 3, "players": ["ada"]}, {"score": 3, "players": ["eve"]}, {"score": 9.5, "players": ["bob"]}]}
        places = [p["place"] for p in self.check(server.post("/v1/boards/chess/matches", scores), 200).json["players"]]
        self.assertEqual(places, [2, 2, 1])
        self.assertEqual(server.get("/v1/boards/chess").json["rating"], made["rating"])
        self.check(server.put("/v1/boards/chess", server.get("/v1/boards/chess").json), 200)

    def test_a_restart_keeps_every_bit(self):
        server = self.serve()
        for system in ("elo", "glicko2", "openskill"):
            server.put("/v1/boards/" + system, {"update": system, "score": {"type": "decimal", "decimals": 6}})
            for i in range(40):
                body = {"sides": [{"place": 1 + i % 3 % 2, "players": [f"p{i % 7}", {"player": f"q{i % 5}", "played": 0.5}]},
                                  {"place": 1, "players": [{"player": f"r{i % 4}", "weight": 1.5}]}]}
                self.check(server.post(f"/v1/boards/{system}/matches", body), 200)
        before = [server.get(f"/v1/boards/{s}/top?limit=100").json["entries"] for s in ("elo", "glicko2", "openskill")]
        self.assertEqual(len(before[0]), 16)
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        self.check(server.post("/v1/boards/elo/matches", duel("p1", "p2")), 200)
        before[0] = server.get("/v1/boards/elo/top?limit=100").json["entries"]
        server.kill()
        server.start()
        after = [server.get(f"/v1/boards/{s}/top?limit=100").json["entries"] for s in ("elo", "glicko2", "openskill")]
        self.assertEqual(before, after)

    def test_many_in_one_request(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo"})
        server.put("/v1/boards/race", {})
        where = "/v1/boards/chess/matches"
        lines = {"Content-Type": "application/x-ndjson"}
        one_side = {"sides": [{"place": 1, "players": ["ada"]}]}
        batch = [duel("ada", "bob", id="m1"), one_side, duel("eve", "ada"), duel("ada", "bob", id="m1"), duel("bob", "ada", id="m1"), {}, 5]
        for i, (body, headers) in enumerate(((batch, {}), ("\n".join(map(json.dumps, batch)).encode(), lines))):
            answer = self.check(server.post(where, body, headers=headers), 200)
            results = answer.json if i == 0 else [json.loads(line) for line in answer.body.splitlines()]
            self.assertEqual([r["line"] for r in results], list(range(1, 8)))
            self.assertEqual([r.get("error", {}).get("code") for r in results], [None, "invalid", None, None, "id_conflict", "malformed", "malformed"])
            self.assertEqual([r.get("duplicate") for r in results], [i == 1, None, False, True, None, None, None])
            self.assertEqual(results[1]["error"]["field"], "sides")
            self.assertEqual([p["player"] for p in results[2]["players"]], ["eve", "ada"])
            self.assertLess(results[0]["seq"], results[2]["seq"])
            self.assertEqual(results[3]["seq"], results[0]["seq"])
        games = {e["player"]: e["rating"]["games"] for e in server.get("/v1/boards/chess/top").json["entries"]}
        self.assertEqual(games, {"eve": 2, "bob": 1, "ada": 3})

        many = [duel(f"p{i % 37}", f"q{i % 41}") for i in range(3000)]  # more than are in flight at a time
        results = self.check(server.post(where, many), 200).json
        self.assertEqual([(r["line"], len(r["players"])) for r in results], [(i + 1, 2) for i in range(3000)])
        self.assertEqual(self.check(server.post(where, []), 200).json, [])
        self.check(server.post(where, [duel("a", "b")] * 10001), 413)
        wide = {"sides": [{"place": i, "players": ["x" * 120 + str(i)]} for i in range(256)]}
        self.check(server.post(where, wide), 200)
        long_one = json.dumps(wide) + " " * (128 << 10)
        self.check(server.post(where, long_one.encode()), 413)
        for body, headers in ((f"[{long_one[:-1]}{' ' * 40000}, {json.dumps(duel('a', 'b'))}]".encode(), {}), (f"{long_one}\n{json.dumps(duel('a', 'b'))}".encode(), lines)):
            answer = self.check(server.post(where, body, headers=headers), 200)
            results = [json.loads(line) for line in answer.body.splitlines()] if headers else answer.json
            self.assertIn("players", results[-1])
        self.assertEqual(results[0]["error"]["code"], "too_large")
        self.assertEqual(server.post("/v1/boards/none/matches", [duel("a", "b")]).json[0]["error"]["code"], "board_not_found")
        self.assertEqual(server.post("/v1/boards/race/matches", [duel("a", "b")]).json[0]["error"]["code"], "refused")

    def test_predictions(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo", "rating": {"draw": 0.2}})
        lineup = {"sides": [{"players": ["ada"]}, {"players": ["bob"]}]}
        equal = self.check(server.post("/v1/boards/chess/predict", lineup), 200).json
        self.assertAlmostEqual(equal["draw"], 0.2)
        self.assertAlmostEqual(equal["sides"][0]["win"], 0.4)
        for _ in range(10):
            server.post("/v1/boards/chess/matches", duel("ada", "bob"))
        sides = server.post("/v1/boards/chess/predict", lineup).json["sides"]
        self.assertGreater(sides[0]["win"], sides[1]["win"])
        self.assertLess(sides[0]["place"], 1.5)
        self.check(server.post("/v1/boards/chess/predict", duel("ada", "bob")), 422)
        self.check(server.post("/v1/boards/none/predict", lineup), 404)

    def test_opponents(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo", "scopes": ["country"], "rating": {"k": 16}})
        for i in range(60):
            server.put(f"/v1/players/p{i:02}", {"country": "FI" if i % 3 else "SE"})
        self.check(server.post("/v1/boards/chess/matches", [duel(f"p{i:02}", f"p{i - k:02}") for i in range(1, 60) for k in range(1, 1 + min(i, 4))]), 200)
        cards = {e["player"]: e["rating"]["rating"] for e in server.get("/v1/boards/chess/top?limit=100").json["entries"]}
        for player in ("p00", "p30", "p59", "nobody"):
            mine = cards.get(player, 1500)
            answer = self.check(server.get(f"/v1/boards/chess/opponents/{player}?n=5"), 200).json
            nearest = sorted((abs(r - mine) for p, r in cards.items() if p != player))[:5]  # of elo the nearest is the best
            for got, near in zip((abs(cards[o["entry"]["player"]] - mine) for o in answer["opponents"]), nearest, strict=True):
                self.assertAlmostEqual(got, near, delta=0.001)
            for o in answer["opponents"]:
                expected = 1 / (1 + 10 ** ((cards[o["entry"]["player"]] - mine) / 400))
                self.assertAlmostEqual(o["expected"], expected)
                self.assertAlmostEqual(o["quality"], 4 * expected * (1 - expected))
        finns = self.check(server.get("/v1/boards/chess/opponents/p30?scope=country:FI&n=100"), 200).json["opponents"]  # p30 is a Swede
        self.assertEqual({o["entry"]["player"] for o in finns}, {f"p{i:02}" for i in range(60) if i % 3})
        server.post("/v1/players/p31/ban", {})
        self.assertNotIn("p31", str(server.get("/v1/boards/chess/opponents/p30?n=100").json["opponents"]))
        self.check(server.get("/v1/boards/none/opponents/ada"), 404)
        server.put("/v1/boards/race", {})
        self.check(server.get("/v1/boards/race/opponents/ada"), 422)
        self.check(server.get("/v1/boards/chess/opponents/ada?n=101"), 400)
        server.put("/v1/boards/empty", {"update": "glicko2"})
        self.assertEqual(self.check(server.get("/v1/boards/empty/opponents/ada"), 200).json["opponents"], [])

    def test_matches_are_read_again(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "glicko2", "score": {"type": "decimal", "decimals": 2}})
        for i in range(30):
            self.check(server.post("/v1/boards/chess/matches", duel("ada", f"p{i % 4}", id=f"m{i}", at=f"2026-11-01T00:00:{i:02}Z")), 200)
        last = self.check(server.post("/v1/boards/chess/matches", {"sides": [{"place": 2, "players": ["ada"]}, {"place": 2, "players": [{"player": "eve", "weight": 0.5}]}, {"place": 1, "players": ["bob"]}]}), 200).json

        def check_all():
            page = self.check(server.get("/v1/boards/chess/matches?limit=3"), 200).json
            self.assertEqual([m["match"] for m in page["matches"]], [f"@{last['seq']}", "m29", "m28"])
            rest = self.check(server.get(f"/v1/boards/chess/matches?limit=1000&before={page['next']}"), 200).json
            self.assertEqual(([m["match"] for m in rest["matches"]], rest["next"]), ([f"m{i}" for i in range(27, -1, -1)], None))
            one = self.check(server.get(f"/v1/boards/chess/matches/@{last['seq']}"), 200).json
            self.assertEqual([(p["player"], p["outcome"], p["place"], p.get("weight")) for p in one["players"]], [("ada", "loss", 2, None), ("eve", "loss", 2, 0.5), ("bob", "win", 1, None)])
            self.assertEqual([(p["score"], p["rank"], p["expected"]) for p in one["players"]], [(p["score"], p["rank"], p["expected"]) for p in last["players"]])
            self.assertEqual([p["deviation"] for p in one["players"]], [p["after"]["deviation"] for p in last["players"]])
            self.assertIsNone(one["players"][1]["score_before"])
            m7 = self.check(server.get("/v1/boards/chess/matches/m7"), 200).json
            self.assertEqual((m7["id"], m7["played_at"], m7["players"][1]["player"]), ("m7", "2026-11-01T00:00:07.000Z", "p3"))
            curve = self.check(server.get("/v1/boards/chess/players/ada/matches"), 200).json
            self.assertEqual(len(curve["results"]), 31)
            for newer, older in zip(curve["results"], curve["results"][1:]):
                self.assertEqual(newer["rating_before"], older["rating"])
            self.assertEqual([o["player"] for o in curve["results"][0]["others"]], ["eve", "bob"])
            mine = self.check(server.get("/v1/boards/chess/players/p1/matches?limit=2"), 200).json
            self.assertEqual([r["match"] for r in mine["results"]], ["m29", "m25"])
            more = server.get(f"/v1/boards/chess/players/p1/matches?limit=100&before={mine['next']}").json
            self.assertEqual(([r["match"] for r in more["results"]], more["next"]), ([f"m{i}" for i in (21, 17, 13, 9, 5, 1)], None))

        check_all()
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        server.kill()
        server.start()
        check_all()
        self.assertEqual(self.check(server.get("/v1/boards/chess/matches/m99"), 404).json["code"], "match_not_found")
        self.check(server.get("/v1/boards/chess/matches/@0"), 404)
        self.check(server.get("/v1/boards/none/matches"), 404)
        server.put("/v1/boards/race", {})
        self.check(server.get("/v1/boards/race/matches"), 422)
        self.assertEqual(server.get("/v1/boards/chess/players/nobody/matches").json["results"], [])
        self.check(server.delete("/v1/players/p3"), 200)
        self.assertIsNone(server.get("/v1/boards/chess/matches/m7").json["players"][1]["player"])
        self.check(server.put("/v1/boards/chess", {"update": "glicko2", "score": {"type": "decimal", "decimals": 2}, "rating": {"results_kept": 5}}), 200)
        self.assertEqual([m["match"] for m in server.get("/v1/boards/chess/matches").json["matches"]], [f"@{last['seq']}", "m29"])

    def test_a_match_is_removed(self):
        server = self.serve()
        elo = {"update": "elo", "score": {"type": "decimal", "decimals": 4}, "windows": ["all", "day"], "scopes": ["country"]}
        server.put("/v1/players/p1", {"country": "FI"})
        matches = [duel(f"p{i * 7 % 11}", f"p{(i * 5 + 1) % 11}", id=f"m{i}") for i in range(200)]
        matches = [m for m in matches if m["sides"][0]["players"] != m["sides"][1]["players"]]
        gone = {"m3", "m51", "m151"}
        for board, kept in (("chess", matches), ("without", [m for m in matches if m["id"] not in gone])):
            self.check(server.put(f"/v1/boards/{board}", elo), 201)
            results = self.check(server.post(f"/v1/boards/{board}/matches", kept), 200).json
            self.assertFalse([r for r in results if "error" in r])

        def is_done():
            state = server.get("/v1/boards/chess/replay")
            self.assertNotEqual(state.json.get("state"), "failed", state)
            return state.status == 404

        def standings(board):
            return [[(e["player"], e["score"], e["rank"], e["rating"]) for e in self.check(server.get(f"/v1/boards/{board}/{path}"), 200).json["entries"]]
                    for path in ("top?limit=100", "top?window=day&limit=100", "top?scope=country:FI")]

        def curve(board):
            return [[(r.get("id"), r["rating_before"], r["rating"]) for r in server.get(f"/v1/boards/{board}/players/p{i}/matches?limit=1000").json["results"]] for i in range(11)]
        for name in sorted(gone):
            self.check(server.delete(f"/v1/boards/chess/matches/{name}?reason=cheat"), 202)
            until(is_done, "the match is removed")
            self.check(server.get(f"/v1/boards/chess/matches/{name}"), 404)
        self.assertEqual(standings("chess"), standings("without"))
        self.assertEqual(curve("chess"), curve("without"))
        self.assertEqual(self.check(server.delete("/v1/boards/chess/matches/m3"), 404).json["code"], "match_not_found")
        until(lambda: [r["reason"] for r in server.get("/v1/audit?board=chess").json["records"] if r["kind"] == "board swapped"] == ["cheat"] * 3, "the audit trail")
        for board in ("chess", "without"):  # it goes on as if they had never been played
            self.check(server.post(f"/v1/boards/{board}/matches", duel("p1", "p2", id="later")), 200)
        self.assertEqual(standings("chess"), standings("without"))
        digest = server.get("/v1/digest").json["digest"]
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        server.kill()
        server.start()
        self.assertEqual(server.get("/v1/digest").json["digest"], digest)
        self.assertEqual(curve("chess"), curve("without"))

    def test_a_board_is_computed_again_with_other_parameters(self):
        server = self.serve()
        glicko = {"update": "glicko2", "score": {"type": "decimal", "decimals": 3}}
        elo = {"update": "elo", "score": {"type": "decimal", "decimals": 3}, "rating": {"k": 20, "rules": [{"games_under": 5, "k": 40}]}}
        matches = [duel(f"p{i * 7 % 11}", f"p{(i * 5 + 2) % 11}") for i in range(100)]
        matches = [m for m in matches if m["sides"][0]["players"] != m["sides"][1]["players"]]
        for board, definition in (("chess", glicko), ("other", elo)):
            self.check(server.put(f"/v1/boards/{board}", definition), 201)
            self.check(server.post(f"/v1/boards/{board}/matches", matches), 200)
        self.check(server.post("/v1/boards/chess/replay", {"definition": elo}), 202)
        until(lambda: server.get("/v1/boards/chess/replay").json["state"] == "ready", "the replay")
        for board in ("chess", "other"):  # the shadow follows
            self.check(server.post(f"/v1/boards/{board}/matches", duel("p3", "p8", id="x")), 200)
        self.check(server.post("/v1/boards/chess/replay/swap"), 200)
        a, b = (server.get(f"/v1/boards/{board}/top?limit=100").json["entries"] for board in ("chess", "other"))
        self.assertEqual([(e["player"], e["score"], e["rating"]) for e in a], [(e["player"], e["score"], e["rating"]) for e in b])
        a, b = ([(m["id"] if "id" in m else None, [p["score"] for p in m["players"]]) for m in server.get(f"/v1/boards/{board}/matches?limit=1000").json["matches"]] for board in ("chess", "other"))
        self.assertEqual(a, b)
        self.check(server.delete("/v1/boards/chess/replay"), 200)
        self.check(server.post("/v1/boards/chess/replay", {"definition": {}}), 422)

    def test_what_is_wrong_is_named_and_changes_nothing(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo", "rating": {"known_players_only": True}})
        for player in ("ada", "bob"):
            server.put(f"/v1/players/{player}", {"name": player})
        sides = duel("ada", "bob")["sides"]
        bad = (({"sides": sides[:1]}, "sides"),
               ({"sides": []}, "sides"),
               (duel("ada", "ada"), "sides[1].players[0].player"),
               ({"sides": [sides[0], {"players": ["bob"]}]}, "sides[1]"),
               ({"sides": [sides[0], {"place": 1, "score": 2, "players": ["bob"]}]}, "sides[1]"),
               ({"sides": [sides[0], {"score": 2, "players": ["bob"]}]}, "sides[1]"),
               ({"sides": [sides[0], {"place": 2, "players": []}]}, "sides[1].players"),
               ({"sides": [{"score": 1, "players": ["ada"]}, {"score": 1e999, "players": ["bob"]}]}, "sides[1]"),
               ({"sides": [sides[0], {"place": 2, "players": [{"player": "bob", "weight": 0}]}]}, "sides[1].players[0].weight"),
               ({"sides": [sides[0], {"place": 2, "players": [{"player": "bob", "played": 2}]}]}, "sides[1].players[0].played"),
               (duel("ada", "stranger"), "sides[1].players[0].player"),
               ({"sides": [{"place": i, "players": [f"p{i}"]} for i in range(257)]}, "sides"))
        for body, field in bad:
            text = json.dumps(body).replace("Infinity", "1e999").encode()
            answer = self.check(server.post("/v1/boards/chess/matches", text), 422).json
            self.assertEqual(answer["field"], field, answer)
        nan = json.dumps(duel("ada", "bob")).replace('"place": 2', '"score": NaN').encode()
        self.check(server.post("/v1/boards/chess/matches", nan), 400)
        self.assertEqual(server.get("/v1/boards/chess/top").json["total"], 0)
        self.assertEqual(server.get("/v1/boards/chess/matches").json["matches"], [])
        self.check(server.post("/v1/boards/chess/matches", duel("ada", "bob")), 200)

    def test_a_season_begins(self):
        server = self.serve()
        board = {"update": "glicko2", "score": {"type": "decimal", "decimals": 3}, "rating": {"season_keep": 0.5, "season_deviation": 100},
                 "windows": ["all", {"name": "one", "starts": "2026-01-01T00:00:00Z", "ends": "2199-01-01T00:00:00Z"}]}
        made = self.check(server.put("/v1/boards/chess", board), 201).json
        self.assertEqual((made["rating"]["season_keep"], made["rating"]["season_deviation"]), (0.5, 100))
        for _ in range(20):
            server.post("/v1/boards/chess/matches", duel("ada", "bob"))
        old = {e["player"]: e["rating"] for e in server.get("/v1/boards/chess/top?window=one").json["entries"]}
        while True:  # until the board knew of the season before it began
            two = f"two{len(board['windows'])}"
            soon = int(time.time()) + 3
            board["windows"].append({"name": two, "starts": stamp(soon), "ends": "2199-01-01T00:00:00Z"})
            self.check(server.put("/v1/boards/chess", board), 200)
            if time.time() < soon - 1:
                break
        until(lambda: server.get("/v1/boards/chess/top").json["entries"][0]["rating"]["rating"] != old["ada"]["rating"], "the season begins")
        new = {e["player"]: e for e in server.get("/v1/boards/chess/top").json["entries"]}
        for player in old:
            rating = new[player]["rating"]
            deviation = min(350, (old[player]["deviation"] ** 2 + 100 ** 2) ** 0.5)
            self.assertAlmostEqual(rating["rating"], 1500 + (old[player]["rating"] - 1500) / 2)
            self.assertAlmostEqual(rating["deviation"], deviation)
            self.assertAlmostEqual(new[player]["score"], rating["rating"] - 2 * deviation, delta=0.001)
            self.assertEqual(rating["games"], 20)
        self.assertEqual(server.get("/v1/boards/chess/top?window=" + two).json["total"], 0)
        digest = server.get("/v1/digest").json["digest"]
        server.kill()
        server.start()
        self.assertEqual(server.get("/v1/digest").json["digest"], digest)
        self.assertEqual({e["player"]: e for e in server.get("/v1/boards/chess/top").json["entries"]}, new)

    def test_players_are_hidden_until_they_played_enough(self):
        server = self.serve()
        server.put("/v1/boards/new", {"update": "glicko2", "rating": {"min_games": 2}})
        first = server.post("/v1/boards/new/matches", duel("ada", "bob")).json["players"]
        self.assertEqual([p["rank"] for p in first], [None, None])
        self.assertEqual(server.get("/v1/boards/new/top").json["total"], 0)
        server.post("/v1/boards/new/matches", duel("ada", "eve"))
        self.assertEqual([e["player"] for e in server.get("/v1/boards/new/top").json["entries"]], ["ada"])

    def test_what_is_refused_changes_nothing(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo"})
        server.put("/v1/boards/race", {})
        server.post("/v1/boards/chess/matches", duel("ada", "bob"))
        seen = server.get("/v1/boards/chess/top").json["entries"]
        one = {"place": 1, "players": ["ada"]}
        for body, field in (
                ({"sides": [one]}, "sides"),
                ({"sides": []}, "sides"),
                ({"sides": [one, {"place": 2, "players": []}]}, "sides[1].players"),
                ({"sides": [one, one]}, "sides[1].players[0].player"),
                ({"sides": [one, {"place": 2, "players": ["bob", "bob"]}]}, "sides[1].players[1].player"),
                ({"sides": [one, {"players": ["bob"]}]}, "sides[1]"),
                ({"sides": [one, {"score": 2, "players": ["bob"]}]}, "sides[1]"),
                ({"sides": [one, {"place": 2, "players": [{"player": "bob", "weight": 0}]}]}, "sides[1].players[0].weight"),
                ({"sides": [one, {"place": 2, "players": [{"player": "bob", "played": 1.5}]}]}, "sides[1].players[0].played"),
                ({"sides": [{"place": i, "players": [f"p{i}"]} for i in range(257)]}, "sides"),
                ({"sides": [one, {"place": 2, "players": [f"p{i}" for i in range(256)]}]}, "sides")):
            answer = self.check(server.post("/v1/boards/chess/matches", body), 422)
            self.assertEqual(answer.json.get("field"), field, answer.json)
        for body in (b"", b"{", b'{"sides":[{"place":NaN,"players":["a"]}]}', {"sides": 5}, {"side": []}):
            self.check(server.post("/v1/boards/chess/matches", body), 400)
        self.check(server.post("/v1/boards/race/matches", duel("ada", "bob")), 422)
        self.check(server.post("/v1/boards/none/matches", duel("ada", "bob")), 404)
        self.check(server.post("/v1/boards/chess/scores", {"player": "ada", "score": 1}), 422)
        server.post("/v1/players/eve/ban", {})
        server.post("/v1/boards/chess/matches", duel("ada", "eve"))
        self.assertEqual(server.get("/v1/boards/chess/top").json["entries"], seen)

    def test_parameters_are_checked_by_name(self):
        server = self.serve()
        for body, field in (
                ({"update": "elo", "rating": {"k": -1}}, "rating.k"),
                ({"update": "elo", "rating": {"tau": 1}}, "rating.tau"),
                ({"update": "elo", "rating": {"rules": [{"k": 1, "from": 2, "under": 1}]}}, "rating.rules[0].under"),
                ({"update": "glicko2", "rating": {"volatility": 2}}, "rating.volatility"),
                ({"update": "glicko2", "rating": {"period": -1}}, "rating.period"),
                ({"update": "openskill", "rating": {"beta": 0}}, "rating.beta"),
                ({"update": "best", "rating": {}}, "rating"),
                ({"update": "elo", "limits": {"max": 5}}, "limits"),
                ({"update": "elo", "score": {"order": "asc"}}, "update")):
            answer = server.put("/v1/boards/b", body)
            self.assertIn(answer.status, (400, 422), answer.json)
            self.assertEqual(answer.json.get("field"), field, answer.json)
        full = {"update": "elo", "rating": {"k": 10, "difference_max": 400, "normal": True, "rules": [{"games_under": 30, "k": 40}, {"under": 2400, "k": 20}]}}
        made = self.check(server.put("/v1/boards/fide", full), 201).json
        self.assertEqual(made["rating"]["rules"], full["rating"]["rules"])
        self.check(server.put("/v1/boards/w", {"update": "openskill", "rating": {"model": "bradley_terry_part", "window": 4, "window_mean": True}}), 201)
        self.check(server.put("/v1/boards/fide", {"update": "glicko2"}), 422)

    def test_no_match_is_of_the_future(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo", "windows": ["all", "day"]})
        at = lambda s: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + s))  # noqa: E731
        refused = self.check(server.post("/v1/boards/chess/matches", duel("ada", "bob", at=at(3 * 86400))), 422, "future_at")
        self.assertEqual(refused.json["field"], "at")
        self.assertEqual(server.get("/v1/boards/chess/windows").json["windows"], [])
        self.check(server.post("/v1/boards/chess/matches", duel("ada", "bob", at=at(-3600))), 200)

    def test_large_predictions_wait_in_a_line(self):
        """One a turn, and one sender fills half of the line: whoever asks something else waits for one of them, not for all."""
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo"})
        body = json.dumps({"sides": [{"players": [f"p{i}"]} for i in range(256)]}).encode()
        request = b"POST /v1/boards/chess/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        sockets = [server.connect() for _ in range(400)]
        os.kill(server.process.pid, signal.SIGSTOP)  # so that all are there at once
        for s in sockets:
            s.sendall(request)
        os.kill(server.process.pid, signal.SIGCONT)
        answers = []
        for s in sockets:
            with s:
                got = b""
                while chunk := s.recv(1 << 16):
                    got += chunk
            answers.append(got)
        self.assertEqual({a[9:12] for a in answers}, {b"200", b"503"})
        self.assertTrue(all(b"overloaded" in a for a in answers if a[9:12] == b"503"))
        self.assertGreaterEqual(sum(a[9:12] == b"200" for a in answers), 100)
        sides = json.loads(answers[0].partition(b"\r\n\r\n")[2])["sides"]
        self.assertEqual(len(sides), 256)
        self.check(server.post("/v1/boards/chess/predict", {"sides": [{"players": ["a"]}, {"players": ["b"]}]}), 200)


if __name__ == "__main__":
    unittest.main()
