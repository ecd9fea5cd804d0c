#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180
"""Every event of every protocol has its rows in the archive, with the score afterwards; SQLite and PostgreSQL."""
import csv
import io
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from postgres import Database, have  # noqa: E402
from resp import Connection  # noqa: E402
from server import BUILD, ServerTest, until  # noqa: E402

REVIEWED = {"rules": [{"rule": "max", "value": 1000, "action": "review"}]}


class Complete:
    def test_every_event_has_its_rows(self):
        server = self.server = self.start()
        self.over_http()
        self.over_redis()
        self.swap()
        until(lambda: self.metric("behind_events") == 0, "the archive")
        until(lambda: self.scores_are_current(), "the current scores")
        self.assertEqual(self.rows("race"), [
            ["score", "ada", "10", "10"], ["score", "bob", "7", "7"], ["score", "bob", "3", "7"], ["removal", "bob", "", ""],
            ["swapped", "", "", ""], ["score", "cyd", "4", "4"]])
        self.assertEqual(self.rows("flagged"), [["score", "bob", "5000", ""], ["promoted", "bob", "", "5000"]])
        self.assertEqual(self.rows("chess"), [["match", "ada", "", "1516"], ["match", "bob", "", "1484"]])
        self.assertEqual(self.rows("lobby"), [
            ["score", "a", "1", "1"], ["score", "b", "2", "2"], ["score", "c", "3", "3"], ["score", "a", "5", "5"], ["delta", "b", "2", "4"],
            ["removal", "c", "", ""], ["score", "d", "9", "9"], ["score", "a", "4", "5"], ["score", "e", "6", "6"]])
        self.assertEqual(self.rows("gone"), [["score", "x", "1", "1"], ["score", "y", "2", "2"], ["del", "", "", ""]])
        self.assertEqual(self.rows("pop"), [["score", "x", "1", "1"], ["score", "y", "2", "2"], ["zpop", "", "", ""], ["score", "z", "3", "3"]])
        self.assertEqual(self.current(), [
            ["chess", "ada", "1516"], ["chess", "bob", "1484"], ["flagged", "bob", "5000"], ["lobby", "a", "5"], ["lobby", "b", "4"],
            ["lobby", "d", "9"], ["lobby", "e", "6"], ["pop", "z", "3"], ["race", "cyd", "4"]])
        meta = self.sql("SELECT meta FROM %sscore_events WHERE kind = 'match' AND player = 'bob'" % self.schema)
        self.assertEqual(meta, [['{"side":1,"place":2}']])
        sent = self.check(server.get("/v1/players/bob/submissions?board=chess"), 200).json["submissions"]
        self.assertEqual([(s["kind"], s["result"], s["meta"]["place"], s["id"]) for s in sent], [("match", 1484, 2, "m1")])
        keys = [r for r in server.get("/v1/audit?kind=keys").json["records"]]
        self.assertIn("gone", str(keys))

    def over_http(self):
        server = self.server
        for board, definition in (("race", {}), ("flagged", REVIEWED), ("chess", {"update": "elo"})):
            self.check(server.put(f"/v1/boards/{board}", definition), 201)
        for player, score in (("ada", 10), ("bob", 7), ("bob", 3)):
            self.check(server.post("/v1/boards/race/scores", {"player": player, "score": score}), 200)
        self.check(server.delete("/v1/boards/race/players/bob"), 200)
        held = self.check(server.post("/v1/boards/flagged/scores", {"player": "bob", "score": 5000}), 200).json
        self.check(server.post(f"/v1/reviews/{held['review']}", {"verdict": "promote"}), 200)
        sides = [{"place": 1, "players": ["ada"]}, {"place": 2, "players": ["bob"]}]
        self.check(server.post("/v1/boards/chess/matches", {"sides": sides, "id": "m1"}), 200)

    def over_redis(self):
        with Connection(self.server.resp) as redis:
            for words in ("ZADD lobby 1 a 2 b 3 c", "MULTI", "ZADD lobby 5 a", "ZINCRBY lobby 2 b", "ZREM lobby c", "EXEC", "ZADD lobby 9 d",
                          "ZADD lobby GT 4 a 6 e", "ZADD gone 1 x 2 y", "DEL gone", "ZADD pop 1 x 2 y", "ZPOPMIN pop", "ZADD pop 3 z"):
                redis.call(*words.split())

    def swap(self):
        """Afterwards the archive knows of no score of the board until there is a new one."""
        board = "/v1/boards/race"
        self.check(self.server.post(board + "/replay", {"exclude": {"players": ["ada"]}}), 202)
        until(lambda: self.server.get(board + "/replay").json["state"] == "ready", "the replay")
        self.check(self.server.post(board + "/replay/swap"), 200)
        self.check(self.server.post(board + "/scores", {"player": "cyd", "score": 4}), 200)

    def metric(self, name):
        return float(re.search(rf"^rung_archive_{name} (\S+)$", self.server.get("/metrics").body.decode(), re.M).group(1))

    def rows(self, board):
        return self.sql("SELECT kind, player, CAST(score AS integer), CAST(result AS integer) FROM %sscore_events WHERE board = '%s'"
                        " ORDER BY seq, part" % (self.schema, board))

    def current(self):
        return self.sql(f"SELECT board, player, CAST(score AS integer) FROM {self.schema}user_scores ORDER BY board, player")


class Sqlite(Complete, ServerTest):
    schema = ""

    def start(self):
        return self.serve()

    def sql(self, text):
        run = subprocess.run([BUILD / "rung", "sql", self.server.data, text, "--csv"], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return list(csv.reader(io.StringIO(run.stdout)))[1:]

    def scores_are_current(self):
        return self.sql("SELECT cursor - scores_seq FROM event_store, source") == [["0"]] or \
            self.sql("SELECT count(*) FROM score_events, event_store WHERE seq > scores_seq") == [["0"]]


@unittest.skipUnless(have(), "PostgreSQL is not installed")
class Postgres(Complete, ServerTest):
    schema = "rung."

    def start(self):
        self.database = Database().start()
        self.addCleanup(self.database.close)
        self.database.sql("CREATE ROLE rung LOGIN PASSWORD 's3cret'; CREATE SCHEMA rung AUTHORIZATION rung")
        return self.serve(env={"RUNG_ARCHIVE": self.database.url()})

    def sql(self, text):
        return self.database.sql(text)

    def scores_are_current(self):
        return True


if __name__ == "__main__":
    unittest.main()
