/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "model/text.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <math.h>
#include <string.h>

static void check_written(const rung_json_writer *w, const char *want) {
    CHECK(!rung_json_failed(w));
    CHECK_MSG(rung_slice_eq(rung_json_written(w), rung_slice_str(want)), "%.*s, expected %s",
              (int)w->len, w->data, want);
}

TEST(a_document) {
    char buffer[512];
    rung_json_writer w = {.data = buffer, .size = sizeof buffer};
    rung_json_open_object(&w);
    RUNG_JSON_KEY(&w, "rank");
    rung_json_write_uint(&w, 7);
    RUNG_JSON_KEY(&w, "rows");
    rung_json_open_array(&w);
    for (int i = -1; i < 2; i++)
        rung_json_write_int(&w, i);
    rung_json_open_object(&w);
    rung_json_close_object(&w);
    rung_json_open_array(&w);
    rung_json_close_array(&w);
    rung_json_close_array(&w);
    rung_json_write_key(&w, RUNG_SLICE("a\"b"));
    rung_json_write_string(&w, RUNG_SLICE("x"));
    RUNG_JSON_KEY(&w, "t");
    rung_json_write_bool(&w, true);
    RUNG_JSON_KEY(&w, "f");
    rung_json_write_bool(&w, false);
    RUNG_JSON_KEY(&w, "n");
    rung_json_write_null(&w);
    RUNG_JSON_KEY(&w, "raw");
    rung_json_write_raw(&w, RUNG_SLICE("{\"k\":1}"));
    RUNG_JSON_KEY(&w, "at");
    rung_json_write_time(&w, 0);
    RUNG_JSON_KEY(&w, "fixed");
    rung_json_write_fixed(&w, -1250, 2);
    rung_json_close_object(&w);
    check_written(
        &w,
        "{\"rank\":7,\"rows\":[-1,0,1,{},[]],\"a\\\"b\":\"x\",\"t\":true,\"f\":false,\"n\":null,"
        "\"raw\":{\"k\":1},\"at\":\"1970-01-01T00:00:00.000Z\",\"fixed\":-12.5}");
}

TEST(numbers) {
    char buffer[64];
    static const struct {
        double value;
        const char *want;
    } reals[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-1, "-1"},
                 {0.1, "0.1"},
                 {1e21, "1e+21"},
                 {1e15, "1000000000000000"},
                 {123456789012345.0, "123456789012345"},
                 {-2.5, "-2.5"},
                 {5e-324, "5e-324"},
                 {HUGE_VAL, "\"inf\""},
                 {-HUGE_VAL, "\"-inf\""},
                 {(double)NAN, "null"}};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        rung_json_writer w = {.data = buffer, .size = sizeof buffer};
        rung_json_write_real(&w, reals[i].value);
        check_written(&w, reals[i].want);
    }
    rung_json_writer w = {.data = buffer, .size = sizeof buffer};
    rung_json_write_int(&w, INT64_MIN);
    rung_json_write_uint(&w, UINT64_MAX);
    check_written(&w, "-9223372036854775808,18446744073709551615");
    uint64_t power = 1;
    for (size_t digits = 1; digits <= 19; digits++, power *= 10) {
        char out[20];
        CHECK_EQ_U64(rung_digits_format(power, out), digits);
        CHECK_EQ_U64(rung_digits_format(power * 10 - 1, out), digits + (digits == 20));
    }
}

TEST(text_is_always_utf8) {
    static const struct {
        rung_slice in;
        const char *want;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"abcdefgh12345678", 16}, "\"abcdefgh12345678\""},
        {{"\"\\/\b\f\n\r\t\x01\x1f\x7f", 11}, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\xb9", 9}, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\xb9\""},
        {{"\xff", 1}, "\"\xef\xbf\xbd\""},
        {{"a\xc3", 2}, "\"a\xef\xbf\xbd\""},
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"1234567\"1234567\\", 16}, "\"1234567\\\"1234567\\\\\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buffer[128];
        rung_json_writer w = {.data = buffer, .size = sizeof buffer};
        rung_json_write_string(&w, cases[i].in);
        check_written(&w, cases[i].want);
    }
}

/* What is written reads back the same, and the buffer is never overrun however small it is. */
TEST(random_texts) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(5));
    static rung_json reader;
    for (int round = 0; round < 3000; round++) {
        char in[40], buffer[300];
        size_t len = (size_t)rung_rng_below(&rng, sizeof in);
        for (size_t i = 0; i < len; i++)
            in[i] = (char)rung_rng_below(&rng, 128);
        size_t size = (size_t)rung_rng_below(&rng, sizeof buffer);
        memset(buffer, 0x55, sizeof buffer);
        rung_json_writer w = {.data = buffer, .size = size};
        rung_json_write_string(&w, rung_slice_of(in, len));
        for (size_t i = size; i < sizeof buffer; i++)
            CHECK(buffer[i] == 0x55);
        if (rung_json_failed(&w))
            continue;
        rung_slice back;
        rung_json_init(&reader, buffer, w.len, NULL);
        CHECK_OK(rung_json_string(&reader, &back));
        CHECK_OK(rung_json_end(&reader));
        CHECK(rung_slice_eq(back, rung_slice_of(in, len)));
    }
}

static bool write_much(rung_json_writer *w) {
    rung_json_open_array(w);
    for (int i = 0; i < 500; i++) {
        rung_json_open_object(w);
        RUNG_JSON_KEY(w, "number");
        rung_json_write_int(w, i);
        rung_json_write_key(w, RUNG_SLICE("text"));
        rung_json_write_string(w, RUNG_SLICE("line\nbreak"));
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    return !rung_json_failed(w);
}

TEST(out_of_memory_and_limits) {
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_json_writer w = {.alloc = rung_failalloc_port(&fa)};
        bool is_done = write_much(&w);
        CHECK(is_done == !fa.failed_count);
        rung_json_writer_reset(&w);
        CHECK(write_much(&w));
        rung_json_writer_deinit(&w);
        rung_failalloc_deinit(&fa);
        if (is_done)
            break;
    }
    rung_json_writer w = {.alloc = rung_alloc_heap(), .limit = 1000};
    CHECK(!write_much(&w));
    CHECK(w.len <= 1000 && w.size <= 1000);
    rung_json_writer_deinit(&w);
}

RUNG_TEST_MAIN
