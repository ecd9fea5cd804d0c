/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - one window of a board, with its rankings; private to state. */
#ifndef RUNG_STATE_WINDOW_H
#define RUNG_STATE_WINDOW_H

#include "ladder/ladder.h"
#include "model/board.h"
#include "model/calendar.h"
#include "state/machine.h"

enum {
    RUNG__WINDOWS_MAX = 4096, /* per board; since level 1 only those that begin after log time */
    RUNG__WINDOWS_ALL_MAX = 1 << 17, /* more than any board can have, by `keep` and `grace` */
    /* The last slot is for a team attribute that is not a scope itself. */
    RUNG__SCOPE_SLOTS = RUNG_SCOPES_MAX + 1,
    RUNG__KINDS = 7, /* 0 all, 1..5 calendar, 6 season */
};

typedef struct rung__team {
    rung__wide sum; /* of the members' contributions; not kept for top-k and decay */
    uint32_t members;
} rung__team;

/* The rankings of one scope in one window, by value number. */
typedef struct rung__scope {
    rung_ladder **ladders;
    uint32_t cap;
    rung_arena *arena;              /* holds the nodes of all of them; NULL until the first */
    struct rung__sketch **sketches; /* of a sketch board, instead of ladders; by value number */
    uint32_t sketch_cap;
} rung__scope;

typedef struct rung__window {
    uint32_t kind;
    int64_t ordinal;
    rung_slice season; /* owned */
    int64_t start_ms, end_ms;
    bool closed;
    bool dropped;                /* closed and out of memory; kept so that it does not open again */
    uint64_t tag;                /* identifies the window in digests */
    rung_digest entries;         /* the digest of its entries; as rung__entries_digest() */
    rung_ladder *ladder;         /* empty on a sketch board */
    struct rung__sketch *sketch; /* of a sketch board, while the window is in memory; else NULL */
    rung__scope scopes[RUNG__SCOPE_SLOTS];
    rung_ladder *team_ladder; /* value numbers as players; NULL without teams */
    rung__team *teams;        /* by value number */
    uint32_t team_cap;
    struct rung_hold *holds; /* of readers, see hold.c; not state */
} rung__window;

struct rung__board;

static inline rung_window rung__season_span(const rung_season *season) {
    return (rung_window){0, season->starts_ms, season->ends_ms};
}
/* The calendar window of a kind that contains an instant, by the board's rules. */
RUNG_NODISCARD rung_status rung__window_at(const struct rung__board *b, uint32_t kind,
                                           int64_t at_ms, rung_window *out);
RUNG_NODISCARD rung_status rung__window_span(const struct rung__board *b, uint32_t kind,
                                             int64_t ordinal, rung_window *out);
rung__window *rung__window_find(const struct rung__board *b, uint32_t kind, int64_t ordinal,
                                rung_slice season);
/* A new window, not yet in the board's list. */
rung__window *rung__window_new(rung_state *s, struct rung__board *b, uint32_t kind,
                               const rung_window *span, rung_slice season);
void rung__window_free(rung_state *s, struct rung__board *b, rung__window *w);
/* Of one that is not in the list yet: it will be there as dropped. */
void rung__window_forget_rankings(rung_state *s, struct rung__board *b, rung__window *w);
RUNG_NODISCARD rung_status rung__window_list_reserve(rung_state *s, struct rung__board *b,
                                                     uint32_t more);
void rung__window_list_add(rung_state *s, struct rung__board *b, rung__window *w); /* reserved */
/* May `fresh` windows open, of which `ahead` begin after log time? */
bool rung__window_may_open(const rung_state *s, const struct rung__board *b, uint32_t fresh,
                           uint32_t ahead);
/* Take window i of the board's list away for good. */
void rung__window_remove(rung_state *s, struct rung__board *b, uint32_t i);
/* Open the window if it is not there, and give it this span; close it if it should be closed. RUNG_OK or
 * RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__window_restore(rung_state *s, struct rung__board *b, uint32_t kind,
                                                const rung_window *span, rung_slice season,
                                                bool closed, bool dropped, rung__window **out);
bool rung__window_takes_scores(const rung_state *s, const struct rung__board *b, int64_t end_ms,
                               const rung__window *w);
/* A view of a window's main ranking. */
rung_view rung__window_view(const rung_state *s, const struct rung__board *b,
                            const rung__window *w);

#endif
