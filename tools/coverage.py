#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage per file of src/, from a build made with --coverage.

    tools/coverage.py BUILD_DIR [--all-of DIR]... [--sum DIR]...

With --all-of, every file below DIR must have each line executed; the lines that were not are named. With --sum, the
coverage of all files below DIR is printed at the end. `./dev test --coverage` builds, runs the tests and calls this.
"""
import json
import pathlib
import shlex
import subprocess
import sys


def remove_stale(build):
    """Remove the notes of objects whose source is gone: gcovr stops at them, and a reused build folder keeps them."""
    kept = set()
    for command in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(command["command"])
        target = pathlib.Path(command["directory"], words[words.index("-o") + 1])
        kept |= {target.with_suffix(".gcno"), target.with_suffix(".gcda")}
    for note in [*build.rglob("*.gcno"), *build.rglob("*.gcda")]:
        if note not in kept:
            note.unlink()


def measure(root, build):
    out = build / "coverage.json"
    subprocess.run(["gcovr", "--root", root, "--filter", f"{root}/src/", "--json", out, build], check=True)
    files = {}
    for entry in json.loads(out.read_text())["files"]:
        lines = {}
        for line in entry["lines"]:
            if not line.get("gcovr/noncode", False) and not line.get("gcovr/excluded", False):
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
        files[entry.get("file", entry.get("filename"))] = lines
    return files


def main(args):
    root = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(args[0]).resolve()
    options = [(flag, d.rstrip("/") + "/") for flag, d in zip(args[1::2], args[2::2])]
    strict = [d for flag, d in options if flag == "--all-of"]
    sums = {d: [0, 0] for flag, d in options if flag == "--sum"}
    incomplete = 0
    total = total_run = 0
    remove_stale(build)
    for name, lines in sorted(measure(root, build).items()):
        missed = sorted(n for n, count in lines.items() if count == 0)
        total += len(lines)
        total_run += len(lines) - len(missed)
        percent = 100.0 * (len(lines) - len(missed)) / len(lines) if lines else 100.0
        shown = "  lines " + " ".join(map(str, missed[:20])) + (" ..." if len(missed) > 20 else "") if missed else ""
        print(f"{len(lines) - len(missed):6} of {len(lines):5} {int(percent * 10) / 10:6.1f} %  {name}{shown}")
        for d, of in sums.items():
            if name.startswith(d):
                of[0] += len(lines) - len(missed)
                of[1] += len(lines)
        if missed and name.startswith(tuple(strict)):
            incomplete += 1
    for d, (run, lines) in {**sums, "src/": (total_run, total)}.items():
        print(f"{run:6} of {lines:5} {100 * run / max(lines, 1):6.1f} %  {d}")
    if incomplete:
        print(f"{incomplete} files below 100 % where all lines must run: {' '.join(strict)}")
    return 1 if incomplete else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
