/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a board against the brute-force model (support/state_model.h), which recomputes everything from the list
 * of all accepted submissions: few players with long histories, outliers, quick and slow senders, redefinitions,
 * removals. A dry run before each submission must say what then happens. Now and then the state is saved and loaded. */
#include "state/image/save.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"
#include "support/state_model.h"

#include <stdio.h>
#include <string.h>

enum { PLAYERS = 6, STEPS = 2500, IDS = 1000 };
#define NOON INT64_C(1763208000000)

static rung_rng rng;
static uint64_t broken_seen[32], refused_seen[32]; /* by rule */

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&rng, (uint64_t)(high - low + 1));
}

static void random_rule(const rung_board_def *d, rung_board_rule *r) {
    bool is_real = d->key.columns[0].type == RUNG_SCORE_REAL;
    *r = (rung_board_rule){.action = between(0, 4) ? RUNG_ACTION_FLAG : RUNG_ACTION_REFUSE};
    do
        r->rule = (rung_rule)between(RUNG_RULE_MIN, RUNG_RULE_FIRST_MAX);
    while (rung_rule_measure(r->rule) == RUNG_MEASURE_NONE ||
           (d->update == RUNG_UPDATE_COUNT && r->rule != RUNG_RULE_SUBMISSIONS) ||
           (r->rule == RUNG_RULE_MAX_RATE && d->key.columns[0].order == RUNG_ORDER_ASC));
    bool is_first = r->rule == RUNG_RULE_FIRST_MIN || r->rule == RUNG_RULE_FIRST_MAX;
    int64_t value = is_first                    ? between(900, 1100)
                    : r->rule == RUNG_RULE_MIN  ? between(700, 990)
                    : r->rule == RUNG_RULE_STEP ? between(20, 300)
                                                : between(1050, 2000);
    if (rung_rule_measure(r->rule) == RUNG_MEASURE_SCORE)
        r->value = is_real ? (rung_value){.d = (double)value} : (rung_value){.i = value};
    else if (r->rule == RUNG_RULE_SUBMISSIONS)
        r->value.i = between(1, 9);
    else if (r->rule == RUNG_RULE_MAX_RATE)
        r->value.d = (double)between(500, 60000);
    else
        r->value.d = (double)between(4, 40) / 4;
    if (r->rule == RUNG_RULE_SUBMISSIONS)
        r->per_ms = 60000;
    else if (r->rule == RUNG_RULE_MAX_RATE)
        r->per_ms = between(1000, 120000);
}

static void random_rules(rung_board_def *d) {
    int64_t per = between(0, 1) ? 60000 : 7001;
    d->rule_count = (uint32_t)between(0, 6);
    memset(d->rules, 0, sizeof d->rules);
    for (uint32_t i = 0; i < d->rule_count; i++) {
        random_rule(d, &d->rules[i]);
        if (d->rules[i].rule == RUNG_RULE_SUBMISSIONS)
            d->rules[i].per_ms = per;
    }
}

static rung_board_def random_def(void) {
    rung_board_def d = rung_board_def_default();
    d.key.columns[0].type = (rung_score_type)between(0, 2);
    d.key.columns[0].decimals = d.key.columns[0].type == RUNG_SCORE_DECIMAL ? 2 : 0;
    d.update = (rung_update)between(0, 3);
    if (d.update == RUNG_UPDATE_COUNT)
        d.key.columns[0] = (rung_column){0};
    else if (between(0, 3) == 0)
        d.key.columns[0].order = RUNG_ORDER_ASC;
    if (between(0, 1))
        d.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    random_rules(&d);
    return d;
}

static double random_score(uint32_t player) {
    double usual = 1000 + 10 * player;
    switch (between(0, 30)) {
    case 0:
        return usual * (double)between(2, 50);
    case 1:
        return -usual;
    case 2:
        return usual;
    default:
        return usual + (double)between(-60, 60);
    }
}

static void random_event(const rung_board_def *def, char name[8], rung_event *e) {
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    rung_slice who = rung_slice_of(name, (size_t)snprintf(name, 8, "p%u", player));
    int64_t what = between(0, 300);
    if (what < 3) {
        e->kind = RUNG_EVENT_ENTRY_REMOVED;
        e->removed.board = RUNG_SLICE("b");
        e->removed.player = who;
    } else if (what < 6) {
        e->kind = RUNG_EVENT_PLAYER_ERASED;
        e->erased.player = who;
    } else if (what < 9) {
        e->kind = RUNG_EVENT_BOARD_DEFINED;
        e->defined.board = RUNG_SLICE("b");
        e->defined.def = *def;
        random_rules(&e->defined.def);
    } else {
        rung_score_event *s = &e->score;
        double x = random_score(player);
        e->kind = RUNG_EVENT_SCORE;
        *s = (rung_score_event){.board = RUNG_SLICE("b"), .player = who};
        s->value_count = def->update == RUNG_UPDATE_COUNT ? 0 : 1;
        s->is_delta = def->update == RUNG_UPDATE_SUM ? false : between(0, 9) == 0;
        s->types[0] = (uint8_t)def->key.columns[0].type;
        s->decimals[0] = (uint8_t)def->key.columns[0].decimals;
        if (def->key.columns[0].type == RUNG_SCORE_REAL)
            s->values[0].d = between(0, 99) || def->update == RUNG_UPDATE_SUM ? x : __builtin_inf();
        else
            s->values[0].i = (int64_t)x;
        if (def->update == RUNG_UPDATE_COUNT)
            s->is_delta = false;
    }
}

static void same(const rung_state *s, const rung_event *e, rung_status st, const rung_outcome *out,
                 const model_answer *answer) {
    const rung_board_def *def;
    uint32_t n = 0;
    CHECK_STATUS(st, answer->status);
    if (e->kind != RUNG_EVENT_SCORE)
        return;
    CHECK_OK(rung_state_board(s, RUNG_SLICE("b"), &def));
    if (st == RUNG_EREFUSED) {
        CHECK_EQ_STR(rung_rule_words[out->rule], answer->rule);
        refused_seen[out->rule]++;
        return;
    }
    for (uint32_t i = 0; st >= 0 && i < answer->rule_count; i++) {
        if (answer->broken[i] != 1)
            continue;
        CHECK(n < out->finding_count);
        CHECK_EQ_U64(out->findings[n].rule, def->rules[i].rule);
        broken_seen[def->rules[i].rule]++;
        n++;
    }
    if (st >= 0)
        CHECK_EQ_U64(out->finding_count, n);
}

/* What the dry run said must come true. */
static void came_true(const rung_judgement *j, rung_status st, const rung_outcome *out) {
    CHECK(j->status == st || (j->status == RUNG_OK && st == RUNG_UNCHANGED));
    CHECK_EQ_U64(j->rule, out->rule);
    if (st < 0) {
        CHECK_EQ_U64((uint64_t)j->limit.i, (uint64_t)out->limit.i);
        return;
    }
    CHECK_EQ_U64(j->finding_count, out->finding_count);
    for (uint32_t i = 0; i < out->finding_count; i++) {
        CHECK_EQ_U64(j->findings[i].rule, out->findings[i].rule);
        CHECK_EQ_U64((uint64_t)j->findings[i].value.i, (uint64_t)out->findings[i].value.i);
    }
    CHECK_EQ_U64(j->rank, out->rank);
}

static rung_state *saved_and_loaded(rung_state *s, const rung_state_config *config) {
    state_bytes bytes = {0};
    rung_state *copy;
    rung_err err = {0};
    rung_digest digest = rung_state_digest(s);
    state_bytes_save(&bytes, s);
    CHECK_OK(state_bytes_load(&bytes, config, 0, false, &copy, &err));
    CHECK_EQ_U64(rung_state_digest(copy).a, digest.a);
    state_bytes_deinit(&bytes);
    rung_state_destroy(s);
    return copy;
}

static void run(uint64_t seed) {
    rung_state *s;
    rung_state_config config = {.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    state_model *m =
        state_model_create(&(state_model_config){.id_capacity = IDS, .id_keep_ms = 86400000});
    static rung_event e;
    static rung_outcome out;
    static model_answer answer;
    char name[8];
    int64_t now_ms = NOON;
    rung_rng_seed(&rng, seed);
    CHECK_OK(rung_state_create(&config, &s));
    e = (rung_event){.kind = RUNG_EVENT_RULES_SET, .ts_ms = now_ms, .rules = {RUNG_RULES_LEVEL}};
    CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
    state_model_apply(m, &e, RUNG_OK, &answer);
    e = (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = now_ms};
    e.defined.board = RUNG_SLICE("b");
    e.defined.def = random_def();
    rung_board_def def = e.defined.def;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    state_model_apply(m, &e, RUNG_OK, &answer);
    for (uint32_t step = 0; step < STEPS; step++) {
        rung_err err = {0};
        rung_judgement judgement;
        random_event(&def, name, &e);
        now_ms += between(0, 3) ? between(0, 30) : between(0, 40000);
        e.ts_ms = now_ms;
        if (e.kind == RUNG_EVENT_SCORE)
            rung_state_judge(s, &e.score, now_ms, &judgement, &err);
        rung_digest before = rung_state_digest(s);
        rung_status st = rung_state_apply(s, &e, &out, &err);
        state_model_apply(m, &e, st, &answer);
        same(s, &e, st, &out, &answer);
        if (e.kind == RUNG_EVENT_SCORE)
            came_true(&judgement, st, &out);
        CHECK(before.a != rung_state_digest(s).a);
        if (step % 250 == 0)
            CHECK(!rung_state_check(s));
        if (step % 500 == 0)
            s = saved_and_loaded(s, &config);
    }
    CHECK(!rung_state_check(s));
    rung_state_destroy(s);
    state_model_destroy(m);
}

TEST(against_the_model) {
    uint64_t seed = test_seed(1);
    for (uint64_t i = 0; i < 60; i++)
        run(seed + i);
    for (uint32_t rule = 1; rule <= RUNG_RULE_FIRST_MAX; rule++)
        if (rung_rule_measure((rung_rule)rule) != RUNG_MEASURE_NONE && rule != RUNG_RULE_Z) {
            CHECK_MSG(broken_seen[rule] > 20, "rule %s was broken %llu times",
                      rung_rule_words[rule], (unsigned long long)broken_seen[rule]);
            CHECK_MSG(refused_seen[rule] > 20, "rule %s refused %llu times", rung_rule_words[rule],
                      (unsigned long long)refused_seen[rule]);
        }
}

RUNG_TEST_MAIN
