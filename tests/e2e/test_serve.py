#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release,thread
"""rung serve as a process: what it says, its signals, its settings, a slow recovery, a disk that fails."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import BUILD, RUNG, WAIT, Server, ServerTest, rung, until

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* fdatasync and fsync fail while the file $SHIM_FAIL is there; each of the first 200 preads takes $SHIM_SLOW_US. */
static int fails(void) {
    const char *path = getenv("SHIM_FAIL");
    return path && access(path, F_OK) == 0;
}
int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return fails() ? (errno = EIO, -1) : real(fd);
}
int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return fails() ? (errno = EIO, -1) : real(fd);
}
ssize_t pread(int fd, void *bytes, size_t len, off_t offset) {
    ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    static int left = 200;
    const char *slow = getenv("SHIM_SLOW_US");
    if (slow && left-- > 0)
        usleep((useconds_t)atoi(slow));
    return real(fd, bytes, len, offset);
}
ssize_t pread64(int fd, void *bytes, size_t len, off_t offset) { return pread(fd, bytes, len, offset); }
"""


class Serve(ServerTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-serve-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def shim(self):
        cache = (BUILD / "CMakeCache.txt").read_text()
        if re.search(r"^RUNG_SANITIZE:[^=]*=.", cache, re.M):
            self.skipTest("a sanitizer wants to be loaded first")
        compiler = re.search(r"^CMAKE_C_COMPILER:[^=]*=(.*)$", cache, re.M)[1]
        (self.folder / "shim.c").write_text(SHIM)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.folder / "shim.so", self.folder / "shim.c", "-ldl"], check=True)
        return {"LD_PRELOAD": str(self.folder / "shim.so")}

    def catches(self, server, number):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1

    # ---- what it says ----

    def test_the_line(self):
        server = self.serve()
        lines = [line for line in server.said if "listening" in line]
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"\Alistening http=127\.0\.0\.1:\d+ resp=127\.0\.0\.1:\d+\Z")
        self.assertEqual(server.stop(), 0)
        quiet = self.serve("--logging-level", "error")
        self.assertEqual(len(quiet.said), 1, quiet.log)

    def test_json_lines(self):
        server = self.serve("--logging-format", "json", "--logging-level", "debug")
        server.get("/v1/boards?secret=1", headers={"Authorization": "Bearer rung_admin_x_SECRET"})
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.said]
        self.assertTrue(all({"ts", "level", "msg"} <= set(line) for line in lines))
        listening = next(line for line in lines if line["msg"] == "listening")
        self.assertRegex(listening["http"], r"127\.0\.0\.1:\d+")
        request = next(line for line in lines if line["msg"] == "request")
        self.assertEqual((request["method"], request["path"], request["status"]), ("GET", "/v1/boards", 401))
        self.assertNotIn("SECRET", server.log)

    def test_nothing_is_kept_without_a_folder_and_it_says_so(self):
        server = self.serve(data=False)
        self.assertIn("nothing is stored", server.log)

    # ---- settings ----

    def test_file_environment_and_flags(self):
        config = self.folder / "rung.conf"
        config.write_text("metrics = off\ngzip = off\n[logging]\nlevel = debug\n")
        server = self.serve("--config", config, "--logging-level", "info", env={"RUNG_METRICS": "on"})
        self.assertEqual(server.get("/metrics").status, 200)
        self.assertNotIn("request", server.log)
        off = self.serve("--config", config)
        self.assertEqual(off.get("/metrics").status, 404)
        answer = off.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
        self.assertIsNone(answer.headers.get("content-encoding"))

    def test_mistakes_keep_it_from_starting(self):
        for flags, why in [(("--nonsense",), "no option"), (("--http", "nowhere"), "--http"), (("--log", "kafka:x"), "kafka"),
                           (("--archive", "mysql://x"), "sqlite:FILE"), (("--tls-cert", "x"), "tls.key"),
                           (("--http", "203.0.113.1:0"), "keys create"), (("--resp", "[::]:0"), "keys create"),
                           (("--config", "/absent"), "/absent")]:
            server = self.serve(*flags, start=False)
            server.start(wait=False)
            self.assertIn(server.wait_exit(), (1, 2), flags)
            self.assertIn(why, server.log, flags)
            self.assertNotIn("listening", server.log)

    def test_an_empty_log_is_the_local_one(self):
        server = self.serve("--log", "")
        self.assertEqual(server.get("/v1/boards").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_a_second_server_finds_the_default_port_of_redis_taken(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 7865))
                taken.listen()
            except OSError:
                pass  # somebody else has it: just as good
            process = subprocess.Popen([RUNG, "serve", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            said = ""
            while "\nlistening" not in said:
                line = process.stderr.readline()
                self.assertTrue(line, said)
                said += line
            self.assertIn("the Redis protocol is not served", said)
            self.assertNotIn("resp=", said)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(WAIT), 0)
            process.stderr.close()

    def test_pages_of_other_sites_are_nobodys_business(self):
        server = self.serve("--cors-origins", "http://localhost:3000")
        for origin, status in [("https://evil.example", 403), ("null", 403), ("http://127.0.0.1.evil.example", 403),
                               ("http://evil.example:%d" % server.http[1], 403),
                               ("http://localhost:3000", 200), ("http://127.0.0.1:%d" % server.http[1], 200)]:
            self.assertEqual(server.get("/v1/boards", headers={"Origin": origin}).status, status, origin)
        key = server.key("read")  # with keys, CORS alone decides what a page may read
        self.assertEqual(server.get("/v1/boards", key=key, headers={"Origin": "https://evil.example"}).status, 200)

    def test_pages_of_elsewhere_need_keys(self):
        """Without keys whoever may ask may do everything: no page of elsewhere may."""
        for origins in ("*", "https://game.example", "http://localhost:3000, https://localhost.evil.example"):
            server = self.serve("--cors-origins", origins, start=False)
            server.start(wait=False)
            self.assertNotEqual(server.wait_exit(), 0, origins)
            self.assertRegex(server.log, "cors.origins.*there are no keys")
            self.assertNotIn("listening", server.log)
            server.key("admin")
            server.start()
            self.assertEqual(server.stop(), 0)

    # ---- signals ----

    def test_snapshot_on_request(self):
        server = self.serve("--snapshot-every", "off")
        server.put("/v1/boards/race", {})
        server.process.send_signal(signal.SIGUSR1)
        until(lambda: list(server.data.glob("snapshot-*.snap")), "the snapshot")
        self.assertEqual(server.stop(), 0)
        until(lambda: "snapshot started" in server.log, "the line in the log")

    def test_snapshot_over_http(self):
        server = self.serve("--snapshot-every", "off")
        server.put("/v1/boards/race", {})
        answer = until(lambda: (a := server.post("/v1/snapshot")).status != 409 and a, "the archive")
        self.assertEqual((answer.status, answer.json), (202, {"changed": True, "seq": 2}), answer)
        until(lambda: list(server.data.glob("snapshot-*.snap")), "the snapshot")
        until(lambda: server.post("/v1/snapshot").status == 202, "its end")  # 409 until then
        self.assertEqual(server.post("/v1/snapshot").json, {"changed": False, "seq": 2})
        self.assertEqual(self.serve(data=False).post("/v1/snapshot").status, 422)  # no folder

    def test_stopping_again_changes_nothing(self):
        server = self.serve()
        for _ in range(3):
            server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)

    def test_it_drains_before_it_stops(self):
        """With stop_delay, a load balancer has time to notice: /readyz is 503, everything else goes on."""
        server = self.serve("--stop-delay", "1h")
        server.put("/v1/boards/race", {})
        kept = server.open()
        self.assertIsNone(server.get("/readyz", connection=kept).headers["connection"])
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/readyz").status == 503, "draining")
        self.check(server.get("/readyz"), 503, "stopping")
        answer = self.check(server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}, connection=kept), 200)
        self.assertEqual(answer.headers["connection"], "close")
        self.check(server.get("/v1/boards/race/top"), 200)  # on a new connection
        server.process.send_signal(signal.SIGHUP)  # as before
        self.assertEqual(server.stop(), 0)  # told again: at once
        server.flags = ["--stop-delay", "10ms"]
        server.start()
        self.assertEqual(server.get("/v1/boards/race/top").json["total"], 1)
        self.assertEqual(server.stop(), 0)
        self.assertIn("draining", server.log)

    # ---- recovery and failure ----

    def test_it_answers_while_it_recovers(self):
        env = self.shim()
        server = self.serve(env=env)
        server.put("/v1/boards/race", {})
        lines = "".join(json.dumps({"board": "race", "player": f"p{i}", "score": i}) + "\n" for i in range(20000))
        server.post("/v1/scores", lines.encode(), headers={"Content-Type": "application/x-ndjson"})
        server.kill()
        server.env["SHIM_SLOW_US"] = "30000"
        server.start()  # it says where it listens after three seconds at the latest
        seen = []
        while not seen or seen[-1].status != 200:
            seen.append(server.get("/readyz"))
            self.assertEqual(server.get("/healthz").status, 200)
            if seen[-1].status != 200:
                self.check(seen[-1], 503, "not_ready")
                self.assertLessEqual({"reading", "done", "total"}, set(seen[-1].json["progress"]))
                answer = server.get("/v1/boards/race/top")
                self.assertIn(answer.status, (200, 503))
                time.sleep(0.05)
        self.assertEqual(server.get("/v1/boards/race/top").json["total"], 20000)

    def test_a_stop_while_it_recovers(self):
        env = self.shim()
        server = self.serve(env=env)
        server.put("/v1/boards/race", {})
        server.kill()
        server.env["SHIM_SLOW_US"] = "300000"
        server.start(wait=False)
        until(lambda: self.catches(server, signal.SIGTERM), "waiting for signals")
        self.assertEqual(server.stop(), 0)
        del server.env["SHIM_SLOW_US"]
        server.start()
        self.assertEqual(server.get("/v1/boards/race").status, 200)

    def test_a_folder_that_is_removed_ends_it(self):
        """What is acknowledged without a folder would be lost."""
        def remove(server):
            shutil.rmtree(server.data)

        def replace(server):
            server.data.rename(server.own_folder / "elsewhere")
            server.data.mkdir()
            (server.data / "lock").touch()
        for lose in (remove, replace):
            server = self.serve("--archive", "off")
            server.put("/v1/boards/race", {})
            lose(server)
            self.assertEqual(server.wait_exit(), 4)
            self.assertRegex(server.log, "folder .* was removed or replaced while it was in use")

    def test_a_failed_sync_ends_it_at_once(self):
        env = {**self.shim(), "SHIM_FAIL": str(self.folder / "fail")}
        server = self.serve("--archive", "off", env=env)
        server.put("/v1/boards/race", {})
        self.assertEqual(server.post("/v1/boards/race/scores", {"player": "ada", "score": 1}).status, 200)
        (self.folder / "fail").touch()
        with self.assertRaises((ConnectionError, OSError, Exception)):
            server.post("/v1/boards/race/scores", {"player": "bob", "score": 2})
        self.assertEqual(server.wait_exit(), 4)
        self.assertIn("the log failed", server.log)
        (self.folder / "fail").unlink()
        server.start()
        self.assertEqual(server.get("/v1/boards/race/players/ada").status, 200)


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
