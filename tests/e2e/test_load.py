#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120 labels=thread,release
"""Everything at once on one server: writers, batches, readers, viewers, Redis clients, new and revoked keys, SIGHUP, closing
connections. Under the sanitizers this is where races show; in every build the sums must be right at the end."""
import http.client
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402

SECONDS = float(os.environ.get("RUNG_STEPS", "4"))
OPTIONS = "halt_on_error=1:exitcode=66:second_deadlock_stack=1"


class Load(ServerTest):
    def test_mixed(self):
        server = self.serve(env={"TSAN_OPTIONS": OPTIONS, "ASAN_OPTIONS": "exitcode=66", "UBSAN_OPTIONS": "halt_on_error=1"})
        key = server.key("admin")
        for board in ("race", "daily"):
            self.check(server.put(f"/v1/boards/{board}", {"update": "sum", "windows": ["all", "day"], "scopes": ["country"]}, key=key), 201)
        end, failures, sums, lock = time.monotonic() + SECONDS, [], {}, threading.Lock()

        def count(player, n):
            with lock:
                sums[player] = sums.get(player, 0) + n

        def work(role, number):
            chance = random.Random(number)
            connection = server.open()
            while time.monotonic() < end and not failures:
                try:
                    role(chance, connection, number)
                except (OSError, http.client.HTTPException) as e:
                    if not server.is_running:
                        return
                    failures.append(f"{role.__name__}: {e!r}")
                except AssertionError as e:
                    failures.append(f"{role.__name__}: {e}")
            connection.close()

        def write(chance, connection, number):
            self.check(server.post("/v1/boards/race/scores", {"player": f"w{number}", "delta": 2}, key=key, connection=connection), 200)
            count(f"w{number}", 2)

        def batch(chance, connection, number):
            lines = [{"board": "race", "player": f"b{number}", "delta": 1} for _ in range(50)]
            answer = server.post("/v1/scores", "".join(json.dumps(x) + "\n" for x in lines).encode(), key=key, connection=connection,
                                 headers={"Content-Type": "application/x-ndjson"})
            self.check(answer, 200)
            self.assertEqual(len(answer.lines), 50)
            count(f"b{number}", 50)

        def read(chance, connection, number):
            path = chance.choice(["/v1/boards/race/top?limit=20", "/v1/boards/race/players/w0?around=3", "/v1/boards", "/metrics",
                                  "/readyz",
                                  "/v1/boards/race/distribution?buckets=5", "/v1/boards/race/windows", "/v1/boards/race/at-score/5",
                                  "/v1/boards/race/top?window=day", "/v1/players/w0/history?board=race", "/openapi.json", "/"])
            self.assertIn(server.get(path, key=key, connection=connection).status, (200, 404), path)

        def profile(chance, connection, number):
            country = chance.choice(["FI", "DE", "JP"])
            answer = server.put(f"/v1/players/w{chance.randrange(4)}", {"country": country}, key=key, connection=connection)
            self.assertEqual(answer.status // 100, 2, answer)
            time.sleep(0.01)

        def drop(chance, connection, number):
            with server.connect() as s:
                s.sendall(f"POST /v1/boards/daily/scores HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                          "Content-Type: application/json\r\nContent-Length: 28\r\n\r\n"
                          '{"player":"gone","delta":  1}'.encode()[:chance.randrange(20, 290)])

        def keys(chance, connection, number):
            new = server.keys("create", "--role", "read")
            if chance.randrange(2):
                server.process.send_signal(signal.SIGHUP)
            server.get("/v1/boards", key=new, connection=connection)
            server.revoke(new)
            time.sleep(0.2)

        def view(chance, connection, number):
            with server.connect() as s:
                s.sendall(f"GET /v1/boards/race/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
                s.settimeout(0.5)
                try:
                    for _ in range(chance.randrange(1, 10)):
                        if not s.recv(65536):
                            break
                except TimeoutError:
                    pass

        def redis(chance, connection, number):
            if not server.resp:
                time.sleep(0.1)
                return
            with socket.create_connection(server.resp, 60) as s:
                auth = f"*2\r\n$4\r\nAUTH\r\n${len(key)}\r\n{key}\r\n"
                commands = "ZINCRBY zkey 1 z\r\n" * 20 + "ZREVRANGE race 0 5\r\nZCARD zkey\r\n"
                s.sendall(auth.encode() + commands.encode() + b"PING\r\n")
                got = b""
                while not got.endswith(b"+PONG\r\n"):
                    chunk = s.recv(65536)
                    self.assertTrue(chunk, got)
                    got += chunk
                self.assertNotIn(b"-ERR", got)

        roles = [write] * 4 + [batch] * 2 + [read] * 4 + [profile, drop, keys, view, view, redis, redis]
        threads = [threading.Thread(target=work, args=(role, i)) for i, role in enumerate(roles)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertTrue(server.is_running, server.log[-20000:])
        self.assertEqual(failures, [])
        rows = server.get("/v1/boards/race/top?limit=1000", key=key).json["entries"]
        self.assertEqual({e["player"]: e["score"] for e in rows}, sums)
        self.assertEqual(server.stop(), 0, server.log[-20000:])
        self.assertNotIn("Sanitizer", server.log)
        self.assertNotIn("runtime error", server.log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
