/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h - rows, windows and outcomes as JSON.
 *
 * These functions write every ranked answer, so a window looks the same from memory and from the archive. The loop's
 * thread, since names come from the state. */
#ifndef RUNG_FRONT_API_ANSWERS_H
#define RUNG_FRONT_API_ANSWERS_H

#include "base/slice.h"
#include "codec/json_writer.h"
#include "model/board.h"
#include "service/ask.h"
#include "state/ratings.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* The text, or null for an empty one. */
static inline void rung_json_write_string_or_null(rung_json_writer *w, rung_slice text) {
    if (text.len)
        rung_json_write_string(w, text);
    else
        rung_json_write_null(w);
}

/* Is the attribute one of the board's scopes, or its teams'? Then its entries show it. */
bool rung_board_ranks_by(const rung_board_def *def, rung_slice attribute);

/* kind, id, starts, ends, closed: as members of an open object. */
void rung_answer_window(rung_json_writer *w, uint32_t kind, rung_slice id, int64_t start_ms,
                        int64_t end_ms, bool closed);

/* board, window, scope, rank_style, total, seq: as members of an open object. */
void rung_answer_head(rung_json_writer *w, const rung_ranking *k);

/* An entry as an object. `among`: `rank` is the rank among friends. */
void rung_answer_row(rung_json_writer *w, const rung_ranking *k, const rung_row *row, bool among);
/* The same for live lists: with its place in the list, from 1, and without the percentile. */
void rung_answer_place(rung_json_writer *w, const rung_ranking *k, const rung_row *row,
                       uint32_t place, bool among);
/* A member `name` with an array of them. */
void rung_answer_rows(rung_json_writer *w, const rung_ranking *k, const char *name,
                      const rung_row *rows, uint32_t count, bool among);

/* A player's rating, as an object. */
void rung_answer_card(rung_json_writer *w, const rung_board_def *def, const rung_rating_card *card);

/* The answer to the match that was applied last, with `st`: board, duplicate, players, seq, as members of an open
 * object. */
void rung_answer_match(rung_json_writer *w, const rung_state *state, rung_slice board,
                       rung_status st, const rung_outcome *outcome);

/* Rules that a submission breaks, as the member `name`. */
void rung_answer_findings(rung_json_writer *w, const rung_board_def *def, const char *name,
                          const rung_finding *findings, uint32_t count);
/* The answer to a submission, as members of an open object. `def` is the board's now. */
void rung_answer_outcome(rung_json_writer *w, const rung_board_def *def, rung_slice player,
                         const rung_outcome *o);

/* One result of a batch, as an object. */
void rung_answer_batch_line(rung_json_writer *w, const rung_column *score, uint64_t line,
                            const rung_outcome *o);

#endif
