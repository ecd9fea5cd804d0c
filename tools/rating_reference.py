#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random matches rated by the openskill packages of PyPI and npm, for tests/unit/rating/test_reference.c.

    tools/rating_reference.py python COUNT             with a Python that has openskill
    tools/rating_reference.py javascript COUNT FOLDER  where FOLDER/node_modules has openskill

tests/golden/rating/openskill-*.txt were written with a COUNT of 300. A match is one line of parameters:

    match MODEL BETA TAU KAPPA LIMIT_SIGMA WINDOW WINDOW_MEAN SIDES EXPECTED

EXPECTED is the first side's probability to win if there are two sides, -1 otherwise. A line per side follows, with five
numbers per player: mu, sigma and weight before, mu and sigma after:

    PLACE PLAYERS mu sigma weight mu sigma ...
"""
import json
import random
import subprocess
import sys

MODELS = ("plackett_luce", "bradley_terry_full", "bradley_terry_part")


def random_match(rng, with_weights):
    sides = rng.choice((2, 2, 2, 3, 4, 5, 8, 16))
    weighted = with_weights and rng.random() < 0.4
    drawish = rng.random() < 0.5
    return {
        "model": rng.choice(MODELS),
        "beta": rng.choice((25 / 6, 25 / 6, round(rng.uniform(1, 10), 2))),
        "tau": rng.choice((25 / 300, 25 / 300, round(rng.uniform(0.01, 1), 2))),
        "kappa": 0.0001,
        "limit_sigma": rng.random() < 0.2,
        "places": [rng.randint(1, max(2, sides // 2) if drawish else 100) for _ in range(sides)],
        "weighted": weighted,
        "sides": [
            [[round(rng.gauss(25, 8), 3), round(rng.uniform(0.3, 9), 3),
              round(rng.uniform(0.2, 3), 2) if weighted else 1.0]
             for _ in range(1 if sides > 8 else rng.choice((1, 1, 1, 2, 3, 5)))]
            for _ in range(sides)],
    }


def rate_python(matches):
    from openskill.models import BradleyTerryFull, BradleyTerryPart, PlackettLuce
    classes = dict(zip(MODELS, (PlackettLuce, BradleyTerryFull, BradleyTerryPart)))
    for m in matches:
        model = classes[m["model"]](beta=m["beta"], tau=m["tau"], kappa=m["kappa"], limit_sigma=m["limit_sigma"])
        model.weight_bounds = None  # weights as they are
        m["window"], m["window_mean"] = getattr(model, "window_size", 1), 1
        teams = [[model.rating(mu=mu, sigma=sigma) for mu, sigma, _ in side] for side in m["sides"]]
        weights = [[weight for _, _, weight in side] for side in m["sides"]] if m["weighted"] else None
        m["expected"] = model.predict_win(teams)[0] if len(teams) == 2 else -1
        rated = model.rate(teams, ranks=[float(p) for p in m["places"]], weights=weights)
        m["after"] = [[[player.mu, player.sigma] for player in side] for side in rated]


JAVASCRIPT = """
import { rate, predictWin } from "openskill";
import { plackettLuce, bradleyTerryFull, bradleyTerryPart } from "openskill/models";
import { readFileSync } from "node:fs";
const models = { plackett_luce: plackettLuce, bradley_terry_full: bradleyTerryFull, bradley_terry_part: bradleyTerryPart };
const answers = JSON.parse(readFileSync(0)).map((m) => {
  const teams = m.sides.map((side) => side.map(([mu, sigma]) => ({ mu, sigma })));
  const options = { model: models[m.model], rank: m.places, beta: m.beta, tau: m.tau, kappa: m.kappa, limitSigma: m.limit_sigma };
  const after = rate(teams, options).map((side) => side.map(({ mu, sigma }) => [mu, sigma]));
  return { after, expected: teams.length === 2 ? predictWin(teams, { beta: m.beta })[0] : -1 };
});
process.stdout.write(JSON.stringify(answers));
"""


def rate_javascript(matches, folder):
    done = subprocess.run(["node", "--input-type=module", "-e", JAVASCRIPT], cwd=folder, check=True,
                          input=json.dumps(matches).encode(), stdout=subprocess.PIPE)
    for m, answer in zip(matches, json.loads(done.stdout)):
        m.update(answer, window=1, window_mean=0)


def main():
    package, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(package)
    matches = [random_match(rng, with_weights=package == "python") for _ in range(count)]
    if package == "python":
        rate_python(matches)
    else:
        rate_javascript(matches, sys.argv[3])
    for m in matches:
        print("match", m["model"], repr(m["beta"]), repr(m["tau"]), m["kappa"], int(m["limit_sigma"]), m["window"],
              m["window_mean"], len(m["sides"]), repr(m["expected"]))
        for place, before, after in zip(m["places"], m["sides"], m["after"]):
            players = (f"{b[0]} {b[1]} {b[2]} {a[0]:.13g} {a[1]:.13g}" for b, a in zip(before, after))
            print(place, len(before), *players)


main()
