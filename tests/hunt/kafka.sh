#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# needs: java=default-jre-headless mvn=maven ip=iproute2
# ./dev hunt kafka [faults] [seed]: three brokers and three servers under load, and faults (100 by default): brokers and servers killed,
# stopped, restarted, cut off from each other, a broker's disk full. tests/kafka/faults.py says what is checked. 500 faults take about
# 40 minutes on two cores. RUNG_PRESET=asan hunts with sanitizers.
set -euo pipefail
preset=${RUNG_PRESET:-release}
export RUNG_BUILD=$PWD/build/$preset RUNG_SOURCE=$PWD
cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" --target rung
python3 tests/kafka/brokers.py fetch
exec python3 tests/kafka/faults.py "$@"
