/* SPDX-License-Identifier: Apache-2.0 */
#include "support/log_contract.h"

#include "support/check.h"

#include <string.h>
#include <time.h>

/* Every record is a text that stays where it is. */
enum { TEXTS = 4096, TEXT_SIZE = 40 };

typedef struct desk {
    const log_maker *maker;
    rung_log *log;
    uint64_t proposed;  /* tags given out */
    uint64_t answered;  /* outcomes seen */
    uint64_t committed; /* of them */
    uint64_t rejected, unknown;
    uint64_t next_seq;
    rung_status state; /* what deliver returned at the end */
} desk;

static char texts[TEXTS][TEXT_SIZE];

static rung_slice text(uint64_t tag) {
    char *at = texts[tag % TEXTS];
    memset(at, (int)('a' + tag % 26), TEXT_SIZE);
    return rung_slice_of(at, 1 + (size_t)(tag * 7 % TEXT_SIZE));
}

static void begin(desk *d, const log_maker *m) {
    *d = (desk){.maker = m, .log = m->open(m->ctx)};
    d->next_seq = rung_log_durable_seq(d->log) + 1;
}

static void end(desk *d) {
    CHECK_OK(rung_log_close(d->log, NULL));
}

static rung_status propose(desk *d, uint32_t count) {
    rung_log_entry entries[64];
    rung_err err = {0};
    for (uint32_t i = 0; i < count; i++)
        entries[i] =
            (rung_log_entry){.payload = text(d->proposed + i), .type = 7, .tag = d->proposed + i};
    rung_status st = rung_log_propose(d->log, entries, count, &err);
    d->proposed += st == RUNG_OK ? count : 0;
    return st;
}

static void check_entry(desk *d, const rung_log_entry *e) {
    CHECK_EQ_U64(e->tag, d->answered++);                 /* L3 */
    CHECK_EQ_PTR(e->payload.ptr, texts[e->tag % TEXTS]); /* L4 */
    CHECK_EQ_U64(e->type, 7);
}

static void check_delivery(desk *d, const rung_log_delivery *got) {
    for (size_t i = 0; i < got->count; i++)
        check_entry(d, &got->entries[i]);
    switch (got->outcome) {
    case RUNG_LOG_COMMITTED:
        CHECK_EQ_U64(got->first_seq, d->next_seq); /* L1 */
        d->next_seq += got->count;
        d->committed += got->count;
        CHECK_EQ_U64(d->unknown, 0); /* L5 */
        break;
    case RUNG_LOG_REJECTED:
        CHECK(got->why.code < 0 && got->why.message[0]);
        d->rejected += got->count;
        break;
    case RUNG_LOG_UNKNOWN:
        CHECK(got->why.code < 0 && got->why.message[0]);
        d->unknown += got->count;
        break;
    }
}

/* All outcomes that there are now. */
static void take(desk *d, size_t max) {
    rung_log_delivery got;
    rung_err err = {0};
    while ((d->state = rung_log_deliver(d->log, max, &got, &err)) == RUNG_OK) {
        CHECK(got.count >= 1 && got.count <= max);
        check_delivery(d, &got);
    }
}

static void take_all(desk *d) {
    while (d->answered < d->proposed) {
        rung_log_await(d->log);
        take(d, SIZE_MAX);
    }
}

/* Everything that a cursor finds from the first record on. */
static uint64_t count_records(rung_log *log) {
    rung_log_cursor *cursor;
    rung_log_record records[16];
    size_t count;
    uint64_t n = 0;
    CHECK_OK(rung_log_cursor_open(log, 1, &cursor, NULL));
    while (rung_log_cursor_read(cursor, records, 16, &count, NULL) == RUNG_OK)
        for (size_t i = 0; i < count; i++, n++) {
            CHECK_EQ_U64(records[i].seq, n + 1);
            CHECK(rung_slice_eq(records[i].payload, text(n)));
        }
    rung_log_cursor_close(cursor);
    return n;
}

void log_contract_order(const log_maker *m) {
    desk d;
    begin(&d, m);
    take(&d, 8);
    CHECK_STATUS(d.state, RUNG_NOT_FOUND);
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_OK(propose(&d, 1 + i % 5));
        if (i % 3 == 0)
            take(&d, 1 + i % 7);
        if (i % 20 == 0)
            take_all(&d);
    }
    take_all(&d);
    CHECK_EQ_U64(d.committed, d.proposed);
    CHECK(rung_log_sync(d.log, NULL) >= 0);
    CHECK_EQ_U64(rung_log_durable_seq(d.log), d.next_seq - 1);
    CHECK_EQ_U64(rung_log_stat(d.log).records, d.proposed);
    CHECK(rung_log_truncate_before(d.log, 1, NULL) >= 0);
    end(&d);
}

void log_contract_limits(const log_maker *m) {
    static char big[RUNG_LOG_RECORD_MAX + 1];
    desk d;
    rung_err err = {0};
    begin(&d, m);
    CHECK_STATUS(rung_log_propose(d.log, NULL, 0, &err), RUNG_EINVAL);
    rung_log_entry entry = {.payload = rung_slice_of(big, sizeof big), .type = 7};
    CHECK_STATUS(rung_log_propose(d.log, &entry, 1, &err), RUNG_ELIMIT);
    rung_status st;
    for (uint32_t i = 0; (st = propose(&d, 50)) == RUNG_OK; i++)
        CHECK(i < 100000); /* a queue without an end */
    CHECK_STATUS(st, RUNG_ELIMIT);
    take_all(&d);
    CHECK_OK(propose(&d, 50));
    take_all(&d);
    CHECK_EQ_U64(d.committed, d.proposed);
    end(&d);
}

static void pause_shortly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void log_contract_foreign(const log_maker *m) {
    if (!m->add_foreign)
        return;
    desk d;
    rung_log_delivery got;
    begin(&d, m);
    CHECK_OK(propose(&d, 2));
    take_all(&d);
    m->add_foreign(m->ctx, RUNG_SLICE("theirs"));
    rung_status st;
    while ((st = rung_log_deliver(d.log, 8, &got, NULL)) == RUNG_NOT_FOUND)
        pause_shortly();
    CHECK_OK(st);
    CHECK_EQ_U64(got.count, 1);
    CHECK_EQ_U64(got.first_seq, d.next_seq++);
    CHECK_EQ_U64(got.entries[0].tag, RUNG_LOG_FOREIGN);
    CHECK(rung_slice_eq(got.entries[0].payload, RUNG_SLICE("theirs")));
    CHECK_OK(propose(&d, 2));
    take_all(&d);
    end(&d);
}

void log_contract_crash(const log_maker *m) {
    if (!m->crash)
        return;
    desk d;
    begin(&d, m);
    CHECK_OK(propose(&d, 20));
    CHECK_OK(propose(&d, 11));
    take_all(&d);
    uint64_t delivered = d.committed;
    CHECK_OK(propose(&d, 5)); /* whose outcome nobody asks for */
    m->crash(m->ctx, d.log);
    d.log = m->open(m->ctx);
    uint64_t found = count_records(d.log);
    CHECK(found >= delivered && found <= delivered + 5);
    end(&d);
}

void log_contract_full(const log_maker *m) {
    if (!m->set_full)
        return;
    desk d;
    begin(&d, m);
    CHECK_OK(propose(&d, 3));
    take_all(&d);
    m->set_full(m->ctx, true);
    while (d.rejected == 0) {
        rung_status st = propose(&d, 40);
        CHECK(st == RUNG_OK || st == RUNG_ELIMIT || st == RUNG_ENOSPC);
        take_all(&d);
    }
    CHECK_EQ_U64(d.committed + d.rejected, d.proposed);
    CHECK_EQ_U64(rung_log_durable_seq(d.log), d.committed);
    m->set_full(m->ctx, false);
    uint64_t before = d.committed;
    while (d.committed == before) { /* the log notices by itself */
        rung_status st = propose(&d, 1);
        CHECK(st == RUNG_OK || st == RUNG_ENOSPC);
        take_all(&d);
        take(&d, 8);
        if (st != RUNG_OK)
            pause_shortly();
    }
    CHECK_EQ_U64(d.unknown, 0);
    end(&d);
}

void log_contract_failure(const log_maker *m) {
    if (!m->fail_next_sync)
        return;
    desk d;
    begin(&d, m);
    CHECK_OK(propose(&d, 9));
    take_all(&d);
    m->fail_next_sync(m->ctx);
    rung_status st = propose(&d, 4); /* it may have met the failure already */
    CHECK(st == RUNG_OK || st == RUNG_EIO);
    take_all(&d);
    take(&d, 8);
    CHECK_STATUS(d.state, RUNG_EIO);
    CHECK_EQ_U64(d.committed, 9);
    CHECK_EQ_U64(d.unknown, d.proposed - 9);
    CHECK_STATUS(propose(&d, 1), RUNG_EIO);
    CHECK(rung_log_close(d.log, NULL) < 0);
    d.log = m->open(m->ctx);
    CHECK(count_records(d.log) >= 9);
    end(&d);
}

void log_contract_in_flight(const log_maker *m) {
    desk d;
    begin(&d, m);
    CHECK_OK(propose(&d, 30));
    CHECK_OK(propose(&d, 30));
    take(&d, 7);
    end(&d);
    if (!m->crash)
        return;
    d.log = m->open(m->ctx);
    CHECK_EQ_U64(count_records(d.log), 60);
    end(&d);
}
