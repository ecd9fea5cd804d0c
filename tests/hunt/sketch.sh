#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt sketch [items] [seed]: the 100 streams of model.sketch with 10 M items each (or as many as you say), every bound
# checked against exact counts, for the whole and for merged parts. About half an hour.
set -euo pipefail
items=${1:-10000000}
seed=${2:-0}
build=build/release
cmake --preset release --log-level=WARNING >/dev/null
cmake --build "$build" --target test_model_sketch >/dev/null
program=$(find "$build" -name test_model_sketch -type f | head -n 1)
echo "sketch: 100 streams of $items items, from seed $seed"
RUNG_STEPS=$items RUNG_SEED=$seed "$program"
