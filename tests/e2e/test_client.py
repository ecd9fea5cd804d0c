#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""The command line client against a real server: answers, exit codes, keys, imports that are broken off, Redis, export, watch."""
import csv
import io
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import BUILD, RUNG, WAIT, ServerTest, until


class Client(ServerTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-client-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = self.serve()
        self.url = "http://%s:%d" % self.server.http

    def env(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("RUNG_")}
        return {**clean, "RUNG_URL": self.url, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}

    def rung(self, *args, code=0, err=None, stdin="", **env):
        run = subprocess.run([RUNG, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=WAIT, env=self.env(**env),
                             cwd=self.folder)
        self.assertEqual(run.returncode, code, f"{args}: {run.stdout}{run.stderr}")
        if err is not None:
            self.assertIn(err, run.stderr)
        self.assertNotIn("\033", run.stdout + run.stderr)
        return run.stdout

    def top(self, board, limit=1000):
        return [(e["player"], e["score"]) for e in self.server.get(f"/v1/boards/{board}/top?limit={limit}").json["entries"]]

    # ---- asking ----

    def test_exit_codes(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))  # taken, and nobody listens
            nobody = f"http://127.0.0.1:{s.getsockname()[1]}"
            for args in [("top", "x"), ("submit", "x", "a", "1"), ("board", "list"), ("status",), ("export", "x"), ("watch", "x"),
                         ("demo",), ("player", "set", "a", "b=c")]:
                self.rung(*args, "--url", nobody, code=3, err="cannot reach")
        self.rung("top", "absent", code=1, err="404 board_not_found")
        self.rung("top", "x", "--url", "ftp://x", code=2, err="--url")
        self.rung("top", "x", "--limit", "0", code=2, err="--limit")
        self.rung("player", "set", "a", "b", code=2, err="NAME=VALUE")
        self.rung("import", code=2, err="FILE or --redis")
        self.rung("import", "a.txt", code=2, err="--format")
        self.rung("import", "absent.csv", code=1, err="cannot open")
        self.rung("watch", "x", "--limit", "101", code=2)
        self.rung("demo", "--players", "3", code=2)

    def test_json_is_the_answer(self):
        self.rung("board", "create", "race", "--json")
        self.assertEqual(json.loads(self.rung("submit", "race", "ada", "5", "--json"))["rank"], 1)
        self.assertEqual(json.loads(self.rung("top", "race", "--json")), self.server.get("/v1/boards/race/top").json)
        self.assertEqual(json.loads(self.rung("rank", "race", "ada", "--json"))["entry"]["score"], 5)
        self.assertEqual(json.loads(self.rung("board", "show", "race", "--json"))["id"], "race")
        self.assertEqual(json.loads(self.rung("board", "list", "--json"))["boards"][0]["id"], "race")
        self.assertEqual(json.loads(self.rung("player", "show", "ada", "--json"))["player"], "ada")
        status = json.loads(self.rung("status", "--json"))
        self.assertEqual((status["ready"], status["rung_boards"]), (True, 1))

    def test_names_of_any_kind(self):
        board, player = "a/b ?#%", "ä \"x\", y&z=1"
        self.rung("board", "create", board)
        self.rung("submit", board, player, "-7")
        self.rung("player", "set", player, "name=O'Neill, \"Shaq\"", "country=ÅÄ")
        self.assertIn("-7", self.rung("top", board, "--limit", "1"))
        self.assertEqual(self.server.get("/v1/boards/a%2Fb%20%3F%23%25/top").json["entries"][0]["player"], player)
        self.assertIn("name", self.rung("player", "show", player))
        self.rung("player", "set", player, "country=")
        self.assertEqual(json.loads(self.rung("player", "show", player, "--json"))["profile"], {"name": "O'Neill, \"Shaq\""})
        rows = list(csv.DictReader(io.StringIO(self.rung("export", board))))
        self.assertEqual((rows[0]["player"], rows[0]["score"]), (player, "-7"))

    def test_columns(self):
        self.rung("board", "create", "lap", "--file", "-",
                  stdin=json.dumps({"columns": [{"name": "time", "type": "decimal", "decimals": 2, "order": "asc"}]}))
        self.rung("submit", "lap", "ada", "5", "--columns", "time=1.25")
        self.rung("import", "-", "--format", "csv", "--board", "lap", stdin="time,player,score\n1.20,bob,5\n")
        self.assertEqual([p for p, _ in self.top("lap")], ["bob", "ada"])
        out = self.rung("export", "lap")
        self.assertEqual(out.splitlines()[0], "rank,player,score,time,at")
        self.assertIn("5 / 1.2", self.rung("top", "lap"))

    def test_tables(self):
        self.rung("board", "create", "laps", "--decimals", "3", "--order", "asc", "--tie", "player_desc")
        for player, score in (("ada", "12.3"), ("bob", "10.999"), ("cleo", "1100"), ("evil\u202e", "9")):
            self.rung("submit", "laps", player, score)
        out = self.rung("top", "laps")
        self.assertEqual(len({line.index(".") for line in out.splitlines() if " ada " in line or " bob " in line}), 1, out)
        self.assertRegex(out, r"(?m)^ +4 +cleo +1,100     ")
        self.assertNotIn("\u202e", out)
        self.assertIn(r'"evil\xe2\x80\xae"', out)
        self.rung("player", "friends", "ada", "--add", "bob")
        out = self.rung("player", "friends", "ada", "--board", "laps")
        self.assertIn("laps: 2 of 4 entries\n", out)
        self.rung("board", "create", "whole", "--decimals", "0")
        self.assertEqual(self.server.get("/v1/boards/whole").json["score"]["decimals"], 0)
        run = subprocess.run([RUNG, "submit", "laps", "ada", "1.5", "--columns", "x=1", "--at", "never"], capture_output=True, text=True, env=self.env())
        self.assertEqual(run.returncode, 1)
        self.assertNotIn("(byte", run.stderr)

    def test_boards_are_deleted_only_when_meant(self):
        self.rung("board", "create", "race")
        self.rung("board", "delete", "race", code=1, err="--yes")
        self.assertEqual(self.server.get("/v1/boards/race").status, 200)
        self.rung("board", "delete", "race", "--yes")
        self.assertEqual(self.server.get("/v1/boards/race").status, 404)

    def test_keys(self):
        admin = self.server.key("admin")
        self.rung("board", "create", "race", code=1, err="401")
        (self.folder / "key").write_text(admin + "\n")
        self.rung("board", "create", "race", "--key-file", "key")
        self.rung("submit", "race", "ada", "1", RUNG_KEY=admin)
        self.rung("submit", "race", "ada", "2", RUNG_KEY_FILE=str(self.folder / "key"))
        self.rung("submit", "race", "ada", "2", code=1, err="403", RUNG_KEY=self.server.key("read"))
        self.rung("top", "race", "--key-file", "absent", code=1, err="cannot open")
        (self.folder / "empty").write_text("\n")
        self.rung("top", "race", "--key-file", "empty", code=2, err="no key")
        self.rung("top", "race", "--key", admin, code=2, err="no option")
        self.rung("top", "race", code=2, err="characters", RUNG_KEY="a\x01b")

    def test_unix_socket(self):
        path = self.folder / "http.sock"
        self.serve("--http", f"unix:{path}", "--resp", "off", start=False).start(wait=False)
        until(lambda: path.exists(), "the socket")
        until(lambda: subprocess.run([RUNG, "status", "--ready", "--url", f"unix:{path}"], env=self.env()).returncode == 0, "ready")
        self.rung("board", "create", "race", "--url", f"unix:{path}")

    def test_tls(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], cwd=self.folder, check=True, capture_output=True)
        server = self.serve("--tls-cert", self.folder / "cert.pem", "--tls-key", self.folder / "key.pem")
        url = "https://%s:%d" % server.http
        self.rung("board", "create", "race", "--url", url, code=3, err="cannot reach")
        self.rung("board", "create", "race", "--url", url, "--ca-file", "cert.pem")
        self.rung("board", "show", "race", RUNG_URL=url, RUNG_CA_FILE=str(self.folder / "cert.pem"))
        self.rung("board", "list", "--url", url.replace("https", "http"), code=3)

    # ---- import ----

    def make_csv(self, count, name="in.csv"):
        rng = random.Random(count)
        totals = {}
        with open(self.folder / name, "w") as f:
            f.write("player,delta\n")
            for i in range(count):
                player, points = f"p{rng.randrange(50)}", rng.randrange(1, 1000)
                totals[player] = totals.get(player, 0) + points
                f.write(f"{player},{points}\n")
        return sorted(totals.items(), key=lambda x: (-x[1], x[0]))

    def sums(self):
        return sorted(self.top("sum"), key=lambda x: (-x[1], x[0]))

    def test_an_import_that_is_killed_goes_on(self):
        self.server.put("/v1/boards/sum", {"update": "sum"})
        wanted = self.make_csv(4000)
        rng = random.Random(7)
        for _ in range(4):
            child = subprocess.Popen([RUNG, "import", "in.csv", "--board", "sum", "--batch", "20"], env=self.env(), cwd=self.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.1)
            child.kill()
            child.wait()
        self.rung("import", "in.csv", "--board", "sum")
        self.assertEqual(self.sums(), wanted)
        self.assertIn("nothing to do", self.rung("import", "in.csv", "--board", "sum"))
        self.assertEqual(self.sums(), wanted)

    def test_an_import_whose_state_is_behind_or_lost_counts_nothing_twice(self):
        self.server.put("/v1/boards/sum", {"update": "sum"})
        wanted = self.make_csv(500)
        self.rung("import", "in.csv", "--board", "sum", "--batch", "100")
        state = self.folder / "in.csv.rung-import"
        text = state.read_text()
        self.assertIn("line 501", text)
        state.write_text(text.replace(next(l for l in text.splitlines() if l.startswith("offset")), "offset 13")
                         .replace("line 501", "line 1"))
        self.rung("import", "in.csv", "--board", "sum")
        self.assertEqual(self.sums(), wanted)
        state.unlink()
        out = json.loads(self.rung("import", "in.csv", "--board", "sum", "--json"))
        self.assertEqual((out["accepted"], out["duplicate"]), (0, 500))
        self.assertEqual(self.sums(), wanted)
        self.rung("import", "in.csv", "--board", "sum", "--restart")
        self.assertEqual(self.sums(), [(p, 2 * s) for p, s in wanted])

    def test_a_file_that_grew_and_one_that_is_another(self):
        made = self.server.put("/v1/boards/sum", {"update": "sum"})
        self.assertIn(made.status, (200, 201), made)
        path = self.folder / "in.csv"
        path.write_text("player,delta\nada,1\n")
        self.rung("import", path, "--board", "sum")
        with open(path, "a") as f:
            f.write("ada,10\n")
        self.rung("import", path, "--board", "sum")
        self.assertEqual(self.sums(), [("ada", 11)])
        path.write_text("player,delta\nbob,1\nbob,2\nbob,3\n")
        self.rung("import", path, "--board", "sum", code=1, err="another file")
        path.with_suffix(".csv.rung-import").write_text("nonsense")
        self.rung("import", path, "--board", "sum", code=1, err="not the state file")

    def test_corrected_lines_are_imported_again(self):
        self.server.put("/v1/boards/sum", {"update": "sum"})
        path = self.folder / "in.csv"
        path.write_text("player,delta\nada,5\nbob,x\ncleo\ndan,4\n")
        out = self.rung("import", path, "--board", "sum", code=1, err="line 3: delta: not a number")
        self.assertRegex(out, r"\A4 scores in .*in total 2 accepted, 0 known before, 2 refused\n\Z")
        self.assertIn("2 scores counted, 2 were refused", self.rung("import", path, "--board", "sum", code=1))
        path.write_text("player,delta\nada,5\nbob,6\ncleo,7\ndan,4\n")
        self.rung("import", path, "--board", "sum", code=1, err="--again")
        out = self.rung("import", path, "--board", "sum", "--again")
        self.assertIn("in total 2 accepted, 2 known before, 0 refused", out)
        self.assertEqual(sorted(self.sums()), [("ada", 5), ("bob", 6), ("cleo", 7), ("dan", 4)])
        self.assertIn("nothing to do", self.rung("import", path, "--board", "sum"))
        self.rung("import", path, "--board", "sum", "--again", "--restart", code=2, err="--again or --restart")

    def test_what_is_refused_is_told_with_its_line(self):
        self.server.put("/v1/boards/race", {})
        path = self.folder / "in.ndjson"
        path.write_text('{"board":"race","player":"ada","score":1}\n{"board":"absent","player":"ada","score":1}\nnonsense\n'
                        '\n{"board":"race","player":"bob","score":1.5}\n{"board":"race","player":"cleo","score":2,"rank":7}\n')
        run = subprocess.run([RUNG, "import", path], capture_output=True, text=True, env=self.env())
        self.assertEqual(run.returncode, 1)
        for text in ["line 2: board", "line 3: expected a JSON object", "line 5: score"]:
            self.assertIn(text, run.stderr)
        self.assertEqual(self.top("race"), [("cleo", 2), ("ada", 1)])
        self.rung("import", "-", "--format", "csv", "--board", "race", code=1, err="names of the fields", stdin="name,points\nada,5\n")
        self.rung("import", "-", "--format", "csv", "--board", "race", code=1, err="line 2: the quote", stdin='player,score\n"ada,5\n')
        self.rung("import", "-", "--format", "csv", "--board", "race", code=1, err="line 3: a different number of fields",
                  stdin="player,score\ndan,3\neve\n")
        self.assertEqual(len(self.top("race")), 3)

    def test_export_is_import(self):
        self.server.put("/v1/boards/race", {"score": {"type": "decimal", "decimals": 2}})
        self.server.put("/v1/boards/copy", {"score": {"type": "decimal", "decimals": 2}})
        self.server.put("/v1/boards/again", {"score": {"type": "decimal", "decimals": 2}})
        rng = random.Random(3)
        lines = "".join(json.dumps({"board": "race", "player": f"p,{i}\"", "score": rng.randrange(10000) / 4}) + "\n" for i in range(2500))
        self.rung("import", "-", "--format", "ndjson", stdin=lines)
        self.rung("export", "race", "--output", "a.csv")
        self.rung("export", "race", "--format", "ndjson", "--output", "a.ndjson")
        self.rung("import", "a.csv", "--board", "copy")
        self.rung("import", "a.ndjson", "--board", "again")
        first = self.rung("export", "race")
        self.assertEqual(len(first.splitlines()), 2501)
        self.assertEqual(first, self.rung("export", "copy"))
        self.assertEqual(first, self.rung("export", "again"))
        self.rung("export", "race", "--output", "absent/x", code=1, err="cannot open")

    # ---- from Redis ----

    def redis(self):
        if not shutil.which("redis-server"):
            self.skipTest("no redis-server")
        path = self.folder / "redis.sock"
        child = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.folder],
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        until(lambda: subprocess.run(["redis-cli", "-s", path, "PING"], capture_output=True).returncode == 0, "redis")
        return path

    def redis_cli(self, path, *words, stdin=None):
        return subprocess.run(["redis-cli", "-s", path, *words], input=stdin, capture_output=True, text=True, check=True, timeout=WAIT).stdout

    def test_redis(self):
        path = self.redis()
        rng = random.Random(5)
        members = {f"player:{i:06d}": rng.choice([rng.randrange(-50, 50), rng.random() * 1e9, rng.random() * 1e-5]) for i in range(9000)}
        for key, listpack in (("large", "128"), ("packed", "1000000")):
            self.redis_cli(path, "CONFIG", "SET", "zset-max-listpack-entries", listpack)
            self.redis_cli(path, stdin="".join(f"ZADD {key} {s!r} {m}\n" for m, s in members.items()))
            self.rung("import", "--redis", f"unix:{path}", "--redis-key", key, "--board", key, "--create")
            wanted = [(m, float(s)) for m, s in sorted(members.items(), key=lambda x: (-x[1], x[0]))]
            got = [(r["player"], float(r["score"])) for r in csv.DictReader(io.StringIO(self.rung("export", key)))]
            self.assertEqual(got, wanted)
        self.server.put("/v1/boards/sum", {"update": "sum", "score": {"type": "real"}, "tie": "player"})
        for _ in range(2):
            self.rung("import", "--redis", f"unix:{path}", "--redis-key", "large", "--board", "sum", "--state", "state")
        self.assertEqual(self.rung("export", "sum").splitlines()[1].split(",")[1:3], [wanted[0][0], repr(wanted[0][1])])
        self.rung("import", "--redis", f"unix:{path}", "--redis-key", "absent", "--board", "large", code=1, err="no such sorted set")
        self.redis_cli(path, "SET", "text", "x")
        self.rung("import", "--redis", f"unix:{path}", "--redis-key", "text", "--board", "large", code=1, err="WRONGTYPE")
        self.redis_cli(path, "CONFIG", "SET", "requirepass", "sesame")
        self.rung("import", "--redis", f"unix:{path}", "--redis-key", "large", "--board", "large", code=1, err="NOAUTH")
        self.rung("import", "--redis", f"unix:{path}", "--redis-key", "large", "--board", "large", REDISCLI_AUTH="sesame")

    # ---- watch, demo ----

    def test_watch(self):
        self.server.put("/v1/boards/race", {})
        self.server.post("/v1/boards/race/scores", {"player": "ada", "score": 5})
        child = subprocess.Popen([RUNG, "watch", "race"], stdout=subprocess.PIPE, env=self.env())
        self.addCleanup(child.kill)
        seen = b""
        while b"ada" not in seen:
            seen += os.read(child.stdout.fileno(), 65536)
        self.server.post("/v1/boards/race/scores", {"player": "bob", "score": 9})
        while b"bob" not in seen:
            seen += os.read(child.stdout.fileno(), 65536)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(WAIT), 0)
        child.stdout.close()
        self.assertIn("▲ new  bob".encode(), seen)
        self.assertNotIn(b"\033", seen)
        lines = self.rung("watch", "race", "--json", "--seconds", "1").splitlines()
        self.assertEqual(json.loads(lines[0])["entries"][0]["player"], "bob")

    def on_terminal(self, *args, **env):
        leader, follower = pty.openpty()
        with subprocess.Popen([RUNG, *args], stdin=follower, stdout=follower, stderr=follower, env=self.env(**env)) as child:
            os.close(follower)
            seen = b""
            while select.select([leader], [], [], WAIT)[0]:
                try:
                    seen += os.read(leader, 65536)
                except OSError:
                    break
            self.assertEqual(child.wait(WAIT), 0, seen)
        os.close(leader)
        return seen

    def test_colours_on_a_terminal_only(self):
        self.server.put("/v1/boards/race", {})
        self.server.post("/v1/boards/race/scores", {"player": "ada", "score": 5})
        self.assertIn(b"\033[1m", self.on_terminal("top", "race"))
        self.assertNotIn(b"\033", self.on_terminal("top", "race", NO_COLOR="1"))

    def test_demo(self):
        out = self.rung("demo", "--players", "30", "--rate", "200", "--seconds", "2")
        self.assertIn("arena, sprint, puzzle, trending and duels", out)
        boards = ("arena", "sprint", "puzzle", "trending", "duels")
        self.assertEqual({b["id"] for b in self.server.get("/v1/boards").json["boards"]}, set(boards))
        for board in boards:
            self.assertGreater(self.server.get(f"/v1/boards/{board}/top").json["total"], 5, board)
        self.assertGreater(len(self.server.get("/v1/boards/arena/teams").json["entries"]), 1)
        self.assertGreater(self.server.get("/v1/boards/duels/top").json["entries"][0]["rating"]["games"], 1)
        self.rung("demo", "--players", "30", "--seconds", "1")  # once more on the same boards


class Shells(unittest.TestCase):
    """Help in other forms."""

    def script(self, shell):
        return subprocess.run([RUNG, "completion", shell], capture_output=True, text=True, check=True).stdout

    def complete(self, *words):
        lines = f"{self.script('bash')}\nCOMP_WORDS=({' '.join(repr(w) for w in words)})\nCOMP_CWORD={len(words) - 1}\n_rung\necho \"${{COMPREPLY[@]}}\""
        env = {**os.environ, "PATH": f"{os.path.dirname(RUNG)}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True, env=env).stdout.split()

    def test_bash(self):
        self.assertIn("serve", self.complete("rung", ""))
        self.assertEqual(self.complete("rung", "subm"), ["submit"])
        self.assertEqual(self.complete("rung", "board", "cr"), ["create"])
        self.assertIn("--timezone", self.complete("rung", "board", "create", "--t"))
        self.assertEqual(self.complete("rung", "top", "race", "--rank", "s"), ["sparse"])
        self.assertEqual(self.complete("rung", "serve", "--logging-f"), ["--logging-format"])
        self.assertIn("--help", self.complete("rung", "top", "--"))
        self.assertEqual(self.complete("rung", "help", "expo"), ["export"])

    def test_words(self):
        """What the scripts of all shells ask for."""
        def words(*w):
            return subprocess.run([RUNG, "completion", "words", "--", *w], capture_output=True, text=True, check=True).stdout
        self.assertEqual(words("subm"), "submit\tsubmit a score for a player\n")
        self.assertEqual(words("boar"), "board\tseveral commands\n")
        self.assertEqual(words("log", "v"), "verify\tcheck every byte of the log and its snapshots\n")
        self.assertIn("--limit\t", words("top", "race", "--li"))
        self.assertEqual(words("top", "race", "--limit", "--li"), "")  # a value, of which nothing is known
        self.assertEqual(words("top", ""), "")  # left to the shell

    def test_zsh_and_fish(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            text = self.script(shell)
            self.assertIn("completion for rung", text)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w", suffix="." + shell) as f:
                    f.write(text)
                    f.flush()
                    run = subprocess.run([*check, f.name], capture_output=True, text=True)
                    self.assertEqual((run.returncode, run.stderr), (0, ""))
        run = subprocess.run([RUNG, "completion", "tcsh"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)

    def test_man_page(self):
        page = subprocess.run([RUNG, "help", "--man"], capture_output=True, text=True, check=True).stdout
        for text in (".TH RUNG 1", "rung board create", "RUNG_HTTP", "EXIT STATUS"):
            self.assertIn(text, page)
        if shutil.which("groff"):
            run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        if shutil.which("mandoc"):
            run = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True)
            self.assertNotRegex(run.stdout.replace("WARNING: missing date", ""), "WARNING|ERROR")  # no date: builds repeat

    def test_every_command_is_everywhere(self):
        overview = subprocess.run([RUNG], capture_output=True, text=True, check=True).stdout
        page = subprocess.run([RUNG, "help", "--man"], capture_output=True, text=True, check=True).stdout
        names = [line[2:17].strip() for line in overview.splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertGreater(len(names), 25)
        for name in names:
            run = subprocess.run([RUNG, "help", *name.split()], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, name)
            self.assertTrue(all(len(line) <= 130 for line in run.stdout.splitlines()), name)
            self.assertIn(f".SS rung {name}", page)
            self.assertIn(name.split()[-1], self.complete("rung", *name.split()[:-1], ""))


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
