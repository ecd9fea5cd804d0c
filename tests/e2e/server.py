# SPDX-License-Identifier: Apache-2.0
"""A real `rung serve` for tests: started on free ports in a throw-away folder, stopped and cleaned up after.

    from server import Server, ServerTest

    class Things(ServerTest):                       # unittest.TestCase with self.serve()
        def test_it(self):
            server = self.serve()                   # waits until it listens; no keys: everybody on loopback is an admin
            server.put("/v1/boards/race", {})
            answer = server.post("/v1/boards/race/scores", {"player": "ada", "score": 5})
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.json["rank"], 1)

    server = self.serve("--rates-key", "5/s", env={"RUNG_GZIP": "off"})
    key = server.key("server", "--boards", "race-*")            # rung keys create, and waits until it is in force
    server.get("/v1/boards", key=key)
    server.raw(b"GET / HTTP/1.1\\r\\n\\r\\n")                      # bytes in, bytes out until it closes
    server.kill(); server.start()                               # kill -9, and again on the same folder
    self.assertEqual(server.stop(), 0)                          # SIGTERM

Standard library only. Every wait has a limit; nothing depends on how fast the machine is."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

BUILD = pathlib.Path(os.environ["RUNG_BUILD"])
SOURCE = pathlib.Path(os.environ["RUNG_SOURCE"])
RUNG = BUILD / "rung"
WAIT = 60  # seconds; only reached when something is wrong
ANNOUNCED = 2.5  # after about so many seconds "listening" is said by a server that is not ready yet


def quote(name):
    """A name as one segment of a path."""
    return urllib.parse.quote(name, safe="")


def until(condition, what="it"):
    """Wait for condition() to be true, and return it."""
    end = time.monotonic() + WAIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {WAIT} seconds")
        time.sleep(0.01)


def rung(*args, **more):
    """Run a command of rung to its end."""
    more = {"capture_output": True, "text": True, "timeout": WAIT, **more}
    return subprocess.run([RUNG, *map(str, args)], **more)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        """The objects of an NDJSON answer."""
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def code(self):
        """Of a problem; None when it is none."""
        if "problem+json" not in (self.headers.get("content-type") or ""):
            return None
        return self.json.get("code")

    def __repr__(self):
        return f"<{self.status} {self.body[:600]!r}>"


class Server:
    def __init__(self, *flags, data=None, env=None, wrap=(), preexec=None, program=RUNG):
        """`data`: a folder to keep, or None for a throw-away one, or False for none. `wrap`: words before the command.
        `preexec` is called in the child: resource limits and the like. `program`: another build of the server."""
        self.own_folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-e2e-"))
        self.data = pathlib.Path(data) if data else None if data is False else self.own_folder / "data"
        self.flags, self.wrap, self.preexec = [str(f) for f in flags], [str(w) for w in wrap], preexec
        clean = {k: v for k, v in os.environ.items() if not k.startswith("RUNG_") or k in ("RUNG_BUILD", "RUNG_SOURCE")}
        self.env = {**clean, **(env or {})}
        self.program, self.process, self.http, self.resp = program, None, None, None
        self.said, self.reader = [], None
        self.always = None  # a key for requests that name none

    # ---- life ----

    def start(self, wait=True):
        """Start, and wait until it listens; with wait=False return at once (see wait_listening and wait_exit)."""
        words = [*self.wrap, str(self.program), "serve"]
        for flag, value in (("--http", "127.0.0.1:0"), ("--resp", "127.0.0.1:0"), ("--data", self.data)):
            if value and not any(f == flag or f.startswith(flag + "=") for f in self.flags):
                words += [flag, str(value)]
        self.said = []
        self.process = subprocess.Popen(words + self.flags, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, preexec_fn=self.preexec)
        self.reader = threading.Thread(target=self._read, args=(self.process.stderr, self.said), daemon=True)
        self.reader.start()
        started = time.monotonic()
        if wait:
            self.wait_listening()
            if time.monotonic() - started > ANNOUNCED:
                self._wait_ready()
        return self

    @staticmethod
    def _read(pipe, said):
        for line in pipe:
            said.append(line.decode("utf-8", "replace").rstrip("\n"))
        pipe.close()

    def _wait_ready(self):
        """A start that takes long, as on a busy disk, listens before it is ready. A log that hides that word is not waited for."""
        end = time.monotonic() + WAIT / 2
        while time.monotonic() < end and not any(re.search(r"\bready\b", line) for line in list(self.said)):
            time.sleep(0.01)

    def wait_listening(self):
        def look():
            for line in list(self.said):
                found = re.search(r"\blistening\b(.*)", line)
                if found:
                    return found[1]
            if self.process.poll() is not None:
                self.reader.join(WAIT)
                raise AssertionError(f"rung serve ended with {self.process.returncode}:\n{self.log}")
            return None
        text = until(look, "listening")
        for name in ("http", "resp"):
            found = re.search(rf"\b{name}\"?[=:]\"?(?:(\[[^\]]+\]|[^\s:\"]+):(\d+))", text)
            setattr(self, name, (found[1].strip("[]"), int(found[2])) if found else None)
        return self

    def wait_exit(self):
        """The exit code; negative: the signal that ended it."""
        code = self.process.wait(WAIT)
        self.reader.join(WAIT)
        return code

    def stop(self):
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def kill(self):
        self.process.kill()
        return self.wait_exit()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.own_folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    @property
    def is_running(self):
        return self.process.poll() is None

    @property
    def log(self):
        return "\n".join(self.said)

    def memory(self):
        """Bytes it holds in memory now."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    # ---- HTTP ----

    def request(self, method, path, body=None, key=None, headers=None, connection=None):
        """One request. A body that is not bytes is sent as JSON. `connection` (see open) is used and kept open."""
        fields = dict(headers or {})
        if key or self.always:
            fields.setdefault("Authorization", f"Bearer {key or self.always}")
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        conn = connection or self.open()
        try:
            conn.request(method, path, body=body, headers=fields)
            answer = conn.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            if not connection:
                conn.close()

    def open(self):
        """A connection for many requests."""
        return http.client.HTTPConnection(*self.http, timeout=WAIT)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def put(self, path, body=None, **more):
        return self.request("PUT", path, body, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def is_alive(self):
        """Does it answer a fresh connection?"""
        return self.get("/healthz").status == 200

    def connect(self, timeout=WAIT):
        """A bare socket to the HTTP port."""
        return socket.create_connection(self.http, timeout=timeout)

    def raw(self, data, timeout=WAIT, half_close=False):
        """Send bytes, return all that comes until the server closes. A reset is an end, too."""
        got = b""
        with self.connect(timeout) as s:
            try:
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
                while chunk := s.recv(65536):
                    got += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass
        return got

    # ---- keys ----

    @property
    def keys_file(self):
        return self.data / "keys"

    def keys(self, *args):
        """rung keys ..., on this server's folder."""
        run = rung("keys", *args, "--data", self.data)
        if run.returncode:
            raise AssertionError(f"rung keys {args}: {run.stderr}")
        return run.stdout.strip()

    def key(self, role, *more):
        """Make a key, and wait until a running server knows it: told by a signal, or it would look a second later."""
        key = self.keys("create", "--role", role, *more)
        if self.process and self.is_running and role != "player-token":
            self.process.send_signal(signal.SIGHUP)
            until(lambda: self.get("/v1/boards", key=key).status != 401, "the key")
        return key

    def revoke(self, key_or_id):
        match = re.match(r"rung_[a-z]+_([0-9a-z]{12})_", key_or_id)
        return self.keys("revoke", match[1] if match else key_or_id)


class ServerTest(unittest.TestCase):
    def serve(self, *flags, start=True, **more):
        server = Server(*flags, **more)
        self.addCleanup(server.close)
        return server.start() if start else server

    def check(self, answer, status, code=None):
        self.assertEqual(answer.status, status, answer)
        if code:
            self.assertEqual(answer.code, code, answer)
        return answer


# ---- HTTP answers from bytes ----

def parse_answers(data):
    """The complete answers at the start of `data`: [(status, headers with names in lower case, body)], and what is left."""
    answers = []
    while b"\r\n\r\n" in data:
        head, _, rest = data.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 (\d{3}) [ -~]*", first)
        if not match:
            raise AssertionError(f"not a status line: {first!r}")
        status = int(match[1])
        headers = {}
        for field in fields:
            name, colon, value = field.partition(":")
            if not colon or name != name.strip():
                raise AssertionError(f"not a header field: {field!r}")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body, rest = dechunk(rest)
            if body is None:
                break
        else:
            length = 0 if status < 200 or status in (204, 304) else int(headers.get("content-length", 0))
            if len(rest) < length:
                break
            body, rest = rest[:length], rest[length:]
        if status >= 200:
            answers.append((status, headers, body))
        data = rest
    return answers, data


def dechunk(data):
    body = b""
    while True:
        line, found, rest = data.partition(b"\r\n")
        if not found:
            return None, data
        size = int(line.split(b";")[0], 16)
        if len(rest) < size + 2:
            return None, data
        body, data = body + rest[:size], rest[size + 2:]
        if size == 0:
            return body, data


# ---- players' tokens, signed by an implementation of their own ----

def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims, secret=None, ed25519=None, kid=None, **header):
    """A JWT signed with an HS256 secret (bytes) or an Ed25519 private key (32 bytes)."""
    head = {"alg": "HS256" if secret else "EdDSA", "typ": "JWT", **({"kid": kid} if kid else {}), **header}
    text = base64url(json.dumps(head).encode()) + "." + base64url(json.dumps(claims).encode())
    signature = hmac.new(secret, text.encode(), hashlib.sha256).digest() if secret else ed25519_sign(ed25519, text.encode())
    return text + "." + base64url(signature)


# Ed25519 as RFC 8032 section 6 writes it down: slow and clear.
_P = 2**255 - 19
_Q = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P


def _point_add(a, b):
    x = (a[1] - a[0]) * (b[1] - b[0]) % _P
    y = (a[1] + a[0]) * (b[1] + b[0]) % _P
    z, t = 2 * a[3] * b[3] * _D % _P, 2 * a[2] * b[2] % _P
    e, f, g, h = y - x, t - z, t + z, y + x
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _point_mul(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _point_add(total, point)
        point = _point_add(point, point)
        scalar >>= 1
    return total


_GY = 4 * pow(5, _P - 2, _P) % _P
_GX = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_G = (_GX, _GY, 1, _GX * _GY % _P)


def _compress(point):
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _expand(private):
    digest = hashlib.sha512(private).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | 1 << 254, digest[32:]


def ed25519_public(private):
    return _compress(_point_mul(_expand(private)[0], _G))


def ed25519_pem(private):
    """The public key of `private` as PEM, to give to rung keys create --public."""
    der = bytes.fromhex("302a300506032b6570032100") + ed25519_public(private)
    return f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"


def ed25519_sign(private, message):
    scalar, prefix = _expand(private)
    public = _compress(_point_mul(scalar, _G))
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % _Q
    big_r = _compress(_point_mul(r, _G))
    h = int.from_bytes(hashlib.sha512(big_r + public + message).digest(), "little") % _Q
    return big_r + ((r + h * scalar) % _Q).to_bytes(32, "little")
