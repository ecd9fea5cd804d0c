#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""One sender does not take what is there for all: batches, the room in the hub, reads that wait."""
import contextlib
import os
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, until  # noqa: E402


def stream_head(key):
    return (f"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n").encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def line(board, player, score):
    return f'{{"board":"{board}","player":"{player}","score":{score}}}\n'.encode()


class Shared(ServerTest):
    def keys(self, server):
        greedy, honest = server.key("server", "--boards", "sandbox"), server.key("server")
        admin = server.key("admin")
        for board in ("sandbox", "race"):
            self.check(server.put(f"/v1/boards/{board}", {}, key=admin), 201)
        return greedy, honest, admin

    def metric(self, server, name, key):
        text = server.get("/metrics", key=key).body.decode()
        return float(next(row.split()[1] for row in text.splitlines() if row.startswith(name + " ")))


class Batches(Shared):
    def test_idle_streams_leave_places_for_others(self):
        server = self.serve("--limits-body-timeout", "60s")
        greedy, honest, admin = self.keys(server)
        refused = 0
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                s = stack.enter_context(server.connect())
                s.sendall(stream_head(greedy) + chunk(b"\n" * 100) + chunk(line("sandbox", "a", 1)))
                refused += s.recv(65536).startswith(b"HTTP/1.1 503")
            self.assertEqual(self.metric(server, "rung_batches", admin), 128)  # half of all there are
            self.assertEqual(refused, 300 - 128)
            answer = server.post("/v1/scores", line("race", "ada", 1), key=honest, headers={"Content-Type": "application/x-ndjson"})
            self.assertEqual((answer.status, len(answer.lines)), (200, 1), answer)
            self.assertNotIn("error", answer.lines[0])

    def test_blank_lines_do_not_keep_a_place(self):
        server = self.serve("--limits-body-timeout", "500ms")
        greedy, _, admin = self.keys(server)
        with server.connect() as s:
            s.sendall(stream_head(greedy) + chunk(line("sandbox", "a", 1)))
            got = s.recv(65536)
            self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)

            def drip():
                with contextlib.suppress(OSError):
                    while True:
                        s.sendall(chunk(b"\n" * 10000))  # for twenty seconds, by what a body may take

            threading.Thread(target=drip, daemon=True).start()
            with contextlib.suppress(ConnectionResetError):
                while more := s.recv(65536):
                    got += more
        self.assertIn(b'"request_timeout"', got)
        until(lambda: self.metric(server, "rung_batches", admin) == 0, "the place free again")


class Room(Shared):
    def test_busy_streams_leave_room_for_others(self):
        server = self.serve("--limits-waiting", "64")
        greedy, honest, _ = self.keys(server)
        stop = threading.Event()
        lines = b"".join(line("sandbox", f"p{i}", i) for i in range(500))

        def flood():
            with contextlib.suppress(OSError), server.connect() as s:
                threading.Thread(target=lambda: swallow(s), daemon=True).start()
                s.sendall(stream_head(greedy))
                while not stop.is_set():
                    s.sendall(chunk(lines))

        def swallow(s):
            with contextlib.suppress(OSError):
                while s.recv(1 << 20):
                    pass

        floods = [threading.Thread(target=flood, daemon=True) for _ in range(8)]
        for one in floods:
            one.start()
        try:
            until(lambda: server.get("/v1/boards/sandbox/top", key=honest).json["total"] >= 100, "the flood")
            connection = server.open()
            for i in range(200):
                answer = server.post("/v1/boards/race/scores", {"player": f"h{i}", "score": i}, key=honest, connection=connection)
                self.check(answer, 200)
            connection.close()
        finally:
            stop.set()
        for one in floods:
            one.join()


class MinSeq(Shared):
    def test_far_ahead_is_refused_at_once(self):
        server = self.serve("--limits-waiting", "100")
        _, honest, _ = self.keys(server)
        seq = server.get("/v1/boards/race/top", key=honest).json["seq"]
        self.check(server.get(f"/v1/boards/race/top?min_seq={seq + 102}", key=honest), 409, "seq_ahead")
        self.check(server.get(f"/v1/boards/race/top?min_seq={2**63 - 1}", key=honest), 409, "seq_ahead")
        self.check(server.get(f"/v1/boards/race/top?min_seq={seq + 101}", key=honest), 503, "seq_timeout")

    def test_waiting_reads_leave_room_for_others(self):
        server = self.serve()
        greedy, honest, admin = self.keys(server)
        seq = server.get("/v1/boards/race/top", key=honest).json["seq"]
        with contextlib.ExitStack() as stack:
            sockets = []
            for i in range(90):  # 5,760 of 10,000
                s = stack.enter_context(server.connect())
                sockets.append(s)
                s.sendall(b"".join(f"GET /v1/boards/sandbox/top?min_seq={seq + 60000 - 64 * i - j} HTTP/1.1\r\nHost: localhost\r\n"
                                   f"Authorization: Bearer {greedy}\r\n\r\n".encode() for j in range(64)))
            until(lambda: self.metric(server, "rung_waiting", admin) == 5000, "half of the room taken")
            got = []
            reader = threading.Thread(target=lambda: got.append(server.get(f"/v1/boards/race/top?min_seq={seq + 1}", key=honest)))
            reader.start()
            until(lambda: self.metric(server, "rung_waiting", admin) != 5000 or got, "one more who waits, or the others' end")
            server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, key=honest)
            reader.join()
            self.check(got[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
