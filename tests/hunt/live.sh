#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt live [viewers] [seconds]: first what a viewer costs, in memory and in CPU for a frame. Then so many viewers of one server, half by
# server-sent events, half by WebSocket, on a few topics, while scores pour in. Some leave and come back, some do not read. In the end every list
# must equal the server's. 0 seconds: only the cost.
set -euo pipefail
preset=${RUNG_PRESET:-release}
export RUNG_BUILD=${RUNG_BUILD:-$PWD/build/$preset} RUNG_SOURCE=$PWD
if [[ -d $PWD/build/$preset || ! -x $RUNG_BUILD/rung ]]; then
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    cmake --build "build/$preset" --target rung
fi
exec python3 tests/hunt/live.py "${1:-2000}" "${2:-60}"
