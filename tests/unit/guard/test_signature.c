/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: vectors computed by Python's hmac, every part altered in turn, and fields that are not valid. */
#include "guard/signature.h"
#include "support/check.h"

#include <string.h>

#define SESSION "mh0Jv3nqSIm2o1pZbD4xWg"
#define TARGET  "/v1/boards/race/scores"
#define BODY    "{\"player\":\"ada\",\"score\":5}"
#define TIME    "1794733290000"
#define NONCE   "7"
#define MAC     "f389e8f37e17f25897cc6558be45e9b31a2bdab28c51d8ee9d661ad3e5052c1a"

static rung_key master(void) {
    rung_key key = {.role = RUNG_ROLE_PLAYER, .alg = RUNG_ALG_SESSION};
    key.verify = RUNG_SLICE("0123456789abcdef0123456789abcdef");
    return key;
}

static rung_status read_fields(const char *session, const char *time, const char *nonce,
                               const char *signature, rung_signature *out, rung_err *err) {
    return rung_signature_read(rung_slice_str(session), rung_slice_str(time), rung_slice_str(nonce),
                               rung_slice_str(signature), out, err);
}

static const rung_signed_text SENT = {
    {"POST", 4}, {TARGET, sizeof TARGET - 1}, {BODY, sizeof BODY - 1}};

TEST(vectors) {
    char secret[RUNG_SESSION_SECRET_SIZE], id[RUNG_SESSION_ID_SIZE + 1] = "";
    rung_signature s;
    rung_key key = master();
    /* hmac.new(b"0123456789abcdef" * 2, b"rung-session-1\n" + SESSION + b"\nada", "sha256"), in base64url */
    CHECK(rung_session_secret(&key, RUNG_SLICE(SESSION), RUNG_SLICE("ada"), secret));
    CHECK_EQ_MEM(secret, "H47MMjEaq78xOT2Ge6q7gRZJH0MO0FQEIfhAmsxd3LI", sizeof secret);
    /* tests/e2e/signer.py: signature(secret, "POST", TARGET, BODY, SESSION, TIME, NONCE) */
    CHECK_OK(read_fields(SESSION, TIME, NONCE, MAC, &s, NULL));
    CHECK(rung_signature_matches(&s, &SENT, secret));
    CHECK_OK(read_fields(SESSION, TIME, NONCE,
                         "fd5817342b6609b7a99e79a05d557b0e7ff7f10218306cd96f01565c6b6a6830", &s,
                         NULL));
    rung_signed_text none = SENT;
    none.body = (rung_slice){NULL, 0};
    CHECK(rung_signature_matches(&s, &none, secret));
    rung_session_id_make((const uint8_t *)"\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", id);
    CHECK_EQ_STR(id, "AAECAwQFBgcICQoLDA0ODw");
    CHECK(rung_session_id_is_valid(rung_slice_str(id)));
}

TEST(each_part_altered) {
    char secret[RUNG_SESSION_SECRET_SIZE], other[RUNG_SESSION_SECRET_SIZE];
    rung_signature s;
    rung_key key = master();
    CHECK(rung_session_secret(&key, RUNG_SLICE(SESSION), RUNG_SLICE("ada"), secret));
    CHECK(rung_session_secret(&key, RUNG_SLICE(SESSION), RUNG_SLICE("adb"), other));
    CHECK_OK(read_fields(SESSION, TIME, NONCE, MAC, &s, NULL));
    CHECK(!rung_signature_matches(&s, &SENT, other));
    for (size_t i = 0; i < 8 * sizeof s.mac; i++) {
        rung_signature bad = s;
        bad.mac[i / 8] ^= (uint8_t)(1u << i % 8);
        CHECK(!rung_signature_matches(&bad, &SENT, secret));
    }
    rung_signature bad = s;
    bad.nonce++;
    CHECK(!rung_signature_matches(&bad, &SENT, secret));
    bad = s;
    bad.time_ms--;
    CHECK(!rung_signature_matches(&bad, &SENT, secret));
    bad = s;
    bad.session = RUNG_SLICE("nh0Jv3nqSIm2o1pZbD4xWg");
    CHECK(!rung_signature_matches(&bad, &SENT, secret));
    rung_signed_text text = SENT;
    text.method = RUNG_SLICE("PUT");
    CHECK(!rung_signature_matches(&s, &text, secret));
    text = SENT;
    text.target = RUNG_SLICE(TARGET "?x=1");
    CHECK(!rung_signature_matches(&s, &text, secret));
    text = SENT;
    text.body = RUNG_SLICE(BODY " ");
    CHECK(!rung_signature_matches(&s, &text, secret));
    char longest[RUNG_SIGNED_TARGET_MAX + 1];
    memset(longest, 'a', sizeof longest);
    text.target = rung_slice_of(longest, sizeof longest);
    CHECK(!rung_signature_matches(&s, &text, secret));
}

static void check_bad(const char *session, const char *time, const char *nonce, const char *mac,
                      const char *field) {
    rung_signature s;
    rung_err err = {0};
    CHECK_STATUS(read_fields(session, time, nonce, mac, &s, &err), RUNG_EREFUSED);
    CHECK_EQ_U64(err.reason, RUNG_REASON_SIGNATURE);
    CHECK_EQ_STR(err.field, field);
}

TEST(fields_that_are_not_valid) {
    static const char mac[] = MAC;
    static const char *const numbers[] = {"",
                                          "0",
                                          "07",
                                          "-1",
                                          "+1",
                                          "1 ",
                                          "1e3",
                                          "0x10",
                                          "9223372036854775808",
                                          "18446744073709551617"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        check_bad(SESSION, numbers[i], NONCE, mac, "time");
        check_bad(SESSION, TIME, numbers[i], mac, "nonce");
    }
    check_bad(SESSION, "253402300800000", NONCE, mac, "time"); /* the year 10000 */
    check_bad("", TIME, NONCE, mac, "session");
    check_bad(SESSION "A", TIME, NONCE, mac, "session");
    check_bad("mh0Jv3nqSIm2o1pZbD4xW=", TIME, NONCE, mac, "session");
    check_bad(SESSION, TIME, NONCE, "", "signature");
    check_bad(SESSION, TIME, NONCE, MAC "0", "signature");
    check_bad(SESSION, TIME, NONCE,
              "F389E8F37E17F25897CC6558BE45E9B31A2BDAB28C51D8EE9D661AD3E5052C1A", "signature");
    rung_signature s;
    CHECK_OK(read_fields(SESSION, "1", "9223372036854775807", mac, &s, NULL));
    CHECK_EQ_U64(s.nonce, RUNG_NONCE_MAX);
}

RUNG_TEST_MAIN
