/* SPDX-License-Identifier: Apache-2.0 */
/* ladder_program.h - one interpreter for every proof of the ladder: bytes become operations, each runs on a ladder
 * and on a model, and every answer is compared.
 *
 * The model is a sorted array. Hand-written tables, all short programs, long seeded ones, the out-of-memory sweep
 * and the fuzzer all feed this interpreter, so a failure found by one of them is a line in the table of another.
 *
 * A program is one byte of configuration and then steps of 8 bytes; a torn last step is ignored. Any bytes are a
 * program.
 *
 *     byte 0 of the program    key_words - 1, + 4 * (score_words - 1), + 16 * tie, + 48 with prefixes (each taken
 *                              modulo its range)
 *     step  0     operation, modulo LADDER_OP_COUNT
 *           1     bits 0-1 rank style, 2-3 which player numbers, 4-5 where the key comes from, 6-7 per operation
 *           2-3   selector: the player, the index or the rank, little end first
 *           4-7   the key, one byte per word: 0 to 0xef stand for themselves, above that are the extremes and
 *                 full-range values
 *
 * A batch or a build takes the steps that follow it as its elements, so removing steps leaves a sensible program:
 * that is how ladder_program_shrink() works. */
#ifndef RUNG_TESTS_LADDER_PROGRAM_H
#define RUNG_TESTS_LADDER_PROGRAM_H

#include "support/failalloc.h"
#include "support/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LADDER_STEP_SIZE = 8,
    LADDER_BATCH_MAX = 256,  /* sizes of batches are taken modulo this */
    LADDER_KEY_EDGES = 0xf0, /* key bytes from here on are no plain values */
};

typedef enum ladder_op {
    LADDER_PUT, /* per-op bit 0: ask for the change */
    LADDER_REMOVE,
    LADDER_FIND,
    LADDER_RANK,
    LADDER_RANK_OF_KEY,
    LADDER_AT,
    LADDER_SELECT,
    LADDER_WALK,     /* from an index; the 32 bits of the key bytes are directions */
    LADDER_WALK_KEY, /* from a key; the same bits are directions */
    LADDER_COUNT,    /* before, not after, between */
    LADDER_QUANTILE,
    LADDER_SIZES, /* count, distinct, memory */
    LADDER_PREFETCH,
    LADDER_CHECK,      /* everything at once, for every entry */
    LADDER_PUT_BATCH,  /* of the next (selector % 256) steps; per-op bit 0: ask for the changes */
    LADDER_RANK_BATCH, /* likewise */
    LADDER_FIND_BATCH, /* likewise */
    LADDER_BUILD, /* likewise, after a clear; per-op bits: the defect to plant, see ladder_defect */
    LADDER_REBUILD, /* clear, and build from all that was there; with a defect: that first, then the good one */
    LADDER_CLEAR,
    LADDER_SECURED_PUT, /* secure, then put without another byte of memory where that can be tested */
    LADDER_OP_COUNT
} ladder_op;

/* Which number a selector stands for. */
typedef enum ladder_players {
    LADDER_LOW,       /* the selector itself */
    LADDER_SCATTERED, /* spread over all 32 bits */
    LADDER_HIGH,      /* down from 2^32 - 1 */
    LADDER_HELD,      /* the player of the entry at (selector % count): hits for sure */
} ladder_players;

typedef enum ladder_keys {
    LADDER_KEY_BYTES, /* bytes 4-7 */
    LADDER_KEY_MIXED, /* every word from a hash of the step */
    LADDER_KEY_HELD,  /* the key of some entry that is there */
    LADDER_KEY_NEAR,  /* such a key, with one word one more or one less */
} ladder_keys;

typedef enum ladder_defect { /* what is wrong with the input of a build */
                             LADDER_SOUND,
                             LADDER_UNSORTED,    /* two neighbours swapped, or one entry twice */
                             LADDER_SAME_PLAYER, /* one player at two places, in order */
                             LADDER_DRY,         /* the source ends too soon */
} ladder_defect;

typedef enum ladder_tie_kind {
    LADDER_BY_NUMBER,
    LADDER_BY_NUMBER_DOWN,
    LADDER_BY_FAKE_ID,
    LADDER_TIE_COUNT
} ladder_tie_kind;

/* ---- writing programs by hand ---- */

#define LADDER_CONFIG(key_words, score_words, tie)                                                 \
    (uint8_t)((key_words)-1 + 4 * ((score_words)-1) + 16 * (tie))
#define LADDER_PREFIXED(tie) ((tie) + LADDER_TIE_COUNT)
#define LADDER_FLAGS(style, players, keys, own)                                                    \
    (uint8_t)((style) | (players) << 2 | (keys) << 4 | (own) << 6)
#define LADDER_STEP(op, flags, selector, a, b, c, d)                                               \
    (uint8_t)(op), (uint8_t)(flags), (uint8_t)(selector), (uint8_t)((selector) >> 8), (a), (b),    \
        (c), (d)

/* ---- running ---- */

typedef struct ladder_run_options {
    rung_failalloc *
        failalloc; /* NULL: the heap. Used by nobody else: it must agree with rung_ladder_memory() */
    bool may_run_out; /* RUNG_ENOMEM is an answer: the ladder must then be as before the step */
} ladder_run_options;

typedef struct ladder_verdict {
    bool is_good;
    size_t step;           /* of the failure, counted from 0 */
    uint64_t step_count;   /* steps run */
    uint64_t enomem_count; /* steps that ran out of memory */
    uint32_t count_max;    /* entries at the fullest */
    char message[232];     /* what differs, when not good */
} ladder_verdict;

/* Run a program; `options` may be NULL. After each step rung_ladder_check() (every few steps when the ladder is large)
 * and at the end every question about every entry. */
ladder_verdict ladder_program_run(const uint8_t *program, size_t size,
                                  const ladder_run_options *options);

/* ---- making and shrinking ---- */

/* How a seeded program shall look. */
typedef struct ladder_taste {
    uint8_t config;       /* byte 0 */
    uint16_t players_max; /* how many different selectors: about how large the ladder gets */
} ladder_taste;

/* Fill `program` with phases (growing, shrinking, mixed; low, scattered and mixed player numbers; many ties or
 * few). The same generator state and taste give the same bytes. `size` = 1 + steps * LADDER_STEP_SIZE. */
void ladder_program_generate(rung_rng *rng, const ladder_taste *taste, uint8_t *program,
                             size_t size);

/* Remove chunks of steps as long as `fails` says that the rest still fails; returns the new size. */
size_t ladder_program_shrink(uint8_t *program, size_t size,
                             bool (*fails)(const uint8_t *program, size_t size));

/* Print the program to standard error in the notation above, ready to be pasted into a table. */
void ladder_program_print(const uint8_t *program, size_t size);

#endif
