/* SPDX-License-Identifier: Apache-2.0 */
/* rung serve - the server: one loop thread that owns the state, and everything connected to it.
 *
 *     connections -> net -> http -> api -> hub -> log, archive
 *                       \-> resp ------/
 *
 * It listens at once and recovers on a worker thread: /healthz answers immediately, /readyz once the state is complete.
 *
 *     OPENING --recovered()--> SERVING --drain()--> DRAINING --stop()--> STOPPING --net_stopped()--> the loop ends
 *        \                        \--drain(): no stop_delay ------------/
 *         \--on_signal(): nothing was acknowledged yet, exit at once
 *
 * A draining server serves as before, but /readyz says 503 and every HTTP answer closes its connection, so that a load
 * balancer sends its clients elsewhere before the listeners close.
 *
 * Invariants:
 *   1. What was acknowledged is finished: a stop closes the net first (requests in flight are answered, within
 *      stop_timeout), then the hub, which logs and applies everything that was put.
 *   2. When the log fails, the process ends at once (on_fatal), before any further answer.
 *
 * Everything runs on the loop's thread, except what recovery.c lists. */
#include "app/memory.h"
#include "app/replay_helper.h"
#include "app/server.h"
#include "base/alloc.h"
#include "front/net/uv_loop.h"

#include <signal.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    RELOAD_MS = 500,
    ANNOUNCE_MS = 3000, /* how long "listening" waits for the recovery */
    SIGNAL_COUNT = 4,
};

static const int signal_numbers[SIGNAL_COUNT] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

int rung__server_fail(const rung__server *s, const rung_err *err) {
    RUNG_SAY(&s->logger, RUNG_LOG_ERROR, err->message, {0});
    return RUNG_EXIT_PROBLEM;
}

/* ---- tasks and timers ---- */

static void flush(void *ctx) {
    const rung__server *s = ctx;
    if (s->hub)
        rung_hub_flush(s->hub);
}

static bool has_changes(const void *ctx) {
    const rung__server *s = ctx;
    return s->hub && rung_commit_has_new(rung_hub_commit(s->hub));
}

static void apply(void *ctx) {
    const rung__server *s = ctx;
    if (s->hub)
        rung_hub_turn(s->hub);
}

static void on_tick(void *ctx) {
    rung__server *s = ctx;
    if (!s->hub)
        return;
    rung_hub_tick(s->hub);
    rung__server_look_ready(s);
    if (s->stage == RUNG__STAGE_SERVING)
        rung__reconcile_pass_tick(&s->reconcile, rung_hub_state(s->hub));
}

static void reload_keys(rung__server *s, bool is_forced) {
    rung_err err = {0};
    rung_status st = rung_access_reload(s->access, is_forced, &err);
    if (st == RUNG_OK)
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "keys read",
                 RUNG_LOG_NUMBER("count", rung_keys_count(rung_access_keys(s->access))));
    else if (st < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR, "cannot read the keys; the old ones stay in force",
                 RUNG_LOG_STR("why", err.message));
    rung__server_note_access(s);
}

static void on_reload_time(void *ctx) {
    reload_keys(ctx, false);
}

static void on_drained(void *ctx) {
    rung__server_stop(ctx, "stop_delay is over");
}

static void on_announce_time(void *ctx) {
    rung__server_announce(ctx);
}

/* The hub's tasks come first, so that the fronts answer from the newest state. */
static void join_loop(rung__server *s) {
    s->flush =
        (rung_task){.run = flush, .ctx = s, .is_in_every_turn = true, .has_more = has_changes};
    s->apply = (rung_task){.run = apply, .ctx = s};
    rung_turn_add(&s->loop->turn, RUNG_PHASE_FLUSH, &s->flush);
    rung_turn_add(&s->loop->turn, RUNG_PHASE_APPLY, &s->apply);
    s->tick = (rung_timer){.call = on_tick, .ctx = s};
    s->reload = (rung_timer){.call = on_reload_time, .ctx = s};
    s->announce = (rung_timer){.call = on_announce_time, .ctx = s};
    s->drain = (rung_timer){.call = on_drained, .ctx = s};
    rung_timer_start(s->loop, &s->tick, TICK_MS, TICK_MS);
    rung_timer_start(s->loop, &s->reload, RELOAD_MS, RELOAD_MS);
    rung_timer_start(s->loop, &s->announce, ANNOUNCE_MS, 0);
}

static void leave_loop(rung__server *s) {
    rung_turn_remove(&s->loop->turn, &s->flush);
    rung_turn_remove(&s->loop->turn, &s->apply);
    rung_timer_stop(s->loop, &s->tick);
    rung_timer_stop(s->loop, &s->reload);
    rung_timer_stop(s->loop, &s->announce);
    rung_timer_stop(s->loop, &s->drain);
}

/* ---- signals and stopping ---- */

static void reload_certificate(rung__server *s) {
    rung_err err = {0};
    if (!s->tls)
        return;
    if (rung_tls_reload(s->tls, &err) < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_ERROR,
                 "cannot read the certificate; the old one stays in use",
                 RUNG_LOG_STR("why", err.message));
    else
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "certificate read", {0});
}

static void begin_snapshot(rung__server *s) {
    rung_err err = {0};
    rung_status st = s->hub ? rung_hub_snapshot(s->hub, &err) : RUNG_UNCHANGED;
    if (st < 0)
        RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "no snapshot", RUNG_LOG_STR("why", err.message));
    else
        RUNG_SAY(&s->logger, RUNG_LOG_INFO,
                 st == RUNG_OK ? "snapshot started" : "nothing has changed since the last snapshot",
                 {0});
}

static void net_stopped(void *ctx) {
    rung__server *s = ctx;
    rung_loop_stop(s->loop);
}

void rung__server_stop(rung__server *s, const char *why) {
    if (s->stage == RUNG__STAGE_STOPPING)
        return;
    s->stage = RUNG__STAGE_STOPPING;
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "stopping", RUNG_LOG_STR("why", why));
    rung__server_stop_ingests(s);
    rung_api_stop(s->api);
    rung_net_stop(s->net, (uint32_t)s->settings.stop_timeout_ms, net_stopped, s);
}

static void drain(rung__server *s, const char *why) {
    uint64_t delay_ms = s->settings.stop_delay_ms;
    if (delay_ms == 0) {
        rung__server_stop(s, why);
        return;
    }
    s->stage = RUNG__STAGE_DRAINING;
    RUNG_SAY(&s->logger, RUNG_LOG_INFO, "draining", RUNG_LOG_STR("why", why),
             RUNG_LOG_NUMBER("stop_delay_ms", delay_ms));
    rung_api_drain(s->api);
    rung_http_drain(s->http);
    rung_timer_start(s->loop, &s->drain, delay_ms, 0);
}

static void on_signal(void *ctx, int number) {
    rung__server *s = ctx;
    if (s->stage == RUNG__STAGE_STOPPING) {
        if (number == SIGINT) { /* the second Ctrl-C; the log can take it */
            RUNG_SAY(&s->logger, RUNG_LOG_WARNING, "stopped", RUNG_LOG_STR("while", "stopping"));
            _exit(RUNG_EXIT_PROBLEM);
        }
    } else if (number == SIGHUP) {
        reload_keys(s, true);
        reload_certificate(s);
    } else if (number == SIGUSR1) {
        begin_snapshot(s);
    } else if (s->stage == RUNG__STAGE_SERVING) {
        drain(s, number == SIGTERM ? "SIGTERM" : "SIGINT");
    } else if (s->stage == RUNG__STAGE_DRAINING) {
        rung__server_stop(s, "told again");
    } else { /* still recovering */
        RUNG_SAY(&s->logger, RUNG_LOG_INFO, "stopped", RUNG_LOG_STR("while", "recovering"));
        _exit(RUNG_EXIT_OK);
    }
}

/* Block our signals until the loop handles them: an early one must not kill the process. */
static void hold_signals(sigset_t *before_out) {
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&ours, signal_numbers[i]);
    pthread_sigmask(SIG_BLOCK, &ours, before_out);
}

/* ---- life cycle ---- */

/* Remaining answers go to exchanges whose clients are gone. */
static void tear_down(rung__server *s) {
    rung_err err = {0};
    leave_loop(s);
    rung__reconcile_pass_end(&s->reconcile);
    rung_api_settle(s->api);
    if (s->hub && rung_hub_close(s->hub, &err) < 0)
        s->exit_code = rung__server_fail(s, &err);
    rung__server_end_ingests(s);
    rung_resp_destroy(s->resp);
    rung_api_destroy(s->api);
    rung_http_destroy(s->http);
    rung_net_destroy(s->net);
    rung_tls_destroy(s->tls);
    rung_access_destroy(s->access);
    rung_attach_destroy(s->attach);
    rung_feed_destroy(s->feed);
    hold_signals(NULL); /* a second SIGTERM must not end a stop */
    rung_uv_loop_destroy(s->loop);
}

static int begin_loop(rung__server *s, const sigset_t *before) {
    rung_err err = {0};
    if (rung_uv_loop_create(rung_alloc_heap(), &s->loop, &err) < 0)
        return rung__server_fail(s, &err);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        rung_uv_loop_on_signal(s->loop, signal_numbers[i], on_signal, s);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    return RUNG_EXIT_OK;
}

static int begin_recovery(rung__server *s) {
    rung_err err = {0};
    s->opening =
        (rung_work){.run = rung__server_open_folder, .done = rung__server_recovered, .ctx = s};
    join_loop(s);
    if (rung_loop_work(s->loop, &s->opening) == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_ignore(RUNG_FAIL(&err, RUNG_ENOMEM, "out of memory"), "it is the answer");
    return rung__server_fail(s, &err);
}

static int serve(rung__server *s, const sigset_t *before) {
    s->exit_code = begin_loop(s, before);
    if (s->exit_code)
        return s->exit_code;
    s->exit_code = rung__server_set_up(s);
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

static int run_serve(const rung_command *self, void *flags) {
    static rung__server s; /* static: it is large */
    rung_err err = {0};
    sigset_t before;
    rung_memory_save_address_space();
    hold_signals(&before);
    if (rung_settings_load_flags(&s.settings, flags, &err) < 0) {
        rung_settings_deinit(&s.settings);
        rung_command_fail(self, &err);
        return err.reason == RUNG_REASON_FLAG ? RUNG_EXIT_USAGE : RUNG_EXIT_PROBLEM;
    }
    s.logger = (rung_logger){.level = (rung_log_level)s.settings.log_level,
                             .is_json = s.settings.log_format == 1};
    if (s.settings.as_of_parent && !rung__past_helper_settle(s.settings.as_of_parent)) {
        rung_settings_deinit(&s.settings);
        return RUNG_EXIT_PROBLEM;
    }
    bool is_replay = s.settings.as_of_parent && !s.settings.http && !s.settings.resp;
    int code = is_replay ? rung__replay_helper_run(&s) : serve(&s, &before);
    rung_settings_deinit(&s.settings);
    return code;
}

const rung_command rung_command_serve = {
    .name = "serve",
    .summary = "run the server",
    .details =
        "Settings can also come from the environment (--http is RUNG_HTTP) or from a file;\n"
        "docs/configuration.md explains them, rung config check checks them.\n"
        "\n"
        "Prints \"listening http=ADDR:PORT resp=ADDR:PORT\" on standard error. Without --data\n"
        "nothing is stored. Without keys it listens on this machine only: rung keys create makes\n"
        "one. SIGTERM and SIGINT stop it after it has answered the requests in flight (exit code\n"
        "0), SIGHUP reloads keys and certificate, SIGUSR1 takes a snapshot. If the log cannot be\n"
        "written it exits at once with code 4, without memory with code 5.\n"
        "\n"
        "  rung serve --data /var/lib/rung\n",
    RUNG_OPTIONS(rung_setting_flags, serve_options),
    .run = run_serve,
};
