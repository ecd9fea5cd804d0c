/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile_pass.h - a server checks itself now and then: `rung reconcile` in a process of its own compares the kept
 * log with the snapshots, with the closed windows of the archive, and with the state's digest of a moment ago. It takes
 * a quarter of a core at the lowest priority, and ends with the server. It changes nothing. The loop's thread. */
#ifndef RUNG_APP_RECONCILE_PASS_H
#define RUNG_APP_RECONCILE_PASS_H

#include "app/config.h"
#include "front/api/api.h"
#include "state/state.h"

#include <sys/types.h>

typedef struct rung__reconcile_pass {
    const rung_settings *settings; /* NULL: there are no passes */
    uint64_t memory_max;           /* of each of its two states */
    void (*say)(void *ctx, const char *line);
    void *ctx;
    int64_t due_ms; /* of the monotonic clock: when the next one begins */
    pid_t pid;      /* 0: none is running */
    int fd;         /* its output */
    char text[4096];
    size_t len;
    rung_api_reconcile_stat stat;
} rung__reconcile_pass;

void rung__reconcile_pass_init(rung__reconcile_pass *p, const rung_settings *settings,
                               uint64_t memory_max, void (*say)(void *ctx, const char *line),
                               void *ctx);
/* Ten times a second: begin a pass when one is due, and take note of its end. */
void rung__reconcile_pass_tick(rung__reconcile_pass *p, const rung_state *state);
/* Kill a pass that is running. */
void rung__reconcile_pass_end(rung__reconcile_pass *p);

#endif
