#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors and speed of Apache DataSketches on a stream of bench/bench_sketch.c, one line per sketch:

    tools/sketch_reference.py frequent|ranks|distinct FILE
    NAME BYTES ITEMS_PER_SECOND GREATEST_ERROR MEAN_ERROR STATED_BOUND

Errors and bounds in percent of the stream (of the count for distinct); the bound is -1 where there is none. FILE holds
8-byte little-endian numbers. Speed is 0 where items go in one Python call each: that would measure Python.
"""
import sys
import time

import datasketches
import numpy

POINTS, TOP, TRIALS, NAMES = 1000, 100, 20, 100000
# Bytes per slot of the package's hash map: a std::string, a 64-bit weight, a 16-bit state. Names up to 15 bytes lie in
# the string itself.
FREQUENT_SLOT_BYTES = 32 + 8 + 2


def frequent(items):
    values, counts = numpy.unique(items, return_counts=True)
    top = numpy.argsort(-counts, kind="stable")[:TOP]
    names = [str(item) for item in items.tolist()]
    for lg_size in (10, 14):
        sketch = datasketches.frequent_strings_sketch(lg_size)
        for name in names:
            sketch.update(name, 1)
        off = numpy.array([abs(int(sketch.get_estimate(str(values[i]))) - int(counts[i])) for i in top])
        bound = max((row[3] - row[2] for row in sketch.get_frequent_items(
            datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES, 0)), default=0)
        yield (f"frequent_strings({lg_size})", FREQUENT_SLOT_BYTES << lg_size, 0, 100 * off.max() / len(items),
               100 * off.mean() / len(items), 100 * bound / len(items))


def ranks(items):
    numbers = items.astype(numpy.float64)
    ordered = numpy.sort(items)
    points = ordered[numpy.arange(POINTS) * len(items) // POINTS]
    truth = numpy.searchsorted(ordered, points, side="left") / len(items)
    sketches = [("kll(800)", datasketches.kll_doubles_sketch(800)), ("kll(6000)", datasketches.kll_doubles_sketch(6000)),
                ("req(120)", datasketches.req_floats_sketch(120)), ("tdigest(1000)", datasketches.tdigest_double(1000))]
    for name, sketch in sketches:
        start = time.process_time()
        sketch.update(numbers)
        seconds = time.process_time() - start
        if name.startswith("tdigest"):
            found = [sketch.get_rank(float(point)) for point in points]
        else:
            found = [sketch.get_rank(float(point), False) for point in points]
        off = 100 * numpy.abs(numpy.array(found) - truth)
        bound = 100 * sketch.normalized_rank_error(False) if name.startswith("kll") else -1
        yield name, len(sketch.serialize()), len(items) / seconds, off.max(), off.mean(), bound


def distinct(_):
    for label, kind in (("HLL_4", datasketches.HLL_4), ("HLL_6", datasketches.HLL_6)):
        for lg_size in (10, 12, 14):
            off = []
            for trial in range(TRIALS):
                sketch = datasketches.hll_sketch(lg_size, kind)
                for i in range(NAMES):
                    sketch.update(trial * NAMES + i)
                off.append(abs(sketch.get_estimate() / NAMES - 1) * 100)
            off = numpy.array(off)
            yield (f"{label}({lg_size})", len(sketch.serialize_updatable()), 0, off.max(), (off * off).mean() ** 0.5,
                   104 / 2 ** (lg_size / 2))


def main():
    kind = {"frequent": frequent, "ranks": ranks, "distinct": distinct}[sys.argv[1]]
    for name, size, rate, worst, mean, bound in kind(numpy.fromfile(sys.argv[2], dtype="<u8")):
        print(name, size, f"{rate:.0f} {worst:.8f} {mean:.8f} {bound:.6f}", flush=True)


if __name__ == "__main__":
    main()
