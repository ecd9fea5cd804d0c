#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180
"""Live updates from a real server: server-sent events and WebSocket, resume, keys, the ends."""
import base64
import json
import os
import re
import socket
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import WAIT, ServerTest, quote, until  # noqa: E402


class Stream:
    """Server-sent events over a plain socket, so that the framing is seen, too."""

    def __init__(self, server, path, key=None, last=None, wait=WAIT):
        self.socket = server.connect(wait)
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        if key:
            head += f"Authorization: Bearer {key}\r\n"
        if last is not None:
            head += f"Last-Event-ID: {last}\r\n"
        self.socket.sendall(head.encode() + b"\r\n")
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, value = line.decode().split(": ", 1)
            self.headers[name.lower()] = value
        self.rest = b""
        self.is_ended = False

    def chunk(self):
        size = int(self.file.readline() or b"0", 16)
        data = self.file.read(size)
        self.file.readline()
        if not size:
            self.is_ended = True
        return data

    def event(self):
        """The next event as (type, id, object); None at the end."""
        while True:
            while b"\n\n" not in self.rest:
                if self.is_ended:
                    return None
                self.rest += self.chunk()
            text, self.rest = self.rest.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in text.decode().split("\n") if not line.startswith(":"))
            if "data" in fields:
                return fields["event"], fields.get("id"), json.loads(fields["data"])

    def body(self):
        return json.loads(self.file.read(int(self.headers["content-length"])))

    def close(self):
        self.file.close()
        self.socket.close()


class Mirror:
    """A list put together from frames."""

    def __init__(self):
        self.rows, self.seq = {}, None

    def take(self, frame):
        if frame["type"] == "state":
            self.rows = {row["player"]: row for row in frame["entries"]}
        elif frame["type"] == "change":
            for player in frame["gone"]:
                del self.rows[player]
            for row in frame["changed"]:
                self.rows[row["player"]] = row
        self.seq = frame["seq"]

    @property
    def players(self):
        return [row["player"] for row in sorted(self.rows.values(), key=lambda row: row["place"])]


class WebSocket:
    def __init__(self, server, path, wait=WAIT, **headers):
        self.socket = server.connect(wait)
        fields = {"Host": "localhost", "Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": base64.b64encode(b"sixteen bytes ok").decode()}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        head = f"GET {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields.items() if v) + "\r\n"
        self.socket.sendall(head.encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, value = line.decode().split(": ", 1)
            self.headers[name.lower()] = value

    def send(self, payload, opcode=1, fin=True):
        self.socket.sendall(self.bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode(), opcode, fin))

    @staticmethod
    def bytes(payload, opcode=1, fin=True):
        """A masked frame."""
        mask = os.urandom(4)
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
        return bytes([(0x80 if fin else 0) | opcode]) + size + mask + masked

    def frame(self):
        """(opcode, payload); None at the end."""
        try:
            head = self.file.read(2)
        except ConnectionResetError:
            return None
        if len(head) < 2:
            return None
        size = head[1] & 0x7f
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
        return head[0] & 0x0f, self.file.read(size)

    def message(self):
        while True:
            opcode, payload = self.frame()
            if opcode == 1:
                return json.loads(payload)

    def close(self):
        self.file.close()
        self.socket.close()


class Live(ServerTest):
    def board(self, *flags, **more):
        server = self.serve(*flags, **more)
        self.check(server.put("/v1/boards/race", {"windows": ["all", "week"], "scopes": ["country"]}), 201)
        return server

    def score(self, server, player, score, key=None):
        answer = server.post("/v1/boards/race/scores", {"player": player, "score": score}, key=key)
        self.check(answer, 200)
        return answer.json["seq"]

    def stream(self, server, path, **more):
        stream = Stream(server, path, **more)
        self.addCleanup(stream.close)
        return stream

    def websocket(self, server, path, **more):
        ws = WebSocket(server, path, **more)
        self.addCleanup(ws.close)
        return ws

    def follow(self, stream, mirror, seq):
        """Take frames until the mirror shows `seq`."""
        while mirror.seq is None or mirror.seq < seq:
            kind, last, frame = stream.event()
            self.assertEqual(kind, frame["type"])
            self.assertEqual(last, str(frame["seq"]))
            if kind == "change":
                self.assertEqual(frame["since"], mirror.seq)
            mirror.take(frame)

    def test_a_list_is_followed(self):
        server = self.board()
        for i in range(5):
            self.score(server, f"p{i}", 10 * i)
        stream = self.stream(server, "/v1/boards/race/live?limit=3")
        self.assertEqual(stream.status, 200)
        self.assertEqual(stream.headers["content-type"], "text/event-stream")
        self.assertEqual(stream.headers["cache-control"], "no-store")
        mirror = Mirror()
        self.follow(stream, mirror, 1)
        self.assertEqual(mirror.players, ["p4", "p3", "p2"])
        for step in range(20):
            seq = self.score(server, f"p{step % 5}", 100 + step)
            self.follow(stream, mirror, seq)
            top = server.get("/v1/boards/race/top?limit=3").json
            self.assertEqual(mirror.players, [entry["player"] for entry in top["entries"]])
            for entry in top["entries"]:
                row = mirror.rows[entry["player"]]
                self.assertEqual({**entry, "place": row["place"]}, {**row, "percentile": entry["percentile"]})

    def test_other_questions(self):
        server = self.board()
        for i, country in enumerate(["FI", "FI", "SE", "FI"]):
            server.put(f"/v1/players/p{i}", {"country": country, "name": f"Player {i}"})
            self.score(server, f"p{i}", 10 * i)
        server.put("/v1/players/p0/friends/p2")
        for path, want in [("limit=10&scope=country:FI", ["p3", "p1", "p0"]), ("player=p1&around=1", ["p2", "p1", "p0"]),
                           ("friends=p0", ["p2", "p0"]), ("limit=10&window=week&rank=dense", ["p3", "p2", "p1", "p0"])]:
            mirror = Mirror()
            mirror.take(self.stream(server, f"/v1/boards/race/live?{path}").event()[2])
            self.assertEqual(mirror.players, want, path)
        self.assertEqual(mirror.rows["p3"]["name"], "Player 3")

    def test_resume(self):
        server = self.board()
        self.score(server, "ada", 1)
        keeper = self.stream(server, "/v1/boards/race/live")
        kept = Mirror()
        self.follow(keeper, kept, 2)
        last = kept.seq
        for score in range(2, 6):
            self.follow(keeper, kept, self.score(server, "ada", score))
        for way in ({"path": "/v1/boards/race/live", "last": last}, {"path": f"/v1/boards/race/live?since={last}"}):
            back = self.stream(server, **way)
            kind, _, frame = back.event()
            self.assertEqual((kind, frame["seq"]), ("resumed", last))
            seen = last
            while seen < kept.seq:
                kind, _, frame = back.event()
                self.assertEqual((kind, frame["since"]), ("change", seen))  # none twice, none left out
                seen = frame["seq"]
        anew = self.stream(server, "/v1/boards/race/live", last=1)
        self.assertEqual(anew.event()[0], "state")
        self.assertEqual(self.stream(server, "/v1/boards/race/live", last="x1").status, 400)

    def test_a_restart(self):
        server = self.board()
        for player, score in (("ada", 1), ("bob", 2)):
            self.score(server, player, score)
        mirror = Mirror()
        self.follow(self.stream(server, "/v1/boards/race/live"), mirror, 3)
        last = mirror.seq
        self.assertEqual(server.stop(), 0)
        server.start()
        back = self.stream(server, "/v1/boards/race/live", last=last)  # nothing has changed: nothing is missing
        kind, _, frame = back.event()
        self.assertEqual((kind, frame["seq"]), ("resumed", last))
        self.follow(back, mirror, self.score(server, "ada", 3))
        self.assertEqual(mirror.players, ["ada", "bob"])
        last = mirror.seq
        server.kill()
        server.start()
        self.score(server, "eve", 9)
        for way in ({"path": "/v1/boards/race/live", "last": last}, {"path": f"/v1/boards/race/live?since={last}"}):
            kind, _, frame = self.stream(server, **way).event()
            self.assertEqual((kind, [row["player"] for row in frame["entries"]]), ("state", ["eve", "ada", "bob"]))
        ws = self.websocket(server, f"/v1/boards/race/live?since={last}")
        self.assertEqual(ws.message()["type"], "state")

    def test_a_feed(self):
        server = self.board()
        for player, score in (("ada", 10), ("bob", 20), ("eve", 30)):
            self.score(server, player, score)
        stream = self.stream(server, "/v1/players/bob/live")
        kind, _, frame = stream.event()
        self.assertEqual((kind, frame["boards"][0]["rank"]), ("state", 2))
        self.score(server, "ada", 25)
        board = stream.event()[2]["boards"][0]
        self.assertEqual((board["rank_before"], board["rank"]), (2, 3))
        self.assertEqual(board["passed_by"], {"count": 1, "players": ["ada"]})
        self.score(server, "bob", 99)
        board = stream.event()[2]["boards"][0]
        self.assertEqual(board["passed"], {"count": 2, "players": ["eve", "ada"]})

    def test_refusals(self):
        server = self.board()
        for path, status in [("/v1/boards/none/live", 404), ("/v1/boards/race/live?limit=101", 400), ("/v1/boards/race/live?window=day", 404),
                             ("/v1/boards/race/live?limit=0", 400), ("/v1/boards/race/live?player=a&friends=b", 400),
                             ("/v1/boards/race/live?nonsense=1", 400), ("/v1/boards/race/live?scope=guild:x", 404)]:
            stream = self.stream(server, path)
            self.assertEqual(stream.status, status, path)
            self.assertTrue(stream.body()["code"], path)

    def test_keys(self):
        server = self.serve()
        admin = server.key("admin")
        self.check(server.put("/v1/boards/race", {}, key=admin), 201)
        self.assertEqual(self.stream(server, "/v1/boards/race/live").status, 401)
        reader = server.key("read", "--boards", "race")
        other = server.key("read", "--boards", "chess")
        self.assertEqual(self.stream(server, "/v1/boards/race/live", key=other).status, 403)
        stream = self.stream(server, "/v1/boards/race/live", key=reader)
        self.assertEqual(stream.event()[0], "state")
        ws = self.websocket(server, "/v1/boards/race/live")
        self.assertEqual(ws.status, 401)

    def test_the_longest_subscription(self):
        """Names of the longest kind, every byte of which is escaped in a topic's name."""
        server = self.serve()
        board = "\u00e9" * 64
        self.check(server.put(f"/v1/boards/{quote(board)}", {}), 201)
        ws = self.websocket(server, f"/v1/boards/{quote(board)}/live")
        self.assertEqual(ws.message()["type"], "state")
        ws.send(json.dumps({"op": "subscribe", "player": board, "around": 50, "window": board, "window_id": board,
                            "scope": board * 2, "rank": "sparse"}, ensure_ascii=False).encode())
        self.assertEqual(ws.message()["code"], "not_found")
        ws.send({"op": "subscribe", "player": board, "around": 50, "rank": "sparse"})
        self.assertEqual(ws.message()["topic"], f"boards/{quote(board)}?player={quote(board)}&around=50&rank=sparse")
        self.assertTrue(server.is_alive())

    def test_the_board_goes(self):
        server = self.board()
        stream, ws = self.stream(server, "/v1/boards/race/live"), self.websocket(server, "/v1/boards/race/live")
        self.assertEqual(stream.event()[0], "state")
        self.assertEqual(ws.message()["type"], "state")
        server.delete("/v1/boards/race")
        self.assertEqual(stream.event()[2], {"why": "gone"})
        self.assertIsNone(stream.event())
        opcode, payload = ws.frame()
        self.assertEqual((opcode, payload[:2]), (8, struct.pack(">H", 1000)))

    def test_the_server_stops(self):
        server = self.board()
        stream, ws = self.stream(server, "/v1/boards/race/live"), self.websocket(server, "/v1/boards/race/live")
        self.assertEqual(stream.event()[0], "state")
        self.assertEqual(ws.message()["type"], "state")
        server.process.terminate()
        self.assertEqual(stream.event()[2], {"why": "stopping"})
        self.assertIsNone(stream.event())
        opcode, payload = ws.frame()
        self.assertEqual((opcode, payload[:2]), (8, struct.pack(">H", 1001)))
        ws.send(payload[:2], opcode=8)
        self.assertEqual(server.process.wait(WAIT), 0)

    def test_websocket(self):
        server = self.board()
        self.score(server, "ada", 1)
        ws = self.websocket(server, "/v1/boards/race/live?limit=5")
        self.assertEqual(ws.status, 101)
        self.assertEqual(ws.headers["upgrade"], "websocket")
        mirror = Mirror()
        mirror.take(ws.message())
        seq = self.score(server, "bob", 2)
        while mirror.seq < seq:
            mirror.take(ws.message())
        self.assertEqual(mirror.players, ["bob", "ada"])
        ws.send(b'{"op":"subscribe",', fin=False)
        ws.send(b"hello", opcode=9)
        ws.send(b'"player":"ada","around":1}', opcode=0)
        got = [ws.frame(), ws.frame()]
        self.assertIn((10, b"hello"), got)
        self.assertTrue(any(b"player=ada&around=1" in payload for _, payload in got))
        ws.send({"op": "subscribe", "window": "day"})
        self.assertEqual(ws.message()["code"], "not_found")
        ws.send(struct.pack(">H", 1000), opcode=8)
        self.assertEqual(ws.frame(), (8, struct.pack(">H", 1000)))
        self.assertIsNone(ws.frame())

    def test_websocket_byte_by_byte(self):
        """However it is cut: a message in pieces, a ping between its fragments, two messages at once."""
        server = self.board()
        self.score(server, "ada", 1)
        ws = self.websocket(server, "/v1/boards/race/live?limit=5")
        self.assertEqual(ws.message()["type"], "state")
        whole = [ws.bytes(b'{"op":"subscribe",', fin=False), ws.bytes(b"hi", opcode=9), ws.bytes(b'"player":"ada"}', opcode=0)]
        for byte in b"".join(whole):
            ws.socket.sendall(bytes([byte]))
        got = [ws.frame(), ws.frame()]
        self.assertIn((10, b"hi"), got)
        self.assertTrue(any(b"player=ada" in payload for _, payload in got))
        for size in (125, 126, 300, 4000):  # lengths in one byte and in three, each met alone
            ws.send(b"x" * size)
            self.assertEqual(ws.message()["code"], "malformed")
        ws.socket.sendall(ws.bytes(b"a", opcode=9) + ws.bytes(b"", opcode=10) + ws.bytes(b"b", opcode=9))
        self.assertEqual([ws.frame(), ws.frame()], [(10, b"a"), (10, b"b")])
        seq = self.score(server, "bob", 2)
        topics = {ws.message()["topic"] for _ in range(2)}
        self.assertEqual(len(topics), 2, seq)
        ws.send(b"x" * 5000)
        self.assertEqual(ws.frame(), (8, struct.pack(">H", 1009)))

    def test_handshakes(self):
        server = self.board()
        path = "/v1/boards/race/live"
        self.assertEqual(self.websocket(server, path, Sec_WebSocket_Version="8").status, 426)
        self.assertEqual(self.websocket(server, path, Sec_WebSocket_Key="short").status, 400)
        self.assertEqual(self.websocket(server, path, Sec_WebSocket_Key=None).status, 400)
        self.assertEqual(self.websocket(server, path, Origin="https://evil.example").status, 403)
        self.assertEqual(self.websocket(server, path, Origin="http://localhost").status, 101)
        self.assertEqual(self.websocket(server, "/v1/boards/none/live").status, 404)

    def test_topics_left_behind_do_not_shut_others_out(self):
        """One client opens and leaves more topics than there may be; then it holds as many as it may."""
        server = self.serve("--public", "race", "--live-topics", "20")
        admin = server.key("admin")
        self.check(server.put("/v1/boards/race", {}, key=admin), 201)
        for i in range(50):
            stream = self.stream(server, f"/v1/boards/race/live?player=p{i}")
            self.assertEqual((stream.status, stream.event()[0]), (200, "state"))
            stream.close()
        until(lambda: "rung_live_viewers 0" in server.get("/metrics", key=admin).body.decode(), "their leaving")
        held = [self.stream(server, f"/v1/boards/race/live?player=q{i}") for i in range(10)]
        self.assertEqual([s.event()[0] for s in held], ["state"] * 10)
        refused = self.stream(server, "/v1/boards/race/live?player=q10")
        self.assertEqual((refused.status, refused.body()["code"]), (503, "too_many_viewers"))
        same = self.stream(server, "/v1/boards/race/live?player=q0")  # no other topic
        self.assertEqual(same.event()[0], "state")
        others = [self.stream(server, f"/v1/boards/race/live?player=r{i}", key=admin) for i in range(10)]
        self.assertEqual([s.event()[0] for s in others], ["state"] * 10)

    def test_too_many_viewers(self):
        """Told before the stream begins; others still have their share."""
        server = self.serve("--public", "race", "--live-viewers", "4")
        admin = server.key("admin")
        self.check(server.put("/v1/boards/race", {}, key=admin), 201)
        held = [self.stream(server, "/v1/boards/race/live") for _ in range(2)]
        self.assertEqual([s.event()[0] for s in held], ["state"] * 2)
        for viewer in (self.stream(server, "/v1/boards/race/live"), self.websocket(server, "/v1/boards/race/live")):
            self.assertEqual(viewer.status, 503)
            self.assertEqual(viewer.headers["retry-after"], "5")
        self.assertEqual(self.stream(server, "/v1/boards/race/live?limit=2").body()["code"], "too_many_viewers")
        mine = [self.stream(server, "/v1/boards/race/live", key=admin) for _ in range(2)]
        self.assertEqual([s.event()[0] for s in mine], ["state"] * 2)
        reader = server.key("read")
        self.assertEqual(self.stream(server, "/v1/boards/race/live", key=reader).body()["code"], "too_many_viewers")

    def test_views_are_not_timed(self):
        """A view lasts as long as somebody looks: that is no time of a request."""
        server = self.board()
        stream = self.stream(server, "/v1/boards/race/live")
        self.assertEqual(stream.event()[0], "state")
        stream.close()
        metrics = lambda: server.get("/metrics").body.decode()  # noqa: E731
        until(lambda: re.search(r'rung_http_requests_total{route="watchBoard",code="(200|0)"} 1', metrics()), "its end")
        lines = b'{"board":"race","player":"ada","score":1}\n'
        self.check(server.post("/v1/scores", lines, headers={"Content-Type": "application/x-ndjson"}), 200)
        self.check(server.post("/v1/scores", [{"board": "race", "player": "ada", "score": 2}]), 200)
        seen = until(lambda: 'route="submitScores",code="200"} 2' in metrics() and metrics(), "both batches")
        self.assertNotIn('rung_http_request_seconds_count{route="watchBoard"}', seen)
        self.assertIn('rung_http_request_seconds_count{route="submitScores"} 1\n', seen)

    def test_a_viewer_that_does_not_read(self):
        server = self.board()
        slow = self.websocket(server, "/v1/boards/race/live?limit=100")
        fast = self.stream(server, "/v1/boards/race/live?limit=100")
        mirror = Mirror()
        for turn in range(30):
            batch = [{"board": "race", "player": f"player-with-a-long-name-{i:03}", "score": turn * 1000 + i} for i in range(100)]
            answer = server.post("/v1/scores", batch)
            self.check(answer, 200)
            self.follow(fast, mirror, server.get("/v1/boards/race/top").json["seq"])
        behind = Mirror()
        until(lambda: behind.take(slow.message()) or behind.seq == mirror.seq, "catching up")
        self.assertEqual(behind.players, mirror.players)


if __name__ == "__main__":
    unittest.main()
