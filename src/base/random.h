/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - the port for random numbers, and the system's generator behind it. Any thread. */
#ifndef RUNG_BASE_RANDOM_H
#define RUNG_BASE_RANDOM_H

#include "base/hash.h"
#include "base/status.h"

#include <stddef.h>

typedef struct rung_random {
    rung_status (*fill)(void *ctx, void *bytes, size_t len, rung_err *err);
    void *ctx;
} rung_random;

/* Fill with unpredictable bytes. `r` may be NULL: the system's. RUNG_OK, or RUNG_EIO if the system has no entropy
 * source. */
RUNG_NODISCARD rung_status rung_random_fill(const rung_random *r, void *bytes, size_t len,
                                            rung_err *err);

/* A secret key for the hash tables. */
RUNG_NODISCARD static inline rung_status
rung_random_hash_key(const rung_random *r, rung_hash_key *key_out, rung_err *err) {
    return rung_random_fill(r, key_out, sizeof *key_out, err);
}

#endif
