/* SPDX-License-Identifier: Apache-2.0 */
/* libpq without blocking: every wait is a poll() on the socket and on an eventfd that interrupts it. Only the lookup
 * of a host's name may block longer (getaddrinfo). */
#define _GNU_SOURCE
#include "archive/postgres/connection.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
    BINARY = 1,
    COPY_PIECE = 1 << 16, /* handed to libpq at once */
    TEXT_MAX = 160,       /* of a message from the server */
};

/* ---- failures ---- */

static rung_status status_of(const char *state) {
    if (!state)
        return RUNG_EIO;
    if (strcmp(state, "53100") == 0) /* disk full */
        return RUNG_ENOSPC;
    if (strcmp(state, "55P03") == 0 || strncmp(state, "40", 2) == 0) /* lock, deadlock */
        return RUNG_EBUSY;
    if (strncmp(state, "23", 2) == 0 || strncmp(state, "42P", 3) == 0 ||
        strcmp(state, "42703") == 0) /* a key occurs twice; no such table or column */
        return RUNG_ECORRUPT;
    return RUNG_EIO;
}

/* The last line of `text` that is not a hint, which is indented: with several addresses there is a line for each. */
static void one_line(const char *text, char out[TEXT_MAX]) {
    out[0] = '\0';
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len && *text != '\t')
            snprintf(out, TEXT_MAX, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

void rung__pg_drop(rung__pg *c) {
    PQfinish(c->conn);
    c->conn = NULL;
}

/* The transport failed: the connection is gone. */
static rung_status lost(rung__pg *c, rung_err *err) {
    char why[TEXT_MAX];
    one_line(c->conn ? PQerrorMessage(c->conn) : "", why);
    rung__pg_drop(c);
    return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL: %s", why[0] ? why : "connection lost");
}

/* The server refused a statement. Only the first line of its message: details may have values of rows. */
static rung_status refused(rung__pg *c, const PGresult *r, rung_err *err) {
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    char text[TEXT_MAX];
    if (!state || PQstatus(c->conn) != CONNECTION_OK)
        return lost(c, err);
    one_line(message ? message : "", text);
    return RUNG_FAIL(err, status_of(state), "archive: PostgreSQL: %s (%s)", text, state);
}

/* ---- waiting ---- */

rung_status rung__pg_init(rung__pg *c, rung_err *err) {
    c->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->interrupt_fd < 0)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "archive: %s", strerror(errno));
    return RUNG_OK;
}

void rung__pg_deinit(rung__pg *c) {
    rung__pg_drop(c);
    if (c->interrupt_fd >= 0)
        close(c->interrupt_fd);
    c->interrupt_fd = -1;
}

void rung__pg_limit(rung__pg *c, uint32_t ms) {
    c->limit_ms = ms;
    c->deadline_ms = rung_clock_monotonic_ms(NULL) + ms;
}

void rung__pg_interrupt(rung__pg *c) {
    const uint64_t one = 1;
    c->is_interrupted = true;
    if (write(c->interrupt_fd, &one, sizeof one) < 0)
        return; /* full: it is readable already */
}

/* Wait until the socket is ready for `events`. A failure has ended the connection. */
static rung_status await(rung__pg *c, short events, rung_err *err) {
    for (;;) {
        int64_t left = c->deadline_ms - rung_clock_monotonic_ms(NULL);
        struct pollfd fds[2] = {{.fd = PQsocket(c->conn), .events = events},
                                {.fd = c->interrupt_fd, .events = POLLIN}};
        int n = left > 0 ? poll(fds, 2, (int)left) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (c->is_interrupted) {
            rung__pg_drop(c);
            return RUNG_FAIL(err, RUNG_ECLOSED, "archive: interrupted");
        }
        if (n > 0)
            return RUNG_OK;
        rung__pg_drop(c);
        return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL did not answer within %u ms",
                         c->limit_ms);
    }
}

/* ---- connecting ---- */

static rung_status poll_connect(rung__pg *c, rung_err *err) {
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED || PQsocket(c->conn) < 0)
            return lost(c, err);
        rung_status st = await(c, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, err);
        if (st < 0)
            return st;
        next = PQconnectPoll(c->conn);
    }
    return RUNG_OK;
}

static void ignore_notice(void *arg, const PGresult *r) {
    (void)arg;
    (void)r;
}

rung_status rung__pg_open(rung__pg *c, rung_err *err) {
    if (c->conn)
        return RUNG_OK;
    if (c->is_interrupted)
        return RUNG_FAIL(err, RUNG_ECLOSED, "archive: interrupted");
    /* What the address says replaces what comes before it. */
    const char *keys[] = {"target_session_attrs",
                          "keepalives_idle",
                          "keepalives_interval",
                          "keepalives_count",
                          "tcp_user_timeout",
                          "fallback_application_name",
                          "dbname",
                          "client_encoding",
                          NULL};
    const char *values[] = {
        c->is_writer ? "read-write" : "any", "10", "5", "3", "30000", "rung", c->url, "UTF8", NULL};
    c->conn = PQconnectStartParams(keys, values, 1);
    if (!c->conn)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    if (PQstatus(c->conn) == CONNECTION_BAD)
        return lost(c, err);
    PQsetNoticeReceiver(c->conn, ignore_notice, NULL);
    rung_status st = poll_connect(c, err);
    if (st == RUNG_OK && PQsetnonblocking(c->conn, 1) != 0)
        st = lost(c, err);
    if (st == RUNG_OK)
        st = rung__pg_script(c, c->session, NULL, err);
    if (st < 0)
        rung__pg_drop(c);
    return st;
}

/* ---- statements ---- */

/* Send what libpq has buffered; reads meanwhile, since a server that cannot write does not read. */
static rung_status flush(rung__pg *c, rung_err *err) {
    int left;
    while ((left = PQflush(c->conn)) > 0) {
        rung_status st = await(c, POLLIN | POLLOUT, err);
        if (st < 0)
            return st;
        if (!PQconsumeInput(c->conn))
            return lost(c, err);
    }
    return left < 0 ? lost(c, err) : RUNG_OK;
}

/* The next result; NULL: no more. */
static rung_status next_result(rung__pg *c, PGresult **out, rung_err *err) {
    while (PQisBusy(c->conn)) {
        rung_status st = await(c, POLLIN, err);
        if (st < 0)
            return st;
        if (!PQconsumeInput(c->conn))
            return lost(c, err);
    }
    *out = PQgetResult(c->conn);
    return RUNG_OK;
}

static bool is_good(const PGresult *r) {
    ExecStatusType s = PQresultStatus(r);
    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

/* All results of what was sent: the last one, or the first failure. */
static rung_status finish(rung__pg *c, PGresult **result_out, rung_err *err) {
    PGresult *last = NULL, *r = NULL;
    rung_status st = flush(c, err), failed = RUNG_OK;
    while (st == RUNG_OK && (st = next_result(c, &r, err)) == RUNG_OK && r) {
        if (failed == RUNG_OK && !is_good(r))
            failed = refused(c, r, err);
        PQclear(last);
        last = r;
        if (!c->conn) /* the failure ended it */
            break;
    }
    st = failed < 0 ? failed : st;
    if (st == RUNG_OK && result_out)
        *result_out = last;
    else
        PQclear(last);
    return st;
}

rung_status rung__pg_run(rung__pg *c, const char *sql, const rung__pg_arg *args, int count,
                         PGresult **result_out, rung_err *err) {
    static const Oid types[] = {0, OID_INT8, OID_TEXT, OID_BYTEA, 0};
    Oid oids[RUNG__PG_ARGS_MAX];
    const char *values[RUNG__PG_ARGS_MAX];
    int lengths[RUNG__PG_ARGS_MAX], formats[RUNG__PG_ARGS_MAX];
    uint64_t numbers[RUNG__PG_ARGS_MAX];
    if (!c->conn)
        return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL: connection lost");
    for (int i = 0; i < count; i++) {
        bool is_int = args[i].type == RUNG__PG_INT;
        numbers[i] = __builtin_bswap64((uint64_t)args[i].number);
        oids[i] = args[i].type == RUNG__PG_ARRAY ? args[i].array_type : types[args[i].type];
        values[i] = args[i].type == RUNG__PG_NULL ? NULL
                    : is_int                      ? (const char *)&numbers[i]
                    : args[i].bytes.len           ? args[i].bytes.ptr
                                                  : "";
        lengths[i] = is_int ? 8 : (int)args[i].bytes.len;
        formats[i] = BINARY;
    }
    if (!PQsendQueryParams(c->conn, sql, count, oids, values, lengths, formats, 0))
        return lost(c, err);
    return finish(c, result_out, err);
}

rung_status rung__pg_script(rung__pg *c, const char *sql, PGresult **result_out, rung_err *err) {
    if (!c->conn)
        return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL: connection lost");
    return PQsendQuery(c->conn, sql) ? finish(c, result_out, err) : lost(c, err);
}

/* ---- COPY ---- */

static rung_status put(rung__pg *c, const char *bytes, size_t len, rung_err *err) {
    while (len) {
        size_t n = len < COPY_PIECE ? len : COPY_PIECE;
        int rc = PQputCopyData(c->conn, bytes, (int)n);
        if (rc < 0)
            return lost(c, err);
        bytes += rc ? n : 0;
        len -= rc ? n : 0;
        rung_status st = flush(c, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static rung_status end_copy(rung__pg *c, rung_err *err) {
    for (;;) {
        int rc = PQputCopyEnd(c->conn, NULL);
        if (rc > 0)
            return RUNG_OK;
        rung_status st = rc < 0 ? lost(c, err) : flush(c, err);
        if (st < 0)
            return st;
    }
}

rung_status rung__pg_copy(rung__pg *c, const char *sql, const rung_buffer *rows, rung_err *err) {
    static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0", trailer[] = "\377\377";
    PGresult *r = NULL;
    if (!c->conn)
        return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL: connection lost");
    if (!PQsendQuery(c->conn, sql))
        return lost(c, err);
    rung_status st = flush(c, err);
    if (st == RUNG_OK)
        st = next_result(c, &r, err);
    if (st < 0)
        return st;
    bool is_ready = PQresultStatus(r) == PGRES_COPY_IN;
    if (!is_ready)
        st = refused(c, r, err);
    PQclear(r);
    if (!is_ready) {
        if (c->conn)
            rung_ignore(finish(c, NULL, NULL), "it was refused already");
        return st;
    }
    st = put(c, header, 19, err);
    if (st == RUNG_OK)
        st = put(c, rows->data, rows->len, err);
    if (st == RUNG_OK)
        st = put(c, trailer, 2, err);
    if (st == RUNG_OK)
        st = end_copy(c, err);
    return st < 0 ? st : finish(c, NULL, err);
}
