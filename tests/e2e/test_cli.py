#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release
"""The rung command from outside: the examples of docs/cli.md, exit codes, help, and what must never happen."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from pages import run_page

SOURCE = pathlib.Path(os.environ["RUNG_SOURCE"])
BUILD = pathlib.Path(os.environ["RUNG_BUILD"])
ENV = {**os.environ, "PATH": f"{BUILD}:{BUILD}/examples:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
COMMANDS = ["demo", "status", "snapshot", "backup", "restore", "join", "log cat", "log verify", "log repair", "log copy", "log skip", "sql"]


def rung(*args, stdin="", **more):
    return subprocess.run([BUILD / "rung", *args], input=stdin, capture_output=True, text=True, env=ENV, timeout=120, **more)


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name="data"):
        path = self.folder / name
        subprocess.run([BUILD / "examples/persistent", path], check=True, stdout=subprocess.DEVNULL)
        return str(path)

    def check(self, run, code, err=None):
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        if err is not None:
            self.assertIn(err, run.stderr)
        return run.stdout

    def test_examples_of_the_page(self):
        self.assertGreater(run_page(self, "docs/cli.md", self.folder), 45)

    def test_the_page_says_how_to_get_its_programs(self):
        """Whatever the page runs that neither rung nor the system brings, it tells to build, by a target that there is."""
        page = (SOURCE / "docs/cli.md").read_text()
        targets = re.findall(r"^    ninja -C build/release (\S+) &&", page, re.M)
        programs = {p.name for p in (BUILD / "examples").iterdir() if p.is_file() and os.access(p, os.X_OK)}
        used = programs & set(re.findall(r"^\$ (\w+)", page, re.M))
        self.assertEqual({f"example_{name}" for name in used}, set(targets))
        known = subprocess.run(["cmake", "--build", BUILD, "--target", "help"], capture_output=True, text=True).stdout
        for target in targets:
            self.assertRegex(known, rf"(?m)^{target}: ")

    def test_help(self):
        overview = self.check(rung(), 0)
        self.assertEqual(overview, rung("help").stdout)
        self.assertEqual(overview, rung("--help").stdout)
        for name in COMMANDS:
            words = name.split()
            self.assertIn(f"  {name}", overview)
            text = self.check(rung("help", *words), 0)
            self.assertIn(f"usage: rung {name}", text)
            self.assertEqual(text, rung(*words, "--help").stdout)
            self.assertTrue(all(len(line) <= 130 for line in text.splitlines()), name)
        for group in sorted({name.split()[0] for name in COMMANDS if " " in name}):
            for word in ("--help", "-h"):
                text = self.check(rung(group, word), 0)
                self.assertEqual(text, rung("help", group).stdout)
                self.assertIn(f"  {group} ", text)
        self.assertRegex(self.check(rung("--version"), 0), r"\Arung \d+\.\d+\.\d+\n\Z")

    def test_wrong_usage_is_2_and_says_why(self):
        data = self.make()
        for args, why in [
            (["nonsense"], 'no command "nonsense"'), (["log"], "which one?"), (["log", "nonsense"], "which one?"),
            (["help", "nonsense"], "no command"), (["log", "cat"], "DIR is missing"),
            (["log", "cat", data, "more"], "one word too many"), (["log", "cat", data, "--nonsense"], "no option"),
            (["log", "cat", data, "--from"], "needs a value"), (["log", "cat", data, "--from", "-1"], "whole number"),
            (["log", "cat", data, "--from=99999999999999999999"], "whole number"),
            (["log", "cat", data, "--json", "--json"], "twice"), (["log", "cat", data, "--json=1"], "takes no value"),
            (["log", "cat", data, "--kind", "nonsense"], "no kind"), (["backup", data], "TO is missing"),
            (["serve", "--http", "127.0.0.1:99999"], "--http: expected ADDR:PORT"),
            (["serve", "--snapshot-every", "64KiB"], '--snapshot-every: expected a size such as 64MiB or 1GiB, from 1MiB on, or off, not "64KiB"'),
            (["board", "create", "x", "--decimals", "10"], "--decimals: expected 0 to 9"),
            (["board", "create", "x", "--half-life", "1d"], "--half-life: expected seconds"),
        ]:
            run = rung(*args)
            self.check(run, 2, why)
            self.assertEqual(run.stdout, "", args)

    def test_keys_of_a_folder_that_is_not_there(self):
        absent = self.folder / "absent"
        self.check(rung("keys", "list", "--data", absent), 1, "absent")
        self.check(rung("keys", "revoke", "k", "--data", absent), 1, "absent")
        self.assertFalse(absent.exists())

    def test_looking_changes_nothing(self):
        data = self.make()
        before = {p.name: p.read_bytes() for p in pathlib.Path(data).iterdir()}
        for args in [("status", data), ("log", "cat", data), ("log", "verify", data), ("log", "repair", data)]:
            self.check(rung(*args), 0)
        self.assertEqual(before, {p.name: p.read_bytes() for p in pathlib.Path(data).iterdir()})
        for args in [("status",), ("log", "cat"), ("log", "verify"), ("log", "repair"), ("snapshot",)]:
            self.check(rung(*args, str(self.folder / "absent")), 1, "absent")
            (self.folder / "empty").mkdir(exist_ok=True)
            self.check(rung(*args, str(self.folder / "empty")), 1, "holds no log")
        self.assertFalse((self.folder / "absent").exists())
        self.assertEqual(list((self.folder / "empty").iterdir()), [])

    def test_json_is_json(self):
        data, copy = self.make(), str(self.folder / "copy")
        status = json.loads(self.check(rung("status", data, "--json"), 0))
        self.assertEqual((status["seq"], status["state"]["players"], status["snapshots"]), (7, 2, [6]))
        self.assertNotIn("state", json.loads(rung("status", data, "--json", "--quick").stdout))
        lines = [json.loads(line) for line in self.check(rung("log", "cat", data, "--json"), 0).splitlines()]
        self.assertEqual([line["seq"] for line in lines], [1, 2, 3, 4, 5, 6, 7])
        verified = json.loads(self.check(rung("log", "verify", data, "--json"), 0))
        self.assertEqual((verified["ok"], verified["records"], verified["damage"]), (True, 7, 0))
        self.assertEqual(json.loads(self.check(rung("backup", data, copy, "--json"), 0))["last_seq"], 7)
        back = str(self.folder / "back")
        self.assertEqual(json.loads(self.check(rung("restore", copy, back, "--json"), 0))["records"], 7)
        self.assertEqual(json.loads(rung("status", back, "--json").stdout)["state"]["digest"], status["state"]["digest"])
        self.assertEqual(json.loads(self.check(rung("snapshot", data, "--json"), 0)), {"written": True, "seq": 7})
        self.assertEqual(json.loads(self.check(rung("snapshot", data, "--json"), 0)), {"written": False, "seq": 7})
        self.assertFalse(json.loads(self.check(rung("log", "repair", data, "--json"), 0))["needed"])

    def test_filters(self):
        data = self.make()
        def seqs(*args):
            return [json.loads(line)["seq"] for line in self.check(rung("log", "cat", data, "--json", *args), 0).splitlines()]
        self.assertEqual(seqs("--from", "2", "--to", "3"), [2, 3])
        self.assertEqual(seqs("--board", "loyalty", "--kind", "board-defined"), [2])
        self.assertEqual(seqs("--board", "other"), [])
        self.assertEqual(seqs("--player=ada", "--to=5"), [3, 5])
        self.assertEqual(seqs("--from", "100"), [])

    def test_restore_to_a_sequence(self):
        data, copy = self.make(), str(self.folder / "copy")
        self.check(rung("backup", data, copy), 0)
        for seq in range(1, 8):
            to = str(self.folder / f"to-{seq}")
            self.check(rung("restore", copy, to, "--to-seq", str(seq)), 0)
            self.assertEqual(json.loads(rung("status", to, "--json").stdout)["state"]["seq"], seq)
        late = self.folder / "late"
        self.check(rung("restore", copy, str(late), "--to-seq", "8"), 1, "ends at sequence 7")
        self.assertEqual(list(late.iterdir()), [], "a failed restore leaves nothing that looks like a log")
        self.check(rung("restore", data, str(late)), 1)
        self.check(rung("backup", data, copy), 1, "not empty")

    def test_beside_a_process_that_writes(self):
        """The worker of the crash test has the folder open and takes submissions all the while."""
        data = str(self.folder / "busy")
        with subprocess.Popen([BUILD / "tests/test_crash_process_kill", "--worker", data, "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
            worker.stdout.read(24) # it is ready
            stop = threading.Event()
            def load():
                number = 0
                while not stop.is_set():
                    worker.stdin.write(struct.pack("=16Q", *range(number, number + 16)))
                    worker.stdin.flush()
                    worker.stdout.read(16 * 24)
                    number += 16
                    time.sleep(0.002)
            thread = threading.Thread(target=load)
            thread.start()
            try:
                self.assertEqual(json.loads(self.check(rung("status", data, "--json"), 0))["in_use_by"], worker.pid)
                for i in range(5):
                    copy, back = str(self.folder / f"copy-{i}"), str(self.folder / f"back-{i}")
                    seq = json.loads(self.check(rung("backup", data, copy, "--json"), 0))["last_seq"]
                    self.check(rung("log", "verify", copy, "--quiet"), 0)
                    self.check(rung("restore", copy, back), 0)
                    self.assertEqual(json.loads(rung("status", back, "--json").stdout)["state"]["seq"], seq)
                    self.check(rung("log", "cat", data, "--kind", "board-defined"), 0)
                self.check(rung("log", "verify", data), 0)
                self.check(rung("snapshot", data), 1, f"in use by another process (pid {worker.pid})")
                self.check(rung("log", "repair", data, "--accept-loss"), 1, "in use")
            finally:
                stop.set()
                thread.join()
                worker.stdin.close()
            self.assertEqual(worker.wait(timeout=60), 0)
        self.assertIsNone(json.loads(self.check(rung("status", data, "--json"), 0))["in_use_by"])

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([BUILD / "rung", "help"], stdout=full, stderr=subprocess.PIPE, text=True, env=ENV)
        self.assertEqual((run.returncode, run.stderr), (1, "rung: cannot write the output\n"))


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
