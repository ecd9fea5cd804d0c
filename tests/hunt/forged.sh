#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt forged [seconds] [per second]: forged signatures (10,000 a second) beside an honest player, whose p99 is compared with
# what it is without them.
set -euo pipefail
export RUNG_SOURCE=$PWD RUNG_BUILD=$PWD/build/release
cmake --preset release --log-level=WARNING >/dev/null
cmake --build build/release --target rung
python3 tests/hunt/forged.py "$@"
