/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables of the PostgreSQL archive, as steps: step i brings a schema of version i to version i + 1.
 * docs/formats/postgres.md explains them. A step that has been released never changes; new ones are added. */
#ifndef RUNG_ARCHIVE_POSTGRES_SCHEMA_H
#define RUNG_ARCHIVE_POSTGRES_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#define RUNG__POSTGRES_VERSION 2 /* max(version) of schema_migrations when up to date */

/* The statements of step 0 .. RUNG__POSTGRES_VERSION - 1. */
const char *rung__postgres_step(int step);

/* Tables with one partition per month of ts_ms, from 2020 to 2119; earlier and later rows share one each. */
enum { RUNG__PARTITIONED = 2, RUNG__PARTITION_SQL_MAX = 512 };
extern const char *const rung__partitioned[RUNG__PARTITIONED];

/* The month of a time, counted from January 2020; -1: it has no partition of its own. */
int rung__partition_month(int64_t ts_ms);
/* When a month begins, and the one after the last ends. */
int64_t rung__partition_start_ms(int month);
/* Has the month after it a partition of its own? */
bool rung__partition_has_next(int month);
/* The partition's name, such as "score_events_2026_11". */
void rung__partition_name(const char *table, int month, char out[64]);
/* Create and attach it. Readers of the table are not locked out. */
void rung__partition_sql(const char *table, int month, char out[RUNG__PARTITION_SQL_MAX]);

#endif
