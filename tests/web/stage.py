# SPDX-License-Identifier: Apache-2.0
"""Where the console's browser tests play: a door that stays open between restarts, a world to look at, and the run of a
script whose lines beginning with @ ask the test for something."""
import datetime
import json
import os
import random
import socket
import subprocess
import threading

import tools
from server import ServerTest, until

FIRST = "Ada Bram Cleo Dario Esme Finn Gaia Hugo Ines Jonas Kira Liam Mira Noor Otto Pia Quinn Rosa Sven Tara".split()
LAST = "Lovelace Stone Vega Marsh Kato Silva Weber Okoye Lind Novak Reyes Ito Haddad Berg Moreau Nyman Koski".split()
GUILDS = ["Night Owls", "Iron Rung", "Salt & Sail", "Paper Tigers", "Low Orbit"]
PLAYERS = 400


class Door:
    """One address in front of servers that come and go: a browser sees the same origin before and after a restart."""

    def __init__(self):
        self.target = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target) if self.target else None
            except OSError:
                server = None
            if not server:
                client.close()
                continue
            threading.Thread(target=self.both, args=(client, server), daemon=True).start()

    def both(self, client, server):
        with client, server:
            back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
            back.start()
            self.pump(client, server)
            back.join()

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def world(server):
    """Boards, players, friends and four weeks of scores."""
    rng = random.Random(7)
    now = datetime.datetime.now(datetime.timezone.utc)
    arena = {"title": "The arena", "windows": ["all", "week", "day"], "scopes": ["country"], "teams": {"by": "guild", "combine": "top:5"}, "grace": 3000000, "keep": 4}
    boards = {"arena": arena, "harvest": {"title": "Harvest", "update": "sum", "windows": ["all", "month"]}, "quiet": {"title": "A quiet board"},
              "trending": {"title": "Trending", "update": "decay", "half_life": 600, "score": {"type": "real"}},
              "huge": {"title": "Huge numbers"}}
    for name, definition in boards.items():
        check(server.put(f"/v1/boards/{name}", definition))
    connection = server.open()
    for i in range(PLAYERS):
        profile = {"name": f"{rng.choice(FIRST)} {rng.choice(LAST)}", "country": rng.choice(["FI", "FI", "SE", "DE", "US", "JP", "BR"]), "guild": rng.choice(GUILDS)}
        check(server.put(f"/v1/players/player-{i}", profile, connection=connection))
    check(server.put("/v1/players/player-150/friends", {"friends": [f"player-{i}" for i in (3, 60, 151, 200, 250, 399)]}, connection=connection))
    connection.close()
    lines = []
    for i in range(PLAYERS):
        for _ in range(3):
            at = now - datetime.timedelta(days=rng.uniform(0, 28))
            lines.append({"board": "arena", "player": f"player-{i}", "score": int(rng.gauss(1500, 320)), "at": at.isoformat(timespec="milliseconds")})
        if i % 3 == 0:
            lines.append({"board": "arena", "player": f"player-{i}", "score": 1000 + i})  # some today, whatever the day
        lines.append({"board": "harvest", "player": f"player-{i}", "score": rng.randrange(1, 90000)})
    lines += [{"board": "trending", "player": f"player-{i}", "score": 10.5 + i / 7} for i in range(7)]
    lines += [{"board": "huge", "player": "player-1", "score": 2**63 - 1}, {"board": "huge", "player": "player-2", "score": 2**63 - 2}]
    lines.sort(key=lambda line: line.get("at", "~"))
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answer = check(server.post("/v1/scores", body, headers={"Content-Type": "application/x-ndjson"}))
    refused = [line for line in answer.lines if "error" in line]
    assert not refused, refused[:3]
    check(server.put("/v1/boards/arena", {**arena, "grace": 0}))  # what is over closes now
    until(lambda: any(w["closed"] for w in server.get("/v1/boards/arena/windows").json["windows"]), "a closed window")


def check(answer):
    assert answer.status in (200, 201), answer
    return answer


class Stage(ServerTest):
    """A test with a server, a world and a browser script."""

    def play(self, script, *flags):
        node, packages, chromium = tools.node(), tools.packages(), tools.chromium()
        tools.console_packages()
        server = self.serve(*flags)
        world(server)
        door = Door()
        self.addCleanup(door.close)
        door.target = server.http
        shots = tools.BUILD / "screenshots"
        shots.mkdir(exist_ok=True)
        origins = " ".join(self.more_origins(server))
        run = subprocess.Popen([node, tools.HERE / script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
            **os.environ, "RUNG_BASE": door.address, "RUNG_NODE_MODULES": str(packages), "RUNG_CHROMIUM": chromium, "RUNG_SHOTS": str(shots),
            "RUNG_ORIGINS": origins})
        self.addCleanup(self.end, run)
        for line in run.stdout:
            if not line.startswith("@"):
                print(line, end="", flush=True)
                continue
            answer = self.do(line[1:].split()[0], server, door)
            run.stdin.write(json.dumps(answer) + "\n")
            run.stdin.flush()
        self.assertEqual(run.wait(), 0)

    def more_origins(self, server):
        """Other servers that pages of the script may be of."""
        return []

    @staticmethod
    def end(run):
        if run.poll() is None:
            run.kill()
        run.wait()
        run.stdin.close()
        run.stdout.close()

    def do(self, what, server, door):
        if what == "stop":
            door.target = None
            self.assertEqual(server.stop(), 0)
        elif what == "start":
            server.start()
            door.target = server.http
        elif what == "keyed":
            return {"key": server.key("admin")}
        return {}
