#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""What two HTTP implementations could read differently is refused, and the connection closes: hundreds of cases over real
sockets. Behind each request that must be refused stands another one, which must never be answered."""
import os
import re
import socket
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402

HOST = b"Host: localhost\r\n"
NEXT = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
POST = b"POST /v1/scores HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n"
JSON = b"POST /v1/scores HTTP/1.1\r\nContent-Type: application/json\r\n"
CHUNKED = JSON + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
CONTROLS = [bytes([c]) for c in [*range(0, 9), 11, 12, *range(14, 32), 127]]
BLANKS = [b" ", b"\t", b"\x0b", b"\x0c", b"\xa0", b"\x85"]


def bad_lines():
    for blank in BLANKS:
        yield b"GET" + blank + b" /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
        yield b"GET " + blank + b"/healthz HTTP/1.1\r\n" + HOST + b"\r\n"
        yield b"GET /healthz" + blank + b" HTTP/1.1\r\n" + HOST + b"\r\n"
        yield b"GET /healthz " + blank + b"HTTP/1.1\r\n" + HOST + b"\r\n"
        yield b"GET /healthz HTTP/1.1" + blank + b"\r\n" + HOST + b"\r\n"
        yield blank + b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for control in CONTROLS:
        yield b"GET /heal" + control + b"thz HTTP/1.1\r\n" + HOST + b"\r\n"
        yield b"G" + control + b"ET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for byte in b'"<>\\^`{|}#\x80\xc3\xff':
        yield b"GET /healthz?" + bytes([byte]) + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    for byte in b'"(),/:;<=>?@[\\]{}\x80':
        yield b"GE" + bytes([byte]) + b"T /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for version in (b"HTTP/1.01", b"HTTP/01.1", b"HTTP/1.", b"HTTP/.1", b"HTTP/1", b"HTTP1.1", b"http/1.1", b"HTTP /1.1", b"HTTP/1,1", b"HTTP/1.1x",
                    b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/3.0", b"HTTP/9.9", b"HTTP/-1.1", b"ICY/1.1", b""):
        yield b"GET /healthz " + version + b"\r\n" + HOST + b"\r\n"
    yield b"GET /healthz\r\n" + HOST + b"\r\n"
    for target in (b"healthz", b"*", b"http://", b"http:///healthz", b"ftp://localhost/healthz", b"http://other/healthz", b"http://u@localhost/healthz",
                   b"//", b"localhost:80", b"http://localhost/healthz http://localhost/healthz", b"\\healthz"):
        if target != b"//":
            yield b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    yield b"CONNECT localhost:443 HTTP/1.1\r\n" + HOST + b"\r\n"
    yield b"\r\n\r\n" + GET + HOST + b"\r\n"
    yield b"\n" + GET + HOST + b"\r\n"
    yield b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"


def bad_fields():
    for end in (b"\n", b"\r", b"\r\r\n", b"\n\r", b"\r\n\r"):
        yield b"GET /healthz HTTP/1.1" + end + HOST + b"\r\n"
        yield GET + b"Host: localhost" + end + b"A: b\r\n\r\n"
        yield GET + HOST + b"A: b" + end + b"C: d\r\n\r\n"
    yield GET + HOST + b"\n"
    yield GET + HOST + b"A: b\r\n\n"
    for control in CONTROLS + [b"\r", b"\n"]:
        yield GET + HOST + b"A: b" + control + b"c\r\n\r\n"
        yield GET + HOST + b"A" + control + b"B: c\r\n\r\n"
    for blank in BLANKS:
        yield GET + b"Host" + blank + b": localhost\r\n\r\n"
        yield GET + blank + HOST + b"\r\n"
        yield GET + HOST + b"A" + blank + b": b\r\n\r\n"
        yield GET + HOST + b"A: b\r\n" + blank + b"folded\r\n\r\n"
        yield GET + HOST + blank + b"A: b\r\n\r\n"
    for byte in b'"(),/;<=>?@[\\]{}\x80\xff':
        yield GET + HOST + b"A" + bytes([byte]) + b": b\r\n\r\n"
    yield GET + b"\r\n"
    yield GET + HOST + HOST + b"\r\n"
    yield GET + HOST + b"hOST: other\r\n\r\n"
    for host in (b"", b" ", b"a b", b"a,b", b"a/b", b"a@b", b"a?b", b"a#b", b"http://a", b"\xc3\xa9", b"a\tb", b'"a"', b"<a>", b"a\\b"):
        if host != b"a,b":  # a sub-delimiter: allowed in a name by RFC 3986
            yield GET + b"Host: " + host + b"\r\n\r\n"
    yield GET + HOST + b": empty\r\n\r\n"
    yield GET + HOST + b"no colon\r\n\r\n"
    yield GET + HOST + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"
    yield GET + HOST + b"Expect: something\r\n\r\n"
    yield GET + HOST + b"A: " + b"b" * 20000 + b"\r\n\r\n"
    yield GET + HOST + b"A: b\r\n" * 70 + b"\r\n"
    yield GET + HOST + b"X" * 20000


def bad_framing():
    for value in (b"", b" ", b"+5", b"-5", b"5 5", b"5,5", b"5, 5", b"0x5", b"5.0", b"5;a", b"1e1", b"five", b"\"5\"", b"5\x00", b"\x0b5", b"5\x0c",
                  b"99999999999999999999", b"9" * 40, b"\xd9\xa5", b"5_0", b"00x"):
        yield POST + HOST + b"Content-Length: " + value + b"\r\n\r\nhello"
    for second in (b"5", b"6", b"0", b"05"):
        yield POST + HOST + b"Content-Length: 5\r\nContent-Length: " + second + b"\r\n\r\nhello"
        yield POST + HOST + b"content-length: 5\r\nCONTENT-LENGTH: " + second + b"\r\n\r\nhello"
    for coding in (b"chunked", b"Chunked", b"identity", b"gzip", b"x, chunked", b"chunked, x"):
        yield POST + HOST + b"Content-Length: 5\r\nTransfer-Encoding: " + coding + b"\r\n\r\n0\r\n\r\n"
        yield POST + HOST + b"Transfer-Encoding: " + coding + b"\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    for coding in (b"identity", b"gzip", b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"chunked, identity", b"identity, chunked", b"xchunked",
                   b"chunkedx", b"chunked;", b"chunked; q=1", b"\"chunked\"", b"'chunked'", b"chunk", b"", b",chunked", b"chunked,", b"chu nked",
                   b"\x0bchunked", b"chunked\x0b", b"\x00chunked", b"chun\xe2\x80\x8bked", b"=chunked"):
        yield POST + HOST + b"Transfer-Encoding: " + coding + b"\r\n\r\n0\r\n\r\n"
    yield POST + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield POST + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
    yield POST + HOST + b"Transfer-Encoding\r\n: chunked\r\n\r\n0\r\n\r\n"
    yield POST + HOST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"
    yield POST + HOST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"
    yield b"POST /v1/scores HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"


def bad_chunks():
    for size in (b"", b" 2", b"2 ", b"\t2", b"+2", b"-2", b"0x2", b"2h", b"2_", b"g", b"\x00", b"2\x00", b"2,", b"2.0", b"ffffffffffffffff", b"10000000000000002",
                 b"00000000000000000002", b"\xef\xbc\x92"):
        yield CHUNKED + size + b"\r\n{}\r\n0\r\n\r\n"
    for end in (b"\n", b"\r", b"\rX", b"\n\n", b"\r\r\n", b"X\r\n", b" \r\n"):
        yield CHUNKED + b"2" + end + b"{}\r\n0\r\n\r\n"
        yield CHUNKED + b"2\r\n{}" + end + b"0\r\n\r\n"
        yield CHUNKED + b"0" + end + b"\r\n"
        if end != b"X\r\n":
            yield CHUNKED + b"0\r\n" + end
    yield CHUNKED + b"2\r\n{}0\r\n\r\n"
    yield CHUNKED + b"2\r\n{\r\n0\r\n\r\n"
    yield CHUNKED + b"3\r\n{}\r\n0\r\n\r\n"
    for extension in (b";a\nb", b";a\rb", b";a\x00", b";\x7f", b";" + b"a" * 300, b" ;a"):
        yield CHUNKED + b"2" + extension + b"\r\n{}\r\n0\r\n\r\n"
    for trailer in (b"A : b\r\n", b" A: b\r\n", b"A: b\n", b"A\r\n", b": b\r\n", b"A: b\x00\r\n", b"A: b\r\n folded\r\n", b"A: " + b"b" * 5000 + b"\r\n"):
        yield CHUNKED + b"0\r\n" + trailer + b"\r\n"


# Strange, but with one meaning only: answered, and so is what follows.
GOOD = [
    GET + HOST + b"\r\n",
    b"\r\n" + GET + HOST + b"\r\n",
    b"GET http://localhost/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    GET + b"hoST:localhost   \r\n\r\n",
    GET + HOST + b"A:\r\nB: \t \r\nC: \xff\xc3\xa9 x\r\n\r\n",
    GET + HOST + b"Content-Length: 0\r\n\r\n",
    JSON + HOST + b"Content-Length: 002\r\n\r\n[]",
    JSON + HOST + b"Transfer-Encoding: cHuNkEd \r\n\r\n2;a=\"b\"\r\n[]\r\n000\r\nT: v\r\n\r\n",
    GET + HOST + b"Connection: keep-alive, x\r\nConnection: y\r\n\r\n",
    GET + HOST + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n",
]


class Strict(ServerTest):
    def one(self, server, data):
        """(statuses, was the second request answered?)"""
        got = b""
        with server.connect(20) as s:
            try:
                s.sendall(data + NEXT)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has closed already
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except ConnectionResetError:
                pass
        return re.findall(rb"HTTP/1\.1 (\d{3}) ", got), b'"ready"' in got or got.count(b"HTTP/1.1 200") > 1, got

    def refused(self, cases):
        server = self.serve()
        cases = list(cases)
        wrong = []
        with ThreadPoolExecutor(8) as pool:
            for data, (statuses, is_second, got) in zip(cases, pool.map(lambda data: self.one(server, data), cases)):
                fine = len(statuses) == 1 and statuses[0][:1] in (b"4", b"5") and b"Connection: close" in got and not is_second
                if not fine:
                    wrong.append(f"{data[:200]!r}: {statuses}")
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(cases)}")
        self.assertTrue(server.is_running)
        return len(cases)

    def test_request_lines(self):
        self.assertGreater(self.refused(bad_lines()), 120)

    def test_header_fields(self):
        self.assertGreater(self.refused(bad_fields()), 120)

    def test_framing(self):
        self.assertGreater(self.refused(bad_framing()), 60)

    def test_chunks(self):
        self.assertGreater(self.refused(bad_chunks()), 50)

    def test_what_is_strange_but_clear(self):
        server = self.serve()
        for data in GOOD:
            statuses, is_second, got = self.one(server, data)
            self.assertEqual((statuses, is_second), ([b"200", b"200"], True), f"{data!r}: {got!r}")

    def test_split_anywhere(self):
        server = self.serve()

        def send(split):
            with server.connect(20) as s:
                for part in (data[:split], data[split:]):
                    s.sendall(part)
                got = b""
                while chunk := s.recv(65536):
                    got += chunk
                return re.findall(rb"HTTP/1\.1 (\d{3}) ", got)
        data = GOOD[7] + JSON + b"Content-Length: 2\r\n" + HOST + b"Connection: close\r\n\r\n[]"
        with ThreadPoolExecutor(8) as pool:
            for split, statuses in enumerate(pool.map(send, range(1, len(data)))):
                self.assertEqual(statuses, [b"200", b"200"], split)


if __name__ == "__main__":
    unittest.main()
