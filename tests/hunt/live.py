#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind tests/hunt/live.sh: one process, one selector, thousands of viewers that put their lists together again."""
import json
import os
import pathlib
import random
import resource
import selectors
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from server import Server  # noqa: E402

TOPICS = ["limit=10", "limit=100", "limit=10&scope=country:FI", "limit=20&window=day", "player=p7&around=5", "player=p99&around=10"]
PLAYERS = 2000


class Viewer:
    def __init__(self, address, topic, is_websocket):
        self.address, self.topic, self.is_websocket = address, topic, is_websocket
        self.rows, self.seq = {}, None
        self.frames = self.resumed = self.anew = 0
        self.is_stuck = False
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(self.address)
        since = f"&since={self.seq}" if self.seq is not None else ""
        head = f"GET /v1/boards/race/live?{self.topic}{since} HTTP/1.1\r\nHost: localhost\r\n"
        if self.is_websocket:
            head += ("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
        self.socket.sendall(head.encode() + b"\r\n")
        self.socket.setblocking(False)
        self.bytes, self.events, self.is_head_read = b"", b"", False

    def read(self):
        """False: the connection is over."""
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return True
        if not data:
            return False
        self.bytes += data
        if not self.is_head_read:
            if b"\r\n\r\n" not in self.bytes:
                return True
            head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
            assert head.split()[1] in (b"200", b"101"), head
            self.is_head_read = True
        self.frames_in() if self.is_websocket else self.chunks_in()
        return True

    def chunks_in(self):
        while (end := self.bytes.find(b"\r\n")) >= 0:
            size = int(self.bytes[:end], 16)
            if len(self.bytes) < end + 2 + size + 2:
                return
            self.events += self.bytes[end + 2:end + 2 + size]
            self.bytes = self.bytes[end + 4 + size:]
            while b"\n\n" in self.events:
                event, self.events = self.events.split(b"\n\n", 1)
                for line in event.split(b"\n"):
                    if line.startswith(b"data: "):
                        self.take(json.loads(line[6:]))

    def frames_in(self):
        while len(self.bytes) >= 2:
            size, at = self.bytes[1] & 0x7f, 2
            if size == 126:
                if len(self.bytes) < 4:
                    return
                size, at = struct.unpack(">H", self.bytes[2:4])[0], 4
            if len(self.bytes) < at + size:
                return
            opcode, payload = self.bytes[0] & 15, self.bytes[at:at + size]
            self.bytes = self.bytes[at + size:]
            if opcode == 9:
                self.socket.sendall(b"\x8a\x80\0\0\0\0")
            elif opcode == 1:
                self.take(json.loads(payload))

    def take(self, frame):
        self.frames += 1
        if frame["type"] == "state":
            self.anew += self.seq is not None
            self.rows = {row["player"]: row for row in frame["entries"]}
        elif frame["type"] == "change":
            assert frame["since"] == self.seq, (self.topic, self.seq, frame)
            for player in frame["gone"]:
                del self.rows[player]
            self.rows.update({row["player"]: row for row in frame["changed"]})
        else:
            assert frame["type"] == "resumed" and frame["seq"] == self.seq
            self.resumed += 1
        self.seq = frame["seq"]

    @property
    def shown(self):
        return [(row["player"], row["rank"], row["score"]) for row in sorted(self.rows.values(), key=lambda row: row["place"])]


def cpu(server):
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pour(server, stop, rng, counts):
    """Scores in batches until told to stop."""
    conn = server.open()
    while not stop.is_set():
        batch = [{"board": "race", "player": f"p{rng.randrange(PLAYERS)}", "score": rng.randrange(10 ** 6)} for _ in range(500)]
        assert server.post("/v1/scores", batch, connection=conn).status == 200
        counts[0] += len(batch)


def wanted(server, topic):
    if topic.startswith("player="):
        player, rest = topic[7:].split("&", 1)
        answer = server.get(f"/v1/boards/race/players/{player}?{rest}").json
        entries = answer["above"] + [answer["entry"]] + answer["below"]
    else:
        entries = server.get(f"/v1/boards/race/top?{topic}").json["entries"]
    return [(entry["player"], entry["rank"], entry["score"]) for entry in entries]


def drained(selector, until):
    """What viewers were sent, thrown away: the reader must not be what is measured."""
    while time.monotonic() < until:
        for key, _ in selector.select(0.05):
            key.fileobj.recv(1 << 18)


def metric(server, name):
    return float(next(line for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name + " ")).split()[1])


def price(count, is_websocket):
    """So many viewers of one list: the memory of one that waits, and the server's CPU for each frame it gets."""
    with Server("--limits-connections", count + 100) as server:
        server.put("/v1/boards/race", {"update": "last"})
        server.post("/v1/scores", [{"board": "race", "player": f"p{i}", "score": i} for i in range(PLAYERS)])
        before, selector = server.memory(), selectors.DefaultSelector()
        for _ in range(count):
            selector.register(Viewer(server.http, "limit=10", is_websocket).socket, selectors.EVENT_READ)
            drained(selector, time.monotonic()) if len(selector.get_map()) % 100 == 0 else None
        drained(selector, time.monotonic() + 2)
        assert metric(server, "rung_live_viewers") == count
        memory = (server.memory() - before) / count
        spent, sent, start = cpu(server), metric(server, "rung_live_sent_total"), time.monotonic()
        conn = server.open()
        for i in range(50):
            assert server.post("/v1/boards/race/scores", {"player": "p1", "score": 10 ** 6 + i}, connection=conn).status == 200
            drained(selector, start + (i + 1) / 10)
        drained(selector, time.monotonic() + 0.5)
        spent, sent = cpu(server) - spent, metric(server, "rung_live_sent_total") - sent
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        conn.close()
        print(f"{count} viewers by {'WebSocket' if is_websocket else 'server-sent events'}: {memory / 1024:.1f} KiB each while nothing happens; "
              f"{spent / sent * 1e6:.1f} us of the server's CPU for each of {sent / count:.0f} frames", flush=True)


def main():
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    seed = int(os.environ.get("RUNG_SEED", time.time()))
    rng = random.Random(seed)
    print(f"{count} viewers for {seconds:g} s, RUNG_SEED={seed}", flush=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    price(count, False)
    price(count, True)
    if not seconds:
        return
    with Server("--limits-connections", count + 100) as server:
        server.put("/v1/boards/race", {"windows": ["all", "day"], "scopes": ["country"], "update": "last"})
        for i in range(0, PLAYERS, 20):
            server.put(f"/v1/players/p{i}", {"country": "FI"})
        server.post("/v1/scores", [{"board": "race", "player": f"p{i}", "score": i} for i in range(PLAYERS)])
        before = server.memory()
        viewers = [Viewer(server.http, TOPICS[i % len(TOPICS)], i % 2 == 1) for i in range(count)]
        selector = selectors.DefaultSelector()
        for viewer in viewers:
            selector.register(viewer.socket, selectors.EVENT_READ, viewer)

        def turn(until):
            while time.monotonic() < until:
                for key, _ in selector.select(0.05):
                    if not key.data.is_stuck and not key.data.read():
                        raise AssertionError(f"{key.data.topic}: closed")
        turn(time.monotonic() + 2)
        cost = (server.memory() - before) / count
        idle_cpu, start = cpu(server), time.monotonic()
        turn(start + 3)
        idle = (cpu(server) - idle_cpu) / (time.monotonic() - start)

        stop, counts = threading.Event(), [0]
        writer = threading.Thread(target=pour, args=(server, stop, random.Random(seed + 1), counts))
        writer.start()
        busy_cpu, start, frames = cpu(server), time.monotonic(), sum(v.frames for v in viewers)
        while time.monotonic() < start + seconds:
            for viewer in rng.sample(viewers, max(1, count // 200)):
                if rng.random() < 0.5:
                    viewer.is_stuck = not viewer.is_stuck
                else:
                    selector.unregister(viewer.socket)
                    viewer.socket.close()
                    viewer.connect()
                    viewer.is_stuck = False
                    selector.register(viewer.socket, selectors.EVENT_READ, viewer)
            turn(time.monotonic() + 0.5)
        busy, took = cpu(server) - busy_cpu, time.monotonic() - start
        peak = (server.memory() - before) / count
        stop.set()
        writer.join()
        for viewer in viewers:
            viewer.is_stuck = False
        answers = {topic: wanted(server, topic) for topic in TOPICS}
        end = time.monotonic() + 60
        while any(v.shown != answers[v.topic] for v in viewers):
            assert time.monotonic() < end, [v.topic for v in viewers if v.shown != answers[v.topic]][:10]
            turn(time.monotonic() + 0.5)
        frames = sum(v.frames for v in viewers) - frames
        print(f"memory per viewer: {cost / 1024:.1f} KiB idle, {peak / 1024:.1f} KiB under load\n"
              f"CPU: {idle * 100:.1f} % idle; {busy / took * 100:.0f} % with {counts[0] / took:,.0f} scores/s and {frames / took:,.0f} frames/s delivered\n"
              f"came back: {sum(v.resumed for v in viewers)} resumed, {sum(v.anew for v in viewers)} anew (or caught up)\n"
              f"all {count} lists equal the server's")
        assert server.stop() == 0


if __name__ == "__main__":
    main()
