/* SPDX-License-Identifier: Apache-2.0 */
/* The loadable extension rung_archive: shows other programs the packed events of an archive. */
#include "archive/sqlite/event_table.h"

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

/* SQLite finds it by the name of the file. */
__attribute__((visibility("default"))) int
sqlite3_rungarchive_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_rungarchive_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    (void)message;
    SQLITE_EXTENSION_INIT2(api)
    return rung_event_table_register(db);
}
