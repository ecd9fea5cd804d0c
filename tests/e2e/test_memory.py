#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release,no-asan
"""memory.max: growth is refused, reads and removals go on, and a folder that once fit opens again."""
import json
import os
import resource
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection  # noqa: E402
from server import WAIT, ServerTest  # noqa: E402


class Memory(ServerTest):
    def fill(self, server, first=0):
        """Keys of one member until one alone is refused; returns how many there are. What waits counts as if it had been applied,
        so the last of a pipeline are refused a little before."""
        with socket.create_connection(server.resp, timeout=WAIT) as s, s.makefile("rb") as replies:
            at, count = first, 500
            while True:
                s.sendall(b"".join(b"ZADD key%d 1 member%d\r\n" % (i, i) for i in range(at, at + count)))
                got = [replies.readline() for _ in range(count)]
                self.assertTrue(server.is_running and got[-1], server.log)
                refused = [reply for reply in got if reply.startswith(b"-")]
                self.assertEqual(set(refused) - {b"-OOM command not allowed when used memory > 'memory.max'\r\n"}, set())
                at += count - len(refused)
                if refused and count == 1:
                    return at
                count = 1 if refused else count

    def metric(self, server, name):
        text = server.get("/metrics").body.decode()
        return float(next(row.split()[1] for row in text.splitlines() if row.startswith(name + " ")))

    def test_growth_is_refused_and_all_else_goes_on(self):
        server = self.serve("--memory-max", "4MiB")
        self.check(server.put("/v1/boards/race", {}), 201)
        self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 5}), 200)
        self.fill(server)
        self.assertEqual(self.metric(server, "rung_memory_max_bytes"), 4 << 20)
        self.assertGreater(self.metric(server, "rung_memory_bytes"), 3.9 * (1 << 20))
        self.assertGreater(self.metric(server, "rung_memory_refused_total"), 0)
        full = self.check(server.post("/v1/boards/race/scores", {"player": "bob", "score": 5}), 503, "memory_full")
        self.assertTrue(full.headers["Retry-After"])
        lines = server.post("/v1/scores", json.dumps({"board": "race", "player": "bob", "score": 1}).encode(),
                            headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(lines.lines[0]["error"]["code"], "memory_full")
        self.check(server.put("/v1/boards/other", {}), 503, "memory_full")
        self.assertEqual(server.get("/v1/boards/race/top").json["total"], 1)
        self.check(server.get("/readyz"), 200)
        resp = Connection(server.resp)
        self.assertEqual(resp.call("ZSCORE", "key7", "member7").value, b"1")
        self.assertEqual(resp.call("DEL", *[f"key{i}" for i in range(200)]).value, 200)
        self.assertEqual(resp.call("ZADD", "again", "1", "member7").value, 1)
        self.check(server.delete("/v1/boards/race/players/ada"), 200)
        resp.close()

    def test_a_small_address_space_is_not_the_end(self):
        """As `ulimit -v`: the server takes what it can, refuses more, and starts again on the same folder, every time."""
        limit = 400 << 20
        server = self.serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        count = 0
        for _ in range(3):
            count = self.fill(server, count)
            self.assertEqual(server.stop(), 0, server.log)
            server.start()
        self.assertGreater(count, 1000)
        resp = Connection(server.resp)
        self.assertGreaterEqual(resp.call("DBSIZE").value, count)
        self.assertEqual(resp.call("ZSCORE", f"key{count - 1}", f"member{count - 1}").value, b"1")
        resp.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
