#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind `./dev bench archive --beside`: bench_load sends submissions at a fixed rate (open loop) to a server without an
archive and with each kind of archive, in turns. Shown are the latency from the moment a submission was due, how far the archive
lagged behind, and the processor time of its thread (of the database, too, which shares the machine).

    archive_bench.py [--players 1M] [--seconds 60] [--writes 100k] [--archives off,SQLite,PostgreSQL] [--rounds 1] [--write]"""
import argparse
import http.client
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from http_bench import BUILD, ROOT, Process, count_text, splice  # noqa: E402
from load_bench import client, count, machine_of, say  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import postgres  # noqa: E402

LOOK_S = 0.25
TICKS = os.sysconf("SC_CLK_TCK")


def metrics(server):
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    conn.request("GET", "/metrics")
    text = conn.getresponse().read().decode()
    conn.close()
    return {name: float(value) for name, value in re.findall(r"^(rung_\w+) (\S+)$", text, re.M)}


class Watch(threading.Thread):
    """The archive's lag during a run: (seconds, events, seconds behind)."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.seen, self.is_over = server, [], threading.Event()

    def run(self):
        start = time.monotonic()
        while not self.is_over.wait(LOOK_S):
            m = metrics(self.server)
            self.seen.append((time.monotonic() - start, m.get("rung_archive_behind_events", 0), m.get("rung_archive_behind_seconds", 0)))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()


def cpu_of_tree(pid):
    """Processor seconds of a process, of its children and of those that have ended."""
    total = 0.0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat.parent.name) == pid:
            total += sum(map(int, fields[11:15])) / TICKS
        elif int(fields[1]) == pid:
            total += sum(map(int, fields[11:13])) / TICKS
    return total


def settle(server):
    while True:
        m = metrics(server)
        if m.get("rung_archive_behind_events", 0) < 1000 and not m.get("rung_snapshot_running"):
            return
        time.sleep(0.5)


def run_once(options, kind, folder):
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    database = None
    flags = ["--archive", "off"] if kind == "off" else []
    if kind == "PostgreSQL":
        database = postgres.Database()
        database.start("fsync=on", "shared_buffers=256MB", "max_wal_size=4GB")
        database.sql("CREATE ROLE rung LOGIN PASSWORD 's3cret'; CREATE SCHEMA rung AUTHORIZATION rung")
        flags = ["--archive", database.url()]
    try:
        with Process([BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--reconcile-every", "0s",
                      *flags],
                     r"listening http=127\.0\.0\.1:(\d+) resp=127\.0\.0\.1:(\d+)", "stderr", cores=None) as server:
            client(server, options, "fill")
            settle(server)
            before, cpu = metrics(server), server.cpu()
            at_database = cpu_of_tree(database.process.pid) if database else 0
            start = time.monotonic()
            with Watch(server) as watch:
                lines = client(server, options, seconds=options.seconds, connections=options.connections,
                               writes=options.writes, ranks=0, tops=0)
            spent = time.monotonic() - start
            after = metrics(server)
            used = after.get("rung_archive_cpu_seconds_total", 0) - before.get("rung_archive_cpu_seconds_total", 0)
            settle_start = time.monotonic()
            settle(server)
            return {"whole": lines[-1], "watch": watch.seen, "share": used / spent, "server": (server.cpu() - cpu) / spent,
                    "database": (cpu_of_tree(database.process.pid) - at_database) / spent if database else 0,
                    "events": after.get("rung_archive_seq", 0) - before.get("rung_archive_seq", 0), "spent": spent,
                    "lost": after.get("rung_archive_outcomes_lost_total", 0), "caught_up": time.monotonic() - settle_start,
                    "archive_bytes": sum(f.stat().st_size for f in data.glob("archive.db*"))}
    finally:
        if database:
            database.close()


def median(runs, get):
    return statistics.median(get(r) for r in runs)


def lag(run, column):
    """(median, largest) after the first seconds."""
    values = [seen[column] for seen in run["watch"] if seen[0] > 2] or [0]
    return statistics.median(values), max(values)


def is_growing(run):
    """Is the lag of the last quarter above that of the second one by more than a second of events?"""
    seen = run["watch"]
    quarter = max(len(seen) // 4, 1)
    return statistics.median(s[1] for s in seen[-quarter:]) > statistics.median(s[1] for s in seen[quarter:2 * quarter]) + 100000


def table(options, results):
    base = median(results["off"], lambda r: r["whole"]["all"]["p99"]) if "off" in results else None
    out = ("| archive | p50, ms | p99, ms | times without | p99.9, ms | lag, events: median | largest | lag, s: largest | archive's cores "
           "| database's cores | server's cores |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
    for kind, runs in results.items():
        p99 = median(runs, lambda r: r["whole"]["all"]["p99"])
        times = f"{p99 / base:.2f}" if base and kind != "off" else ""
        cells = [kind, f"{median(runs, lambda r: r['whole']['all']['p50']):.2f}", f"{p99:.2f}", times,
                 f"{median(runs, lambda r: r['whole']['all']['p999']):.2f}"]
        if kind == "off":
            cells += ["", "", "", "", ""]
        else:
            cells += [f"{median(runs, lambda r: lag(r, 1)[0]):,.0f}", f"{max(lag(r, 1)[1] for r in runs):,.0f}",
                      f"{max(lag(r, 2)[1] for r in runs):.2f}", f"{median(runs, lambda r: r['share']):.2f}",
                      f"{median(runs, lambda r: r['database']):.2f}" if kind == "PostgreSQL" else ""]
        out += "| " + " | ".join(cells + [f"{median(runs, lambda r: r['server']):.2f}"]) + " |\n"
    return out


def lags(results):
    """The lag over time, in about twenty steps."""
    out = ""
    for kind, runs in results.items():
        if kind == "off":
            continue
        seen = runs[-1]["watch"]
        step = max(len(seen) // 20, 1)
        points = ", ".join(f"{max(s[1] for s in seen[i:i + step]) / 1000:,.0f}" for i in range(0, len(seen), step))
        state = "grows" if any(is_growing(r) for r in runs) else "bounded"
        out += f"\nLag of {kind} over the run, in thousands of events ({state}): {points}.\n"
    return out


def alone(words):
    """bench_archive, with a database of its own if there can be one."""
    database, env = None, dict(os.environ)
    if postgres.have():
        database = postgres.Database()
        database.start("fsync=on", "shared_buffers=256MB", "max_wal_size=4GB")
        database.sql("CREATE ROLE rung LOGIN; " + "; ".join(f"CREATE SCHEMA size{i} AUTHORIZATION rung" for i in range(8)))
        env["RUNG_BENCH_POSTGRES"] = database.url(user="rung")
    try:
        return subprocess.run([BUILD / "bench" / "bench_archive", *words], env=env).returncode
    finally:
        if database:
            database.close()


def main():
    if "--alone" in sys.argv:
        sys.exit(alone([word for word in sys.argv[1:] if word != "--alone"]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", type=count, default=1000000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=48)
    parser.add_argument("--writes", type=count, default=100000)
    parser.add_argument("--archives", default="off,SQLite" + (",PostgreSQL" if postgres.have() else ""))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.protocol = "resp"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-beside-"))
    results = {}
    try:
        for _ in range(options.rounds):
            for kind in options.archives.split(","):
                run = run_once(options, kind, folder)
                results.setdefault(kind, []).append(run)
                say(f"{kind}: p50 {run['whole']['all']['p50']:.2f} ms, p99 {run['whole']['all']['p99']:.2f}, p99.9 "
                    f"{run['whole']['all']['p999']:.2f}, longest {run['whole']['all']['max']:.0f}, errors {run['whole']['errors']}, "
                    f"unanswered {run['whole']['unanswered']}; archived {run['events'] / run['spent']:,.0f}/s, lag at most "
                    f"{lag(run, 1)[1]:,.0f} events, {lag(run, 2)[1]:.1f} s, archive {run['share']:.2f} cores, database "
                    f"{run['database']:.2f}, server {run['server']:.2f}, outcomes lost {run['lost']:.0f}, then caught up in "
                    f"{run['caught_up']:.0f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    command = "./dev bench archive --beside " + " ".join(a for a in sys.argv[1:] if a != "--write")
    machine = subprocess.run([BUILD / "bench" / "bench_kafka", "--do", "machine"], capture_output=True, text=True).stdout
    text = (f"\n{machine_of(machine, command)}\n{options.writes:,} submissions a second (ZADD, {options.connections} connections) of "
            f"{count_text(options.players)} players for {options.seconds} s{', medians of ' + str(options.rounds) + ' rounds' if options.rounds > 1 else ''}. "
            f"The client spins on one of the cores.\n\n{table(options, results)}{lags(results)}\n")
    print(text)
    if options.write:
        splice(text, "archive-beside")


if __name__ == "__main__":
    main()
