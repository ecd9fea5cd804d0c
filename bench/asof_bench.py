#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind `./dev bench asof`: a board is filled, a snapshot taken, and more scores are sent. Then questions with as_of are asked
over HTTP, one at a time: cold ones, each about a moment that nobody asked about before, so that a helper loads the snapshot and replays
the log up to it; and warm ones, about a moment whose helper is there. Nothing else loads the server.

    asof_bench.py [--players 1M,10M] [--events 1M] [--colds 3] [--asks 500] [--write]"""
import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from archive_bench import settle  # noqa: E402
from http_bench import BUILD, Process, count_text, splice  # noqa: E402
from load_bench import client, count, machine_of, say  # noqa: E402

FLAGS = ("--as-of-wait", "60s", "--as-of-rate", "off", "--log-keep", "forever", "--reconcile-every", "0s", "--snapshot-every", "off")
WRITES = 100000


class Client:
    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def ask(self, method, path):
        """(milliseconds, the answer), of an answer with status 200; one that is told to wait asks again."""
        begun = time.monotonic()
        while True:
            self.connection.request(method, path)
            answer = self.connection.getresponse()
            body = answer.read()
            if answer.status in (200, 202):
                return (time.monotonic() - begun) * 1e3, json.loads(body)
            if answer.status != 503:
                sys.exit(f"{method} {path}: {answer.status} {body.decode()}")


def questions(players, seq, rng):
    def one():
        player = f"player:{rng.randrange(players):08d}"
        path = rng.choice(("top?limit=100", f"players/{player}?around=5", f"top?limit=100&offset={rng.randrange(players // 2)}",
                           f"target?rank={1 + rng.randrange(players)}"))
        return f"/v1/boards/race/{path}&as_of={seq}"
    return one


def resident(pid):
    """Of the children, the largest, in bytes."""
    sizes = [0]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                sizes += [int(line.split()[1]) * 1024 for line in pathlib.Path(f"/proc/{child}/status").read_text().splitlines()
                          if line.startswith("VmRSS:")]
            except OSError:
                pass
    return max(sizes)


def cold(server, ask, seqs):
    """(median milliseconds of the first answer, the helper's memory)"""
    times, memory = [], 0
    for seq in seqs:
        times.append(ask("GET", f"/v1/boards/race/top?as_of={seq}")[0])
        memory = max(memory, resident(server.process.pid))
    return statistics.median(times), memory


def run_once(options, players, folder):
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    options.players, options.protocol = players, "resp"
    rng = random.Random(players)
    with Process([BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", *FLAGS],
                 r"listening http=127\.0\.0\.1:(\d+) resp=127\.0\.0\.1:(\d+)", "stderr", cores=None) as server:
        ask = Client(server).ask
        client(server, options, "fill")
        settle(server)
        at = ask("POST", "/v1/snapshot")[1]["seq"]
        settle(server)
        client(server, options, seconds=max(options.events // WRITES, 1), connections=48, writes=WRITES, ranks=0, tops=0)
        settle(server)
        last = ask("GET", "/readyz")[1]["seq"]
        near, memory = cold(server, ask, [at + 1 + i for i in range(options.colds)])
        far, _ = cold(server, ask, [last - i for i in range(options.colds)])
        question = questions(players, last, rng)
        for _ in range(20):
            ask("GET", question())
        warm = sorted(ask("GET", question())[0] for _ in range(options.asks))
        now = sorted(ask("GET", question().partition("&as_of")[0])[0] for _ in range(options.asks))
        return {"near": near, "far": far, "events": last - at, "memory": memory, "p50": warm[len(warm) // 2],
                "p99": warm[len(warm) * 99 // 100], "now": now[len(now) // 2],
                "snapshot": max(p.stat().st_size for p in data.glob("*.snap*"))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", default="1M,10M")
    parser.add_argument("--events", type=count, default=1000000)
    parser.add_argument("--colds", type=int, default=3)
    parser.add_argument("--asks", type=int, default=500)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sizes = [count(text) for text in options.players.split(",")]
    rows = ("| players | snapshot, MiB | cold, at the snapshot, ms | cold, after it, ms | events replayed | helper, MiB | warm p50, ms | p99, ms "
            "| the same question about now, p50, ms |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-asof-"))
    try:
        for players in sizes:
            r = run_once(options, players, folder)
            row = (f"| {count_text(players)} | {r['snapshot'] >> 20} | {r['near']:,.0f} | {r['far']:,.0f} | {r['events']:,} | {r['memory'] >> 20} "
                   f"| {r['p50']:.2f} | {r['p99']:.2f} | {r['now']:.2f} |\n")
            say(row.strip())
            rows += row
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    command = "./dev bench asof " + " ".join(a for a in sys.argv[1:] if a != "--write")
    machine = subprocess.run([BUILD / "bench" / "bench_kafka", "--do", "machine"], capture_output=True, text=True).stdout
    text = f"\n{machine_of(machine, command)}\nMedians of {options.colds} cold questions and of {options.asks} warm ones, over HTTP, one at a time.\n\n{rows}\n"
    print(text)
    if options.write:
        splice(text, "asof")


if __name__ == "__main__":
    main()
