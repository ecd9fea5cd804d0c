#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench sketch [items] [--full]: items per second and error per byte of the sketches, beside Apache DataSketches from PyPI,
# which is installed into .cache/sketch. Without it, ours are measured alone. Writes its part of docs/benchmarks.md.
set -euo pipefail
if ! .cache/sketch/bin/python -c 'import datasketches' 2>/dev/null; then
    rm -rf .cache/sketch
    if ! { python3 -m venv .cache/sketch &&
        .cache/sketch/bin/pip install --quiet --disable-pip-version-check 'datasketches>=5,<6'; }; then
        echo "sketch: no datasketches from PyPI; measuring without it" >&2
        rm -rf .cache/sketch
    fi
fi
exec "$RUNG_BUILD/bench/bench_sketch" --write "$@"
