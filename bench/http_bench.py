#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind bench/http.sh. Servers run on one core, clients on another; rounds are interleaved, medians reported.

    http_bench.py [--players 1000000,10000000] [--seconds 5] [--rounds 3] [--connections 64] [--no-redis] [--write]
"""
import argparse
import http.client
import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ["RUNG_BUILD"])
ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = sorted(os.sched_getaffinity(0))
SERVER, CLIENT = str(CORES[0]), str(CORES[-1])

LUA = """
math.randomseed(%(seed)d)
local kind, players = "%(kind)s", %(players)d
local headers = { ["Content-Type"] = "application/json" }
function request()
    local player = string.format("player:%%08d", math.random(0, players - 1))
    if kind == "rank" then return wrk.format("GET", "/v1/boards/race/players/" .. player .. "?around=0") end
    if kind == "around" then return wrk.format("GET", "/v1/boards/race/players/" .. player .. "?around=5") end
    if kind == "top" then return wrk.format("GET", "/v1/boards/race/top?limit=100") end
    if kind == "submit" then
        return wrk.format("POST", "/v1/boards/race/scores", headers,
                          string.format('{"player":"%%s","score":%%d}', player, math.random(0, 1000000)))
    end
    return wrk.format("GET", "/")
end
"""


class Process:
    """A program on the servers' core, or with cores=None on any; ended with the block."""

    def __init__(self, words, ready, where, cores=SERVER):
        pinned = ["taskset", "-c", cores] if cores else []
        self.process = subprocess.Popen([*pinned, *map(str, words)], stdin=subprocess.DEVNULL,
                                        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, where: subprocess.PIPE})
        self.said = []
        self.pipe = getattr(self.process, where)
        for line in self.pipe:
            self.said.append(line.decode())
            if re.search(ready, self.said[-1]):
                break
        else:
            sys.exit(f"{words[0]} did not start:\n" + "".join(self.said))
        self.found = re.search(ready, self.said[-1])
        self.port = int(self.found[1])
        threading.Thread(target=lambda: [None for _ in self.pipe], daemon=True).start()

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def wrk(server, kind, players, options, folder, seed):
    """(requests per second, 99th percentile in ms, microseconds of the server's CPU per request)"""
    cpu = server.cpu()
    script = folder / f"{kind}.lua"
    script.write_text(LUA % {"kind": kind, "players": players, "seed": seed})
    text = subprocess.run(["taskset", "-c", CLIENT, "wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}", "--latency", "-s", script,
                           f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        print(f"wrk, {kind}: {text}", file=sys.stderr)
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    count = int(re.search(r"(\d+) requests in", text)[1])
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit],
            (server.cpu() - cpu) / max(count, 1) * 1e6)


def lines(players, start, end):
    """NDJSON of one submission each, scores scattered by a fixed rule."""
    return "".join('{"board":"race","player":"player:%08d","score":%d}\n' % (i, i * 2654435761 % 1000003) for i in range(start, end)).encode()


def load(server, players):
    """All players as one NDJSON stream; submissions per second, and per second of the server's CPU."""
    conn = http.client.HTTPConnection("127.0.0.1", server.port)
    conn.request("PUT", "/v1/boards/race", b"{}", {"Content-Type": "application/json"})
    conn.getresponse().read()
    sock = socket.create_connection(("127.0.0.1", server.port))
    got = [0]

    def drain():
        while data := sock.recv(1 << 20):
            got[0] += len(data)
    reader = threading.Thread(target=drain)
    reader.start()
    step = 20000
    blocks = [lines(players, at, min(at + step, players)) for at in range(0, players, step)]
    cpu, start = server.cpu(), time.monotonic()
    sock.sendall(b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n")
    for block in blocks:
        sock.sendall(b"%x\r\n" % len(block) + block + b"\r\n")
    sock.sendall(b"0\r\n\r\n")
    reader.join()
    return players / (time.monotonic() - start), players / max(server.cpu() - cpu, 0.01)


def idle_cost(server, count):
    """Bytes of the server's memory per connection that has asked once and waits."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(count, hard - 100)
    before, sockets = server.memory(), []
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        s.recv(4096)
        sockets.append(s)
    cost = (server.memory() - before) / count
    for s in sockets:
        s.close()
    return count, cost


REDIS = {"rank": ["zrevrank", "race", "player:__rand_int__"], "around": ["zrevrange", "race", "5000", "5010", "withscores"],
         "top": ["zrevrange", "race", "0", "99", "withscores"], "submit": ["zadd", "race", "__rand_int__", "player:__rand_int__"]}


def redis_round(port, kind, players, options):
    text = subprocess.run(["taskset", "-c", CLIENT, "redis-benchmark", "-p", str(port), "-c", str(options.connections), "-n", "100000", "-r", str(players),
                           "--csv", *REDIS[kind]], capture_output=True, text=True, check=True).stdout
    return float(text.strip().splitlines()[-1].split('","')[1].strip('"'))


def load_redis(port, players):
    pipe = subprocess.Popen(["redis-cli", "-p", str(port), "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for at in range(0, players, 1000):
        pairs = [w for i in range(at, min(at + 1000, players)) for w in (str(i * 2654435761 % 1000003), "player:%012d" % i)]
        words = ["ZADD", "race", *pairs]
        pipe.stdin.write((f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)).encode())
    pipe.stdin.close()
    pipe.wait()


def measure(players, options, folder, out):
    data = folder / f"data-{players}"
    bare_words = [BUILD / "bench" / "bench_bare_http"]
    rung_words = [BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "off", "--archive", "off"]
    kinds = ["rank", "around", "top", "submit"]
    rates = {name: [] for name in ["bare", "transport", *kinds]}
    costs = {name: [] for name in rates}
    tails, redis = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}

    def ask(server, name, kind, seed):
        rate, tail, cost = wrk(server, kind, players, options, folder, seed)
        rates[name].append(rate)
        costs[name].append(cost)
        return tail
    with Process(bare_words, r"listening 127\.0\.0\.1:(\d+)", "stdout") as bare, \
            Process([*bare_words, "--transport"], r"listening 127\.0\.0\.1:(\d+)", "stdout") as transport, \
            Process(rung_words, r"listening http=127\.0\.0\.1:(\d+)", "stderr") as rung:
        idle_count, idle = idle_cost(rung, 10000)  # first: what is freed later would hide it
        batch, batch_cpu = load(rung, players)
        store = None
        if options.redis:
            port = free_port()
            store = subprocess.Popen(["taskset", "-c", SERVER, "redis-server", "--port", str(port), "--save", "", "--appendonly", "no"],
                                     stdout=subprocess.DEVNULL)
            time.sleep(1)
            load_redis(port, players)
        try:
            for round_ in range(options.rounds):
                ask(bare, "bare", "fixed", round_)
                ask(transport, "transport", "fixed", round_)
                for kind in kinds:
                    tails[kind].append(ask(rung, kind, kind, round_ + 1))
                    if store:
                        redis[kind].append(redis_round(port, kind, players, options))
        finally:
            if store:
                store.terminate()
                store.wait()
    bare_rate = statistics.median(rates["bare"])
    bars = {"rank": 0.7, "around": 0.7, "top": 0.5, "submit": 0.5}
    names = {"rank": "rank of a player", "around": "a player and 5 on either side", "top": "top 100", "submit": "submit, synced (`sync = always`)"}
    out.append(f"### {count_text(players)} players, {options.connections} keep-alive connections\n")
    out.append("| request | per second | of the bare server | at least | p99, ms | server CPU, us | Redis 7, its own protocol, per second |")
    out.append("|---|---:|---:|---:|---:|---:|---:|")
    names = {"bare": "bare: libuv and http-parser, a fixed 180-byte body", "transport": "our transport, the same fixed body", **names}
    for name, text in names.items():
        rate = statistics.median(rates[name])
        tail = f"{statistics.median(tails[name]):.1f}" if name in tails else ""
        beside = f"{statistics.median(redis[name]):,.0f}" if redis.get(name) else ""
        out.append(f"| {text} | {rate:,.0f} | {rate / bare_rate:.2f} | {bars.get(name, '')} | {tail} | {statistics.median(costs[name]):.1f} | {beside} |")
    out.append("")
    out.append(f"NDJSON batch of {count_text(players)} submissions, synced: {batch:,.0f} per second, {batch_cpu:,.0f} per second of the server's CPU "
               f"(at least 300,000 at 1 M). {idle_count:,} idle connections: {idle / 1024:.1f} KiB each (at most 8).\n")


def count_text(count):
    return f"{count // 1000000} M" if count >= 1000000 else f"{count:,}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def splice(text, section):
    page = ROOT / "docs" / "benchmarks.md"
    begin, end = f"<!-- bench:{section}:begin -->\n", f"<!-- bench:{section}:end -->"
    old = page.read_text()
    if begin not in old:
        sys.exit(f"{page}: there is no line {begin}")
    head, rest = old.split(begin, 1)
    page.write_text(head + begin + text + end + rest.split(end, 1)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", default="1000000,10000000")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--no-redis", dest="redis", action="store_false")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    out = []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-bench-http-"))
    try:
        for players in map(int, options.players.split(",")):
            measure(players, options, folder, out)
    finally:
        shutil.rmtree(folder)
    text = "\n".join(out) + "\n"
    print(text)
    if options.write:
        splice(text, "http")


if __name__ == "__main__":
    main()
