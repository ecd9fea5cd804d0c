#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install the library into an empty folder and use it from there, as a stranger would: pkg-config, shared and static.
# ctest: labels=no-asan,release timeout=180
set -euo pipefail
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[^=]*=//p' "$RUNG_BUILD/CMakeCache.txt")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$RUNG_BUILD/CMakeCache.txt")
if grep -Eq '^RUNG_(SANITIZE:[^=]*=.|COVERAGE:[^=]*=ON)' "$RUNG_BUILD/CMakeCache.txt"; then
    echo "an instrumented library wants an instrumented program: nothing to learn here"
    exit 77
fi
command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-std=c11 -Wall -Wextra -Wpedantic -Werror -Wno-overlength-strings)

cmake --install "$RUNG_BUILD" --prefix "$work/first" --component library >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix" # an installed tree may be moved
libdir=$(dirname "$(find "$work/prefix" -name pkgconfig)")
export PKG_CONFIG_PATH=$libdir/pkgconfig

check() { # what it is, command...
    local what=$1
    shift
    if ! "$@"; then echo "failed: $what"; exit 1; fi
    echo "ok: $what"
}

same_output() { # program wanted
    local folder
    folder=$(mktemp -d "$work/run.XXXX")
    (cd "$folder" && "$1") | diff -u "$2" -
}

check "pkg-config knows the version" test "$(pkg-config --modversion rung)" = "$version"
check "rung.h knows the version" grep -q "define RUNG_VERSION \"$version\"" "$work/prefix/include/rung/rung.h"
check "no header includes one of ours by a bare name" \
    bash -c "! grep -rn '#include \"' '$work/prefix/include'"
for header in $(cd "$work/prefix/include" && find rung -name '*.h'); do
    echo "#include <$header>" >"$work/one.c"
    check "$header stands alone" "$compiler" "${strict[@]}" -Wno-pedantic -fsyntax-only $(pkg-config --cflags rung) "$work/one.c"
done

# Static: the same flags where there is no shared library.
cp -r "$work/prefix" "$work/static"
static_libdir=${libdir/#"$work/prefix"/"$work/static"}
find "$static_libdir" -name '*.so*' -delete

for wanted in "$RUNG_SOURCE"/examples/*.out; do
    name=$(basename "$wanted" .out)
    source=$RUNG_SOURCE/examples/$name.c
    check "$name compiles with the shared library" \
        "$compiler" -O1 -Wall -Wextra -Werror "$source" -o "$work/$name" $(pkg-config --cflags --libs rung)
    LD_LIBRARY_PATH=$libdir check "$name runs with it" same_output "$work/$name" "$wanted"
    check "it is the shared one" bash -c "readelf -d '$work/$name' | grep -q 'NEEDED.*librung.so.0'"
    check "$name compiles with the static library" env PKG_CONFIG_PATH="$static_libdir/pkgconfig" bash -c \
        "'$compiler' -O1 -Wall -Wextra -Werror '$source' -o '$work/$name.static' \$(pkg-config --static --cflags --libs rung)"
    check "$name runs with it" same_output "$work/$name.static" "$wanted"
    check "it is the static one" bash -c "! readelf -d '$work/$name.static' | grep -q librung"
done
echo "1 passed, 0 failed"
