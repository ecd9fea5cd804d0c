#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench load [--players N] [--seconds S] [--protocol resp|http] [--writes N --ranks N --tops N] [--configurations LIST] [--search]:
# all loads at once, open loop, beside snapshots and archive. Writes its part of docs/benchmarks.md, with a timeline.
# needs: taskset=util-linux
set -euo pipefail
exec python3 "$(dirname "$0")/load_bench.py" --write "$@"
