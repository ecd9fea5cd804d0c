/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - the submission of a score: the same checks in the same order for every protocol.
 *
 *     const rung_board_def *def;
 *     rung_score_event *e = &event.score;                              // in place: nothing is copied
 *     rung_submit_open(&service, &who, board, now_ms, &def, &why);     // 1. access, 2. the board
 *     rung_submit_value(def, 0, RUNG_SLICE("12.5"), e, &why.err);      // 3. values, by the board's columns
 *     rung_submit_put(&service, &who, from, &event, now_ms, answer, ctx, &why);  // 4. limits, 5. the hub
 *
 * A protocol translates its bytes to these calls, and refusals to its own errors. A pipeline of submissions to one
 * board needs 1 and 2 once, as long as neither state nor keys change. Nothing is allocated or copied.
 *
 * A refusal is a negative status with why->err. If access was refused, why->verdict is set, and why->rate.retry_s is
 * the time to wait. Thread: the owner of the state. */
#ifndef RUNG_SERVICE_SUBMIT_H
#define RUNG_SERVICE_SUBMIT_H

#include "service/service.h"

/* Check access (`who` NULL: already checked) and find the board. *def_out is valid until the state changes.
 * RUNG_EREFUSED with a verdict; RUNG_EABSENT: no such board. */
RUNG_NODISCARD rung_status rung_submit_open(const rung_service *s, rung_who *who, rung_slice board,
                                            int64_t now_ms, const rung_board_def **def_out,
                                            rung_access_answer *why);

/* Parse the value of a column (0: the score, or the delta if e->is_delta) into the event. RUNG_EINVAL or RUNG_ERANGE;
 * `err` does not name the field, the caller does. */
RUNG_NODISCARD rung_status rung_submit_value(const rung_board_def *def, uint32_t column,
                                             rung_slice text, rung_score_event *e, rung_err *err);

/* The last checks: time, range of summands, the rates of the player and of the sender's address (`who` NULL: it has
 * none). For a caller that puts several submissions in one event (ZADD of many members). RUNG_ELIMIT with a verdict: a
 * rate. */
RUNG_NODISCARD rung_status rung_submit_check(const rung_service *s, const rung_who *who,
                                             const rung_score_event *e, int64_t now_ms,
                                             rung_access_answer *why);

/* A dry run of the board's limits and rules: what would happen to the submission now. A negative status: it would not
 * reach the log. `err` says why, also for a refusal that is in `out`. */
RUNG_NODISCARD rung_status rung_submit_judge(const rung_service *s, const rung_event *event,
                                             int64_t now_ms, rung_judgement *out, rung_err *err);

/* These checks, then rung_commit_put(). RUNG_ELIMIT with a verdict: a rate; without one: too much is in
 * flight. */
RUNG_NODISCARD static inline rung_status rung_submit_put(const rung_service *s, const rung_who *who,
                                                         rung_hub_sender from, rung_event *event,
                                                         int64_t now_ms, rung_hub_answer *answer,
                                                         void *ctx, rung_access_answer *why) {
    rung_status st = rung_submit_check(s, who, &event->score, now_ms, why);
    if (st < 0)
        return st;
    return rung_commit_put(rung_hub_commit(s->hub), from, event, NULL, answer, ctx, &why->err);
}

#endif
