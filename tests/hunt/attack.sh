#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt attack [seconds] [seed]: an adversary on every protocol beside an honest client, whose every answer is checked and whose p99
# may be at most three times what it is without (an hour by default; tests/hunt/attack.py says what happens). First under ASan and
# UBSan, where the p99 is only reported; then a tenth of the time on the release build, where it decides.
set -euo pipefail
seconds=${1:-3600}
shift $(( $# > 0 ? 1 : 0 ))
export RUNG_SOURCE=$PWD
for preset in asan release; do
    export RUNG_BUILD=$PWD/build/$preset
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    cmake --build "build/$preset" --target rung
    if [[ $preset == asan ]]; then
        setarch "$(uname -m)" -R python3 tests/hunt/attack.py "$seconds" "$@"
    else
        python3 tests/hunt/attack.py "$(( seconds / 10 > 60 ? seconds / 10 : 60 ))" "$@" --strict
    fi
done
