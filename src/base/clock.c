/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_us(clockid_t which) {
    struct timespec t;
    int failed = clock_gettime(which, &t);
    RUNG_ASSERT(!failed); /* these clocks exist on every Linux */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t real_now_ms(void *ctx) {
    (void)ctx;
    return read_us(CLOCK_REALTIME) / 1000;
}

static int64_t real_boot_ms(void *ctx) {
    (void)ctx;
    return read_us(CLOCK_BOOTTIME) / 1000;
}

static bool real_boot_id(void *ctx, char out[RUNG_BOOT_ID_MAX]) {
    (void)ctx;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_read = f && fgets(out, RUNG_BOOT_ID_MAX, f);
    if (f)
        fclose(f);
    if (is_read)
        out[strcspn(out, "\n")] = '\0';
    return is_read && out[0];
}

rung_clock rung_clock_real(void) {
    return (rung_clock){.now_ms = real_now_ms, .boot_ms = real_boot_ms, .boot_id = real_boot_id};
}

int64_t rung_clock_monotonic_us(const rung_clock *c) {
    return c && c->monotonic_us ? c->monotonic_us(c->ctx) : read_us(CLOCK_MONOTONIC);
}
