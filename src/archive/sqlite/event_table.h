/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.h - packed score events as a table of SQL: the virtual table `packed_events`.
 *
 *     rung_event_table_register(db);      // then: SELECT * FROM packed_events WHERE player = 'ada'
 *
 * Equality of board and player, and ranges of at_ms and seq, read only the blocks they need. Read-only. Also the
 * loadable extension rung_archive, for other programs: `.load rung_archive` in the shell of SQLite. */
#ifndef RUNG_ARCHIVE_SQLITE_EVENT_TABLE_H
#define RUNG_ARCHIVE_SQLITE_EVENT_TABLE_H

struct sqlite3;

/* For this connection. Returns SQLite's code. */
int rung_event_table_register(struct sqlite3 *db);

#endif
