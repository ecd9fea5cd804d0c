#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""A data folder as it was at a moment: beside the server that writes it, exact, and without changing a byte."""
import pathlib
import unittest

from resp import Connection, Error
from server import ServerTest, rung, until


def files_of(folder):
    """Names, sizes and times of change of all files."""
    return {p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir()}


def children_of(pid):
    return [int(word) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Past(ServerTest):
    def past(self, server, moment, *flags):
        """A second server, of the same folder, at a moment."""
        return self.serve("--as-of", moment, *flags, data=server.data)

    def test_a_folder_beside_its_server(self):
        server = self.serve()
        server.put("/v1/boards/race", {"windows": ["day"]})
        answers = []
        for i in range(40):
            answer = server.post("/v1/boards/race/scores", {"player": f"p{i % 7}", "score": i * 37 % 101})
            top = server.get("/v1/boards/race/top")
            answers.append((answer.json["seq"], top.body))
        seq, body = answers[10]
        past = self.past(server, seq)
        self.assertEqual(past.get("/v1/boards/race/top").body, body)
        self.assertEqual(past.get("/readyz").json["seq"], seq)
        # The writer goes on, and nobody disturbs it.
        self.assertEqual(server.post("/v1/boards/race/scores", {"player": "new", "score": 5}).status, 200)
        self.assertEqual(past.get("/v1/boards/race/top").body, body)
        # Nothing can be changed, over any protocol.
        self.check(past.post("/v1/boards/race/scores", {"player": "x", "score": 5}), 403, "read_only")
        self.check(past.put("/v1/boards/other", {}), 403, "read_only")
        self.check(past.delete("/v1/players/p1"), 403, "read_only")
        self.check(past.post("/v1/keys", {"role": "admin"}), 403, "read_only")
        with Connection(past.resp) as redis:
            reply = redis.call("ZADD", "race", 1, "x")
            self.assertIsInstance(reply.value, Error)
            self.assertTrue(reply.value.startswith("READONLY "), reply)
            self.assertEqual(redis.call("ZCARD", "race").value, 7)
        self.assertEqual(past.stop(), 0)

    def test_a_folder_that_nobody_serves_and_keys(self):
        server = self.serve()
        key = server.key("admin")
        server.put("/v1/boards/race", {}, key=key)
        seq = server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, key=key).json["seq"]
        server.post("/v1/boards/race/scores", {"player": "ada", "score": 2}, key=key)
        server.stop()
        before = files_of(server.data)
        past = self.past(server, seq)
        self.check(past.get("/v1/boards/race/top"), 401, "unauthorized")
        self.assertEqual(past.get("/v1/boards/race/top", key=key).json["entries"][0]["score"], 1)
        past.stop()
        self.assertEqual(files_of(server.data), before)

    def test_questions_to_a_running_server(self):
        server = self.serve("--as-of-rate", "off", "--as-of-wait", "60s")
        server.put("/v1/boards/race", {"windows": ["day"], "teams": {"by": "country"}})
        server.put("/v1/players/p1", {"country": "CH"})
        paths = ["top?limit=5", "top?window=day", "players/p1?around=2", "players?ids=p1,p2,no", "at-score/50", "target?rank=2", "count?min=10",
                 "distribution?buckets=4", "teams", "friends/p1", "players/nobody"]
        recorded = []
        for i in range(30):
            server.post("/v1/boards/race/scores", {"player": f"p{i % 7}", "score": i * 37 % 101})
            if i == 10:
                self.check(server.put("/v1/players/p1/friends/p2"), 200)
            if i == 15:
                self.check(server.post("/v1/players/p3/ban", {"reason": "test"}), 200)
            if i == 20:
                self.check(server.delete("/v1/players/p2"), 200)
            if i % 5 == 0:
                seq = server.get("/readyz").json["seq"]
                recorded.append((seq, {path: server.get(f"/v1/boards/race/{path}") for path in paths}))
        for seq, answers in recorded:
            for path, then in answers.items():
                with self.subTest(seq=seq, path=path):
                    now = server.get(f"/v1/boards/race/{path}{'&' if '?' in path else '?'}as_of={seq}")
                    self.assertEqual((now.status, now.body), (then.status, then.body))
                    self.assertEqual(now.headers["content-type"], then.headers["content-type"])
        self.assertEqual(server.stop(), 0)

    def test_over_the_redis_protocol(self):
        server = self.serve("--as-of-rate", "off", "--as-of-wait", "60s")
        commands = [("ZREVRANGE", "race", 0, -1, "WITHSCORES"), ("ZRANK", "race", "p1"), ("ZSCORE", "race", "p9"), ("ZCARD", "race"),
                    ("RUNG.TOP", "race"), ("RUNG.AROUND", "race", "p1", "COUNT", 2), ("RUNG.MRANK", "race", 2, "p1", "p9"), ("TYPE", "none"),
                    ("ZUNION", 2, "race", "other", "WITHSCORES"), ("ZRANGE", "race", "x", "y")]
        for version in (2, 3):
            with Connection(server.resp, version) as redis:
                recorded = []
                for i in range(12):
                    redis.call("ZADD", "race", i * 37 % 11, f"p{i % 5}", i, f"q{i}")
                    if i % 4 == 0:
                        recorded.append((redis.call("RUNG.SEQ").value, [redis.call(*c).raw for c in commands]))
                for seq, replies in recorded:
                    for command, then in zip(commands, replies):
                        self.assertEqual(redis.call("RUNG.ASOF", seq, *command).raw, then, command)
                for words, start in ((("0", "ZCARD", "race"), "ERR "), (("x", "ZCARD", "race"), "ERR "), (("99999999", "ZCARD", "race"), "ERR as_of"),
                                     (("1", "ZADD", "race", 1, "x"), "ERR '"), (("1", "NONE"), "ERR '"), (("1", "KEYS", "*"), "ERR '"),
                                     (("1", "ZCARD"), "ERR wrong number"), (("1", "RUNG.ASOF", "1", "ZCARD", "race"), "ERR '"),
                                     (("2001-01-01T00:00:00Z", "ZCARD", "race"), "ERR as_of")):
                    reply = redis.call("RUNG.ASOF", *words)
                    self.assertIsInstance(reply.value, Error, words)
                    self.assertTrue(reply.value.startswith(start), (words, reply))
                self.assertEqual(redis.call("PING").value, "PONG")

    def test_on_the_command_line(self):
        server = self.serve("--as-of-wait", "60s")
        server.put("/v1/boards/race", {})
        seqs = [server.post("/v1/boards/race/scores", {"player": name, "score": 5}).json["seq"] for name in ("ada", "zoe")]
        server.put("/v1/players/ada/friends/zoe")
        url = f"http://{server.http[0]}:{server.http[1]}"
        for words in (("top", "race"), ("rank", "race", "ada"), ("export", "race"), ("player", "friends", "ada", "--board", "race")):
            done = rung(*words, "--as-of", seqs[0], "--url", url)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn("ada", done.stdout)
            self.assertNotIn("zoe", done.stdout)
        self.assertEqual(rung("board", "show", "race", "--as-of", seqs[0], "--url", url).returncode, 0)
        self.assertNotEqual(rung("board", "show", "race", "--as-of", 1, "--url", url).returncode, 0)
        done = rung("top", "race", "--as-of", 1 << 40, "--url", url)
        self.assertIn("422 invalid", done.stderr)

    def test_refusals_of_a_running_server(self):
        server = self.serve("--as-of-wait", "60s")
        server.put("/v1/boards/race", {})
        for moment, status, code in (("0", 400, "malformed"), ("x", 400, "malformed"), ("9999999", 422, "invalid"), ("", 400, "malformed"),
                                     ("2999-01-01T00:00:00Z", 422, "invalid"), ("2001-01-01T00:00:00Z", 404, "as_of_too_old")):
            answer = server.get(f"/v1/boards/race/top?as_of={moment}")
            self.check(answer, status, code)
            self.assertEqual(answer.json.get("field"), "as_of", answer)
        self.assertIn("sequence 1 ", answer.json["detail"])
        self.check(self.serve(data=False).get("/v1/boards/race/top?as_of=1"), 422, "unsupported")
        self.check(self.serve("--as-of-processes", "0").get("/v1/boards/race/top?as_of=1"), 422, "unsupported")

    def test_who_may_ask(self):
        server = self.serve("--as-of-wait", "60s")
        admin = server.key("admin")
        server.put("/v1/boards/race", {}, key=admin)
        reader = server.key("read", "--boards", "other-*")
        seq = server.get("/readyz").json["seq"]
        self.check(server.get(f"/v1/boards/race/top?as_of={seq}"), 401, "unauthorized")
        self.check(server.get(f"/v1/boards/race/top?as_of={seq}", key=reader), 403, "forbidden")
        self.check(server.get(f"/v1/boards/race/top?as_of={seq}", key=admin), 200)

    def test_a_moment_that_takes_long(self):
        server = self.serve("--as-of-wait", "1ms")
        server.put("/v1/boards/race", {})
        answer = server.get("/v1/boards/race/top?as_of=1")
        if answer.status != 200:  # the machine may be that fast
            self.check(answer, 503, "as_of_building")
            self.assertIn("percent", answer.json["progress"])
            self.assertEqual(answer.headers["retry-after"], "1")
        until(lambda: server.get("/v1/boards/race/top?as_of=1").status in (200, 404), "the helper")

    def test_helpers_are_few_and_end_with_their_server(self):
        server = self.serve("--as-of-rate", "off", "--as-of-wait", "60s")
        server.put("/v1/boards/race", {})
        for i in range(6):
            server.post("/v1/boards/race/scores", {"player": "ada", "score": i})
        for seq in range(1, 7):
            self.assertIn(server.get(f"/v1/boards/race/top?as_of={seq}").status, (200, 404))
            self.assertLessEqual(len(children_of(server.process.pid)), 2)
        helpers = children_of(server.process.pid)
        self.assertTrue(helpers)
        server.kill()
        until(lambda: not any(is_alive(pid) for pid in helpers), "the end of the helpers")

    def test_bad_moments(self):
        server = self.serve()
        server.put("/v1/boards/race", {})
        for moment, words in (("0", "as_of"), ("yesterday", "as_of"), ("99999999", "as_of"), ("2999-01-01T00:00:00Z", "future"),
                              ("2001-01-01T00:00:00Z", "oldest moment")):
            with self.subTest(moment=moment):
                done = rung("serve", "--as-of", moment, "--data", server.data, "--http", "127.0.0.1:0", "--resp", "off")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
        done = rung("serve", "--as-of", "1", "--http", "127.0.0.1:0")
        self.assertIn("as_of: needs a data folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
