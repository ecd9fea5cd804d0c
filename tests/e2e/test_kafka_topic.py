#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""Topics with several replicas: which are created, which are refused as unsafe, and which are accepted with a warning."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import Brokers  # noqa: E402
from server import ServerTest  # noqa: E402


def setUpModule():
    Replicas.brokers = Brokers(2).start()
    unittest.addModuleCleanup(Replicas.brokers.close)


class Replicas(ServerTest):
    def node(self, topic, *flags):
        return self.serve("--log", f"kafka://{self.brokers.addresses}/{topic}", *flags, start=False)

    def accepts(self, server):
        server.start()
        self.assertIn(server.put("/v1/boards/race", {}).status, (200, 201))
        self.assertEqual(server.stop(), 0)
        return server.log

    def refuses(self, server, *words):
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        for word in words:
            self.assertIn(word, server.log)

    def test_too_few_replicas_in_sync(self):
        client = self.brokers.client()
        client.create_topic("loose", replication=2, configs={"min.insync.replicas": "1", "retention.ms": "-1"})
        self.refuses(self.node("loose"), "unsafe", "min.insync.replicas is 1", "log.kafka.accept_unsafe")
        log = self.accepts(self.node("loose", "--log-kafka-accept-unsafe", "on"))
        self.assertIn("unsafe, and accepted as it is: min.insync.replicas is 1", log)
        client.create_topic("tight", replication=2, configs={"min.insync.replicas": "2", "retention.ms": "-1"})
        self.assertNotIn("unsafe", self.accepts(self.node("tight")))

    def test_a_topic_of_our_own_is_safe(self):
        for _ in range(2):  # created, and found
            self.assertNotIn("unsafe", self.accepts(self.node("own", "--log-kafka-replication", "2")))

    def test_an_unsafe_topic_is_not_created(self):
        flags = "--log-kafka-replication", "2", "--log-kafka-min-isr", "1"
        self.refuses(self.node("new", *flags), "not created", "unsafe", "min.insync.replicas 1 of 2")
        self.refuses(self.node("new", "--log-kafka-replication", "1", "--log-kafka-min-isr", "2"), "no write")
        self.accepts(self.node("new", *flags, "--log-kafka-accept-unsafe", "on"))


if __name__ == "__main__":
    unittest.main()
