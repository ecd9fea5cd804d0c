#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""Hostile clients on the Redis port: what they say is refused or ends them, and memory stays within bounds, before AUTH above all."""
import errno
import os
import random
import socket
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import WAIT, Server, ServerTest, until  # noqa: E402

GROWTH_MAX = 64 << 20
IS_SANITIZED = any(name in os.environ["RUNG_BUILD"] for name in ("asan", "tsan"))


def command(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Hostile(ServerTest):
    has_keys = False

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--limits-idle-timeout", "60s", "--limits-write-timeout", "2s")
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.key = cls.server.key("admin") if cls.has_keys else None

    def setUp(self):
        for _ in range(50):  # what is pooled is there
            self.talk(b"PING\r\n")
        self.before = self.server.memory()

    def tearDown(self):
        self.assertTrue(self.server.is_running, self.server.log)
        self.assertTrue(self.server.is_alive())
        with self.connect() as s:
            s.sendall(b"PING\r\n")
            self.assertEqual(s.recv(100), b"+PONG\r\n")
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - self.before, GROWTH_MAX)

    def connect(self, auth=True):
        s = socket.create_connection(self.server.resp, WAIT)
        if self.has_keys and auth:
            s.sendall(command("AUTH", self.key))
            self.assertEqual(s.recv(100), b"+OK\r\n")
        return s

    def talk(self, data, auth=True):
        """Send, close our side, and read to the end."""
        got = b""
        with self.connect(auth) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while chunk := s.recv(1 << 16):
                    got += chunk
            except OSError as e:  # it hung up
                if not isinstance(e, ConnectionError) and e.errno != errno.ENOTCONN:
                    raise
        return got

    def test_bad_framing(self):
        for data in (b"*x\r\n", b"*99999999999\r\n", b"*2147483648\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$-2\r\n",
                     b"*1\r\n+PING\r\n", b"*1\r\n:5\r\n", b"*1\r\n$4294967296\r\n", b"*1\r\n$536870913\r\n",
                     b"*1\r\n$99999999999999999999\r\n", b"*1\r\n*1\r\n$4\r\nPING\r\n", b"*" + b"1" * 100000, b"$" * 100000,
                     b"PING" + b"x" * 200000):
            got = self.talk(data + b"\r\nPING\r\n")
            self.assertNotIn(b"+PONG", got, data[:40])
            self.assertTrue(got == b"" or got.startswith(b"-ERR"), (data[:40], got[:100]))

    def test_other_protocols(self):
        for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                     b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nFLUSHALL\r\n"):
            got = self.talk(data + b"PING\r\n")
            self.assertNotIn(b"+PONG", got)  # a browser cannot be made to speak to this port

    def test_cuts(self):
        whole = command("ZADD", "cut", "1", "a") + command("ZRANGE", "cut", "0", "-1", "WITHSCORES")
        for cut in range(len(whole)):
            with self.connect() as s:
                s.sendall(whole[:cut])
                if cut % 2:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_every_byte_alone(self):
        data = command("ZADD", "split", "1", "a") + b"PING\r\n" + command("ECHO", b"\r\n\x00$*") + b'ECHO "a b"\r\n'
        with self.connect() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in data:
                s.sendall(bytes([byte]))
            s.shutdown(socket.SHUT_WR)
            got = b""
            while chunk := s.recv(4096):
                got += chunk
        self.assertRegex(got, rb"\A:[01]\r\n\+PONG\r\n\$5\r\n\r\n\x00\$\*\r\n\$3\r\na b\r\n\Z")

    def test_garbage(self):
        chance = random.Random(5)
        for _ in range(150):
            self.talk(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 300))))
        good = command("ZADD", "garbage", "1", "a", "2", "b") + command("ZRANGEBYSCORE", "garbage", "-inf", "(5", "LIMIT", "0", "5")
        for _ in range(300):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.choice(b"\r\n$*:-19a\x00\xff")
            self.talk(bytes(data))

    def test_output_bomb(self):
        """A client that asks for much and reads nothing."""
        with self.connect() as s:
            for i in range(0, 5000, 500):
                s.sendall(command("ZADD", "bomb", *(x for j in range(i, i + 500) for x in (j, f"member:{j:08d}"))))
                s.recv(1000)
        greedy = []
        for _ in range(10):
            s = self.connect()
            s.setblocking(False)
            try:
                for _ in range(200):
                    s.send(command("ZRANGE", "bomb", "0", "-1", "WITHSCORES") * 50)
            except (BlockingIOError, ConnectionResetError, BrokenPipeError):
                pass
            greedy.append(s)
        for _ in range(20):  # each answer is a turn of the loop, in which the server reads from everybody who has sent
            with self.connect() as s:
                s.sendall(command("PING"))
                self.assertEqual(s.recv(100), b"+PONG\r\n")
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - self.before, GROWTH_MAX)
        self.assertTrue(self.server.is_alive())
        for s in greedy:
            s.close()

    def test_transactions_are_bounded(self):
        with self.connect() as s:
            s.sendall(command("MULTI"))
            self.assertEqual(s.recv(100), b"+OK\r\n")
            s.settimeout(WAIT)
            refused = False
            try:
                for _ in range(3000):
                    s.sendall(command("ZADD", "multi", "1", "x" * 1000) * 100)
                    got = s.recv(1 << 16)
                    refused |= b"-" in got or not got
                    if refused:
                        break
            except (ConnectionResetError, BrokenPipeError):
                refused = True
            self.assertTrue(refused, "a transaction may grow for ever")
        self.talk(command("DEL", "multi"))

    def test_many_connections(self):
        crowd = []
        for i in range(1500):
            s = socket.create_connection(self.server.resp, WAIT)
            s.sendall(b"*3\r\n$4\r\nZADD\r\n$16000\r\n" + b"x" * 3000)
            crowd.append(s)
        self.assertTrue(self.server.is_alive())
        for s in crowd:
            s.close()


class WithKeys(Hostile):
    has_keys = True

    def test_before_auth_little_is_taken(self):
        """At most 10 arguments of 16 KiB, and nothing but what one needs to say who one is."""
        for data in (command("AUTH", *["x"] * 20), command("AUTH", "x" * 20000), b"*11\r\n", b"*2\r\n$4\r\nAUTH\r\n$20000\r\n",
                     b"*1000000\r\n"):
            with self.connect(auth=False) as s:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                got = b""
                try:
                    while chunk := s.recv(4096):
                        got += chunk
                except ConnectionResetError:
                    pass
                self.assertNotIn(b"+OK", got)
                self.assertTrue(got == b"" or got.startswith(b"-"), (data[:30], got))
        for words in (("ZADD", "k", "1", "a"), ("KEYS", "*"), ("FLUSHALL",), ("CONFIG", "GET", "*"), ("INFO",),
                      ("RUNG.TOP", "k"), ("MULTI",), ("DBSIZE",)):
            got = self.talk(command(*words), auth=False)
            self.assertRegex(got, rb"\A-NOAUTH", words)
        self.assertRegex(self.talk(command("HELLO", "3", "AUTH", "default", "nonsense"), auth=False), rb"\A-WRONGPASS")
        self.assertNotRegex(self.talk(command("HELLO", "3", "AUTH", "default", self.key) + command("DBSIZE"), auth=False), rb"NOAUTH")

    def test_no_memory_before_auth(self):
        crowd = []
        for _ in range(500):
            s = socket.create_connection(self.server.resp, WAIT)
            try:
                s.sendall(b"*10\r\n" + b"$16000\r\n" + b"x" * 15000)
            except OSError:
                pass
            crowd.append(s)
        until(self.server.is_alive)
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - self.before, GROWTH_MAX)
        for s in crowd:
            s.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
