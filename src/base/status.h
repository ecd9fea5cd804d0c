/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - one list of results for all code.
 *
 * Negative = failed, 0 = done, positive = another expected result. `if (st < 0)` tests for failure. Results come
 * through trailing `*_out` pointers, which are written only on success. Details for people go into a rung_err that
 * the caller owns; it is the last parameter and may be NULL. Plain values, no globals. */
#ifndef RUNG_BASE_STATUS_H
#define RUNG_BASE_STATUS_H

#include <stddef.h>

#define RUNG_STATUS_MAP(X)                                                                         \
    X(TENTATIVE, 5, "waits for a review")                                                          \
    X(PARTIAL, 4, "needs more input")                                                              \
    X(DUPLICATE, 3, "duplicate: the first answer stands")                                          \
    X(UNCHANGED, 2, "nothing changed")                                                             \
    X(NOT_FOUND, 1, "not found")                                                                   \
    X(OK, 0, "done")                                                                               \
    X(ENOMEM, -1, "out of memory")                                                                 \
    X(EINVAL, -2, "not valid")                                                                     \
    X(ERANGE, -3, "out of range")                                                                  \
    X(EREFUSED, -4, "refused by a board rule")                                                     \
    X(ECONFLICT, -5, "same id with a different body")                                              \
    X(ESTALE, -6, "too old to accept safely")                                                      \
    X(ELIMIT, -7, "a configured limit was reached")                                                \
    X(EEXIST, -8, "already exists")                                                                \
    X(EUNSUPPORTED, -9, "not supported")                                                           \
    X(EVERSION, -10, "written by a newer version")                                                 \
    X(ECORRUPT, -11, "damaged data")                                                               \
    X(EIO, -12, "input/output error")                                                              \
    X(ENOSPC, -13, "no space left")                                                                \
    X(EBUSY, -14, "in use by another process")                                                     \
    X(ECLOSED, -15, "closed")                                                                      \
    X(EABSENT, -16, "the named object does not exist")                                             \
    X(EFUTURE, -17, "time too far in the future")                                                  \
    X(EFULL, -18, "memory limit reached")

typedef enum rung_status {
#define X(name, value, text) RUNG_##name = (value),
    RUNG_STATUS_MAP(X)
#undef X
} rung_status;

/* The reason for a failure, where callers must distinguish failures with the same status and field. */
#define RUNG_REASON_MAP(X)                                                                         \
    X(NONE, "status and field say it all")                                                         \
    X(FLAG, "a flag of the command line is wrong, not a file or the environment")                  \
    X(MALFORMED, "the request cannot be read, whatever it is about")                               \
    X(METHOD, "the path does not take this method")                                                \
    X(MEDIA_TYPE, "the body is of a type that is not read")                                        \
    X(TOO_LARGE, "the body, or a part of it, is too large")                                        \
    X(SILENT, "the client sent nothing for too long")                                              \
    X(WEBSOCKET, "the handshake asks for another version")                                         \
    X(UNAUTHORIZED, "no key where one is needed, or not a good one")                               \
    X(FORBIDDEN, "a good key that may not do this")                                                \
    X(SIGNATURE, "a signature that is missing or not right")                                       \
    X(EXPIRED, "a session that is over, or a signed time too far from now")                        \
    X(REPLAYED, "a nonce that was used before")                                                    \
    X(ORIGIN, "pages of this origin may not do this")                                              \
    X(RATE, "too many in too short a time")                                                        \
    X(OVERLOADED, "too much is in flight")                                                         \
    X(CONNECTIONS, "all connections are taken")                                                    \
    X(VIEWERS, "there are as many live viewers as allowed")                                        \
    X(RECOVERING, "the server does not serve yet")                                                 \
    X(LOG_UNAVAILABLE, "the log cannot be reached; the change was not accepted")                   \
    X(OUTCOME_UNKNOWN, "the log may have the change or not; repeat it with the same id")           \
    X(OLDER_SERVERS, "servers of an older version share the log and could not read it")            \
    X(DIVERGED, "the state differs from that of the other servers")                                \
    X(NO_SNAPSHOT, "there is no snapshot yet")                                                     \
    X(RANGE, "the part asked for lies beyond the end")                                             \
    X(SEQ_AHEAD, "the log is far from the sequence that was asked for")                            \
    X(SEQ_BEHIND, "the sequence that was asked for was not reached in time")                       \
    X(NOT_IN_MEMORY, "the state does not hold this window; an archive may")                        \
    X(NOT_ARCHIVED, "the archive does not hold what was asked for")                                \
    X(ARCHIVE, "the archive failed")                                                               \
    X(ARCHIVE_BEHIND, "the archive has not caught up in time")                                     \
    X(TOO_OLD, "the kept log does not reach back to that moment")                                  \
    X(READ_ONLY, "this server shows a moment of the past")                                         \
    X(PAGE_EXPIRED, "a ranking that was read page by page is no longer held")                      \
    X(BUILDING, "the state of that moment is still being built")

typedef enum rung_reason {
#define X(name, text) RUNG_REASON_##name,
    RUNG_REASON_MAP(X)
#undef X
} rung_reason;

/* Details of a failure, in the caller's storage. Programs test `code`, `reason` and `field`. `message` is for people;
 * never compare or parse it. It is the field, ": " and a text, or the text alone. */
typedef struct rung_err {
    rung_status code;
    rung_reason reason;
    int os_errno;      /* 0 when no system call was involved */
    char field[124];   /* the part of the input at fault, such as "limits.min"; "" if none */
    const char *where; /* "file.c:123", static */
    char message[232]; /* without a newline */
} rung_err;

/* "OK", "NOT_FOUND", ...; never NULL. */
const char *rung_status_name(rung_status st);
/* The text of the map; never NULL. */
const char *rung_status_text(rung_status st);

/* Fill `err` (may be NULL) and return `st`. `field` is NULL or the format of the field, which consumes the first
 * arguments; `format` is the format of the message. Called through the macros below:
 *
 *     return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
 *     return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].name", "%d bytes at most", i, MAX); */
rung_status rung_err_set(rung_err *err, rung_status st, rung_reason reason, int os_errno,
                         const char *where, const char *field, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

#define RUNG_STRINGIFY_(x) #x
#define RUNG_STRINGIFY(x)  RUNG_STRINGIFY_(x)
#define RUNG_HERE          __FILE_NAME__ ":" RUNG_STRINGIFY(__LINE__)
#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif
#define RUNG_FAIL(err, st, ...) RUNG_FAIL_WHY(err, st, RUNG_REASON_NONE, __VA_ARGS__)
#define RUNG_FAIL_WHY(err, st, reason, ...)                                                        \
    rung_err_set((err), (st), (reason), 0, RUNG_HERE, NULL, __VA_ARGS__)
#define RUNG_FAIL_OS(err, st, os_errno, ...)                                                       \
    rung_err_set((err), (st), RUNG_REASON_NONE, (os_errno), RUNG_HERE, NULL, __VA_ARGS__)
/* `field` and the format after it are literals. */
#define RUNG_FAIL_FIELD(err, st, field, ...)                                                       \
    RUNG_FAIL_FIELD_WHY(err, st, RUNG_REASON_NONE, field, __VA_ARGS__)
#define RUNG_FAIL_FIELD_WHY(err, st, reason, field, ...)                                           \
    rung_err_set((err), (st), (reason), 0, RUNG_HERE, field, field ": " __VA_ARGS__)

#define RUNG_NODISCARD __attribute__((warn_unused_result))

/* Discard a status on purpose, and say why. */
static inline void rung_ignore(rung_status st, const char *why) {
    (void)st;
    (void)why;
}

#endif
