#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt asof [comparisons] [seed]: a random history with restarts; answers recorded at random moments must equal, byte for byte, the
# answers to the same questions asked later as of that moment.
set -euo pipefail
preset=${RUNG_PRESET:-release}
export RUNG_BUILD=${RUNG_BUILD:-$PWD/build/$preset} RUNG_SOURCE=$PWD
if [[ -d $PWD/build/$preset || ! -x $RUNG_BUILD/rung ]]; then
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    cmake --build "build/$preset" --target rung
fi
exec python3 tests/hunt/asof.py "${1:-200000}" ${2:+"$2"}
