/* SPDX-License-Identifier: Apache-2.0 */
/* A check costs about as much as four hashes of a short text, and one of the body. */
#include "guard/signature.h"

#include "base/ascii.h"
#include "guard/base64url.h"
#include "model/calendar.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum { MAC_SIZE = RUNG_SIGNATURE_SIZE / 2, NUMBER_DIGITS_MAX = 19 };
/* The fixed lines, the numbers, the body's hash, and line feeds. */
enum { SIGNED_MAX = RUNG_SIGNED_TARGET_MAX + RUNG_SESSION_ID_SIZE + 256, METHOD_MAX = 32 };

_Static_assert(RUNG_BASE64URL_TEXT_SIZE(MAC_SIZE) == RUNG_SESSION_SECRET_SIZE, "");
_Static_assert(RUNG_BASE64URL_TEXT_SIZE(RUNG_SESSION_CHANCE_SIZE) == RUNG_SESSION_ID_SIZE, "");

/* ---- reading ---- */

/* Digits without a leading zero, up to INT64_MAX: one text for each number, since the text is what is signed. */
static bool read_number(rung_slice text, uint64_t *out) {
    uint64_t n = 0;
    if (text.len < 1 || text.len > NUMBER_DIGITS_MAX || text.ptr[0] == '0')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!rung_is_digit(text.ptr[i]))
            return false;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *out = n;
    return n <= INT64_MAX;
}

static bool read_mac(rung_slice text, uint8_t *mac) {
    if (text.len != RUNG_SIGNATURE_SIZE)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        int digit = c >= 'A' && c <= 'F' ? -1 : rung_hex_value(c);
        if (digit < 0)
            return false;
        mac[i / 2] = (uint8_t)((i % 2 ? mac[i / 2] << 4 : 0) | digit);
    }
    return true;
}

#define REFUSE(err, field, text)                                                                   \
    RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_SIGNATURE, field, text)

rung_status rung_signature_read(rung_slice session, rung_slice time, rung_slice nonce,
                                rung_slice signature, rung_signature *out, rung_err *err) {
    rung_signature s = {.session = session};
    uint64_t time_ms;
    if (!rung_session_id_is_valid(session))
        return REFUSE(err, "session", "expected the id of a session");
    if (!read_number(time, &time_ms) || time_ms >= (uint64_t)RUNG_TIME_MS_END)
        return REFUSE(err, "time", "expected Unix milliseconds");
    if (!read_number(nonce, &s.nonce))
        return REFUSE(err, "nonce", "expected a number from 1 to 2^63 - 1");
    if (!read_mac(signature, s.mac))
        return REFUSE(err, "signature", "expected 64 hexadecimal digits in lower case");
    s.time_ms = (int64_t)time_ms;
    *out = s;
    return RUNG_OK;
}

/* ---- secrets ---- */

void rung_session_id_make(const uint8_t chance[RUNG_SESSION_CHANCE_SIZE],
                          char id_out[RUNG_SESSION_ID_SIZE]) {
    rung_base64url_encode(rung_slice_of(chance, RUNG_SESSION_CHANCE_SIZE), id_out);
}

static bool hmac(rung_slice key, const char *text, size_t len, uint8_t mac[MAC_SIZE]) {
    unsigned size = 0;
    return HMAC(EVP_sha256(), key.ptr, (int)key.len, (const uint8_t *)text, len, mac, &size) &&
           size == MAC_SIZE;
}

bool rung_session_secret(const rung_key *key, rung_slice session, rung_slice player,
                         char secret_out[RUNG_SESSION_SECRET_SIZE]) {
    char text[32 + RUNG_SESSION_ID_SIZE + RUNG_NAME_MAX], *at = text;
    uint8_t mac[MAC_SIZE];
    if (session.len > RUNG_SESSION_ID_SIZE || player.len > RUNG_NAME_MAX)
        return false;
    rung_slice_put(&at, RUNG_SLICE("rung-session-1\n"));
    rung_slice_put(&at, session);
    rung_slice_put(&at, RUNG_SLICE("\n"));
    rung_slice_put(&at, player);
    bool is_done = hmac(key->verify, text, (size_t)(at - text), mac);
    if (is_done)
        rung_base64url_encode(rung_slice_of(mac, sizeof mac), secret_out);
    OPENSSL_cleanse(mac, sizeof mac);
    return is_done;
}

/* ---- checking ---- */

static void put_hex(char **at, const uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        *(*at)++ = "0123456789abcdef"[bytes[i] >> 4];
        *(*at)++ = "0123456789abcdef"[bytes[i] & 15];
    }
}

static void put_line(char **at, rung_slice text) {
    rung_slice_put(at, text);
    *(*at)++ = '\n';
}

bool rung_signature_matches(const rung_signature *s, const rung_signed_text *text,
                            const char secret[RUNG_SESSION_SECRET_SIZE]) {
    char lines[SIGNED_MAX], *at = lines, numbers[64];
    uint8_t hash[32], mac[MAC_SIZE];
    if (text->target.len > RUNG_SIGNED_TARGET_MAX || text->method.len > METHOD_MAX ||
        s->session.len > RUNG_SESSION_ID_SIZE ||
        EVP_Digest(text->body.ptr, text->body.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    put_line(&at, RUNG_SLICE("rung-signature-1"));
    put_line(&at, text->method);
    put_line(&at, text->target);
    put_hex(&at, hash, sizeof hash);
    put_line(&at, RUNG_SLICE(""));
    put_line(&at, s->session);
    int len = snprintf(numbers, sizeof numbers, "%lld\n%llu", (long long)s->time_ms,
                       (unsigned long long)s->nonce);
    rung_slice_put(&at, rung_slice_of(numbers, (size_t)len));
    return hmac(rung_slice_of(secret, RUNG_SESSION_SECRET_SIZE), lines, (size_t)(at - lines),
                mac) &&
           CRYPTO_memcmp(mac, s->mac, sizeof mac) == 0;
}
