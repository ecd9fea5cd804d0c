/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sampler.h"

#include "ladder/players.h"

#define DAY_MS INT64_C(86400000)

struct rung_sampler {
    const rung_alloc *alloc;
    rung_hash_key key;
    rung_players *boards;   /* those that were played on today */
    rung_players **players; /* by board number */
    uint32_t cap;
    uint32_t player_count, players_max;
    int64_t next_day_ms; /* INT64_MIN: not known yet */
};

rung_status rung_sampler_create(const rung_alloc *alloc, const rung_hash_key *key,
                                uint32_t players_max, rung_sampler **out) {
    rung_sampler *s = rung_alloc_zeroed(alloc, sizeof *s);
    if (!s)
        return RUNG_ENOMEM;
    *s = (rung_sampler){.alloc = alloc,
                        .key = *key,
                        .players_max = players_max ? players_max : RUNG_SAMPLER_PLAYERS_DEFAULT,
                        .next_day_ms = INT64_MIN};
    if (rung_players_create(alloc, key, &s->boards) < 0) {
        rung_alloc_free(alloc, s, sizeof *s);
        return RUNG_ENOMEM;
    }
    *out = s;
    return RUNG_OK;
}

static void forget_day(rung_sampler *s) {
    for (uint32_t i = 0; i < s->cap; i++)
        rung_players_destroy(s->players[i]);
    rung_alloc_free(s->alloc, s->players, s->cap * sizeof *s->players);
    s->players = NULL;
    s->cap = s->player_count = 0;
    rung_players_clear(s->boards);
}

void rung_sampler_destroy(rung_sampler *s) {
    if (!s)
        return;
    forget_day(s);
    rung_players_destroy(s->boards);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

/* The table of a board's players, made if need be; NULL without memory. */
static rung_players *players_of(rung_sampler *s, rung_slice board) {
    uint32_t number;
    if (rung_players_intern(s->boards, board, &number) < 0)
        return NULL;
    if (number >= s->cap) {
        uint32_t cap = s->cap ? 2 * s->cap : 16;
        rung_players **grown =
            rung_alloc_resize(s->alloc, s->players, s->cap * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + s->cap, 0, (cap - s->cap) * sizeof *grown);
        s->players = grown;
        s->cap = cap;
    }
    if (!s->players[number] && rung_players_create(s->alloc, &s->key, &s->players[number]) < 0)
        return NULL;
    return s->players[number];
}

void rung_sampler_note(rung_sampler *s, const rung_event *event) {
    uint32_t number;
    if (event->kind != RUNG_EVENT_SCORE || s->player_count >= s->players_max)
        return;
    rung_players *players = players_of(s, event->score.board);
    if (players && rung_players_intern(players, event->score.player, &number) == RUNG_OK)
        s->player_count++;
}

static void sample_board(rung_sampler *s, const rung_state *state, rung_follower *f,
                         rung_slice board, int64_t time_ms) {
    rung_view view;
    uint32_t number, n = 0;
    rung_slice *ids = NULL;
    /* The day that ended decides which window it was: its last millisecond. */
    if (rung_state_view(state, &(rung_query){.board = board, .now_ms = time_ms - 1}, &view, NULL) !=
            RUNG_OK ||
        view.total == 0)
        return;
    if (rung_players_find(s->boards, board, &number) == RUNG_OK && number < s->cap &&
        s->players[number])
        n = rung_players_span(s->players[number]);
    if (n)
        ids = rung_alloc_get(s->alloc, n * sizeof *ids);
    for (uint32_t i = 0; ids && i < n; i++)
        ids[i] = rung_players_id(s->players[number], i);
    rung_follower_sample(f, rung_state_seq(state) + 1, board, &view, time_ms, ids ? n : 0, ids);
    rung_alloc_free(s->alloc, ids, ids ? n * sizeof *ids : 0);
}

static int64_t day_after(int64_t ms) {
    int64_t day = ms / DAY_MS - (ms % DAY_MS < 0);
    return (day + 1) * DAY_MS;
}

void rung_sampler_before(rung_sampler *s, const rung_state *state, rung_follower *f,
                         int64_t ts_ms) {
    if (s->next_day_ms == INT64_MIN) {
        int64_t time_ms = rung_state_time(state);
        s->next_day_ms = day_after(time_ms == INT64_MIN ? ts_ms : time_ms);
    }
    if (ts_ms < s->next_day_ms)
        return;
    for (uint32_t i = 0; i < rung_state_board_span(state); i++) {
        rung_slice board;
        const rung_board_def *def;
        if (rung_state_board_at(state, i, &board, &def) == RUNG_OK)
            sample_board(s, state, f, board, s->next_day_ms);
    }
    forget_day(s);
    s->next_day_ms = day_after(ts_ms);
}
