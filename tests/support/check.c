/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"

#include "base/status.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

static test_case *first, **last = &first;
static bool is_forked;
static bool has_seed;
static uint64_t seed_in_use;

void test_register(test_case *t) {
    *last = t;
    last = &t->next;
}

/* ---- checks ---- */

void test_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    if (has_seed)
        fprintf(stderr, " (RUNG_SEED=%" PRIu64 ")", seed_in_use);
    fputc('\n', stderr);
    va_end(args);
    fflush(NULL);
    if (!is_forked)
        abort();
    _exit(1); /* not exit(): what the failed test still holds is no leak */
}

void test_skip(const char *why) {
    fprintf(stderr, "skipped: %s\n", why);
    fflush(NULL);
    _exit(EXIT_SKIPPED);
}

void test_eq_u64(const char *file, int line, const char *a_text, const char *b_text, uint64_t a,
                 uint64_t b) {
    if (a != b)
        test_fail(file, line,
                  "%s == %s: %" PRIu64 " (0x%" PRIx64 ") is not %" PRIu64 " (0x%" PRIx64 ")",
                  a_text, b_text, a, a, b, b);
}

void test_eq_i64(const char *file, int line, const char *a_text, const char *b_text, int64_t a,
                 int64_t b) {
    if (a != b)
        test_fail(file, line, "%s == %s: %" PRId64 " is not %" PRId64, a_text, b_text, a, b);
}

void test_eq_f64(const char *file, int line, const char *a_text, const char *b_text, double a,
                 double b) {
    bool both_nan = a != a && b != b;
    if (!both_nan && !(a <= b && a >= b))
        test_fail(file, line, "%s == %s: %.17g is not %.17g", a_text, b_text, a, b);
}

void test_eq_ptr(const char *file, int line, const char *a_text, const char *b_text, const void *a,
                 const void *b) {
    if (a != b)
        test_fail(file, line, "%s == %s: %p is not %p", a_text, b_text, a, b);
}

void test_eq_str(const char *file, int line, const char *a_text, const char *b_text, const char *a,
                 const char *b) {
    if (a == b || (a && b && strcmp(a, b) == 0))
        return;
    test_fail(file, line, "%s == %s: \"%s\" is not \"%s\"", a_text, b_text, a ? a : "(null)",
              b ? b : "(null)");
}

static void print_bytes(const char *label, const unsigned char *bytes, size_t from, size_t len) {
    fprintf(stderr, "  %s[%zu..]:", label, from);
    for (size_t i = from; i < len && i < from + 16; i++)
        fprintf(stderr, " %02x", bytes[i]);
    fputc('\n', stderr);
}

void test_eq_mem(const char *file, int line, const char *a_text, const char *b_text, const void *a,
                 const void *b, size_t len) {
    if (len == 0 || memcmp(a, b, len) == 0)
        return;
    const unsigned char *x = a, *y = b;
    size_t at = 0;
    while (x[at] == y[at])
        at++;
    print_bytes(a_text, x, at, len);
    print_bytes(b_text, y, at, len);
    test_fail(file, line, "%s == %s: differ at byte %zu of %zu", a_text, b_text, at, len);
}

void test_status(const char *file, int line, const char *text, int got, int want) {
    if (got != want)
        test_fail(file, line, "%s: %s (%d) is not %s (%d)", text,
                  rung_status_name((rung_status)got), got, rung_status_name((rung_status)want),
                  want);
}

void test_sound(const char *file, int line, const char *text, const char *broken) {
    if (broken)
        test_fail(file, line, "%s: %s", text, broken);
}

/* ---- scale and seed ---- */

static bool number_from_env(const char *name, uint64_t *out) {
    const char *text = getenv(name);
    if (!text || !*text)
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno || *end || *text == '-') {
        fprintf(stderr, "%s=%s is not a number\n", name, text);
        _exit(1);
    }
    *out = value;
    return true;
}

uint64_t test_seed(uint64_t otherwise) {
    seed_in_use = otherwise;
    number_from_env("RUNG_SEED", &seed_in_use);
    has_seed = true;
    return seed_in_use;
}

uint64_t test_steps(uint64_t otherwise) {
    uint64_t steps = otherwise;
    number_from_env("RUNG_STEPS", &steps);
    return steps;
}

/* ---- the runner ---- */

static bool is_wanted(const test_case *t, char **names, int count) {
    for (int i = 0; i < count; i++)
        if (strstr(t->name, names[i]))
            return true;
    return count == 0;
}

/* The child's wait status: 0 passed, exit code 77 skipped, all else failed. */
static int run_in_child(const test_case *t) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that hangs dies with the runner */
        is_forked = true;
        t->run();
        exit(0); /* exit(), so that leaks and coverage are reported */
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            perror("waitpid");
            exit(1);
        }
    return status;
}

static void report_failure(const test_case *t, int status) {
    if (WIFSIGNALED(status))
        printf("FAIL %s: %s\n", t->name, strsignal(WTERMSIG(status)));
    else
        printf("FAIL %s: exit code %d\n", t->name, WEXITSTATUS(status));
}

int test_main(int argc, char **argv) {
    bool wants_list = false, wants_fork = true;
    char **names = argv + 1;
    int name_count = 0, passed = 0, failed = 0, skipped = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            wants_list = true;
        else if (strcmp(argv[i], "--no-fork") == 0)
            wants_fork = false;
        else
            names[name_count++] = argv[i];
    }
    for (const test_case *t = first; t; t = t->next) {
        if (!is_wanted(t, names, name_count))
            continue;
        if (wants_list) {
            puts(t->name);
            continue;
        }
        int status = 0;
        if (wants_fork)
            status = run_in_child(t);
        else
            t->run();
        if (status == 0) {
            passed++;
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
            skipped++;
            printf("SKIP %s\n", t->name);
        } else {
            failed++;
            report_failure(t, status);
        }
    }
    if (wants_list)
        return 0;
    printf("%d passed, %d failed", passed, failed);
    printf(skipped ? ", %d skipped\n" : "\n", skipped);
    if (passed + failed == 0)
        return skipped ? EXIT_SKIPPED : 1; /* a filter that matches nothing is a mistake */
    return failed ? 1 : 0;
}
