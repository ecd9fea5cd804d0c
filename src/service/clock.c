/* SPDX-License-Identifier: Apache-2.0 */
/* The system's clocks and its random numbers. */
#define _GNU_SOURCE
#include "service/clock.h"

#include "base/assert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int64_t read_ms(clockid_t which) {
    struct timespec t;
    int failed = clock_gettime(which, &t);
    RUNG_ASSERT(!failed); /* these clocks exist on every Linux */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t real_now_ms(void *ctx) {
    (void)ctx;
    return read_ms(CLOCK_REALTIME);
}

static int64_t real_boot_ms(void *ctx) {
    (void)ctx;
    return read_ms(CLOCK_BOOTTIME);
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

int64_t rung_clock_monotonic_ms(void) {
    return read_ms(CLOCK_MONOTONIC);
}

rung_status rung_random_hash_key(rung_hash_key *key_out, rung_err *err) {
    rung_hash_key key;
    ssize_t got; /* up to 256 bytes come whole, or a signal came before the first */
    do
        got = getrandom(&key, sizeof key, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof key)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "cannot get random bytes: %s",
                            strerrordesc_np(errno));
    *key_out = key;
    return RUNG_OK;
}
