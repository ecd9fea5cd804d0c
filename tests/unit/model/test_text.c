/* SPDX-License-Identifier: Apache-2.0 */
/* Number text against the C library's own conversions (which this room may not use, but its tests may). */
#include "model/text.h"

#include "support/check.h"
#include "support/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double real_of_bits(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of_real(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* Doubles of all magnitudes, by random bits; never NaN or infinite. */
static double any_real(rung_rng *rng) {
    double d;
    do
        d = real_of_bits(rung_rng_next(rng));
    while (!isfinite(d));
    return d;
}

/* ---- reading reals ---- */

static void check_reads_like_strtod(const char *text) {
    double want = strtod(text, NULL), got = 0;
    rung_status st = rung_text_parse_real(rung_slice_str(text), &got, NULL);
    if (isinf(want)) {
        CHECK_MSG(st == RUNG_ERANGE, "%s: %s", text, rung_status_name(st));
        return;
    }
    CHECK_MSG(st == RUNG_OK, "%s: %s", text, rung_status_name(st));
    CHECK_MSG(got == want, "%s: got %.17g, want %.17g", text, got, want);
    CHECK_MSG(got != 0 || !signbit(got), "%s gave -0", text);
}

TEST(reads_edges_like_strtod) {
    static const char *const TEXTS[] = {
        "0",
        "-0",
        "0.0e5",
        "1",
        "-1",
        "+7",
        ".5",
        "5.",
        "007",
        "-007",
        "999999999999999",
        "-999999999999999",
        "000000000000001",
        "1000000000000000",
        "9007199254740993",
        "-00000000000000000000012",
        "1e3",
        "10.0",
        "1E+2",
        "1e-2",
        "0.1",
        "123456789012345678",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.0000000000000000000000000000001",
        "1e22",
        "1e23",
        "8e22",
        "1e27",
        "1e28",
        "1e-27",
        "1e-28",
        "18446744073709551615",
        "9999999999999999999",
        "99999999999999999999",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "17976931348623158079e289",
        "1.797693134862315807937e308",
        "1.797693134862315708145e308",
        "1e308",
        "1e309",
        "1e310",
        "-1e400",
        "2e308",
        "-9.9e308",
        "1e999999999999999999999",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2e-324",
        "3e-324",
        "1e-324",
        "1e-400",
        "0e999999999999999999999",
        "1e-999999999999999999999",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "2."
        "225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523"
        "908135087914149158913"
        "039621106870086438694594645527657207407820621743379988141063267329253552286881372149012981"
        "1224514518898490572223072852"
        "5513315575501591439747639798341180199932396254826310781345439e-308",
        "2.4703282292062327208299494400000e-324",
        "6929495644600919.5",
        "6929495644600920.5",
        "3.518437208883201171875e13",
        "0.500000000000000166533453693773481063544750213623046875"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        check_reads_like_strtod(TEXTS[i]);
}

TEST(reads_random_reals_like_strtod) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    uint64_t steps = test_steps(100000);
    char text[1200];
    for (uint64_t i = 0; i < steps; i++) {
        int precision = (int)rung_rng_below(&rng, 25);
        snprintf(text, sizeof text, "%.*e", precision, any_real(&rng));
        check_reads_like_strtod(text);
        snprintf(text, sizeof text, "%" PRIu64 "e%d",
                 rung_rng_next(&rng) >> rung_rng_below(&rng, 64),
                 (int)rung_rng_below(&rng, 80) - 40);
        check_reads_like_strtod(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, rung_rng_below(&rng, 10000000),
                 rung_rng_next(&rng));
        check_reads_like_strtod(text);
    }
}

/* The hardest texts lie exactly between two doubles, or one digit at the far end away from it. */
TEST(rounds_midpoints_to_even) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(2));
    uint64_t steps = test_steps(10000);
    static char text[2400];
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t bits = rung_rng_next(&rng) & INT64_MAX;
        if (i % 4 == 0)
            bits &= ((uint64_t)1 << 53) - 1; /* subnormals and the least normals */
        double low = real_of_bits(bits), high = real_of_bits(bits + 1);
        if (!isfinite(high))
            continue;
        /* A long double holds the midpoint of two doubles; 1100 digits print it exactly. */
        long double middle = ((long double)low + (long double)high) / 2;
        int length = snprintf(text, sizeof text, "%.1099Le", middle);
        check_reads_like_strtod(text);
        char *exponent = memchr(text, 'e', (size_t)length);
        exponent[-1] = '1';
        check_reads_like_strtod(text);
    }
}

/* 19 digits over 10^27, a hair to either side of a midpoint: what is left of the division decides. */
TEST(rounds_next_to_midpoints_by_the_remainder) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(8));
    char text[64];
    for (int i = 0; i < 20000; i++) {
        uint64_t middle = rung_rng_next(&rng) >> 10 | (uint64_t)1 << 53 | 1; /* odd, 54 bits */
        unsigned __int128 product = (unsigned __int128)middle * 7450580596923828125u; /* 5^27 */
        uint64_t digits = (uint64_t)(product >> 54);
        for (uint64_t beside = 0; beside < 2; beside++) {
            snprintf(text, sizeof text, "%" PRIu64 "e-27", digits + beside);
            check_reads_like_strtod(text);
        }
    }
}

TEST(reads_very_long_texts) {
    static char text[100001];
    memset(text, '9', sizeof text - 1);
    CHECK_STATUS(rung_text_parse_real(rung_slice_str(text), &(double){0}, NULL), RUNG_ERANGE);
    text[300] = '.';
    check_reads_like_strtod(text);
    text[0] = '.', text[300] = '9';
    check_reads_like_strtod(text);
    memset(text + 1, '0', 50000);
    memcpy(text + sizeof text - 8, "e+50003", 7);
    check_reads_like_strtod(text);
    memset(text, '0', sizeof text - 1);
    check_reads_like_strtod(text);
    memcpy(text + sizeof text - 3, "77", 2);
    check_reads_like_strtod(text);
}

/* Every length that is read in a way of its own, with a byte that is no digit at every place, from memory that ends
 * where the text ends. */
TEST(reads_plain_numbers) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(9));
    for (size_t len = 1; len <= 17; len++)
        for (int round = 0; round < 2000; round++) {
            char *text = malloc(len), line[32] = "";
            bool is_negative = rung_rng_below(&rng, 4) == 0 && len > 1, is_bad = round % 2;
            for (size_t i = 0; i < len; i++)
                text[i] = (char)('0' + (int)rung_rng_below(&rng, 10));
            if (is_negative)
                text[0] = '-';
            if (is_bad)
                text[is_negative + rung_rng_below(&rng, len - is_negative)] =
                    "/:.+ae\xb1\x01\x10 @\xff"[rung_rng_below(&rng, 12)];
            memcpy(line, text, len);
            int64_t got = 77;
            bool is_plain = rung_text_parse_plain(rung_slice_of(text, len), &got);
            CHECK_MSG(is_plain == (!is_bad && len - is_negative <= 15), "%s", line);
            CHECK_MSG(got == (is_plain ? strtoll(line, NULL, 10) : 77), "%s", line);
            free(text);
        }
}

TEST(reads_infinity) {
    double d = 0;
    CHECK_OK(rung_text_parse_real(RUNG_SLICE("inf"), &d, NULL));
    CHECK(isinf(d) && d > 0);
    CHECK_OK(rung_text_parse_real(RUNG_SLICE("-Inf"), &d, NULL));
    CHECK(isinf(d) && d < 0);
    CHECK_OK(rung_text_parse_real(RUNG_SLICE("+INFINITY"), &d, NULL));
    CHECK(isinf(d) && d > 0);
}

TEST(refuses_what_is_no_number) {
    static const char *const TEXTS[] = {
        "",        "-",         "+",  ".",    "-.",    "e5",    "1e",       "1e+",  "1e-", "1.2.3",
        "--1",     "+-1",       "1 ", " 1",   "1,5",   "0x10",  "nan",      "-nan", "in",  "infi",
        "infinit", "infinityy", "+",  "1e5x", "1e5.0", "1_000", "\xc2\xb2", "."};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        double d = 7;
        int64_t fixed = 7;
        rung_err err = {0};
        rung_slice text = rung_slice_str(TEXTS[i]);
        CHECK_MSG(rung_text_parse_real(text, &d, &err) == RUNG_EINVAL, "%s", TEXTS[i]);
        CHECK_EQ_STR(err.message, "not a number");
        CHECK_MSG(rung_text_parse_fixed(text, 3, &fixed, NULL) == RUNG_EINVAL, "%s", TEXTS[i]);
        CHECK(d == 7 && fixed == 7); /* written only on success */
    }
    CHECK_STATUS(rung_text_parse_real(rung_slice_of("1\0", 2), &(double){0}, NULL), RUNG_EINVAL);
    CHECK_STATUS(rung_text_parse_real((rung_slice){NULL, 0}, &(double){0}, NULL), RUNG_EINVAL);
    CHECK_STATUS(rung_text_parse_fixed(RUNG_SLICE("inf"), 0, &(int64_t){0}, NULL), RUNG_EINVAL);
}

/* ---- reading exact numbers ---- */

TEST(reads_fixed) {
    static const struct {
        const char *text;
        unsigned decimals;
        rung_status st;
        int64_t fixed;
    } CASES[] = {
        {"0", 0, RUNG_OK, 0},
        {"-0", 0, RUNG_OK, 0},
        {"007", 0, RUNG_OK, 7},
        {"+5", 0, RUNG_OK, 5},
        {"-", 0, RUNG_EINVAL, 0},
        {"", 0, RUNG_EINVAL, 0},
        {"-5x", 0, RUNG_EINVAL, 0},
        {"--5", 0, RUNG_EINVAL, 0},
        {"-999999999999999", 0, RUNG_OK, -999999999999999},
        {"1000000000000000", 0, RUNG_OK, 1000000000000000},
        {"12", 3, RUNG_OK, 12000},
        {"-0.000", 2, RUNG_OK, 0},
        {"0e999999999999", 9, RUNG_OK, 0},
        {"1e3", 0, RUNG_OK, 1000},
        {"10.0", 0, RUNG_OK, 10},
        {"1500e-2", 0, RUNG_OK, 15},
        {"1501e-2", 0, RUNG_EINVAL, 0},
        {"1501e-2", 1, RUNG_EINVAL, 0},
        {"1501e-2", 2, RUNG_OK, 1501},
        {"1501e-2", 3, RUNG_OK, 15010},
        {"0.1", 0, RUNG_EINVAL, 0},
        {"0.1", 1, RUNG_OK, 1},
        {"-.25", 2, RUNG_OK, -25},
        {"0.000000001", 9, RUNG_OK, 1},
        {"0.0000000001", 9, RUNG_EINVAL, 0},
        {"0.00000000010e1", 9, RUNG_OK, 1},
        {"9223372036854775807", 0, RUNG_OK, INT64_MAX},
        {"9223372036854775808", 0, RUNG_ERANGE, 0},
        {"-9223372036854775808", 0, RUNG_OK, INT64_MIN},
        {"-9223372036854775809", 0, RUNG_ERANGE, 0},
        {"9223372036.854775807", 9, RUNG_OK, INT64_MAX},
        {"9223372036.854775808", 9, RUNG_ERANGE, 0},
        {"-9223372036.854775808", 9, RUNG_OK, INT64_MIN},
        {"9999999999999999999", 0, RUNG_ERANGE, 0},
        {"99999999999999999999", 0, RUNG_ERANGE, 0},
        {"1e18", 0, RUNG_OK, 1000000000000000000},
        {"1e19", 0, RUNG_ERANGE, 0},
        {"1e999999999999999999999", 0, RUNG_ERANGE, 0},
        {"1e-999999999999999999999", 9, RUNG_EINVAL, 0},
        {"000000000000000000000000000000000000042.000000000000000000000000000", 0, RUNG_OK, 42},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int64_t fixed = 0;
        rung_status st =
            rung_text_parse_fixed(rung_slice_str(CASES[i].text), CASES[i].decimals, &fixed, NULL);
        CHECK_MSG(st == CASES[i].st && fixed == CASES[i].fixed, "%s with %u decimals: %s, %" PRId64,
                  CASES[i].text, CASES[i].decimals, rung_status_name(st), fixed);
    }
}

TEST(refusals_say_why) {
    rung_err err;
    CHECK_STATUS(rung_text_parse_fixed(RUNG_SLICE("1.5"), 0, &(int64_t){0}, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "not a whole number");
    CHECK_STATUS(rung_text_parse_fixed(RUNG_SLICE("1.555"), 2, &(int64_t){0}, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "more than 2 decimals");
    CHECK_STATUS(rung_text_parse_fixed(RUNG_SLICE("1e40"), 2, &(int64_t){0}, &err), RUNG_ERANGE);
    CHECK_EQ_STR(err.message, "beyond 64 bits");
}

/* ---- writing ---- */

TEST(writes_fixed) {
    static const struct {
        int64_t fixed;
        unsigned decimals;
        const char *text;
    } CASES[] = {{0, 0, "0"},
                 {0, 9, "0"},
                 {7, 0, "7"},
                 {-7, 0, "-7"},
                 {1500, 0, "1500"},
                 {1500, 2, "15"},
                 {1550, 2, "15.5"},
                 {1555, 2, "15.55"},
                 {-5, 2, "-0.05"},
                 {50, 2, "0.5"},
                 {1, 9, "0.000000001"},
                 {-1000000000, 9, "-1"},
                 {INT64_MAX, 0, "9223372036854775807"},
                 {INT64_MIN, 0, "-9223372036854775808"},
                 {INT64_MIN, 9, "-9223372036.854775808"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[RUNG_TEXT_NUMBER_MAX];
        CHECK_EQ_U64(rung_text_format_fixed(CASES[i].fixed, CASES[i].decimals, text),
                     strlen(CASES[i].text));
        CHECK_EQ_STR(text, CASES[i].text);
    }
}

TEST(writes_and_reads_random_fixed) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(3));
    uint64_t steps = test_steps(300000);
    for (uint64_t i = 0; i < steps; i++) {
        int64_t fixed = (int64_t)rung_rng_next(&rng) >> rung_rng_below(&rng, 64), back = 0;
        unsigned decimals = (unsigned)rung_rng_below(&rng, RUNG_TEXT_DECIMALS_MAX + 1);
        char text[RUNG_TEXT_NUMBER_MAX];
        size_t length = rung_text_format_fixed(fixed, decimals, text);
        CHECK_EQ_U64(length, strlen(text));
        CHECK_OK(rung_text_parse_fixed(rung_slice_of(text, length), decimals, &back, NULL));
        CHECK_EQ_I64(back, fixed);
    }
}

TEST(writes_reals_laid_out_like_javascript) {
    static const struct {
        double real;
        const char *text;
    } CASES[] = {{0.0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-1, "-1"},
                 {0.1, "0.1"},
                 {0.5, "0.5"},
                 {12.34, "12.34"},
                 {100, "100"},
                 {1e15, "1000000000000000"},
                 {123456789012345680000.0, "123456789012345680000"},
                 {1e20, "100000000000000000000"},
                 {1e21, "1e+21"},
                 {1.5e21, "1.5e+21"},
                 {9007199254740993.0, "9007199254740992"},
                 {9007199254740991.0, "9007199254740991"},
                 {0.000001, "0.000001"},
                 {0.0000015, "0.0000015"},
                 {1e-7, "1e-7"},
                 {1.5e-7, "1.5e-7"},
                 {-1.5e-10, "-1.5e-10"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {-1.7976931348623157e308, "-1.7976931348623157e+308"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1.0 / 3, "0.3333333333333333"},
                 {2.0 / 3, "0.6666666666666666"},
                 {5e-7, "5e-7"},
                 {1e23, "1e+23"},
                 {9.5367431640625e-7, "9.5367431640625e-7"},
                 {4.35, "4.35"},
                 {HUGE_VAL, "inf"},
                 {-HUGE_VAL, "-inf"},
                 {0x1p-44, "5.684341886080802e-14"},
                 {-0.0000012345678901234567, "-0.0000012345678901234567"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[RUNG_TEXT_NUMBER_MAX];
        CHECK_EQ_U64(rung_text_format_real(CASES[i].real, text), strlen(CASES[i].text));
        CHECK_EQ_STR(text, CASES[i].text);
    }
}

/* Count of significant digits in a number text. */
static int significant_digits(const char *text) {
    int count = 0, trailing_zeros = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (count == 0 && *p == '0'))
            continue;
        count++;
        trailing_zeros = *p == '0' ? trailing_zeros + 1 : 0;
    }
    return count - trailing_zeros;
}

/* Reads back, by us and by strtod, to the same bits; no shorter text does; of that length it is the
 * nearest. */
static void check_shortest(double real) {
    char text[RUNG_TEXT_NUMBER_MAX], printed[40];
    double back = 0;
    size_t length = rung_text_format_real(real, text);
    CHECK(length == strlen(text) && length < sizeof text);
    CHECK_MSG(strtod(text, NULL) == real, "%s is not %.17g", text, real);
    CHECK_OK(rung_text_parse_real(rung_slice_of(text, length), &back, NULL));
    CHECK_EQ_U64(bits_of_real(back), bits_of_real(real));
    if (real == 0)
        return;
    int count = significant_digits(text);
    if (count > 1) {
        snprintf(printed, sizeof printed, "%.*e", count - 2, real);
        CHECK_MSG(strtod(printed, NULL) != real, "%s is longer than %s", text, printed);
    }
    /* printf's digits of that count are the nearest there are, but may lie beyond a midpoint. */
    snprintf(printed, sizeof printed, "%.*e", count - 1, real);
    if (strtod(printed, NULL) == real) {
        char scientific[40];
        snprintf(scientific, sizeof scientific, "%.*e", count - 1, strtod(text, NULL));
        CHECK_EQ_STR(scientific, printed);
    }
}

TEST(writes_the_shortest_text_for_edges) {
    for (int exponent = -1074; exponent <= 1023; exponent++)
        for (int step = -2; step <= 2; step++) {
            uint64_t power = exponent >= -1022 ? (uint64_t)(exponent + 1023) << 52
                                               : (uint64_t)1 << (exponent + 1074);
            double real = real_of_bits(power + (uint64_t)(int64_t)step);
            if (isfinite(real))
                check_shortest(real < 0 ? 0 : real);
        }
    for (int exponent = -320; exponent <= 308; exponent++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", exponent);
        check_shortest(strtod(text, NULL));
        check_shortest(-real_of_bits(bits_of_real(strtod(text, NULL)) + 1));
    }
}

TEST(writes_the_shortest_text_for_a_million_reals) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(4));
    uint64_t steps = test_steps(1000000);
    for (uint64_t i = 0; i < steps; i += 4) {
        check_shortest(any_real(&rng));
        check_shortest((double)(int64_t)rung_rng_below(&rng, 1000000000) / 1000);
        check_shortest(rung_rng_double(&rng) * 1e6);
        check_shortest((double)(int64_t)(rung_rng_next(&rng) >> rung_rng_below(&rng, 60)));
    }
}

RUNG_TEST_MAIN
