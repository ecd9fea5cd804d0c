#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=broker,no-asan
"""An upgrade to a version with a higher level of rules: servers of level 1 (a build of its own) are replaced one after the other while
clients write. The level of the log rises when the last of them is gone and not before; until then what they could not read is refused.
Nothing is lost, and the states are equal all the time."""
import os
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from kafka_servers import KafkaTest  # noqa: E402
from server import BUILD, until  # noqa: E402

OLD = BUILD / "tests" / "rung_level1"
NODES = 3
BEATS = 6  # three heartbeats are waited for
PER_STEP = 50  # writes that must succeed between two replacements


class Writer(threading.Thread):
    """Submits to the servers in turn, again with the same id until it is acknowledged."""

    def __init__(self, servers):
        super().__init__()
        self.servers, self.acked, self.failure, self.stop = servers, 0, None, False

    def run(self):
        tries = 0
        while not self.stop:
            tries += 1
            try:
                answer = self.servers[tries % NODES].post("/v1/boards/race/scores", {"player": "ada", "delta": 1, "id": f"w-{self.acked}"})
            except (OSError, AttributeError):  # it is being replaced
                continue
            if answer.status == 200:
                self.acked += 1
            elif answer.status != 503:
                self.failure = answer
                return


class Levels(KafkaTest):
    def start(self, program):
        return self.node("--log-heartbeat", "200ms", program=program)

    def levels(self, server):
        """That of the log, and those of the servers that are present."""
        answer = self.check(server.get("/v1/nodes"), 200).json
        return answer["level"], sorted(n["level"] for n in answer["nodes"] if n["state"] == "present")

    def hear_reports(self, server):
        """More of the other servers' reports than anybody waits for before the level is raised."""
        heard = set()

        def look():
            heard.add(next(n["heard_at"] for n in server.get("/v1/nodes").json["nodes"] if n["state"] == "present" and not n["self"]))
            return len(heard) > BEATS
        until(look, "reports of the others")

    def replace(self, servers, index):
        self.assertEqual(servers[index].stop(), 0, servers[index].log)
        servers[index].program = self.node(start=False).program
        servers[index].start()

    def progress(self, writer):
        goal = writer.acked + PER_STEP
        until(lambda: writer.acked >= goal or writer.failure, "progress")
        self.assertIsNone(writer.failure)

    def refused(self, server):
        """What servers of level 1 do not know."""
        self.check(server.put("/v1/boards/duel", {"update": "elo"}), 503, "older_servers")

    def test_the_level_rises_with_the_last_server(self):
        servers = [self.start(OLD) for _ in range(NODES)]
        self.check(servers[0].put("/v1/boards/race", {"update": "sum"}), 201)
        for server in servers:
            until(lambda s=server: self.levels(s) == (1, [1, 1, 1]), "three old servers")
        writer = Writer(servers)
        writer.start()
        try:
            for i in range(NODES):
                self.progress(writer)
                self.replace(servers, i)
                if i < NODES - 1:
                    known = sorted([3] * (i + 1) + [1] * (NODES - 1 - i))
                    until(lambda s=servers[i], k=known: self.levels(s)[1] == k, "old and new side by side")
                    self.hear_reports(servers[i])
                    self.assertEqual(self.levels(servers[i])[0], 1)
                    self.refused(servers[i])
                    self.assertTrue(all(s.is_running for s in servers))
            for server in servers:
                until(lambda s=server: self.levels(s) == (3, [3] * NODES), "the new level")
            self.progress(writer)
        finally:
            writer.stop = True
            writer.join()
        for server in servers:
            answer = self.check(server.get("/v1/boards/race/players/ada?latest=true"), 200)
            self.assertEqual(answer.json["entry"]["score"], writer.acked)
            self.assertIsNone(server.get("/v1/digest").json["diverged"])
        self.check(servers[0].put("/v1/boards/duel", {"update": "elo"}), 201)
        for server in servers:
            self.check(server.get("/v1/boards/duel?latest=true"), 200)
        self.same(*servers)
        late = self.node(program=OLD, start=False).start(wait=False)
        self.assertNotEqual(late.wait_exit(), 0)
        self.assertRegex(late.log, "raised the rules to level 3|needs a newer version")


if __name__ == "__main__":
    unittest.main()
