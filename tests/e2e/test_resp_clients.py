#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=no-asan
"""Clients that know nothing of Rung: hiredis, redis-py and node-redis run leaderboard programs (tests/e2e/clients) unchanged, and
say the same as before a real redis-server where there is one.

The last two are fetched into the build folder once; without a network they are skipped."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from resp import Redis
from server import BUILD, SOURCE, ServerTest

CLIENTS = SOURCE / "tests/e2e/clients"
OWN = BUILD / "clients"
WAIT = 240


def fetch(words, **more):
    """Run a package manager; skip the test when it cannot reach its registry."""
    run = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=WAIT, **more)
    if run.returncode:
        raise unittest.SkipTest(f"{words[0]}: {run.stderr[-300:]}")


def hiredis():
    if not shutil.which("pkg-config") or subprocess.run(["pkg-config", "hiredis"]).returncode:
        raise unittest.SkipTest("no hiredis")
    OWN.mkdir(exist_ok=True)
    flags = subprocess.run(["pkg-config", "--libs", "hiredis"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-o", OWN / "leaderboard", CLIENTS / "leaderboard.c", *flags], check=True)
    return [OWN / "leaderboard"]


def redis_py():
    folder = OWN / "python"
    if not (folder / "bin/python").exists():
        fetch([sys.executable, "-m", "venv", folder])
    python = folder / "bin/python"
    if subprocess.run([python, "-c", "import redis"], capture_output=True).returncode:
        fetch([python, "-m", "pip", "install", "--quiet", "redis==5.0.8"])
    return [python, CLIENTS / "leaderboard.py"]


def node_redis():
    if not shutil.which("node") or not shutil.which("npm"):
        raise unittest.SkipTest("no node")
    folder = OWN / "node"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "leaderboard.mjs"):
        shutil.copy(CLIENTS / name, folder)
    if not (folder / "node_modules/redis").exists():
        fetch(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=folder)
    return ["node", folder / "leaderboard.mjs"]


class RedisOnPort(Redis):
    """Clients want a port: ask the system for a free one."""

    def __enter__(self):
        import socket
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.options = ("--bind", "127.0.0.1", "--port", str(self.port))
        return super().__enter__()


class Clients(ServerTest):
    def run_client(self, make, *more):
        OWN.mkdir(exist_ok=True)
        words = [str(w) for w in make()]
        server = self.serve()

        def output(host, port):
            run = subprocess.run([*words, host, str(port), *more], capture_output=True, text=True, timeout=WAIT,
                                 env={**os.environ, "LC_ALL": "C.UTF-8"})
            self.assertEqual(run.returncode, 0, run.stdout[-2000:] + run.stderr[-2000:])
            return run.stdout

        ours = output(*server.resp)
        self.assertGreater(len(ours.splitlines()), 15)
        self.assertEqual(server.stop(), 0)
        if Redis.is_there():
            with RedisOnPort() as redis:
                self.assertEqual(output("127.0.0.1", redis.port), ours)

    def test_hiredis(self):
        self.run_client(hiredis)

    def test_redis_py(self):
        self.run_client(redis_py)

    def test_redis_py_resp3(self):
        self.run_client(redis_py, "3")

    def test_node_redis(self):
        self.run_client(node_redis)


if __name__ == "__main__":
    unittest.main()
