/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - all that can happen, and its bytes in the log.
 *
 * Every change of state is one event. Texts are borrowed from whoever made the event, or from the bytes it was decoded
 * from. The encoding is compact, versioned and deterministic (docs/formats/events.md); the decoder survives any bytes.
 * An event is about 2.5 KB as a struct, for the sake of its rarest kind: pass it by pointer. Pure; any thread.
 *
 *   rung_event e = {.kind = RUNG_EVENT_BANNED, .ts_ms = now_ms, .ban = {player, reason}};
 *   st = rung_event_encode(&e, buffer, sizeof buffer, &length); */
#ifndef RUNG_MODEL_EVENT_H
#define RUNG_MODEL_EVENT_H

#include "model/board.h"
#include "model/zcommand.h"

#define RUNG_EVENT_BYTES_MAX     ((size_t)512 << 10) /* no event is longer */
#define RUNG_EVENT_ID_MAX        64
#define RUNG_EVENT_META_MAX      4096
#define RUNG_ATTRIBUTES_MAX      32
#define RUNG_ATTRIBUTE_VALUE_MAX 1024 /* as a scope's or team's, one beyond RUNG_NAME_MAX is none */
#define RUNG_FRIENDS_MAX         10000                        /* whom one player may follow */
#define RUNG_FRIENDS_BYTES_MAX   (RUNG_EVENT_BYTES_MAX - 256) /* packed: 52 each for 10000 */
#define RUNG_REASON_MAX          256
#define RUNG_IDS_KEEP_MS_MAX     (INT64_C(36525) * 86400000) /* 100 years */
#define RUNG_ZCOMMANDS_BYTES_MAX (RUNG_EVENT_BYTES_MAX - 64) /* packed commands of one event */

/* The newest level of rules that this program knows (docs/adr/0012-rules-level.md). What a level changes is in
 * docs/boards.md, "Levels". Raise it with every change of what an event does to the state. */
#define RUNG_RULES_LEVEL 1u

/* Written to the log: the values never change. New kinds get new numbers; a decoder that does not know one says
 * RUNG_EVERSION. */
typedef enum rung_event_kind {
    RUNG_EVENT_BOARD_DEFINED = 1, /* created or changed */
    RUNG_EVENT_BOARD_DELETED = 2,
    RUNG_EVENT_SCORE = 3,
    RUNG_EVENT_ENTRY_REMOVED = 4,
    RUNG_EVENT_PLAYER_SET = 5, /* the whole profile, replacing the old one */
    RUNG_EVENT_PLAYER_ERASED = 6,
    RUNG_EVENT_FRIEND_ADDED = 7,
    RUNG_EVENT_FRIEND_REMOVED = 8,
    RUNG_EVENT_FRIENDS_REPLACED = 9,
    RUNG_EVENT_BANNED = 10,
    RUNG_EVENT_UNBANNED = 11,
    RUNG_EVENT_WINDOW_OPENED = 12,
    RUNG_EVENT_WINDOW_CLOSED = 13,
    RUNG_EVENT_TICK = 14,      /* time passed: every window that is due closes */
    RUNG_EVENT_KEYS = 15,      /* commands of the Redis protocol (model/zcommand.h), all together */
    RUNG_EVENT_IDS_SET = 16,   /* how many submission ids are remembered, and for how long */
    RUNG_EVENT_RULES_SET = 17, /* from here on, events are applied by the rules of this level */
    RUNG_EVENT_ACCESS_SET = 18, /* whether the server that writes this log has keys */
} rung_event_kind;

/* In rung_score_event.when, beside the conditions RUNG_IF_* of zcommand.h: sent as ZADD or ZINCRBY of one member. A
 * board that is not there is made; a real value is taken as one of the board's type, if it is one exactly. */
enum { RUNG_SCORE_KEY = 1, RUNG_SCORE_WHEN_MASK = RUNG_SCORE_KEY | RUNG_IF_MASK };

typedef struct rung_score_event {
    rung_slice board, player;
    uint8_t when;         /* 0, or RUNG_SCORE_KEY with conditions on the first window reached */
    bool is_delta;        /* values are to be added to what stands */
    bool has_at;          /* the sender named the time; otherwise the event's own time counts */
    bool is_brief;        /* nobody will ask for ranks: the outcome may do without. Not logged */
    uint32_t value_count; /* 0 (count boards only) to 3: the score, then the columns */
    rung_value values[RUNG_COLUMNS_MAX];
    uint8_t types[RUNG_COLUMNS_MAX];    /* rung_score_type of each value */
    uint8_t decimals[RUNG_COLUMNS_MAX]; /* of each decimal value */
    int64_t at_ms;                      /* when has_at */
    rung_slice id;                      /* empty: none; UTF-8 without control characters */
    rung_slice meta; /* kept in log and archive, not in memory; empty: none; UTF-8 without NUL */
} rung_score_event;

typedef struct rung_attribute {
    rung_slice name;
    rung_slice value; /* 1 to RUNG_ATTRIBUTE_VALUE_MAX bytes of UTF-8 without control characters */
} rung_attribute;

typedef struct rung_event {
    rung_event_kind kind;
    int64_t ts_ms; /* when it was taken in */
    union {
        struct {
            rung_slice board;
            rung_board_def def;
        } defined;
        struct {
            rung_slice board;
        } deleted;
        rung_score_event score;
        struct {
            rung_slice board, player;
        } removed;
        struct {
            rung_slice player;
            uint32_t count;
            rung_attribute attributes[RUNG_ATTRIBUTES_MAX]; /* names unique, ascending by bytes */
        } profile;
        struct {
            rung_slice player;
        } erased;
        struct {
            rung_slice player, other; /* not the same */
            bool follow;              /* one way: player -> other only */
        } friend;                     /* added and removed */
        struct {
            rung_slice player;
            bool follow;
            uint32_t count;
            rung_slice packed; /* names, each a length byte and its bytes; not the player's own */
        } friends;
        struct {
            rung_slice player, reason; /* the reason may be empty; UTF-8 without NUL */
        } ban;                         /* banned and unbanned */
        struct {
            rung_slice board;
            uint32_t kind;     /* rung_window_kind, or 0 for a season */
            int64_t ordinal;   /* of a calendar window, 0 for a season */
            rung_slice season; /* empty for a calendar window */
        } window;              /* opened and closed */
        struct {
            uint32_t count;    /* commands, 1 to RUNG_ZCOMMANDS_MAX */
            rung_slice packed; /* up to RUNG_ZCOMMANDS_BYTES_MAX */
            bool is_admin;     /* the sender may take away boards with rules of their own */
        } keys;
        struct {
            uint32_t capacity; /* at least 1 */
            int64_t keep_ms;   /* 1 to RUNG_IDS_KEEP_MS_MAX */
        } ids;
        struct {
            uint32_t level; /* 1 to RUNG_RULES_LEVEL */
        } rules;
        struct {
            bool has_keys;
        } access;
    };
} rung_event;

/* Step through packed names, taking each off the front: false at the end, and where the bytes are no name. */
bool rung_names_next(rung_slice *packed, rung_slice *name_out);

/* RUNG_OK, or RUNG_EINVAL with a message that begins with the field's name: lengths, counts, names, numbers (NaN),
 * times in the supported years, and the definition by rung_board_def_check(). RUNG_ELIMIT, also naming the field, for a
 * list of friends that no event has room for (RUNG_FRIENDS_BYTES_MAX). RUNG_EVERSION for a level of rules that this
 * program does not know. O(bytes of the event). */
RUNG_NODISCARD rung_status rung_event_check(const rung_event *event, rung_err *err);

/* The event as bytes, deterministic. `size` bytes at `out`; *length_out is what it takes, also when RUNG_ELIMIT says
 * that size is too small; RUNG_EVENT_BYTES_MAX is enough for every valid event. What rung_event_check() refuses is
 * refused here with the same status, and *length_out left alone. Tens of nanoseconds for a score. */
RUNG_NODISCARD rung_status rung_event_encode(const rung_event *event, void *out, size_t size,
                                             size_t *length_out);
/* Survives any bytes; texts borrow from `bytes`. What decodes is valid, has zeros where a field does not apply (in the
 * members of its kind; the rest of the union is anything), and encodes to the same bytes again. All of the bytes must
 * be used. RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EINVAL, RUNG_ELIMIT. */
RUNG_NODISCARD rung_status rung_event_decode(rung_slice bytes, rung_event *event_out,
                                             rung_err *err);

/* The same for bytes that rung_event_encode() wrote in this process and that nobody could touch since: they are an
 * event, and whether it is a valid one is not looked at again. Half the price for a score. What is left in *event_out
 * after a failure, which can only be ours, is anything. */
RUNG_NODISCARD rung_status rung_event_decode_own(rung_slice bytes, rung_event *event_out,
                                                 rung_err *err);

/* "score", "board defined", ...; never NULL. */
const char *rung_event_kind_name(rung_event_kind kind);

#endif
