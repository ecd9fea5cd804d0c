/* SPDX-License-Identifier: Apache-2.0 */
/* The file is one line of text: version, id of the boot, CLOCK_BOOTTIME and the trusted time, both in milliseconds. */
#include "service/steady_clock.h"

#include "model/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_VERSION   "1"
#define TEMPORARY_FILE RUNG_CLOCK_FILE ".tmp"

enum { LINE_MAX = 128 };

static bool is_watching(const rung_steady_clock *c) {
    return c->clock.boot_ms != NULL;
}

static void trust_wall(rung_steady_clock *c) {
    c->trusted_ms = c->wall_ms = rung_clock_now(&c->clock);
    c->boot_ms = is_watching(c) ? c->clock.boot_ms(c->clock.ctx) : 0;
    c->is_held = false;
}

void rung_steady_clock_init(rung_steady_clock *c, const rung_clock *clock, int64_t max_jump_ms) {
    *c = (rung_steady_clock){.clock = *clock,
                             .max_jump_ms = max_jump_ms ? max_jump_ms : RUNG_MAX_JUMP_DEFAULT_MS};
    trust_wall(c);
}

int64_t rung_steady_clock_now(rung_steady_clock *c) {
    c->wall_ms = rung_clock_now(&c->clock);
    if (!is_watching(c))
        return c->wall_ms;
    int64_t boot_ms = c->clock.boot_ms(c->clock.ctx);
    int64_t expected_ms = c->trusted_ms + (boot_ms - c->boot_ms);
    int64_t gained_ms = c->wall_ms - expected_ms;
    c->is_held = gained_ms > c->max_jump_ms;
    if (c->is_held)
        return expected_ms;
    if (gained_ms >= -c->max_jump_ms) {
        c->trusted_ms = c->wall_ms;
        c->boot_ms = boot_ms;
    }
    return c->wall_ms;
}

bool rung_steady_clock_accept(rung_steady_clock *c) {
    rung_steady_clock_now(c);
    bool was_held = c->is_held;
    trust_wall(c);
    return was_held;
}

/* ---- across lives ---- */

static bool read_line(const rung_dir *dir, char line[LINE_MAX]) {
    size_t got = 0;
    rung_status st = rung_file_read_small(dir, RUNG_CLOCK_FILE, line, LINE_MAX - 1, &got, NULL);
    line[st == RUNG_OK ? got : 0] = '\0';
    return st == RUNG_OK;
}

void rung_steady_clock_load(rung_steady_clock *c, const rung_dir *dir) {
    char line[LINE_MAX], here[RUNG_BOOT_ID_MAX], there[RUNG_BOOT_ID_MAX], version[8];
    int64_t boot_ms, trusted_ms;
    if (!is_watching(c) || !c->clock.boot_id(c->clock.ctx, here) || !read_line(dir, line))
        return;
    _Static_assert(RUNG_BOOT_ID_MAX == 40, "the width below");
    if (sscanf(line, "%7s %39s %" SCNd64 " %" SCNd64, version, there, &boot_ms, &trusted_ms) != 4 ||
        strcmp(version, FILE_VERSION) != 0 || strcmp(here, there) != 0 || boot_ms < 0 ||
        boot_ms > c->boot_ms || trusted_ms < RUNG_TIME_MS_MIN || trusted_ms >= RUNG_TIME_MS_END)
        return;
    c->trusted_ms = trusted_ms;
    c->boot_ms = boot_ms;
    rung_steady_clock_now(c);
}

rung_status rung_steady_clock_save(rung_steady_clock *c, const rung_dir *dir, rung_err *err) {
    char line[LINE_MAX], boot_id[RUNG_BOOT_ID_MAX];
    rung_file f = {0};
    if (!is_watching(c) || !c->clock.boot_id(c->clock.ctx, boot_id))
        return RUNG_OK;
    int len = snprintf(line, sizeof line, FILE_VERSION " %s %" PRId64 " %" PRId64 "\n", boot_id,
                       c->boot_ms, c->trusted_ms);
    rung_status st = rung_file_open(&f, dir, TEMPORARY_FILE, RUNG_FILE_CREATE, err);
    if (st < 0)
        return st;
    st = rung_file_write(&f, line, (size_t)len, 0, err);
    if (st == RUNG_OK)
        st = rung_file_truncate(&f, (uint64_t)len, err);
    rung_file_close(&f);
    return st < 0 ? st : rung_dir_rename(dir, TEMPORARY_FILE, RUNG_CLOCK_FILE, err);
}
