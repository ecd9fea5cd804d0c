#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
# Compile the rating room with gcc and clang, without and with optimisation, without and with AVX2 and FMA, and compare the
# digests of one long random history. Then allow contraction: the digest must change, or the comparison sees nothing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/main.c" <<'C'
#include "support/rating_program.h"
#include <stdio.h>
int main(void) {
    static rating_program program;
    printf("%016llx\n", (unsigned long long)rating_program_run(&program, 1, RATING_PROGRAM_STEPS));
    return 0;
}
C
want=$(sed -n 's/^#define RATING_PROGRAM_DIGEST  *0x\([0-9a-f]*\)u$/\1/p' "$RUNG_SOURCE/tests/support/rating_program.h")
[ ${#want} = 16 ]

digest() { # contraction, compiler, flags...
    local contraction=$1 compiler=$2
    shift 2
    "$compiler" -std=gnu17 "$@" "-ffp-contract=$contraction" -DRUNG_NO_CONTRACTION=1 -fno-math-errno \
        -I"$RUNG_SOURCE/src" -I"$RUNG_SOURCE/tests" "$RUNG_SOURCE"/src/rating/*.c "$RUNG_SOURCE/src/model/rating.c" \
        "$RUNG_SOURCE/src/base/status.c" \
        "$work/main.c" -o "$work/program" -lm
    "$work/program"
}

failed=0 compared=0
check() { # compiler, flags...
    local got
    got=$(digest off "$@")
    echo "$got  $*"
    compared=$((compared + 1))
    if [ "$got" != "$want" ]; then echo "not $want" && failed=1; fi
}

has() { [ "$(uname -m)" != x86_64 ] || grep -qw "$1" /proc/cpuinfo; }
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "no $compiler here" && continue; }
    check "$compiler" -O0
    check "$compiler" -O2
    check "$compiler" -O3
    if [ "$(uname -m)" = x86_64 ] && has avx2 && has fma; then
        check "$compiler" -O3 -mavx2 -mfma
        check "$compiler" -O3 -march=native
        if [ "$(digest fast "$compiler" -O3 -mavx2 -mfma)" = "$want" ]; then
            echo "$compiler: contraction changes nothing: the history is too tame" && failed=1
        fi
    fi
done
[ "$compared" -ge 3 ] || { echo "no compiler to compare" && exit 77; }
exit $failed
