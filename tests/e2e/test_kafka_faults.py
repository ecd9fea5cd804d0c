#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=broker,no-asan
"""Three brokers and three servers. Ten faults of ./dev hunt kafka under load: nothing acknowledged is lost, or counts twice, on any
server; no fresh read is stale; the servers have the same digests (tests/kafka/faults.py). And faults of their own."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from faults import Cluster, Hunt, Split  # noqa: E402
from network import enter_private, is_private  # noqa: E402

FAULTS = int(os.environ.get("RUNG_STEPS", "10"))
SEED = int(os.environ.get("RUNG_SEED", "1"))


class Faults(unittest.TestCase):
    def test_ten_faults(self):
        self.assertTrue(Hunt(FAULTS, SEED).run(), "see above")

    @unittest.skipUnless(is_private(), "needs network namespaces")
    def test_a_leader_that_was_replaced_and_does_not_know(self):
        """Server 1 reads from it, server 2 writes to its successor: what server 2 acknowledged, server 1 must not leave out of a read
        with latest=true."""
        cluster = Cluster(SEED)
        self.addCleanup(cluster.close)
        cluster.start()
        reader, writer = cluster.nodes[:2]
        path = "/v1/boards/total/players/ada?window=all&latest=true"

        def submit(id_):
            return writer.post("/v1/boards/total/scores", {"player": "ada", "delta": 1, "id": id_}).status == 200
        cluster.wait(lambda: submit("one"), "the first submission")
        cluster.wait(lambda: reader.get(path).status == 200, "the first read")
        old = cluster.brokers[cluster.brokers.client().leader("rung") - 1]
        split = Split(cluster, None)
        split.target = old
        split.begin()
        writer.place.drop(old.place)  # so that it looks for another leader
        cluster.wait(lambda: submit("two"), "a new leader")
        for _ in range(3):  # the server may wait for the end of the log, but not leave anything out
            answer = reader.get(path)
            if answer.status != 503:
                self.assertEqual((answer.status, answer.json["entry"]["score"]), (200, 2), answer)
        split.end()
        writer.place.restore(old.place)
        cluster.wait(lambda: reader.get(path).status == 200, "a read when all is well again")
        self.assertEqual(reader.get(path).json["entry"]["score"], 2)


if __name__ == "__main__":
    enter_private()
    unittest.main()
