/* SPDX-License-Identifier: Apache-2.0 */
/* calendar.h - which hour, day, week, month or year of a zone contains an instant, and when that window begins and
 * ends.
 *
 * A window is a kind and an ordinal, counted in local civil time. It starts at the earliest instant at which local
 * time is at or past its civil start, and ends where the next one starts. So windows are contiguous and ordered, and
 * every instant is in exactly one:
 *   - the hour that repeats when clocks go back is one window of two hours; a day can have 23 or 25 hours;
 *   - a day that a zone skipped is an empty window;
 *   - if local time runs back across midnight, everything after the first crossing belongs to the new day.
 * Windows without a calendar (all of time, named seasons) are handled elsewhere.
 *
 *   rung_window w;
 *   st = rung_window_at(RUNG_WINDOW_DAY, zone, 0, at_ms, &w);   // w.start_ms <= at_ms < w.end_ms
 *
 * Instants are Unix milliseconds, in the years 1900 to 9999. Pure functions; any thread. */
#ifndef RUNG_MODEL_CALENDAR_H
#define RUNG_MODEL_CALENDAR_H

#include "base/slice.h"
#include "base/status.h"
#include "model/words.h"
#include "model/zone.h"

#include <stdint.h>

#define RUNG_YEAR_MIN       1900
#define RUNG_YEAR_MAX       9999
#define RUNG_DAY_STARTS_MAX 1439 /* minutes after midnight */
#define RUNG_WINDOW_ID_MAX  32   /* any window id, including its NUL */
#define RUNG_TIME_TEXT_MAX  32

typedef struct rung_window {
    int64_t ordinal;
    int64_t start_ms, end_ms; /* [start, end); equal for a window that local time skipped */
} rung_window;

/* The window that contains `at_ms`. `day_starts_min` (0 to RUNG_DAY_STARTS_MAX) shifts the start of days, weeks,
 * months and years to after midnight; hours ignore it. RUNG_ERANGE outside the supported years. Takes tens of
 * nanoseconds; a caller with many instants should keep the window and compare. */
RUNG_NODISCARD rung_status rung_window_at(rung_window_kind kind, const rung_zone *zone,
                                          int day_starts_min, int64_t at_ms,
                                          rung_window *window_out);

/* The window with this ordinal. RUNG_ERANGE outside the supported years. */
RUNG_NODISCARD rung_status rung_window_span(rung_window_kind kind, int64_t ordinal,
                                            const rung_zone *zone, int day_starts_min,
                                            rung_window *window_out);

/* Write the id, in local dates. Returns its length. The ordinal must come from a function here. */
size_t rung_window_id_format(rung_window_kind kind, int64_t ordinal, char out[RUNG_WINDOW_ID_MAX]);

/* The window that `id` names or, if that is empty, the one that the date `on` is in. */
RUNG_NODISCARD rung_status rung_window_find(rung_window_kind kind, rung_slice id, rung_slice on,
                                            int64_t *ordinal_out, rung_err *err);

/* Accepts exactly what rung_window_id_format() writes. RUNG_EINVAL, or RUNG_ERANGE outside the supported years. */
RUNG_NODISCARD rung_status rung_window_id_parse(rung_window_kind kind, rung_slice id,
                                                int64_t *ordinal_out, rung_err *err);

/* The window of a local date, "YYYY-MM-DD" or "YYYY-MM-DDTHH" (without an hour: the first of the day). */
RUNG_NODISCARD rung_status rung_window_on(rung_window_kind kind, rung_slice date,
                                          int64_t *ordinal_out, rung_err *err);

/* RFC 3339: "2026-11-15T14:00:00Z", or with an offset instead of Z, and with an optional fraction of 1 to 9 digits,
 * which is truncated to milliseconds. T and Z in either case. A leap second (:60) at the end of a UTC day counts as
 * the next second. RUNG_EINVAL, or RUNG_ERANGE outside the supported years. */
RUNG_NODISCARD rung_status rung_time_parse(rung_slice text, int64_t *at_ms_out, rung_err *err);

/* "2026-11-15T14:00:00.000Z", always with milliseconds, so that texts sort like times. Returns the length.
 * RUNG_TIME_MS_MIN <= at_ms < RUNG_TIME_MS_END. */
size_t rung_time_format(int64_t at_ms, char out[RUNG_TIME_TEXT_MAX]);

#define RUNG_TIME_MS_MIN (-2208988800000LL)  /* 1900-01-01T00:00:00Z */
#define RUNG_TIME_MS_END (253402300800000LL) /* 10000-01-01T00:00:00Z */

#endif
