/* SPDX-License-Identifier: Apache-2.0 */
/* zcommand.h - Redis commands that change the state; an event of kind RUNG_EVENT_KEYS is a list of them.
 *
 * The log stores a command as the client sent it; apply computes its effect. So its reply is exact, and the log stays
 * the single source of truth. One event holds 1 to RUNG_ZCOMMANDS_MAX packed commands, applied in order and
 * atomically: a transaction, or one command with many members. docs/formats/events.md specifies the bytes; every
 * command has exactly one encoding.
 *
 *     rung_zcommand_item items[] = {{RUNG_SLICE("ada"), 12.5}, {RUNG_SLICE("bob"), 3}};
 *     rung_zcommand c = {.kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("race"), .item_count = 2, .items = items};
 *     st = rung_zcommand_encode(&c, buffer, sizeof buffer, &length, &err);
 *     rung_event e = {.kind = RUNG_EVENT_KEYS, .keys = {1, rung_slice_of(buffer, length)}};
 *
 * Pure; any thread. */
#ifndef RUNG_MODEL_ZCOMMAND_H
#define RUNG_MODEL_ZCOMMAND_H

#include "base/slice.h"
#include "base/status.h"

#define RUNG_ZCOMMANDS_MAX      10000u /* per event */
#define RUNG_ZCOMMAND_BOUND_MAX 1024   /* bytes of a bound in a range of members */

/* Written to the log: the values never change. */
typedef enum rung_zcommand_kind {
    /* Key, items (member, score), flags RUNG_IF_* and RUNG_ZCOMMAND_INCR (one item only). */
    RUNG_ZCOMMAND_ZADD = 1,
    RUNG_ZCOMMAND_ZREM = 2,      /* key, items (member) */
    RUNG_ZCOMMAND_ZREMRANGE = 3, /* key, range */
    /* Items (key): pops from the first key that has members; flag RUNG_ZCOMMAND_MAX, pop_count. */
    RUNG_ZCOMMAND_ZPOP = 4,
    /* Key (destination), other (source), range, flags _REV and _LIMIT (offset, limit). */
    RUNG_ZCOMMAND_ZRANGESTORE = 5,
    RUNG_ZCOMMAND_ZSTORE = 6,  /* key (destination), items (key, weight), combine, aggregate */
    RUNG_ZCOMMAND_DEL = 7,     /* items (key) */
    RUNG_ZCOMMAND_EXPIRE = 8,  /* key, at_ms; flags RUNG_IF_* */
    RUNG_ZCOMMAND_PERSIST = 9, /* key */
    RUNG_ZCOMMAND_RENAME = 10, /* key, other (the new name); flags RUNG_IF_NX */
    RUNG_ZCOMMAND_FLUSH = 11,  /* all keys */
    RUNG_ZCOMMAND_SADD = 12,   /* key, items (member) */
    RUNG_ZCOMMAND_SREM = 13,   /* key, items (member) */
    /* Key; the sketch to make: items ("memory", bytes) and perhaps ("top", how many). With flag _MERGE: items (key),
     * whose players are added to a distinct count. */
    RUNG_ZCOMMAND_SKETCH = 14,
    /* Key, items (name, weight or score). Makes a distinct count, if that is what it is for. */
    RUNG_ZCOMMAND_SKETCH_ADD = 15,
} rung_zcommand_kind;

/* Conditions of commands and of score events (event.h). NX excludes all others, and GT excludes LT. */
enum {
    RUNG_IF_NX = 2,  /* only if absent */
    RUNG_IF_XX = 4,  /* only if present */
    RUNG_IF_GT = 8,  /* only if the new value is greater */
    RUNG_IF_LT = 16, /* only if the new value is smaller */
    RUNG_IF_MASK = 30,
};
enum {
    RUNG_ZCOMMAND_INCR = 32,        /* ZADD: add to the current score */
    RUNG_ZCOMMAND_MAX = 1,          /* ZPOP: the highest scores instead of the lowest */
    RUNG_ZCOMMAND_REV = 1,          /* ZRANGESTORE: descending */
    RUNG_ZCOMMAND_LIMIT = 2,        /* ZRANGESTORE: apply offset and limit; not by rank */
    RUNG_ZCOMMAND_MERGE = 1,        /* SKETCH */
    RUNG_ZCOMMAND_LEAVERS = 1,      /* SKETCH_ADD: report who leaves the top of a counts board */
    RUNG_ZCOMMAND_SKETCH_SHIFT = 4, /* both: the rung_sketch_kind that it is for */
};

typedef enum rung_combine_keys {
    RUNG_KEYS_UNION = 0,
    RUNG_KEYS_INTER = 1,
    RUNG_KEYS_DIFF = 2, /* weights 1, aggregate sum */
} rung_combine_keys;

typedef enum rung_aggregate {
    RUNG_AGGREGATE_SUM = 0,
    RUNG_AGGREGATE_MIN = 1,
    RUNG_AGGREGATE_MAX = 2,
} rung_aggregate;

typedef enum rung_range_by {
    RUNG_RANGE_RANK = 0,
    RUNG_RANGE_SCORE = 1,
    RUNG_RANGE_LEX = 2,
} rung_range_by;

typedef enum rung_lex_kind {
    RUNG_LEX_LOWEST = 0,  /* "-" */
    RUNG_LEX_HIGHEST = 1, /* "+" */
    RUNG_LEX_CLOSED = 2,  /* "[text" */
    RUNG_LEX_OPEN = 3,    /* "(text" */
} rung_lex_kind;

typedef struct rung_lex_bound {
    rung_lex_kind kind;
    rung_slice text; /* for CLOSED and OPEN: up to RUNG_ZCOMMAND_BOUND_MAX bytes of any value */
} rung_lex_bound;

typedef struct rung_range {
    rung_range_by by;
    int64_t start, stop; /* by rank: from 0; negative counts from the end */
    double min, max;     /* by score: not NaN */
    bool min_is_open, max_is_open;
    rung_lex_bound lex_min, lex_max;
} rung_range;

typedef struct rung_zcommand_item {
    rung_slice name; /* a member or key, valid by rung_name_is_valid() */
    double number;   /* score or weight, not NaN; else 0 */
} rung_zcommand_item;

/* Fields that the kind does not use are 0. */
typedef struct rung_zcommand {
    rung_zcommand_kind kind;
    uint32_t flags;
    rung_slice key, other;
    uint32_t item_count;             /* at least 1 if the kind has items */
    const rung_zcommand_item *items; /* for encoding; NULL after decoding */
    rung_slice packed_items;         /* after decoding: iterate with rung_zcommand_item_next() */
    rung_range range;
    uint64_t pop_count;
    int64_t offset, limit; /* negative limit: all; negative offset: nothing */
    rung_combine_keys combine;
    rung_aggregate aggregate;
    int64_t at_ms;
} rung_zcommand;

/* Encode one command, ready to be appended. *length_out is the length needed, also on RUNG_ELIMIT: `size` is too
 * small. RUNG_EINVAL with a message that starts with the field's name. */
RUNG_NODISCARD rung_status rung_zcommand_encode(const rung_zcommand *command, void *out,
                                                size_t size, size_t *length_out, rung_err *err);

/* Take the next command off the front of packed commands. RUNG_OK; RUNG_NOT_FOUND at the end; RUNG_ECORRUPT,
 * RUNG_EVERSION (unknown kind) or RUNG_EINVAL. Texts borrow. */
RUNG_NODISCARD rung_status rung_zcommand_next(rung_slice *packed, rung_zcommand *command_out,
                                              rung_err *err);

/* Take the next item of a decoded command. false at the end. */
bool rung_zcommand_item_next(rung_zcommand *command, rung_zcommand_item *item_out);

/* RUNG_OK if the bytes are exactly `count` valid commands. */
RUNG_NODISCARD rung_status rung_zcommands_check(uint32_t count, rung_slice packed, rung_err *err);

/* "zadd", "zrem", ...; never NULL. */
const char *rung_zcommand_kind_name(rung_zcommand_kind kind);

#endif
