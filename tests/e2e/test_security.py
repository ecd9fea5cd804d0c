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
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection, encode  # noqa: E402
from server import BUILD, SOURCE, WAIT, ServerTest, parse_answers, rung, token, until  # noqa: E402

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
    """As the table has it, which does not say how many seconds."""
    return "-" + re.sub(r"in \d+ s$", "in N s", str(reply.value))


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

    @row("elements of an array, of scores or of matches")
    def array(self):
        server = self.board()
        answer = server.post("/v1/scores", [{"board": "race", "player": "p", "score": 1}] * 10001)
        return [status_of(answer)]

    @row("candidates that a search for opponents looks at")
    def candidates(self):
        server = self.serve()
        server.put("/v1/boards/chess", {"update": "elo", "rating": {"k": 16}})
        sides = [[{"place": 1, "players": [f"p{i}"]}, {"place": 2, "players": [f"p{i + 1}"]}] for i in range(0, 1000, 2)]
        self.check(server.post("/v1/boards/chess/matches", [{"sides": s} for s in sides]), 200)
        found = self.check(server.get("/v1/boards/chess/opponents/p500?n=100"), 200).json["opponents"]
        self.assertEqual(len(found), 100)
        return []

    @row("nesting of JSON")
    def nesting(self):
        return [self.post(self.board(), b'{"player":"p","score":1,"meta":' + b"[" * 100 + b"]" * 100 + b"}", {"Content-Type": "application/json"})]

    @row("a name")
    def name(self):
        return [self.post(self.board(), {"player": "x" * 129, "score": 1})]

    @row("attributes of a player")
    def attributes(self):
        return [status_of(self.serve().put("/v1/players/ada", {f"a{i}": "x" for i in range(40)}))]

    @row("rankings of a sketch board")
    def sketches(self):
        server = self.serve(data=False)
        server.put("/v1/boards/who", {"kind": "sketch", "sketch": "distinct", "memory": "64MiB", "scopes": ["country"]})
        for i in range(1, 17):  # everybody's and 15 countries of 64 MiB
            server.put(f"/v1/players/p{i}", {"country": f"c{i}"})
            answer = server.post("/v1/boards/who/scores", {"player": f"p{i}"})
            if i < 16 and answer.status != 200:
                return [status_of(answer) + " too early"]
        self.assertEqual(answer.json["field"], "memory")
        return [status_of(answer)]

    @row("friends of a player")
    def friends(self):
        server = self.serve("--limits-body", "8MiB")
        return [status_of(server.put("/v1/players/ada/friends", {"friends": [f"p{i}" for i in range(10001)]}))]

    @row("a definition's seasons")
    def seasons(self):
        seasons = [{"name": f"s{i}", "starts": f"20{10 + i}-01-01T00:00:00Z", "ends": f"20{10 + i}-02-01T00:00:00Z"} for i in range(65)]
        return [status_of(self.serve().put("/v1/boards/race", {"windows": seasons}))]

    @row("scores that wait for a review")
    def tentative(self):
        server = self.board(review="top:1")
        for i in range(16):
            self.assertEqual(self.post(server, {"player": "p", "score": i}), "200 None")
        refused = server.post("/v1/boards/race/scores", {"player": "p", "score": 99})
        return [status_of(refused), refused.json["field"]]

    @row("entries of a board's timed snapshots, top x keep x windows")
    def snapshots(self):
        body = {"windows": ["all", "day"], "snapshots": {"every": "1m", "top": 10000, "keep": 53}}
        answer = self.serve().put("/v1/boards/race", body)
        return [status_of(answer), answer.json["field"]]

    @row("the same of all boards")
    def all_snapshots(self):
        server = self.serve()
        for i in range(4):
            self.check(server.put(f"/v1/boards/b{i}", {"snapshots": {"every": "1m", "top": 1024, "keep": 1024}}), 201)
        answer = server.put("/v1/boards/b4", {"snapshots": {"every": "1m", "top": 1, "keep": 1}})
        return [status_of(answer), answer.json["field"]]

    @row("rankings that are read page by page")
    def pagings(self):
        server = self.board()
        for player in ("ada", "bob"):
            self.post(server, {"player": player, "score": 1})
        answers = [server.get("/v1/boards/race/top?page=first&limit=1") for _ in range(65)]
        self.assertEqual([a.status for a in answers], [200] * 32 + [503] * 33)
        return [status_of(answers[-1])]

    @row("players who change in one of them")
    def paging_notes(self):
        return self.run_unit("test_service_paging", "a_ranking_that_changes_too_much_is_let_go")

    @row("verdicts in one request")
    def verdicts(self):
        return [status_of(self.serve().post("/v1/reviews", {"verdict": "promote", "ids": [str(i) for i in range(101)]}))]

    @row("a note on a player")
    def note(self):
        return [status_of(self.serve().post("/v1/players/ada/notes", {"note": "x" * 1025}))]

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

    @row("requests from one address")
    def address_rate(self):
        server = self.serve("--rates-address", "3/m")
        for _ in range(3):
            self.check(server.get("/v1/boards"), 200)
        with Connection(server.resp) as c:
            return [status_of(server.get("/v1/boards")), error(c.call("DBSIZE"))]

    @row("submissions from one address")
    def address_submissions(self):
        server = self.board("--rates-address-submissions", "2/m")
        for i in range(2):
            self.assertEqual(self.post(server, {"player": f"p{i}", "score": i}), "200 None")
        with Connection(server.resp) as c:
            return [self.post(server, {"player": "q", "score": 9}), error(c.call("RUNG.SUBMIT", "race", "r", 9))]

    # ---- servers that share a log: without brokers, by the unit tests of what holds the limit ----

    def run_unit(self, program, name):
        run = subprocess.run([BUILD / "tests" / program, name], capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertEqual((run.returncode, "1 passed" in run.stdout), (0, True), run)
        return []

    @row("records that `latest=true` adds to a shared log")
    def reads_of_the_end(self):
        return self.run_unit("test_service_hub_cluster", "reads_of_the_end_add_few_records")

    @row("servers that share a log")
    def many_servers(self):
        return self.run_unit("test_service_nodes", "more_servers_than_there_is_room_for")

    @row("trusted proxies")
    def trusted_proxies(self):
        run = rung("serve", "--http", "127.0.0.1:0", "--resp", "off", "--trusted-proxies", ",".join(f"10.0.0.{i}" for i in range(65)))
        self.assertIn("trusted_proxies: more than 64 entries", run.stderr)
        return []

    @row("a PROXY header")
    def proxy_header(self):
        server = self.serve("--trusted-proxies", "127.0.0.1", "--proxy-protocol", "on")
        with socket.create_connection(server.http, timeout=WAIT) as s:
            s.sendall(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x08\x01")
            self.assertEqual(wait_closed(s), b"")
        return []

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

    # ---- connections ----

    @row("open connections")
    def connections(self):
        server = self.serve("--limits-connections", "8", "--metrics", "off")
        crowd = [server.connect() for _ in range(8)]
        for s in crowd:
            self.addCleanup(s.close)
        refused = until(lambda: (a := server.get("/v1/boards")).status == 503 and a, "no place")
        with Connection(server.resp) as c:
            return [status_of(refused), error(c.read())]

    @row("connections from one address")
    def address(self):
        server = self.serve("--limits-connections-per-address", "2")
        for _ in range(2):
            s = server.connect()
            self.addCleanup(s.close)
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            s.recv(1)
        with Connection(server.resp) as c:
            return [status_of(server.get("/v1/boards")), error(c.read())]

    @row("time for a body")
    def body_time(self):
        server = self.board("--limits-body-timeout", "100ms")
        return [first_status(server.raw(self.half_body()))]

    @row("all of the time for a body")
    def body_deadline(self):
        server = self.board("--limits-body-deadline", "100ms")
        return [first_status(server.raw(self.half_body()))]

    @staticmethod
    def half_body():
        return b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"

    @row("a connection between two requests")
    def idle(self):
        server = self.serve("--limits-idle-timeout", "100ms")
        with server.connect() as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            got = wait_closed(s)
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)
        return ["closed"]

    @row("time until AUTH")
    def auth_time(self):
        server = self.serve("--limits-auth-timeout", "100ms")
        server.key("admin")
        with Connection(server.resp) as c:
            return [error(c.read())]

    @row("time for a command")
    def command_time(self):
        server = self.serve("--limits-command-timeout", "100ms")
        return [self.say(server, b"*2\r\n$4\r\nPI")]

    @row("an idle transaction")
    def idle_transaction(self):
        server = self.serve("--limits-idle-timeout", "100ms")
        return [self.say(server, encode(["MULTI"]), 2)]

    # ---- shared rooms ----

    @row("changes that wait for the disk")
    def waiting(self):
        server = self.board("--limits-waiting", "16")
        body = b'{"player":"p","score":1}'
        post = b"POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        crowd = [server.connect() for _ in range(60)]
        for s in crowd:
            self.addCleanup(s.close)

        def flood():
            for s in crowd:
                s.sendall(post)
            for s in crowd:
                got = b""
                while not (answers := parse_answers(got)[0]):
                    got += s.recv(65536)
                if answers[0][0] != 200:
                    return first_status(got)
            return None
        return [until(flood, "a refusal")]

    @row("batches in progress")
    def batches(self):
        server = self.board()
        start = b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        for _ in range(128):
            s = server.connect()
            self.addCleanup(s.close)
            s.sendall(start)
            s.recv(4096)  # it has begun
        return [status_of(server.post("/v1/scores", b"", headers=NDJSON))]

    @row("a batch that sends nothing")
    def silent(self):
        server = self.board("--limits-body-timeout", "100ms")
        got = server.raw(b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n")
        problem = re.search(rb'"status":(\d+),"code":"(\w+)"', got)
        return [f"{problem[1].decode()} {problem[2].decode()}"]

    @row("a `min_seq` far ahead")
    def seq_ahead(self):
        return [status_of(self.board().get("/v1/boards/race/top?min_seq=1000000"))]

    @row("a wait for `min_seq`")
    def seq_wait(self):
        return [status_of(self.board().get("/v1/boards/race/top?min_seq=1000"))]

    def watch(self, server, count):
        for i in range(count):
            s = server.connect()
            self.addCleanup(s.close)
            s.sendall(b"GET /v1/boards/race/live?player=p%d&around=1 HTTP/1.1\r\nHost: localhost\r\n\r\n" % i)
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 200"))
        return status_of(server.get("/v1/boards/race/live?player=another&around=1"))

    @row("live viewers")
    def viewers(self):
        return [self.watch(self.board("--live-viewers", "4"), 2)]

    @row("live topics")
    def topics(self):
        return [self.watch(self.board("--live-topics", "4"), 2)]

    @row("bad tokens from one address")
    def bad_tokens(self):
        server = self.serve()
        secret = server.own_folder / "secret"
        secret.write_bytes(SECRET)
        server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
        server.key("admin")
        forged = [token({"sub": "p", "exp": int(time.time()) + 600, "n": i}, secret=b"x" * 32, kid="login") for i in range(1000)]
        connection = server.open()
        self.addCleanup(connection.close)
        for each in forged:
            answer = server.get("/v1/players/me", key=each, connection=connection)
            if answer.status != 401:
                break
        with Connection(server.resp) as c:
            return [status_of(answer), error(c.call("AUTH", forged[-1]))]

    # ---- time and memory ----

    @row("a time ahead of now")
    def at_ahead(self):
        server, at = self.board(), int(time.time() * 1000) + 120000
        with Connection(server.resp) as c:
            return [self.post(server, {"player": "p", "score": 1, "at": at}), error(c.call("RUNG.SUBMIT", "race", "p", 1, "AT", at))]

    @row("an id dated ahead of now")
    def id_ahead(self):
        server, ms = self.board(), int(time.time() * 1000) + 120000
        uuid = f"{ms >> 16:08x}-{ms & 0xffff:04x}-7000-8000-000000000000"
        return [self.post(server, {"player": "p", "score": 1, "id": uuid})]

    @row("memory of players and rankings")
    def memory(self):
        server = self.board("--memory-max", "1MiB")
        with Connection(server.resp) as c:
            until(lambda: str(c.call("ZADD", "many", *[w for i in range(500) for w in (i, f"{os.urandom(8).hex()}{i}")]).value).startswith("OOM"),
                  "no memory")
            refused = until(lambda: (a := server.post("/v1/boards/race/scores", {"player": os.urandom(8).hex(), "score": 1})).status != 200 and a, "")
            return [status_of(refused), error(c.call("ZADD", "many", 1, "x"))]

    # ---- work ----

    @row("members that one command looks at")
    def work(self):
        server = self.serve("--limits-work", "1000")
        with Connection(server.resp) as c:
            for key in ("a", "b"):
                c.call("ZADD", key, *[w for i in range(900) for w in (i, f"m{i}")])
            return [re.sub(r"\d+", "N", error(c.call("ZUNION", 2, "a", "b")))]

    @row("keys of a blocking command")
    def blocked_keys(self):
        return [self.say(self.serve(), encode(["BZPOPMIN", *[f"k{i}" for i in range(1025)], 0]))]

    @row("a pattern")
    def pattern(self):
        return [self.say(self.serve(), encode(["KEYS", "*" * 257]))]

    @row("one key named again in a store")
    def named_again(self):
        return [self.say(self.serve(), encode(["ZUNIONSTORE", "sum", 5, *["a"] * 5]))]

    @row("bytes of a transaction")
    def transaction_bytes(self):
        with Connection(self.serve().resp) as c:
            replies = c.pipeline([["MULTI"]] + [["PING", "x" * 1000000]] * 5)
            return [error(replies[-1])]

    @row("bytes of a reader's transaction")
    def reader_transaction(self):
        server = self.serve()
        key = server.key("read")
        with Connection(server.resp) as c:
            replies = c.pipeline([["AUTH", key], ["MULTI"]] + [["PING", "x" * 40000]] * 2)
            return [error(replies[-1])]


if __name__ == "__main__":
    unittest.main()
