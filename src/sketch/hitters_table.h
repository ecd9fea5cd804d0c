/* SPDX-License-Identifier: Apache-2.0 */
/* hitters_table.h - how heavy hitters lie in memory. Private to the room.
 *
 * One block of memory: the object, slots, cells that grow upwards, and names
 * that grow downwards from the end.
 *
 *   slots    hash table, linear probing: 12 bits of the hash and the entry
 * number + 1; 0 is free cells    cell i holds place i of a binary heap, the
 * lightest entry first (count, 32 bits of the hash, entry number), and entry i
 * (error, where the name is, where in the heap it is). Entry numbers stay dense
 *   names    a record is the name and its length (1 byte) behind it; name_at counts from the end of the block to the
 *            end of the record. A free one of 4 bytes and more starts with the place of the next one of its length.
 *            When cells and names meet, the records in use move to the end
 *
 * Short names leave room for more entries: what is limited is the sum
 * (rung__hitters_fits).
 *
 * Order: by count, then hash, then name. It is total and known from the
 * contents alone, so the lightest entry, which is the one to be evicted, does
 * not depend on the layout.
 *
 * Errors are stored as numbers with 26 bits and a shift, rounded up: exact
 * below 67 million.
 *
 * Invariants:
 *  1. The heap is ordered, and entry and place point to each other.
 *  2. Every entry is in the table, at or after its place, with no free slot
 * between; nothing else is.
 *  3. floor <= count and error <= floor (rounded up), for every entry; the sum
 * of all count - error is at most total.
 *  4. Cells and names fit: their sizes, with an eighth more for names, are
 * within the area.
 *  5. No two entries have the same name. */
#ifndef RUNG_SKETCH_HITTERS_TABLE_H
#define RUNG_SKETCH_HITTERS_TABLE_H

#include "base/hash.h"
#include "sketch/hitters.h"

enum { RUNG__HITTERS_NUMBER_BITS = 21, RUNG__HITTERS_ERROR_BITS = 26 };

typedef struct __attribute__((packed, aligned(4))) rung__hitters_place {
    uint64_t count;
    uint32_t tie, entry;
} rung__hitters_place;

typedef struct rung__hitters_entry {
    uint32_t error, name_at, heap_at;
} rung__hitters_entry;

typedef struct __attribute__((packed, aligned(4))) rung__hitters_cell {
    rung__hitters_place place;
    rung__hitters_entry entry;
} rung__hitters_cell;

struct rung_hitters {
    const rung_alloc *alloc;
    size_t block_bytes, memory_bytes;
    uint64_t seed, secret, total, floor;
    rung_hash_key key;
    uint32_t capacity, count, slot_count;
    uint32_t area_bytes;           /* of cells and names */
    uint32_t name_used, name_size; /* bytes of records in use; of all records */
    uint32_t
        holes[RUNG_HITTERS_NAME_MAX + 1]; /* by length: name_at + 1 of a free record, 0: none */
    uint32_t *slots;
    rung__hitters_cell *cells;
    uint8_t *names_end;
};

/* An error rounded up to what is stored, and back. */
static inline uint32_t rung__error_pack(uint64_t error) {
    uint32_t shift = 0;
    if (error >> RUNG__HITTERS_ERROR_BITS)
        shift = 64 - (uint32_t)__builtin_clzll(error) - RUNG__HITTERS_ERROR_BITS;
    uint64_t lost = error & (((uint64_t)1 << shift) - 1), mantissa = (error >> shift) + (lost != 0);
    if (mantissa >> RUNG__HITTERS_ERROR_BITS) {
        mantissa >>= 1;
        shift++;
    }
    return shift << RUNG__HITTERS_ERROR_BITS | (uint32_t)mantissa;
}

static inline uint64_t rung__error_unpack(uint32_t packed) {
    return (uint64_t)(packed & ((1u << RUNG__HITTERS_ERROR_BITS) - 1))
           << (packed >> RUNG__HITTERS_ERROR_BITS);
}

rung_slice rung__hitters_name(const rung_hitters *h, uint32_t entry);
uint32_t rung__hitters_tie(const rung_hitters *h, rung_slice name);

/* Add an entry that is not there. The caller has seen that it fits. */
void rung__hitters_append(rung_hitters *h, uint32_t tie, rung_slice name, uint64_t count,
                          uint64_t error);
bool rung__hitters_fits(const rung_hitters *h, size_t name_len);

/* Of two entries: <0 when a is the lighter, never 0 for different names. */
int rung__hitters_order(uint64_t a_count, uint32_t a_tie, rung_slice a_name, uint64_t b_count,
                        uint32_t b_tie, rung_slice b_name);

/* The heap in order, the lightest first: a sorted array is a heap. */
void rung__hitters_sort(rung_hitters *h);

#endif
