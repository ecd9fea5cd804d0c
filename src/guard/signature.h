/* SPDX-License-Identifier: Apache-2.0 */
/* signature.h - what a player signs with the secret of a session, and the check of it.
 *
 * The secret is derived, not stored: HMAC-SHA-256 of the session's id and player, by a key of the server (guard/keys.h,
 * RUNG_ALG_SESSION), as text in base64url. So every server with that key knows it, and neither log nor snapshot
 * gives it away. The signature is the HMAC-SHA-256, by the bytes of that text, of seven lines without a line feed
 * after the last:
 *
 *     rung-signature-1
 *     POST                                   the method
 *     /v1/boards/race/scores                 the target: path and query as sent
 *     e3b0c44298fc1c149afbf4c8996fb924...    SHA-256 of the body, 64 hexadecimal digits in lower case
 *     mh0Jv3nqSIm2o1pZbD4xWg                 the session
 *     1794733290000                          the time, Unix milliseconds
 *     1                                      the nonce, 1 to 2^63 - 1
 *
 * Pure except for OpenSSL. Any thread. */
#ifndef RUNG_GUARD_SIGNATURE_H
#define RUNG_GUARD_SIGNATURE_H

#include "base/slice.h"
#include "base/status.h"
#include "guard/keys.h"
#include "model/event.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_SESSION_CHANCE_SIZE 16 /* random bytes of a new id */
#define RUNG_SESSION_SECRET_SIZE 43 /* characters */
#define RUNG_SIGNED_TARGET_MAX   1024
#define RUNG_SIGNATURE_SIZE      64 /* hexadecimal digits, in lower case */

typedef struct rung_signature {
    rung_slice session;
    int64_t time_ms;
    uint64_t nonce;
    uint8_t mac[RUNG_SIGNATURE_SIZE / 2];
} rung_signature;

/* What was signed, but for the fields of the signature itself. */
typedef struct rung_signed_text {
    rung_slice method, target, body;
} rung_signed_text;

/* Read the four fields as they were sent; `session` borrows. RUNG_EREFUSED with RUNG_REASON_SIGNATURE names the one
 * that is missing or not valid. */
RUNG_NODISCARD rung_status rung_signature_read(rung_slice session, rung_slice time,
                                               rung_slice nonce, rung_slice signature,
                                               rung_signature *out, rung_err *err);

/* The id of a new session, from random bytes. */
void rung_session_id_make(const uint8_t chance[RUNG_SESSION_CHANCE_SIZE],
                          char id_out[RUNG_SESSION_ID_SIZE]);

/* The secret of a session, as text without a NUL: wipe it after use. false: OpenSSL failed. */
bool rung_session_secret(const rung_key *key, rung_slice session, rung_slice player,
                         char secret_out[RUNG_SESSION_SECRET_SIZE]);

/* Is it the signature of this text? In the same time whether it is or not. false, too, if the target is longer than
 * RUNG_SIGNED_TARGET_MAX. */
bool rung_signature_matches(const rung_signature *s, const rung_signed_text *text,
                            const char secret[RUNG_SESSION_SECRET_SIZE]);

#endif
