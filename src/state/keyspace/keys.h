/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - the state as Redis commands see it: keys that hold a sorted set or a set.
 *
 * A sorted set is a board, and its members are players. A board created by these commands has one real score,
 * descending, update last, ties by member (the larger first), and only the window `all`: its order is exactly that of
 * ZREVRANGE. It is deleted with its last member. These commands also read and write a board defined over HTTP, under
 * the rules of its definition: reads show its `all` window (or its first) and its first score column as a double,
 * ZADD submits a score, ZINCRBY a delta. Such a board stays when it is empty, and no command stores or renames onto
 * it. A set is not a board: only these commands see it.
 *
 * An expired key is absent: for an event by log time, for a reader by its `now`.
 *
 * Changes: a change of one member is a score event with RUNG_SCORE_KEY (event.h) and takes the fast path; everything
 * else is an event of kind RUNG_EVENT_KEYS (model/zcommand.h).
 *
 *     rung_zkey k;
 *     rung_zkey_open(s, RUNG_SLICE("race"), now_ms, &k);
 *     n = rung_zkey_rows(&k, 0, 10, true, rows);          // ZREVRANGE race 0 9 WITHSCORES
 *
 * An index counts from 0 in ascending order of scores (as ZRANGE does), or with `rev` in descending order (as
 * ZREVRANGE does). A rung_zkey and all slices are valid until the next change. Pure; one thread at a time. */
#ifndef RUNG_STATE_KEYSPACE_KEYS_H
#define RUNG_STATE_KEYSPACE_KEYS_H

#include "model/zcommand.h"
#include "state/state.h"

typedef struct rung_zkey_row {
    rung_slice member;
    double score; /* 1 in a set */
} rung_zkey_row;

/* ---- changes ---- */

typedef enum rung_zkey_error {
    RUNG_ZKEY_FINE = 0,
    RUNG_ZKEY_WRONG_TYPE, /* a set where a sorted set is expected, or vice versa */
    RUNG_ZKEY_NAN,        /* the sum is not a number */
    RUNG_ZKEY_NO_SUCH,    /* RENAME of an absent key */
    RUNG_ZKEY_DENIED,     /* only an admin may do this to a defined board */
    RUNG_ZKEY_EXISTS,     /* SKETCH: the key exists */
    /* Refused by a rule of the board, by a limit, or because a defined board has the name; see `err`. */
    RUNG_ZKEY_REFUSED,
} rung_zkey_error;

/* The result of one command. */
typedef struct rung_zkey_result {
    rung_zcommand_kind kind;
    rung_zkey_error error;
    bool changed; /* whether anything changed */
    /* ZADD, SADD: members added. ZREM, SREM, ZREMRANGE, DEL: members or keys removed. Stores: members stored. ZPOP:
     * members popped, in all pieces together. EXPIRE, PERSIST, RENAME: 1 if done, else 0. */
    uint64_t count;
    uint64_t updated; /* ZADD: members whose score changed (CH is count + updated) */
    bool has_score;   /* ZADD with INCR, unless a condition prevented it */
    double score;
    rung_slice key;     /* ZPOP: the key popped from; empty if all keys were absent */
    uint32_t row_count; /* ZPOP: rows of this piece, in order of popping */
    const rung_zkey_row *rows;
    bool more; /* ZPOP, SKETCH_ADD: another piece of the same command follows */
    /* SKETCH_ADD, one piece for each name: its count now; who left the top (empty: nobody); or `err`, why it was not
     * added. `count` is how many names there are, `is_first` true for the first. */
    uint64_t number;
    rung_slice leaver;
    bool is_failed, is_first;
    const rung_err *err; /* when error is RUNG_ZKEY_REFUSED */
} rung_zkey_result;

/* Called right after command i took effect and before the next one; several times for a ZPOP with many members.
 * Slices are valid during the call. It must not change the state. */
typedef void rung_zkey_sink(void *ctx, uint32_t i, const rung_zkey_result *result);

/* Apply an event of kind RUNG_EVENT_KEYS and report each command to `sink` (may be NULL). A command that fails does
 * not stop the others. RUNG_OK, or RUNG_UNCHANGED if none changed anything. */
RUNG_NODISCARD rung_status rung_state_apply_keys(rung_state *s, const rung_event *event,
                                                 rung_zkey_sink *sink, void *ctx, rung_err *err);

/* A member's score after a score event on `key`, as these commands show it. */
double rung_zkey_outcome_score(const rung_state *s, rung_slice key, const rung_outcome *outcome);

/* ---- one key ---- */

typedef enum rung_zkey_kind {
    RUNG_ZKEY_NONE = 0,
    RUNG_ZKEY_ZSET, /* created by these commands */
    RUNG_ZKEY_SET,
    RUNG_ZKEY_BOARD,  /* a defined board; these commands see a sorted set */
    RUNG_ZKEY_SKETCH, /* a sketch board: neither a sorted set nor a set */
} rung_zkey_kind;

typedef struct rung_zkey { /* fields without a comment are private */
    rung_zkey_kind kind;
    uint32_t count; /* members */
    rung_sketch_kind
        sketch; /* of RUNG_ZKEY_SKETCH; and whether it was defined, not made by a command */
    bool is_defined;
    bool has_expiry;
    int64_t expires_ms; /* when has_expiry */
    /* The last event that changed the key, for WATCH; 0: none. Changes of profiles do not count. */
    uint64_t version;
    bool is_ascending;
    const rung_state *state;
    const void *board, *ladder, *set;
    int64_t now_ms;
} rung_zkey;

/* Never fails: an absent key is RUNG_ZKEY_NONE with count 0, and every query below treats it as empty. */
void rung_zkey_open(const rung_state *s, rung_slice name, int64_t now_ms, rung_zkey *out);

/* The scores of members by name, with prefetch. found[i] says whether members[i] is in the key. */
void rung_zkey_scores(const rung_zkey *k, uint32_t n, const rung_slice *members, double *scores,
                      bool *found);
/* The same with the index. `scores` may be NULL. Not for sets. */
void rung_zkey_ranks(const rung_zkey *k, uint32_t n, const rung_slice *members, bool rev,
                     uint32_t *ranks, double *scores, bool *found);
/* Does the key contain the member? For sets and sorted sets. */
bool rung_zkey_has(const rung_zkey *k, rung_slice member);

/* Rows [start, start + count) in either direction. Returns how many it wrote. For sorted sets. */
uint32_t rung_zkey_rows(const rung_zkey *k, uint32_t start, uint32_t count, bool rev,
                        rung_zkey_row *rows);

/* Several pages at once, with prefetch; their rows follow one another. Each page lies within the key: start + count
 * is at most the key's count. */
typedef struct rung_zkey_page {
    uint32_t start, count;
} rung_zkey_page;
void rung_zkey_pages(const rung_zkey *k, uint32_t n, const rung_zkey_page *pages, bool rev,
                     rung_zkey_row *rows);

/* The members of a range as ascending indexes [*first_out, *end_out), empty if equal. A range by member is meaningful
 * only if all scores are equal. O(log n) by rank and score, O(log^2 n) by member. With `rev`, start and stop of a
 * range by rank count from the end; other ranges are unaffected. Ascending index i is descending index count - 1 - i.
 */
void rung_zkey_range(const rung_zkey *k, const rung_range *range, bool rev, uint32_t *first_out,
                     uint32_t *end_out);

/* counts_out[i] = members in ranges[i], each by score; all at once, with prefetch. Not for sets. */
void rung_zkey_counts(const rung_zkey *k, uint32_t n, const rung_range *ranges,
                      uint32_t *counts_out);

/* Iterate in an order that changes of other members do not disturb: a member that is present from the first call to
 * the last is returned at least once. `cursor` 0 starts. Returns the next cursor, 0 at the end. At most `room` rows.
 * For sets and sorted sets. */
uint64_t rung_zkey_scan(const rung_zkey *k, uint64_t cursor, uint32_t room, rung_zkey_row *rows,
                        uint32_t *count_out);

/* Member number `nth` (below count) in some fixed order, for ZRANDMEMBER. O(log n); O(n) for a set. */
void rung_zkey_nth(const rung_zkey *k, uint32_t nth, rung_zkey_row *row);

/* ---- several keys ---- */

typedef struct rung_zkey_list { /* zero before use; release it with rung_zkey_list_free() */
    uint32_t count;
    uint32_t cap; /* this and the fields below are private */
    struct rung__pair *pairs;
    const rung_alloc *alloc;
    const rung_state *state;
} rung_zkey_list;

/* ZUNION, ZINTER, ZDIFF over sorted sets and sets (score 1). `weights` NULL: all 1. An intersection costs as much as
 * its smallest key. RUNG_OK, RUNG_ENOMEM, or RUNG_ELIMIT if the result, or an intermediate one, exceeds `rows_max`
 * rows. */
RUNG_NODISCARD rung_status rung_zkeys_combine(const rung_alloc *alloc, rung_combine_keys combine,
                                              rung_aggregate aggregate, uint32_t n,
                                              const rung_zkey *keys, const double *weights,
                                              uint32_t rows_max, rung_zkey_list *out);
/* Rows from index `from` on, ascending by score, then member. Returns how many, possibly fewer than `room`; 0 at the
 * end. Names are valid until the next change of the state. */
uint32_t rung_zkey_list_read(const rung_zkey_list *list, uint32_t from, uint32_t room,
                             rung_zkey_row *rows);
void rung_zkey_list_free(rung_zkey_list *list);

/* How many members a combination reads. Union: all keys. Intersection: the smallest key, times the number of keys.
 * Difference: the first key times the number of keys, or all keys once, whichever is less. */
typedef struct rung_zkey_sizes { /* zero before use */
    uint64_t n, first, smallest, all;
} rung_zkey_sizes;
static inline void rung_zkey_sizes_add(rung_zkey_sizes *s, uint64_t count) {
    s->first = s->n ? s->first : count;
    s->smallest = s->n && s->smallest < count ? s->smallest : count;
    s->all += count;
    s->n++;
}
uint64_t rung_zkeys_work(rung_combine_keys combine, const rung_zkey_sizes *sizes);

/* ZINTERCARD: how many members all keys share, counting up to `limit` (0: no limit). */
uint64_t rung_zkeys_intersect_count(uint32_t n, const rung_zkey *keys, uint64_t limit);

/* ---- all keys ---- */

uint64_t rung_zkeys_count(const rung_state *s);

/* Iterate over all keys by number; *cursor 0 starts. A key that is present throughout is returned exactly once. false
 * at the end. `name_out` borrows. */
bool rung_zkeys_next(const rung_state *s, int64_t now_ms, uint64_t *cursor, rung_slice *name_out,
                     rung_zkey_kind *kind_out);

#endif
