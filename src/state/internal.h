/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of this room share: the state's inside.
 *
 *   state.c    life, apply, digest, statistics       board.c    definitions, windows, closing
 *   score.c    submissions                           ranking.c  one window: everybody, scopes, teams
 *   people.c   profiles, friends, bans, erasure      ids.c      submissions seen before
 *   view.c     every question                        check.c    invariants
 *   save.c     all of it as bytes                    load.c     and back
 *   keys.c     commands of the Redis protocol        key_read.c, key_combine.c  its questions
 *   set.c      sets of members                       expiry.c   keys whose time ends
 *
 * Numbers instead of names inside: a player, a board, an attribute and an attribute's values are each interned once. */
#ifndef RUNG_STATE_INTERNAL_H
#define RUNG_STATE_INTERNAL_H

#include "base/assert.h"
#include "base/hash.h"
#include "base/numbermap.h"
#include "ladder/ladder.h"
#include "ladder/names.h"
#include "state/state.h"

typedef __int128 rung__wide;
struct rung_zkey_result;

enum {
    RUNG__WINDOWS_MAX = 4096, /* per board; since level 1: of those that begin after log time */
    RUNG__WINDOWS_ALL_MAX = 1 << 17, /* more than any board can have, by `keep` and `grace` */
    RUNG__RULES_MAX = 256,           /* zone changes per board */
    RUNG__SCOPE_SLOTS =
        RUNG_SCOPES_MAX + 1,    /* the last may be the team attribute, when it is no scope itself */
    RUNG__KINDS = 7,            /* 0 all, 1..5 calendar, 6 season */
    RUNG__SERIAL_SEQ_BITS = 48, /* of a serial: the event; above: which of the keys that it made */
};
#define RUNG__NONE UINT32_MAX

/* A table from players to pointers, for what only some players have. Zero is empty. */
typedef struct rung__sparse {
    rung_numbermap map;
    void **items;
    uint32_t count, cap; /* slots in use, allocated */
    uint32_t free_head;  /* 1 + a free slot, chained through the items; 0: none */
} rung__sparse;

void *rung__sparse_get(const rung__sparse *r, uint32_t player);
RUNG_NODISCARD rung_status rung__sparse_put(rung__sparse *r, const rung_alloc *a, uint32_t player,
                                            void *item);
void rung__sparse_remove(rung__sparse *r,
                         uint32_t player); /* the item is the caller's to free, before */
void rung__sparse_deinit(rung__sparse *r, const rung_alloc *a);

/* An attribute that some board ranks by. */
typedef struct rung__attribute {
    rung_slice name;          /* owned */
    rung_names *values;       /* value <-> number */
    rung_numbermap of_player; /* player -> value number */
    uint32_t users;           /* boards that rank by it */
} rung__attribute;

typedef struct rung__team {
    rung__wide sum; /* of the members' contributions; not kept for top-k and decay */
    uint32_t members;
} rung__team;

/* The rankings of one scope in one window, by value number. */
typedef struct rung__scope {
    rung_ladder **ladders;
    uint32_t cap;
    rung_arena *arena; /* of all of them; NULL while there is none */
} rung__scope;

typedef struct rung__window {
    uint32_t kind;
    int64_t ordinal;
    rung_slice season; /* owned */
    int64_t start_ms, end_ms;
    bool closed;
    bool dropped; /* closed and already out of memory: only remembered so as not to open again */
    uint64_t tag; /* names the window in digests */
    rung_ladder *ladder;
    rung__scope scopes[RUNG__SCOPE_SLOTS];
    rung_ladder *team_ladder; /* value numbers as players; NULL without teams */
    rung__team *teams;        /* by value number */
    uint32_t team_cap;
} rung__window;

/* Zone and day start from some instant on, which differs by kind of window. */
typedef struct rung__rule {
    rung_zone *zone;
    int32_t day_starts_min;
    int64_t from_ms[RUNG__KINDS];
    int64_t before
        [RUNG__KINDS]; /* the window that ends there; it goes on until this rule comes to a later one */
} rung__rule;

/* When a key's time ends. Zero: never. */
typedef struct rung__expiry {
    int64_t at_ms;
    uint32_t place; /* 1 + its place in the heap of expiry.c; 0: it has no end */
} rung__expiry;

/* A board's share of the remembered ids, since level 1. */
typedef struct rung__board_ids {
    uint32_t count;
    uint32_t first, last; /* in order of arrival, while there are any */
    uint32_t place;       /* 1 + its place in rung__ids.largest; 0 without ids */
    int64_t horizon_ms;   /* INT64_MIN: none left for lack of room */
} rung__board_ids;

/* A definition. Most of it is room for seasons, so boards of one definition, as all keys are, have one together. */
typedef struct rung__def {
    uint32_t uses;
    rung_slice bytes; /* owned; `def` borrows from them */
    rung_board_def def;
} rung__def;

typedef struct rung__board {
    uint32_t number;
    bool has_stash; /* a ban may hold entries of it */
    bool
        is_key; /* made by a command of the Redis protocol, and not defined since: goes when it is empty */
    rung__expiry expiry;
    rung__board_ids ids;
    uint64_t serial;           /* the event that created it: unique for ever */
    rung__def *shared;         /* the definition, with others of the same bytes ... */
    const rung_board_def *def; /* ... in it */
    int64_t created_ms;
    int64_t
        over_ms; /* windows that ended by then and are not in memory take no scores, whatever `grace` became */
    rung__rule *rules;
    uint32_t rule_count;
    uint32_t scope_count;                  /* slots in use, the hidden one included */
    uint32_t attribute[RUNG__SCOPE_SLOTS]; /* attribute numbers */
    uint32_t team_slot;                    /* RUNG__NONE without teams */
    rung__window **windows;
    uint32_t window_count, window_cap;
    rung__window
        *current[RUNG__KINDS]; /* last window used of each calendar kind and all; a shortcut */
    int64_t rate_minute;
    rung_numbermap rate; /* submissions per player in that minute */
    rung_digest rate_digest;
    uint64_t version;     /* the last event that changed something visible; not part of the state */
    uint64_t submissions; /* since it is in memory, refused ones too; not part of the state */
} rung__board;

/* A set of members, under a number of its own among the boards. */
typedef struct rung__set {
    uint32_t number;
    uint32_t count;
    uint64_t serial, version; /* as a board's */
    rung__expiry expiry;
    uint32_t *list; /* ascending, while there are few */
    uint32_t list_cap;
    rung_numbermap *map; /* instead, once there were many; the values mean nothing */
} rung__set;

/* An entry that a ban took out. */
typedef struct rung__stashed {
    uint64_t board_serial;
    uint64_t window_tag;
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    uint32_t values[RUNG__SCOPE_SLOTS]; /* the scopes it was in, for closed windows */
    uint32_t attributes[RUNG__SCOPE_SLOTS];
    uint32_t scope_count;
} rung__stashed;

typedef struct rung__ban {
    uint32_t count, cap;
    rung__stashed entries[];
} rung__ban;

typedef struct rung__friends {
    uint32_t *following, *followers; /* following ascending, followers in no order */
    uint32_t following_count, following_cap, followers_count, followers_cap;
} rung__friends;

typedef struct rung__profile {
    uint32_t count;
    uint32_t bytes; /* of the packed attributes */
    char packed[];  /* each: u8 length, name, u16 little-endian length, value */
} rung__profile;

/* One window that a submission reaches, and what becomes of the player's entry there. */
typedef struct rung__reach {
    rung__window *window; /* NULL: to be opened */
    bool fresh;           /* made by this submission */
    bool existed;
    uint32_t kind; /* this and the next two only of a window to be opened */
    rung_window span;
    rung_slice season;
    uint64_t old_key[RUNG_LADDER_WORDS_MAX];
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    rung_value candidate; /* the first column that was up for entry */
} rung__reach;

/* What was found out about a submission ahead of its turn. Only speed depends on it. */
enum { RUNG__DEFS = 64 };
enum { RUNG__AIM_KINDS = 6, RUNG__AIM_SLOTS = 2, RUNG__AHEAD_RING = 32, RUNG__AHEAD_HASHES = 256 };
typedef struct rung__aim {
    const rung_score_event *event;
    int64_t ts_ms;
    uint64_t hash;   /* of the player's id */
    uint32_t player; /* RUNG_PLAYER_NONE: look it up */
    /* `reached` holds, if it is still time_ms and the same board when the turn comes. */
    bool prepared;
    uint32_t count; /* windows reached; 0: the submission is left to its turn */
    int64_t time_ms;
    rung__board *board;               /* while aiming */
    uint64_t serial;                  /* of the board */
    uint32_t slot_count;              /* scopes looked at */
    uint32_t values[RUNG__AIM_SLOTS]; /* the player's in the first slots */
    uint32_t slots[RUNG__AIM_KINDS];  /* by place in `reached`: which slots have hints */
    rung__reach reached[RUNG__AIM_KINDS];
    rung_ladder_hint main[RUNG__AIM_KINDS];
    rung_ladder_move slot[RUNG__AIM_KINDS][RUNG__AIM_SLOTS];
    uint32_t way_count;
    rung_ladder_way ways[RUNG__AIM_KINDS * (1 + 2 * RUNG__AIM_SLOTS)];
} rung__aim;

/* A run of submissions, applied one after the other, each looked at ahead of its turn. */
typedef const rung_score_event *(*rung__ahead_source)(const void *ctx, uint32_t i, int64_t *ts_ms);
typedef struct rung__ahead {
    uint32_t n, turn, tick; /* of n, whose turn is next, and how many were begun */
    uint32_t first_step;
    uint64_t demolished; /* the state's */
    rung__ahead_source get;
    const void *ctx;
    /* What the last submission reached, if all of it was there: so do others to that board at these times. */
    const rung__board *board; /* NULL: nothing is known */
    uint64_t serial;
    int64_t time_ms, at_ms;
    uint32_t count;
    rung__window *windows[RUNG__AIM_KINDS];
    uint8_t under_way[RUNG__AHEAD_HASHES]; /* how many players are, by their hashes */
    rung__aim ring[RUNG__AHEAD_RING];      /* of those under way, by their number in the run */
} rung__ahead;

/* A submission seen before, and its answer. */
typedef struct rung__id_record {
    uint64_t body; /* hash of what must be the same */
    int64_t effective_ms;
    uint32_t prev, next;             /* of all */
    uint32_t board_prev, board_next; /* of the board's */
    rung__board *board;              /* whose share it is in; NULL below level 1 */
    uint32_t next_player;            /* RUNG__NONE: nobody above, or erased since */
    bool changed, has_next;
    uint8_t value_count;
    uint32_t rank_before, rank, total, passed;
    uint64_t seq;
    double percentile;
    rung_value values[RUNG_COLUMNS_MAX];
    rung_value gap;
} rung__id_record;

typedef struct rung__ids {
    rung_names *table; /* board serial + id -> record number */
    rung__id_record **chunks;
    uint32_t chunk_count;
    uint32_t first, last; /* order of arrival; RUNG__NONE when empty */
    uint32_t capacity;
    int64_t keep_ms;
    int64_t horizon_ms;
    rung__board **largest; /* boards that have ids: a heap, the one with the most on top */
    uint32_t largest_count, largest_cap;
    size_t bytes;
} rung__ids;

struct rung_state {
    const rung_alloc *alloc;
    rung_hash_key hash_key;
    rung_names *players;
    rung_names *board_ids;
    uint32_t keys_max;    /* names that keys may take; the rest is for boards with rules */
    rung__board **boards; /* by number; NULL where deleted, or a set */
    uint32_t board_cap;
    rung__set **sets; /* by number, of those numbers that are no boards */
    uint32_t set_cap, set_count;
    uint32_t *expiring; /* numbers of keys whose time ends: a heap, see expiry.c */
    uint32_t expiring_count, expiring_cap;
    uint64_t made_seq, made; /* keys made by this event, for their serials */
    void (*sink)(void *ctx, uint32_t i, const struct rung_zkey_result *result);
    void *sink_ctx;
    rung__def *defs
        [RUNG__DEFS]; /* some of those in use, by the hash of their bytes; only memory depends on it */
    rung_names *attribute_ids;
    rung__attribute *attributes;
    uint32_t attribute_cap;
    rung__sparse profiles, friends, bans;
    rung__ids ids;
    uint32_t rules; /* the level by which events are applied; 0: before there were levels */
    bool has_keys;  /* the server that wrote the log had keys */
    uint64_t seq, refused, friendships;
    uint64_t
        people_version; /* the last event that changed a profile or a ban; not part of the state */
    int64_t time_ms;
    int64_t next_close_ms;   /* never later than the true one */
    rung_digest digest;      /* of all facts; see state.c */
    rung__board *last_board; /* a shortcut, under last_name; NULL when that may have changed */
    rung_slice last_name;
    void (*on_close)(void *ctx, rung_slice board, const rung_view *view);
    void *on_close_ctx;
    uint64_t demolished; /* how often rankings were given up; not part of the state */
    bool broken;
    rung__ahead ahead; /* of the run that is being applied */
};

/* ---- facts and digest (state.c) ---- */

typedef enum rung__fact {
    RUNG__FACT_PLAYER = 1,
    RUNG__FACT_ENTRY,
    RUNG__FACT_PROFILE,
    RUNG__FACT_FOLLOW,
    RUNG__FACT_BAN,
    RUNG__FACT_STASHED,
    RUNG__FACT_BOARD,
    RUNG__FACT_RULE,
    RUNG__FACT_WINDOW,
    RUNG__FACT_ID,
    RUNG__FACT_RATE,
    RUNG__FACT_KEY,
    RUNG__FACT_SET,
    RUNG__FACT_MEMBER,
    RUNG__FACT_RULES,
    RUNG__FACT_HORIZON,
} rung__fact;

static inline rung_digest rung__fact_digest(rung__fact fact, uint64_t x, uint64_t y,
                                            const uint64_t *words, uint32_t count) {
    uint64_t h = rung_hash_word((uint64_t)fact * UINT64_C(0x9e3779b97f4a7c15) + x);
    h = rung_hash_word(h ^ y) + UINT64_C(0x2545f4914f6cdd1d);
    for (uint32_t i = 0; i < count; i++)
        h = rung_hash_word(h ^ words[i]) + i;
    return (rung_digest){h, rung_hash_word(h ^ UINT64_C(0x6a09e667f3bcc909))};
}

static inline void rung__digest_add(rung_digest *d, rung_digest fact) {
    d->a += fact.a;
    d->b += fact.b;
}

static inline void rung__digest_subtract(rung_digest *d, rung_digest fact) {
    d->a -= fact.a;
    d->b -= fact.b;
}

/* Of bytes, the same on every machine. */
uint64_t rung__bytes_hash(const void *bytes, size_t len);
void rung__bytes_hash_many(const rung_slice *bytes, size_t n, uint64_t *hashes_out);

/* Recomputed from what is there, for the self-check: a board with its windows, entries and rates; all players;
 * all ids. */
rung_digest rung__board_digest_all(const rung_state *s, const rung__board *b);
rung_digest rung__people_digest_all(const rung_state *s);
rung_digest rung__ids_digest_all(const rung_state *s);

/* ---- definitions (board.c) ---- */

/* Use a definition by its bytes, of which the state's own copy is taken over: they are given back if it fails, or if
 * another has them. RUNG_OK, RUNG_ENOMEM, or what rung_board_def_decode() says. */
RUNG_NODISCARD rung_status rung__def_use(rung_state *s, char *bytes, size_t size, rung__def **out,
                                         rung_err *err);
void rung__def_unuse(rung_state *s, rung__def *d); /* NULL is fine */

/* ---- small things (state.c) ---- */

void *rung__copy_bytes(rung_state *s, const void *bytes, size_t len);
/* Grow an array of `size`-byte items to at least `need`, new ones zeroed. */
RUNG_NODISCARD rung_status rung__grow(const rung_alloc *a, void *array_ptr, uint32_t *cap,
                                      uint32_t need, size_t size);
RUNG_NODISCARD rung_status rung__intern_player(rung_state *s, rung_slice id, uint32_t *out);

/* ---- boards and windows (board.c) ---- */

rung__board *rung__board_find(const rung_state *s, rung_slice id);
/* Since level 1 the last hundredth of the names is kept for boards with rules: whoever makes keys by the million keeps
 * no admin from defining a board. */
bool rung__key_may_be_made(const rung_state *s);
/* A number unique for ever, for a board or set that this event makes. */
uint64_t rung__serial_new(rung_state *s);
RUNG_NODISCARD rung_status rung__board_create(rung_state *s, rung_slice id,
                                              const rung_board_def *def, bool is_key,
                                              rung__board **out, rung_err *err);
/* Take a board away, with all that belongs to it. */
void rung__board_delete(rung_state *s, rung__board *b);
/* Give a board another name that nobody has. RUNG_OK, RUNG_ELIMIT: there are as many names as there may be, or
 * RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__board_rename(rung_state *s, rung__board *b, rung_slice id);
/* Its facts, to be subtracted before one of them changes and added after. */
rung_digest rung__board_digest(const rung_state *s, const rung__board *b);
RUNG_NODISCARD rung_status rung__apply_define(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_delete(rung_state *s, rung_slice board, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_window(rung_state *s, const rung_event *e, bool open,
                                              rung_err *err);
/* Close every window that is due. */
RUNG_NODISCARD rung_status rung__apply_tick(rung_state *s);
void rung__board_free(rung_state *s, rung__board *b);

/* The calendar window of a kind that contains an instant, by the board's rules. */
RUNG_NODISCARD rung_status rung__window_at(const rung__board *b, uint32_t kind, int64_t at_ms,
                                           rung_window *out);
RUNG_NODISCARD rung_status rung__window_span(const rung__board *b, uint32_t kind, int64_t ordinal,
                                             rung_window *out);
rung__window *rung__window_find(const rung__board *b, uint32_t kind, int64_t ordinal,
                                rung_slice season);
/* A fresh window, not yet among the board's. */
rung__window *rung__window_new(rung_state *s, rung__board *b, uint32_t kind,
                               const rung_window *span, rung_slice season);
void rung__window_free(rung_state *s, rung__board *b, rung__window *w);
RUNG_NODISCARD rung_status rung__window_list_reserve(rung_state *s, rung__board *b, uint32_t more);
void rung__window_list_add(rung_state *s, rung__board *b, rung__window *w); /* room was reserved */
/* May `fresh` windows open, of which `ahead` begin after log time? */
bool rung__window_may_open(const rung_state *s, const rung__board *b, uint32_t fresh,
                           uint32_t ahead);
bool rung__window_takes_scores(const rung_state *s, const rung__board *b, int64_t end_ms,
                               const rung__window *w);

/* ---- one window's rankings (ranking.c) ---- */

uint32_t rung__value_of(const rung_state *s, const rung__board *b, uint32_t slot, uint32_t player);
/* A window's main ranking, empty. */
RUNG_NODISCARD rung_status rung__ranking_create(const rung_state *s, const rung__board *b,
                                                rung__window *w);
/* Have a ladder for a value of a slot. */
RUNG_NODISCARD rung_status rung__ranking_open_value(rung_state *s, const rung__board *b,
                                                    rung__window *w, uint32_t slot, uint32_t value);
/* All memory that a put of this player in this window may need. */
RUNG_NODISCARD rung_status rung__ranking_secure(rung_state *s, rung__board *b, rung__window *w,
                                                uint32_t player, bool is_new);
/* Where the puts of one window are headed. */
typedef struct rung__hints {
    const rung_ladder_hint *main;  /* NULL: none */
    const rung_ladder_move *slots; /* RUNG__AIM_SLOTS of them, those in `mask` filled */
    uint32_t mask;
} rung__hints;

/* Put: main ranking, scopes, team, digest. `old` is the key that the player has there; NULL: none. Fails only if the
 * board has no scopes and the main ranking was not secured, and then changes nothing. */
RUNG_NODISCARD rung_status rung__ranking_put(rung_state *s, rung__board *b, rung__window *w,
                                             uint32_t player, const uint64_t *old,
                                             const uint64_t *key, const rung__hints *hints,
                                             rung_ladder_change *change);
/* Take out. `values` (may be NULL) receives the scope values it was in. RUNG_NOT_FOUND when not ranked. */
rung_status rung__ranking_remove(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                 uint32_t *values);
/* Put back what a ban took out; in a closed window into the given scope values. */
RUNG_NODISCARD rung_status rung__ranking_restore(rung_state *s, rung__board *b, rung__window *w,
                                                 uint32_t player, const uint64_t *key,
                                                 const uint32_t *values);
/* The player's value of a slot changed from `old` to `now` (RUNG__NONE: none). Window open. */
RUNG_NODISCARD rung_status rung__ranking_rescope(rung_state *s, rung__board *b, rung__window *w,
                                                 uint32_t slot, uint32_t player, uint32_t old,
                                                 uint32_t now);
/* Fill one empty slot of a window from its main ranking, by the attributes of the moment; the teams from their slot. */
RUNG_NODISCARD rung_status rung__ranking_fill_slot(rung_state *s, rung__board *b, rung__window *w,
                                                   uint32_t slot);
RUNG_NODISCARD rung_status rung__ranking_fill_teams(rung_state *s, rung__board *b, rung__window *w);
void rung__ranking_drop_slot(rung_state *s, rung__window *w, uint32_t slot);
void rung__ranking_drop_teams(rung_state *s, rung__window *w);
/* The score column of the team ranking. */
rung_column rung__team_column(const rung__board *b);
uint64_t rung__team_key(const rung__board *b, const rung__window *w, uint32_t value);

/* A view of a window's main ranking. */
rung_view rung__window_view(const rung_state *s, const rung__board *b, const rung__window *w);

/* Values of an entry; decay as of now. */
void rung__key_values(const rung__board *b, const uint64_t *key, int64_t now_ms, rung_value *values,
                      int64_t *at_ms);

/* ---- people (people.c) ---- */

RUNG_NODISCARD rung_status rung__apply_profile(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_erase(rung_state *s, rung_slice player, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_friend(rung_state *s, const rung_event *e, bool add,
                                              rung_err *err);
RUNG_NODISCARD rung_status rung__apply_friends(rung_state *s, const rung_event *e, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_ban(rung_state *s, rung_slice player, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_unban(rung_state *s, rung_slice player, rung_err *err);
RUNG_NODISCARD rung_status rung__apply_remove_entry(rung_state *s, const rung_event *e,
                                                    rung_err *err);
/* Start or stop ranking by an attribute on behalf of one board. */
RUNG_NODISCARD rung_status rung__attribute_use(rung_state *s, rung_slice name,
                                               uint32_t *number_out);
void rung__attribute_unuse(rung_state *s, uint32_t number);
/* Learn every player's value of an attribute from the profiles. */
RUNG_NODISCARD rung_status rung__attribute_fill(rung_state *s, rung__attribute *a);
/* p follows q. RUNG_OK, RUNG_UNCHANGED or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__follow(rung_state *s, uint32_t p, uint32_t q);
void rung__people_deinit(rung_state *s);
/* Take a player out of all windows of a board, be it that a ban did so already. RUNG_OK or RUNG_UNCHANGED. */
rung_status rung__entry_remove(rung_state *s, rung__board *b, uint32_t player);
/* Do bans hold entries of a board? */
bool rung__stash_has(const rung_state *s, uint64_t board_serial);
/* A board has another number: put what bans hold of it in its place again. */
void rung__stash_sort(rung_state *s, uint64_t board_serial);
/* A board or window went: nobody's ban can give entries back to it. */
void rung__stash_forget(rung_state *s, uint64_t board_serial, const uint64_t *window_tag);
/* A board ranks by an attribute no longer: what banned players had there is forgotten. */
void rung__stash_drop_attribute(rung_state *s, uint64_t board_serial, uint32_t attribute);
/* A board ranks by one more attribute, that of a slot: what banned players have there now is remembered. After what it
 * no longer ranks by was dropped. */
void rung__stash_add_attribute(rung_state *s, const rung__board *b, uint32_t slot);
/* The entry that a ban holds of the view's window, or NULL. */
const rung__stashed *rung__held_entry(const rung_view *v, const rung__ban *ban);
/* The scope values of a stashed entry, arranged for the slots the board has now. */
void rung__stashed_values(const rung_state *s, const rung__board *b, uint32_t player,
                          const rung__stashed *e, uint32_t *values);
bool rung__profile_next(const rung__profile *p, uint32_t *offset, rung_attribute *out);

/* ---- submissions (score.c, ids.c) ---- */

RUNG_NODISCARD rung_status rung__apply_score(rung_state *s, const rung_score_event *e,
                                             const rung__aim *aim, rung_outcome *out,
                                             rung_err *err);
/* A run of `n` submissions begins. Then, for each in turn, rung__ahead_next() gives what is to be applied with it;
 * nothing else is applied in between. */
void rung__ahead_begin(rung_state *s, uint32_t n, rung__ahead_source get, const void *ctx);
const rung__aim *rung__ahead_next(rung_state *s);

RUNG_NODISCARD rung_status rung__ids_create(rung_state *s, const rung_state_config *config);
rung_status rung__apply_ids(rung_state *s, uint32_t capacity, int64_t keep_ms);
void rung__ids_destroy(rung_state *s);
/* RUNG_DUPLICATE (out filled), RUNG_ECONFLICT, RUNG_ESTALE, RUNG_EFUTURE, or RUNG_NOT_FOUND: never seen. */
rung_status rung__ids_look(rung_state *s, const rung__board *b, const rung_score_event *e,
                           rung_outcome *out);
/* Secure a record for an id not remembered; `old_out`: that of the same id, still in the list though too old to
 * count. Then remember, or give a new one back. */
RUNG_NODISCARD rung_status rung__ids_claim(rung_state *s, const rung__board *b, rung_slice id,
                                           uint32_t *record_out, bool *old_out);
void rung__ids_unclaim(rung_state *s, uint32_t record);
void rung__ids_remember(rung_state *s, rung__board *b, uint32_t record, bool old,
                        const rung_score_event *e, const rung_outcome *out);
/* Level 1 begins, or a state of that level was loaded: give every board its ids. Those of boards that are gone are
 * forgotten. */
RUNG_NODISCARD rung_status rung__ids_share_out(rung_state *s);
/* A board goes, and its ids with it. */
void rung__ids_forget_board(rung_state *s, rung__board *b);
rung_digest rung__ids_horizon_digest(const rung__board *b);
const char *rung__ids_check(const rung_state *s);
void rung__ids_forget_player(rung_state *s, uint32_t player);
size_t rung__ids_count(const rung_state *s);
rung__id_record *rung__ids_record(const rung_state *s, uint32_t i);
/* Add to the end of the list a record under its key in the table: the board's serial in 8 bytes, the lowest
 * first, and the id. RUNG_UNCHANGED: there is one already. */
RUNG_NODISCARD rung_status rung__ids_restore(rung_state *s, rung_slice key,
                                             const rung__id_record *record);

/* ---- keys (keys.c, set.c, expiry.c) ---- */

RUNG_NODISCARD rung_status rung__apply_keys(rung_state *s, const rung_event *e, rung_err *err);
/* A new board for a score that names a key nobody has. RUNG_EUNSUPPORTED: a set has the name. */
RUNG_NODISCARD rung_status rung__zset_make(rung_state *s, rung_slice name, rung__board **out,
                                           rung_err *err);
/* Take away a board or set by its number. */
void rung__key_delete(rung_state *s, uint32_t number);

rung__set *rung__set_find(const rung_state *s, rung_slice name);
RUNG_NODISCARD rung_status rung__set_create(rung_state *s, rung_slice name, rung__set **out,
                                            rung_err *err);
void rung__set_delete(rung_state *s, rung__set *set);
void rung__set_free(rung_state *s, rung__set *set);
RUNG_NODISCARD rung_status rung__set_rename(rung_state *s, rung__set *set, rung_slice name);
rung_digest rung__set_digest(const rung_state *s, const rung__set *set); /* without its members */
rung_digest rung__set_digest_all(const rung_state *s, const rung__set *set);
bool rung__set_has(const rung__set *set, uint32_t player);
/* RUNG_OK, RUNG_UNCHANGED or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__set_add(rung_state *s, rung__set *set, uint32_t player);
rung_status rung__set_remove(rung_state *s, rung__set *set, uint32_t player);
/* Members from `from` on, ascending; returns how many. */
uint32_t rung__set_list(const rung__set *set, uint32_t from, uint32_t *players, uint32_t room);
size_t rung__set_memory(const rung__set *set);
const char *rung__set_check(const rung_state *s, const rung__set *set);

/* The expiry of a board or set; NULL if nobody has the number. */
rung__expiry *rung__expiry_of(const rung_state *s, uint32_t number);
/* Secure memory for one more. */
RUNG_NODISCARD rung_status rung__expiry_reserve(rung_state *s);
/* Its time ends at at_ms; was reserved. Digests are the caller's business. */
void rung__expiry_set(rung_state *s, uint32_t number, int64_t at_ms);
void rung__expiry_clear(rung_state *s, uint32_t number);
/* The key now has another number, under which it is in the tables already. */
void rung__expiry_renumber(rung_state *s, uint32_t number);
/* The first end; INT64_MAX: none. */
int64_t rung__expiry_next(const rung_state *s);
/* Take away every key whose time is over. Are there any? */
bool rung__expiry_purge(rung_state *s);
const char *rung__expiry_check(const rung_state *s);

#endif
