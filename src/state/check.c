/* SPDX-License-Identifier: Apache-2.0 */
/* The state's invariants, checked by looking at all of it: every ladder's own check; R1 to R3 of ranking.c; P1
 * to P3 of people.c; B3 of board.c; K1 of keys.c; M1, M2 of set.c; E1, E2 of expiry.c; D1: the digest is the sum of
 * the facts; H1, H4 of shadow.c; F1 to F3 of form.c; V1 to V4 of review.c; T1 to T3 of editions.c. */
#include "state/attribute.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/keyspace/set.h"
#include "state/match.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <string.h>

/* R1, R2: each scope ranking contains what it should, and together they contain nothing else. */
static const char *check_slot(const rung_state *s, const rung__board *b, const rung__window *w,
                              uint32_t slot) {
    const rung__scope *scope = &w->scopes[slot];
    uint32_t in_scopes = 0, expected = 0;
    rung_ladder_entry e, other;
    for (uint32_t v = 0; v < scope->cap; v++) {
        if (!scope->ladders[v])
            continue;
        const char *wrong = rung_ladder_check(scope->ladders[v]);
        if (wrong)
            return wrong;
        in_scopes += rung_ladder_count(scope->ladders[v]);
        for (rung_ladder_cursor c = rung_ladder_seek(scope->ladders[v], 0);
             rung_ladder_next(&c, &e);)
            if (rung_ladder_find(w->ladder, e.player, &other) != RUNG_OK ||
                memcmp(e.key, other.key, sizeof e.key) != 0)
                return "R2: a scope's entry differs from the main one";
    }
    for (rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0);
         !w->closed && rung_ladder_next(&c, &e);) {
        uint32_t v = rung__value_of(s, b, slot, e.player);
        if (v == RUNG__NONE)
            continue;
        expected++;
        if (v >= scope->cap || !scope->ladders[v] ||
            rung_ladder_find(scope->ladders[v], e.player, NULL) != RUNG_OK)
            return "R1: a player is missing from a scope";
    }
    return w->closed || in_scopes == expected ? NULL : "R1: a scope ranks somebody it should not";
}

static const char *check_teams(const rung__board *b, const rung__window *w) {
    const rung__scope *scope = &w->scopes[b->team_slot];
    uint32_t ranked = 0;
    for (uint32_t v = 0; v < scope->cap; v++) {
        uint32_t members = scope->ladders[v] ? rung_ladder_count(scope->ladders[v]) : 0;
        rung_ladder_entry e;
        if (v < w->team_cap ? w->teams[v].members != members : members != 0)
            return "R3: a team's members are miscounted";
        if (!members)
            continue;
        ranked++;
        if (rung_ladder_find(w->team_ladder, v, &e) != RUNG_OK ||
            e.key[0] != rung__team_key(b, w, v))
            return "R3: a team's score is wrong";
    }
    if (ranked != (w->team_ladder ? rung_ladder_count(w->team_ladder) : 0))
        return "R3: a team is ranked that should not be";
    return w->team_ladder ? rung_ladder_check(w->team_ladder) : NULL;
}

/* The sketches of a window; counts them. */
static const char *check_sketches(const rung__board *b, const rung__window *w, uint32_t *count) {
    const char *wrong = NULL;
    if (!w->sketch != !(b->def->sketch && w->ladder))
        return "S1: a window has a sketch that it should not have, or none";
    if (w->sketch) {
        ++*count;
        wrong = rung__sketch_check(w->sketch);
    }
    for (uint32_t slot = 0; !wrong && slot < RUNG__SCOPE_SLOTS; slot++)
        for (uint32_t v = 0; !wrong && v < w->scopes[slot].sketch_cap; v++)
            if (w->scopes[slot].sketches[v]) {
                ++*count;
                wrong = slot < b->scope_count ? rung__sketch_check(w->scopes[slot].sketches[v])
                                              : "S1: a sketch of no scope";
            }
    return wrong;
}

static const char *check_board(const rung_state *s, const rung__board *b) {
    uint32_t sketches = 0;
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung__window *w = b->windows[i];
        const char *broken = check_sketches(b, w, &sketches);
        if (broken)
            return broken;
        if (!w->ladder) {
            if (!w->dropped)
                return "a window has no ranking";
            continue;
        }
        const char *wrong = rung_ladder_check(w->ladder);
        rung_digest entries = rung__entries_digest(b, w);
        if (!wrong && (entries.a != w->entries.a || entries.b != w->entries.b))
            wrong = "D2: the digest of a window is not the sum of its entries";
        for (uint32_t slot = 0; !wrong && slot < b->scope_count; slot++)
            wrong = check_slot(s, b, w, slot);
        if (!wrong && b->team_slot != RUNG__NONE)
            wrong = check_teams(b, w);
        if (wrong)
            return wrong;
        if (w->kind != 0 && !w->closed && w->end_ms + b->def->grace_ms < s->next_close_ms)
            return "B3: a window is due before the next close";
        rung_ladder_entry e;
        for (rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0); rung_ladder_next(&c, &e);)
            if (rung__sparse_get(&s->bans, e.player))
                return "P3: a banned player is ranked";
    }
    if (sketches != b->sketch_count)
        return "S2: the sketches of a board are miscounted";
    const char *wrong = rung__rated_check(b);
    if (!wrong)
        wrong = rung__form_check(b);
    if (!wrong)
        wrong = rung__editions_check(s, b);
    return wrong ? wrong : rung_numbermap_check(&b->rate);
}

static const char *check_key(const rung_state *s, uint32_t number) {
    bool is_board = number < s->board_cap && s->boards[number];
    bool is_set = number < s->set_cap && s->sets[number];
    return is_board + is_set == rung_names_is_used(s->board_ids, number)
               ? NULL
               : "K1: a key is both a board and a set, or neither";
}

/* P2, one way; the number of friendships shows the other. */
static const char *check_friends(const rung_state *s) {
    uint64_t forth = 0, back = 0;
    for (uint32_t p = 0; p < rung_names_span(s->players); p++) {
        const rung__friends *f = rung__sparse_get(&s->friends, p);
        for (uint32_t i = 0; f && i < f->following_count; i++) {
            const rung__friends *other = rung__sparse_get(&s->friends, f->following[i]);
            bool found = false;
            for (uint32_t k = 0; other && k < other->followers_count; k++)
                found = found || other->followers[k] == p;
            if (!found || (i && f->following[i - 1] >= f->following[i]))
                return "P2: a friendship is known to one side only, or out of order";
        }
        forth += f ? f->following_count : 0;
        back += f ? f->followers_count : 0;
    }
    return forth == back && forth == s->friendships ? NULL : "P2: friendships are miscounted";
}

rung_digest rung__facts_digest(const rung_state *s) {
    rung_digest d = rung__people_digest_all(s);
    rung__digest_add(&d, rung__ids_digest_all(s));
    rung__digest_add(&d, rung__sources_digest_all(s));
    rung__digest_add(&d, rung__sessions_digest_all(s));
    rung__digest_add(&d, rung__reviews_digest_all(s));
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i])
            rung__digest_add(&d, rung__board_digest_all(s, s->boards[i]));
    for (uint32_t i = 0; i < s->set_cap; i++)
        if (s->sets[i])
            rung__digest_add(&d, rung__set_digest_all(s, s->sets[i]));
    return d;
}

const char *rung_state_check(const rung_state *s) {
    const char *wrong = rung_names_check(s->players);
    for (uint32_t i = 0; !wrong && i < s->board_cap; i++)
        if (s->boards[i])
            wrong = check_board(s, s->boards[i]);
    for (uint32_t i = 0; !wrong && i < s->set_cap; i++)
        if (s->sets[i])
            wrong = rung__set_check(s, s->sets[i]);
    for (uint32_t i = 0; !wrong && i < rung_names_span(s->board_ids); i++)
        wrong = check_key(s, i);
    if (!wrong)
        wrong = rung__shadow_check(s);
    if (!wrong)
        wrong = rung__expiry_check(s);
    if (!wrong)
        wrong = rung__ids_check(s);
    if (!wrong)
        wrong = rung__sources_check(s);
    if (!wrong)
        wrong = rung__sessions_check(s);
    if (!wrong)
        wrong = rung__reviews_check(s);
    if (!wrong)
        wrong = check_friends(s);
    for (uint32_t i = 0; !wrong && i < s->attribute_cap; i++)
        if (s->attributes[i].users)
            wrong = rung_numbermap_check(&s->attributes[i].of_player);
    rung_digest d = rung__facts_digest(s);
    if (!wrong && (d.a != s->digest.a || d.b != s->digest.b))
        wrong = "D1: the digest is not the sum of the facts";
    return wrong;
}
