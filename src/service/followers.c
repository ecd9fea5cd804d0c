/* SPDX-License-Identifier: Apache-2.0 */
#include "service/followers.h"

#include "base/assert.h"

static void end_first(const rung_followers *f, uint32_t count) {
    while (count-- > 0)
        if (f->list[count]->end)
            f->list[count]->end(f->list[count]->ctx);
}

static rung_status begin(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                         uint64_t state_seq, const rung_state *state, rung_err *err) {
    const rung_followers *f = ctx;
    for (uint32_t i = 0; i < f->count; i++) {
        const rung_hub_follower *one = f->list[i];
        rung_status st = one->begin
                             ? one->begin(one->ctx, log, log_id, first_seq, state_seq, state, err)
                             : RUNG_OK;
        if (st < 0) {
            end_first(f, i);
            return st;
        }
    }
    return RUNG_OK;
}

static void end(void *ctx) {
    const rung_followers *f = ctx;
    end_first(f, f->count);
}

/* Call a function of every follower that has it. */
#define TELL(followers, name, ...)                                                                 \
    do {                                                                                           \
        const rung_followers *all = (followers);                                                   \
        for (uint32_t i = 0; i < all->count; i++)                                                  \
            if (all->list[i]->name)                                                                \
                all->list[i]->name(all->list[i]->ctx, ##__VA_ARGS__);                              \
    } while (0)

static void before(void *ctx, const rung_state *state, int64_t ts_ms) {
    TELL(ctx, before, state, ts_ms);
}

static void prepare(void *ctx, const rung_state *state, uint64_t seq, const rung_event *event) {
    TELL(ctx, prepare, state, seq, event);
}

static void applied(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes) {
    TELL(ctx, applied, first_seq, count, events, statuses, outcomes);
}

static void passed(void *ctx, uint64_t seq) {
    TELL(ctx, passed, seq);
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    TELL(ctx, on_close, board, view);
}

static void on_change(void *ctx, const rung_change *change) {
    TELL(ctx, on_change, change);
}

static void catch_up(void *ctx) {
    TELL(ctx, catch_up);
}

static uint64_t needed_from(void *ctx) {
    const rung_followers *f = ctx;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t one = f->list[i]->needed_from ? f->list[i]->needed_from(f->list[i]->ctx) : least;
        least = one < least ? one : least;
    }
    return least;
}

static uint64_t snapshot_before(void *ctx) {
    const rung_followers *f = ctx;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t one =
            f->list[i]->snapshot_before ? f->list[i]->snapshot_before(f->list[i]->ctx) : least;
        least = one < least ? one : least;
    }
    return least;
}

void rung_followers_init(rung_followers *f) {
    *f = (rung_followers){0};
    f->port = (rung_hub_follower){.ctx = f,
                                  .begin = begin,
                                  .before = before,
                                  .prepare = prepare,
                                  .applied = applied,
                                  .passed = passed,
                                  .catch_up = catch_up,
                                  .needed_from = needed_from,
                                  .snapshot_before = snapshot_before,
                                  .end = end};
}

/* on_close and on_change have a cost in the state as soon as they are set. */
void rung_followers_add(rung_followers *f, const rung_hub_follower *one) {
    RUNG_ASSERT(f->count < RUNG_FOLLOWERS_MAX); /* the program's own wiring */
    f->list[f->count++] = one;
    f->port.on_close = one->on_close ? on_close : f->port.on_close;
    f->port.on_change = one->on_change ? on_change : f->port.on_change;
}
