/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sampler.h"

#include "ladder/names.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)
#define NONE   UINT32_MAX

/* Somebody played on a board today. */
typedef struct sample {
    uint32_t board, player; /* their numbers in the tables below */
    uint32_t next;          /* next sample of the same board, by arrival; NONE: the last */
} sample;

typedef struct line {
    uint32_t first, last, count; /* of a board's samples; other fields are unset while count is 0 */
} line;

/* One table of names for all boards, and a few words per board: there may be a million boards of one player. */
struct rung_sampler {
    const rung_alloc *alloc;
    rung_hash_key key;
    rung_names *boards, *players; /* of today */
    line *lines;                  /* by board number */
    uint32_t line_cap;
    sample *samples;
    uint32_t count, cap, max;
    uint32_t *slots;     /* 1 + the place of a sample, found by its board and player; 0: empty */
    uint32_t slot_count; /* a power of two, more than count; or 0 */
    int64_t next_day_ms; /* INT64_MIN: not known yet */
};

rung_status rung_sampler_create(const rung_alloc *alloc, const rung_hash_key *key,
                                uint32_t players_max, rung_sampler **out) {
    rung_sampler *s = rung_alloc_zeroed(alloc, sizeof *s);
    if (!s)
        return RUNG_ENOMEM;
    *s = (rung_sampler){.alloc = alloc,
                        .key = *key,
                        .max = players_max ? players_max : RUNG_SAMPLER_PLAYERS_DEFAULT,
                        .next_day_ms = INT64_MIN};
    if (rung_names_create(alloc, key, &s->boards) < 0 ||
        rung_names_create(alloc, key, &s->players) < 0) {
        rung_sampler_destroy(s);
        return RUNG_ENOMEM;
    }
    *out = s;
    return RUNG_OK;
}

static void forget_day(rung_sampler *s) {
    rung_alloc_free(s->alloc, s->lines, s->line_cap * sizeof *s->lines);
    rung_alloc_free(s->alloc, s->samples, s->cap * sizeof *s->samples);
    rung_alloc_free(s->alloc, s->slots, s->slot_count * sizeof *s->slots);
    s->lines = NULL;
    s->samples = NULL;
    s->slots = NULL;
    s->line_cap = s->count = s->cap = s->slot_count = 0;
}

void rung_sampler_destroy(rung_sampler *s) {
    if (!s)
        return;
    forget_day(s);
    rung_names_destroy(s->boards);
    rung_names_destroy(s->players);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

/* ---- who played ---- */

/* Grow an array to more than `index` elements, the new ones zero. NULL: out of memory, and nothing changed. */
static void *array_for(const rung_alloc *a, void *array, uint32_t *cap, uint32_t index,
                       size_t size) {
    if (index < *cap)
        return array;
    uint32_t more = *cap ? *cap : 16;
    while (more <= index)
        more *= 2;
    char *grown = rung_alloc_resize(a, array, *cap * size, more * size);
    if (!grown)
        return NULL;
    memset(grown + *cap * size, 0, (more - *cap) * size);
    *cap = more;
    return grown;
}

/* Where the pair is, or the empty slot where it belongs. */
static uint32_t *slot_of(const rung_sampler *s, uint32_t board, uint32_t player) {
    uint64_t pair = (uint64_t)board << 32 | player,
             at = rung_hash_keyed(&s->key, &pair, sizeof pair);
    for (;; at++) {
        uint32_t *slot = &s->slots[at & (s->slot_count - 1)];
        if (*slot == 0)
            return slot;
        const sample *found = &s->samples[*slot - 1];
        if (found->board == board && found->player == player)
            return slot;
    }
}

/* At most half of the slots are taken. */
static bool reserve_slot(rung_sampler *s) {
    uint32_t old_count = s->slot_count, *old = s->slots;
    if (2 * (s->count + 1) <= old_count)
        return true;
    uint32_t count = old_count ? 2 * old_count : 64;
    uint32_t *slots = rung_alloc_zeroed(s->alloc, count * sizeof *slots);
    if (!slots)
        return false;
    s->slots = slots;
    s->slot_count = count;
    for (uint32_t i = 0; i < s->count; i++)
        *slot_of(s, s->samples[i].board, s->samples[i].player) = i + 1;
    rung_alloc_free(s->alloc, old, old_count * sizeof *old);
    return true;
}

static bool reserve(rung_sampler *s, uint32_t board) {
    line *lines = array_for(s->alloc, s->lines, &s->line_cap, board, sizeof *lines);
    if (!lines)
        return false;
    s->lines = lines;
    sample *samples = array_for(s->alloc, s->samples, &s->cap, s->count, sizeof *samples);
    if (!samples)
        return false;
    s->samples = samples;
    return reserve_slot(s);
}

/* Without memory the player is left out. */
void rung_sampler_note(rung_sampler *s, const rung_event *event) {
    uint32_t board, player;
    if (event->kind != RUNG_EVENT_SCORE || s->count >= s->max ||
        rung_names_intern(s->boards, event->score.board, &board) < 0 ||
        rung_names_intern(s->players, event->score.player, &player) < 0 || !reserve(s, board))
        return;
    uint32_t *slot = slot_of(s, board, player);
    if (*slot)
        return;
    line *l = &s->lines[board];
    s->samples[s->count] = (sample){board, player, NONE};
    if (l->count)
        s->samples[l->last].next = s->count;
    else
        l->first = s->count;
    l->last = s->count;
    l->count++;
    *slot = ++s->count;
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
    for (uint32_t at = l.first; ids && n < l.count; at = s->samples[at].next)
        ids[n++] = rung_names_id(s->players, s->samples[at].player);
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
    s->next_day_ms = day_after(ts_ms);
}
