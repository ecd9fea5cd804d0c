/* SPDX-License-Identifier: Apache-2.0 */
/* Every run of bytes has one text and back; every other text is refused. */
#include "guard/base64url.h"
#include "support/check.h"
#include "support/rng.h"

static void check_pair(const char *bytes, const char *text) {
    char encoded[64];
    uint8_t decoded[64];
    size_t len = rung_base64url_encode(rung_slice_str(bytes), encoded);
    CHECK_EQ_U64(len, strlen(text));
    CHECK_EQ_MEM(encoded, text, len);
    CHECK(rung_base64url_decode(rung_slice_str(text), decoded, &len));
    CHECK_EQ_U64(len, strlen(bytes));
    CHECK_EQ_MEM(decoded, bytes, len);
}

TEST(examples_of_rfc_4648) {
    check_pair("", "");
    check_pair("f", "Zg");
    check_pair("fo", "Zm8");
    check_pair("foo", "Zm9v");
    check_pair("foob", "Zm9vYg");
    check_pair("fooba", "Zm9vYmE");
    check_pair("foobar", "Zm9vYmFy");
    check_pair("\xfb\xff\xfe", "-__-");
}

TEST(wrong_texts_are_refused) {
    static const char *const texts[] = {"Z",   "Zg==",     "Zg=",    "Zm9vY", "Zh",
                                        "Zm9", "Z g",      "Zm9v\n", "+/+/",  "Zg.",
                                        "Z*",  "\xc3\xa4", "-__",    "-/--"};
    uint8_t decoded[64];
    size_t len;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_MSG(!rung_base64url_decode(rung_slice_str(texts[i]), decoded, &len),
                  "%s was accepted", texts[i]);
}

TEST(any_bytes_and_back_and_in_place) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (int round = 0; round < 20000; round++) {
        char bytes[100], text[140];
        size_t size = rung_rng_below(&rng, sizeof bytes), len;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)rung_rng_next(&rng);
        size_t chars = rung_base64url_encode(rung_slice_of(bytes, size), text);
        CHECK_EQ_U64(chars, RUNG_BASE64URL_TEXT_SIZE(size));
        CHECK(rung_base64url_decode(rung_slice_of(text, chars), (uint8_t *)text, &len));
        CHECK_EQ_U64(len, size);
        CHECK(len <= RUNG_BASE64URL_BYTES_MAX(chars));
        CHECK_EQ_MEM(text, bytes, size);
    }
}

TEST(two_texts_never_mean_the_same) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned accepted = 0;
    for (int a = 0; a < 64; a++)
        for (int b = 0; b < 64; b++) {
            char text[2] = {letters[a], letters[b]}, again[2];
            uint8_t byte[2];
            size_t len;
            if (!rung_base64url_decode(rung_slice_of(text, 2), byte, &len))
                continue;
            accepted++;
            CHECK_EQ_U64(rung_base64url_encode(rung_slice_of(byte, len), again), 2);
            CHECK_EQ_MEM(again, text, 2);
        }
    CHECK_EQ_U64(accepted, 256);
}

RUNG_TEST_MAIN
