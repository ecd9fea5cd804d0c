/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of an event, with the field it blames; its bytes: one spelling, no other accepted; and the bytes of
 * version 1 in tests/golden/events-v1.txt, which must mean the same for ever. */
#include "model/event.h"

#include "base/bytes.h"
#include "support/check.h"
#include "support/event_gen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TS           INT64_C(1763215200000) /* 2025-11-15T14:00:00Z */
#define NONE         ((rung_slice){NULL, 0})
#define NOT_A_NUMBER ((double)NAN) /* the macro is a float */

static uint8_t bytes[RUNG_EVENT_BYTES_MAX + 1], again[RUNG_EVENT_BYTES_MAX];
static event_gen gen;

/* ---- samples: at least one of each kind ------------------------------------------------------------------- */

static rung_event of_kind(rung_event_kind kind) {
    return (rung_event){.kind = kind, .ts_ms = TS};
}

static rung_event score_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SCORE);
    e.score = (rung_score_event){.board = RUNG_SLICE("marathon"),
                                 .player = RUNG_SLICE("player-00004711"),
                                 .has_at = true,
                                 .at_ms = TS - 250,
                                 .value_count = 1};
    e.score.values[0].i = 421337;
    return e;
}

static rung_event score_full_sample(void) {
    rung_event e = score_sample();
    e.score.player = RUNG_SLICE("J\xc3\xa4rvinen");
    e.score.id = RUNG_SLICE("01936f5e-7d3a-7c2b-9b1f-5a8e2f4c6d70");
    e.score.meta = RUNG_SLICE("{\"level\": 3}\n");
    e.score.is_delta = true;
    e.score.value_count = 3;
    e.score.types[1] = RUNG_SCORE_DECIMAL;
    e.score.decimals[1] = 3;
    e.score.values[1].i = -12345;
    e.score.types[2] = RUNG_SCORE_REAL;
    e.score.values[2].d = 0.1;
    return e;
}

static rung_event score_bare_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SCORE);
    e.score.board = RUNG_SLICE("b");
    e.score.player = RUNG_SLICE("p");
    return e;
}

static rung_event score_edges_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SCORE);
    e.ts_ms = RUNG_TIME_MS_MIN;
    e.score =
        (rung_score_event){.board = RUNG_SLICE("b"),
                           .player = RUNG_SLICE("p"),
                           .has_at = true,
                           .at_ms = RUNG_TIME_MS_END - 1,
                           .value_count = 3,
                           .types = {RUNG_SCORE_INTEGER, RUNG_SCORE_INTEGER, RUNG_SCORE_REAL}};
    e.score.values[0].i = INT64_MIN;
    e.score.values[1].i = INT64_MAX;
    e.score.values[2].d = -HUGE_VAL;
    return e;
}

static rung_event defined_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BOARD_DEFINED);
    e.defined.board = RUNG_SLICE("marathon");
    e.defined.def = rung_board_def_default();
    return e;
}

static rung_event defined_full_sample(void) {
    rung_event e = defined_sample();
    rung_board_def *d = &e.defined.def;
    d->title = RUNG_SLICE("Marathon of the year");
    d->key.column_count = 3;
    d->key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_ASC, 3};
    d->key.columns[1] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_DESC, 0};
    d->key.columns[2] = (rung_column){RUNG_SCORE_INTEGER, RUNG_ORDER_ASC, 0};
    d->column_names[0] = RUNG_SLICE("style");
    d->column_names[1] = RUNG_SLICE("falls");
    d->key.tie = RUNG_TIE_PLAYER;
    d->update = RUNG_UPDATE_LAST;
    d->rank = RUNG_RANK_DENSE;
    d->windows = RUNG_WINDOWS_MASK;
    d->season_count = 1;
    d->seasons[0] = (rung_season){RUNG_SLICE("winter"), TS, TS + 7776000000};
    d->zone_name = RUNG_SLICE("Etc/GMT-2");
    d->zone_rules = RUNG_SLICE("\x01\x00\xc0\x70\x00");
    d->day_starts_min = 240;
    d->grace_ms = 60000;
    d->keep = 12;
    d->scope_count = 2;
    d->scopes[0] = RUNG_SLICE("country");
    d->scopes[1] = RUNG_SLICE("platform");
    d->has_teams = true;
    d->team_by = RUNG_SLICE("guild");
    d->team_combine = RUNG_COMBINE_TOP;
    d->team_top = 5;
    d->limits = RUNG_LIMITS_MASK;
    d->min.i = 0;
    d->max.i = 86400000;
    d->max_step.i = 3600000;
    d->per_player_per_minute = 30;
    d->z_score = 4.5;
    d->writers = RUNG_WRITERS_PLAYER;
    return e;
}

static rung_event defined_snapshots_sample(void) {
    rung_event e = defined_sample();
    e.defined.def.snapshot_every_ms = 60000;
    e.defined.def.snapshot_top = 1000;
    e.defined.def.snapshot_keep = 60;
    return e;
}

static rung_event defined_decay_sample(void) {
    rung_event e = defined_sample();
    e.defined.def.key.columns[0].type = RUNG_SCORE_REAL;
    e.defined.def.update = RUNG_UPDATE_DECAY;
    e.defined.def.half_life_ms = 7 * INT64_C(86400000);
    e.defined.def.limits = RUNG_LIMIT_MAX;
    e.defined.def.max.d = 1e6;
    return e;
}

static rung_event deleted_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BOARD_DELETED);
    e.deleted.board = RUNG_SLICE("marathon");
    return e;
}

static rung_event removed_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_ENTRY_REMOVED);
    e.removed.board = RUNG_SLICE("marathon");
    e.removed.player = RUNG_SLICE("alice");
    return e;
}

static rung_event profile_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_PLAYER_SET);
    e.profile.player = RUNG_SLICE("alice");
    e.profile.count = 2;
    e.profile.attributes[0] = (rung_attribute){RUNG_SLICE("country"), RUNG_SLICE("FI")};
    e.profile.attributes[1] =
        (rung_attribute){RUNG_SLICE("name"), RUNG_SLICE("Alice \xf0\x9f\x8e\xae")};
    return e;
}

static rung_event profile_empty_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_PLAYER_SET);
    e.profile.player = RUNG_SLICE("alice");
    return e;
}

static rung_event erased_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_PLAYER_ERASED);
    e.erased.player = RUNG_SLICE("alice");
    return e;
}

static rung_event friend_added_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_FRIEND_ADDED);
    e.friend.player = RUNG_SLICE("alice");
    e.friend.other = RUNG_SLICE("bob");
    return e;
}

static rung_event friend_removed_sample(void) {
    rung_event e = friend_added_sample();
    e.kind = RUNG_EVENT_FRIEND_REMOVED;
    e.friend.follow = true;
    return e;
}

static rung_event friends_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_FRIENDS_REPLACED);
    e.friends.player = RUNG_SLICE("alice");
    e.friends.count = 2;
    e.friends.packed = RUNG_SLICE("\x03"
                                  "bob"
                                  "\x05"
                                  "carol");
    return e;
}

static rung_event friends_none_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_FRIENDS_REPLACED);
    e.friends.player = RUNG_SLICE("alice");
    e.friends.follow = true;
    return e;
}

static rung_event banned_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BANNED);
    e.ban.player = RUNG_SLICE("mallory");
    e.ban.reason = RUNG_SLICE("speed hack");
    return e;
}

static rung_event unbanned_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_UNBANNED);
    e.ban.player = RUNG_SLICE("mallory");
    return e;
}

static rung_event window_opened_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_WINDOW_OPENED);
    e.window.board = RUNG_SLICE("marathon");
    e.window.kind = RUNG_WINDOW_WEEK;
    e.window.ordinal = 2915;
    return e;
}

static rung_event window_closed_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_WINDOW_CLOSED);
    e.window.board = RUNG_SLICE("marathon");
    e.window.season = RUNG_SLICE("winter");
    return e;
}

static rung_event tick_sample(void) {
    return of_kind(RUNG_EVENT_TICK);
}

static rung_event score_key_sample(void) {
    rung_event e = score_bare_sample();
    e.score.value_count = 1;
    e.score.types[0] = RUNG_SCORE_REAL;
    e.score.values[0].d = 12.5;
    e.score.when = RUNG_SCORE_KEY | RUNG_IF_XX | RUNG_IF_GT;
    return e;
}

static rung_event score_source_sample(void) {
    rung_event e = score_sample();
    e.score.source = RUNG_SLICE("rung-game/plays/3");
    e.score.offset = 4711;
    return e;
}

static rung_event score_attested_sample(void) {
    rung_event e = score_sample();
    e.score.attested = (rung_attested){.has_duration = true,
                                       .duration_ms = 93500,
                                       .seed = RUNG_SLICE("8f14e45f"),
                                       .replay = RUNG_SLICE("sha256:2c26b46b")};
    return e;
}

static rung_event score_evidence_sample(void) {
    rung_event e = score_source_sample();
    e.score.attested.seed = RUNG_SLICE("7");
    return e;
}

static rung_event score_signed_sample(void) {
    rung_event e = score_sample();
    e.score.session = RUNG_SLICE("mh0Jv3nqSIm2o1pZbD4xWg");
    e.score.nonce = 300;
    e.score.signed_ms = e.ts_ms - 250;
    e.score.attested.seed = RUNG_SLICE("7");
    return e;
}

static rung_event session_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SESSION);
    e.session.id = RUNG_SLICE("mh0Jv3nqSIm2o1pZbD4xWg");
    e.session.player = RUNG_SLICE("ada");
    e.session.key = RUNG_SLICE("7k2m9q4xw3bt");
    e.session.expires_ms = e.ts_ms + 3600000;
    e.session.window_ms = 300000;
    return e;
}

static rung_event session_ended_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SESSION);
    e.session.is_ended = true;
    e.session.player = RUNG_SLICE("ada");
    return e;
}

/* One command of every kind, and of every kind of range. */
static rung_event keys_sample(void) {
    static const rung_zcommand_item ITEMS[] = {{{"ada", 3}, 12.5}, {{"bob", 3}, -HUGE_VAL}};
    static const rung_zcommand_item NAMES[] = {{{"ada", 3}, 0}, {{"bob", 3}, 0}};
    const rung_slice race = RUNG_SLICE("race"), other = RUNG_SLICE("other");
    const rung_range rank = {.by = RUNG_RANGE_RANK, .start = -3, .stop = 70};
    const rung_range score = {
        .by = RUNG_RANGE_SCORE, .min = -HUGE_VAL, .max = 0.5, .max_is_open = true};
    const rung_range lex = {.by = RUNG_RANGE_LEX,
                            .lex_min = {RUNG_LEX_OPEN, RUNG_SLICE("a\xff")},
                            .lex_max = {RUNG_LEX_HIGHEST, {NULL, 0}}};
    const rung_zcommand all[] = {
        {.kind = RUNG_ZCOMMAND_ZADD,
         .flags = RUNG_IF_NX,
         .key = race,
         .item_count = 2,
         .items = ITEMS},
        {.kind = RUNG_ZCOMMAND_ZADD,
         .flags = RUNG_IF_XX | RUNG_IF_LT | RUNG_ZCOMMAND_INCR,
         .key = race,
         .item_count = 1,
         .items = ITEMS},
        {.kind = RUNG_ZCOMMAND_ZREM, .key = race, .item_count = 2, .items = NAMES},
        {.kind = RUNG_ZCOMMAND_ZREMRANGE, .key = race, .range = rank},
        {.kind = RUNG_ZCOMMAND_ZREMRANGE, .key = race, .range = score},
        {.kind = RUNG_ZCOMMAND_ZREMRANGE, .key = race, .range = lex},
        {.kind = RUNG_ZCOMMAND_ZPOP,
         .flags = RUNG_ZCOMMAND_MAX,
         .pop_count = 300,
         .item_count = 2,
         .items = NAMES},
        {.kind = RUNG_ZCOMMAND_ZRANGESTORE,
         .flags = RUNG_ZCOMMAND_REV | RUNG_ZCOMMAND_LIMIT,
         .key = race,
         .other = other,
         .range = score,
         .offset = 2,
         .limit = -1},
        {.kind = RUNG_ZCOMMAND_ZSTORE,
         .key = race,
         .item_count = 2,
         .items = ITEMS,
         .combine = RUNG_KEYS_INTER,
         .aggregate = RUNG_AGGREGATE_MAX},
        {.kind = RUNG_ZCOMMAND_DEL, .item_count = 2, .items = NAMES},
        {.kind = RUNG_ZCOMMAND_EXPIRE, .flags = RUNG_IF_GT, .key = race, .at_ms = TS + 60000},
        {.kind = RUNG_ZCOMMAND_PERSIST, .key = race},
        {.kind = RUNG_ZCOMMAND_RENAME, .flags = RUNG_IF_NX, .key = race, .other = other},
        {.kind = RUNG_ZCOMMAND_FLUSH},
        {.kind = RUNG_ZCOMMAND_SADD, .key = race, .item_count = 2, .items = NAMES},
        {.kind = RUNG_ZCOMMAND_SREM, .key = race, .item_count = 1, .items = NAMES},
    };
    static char packed[1024];
    size_t used = 0;
    rung_event e = of_kind(RUNG_EVENT_KEYS);
    for (size_t i = 0; i < COUNT(all); i++) {
        size_t length = 0;
        CHECK_STATUS(
            rung_zcommand_encode(&all[i], packed + used, sizeof packed - used, &length, NULL),
            RUNG_OK);
        used += length;
    }
    e.keys.count = COUNT(all);
    e.keys.packed = rung_slice_of(packed, used);
    return e;
}

static rung_event ids_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_IDS_SET);
    e.ids.capacity = 1000000;
    e.ids.keep_ms = 86400000;
    return e;
}

static rung_event keys_admin_sample(void) {
    rung_event e = keys_sample();
    e.keys.is_admin = true;
    return e;
}

static rung_event rules_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_RULES_SET);
    e.rules.level = 1;
    return e;
}

static rung_event access_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_ACCESS_SET);
    e.access.has_keys = true;
    return e;
}

static void sign(rung_event *e) {
    e->has_actor = true;
    e->actor = (rung_actor){.key = RUNG_SLICE("k3Yid"),
                            .player = RUNG_SLICE("ada"),
                            .address = RUNG_SLICE("192.0.2.7:4711"),
                            .reason = RUNG_SLICE("it's \xc3\xa4 test")};
}

static rung_event deleted_by_sample(void) {
    rung_event e = deleted_sample();
    sign(&e);
    return e;
}

static rung_event defined_by_sample(void) {
    rung_event e = defined_sample();
    e.has_actor = true;
    e.actor = (rung_actor){.address = RUNG_SLICE("library")};
    return e;
}

static rung_event keys_by_sample(void) {
    rung_event e = keys_sample();
    sign(&e);
    return e;
}

static rung_event key_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_KEY_CHANGED);
    sign(&e);
    e.key.id = RUNG_SLICE("newKey");
    e.key.role = RUNG_SLICE("server");
    e.key.boards = RUNG_SLICE("race-*,weekly");
    e.key.expires_ms = 1763215260000;
    return e;
}

static rung_event key_revoked_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_KEY_CHANGED);
    e.has_actor = true;
    e.actor = (rung_actor){.address = RUNG_SLICE("file")};
    e.key.id = RUNG_SLICE("oldKey");
    e.key.role = RUNG_SLICE("admin");
    e.key.is_revoked = true;
    return e;
}

static rung_event filled_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BOARD_FILLED);
    e.filled.board = RUNG_SLICE("marathon");
    e.filled.job = 4711;
    e.filled.part = 2;
    e.filled.packed = RUNG_SLICE("\4\3ada\7");
    return e;
}

static rung_event swapped_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BOARD_SWAPPED);
    e.swapped.board = RUNG_SLICE("marathon");
    e.swapped.job = 4711;
    e.swapped.is_undo = true;
    return e;
}

static rung_event dropped_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_SHADOW_DROPPED);
    e.dropped.board = RUNG_SLICE("marathon");
    e.dropped.job = 4711;
    return e;
}

static rung_event reviewed_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_REVIEWED);
    e.reviewed.board = RUNG_SLICE("marathon");
    e.reviewed.player = RUNG_SLICE("ada");
    e.reviewed.id = UINT64_C(4711) << 14;
    e.reviewed.verdict = RUNG_VERDICT_PROMOTE;
    e.reviewed.reason = RUNG_SLICE("seen");
    return e;
}

static rung_event noted_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_NOTED);
    e.noted.player = RUNG_SLICE("ada");
    e.noted.note = RUNG_SLICE("asked support");
    return e;
}

static rung_event banned_until_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_BANNED);
    e.ban.player = RUNG_SLICE("ada");
    e.ban.reason = RUNG_SLICE("bot");
    e.ban.until_ms = INT64_C(1763301600000);
    return e;
}

static rung_event banned_shadow_sample(void) {
    rung_event e = banned_until_sample();
    e.ban.until_ms = 0;
    e.ban.is_shadow = true;
    return e;
}

static rung_event ban_ended_sample(void) {
    rung_event e = banned_until_sample();
    e.kind = RUNG_EVENT_UNBANNED;
    return e;
}

/* Two sides, the second of two players with a weight and a part played. */
static rung_slice match_players(void) {
    static uint8_t raw[256];
    rung_byte_writer w = rung_byte_writer_of(raw, sizeof raw);
    rung_match_entry entries[] = {
        {.player = RUNG_SLICE("ada"), .is_first = true, .place = 1, .weight = 1, .played = 1},
        {.player = RUNG_SLICE("bob"), .is_first = true, .place = 2, .weight = 2.5, .played = 1},
        {.player = RUNG_SLICE("eve"), .weight = 1, .played = 0.25}};
    for (int i = 0; i < 3; i++)
        CHECK(rung_match_put(&w, &entries[i]));
    return rung_slice_of(raw, rung_byte_writer_length(&w));
}

static rung_event match_sample(void) {
    rung_event e = of_kind(RUNG_EVENT_MATCH);
    e.match = (rung_match_event){
        .board = RUNG_SLICE("chess"), .player_count = 3, .packed = match_players()};
    return e;
}

static rung_event match_full_sample(void) {
    rung_event e = match_sample();
    e.match.has_at = true;
    e.match.at_ms = e.ts_ms - 5000;
    e.match.id = RUNG_SLICE("final-1");
    e.match.source = RUNG_SLICE("rung-games/games/3");
    e.match.offset = 4711;
    return e;
}

static rung_event defined_rating_sample(void) {
    rung_event e = defined_sample();
    e.defined.def.update = RUNG_UPDATE_ELO;
    rung_rating_params_init(&e.defined.def.rating, RUNG_RATING_ELO);
    e.defined.def.rating.elo.rule_count = 1;
    e.defined.def.rating.elo.rules[0] = (rung_elo_rule){30, -1e6, 2400, 40};
    return e;
}

static rung_event keys_sketch_sample(void) {
    static const rung_zcommand_item MAKE[] = {{{"memory", 6}, 65536}, {{"top", 3}, 10}};
    static const rung_zcommand_item ITEMS[] = {{{"ada", 3}, 2}, {{"bob", 3}, 1}};
    const rung_zcommand all[] = {
        {.kind = RUNG_ZCOMMAND_SKETCH,
         .flags = RUNG_SKETCH_COUNTS << RUNG_ZCOMMAND_SKETCH_SHIFT,
         .key = RUNG_SLICE("plays"),
         .item_count = 2,
         .items = MAKE},
        {.kind = RUNG_ZCOMMAND_SKETCH_ADD,
         .flags = RUNG_SKETCH_COUNTS << RUNG_ZCOMMAND_SKETCH_SHIFT | RUNG_ZCOMMAND_LEAVERS,
         .key = RUNG_SLICE("plays"),
         .item_count = 2,
         .items = ITEMS},
        {.kind = RUNG_ZCOMMAND_SKETCH,
         .flags = RUNG_SKETCH_DISTINCT << RUNG_ZCOMMAND_SKETCH_SHIFT | RUNG_ZCOMMAND_MERGE,
         .key = RUNG_SLICE("people"),
         .item_count = 2,
         .items = ITEMS}};
    static uint8_t packed[256];
    size_t used = 0, length;
    for (size_t i = 0; i < COUNT(all); i++) {
        CHECK_OK(rung_zcommand_encode(&all[i], packed + used, sizeof packed - used, &length, NULL));
        used += length;
    }
    rung_event e = of_kind(RUNG_EVENT_KEYS);
    e.keys.count = COUNT(all);
    e.keys.packed = rung_slice_of(packed, used);
    return e;
}

static rung_event defined_sketch_sample(void) {
    rung_event e = defined_sample();
    e.defined.def.update = RUNG_UPDATE_SUM;
    e.defined.def.sketch = RUNG_SKETCH_COUNTS;
    e.defined.def.sketch_memory = 1 << 20;
    e.defined.def.sketch_top = 50;
    e.defined.def.sketch_error = 0.001;
    return e;
}

static const struct {
    const char *name;
    rung_event (*make)(void);
} SAMPLES[] = {
    {"board-defined", defined_sample},
    {"board-defined-full", defined_full_sample},
    {"board-defined-decay", defined_decay_sample},
    {"board-defined-rating", defined_rating_sample},
    {"board-defined-snapshots", defined_snapshots_sample},
    {"board-defined-sketch", defined_sketch_sample},
    {"keys-sketch", keys_sketch_sample},
    {"match", match_sample},
    {"match-full", match_full_sample},
    {"board-deleted", deleted_sample},
    {"score", score_sample},
    {"score-full", score_full_sample},
    {"score-bare", score_bare_sample},
    {"score-edges", score_edges_sample},
    {"entry-removed", removed_sample},
    {"player-set", profile_sample},
    {"player-set-empty", profile_empty_sample},
    {"player-erased", erased_sample},
    {"friend-added", friend_added_sample},
    {"friend-removed", friend_removed_sample},
    {"friends-replaced", friends_sample},
    {"friends-replaced-none", friends_none_sample},
    {"banned", banned_sample},
    {"unbanned", unbanned_sample},
    {"window-opened", window_opened_sample},
    {"window-closed", window_closed_sample},
    {"tick", tick_sample},
    {"score-key", score_key_sample},
    {"keys", keys_sample},
    {"ids-set", ids_sample},
    {"keys-admin", keys_admin_sample},
    {"rules-set", rules_sample},
    {"access-set", access_sample},
    {"score-source", score_source_sample},
    {"score-attested", score_attested_sample},
    {"score-evidence", score_evidence_sample},
    {"board-deleted-by", deleted_by_sample},
    {"board-defined-by", defined_by_sample},
    {"keys-by", keys_by_sample},
    {"key-changed", key_sample},
    {"key-revoked", key_revoked_sample},
    {"board-filled", filled_sample},
    {"board-swapped", swapped_sample},
    {"shadow-dropped", dropped_sample},
    {"score-signed", score_signed_sample},
    {"session", session_sample},
    {"session-ended", session_ended_sample},
    {"reviewed", reviewed_sample},
    {"noted", noted_sample},
    {"banned-until", banned_until_sample},
    {"ban-ended", ban_ended_sample},
    {"banned-shadow", banned_shadow_sample},
};

/* ---- helpers --------------------------------------------------------------------------------------------- */

static size_t encode(const rung_event *event) {
    size_t length = 0;
    CHECK_OK(rung_event_encode(event, bytes, sizeof bytes, &length));
    return length;
}

/* Refused, or the bytes are the only ones for what they say. */
static rung_status check_spelling(const uint8_t *p, size_t len) {
    static rung_event event;
    size_t length = 0;
    rung_status st = rung_event_decode(rung_slice_of(p, len), &event, NULL);
    CHECK(st == RUNG_OK || st == RUNG_EINVAL || st == RUNG_ECORRUPT || st == RUNG_EVERSION ||
          st == RUNG_ELIMIT);
    if (st != RUNG_OK)
        return st;
    CHECK_OK(rung_event_check(&event, NULL));
    CHECK_OK(rung_event_encode(&event, again, sizeof again, &length));
    CHECK_EQ_U64(length, len);
    CHECK_EQ_MEM(again, p, len);
    return st;
}

static void check_same(const rung_event *a, const rung_event *b) {
    char *x = event_text(a), *y = event_text(b);
    CHECK_EQ_STR(x, y);
    free(x);
    free(y);
}

/* ---- rules ----------------------------------------------------------------------------------------------- */

static void check_refused(int line, const rung_event *event, rung_status want, const char *blame) {
    rung_err err = {0};
    size_t length = 77;
    test_status(__FILE__, line, blame, rung_event_check(event, &err), want);
    if (strncmp(err.message, blame, strlen(blame)) != 0)
        test_fail(__FILE__, line, "the message is \"%s\", expected \"%s...\"", err.message, blame);
    test_status(__FILE__, line, "encode", rung_event_encode(event, bytes, sizeof bytes, &length),
                want);
    test_eq_u64(__FILE__, line, "length", "77", length, 77);
}

static void check_accepted(int line, const rung_event *event) {
    rung_err err = {0};
    if (rung_event_check(event, &err) != RUNG_OK)
        test_fail(__FILE__, line, "refused: %s", err.message);
}

/* A sample, changed by the statements after the first arguments. */
#define REFUSED(blame, sample, ...)                                                                \
    do {                                                                                           \
        rung_event e = sample();                                                                   \
        __VA_ARGS__;                                                                               \
        check_refused(__LINE__, &e, RUNG_EINVAL, blame);                                           \
    } while (0)
#define ACCEPTED(sample, ...)                                                                      \
    do {                                                                                           \
        rung_event e = sample();                                                                   \
        __VA_ARGS__;                                                                               \
        check_accepted(__LINE__, &e);                                                              \
    } while (0)

/* `size` bytes of 'a'; the last of them `last`. */
static rung_slice text_of(size_t size, const char *last) {
    static char buffers[4][RUNG_EVENT_META_MAX + 8];
    static unsigned turn;
    char *text = buffers[turn++ % 4];
    memset(text, 'a', size);
    memcpy(text + size - strlen(last), last, strlen(last));
    return rung_slice_of(text, size);
}

TEST(samples_are_valid_and_of_every_kind) {
    unsigned kinds = 0;
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        rung_event e = SAMPLES[i].make();
        check_accepted(__LINE__, &e);
        kinds |= 1u << e.kind;
    }
    CHECK_EQ_U64(kinds, ((1u << (RUNG_EVENT_ACCESS_SET + 1)) - 2) | 31u << RUNG_EVENT_KEY_CHANGED |
                            1u << RUNG_EVENT_SESSION | 3u << RUNG_EVENT_REVIEWED);
}

TEST(who_did_it) {
    rung_event back, one = deleted_by_sample();
    size_t length = encode(&one);
    CHECK_EQ_U64(bytes[1], 20);
    CHECK_OK(rung_event_decode(rung_slice_of(bytes, length), &back, NULL));
    CHECK(back.has_actor && back.kind == RUNG_EVENT_BOARD_DELETED);
    CHECK(rung_slice_eq(back.actor.key, one.actor.key) &&
          rung_slice_eq(back.actor.player, one.actor.player) &&
          rung_slice_eq(back.actor.address, one.actor.address) &&
          rung_slice_eq(back.actor.reason, one.actor.reason));
    CHECK(rung_slice_eq(back.deleted.board, one.deleted.board));
    one = deleted_sample(); /* without one, as ever */
    length = encode(&one);
    CHECK_EQ_U64(bytes[1], RUNG_EVENT_BOARD_DELETED);
    CHECK_OK(rung_event_decode(rung_slice_of(bytes, length), &back, NULL));
    CHECK(!back.has_actor);
    ACCEPTED(deleted_by_sample, e.actor.key = text_of(RUNG_ACTOR_TEXT_MAX, "a"));
    REFUSED("actor.key: ", deleted_by_sample, e.actor.key = text_of(RUNG_ACTOR_TEXT_MAX + 1, "a"));
    REFUSED("actor.key: ", deleted_by_sample, e.actor.key = RUNG_SLICE("a\n"));
    REFUSED("actor.player: ", deleted_by_sample, e.actor.player = text_of(RUNG_NAME_MAX + 1, "a"));
    ACCEPTED(deleted_by_sample, e.actor.address = text_of(RUNG_ACTOR_ADDRESS_MAX, "a"));
    REFUSED("actor.address: ", deleted_by_sample,
            e.actor.address = text_of(RUNG_ACTOR_ADDRESS_MAX + 1, "a"));
    ACCEPTED(deleted_by_sample, e.actor.reason = text_of(RUNG_REASON_MAX, "\n"));
    REFUSED("reason: ", deleted_by_sample, e.actor.reason = text_of(RUNG_REASON_MAX + 1, "a"));
    ACCEPTED(deleted_by_sample, e.actor = (rung_actor){0});
    /* Not of scores, which are too many. */
    one = score_sample();
    one.has_actor = true;
    one.actor = (rung_actor){0};
    CHECK_STATUS(rung_event_check(&one, NULL), RUNG_EINVAL);
    /* An actor within an actor, or of a score: written by nobody yet. */
    static const uint8_t twice[] = {1, 20, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 2, 1, 'b'};
    CHECK(rung_event_decode(rung_slice_of(twice, sizeof twice), &back, NULL) < 0);
    static const uint8_t score[] = {1, 20, 0, 0, 0, 0, 0, 3, 0, 1, 'b', 1, 'p'};
    CHECK_STATUS(rung_event_decode(rung_slice_of(score, sizeof score), &back, NULL), RUNG_EVERSION);
}

TEST(keys_of_the_server) {
    REFUSED("actor: ", key_sample, e.has_actor = false);
    REFUSED("key: ", key_sample, e.key.id = (rung_slice){0});
    REFUSED("role: ", key_sample, e.key.role = (rung_slice){0});
    REFUSED("boards: ", key_sample, e.key.boards = text_of(RUNG_KEY_BOARDS_MAX + 1, "a"));
    ACCEPTED(key_sample, e.key.boards = (rung_slice){0});
    REFUSED("expires: ", key_sample, e.key.expires_ms = -1);
    ACCEPTED(key_sample, e.key.expires_ms = 0);
}

TEST(memory_for_ids) {
    REFUSED("capacity: ", ids_sample, e.ids.capacity = 0);
    ACCEPTED(ids_sample, e.ids.capacity = 1);
    ACCEPTED(ids_sample, e.ids.capacity = UINT32_MAX);
    REFUSED("keep: ", ids_sample, e.ids.keep_ms = 0);
    REFUSED("keep: ", ids_sample, e.ids.keep_ms = -1);
    REFUSED("keep: ", ids_sample, e.ids.keep_ms = RUNG_IDS_KEEP_MS_MAX + 1);
    ACCEPTED(ids_sample, e.ids.keep_ms = RUNG_IDS_KEEP_MS_MAX);
}

TEST(level_of_rules) {
    rung_event newer = rules_sample();
    rung_err err;
    uint8_t raw[32];
    size_t length;
    REFUSED("level: ", rules_sample, e.rules.level = 0);
    ACCEPTED(rules_sample, e.rules.level = RUNG_RULES_LEVEL);
    CHECK_STATUS(rung_event_encode(&newer, raw, sizeof raw, &length), RUNG_OK);
    raw[length - 1] = RUNG_RULES_LEVEL + 1; /* by a newer program */
    CHECK_STATUS(rung_event_decode(rung_slice_of(raw, length), &newer, &err), RUNG_EVERSION);
    CHECK(strncmp(err.message, "level: ", 7) == 0);
}

TEST(jobs_of_shadows) {
    REFUSED("job: ", filled_sample, e.filled.job = 0);
    REFUSED("job: ", swapped_sample, e.swapped.job = 0);
    REFUSED("job: ", dropped_sample, e.dropped.job = 0);
    REFUSED("id: ", reviewed_sample, e.reviewed.id = 0);
    REFUSED("verdict: ", reviewed_sample, e.reviewed.verdict = (rung_review_verdict)3);
    REFUSED("board: ", reviewed_sample, e.reviewed.board.len = 0);
    REFUSED("note: ", noted_sample, e.noted.note.len = 0);
    REFUSED("note: ", noted_sample, e.noted.note = text_of(RUNG_NOTE_MAX + 1, "a"));
    REFUSED("until: ", banned_until_sample, e.ban.until_ms = INT64_MAX);
    REFUSED("board: ", filled_sample, e.filled.board.len = 0);
    ACCEPTED(filled_sample, e.filled.packed.len = 0);
}

TEST(kind_and_time_of_every_event) {
    REFUSED("kind: ", tick_sample, e.kind = (rung_event_kind)0);
    REFUSED("kind: ", tick_sample, e.kind = (rung_event_kind)(RUNG_EVENT_ACCESS_SET + 1));
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        REFUSED("ts: ", SAMPLES[i].make, e.ts_ms = RUNG_TIME_MS_MIN - 1);
        REFUSED("ts: ", SAMPLES[i].make, e.ts_ms = RUNG_TIME_MS_END);
        ACCEPTED(SAMPLES[i].make, e.ts_ms = RUNG_TIME_MS_MIN);
        ACCEPTED(SAMPLES[i].make, e.ts_ms = RUNG_TIME_MS_END - 1);
    }
}

TEST(names_of_boards_and_players) {
    REFUSED("board: ", defined_sample, e.defined.board = NONE);
    REFUSED("board: ", deleted_sample, e.deleted.board = RUNG_SLICE("a\tb"));
    REFUSED("board: ", score_sample, e.score.board = NONE);
    REFUSED("player: ", score_sample, e.score.player = text_of(RUNG_NAME_MAX + 1, ""));
    REFUSED("board: ", removed_sample, e.removed.board = text_of(RUNG_NAME_MAX + 1, ""));
    REFUSED("player: ", removed_sample, e.removed.player = NONE);
    REFUSED("player: ", profile_sample, e.profile.player = RUNG_SLICE("\xc0\x80"));
    REFUSED("player: ", erased_sample, e.erased.player = NONE);
    REFUSED("player: ", friend_added_sample, e.friend.player = NONE);
    REFUSED("friend: ", friend_added_sample, e.friend.other = NONE);
    REFUSED("player: ", friends_sample, e.friends.player = NONE);
    REFUSED("player: ", banned_sample, e.ban.player = NONE);
    REFUSED("board: ", window_opened_sample, e.window.board = NONE);
    ACCEPTED(score_sample, e.score.player = text_of(RUNG_NAME_MAX, "\xc3\xa4"));
}

TEST(definitions_are_checked) {
    REFUSED("keep: ", defined_sample, e.defined.def.keep = RUNG_KEEP_MAX + 1);
}

TEST(scores) {
    ACCEPTED(score_full_sample, e.score.id = text_of(RUNG_EVENT_ID_MAX, ""));
    ACCEPTED(score_full_sample, e.score.meta = text_of(RUNG_EVENT_META_MAX, ""));
    ACCEPTED(score_sample, e.score.types[0] = RUNG_SCORE_REAL, e.score.values[0].d = HUGE_VAL);
    ACCEPTED(score_sample, e.score.types[0] = RUNG_SCORE_DECIMAL, e.score.decimals[0] = 9);
    ACCEPTED(score_sample, e.score.types[1] = 9,
             e.score.decimals[2] = 99); /* past the last value */
    ACCEPTED(score_sample, e.score.has_at = false, e.score.at_ms = INT64_MAX); /* not looked at */
    REFUSED("columns: ", score_sample, e.score.value_count = 4);
    REFUSED("score: integer", score_sample, e.score.types[0] = 3);
    REFUSED("columns[0]: integer", score_full_sample, e.score.types[1] = 255);
    REFUSED("columns[1]: integer", score_full_sample, e.score.types[2] = 3);
    REFUSED("score: up to", score_sample, e.score.decimals[0] = 1);
    REFUSED("columns[0]: up to", score_full_sample, e.score.decimals[1] = 10);
    REFUSED("columns[1]: a number", score_full_sample, e.score.values[2].d = NOT_A_NUMBER);
    REFUSED("at: ", score_sample, e.score.at_ms = RUNG_TIME_MS_MIN - 1);
    REFUSED("at: ", score_sample, e.score.at_ms = RUNG_TIME_MS_END);
    REFUSED("id: ", score_sample, e.score.id = text_of(RUNG_EVENT_ID_MAX + 1, ""));
    REFUSED("id: ", score_sample, e.score.id = RUNG_SLICE("a\nb"));
    REFUSED("id: ", score_sample, e.score.id = RUNG_SLICE("\xff"));
    REFUSED("meta: ", score_sample, e.score.meta = text_of(RUNG_EVENT_META_MAX + 1, ""));
    REFUSED("meta: ", score_sample, e.score.meta = RUNG_SLICE("a\0b"));
    REFUSED("meta: ", score_sample, e.score.meta = RUNG_SLICE("\xe2\x82"));
}

TEST(profiles) {
    ACCEPTED(profile_sample, e.profile.attributes[0].value = text_of(RUNG_ATTRIBUTE_VALUE_MAX, ""));
    ACCEPTED(profile_sample, e.profile.attributes[1].name = RUNG_SLICE("country2"));
    REFUSED("attributes: ", profile_sample, e.profile.count = RUNG_ATTRIBUTES_MAX + 1);
    REFUSED("attributes[0].name: 1", profile_sample, e.profile.attributes[0].name = NONE);
    REFUSED("attributes[1].name: 1", profile_sample,
            e.profile.attributes[1].name = RUNG_SLICE("sp ace"));
    REFUSED("attributes[1].name: names", profile_sample,
            e.profile.attributes[1].name = RUNG_SLICE("country"));
    REFUSED("attributes[1].name: names", profile_sample,
            e.profile.attributes[1].name = RUNG_SLICE("count"));
    REFUSED("attributes[0].value: ", profile_sample, e.profile.attributes[0].value = NONE);
    REFUSED("attributes[1].value: ", profile_sample,
            e.profile.attributes[1].value = RUNG_SLICE("a\nb"));
    REFUSED("attributes[0].value: ", profile_sample,
            e.profile.attributes[0].value = text_of(RUNG_ATTRIBUTE_VALUE_MAX + 1, ""));
}

static void pack(rung_event *e, uint32_t count, size_t name_size) {
    static char packed[RUNG_FRIENDS_MAX * (RUNG_NAME_MAX + 1)];
    memset(packed, 'f', sizeof packed);
    for (uint32_t i = 0; i < count && i < RUNG_FRIENDS_MAX; i++)
        packed[i * (name_size + 1)] = (char)name_size;
    e->friends.count = count;
    e->friends.packed = rung_slice_of(packed, count * (name_size + 1));
}

TEST(friends) {
    REFUSED("friend: must differ", friend_added_sample, e.friend.other = RUNG_SLICE("alice"));
    ACCEPTED(friends_sample, pack(&e, RUNG_FRIENDS_MAX, 51));
    ACCEPTED(friends_sample, pack(&e, 4000, RUNG_NAME_MAX));
    REFUSED("friends: at most", friends_sample, e.friends.count = RUNG_FRIENDS_MAX + 1);
    REFUSED("friends: 3 names", friends_sample, e.friends.count = 3);
    REFUSED("friends: 1 names", friends_sample, e.friends.count = 1);
    REFUSED("friends: 2 names", friends_sample, e.friends.packed.len--);
    REFUSED("friends: 1 names", friends_sample, e.friends.count = 1,
            e.friends.packed = RUNG_SLICE("\0"));
    REFUSED("friends[0]: 1 to", friends_sample, pack(&e, 1, RUNG_NAME_MAX),
            e.friends.packed = RUNG_SLICE("\x01\n"));
    REFUSED("friends[1]: must differ", friends_sample, e.friends.count = 2,
            e.friends.packed = RUNG_SLICE("\x03"
                                          "bob"
                                          "\x05"
                                          "alice"));
    rung_event e = friends_sample();
    pack(&e, RUNG_FRIENDS_MAX, RUNG_NAME_MAX);
    check_refused(__LINE__, &e, RUNG_ELIMIT, "friends: ");
}

TEST(the_largest_events_fit) {
    rung_event e = friends_sample();
    e.friends.player = text_of(RUNG_NAME_MAX, "");
    pack(&e, RUNG_FRIENDS_BYTES_MAX / (RUNG_NAME_MAX + 1), RUNG_NAME_MAX);
    check_accepted(__LINE__, &e);
    size_t length = encode(&e);
    CHECK_OK(check_spelling(bytes, length));
    CHECK(RUNG_EVENT_BYTES_MAX >= RUNG_BOARD_DEF_BYTES_MAX + 256);
}

TEST(stepping_through_packed_names) {
    rung_slice rest = RUNG_SLICE("\x03"
                                 "bob"
                                 "\x05"
                                 "carol"),
               name = NONE;
    CHECK(rung_names_next(&rest, &name));
    CHECK(rung_slice_eq(name, RUNG_SLICE("bob")));
    CHECK(rung_names_next(&rest, &name));
    CHECK(rung_slice_eq(name, RUNG_SLICE("carol")));
    CHECK(!rung_names_next(&rest, &name));
    CHECK_EQ_U64(rest.len, 0);
    rest = RUNG_SLICE("\x04"
                      "bob");
    CHECK(!rung_names_next(&rest, &name));
    CHECK_EQ_U64(rest.len, 4);
    rest = RUNG_SLICE("\x80");
    CHECK(!rung_names_next(&rest, &name));
}

TEST(bans) {
    ACCEPTED(banned_sample, e.ban.reason = text_of(RUNG_REASON_MAX, "\n"));
    REFUSED("reason: ", banned_sample, e.ban.reason = text_of(RUNG_REASON_MAX + 1, ""));
    REFUSED("reason: ", unbanned_sample, e.ban.reason = RUNG_SLICE("\x80"));
}

TEST(windows) {
    ACCEPTED(window_opened_sample, e.window.ordinal = -3652);
    REFUSED("window: ", window_opened_sample, e.window.kind = 6);
    REFUSED("window.ordinal: in", window_opened_sample, e.window.ordinal = 418986);
    REFUSED("window.ordinal: in", window_opened_sample, e.window.ordinal = INT64_MIN);
    REFUSED("window.season: only", window_opened_sample, e.window.season = RUNG_SLICE("winter"));
    REFUSED("window.season: 1", window_closed_sample, e.window.season = NONE);
    REFUSED("window.ordinal: a season", window_closed_sample, e.window.ordinal = 1);
}

TEST(conditions_of_a_key) {
    ACCEPTED(score_key_sample, e.score.when = RUNG_SCORE_KEY);
    ACCEPTED(score_key_sample, e.score.when = RUNG_SCORE_KEY | RUNG_IF_NX);
    REFUSED("when: ", score_key_sample, e.score.when = RUNG_IF_NX);
    REFUSED("when: ", score_key_sample, e.score.when = 32 | RUNG_SCORE_KEY);
    REFUSED("when: ", score_key_sample, e.score.when = RUNG_SCORE_KEY | RUNG_IF_NX | RUNG_IF_GT);
    REFUSED("when: ", score_key_sample, e.score.when = RUNG_SCORE_KEY | RUNG_IF_LT | RUNG_IF_GT);
}

TEST(sources) {
    ACCEPTED(score_source_sample, e.score.source = text_of(RUNG_NAME_MAX, "a"));
    ACCEPTED(score_source_sample, e.score.offset = RUNG_SOURCE_OFFSET_MAX);
    ACCEPTED(score_source_sample, e.score.offset = 0);
    REFUSED("source: ", score_source_sample, e.score.source = text_of(RUNG_NAME_MAX + 1, "a"));
    REFUSED("source: ", score_source_sample, e.score.source = text_of(3, "\n"));
    REFUSED("offset: ", score_source_sample, e.score.offset = (uint64_t)RUNG_SOURCE_OFFSET_MAX + 1);
}

TEST(attested) {
    ACCEPTED(score_attested_sample, e.score.attested.duration_ms = 0);
    ACCEPTED(score_attested_sample, e.score.attested.duration_ms = RUNG_ATTESTED_DURATION_MAX);
    ACCEPTED(score_attested_sample, e.score.attested.seed = text_of(RUNG_ATTESTED_SEED_MAX, "a"));
    ACCEPTED(score_attested_sample,
             e.score.attested.replay = text_of(RUNG_ATTESTED_REPLAY_MAX, "a"));
    REFUSED("attested.duration_ms: ", score_attested_sample, e.score.attested.duration_ms = -1);
    REFUSED("attested.duration_ms: ", score_attested_sample,
            e.score.attested.duration_ms = RUNG_ATTESTED_DURATION_MAX + 1);
    REFUSED("attested.seed: ", score_attested_sample,
            e.score.attested.seed = text_of(RUNG_ATTESTED_SEED_MAX + 1, "a"));
    REFUSED("attested.seed: ", score_attested_sample, e.score.attested.seed = text_of(3, "\n"));
    REFUSED("attested.replay: ", score_attested_sample,
            e.score.attested.replay = text_of(RUNG_ATTESTED_REPLAY_MAX + 1, "a"));
}

static void check_command(int line, const rung_zcommand *c, const char *start) {
    char out[256];
    size_t length;
    rung_err err = {.message = ""};
    rung_status st = rung_zcommand_encode(c, out, sizeof out, &length, &err);
    if (!start)
        CHECK_MSG(st == RUNG_OK, "line %d: %s", line, err.message);
    else
        CHECK_MSG(st == RUNG_EINVAL && strncmp(err.message, start, strlen(start)) == 0,
                  "line %d: status %d, %s", line, st, err.message);
}

#define COMMAND(start, ...) check_command(__LINE__, &(rung_zcommand){__VA_ARGS__}, start)

TEST(what_a_command_may_say) {
    static const rung_zcommand_item one[] = {{{"ada", 3}, 1}, {{"bob", 3}, 2}},
                                    bad[] = {{{"a\x01", 2}, 1}}, nan[] = {{{"a", 1}, (double)NAN}};
    const rung_slice k = RUNG_SLICE("k");
    COMMAND(NULL, .kind = RUNG_ZCOMMAND_ZADD, .key = k, .item_count = 2, .items = one);
    COMMAND("command: ", .kind = (rung_zcommand_kind)0);
    COMMAND("command: ", .kind = (rung_zcommand_kind)16);
    COMMAND("key: ", .kind = RUNG_ZCOMMAND_ZADD, .item_count = 1, .items = one);
    COMMAND("items: ", .kind = RUNG_ZCOMMAND_ZADD, .key = k);
    COMMAND("name: ", .kind = RUNG_ZCOMMAND_ZADD, .key = k, .item_count = 1, .items = bad);
    COMMAND("number: ", .kind = RUNG_ZCOMMAND_ZADD, .key = k, .item_count = 1, .items = nan);
    COMMAND("flags: ", .kind = RUNG_ZCOMMAND_ZADD, .key = k, .item_count = 1, .items = one,
            .flags = RUNG_IF_NX | RUNG_IF_XX);
    COMMAND("flags: ", .kind = RUNG_ZCOMMAND_ZADD, .key = k, .item_count = 2, .items = one,
            .flags = RUNG_ZCOMMAND_INCR);
    COMMAND("flags: ", .kind = RUNG_ZCOMMAND_ZREM, .key = k, .item_count = 1, .items = one,
            .flags = 1);
    COMMAND("flags: ", .kind = RUNG_ZCOMMAND_ZRANGESTORE, .key = k, .other = k,
            .flags = RUNG_ZCOMMAND_LIMIT);
    COMMAND("range: ", .kind = RUNG_ZCOMMAND_ZREMRANGE, .key = k,
            .range = {.by = RUNG_RANGE_SCORE, .min = (double)NAN});
    COMMAND("range: ", .kind = RUNG_ZCOMMAND_ZREMRANGE, .key = k,
            .range = {.by = RUNG_RANGE_LEX, .lex_min = {RUNG_LEX_LOWEST, k}});
    COMMAND("combine: ", .kind = RUNG_ZCOMMAND_ZSTORE, .key = k, .item_count = 1, .items = one,
            .combine = RUNG_KEYS_DIFF, .aggregate = RUNG_AGGREGATE_MIN);
    rung_event e = keys_sample();
    e.keys.count++;
    CHECK_STATUS(rung_event_check(&e, NULL), RUNG_EINVAL);
    e.keys = (__typeof__(e.keys)){0};
    CHECK_STATUS(rung_event_check(&e, NULL), RUNG_EINVAL);
}

TEST(kinds_have_names) {
    for (int kind = RUNG_EVENT_BOARD_DEFINED; kind <= RUNG_EVENT_NOTED; kind++)
        CHECK(kind == 19 || kind == 25 || kind == 26 ||
              strcmp(rung_event_kind_name((rung_event_kind)kind), "unknown") != 0);
    CHECK_EQ_STR(rung_event_kind_name(RUNG_EVENT_SCORE), "score");
    CHECK_EQ_STR(rung_event_kind_name((rung_event_kind)99), "unknown");
}

/* ---- bytes ----------------------------------------------------------------------------------------------- */

TEST(random_events_come_back) {
    static rung_event event, back;
    event_gen_init(&gen, test_seed(1));
    for (uint64_t n = test_steps(20000); n; n--) {
        event_gen_any(&gen, &event);
        check_accepted(__LINE__, &event);
        size_t length = encode(&event);
        memset(&back, 0xee, sizeof back); /* nothing may be left of what was there before */
        CHECK_OK(rung_event_decode(rung_slice_of(bytes, length), &back, NULL));
        check_same(&event, &back);
        memset(&back, 0xee, sizeof back);
        CHECK_OK(rung_event_decode_own(rung_slice_of(bytes, length), &back, NULL));
        check_same(&event, &back);
        CHECK_OK(check_spelling(bytes, length));
    }
}

TEST(random_events_of_few_names_come_back) {
    static rung_event event, back;
    event_gen_init(&gen, test_seed(3));
    gen.board_count = 3;
    gen.player_count = 20;
    for (uint64_t n = test_steps(5000); n; n--) {
        event_gen_any(&gen, &event);
        size_t length = encode(&event);
        CHECK_OK(rung_event_decode(rung_slice_of(bytes, length), &back, NULL));
        check_same(&event, &back);
    }
}

/* All prefixes, all single bits, one byte more. */
static void check_damage(const rung_event *event) {
    size_t length = encode(event);
    for (size_t i = 0; i < length; i++)
        CHECK(check_spelling(bytes, i) != RUNG_OK);
    for (size_t i = 0; i < 8 * length; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        check_spelling(bytes, length);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (unsigned byte = 0; byte < 256; byte += 15) {
        bytes[length] = (uint8_t)byte;
        CHECK(check_spelling(bytes, length + 1) != RUNG_OK);
    }
}

TEST(a_cut_or_a_flipped_bit_never_passes_unseen) {
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        rung_event e = SAMPLES[i].make();
        check_damage(&e);
    }
    static rung_event event;
    event_gen_init(&gen, test_seed(2));
    for (uint64_t n = test_steps(200); n; n--) {
        do
            event_gen_any(&gen, &event);
        while (encode(&event) > 400);
        check_damage(&event);
    }
}

/* Bytes that a careless decoder would take: the same meaning, spelled otherwise. */
TEST(other_spellings_are_refused) {
    static const struct {
        const char *what;
        const char *hex;
    } CASES[] = {
        {"a time in more bytes than it needs", "010e8000"},
        {"a time beyond 64 bits", "010effffffffffffffffff7f"},
        {"a time of eleven bytes", "010effffffffffffffffffff01"},
        {"a length in more bytes than it needs", "010200"
                                                 "810062"},
        {"an unknown flag", "010300"
                            "40"
                            "0162"
                            "0170"},
        {"an announced id that is empty", "010300"
                                          "10"
                                          "0162"
                                          "0170"
                                          "00"},
        {"an announced meta that is empty", "010300"
                                            "20"
                                            "0162"
                                            "0170"
                                            "00"},
        {"an unknown bit of a value", "010300"
                                      "01"
                                      "0162"
                                      "0170"
                                      "04"
                                      "02"},
        {"a follow that is neither", "010700"
                                     "02"
                                     "0161"
                                     "0162"},
        {"a text longer than all there is", "010200"
                                            "ffffffffffffffffff01"
                                            "62"},
        {"a time past the ends of time", "010300"
                                         "08"
                                         "0162"
                                         "0170"
                                         "ffffffffffffffffff01"},
        {"a tick with more", "010e0000"},
        {"nothing", ""},
        {"half a head", "01"},
        {"a head without a time", "010e"},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        size_t len = strlen(CASES[i].hex) / 2;
        for (size_t k = 0; k < len; k++) {
            char digits[3] = {CASES[i].hex[2 * k], CASES[i].hex[2 * k + 1], 0};
            bytes[k] = (uint8_t)strtoul(digits, NULL, 16);
        }
        rung_status st = check_spelling(bytes, len);
        CHECK_MSG(st == RUNG_ECORRUPT || st == RUNG_EINVAL, "%s: status %d", CASES[i].what, st);
    }
}

TEST(unknown_versions_and_kinds_are_told_apart_from_damage) {
    rung_event e = tick_sample(), back;
    size_t length = encode(&e);
    bytes[0] = 2;
    CHECK_STATUS(rung_event_decode(rung_slice_of(bytes, length), &back, NULL), RUNG_EVERSION);
    bytes[0] = 1;
    bytes[1] = 99;
    CHECK_STATUS(rung_event_decode(rung_slice_of(bytes, length), &back, NULL), RUNG_EVERSION);
    e = defined_sample();
    length = encode(&e);
    size_t def_at = 2 + 6 + 1 + e.defined.board.len;
    CHECK_EQ_U64(bytes[def_at], 1);
    bytes[def_at] = 31;
    CHECK_STATUS(rung_event_decode(rung_slice_of(bytes, length), &back, NULL), RUNG_EVERSION);
}

TEST(a_failed_decode_leaves_the_result_alone) {
    static rung_event event, untouched;
    memset(&event, 0x5a, sizeof event);
    memset(&untouched, 0x5a, sizeof untouched);
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        rung_event e = SAMPLES[i].make();
        size_t length = encode(&e);
        for (size_t k = 0; k < length; k++) {
            CHECK(rung_event_decode(rung_slice_of(bytes, k), &event, NULL) < 0);
            CHECK_EQ_MEM(&event, &untouched, sizeof event);
        }
    }
}

/* Our own bytes are not checked, but nothing beyond them is read: they stand at the end of their memory. What is valid
 * means the same in both ways. */
static void check_own_damaged(const uint8_t *damaged, size_t length) {
    static rung_event checked, own;
    uint8_t *copy = malloc(length ? length : 1);
    memcpy(copy, damaged, length);
    memset(&own, 0xee, sizeof own);
    rung_slice slice = rung_slice_of(copy, length);
    rung_status st = rung_event_decode_own(slice, &own, NULL);
    if (rung_event_decode(slice, &checked, NULL) == RUNG_OK) {
        CHECK_OK(st);
        check_same(&checked, &own);
    }
    free(copy);
}

TEST(scores_of_our_own) {
    static rung_event event;
    event_gen_init(&gen, test_seed(4));
    for (uint64_t n = test_steps(500); n; n--) {
        do
            event_gen_any(&gen, &event);
        while (event.kind != RUNG_EVENT_SCORE);
        if (n % 2) { /* the usual shape */
            event.score.id = event.score.meta = (rung_slice){NULL, 0};
            event.score.has_at = false;
            event.score.at_ms = 0;
            event.score.value_count = 1;
            event.score.types[0] = RUNG_SCORE_REAL;
            event.score.decimals[0] = 0;
            event.score.values[0].d = (double)n;
        }
        if (encode(&event) > 200)
            continue;
        size_t length = encode(&event);
        check_own_damaged(bytes, length);
        for (size_t i = 0; i < length; i++)
            CHECK(rung_event_decode_own(rung_slice_of(bytes, i), &event, NULL) < 0);
        for (size_t i = 0; i < length; i++)
            check_own_damaged(bytes, i);
        for (size_t i = 0; i < 8 * length; i++) {
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
            check_own_damaged(bytes, length);
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        }
        bytes[length] = 1;
        check_own_damaged(bytes, length + 1);
    }
}

TEST(a_small_buffer_is_told_what_it_takes) {
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        rung_event e = SAMPLES[i].make();
        size_t need = encode(&e), length;
        memcpy(again, bytes, need);
        for (size_t size = 0; size < need; size++) {
            memset(bytes, 0xee, need);
            CHECK_STATUS(rung_event_encode(&e, bytes, size, &length), RUNG_ELIMIT);
            CHECK_EQ_U64(length, need);
            for (size_t k = size; k < need; k++)
                CHECK_EQ_U64(bytes[k], 0xee);
        }
        CHECK_OK(rung_event_encode(&e, bytes, need, &length));
        CHECK_EQ_MEM(bytes, again, need);
    }
}

TEST(a_usual_score_is_small) {
    rung_event e = score_sample();
    CHECK_EQ_U64(encode(&e), 2 + 6 + 1 + 9 + 16 + 4 + 2);
}

/* ---- the golden file: "name hex text", one event a line; a line never changes or goes ---------------------- */

static FILE *open_golden(void) {
    const char *root = getenv("RUNG_SOURCE");
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/events-v1.txt", root ? root : ".");
    FILE *f = fopen(path, "r");
    CHECK_MSG(f, "cannot open %s (run from the root of the tree, or set RUNG_SOURCE)", path);
    return f;
}

/* Split the next line; false at the end of the file. */
static bool next_golden(FILE *f, char *line, size_t size, char **name, char **hex, char **text) {
    while (fgets(line, (int)size, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0)
            continue;
        *name = line;
        *hex = strchr(*name, ' ');
        CHECK(*hex);
        *(*hex)++ = 0;
        *text = strchr(*hex, ' ');
        CHECK(*text);
        *(*text)++ = 0;
        return true;
    }
    return false;
}

static void check_golden_line(const char *name, const char *hex, const char *text) {
    rung_event event;
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        CHECK(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (uint8_t)byte;
    }
    rung_err err = {0};
    if (rung_event_decode(rung_slice_of(bytes, len), &event, &err) != RUNG_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", name, err.message);
    char *got = event_text(&event);
    CHECK_EQ_STR(got, text);
    free(got);
    CHECK_OK(check_spelling(bytes, len));
}

TEST(golden_bytes_mean_what_they_always_meant) {
    static char line[65536];
    char *name, *hex, *text;
    unsigned count = 0;
    FILE *f = open_golden();
    for (; next_golden(f, line, sizeof line, &name, &hex, &text); count++)
        check_golden_line(name, hex, text);
    fclose(f);
    CHECK(count >= COUNT(SAMPLES));
}

/* A sample that is not in the file is printed as the line to add. */
TEST(samples_are_in_the_golden_file) {
    static char line[65536];
    char *name, *hex, *text;
    unsigned missing = 0;
    for (size_t i = 0; i < COUNT(SAMPLES); i++) {
        bool is_there = false;
        FILE *f = open_golden();
        while (next_golden(f, line, sizeof line, &name, &hex, &text))
            is_there |= strcmp(name, SAMPLES[i].name) == 0;
        fclose(f);
        if (is_there)
            continue;
        missing++;
        rung_event e = SAMPLES[i].make();
        size_t length = encode(&e);
        printf("%s ", SAMPLES[i].name);
        for (size_t k = 0; k < length; k++)
            printf("%02x", bytes[k]);
        char *described = event_text(&e);
        printf(" %s\n", described);
        fflush(stdout);
        free(described);
    }
    CHECK_EQ_U64(missing, 0);
}

RUNG_TEST_MAIN
