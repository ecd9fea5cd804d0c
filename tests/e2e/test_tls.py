#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120 labels=release
"""TLS on the HTTP port: a certificate that can be checked, exchanged while running, and clients that do not speak it well."""
import http.client
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import WAIT, ServerTest, until  # noqa: E402


def certificate(folder, name, host="localhost"):
    """A certificate signed by itself; (certificate, key)."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host},IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


@unittest.skipUnless(shutil.which("openssl"), "needs the openssl command to make certificates")
class Tls(ServerTest):
    def secure(self, *flags):
        server = self.serve(*flags, start=False)
        self.cert, self.key = certificate(server.own_folder, "first")
        server.flags += ["--tls-cert", str(self.cert), "--tls-key", str(self.key)]
        server.start()
        return server

    def context(self, cert=None):
        return ssl.create_default_context(cafile=cert or self.cert)

    def open(self, server, cert=None):
        connection = http.client.HTTPSConnection(*server.http, timeout=WAIT, context=self.context(cert))
        self.addCleanup(connection.close)
        return connection

    def get(self, server, path="/healthz", **more):
        return server.request("GET", path, connection=self.open(server, **more))

    def serial(self, server):
        """Which certificate a fresh connection is shown."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(server.http, WAIT)) as s:
            return s.getpeercert(True)

    def test_requests(self):
        server = self.secure()
        connection = self.open(server)
        self.check(server.put("/v1/boards/race", {}, connection=connection), 201)
        batch = [{"board": "race", "player": f"p{i}", "score": i} for i in range(2000)]
        self.assertEqual(len(server.post("/v1/scores", batch, connection=connection).json), 2000)
        top = server.get("/v1/boards/race/top?limit=1000", connection=connection)
        self.assertEqual([e["score"] for e in top.json["entries"]], list(range(1999, 999, -1)))
        self.assertEqual(server.stop(), 0)

    def test_versions(self):
        server = self.secure()
        for version, works in ((ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_1, False)):
            context = self.context()
            try:
                context.minimum_version = context.maximum_version = version
                context.wrap_socket(socket.create_connection(server.http, WAIT), server_hostname="localhost").close()
                self.assertTrue(works, version)
            except (ssl.SSLError, ValueError, OSError):
                self.assertFalse(works, version)

    def test_ciphers(self):
        """TLS 1.2 with forward secrecy or not at all."""
        server = self.secure()
        for ciphers, works in (("ECDHE+AESGCM", True), ("ECDHE+CHACHA20", True), ("AES128-SHA:AES256-SHA:AES128-GCM-SHA256", False),
                               ("ECDHE+AES+SHA1", False)):
            context = self.context()
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(ciphers + ":@SECLEVEL=0")
            try:
                with context.wrap_socket(socket.create_connection(server.http, WAIT), server_hostname="localhost") as s:
                    self.assertTrue(works, s.cipher())
            except ssl.SSLError:
                self.assertFalse(works, ciphers)

    def test_strangers(self):
        """Plain HTTP, garbage, half a handshake, a good handshake and then silence or a reset."""
        server = self.secure("--limits-header-timeout", "3s", "--limits-idle-timeout", "3s")
        self.assertNotIn(b"200 OK", server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        chance = random.Random(3)
        for _ in range(60):
            server.raw(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 300))), half_close=True)
            server.raw(b"\x16\x03\x01" + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 300))), half_close=True)
        silent = [server.connect() for _ in range(20)]
        for s in silent[::2]:
            s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        for _ in range(20):
            s = self.context().wrap_socket(server.connect(), server_hostname="localhost")
            s.sendall(b"GET /healthz HTTP/1.1\r\n")
            s.close()
        for s in silent:  # all are ended by the server
            s.settimeout(WAIT)
            try:
                while s.recv(4096):
                    pass
            except OSError as e:
                self.assertNotIsInstance(e, TimeoutError)
            s.close()
        self.check(self.get(server), 200)

    def test_exchange_of_the_certificate(self):
        server = self.secure()
        old = self.open(server)
        self.check(server.request("GET", "/healthz", connection=old), 200)
        before = self.serial(server)
        second, key = certificate(server.own_folder, "second")
        shutil.copy(second, self.cert)
        shutil.copy(key, self.key)
        self.assertEqual(self.serial(server), before)  # not before it is told to
        server.process.send_signal(signal.SIGHUP)
        until(lambda: self.serial(server) != before, "the new certificate")
        self.check(self.get(server, cert=second), 200)
        self.check(server.request("GET", "/healthz", connection=old), 200)
        now = self.serial(server)
        self.key.write_text("no key")
        said = len(server.said)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: any("certificate" in line for line in server.said[said:]), "a word about the certificate")
        self.assertEqual(self.serial(server), now)
        self.check(self.get(server, cert=second), 200)

    def test_a_wrong_pair_does_not_start(self):
        server = self.serve(start=False)
        cert, _ = certificate(server.own_folder, "one")
        _, key = certificate(server.own_folder, "two")
        for flags in ([cert, key], [cert, cert], [server.own_folder / "none", key]):
            server.flags = ["--tls-cert", str(flags[0]), "--tls-key", str(flags[1])]
            server.start(wait=False)
            self.assertNotEqual(server.wait_exit(), 0)
            self.assertNotIn("listening", server.log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
