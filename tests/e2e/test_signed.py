#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""Players' own submissions: sessions, signatures, nonces; over HTTP, WebSocket and the Redis protocol; after a kill."""
import json
import os
import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, Error  # noqa: E402
from server import SOURCE, ServerTest, token, until  # noqa: E402
from signer import Signer, now_ms, signature  # noqa: E402
from test_live import WebSocket  # noqa: E402

SECRET = b"a secret of the login service ------"
PATH = "/v1/boards/race/scores"


class Signed(ServerTest):
    def open(self, *flags):
        """A server with keys, and a board whose writers are players."""
        server = self.serve(*flags, start=False)
        secret = server.data / "login.secret"
        server.data.mkdir(exist_ok=True)
        secret.write_bytes(SECRET)
        self.admin, self.key = server.key("admin"), server.key("server")
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
        self.master = server.keys("create", "--role", "player-token", "--alg", "session")
        server.start()
        self.check(server.put("/v1/boards/race", {"writers": "player", "update": "last"}, key=self.admin), 201)
        self.check(server.put("/v1/boards/closed", {"update": "last"}, key=self.admin), 201)
        return server

    def token(self, player):
        return token({"sub": player, "exp": int(time.time()) + 3600}, secret=SECRET, kid="login")

    def session(self, server, player, **more):
        return self.check(server.post("/v1/sessions", {"player": player, **more}, key=self.key), 201).json

    def send(self, server, signer, player="ada", score=1, path=PATH, **more):
        body = json.dumps({"player": player, "score": score}).encode()
        return server.request("POST", path, body, key=self.token("ada"), headers=signer.headers("POST", path, body, **more))

    def score(self, server, player="ada", board="race"):
        answer = server.get(f"/v1/boards/{board}/players/{player}", key=self.admin)
        return answer.json["entry"]["score"] if answer.status == 200 else None

    def test_who_may(self):
        server = self.open()
        ada = self.token("ada")
        for key, status in ((None, 401), (ada, 403), (server.key("read"), 403), (server.key("server", "--boards", "race"), 403)):
            self.check(server.post("/v1/sessions", {"player": "ada"}, key=key), status)
            self.check(server.delete("/v1/sessions/" + "A" * 22, key=key), status)
            self.check(server.delete("/v1/players/ada/sessions", key=key), status)
        begun = self.session(server, "ada")
        self.assertEqual((len(begun["session"]), len(begun["secret"]), begun["window_s"]), (22, 43, 300))
        signer = Signer(begun)
        self.assertEqual(self.check(self.send(server, signer, score=7), 200).json["score"], 7)
        self.assertEqual(self.check(self.send(server, signer, player="me", score=8), 200).json["player"], "ada")
        # unsigned, for another player, on a closed board, dated, with another player's token
        self.check(server.post(PATH, {"player": "ada", "score": 9}, key=ada), 403, "forbidden")
        self.check(self.send(server, signer, player="bob", score=9), 403, "forbidden")
        self.check(self.send(server, signer, path="/v1/boards/closed/scores"), 403, "forbidden")
        body = b'{"player": "ada", "score": 9, "at": 1}'
        self.check(server.request("POST", PATH, body, key=ada, headers=signer.headers("POST", PATH, body)), 422, "invalid")
        body = b'{"player": "bob", "score": 9}'
        answer = server.request("POST", PATH, body, key=self.token("bob"), headers=signer.headers("POST", PATH, body))
        self.check(answer, 401, "signature")
        for path in ("/v1/scores", "/v1/boards/race/check", "/v1/boards/race/matches"):
            body = b'{"player": "ada", "score": 9, "board": "race"}'
            answer = server.request("POST", path, body, key=ada, headers=signer.headers("POST", path, body))
            self.check(answer, 403, "forbidden")
        self.assertEqual(self.score(server), 8)
        # a server's key needs no signature there
        self.check(server.post(PATH, {"player": "ada", "score": 10}, key=self.key), 200)

    def test_each_field_altered(self):
        server = self.open()
        signer, other = Signer(self.session(server, "ada")), Signer(self.session(server, "ada"))
        ada = self.token("ada")
        body = json.dumps({"player": "ada", "score": 5, "attested": {"duration_ms": 61000, "seed": "s1", "replay": "r1"}}).encode()
        headers = signer.headers("POST", PATH, body)
        flip = lambda text: ("1" if text[0] == "0" else "0") + text[1:]
        altered = [(PATH, body, {**headers, "Rung-Session": other.session}, "signature"),
                   (PATH, body, {**headers, "Rung-Session": "A" * 22}, "expired"),
                   (PATH, body, {**headers, "Rung-Session": "short"}, "signature"),
                   (PATH, body, {**headers, "Rung-Time": str(int(headers["Rung-Time"]) + 1)}, "signature"),
                   (PATH, body, {**headers, "Rung-Time": "0" + headers["Rung-Time"]}, "signature"),
                   (PATH, body, {**headers, "Rung-Nonce": "2"}, "signature"),
                   (PATH, body, {**headers, "Rung-Nonce": "0"}, "signature"),
                   (PATH, body, {**headers, "Rung-Nonce": str(2**63)}, "signature"),
                   (PATH, body, {**headers, "Rung-Signature": flip(headers["Rung-Signature"])}, "signature"),
                   (PATH, body, {**headers, "Rung-Signature": headers["Rung-Signature"][:-1]}, "signature"),
                   (PATH.replace("race", "r%61ce"), body, headers, "signature"),
                   (PATH, body + b" ", headers, "signature")]
        for old, new in ((b"5", b"6"), (b"61000", b"61001"), (b"s1", b"s2"), (b"r1", b"r2"), (b"ada", b"adb")):
            altered.append((PATH, body.replace(old, new, 1), headers, "signature"))
        for name in ("Rung-Session", "Rung-Time", "Rung-Nonce"):
            altered.append((PATH, body, {k: v for k, v in headers.items() if k != name}, "signature"))
        for path, sent, fields, code in altered:
            with self.subTest(path=path, sent=sent, fields=fields):
                self.check(server.request("POST", path, sent, key=ada, headers=fields), 401, code)
        put = signature(signer.secret, "PUT", PATH, body, signer.session, int(headers["Rung-Time"]), 1)
        self.check(server.request("POST", PATH, body, key=ada, headers={**headers, "Rung-Signature": put}), 401, "signature")
        self.assertIsNone(self.score(server))
        self.check(server.request("POST", PATH, body, key=ada, headers=headers), 200)
        self.check(server.request("POST", PATH, body, key=ada, headers=headers), 409, "replayed")
        for seconds in (-301, 301):
            self.check(self.send(server, signer, time_ms=now_ms() + seconds * 1000), 401, "expired")
        self.check(self.send(server, signer, score=6, time_ms=now_ms() - 290_000), 200)

    def test_replays_across_a_kill(self):
        server = self.open()
        signer = Signer(self.session(server, "ada"))
        ada = self.token("ada")
        sent = []
        for score in range(1, 21):
            body = json.dumps({"player": "ada", "score": score}).encode()
            sent.append((body, signer.headers("POST", PATH, body)))
            self.check(server.request("POST", PATH, body, key=ada, headers=sent[-1][1]), 200)
        body = b'{"player": "ada", "score": 99}'
        for round_ in range(3):
            server.kill()
            server.start()
            for old, headers in sent:
                self.check(server.request("POST", PATH, old, key=ada, headers=headers), 409, "replayed")
            self.assertEqual(self.score(server), 20)
            if round_ == 0:  # the rest starts from a snapshot
                before = server.get("/v1/digest", key=self.admin).json
                self.check(server.post("/v1/snapshot", key=self.admin), 202)
                until(lambda: "rung_snapshots_total 1" in server.get("/metrics", key=self.admin).body.decode(), "the snapshot")
                self.assertEqual(before["digest"], server.get("/v1/digest", key=self.admin).json["digest"])
        self.check(server.request("POST", PATH, body, key=ada, headers=signer.headers("POST", PATH, body)), 200)
        # a refused one had no effect, and its nonce is still good
        self.check(self.send(server, signer, player="ada", score="x", nonce=50), 422)
        self.check(self.send(server, signer, score=3, nonce=50), 200)
        # nothing of the secret is stored
        for path in server.data.rglob("*"):
            if path.is_file():
                self.assertNotIn(signer.secret.encode(), path.read_bytes(), path)

    def test_sessions_end(self):
        server = self.open("--limits-signature-window", "30s")
        first = self.session(server, "ada", life_s=60)
        self.assertEqual(first["window_s"], 30)
        self.check(self.send(server, Signer(first), time_ms=now_ms() - 31_000), 401, "expired")
        signers = [Signer(first)] + [Signer(self.session(server, "ada")) for _ in range(3)]
        for s in signers:
            self.check(self.send(server, s), 200)
        signers.append(Signer(self.session(server, "ada")))  # the fifth ends the first
        self.check(self.send(server, signers[0]), 401, "expired")
        self.assertEqual(self.check(server.delete(f"/v1/sessions/{signers[1].session}", key=self.key), 200).json["changed"], True)
        self.assertEqual(self.check(server.delete(f"/v1/sessions/{signers[1].session}", key=self.key), 200).json["changed"], False)
        self.check(server.delete("/v1/sessions/short", key=self.key), 400)
        self.check(self.send(server, signers[1]), 401, "expired")
        self.check(self.send(server, signers[2]), 200)
        bob = self.session(server, "bob")
        self.check(server.delete("/v1/players/ada/sessions", key=self.key), 200)
        for s in signers:
            self.check(self.send(server, s), 401, "expired")
        body = b'{"player": "bob", "score": 3}'
        self.check(server.request("POST", PATH, body, key=self.token("bob"), headers=Signer(bob).headers("POST", PATH, body)), 200)
        for bad in ({}, {"player": ""}, {"player": "a", "life_s": 59}, {"player": "a", "life_s": 604801}, {"player": "a", "more": 1}):
            self.check(server.post("/v1/sessions", bad, key=self.key), 400)
        # without its key a session is worth nothing, and there are no new ones
        last = Signer(self.session(server, "ada"))
        server.revoke(self.master)
        until(lambda: self.send(server, last).code == "expired", "the key to be revoked")
        self.check(server.post("/v1/sessions", {"player": "ada"}, key=self.key), 422, "unsupported")

    def test_redis_protocol(self):
        server = self.open()
        signer = Signer(self.session(server, "ada"))
        with Connection(server.resp) as c:
            self.assertEqual(c.call("AUTH", self.token("ada")).value, "OK")
            command = signer.command("race", "ada", 5, "ID", "x1", "BRIEF")
            self.assertEqual(c.call(*command).value, b"5")
            self.assertRegex(c.call(*command).value, "^REPLAYED ")
            self.assertRegex(c.call("RUNG.SUBMIT", "race", "ada", 6).value, "^NOPERM ")
            self.assertRegex(c.call("RUNG.SUBMIT", "race", "ada", 6, 7, 8, 9, 10, 11).value, "^NOPERM ")
            self.assertRegex(c.call("ZADD", "race", 6, "ada").value, "^NOPERM ")
            good = signer.command("race", "me", 6, "BRIEF")
            for at in range(2, len(good)):
                bad = list(good)
                bad[at] = "1" * len(str(bad[at]))
                with self.subTest(at=at):
                    self.assertIsInstance(c.call(*bad).value, Error)
            self.assertRegex(c.call(*signer.command("race", "bob", 6)).value, "^NOPERM ")
            self.assertRegex(c.call(*signer.command("closed", "ada", 6)).value, "^NOPERM ")
            self.assertRegex(c.call(*signer.command("race", "ada", 6, time_ms=now_ms() - 400_000)).value, "^EXPIRED ")
            self.assertRegex(c.call(*signer.command("race", "ada", 6, "ID")).value, "^ERR syntax")
            self.assertEqual(c.call(*good).value, b"6")
            # in a pipeline each one is looked at
            commands = [signer.command("race", "ada", n, "BRIEF") for n in (7, 8)]
            commands[1:1] = [["RUNG.SUBMIT", "race", "ada", "9", "BRIEF", "SIGNED", *commands[0][-4:]], commands[0]]
            replies = [r.value for r in c.pipeline(commands)]
            self.assertEqual((replies[0], replies[3]), (b"7", b"8"))
            self.assertIsInstance(replies[1], Error)
            self.assertRegex(replies[2], "^REPLAYED ")
        self.assertEqual(self.score(server), 8)

    def test_websocket(self):
        server = self.open()
        signer = Signer(self.session(server, "ada"))
        ws = WebSocket(server, "/v1/players/me/live", Authorization="Bearer " + self.token("ada"))
        self.addCleanup(ws.close)
        self.assertEqual(ws.status, 101)

        def submit(body, **more):
            session, time_ms, nonce, mac = signer.fields("POST", PATH, body.encode(), **more)
            return {"op": "submit", "session": session, "time": time_ms, "nonce": nonce, "signature": mac, "body": body, "board": "race"}

        def ask(message):
            ws.send(message)
            while (got := ws.message())["type"] not in ("error", "outcome"):
                pass
            return got

        good = submit('{"player": "me", "score": 12}')
        for field in ("session", "time", "nonce", "signature", "body"):
            with self.subTest(field=field):
                bad = dict(good)
                del bad[field]
                self.assertEqual(ask(bad)["code"], "signature")
        self.assertEqual(ask({**good, "board": ""})["code"], "malformed")
        self.assertEqual(ask({**good, "board": "closed"})["code"], "forbidden")
        self.assertEqual(ask({**good, "body": '{"player": "me", "score": 13}'})["code"], "signature")
        got = ask(good)
        self.assertEqual((got["type"], got["nonce"], got["player"], got["score"], got["rank"]), ("outcome", 1, "ada", 12, 1))
        self.assertEqual(ask(good)["code"], "replayed")
        self.assertEqual(ask(submit('{"player": "bob", "score": 1}'))["code"], "forbidden")
        self.assertEqual(ask(submit('{"player": "ada"}'))["code"], "invalid")
        self.assertEqual(ask(submit('[]'))["code"], "malformed")
        self.assertEqual(ask(submit('{"player": "ada", "score": 1}', time_ms=now_ms() + 400_000))["code"], "expired")
        self.assertEqual(self.score(server), 12)


class Docs(Signed):
    """docs/trust.md is true: its recipes run."""
    test_who_may = test_each_field_altered = test_replays_across_a_kill = test_sessions_end = test_redis_protocol = test_websocket = None

    def test_recipes(self):
        server = self.open()
        recipes = {}
        blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "docs/trust.md").read_text(), re.S | re.M)
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            exec(block, recipes)
        call = lambda method, path, body=None: server.request(method, path, body, key=self.key).json
        begun = recipes["begin_session"](call, "ada")
        for nonce, score in ((1, 10), (2, 30)):
            target, body, headers = recipes["submission"](begun["session"], begun["secret"], "race", score, nonce, 61_000)
            answer = server.request("POST", target, body, key=self.token("ada"), headers=headers)
            self.assertEqual(self.check(answer, 200).json["score"], score)
        self.assertTrue(recipes["log_out"](call, "ada")["changed"])
        target, body, headers = recipes["submission"](begun["session"], begun["secret"], "race", 40, 3, 61_000)
        self.check(server.request("POST", target, body, key=self.token("ada"), headers=headers), 401, "expired")


if __name__ == "__main__":
    unittest.main(verbosity=2)
