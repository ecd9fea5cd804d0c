#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage per file of src/, from a build made with --coverage.

    tools/coverage.py BUILD_DIR [--all-of DIR]...

With --all-of, every file below DIR must have each line executed; the lines that were not are named.
"""
import json
import pathlib
import subprocess
import sys


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
    strict = [d.rstrip("/") + "/" for flag, d in zip(args[1::2], args[2::2]) if flag == "--all-of"]
    incomplete = 0
    total = total_run = 0
    for name, lines in sorted(measure(root, build).items()):
        missed = sorted(n for n, count in lines.items() if count == 0)
        total += len(lines)
        total_run += len(lines) - len(missed)
        percent = 100.0 * (len(lines) - len(missed)) / len(lines) if lines else 100.0
        shown = "  lines " + " ".join(map(str, missed[:20])) + (" ..." if len(missed) > 20 else "") if missed else ""
        print(f"{len(lines) - len(missed):6} of {len(lines):5} {int(percent * 10) / 10:6.1f} %  {name}{shown}")
        if missed and name.startswith(tuple(strict)):
            incomplete += 1
    print(f"{total_run:6} of {total:5} lines of src/")
    if incomplete:
        print(f"{incomplete} files below 100 % where all lines must run: {' '.join(strict)}")
    return 1 if incomplete else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
