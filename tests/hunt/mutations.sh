#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt mutations [--seeds N] [name ...]: plant bugs one at a time in a copy of the tree, and count the seeds that
# the simulator (tests/sim) takes to find each. A few minutes.
set -euo pipefail
exec python3 tests/sim/mutate.py "$@"
