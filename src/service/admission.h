/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - checks by this server's settings before a valid change is logged.
 *
 * They are not part of the state machine, since a log must give the same state on every server. Pure; any thread. */
#ifndef RUNG_SERVICE_ADMISSION_H
#define RUNG_SERVICE_ADMISSION_H

#include "base/alloc.h"
#include "state/state.h"

#define RUNG_AT_AHEAD_DEFAULT_MS INT64_C(60000)

/* RUNG_OK, or RUNG_EFUTURE for a submission or match whose `at` is more than ahead_ms (0: the default) after the
 * later of the event's and the state's time. A window that far ahead would stay open until then. */
static inline rung_status rung_admit(const rung_event *event, const rung_state *state,
                                     int64_t ahead_ms, rung_err *err) {
    bool is_match = event->kind == RUNG_EVENT_MATCH;
    if (is_match ? !event->match.has_at : event->kind != RUNG_EVENT_SCORE || !event->score.has_at)
        return RUNG_OK;
    int64_t now_ms = rung_state_time(state);
    int64_t at_ms = is_match ? event->match.at_ms : event->score.at_ms;
    now_ms = now_ms < event->ts_ms ? event->ts_ms : now_ms;
    ahead_ms = ahead_ms ? ahead_ms : RUNG_AT_AHEAD_DEFAULT_MS;
    if (at_ms <= now_ms || at_ms - now_ms <= ahead_ms)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EFUTURE, "at", "more than %lld ms ahead of the server's time",
                           (long long)ahead_ms);
}

/* A limit for the state's memory. */
typedef struct rung_memory_limit {
    const rung_alloc_meter *meter; /* the state's */
    uint64_t max;                  /* 0: no limit */
    uint64_t refused;
} rung_memory_limit;

/* An upper estimate of what a queued change adds to the state: a new player or key, and its bytes. */
enum { RUNG__GROWTH_EACH = 1024, RUNG__GROWTH_FACTOR = 4 };
RUNG_NODISCARD rung_status rung__memory_limit_reached(rung_memory_limit *limit,
                                                      const rung_state *state,
                                                      const rung_event *event, rung_err *err);

/* RUNG_OK, or RUNG_EFULL for an event that makes the state larger while the state, with the queued changes, is at the
 * limit. Removals and ticks always pass, since they free memory. */
RUNG_NODISCARD static inline rung_status
rung_memory_limit_check(rung_memory_limit *limit, const rung_state *state, const rung_event *event,
                        uint64_t waiting, uint64_t waiting_bytes, rung_err *err) {
    uint64_t coming = waiting * RUNG__GROWTH_EACH + waiting_bytes * RUNG__GROWTH_FACTOR;
    if (!limit->max || limit->meter->used + coming < limit->max)
        return RUNG_OK;
    return rung__memory_limit_reached(limit, state, event, err);
}

#endif
