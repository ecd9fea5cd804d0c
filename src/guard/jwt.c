/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.c - header, key, signature, claims, in that order: no claim is trusted before the signature is verified.
 *
 *     base64url(header) . base64url(claims) . base64url(signature)
 *     '------------- signed ------------'
 *
 * Before the signature is verified every refusal has the same text, except for a malformed token, whose form its
 * sender knows anyway. */
#include "guard/jwt.h"

#include "codec/json_reader.h"
#include "guard/base64url.h"
#include "model/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <strings.h>

enum {
    PART_MAX = RUNG_BASE64URL_BYTES_MAX(RUNG_JWT_SIZE_MAX),
    SIGNATURE_MAX = 64,
    HS256_SIZE = 32
};

#define REFUSE(err, ...)                                                                           \
    RUNG_FAIL_FIELD_WHY((err), RUNG_EREFUSED, RUNG_REASON_UNAUTHORIZED, "token", __VA_ARGS__)
#define NOT_GENUINE(err) REFUSE((err), "its signature is not from a key known here")

typedef struct parts {
    rung_slice header, claims, signature; /* as text */
    rung_slice is_signed;                 /* header, dot, claims */
} parts;

static bool split(rung_slice token, parts *p) {
    const char *stop = token.ptr + token.len;
    const char *first = token.len ? memchr(token.ptr, '.', token.len) : NULL;
    const char *second = first ? memchr(first + 1, '.', (size_t)(stop - first - 1)) : NULL;
    if (!second || memchr(second + 1, '.', (size_t)(stop - second - 1)))
        return false;
    p->header = rung_slice_of(token.ptr, (size_t)(first - token.ptr));
    p->claims = rung_slice_of(first + 1, (size_t)(second - first - 1));
    p->signature = rung_slice_of(second + 1, (size_t)(stop - second - 1));
    p->is_signed = rung_slice_of(token.ptr, (size_t)(second - token.ptr));
    return p->header.len && p->claims.len && p->signature.len;
}

/* ---- header ---- */

typedef struct header {
    rung_slice alg, kid, typ; /* ptr NULL: not there */
    bool is_foreign;          /* asks for a feature that we do not support */
} header;

static rung_status read_header(rung_json *r, header *h) {
    static const char *const refused[] = {"crit", "jku", "jwk", "x5u", "x5c", "enc", "zip", "b64"};
    rung_slice key;
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK) {
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
            h->is_foreign |= rung_slice_eq(key, rung_slice_str(refused[i]));
        if (rung_slice_eq(key, RUNG_SLICE("alg")))
            st = rung_json_string(r, &h->alg);
        else if (rung_slice_eq(key, RUNG_SLICE("kid")))
            st = rung_json_string(r, &h->kid);
        else if (rung_slice_eq(key, RUNG_SLICE("typ")))
            st = rung_json_string(r, &h->typ);
        else
            st = rung_json_skip(r, NULL);
    }
    return rung_json_end(r);
}

/* Types are compared case-insensitively (RFC 7515, 4.1.9). */
static bool is_type(rung_slice typ, const char *name) {
    return typ.len == strlen(name) && strncasecmp(typ.ptr, name, typ.len) == 0;
}

/* The key of sessions is no key of tokens, whatever a token says. */
static bool verifies_tokens(const rung_key *key) {
    return key->role == RUNG_ROLE_PLAYER && key->alg != RUNG_ALG_SESSION;
}

/* The one player-token key that is live; NULL when there are none or several. */
static const rung_key *only_key(const rung_keys *keys, int64_t now_ms) {
    const rung_key *only = NULL;
    for (size_t i = 0; i < rung_keys_count(keys); i++) {
        const rung_key *key = rung_keys_at(keys, i);
        if (!verifies_tokens(key) || !rung_key_is_live(key, now_ms))
            continue;
        if (only)
            return NULL;
        only = key;
    }
    return only;
}

static const rung_key *choose_key(const rung_keys *keys, const header *h, int64_t now_ms) {
    const rung_key *key = h->kid.ptr ? rung_keys_find(keys, h->kid) : only_key(keys, now_ms);
    if (!key || !verifies_tokens(key) || !rung_key_is_live(key, now_ms))
        return NULL;
    return rung_slice_eq(h->alg, rung_slice_str(rung_alg_name(key->alg))) ? key : NULL;
}

/* ---- signature ---- */

static rung_status verify_eddsa(const rung_key *key, rung_slice text, rung_slice signature) {
    rung_status st = RUNG_ENOMEM;
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
                                                 (const uint8_t *)key->verify.ptr, key->verify.len);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (pkey && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1)
        st = EVP_DigestVerify(ctx, (const uint8_t *)signature.ptr, signature.len,
                              (const uint8_t *)text.ptr, text.len) == 1
                 ? RUNG_OK
                 : RUNG_EREFUSED;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);
    return st;
}

static rung_status verify_hs256(const rung_key *key, rung_slice text, rung_slice signature) {
    uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!HMAC(EVP_sha256(), key->verify.ptr, (int)key->verify.len, (const uint8_t *)text.ptr,
              text.len, mac, &len))
        return RUNG_ENOMEM;
    bool is_equal =
        len == HS256_SIZE && signature.len == len && CRYPTO_memcmp(mac, signature.ptr, len) == 0;
    OPENSSL_cleanse(mac, sizeof mac);
    return is_equal ? RUNG_OK : RUNG_EREFUSED;
}

static rung_status verify_signature(const rung_key *key, const parts *p, rung_err *err) {
    uint8_t bytes[SIGNATURE_MAX];
    size_t len = 0;
    if (p->signature.len > RUNG_BASE64URL_TEXT_SIZE(SIGNATURE_MAX) ||
        !rung_base64url_decode(p->signature, bytes, &len))
        return NOT_GENUINE(err);
    rung_slice signature = rung_slice_of(bytes, len);
    rung_status st = key->alg == RUNG_ALG_EDDSA ? verify_eddsa(key, p->is_signed, signature)
                                                : verify_hs256(key, p->is_signed, signature);
    if (st == RUNG_ENOMEM)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to verify a token");
    return st < 0 ? NOT_GENUINE(err) : RUNG_OK;
}

/* ---- claims ---- */

typedef struct claims {
    rung_slice iss, sub;            /* ptr NULL: not there */
    int64_t exp_ms, nbf_ms, iat_ms; /* -1: not there */
    bool has_audience, is_for_us;
} claims;

/* A NumericDate: seconds since 1970, also with a fraction; up to the year 9999. */
static rung_status read_date(rung_json *r, int64_t *ms_out) {
    rung_slice number;
    double seconds = 0;
    rung_status st = rung_json_number(r, &number);
    if (st < 0)
        return st;
    if (rung_text_parse_real(number, &seconds, NULL) < 0 ||
        !(seconds >= 0 && seconds < 253402300800.0))
        return rung_json_refuse(r, RUNG_EINVAL, "expected seconds since 1970");
    *ms_out = (int64_t)(seconds * 1000);
    return RUNG_OK;
}

static rung_status read_audience(rung_json *r, rung_slice wanted, claims *c) {
    rung_slice one;
    rung_status st;
    c->has_audience = true;
    if (rung_json_peek(r) == RUNG_JSON_STRING) {
        st = rung_json_string(r, &one);
        c->is_for_us = st == RUNG_OK && rung_slice_eq(one, wanted);
        return st;
    }
    st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &one);
        c->is_for_us |= st == RUNG_OK && rung_slice_eq(one, wanted);
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_claims(rung_json *r, const rung_key *verifier, claims *c) {
    rung_slice key;
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK) {
        if (rung_slice_eq(key, RUNG_SLICE("exp")))
            st = read_date(r, &c->exp_ms);
        else if (rung_slice_eq(key, RUNG_SLICE("nbf")))
            st = read_date(r, &c->nbf_ms);
        else if (rung_slice_eq(key, RUNG_SLICE("iat")))
            st = read_date(r, &c->iat_ms);
        else if (rung_slice_eq(key, RUNG_SLICE("sub")))
            st = rung_json_string(r, &c->sub);
        else if (rung_slice_eq(key, RUNG_SLICE("iss")))
            st = rung_json_string(r, &c->iss);
        else if (rung_slice_eq(key, RUNG_SLICE("aud")))
            st = read_audience(r, verifier->audience, c);
        else
            st = rung_json_skip(r, NULL);
    }
    return rung_json_end(r);
}

static bool has_expired(const claims *c, int64_t now_ms) {
    return c->exp_ms >= 0 && now_ms >= c->exp_ms + RUNG_JWT_SKEW_S * 1000;
}

static rung_status check_times(const claims *c, const rung_key *key, int64_t now_ms,
                               rung_err *err) {
    const int64_t skew_ms = RUNG_JWT_SKEW_S * 1000;
    int64_t life_ms = (int64_t)(key->life_max_s ? key->life_max_s : RUNG_JWT_LIFE_MAX_S) * 1000;
    if (c->exp_ms < 0)
        return REFUSE(err, "it has no exp");
    if (c->exp_ms - now_ms > life_ms + skew_ms)
        return REFUSE(err, "exp is more than %lld seconds ahead, the longest that its key allows",
                      (long long)(life_ms / 1000));
    if (c->nbf_ms > now_ms + skew_ms)
        return REFUSE(err, "it is not valid yet (nbf)");
    if (c->iat_ms > now_ms + skew_ms)
        return REFUSE(err, "it was issued in the future (iat)");
    return RUNG_OK;
}

static rung_status check_claims(const claims *c, const rung_key *key, int64_t now_ms,
                                rung_err *err) {
    rung_status st = check_times(c, key, now_ms, err);
    if (st < 0)
        return st;
    if (key->issuer.len && !(c->iss.ptr && rung_slice_eq(c->iss, key->issuer)))
        return REFUSE(err, "iss is not the issuer expected");
    if (key->audience.len ? !c->is_for_us : c->has_audience)
        return REFUSE(err, "aud is not the audience expected");
    if (!c->sub.ptr || !rung_name_is_valid(c->sub))
        return REFUSE(err,
                      "sub: expected a player, 1 to %d bytes of UTF-8 without control characters",
                      RUNG_NAME_MAX);
    return RUNG_OK;
}

/* ---- all of it ---- */

rung_status rung_jwt_verify(const rung_keys *keys, rung_slice token, int64_t now_ms,
                            rung_jwt *jwt_out, rung_err *err) {
    parts p;
    header h = {0};
    claims c = {.exp_ms = -1, .nbf_ms = -1, .iat_ms = -1};
    char header_text[PART_MAX], claims_text[PART_MAX];
    size_t header_len = 0, claims_len = 0;
    rung_json r;

    jwt_out->is_costly = false;
    if (token.len > RUNG_JWT_SIZE_MAX)
        return REFUSE(err, "longer than %d bytes", RUNG_JWT_SIZE_MAX);
    if (!split(token, &p) ||
        !rung_base64url_decode(p.header, (uint8_t *)header_text, &header_len) ||
        !rung_base64url_decode(p.claims, (uint8_t *)claims_text, &claims_len))
        return REFUSE(err, "expected three parts in base64url, without padding");
    rung_json_init(&r, header_text, header_len, NULL);
    if (read_header(&r, &h) < 0)
        return REFUSE(err, "its header is not valid JSON");
    if (h.is_foreign || (h.typ.ptr && !is_type(h.typ, "jwt") && !is_type(h.typ, "at+jwt")))
        return REFUSE(err, "its header asks for an unsupported feature");
    const rung_key *key = choose_key(keys, &h, now_ms);
    if (!key)
        return NOT_GENUINE(err);
    rung_json_init(&r, claims_text, claims_len, NULL);
    bool has_claims = read_claims(&r, key, &c) >= 0;
    if (has_claims && has_expired(&c, now_ms))
        return REFUSE(err, "it has expired");
    jwt_out->is_costly = true;
    rung_status st = verify_signature(key, &p, err);
    if (st < 0)
        return st;
    if (!has_claims)
        return REFUSE(err, "its claims are not valid JSON of the right types");
    st = check_claims(&c, key, now_ms, err);
    if (st < 0)
        return st;
    *jwt_out = (rung_jwt){.key = key,
                          .expires_ms = c.exp_ms + RUNG_JWT_SKEW_S * 1000,
                          .is_costly = true,
                          .player_len = c.sub.len};
    memcpy(jwt_out->player, c.sub.ptr, c.sub.len);
    return RUNG_OK;
}
