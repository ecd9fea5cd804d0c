/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the HTTP API over a hub, an access and an archive.
 *
 *     rung_api_create(&(rung_api_config){.alloc = a, .loop = loop, .access = access, .version = v}, &api, &err);
 *     rung_http_create(&(rung_http_config){.handle = rung_api_handle, .observe = rung_api_observe, .ctx = api, ...});
 *     rung_api_attach(api, net, http);                 // for /metrics
 *     rung_api_start(api, hub);                        // recovered: /readyz is 200 from now on
 *     ...
 *     rung_api_stop(api);                              // before the net stops: waiting calls get 503
 *     rung_api_settle(api);                            // when the loop has ended, before the hub is closed
 *     rung_api_destroy(api);                           // after every exchange has ended, before the loop closes
 *
 * Until started it answers /healthz, /metrics, /openapi.json and 503 to everything else. Thread: the loop's; questions
 * to the archive run on other threads (rung_loop_work()). */
#ifndef RUNG_FRONT_API_API_H
#define RUNG_FRONT_API_API_H

#include "base/alloc.h"
#include "base/status.h"
#include "front/http/exchange.h"
#include "front/http/http.h"
#include "front/net/net.h"
#include "service/access.h"
#include "service/as_of.h"
#include "service/asker.h"
#include "service/hub.h"
#include "service/replay.h"

#include <stdint.h>

typedef struct rung_api rung_api; /* heap object; whoever created it calls rung_api_destroy() */

/* Statistics of the Redis protocol, for /metrics. */
typedef struct rung_api_resp_stat {
    uint64_t connections, commands, errors, protocol_errors, timed_out;
    uint32_t open, blocked, in_flight;
    uint64_t blocked_looks, work;
} rung_api_resp_stat;

/* Statistics of one foreign topic that is ingested, for /metrics. */
enum { RUNG_API_INGEST_LAGS_MAX = 256 };
typedef struct rung_api_ingest_stat {
    const char *name;
    uint64_t records, applied, duplicates, dead_letters, retries;
    uint32_t in_flight, stuck;
    int64_t stalled_ms;
    uint32_t lag_count;
    struct {
        int32_t partition;
        int64_t records; /* -1: unknown */
    } lags[RUNG_API_INGEST_LAGS_MAX];
} rung_api_ingest_stat;

/* Statistics of the change feed, for /metrics. */
typedef struct rung_api_feed_stat {
    bool is_publisher, is_failing;
    uint64_t published_seq, behind_events;
    int64_t behind_ms;
    uint64_t records, replays, gaps, failures;
} rung_api_feed_stat;

/* The server's comparison of itself with its log (reconcile.every). */
typedef struct rung_api_reconcile_stat {
    bool is_running, has_difference; /* difference: the last whole pass found one */
    uint64_t passes, failures;       /* failures: passes that could not compare everything */
    uint64_t snapshots, windows;     /* that were compared in the last whole pass */
    int64_t last_ms;                 /* when it ended; 0: there was none */
} rung_api_reconcile_stat;

/* Progress of recovery. */
typedef struct rung_api_progress {
    const char *what; /* is being read: static, no JSON escapes; NULL: nothing yet */
    uint64_t done, total;
} rung_api_progress;

/* Zero is a good default for every field but alloc, loop and access. Texts are used until destroy. */
typedef struct rung_api_config {
    const rung_alloc *alloc;
    rung_loop *loop;
    rung_access *access;
    const char *version;  /* shown in /openapi.json and /metrics */
    uint32_t body_max;    /* bytes of any body that is not streamed; 0: as the route says */
    uint32_t wait_ms;     /* how long a read waits for its min_seq, or for the archive; 0: 5 s */
    uint32_t waiting_max; /* reads that wait; 0: 10,000. More: 503 */
    uint32_t line_ms;     /* a stream without a submission for this long ends; 0: 10 s */
    bool is_unmeasured;   /* there is no /metrics */
    uint32_t metrics_boards_max; /* boards with a series of their own in /metrics; 0: 100 */
    uint32_t live_frame_rate;    /* frames per second of live topics; 0: 10 */
    uint32_t live_viewers_max;   /* 0: 20,000 */
    uint32_t live_topics_max;    /* 0: 10,000 */
    /* Helpers for questions with as_of; of this config: port (NULL: there are none), processes, idle_ms, wait_ms and
     * rate. */
    rung_as_of_config as_of;
    const rung_replay_port *replay; /* helpers for replays; NULL: there are none */
    bool is_past_helper;            /* this server is one: as_of in a request is about its moment */
    /* False: there is no archive. NULL: it is never behind. */
    bool (*archive_stat)(void *ctx, rung_archive_stats *out);
    bool (*resp_stat)(void *ctx, rung_api_resp_stat *out); /* false: it is off; may be NULL */
    /* Of the i-th topic; false: there is none. May be NULL. */
    bool (*ingest_stat)(void *ctx, uint32_t i, rung_api_ingest_stat *out);
    bool (*feed_stat)(void *ctx, rung_api_feed_stat *out); /* false: there is none; may be NULL */
    bool (*reconcile_stat)(void *ctx, rung_api_reconcile_stat *out); /* likewise */
    /* A key was created or revoked over HTTP with the key `by` (empty: there were none); may be NULL. */
    void (*key_changed)(void *ctx, const rung_key *key, bool is_new, rung_slice by);
    /* For /readyz until rung_api_start(); may be NULL. */
    rung_api_progress (*progress)(void *ctx);
    /* A request was answered, as rung_http_config.observe; for the log. May be NULL. */
    void (*answered)(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                     uint64_t bytes_in, uint64_t bytes_out);
    void *ctx;
} rung_api_config;

RUNG_NODISCARD rung_status rung_api_create(const rung_api_config *config, rung_api **api_out,
                                           rung_err *err);
/* Accepts NULL. */
void rung_api_destroy(rung_api *api);

/* Their statistics are shown in /metrics. Either may be NULL. */
void rung_api_attach(rung_api *api, const rung_net *net, const rung_http *http);

/* Recovery is complete. The caller owns the hub, which is used until rung_api_stop(). */
void rung_api_start(rung_api *api, rung_hub *hub);
/* Asks the archive, for other fronts too. Add readers before the first question: without any, windows that have left
 * memory are not found. */
rung_asker *rung_api_asker(rung_api *api);
/* Recovery has failed, and the server stays to say so: every call gets this problem. */
void rung_api_fail(rung_api *api, const rung_err *err);
/* Asks helpers about the past, for other fronts too; NULL: there are none. */
rung_as_of *rung_api_as_of(rung_api *api);
/* /readyz says 503 from now on; everything else goes on. */
void rung_api_drain(rung_api *api);
/* Answer waiting and new calls with 503. Changes in the hub and questions that the archive works on are still
 * answered. */
void rung_api_stop(rung_api *api);
/* Wait for those questions, for a change of keys and for reads of a snapshot: after the loop has ended, before hub and
 * archive close. Accepts NULL. */
void rung_api_settle(rung_api *api);

/* For rung_http_config; `api` is the ctx. */
void rung_api_handle(void *api, rung_exchange *x);
void rung_api_observe(void *api, const rung_exchange *x, int status, uint64_t took_us,
                      uint64_t bytes_in, uint64_t bytes_out);

#endif
