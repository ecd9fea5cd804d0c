# SPDX-License-Identifier: Apache-2.0
"""The Redis protocol for tests, by hand: bytes are what is compared. And a real redis-server to compare with.

    with Redis() as redis, Connection(redis.address) as c:
        reply = c.call("ZADD", "race", 1, "ada")        # Reply: .raw (bytes), .value (a tree)

Standard library only."""
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

WAIT = 60


class Error(str):
    """An error reply, within a tree."""


class Reply:
    def __init__(self, raw, value):
        self.raw, self.value = raw, value

    def __repr__(self):
        return repr(self.raw if len(self.raw) < 600 else self.raw[:600] + b"...")


def encode(words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Connection:
    """One connection; `address` is a (host, port) or the path of a unix socket, `source` the address to come from."""

    def __init__(self, address, version=2, source=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT)
        try:
            if source:
                self.socket.bind((source, 0))
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.buffer, self.at = b"", 0
        if version == 3:
            self.call("HELLO", 3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *commands):
        self.socket.sendall(b"".join(map(encode, commands)))

    def send_raw(self, data):
        self.socket.sendall(data)

    def call(self, *words):
        self.send(words)
        return self.read()

    def pipeline(self, commands):
        self.send(*commands)
        return [self.read() for _ in commands]

    def is_closed(self):
        """Wait for the other side to close."""
        while True:
            try:
                if not self.socket.recv(65536):
                    return True
            except ConnectionResetError:
                return True

    def read(self):
        self.buffer, self.at = self.buffer[self.at:], 0
        value = self._value()
        return Reply(self.buffer[:self.at], value)

    def _more(self):
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise ConnectionError("closed in the middle of a reply")
        self.buffer += chunk

    def _line(self):
        while (end := self.buffer.find(b"\r\n", self.at)) < 0:
            self._more()
        line, self.at = self.buffer[self.at:end], end + 2
        return line

    def _bytes(self, count):
        while len(self.buffer) < self.at + count + 2:
            self._more()
        data, self.at = self.buffer[self.at:self.at + count], self.at + count + 2
        return data

    def _value(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode("utf-8", "replace"))
        if kind == b":":
            return int(rest)
        if kind in b"$=":
            return None if rest == b"-1" else self._bytes(int(rest))
        if kind in b"*~>":
            return None if rest == b"-1" else [self._value() for _ in range(int(rest))]
        if kind == b"%":
            return {"map": [(self._value(), self._value()) for _ in range(int(rest))]}
        if kind == b",":
            return float(rest)
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        raise AssertionError(f"not a reply: {line!r}")


class Redis:
    """A redis-server on a unix socket, keeping nothing; `address` is for Connection."""

    def __init__(self, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-redis-"))
        self.address = str(self.folder / "socket")
        self.options = options
        self.process = None

    @staticmethod
    def is_there():
        return shutil.which("redis-server") is not None

    def __enter__(self):
        words = ["redis-server", "--port", "0", "--unixsocket", self.address, "--save", "", "--appendonly", "no",
                 "--dir", str(self.folder), *self.options]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + WAIT
        while True:
            try:
                with Connection(self.address) as c:
                    c.call("PING")
                return self
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)
