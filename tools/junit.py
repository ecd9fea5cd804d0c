#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python3 tools/junit.py FILE: what ctest wrote into a JUnit file, for ./dev test.

First a line "passed failed skipped", then a line "name: why" for each test that was skipped. A test says why in a line
"skipped: ..." when it ends with exit code 77; a disabled test says nothing."""
import re
import sys
import xml.etree.ElementTree

STATES = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}


def read(path):
    """({"passed": n, ...}, [(name, why)])"""
    counts, skipped = dict.fromkeys(("passed", "failed", "skipped"), 0), []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        state = STATES.get(case.get("status"), "failed")
        if state == "skipped" and case.find("skipped") is None and case.get("status") != "disabled":
            state = "failed"  # it could not even start
        counts[state] += 1
        if state == "skipped":
            said = re.search(r"^skipped: *(.+)$", case.findtext("system-out") or "", re.MULTILINE)
            skipped.append((case.get("name"), said[1] if said else case.get("status")))
    return counts, skipped


def main():
    counts, skipped = read(sys.argv[1])
    print(counts["passed"], counts["failed"], counts["skipped"])
    for name, why in skipped:
        print(f"{name}: {why}")


if __name__ == "__main__":
    main()
