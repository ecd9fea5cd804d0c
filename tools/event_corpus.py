#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the fuzzer's corpus of events from the golden file.

    tools/event_corpus.py       writes fuzz/corpus/event/<name> for each line of tests/golden/events-v1.txt

Lines of the golden file are "name hex text". An event that defines a board also gives its definition alone, as
<name>.def, since the fuzz target reads both.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def after_number(data, at):
    """Where a number (LEB128) that begins at `at` ends."""
    while data[at] >= 0x80:
        at += 1
    return at + 1


def definition(event):
    """The bytes after version, kind, time and the board's name, which is shorter than 128 bytes here."""
    name = after_number(event, 2)
    return event[name + 1 + event[name]:]


def main():
    target = ROOT / "fuzz" / "corpus" / "event"
    target.mkdir(parents=True, exist_ok=True)
    for line in (ROOT / "tests" / "golden" / "events-v1.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, digits, _ = line.split(" ", 2)
        event = bytes.fromhex(digits)
        (target / name).write_bytes(event)
        if name.startswith("board-defined"):
            (target / f"{name}.def").write_bytes(definition(event))
    return 0


if __name__ == "__main__":
    sys.exit(main())
