/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include "guard/keys_file.h"
#include "sim/cluster.h"
#include "sim/sqlite.h"
#include "support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t below(sim_world *w, uint32_t n) {
    return (uint32_t)rung_rng_below(&w->rng, n);
}

static bool chance(sim_world *w, uint32_t per_mille) {
    return below(w, 1000) < per_mille;
}

/* The same, for what only some runs have: the others do not throw the dice. */
static bool chance_of(sim_world *w, uint32_t per_mille) {
    return per_mille && chance(w, per_mille);
}

/* ---- what clients ask of it ---- */

sim_node *sim_world_some_node(sim_world *w) {
    return &w->nodes[w->taste.nodes > 1 ? below(w, w->taste.nodes) : 0];
}

const char *sim_world_key(const sim_world *w, const sim_client *c) {
    return w->keys[c->key].text;
}

void sim_world_sent(sim_world *w, sim_client *c, sim_flight *f) {
    f->key_number = c->key;
    f->is_key_gone = w->keys[c->key].is_revoked;
    for (uint32_t i = 1; f->op->kind == SIM_REVOKE && i < SIM_CLIENTS_MAX; i++)
        w->keys[i].is_revoked_perhaps |= strcmp(w->keys[i].id, f->op->id) == 0;
}

/* A key is good until somebody asks for its end, and never after somebody was told of it. */
static void check_key(sim_world *w, const sim_client *c, const sim_flight *f, sim_answer answer) {
    const sim_key *key = &w->keys[f->key_number];
    if (answer == SIM_DENIED && !key->is_revoked_perhaps)
        sim_fail(&w->trace, "client %u was denied with a good key", c->number);
    if ((answer == SIM_OK || answer == SIM_REFUSED) && f->is_key_gone && f->op->kind != SIM_PROBE)
        sim_fail(&w->trace, "client %u was served with a key that had been revoked", c->number);
    for (uint32_t i = 1; f->op->kind == SIM_REVOKE && answer == SIM_OK && i < SIM_CLIENTS_MAX; i++)
        w->keys[i].is_revoked |= strcmp(w->keys[i].id, f->op->id) == 0;
}

/* The log may be the reason only where it had trouble. */
static void check_reason(sim_world *w, const sim_client *c, sim_answer answer, const char *text) {
    bool is_of_log = strstr(text, "\"log_unavailable\"") || strstr(text, "\"outcome_unknown\"") ||
                     strncmp(text, "-MISCONF", 8) == 0;
    w->report.unknown += is_of_log && answer == SIM_UNKNOWN;
    if (is_of_log && w->taste.nodes > 1 && w->taste.is_calm)
        sim_fail(&w->trace, "client %u: the log is no reason, it had no trouble: %.200s", c->number,
                 text);
}

void sim_world_answered(sim_world *w, sim_client *c, const sim_flight *f, sim_answer answer,
                        int status, const char *text) {
    (void)status;
    w->report.answers++;
    check_key(w, c, f, answer);
    check_reason(w, c, answer, text);
}

uint64_t sim_world_applied(const sim_world *w) {
    uint64_t seq = 0;
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        seq = w->nodes[i].applied > seq ? w->nodes[i].applied : seq;
    return seq;
}

void sim_world_downloaded(sim_world *w, uint64_t seq, const char *bytes, size_t len) {
    if (seq < w->snapshot_seq)
        return;
    w->snapshot_seq = seq;
    w->snapshot.len = 0;
    sim_bytes_add(&w->snapshot, bytes, len);
}

bool sim_world_want_revocation(sim_world *w, sim_op *op) {
    sim_key *key = &w->keys[1 + below(w, SIM_CLIENTS_MAX - 1)];
    if (!w->taste.has_keys || key->is_revoked || below(w, 2))
        return false;
    op->kind = SIM_REVOKE;
    snprintf(op->id, sizeof op->id, "%s", key->id);
    return true;
}

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, ctx, keys_out, err);
}

/* The file of keys, as `rung keys create` makes it before a server starts. */
static void make_keys(sim_world *w) {
    rung_dir dir;
    CHECK_OK(rung_dir_open(&dir, &w->node->fs->port, SIM_FOLDER, true, NULL));
    rung_dir_close(&dir);
    for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
        uint8_t bytes[RUNG_KEY_CHANCE_SIZE];
        rung_key key = {.role = RUNG_ROLE_ADMIN, .created_ms = w->wall_ms};
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)rung_rng_next(&w->rng);
        CHECK_OK(rung_key_mint(&key, bytes, w->keys[i].text, NULL));
        snprintf(w->keys[i].id, sizeof w->keys[i].id, "%.*s", (int)key.id.len, key.id.ptr);
        CHECK_OK(rung_keys_file_change(&w->node->fs->port, rung_alloc_heap(), SIM_FOLDER "/keys",
                                       add_key, &key, NULL));
    }
}

/* ---- the disk ---- */

/* A task that touches a file may be put aside right there. */
static void before_file_call(void *arg, rung_memfs *fs, const char *call) {
    sim_world *w = arg;
    (void)fs, (void)call;
    if (below(w, 100) < w->taste.pause && sim_process_running())
        sim_process_pause(sim_process_running());
}

static bool keep_some(void *arg, size_t atom) {
    (void)atom;
    return rung_rng_next(arg) & 1;
}

static bool keep_none(void *arg, size_t atom) {
    (void)arg, (void)atom;
    return false;
}

static void attach_disk(sim_world *w) {
    w->node->fs->before = before_file_call;
    w->node->fs->before_arg = w;
    w->node->fs->keep_failed = keep_some;
    w->node->fs->keep_arg = &w->rng;
}

/* The machine goes and comes back: of what was not synced any part may be there. */
static void lose_power(sim_world *w) {
    rung_memfs *after = malloc(sizeof *after);
    CHECK(after != NULL);
    rung_memfs_crash(after, w->node->fs, chance(w, 300) ? keep_none : keep_some, &w->rng);
    rung_memfs_deinit(w->node->fs);
    free(w->node->fs);
    w->node->fs = after;
    attach_disk(w);
    w->node->boots++;
}

static void heal_disk(sim_world *w) {
    rung_memfs_fail(w->node->fs, 0, 0, false);
    w->node->fs->only = 0;
    w->node->fs->space = 0;
    if (w->node->is_disk_bad)
        w->node->bad_life = w->node->lives;
    w->node->is_disk_bad = false;
}

static void fail_disk(sim_world *w) {
    static const char only[] = {0, 'w', 's', 's'};
    if (w->node->fs->fail_at && !w->node->fs->has_failed)
        return;
    w->node->fs->only = only[below(w, 4)];
    uint32_t n = 1 + below(w, 12);
    rung_memfs_fail(w->node->fs, n, EIO, chance(w, 200));
    w->node->is_disk_bad = true;
    sim_tell(&w->trace, "the disk will fail: call %u of kind %c", n,
             w->node->fs->only ? w->node->fs->only : '*');
    w->report.faults++;
}

static void fill_disk(sim_world *w) {
    if (w->node->fs->space) {
        w->node->fs->space = 0;
        sim_tell(&w->trace, "the disk has space again");
        return;
    }
    w->node->fs->space = rung_memfs_used(w->node->fs) + below(w, 2) * below(w, 20000);
    w->node->is_disk_bad = true;
    w->report.faults++;
    sim_tell(&w->trace, "the disk fills up at %llu", (unsigned long long)w->node->fs->space);
}

/* ---- damage ---- */

/* The files whose every bit is guarded. Not so the last segment of a run that was killed: damage at its very end cannot
 * be told from a batch that the power cut tore, which nobody was told of. Nor the archive: SQLite has no checksums, and
 * looks through its structure only. */
static bool is_guarded(const sim_world *w, const memfs_name *n) {
    size_t len = strlen(n->name);
    if (strcmp(n->name, "high-water") == 0 || strstr(n->name, ".snap"))
        return true;
    if (len < 4 || strcmp(n->name + len - 4, ".seg") != 0)
        return false;
    for (size_t i = 0; !w->node->is_sealed && i < w->node->fs->seen.count; i++)
        if (strstr(w->node->fs->seen.names[i].name, ".seg") &&
            strcmp(w->node->fs->seen.names[i].name, n->name) > 0)
            return true;
    return w->node->is_sealed;
}

/* While the server is down, a bit on its disk changes. One at a time: what was flipped is set right first. */
static void rot(sim_world *w) {
    const memfs_name *found[64];
    uint32_t count = 0;
    if (w->node->stage != SIM_DOWN || w->node->is_disk_bad || w->node->flip.mask)
        return;
    for (size_t i = 0; i < w->node->fs->seen.count && count < 64; i++)
        if (is_guarded(w, &w->node->fs->seen.names[i]))
            found[count++] = &w->node->fs->seen.names[i];
    if (!count)
        return;
    const memfs_name *n = found[below(w, count)];
    const memfs_bytes *b = &w->node->fs->inodes[n->inode].disk;
    if (!b->size)
        return;
    memfs_flip flip = {.inode = n->inode,
                       .offset =
                           below(w, (uint32_t)(chance(w, 500) && b->size > 4500 ? 4500 : b->size)),
                       .mask = (uint8_t)(1 << below(w, 8))};
    flip.is = b->bytes[flip.offset];
    if (!rung_memfs_flip(w->node->fs, &flip))
        return;
    w->node->flip = flip;
    snprintf(w->node->flip_file, sizeof w->node->flip_file, "%s", n->name);
    w->report.flips++;
    sim_tell(&w->trace, "a bit of %s flips, at %zu", n->name, flip.offset);
}

/* The operator puts the right byte back, from a backup. */
static void mend(sim_world *w) {
    if (!w->node->flip.mask)
        return;
    sim_tell(&w->trace, "%s is mended%s", w->node->flip_file,
             rung_memfs_flip(w->node->fs, &w->node->flip) ? "" : ": it has been written since");
    w->node->flip.mask = 0;
}

/* P7: a folder that is damaged is refused with a reason, or it is served as if it were whole. */
static bool is_refusal_due(sim_world *w) {
    rung_status st = w->node->open_status;
    if (!w->node->flip.mask ||
        (st != RUNG_ECORRUPT && st != RUNG_EVERSION && st != RUNG_EIO && st != RUNG_ECONFLICT))
        return false;
    if (!w->node->open_err.message[0])
        sim_fail(&w->trace, "P7: a damaged folder was refused without a reason");
    w->report.refusals++;
    mend(w);
    return true;
}

/* ---- the server ---- */

/* What was visible must be there again, whatever happened in between. */
static void check_recovered(const sim_node *n) {
    sim_trace *t = &n->world->trace;
    sim_tell(t, "recovered seq %llu, before it was %llu", (unsigned long long)n->applied,
             (unsigned long long)n->recovered);
    if (n->applied < n->recovered)
        sim_fail(t, "P1: seq %llu was visible, after the restart the server has %llu",
                 (unsigned long long)n->recovered, (unsigned long long)n->applied);
}

static void kill_node(sim_world *w, bool with_power) {
    sim_tell(&w->trace, with_power ? "the power goes" : "the process is killed");
    sim_node_kill(w->node);
    if (with_power)
        lose_power(w);
    w->report.crashes += with_power;
    w->report.kills += !with_power;
}

static void start_node(sim_world *w) {
    if (w->node->must_join || (w->topic.count && chance_of(w, w->taste.wipe)))
        sim_cluster_wipe(w);
    sim_tell(&w->trace, "the server starts, life %llu", (unsigned long long)w->node->lives + 1);
    sim_node_start(w->node);
}

static void start_nodes(sim_world *w) {
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        w->node = &w->nodes[i];
        w->trace.node = i;
        start_node(w);
    }
}

/* A folder that does not open is a failure, unless the disk was made to fail. */
static void check_opening(sim_world *w) {
    if (w->node->open_status >= 0 || w->node->is_disk_bad || w->node->bad_life == w->node->lives ||
        w->node->link.has_failed || is_refusal_due(w) || sim_cluster_is_gap_told(w))
        return;
    sim_fail(&w->trace, "P1: the folder does not open: %s", w->node->open_err.message);
}

/* After a task's step: has the process ended, in one way or the other? */
static void look_after_node(sim_world *w) {
    sim_node *n = w->node;
    if (n->process.is_dead) {
        if (!w->node->is_disk_bad && w->node->bad_life != w->node->lives)
            sim_fail(&w->trace, "the server gave up without a reason");
        kill_node(w, false);
        heal_disk(w);
        return;
    }
    if (n->stage == SIM_DOWN || n->process.task_count)
        return;
    sim_tell(&w->trace, "the server has stopped");
    n->is_sealed = n->open_status >= 0 && n->close_status >= 0;
    check_opening(w);
    if (n->process.used)
        sim_fail(&w->trace, "%zu bytes were not given back", n->process.used);
    sim_node_kill(n);
    if (n->open_status < 0)
        heal_disk(w);
}

static bool step_node(sim_world *w) {
    sim_task *ready[SIM_TASKS_MAX];
    sim_stage before = w->node->stage;
    if (sim_node_is_paused(w->node))
        return false;
    uint32_t count = sim_process_ready(&w->node->process, ready);
    if (!count)
        return false;
    sim_process_step(&w->node->process, ready[below(w, count)]);
    if (before == SIM_OPENING && w->node->stage == SIM_SERVING)
        check_recovered(w->node);
    look_after_node(w);
    return true;
}

/* ---- time ---- */

static void pass_time(sim_world *w, int64_t us) {
    w->monotonic_us += us;
    w->wall_ms += us / 1000;
}

static void pass_some_time(sim_world *w) {
    uint32_t dice = below(w, 100);
    bool has_archive = w->taste.has_archive; /* then hours pass, and windows close */
    if (w->taste.is_calm && dice >= 94)
        return; /* nothing waits too long */
    pass_time(w, dice < 70                        ? below(w, 20000)
                 : dice < (has_archive ? 94 : 97) ? below(w, 400000)
                                                  : below(w, has_archive ? 1200000000 : 20000000));
}

static void jump(sim_world *w) {
    int64_t ms = (int64_t)below(w, 7200000) - 3600000;
    sim_tell(&w->trace, "the wall clock jumps by %lld ms", (long long)ms);
    *(w->taste.nodes > 1 ? &w->node->skew_ms : &w->wall_ms) += ms;
    w->judge.has_jumps = true;
}

/* ---- steps ---- */

static sim_link *some_link(sim_world *w, bool (*has)(const sim_link *l)) {
    sim_link *found[32];
    uint32_t n = 0;
    for (sim_link *l = w->node->wire.links; l && n < 32; l = l->next)
        if (has(l))
            found[n++] = l;
    return n ? found[below(w, n)] : NULL;
}

static size_t some_bytes(sim_world *w) {
    return chance(w, 500) ? 100000 : 1 + below(w, chance(w, 500) ? 30 : 600);
}

static bool deliver(sim_world *w) {
    bool is_up = chance(w, 500);
    sim_link *l = some_link(w, is_up ? sim_link_has_up : sim_link_has_down);
    if (!l)
        return false;
    if (is_up)
        sim_net_deliver_up(&w->node->wire, l, some_bytes(w));
    else
        sim_net_deliver_down(&w->node->wire, l, some_bytes(w));
    return true;
}

static bool is_connected(const sim_link *l) {
    return l->client && !l->is_server_done;
}

/* By the network, or by the client, which does not care to hear the rest. */
static void cut(sim_world *w) {
    sim_link *l = some_link(w, is_connected);
    if (!l)
        return;
    w->report.cuts++;
    if (chance(w, 500))
        sim_net_cut(&w->node->wire, l);
    else
        sim_client_leave(l->client, chance(w, 500));
}

static void trouble(sim_world *w) {
    const sim_taste *t = &w->taste;
    uint32_t dice = below(w, 1000), at = 0;
    if (dice < (at += w->node->stage == SIM_OPENING ? t->crash_opening : t->crash)) {
        if (w->node->stage != SIM_DOWN)
            kill_node(w, true);
    } else if (dice < (at += t->kill)) {
        if (w->node->stage != SIM_DOWN)
            kill_node(w, false);
    } else if (dice < (at += t->fail)) {
        fail_disk(w);
    } else if (dice < (at += t->fill)) {
        fill_disk(w);
    } else if (dice < (at += t->cut)) {
        cut(w);
    } else if (dice < (at += t->jump)) {
        jump(w);
    } else if (dice < (at += t->stop)) {
        if (w->node->stage != SIM_SERVING)
            return;
        sim_tell(&w->trace, "the server is told to stop");
        sim_node_stop(w->node);
    } else if (dice < (at += t->rot)) {
        rot(w);
    }
}

static void choose_node(sim_world *w) {
    w->node = sim_world_some_node(w);
    w->trace.node = w->node->number;
}

static void step(sim_world *w) {
    uint32_t dice = below(w, 100);
    w->trace.step++;
    choose_node(w);
    trouble(w);
    if (w->taste.nodes > 1) {
        sim_cluster_trouble(w);
        sim_cluster_step(w);
    }
    if (w->node->stage == SIM_DOWN && chance(w, 200))
        start_node(w);
    if (dice < 18)
        sim_client_act(&w->clients[below(w, w->taste.clients)]);
    else if (dice < 50)
        deliver(w);
    else if (dice < 92)
        for (uint32_t n = 1 + below(w, 4); n > 0 && step_node(w); n--)
            continue;
    else
        pass_some_time(w);
    sim_net_sweep(&w->node->wire);
}

/* ---- the end: everything is heard, everything is asked once more ---- */

enum { PATIENCE = 20000 };

static bool settle_clients(sim_world *w) {
    bool is_busy = false;
    for (uint32_t i = 0; i < w->taste.clients; i++)
        is_busy |= sim_client_settle(&w->clients[i]);
    return is_busy;
}

static bool is_every_node(sim_world *w, sim_stage stage) {
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        if (w->nodes[i].stage != stage)
            return false;
    return true;
}

/* What can happen does, at any node; if nothing can, time passes. */
static void move_on(sim_world *w) {
    w->trace.step++;
    choose_node(w);
    bool is_moving = w->taste.nodes > 1 && sim_cluster_step(w);
    is_moving |= chance(w, 500) ? step_node(w) | deliver(w) : deliver(w) | step_node(w);
    if (!is_moving || chance(w, 100))
        pass_time(w, 20000 / w->taste.nodes);
    sim_net_sweep(&w->node->wire);
}

static void heal_disks(sim_world *w) {
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        w->node = &w->nodes[i];
        w->trace.node = i;
        heal_disk(w);
        if (w->node->stage == SIM_DOWN)
            mend(w);
    }
}

/* No more trouble, until all requests are answered. */
static void settle(sim_world *w) {
    heal_disks(w);
    if (w->taste.nodes > 1)
        sim_cluster_heal(w);
    sim_tell(&w->trace, "no more trouble");
    for (uint32_t i = 0; i < PATIENCE * w->taste.nodes; i++) {
        if (is_every_node(w, SIM_SERVING) && !settle_clients(w) &&
            (w->taste.nodes == 1 || sim_cluster_is_even(w)))
            return;
        move_on(w);
        if (w->node->stage == SIM_DOWN)
            start_node(w);
    }
    sim_fail(&w->trace, "requests were never answered, or the server never came up");
}

static void ask_once(sim_world *w, sim_op *op) {
    sim_client *c = &w->clients[0];
    op->limit = SIM_PLAYERS;
    sim_op_set_tag(op);
    while (!sim_client_ask(c, op)) {
        if (c->link)
            sim_client_leave(c, false);
        sim_client_act(c);
        settle(w);
    }
}

/* The hours that are over, of two boards: the first keeps none of them in memory. */
static void ask_for_hours(sim_world *w) {
    static const sim_op_kind kinds[] = {SIM_TOP, SIM_TEAMS, SIM_FRIENDS};
    for (uint32_t i = 0; w->taste.has_archive && i < 12; i++) {
        sim_op *op = sim_judge_new_op(&w->judge);
        op->board = (uint8_t)(i % 4 == 3);
        op->kind = op->board ? SIM_TOP : kinds[i % 4];
        op->player = (uint8_t)below(w, SIM_PLAYERS);
        op->window = 1;
        op->has_country = op->kind == SIM_TOP && !op->board && below(w, 2);
        rung_window_id_format(RUNG_WINDOW_HOUR, w->wall_ms / 3600000 - i / 4, op->window_id);
        ask_once(w, op);
    }
}

/* Every ranking once more, so that what was never read is compared, too. */
static void ask_everything(sim_world *w) {
    for (uint32_t i = 0; i < SIM_BOARDS + SIM_KEYS; i++) {
        sim_op *op = sim_judge_new_op(&w->judge);
        op->kind = i < SIM_BOARDS ? SIM_TOP : SIM_ZTOP;
        op->board = (uint8_t)(i < SIM_BOARDS ? i : i - SIM_BOARDS);
        ask_once(w, op);
    }
    ask_for_hours(w);
    settle(w);
}

/* A while after the last request: no window is open whose time is over by the server's clock. */
static void check_windows(sim_world *w) {
    int64_t until_us = w->monotonic_us + 2000000;
    for (uint32_t i = 0; i < PATIENCE && w->monotonic_us < until_us; i++) {
        choose_node(w);
        bool is_moving = w->taste.nodes > 1 && sim_cluster_step(w);
        if (!step_node(w) && !is_moving)
            pass_time(w, 20000);
    }
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        if (n->stage == SIM_SERVING && !n->fs->has_failed &&
            rung_state_next_close(n->state) < rung_hub_now(n->hub) - 1000)
            sim_fail(&w->trace, "P4: a window is still open after its time");
    }
}

static void stop_nodes(sim_world *w) {
    sim_tell(&w->trace, "the server is told to stop");
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        sim_node_stop(&w->nodes[i]);
    for (uint32_t i = 0; !is_every_node(w, SIM_DOWN); i++) {
        if (i > PATIENCE * w->taste.nodes)
            sim_fail(&w->trace, "the server does not stop");
        move_on(w);
    }
}

/* ---- a run ---- */

enum { MEMORY_LEAST = 60000 };

static void choose_taste(sim_world *w, const sim_config *config) {
    sim_taste *t = &w->taste;
    t->nodes = config->nodes ? config->nodes : 1;
    t->clients = 2 + below(w, SIM_CLIENTS_MAX - 1);
    t->steps = config->steps ? config->steps : 400 + below(w, 1000);
    t->crash = chance(w, 700) ? 1 + below(w, 8) : 0;
    t->kill = chance(w, 500) ? 1 + below(w, 6) : 0;
    t->fail = chance(w, 400) ? 1 + below(w, 8) : 0;
    t->fill = chance(w, 300) ? 1 + below(w, 8) : 0;
    if (chance(w, 150)) { /* a disk that does everything wrong */
        t->crash = 3 + below(w, 6);
        t->kill = 3 + below(w, 6);
        t->fail = 4 + below(w, 8);
        t->fill = 6 + below(w, 10);
    }
    t->cut = chance(w, 700) ? 1 + below(w, 20) : 0;
    t->jump = chance(w, 400) ? 1 + below(w, 8) : 0;
    t->stop = chance(w, 400) ? 1 + below(w, 3) : 0;
    t->rot = chance(w, 250) ? 30 + below(w, 100) : 0;
    t->crash_opening = t->crash ? t->crash + below(w, 2) * below(w, 80) : 0;
    t->pause = below(w, 4) * 25;
    t->waiting_max = chance(w, t->fill ? 500 : 200) ? 2 + below(w, 8) : 1024;
    t->segment_size = UINT64_C(16384) << below(w, 2) * below(w, 3);
    t->has_keys = chance(w, 400);
    t->has_archive = chance(w, 400);
    t->has_meta = t->fill ? chance(w, 800) : chance(w, 300);
    if (t->has_archive &&
        chance(w, 700)) { /* longer lives, so that windows are closed and asked for */
        t->crash = t->crash ? 1 : 0;
        t->kill = t->kill ? 1 : 0;
        t->fail = t->fail ? 1 + below(w, 2) : 0;
        t->crash_opening = t->crash && chance(w, 300) ? 30 + below(w, 60) : t->crash;
        t->steps += 400;
    }
    t->id_capacity = chance(w, 300) ? 1 + below(w, 12) : 1000000;
    t->id_keep_ms = chance(w, 200) ? 1000 + below(w, 60000) : 86400000;
    t->memory_max = chance(w, 150) ? MEMORY_LEAST + below(w, MEMORY_LEAST) : 0;
    t->snapshot_every = chance(w, 500) ? 2000 + below(w, 6000) : UINT64_MAX;
    if (t->nodes > 1)
        sim_cluster_choose(w);
}

static void begin_node(sim_world *w, uint32_t number, uint64_t seed) {
    sim_node *n = w->node = &w->nodes[number];
    sim_node_init(n, w);
    n->number = number;
    n->fs = malloc(sizeof *n->fs);
    CHECK(n->fs != NULL);
    rung_memfs_init(n->fs);
    n->fs->random = seed + number;
    attach_disk(w);
    n->wire = (sim_net){
        .trace = &w->trace, .rng = &w->rng, .got = sim_client_got, .ended = sim_client_ended};
    sim_sqlite_mount(&n->process, &n->fs, SIM_FOLDER);
    if (w->taste.has_keys)
        make_keys(w);
}

static void begin(sim_world *w, const sim_config *config) {
    sim_trace_init(&w->trace, config->seed, config->nodes ? config->nodes : 1, config->is_loud);
    rung_rng_seed(&w->rng, config->seed);
    choose_taste(w, config);
    w->monotonic_us = 5000000;
    w->wall_ms = SIM_BEGIN_MS + 3600000 - (int64_t)below(w, 30000); /* near an hour's end */
    w->fields = malloc(sizeof *w->fields);
    CHECK(w->fields);
    sim_judge_init(&w->judge, &w->trace);
    w->judge.id_capacity = w->taste.id_capacity;
    w->judge.id_keep_ms = w->taste.id_keep_ms;
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        begin_node(w, i, config->seed);
    for (uint8_t i = 0; i < w->taste.clients; i++)
        sim_client_init(&w->clients[i], w, i);
    if (w->taste.nodes > 1)
        sim_cluster_begin(w);
    sim_tell(&w->trace,
             "%u clients, %u steps; per mille: crash %u, kill %u, fail %u, fill %u, "
             "cut %u, jump %u; pause %u %%; %u may wait; %s, %s",
             w->taste.clients, w->taste.steps, w->taste.crash, w->taste.kill, w->taste.fail,
             w->taste.fill, w->taste.cut, w->taste.jump, w->taste.pause, w->taste.waiting_max,
             w->taste.has_keys ? "keys" : "no keys",
             w->taste.has_archive ? "an archive" : "no archive");
}

static void end(sim_world *w) {
    for (uint8_t i = 0; i < w->taste.clients; i++)
        sim_client_deinit(&w->clients[i]);
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        sim_node *n = &w->nodes[i];
        sim_sqlite_unmount(&n->process);
        sim_net_deinit(&n->wire);
        rung_memfs_deinit(n->fs);
        free(n->fs);
    }
    if (w->taste.nodes > 1)
        sim_cluster_deinit(w);
    sim_judge_deinit(&w->judge);
    free(w->fields);
}

/* All nodes have everything: they must have the same. */
static void compare_nodes(sim_world *w) {
    if (w->taste.nodes == 1)
        return;
    settle(w);
    sim_cluster_compare(w);
}

static void spoil_a_node(sim_world *w) {
    uint32_t patience = PATIENCE * w->taste.nodes;
    if (!w->taste.has_wrong_state)
        return;
    while (!sim_cluster_is_known(w) && patience--) /* two votes alone would be a tie */
        move_on(w);
    const sim_node *spoiled = sim_cluster_spoil(w);
    while (!rung_hub_divergence(spoiled->hub) && patience--)
        move_on(w);
    sim_cluster_check_spoiled(w, spoiled);
}

/* What was closed well opens again as it was, also without the events behind a snapshot. */
static void open_again(sim_world *w) {
    start_nodes(w);
    settle(w);
    compare_nodes(w);
    spoil_a_node(w);
    stop_nodes(w);
}

void sim_run(const sim_config *config, sim_report *report) {
    sim_world *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    begin(w, config);
    start_nodes(w);
    while (w->trace.step < w->taste.steps)
        step(w);
    settle(w);
    ask_everything(w);
    check_windows(w);
    compare_nodes(w);
    stop_nodes(w);
    open_again(w);
    sim_judge_sum_up(&w->judge);
    w->report.hash = w->trace.hash;
    w->report.steps = w->trace.step;
    w->report.events = w->judge.count;
    w->report.late = w->topic.lates;
    w->report.copies = w->topic.copies;
    *report = w->report;
    end(w);
    free(w);
}
