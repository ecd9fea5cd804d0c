/* SPDX-License-Identifier: Apache-2.0 */
/* wiring.c - create the parts of a server from the settings and connect them. Without keys, an address that other
 * machines can reach is refused. */
#include "app/server.h"

#include "app/memory.h"
#include "archive/postgres/url.h"
#include "base/alloc.h"
#include "base/random.h"

#include <rung/rung.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
    FILES_KEPT = 128, /* open files that are not for connections */
    RESERVED_MAX = 64,
};

/* Raise the limit on open files, and accept only as many connections as it leaves. The log, snapshots, the archive and
 * refused connections need files, too: without any, a server can neither write nor reload its keys. */
static void fit_limits(rung__server *s) {
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
             "the system allows fewer open files than limits.connections needs: accepting fewer "
             "connections",
             RUNG_LOG_NUMBER("files", files.rlim_cur),
             RUNG_LOG_NUMBER("connections", s->connections_max),
             RUNG_LOG_NUMBER("limits.connections", s->settings.connections_max));
}

static void set_up_memory(rung__server *s) {
    const rung_settings *set = &s->settings;
    s->memory_max = set->memory_max
                        ? set->memory_max
                        : rung_memory_for_state(rung_memory_of_process(), set->buffers_max);
    if (s->memory_max == UINT64_MAX)
        s->memory_max = 0;
    RUNG_SAY(&s->logger, RUNG_LOG_DEBUG, "memory for players and rankings",
             RUNG_LOG_NUMBER("bytes", s->memory_max));
}

static int64_t wall_ms(void) {
    rung_clock clock = rung_clock_real();
    return rung_clock_now(&clock);
}

static rung_status set_up_guard(rung__server *s, rung_err *err) {
    const rung_settings *set = &s->settings;
    rung_access_config config = {
        .alloc = rung_alloc_heap(),
        .path = rung_settings_keys_path(set, s->keys_path, sizeof s->keys_path),
        .public_boards = set->public_boards,
        .per_key = set->rate_key,
        .per_player = set->rate_player,
        .signature_window_ms = (int64_t)set->signature_window_ms,
        .per_peer = set->rate_peer,
        .per_address = set->rate_address,
        .per_address_submissions = set->rate_submissions,
        .now_ms = set->as_of ? wall_ms : NULL,
    };
    rung_status st = rung_random_hash_key(NULL, &config.hash_key, err);
    if (st == RUNG_OK)
        st = rung_access_create(&config, &s->access, err);
    if (st == RUNG_OK)
        st = rung_settings_check_reach(set, s->access, err);
    if (st == RUNG_OK && rung_access_is_open(s->access))
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "there are no keys: everybody on this machine may do everything, nobody else can "
                 "connect",
                 {0});
    return st;
}

static void split_origins(rung__server *s) {
    size_t count = 0;
    if (!s->settings.cors_origins)
        return;
    snprintf(s->origins_text, sizeof s->origins_text, "%s", s->settings.cors_origins);
    for (char *rest = s->origins_text, *one;
         (one = strsep(&rest, ", ")) != NULL && count < RUNG__ORIGINS_MAX;)
        if (*one)
            s->origins[count++] = one;
}

static rung_api_progress on_recovering(void *ctx) {
    const rung__server *s = ctx;
    return (rung_api_progress){s->opening_what, s->opening_done, s->opening_total};
}

static void on_answered(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                        uint64_t bytes_in, uint64_t bytes_out) {
    const rung__server *s = ctx;
    char peer[RUNG_ADDRESS_TEXT_MAX];
    const rung_request *r = rung_exchange_request(x);
    rung_exchange_peer(x, peer);
    RUNG_SAY(&s->logger, RUNG_LOG_DEBUG, "request", RUNG_LOG_SLICE("method", r->method_text),
             RUNG_LOG_SLICE("path", r->path), RUNG_LOG_NUMBER("status", status),
             RUNG_LOG_NUMBER("us", took_us), RUNG_LOG_NUMBER("in", bytes_in),
             RUNG_LOG_NUMBER("out", bytes_out), RUNG_LOG_STR("peer", peer));
}

static bool on_archive_stat(void *ctx, rung_archive_stats *out) {
    rung__server *s = ctx;
    if (s->attach)
        *out = rung_attach_stat(s->attach);
    return s->attach != NULL;
}

static bool on_feed_stat(void *ctx, rung_api_feed_stat *out) {
    const rung__server *s = ctx;
    if (!s->feed)
        return false;
    rung_feed_stats stats = rung_feed_stat(s->feed);
    *out = (rung_api_feed_stat){.is_publisher = stats.is_publisher,
                                .is_failing = stats.status < 0,
                                .published_seq = stats.published_seq,
                                .behind_events = stats.behind_events,
                                .behind_ms = stats.behind_ms,
                                .records = stats.records,
                                .replays = stats.replays,
                                .gaps = stats.gaps,
                                .failures = stats.failures};
    return true;
}

static bool on_reconcile_stat(void *ctx, rung_api_reconcile_stat *out) {
    const rung__server *s = ctx;
    *out = s->reconcile.stat;
    return s->reconcile.settings != NULL;
}

static bool on_resp_stat(void *ctx, rung_api_resp_stat *out) {
    const rung__server *s = ctx;
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
    rung__server *s = ctx;
    rung__server_note_access(s);
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, is_new ? "key made over HTTP" : "key revoked over HTTP",
             RUNG_LOG_SLICE("id", key->id), RUNG_LOG_STR("role", rung_role_name(key->role)),
             RUNG_LOG_SLICE("by", by));
}

/* Connections reserved for health checks and admins; HTTP gets as many again. */
static uint32_t reserved_of(uint32_t connections) {
    uint32_t tenth = (connections + 9) / 10;
    return connections < 4 ? 0 : tenth < RESERVED_MAX ? tenth : RESERVED_MAX;
}

/* A quarter of the machine's memory, or of the group's, unless told. */
static uint64_t past_memory(const rung_settings *set) {
    uint64_t all = rung_memory_of_process();
    if (set->as_of_memory)
        return set->as_of_memory == UINT64_MAX ? 0 : set->as_of_memory;
    return all == UINT64_MAX ? 0 : all / 4;
}

static rung_as_of_config set_up_past(rung__server *s) {
    const rung_settings *set = &s->settings;
    if (!set->data || set->as_of || !set->as_of_processes)
        return (rung_as_of_config){0};
    rung__past_helpers_init(&s->past_helpers, set, past_memory(set));
    return (rung_as_of_config){.port = &s->past_helpers.port,
                               .processes = (uint32_t)set->as_of_processes,
                               .idle_ms = (uint32_t)set->as_of_idle_ms,
                               .wait_ms = (uint32_t)set->as_of_wait_ms,
                               .rate = set->as_of_rate};
}

static const rung_replay_port *set_up_replays(rung__server *s) {
    const rung_settings *set = &s->settings;
    if (!set->data || set->as_of)
        return NULL;
    rung__replay_helpers_init(&s->replay_helpers, set, past_memory(set));
    return &s->replay_helpers.port;
}

static rung_status set_up_http(rung__server *s, rung_err *err) {
    const rung_settings *set = &s->settings;
    if (!rung__server_is_replicated(s)) /* the servers of a shared log vote on digests instead */
        rung__reconcile_pass_init(&s->reconcile, set, past_memory(set), rung__server_say, s);
    split_origins(s);
    uint32_t per_address = (uint32_t)set->per_address_max;
    rung_net_config net = {.alloc = rung_alloc_heap(),
                           .loop = s->loop,
                           .connections_max = s->connections_max,
                           .connections_reserved = reserved_of(s->connections_max),
                           .per_address_max = per_address ? per_address : s->connections_max / 4,
                           .counts_loopback = per_address != 0,
                           .proxies = &s->proxies,
                           .needs_proxy_header = set->proxy_protocol,
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
                           .as_of = set_up_past(s),
                           .replay = set_up_replays(s),
                           .is_past_helper = set->as_of_parent != 0,
                           .archive_stat = on_archive_stat,
                           .resp_stat = on_resp_stat,
                           .ingest_stat = rung__server_ingest_stat,
                           .feed_stat = on_feed_stat,
                           .reconcile_stat = on_reconcile_stat,
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
                             .proxies = &s->proxies,
                             .forwarded_by = (rung_forwarded_by)set->proxy_header,
                             .cors_origins = s->origins[0] ? s->origins : NULL};
    rung_status st = rung_proxies_parse(
        rung_slice_str(set->trusted_proxies ? set->trusted_proxies : ""), &s->proxies, err);
    if (st == RUNG_OK)
        st = rung_net_create(&net, &s->net, err);
    if (st == RUNG_OK)
        st = rung_api_create(&api, &s->api, err);
    http.net = s->net;
    http.ctx = s->api;
    if (st == RUNG_OK)
        st = rung_http_create(&http, &s->http, err);
    if (st == RUNG_OK && set->tls_cert)
        st = rung_tls_create(rung_alloc_heap(), set->tls_cert, set->tls_key, &s->tls, err);
    if (st == RUNG_OK)
        rung_api_attach(s->api, s->net, s->http);
    return st;
}

static rung_status listen_http(rung__server *s, rung_err *err) {
    rung_address address;
    if (!s->settings.http)
        return RUNG_OK;
    rung_status st = rung_address_parse(rung_slice_str(s->settings.http), 7864, &address, err);
    if (st == RUNG_OK)
        st = rung_net_listen(s->net, &address, rung_http_protocol(), s->http, s->tls,
                             &s->http_bound, err);
    s->has_http = st == RUNG_OK;
    return st;
}

static void *resp_opened(void *ctx, rung_conn *c) {
    rung__server *s = ctx;
    return s->resp ? rung_resp_protocol()->opened(s->resp, c) : NULL; /* NULL: it is closed */
}

static rung_status listen_resp(rung__server *s, rung_err *err) {
    rung_address address;
    bool is_default = s->settings.sources[RUNG_SETTING_resp] == RUNG_SETTING_FROM_DEFAULT;
    if (!s->settings.resp)
        return RUNG_OK;
    s->resp_gate = *rung_resp_protocol();
    s->resp_gate.opened = resp_opened;
    rung_status st = rung_address_parse(rung_slice_str(s->settings.resp), 7865, &address, err);
    if (st == RUNG_OK)
        st = rung_net_listen(s->net, &address, &s->resp_gate, s, s->tls, &s->resp_bound, err);
    s->has_resp = st == RUNG_OK;
    if (st != RUNG_EBUSY || !is_default)
        return st;
    /* a second server on this machine, started for HTTP */
    RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "the Redis protocol is not served: its port is taken",
             RUNG_LOG_STR("why", err->message));
    return RUNG_OK;
}

static rung_status set_up_archive(rung__server *s, rung_err *err) {
    const rung_settings *set = &s->settings;
    bool is_off = set->archive && strcmp(set->archive, "off") == 0;
    if (!set->data || is_off)
        return RUNG_OK;
    rung_attach_config config = {.alloc = rung_alloc_heap(), .say = rung__server_say, .ctx = s};
    config.follower.keep_ms = (int64_t)set->archive_keep_ms;
    if (set->archive && rung_postgres_url_is(set->archive))
        config.url = set->archive;
    else if (set->archive)
        config.path = set->archive + strlen("sqlite:");
    else
        config.folder = set->data;
    return rung_attach_create(&config, &s->attach, err);
}

int rung__server_set_up(rung__server *s) {
    rung_status (*const steps[])(rung__server *, rung_err *) = {
        set_up_guard, set_up_http,    listen_http,
        listen_resp,  set_up_archive, rung__server_set_up_feed};
    rung_err err = {0};
    signal(SIGPIPE, SIG_IGN);
    fit_limits(s);
    set_up_memory(s);
    if (!s->settings.data)
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING,
                 "no data folder: nothing is stored when the server stops; use --data DIR", {0});
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i](s, &err) < 0)
            return rung__server_fail(s, &err);
    return RUNG_EXIT_OK;
}
