/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/feed_replay.h"

#include "base/random.h"
#include "journal/snapshot_file.h"
#include "service/applier.h"
#include "service/store.h"

#include <string.h>

enum { RECORDS = 256, SNAPSHOTS_MAX = 16 };

struct rung__feed_replay {
    rung__feed_replay_config config;
    rung_dir dir;
    bool has_dir;
    rung_state *state;
    rung_applier *applier;
    rung_log_cursor *cursor;
    rung_hub_follower follower;
    rung_log_record records[RECORDS];
};

/* ---- the writer hears of everything ---- */

static void on_change(void *ctx, const rung_change *change) {
    rung__feed_write_change(((rung__feed_replay *)ctx)->config.writer, change);
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    rung__feed_write_close(((rung__feed_replay *)ctx)->config.writer, board, view);
}

static void applied(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes) {
    (void)first_seq, (void)count, (void)events, (void)statuses, (void)outcomes;
    rung__feed_write_end(((rung__feed_replay *)ctx)->config.writer);
}

/* ---- where to begin ---- */

static void drop_state(rung__feed_replay *r) {
    rung_log_cursor_close(r->cursor);
    rung_applier_destroy(r->applier);
    rung_state_destroy(r->state);
    r->cursor = NULL;
    r->applier = NULL;
    r->state = NULL;
}

static rung_status load(rung__feed_replay *r, uint64_t seq, rung_err *err) {
    const rung_alloc *a = r->config.alloc;
    rung_snapshot_reader *reader;
    rung_state_config config = {.alloc = a,
                                .on_close = on_close,
                                .on_close_ctx = r,
                                .on_change = on_change,
                                .on_change_ctx = r};
    rung_status st = rung_random_hash_key(NULL, &config.hash_key, err);
    if (st == RUNG_OK && seq == 0)
        return rung_state_create(&config, &r->state);
    if (st == RUNG_OK)
        st = rung_snapshot_reader_open(&r->dir, a, r->config.log_id, seq, &reader, err);
    if (st != RUNG_OK)
        return st;
    st = rung_store_load_snapshot(reader, &config, NULL, NULL, &r->state, err);
    rung_snapshot_reader_close(reader);
    return st;
}

/* From the state after event `seq`; 0: from the empty one. */
static rung_status begin_at(rung__feed_replay *r, uint64_t seq, rung_err *err) {
    rung_status st = rung_log_cursor_open(r->config.log, seq + 1, &r->cursor, err);
    if (st == RUNG_OK)
        st = load(r, seq, err);
    if (st == RUNG_OK)
        st = rung_applier_create(&(rung_applier_config){.alloc = r->config.alloc,
                                                        .state = r->state,
                                                        .follower = &r->follower},
                                 &r->applier, err);
    if (st != RUNG_OK)
        drop_state(r);
    return st;
}

/* Is there nothing to be had from this snapshot, now or later? Otherwise the attempt may be repeated. */
static bool is_useless(rung_status st) {
    return st == RUNG_ESTALE || st == RUNG_NOT_FOUND || st == RUNG_ECORRUPT || st == RUNG_EVERSION;
}

/* The newest of those that are old enough, the empty state among them; otherwise the oldest of the others. */
static rung_status begin_best(rung__feed_replay *r, uint64_t from, uint64_t until, rung_err *err) {
    uint64_t seqs[SNAPSHOTS_MAX + 1]; /* newest first */
    size_t count = 0;
    rung_status st = rung_snapshot_list(&r->dir, seqs, SNAPSHOTS_MAX, &count, err);
    if (st < 0)
        return st;
    seqs[count++] = 0;
    size_t at = 0;
    while (seqs[at] >= from) /* ends: 0 is below every sequence */
        at++;
    st = RUNG_NOT_FOUND;
    for (size_t i = at; i < count && (st == RUNG_NOT_FOUND || is_useless(st)); i++)
        st = begin_at(r, seqs[i], err);
    for (size_t i = at; i-- > 0 && is_useless(st) && seqs[i] + 1 < until;)
        st = begin_at(r, seqs[i], err);
    return is_useless(st) ? RUNG_NOT_FOUND : st;
}

rung_status rung__feed_replay_open(const rung__feed_replay_config *config, uint64_t from,
                                   uint64_t until, rung__feed_replay **out, uint64_t *first_out,
                                   rung_err *err) {
    rung__feed_replay *r = rung_alloc_zeroed(config->alloc, sizeof *r);
    if (!r)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    r->config = *config;
    r->follower = (rung_hub_follower){.ctx = r, .applied = applied};
    rung_status st = rung_dir_open(&r->dir, config->fs ? config->fs : rung_fs_posix(),
                                   config->folder, false, err);
    r->has_dir = st == RUNG_OK;
    if (st == RUNG_OK)
        st = begin_best(r, from, until, err);
    if (st != RUNG_OK) {
        rung__feed_replay_close(r);
        return st;
    }
    uint64_t next = rung_state_seq(r->state) + 1;
    *first_out = next > from ? next : from;
    *out = r;
    return RUNG_OK;
}

void rung__feed_replay_close(rung__feed_replay *r) {
    if (!r)
        return;
    drop_state(r);
    if (r->has_dir)
        rung_dir_close(&r->dir);
    rung_alloc_free(r->config.alloc, r, sizeof *r);
}

/* ---- going on ---- */

rung_status rung__feed_replay_step(rung__feed_replay *r, uint64_t last, rung_err *err) {
    uint64_t seq = rung_state_seq(r->state);
    size_t count = 0, max = last - seq < RECORDS ? (size_t)(last - seq) : RECORDS;
    if (last <= seq)
        return RUNG_NOT_FOUND;
    rung_status st = rung_log_cursor_read(r->cursor, r->records, max, &count, err);
    return st == RUNG_OK ? rung_applier_replay(r->applier, r->records, count, err) : st;
}

uint64_t rung__feed_replay_seq(const rung__feed_replay *r) {
    return rung_state_seq(r->state);
}
