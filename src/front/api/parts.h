/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - shared inside the room: the API object, and its parts' functions for its life and its turns of the loop. */
#ifndef RUNG_FRONT_API_PARTS_H
#define RUNG_FRONT_API_PARTS_H

#include "base/buffer.h"
#include "base/fair.h"
#include "base/list.h"
#include "codec/json_reader.h"
#include "front/api/call.h"
#include "front/api/metrics.h"
#include "front/api/page_cache.h"
#include "front/live/live.h"
#include "guard/signature.h"
#include "service/paging.h"
#include "service/trials.h"

#define RUNG_API_ROWS_MAX        1000                /* entries of one answer */
#define RUNG_API_VERDICTS_MAX    100                 /* of one request */
#define RUNG_API_TRIAL_LAST      10000               /* submissions of a trial, by default */
#define RUNG_API_BATCHES_MAX     256                 /* batches in flight; one more: 503 */
#define RUNG_API_MATCH_BYTES_MAX ((size_t)128 << 10) /* of one match */

/* 32 hexadecimal digits. */
void rung__write_digest(rung_json_writer *w, rung_digest d);

struct rung_batch;
struct rung_download;

struct rung_api {
    rung_api_config config;
    rung_service service;
    rung_as_of *past; /* NULL: no questions about the past */
    rung_work past_work[RUNG_AS_OF_PROCESSES_MAX];
    rung_timer past_timer;
    rung_replay *replay;
    rung_work replay_work[RUNG_REPLAY_WORKS_MAX];
    rung_timer replay_timer;
    rung_trials *trials;
    rung_work trial_work;
    rung_err failure; /* of the recovery; code RUNG_OK: none */ /* its hub is NULL until started */
    const rung_net *net;
    const rung_http *http;
    bool is_draining; /* /readyz says 503 */
    bool is_stopped;  /* everything does */

    /* scratch of the call that is being handled */
    rung_json_writer out;
    rung_json reader;
    rung_event event;
    rung_row *rows; /* RUNG_API_ROWS_MAX */
    rung_buffer body;

    RUNG_LIST(rung_call) waiting; /* for a sequence; in order of their deadlines */
    rung_fair waiting_shares, batch_shares;
    rung_timer wait_timer;

    RUNG_LIST(rung_call) ranked; /* ask for a player's place: answered together after the turn */
    uint32_t ranked_count;
    rung_task answer_ranked;

    RUNG_LIST(rung_call) forecasts; /* of matches with many sides: one in a turn */
    rung_fair forecast_shares;
    rung_task answer_forecast;

    rung_work archive_work[RUNG_ASKER_READERS_MAX];
    rung_timer ask_timer; /* runs while questions wait for the archive to catch up */

    struct rung_key_change *key_change; /* in flight on a worker thread; NULL: none */
    rung_call *key_caller; /* who changed the keys that are being reloaded; NULL: the file */

    RUNG_LIST(struct rung_download) downloads; /* of snapshots */
    uint32_t download_count;

    rung_live *live;
    rung_page_cache pages;   /* of top lists */
    rung_paging *paging;     /* rankings that are read page by page */
    rung_timer paging_timer; /* lets them go; runs while there are any */

    RUNG_LIST(struct rung_batch) batches; /* all streams of submissions */
    rung_task answer_batches;             /* wanted when a batch has results to send */
    rung_timer line_timer; /* looks for streams that send nothing, while there are streams */
    rung_timer throttled;  /* runs while a batch waits for its sender's rate */

    uint64_t boot; /* distinguishes processes in ETags */
    rung_metrics metrics;
    rung_json_writer openapi; /* the document */
};

static inline const rung_state *rung__api_state(const rung_api *api) {
    return rung_hub_state(api->service.hub);
}

/* Run `work` in another thread and end it in the loop, as pools of helpers and readers want it (service/asker.h);
 * `slot` lives until then. False: the loop takes none now. */
bool rung__api_begin_work(rung_api *api, rung_work *slot, rung_asker_work *work);

/* Answer with a file of the console; false: there is none at this path. */
bool rung__api_asset(rung_exchange *x, const rung_request *r);
/* The OpenAPI document, from the table of routes; the writer's failure if it fails. */
void rung_openapi_write(rung_json_writer *w, const char *version);

/* Tasks and timers of the loop: api_reads.c, batch.c. */
void rung__answer_ranked(void *api);
void rung__answer_batches(void *api);
void rung__answer_forecast(void *api); /* api_matches.c */
void rung__forecast_stop_all(rung_api *api);
void rung__batch_on_throttled(void *api);
void rung__batch_end_silent(void *api);

void rung__batch_stop_all(rung_api *api);
/* Many matches of the call's board: an array in its body, or without one a stream. */
void rung__api_submit_matches(rung_call *c);

/* Does the client have the version with this ETag? */
bool rung__call_has_etag(const rung_call *c, rung_slice etag);
/* api_versions.c: the top list of the timed snapshot that `version` names. */
void rung__api_top_version(rung_call *c, rung_slice version);
/* api_paging.c: the top list of a moment, page by page. */
void rung__api_top_page(rung_call *c, rung_slice page);
rung_status rung__paging_start(rung_api *api, rung_err *err);

/* api_sessions.c: does the request carry a signature that its route takes? */
bool rung__call_is_signed(const rung_call *c);
/* Verify the signature of a request by a player's token, whose body has not been changed yet. RUNG_OK, or
 * RUNG_EREFUSED with the reason. */
RUNG_NODISCARD rung_status rung__call_verify(rung_call *c, int64_t now_ms, rung_signature *out,
                                             rung_err *err);
void rung__download_stop_all(rung_api *api);
rung_status rung__live_create(rung_api *api, rung_err *err);
rung_status rung__replay_create(rung_api *api, rung_err *err);
rung_status rung__trials_create(rung_api *api, rung_err *err);

/* api_keys.c: a reload of the keys found a change; puts it into the log, for the audit trail. */
void rung__api_key_changed(void *ctx, const rung_key *key, bool is_revoked);

#endif
