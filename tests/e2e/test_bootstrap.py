#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""How a server comes to the state of a topic: from a peer's snapshot, through a connection that drips and is cut, under load; and not
over a gap between its snapshot and the log."""
import os
import shutil
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from server import WAIT, until  # noqa: E402

PLAYERS = 5000


class Drip:
    """Forwards to a server; its answers drip until the test opens it."""

    def __init__(self, target):
        self.target, self.open, self.sent = target, threading.Event(), []  # bytes of each connection
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sent.append(0)
            threading.Thread(target=self.forward, args=(client, len(self.sent) - 1), daemon=True).start()

    def forward(self, client, number):
        with client, socket.create_connection(self.target, timeout=WAIT) as server:
            try:
                server.sendall(client.recv(65536))
                while data := server.recv(65536 if self.open.is_set() else 32):
                    client.sendall(data)
                    self.sent[number] += len(data)
                    self.open.wait(0.02)
            except OSError:
                pass

    def close(self):
        self.open.set()
        self.listener.close()


class Bootstrap(KafkaTest):
    def fill(self, server, count=PLAYERS):
        self.assertIn(server.put("/v1/boards/race", {}).status, (200, 201))
        lines = "".join('{"board":"race","player":"player-%d","score":%d}\n' % (i, i * 7919 % 10007) for i in range(count))
        answer = self.check(server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"}), 200)
        self.assertNotIn(b'"code"', answer.body)

    def snapshot(self, server):
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: server.request("HEAD", "/v1/snapshot").status == 200, "the snapshot")
        return int(server.request("HEAD", "/v1/snapshot").headers["rung-seq"])

    def url(self, server):
        return "http://%s:%d" % server.http

    def test_a_download_that_drips_and_is_cut(self):
        a = self.node("--snapshot-every", "off")
        self.fill(a)
        self.snapshot(a)
        size = int(a.request("HEAD", "/v1/snapshot").headers["content-length"])
        drip = Drip(a.http)
        self.addCleanup(drip.close)
        b = self.node("--peers", drip.url, start=False).start(wait=False)
        until(lambda: "recovering reading=download" in b.log, "a line about the progress")
        b.wait_listening()
        answer = b.get("/readyz")
        self.assertEqual((answer.status, answer.code, answer.json["progress"]["reading"]), (503, "not_ready", "download"))
        self.assertEqual(answer.json["progress"]["total"], size)
        self.assertGreater(answer.json["progress"]["done"], 0)
        b.kill()
        part = next(b.data.glob("join-*.part")).stat().st_size
        self.assertGreater(part, 0)
        drip.open.set()
        b.start()
        self.assertLess(drip.sent[-1], size - part + 2000)  # what was there was not sent again
        self.assertIn("joined with a peer's snapshot", b.log)
        self.same(a, b)
        self.assertEqual((a.stop(), b.stop()), (0, 0))

    def test_under_load(self):
        """Others write while it joins. When it is ready, it is close to the end, and the state is theirs."""
        a = self.node("--snapshot-every", "off")
        self.fill(a, 500)
        self.snapshot(a)
        ended = threading.Event()

        def write():
            for i in range(100000):
                if ended.is_set():
                    return
                a.post("/v1/boards/race/scores", {"player": f"w{i % 50}", "score": i})
        writers = [threading.Thread(target=write) for _ in range(2)]
        for w in writers:
            w.start()
        try:
            b = self.node("--peers", self.url(a), "--ready-lag-max", "100")
            ready = until(lambda: b.get("/readyz").status == 200 and b.get("/readyz").json, "readiness")
            self.assertLessEqual(ready["log"]["lag"], 1000, ready)  # it was 100 at most a moment ago
        finally:
            ended.set()
            for w in writers:
                w.join()
        self.same(a, b)

    def test_a_gap_between_the_own_snapshot_and_the_log(self):
        a = self.node("--snapshot-every", "off")
        self.fill(a, 50)
        seq = self.snapshot(a)
        self.assertEqual(a.stop(), 0)
        b = self.node("--snapshot-every", "off")
        self.fill(b, 50)
        newer = self.snapshot(b)
        client = self.brokers.client()
        client.delete_records(self.topic, before=seq)  # everything that the snapshot has: no gap
        a.start()
        self.same(a, b)
        a.kill()
        client.delete_records(self.topic, before=newer)
        a.start(wait=False)
        self.assertEqual(a.wait_exit(), 1)
        self.assertIn(f"the log begins at {newer + 1}, but {seq + 1} is needed: empty the data folder, and fill it with rung join", a.log)
        for file in a.data.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        a.flags += ["--peers", self.url(b)]
        a.start()
        self.same(a, b)


if __name__ == "__main__":
    unittest.main()
