/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/resp_writer.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_double(double value) {
    char want[64], got[RUNG_RESP_DOUBLE_MAX];
    int len = snprintf(want, sizeof want, "%.17g", value);
    size_t n = rung_resp_format_double(value, got);
    CHECK_MSG(n == (size_t)len && memcmp(want, got, n) == 0, "%.*s, expected %s", (int)n, got,
              want);
}

/* The C library is the model; the tests run in the C locale. */
TEST(doubles_as_printf) {
    static const double edges[] = {0,
                                   -0.0,
                                   0.1,
                                   0.2,
                                   0.3,
                                   1.0 / 3,
                                   1e17,
                                   1e16,
                                   99999999999999999.0,
                                   123456789012345680.0,
                                   0.0001,
                                   0.00001,
                                   0.00012345,
                                   1e-4,
                                   9.9999999999999991e-05,
                                   1e22,
                                   1e23,
                                   5e-324,
                                   2.2250738585072014e-308,
                                   1.7976931348623157e308,
                                   3.1,
                                   12.5,
                                   9007199254740993.0,
                                   0.5,
                                   4503599627370496.5,
                                   2251799813685248.25,
                                   1e100,
                                   1e-100,
                                   7.2057594037927933e16,
                                   1152921504606846976.0,
                                   1.5e-20,
                                   4.7e-22,
                                   2e-37,
                                   0x1p-120,
                                   0x1p-121,
                                   0x1p-72,
                                   0x1.fffffffffffffp-69};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        check_double(edges[i]);
        check_double(-edges[i]);
        check_double(nextafter(edges[i], HUGE_VAL));
        check_double(nextafter(edges[i], -HUGE_VAL));
    }
    check_double(HUGE_VAL);
    check_double(-HUGE_VAL);
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (uint64_t i = 0; i < test_steps(300000); i++) {
        uint64_t bits = rung_rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isnan(value))
            check_double(value);
        check_double((double)(int64_t)bits / 1000);
        check_double((double)rung_rng_below(&rng, 1000000) / 100);
        check_double(ldexp((double)(bits >> 44), -(int)rung_rng_below(&rng, 90))); /* many ties */
    }
}

TEST(whole_doubles_as_printf) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(2));
    for (uint32_t value = 0; value < 100000; value++)
        check_double(value);
    for (double power = 10; power <= 1e9; power *= 10)
        for (int i = -1; i <= 1; i++)
            check_double(power + i);
    for (uint64_t i = 0; i < test_steps(300000); i++) {
        check_double((double)rung_rng_below(&rng, 100000000));
        check_double(-(double)rung_rng_below(&rng, 100000000));
        check_double((double)rung_rng_below(&rng, 200000000) + 0.5);
    }
}

/* The same bytes whatever the length: short ones take another way than long ones. */
TEST(bulks_of_every_length) {
    char bytes[301], want[400];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)('a' + i % 26);
    for (size_t len = 0; len < sizeof bytes; len++) {
        rung_resp_writer w = {.alloc = rung_alloc_heap(), .version = 2};
        int n = snprintf(want, sizeof want, "$%zu\r\n%.*s\r\n", len, (int)len, bytes);
        rung_resp_bulk(&w, rung_slice_of(bytes, len));
        CHECK_EQ_U64(w.len, (size_t)n);
        CHECK_EQ_MEM(w.data, want, w.len);
        rung_buffer_deinit(&w.buffer);
    }
}

/* One digit more in the length moves the number. */
TEST(doubles_of_every_length) {
    static const double values[] = {0,    7,      -7,        123456789,  1234567890, 12345678901234,
                                    0.1,  -0.25,  1e300,     -1.0 / 3.0, HUGE_VAL,   -HUGE_VAL,
                                    1e16, 0.0625, 123456.5,  10,         99999999,   100000000,
                                    -0.0, 1,      4294967296};
    char text[RUNG_RESP_DOUBLE_MAX], want[64];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (uint8_t version = 2; version <= 3; version++) {
            rung_resp_writer w = {.alloc = rung_alloc_heap(), .version = version};
            int len = (int)rung_resp_format_double(values[i], text);
            int n = version == 2 ? snprintf(want, sizeof want, "$%d\r\n%.*s\r\n", len, len, text)
                                 : snprintf(want, sizeof want, ",%.*s\r\n", len, text);
            rung_resp_double(&w, values[i]);
            CHECK_EQ_U64(w.len, (size_t)n);
            CHECK_EQ_MEM(w.data, want, w.len);
            rung_buffer_deinit(&w.buffer);
        }
}

/* A row is what its parts are one by one. */
TEST(rows_as_their_parts) {
    static const double scores[] = {0, 1, 99999999, 100000000, -3, 0.1, 1e-300, HUGE_VAL};
    char bytes[40];
    memset(bytes, 'm', sizeof bytes);
    for (uint8_t version = 2; version <= 3; version++) {
        rung_resp_writer rows = {.alloc = rung_alloc_heap(), .version = version}, parts = rows;
        for (size_t len = 0; len < sizeof bytes; len++)
            for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
                rung_resp_row(&rows, rung_slice_of(bytes, len), scores[i]);
                if (version == 3)
                    rung_resp_array(&parts, 2);
                rung_resp_bulk(&parts, rung_slice_of(bytes, len));
                rung_resp_double(&parts, scores[i]);
            }
        CHECK_EQ_U64(rows.len, parts.len);
        CHECK_EQ_MEM(rows.data, parts.data, rows.len);
        rung_buffer_deinit(&rows.buffer);
        rung_buffer_deinit(&parts.buffer);
    }
}

static void write_all(rung_resp_writer *w) {
    rung_resp_simple(w, "OK");
    rung_resp_error(w, RUNG_SLICE("ERR a\r\nb"));
    rung_resp_int(w, INT64_MIN);
    rung_resp_bulk(w, rung_slice_of("a\0b", 3));
    rung_resp_text(w, "");
    rung_resp_bulk_int(w, -12);
    rung_resp_null(w);
    rung_resp_null_array(w);
    rung_resp_bool(w, true);
    rung_resp_double(w, 3.1);
    rung_resp_double(w, -HUGE_VAL);
    rung_resp_verbatim(w, RUNG_SLICE("x\n"));
    rung_resp_array(w, 0);
    rung_resp_map(w, 2);
    rung_resp_set(w, 3);
    rung_resp_raw(w, RUNG_SLICE(":1\r\n"));
    rung_resp_row(w, RUNG_SLICE("ada"), 12);
}

TEST(both_versions) {
    static const char two[] =
        "+OK\r\n-ERR a  "
        "b\r\n:-9223372036854775808\r\n$3\r\na\0b\r\n$0\r\n\r\n$3\r\n-12\r\n$-1\r\n*-1\r\n:1\r\n"
        "$18\r\n3.1000000000000001\r\n$4\r\n-inf\r\n$2\r\nx\n\r\n*0\r\n*4\r\n*3\r\n:1\r\n"
        "$3\r\nada\r\n$2\r\n12\r\n";
    static const char three[] =
        "+OK\r\n-ERR a  "
        "b\r\n:-9223372036854775808\r\n$3\r\na\0b\r\n$0\r\n\r\n$3\r\n-12\r\n_\r\n_\r\n#t\r\n"
        ",3.1000000000000001\r\n,-inf\r\n=6\r\ntxt:x\n\r\n*0\r\n%2\r\n~3\r\n:1\r\n"
        "*2\r\n$3\r\nada\r\n,12\r\n";
    rung_resp_writer w = {.alloc = rung_alloc_heap(), .version = 2};
    write_all(&w);
    CHECK_EQ_U64(w.len, sizeof two - 1);
    CHECK_EQ_MEM(w.data, two, w.len);
    rung_buffer_reset(&w.buffer, 1 << 20);
    w.version = 3;
    write_all(&w);
    CHECK_EQ_U64(w.len, sizeof three - 1);
    CHECK_EQ_MEM(w.data, three, w.len);
    rung_buffer_deinit(&w.buffer);
}

TEST(out_of_memory_and_limits) {
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_resp_writer w = {.alloc = rung_failalloc_port(&fa), .version = 3};
        for (int i = 0; i < 100; i++)
            write_all(&w);
        CHECK(w.is_failed == (fa.failed_count > 0));
        bool is_swept = !fa.failed_count;
        rung_failalloc_fail_at(&fa, 0, false);
        rung_buffer_reset(&w.buffer, 0);
        write_all(&w);
        CHECK(!w.is_failed);
        rung_buffer_deinit(&w.buffer);
        rung_failalloc_deinit(&fa);
        if (is_swept)
            break;
    }
    rung_resp_writer w = {.alloc = rung_alloc_heap(), .version = 2, .limit = 100};
    write_all(&w);
    CHECK(w.is_failed && w.len <= 100);
    rung_buffer_deinit(&w.buffer);
}

RUNG_TEST_MAIN
