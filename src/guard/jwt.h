/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h - a player's token: is it genuine, for us, in its time, and whose is it?
 *
 * A JWT in compact form (RFC 7519), held to RFC 8725: the algorithm is the key's and never the token's, so `none` and
 * a public key used as an HMAC secret cannot happen; `kid` only chooses among our own keys; anything doubtful (a claim
 * twice, padding in base64, `crit`, more than 4 KiB) is refused.
 *
 *   header   alg (must be the key's), kid (may be left out when there is exactly one player-token key that is live),
 *            typ (if there: JWT or at+jwt); others are passed over, but crit, jku, jwk, x5u and x5c are refused
 *   claims   exp needed; nbf and iat not in the future; sub needed: the player, a valid name;
 *            iss and aud must be the key's where the key has one; a token for an audience is refused where it has none
 *
 * What can be refused without a look at the signature, which costs 100 times as much as everything else, is: also a
 * token that says itself that it has expired.
 *
 * Clocks may differ by RUNG_JWT_SKEW_S. Times are whole or fractional seconds. Pure but for OpenSSL. Any thread. */
#ifndef RUNG_GUARD_JWT_H
#define RUNG_GUARD_JWT_H

#include "base/slice.h"
#include "base/status.h"
#include "guard/keys.h"
#include "model/board.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_JWT_SIZE_MAX   4096
#define RUNG_JWT_SKEW_S     60
#define RUNG_JWT_LIFE_MAX_S 86400 /* when the key says nothing */

typedef struct rung_jwt {
    const rung_key *key; /* that verified it; lives with the table */
    int64_t expires_ms;  /* exp with the skew: from here on it is refused */
    bool is_costly;      /* its signature was verified, or tried: set also when it is refused */
    size_t player_len;
    char player[RUNG_NAME_MAX];
} rung_jwt;

/* RUNG_OK; RUNG_EREFUSED with the reason in `err`, fit to be shown to the sender (before the signature is verified it
 * says nothing about our keys); RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_jwt_verify(const rung_keys *keys, rung_slice token, int64_t now_ms,
                                           rung_jwt *jwt_out, rung_err *err);

#endif
