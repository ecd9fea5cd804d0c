/* SPDX-License-Identifier: Apache-2.0 */
/* as_of.h - questions about the past, answered by helper processes that hold the state of one moment each.
 *
 *     rung_as_of_create(&config, &pool, &err);
 *     question->moment = ...; question->request = RUNG_SLICE("/v1/boards/race/top"); question->done = relay;
 *     rung_as_of_put(pool, question, &err);            // question->done() will be called, in the loop
 *     ...
 *     rung_as_of_stop(pool);                           // refuses what waits
 *     while (rung_as_of_is_busy(pool)) ... run the loop ...
 *     rung_as_of_destroy(pool);                        // ends the helpers
 *
 * There are few helpers, and the one that was used least recently makes room for another moment. A question waits for
 * its helper; after wait_ms it is told how far that is (RUNG_REASON_BUILDING), and the helper goes on. Helpers are
 * started at a bounded rate, whoever asks, and senders take turns.
 *
 * Threads: the loop's; the port's look and ask are called in another one. */
#ifndef RUNG_SERVICE_AS_OF_H
#define RUNG_SERVICE_AS_OF_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "guard/rate.h"
#include "service/asker.h"
#include "service/hub.h"
#include "service/past.h"

typedef struct rung_as_of
    rung_as_of; /* heap object; whoever created it calls rung_as_of_destroy() */

#define RUNG_AS_OF_PROCESSES_MAX 16
#define RUNG_AS_OF_WAITING_MAX   256

typedef enum rung_past_protocol {
    RUNG_PAST_HTTP,  /* the request is what follows `GET `: target, version, header fields */
    RUNG_PAST_RESP2, /* the request is a command, as it is sent */
    RUNG_PAST_RESP3,
    RUNG_PAST_PROTOCOLS
} rung_past_protocol;

/* ---- the port ---- */

typedef struct rung_helper rung_helper; /* from start to end */

typedef struct rung_helper_answer {
    int status;       /* of HTTP */
    rung_slice bytes; /* the body, or the reply; valid until the next call */
} rung_helper_answer;

typedef struct rung_helper_port {
    /* Begin to build the state of a moment; quick. */
    rung_status (*start)(void *ctx, const rung_moment *moment, rung_helper **out, rung_err *err);
    /* In another thread. RUNG_OK: it can be asked; RUNG_PARTIAL: not yet; otherwise why it never will. */
    rung_status (*look)(rung_helper *h, uint32_t *percent_out, rung_err *err);
    /* In another thread. RUNG_OK, or why there is no answer: then it is ended. */
    rung_status (*ask)(rung_helper *h, rung_past_protocol protocol, rung_slice request,
                       rung_helper_answer *out, rung_err *err);
    void (*cut)(rung_helper *h); /* make a look or ask in another thread return soon */
    void (*end)(rung_helper *h); /* and free it; not during look or ask */
    void *ctx;
} rung_helper_port;

/* ---- questions ---- */

/* Embedded in the caller's object, which must live until `done`, with what `request` points to. */
typedef struct rung_past_question {
    rung_moment moment;
    rung_past_protocol protocol;
    rung_slice request;
    uint32_t share; /* the sender's, below RUNG_FAIR_SHARES */
    void (*done)(struct rung_past_question *q);
    void *ctx;

    /* In `done`: RUNG_OK and the answer, valid during the call. RUNG_EABSENT with RUNG_REASON_TOO_OLD; RUNG_EINVAL: in
     * the future; RUNG_EBUSY with RUNG_REASON_BUILDING and `percent`; RUNG_ENOMEM; RUNG_EIO; RUNG_ECLOSED. */
    rung_status status;
    rung_err err;
    rung_helper_answer answer;
    uint32_t percent;

    /* Private. */
    int64_t deadline_ms;
    uint64_t turn;
    bool is_asked;
    struct rung_past_question *prev, *next;
} rung_past_question;

typedef struct rung_as_of_config {
    const rung_alloc *alloc;
    const rung_helper_port *port;
    uint32_t processes;   /* 1 to RUNG_AS_OF_PROCESSES_MAX */
    uint32_t idle_ms;     /* a helper that nobody asks for so long ends */
    uint32_t wait_ms;     /* how long a question waits for its helper */
    rung_rate_limit rate; /* of starts; count 0: no limit */
    /* As in rung_asker_config; `helper` is below `processes`. */
    bool (*work)(void *ctx, uint32_t helper, rung_asker_work *w);
    void (*look_in)(void *ctx, uint32_t ms); /* call rung_as_of_look() after `ms` */
    int64_t (*now_ms)(void *ctx);            /* the loop's clock */
    void *ctx;
} rung_as_of_config;

RUNG_NODISCARD rung_status rung_as_of_create(const rung_as_of_config *config, rung_as_of **out,
                                             rung_err *err);
void rung_as_of_destroy(rung_as_of *p); /* not busy; accepts NULL */

/* May the moment be asked about? RUNG_EINVAL with the field as_of: it is in the future; RUNG_EBUSY with
 * RUNG_REASON_BUILDING: it is not over yet. */
RUNG_NODISCARD rung_status rung_as_of_check(rung_hub *hub, const rung_moment *m, rung_err *err);

/* RUNG_OK: `done` will be called, later. RUNG_ELIMIT: too many questions in all or of this sender; RUNG_ECLOSED. */
RUNG_NODISCARD rung_status rung_as_of_put(rung_as_of *p, rung_past_question *q, rung_err *err);
void rung_as_of_look(rung_as_of *p);

void rung_as_of_stop(rung_as_of *p); /* accepts NULL */
bool rung_as_of_is_busy(const rung_as_of *p);

typedef struct rung_as_of_stats {
    uint64_t questions, starts, failures, late;
    uint32_t waiting, helpers;
} rung_as_of_stats;
rung_as_of_stats rung_as_of_stat(const rung_as_of *p);

#endif
