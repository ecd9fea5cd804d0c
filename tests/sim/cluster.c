/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster.h"

#include "journal/folder.h"
#include "journal/snapshot_file.h"
#include "state/machine.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAL_LINK = 25, HEAL_BROKERS = 40, LATE = 20 }; /* per mille of steps */

static uint32_t below(sim_world *w, uint32_t n) {
    return (uint32_t)rung_rng_below(&w->rng, n);
}

static bool chance(sim_world *w, uint32_t per_mille) {
    return below(w, 1000) < per_mille;
}

/* ---- how a run is made ---- */

static void choose_trouble(sim_world *w) {
    sim_taste *t = &w->taste;
    t->cut_off = chance(w, 700) ? 1 + below(w, 8) : 0;
    t->standstill = chance(w, 300) ? 1 + below(w, 4) : 0;
    t->stop_node = chance(w, 400) ? 1 + below(w, 5) : 0;
    t->lose = chance(w, 600) ? 10 + below(w, 90) : 0;
    t->copy = chance(w, 300) ? 10 + below(w, 60) : 0;
    t->lag = chance(w, 400) ? 970 + below(w, 30) : 0;
}

void sim_cluster_choose(sim_world *w) {
    sim_taste *t = &w->taste;
    t->is_calm = chance(w, 200);
    t->timeout_us = t->is_calm ? 100000000 : 500000 + below(w, 4000000);
    if (!t->is_calm)
        choose_trouble(w);
    t->checkpoint_every = 10 + below(w, 40); /* reports are records, too */
    t->heartbeat_ms = 500 + below(w, 5000);
    t->has_keys = false; /* each node has its own file of them */
    t->crash = t->crash ? 1 + t->crash / 3 : 0;
    t->crash_opening = t->crash ? t->crash + below(w, 2) * below(w, 20) : 0;
    t->kill = t->kill ? 1 + t->kill / 3 : 0;
    t->has_archive = t->has_archive && chance(w, 400);
    t->has_wrong_state = chance(w, 100);
    t->wipe = chance(w, 600) && !t->has_archive ? 100 + below(w, 300) : 0;
    t->expire = t->wipe && !t->rot && chance(w, 500) ? 1 + below(w, 8) : 0;
}

/* Clocks differ by a little, some by a lot. */
static int64_t some_skew(sim_world *w) {
    int64_t most = chance(w, 600) ? 2000 : chance(w, 400) ? 600000 : 1;
    return (int64_t)below(w, (uint32_t)(2 * most)) - most;
}

void sim_cluster_begin(sim_world *w) {
    sim_topic_init(&w->topic, &w->rng);
    w->topic.lose = w->taste.lose;
    w->topic.copy = w->taste.copy;
    w->judge.topic = &w->topic;
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        w->nodes[i].skew_ms = some_skew(w);
    w->nodes[0].link.lag = w->taste.lag; /* one is behind */
    sim_tell(&w->trace,
             "%s; per mille: cut off %u, standstill %u, stopped %u, wiped %u, expired %u; lost %u, "
             "twice %u, lag %u; timeout %lld us",
             w->taste.is_calm ? "calm" : "trouble", w->taste.cut_off, w->taste.standstill,
             w->taste.stop_node, w->taste.wipe, w->taste.expire, w->taste.lose, w->taste.copy,
             w->taste.lag, (long long)w->taste.timeout_us);
}

void sim_cluster_deinit(sim_world *w) {
    sim_topic_deinit(&w->topic);
    free(w->snapshot.data);
}

/* ---- trouble ---- */

static void cut_off(sim_world *w) {
    static const char *const ways[] = {"", "to", "from", "to and from"};
    sim_topic_link *link = &w->node->link;
    uint32_t way = 1 + below(w, 3);
    link->is_cut_up = way & 1;
    link->is_cut_down = way & 2;
    w->report.partitions++;
    sim_tell(&w->trace, "the way %s the brokers is cut", ways[way]);
}

static void trouble_link(sim_world *w) {
    sim_topic_link *link = &w->node->link;
    if (!link->is_cut_up && !link->is_cut_down) {
        if (chance(w, w->taste.cut_off))
            cut_off(w);
    } else if (chance(w, HEAL_LINK)) {
        link->is_cut_up = link->is_cut_down = false;
        sim_tell(&w->trace, "the way to the brokers is whole again");
    }
}

static void trouble_brokers(sim_world *w) {
    if (!chance(w, w->topic.is_paused ? HEAL_BROKERS : w->taste.standstill))
        return;
    w->topic.is_paused = !w->topic.is_paused;
    w->report.standstills += w->topic.is_paused;
    sim_tell(&w->trace, w->topic.is_paused ? "the brokers stand still" : "the brokers go on");
}

/* Records that a snapshot has are deleted by their age, if no node is just reading them. */
static void expire(sim_world *w) {
    uint64_t first = w->snapshot_seq + 1;
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        if (n->stage == SIM_OPENING)
            return;
        if (n->stage != SIM_DOWN && n->applied + 1 < first)
            first = n->applied + 1;
    }
    if (first <= w->topic.first)
        return;
    w->topic.first = first;
    sim_tell(&w->trace, "the topic begins at seq %llu", (unsigned long long)first);
}

bool sim_node_is_paused(const sim_node *n) {
    return n->world->trace.step < n->paused_until;
}

void sim_cluster_trouble(sim_world *w) {
    sim_node *n = w->node;
    trouble_link(w);
    trouble_brokers(w);
    if (chance(w, w->taste.expire))
        expire(w);
    if (n->stage != SIM_DOWN && !sim_node_is_paused(n) && chance(w, w->taste.stop_node)) {
        n->paused_until = w->trace.step + 20 + below(w, 300);
        w->report.pauses++;
        sim_tell(&w->trace, "the process is paused until step %llu",
                 (unsigned long long)n->paused_until);
    }
}

void sim_cluster_heal(sim_world *w) {
    w->topic.lose = w->topic.copy = 0;
    w->topic.is_paused = false;
    while (w->topic.late_count)
        sim_topic_settle_late(&w->topic, below(w, 2));
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        sim_node *n = &w->nodes[i];
        n->link.is_cut_up = n->link.is_cut_down = false;
        n->link.lag = 0;
        n->paused_until = 0;
    }
}

bool sim_cluster_step(sim_world *w) {
    sim_node *n = w->node;
    bool is_moving = false;
    if (w->topic.late_count && chance(w, LATE))
        sim_topic_settle_late(&w->topic, true);
    for (uint32_t i = 1 + below(w, 4); n->log && !sim_node_is_paused(n) && i > 0; i--)
        is_moving |= sim_topic_step(n->log);
    return is_moving;
}

/* ---- a folder begins again ---- */

/* As `rung join` leaves it (cli/join.c): a verified snapshot, and whose it is. */
static void install(sim_world *w, rung_dir *dir) {
    rung_file file = {0};
    rung_snapshot_raw raw;
    char name[RUNG_FILE_NAME_MAX], id[2 * RUNG_LOG_ID_SIZE + 1];
    CHECK_OK(rung_file_open_empty(&file, dir, "join.part", NULL));
    CHECK_OK(rung_file_write(&file, w->snapshot.data, w->snapshot.len, 0, NULL));
    CHECK_OK(rung_file_sync(&file, NULL));
    rung_file_close(&file);
    rung_err err = {0};
    if (rung_snapshot_raw_open(dir, "join.part", &raw, &err) != RUNG_OK)
        sim_fail(&w->trace, "P7: a downloaded snapshot is damaged: %s", err.message);
    rung_file_close(&raw.file);
    if (memcmp(raw.uuid, w->topic.id, sizeof raw.uuid) != 0)
        sim_fail(&w->trace, "P7: a downloaded snapshot is of another log");
    for (size_t i = 0; i < RUNG_LOG_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", raw.uuid[i]);
    rung_snapshot_name(name, raw.info.seq);
    CHECK_OK(rung_file_replace(dir, RUNG_FOLDER_LOG_ID, id, strlen(id), NULL));
    CHECK_OK(rung_dir_rename(dir, "join.part", name, NULL));
    CHECK_OK(rung_dir_sync(dir, NULL));
    CHECK_OK(rung_snapshot_manifest_write(dir, raw.uuid, &raw.info, 1, NULL));
    sim_tell(&w->trace, "it begins with a peer's snapshot of seq %llu",
             (unsigned long long)raw.info.seq);
    w->report.joins++;
}

void sim_cluster_wipe(sim_world *w) {
    rung_dir dir;
    sim_node *n = w->node;
    if (n->is_disk_bad || n->flip.mask)
        return;
    const rung_memfs old = *n->fs; /* what the world has set */
    rung_memfs_deinit(n->fs);
    rung_memfs_init(n->fs);
    n->fs->random = old.random;
    n->fs->before = old.before;
    n->fs->before_arg = old.before_arg;
    n->fs->keep_failed = old.keep_failed;
    n->fs->keep_arg = old.keep_arg;
    w->report.wipes++;
    sim_tell(&w->trace, "the folder is emptied");
    if (w->snapshot.len && (n->must_join || chance(w, 800))) {
        CHECK_OK(rung_dir_open(&dir, &n->fs->port, SIM_FOLDER, true, NULL));
        install(w, &dir);
        rung_dir_close(&dir);
    }
    n->must_join = false;
}

bool sim_cluster_is_gap_told(sim_world *w) {
    sim_node *n = w->node;
    rung_dir dir;
    uint64_t newest = 0;
    size_t count;
    if (n->open_status != RUNG_ECORRUPT || w->topic.first <= 1)
        return false;
    CHECK_OK(rung_dir_open(&dir, &n->fs->port, SIM_FOLDER, false, NULL));
    CHECK_OK(rung_snapshot_list(&dir, &newest, 1, &count, NULL));
    rung_dir_close(&dir);
    n->must_join = newest + 1 < w->topic.first;
    w->report.gaps += n->must_join;
    return n->must_join;
}

/* ---- comparing ---- */

bool sim_cluster_is_even(const sim_world *w) {
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        if (w->nodes[i].applied != w->topic.count)
            return false;
    return w->judge.count == w->topic.count;
}

void sim_cluster_compare(const sim_world *w) {
    rung_digest first = rung_state_digest(w->nodes[0].state);
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        rung_digest digest = rung_state_digest(n->state);
        if (rung_state_seq(n->state) != w->topic.count)
            sim_fail(&w->trace, "node %u has seq %llu, and the topic ends at %llu", i,
                     (unsigned long long)rung_state_seq(n->state),
                     (unsigned long long)w->topic.count);
        if (digest.a != first.a || digest.b != first.b)
            sim_fail(&w->trace, "P3: nodes 0 and %u have other states at seq %llu", i,
                     (unsigned long long)w->topic.count);
        if (rung_hub_divergence(n->hub))
            sim_fail(&w->trace, "node %u has stopped, and its state is right", i);
    }
}

bool sim_cluster_is_known(const sim_world *w) {
    for (uint32_t i = 0; i < w->taste.nodes; i++)
        if (rung_nodes_stat(rung_hub_nodes(w->nodes[i].hub)).present < w->taste.nodes)
            return false;
    return true;
}

sim_node *sim_cluster_spoil(sim_world *w) {
    sim_node *n = &w->nodes[below(w, w->taste.nodes)];
    sim_tell(&w->trace, "the state of node %u becomes wrong", n->number);
    ((rung_state *)(uintptr_t)n->state)->digest.a ^= 1;
    w->judge.is_over = true;
    return n;
}

void sim_cluster_check_spoiled(sim_world *w, const sim_node *spoiled) {
    for (uint32_t i = 0; i < w->taste.nodes; i++) {
        const sim_node *n = &w->nodes[i];
        const rung_divergence *d = rung_hub_divergence(n->hub);
        if (n == spoiled && !d)
            sim_fail(&w->trace, "the wrong state of node %u was not noticed", i);
        if (n != spoiled && d)
            sim_fail(&w->trace, "node %u has stopped, and its state is right", i);
        if (n == spoiled && rung_hub_failure(n->hub, NULL) == RUNG_OK)
            sim_fail(&w->trace, "node %u knows that its state is wrong, and takes changes", i);
    }
    w->report.divergences++;
}
