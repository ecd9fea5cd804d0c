/* SPDX-License-Identifier: Apache-2.0 */
/* names_program.h - one interpreter for every proof of the player table: bytes become operations, each runs on a
 * table and on a model, and every answer is compared. A difference ends the test (or the fuzzer) by a failed check.
 *
 * The model is a plain array of ids by number, searched from end to end, and a stack of free numbers.
 *
 * A program is one byte of configuration and then steps of 4 bytes; a torn last step is ignored. Any bytes are a
 * program.
 *
 *     byte 0 of the program    bits 0-1 how much of the hashes is left, see players_hashes; bits 2-7 the hash key
 *     step  0     operation, modulo PLAYERS_OP_COUNT
 *           1     length of the id or of the batch
 *           2-3   selector: which id or number, little end first */
#ifndef RUNG_TESTS_PLAYERS_PROGRAM_H
#define RUNG_TESTS_PLAYERS_PROGRAM_H

#include "support/failalloc.h"
#include "support/rng.h"

#include <stddef.h>
#include <stdint.h>

enum { PLAYERS_STEP_SIZE = 4 };

typedef enum players_hashes {
    PLAYERS_HASH_WHOLE,
    PLAYERS_HASH_TAGS,  /* one home for all, many tags */
    PLAYERS_HASH_HOMES, /* many homes, one tag for all */
    PLAYERS_HASH_NONE,  /* all ids collide */
} players_hashes;

typedef enum players_op {
    PLAYERS_INTERN,
    PLAYERS_INTERN_MORE, /* the same, by the hooks for pipelines; twice in the list: tables shall grow */
    PLAYERS_REMOVE,
    PLAYERS_FIND,
    PLAYERS_ID,
    PLAYERS_COMPARE,
    PLAYERS_INTERN_BATCH,
    PLAYERS_FIND_BATCH,
    PLAYERS_ID_BATCH,
    PLAYERS_RESERVE, /* room for (length) more */
    PLAYERS_LIMIT,   /* (length % 8) more from now on; 7: no limit */
    PLAYERS_CHECK,   /* every question about every number */
    PLAYERS_CLEAR,
    PLAYERS_OP_COUNT
} players_op;

#define PLAYERS_STEP(op, length, selector)                                                         \
    (uint8_t)(op), (uint8_t)(length), (uint8_t)(selector), (uint8_t)((selector) >> 8)

typedef struct players_run_options {
    const rung_alloc *alloc; /* NULL: the heap */
    uint64_t
        fail_at; /* 0, or fail this allocation: the table must be as before, and the step goes well again */
    uint64_t check_every; /* rung_names_check() after this many steps; 0: only at the end */
} players_run_options;

/* Run a program. True if the allocation `fail_at` was reached. */
bool names_program_run(const uint8_t *program, size_t size, const players_run_options *options);

/* Fill `program` with phases of growing, shrinking and asking, over `ids` different ids. */
void names_program_generate(rung_rng *rng, uint8_t config, uint16_t ids, uint8_t *program,
                            size_t size);

/* The id that (length, selector) stand for: 1 to 128 bytes of any value, in the caller's buffer. */
size_t names_program_id(uint8_t length, uint16_t selector, char id[128]);

#endif
