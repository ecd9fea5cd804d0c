#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=180 labels=no-asan
"""The console without a browser: types, logic, size, and that nothing in it reaches out or is written inline."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["RUNG_SOURCE"], "tests/web"))
import tools  # noqa: E402

SIZE_MAX = 200_000  # of everything, gzipped
WEB = tools.SOURCE / "web"
DIST = tools.BUILD / "web" / "dist"


class Console(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = tools.node()
        cls.packages = tools.packages()
        cls.console_packages = tools.console_packages()

    def run_in(self, *command, **more):
        run = subprocess.run(command, capture_output=True, text=True, **more)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_types(self):
        with tempfile.TemporaryDirectory(prefix="rung-console-") as folder:
            shutil.copytree(WEB / "src", f"{folder}/src")
            shutil.copy(WEB / "tsconfig.json", folder)
            os.symlink(self.console_packages, f"{folder}/node_modules")
            self.run_in(self.node, self.packages / "typescript/bin/tsc", "-p", folder)

    def test_logic(self):
        esbuild = next(self.console_packages.glob("@esbuild/*/bin/esbuild"))
        with tempfile.TemporaryDirectory(prefix="rung-console-") as folder:
            self.run_in(esbuild, "--bundle", "--platform=node", "--log-level=warning", "--tsconfig-raw={}",
                        f"--outfile={folder}/logic.test.cjs", tools.HERE / "logic.test.ts",
                        env={**os.environ, "NODE_PATH": str(self.console_packages)})
            self.run_in(self.node, "--test", "--test-timeout=60000", f"{folder}/logic.test.cjs", env={**os.environ, "TZ": "UTC"})

    def test_size(self):
        sizes = {p.name: len(gzip.compress(p.read_bytes(), 9)) for p in DIST.rglob("*") if p.is_file()}
        self.assertIn("index.html", sizes)
        self.assertLess(sum(sizes.values()), SIZE_MAX, sizes)

    def test_nothing_reaches_out(self):
        for path in DIST.rglob("*"):
            if path.suffix in (".html", ".css", ".js"):
                text = path.read_text().replace("http://www.w3.org/", "")  # names of XML spaces, never fetched
                self.assertEqual(re.findall(r"[\"'(]\s*(?:https?:)?//[\w.]+", text), [], path.name)
                self.assertNotRegex(text, r"@import|\beval\(|new Function\(", path.name)

    def test_nothing_is_inline(self):
        for path in DIST.glob("*.html"):
            text = path.read_text()
            self.assertNotRegex(text, r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", path.name)

    def test_lock_files_name_no_registry(self):
        for folder in (WEB, tools.HERE):
            self.assertNotRegex((folder / "package-lock.json").read_text(), r"\"resolved\"|https?://(?!github|opencollective|www\.patreon)\S*regist")

    def test_the_same_source_gives_the_same_table(self):
        with tempfile.TemporaryDirectory(prefix="rung-console-") as folder:
            out = pathlib.Path(folder)
            embed = tools.SOURCE / "tools/embed.py"
            self.run_in(self.node, WEB / "build.js", "--packages", self.console_packages, "--out", out / "dist")
            self.run_in(sys.executable, embed, out / "a.c", out / "dist")
            self.assertEqual((out / "a.c").read_bytes(), (tools.BUILD / "web_assets.c").read_bytes())
            self.run_in(sys.executable, embed, out / "b.c")
            self.assertIn("rung_web_is_built = false", (out / "b.c").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
