#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# needs: pg_ctlcluster=postgresql
# ./dev hunt postgres [rounds]: two servers with one archive in PostgreSQL; they and the database are killed at random. A failure
# prints its seed; RUNG_SEED=n ./dev hunt postgres repeats the same choices (the moments of the kills are the machine's).
set -euo pipefail
rounds=${1:-200}
if ! [[ $rounds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ./dev hunt postgres [rounds]" >&2
    exit 2
fi
preset=${RUNG_PRESET:-release}
export RUNG_STEPS=$rounds RUNG_SEED=${RUNG_SEED:-$(date +%s)}

cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" --target test_fault_postgres_faults

echo "== two servers and a database: $rounds rounds, seed $RUNG_SEED"
"build/$preset/tests/test_fault_postgres_faults" two_servers_and_the_database_killed_at_random
