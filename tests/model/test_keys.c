/* SPDX-License-Identifier: Apache-2.0 */
/* Keys against a plain model: random programs of commands, submissions, bans and time; every result and, after each
 * step, every question about every key must be the same. Then the same events again: without anybody listening, in
 * batches, and across a save and a load in the middle.
 *
 * RUNG_SEED=n runs that program again; RUNG_STEPS: events per program. */
/* ctest: timeout=300 */
/* ctest: name=long timeout=900 labels=long env="RUNG_STEPS=10000" args="programs" */
#include "state/keyspace/keys.h"
#include "support/check.h"
#include "support/key_model.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <math.h>
#include <stdio.h>

#define START_MS INT64_C(1763215200000)

enum { BYTES_MAX = 4096, ROWS_MAX = 64 };

typedef struct run {
    rung_rng rng;
    uint64_t step;
    rung_state *s;
    key_model m;
    int64_t ts_ms;
    /* what was applied, to be applied again */
    uint8_t *log;
    size_t log_len, log_cap;
    /* results as they are told */
    model_result told[16];
    uint32_t told_count;
    char commands[BYTES_MAX];
} run;

static uint64_t below(run *r, uint64_t n) {
    return rung_rng_below(&r->rng, n);
}

static rung_state *create(void) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    return s;
}

/* ---- chance ---- */

/* Nothing near 2^53: a board of integers counts on exactly there, where the model's doubles do not. */
static double any_number(run *r) {
    static const double edges[] = {HUGE_VAL, -HUGE_VAL, 0,      -0.0,
                                   0.5,      1e300,     -1e300, 1099511627777.0};
    return below(r, 8) == 0 ? edges[below(r, 8)] : (double)(int64_t)below(r, 9) - 4;
}

static rung_lex_bound any_bound(run *r) {
    rung_lex_bound b = {.kind = (rung_lex_kind)below(r, 4)};
    if (b.kind >= RUNG_LEX_CLOSED)
        b.text =
            below(r, 4) ? key_model_member((uint32_t)below(r, KEY_MODEL_MEMBERS)) : RUNG_SLICE("");
    return b;
}

static rung_range any_range(run *r) {
    rung_range range = {.by = (rung_range_by)below(r, 3)};
    switch (range.by) {
    case RUNG_RANGE_RANK:
        range.start = (int64_t)below(r, 12) - 6;
        range.stop = below(r, 9) ? (int64_t)below(r, 12) - 6 : INT64_MIN + (int64_t)below(r, 3);
        break;
    case RUNG_RANGE_SCORE:
        range.min = any_number(r);
        range.max = any_number(r);
        range.min_is_open = below(r, 2);
        range.max_is_open = below(r, 2);
        break;
    case RUNG_RANGE_LEX:
        range.lex_min = any_bound(r);
        range.lex_max = any_bound(r);
        break;
    }
    return range;
}

/* A range by members means nothing where scores differ. */
static bool scores_are_equal(const run *r, uint32_t key) {
    model_row rows[KEY_MODEL_MEMBERS];
    uint32_t n = key_model_rows(&r->m, key, rows);
    for (uint32_t i = 1; i < n; i++)
        if (rows[i].score != rows[0].score)
            return false;
    return r->m.keys[key].kind != MODEL_OWN;
}

static uint32_t any_conditions(run *r) {
    static const uint32_t all[] = {0,
                                   0,
                                   RUNG_IF_NX,
                                   RUNG_IF_XX,
                                   RUNG_IF_GT,
                                   RUNG_IF_LT,
                                   RUNG_IF_XX | RUNG_IF_GT,
                                   RUNG_IF_XX | RUNG_IF_LT};
    return all[below(r, 8)];
}

static rung_slice any_key(run *r) {
    return key_model_key((uint32_t)below(r, KEY_MODEL_KEYS));
}

static rung_slice any_member(run *r) {
    return key_model_member((uint32_t)below(r, KEY_MODEL_MEMBERS));
}

static rung_zcommand_kind any_kind(run *r) {
    static const uint8_t often[] = {RUNG_ZCOMMAND_ZADD,  RUNG_ZCOMMAND_ZADD,   RUNG_ZCOMMAND_ZADD,
                                    RUNG_ZCOMMAND_SADD,  RUNG_ZCOMMAND_ZSTORE, RUNG_ZCOMMAND_ZREM,
                                    RUNG_ZCOMMAND_EXPIRE};
    uint64_t i = below(r, 40);
    if (i == 0)
        return RUNG_ZCOMMAND_FLUSH;
    rung_zcommand_kind kind = (rung_zcommand_kind)(1 + below(r, RUNG_ZCOMMAND_SREM));
    return i < 20 || kind == RUNG_ZCOMMAND_FLUSH ? (rung_zcommand_kind)often[below(r, 7)] : kind;
}

/* Encodes at `out`; returns the length. Ranges by members only of the first of an event: what the others will find is
 * not known. */
static size_t make_command(run *r, bool is_first, char *out, size_t room) {
    rung_zcommand_item items[12];
    rung_zcommand c = {
        .kind = any_kind(r), .items = items, .item_count = 1 + (uint32_t)below(r, 5)};
    bool names_keys = c.kind == RUNG_ZCOMMAND_ZPOP || c.kind == RUNG_ZCOMMAND_ZSTORE ||
                      c.kind == RUNG_ZCOMMAND_DEL;
    c.key = any_key(r);
    c.other = any_key(r);
    c.range = any_range(r);
    c.pop_count = below(r, 9);
    c.combine = (rung_combine_keys)below(r, 3);
    c.aggregate = c.combine == RUNG_KEYS_DIFF ? RUNG_AGGREGATE_SUM : (rung_aggregate)below(r, 3);
    c.offset = (int64_t)below(r, 4) - 1;
    c.limit = (int64_t)below(r, 5) - 1;
    c.at_ms = r->ts_ms + (int64_t)below(r, 400) - 40;
    if (c.kind == RUNG_ZCOMMAND_SADD || c.kind == RUNG_ZCOMMAND_SREM ||
        c.kind == RUNG_ZCOMMAND_ZREM)
        c.item_count = 1 + (uint32_t)below(r, 12);
    if (c.kind == RUNG_ZCOMMAND_DEL && below(r, 3))
        c.item_count = 1;
    if (c.kind == RUNG_ZCOMMAND_ZADD || c.kind == RUNG_ZCOMMAND_EXPIRE)
        c.flags = any_conditions(r);
    if (c.kind == RUNG_ZCOMMAND_ZADD && below(r, 4) == 0) {
        c.flags |= RUNG_ZCOMMAND_INCR;
        c.item_count = 1;
    }
    if (c.kind == RUNG_ZCOMMAND_ZPOP)
        c.flags = (uint32_t)below(r, 2);
    if (c.kind == RUNG_ZCOMMAND_RENAME)
        c.flags = below(r, 2) ? RUNG_IF_NX : 0;
    if (c.range.by == RUNG_RANGE_LEX &&
        !(is_first && scores_are_equal(r, key_model_find_key(c.key)) &&
          scores_are_equal(r, key_model_find_key(c.other))))
        c.range = (rung_range){.by = RUNG_RANGE_SCORE, .min = -HUGE_VAL, .max = 0};
    if (c.kind == RUNG_ZCOMMAND_ZRANGESTORE)
        c.flags = (uint32_t)below(r, c.range.by == RUNG_RANGE_RANK ? 2 : 4);
    for (uint32_t i = 0; i < c.item_count; i++)
        items[i] = (rung_zcommand_item){
            names_keys ? any_key(r) : any_member(r),
            c.kind == RUNG_ZCOMMAND_ZADD || c.kind == RUNG_ZCOMMAND_ZSTORE ? any_number(r) : 0};
    size_t length = 0;
    CHECK_OK(rung_zcommand_encode(&c, out, room, &length, NULL));
    return length;
}

/* ---- results ---- */

static void listen(void *ctx, uint32_t i, const rung_zkey_result *result) {
    run *r = ctx;
    CHECK(i == r->told_count || (i + 1 == r->told_count && result->kind == RUNG_ZCOMMAND_ZPOP));
    model_result *t = &r->told[i];
    if (i == r->told_count) {
        r->told_count++;
        *t = (model_result){.key = -1};
    }
    t->error = result->error;
    t->count = result->count;
    t->updated = result->updated;
    t->has_score = result->has_score;
    t->score = result->score;
    t->key = result->key.len ? (int)key_model_find_key(result->key) : -1;
    CHECK(t->row_count + result->row_count <= KEY_MODEL_MEMBERS);
    for (uint32_t k = 0; k < result->row_count; k++)
        t->rows[t->row_count++] =
            (model_row){key_model_find_member(result->rows[k].member), result->rows[k].score};
    CHECK((result->error == RUNG_ZKEY_REFUSED) == (result->err != NULL));
}

static void compare_results(const run *r, uint32_t i, rung_zcommand_kind kind,
                            const model_result *want) {
    const model_result *got = &r->told[i];
    const char *name = rung_zcommand_kind_name(kind);
    CHECK_MSG(got->error == want->error, "step %" PRIu64 " %s: error %d, expected %d", r->step,
              name, got->error, want->error);
    if (want->error == RUNG_ZKEY_FINE && kind != RUNG_ZCOMMAND_FLUSH)
        CHECK_MSG(got->count == want->count && got->updated == want->updated,
                  "step %" PRIu64 " %s: count %" PRIu64 "/%" PRIu64 ", expected %" PRIu64
                  "/%" PRIu64,
                  r->step, name, got->count, got->updated, want->count, want->updated);
    CHECK_EQ_U64(got->has_score, want->has_score);
    if (want->has_score)
        CHECK_EQ_F64(got->score, want->score);
    CHECK_EQ_I64(got->key, want->key);
    CHECK_EQ_U64(got->row_count, want->row_count);
    for (uint32_t k = 0; k < want->row_count; k++) {
        CHECK_EQ_U64(got->rows[k].member, want->rows[k].member);
        CHECK_EQ_F64(got->rows[k].score, want->rows[k].score);
    }
}

/* ---- questions ---- */

static void check_rows(const run *r, uint32_t key, const rung_zkey *k, const model_row *want,
                       uint32_t n) {
    rung_zkey_row rows[ROWS_MAX];
    for (int rev = 0; rev < 2; rev++) {
        CHECK_EQ_U64(rung_zkey_rows(k, 0, ROWS_MAX, rev, rows), n);
        for (uint32_t i = 0; i < n; i++) {
            const model_row *w = &want[rev ? n - 1 - i : i];
            CHECK_MSG(rung_slice_eq(rows[i].member, key_model_member(w->member)),
                      "step %" PRIu64 " key %u rev %d row %u: %.*s, expected %.*s", r->step, key,
                      rev, i, (int)rows[i].member.len, rows[i].member.ptr,
                      (int)key_model_member(w->member).len, key_model_member(w->member).ptr);
            CHECK_EQ_F64(rows[i].score, w->score);
        }
    }
}

/* Several pages at once: their rows are those of the whole. */
static void check_pages(run *r, const rung_zkey *k, const model_row *want, uint32_t n) {
    enum { PAGES_MAX = 40 };
    static rung_zkey_row rows[PAGES_MAX * ROWS_MAX];
    rung_zkey_page pages[PAGES_MAX];
    uint32_t count = (uint32_t)below(r, PAGES_MAX + 1), at = 0;
    bool rev = below(r, 2);
    for (uint32_t i = 0; i < count; i++) {
        pages[i].start = (uint32_t)below(r, n + 1);
        pages[i].count = (uint32_t)below(r, n - pages[i].start + 1);
    }
    rung_zkey_pages(k, count, pages, rev, rows);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < pages[i].count; j++, at++) {
            uint32_t index = pages[i].start + j;
            const model_row *w = &want[rev ? n - 1 - index : index];
            CHECK(rung_slice_eq(rows[at].member, key_model_member(w->member)));
            CHECK_EQ_F64(rows[at].score, w->score);
        }
}

static void check_members(const run *r, uint32_t key, const rung_zkey *k, const model_row *want,
                          uint32_t n) {
    rung_slice members[KEY_MODEL_MEMBERS + 1];
    double scores[KEY_MODEL_MEMBERS + 1], again[KEY_MODEL_MEMBERS + 1];
    bool found[KEY_MODEL_MEMBERS + 1];
    uint32_t up[KEY_MODEL_MEMBERS + 1], down[KEY_MODEL_MEMBERS + 1];
    for (uint32_t i = 0; i < KEY_MODEL_MEMBERS; i++)
        members[i] = key_model_member(i);
    members[KEY_MODEL_MEMBERS] = RUNG_SLICE("nobody");
    rung_zkey_scores(k, KEY_MODEL_MEMBERS + 1, members, scores, found);
    CHECK(!found[KEY_MODEL_MEMBERS]);
    for (uint32_t member = 0; member < KEY_MODEL_MEMBERS; member++) {
        uint32_t at = 0;
        while (at < n && want[at].member != member)
            at++;
        CHECK_MSG(found[member] == (at < n), "step %" PRIu64 " key %u member %u", r->step, key,
                  member);
        CHECK_EQ_U64(rung_zkey_has(k, members[member]), at < n);
        if (at < n)
            CHECK_EQ_F64(scores[member], want[at].score);
    }
    if (k->kind == RUNG_ZKEY_SET)
        return;
    rung_zkey_ranks(k, KEY_MODEL_MEMBERS + 1, members, false, up, NULL, found);
    rung_zkey_ranks(k, KEY_MODEL_MEMBERS + 1, members, true, down, again, found);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ_U64(up[want[i].member], i);
        CHECK_EQ_U64(down[want[i].member], n - 1 - i);
        CHECK_EQ_F64(again[want[i].member], want[i].score);
    }
}

static void check_ranges(run *r, uint32_t key, const rung_zkey *k) {
    for (int i = 0; i < 4; i++) {
        rung_range range = any_range(r);
        uint32_t first, end, want_first, want_end;
        bool rev = below(r, 2);
        if (range.by == RUNG_RANGE_LEX && !scores_are_equal(r, key))
            continue;
        rung_zkey_range(k, &range, rev, &first, &end);
        key_model_range(&r->m, key, &range, rev, &want_first, &want_end);
        CHECK_MSG(end - first == want_end - want_first && (first == end || first == want_first),
                  "step %" PRIu64 " key %u by %d: [%u, %u), expected [%u, %u)", r->step, key,
                  range.by, first, end, want_first, want_end);
    }
}

static void check_counts(run *r, uint32_t key, const rung_zkey *k) {
    enum { COUNTS_MAX = 40 };
    rung_range ranges[COUNTS_MAX];
    uint32_t counts[COUNTS_MAX], n = 0, first, end;
    for (uint32_t i = (uint32_t)below(r, COUNTS_MAX + 1); i > 0; i--) {
        ranges[n] = any_range(r);
        n += ranges[n].by == RUNG_RANGE_SCORE;
    }
    rung_zkey_counts(k, n, ranges, counts);
    for (uint32_t i = 0; i < n; i++) {
        key_model_range(&r->m, key, &ranges[i], false, &first, &end);
        CHECK_EQ_U64(counts[i], end - first);
    }
}

/* A walk in small pieces meets everybody exactly once, if nothing changes. */
static void check_scan(run *r, const rung_zkey *k, const model_row *want, uint32_t n) {
    bool seen[KEY_MODEL_MEMBERS] = {false};
    uint32_t total = 0, room = 1 + (uint32_t)below(r, 40), count;
    uint64_t cursor = 0;
    do {
        rung_zkey_row rows[ROWS_MAX];
        cursor = rung_zkey_scan(k, cursor, room, rows, &count);
        for (uint32_t i = 0; i < count; i++, total++) {
            uint32_t member = key_model_find_member(rows[i].member), at = 0;
            CHECK(!seen[member]);
            seen[member] = true;
            while (at < n && want[at].member != member)
                at++;
            CHECK(at < n);
            CHECK_EQ_F64(rows[i].score, want[at].score);
        }
    } while (cursor);
    CHECK_EQ_U64(total, n);
    for (uint32_t i = 0; i < n; i++) {
        rung_zkey_row row;
        rung_zkey_nth(k, i, &row);
        CHECK(seen[key_model_find_member(row.member)]);
    }
}

static void check_combination(run *r) {
    uint32_t numbers[5], n = 1 + (uint32_t)below(r, 5);
    rung_zkey keys[5];
    double weights[5];
    model_row want[KEY_MODEL_MEMBERS];
    rung_combine_keys combine = (rung_combine_keys)below(r, 3);
    rung_aggregate how = (rung_aggregate)below(r, 3);
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = (uint32_t)below(r, KEY_MODEL_KEYS);
        rung_zkey_open(r->s, key_model_key(numbers[i]), r->m.time_ms, &keys[i]);
        weights[i] = combine == RUNG_KEYS_DIFF ? 1 : any_number(r);
    }
    uint32_t total = key_model_combine(&r->m, combine, how, n, numbers, weights, want);
    rung_zkey_list list = {0};
    CHECK_OK(
        rung_zkeys_combine(rung_alloc_heap(), combine, how, n, keys, weights, UINT32_MAX, &list));
    CHECK_EQ_U64(list.count, total);
    uint32_t read = 0;
    for (uint32_t got; read < total; read += got) {
        rung_zkey_row rows[8];
        got = rung_zkey_list_read(&list, read, 1 + (uint32_t)below(r, 8), rows);
        CHECK(got > 0 && got <= total - read);
        for (uint32_t i = 0; i < got; i++) {
            CHECK(rung_slice_eq(rows[i].member, key_model_member(want[read + i].member)));
            CHECK_EQ_F64(rows[i].score, want[read + i].score);
        }
    }
    CHECK_EQ_U64(rung_zkey_list_read(&list, total, 8, NULL), 0);
    rung_zkey_list_free(&list);
    if (combine == RUNG_KEYS_INTER) {
        uint64_t limit = below(r, 4);
        CHECK_EQ_U64(rung_zkeys_intersect_count(n, keys, limit),
                     limit && total > limit ? limit : total);
        if (total)
            CHECK_STATUS(rung_zkeys_combine(rung_alloc_heap(), combine, how, n, keys, weights,
                                            total - 1, &list),
                         RUNG_ELIMIT);
    }
}

static void check_key(run *r, uint32_t key, int64_t now_ms) {
    static const rung_zkey_kind kinds[] = {RUNG_ZKEY_NONE, RUNG_ZKEY_ZSET, RUNG_ZKEY_SET,
                                           RUNG_ZKEY_BOARD};
    model_row want[KEY_MODEL_MEMBERS];
    rung_zkey k;
    rung_zkey_open(r->s, key_model_key(key), now_ms, &k);
    model_kind kind = key_model_kind(&r->m, key, now_ms);
    CHECK_MSG(k.kind == kinds[kind], "step %" PRIu64 " key %u: kind %d, expected %d", r->step, key,
              k.kind, kinds[kind]);
    uint32_t n = kind == MODEL_NONE ? 0 : key_model_rows(&r->m, key, want);
    CHECK_EQ_U64(k.count, n);
    if (kind != MODEL_NONE) {
        CHECK_EQ_U64(k.has_expiry, r->m.keys[key].has_expiry);
        if (k.has_expiry)
            CHECK_EQ_I64(k.expires_ms, r->m.keys[key].expires_ms);
        CHECK(k.version > 0 && k.version <= rung_state_seq(r->s));
    }
    if (now_ms != r->m.time_ms)
        return;
    if (kind != MODEL_SET) {
        check_rows(r, key, &k, want, n);
        check_pages(r, &k, want, n);
    }
    check_members(r, key, &k, want, n);
    check_scan(r, &k, want, n);
    if (kind != MODEL_SET && kind != MODEL_NONE) {
        check_ranges(r, key, &k);
        check_counts(r, key, &k);
    }
}

static void check_all(run *r) {
    bool listed[KEY_MODEL_KEYS] = {false};
    uint64_t cursor = 0;
    rung_slice name;
    rung_zkey_kind kind;
    for (uint32_t key = 0; key < KEY_MODEL_KEYS; key++) {
        check_key(r, key, r->m.time_ms);
        check_key(r, key, r->m.time_ms + (int64_t)below(r, 200));
    }
    while (rung_zkeys_next(r->s, r->m.time_ms, &cursor, &name, &kind)) {
        uint32_t key = key_model_find_key(name);
        CHECK(!listed[key]);
        listed[key] = true;
    }
    int64_t next_ms = INT64_MAX;
    for (uint32_t key = 0; key < KEY_MODEL_KEYS; key++) {
        CHECK_EQ_U64(listed[key], key_model_kind(&r->m, key, r->m.time_ms) != MODEL_NONE);
        if (r->m.keys[key].has_expiry && r->m.keys[key].expires_ms < next_ms)
            next_ms = r->m.keys[key].expires_ms;
    }
    CHECK_EQ_I64(rung_state_next_close(r->s), next_ms);
    check_combination(r);
    CHECK_SOUND(rung_state_check(r->s));
}

/* ---- steps ---- */

/* Through its bytes, which are kept. */
static void via_bytes(run *r, const rung_event *e, rung_event *out) {
    size_t length = 0;
    if (r->log_len + BYTES_MAX + 4 > r->log_cap) {
        r->log_cap = r->log_cap * 2 + 4 * BYTES_MAX;
        r->log = realloc(r->log, r->log_cap);
        CHECK(r->log);
    }
    uint8_t *at = r->log + r->log_len;
    CHECK_OK(rung_event_encode(e, at + 4, BYTES_MAX, &length));
    memcpy(at, &(uint32_t){(uint32_t)length}, 4);
    r->log_len += 4 + length;
    CHECK_OK(rung_event_decode(rung_slice_of(at + 4, length), out, NULL));
}

static void step_keys(run *r) {
    static rung_event e, decoded;
    size_t used = 0;
    e = (rung_event){.kind = RUNG_EVENT_KEYS, .ts_ms = r->ts_ms};
    e.keys.count = below(r, 2) ? 1 : 1 + (uint32_t)below(r, 4);
    for (uint32_t i = 0; i < e.keys.count; i++)
        used += make_command(r, i == 0, r->commands + used, sizeof r->commands - used);
    e.keys.packed = rung_slice_of(r->commands, used);
    e.keys.is_admin = r->m.is_admin = below(r, 2);
    via_bytes(r, &e, &decoded);
    r->told_count = 0;
    rung_status st = rung_state_apply_keys(r->s, &decoded, listen, r, NULL);
    CHECK(st == RUNG_OK || st == RUNG_UNCHANGED);
    CHECK_EQ_U64(r->told_count, e.keys.count);
    rung_slice packed = decoded.keys.packed;
    rung_zcommand c;
    for (uint32_t i = 0; rung_zcommand_next(&packed, &c, NULL) == RUNG_OK; i++) {
        model_result want;
        key_model_apply(&r->m, &c, &want);
        compare_results(r, i, c.kind, &want);
    }
}

/* One member by the fast path: as a ZADD with one item. */
static void step_score(run *r) {
    uint32_t conditions = any_conditions(r), key = (uint32_t)below(r, KEY_MODEL_KEYS);
    rung_zcommand_item item = {any_member(r), any_number(r)};
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = r->ts_ms,
                    .score = {.board = key_model_key(key),
                              .player = item.name,
                              .when = (uint8_t)(RUNG_SCORE_KEY | conditions),
                              .is_delta = below(r, 2),
                              .value_count = 1,
                              .values = {{.d = item.number}},
                              .types = {RUNG_SCORE_REAL}}},
               decoded;
    rung_zcommand c = {.kind = RUNG_ZCOMMAND_ZADD,
                       .flags = conditions | (e.score.is_delta ? RUNG_ZCOMMAND_INCR : 0),
                       .key = e.score.board,
                       .item_count = 1,
                       .items = &item};
    size_t length;
    rung_slice packed;
    model_result want;
    rung_outcome out;
    CHECK_OK(rung_zcommand_encode(&c, r->commands, sizeof r->commands, &length, NULL));
    packed = rung_slice_of(r->commands, length);
    CHECK_OK(rung_zcommand_next(&packed, &c, NULL));
    via_bytes(r, &e, &decoded);
    rung_status st = rung_state_apply(r->s, &decoded, &out, NULL);
    key_model_apply(&r->m, &c, &want);
    rung_zkey_error error = st == RUNG_EUNSUPPORTED ? RUNG_ZKEY_WRONG_TYPE
                            : st == RUNG_ERANGE && r->m.keys[key].kind != MODEL_OWN ? RUNG_ZKEY_NAN
                            : st < 0 ? RUNG_ZKEY_REFUSED
                                     : RUNG_ZKEY_FINE;
    CHECK_MSG(error == want.error, "step %" PRIu64 ": status %d, expected error %d", r->step, st,
              want.error);
    if (st < 0)
        return;
    CHECK_EQ_U64(st == RUNG_OK, want.count + want.updated);
    CHECK_EQ_U64(out.is_new, want.count);
    if (e.score.is_delta)
        CHECK_EQ_U64(!out.held, want.has_score);
    if (want.has_score)
        CHECK_EQ_F64(rung_zkey_outcome_score(r->s, e.score.board, &out), want.score);
}

static rung_status apply(run *r, const rung_event *e) {
    rung_event decoded;
    via_bytes(r, e, &decoded);
    return rung_state_apply(r->s, &decoded, NULL, NULL);
}

static void step_people(run *r) {
    uint32_t member = (uint32_t)below(r, KEY_MODEL_MEMBERS),
             key = (uint32_t)below(r, KEY_MODEL_KEYS);
    rung_event e = {.ts_ms = r->ts_ms};
    switch (below(r, 5)) {
    case 0:
    case 1:
        e.kind = below(r, 3) ? RUNG_EVENT_UNBANNED : RUNG_EVENT_BANNED;
        e.ban.player = key_model_member(member);
        CHECK(apply(r, &e) >= 0);
        key_model_ban(&r->m, member, e.kind == RUNG_EVENT_BANNED);
        break;
    case 2:
        e.kind = RUNG_EVENT_PLAYER_ERASED;
        e.erased.player = key_model_member(member);
        if (apply(r, &e) >= 0)
            key_model_erase(&r->m, member);
        break;
    case 3:
        e.kind = RUNG_EVENT_ENTRY_REMOVED;
        e.removed.board = key_model_key(key);
        e.removed.player = key_model_member(member);
        if (apply(r, &e) >= 0)
            key_model_remove(&r->m, key, member);
        break;
    default:
        e.kind = RUNG_EVENT_TICK;
        CHECK(apply(r, &e) >= 0);
    }
}

/* The board with rules of its own comes and goes; over a set it does not come. */
static void step_define(run *r) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = r->ts_ms};
    model_kind kind = r->m.keys[KEY_MODEL_OWN].kind;
    e.defined.board = key_model_key(KEY_MODEL_OWN);
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_LAST;
    e.defined.def.key.tie = RUNG_TIE_PLAYER;
    rung_status st = apply(r, &e);
    CHECK_STATUS(st, kind == MODEL_SET    ? RUNG_EREFUSED
                     : kind == MODEL_ZSET ? RUNG_EUNSUPPORTED
                     : kind == MODEL_OWN  ? RUNG_UNCHANGED
                                          : RUNG_OK);
    if (st >= 0)
        key_model_define(&r->m);
}

static void step_rules(run *r) {
    rung_event e = {.kind = RUNG_EVENT_RULES_SET, .ts_ms = r->ts_ms, .rules = {1}};
    CHECK_STATUS(apply(r, &e), r->m.rules ? RUNG_UNCHANGED : RUNG_OK);
    r->m.rules = 1;
}

static void one_step(run *r) {
    r->ts_ms += (int64_t)below(r, 30);
    key_model_pass(&r->m, r->ts_ms);
    uint64_t what = below(r, 20);
    if (what < 11)
        step_keys(r);
    else if (what < 17)
        step_score(r);
    else if (what < 19)
        step_people(r);
    else if (below(r, 8))
        step_define(r);
    else
        step_rules(r);
    check_all(r);
}

/* ---- the same events again ---- */

static bool next_logged(const run *r, size_t *at, rung_event *out) {
    if (*at >= r->log_len)
        return false;
    uint32_t length;
    memcpy(&length, r->log + *at, 4);
    CHECK_OK(rung_event_decode(rung_slice_of(r->log + *at + 4, length), out, NULL));
    *at += 4 + length;
    return true;
}

static void check_same(const rung_state *a, const rung_state *b) {
    rung_digest x = rung_state_digest(a), y = rung_state_digest(b);
    CHECK_EQ_U64(x.a, y.a);
    CHECK_EQ_U64(x.b, y.b);
    state_bytes p = {0}, q = {0};
    state_bytes_save(&p, a);
    state_bytes_save(&q, b);
    CHECK_EQ_U64(p.len, q.len);
    CHECK_EQ_MEM(p.bytes, q.bytes, p.len);
    state_bytes_deinit(&p);
    state_bytes_deinit(&q);
}

static rung_state *save_and_load(rung_state *s) {
    state_bytes b = {0};
    rung_state *copy = NULL;
    rung_err err = {.message = ""};
    state_bytes_save(&b, s);
    rung_status st = state_bytes_load(&b, &(rung_state_config){.alloc = rung_alloc_heap()}, 0,
                                      false, &copy, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK_SOUND(rung_state_check(copy));
    check_same(s, copy);
    state_bytes_deinit(&b);
    rung_state_destroy(s);
    return copy;
}

static void replay_alone(run *r) {
    static rung_event e;
    rung_state *s = create();
    size_t half = r->log_len / 2;
    bool is_loaded = false;
    for (size_t at = 0; next_logged(r, &at, &e);) {
        rung_ignore(rung_state_apply(s, &e, NULL, NULL), "refused as before");
        if (at > half && !is_loaded) {
            s = save_and_load(s);
            is_loaded = true;
        }
    }
    check_same(s, r->s);
    rung_state_destroy(s);
}

static void replay_in_batches(run *r) {
    enum { BATCH = 37 };
    static rung_event events[BATCH];
    rung_state *s = create();
    size_t at = 0;
    for (;;) {
        const rung_event *list[BATCH];
        rung_status statuses[BATCH];
        uint32_t n = 0;
        while (n < BATCH && next_logged(r, &at, &events[n])) {
            list[n] = &events[n];
            n++;
        }
        if (!n)
            break;
        CHECK_EQ_U64(rung_state_apply_batch(s, n, list, statuses, NULL, NULL), n);
    }
    check_same(s, r->s);
    rung_state_destroy(s);
}

static void run_program(uint64_t seed, uint64_t steps) {
    static run r;
    memset(&r, 0, sizeof r);
    rung_rng_seed(&r.rng, seed);
    r.s = create();
    r.ts_ms = r.m.time_ms = START_MS;
    for (r.step = 0; r.step < steps; r.step++)
        one_step(&r);
    replay_alone(&r);
    replay_in_batches(&r);
    rung_state_destroy(r.s);
    free(r.log);
}

TEST(programs) {
    uint64_t steps = test_steps(300);
    bool is_one = getenv("RUNG_SEED") != NULL;
    for (uint64_t seed = 1; seed <= (is_one ? 1 : 60); seed++)
        run_program(test_seed(seed), steps);
}

/* ---- by hand ---- */

static void zadd(rung_state *s, const char *key, const char *member, double score) {
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = START_MS,
                    .score = {.board = rung_slice_str(key),
                              .player = rung_slice_str(member),
                              .when = RUNG_SCORE_KEY,
                              .value_count = 1,
                              .values = {{.d = score}},
                              .types = {RUNG_SCORE_REAL}}};
    CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
}

static rung_status command(rung_state *s, int64_t ts_ms, const rung_zcommand *c) {
    char bytes[512];
    size_t length;
    CHECK_OK(rung_zcommand_encode(c, bytes, sizeof bytes, &length, NULL));
    rung_event e = {
        .kind = RUNG_EVENT_KEYS, .ts_ms = ts_ms, .keys = {1, rung_slice_of(bytes, length)}};
    return rung_state_apply(s, &e, NULL, NULL);
}

/* ---- friends, whatever their scores are ---- */

enum { SHAPES = 7 };

/* Spread evenly, the same, few, steeper and steeper, infinitely far apart, both signs, one far from all others. */
static double shaped_score(int shape, uint32_t i) {
    switch (shape) {
    case 0:
        return i * 1000.0;
    case 1:
        return 5;
    case 2:
        return i % 3;
    case 3:
        return ldexp(1, (int)(i % 600));
    case 4:
        return i % 7 == 0 ? HUGE_VAL : i % 7 == 2 ? -HUGE_VAL : i;
    case 5:
        return i % 2 ? -(double)i : i / 4.0;
    default:
        return i == 3 ? 1e308 : i / 8.0;
    }
}

static void check_friends(const rung_state *s, int shape, uint32_t friends, uint32_t expected) {
    rung_zkey keys[2];
    rung_zkey_list list = {0};
    rung_zkey_row rows[64], last = {0};
    uint32_t read = 0;
    rung_zkey_open(s, RUNG_SLICE("race"), START_MS, &keys[0]);
    rung_zkey_open(s, RUNG_SLICE("friends"), START_MS, &keys[1]);
    CHECK_OK(rung_zkeys_combine(rung_alloc_heap(), RUNG_KEYS_INTER, RUNG_AGGREGATE_SUM, 2, keys,
                                NULL, UINT32_MAX, &list));
    CHECK_EQ_U64(list.count, expected);
    for (uint32_t got; (got = rung_zkey_list_read(&list, read, 64, rows)) != 0; read += got)
        for (uint32_t i = 0; i < got; i++) {
            uint32_t number = (uint32_t)(rows[i].member.ptr[1] - '0') * 100 +
                              (uint32_t)(rows[i].member.ptr[2] - '0') * 10 +
                              (uint32_t)(rows[i].member.ptr[3] - '0');
            CHECK(number < friends && number % 5);
            CHECK_EQ_F64(rows[i].score, shaped_score(shape, number));
            CHECK(read + i == 0 || last.score < rows[i].score ||
                  (last.score == rows[i].score && rung_slice_cmp(last.member, rows[i].member) < 0));
            last = rows[i];
        }
    CHECK_EQ_U64(read, expected);
    rung_zkey_list_free(&list);
}

/* All but every fifth are in the race; more of them are asked about, one at a time. */
TEST(friends_of_any_scores) {
    enum { MEMBERS = 200 };
    for (int shape = 0; shape < SHAPES; shape++) {
        rung_state *s = create();
        char name[8];
        for (uint32_t i = 0; i < 2 * MEMBERS; i++) {
            uint32_t number = i * 7 % (2 * MEMBERS); /* numbers are not in the order of names */
            snprintf(name, sizeof name, "m%03u", number);
            if (number % 5)
                zadd(s, "race", name, shaped_score(shape, number));
        }
        for (uint32_t i = 0; i < MEMBERS; i++) {
            snprintf(name, sizeof name, "m%03u", i);
            zadd(s, "friends", name, 0);
            if (i % 8 == 7 || i < 32)
                check_friends(s, shape, i + 1, i - i / 5);
        }
        rung_state_destroy(s);
    }
}

/* What is kept of an answer is asked for again when, and only when, the board changed. */
TEST(versions) {
    rung_state *s = create();
    rung_slice race = RUNG_SLICE("race"), other = RUNG_SLICE("other");
    CHECK_EQ_U64(rung_state_board_version(s, race), 0);
    zadd(s, "race", "ada", 1);
    CHECK_EQ_U64(rung_state_board_version(s, race), 1);
    zadd(s, "other", "ada", 1);
    zadd(s, "race", "ada", 1);
    CHECK_EQ_U64(rung_state_board_version(s, race), 1);
    CHECK_EQ_U64(rung_state_board_version(s, other), 2);
    rung_event profile = {
        .kind = RUNG_EVENT_PLAYER_SET, .ts_ms = START_MS, .profile = {.player = RUNG_SLICE("ada")}};
    profile.profile.count = 1;
    profile.profile.attributes[0] = (rung_attribute){RUNG_SLICE("name"), RUNG_SLICE("Ada")};
    CHECK_OK(rung_state_apply(s, &profile, NULL, NULL));
    CHECK_EQ_U64(rung_state_board_version(s, race), 4);
    rung_zkey k;
    rung_zkey_open(s, race, START_MS, &k);
    CHECK_EQ_U64(k.version, 1); /* WATCH does not look at profiles */
    CHECK_OK(command(
        s, START_MS,
        &(rung_zcommand){.kind = RUNG_ZCOMMAND_EXPIRE, .key = race, .at_ms = START_MS + 5}));
    rung_zkey_open(s, race, START_MS, &k);
    CHECK_EQ_U64(k.version, 5);
    CHECK_EQ_I64(rung_state_next_close(s), START_MS + 5);
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = START_MS + 5};
    CHECK_OK(rung_state_apply(s, &tick, NULL, NULL));
    CHECK_EQ_U64(rung_state_board_version(s, race), 0);
    CHECK_STATUS(rung_state_apply(s, &tick, NULL, NULL), RUNG_UNCHANGED);
    rung_state_destroy(s);
}

/* HTTP sees a key as a board, never a set, and neither when its time is over. */
TEST(seen_as_boards) {
    rung_state *s = create();
    rung_slice id;
    const rung_board_def *def;
    rung_view v;
    rung_zcommand_item ada = {RUNG_SLICE("ada"), 0};
    zadd(s, "race", "ada", 1);
    CHECK_OK(command(s, START_MS,
                     &(rung_zcommand){.kind = RUNG_ZCOMMAND_SADD,
                                      .key = RUNG_SLICE("friends"),
                                      .item_count = 1,
                                      .items = &ada}));
    uint32_t boards = 0;
    for (uint32_t i = 0; i < rung_state_board_span(s); i++)
        boards += rung_state_board_at(s, i, &id, &def) == RUNG_OK;
    CHECK_EQ_U64(boards, 1);
    CHECK_STATUS(rung_state_board(s, RUNG_SLICE("friends"), &def), RUNG_NOT_FOUND);
    CHECK_OK(rung_state_board(s, RUNG_SLICE("race"), &def));
    CHECK_EQ_U64(def->key.tie, RUNG_TIE_PLAYER_LAST);
    CHECK_OK(command(s, START_MS,
                     &(rung_zcommand){.kind = RUNG_ZCOMMAND_EXPIRE,
                                      .key = RUNG_SLICE("race"),
                                      .at_ms = START_MS + 100}));
    rung_query q = {.board = RUNG_SLICE("race"), .now_ms = START_MS + 99};
    CHECK_OK(rung_state_view(s, &q, &v, NULL));
    q.now_ms++;
    CHECK_STATUS(rung_state_view(s, &q, &v, NULL), RUNG_NOT_FOUND);
    rung_stats stats;
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.boards, 1);
    CHECK_EQ_U64(stats.sets, 1);
    CHECK_EQ_U64(stats.set_members, 1);
    rung_state_destroy(s);
}

/* Defining a key as a board makes it one: it stays when it is empty. */
TEST(a_key_becomes_a_board) {
    rung_state *s = create();
    const rung_board_def *def;
    rung_zkey k;
    zadd(s, "race", "ada", 1);
    CHECK_OK(rung_state_board(s, RUNG_SLICE("race"), &def));
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = START_MS};
    e.defined.board = RUNG_SLICE("race");
    e.defined.def = *def;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_UNCHANGED);
    rung_zcommand_item ada = {RUNG_SLICE("ada"), 0};
    CHECK_OK(command(s, START_MS,
                     &(rung_zcommand){.kind = RUNG_ZCOMMAND_ZREM,
                                      .key = RUNG_SLICE("race"),
                                      .item_count = 1,
                                      .items = &ada}));
    rung_zkey_open(s, RUNG_SLICE("race"), START_MS, &k);
    CHECK_EQ_U64(k.kind, RUNG_ZKEY_BOARD);
    CHECK_EQ_U64(k.count, 0);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
