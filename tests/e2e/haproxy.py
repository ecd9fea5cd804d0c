# SPDX-License-Identifier: Apache-2.0
"""HAProxy before servers, with deploy/haproxy.cfg: only addresses are replaced.

    with Balancer([server.http for server in servers]) as balancer:
        balancer.address                            # ("127.0.0.1", port), for clients
        balancer.wait("writers", 0, "DOWN")         # until its check of the first server says so

Where there is no haproxy, the test is skipped (exit code 77)."""
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from server import SOURCE, WAIT, until

CONFIG = SOURCE / "deploy/haproxy.cfg"


def skip_without_haproxy():
    if not shutil.which("haproxy"):
        print("skipped: there is no haproxy")
        sys.exit(77)


def configuration(http, resp, targets, sock):
    """deploy/haproxy.cfg for these addresses; `targets` has (http, resp) of each server."""
    text = CONFIG.read_text()
    for found, put in ((r"bind :7864", f"bind {http}"), (r"bind :7865", f"bind {resp}"), (r"stats socket \S+", f"stats socket {sock}"),
                       (r"maxconn \d+", "maxconn 200")):
        text, count = re.subn(found, lambda _: put, text)
        assert count == 1, found
    for i, (web, redis) in enumerate(targets, 1):
        text = text.replace(f"rung-{i}:7865 check port 7864", "%s:%d check port %d" % (*redis, web[1]))
        text = text.replace(f"rung-{i}:7864", "%s:%d" % web)
    return text


class Balancer:
    def __init__(self, targets):
        self.targets = targets
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-haproxy-"))
        self.sock, self.process = self.folder / "stats.sock", None

    def start(self):
        """HAProxy gets sockets that listen already: no port can be taken in between."""
        config, log = self.folder / "haproxy.cfg", self.folder / "log"
        with socket.create_server(("127.0.0.1", 0)) as web, socket.create_server(("127.0.0.1", 0)) as redis:
            self.address, self.redis = web.getsockname(), redis.getsockname()
            config.write_text(configuration(f"fd@{web.fileno()}", f"fd@{redis.fileno()}", self.targets, self.sock))
            with open(log, "wb") as out:
                self.process = subprocess.Popen(["haproxy", "-db", "-f", config], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                pass_fds=(web.fileno(), redis.fileno()))

        def is_up():
            if self.process.poll() is not None:
                raise AssertionError(f"haproxy ended with {self.process.returncode}:\n{log.read_text()}")
            return self.sock.exists() and self.states()
        until(is_up, "haproxy")
        return self

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(WAIT)
            s.connect(str(self.sock))
            s.sendall(command.encode() + b"\n")
            got = b""
            while chunk := s.recv(65536):
                got += chunk
        return got.decode()

    def states(self):
        """{(backend, server): "UP", "DOWN", ...}"""
        try:
            rows = self.ask("show stat").splitlines()
        except OSError:
            return {}
        names = rows[0].lstrip("# ").split(",")
        at = names.index("status")
        found = [row.split(",") for row in rows[1:] if row]
        return {(row[0], row[1]): row[at].split()[0] for row in found}

    def wait(self, backend, index, state):
        until(lambda: self.states().get((backend, f"rung-{index + 1}")) == state, f"{backend} rung-{index + 1} {state}")

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()
