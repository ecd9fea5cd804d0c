/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the server of `rung serve`, shared by serve.c, wiring.c and recovery.c. Private to the room. */
#ifndef RUNG_APP_SERVER_H
#define RUNG_APP_SERVER_H

#include "app/config.h"
#include "app/kafka.h"
#include "app/logging.h"
#include "app/past_helper.h"
#include "app/reconcile_pass.h"
#include "app/replay_port.h"
#include "archive/attach.h"
#include "cli/command.h"
#include "front/api/api.h"
#include "front/http/http.h"
#include "front/net/net.h"
#include "front/resp/resp.h"
#include "service/access.h"
#include "service/followers.h"
#include "service/hub.h"
#include "stream/feed.h"
#include "stream/ingest.h"

#include <limits.h>

enum { RUNG__ORIGINS_MAX = 64 };

/* A section [ingest.NAME] at work (ingest.c). */
typedef struct rung__ingest {
    rung_ingest *ingest; /* NULL: not started */
    rung_mapping mapping;
    rung__kafka kafka; /* options, if it has brokers of its own */
    char group[RUNG_INGEST_NAME_MAX + 8], dead_letters[RUNG_KAFKA_TOPIC_MAX + 8];
} rung__ingest;

typedef enum rung__stage {
    RUNG__STAGE_OPENING,
    RUNG__STAGE_SERVING,
    RUNG__STAGE_DRAINING,
    RUNG__STAGE_STOPPING
} rung__stage;

typedef struct rung__server {
    rung_settings settings;
    rung_logger logger;
    rung__stage stage;
    int exit_code;
    bool is_announced, is_ready; /* said so */
    bool is_access_put;          /* the event that records whether there are keys is in flight */

    rung_loop *loop;
    rung_task flush, apply; /* the hub's tasks in a turn */
    rung_timer tick, reload, announce, drain;
    rung_work opening;

    rung_access *access;
    rung_tls *tls;
    rung_net *net;
    rung_http *http;
    rung_api *api;
    rung_resp *resp;         /* NULL until recovered */
    rung_protocol resp_gate; /* its protocol; closes connections before that */
    rung_hub *hub;           /* NULL until recovered */
    rung_attach *attach;
    rung_feed *feed; /* NULL: there is none */
    rung__kafka feed_kafka;
    rung_followers followers;
    rung__kafka kafka;
    rung__ingest ingests[RUNG_INGESTS_MAX];
    rung_task ingest_turn;
    rung_address http_bound, resp_bound;
    bool has_http, has_resp;
    char http_text[RUNG_ADDRESS_TEXT_MAX]; /* of http_bound, for the other servers */
    uint32_t connections_max;              /* the setting, or what the limit on open files allows */
    uint64_t memory_max;                   /* of the state; 0: no limit */
    rung__past_helpers past_helpers;
    rung__replay_helpers replay_helpers;
    rung__reconcile_pass reconcile;
    rung_moment as_of; /* with settings.as_of */

    char keys_path[PATH_MAX];
    char origins_text[4096];
    const char *origins[RUNG__ORIGINS_MAX + 1];
    rung_proxies proxies;

    /* owned by the worker that opens the folder, until it is done */
    rung_hub *opened;
    rung_status open_status;
    rung_err open_err;
    _Atomic(const char *) opening_what; /* static text */
    _Atomic uint64_t opening_done, opening_total;
    int64_t progress_due_ms; /* the next line about it; afterwards the loop's */
} rung__server;

/* serve.c */
int rung__server_fail(const rung__server *s, const rung_err *err); /* logs it; an exit code */
void rung__server_stop(rung__server *s, const char *why);

/* wiring.c: limits, parts and listeners. Returns an exit code and has logged the error. */
int rung__server_set_up(rung__server *s);

/* kafka.c: the change feed, if there is one. */
RUNG_NODISCARD rung_status rung__server_set_up_feed(rung__server *s, rung_err *err);
/* kafka.c: are events kept in a log that other servers write to, too? Open that one. */
bool rung__server_is_replicated(const rung__server *s);
RUNG_NODISCARD rung_status rung__server_open_kafka(rung__server *s, const rung_hub_config *hub,
                                                   rung_log **log_out, rung_err *err);

/* ingest.c: start all sections; submit nothing more; end them, after the hub has answered everything. */
RUNG_NODISCARD rung_status rung__server_start_ingests(rung__server *s, rung_err *err);
void rung__server_stop_ingests(rung__server *s);
void rung__server_end_ingests(rung__server *s);
bool rung__server_ingest_stat(void *ctx, uint32_t i, rung_api_ingest_stat *out);

/* peers.c: fill an empty data folder with a peer's snapshot of the log that *log is, if there is one; *log may be
 * opened again. RUNG_OK also when no peer had one. */
RUNG_NODISCARD rung_status rung__server_join_peers(rung__server *s, const rung_hub_config *hub,
                                                   rung_log **log, rung_err *err);

/* recovery.c */
void rung__server_open_folder(rung_work *work);     /* on a worker thread */
void rung__server_recovered(rung_work *work);       /* afterwards: serve, or stop */
void rung__server_announce(rung__server *s);        /* log the addresses, once */
void rung__server_look_ready(rung__server *s);      /* log that it is ready, once */
void rung__server_note_access(rung__server *s);     /* record in the log whether there are keys */
void rung__server_say(void *ctx, const char *line); /* log a warning; any thread */

#endif
