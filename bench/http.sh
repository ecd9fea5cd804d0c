#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench http [--players N,N] [--seconds S] [--no-redis]: requests per second over HTTP, beside a bare server of the same
# library and Redis over its own protocol, in the same run. Writes its part of docs/benchmarks.md.
# needs: wrk=wrk redis-server=redis-server taskset=util-linux
set -euo pipefail
exec python3 "$(dirname "$0")/http_bench.py" --write "$@"
