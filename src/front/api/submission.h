/* SPDX-License-Identifier: Apache-2.0 */
/* submission.h - one submission: from its JSON to the event.
 *
 *     rung_submission_read(&rung_submission_schema, text, len, &r, slots, &err);   // its form
 *     ... find the board ...
 *     rung_submission_fill(slots, board, def, &r, &event, &err);                   // its values, by the board's types
 *
 * Two steps, because a line of a batch names its board in a field. Allocates nothing; about 0.3 us in all.
 * Pure; one thread at a time per reader. */
#ifndef RUNG_FRONT_API_SUBMISSION_H
#define RUNG_FRONT_API_SUBMISSION_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/schema.h"
#include "front/api/schemas.h"
#include "model/event.h"

/* Check the object in `text` and fill the slots. Changes `text`, which lives as long as the slots. */
RUNG_NODISCARD rung_status rung_submission_read(const rung_schema *schema, char *text, size_t len,
                                                rung_json *r, rung_slot slots[SCORE_FIELDS],
                                                rung_err *err);

/* Fill `event` (except ts_ms) from the slots. Texts borrow from slots and `board`. RUNG_EINVAL or RUNG_ERANGE naming
 * the field: the board cannot take it. */
RUNG_NODISCARD rung_status rung_submission_fill(const rung_slot slots[SCORE_FIELDS],
                                                rung_slice board, const rung_board_def *def,
                                                rung_json *r, rung_event *event, rung_err *err);

#endif
