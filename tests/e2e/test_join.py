#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240
"""A snapshot over HTTP: parts, resuming, one that is replaced meanwhile; `rung join` through connections that are cut,
and with bytes that are wrong."""
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, WAIT, rung, until  # noqa: E402

PLAYERS = 20000


def clean_env(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("RUNG_")}, **more}


class Proxy:
    """Forwards to a server. The answer of the n-th connection is cut after cuts[n] bytes (None: not; after the last
    entry: not); with `flip`, a bit of the byte of the body at that offset is another."""
    def __init__(self, target, cuts=(), flip=None):
        self.target, self.cuts, self.flip = target, list(cuts), flip
        self.count = self.sent = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def close(self):
        self.listener.close()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            limit = self.cuts[self.count] if self.count < len(self.cuts) else None
            self.count += 1
            threading.Thread(target=self.forward, args=(client, limit), daemon=True).start()

    @staticmethod
    def upstream(client, server):
        try:
            while data := client.recv(65536):
                server.sendall(data)
        except OSError:
            pass

    def forward(self, client, limit):
        with client, socket.create_connection(self.target, timeout=WAIT) as server:
            threading.Thread(target=self.upstream, args=(client, server), daemon=True).start()
            head, body, done = b"", None, 0
            while data := server.recv(65536):
                if body is None:
                    head += data
                    end = head.find(b"\r\n\r\n")
                    body = 0 if end >= 0 else None
                    before = len(head) - len(data)
                    skip = end + 4 - before if end >= 0 else len(data)
                else:
                    skip = 0
                if body is not None:
                    at = self.flip - body + skip if self.flip is not None else -1
                    if skip <= at < len(data):
                        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
                    body += len(data) - skip
                if limit is not None and done + len(data) >= limit:
                    data = data[:limit - done]
                    limit = -1
                try:
                    client.sendall(data)
                except OSError:
                    return
                done += len(data)
                self.sent += len(data)
                if limit == -1:
                    client.shutdown(socket.SHUT_RDWR)
                    return


class Join(ServerTest):
    def fill(self, server, first=0, count=PLAYERS, name=lambda i: f"player-{i}"):
        self.check(server.put("/v1/boards/race", {}), (200, 201))
        for at in range(first, first + count, 5000):
            lines = "".join('{"board":"race","player":"%s","score":%d}\n' % (name(i), i * 7919 % 100003)
                            for i in range(at, min(at + 5000, first + count)))
            answer = self.check(server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"}), 200)
            self.assertNotIn(b'"code"', answer.body)

    def check(self, answer, status):
        if isinstance(status, tuple):
            self.assertIn(answer.status, status, answer)
            return answer
        return super().check(answer, status)

    def filled(self, **more):
        server = self.serve("--snapshot-every", "off", **more)
        self.fill(server)
        return server

    def snapshot(self, server):
        """Take one of the state as it is, and return its file."""
        seq = server.get("/readyz").json["seq"]
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: f"\nrung_snapshot_seq {seq}\n" in server.get("/metrics").body.decode(), "the snapshot")
        return server.data / f"snapshot-{seq:020}.snap"

    def new_folder(self):
        folder = tempfile.mkdtemp(prefix="rung-e2e-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return pathlib.Path(folder) / "new"

    def join(self, url, data, *more, code=0, **env):
        run = rung("join", url, "--data", data, "--json", *more, env=clean_env(**env))
        self.assertEqual(run.returncode, code, run)
        return json.loads(run.stdout) if code == 0 else run.stderr

    def url(self, server):
        return "http://%s:%d" % server.http

    # ---- GET /v1/snapshot ----

    def test_whole_and_parts(self):
        server = self.filled()
        first = server.get("/v1/snapshot")
        self.assertEqual((first.status, first.code), (503, "no_snapshot"), first)
        self.assertGreater(int(first.headers["retry-after"]), 0)
        until(lambda: server.get("/v1/snapshot").status == 200, "the first snapshot, which the question began")
        file = next(server.data.glob("snapshot-*.snap")).read_bytes()
        whole = server.get("/v1/snapshot")
        self.assertEqual(whole.body, file)
        self.assertEqual(int(whole.headers["content-length"]), len(file))
        self.assertEqual(int(whole.headers["rung-seq"]), server.get("/readyz").json["seq"])
        self.assertEqual(bytes.fromhex(whole.headers["rung-log"]), file[16:32])
        etag = whole.headers["etag"]
        status = json.loads(rung("status", server.data, "--json").stdout)
        self.assertEqual(etag, '"%d-%s"' % (status["seq"], status["state"]["digest"]))
        connection = server.open()
        for given, part in (("0-", file), ("5-9", file[5:10]), ("-7", file[-7:]), (f"{len(file) - 1}-", file[-1:]), (f"100-{len(file) * 2}", file[100:])):
            for more in ({}, {"If-Range": etag}):
                answer = server.get("/v1/snapshot", headers={"Range": f"bytes={given}", **more}, connection=connection)
                self.assertEqual((answer.status, answer.body == part), (206, True), given)
                at = len(file) - len(part) if given.startswith("-") else int(given.split("-")[0])
                self.assertEqual(answer.headers["content-range"], f"bytes {at}-{at + len(part) - 1}/{len(file)}")
        for headers in ({"Range": "bytes=5-9", "If-Range": '"1-2"'}, {"Range": "bytes=1-2,5-6"}, {"Range": "bytes=x"}):
            answer = server.get("/v1/snapshot", headers=headers, connection=connection)
            self.assertEqual((answer.status, answer.body == file), (200, True), headers)
        answer = server.get("/v1/snapshot", headers={"Range": f"bytes={len(file)}-"}, connection=connection)
        self.assertEqual((answer.status, answer.code, answer.headers["content-range"]), (416, "range_not_satisfiable", f"bytes */{len(file)}"))
        answer = server.request("HEAD", "/v1/snapshot", connection=connection)
        self.assertEqual((answer.status, answer.body, int(answer.headers["content-length"])), (200, b"", len(file)))
        connection.close()
        self.assertEqual(server.stop(), 0)

    def begin(self, server):
        """A download of which only the head was read."""
        s = socket.socket()
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(WAIT)
        s.connect(server.http)
        s.sendall(b"GET /v1/snapshot HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return s, s.recv(12)

    def test_one_that_is_replaced_and_many_at_once(self):
        # The readers stand still while other things happen, which may take long on a busy machine.
        server = self.serve("--snapshot-every", "off", "--log-keep", "off", "--limits-write-timeout", "10m")
        self.fill(server, count=60000, name=lambda i: hashlib.shake_128(b"%d" % i).hexdigest(60))  # more than sockets buffer
        file = self.snapshot(server)
        bytes_before = file.read_bytes()
        readers = [self.begin(server) for _ in range(4)]
        self.assertEqual({head for _, head in readers}, {b"HTTP/1.1 200"})
        answer = server.get("/v1/snapshot")
        self.assertEqual((answer.status, answer.code), (503, "overloaded"))
        readers.pop()[0].close()
        until(lambda: server.request("HEAD", "/v1/snapshot").status == 200, "the end of the one that left")
        for i in range(3):  # two are kept
            self.fill(server, PLAYERS + i, 1)
            self.snapshot(server)
        self.assertFalse(file.exists())
        for reader, got in readers[:2]:
            while data := reader.recv(1 << 20):
                got += data
            self.assertEqual(got.partition(b"\r\n\r\n")[2], bytes_before)
        self.assertEqual(server.stop(), 0)  # the third one does not keep it

    def test_who_may(self):
        server = self.serve()
        keys = {role: server.key(role) for role in ("admin", "server", "read")}
        self.assertEqual(server.get("/v1/snapshot").status, 401)
        self.assertEqual({server.get("/v1/snapshot", key=keys[role]).status for role in ("server", "read")}, {403})
        until(lambda: server.get("/v1/snapshot", key=keys["admin"]).status == 200, "the snapshot")
        stderr = self.join(self.url(server), self.new_folder(), code=1)
        self.assertRegex(stderr, r"\Arung join: http://\S+: .* \(401 unauthorized\); an admin key is needed\n\Z")
        self.join(self.url(server), self.new_folder(), code=1, RUNG_KEY=keys["server"])
        self.join(self.url(server), self.new_folder(), RUNG_KEY=keys["admin"])

    # ---- rung join ----

    def test_join(self):
        server, data = self.filled(), self.new_folder()
        report = self.join(self.url(server), data)  # begins the first snapshot, and waits for it
        file = next(server.data.glob("snapshot-*.snap"))
        status = json.loads(rung("status", server.data, "--json").stdout)
        self.assertEqual(report, {"seq": status["seq"], "size_bytes": file.stat().st_size, "resumed_from": 0, "cuts": 0,
                                  "digest": status["state"]["digest"]})
        self.assertEqual((data / file.name).read_bytes(), file.read_bytes())
        self.assertEqual(sorted(p.name for p in data.iterdir()), ["lock", "log-id", "manifest", file.name])
        self.assertEqual((data / "manifest").read_bytes(), (server.data / "manifest").read_bytes())
        self.assertIn("holds a snapshot already", self.join(self.url(server), data, code=1))
        other = self.serve()
        other.stop()
        self.assertIn("holds a log already", self.join(self.url(server), other.data, code=1))

    def test_cut_connections(self):
        server = self.filled()
        size = self.snapshot(server).stat().st_size
        proxy = Proxy(server.http, [size // 3, None, size // 5, 1000, 100])
        proxy.cuts[1] = size // 4
        self.addCleanup(proxy.close)
        data = self.new_folder()
        report = self.join(proxy.url, data)
        self.assertEqual((report["size_bytes"], report["resumed_from"]), (size, 0))
        self.assertGreaterEqual(report["cuts"], 3)
        self.assertEqual(proxy.count, 6)
        self.assertLess(proxy.sent, size + 6 * 1000)  # nothing came twice but heads
        self.assertEqual(next(data.glob("snapshot-*")).read_bytes(), next(server.data.glob("snapshot-*")).read_bytes())

    def test_a_later_run_goes_on(self):
        server = self.filled()
        size = self.snapshot(server).stat().st_size
        proxy = Proxy(server.http, [size // 2] + [0] * 20)
        self.addCleanup(proxy.close)
        data = self.new_folder()
        self.assertIn("cannot reach", self.join(proxy.url, data, code=3))
        part = next(data.glob("join-*.part"))
        left = part.stat().st_size
        self.assertGreater(left, size // 3)
        self.assertEqual(self.join(self.url(server), data)["resumed_from"], left)
        self.assertFalse(part.exists())
        # What was complete, and only not installed.
        data = self.new_folder()
        data.mkdir()
        (data / part.name).write_bytes(next(server.data.glob("snapshot-*")).read_bytes())
        self.assertEqual(self.join(self.url(server), data)["resumed_from"], size)
        # Longer than the file: not a part of it.
        data = self.new_folder()
        data.mkdir()
        (data / part.name).write_bytes(bytes(size + 1))
        self.assertEqual(self.join(self.url(server), data)["resumed_from"], 0)

    def test_a_newer_one_is_taken_from_its_beginning(self):
        server, data = self.filled(), self.new_folder()
        old = self.snapshot(server)
        data.mkdir()
        etag = server.request("HEAD", "/v1/snapshot").headers["etag"].strip('"')
        (data / f"join-{etag}.part").write_bytes(old.read_bytes()[:50000])
        self.fill(server, PLAYERS, 10)
        new = self.snapshot(server)
        report = self.join(self.url(server), data)
        self.assertEqual((report["seq"], report["resumed_from"]), (int(new.stem.split("-")[1]), 0))
        self.assertEqual(sorted(p.name for p in data.iterdir()), ["lock", "log-id", "manifest", new.name])

    def test_damage_is_found(self):
        server = self.filled()
        size = self.snapshot(server).stat().st_size
        data = self.new_folder()
        for place in (0, 13, 20, 40, 64, 70, 500, size // 2, size // 3, size - 97, size - 96, size - 50, size - 1):
            proxy = Proxy(server.http, flip=place)
            stderr = self.join(proxy.url, data, code=1)
            self.assertRegex(stderr, r"\Arung join: the snapshot from \S+ is damaged and was removed: .+\n\Z", place)
            self.assertEqual([p.name for p in data.iterdir()], ["lock"], place)
            proxy.close()
        # A part that is damaged before it is resumed.
        etag = server.request("HEAD", "/v1/snapshot").headers["etag"].strip('"')
        (data / f"join-{etag}.part").write_bytes(bytes(5000))
        self.join(self.url(server), data, code=1)
        self.join(self.url(server), data)

    def test_what_is_no_rung(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(int(self.path.split("/")[1]))
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *_):
                pass
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        for status in (200, 206, 404, 500, 302):
            stderr = self.join("http://127.0.0.1:%d/%d" % (other.server_port, status), self.new_folder(), code=1)
            self.assertRegex(stderr, r"\Arung join: http://\S+ is not a Rung server.*\n\Z", status)
        for url, code, text in (("ftp://x", 2, "expected http"), ("http://127.0.0.1:1", 3, "cannot reach")):
            stderr = self.join(url, self.new_folder(), code=code)
            self.assertIn(text, stderr)
            self.assertEqual(stderr.count("\n"), 1)
        run = rung("join", "http://127.0.0.1:1")
        self.assertEqual((run.returncode, run.stderr), (2, "rung join: --data: missing\n"))
        server = self.serve(data=False)
        self.assertRegex(self.join(self.url(server), self.new_folder(), code=1), r"no data folder \(422 unsupported\)\n\Z")

    def test_a_folder_in_use(self):
        server, data = self.serve(), self.new_folder()
        self.serve(data=data)
        self.assertIn("is in use by another process", self.join(self.url(server), data, code=1))


if __name__ == "__main__":
    unittest.main()
