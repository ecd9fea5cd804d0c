/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support/machine.h"

#include "support/shuffle.h"
#include "support/stopwatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- /proc ---- */

/* The text behind "name<spaces>:" in a file of such lines; false when it is not there. */
static bool proc_field(const char *path, const char *name, char *out, size_t out_size) {
    FILE *f = fopen(path, "r");
    char line[512];
    bool is_found = false;
    while (f && !is_found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, out_size, "%s", colon);
        is_found = true;
    }
    if (f)
        fclose(f);
    return is_found;
}

static size_t proc_kib(const char *path, const char *name) {
    char text[64];
    return proc_field(path, name, text, sizeof text) ? strtoull(text, NULL, 10) * 1024 : 0;
}

size_t bench_memory_available(void) {
    return proc_kib("/proc/meminfo", "MemAvailable");
}

size_t bench_memory_resident(void) {
    return proc_kib("/proc/self/status", "VmRSS");
}

void bench_machine_describe(bench_report *r, const char *command) {
    char cpu[128] = "unknown processor", date[32];
    struct utsname os = {0};
    time_t now = time(NULL);
    struct tm utc;
    proc_field("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    uname(&os);
    os.release[strcspn(os.release, "-")] =
        '\0'; /* the version; what builders append says nothing */
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%d", &utc);
    bench_report_line(r, "%s, `%s`", date, command);
    bench_report_gap(r);
    bench_report_line(
        r, "Machine: %s, %ld cores, %.0f GiB; %s %s; %s %s%s.", cpu, sysconf(_SC_NPROCESSORS_ONLN),
        (double)proc_kib("/proc/meminfo", "MemTotal") / 1073741824.0, os.sysname, os.release,
#ifdef __clang__
        "clang", __clang_version__,
#else
        "gcc", __VERSION__,
#endif
#ifdef RUNG_TEST_BUILD
        ", TEST BUILD: the numbers mean nothing"
#elif !defined(__OPTIMIZE__)
        ", NOT OPTIMIZED: the numbers mean nothing"
#else
        ""
#endif
    );
    bench_report_gap(r);
}

/* ---- latency ---- */

enum { LINE_BYTES = 64, HUGE_PAGE = 2 << 20, CHASE_STEPS = 2000000 };

/* One cycle through all lines in random order: line order[j] holds the address of line order[j + 1]. */
static void thread_lines(char *block, uint64_t lines, uint64_t seed) {
    bench_shuffle order = bench_shuffle_of(lines, seed);
    char *first = block + bench_shuffle_at(&order, 0) * LINE_BYTES, *at = first;
    for (uint64_t j = 1; j < lines; j++) {
        char *next = block + bench_shuffle_at(&order, j) * LINE_BYTES;
        *(char **)at = next;
        at = next;
    }
    *(char **)at = first;
}

static char *chase(char *at, unsigned steps) {
    while (steps-- > 0)
        at = *(char **)at;
    return at;
}

double bench_latency_ns(size_t bytes, bool is_huge, uint64_t seed) {
    uint64_t lines = 1;
    while (lines * 2 * LINE_BYTES <= bytes)
        lines *= 2;
    size_t size = lines * LINE_BYTES, span = size + HUGE_PAGE;
    char *raw = mmap(NULL, span, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return 0;
    char *block = raw + (-(uintptr_t)raw & (HUGE_PAGE - 1));
    madvise(raw, span, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    thread_lines(block, lines, seed);
    char *at = chase(block, CHASE_STEPS / 10);
    uint64_t start = bench_now_ns();
    at = chase(at, CHASE_STEPS);
    double ns = (double)(bench_now_ns() - start) / (double)CHASE_STEPS;
    bench_use((uint64_t)(uintptr_t)at);
    munmap(raw, span);
    return ns;
}
