#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: labels=release
"""What librung exports is what include/rung/rung.map lists, and the map is what the headers promise.

  1. every function that rung.h declares is in the map;
  2. every name in the map is declared in rung.h or in a header it reaches;
  3. librung.so defines exactly the map's names, at the map's version;
  4. an inline function of those headers calls nothing that is not exported;
  5. librung.a defines no global name outside rung_*.
"""
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["RUNG_SOURCE"])
BUILD = pathlib.Path(os.environ["RUNG_BUILD"])
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
CALL = re.compile(r"\b(rung_[a-z0-9_]+)\s*\(")
INLINE = re.compile(r"static inline [^;{]*\b(rung_[a-z0-9_]+)\s*\([^{;]*\{(.*?)^\}", re.S | re.M)
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def reached():
    """rung.h and every header it includes, by name, without comments and macros."""
    waiting, texts = ["rung.h"], {}
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        path = SOURCE / "include/rung/rung.h" if name == "rung.h" else SOURCE / "src" / name
        raw = path.read_text()
        waiting += re.findall(r'#include "([^"]+)"', raw)
        text = COMMENT.sub("", raw)
        texts[name] = re.sub(r"^\s*#\s*\w+(.*\\\n)*.*", "", text, flags=re.M)
    return texts


def nm(*args):
    out = subprocess.run(["nm", *args], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in out.splitlines() if len(line.split()) == 3]


def main():
    text = COMMENT.sub("", (SOURCE / "include/rung/rung.map").read_text())
    version = re.search(r"(RUNG_[0-9.]+)\s*\{", text)[1]
    listed = set(re.findall(r"\b(rung_\w+);", text))
    headers = reached()
    inline = {m[1]: m[2] for t in headers.values() for m in INLINE.finditer(t)}
    declared = {name for t in headers.values() for name in CALL.findall(INLINE.sub("", t))}

    own = set(CALL.findall(headers["rung.h"]))
    check(len(own) > 15, "rung.h: functions were not recognised")
    for name in sorted(own - listed):
        check(False, f"{name}: in rung.h, not in rung.map")
    for name in sorted(listed - declared):
        check(False, f"{name}: in rung.map, in no header that rung.h reaches")
    for function, body in sorted(inline.items()):
        for name in sorted(set(CALL.findall(body)) - listed - set(inline)):
            check(False, f"{name}: called by inline {function}(), not exported")

    exported = nm("-D", "--defined-only", str(BUILD / "include/rung/librung.so"))
    exported = {n for n in exported if n != version}
    wanted = {f"{n}@@{version}" for n in listed}
    for name in sorted(exported ^ wanted):
        check(False, f"{name}: {'not wanted in' if name in exported else 'missing from'} librung.so")
    for name in nm("-g", "--defined-only", str(BUILD / "include/rung/librung.a")):
        check(re.match(r"rung_|__odr_asan|__gcov|DW\.ref", name), f"{name}: a global name in librung.a outside rung_*")

    for what in failures:
        print(what)
    print(f"{0 if failures else 1} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
