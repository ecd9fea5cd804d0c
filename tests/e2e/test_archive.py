#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Windows that have left memory reflect the sequence that their answers state, however far behind the archive is."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import BUILD, ServerTest, until  # noqa: E402

SEASON = {"name": "s", "starts": "2026-01-01T00:00:00Z", "ends": "2026-02-01T00:00:00Z"}
DEFINITION = {"windows": ["all", SEASON], "grace": 366 * 86400, "keep": 0, "scopes": ["country"], "teams": {"by": "guild", "combine": "sum"}}


class Archive(ServerTest):
    def open(self, count=10):
        """A server with a season that is closed and archived, in which p0 is first."""
        server = self.server = self.serve()
        self.check(server.put("/v1/boards/b", DEFINITION), 201)
        for i in range(count):
            server.put(f"/v1/players/p{i}", {"country": "FI", "guild": "g"})
            self.check(server.post("/v1/boards/b/scores", {"player": f"p{i}", "score": 100 - i, "at": f"2026-01-02T00:00:{i:02}Z"}), 200)
        self.close()
        until(lambda: [w["source"] for w in self.windows()] == ["archive"], "the archive")

    def close(self):
        """Close the season."""
        self.check(self.server.put("/v1/boards/b", {**DEFINITION, "grace": 0}), 200)

    def windows(self):
        return [w for w in self.server.get("/v1/boards/b/windows?kind=season").json["windows"] if w["closed"]]

    def change(self, method, path):
        answer = self.check(getattr(self.server, method)(path), 200).json
        return int(answer["seq"])

    def ask(self, path, query=""):
        return self.check(self.server.get(f"/v1/boards/b/{path}{'&' if '?' in path else '?'}window=s{query}"), 200).json

    def expect(self, seq, players):
        """Every question says the same at once, with min_seq and without."""
        for query in (f"&min_seq={seq}", ""):
            for path in ("top", "top?scope=country:FI"):
                top = self.ask(path, query)
                self.assertEqual([e["player"] for e in top["entries"]], players)
                self.assertEqual(top["total"], len(players))
                self.assertGreaterEqual(int(top["seq"]), seq)
            found = self.ask("players?ids=p0,p1,p2,p3", query)["entries"]
            self.assertEqual([e["player"] for e in found], [p for p in players if p in ("p0", "p1", "p2", "p3")])
            self.assertEqual(self.ask("teams", query)["entries"][0]["score"], sum(100 - int(p[1:]) for p in players))
            self.assertEqual(self.windows()[0]["total"], len(players))

    def questions(self, key):
        """How many the archive has answered, and how many wait."""
        text = self.server.get("/metrics", key=key).body.decode()
        return [int(float(next(row.split()[1] for row in text.splitlines() if row.startswith(name + " "))))
                for name in ("rung_archive_questions_total", "rung_archive_asking")]

    def test_who_asks_much_does_not_stand_before_who_asks_little(self):
        self.open()
        server = self.server
        server.always = admin = server.key("admin")
        greedy, honest = server.key("read"), server.key("read")
        path = "/v1/boards/b/top?window=s&limit=1000"
        pipelined = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {greedy}\r\n\r\n".encode() * 32
        rounds = []
        while len(rounds) < 10 and not any(passed < waited / 2 for waited, passed in rounds):
            with contextlib.ExitStack() as stack:
                for _ in range(24):  # 768 questions, of which half the queue is let in at a time
                    stack.enter_context(server.connect()).sendall(pipelined)
                before, waiting = self.questions(admin)
                answer = server.get(path, key=honest)
                after, _ = self.questions(admin)
            self.check(answer, 200)
            self.assertEqual(len(answer.json["entries"]), 10)
            rounds.append((waiting, after - before))  # behind all who wait it would be answered after all of them
            until(lambda: self.questions(admin)[1] == 0, "the end of the queue")
        self.assertTrue(any(passed < waited / 2 for waited, passed in rounds), rounds)

    def test_hidden_at_once(self):
        self.open()
        everybody = [f"p{i}" for i in range(10)]
        for player in ("p0", "p3", "p9"):
            self.expect(self.change("post", f"/v1/players/{player}/ban"), [p for p in everybody if p != player])
            self.expect(self.change("delete", f"/v1/players/{player}/ban"), everybody)
        self.expect(self.change("delete", "/v1/boards/b/players/p1"), [p for p in everybody if p != "p1"])
        self.expect(self.change("delete", "/v1/players/p2"), [p for p in everybody if p not in ("p1", "p2")])

    def test_an_archive_that_is_behind_is_waited_for(self):
        self.open()
        hold = sqlite3.connect(self.server.data / "archive.db", isolation_level=None, check_same_thread=False)
        self.addCleanup(hold.close)
        hold.execute("BEGIN IMMEDIATE")  # the follower cannot write
        self.assertEqual(len(self.ask("top")["entries"]), 10)  # nothing has changed: no reason to wait
        self.server.post("/v1/boards/b/scores", {"player": "p5", "score": 1})
        self.assertEqual(len(self.ask("top")["entries"]), 10)  # nor for a score
        seq = self.change("post", "/v1/players/p0/ban")
        late = self.server.get("/v1/boards/b/top?window=s")
        self.check(late, 503, "archive_behind")
        self.assertIn("retry-after", {name.lower() for name in late.headers})
        self.check(self.server.get("/v1/boards/b/top"), 200)  # memory is another matter
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(self.server.get("/v1/boards/b/top?window=s"))) for _ in range(3)]
        for thread in asking:
            thread.start()
        until(lambda: b"rung_archive_asking 3" in self.server.get("/metrics").body, "the questions")
        hold.execute("ROLLBACK")
        for thread in asking:
            thread.join()
        self.assertEqual([self.check(a, 200).json["total"] for a in answers], [9, 9, 9])
        self.expect(seq, [f"p{i}" for i in range(1, 10)])

    def test_a_window_between_memory_and_archive(self):
        server = self.server = self.serve()
        self.check(server.put("/v1/boards/b", DEFINITION), 201)
        self.check(server.post("/v1/boards/b/scores", {"player": "p0", "score": 1, "at": "2026-01-02T00:00:00Z"}), 200)
        until(lambda: (server.data / "archive.db").exists(), "the archive")
        hold = sqlite3.connect(server.data / "archive.db", isolation_level=None)
        self.addCleanup(hold.close)
        hold.execute("BEGIN IMMEDIATE")
        self.close()
        answers = []

        def ask():
            while not answers or (answers[-1].status == 200 and not answers[-1].json["closed"]):
                answers.append(server.get("/v1/boards/b/top?window=s"))
        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: b"rung_archive_asking 1" in server.get("/metrics").body or not asking.is_alive(), "the question")
        hold.execute("ROLLBACK")
        asking.join()
        self.assertEqual(self.check(answers[-1], 200).json["total"], 1)

    def test_ranked_by_the_board_as_it_is(self):
        self.open(3)
        self.assertEqual(self.ask("top")["rank_style"], "sparse")
        self.check(self.server.put("/v1/boards/b", {**DEFINITION, "grace": 0, "rank": "dense"}), 200)
        self.assertEqual(self.ask("top")["rank_style"], "dense")
        self.assertEqual(self.ask("top", "&rank=unique")["rank_style"], "unique")

    def test_a_closed_season_keeps_its_dates(self):
        self.open(3)
        for field, dates in (("starts", {"starts": "2026-01-05T00:00:00Z"}), ("ends", {"ends": "2027-02-01T00:00:00Z"})):
            answer = self.server.put("/v1/boards/b", {**DEFINITION, "windows": ["all", {**SEASON, **dates}], "title": "new"})
            self.assertEqual(self.check(answer, 422, "unsupported").json["field"], f"windows[1].{field}")
        self.assertEqual(self.server.get("/v1/boards/b").json["title"], "b")  # nothing of it
        self.check(self.server.put("/v1/boards/b", {**DEFINITION, "title": "new"}), 200)

    def test_rung_sql(self):
        """The archive by SQL while the server writes it: events as a table, in every form, and nothing can be changed."""
        self.open()
        seq = int(self.check(self.server.post("/v1/boards/b/scores", {"player": "pö,\"1\"", "score": 7}), 200).json["seq"])
        until(lambda: b"\nrung_archive_behind_events 0\n" in self.server.get("/metrics").body, "the archive")

        def sql(*words, code=0, stdin=""):
            run = subprocess.run([BUILD / "rung", "sql", self.server.data, *words], input=stdin, capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, code, run.stdout + run.stderr)
            return run.stdout if code == 0 else run.stderr

        rows = sql("SELECT seq, player, score, meta FROM score_events WHERE board = 'b' ORDER BY seq DESC LIMIT 2", "--json").splitlines()
        self.assertEqual(json.loads(rows[0]), {"seq": seq, "player": "pö,\"1\"", "score": 7, "meta": None})
        self.assertEqual(len(rows), 2)
        table = sql("--csv", stdin="SELECT player, score\nFROM score_events WHERE seq = %d;\nSELECT 1 AS one" % seq)
        self.assertEqual(table, 'player,score\n"pö,""1""",7\none\n1\n')
        self.assertRegex(sql("SELECT place, player FROM readable_standings WHERE kind = 'season' ORDER BY place LIMIT 1"), r"1\s+p0")
        self.assertIn("score_events", sql(stdin=".tables\n.quit\n"))
        for change in ("DELETE FROM standings", "CREATE TABLE mine (a)", "PRAGMA user_version = 1", "UPDATE source SET cursor = 1"):
            self.assertRegex(sql(change, code=1), "readonly|authorized", change)
        self.assertIn("not authorized", sql(f"ATTACH '{self.server.data}/x.db' AS x", code=1))
        self.assertIn("syntax error", sql("SELEC 1", code=1))
        self.assertIn("exclude each other", sql("SELECT 1", "--csv", "--json", code=2))

    def test_rung_sql_refuses_other_files(self):
        folder = tempfile.mkdtemp(prefix="rung-sql-")
        self.addCleanup(shutil.rmtree, folder)
        other = os.path.join(folder, "other.db")
        with contextlib.closing(sqlite3.connect(other)) as db:
            db.execute("CREATE TABLE t (a)")
        for path, what in ((other, "is not an archive"), (os.path.join(folder, "none"), "unable to open"), ("postgres://a/b", "psql")):
            run = subprocess.run([BUILD / "rung", "sql", path, "SELECT 1"], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(what, run.stderr)

    def test_a_scope_that_comes_during_a_ban(self):
        """In a closed window it has the attributes of the moment when it came, in memory and, closed later, in the archive."""
        server = self.server = self.serve()
        plain = {**DEFINITION, "keep": 2, "scopes": []}
        self.check(server.put("/v1/boards/b", plain), 201)
        server.put("/v1/players/p0", {"country": "FI", "guild": "g"})
        server.post("/v1/boards/b/scores", {"player": "p0", "score": 1, "at": "2026-01-02T00:00:00Z"})
        self.change("post", "/v1/players/p0/ban")
        self.check(server.put("/v1/boards/b", {**plain, "scopes": ["country"]}), 200)
        server.put("/v1/players/p0", {"country": "SE", "guild": "g"})
        self.check(server.put("/v1/boards/b", {**plain, "scopes": ["country"], "grace": 0}), 200)
        until(lambda: self.windows(), "closing")
        self.change("delete", "/v1/players/p0/ban")

        def standing():
            return [len(self.ask(f"top?scope=country:{country}")["entries"]) for country in ("FI", "SE")]
        self.assertEqual(standing(), [1, 0])
        self.check(server.put("/v1/boards/b", {**plain, "scopes": ["country"], "grace": 0, "keep": 0}), 200)
        self.assertEqual(self.windows()[0]["source"], "archive")
        self.assertEqual(standing(), [1, 0])

    def test_stopping_does_not_wait(self):
        self.open(3)
        hold = sqlite3.connect(self.server.data / "archive.db", isolation_level=None)
        self.addCleanup(hold.close)
        hold.execute("BEGIN IMMEDIATE")
        self.change("post", "/v1/players/p0/ban")
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.server.get("/v1/boards/b/top?window=s").status))
        asking.start()
        until(lambda: b"rung_archive_asking 1" in self.server.get("/metrics").body, "the question")
        hold.execute("ROLLBACK")
        self.assertEqual(self.server.stop(), 0)
        asking.join()
        self.assertIn(answers, ([200], [503]))


class File(ServerTest):
    """The file itself: who may read it, and what is said of one that is not what it was."""

    def archived(self, lines=2000, *flags):
        server = self.serve(*flags)
        server.put("/v1/boards/b", {})
        body = b"".join(b'{"board":"b","player":"p%d","score":%d}\n' % (i, i) for i in range(lines))
        self.check(server.post("/v1/scores", body, headers={"Content-Type": "application/x-ndjson"}), 200)
        self.wait_archived(server)
        return server, server.data / "archive.db"

    def wait_archived(self, server):
        until(lambda: b"\nrung_archive_behind_events 0\n" in server.get("/metrics").body, "the archive")

    def test_it_is_the_owners_alone(self):
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        server, file = self.archived(10)
        until(lambda: server.post("/v1/snapshot").status == 202, "a snapshot")
        until(lambda: any(p.name.startswith("snapshot-") for p in server.data.iterdir()), "the snapshot")
        modes = {p.name: p.stat().st_mode & 0o77 for p in server.data.iterdir()}
        self.assertIn("archive.db-wal", modes)
        self.assertEqual({name: oct(mode) for name, mode in modes.items() if mode}, {})
        self.assertEqual(server.stop(), 0)
        file.chmod(0o644)  # as it was made once
        server.start()
        self.assertEqual(file.stat().st_mode & 0o777, 0o640)

    def test_damage_is_said(self):
        server, file = self.archived()
        self.assertEqual(server.stop(), 0)
        with open(file, "r+b") as f:
            f.seek(-8 * 4096, os.SEEK_END)
            f.write(b"\xff" * 8 * 4096)
        server.start()
        until(lambda: "the archive is damaged" in server.log, "the line")
        self.assertIn(b"\nrung_archive_damaged 1\n", server.get("/metrics").body)
        self.check(server.get("/v1/boards/b/top"), 200)
        self.assertEqual(server.stop(), 0)

    def test_a_sound_one_is_not_accused(self):
        server, _ = self.archived()
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertIn(b"\nrung_archive_damaged 0\n", server.get("/metrics").body)
        self.assertEqual(server.stop(), 0)  # also while it is looked through
        self.assertNotIn("archive", server.log)

    def test_an_emptied_one_is_said(self):
        server, file = self.archived(10)
        self.assertEqual(server.stop(), 0)
        file.write_bytes(b"")
        server.start()
        until(lambda: "is an empty file and begins anew" in server.log, "the line in the log")
        self.wait_archived(server)

    def test_a_gap_is_said(self):
        server, file = self.archived(10, "--log-keep", "off")
        for i in range(3):  # two snapshots with all of it, and the log before them is let go
            self.check(server.post("/v1/boards/b/scores", {"player": "ada", "score": 1000 + i}), 200)
            self.assertEqual(server.stop(), 0)
            server.start()
            self.wait_archived(server)
            until(lambda: server.post("/v1/snapshot").status == 202, "the snapshot")
            until(lambda: b"\nrung_snapshots_total 1\n" in server.get("/metrics").body, "its end")
        until(lambda: not any("00000000000000000001-" in p.name for p in server.data.glob("*.seg")), "the log is let go")
        self.assertEqual(server.stop(), 0)
        file.unlink()
        server.start()
        self.assertRegex(server.log, r"the archive has events up to 0, the log begins at \d+: it goes on with a gap")


if __name__ == "__main__":
    unittest.main()
