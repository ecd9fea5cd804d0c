#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt state [seeds] [first]: random histories against the model, seed after seed, until one fails, the seeds are
# through, or you stop it. Without a number it goes on for ever, from a seed that differs each time.
set -euo pipefail
seeds=${1:-0}
first=${2:-$(( $(date +%s) * 1000 ))}
build=build/release
cmake --preset release --log-level=WARNING >/dev/null
cmake --build "$build" --target test_model_state >/dev/null
program=$(find "$build" -name test_model_state -type f | head -n 1)
chunk=50 # histories per process: about 20,000 events

echo "state: from seed $first"
for (( done = 0; seeds == 0 || done < seeds; done += chunk )); do
    count=$chunk
    if (( seeds > 0 && seeds - done < chunk )); then count=$(( seeds - done )); fi
    if ! RUNG_SEED=$(( first + done )) RUNG_SEEDS=$count "$program" histories replay; then
        echo "state: a failure; the line with RUNG_SEED above says how to see it again"
        exit 1
    fi
    if (( done % 1000 == 0 )); then echo "state: $(( done + count )) histories agree"; fi
done
