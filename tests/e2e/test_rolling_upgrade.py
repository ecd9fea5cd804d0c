#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""Three servers on one log behind HAProxy are replaced one after the other, as an upgrade does it, while clients write and read.
No write fails, is lost or counts twice; every read with min_seq sees its write; at the end all servers have the same state."""
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import Brokers  # noqa: E402
from haproxy import Balancer, skip_without_haproxy  # noqa: E402
from server import WAIT, ServerTest, until  # noqa: E402

NODES = 3
CLIENTS = 4
PER_STEP = 60  # writes that must succeed in each phase of a replacement


def fixed_ports(count):
    """Ports that a server finds free again after a restart: below those that the system gives to outgoing connections."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = []
    while len(found) < count:
        port = random.randrange(10000, max(low, 10001))
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


class Client(threading.Thread):
    """Writes through the balancer on one connection, each write once, and reads back what it wrote. Nothing is tried again."""

    def __init__(self, address, number):
        super().__init__()
        self.address, self.player = address, f"p{number}"
        self.acked, self.late, self.failure, self.stop = 0, 0, None, False

    def ask(self, connection, method, path, body=None):
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def round(self, connection):
        body = {"player": self.player, "delta": 1, "id": f"{self.player}-{self.acked}"}
        status, text = self.ask(connection, "POST", "/v1/boards/race/scores", body)
        if status != 200:
            raise AssertionError(f"a write was answered {status}: {text}")
        self.acked += 1
        seq = json.loads(text)["seq"]
        status, text = self.ask(connection, "GET", f"/v1/boards/race/players/{self.player}?min_seq={seq}")
        if status == 503 and json.loads(text)["code"] == "seq_timeout":
            self.late += 1  # a busy machine; never a wrong answer
        elif status != 200 or json.loads(text)["entry"]["score"] != self.acked:
            raise AssertionError(f"after {self.acked} writes and min_seq={seq}: {status} {text}")

    def run(self):
        connection = http.client.HTTPConnection(*self.address, timeout=WAIT)
        try:
            while not self.stop:
                self.round(connection)
        except (AssertionError, OSError, http.client.HTTPException) as e:
            self.failure = e
        finally:
            connection.close()


class RollingUpgrade(ServerTest):
    def node(self, brokers, port, resp):
        return self.serve("--log", f"kafka://{brokers.addresses}/rung", "--log-kafka-replication", "1", "--stop-delay", "1h",
                          "--http", f"127.0.0.1:{port}", "--resp", f"127.0.0.1:{resp}", start=False)

    def replace(self, balancer, servers, index, progress):
        """What an upgrade does with one server. It is told to stop, and told again when the balancer has noticed; a real one
        waits for stop_delay instead."""
        server = servers[index]
        server.process.send_signal(signal.SIGTERM)
        for backend in ("readers", "writers"):
            balancer.wait(backend, index, "DOWN")
        progress(f"server {index} drains")
        self.assertTrue(server.is_running)
        self.assertEqual(server.stop(), 0, server.log)
        progress(f"server {index} is away")
        server.start(wait=False)
        for backend in ("readers", "writers", "redis"):
            balancer.wait(backend, index, "UP")
        progress(f"server {index} is back")

    def test_no_write_fails(self):
        ports = fixed_ports(2 * NODES)
        with Brokers(1) as brokers:
            servers = [self.node(brokers, ports[i], ports[NODES + i]) for i in range(NODES)]
            for server in servers:
                server.start()
            self.check(servers[0].put("/v1/boards/race", {"update": "sum"}), 201)
            with Balancer([(server.http, server.resp) for server in servers]) as balancer:
                self.run_clients(balancer, servers)
            self.check_states(servers)

    def run_clients(self, balancer, servers):
        for i in range(NODES):
            balancer.wait("writers", i, "UP")
        clients = self.clients = [Client(balancer.address, n) for n in range(CLIENTS)]

        def progress(what):
            goal = sum(c.acked for c in clients) + PER_STEP
            until(lambda: sum(c.acked for c in clients) >= goal or any(c.failure for c in clients), f"progress: {what}")
            self.assertEqual([c.failure for c in clients if c.failure], [], what)
        for c in clients:
            c.start()
        try:
            progress("all are there")
            for i in range(NODES):
                self.replace(balancer, servers, i, progress)
        finally:
            for c in clients:
                c.stop = True
            for c in clients:
                c.join()
        self.assertEqual([c.failure for c in clients if c.failure], [])

    def check_states(self, servers):
        acked = sum(c.acked for c in self.clients)
        self.assertGreaterEqual(acked, PER_STEP * (1 + 3 * NODES))
        for server in servers:
            for c in self.clients:
                answer = self.check(server.get(f"/v1/boards/race/players/{c.player}?latest=true"), 200)
                self.assertEqual(answer.json["entry"]["score"], c.acked, c.player)
        until(lambda: len({(s["seq"], s["digest"]) for s in (server.get("/readyz").json for server in servers)}) == 1, "one state")
        print(f"{acked} writes, {sum(c.late for c in self.clients)} late reads")


if __name__ == "__main__":
    skip_without_haproxy()
    unittest.main()
