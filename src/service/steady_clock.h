/* SPDX-License-Identifier: Apache-2.0 */
/* steady_clock.h - the time of day, unless it jumps ahead.
 *
 * Log time never goes back. So a wall clock that is far ahead for a second would close today's windows and date all
 * later scores wrongly, for good. Therefore the wall clock is compared with CLOCK_BOOTTIME, which cannot be set. If the
 * wall clock has gained more than max_jump_ms since it was last trusted, time is held: it continues by the boot clock
 * from the last trusted time, until the wall clock is back within the bound or an operator accepts it.
 *
 *     trusted --(wall gained more than max_jump_ms)--> held        rung_steady_clock_now
 *     held --(wall is back within the bound)--> trusted            rung_steady_clock_now
 *     held --(an operator says so)--> trusted                      rung_steady_clock_accept
 *
 * A wall clock that is set back is followed; log time stands still meanwhile. The reference stays, so that setting the
 * clock forward again is not a jump. The data folder has the last trusted time with the boot id. So a jump while the
 * server was down is detected, too, unless the machine was rebooted.
 *
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_STEADY_CLOCK_H
#define RUNG_SERVICE_STEADY_CLOCK_H

#include "base/clock.h"
#include "journal/file.h"

#define RUNG_MAX_JUMP_DEFAULT_MS INT64_C(300000)
#define RUNG_CLOCK_FILE          "clock" /* in the data folder */

/* Read-only outside. */
typedef struct rung_steady_clock {
    rung_clock clock;
    int64_t max_jump_ms;
    int64_t trusted_ms, boot_ms; /* the last trusted time, and the boot clock then */
    int64_t wall_ms;             /* as last read */
    bool is_held;
} rung_steady_clock;

/* Trusts the wall clock. max_jump_ms 0: five minutes. A clock without boot_ms is always trusted. */
void rung_steady_clock_init(rung_steady_clock *c, const rung_clock *clock, int64_t max_jump_ms);

int64_t rung_steady_clock_now(rung_steady_clock *c);

/* Trust the wall clock as it is now. Returns whether time was held. */
bool rung_steady_clock_accept(rung_steady_clock *c);

/* Continue from the time trusted by an earlier run since the last boot. A file that is absent, damaged or of another
 * boot is ignored. */
void rung_steady_clock_load(rung_steady_clock *c, const rung_dir *dir);
/* For the next run. Not synced: after a crash of the machine it is useless anyway. */
RUNG_NODISCARD rung_status rung_steady_clock_save(rung_steady_clock *c, const rung_dir *dir,
                                                  rung_err *err);

#endif
