/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a shared log, and the votes on their digests.
 *
 * Workload: a report per server and heartbeat, and one per server and 65,536 records; a handful of servers. Sets of
 * servers are the bits of a word, by their places in `nodes`; this server has place 0.
 *
 * A vote is a digest in a report that has come back in the log, ours like everybody's. So all servers count the same
 * votes in the same order, and none stops before the others can know what it thought.
 *
 *     a report arrives -> hear -> count_vote -> decide --(more than half have another digest)--> diverged
 *                                                |-----(more than half have ours)-------------> agreed
 *                                                |-----(nobody is left to decide it)----------> diverged, as a tie
 *                                                \-----(otherwise)----------------------------> wait for more votes
 *
 * Invariants:
 *   N1  A server has at most one vote per checkpoint, and votes of an earlier run of it do not count.
 *   N2  A checkpoint in a report precedes the report in the log, so we have passed it, too; if it is not among our
 *       last ones (we began with a later snapshot), the vote says nothing to us.
 *   N3  The electors of a checkpoint are the servers that have voted on it, and those present that have not passed it
 *       yet. One that is known to have diverged is none.
 *   N4  A divergence is for good: only a new run with another state ends it. */
#include "service/nodes.h"

#include <stdio.h>
#include <string.h>

enum {
    SELF = 0,
    KEPT = 64, /* of our checkpoints: 4 M records, or several minutes of an idle log */
    CAMPS = 4, /* digests other than ours that are told apart */
    HEARTBEAT_MS = 10000,
    DISPUTE_BEATS = 6, /* then a dispute is a tie, whoever may still vote */
};
#define CHECKPOINT_EVERY 65536

typedef uint64_t node_set;
_Static_assert(RUNG_NODES_MAX == 64, "a set of servers is one word");

typedef struct node {
    uint64_t id, run;
    int64_t heard_ms;
    uint64_t seq;
    uint32_t level, heartbeat_ms;
    bool has_left, is_diverged, is_disagreeing;
    rung_checkpoint checkpoint; /* its newest */
    size_t version_len, address_len;
    char version[RUNG_NODE_VERSION_MAX], address[RUNG_NODE_ADDRESS_MAX];
} node;

typedef struct camp {
    rung_digest digest;
    node_set who;
} camp;

typedef struct checkpoint {
    rung_checkpoint ours;
    int64_t taken_ms;
    node_set with_us, scattered; /* scattered: for digests that no camp had room for */
    camp camps[CAMPS];
    bool is_agreed, is_disputed;
    int64_t disputed_ms;
} checkpoint;

struct rung_nodes {
    rung_nodes_config config;
    int64_t now_ms;
    bool is_live, is_crowded; /* crowded: said that there are too many */
    bool is_doubled;          /* said that another server has our id */
    uint32_t count;
    node nodes[RUNG_NODES_MAX];
    checkpoint kept[KEPT]; /* a ring: number i is at i % KEPT */
    uint64_t taken;        /* checkpoints so far */
    /* Our reports. */
    bool has_sent;
    int64_t sent_ms;
    uint64_t sent_seq;    /* the newest checkpoint in a report of ours */
    int64_t listening_ms; /* since when our reports come back without a gap; INT64_MAX: not yet */
    rung_nodes_stats stats;
    bool has_diverged;
    bool is_leaving; /* it has said so: nothing may follow */
    rung_divergence divergence;
};

static void say(const rung_nodes *n, const char *line) {
    if (n->config.say)
        n->config.say(n->config.ctx, line);
}

static bool is_same(rung_digest x, rung_digest y) {
    return x.a == y.a && x.b == y.b;
}

static node_set bit(uint32_t place) {
    return (node_set)1 << place;
}

static uint32_t size_of(node_set set) {
    return (uint32_t)__builtin_popcountll(set);
}

/* ---- life ---- */

rung_status rung_nodes_create(const rung_nodes_config *config, rung_nodes **out, rung_err *err) {
    rung_nodes *n = rung_alloc_zeroed(config->alloc, sizeof *n);
    if (!n)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    n->config = *config;
    if (!n->config.checkpoint_every)
        n->config.checkpoint_every = CHECKPOINT_EVERY;
    if (!n->config.heartbeat_ms)
        n->config.heartbeat_ms = HEARTBEAT_MS;
    n->listening_ms = INT64_MAX;
    n->count = 1;
    n->nodes[SELF] = (node){.id = config->id,
                            .run = config->run,
                            .level = config->level,
                            .heartbeat_ms = n->config.heartbeat_ms};
    *out = n;
    return RUNG_OK;
}

void rung_nodes_destroy(rung_nodes *n) {
    if (n)
        rung_alloc_free(n->config.alloc, n, sizeof *n);
}

/* ---- who is there ---- */

static bool is_present(const rung_nodes *n, uint32_t place) {
    const node *who = &n->nodes[place];
    int64_t silence_ms = n->now_ms - who->heard_ms;
    return place == SELF || (!who->has_left && !who->is_diverged &&
                             silence_ms < (int64_t)who->heartbeat_ms * RUNG_NODES_SILENT_BEATS);
}

static node_set present(const rung_nodes *n) {
    node_set set = 0;
    for (uint32_t i = 0; i < n->count; i++)
        set |= is_present(n, i) ? bit(i) : 0;
    return set;
}

static void forget_votes(rung_nodes *n, uint32_t place) {
    for (uint32_t i = 0; i < KEPT; i++) {
        checkpoint *c = &n->kept[i];
        c->with_us &= ~bit(place);
        c->scattered &= ~bit(place);
        for (uint32_t k = 0; k < CAMPS; k++)
            c->camps[k].who &= ~bit(place);
    }
}

/* A place for a new server: a free one, or that of the one that is gone for longest. RUNG_NODES_MAX: there is none. */
static uint32_t find_room(rung_nodes *n) {
    uint32_t best = RUNG_NODES_MAX;
    if (n->count < RUNG_NODES_MAX)
        return n->count++;
    for (uint32_t i = SELF + 1; i < n->count; i++)
        if (!is_present(n, i) &&
            (best == RUNG_NODES_MAX || n->nodes[i].heard_ms < n->nodes[best].heard_ms))
            best = i;
    if (best == RUNG_NODES_MAX && !n->is_crowded) {
        n->is_crowded = true;
        say(n, "more than 64 servers share this log: those beyond are not listed, and their "
               "digests not compared");
    }
    return best;
}

static uint32_t place_of(rung_nodes *n, uint64_t id) {
    for (uint32_t i = 0; i < n->count; i++)
        if (n->nodes[i].id == id)
            return i;
    uint32_t place = find_room(n);
    if (place < RUNG_NODES_MAX) {
        n->nodes[place] = (node){.id = id};
        forget_votes(n, place);
    }
    return place;
}

/* ---- checkpoints ---- */

bool rung_nodes_is_checkpoint(const rung_nodes *n, uint64_t seq) {
    return seq % n->config.checkpoint_every == 0;
}

static checkpoint *newest(rung_nodes *n) {
    return n->taken ? &n->kept[(n->taken - 1) % KEPT] : NULL;
}

void rung_nodes_checkpoint(rung_nodes *n, uint64_t seq, rung_digest digest) {
    const checkpoint *last = newest(n);
    if (last && last->ours.seq >= seq) /* a report at a multiple makes one only */
        return;
    n->kept[n->taken++ % KEPT] =
        (checkpoint){.ours = {.seq = seq, .digest = digest}, .taken_ms = n->now_ms};
    n->stats.checkpoint = (rung_checkpoint){.seq = seq, .digest = digest};
}

static checkpoint *find_checkpoint(rung_nodes *n, uint64_t seq) {
    for (uint32_t i = 0; i < KEPT; i++)
        if (n->kept[i].ours.seq == seq && seq)
            return &n->kept[i];
    return NULL;
}

/* ---- votes ---- */

static node_set against(const checkpoint *c) {
    node_set set = c->scattered;
    for (uint32_t i = 0; i < CAMPS; i++)
        set |= c->camps[i].who;
    return set;
}

/* N3. */
static node_set electors(const rung_nodes *n, const checkpoint *c) {
    node_set voted = c->with_us | against(c), set = bit(SELF);
    for (uint32_t i = SELF + 1; i < n->count; i++) {
        bool may_vote = is_present(n, i) && n->nodes[i].seq < c->ours.seq;
        if (!n->nodes[i].is_diverged && (voted & bit(i) || may_vote))
            set |= bit(i);
    }
    return set;
}

/* The largest camp. */
static const camp *rivals(const checkpoint *c, node_set among) {
    const camp *best = &c->camps[0];
    for (uint32_t i = 1; i < CAMPS; i++)
        if (size_of(c->camps[i].who & among) > size_of(best->who & among))
            best = &c->camps[i];
    return best;
}

/* N4. */
static void diverge(rung_nodes *n, const checkpoint *c, node_set among, bool is_tie) {
    const camp *them = rivals(c, among);
    rung_err err;
    char line[sizeof err.message + 120];
    if (n->has_diverged)
        return;
    n->has_diverged = true;
    n->divergence = (rung_divergence){.seq = c->ours.seq,
                                      .ours = c->ours.digest,
                                      .theirs = them->digest,
                                      .with_us = size_of(c->with_us & among),
                                      .with_them = size_of(them->who & among),
                                      .voters = size_of(among),
                                      .is_tie = is_tie};
    n->nodes[SELF].is_diverged = true;
    rung_divergence_fail(&n->divergence, &err);
    snprintf(line, sizeof line, "%s; this server serves no more and writes no more snapshots",
             err.message);
    say(n, line);
}

static void agree(rung_nodes *n, checkpoint *c) {
    c->is_agreed = true;
    if (c->ours.seq <= n->stats.agreed.seq)
        return;
    n->stats.agreed = c->ours;
    n->stats.agreed_ms = c->taken_ms;
}

static void say_dispute(rung_nodes *n, const checkpoint *c) {
    char line[400];
    const camp *them = rivals(c, ~(node_set)0);
    snprintf(line, sizeof line,
             "digests differ at sequence %llu: ours is %016llx%016llx, %u of %u servers have "
             "%016llx%016llx",
             (unsigned long long)c->ours.seq, (unsigned long long)c->ours.digest.a,
             (unsigned long long)c->ours.digest.b, size_of(against(c)), size_of(electors(n, c)),
             (unsigned long long)them->digest.a, (unsigned long long)them->digest.b);
    say(n, line);
}

static void decide(rung_nodes *n, checkpoint *c) {
    node_set all = electors(n, c), others = against(c) & all;
    uint32_t total = size_of(all);
    if (n->has_diverged)
        return;
    if (others && !c->is_disputed) {
        c->is_disputed = true;
        c->disputed_ms = n->now_ms;
        n->stats.disputes++;
        say_dispute(n, c);
    }
    if (2 * size_of(rivals(c, all)->who & all) > total) {
        diverge(n, c, all, false);
    } else if (2 * size_of(c->with_us & all) > total) {
        agree(n, c);
    } else if (others) {
        bool is_complete = !(all & ~(c->with_us | others));
        int64_t limit_ms = (int64_t)n->config.heartbeat_ms * DISPUTE_BEATS;
        if (is_complete || n->now_ms - c->disputed_ms >= limit_ms)
            diverge(n, c, all, true);
    }
}

/* N1. */
static void set_vote(checkpoint *c, uint32_t place, rung_digest digest) {
    c->with_us &= ~bit(place);
    c->scattered &= ~bit(place);
    for (uint32_t i = 0; i < CAMPS; i++)
        c->camps[i].who &= ~bit(place);
    if (is_same(digest, c->ours.digest)) {
        c->with_us |= bit(place);
        return;
    }
    for (uint32_t i = 0; i < CAMPS; i++) {
        if (c->camps[i].who && !is_same(c->camps[i].digest, digest))
            continue;
        c->camps[i].digest = digest;
        c->camps[i].who |= bit(place);
        return;
    }
    c->scattered |= bit(place);
}

static void count_votes(rung_nodes *n, uint32_t place, const rung_node_report *r) {
    bool is_compared = false;
    for (uint32_t i = 0; i < r->checkpoint_count; i++) {
        checkpoint *c = find_checkpoint(n, r->checkpoints[i].seq);
        if (!c) /* N2 */
            continue;
        set_vote(c, place, r->checkpoints[i].digest);
        if (!is_compared) /* the newest comes first */
            n->nodes[place].is_disagreeing = !(c->with_us & bit(place));
        is_compared = true;
    }
    for (uint32_t i = r->checkpoint_count; i-- > 0;) { /* the oldest first: where it began */
        checkpoint *c = find_checkpoint(n, r->checkpoints[i].seq);
        if (c)
            decide(n, c);
    }
}

/* ---- reports ---- */

static void keep_text(char *to, size_t *len, size_t max, rung_slice text) {
    *len = text.len < max ? text.len : max;
    if (*len)
        memcpy(to, text.ptr, *len);
}

/* False: it is of an earlier run, or of another server with our id. */
static bool is_current(rung_nodes *n, uint32_t place, const rung_node_report *r) {
    node *who = &n->nodes[place];
    if (place == SELF && r->run > who->run && n->is_live && !n->is_doubled) {
        n->is_doubled = true;
        say(n, "another server has the same node id as this one: was the data folder copied? "
               "Delete the file node-id in one of them, and restart that server");
    }
    if (r->run < who->run || (place == SELF && r->run != who->run))
        return false;
    if (r->run > who->run) {
        forget_votes(n, place);
        *who = (node){.id = who->id, .run = r->run};
    }
    return true;
}

/* The votes may not say so: those of a server that has stopped do not count. */
static void say_diverged(rung_nodes *n, const node *who) {
    char line[120];
    snprintf(
        line, sizeof line,
        "server %016llx has found that digests differ: its state is another one, and it serves "
        "no more",
        (unsigned long long)who->id);
    say(n, line);
}

static void note_node(rung_nodes *n, node *who, const rung_node_report *r) {
    if (r->is_diverged && !who->is_diverged && who != &n->nodes[SELF])
        say_diverged(n, who);
    who->heard_ms = n->now_ms;
    who->seq = r->seq;
    who->level = r->level;
    who->heartbeat_ms = r->heartbeat_ms;
    who->has_left = r->is_leaving;
    who->is_diverged = who->is_diverged || r->is_diverged;
    if (r->checkpoint_count)
        who->checkpoint = r->checkpoints[0];
    keep_text(who->version, &who->version_len, sizeof who->version, r->version);
    keep_text(who->address, &who->address_len, sizeof who->address, r->address);
}

/* Ours came back: the log can be read and written. */
static void hear_self(rung_nodes *n) {
    int64_t gap_ms = n->now_ms - n->nodes[SELF].heard_ms;
    if (n->listening_ms == INT64_MAX ||
        gap_ms >= (int64_t)n->config.heartbeat_ms * RUNG_NODES_SILENT_BEATS)
        n->listening_ms = n->now_ms;
}

static bool has_reported_all(const rung_nodes *n) {
    return n->stats.checkpoint.seq == n->sent_seq;
}

void rung_nodes_hear(rung_nodes *n, uint64_t seq, const rung_node_report *report,
                     rung_digest digest) {
    uint32_t place = place_of(n, report->node);
    if (!n->is_live && report->time_ms > n->now_ms)
        n->now_ms = report->time_ms;
    if (place < RUNG_NODES_MAX && is_current(n, place, report)) {
        if (place == SELF)
            hear_self(n);
        note_node(n, &n->nodes[place], report);
        count_votes(n, place, report);
    }
    if (report->makes_checkpoint || rung_nodes_is_checkpoint(n, seq))
        rung_nodes_checkpoint(n, seq, digest);
}

/* ---- time ---- */

void rung_nodes_go_live(rung_nodes *n, int64_t now_ms) {
    n->is_live = true;
    n->now_ms = now_ms;
    for (uint32_t i = SELF + 1; i < n->count; i++) {
        if (n->nodes[i].heard_ms > now_ms) /* another's clock may be ahead of ours */
            n->nodes[i].heard_ms = now_ms;
        if (!is_present(n, i))
            forget_votes(n, i);
    }
    for (uint32_t i = 0; i < KEPT; i++)
        n->kept[i].disputed_ms = now_ms;
}

void rung_nodes_tick(rung_nodes *n, int64_t now_ms) {
    if (now_ms > n->now_ms)
        n->now_ms = now_ms;
    for (uint32_t i = 0; i < KEPT; i++)
        if (n->kept[i].is_disputed && !n->kept[i].is_agreed)
            decide(n, &n->kept[i]);
}

/* Servers that begin together do not report together. */
static int64_t own_beat_ms(const rung_nodes *n) {
    uint32_t beat_ms = n->config.heartbeat_ms, spread = beat_ms / 4;
    return (int64_t)beat_ms - (spread ? (int64_t)(n->config.id % spread) : 0);
}

bool rung_nodes_is_due(const rung_nodes *n) {
    return n->is_live && !n->has_diverged && !n->is_leaving &&
           (!n->has_sent || !has_reported_all(n) || n->now_ms - n->sent_ms >= own_beat_ms(n));
}

static void list_checkpoints(const rung_nodes *n, rung_node_report *out) {
    uint64_t count = n->taken < RUNG_REPORT_CHECKPOINTS ? n->taken : RUNG_REPORT_CHECKPOINTS;
    for (uint64_t i = 0; i < count; i++)
        out->checkpoints[i] = n->kept[(n->taken - 1 - i) % KEPT].ours;
    out->checkpoint_count = (uint32_t)count;
}

void rung_nodes_write(rung_nodes *n, rung_report_kind kind, uint64_t seq, rung_node_report *out) {
    const rung_nodes_config *c = &n->config;
    const checkpoint *last = newest(n);
    bool is_old = !last || n->now_ms - last->taken_ms >= own_beat_ms(n);
    *out = (rung_node_report){.node = c->id,
                              .run = c->run,
                              .time_ms = n->now_ms,
                              .seq = seq,
                              .level = c->level,
                              .heartbeat_ms = c->heartbeat_ms,
                              .makes_checkpoint =
                                  kind == RUNG_REPORT_USUAL && (is_old || !n->has_sent),
                              .is_leaving = kind == RUNG_REPORT_LEAVING,
                              .is_diverged = kind == RUNG_REPORT_DIVERGED,
                              .version = rung_slice_str(c->version ? c->version : ""),
                              .address = rung_slice_str(c->address ? c->address : "")};
    list_checkpoints(n, out);
    n->is_leaving = n->is_leaving || out->is_leaving;
    n->has_sent = true;
    n->sent_ms = n->now_ms;
    n->sent_seq = n->stats.checkpoint.seq;
}

/* ---- what follows ---- */

const rung_divergence *rung_nodes_divergence(const rung_nodes *n) {
    return n->has_diverged ? &n->divergence : NULL;
}

rung_status rung_divergence_fail(const rung_divergence *d, rung_err *err) {
    return RUNG_FAIL_WHY(err, RUNG_ECORRUPT, RUNG_REASON_DIVERGED,
                         "the state differs from that of the other servers at sequence %llu: "
                         "%016llx%016llx here, %016llx%016llx there (%u against %u of %u%s)",
                         (unsigned long long)d->seq, (unsigned long long)d->ours.a,
                         (unsigned long long)d->ours.b, (unsigned long long)d->theirs.a,
                         (unsigned long long)d->theirs.b, d->with_us, d->with_them, d->voters,
                         d->is_tie ? ", undecided" : "");
}

bool rung_nodes_may_raise(const rung_nodes *n) {
    uint32_t longest_ms = n->config.heartbeat_ms;
    for (uint32_t i = SELF + 1; i < n->count; i++) {
        if (is_present(n, i) && n->nodes[i].level < n->config.level)
            return false;
        if (is_present(n, i) && n->nodes[i].heartbeat_ms > longest_ms)
            longest_ms = n->nodes[i].heartbeat_ms;
    }
    return n->listening_ms != INT64_MAX && !n->is_crowded &&
           n->now_ms - n->listening_ms >= (int64_t)longest_ms * RUNG_NODES_SILENT_BEATS &&
           n->now_ms - n->nodes[SELF].heard_ms < (int64_t)longest_ms * RUNG_NODES_SILENT_BEATS;
}

static rung_node_state state_of(const rung_nodes *n, uint32_t place) {
    const node *who = &n->nodes[place];
    return who->is_diverged       ? RUNG_NODE_DIVERGED
           : who->has_left        ? RUNG_NODE_LEFT
           : is_present(n, place) ? RUNG_NODE_PRESENT
                                  : RUNG_NODE_SILENT;
}

bool rung_nodes_at(const rung_nodes *n, uint32_t i, rung_node_info *out) {
    if (i >= n->count)
        return false;
    const node *who = &n->nodes[i];
    *out = (rung_node_info){.id = who->id,
                            .is_self = i == SELF,
                            .is_disagreeing = who->is_disagreeing,
                            .state = state_of(n, i),
                            .heard_ms = who->heard_ms,
                            .seq = who->seq,
                            .level = who->level,
                            .checkpoint = who->checkpoint,
                            .version = rung_slice_of(who->version, who->version_len),
                            .address = rung_slice_of(who->address, who->address_len)};
    return true;
}

bool rung_nodes_checkpoint_at(const rung_nodes *n, uint32_t i, rung_checkpoint *out) {
    if (i >= KEPT || i >= n->taken)
        return false;
    *out = n->kept[(n->taken - 1 - i) % KEPT].ours;
    return true;
}

rung_nodes_stats rung_nodes_stat(const rung_nodes *n) {
    rung_nodes_stats s = n->stats;
    s.present = size_of(present(n));
    for (uint32_t i = SELF + 1; i < n->count; i++)
        s.disagreeing += n->nodes[i].is_disagreeing && state_of(n, i) != RUNG_NODE_LEFT;
    return s;
}
