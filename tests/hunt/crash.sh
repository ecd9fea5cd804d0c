#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt crash [rounds]: the crash tests of ./dev test with more rounds and a seed of the moment. A failure prints its seed;
# RUNG_SEED=n ./dev hunt crash repeats the same choices (the moments of the kills are the machine's).
set -euo pipefail
rounds=${1:-500}
if ! [[ $rounds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ./dev hunt crash [rounds]" >&2
    exit 2
fi
preset=${RUNG_PRESET:-release}
export RUNG_BUILD=$PWD/build/$preset RUNG_STEPS=$rounds RUNG_SEED=${RUNG_SEED:-$(date +%s)}

cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" --target rung test_crash_process_kill test_crash_library_kill

status=0
for name in process_kill library_kill; do
    echo "== $name: $rounds rounds, seed $RUNG_SEED"
    "$RUNG_BUILD/tests/test_crash_$name" || status=1
done
exit "$status"
