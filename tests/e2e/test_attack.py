#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""The short version of `./dev hunt attack` (tests/hunt/attack.py): a minute under the sanitizers, a few seconds elsewhere."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hunt"))
from attack import attack  # noqa: E402

SEED = int(os.environ.get("RUNG_SEED", "1"))
SECONDS = float(os.environ.get("RUNG_STEPS", "60" if "asan" in os.environ["RUNG_BUILD"] else "10"))


class Attack(unittest.TestCase):
    def test_an_honest_client_beside_an_adversary(self):
        self.assertEqual(attack(SECONDS, SEED, say=lambda line: print(line, flush=True)), [])


if __name__ == "__main__":
    unittest.main()
