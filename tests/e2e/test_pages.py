#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release
"""The pages a newcomer reads first do what they say: README.md, docs/getting-started.md; and docs/configuration.md is true."""
import shutil
import tempfile
import unittest

from pages import run_page
from server import SOURCE, rung


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rung-pages-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_readme(self):
        self.assertGreater(run_page(self, "README.md", self.folder), 3)

    def test_getting_started(self):
        self.assertGreater(run_page(self, "docs/getting-started.md", self.folder), 18)

    def test_every_setting_is_in_the_page(self):
        table = rung("config", "show", "--markdown", env={"PATH": "/usr/bin:/bin"}).stdout
        page = (SOURCE / "docs/configuration.md").read_text()
        self.assertTrue(table and table in page, "the table is not what rung config show --markdown prints")


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    raise SystemExit(1 if bad else 0)
