#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw docs/ratings-simulation.svg from the figures of the simulation.

    build/release/bench/bench_rating_simulation --csv FILE && tools/rating_plot.py FILE > docs/ratings-simulation.svg
"""
import csv
import math
import sys

COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#7f8c8d")
WIDTH, HEIGHT, LEFT, TOP, GAP = 400, 260, 60, 40, 70


def panel(rows, column, title, low, high, ticks, x0):
    """One diagram as SVG lines: games on a logarithmic scale against a column."""
    def x(games):
        return x0 + math.log(games) / math.log(200) * WIDTH

    def y(value):
        return TOP + (high - min(max(value, low), high)) / (high - low) * HEIGHT

    yield f'<text x="{x0}" y="{TOP - 14}" font-weight="bold">{title}</text>'
    for tick in ticks:
        yield f'<line x1="{x0}" x2="{x0 + WIDTH}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>'
        yield f'<text x="{x0 - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    for games in (1, 2, 5, 10, 20, 50, 100, 200):
        yield f'<text x="{x(games):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{games}</text>'
    yield f'<text x="{x0 + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">matches per player</text>'
    for colour, (name, points) in zip(COLOURS, rows.items()):
        if column == "correlation" and name == "true skill":
            continue
        path = " ".join(f"{x(float(p['games'])):.1f},{y(float(p[column])):.1f}" for p in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def main():
    rows = {}
    with open(sys.argv[1], newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["system"], []).append(row)
    width, height = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 80
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">')
    print(f'<rect width="{width}" height="{height}" fill="white"/>')
    for line in panel(rows, "correlation", "Rank correlation with the true skill", 0.2, 1, (0.2, 0.4, 0.6, 0.8, 1), LEFT):
        print(line)
    for line in panel(rows, "loss", "Log-loss of predictions", 0.4, 0.7, (0.4, 0.5, 0.6, 0.7), LEFT + WIDTH + GAP):
        print(line)
    for i, (colour, name) in enumerate(zip(COLOURS, rows)):
        x = LEFT + i * 145
        print(f'<line x1="{x}" x2="{x + 20}" y1="{height - 16}" y2="{height - 16}" stroke="{colour}" stroke-width="2"/>')
        print(f'<text x="{x + 26}" y="{height - 12}">{name}</text>')
    print("</svg>")


main()
