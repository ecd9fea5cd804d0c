#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults on three real brokers and three servers under load (load.py says what is checked).

    python3 tests/kafka/faults.py [faults] [seed]         # ./dev hunt kafka

Faults come one after the other and overlap: brokers and servers are killed, stopped for a while (SIGSTOP), restarted; a broker's disk
is full; a server loses its folder; cables are unplugged, and brokers lose each other while servers reach them all. Mostly two brokers
of three are whole, sometimes one. After every twenty faults all is healed: then all servers must become ready, every submission must be
acknowledged, and every server must have what is in the books, and the same digest.

What happens is decided by the seed; when, by the machine. Without the right to make network namespaces and mounts the faults that
need them are left out, and this says so. When something is wrong, the logs of all brokers and servers are kept."""
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from brokers import BrokerError, Brokers  # noqa: E402
from load import BOARDS, TALLY, Counters, Probe, Watcher, Writer, Wrong, check_books  # noqa: E402
from network import Everywhere, Network, end_with_parent, enter_private, is_private  # noqa: E402
from resp import Connection  # noqa: E402
from server import Server  # noqa: E402

ROUND = 20  # faults, then all is healed and checked
WRITERS = 6
GAP = (0.1, 1.2)  # seconds between two faults, and then
PROGRESS, PROGRESS_WAIT = 50, 1.0  # so many acknowledgements, or so many seconds
TWO_BROKERS = 0.3  # how often a second broker is hit
LASTS = (0.5, 4.0)  # seconds that a fault lasts
BROKER_LEAVE = 10  # seconds for a broker to end when told to
HEAL_WAIT = 180  # seconds; only reached when something is wrong
TIMEOUT = "2s"
UNREACHED = re.compile("no Kafka broker|the end of topic .* cannot be found|no record of topic .* came")  # a server may end with this


class Inside(http.client.HTTPConnection):
    """A connection made at a place."""
    place = None

    def connect(self):
        with self.place.inside():
            super().connect()


class Node(Server):
    def __init__(self, number, place, log):
        super().__init__("--log", log, "--log-kafka-timeout", TIMEOUT, wrap=place.wrap, preexec=end_with_parent)
        self.number, self.place, self.lives = number, place, []

    def __repr__(self):
        return f"server {self.number}"

    def start(self, wait=False):
        self.http = self.resp = None
        super().start(wait=False)
        self.lives.append(self.said)

    def open(self):
        connection = Inside(*self.listening(self.http), timeout=10)
        connection.place = self.place
        return connection

    def open_resp(self):
        with self.place.inside():
            return Connection(self.listening(self.resp))

    @staticmethod
    def listening(address):
        if not address:
            raise ConnectionError("not listening")
        return address

    def is_ready(self):
        if not self.http:
            if not any("listening" in line for line in list(self.said)):
                return False
            self.wait_listening()
        try:
            return self.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False


# ---- faults: begin breaks, end lets it heal, is_healed says when it has ----

class Fault:
    needs_network = False
    weight = 1

    def __init__(self, cluster, chance):
        self.cluster, self.chance = cluster, chance

    def choose(self):
        """The target, or None: not now."""
        return self.cluster.free_broker(self.chance) if self.is_of_broker else self.cluster.free_node(self.chance)

    is_of_broker = True
    target = None

    def may_end(self):
        return True

    def is_healed(self):
        return self.target.is_ready if self.is_of_broker else self.target.is_ready()


class Killed(Fault):
    what, healing, weight = "killed", "started", 2  # a broker takes long to start

    def begin(self):
        self.target.kill()

    def end(self):
        self.target.begin() if self.is_of_broker else self.target.start()


class Stopped(Fault):
    what, healing, weight = "stopped", "continued", 4

    def begin(self):
        self.target.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.target.process.send_signal(signal.SIGCONT)


class Restarted(Killed):
    what, healing, weight = "told to end", "started", 1

    def begin(self):
        self.target.process.send_signal(signal.SIGTERM)

    def may_end(self):
        """A broker that finds no controller to take its leave from does not end by itself."""
        if self.is_of_broker and time.monotonic() > self.until + BROKER_LEAVE:
            self.target.process.kill()
        return self.target.process.poll() is not None


class KilledServer(Killed):
    is_of_broker, weight = False, 4


class StoppedServer(Stopped):
    is_of_broker = False


class RestartedServer(Restarted):
    is_of_broker, weight = False, 2


class ServerWithoutFolder(KilledServer):
    what, healing, weight = "killed, and its folder deleted", "started", 2

    def begin(self):
        super().begin()
        shutil.rmtree(self.target.data, ignore_errors=True)


class DiskFull(Fault):
    """The broker notices when it writes, and ends."""
    what, healing, weight, needs_network = "disk full", "disk has space", 1, True

    def begin(self):
        self.target.disk.fill()

    def end(self):
        self.target.disk.free()
        if not self.target.is_running:
            self.target.begin()

    def is_healed(self):
        if not self.target.is_running:  # it noticed late
            self.target.begin()
        return super().is_healed()


class Unplugged(Fault):
    what, healing, weight, needs_network = "unplugged", "plugged in", 3, True

    def begin(self):
        self.target.place.unplug()

    def end(self):
        self.target.place.plug()


class UnpluggedServer(Unplugged):
    is_of_broker = False


class Split(Fault):
    """A broker and the other two lose each other; servers still reach all three, also a leader that has been replaced."""
    what, healing, weight, needs_network = "cut off from the other brokers", "connected again", 4, True

    def pairs(self):
        others = [b for b in self.cluster.brokers if b is not self.target]
        return [(self.target.place, b.place) for b in others] + [(b.place, self.target.place) for b in others]

    def begin(self):
        self.cut = self.pairs()
        for a, b in self.cut:
            a.drop(b)

    def end(self):
        for a, b in self.cut:
            a.restore(b)


class OneWay(Split):
    what, weight = "cannot send to the other brokers, which can send to it", 2

    def pairs(self):
        return super().pairs()[:2]


class SplitServer(Split):
    """A server loses one broker or two."""
    is_of_broker = False
    what = "cut off from some brokers"

    def pairs(self):
        return [(self.target.place, b.place) for b in self.chance.sample(list(self.cluster.brokers), self.chance.randrange(1, 3))]


FAULTS = (Killed, Stopped, Restarted, DiskFull, Unplugged, Split, OneWay,
          KilledServer, StoppedServer, RestartedServer, ServerWithoutFolder, UnpluggedServer, SplitServer)


# ---- brokers, servers and load ----

class Cluster:
    def __init__(self, seed):
        self.network = Network() if is_private() else None
        place = self.network.place if self.network else Everywhere
        self.places = [place() for _ in range(6)]
        # A broker that does not answer is replaced within two seconds, so that faults of a few seconds have consequences.
        self.brokers = Brokers(3, places=self.places[:3], broker_session_timeout_ms=2000, replica_lag_time_max_ms=2000)
        self.nodes, self.workers, self.writers, self.active = [], [], [], []
        self.counters, self.seed = Counters(), seed

    def start(self):
        self.brokers.start()
        self.nodes = [Node(n + 1, place, f"kafka://{self.brokers.addresses}/rung") for n, place in enumerate(self.places[3:])]
        for node in self.nodes:
            node.start()
        self.wait(self.is_ready, "all servers are ready")
        self.define()

    def load(self):
        self.writers = [Writer(self.nodes, self.counters, f"w{n}", f"{self.seed}-{n}") for n in range(WRITERS)]
        probe = Probe(self.brokers.client(message_timeout_ms=2000, socket_timeout_ms=2000, reconnect_backoff_max_ms=1000), self.counters)
        self.workers = [*self.writers, probe, Watcher(self.nodes, self.counters)]
        self.counters.begin()
        for worker in self.workers:
            worker.start()

    def define(self):
        for board, rules in BOARDS.items():
            answer = self.nodes[0].put(f"/v1/boards/{board}", rules)
            if answer.status != 201:
                raise Wrong(f"{board}: {answer}")
        for node in self.nodes:
            self.wait(lambda: node.get("/v1/boards/bare?latest=true").status == 200, "the boards at every server")
        with_key = self.nodes[0].open_resp()
        with_key.call("ZADD", TALLY, 0, "nobody")
        with_key.close()

    def wait(self, condition, what, limit=HEAL_WAIT):
        """Wait for the condition. Meanwhile servers are watched, and the first failure of a worker is raised."""
        end = time.monotonic() + limit
        while not condition():
            self.look()
            if time.monotonic() > end:
                raise Wrong(f"not in {limit} seconds: {what}")
            time.sleep(0.02)
        self.look()

    def pass_time(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.look()
            time.sleep(min(left, 0.05))

    def look(self):
        for worker in self.workers:
            if worker.failure:
                raise worker.failure
        for node in self.nodes:
            if not node.is_running and not self.is_ended(node):
                self.start_again(node)
        for broker in self.brokers:
            if not broker.is_running and not self.is_hit(broker):
                broker.begin()  # it noticed late that its disk was full

    def start_again(self, node):
        """A server that ended by itself. It may do so while it starts and no broker answers, as a supervisor expects; never else."""
        node.reader.join(10)
        if any(" ready" in line for line in node.said) or not UNREACHED.search(node.log):
            raise Wrong(f"{node} ended with {node.process.returncode}:\n{node.log}")
        node.start()

    def is_ready(self):
        return all(b.is_running and b.is_ready for b in self.brokers) and all(n.is_ready() for n in self.nodes)

    def is_ended(self, target):
        """Did a fault end it?"""
        return any(f.target is target and isinstance(f, Killed) and not f.is_ended for f in self.active)

    def is_hit(self, target):
        return any(f.target is target for f in self.active)

    def free_broker(self, chance):
        """A broker to hit. Mostly one at a time; of three at most two."""
        hit = sum(self.is_hit(b) for b in self.brokers)
        if hit > (chance.random() < TWO_BROKERS):
            return None
        return self.free(chance, self.brokers)

    def free_node(self, chance):
        return self.free(chance, self.nodes) if sum(self.is_hit(n) for n in self.nodes) < 2 else None

    def free(self, chance, targets):
        targets = [t for t in targets if not self.is_hit(t)]
        return chance.choice(targets) if targets else None

    def rest(self, is_resting):
        for worker in self.workers:
            worker.may_go.clear() if is_resting else worker.may_go.set()
        if is_resting:
            self.wait(lambda: all(w.rests.is_set() for w in self.workers), "every submission is acknowledged")

    def check(self):
        """Nobody writes. The books at every server, and the digests."""
        self.rest(True)
        for node in self.nodes:
            self.wait(lambda: check_books(node, self.writers, self.counters), f"the books at {node}")
        watcher = self.workers[-1]
        self.wait(lambda: len({watcher.look(n) for n in self.nodes}) == 1, "the same sequence and digest at all servers")
        self.rest(False)

    def close(self):
        for worker in self.workers:
            worker.must_end = True
            worker.may_go.set()
        for worker in self.workers:
            worker.join(HEAL_WAIT)
        for node in self.nodes:
            node.close()
        self.brokers.close()
        for place in self.places:
            place.close()
        if self.network:
            self.network.close()

    def keep_logs(self, folder):
        for node in self.nodes:
            lives = "\n---- started again ----\n".join("\n".join(said) for said in node.lives)
            (folder / f"server-{node.number}.log").write_text(lives)
        for broker in self.brokers:
            if broker.log_file.exists():
                shutil.copy(broker.log_file, folder / f"broker-{broker.number}.log")


# ---- the hunt ----

class Hunt:
    def __init__(self, faults, seed):
        self.faults, self.seed, self.chance = faults, seed, random.Random(seed)
        self.cluster, self.begun, self.lines = Cluster(seed), time.monotonic(), []
        kinds = [f for f in FAULTS if is_private() or not f.needs_network]
        self.kinds, self.weights = kinds, [f.weight for f in kinds]
        self.left_out = sorted({f.what for f in FAULTS if f not in kinds})

    def say(self, text):
        line = f"{time.monotonic() - self.begun:8.1f}  {text}"
        self.lines.append(line)
        print(line, flush=True)

    def next_fault(self):
        while True:
            kind = self.chance.choices(self.kinds, self.weights)[0]
            fault = kind(self.cluster, self.chance)
            fault.target = fault.choose()
            if fault.target:
                return fault
            self.end_due()  # everything is hit: wait for somebody to heal
            self.cluster.pass_time(0.05)

    def name(self, fault):
        return f"broker {fault.target.number}" if fault.is_of_broker else repr(fault.target)

    def begin(self, n):
        fault = self.next_fault()
        self.cluster.active.append(fault)
        fault.until, fault.number, fault.is_ended = time.monotonic() + self.chance.uniform(*LASTS), n, False
        self.say(f"fault {n}: {self.name(fault)} {fault.what}")
        fault.begin()

    def end(self, fault):
        fault.end()
        fault.is_ended = True
        self.say(f"  end of {fault.number}: {self.name(fault)} {fault.healing}")

    def end_due(self, is_due=lambda f: time.monotonic() > f.until):
        while self.cluster.counters.silences:
            self.say(self.cluster.counters.silences.pop(0))
        for fault in list(self.cluster.active):
            if not fault.is_ended and is_due(fault) and fault.may_end():
                self.end(fault)
            if fault.is_ended and fault.is_healed():
                self.cluster.active.remove(fault)

    def wait_for_progress(self):
        goal, end = self.cluster.counters.acked + PROGRESS, time.monotonic() + PROGRESS_WAIT
        self.cluster.wait(lambda: self.cluster.counters.acked >= goal or time.monotonic() > end, "progress")

    def heal(self):
        begun = time.monotonic()

        def all_healed():
            self.end_due(lambda _: True)
            return not self.cluster.active and self.cluster.is_ready()
        self.cluster.wait(all_healed, "all brokers and servers are ready")
        healed = time.monotonic()
        self.cluster.check()
        c = self.cluster.counters
        self.say(f"healed in {healed - begun:.1f} s, checked in {time.monotonic() - healed:.1f} s: {c.acked} acknowledged, none lost; "
                 f"{c.repeated} repeated, {c.unknown} unknown, {c.reads} fresh reads, {c.unavailable} unavailable, {c.digests} digests compared")

    def run(self):
        """Whether all is well."""
        print(f"{self.faults} faults, seed {self.seed}" + (f"; left out here: {', '.join(self.left_out)}" if self.left_out else ""))
        try:
            self.cluster.start()
            self.cluster.load()
            self.say("three brokers and three servers are ready")
            for n in range(1, self.faults + 1):
                self.begin(n)
                self.cluster.pass_time(self.chance.uniform(*GAP))
                self.wait_for_progress()
                self.end_due()
                if n % ROUND == 0 or n == self.faults:
                    self.heal()
            c = self.cluster.counters
            self.say(f"{self.faults} faults, {c.acked} acknowledged, 0 lost, longest time without an acknowledgement {c.silence:.1f} s; of a bare producer "
                     f"{c.bare_silence:.1f} s; at most {c.extra_silence:.1f} s longer than it at a time")
            return True
        except (Wrong, BrokerError, OSError, AssertionError) as e:
            self.fail(e)
            return False
        finally:
            self.cluster.close()

    def fail(self, e):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-faults-"))
        self.say(f"FAILED: {e}")
        self.cluster.keep_logs(folder)
        (folder / "timeline").write_text("\n".join(self.lines) + "\n")
        print(f"seed {self.seed}; the logs are in {folder}")


def main():
    enter_private()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all is cleaned up
    faults = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(3), "big")
    return 0 if Hunt(faults, seed).run() else 1


if __name__ == "__main__":
    sys.exit(main())
