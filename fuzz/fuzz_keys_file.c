/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of keys, as they are and with a right last line put behind them: refused with a reason, or a
 * table that survives being written, added to and revoked from. */
#include "base/assert.h"
#include "base/hash.h"
#include "guard/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_same(const rung_keys *a, const rung_keys *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const rung_key *x = rung_keys_at(a, i), *y = rung_keys_at(b, i);
        RUNG_ASSERT(rung_slice_eq(x->id, y->id) && x->role == y->role &&
                    x->pattern_count == y->pattern_count);
        RUNG_ASSERT(rung_slice_eq(x->verify, y->verify) && rung_slice_eq(x->label, y->label) &&
                    x->alg == y->alg);
        RUNG_ASSERT(x->expires_ms == y->expires_ms && x->created_ms == y->created_ms);
        RUNG_ASSERT(memcmp(x->hash, y->hash, sizeof x->hash) == 0);
        RUNG_ASSERT(rung_keys_find(a, x->id) == x);
        for (uint32_t p = 0; p < x->pattern_count; p++)
            RUNG_ASSERT(rung_slice_eq(x->patterns[p], y->patterns[p]));
    }
}

static void check_change(const rung_keys *keys) {
    size_t count = rung_keys_count(keys);
    rung_key key = {
        .role = RUNG_ROLE_READ, .id = RUNG_SLICE("fresh-key-of-the-fuzzer"), .created_ms = 1};
    rung_keys *more, *less;
    rung_status st = rung_keys_add(keys, &key, &more, NULL);
    if (st == RUNG_EEXIST || st == RUNG_ELIMIT)
        return;
    RUNG_ASSERT(st == RUNG_OK && rung_keys_count(more) == count + 1);
    check_same(keys, more, count);
    st = rung_keys_revoke(more, key.id, 5, &less, NULL);
    RUNG_ASSERT(st == RUNG_OK && !rung_key_is_live(rung_keys_find(less, key.id), 6));
    check_same(more, less, count);
    rung_keys_destroy(more);
    rung_keys_destroy(less);
}

static void try(rung_slice bytes) {
    rung_keys *keys, *again;
    rung_err err = {0};
    rung_status st = rung_keys_create(rung_alloc_heap(), bytes, &keys, &err);
    if (st < 0) {
        RUNG_ASSERT(err.message[0]);
        return;
    }
    st = rung_keys_create(rung_alloc_heap(), rung_keys_bytes(keys), &again, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    check_same(keys, again, rung_keys_count(keys));
    rung_keys_destroy(again);
    check_change(keys);
    for (size_t i = 0; i < rung_keys_count(keys); i++)
        (void)rung_key_covers(rung_keys_at(keys, i), RUNG_SLICE("aaaaaaaaaaaaaaaaaaaaaaaab"));
    rung_keys_destroy(keys);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    try(rung_slice_of(data, size));
    char *framed = malloc(size + 20);
    RUNG_ASSERT(framed);
    if (size)
        memcpy(framed, data, size);
    int tail = snprintf(framed + size, 20, "end %08x\n", rung_crc32c(0, framed, size));
    try(rung_slice_of(framed, size + (size_t)tail));
    free(framed);
    return 0;
}
