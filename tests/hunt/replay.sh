#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt replay [rounds] [seed]: kill -9 at random points of a replay and its swap; the board must be the old one or the new one, as
# acknowledged. Then the state half against the model, over new seeds.
set -euo pipefail
preset=${RUNG_PRESET:-release}
export RUNG_BUILD=${RUNG_BUILD:-$PWD/build/$preset} RUNG_SOURCE=$PWD
if [[ -d $PWD/build/$preset || ! -x $RUNG_BUILD/rung ]]; then
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    cmake --build "build/$preset" --target rung
fi
RUNG_REPLAY_ROUNDS=${1:-500} RUNG_SEED=${2:-$RANDOM} exec python3 tests/e2e/test_replay.py Replay.test_kill_at_any_point
