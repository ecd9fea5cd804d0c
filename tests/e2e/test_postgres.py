#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180
"""A server with its archive in PostgreSQL: what it answers, without the database, with TLS, and docs/postgres.md."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from postgres import Database, have  # noqa: E402
from server import ServerTest, rung, until  # noqa: E402

SEASON = {"name": "s", "starts": "2026-01-01T00:00:00Z", "ends": "2026-02-01T00:00:00Z"}
DEFINITION = {"windows": ["all", SEASON], "grace": 366 * 86400, "keep": 0}
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "postgres.md"


def blocks():
    return re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.S)


@unittest.skipUnless(have(), "PostgreSQL is not installed")
class Postgres(ServerTest):
    def setUp(self):
        super().setUp()
        self.database = Database().start()
        self.addCleanup(self.database.close)
        self.database.sql(blocks()[0])  # a role and a schema

    def open(self, url, **more):
        """A server with a season that is closed and archived, in which p0 is first."""
        server = self.server = self.serve(env={"RUNG_ARCHIVE": url}, **more)
        self.check(server.put("/v1/boards/race", DEFINITION), 201)
        self.submit(range(10))
        self.check(server.put("/v1/boards/race", {**DEFINITION, "grace": 0}), 200)
        until(lambda: self.sources() == ["archive"], "the archive")
        return server

    def sources(self):
        windows = self.server.get("/v1/boards/race/windows?kind=season").json.get("windows", [])
        return [w["source"] for w in windows if w["closed"]]

    def submit(self, numbers):
        for i in numbers:
            self.check(self.server.post("/v1/boards/race/scores",
                                        {"player": f"p{i}", "score": 100 - i, "at": f"2026-01-02T00:00:{i:02}Z", "id": f"i{i}"}), 200)

    def metric(self, name):
        text = self.server.get("/metrics").body.decode()
        return float(re.search(rf"^rung_archive_{name} (\S+)$", text, re.M).group(1))

    def top(self):
        return self.server.get("/v1/boards/race/top?window=s")

    def count(self, table):
        return int(self.database.sql(f"SELECT count(*) FROM rung.{table}")[0][0])

    def test_without_the_database_the_server_goes_on(self):
        server = self.open(self.database.url())
        self.assertEqual([e["player"] for e in self.check(self.top(), 200).json["entries"]], [f"p{i}" for i in range(10)])
        self.assertEqual(self.metric("writer"), 1)
        self.database.stop()
        answer = self.top()
        self.assertEqual((answer.status, answer.code), (503, "archive_unavailable"))
        self.submit(range(10, 20))
        until(lambda: self.metric("failing") == 1, "a failure")
        self.assertGreater(self.metric("behind_events"), 0)
        server.stop()
        server.start()  # without the database
        self.submit(range(20, 30))
        self.assertEqual(self.top().status, 503)
        self.database.start()
        until(lambda: self.metric("behind_events") == 0 and self.metric("failing") == 0, "catching up")
        until(lambda: self.top().status == 200, "an answer")
        self.assertEqual(self.count("score_events"), 30)
        self.assertEqual(self.count("user_scores"), 30)
        self.assertEqual(self.database.sql("SELECT score, seq FROM rung.user_scores WHERE player = 'p25'"),
                         self.database.sql("SELECT result, seq FROM rung.score_events WHERE player = 'p25'"))

    def test_the_password_is_nowhere(self):
        server = self.open(self.database.url())
        self.database.stop()
        self.submit(range(10, 12))
        until(lambda: self.metric("failing") == 1, "a failure")
        env = {**server.env, "RUNG_ARCHIVE": self.database.url()}
        shown = [rung("config", "show", "--data", server.data, *flags, env=env) for flags in ([], ["--json"], ["--example"])]
        status = rung("status", "--url", server.url if hasattr(server, "url") else f"http://{server.http[0]}:{server.http[1]}")
        texts = ["\n".join(server.said), server.get("/metrics").body.decode(), status.stdout + status.stderr,
                 *(s.stdout + s.stderr for s in shown)]
        for text in texts:
            self.assertNotIn("s3cret", text)
        self.assertIn("postgres://rung@", shown[0].stdout)
        for wrong in ("postgres://rung:s3cret@x@h/db", "postgress://rung:s3cret@h/db", "postgres://rung:s3cret@h/db?schema=A"):
            run = rung("serve", "--data", server.own_folder / "x", "--archive", wrong)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("archive", run.stderr)
            self.assertNotIn("s3cret", run.stderr)

    def test_a_newer_schema_fails_the_start_in_one_line(self):
        server = self.open(self.database.url())
        server.stop()
        self.database.sql("INSERT INTO rung.schema_migrations VALUES (99)")
        run = rung("serve", "--http", "127.0.0.1:0", "--resp", "off", "--data", server.data, env=server.env)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("the schema has version 99", run.stderr)

    def test_tls(self):
        folder = self.database.folder
        key, cert, other = folder / "server.key", folder / "server.crt", folder / "other.crt"
        for k, c in ((key, cert), (folder / "other.key", other)):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=DNS:localhost", "-keyout", k, "-out", c], check=True, capture_output=True)
        for path in (key, cert):
            self.database.own(path)
        self.database.stop()
        (folder / "data" / "pg_hba.conf").write_text("local all boss trust\nhostssl all rung 127.0.0.1/32 scram-sha-256\n")
        self.database.start("ssl=on", f"ssl_key_file={key}", f"ssl_cert_file={cert}")
        self.database.sql("ALTER ROLE rung PASSWORD 's3cret'")
        address = f"hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={{}}"
        server = self.open(self.database.url(address.format(cert), host="localhost"))
        self.assertEqual(self.database.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                                           " WHERE usename = 'rung'"), [["t"]])
        before = self.count("score_events")
        server.stop()
        server.env["RUNG_ARCHIVE"] = self.database.url(address.format(other), host="localhost")
        server.start()
        self.submit(range(10, 15))
        until(lambda: self.metric("failing") == 1, "a failure")
        self.assertTrue(any("certificate" in line for line in server.said), server.said)
        self.assertEqual(self.count("score_events"), before)

    def test_the_page(self):
        """Each block of docs/postgres.md runs, and finds something: the second as an administrator, the others as the analyst."""
        self.open(self.database.url())
        self.check(self.server.post("/v1/boards/race/scores", {"player": "ada", "score": 7}), 200)
        until(lambda: self.metric("behind_events") == 0, "the archive")
        self.database.sql(blocks()[1])
        for block in blocks()[2:]:
            with self.subTest(block):
                self.assertTrue(self.database.sql(block, user="analyst"), block)
        # the role has its schema and nothing else
        self.assertEqual(self.database.sql("SELECT has_database_privilege('rung', 'postgres', 'CREATE'),"
                                           " has_schema_privilege('rung', 'public', 'CREATE')")[0][0], "f")


if __name__ == "__main__":
    unittest.main()
