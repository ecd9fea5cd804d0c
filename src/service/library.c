/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h over the hub (hub.h), driven inline: each change builds one event, puts it and waits for its answer. Nothing
 * here knows how an event is kept or applied. */
#include <rung/rung.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "service/ask.h"
#include "service/define.h"
#include "service/hub.h"
#include "service/matches.h"
#include "service/moderate.h"
#include "service/submit.h"

#include <string.h>

struct rung {
    const rung_alloc *alloc;
    rung_hub *hub;
    rung_service service; /* of the hub; whoever holds the library may do everything */
};

const char *rung_version(void) {
    return RUNG_VERSION;
}

/* ---- life ---- */

#define SEGMENT_SIZE_DEFAULT ((uint64_t)16 << 20)

static rung_clock clock_of(const rung_config *c) {
    return c->now_ms ? (rung_clock){.now_ms = c->now_ms, .ctx = c->ctx} : rung_clock_real();
}

rung_status rung_open(const rung_config *config, rung **db_out, rung_err *err) {
    static const rung_config in_memory;
    const rung_config *c = config ? config : &in_memory;
    const rung_alloc *alloc = c->alloc ? c->alloc : rung_alloc_heap();
    rung *db = rung_alloc_zeroed(alloc, sizeof *db);
    if (!db)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    db->alloc = alloc;
    rung_hub_config hub = {
        .alloc = alloc,
        .clock = clock_of(c),
        .is_inline = true,
        .path = c->path,
        .sync_every_ms = c->sync_every_ms,
        .segment_size = c->segment_size ? c->segment_size : SEGMENT_SIZE_DEFAULT,
        .id_capacity = c->id_capacity,
        .id_keep_ms = c->id_keep_ms,
        .at_ahead_ms = c->at_ahead_ms,
        .max_jump_ms = c->max_jump_ms,
        .zoneinfo = c->zoneinfo,
        .snapshot_every = UINT64_MAX, /* when asked */
        .progress = c->progress,
        .say = c->say,
        .ctx = c->ctx,
    };
    rung_status st = rung_hub_open(&hub, &db->hub, err);
    if (st < 0) {
        rung_alloc_free(alloc, db, sizeof *db);
        return st;
    }
    db->service = (rung_service){.hub = db->hub, .alloc = alloc};
    *db_out = db;
    return RUNG_OK;
}

rung_status rung_close(rung *db, rung_err *err) {
    if (!db)
        return RUNG_OK;
    rung_status st = rung_hub_close(db->hub, err);
    rung_alloc_free(db->alloc, db, sizeof *db);
    return st;
}

/* ---- one change ---- */

typedef struct one_answer {
    rung_status status;
    rung_outcome *out;
    rung_err *err;
} one_answer;

/* Copy only the windows that are set: most outcomes have one of sixteen. */
static void copy_outcome(rung_outcome *to, const rung_outcome *from) {
    memcpy(to, from, offsetof(rung_outcome, windows) + from->window_count * sizeof *from->windows);
}

static void take_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                        const rung_err *err) {
    one_answer *one = ctx;
    one->status = st;
    if (one->out && outcome)
        copy_outcome(one->out, outcome);
    if (one->err && st < 0)
        *one->err = *err;
}

/* The actor of all changes: who runs this process. */
static const rung_actor itself = {.address = {"library", 7}};

/* Commit and answer everything that was put. */
static void settle(rung *db) {
    do
        rung_hub_flush(db->hub);
    while (!rung_commit_is_idle(rung_hub_commit(db->hub)));
}

static rung_status submit(rung *db, rung_event *event, rung_outcome *out, rung_err *err) {
    one_answer one = {.out = out, .err = err};
    rung_status st = rung_moderate_put(&db->service, (rung_hub_sender){.actor = &itself}, event,
                                       take_answer, &one, err);
    if (st < 0)
        return st;
    settle(db);
    return one.status;
}

/* ---- scores ---- */

/* With the server's checks. */
static rung_status put_score(rung *db, rung_event *event, rung_hub_answer *answer, void *ctx,
                             rung_err *err) {
    rung_access_answer why;
    rung_status st =
        rung_submit_put(&db->service, NULL, (rung_hub_sender){0}, event, 0, answer, ctx, &why);
    if (st < 0 && err)
        *err = why.err;
    return st;
}

rung_status rung_submit(rung *db, const rung_score_event *score, rung_outcome *out, rung_err *err) {
    rung_event event; /* large: only what a score has is set */
    one_answer one = {.out = out, .err = err};
    event.kind = RUNG_EVENT_SCORE;
    event.score = *score;
    event.score.is_brief |= !out;
    rung_status st = put_score(db, &event, take_answer, &one, err);
    if (st < 0)
        return st;
    settle(db);
    return one.status;
}

/* ---- matches ---- */

rung_status rung_match_add(uint8_t *packed, size_t size, size_t *len,
                           const rung_match_entry *player, rung_err *err) {
    rung_match_entry entry = *player;
    entry.weight = entry.weight == 0 ? 1 : entry.weight;
    entry.played = entry.played == 0 ? 1 : entry.played;
    rung_status st = rung_match_entry_check(&entry, err);
    if (st < 0)
        return st;
    rung_byte_writer w = rung_byte_writer_of(packed + *len, size - *len);
    if (!rung_match_put(&w, &entry))
        return RUNG_FAIL(err, RUNG_ELIMIT, "no room for another player");
    *len += rung_byte_writer_length(&w);
    return RUNG_OK;
}

rung_status rung_submit_match(rung *db, const rung_match_event *match, rung_err *err) {
    rung_event event; /* large: only what a match has is set */
    one_answer one = {.err = err};
    event.kind = RUNG_EVENT_MATCH;
    event.match = *match;
    rung_status st = rung_match_packed_check(match->packed, &event.match.player_count, err);
    if (st >= 0)
        st = rung_match_submit(&db->service, (rung_hub_sender){0}, &event, take_answer, &one, err);
    if (st < 0)
        return st;
    settle(db);
    return one.status;
}

/* ---- many scores ---- */

/* Where the answers to many scores go. Until it is answered, a score that was put has the status
 * RUNG_PARTIAL. */
typedef struct many {
    rung_status *statuses;
    rung_outcome *outs;
    rung_err *errs;
    rung_err *err;
    rung_status failure; /* of the first that was not applied */
    size_t next;         /* all before this one have their final status */
} many;

static void answer_one_of_many(void *ctx, rung_status st, const rung_outcome *outcome,
                               const rung_err *err) {
    many *m = ctx;
    while (m->statuses[m->next] != RUNG_PARTIAL) /* refused when it was put */
        m->next++;
    m->statuses[m->next] = st;
    if (m->outs && outcome)
        copy_outcome(&m->outs[m->next], outcome);
    if (m->errs && st < 0)
        m->errs[m->next] = *err;
    m->next++;
    if (outcome || m->failure < 0)
        return;
    m->failure = st;
    if (m->err)
        *m->err = *err;
}

rung_status rung_submit_many(rung *db, size_t n, const rung_score_event *scores,
                             rung_status *statuses, rung_outcome *outs, rung_err *errs,
                             rung_err *err) {
    many m = {.statuses = statuses, .outs = outs, .errs = errs, .err = err};
    rung_event event;
    event.kind = RUNG_EVENT_SCORE;
    m.failure = rung_hub_failure(db->hub, err);
    for (size_t i = 0; i < n;) {
        uint32_t room =
            m.failure < 0 ? 0 : rung_commit_room(rung_hub_commit(db->hub), (rung_hub_sender){0});
        for (; i < n && room > 0; i++, room--) {
            event.score = scores[i];
            event.score.is_brief |= !outs;
            statuses[i] = put_score(db, &event, answer_one_of_many, &m, errs ? &errs[i] : NULL);
            if (statuses[i] == RUNG_ELIMIT)
                break; /* no room for its bytes: it goes with the next batch */
            if (statuses[i] == RUNG_OK)
                statuses[i] = RUNG_PARTIAL;
        }
        settle(db);
        for (; i < n && m.failure < 0; i++)
            statuses[i] = m.failure;
    }
    return m.failure;
}

/* ---- boards ---- */

rung_status rung_board_define(rung *db, rung_slice board, const rung_board_def *def,
                              rung_err *err) {
    one_answer one = {.err = err};
    rung_status st = rung_define_put(&db->service, (rung_hub_sender){.actor = &itself}, board, def,
                                     NULL, take_answer, &one, err);
    if (st < 0)
        return st;
    settle(db);
    return one.status;
}

rung_status rung_board_delete(rung *db, rung_slice board, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DELETED, .deleted = {.board = board}};
    return submit(db, &event, NULL, err);
}

rung_status rung_entry_remove(rung *db, rung_slice board, rung_slice player, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_ENTRY_REMOVED,
                        .removed = {.board = board, .player = player}};
    return submit(db, &event, NULL, err);
}

/* ---- people ---- */

/* Insert by name: an event lists attributes in the order of their names. */
static void insert_sorted(rung_attribute *sorted, uint32_t count, const rung_attribute *a) {
    uint32_t at = count;
    for (; at > 0 && rung_slice_cmp(sorted[at - 1].name, a->name) > 0; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = *a;
}

rung_status rung_player_set(rung *db, rung_slice player, uint32_t count,
                            const rung_attribute *attributes, rung_err *err) {
    if (count > RUNG_ATTRIBUTES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attributes", "expected at most %d",
                               RUNG_ATTRIBUTES_MAX);
    rung_event event = {.kind = RUNG_EVENT_PLAYER_SET,
                        .profile = {.player = player, .count = count}};
    for (uint32_t i = 0; i < count; i++)
        insert_sorted(event.profile.attributes, i, &attributes[i]);
    return submit(db, &event, NULL, err);
}

rung_status rung_player_erase(rung *db, rung_slice player, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_PLAYER_ERASED, .erased = {.player = player}};
    return submit(db, &event, NULL, err);
}

rung_status rung_player_ban(rung *db, rung_slice player, rung_slice reason, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BANNED, .ban = {.player = player, .reason = reason}};
    return submit(db, &event, NULL, err);
}

rung_status rung_player_unban(rung *db, rung_slice player, rung_slice reason, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_UNBANNED, .ban = {.player = player, .reason = reason}};
    return submit(db, &event, NULL, err);
}

rung_status rung_friend_add(rung *db, rung_slice player, rung_slice other, bool follow,
                            rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_FRIEND_ADDED,
                        .friend = {.player = player, .other = other, .follow = follow}};
    return submit(db, &event, NULL, err);
}

rung_status rung_friend_remove(rung *db, rung_slice player, rung_slice other, bool follow,
                               rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_FRIEND_REMOVED,
                        .friend = {.player = player, .other = other, .follow = follow}};
    return submit(db, &event, NULL, err);
}

static size_t pack_names(char *out, uint32_t count, const rung_slice *names) {
    char *at = out;
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (char)names[i].len;
        rung_slice_put(&at, names[i]);
    }
    return (size_t)(at - out);
}

rung_status rung_friends_replace(rung *db, rung_slice player, uint32_t count,
                                 const rung_slice *others, bool follow, rung_err *err) {
    if (count > RUNG_FRIENDS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends", "expected at most %d",
                               RUNG_FRIENDS_MAX);
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!rung_name_is_valid(others[i]))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends", "number %u is not a player's name",
                                   i + 1);
        size += 1 + others[i].len;
    }
    char *packed = size ? rung_alloc_get(db->alloc, size) : NULL;
    if (size && !packed)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    size_t used = pack_names(packed, count, others);
    RUNG_ASSERT(used == size);
    rung_event event = {.kind = RUNG_EVENT_FRIENDS_REPLACED,
                        .friends = {.player = player,
                                    .follow = follow,
                                    .count = count,
                                    .packed = rung_slice_of(packed, size)}};
    rung_status st = submit(db, &event, NULL, err);
    rung_alloc_free(db->alloc, packed, size);
    return st;
}

/* ---- questions ---- */

rung_status rung_ask(const rung *db, const rung_query *query, rung_view *view_out, rung_err *err) {
    rung_question q = {.kind = RUNG_ASK_MEMORY, .query = *query};
    return rung_question_open(&db->service, &q, view_out, err);
}

const rung_state *rung_state_of(const rung *db) {
    return rung_hub_state(db->hub);
}

int64_t rung_now(const rung *db) {
    return rung_hub_now(db->hub);
}

/* ---- upkeep ---- */

rung_status rung_tick(rung *db, rung_err *err) {
    rung_hub_stats before = rung_hub_stat(db->hub);
    rung_hub_tick(db->hub);
    rung_hub_turn(db->hub); /* a sync that is due */
    rung_hub_stats after = rung_hub_stat(db->hub);
    rung_status st = rung_hub_failure(db->hub, err);
    if (st < 0)
        return st;
    return before.applied_seq == after.applied_seq && before.durable_seq == after.durable_seq
               ? RUNG_UNCHANGED
               : RUNG_OK;
}

rung_time rung_time_look(rung *db) {
    rung_hub_time now = rung_hub_look_at_time(db->hub);
    return (rung_time){.wall_ms = now.wall_ms, .log_ms = now.log_ms, .is_held = now.is_held};
}

bool rung_time_accept(rung *db) {
    return rung_hub_accept_time(db->hub);
}

rung_status rung_sync(rung *db, rung_err *err) {
    return rung_hub_sync(db->hub, err);
}

/* A snapshot must not be ahead of the log on the disk. */
rung_status rung_snapshot(rung *db, bool in_background, rung_err *err) {
    rung_status st = rung_hub_sync(db->hub, err);
    if (st < 0)
        return st;
    return in_background ? rung_hub_snapshot(db->hub, err) : rung_hub_save(db->hub, err);
}

rung_status rung_snapshot_wait(rung *db, rung_err *err) {
    rung_status st = rung_hub_wait_for_snapshot(db->hub, err);
    return st == RUNG_NOT_FOUND ? RUNG_UNCHANGED : st;
}
