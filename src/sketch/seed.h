/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h - the key of a sketch's hash, from its seed. Private to the room. */
#ifndef RUNG_SKETCH_SEED_H
#define RUNG_SKETCH_SEED_H

#include "base/hash.h"

static inline rung_hash_key rung__sketch_key(uint64_t seed) {
    return (rung_hash_key){rung_hash_word(seed + 1), rung_hash_word(~seed)};
}

#endif
