#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind tests/hunt/flood.sh: an honest player alone, then beside a flood from one other address; prints both p99 and their
ratio. The flood comes from 127.0.0.2, over as many connections as that address may have, pipelined, without a key, and at no more
than a given rate; `rates.address` refuses nearly all of it."""
import http.client
import json
import multiprocessing
import pathlib
import selectors
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from server import Server, token  # noqa: E402
from signer import Signer  # noqa: E402

SECRET, PATH, CONNECTIONS, BATCH = b"a secret of the login service ------", "/v1/boards/race/scores", 32, 25
REQUEST = b"GET /v1/boards/race/top HTTP/1.1\r\nHost: localhost\r\n\r\n"


def flood(address, rate, answered, refused):
    """Every connection sends a batch, reads its answers, and sends the next, as long as all together are below the rate."""
    poll = selectors.DefaultSelector()
    for _ in range(CONNECTIONS):
        s = socket.create_connection(address, source_address=("127.0.0.2", 0))
        s.setblocking(False)
        poll.register(s, selectors.EVENT_READ, [0])
        s.send(REQUEST * BATCH)
    begun = time.monotonic()
    while True:
        for key, _ in poll.select():
            data = key.fileobj.recv(1 << 20)
            assert data, "the server hung up on a sender within its limits"
            n = data.count(b"HTTP/1.1 ")
            answered.value += n
            refused.value += data.count(b"HTTP/1.1 429")
            key.data[0] += n
            if key.data[0] >= BATCH:
                key.data[0] -= BATCH
                key.fileobj.send(REQUEST * BATCH)
        time.sleep(max(0, begun + answered.value / rate - time.monotonic()))


def honest(server, bearer, signer, seconds):
    """Milliseconds of each submission from 127.0.0.3, sorted."""
    took, end = [], time.monotonic() + seconds
    connection = http.client.HTTPConnection(*server.http, timeout=60, source_address=("127.0.0.3", 0))
    while time.monotonic() < end:
        body = json.dumps({"player": "me", "score": len(took)}).encode()
        headers = signer.headers("POST", PATH, body)
        begun = time.monotonic()
        answer = server.request("POST", PATH, body, key=bearer, headers=headers, connection=connection)
        took.append((time.monotonic() - begun) * 1000)
        assert answer.status == 200, answer
        time.sleep(0.002)
    return sorted(took)


def main(seconds=20, rate=10_000):
    server = Server("--public", "race", "--rates-address", "2000/s", "--limits-connections-per-address", "64")
    secret = server.own_folder / "login.secret"
    secret.write_bytes(SECRET)
    server.data.mkdir(exist_ok=True)
    admin = server.key("admin")
    server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
    server.keys("create", "--role", "player-token", "--alg", "session")
    with server:
        server.put("/v1/boards/race", {"writers": "player", "update": "last"}, key=admin)
        bearer = token({"sub": "ada", "exp": int(time.time()) + 3600}, secret=SECRET, kid="login")
        signer = Signer(server.post("/v1/sessions", {"player": "ada"}, key=admin).json)
        p99 = []
        for is_attacked in (False, True):
            answered, refused = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
            flooder = multiprocessing.Process(target=flood, args=(server.http, rate, answered, refused), daemon=True)
            if is_attacked:
                flooder.start()
            took = honest(server, bearer, signer, seconds / 2)
            if is_attacked:
                assert flooder.is_alive(), "the flood ended"
                flooder.terminate()
                flooder.join()
            p99.append(took[len(took) * 99 // 100])
            print(f"{'beside' if is_attacked else 'without'} the flood: {len(took)} submissions, p50 {took[len(took) // 2]:.2f} ms, "
                  f"p99 {p99[-1]:.2f} ms; the flood got {answered.value / (seconds / 2):.0f} answers a second, "
                  f"{100 * refused.value / max(1, answered.value):.0f} % of them 429", flush=True)
        print(f"p99 ratio {p99[1] / p99[0]:.2f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
