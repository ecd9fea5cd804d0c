/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the state itself; private to state.
 *
 * Inside, numbers stand for names: players, boards, attributes and attribute values are each interned once. */
#ifndef RUNG_STATE_MACHINE_H
#define RUNG_STATE_MACHINE_H

#include "base/alloc.h"
#include "base/hash.h"
#include "ladder/names.h"
#include "state/ids.h"
#include "state/sessions.h"
#include "state/sources.h"
#include "state/sparse.h"
#include "state/state.h"

struct rung_zkey_result;

#define RUNG__NONE UINT32_MAX
typedef __int128 rung__wide;

enum { RUNG__DEFS = 64 };

/* Tentative scores, see review.c. */
typedef struct rung__reviews {
    struct rung__review *items; /* by id */
    uint32_t *players;          /* of each: looked through often */
    uint32_t count, cap, player_cap;
    int64_t next_ms;            /* none expires before it */
    struct rung_finding *spare; /* for the next one */
    uint32_t spare_count;
} rung__reviews;

struct rung_state {
    const rung_alloc *alloc;
    rung_hash_key hash_key;
    rung_names *players;
    rung_names *board_ids;
    uint32_t keys_max; /* names that keys may use; the rest are reserved for defined boards */
    struct rung__board **boards; /* by number; NULL: deleted, or a set */
    uint32_t board_cap;
    struct rung__set **sets; /* by number, which no board has */
    uint32_t set_cap, set_count;
    uint32_t *expiring; /* numbers of keys that expire: a heap, see keyspace/expiry.c */
    uint32_t expiring_count, expiring_cap;
    uint64_t made_seq, made; /* keys made by this event, for their serials */
    void (*sink)(void *ctx, uint32_t i, const struct rung_zkey_result *result);
    void *sink_ctx;
    /* A cache of definitions in use, by the hash of their bytes; it saves memory and changes no answer. */
    struct rung__def *defs[RUNG__DEFS];
    rung_names *attribute_ids;
    struct rung__attribute *attributes;
    uint32_t attribute_cap;
    rung__sparse profiles, friends, bans;
    int64_t next_ban_end_ms; /* no ban ends by itself before it */
    uint32_t shadow_bans;
    uint32_t ghost;   /* who is shown in spite of a shadow ban, see ghost.c; RUNG__NONE: nobody */
    bool is_ghosting; /* somebody is: what changes is not seen */
    void (*ghost_on_change)(void *ctx, const rung_change *change); /* on_change, meanwhile */
    rung__ids ids;
    rung__sources sources;
    rung__sessions sessions;
    rung__reviews reviews;
    /* The level of rules by which events are applied; 0: before there were levels. */
    uint32_t rules;
    bool has_keys; /* the server that wrote the log had API keys */
    uint64_t seq, refused, friendships;
    uint64_t people_version; /* the last event that changed a profile or ban; not in the digest */
    int64_t time_ms;
    int64_t next_close_ms;           /* never later than the true one */
    int64_t next_reset_ms;           /* likewise: of ratings, at the start of a season */
    rung_digest digest;              /* of all facts; see state.c */
    struct rung__editions *editions; /* of the boards that have timed snapshots */
    int64_t next_edition_ms;         /* none is due before it */
    /* A cache of the last board looked up, under last_name; NULL when the name may have changed hands. */
    struct rung__board *last_board;
    rung_slice last_name;
    void (*on_close)(void *ctx, rung_slice board, const rung_view *view);
    void *on_close_ctx;
    void (*on_change)(void *ctx, const rung_change *change);
    void *on_change_ctx;
    rung_event_kind cause;  /* of the event that is being applied */
    uint64_t ladders_freed; /* how often ladders were freed; not in the digest */
    bool broken;
    uint32_t shadow_count;
    bool is_helper, shadow_skip, is_noting; /* in a helper process, see replay.h */
    rung_numbermap noted;                   /* whose entries in shadows changed */
    struct rung__lookahead *lookahead;      /* of the run that is being applied */
    struct rung__match_room *shadow_room;   /* of those that reach a shadow */
    struct rung__match_room *match_room;    /* working memory of matches; NULL before the first */
    struct rung__match_ahead *match_ahead;  /* of a run of matches; NULL before the first */
    uint32_t match_rows;                    /* of the last event, if it was a match */
};

void *rung__copy_bytes(rung_state *s, const void *bytes, size_t len);
/* Grow an array of `size`-byte items to at least `need`; the new ones are zeroed. */
RUNG_NODISCARD rung_status rung__grow(const rung_alloc *a, void *array_ptr, uint32_t *cap,
                                      uint32_t need, size_t size);
RUNG_NODISCARD rung_status rung__intern_player(rung_state *s, rung_slice id, uint32_t *out);
void rung__forget_player(rung_state *s, uint32_t player); /* the name; nothing else is known */

#endif
