/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the setting peers: an empty data folder begins with another server's snapshot. Runs on the worker thread of
 * recovery. */
#include "app/server.h"

#include "cli/join.h"
#include "journal/snapshot_file.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 10000, URL_MAX = 1024 }; /* for each peer that answers 503 */

static bool has_snapshot(const char *path) {
    uint64_t seq;
    size_t count = 0;
    rung_dir dir;
    if (rung_dir_open(&dir, rung_fs_posix(), path, false, NULL) < 0)
        return false;
    bool has = rung_snapshot_list(&dir, &seq, 1, &count, NULL) == RUNG_OK && count > 0;
    rung_dir_close(&dir);
    return has;
}

/* Ask one peer. False: it was said why not. */
static bool join_peer(rung__server *s, const rung_hub_config *hub, const char *url,
                      const char *log_id) {
    rung_join_report report;
    rung_err err = {0};
    char line[sizeof err.message + 64];
    rung_join_config config = {
        .server = {.url = url, .key_file = s->settings.peers_key_file},
        .folder = hub->path,
        .log_id = log_id,
        .is_unloaded = true, /* the store loads it next */
        .wait_ms = WAIT_MS,
        .progress = hub->progress,
        .ctx = hub->ctx,
    };
    if (rung_join(&config, &report, &err) < 0) {
        snprintf(line, sizeof line, "no snapshot from a peer: %s", err.message);
        hub->say(hub->ctx, line);
        return false;
    }
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "joined with a peer's snapshot", RUNG_LOG_STR("peer", url),
             RUNG_LOG_NUMBER("seq", report.snapshot.seq));
    return true;
}

rung_status rung__server_join_peers(rung__server *s, const rung_hub_config *hub, rung_log **log,
                                    rung_err *err) {
    char id[2 * RUNG_LOG_ID_SIZE + 1], url[URL_MAX];
    if (has_snapshot(hub->path) || rung_log_durable_seq(*log) == 0)
        return RUNG_OK;
    for (size_t i = 0; i < RUNG_LOG_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", rung_log_id(*log)[i]);
    /* The peer's snapshot may be newer than the end of the log as it was opened, so it is opened again. */
    rung_ignore(rung_log_close(*log, NULL), "nothing was proposed to it");
    *log = NULL;
    bool has_joined = false;
    for (const char *at = s->settings.peers; *at && !has_joined;) {
        size_t len = strcspn(at, ",");
        snprintf(url, sizeof url, "%.*s", (int)len, at);
        has_joined = join_peer(s, hub, url, id);
        at += len + (at[len] == ',');
    }
    return rung__server_open_kafka(s, hub, log, err);
}
