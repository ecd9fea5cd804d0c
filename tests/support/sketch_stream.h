/* SPDX-License-Identifier: Apache-2.0 */
/* sketch_stream.h - random streams for sketches, from a seed: Zipf 0.6 to 2.0, even, sorted and worse orders, drift.
 *
 * An item is a number below `span`; item 0 is the most frequent one of a Zipf stream. */
#ifndef RUNG_TESTS_SKETCH_STREAM_H
#define RUNG_TESTS_SKETCH_STREAM_H

#include "support/rng.h"

#include <math.h>
#include <stdio.h>

typedef enum sketch_order {
    SKETCH_ZIPF,
    SKETCH_EVEN,
    SKETCH_ASCENDING,
    SKETCH_DESCENDING,
    SKETCH_INWARDS, /* from both ends to the middle */
    SKETCH_DRIFT,   /* Zipf, and which items are frequent changes */
    SKETCH_FLOOD,   /* Zipf in one half, then every item once: all that was held is under attack */
    SKETCH_ORDERS,
} sketch_order;

typedef struct sketch_stream {
    rung_rng rng;
    sketch_order order;
    double exponent;
    uint64_t span, length, at;
} sketch_stream;

/* The stream number `seed`: which kind and how skewed follow from it. */
static inline sketch_stream sketch_stream_of(uint64_t seed, uint64_t span, uint64_t length) {
    sketch_stream s = {.span = span, .length = length};
    rung_rng_seed(&s.rng, seed);
    s.order = (sketch_order)(seed % 2 ? seed / 2 % SKETCH_ORDERS : SKETCH_ZIPF);
    s.exponent = 0.6 + 1.4 * (double)(seed % 29) / 28;
    return s;
}

static inline void sketch_stream_text(const sketch_stream *s, char *out, size_t size) {
    static const char *const names[] = {"Zipf",    "even",  "ascending", "descending",
                                        "inwards", "drift", "flood"};
    snprintf(out, size, "%s %.2f", names[s->order], s->exponent);
}

static inline uint64_t sketch_zipf(sketch_stream *s) {
    double u = rung_rng_double(&s->rng), n = (double)s->span, a = 1 - s->exponent;
    double x = fabs(a) < 1e-9 ? exp(u * log(n + 1)) : pow(u * (pow(n + 1, a) - 1) + 1, 1 / a);
    uint64_t item = x < 1 ? 0 : (uint64_t)x - 1;
    return item < s->span ? item : s->span - 1;
}

static inline uint64_t sketch_next(sketch_stream *s) {
    uint64_t i = s->at++;
    uint64_t place = (uint64_t)((unsigned __int128)i * s->span / s->length);
    switch (s->order) {
    case SKETCH_EVEN:
        return rung_rng_below(&s->rng, s->span);
    case SKETCH_ASCENDING:
        return place;
    case SKETCH_DESCENDING:
        return s->span - 1 - place;
    case SKETCH_INWARDS:
        return i % 2 ? place / 2 : s->span - 1 - place / 2;
    case SKETCH_DRIFT:
        return (sketch_zipf(s) + place / 2) % s->span;
    case SKETCH_FLOOD:
        return i < s->length / 2 ? sketch_zipf(s) : (i * 7919) % s->span;
    default:
        return sketch_zipf(s);
    }
}

#endif
