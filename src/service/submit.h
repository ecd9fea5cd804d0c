/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - a score on its way to the log: the same checks in the same order, whoever sends it and how.
 *
 *     const rung_board_def *def;
 *     rung_score_event *e = &event.score;                              // in place: nothing is copied
 *     rung_submit_open(&service, &who, board, now_ms, &def, &why);     // 1. may they, 2. is there such a board
 *     rung_submit_value(def, 0, RUNG_SLICE("12.5"), e, &why.err);      // 3. values, by the board's columns
 *     rung_submit_put(&service, from, &event, now_ms, answer, ctx, &why);  // 4. limits, 5. the hub
 *
 * A door translates its bytes to these calls and their refusals to its own words. Alike submissions in a row (a
 * pipeline of ZADD) need 1 and 2 once, as long as neither state nor keys change between them. No memory, no copies.
 *
 * A refusal is a negative status with why->err; when it is access that refused, why->verdict says so, and
 * why->rate.retry_s how long to wait. Thread: the owner of the state. */
#ifndef RUNG_SERVICE_SUBMIT_H
#define RUNG_SERVICE_SUBMIT_H

#include "service/service.h"

/* May `who` (NULL: that has been asked) submit to the board, and what is it? RUNG_OK: *def_out is set, until the next
 * change of the state. RUNG_EREFUSED with a verdict; RUNG_EABSENT: no such board. */
RUNG_NODISCARD rung_status rung_submit_open(const rung_service *s, rung_who *who, rung_slice board,
                                            int64_t now_ms, const rung_board_def **def_out,
                                            rung_access_answer *why);

/* Put the value of a column (0: the score, or the delta if e->is_delta) into the event. RUNG_EINVAL or RUNG_ERANGE:
 * what a board of this definition cannot take; `err` says why, and leaves it to the door to name the field. */
RUNG_NODISCARD rung_status rung_submit_value(const rung_board_def *def, uint32_t column,
                                             rung_slice text, rung_score_event *e, rung_err *err);

/* The last checks of a submission: its time, the size of a sum's part, the player's limit. For a door that puts several
 * in one event (ZADD of many members). RUNG_ELIMIT with a verdict: the player's limit. */
RUNG_NODISCARD rung_status rung_submit_check(const rung_service *s, const rung_score_event *e,
                                             int64_t now_ms, rung_access_answer *why);

/* Propose the submission: rung_commit_put() behind these checks. RUNG_OK: `answer` will be called. RUNG_ELIMIT
 * with a verdict: the player's limit; without one the hub has no room. */
RUNG_NODISCARD static inline rung_status rung_submit_put(const rung_service *s,
                                                         rung_hub_sender from, rung_event *event,
                                                         int64_t now_ms, rung_hub_answer *answer,
                                                         void *ctx, rung_access_answer *why) {
    rung_status st = rung_submit_check(s, &event->score, now_ms, why);
    if (st < 0)
        return st;
    return rung_commit_put(rung_hub_commit(s->hub), from, event, NULL, answer, ctx, &why->err);
}

#endif
