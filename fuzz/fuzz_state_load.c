/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a saved state. The digest written in them is ignored, or nothing by chance would ever get in; what does
 * must be sound, must save and load again to the same bytes, and must go on living whatever happens to it. */
#include "state/keyspace/keys.h"
#include "state/machine.h"
#include "support/check.h"
#include "support/state_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BOARDS = 4, PLAYERS = 6 };

static void apply(rung_state *s, const rung_event *e) {
    CHECK(rung_state_apply(s, e, NULL, NULL) != RUNG_ENOMEM);
}

static rung_slice player_name(const rung_state *s, uint32_t i) {
    rung_slice id = rung_names_id(s->players, i);
    return id.len ? id : RUNG_SLICE("nobody yet");
}

static void submit(rung_state *s, rung_slice board, const rung_board_def *def, uint32_t player,
                   int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = ts_ms};
    e.score.board = board;
    e.score.player = player_name(s, player);
    e.score.value_count = def->update == RUNG_UPDATE_COUNT ? 0 : def->key.column_count;
    for (uint32_t i = 0; i < e.score.value_count; i++) {
        e.score.types[i] = (uint8_t)def->key.columns[i].type;
        e.score.decimals[i] = (uint8_t)def->key.columns[i].decimals;
        if (def->key.columns[i].type == RUNG_SCORE_REAL)
            e.score.values[i].d = 1.5 * player;
        else
            e.score.values[i].i = player;
    }
    e.score.id = RUNG_SLICE("an id");
    apply(s, &e);
}

/* A bit of everything, to whoever is there. */
static void stir(rung_state *s) {
    int64_t now = rung_state_time(s), soon = rung_state_next_close(s);
    now = now < 0 || now > RUNG_TIME_MS_END / 2 ? 0 : now;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        rung_event set = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = now};
        set.profile.player = player_name(s, i);
        set.profile.count = i % 2;
        set.profile.attributes[0] = (rung_attribute){RUNG_SLICE("country"), RUNG_SLICE("FI")};
        rung_event unban = {
            .kind = RUNG_EVENT_UNBANNED, .ts_ms = now, .ban = {.player = player_name(s, i)}};
        rung_event ban = {
            .kind = RUNG_EVENT_BANNED, .ts_ms = now, .ban = {.player = player_name(s, i + 1)}};
        rung_event erase = {
            .kind = RUNG_EVENT_PLAYER_ERASED, .ts_ms = now, .erased = {player_name(s, i + 2)}};
        apply(s, &unban);
        apply(s, &set);
        for (uint32_t b = 0; b < BOARDS; b++) {
            rung_slice id;
            const rung_board_def *def;
            if (rung_state_board_at(s, b, &id, &def) == RUNG_OK)
                submit(s, id, def, i, now);
        }
        apply(s, &ban);
        if (i % 2)
            apply(s, &erase);
    }
    rung_event tick = {.kind = RUNG_EVENT_TICK,
                       .ts_ms = soon < RUNG_TIME_MS_END && soon > now ? soon : now};
    apply(s, &tick);
}

/* A command, if names that came by chance may be said at all. */
static void command(rung_state *s, const rung_zcommand *c, int64_t ts_ms) {
    static char packed[2048];
    size_t length;
    if (rung_zcommand_encode(c, packed, sizeof packed, &length, NULL) == RUNG_OK)
        apply(s, &(rung_event){.kind = RUNG_EVENT_KEYS,
                               .ts_ms = ts_ms,
                               .keys = {1, rung_slice_of(packed, length)}});
}

/* Commands of every kind to the keys that are there. */
static void stir_keys(rung_state *s) {
    rung_slice name, before = RUNG_SLICE("new");
    rung_zkey_kind kind;
    char kept[128];
    int64_t now = rung_state_time(s);
    uint64_t cursor = 0;
    now = now < 0 || now > RUNG_TIME_MS_END / 2 ? 0 : now;
    for (int i = 0; i < 8 && rung_zkeys_next(s, now, &cursor, &name, &kind); i++) {
        char own[128], last[128];
        rung_slice key = rung_slice_of(memcpy(own, name.ptr, name.len), name.len);
        rung_slice other = rung_slice_of(memcpy(last, before.ptr, before.len), before.len);
        const rung_zcommand_item players[] = {{player_name(s, 1), 2}, {player_name(s, 3), 1}},
                                 keys[] = {{key, 1}, {other, 2}},
                                 named[] = {{player_name(s, 2), 0}};
        command(s,
                &(rung_zcommand){
                    .kind = RUNG_ZCOMMAND_ZADD, .key = key, .item_count = 2, .items = players},
                now);
        command(s,
                &(rung_zcommand){
                    .kind = RUNG_ZCOMMAND_SADD, .key = key, .item_count = 1, .items = named},
                now);
        command(s, &(rung_zcommand){.kind = RUNG_ZCOMMAND_EXPIRE, .key = key, .at_ms = now + 5 - i},
                now);
        command(s,
                &(rung_zcommand){
                    .kind = RUNG_ZCOMMAND_ZSTORE, .key = other, .item_count = 2, .items = keys},
                now);
        command(s,
                &(rung_zcommand){
                    .kind = RUNG_ZCOMMAND_SREM, .key = key, .item_count = 1, .items = named},
                now);
        command(s,
                &(rung_zcommand){
                    .kind = RUNG_ZCOMMAND_ZPOP, .pop_count = 2, .item_count = 1, .items = keys + 1},
                now);
        if (i % 2)
            command(s, &(rung_zcommand){.kind = RUNG_ZCOMMAND_RENAME, .key = key, .other = other},
                    now + 4);
        before = rung_slice_of(memcpy(kept, own, key.len), key.len);
    }
}

static void look(const rung_state *s) {
    static rung_row rows[16];
    for (uint32_t b = 0; b < BOARDS; b++) {
        rung_slice id;
        const rung_board_def *def;
        rung_view v;
        if (rung_state_board_at(s, b, &id, &def) != RUNG_OK)
            continue;
        for (int teams = 0; teams < 2; teams++)
            if (rung_state_view(s, &(rung_query){.board = id, .teams = teams}, &v, NULL) == RUNG_OK)
                rung_view_top(&v, 0, 16, rows);
    }
}

static rung_state *load(const uint8_t *data, size_t size, bool any_digest) {
    rung_state *s = NULL;
    rung_err err;
    state_bytes b = {(uint8_t *)(uintptr_t)data, size, size};
    rung_status st = state_bytes_load(&b, &(rung_state_config){.alloc = rung_alloc_heap()}, 0,
                                      any_digest, &s, &err);
    CHECK((st == RUNG_OK) == (s != NULL) && st != RUNG_ENOMEM);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rung_state *s = load(data, size, true);
    if (!s)
        return 0;
    CHECK_SOUND(rung_state_check(s));
    state_bytes first = {0}, again = {0};
    state_bytes_save(&first, s);
    rung_state *copy = load(first.bytes, first.len, false);
    CHECK(copy);
    state_bytes_save(&again, copy);
    CHECK_EQ_U64(again.len, first.len);
    CHECK_EQ_MEM(again.bytes, first.bytes, first.len);
    look(s);
    stir(s);
    stir_keys(s);
    CHECK_SOUND(rung_state_check(s));
    stir(copy);
    stir_keys(copy);
    rung_digest a = rung_state_digest(s), b = rung_state_digest(copy);
    CHECK(a.a == b.a && a.b == b.b);
    look(s);
    rung_state_destroy(s);
    rung_state_destroy(copy);
    state_bytes_deinit(&first);
    state_bytes_deinit(&again);
    return 0;
}
