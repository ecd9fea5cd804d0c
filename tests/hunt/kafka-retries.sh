#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt kafka-retries [submissions] [deaths]: ten million submissions to two nodes on a mock broker, one in ten sent twice, while
# producers die (200 times by default) and are replaced: none is lost, none counts twice (tests/fault/test_kafka_retries.c).
set -euo pipefail
preset=${RUNG_PRESET:-release}
submissions=${1:-10000000} deaths=${2:-200}
cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" --target test_fault_kafka_retries
RUNG_STEPS=$submissions RUNG_PER_DEATH=$(( submissions / deaths )) exec "build/$preset/tests/test_fault_kafka_retries" --no-fork
