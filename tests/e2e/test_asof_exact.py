#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
"""Answers of the past equal those recorded then: 2,000 comparisons of ./dev hunt asof, with an archive."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["RUNG_SOURCE"]) / "tests" / "hunt"))
import asof  # noqa: E402


class Exact(unittest.TestCase):
    def test_random_histories(self):
        self.assertGreaterEqual(asof.run(2000, 7), 2000)


if __name__ == "__main__":
    unittest.main()
