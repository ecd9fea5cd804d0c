#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""Topics with several replicas: which are created, which are refused as unsafe, and which are accepted with a warning."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402


class Replicas(KafkaTest):
    wanted, replication = {"count": 2}, 2

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
        client.create_topic(self.topic, replication=2, configs={"min.insync.replicas": "1", "retention.ms": "-1"})
        self.refuses(self.node(start=False), "unsafe", "min.insync.replicas is 1", "log.kafka.accept_unsafe")
        log = self.accepts(self.node("--log-kafka-accept-unsafe", "on", start=False))
        self.assertIn("unsafe, and accepted as it is: min.insync.replicas is 1", log)

    def test_enough_replicas_in_sync(self):
        self.brokers.client().create_topic(self.topic, replication=2, configs={"min.insync.replicas": "2", "retention.ms": "-1"})
        self.assertNotIn("unsafe", self.accepts(self.node(start=False)))

    def test_a_topic_of_our_own_is_safe(self):
        for _ in range(2):  # created, and found
            self.assertNotIn("unsafe", self.accepts(self.node(start=False)))

    def test_an_unsafe_topic_is_not_created(self):
        flags = "--log-kafka-min-isr", "1"
        self.refuses(self.node(*flags, start=False), "not created", "unsafe", "min.insync.replicas 1 of 2")
        self.refuses(self.node("--log-kafka-min-isr", "2", replication=1, start=False), "no write")
        self.accepts(self.node(*flags, "--log-kafka-accept-unsafe", "on", start=False))


if __name__ == "__main__":
    unittest.main()
