#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120 labels=release
"""One board, two protocols: what one writes the other reads (docs/redis.md, "A key is a board")."""
import json
import unittest

from resp import Connection, Error
from server import ServerTest, until


class Boards(ServerTest):
    def setUp(self):
        self.server = self.serve()
        self.redis = Connection(self.server.resp)
        self.addCleanup(self.redis.close)

    def call(self, *words):
        return self.redis.call(*words).value

    def top(self, board):
        answer = self.check(self.server.get(f"/v1/boards/{board}/top"), 200)
        return [(e["player"], e["score"]) for e in answer.json["entries"]]

    def test_a_key_over_http(self):
        self.assertEqual(self.call("ZADD", "race", 3, "bob", 12.5, "ada", 3, "eve"), 3)
        self.assertEqual(self.top("race"), [("ada", 12.5), ("eve", 3), ("bob", 3)])
        about = self.check(self.server.get("/v1/boards/race"), 200).json
        self.assertEqual((about["update"], about["tie"], about["score"]["type"]), ("last", "player_desc", "real"))
        self.check(self.server.post("/v1/boards/race/scores", {"player": "bob", "score": 20}), 200)
        self.assertEqual(self.call("ZREVRANK", "race", "bob"), 0)
        self.check(self.server.delete("/v1/boards/race/players/bob"), 200)
        self.assertEqual(self.call("ZRANGE", "race", 0, -1), [b"eve", b"ada"])
        self.assertEqual(self.call("ZREM", "race", "ada", "eve"), 2)
        self.check(self.server.get("/v1/boards/race"), 404)

    def test_a_set_is_no_board(self):
        self.assertEqual(self.call("SADD", "friends", "ada", "bob"), 2)
        self.check(self.server.get("/v1/boards/friends"), 404)
        self.assertNotIn("friends", str(self.server.get("/v1/boards").json))
        self.check(self.server.put("/v1/boards/friends", {}), 422)
        self.assertEqual(self.call("SCARD", "friends"), 2)

    def test_a_board_by_its_own_rules(self):
        self.check(self.server.put("/v1/boards/best", {}), 201)
        self.assertEqual(self.call("TYPE", "best"), "zset")
        self.assertEqual(self.call("ZADD", "best", 10, "ada", 7, "bob"), 2)
        self.assertEqual(self.call("ZADD", "best", "CH", 5, "ada"), 0)  # the best counts
        self.assertEqual(self.call("ZSCORE", "best", "ada"), b"10")
        self.assertEqual(self.call("ZINCRBY", "best", 4, "bob"), b"11")
        self.assertEqual(self.call("ZREVRANGE", "best", 0, -1, "WITHSCORES"), [b"bob", b"11", b"ada", b"10"])
        self.assertEqual(self.call("ZCOUNT", "best", "(10", "+inf"), 1)
        self.assertIsInstance(self.call("ZADD", "best", 1.5, "ada"), Error)  # integers only
        self.assertIsInstance(self.call("ZUNIONSTORE", "best", 1, "best"), Error)
        self.assertIsInstance(self.call("RENAME", "best", "other"), Error)
        self.assertEqual(self.call("ZREM", "best", "ada", "bob"), 2)
        self.check(self.server.get("/v1/boards/best"), 200)  # it stays when it is empty
        self.assertEqual(self.call("DEL", "best"), 1)
        self.check(self.server.get("/v1/boards/best"), 404)

    def test_questions_alike(self):
        """A pipeline asks them together, and of a board with rules of its own answers the same."""
        fading = {"score": {"type": "real"}, "update": "decay", "half_life": 86400}
        for board, rules in (("best", {}), ("quick", {"score": {"order": "asc"}}), ("fading", fading)):
            self.check(self.server.put(f"/v1/boards/{board}", rules), 201)
            for i in range(40):
                self.call("ZADD", board, 1 + i // 3, f"p{i}")
            questions = [["ZREVRANGE", board, i, i + 10] for i in range(-12, 50, 3)]
            questions += [["ZRANGE", board, i, i + 5, "REV"] for i in range(0, 50, 7)]
            questions += [["ZCOUNT", board, low + 0.5, low + 4.5] for low in range(-2, 16)]
            questions += [["ZREVRANK", board, f"p{i}"] for i in range(38, 42)]
            alone = [self.call(*words) for words in questions]
            self.assertEqual([reply.value for reply in self.redis.pipeline(questions)], alone, board)

    def test_matches(self):
        self.check(self.server.put("/v1/boards/chess", {"update": "glicko2"}), 201)
        duel = {"sides": [{"place": 1, "players": ["ada"]}, {"place": 2, "players": ["bob"]}], "id": "m1"}
        answer = dict(zip(*[iter(self.call("RUNG.MATCH", "chess", json.dumps(duel)))] * 2))
        rows = [dict(zip(*[iter(row)] * 2)) for row in answer[b"players"]]
        over_http = self.check(self.server.get("/v1/boards/chess/top"), 200).json["entries"]
        self.assertEqual([(r[b"player"].decode(), int(r[b"score"]), r[b"rank"], r[b"score_before"]) for r in rows],
                         [(e["player"], e["score"], e["rank"], None) for e in over_http])
        self.assertEqual([float(r[b"deviation"]) for r in rows], [e["rating"]["deviation"] for e in over_http])
        again = dict(zip(*[iter(self.call("RUNG.MATCH", "chess", json.dumps(duel)))] * 2))
        self.assertEqual((again[b"duplicate"], again[b"players"], again[b"seq"]), (1, [], answer[b"seq"]))
        side = {"place": 1, "players": ["ada"]}
        for match, word in (({"sides": [side]}, "sides"), ({"sides": [side, side]}, "sides[1].players[0].player"),
                            ({"sides": [side, {"players": ["bob"]}]}, "sides[1]"), ({**duel, "sides": duel["sides"][::-1]}, "id"),
                            ({"sides": [{"place": 1, "players": [f"p{i}" for i in range(256)]}, {"place": 2, "players": ["x"]}]}, "sides")):
            refusal = self.call("RUNG.MATCH", "chess", json.dumps(match))
            self.assertIsInstance(refusal, Error)
            self.assertIn(word, str(refusal))
        for text in ("", "{", '{"sides":[{"place":NaN,"players":["a"]}]}', "x" * 140000):
            self.assertIsInstance(self.call("RUNG.MATCH", "chess", text), Error)
        self.check(self.server.put("/v1/boards/race", {}), 201)
        self.assertIsInstance(self.call("RUNG.MATCH", "race", json.dumps(duel)), Error)
        self.assertIsInstance(self.call("RUNG.MATCH", "none", json.dumps(duel)), Error)
        self.assertEqual(self.check(self.server.get("/v1/boards/chess/top"), 200).json["entries"], over_http)
        many = [("RUNG.MATCH", "chess", json.dumps({"sides": [{"place": 1, "players": [f"p{i}"]}, {"place": 2, "players": ["bob"]}]})) for i in range(100)]
        for i, reply in enumerate(self.redis.pipeline(many)):  # each with its own answer
            self.assertEqual(dict(zip(*[iter(reply.value)] * 2))[b"players"][0][1], f"p{i}".encode())

    def test_smaller_is_better(self):
        self.check(self.server.put("/v1/boards/lap", {"score": {"type": "decimal", "decimals": 2, "order": "asc"}}), 201)
        self.assertEqual(self.call("ZADD", "lap", 61.25, "ada", 59.5, "bob", 70, "eve"), 3)
        self.assertEqual(self.call("ZRANGE", "lap", 0, -1, "WITHSCORES"), [b"bob", b"59.5", b"ada", b"61.25", b"eve", b"70"])
        self.assertEqual(self.call("ZRANK", "lap", "bob"), 0)
        self.assertEqual(self.call("RUNG.RANK", "lap", "bob"), 1)
        self.assertEqual(self.call("ZRANGEBYSCORE", "lap", 60, 70), [b"ada", b"eve"])

    def test_bans_and_erasure(self):
        self.call("ZADD", "race", 1, "ada", 2, "bob")
        self.call("SADD", "friends", "ada", "bob")
        self.check(self.server.post("/v1/players/bob/ban", {"reason": "test"}), 200)
        self.assertEqual(self.call("ZRANGE", "race", 0, -1), [b"ada"])
        self.assertEqual(self.call("ZINTER", 2, "race", "friends"), [b"ada"])
        self.assertIsInstance(self.call("ZADD", "race", 5, "bob"), Error)
        self.assertEqual(self.call("ZREM", "race", "ada"), 1)
        self.assertEqual(self.call("EXISTS", "race"), 0)  # nobody is to be seen
        self.check(self.server.delete("/v1/players/bob/ban"), 200)
        self.assertEqual(self.call("ZRANGE", "race", 0, -1, "WITHSCORES"), [b"bob", b"2"])
        self.server.delete("/v1/players/ada")
        self.assertEqual(self.call("SMEMBERS", "friends"), [b"bob"])

    def test_sums_by_every_command(self):
        """A part that could make a sum infinite is refused however it comes, as over HTTP."""
        self.check(self.server.put("/v1/boards/sum", {"update": "sum", "score": {"type": "real"}}), 201)
        self.check(self.server.post("/v1/boards/sum/scores", {"player": "ada", "score": 1e289}), 422)
        for words in (["ZADD", "sum", "1e289", "ada"], ["ZINCRBY", "sum", "-1e289", "ada"],
                      ["ZADD", "sum", "1", "bob", "1e289", "ada"], ["RUNG.SUBMIT", "sum", "ada", "1e289"]):
            self.assertRegex(str(self.call(*words)), "a sum takes parts from -1e288 to 1e288", words)
        self.assertEqual(self.call("MULTI"), "OK")
        self.assertEqual(self.call("ZADD", "sum", "1e289", "ada"), "QUEUED")
        self.assertRegex(str(self.call("EXEC")[0]), "a sum takes parts from -1e288 to 1e288")
        self.assertEqual(self.call("ZCARD", "sum"), 0)

    def test_time_is_over(self):
        self.call("ZADD", "race", 1, "ada")
        self.call("PEXPIRE", "race", 150)
        until(lambda: self.call("EXISTS", "race") == 0, "the end of the key")
        self.check(self.server.get("/v1/boards/race/top"), 404)
        until(lambda: self.server.get("/v1/boards/race").status == 404, "the end of the board")
        self.assertEqual(self.call("ZADD", "race", 2, "bob"), 1)
        self.assertEqual(self.call("TTL", "race"), -1)


class Past(ServerTest):
    """Windows that have left memory are answered by the archive, as over HTTP."""
    SEASON = {"name": "s", "starts": "2026-01-01T00:00:00Z", "ends": "2026-02-01T00:00:00Z"}
    BOARD = {"windows": ["all", SEASON], "grace": 366 * 86400, "keep": 0}

    def setUp(self):
        self.server = server = self.serve()
        self.check(server.put("/v1/boards/b", self.BOARD), 201)
        for i in range(10):
            score = {"player": f"p{i}", "score": 100 - i, "at": "2026-01-02T00:00:00Z"}
            self.check(server.post("/v1/boards/b/scores", score), 200)
        for friend in ("p3", "p9", "nobody"):
            self.check(server.put(f"/v1/players/p7/friends/{friend}"), 200)
        self.check(server.put("/v1/boards/b", {**self.BOARD, "grace": 0}), 200)
        windows = lambda: server.get("/v1/boards/b/windows?kind=season").json["windows"]
        until(lambda: [w["source"] for w in windows() if w["closed"]] == ["archive"], "the archive")
        self.redis = Connection(server.resp)
        self.addCleanup(self.redis.close)

    def call(self, *words):
        return self.redis.call(*words).value

    def test_every_question(self):
        window = ["WINDOW", "s"]
        self.assertEqual(self.call("RUNG.RANK", "b", "p4", *window), 5)
        self.assertIsNone(self.call("RUNG.RANK", "b", "nobody", *window))
        self.assertEqual(self.call("RUNG.PERCENTILE", "b", "p0", *window), b"100")
        self.assertEqual(self.call("RUNG.MRANK", "b", 3, "p9", "nobody", "p0", *window), [10, None, 1])
        self.assertEqual(self.call("RUNG.TOP", "b", "COUNT", 2, "OFFSET", 1, *window), [[2, b"p1", b"99"], [3, b"p2", b"98"]])
        self.assertEqual(self.call("RUNG.AROUND", "b", "p5", "COUNT", 1, *window),
                         [[5, b"p4", b"96"], [6, b"p5", b"95"], [7, b"p6", b"94"]])
        self.assertEqual(self.call("RUNG.AROUND", "b", "nobody", *window), [])
        self.assertEqual(self.call("RUNG.FRIENDS", "b", "p7", *window),
                         [[1, b"p3", b"97", 4], [2, b"p7", b"93", 8], [3, b"p9", b"91", 10]])
        self.assertIsInstance(self.call("RUNG.TOP", "b", "WINDOW", "t"), Error)
        self.assertEqual(self.call("RUNG.TOP", "nokey", *window), [])
        over_http = self.check(self.server.get("/v1/boards/b/top?window=s"), 200).json["entries"]
        self.assertEqual(self.call("RUNG.TOP", "b", *window),
                         [[e["rank"], e["player"].encode(), str(e["score"]).encode()] for e in over_http])

    def test_in_its_place(self):
        """Replies come in order, whatever is before and behind."""
        past = ["RUNG.RANK", "b", "p4", "WINDOW", "s"]
        lines = [["ZADD", "k", 1, "a"], past, ["ZADD", "k", 2, "b"], ["ZCARD", "k"], past, past, ["PING"],
                 ["RUNG.RANK", "k", "a"], past]
        for _ in range(20):
            self.call("DEL", "k")
            replies = [reply.value for reply in self.redis.pipeline(lines)]
            self.assertEqual(replies, [1, 5, 1, 2, 5, 5, "PONG", 2, 5])

    def test_not_in_a_transaction(self):
        self.assertEqual(self.call("MULTI"), "OK")
        self.assertEqual(self.call("RUNG.RANK", "b", "p4", "WINDOW", "s"), "QUEUED")
        self.assertEqual(self.call("RUNG.RANK", "b", "p4"), "QUEUED")
        replies = self.call("EXEC")
        self.assertRegex(replies[0], "archived")
        self.assertEqual(replies[1], 5)

    def test_gone_before_the_answer(self):
        for _ in range(20):
            with Connection(self.server.resp) as c:
                c.send(*[["RUNG.TOP", "b", "WINDOW", "s"]] * 3)
        self.assertEqual(self.call("RUNG.RANK", "b", "p4", "WINDOW", "s"), 5)


class Rates(ServerTest):
    def test_one_player(self):
        """Every submission counts for its player, whatever command it came by; the refusal says how long to wait."""
        server = self.serve("--rates-player", "4/m")
        redis = Connection(server.resp)
        self.addCleanup(redis.close)
        refusal = r"\ATHROTTLED too many submissions for this player, try again in \d+ s\Z"
        call = lambda *words: redis.call(*words).value
        self.assertEqual(call("ZADD", "race", 1, "ada"), 1)
        self.assertEqual(call("ZINCRBY", "race", 1, "ada"), b"2")
        self.assertEqual(call("RUNG.SUBMIT", "race", "ada", 3, "BRIEF"), b"3")
        self.assertEqual(call("ZADD", "race", 4, "ada", 5, "bob"), 1)
        for words in (["ZADD", "race", 9, "ada"], ["ZINCRBY", "race", 9, "ada"], ["ZADD", "race", 9, "eve", 9, "ada"],
                      ["RUNG.SUBMIT", "race", "ada", 9]):
            self.assertRegex(call(*words), refusal, words)
        self.assertEqual(call("MULTI"), "OK")
        self.assertEqual(call("ZADD", "race", 9, "ada"), "QUEUED")
        self.assertRegex(call("EXEC")[0], refusal)
        self.assertEqual(call("ZRANGE", "race", 0, -1, "WITHSCORES"), [b"ada", b"4", b"bob", b"5"])
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 9}), 429)

    def test_one_address(self):
        server = self.serve("--rates-peer", "5/m")
        redis = Connection(server.resp)
        self.addCleanup(redis.close)
        replies = [redis.call("PING").value for _ in range(6)]
        self.assertRegex(replies[-1], r"\ATHROTTLED too many commands for this key, try again in \d+ s\Z")


if __name__ == "__main__":
    unittest.main()
