#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""Killed under load: what was acknowledged over HTTP is there exactly once, in order, after every restart. Stopped: what was
accepted is finished."""
import http.client
import json
import os
import random
import signal
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, rung, until  # noqa: E402

CLIENTS = 8
ROUNDS = int(os.environ.get("RUNG_STEPS", "6"))


class Client(threading.Thread):
    """Sends submissions with ids, one by one and in batches, and remembers what was acknowledged. Ends when the server does."""

    def __init__(self, server, number, round_number, seed):
        super().__init__()
        self.server, self.name, self.prefix = server, f"p{number}", f"{number}.{round_number}."
        self.chance = random.Random(seed)
        self.sent, self.acked = [], []  # ids; (seq, id)
        self.failure = None

    def one(self, connection):
        id_ = self.prefix + str(len(self.sent))
        self.sent.append(id_)
        answer = self.server.post("/v1/boards/race/scores", {"player": self.name, "delta": 1, "id": id_}, connection=connection)
        if answer.status != 200:
            raise AssertionError(answer)
        self.acked.append((answer.json["seq"], id_))

    def batch(self, connection):
        ids = [self.prefix + str(len(self.sent) + i) for i in range(self.chance.randrange(1, 20))]
        self.sent += ids
        body = "".join(json.dumps({"board": "race", "player": self.name, "delta": 1, "id": i}) + "\n" for i in ids).encode()
        answer = self.server.post("/v1/scores", body, connection=connection, headers={"Content-Type": "application/x-ndjson"})
        if answer.status != 200 or len(answer.lines) != len(ids):
            raise AssertionError(answer)
        for id_, result in zip(ids, answer.lines):
            if "rank" not in result:
                raise AssertionError(result)
            self.acked.append((result["seq"], id_))

    def run(self):
        connection = self.server.open()
        try:
            while True:
                (self.batch if self.chance.randrange(4) == 0 else self.one)(connection)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass  # the server is gone, in the middle of something
        except AssertionError as e:
            self.failure = e
        finally:
            connection.close()


class RedisClient(threading.Thread):
    """Counts up its own member with pipelines of ZINCRBY, and reads what each became."""

    def __init__(self, server, number):
        super().__init__()
        self.server, self.member = server, f"m{number}"
        self.sent = self.acked = 0
        self.failure = None

    def run(self):
        step = f"*4\r\n$7\r\nZINCRBY\r\n$5\r\ncount\r\n$1\r\n1\r\n${len(self.member)}\r\n{self.member}\r\n".encode()
        with socket.create_connection(self.server.resp, 60) as s:
            replies = s.makefile("rb")
            try:
                while True:
                    s.sendall(step * 10)
                    self.sent += 10
                    for _ in range(10):
                        replies.readline()  # $3
                        value = replies.readline()
                        if not value.endswith(b"\r\n"):
                            return
                        if int(value) != self.acked + 1:
                            self.failure = f"{value} after {self.acked}"
                            return
                        self.acked += 1
            except OSError:
                pass


def log_ids(folder):
    """The submissions in the log, in order: [(seq, id)]."""
    run = rung("log", "cat", folder, "--kind", "score", "--json")
    if run.returncode:
        raise AssertionError(run.stderr)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    return [(r["seq"], r["id"]) for r in records]


class Restart(ServerTest):
    def digest(self, folder):
        run = rung("status", folder, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        state = json.loads(run.stdout)["state"]
        return state["seq"], state["digest"]

    def check_scores(self, server, clients):
        """Sent again, every id is known or new, none counts twice."""
        for client in clients:
            acked = {i for _, i in client.acked}
            for at in range(0, len(client.sent), 500):
                ids = client.sent[at:at + 500]
                body = "".join(json.dumps({"board": "race", "player": client.name, "delta": 1, "id": i}) + "\n" for i in ids).encode()
                answer = self.check(server.post("/v1/scores", body, headers={"Content-Type": "application/x-ndjson"}), 200)
                self.assertEqual(len(answer.lines), len(ids))
                for id_, result in zip(ids, answer.lines):
                    self.assertIn("rank", result)
                    if id_ in acked:
                        self.assertTrue(result.get("duplicate"), f"{id_} was acknowledged and is lost")

    def test_kill(self):
        seed = int(os.environ.get("RUNG_SEED", "1"))
        chance = random.Random(seed)
        server = self.serve()
        server.put("/v1/boards/race", {"update": "sum"})
        totals, highest = {}, 0
        for number in range(ROUNDS):
            clients = [Client(server, i, number, seed * 1000 + number * 100 + i) for i in range(CLIENTS)]
            for c in clients:
                c.start()
            answers = chance.randrange(1, 400)
            until(lambda: sum(len(c.acked) for c in clients) >= answers or any(c.failure for c in clients), f"{answers} answers")
            server.kill()
            for c in clients:
                c.join()
                self.assertIsNone(c.failure, f"seed {seed}")
            fresh = {i for c in clients for i in c.sent}  # ids of earlier rounds were sent again, and are there again
            in_log = [(seq, i) for seq, i in log_ids(server.data) if i in fresh]
            self.assertEqual(len(in_log), len({i for _, i in in_log}), "an id is in the log twice")
            known = dict((i, s) for s, i in in_log)
            for c in clients:
                seqs = [s for s, _ in c.acked]
                self.assertEqual(seqs, sorted(seqs), "a client's changes out of order")
                for seq, id_ in c.acked:
                    self.assertEqual(known.get(id_), seq, f"{id_}, seed {seed}")
            server.start()
            self.check_scores(server, clients)
            for c in clients:
                totals[c.name] = totals.get(c.name, 0) + len(c.sent)
            entries = {e["player"]: e["score"] for e in server.get("/v1/boards/race/top?limit=100").json["entries"]}
            self.assertEqual(entries, {p: n for p, n in totals.items() if n}, f"seed {seed}")
            seq = server.get("/v1/boards/race/top").json["seq"]
            self.assertGreater(seq, highest)
            highest = seq
        self.assertEqual(server.stop(), 0)
        before = self.digest(server.data)
        copy = server.own_folder / "copy"
        self.assertEqual(rung("backup", server.data, copy).returncode, 0)
        restored = server.own_folder / "restored"
        self.assertEqual(rung("restore", copy, restored).returncode, 0)
        self.assertEqual(self.digest(restored), before)
        server.start()
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.digest(server.data)[1], before[1])

    def test_kill_over_the_redis_port(self):
        """Each ZINCRBY that was answered counts, those that were not count once or not at all."""
        server = self.serve()
        for number in range(3):
            clients = [RedisClient(server, f"{number}-{i}") for i in range(CLIENTS)]
            for c in clients:
                c.start()
            until(lambda: sum(c.acked for c in clients) >= 500 or any(c.failure for c in clients), "500 answers")
            server.kill()
            for c in clients:
                c.join()
                self.assertIsNone(c.failure)
            self.assertGreater(sum(c.acked for c in clients), 0)
            server.start()
            for c in clients:
                with socket.create_connection(server.resp, 60) as s:
                    s.sendall(f"ZSCORE count {c.member}\r\n".encode())
                    reply = s.makefile("rb")
                    score = 0 if reply.readline() == b"$-1\r\n" else int(reply.readline())
                self.assertLessEqual(c.acked, score)
                self.assertLessEqual(score, c.sent)

    def test_stop_finishes_what_was_accepted(self):
        """SIGTERM in the middle of load: every answered submission is there, every request is answered or refused as a whole."""
        server = self.serve()
        server.put("/v1/boards/race", {"update": "sum"})
        for number in range(3):
            clients = [Client(server, i, f"stop{number}", i) for i in range(CLIENTS)]
            for c in clients:
                c.start()
            until(lambda: sum(len(c.acked) for c in clients) >= 200 or any(c.failure for c in clients), "200 answers")
            self.assertEqual(server.stop(), 0, server.log)
            for c in clients:
                c.join()
            acked = {i: s for c in clients for s, i in c.acked}
            known = dict((i, s) for s, i in log_ids(server.data))
            self.assertGreater(len(acked), 0)
            self.assertEqual({i: known.get(i) for i in acked}, acked)
            server.start()
            self.check_scores(server, clients)

    def test_the_second_signal_and_the_second_server(self):
        server = self.serve()
        second = self.serve(data=server.data, start=False)
        second.start(wait=False)
        self.assertNotEqual(second.wait_exit(), 0)
        self.assertRegex(second.log, "in use|lock")
        self.assertTrue(server.is_alive())
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0)

    def test_without_a_folder_nothing_is_kept(self):
        server = self.serve(data=False)
        self.assertRegex(server.log.lower(), "nothing is kept|not kept|no data")
        self.check(server.put("/v1/boards/race", {}), 201)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.check(server.get("/v1/boards/race"), 404)

    def test_damage_is_refused(self):
        server = self.serve()
        server.put("/v1/boards/race", {})
        for i in range(50):
            server.post("/v1/boards/race/scores", {"player": f"p{i}", "score": i})
        server.kill()
        server.start()
        server.kill()
        # The start may have cut the first segment where its mark was, and written the rest to the next.
        segment = next(s for s in sorted(server.data.glob("*.seg")) if any(s.read_bytes()[4096 + 200:4096 + 300]))
        data = bytearray(segment.read_bytes())
        data[4096 + 200] ^= 0x10
        segment.write_bytes(data)
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn(segment.name, server.log)
        self.assertIn("offset", server.log)

    def test_not_ready_until_recovered(self):
        server = self.serve()
        self.check(server.get("/readyz"), 200)
        self.check(server.get("/healthz"), 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
