/* SPDX-License-Identifier: Apache-2.0 */
/* skiplist.h - the ladder's peer in the benchmark: a sorted set built the way Redis documents its own.
 *
 * A skip list with spans (rank in O(log n)) beside a chained hash table from member to node. Where Redis 7 and
 * this differ, the difference favours the peer: members are 32-bit numbers instead of strings, so no comparison
 * and no hash ever follows a pointer to bytes; counting a range takes two descents instead of four; "around a
 * player" takes one descent instead of two; the table is never found in the middle of a rehash.
 *
 * For the benchmark only: out of memory ends the program. One thread at a time. */
#ifndef RUNG_BENCH_SKIPLIST_H
#define RUNG_BENCH_SKIPLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SKIPLIST_WORDS = 2 };

typedef struct skiplist skiplist; /* heap object; whoever created it calls skiplist_destroy() */

typedef struct skiplist_entry {
    uint64_t key[SKIPLIST_WORDS]; /* smaller first; equal keys by member */
    uint32_t member;
} skiplist_entry;

skiplist *skiplist_create(uint64_t seed);
void skiplist_destroy(skiplist *s); /* accepts NULL */

/* Insert or move. */
void skiplist_put(skiplist *s, uint32_t member, const uint64_t *key);

/* Loading without the descents: the same list, at the same addresses, as that many puts of new members would give.
 * Stage the entries in the order of arrival, then link them once; `next` supplies what was staged, in ascending
 * order. False when it does not. No other call in between. */
typedef bool (*skiplist_source)(void *ctx, skiplist_entry *out);
void skiplist_stage(skiplist *s, uint32_t member, const uint64_t *key);
bool skiplist_link(skiplist *s, skiplist_source next, void *ctx);

uint32_t skiplist_count(const skiplist *s);
size_t skiplist_memory(const skiplist *s); /* bytes, with malloc's own word per block */

bool skiplist_find(const skiplist *s, uint32_t member, skiplist_entry *out);
/* From 1; 0 when absent. */
uint32_t skiplist_rank(const skiplist *s, uint32_t member);
/* `index` from 0. */
bool skiplist_at(const skiplist *s, uint32_t index, skiplist_entry *out);
/* Entries with lo <= key <= hi. */
uint32_t skiplist_count_between(const skiplist *s, const uint64_t *lo, const uint64_t *hi);
/* The first `n`; returns how many there were. */
uint32_t skiplist_top(const skiplist *s, uint32_t n, skiplist_entry *out);
/* Up to `side` entries before the member, the member, and up to `side` after it; returns how many. `rank_out` is the
 * rank of the first. 0 when absent. */
uint32_t skiplist_around(const skiplist *s, uint32_t member, uint32_t side, skiplist_entry *out,
                         uint32_t *rank_out);

/* NULL, or which invariant is broken; O(n log n). */
const char *skiplist_check(const skiplist *s);

#endif
