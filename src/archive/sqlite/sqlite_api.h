/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_api.h - SQLite's functions: linked, or, in the loadable extension, those of the program that loads it. */
#ifndef RUNG_ARCHIVE_SQLITE_SQLITE_API_H
#define RUNG_ARCHIVE_SQLITE_SQLITE_API_H

#ifdef RUNG_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif
