/* SPDX-License-Identifier: Apache-2.0 */
/* The soft reset at the start of a season: every rating of the board moves towards that of a new player, and every
 * deviation grows.
 *
 * It belongs to log time, as the expiry of keys does: it comes before the first event, of any kind, whose time is not
 * before the start of the season. That is usually the tick that the server writes for it. So it is one event on every
 * node, and no match of the new season can come before it.
 *
 *   S1 A reset is due when log time passes the start: the seasons of the definitions, and log time before and after an
 *      event, say which. A season that is added after its start resets nothing.
 *   S2 next_reset_ms is not later than the next start of any season that resets ratings.
 *
 * The ranking `all` shows the new ratings at once, the entries that bans hold of it included. Other windows rank by
 * the rating after the last match in them, so they stay as they are. */
#include "state/season_reset.h"

#include "base/assert.h"
#include "state/ban.h"
#include "state/lookahead.h"
#include "state/machine.h"
#include "state/match.h"
#include "state/ranking.h"
#include "state/shadow.h"

#include <string.h>

static bool has_reset(const rung__board *b) {
    return rung_update_is_rating(b->def->update) && rung_rating_has_reset(&b->def->rating);
}

/* The first start of a season after `after_ms`; INT64_MAX: none. */
static int64_t next_start(const rung__board *b, int64_t after_ms) {
    int64_t next_ms = INT64_MAX;
    for (uint32_t i = 0; has_reset(b) && i < b->def->season_count; i++) {
        int64_t starts_ms = b->def->seasons[i].starts_ms;
        if (starts_ms > after_ms && starts_ms < next_ms)
            next_ms = starts_ms;
    }
    return next_ms;
}

void rung__season_reset_note(rung_state *s, const rung__board *b) {
    int64_t next_ms = next_start(b, s->time_ms);
    s->next_reset_ms = next_ms < s->next_reset_ms ? next_ms : s->next_reset_ms;
}

/* The same entry with the displayed rating of now; its time stays. */
static void renew_key(const rung__board *b, const rung_rating *r, const uint64_t *old,
                      uint64_t *key) {
    rung_value values[RUNG_COLUMNS_MAX];
    int64_t at_ms;
    rung_keyspec_decode(&b->def->key, old, values, &at_ms);
    values[0].i = rung_rating_displayed(&b->def->rating, r, b->def->key.columns[0].decimals);
    memset(key, 0, RUNG_LADDER_WORDS_MAX * sizeof *key);
    rung_status st = rung_keyspec_encode(&b->def->key, values, at_ms, key);
    RUNG_ASSERT(st == RUNG_OK); /* as in match.c */
}

static rung_status put_again(rung_state *s, rung__board *b, rung__window *w,
                             const rung__rated *rated) {
    uint64_t old[RUNG_LADDER_WORDS_MAX], key[RUNG_LADDER_WORDS_MAX];
    rung_ladder_entry entry;
    rung_ladder_change change = {.style = RUNG_RANK_UNIQUE};
    if (rung_ladder_find(w->ladder, rated->player, &entry) != RUNG_OK)
        return RUNG_OK; /* hidden before min_games, or banned */
    memcpy(old, entry.key, sizeof old);
    renew_key(b, &rated->card.rating, old, key);
    if (rung__ranking_secure(s, b, w, rated->player, false) < 0)
        return RUNG_ENOMEM;
    rung_status st =
        rung__ranking_put(s, b, w, rated->player, old, key, &(rung__descents){0}, &change);
    return st < 0 ? st : RUNG_OK;
}

static rung_status reset(rung_state *s, rung__board *b) {
    const rung_rating_params *p = &b->def->rating;
    rung__window *w = rung__window_find(b, RUNG_WINDOW_ALL, 0, (rung_slice){NULL, 0});
    for (uint32_t i = 0; i < b->rated_count; i++) {
        rung_rating_card card = b->rated[i].card;
        card.rating = rung_rating_soft_reset(p, &card.rating, p->season_keep, p->season_deviation);
        rung__rated_set(s, b, i, &card);
        if (b->twin)
            rung__shadow_touch(s, b->rated[i].player);
        if (w && put_again(s, b, w, &b->rated[i]) < 0)
            return RUNG_ENOMEM;
    }
    uint32_t player = 0;
    for (rung__ban *ban; w && b->has_stash && (ban = rung__ban_next(s, &player)); player++) {
        const rung_rating_card *card = rung__rated_find(b, player);
        for (uint32_t k = 0; card && k < ban->count; k++) {
            rung__stashed *e = &ban->entries[k];
            uint64_t key[RUNG_LADDER_WORDS_MAX];
            if (e->board_serial != b->serial || e->window_tag != w->tag)
                continue;
            renew_key(b, &card->rating, e->key, key);
            rung__stashed_set_key(s, player, e, key);
        }
    }
    b->version = s->seq;
    rung__shadow_interrupt(s, b->twin ? b->twin : b);
    if (s->on_change)
        rung__tell_board(s, b, RUNG_CHANGE_BOARD_REPLACED);
    return RUNG_OK;
}

bool rung__season_reset_due(rung_state *s, int64_t before_ms) {
    bool any = false;
    s->next_reset_ms = INT64_MAX;
    for (uint32_t i = 0; i < s->board_cap; i++) {
        rung__board *b = s->boards[i];
        if (!b || !has_reset(b))
            continue;
        int64_t start_ms = before_ms;
        while ((start_ms = next_start(b, start_ms)) <= s->time_ms) {
            any = true;
            if (reset(s, b) < 0)
                s->broken = true;
        }
        s->next_reset_ms = start_ms < s->next_reset_ms ? start_ms : s->next_reset_ms;
    }
    return any;
}
