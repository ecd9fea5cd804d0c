/* SPDX-License-Identifier: Apache-2.0 */
#include "service/log_time.h"

#include <stdio.h>

enum { KEEP_MS = 60000 };

static void say(const rung_log_time *t, const char *line) {
    if (t->say)
        t->say(t->ctx, line);
}

void rung_log_time_init(rung_log_time *t, const rung_clock *clock, int64_t max_jump_ms,
                        const rung_dir *dir, void (*to)(void *ctx, const char *line), void *ctx) {
    *t = (rung_log_time){.dir = dir, .say = to, .ctx = ctx};
    rung_steady_clock_init(&t->clock, clock, max_jump_ms);
    t->kept_ms = rung_clock_monotonic_ms(clock);
    if (dir)
        rung_steady_clock_load(&t->clock, dir);
}

rung_hub_time rung_log_time_look(rung_log_time *t, int64_t log_ms) {
    int64_t now_ms = rung_log_time_now(t);
    rung_hub_time now = {.wall_ms = t->clock.wall_ms,
                         .log_ms = log_ms > now_ms ? log_ms : now_ms,
                         .max_jump_ms = t->clock.max_jump_ms,
                         .is_held = t->clock.is_held};
    now.is_log_ahead = now.log_ms - now.wall_ms > now.max_jump_ms;
    return now;
}

/* One line when time is held or log time is ahead, and one when that ends. */
void rung_log_time_watch(rung_log_time *t, int64_t log_ms) {
    rung_hub_time now = rung_log_time_look(t, log_ms);
    char line[256];
    if (now.is_held && !t->was_held) {
        snprintf(
            line, sizeof line,
            "the wall clock jumped ahead by %lld s and is not followed: correct it, or confirm it "
            "with `rung clock accept`",
            (long long)((now.wall_ms - now.log_ms) / 1000));
        say(t, line);
    }
    if (!now.is_held && t->was_held)
        say(t, "the wall clock is trusted again");
    if (now.is_log_ahead && !t->was_log_ahead) {
        snprintf(line, sizeof line,
                 "log time is ahead of the wall clock by %lld s: it stands still until the clock "
                 "has caught up",
                 (long long)((now.log_ms - now.wall_ms) / 1000));
        say(t, line);
    }
    if (!now.is_log_ahead && t->was_log_ahead)
        say(t, "the wall clock has caught up with log time");
    t->was_held = now.is_held;
    t->was_log_ahead = now.is_log_ahead;
}

void rung_log_time_keep(rung_log_time *t) {
    rung_err err = {0};
    if (!t->dir)
        return;
    t->kept_ms = rung_clock_monotonic_ms(&t->clock.clock);
    if (rung_steady_clock_save(&t->clock, t->dir, &err) < 0)
        say(t, err.message);
}

void rung_log_time_keep_if_due(rung_log_time *t) {
    if (rung_clock_monotonic_ms(&t->clock.clock) - t->kept_ms >= KEEP_MS)
        rung_log_time_keep(t);
}

bool rung_log_time_accept(rung_log_time *t, int64_t log_ms) {
    bool was_held = rung_steady_clock_accept(&t->clock);
    if (was_held)
        say(t, "an operator has confirmed the wall clock");
    rung_log_time_watch(t, log_ms);
    rung_log_time_keep(t);
    return was_held;
}
