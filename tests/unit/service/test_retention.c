/* SPDX-License-Identifier: Apache-2.0 */
/* What log.keep keeps: days, sizes and a full disk, by hand and for random folders. */
#include "service/retention.h"
#include "support/check.h"
#include "support/rng.h"

#define DAY  INT64_C(86400000)
#define HOUR INT64_C(3600000)

enum { ENTRIES = 200 };

typedef struct folder {
    rung_snapshot_entry entries[ENTRIES];
    size_t count;
    uint64_t per_record; /* bytes of log */
    uint64_t first_seq, last_seq;
    uint64_t keep[ENTRIES];
} folder;

static uint64_t log_bytes(void *ctx, uint64_t seq) {
    const folder *f = ctx;
    uint64_t from = seq > f->first_seq ? seq : f->first_seq;
    return from > f->last_seq ? 0 : (f->last_seq - from + 1) * f->per_record;
}

static void add(folder *f, uint64_t seq, int64_t time_ms, uint64_t bytes) {
    f->entries[f->count++] = (rung_snapshot_entry){seq, time_ms, bytes};
    f->last_seq = seq;
}

static rung_retention_plan decide(folder *f, rung_retention r, int64_t now_ms,
                                  uint64_t short_bytes) {
    rung_retention_facts facts = {.entries = f->entries,
                                  .count = f->count,
                                  .first_seq = f->first_seq,
                                  .now_ms = now_ms,
                                  .disk_bytes = 1000000,
                                  .short_bytes = short_bytes,
                                  .log_bytes = log_bytes,
                                  .ctx = f};
    return rung_retention_decide(&r, &facts, f->keep);
}

/* Three snapshots a day for ten days; 100 records before each. */
static folder ten_days(void) {
    folder f = {.per_record = 1, .first_seq = 1};
    for (int i = 0; i < 30; i++)
        add(&f, (uint64_t)(i + 1) * 100, (i / 3 + 100) * DAY + (i % 3 + 1) * HOUR, 50);
    return f;
}

TEST(by_time) {
    folder f = ten_days();
    rung_retention r = {.keep_ms = 3 * DAY};
    rung_retention_plan p = decide(&f, r, 109 * DAY + 12 * HOUR, 0);
    /* Day 106, 12:00 is the cutoff: that day's first snapshot is the base. */
    CHECK_EQ_U64(p.needed_from, 19 * 100 + 1);
    CHECK_EQ_I64(p.reach_ms, 106 * DAY + HOUR);
    CHECK_EQ_U64(p.keep_count, 4);
    CHECK_EQ_U64(f.keep[0], 1900);
    CHECK_EQ_U64(f.keep[3], 2800);
    CHECK(!p.has_given_way);
    /* Half an hour into day 106 its first one does not exist yet: that of the day before is needed. */
    p = decide(&f, r, 109 * DAY + HOUR / 2, 0);
    CHECK_EQ_U64(p.needed_from, 1601);
    /* Nothing is that old. */
    p = decide(&f, (rung_retention){.keep_ms = 30 * DAY}, 109 * DAY, 0);
    CHECK_EQ_U64(p.needed_from, 0);
    CHECK_EQ_U64(p.keep_count, 10);
    p = decide(&f, (rung_retention){.keep_ms = RUNG_RETENTION_FOREVER}, INT64_MAX, 0);
    CHECK_EQ_U64(p.needed_from, 0);
    CHECK_EQ_U64(p.keep_count, 10);
}

TEST(without_history_two_are_kept) {
    folder f = ten_days();
    rung_retention_plan p = decide(&f, (rung_retention){0}, 200 * DAY, 0);
    CHECK_EQ_U64(p.needed_from, 2901);
    CHECK_EQ_U64(p.keep_count, 0);
    f.count = 1;
    p = decide(&f, (rung_retention){0}, 200 * DAY, 0);
    CHECK_EQ_U64(p.needed_from, 0);
}

TEST(by_size_the_oldest_days_go_first) {
    folder f = ten_days();
    rung_retention r = {.keep_ms = 30 * DAY, .keep_bytes = 1000};
    rung_retention_plan p = decide(&f, r, 110 * DAY, 0);
    CHECK(p.has_given_way && p.bytes <= 1000);
    CHECK_EQ_U64(p.bytes_max, 1000);
    /* Days 107 to 109 take 3 + 2 newest = 5 snapshots (250) and 800 records: too much. */
    CHECK_EQ_U64(p.needed_from, 2501);
    CHECK_EQ_U64(p.keep_count, 2);
    /* So little that only the newest two remain. */
    r.keep_bytes = 1;
    p = decide(&f, r, 110 * DAY, 0);
    CHECK_EQ_U64(p.needed_from, 2901);
    CHECK_EQ_U64(p.keep_count, 0);
    /* A share of the disk, which has 1,000,000. */
    p = decide(&f, (rung_retention){.keep_ms = 30 * DAY, .keep_percent = 1}, 110 * DAY, 0);
    CHECK_EQ_U64(p.bytes_max, 10000);
    CHECK(!p.has_given_way);
}

TEST(a_short_disk_takes_days_even_from_forever) {
    folder f = ten_days();
    rung_retention r = {.keep_ms = RUNG_RETENTION_FOREVER};
    uint64_t all = decide(&f, r, 110 * DAY, 0).bytes;
    rung_retention_plan p = decide(&f, r, 110 * DAY, 500);
    CHECK(p.has_given_way && p.bytes <= all - 500);
    CHECK_EQ_U64(p.needed_from, 701); /* day 102 */
    p = decide(&f, r, 110 * DAY, UINT64_MAX);
    CHECK_EQ_U64(p.needed_from, 2901);
}

TEST(what_the_log_cannot_be_replayed_from_goes) {
    folder f = ten_days();
    f.first_seq = 950; /* a topic that forgot records */
    rung_retention_plan p = decide(&f, (rung_retention){.keep_ms = 30 * DAY}, 110 * DAY, 0);
    CHECK_EQ_U64(f.keep[0], 1000); /* seq 900 would need 901 */
    CHECK_EQ_U64(p.keep_count, 7);
    CHECK_EQ_I64(p.reach_ms, 103 * DAY + HOUR);
}

/* An older program wrote no times: such snapshots count as older than all others. */
TEST(unknown_times) {
    folder f = {.per_record = 1, .first_seq = 50};
    add(&f, 100, 0, 10);
    add(&f, 200, 0, 10);
    add(&f, 300, 100 * DAY, 10);
    rung_retention_plan p = decide(&f, (rung_retention){.keep_ms = 30 * DAY}, 101 * DAY, 0);
    CHECK_EQ_U64(p.needed_from, 101);
    CHECK_EQ_U64(p.keep_count, 2);
    CHECK_EQ_U64(f.keep[0], 100);
    CHECK_EQ_U64(f.keep[1], 300);
}

static bool is_kept(const folder *f, const rung_retention_plan *p, size_t i) {
    bool found = i + 2 >= f->count;
    for (size_t k = 0; k < p->keep_count; k++)
        found |= f->keep[k] == f->entries[i].seq;
    return found;
}

/* K1, and every moment of the kept span has a snapshot of its day or of the last day before it that had one. */
static void check_plan(const folder *f, const rung_retention *r, const rung_retention_plan *p,
                       int64_t now_ms) {
    if (f->count >= 2)
        CHECK(p->needed_from <= f->entries[f->count - 2].seq + 1);
    else
        CHECK_EQ_U64(p->needed_from, 0);
    uint64_t first = p->needed_from > f->first_seq ? p->needed_from : f->first_seq;
    for (size_t i = 0; i < f->count; i++) {
        const rung_snapshot_entry *e = &f->entries[i];
        if (e->seq + 1 < first || r->keep_ms == 0)
            continue;
        bool has_one = false;
        for (size_t k = 0; k <= i; k++)
            has_one |= is_kept(f, p, k) && f->entries[k].seq + 1 >= first &&
                       rung_retention_day(f->entries[k].time_ms) == rung_retention_day(e->time_ms);
        CHECK(has_one || (first == 1 && i == 0) || i + 2 >= f->count);
    }
    bool is_limited = r->keep_bytes && p->bytes > r->keep_bytes;
    if (!p->has_given_way && r->keep_ms && r->keep_ms != RUNG_RETENTION_FOREVER &&
        p->needed_from > f->first_seq) {
        bool reaches = false;
        for (size_t i = 0; i < f->count; i++)
            reaches |= is_kept(f, p, i) && f->entries[i].seq + 1 >= first &&
                       f->entries[i].time_ms <= now_ms - r->keep_ms;
        CHECK(reaches);
    }
    if (is_limited && f->count >= 2) /* then only the least is left */
        CHECK_EQ_U64(p->needed_from, f->entries[f->count - 2].seq + 1);
}

TEST(random_folders) {
    rung_rng rng;
    rung_rng_seed(&rng, 20);
    for (int round = 0; round < 20000; round++) {
        folder f = {.per_record = 1 + rung_rng_below(&rng, 3), .first_seq = 1};
        int64_t time_ms = 100 * DAY;
        uint64_t seq = 0;
        size_t count = rung_rng_below(&rng, 40);
        for (size_t i = 0; i < count; i++) {
            seq += 1 + rung_rng_below(&rng, 100);
            time_ms += (int64_t)rung_rng_below(&rng, rung_rng_below(&rng, 2) ? DAY : 3 * DAY);
            add(&f, seq, time_ms, rung_rng_below(&rng, 100));
        }
        f.last_seq += rung_rng_below(&rng, 100);
        if (rung_rng_below(&rng, 2) && f.last_seq)
            f.first_seq = 1 + rung_rng_below(&rng, f.last_seq);
        rung_retention r = {.keep_ms = (int64_t)rung_rng_below(&rng, 20) * DAY,
                            .keep_bytes = rung_rng_below(&rng, 2) ? rung_rng_below(&rng, 4000) : 0};
        if (r.keep_ms == 19 * DAY)
            r.keep_ms = RUNG_RETENTION_FOREVER;
        int64_t now_ms = time_ms + (int64_t)rung_rng_below(&rng, 2 * DAY);
        rung_retention_plan p = decide(&f, r, now_ms, 0);
        check_plan(&f, &r, &p, now_ms);
    }
}

RUNG_TEST_MAIN
