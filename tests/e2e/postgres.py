# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of the test's own, in a temporary folder: Database(). It is None-like where there is none: have()."""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BIN = sorted(glob.glob("/usr/lib/postgresql/*/bin") + [b for b in ["/usr/bin"] if os.path.exists("/usr/bin/initdb")])


def have():
    return bool(BIN)


def identity():
    """PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {p.pw_name for p in pwd.getpwall()}
    who = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


class Database:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-postgres-"))
        self.who, self.process, self.port = identity(), None, None
        self.own(self.folder)
        self.run("initdb", "-D", self.folder / "data", "--no-sync", "-U", "boss", "-A", "trust", "-E", "UTF8", "--locale=C")

    def own(self, path):
        if self.who:
            os.chown(path, self.who["user"], self.who["group"])

    def run(self, program, *args):
        run = subprocess.run([f"{BIN[-1]}/{program}", *map(str, args)], cwd=self.folder, capture_output=True, text=True, **self.who)
        if run.returncode:
            raise AssertionError(f"{program}: {run.stdout}{run.stderr}")
        return run.stdout

    def start(self, *settings):
        """With settings like "ssl=on"; the same ones after a stop."""
        self.settings = settings or getattr(self, "settings", ())
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        words = [f"{BIN[-1]}/postgres", "-D", self.folder / "data", "-k", self.folder, "-p", self.port]
        for setting in ("listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB", *self.settings):
            words += ["-c", setting]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(list(map(str, words)), cwd=self.folder, stdout=log, stderr=log, **self.who)
        deadline = time.monotonic() + 60
        while subprocess.run([f"{BIN[-1]}/pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("PostgreSQL does not start: " + (self.folder / "log").read_text()[-2000:])
            time.sleep(0.02)
        return self

    def stop(self, how=signal.SIGINT):
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
        self.process = None

    def close(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, text, user="boss", database="postgres"):
        """The rows, as lists of texts."""
        out = self.run("psql", "-h", self.folder, "-p", self.port, "-U", user, "-d", database, "-v", "ON_ERROR_STOP=1", "-qAtX",
                       "-F", "\t", "-c", text)
        return [line.split("\t") for line in out.splitlines()]

    def url(self, parameters="", user="rung:s3cret", host=None, database="postgres"):
        where = f"{host}:{self.port}" if host else ""
        extra = [] if host else [f"host={self.folder}", f"port={self.port}"]
        query = "&".join(extra + ([parameters] if parameters else []))
        return f"postgres://{user}@{where}/{database}?{query}"
