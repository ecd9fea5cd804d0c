#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=no-asan
"""Our calendar against Python's zoneinfo, which has its own reader of time zone files.

For every zone and kind, `test_model_calendar --windows` lists the windows of a stretch of time. Three things are
held against zoneinfo and datetime:

  1. the list: consecutive ordinals, each window begins where the one before ended, ids as datetime and
     isocalendar name them;
  2. each start: local time there is at or past the window's civil start, and a second earlier it is not;
  3. around every change of offset, minute by minute: the window of an instant is the one that holds the latest
     local time reached so far (the rule in other words, needing no search).
"""
import bisect
import datetime as dt
import os
import pathlib
import subprocess
import sys
import zoneinfo

ZONES = """
    Europe/Helsinki America/New_York America/St_Johns Asia/Kolkata Asia/Kathmandu Australia/Lord_Howe
    Pacific/Apia Pacific/Chatham America/Sao_Paulo Africa/Casablanca Asia/Tehran Europe/Dublin UTC
    Pacific/Kiritimati America/Godthab Africa/Cairo
""".split()
HOUR, DAY, WEEK, MONTH, YEAR = range(1, 6)
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1)
DAYS_FROM_1 = EPOCH.toordinal()  # datetime counts days from 0001-01-01
# Thirty years, and two stretches that only the rule in a file's footer covers.
STRETCHES = [(2000, 2031), (2037, 2042), (2099, 2101)]
SHORT_STRETCHES = [(2010, 2013), (2026, 2027), (2038, 2039)]


def unix(year, month=1, day=1):
    return int(dt.datetime(year, month, day, tzinfo=UTC).timestamp())


def civil_start(kind, ordinal, day_starts):
    """The window's first local second, as a naive datetime; its id."""
    if kind == HOUR:
        start = EPOCH + dt.timedelta(hours=ordinal)
        return start, start.strftime("%Y-%m-%dT%H")
    if kind == DAY:
        date = dt.date.fromordinal(DAYS_FROM_1 + ordinal)
        name = date.isoformat()
    elif kind == WEEK:
        date = dt.date(1969, 12, 29) + dt.timedelta(weeks=ordinal)
        name = "%d-W%02d" % date.isocalendar()[:2]
    elif kind == MONTH:
        date = dt.date(ordinal // 12, ordinal % 12 + 1, 1)
        name = date.strftime("%Y-%m")
    else:
        date = dt.date(ordinal, 1, 1)
        name = str(ordinal)
    return dt.datetime(date.year, date.month, date.day) + dt.timedelta(minutes=day_starts), name


def ordinal_of(kind, local, day_starts):
    """The window that names this local time."""
    if kind == HOUR:
        return (local - EPOCH) // dt.timedelta(hours=1)
    date = (local - dt.timedelta(minutes=day_starts)).date()
    if kind == DAY:
        return date.toordinal() - DAYS_FROM_1
    if kind == WEEK:
        return (date - dt.date(1969, 12, 29)).days // 7
    return date.year * 12 + date.month - 1 if kind == MONTH else date.year


class Zone:
    def __init__(self, name):
        self.name = name
        self.info = zoneinfo.ZoneInfo(name)
        self.path = next((p for p in (pathlib.Path(d) / name for d in zoneinfo.TZPATH) if p.is_file()), None)

    def local(self, t):
        return dt.datetime.fromtimestamp(t, self.info).replace(tzinfo=None)

    def offset(self, t):
        return dt.datetime.fromtimestamp(t, self.info).utcoffset()

    def changes(self, start, end):
        """Instants where the offset changes, to the second."""
        found, before = [], self.offset(start)
        for t in range(start, end, 7200):
            after = self.offset(t + 7200)
            if after != before:
                low, high = t, t + 7200
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if self.offset(middle) == before else (low, middle)
                found.append(high)
                before = after
        return found


def list_windows(program, zone, kind, day_starts, start, end):
    args = [program, "--windows", str(zone.path), kind, day_starts, start * 1000, end * 1000]
    run = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=100)
    if run.returncode:
        raise AssertionError(f"{args}: exit {run.returncode}: {run.stderr}")
    rows = (line.split() for line in run.stdout.splitlines())
    return [(int(o), int(s), int(e), name) for o, s, e, name in rows]


def expect(good, *what):
    if not good:
        raise AssertionError(" ".join(map(str, what)))


def check_list(zone, kind, day_starts, windows):
    """1 and 2. A start that is a whole number of seconds is all there is: every offset and change is."""
    for i, (ordinal, start, end, name) in enumerate(windows):
        want, want_name = civil_start(kind, ordinal, day_starts)
        where = (zone.name, "kind", kind, "day_starts", day_starts, name, start)
        expect(name == want_name, *where, "id should be", want_name)
        expect(start <= end, *where, "ends before it starts")
        if i:
            before = windows[i - 1]
            expect(before[0] == ordinal - 1 and before[2] == start, *where, "does not follow the one before")
        expect(start % 1000 == 0, *where, "starts within a second")
        expect(zone.local(start // 1000) >= want, *where, "starts too early")
        expect(zone.local(start // 1000 - 1) < want, *where, "starts too late")
        if kind == DAY and start < end and not day_starts:
            seen.setdefault(zone.name, set()).add((end - start) // 60000)
        if start == end:
            skipped.add((zone.name, name))


def check_changes(zone, kind, day_starts, windows, changes):
    """3."""
    starts = [w[1] for w in windows]
    for change in changes:
        reached = dt.datetime.min
        for t in range(change - 3 * 3600, change + 27 * 3600, 60):
            reached = max(reached, zone.local(t))
            at = bisect.bisect_right(starts, t * 1000) - 1  # the last that starts by then: never an empty one
            if 0 <= at < len(windows):
                expect(windows[at][0] == ordinal_of(kind, reached, day_starts), zone.name, "kind", kind, "at", t)


seen, skipped = {}, set()


def check_stretch(program, zone, years, kinds):
    start, end = unix(years[0]), unix(years[1])
    changes = [c for c in zone.changes(start, end) if start + 5 * 86400 < c < end - 5 * 86400]
    count = 0
    for kind, day_starts in kinds:
        windows = list_windows(program, zone, kind, day_starts, start, end)
        expect(windows, zone.name, "no windows")
        check_list(zone, kind, day_starts, windows)
        if kind in (HOUR, DAY):
            check_changes(zone, kind, day_starts, windows, changes)
        count += len(windows)
    return count


def check_zone(program, zone):
    count = 0
    for years in STRETCHES:
        count += check_stretch(program, zone, years, [(DAY, 0), (WEEK, 0), (MONTH, 0), (YEAR, 0)])
    for years in SHORT_STRETCHES:
        count += check_stretch(program, zone, years, [(HOUR, 0), (DAY, 240), (DAY, 1410), (WEEK, 60), (MONTH, 90)])
    return count


def main():
    program = pathlib.Path(os.environ.get("RUNG_BUILD", "build/dev")) / "tests" / "test_model_calendar"
    zones = []
    for name in ZONES:
        try:
            zone = Zone(name)
        except zoneinfo.ZoneInfoNotFoundError:
            continue
        if zone.path:
            zones.append(zone)
    if len(zones) < 12:
        print(f"only {len(zones)} zones on this machine: is tzdata installed?", file=sys.stderr)
        return 77
    failed = 0
    for zone in zones:
        try:
            print(f"{zone.name}: {check_zone(program, zone)} windows agree", flush=True)
        except AssertionError as e:
            failed += 1
            print(f"{zone.name}: {e}", file=sys.stderr)
    # The cases this is about were really among them: days of 23, 24 and 25 hours, half-hour shifts, a skipped day.
    expect({1380, 1440, 1500} <= seen["Europe/Helsinki"], seen)
    expect({1410, 1440, 1470} <= seen["Australia/Lord_Howe"], seen)
    expect(("Pacific/Apia", "2011-12-30") in skipped, skipped)
    print(f"{len(zones) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
