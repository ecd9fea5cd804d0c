#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples as built in the tree print what they should, and docs/library.md shows the example that is compiled.
# ctest: labels=release
set -euo pipefail
failed=0

for wanted in "$RUNG_SOURCE"/examples/*.out; do
    name=$(basename "$wanted" .out)
    folder=$(mktemp -d)
    if ! (cd "$folder" && "$RUNG_BUILD/examples/$name") | diff -u "$wanted" -; then
        echo "examples/$name: another output than examples/$name.out"
        failed=1
    fi
    rm -rf "$folder"
done

# The first block of C in the page is the example, from its includes on.
page=$(sed -n '/^```c$/,/^```$/p' "$RUNG_SOURCE/docs/library.md" | sed '1d' | sed '/^```$/,$d')
code=$(sed -n '/^#include/,$p' "$RUNG_SOURCE/examples/quickstart.c")
if ! diff -u <(echo "$code") <(echo "$page"); then
    echo "docs/library.md does not show examples/quickstart.c"
    failed=1
fi

if (( failed )); then exit 1; fi
echo "1 passed, 0 failed"
