/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a token; and any bytes as header and claims (a line break between them), signed so that the claims are
 * reached. What is accepted has a player, has not expired, and is refused once its signature is another. */
#include "base/assert.h"
#include "guard/jwt.h"
#include "support/token.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define NOW INT64_C(1794733290000)

static rung_keys *make_keys(void) {
    rung_key one = token_key("hs", RUNG_ALG_HS256), two = token_key("ed", RUNG_ALG_EDDSA);
    rung_keys *empty, *some, *keys;
    two.issuer = RUNG_SLICE("me");
    two.audience = RUNG_SLICE("rung");
    rung_status st = rung_keys_create(rung_alloc_heap(), (rung_slice){NULL, 0}, &empty, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_keys_add(empty, &one, &some, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_keys_add(some, &two, &keys, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    rung_keys_destroy(empty);
    rung_keys_destroy(some);
    return keys;
}

static bool verify(const rung_keys *keys, rung_slice token) {
    rung_jwt jwt;
    rung_err err = {0};
    rung_status st = rung_jwt_verify(keys, token, NOW, &jwt, &err);
    RUNG_ASSERT(st == RUNG_OK || (st == RUNG_EREFUSED && err.message[0]));
    if (st == RUNG_OK) {
        RUNG_ASSERT(rung_name_is_valid(rung_slice_of(jwt.player, jwt.player_len)));
        RUNG_ASSERT(jwt.expires_ms > NOW && jwt.key->role == RUNG_ROLE_PLAYER);
    }
    return st == RUNG_OK;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static rung_keys *keys; /* kept for all inputs: making one costs more than verifying */
    char buffer[TOKEN_SIZE];
    if (!keys)
        keys = make_keys();
    verify(keys, rung_slice_of(data, size));
    const unsigned char *line = size ? memchr(data, '\n', size) : NULL;
    if (!line || size > 3000)
        return 0;
    rung_slice header = rung_slice_of(data, (size_t)(line - data));
    rung_slice claims = rung_slice_of(line + 1, size - header.len - 1);
    for (int alg = RUNG_ALG_EDDSA; alg <= RUNG_ALG_HS256; alg++) {
        rung_slice token = token_make((rung_token_alg)alg, header, claims, buffer);
        if (verify(keys, token)) {
            char *last = buffer + token.len - 10;
            *last = *last == 'A' ? 'B' : 'A';
            RUNG_ASSERT(!verify(keys, token));
        }
    }
    return 0;
}
