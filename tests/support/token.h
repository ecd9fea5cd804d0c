/* SPDX-License-Identifier: Apache-2.0 */
/* token.h - players' tokens for tests: signed as an issuer would, or wrong in a chosen way.
 *
 * The Ed25519 key is that of RFC 8037, appendix A.1. */
#ifndef RUNG_TESTS_TOKEN_H
#define RUNG_TESTS_TOKEN_H

#include "guard/base64url.h"
#include "guard/keys.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_SIZE 8192

static const char token_hs256_secret[] = "0123456789abcdef0123456789abcdef";

static const uint8_t token_eddsa_private[32] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};
static const uint8_t token_eddsa_public[32] = {
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
    0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};

static inline rung_key token_key(const char *id, rung_token_alg alg) {
    return (rung_key){
        .role = RUNG_ROLE_PLAYER,
        .id = rung_slice_str(id),
        .created_ms = 1,
        .alg = alg,
        .verify = alg == RUNG_ALG_EDDSA ? rung_slice_of(token_eddsa_public, 32)
                                        : rung_slice_str(token_hs256_secret),
    };
}

static inline size_t token_signature(rung_token_alg alg, const char *text, size_t len,
                                     uint8_t out[64]) {
    size_t size = 64;
    if (alg == RUNG_ALG_HS256) {
        unsigned mac_len = 0;
        HMAC(EVP_sha256(), token_hs256_secret, (int)strlen(token_hs256_secret),
             (const uint8_t *)text, len, out, &mac_len);
        return mac_len;
    }
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, token_eddsa_private, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(ctx, out, &size, (const uint8_t *)text, len) != 1)
        abort();
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return size;
}

/* header.claims.signature, signed with our key of that algorithm whatever the header says. */
static inline rung_slice token_make(rung_token_alg alg, rung_slice header, rung_slice claims,
                                    char out[TOKEN_SIZE]) {
    uint8_t signature[64];
    size_t len = rung_base64url_encode(header, out);
    out[len++] = '.';
    len += rung_base64url_encode(claims, out + len);
    size_t size = token_signature(alg, out, len, signature);
    out[len++] = '.';
    len += rung_base64url_encode(rung_slice_of(signature, size), out + len);
    return rung_slice_of(out, len);
}

#endif
