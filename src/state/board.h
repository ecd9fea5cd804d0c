/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - a board: its definition, zone rules and windows; private to state. */
#ifndef RUNG_STATE_BOARD_H
#define RUNG_STATE_BOARD_H

#include "base/numbermap.h"
#include "model/board.h"
#include "model/event.h"
#include "model/zone.h"
#include "state/form.h"
#include "state/ids.h"
#include "state/kept.h"
#include "state/keyspace/expiry.h"
#include "state/ratings.h"
#include "state/window.h"

enum {
    RUNG__RULES_MAX = 256,      /* zone changes per board */
    RUNG__SERIAL_SEQ_BITS = 48, /* of a serial: the event; above: which of the keys that it made */
};

/* Zone and day start from some instant on, which differs by kind of window. */
typedef struct rung__rule {
    rung_zone *zone;
    int32_t day_starts_min;
    int64_t from_ms[RUNG__KINDS];
    /* The window that ends there; it stays the current one until this rule gives a later one. */
    int64_t before[RUNG__KINDS];
} rung__rule;

/* A definition. It is large, mostly room for seasons, so boards with the same definition share it, as keys do. */
typedef struct rung__def {
    uint32_t uses;
    rung_slice bytes; /* owned; `def` borrows from them */
    rung_board_def def;
} rung__def;

/* A player's card, see match.c. */
typedef struct rung__rated {
    rung_rating_card card;
    uint64_t last; /* 1 + the number of the player's newest result (kept.h); 0: none */
    uint32_t player;
} rung__rated;

typedef struct rung__board {
    uint32_t number;
    bool has_stash; /* a ban may hold entries of it */
    bool is_key;    /* made by a Redis command and not defined since: deleted when it is empty */
    rung__expiry expiry;
    rung__board_ids ids;
    uint64_t serial;    /* the event that created it: never reused */
    uint64_t id_serial; /* by which submission ids know it: its own, unless a swap changed it */
    struct rung__shadow *shadow; /* owned; NULL: none */
    struct rung__board *twin;    /* the board whose shadow it is; NULL: it is none */
    struct rung__editions
        *editions; /* owned; NULL: the definition has no timed snapshots, or it is a shadow */
    rung__def *shared;
    const rung_board_def *def; /* in `shared` */
    int64_t created_ms;
    /* Windows that ended by then and are not in memory take no scores, whatever `grace` is. */
    int64_t over_ms;
    rung__rule *rules;
    uint32_t rule_count;
    uint32_t scope_count;                  /* slots in use, the hidden one included */
    uint32_t attribute[RUNG__SCOPE_SLOTS]; /* attribute numbers */
    uint32_t team_slot;                    /* RUNG__NONE without teams */
    rung__window **windows;
    uint32_t window_count, window_cap;
    rung__window *current[RUNG__KINDS]; /* a cache: the last window used, of each kind but season */
    uint32_t sketch_count;              /* rankings of a sketch board */
    int64_t rate_minute;
    rung_numbermap rate; /* submissions per player in that minute */
    rung_digest rate_digest;
    rung__forms forms;  /* what rules know of players */
    rung__rated *rated; /* of a rating board: everybody who played */
    uint32_t rated_count, rated_cap;
    rung_numbermap rated_of; /* player -> place in `rated` */
    rung_digest rated_digest;
    rung__kept kept;   /* the last matches */
    uint64_t *removed; /* sequences of matches that a replay left out, ascending */
    uint32_t removed_count;
    uint64_t kept_sent;   /* of a shadow in a helper: kept matches before it are in its parts */
    uint64_t version;     /* the last event that changed something visible; not in the digest */
    uint64_t submissions; /* since it is in memory, refused ones included; not in the digest */
} rung__board;

rung__board *rung__board_find(const rung_state *s, rung_slice id);
/* The next window of any board, and its board; NULL at the end. Both positions begin at 0. */
rung__window *rung__next_window(const rung_state *s, uint32_t *board, uint32_t *window,
                                rung__board **b_out);
/* Since level 1 a hundredth of the names is reserved for defined boards: clients that create keys by the million cannot
 * keep an admin from defining a board. */
bool rung__key_may_be_made(const rung_state *s);
/* A number that is never reused, for a board or set that this event makes. */
uint64_t rung__serial_new(rung_state *s);
RUNG_NODISCARD rung_status rung__board_create(rung_state *s, rung_slice id,
                                              const rung_board_def *def, bool is_key,
                                              rung__board **out, rung_err *err);
/* Delete a board and all that belongs to it. */
void rung__board_delete(rung_state *s, rung__board *b);
void rung__board_free(rung_state *s, rung__board *b);
/* The board's facts: subtract before one of them changes, add after. */
rung_digest rung__board_digest(const rung_state *s, const rung__board *b);
/* Recomputed with its windows, entries and rates, for the self-check. */
rung_digest rung__board_digest_all(const rung_state *s, const rung__board *b);
/* Recompute those of the windows' entries, which the one above adds up. */
void rung__board_renew_digests(rung__board *b);
/* The facts about a player's entry, all entries of a window, a player's submissions in the board's minute. */
rung_digest rung__entry_digest(const rung__board *b, const rung__window *w, uint32_t player,
                               const uint64_t *key);
rung_digest rung__entries_digest(const rung__board *b, const rung__window *w);
rung_digest rung__rate_digest(const rung__board *b, uint32_t player, uint32_t count);
/* Get the attribute numbers of the definition's slots, and count each as used. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__board_use_slots(rung_state *s, rung__board *b);
/* Values of an entry; decayed ones as of now. */
void rung__key_values(const rung__board *b, const uint64_t *key, int64_t now_ms, rung_value *values,
                      int64_t *at_ms);

/* May apply have made this key, and this window of the definition? */
bool rung__key_is_valid(const rung_board_def *def, const uint64_t *key);
bool rung__window_is_valid(const rung_board_def *def, uint32_t kind, const rung_window *span,
                           rung_slice season);
/* Change a board as an event would that defines it. */
RUNG_NODISCARD rung_status rung__board_change(rung_state *s, rung__board *b,
                                              const rung_board_def *def, rung_err *err);

RUNG_NODISCARD rung_status rung__apply_define(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_delete(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_window(rung_state *s, const rung_event *e, rung_err *err);
/* Close every window that is due. */
RUNG_NODISCARD rung_status rung__apply_tick(rung_state *s, const rung_event *e, rung_err *err);

/* Use the definition encoded in `bytes`. Takes ownership of `bytes` and frees them if it fails or if the same
 * definition is in use already. RUNG_OK, RUNG_ENOMEM, or an error of rung_board_def_decode(). */
RUNG_NODISCARD rung_status rung__def_use(rung_state *s, char *bytes, size_t size, rung__def **out,
                                         rung_err *err);
void rung__def_unuse(rung_state *s, rung__def *d); /* accepts NULL */

#endif
