#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matches per second of processor time of an openskill package, for bench/bench_rating.c.

    tools/rating_speed.py python|javascript MODEL SIDES PLAYERS_PER_SIDE FOLDER

As bench_rating.c does: 100,000 players in a list, random ones are rated and stored. FOLDER/node_modules has the package
of npm; the package of PyPI must be importable.
"""
import random
import subprocess
import sys
import time

MATCHES = 5000
PLAYERS = 100000

JAVASCRIPT = """
import { rate, rating } from "openskill";
import { plackettLuce, bradleyTerryFull, bradleyTerryPart } from "openskill/models";
const [name, sides, each, matches, count] = [process.argv[1], ...process.argv.slice(2).map(Number)];
const models = { plackett_luce: plackettLuce, bradley_terry_full: bradleyTerryFull, bradley_terry_part: bradleyTerryPart };
const players = Array.from({ length: count }, () => rating());
function play(n) {
  for (let done = 0; done < n; done++) {
    const first = Math.floor(Math.random() * count);
    const who = Array.from({ length: sides }, (_, s) => Array.from({ length: each }, (_, p) => (first + (s * each + p) * 7919) % count));
    const after = rate(who.map((side) => side.map((i) => players[i])), { model: models[name] });
    after.forEach((side, s) => side.forEach((r, p) => { players[who[s][p]] = r; }));
  }
}
play(matches);
const start = process.cpuUsage();
play(matches * 4);
const used = process.cpuUsage(start);
console.log((matches * 4) / ((used.user + used.system) / 1e6));
"""


def python_speed(name, sides, each):
    from openskill.models import BradleyTerryFull, BradleyTerryPart, PlackettLuce
    model = {"plackett_luce": PlackettLuce, "bradley_terry_full": BradleyTerryFull,
             "bradley_terry_part": BradleyTerryPart}[name]()
    players = [model.rating() for _ in range(PLAYERS)]
    start = time.process_time()
    for _ in range(MATCHES):
        first = random.randrange(PLAYERS)
        who = [[(first + (s * each + p) * 7919) % PLAYERS for p in range(each)] for s in range(sides)]
        after = model.rate([[players[i] for i in side] for side in who])
        for side, rated in zip(who, after):
            for i, player in zip(side, rated):
                players[i] = player
    return MATCHES / (time.process_time() - start)


def main():
    package, name, sides, each, folder = sys.argv[1:]
    if package == "python":
        print(python_speed(name, int(sides), int(each)))
        return
    done = subprocess.run(["node", "--input-type=module", "-e", JAVASCRIPT, name, sides, each, str(MATCHES), str(PLAYERS)],
                          cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout.strip())


main()
