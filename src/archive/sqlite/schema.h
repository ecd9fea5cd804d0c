/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables of the SQLite archive, as steps: step i brings a file of version i to version i + 1.
 * docs/formats/archive.md explains them. A step that has been released never changes; new ones are added. */
#ifndef RUNG_ARCHIVE_SQLITE_SCHEMA_H
#define RUNG_ARCHIVE_SQLITE_SCHEMA_H

#define RUNG_ARCHIVE_SCHEMA_VERSION 8          /* PRAGMA user_version of an up-to-date file */
#define RUNG_ARCHIVE_APPLICATION_ID 0x52756e67 /* "Rung" */

/* The statements of step 0 .. RUNG_ARCHIVE_SCHEMA_VERSION - 1. */
const char *rung__archive_schema_step(int step);

#endif
