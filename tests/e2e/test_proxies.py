#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Clients behind proxies: who is whom by X-Forwarded-For, Forwarded and the PROXY protocol, from trusted proxies only; limits of
an address. With a real HAProxy where there is one."""
import itertools
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import encode  # noqa: E402
from server import ServerTest, WAIT, rung, until  # noqa: E402

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
RATE = ("--rates-peer", "2/m")


def header(client, port=40000):
    """A PROXY header, version 2, for a client; None: the proxy's own connection."""
    if client is None:
        return SIGNATURE + b"\x20\0\0\0"
    family = socket.AF_INET6 if ":" in client else socket.AF_INET
    address = socket.inet_pton(family, client)
    body = address + socket.inet_pton(family, "::1" if ":" in client else "127.0.0.1") + struct.pack("!HH", port, 7864)
    return SIGNATURE + struct.pack("!BBH", 0x21, 0x21 if ":" in client else 0x11, len(body)) + body


def talk(address, sent, pieces=None):
    """Send, then read to the end; b"" also for a reset."""
    with socket.create_connection(address, timeout=WAIT) as s:
        got = b""
        try:
            for piece in pieces or [sent]:
                s.sendall(piece)
            while data := s.recv(65536):
                got += data
        except ConnectionError:
            pass
        return got


GET = b"GET /v1/boards HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


class Headers(ServerTest):
    def statuses(self, server, *headers):
        return [server.get("/v1/boards", headers=h).status for h in headers]

    def test_x_forwarded_for(self):
        server = self.serve(*RATE, "--trusted-proxies", "127.0.0.1, 10.0.0.0/8")
        one, two = {"X-Forwarded-For": "203.0.113.1"}, {"X-Forwarded-For": "9.9.9.9, 203.0.113.2, 10.1.2.3"}
        self.assertEqual(self.statuses(server, one, one, one), [200, 200, 429])
        self.assertEqual(self.statuses(server, two, two, two), [200, 200, 429])
        # One network of IPv6 is one client; what a client wrote itself does not help it.
        six = [{"X-Forwarded-For": f"7.7.7.{i}, 2001:db8::{i}"} for i in range(3)]
        self.assertEqual(self.statuses(server, *six), [200, 200, 429])

    def test_forwarded(self):
        server = self.serve(*RATE, "--trusted-proxies", "127.0.0.1", "--proxy-header", "forwarded")
        one, two = {"Forwarded": 'for="[2001:db8::1]:443";proto=https'}, {"Forwarded": "for=203.0.113.2", "X-Forwarded-For": "1.2.3.4"}
        self.assertEqual(self.statuses(server, one, one, one, two, two, two), [200, 200, 429, 200, 200, 429])

    def test_nobody_is_trusted_by_default(self):
        for flags in ((), ("--trusted-proxies", "192.0.2.1"), ("--trusted-proxies", "127.0.0.1", "--proxy-header", "off")):
            server = self.serve(*RATE, *flags)
            self.assertEqual(self.statuses(server, *({"X-Forwarded-For": f"203.0.113.{i}"} for i in range(3))), [200, 200, 429])

    def test_limits_with_a_key(self):
        server = self.serve("--rates-address", "4/m", "--rates-address-submissions", "2/m", "--trusted-proxies", "127.0.0.1")
        admin = server.key("admin", "--rate", "1000")  # a rate of its own: the address does not count
        key = server.key("server", "--rate", "1000")
        self.check(server.put("/v1/boards/race", {}, key=admin), 201)
        for i in range(5):
            self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": i}, key=key), 200)
        limited = server.keys("create", "--role", "server")
        server.process.send_signal(signal.SIGHUP)
        others = itertools.count(1)
        until(lambda: server.get("/v1/boards", key=limited, headers={"X-Forwarded-For": f"198.51.100.{next(others)}"}).status == 200)
        client = {"X-Forwarded-For": "203.0.113.9"}
        answers = [server.post("/v1/boards/race/scores", {"player": "bob", "score": i}, key=limited, headers=client) for i in range(3)]
        self.assertEqual([a.status for a in answers], [200, 200, 429], answers[-1])
        self.assertEqual(answers[-1].code, "rate_limited")
        self.assertIn("this address", answers[-1].json["detail"])
        self.assertEqual(server.get("/v1/boards", key=limited, headers=client).status, 200)  # the fourth request
        self.assertEqual(server.get("/v1/boards", key=limited, headers=client).status, 429)
        self.assertEqual(server.get("/v1/boards", headers=client).status, 429)
        self.assertEqual(server.get("/v1/boards", key=limited, headers={"X-Forwarded-For": "203.0.113.10"}).status, 200)

    def test_bad_settings(self):
        for flags, field in ((("--trusted-proxies", "10.0.0.0/33"), "trusted_proxies"), (("--trusted-proxies", "proxy.example"), "trusted_proxies"),
                             (("--proxy-protocol", "on"), "trusted_proxies"), (("--proxy-header", "via"), "--proxy-header")):
            run = rung("serve", "--http", "127.0.0.1:0", "--resp", "off", *flags)
            self.assertIn(run.returncode, (1, 2), run.stderr)
            self.assertIn(field, run.stderr)


class Protocol(ServerTest):
    def serve_proxied(self, *flags):
        return self.serve("--trusted-proxies", "127.0.0.1", "--proxy-protocol", "on", *flags)

    def test_clients_are_told_apart(self):
        server = self.serve_proxied(*RATE)
        for client in ("203.0.113.1", "2001:db8::7"):
            self.assertEqual([status(talk(server.http, header(client) + GET)) for _ in range(3)], [200, 200, 429])
        self.assertEqual(status(talk(server.http, header(None) + GET)), 200)  # the proxy itself
        whole = header("203.0.113.5") + GET
        self.assertEqual(status(talk(server.http, None, [whole[i:i + 1] for i in range(len(whole))])), 200)

    def test_without_a_good_header(self):
        server = self.serve_proxied()
        for sent in (GET, b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n" + GET, SIGNATURE + b"\x21\x11\0\4abcd" + GET, SIGNATURE + b"\x31\x11\0\0"):
            self.assertEqual(talk(server.http, sent), b"")
        with socket.create_connection(server.http, timeout=WAIT) as s:  # leaves in the middle
            s.sendall(SIGNATURE[:5])
        self.assertEqual(status(talk(server.http, header("203.0.113.5") + GET)), 200)

    def test_connections_of_one_client(self):
        server = self.serve_proxied("--limits-connections-per-address", "2")
        open_ones = []
        for client in ("203.0.113.1", "203.0.113.1", "203.0.113.2"):
            s = socket.create_connection(server.http, timeout=WAIT)
            self.addCleanup(s.close)
            s.sendall(header(client) + GET.replace(b"Connection: close\r\n", b""))
            self.assertEqual(status(s.recv(65536)), 200)
            open_ones.append(s)
        self.assertEqual(talk(server.http, header("203.0.113.1") + GET), b"")
        self.assertEqual(status(talk(server.http, header("203.0.113.2") + GET)), 200)
        open_ones[0].close()
        until(lambda: status(talk(server.http, header("203.0.113.1") + GET)) == 200, "the place of the one that left")

    def test_redis(self):
        server = self.serve_proxied()
        got = talk(server.resp, header("203.0.113.1", 5555) + encode(["CLIENT", "INFO"]) + encode(["QUIT"]))
        self.assertIn(b"addr=203.0.113.1:5555", got)

    def test_tls(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-e2e-"))
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "key",
                        "-out", folder / "cert", "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
        server = self.serve_proxied("--tls-cert", folder / "cert", "--tls-key", folder / "key")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        # The header and the first bytes of TLS in one piece.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = context.wrap_bio(incoming, outgoing)
        with self.assertRaises(ssl.SSLWantReadError):
            hello.do_handshake()
        with socket.create_connection(server.http, timeout=WAIT) as plain:
            plain.sendall(header("203.0.113.1") + outgoing.read())
            while True:
                data = plain.recv(65536)
                self.assertTrue(data, "the server closed the connection")
                incoming.write(data)
                try:
                    hello.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    pass
        with socket.create_connection(server.http, timeout=WAIT) as plain:
            plain.sendall(header("203.0.113.1"))
            with context.wrap_socket(plain) as s:
                s.sendall(GET)
                self.assertEqual(status(s.recv(65536)), 200)


@unittest.skipUnless(shutil.which("haproxy"), "there is no haproxy")
class Haproxy(ServerTest):
    """What a real proxy sends. It speaks from 127.0.0.1, and so do its clients: HAProxy is told to take another address for theirs."""
    def proxy(self, server, line, more):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-haproxy-"))
        self.addCleanup(shutil.rmtree, folder)
        with socket.create_server(("127.0.0.1", 0)) as s:
            config = f"""
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend web
    bind fd@{s.fileno()}
    http-request set-src hdr(client)
    {more}
    default_backend rung
backend rung
    server rung {server.http[0]}:{server.http[1]} {line}
"""
            (folder / "cfg").write_text(config)
            process = subprocess.Popen(["haproxy", "-db", "-f", folder / "cfg"], pass_fds=(s.fileno(),), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return s.getsockname()

    def ask(self, address, client):
        return status(talk(address, b"GET /v1/boards HTTP/1.1\r\nHost: localhost\r\nclient: %s\r\nConnection: close\r\n\r\n" % client.encode()))

    def check_proxy(self, address):
        for client in ("203.0.113.1", "203.0.113.2"):
            self.assertEqual([self.ask(address, client) for _ in range(3)], [200, 200, 429])

    def test_x_forwarded_for(self):
        server = self.serve(*RATE, "--trusted-proxies", "127.0.0.1")
        self.check_proxy(self.proxy(server, "", "option forwardfor"))

    def test_proxy_protocol(self):
        server = self.serve(*RATE, "--trusted-proxies", "127.0.0.1", "--proxy-protocol", "on")
        self.check_proxy(self.proxy(server, "send-proxy-v2", ""))


if __name__ == "__main__":
    unittest.main()
