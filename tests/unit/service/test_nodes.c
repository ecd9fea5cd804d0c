/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a shared log: reports as bytes, votes on digests, who is present, when the rules may be raised. */
#include "service/nodes.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { CROWD = RUNG_NODES_MAX + 3, EVERY = 100, BEAT_MS = 1000 };

static const rung_digest GOOD = {1, 2}, BAD = {3, 4}, WORSE = {5, 6};

/* Some servers and their log. Each hears what any of them says, at once. */
typedef struct room {
    rung_nodes *nodes[CROWD];
    uint32_t count;
    uint64_t seq;
    int64_t now_ms;
    char said[4096];
} room;

static void hear_line(void *ctx, const char *line) {
    room *r = ctx;
    size_t used = strlen(r->said);
    snprintf(r->said + used, sizeof r->said - used, "%s\n", line);
}

static rung_nodes *make(room *r, uint64_t id, uint64_t run, uint32_t level) {
    rung_nodes *n;
    CHECK_OK(rung_nodes_create(&(rung_nodes_config){.alloc = rung_alloc_heap(),
                                                    .id = id,
                                                    .run = run,
                                                    .version = "1.2.3",
                                                    .address = "127.0.0.1:7864",
                                                    .level = level,
                                                    .checkpoint_every = EVERY,
                                                    .heartbeat_ms = BEAT_MS,
                                                    .say = hear_line,
                                                    .ctx = r},
                               &n, NULL));
    return n;
}

static void add(room *r, uint64_t id, uint32_t level) {
    CHECK(r->count < CROWD);
    r->nodes[r->count] = make(r, id, 1, level);
    rung_nodes_go_live(r->nodes[r->count++], r->now_ms);
}

static void begin(room *r, uint32_t count) {
    *r = (room){.now_ms = 1000000};
    for (uint32_t i = 0; i < count; i++)
        add(r, 10 + i, 1);
}

static void end(room *r) {
    for (uint32_t i = 0; i < r->count; i++)
        rung_nodes_destroy(r->nodes[i]);
}

static void pass(room *r, int64_t ms) {
    r->now_ms += ms;
    for (uint32_t i = 0; i < r->count; i++)
        rung_nodes_tick(r->nodes[i], r->now_ms);
}

/* All reach the next checkpoint; server i has the digest `digests[i]`. */
static void checkpoint(room *r, const rung_digest *digests) {
    r->seq = (r->seq / EVERY + 1) * EVERY;
    for (uint32_t i = 0; i < r->count; i++)
        rung_nodes_checkpoint(r->nodes[i], r->seq, digests[i]);
}

static void hear_all(room *r, const rung_node_report *report, rung_digest digest) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX];
    rung_node_report read;
    size_t len = rung_node_report_encode(report, bytes);
    CHECK_OK(rung_node_report_decode(rung_slice_of(bytes, len), &read, NULL));
    r->seq++;
    for (uint32_t i = 0; i < r->count; i++)
        rung_nodes_hear(r->nodes[i], r->seq, &read, digest);
}

static void report_as(room *r, uint32_t who, rung_report_kind kind, uint64_t seq) {
    rung_node_report report;
    rung_nodes_write(r->nodes[who], kind, seq, &report);
    report.makes_checkpoint = false; /* the digests of a test are its own */
    hear_all(r, &report, GOOD);
}

static void report(room *r, uint32_t who) {
    report_as(r, who, RUNG_REPORT_USUAL, r->seq);
}

static const rung_divergence *diverged(const room *r, uint32_t who) {
    return rung_nodes_divergence(r->nodes[who]);
}

static uint64_t agreed(const room *r, uint32_t who) {
    return rung_nodes_stat(r->nodes[who]).agreed.seq;
}

/* Everybody has reported once, so everybody is known. */
static void meet(room *r) {
    for (uint32_t i = 0; i < r->count; i++)
        report(r, i);
}

/* ---- votes ---- */

TEST(servers_that_agree) {
    room r;
    begin(&r, 3);
    meet(&r);
    checkpoint(&r, (const rung_digest[]){GOOD, GOOD, GOOD});
    report(&r, 0);
    CHECK_EQ_U64(agreed(&r, 0), 0); /* one of three */
    report(&r, 1);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ_U64(agreed(&r, i), EVERY);
        CHECK(!diverged(&r, i));
        CHECK_EQ_U64(rung_nodes_stat(r.nodes[i]).present, 3);
    }
    CHECK_EQ_STR(r.said, "");
    end(&r);
}

/* It may speak first: the others wait for one more vote, and then only it stops. */
TEST(one_wrong_server_stops_and_the_others_do_not) {
    for (uint32_t wrong = 0; wrong < 3; wrong++) {
        room r;
        rung_digest digests[3] = {GOOD, GOOD, GOOD};
        digests[wrong] = BAD;
        begin(&r, 3);
        meet(&r);
        checkpoint(&r, digests);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK(!diverged(&r, 0) && !diverged(&r, 1) && !diverged(&r, 2));
            report(&r, i);
            if (diverged(&r, wrong))
                break;
        }
        const rung_divergence *d = diverged(&r, wrong);
        CHECK(d && !d->is_tie);
        CHECK_EQ_U64(d->seq, EVERY);
        CHECK(d->ours.a == BAD.a && d->theirs.a == GOOD.a);
        CHECK(d->with_them == 2 && d->voters == 3);
        report_as(&r, wrong, RUNG_REPORT_DIVERGED, r.seq);
        for (uint32_t i = 0; i < 3; i++) {
            rung_node_info info;
            if (i == wrong)
                continue;
            report(&r, i);
            CHECK(!diverged(&r, i));
            for (uint32_t k = 0; rung_nodes_at(r.nodes[i], k, &info); k++)
                CHECK((info.state == RUNG_NODE_DIVERGED) == (info.id == 10 + wrong));
            CHECK_EQ_U64(rung_nodes_stat(r.nodes[i]).disagreeing, 1);
        }
        CHECK_EQ_U64(agreed(&r, wrong == 0 ? 1 : 0), EVERY);
        CHECK(strstr(r.said, "digests differ at sequence 100"));
        CHECK(strstr(r.said, "00000000000000030000000000000004 here, "
                             "00000000000000010000000000000002 there"));
        end(&r);
    }
}

/* Nobody can say who is right, so nobody serves. Both stop at the same record, since a vote counts when it is in the
 * log: the first to notice must not keep its own vote from the other. */
TEST(two_servers_that_differ_both_stop) {
    room r;
    begin(&r, 2);
    meet(&r);
    checkpoint(&r, (const rung_digest[]){GOOD, BAD});
    report(&r, 0);
    CHECK(!diverged(&r, 0) && !diverged(&r, 1));
    CHECK(strstr(r.said, "digests differ"));
    report(&r, 1);
    CHECK(diverged(&r, 0) && diverged(&r, 0)->is_tie);
    CHECK(diverged(&r, 1) && diverged(&r, 1)->is_tie);
    CHECK(strstr(r.said, "undecided"));
    CHECK(!rung_nodes_is_due(r.nodes[0]));
    end(&r);
}

TEST(two_against_two_all_stop) {
    room r;
    begin(&r, 4);
    meet(&r);
    checkpoint(&r, (const rung_digest[]){GOOD, BAD, GOOD, BAD});
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(!diverged(&r, i));
        report(&r, i);
    }
    for (uint32_t i = 0; i < 4; i++)
        CHECK(diverged(&r, i) && diverged(&r, i)->is_tie);
    end(&r);
}

TEST(many_opinions_and_one_majority) {
    static const rung_digest all[7] = {GOOD, {11, 0}, GOOD, {12, 0}, GOOD, {13, 0}, GOOD};
    room r;
    begin(&r, 7);
    meet(&r);
    checkpoint(&r, all);
    for (uint32_t i = 0; i < 7; i++)
        report(&r, i);
    for (uint32_t i = 0; i < 7; i++)
        CHECK((diverged(&r, i) != NULL) == (all[i].a != GOOD.a));
    end(&r);
}

/* More digests than are told apart. */
TEST(everybody_differs) {
    room r;
    rung_digest all[8];
    begin(&r, 8);
    meet(&r);
    for (uint32_t i = 0; i < 8; i++)
        all[i] = (rung_digest){100 + i, i};
    checkpoint(&r, all);
    for (uint32_t i = 0; i < 8; i++)
        report(&r, i);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(diverged(&r, i) && diverged(&r, i)->is_tie);
    end(&r);
}

static void hear_from(room *r, uint64_t id, uint64_t run, uint64_t seq, uint32_t level,
                      const rung_checkpoint *checkpoint) {
    rung_node_report report = {.node = id,
                               .run = run,
                               .time_ms = r->now_ms,
                               .seq = seq,
                               .level = level,
                               .heartbeat_ms = BEAT_MS};
    if (checkpoint) {
        report.checkpoint_count = 1;
        report.checkpoints[0] = *checkpoint;
    }
    hear_all(r, &report, GOOD);
}

TEST(a_vote_of_one_that_is_behind_is_waited_for_but_not_for_ever) {
    for (int votes = 0; votes < 2; votes++) {
        room r;
        begin(&r, 1);
        meet(&r);
        hear_from(&r, 90, 1, 1, 1, NULL); /* behind */
        checkpoint(&r, &GOOD);
        report(&r, 0);
        hear_from(&r, 91, 1, r.seq, 1, &(rung_checkpoint){EVERY, BAD});
        for (int i = 0; i < 5; i++) {
            pass(&r, BEAT_MS);
            hear_from(&r, 90, 1, 1, 1, NULL); /* still */
            CHECK(!diverged(&r, 0));
        }
        if (votes) {
            hear_from(&r, 90, 1, r.seq, 1, &(rung_checkpoint){EVERY, GOOD});
            CHECK_EQ_U64(agreed(&r, 0), EVERY);
        }
        pass(&r, 2 * BEAT_MS);
        CHECK((diverged(&r, 0) != NULL) == !votes);
        end(&r);
    }
}

/* One that began after the checkpoint cannot vote on it, and is not waited for. */
TEST(newcomers_have_no_vote_on_what_was_before_them) {
    room r;
    begin(&r, 1);
    meet(&r);
    checkpoint(&r, &GOOD);
    hear_from(&r, 90, 1, r.seq, 1, NULL);
    hear_from(&r, 91, 1, r.seq, 1, NULL);
    report(&r, 0);
    CHECK_EQ_U64(agreed(&r, 0), EVERY);
    end(&r);
}

/* A vote stays when its voter leaves: a rolling restart changes nothing. */
TEST(votes_outlive_their_voters_but_not_their_runs) {
    room r;
    rung_checkpoint bad = {EVERY, BAD}, good = {EVERY, GOOD};
    begin(&r, 1);
    meet(&r);
    checkpoint(&r, &GOOD);
    report(&r, 0);
    hear_from(&r, 90, 1, r.seq, 1, &good);
    pass(&r, 10 * BEAT_MS);
    hear_from(&r, 91, 1, r.seq, 1, &bad);
    CHECK(!diverged(&r, 0)); /* two against one */
    CHECK_EQ_U64(rung_nodes_stat(r.nodes[0]).disagreeing, 1);
    hear_from(&r, 91, 2, r.seq, 1, NULL); /* it began anew, and has another state now */
    hear_from(&r, 91, 1, r.seq, 1, &bad); /* late, of the run before */
    CHECK_EQ_U64(rung_nodes_stat(r.nodes[0]).disagreeing, 0);
    hear_from(&r, 90, 2, r.seq, 1, NULL); /* so did the other: its vote is gone */
    hear_from(&r, 91, 2, r.seq, 1, &good);
    CHECK(!diverged(&r, 0));
    end(&r);
}

/* ---- replay ---- */

TEST(a_replay_finds_a_state_that_the_others_have_outvoted) {
    room r = {.now_ms = 1000000};
    r.nodes[r.count++] = make(&r, 10, 2, 1); /* not live */
    checkpoint(&r, &BAD);
    hear_from(&r, 10, 1, r.seq, 1, &(rung_checkpoint){EVERY, BAD}); /* ourselves, before */
    hear_from(&r, 90, 1, r.seq, 1, &(rung_checkpoint){EVERY, GOOD});
    CHECK(!diverged(&r, 0)); /* one against one, and we have not voted */
    hear_from(&r, 91, 1, r.seq, 1, &(rung_checkpoint){EVERY, GOOD});
    CHECK(diverged(&r, 0) && !diverged(&r, 0)->is_tie);
    end(&r);
}

TEST(votes_of_those_who_are_gone_do_not_stop_a_server_that_starts) {
    room r = {.now_ms = 1000000};
    r.nodes[r.count++] = make(&r, 10, 2, 1);
    checkpoint(&r, &GOOD);
    hear_from(&r, 10, 1, r.seq, 1, &(rung_checkpoint){EVERY, WORSE}); /* ourselves, before */
    hear_from(&r, 90, 1, r.seq, 1, &(rung_checkpoint){EVERY, BAD});
    r.now_ms += 10 * BEAT_MS;
    rung_nodes_go_live(r.nodes[0], r.now_ms);
    pass(&r, 10 * BEAT_MS);
    report(&r, 0);
    CHECK(!diverged(&r, 0));
    CHECK_EQ_U64(agreed(&r, 0), EVERY);
    end(&r);
}

TEST(a_copied_folder_is_noticed) {
    room r;
    begin(&r, 1);
    hear_from(&r, 10, 0, 1, 1, NULL); /* an earlier run of ours, late */
    CHECK_EQ_STR(r.said, "");
    hear_from(&r, 10, 7, 1, 1, NULL);
    hear_from(&r, 10, 7, 1, 1, NULL);
    CHECK(strstr(r.said, "node-id"));
    CHECK(!strstr(strstr(r.said, "node-id") + 1, "node-id")); /* once */
    end(&r);
}

/* ---- our own reports ---- */

TEST(a_report_is_due_at_first_at_checkpoints_and_with_the_heartbeat) {
    room r;
    rung_node_report made;
    begin(&r, 1);
    rung_nodes *n = r.nodes[0];
    CHECK(rung_nodes_is_due(n));
    rung_nodes_write(n, RUNG_REPORT_USUAL, 7, &made);
    CHECK(made.makes_checkpoint && made.checkpoint_count == 0);
    CHECK(made.node == 10 && made.run == 1 && made.seq == 7 && made.level == 1);
    CHECK(!rung_nodes_is_due(n));
    r.seq = 7;
    hear_all(&r, &made, GOOD); /* makes a checkpoint at 8: the next report has our vote */
    CHECK(rung_nodes_is_due(n));
    rung_nodes_write(n, RUNG_REPORT_USUAL, 8, &made);
    CHECK(!made.makes_checkpoint && made.checkpoint_count == 1 && made.checkpoints[0].seq == 8);
    hear_all(&r, &made, GOOD);
    CHECK_EQ_U64(agreed(&r, 0), 8);
    CHECK(!rung_nodes_is_due(n));
    for (uint64_t i = 0; i < 20; i++)
        checkpoint(&r, &GOOD);
    CHECK(rung_nodes_is_due(n));
    rung_nodes_write(n, RUNG_REPORT_USUAL, r.seq, &made);
    CHECK_EQ_U64(made.checkpoint_count, RUNG_REPORT_CHECKPOINTS);
    CHECK_EQ_U64(made.checkpoints[0].seq, r.seq);
    CHECK(!rung_nodes_is_due(n));
    pass(&r, BEAT_MS);
    CHECK(rung_nodes_is_due(n));
    end(&r);
}

/* A usual report after the last one would make the others think that it is still there. */
TEST(nothing_follows_the_report_of_leaving) {
    room r;
    begin(&r, 2);
    meet(&r);
    report_as(&r, 0, RUNG_REPORT_LEAVING, r.seq);
    checkpoint(&r, (rung_digest[]){GOOD, GOOD});
    pass(&r, 2 * BEAT_MS);
    CHECK(!rung_nodes_is_due(r.nodes[0]));
    CHECK(rung_nodes_is_due(r.nodes[1]));
    end(&r);
}

/* ---- presence and rules ---- */

TEST(rules_are_raised_when_everybody_knows_them) {
    room r;
    begin(&r, 0);
    add(&r, 10, 2);
    CHECK(!rung_nodes_may_raise(r.nodes[0]));
    for (int i = 0; i < 4; i++) {
        report(&r, 0);
        hear_from(&r, 90, 1, r.seq, 1, NULL); /* knows level 1 */
        hear_from(&r, 91, 1, r.seq, 3, NULL);
        pass(&r, BEAT_MS);
        CHECK(!rung_nodes_may_raise(r.nodes[0]));
    }
    hear_from(&r, 90, 2, r.seq, 2, NULL); /* upgraded */
    report(&r, 0);
    CHECK(rung_nodes_may_raise(r.nodes[0]));
    hear_from(&r, 92, 1, r.seq, 1, NULL);
    CHECK(!rung_nodes_may_raise(r.nodes[0]));
    rung_node_report bye = {.node = 92, .run = 1, .heartbeat_ms = BEAT_MS, .is_leaving = true};
    hear_all(&r, &bye, GOOD);
    CHECK(rung_nodes_may_raise(r.nodes[0]));
    end(&r);
}

TEST(rules_are_not_raised_by_one_that_heard_too_little) {
    room r;
    begin(&r, 0);
    add(&r, 10, 2);
    report(&r, 0);
    pass(&r, 2 * BEAT_MS);
    report(&r, 0);
    CHECK(!rung_nodes_may_raise(r.nodes[0])); /* the others may not have spoken yet */
    pass(&r, BEAT_MS);
    CHECK(rung_nodes_may_raise(r.nodes[0])); /* it is alone */
    pass(&r, 5 * BEAT_MS);                   /* no broker */
    CHECK(!rung_nodes_may_raise(r.nodes[0]));
    report(&r, 0);
    CHECK(!rung_nodes_may_raise(r.nodes[0])); /* the others could not speak, either */
    pass(&r, 2 * BEAT_MS);
    report(&r, 0);
    pass(&r, BEAT_MS);
    CHECK(rung_nodes_may_raise(r.nodes[0]));
    end(&r);
}

TEST(more_servers_than_there_is_room_for) {
    room r;
    begin(&r, 1);
    for (uint64_t i = 0; i < RUNG_NODES_MAX - 1; i++)
        hear_from(&r, 100 + i, 1, 1, 1, NULL);
    CHECK_EQ_U64(rung_nodes_stat(r.nodes[0]).present, RUNG_NODES_MAX);
    hear_from(&r, 900, 1, 1, 1, NULL);
    CHECK_EQ_U64(rung_nodes_stat(r.nodes[0]).present, RUNG_NODES_MAX);
    CHECK(strstr(r.said, "more than 64 servers"));
    pass(&r, 10 * BEAT_MS);
    hear_from(&r, 900, 1, 1, 1, NULL); /* takes the place of one that is silent */
    CHECK_EQ_U64(rung_nodes_stat(r.nodes[0]).present, 2);
    rung_node_info info;
    uint32_t count = 0, found = 0;
    for (; rung_nodes_at(r.nodes[0], count, &info); count++)
        found += info.id == 900 && info.state == RUNG_NODE_PRESENT;
    CHECK(count == RUNG_NODES_MAX && found == 1);
    end(&r);
}

/* ---- bytes ---- */

static rung_node_report full_report(void) {
    rung_node_report r = {.node = UINT64_MAX,
                          .run = UINT64_MAX,
                          .time_ms = INT64_MIN,
                          .seq = UINT64_MAX,
                          .level = UINT32_MAX,
                          .heartbeat_ms = UINT32_MAX,
                          .makes_checkpoint = true,
                          .is_leaving = true,
                          .is_diverged = true,
                          .checkpoint_count = RUNG_REPORT_CHECKPOINTS};
    static char text[300];
    memset(text, 'x', sizeof text);
    r.version = r.address = rung_slice_of(text, sizeof text);
    for (uint32_t i = 0; i < r.checkpoint_count; i++)
        r.checkpoints[i] = (rung_checkpoint){UINT64_MAX, {UINT64_MAX, i}};
    return r;
}

TEST(the_longest_report_fits_and_comes_back) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX];
    rung_node_report r = full_report(), back;
    size_t len = rung_node_report_encode(&r, bytes);
    CHECK(len <= sizeof bytes);
    CHECK_OK(rung_node_report_decode(rung_slice_of(bytes, len), &back, NULL));
    CHECK(back.node == r.node && back.run == r.run && back.time_ms == r.time_ms);
    CHECK(back.seq == r.seq && back.level == r.level && back.heartbeat_ms == r.heartbeat_ms);
    CHECK(back.makes_checkpoint && back.is_leaving && back.is_diverged);
    CHECK_EQ_U64(back.version.len, RUNG_NODE_VERSION_MAX);
    CHECK_EQ_U64(back.address.len, RUNG_NODE_ADDRESS_MAX);
    CHECK(back.checkpoint_count == 8 && back.checkpoints[7].digest.b == 7);
}

TEST(a_report_that_is_cut_is_refused_and_one_that_is_longer_is_not) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX + 8] = {0};
    rung_node_report r = full_report(), back;
    rung_err err = {0};
    r.version = r.address = RUNG_SLICE("1");
    size_t len = rung_node_report_encode(&r, bytes);
    for (size_t cut = 0; cut < len; cut++) {
        CHECK_STATUS(rung_node_report_decode(rung_slice_of(bytes, cut), &back, &err),
                     RUNG_ECORRUPT);
        CHECK(err.message[0]);
    }
    CHECK_OK(rung_node_report_decode(rung_slice_of(bytes, len + 8), &back, &err));
    CHECK_EQ_U64(back.checkpoint_count, 8);
    bytes[0] = 2;
    CHECK_STATUS(rung_node_report_decode(rung_slice_of(bytes, len), &back, &err), RUNG_EVERSION);
}

RUNG_TEST_MAIN
