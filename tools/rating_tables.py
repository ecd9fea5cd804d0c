#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/golden/rating/arith.txt: arguments and correctly rounded values of the functions of src/rating/arith.h.

    tools/rating_tables.py > tests/golden/rating/arith.txt

Computed with 60 digits by Python's decimal module. A line is: function, argument, value, both as hexadecimal floats.
"""
import decimal
import random

decimal.getcontext().prec = 60
D = decimal.Decimal
PI = D("3.14159265358979323846264338327950288419716939937510582097494459")


def pdf(x):
    return (-x * x / 2).exp() / (2 * PI).sqrt()


def cdf(x):
    """By the series around 0, in as many digits as the cancellation takes."""
    with decimal.localcontext() as context:
        context.prec = 80 + int(x * x / 2)
        term = total = x
        odd = 3
        while abs(term) > D(10) ** -(context.prec - 5):
            term = term * x * x / odd
            total += term
            odd += 2
        pi = machin(context.prec)
        return +(D("0.5") + (-x * x / 2).exp() / (2 * pi).sqrt() * total)


def machin(digits, cache={}):
    if digits not in cache:
        def arctan_inverse(n):
            term = total = D(1) / n
            k = 1
            while abs(term) > D(10) ** -(digits + 5):
                term = -term / (n * n)
                k += 2
                total += term / k
            return total
        cache[digits] = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return cache[digits]


FUNCTIONS = {
    "exp": (lambda x: x.exp(), lambda r: r.choice((r.uniform(-740, 709), r.uniform(-1, 1), r.gauss(0, 1e-5), r.uniform(-40, 40)))),
    "exp10": (lambda x: D(10) ** x, lambda r: r.choice((r.uniform(-300, 308), r.uniform(-3, 3), r.gauss(0, 1e-4)))),
    "log": (lambda x: x.ln(), lambda r: r.choice((10 ** r.uniform(-300, 300), r.uniform(0.5, 2), 1 + r.gauss(0, 1e-6), r.uniform(0, 1e-310)))),
    "pdf": (pdf, lambda r: r.choice((r.uniform(-37, 37), r.uniform(-3, 3)))),
    "cdf": (cdf, lambda r: r.choice((r.uniform(-37, 9), r.uniform(-4, 4), r.uniform(-1.5, -0.5)))),
}


def main():
    rng = random.Random(20261118)
    for name, (function, argument) in FUNCTIONS.items():
        for _ in range(400):
            x = argument(rng)
            print(name, x.hex(), float(function(D(x))).hex())


main()
