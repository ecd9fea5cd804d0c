/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - the players of a match as bytes: how an event carries them.
 *
 * Players follow each other side by side. Each is
 *
 *   byte      flags: bit 0 the first of a side, bit 1 a weight, bit 2 a part played
 *   if first: four bytes, the side's place, little-endian
 *   text      the player: byte length, then its bytes
 *   what the flags announce: the weight and the part played, each a real of 8 bytes, never 1
 *
 * Smaller places are better; equal ones are a draw. Pure; any thread.
 *
 *     rung_match_cursor c = {.rest = event->match.packed};
 *     while (rung_match_next(&c, &player)) ...   // then c.fault is NULL, or says what is wrong with the bytes */
#ifndef RUNG_MODEL_MATCH_H
#define RUNG_MODEL_MATCH_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_MATCH_PLAYERS_MAX 256
/* Flags, place, length, name, two reals. */
#define RUNG_MATCH_PACKED_MAX ((size_t)RUNG_MATCH_PLAYERS_MAX * (1 + 4 + 1 + 128 + 16))

typedef struct rung_match_entry {
    rung_slice player;
    bool is_first;  /* of its side */
    int32_t place;  /* of its side */
    uint32_t side;  /* from 0 */
    uint32_t index; /* in its side, from 0 */
    double weight;  /* 0.01 to 100; 1 unless told */
    double played;  /* 0.001 to 1 */
} rung_match_entry;

typedef struct rung_match_cursor {
    rung_slice rest;
    rung_match_entry entry; /* private: the last one */
    bool has_entry;         /* private */
    const char *fault;
} rung_match_cursor;

/* The next player. false: at the end, or the bytes are damaged (fault). */
bool rung_match_next(rung_match_cursor *c, rung_match_entry *out);

/* Append a player; false: there is no room. The entry is valid (rung_match_entry_check). */
struct rung_byte_writer; /* base/bytes.h */
bool rung_match_put(struct rung_byte_writer *w, const rung_match_entry *entry);

/* Check name, weight and part played; RUNG_EINVAL names "sides[1].players[0].weight" or the like. */
RUNG_NODISCARD rung_status rung_match_entry_check(const rung_match_entry *entry, rung_err *err);

/* Check everything that needs no state: at least two sides, at most 256 players, every entry, nobody twice. Counts the
 * players. */
RUNG_NODISCARD rung_status rung_match_packed_check(rung_slice packed, uint32_t *count_out,
                                                   rung_err *err);

#endif
