/* SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions against 60-digit references (tools/rating_tables.py), within the errors arith.h states. */
#include "rating/arith.h"

#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bound {
    const char *name;
    double (*function)(double);
    double ulps; /* against the correctly rounded value */
} bound;

static const bound BOUNDS[] = {
    {"exp", rung_exp, 1},        {"exp10", rung_exp10, 1},    {"log", rung_log, 1},
    {"pdf", rung_normal_pdf, 2}, {"cdf", rung_normal_cdf, 8},
};
#define BOUND_COUNT (sizeof BOUNDS / sizeof BOUNDS[0])

static double ulp_of(double x) {
    return nextafter(fabs(x), INFINITY) - fabs(x);
}

static const bound *bound_of(const char *name) {
    for (size_t i = 0; i < BOUND_COUNT; i++)
        if (strcmp(BOUNDS[i].name, name) == 0)
            return &BOUNDS[i];
    test_fail(__FILE__, __LINE__, "no function %s", name);
}

TEST(every_function_is_within_its_stated_error) {
    const char *source = getenv("RUNG_SOURCE");
    if (source == NULL)
        test_skip("RUNG_SOURCE is not set");
    char path[4096], name[16];
    snprintf(path, sizeof path, "%s/tests/golden/rating/arith.txt", source);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    double x, want, worst[BOUND_COUNT] = {0};
    int lines = 0;
    for (; fscanf(f, "%15s %la %la", name, &x, &want) == 3; lines++) {
        const bound *b = bound_of(name);
        double got = b->function(x), off = fabs(got - want);
        CHECK_MSG(off <= b->ulps * ulp_of(want), "%s(%a) is %a, want %a: %g ulp", name, x, got,
                  want, off / ulp_of(want));
        double *w = &worst[b - BOUNDS];
        *w = off / ulp_of(want) > *w ? off / ulp_of(want) : *w;
    }
    fclose(f);
    CHECK_EQ_I64(lines, 2000);
    for (size_t i = 0; i < BOUND_COUNT; i++)
        printf("%s: at most %g ulp\n", BOUNDS[i].name, worst[i]);
}

TEST(the_ends_of_the_ranges) {
    CHECK_EQ_F64(rung_exp(0), 1);
    CHECK_EQ_F64(rung_exp(-0.0), 1);
    CHECK_EQ_F64(rung_exp(1e9), INFINITY);
    CHECK_EQ_F64(rung_exp(INFINITY), INFINITY);
    CHECK_EQ_F64(rung_exp(-1e9), 0);
    CHECK_EQ_F64(rung_exp(-INFINITY), 0);
    CHECK_EQ_F64(rung_exp(709.782712893384), exp(709.782712893384));
    CHECK_EQ_F64(rung_exp(709.7827128933841), INFINITY);
    CHECK_EQ_F64(rung_exp(-745.1), DBL_TRUE_MIN);
    CHECK_EQ_F64(rung_exp10(400), INFINITY);
    CHECK_EQ_F64(rung_exp10(-400), 0);
    CHECK_EQ_F64(rung_exp10(-INFINITY), 0);
    CHECK_EQ_F64(rung_exp10(308.25), 1.7782794100389228e308);
    CHECK_EQ_F64(rung_log(1), 0);
    CHECK_EQ_F64(rung_log(0), -INFINITY);
    CHECK_EQ_F64(rung_log(-1), -INFINITY);
    CHECK_EQ_F64(rung_log(DBL_TRUE_MIN), log(DBL_TRUE_MIN));
    CHECK_EQ_F64(rung_log(DBL_MAX), log(DBL_MAX));
    CHECK_EQ_F64(rung_normal_cdf(0), 0.5);
    CHECK_EQ_F64(rung_normal_cdf(-1e9), 0);
    CHECK_EQ_F64(rung_normal_cdf(1e9), 1);
    CHECK_EQ_F64(rung_normal_pdf(1e200), 0);
}

/* Powers of ten are exact where a double can hold them and the method can be that good. */
TEST(exp10_and_log_agree_with_each_other) {
    for (int i = 0; i <= 22; i++) {
        double power = 1;
        for (int j = 0; j < i; j++)
            power *= 10;
        CHECK(fabs(rung_exp10(i) - power) <= ulp_of(power));
    }
    for (double x = 1e-300; x < 1e300; x *= 1.37)
        CHECK(fabs(rung_exp(rung_log(x)) / x - 1) <= 0x1p-52 * (1 + fabs(rung_log(x))));
}

RUNG_TEST_MAIN
