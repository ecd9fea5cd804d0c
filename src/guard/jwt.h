/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h - verify a player's token: is it genuine, meant for this server, valid now, and whose is it?
 *
 * A JWT in compact form (RFC 7519), checked according to RFC 8725. The key determines the algorithm, never the token,
 * so `none` and a public key used as an HMAC secret are impossible. `kid` only selects one of our own keys. Anything
 * doubtful (a repeated claim, base64 padding, `crit`, more than 4 KiB) is refused.
 *
 *   header   alg (must be the key's), kid (optional if exactly one player-token key is live),
 *            typ (if present: JWT or at+jwt); crit, jku, jwk, x5u and x5c are refused, others ignored
 *   claims   exp required; nbf and iat not in the future; sub required: the player, a valid name;
 *            iss and aud must equal the key's if the key has them; a token with aud is refused if the key has none
 *
 * Verifying the signature costs 100 times as much as everything else. So a token that can be refused without it is
 * refused first, including one whose own exp has passed.
 *
 * Clocks may differ by RUNG_JWT_SKEW_S. Times are whole or fractional seconds. Pure except for OpenSSL. Any thread. */
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
#define RUNG_JWT_LIFE_MAX_S 86400 /* unless the key sets a limit */

typedef struct rung_jwt {
    const rung_key *key; /* the key that verified it; lives with the table */
    int64_t expires_ms;  /* exp plus the skew: refused from here on */
    bool is_costly;      /* a signature was checked, even if the token was refused */
    size_t player_len;
    char player[RUNG_NAME_MAX];
} rung_jwt;

/* RUNG_OK; RUNG_EREFUSED with a reason in `err` that may be shown to the sender (before the signature is verified it
 * reveals nothing about our keys); RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_jwt_verify(const rung_keys *keys, rung_slice token, int64_t now_ms,
                                           rung_jwt *jwt_out, rung_err *err);

#endif
