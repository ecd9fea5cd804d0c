#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Three servers on three brokers, under load: brokers are killed and paused one after the other, servers are killed. Every submission
that was acknowledged counts once on every server, and the servers have the same digest."""
import os
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "kafka"))
from brokers import Brokers  # noqa: E402
from server import ServerTest, until  # noqa: E402
from test_kafka import Writer  # noqa: E402

FAULTS = int(os.environ.get("RUNG_STEPS", "6"))
SEED = int(os.environ.get("RUNG_SEED", "1"))
PER_FAULT = 120  # submissions that must succeed between two faults


class Failover(ServerTest):
    def serve_all(self, brokers):
        servers = [self.serve("--log", f"kafka://{brokers.addresses}/rung", "--log-kafka-timeout", "3s", start=False) for _ in range(3)]
        for server in servers:
            server.start(wait=False)
        for server in servers:
            server.wait_listening()
            until(lambda: server.get("/readyz").status == 200, "ready")
        return servers

    def fault(self, chance, brokers, servers):
        """One, and its end. Of three brokers two are always there."""
        kind, broker, server = chance.randrange(3), brokers[chance.randrange(3)], servers[chance.randrange(3)]
        if kind == 0:
            broker.kill()
            yield f"broker {broker.number} killed"
            broker.start()
        elif kind == 1:
            broker.pause()
            yield f"broker {broker.number} paused"
            broker.resume()
        else:
            server.kill()
            yield "a server killed"
            server.start(wait=False)
            server.wait_listening()

    def test_nothing_is_lost(self):
        chance = random.Random(SEED)
        with Brokers(3) as brokers:
            servers = self.serve_all(brokers)
            self.check(servers[0].put("/v1/boards/race", {"update": "sum"}), 201)
            for server in servers:
                self.check(server.get("/v1/boards/race?latest=true"), 200)
            writers = [Writer(servers, n, None) for n in range(4)]
            for w in writers:
                w.start()

            def progress(what):
                goal = sum(w.acked for w in writers) + PER_FAULT
                until(lambda: sum(w.acked for w in writers) >= goal or any(w.failure for w in writers), f"progress: {what}")
            for n in range(FAULTS):
                for what in self.fault(chance, brokers, servers):
                    progress(f"fault {n}, {what}")
                progress(f"after fault {n}")
            for w in writers:
                w.stop = True
            for w in writers:
                w.join()
                self.assertIsNone(w.failure)
            for server in servers:
                until(lambda: server.get("/readyz").status == 200, "ready")
                for w in writers:
                    answer = until(lambda: self.answered(server, w.player), "an answer")
                    self.assertEqual(answer.json["entry"]["score"], w.acked, (w.player, w.codes))
            states = [s.get("/readyz").json for s in servers]
            self.assertEqual(len({s["digest"] for s in states if s["seq"] == states[0]["seq"]}), 1, states)

    def answered(self, server, player):
        answer = server.get(f"/v1/boards/race/players/{player}?latest=true")
        return answer if answer.status == 200 else None


if __name__ == "__main__":
    unittest.main()
