#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release
"""Time and rights where strangers decide about them: dates ahead, a clock that jumps, commands queued before a board has
rules, a file of keys that is lost."""
import json
import pathlib
import time
import unittest

from resp import Connection, Error
from server import ServerTest, rung, until

HOUR = 3600 * 1000


def now_ms():
    return int(time.time() * 1000)


def stamp(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms / 1000)) + f".{ms % 1000:03d}Z"


def uuid7(ms, number=0):
    text = f"{ms:012x}7000{0x8000:04x}{number:012x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def codes_of(lines):
    return [line.get("error", {}).get("code") for line in lines]


class Ahead(ServerTest):
    def submit(self, server, board="b", **more):
        return server.post(f"/v1/boards/{board}/scores", {"player": "ada", "score": 1, **more})

    def refused(self, answer, code, field):
        self.check(answer, 422, code)
        self.assertEqual(answer.json["field"], field)

    def test_ids_and_times_ahead(self):
        server = self.serve(data=False)
        server.put("/v1/boards/b", {})
        ahead = now_ms() + 2 * HOUR
        self.refused(self.submit(server, id=uuid7(ahead)), "future_id", "id")
        self.refused(self.submit(server, at=stamp(ahead)), "future_at", "at")
        self.check(self.submit(server, at=stamp(now_ms() + 5000), id=uuid7(now_ms() + 5000)), 200)
        self.check(self.submit(server, at="2001-01-01T00:00:00Z"), 200)  # history may be sent at any time
        lines = [{"board": "b", "player": "ada", "score": 1, "at": stamp(ahead)}, {"board": "b", "player": "ada", "score": 2}]
        answer = server.post("/v1/scores", b"\n".join(json.dumps(line).encode() for line in lines),
                             headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(codes_of(answer.lines), ["future_at", None], answer)
        answer = self.check(server.post("/v1/scores", lines), 200)
        self.assertEqual(codes_of(answer.json), ["future_at", None], answer)
        with Connection(server.resp) as redis:
            reply = redis.call("RUNG.SUBMIT", "b", "ada", 3, "AT", ahead)
            self.assertIsInstance(reply.value, Error, reply)
            self.assertIn("at: ", reply.value)
            reply = redis.call("RUNG.SUBMIT", "b", "ada", 3, "ID", uuid7(ahead))
            self.assertIsInstance(reply.value, Error, reply)
            self.assertIn("id: ", reply.value)

    def test_as_far_ahead_as_is_configured(self):
        server = self.serve("--limits-at-ahead", "3h", data=False)
        server.put("/v1/boards/b", {})
        self.check(self.submit(server, at=stamp(now_ms() + 2 * HOUR)), 200)
        self.refused(self.submit(server, at=stamp(now_ms() + 4 * HOUR)), "future_at", "at")

    def test_windows_ahead_lock_nobody_out(self):
        server = self.serve("--limits-at-ahead", "87600h", data=False)
        server.put("/v1/boards/b", {"windows": ["all", "hour", "day"]})
        start = now_ms() + 72 * HOUR
        lines = [json.dumps({"board": "b", "player": "x", "score": 1, "at": stamp(start + i * HOUR)}) for i in range(4300)]
        answer = server.post("/v1/scores", "\n".join(lines).encode(), headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(codes_of(answer.lines)[-1], "limit_reached")
        self.check(self.submit(server), 200)
        self.assertEqual(server.get("/v1/boards/b/top?window=hour").json["total"], 1)


class Clock(ServerTest):
    """A jump is made by the file that the last life left: it trusted a wall clock two hours before this one."""

    def jump(self, server, ms):
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        boot_ms = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
        (server.data / "clock").write_text(f"1 {boot} {boot_ms} {now_ms() - ms}\n")

    def time_of_ada(self, server):
        return server.get("/v1/boards/b/top").json["entries"][0]["at"]

    def test_a_clock_that_is_right(self):
        server = self.serve()
        clock = self.check(server.get("/v1/clock"), 200).json
        self.assertEqual((clock["held"], clock["log_time_ahead"], clock["max_jump_ms"]), (False, False, 300000))
        self.assertNotIn("warnings", server.get("/readyz").json)
        self.assertIn("rung_clock_held 0", server.get("/metrics").body.decode())
        self.assertFalse(self.check(server.post("/v1/clock", {"accept": True}), 200).json["held"])
        self.check(server.post("/v1/clock", {"accept": False}), 422, "invalid")
        self.check(server.post("/v1/clock", {}), 400, "malformed")
        self.assertEqual(server.stop(), 0)
        version, boot, *times = (server.data / "clock").read_text().split()
        self.assertEqual((version, len(times)), ("1", 2))

    def test_a_jump_is_held_until_it_is_accepted(self):
        held = self.serve(start=False)
        held.data.mkdir()
        self.jump(held, 2 * HOUR)
        held.start()
        clock = self.check(held.get("/v1/clock"), 200).json
        self.assertTrue(clock["held"])
        self.assertTrue(2 * HOUR - 1000 < clock["offset_ms"] < 2 * HOUR + 60000, clock)
        ready = self.check(held.get("/readyz"), 200).json
        self.assertEqual((ready["status"], ready["warnings"]), ("ready", ["clock_held"]))
        self.assertIn("rung_clock_held 1", held.get("/metrics").body.decode())
        until(lambda: "the wall clock jumped ahead by" in held.log, "the line in the log")
        held.put("/v1/boards/b", {})
        self.check(held.post("/v1/boards/b/scores", {"player": "ada", "score": 1}), 200)
        self.assertLess(self.time_of_ada(held), stamp(now_ms() - HOUR))
        held.kill()
        held.start()  # the next life finds it, too
        url = f"http://127.0.0.1:{held.http[1]}"
        shown = rung("clock", "show", "--url", url)
        self.assertEqual(shown.returncode, 0, shown)
        self.assertIn("held:", shown.stdout)
        accepted = rung("clock", "accept", "--url", url, "--json")
        self.assertFalse(json.loads(accepted.stdout)["held"], accepted)
        until(lambda: "an operator has confirmed the wall clock" in held.log, "the line in the log")
        self.check(held.post("/v1/boards/b/scores", {"player": "ada", "score": 2}), 200)
        self.assertGreater(self.time_of_ada(held), stamp(now_ms() - HOUR))
        self.assertEqual(held.stop(), 0)
        self.assertFalse(held.start().get("/v1/clock").json["held"])

    def test_only_an_admin(self):
        server = self.serve()
        admin, other = server.key("admin"), server.key("server")
        self.check(server.get("/v1/clock", key=admin), 200)
        self.check(server.get("/v1/clock", key=other), 403)
        self.check(server.post("/v1/clock", {"accept": True}, key=other), 403)


class Rights(ServerTest):
    def setUp(self):
        self.server = self.serve()
        self.admin, key = self.server.key("admin"), self.server.key("server")
        self.redis, self.other = Connection(self.server.resp), Connection(self.server.resp)
        self.addCleanup(self.redis.close)
        self.addCleanup(self.other.close)
        self.assertEqual(self.redis.call("AUTH", key).value, "OK")
        self.assertEqual(self.other.call("AUTH", self.admin).value, "OK")

    def define(self, board, **more):
        self.check(self.server.put(f"/v1/boards/{board}", more, key=self.admin), 201)
        self.check(self.server.post(f"/v1/boards/{board}/scores", {"player": "ada", "score": 5}, key=self.admin), 200)

    def is_there(self, board):
        return self.server.get(f"/v1/boards/{board}/players/ada", key=self.admin).status == 200

    def test_commands_queued_before_the_board_has_rules(self):
        for i, words in enumerate([("DEL",), ("UNLINK",), ("EXPIRE", 100), ("PEXPIRE", 1), ("EXPIREAT", 1), ("PEXPIREAT", 1),
                                   ("PERSIST",)]):
            board = f"cup{i}"
            self.assertEqual(self.redis.call("MULTI").value, "OK")
            self.assertEqual(self.redis.call(words[0], board, *words[1:]).value, "QUEUED")
            self.define(board)
            reply = self.redis.call("EXEC").value  # asked again here, and once more when it takes effect (state.rules)
            self.assertIsInstance(reply, Error, words)
            self.assertRegex(reply, "^EXECABORT .*NOPERM", words)
            self.assertTrue(self.is_there(board), words)
        for words in (("RENAME", "a", "cup"), ("ZUNIONSTORE", "cup", 1, "a"), ("ZINTERSTORE", "cup", 1, "a"),
                      ("ZDIFFSTORE", "cup", 1, "a"), ("ZRANGESTORE", "cup", "a", 0, -1)):
            self.redis.call("ZADD", "a", 1, "bob")
            self.assertEqual(self.redis.call("MULTI").value, "OK")
            self.assertEqual(self.redis.call(*words).value, "QUEUED")
            self.define("cup")
            reply = self.redis.call("EXEC").value
            self.assertIsInstance(reply[0] if isinstance(reply, list) else reply, Error, words)
            self.assertTrue(self.is_there("cup"), words)
            self.check(self.server.delete("/v1/boards/cup", key=self.admin), 200)

    def test_an_admin_may(self):
        self.define("cup")
        self.assertEqual(self.other.call("MULTI").value, "OK")
        self.other.call("EXPIRE", "cup", 1000)
        self.other.call("PERSIST", "cup")
        self.other.call("EXPIRE", "cup", 1000)
        self.assertEqual(self.other.call("EXEC").value, [1, 1, 1])
        about = self.check(self.server.get("/v1/boards/cup", key=self.admin), 200).json
        self.assertGreater(about["expires"], stamp(now_ms()))
        self.check(self.server.put("/v1/boards/cup", about, key=self.admin), 200)  # as it was read
        reply = self.redis.call("PERSIST", "cup").value  # an end that an admin gave is an admin's
        self.assertIsInstance(reply, Error)
        self.assertEqual(self.other.call("DEL", "cup").value, 1)
        self.assertFalse(self.is_there("cup"))

    def test_a_key_that_becomes_a_board_loses_its_end(self):
        self.assertEqual(self.redis.call("ZADD", "cup", 1, "ada").value, 1)
        self.assertEqual(self.redis.call("EXPIRE", "cup", 1000).value, 1)
        about = self.server.get("/v1/boards/cup", key=self.admin).json
        self.assertIn("expires", about)
        self.check(self.server.put("/v1/boards/cup", {**about, "title": "The cup"}, key=self.admin), 200)
        self.assertNotIn("expires", self.server.get("/v1/boards/cup", key=self.admin).json)
        self.assertEqual(self.redis.call("TTL", "cup").value, -1)


class LostKeys(ServerTest):
    def lose_keys(self, server):
        self.assertEqual(server.stop(), 0)
        server.keys_file.unlink()

    def refuses(self, server):
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn("this data folder had keys", server.log)
        self.assertIn("rung keys create", server.log)

    def test_a_server_that_had_keys_does_not_start_without(self):
        server = self.serve()
        server.put("/v1/boards/b", {})
        server.key("admin")  # while it runs
        self.lose_keys(server)
        self.refuses(server)
        self.refuses(server)
        key = server.keys("create", "--role", "admin")
        server.start()
        self.check(server.get("/v1/boards/b"), 401)
        self.check(server.get("/v1/boards/b", key=key), 200)

    def test_keys_made_over_http_or_before_the_start(self):
        server = self.serve()
        key = self.check(server.post("/v1/keys", {"role": "admin"}), 201).json["key"]
        self.check(server.put("/v1/boards/b", {}, key=key), 201)  # the log has what came before it
        server.kill()
        server.keys_file.unlink()
        self.refuses(server)
        other = self.serve(start=False)
        other.data.mkdir()
        other.keys("create", "--role", "admin")
        other.start()
        self.lose_keys(other)
        self.refuses(other)

    def test_an_operator_may_do_without(self):
        server = self.serve()
        server.key("admin")
        self.lose_keys(server)
        server.flags += ["--allow-no-keys", "on"]
        server.start()
        self.assertIn("allow_no_keys", server.log)
        self.check(server.put("/v1/boards/b", {}), 201)
        self.assertEqual(server.stop(), 0)
        server.flags = server.flags[:-2]
        server.start()  # it is known now that there are none
        self.check(server.get("/v1/boards/b"), 200)

    def test_a_restored_backup_has_no_keys(self):
        server = self.serve()
        key = server.key("admin")
        server.put("/v1/boards/b", {}, key=key)
        self.assertEqual(server.stop(), 0)
        backup, data = server.own_folder / "backup", server.own_folder / "restored"
        self.assertEqual(rung("backup", server.data, backup).returncode, 0)
        self.assertEqual(rung("restore", backup, data).returncode, 0)
        restored = self.serve(data=data, start=False)
        self.refuses(restored)
        restored.keys("create", "--role", "admin")
        self.check(restored.start().get("/v1/boards/b"), 401)


if __name__ == "__main__":
    unittest.main()
