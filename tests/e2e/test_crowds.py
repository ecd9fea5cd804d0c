#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""Strangers that come in crowds, send half of something and wait: who is cut off, who is still answered, what is held."""
import os
import re
import resource
import socket
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, encode  # noqa: E402
from server import WAIT, ServerTest, token, until  # noqa: E402

HALF = b"*2\r\n$4\r\nAU"
SECRET = b"a secret of thirty-two bytes, or more"
LONG = "1h"


def read_all(s):
    """Until the server closes."""
    got = b""
    try:
        while chunk := s.recv(65536):
            got += chunk
    except ConnectionResetError:
        pass
    return got


def metric(server, name, **more):
    text = server.get("/metrics", **more).body.decode()
    return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])


class Crowd(ServerTest):
    def connect(self, address, data=b""):
        s = socket.create_connection(address, timeout=WAIT)
        self.addCleanup(s.close)
        if data:
            s.sendall(data)
        return s


class Deadlines(Crowd):
    def test_until_auth(self):
        server = self.serve("--limits-auth-timeout", "300ms", "--limits-command-timeout", LONG)
        key = server.key("server")
        for words in (b"", HALF, encode(["PING"])):
            got = read_all(self.connect(server.resp, words))
            self.assertIn(b"-ERR no key was shown in time", got, words)
        with Connection(server.resp) as c:
            self.assertEqual(c.call("AUTH", key).value, "OK")
            read_all(self.connect(server.resp))  # its time is over, that of `c` is not
            self.assertEqual(c.call("PING").value, "PONG")

    def test_half_a_command(self):
        server = self.serve("--limits-command-timeout", "300ms")
        with Connection(server.resp) as idle:
            self.assertEqual(idle.call("PING").value, "PONG")
            got = read_all(self.connect(server.resp, encode(["PING"]) + b"*2\r\n$4\r\nECHO\r\n$10\r\n123"))
            self.assertEqual(got.partition(b"\r\n")[0], b"+PONG")
            self.assertIn(b"-ERR the command did not arrive in time", got)
            self.assertEqual(idle.call("PING").value, "PONG")
        self.assertEqual(metric(server, "rung_resp_timed_out_total"), 1)

    def test_an_idle_transaction(self):
        server = self.serve("--limits-idle-timeout", "300ms")
        with Connection(server.resp) as idle, Connection(server.resp) as busy:
            self.assertEqual(idle.call("PING").value, "PONG")
            self.assertEqual(busy.call("MULTI").value, "OK")
            self.assertEqual(busy.call("PING").value, "QUEUED")
            self.assertIn(b"-ERR the transaction was idle for too long", read_all(busy.socket))
            self.assertEqual(idle.call("PING").value, "PONG")  # few are here, so it may stay

    def test_a_body(self):
        server = self.serve("--limits-body-deadline", "500ms")
        body = b"[" + b" " * 100000  # at 500 bytes a second it would have minutes
        s = self.connect(server.http, b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: 200000\r\n\r\n" + body)
        self.assertTrue(read_all(s).startswith(b"HTTP/1.1 408"))

    def test_an_idle_stream(self):
        server = self.serve("--limits-body-deadline", "500ms")
        server.put("/v1/boards/race", {})
        lines = b'{"board":"race","player":"ada","score":1}\n' + b"\n" * 50000
        s = self.connect(server.http, b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(lines), lines))
        self.assertIn(b'"rank":1', read_all(s))


class Places(Crowd):
    def fill_resp(self, server, count):
        """So many half commands; then one more is turned away. Places of connections that are closing come free meanwhile."""
        crowd = []

        def is_refused():
            crowd.append(self.connect(server.resp, encode(["PING"]) + HALF))
            return b"max number of clients" in crowd[-1].recv(4096) and crowd.pop()

        until(lambda: not is_refused() and len(crowd) == count, "a full house")
        self.assertTrue(is_refused())

    def test_the_redis_port_does_not_take_them_all(self):
        server = self.serve("--limits-connections", 32, "--limits-auth-timeout", LONG, "--limits-command-timeout", LONG)
        admin, reader = server.key("admin"), server.key("read")
        self.fill_resp(server, 24)
        self.check(server.get("/healthz"), 200)
        self.check(server.get("/v1/boards", key=reader), 200)
        # HTTP takes what was left for it: then health and admins go on.
        for _ in range(4):
            idle = server.open()
            self.addCleanup(idle.close)
            until(lambda: server.get("/v1/boards", key=reader, connection=idle).status == 200, "a place")
        answer = self.check(server.get("/v1/boards", key=reader), 503, "too_many_connections")
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertEqual(answer.headers["Connection"], "close")
        self.check(server.get("/v1/boards"), 503, "too_many_connections")
        for path in ("/healthz", "/readyz"):
            self.check(server.get(path), 200)
        self.check(server.get("/v1/boards", key=admin), 200)
        # Nor can silence take the places of those.
        for data in [b""] * 50 + [b"GET /healthz HTTP/1.1\r\n"] * 50:
            self.connect(server.http, data)
        for _ in range(20):
            self.check(server.get("/healthz"), 200)
            self.check(server.get("/v1/boards", key=admin), 200)
        self.assertLessEqual(metric(server, "rung_connections_reserved", key=admin), 4)

    def test_an_address_has_a_share(self):
        server = self.serve("--limits-connections", 100, "--limits-connections-per-address", 10, "--limits-auth-timeout", LONG)
        admin, reader = server.key("admin"), server.key("read")
        self.fill_resp(server, 10)
        self.check(server.get("/healthz"), 200)
        self.check(server.get("/v1/boards", key=reader), 503, "too_many_connections")
        self.check(server.get("/v1/boards", key=admin), 200)
        self.assertGreaterEqual(metric(server, "rung_connections_refused_by_address_total", key=admin), 1)

    def test_silent_ones_make_room_when_there_is_little(self):
        server = self.serve("--limits-connections", 32, "--limits-idle-timeout", LONG, "--limits-header-timeout", "1s")
        reader = server.key("read")
        for _ in range(60):
            self.connect(server.http)
        until(lambda: server.get("/v1/boards", key=reader).status == 200, "room")

    def test_who_is_idle_makes_room_when_there_is_little(self):
        server = self.serve("--limits-connections", 32, "--limits-idle-timeout", "1s")

        def is_served():
            s = self.connect(server.resp)
            try:
                s.sendall(encode(["PING"]))
                if s.recv(4096) == b"+PONG\r\n":
                    return True
            except OSError:
                pass  # too many are being turned away
            s.close()
            return False
        until(lambda: not is_served(), "a full house")  # of connections that say nothing more
        until(is_served, "room")


class Held(Crowd):
    def test_bodies(self):
        server = self.serve("--limits-buffers", "4MiB")
        head = b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        self.connect(server.http, head + b"[" + b" " * 900000)
        until(lambda: metric(server, "rung_connections_held_bytes") >= 900000, "the body counts")
        for _ in range(20):
            try:
                self.connect(server.http, head + b"[" + b" " * 900000)
            except OSError:
                pass  # cut off while sending
        until(lambda: metric(server, "rung_connections_cut_off_total") > 0, "somebody cut off")
        self.assertLessEqual(metric(server, "rung_connections_held_bytes"), 8 << 20)
        server.put("/v1/boards/race", {})
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}), 200)

    def test_streams(self):
        server = self.serve()
        server.put("/v1/boards/race", {})
        line = b"x" * 60000  # not a whole line yet
        self.connect(server.http, b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(line), line))
        until(lambda: metric(server, "rung_connections_held_bytes") >= 60000, "the line counts")

    def test_answers_behind_others(self):
        server = self.serve()
        server.put("/v1/boards/race", {})
        asked = b"GET /v1/boards/race/top?min_seq=50000 HTTP/1.1\r\nHost: localhost\r\n\r\n" + \
            b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.connect(server.http, asked)
        until(lambda: metric(server, "rung_connections_held_bytes") >= 50000, "the answer counts")

    def test_transactions(self):
        server = self.serve("--limits-buffers", "4MiB")
        crowd = [Connection(server.resp) for _ in range(10)]
        for c in crowd:
            self.addCleanup(c.close)
        first = crowd[0]
        self.assertEqual(first.call("MULTI").value, "OK")
        self.assertEqual(first.call("ECHO", "x" * 1000000).value, "QUEUED")
        until(lambda: metric(server, "rung_connections_held_bytes") >= 1000000, "the queue counts")
        for c in crowd[1:]:
            try:
                c.socket.sendall(encode(["MULTI"]) + encode(["ECHO", "x" * 1000000]) * 3)
            except OSError:
                pass
        until(lambda: metric(server, "rung_connections_cut_off_total") > 0, "somebody cut off")
        self.assertLessEqual(metric(server, "rung_connections_held_bytes"), 8 << 20)

    def test_a_reader_queues_little(self):
        server = self.serve()
        secret = server.own_folder / "secret"
        secret.write_bytes(SECRET)
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
        reader, writer = server.key("read"), server.key("server")
        player = token({"sub": "ada", "exp": int(time.time()) + 600}, secret=SECRET, kid="login")
        for key, refused in ((reader, True), (player, True), (writer, False)):
            with Connection(server.resp) as c:
                self.assertEqual(c.call("AUTH", key).value, "OK")
                self.assertEqual(c.call("MULTI").value, "OK")
                self.assertEqual(c.call("PING", "x" * 50000).value, "QUEUED")
                second = c.call("PING", "x" * 50000).value
                self.assertEqual(second, "ERR the transaction is too large" if refused else "QUEUED")
                last = c.call("EXEC")
                self.assertEqual(last.raw.startswith(b"-EXECABORT"), refused)


class Files(Crowd):
    def limited(self, *flags):
        return self.serve(*flags, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))

    def test_connections_fit_the_open_files(self):
        """All descriptors that strangers can have are taken: the log goes on, and a revoked key is no good any more."""
        server = self.limited()
        until(lambda: "connections=100" in server.log, "the line in the log")
        admin, bad = server.key("admin"), server.key("server")
        self.check(server.put("/v1/boards/race", {}, key=admin), 201)
        with Connection(server.resp) as c:
            self.assertEqual(c.call("AUTH", bad).value, "OK")
            self.assertEqual(c.call("ZADD", "race", 1, "ada").value, 1)
            for _ in range(300):
                try:
                    self.connect(server.http, b"GET /healthz HTTP/1.1\r\n")
                except OSError:
                    pass
            self.assertLessEqual(metric(server, "rung_connections", key=admin), 100 + 64)
            server.revoke(bad)
            until(lambda: c.call("ZADD", "race", 2, "bob").raw.startswith(b"-NOAUTH"), "the key is refused")
        self.check(server.post("/v1/boards/race/scores", {"player": "eve", "score": 3}, key=admin), 200)
        self.assertTrue(server.is_running)


if __name__ == "__main__":
    unittest.main()
