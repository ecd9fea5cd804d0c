/* SPDX-License-Identifier: Apache-2.0 */
/* user_scores.h - the table of current scores: the last result of each player on each board, folded from packed events.
 *
 * An update per event would cost more than the event itself. So the table has a position of its own
 * (event_store.scores_seq) and is brought forward in steps of many events, sorted, when there is time. It can be
 * built again at any time from events: empty it, and set the position to 0. */
#ifndef RUNG_ARCHIVE_SQLITE_USER_SCORES_H
#define RUNG_ARCHIVE_SQLITE_USER_SCORES_H

#include "archive/sqlite/event_store.h"

#ifdef RUNG_TEST_BUILD
#define RUNG_USER_SCORES_BLOCKS 4u
#else
#define RUNG_USER_SCORES_BLOCKS 32u /* of one step: some 12 MB of memory, and less than a second */
#endif

/* Fold the next events into the table, within a transaction. *more_out: there are more. Returns SQLite's code. */
int rung_user_scores_step(struct sqlite3 *db, rung_event_store *events, const rung_alloc *alloc,
                          bool *more_out);

#endif
