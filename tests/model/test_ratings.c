/* SPDX-License-Identifier: Apache-2.0 */
/* Rating boards in the state against a brute-force model: an array of ratings, changed by rung_rating_rate() and
 * sorted anew for every question, and a list of all matches. Random matches, removals, bans, erasures, redefinitions,
 * seasons that begin; now and then the state is saved and loaded. */
#include "rating/rating.h"
#include "state/image/save.h"
#include "state/ratings.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAYERS = 24, NOON = 1763208000, SEASONS = 40, MATCHES = 100000 };
#define SEASON_MS (INT64_C(40) * 86400000)

typedef struct model_player {
    bool is_rated, is_ranked, is_banned;
    rung_rating_card card;
    int64_t score;
} model_player;

static rung_state *state;
static rung_rng rng;
static rung_rating_params params;
static model_player players[PLAYERS];
static char names[PLAYERS][16];
static int64_t now_ms;

/* A match as the board should remember it. */
typedef struct model_match {
    uint64_t seq;
    uint32_t count;
    int who[12]; /* -1: removed since, or erased */
    double rating[12], before[12];
} model_match;
static model_match *matches;
static uint32_t match_count, kept_from; /* those before it have left */

static int64_t season_start(int i) {
    return INT64_C(1000) * NOON + i * SEASON_MS;
}

/* Log time moves to now_ms: the seasons that begin meanwhile change everybody. */
static void begin_seasons(int64_t before_ms) {
    rung_rating new = rung_rating_initial(&params);
    for (int i = 0; i < SEASONS; i++)
        for (int k = 0; k < PLAYERS; k++) {
            rung_rating *r = &players[k].card.rating;
            if (season_start(i) <= before_ms || season_start(i) > now_ms || !players[k].is_rated ||
                !rung_rating_has_reset(&params))
                continue;
            double grown = sqrt(r->deviation * r->deviation +
                                params.season_deviation * params.season_deviation);
            r->rating = new.rating + (r->rating - new.rating) * params.season_keep;
            if (params.system != RUNG_RATING_ELO)
                r->deviation = fmin(grown, fmax(r->deviation, new.deviation));
            players[k].score = rung_rating_displayed(&params, r, 2);
        }
}

static void forget(int player) {
    for (uint32_t i = 0; i < match_count; i++)
        for (uint32_t k = 0; k < matches[i].count; k++)
            if (matches[i].who[k] == player)
                matches[i].who[k] = -1;
}

static rung_slice name_of(uint32_t i) {
    return rung_slice_str(names[i]);
}

static rung_status apply(rung_event *e, rung_err *err) {
    int64_t before_ms = now_ms;
    e->ts_ms = now_ms += (int64_t)rung_rng_below(&rng, 90000000);
    begin_seasons(before_ms);
    return rung_state_apply(state, e, NULL, err);
}

/* Which of the matches the board remembers. */
static void keep_matches(void) {
    uint32_t first = match_count, results = 0;
    while (first && results + matches[first - 1].count <= params.results_kept)
        results += matches[--first].count;
    kept_from = first > kept_from ? first : kept_from;
}

static char season_names[SEASONS][16];

static void define(void) {
    static rung_event e;
    e = (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED};
    e.defined.board = RUNG_SLICE("chess");
    e.defined.def = rung_board_def_default();
    e.defined.def.update = (rung_update)(RUNG_UPDATE_ELO + params.system);
    e.defined.def.key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 2};
    e.defined.def.rating = params;
    e.defined.def.windows = RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    for (int i = 0; i < SEASONS; i++)
        e.defined.def.seasons[i] = (rung_season){.name = rung_slice_str(season_names[i]),
                                                 .starts_ms = season_start(i),
                                                 .ends_ms = season_start(i) + SEASON_MS};
    e.defined.def.season_count = SEASONS;
    CHECK(apply(&e, NULL) >= 0);
    keep_matches();
}

/* A random match, or one that must be refused: a banned player. */
static void play(void) {
    uint8_t packed[4096];
    rung_byte_writer w = rung_byte_writer_of(packed, sizeof packed);
    rung_match_player in[PLAYERS];
    rung_match_side sides[PLAYERS];
    uint32_t who[PLAYERS], n = 0, side_count = 2 + (uint32_t)rung_rng_below(&rng, 3);
    uint32_t first = (uint32_t)rung_rng_below(&rng, PLAYERS);
    bool has_banned = false;
    for (uint32_t i = 0; i < side_count; i++) {
        sides[i] = (rung_match_side){n, 1 + (uint32_t)rung_rng_below(&rng, 3),
                                     (int32_t)rung_rng_below(&rng, 3)};
        for (uint32_t j = 0; j < sides[i].count; j++, n++) {
            rung_match_entry e = {
                .is_first = j == 0, .place = sides[i].place, .weight = 1, .played = 1};
            who[n] = (first + n * 5) % PLAYERS; /* 5 and 24 have no common divisor */
            e.player = name_of(who[n]);
            if (rung_rng_below(&rng, 4) == 0)
                e.played = 0.5;
            CHECK(rung_match_put(&w, &e));
            const model_player *p = &players[who[n]];
            has_banned |= p->is_banned;
            in[n] = /* once more below: a season may begin before the match */ (rung_match_player){
                p->is_rated ? p->card.rating : rung_rating_initial(&params), 1, e.played};
        }
    }
    rung_event e = {.kind = RUNG_EVENT_MATCH, .match = {.board = RUNG_SLICE("chess")}};
    e.match.packed = rung_slice_of(packed, rung_byte_writer_length(&w));
    e.match.player_count = n;
    rung_err err;
    rung_status st = apply(&e, &err);
    if (has_banned) {
        CHECK_STATUS(st, RUNG_EREFUSED);
        CHECK_EQ_STR(err.field, "banned");
        return;
    }
    CHECK_STATUS(st, RUNG_OK);
    for (uint32_t i = 0; i < n; i++)
        if (players[who[i]].is_rated)
            in[i].rating = players[who[i]].card.rating;
    rung_match m = {in, n, sides, side_count, now_ms};
    model_match *kept = &matches[match_count++];
    CHECK(match_count <= MATCHES);
    *kept = (model_match){.seq = rung_state_seq(state), .count = n};
    rung_rating after[PLAYERS];
    rung_rating_scratch scratch;
    CHECK_OK(rung_rating_rate(&params, &m, &scratch, after, NULL));
    keep_matches();
    uint32_t row_count;
    const rung_match_row *rows = rung_state_match_rows(state, &row_count);
    CHECK_EQ_U64(row_count, n);
    for (uint32_t i = 0; i < n; i++) {
        model_player *p = &players[who[i]];
        kept->who[i] = (int)who[i];
        kept->before[i] = in[i].rating.rating;
        kept->rating[i] = after[i].rating;
        int32_t place = 0;
        uint32_t better = 0, equal = 0;
        for (uint32_t k = 0; k < side_count; k++)
            if (i >= sides[k].first && i < sides[k].first + sides[k].count)
                place = sides[k].place;
        for (uint32_t k = 0; k < side_count; k++) {
            better += sides[k].place < place;
            equal += sides[k].place == place;
        }
        if (!p->is_rated)
            p->card = (rung_rating_card){.rating = rung_rating_initial(&params)};
        p->card.rating = after[i];
        p->card.losses += better > 0;
        p->card.wins += better == 0 && equal == 1;
        p->card.draws += better == 0 && equal > 1;
        if (better)
            p->card.streak = p->card.streak < 0 ? p->card.streak - 1 : -1;
        else
            p->card.streak = equal > 1 ? 0 : p->card.streak > 0 ? p->card.streak + 1 : 1;
        p->score = rung_rating_displayed(&params, &after[i], 2);
        p->is_rated = true;
        p->is_ranked |= p->card.rating.games >= params.min_games;
        CHECK(rung_slice_eq(rows[i].player, name_of(who[i])));
        CHECK_EQ_I64(rows[i].score, p->score);
    }
}

static void check_ranking(void) {
    rung_view view;
    rung_row rows[PLAYERS];
    CHECK_OK(rung_state_view(state, &(rung_query){.board = RUNG_SLICE("chess")}, &view, NULL));
    uint32_t count = rung_view_top(&view, 0, PLAYERS, rows), ranked = 0;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        const model_player *p = &players[i];
        rung_rating_card card;
        rung_status st = rung_state_rating(state, RUNG_SLICE("chess"), name_of(i), &card);
        CHECK_STATUS(st, p->is_rated ? RUNG_OK : RUNG_NOT_FOUND);
        if (st == RUNG_OK) {
            CHECK_EQ_F64(card.rating.rating, p->card.rating.rating);
            CHECK_EQ_F64(card.rating.deviation, p->card.rating.deviation);
            CHECK_EQ_U64(card.wins, p->card.wins);
            CHECK_EQ_U64(card.draws, p->card.draws);
            CHECK_EQ_U64(card.losses, p->card.losses);
            CHECK_EQ_I64(card.streak, p->card.streak);
        }
        uint32_t better = 0, at = 0;
        bool is_shown = p->is_ranked && !p->is_banned;
        ranked += is_shown;
        while (at < count && !rung_slice_eq(rows[at].id, name_of(i)))
            at++;
        CHECK_EQ_U64(at < count, is_shown);
        for (uint32_t k = 0; k < PLAYERS; k++)
            better += players[k].is_ranked && !players[k].is_banned && players[k].score > p->score;
        if (is_shown) {
            CHECK_EQ_I64(rows[at].values[0].i, p->score);
            CHECK_EQ_U64(rows[at].rank, better + 1);
        }
    }
    CHECK_EQ_U64(count, ranked);
}


static void check_matches(void) {
    static rung_match_info infos[400];
    static rung_match_result own[400];
    rung_match_result results[12];
    uint32_t first = kept_from, count;
    count = rung_state_matches(state, RUNG_SLICE("chess"), 0, 400, infos);
    CHECK_EQ_U64(count, match_count - first);
    for (uint32_t i = 0; i < count; i++) {
        const model_match *m = &matches[match_count - 1 - i];
        CHECK_EQ_U64(infos[i].seq, m->seq);
        CHECK_EQ_U64(infos[i].player_count, m->count);
        CHECK_EQ_U64(rung_state_match_results(state, RUNG_SLICE("chess"), m->seq, 12, results),
                     m->count);
        for (uint32_t k = 0; k < m->count; k++) {
            rung_slice name = m->who[k] < 0 ? (rung_slice){NULL, 0} : name_of((uint32_t)m->who[k]);
            CHECK(rung_slice_eq(results[k].player, name));
            CHECK_EQ_F64(results[k].rating, m->rating[k]);
            CHECK_EQ_F64(results[k].rating_before, m->before[k]);
        }
    }
    for (uint32_t p = 0; p < PLAYERS; p++) {
        uint32_t at = 0;
        count = rung_state_results_of(state, RUNG_SLICE("chess"), name_of(p), 0, 400, infos, own);
        for (uint32_t i = match_count; i-- > first;)
            for (uint32_t k = 0; k < matches[i].count; k++)
                if (matches[i].who[k] == (int)p) {
                    CHECK(at < count);
                    CHECK_EQ_U64(infos[at].seq, matches[i].seq);
                    CHECK_EQ_F64(own[at++].rating, matches[i].rating[k]);
                }
        CHECK_EQ_U64(at, count);
    }
}

static void moderate(void) {
    uint32_t i = (uint32_t)rung_rng_below(&rng, PLAYERS);
    model_player *p = &players[i];
    rung_event e = {0};
    switch (rung_rng_below(&rng, 4)) {
    case 0:
        e = (rung_event){.kind = RUNG_EVENT_ENTRY_REMOVED,
                         .removed = {RUNG_SLICE("chess"), name_of(i)}};
        CHECK(apply(&e, NULL) >= 0);
        p->is_rated = p->is_ranked = false;
        forget((int)i);
        break;
    case 1:
        e = (rung_event){.kind = RUNG_EVENT_BANNED, .ban = {.player = name_of(i)}};
        if (apply(&e, NULL) >= 0)
            p->is_banned = true;
        break;
    case 2:
        e = (rung_event){.kind = RUNG_EVENT_UNBANNED, .ban = {.player = name_of(i)}};
        rung_ignore(apply(&e, NULL), "may not be banned");
        p->is_banned = false;
        break;
    default:
        e = (rung_event){.kind = RUNG_EVENT_PLAYER_ERASED, .erased = {name_of(i)}};
        if (apply(&e, NULL) >= 0) {
            *p = (model_player){0};
            forget((int)i);
        }
        break;
    }
}

static void save_and_load(void) {
    state_bytes b = {0};
    rung_state *copy;
    rung_state_config config = {.alloc = rung_alloc_heap(), .rules_level = 1};
    state_bytes_save(&b, state);
    CHECK_OK(state_bytes_load(&b, &config, 7, false, &copy, NULL));
    state_bytes_deinit(&b);
    rung_state_destroy(state);
    state = copy;
}

static void run(rung_rating_system system, uint32_t min_games) {
    memset(players, 0, sizeof players);
    matches = calloc(MATCHES, sizeof *matches);
    match_count = kept_from = 0;
    now_ms = INT64_C(1000) * NOON;
    rung_rating_params_init(&params, system);
    params.min_games = min_games;
    params.season_keep = system == RUNG_RATING_OPENSKILL ? 1 : 0.5;
    params.season_deviation = system == RUNG_RATING_ELO ? 0 : params.deviation / 4;
    params.results_kept = 300;
    for (int i = 0; i < SEASONS; i++)
        snprintf(season_names[i], sizeof season_names[i], "s%d", i);
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = 1},
                               &state));
    for (uint32_t i = 0; i < PLAYERS; i++)
        snprintf(names[i], sizeof names[i], "player%u", i);
    define();
    for (uint64_t step = test_steps(1500); step; step--) {
        if (rung_rng_below(&rng, 20) == 0)
            moderate();
        else
            play();
        if (step % 50 == 0 && system == RUNG_RATING_ELO) {
            params.elo.k = 10 + (double)rung_rng_below(&rng, 30);
            params.results_kept = 12 + (uint32_t)rung_rng_below(&rng, 500);
            define();
        }
        if (step % 25 == 0) {
            check_ranking();
            check_matches();
            CHECK_SOUND(rung_state_check(state));
        }
        if (step % 300 == 0) {
            rung_digest before = rung_state_digest(state);
            save_and_load();
            CHECK_EQ_U64(rung_state_digest(state).a, before.a);
            CHECK_SOUND(rung_state_check(state));
            check_ranking();
            check_matches();
        }
    }
    free(matches);
    rung_state_destroy(state);
}

TEST(elo) {
    rung_rng_seed(&rng, test_seed(1));
    run(RUNG_RATING_ELO, 0);
}

TEST(glicko2_hidden_for_five_games) {
    rung_rng_seed(&rng, test_seed(2));
    run(RUNG_RATING_GLICKO2, 5);
}

TEST(openskill) {
    rung_rng_seed(&rng, test_seed(3));
    run(RUNG_RATING_OPENSKILL, 0);
}

RUNG_TEST_MAIN
