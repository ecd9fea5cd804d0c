/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h over the engine and the store: each change builds one event and hands it in. Nothing
 * here knows how an event is kept or applied.
 *
 * Ownership: the handle owns the store (none in memory), the state and the engine, and releases
 * them in reverse order. */
#include <rung/rung.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "service/engine.h"
#include "service/steady_clock.h"
#include "service/store.h"
#include "service/zoneinfo.h"

struct rung {
    rung_config config;
    const rung_alloc *alloc;
    const char *zoneinfo;
    rung_store *store; /* NULL: in memory */
    rung_state *state;
    rung_engine *engine;
    rung_steady_clock clock;
    int64_t clock_saved_ms; /* on the monotonic clock */
};

const char *rung_version(void) {
    return RUNG_VERSION;
}

enum { CLOCK_SAVE_MS = 60000 }; /* how often rung_tick() keeps the trusted time */

/* ---- life ---- */

static rung_clock clock_of(const rung_config *c) {
    return c->now_ms ? (rung_clock){.now_ms = c->now_ms, .ctx = c->ctx} : rung_clock_real();
}

#define SEGMENT_SIZE_DEFAULT ((uint64_t)16 << 20)
#define SEGMENT_SIZE_MIN     ((uint64_t)4 << 20) /* so that a batch of the engine fits */

static rung_status open_store(rung *db, const rung_state_config *state, rung_err *err) {
    const rung_config *c = &db->config;
    uint64_t segment_size = c->segment_size ? c->segment_size : SEGMENT_SIZE_DEFAULT;
    if (segment_size < SEGMENT_SIZE_MIN || segment_size % 512 != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "segment_size",
                               "expected 4 MiB or more, a multiple of 512");
    rung_store_config store = {
        .alloc = db->alloc,
        .path = c->path,
        .segment_size = segment_size,
        .is_relaxed = c->sync_every_ms > 0,
        .state = *state,
        .progress = c->progress,
        .say = c->say,
        .ctx = c->ctx,
    };
    return rung_store_open(&store, &db->store, &db->state, err);
}

/* A folder keeps its level of rules and how it remembers ids; each change is an event. */
static rung_status put_first(rung *db, rung_err *err) {
    const rung_config *c = &db->config;
    rung_event event;
    rung_status st = RUNG_OK;
    if (rung_store_rules_event(db->state, &event))
        st = rung_engine_submit(db->engine, &event, NULL, err);
    if (st >= 0 && db->store &&
        rung_store_ids_event(db->state, c->id_capacity, c->id_keep_ms, &event))
        st = rung_engine_submit(db->engine, &event, NULL, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status open_parts(rung *db, rung_err *err) {
    const rung_config *c = &db->config;
    rung_state_config state = {
        .alloc = db->alloc,
        .id_capacity = c->id_capacity,
        .id_keep_ms = c->id_keep_ms,
    };
    rung_status st = rung_random_hash_key(NULL, &state.hash_key, err);
    if (st < 0)
        return st;
    if (c->path)
        st = open_store(db, &state, err);
    else if ((st = rung_state_create(&state, &db->state)) < 0)
        RUNG_FAIL(err, st, "out of memory");
    if (st < 0)
        return st;
    rung_clock clock = clock_of(c);
    rung_steady_clock_init(&db->clock, &clock, c->max_jump_ms);
    if (db->store)
        rung_steady_clock_load(&db->clock, rung_store_dir(db->store));
    rung_engine_config engine = {
        .alloc = db->alloc,
        .clock = rung_steady_clock_port(&db->clock),
        .state = db->state,
        .log = db->store ? rung_store_log(db->store) : NULL,
        .at_ahead_ms = c->at_ahead_ms,
        .sync_every_ms = c->sync_every_ms,
    };
    st = rung_engine_create(&engine, &db->engine, err);
    return st < 0 ? st : put_first(db, err);
}

rung_status rung_open(const rung_config *config, rung **db_out, rung_err *err) {
    static const rung_config in_memory;
    const rung_config *c = config ? config : &in_memory;
    const rung_alloc *alloc = c->alloc ? c->alloc : rung_alloc_heap();
    rung *db = rung_alloc_zeroed(alloc, sizeof *db);
    if (!db)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    db->config = *c;
    db->alloc = alloc;
    db->zoneinfo = c->zoneinfo ? c->zoneinfo : RUNG_ZONEINFO_PATH;
    rung_status st = open_parts(db, err);
    if (st < 0) {
        rung_ignore(rung_close(db, NULL), "the failure to open is the one to tell");
        return st;
    }
    *db_out = db;
    return RUNG_OK;
}

/* For the next life; without it a jump between the two is not found. */
static void keep_time(rung *db) {
    rung_err err = {0};
    if (!db->store)
        return;
    db->clock_saved_ms = rung_clock_monotonic_ms(NULL);
    if (rung_steady_clock_save(&db->clock, rung_store_dir(db->store), &err) < 0 && db->config.say)
        db->config.say(db->config.ctx, err.message);
}

rung_status rung_close(rung *db, rung_err *err) {
    if (!db)
        return RUNG_OK;
    if (db->engine)
        keep_time(db);
    rung_engine_destroy(db->engine);
    rung_status st = rung_store_close(db->store, err);
    rung_state_destroy(db->state);
    rung_alloc_free(db->alloc, db, sizeof *db);
    return st;
}

/* ---- scores ---- */

rung_status rung_submit(rung *db, const rung_score_event *score, rung_outcome *out, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_SCORE, .score = *score};
    event.score.is_brief |= !out;
    return rung_engine_submit(db->engine, &event, out, err);
}

/* Where the answers to many scores go. Until it is answered, a score that was put has the status
 * RUNG_PARTIAL. */
typedef struct many {
    rung_status *statuses;
    rung_outcome *outs;
    rung_err *errs;
    size_t next; /* all before this one have their final status */
} many;

static void answer_one_of_many(void *ctx, uint32_t i, rung_status st, const rung_outcome *outcome,
                               const rung_err *err) {
    many *m = ctx;
    (void)i; /* those refused at the door are not counted there */
    while (m->statuses[m->next] != RUNG_PARTIAL)
        m->next++;
    m->statuses[m->next] = st;
    if (m->outs)
        m->outs[m->next] = *outcome;
    if (m->errs && st < 0)
        m->errs[m->next] = *err;
    m->next++;
}

static void fail_the_rest(many *m, size_t n, size_t put, rung_status st) {
    for (size_t i = m->next; i < n; i++)
        if (i >= put || m->statuses[i] == RUNG_PARTIAL)
            m->statuses[i] = st;
}

rung_status rung_submit_many(rung *db, size_t n, const rung_score_event *scores,
                             rung_status *statuses, rung_outcome *outs, rung_err *errs,
                             rung_err *err) {
    many m = {.statuses = statuses, .outs = outs, .errs = errs};
    rung_event event = {.kind = RUNG_EVENT_SCORE};
    for (size_t i = 0; i < n;) {
        for (; i < n && !rung_engine_is_full(db->engine); i++) {
            event.score = scores[i];
            event.score.is_brief |= !outs;
            statuses[i] = rung_engine_put(db->engine, &event, errs ? &errs[i] : NULL);
            if (statuses[i] == RUNG_OK)
                statuses[i] = RUNG_PARTIAL;
        }
        rung_status st = rung_engine_commit(db->engine, answer_one_of_many, &m, err);
        if (st < 0) {
            fail_the_rest(&m, n, i, st);
            return st;
        }
    }
    return RUNG_OK;
}

/* ---- boards ---- */

static rung_status define_in_zone(rung *db, rung_event *event, rung_err *err) {
    char *rules = rung_alloc_get(db->alloc, RUNG_ZONE_PACKED_MAX);
    if (!rules)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    size_t len;
    rung_status st =
        rung_zoneinfo_pack(db->zoneinfo, event->defined.def.zone_name, db->alloc, rules, &len, err);
    if (st == RUNG_OK) {
        event->defined.def.zone_rules = rung_slice_of(rules, len);
        st = rung_engine_submit(db->engine, event, NULL, err);
    }
    rung_alloc_free(db->alloc, rules, RUNG_ZONE_PACKED_MAX);
    return st;
}

rung_status rung_board_define(rung *db, rung_slice board, const rung_board_def *def,
                              rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = board, .def = *def}};
    bool is_utc = def->zone_name.len == 0 || rung_slice_eq(def->zone_name, RUNG_SLICE("UTC"));
    if (is_utc || def->zone_rules.len > 0)
        return rung_engine_submit(db->engine, &event, NULL, err);
    return define_in_zone(db, &event, err);
}

rung_status rung_board_delete(rung *db, rung_slice board, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DELETED, .deleted = {.board = board}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_entry_remove(rung *db, rung_slice board, rung_slice player, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_ENTRY_REMOVED,
                        .removed = {.board = board, .player = player}};
    return rung_engine_submit(db->engine, &event, NULL, err);
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
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_player_erase(rung *db, rung_slice player, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_PLAYER_ERASED, .erased = {.player = player}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_player_ban(rung *db, rung_slice player, rung_slice reason, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BANNED, .ban = {.player = player, .reason = reason}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_player_unban(rung *db, rung_slice player, rung_slice reason, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_UNBANNED, .ban = {.player = player, .reason = reason}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_friend_add(rung *db, rung_slice player, rung_slice other, bool follow,
                            rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_FRIEND_ADDED,
                        .friend = {.player = player, .other = other, .follow = follow}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_friend_remove(rung *db, rung_slice player, rung_slice other, bool follow,
                               rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_FRIEND_REMOVED,
                        .friend = {.player = player, .other = other, .follow = follow}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

static size_t pack_names(char *out, uint32_t count, const rung_slice *names) {
    char *at = out;
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (char)names[i].len;
        memcpy(at, names[i].ptr, names[i].len);
        at += names[i].len;
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
    rung_status st = rung_engine_submit(db->engine, &event, NULL, err);
    rung_alloc_free(db->alloc, packed, size);
    return st;
}

/* ---- questions ---- */

rung_status rung_ask(const rung *db, const rung_query *query, rung_view *view_out, rung_err *err) {
    rung_query q = *query;
    if (q.now_ms == 0)
        q.now_ms = rung_engine_now(db->engine);
    return rung_state_view(db->state, &q, view_out, err);
}

const rung_state *rung_state_of(const rung *db) {
    return db->state;
}

int64_t rung_now(const rung *db) {
    return rung_engine_now(db->engine);
}

/* ---- upkeep ---- */

/* What both snapshots hold need not stay in the log. */
static rung_status trim_log(rung *db, rung_err *err) {
    uint64_t from;
    rung_status st = rung_store_needed_from(db->store, &from, err);
    if (st == RUNG_OK)
        st = rung_log_truncate_before(rung_store_log(db->store), from, err);
    return st == RUNG_UNCHANGED ? RUNG_OK : st;
}

/* RUNG_PARTIAL while a snapshot is being written, RUNG_NOT_FOUND when there is none, else how
 * the last one ended. */
static rung_status poll_snapshot(rung *db, bool wait, rung_err *err) {
    if (!db->store)
        return RUNG_NOT_FOUND;
    rung_status st = rung_store_save_poll(db->store, wait, err);
    return st == RUNG_OK ? trim_log(db, err) : st;
}

rung_status rung_tick(rung *db, rung_err *err) {
    rung_err why = {0};
    rung_status st = poll_snapshot(db, false, &why);
    if (st < 0 && db->config.say)
        db->config.say(db->config.ctx, why.message);
    if (rung_clock_monotonic_ms(NULL) - db->clock_saved_ms >= CLOCK_SAVE_MS)
        keep_time(db);
    return rung_engine_tick(db->engine, err);
}

rung_time rung_time_look(rung *db) {
    int64_t now_ms = rung_steady_clock_now(&db->clock), log_ms = rung_state_time(db->state);
    return (rung_time){.wall_ms = db->clock.wall_ms,
                       .log_ms = log_ms > now_ms ? log_ms : now_ms,
                       .is_held = db->clock.is_held};
}

bool rung_time_accept(rung *db) {
    bool was_held = rung_steady_clock_accept(&db->clock);
    keep_time(db);
    return was_held;
}

rung_status rung_sync(rung *db, rung_err *err) {
    return rung_engine_sync(db->engine, err);
}

rung_status rung_snapshot(rung *db, bool in_background, rung_err *err) {
    if (!db->store)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "path", "there is none; nothing is kept");
    rung_err why = {0};
    rung_status st = poll_snapshot(db, false, &why);
    if (st < 0 && db->config.say)
        db->config.say(db->config.ctx, why.message);
    st =
        rung_engine_sync(db->engine, err); /* a snapshot must not be ahead of the log on the disk */
    if (st < 0)
        return st;
    if (in_background)
        return rung_store_save_begin(db->store, db->state, err);
    st = rung_store_save(db->store, db->state, err);
    return st == RUNG_OK ? trim_log(db, err) : st;
}

rung_status rung_snapshot_wait(rung *db, rung_err *err) {
    rung_status st = poll_snapshot(db, true, err);
    return st == RUNG_NOT_FOUND ? RUNG_UNCHANGED : st;
}
