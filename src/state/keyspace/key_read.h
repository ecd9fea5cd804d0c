/* SPDX-License-Identifier: Apache-2.0 */
/* key_read.h - what the files about keys share beside keys.h; private to state. */
#ifndef RUNG_STATE_KEYSPACE_KEY_READ_H
#define RUNG_STATE_KEYSPACE_KEY_READ_H

#include "ladder/ladder.h"
#include "ladder/names.h"
#include "state/keyspace/keys.h"

/* A member with a score, by number. */
typedef struct rung__pair {
    double score;
    uint32_t player;
} rung__pair;

typedef struct rung__pairs { /* zero is empty */
    rung__pair *items;
    uint32_t count, cap;
} rung__pairs;

/* The score of an entry, as commands show it. */
double rung__zkey_score(const rung_zkey *k, const uint64_t *key);
/* Members by number. Where found[i] is false, scores[i] is anything. */
void rung__zkey_find(const rung_zkey *k, uint32_t n, const uint32_t *players, double *scores,
                     bool *found);
/* The entry at an ascending index below count. Of a sorted set. */
void rung__zkey_at(const rung_zkey *k, uint32_t index, rung_ladder_entry *out);
/* Members from number `from` on, ascending. */
uint32_t rung__zkey_list(const rung_zkey *k, uint32_t from, uint32_t *players, uint32_t room);

/* As rung_zkeys_combine(), in any order. */
RUNG_NODISCARD rung_status rung__pairs_combine(const rung_alloc *alloc, rung_combine_keys combine,
                                               rung_aggregate aggregate, uint32_t n,
                                               const rung_zkey *keys, const double *weights,
                                               uint32_t rows_max, rung__pairs *out);
/* The members of ascending indexes [first, end). */
RUNG_NODISCARD rung_status rung__pairs_read(const rung_alloc *alloc, const rung_zkey *k,
                                            uint32_t first, uint32_t end, rung__pairs *out);
/* Ascending by score, then member. */
RUNG_NODISCARD rung_status rung__pairs_sort(const rung_alloc *alloc, const rung_names *players,
                                            rung__pairs *pairs);
void rung__pairs_free(const rung_alloc *alloc, rung__pairs *pairs);

#endif
