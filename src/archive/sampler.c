/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sampler.h"

#include "ladder/names.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

/* The pairs of one board, in the order they came; if count is 0, the rest is unset. */
typedef struct line {
    uint32_t first, last, count;
} line;

/* A pair is a board and a player who played on it today: their numbers, as the bytes of a name. One table of names for
 * all boards, and a few words per board: there may be a million boards of one player. */
struct rung_sampler {
    const rung_alloc *alloc;
    rung_names *boards, *players, *pairs; /* of today */
    line *lines;                          /* by board number */
    uint32_t *next;                       /* by pair number: the next pair of the same board */
    uint32_t line_cap, next_cap, max;
    int64_t next_day_ms; /* INT64_MIN: not known yet */
};

rung_status rung_sampler_create(const rung_alloc *alloc, const rung_hash_key *key,
                                uint32_t players_max, rung_sampler **out) {
    rung_sampler *s = rung_alloc_zeroed(alloc, sizeof *s);
    if (!s)
        return RUNG_ENOMEM;
    *s = (rung_sampler){.alloc = alloc,
                        .max = players_max ? players_max : RUNG_SAMPLER_PLAYERS_DEFAULT,
                        .next_day_ms = INT64_MIN};
    if (rung_names_create(alloc, key, &s->boards) < 0 ||
        rung_names_create(alloc, key, &s->players) < 0 ||
        rung_names_create(alloc, key, &s->pairs) < 0) {
        rung_sampler_destroy(s);
        return RUNG_ENOMEM;
    }
    *out = s;
    return RUNG_OK;
}

static void forget_day(rung_sampler *s) {
    rung_alloc_free(s->alloc, s->lines, s->line_cap * sizeof *s->lines);
    rung_alloc_free(s->alloc, s->next, s->next_cap * sizeof *s->next);
    s->lines = NULL;
    s->next = NULL;
    s->line_cap = s->next_cap = 0;
}

void rung_sampler_destroy(rung_sampler *s) {
    if (!s)
        return;
    forget_day(s);
    rung_names_destroy(s->boards);
    rung_names_destroy(s->players);
    rung_names_destroy(s->pairs);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

/* ---- who played ---- */

static bool reserve(rung_sampler *s, uint32_t board, uint32_t pair) {
    line *lines = rung_alloc_array(s->alloc, s->lines, &s->line_cap, board, sizeof *lines);
    if (!lines)
        return false;
    s->lines = lines;
    uint32_t *next = rung_alloc_array(s->alloc, s->next, &s->next_cap, pair, sizeof *next);
    if (!next)
        return false;
    s->next = next;
    return true;
}

/* Without memory the player is left out. */
static void note(rung_sampler *s, rung_slice board, rung_slice player) {
    uint32_t pair[2], number = rung_names_count(s->pairs);
    if (number >= s->max || rung_names_intern(s->boards, board, &pair[0]) < 0 ||
        rung_names_intern(s->players, player, &pair[1]) < 0 || !reserve(s, pair[0], number) ||
        rung_names_intern(s->pairs, rung_slice_of(pair, sizeof pair), &number) != RUNG_OK)
        return;
    line *l = &s->lines[pair[0]];
    if (l->count++)
        s->next[l->last] = number;
    else
        l->first = number;
    l->last = number;
}

static void note_commands(rung_sampler *s, rung_slice rest) {
    rung_zcommand c;
    rung_zcommand_item item;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        while (c.kind == RUNG_ZCOMMAND_ZADD && rung_zcommand_item_next(&c, &item))
            note(s, c.key, item.name);
}

static void note_match(rung_sampler *s, const rung_match_event *match) {
    rung_match_cursor c = {.rest = match->packed};
    rung_match_entry entry;
    while (rung_match_next(&c, &entry))
        note(s, match->board, entry.player);
}

void rung_sampler_note(rung_sampler *s, const rung_event *event) {
    if (event->kind == RUNG_EVENT_SCORE)
        note(s, event->score.board, event->score.player);
    else if (event->kind == RUNG_EVENT_KEYS)
        note_commands(s, event->keys.packed);
    else if (event->kind == RUNG_EVENT_MATCH)
        note_match(s, &event->match);
    else if (event->kind == RUNG_EVENT_REVIEWED)
        note(s, event->reviewed.board, event->reviewed.player);
}

uint32_t rung_sampler_count(const rung_sampler *s) {
    return rung_names_count(s->pairs);
}

static rung_slice player_of(const rung_sampler *s, uint32_t number) {
    uint32_t pair[2];
    memcpy(pair, rung_names_id(s->pairs, number).ptr, sizeof pair);
    return rung_names_id(s->players, pair[1]);
}

/* ---- the end of a day ---- */

static void sample_board(rung_sampler *s, const rung_state *state, rung_follower *f,
                         rung_slice board, int64_t time_ms) {
    rung_view view;
    uint32_t number, n = 0;
    rung_slice *ids = NULL;
    line l = {0};
    /* The last millisecond of the day that ended determines its window. */
    if (rung_state_view(state, &(rung_query){.board = board, .now_ms = time_ms - 1}, &view, NULL) !=
            RUNG_OK ||
        view.total == 0)
        return;
    if (rung_names_find(s->boards, board, &number) == RUNG_OK && number < s->line_cap)
        l = s->lines[number];
    if (l.count)
        ids = rung_alloc_get(s->alloc, l.count * sizeof *ids);
    for (uint32_t at = l.first; ids && n < l.count; at = s->next[at])
        ids[n++] = player_of(s, at);
    rung_follower_sample(f, rung_state_seq(state) + 1, board, &view, time_ms, n, ids);
    rung_alloc_free(s->alloc, ids, ids ? l.count * sizeof *ids : 0);
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
    rung_names_clear(s->boards);
    rung_names_clear(s->players);
    rung_names_clear(s->pairs);
    s->next_day_ms = day_after(ts_ms);
}
