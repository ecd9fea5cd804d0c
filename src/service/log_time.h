/* SPDX-License-Identifier: Apache-2.0 */
/* log_time.h - the time of events: the trusted wall clock (steady_clock.h), saved across runs.
 *
 * A problem with the clock is reported once when it begins and once when it ends. Threads: one at a time. */
#ifndef RUNG_SERVICE_LOG_TIME_H
#define RUNG_SERVICE_LOG_TIME_H

#include "service/steady_clock.h"

/* The time, and whether the wall clock is trusted. */
typedef struct rung_hub_time {
    int64_t wall_ms;     /* the wall clock */
    int64_t log_ms;      /* of the next event: the trusted time or, if later, log time */
    int64_t max_jump_ms; /* the difference from which on one of these is set: */
    bool is_held;        /* the wall clock jumped ahead and is not followed */
    bool is_log_ahead;   /* the wall clock is behind log time */
} rung_hub_time;

typedef struct rung_log_time {
    rung_steady_clock clock;
    const rung_dir *dir;          /* where it is saved; NULL: nowhere */
    bool was_held, was_log_ahead; /* as last reported */
    int64_t kept_ms;              /* on the monotonic clock */
    void (*say)(void *ctx, const char *line);
    void *ctx;
} rung_log_time;

/* `dir` NULL: it is not saved. `say` may be NULL. */
void rung_log_time_init(rung_log_time *t, const rung_clock *clock, int64_t max_jump_ms,
                        const rung_dir *dir, void (*say)(void *ctx, const char *line), void *ctx);

static inline int64_t rung_log_time_now(rung_log_time *t) {
    return rung_steady_clock_now(&t->clock);
}

/* `log_ms`: of the state's last event. */
rung_hub_time rung_log_time_look(rung_log_time *t, int64_t log_ms);
void rung_log_time_watch(rung_log_time *t, int64_t log_ms); /* reports what has changed */
/* Save the trusted time for the next run; or only if that is due. */
void rung_log_time_keep(rung_log_time *t);
void rung_log_time_keep_if_due(rung_log_time *t);
/* Trust the wall clock as it is now. Returns whether time was held. */
bool rung_log_time_accept(rung_log_time *t, int64_t log_ms);

#endif
