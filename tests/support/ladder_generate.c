/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs come from, and how a failing one becomes short. A seeded program is a row of phases, each in a mood of
 * its own: plain random steps would keep a ladder at one size and never empty a leaf. */
#include "support/ladder_program.h"

#include "support/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- seeded programs ---- */

/* A stretch of a program in one mood. */
typedef struct phase {
    unsigned put_percent, remove_percent; /* the rest are questions */
    unsigned held_percent;                /* of puts and removes: of players that are there */
    ladder_players players[2];            /* mostly the first */
    uint16_t players_max;
    unsigned mixed_percent; /* keys over the full range */
    uint64_t word_values;   /* how many values a word of the other keys takes */
} phase;

static phase choose_phase(rung_rng *rng, uint16_t players_max) {
    static const struct {
        unsigned put, remove, held;
    } moods[] = {
        {75, 5, 10},  /* grow */
        {10, 60, 95}, /* shrink */
        {45, 15, 70}, /* churn */
        {8, 4, 50},   /* read */
    };
    static const uint64_t word_values[] = {2, 3, 16, LADDER_KEY_EDGES};
    static const unsigned mixed_percents[] = {0, 10, 100};
    size_t mood = rung_rng_below(rng, 5) % 4; /* growing twice as often */
    return (phase){
        .put_percent = moods[mood].put,
        .remove_percent = moods[mood].remove,
        .held_percent = moods[mood].held,
        .players = {(ladder_players)rung_rng_below(rng, 3), (ladder_players)rung_rng_below(rng, 3)},
        .players_max = (uint16_t)(1 + rung_rng_below(rng, players_max)),
        .mixed_percent = mixed_percents[rung_rng_below(rng, 3)],
        .word_values = word_values[rung_rng_below(rng, 4)],
    };
}

static bool happens(rung_rng *rng, unsigned percent) {
    return rung_rng_below(rng, 100) < percent;
}

static ladder_op choose_op(rung_rng *rng, const phase *p, uint16_t players_max) {
    if (rung_rng_below(rng, (uint64_t)players_max * 2 + 32) ==
        0) { /* what costs O(n) comes once in n */
        static const ladder_op rare[] = {LADDER_CHECK,   LADDER_BUILD,   LADDER_REBUILD,
                                         LADDER_REBUILD, LADDER_REBUILD, LADDER_CLEAR};
        return rare[rung_rng_below(rng, sizeof rare / sizeof *rare)];
    }
    uint64_t dice = rung_rng_below(rng, 100);
    if (dice < p->put_percent)
        return rung_rng_below(rng, 50)  ? LADDER_PUT
               : rung_rng_below(rng, 2) ? LADDER_PUT_BATCH
                                        : LADDER_SECURED_PUT;
    if (dice < p->put_percent + p->remove_percent)
        return LADDER_REMOVE;
    if (rung_rng_below(rng, 20) == 0)
        return rung_rng_below(rng, 2) ? LADDER_RANK_BATCH : LADDER_FIND_BATCH;
    return (ladder_op)(LADDER_FIND + rung_rng_below(rng, LADDER_PREFETCH + 1 - LADDER_FIND));
}

static uint8_t choose_key_byte(rung_rng *rng, const phase *p) {
    if (rung_rng_below(rng, 50) == 0)
        return (uint8_t)(LADDER_KEY_EDGES + rung_rng_below(rng, 0x100 - LADDER_KEY_EDGES));
    return (uint8_t)rung_rng_below(rng, p->word_values);
}

static bool takes_batch(ladder_op op) {
    return op == LADDER_PUT_BATCH || op == LADDER_RANK_BATCH || op == LADDER_FIND_BATCH ||
           op == LADDER_BUILD;
}

static void generate_step(rung_rng *rng, const phase *p, uint16_t players_max, uint8_t *out) {
    ladder_op op = choose_op(rng, p, players_max);
    ladder_players players = p->players[rung_rng_below(rng, 8) == 0];
    uint64_t selector = rung_rng_below(rng, p->players_max);
    ladder_keys keys = happens(rng, p->mixed_percent) ? LADDER_KEY_MIXED : LADDER_KEY_BYTES;
    if (happens(rng, op == LADDER_PUT || op == LADDER_REMOVE ? p->held_percent : 50))
        players = LADDER_HELD;
    if (happens(rng, 15))
        keys = rung_rng_below(rng, 2) ? LADDER_KEY_HELD : LADDER_KEY_NEAR;
    if (players == LADDER_HELD || op == LADDER_AT || op == LADDER_SELECT || op == LADDER_WALK)
        selector = rung_rng_below(rng, UINT16_MAX + 1);
    if (takes_batch(op))
        selector = rung_rng_below(rng, rung_rng_below(rng, 8) ? 12 : LADDER_BATCH_MAX);
    unsigned style = (unsigned)rung_rng_below(rng, 3), own = (unsigned)rung_rng_below(rng, 4);
    const uint8_t bytes[LADDER_STEP_SIZE] = {
        LADDER_STEP(op, LADDER_FLAGS(style, players, keys, own), selector, 0, 0, 0, 0)};
    memcpy(out, bytes, sizeof bytes);
    for (int i = 4; i < LADDER_STEP_SIZE; i++)
        out[i] = choose_key_byte(rng, p);
    if (op == LADDER_WALK || keys == LADDER_KEY_HELD || keys == LADDER_KEY_NEAR)
        for (int i = 4; i < LADDER_STEP_SIZE; i++)
            out[i] = (uint8_t)rung_rng_next(rng);
}

void ladder_program_generate(rung_rng *rng, const ladder_taste *taste, uint8_t *program,
                             size_t size) {
    uint64_t left = 0;
    phase p = {0};
    program[0] = taste->config;
    for (size_t at = 1; at + LADDER_STEP_SIZE <= size; at += LADDER_STEP_SIZE, left--) {
        if (left == 0) {
            p = choose_phase(rng, taste->players_max);
            left = 1 + taste->players_max / 4 +
                   rung_rng_below(rng, 2 * (uint64_t)taste->players_max + 1);
        }
        generate_step(rng, &p, taste->players_max, program + at);
    }
}

/* ---- shrinking ---- */

/* Try to do without program[from, from + length). */
static void remove_chunk(uint8_t *program, size_t *size, size_t from, size_t length,
                         uint8_t *scratch, bool (*fails)(const uint8_t *program, size_t size)) {
    memcpy(scratch, program, from);
    memcpy(scratch + from, program + from + length, *size - from - length);
    if (!fails(scratch, *size - length))
        return;
    *size -= length;
    memcpy(program, scratch, *size);
}

/* One pass with ever smaller chunks, from the end; the new size. */
static size_t shrink_once(uint8_t *program, size_t size, uint8_t *scratch,
                          bool (*fails)(const uint8_t *program, size_t size)) {
    for (size_t steps = size / LADDER_STEP_SIZE; steps > 0; steps /= 2) {
        size_t chunk = steps * LADDER_STEP_SIZE;
        for (size_t end = size; end > chunk; end -= chunk)
            remove_chunk(program, &size, end - chunk, chunk, scratch, fails);
    }
    return size;
}

size_t ladder_program_shrink(uint8_t *program, size_t size,
                             bool (*fails)(const uint8_t *program, size_t size)) {
    uint8_t *scratch = malloc(size + 1);
    CHECK(scratch);
    size_t before = size + 1;
    for (size = size ? 1 + (size - 1) / LADDER_STEP_SIZE * LADDER_STEP_SIZE : 0; size < before;) {
        before = size;
        size = shrink_once(program, size, scratch, fails);
    }
    free(scratch);
    return size;
}
