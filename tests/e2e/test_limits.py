#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""What happens at the limits: 429 with its headers, 503, 413, and a full disk (507) that passes."""
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection  # noqa: E402
from server import ServerTest, ed25519_pem, parse_answers, token, until  # noqa: E402

SECRET = b"a secret of thirty-two bytes, or more"


class Rates(ServerTest):
    def spend(self, ask, limit):
        """Ask until refused; the headers count down, and the refusal says when to come back."""
        seen = []
        for _ in range(limit + 500):
            answer = ask()
            seen.append(answer.status)
            self.assertEqual(int(answer.headers["RateLimit-Limit"]), limit)
            self.assertLess(int(answer.headers["RateLimit-Remaining"]), limit)
            self.assertGreaterEqual(int(answer.headers["RateLimit-Reset"]), 1)
            if answer.status == 429:
                self.assertEqual(answer.headers["RateLimit-Remaining"], "0")
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
                self.assertIsNotNone(answer.code)
                break
        self.assertEqual(seen[-1], 429)
        self.assertGreaterEqual(len(seen), limit)
        return answer

    def test_key(self):
        server = self.serve("--rates-key", "20/m")
        first = server.keys("create", "--role", "admin")
        second = server.keys("create", "--role", "read", "--rate", "7")
        server.key("read")  # when this one is known, so are the others
        refused = self.spend(lambda: server.get("/v1/boards", key=first), 20)
        self.check(server.put("/v1/boards/race", {}, key=first), 429)  # at once: there is one more in three seconds
        self.assertLessEqual(int(refused.headers["Retry-After"]), 4)
        self.spend(lambda: server.get("/v1/boards", key=second), 7)  # its own
        self.check(server.get("/healthz"), 200)
        # The write that was refused has changed nothing.
        until(lambda: server.get("/v1/boards/race", key=first).status == 404, "a request more")

    def test_each_submission_of_a_batch_counts(self):
        server = self.serve("--rates-key", "10/m")
        admin = server.key("admin", "--rate", "100000")
        server.put("/v1/boards/race", {}, key=admin)
        key = server.key("server")
        results = self.check(server.post("/v1/scores", [{"board": "race", "player": f"q{i}", "score": 1} for i in range(1000)], key=key), 200).json
        self.assertEqual([r["line"] for r in results], list(range(1, 1001)))
        errors = [r["error"] for r in results if "error" in r]
        # Of the ten, looking for the key has taken some; a slow machine may earn one back.
        self.assertGreater(len(errors), 980)
        self.assertLess(len(errors), 1000)
        for error in errors:
            self.assertEqual((error["status"], error["code"]), (429, "rate_limited"))
            self.assertGreaterEqual(error["retry_after"], 1)
        self.check(server.get("/v1/boards", key=key), 429)

    def test_a_stream_goes_at_the_rate_of_its_key(self):
        server = self.serve()
        server.key("admin")
        server.put("/v1/boards/race", {}, key=server.key("admin"))
        key = server.key("server", "--rate", "400")
        lines = b"".join(b'{"board":"race","player":"p%d","score":1}\n\n' % i for i in range(1000))
        started = time.monotonic()
        answer = self.check(server.post("/v1/scores", lines, key=key, headers={"Content-Type": "application/x-ndjson"}), 200)
        self.assertGreater(time.monotonic() - started, 599 / 400)  # 400 at once and the request itself, the others as they are earned
        self.assertEqual([r["line"] for r in answer.lines], list(range(1, 2000, 2)))
        self.assertTrue(all("error" not in r for r in answer.lines))

    def test_forged_tokens_are_paid_for(self):
        server = self.serve()
        (server.own_folder / "login.pem").write_text(ed25519_pem(bytes(range(1, 33))))
        server.keys("create", "--role", "player-token", "--alg", "EdDSA", "--public", server.own_folder / "login.pem", "--id", "login")
        admin = server.key("admin")
        good = [token({"sub": f"p{i}", "exp": int(time.time()) + 600}, ed25519=bytes(range(1, 33)), kid="login") for i in range(2)]
        forged = token({"sub": "ada", "exp": int(time.time()) + 600}, ed25519=bytes(32), kid="login")

        def verified():
            return int(re.search(r"(?m)^rung_tokens_verified_total (\d+)", server.get("/metrics", key=admin).body.decode())[1])
        self.check(server.get("/v1/players/me", key=good[0]), 404)
        before, started = verified(), time.monotonic()
        connection = server.open()
        self.addCleanup(connection.close)
        seen = [server.get("/v1/boards", key=forged, connection=connection) for _ in range(500)]
        self.assertEqual({answer.status for answer in seen}, {401, 429})
        refused = next(answer for answer in seen if answer.status == 429)
        self.assertEqual(refused.code, "rate_limited")
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        most = 100 + 10 * (time.monotonic() - started) + 1
        self.assertLessEqual(verified() - before, most)
        self.check(server.get("/v1/players/me", key=good[0]), 404)  # was seen before
        self.check(server.get("/v1/boards", key=admin), 200)
        with Connection(server.resp) as c:
            self.assertRegex(c.call("AUTH", forged).value, r"\A(THROTTLED|WRONGPASS)")
            self.assertEqual(c.call("AUTH", good[0]).value, "OK")
        until(lambda: server.get("/v1/players/me", key=good[1]).status == 404, "room for another")

    def test_peer(self):
        server = self.serve("--rates-peer", "10/m")
        self.spend(lambda: server.get("/v1/boards"), 10)

    def test_a_page_may_read_them(self):
        """What a browser is told it may show to a page is what is sent."""
        server = self.serve("--rates-peer", "10/m", "--cors-origins", "https://game.example", start=False)
        server.key("admin")
        server.start()
        headers = server.get("/v1/boards", headers={"Origin": "https://game.example"}).headers
        exposed = {name.strip() for name in headers["Access-Control-Expose-Headers"].split(",")}
        self.assertEqual({n for n in exposed if n.startswith("RateLimit")}, {n for n in headers if n.startswith("RateLimit")})

    def test_player(self):
        server = self.serve("--rates-player", "5/m")
        secret = server.own_folder / "secret"
        secret.write_bytes(SECRET)
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
        admin = server.key("admin")
        server.put("/v1/boards/race", {}, key=admin)
        mine = token({"sub": "ada", "exp": int(time.time()) + 600}, secret=SECRET, kid="login")
        self.spend(lambda: server.get("/v1/boards/race/players/me", key=mine), 5)
        for i in range(5):
            self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": i}, key=admin), 200)
        refused = self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 99}, key=admin), 429)
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.check(server.post("/v1/boards/race/scores", {"player": "bob", "score": 1}, key=admin), 200)
        self.assertEqual(server.get("/v1/boards/race/players/ada", key=admin).json["entry"]["score"], 4)


class Sizes(ServerTest):
    def test_body(self):
        server = self.serve("--limits-body", "2KiB")
        server.put("/v1/boards/race", {})
        body = json.dumps({"player": "ada", "score": 1, "meta": "x" * 3000}).encode()
        self.check(server.post("/v1/boards/race/scores", body, headers={"Content-Type": "application/json"}), 413)
        self.assertEqual(server.get("/v1/boards/race/top").json["total"], 0)

    def test_a_long_stream_passes_through(self):
        """NDJSON of 60 MB, streamed both ways, in memory that does not follow its size."""
        server = self.serve("--limits-body", "64KiB")
        server.put("/v1/boards/race", {"update": "sum"})
        lines = 200000 if "release" in os.environ["RUNG_BUILD"] else 30000
        before = server.memory()
        line = b'{"board":"race","player":"p%05d","delta":1,"meta":"' + b"x" * 200 + b'"}\n'
        results, largest = [0, 0], [0]
        with server.connect() as s:
            s.sendall(b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
                      b"Connection: close\r\n\r\n")

            def send():
                for start in range(0, lines, 100):
                    data = b"".join(line % (i % 1000) for i in range(start, start + 100))
                    s.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                    if start % 5000 == 0:
                        largest[0] = max(largest[0], server.memory())
                s.sendall(b"0\r\n\r\n")
            sender = threading.Thread(target=send)
            sender.start()
            got, size = [], 0
            while chunk := s.recv(1 << 20):
                got.append(chunk)
                size += len(chunk)
            sender.join()
        answers, left = parse_answers(b"".join(got))
        self.assertEqual((len(answers), left), (1, b""))
        self.assertEqual(answers[0][0], 200)
        results = answers[0][2].splitlines()
        self.assertEqual(len(results), lines)
        self.assertIn("rank", json.loads(results[0]))
        self.assertEqual(server.get("/v1/boards/race/top?limit=1").json["entries"][0]["score"], lines // 1000)
        self.assertLess(largest[0] - before, 200 << 20)


class Overload(ServerTest):
    def test_waiting_changes(self):
        """Few changes may wait for the disk: a flood is answered 200 or 503, each one, and what was 200 is there."""
        server = self.serve("--limits-waiting", "16")
        server.put("/v1/boards/race", {"update": "sum"})
        statuses = []

        def flood(n):
            connection = server.open()
            for i in range(60):
                answer = server.post("/v1/boards/race/scores", {"player": f"p{n}", "delta": 1}, connection=connection)
                statuses.append(answer.status)
                if answer.status == 503:
                    self.assertIn("Retry-After", answer.headers)
            connection.close()
        threads = [threading.Thread(target=flood, args=(n,)) for n in range(40)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(statuses), 2400)
        self.assertLessEqual(set(statuses), {200, 503})
        entries = server.get("/v1/boards/race/top?limit=100").json["entries"]
        self.assertEqual(sum(e["score"] for e in entries), statuses.count(200))

    def test_connections(self):
        server = self.serve("--limits-connections", "20")
        crowd = [server.connect() for _ in range(19)]
        for s in crowd:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 200"))
        more = [server.connect() for _ in range(10)]
        turned_away = 0
        for s in more:
            try:
                s.sendall(b"GET /v1/boards HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got = s.recv(4096)
                turned_away += not got or got.startswith(b"HTTP/1.1 503")
            except OSError:
                turned_away += 1
        self.assertGreaterEqual(turned_away, 9)
        for s in crowd + more:
            s.close()

        def is_back():
            try:
                return server.is_alive()
            except OSError:
                return False
        until(is_back, "room for a connection")


class FullDisk(ServerTest):
    """A file system of its own for the folder: a tmpfs in a user's own mount namespace, where the kernel allows that."""

    def fill(self, path):
        with open(path, "wb", buffering=0) as f:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        f.write(bytes(size))
                except OSError as e:
                    self.assertEqual(e.errno, errno.ENOSPC)

    def test_full_and_back(self):
        size = 400 << 20
        mount = ["unshare", "--user", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]
        script = f'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"'
        if not shutil.which("unshare") or subprocess.run([*mount, "sh", "-c", 'mount -t tmpfs tmpfs /mnt'], capture_output=True).returncode:
            self.skipTest("no mount namespaces here")
        server = self.serve("--archive", "off", start=False)
        server.data.mkdir()
        server.wrap = [*mount, "sh", "-c", script, str(server.data)]
        server.start()
        inside = f"/proc/{server.process.pid}/root{server.data}"
        if not os.path.ismount(inside) and not os.path.exists(f"{inside}/lock"):
            self.skipTest("the namespace cannot be looked into")
        server.put("/v1/boards/race", {"update": "sum"})
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}), 200)
        self.fill(f"{inside}/ballast")
        batch = b"".join(b'{"board":"race","player":"p%d","delta":1,"meta":{"x":"%s"}}\n' % (i % 10, b"x" * 900) for i in range(500))
        accepted, refused = 1, 0
        for _ in range(2000):  # until the segments that were made in time are full
            answer = server.post("/v1/scores", batch, headers={"Content-Type": "application/x-ndjson"})
            if answer.status == 507:
                refused += 1
                break
            results = answer.lines
            good = sum("rank" in r for r in results)
            accepted += good
            if good < len(results):
                self.assertLessEqual({r["error"]["status"] for r in results if "rank" not in r}, {507})
                refused += 1
                break
        self.assertTrue(refused, "the disk never filled")
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}), 507)
        self.check(server.put("/v1/boards/other", {}), 507)
        top = server.get("/v1/boards/race/top?limit=100")
        self.check(top, 200)  # reads go on
        self.assertEqual(sum(e["score"] for e in top.json["entries"]), accepted)
        self.check(server.get("/healthz"), 200)
        os.unlink(f"{inside}/ballast")

        def is_back():
            return server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}).status == 200
        until(is_back, "the return from a full disk")
        self.assertEqual(sum(e["score"] for e in server.get("/v1/boards/race/top?limit=100").json["entries"]), accepted + 1)
        self.assertEqual(server.stop(), 0)

    def test_a_start_on_a_full_disk(self):
        """It reads, refuses changes, and takes them when there is room: as a server does that was running when the disk filled."""
        mount = ["unshare", "--user", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]
        enter = ["nsenter", "--user", "--preserve-credentials", "--mount"] if os.geteuid() else ["nsenter", "--mount"]
        server = self.serve(start=False)
        server.data.mkdir()
        holder = subprocess.Popen([*mount, "sh", "-c", 'mount -t tmpfs -o size=160m tmpfs "$0" && echo ok && exec sleep 600',
                                   str(server.data)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.addCleanup(holder.stdout.close)
        if holder.stdout.readline() != b"ok\n" or not shutil.which("nsenter"):
            self.skipTest("no mount namespaces here")
        server.wrap = [*enter, "--target", str(holder.pid)]
        inside = f"/proc/{holder.pid}/root{server.data}"
        server.start()
        server.put("/v1/boards/race", {"update": "sum"})
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}), 200)
        self.assertEqual(server.stop(), 0)
        for name in ("spare", "spare.tmp"):  # made in advance for the next start
            if os.path.exists(f"{inside}/{name}"):
                os.unlink(f"{inside}/{name}")
        self.fill(f"{inside}/ballast")
        server.start()
        until(lambda: "there is no space for the log" in server.log, "the line in the log")
        self.assertEqual(server.get("/readyz").json["status"], "read_only")
        self.check(server.get("/readyz?writes=true"), 503, "unavailable")
        self.assertEqual(server.get("/v1/boards/race/top").json["entries"][0]["score"], 1)
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}), 507, "storage_full")
        os.unlink(f"{inside}/ballast")
        until(lambda: server.post("/v1/boards/race/scores", {"player": "ada", "delta": 1}).status == 200, "the return")
        self.assertEqual(server.get("/v1/boards/race/top").json["entries"][0]["score"], 2)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.get("/v1/boards/race/top").json["entries"][0]["score"], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
