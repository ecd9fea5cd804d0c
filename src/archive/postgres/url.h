/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - the address of a PostgreSQL archive: postgres://USER:PASSWORD@HOST/DATABASE?schema=NAME&sslmode=verify-full
 *
 * The form of libpq, with one parameter of our own: the schema that has the tables. `shown` is the same address for
 * people: without the password and the parameters. Pure. */
#ifndef RUNG_ARCHIVE_POSTGRES_URL_H
#define RUNG_ARCHIVE_POSTGRES_URL_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>

#define RUNG_POSTGRES_URL_MAX        2048
#define RUNG_POSTGRES_SCHEMA_MAX     40
#define RUNG_POSTGRES_SCHEMA_DEFAULT "rung"

typedef struct rung_postgres_url {
    char libpq[RUNG_POSTGRES_URL_MAX + 1]; /* for libpq: without `schema`. Has the password */
    char shown[RUNG_POSTGRES_URL_MAX + 1];
    char schema[RUNG_POSTGRES_SCHEMA_MAX + 1]; /* a-z, 0-9 and '_' */
} rung_postgres_url;

/* Does it begin with postgres:// or postgresql://? */
bool rung_postgres_url_is(const char *text);

/* RUNG_OK or RUNG_EINVAL with the field "archive". No message has any part of the address. */
RUNG_NODISCARD rung_status rung_postgres_url_parse(const char *text, rung_postgres_url *out,
                                                   rung_err *err);

#endif
