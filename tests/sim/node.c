/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/node.h"

#include "sim/sqlite.h"
#include "sim/world.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { TICK_MS = 100, STOP_MS = 2000, SHARED_SNAPSHOT_MS = 3600000 };

/* ---- ports ---- */

int64_t sim_node_wall_ms(const sim_node *n) {
    return n->world->wall_ms + n->skew_ms;
}

static int64_t now_ms(void *ctx) {
    return sim_node_wall_ms(ctx);
}

static int64_t boot_ms(void *ctx) {
    return ((sim_node *)ctx)->world->monotonic_us / 1000;
}

static int64_t monotonic_us(void *ctx) {
    return ((sim_node *)ctx)->world->monotonic_us;
}

static bool boot_id(void *ctx, char out[RUNG_BOOT_ID_MAX]) {
    snprintf(out, RUNG_BOOT_ID_MAX, "boot-%u", ((sim_node *)ctx)->boots);
    return true;
}

static rung_status fill(void *ctx, void *bytes, size_t len, rung_err *err) {
    sim_node *n = ctx;
    (void)err;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)rung_rng_next(&n->world->rng);
    return RUNG_OK;
}

/* A child has a frozen copy of the process. Here it does its work at once, on the loop's own task: the state stands
 * still, while the writer, the clients and the power do not. That it has ended is seen a while later. */
typedef struct child {
    rung_child base;
    const rung_alloc *alloc;
    rung_status status;
    rung_err err;
    uint32_t polls_left;
} child;

static rung_status pause_child(const rung_child_life *life, uint32_t ms) {
    (void)life, (void)ms;
    return RUNG_OK;
}

static rung_status begin_child(const rung_children *children, const rung_alloc *alloc,
                               rung_child_work *work, void *arg, rung_child **child_out,
                               rung_err *err) {
    sim_node *n = children->ctx;
    child *c = rung_alloc_zeroed(alloc, sizeof *c);
    (void)err;
    CHECK(c != NULL);
    *c = (child){.base = {children}, .alloc = alloc};
    rung_child_life life = {.alloc = alloc, .pause = pause_child};
    sim_tell(&n->world->trace, "    a snapshot begins at seq %llu",
             (unsigned long long)rung_state_seq(n->state));
    c->status = work(arg, &life, &c->err);
    c->polls_left = (uint32_t)rung_rng_below(&n->world->rng, 4);
    sim_tell(&n->world->trace, "    the snapshot is %s", rung_status_name(c->status));
    n->world->report.snapshots += c->status == RUNG_OK;
    *child_out = &c->base;
    return RUNG_OK;
}

static void free_child(child *c) {
    rung_alloc_free(c->alloc, c, sizeof *c);
}

static rung_status poll_child(rung_child *base, bool wait, rung_err *err) {
    child *c = (child *)base;
    if (c->polls_left && !wait) {
        c->polls_left--;
        return RUNG_PARTIAL;
    }
    rung_status st = c->status;
    if (err)
        *err = c->err;
    free_child(c);
    return st;
}

static void kill_child(rung_child *base) {
    free_child((child *)base);
}

/* ---- what the hub tells ---- */

static void on_fatal(void *ctx, const rung_err *err) {
    sim_node *n = ctx;
    sim_tell(&n->world->trace, "the log failed: %s", err->message);
    n->is_fatal = true;
    sim_process_exit(&n->process);
}

static void on_say(void *ctx, const char *line) {
    sim_tell(&((sim_node *)ctx)->world->trace, "    server: %s", line);
}

static rung_status on_begin(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                            uint64_t state_seq, const rung_state *state, rung_err *err) {
    sim_node *n = ctx;
    n->state = state;
    sim_judge_opened(&n->world->judge, state_seq, rung_state_digest(state));
    return n->archive
               ? n->archive->begin(n->archive->ctx, log, log_id, first_seq, state_seq, state, err)
               : RUNG_OK;
}

/* The rest of the port is the archive's. */

static void on_before(void *ctx, const rung_state *state, int64_t ts_ms) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    if (a)
        a->before(a->ctx, state, ts_ms);
}

static void on_prepare(void *ctx, const rung_state *state, uint64_t seq, const rung_event *event) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    if (a && a->prepare)
        a->prepare(a->ctx, state, seq, event);
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    if (a)
        a->on_close(a->ctx, board, view);
}

static void on_catch_up(void *ctx) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    if (a)
        a->catch_up(a->ctx);
}

static uint64_t on_needed_from(void *ctx) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    return a ? a->needed_from(a->ctx) : UINT64_MAX;
}

static uint64_t on_snapshot_before(void *ctx) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    return a ? a->snapshot_before(a->ctx) : UINT64_MAX;
}

static void on_end(void *ctx) {
    const rung_hub_follower *a = ((sim_node *)ctx)->archive;
    if (a)
        a->end(a->ctx);
}

static void on_applied(void *ctx, uint64_t first_seq, uint32_t count,
                       const rung_event *const *events, const rung_status *statuses,
                       const rung_outcome *outcomes) {
    sim_node *n = ctx;
    sim_judge_applied(&n->world->judge, first_seq, count, events, statuses,
                      rung_state_digest(n->state));
    if (n->archive)
        n->archive->applied(n->archive->ctx, first_seq, count, events, statuses, outcomes);
    if (n->stage != SIM_OPENING)
        n->applied = first_seq + count - 1;
}

static void on_passed(void *ctx, uint64_t seq) {
    sim_node *n = ctx;
    sim_judge_passed(&n->world->judge, seq, rung_state_digest(n->state));
    if (n->archive && n->archive->passed)
        n->archive->passed(n->archive->ctx, seq);
    if (n->stage != SIM_OPENING)
        n->applied = seq;
}

/* ---- life ---- */

static rung_loop *loop(sim_node *n) {
    return sim_loop_port(n->loop);
}

static void on_wake(void *ctx) {
    sim_node *n = ctx;
    rung_loop_wake(loop(n), &n->apply);
}

static void flush(void *ctx) {
    sim_node *n = ctx;
    if (n->hub)
        rung_hub_flush(n->hub);
}

static bool has_changes(const void *ctx) {
    const sim_node *n = ctx;
    return n->hub && rung_commit_has_new(rung_hub_commit(n->hub));
}

static void apply(void *ctx) {
    sim_node *n = ctx;
    if (n->hub)
        rung_hub_turn(n->hub);
}

static void access_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                            const rung_err *err) {
    (void)st, (void)outcome, (void)err;
    ((sim_node *)ctx)->is_access_put = false;
}

/* The log knows whether there are keys, as `rung serve` tells it. */
static void note_access(sim_node *n) {
    bool has_keys = !rung_access_is_open(n->access);
    if (!has_keys && n->world->taste.nodes > 1)
        return; /* other nodes may have some */
    rung_event event = {.kind = RUNG_EVENT_ACCESS_SET, .access = {has_keys}};
    if (n->hub && !n->is_access_put && rung_state_has_keys(n->state) != has_keys)
        n->is_access_put = rung_hub_put(n->hub, &event, access_answered, n, NULL) == RUNG_OK;
}

static void on_tick(void *ctx) {
    sim_node *n = ctx;
    if (n->hub)
        rung_hub_tick(n->hub);
    if (n->stage == SIM_SERVING)
        note_access(n);
}

static void join_loop(sim_node *n) {
    n->flush =
        (rung_task){.run = flush, .ctx = n, .is_in_every_turn = true, .has_more = has_changes};
    n->apply = (rung_task){.run = apply, .ctx = n};
    n->tick = (rung_timer){.call = on_tick, .ctx = n};
    rung_turn_add(&loop(n)->turn, RUNG_PHASE_FLUSH, &n->flush);
    rung_turn_add(&loop(n)->turn, RUNG_PHASE_APPLY, &n->apply);
    rung_timer_start(loop(n), &n->tick, TICK_MS, TICK_MS);
}

static void leave_loop(sim_node *n) {
    rung_timer_stop(loop(n), &n->tick);
    rung_turn_remove(&loop(n)->turn, &n->flush);
    rung_turn_remove(&loop(n)->turn, &n->apply);
}

/* ---- opening ---- */

static rung_status open_topic(sim_node *n, rung_hub_config *hub) {
    sim_topic_config config = {.alloc = hub->alloc,
                               .proposals_max = hub->waiting_max + 1,
                               .link = &n->link,
                               .monotonic_us = &n->world->monotonic_us,
                               .timeout_us = n->world->taste.timeout_us,
                               .self = &n->log,
                               .wake = hub->wake,
                               .ctx = hub->ctx};
    hub->snapshot_every_ms = SHARED_SNAPSHOT_MS;
    hub->version = "sim";
    hub->checkpoint_every = n->world->taste.checkpoint_every;
    hub->heartbeat_ms = n->world->taste.heartbeat_ms;
    return sim_topic_open(&n->world->topic, &config, &hub->log, &n->open_err);
}

static void open_folder(rung_work *work) {
    sim_node *n = work->ctx;
    const sim_taste *t = &n->world->taste;
    rung_hub_config config = {.alloc = &n->process.alloc,
                              .clock = n->clock,
                              .random = &n->random,
                              .threads = &n->process.threads,
                              .children = &n->children,
                              .path = SIM_FOLDER,
                              .fs = &n->fs->port,
                              .segment_size = t->segment_size,
                              .waiting_max = t->waiting_max,
                              .id_capacity = t->id_capacity,
                              .id_keep_ms = t->id_keep_ms,
                              .memory_max = t->memory_max,
                              .snapshot_every = t->snapshot_every,
                              .packs = true,
                              .follower = &n->follower,
                              .wake = on_wake,
                              .fatal = on_fatal,
                              .say = on_say,
                              .ctx = n};
    n->open_status = RUNG_OK;
    if (t->nodes > 1)
        n->open_status = open_topic(n, &config);
    if (n->open_status == RUNG_OK)
        n->open_status = rung_hub_open(&config, &n->opened, &n->open_err);
}

static void net_stopped(void *ctx) {
    sim_node *n = ctx;
    rung_loop_stop(loop(n));
}

static void add_readers(sim_node *n) {
    rung_archive *archive;
    rung_err err = {0};
    n->has_archive = false;
    if (!n->attach)
        return;
    rung_status st = rung_attach_reader(n->attach, &archive, &err);
    n->has_archive = st == RUNG_OK; /* else closed windows are not found in this life */
    if (st != RUNG_OK)
        sim_tell(&n->world->trace, "the archive cannot be asked: %s", err.message);
    while (st == RUNG_OK &&
           rung_asker_add_reader(rung_api_asker(n->api), &rung_archive_reading, archive))
        st = rung_attach_add_reader(n->attach, &archive, NULL);
}

static void recovered(rung_work *work) {
    sim_node *n = work->ctx;
    n->hub = n->open_status < 0 ? NULL : n->opened;
    if (n->stage == SIM_STOPPING)
        return; /* told to stop meanwhile */
    if (n->open_status < 0) {
        sim_tell(&n->world->trace, "the folder does not open: %s", n->open_err.message);
        sim_node_stop(n);
        return;
    }
    rung_resp_config resp = {.alloc = &n->process.alloc,
                             .net = n->net,
                             .hub = n->hub,
                             .access = n->access,
                             .asker = rung_api_asker(n->api),
                             .port = SIM_RESP_PORT,
                             .is_durable = true,
                             .version = "sim"};
    CHECK_OK(rung_resp_create(&resp, &n->resp, NULL));
    note_access(n);
    rung_api_start(n->api, n->hub);
    add_readers(n);
    n->stage = SIM_SERVING;
    n->recovered = n->applied;
    n->applied = rung_state_seq(n->state);
}

static void *resp_opened(void *ctx, rung_conn *c) {
    sim_node *n = ctx;
    return n->resp ? rung_resp_protocol()->opened(n->resp, c) : NULL;
}

static void set_up_archive(sim_node *n) {
    rung_attach_config config = {.alloc = &n->process.alloc,
                                 .path = sim_sqlite_path(),
                                 .vfs = SIM_VFS,
                                 .follower = {.threads = &n->process.threads,
                                              .children = &n->children,
                                              .clock = n->clock,
                                              .batch_events = 20,
                                              .fork_rows = UINT32_MAX},
                                 .say = on_say,
                                 .ctx = n};
    n->archive = NULL;
    n->attach = NULL;
    if (!n->world->taste.has_archive)
        return;
    CHECK_OK(rung_attach_create(&config, &n->attach, NULL));
    n->archive = rung_attach_port(n->attach);
}

static bool archive_stat(void *ctx, rung_archive_stats *out) {
    sim_node *n = ctx;
    if (n->attach)
        *out = rung_attach_stat(n->attach);
    return n->attach != NULL;
}

static void listen_on(sim_node *n, uint16_t port, const rung_protocol *protocol, void *ctx) {
    rung_address address;
    CHECK_OK(rung_address_parse(RUNG_SLICE("127.0.0.1"), port, &address, NULL));
    CHECK_OK(rung_net_listen(n->net, &address, protocol, ctx, NULL, NULL, NULL));
}

/* False: the keys cannot be read. */
static bool set_up(sim_node *n) {
    const rung_alloc *a = &n->process.alloc;
    rung_access_config access = {.alloc = a,
                                 .fs = &n->fs->port,
                                 .path = n->world->taste.has_keys ? SIM_FOLDER "/keys" : NULL};
    n->open_status = rung_access_create(&access, &n->access, &n->open_err);
    if (n->open_status < 0)
        return false;
    CHECK_OK(rung_net_create(&(rung_net_config){.alloc = a, .loop = loop(n)}, &n->net, NULL));
    rung_api_config api = {.alloc = a,
                           .loop = loop(n),
                           .access = n->access,
                           .archive_stat = archive_stat,
                           .ctx = n,
                           .version = "sim"};
    CHECK_OK(rung_api_create(&api, &n->api, NULL));
    rung_http_config http = {.alloc = a,
                             .net = n->net,
                             .handle = rung_api_handle,
                             .observe = rung_api_observe,
                             .ctx = n->api,
                             .gzip_min = UINT32_MAX};
    CHECK_OK(rung_http_create(&http, &n->http, NULL));
    rung_api_attach(n->api, n->net, n->http);
    n->resp_gate = *rung_resp_protocol();
    n->resp_gate.opened = resp_opened;
    listen_on(n, SIM_HTTP_PORT, rung_http_protocol(), n->http);
    listen_on(n, SIM_RESP_PORT, &n->resp_gate, n);
    set_up_archive(n);
    return true;
}

static void tear_down(sim_node *n) {
    rung_err err = {0};
    rung_api_settle(n->api);
    rung_status st = n->close_status = rung_hub_close(n->hub, &err);
    if (st < 0)
        sim_tell(&n->world->trace, "closing failed: %s", err.message);
    n->hub = NULL;
    rung_attach_destroy(n->attach);
    rung_resp_destroy(n->resp);
    n->resp = NULL;
    rung_api_destroy(n->api);
    rung_http_destroy(n->http);
    rung_net_destroy(n->net);
    rung_access_destroy(n->access);
}

/* The process's whole life. */
static void live(void *arg) {
    sim_node *n = arg;
    n->loop = sim_loop_create(&n->wire, &n->process, &n->process.alloc, &n->world->monotonic_us,
                              &n->world->wall_ms);
    if (set_up(n)) {
        join_loop(n);
        n->opening = (rung_work){.run = open_folder, .done = recovered, .ctx = n};
        CHECK_OK(rung_loop_work(loop(n), &n->opening));
        rung_loop_run(loop(n), RUNG_RUN_UNTIL_STOP);
        leave_loop(n);
        tear_down(n);
    }
    sim_loop_destroy(n->loop);
    n->loop = NULL;
}

void sim_node_stop(sim_node *n) {
    if (n->stage == SIM_STOPPING || n->stage == SIM_DOWN)
        return;
    n->stage = SIM_STOPPING;
    rung_api_stop(n->api);
    rung_net_stop(n->net, STOP_MS, net_stopped, n);
}

void sim_node_init(sim_node *n, sim_world *w) {
    *n = (sim_node){.world = w};
    sim_process_init(&n->process, &w->trace, &w->rng, &w->monotonic_us);
    n->clock = (rung_clock){.now_ms = now_ms,
                            .ctx = n,
                            .boot_ms = boot_ms,
                            .boot_id = boot_id,
                            .monotonic_us = monotonic_us};
    n->random = (rung_random){fill, n};
    n->children = (rung_children){begin_child, poll_child, kill_child, n};
    n->follower = (rung_hub_follower){.ctx = n,
                                      .begin = on_begin,
                                      .before = on_before,
                                      .prepare = on_prepare,
                                      .applied = on_applied,
                                      .passed = on_passed,
                                      .on_close = on_close,
                                      .catch_up = on_catch_up,
                                      .needed_from = on_needed_from,
                                      .snapshot_before = on_snapshot_before,
                                      .end = on_end};
}

void sim_node_start(sim_node *n) {
    CHECK(n->stage == SIM_DOWN && !n->process.task_count);
    n->stage = SIM_OPENING;
    n->process.is_dead = n->is_fatal = n->is_access_put = n->is_sealed = false;
    n->close_status = RUNG_OK;
    n->open_status = RUNG_OK;
    n->open_err = (rung_err){0};
    n->link.has_failed = false;
    n->lives++;
    sim_process_start(&n->process, "loop", live, n);
}

void sim_node_kill(sim_node *n) {
    sim_process_kill(&n->process);
    n->log = NULL;
    sim_sqlite_forget(&n->process);
    sim_judge_forget(&n->world->judge, n->applied);
    sim_net_server_died(&n->wire);
    rung_memfs_kill(n->fs);
    n->stage = SIM_DOWN;
    n->loop = NULL;
    n->hub = NULL;
    n->resp = NULL;
    n->state = NULL;
}
