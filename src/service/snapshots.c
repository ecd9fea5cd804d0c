/* SPDX-License-Identifier: Apache-2.0 */
#include "service/snapshots.h"

static void say(const rung_snapshots *s, const char *line) {
    if (s->say)
        s->say(s->ctx, line);
}

static void say_failure(rung_snapshots *s, const rung_err *err) {
    s->failures++;
    say(s, err->message);
}

static uint64_t log_bytes(const rung_snapshots *s) {
    return s->bytes_before + rung_log_stat(rung_store_log(s->store)).bytes;
}

rung_status rung_snapshots_init(rung_snapshots *s, rung_err *err) {
    if (!s->store)
        return RUNG_OK;
    rung_store_stats opened = rung_store_stat(s->store);
    s->bytes_before = opened.replayed_bytes;
    s->newest_seq = opened.snapshot_seq;
    return rung_store_needed_from(s->store, &s->kept_from, err);
}

static rung_status begin(rung_snapshots *s, rung_err *err) {
    rung_status st = rung_store_save_begin(s->store, s->state, err);
    s->bytes_at_save = log_bytes(s);
    s->saving_seq = rung_state_seq(s->state);
    s->phase = st == RUNG_OK ? RUNG_SNAPSHOT_WRITING : RUNG_SNAPSHOT_NONE;
    return st;
}

static bool is_log_far_enough(const rung_snapshots *s) {
    return rung_log_durable_seq(rung_store_log(s->store)) >= rung_state_seq(s->state);
}

static rung_status may_begin(rung_snapshots *s, rung_err *err) {
    const rung_hub_follower *f = s->follower;
    if (!s->store)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "path", "no data folder: nothing is stored");
    rung_ignore(rung_snapshots_poll(s, false, NULL), "a failure was said, and is counted");
    if (s->phase != RUNG_SNAPSHOT_NONE)
        return RUNG_FAIL(err, RUNG_EBUSY, "a snapshot is being written");
    if (f && f->snapshot_before && f->snapshot_before(f->ctx) <= rung_state_seq(s->state))
        return RUNG_FAIL(err, RUNG_EBUSY, "the archive, or the change feed, must catch up first");
    return RUNG_OK;
}

rung_status rung_snapshots_begin(rung_snapshots *s, rung_err *err) {
    rung_status st = may_begin(s, err);
    if (st < 0)
        return st;
    if (is_log_far_enough(s))
        return begin(s, err);
    st = rung_log_sync(rung_store_log(s->store), err);
    if (st == RUNG_OK)
        return begin(s, err);
    if (st == RUNG_PARTIAL)
        s->phase = RUNG_SNAPSHOT_WAITING;
    return st < 0 ? st : RUNG_OK;
}

void rung_snapshots_go_on(rung_snapshots *s) {
    rung_err err = {0};
    if (s->phase != RUNG_SNAPSHOT_WAITING || !is_log_far_enough(s))
        return;
    if (begin(s, &err) < 0)
        say_failure(s, &err);
}

void rung_snapshots_give_up(rung_snapshots *s) {
    if (s->phase == RUNG_SNAPSHOT_WAITING)
        s->phase = RUNG_SNAPSHOT_NONE;
}

void rung_snapshots_cancel(rung_snapshots *s) {
    s->phase = RUNG_SNAPSHOT_NONE;
    if (s->store)
        rung_store_save_cancel(s->store);
}

/* One is complete. */
static rung_status note(rung_snapshots *s, uint64_t seq, rung_err *err) {
    rung_status st = rung_store_needed_from(s->store, &s->kept_from, err);
    if (st < 0)
        return st;
    s->count++;
    s->newest_seq = seq;
    s->newest_ms = rung_log_time_now(s->time);
    rung_snapshots_trim(s);
    return RUNG_OK;
}

rung_status rung_snapshots_save(rung_snapshots *s, rung_err *err) {
    rung_status st = may_begin(s, err);
    if (st == RUNG_OK)
        st = rung_store_save(s->store, s->state, err);
    return st == RUNG_OK ? note(s, rung_state_seq(s->state), err) : st;
}

rung_status rung_snapshots_poll(rung_snapshots *s, bool wait, rung_err *err) {
    if (!s->store)
        return RUNG_NOT_FOUND;
    rung_err why = {0};
    rung_status st = rung_store_save_poll(s->store, wait, &why);
    if (st == RUNG_PARTIAL || st == RUNG_NOT_FOUND)
        return st;
    s->phase = RUNG_SNAPSHOT_NONE;
    if (st >= 0)
        st = note(s, s->saving_seq, &why);
    if (st < 0)
        say_failure(s, &why);
    if (st < 0 && err)
        *err = why;
    return st;
}

/* A snapshot costs about the memory of players and rankings, since every page that changes meanwhile is copied first.
 * So the log must grow by at least that. With ten million players at full load, 256 MiB alone would mean one
 * every eight seconds, two of them slow. */
static bool is_due(const rung_snapshots *s, int64_t now_ms) {
    uint64_t grown = log_bytes(s) - s->bytes_at_save;
    if (s->phase != RUNG_SNAPSHOT_NONE)
        return false;
    if (s->every_ms && grown > 0 && now_ms - s->begun_ms >= s->every_ms)
        return true;
    if (grown < s->every)
        return false;
    rung_stats now;
    rung_state_stats(s->state, &now);
    return grown >= now.bytes_players + now.bytes_entries + now.bytes_scopes;
}

void rung_snapshots_begin_if_due(rung_snapshots *s) {
    rung_err err = {0};
    int64_t now_ms = rung_log_time_now(s->time);
    s->begun_ms = s->begun_ms ? s->begun_ms : now_ms;
    if (!is_due(s, now_ms))
        return;
    rung_status st = rung_snapshots_begin(s, &err);
    if (st >= 0)
        s->begun_ms = now_ms;
    if (st < 0 && st != RUNG_EBUSY)
        say_failure(s, &err);
}

void rung_snapshots_trim(rung_snapshots *s) {
    const rung_hub_follower *f = s->follower;
    uint64_t from = s->kept_from;
    if (f && f->needed_from) {
        uint64_t needed = f->needed_from(f->ctx);
        from = from < needed ? from : needed;
    }
    if (from <= 1 || from <= s->trimmed_from)
        return;
    rung_err err = {0};
    s->trimmed_from = from;
    if (rung_log_truncate_before(rung_store_log(s->store), from, &err) < 0)
        say(s, err.message);
}
