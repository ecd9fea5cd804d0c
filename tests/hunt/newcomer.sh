#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt newcomer: ./dev up on free ports, then the first things that a newcomer tries on it: a board, a score, the top, the
# console, a ZADD. At the end nothing may be left. A compiler's warning counts as a failure. CC chooses the compiler of a new build.
set -euo pipefail
work=$(mktemp -d)
log=$work/log rung=build/release/rung
mkdir "$work/tmp"
: >"$log"
TMPDIR=$work/tmp RUNG_HTTP=127.0.0.1:0 RUNG_RESP=127.0.0.1:0 ./dev up >"$log" 2>&1 &
up=$!

end() {
    kill "$up" 2>/dev/null || true
    wait "$up" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

fail() { # what went wrong
    tail -n 40 "$log"
    echo "newcomer: failed: $*"
    exit 1
}

expect() { # pattern command...
    local pattern=$1 said
    shift
    said=$("$@" 2>&1) || fail "$*: $said"
    grep -Eq "$pattern" <<<"$said" || fail "$* says: $said"
}

talk() { # host:port bytes lines: send the bytes, print so many lines of the answer
    local line i
    exec 3<>"/dev/tcp/${1%:*}/${1##*:}"
    printf '%b' "$2" >&3
    for (( i = 0; i < $3; i++ )); do
        IFS= read -r -t 60 line <&3 || break
        printf '%s\n' "$line"
    done
    exec 3>&-
}

until grep -q '^Ctrl-C stops' "$log"; do
    kill -0 "$up" 2>/dev/null || fail "./dev up ended"
    sleep 0.2
done
if grep -E 'warning: ' "$log"; then fail "the build has warnings"; fi
http=$(sed -n 's/^  all addresses .*http=\([^ ]*\).*/\1/p' "$log") resp=$(sed -n 's/^  all addresses .*resp=\([^ ]*\).*/\1/p' "$log")
export RUNG_URL=http://$http

expect 'board first is made' "$rung" board create first
expect 'ada has 4,200: rank 1 of 1' "$rung" submit first ada 4200
expect '1 +ada +4,200' "$rung" top first
expect '^:1' talk "$resp" '*4\r\n$4\r\nZADD\r\n$4\r\nzset\r\n$1\r\n5\r\n$3\r\nada\r\n' 1
expect '^HTTP/1.1 200' talk "$http" 'GET /widget.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' 1

kill "$up"
wait "$up" || fail "./dev up ended with $?"
[[ -z $(ls -A "$work/tmp") ]] || fail "left behind: $(ls -A "$work/tmp")"
echo "newcomer: fine"
