# SPDX-License-Identifier: Apache-2.0
"""Clients of several servers that share a log, each with a book of its own about what must be true. faults.py breaks the servers and
brokers meanwhile.

A writer submits to random servers, over HTTP and RESP, and repeats a submission with the same id until it is acknowledged; some go to
two servers at once. Only this writer changes its players, so each answer and each fresh read has one right value:

  - an acknowledgement carries the score of the writer's book, and at most one of an id says that it was not a duplicate;
  - a read with min_seq of an acknowledgement, or with latest=true, at any server, gives exactly the score of the book;
  - submissions without an id are counted: acknowledged <= score <= acknowledged + unknown, and what was refused never counts.

The watcher compares the digests of the servers wherever two have been seen at the same sequence."""
import collections
import http.client
import itertools
import json
import random
import sys
import threading
import time
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from client import KafkaError  # noqa: E402
from resp import Error  # noqa: E402

BOARDS = {"total": {"update": "sum"}, "last": {"update": "last"}, "best": {"update": "best"}, "bare": {"update": "sum"}}
TALLY = "tally"  # a key of the Redis protocol, changed without ids
SHARED = "everybody"  # a player of the board total that all writers change
PATIENCE = 3  # seconds; a server that does not answer by then may be stopped
LONG_SILENCE = 5  # seconds without an acknowledgement that are worth a line
REST = 0.02  # seconds between attempts: the servers may be down
TWICE, BARE, READ, SHARE = 0.1, 0.1, 0.4, 0.2  # how often

ACK, NO, UNKNOWN = "ack", "no", "unknown"
# What RESP says when a server has no log, is starting, or is busy; nothing else may go wrong.
RESP_REFUSALS = ("LOGDOWN", "LOADING", "TRYAGAIN", "ERR closing")
RESP_UNKNOWN = "UNKNOWN"


class Wrong(Exception):
    """Something is not as the book says."""


class Outcome:
    def __init__(self, kind, score=None, seq=None, is_duplicate=False, why="no answer"):
        self.kind, self.score, self.seq, self.is_duplicate, self.why = kind, score, seq, is_duplicate, why


class HttpWire:
    """One connection to a server for submissions and reads."""

    def __init__(self, node):
        self.connection = node.open()
        self.connection.timeout = PATIENCE
        self.connection.connect()

    def begin(self, op):
        body = {"player": op.player, op.field: op.value, **({"id": op.id} if op.id else {})}
        self.connection.request("POST", f"/v1/boards/{op.board}/scores", json.dumps(body), {"Content-Type": "application/json"})

    def finish(self, op):
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status == 200:
            found = json.loads(body)
            return Outcome(ACK, found["score"], found["seq"], found.get("duplicate", False))
        if answer.status != 503:
            raise Wrong(f"{op}: {answer.status} {body}")
        why = json.loads(body)["code"]
        return Outcome(UNKNOWN if why == "outcome_unknown" else NO, why=why)

    def read(self, path):
        """(status, the parsed answer)"""
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self):
        self.connection.close()


class RespWire:
    def __init__(self, node):
        self.connection = node.open_resp()
        self.connection.socket.settimeout(PATIENCE)

    def begin(self, op):
        if op.id:
            self.connection.send(("RUNG.SUBMIT", op.board, op.player, op.value, *(["DELTA"] if op.field == "delta" else []), "ID", op.id))
        else:
            self.connection.send(("ZINCRBY", op.board, op.value, op.player))

    def finish(self, op):
        reply = self.connection.read().value
        if isinstance(reply, Error):
            if not reply.startswith((*RESP_REFUSALS, RESP_UNKNOWN)):
                raise Wrong(f"{op}: {reply}")
            return Outcome(UNKNOWN if reply.startswith(RESP_UNKNOWN) else NO, why=reply.split(":")[0])
        if not op.id:
            return Outcome(ACK, int(float(reply)))
        pairs = {bytes(k).decode(): v for k, v in zip(reply[::2], reply[1::2])}
        return Outcome(ACK, int(pairs["score"]), None, pairs["duplicate"] == 1)

    def read_latest(self, op):
        """(status, score), the status as over HTTP"""
        waited = self.connection.call("RUNG.LATEST").value
        if isinstance(waited, Error):
            return 503 if waited.startswith(RESP_REFUSALS) else waited, None
        found = self.connection.call("ZSCORE", op.board, op.player).value
        return (200, float(found)) if isinstance(found, bytes) else (found, None)

    def close(self):
        self.connection.close()


class Op:
    """A submission. `after` is the score that an acknowledgement must carry; None: others change that player, too."""

    def __init__(self, id_, board, player, field, value, after):
        self.id, self.board, self.player, self.field, self.value, self.after = id_, board, player, field, value, after
        self.fresh, self.seq = 0, None

    def __repr__(self):
        return f"{self.id or 'no id'}: {self.board}/{self.player} {self.field}={self.value}"


class Counters:
    """Of all writers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acked = self.unknown = self.repeated = self.reads = self.unavailable = self.digests = 0
        self.shared_tried = self.shared_acked = 0
        self.last_ack, self.silence = time.monotonic(), 0.0  # the longest time without an acknowledgement
        self.heard, self.silences = collections.Counter(), []  # instead of acknowledgements; what to tell of long silences
        self.bare = collections.deque([self.last_ack], 10000)  # when the probe was acknowledged
        self.bare_silence = self.extra_silence = 0.0

    def begin(self):
        self.last_ack = time.monotonic()
        self.bare.append(self.last_ack)

    def note_ack(self):
        with self.lock:
            now = time.monotonic()
            silence, self.last_ack = now - self.last_ack, now
            self.silence = max(self.silence, silence)
            if silence > LONG_SILENCE:
                heard = ", ".join(f"{count} x {what}" for what, count in sorted(self.heard.items()))
                bare = self.bare_gap(now - silence, now)
                self.extra_silence = max(self.extra_silence, silence - bare)
                self.silences.append(f"  {silence:.1f} s without an acknowledgement, {bare:.1f} s for a bare producer; heard: {heard}")
            self.heard.clear()
            self.acked += 1

    def note_bare(self):
        with self.lock:
            now = time.monotonic()
            self.bare_silence = max(self.bare_silence, now - self.bare[-1])
            self.bare.append(now)

    def bare_gap(self, begin, end):
        """The longest time without an acknowledgement of the probe that touches this one."""
        times = [*self.bare, end]
        return max((b - a for a, b in zip(times, times[1:]) if b >= begin), default=0.0)

    def note_other(self, node, what):
        with self.lock:
            self.heard[f"{node}: {what}"] += 1

    def add(self, name, count=1):
        with self.lock:
            setattr(self, name, getattr(self, name) + count)


class Worker(threading.Thread):
    """A thread that keeps its failure, and can be told to rest."""

    def __init__(self, nodes, counters):
        super().__init__(daemon=True)
        self.nodes, self.counters, self.failure = nodes, counters, None
        self.may_go, self.rests, self.must_end = threading.Event(), threading.Event(), False
        self.wires = {}
        self.may_go.set()

    def run(self):
        try:
            while not self.must_end:
                if not self.may_go.is_set():
                    self.rests.set()
                    self.may_go.wait()
                    self.rests.clear()
                    continue
                self.step()
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e if isinstance(e, Wrong) else Wrong(f"{type(self).__name__}: {e!r}")
        self.rests.set()

    def wire(self, node, kind):
        key = node, kind
        if key not in self.wires:
            self.wires[key] = kind(node)
        return self.wires[key]

    def forget(self, node, kind):
        wire = self.wires.pop((node, kind), None)
        if wire:
            wire.close()

    def read(self, node, path):
        """The status and the parsed answer; None if the server does not answer."""
        try:
            return self.wire(node, HttpWire).read(path)
        except (OSError, http.client.HTTPException):
            self.forget(node, HttpWire)
            return None


class Writer(Worker):
    def __init__(self, nodes, counters, name, seed):
        super().__init__(nodes, counters)
        self.player, self.chance, self.numbers = name, random.Random(seed), itertools.count()
        self.book = {(board, name): 0 for board in ("total", "last", "best")}
        self.bare = {key: [0, 0] for key in (("bare", name), (TALLY, name))}  # acknowledged, unknown

    def step(self):
        if self.chance.random() < BARE:
            self.submit_bare()
            return
        op = self.next_op()
        while not self.attempt(op):
            if self.must_end:
                return
            self.counters.add("repeated")
            time.sleep(REST)
        self.settle(op)
        if self.chance.random() < READ:
            self.check_read(op)

    def next_op(self):
        n, board, value = next(self.numbers), self.chance.choice(("total", "last", "best")), self.chance.randrange(1, 1000)
        if board == "total" and self.chance.random() < SHARE:
            self.counters.add("shared_tried", value)
            return Op(f"{self.player}-{n}", board, SHARED, "delta", value, None)
        now = self.book[board, self.player]
        after = {"total": now + value, "last": value, "best": max(now, value)}[board]
        return Op(f"{self.player}-{n}", board, self.player, "delta" if board == "total" else "score", value, after)

    def attempt(self, op):
        """Send it to one server, or to two before the first answers. True: it is acknowledged."""
        count = 2 if self.chance.random() < TWICE else 1
        sent = []
        for node in self.chance.sample(self.nodes, count):
            kind = self.chance.choice((HttpWire, RespWire))
            if self.guarded(node, kind, lambda wire: wire.begin(op) or True):
                sent.append((node, kind))
        outcomes = [self.guarded(node, kind, lambda wire: wire.finish(op)) or Outcome(UNKNOWN) for node, kind in sent]
        for o, (node, _) in zip(outcomes, sent):
            self.hear(op, o, node)
        return any(o.kind == ACK for o in outcomes)

    def guarded(self, node, kind, call):
        """The result of call(wire), or None if the connection is gone."""
        try:
            return call(self.wire(node, kind))
        except (OSError, http.client.HTTPException) as e:
            self.forget(node, kind)
            self.counters.note_other(node, type(e).__name__)
            return None

    def hear(self, op, outcome, node):
        if outcome.kind == UNKNOWN:
            self.counters.add("unknown")
        if outcome.kind != ACK:
            self.counters.note_other(node, outcome.why)
            return
        op.fresh += not outcome.is_duplicate
        op.seq = outcome.seq or op.seq
        if op.fresh > 1:
            raise Wrong(f"{op}: applied twice")
        if op.after is not None and outcome.score != op.after:
            raise Wrong(f"{op}: acknowledged with score {outcome.score}, not {op.after}")

    def settle(self, op):
        self.counters.note_ack()
        if op.player == SHARED:
            self.counters.add("shared_acked", op.value)
        else:
            self.book[op.board, op.player] = op.after

    def check_read(self, op):
        how = self.chance.choice(("latest=true", "RUNG.LATEST", f"min_seq={op.seq}" if op.seq else "latest=true"))
        low = op.after if op.after is not None else op.value if "min_seq" in how else self.counters.shared_acked
        node = self.chance.choice(self.nodes)
        if how == "RUNG.LATEST":
            answer = self.guarded(node, RespWire, lambda wire: wire.read_latest(op))
        else:
            answer = self.read_score(node, op, how)
        if not answer or answer[0] == 503:
            self.counters.add("unavailable")
            return
        status, score = answer
        high = op.after if op.after is not None else self.counters.shared_tried
        if status != 200 or not low <= score <= high:
            raise Wrong(f"stale: {node} with {how} after {op}: {low} to {high} expected, {status} {score}")
        self.counters.add("reads")

    def read_score(self, node, op, how):
        answer = self.read(node, f"/v1/boards/{op.board}/players/{op.player}?window=all&{how}")
        return answer and (answer[0], answer[1]["entry"]["score"] if answer[0] == 200 else answer[1])

    def submit_bare(self):
        kind = self.chance.choice((HttpWire, RespWire))
        board = "bare" if kind is HttpWire else TALLY
        op = Op(None, board, self.player, "delta", 1, None)
        node = self.chance.choice(self.nodes)
        if not self.guarded(node, kind, lambda wire: wire):
            time.sleep(REST)
            return
        outcome = self.guarded(node, kind, lambda wire: wire.begin(op) or wire.finish(op)) or Outcome(UNKNOWN)
        if outcome.kind == ACK:
            self.bare[board, self.player][0] += 1
            self.counters.note_ack()
        elif outcome.kind == UNKNOWN:
            self.bare[board, self.player][1] += 1
            self.counters.add("unknown")


class Probe(Worker):
    """A bare producer beside the servers, on a topic with the same settings: when it is not acknowledged either, the brokers cannot."""
    TOPIC, PAUSE = "probe", 0.05

    def __init__(self, client, counters):
        super().__init__([], counters)
        self.client = client
        client.create_topic(self.TOPIC, replication=3, configs={"min.insync.replicas": "2"})

    def step(self):
        try:
            self.client.produce(self.TOPIC, b"probe")
            self.counters.note_bare()
        except KafkaError:
            pass
        time.sleep(self.PAUSE)


class Watcher(Worker):
    """Looks at sequence and digest of all servers, over and over."""
    REMEMBERED = 20000

    def __init__(self, nodes, counters):
        super().__init__(nodes, counters)
        self.seen = {}  # seq -> (digest, node)

    def step(self):
        for node in self.nodes:
            self.look(node)
        time.sleep(REST)

    def look(self, node):
        answer = self.read(node, "/readyz")
        if not answer or "digest" not in answer[1]:
            return None
        seq, digest = answer[1]["seq"], answer[1]["digest"]
        if seq not in self.seen:
            self.seen[seq] = digest, node
        elif self.seen[seq][0] != digest:
            raise Wrong(f"at {seq} {node} has digest {digest}, and {self.seen[seq][1]} {self.seen[seq][0]}")
        elif self.seen[seq][1] is not node:
            self.counters.add("digests")
        if len(self.seen) > self.REMEMBERED:
            self.seen = dict(list(self.seen.items())[-self.REMEMBERED // 2:])
        return seq, digest


def check_books(node, writers, counters):
    """Everything that is in the books, at one server. Nobody writes. None: it did not answer yet."""
    found = {}
    for board in (*BOARDS, TALLY):
        answer = node.get(f"/v1/boards/{board}/top?window=all&limit=1000&latest=true")
        if answer.status != 200:
            return None
        for row in answer.json["entries"]:
            found[board, row["player"]] = row["score"]
    for w in writers:
        for key, score in w.book.items():
            if found.get(key, 0) != score:
                raise Wrong(f"{node}: {key} is {found.get(key)}, and {score} in the book")
        for key, (acked, unknown) in w.bare.items():
            if not acked <= found.get(key, 0) <= acked + unknown:
                raise Wrong(f"{node}: {key} is {found.get(key)}, {acked} were acknowledged and {unknown} unknown")
    if found.get(("total", SHARED), 0) != counters.shared_acked:
        raise Wrong(f"{node}: {SHARED} has {found.get(('total', SHARED))}, and {counters.shared_acked} in the books")
    return True
