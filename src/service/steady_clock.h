/* SPDX-License-Identifier: Apache-2.0 */
/* steady_clock.h - the time of day, unless it jumps ahead.
 *
 * Log time never runs back, so a wall clock that is wrong for a second and far ahead would close today's windows and
 * date every later score with that day, for good. The wall clock is therefore held against one that cannot be set and
 * that runs on while the machine sleeps (CLOCK_BOOTTIME). Where the wall clock has gained more than max_jump_ms on it
 * since it was last trusted, time is held: it goes on by the other clock from the last trusted time, until the wall
 * clock is back within the bound or an operator accepts it.
 *
 *     trusted --(wall gained more than max_jump_ms)--> held        rung_steady_clock_now
 *     held --(wall is back within the bound)--> trusted            rung_steady_clock_now
 *     held --(an operator says so)--> trusted                      rung_steady_clock_accept
 *
 * A wall clock that is set back is followed; log time then stays where it was. The reference is not moved by that, so
 * that the way back is no jump. What was trusted last is kept in a file of the data folder, with the id of the boot: a
 * jump while the server was down is found, too, unless the machine was started anew; then the wall clock is believed.
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
    int64_t trusted_ms, boot_ms; /* the last trusted time, and the other clock then */
    int64_t wall_ms;             /* as it was last read */
    bool is_held;
} rung_steady_clock;

/* The wall clock is trusted as it is. max_jump_ms 0: five minutes. A clock without boot_ms is followed blindly. */
void rung_steady_clock_init(rung_steady_clock *c, const rung_clock *clock, int64_t max_jump_ms);

int64_t rung_steady_clock_now(rung_steady_clock *c);

/* Trust the wall clock as it is now. Was time held? */
bool rung_steady_clock_accept(rung_steady_clock *c);

/* Go on from what another life in this boot of the machine trusted. A file that is absent, of another boot or damaged
 * is passed over: the wall clock stays trusted. */
void rung_steady_clock_load(rung_steady_clock *c, const rung_dir *dir);
/* For the next life. Not synced: after a crash of the machine it means nothing. */
RUNG_NODISCARD rung_status rung_steady_clock_save(rung_steady_clock *c, const rung_dir *dir,
                                                  rung_err *err);

#endif
