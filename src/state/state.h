/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state machine: apply(event), and every query on the result. docs/boards.md is the specification.
 *
 * apply is total and deterministic: the same events give the same state and the same results on any machine. A bad
 * event is recorded as refused, never a crash. Pure: no clock, randomness, files or threads. One thread at a time.
 *
 *     rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s);
 *     rung_state_apply(s, &event, &outcome, &err);
 *     rung_state_view(s, &(rung_query){.board = RUNG_SLICE("race")}, &view, &err);
 *     n = rung_view_top(&view, 0, 10, rows);
 *
 * Slices in results borrow from the state and are valid until the next apply. */
#ifndef RUNG_STATE_STATE_H
#define RUNG_STATE_STATE_H

#include "base/alloc.h"
#include "base/hash.h"
#include "model/event.h"
#include "model/rule.h"

/* Heap object. Release it with rung_state_destroy(). */
typedef struct rung_state rung_state;

typedef struct rung_view rung_view;

/* What an event changed, for whoever follows changes (rung_state_config.on_change). */
typedef enum rung_change_kind {
    RUNG_CHANGE_ENTRY, /* of a submission, or of the end of a ban: one call per window it reaches */
    RUNG_CHANGE_REMOVED, /* a player's entry left a window: removed, banned, erased, ZREM, ... */
    RUNG_CHANGE_BOARD_DEFINED,
    RUNG_CHANGE_BOARD_DELETED, /* with all entries; also a key that expired or lost its last member */
    RUNG_CHANGE_BOARD_REPLACED, /* all entries at once: a Redis command stored or renamed a key */
} rung_change_kind;

typedef struct rung_change {
    rung_change_kind kind;
    rung_event_kind cause; /* the event */
    uint64_t seq;          /* its number */
    int64_t time_ms;       /* log time */
    rung_slice board;
    const rung_board_def *def;
    /* Of ENTRY and REMOVED: */
    rung_slice player;
    uint32_t window; /* a rung_window_kind */
    int64_t ordinal; /* calendar windows */
    rung_slice season;
    bool changed; /* false: the event left the entry in this window as it was */
    uint32_t rank_before, rank, total; /* in the board's style; 0: not ranked before, or now */
    uint32_t value_count;
    rung_value values[RUNG_COLUMNS_MAX]; /* the score after the event; of REMOVED, before */
} rung_change;

typedef struct rung_state_config {
    const rung_alloc *alloc; /* must outlive the state */
    /* Called inside apply when a window closes, while `view` can still read all of its standings (in the board's rank
     * style). rung_state_seq() is the number of the event. It must not change the state. NULL: not called. */
    void (*on_close)(void *ctx, rung_slice board, const rung_view *view);
    void *on_close_ctx;
    /* Called inside apply for everything that changes standings. It must not change the state, and makes every
     * submission compute ranks. NULL: not called. */
    void (*on_change)(void *ctx, const rung_change *change);
    void *on_change_ctx;
    rung_hash_key hash_key; /* secret if untrusted clients choose names; never affects a result */
    uint32_t id_capacity;   /* submission ids to remember; 0: 1,000,000 */
    int64_t id_keep_ms;     /* for how long; 0: 24 hours */
    uint32_t boards_max;    /* 0: 1,000,000 */
    /* The initial level of rules, for a state without a log. RUNG_EVENT_RULES_SET raises it. */
    uint32_t rules_level;
} rung_state_config;

RUNG_NODISCARD rung_status rung_state_create(const rung_state_config *config, rung_state **out);
void rung_state_destroy(rung_state *s); /* accepts NULL */

/* ---- changes ---- */

/* A rule of the board that a submission breaks. */
typedef struct rung_finding {
    uint8_t rule, action; /* rung_rule, rung_action */
    rung_value value,
        limit; /* what was measured, and the rule's value: both by rung_rule_measure() */
} rung_finding;
#define RUNG_FINDINGS_MAX (RUNG_BOARD_RULES_MAX + 1) /* and `review` of the definition */

/* The effect of a submission on one window. */
typedef struct rung_window_outcome {
    uint32_t kind;   /* a rung_window_kind */
    int64_t ordinal; /* calendar windows */
    rung_slice season;
    bool changed;
    uint32_t rank_before, rank, total; /* in the board's style; rank_before is 0 for a new entry */
} rung_window_outcome;

#define RUNG_OUTCOME_WINDOWS_MAX 16 /* any further windows change but are not listed */

/* The result of a submission; all zero for other events. Rank and the fields after it describe the first window
 * reached. For a score with RUNG_SCORE_KEY and no id, only seq, changed, held, is_new and the values are set: that is
 * all a Redis command returns. */
typedef struct rung_outcome {
    uint64_t seq; /* the event's number: events applied so far, including this one */
    bool changed, duplicate;
    bool held;              /* a condition (RUNG_IF_*) prevented the change */
    bool tentative;         /* it waits for a review: score and rank are those it would have */
    bool is_new;            /* the player had no entry */
    uint8_t rule;           /* a rung_rule: which of them refused it */
    uint32_t finding_count; /* rules with the actions flag and review that it broke */
    uint64_t review;        /* when tentative, the id of the review (review.h) */
    uint32_t value_count;
    uint8_t types[RUNG_COLUMNS_MAX];     /* rung_score_type of each value, and its decimals << 4 */
    rung_value values[RUNG_COLUMNS_MAX]; /* the player's score after the event */
    /* The limit that refused it: of RUNG_RULE_RATE an integer, of the others by rung_rule_measure(), a score in the
     * type that is types[0]. */
    rung_value limit;
    /* The fields below stay 0 for a score without an id that is_brief or came as ZADD. */
    uint32_t rank_before, rank, total, passed;
    double percentile;
    bool has_next;
    rung_slice next;      /* the player just above; empty if erased since (for duplicates) */
    uint32_t next_number; /* its number; UINT32_MAX if there is none */
    /* Absolute difference in the first column, in its type (decay: as of the event's time). */
    rung_value gap;
    uint32_t window_count;
    rung_window_outcome windows[RUNG_OUTCOME_WINDOWS_MAX]; /* none for a duplicate */
    rung_finding findings[RUNG_FINDINGS_MAX];
} rung_outcome;

/* What would happen to a submission. */
typedef struct rung_judgement {
    rung_status status; /* of apply: RUNG_OK, RUNG_DUPLICATE, or why it would be refused */
    uint8_t rule;       /* a rung_rule: which of them would refuse it */
    bool tentative;     /* it would wait for a review; `rank` as if it was promoted at once */
    rung_value limit;   /* as in rung_outcome */
    uint32_t finding_count;
    rung_finding findings[RUNG_FINDINGS_MAX]; /* every rule that it breaks, whatever its action */
    uint32_t rank;                            /* that it would have in the first window; 0: none */
} rung_judgement;

/* A dry run of a submission at log time (or now_ms, if that is later): nothing changes. `err` as of apply. */
void rung_state_judge(const rung_state *s, const rung_score_event *e, int64_t now_ms,
                      rung_judgement *out, rung_err *err);

/* Apply one event. RUNG_OK; RUNG_UNCHANGED: valid, but nothing changed; RUNG_DUPLICATE: `out` holds the first result;
 * RUNG_TENTATIVE: a submission waits for a review.
 * A negative status is a refusal: only the event and refusal counts and the log time changed, and `err` (may be NULL)
 * says why. RUNG_ENOMEM on a score: nothing changed, except that expired keys are gone and seasons have begun; retry
 * it. RUNG_ENOMEM on any other event: the state is incomplete and returns RUNG_ENOMEM from then on; rebuild it from
 * the log. `out` may be NULL. */
RUNG_NODISCARD rung_status rung_state_apply(rung_state *s, const rung_event *event,
                                            rung_outcome *out, rung_err *err);

/* The same as n applies in order, several times faster. statuses[i] is what apply would have returned; outcomes and
 * errs may be NULL. Stops after an RUNG_ENOMEM. Returns how many were applied. A name in an outcome is valid until
 * that player or board is removed, which a later event of the same batch may do. */
uint32_t rung_state_apply_batch(rung_state *s, uint32_t n, const rung_event *const *events,
                                rung_status *statuses, rung_outcome *outcomes, rung_err *errs);

/* The next events to be applied, all of them matches, whatever happens in between: rung_state_apply() is faster then.
 * Borrowed until they are applied or another function changes the state. Only speed depends on it. */
void rung_state_foresee(rung_state *s, uint32_t n, const rung_event *const *events);

/* The next record of the log is not an event: count it, and change nothing else. */
void rung_state_pass(rung_state *s);

/* ---- sessions, and what players sign with them ---- */

enum {
    RUNG_SESSIONS_MAX = 1000000,
    RUNG_SESSIONS_PER_PLAYER = 4, /* one more ends the oldest */
    RUNG_SESSION_NONCES =
        16, /* remembered of each; below the lowest of so many all count as used */
};

typedef struct rung_session_info {
    rung_slice player;
    rung_slice key; /* the id of the key that its secret is derived from */
    int64_t expires_ms, window_ms;
} rung_session_info;

/* RUNG_OK or RUNG_NOT_FOUND. Texts borrow until the next apply. */
rung_status rung_state_session(const rung_state *s, rung_slice id, rung_session_info *out);

/* Everything that a signed submission needs but its signature, as of `now_ms`: a session of its player that is not
 * over, a board whose writers are players, a time within the session's window, a new nonce. RUNG_OK, or RUNG_EREFUSED
 * with the reason RUNG_REASON_EXPIRED, _SIGNATURE, _FORBIDDEN or _REPLAYED. Apply asks the same at log time. */
RUNG_NODISCARD rung_status rung_state_check_signed(const rung_state *s, const rung_score_event *e,
                                                   int64_t now_ms, rung_err *err);

/* ---- the whole ---- */

uint64_t rung_state_seq(const rung_state *s);   /* events applied, and records passed over */
int64_t rung_state_time(const rung_state *s);   /* log time; INT64_MIN before the first event */
uint32_t rung_state_rules(const rung_state *s); /* the current level of rules */
bool rung_state_has_keys(const rung_state *s);  /* the value of the last RUNG_EVENT_ACCESS_SET */
/* The earliest time at which a tick would close a window, expire a key, end a review or reset ratings for a season;
 * INT64_MAX: none. */
int64_t rung_state_next_close(const rung_state *s);

typedef struct rung_digest {
    uint64_t a, b;
} rung_digest;

/* Equal for equal states. O(1): every change updates it. */
rung_digest rung_state_digest(const rung_state *s);

/* Counts, and memory in bytes by purpose. */
typedef struct rung_stats {
    uint64_t seq, refused;
    uint64_t boards, players, windows, ladders, entries, friendships, ids, banned, profiles;
    uint64_t sets, set_members; /* of the Redis protocol */
    uint64_t bytes_total, bytes_players, bytes_entries /* main rankings */, bytes_scopes,
        bytes_teams, bytes_friends, bytes_ids, bytes_profiles, bytes_boards, bytes_sets;
    uint64_t id_capacity; /* the current limits of remembered submission ids */
    int64_t id_keep_ms;
    uint64_t submissions; /* for one board only: since it is in memory, including refused ones */
} rung_stats;
void rung_state_stats(const rung_state *s, rung_stats *out); /* O(windows) */
/* The same for one board: windows, ladders, entries, submissions, and the bytes of its rankings and definition. The
 * rest is 0. RUNG_OK or RUNG_NOT_FOUND. */
rung_status rung_state_board_stats(const rung_state *s, rung_slice board, rung_stats *out);

/* ---- queries: a view is one ranking ---- */

typedef struct rung_query {
    rung_slice board;
    /* "all", "hour", "day", "week", "month", "year" or a season's name; empty: all, or else the board's first. */
    rung_slice window;
    rung_slice window_id; /* "2026-W46", ...; empty: the window that contains `now` */
    rung_slice on;        /* or a local date inside the window */
    rung_slice scope;     /* "country:FI"; empty: everybody */
    bool teams;           /* the team ranking instead of the players' */
    bool has_rank;
    rung_rank_style rank; /* when has_rank, else the board's */
    /* Selects the current window, and the time for which decayed scores are shown; 0: log time. */
    int64_t now_ms;
} rung_query;

struct rung_view {     /* fields without a comment are private; valid until the next apply */
    uint32_t total;    /* entries */
    uint32_t distinct; /* distinct scores */
    rung_rank_style rank;
    bool closed;
    uint32_t kind;
    int64_t ordinal, start_ms, end_ms; /* for "all": INT64_MIN and INT64_MAX */
    rung_slice season;
    const rung_state *state;
    const void *board, *window, *ladder; /* ladder NULL: nobody is ranked here */
    rung_sketch_kind sketch_kind; /* public: of a sketch board; total and distinct are 0 then */
    const void *sketch;
    bool teams;
    int64_t now_ms;
};

/* RUNG_OK, with an empty view if the window has no entry yet. RUNG_NOT_FOUND: no such board, scope attribute, season
 * or teams, or the window is not in memory; `err` says which. RUNG_EINVAL: malformed query. */
RUNG_NODISCARD rung_status rung_state_view(const rung_state *s, const rung_query *q, rung_view *out,
                                           rung_err *err);

typedef struct rung_row {
    uint32_t rank;   /* in the view's style */
    uint32_t index;  /* position in the full order, from 0 */
    uint32_t number; /* the player's (or team's) number */
    rung_slice id;   /* player or team */
    uint32_t value_count;
    rung_value values[RUNG_COLUMNS_MAX];
    bool has_at;
    int64_t at_ms;
    double percentile;
    uint32_t members;   /* team views */
    uint32_t list_rank; /* friends and lists: rank within the list, in the view's style */
    /* Of a counts board: the true sum lies between them; values[0] is `high`. */
    bool has_bounds;
    uint64_t low, high;
} rung_row;

/* Rows [offset, offset + limit) in order. Returns how many it wrote. */
uint32_t rung_view_top(const rung_view *v, uint32_t offset, uint32_t limit, rung_row *rows);

/* The player (or team) with `around` rows above and below. Near the top or bottom the other side gets more rows, so
 * that there are 2 x around + 1 rows if the ranking has that many. `*self_out` is the index of the player's row.
 * `rows` has room for 2 x around + 1. RUNG_OK or RUNG_NOT_FOUND. */
rung_status rung_view_around(const rung_view *v, rung_slice id, uint32_t around, rung_row *rows,
                             uint32_t *count_out, uint32_t *self_out);

/* Prefetch what n look-ups of player ids[i] in views[i] will read, so that their cache misses overlap. Affects only
 * speed. */
void rung_view_prefetch(uint32_t n, const rung_view *const *views, const rung_slice *ids);

/* One row per id, in the same order. found[i] says whether ids[i] is ranked. */
void rung_view_rows(const rung_view *v, uint32_t n, const rung_slice *ids, rung_row *rows,
                    bool *found);

/* The rank that a score would get if a player who is not ranked yet submitted it now, and up to `around` rows above
 * and below that position. `rows` has room for 2 x around. `*above_out` of the `*count_out` rows are above it.
 * Missing columns count as 0. RUNG_EINVAL: the values do not fit the board. */
RUNG_NODISCARD rung_status rung_view_at_score(const rung_view *v, uint32_t value_count,
                                              const rung_value *values, uint32_t around,
                                              uint32_t *rank_out, rung_row *rows,
                                              uint32_t *count_out, uint32_t *above_out,
                                              rung_err *err);

/* The entry that holds `rank` in the view's style: its score is what it takes to get there. If ties skip that rank,
 * the entry at that position. RUNG_NOT_FOUND past the end. */
rung_status rung_view_target_rank(const rung_view *v, uint32_t rank, rung_row *row);
/* The last entry of the best `percent` (0 < percent <= 100): index ceil(total x percent / 100) - 1. */
rung_status rung_view_target_percent(const rung_view *v, double percent, rung_row *row);

/* Count the entries whose first score column is between `low` and `high`, both inclusive, whatever the order of the
 * board. Decayed scores count as displayed, including 0 and infinity. RUNG_OK or RUNG_EINVAL (NaN). */
RUNG_NODISCARD rung_status rung_view_count_range(const rung_view *v, rung_value low,
                                                 rung_value high, uint32_t *count_out);

typedef struct rung_bucket {
    /* By width: [low, high), and the last bucket includes high. By count: the smallest and largest score in the
         * bucket. */
    rung_value low, high;
    uint64_t count;
} rung_bucket;

/* Split the range of scores (first column) into `n` buckets of equal width, ascending. Integer and decimal edges are
 * exact: edge i = low + floor((high - low + 1) x i / n), except that the last edge, high + 1, is reported as high.
 * `n` is capped at the number of possible distinct values. An infinite range is one bucket. Returns the number of
 * buckets; 0 when the ranking is empty. */
uint32_t rung_view_distribution_by_width(const rung_view *v, uint32_t n, rung_bucket *buckets);
/* Split the entries, best first, into at most n buckets with counts as equal as possible. Returns the number of
 * buckets, at most total. */
uint32_t rung_view_distribution_by_count(const rung_view *v, uint32_t n, rung_bucket *buckets);
/* The entry at quantile num/den from the top, by nearest rank. RUNG_NOT_FOUND when empty. */
rung_status rung_view_quantile(const rung_view *v, uint32_t num, uint32_t den, rung_row *row);

/* The player and those the player follows, with their rank in this list (list_rank) and in the view (rank). Returns
 * rows [offset, offset + limit) of the list, best first. `*total_out` is the number of listed players that are
 * ranked; others are left out. Without friends the player is alone. RUNG_NOT_FOUND: no such player. RUNG_ENOMEM:
 * `alloc` has no scratch memory. */
RUNG_NODISCARD rung_status rung_view_friends(const rung_view *v, const rung_alloc *alloc,
                                             rung_slice player, uint32_t offset, uint32_t limit,
                                             rung_row *rows, uint32_t *count_out,
                                             uint32_t *total_out);
/* The same for any list of ids. Unknown and unranked ids are left out; repeated ids count once. */
RUNG_NODISCARD rung_status rung_view_list(const rung_view *v, const rung_alloc *alloc, uint32_t n,
                                          const rung_slice *ids, uint32_t offset, uint32_t limit,
                                          rung_row *rows, uint32_t *count_out, uint32_t *total_out);

/* ---- boards, windows and players ---- */

/* The board with number i, below rung_state_board_span(). RUNG_NOT_FOUND if no board has that number. The numbers of
 * deleted boards are reused. `*def_out` borrows. */
rung_status rung_state_board_at(const rung_state *s, uint32_t i, rung_slice *id_out,
                                const rung_board_def **def_out);
uint32_t rung_state_board_span(const rung_state *s);
rung_status rung_state_board(const rung_state *s, rung_slice id, const rung_board_def **def_out);

/* For callers that cache results: the number of the last event that changed anything visible of a board: its
 * definition, entries, windows, bans, or a profile. 0: no such board. After a load it may be higher, never lower. */
uint64_t rung_state_board_version(const rung_state *s, rung_slice board);

typedef struct rung_window_info {
    uint32_t kind;
    int64_t ordinal, start_ms, end_ms;
    rung_slice season;
    bool closed;
    uint32_t total;
    rung_digest digest;         /* of its entries: equal states have equal ones */
    char id[RUNG_NAME_MAX + 1]; /* "2026-W46", "all", or the season's name; NUL-terminated */
} rung_window_info;

/* The windows of a board that are in memory, by kind, newest first. Returns how many there are, which may exceed
 * `room`. */
uint32_t rung_state_windows(const rung_state *s, rung_slice board, rung_window_info *out,
                            uint32_t room);

/* A player's profile: the number of attributes, and the attributes, which borrow. RUNG_NOT_FOUND: no such player. */
rung_status rung_state_player(const rung_state *s, rung_slice id, uint32_t *count_out,
                              rung_attribute *attributes /* RUNG_ATTRIBUTES_MAX */,
                              bool *banned_out);
/* The attributes alone, by the number in a row that is still valid: no look-up by id. Returns how many. */
uint32_t rung_state_profile(const rung_state *s, uint32_t number,
                            rung_attribute *attributes /* RUNG_ATTRIBUTES_MAX */);
/* Until when the player is banned; 0: not banned, or the ban does not end by itself. */
int64_t rung_state_banned_until(const rung_state *s, rung_slice id);
/* Is the player banned without being told (rung_event.ban.is_shadow)? */
bool rung_state_is_shadow_banned(const rung_state *s, rung_slice id);
/* From here to leave, every view of the board (empty: of all boards) has the entries that a shadow ban holds of the
 * player, for that player's own eyes. Digest and versions do not change; nothing may be applied or saved meanwhile.
 * RUNG_OK; RUNG_NOT_FOUND: no shadow ban, or somebody is shown already, and there is nothing to leave; RUNG_ENOMEM: the
 * same. */
RUNG_NODISCARD rung_status rung_state_ghost_enter(rung_state *s, rung_slice board, rung_slice id);
void rung_state_ghost_leave(rung_state *s);
/* Whose bans have ended by now_ms, for events that say so (rung_event.ban). Returns how many, up to `room`. */
uint32_t rung_state_bans_due(rung_state *s, int64_t now_ms, uint32_t room, rung_slice *players,
                             int64_t *untils);
/* The ids of those whom the player follows, ascending by player number. Returns how many there are, which may exceed
 * `room`. */
uint32_t rung_state_friends(const rung_state *s, rung_slice id, rung_slice *ids, uint32_t room);

/* NULL, or the broken invariant. Runs the ladders' own checks and recomputes scopes, teams and the digest from the
 * main rankings. O(n log n), for tests. */
const char *rung_state_check(const rung_state *s);

#endif
