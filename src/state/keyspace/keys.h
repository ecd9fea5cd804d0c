/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - the state in the words of the Redis protocol: keys that are sorted sets or sets of members.
 *
 * A sorted set is a board, a member a player. One that came to be through these commands has one real score, desc,
 * update last, ties by member (the larger first), all of time: from the best on its order is exactly that of
 * ZREVRANGE. It goes when its last member goes. A board with rules of its own (defined over HTTP, or redefined there)
 * can be read and written, too, under those rules: reads show its `all` window (or its first) and its first score
 * column as a double, ZADD is a submission, ZINCRBY one of a delta; it stays when it is empty, and no command stores
 * or renames onto it. A set is no board: nothing but these commands sees it.
 *
 * A key whose time is over is absent, for an event by log time, for a reader by its `now`.
 *
 * Changes: one member at a time as a score event with RUNG_SCORE_KEY (event.h), through the fast path; everything
 * else as an event of kind RUNG_EVENT_KEYS (model/zcommand.h).
 *
 *     rung_zkey k;
 *     rung_zkey_open(s, RUNG_SLICE("race"), now_ms, &k);
 *     n = rung_zkey_rows(&k, 0, 10, true, rows);          // ZREVRANGE race 0 9 WITHSCORES
 *
 * "Index" counts from 0 in ascending order of scores (ZRANGE's), with `rev` in descending order (ZREVRANGE's). A
 * rung_zkey and all slices are valid until the next change. Pure; one thread at a time. */
#ifndef RUNG_STATE_KEYSPACE_KEYS_H
#define RUNG_STATE_KEYSPACE_KEYS_H

#include "model/zcommand.h"
#include "state/state.h"

typedef struct rung_zkey_row {
    rung_slice member;
    double score; /* of a set: 1 */
} rung_zkey_row;

/* ---- changes ---- */

typedef enum rung_zkey_error {
    RUNG_ZKEY_FINE = 0,
    RUNG_ZKEY_WRONG_TYPE, /* a set where a sorted set is wanted, or the other way round */
    RUNG_ZKEY_NAN,        /* the sum is not a number */
    RUNG_ZKEY_NO_SUCH,    /* RENAME of a key that is not there */
    RUNG_ZKEY_DENIED,     /* only an admin may do this to a board with rules of its own */
    RUNG_ZKEY_REFUSED, /* a rule of the board, a limit, a board with rules of its own in the way: `err` says it */
} rung_zkey_error;

/* What became of one command. */
typedef struct rung_zkey_result {
    rung_zcommand_kind kind;
    rung_zkey_error error;
    bool changed; /* anything at all */
    uint64_t
        count; /* ZADD, SADD: members added; ZREM, SREM, ZREMRANGE, DEL: taken out; stores: members stored; ZPOP:
                          members popped, all pieces together; EXPIRE, PERSIST, RENAME: 1 if done, else 0 */
    uint64_t updated; /* ZADD: members whose score changed (CH is count + updated) */
    bool has_score;   /* ZADD with INCR, unless a condition held it back */
    double score;
    rung_slice key;     /* ZPOP: whose members; empty if all keys were absent */
    uint32_t row_count; /* ZPOP: rows of this piece, in order of popping */
    const rung_zkey_row *rows;
    bool more;           /* ZPOP: another piece of the same command follows */
    const rung_err *err; /* when error is RUNG_ZKEY_REFUSED */
} rung_zkey_result;

/* Called right after command i took effect, when the state shows what it did and nothing of the next; of a ZPOP with
 * many members several times. Slices are valid during the call. It must not change the state. */
typedef void rung_zkey_sink(void *ctx, uint32_t i, const rung_zkey_result *result);

/* rung_state_apply() of an event of kind RUNG_EVENT_KEYS, telling `sink` (may be NULL: the same without). A command
 * that fails does not stop the others. RUNG_OK, or RUNG_UNCHANGED if none changed anything. */
RUNG_NODISCARD rung_status rung_state_apply_keys(rung_state *s, const rung_event *event,
                                                 rung_zkey_sink *sink, void *ctx, rung_err *err);

/* The score that stands after a score event on `key`, as these commands show it. */
double rung_zkey_outcome_score(const rung_state *s, rung_slice key, const rung_outcome *outcome);

/* ---- one key ---- */

typedef enum rung_zkey_kind {
    RUNG_ZKEY_NONE = 0,
    RUNG_ZKEY_ZSET, /* made by these commands */
    RUNG_ZKEY_SET,
    RUNG_ZKEY_BOARD, /* a board with rules of its own; a sorted set to these commands */
} rung_zkey_kind;

typedef struct rung_zkey { /* private but for what is commented */
    rung_zkey_kind kind;
    uint32_t count; /* members */
    bool has_expiry;
    int64_t expires_ms; /* when has_expiry */
    uint64_t
        version; /* the last event that changed it (WATCH); 0 for none. Profiles do not count */
    bool is_ascending;
    const rung_state *state;
    const void *board, *ladder, *set;
    int64_t now_ms;
} rung_zkey;

/* Never fails: an absent key is RUNG_ZKEY_NONE, with count 0, and answers every question below as an empty one. */
void rung_zkey_open(const rung_state *s, rung_slice name, int64_t now_ms, rung_zkey *out);

/* Members by name, in batches with prefetch. found[i] tells which are there. */
void rung_zkey_scores(const rung_zkey *k, uint32_t n, const rung_slice *members, double *scores,
                      bool *found);
/* The same with the index; `scores` may be NULL. Not of a set. */
void rung_zkey_ranks(const rung_zkey *k, uint32_t n, const rung_slice *members, bool rev,
                     uint32_t *ranks, double *scores, bool *found);
/* Is it there? Of a set or a sorted set. */
bool rung_zkey_has(const rung_zkey *k, rung_slice member);

/* Rows [start, start + count) in either direction; returns how many there are. Of a sorted set. */
uint32_t rung_zkey_rows(const rung_zkey *k, uint32_t start, uint32_t count, bool rev,
                        rung_zkey_row *rows);

/* Several pages at once, with prefetch: their rows one after the other. Each lies within the key: start + count is at
 * most its count. */
typedef struct rung_zkey_page {
    uint32_t start, count;
} rung_zkey_page;
void rung_zkey_pages(const rung_zkey *k, uint32_t n, const rung_zkey_page *pages, bool rev,
                     rung_zkey_row *rows);

/* The members of a range: ascending indexes [*first_out, *end_out), empty if equal. A range by members means something
 * only where all scores are the same. O(log n) by rank and score, O(log^2 n) by members. Seen with `rev`, ascending
 * index i is count - 1 - i. By rank, `rev` says how start and stop count; of the others it changes nothing. */
void rung_zkey_range(const rung_zkey *k, const rung_range *range, bool rev, uint32_t *first_out,
                     uint32_t *end_out);

/* counts_out[i] = members in ranges[i], each by score; at once, with prefetch. Not of a set. */
void rung_zkey_counts(const rung_zkey *k, uint32_t n, const rung_range *ranges,
                      uint32_t *counts_out);

/* The next members in an order of its own, that changes of other members do not disturb: whoever is there from the
 * first call to the last comes at least once. `cursor` 0 begins; returns the next one, 0 at the end. At most `room`
 * rows. Of both kinds. */
uint64_t rung_zkey_scan(const rung_zkey *k, uint64_t cursor, uint32_t room, rung_zkey_row *rows,
                        uint32_t *count_out);

/* Member number `nth` (below count), in any fixed order; for ZRANDMEMBER. O(log n); of a set O(n). */
void rung_zkey_nth(const rung_zkey *k, uint32_t nth, rung_zkey_row *row);

/* ---- several keys ---- */

typedef struct rung_zkey_list { /* zero before use; ended by rung_zkey_list_free() */
    uint32_t count;
    uint32_t cap; /* private, as all below */
    struct rung__pair *pairs;
    const rung_alloc *alloc;
    const rung_state *state;
} rung_zkey_list;

/* ZUNION, ZINTER, ZDIFF. `weights` may be NULL: all 1. Sorted sets and sets (score 1) alike. An intersection costs as
 * much as its smallest key. RUNG_OK, RUNG_ENOMEM, or RUNG_ELIMIT when more than `rows_max` rows would come (or are
 * needed on the way). */
RUNG_NODISCARD rung_status rung_zkeys_combine(const rung_alloc *alloc, rung_combine_keys combine,
                                              rung_aggregate aggregate, uint32_t n,
                                              const rung_zkey *keys, const double *weights,
                                              uint32_t rows_max, rung_zkey_list *out);
/* Rows from index `from` on, ascending by score, then member: at most `room`, but no more than it likes to at a time;
 * returns how many, 0 at the end. Names are borrowed until the next change to the state. */
uint32_t rung_zkey_list_read(const rung_zkey_list *list, uint32_t from, uint32_t room,
                             rung_zkey_row *rows);
void rung_zkey_list_free(rung_zkey_list *list);

/* How many members such a combination looks at: all of a union's keys; the smallest key of an intersection, as often as
 * there are keys; of a difference the cheaper of its first key as often, or all keys once. */
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

/* ZINTERCARD: how many are in all of them, counting no further than `limit` (0: no limit). */
uint64_t rung_zkeys_intersect_count(uint32_t n, const rung_zkey *keys, uint64_t limit);

/* ---- all keys ---- */

uint64_t rung_zkeys_count(const rung_state *s);

/* The next key, in the order of their numbers: *cursor 0 begins. A key that is there all the time comes exactly once.
 * false at the end. `name_out` borrows. */
bool rung_zkeys_next(const rung_state *s, int64_t now_ms, uint64_t *cursor, rung_slice *name_out,
                     rung_zkey_kind *kind_out);

#endif
