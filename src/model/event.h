/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - everything that can happen, and its encoding in the log.
 *
 * Every change of state is one event. Texts borrow from the creator of the event, or from the bytes it was decoded
 * from. The encoding is compact, versioned and deterministic (docs/formats/events.md); the decoder is safe for any
 * bytes. As a struct, an event takes about 2.5 KB because of its largest kind: pass it by pointer. Pure; any thread.
 *
 *   rung_event e = {.kind = RUNG_EVENT_BANNED, .ts_ms = now_ms, .ban = {player, reason}};
 *   st = rung_event_encode(&e, buffer, sizeof buffer, &length); */
#ifndef RUNG_MODEL_EVENT_H
#define RUNG_MODEL_EVENT_H

#include "model/board.h"
#include "model/match.h"
#include "model/zcommand.h"

#define RUNG_EVENT_BYTES_MAX     ((size_t)512 << 10) /* no event is longer */
#define RUNG_EVENT_ID_MAX        64
#define RUNG_EVENT_META_MAX      4096
#define RUNG_ATTRIBUTES_MAX      32
#define RUNG_ATTRIBUTE_VALUE_MAX 1024  /* values longer than RUNG_NAME_MAX name no scope or team */
#define RUNG_FRIENDS_MAX         10000 /* whom one player may follow */
#define RUNG_FRIENDS_BYTES_MAX   (RUNG_EVENT_BYTES_MAX - 256) /* packed: 52 bytes each for 10,000 */
#define RUNG_REASON_MAX          256
#define RUNG_NOTE_MAX            1024                        /* of a note on a player */
#define RUNG_IDS_KEEP_MS_MAX     (INT64_C(36525) * 86400000) /* 100 years */
#define RUNG_ACTOR_TEXT_MAX      64                          /* the id of a key */
#define RUNG_ACTOR_ADDRESS_MAX   128
#define RUNG_ACTOR_BYTES_MAX     1024 /* encoded */
#define RUNG_KEY_BOARDS_MAX      4096 /* the patterns of a key */
/* Packed commands of one event. Older programs took more: RUNG_EVENT_BYTES_MAX - 64. */
#define RUNG_ZCOMMANDS_BYTES_MAX (RUNG_EVENT_BYTES_MAX - 64 - RUNG_ACTOR_BYTES_MAX)
#define RUNG_FILL_BYTES_MAX                                                                        \
    (RUNG_EVENT_BYTES_MAX - 256 - RUNG_ACTOR_BYTES_MAX) /* packed records of one part */
/* A score may come from a numbered source, such as a partition of a Kafka topic. The state remembers which of the last
 * RUNG_SOURCE_WINDOW offsets of each source it has, and takes all older ones for seen: one effect per offset, however
 * often and however late it is sent. So a sender may be at most this far ahead of its oldest unanswered offset. */
#define RUNG_SOURCE_WINDOW     4096
#define RUNG_SOURCE_OFFSET_MAX INT64_MAX
/* What a submission attests beside the score. */
#define RUNG_ATTESTED_SEED_MAX     64
#define RUNG_ATTESTED_REPLAY_MAX   128
#define RUNG_ATTESTED_DURATION_MAX (INT64_C(1) << 53)
/* Sessions, with which players sign their own submissions (docs/trust.md). */
#define RUNG_SESSION_ID_SIZE       22 /* characters: 128 random bits in base64url */
#define RUNG_SESSION_KEY_MAX       64 /* the id of the key that its secret is derived from */
#define RUNG_SESSION_WINDOW_MS_MAX (INT64_C(3600) * 1000)
#define RUNG_NONCE_MAX             ((uint64_t)INT64_MAX)

/* The newest level of rules that this program knows (docs/adr/0012-rules-level.md). docs/boards.md, "Levels", says
 * what each level changes. Raise it with every change of what an event does to the state. */
#ifndef RUNG_RULES_LEVEL /* a test builds a server of an older level */
#define RUNG_RULES_LEVEL 3u
#endif

/* Written to the log: the values never change. New kinds get new numbers; a decoder returns RUNG_EVERSION for a kind
 * it does not know. Number 19 is a score with a source, which older programs must not take for one without; so is 25,
 * a score with something attested or with a signature. An event with an actor, of whatever kind, has number 20 in its
 * bytes, with its kind after the actor. */
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
    RUNG_EVENT_TICK = 14,       /* time passed: close every window that is due */
    RUNG_EVENT_KEYS = 15,       /* Redis commands (model/zcommand.h), applied atomically */
    RUNG_EVENT_IDS_SET = 16,    /* the number of submission ids to remember, and for how long */
    RUNG_EVENT_RULES_SET = 17,  /* later events are applied by the rules of this level */
    RUNG_EVENT_ACCESS_SET = 18, /* whether the server that writes this log has keys */
    RUNG_EVENT_KEY_CHANGED =
        20, /* a key of the server was created or revoked; for the audit alone */
    RUNG_EVENT_BOARD_FILLED = 21,  /* part of a replayed board, for its shadow (docs/replay.md) */
    RUNG_EVENT_BOARD_SWAPPED = 22, /* a board and its shadow change places */
    RUNG_EVENT_SHADOW_DROPPED = 23,
    RUNG_EVENT_MATCH = 24,    /* a result, for the ratings of a board */
    RUNG_EVENT_SESSION = 26,  /* a player's session began, or sessions were ended */
    RUNG_EVENT_REVIEWED = 27, /* a tentative score is promoted or rejected, or its player banned */
    RUNG_EVENT_NOTED = 28,    /* a note on a player; for the audit alone */
} rung_event_kind;

/* For rung_score_event.when, beside the conditions RUNG_IF_* of zcommand.h: the score came as ZADD or ZINCRBY of one
 * member. An absent board is created. A real value is converted to the board's type if that is exact. */
enum { RUNG_SCORE_KEY = 1, RUNG_SCORE_WHEN_MASK = RUNG_SCORE_KEY | RUNG_IF_MASK };

/* What the client says about how the score was made, signed with it if it is a player's submission. Rules may ask for
 * it. Kept in the log, not in memory. */
typedef struct rung_attested {
    bool has_duration;
    int64_t duration_ms; /* how long it was played; 0 to RUNG_ATTESTED_DURATION_MAX */
    rung_slice seed;     /* of the game's random numbers; empty: none; without control characters */
    rung_slice replay;   /* a checksum of the recording; the same */
} rung_attested;

static inline bool rung_attested_is_given(const rung_attested *a) {
    return a->has_duration | (a->seed.len != 0) | (a->replay.len != 0);
}

typedef struct rung_score_event {
    rung_slice board, player;
    uint8_t when;         /* 0, or RUNG_SCORE_KEY with conditions on the first window reached */
    bool is_delta;        /* add the values to the current ones */
    bool has_at;          /* the sender gave a time; otherwise the event's own counts */
    bool is_brief;        /* the outcome needs no ranks; not logged */
    uint32_t value_count; /* 0 (count boards only) to 3: the score, then the columns */
    rung_value values[RUNG_COLUMNS_MAX];
    uint8_t types[RUNG_COLUMNS_MAX];    /* rung_score_type of each value */
    uint8_t decimals[RUNG_COLUMNS_MAX]; /* of each decimal value */
    int64_t at_ms;                      /* when has_at */
    rung_slice id;                      /* empty: none; UTF-8 without control characters */
    /* Kept in the log and archive, not in memory; empty: none; UTF-8 without NUL. */
    rung_slice meta;
    rung_slice source; /* a name; empty: none. `offset` is its number there */
    uint64_t offset;
    rung_attested attested;
    /* Of a player's own submission, whose signature was verified before it was logged; an empty session: none. The
     * nonce is from 1 to RUNG_NONCE_MAX. */
    rung_slice session;
    uint64_t nonce;
    int64_t signed_ms; /* the time that was signed */
} rung_score_event;

/* All players of a match change together. */
typedef struct rung_match_event {
    rung_slice board;
    bool has_at; /* the sender gave a time; otherwise the event's own counts */
    int64_t at_ms;
    rung_slice id; /* empty: none; as that of a score */
    uint32_t player_count;
    rung_slice packed; /* the players, see match.h; up to RUNG_MATCH_PACKED_MAX */
    rung_slice source; /* as that of a score; empty: none */
    uint64_t offset;
} rung_match_event;

typedef struct rung_attribute {
    rung_slice name;
    rung_slice value; /* 1 to RUNG_ATTRIBUTE_VALUE_MAX bytes of UTF-8 without control characters */
} rung_attribute;

/* Who asked for a change. Texts that do not apply are empty. */
typedef struct rung_actor {
    rung_slice key;    /* the id of the key that was shown */
    rung_slice player; /* of a player's token */
    rung_slice
        address; /* of the client; or "library": the process itself; or "file": who can write the keys file */
    rung_slice reason; /* why, in the actor's words; UTF-8 without NUL */
} rung_actor;

typedef struct rung_event {
    rung_event_kind kind;
    bool has_actor;   /* not for scores, always for RUNG_EVENT_KEY_CHANGED */
    int64_t ts_ms;    /* when the server accepted it */
    rung_actor actor; /* when has_actor; undefined otherwise */
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
            rung_slice packed; /* names, each a length byte and the name; never the player's own */
        } friends;
        struct {
            rung_slice player, reason; /* the reason may be empty; UTF-8 without NUL */
            /* Of banned: when it ends by itself; 0: never. Of unbanned: lift it only if that is its end, and has
             * come; 0: in any case. */
            int64_t until_ms;
            bool is_shadow; /* of banned: the player still sees their own entries and may submit */
        } ban;              /* banned and unbanned */
        struct {
            rung_slice board;
            uint32_t kind;     /* rung_window_kind, or 0 for a season */
            int64_t ordinal;   /* of a calendar window, 0 for a season */
            rung_slice season; /* empty for a calendar window */
        } window;              /* opened and closed */
        struct {
            uint32_t count;    /* commands, 1 to RUNG_ZCOMMANDS_MAX */
            rung_slice packed; /* up to RUNG_ZCOMMANDS_BYTES_MAX */
            bool is_admin;     /* the sender may delete defined boards */
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
        struct {
            rung_slice id, role; /* "admin", ... */
            rung_slice boards;   /* the patterns, with commas between; empty: all boards */
            bool is_revoked;     /* else created */
            int64_t expires_ms;  /* 0: never */
        } key;
        struct {
            rung_slice board;
            uint64_t job;      /* of which replay; not 0 */
            uint32_t part;     /* the parts of a job are numbered from 0 */
            rung_slice packed; /* up to RUNG_FILL_BYTES_MAX, see state/shadow_fill.c */
        } filled;
        struct {
            rung_slice board;
            uint64_t job;
            bool is_undo; /* of a swap: the shadow was the board before */
        } swapped;
        struct {
            rung_slice board;
            uint64_t job;
        } dropped;
        rung_match_event match;
        struct {
            bool is_ended; /* the session `id`, or all of `player` if `id` is empty; else begun */
            rung_slice id; /* RUNG_SESSION_ID_SIZE characters of base64url */
            rung_slice player;  /* empty when `id` is ended */
            rung_slice key;     /* that the secret is derived from; this and the rest when begun */
            int64_t expires_ms; /* log time from which it is refused */
            int64_t window_ms;  /* how far a signed time may be from log time */
        } session;
        struct {
            rung_slice board, player; /* of the tentative score */
            uint64_t id;              /* of the review, see review.h; not 0 */
            rung_review_verdict verdict;
            rung_slice reason; /* as that of a ban */
        } reviewed;
        struct {
            rung_slice player, note; /* 1 to RUNG_NOTE_MAX bytes of UTF-8 without NUL */
        } noted;
    };
} rung_event;

/* RUNG_SESSION_ID_SIZE characters of base64url? */
bool rung_session_id_is_valid(rung_slice id);

/* Take the next name off the front of packed names. false at the end, or if the bytes are not a name. */
bool rung_names_next(rung_slice *packed, rung_slice *name_out);

/* RUNG_OK, or RUNG_EINVAL with a message that starts with the field's name. Checks lengths, counts, names, numbers
 * (NaN), times, and the definition with rung_board_def_check(). RUNG_ELIMIT, also naming the field: a list of friends
 * is too long for an event (RUNG_FRIENDS_BYTES_MAX). RUNG_EVERSION: a level of rules that this program does not know.
 * O(bytes of the event). */
RUNG_NODISCARD rung_status rung_event_check(const rung_event *event, rung_err *err);

/* Encode an event; deterministic. `out` has `size` bytes. *length_out is the length needed, also on RUNG_ELIMIT:
 * `size` is too small (RUNG_EVENT_BYTES_MAX always suffices). An event that rung_event_check() refuses gets the same
 * status here and leaves *length_out alone. Tens of nanoseconds for a score. */
RUNG_NODISCARD rung_status rung_event_encode(const rung_event *event, void *out, size_t size,
                                             size_t *length_out);
/* Decode an event. Safe for any input; texts borrow from `bytes`. The result is valid, has zeros in fields of its
 * kind that do not apply (the rest of the union is undefined), and encodes to the same bytes. Trailing bytes are an
 * error. RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EINVAL, RUNG_ELIMIT. */
RUNG_NODISCARD rung_status rung_event_decode(rung_slice bytes, rung_event *event_out,
                                             rung_err *err);

/* The same for bytes that rung_event_encode() wrote in this process and that nobody could modify: skips validation,
 * at half the cost for a score. After a failure, which can only be a bug, *event_out is undefined. */
RUNG_NODISCARD rung_status rung_event_decode_own(rung_slice bytes, rung_event *event_out,
                                                 rung_err *err);

/* The level of rules that a program must know to read this event. Programs of the levels below stop at it. */
uint32_t rung_event_level(const rung_event *event);

/* Does the audit trail say who did it? Definitions, removals, bans, windows closed by hand, keys deleted, settings. */
bool rung_event_is_audited(const rung_event *event);

/* "score", "board defined", ...; never NULL. */
const char *rung_event_kind_name(rung_event_kind kind);

#endif
