#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The last lines of ./dev test: tests that were skipped are named, with the reason, and counted. The script runs in a folder of its
own, where cmake and ctest are stand-ins."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["RUNG_SOURCE"])
CASES = """<testsuite tests="4" failures="{failures}" disabled="1" skipped="1">
<testcase name="a.good" status="run"><system-out/></testcase>
<testcase name="e2e.kafka" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>begin
skipped: there is no java &lt; 17
</system-out></testcase>
<testcase name="a.off" status="disabled"><system-out>Disabled</system-out></testcase>
<testcase name="a.maybe" status="{status}"><system-out/></testcase>
</testsuite>
"""
# Everything that the script would install, build or run.
STAND_INS = {
    "cmake": "echo cmake version 3.25.1", "ninja": "exit 0", "dpkg-query": "echo install ok installed", "apt-get": "exit 1", "sudo": "exit 1",
    "ctest": """while [ $# -gt 0 ]; do if [ "$1" = --output-junit ]; then cp "$CASES" "$2"; fi; shift; done; exit "$CODE" """,
}


class Closing(unittest.TestCase):
    def run_dev(self, status, code):
        with tempfile.TemporaryDirectory(prefix="rung-dev-") as name:
            folder = pathlib.Path(name)
            for file in ("dev", "tools/junit.py"):
                (folder / file).parent.mkdir(exist_ok=True)
                shutil.copy(SOURCE / file, folder / file)
            for command, body in STAND_INS.items():
                path = folder / "bin" / command
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(0o755)
            (folder / "build" / "dev").mkdir(parents=True)
            (folder / "cases").write_text(CASES.format(status=status, failures=int(status == "fail")))
            env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "CASES": str(folder / "cases"), "CODE": str(code)}
            run = subprocess.run(["bash", folder / "dev", "test", "--preset", "dev"], env=env, capture_output=True, text=True, timeout=60)
            return run.returncode, run.stdout.splitlines()[-4:]

    def test_skipped_tests_are_named(self):
        code, lines = self.run_dev("run", 0)
        self.assertEqual((code, lines), (0, ["== skipped", "  dev: e2e.kafka: there is no java < 17", "  dev: a.off: disabled",
                                             "2 passed, 0 failed, 2 skipped"]))

    def test_failures_are_failures(self):
        for status, ctest in (("fail", 8), ("notrun", 8)):  # the second could not be started
            code, lines = self.run_dev(status, ctest)
            self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 2 skipped"))


if __name__ == "__main__":
    unittest.main()
