/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one connection to PostgreSQL whose every wait ends: at a deadline, or when another thread interrupts.
 *
 *     rung__pg_limit(c, 5000);                                        // everything below within 5 s
 *     rung__pg_open(c, &err);
 *     rung__pg_run(c, "SELECT ...", args, count, &result, &err);      // PQclear(result)
 *     rung__pg_copy(c, "COPY t FROM STDIN (FORMAT binary)", &rows, &err);
 *
 * Not connected is a normal state: rung__pg_open() connects again. A failure of the transport, a deadline and an
 * interruption end the connection, and with it the transaction and its locks. Messages never have the password, nor
 * any value of a row.
 * Threads: one at a time; rung__pg_interrupt() from any. */
#ifndef RUNG_ARCHIVE_POSTGRES_CONNECTION_H
#define RUNG_ARCHIVE_POSTGRES_CONNECTION_H

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rung__pg {
    const char *url, *shown; /* borrowed */
    char session[512];       /* SQL for every new connection */
    bool is_writer;          /* needs a server that takes changes */
    PGconn *conn;            /* NULL: not connected */
    int64_t deadline_ms;     /* of the monotonic clock */
    uint32_t limit_ms;       /* as given */
    int interrupt_fd;
    _Atomic bool is_interrupted;
} rung__pg;

/* RUNG_OK or RUNG_EIO: no file descriptor. Nothing is connected. */
RUNG_NODISCARD rung_status rung__pg_init(rung__pg *c, rung_err *err);
void rung__pg_deinit(rung__pg *c);

/* A deadline for what follows, from now on. */
void rung__pg_limit(rung__pg *c, uint32_t ms);
/* Let the call in progress fail, and all later ones. */
void rung__pg_interrupt(rung__pg *c);

/* Connect unless connected. RUNG_OK, or RUNG_EIO: not now. */
RUNG_NODISCARD rung_status rung__pg_open(rung__pg *c, rung_err *err);
void rung__pg_drop(rung__pg *c); /* end the connection, if there is one */

/* The value of a parameter $1, $2, ... Bytes are borrowed. */
typedef struct rung__pg_arg {
    enum { RUNG__PG_NULL, RUNG__PG_INT, RUNG__PG_TEXT, RUNG__PG_BYTES, RUNG__PG_ARRAY } type;
    int64_t number;
    rung_slice bytes; /* ARRAY: in the binary form */
    Oid array_type;
} rung__pg_arg;

enum { RUNG__PG_ARGS_MAX = 24 };

/* Run one statement. `result_out` may be NULL. Failures by SQLSTATE: RUNG_ENOSPC, RUNG_EBUSY (a lock), RUNG_ECORRUPT
 * (a table is missing, a key would occur twice), else RUNG_EIO. */
RUNG_NODISCARD rung_status rung__pg_run(rung__pg *c, const char *sql, const rung__pg_arg *args,
                                        int count, PGresult **result_out, rung_err *err);
/* Run statements without parameters in one round trip. `result_out` may be NULL: the last one's. */
RUNG_NODISCARD rung_status rung__pg_script(rung__pg *c, const char *sql, PGresult **result_out,
                                           rung_err *err);
/* Send rows (copy_row.h) to COPY ... FROM STDIN (FORMAT binary). */
RUNG_NODISCARD rung_status rung__pg_copy(rung__pg *c, const char *sql, const rung_buffer *rows,
                                         rung_err *err);

#endif
