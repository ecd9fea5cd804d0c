/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - checks that print both values, and a runner that gives each test a process of its own.
 *
 *     #include "support/check.h"
 *     TEST(rank_of_the_best_is_zero) { CHECK_EQ_U64(rank_of(best), 0); }
 *     RUNG_TEST_MAIN
 *
 * The program runs all its tests in the order of the file, each in a forked child, so a crash is reported by the
 * test's name and the others still run. Arguments: --list, --no-fork (for the debugger: the first failed check
 * aborts), or names to run. It ends with "N passed, N failed"; exit code 0, 1, or 77 when all were skipped.
 * A check may be used from any thread of the test; it ends the whole test. */
#ifndef RUNG_TESTS_CHECK_H
#define RUNG_TESTS_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

void test_register(test_case *t);
int test_main(int argc, char **argv);

#define TEST(ident)                                                                                \
    static void testcase_##ident(void);                                                            \
    __attribute__((constructor)) static void testcase_register_##ident(void) {                     \
        static test_case t = {#ident, testcase_##ident, NULL};                                     \
        test_register(&t);                                                                         \
    }                                                                                              \
    static void testcase_##ident(void)

#define RUNG_TEST_MAIN                                                                             \
    int main(int argc, char **argv) {                                                              \
        return test_main(argc, argv);                                                              \
    }

/* Print one line and end the test as failed, or as skipped. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *why);

/* RUNG_SEED and RUNG_STEPS from the environment, or the given value. Long tests scale by them, and say the seed
 * when they fail: the last value of test_seed() is printed with every failed check. */
uint64_t test_seed(uint64_t otherwise);
uint64_t test_steps(uint64_t otherwise);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            test_fail(__FILE__, __LINE__, "%s is false", #cond);                                   \
    } while (0)

/* Like CHECK, with a message of your own. */
#define CHECK_MSG(cond, ...)                                                                       \
    do {                                                                                           \
        if (!(cond))                                                                               \
            test_fail(__FILE__, __LINE__, __VA_ARGS__);                                            \
    } while (0)

#define CHECK_EQ_U64(a, b)      test_eq_u64(__FILE__, __LINE__, #a, #b, (uint64_t)(a), (uint64_t)(b))
#define CHECK_EQ_I64(a, b)      test_eq_i64(__FILE__, __LINE__, #a, #b, (int64_t)(a), (int64_t)(b))
#define CHECK_EQ_F64(a, b)      test_eq_f64(__FILE__, __LINE__, #a, #b, (double)(a), (double)(b))
#define CHECK_EQ_PTR(a, b)      test_eq_ptr(__FILE__, __LINE__, #a, #b, (a), (b))
#define CHECK_EQ_STR(a, b)      test_eq_str(__FILE__, __LINE__, #a, #b, (a), (b))
#define CHECK_EQ_MEM(a, b, len) test_eq_mem(__FILE__, __LINE__, #a, #b, (a), (b), (len))
#define CHECK_NULL(a)           test_eq_ptr(__FILE__, __LINE__, #a, "NULL", (a), NULL)

/* `expr` yields a rung_status: exactly `want`, printed by name when it is another. */
#define CHECK_STATUS(expr, want) test_status(__FILE__, __LINE__, #expr, (int)(expr), (int)(want))
#define CHECK_OK(expr)           test_status(__FILE__, __LINE__, #expr, (int)(expr), 0)

/* For `const char *x_check(...)` functions: NULL, or the broken invariant is printed. */
#define CHECK_SOUND(expr) test_sound(__FILE__, __LINE__, #expr, (expr))

void test_eq_u64(const char *file, int line, const char *a_text, const char *b_text, uint64_t a,
                 uint64_t b);
void test_eq_i64(const char *file, int line, const char *a_text, const char *b_text, int64_t a,
                 int64_t b);
/* Equal bits apart from the sign of zero; a NaN equals a NaN. */
void test_eq_f64(const char *file, int line, const char *a_text, const char *b_text, double a,
                 double b);
void test_eq_ptr(const char *file, int line, const char *a_text, const char *b_text, const void *a,
                 const void *b);
void test_eq_str(const char *file, int line, const char *a_text, const char *b_text, const char *a,
                 const char *b);
void test_eq_mem(const char *file, int line, const char *a_text, const char *b_text, const void *a,
                 const void *b, size_t len);
void test_status(const char *file, int line, const char *text, int got, int want);
void test_sound(const char *file, int line, const char *text, const char *broken);

#endif
