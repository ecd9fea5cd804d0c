#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rung size: its costs are those of docs/benchmarks.md and of a real server, to 30 %, and docs/capacity.md shows what it prints."""
import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from resp import Connection, encode  # noqa: E402
from server import SOURCE, ServerTest, rung  # noqa: E402

BENCHMARKS = (SOURCE / "docs/benchmarks.md").read_text()
OPERATIONS = re.sub(r"\s+", " ", (SOURCE / "docs/operations.md").read_text())
DRIFT = 0.3


def section(name):
    return re.search(rf"<!-- bench:{name}:begin -->(.*?)<!-- bench:{name}:end -->", BENCHMARKS, re.S)[1]


def number(text):
    scale = {"k": 1e3, "M": 1e6}.get(text.strip()[-1:], 1)
    return float(re.sub(r"[^\d.]", "", text)) * scale


def row(text, start, after=""):
    """The cells of the first row that begins with `start`, behind the text `after`."""
    text = text[text.index(after):]
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("| ").split("|")]


def costs():
    return json.loads(rung("size", "--json").stdout)["costs"]


class Documented(unittest.TestCase):
    def near(self, name, measured):
        have = costs()[name]
        self.assertLess(abs(have - measured), DRIFT * measured, f"{name} is {have} in src/cli/sizing.h, and {measured} in the docs")

    def test_memory(self):
        state = section("state")
        one, three = number(row(state, "10 M, all  ")[6]), number(row(state, "10 M, all + week + day  ")[6])
        self.near("entry_bytes", (three - one) / 2)
        self.near("name_bytes", one - (three - one) / 2)

    def test_disk(self):
        self.near("log_bytes", number(row(section("archive"), "SQLite  | 10.0 M")[4]))
        self.near("archive_bytes", number(row(section("archive"), "SQLite  | 10.0 M")[5]))
        self.near("snapshot_bytes", number(row(section("journal"), "snapshot, bytes per player")[1]))
        told = re.search(r"takes (\d+) bytes of log, (\d+) once its segment is full and compressed .*?; without an id (\d+) and (\d+)",
                         OPERATIONS)
        with_id, with_id_packed, bare, packed = map(float, told.groups())
        self.near("packed_bytes", packed)
        self.near("id_log_bytes", with_id - bare)
        self.near("id_packed_bytes", with_id_packed - packed)

    def test_time(self):
        redis = section("redis")
        for name, start in (("resp_write_us", "ZADD of a known"), ("resp_read_us", "ZREVRANK"), ("resp_top_us", "ZREVRANGE 0 99")):
            self.near(name, number(row(redis, start, "### 10 M")[6]))
        http = section("http")
        for name, start in (("http_write_us", "submit, synced"), ("http_read_us", "rank of a player"), ("http_top_us", "top 100")):
            self.near(name, number(row(http, start, "### 10 M")[5]))
        self.near("archive_us", number(row(section("archive"), "SQLite  | 10.0 M")[3]))
        journal = section("journal")
        self.near("load_us", number(row(journal, "start from snapshot")[1]) / 10)
        self.near("replay_us", 1 / number(row(journal, "replay, known players")[1]))

    def test_the_page_shows_what_it_prints(self):
        page = (SOURCE / "docs/capacity.md").read_text()
        shown = re.findall(r"^    \$ (rung size.*)\n((?:    .*\n|\n)*)", page, re.M)
        self.assertTrue(shown)
        for command, output in shown:
            printed = rung(*command.split()[1:]).stdout
            self.assertEqual(printed.strip(), re.sub(r"^    ", "", output, flags=re.M).strip(), command)


class OnTheWire(ServerTest):
    """What the benchmarks do not say: measured on a server of the tests' own build, so sizes and no times."""

    def near(self, name, measured):
        have = costs()[name]
        self.assertLess(abs(have - measured), DRIFT * measured, f"{name} is {have} in src/cli/sizing.h, and {measured} here")

    def test_bytes_of_requests_and_answers(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {}), 201)
        lines = "".join(json.dumps({"board": "race", "player": f"player:{i:08}", "score": 900000 - i}) + "\n" for i in range(200))
        server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"})
        body = b'{"player":"player:00000007","score":912345,"id":"0123456789abcdef"}'
        request = b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: 127.0.0.1:7864\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.near("http_write_in", len(request))

        def answer(path):
            return len(server.raw(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path))
        self.near("http_read_out", answer(b"/v1/boards/race/players/player:00000007?around=0"))
        self.near("http_top_out", answer(b"/v1/boards/race/top?limit=100"))
        self.near("resp_write_in", len(encode(["ZADD", "race", 912345, "player:00000007"])))
        resp = Connection(server.resp)
        self.near("resp_read_out", len(resp.call("ZREVRANK", "race", "player:00000007").raw) + 5)  # five digits more of ten million
        self.near("resp_top_out", len(resp.call("ZREVRANGE", "race", 0, 99, "WITHSCORES").raw))
        resp.close()

    def test_memory_of_ids(self):
        server = self.serve()

        def used():
            text = server.get("/metrics").body.decode()
            return float(re.search(r"^rung_memory_bytes (\S+)", text, re.M)[1])
        self.check(server.put("/v1/boards/race", {}), 201)

        def submit(count, first):
            lines = "".join(f'{{"board":"race","player":"ada","score":1,"id":"{i:016x}"}}\n' for i in range(first, first + count))
            self.check(server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"}), 200)
        submit(20000, 0)
        before = used()
        submit(60000, 20000)
        self.near("id_bytes", (used() - before) / 60000)


class Refusals(unittest.TestCase):
    def test_bad_numbers(self):
        for words in (("--players", "-1"), ("--players", "many"), ("--active", "101"), ("--average", "200"), ("--windows", "8"),
                      ("--wheels", "4")):
            done = rung("size", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(words[0], done.stderr)


if __name__ == "__main__":
    unittest.main()
