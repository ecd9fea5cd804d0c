#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind bench/kafka.sh: starts a broker and servers, lets bench_kafka measure, writes the report.

    kafka_bench.py [--quick] [--players 10M] [--seconds 3] [--rounds 3] [--only speed,latency,reads,join] [--write]

speed: submissions per second with many in flight and the time of one alone, beside the floor and the embedded log, in interleaved
rounds. latency: open loop at stated rates. reads: three servers against one. join: an empty server begins with a peer's snapshot.
Nothing is pinned to a processor: broker, servers and client share them all, as the floor and its broker do."""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "tests" / "kafka"))
from brokers import Broker, Brokers  # noqa: E402
from http_bench import BUILD, Process, count_text, splice  # noqa: E402

CONNECTIONS, PIPELINE = 16, 64
MANY = CONNECTIONS * PIPELINE
RATES = (1000, 10000, 50000)
PARTS = ("speed", "latency", "reads", "join")
RATIO_MIN, TIMES_MAX = 0.6, 1.5
LIMIT = 300  # seconds, of one measurement; only reached when something is wrong
WARM = 3  # rounds for the broker's compiler before the first is counted
BROKER_JVM = ("-Xmx1g",)  # as a broker runs that is not there for a test: with the compiler that takes its time


def say(text):
    print(f"[{time.monotonic() - say.start:6.1f} s] {text}", file=sys.stderr, flush=True)


say.start = time.monotonic()


def measure(what, **options):
    """One measurement by the C program: what it printed."""
    words = [BUILD / "bench" / "bench_kafka", "--do", what]
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    run = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=LIMIT)
    if run.returncode != 0:
        sys.exit(f"{what}: {run.stderr}")
    return run.stdout if what == "machine" else json.loads(run.stdout)


def cpu_of(pid):
    """Seconds of processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_cpu():
    """Of the programs that measure() ran."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Node(Process):
    """A server. Its RESP port is what the client uses."""

    def __init__(self, data, *flags):
        super().__init__([BUILD / "rung", "serve", "--data", data, "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--archive", "off",
                          *flags], r"listening http=127\.0\.0\.1:(\d+) resp=127\.0\.0\.1:(\d+)", "stderr", cores=None)
        self.resp = self.found[2]

    def ask(self, method, path, body=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        conn.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = conn.getresponse()
        text = answer.read()
        conn.close()
        return answer.status, text

    def wait(self, path, is_good, what, limit=LIMIT):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            status, text = self.ask("GET", path)
            if is_good(status, text):
                return text
            time.sleep(0.005)
        sys.exit(f"{what} did not happen in {limit} seconds: {status} {text[:500]}")

    def wait_ready(self):
        self.wait("/readyz", lambda status, _: status == 200, "ready")
        return self

    def metric(self, name):
        for line in self.ask("GET", "/metrics")[1].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        sys.exit(f"there is no metric {name}")


class Bench:
    def __init__(self, options, brokers, folder):
        self.options, self.brokers, self.folder = options, brokers, folder
        self.ms = int(options.seconds * 1000)
        self.client = brokers.client()
        self.nodes, self.out = 0, []

    def log(self, topic):
        return "--log", f"kafka://{self.brokers.addresses}/{topic}", "--log-kafka-replication", "1"

    def node(self, *flags):
        self.nodes += 1
        return Node(self.folder / f"node-{self.nodes}", *flags)

    def line(self, text=""):
        self.out.append(text)

    def prose(self, text):
        self.out.extend([*textwrap.wrap(" ".join(text.split()), 100), ""])

    def table(self, head, rows):
        self.line("| " + " | ".join(head) + " |")
        self.line("|---|" + "---:|" * (len(head) - 1))
        for row in rows:
            self.line("| " + " | ".join(row) + " |")
        self.line()

    # ---- speed ----

    def costs(self, run, process=None):
        """The result of a measurement, with microseconds of CPU per record: of the broker, and of the process (None: the program)."""
        broker = self.brokers[0].process.pid
        before = cpu_of(broker), cpu_of(process) if process else children_cpu()
        result = run()
        spent = cpu_of(broker) - before[0], (cpu_of(process) if process else children_cpu()) - before[1]
        return result | {"broker_us": spent[0] / result["total"] * 1e6, "own_us": spent[1] / result["total"] * 1e6}

    def submit(self, node, many):
        return self.costs(lambda: measure("submit", ports=node.resp, ms=self.ms, connections=CONNECTIONS if many else 1, depth=PIPELINE if many else 1), node.process.pid)

    def floor(self, many, size):
        return self.costs(lambda: measure("floor", brokers=self.brokers.addresses, topic="floor", ms=self.ms, depth=MANY if many else 1,
                                          bytes=size))

    def speed(self):
        """The three in turn, round by round; a ratio is the median of the rounds' ratios."""
        many = {"floor": [], "kafka": [], "local": []}
        one = {"floor": [], "kafka": [], "local": []}
        self.client.create_topic("floor", configs={"retention.ms": "-1"})
        with self.node(*self.log("speed")) as kafka, self.node() as local:
            for node in (kafka, local):
                node.wait_ready().ask("PUT", "/v1/boards/race", b'{"update": "last"}')
            size = self.record_size(kafka, "speed")
            measure("floor", brokers=self.brokers.addresses, topic="floor", ms=self.ms * WARM, depth=MANY, bytes=size)
            for kept in range(-self.options.warm, self.options.rounds):  # brokers compile while they warm up
                say(f"speed, round {kept + 1} of {self.options.rounds}")
                for is_many, into in ((True, many), (False, one)):
                    got = {"floor": self.floor(is_many, size), "kafka": self.submit(kafka, is_many), "local": self.submit(local, is_many)}
                    say("  " + ", ".join(f"{name} {r['rate']:,.0f}/s p50 {r['p50']:,.0f} us, CPU {r['own_us']:.1f} + {r['broker_us']:.1f}" for name, r in got.items()))
                    if kept >= 0:
                        for name, result in got.items():
                            into[name].append(result)
        ratio = statistics.median(k["rate"] / f["rate"] for k, f in zip(many["kafka"], many["floor"]))
        times = statistics.median(k["p50"] / f["p50"] for k, f in zip(one["kafka"], one["floor"]))

        def row(text, name, *more):
            rates = [statistics.median(r["rate"] for r in runs[name]) for runs in (many, one)]
            p50 = statistics.median(r["p50"] for r in one[name])
            p99 = statistics.median(r["p99"] for r in one[name])
            cpu = [f"{statistics.median(r[who] for r in many[name]):.1f}" for who in ("own_us", "broker_us")]
            return (text, f"{rates[0]:,.0f}", more[0], cpu[0], "" if name == "local" else cpu[1], f"{p50 / 1000:.2f}", f"{p99 / 1000:.2f}", more[1])
        self.line(f"### Submissions, beside the floor ({size} bytes each)\n")
        self.table(("", f"per second, {MANY:,} in flight", "of the floor", "its CPU, us each", "the broker's", "one in flight: p50, ms", "p99, ms", "times the floor's p50"), (
            row("floor: bare librdkafka, produced and read back", "floor", "1.00", "1.00"),
            row("Rung, log on Kafka", "kafka", f"**{ratio:.2f}**", f"**{times:.2f}**"),
            row("Rung, log in its folder (`sync = always`)", "local", "", "")))
        self.prose(f"""Bars: at least {RATIO_MIN} of the floor's throughput ({"met" if ratio >= RATIO_MIN else "missed"}), at most
            {TIMES_MAX} times its p50 ({"met" if times <= TIMES_MAX else "missed"}). Medians of {self.options.rounds} interleaved rounds of
            {self.options.seconds:g} s. The floor is one process that produces records of the same size (acks=all, idempotent,
            linger 0) and reads them back; nothing else. A submission to Rung is `RUNG.SUBMIT ... BRIEF` over the Redis
            protocol from another process: {CONNECTIONS} connections with {PIPELINE} commands each, or one with one.""")

    def record_size(self, node, topic):
        """Bytes of one submission in the topic, with its key."""
        status, text = node.ask("POST", "/v1/boards/race/scores", b'{"player": "player:00012345", "score": 512345}')
        if status != 200:
            sys.exit(f"a submission was refused: {text}")
        record = self.client.records(topic)[-1]
        return len(record.key) + len(record.value)

    # ---- latency ----

    def latency(self):
        rows = []
        with self.node(*self.log("latency")) as kafka, self.node() as local:
            for node in (kafka, local):
                node.wait_ready().ask("PUT", "/v1/boards/race", b'{"update": "last"}')
            for rate in RATES:
                for text, node in (("Kafka", kafka), ("its folder", local)):
                    r = measure("submit", ports=node.resp, ms=self.ms, connections=CONNECTIONS, depth=1, rate=rate)
                    say(f"open loop, {rate}/s, {text}: {r['rate']:,.0f}/s p50 {r['p50']:,.0f} us p99 {r['p99']:,.0f} us")
                    rows.append((f"{rate:,}", text, f"{r['rate']:,.0f}", *(f"{r[p] / 1000:.2f}" for p in ("p50", "p99", "p999", "max"))))
        self.line("### Open loop: time from the moment a submission was due to its answer, ms\n")
        self.table(("due per second", "log on", "answered per second", "p50", "p99", "p99.9", "longest"), rows)

    # ---- reads ----

    def reads(self):
        with contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(self.node(*self.log("reads"))) for _ in range(3)]
            players = min(self.options.players, 100000)
            measure("fill", ports=nodes[0].wait_ready().resp, connections=8, depth=2, players=players)
            seq = json.loads(nodes[0].ask("GET", "/readyz")[1])["seq"]
            for node in nodes:
                node.wait_ready().wait("/readyz", lambda _, text: json.loads(text)["seq"] >= seq, "the same state")

            def run(some):
                before = [n.cpu() for n in some]
                r = measure("rank", ports=",".join(n.resp for n in some), ms=self.ms, connections=48, depth=PIPELINE, players=players)
                spent = sum(n.cpu() - b for n, b in zip(some, before))
                return r["rate"], spent / r["total"] * 1e6
            rounds = [(run(nodes[:1]), run(nodes)) for _ in range(self.options.rounds)]
        one, three = ([statistics.median(r[i][k] for r in rounds) for k in (0, 1)] for i in (0, 1))
        say(f"reads: one {one[0]:,.0f}/s, three {three[0]:,.0f}/s")
        ratio = statistics.median(r[1][0] / r[0][0] for r in rounds)
        self.line("### Reads of three servers against one\n")
        self.table(("", "ranks per second", "against one", "server CPU, us a rank"), (
            ("one server", f"{one[0]:,.0f}", "1.00", f"{one[1]:.2f}"), ("three servers", f"{three[0]:,.0f}", f"{ratio:.2f}", f"{three[1]:.2f}")))
        self.prose(f"""`RUNG.RANK` of random players, {PIPELINE} in flight on each of 48 connections, all servers, the broker and the one
            client on the same {os.cpu_count()} cores, which are the bound here. A read asks nobody else: servers on machines of their
            own add up.""")

    # ---- join ----

    @staticmethod
    def have_same_digest(first, second):
        """At the same sequence: the log may grow between two questions."""
        for _ in range(1000):
            one, two = (json.loads(node.ask("GET", "/readyz")[1]) for node in (first, second))
            if one["seq"] == two["seq"]:
                return one["digest"] == two["digest"]
        return False

    def join(self):
        players = self.options.players
        with self.node(*self.log("join"), "--snapshot-every", "off") as first:
            start = time.monotonic()
            measure("fill", ports=first.wait_ready().resp, connections=16, depth=4, players=players)
            filled = time.monotonic() - start
            say(f"{count_text(players)} players in {filled:.1f} s")
            start = time.monotonic()
            first.ask("POST", "/v1/snapshot")
            first.wait("/metrics", lambda _, text: b"\nrung_snapshot_seq 0\n" not in text, "the snapshot")
            saved = time.monotonic() - start
            seq = json.loads(first.ask("GET", "/readyz")[1])["seq"]
            say(f"snapshot in {saved:.1f} s")
            start = time.monotonic()
            with self.node(*self.log("join"), "--peers", f"http://127.0.0.1:{first.port}") as second:
                second.wait_ready()
                second.wait("/readyz", lambda _, text: json.loads(text)["seq"] >= seq, "the same state")
                joined = time.monotonic() - start
                same = self.have_same_digest(first, second)
                size = sum(f.stat().st_size for f in (self.folder / f"node-{self.nodes}").glob("snapshot-*"))
        say(f"joined in {joined:.1f} s")
        if not same:
            sys.exit("the digests differ")
        self.line("### An empty server joins\n")
        self.prose(f"""{count_text(players)} players. The first server had them in {filled:.1f} s (ZADD with 100 members each, through
            Kafka) and wrote its snapshot in {saved:.1f} s. An empty server with `peers` was ready, with the same digest,
            **{joined:.1f} s** after its start: it fetched {size / 1e6:,.0f} MB over HTTP, checked and loaded them, and read the rest of the log.""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--players", default="10M")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="a minute: shorter rounds, 100,000 players")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    command = " ".join(["./dev bench kafka", *(a for a in sys.argv[1:] if a != "--write")])
    options.warm = 1
    if options.quick:
        options.seconds, options.rounds, options.players = 1, 1, "100k"
    options.players = int(options.players.replace("M", "000000").replace("k", "000"))
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"--only: expected some of {', '.join(PARTS)}, found {', '.join(unknown)}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-bench-kafka-"))
    try:
        Broker.jvm = BROKER_JVM
        with Brokers(1) as brokers:
            bench = Bench(options, brokers, folder)
            bench.line("\n" + measure("machine", command=command).strip() + "\n")
            bench.prose("One broker (Kafka 4.1) with one partition, on the same machine as everything else; it writes to the page cache, as Kafka does.")
            for part in parts:
                getattr(bench, part)()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = "\n".join(bench.out)
    print(text)
    if options.write and set(parts) == set(PARTS):
        splice(text, "kafka")
    elif options.write:
        say("only a part was measured: nothing is written")


if __name__ == "__main__":
    main()
