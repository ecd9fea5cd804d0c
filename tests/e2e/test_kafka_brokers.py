#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""The brokers that other tests run: what was acknowledged is there after kill -9, a pause is waited out, three replicate."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import CLUSTER_ID, Brokers  # noqa: E402


class OneBroker(unittest.TestCase):
    def test_records_survive_a_kill_and_a_pause(self):
        with Brokers(1) as brokers:
            client = brokers.client()
            self.assertEqual(client.cluster_id(), CLUSTER_ID)
            client.create_topic("scores", configs={"retention.ms": "-1"})
            self.assertEqual(client.produce("scores", b"one", key=b"k"), 0)
            brokers[0].kill()
            brokers[0].start()
            self.assertEqual(client.produce("scores", b"two"), 1)
            brokers[0].pause()
            brokers[0].resume()
            self.assertEqual(client.produce("scores", b"three"), 2)
            self.assertEqual([tuple(r) for r in client.records("scores")],
                             [(0, b"k", b"one"), (1, None, b"two"), (2, None, b"three")])
            self.assertEqual(brokers[0].stop(), 143)


class ThreeBrokers(unittest.TestCase):
    def test_one_of_three_dies(self):
        with Brokers(3) as brokers:
            client = brokers.client()
            client.create_topic("scores", replication=3, configs={"min.insync.replicas": "2"})
            client.produce("scores", b"one")
            brokers[0].kill()
            client.produce("scores", b"two")
            brokers[0].start()
            brokers[1].kill()
            client.produce("scores", b"three")
            self.assertEqual([r.value for r in client.records("scores")], [b"one", b"two", b"three"])


if __name__ == "__main__":
    unittest.main()
