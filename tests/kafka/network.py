# SPDX-License-Identifier: Apache-2.0
"""A network to cut, and disks to fill: each broker and server of a test in a network namespace of its own, on one bridge.

    if is_private():                      # this process has a network and mounts of its own (enter_private made it so)
        net = Network()
        a, b = net.place(), net.place()   # a.address, and a.wrap: the words before a command that shall run there
        a.unplug(); a.plug()              # its cable
        a.drop(b); a.restore(b)           # what a sends to b is lost; the other direction still works
        with a.inside():                  # sockets that this thread makes now are made there
            ...
        disk = Disk(folder)               # a small file system, mounted on the folder
        disk.fill(); disk.free()

Nothing is left behind: namespaces end with their last process, and so do the mounts of a mount namespace. Where a process may not
have namespaces, is_private() is false, and the test goes on in one network without these faults."""
import collections
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PRIVATE = "RUNG_TEST_IS_PRIVATE"
WAIT = 20  # seconds; only reached when something is wrong
PREFIX = "10.86.0."
PROBE = "ip link set lo up && ip link add b0 type bridge && ip link add v0 type veth peer name v1 && mount -t tmpfs -o size=1m tmpfs /mnt"

libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent():
    """In a child: end when the thread that started it does, even if that was killed."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def is_private():
    return PRIVATE in os.environ


def enter_private():
    """Start this program again with a network and mounts of its own, if that is possible; otherwise return."""
    ways = ([], ["--user", "--map-root-user"]) if os.geteuid() == 0 else (["--user", "--map-root-user"],)
    if is_private() or not all(map(shutil.which, ("unshare", "nsenter", "ip", "mount"))):
        return
    for way in ways:
        unshare = ["unshare", *way, "--net", "--mount"]
        if subprocess.run([*unshare, "sh", "-c", PROBE], capture_output=True).returncode == 0:
            sys.stdout.flush()
            os.execvpe("unshare", [*unshare, sys.executable, *sys.argv], {**os.environ, PRIVATE: "1"})


def ip(*words, inside=()):
    run = subprocess.run([*inside, "ip", *map(str, words)], capture_output=True, text=True)
    if run.returncode:
        raise OSError(f"ip {' '.join(map(str, words))}: {run.stderr.strip()}")


class Everywhere:
    """The place of a broker or server without a network of its own."""
    address, wrap = "127.0.0.1", ()

    @contextlib.contextmanager
    def inside(self):
        yield

    def close(self):
        pass


class Network:
    def __init__(self):
        self.places, self.home = 0, os.open("/proc/self/ns/net", os.O_RDONLY)
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("addr", "add", PREFIX + "1/24", "dev", "bridge")  # for clients outside of all places
        ip("link", "set", "bridge", "up")

    def place(self):
        self.places += 1
        return Place(self, self.places)

    def close(self):
        os.close(self.home)
        ip("link", "del", "bridge")


class Place:
    """A network namespace with one cable to the bridge. A sleeping process holds it, so that it outlives who lives there."""

    def __init__(self, network, number):
        self.home, self.cable, self.address = network.home, f"cable{number}", PREFIX + str(number + 10)
        self.dropped = collections.Counter()  # by address: two faults may cut the same way
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], preexec_fn=end_with_parent)
        path = f"/proc/{self.holder.pid}/ns/net"
        end = time.monotonic() + WAIT
        while os.readlink(path) == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > end or self.holder.poll() is not None:
                raise OSError("no network namespace")
            time.sleep(0.002)
        self.wrap, self.namespace = ("nsenter", f"--net={path}"), os.open(path, os.O_RDONLY)
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.holder.pid)
        ip("link", "set", self.cable, "master", "bridge", "up")
        ip("link", "set", "lo", "up", inside=self.wrap)
        ip("addr", "add", self.address + "/24", "dev", "eth0", inside=self.wrap)
        ip("link", "set", "eth0", "up", inside=self.wrap)

    def unplug(self):
        ip("link", "set", self.cable, "down")

    def plug(self):
        ip("link", "set", self.cable, "up")

    def drop(self, other):
        self.dropped[other.address] += 1
        if self.dropped[other.address] == 1:
            ip("route", "add", "blackhole", other.address, inside=self.wrap)

    def restore(self, other):
        self.dropped[other.address] -= 1
        if self.dropped[other.address] == 0:
            ip("route", "del", "blackhole", other.address, inside=self.wrap)

    @contextlib.contextmanager
    def inside(self):
        self._enter(self.namespace)
        try:
            yield
        finally:
            self._enter(self.home)

    def close(self):
        ip("link", "del", self.cable)  # the kernel would do it some time after the last process
        os.close(self.namespace)
        self.holder.kill()
        self.holder.wait()

    @staticmethod
    def _enter(namespace):
        if libc.setns(namespace, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


class Disk:
    """A file system in memory. Full is what it becomes when its size is set to what is in use."""
    SIZE = 1 << 30

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._mount(f"size={self.SIZE}")

    def _mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], check=True, capture_output=True)

    def fill(self):
        for _ in range(100):  # what is written between looking and setting makes it fail
            room = os.statvfs(self.folder)
            with contextlib.suppress(subprocess.CalledProcessError):
                return self._mount(f"remount,size={(room.f_blocks - room.f_bfree) * room.f_frsize}")
        raise OSError("the disk cannot be filled")

    def free(self):
        self._mount(f"remount,size={self.SIZE}")

    def close(self):
        subprocess.run(["umount", "--lazy", self.folder], capture_output=True)
