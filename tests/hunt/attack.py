#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind tests/hunt/attack.sh and tests/e2e/test_attack.py: an adversary and an honest client on one server.

    attack.py SECONDS [SEED] [--strict]     --strict: the honest client's p99 decides, too

The server has small limits, so that the adversary reaches them. It has keys, one public board, boards that the adversary may
write (`sandbox*`) and boards that only the honest client may see. Each actor is a process of its own:

    honest client       127.0.0.2   fixed rate, each answer compared with a model; latency counts from the moment a request was due
    random requests     127.0.0.3   made from /openapi.json and from COMMAND, with every kind of credential; pipelined, cut, half-closed
    mutations           127.0.0.4   valid sessions with bytes flipped, dropped, repeated and inserted, on both ports and WebSocket
    floods              127.0.0.5   one after the other: half commands, slow bodies, streams, waiting reads, live topics, blocked pops, ...
    thief               127.0.0.6   holds keys that are revoked while a stream of scores is open

A run fails when: the server ends or says something of a sanitizer; an answer of the honest client is missing or wrong; an
adversary sees a name that only the honest client may see, or a status 500; a revoked key's score is accepted; buffers grow beyond
their limit; the log does not verify, or the honest boards differ after a restart. With --strict also when the honest p99 under
attack is more than three times the p99 without.

The adversary runs at the lowest priority: it is the server's fairness that is tested, not the kernel's. All traffic is on loopback."""
import bisect
import json
import multiprocessing
import os
import pathlib
import random
import re
import signal
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from openapi import Document  # noqa: E402
from resp import Connection, encode  # noqa: E402
from server import Server, parse_answers, rung, token  # noqa: E402

FLAGS = ["--limits-connections", "400", "--limits-connections-per-address", "20", "--limits-work", "20000",
         "--limits-buffers", "8MiB", "--limits-waiting", "2048", "--limits-in-flight", "256", "--memory-max", "64MiB",
         "--limits-auth-timeout", "2s", "--limits-command-timeout", "2s", "--limits-body-deadline", "5s", "--live-topics", "200",
         "--limits-header-timeout", "2s", "--limits-body-timeout", "2s", "--limits-idle-timeout", "5s", "--limits-write-timeout", "3s",
         "--ids-capacity", "5000", "--snapshot-every", "4MiB", "--public", "sandbox-public*", "--as-of-processes", "1", "--rates-peer", "2000/s"]
BUFFERS = 8 << 20
SANITIZERS = {"ASAN_OPTIONS": "exitcode=66:detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
              "TSAN_OPTIONS": "exitcode=66"}
SECRET = b"a secret of thirty-two bytes, or more"
RATED = "/v1/boards/sandbox-public-elo"
HIDDEN = "vault7x"  # in every name that only the honest client may see
RATE = 100  # requests of the honest client in a second
COMMANDS = """APPEND AUTH BZMPOP BZPOPMAX BZPOPMIN CLIENT COMMAND CONFIG COPY DBSIZE DEL DISCARD ECHO EVAL EXEC EXISTS EXPIRE EXPIREAT
EXPIRETIME FLUSHALL FLUSHDB GET HELLO HSET INFO KEYS LOLWUT MEMORY MONITOR MOVE MULTI OBJECT PERSIST PEXPIRE PEXPIREAT PING PSETEX PTTL
PUBLISH QUIT RANDOMKEY READONLY RENAME RENAMENX RESET RESTORE RUNG.AROUND RUNG.BOARD RUNG.RANK RUNG.SUBMIT RUNG.TOP SADD SAVE SCAN SELECT
SET SORT SUBSCRIBE TIME TOUCH TTL TYPE UNLINK UNWATCH WAIT WATCH ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE
ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX
ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE""".split()
WORDS = """0 1 -1 2 10 100000 9223372036854775807 -9223372036854775808 1e308 nan inf -inf (1 [a + - ( [ WITHSCORES LIMIT WEIGHTS
AGGREGATE SUM MIN MAX REV BYSCORE BYLEX NX XX GT LT CH INCR COUNT MATCH * sandbox* ? a b m1 m2 STORE IDX WINDOW week day SCOPE
country:FI RANK dense unique sparse AT ID 2 3 AUTH SETNAME me x NOW""".split()


class Failure(Exception):
    """What the run was to find."""


class World:
    """What every actor knows. `failures` and `counts` are shared between the processes."""

    def __init__(self, server, keys, seed, manager):
        self.http, self.resp, self.keys, self.seed = server.http, server.resp, keys, seed
        self.pid, self.document = server.process.pid, server.get("/openapi.json").json
        self.failures, self.counts, self.stop = manager.list(), manager.dict(), manager.Event()

    def dial(self, port, source, timeout=5):
        s = socket.create_connection(port, timeout=timeout, source_address=(source, 0))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def look(self, who, sent, got):
        """What an adversary was sent: no secrets, no internal error."""
        if HIDDEN.encode() in got and HIDDEN.encode() not in sent:
            raise Failure(f"{who} saw a hidden name: {sent[:600]!r} -> {got[:2000]!r}")
        if re.search(rb"^HTTP/1\.1 500 ", got, re.M):
            raise Failure(f"{who} got a 500: {sent[:600]!r} -> {got[:600]!r}")


def bearer(key):
    return f"Authorization: Bearer {key}\r\n" if key else ""


def head(method, path, key=None, more=""):
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{bearer(key)}{more}\r\n".encode()


def drain(s, seconds):
    """What comes within so many seconds, at most a megabyte."""
    got, end = b"", time.monotonic() + seconds
    while len(got) < 1 << 20 and (left := end - time.monotonic()) > 0:
        s.settimeout(left)
        try:
            chunk = s.recv(1 << 16)
        except OSError:
            break
        if not chunk:
            break
        got += chunk
    return got


# ---- the honest client ----

class Honest:
    """Knows what every answer must be: it alone writes its boards. Ranks are sparse; of equal scores the first comes first."""

    def __init__(self, world, chance):
        self.world, self.chance = world, chance
        self.key, self.board, self.zset = world.keys["honest"], f"board-{HIDDEN}", f"keys-{HIDDEN}"
        self.scores, self.order, self.members = {}, [], {}
        self.tick, self.seq, self.last = 0, 0, None
        self.open()

    def open(self):
        self.socket = self.world.dial(self.world.http, "127.0.0.2", 60)
        self.redis = Connection(self.world.resp, source="127.0.0.2")
        self.expect(self.redis.call("AUTH", self.key).value, "OK", "AUTH")

    def expect(self, got, want, what):
        if got != want:
            raise Failure(f"honest {what}: got {got!r}, expected {want!r}")

    def ask(self, method, path, body=None, status=200, kind="application/json", key=""):
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        more = f"Content-Type: {kind}\r\nContent-Length: {len(data)}\r\n" if body is not None else ""
        self.socket.sendall(head(method, path, self.key if key == "" else key, more) + data)
        got = b""
        while True:
            chunk = self.socket.recv(1 << 18)
            if not chunk:
                raise Failure(f"honest {method} {path}: closed after {got!r}")
            got += chunk
            answers, rest = parse_answers(got)
            if answers and not rest:
                break
        answer = answers[0]
        if answer[0] != status:
            raise Failure(f"honest {method} {path} {data[:200]!r}: {answer[0]} {answer[2][:600]!r}")
        if answer[1].get("connection") == "close":
            raise Failure(f"honest {method} {path}: told to close: {answer}")
        return answer[2]

    def rank(self, score):
        return 1 + bisect.bisect_left(self.order, (-score, -1, ""))

    def put(self, player, score):
        """The best score counts."""
        old = self.scores.get(player)
        if old and old[0] >= score:
            return False
        self.tick += 1
        if old:
            self.order.remove((-old[0], old[1], player))
        self.scores[player] = (score, self.tick)
        bisect.insort(self.order, (-score, self.tick, player))
        return True

    def player(self):
        return f"{HIDDEN}-p{self.chance.randrange(400)}"

    def check_submitted(self, answer, player, changed):
        score = self.scores[player][0]
        self.expect((answer.get("player", player), answer.get("score"), answer.get("changed"), answer.get("rank"), answer.get("total")),
                    (player, score, changed, self.rank(score), len(self.order)), f"submission {answer}")
        self.seq = max(self.seq, answer["seq"])

    def uuid7(self):
        now = int(time.time() * 1000)
        return f"{now >> 16:08x}-{now & 0xffff:04x}-7{self.chance.randrange(4096):03x}-8{self.chance.randrange(4096):03x}-" \
               f"{self.chance.randrange(1 << 48):012x}"

    def submit(self):
        player, score = self.player(), self.chance.randrange(100000)
        body = {"player": player, "score": score}
        if self.chance.random() < 0.7:
            body["id"] = self.uuid7()
        answer = json.loads(self.ask("POST", f"/v1/boards/{self.board}/scores", body))
        self.check_submitted(answer, player, self.put(player, score))
        if "id" in body:
            self.last = body, answer

    def repeat(self):
        """The same id again: the first answer."""
        if not self.last:
            return self.submit()
        again = json.loads(self.ask("POST", f"/v1/boards/{self.board}/scores", self.last[0]))
        self.expect((again["duplicate"], again["player"], again["score"]),
                    (True, self.last[1]["player"], self.last[1]["score"]), f"repeat {again}")

    def batch(self):
        lines = [(self.player(), self.chance.randrange(100000)) for _ in range(5)]
        text = "".join(json.dumps({"board": self.board, "player": p, "score": s}) + "\n" for p, s in lines).encode()
        answers = [json.loads(x) for x in self.ask("POST", "/v1/scores", text, kind="application/x-ndjson").splitlines()]
        self.expect(len(answers), 5, f"batch {answers}")
        for answer, (player, score) in zip(answers, lines):
            self.check_submitted(answer, player, self.put(player, score))

    def check_rows(self, rows, want, what):
        self.expect([(r["rank"], r["player"], r["score"]) for r in rows],
                    [(self.rank(-s), p, -s) for s, _, p in want], what)

    def top(self):
        query = f"limit={self.chance.randrange(1, 30)}&offset={self.chance.randrange(20)}"
        limit, offset = (int(x) for x in re.findall(r"\d+", query))
        late = f"&min_seq={self.seq}" if self.chance.random() < 0.3 else ""
        answer = json.loads(self.ask("GET", f"/v1/boards/{self.board}/top?{query}{late}"))
        self.expect(answer["total"], len(self.order), "total")
        self.check_rows(answer["entries"], self.order[offset:offset + limit], f"top {query}")

    def around(self):
        if not self.order:
            return self.submit()
        place = self.chance.randrange(len(self.order))
        s, tick, player = self.order[place]
        answer = json.loads(self.ask("GET", f"/v1/boards/{self.board}/players/{player}?around=2"))
        first = max(0, min(place - 2, len(self.order) - 5))  # at either end the other side gets more
        self.check_rows(answer["above"], self.order[first:place], "above")
        self.check_rows([answer["entry"]], [(s, tick, player)], "entry")
        self.check_rows(answer["below"], self.order[place + 1:max(first + 5, place + 1)], "below")

    def health(self):
        self.ask("GET", "/healthz", key=None)

    def live(self):
        """A new viewer gets the state at once."""
        s = self.world.dial(self.world.http, "127.0.0.2", 60)
        s.sendall(head("GET", f"/v1/boards/{self.board}/live?limit=3", self.key))
        got = b""
        while b"\n\n" not in got.partition(b"\r\n\r\n")[2]:
            chunk = s.recv(1 << 16)
            if not chunk:
                raise Failure(f"honest live: {got!r}")
            got += chunk
        s.close()
        found = re.search(rb"event: (\w+)\r?\n(?:.*\n)*?data: (.*)\n", got)
        if not found or found[1] == b"end":
            raise Failure(f"honest live: {got!r}")
        self.check_rows(json.loads(found[2])["entries"], self.order[:3], f"live {got!r}")

    def zadd(self):
        member, score = f"m{self.chance.randrange(300)}", self.chance.randrange(1000)
        self.expect(self.redis.call("ZADD", self.zset, score, member).value, int(member not in self.members), "ZADD")
        self.members[member] = score

    def zrank(self):
        if not self.members:
            return self.zadd()
        member = self.chance.choice(sorted(self.members))
        order = sorted(self.members, key=lambda m: (self.members[m], m))
        replies = self.redis.pipeline([("ZRANK", self.zset, member), ("ZSCORE", self.zset, member), ("ZCARD", self.zset)])
        self.expect([r.value for r in replies], [order.index(member), str(self.members[member]).encode(), len(order)], "ZRANK")

    def acts(self):
        return [self.submit] * 6 + [self.top] * 5 + [self.around] * 4 + [self.zadd] * 3 + [self.zrank] * 3 + \
            [self.batch, self.repeat, self.health, self.live]

    def run(self, seconds, latencies):
        """At a fixed rate; a request that is late because the one before it was slow counts from when it was due."""
        start, n, acts = time.monotonic(), 0, self.acts()
        while time.monotonic() - start < seconds and not self.world.stop.is_set():
            due = start + n / RATE
            n += 1
            if (wait := due - time.monotonic()) > 0:
                time.sleep(wait)
            self.chance.choice(acts)()
            latencies.append(time.monotonic() - due)

    def everything(self):
        """All it must find again after a restart."""
        return [(self.rank(-s), p, -s) for s, _, p in self.order], dict(self.members)


def p99(latencies):
    return sorted(latencies)[int(len(latencies) * 0.99)] if latencies else 0


# ---- the adversary ----

def strings(chance):
    return chance.choice([chance.choice(WORDS), "sandbox", f"sandbox{chance.randrange(5)}", f"m{chance.randrange(50)}", "é" * 64, "",
                          f"board-{HIDDEN}", f"keys-{HIDDEN}", chance.randbytes(chance.randrange(40)), "x" * chance.choice([127, 128, 129, 70000])])


def some_command(chance):
    words = [chance.choice(COMMANDS), chance.choice(["sandbox", "sandbox1", "sandbox-public", strings(chance)])]
    return words[:chance.choice([1, 2, 2, 2])] + [strings(chance) for _ in range(chance.randrange(6))]


def some_key(world, chance):
    return world.keys[chance.choice(["nobody", "read", "server", "player", "revoked", "forged", "forged token", "garbage"])]


def some_request(world, document, chance):
    """One request made from the document; sometimes with a body or parameters that do not fit."""
    method, path, operation = chance.choice(list(document.everything()))
    url = document.url(path, operation, chance)
    body, headers = document.body(operation, chance)
    if chance.random() < 0.1:
        body, headers = chance.randbytes(chance.randrange(60)), {"Content-Type": "application/json"}
    if chance.random() < 0.2:
        url += ("&" if "?" in url else "?") + chance.choice(
            ["min_seq=50000", "min_seq=999999999", "window=day", "on=2026-11-15", "scope=country:FI", "limit=1000", "limit=0", "rank=dense", "x=%00"])
    more = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    if chance.random() < 0.05:
        more += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    if body is None:
        return head(method, url, some_key(world, chance), more)
    if chance.random() < 0.2:
        return head(method, url, some_key(world, chance), more + "Transfer-Encoding: chunked\r\n") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    return head(method, url, some_key(world, chance), more + f"Content-Length: {len(body)}\r\n") + body


def send_badly(s, data, chance):
    """Whole, in pieces, or not to the end."""
    if chance.random() < 0.1:
        data = data[:chance.randrange(len(data) + 1)]
    while data:
        size = len(data) if chance.random() < 0.7 else chance.randrange(1, len(data) + 1)
        s.sendall(data[:size])
        data = data[size:]
    if chance.random() < 0.1:
        s.shutdown(socket.SHUT_WR)


def leave(s, chance):
    if chance.random() < 0.2:  # with a reset
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def converse(world, who, source, port, data, chance, seconds=0.02):
    """Send, see what comes, leave."""
    try:
        s = world.dial(port, source)
    except OSError:
        return world.count(f"{who}: turned away")
    got = b""
    try:
        send_badly(s, data, chance)
        got = drain(s, seconds)
    except OSError:
        pass
    finally:
        leave(s, chance)
    world.count(f"{who}: sessions")
    world.look(who, data, got)


def random_requests(world, chance):
    document = Document(world.document, {"board": ["sandbox", "sandbox1", "sandbox-public", "sandbox-public-elo",
                                                             "sandbox-held", f"board-{HIDDEN}"], "player": ["a", "b", "me", "m1"],
                                         "friend": ["a", "b"], "team": ["red"], "attribute": ["country"], "key": ["nobody"],
                                         "min_seq": [0, 1, 10**6, 10**12, 2**63]})
    document.everything = lambda: [(m.upper(), p, o) for p, ms in world.document["paths"].items() for m, o in ms.items()]
    while not world.stop.is_set():
        if chance.random() < 0.5:
            data = b"".join(some_request(world, document, chance) for _ in range(chance.choice([1, 2, 4, 8, 30])))
            converse(world, "requests", "127.0.0.3", world.http, data, chance)
        else:
            words = [["AUTH", some_key(world, chance) or "x"]] if chance.random() < 0.9 else []
            words += [some_command(chance) for _ in range(chance.choice([1, 3, 20]))]
            converse(world, "commands", "127.0.0.3", world.resp, b"".join(map(encode, words)), chance)


def frame(payload, opcode=1, mask=b"abcd"):
    size = len(payload)
    start = bytes([0x80 | opcode]) + (bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536
                                      else b"\xff" + struct.pack(">Q", size))
    return start + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def websocket_session(world, chance):
    names = ["a", "é" * 64, "sandbox", "", "x" * 129, "week", "all", "2026-W46"]
    pick = lambda: chance.choice(names)  # noqa: E731
    data = head("GET", "/v1/boards/sandbox-public/live", chance.choice([None, world.keys["read"]]),
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    for _ in range(chance.randrange(1, 6)):
        message = {"op": chance.choice(["subscribe", "unsubscribe", "ping", "x"]), "board": pick(), "player": pick(), "around": chance.randrange(60),
                   "window": pick(), "window_id": pick(), "scope": "country:" + pick(), "rank": chance.choice(["sparse", "dense", "x"]),
                   "limit": chance.randrange(200)}
        keep = [k for k in message if k == "op" or chance.random() < 0.5]
        data += frame(json.dumps({k: message[k] for k in keep}, ensure_ascii=chance.random() < 0.5).encode(), chance.choice([1, 1, 1, 1, 2, 9, 8, 0]))
    return data


def mutate(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at, size = chance.randrange(len(data) + 1), chance.randrange(1, 12)
        what = chance.randrange(5)
        if what == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            del data[at:at + size]
        elif what == 2:
            data[at:at] = data[at:at + size]
        elif what == 3:
            data[at:at] = chance.choice([b"\r\n", b"\0", b"\r\n\r\n", b"*", b"$-1\r\n", b"999999999", b"{", b'"', b"\xff", b"X\r\n\r\n", b" "])
        else:
            data[at:at + size] = chance.randbytes(size)
    return bytes(data)


def mutations(world, chance):
    board, server = "/v1/boards/sandbox-public", world.keys["server"]
    score = b'{"player":"m1","score":5}'
    sessions = [
        lambda: head("GET", f"{board}/live") + head("GET", f"{board}/top"),
        lambda: head("GET", f"{board}/top?min_seq=99999") + b"X\r\n\r\n",
        lambda: head("POST", "/v1/boards/sandbox/scores", server, f"Content-Type: application/json\r\nContent-Length: {len(score)}\r\n") + score,
        lambda: head("POST", "/v1/scores", server, "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n")
        + b"".join(b"%x\r\n%s\r\n" % (len(x), x) for x in [b'{"board":"sandbox","player":"a","score":1}\n'] * 3) + b"0\r\n\r\n",
        lambda: websocket_session(world, chance),
    ]
    redis = [
        lambda: encode(["AUTH", server]) + encode(["MULTI"]) + encode(["ZADD", "sandbox", 1, "a"]) + encode(["EXEC"]),
        lambda: encode(["AUTH", server]) + encode(["BZPOPMIN", "sandbox9", 1]) + encode(["ZADD", "sandbox9", 1, "a"]),
        lambda: encode(["HELLO", 3, "AUTH", "default", server]) + encode(["ZRANGE", "sandbox", 0, -1, "WITHSCORES"]),
        lambda: b"PING\r\nAUTH x\r\nZADD sandbox 1 a\r\n",
    ]
    while not world.stop.is_set():
        is_http = chance.random() < 0.6
        data = mutate(chance.choice(sessions if is_http else redis)(), chance)
        converse(world, "mutations", "127.0.0.4", world.http if is_http else world.resp, data, chance, 0.02)


# ---- floods: each holds what it can for a while, then lets go ----

def crowd(world, port, count, first=b"", source="127.0.0.5"):
    sockets = []
    for _ in range(count):
        if world.stop.is_set():
            break
        try:
            s = world.dial(port, source)
            s.sendall(first)
            sockets.append(s)
        except OSError:
            world.count("floods: turned away")
    return sockets


def flood_half_commands(world, chance):
    return crowd(world, world.resp, 500, b"*2\r\n$4\r\nAU")


def flood_half_heads(world, chance):
    return crowd(world, world.http, 500, b"GET /v1/boards HTTP/1.1\r\nHost: loc")


def flood_slow_bodies(world, chance):
    body = b"[" + b" " * 500000
    return crowd(world, world.http, 60, head("POST", "/v1/scores", world.keys["server"],
                                             "Content-Type: application/json\r\nContent-Length: 600000\r\n") + body)


def flood_multi(world, chance):
    queue = encode(["AUTH", world.keys["server"]]) + encode(["MULTI"]) + encode(["PING", "x" * 100000]) * 3
    return crowd(world, world.resp, 100, queue)


def flood_streams(world, chance):
    """Idle ones, and busy ones that do not read their answers."""
    start = head("POST", "/v1/scores", world.keys["server"], "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n")
    line = b'{"board":"sandbox","player":"p","score":1}\n' * 200
    idle = crowd(world, world.http, 150, start + b"%x\r\n%s\r\n" % (100, b"\n" * 100))
    return idle + crowd(world, world.http, 16, start + b"%x\r\n%s\r\n" % (len(line), line))


def flood_waiting_reads(world, chance):
    reads = b"".join(head("GET", f"/v1/boards/sandbox-public/top?min_seq={10**6 - i}") for i in range(64))
    return crowd(world, world.http, 40, reads)


def flood_topics(world, chance):
    sockets = []
    for batch in range(10):
        for s in crowd(world, world.http, 50):
            try:
                s.sendall(head("GET", f"/v1/boards/sandbox-public/live?player=x{chance.randrange(10**9)}&around=1"))
            except OSError:
                pass
            (sockets if batch % 2 else []).append(s)
    return sockets


def flood_blocked(world, chance):
    keys = [f"sandbox-none{i}" for i in range(3000)]
    return crowd(world, world.resp, 60, encode(["AUTH", world.keys["server"]]) + encode(["BZPOPMIN", *keys, 0]))


def flood_work(world, chance):
    sockets = crowd(world, world.resp, 4, encode(["AUTH", world.keys["server"]]))
    fill = encode(["ZADD", "sandboxbig", *[w for i in range(3000) for w in (i, f"m{i}")]])
    for s in sockets:
        try:
            for command in (["ZINTERCARD", 300] + ["sandboxbig"] * 300, ["ZUNION", 100] + ["sandboxbig"] * 100,
                            ["ZUNIONSTORE", "sandboxsum", 100] + ["sandboxbig"] * 100, ["KEYS", "*?" * 30], ["ZRANDMEMBER", "sandboxbig", -100000]):
                s.sendall(fill + encode(command))
            drain(s, 0.3)
        except OSError:
            pass
    return sockets


def flood_forged_tokens(world, chance):
    sockets = crowd(world, world.http, 8)
    for s in sockets:
        try:
            for i in range(300):
                forged = token({"sub": "a", "exp": int(time.time()) + 600, "n": i}, secret=b"not the secret", kid="login")
                s.sendall(head("GET", "/v1/boards/sandbox-public/players/me", forged))
            drain(s, 0.2)
        except OSError:
            pass
    return sockets


def flood_ids(world, chance):
    """Ids from tomorrow, and times far ahead."""
    ahead = int(time.time() * 1000) + 86400000 - 30000
    lines = b"".join(json.dumps({"board": "sandbox", "player": "p", "score": 1, "id": f"{(ahead + i) >> 16:08x}-{(ahead + i) & 0xffff:04x}-7000-8000-"
                                 f"{chance.randrange(1 << 48):012x}"}).encode() + b"\n" for i in range(3000))
    lines += b"".join(json.dumps({"board": "sandbox", "player": "p", "score": 1, "at": ahead + i * 3600000}).encode() + b"\n" for i in range(3000))
    s = crowd(world, world.http, 1)
    for each in s:
        try:
            each.sendall(head("POST", "/v1/scores", world.keys["server"], f"Content-Type: application/x-ndjson\r\nContent-Length: {len(lines)}\r\n") + lines)
            drain(each, 2)
        except OSError:
            pass
    return s


def flood_keys(world, chance):
    """Many keys of one member, then away with them."""
    names = [f"sandbox-k{chance.randrange(10**9)}" for _ in range(2000)]
    sockets = crowd(world, world.resp, 1, encode(["AUTH", world.keys["server"]]))
    for s in sockets:
        try:
            s.sendall(b"".join(encode(["ZADD", n, 1, "m"]) for n in names))
            drain(s, 0.3)
            s.sendall(encode(["DEL", *names]))
            drain(s, 0.3)
        except OSError:
            pass
    return sockets


def flood_unread(world, chance):
    return crowd(world, world.http, 100, head("GET", "/openapi.json") * 20)


def match(chance, sides):
    return json.dumps({"sides": [{"players": [f"m{i}"], **({"place": i + 1} if chance else {})} for i in range(sides)]}).encode()


def posted(path, body, key=None, kind="application/json"):
    return head("POST", path, key, f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n") + body


def flood_matches(world, chance):
    """Of as many sides as there may be: each takes as long as thousands of scores."""
    lines = b"\n".join([match(chance, 256)] * 20)
    return crowd(world, world.http, 8, posted(f"{RATED}/matches", lines, world.keys["server"], "application/x-ndjson"))


def flood_predictions(world, chance):
    return crowd(world, world.http, 100, posted(f"{RATED}/predict", match(None, 256)) * 3)


def flood_past(world, chance):
    """Each of another moment: each would need a process of its own."""
    paths = ["/v1/boards/sandbox-public/top?as_of={}", "/v1/boards/sandbox-public/players/a?as_of={}", f"{RATED}/top?as_of={{}}",
             "/v1/boards/sandbox-public/movers?since=1h&as_of={}"]
    return [s for i in range(40) for s in crowd(world, world.http, 1, head("GET", chance.choice(paths).format(chance.randrange(1, 500))))]


def flood_reviews(world, chance):
    """More scores that wait for a review than there may be."""
    lines = b"".join(b'{"board":"sandbox-held","player":"r%d","score":%d}\n' % (chance.randrange(10**6), i) for i in range(3000))
    return crowd(world, world.http, 4, posted("/v1/scores", lines, world.keys["server"], "application/x-ndjson"))


def flood_checks(world, chance):
    check = posted("/v1/boards/sandbox-held/check", b'{"player":"a","score":5}', world.keys["server"])
    return crowd(world, world.http, 40, check * 100)


def flood_sessions(world, chance):
    """With a key that may begin none, and signatures that nobody made."""
    begin = posted("/v1/sessions", b'{"player":"a"}', world.keys["server"])
    body = b'{"player":"me","score":5}'
    signed = head("POST", "/v1/boards/sandbox-held/scores", world.keys["player"],
                  f"Rung-Session: {'A' * 22}\r\nRung-Time: {int(time.time() * 1000)}\r\nRung-Nonce: 1\r\nRung-Signature: {'0' * 64}\r\n"
                  f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n") + body
    return crowd(world, world.http, 20, begin * 20 + signed * 20)


FLOODS = [flood_matches, flood_predictions, flood_past, flood_reviews, flood_checks, flood_sessions, flood_half_commands, flood_half_heads, flood_slow_bodies, flood_multi, flood_streams, flood_waiting_reads, flood_topics,
          flood_blocked, flood_work, flood_forged_tokens, flood_ids, flood_keys, flood_unread]


def floods(world, chance):
    while not world.stop.is_set():
        order = FLOODS[:]
        chance.shuffle(order)
        for flood in order:
            if world.stop.is_set():
                return
            sockets = flood(world, chance)
            world.count(flood.__name__)
            world.stop.wait(1)
            for s in sockets:
                if chance.random() < 0.2:
                    world.look(flood.__name__, b"", drain(s, 0.001))
                leave(s, chance)


def thief(world, chance):
    """A stream that is open when its key ends accepts nothing more."""
    while not world.stop.is_set():
        made = rung("keys", "create", "--role", "server", "--boards", "sandbox*", "--data", world.keys["folder"])
        key = made.stdout.strip()
        if made.returncode:
            raise Failure(f"keys create: {made.stderr}")
        try:
            steal(world, key)
        except OSError:
            world.count("thief: turned away")
        world.stop.wait(0.5)


def read_until(s, wanted, seconds):
    s.settimeout(seconds)
    got = b""
    while wanted not in got:
        piece = s.recv(1 << 16)
        if not piece:
            raise OSError("turned away")
        got += piece
    return got


def is_known(world, key):
    with world.dial(world.http, "127.0.0.6") as s:
        s.sendall(head("GET", "/v1/boards/sandbox/top", key, "Connection: close\r\n"))
        got = drain(s, 5)
    if not got:
        raise OSError("no answer")
    return b" 401 " not in got.partition(b"\r\n")[0]


def steal(world, key):
    line = b'{"board":"sandbox","player":"thief","score":1}\n'
    piece = b"%x\r\n%s\r\n" % (len(line), line)
    end = time.monotonic() + 30
    while not is_known(world, key) and not world.stop.is_set() and time.monotonic() < end:
        time.sleep(0.05)
    with world.dial(world.http, "127.0.0.6") as s:
        s.sendall(head("POST", "/v1/scores", key, "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n") + piece)
        before = read_until(s, b'"line":1', 30)  # accepted before the key ends
        rung("keys", "revoke", key.split("_")[2], "--data", world.keys["folder"])
        while is_known(world, key) and not world.stop.is_set() and time.monotonic() < end:
            time.sleep(0.05)
        if is_known(world, key):
            return
        after = b""
        try:
            for _ in range(3):
                s.sendall(piece)
            after = drain(s, 0.5)
        except OSError:
            pass
    if b'"rank"' in after:
        raise Failure(f"a revoked key's scores were accepted: {before!r} then {after!r}")
    world.count("thief: revoked")


def operator(world, chance):
    """Snapshots, keys read again, and a look at what connections hold."""
    while not world.stop.is_set():
        os.kill(world.pid, chance.choice([signal.SIGHUP, signal.SIGUSR1]))
        with world.dial(world.http, "127.0.0.7", 60) as s:
            s.sendall(head("GET", "/metrics", world.keys["admin"], "Connection: close\r\n"))
            got = b""
            while chunk := s.recv(1 << 16):
                got += chunk
        held = re.search(rb"^rung_connections_held_bytes (\S+)", got, re.M)
        if not held:
            raise Failure(f"no metrics: {got[:600]!r}")
        world.counts["most held bytes"] = max(world.counts.get("most held bytes", 0), int(float(held[1])))
        if float(held[1]) > 2 * BUFFERS:
            raise Failure(f"connections hold {held[1]} bytes")
        world.stop.wait(2)


# ---- the run ----

def act(world, what, seed):
    """The life of an actor's process."""
    if what is not operator:
        os.nice(19)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        what(world, random.Random(f"{seed} {what.__name__}"))
    except Failure as e:
        world.failures.append(f"{what.__name__}: {e}")
        world.stop.set()
    except OSError as e:
        if not world.stop.is_set():
            world.failures.append(f"{what.__name__}: {e!r}")
            world.stop.set()


def make_keys(server):
    secret = server.own_folder / "secret"
    secret.write_bytes(SECRET)
    server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login", "--boards", "sandbox*")
    keys = {"nobody": None, "garbage": "garbage", "folder": str(server.data)}
    keys["revoked"] = server.key("admin")
    server.revoke(keys["revoked"])
    keys["read"] = server.key("read", "--boards", "sandbox*")
    keys["server"] = server.key("server", "--boards", "sandbox*")
    keys["honest"] = server.key("server", "--boards", f"*{HIDDEN}*")
    keys["admin"] = server.key("admin")
    keys["player"] = token({"sub": "a", "exp": int(time.time()) + 86400}, secret=SECRET, kid="login")
    keys["forged token"] = token({"sub": "a", "exp": int(time.time()) + 86400}, secret=b"another secret of thirty-two bytes", kid="login")
    keys["forged"] = keys["admin"][:-5] + ("A" if keys["admin"][-5] != "A" else "B") + keys["admin"][-4:]
    return keys


def define(server, admin):
    for board in ("sandbox", "sandbox1", "sandbox-public"):
        answer = server.put(f"/v1/boards/{board}", {"windows": ["all", "day", "week"], "scopes": ["country"], "teams": {"by": "guild"}}, key=admin)
        assert answer.status == 201, answer
    for board, body in (("sandbox-public-elo", {"update": "elo", "windows": ["all", "day"]}),
                        ("sandbox-held", {"rules": [{"rule": "max", "value": 1, "action": "review"}], "review_expires": 2})):
        answer = server.put(f"/v1/boards/{board}", body, key=admin)
        assert answer.status == 201, answer
    answer = server.put(f"/v1/boards/board-{HIDDEN}", {"windows": ["all", "day"]}, key=admin)
    assert answer.status == 201, answer


def check_after(server, honest, keys):
    """The log is whole, and after a restart the honest boards are as they were."""
    verified = rung("log", "verify", server.data)
    if verified.returncode:
        raise Failure(f"log verify: {verified.stdout} {verified.stderr}")
    server.start()
    rows, members = honest.everything()
    got = []
    while len(got) < len(rows):
        answer = server.get(f"/v1/boards/board-{HIDDEN}/top?limit=200&offset={len(got)}", key=keys["honest"])
        entries = answer.json.get("entries")
        if not entries:
            raise Failure(f"after a restart: {answer}")
        got += [(e["rank"], e["player"], e["score"]) for e in entries]
    if got != rows:
        raise Failure("the board differs after a restart")
    with Connection(server.resp) as c:
        c.call("AUTH", keys["honest"])
        found = c.call("ZRANGE", f"keys-{HIDDEN}", 0, -1, "WITHSCORES").value
    if dict(zip((m.decode() for m in found[::2]), (int(s) for s in found[1::2]))) != members:
        raise Failure("the keys differ after a restart")


def end_server(server):
    """The exit code must be 0, and nothing may have been said of memory or behaviour."""
    code = server.stop()
    if code != 0 or re.search(r"Sanitizer|runtime error|assertion failed", server.log):
        raise Failure(f"the server ended with {code}:\n{server.log[-6000:]}")


def attack(seconds, seed, is_strict=False, say=print):
    manager = multiprocessing.Manager()
    with Server(*FLAGS, env=SANITIZERS) as server:
        keys = make_keys(server)
        define(server, keys["admin"])
        world = World(server, keys, seed, manager)
        honest = Honest(world, random.Random(f"{seed} honest"))
        quiet, loaded = [], []
        honest.run(min(10, seconds / 6), quiet)
        say(f"honest client alone: {len(quiet)} requests, p99 {p99(quiet) * 1000:.1f} ms")
        actors = [multiprocessing.Process(target=act, args=(world, what, seed))
                  for what in (random_requests, mutations, floods, thief, operator)]
        for actor in actors:
            actor.start()
        problem = None
        try:
            honest.run(seconds, loaded)
        except (Failure, OSError) as e:
            problem = f"{e!r}" if server.is_running else "the server ended"
        world.stop.set()
        for actor in actors:
            actor.join(60)
            actor.kill()
        failures = list(world.failures) + ([problem] if problem else [])
        if not server.is_running:
            failures.append(f"the server ended with {server.process.poll()}:\n{server.log[-6000:]}")
        elif not failures:
            try:
                end_server(server)
                check_after(server, honest, keys)
                end_server(server)
            except Failure as e:
                failures.append(str(e))
        for name, count in sorted(world.counts.items()):
            say(f"{name}: {count}")
        say(f"honest client under attack: {len(loaded)} requests, p99 {p99(loaded) * 1000:.1f} ms, "
            f"{p99(loaded) / max(p99(quiet), 1e-9):.1f} times as alone, longest {max(loaded, default=0) * 1000:.0f} ms")
        if is_strict and p99(loaded) > 3 * p99(quiet):
            failures.append("the honest client's p99 is more than three times that without an attack")
        return failures


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("-")]
    seconds = float(words[0]) if words else 3600
    seed = int(words[1]) if len(words) > 1 else int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}, {seconds:.0f} seconds", flush=True)
    failures = attack(seconds, seed, "--strict" in sys.argv, lambda line: print(line, flush=True))
    for failure in failures:
        print(f"FAILED (seed {seed}): {failure}", flush=True)
    print(f"{0 if failures else 1} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
