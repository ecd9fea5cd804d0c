#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""Clients that mean harm, or do harm without meaning it: after each the server answers the next one, and holds no more memory."""
import os
import random
import socket
import struct
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import Server, ServerTest, parse_answers, quote, until  # noqa: E402

GROWTH_MAX = 64 << 20
IS_SANITIZED = any(name in os.environ["RUNG_BUILD"] for name in ("asan", "tsan"))

# Framing that two servers could read in two ways: refused and closed, whatever follows.
SMUGGLING = {
    "length and chunked": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "length twice": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "same length twice": b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "lengths in a list": b"Content-Length: 5, 5\r\n\r\nhello",
    "length with a sign": b"Content-Length: +5\r\n\r\nhello",
    "negative length": b"Content-Length: -5\r\n\r\nhello",
    "length in hex": b"Content-Length: 0x5\r\n\r\nhello",
    "length with a point": b"Content-Length: 5.0\r\n\r\nhello",
    "length with a blank inside": b"Content-Length: 5 5\r\n\r\nhello",
    "length too large": b"Content-Length: 99999999999999999999999\r\n\r\n",
    "length of 2^64": b"Content-Length: 18446744073709551616\r\n\r\n",
    "length of 2^64 + 5": b"Content-Length: 18446744073709551621\r\n\r\nhello",
    "empty length": b"Content-Length: \r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked, identity": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "identity": b"Transfer-Encoding: identity\r\n\r\n",
    "gzip, chunked": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "xchunked": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked with a tab": b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked in quotes": b"Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
    "blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "blank before a length": b"Content-Length : 5\r\n\r\nhello",
    "folded": b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "folded plain field": b"X-Long: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "folded first": b" X: y\r\nContent-Length: 0\r\n\r\n",
    "bare LF": b"Content-Length: 0\nX: y\r\n\r\n",
    "all bare LF": b"Content-Length: 0\n\n",
    "bare CR": b"X: a\rContent-Length: 5\r\n\r\nhello",
    "NUL in a value": b"X: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "NUL in a name": b"X\x00Y: b\r\nContent-Length: 0\r\n\r\n",
    "control character in a value": b"X: a\x01b\r\nContent-Length: 0\r\n\r\n",
    "no colon": b"Content-Length\r\n\r\n",
    "empty name": b": x\r\nContent-Length: 0\r\n\r\n",
    "blank in a name": b"X Y: x\r\nContent-Length: 0\r\n\r\n",
    "brackets in a name": b"X(Y): x\r\nContent-Length: 0\r\n\r\n",
    "two hosts": b"Host: other\r\nContent-Length: 0\r\n\r\n",
}
CHUNKS = {
    "not hex": b"zz\r\nhello\r\n0\r\n\r\n",
    "empty size": b"\r\nhello\r\n0\r\n\r\n",
    "sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "minus": b"-5\r\nhello\r\n0\r\n\r\n",
    "0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "too large": b"FFFFFFFFFFFFFFFFF\r\nhello",
    "2^64": b"10000000000000000\r\nhello",
    "too short": b"4\r\nhello\r\n0\r\n\r\n",
    "too long": b"6\r\nhello\r\n0\r\n\r\n",
    "bare LF after size": b"5\nhello\r\n0\r\n\r\n",
    "bare LF after data": b"5\r\nhello\n0\r\n\r\n",
    "blank before size": b" 5\r\nhello\r\n0\r\n\r\n",
    "NUL in extension": b"5;a=\x00\r\nhello\r\n0\r\n\r\n",
}
REQUEST_LINES = {
    "no version": b"GET /healthz\r\n",
    "HTTP/0.9": b"GET /healthz HTTP/0.9\r\n",
    "HTTP/2.0": b"GET /healthz HTTP/2.0\r\n",
    "HTTP/1.10": b"GET /healthz HTTP/1.10\r\n",
    "http in small letters": b"GET /healthz http/1.1\r\n",
    "two blanks": b"GET  /healthz HTTP/1.1\r\n",
    "a tab": b"GET\t/healthz HTTP/1.1\r\n",
    "blank in the target": b"GET /heal thz HTTP/1.1\r\n",
    "no target": b"GET HTTP/1.1\r\n",
    "control character": b"GET /\x01 HTTP/1.1\r\n",
    "NUL": b"GET /\x00 HTTP/1.1\r\n",
    "bare LF": b"GET /healthz HTTP/1.1\n",
    "not a token": b"G(T /healthz HTTP/1.1\r\n",
    "empty method": b" /healthz HTTP/1.1\r\n",
    "fragment": b"GET /healthz#x HTTP/1.1\r\n",
    "relative": b"GET healthz HTTP/1.1\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "RESP": b"*1\r\n$4\r\nPING\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


POST = b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NEXT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"  # what follows must never be seen as a request

BAD_BODIES = (
    b"[" * 100000, b"{\"a\":" * 100000, b"{\"player\":" + b"[" * 5000 + b"]" * 5000 + b"}", b"", b"\x00", b"nul", b"{",
    b"{\"player\":\"a\",\"score\":1", b"{\"player\":\"a\",\"score\":1}x", b"\xef\xbb\xbf{}", b"{\"player\":\"\xff\",\"score\":1}",
    b"{\"player\":\"\\ud800\",\"score\":1}", b"{\"player\":\"a\\u0000b\",\"score\":1}", b"{\"player\":\"a\",\"score\":1e999}",
    b"{\"player\":\"a\",\"score\":" + b"9" * 100000 + b"}", b"{\"player\":\"a\",\"score\":NaN}",
    b"{\"player\":\"a\",\"player\":\"b\",\"score\":1}", b"{\"player\":\"a\",\"score\":1,\"extra\":1}",
    b"{\"player\":\"" + b"x" * 129 + b"\",\"score\":1}", b"[]", b"7", b"\"x\"", b"null",
    b"{" + b",".join(b"\"k%d\":1" % i for i in range(5000)) + b"}",
)


class Hostile(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--limits-header-timeout", "2s", "--limits-body-timeout", "2s", "--limits-idle-timeout", "5s",
                            "--limits-write-timeout", "2s", "--limits-connections", "2000")
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.server.put("/v1/boards/race", {})
        for i in range(300):  # everything that is pooled is there before memory is measured
            cls.server.get("/v1/boards/race/top")

    def setUp(self):
        self.before = self.server.memory()

    def tearDown(self):
        self.assertTrue(self.server.is_running, self.server.log)
        self.assertTrue(self.server.is_alive())
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - self.before, GROWTH_MAX)

    def refused(self, data, what, statuses=(400,), count=1):
        """Exactly `count` answers, the last of them a refusal, then the end of the connection."""
        got = self.server.raw(data)
        answers, left = parse_answers(got)
        self.assertEqual(left, b"", what)
        if not answers and None in statuses:
            return
        self.assertEqual(len(answers), count, f"{what}: {got!r}")
        self.assertIn(answers[-1][0], statuses, f"{what}: {got!r}")
        self.assertEqual(answers[-1][1].get("connection"), "close", what)

    def test_smuggling(self):
        for name, rest in SMUGGLING.items():
            self.refused(b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\n" + rest + NEXT, name, (400, 413, 501))

    def test_bad_chunks(self):
        for name, chunks in CHUNKS.items():
            self.refused(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + NEXT, name, (400, 413))

    def test_request_lines(self):
        for name, line in REQUEST_LINES.items():
            self.refused(line + b"Host: localhost\r\n\r\n", name, (400, 408, 505))

    def test_hosts(self):
        self.refused(b"GET /healthz HTTP/1.1\r\n\r\n", "no host")
        self.refused(b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "two hosts")
        self.refused(b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", "blank in host")

    def test_oversize(self):
        head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        self.refused(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "target", (414,))
        self.refused(b"GET /" + b"a" * 200000, "endless target", (414, 431))
        self.refused(head + b"X: " + b"a" * 17000 + b"\r\n\r\n", "long field", (431,))
        self.refused(head + b"X" * 17000 + b": a\r\n\r\n", "long name", (431,))
        self.refused(head + b"".join(b"X%d: y\r\n" % i for i in range(70)) + b"\r\n", "many fields", (431,))
        self.refused(head + b"X: y\r\n" * 5000 + b"\r\n", "very many fields", (431,))
        self.refused(b"A" * 200000, "endless method", (400, 414, 431, 501))
        self.refused(POST + b"Content-Length: 999999999999\r\n\r\n", "length", (413,))
        answers, _ = parse_answers(self.server.raw(
            POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + b"x" * 0x100000 +
            b"\r\n100000\r\n" + b"x" * 0x100000 + b"\r\n"))
        self.assertEqual(answers[0][0], 413)
        self.assertEqual(self.server.get("/" + "a/" * 3000).status, 404)

    def test_trailers_are_bounded(self):
        start = POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
        self.refused(start + b"X: " + b"a" * 20000 + b"\r\n\r\n", "long trailer", (400, 431))
        self.refused(start + b"X: y\r\n" * 1000 + b"\r\n", "many trailers", (400, 431))
        self.refused(start + b"X Y: y\r\n\r\n", "bad trailer", (400,))

    def test_json_bombs(self):
        def post(body, path="/v1/boards/race/scores"):
            return self.server.post(path, body, headers={"Content-Type": "application/json"}).status
        for body in BAD_BODIES:
            self.assertIn(post(body), (400, 413, 422), body[:80])
        self.assertEqual(self.server.get("/v1/boards/race/top").json["total"], 0)

    def test_hostile_paths(self):
        for path in ("/v1/boards/%00", "/v1/boards/%ff", "/v1/boards/%zz", "/v1/boards/%2", "/v1/boards/%", "/v1/boards/a%0ab",
                     "/v1/boards/" + quote("x" * 129), "/v1/boards/race/players/%c0%80", "/v1/boards/race/top?limit=%00",
                     "/v1/boards/race/top?limit=-1", "/v1/boards/race/top?limit=1e9", "/v1/boards/race/top?limit=99999999999999999999",
                     "/v1/boards/race/top?limit=1&limit=2", "/v1/boards/race/top?nonsense=1", "/v1/boards/race/top?scope=%ff",
                     "/v1/boards/race/at-score/abc", "/v1/boards/race/at-score/1e400", "/v1/boards/race/target?rank=0",
                     "/v1/boards/race/top?limit", "/v1/boards/race/top?=", "/v1/boards/race/top?on=yesterday"):
            self.assertIn(self.server.get(path).status, (400, 404, 422), path)
        for path in ("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/v1/../v1/boards", "/assets/../../etc/passwd",
                     "/.git/config"):
            answer = self.server.get(path)
            self.assertNotIn(b"root:", answer.body, path)
            self.assertIn(answer.status, (400, 404), path)

    def test_early_closes(self):
        request = POST + b"Content-Length: 27\r\n\r\n" b"{\"player\":\"a\",\"score\": 1.0}"
        for cut in range(0, len(request), 3):
            with self.server.connect() as s:
                s.sendall(request[:cut])
                if cut % 2:  # a reset rather than an end
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for _ in range(50):  # the answer is not waited for
            with self.server.connect() as s:
                s.sendall(b"GET /v1/boards/race/top HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_half_close(self):
        answers, left = parse_answers(self.server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3, half_close=True))
        self.assertEqual([a[0] for a in answers], [200] * 3)
        self.assertEqual(left, b"")

    def test_every_split(self):
        """The same request in pieces of every size gives the same answer."""
        request = (b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"1\r\n[\r\n1;x=y\r\n]\r\n0\r\nT: v\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        for size in (1, 2, 3, 5, 7, 50):
            with self.server.connect() as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for i in range(0, len(request), size):
                    s.sendall(request[i:i + size])
                got = b""
                while chunk := s.recv(65536):
                    got += chunk
            self.assertEqual([a[0] for a in parse_answers(got)[0]], [200, 200], got)

    def test_pipeline(self):
        """A thousand requests at once, answered in order."""
        with self.server.connect() as s:
            paths = [b"/v1/boards/race/at-score/%d" % i for i in range(1000)]
            s.sendall(b"".join(b"GET " + p + b" HTTP/1.1\r\nHost: localhost\r\n\r\n" for p in paths) +
                      b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            got = b""
            while chunk := s.recv(1 << 20):
                got += chunk
        answers, left = parse_answers(got)
        self.assertEqual((len(answers), left), (1001, b""))
        for i, (status, _, body) in enumerate(answers[:-1]):
            self.assertEqual(status, 200, body)
            self.assertRegex(body, rb'"score":\s*%d\b' % i)

    def test_malformed_behind_pending(self):
        """A malformed request behind one that waits is refused in its turn, and the connection closes."""
        seq = self.server.post("/v1/boards/race/scores", {"player": "seq", "score": 1}).json["seq"]
        before = self.malformed()
        with self.server.connect() as s:
            s.sendall(b"GET /v1/boards/race/top?min_seq=%d HTTP/1.1\r\nHost: localhost\r\n\r\nX\r\n\r\n" % (seq + 1))
            got = b""
            until(lambda: self.malformed() > before, "the refusal")
            self.server.post("/v1/boards/race/scores", {"player": "seq", "score": 2})
            while chunk := s.recv(65536):
                got += chunk
        answers, left = parse_answers(got)
        self.assertEqual(([a[0] for a in answers], left), ([200, 400], b""))
        self.assertEqual(answers[1][1]["connection"], "close")

    def receive_until(self, s, end):
        got = b""
        while end not in got:
            chunk = s.recv(65536)
            self.assertTrue(chunk, f"closed after {got!r}")
            got += chunk
        return got

    def malformed(self):
        """Requests that the transport has refused, from /metrics."""
        text = self.server.get("/metrics").body.decode()
        return next(int(line.split()[-1]) for line in text.splitlines() if line.startswith("rung_http_malformed_total"))

    def test_malformed_behind_a_stream(self):
        for path in (b"/v1/boards/race/live", b"/v1/players/ada/live"):
            before = self.malformed()
            with self.server.connect() as s:
                s.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\nX\r\n\r\n")
                self.receive_until(s, b"event: state")
                until(lambda: self.malformed() > before, "the refusal")
                self.assertTrue(self.server.is_alive())

    def test_malformed_behind_an_unreachable_sequence(self):
        before = self.malformed()
        with self.server.connect() as s:
            s.sendall(b"GET /v1/boards/race/top?min_seq=50000 HTTP/1.1\r\nHost: localhost\r\n\r\nX\r\n\r\n")
            until(lambda: self.malformed() > before, "the refusal")
            got = b""
            while chunk := s.recv(65536):
                got += chunk
        answers, left = parse_answers(got)
        self.assertEqual((len(answers), answers[-1][0], left), (2, 400, b""))

    def test_long_ndjson_keeps_the_connection(self):
        line = b'{"board":"race","player":"long","score":1}\n'
        body = line * (100_000 // len(line))
        head = b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n" % len(body)
        last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answers, left = parse_answers(self.server.raw(head + b"\r\n" + body + last))
        self.assertEqual(([a[0] for a in answers], left), ([200, 200], b""))
        self.assertNotIn("connection", answers[0][1])
        self.assertEqual(answers[0][2].count(b"\n"), len(body) // len(line))
        with self.server.connect() as s:
            s.sendall(head + b"Expect: 100-continue\r\n\r\n")
            got = self.receive_until(s, b"\r\n\r\n")
            self.assertTrue(got.startswith(b"HTTP/1.1 100 Continue\r\n\r\n"), got)
            s.sendall(body + last)
            while chunk := s.recv(65536):
                got += chunk
        answers, left = parse_answers(got)
        self.assertEqual(([a[0] for a in answers], left), ([200, 200], b""))

    def test_a_reader_that_does_not_read(self):
        """Asks for much and takes nothing: what waits is bounded, and it is cut in the end."""
        for i in range(0, 3000, 500):
            self.server.post("/v1/scores", [{"board": "race", "player": f"p{j}", "score": j} for j in range(i, i + 500)])
        before = self.server.memory()
        greedy = []
        for _ in range(20):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(60)
            s.connect(self.server.http)
            s.setblocking(False)
            try:
                s.send(b"GET /v1/boards/race/top?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
            except BlockingIOError:
                pass
            greedy.append(s)
        for _ in range(20):  # each answer is a turn of the loop, in which the server reads from everybody who has sent
            self.assertEqual(self.server.get("/healthz").status, 200)
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - before, GROWTH_MAX)
        self.assertTrue(self.server.is_alive())
        for s in greedy:
            s.close()
        self.server.put("/v1/boards/race2", {})
        self.server.delete("/v1/boards/race")
        self.server.put("/v1/boards/race", {})

    def closes(self, s):
        s.settimeout(60)
        try:
            while s.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def test_slow_clients(self):
        """A head that never ends, a body that never comes, silence: all end by themselves, one byte a second does not help."""
        begun = []
        for start in (b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", POST + b"Content-Length: 500\r\n\r\n{",
                      POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
            s = self.server.connect()
            s.sendall(start)
            begun.append(s)
        drip = self.server.connect()
        drip.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        try:
            for _ in range(120):
                drip.sendall(b"a")
                time.sleep(0.25)
            self.fail("a head may take for ever")
        except (ConnectionResetError, BrokenPipeError):
            pass
        for s in begun:
            self.closes(s)
            s.close()
        drip.close()

    def test_many_connections(self):
        """More than the limit: those beyond it are turned away, the others are served, and it recovers."""
        crowd, served = [], 0
        for _ in range(2100):
            s = socket.socket()
            s.settimeout(60)
            try:
                s.connect(self.server.http)
                crowd.append(s)
                if len(crowd) % 100 == 0:  # not later: whoever says nothing is sent away in time
                    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    served += s.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError:
                s.close()
        self.assertGreater(served, 10)
        for s in crowd:
            s.close()

        def is_back():
            try:
                return self.server.is_alive()
            except OSError:
                return False
        until(is_back, "room for a connection")

    def test_garbage(self):
        chance = random.Random(7)
        for _ in range(200):
            data = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400)))
            if chance.randrange(2):
                data = b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n"
            self.server.raw(data, half_close=True)

    def test_mutations(self):
        """A good conversation with a few bytes changed: any answer, but an answer or an end, and no harm."""
        chance = random.Random(11)
        good = (POST.replace(b"race", b"race3") + b"Content-Length: 24\r\n\r\n" b"{\"player\":\"a\",\"score\":1}"
                b"GET /v1/boards/race3/top?limit=5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.server.put("/v1/boards/race3", {})
        for _ in range(400):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 4)):
                where = chance.randrange(len(data))
                what = chance.randrange(3)
                if what == 0:
                    data[where] = chance.randrange(256)
                elif what == 1:
                    del data[where]
                else:
                    data.insert(where, chance.choice(b"\r\n :,;%0\x00\xff"))
            parse_answers(self.server.raw(bytes(data), half_close=True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
