/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: the good ones, and every way to be wrong that RFC 8725 warns of. */
#include "guard/jwt.h"
#include "support/check.h"
#include "support/token.h"

#define NOW_S  1794733290
#define NOW_MS (NOW_S * INT64_C(1000))
#define EXP    "\"exp\":1794733890" /* ten minutes ahead */

static rung_keys *table(const rung_key *keys, size_t count) {
    rung_keys *old, *new;
    CHECK_OK(rung_keys_create(rung_alloc_heap(), (rung_slice){NULL, 0}, &old, NULL));
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rung_keys_add(old, &keys[i], &new, NULL));
        rung_keys_destroy(old);
        old = new;
    }
    return old;
}

static rung_keys *two_keys(void) {
    rung_key keys[] = {token_key("ed", RUNG_ALG_EDDSA), token_key("hs", RUNG_ALG_HS256)};
    return table(keys, 2);
}

/* Sign and verify; on RUNG_OK the player is in `player`, otherwise the reason. */
static rung_status try(const rung_keys *keys, rung_token_alg alg, const char *header,
                       const char *claims, char text_out[256]) {
    char buffer[TOKEN_SIZE];
    rung_jwt jwt = {0};
    rung_err err = {0};
    rung_slice token = token_make(alg, rung_slice_str(header), rung_slice_str(claims), buffer);
    rung_status st = rung_jwt_verify(keys, token, NOW_MS, &jwt, &err);
    if (st == RUNG_OK)
        snprintf(text_out, 256, "%.*s", (int)jwt.player_len, jwt.player);
    else
        snprintf(text_out, 256, "%s", err.message);
    return st;
}

static void check_good(const rung_keys *keys, rung_token_alg alg, const char *header,
                       const char *claims, const char *player) {
    char text[256];
    rung_status st = try(keys, alg, header, claims, text);
    CHECK_MSG(st == RUNG_OK, "%s for %s %s", text, header, claims);
    CHECK_EQ_STR(text, player);
}

static void check_bad(const rung_keys *keys, rung_token_alg alg, const char *header,
                      const char *claims, const char *reason) {
    char text[256];
    rung_status st = try(keys, alg, header, claims, text);
    CHECK_MSG(st == RUNG_EREFUSED, "accepted: %s %s", header, claims);
    CHECK_MSG(strncmp(text, "token: ", 7) == 0 && strstr(text, reason),
              "\"%s\" is not in \"%s\" for %s %s", reason, text, header, claims);
}

#define HS "{\"alg\":\"HS256\",\"kid\":\"hs\"}"
#define ED "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}"

TEST(good_tokens) {
    rung_keys *keys = two_keys();
    check_good(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\"," EXP "}", "ada");
    check_good(keys, RUNG_ALG_EDDSA, ED, "{\"sub\":\"ada\"," EXP "}", "ada");
    check_good(keys, RUNG_ALG_EDDSA,
               "{\"kid\":\"ed\",\"typ\":\"JWT\",\"alg\":\"EdDSA\",\"other\":{\"x\":[1]}}",
               "{\"iat\":1794733289.75," EXP
               ",\"nbf\":1,\"sub\":\"gr\\u00f6\\u00dfe\",\"scope\":\"x\"}",
               "größe");
    check_good(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"hs\",\"typ\":\"at+JWT\"}",
               " {\"sub\" : \"a b\" , \"exp\" : 17947338900e-1 } ", "a b");
    rung_keys_destroy(keys);
}

TEST(a_token_made_elsewhere) {
    rung_key key = token_key("hs", RUNG_ALG_HS256);
    rung_keys *keys = table(&key, 1);
    rung_jwt jwt;
    /* python3: hmac over base64url of {"alg":"HS256"} and {"sub":"ada","exp":1794733890} */
    rung_slice token = RUNG_SLICE("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjE3OTQ3MzM4OTB9."
                                  "l-OAfwF0XoohrMgKvRZs8L4la9hCmZprPEh8Vlzf73M");
    CHECK_OK(rung_jwt_verify(keys, token, NOW_MS, &jwt, NULL));
    CHECK_EQ_U64(jwt.player_len, 3);
    CHECK_EQ_I64(jwt.expires_ms, (1794733890 + RUNG_JWT_SKEW_S) * INT64_C(1000));
    CHECK_EQ_PTR(jwt.key, rung_keys_at(keys, 0));
    rung_keys_destroy(keys);
}

TEST(times) {
    rung_keys *keys = two_keys();
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\"}", "no exp");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":1794733230}", "expired");
    check_good(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":1794733231}", "ada");
    check_good(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":1794819750}", "ada");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":1794819751}",
              "exp is more than 86400");
    check_good(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"nbf\":1794733350," EXP "}", "ada");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"nbf\":1794733351," EXP "}",
              "not valid yet");
    check_good(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"iat\":1794733350," EXP "}", "ada");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"iat\":1794733351," EXP "}", "future");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":\"1794733890\"}", "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":-1}", "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":1e300}", "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":9007199254740993}",
              "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"exp\":null}", "right types");
    rung_keys_destroy(keys);
}

TEST(issuer_audience_and_life) {
    rung_key key = token_key("hs", RUNG_ALG_HS256);
    key.issuer = RUNG_SLICE("me");
    key.audience = RUNG_SLICE("rung");
    key.life_max_s = 60;
    rung_keys *keys = table(&key, 1);
#define SHORT "\"sub\":\"ada\",\"exp\":1794733300"
    check_good(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":\"rung\"," SHORT "}", "ada");
    check_good(keys, RUNG_ALG_HS256, HS,
               "{\"iss\":\"me\",\"aud\":[\"a\",\"rung\",\"b\"]," SHORT "}", "ada");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"you\",\"aud\":\"rung\"," SHORT "}", "iss");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"aud\":\"rung\"," SHORT "}", "iss");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":\"Rung\"," SHORT "}", "aud");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":[]," SHORT "}", "aud");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\"," SHORT "}", "aud");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":[\"rung\",1]," SHORT "}",
              "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":{\"rung\":1}," SHORT "}",
              "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"me\",\"aud\":\"rung\",\"sub\":\"ada\"," EXP "}",
              "more than 60");
    rung_keys_destroy(keys);
    keys = two_keys();
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"aud\":\"somebody\",\"sub\":\"ada\"," EXP "}", "aud");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"aud\":\"\",\"sub\":\"ada\"," EXP "}", "aud");
    check_good(keys, RUNG_ALG_HS256, HS, "{\"iss\":\"anybody\",\"sub\":\"ada\"," EXP "}", "ada");
    rung_keys_destroy(keys);
}

TEST(players) {
    rung_keys *keys = two_keys();
    char claims[600], name[140];
    memset(name, 'x', sizeof name);
    check_bad(keys, RUNG_ALG_HS256, HS, "{" EXP "}", "sub");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"\"," EXP "}", "sub");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"a\\u0000b\"," EXP "}", "sub");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"a\\nb\"," EXP "}", "sub");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":7," EXP "}", "right types");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":[\"ada\"]," EXP "}", "right types");
    snprintf(claims, sizeof claims, "{\"sub\":\"%.128s\"," EXP "}", name);
    char text[256];
    CHECK_OK(try(keys, RUNG_ALG_HS256, HS, claims, text));
    snprintf(claims, sizeof claims, "{\"sub\":\"%.129s\"," EXP "}", name);
    check_bad(keys, RUNG_ALG_HS256, HS, claims, "sub");
    rung_keys_destroy(keys);
}

#define ADA "{\"sub\":\"ada\"," EXP "}"

TEST(the_algorithm_is_the_keys) {
    rung_keys *keys = two_keys();
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"none\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"None\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"hs256\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS512\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"EdDSA\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"ed\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_EDDSA, "{\"alg\":\"EdDSA\",\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"kid\":\"hs\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"other\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"\"}", ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\"}", ADA,
              "signature"); /* there are two: which? */
    rung_keys_destroy(keys);
}

/* The old trick: the public key, which everybody knows, as the HMAC secret. */
TEST(a_public_key_is_no_secret) {
    rung_key key = token_key("ed", RUNG_ALG_EDDSA);
    rung_keys *keys = table(&key, 1);
    char buffer[TOKEN_SIZE], tail[64];
    uint8_t mac[64];
    unsigned mac_len;
    size_t len = rung_base64url_encode(RUNG_SLICE("{\"alg\":\"HS256\",\"kid\":\"ed\"}"), buffer);
    buffer[len++] = '.';
    len += rung_base64url_encode(RUNG_SLICE(ADA), buffer + len);
    HMAC(EVP_sha256(), token_eddsa_public, 32, (uint8_t *)buffer, len, mac, &mac_len);
    size_t tail_len = rung_base64url_encode(rung_slice_of(mac, mac_len), tail);
    buffer[len++] = '.';
    memcpy(buffer + len, tail, tail_len);
    rung_jwt jwt;
    CHECK_STATUS(rung_jwt_verify(keys, rung_slice_of(buffer, len + tail_len), NOW_MS, &jwt, NULL),
                 RUNG_EREFUSED);
    rung_keys_destroy(keys);
}

TEST(headers_that_ask_for_more) {
    rung_keys *keys = two_keys();
    static const char *const more[] = {
        "\"crit\":[]",   "\"crit\":[\"exp\"]", "\"jku\":\"https://x\"", "\"jwk\":{}",
        "\"x5u\":\"\"",  "\"x5c\":[]",         "\"enc\":\"A128GCM\"",   "\"zip\":\"DEF\"",
        "\"b64\":false", "\"typ\":\"JWE\"",    "\"typ\":\"\"",          "\"typ\":\"logout+jwt\"",
    };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char header[128];
        snprintf(header, sizeof header, "{\"alg\":\"HS256\",\"kid\":\"hs\",%s}", more[i]);
        check_bad(keys, RUNG_ALG_HS256, header, ADA, "header");
    }
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"hs\",\"alg\":\"HS256\"}", ADA,
              "header");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":7}", ADA, "header");
    check_bad(keys, RUNG_ALG_HS256, "[]", ADA, "header");
    check_bad(keys, RUNG_ALG_HS256, HS " x", ADA, "header");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\",\"kid\":\"hs\",\"x\":\"\xff\"}", ADA,
              "header");
    rung_keys_destroy(keys);
}

TEST(claims_twice_are_refused) {
    rung_keys *keys = two_keys();
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"sub\":\"bob\"," EXP "}", "claims");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\"," EXP "," EXP "}", "claims");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\",\"\\u0073ub\":\"bob\"," EXP "}",
              "claims");
    check_bad(keys, RUNG_ALG_HS256, HS, "{\"sub\":\"ada\"," EXP ",\"x\":{\"y\":1,\"y\":2}}",
              "claims");
    check_bad(keys, RUNG_ALG_HS256, HS, "\"sub\"", "claims");
    check_bad(keys, RUNG_ALG_HS256, HS, ADA ADA, "claims");
    rung_keys_destroy(keys);
}

TEST(keys_that_are_no_longer_live) {
    rung_key keys[] = {token_key("ed", RUNG_ALG_EDDSA), token_key("hs", RUNG_ALG_HS256)};
    keys[0].revoked_ms = NOW_MS - 1;
    rung_keys *t = table(keys, 2);
    check_bad(t, RUNG_ALG_EDDSA, ED, ADA, "signature");
    check_good(t, RUNG_ALG_HS256, "{\"alg\":\"HS256\"}", ADA,
               "ada"); /* the only one that is live */
    rung_keys_destroy(t);
    keys[1].expires_ms = NOW_MS;
    t = table(keys, 2);
    check_bad(t, RUNG_ALG_HS256, HS, ADA, "signature");
    check_bad(t, RUNG_ALG_HS256, "{\"alg\":\"HS256\"}", ADA, "signature");
    rung_keys_destroy(t);
}

TEST(an_api_key_verifies_no_token) {
    rung_key key = {.role = RUNG_ROLE_ADMIN, .id = RUNG_SLICE("hs"), .created_ms = 1};
    rung_keys *keys = table(&key, 1);
    check_bad(keys, RUNG_ALG_HS256, HS, ADA, "signature");
    check_bad(keys, RUNG_ALG_HS256, "{\"alg\":\"HS256\"}", ADA, "signature");
    rung_keys_destroy(keys);
}

TEST(every_changed_character_is_refused) {
    rung_keys *keys = two_keys();
    char buffer[TOKEN_SIZE];
    rung_jwt jwt;
    for (int alg = RUNG_ALG_EDDSA; alg <= RUNG_ALG_HS256; alg++) {
        rung_slice token =
            token_make((rung_token_alg)alg, alg == RUNG_ALG_EDDSA ? RUNG_SLICE(ED) : RUNG_SLICE(HS),
                       RUNG_SLICE(ADA), buffer);
        CHECK_OK(rung_jwt_verify(keys, token, NOW_MS, &jwt, NULL));
        for (size_t i = 0; i < token.len; i++)
            for (const char *c = "A_.=a9 "; *c; c++) {
                char old = buffer[i];
                if (old == *c)
                    continue;
                buffer[i] = *c;
                CHECK_STATUS(rung_jwt_verify(keys, token, NOW_MS, &jwt, NULL), RUNG_EREFUSED);
                buffer[i] = old;
            }
        for (size_t len = 0; len < token.len; len++)
            CHECK_STATUS(rung_jwt_verify(keys, rung_slice_of(buffer, len), NOW_MS, &jwt, NULL),
                         RUNG_EREFUSED);
        buffer[token.len] = '.';
        CHECK_STATUS(
            rung_jwt_verify(keys, rung_slice_of(buffer, token.len + 1), NOW_MS, &jwt, NULL),
            RUNG_EREFUSED);
        buffer[token.len] = '=';
        CHECK_STATUS(
            rung_jwt_verify(keys, rung_slice_of(buffer, token.len + 1), NOW_MS, &jwt, NULL),
            RUNG_EREFUSED);
    }
    rung_keys_destroy(keys);
}

TEST(too_long) {
    rung_keys *keys = two_keys();
    static char claims[6000];
    char text[256];
    int len = snprintf(claims, sizeof claims, "{\"sub\":\"ada\"," EXP ",\"x\":\"");
    memset(claims + len, 'x', 2850);
    snprintf(claims + len + 2850, 8, "\"}");
    CHECK_OK(try(keys, RUNG_ALG_HS256, HS, claims, text));
    memset(claims + len, 'x', 3200);
    snprintf(claims + len + 3200, 8, "\"}");
    check_bad(keys, RUNG_ALG_HS256, HS, claims, "longer than 4096");
    rung_keys_destroy(keys);
}

RUNG_TEST_MAIN
