#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release
"""The HTTP contract over real sockets: every route, what it answers, and how it refuses."""
import json
import os
import re
import socket
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, Error
from server import ServerTest, quote, until  # noqa: E402

NDJSON = {"Content-Type": "application/x-ndjson"}


class Api(ServerTest):
    def setUp(self):
        self.server = self.serve(data=False)

    def board(self, name="race", **definition):
        self.check(self.server.put(f"/v1/boards/{quote(name)}", definition), 201)
        return name

    def submit(self, player, score=None, board="race", status=200, **more):
        body = {"player": player, **({} if score is None else {"score": score}), **more}
        answer = self.check(self.server.post(f"/v1/boards/{quote(board)}/scores", body), status)
        return answer.json if status == 200 else answer

    def get(self, path, status=200, code=None):
        return self.check(self.server.get(path), status, code).json

    def refused(self, answer, status, code, field=None, rule=None):
        self.check(answer, status, code)
        body = answer.json
        self.assertEqual((body["status"], body.get("field"), body.get("rule")), (status, field, rule), answer)
        self.assertTrue({"type", "title", "status", "code", "detail"} <= set(body), answer)
        return body


class Boards(Api):
    FULL = {"title": "The \u00e9 race", "score": {"type": "decimal", "order": "asc", "decimals": 3},
            "columns": [{"name": "lives", "type": "integer", "order": "desc"}, {"name": "x", "type": "real", "order": "asc"}],
            "update": "best", "tie": "last", "rank": "dense",
            "windows": ["all", "hour", "day", "week", "month", "year",
                        {"name": "spring", "starts": "2026-03-01T00:00:00.000Z", "ends": "2026-06-01T00:00:00.000Z"}],
            "timezone": "Europe/Helsinki", "day_starts": "04:30", "grace": 60.5, "keep": 7, "scopes": ["country", "guild"],
            "teams": {"by": "guild", "combine": "top:5"},
            "limits": {"min": 0.001, "max": 99.999, "max_step": 5, "per_player_per_minute": 10, "z_score": 4.5},
            "rules": [{"rule": "max", "value": 80, "action": "flag"}], "review": "top:7", "review_expires": 60, "review_outcome": "promote",
            "snapshots": {"every": "90s", "top": 10, "keep": 3}, "writers": "player", "kind": "exact"}

    def test_whole_definition_comes_back(self):
        answer = self.check(self.server.put("/v1/boards/full", self.FULL), 201).json
        expected = {"id": "full", **self.FULL}
        self.assertEqual({k: v for k, v in answer.items() if k != "seq"}, expected)
        got = self.get("/v1/boards/full")
        self.assertEqual({k: v for k, v in got.items() if k != "seq"}, expected)
        again = self.check(self.server.put("/v1/boards/full", got), 200).json  # what was read can be sent back
        self.assertEqual({k: v for k, v in again.items() if k != "seq"}, expected)

    def test_defaults(self):
        self.board("plain")
        got = self.get("/v1/boards/plain")
        self.assertEqual(got, {"id": "plain", "title": "plain", "score": {"type": "integer", "order": "desc"}, "columns": [],
                               "update": "best", "tie": "first", "rank": "sparse", "windows": ["all"], "timezone": "UTC",
                               "day_starts": "00:00", "grace": 0, "keep": 2, "scopes": [], "teams": None, "limits": {}, "rules": [],
                               "review": None, "review_expires": 604800, "review_outcome": "reject", "snapshots": None, "writers": "server", "kind": "exact", "seq": got["seq"]})
        self.board("warm", score={"type": "real"}, update="decay", half_life=3600.25)
        self.assertEqual(self.get("/v1/boards/warm")["half_life"], 3600.25)

    def test_malformed(self):
        for body, field in [
            ({"nonsense": 1}, "nonsense"), ({"title": 5}, "title"), ({"title": "x" * 257}, "title"), ({"id": "other"}, "id"),
            ({"score": {"type": "int"}}, "score.type"), ({"score": {"order": "up"}}, "score.order"),
            ({"score": {"decimals": 2}}, "score.decimals"), ({"score": {"type": "decimal", "decimals": 10}}, "score.decimals"),
            ({"score": {"type": "decimal", "decimals": 1.5}}, "score.decimals"), ({"columns": [{"type": "real"}]}, "columns[0].name"),
            ({"columns": [{"name": "a"}] * 3}, "columns"), ({"update": "worst"}, "update"), ({"tie": "none"}, "tie"),
            ({"rank": "olympic"}, "rank"), ({"windows": []}, "windows"), ({"windows": ["decade"]}, "windows[0]"),
            ({"windows": ["day", "day"]}, "windows[1]"), ({"windows": [{"name": "s"}]}, "windows[0].starts"),
            ({"windows": [{"name": "all", "starts": "2026-01-01T00:00:00Z", "ends": "2026-01-02T00:00:00Z"}]}, "windows[0]"),
            ({"windows": [{"name": "s", "starts": "2026-01-02T00:00:00Z", "ends": "2026-01-01T00:00:00Z"}]}, "windows[0]"),
            ({"windows": [{"name": "s", "starts": "yesterday", "ends": "2026-01-01T00:00:00Z"}]}, "windows[0].starts"),
            ({"day_starts": "24:00"}, "day_starts"), ({"day_starts": "4:00"}, "day_starts"), ({"grace": "5"}, "grace"),
            ({"grace": 0.0001}, "grace"), ({"snapshots": {}}, "snapshots.every"), ({"snapshots": {"every": "soon"}}, "snapshots.every"),
            ({"snapshots": {"every": "1m", "top": 0}}, "snapshots.top"), ({"snapshots": {"every": "1m", "keep": 10001}}, "snapshots.keep"), ({"keep": -1}, "keep"), ({"keep": 10001}, "keep"), ({"keep": 1.5}, "keep"),
            ({"scopes": ["a"] * 9}, "scopes"), ({"scopes": [1]}, "scopes[0]"), ({"teams": {"combine": "sum"}}, "teams.by"),
            ({"teams": {"by": "g", "combine": "top:0"}}, "teams.combine"), ({"teams": {"by": "g", "combine": "top:101"}}, "teams.combine"),
            ({"teams": {"by": "g", "combine": "top:05"}}, "teams.combine"), ({"limits": {"min": True}}, "limits.min"),
            ({"limits": {"min": 1.5}}, "limits.min"), ({"limits": {"per_player_per_minute": 0}}, "limits.per_player_per_minute"),
            ({"limits": {"other": 1}}, "limits.other"), ({"writers": "all"}, "writers"),
        ]:
            answer = self.server.put("/v1/boards/bad", body)
            self.refused(answer, 400, "malformed", field)
        for raw in (b"", b"{", b"[]", b"null", b"{}{}", b'{"title":"a","title":"b"}', b'{"title":"\xff"}', b'{"title":"\\ud800"}',
                    b"[" * 40 + b"]" * 40, b'{"keep":1e999}', b"\xef\xbb\xbf{}", b"{'keep':1}", b'{"keep":01}', b'{"keep":+1}'):
            answer = self.server.put("/v1/boards/bad", raw, headers={"Content-Type": "application/json"})
            self.check(answer, 400, "malformed")
        self.get("/v1/boards/bad", 404, "board_not_found")

    def test_not_allowed(self):
        for body, code, field in [
            ({"update": "elo", "rating": {"k": -1}}, "invalid", "rating.k"), ({"update": "glicko2", "limits": {"max": 1}}, "invalid", "limits"),
            ({"update": "openskill", "score": {"type": "real"}}, "invalid", "update"), 
            ({"timezone": "Mars/Olympus"}, "invalid", "timezone"), ({"timezone": "../etc/passwd"}, "invalid", "timezone"),
            ({"update": "decay"}, "invalid", "update"), ({"half_life": 60}, "invalid", "half_life"),
            ({"update": "decay", "score": {"type": "real"}, "half_life": 1}, "invalid", "half_life"),
            ({"update": "count", "score": {"type": "real"}}, "invalid", "update"), ({"grace": 366 * 86400 + 1}, "invalid", "grace"),
            ({"scopes": ["a", "a"]}, "invalid", "scopes[1]"), ({"scopes": ["no blank"]}, "invalid", "scopes[0]"),
            ({"columns": [{"name": "score"}]}, "invalid", "columns[0].name"), ({"limits": {"min": 2, "max": 1}}, "invalid", "limits.min"),
            ({"limits": {"max_step": -1}}, "invalid", "limits.max_step"), ({"limits": {"z_score": 0}}, "invalid", "limits.z_score"),
        ]:
            self.refused(self.server.put("/v1/boards/bad", body), 422, code, field)
        self.board()
        for body, field in [({"score": {"type": "real"}}, "score.type"), ({"update": "sum"}, "update"), ({"tie": "player"}, "tie")]:
            answer = self.server.put("/v1/boards/race", body)
            self.check(answer, 422, "unsupported")
        self.assertEqual(self.get("/v1/boards/race")["update"], "best")

    def test_names_of_any_kind(self):
        for name in ("a/b", "100%", "caf\u00e9 \u2615", "?&=#+", "..", ".", "x" * 128, "\U0001f3c1" * 32):
            self.board(name)
            self.assertEqual(self.get(f"/v1/boards/{quote(name)}")["id"], name)
            self.submit("p/" + name[:20], 5, board=name)
            top = self.get(f"/v1/boards/{quote(name)}/top")
            self.assertEqual((top["board"], top["entries"][0]["player"]), (name, "p/" + name[:20]))
        for raw in ("x" * 129, "%00", "a%0Ab", "%7F", "%C2%80", "%ff", "%", "%4", "%zz", "%ED%A0%80"):
            self.check(self.server.get(f"/v1/boards/{raw}"), 400, "malformed")

    def test_list_and_delete(self):
        names = {self.board(f"board-{i}") for i in range(25)}
        seen, cursor = [], 0
        while cursor is not None:
            page = self.get(f"/v1/boards?limit=10&cursor={cursor}")
            self.assertLessEqual(len(page["boards"]), 10)
            seen += [b["id"] for b in page["boards"]]
            cursor = page["next"]
        self.assertEqual((len(seen), set(seen)), (25, names))
        gone = self.check(self.server.delete("/v1/boards/board-3"), 200).json
        self.assertEqual(gone, {"changed": True, "seq": gone["seq"]})
        self.check(self.server.delete("/v1/boards/board-3"), 404, "board_not_found")
        self.assertEqual(len(self.get(f"/v1/boards?limit=1000&min_seq={gone['seq']}")["boards"]), 24)


class Scores(Api):
    def test_outcome(self):
        self.board(windows=["all", "week", {"name": "ever", "starts": "2000-01-01T00:00:00Z", "ends": "2100-01-01T00:00:00Z"}])
        first = self.submit("ada", 100)
        self.assertEqual({k: first[k] for k in ("player", "score", "changed", "duplicate", "rank_before", "rank", "total",
                                                "percentile", "passed", "next")},
                         {"player": "ada", "score": 100, "changed": True, "duplicate": False, "rank_before": None, "rank": 1,
                          "total": 1, "percentile": 100, "passed": 0, "next": None})
        self.assertEqual(set(first["windows"]), {"all", "week", "ever"})
        self.assertRegex(first["windows"]["week"]["id"], r"\A\d{4}-W\d\d\Z")
        self.assertEqual(first["windows"]["ever"], {"id": "ever", "changed": True, "rank_before": None, "rank": 1, "total": 1})
        self.submit("bob", 150)
        third = self.submit("cyd", 120)
        self.assertEqual((third["rank"], third["next"], third["passed"]), (2, {"player": "bob", "gap": 30}, 1))
        again = self.submit("ada", 200)
        self.assertEqual((again["rank_before"], again["rank"], again["passed"], again["percentile"]), (3, 1, 2, 100))
        worse = self.submit("ada", 1)
        self.assertEqual((worse["changed"], worse["score"], worse["rank"]), (False, 200, 1))
        self.assertGreater(worse["seq"], again["seq"])

    def test_numbers_are_exact(self):
        self.board("i")
        for score in (2**63 - 1, -2**63, 2**53 + 1, 0, "9007199254740993", "-5", 1e3):
            self.assertEqual(self.submit(f"p{score}", score, board="i")["score"], int(score))
        answer = self.server.raw(b'POST /v1/boards/i/scores HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n'
                                 b'Content-Length: 45\r\n\r\n{"player":"big","score":9223372036854775807}  ')
        self.assertIn(b'"score":9223372036854775807,', answer)
        self.board("d", score={"type": "decimal", "decimals": 2})
        for text, shown in [("1.5", b"1.5"), ("-0.01", b"-0.01"), ("92233720368547758.07", b"92233720368547758.07"), ("15e-1", b"1.5")]:
            got = self.server.post("/v1/boards/d/scores", {"player": text, "score": text})
            self.assertIn(b'"score":' + shown + b",", self.check(got, 200).body)
        self.board("r", score={"type": "real"})
        for value in (0.1, 5e-324, 1.7976931348623157e308, -2.5):
            self.assertEqual(self.submit(f"p{value}", value, board="r")["score"], value)
        self.assertEqual(self.submit("top", "inf", board="r")["score"], "inf")
        for board, score in [("i", 1.5), ("i", 2**63), ("i", "x"), ("i", "nan"), ("i", ""), ("d", 0.001), ("r", "nan"), ("r", "1e999")]:
            answer = self.submit("p", score, board=board, status=422)
            self.assertEqual(answer.json["field"], "score", answer)

    def test_columns(self):
        self.board(columns=[{"name": "time", "type": "decimal", "decimals": 1, "order": "asc"}, {"name": "deaths", "order": "asc"}])
        got = self.submit("ada", 10, columns={"deaths": 3, "time": 12.5})
        self.assertEqual((got["score"], got["columns"]), (10, {"time": 12.5, "deaths": 3}))
        self.submit("bob", 10, columns={"time": "12.4", "deaths": 9})
        top = self.get("/v1/boards/race/top")["entries"]
        self.assertEqual([(e["player"], e["columns"]) for e in top],
                         [("bob", {"time": 12.4, "deaths": 9}), ("ada", {"time": 12.5, "deaths": 3})])
        for columns, field in [(None, "columns"), ({}, "columns.time"), ({"time": 1}, "columns.deaths"),
                               ({"time": 1, "deaths": 1, "x": 1}, "columns.x"), ({"time": 0.05, "deaths": 1}, "columns.time")]:
            more = {} if columns is None else {"columns": columns}
            self.assertEqual(self.submit("ada", 1, status=422, **more).json["field"], field)
        at = self.get("/v1/boards/race/at-score/10?columns=12.4,5")
        self.assertEqual((at["rank"], at["columns"]), (1, {"time": 12.4, "deaths": 5}))

    def test_updates(self):
        self.board("sum", update="sum")
        self.submit("a", 5, board="sum")
        self.assertEqual(self.submit("a", board="sum", delta=-2)["score"], 3)
        self.board("last", update="last")
        self.submit("a", 5, board="last")
        self.assertEqual(self.submit("a", 1, board="last")["score"], 1)
        self.board("count", update="count")
        self.submit("a", board="count")
        self.assertEqual(self.submit("a", board="count")["score"], 2)
        self.board("warm", update="decay", score={"type": "real"}, half_life=86400)
        self.assertAlmostEqual(self.submit("a", 8, board="warm")["score"], 8, places=2)
        self.assertEqual(self.get("/v1/boards/warm/count")["count"], 1)

    def test_times(self):
        self.board(windows=["all", "day"], grace=86400 * 300, tie="first")
        early = self.submit("a", 5, at="2026-11-01T12:00:00Z")
        self.assertEqual(early["windows"]["day"]["id"], "2026-11-01")
        self.submit("b", 5, at=1793534400000 - 1)  # Unix milliseconds
        rows = self.get("/v1/boards/race/top")["entries"]
        self.assertEqual([(e["player"], e["at"]) for e in rows], [("b", "2026-11-01T11:59:59.999Z"), ("a", "2026-11-01T12:00:00.000Z")])
        for at, status, field in [("2026-11-01", 400, "at"), ("soon", 400, "at"), (True, 400, "at"), (1.5, 400, "at"),
                                  ("1899-12-31T23:59:59Z", 400, "at"), (10**17, 422, "at")]:
            self.assertEqual(self.submit("a", 1, at=at, status=status).json["field"], field)
        self.board("day", windows=["day"])
        self.refused(self.submit("a", 1, board="day", at="2020-01-01T00:00:00Z", status=422), 422, "refused", rule="window")

    def test_ids(self):
        self.board()
        first = self.submit("a", 5, id="one", meta={"level": 1})
        again = self.submit("a", 5, id="one", meta={"level": 1})
        self.assertEqual(again["duplicate"], True)
        self.assertEqual({k: v for k, v in again.items() if k not in ("duplicate", "seq", "windows")},
                         {k: v for k, v in first.items() if k not in ("duplicate", "seq", "windows")})
        self.refused(self.submit("a", 6, id="one", status=409), 409, "id_conflict", "id")
        self.refused(self.submit("a", 6, id="01890000-0000-7000-8000-000000000000", status=422), 422, "stale_id", "id")
        for bad in ("", "x" * 65, "a\nb"):
            self.submit("a", 6, id=bad, status=400)

    def test_meta_is_anything(self):
        self.board()
        for i, meta in enumerate([None, True, False, 5, -1.5e3, "text", "", [], {}, {"a": [1, {"b": "\u00e9"}]}, "x" * 4096]):
            self.submit("a", i, meta=meta)

    def test_attested(self):
        self.board()
        self.submit("a", 1, attested={})
        self.submit("a", 2, attested={"duration_ms": 0, "seed": "8f14e45f", "replay": "sha256:2c26"}, id="one")
        self.refused(self.submit("a", 2, attested={"duration_ms": 1}, id="one", status=409), 409, "id_conflict", "id")
        for bad, field in [({"duration_ms": -1}, "attested.duration_ms"), ({"duration_ms": "9"}, "attested.duration_ms"),
                           ({"seed": ""}, "attested.seed"), ({"seed": "x" * 65}, "attested.seed"), ({"seed": "a\nb"}, "attested.seed"),
                           ({"replay": "x" * 129}, "attested.replay"), ({"other": 1}, "attested.other"), (5, "attested")]:
            self.assertEqual(self.submit("a", 3, attested=bad, status=400).json["field"], field)

    def test_limits(self):
        self.board(limits={"min": 0, "max": 100, "max_step": 50, "per_player_per_minute": 3})
        for score, rule in [(-1, "min"), (101, "max")]:
            self.refused(self.submit("a", score, status=422), 422, "refused", rule=rule)
        self.submit("a", 10)
        self.refused(self.submit("a", 61, status=422), 422, "refused", rule="max_step")
        self.submit("a", 20)
        self.submit("a", 30)
        self.refused(self.submit("a", 31, status=422), 422, "refused", rule="per_player_per_minute")
        self.server.post("/v1/players/bad/ban")
        self.refused(self.submit("bad", 1, status=422), 422, "refused", rule="banned")
        self.board("sum", update="sum")
        self.submit("a", 2**63 - 1, board="sum")
        self.refused(self.submit("a", 1, board="sum", status=422), 422, "out_of_range", "score")

    def test_malformed(self):
        self.board()
        for body, field in [({}, "player"), ({"score": 1}, "player"), ({"player": "a", "score": None}, "score"),
                            ({"player": "a", "score": [1]}, "score"), ({"player": "", "score": 1}, "player"),
                            ({"player": "x" * 129, "score": 1}, "player"), ({"player": 1, "score": 1}, "player"),
                            ({"player": "a", "score": 1, "points": 2}, "points"), ({"player": "a", "score": 1, "board": "race"}, "board"),
                            ({"player": "a\u0007", "score": 1}, "player"), ({"player": "a", "score": 1, "meta": "x" * 4097}, "meta")]:
            self.refused(self.server.post("/v1/boards/race/scores", body), 400, "malformed", field)
        self.refused(self.submit("a", status=422), 422, "invalid", "score")
        self.refused(self.submit("a", 1, delta=1, status=422), 422, "invalid", "delta")
        self.refused(self.submit("a", 1, board="none", status=404), 404, "board_not_found", "board")
        self.assertEqual(self.get("/v1/boards/race/top")["total"], 0)


class Rankings(Api):
    def setUp(self):
        super().setUp()
        self.board(windows=["all", "day"], scopes=["country"], teams={"by": "guild", "combine": "sum"})
        for i in range(20):
            self.server.put(f"/v1/players/p{i:02}", {"name": f"Player {i}", "country": "FI" if i % 2 else "SE", "guild": f"g{i % 3}",
                                                     "secret": "not shown"})
            self.submit(f"p{i:02}", 100 - i // 2 * 10, at=f"2026-11-01T00:00:{i:02}Z")

    def ranks(self, path):
        return [e["rank"] for e in self.get(path)["entries"]]

    def test_top(self):
        top = self.get("/v1/boards/race/top?limit=3")
        self.assertEqual({k: top[k] for k in ("board", "window", "scope", "rank_style", "total")},
                         {"board": "race", "window": "all",
                          "scope": None, "rank_style": "sparse", "total": 20})
        self.assertEqual(top["entries"][0], {"rank": 1, "player": "p00", "name": "Player 0", "country": "SE",
                                             "attributes": {"guild": "g0"}, "score": 100, "at": "2026-11-01T00:00:00.000Z",
                                             "percentile": 100})
        self.assertEqual(len(self.get("/v1/boards/race/top")["entries"]), 10)
        self.assertEqual(self.ranks("/v1/boards/race/top?limit=4"), [1, 1, 3, 3])
        self.assertEqual(self.ranks("/v1/boards/race/top?limit=4&rank=unique"), [1, 2, 3, 4])
        self.assertEqual(self.ranks("/v1/boards/race/top?limit=4&rank=dense&offset=2"), [2, 2, 3, 3])
        self.assertEqual(self.get("/v1/boards/race/top?offset=4294967295")["entries"], [])
        finns = self.get("/v1/boards/race/top?scope=country:FI&limit=1000")
        self.assertEqual((finns["scope"], finns["total"], finns["entries"][0]["player"], finns["entries"][1]["rank"]),
                         ("country:FI", 10, "p01", 2))
        self.assertEqual(self.get("/v1/boards/race/top?scope=country:XX")["total"], 0)

    def test_windows_of_reads(self):
        day = self.get("/v1/boards/race/top?window=day")
        self.assertEqual((day["window"], day["closed"], day["total"]), ("day", False, 0))
        self.assertRegex(day["window_id"], r"\A\d{4}-\d\d-\d\d\Z")
        self.get("/v1/boards/race/top?window=week", 404, "window_not_found")
        self.get("/v1/boards/race/top?window=day&window_id=2020-01-01", 404, "window_not_found")
        for name, wrong in [("window_id", "2020-1-1"), ("on", "2020-13-01"), ("on", "today")]:
            problem = self.get(f"/v1/boards/race/top?window=day&{name}={wrong}", 400)
            self.assertEqual(problem["field"], name, problem)
            self.assertTrue(problem["detail"].startswith(name + ": "), problem)
        self.get("/v1/boards/race/top?window=day&on=2020-01-01&window_id=2020-01-01", 400)
        self.assertEqual(self.get("/v1/boards/race/top?window=all&window_id=all")["total"], 20)

    def test_around(self):
        got = self.get("/v1/boards/race/players/p10?around=2")
        self.assertEqual((got["entry"]["player"], [e["player"] for e in got["above"]], [e["player"] for e in got["below"]]),
                         ("p10", ["p08", "p09"], ["p11", "p12"]))
        got = self.get("/v1/boards/race/players/p01?around=3")  # the ends are filled
        self.assertEqual((len(got["above"]), len(got["below"])), (1, 5))
        self.assertEqual(self.get("/v1/boards/race/players/p10?around=0")["above"], [])
        self.get("/v1/boards/race/players/nobody", 404, "player_not_found")
        self.get("/v1/boards/race/players/p10?around=101", 400)

    def test_several(self):
        got = self.get("/v1/boards/race/players?ids=p03,nobody,p00,p03")
        self.assertEqual(([e["player"] for e in got["entries"]], got["missing"]), (["p03", "p00", "p03"], ["nobody"]))
        self.submit("a,b", 1)
        self.assertEqual(self.get("/v1/boards/race/players?ids=a%2Cb")["entries"][0]["player"], "a,b")
        self.get("/v1/boards/race/players", 400)
        self.get("/v1/boards/race/players?ids=", 400)
        self.get("/v1/boards/race/players?ids=a,,b", 400)
        self.get("/v1/boards/race/players?ids=" + ",".join("a" * 1001), 400)
        self.assertEqual(len(self.get("/v1/boards/race/players?ids=" + ",".join("a" * 1000))["missing"]), 1000)

    def test_friends(self):
        self.check(self.server.put("/v1/players/p05/friends", {"friends": ["p00", "p15", "ghost"]}), 200)
        got = self.get("/v1/boards/race/friends/p05")
        self.assertEqual([(e["rank"], e["global_rank"], e["player"]) for e in got["entries"]],
                         [(1, 1, "p00"), (2, 5, "p05"), (3, 15, "p15")])
        self.assertEqual((got["player"], got["count"], got["total"]), ("p05", 3, 20))
        self.assertEqual([e["player"] for e in self.get("/v1/boards/race/friends/p05?offset=1&limit=1")["entries"]], ["p05"])
        self.get("/v1/boards/race/friends/nobody", 404, "player_not_found")

    def test_at_score(self):
        got = self.get("/v1/boards/race/at-score/75?around=1")
        self.assertEqual((got["score"], got["rank"], got["above"][0]["player"], got["below"][0]["player"]), (75, 7, "p05", "p06"))
        self.assertEqual(self.get("/v1/boards/race/at-score/1000")["rank"], 1)
        self.assertEqual(self.get("/v1/boards/race/at-score/-5?rank=dense")["rank"], 11)
        for bad in ("abc", "1.5", "99999999999999999999", "%20"):
            self.get(f"/v1/boards/race/at-score/{bad}", 400)
        self.get("/v1/boards/race/at-score/5?columns=1", 400)

    def test_target(self):
        self.assertEqual(self.get("/v1/boards/race/target?rank=3")["score"], 90)
        self.assertEqual(self.get("/v1/boards/race/target?rank=3&rank_style=dense")["score"], 80)
        got = self.get("/v1/boards/race/target?top_percent=10")
        self.assertEqual((got["top_percent"], got["score"], got["entry"]["player"]), (10, 100, "p01"))
        self.assertEqual(self.get("/v1/boards/race/target?rank=21")["score"], None)
        for query in ("", "?rank=0", "?top_percent=0", "?top_percent=101", "?rank=1&top_percent=1", "?rank=unique"):
            self.get(f"/v1/boards/race/target{query}", 400)

    def test_count_and_distribution(self):
        self.assertEqual(self.get("/v1/boards/race/count")["count"], 20)
        self.assertEqual(self.get("/v1/boards/race/count?min=90")["count"], 4)
        self.assertEqual(self.get("/v1/boards/race/count?min=50&max=70")["count"], 6)
        self.get("/v1/boards/race/count?min=x", 400)
        got = self.get("/v1/boards/race/distribution?buckets=10&by=width")
        self.assertEqual((sum(b["count"] for b in got["buckets"]), got["buckets"][0]["low"], got["buckets"][-1]["high"]), (20, 10, 100))
        self.assertEqual([q["top_percent"] for q in got["quantiles"]], [1, 5, 10, 25, 50, 75, 90, 95, 99])
        got = self.get("/v1/boards/race/distribution?buckets=4&by=count")
        self.assertEqual([b["count"] for b in got["buckets"]], [5, 5, 5, 5])
        self.get("/v1/boards/race/distribution?by=size", 400)
        self.get("/v1/boards/race/distribution?buckets=1001", 400)
        self.assertEqual(self.get("/v1/boards/race/distribution?window=day")["buckets"], [])

    def test_teams(self):
        got = self.get("/v1/boards/race/teams")
        self.assertEqual(got["total"], 3)
        self.assertEqual(set(got["entries"][0]), {"rank", "team", "score", "members", "percentile"})
        one = self.get(f"/v1/boards/race/teams/{got['entries'][1]['team']}?around=1")
        self.assertEqual((one["entry"], one["above"], one["below"]), (got["entries"][1], got["entries"][:1], got["entries"][2:]))
        self.get("/v1/boards/race/teams/none", 404)
        self.board("other")
        self.get("/v1/boards/other/teams", 404)
        self.board("mean", teams={"by": "guild", "combine": "mean"})
        self.submit("p00", 1, board="mean")
        self.submit("p03", 2, board="mean")
        self.assertEqual(self.get("/v1/boards/mean/teams")["entries"][0]["score"], 1.5)

    def test_ban_hides_and_unban_restores(self):
        before = self.get("/v1/boards/race/top?limit=100")
        ban = self.check(self.server.post("/v1/players/p00/ban", {"reason": "speed"}), 200).json
        self.assertEqual(ban["changed"], True)
        self.assertEqual(self.check(self.server.post("/v1/players/p00/ban"), 200).json["changed"], False)
        self.assertEqual(self.get("/v1/boards/race/top")["total"], 19)
        self.assertEqual(self.get("/v1/players/p00")["banned"], True)
        self.check(self.server.delete("/v1/players/p00/ban"), 200)
        after = self.get("/v1/boards/race/top?limit=100")
        self.assertEqual(before["entries"], after["entries"])
        self.check(self.server.post("/v1/players/p00/ban", {"why": "x"}), 400)

    def test_remove_and_erase(self):
        self.assertEqual(self.check(self.server.delete("/v1/boards/race/players/p00"), 200).json["changed"], True)
        self.assertEqual(self.check(self.server.delete("/v1/boards/race/players/p00"), 200).json["changed"], False)
        self.check(self.server.delete("/v1/boards/none/players/p00"), 404, "board_not_found")
        self.check(self.server.delete("/v1/players/p01"), 200)
        self.check(self.server.delete("/v1/players/p01"), 404, "player_not_found")
        self.get("/v1/players/p01", 404, "player_not_found")
        self.assertEqual(self.get("/v1/boards/race/top")["entries"][0]["player"], "p02")

    def test_etag(self):
        first = self.server.get("/v1/boards/race/top")
        etag = first.headers["ETag"]
        self.assertIn("max-age", first.headers["Cache-Control"])
        again = self.server.get("/v1/boards/race/top", headers={"If-None-Match": f'"other", {etag}'})
        self.assertEqual((again.status, again.body), (304, b""))
        self.board("unrelated")
        self.assertEqual(self.server.get("/v1/boards/race/top", headers={"If-None-Match": etag}).status, 304)
        self.server.put("/v1/players/p00", {"name": "New name"})
        changed = self.server.get("/v1/boards/race/top", headers={"If-None-Match": etag})
        self.assertEqual((changed.status, changed.json["entries"][0]["name"]), (200, "New name"))

    def test_min_seq(self):
        seq = self.submit("late", 1)["seq"]
        self.assertGreaterEqual(self.get(f"/v1/boards/race/top?min_seq={seq}")["seq"], seq)
        got = []
        reader = threading.Thread(target=lambda: got.append(self.server.get(f"/v1/boards/race/players/late?min_seq={seq + 1}")))
        reader.start()
        until(lambda: "rung_waiting 1\n" in self.server.get("/metrics").body.decode(), "a read that waits")
        self.submit("late", 2)
        reader.join()
        self.assertEqual((got[0].status, got[0].json["entry"]["score"]), (200, 2))
        self.get(f"/v1/boards/race/top?min_seq={seq + 1000}", 503, "seq_timeout")
        self.get("/v1/boards/race/top?min_seq=-1", 400)


class Players(Api):
    def test_profile(self):
        got = self.check(self.server.put("/v1/players/ada", {"name": "Ada", "country": "FI", "zodiac.sign": "x", "avatar": "https://a/b.png"}), 200).json
        self.assertEqual(got, {"changed": True, "seq": got["seq"]})
        self.assertEqual(self.get("/v1/players/ada"),
                         {"player": "ada", "profile": {"avatar": "https://a/b.png", "country": "FI", "name": "Ada", "zodiac.sign": "x"},
                          "banned": False, "friends": 0, "seq": got["seq"]})
        self.check(self.server.put("/v1/players/ada", {"name": "Ada L"}), 200)  # always the whole
        self.assertEqual(self.get("/v1/players/ada")["profile"], {"name": "Ada L"})
        self.assertEqual(self.check(self.server.put("/v1/players/ada", {"name": "Ada L"}), 200).json["changed"], False)
        for body in ({"name": 5}, {"name": None}, {"vip": True}, {"name": ""}, {"a b": "x"}, {"name": "x" * 1025}, {"name": "a\nb"},
                     {f"k{i}": "v" for i in range(33)}, {"x" * 65: "v"}, []):
            self.check(self.server.put("/v1/players/ada", body), 400, "malformed")
        self.get("/v1/players/nobody", 404, "player_not_found")

    def test_friends(self):
        self.check(self.server.put("/v1/players/ada/friends/bob"), 200)
        self.assertEqual(self.get("/v1/players/bob/friends")["friends"], ["ada"])
        self.check(self.server.put("/v1/players/ada/friends/cyd?follow=true"), 200)
        self.assertEqual(self.get("/v1/players/cyd/friends")["friends"], [])
        self.assertEqual(self.get("/v1/players/ada/friends")["total"], 2)
        self.assertEqual(self.get("/v1/players/ada/friends?limit=1&offset=1")["friends"], ["cyd"])
        self.check(self.server.delete("/v1/players/ada/friends/bob"), 200)
        self.assertEqual(self.get("/v1/players/bob/friends")["friends"], [])
        names = [f"friend-{i}" for i in range(3000)]
        self.check(self.server.put("/v1/players/ada/friends?follow=true", {"friends": names}), 200)
        self.assertEqual(sorted(self.get("/v1/players/ada/friends?limit=10000")["friends"]), sorted(names))
        self.refused(self.server.put("/v1/players/ada/friends/ada"), 422, "invalid", "friend")
        self.check(self.server.put("/v1/players/ada/friends", {"friends": ["ada"]}), 422)
        for body in ({}, {"friends": "bob"}, {"friends": [1]}, {"friends": [""]}, {"friends": ["x" * 129]}, {"friends": ["a"] * 10001}):
            self.check(self.server.put("/v1/players/ada/friends", body), 400, "malformed")
        self.get("/v1/players/nobody/friends", 404)
        self.check(self.server.put("/v1/players/ada/friends/bob?follow=yes"), 400)


class Batches(Api):
    def many(self, body, status=200, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.check(self.server.post("/v1/scores", data, headers={"Content-Type": "application/json", **headers}), status)

    def test_array(self):
        self.board()
        got = self.many([{"board": "race", "player": "ada", "score": 5}, {"board": "none", "player": "ada", "score": 5},
                         {"board": "race", "player": "ada"}, {"board": "race", "player": "bob", "score": 7, "id": "x"},
                         {"board": "race", "player": "bob", "score": 7, "id": "x"}, 5]).json
        self.assertEqual([g.get("error", {}).get("code") for g in got], [None, "board_not_found", "invalid", None, None, "malformed"])
        self.assertEqual([g["line"] for g in got], [1, 2, 3, 4, 5, 6])
        self.assertEqual({k: got[0][k] for k in ("changed", "score", "rank", "total")}, {"changed": True, "score": 5, "rank": 1, "total": 1})
        self.assertEqual((got[4]["duplicate"], got[3].get("duplicate")), (True, None))
        self.assertEqual(self.many([]).json, [])
        for bad in (b"", b"[", b'[{"board":"race","player":"zed","score":1},]', b"{}", b"[1 2]"):
            self.many(bad, 400)
        self.assertEqual(self.get("/v1/boards/race/top")["total"], 2)
        self.many(b"[" + b"1," * 10000 + b"1]", 413)
        self.assertEqual(len(self.many(b"[" + b"1," * 9999 + b"1]").json), 10000)

    def test_ndjson(self):
        self.board()
        lines = [json.dumps({"board": "race", "player": f"p{i % 50}", "score": i}) for i in range(1000)]
        lines[10], lines[500], lines[501], lines[502] = "nonsense", "", "  ", '{"board":"race","player":"x","score":1.5}'
        answer = self.check(self.server.post("/v1/scores", "\n".join(lines).encode(), headers=NDJSON), 200)
        self.assertIn("ndjson", answer.headers["content-type"])
        got = answer.lines
        self.assertEqual([g["line"] for g in got], [i for i in range(1, 1001) if i not in (501, 502)])
        self.assertEqual({g["line"]: g["error"]["code"] for g in got if "error" in g}, {11: "malformed", 503: "invalid"})
        self.assertEqual(self.get("/v1/boards/race/top")["entries"][0]["score"], 999)
        self.assertEqual(self.check(self.server.post("/v1/scores", b"\n \r\n", headers=NDJSON), 200).body, b"")

    def test_results_come_while_lines_are_sent(self):
        self.board()
        with self.server.connect() as s:
            s.sendall(b"POST /v1/scores HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
            got = b""
            for i in range(5):
                line = json.dumps({"board": "race", "player": f"p{i}", "score": i}).encode() + b"\n"
                s.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                while got.count(b'"line":') <= i:  # the result of each line before the next is sent
                    chunk = s.recv(65536)
                    self.assertTrue(chunk)
                    got += chunk
            s.sendall(b"0\r\n\r\n")
            while not got.endswith(b"0\r\n\r\n"):
                got += s.recv(65536)

    def test_a_client_that_leaves_or_does_not_read(self):
        self.board()
        line = b'{"board":"race","player":"p","score":1}\n'
        head = b"POST /v1/scores HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nContent-Length: 99999999\r\n\r\n"
        with self.server.connect() as s:
            s.sendall(head + line * 1000)
        with self.server.connect() as s:  # sends and never reads: it is slowed down, not served from ever more memory
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(head)
            s.settimeout(1)
            sent = 0
            try:
                while sent < 60_000_000:
                    sent += s.send(line * 1000)
            except TimeoutError:
                pass
            self.assertLess(sent, 60_000_000)
            self.assertLess(self.server.memory(), 400 << 20)
        until(lambda: "rung_batches 0\n" in self.server.get("/metrics").body.decode(), "the end of both")

    def test_long_line(self):
        self.board()
        line = b'{"board":"race","player":"a","score":1}'
        got = self.check(self.server.post("/v1/scores", line + b'\n{"board":"' + b"x" * 300000 + b'"}\n' + line, headers=NDJSON), 200).lines
        self.assertEqual([(g["line"], g.get("error", {}).get("code")) for g in got], [(1, None), (2, "too_large"), (3, None)])
        got = self.check(self.server.post("/v1/scores", line + b"\n" + b"x" * 300000, headers=NDJSON), 200).lines
        self.assertEqual([(g["line"], g.get("error", {}).get("code")) for g in got], [(1, None), (2, "too_large")])

    def post_in_pieces(self, body, step):
        conn = self.server.open()
        self.addCleanup(conn.close)
        conn.request("POST", "/v1/scores", (body[i:i + step] for i in range(0, len(body), step)), NDJSON)
        return [json.loads(line) for line in conn.getresponse().read().splitlines()]

    def test_the_limit_of_a_line_is_the_same_in_any_pieces(self):
        self.board()
        line = b'{"board":"race","player":"a","score":1}'
        for size, code in (65536, None), (65537, "too_large"), (70000, "too_large"):
            body = line.ljust(size) + b"\n" + line + b"\n"
            for step in 1000, 8000, len(body):
                with self.subTest(size=size, step=step):
                    got = self.post_in_pieces(body, step)
                    self.assertEqual([(g["line"], g.get("error", {}).get("code")) for g in got], [(1, code), (2, None)])
        for step in 1000, 70001:  # too long is too long, even where it is blank
            body = b" " * 70000 + b"\n"
            self.assertEqual([g["error"]["code"] for g in self.post_in_pieces(body, step)], ["too_large"])


class Fields(Api):
    def test_what_is_wrong_is_named(self):
        self.board(columns=[{"name": "x", "type": "integer"}], windows=["all", "week", "hour"])
        self.board("total", update="sum")
        for query in ("top?window=week&window_id=2026-W99", "top?window=all&window_id=2026-W99"):
            answer = self.server.get(f"/v1/boards/race/{query}")
            self.assertEqual(answer.json["field"], "window_id", query)
        for query, field in (("top?window=hour&on=2026-11-06T24", "on"), ("top?on=x", "on"), ("top?window=week&on=2026-11-06&window_id=2026-W01", "on"),
                             ("target", "rank"), ("target?rank=1&top_percent=1", "rank")):
            self.refused(self.server.get(f"/v1/boards/race/{query}"), 400, "malformed", field)
        self.refused(self.server.post("/v1/boards/race/scores", {"player": "a", "score": 1, "columns": {"x": 1.5}}), 422, "invalid", "columns.x")
        for profile, field in (({"name": "a\0"}, "name"), ({"team": ""}, "team"), ({"a b": "x"}, "a b"), ({"mood": "\x1b"}, "mood")):
            self.refused(self.server.put("/v1/players/p", profile), 400, "malformed", field)
        self.check(self.server.post("/v1/boards/total/scores", {"player": "a", "delta": 2**63 - 1}), 200)
        self.refused(self.server.post("/v1/boards/total/scores", {"player": "a", "delta": 1}), 422, "out_of_range", "delta")
        self.refused(self.server.post("/v1/boards/total/scores", {"player": "a", "score": 1}), 422, "out_of_range", "score")
        line = b'{"board":"total","player":"a","delta":1}'
        self.assertEqual(self.server.post("/v1/scores", line, headers=NDJSON).lines[0]["error"]["field"], "delta")
        self.refused(self.server.put("/v1/players/p/friends", {"friends": ["q", "p"]}), 422, "invalid", "friends")
        self.refused(self.server.put("/v1/players/p/friends/p"), 422, "invalid", "friend")

    def test_sums_stay_finite(self):
        self.board("total", update="sum", score={"type": "real"})
        for wrong in (1.7e308, -1.7e308, 1.1e288):
            self.refused(self.server.post("/v1/boards/total/scores", {"player": "a", "score": wrong}), 422, "out_of_range", "score")
        for _ in range(3):
            self.submit("a", 1e288, board="total")
        self.assertAlmostEqual(self.get("/v1/boards/total/top")["entries"][0]["score"] / 3e288, 1)

    def test_definitions_that_would_not_do_what_they_say(self):
        for name in ("localtime", "posixrules"):
            self.refused(self.server.put("/v1/boards/b", {"timezone": name}), 422, "invalid", "timezone")
        for limit in ("min", "max", "max_step", "z_score"):
            self.refused(self.server.put("/v1/boards/b", {"update": "count", "limits": {limit: 5}}), 422, "invalid", f"limits.{limit}")
        self.board("b", update="count", limits={"per_player_per_minute": 5})

    def test_what_decays_is_above_0(self):
        self.board("hot", update="decay", half_life=3600, score={"type": "real"})
        for wrong in (0, -1):
            answer = self.server.post("/v1/boards/hot/scores", {"player": "a", "score": wrong})
            self.refused(answer, 422, "out_of_range", "score")
            self.assertIn("above 0", answer.json["detail"])


class Windows(ServerTest):
    """Closed windows, in memory and in the archive."""

    def test_archive_answers_as_memory_did(self):
        server = self.serve()
        days = [f"2026-10-{d:02}" for d in range(1, 8)]
        definition = {"windows": ["all", "day"], "grace": 366 * 86400, "keep": 100, "scopes": ["country"],
                      "teams": {"by": "guild", "combine": "sum"}}
        self.check(server.put("/v1/boards/race", definition), 201)
        for i in range(20):
            server.put(f"/v1/players/p{i}", {"country": ["FI", "SE", "DE"][i % 3], "guild": f"g{i % 4}"})
        server.put("/v1/players/p3", {"name": "Three", "country": "FI", "guild": "g3"})
        server.put("/v1/players/p3/friends", {"friends": ["p1", "p5", "p9"]})
        lines = [json.dumps({"board": "race", "player": f"p{i}", "score": (i * 7 + d) % 12, "at": f"{day}T12:00:{i:02}Z"})
                 for d, day in enumerate(days) for i in range(20)]
        for line in self.check(server.post("/v1/scores", "\n".join(lines).encode(), headers=NDJSON), 200).lines:
            self.assertNotIn("error", line)
        self.check(server.put("/v1/boards/race", {**definition, "grace": 0}), 200)

        def listed():
            return server.get("/v1/boards/race/windows?kind=day").json["windows"]
        until(lambda: len(listed()) == 7 and all(w["closed"] for w in listed()), "closing")
        questions = [f"{path}{'&' if '?' in path else '?'}window=day&{which}{rank}"
                     for which in ("window_id=2026-10-03", "on=2026-10-05") for rank in ("", "&rank=unique", "&rank=dense")
                     for path in ("top?limit=7&offset=3", "top", "players/p3", "players/p7?around=2", "players?ids=p1,zed,p2",
                                  "friends/p3", "friends/p3?offset=1&limit=2", "top?scope=country:FI", "top?scope=country:NO",
                                  "players/p3?scope=country:FI&around=1", "players?ids=p1,p3&scope=country:FI",
                                  "friends/p3?scope=country:FI", "teams", "teams?limit=2&offset=1", "teams/g3?around=1")]
        questions += [f"target?{what}&window=day&window_id=2026-10-03&rank_style={style}"
                      for what in ("rank=1", "rank=5", "rank=20", "rank=21", "top_percent=33") for style in ("unique", "sparse", "dense")]

        def ask():
            answers = [self.check(server.get(f"/v1/boards/race/{q}"), 200).json for q in questions]
            for answer in answers:
                del answer["seq"]
            return answers
        before = ask()
        self.assertTrue(all(a["closed"] for a in before))
        day = ("WINDOW", "day", "WINDOWID", "2026-10-03")
        commands = [("RUNG.RANK", "race", "p3", *day), ("RUNG.PERCENTILE", "race", "p3", *day, "DENSE"),
                    ("RUNG.MRANK", "race", 3, "p1", "zed", "p2", *day), ("RUNG.TOP", "race", "COUNT", 3, "OFFSET", 2, *day),
                    ("RUNG.TOP", "race", "WINDOW", "day", "ON", "2026-10-05", "SCOPE", "country:FI"),
                    ("RUNG.AROUND", "race", "p7", "COUNT", 2, *day), ("RUNG.AROUND", "race", "nobody", *day),
                    ("RUNG.FRIENDS", "race", "p3", *day), ("RUNG.FRIENDS", "race", "nobody", *day),
                    ("RUNG.RANK", "race", "nobody", *day), ("RUNG.TOP", "nowhere", *day)]
        with Connection(server.resp) as c:
            by_resp = [reply.value for reply in c.pipeline(commands)]
        self.check(server.put("/v1/boards/race", {**definition, "grace": 0, "keep": 0}), 200)
        until(lambda: [w["source"] for w in listed()] == ["archive"] * 7, "the archive")
        for question, old, new in zip(questions, before, ask()):
            self.assertEqual(old, new, question)
        with Connection(server.resp) as c:  # the same over RESP, in a pipeline among changes and other questions
            mixed = [word for command in commands for word in (("ZADD", "other", 1, "x"), command, ("ZCARD", "other"))]
            replies = [reply.value for reply in c.pipeline(mixed)]
            self.assertEqual(replies[1::3], by_resp)
            self.assertEqual(replies[2::3], [1] * len(commands))
            self.assertIsInstance(c.call("RUNG.TOP", "race", "WINDOW", "day", "WINDOWID", "2026-09-03").value, Error)
            self.assertIsInstance(c.call("RUNG.TOP", "race", "WINDOW", "day", "WINDOWID", "soon").value, Error)
            c.call("MULTI")
            c.call(*commands[0])
            self.assertIsInstance(c.call("EXEC").value[0], Error)  # a transaction sees one moment, of memory
        with Connection(server.resp) as c:  # who leaves while the archive is asked leaves nothing behind
            c.send(*commands)
        self.check(server.get("/v1/boards/race/players/nobody?window=day&window_id=2026-10-03"), 404, "player_not_found")
        self.check(server.get("/v1/boards/race/top?window=day&window_id=2026-09-03"), 404, "window_not_found")
        day = "window=day&window_id=2026-10-03"
        self.check(server.get(f"/v1/boards/race/players/p1?{day}&scope=country:FI"), 404, "player_not_found")
        self.check(server.get(f"/v1/boards/race/teams/nobody?{day}"), 404)
        self.check(server.get(f"/v1/boards/race/top?{day}&scope=country"), 400)
        self.check(server.get(f"/v1/boards/race/top?{day}&scope=guild:g1"), 404)
        self.check(server.get("/v1/boards/race/count?window=day&window_id=2026-10-03"), 404, "not_archived")

        pages, before = [], ""
        while True:
            page = server.get(f"/v1/boards/race/windows?limit=2{before}").json
            pages += page["windows"]
            if page["next"] is None:
                break
            before = f"&before={page['next']}"
        self.assertEqual([w["id"] for w in pages], ["all"] + days[::-1])
        self.assertEqual([w["total"] for w in pages[1:]], [20] * 7)

        history = self.check(server.get("/v1/players/p3/history?board=race&rank=unique"), 200).json
        points = [p for p in history["points"] if p["taken"] == "window_end"]
        self.assertEqual([p["window"] for p in points], [{"kind": "day", "id": d} for d in days])
        self.assertEqual([p["score"] for p in points], [(3 * 7 + d) % 12 for d in range(7)])
        self.assertEqual(len(server.get("/v1/players/p3/history?board=race&limit=2").json["points"]), 2)
        self.check(server.get("/v1/players/p3/history"), 400)
        self.check(server.get("/v1/players/p3/history?board=none"), 404, "board_not_found")
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(self.check(server.get("/v1/boards/race/top?window=day&on=2026-10-02"), 200).json["total"], 20)

    def test_submissions(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {"limits": {"max": 100}}), 201)
        self.check(server.put("/v1/boards/laps", {"score": {"type": "decimal", "decimals": 2}, "update": "sum",
                                                  "columns": [{"name": "time", "type": "integer"}], "grace": 86400}), 201)
        self.check(server.put("/v1/boards/visits", {"update": "count"}), 201)
        at = int(time.time() * 1000) - 10000
        sent = [("race", {"score": 50, "meta": {"level": [1, "a\nb"]}}, 200), ("race", {"score": 40, "id": "one"}, 200),
                ("race", {"score": 40, "id": "one"}, 200), ("race", {"score": 41, "id": "one"}, 409), ("race", {"score": 101}, 422),
                ("race", {"score": 60, "meta": "{half"}, 200), ("laps", {"delta": "1.25", "columns": {"time": 7}}, 200),
                ("visits", {}, 200), ("none", {"score": 1}, 404), ("race", {"score": "x"}, 422)]
        for i, (board, body, status) in enumerate(sent):
            self.check(server.post(f"/v1/boards/{board}/scores", {"player": "ada", "at": at + (1 if i == 2 else i), **body}), status)
        self.check(server.post("/v1/boards/race/scores", {"player": "bob", "score": 1}), 200)

        def ask(query=""):
            return self.check(server.get(f"/v1/players/ada/submissions{query}"), 200).json
        until(lambda: ask()["archived_seq"] == ask()["seq"], "the archive")
        page = ask()
        self.assertEqual((page["player"], page["next"]), ("ada", None))
        shown = [{k: v for k, v in s.items() if k not in ("seq", "at")} for s in page["submissions"]]
        self.assertEqual(shown, [
            {"board": "visits", "kind": "score", "result": 1, "outcome": "accepted"},
            {"board": "laps", "kind": "delta", "delta": 1.25, "columns": {"time": 7}, "result": 1.25, "outcome": "accepted"},
            {"board": "race", "kind": "score", "score": 60, "meta": "{half", "result": 60, "outcome": "accepted"},
            {"board": "race", "kind": "score", "score": 101, "outcome": "refused", "reason": "refused"},
            {"board": "race", "kind": "score", "score": 41, "id": "one", "outcome": "refused", "reason": "id_conflict"},
            {"board": "race", "kind": "score", "score": 40, "id": "one", "outcome": "duplicate"},
            {"board": "race", "kind": "score", "score": 40, "id": "one", "result": 50, "outcome": "unchanged"},
            {"board": "race", "kind": "score", "score": 50, "meta": {"level": [1, "a\nb"]}, "result": 50, "outcome": "accepted"}])
        # Pages, of all and of one board, are the whole in its order.
        for board in ("", "&board=race"):
            whole, pages, before = ask(f"?{board[1:]}")["submissions"] if board else page["submissions"], [], ""
            while before is not None:
                part = ask(f"?limit=2{board}{before}")
                self.assertTrue(0 < len(part["submissions"]) <= 2)
                pages += part["submissions"]
                before = part["next"] and f"&before={part['next']}"
            self.assertEqual(pages, whole)
            self.assertEqual([(s["at"], s["seq"]) for s in whole], sorted(((s["at"], s["seq"]) for s in whole), reverse=True))
        self.assertEqual({s["board"] for s in ask("?board=race")["submissions"]}, {"race"})
        self.assertEqual([s["score"] for s in ask(f"?from={at + 3}&to={at + 5}")["submissions"]], [101, 41])
        for empty in ("?from=0&to=0", f"?to={at}", "?board=nowhere", f"?from={at + 100}"):
            self.assertEqual(ask(empty)["submissions"], [], empty)
        for wrong in ("x", "1", "1.", ".1", "1.0", "1.x", "1e30.1", "1.2.", "1.2.x", "1.2.3.4", "999999999999999.1", "1.99999999999999999999"):
            self.check(server.get(f"/v1/players/ada/submissions?before={wrong}"), 400, "malformed")
        for wrong in ("limit=0", "limit=1001", "board=", "from=x", "offset=1"):
            self.check(server.get(f"/v1/players/ada/submissions?{wrong}"), 400, "malformed")
        # A board that is gone no longer names columns; a player that is gone has nothing.
        self.check(server.delete("/v1/boards/laps"), 200)
        self.assertEqual(ask("?board=laps")["submissions"][0]["delta"], 1.25)
        self.assertNotIn("columns", ask("?board=laps")["submissions"][0])
        self.check(server.delete("/v1/players/ada"), 200)
        until(lambda: ask()["submissions"] == [], "the erasure")
        self.assertEqual(len(server.get("/v1/players/bob/submissions").json["submissions"]), 1)
        # Without a folder there is no archive.
        nothing = self.serve(data=False).get("/v1/players/ada/submissions").json
        self.assertEqual((nothing["submissions"], nothing["next"], nothing["archived_seq"]), ([], None, 0))

    def test_seasons(self):
        server = self.serve()
        season = {"name": "one", "starts": "2026-01-01T00:00:00Z", "ends": "2026-02-01T00:00:00Z"}
        self.check(server.put("/v1/boards/s", {"windows": [season], "grace": 366 * 86400}), 201)
        self.check(server.post("/v1/boards/s/scores", {"player": "a", "score": 1, "at": "2026-01-05T00:00:00Z"}), 200)
        top = server.get("/v1/boards/s/top").json
        self.assertEqual([top[k] for k in ("window", "window_id", "starts", "ends", "closed")],
                         ["one", "one", "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", False])
        self.check(server.put("/v1/boards/s", {"windows": [season], "grace": 0, "keep": 0}), 200)
        until(lambda: [w["source"] for w in server.get("/v1/boards/s/windows").json["windows"]] == ["archive"], "the archive")
        self.assertEqual(self.check(server.get("/v1/boards/s/top?window=one"), 200).json["entries"][0]["player"], "a")
        self.assertEqual(self.check(server.get("/v1/boards/s/top"), 200).json["window_id"], "one")


class Transport(Api):
    def test_paths_and_methods(self):
        for path in ("/v1", "/v1/", "/v2/boards", "/v1/boards/", "/v1/boards/race/", "/v1/boards//top", "/v1/boards/race/top/", "/x"):
            answer = self.server.get(path)
            self.assertIn(answer.status, (400, 404), path)
        answer = self.check(self.server.request("PATCH", "/v1/boards/race"), 405, "method_not_allowed")
        self.assertEqual(answer.headers["Allow"], "PUT, GET, HEAD, DELETE")
        self.check(self.server.post("/v1/boards/race/top", {}), 405)
        head = self.server.request("HEAD", "/healthz")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_parameters(self):
        self.board()
        for query, field in [("limit=x", "limit"), ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=1.0", "limit"), ("limit=", "limit"),
                             ("limit=99999999999999999999", "limit"), ("offset=-1", "offset"), ("nonsense=1", "nonsense"), ("limit=1&limit=2", "limit"),
                             ("rank=best", "rank"), ("scope=country", "scope"), ("window=", "window"), ("limit=%31%", "limit"), ("%zz=1", "query"),
                             ("&", "query"), ("limit=1&&offset=1", "query"), ("LIMIT=1", "LIMIT"), ("scope=%ff", "scope")]:
            self.refused(self.server.get(f"/v1/boards/race/top?{query}"), 400, "malformed", field)
        self.assertEqual(len(self.get("/v1/boards/race/top?%6Cimit=%31")["entries"]), 0)
        self.get("/v1/boards/race/top?scope=country:FI", 404)

    def test_bodies(self):
        self.board()
        own = "http://%s:%d" % self.server.http
        body, form = b'{"player":"a","score":1}', "application/x-www-form-urlencoded"
        for kind in ("text/plain", "application/jsonx", "multipart/form-data"):
            self.check(self.server.post("/v1/boards/race/scores", body, headers={"Content-Type": kind}), 415)
        self.check(self.server.post("/v1/boards/race/scores", body, headers={"Content-Type": form}), 200)  # curl -d
        self.check(self.server.post("/v1/boards/race/scores", body, headers={"Content-Type": form, "Origin": own}), 415)
        self.check(self.server.post("/v1/boards/race/scores", b'{"player":"a","score":1}', headers={"Content-Type": "Application/JSON; charset=utf-8"}), 200)
        self.check(self.server.post("/v1/boards/race/scores", b'{"player":"a","score":1}' + b" " * 70000, headers={"Content-Type": "application/json"}), 413)
        self.check(self.server.post("/v1/boards/race/scores"), 400)
        self.check(self.server.put("/v1/players/a/friends/b", {}), 400)
        self.check(self.server.post("/v1/boards/race/scores", b"{}", headers=NDJSON), 415)
        origin = {"Origin": "https://elsewhere.example"}
        self.check(self.server.post("/v1/players/a/ban", headers=origin), 403)
        self.check(self.server.get("/v1/boards", headers=origin), 403)  # without keys, nor read

    def test_compressed_bodies_are_not_taken(self):
        self.board()
        body, kind = b'{"player":"a","score":1}', {"Content-Type": "application/json"}
        for coding, status in (("gzip", 415), ("br, identity", 415), ("identity", 200)):
            answer = self.check(self.server.post("/v1/boards/race/scores", body, headers={**kind, "Content-Encoding": coding}), status)
            if status == 415:
                self.assertEqual((answer.json["code"], answer.json["field"]), ("unsupported_media_type", "Content-Encoding"))

    def test_a_server_without_keys_answers_to_names_of_this_machine_only(self):
        port = self.server.http[1]
        for host in ("localhost", f"localhost:{port}", "LocalHost:1", "127.0.0.1", f"127.0.0.1:{port}", "127.9.8.7", "[::1]", f"[::1]:{port}"):
            self.assertEqual(self.server.get("/v1/boards", headers={"Host": host}).status, 200, host)
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "localhostx", "127.0.0.1.evil.example", "127.evil.example",
                     "10.0.0.1", "0.0.0.0", "[::2]", "unix", "x"):
            for path in ("/v1/boards", "/healthz", "/openapi.json", "/"):
                answer = self.server.get(path, headers={"Host": host})
                self.refused(answer, 403, "forbidden", "Host")
        self.assertIn(b" 200 OK", self.server.raw(b"GET /healthz HTTP/1.0\r\n\r\n"))  # no browser

    def test_every_code_sent_is_published(self):
        known = {(p["status"], p["code"]) for p in self.get("/openapi.json")["x-rung-problems"]}
        self.board()
        requests = [b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n", b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
                    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 100 + b"\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 20000,
                    b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
                    b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
                    b"PUT /v1/boards/race HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n",
                    b"GET /v1/boards/race/live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
                    b"BREW / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"]
        seen = set()
        for request in requests:
            head, _, body = self.server.raw(request, half_close=True).partition(b"\r\n\r\n")
            status = int(head.split()[1])
            if status >= 400:
                seen.add((status, json.loads(body)["code"]))
        self.assertLessEqual({(413, "too_large"), (414, "target_too_long"), (505, "version_not_supported"), (417, "expectation_failed")}, seen)
        self.assertEqual(seen - known, set())

    def test_operations(self):
        self.assertEqual(self.get("/healthz"), {"status": "ok"})
        self.assertEqual(self.get("/readyz")["status"], "ready")
        self.board('a"b\\c')
        self.submit("x", 1, board='a"b\\c')
        self.get("/v1/boards/none", 404)
        self.board("few", limits={"max": 10})
        for score, status in ((5, 200), (3, 200), (11, 422)):
            self.submit("x", score, board="few", status=status)
        self.check(self.server.post("/v1/scores", [{"board": "few", "player": "y", "score": 1}] * 4), 200)
        with socket.create_connection(self.server.resp) as s, s.makefile("rb") as replies:
            s.sendall(b"ZADD few 2 z\r\nZADD few 3 z 4 w\r\nNONSENSE\r\n")
            self.assertEqual([replies.readline()[:1] for _ in range(3)], [b":", b":", b"-"])
            answer = self.server.get("/metrics")
        text = answer.body.decode()
        self.assertTrue(answer.headers["content-type"].startswith("text/plain; version=0.0.4"))
        sample = re.compile(r'[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\.)*"(?:,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? (-?[0-9.e+-]+|\+Inf)')
        families = set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name = line.split()[2]
                self.assertNotIn(name, families)
                families.add(name)
            elif not line.startswith("#"):
                self.assertRegex(line, sample)
                name = re.match("[a-z_]+", line)[0]
                self.assertTrue(name in families or re.sub("_(bucket|sum|count)$", "", name) in families, line)
        self.assertIn('rung_http_requests_total{route="submitScore",code="200"} 3\n', text)
        self.assertIn('rung_http_requests_total{route="getBoard",code="404"} 1\n', text)
        self.assertIn('rung_board_entries{board="a\\"b\\\\c"} 1\n', text)
        self.assertIn('rung_board_submissions_total{board="a\\"b\\\\c"} 1\n', text)
        self.assertIn('rung_board_submissions_total{board="few"} 10\n', text)
        for line in ("rung_resp_connections_total 1", "rung_resp_connections 1", "rung_resp_commands_total 3", "rung_resp_errors_total 1"):
            self.assertIn(f"\n{line}\n", text)
        for name in ("rung_http_request_seconds", "rung_log_sync_seconds", "rung_loop_stall_seconds", "rung_events_total", "rung_changes_waiting", "process_resident_memory_bytes",
                     "rung_state_bytes", "rung_info"):
            self.assertIn(name, families)


if __name__ == "__main__":
    unittest.main()
