#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""docs/http.md is true: its examples are executed, its reference is what /openapi.json says."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import SOURCE, ServerTest  # noqa: E402

sys.path.insert(0, str(SOURCE / "tools"))
import http_docs  # noqa: E402


def pattern(expected):
    """"..." within a line stands for anything."""
    return ".*".join(map(re.escape, expected.strip("\n").split("...")))


class Docs(ServerTest):
    def test_examples(self):
        if not shutil.which("curl"):
            self.skipTest("there is no curl")
        server = self.serve(data=False)
        page = (SOURCE / "docs/http.md").read_text()
        count = 0
        for block in re.findall(r"^```console\n(.*?)^```", page, re.S | re.M):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                command = command.replace("localhost:7864", "%s:%d" % server.http)
                run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
                self.assertRegex(run.stdout.strip("\n"), rf"\A{pattern(expected)}\Z", command + run.stderr)
                count += 1
        self.assertGreaterEqual(count, 11)

    def test_reference(self):
        server = self.serve(data=False)
        _, part, _ = http_docs.generated_part((SOURCE / "docs/http.md").read_text())
        expected = re.sub(r"\n{3,}", "\n\n", http_docs.render(server.get("/openapi.json").json))
        self.assertEqual(part.strip().splitlines(), expected.strip().splitlines(), "run tools/http_docs.py on a server")


if __name__ == "__main__":
    unittest.main()
