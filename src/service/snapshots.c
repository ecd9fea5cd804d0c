/* SPDX-License-Identifier: Apache-2.0 */
#include "service/snapshots.h"

#include "model/civil.h"
#include "model/event.h"
#include "service/applier.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PLAN_MS = 60000,        /* between two plans, if no snapshot asks for one */
    MEASURED_MIN = 4 << 20, /* bytes of log: fewer are no measure of a replay */
    LAST_SHARE =
        15, /* a replay below this share of the target is not worth a snapshot at the close */
};
#define ASSUMED_US 0.05 /* to replay one byte, before any was measured: 4 us for a score */
/* Free space that the log leaves for coming segments, or a twentieth of a small disk; plus that of two snapshots. */
#define RESERVE_BYTES ((uint64_t)256 << 20)

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

/* ---- what is kept ---- */

static bool keeps_history(const rung_snapshots *s) {
    return s->retention.keep_ms > 0;
}

/* The log time of record 1. */
static int64_t begin_of_log(const rung_snapshots *s) {
    rung_log *log = rung_store_log(s->store);
    rung_log_cursor *cursor;
    rung_log_record record;
    rung_event event;
    size_t count = 0;
    int64_t found = 0;
    if (rung_log_is_shared(log) || rung_log_first_seq(log) != 1 || rung_log_durable_seq(log) == 0 ||
        rung_log_cursor_open(log, 1, &cursor, NULL) < 0)
        return 0;
    if (rung_log_cursor_read(cursor, &record, 1, &count, NULL) == RUNG_OK && count == 1 &&
        record.type == RUNG_LOG_TYPE_EVENT &&
        rung_event_decode(record.payload, &event, NULL) == RUNG_OK)
        found = event.ts_ms;
    rung_log_cursor_close(cursor);
    return found;
}

rung_status rung_snapshots_init(rung_snapshots *s, rung_err *err) {
    if (!s->store)
        return RUNG_OK;
    rung_store_stats opened = rung_store_stat(s->store);
    s->bytes_before = opened.replayed_bytes;
    s->newest_seq = opened.snapshot_seq;
    s->log_begin_ms = begin_of_log(s);
    rung_status st = rung_store_list(s->store, &s->list, err);
    if (st == RUNG_OK && !keeps_history(s)) /* otherwise a plan follows, when the time is known */
        st = rung_store_needed_from(s->store, &s->kept_from, err);
    return st;
}

void rung_snapshots_deinit(rung_snapshots *s) {
    if (!s->store)
        return;
    rung_snapshot_list_deinit(&s->list);
    rung_alloc_free(s->alloc, s->keep, s->keep_room * sizeof *s->keep);
    s->keep = NULL;
    s->keep_room = 0;
}

static uint64_t log_bytes_from(void *ctx, uint64_t seq) {
    return rung_store_log_bytes(ctx, seq);
}

/* The size of the disk, and what it lacks for the next segments and snapshot. */
static void look_at_disk(const rung_snapshots *s, rung_retention_facts *f) {
    uint64_t total, left;
    if (rung_dir_space(rung_store_dir(s->store), &total, &left, NULL) < 0)
        return;
    uint64_t newest = s->list.count ? s->list.entries[s->list.count - 1].file_bytes : 0;
    uint64_t reserve = (total / 20 < RESERVE_BYTES ? total / 20 : RESERVE_BYTES) + 2 * newest;
    f->disk_bytes = total;
    f->short_bytes = left < reserve ? reserve - left : 0;
}

static void say_if_short(rung_snapshots *s, bool is_disk_short) {
    char line[300], day[48];
    int64_t reach_ms = rung_snapshots_reach_ms(s);
    bool is_new = s->plan.has_given_way && !s->is_short;
    s->is_short = s->plan.has_given_way;
    if (!is_new)
        return;
    rung_civil c = rung_civil_from_days(rung_retention_day(reach_ms));
    snprintf(day, sizeof day, "%04lld-%02d-%02d", (long long)c.year, c.month, c.day);
    if (is_disk_short)
        snprintf(line, sizeof line,
                 "the disk is nearly full: the oldest days of the log are removed before log.keep "
                 "is over; it reaches back to %s",
                 day);
    else
        snprintf(line, sizeof line,
                 "log and snapshots have reached %llu MiB, the limit of log.keep: the oldest days "
                 "are removed; they reach back to %s",
                 (unsigned long long)(s->plan.bytes_max >> 20), day);
    say(s, line);
}

static int by_number(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Forget the snapshots that the store has removed. */
static void forget_removed(rung_snapshots *s) {
    rung_snapshot_entries *l = &s->list;
    size_t kept = 0, keep_count = s->plan.keep_count;
    for (size_t i = 0; i < l->count; i++) {
        const uint64_t *seq = &l->entries[i].seq;
        bool is_kept = keep_count && bsearch(seq, s->keep, keep_count, sizeof *s->keep, by_number);
        if (is_kept || i + RUNG_SNAPSHOT_KEEP >= l->count)
            l->entries[kept++] = l->entries[i];
    }
    l->count = kept;
}

static bool reserve_keep(rung_snapshots *s, size_t count) {
    if (s->keep_room >= count)
        return true;
    size_t room = count + 16;
    uint64_t *grown =
        rung_alloc_resize(s->alloc, s->keep, s->keep_room * sizeof *grown, room * sizeof *grown);
    if (!grown)
        return false;
    s->keep = grown;
    s->keep_room = room;
    return true;
}

/* Decide anew what is kept, and tell the store. Without memory for it the former plan stays in force, and more is kept
 * than need be. */
static void make_plan(rung_snapshots *s) {
    rung_retention_facts f = {.entries = s->list.entries,
                              .count = s->list.count,
                              .first_seq = rung_log_first_seq(rung_store_log(s->store)),
                              .now_ms = rung_log_time_now(s->time),
                              .log_bytes = log_bytes_from,
                              .ctx = s->store};
    if (!keeps_history(s) || !reserve_keep(s, f.count))
        return;
    look_at_disk(s, &f);
    s->plan = rung_retention_decide(&s->retention, &f, s->keep);
    s->has_plan = true;
    s->planned_ms = f.now_ms;
    s->log_begin_ms = s->log_begin_ms ? s->log_begin_ms : begin_of_log(s);
    s->trimmed_from = 0; /* again: a backup or the packer may have been in the way */
    if (s->plan.needed_from > s->kept_from)
        s->kept_from = s->plan.needed_from;
    say_if_short(s, f.short_bytes > 0);
    if (rung_store_keep(s->store, s->keep, s->plan.keep_count, NULL) == RUNG_OK && f.short_bytes &&
        s->phase == RUNG_SNAPSHOT_NONE) {
        rung_store_remove_old(s->store);
        forget_removed(s);
    }
}

/* The snapshot at `seq` is complete. */
static rung_status renew_list(rung_snapshots *s, uint64_t seq, rung_err *err) {
    rung_snapshot_entry added;
    rung_status st = rung_store_entry(s->store, seq, &added, err);
    if (st == RUNG_OK)
        st = rung_snapshot_list_add(&s->list, &added, err);
    if (st == RUNG_OK)
        forget_removed(s);
    return st;
}

/* One failed; it may have removed others before. */
static void read_list_again(rung_snapshots *s) {
    rung_snapshot_entries list;
    if (rung_store_list(s->store, &list, NULL) < 0)
        return;
    rung_snapshot_list_deinit(&s->list);
    s->list = list;
}

int64_t rung_snapshots_reach_ms(const rung_snapshots *s) {
    if (!s->store)
        return 0;
    uint64_t first_seq = rung_log_first_seq(rung_store_log(s->store));
    uint64_t from = first_seq > s->kept_from ? first_seq : s->kept_from;
    if (from <= 1)
        return s->log_begin_ms;
    for (size_t i = 0; i < s->list.count; i++)
        if (s->list.entries[i].seq + 1 >= from)
            return s->list.entries[i].time_ms;
    return 0;
}

uint64_t rung_snapshots_bytes(const rung_snapshots *s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->list.count; i++)
        sum += s->list.entries[i].file_bytes;
    return sum;
}

/* ---- writing one ---- */

static rung_status begin(rung_snapshots *s, rung_err *err) {
    make_plan(s);
    rung_snapshots_trim(s);
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
    rung_status st = renew_list(s, seq, err);
    if (st == RUNG_OK && keeps_history(s))
        make_plan(s);
    else if (st == RUNG_OK)
        st = rung_store_needed_from(s->store, &s->kept_from, err);
    if (st < 0)
        return st;
    s->count++;
    s->newest_seq = seq;
    s->bytes_at_newest = s->bytes_at_save;
    s->newest_ms = rung_log_time_now(s->time);
    rung_snapshots_trim(s);
    return RUNG_OK;
}

rung_status rung_snapshots_save(rung_snapshots *s, rung_err *err) {
    rung_status st = may_begin(s, err);
    if (st == RUNG_OK)
        make_plan(s);
    if (st == RUNG_OK)
        st = rung_store_save(s->store, s->state, err);
    if (st == RUNG_OK)
        s->bytes_at_save = log_bytes(s);
    return st == RUNG_OK ? note(s, rung_state_seq(s->state), err) : st;
}

rung_status rung_snapshots_save_last(rung_snapshots *s, rung_err *err) {
    if (!s->store || !s->target_ms)
        return RUNG_UNCHANGED;
    rung_ignore(rung_snapshots_poll(s, true, NULL), "a failure was said, and is counted");
    if (rung_snapshots_replay_ms(s) < s->target_ms / LAST_SHARE + 1)
        return RUNG_UNCHANGED;
    say(s, "writing a snapshot, so that the next start is fast");
    return rung_snapshots_save(s, err);
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
    else
        read_list_again(s);
    if (st < 0)
        say_failure(s, &why);
    if (st < 0 && err)
        *err = why;
    return st;
}

/* None of this day of log time exists or was tried. */
static bool is_first_of_day(const rung_snapshots *s, int64_t now_ms) {
    int64_t last_ms = s->list.count ? s->list.entries[s->list.count - 1].time_ms : s->opened_ms;
    int64_t today = rung_retention_day(now_ms);
    return rung_retention_day(last_ms) < today && s->day_begun < today;
}

/* What replaying a byte of log costs depends on the machine and on the state; an event may have one score or thousands,
 * so events would be no measure. The replay at the start measured it. Live bytes cost a little more, since their events
 * are answered. */
static double us_per_byte(const rung_snapshots *s) {
    rung_store_stats opened = rung_store_stat(s->store);
    uint64_t live = rung_log_stat(rung_store_log(s->store)).bytes;
    if (opened.replayed_bytes >= MEASURED_MIN)
        return (double)opened.replay_us / (double)opened.replayed_bytes;
    return live >= MEASURED_MIN ? (double)s->applied_us / (double)live : ASSUMED_US;
}

int64_t rung_snapshots_replay_ms(const rung_snapshots *s) {
    if (!s->store || rung_state_seq(s->state) == s->newest_seq)
        return 0;
    return (int64_t)((double)(log_bytes(s) - s->bytes_at_newest) * us_per_byte(s) / 1000);
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
    if (s->target_ms && rung_snapshots_replay_ms(s) >= s->target_ms)
        return true;
    if (keeps_history(s) && s->every != UINT64_MAX && grown > 0 && is_first_of_day(s, now_ms))
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
    s->opened_ms = s->opened_ms ? s->opened_ms : now_ms;
    if (!is_due(s, now_ms))
        return;
    rung_status st = rung_snapshots_begin(s, &err);
    if (st >= 0) {
        s->begun_ms = now_ms;
        s->day_begun = rung_retention_day(now_ms);
    }
    if (st < 0 && st != RUNG_EBUSY)
        say_failure(s, &err);
}

static bool is_plan_due(const rung_snapshots *s) {
    rung_retention_facts f = {0};
    if (!s->has_plan || rung_log_time_now(s->time) - s->planned_ms >= PLAN_MS)
        return true;
    look_at_disk(s, &f);
    return f.short_bytes > 0;
}

void rung_snapshots_trim(rung_snapshots *s) {
    const rung_hub_follower *f = s->follower;
    if (keeps_history(s) && s->phase == RUNG_SNAPSHOT_NONE && is_plan_due(s))
        make_plan(s);
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
