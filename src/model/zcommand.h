/* SPDX-License-Identifier: Apache-2.0 */
/* zcommand.h - changes in the words of the Redis protocol: what an event of kind RUNG_EVENT_KEYS is a list of.
 *
 * A command is logged as it was asked and worked out when it is applied, so that its reply is exact and the log stays
 * the only truth. One event holds 1 to RUNG_ZCOMMANDS_MAX commands, packed, applied in order and all together: a
 * transaction, or one command with many members. The bytes are in docs/formats/events.md; every command has one
 * spelling.
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

#define RUNG_ZCOMMANDS_MAX      10000u /* in one event */
#define RUNG_ZCOMMAND_BOUND_MAX 1024   /* bytes of a bound in a range of members */

/* Written to the log: the values never change. */
typedef enum rung_zcommand_kind {
    RUNG_ZCOMMAND_ZADD =
        1, /* key, items (member, score), flags RUNG_IF_* and RUNG_ZCOMMAND_INCR (one item) */
    RUNG_ZCOMMAND_ZREM = 2,      /* key, items (member) */
    RUNG_ZCOMMAND_ZREMRANGE = 3, /* key, range */
    RUNG_ZCOMMAND_ZPOP =
        4, /* items (key): the first that has members; flags RUNG_ZCOMMAND_MAX, pop_count */
    RUNG_ZCOMMAND_ZRANGESTORE =
        5, /* key (destination), other (source), range; flags _REV, _LIMIT: offset, limit */
    RUNG_ZCOMMAND_ZSTORE = 6,  /* key (destination), items (key, weight), combine, aggregate */
    RUNG_ZCOMMAND_DEL = 7,     /* items (key) */
    RUNG_ZCOMMAND_EXPIRE = 8,  /* key, at_ms; flags RUNG_IF_* */
    RUNG_ZCOMMAND_PERSIST = 9, /* key */
    RUNG_ZCOMMAND_RENAME = 10, /* key, other (the new name); flags RUNG_IF_NX */
    RUNG_ZCOMMAND_FLUSH = 11,  /* all keys */
    RUNG_ZCOMMAND_SADD = 12,   /* key, items (member) */
    RUNG_ZCOMMAND_SREM = 13,   /* key, items (member) */
} rung_zcommand_kind;

/* Conditions, of commands and of score events (event.h). NX goes with none of the others, GT not with LT; of an
 * EXPIRE all but NX with another and GT with LT. */
enum {
    RUNG_IF_NX = 2,  /* only if there is none yet */
    RUNG_IF_XX = 4,  /* only if there is one */
    RUNG_IF_GT = 8,  /* only to a greater value */
    RUNG_IF_LT = 16, /* only to a smaller value */
    RUNG_IF_MASK = 30,
};
enum {
    RUNG_ZCOMMAND_INCR = 32, /* ZADD: add to the score that stands */
    RUNG_ZCOMMAND_MAX = 1,   /* ZPOP: the greatest scores; otherwise the smallest */
    RUNG_ZCOMMAND_REV = 1,   /* ZRANGESTORE: from the greatest on */
    RUNG_ZCOMMAND_LIMIT = 2, /* ZRANGESTORE: offset and limit count; not by rank */
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
    rung_slice text; /* of CLOSED and OPEN: 0 to RUNG_ZCOMMAND_BOUND_MAX bytes of any value */
} rung_lex_bound;

typedef struct rung_range {
    rung_range_by by;
    int64_t start, stop; /* by rank: from 0; negative counts from the end */
    double min, max;     /* by score: not NaN */
    bool min_is_open, max_is_open;
    rung_lex_bound lex_min, lex_max;
} rung_range;

typedef struct rung_zcommand_item {
    rung_slice name; /* of a member or a key: as rung_name_is_valid() */
    double number;   /* score or weight, not NaN; 0 where there is none */
} rung_zcommand_item;

/* Fields that the kind does not name are 0. */
typedef struct rung_zcommand {
    rung_zcommand_kind kind;
    uint32_t flags;
    rung_slice key, other;
    uint32_t item_count;             /* at least 1 where there are items */
    const rung_zcommand_item *items; /* for encoding; NULL after decoding */
    rung_slice packed_items;         /* after decoding: step with rung_zcommand_item_next() */
    rung_range range;
    uint64_t pop_count;
    int64_t offset, limit; /* negative limit: all; negative offset: nothing */
    rung_combine_keys combine;
    rung_aggregate aggregate;
    int64_t at_ms;
} rung_zcommand;

/* Append-ready bytes of one command. As rung_event_encode(): *length_out is what it takes, also when RUNG_ELIMIT says
 * that size is too small. RUNG_EINVAL with a message that begins with the field's name. */
RUNG_NODISCARD rung_status rung_zcommand_encode(const rung_zcommand *command, void *out,
                                                size_t size, size_t *length_out, rung_err *err);

/* Step through packed commands, taking each off the front. RUNG_OK; RUNG_NOT_FOUND at the end; RUNG_ECORRUPT,
 * RUNG_EVERSION (a kind not known here) or RUNG_EINVAL. Texts borrow. */
RUNG_NODISCARD rung_status rung_zcommand_next(rung_slice *packed, rung_zcommand *command_out,
                                              rung_err *err);

/* Step through a decoded command's items: false at the end. */
bool rung_zcommand_item_next(rung_zcommand *command, rung_zcommand_item *item_out);

/* RUNG_OK if these are exactly `count` valid commands. */
RUNG_NODISCARD rung_status rung_zcommands_check(uint32_t count, rung_slice packed, rung_err *err);

/* "zadd", "zrem", ...; never NULL. */
const char *rung_zcommand_kind_name(rung_zcommand_kind kind);

#endif
