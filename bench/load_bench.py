#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind bench/load.sh: starts a server for each configuration, fills it, lets bench_load send at fixed rates, and shows
how long requests took from the moment they were due, tenth by tenth of a second, with what the server did meanwhile.

    load_bench.py [--players 10M] [--seconds 120] [--protocol resp] [--writes 100000 --ranks 200000 --tops 50000] [--search] [--write]

The client has one core of its own and spins on it; the server may use all of them, so on two cores it shares one with the client.
--search finds the largest multiple of these rates that is held: 99th percentile below 10 ms, nothing refused."""
import argparse
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from http_bench import BUILD, CLIENT, ROOT, Process, count_text, splice  # noqa: E402

CONFIGURATIONS = {"default": [], "no archive": ["--archive", "off"],
                  "neither archive nor snapshots": ["--archive", "off", "--snapshot-every", "off"]}
HELD_MS = 10
WATCH_S = 0.2  # between two looks at /metrics
RATES = {"resp": (100000, 200000, 50000), "http": (10000, 20000, 5000)}


def say(text):
    print(f"[{time.monotonic() - say.start:6.1f} s] {text}", file=sys.stderr, flush=True)


say.start = time.monotonic()


def count(text):
    number, unit = re.fullmatch(r"([\d.]+)([kM]?)", text).groups()
    return int(float(number) * {"": 1, "k": 1000, "M": 1000000}[unit])


def client(server, options, what="load", **more):
    words = ["taskset", "-c", CLIENT, BUILD / "bench" / "bench_load", "--do", what, "--players", options.players]
    port = server.port if options.protocol == "http" and what == "load" else int(server.found[2])
    for name, value in {"port": port, "protocol": options.protocol, **more}.items():
        words += [f"--{name}", value]
    run = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"bench_load: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


class Watch:
    """What the server does during a run, from its metrics."""

    NAMES = {"rung_snapshot_running": "snapshot", "rung_log_disk_bytes": "log", "rung_archive_windows_total": "windows",
             "rung_archive_behind_events": "behind", "rung_archive_seq": "archived"}
    STALL_S = "0.005"  # turns of the loop above this count as stalls; a bound of the histogram

    def __init__(self, server):
        self.server, self.seen, self.is_over = server, [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def look(self):
        conn = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        conn.request("GET", "/metrics")
        text = conn.getresponse().read().decode()
        conn.close()
        found = dict(re.findall(r"^(rung_\w+) (\S+)$", text, re.M))
        short = re.search(r'^rung_loop_stall_seconds_bucket\{le="%s"\} (\d+)$' % re.escape(self.STALL_S), text, re.M)
        stalls = float(found.get("rung_loop_stall_seconds_count", 0)) - float(short[1]) if short else 0
        return {**{name: float(found.get(metric, 0)) for metric, name in self.NAMES.items()}, "stalls": stalls}

    def run(self):
        while not self.is_over.wait(WATCH_S):
            at = time.monotonic() - self.start
            try:
                self.seen.append((at, self.look()))
            except OSError:
                return

    def __enter__(self):
        self.start = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def snapshots(self):
        """Spans of time, in seconds, in which one was written."""
        spans, since = [], None
        for at, values in self.seen:
            if values["snapshot"] and since is None:
                since = at
            if not values["snapshot"] and since is not None:
                spans.append((since, at))
                since = None
        return spans + ([(since, self.seen[-1][0])] if since is not None else [])

    def marks(self, name, least=1):
        """Times, in seconds, at which a value had grown: a segment began, a window was archived, a batch of events was."""
        return [at for (_, before), (at, now) in zip(self.seen, self.seen[1:]) if now[name] >= before[name] + least]

    def stalls(self):
        return int(self.seen[-1][1]["stalls"] - self.seen[0][1]["stalls"]) if self.seen else 0

    def behind_max(self):
        return max((values["behind"] for _, values in self.seen), default=0)


def rates_of(options, factor=1.0):
    return {name: int(getattr(options, name) * factor) for name in ("writes", "ranks", "tops")}


def run_once(options, flags, folder):
    """(timeline, whole, watch, CPU seconds of the server per second)"""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    with Process([BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", *flags],
                 r"listening http=127\.0\.0\.1:(\d+) resp=127\.0\.0\.1:(\d+)", "stderr", cores=None) as server:
        client(server, options, "fill")
        say(f"  filled with {count_text(options.players)} players")
        settle(server)
        cpu, start = server.cpu(), time.monotonic()
        with Watch(server) as watch:
            lines = client(server, options, seconds=options.seconds, connections=options.connections, **rates_of(options))
        share = (server.cpu() - cpu) / (time.monotonic() - start)
        return lines[:-1], lines[-1], watch, share


def settle(server):
    """Until the archive has caught up with the filling: a run begins with nothing left over."""
    watch = Watch(server)
    while watch.look()["behind"] > 1000 or watch.look()["snapshot"]:
        time.sleep(0.5)


def search(options, flags, folder):
    """The largest multiple of the rates that is held, to a tenth."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    with Process([BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", *flags],
                 r"listening http=127\.0\.0\.1:(\d+) resp=127\.0\.0\.1:(\d+)", "stderr", cores=None) as server:
        client(server, options, "fill")
        low, high = 0.0, 4.0
        while high - low > 0.1:
            middle = round((low + high) / 2, 2)
            settle(server)
            whole = client(server, options, seconds=min(options.seconds, 20), connections=options.connections,
                           **rates_of(options, middle))[-1]
            is_held = whole["all"]["p99"] < HELD_MS and not whole["errors"] and not whole["unanswered"]
            say(f"  {middle} times: p99 {whole['all']['p99']:.1f} ms, {'held' if is_held else 'not held'}")
            low, high = (middle, high) if is_held else (low, middle)
        return low


# ---- the picture ----

WIDTH, HEIGHT, LEFT, TOP = 820, 190, 60, 26


def scale_ms(value):
    """Logarithmic, from 0.1 ms to 10 s."""
    share = (math.log10(min(max(value, 0.1), 10000)) + 1) / 5
    return TOP + (1 - share) * (HEIGHT - TOP - 24)


def line_of(slices, key, seconds, colour):
    points = " ".join(f"{LEFT + s['ms'] / 1000 / seconds * (WIDTH - LEFT - 10):.1f},{scale_ms(s[key]):.1f}" for s in slices if s["count"])
    return f'<polyline fill="none" stroke="{colour}" stroke-width="1.2" points="{points}"/>'


# Below the curves, a row of ticks for each: what, how much it must have grown, colour.
MARKS = (("log", 1 << 20, "#28c"), ("windows", 1, "#393"), ("archived", 1, "#999"))


def ticks_of(watch, seconds):
    for row, (name, least, colour) in enumerate(MARKS):
        for at in watch.marks(name, least):
            if at <= seconds:
                x, y = LEFT + at / seconds * (WIDTH - LEFT - 10), HEIGHT - 23 + 3 * row
                yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 2.5}" stroke="{colour}"/>'


def panel(name, slices, watch, seconds, y):
    out = [f'<g transform="translate(0,{y})"><text x="{LEFT}" y="16" font-weight="bold">{name}</text>']
    for begin, end in watch.snapshots():
        x = LEFT + begin / seconds * (WIDTH - LEFT - 10)
        wide = max((min(end, seconds) - begin) / seconds * (WIDTH - LEFT - 10), 1)
        out.append(f'<rect x="{x:.1f}" y="{TOP}" width="{wide:.1f}" height="{HEIGHT - TOP - 24}" fill="#8884"/>')
    for ms, label in ((0.1, "0.1 ms"), (1, "1 ms"), (10, "10 ms"), (100, "100 ms"), (1000, "1 s"), (10000, "10 s")):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{scale_ms(ms):.1f}" y2="{scale_ms(ms):.1f}" stroke="#8886" stroke-width=".5"/>'
                   f'<text x="{LEFT - 4}" y="{scale_ms(ms) + 3:.1f}" text-anchor="end">{label}</text>')
    for s in range(0, seconds + 1, max(seconds // 12, 1)):
        out.append(f'<text x="{LEFT + s / seconds * (WIDTH - LEFT - 10):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{s} s</text>')
    out += ticks_of(watch, seconds)
    out += [line_of(slices, key, seconds, colour) for key, colour in (("max", "#d33"), ("p99", "#e90"), ("p50", "#28c"))]
    return "\n".join(out) + "</g>"


def draw(runs, seconds):
    panels = [panel(name, slices, watch, seconds, 24 + i * HEIGHT) for i, (name, slices, watch) in enumerate(runs)]
    key = ('<text x="60" y="16" fill="#28c">median</text><text x="120" y="16" fill="#e90">99th percentile</text>'
           '<text x="230" y="16" fill="#d33">longest</text><text x="300" y="16" fill="#888">grey: a snapshot is written</text>'
           '<text x="450" y="16" fill="#888">ticks: '
           '<tspan fill="#28c">a segment begins</tspan>, <tspan fill="#393">a window is archived</tspan>, '
           '<tspan fill="#999">a batch of events is</tspan></text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {24 + len(panels) * HEIGHT}" font-family="sans-serif" '
            f'font-size="10" fill="#888">\n{key}\n' + "\n".join(panels) + "\n</svg>\n")


# ---- the report ----

def table(rows):
    out = "| configuration | median | p99 | p99.9 | longest | slowest tenth of a second | "
    out += "turns of the loop above 5 ms | errors | server's CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    for name, slices, whole, watch, share in rows:
        a = whole["all"]
        worst = max((s["p50"] for s in slices if s["count"]), default=0)
        out += (f"| {name} | {a['p50']:.2f} | {a['p99']:.1f} | {a['p999']:.1f} | {a['max']:.0f} | {worst:.1f} | {watch.stalls()} | "
                f"{whole['errors'] + whole['unanswered']} | {share:.2f} |\n")
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", type=count, default=10000000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=48)
    parser.add_argument("--protocol", choices=("resp", "http"), default="resp")
    for name in ("writes", "ranks", "tops"):
        parser.add_argument(f"--{name}", type=count)
    parser.add_argument("--configurations", default=",".join(CONFIGURATIONS), help="of: " + ", ".join(CONFIGURATIONS))
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for name, rate in zip(("writes", "ranks", "tops"), RATES[options.protocol]):
        if getattr(options, name) is None:
            setattr(options, name, rate)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-load-"))
    rows, pictures, found = [], [], []
    try:
        for name in options.configurations.split(","):
            flags = CONFIGURATIONS[name]
            say(name)
            slices, whole, watch, share = run_once(options, flags, folder)
            rows.append((name, slices, whole, watch, share))
            pictures.append((name, slices, watch))
            say(f"  p50 {whole['all']['p50']:.2f} ms, p99 {whole['all']['p99']:.1f}, longest {whole['all']['max']:.0f}, "
                f"{len(watch.snapshots())} snapshots, archive at most {watch.behind_max():,.0f} events behind")
            if options.search:
                found.append((name, search(options, flags, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    command = "./dev bench load " + " ".join(a for a in sys.argv[1:] if a != "--write")
    machine = subprocess.run([BUILD / "bench" / "bench_kafka", "--do", "machine"], capture_output=True, text=True).stdout
    text = f"\n{machine_of(machine, command)}\n{options.writes:,} submissions, {options.ranks:,} ranks and {options.tops:,} first tens a second, " \
           f"{options.protocol.upper()}, {options.connections} connections, {count_text(options.players)} players, {options.seconds} s.\n" \
           f"Milliseconds from the moment a request was due.\n\n{table(rows)}"
    for name, factor in found:
        text += f"\nHeld with a p99 below {HELD_MS} ms, {name}: {factor} times these rates.\n"
    text += "\n![timeline](benchmarks-load.svg)\n\n"
    print(text)
    if options.write:
        (ROOT / "docs" / "benchmarks-load.svg").write_text(draw(pictures, options.seconds))
        splice(text, "load")


def machine_of(text, command):
    """The head that other benchmarks have, with our command."""
    return re.sub(r"`[^`]*`", f"`{command.strip()}`", text, count=1) if text else f"`{command.strip()}`\n"


if __name__ == "__main__":
    main()
