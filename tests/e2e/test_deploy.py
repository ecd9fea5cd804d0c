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


RULES = ("alerts.yml", "slo.yml", "alerts-replicated.yml", "alerts-feed.yml")
SHARED = "Servers on one log"  # the row of the dashboard that test_replication.py looks at


def dashboard_queries(row=None):
    """The queries of the dashboard before the row SHARED; or those in it."""
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    at = next(i for i, p in enumerate(panels) if p["title"] == SHARED)
    return [t["expr"] for p in (panels[at:] if row == SHARED else panels[:at]) for t in p.get("targets", ())]


def rule_queries(name):
    """The expressions of a file of rules, one line each."""
    text = re.sub(r": >-\n\s+", ": ", (DEPLOY / name).read_text())
    return [re.sub(r"\s*\n\s+", " ", expr) for expr in re.findall(r"expr: (.*(?:\n {10,}.*)*)", text)]


def metrics_in(query):
    return set(re.findall(r"\b(?:rung|process)_[a-z_]+\b", query))


class Monitoring(ServerTest):
    def metrics(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        config = pathlib.Path(folder.name) / "rung.conf"  # no broker is there, and none is needed
        config.write_text("[ingest.x]\nbrokers = 127.0.0.1:1\ntopic = t\nboard = b\nplayer = $key\n")
        server = self.serve("--config", config)
        server.put("/v1/boards/race", {})
        server.post("/v1/boards/race/scores", {"player": "ada", "score": 1})
        text = server.get("/metrics").body.decode()
        return set(re.findall(r"^([a-z_]+)(?:\{| )", text, re.M)), text

    def test_dashboard_and_alarms_ask_for_what_there_is(self):
        names, text = self.metrics()
        panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
        self.assertEqual(len({p["id"] for p in panels}), len(panels))
        queries = dashboard_queries()
        self.assertGreater(len(queries), 30)
        for query in queries + dashboard_queries(SHARED):
            self.assertEqual(query.count("("), query.count(")"), query)
            self.assertEqual(query.count("{"), query.count("}"), query)
        alarms = rule_queries("alerts.yml") + rule_queries("slo.yml")
        self.assertGreater(len(alarms), 25)
        recorded = set(re.findall(r"record: (\S+)", (DEPLOY / "slo.yml").read_text()))
        for query in queries + alarms:
            self.assertLessEqual(metrics_in(query), names, query)
            self.assertLessEqual(set(re.findall(r"\brung:[\w:]+", query)), recorded, query)
        for label in ("route=", "code=", 'for="', 'board="', "le="):  # labels that the queries name
            self.assertIn(label, text)

    def test_every_alarm_is_explained(self):
        page = (SOURCE / "docs/operations.md").read_text()
        for file in RULES:
            for name in re.findall(r"alert: (\w+)", (DEPLOY / file).read_text()):
                self.assertIn(f"`{name}`", page)

    def test_prometheus_understands_the_rules(self):
        """And they fire when they should (promtool_slo.yml)."""
        if not shutil.which("promtool"):
            self.skipTest("no promtool")
        config = (DEPLOY / "prometheus.yml").read_text()
        for file in RULES:
            self.assertIn(f"  - {file}\n", config)
        for words in (["check", "rules", *(DEPLOY / file for file in RULES)],
                      ["check", "config", "--syntax-only", DEPLOY / "prometheus.yml"],
                      ["test", "rules", pathlib.Path(__file__).parent / "promtool_slo.yml"]):
            run = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=WAIT)
            self.assertEqual(run.returncode, 0, f"{words}: {run.stdout}{run.stderr}")

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


class Balancer(unittest.TestCase):
    def test_haproxy_understands_its_configuration(self):
        if not shutil.which("haproxy"):
            self.skipTest("no haproxy")
        text = re.sub(r"\brung-\d:", "127.0.0.1:", (DEPLOY / "haproxy.cfg").read_text().replace("/run/haproxy/", "/tmp/"))
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
            file.write(text)
            file.flush()
            run = subprocess.run(["haproxy", "-c", "-f", file.name], capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertNotIn("[WARNING]", run.stdout + run.stderr)

    def test_haproxy_asks_what_there_is(self):
        document = json.loads(rung_openapi())
        for path in set(re.findall(r" uri (\S+)", (DEPLOY / "haproxy.cfg").read_text())):
            path, _, query = path.partition("?")
            known = {p["name"] for p in document["paths"][path]["get"].get("parameters", ())}
            self.assertLessEqual({q.split("=")[0] for q in query.split("&") if q}, known)


def rung_openapi():
    with Server(data=False) as server:
        return server.get("/openapi.json").body


class Kubernetes(unittest.TestCase):
    """deploy/kubernetes: what one file names is in another, and the server knows its settings."""

    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        self.folder = DEPLOY / "kubernetes"
        self.kustomization = yaml.safe_load((self.folder / "kustomization.yaml").read_text())
        self.documents = [d for file in self.kustomization["resources"] for d in yaml.safe_load_all((self.folder / file).read_text())]

    def one(self, kind, name="rung"):
        found = [d for d in self.documents if d["kind"] == kind and d["metadata"]["name"] == name]
        self.assertEqual(len(found), 1, f"{kind} {name}")
        return found[0]

    def test_what_belongs_together_has_the_same_names(self):
        stateful = self.one("StatefulSet")
        labels = stateful["spec"]["template"]["metadata"]["labels"]
        selectors = [stateful["spec"]["selector"]["matchLabels"], self.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
                     self.one("Service")["spec"]["selector"], self.one("Service", "rung-nodes")["spec"]["selector"]]
        self.assertEqual(selectors, [labels] * 4)
        nodes = self.one("Service", stateful["spec"]["serviceName"])
        self.assertEqual(nodes["spec"]["clusterIP"], "None")
        self.assertLess(self.one("PodDisruptionBudget")["spec"]["maxUnavailable"], stateful["spec"]["replicas"])
        pod = stateful["spec"]["template"]["spec"]
        volumes = {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in stateful["spec"]["volumeClaimTemplates"]}
        container, before = pod["containers"][0], pod["initContainers"][0]
        self.assertEqual({m["name"] for m in container["volumeMounts"] + before["volumeMounts"]}, volumes)
        self.assertIn(pod["volumes"][0]["configMap"]["name"], [g["name"] for g in self.kustomization["configMapGenerator"]])
        ports = {p["name"] for p in container["ports"]}
        for service in ("rung", "rung-nodes"):
            self.assertLessEqual({p["targetPort"] for p in self.one("Service", service)["spec"]["ports"]}, ports)

    def test_the_server_knows_its_settings_and_probes(self):
        with tempfile.TemporaryDirectory(prefix="rung-kubernetes-") as folder:
            keys = rung("keys", "create", "--data", folder, "--role", "admin")  # as docs/replication.md makes the secret
            (pathlib.Path(folder) / "peers.key").write_text(keys.stdout)
            install = self.one("StatefulSet")["spec"]["template"]["spec"]["initContainers"][0]["command"]
            self.assertEqual([p.rpartition("/")[2] for p in install[-2:]], ["keys", "peers.key"])
            text = (self.folder / "rung.conf").read_text().replace("/etc/rung/keys/", f"{folder}/")
            (pathlib.Path(folder) / "rung.conf").write_text(text)
            run = rung("config", "check", "--config", f"{folder}/rung.conf", env={"PATH": "/usr/bin"})
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        text = (self.folder / "rung.conf").read_text()
        stateful = self.one("StatefulSet")
        pod = stateful["spec"]["template"]["spec"]
        container = pod["containers"][0]
        document = json.loads(rung_openapi())
        for probe in ("readinessProbe", "livenessProbe"):
            self.assertIn(container[probe]["httpGet"]["path"], document["paths"])
        for port in container["ports"]:
            self.assertRegex(text, rf"(?m)^{ {'http': 'http', 'redis': 'resp'}[port['name']]} = \S+:{port['containerPort']}$")
        mounts = {m["mountPath"] for m in container["volumeMounts"]}
        for path in re.findall(r"(?m)^\w+ = (/\S+)$", text):
            self.assertTrue(any(path == m or path.startswith(m + "/") for m in mounts), path)
        times = {name: int(re.search(rf"(?m)^{name} = (\d+)s$", text)[1]) for name in ("stop_delay", "stop_timeout")}
        self.assertGreater(pod["terminationGracePeriodSeconds"], sum(times.values()))
        ready = container["readinessProbe"]
        self.assertGreater(times["stop_delay"], ready["periodSeconds"] * ready["failureThreshold"] + ready["timeoutSeconds"])
        peers = re.search(r"(?m)^peers = (\S+)$", text)[1].split(",")
        self.assertEqual(peers, [f"http://rung-{i}.{stateful['spec']['serviceName']}:7864" for i in range(stateful["spec"]["replicas"])])
        user = re.search(r"useradd --system --uid (\d+)", (DEPLOY / "Dockerfile").read_text())[1]
        self.assertEqual(pod["securityContext"]["runAsUser"], int(user))

    def test_kustomize(self):
        if not shutil.which("kubectl"):
            self.skipTest("no kubectl")
        run = subprocess.run(["kubectl", "kustomize", self.folder], capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("kind: StatefulSet", run.stdout)


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
        packages = {"libcrypto": "libssl-dev", "libzstd": "libzstd-dev"}
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
