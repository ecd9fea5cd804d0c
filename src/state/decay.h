/* SPDX-License-Identifier: Apache-2.0 */
/* decay.h - scores that halve every half-life, kept so that their order never changes with time.
 *
 * A weight is S = sum of v x 2^((at - landmark) / half_life): a positive number with a 26-bit exponent and a
 * 38-bit fraction in one word whose order as an integer is the order of the numbers. 0 is no weight. Everything
 * that goes into a key is integer arithmetic, so every machine computes the same bits. Private to the room. */
#ifndef RUNG_STATE_DECAY_H
#define RUNG_STATE_DECAY_H

#include "base/status.h"

#include <stdint.h>

/* The weight of `value` at `at_ms`. RUNG_ERANGE: not a positive finite number, or too many half-lives from the
 * landmark (about 33 million). */
RUNG_NODISCARD rung_status rung__decay_weight(double value, int64_t at_ms, int64_t landmark_ms,
                                              int64_t half_life_ms, uint64_t *weight_out);
/* a + b, rounded to nearest. Saturates at the largest weight. */
uint64_t rung__decay_add(uint64_t a, uint64_t b);
/* a / n, rounded down. */
uint64_t rung__decay_divide(uint64_t a, uint32_t n);
/* What a weight is worth at a time, as a score: 0 below the smallest double, infinite above the largest. */
double rung__decay_value(uint64_t weight, int64_t now_ms, int64_t landmark_ms,
                         int64_t half_life_ms);

#endif
