/* SPDX-License-Identifier: Apache-2.0 */
/* rung serve - the server: one loop thread that owns the state, and what is wired to it.
 *
 *     connections -> net -> http -> api -> hub -> log, archive
 *                       \-> resp ------/
 *
 * It listens first and recovers beside, in a worker: /healthz answers at once, /readyz when the state is complete. The
 * life of a server:
 *
 *     OPENING --recovered()--> SERVING --stop()--> STOPPING --net_stopped()--> the loop ends, everything is closed
 *        \--on_signal(): nothing was acknowledged yet, leave at once
 *
 * Invariants:
 *   1. What was acknowledged is finished: a stop closes the net first (requests under way get their answers, within
 *      stop_timeout), and the hub after it, which logs and applies all that was put.
 *   2. When the log fails the process ends at once (on_fatal), before anything more is said to anybody.
 *   3. Without keys nobody from elsewhere can connect: such an address is refused at the start.
 *
 * Threads: the loop's, for everything, but open_folder() (a worker, before the hub is handed over) and the callbacks of
 * the hub and the archive that say so (on_wake, on_fatal, on_say, on_progress): these touch the logger, the loop's
 * wake and `progress` only. */
#include "app/config.h"
#include "app/logging.h"
#include "app/memory.h"
#include "cli/command.h"

#include "archive/attach.h"
#include "base/alloc.h"
#include "base/random.h"
#include "front/api/api.h"
#include "front/http/http.h"
#include "front/net/net.h"
#include "front/net/uv_loop.h"
#include "front/resp/resp.h"
#include "service/access.h"
#include "service/hub.h"

#include <rung/rung.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    RELOAD_MS = 500,
    ANNOUNCE_MS = 3000, /* a quick recovery is waited for before "listening" is said */
    ORIGINS_MAX = 64,
    SIGNAL_COUNT = 4,
    FILES_KEPT = 128, /* open files that are not for connections in use */
    RESERVED_MAX = 64,
    EXIT_LOG_FAILED = 4,
    EXIT_NO_MEMORY = 5,
};

typedef enum stage { STAGE_OPENING, STAGE_SERVING, STAGE_STOPPING } stage;

typedef struct server {
    const rung_command *self;
    rung_settings settings;
    rung_logger logger;
    stage stage;
    int exit_code;
    bool is_announced;
    bool is_access_put; /* an event that says whether there are keys is under way */

    rung_loop *loop;
    rung_task flush, apply; /* the hub's parts of a turn */
    rung_timer tick, reload, announce;
    rung_work opening;

    rung_access *access;
    rung_tls *tls;
    rung_net *net;
    rung_http *http;
    rung_api *api;
    rung_resp *resp;         /* NULL until recovered */
    rung_protocol resp_gate; /* its protocol, with nobody let in before */
    rung_hub *hub;           /* NULL until recovered */
    rung_attach *attach;
    rung_address http_bound, resp_bound;
    bool has_http, has_resp;
    uint32_t
        connections_max; /* the setting, or as many as the system's limit on open files allows */

    uint64_t memory_max; /* of the state; 0: no limit */

    char keys_path[PATH_MAX];
    char origins_text[4096];
    const char *origins[ORIGINS_MAX + 1];

    /* of the worker that opens the folder, until it is done */
    rung_hub *opened;
    rung_status open_status;
    rung_err open_err;
    _Atomic(const char *) opening_what; /* static text */
    _Atomic uint64_t opening_done, opening_total;
} server;

static int fail(const server *s, const rung_err *err) {
    RUNG_SAY(&s->logger, RUNG_LOG_ERROR, err->message, {0});
    return RUNG_EXIT_PROBLEM;
}

/* ---- callbacks of the hub and the archive, from any thread ---- */

static void on_wake(void *ctx) {
    server *s = ctx;
    rung_loop_wake(s->loop, &s->apply);
}

static void on_fatal(void *ctx, const rung_err *err) {
    const server *s = ctx;
    if (err->code == RUNG_ENOMEM) {
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR,
                 "out of memory: stopping at once; the log has all that was acknowledged. Give the "
                 "server more memory, or set memory.max lower",
                 RUNG_LOG_STR("why", err->message));
        _exit(EXIT_NO_MEMORY);
    }
    RUNG_SAY(&s->logger, RUNG_LOG_ERROR,
             "the log failed: stopping at once, nothing more is acknowledged",
             RUNG_LOG_STR("why", err->message));
    _exit(EXIT_LOG_FAILED);
}

static void on_say(void *ctx, const char *line) {
    const server *s = ctx;
    RUNG_SAY(&s->logger, RUNG_LOG_WARNING, line, {0});
}

static void on_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    server *s = ctx;
    s->opening_what = what;
    s->opening_done = done;
    s->opening_total = total;
}

/* ---- saying where ---- */

/* The one line of the log whose text is a contract: in the readable form it stands alone, without time and level. */
static void announce(server *s) {
    char http[RUNG_ADDRESS_TEXT_MAX] = "", resp[RUNG_ADDRESS_TEXT_MAX] = "";
    if (s->is_announced)
        return;
    s->is_announced = true;
    if (s->has_http)
        rung_address_text(&s->http_bound, http);
    if (s->has_resp)
        rung_address_text(&s->resp_bound, resp);
    rung_logger loud = s->logger; /* it is said whatever the level */
    loud.level = RUNG_LOG_DEBUG;
    if (loud.is_json)
        RUNG_SAY(&loud, RUNG_LOG_INFO, "listening", RUNG_LOG_STR("http", http),
                 RUNG_LOG_STR("resp", resp));
    else
        fprintf(stderr, "listening%s%s%s%s\n", *http ? " http=" : "", http, *resp ? " resp=" : "",
                resp);
}

static void on_announce_time(void *ctx) {
    announce(ctx);
}

/* ---- recovery ---- */

/* A folder remembers its own; only what somebody asked for changes that. */
static bool is_given(const rung_settings *set, rung_setting_id id) {
    return set->sources[id] != RUNG_SETTING_FROM_DEFAULT;
}

static void open_folder(rung_work *work) {
    server *s = work->ctx;
    const rung_settings *set = &s->settings;
    rung_hub_config config = {
        .alloc = rung_alloc_heap(),
        .clock = rung_clock_real(),
        .at_ahead_ms = (int64_t)set->at_ahead_ms,
        .max_jump_ms = (int64_t)set->max_jump_ms,
        .path = set->data,
        .sync_every_ms = (uint32_t)set->sync_every_ms,
        .id_capacity = is_given(set, RUNG_SETTING_id_capacity) ? (uint32_t)set->id_capacity : 0,
        .id_keep_ms = is_given(set, RUNG_SETTING_id_keep_ms) ? (int64_t)set->id_keep_ms : 0,
        .waiting_max = (uint32_t)set->waiting_max,
        .memory_max = s->memory_max,
        .snapshot_every = set->snapshot_every,
        .follower = s->attach ? rung_attach_port(s->attach) : NULL,
        .wake = on_wake,
        .fatal = on_fatal,
        .progress = on_progress,
        .say = on_say,
        .ctx = s,
    };
    s->open_status = rung_hub_open(&config, &s->opened, &s->open_err);
}

static void stop(server *s, const char *why);

/* The archive that answers for windows gone by; without one the server goes on, and says so. */
static rung_archive *find_archive(server *s) {
    rung_archive *archive = NULL;
    rung_err err = {0};
    if (!s->attach)
        return NULL;
    if (rung_attach_reader(s->attach, &archive, &err) == RUNG_OK)
        return archive;
    RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "the archive cannot be asked",
             RUNG_LOG_STR("why", err.message));
    return NULL;
}

/* More readers, so that one slow question does not hold up the others. */
static void add_readers(server *s) {
    rung_archive *archive;
    while (s->attach && rung_attach_add_reader(s->attach, &archive, NULL) == RUNG_OK)
        if (!rung_api_add_reader(s->api, archive))
            return;
}

/* ---- whether there are keys ---- */

static void access_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                            const rung_err *err) {
    server *s = ctx;
    (void)st, (void)outcome, (void)err;
    s->is_access_put = false; /* one that failed is tried again at the next look */
}

/* The log knows whether this server has keys, so that a lost file of keys does not open everything. */
static void note_access(server *s) {
    bool has_keys = !rung_access_is_open(s->access);
    if (!s->hub || !s->settings.data || s->is_access_put || s->stage == STAGE_STOPPING ||
        rung_state_has_keys(rung_hub_state(s->hub)) == has_keys)
        return;
    rung_event event = {.kind = RUNG_EVENT_ACCESS_SET, .access = {has_keys}};
    s->is_access_put = rung_hub_put(s->hub, &event, access_answered, s, NULL) == RUNG_OK;
}

/* An exit code. Without its keys a server would let everybody do everything. */
static int check_access(server *s) {
    rung_err err = {0};
    if (!rung_access_is_open(s->access) || !rung_state_has_keys(rung_hub_state(s->hub)))
        return RUNG_EXIT_OK;
    if (s->settings.allow_no_keys) {
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "this data folder has had keys and there are none now: allow_no_keys lets "
                 "everybody do everything",
                 {0});
        return RUNG_EXIT_OK;
    }
    rung_ignore(
        RUNG_FAIL_FIELD(&err, RUNG_EREFUSED, "keys",
                        "this data folder has had keys, and %.100s holds none: put the file "
                        "back, or make a key with rung keys create, or set allow_no_keys = on",
                        rung_access_path(s->access)),
        "it is the answer");
    return fail(s, &err);
}

static int set_up_resp(server *s) {
    rung_err err = {0};
    rung_resp_config config = {.alloc = rung_alloc_heap(),
                               .net = s->net,
                               .hub = s->hub,
                               .access = s->access,
                               .auth_ms = (uint32_t)s->settings.auth_timeout_ms,
                               .command_ms = (uint32_t)s->settings.command_timeout_ms,
                               .idle_ms = (uint32_t)s->settings.idle_timeout_ms,
                               .port = s->has_resp ? rung_address_port(&s->resp_bound) : 0,
                               .is_durable = s->settings.data != NULL,
                               .work_max = s->settings.work_max,
                               .version = rung_version()};
    return rung_resp_create(&config, &s->resp, &err) < 0 ? fail(s, &err) : RUNG_EXIT_OK;
}

static void recovered(rung_work *work) {
    server *s = work->ctx;
    if (s->open_status < 0) {
        bool is_memory = s->open_err.code == RUNG_ENOMEM;
        s->exit_code = fail(s, &s->open_err);
        stop(s, is_memory ? "out of memory: the data folder needs more than this process may have"
                          : "the data folder cannot be opened");
        return;
    }
    s->hub = s->opened;
    s->exit_code = check_access(s);
    if (s->exit_code) {
        stop(s, "the keys are gone");
        return;
    }
    note_access(s);
    s->exit_code = set_up_resp(s);
    if (s->exit_code) {
        stop(s, "out of memory");
        return;
    }
    rung_api_start(s->api, s->hub, find_archive(s));
    add_readers(s);
    uint64_t seq = rung_state_seq(rung_hub_state(s->hub));
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "ready", RUNG_LOG_NUMBER("seq", seq));
    s->stage = STAGE_SERVING;
    announce(s);
}

/* ---- the loop's callbacks ---- */

static void flush(void *ctx) {
    const server *s = ctx;
    if (s->hub)
        rung_hub_flush(s->hub);
}

static bool has_changes(const void *ctx) {
    const server *s = ctx;
    return s->hub && rung_hub_has_new(s->hub);
}

static void apply(void *ctx) {
    const server *s = ctx;
    if (s->hub)
        rung_hub_turn(s->hub);
}

static void on_tick(void *ctx) {
    const server *s = ctx;
    if (s->hub)
        rung_hub_tick(s->hub);
}

static void reload_keys(server *s, bool is_forced) {
    rung_err err = {0};
    rung_status st = rung_access_reload(s->access, is_forced, &err);
    if (st == RUNG_OK)
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "keys read",
                 RUNG_LOG_NUMBER("count", rung_keys_count(rung_access_keys(s->access))));
    else if (st < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR, "the keys cannot be read; those in force stay",
                 RUNG_LOG_STR("why", err.message));
}

static void on_reload_time(void *ctx) {
    reload_keys(ctx, false);
    note_access(ctx);
}

static void reload_certificate(server *s) {
    rung_err err = {0};
    if (!s->tls)
        return;
    if (rung_tls_reload(s->tls, &err) < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR, "the certificate cannot be read; the one in use stays",
                 RUNG_LOG_STR("why", err.message));
    else
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "certificate read", {0});
}

static void begin_snapshot(server *s) {
    rung_err err = {0};
    rung_status st = s->hub ? rung_hub_snapshot(s->hub, &err) : RUNG_UNCHANGED;
    if (st < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "no snapshot", RUNG_LOG_STR("why", err.message));
    else
        RUNG_SAY(&s->logger, RUNG_LOG_INFO,
                 st == RUNG_OK ? "snapshot begun" : "nothing has changed since the last snapshot",
                 {0});
}

/* ---- stopping ---- */

static void net_stopped(void *ctx) {
    server *s = ctx;
    rung_loop_stop(s->loop);
}

static void stop(server *s, const char *why) {
    if (s->stage == STAGE_STOPPING)
        return;
    s->stage = STAGE_STOPPING;
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "stopping", RUNG_LOG_STR("why", why));
    rung_api_stop(s->api);
    rung_net_stop(s->net, (uint32_t)s->settings.stop_timeout_ms, net_stopped, s);
}

static void on_signal(void *ctx, int number) {
    server *s = ctx;
    if (s->stage == STAGE_STOPPING) {
        if (number == SIGINT) { /* somebody is impatient; the log can take it */
            RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "stopped", RUNG_LOG_STR("while", "stopping"));
            _exit(RUNG_EXIT_PROBLEM);
        }
    } else if (number == SIGHUP) {
        reload_keys(s, true);
        reload_certificate(s);
    } else if (number == SIGUSR1) {
        begin_snapshot(s);
    } else if (s->stage == STAGE_SERVING) {
        stop(s, number == SIGTERM ? "SIGTERM" : "SIGINT");
    } else { /* still recovering: nothing was acknowledged */
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "stopped", RUNG_LOG_STR("while", "recovering"));
        _exit(RUNG_EXIT_OK);
    }
}

/* ---- requests ---- */

static rung_api_progress on_recovering(void *ctx) {
    const server *s = ctx;
    return (rung_api_progress){s->opening_what, s->opening_done, s->opening_total};
}

static void on_answered(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                        uint64_t bytes_in, uint64_t bytes_out) {
    const server *s = ctx;
    char peer[RUNG_ADDRESS_TEXT_MAX];
    const rung_request *r = rung_exchange_request(x);
    rung_exchange_peer(x, peer);
    RUNG_SAY(&s->logger, RUNG_LOG_DEBUG, "request", RUNG_LOG_SLICE("method", r->method_text),
             RUNG_LOG_SLICE("path", r->path), RUNG_LOG_NUMBER("status", status),
             RUNG_LOG_NUMBER("us", took_us), RUNG_LOG_NUMBER("in", bytes_in),
             RUNG_LOG_NUMBER("out", bytes_out), RUNG_LOG_STR("peer", peer));
}

static bool on_archive_stat(void *ctx, rung_api_archive_stat *out) {
    server *s = ctx;
    if (!s->attach)
        return false;
    rung_attach_marks marks = rung_attach_mark(s->attach);
    rung_follower_stats stats = rung_attach_stat(s->attach);
    *out = (rung_api_archive_stat){.cursor_seq = stats.cursor_seq,
                                   .behind_events = stats.behind_events,
                                   .windows = stats.windows,
                                   .failures = stats.failures,
                                   .behind_ms = stats.behind_ms,
                                   .changed_seq = marks.changed_seq,
                                   .closed_seq = marks.closed_seq,
                                   .is_damaged = rung_attach_checked(s->attach) == RUNG_ECORRUPT};
    return true;
}

static bool on_resp_stat(void *ctx, rung_api_resp_stat *out) {
    const server *s = ctx;
    if (!s->resp)
        return false;
    rung_resp_stats stats = rung_resp_stat(s->resp);
    *out = (rung_api_resp_stat){.connections = stats.connections,
                                .commands = stats.commands,
                                .errors = stats.errors,
                                .protocol_errors = stats.protocol_errors,
                                .timed_out = stats.timed_out,
                                .open = stats.open,
                                .blocked = stats.blocked,
                                .in_flight = stats.in_flight,
                                .blocked_looks = stats.blocked_looks,
                                .work = stats.work};
    return true;
}

static void on_key_changed(void *ctx, const rung_key *key, bool is_new, rung_slice by) {
    server *s = ctx;
    note_access(s);
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, is_new ? "key made over HTTP" : "key revoked over HTTP",
             RUNG_LOG_SLICE("id", key->id), RUNG_LOG_STR("role", rung_role_name(key->role)),
             RUNG_LOG_SLICE("by", by));
}

/* ---- setting up: each step returns an exit code and has told what is wrong ---- */

static int set_up_guard(server *s) {
    rung_err err = {0};
    const rung_settings *set = &s->settings;
    rung_access_config config = {
        .alloc = rung_alloc_heap(),
        .path = rung_settings_keys_path(set, s->keys_path, sizeof s->keys_path),
        .public_boards = set->public_boards,
        .per_key = set->rate_key,
        .per_player = set->rate_player,
        .per_peer = set->rate_peer,
    };
    if (rung_random_hash_key(NULL, &config.hash_key, &err) < 0 ||
        rung_access_create(&config, &s->access, &err) < 0 ||
        rung_settings_check_reach(set, s->access, &err) < 0) /* invariant 3 */
        return fail(s, &err);
    if (rung_access_is_open(s->access))
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "there are no keys: everybody on this machine may do everything, nobody else can "
                 "connect",
                 {0});
    return RUNG_EXIT_OK;
}

static void split_origins(server *s) {
    size_t count = 0;
    if (!s->settings.cors_origins)
        return;
    snprintf(s->origins_text, sizeof s->origins_text, "%s", s->settings.cors_origins);
    for (char *rest = s->origins_text, *one;
         (one = strsep(&rest, ", ")) != NULL && count < ORIGINS_MAX;)
        if (*one)
            s->origins[count++] = one;
}

/* Of so many connections, those kept for health checks and admins; as many again are kept for HTTP. */
static uint32_t reserved_of(uint32_t connections) {
    uint32_t tenth = (connections + 9) / 10;
    return connections < 4 ? 0 : tenth < RESERVED_MAX ? tenth : RESERVED_MAX;
}

static int set_up_http(server *s) {
    rung_err err = {0};
    const rung_settings *set = &s->settings;
    split_origins(s);
    uint32_t per_address = (uint32_t)set->per_address_max;
    rung_net_config net = {.alloc = rung_alloc_heap(),
                           .loop = s->loop,
                           .connections_max = s->connections_max,
                           .connections_reserved = reserved_of(s->connections_max),
                           .per_address_max = per_address ? per_address : s->connections_max / 4,
                           .counts_loopback = per_address != 0,
                           .held_max = (size_t)set->buffers_max,
                           .write_timeout_ms = (uint32_t)set->write_timeout_ms};
    rung_api_config api = {.alloc = rung_alloc_heap(),
                           .loop = s->loop,
                           .access = s->access,
                           .version = rung_version(),
                           .body_max = (uint32_t)set->body_max,
                           .line_ms = (uint32_t)set->body_timeout_ms,
                           .live_frame_rate = (uint32_t)set->live_frames,
                           .live_viewers_max = (uint32_t)set->live_viewers,
                           .live_topics_max = (uint32_t)set->live_topics,
                           .archive_stat = on_archive_stat,
                           .resp_stat = on_resp_stat,
                           .key_changed = on_key_changed,
                           .progress = on_recovering,
                           .answered = s->logger.level > RUNG_LOG_DEBUG ? NULL : on_answered,
                           .is_unmeasured = !set->metrics,
                           .ctx = s};
    rung_http_config http = {.alloc = rung_alloc_heap(),
                             .handle = rung_api_handle,
                             .observe = rung_api_observe,
                             .idle_ms = (uint32_t)set->idle_timeout_ms,
                             .head_ms = (uint32_t)set->header_timeout_ms,
                             .body_ms = (uint32_t)set->body_timeout_ms,
                             .body_max_ms = (uint32_t)set->body_deadline_ms,
                             .in_flight_max = (uint32_t)set->in_flight_max,
                             .gzip_min = set->gzip ? 0 : UINT32_MAX,
                             .cors_origins = s->origins[0] ? s->origins : NULL};
    if (rung_net_create(&net, &s->net, &err) < 0 || rung_api_create(&api, &s->api, &err) < 0)
        return fail(s, &err);
    http.net = s->net;
    http.ctx = s->api;
    if (rung_http_create(&http, &s->http, &err) < 0)
        return fail(s, &err);
    if (set->tls_cert &&
        rung_tls_create(rung_alloc_heap(), set->tls_cert, set->tls_key, &s->tls, &err) < 0)
        return fail(s, &err);
    rung_api_attach(s->api, s->net, s->http);
    return RUNG_EXIT_OK;
}

static int listen_http(server *s) {
    rung_err err = {0};
    rung_address address;
    if (!s->settings.http)
        return RUNG_EXIT_OK;
    if (rung_address_parse(rung_slice_str(s->settings.http), 7864, &address, &err) < 0)
        return fail(s, &err);
    if (rung_net_listen(s->net, &address, rung_http_protocol(), s->http, s->tls, &s->http_bound,
                        &err) < 0)
        return fail(s, &err);
    s->has_http = true;
    return RUNG_EXIT_OK;
}
static void *resp_opened(void *ctx, rung_conn *c) {
    server *s = ctx;
    return s->resp ? rung_resp_protocol()->opened(s->resp, c) : NULL; /* NULL: it is closed */
}

static int listen_resp(server *s) {
    rung_err err = {0};
    rung_address address;
    bool is_default = s->settings.sources[RUNG_SETTING_resp] == RUNG_SETTING_FROM_DEFAULT;
    if (!s->settings.resp)
        return RUNG_EXIT_OK;
    if (rung_address_parse(rung_slice_str(s->settings.resp), 7865, &address, &err) < 0)
        return fail(s, &err);
    s->resp_gate = *rung_resp_protocol();
    s->resp_gate.opened = resp_opened;
    rung_status st =
        rung_net_listen(s->net, &address, &s->resp_gate, s, s->tls, &s->resp_bound, &err);
    if (st == RUNG_EBUSY &&
        is_default) { /* a second server on this machine, which only asked for http */
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "the Redis protocol is not served: its port is taken",
                 RUNG_LOG_STR("why", err.message));
        return RUNG_EXIT_OK;
    }
    s->has_resp = st == RUNG_OK;
    return st < 0 ? fail(s, &err) : RUNG_EXIT_OK;
}

static int set_up_archive(server *s) {
    rung_err err = {0};
    const rung_settings *set = &s->settings;
    bool is_off = set->archive && strcmp(set->archive, "off") == 0;
    if (!set->data || is_off)
        return RUNG_EXIT_OK;
    rung_attach_config config = {.alloc = rung_alloc_heap(), .say = on_say, .ctx = s};
    if (set->archive)
        config.path = set->archive + strlen("sqlite:");
    else
        config.folder = set->data;
    return rung_attach_create(&config, &s->attach, &err) < 0 ? fail(s, &err) : RUNG_EXIT_OK;
}

/* The hub's tasks come first, so that what the fronts answer is as new as it can be. */
static void join_loop(server *s) {
    s->flush =
        (rung_task){.run = flush, .ctx = s, .is_in_every_turn = true, .has_more = has_changes};
    s->apply = (rung_task){.run = apply, .ctx = s};
    rung_turn_add(&s->loop->turn, RUNG_PHASE_FLUSH, &s->flush);
    rung_turn_add(&s->loop->turn, RUNG_PHASE_APPLY, &s->apply);
    s->tick = (rung_timer){.call = on_tick, .ctx = s};
    s->reload = (rung_timer){.call = on_reload_time, .ctx = s};
    s->announce = (rung_timer){.call = on_announce_time, .ctx = s};
    rung_timer_start(s->loop, &s->tick, TICK_MS, TICK_MS);
    rung_timer_start(s->loop, &s->reload, RELOAD_MS, RELOAD_MS);
    rung_timer_start(s->loop, &s->announce, ANNOUNCE_MS, 0);
}

static void leave_loop(server *s) {
    rung_turn_remove(&s->loop->turn, &s->flush);
    rung_turn_remove(&s->loop->turn, &s->apply);
    rung_timer_stop(s->loop, &s->tick);
    rung_timer_stop(s->loop, &s->reload);
    rung_timer_stop(s->loop, &s->announce);
}

static const int signal_numbers[SIGNAL_COUNT] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

/* The first thing of all: one that comes before the loop is there waits for it, instead of ending the process. */
static void hold_signals(sigset_t *before_out) {
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&ours, signal_numbers[i]);
    pthread_sigmask(SIG_BLOCK, &ours, before_out);
}

/* As many open files as we may have: every connection is one. The log, snapshots, the archive and connections that are
 * turned away need some, too: a server that runs out of them can neither write nor hear that a key was revoked. */
static void fit_limits(server *s) {
    struct rlimit files;
    s->connections_max = (uint32_t)s->settings.connections_max;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    rlim_t now = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        files.rlim_cur = now;
    rlim_t kept = files.rlim_cur / 2 < FILES_KEPT ? files.rlim_cur / 2 : FILES_KEPT;
    if (files.rlim_cur - kept >= s->connections_max)
        return;
    s->connections_max = files.rlim_cur > kept ? (uint32_t)(files.rlim_cur - kept) : 1;
    RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
             "the system allows fewer open files than limits.connections needs: fewer connections "
             "are taken",
             RUNG_LOG_NUMBER("files", files.rlim_cur),
             RUNG_LOG_NUMBER("connections", s->connections_max),
             RUNG_LOG_NUMBER("limits.connections", s->settings.connections_max));
}

/* What the state may take: as it was set, or from what this process may have. */
static void set_up_memory(server *s) {
    const rung_settings *set = &s->settings;
    s->memory_max = set->memory_max
                        ? set->memory_max
                        : rung_memory_for_state(rung_memory_of_process(), set->buffers_max);
    if (s->memory_max == UINT64_MAX)
        s->memory_max = 0;
    RUNG_SAY(&s->logger, RUNG_LOG_DEBUG, "memory for players and rankings",
             RUNG_LOG_NUMBER("bytes", s->memory_max));
}

static int set_up(server *s) {
    signal(SIGPIPE, SIG_IGN);
    fit_limits(s);
    set_up_memory(s);
    if (!s->settings.data)
        RUNG_SAY(
            &s->logger, RUNG_LOG_WARNING,
            "no data folder: nothing is kept when the server stops; --data DIR keeps everything",
            {0});
    int code = set_up_guard(s);
    if (code == RUNG_EXIT_OK)
        code = set_up_http(s);
    if (code == RUNG_EXIT_OK)
        code = listen_http(s);
    if (code == RUNG_EXIT_OK)
        code = listen_resp(s);
    if (code == RUNG_EXIT_OK)
        code = set_up_archive(s);
    return code;
}

/* ---- its life ---- */

/* What answers were still owed goes to exchanges whose clients are gone or were cut off. */
static void tear_down(server *s) {
    rung_err err = {0};
    leave_loop(s);
    rung_api_settle(s->api);
    if (s->hub && rung_hub_close(s->hub, &err) < 0)
        s->exit_code = fail(s, &err);
    rung_resp_destroy(s->resp);
    rung_api_destroy(s->api);
    rung_http_destroy(s->http);
    rung_net_destroy(s->net);
    rung_tls_destroy(s->tls);
    rung_access_destroy(s->access);
    rung_attach_destroy(s->attach);
    hold_signals(NULL); /* a second SIGTERM must not end a stop */
    rung_uv_loop_destroy(s->loop);
}

/* Signals are caught from the first moment, and looked at when the loop runs. */
static int begin_loop(server *s, const sigset_t *before) {
    rung_err err = {0};
    if (rung_uv_loop_create(rung_alloc_heap(), &s->loop, &err) < 0)
        return fail(s, &err);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        rung_uv_loop_on_signal(s->loop, signal_numbers[i], on_signal, s);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    return RUNG_EXIT_OK;
}

static int begin_recovery(server *s) {
    rung_err err = {0};
    s->opening = (rung_work){.run = open_folder, .done = recovered, .ctx = s};
    join_loop(s);
    if (rung_loop_work(s->loop, &s->opening) == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_ignore(RUNG_FAIL(&err, RUNG_ENOMEM, "out of memory"), "it is the answer");
    return fail(s, &err);
}

static int serve(server *s, const sigset_t *before) {
    s->exit_code = begin_loop(s, before);
    if (s->exit_code)
        return s->exit_code;
    s->exit_code = set_up(s);
    if (s->exit_code == RUNG_EXIT_OK)
        s->exit_code = begin_recovery(s);
    if (s->exit_code != RUNG_EXIT_OK && s->net)
        rung_net_stop(s->net, 1, net_stopped, s);
    if (s->net)
        rung_loop_run(s->loop, RUNG_RUN_UNTIL_STOP);
    tear_down(s);
    if (s->exit_code == RUNG_EXIT_OK)
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "stopped", {0});
    return s->exit_code;
}

static const rung_option serve_options[] = {RUNG_SETTING_OPTIONS};

static int run_serve(const rung_command *self, int argc, char **argv) {
    static server s; /* one in a process: signals have no other way to it */
    rung_setting_flags flags = {0};
    rung_err err = {0};
    sigset_t before;
    rung_memory_save_address_space();
    hold_signals(&before);
    if (!rung_command_read(self, argc, argv, &flags))
        return RUNG_EXIT_USAGE;
    s.self = self;
    if (rung_settings_load_flags(&s.settings, &flags, &err) < 0) {
        rung_settings_deinit(&s.settings);
        rung_command_fail(self, &err);
        return err.reason == RUNG_REASON_FLAG ? RUNG_EXIT_USAGE : RUNG_EXIT_PROBLEM;
    }
    s.logger = (rung_logger){.level = (rung_log_level)s.settings.log_level,
                             .is_json = s.settings.log_format == 1};
    int code = serve(&s, &before);
    rung_settings_deinit(&s.settings);
    return code;
}

const rung_command rung_command_serve = {
    .group = RUNG_GROUP_SERVER,
    .name = "serve",
    .summary = "run the server",
    .details =
        "Every setting can also come from the environment (--http is RUNG_HTTP) or from a file;\n"
        "docs/configuration.md explains them, rung config check checks them.\n"
        "\n"
        "Says \"listening http=ADDR:PORT resp=ADDR:PORT\" on standard error. Without --data "
        "nothing is\n"
        "kept. Without keys it listens on this machine only: rung keys create makes one. SIGTERM "
        "and\n"
        "SIGINT stop it after finishing what is under way (exit code 0), SIGHUP reads keys and\n"
        "certificate again, SIGUSR1 takes a snapshot. When the log cannot be written it ends at\n"
        "once with exit code 4, when there is no memory left with 5.\n"
        "\n"
        "  rung serve --data /var/lib/rung\n",
    RUNG_OPTIONS(serve_options),
    .run = run_serve,
};
