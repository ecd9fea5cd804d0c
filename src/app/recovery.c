/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.c - open the data folder on a worker thread, check the keys, and start serving.
 *
 * Threads: rung__server_open_folder() runs on a worker. on_wake, on_fatal, on_progress and rung__server_say run on any
 * thread and touch only the logger, the loop's wake and the progress. */
#include "app/server.h"

#include "base/alloc.h"

#include <rung/rung.h>

#include <stdio.h>
#include <unistd.h>

enum {
    EXIT_LOG_FAILED = 4,
    EXIT_NO_MEMORY = 5,
    SHARED_SNAPSHOT_MS = 3600000,
    FIRST_PROGRESS_MS = 1000, /* a short recovery says nothing */
    PROGRESS_MS = 10000,
};

/* ---- callbacks of the hub and the archive ---- */

static void on_wake(void *ctx) {
    rung__server *s = ctx;
    rung_loop_wake(s->loop, &s->apply);
}

static void on_fatal(void *ctx, const rung_err *err) {
    const rung__server *s = ctx;
    if (err->code == RUNG_ENOMEM) {
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR,
                 "out of memory: stopping at once; everything acknowledged is in the log. Give the "
                 "server more memory, or lower memory.max",
                 RUNG_LOG_STR("why", err->message));
        _exit(EXIT_NO_MEMORY);
    }
    RUNG_SAY(&s->logger, RUNG_LOG_ERROR,
             "the log failed: stopping at once, without further answers",
             RUNG_LOG_STR("why", err->message));
    _exit(EXIT_LOG_FAILED);
}

void rung__server_say(void *ctx, const char *line) {
    const rung__server *s = ctx;
    RUNG_SAY(&s->logger, RUNG_LOG_WARNING, line, {0});
}

/* A line now and then, so that the log shows that a long recovery goes on. */
static void on_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    rung__server *s = ctx;
    rung_clock clock = rung_clock_real();
    int64_t now_ms = rung_clock_monotonic_ms(&clock);
    s->opening_what = what;
    s->opening_done = done;
    s->opening_total = total;
    if (s->progress_due_ms == 0)
        s->progress_due_ms = now_ms + FIRST_PROGRESS_MS;
    if (now_ms < s->progress_due_ms)
        return;
    s->progress_due_ms = now_ms + PROGRESS_MS;
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "recovering", RUNG_LOG_STR("reading", what),
             RUNG_LOG_NUMBER("done", done), RUNG_LOG_NUMBER("total", total));
}

/* ---- announcing ---- */

/* Programs parse this line: as text it has neither time nor level. */
void rung__server_announce(rung__server *s) {
    char http[RUNG_ADDRESS_TEXT_MAX] = "", resp[RUNG_ADDRESS_TEXT_MAX] = "";
    if (s->is_announced || s->settings.as_of_parent)
        return;
    s->is_announced = true;
    if (s->has_http)
        rung_address_text(&s->http_bound, http);
    if (s->has_resp)
        rung_address_text(&s->resp_bound, resp);
    rung_logger loud = s->logger; /* whatever the level */
    loud.level = RUNG_LOG_DEBUG;
    if (loud.is_json)
        RUNG_SAY(&loud, RUNG_LOG_INFO, "listening", RUNG_LOG_STR("http", http),
                 RUNG_LOG_STR("resp", resp));
    else
        fprintf(stderr, "listening%s%s%s%s\n", *http ? " http=" : "", http, *resp ? " resp=" : "",
                resp);
}

/* ---- whether there are keys ---- */

static void access_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                            const rung_err *err) {
    rung__server *s = ctx;
    (void)st, (void)outcome, (void)err;
    s->is_access_put = false; /* retried later if it failed */
}

/* Record in the log whether there are keys, so that a lost file of keys does not open the server to everybody. */
void rung__server_note_access(rung__server *s) {
    bool has_keys = !rung_access_is_open(s->access);
    if (!has_keys && rung__server_is_replicated(s)) /* other servers may have some */
        return;
    if (!s->hub || !s->settings.data || s->settings.as_of || s->is_access_put ||
        s->stage == RUNG__STAGE_STOPPING || rung_state_has_keys(rung_hub_state(s->hub)) == has_keys)
        return;
    rung_event event = {.kind = RUNG_EVENT_ACCESS_SET, .access = {has_keys}};
    s->is_access_put = rung_hub_put(s->hub, &event, access_answered, s, NULL) == RUNG_OK;
}

/* Refuse to serve if the keys were lost: everybody could do everything. */
static rung_status check_access(rung__server *s, rung_err *err) {
    if (!rung_access_is_open(s->access) || !rung_state_has_keys(rung_hub_state(s->hub)))
        return RUNG_OK;
    if (s->settings.allow_no_keys) {
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "this data folder had keys and has none now: allow_no_keys lets everybody do "
                 "everything",
                 {0});
        return RUNG_OK;
    }
    return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "keys",
                           "this data folder had keys, and %.100s has none: restore the file, "
                           "create a key with rung keys create, or set allow_no_keys = on",
                           rung_access_path(s->access));
}

/* ---- recovery ---- */

/* A folder remembers these settings; only an explicit one changes them. */
static bool is_given(const rung_settings *set, rung_setting_id id) {
    return set->sources[id] != RUNG_SETTING_FROM_DEFAULT;
}

static const rung_hub_follower *gather_followers(rung__server *s) {
    rung_followers_init(&s->followers);
    if (s->attach)
        rung_followers_add(&s->followers, rung_attach_port(s->attach));
    if (s->feed)
        rung_followers_add(&s->followers, rung_feed_port(s->feed));
    return s->followers.count ? &s->followers.port : NULL;
}

void rung__server_open_folder(rung_work *work) {
    rung__server *s = work->ctx;
    const rung_settings *set = &s->settings;
    rung_hub_config config = {
        .alloc = rung_alloc_heap(),
        .clock = rung_clock_real(),
        .at_ahead_ms = (int64_t)set->at_ahead_ms,
        .max_jump_ms = (int64_t)set->max_jump_ms,
        .path = set->data,
        .version = rung_version(),
        .address = set->advertise ? set->advertise : s->http_text,
        .heartbeat_ms = (uint32_t)set->heartbeat_ms,
        .sync_every_ms = (uint32_t)set->sync_every_ms,
        .packs = set->log_compress,
        .id_capacity = is_given(set, RUNG_SETTING_id_capacity) ? (uint32_t)set->id_capacity : 0,
        .id_keep_ms = is_given(set, RUNG_SETTING_id_keep_ms) ? (int64_t)set->id_keep_ms : 0,
        .waiting_max = (uint32_t)set->waiting_max,
        .memory_max = s->memory_max,
        .ready_lag_max = set->ready_lag_max,
        .snapshot_every = set->snapshot_every,
        /* A topic may delete records by their age, and a quiet one would never reach snapshot.every. */
        .snapshot_every_ms = rung__server_is_replicated(s) ? SHARED_SNAPSHOT_MS : 0,
        .recovery_target_ms = set->snapshot_every == UINT64_MAX ? 0 : set->recovery_target_ms,
        .log_keep = set->log_keep,
        .follower = gather_followers(s),
        .wake = on_wake,
        .fatal = on_fatal,
        .progress = on_progress,
        .say = rung__server_say,
        .ctx = s,
    };
    s->open_status = RUNG_OK;
    if (set->as_of) {
        s->open_status = rung_moment_parse(rung_slice_str(set->as_of), &s->as_of, &s->open_err);
        s->as_of.since_ms = (int64_t)set->as_of_since_ms;
        config.as_of = &s->as_of;
        config.follower = NULL; /* the archive is only read */
    }
    if (s->has_http)
        rung_address_text(&s->http_bound, s->http_text);
    if (s->open_status == RUNG_OK && rung__server_is_replicated(s))
        s->open_status = rung__server_open_kafka(s, &config, &config.log, &s->open_err);
    if (s->open_status == RUNG_OK && set->peers && !set->as_of)
        s->open_status = rung__server_join_peers(s, &config, &config.log, &s->open_err);
    if (s->open_status == RUNG_OK)
        s->open_status = rung_hub_open(&config, &s->opened, &s->open_err);
}

/* Several readers of the archive, so that a slow query does not delay others. The server works without them. */
static void add_readers(rung__server *s) {
    rung_asker *asker = rung_api_asker(s->api);
    rung_archive *archive;
    rung_err err = {0};
    if (!s->attach)
        return;
    if (s->settings.as_of &&
        rung_attach_open_past(s->attach, rung_state_seq(rung_hub_state(s->hub)), &err) != RUNG_OK)
        return; /* it never had one, or not yet */
    if (rung_attach_reader(s->attach, &archive, &err) != RUNG_OK) {
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "the archive cannot be asked",
                 RUNG_LOG_STR("why", err.message));
        return;
    }
    while (rung_asker_add_reader(asker, &rung_archive_reading, archive))
        if (rung_attach_add_reader(s->attach, &archive, NULL) != RUNG_OK)
            return;
}

static rung_status set_up_resp(rung__server *s, rung_err *err) {
    rung_resp_config config = {.alloc = rung_alloc_heap(),
                               .net = s->net,
                               .hub = s->hub,
                               .access = s->access,
                               .asker = rung_api_asker(s->api),
                               .as_of = rung_api_as_of(s->api),
                               .auth_ms = (uint32_t)s->settings.auth_timeout_ms,
                               .command_ms = (uint32_t)s->settings.command_timeout_ms,
                               .idle_ms = (uint32_t)s->settings.idle_timeout_ms,
                               .port = s->has_resp ? rung_address_port(&s->resp_bound) : 0,
                               .is_durable = s->settings.data != NULL,
                               .work_max = s->settings.work_max,
                               .version = rung_version()};
    return rung_resp_create(&config, &s->resp, err);
}

static void give_up(rung__server *s, const rung_err *err, const char *why) {
    s->exit_code = rung__server_fail(s, err);
    rung__server_stop(s, why);
}

void rung__server_recovered(rung_work *work) {
    rung__server *s = work->ctx;
    rung_err err = {0};
    if (s->open_status < 0 && s->settings.as_of_parent) { /* it asks for the reason, and ends us */
        rung_api_fail(s->api, &s->open_err);
        return;
    }
    if (s->open_status < 0) {
        give_up(s, &s->open_err,
                s->open_err.code == RUNG_ENOMEM
                    ? "out of memory: the data folder needs more than this process may use"
                    : "the data folder cannot be opened");
        return;
    }
    s->hub = s->opened;
    if (check_access(s, &err) < 0) {
        give_up(s, &err, "the keys are gone");
        return;
    }
    rung__server_note_access(s);
    if (set_up_resp(s, &err) < 0) {
        give_up(s, &err, "out of memory");
        return;
    }
    if (!s->settings.as_of && rung__server_start_ingests(s, &err) < 0) {
        give_up(s, &err, "a topic cannot be ingested");
        return;
    }
    rung_api_start(s->api, s->hub);
    add_readers(s);
    s->stage = RUNG__STAGE_SERVING;
    rung__server_look_ready(s);
}

void rung__server_look_ready(rung__server *s) {
    rung_clock clock = rung_clock_real();
    int64_t now_ms = rung_clock_monotonic_ms(&clock);
    if (s->is_ready || s->stage != RUNG__STAGE_SERVING)
        return;
    rung_hub_stats stats = rung_hub_stat(s->hub);
    s->is_ready = stats.is_ready;
    if (s->is_ready) {
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "ready", RUNG_LOG_NUMBER("seq", stats.applied_seq));
        rung__server_announce(s);
    } else if (now_ms >= s->progress_due_ms) {
        s->progress_due_ms = now_ms + PROGRESS_MS;
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "catching up",
                 RUNG_LOG_NUMBER("seq", stats.applied_seq),
                 RUNG_LOG_NUMBER("end_seq", stats.log_end_seq));
    }
}
