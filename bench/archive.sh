#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench archive [EVENTS ...]: what an archive costs per event, alone; SQLite and, if it is installed, PostgreSQL.
# ./dev bench archive --beside [--seconds S] [--writes N] [--players N] [--archives LIST]: a server under an open load of submissions,
# without an archive, with the default one, and with PostgreSQL; its lag, its processor time and the latency.
# Both write their part of docs/benchmarks.md.
# needs: taskset=util-linux
set -euo pipefail
if [[ ${1:-} == --beside ]]; then
    shift
    exec python3 "$(dirname "$0")/archive_bench.py" --write "$@"
fi
exec python3 "$(dirname "$0")/archive_bench.py" --alone --write "$@"
