/* SPDX-License-Identifier: Apache-2.0 */
/* Several followers behind one port: who is called, in which order, and what the least of their wishes is. */
#include "service/followers.h"

#include "support/check.h"

#include <string.h>

typedef struct one {
    rung_hub_follower port;
    char *said;
    char name;
    bool fails;
    uint64_t needed, before;
} one;

static void say(const one *o, char what) {
    size_t len = strlen(o->said);
    o->said[len] = o->name;
    o->said[len + 1] = what;
    o->said[len + 2] = '\0';
}

static rung_status begin(void *ctx, rung_log *log, const uint8_t id[16], uint64_t first,
                         uint64_t seq, const rung_state *state, rung_err *err) {
    const one *o = ctx;
    (void)log, (void)id, (void)first, (void)seq, (void)state;
    say(o, 'b');
    return o->fails ? RUNG_FAIL(err, RUNG_EIO, "no") : RUNG_OK;
}

static void end(void *ctx) {
    say(ctx, 'e');
}

static void applied(void *ctx, uint64_t first, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes) {
    (void)first, (void)count, (void)events, (void)statuses, (void)outcomes;
    say(ctx, 'a');
}

static void on_change(void *ctx, const rung_change *change) {
    (void)change;
    say(ctx, 'c');
}

static uint64_t needed_from(void *ctx) {
    return ((const one *)ctx)->needed;
}

static uint64_t snapshot_before(void *ctx) {
    return ((const one *)ctx)->before;
}

static one make(char *said, char name) {
    return (one){.said = said,
                 .name = name,
                 .needed = UINT64_MAX,
                 .before = UINT64_MAX,
                 .port = {.begin = begin,
                          .end = end,
                          .applied = applied,
                          .needed_from = needed_from,
                          .snapshot_before = snapshot_before}};
}

static rung_status begin_all(rung_followers *f, rung_err *err) {
    static const uint8_t id[16];
    return f->port.begin(f->port.ctx, NULL, id, 1, 0, NULL, err);
}

TEST(each_in_order_and_ended_in_reverse) {
    char said[64] = "";
    one x = make(said, 'x'), y = make(said, 'y');
    rung_followers f;
    rung_followers_init(&f);
    x.port.ctx = &x;
    y.port.ctx = &y;
    rung_followers_add(&f, &x.port);
    rung_followers_add(&f, &y.port);
    CHECK_OK(begin_all(&f, NULL));
    f.port.applied(f.port.ctx, 1, 0, NULL, NULL, NULL);
    f.port.catch_up(f.port.ctx); /* nobody has it */
    f.port.end(f.port.ctx);
    CHECK_EQ_STR(said, "xbybxayayexe");
    CHECK_EQ_U64(f.port.needed_from(f.port.ctx), UINT64_MAX);
    y.needed = 7;
    x.before = 5;
    CHECK_EQ_U64(f.port.needed_from(f.port.ctx), 7);
    CHECK_EQ_U64(f.port.snapshot_before(f.port.ctx), 5);
}

TEST(one_that_cannot_begin_ends_those_before_it) {
    char said[64] = "";
    one x = make(said, 'x'), y = make(said, 'y'), z = make(said, 'z');
    rung_followers f;
    rung_err err = {0};
    rung_followers_init(&f);
    x.port.ctx = &x;
    y.port.ctx = &y;
    z.port.ctx = &z;
    y.fails = true;
    rung_followers_add(&f, &x.port);
    rung_followers_add(&f, &y.port);
    rung_followers_add(&f, &z.port);
    CHECK_STATUS(begin_all(&f, &err), RUNG_EIO);
    CHECK_EQ_STR(said, "xbybxe");
}

TEST(reports_only_if_somebody_wants_them) {
    char said[64] = "";
    one x = make(said, 'x'), y = make(said, 'y');
    rung_followers f;
    rung_followers_init(&f);
    x.port.ctx = &x;
    y.port.ctx = &y;
    y.port.on_change = on_change;
    rung_followers_add(&f, &x.port);
    CHECK(!f.port.on_change && !f.port.on_close);
    rung_followers_add(&f, &y.port);
    CHECK(f.port.on_change && !f.port.on_close);
    f.port.on_change(f.port.ctx, &(rung_change){0});
    CHECK_EQ_STR(said, "yc");
}

RUNG_TEST_MAIN
