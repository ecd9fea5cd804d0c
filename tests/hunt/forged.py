#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind tests/hunt/forged.sh: an honest player alone, then beside a sender of forged signatures; prints both p99 and their
ratio. The forger is a process of its own, has a good token and session, and pipelines requests that differ in the signature alone."""
import json
import multiprocessing
import pathlib
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from server import Server, token  # noqa: E402
from signer import Signer  # noqa: E402

SECRET, PATH, BATCH = b"a secret of the login service ------", "/v1/boards/race/scores", 50


def forge(address, rate, bearer, session, sent):
    """About `rate` forged requests a second over one connection, until it is ended."""
    body = b'{"player":"mallory","score":1}'
    one = lambda n: (f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\nContent-Type: application/json\r\n"
                     f"Rung-Session: {session}\r\nRung-Time: {int(time.time() * 1000)}\r\nRung-Nonce: {n + 1}\r\n"
                     f"Rung-Signature: {n:064x}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
    with socket.create_connection(address) as s:
        begun, n = time.monotonic(), 0
        while True:
            s.sendall(b"".join(one(n + i) for i in range(BATCH)))
            n += BATCH
            answers = b""
            while answers.count(b"HTTP/1.1 401") < BATCH:
                answers += s.recv(1 << 20)
            sent.value = n
            time.sleep(max(0, begun + n / rate - time.monotonic()))


def honest(server, bearer, signer, seconds):
    """Milliseconds of each submission, sorted."""
    took, connection, end = [], server.open(), time.monotonic() + seconds
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
    server = Server()
    secret = server.own_folder / "login.secret"
    secret.write_bytes(SECRET)
    server.data.mkdir(exist_ok=True)
    admin = server.key("admin")
    server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login")
    server.keys("create", "--role", "player-token", "--alg", "session")
    with server:
        server.put("/v1/boards/race", {"writers": "player", "update": "last"}, key=admin)
        bearer = {p: token({"sub": p, "exp": int(time.time()) + 3600}, secret=SECRET, kid="login") for p in ("ada", "mallory")}
        begin = lambda p: server.post("/v1/sessions", {"player": p}, key=admin).json
        signer, other = Signer(begin("ada")), begin("mallory")["session"]
        p99 = []
        for is_attacked in (False, True):
            sent = multiprocessing.Value("q", 0)
            forger = multiprocessing.Process(target=forge, args=(server.http, rate, bearer["mallory"], other, sent), daemon=True)
            if is_attacked:
                forger.start()
            took = honest(server, bearer["ada"], signer, seconds / 2)
            if is_attacked:
                forger.terminate()
                forger.join()
            p99.append(took[len(took) * 99 // 100])
            print(f"{'beside' if is_attacked else 'without'} forgeries: {len(took)} submissions, p50 {took[len(took) // 2]:.2f} ms, "
                  f"p99 {p99[-1]:.2f} ms, {sent.value / (seconds / 2):.0f} forged a second", flush=True)
        print(f"p99 ratio {p99[1] / p99[0]:.2f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
