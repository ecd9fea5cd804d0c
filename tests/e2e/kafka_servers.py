# SPDX-License-Identifier: Apache-2.0
"""Servers that share a log on real brokers (tests/kafka/brokers.py). The brokers serve all tests of a module; each test has a topic.

    class Things(KafkaTest):
        wanted = {"count": 2}                       # brokers; one without this line
        def test_it(self):
            a, b = self.node(), self.node("--log-heartbeat", "200ms")
            self.same(a, b)                         # waits for the same sequence and digest"""
import itertools
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import Brokers  # noqa: E402
from server import ServerTest, until  # noqa: E402


class KafkaTest(ServerTest):
    wanted, replication = {"count": 1}, 1
    brokers, numbers = None, itertools.count(1)

    @classmethod
    def setUpClass(cls):
        if not KafkaTest.brokers:
            KafkaTest.brokers = Brokers(**cls.wanted).start()
            unittest.addModuleCleanup(KafkaTest.brokers.close)

    def setUp(self):
        self.topic = f"rung-{next(self.numbers)}"

    @property
    def log(self):
        """The log of this test as a URL."""
        return f"kafka://{self.brokers.addresses}/{self.topic}"

    def node(self, *flags, log=None, replication=None, **more):
        return self.serve("--log", log or self.log, "--log-kafka-replication", replication or self.replication, *flags, **more)

    def metric(self, server, name):
        for line in server.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def same(self, *servers):
        """All servers come to the same end, and have the same state there."""
        def look():
            states = [s.get("/readyz").json for s in servers]
            return states[0] if all((s["seq"], s["digest"]) == (states[0]["seq"], states[0]["digest"]) for s in states) else None
        return until(look, "the same state on all servers")
