#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt sim [seeds] [first]: the simulated server (tests/sim), seed after seed, until the seeds are through or you
# stop it: each seed with one server, and with three on one log. Without a number it goes on for ever, from a seed that
# differs each time. Seeds that fail are kept, with their stories, in .cache/sim/<seed>-<servers>.txt.
# RUNG_PRESET=asan hunts with sanitizers.
set -euo pipefail
seeds=${1:-0}
first=${2:-$(( $(date +%s) * 1000 ))}
preset=${RUNG_PRESET:-dev}
chunk=100 # seeds per process
jobs=$(nproc)

cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" --target test_sim_world >/dev/null
program=$PWD/build/$preset/tests/test_sim_world
kept=.cache/sim
mkdir -p "$kept"

run() { # first count servers: 0, or 1 when a seed has failed; its story is kept
    local at=$1 end=$(( $1 + $2 )) out seed story
    export RUNG_SIM_NODES=$3
    while (( at < end )); do
        out=$(RUNG_SIM_SEED=$at RUNG_SIM_SEEDS=$(( end - at )) "$program" many_seeds 2>&1) && return 0
        seed=$(sed -n 's/^seed \([0-9]*\): .*/\1/p' <<<"$out" | head -n 1)
        if [[ -z $seed ]]; then printf '%s\n' "$out" >&2; return 1; fi
        story=$kept/$seed-$3.txt
        RUNG_SIM_SEED=$seed RUNG_SIM_TRACE=1 "$program" one_seed >"$story" 2>&1 || true
        echo "sim: $(grep -m 1 "^seed $seed: " <<<"$out")"
        echo "sim: the story is in $story"
        at=$(( seed + 1 ))
    done
    return 1
}

both() { # first count
    local failed=0
    run "$1" "$2" 1 || failed=1
    run "$1" "$2" 3 || failed=1
    return $failed
}

echo "sim: from seed $first, $jobs at a time"
begun=$(date +%s) failed=0
for (( done = 0; seeds == 0 || done < seeds; done += chunk * jobs )); do
    pids=()
    for (( i = 0; i < jobs; i++ )); do
        at=$(( done + i * chunk )) count=$chunk
        if (( seeds > 0 && seeds - at < chunk )); then count=$(( seeds - at )); fi
        if (( count > 0 )); then both $(( first + at )) "$count" & pids+=($!); fi
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=$(( failed + 1 )); done
    echo "sim: $(( done + chunk * jobs )) seeds in $(( $(date +%s) - begun )) s, $failed rounds with failures"
done
exit $(( failed > 0 ))
