#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt flood [seconds] [per second]: a flood from one address (10,000 requests a second) beside an honest player, whose p99 is
# compared with what it is without it.
set -euo pipefail
export RUNG_SOURCE=$PWD RUNG_BUILD=$PWD/build/release
cmake --preset release --log-level=WARNING >/dev/null
cmake --build build/release --target rung
python3 tests/hunt/flood.py "$@"
