/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - a table of names (ids): bytes <-> dense 32-bit numbers. The state has one for players, others for boards,
 * attributes, their values and the ids of submissions.
 *
 * An id is 1 to 128 bytes of any value. Numbers are 0, 1, 2, ...; a removed number is given out again before a
 * new one is taken, the last removed first, so arrays indexed by number stay dense. Which number an id gets
 * depends only on the sequence of operations, never on the hash key.
 *
 *     rung_names_create(rung_alloc_heap(), &key, &names);
 *     rung_names_intern(names, RUNG_SLICE("ada"), &number);     RUNG_OK: new; RUNG_UNCHANGED: known
 *     rung_slice id = rung_names_id(names, number);
 *
 * No call that adds, finds or removes a name does work in proportion to the table: it grows a bucket or two
 * at a time. Pure: no I/O, clock or threads. One writer at a time; readers may run beside readers. */
#ifndef RUNG_LADDER_NAMES_H
#define RUNG_LADDER_NAMES_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_PLAYER_ID_MAX 128
#define RUNG_PLAYER_NONE   UINT32_MAX /* never a number: they end at 2^32 - 2 */

/* Heap object; the creator calls rung_names_destroy(). */
typedef struct rung_names rung_names;

/* --- Life cycle --- */

/* An empty table (under 1 KiB). `alloc` must outlive it; `key` is copied and should be secret where strangers
 * choose ids. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_names_create(const rung_alloc *alloc, const rung_hash_key *key,
                                             rung_names **players_out);
/* NULL is accepted. */
void rung_names_destroy(rung_names *t);

/* Remove all names and free the memory; the next id gets number 0. The limit stays. */
void rung_names_clear(rung_names *t);

/* Make room for `count` names in one go, so that loading them does not grow the table step by step. O(count):
 * for start-up. RUNG_OK or RUNG_ENOMEM; nothing visible changes either way. */
RUNG_NODISCARD rung_status rung_names_reserve(rung_names *t, uint32_t count);

/* At most `count` names from now on (those already here stay); 2^32 - 1 without this call. */
void rung_names_set_limit(rung_names *t, uint32_t count);

/* --- Changes --- */

/* The number of `id`, a new one if need be. Copies `id`. RUNG_OK: new; RUNG_UNCHANGED: it was there;
 * RUNG_EINVAL: empty or too long; RUNG_ELIMIT: the limit, or 16 GiB of ids; RUNG_ENOMEM. On failure the
 * table is as before. */
RUNG_NODISCARD rung_status rung_names_intern(rung_names *t, rung_slice id, uint32_t *number_out);

/* Remove a name; its number and its memory are reused. RUNG_OK, or RUNG_NOT_FOUND if the number is not in use. */
rung_status rung_names_remove(rung_names *t, uint32_t number);

/* --- Restoring: a table with the same numbers, and the same numbers to come ---
 * Into an empty table: every number from 0 on, then the free ones in the order in which they will be given out,
 * then finish. Until then no id is found, though rung_names_id() and is_used() work. After a failure only
 * rung_names_clear() and destroy remain. Memory is taken in step with what is restored. */

/* The next number, with its id; with an empty id, a number that is not in use. Copies `id`. RUNG_OK, RUNG_EINVAL (too
 * long), RUNG_ELIMIT or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_names_restore(rung_names *t, rung_slice id);
/* The free number that will be given out after `before`; RUNG_PLAYER_NONE: the first. RUNG_EINVAL when it is
 * in use, or comes twice. */
RUNG_NODISCARD rung_status rung_names_restore_free(rung_names *t, uint32_t before, uint32_t number);
/* Build the index, in one go. RUNG_EINVAL when two numbers have the same id, or a free number was left out. */
RUNG_NODISCARD rung_status rung_names_restore_finish(rung_names *t);

/* --- Queries --- */

/* The free number that is given out after the free number `number`, RUNG_PLAYER_NONE at the end; the first one when
 * asked about RUNG_PLAYER_NONE. */
uint32_t rung_names_next_free(const rung_names *t, uint32_t number);

/* RUNG_OK or RUNG_NOT_FOUND. */
RUNG_NODISCARD rung_status rung_names_find(const rung_names *t, rung_slice id,
                                           uint32_t *number_out);

/* Find many, several times faster than one by one; RUNG_PLAYER_NONE for the missing. Returns how many were found. */
size_t rung_names_find_batch(const rung_names *t, const rung_slice *ids, size_t n,
                             uint32_t *numbers_out);

/* The id of a number: borrowed, valid until that name is removed. Empty if the number is not in use. */
rung_slice rung_names_id(const rung_names *t, uint32_t number);
/* The ids of many, faster than one by one. All numbers must be in use, like those of a ladder's entries. */
void rung_names_id_used(const rung_names *t, const uint32_t *numbers, size_t n,
                        rung_slice *ids_out);

/* Order of two names by bytes: <0, 0, >0. Both must be in use. `table` is a rung_names: the signature of
 * a ladder's tie-break. */
int rung_names_compare(const void *table, uint32_t a, uint32_t b);
/* Prefixes for such a ladder (ladder.h): the four bytes of the id after what the first ids had in common. */
void rung_names_prefix_begin(const void *table, uint32_t n, const uint32_t *numbers, void *origin);
uint32_t rung_names_prefix(const void *table, const void *origin, uint32_t number);
void rung_names_prefixes(const void *table, const void *origin, uint32_t from, uint32_t n,
                         uint32_t *prefixes_out);
uint32_t rung_names_prefix_span(const void *table);
/* Prefetch what that comparison reads of a name; the signature of a ladder's aid. */
void rung_names_prefetch_id(const void *table, uint32_t number, int part);

uint32_t rung_names_count(const rung_names *t);
/* The highest number ever in use + 1. With rung_names_is_used() this iterates: for (i = 0; i < span; i++). */
uint32_t rung_names_span(const rung_names *t);
bool rung_names_is_used(const rung_names *t, uint32_t number);
/* All memory the table holds. */
size_t rung_names_size_bytes(const rung_names *t);

/* --- For callers with a pipeline of their own ---
 * Over a group of 16 to 32 ids: hash all and prefetch; prefetch_number all; prefetch_cell all; then find_hashed or
 * intern_hashed. Prefetching never changes an answer, and may be left out. `hash` must be that of `id`. */

uint64_t rung_names_hash(const rung_names *t, rung_slice id);
void rung_names_prefetch(const rung_names *t, uint64_t hash);
void rung_names_prefetch_number(const rung_names *t, uint64_t hash);
void rung_names_prefetch_cell(const rung_names *t, uint64_t hash);
RUNG_NODISCARD rung_status rung_names_find_hashed(const rung_names *t, uint64_t hash, rung_slice id,
                                                  uint32_t *number_out);
RUNG_NODISCARD rung_status rung_names_intern_hashed(rung_names *t, uint64_t hash, rung_slice id,
                                                    uint32_t *number_out);

/* --- Tests --- */

/* NULL, or which invariant of names.c is broken. O(n). */
const char *rung_names_check(const rung_names *t);

/* Keep only the `mask` bits of every hash, so that tests can have collisions. Only on an empty table. */
void rung__names_weaken(rung_names *t, uint64_t mask);

#endif
