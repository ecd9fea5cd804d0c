#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench asof [--players LIST] [--events N] [--colds N] [--asks N]: how long an answer of the past takes, from a helper that must be
# started and from one that is there. Writes its part of docs/benchmarks.md.
# needs: taskset=util-linux
set -euo pipefail
exec python3 "$(dirname "$0")/asof_bench.py" --write "$@"
