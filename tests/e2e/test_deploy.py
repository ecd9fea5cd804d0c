#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release,no-asan
"""deploy/: the package is built, unpacked and run; the unit, the configuration, the dashboard and the alarms are true."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from server import BUILD, SOURCE, WAIT, Server, ServerTest, rung

DEPLOY = SOURCE / "deploy"


class Monitoring(ServerTest):
    def metrics(self):
        server = self.serve()
        server.put("/v1/boards/race", {})
        server.post("/v1/boards/race/scores", {"player": "ada", "score": 1})
        text = server.get("/metrics").body.decode()
        return set(re.findall(r"^([a-z_]+)(?:\{| )", text, re.M)), text

    def used(self, text):
        return set(re.findall(r"\b(?:rung|process)_[a-z_]+\b", text))

    def test_dashboard_and_alarms_ask_for_what_there_is(self):
        names, text = self.metrics()
        dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
        queries = [t["expr"] for p in dashboard["panels"] for t in p["targets"]]
        self.assertGreater(len(queries), 30)
        for query in queries:
            self.assertLessEqual(self.used(query), names, query)
            self.assertEqual(query.count("("), query.count(")"), query)
            self.assertEqual(query.count("{"), query.count("}"), query)
        self.assertEqual(len({p["id"] for p in dashboard["panels"]}), len(dashboard["panels"]))
        alarms = re.findall(r"expr: (.*)", (DEPLOY / "alerts.yml").read_text())
        self.assertGreater(len(alarms), 5)
        for expr in alarms:
            self.assertLessEqual(self.used(expr), names, expr)
        for label in ("route=", "code=", 'for="', 'board="', "le="):  # labels that the queries name
            self.assertIn(label, text)

    def test_every_alarm_is_explained(self):
        page = (SOURCE / "docs/operations.md").read_text()
        for name in re.findall(r"alert: (\w+)", (DEPLOY / "alerts.yml").read_text()):
            self.assertIn(f"`{name}`", page)


    def test_prometheus_may_scrape(self):
        """The key that the pages tell to make opens /metrics; prometheus.yml reads it where compose.yaml puts it."""
        config, compose = ((DEPLOY / name).read_text() for name in ("prometheus.yml", "compose.yaml"))
        place = re.search(r"^    authorization:\n      credentials_file: (\S+)$", config, re.M)[1]
        source = re.search(rf"^      - source: (\S+)\n        target: {re.escape(place)}$", compose, re.M)[1]
        file = re.search(rf"^secrets:\n  {source}:\n    file: \./(\S+)$", compose, re.M)[1]
        made = re.search(rf"keys (create .*) >deploy/{re.escape(file)}\)$", compose, re.M)[1].split()
        self.assertIn(f"chown 65534 deploy/{file}", compose)
        self.assertIn(f">{place}'", (DEPLOY / "README.md").read_text())
        ignored = subprocess.run(["git", "check-ignore", "-q", f"deploy/{file}"], cwd=SOURCE)
        self.assertIn(ignored.returncode, (0, 128))  # 128: not a clone
        server = self.serve()
        server.key("admin")
        key = server.key(made[made.index("--role") + 1], *made[made.index("--role") + 2:])
        self.assertEqual(server.get("/metrics").status, 401)
        self.assertEqual(server.get("/metrics", key=key).status, 200)


class Up(unittest.TestCase):
    def test_dev_up(self):
        """./dev up, but for building: this build's program stands where the release would."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-dev-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(BUILD)
        script = (SOURCE / "dev").read_text()
        functions = re.sub(r"^cd .*$", "", script[:script.rindex("\ncase ${1:-help} in")], flags=re.M)
        (folder / "up.sh").write_text(functions + "\nready() { :; }\nbuild() { :; }\ncmd_up\n")
        env = {**os.environ, "RUNG_HTTP": "127.0.0.1:0", "RUNG_RESP": "127.0.0.1:0", "TMPDIR": str(folder)}
        up = subprocess.Popen(["bash", "up.sh"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored where we run in the background
        self.addCleanup(up.kill)
        said = ""
        while "Ctrl-C" not in said:
            line = up.stdout.readline()
            self.assertTrue(line, said)
            said += line
        commands = re.findall(r"^  (build/release/rung .*|curl .*)$", said, re.M)
        self.assertEqual(len(commands), 3, said)
        for command in commands:
            command = command.replace("rung watch", "rung watch --seconds 1")
            run = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=WAIT)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("arena" if "submit" not in command else "rank", run.stdout)
        self.assertTrue(list(folder.glob("rung-up.*")))
        up.send_signal(signal.SIGINT)
        rest = up.stdout.read()  # ends when the server and the demo have ended, too
        self.assertEqual(up.wait(WAIT), 0, said + rest)
        up.stdout.close()
        self.assertEqual(list(folder.glob("rung-up.*")), [])


class Files(unittest.TestCase):
    def test_only_test_builds_stop_at_warnings(self):
        """A compiler newer than ours must not keep anybody from building the release."""
        presets = {p["name"]: p for p in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}

        def value(name, key):
            preset = presets[name]
            found = preset.get("cacheVariables", {}).get(key)
            return found or (value(preset["inherits"], key) if "inherits" in preset else None)

        for name, preset in presets.items():
            if not preset.get("hidden"):
                self.assertEqual(value(name, "RUNG_WERROR"), "ON" if value(name, "RUNG_TEST_BUILD") == "ON" else "OFF", name)
        self.assertRegex((SOURCE / "CMakeLists.txt").read_text(), r'option\(RUNG_WERROR ".*" OFF\)')

    def test_configuration(self):
        run = rung("config", "check", "--config", DEPLOY / "rung.conf", env={"PATH": "/usr/bin"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_unit(self):
        text = (DEPLOY / "rung.service").read_text()
        self.assertNotIn("\t", text)
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        run = subprocess.run(["systemd-analyze", "security", "--offline=true", DEPLOY / "rung.service"], capture_output=True, text=True,
                             env={**os.environ, "SYSTEMD_PAGER": "", "LC_ALL": "C.UTF-8"})
        found = re.search(r"exposure level for rung\.service: (\d+\.\d)", run.stdout)
        if not found:
            self.skipTest("this systemd-analyze cannot look at files: " + run.stderr.strip())
        self.assertLess(float(found[1]), 2.0)

    def test_container_files_name_what_is_there(self):
        dockerfile = (DEPLOY / "Dockerfile").read_text()
        for name, value in re.findall(r"\b(RUNG_[A-Z]+)=(\S+)", dockerfile):
            self.assertIn(f"`{name}`", (SOURCE / "docs/configuration.md").read_text(), value)
        for path in re.findall(r"- \./([\w./-]+):", (DEPLOY / "compose.yaml").read_text()):
            self.assertTrue((DEPLOY / path).exists(), path)


class Package(unittest.TestCase):
    def setUp(self):
        for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"):
            if not shutil.which(tool):
                self.skipTest(f"no {tool}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-package-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_tool(self, *words, **more):
        run = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=WAIT, **more)
        self.assertEqual(run.returncode, 0, f"{words}: {run.stdout}{run.stderr}")
        return run.stdout

    def test_it_is_built_unpacked_and_run(self):
        self.run_tool("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", self.folder, cwd=BUILD)
        package = next(self.folder.glob("rung_*.deb"))
        library = next(self.folder.glob("librung-dev_*.deb"))
        self.check_library(library)
        control = self.run_tool("dpkg-deb", "-f", package)
        self.assertRegex(control, r"(?m)^Package: rung$")
        self.assertRegex(control, r"(?m)^Depends: .*libuv1.*")
        root = self.folder / "root"
        self.run_tool("dpkg-deb", "-x", package, root)
        self.run_tool("dpkg-deb", "-e", package, self.folder / "control")
        self.assertEqual((self.folder / "control/conffiles").read_text(), "/etc/rung/rung.conf\n")
        for script in ("postinst", "prerm", "postrm"):
            self.run_tool("sh", "-n", self.folder / "control" / script)
        for path in ("etc/rung/rung.conf", "usr/bin/rung", "usr/lib/systemd/system/rung.service", "usr/lib/sysusers.d/rung.conf",
                     "usr/share/man/man1/rung.1.gz", "usr/share/doc/rung/changelog.gz", "usr/share/bash-completion/completions/rung",
                     "usr/share/zsh/vendor-completions/_rung", "usr/share/fish/vendor_completions.d/rung.fish",
                     "usr/share/doc/rung/monitoring/grafana-dashboard.json", "usr/share/doc/rung/copyright"):
            self.assertTrue((root / path).is_file(), path)
        self.assertFalse((root / "usr/etc").exists())
        # deploy/README.md makes the first key before the first start.
        self.assertIn("install -d -o rung -g rung -m 0700 /var/lib/rung", (self.folder / "control/postinst").read_text())
        program = root / "usr/bin/rung"
        self.assertRegex(self.run_tool(program, "--version"), r"^rung \d")
        self.run_tool(program, "config", "check", "--config", root / "etc/rung/rung.conf")
        self.serve_from(program, root / "etc/rung/rung.conf")

    def check_library(self, package):
        """Whatever pkg-config asks for is depended upon, and the static library carries no debugging information."""
        depends = self.run_tool("dpkg-deb", "-f", package, "Depends")
        root = self.folder / "library"
        self.run_tool("dpkg-deb", "-x", package, root)
        requires = re.search(r"Requires.private: (.*)", next(root.rglob("rung.pc")).read_text())[1].split()
        packages = {"libcrypto": "libssl-dev"}
        for name in requires:
            self.assertIn(packages[name], re.split(r", | \(", depends))
        self.assertNotIn(".debug_info", self.run_tool("readelf", "-SW", next(root.rglob("librung.a"))))
        self.assertTrue((root / "usr/share/doc/librung-dev/copyright").is_file())
        version = self.run_tool("dpkg-deb", "-f", package, "Version").strip()
        self.assertTrue((DEPLOY / "debian/changelog").read_text().startswith(f"rung ({version}) "))

    def serve_from(self, program, config):
        """The installed program with the installed configuration; only where it keeps things and listens is ours."""
        import server
        ours, server.RUNG = server.RUNG, program
        try:
            with Server("--config", config, data=self.folder / "data") as running:
                self.assertEqual(running.put("/v1/boards/race", {}).status, 201)
                self.assertEqual(running.stop(), 0)
        finally:
            server.RUNG = ours


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
