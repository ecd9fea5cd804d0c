/* SPDX-License-Identifier: Apache-2.0 */
/* assert.h - assertions about our own code. Enabled in release builds; never used to check input. Neither macro's
 * argument may have side effects. */
#ifndef RUNG_BASE_ASSERT_H
#define RUNG_BASE_ASSERT_H

_Noreturn void rung_assert_failed(const char *what, const char *file, int line);

#define RUNG_ASSERT(cond)                                                                          \
    (__builtin_expect(!(cond), 0) ? rung_assert_failed(#cond, __FILE__, __LINE__) : (void)0)

/* For checks that cost more than the code they guard: test builds only. */
#ifdef RUNG_TEST_BUILD
#define RUNG_ASSERT_SLOW(cond) RUNG_ASSERT(cond)
#else
#define RUNG_ASSERT_SLOW(cond) ((void)sizeof(!(cond)))
#endif

#endif
