/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h over the engine: each call builds one event and hands it in. Nothing here knows how an event is kept or applied.
 *
 * Ownership: the handle owns the state and the engine, and releases them in reverse order. */
#include <rung/rung.h>

#include "base/assert.h"
#include "service/clock.h"
#include "service/engine.h"
#include "service/zoneinfo.h"

struct rung {
    rung_config config;
    const rung_alloc *alloc;
    const char *zoneinfo;
    rung_state *state;
    rung_engine *engine;
};

const char *rung_version(void) {
    return RUNG_VERSION;
}

/* ---- life ---- */

static rung_clock clock_of(const rung_config *c) {
    return c->now_ms ? (rung_clock){.now_ms = c->now_ms, .ctx = c->ctx} : rung_clock_real();
}

static rung_status open_parts(rung *db, rung_err *err) {
    const rung_config *c = &db->config;
    rung_state_config parts = {.alloc = db->alloc, .id_capacity = c->id_capacity, .id_keep_ms = c->id_keep_ms};
    rung_status st = rung_random_hash_key(&parts.hash_key, err);
    if (st < 0)
        return st;
    st = rung_state_create(&parts, &db->state);
    if (st < 0)
        return RUNG_FAIL(err, st, "%s", rung_status_text(st));
    rung_engine_config engine = {.alloc = db->alloc, .clock = clock_of(c), .state = db->state};
    return rung_engine_create(&engine, &db->engine, err);
}

rung_status rung_open(const rung_config *config, rung **db_out, rung_err *err) {
    static const rung_config in_memory;
    const rung_config *c = config ? config : &in_memory;
    if (c->path)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "path: not yet");
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

rung_status rung_close(rung *db, rung_err *err) {
    (void)err;
    if (!db)
        return RUNG_OK;
    rung_engine_destroy(db->engine);
    rung_state_destroy(db->state);
    rung_alloc_free(db->alloc, db, sizeof *db);
    return RUNG_OK;
}

/* ---- scores ---- */

rung_status rung_submit(rung *db, const rung_score_event *score, rung_outcome *out, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_SCORE, .score = *score};
    return rung_engine_submit(db->engine, &event, out, err);
}

/* Where the answers to many scores go. Until it is answered, a score that was put has the status RUNG_PARTIAL. */
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

rung_status rung_submit_many(rung *db, size_t n, const rung_score_event *scores, rung_status *statuses,
                             rung_outcome *outs, rung_err *errs, rung_err *err) {
    many m = {.statuses = statuses, .outs = outs, .errs = errs};
    rung_event event = {.kind = RUNG_EVENT_SCORE};
    for (size_t i = 0; i < n;) {
        for (; i < n && !rung_engine_is_full(db->engine); i++) {
            event.score = scores[i];
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
    rung_status st = rung_zoneinfo_pack(db->zoneinfo, event->defined.def.zone_name, db->alloc, rules, &len, err);
    if (st == RUNG_OK) {
        event->defined.def.zone_rules = rung_slice_of(rules, len);
        st = rung_engine_submit(db->engine, event, NULL, err);
    }
    rung_alloc_free(db->alloc, rules, RUNG_ZONE_PACKED_MAX);
    return st;
}

rung_status rung_board_define(rung *db, rung_slice board, const rung_board_def *def, rung_err *err) {
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
    rung_event event = {.kind = RUNG_EVENT_ENTRY_REMOVED, .removed = {.board = board, .player = player}};
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

rung_status rung_player_set(rung *db, rung_slice player, uint32_t count, const rung_attribute *attributes,
                            rung_err *err) {
    if (count > RUNG_ATTRIBUTES_MAX)
        return RUNG_FAIL(err, RUNG_EINVAL, "attributes: expected at most %d", RUNG_ATTRIBUTES_MAX);
    rung_event event = {.kind = RUNG_EVENT_PLAYER_SET, .profile = {.player = player, .count = count}};
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

rung_status rung_friend_add(rung *db, rung_slice player, rung_slice other, bool follow, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_FRIEND_ADDED,
                        .friend = {.player = player, .other = other, .follow = follow}};
    return rung_engine_submit(db->engine, &event, NULL, err);
}

rung_status rung_friend_remove(rung *db, rung_slice player, rung_slice other, bool follow, rung_err *err) {
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

rung_status rung_friends_replace(rung *db, rung_slice player, uint32_t count, const rung_slice *others, bool follow,
                                 rung_err *err) {
    if (count > RUNG_FRIENDS_MAX)
        return RUNG_FAIL(err, RUNG_EINVAL, "friends: expected at most %d", RUNG_FRIENDS_MAX);
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!rung_name_is_valid(others[i]))
            return RUNG_FAIL(err, RUNG_EINVAL, "friends: number %u is not a player's name", i + 1);
        size += 1 + others[i].len;
    }
    char *packed = size ? rung_alloc_get(db->alloc, size) : NULL;
    if (size && !packed)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    size_t used = pack_names(packed, count, others);
    RUNG_ASSERT(used == size);
    rung_event event = {
        .kind = RUNG_EVENT_FRIENDS_REPLACED,
        .friends = {.player = player, .follow = follow, .count = count, .packed = rung_slice_of(packed, size)}};
    rung_status st = rung_engine_submit(db->engine, &event, NULL, err);
    rung_alloc_free(db->alloc, packed, size);
    return st;
}

/* ---- questions and upkeep ---- */

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

rung_status rung_tick(rung *db, rung_err *err) {
    return rung_engine_tick(db->engine, err);
}

rung_status rung_sync(rung *db, rung_err *err) {
    return rung_engine_sync(db->engine, err);
}
