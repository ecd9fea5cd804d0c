#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600 labels=no-asan
"""The console as visitors see it, in a real Chromium against a real server: tests/web/console.mjs tells the stories, this has
the server.

Screenshots go to <build>/screenshots: look at them."""
import os
import sys
import unittest

sys.path[:0] = [os.path.join(os.environ["RUNG_SOURCE"], "tests", room) for room in ("web", "e2e")]
from stage import Stage  # noqa: E402


class Console(Stage):
    def test_console(self):
        self.play("console.mjs", "--public", "arena")


if __name__ == "__main__":
    unittest.main()
