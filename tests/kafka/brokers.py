# SPDX-License-Identifier: Apache-2.0
"""Real Kafka brokers for tests: one to three in KRaft mode, on free loopback ports, in a throw-away folder.

    with Brokers(3) as brokers:
        run("--log", f"kafka://{brokers.addresses}/rung")
        brokers[0].kill(); brokers[0].start()             # kill -9, and again on the same port and folder
        brokers[1].pause(); brokers[1].resume()           # SIGSTOP, SIGCONT
        client = brokers.client()                         # client.py: topics and records, through librdkafka
        client.create_topic("scores", configs={"retention.ms": "3600000"})
        client.produce("scores", b"value", key=b"key")
    Brokers(3, places=[net.place() for _ in range(3)])    # each in a network of its own, on a disk of its own (network.py)

    python3 tests/kafka/brokers.py fetch                  # only get what the brokers need, as ./dev test does first

The broker and its libraries come from Maven into .cache/kafka (see pom.xml). Where there is no Java, no Maven or no network, the
test is skipped (exit code 77). Waiting is for what a broker says, never for time to pass; every wait has a limit."""
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache"
JAVA_MIN = 17  # Kafka 4
START_WAIT = 120  # seconds; only reached when something is wrong
START_TRIES = 3  # a port may be taken between choosing and listening
CLUSTER_ID = "cnVuZy10ZXN0cy1rYWZrYQ"

sys.path.insert(0, str(HERE))
from network import Disk, Everywhere, end_with_parent  # noqa: E402


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def java():
    path = shutil.which("java")
    if not path:
        skip("there is no java")
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=True).stderr
    version = said.split('"')[1].split(".")[0] if '"' in said else "0"
    if int(version) < JAVA_MIN:
        skip(f"java {version} is older than {JAVA_MIN}")
    return path


def jars():
    """The folder with the broker's jars; fetched once per pom.xml."""
    home, pom = CACHE / "kafka", HERE / "pom.xml"
    stamp, wanted = home / "fetched", pom.read_bytes()
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "kafka.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_bytes() == wanted:
            return home
        maven = shutil.which("mvn")
        if not maven:
            skip("there is no mvn, and the broker was not fetched yet")
        shutil.rmtree(home, ignore_errors=True)
        run = subprocess.run([maven, "-q", "-B", "-f", pom, f"-Dmaven.repo.local={CACHE / 'maven'}", "dependency:copy-dependencies",
                              "-DincludeScope=runtime", f"-DoutputDirectory={home}"], capture_output=True, text=True)
        if run.returncode != 0:
            skip(f"the broker cannot be fetched:\n{run.stdout}{run.stderr}")
        stamp.write_bytes(wanted)
    return home


def free_ports(count):
    """Ports that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Broker:
    """One broker, which is its own controller."""

    jvm = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # small, and quick to start
    format_words = ()

    def __init__(self, number, folder, place, port, config):
        self.number, self.folder, self.place, self.port = number, folder, place, port
        self.address = f"{place.address}:{port}"
        self.properties, self.log_file = folder / "server.properties", folder / "log"  # of all its lives
        self.process, self.said, self.reader = None, [], None
        folder.mkdir()
        self.disk = Disk(folder / "data") if place.wrap else None
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in config.items()))

    def command(self, main, *args, options=()):
        return [*self.place.wrap, java(), *self.jvm, f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
                *options, "-cp", f"{jars()}/*", main, *map(str, args)]

    def begin_format(self):
        return subprocess.Popen(self.command("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", self.properties, *self.format_words),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def begin(self):
        """Start without waiting: brokers of one cluster wait for each other."""
        self.said = []
        self.process = subprocess.Popen(self.command("kafka.Kafka", self.properties), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout, self.said), daemon=True)
        self.reader.start()

    def _read(self, pipe, said):
        with open(self.log_file, "ab") as log:
            for line in pipe:
                said.append(line.decode("utf-8", "replace").rstrip("\n"))
                log.write(line)
        pipe.close()

    @property
    def is_ready(self):
        """It is running, and has said so. A broker that ended while starting is an error."""
        if self.process.poll() is not None:
            self.reader.join(START_WAIT)
            raise BrokerError(f"broker {self.number} ended with {self.process.returncode}:\n{self.log}")
        return any("Kafka Server started" in line for line in list(self.said))

    def wait_ready(self):
        end = time.monotonic() + START_WAIT
        while not self.is_ready:
            if time.monotonic() > end:
                raise BrokerError(f"broker {self.number} was not ready in {START_WAIT} seconds:\n{self.log}")
            time.sleep(0.01)

    def start(self):
        self.begin()
        self.wait_ready()
        return self

    @property
    def log(self):
        return "\n".join(self.said[-60:])

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(START_WAIT)
        self.reader.join(START_WAIT)

    def stop(self):
        """SIGTERM: hand over leadership, sync, leave."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(START_WAIT)
        self.reader.join(START_WAIT)
        return code

    def pause(self):
        """Returns when it stands still: on a busy machine some of its threads go on for a while."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class BrokerError(Exception):
    pass


class Brokers:
    kind = Broker

    def __init__(self, count=1, places=None, **settings):
        """`settings`: further properties of each broker, with _ for the dots in their names."""
        self.count, self.settings = count, {k.replace("_", "."): v for k, v in settings.items()}
        self.places = places or [Everywhere()] * count
        self.folder, self.all, self.clients = None, [], []

    def start(self):
        for attempt in range(START_TRIES):
            try:
                return self._start()
            except BrokerError:
                self.close()
                if attempt == START_TRIES - 1:
                    raise
        return self

    def _start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-kafka-"))
        ports = free_ports(2 * self.count)
        voters = ",".join(f"{i + 1}@{place.address}:{ports[self.count + i]}" for i, place in enumerate(self.places))
        self.all = [self.kind(i + 1, self.folder / str(i + 1), place, ports[i],
                              self._config(i + 1, place.address, ports[i], ports[self.count + i], voters))
                    for i, place in enumerate(self.places)]
        formats = [b.begin_format() for b in self.all]
        for f in formats:
            said, _ = f.communicate(timeout=START_WAIT)
            if f.returncode:
                raise BrokerError(f"format: {said}")
        for b in self.all:
            b.begin()
        for b in self.all:
            b.wait_ready()
        return self

    def _config(self, number, host, port, controller_port, voters):
        copies = min(self.count, 3)
        return {
            "process.roles": "broker,controller", "node.id": number, "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{host}:{port}", "controller.listener.names": "CONTROLLER",
            "log.dirs": self.folder / str(number) / "data", "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": copies, "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies, "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0, "num.network.threads": 2, "num.io.threads": 2,
            "num.recovery.threads.per.data.dir": 1, "log.cleaner.enable": "false",
            # A dead broker is noticed, and replaced as leader, sooner than by default (9 and 30 s).
            "broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500, "replica.lag.time.max.ms": 5000,
            **self.settings,
        }

    @property
    def addresses(self):
        return ",".join(b.address for b in self.all)

    def __getitem__(self, index):
        return self.all[index]

    def __iter__(self):
        return iter(self.all)

    def client(self, **settings):
        """A client of these brokers, closed with them."""
        from client import Client
        self.clients.append(Client(self.addresses, **settings))
        return self.clients[-1]

    def close(self):
        for client in self.clients:
            client.close()
        for b in self.all:
            if b.is_running:
                b.kill()
            if b.disk:
                b.disk.close()
        self.clients, self.all = [], []
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":
    if sys.argv[1:] != ["fetch"]:
        sys.exit(__doc__)
    java()
    jars()
