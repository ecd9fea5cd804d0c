#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""What a key may see, and for how long: every answer is held against the boards of the key, every operation that lasts against
its end. test_auth.py has the other half: who may ask at all."""
import itertools
import json
import os
import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, Error, encode  # noqa: E402
from server import ServerTest, ed25519_pem, token, until  # noqa: E402
from test_live import Stream, WebSocket  # noqa: E402

PRIVATE = bytes(range(1, 33))
SECRET = b"a secret of thirty-two bytes, or more"
# What goes into the path of an operation, beside the board; and the query that it needs.
PARAMETERS = {"player": "ada", "friend": "bob", "score": "5", "team": "red", "attribute": "country", "key": "nobody", "review": "1", "match": "@1", "session": "A" * 22}
QUERIES = {"getEntries": "ids=ada", "getTarget": "rank=1", "getHistory": "board={board}", "getSubmissions": "board={board}"}
PROFILE = {"name": "Ada", "country": "FI", "guild": "red", "email": "ada@example.org", "clan": "hidden"}


def claims(player):
    return {"sub": player, "exp": int(time.time()) + 3600}


class AccessTest(ServerTest):
    def populated(self, *flags):
        """A server with boards that a key limited to mine-* may see, and others; and all kinds of credentials."""
        server = self.serve(*flags)
        (server.own_folder / "secret").write_bytes(SECRET)
        (server.own_folder / "login.pem").write_text(ed25519_pem(PRIVATE))
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", server.own_folder / "secret", "--id", "all")
        server.keys("create", "--role", "player-token", "--alg", "EdDSA", "--public", server.own_folder / "login.pem", "--id", "some",
                    "--boards", "mine-*")
        who = {f"mine {role}": server.key(role, "--boards", "mine-*") for role in ("read", "server", "admin")}
        who["mine token"] = token(claims("ada"), ed25519=PRIVATE, kid="some")
        who["token"] = token(claims("ada"), secret=SECRET, kid="all")
        who.update({role: server.key(role) for role in ("read", "server", "admin")})
        server.always = who["admin"]
        for board in ("secret-0", "mine-1", "secret-1", "mine-2", "secret-2"):
            attribute = "clan" if board.startswith("secret") else "country"
            self.check(server.put(f"/v1/boards/{board}", {"scopes": [attribute], "teams": {"by": "guild", "combine": "sum"}}), 201)
        for player in ("ada", "bob"):
            self.check(server.put(f"/v1/players/{player}", PROFILE), 200)
            for board in ("mine-1", "mine-2", "secret-1", "secret-2"):
                self.check(server.post(f"/v1/boards/{board}/scores", {"player": player, "score": len(player) + ord(player[0])}), 200)
        self.check(server.put("/v1/players/ada/friends/bob"), 200)
        server.always = None
        return server, who

    def operations(self, server, methods=("get",)):
        for path, by_method in server.get("/openapi.json").json["paths"].items():
            for method, operation in by_method.items():
                if method in methods:
                    yield method, path, operation

    @staticmethod
    def url(path, operation, board, player="ada"):
        values = {**PARAMETERS, "board": board, "player": player}
        query = QUERIES.get(operation["operationId"], "").format(board=board)
        return re.sub(r"{(\w+)}", lambda m: values[m[1]], path) + ("?" + query if query else "")

    def answer(self, server, method, url, credentials):
        """Status and all bytes of an answer; of a stream the first event."""
        head = f"{method.upper()} {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if credentials:
            head += f"Authorization: Bearer {credentials}\r\n"
        body = b""
        if method in ("put", "post"):
            body = b"{}"
            head += "Content-Type: application/json\r\nContent-Length: 2\r\n"
        with server.connect() as s:
            s.sendall(head.encode() + b"\r\n" + body)
            got = b""
            while not (b"text/event-stream" in got and b"event: state" in got and got.endswith(b"\n\n\r\n")):
                chunk = s.recv(65536)
                if not chunk:
                    break
                got += chunk
        return int(got[9:12]), got


class Isolation(AccessTest):
    def test_no_answer_tells_of_other_boards(self):
        server, who = self.populated()
        count = 0
        for method, path, operation in self.operations(server):
            if operation["operationId"] == "getOpenapi":
                continue
            url = self.url(path, operation, "mine-1")
            for name in ("mine read", "mine server", "mine admin", "mine token"):
                status, got = self.answer(server, method, url, who[name])
                self.assertNotIn(b"secret", got, f"{url} with {name}")
                count += status == 200
        self.assertGreater(count, 60)

    def test_other_boards_cannot_be_told_from_none(self):
        """The same answer, byte for byte, whether a board outside is there or not."""
        server, who = self.populated()
        for method, path, operation in self.operations(server, ("get", "put", "post", "delete")):
            if "{board}" not in path + QUERIES.get(operation["operationId"], ""):
                continue
            for name in ("mine read", "mine server", "mine admin", "mine token"):
                there, none = (self.answer(server, method, self.url(path, operation, board), who[name]) for board in ("secret-1", "secret-9"))
                self.assertEqual(there[0], 403, f"{method} {path} with {name}")
                self.assertEqual(re.sub(rb"\r\nDate: [^\r]*", b"", there[1]), re.sub(rb"\r\nDate: [^\r]*", b"", none[1]))

    def test_a_list_has_no_page_without_boards(self):
        server, who = self.populated()
        page = server.get("/v1/boards?limit=1", key=who["mine read"]).json
        self.assertEqual([b["id"] for b in page["boards"]], ["mine-1"])
        page = server.get(f"/v1/boards?limit=1&cursor={page['next']}", key=who["mine read"]).json
        self.assertEqual(([b["id"] for b in page["boards"]], page["next"]), (["mine-2"], None))  # secret-2 follows it

    def test_metrics_of_a_limited_key(self):
        server, who = self.populated()
        seen = server.get("/metrics", key=who["mine read"]).body.decode()
        self.assertEqual(set(re.findall(r'board="([^"]*)"', seen)), {"mine-1", "mine-2"})
        self.assertIn('rung_board_entries{board="mine-1"} 2', seen)
        for name in ("rung_boards", "rung_entries", "rung_players", "rung_events_total", "rung_state_bytes", "rung_http_requests_total"):
            self.assertNotRegex(seen, rf"(?m)^{name}[ {{]")
        self.assertIn("rung_boards 5", server.get("/metrics", key=who["read"]).body.decode())

    def test_a_feed_of_a_limited_key(self):
        server, who = self.populated()
        scores = itertools.count(1000)
        for name, boards in (("mine read", ["mine-1", "mine-2"]), ("mine token", ["mine-1", "mine-2"]),
                             ("read", ["mine-1", "mine-2", "secret-1", "secret-2"]), ("token", ["mine-1", "mine-2", "secret-1", "secret-2"])):
            for ws in (False, True):
                with self.subTest(name=name, ws=ws):
                    if ws:
                        viewer = WebSocket(server, "/v1/players/ada/live", Authorization=f"Bearer {who[name]}")
                        self.addCleanup(viewer.close)
                        state, change = viewer.message(), viewer.message
                    else:
                        viewer = Stream(server, "/v1/players/ada/live", key=who[name])
                        self.addCleanup(viewer.close)
                        state, change = viewer.event()[2], lambda: viewer.event()[2]
                    self.assertEqual(sorted(b["board"] for b in state["boards"]), boards)
                    self.assertEqual(state["topic"], "players/ada")
                    for board in ("secret-1", "mine-1"):
                        self.check(server.post(f"/v1/boards/{board}/scores", {"player": "ada", "score": next(scores)}, key=who["admin"]), 200)
                    changed = set()
                    while "mine-1" not in changed:
                        frame = change()
                        changed |= {b["board"] for b in frame["boards"]}
                    self.assertEqual(changed - set(boards), set())

    def test_profiles(self):
        """A key that a web page shows must not tell everybody's address: what its boards show of a player anyway is all."""
        server, who = self.populated()
        seen = {name: set(server.get("/v1/players/ada", key=who[name]).json["profile"]) for name in who}
        for name in ("read", "server", "admin", "token", "mine token"):  # the tokens are the player's own
            self.assertEqual(seen[name], set(PROFILE), name)
        for name in ("mine read", "mine server", "mine admin"):
            self.assertEqual(seen[name], {"name", "country", "guild"}, name)

    def test_keys_of_redis(self):
        server, who = self.populated()
        with Connection(server.resp) as c:
            c.call("AUTH", who["mine read"])
            self.assertEqual(c.call("DBSIZE").value, 2)
            self.assertEqual(sorted(c.call("KEYS", "*").value), [b"mine-1", b"mine-2"])
            self.assertEqual(sorted(c.call("SCAN", 0, "COUNT", 1000).value[1]), [b"mine-1", b"mine-2"])
            info = c.call("INFO").value
            self.assertIn(b"db0:keys=2,", info)
            self.assertNotIn(b"used_memory:", info)
            for words in (("INFO", "everything"), ("CLIENT", "LIST"), ("CLIENT", "INFO"), ("CONFIG", "GET", "*"), ("COMMAND", "DOCS"), ("RANDOMKEY",),
                          ("EXISTS", "mine-1"), ("TOUCH", "mine-1", "mine-2"), ("LASTSAVE",), ("ROLE",), ("KEYS", "sec*"), ("SCAN", 0, "MATCH", "sec*")):
                self.assertNotIn(b"secret", c.call(*words).raw, words)
            c.call("AUTH", who["read"])
            self.assertEqual(c.call("DBSIZE").value, 5)
            self.assertIn(b"used_memory:", c.call("INFO").value)

    def test_every_command_with_a_key_outside(self):
        """Refused in the same words, whether the key is there or not."""
        server, who = self.populated()
        with Connection(server.resp) as c:
            for role in ("mine read", "mine server", "mine admin"):
                c.call("AUTH", who[role])
                count = 0
                for command in c.call("COMMAND").value:
                    name, arity, flags, first = command[0], command[1], command[2], command[3]
                    movable = any(f == "movablekeys" for f in flags)
                    if not first and not movable:
                        continue
                    replies = []
                    for key in ("secret-1", "secret-9"):
                        words = [name.decode()]
                        if movable and not first:
                            words += (["0"] if name.startswith(b"b") else []) + ["1", key]
                        elif movable:
                            words += ["mine-1", "1", key]
                        else:
                            words += ["mine-1"] * (first - 1) + [key]
                        words += ["1"] * (abs(arity) - len(words))
                        replies.append(c.call(*words))
                    self.assertEqual(replies[0].raw, replies[1].raw, words)
                    self.assertRegex(replies[0].value, r"\ANOPERM", words)
                    count += 1
                self.assertGreater(count, 40)


class Public(AccessTest):
    """Showing a good key or token never gives less than showing none."""

    def test_every_operation(self):
        server, who = self.populated("--public", "mine-1")
        other = server.key("read", "--boards", "elsewhere")
        count = 0
        for method, path, operation in self.operations(server, ("get", "put", "post", "delete")):
            for board in ("mine-1", "mine-2"):
                for player in ("ada", "bob"):
                    url = self.url(path, operation, board, player)
                    nobody = self.answer(server, method, url, None)[0]
                    if nobody in (401, 403):
                        continue
                    for name, credentials in {**who, "elsewhere": other}.items():
                        got = self.answer(server, method, url, credentials)[0]
                        self.assertEqual(got, nobody, f"{method} {url} with {name}")
                        count += 1
        self.assertGreater(count, 300)

    def test_a_player_sees_the_top(self):
        server, who = self.populated("--public", "mine-1")
        for name in ("token", "mine token"):
            top = self.check(server.get("/v1/boards/mine-1/top", key=who[name]), 200).json
            self.assertEqual([e["player"] for e in top["entries"]], ["bob", "ada"])
            self.assertEqual([b["id"] for b in server.get("/v1/boards", key=who[name]).json["boards"]], ["mine-1"])
            self.check(server.get("/v1/boards/mine-2/top", key=who[name]), 403)
            self.check(server.post("/v1/boards/mine-1/scores", {"player": "ada", "score": 99}, key=who[name]), 403)
            with Connection(server.resp) as c:
                c.call("AUTH", who[name])
                self.assertEqual(c.call("ZREVRANGE", "mine-1", 0, -1).value, [b"bob", b"ada"])
                self.assertEqual(len(c.call("RUNG.TOP", "mine-1").value), 2)
                self.assertRegex(c.call("RUNG.TOP", "mine-2").value, r"\ANOPERM")
                self.assertRegex(c.call("RUNG.FRIENDS", "mine-1", "bob").value, r"\ANOPERM")
                self.assertEqual(len(c.call("RUNG.FRIENDS", "mine-1", "ada").value), 2)
            stream = Stream(server, "/v1/boards/mine-1/live", key=who[name])
            self.addCleanup(stream.close)
            self.assertEqual(stream.event()[0], "state")

    def test_friends_are_not_public(self):
        server, who = self.populated("--public", "mine-1")
        for path in ("/v1/boards/mine-1/friends/ada", "/v1/boards/mine-1/live?friends=ada", "/v1/players/ada/friends"):
            for name, status in ((None, 401), ("mine read", 200), ("read", 200), ("token", 200)):
                self.assertEqual(self.answer(server, "get", path, who.get(name))[0], status, (path, name))
            self.assertEqual(self.answer(server, "get", path.replace("ada", "bob"), who["token"])[0], 403, path)
        ws = WebSocket(server, "/v1/boards/mine-1/live")
        self.addCleanup(ws.close)
        self.assertEqual(ws.message()["type"], "state")
        ws.send({"op": "subscribe", "friends": "ada"})
        self.assertEqual(ws.message()["code"], "forbidden")
        ws.send({"op": "subscribe", "player": "ada"})
        self.assertEqual(ws.message()["type"], "state")
        ws = WebSocket(server, "/v1/boards/mine-1/live", Authorization=f"Bearer {who['token']}")
        self.addCleanup(ws.close)
        self.assertEqual(ws.message()["type"], "state")
        ws.send({"op": "subscribe", "friends": "bob"})
        self.assertEqual(ws.message()["code"], "forbidden")
        ws.send({"op": "subscribe", "friends": "me"})
        self.assertEqual([e["player"] for e in ws.message()["entries"]], ["bob", "ada"])


class Ndjson:
    """A stream of submissions that stays open."""

    def __init__(self, server, key=None):
        self.socket = server.connect()
        head = "POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
        self.socket.sendall((head + (f"Authorization: Bearer {key}\r\n" if key else "") + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.is_headed = False

    def send(self, text):
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(text), text))

    def result(self):
        """The next result; None at the end."""
        try:
            while not self.is_headed:
                line = self.file.readline()
                if line in (b"\r\n", b""):
                    self.is_headed = True
            while True:
                line = self.file.readline()
                if not line:
                    return None
                if line.startswith(b"{"):
                    return json.loads(line)
        except ConnectionError:
            return None

    def close(self):
        self.file.close()
        self.socket.close()


class Revocation(AccessTest):
    """What lasts ends with its key."""

    def board(self, *flags):
        server = self.serve(*flags)
        self.check(server.put("/v1/boards/race", {}), 201)
        return server

    def revoke(self, server, key):
        server.revoke(key)
        until(lambda: server.get("/v1/boards", key=key).status == 401, "the end of the key")

    def stream(self, server, key=None):
        stream = Ndjson(server, key)
        self.addCleanup(stream.close)
        stream.send(b'{"board":"race","player":"ada","score":1}\n')
        self.assertEqual(stream.result()["score"], 1)
        return stream

    def test_a_stream_of_submissions(self):
        server = self.board()
        admin, key = server.key("admin"), server.key("server")
        stream = self.stream(server, key)
        self.revoke(server, key)
        stream.send(b'{"board":"race","player":"ada","score":2}\n{"board":"race","player":"ada","score":3}\n')
        refused = stream.result()
        self.assertEqual((refused["line"], refused["error"]["status"], refused["error"]["code"]), (2, 401, "unauthorized"))
        self.assertIn("revoked", refused["error"]["detail"])
        self.assertIsNone(stream.result())
        self.assertEqual(server.get("/v1/boards/race/players/ada", key=admin).json["entry"]["score"], 1)

    def test_a_stream_kept_open_by_blank_lines(self):
        server = self.board()
        server.key("admin")
        key = server.key("server")
        stream = self.stream(server, key)
        self.revoke(server, key)
        stream.send(b"\n" * 1000)
        self.assertEqual(stream.result()["error"]["status"], 401)
        self.assertIsNone(stream.result())

    def test_a_stream_from_before_the_first_key(self):
        server = self.board()
        stream = self.stream(server)
        admin = server.key("admin")
        stream.send(b'{"board":"race","player":"ada","score":2}\n')
        self.assertEqual(stream.result()["error"]["status"], 401)
        self.assertIsNone(stream.result())
        self.assertEqual(server.get("/v1/boards/race/players/ada", key=admin).json["entry"]["score"], 1)

    def test_a_key_that_expires(self):
        server = self.board()
        admin = server.key("admin")
        key = server.keys("create", "--role", "server", "--expires-in", "2s")
        until(lambda: server.get("/v1/boards", key=key).status == 200, "the key")
        stream = self.stream(server, key)
        until(lambda: server.get("/v1/boards", key=key).status == 401, "its end")
        stream.send(b'{"board":"race","player":"ada","score":2}\n')
        self.assertIn("expired", stream.result()["error"]["detail"])
        self.assertEqual(server.get("/v1/boards/race/players/ada", key=admin).json["entry"]["score"], 1)

    def test_a_stream_that_waits_for_its_rate(self):
        server = self.board()
        server.key("admin")
        key = server.key("server", "--rate", "5")
        stream = self.stream(server, key)
        stream.send(b'{"board":"race","player":"ada","score":1}\n' * 1000)
        server.revoke(key)
        result = stream.result()
        while "error" not in result:
            result = stream.result()
        self.assertEqual(result["error"]["code"], "unauthorized")
        self.assertIsNone(stream.result())

    def test_a_body_under_way(self):
        server = self.board()
        admin, key = server.key("admin"), server.key("admin")
        body = b'{"title":"mine now"}'
        with server.connect() as s:
            s.sendall((f"PUT /v1/boards/race HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body[:5])
            self.revoke(server, key)
            s.sendall(body[5:])
            got = b""
            while chunk := s.recv(4096):
                got += chunk
        self.assertIn(b" 401 ", got[:20])
        self.assertNotIn("mine now", json.dumps(server.get("/v1/boards/race", key=admin).json))

    def test_a_read_that_waits(self):
        server = self.board()
        admin, key = server.key("admin"), server.key("read")
        seq = server.get("/readyz").json["seq"]
        waiting = lambda: re.search(r"(?m)^rung_waiting (\d+)", server.get("/metrics", key=admin).body.decode())[1]  # noqa: E731
        with server.connect() as s:
            s.sendall(f"GET /v1/boards/race/top?min_seq={seq + 2} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
            until(lambda: waiting() == "1", "the read")
            identity = re.match(r"rung_read_(\w{12})_", key)[1]
            self.check(server.delete(f"/v1/keys/{identity}", key=admin), 200)  # in force when answered; an event itself
            server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, key=admin)
            got = b""
            while chunk := s.recv(4096):
                got += chunk
        self.assertIn(b" 401 ", got[:20])

    def test_live_views(self):
        server = self.board()
        admin, key = server.key("admin"), server.key("read")
        stream = Stream(server, "/v1/boards/race/live", key=key)
        feed = Stream(server, "/v1/players/ada/live", key=key)
        ws = WebSocket(server, "/v1/boards/race/live", Authorization=f"Bearer {key}")
        for viewer in (stream, feed, ws):
            self.addCleanup(viewer.close)
        self.assertEqual(stream.event()[0], "state")
        self.assertEqual(feed.event()[0], "state")
        self.assertEqual(ws.message()["type"], "state")
        self.revoke(server, key)
        server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, key=admin)
        for viewer in (stream, feed):
            event = viewer.event()
            while event and event[0] != "end":
                event = viewer.event()
            self.assertEqual(event[2], {"why": "forbidden", "detail": "the key has been revoked"})
            self.assertIsNone(viewer.event())
        opcode, payload = ws.frame()
        while opcode == 1:
            opcode, payload = ws.frame()
        self.assertEqual((opcode, payload), (8, b"\x03\xf0" + b"the key has been revoked"))

    def test_a_live_view_from_before_the_first_key(self):
        server = self.board()
        stream = Stream(server, "/v1/boards/race/live")
        self.addCleanup(stream.close)
        self.assertEqual(stream.event()[0], "state")
        server.key("admin")
        self.assertEqual(stream.event()[2]["why"], "forbidden")

    def test_a_client_that_waits(self):
        server = self.serve()
        admin, key, other = server.key("admin"), server.key("server"), server.key("server")
        with Connection(server.resp) as blocked, Connection(server.resp) as patient, Connection(server.resp) as writer:
            blocked.call("AUTH", key)
            patient.call("AUTH", other)
            writer.call("AUTH", admin)
            blocked.socket.sendall(encode(["BZPOPMIN", "queue", 0]))
            until(lambda: b"blocked_clients:1\r\n" in writer.call("INFO", "clients").raw, "the first")
            patient.socket.sendall(encode(["BZPOPMIN", "queue", 0]))
            until(lambda: b"blocked_clients:2\r\n" in writer.call("INFO", "clients").raw, "the second")
            identity = re.match(r"rung_server_(\w{12})_", key)[1]
            self.check(server.delete(f"/v1/keys/{identity}", key=admin), 200)
            self.assertEqual(writer.call("ZADD", "queue", 1, "a").value, 1)
            self.assertRegex(blocked.read().value, r"\ANOAUTH")
            self.assertEqual(patient.read().value, [b"queue", b"a", b"1"])

    def test_a_transaction(self):
        server = self.serve()
        admin, key = server.key("admin"), server.key("server")
        with Connection(server.resp) as c, Connection(server.resp) as other:
            other.call("AUTH", admin)
            c.call("AUTH", key)
            c.call("MULTI")
            c.call("ZADD", "race", 1, "ada")
            self.revoke(server, key)
            self.assertRegex(c.call("EXEC").value, r"\AEXECABORT .*NOAUTH")
            self.assertEqual(other.call("EXISTS", "race").value, 0)
            # What may not be done any more when it comes to EXEC is not done, and nothing with it.
            c.call("AUTH", server.key("server"))
            c.call("MULTI")
            c.call("ZADD", "race", 1, "ada")
            self.assertEqual(c.call("DEL", "cup").value, "QUEUED")
            self.check(server.put("/v1/boards/cup", {}, key=admin), 201)
            self.assertRegex(c.call("EXEC").value, r"\AEXECABORT .*NOPERM")
            self.assertEqual(other.call("EXISTS", "race", "cup").value, 1)
            self.assertNotIsInstance(c.call("PING").value, Error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
