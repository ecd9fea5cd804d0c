#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""The audit trail: who did what, why, before and after; over HTTP and the Redis protocol."""
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection  # noqa: E402
from server import RUNG, ServerTest, until  # noqa: E402


class Audit(ServerTest):
    def records(self, server, query="", seq=0):
        """All records, oldest first, once the archive has `seq`."""
        def page(after=""):
            return self.check(server.get(f"/v1/audit?oldest_first=true&limit=3{query}{after}"), 200).json
        until(lambda: page()["archived_seq"] >= seq, "the archive")
        found, answer = [], page()
        while True:
            found += answer["records"]
            if answer["next"] is None:
                return found
            answer = page(f"&after={answer['next']}")

    def test_each_kind(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {"title": "Race"}), 201)
        self.check(server.put("/v1/boards/race", {"title": "Race", "limits": {"max": 100}}), 200)
        for score in range(200, 215):
            self.check(server.post("/v1/boards/race/scores", {"player": "mal", "score": score}), 422)
        self.check(server.post("/v1/boards/race/scores", {"player": "bob", "score": 70}), 200)
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 50}), 200)
        self.check(server.delete("/v1/boards/race/players/ada?reason=cheated"), 200)
        self.check(server.post("/v1/players/eve/ban", {"reason": "bot"}), 200)
        self.check(server.delete("/v1/players/eve/ban?reason=sorry"), 200)
        seq = self.check(server.delete("/v1/boards/race?reason=over"), 200).json["seq"]
        all_of_them = self.records(server, seq=seq)
        by = {}
        for r in all_of_them:
            by.setdefault(r["kind"], []).append(r)
        new, changed = by["board defined"]
        self.assertNotIn("before", new)
        self.assertEqual(new["details"]["title"], "Race")
        self.assertEqual(list(changed["before"]), ["limits"])
        self.assertEqual(changed["after"]["limits"]["max"], 100)
        removed = by["entry removed"][0]
        self.assertEqual((removed["board"], removed["player"], removed["reason"], removed["outcome"]), ("race", "ada", "cheated", "done"))
        self.assertEqual(removed["before"], {"rank": 2, "total": 2, "score": 50})
        self.assertTrue(removed["actor"]["address"].startswith("127.0.0.1"))
        self.assertEqual((by["banned"][0]["reason"], by["banned"][0]["before"], by["banned"][0]["after"]), ("bot", {"banned": False}, {"banned": True}))
        self.assertEqual((by["unbanned"][0]["reason"], by["unbanned"][0]["before"]), ("sorry", {"banned": True}))
        deleted = by["board deleted"][0]
        self.assertEqual((deleted["reason"], deleted["before"]["entries"]), ("over", 1))
        self.assertEqual(deleted["before"]["definition"]["limits"]["max"], 100)
        # at most ten of a minute are in the trail, and the clock may pass from one minute to the next
        refused = by["refused"]
        self.assertIn(len(refused), range(10, 16))
        self.assertEqual((refused[0]["player"], refused[0]["rule"], refused[0]["details"]), ("mal", "max", {"value": 200, "limit": 100}))
        # filters
        self.assertEqual([r["kind"] for r in self.records(server, "&player=eve")], ["banned", "unbanned"])
        self.assertEqual({r["board"] for r in self.records(server, "&board=race")}, {"race"})
        self.assertEqual(len(self.records(server, "&kind=banned")), 1)
        self.assertEqual(self.records(server, "&to=2020-01-01T00:00:00Z"), [])
        newest = self.check(server.get("/v1/audit?limit=1"), 200).json["records"][0]
        self.assertEqual(newest["kind"], "board deleted")
        self.assertEqual(server.get("/v1/audit?after=nonsense").status, 400)

    def test_redis(self):
        server = self.serve()
        with Connection(server.resp) as client:
            client.call("ZADD", "k", 1, "a", 2, "b")
            client.call("DEL", "k")
            client.call("ZADD", "j", 1, "a")
            client.call("RENAME", "j", "l")
            client.call("FLUSHALL")
        seq = self.check(server.post("/v1/players/eve/ban", {}), 200).json["seq"]
        gone, renamed, flushed = self.records(server, "&kind=keys", seq)
        self.assertEqual(gone["before"], [{"key": "k", "members": 2}])
        self.assertEqual(renamed["before"][0], {"key": "j", "members": 1})
        self.assertEqual(flushed["before"][0]["entries"], 1)
        self.assertTrue(flushed["actor"]["address"].startswith("127.0.0.1"))

    def test_keys(self):
        """Made over HTTP and with the command, revoked, and shown by the command line."""
        server = self.serve()
        made = self.check(server.post("/v1/keys", {"role": "admin"}), 201).json
        admin = made["key"]
        other = self.check(server.post("/v1/keys", {"role": "server", "boards": ["race-*", "x"]}, key=admin), 201).json
        self.check(server.delete(f"/v1/keys/{other['id']}", key=admin), 200)
        by_hand = server.key("read")

        def changes():
            answer = self.check(server.get("/v1/audit?kind=key%20changed&oldest_first=true", key=admin), 200)
            self.assertNotIn(admin, str(answer.json))
            return answer.json["records"]
        until(lambda: len(changes()) == 4, "four changes")
        first, second, revoked, file = changes()
        self.assertEqual((first["details"]["id"], first["details"]["role"], first["details"]["revoked"]), (made["id"], "admin", False))
        self.assertEqual((second["details"]["boards"], second["actor"]["key"]), ("race-*,x", made["id"]))
        self.assertEqual((revoked["details"]["id"], revoked["details"]["revoked"], revoked["actor"]["key"]), (other["id"], True, made["id"]))
        self.assertEqual((file["details"]["role"], file["actor"]), ("read", {"address": "file"}))
        shown = subprocess.run([RUNG, "audit", "--url", "http://%s:%d" % tuple(server.http), "--kind", "key changed"],
                               env={**os.environ, "RUNG_KEY": admin}, capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown.count("key changed"), 4)
        self.assertIn(made["id"], shown)
        # who may read it
        self.assertEqual(server.get("/v1/audit").status, 401)
        self.assertEqual(server.get("/v1/audit", key=by_hand).status, 403)
        limited = self.check(server.post("/v1/keys", {"role": "admin", "boards": ["race-*"]}, key=admin), 201).json["key"]
        self.assertEqual(server.get("/v1/audit", key=limited).status, 403)
        self.assertEqual(server.get("/v1/audit?board=other", key=limited).status, 403)
        self.check(server.get("/v1/audit?board=race-1", key=limited), 200)

    def test_without_an_archive(self):
        server = self.serve("--archive", "off")
        self.check(server.get("/v1/audit"), 422, "unsupported")


if __name__ == "__main__":
    unittest.main()
