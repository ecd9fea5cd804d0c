#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
"""The table of limits in docs/security.md is true: for each row a scenario goes over the limit, and what the server answers must be
what the row says. A row without a scenario fails, and so does a scenario without a row. Defaults of settings are compared with
`rung config show`."""
import json
import os
import re
import socket
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, encode  # noqa: E402
from server import SOURCE, ServerTest, parse_answers, rung, token, until  # noqa: E402

PAGE = SOURCE / "docs/security.md"
SECRET = b"a secret of thirty-two bytes, or more"
NDJSON = {"Content-Type": "application/x-ndjson"}
SCENARIOS = {}


def rows():
    """{what: (limit, setting or None, [answers])} of the table behind the heading "Limits"."""
    found = {}
    text = PAGE.read_text().partition("\n## Limits\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| (?!what |---)(.*) \|$", text, re.M):
        what, limit, setting, answer = (cell.strip() for cell in line.split(" | "))
        found[what] = (limit, setting.strip("`") or None, re.findall(r"`([^`]+)`", answer))
    return found


def row(what):
    """The scenario of a row: returns what the server answered, in the order of the row."""
    def remember(method):
        SCENARIOS[what] = method
        return method
    return remember


def status_of(answer):
    return f"{answer.status} {answer.code}"


def first_status(data):
    answers, _ = parse_answers(data)
    status, _, body = answers[-1]
    return f"{status} {json.loads(body)['code']}"


def wait_closed(s):
    """What came until the other side closed."""
    got = b""
    try:
        while chunk := s.recv(1 << 16):
            got += chunk
    except ConnectionResetError:
        pass
    return got


def error(reply):
    return "-" + str(reply.value)


class Limits(ServerTest):
    def test_every_row_has_a_scenario(self):
        self.assertEqual(set(rows()), set(SCENARIOS))
        self.assertGreater(len(rows()), 20)

    def test_defaults(self):
        shown = {name: s["value"] for name, s in json.loads(rung("config", "show", "--json").stdout).items()}
        for what, (limit, setting, _) in rows().items():
            if setting:
                self.assertIn(setting, shown, what)
                self.assertEqual(limit, shown[setting], what)

    def test_rows(self):
        for what, scenario in SCENARIOS.items():
            with self.subTest(what):
                self.assertEqual(scenario(self), rows()[what][2])

    def board(self, *flags, **definition):
        server = self.serve(*flags)
        self.check(server.put("/v1/boards/race", definition), 201)
        return server

    def post(self, server, body, headers=None):
        return status_of(server.post("/v1/boards/race/scores", body, headers=headers))

    # ---- HTTP: one request ----

    @row("path and query")
    def target(self):
        return [first_status(self.serve().raw(b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"))]

    @row("header fields, their bytes")
    def head_bytes(self):
        return [first_status(self.serve().raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40000 + b"\r\n\r\n"))]

    @row("header fields, their number")
    def head_fields(self):
        return [first_status(self.serve().raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 150 + b"\r\n"))]

    @row("time for the header fields")
    def head_time(self):
        return [first_status(self.serve("--limits-header-timeout", "100ms").raw(b"GET / HTTP/1.1\r\nHost: loc"))]

    @row("a body")
    def body(self):
        return [self.post(self.board("--limits-body", "1KiB"), {"player": "p", "score": 1, "meta": "x" * 2000})]

    @row("a line of NDJSON")
    def line(self):
        server = self.board()
        answer = server.post("/v1/scores", b'{"board":"race","player":"p","score":1,"meta":"' + b"x" * 70000 + b'"}\n', headers=NDJSON)
        problem = answer.lines[-1]["error"]
        return [f"{problem['status']} {problem['code']}"]

    @row("elements of an array")
    def array(self):
        server = self.board()
        answer = server.post("/v1/scores", [{"board": "race", "player": "p", "score": 1}] * 10001)
        return [status_of(answer)]

    @row("nesting of JSON")
    def nesting(self):
        return [self.post(self.board(), b'{"player":"p","score":1,"meta":' + b"[" * 100 + b"]" * 100 + b"}", {"Content-Type": "application/json"})]

    @row("a name")
    def name(self):
        return [self.post(self.board(), {"player": "x" * 129, "score": 1})]

    @row("attributes of a player")
    def attributes(self):
        return [status_of(self.serve().put("/v1/players/ada", {f"a{i}": "x" for i in range(40)}))]

    @row("friends of a player")
    def friends(self):
        server = self.serve("--limits-body", "8MiB")
        return [status_of(server.put("/v1/players/ada/friends", {"friends": [f"p{i}" for i in range(10001)]}))]

    @row("a definition's seasons")
    def seasons(self):
        seasons = [{"name": f"s{i}", "starts": f"20{10 + i}-01-01T00:00:00Z", "ends": f"20{10 + i}-02-01T00:00:00Z"} for i in range(65)]
        return [status_of(self.serve().put("/v1/boards/race", {"windows": seasons}))]

    # ---- HTTP: all requests together ----

    @row("requests in flight")
    def in_flight(self):
        server = self.board("--limits-in-flight", "16")
        half = b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        crowd = [server.connect() for _ in range(16)]
        for s in crowd:
            self.addCleanup(s.close)
            s.sendall(half)
        return [status_of(until(lambda: (a := server.get("/v1/boards")).status == 503 and a, "too many"))]

    @row("requests with one key")
    def key_rate(self):
        server = self.serve("--rates-key", "3/m")
        key = server.keys("create", "--role", "admin")
        until(lambda: server.get("/v1/boards").status == 401, "the key")
        for _ in range(3):
            self.check(server.get("/v1/boards", key=key), 200)
        with Connection(server.resp) as c:
            c.call("AUTH", key)
            return [status_of(server.get("/v1/boards", key=key)), error(c.call("DBSIZE"))]

    @row("requests from one address without a key")
    def peer_rate(self):
        server = self.serve("--rates-peer", "3/m")
        for _ in range(3):
            self.check(server.get("/v1/boards"), 200)
        return [status_of(server.get("/v1/boards"))]

    @row("submissions for one player")
    def player_rate(self):
        server = self.board("--rates-player", "2/m")
        for i in range(2):
            self.assertEqual(self.post(server, {"player": "p", "score": i}), "200 None")
        with Connection(server.resp) as c:
            return [self.post(server, {"player": "p", "score": 9}), error(c.call("RUNG.SUBMIT", "race", "p", 9))]

    # ---- Redis protocol ----

    def say(self, server, data, count=1):
        """The last of so many replies."""
        with Connection(server.resp) as c:
            c.send_raw(data)
            for _ in range(count):
                reply = c.read()
            return error(reply)

    @row("arguments before AUTH")
    def stranger_arguments(self):
        server = self.serve()
        server.key("admin")
        return [self.say(server, b"*11\r\n")]

    @row("an argument before AUTH")
    def stranger_argument(self):
        server = self.serve()
        server.key("admin")
        return [self.say(server, b"*2\r\n$4\r\nAUTH\r\n$20000\r\n")]

    @row("a command")
    def command(self):
        return [self.say(self.serve(), b"*2\r\n$4\r\nPING\r\n$5000000\r\n")]

    @row("a line of an inline command")
    def inline(self):
        return [self.say(self.serve(), b"x" * 70000)]

    @row("commands of a transaction")
    def transaction(self):
        with Connection(self.serve().resp) as c:
            replies = c.pipeline([["MULTI"]] + [["PING"]] * 10001)
            return [error(replies[-1])]

    @row("keys of WATCH")
    def watched(self):
        return [self.say(self.serve(), encode(["WATCH", *[f"k{i}" for i in range(1025)]]))]


if __name__ == "__main__":
    unittest.main()
