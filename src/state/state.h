/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state machine: apply(event), and every question about the result. docs/boards.md is its law.
 *
 * apply is total and deterministic: same events in, same state and same answers out, on any machine; a bad event
 * is a recorded refusal, never a crash. Pure: no clock, randomness, files or threads. One thread at a time.
 *
 *     rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s);
 *     rung_state_apply(s, &event, &outcome, &err);
 *     rung_state_view(s, &(rung_query){.board = RUNG_SLICE("race")}, &view, &err);
 *     n = rung_view_top(&view, 0, 10, rows);
 *
 * Slices in answers borrow from the state: valid until the next apply. */
#ifndef RUNG_STATE_STATE_H
#define RUNG_STATE_STATE_H

#include "base/alloc.h"
#include "base/hash.h"
#include "model/event.h"

typedef struct rung_state
    rung_state; /* heap object; whoever created it calls rung_state_destroy() */

typedef struct rung_view rung_view;

typedef struct rung_state_config {
    const rung_alloc *alloc; /* outlives the state */
    /* Called inside apply whenever a window closes, while all of its standings can still be read through `view`
     * (in the board's rank style); the event's number is rung_state_seq(). For an archive. It must not change
     * the state. NULL: nobody asks. */
    void (*on_close)(void *ctx, rung_slice board, const rung_view *view);
    void *on_close_ctx;
    rung_hash_key hash_key; /* secret where strangers choose names; never changes an answer */
    uint32_t id_capacity;   /* submission ids remembered; 0: 1,000,000 */
    int64_t id_keep_ms;     /* for how long; 0: 24 hours */
    uint32_t boards_max;    /* 0: 1,000,000 */
    uint32_t
        rules_level; /* to begin with, of a state without a log; RUNG_EVENT_RULES_SET raises it */
} rung_state_config;

RUNG_NODISCARD rung_status rung_state_create(const rung_state_config *config, rung_state **out);
void rung_state_destroy(rung_state *s); /* accepts NULL */

/* ---- changes ---- */

/* One window's part in a submission. */
typedef struct rung_window_outcome {
    uint32_t kind;   /* a rung_window_kind */
    int64_t ordinal; /* calendar windows */
    rung_slice season;
    bool changed;
    uint32_t rank_before, rank, total; /* in the board's style; before: 0 for a new entry */
} rung_window_outcome;

#define RUNG_OUTCOME_WINDOWS_MAX 16 /* more are changed, but not listed */

/* The answer to a submission; rank and what follows are those of the first window reached. All zero for other
 * events. To a score that names a key (RUNG_SCORE_KEY) without an id nothing is told but what a command of the Redis
 * protocol answers: seq, changed, held, is_new and the values. */
typedef struct rung_outcome {
    uint64_t seq; /* the event's number: how many events have been applied, this one included */
    bool changed, duplicate;
    bool held;   /* a condition of the event (RUNG_IF_*) held it back */
    bool is_new; /* the player had no entry */
    uint32_t value_count;
    rung_value values[RUNG_COLUMNS_MAX]; /* the score that stands now */
    /* From here on not worked out, 0 or none, for a score without id that is_brief or was sent as ZADD. */
    uint32_t rank_before, rank, total, passed;
    double percentile;
    bool has_next;
    rung_slice next;      /* the player just above; empty if erased since (duplicates) */
    uint32_t next_number; /* its number; UINT32_MAX if there is none */
    rung_value
        gap; /* absolute difference of the first column, of its type (decay: as of the event's time) */
    uint32_t window_count;
    rung_window_outcome windows[RUNG_OUTCOME_WINDOWS_MAX]; /* 0 for a duplicate */
} rung_outcome;

/* RUNG_OK; RUNG_UNCHANGED (valid, but nothing changed); RUNG_DUPLICATE (outcome holds the first answer); a
 * negative status is a refusal: nothing changed but the count of events and refusals and the log time, `err`
 * (may be NULL) says why. RUNG_ENOMEM: scores: nothing changed (but keys whose time is over are gone), may be tried
 * again. Other events: the state is no longer whole; it answers RUNG_ENOMEM from then on and must be built anew from
 * the log. `out` may be NULL. */
RUNG_NODISCARD rung_status rung_state_apply(rung_state *s, const rung_event *event,
                                            rung_outcome *out, rung_err *err);

/* The same as n applies in order, several times faster. statuses[i] as above; outcomes and errs may be NULL.
 * Stops after an RUNG_ENOMEM. Returns how many were applied. A name in an outcome is valid until its owner goes, be it
 * by a later event of the same batch. */
uint32_t rung_state_apply_batch(rung_state *s, uint32_t n, const rung_event *const *events,
                                rung_status *statuses, rung_outcome *outcomes, rung_err *errs);

/* ---- the whole ---- */

uint64_t rung_state_seq(const rung_state *s);   /* events applied */
int64_t rung_state_time(const rung_state *s);   /* log time t; INT64_MIN before the first event */
uint32_t rung_state_rules(const rung_state *s); /* the level that events are applied by */
bool rung_state_has_keys(const rung_state *s);  /* as the last RUNG_EVENT_ACCESS_SET says */
/* The earliest time at which a tick would close a window or take away a key; INT64_MAX if there is none. */
int64_t rung_state_next_close(const rung_state *s);

typedef struct rung_digest {
    uint64_t a, b;
} rung_digest;

/* Equal for equal states. O(1): kept up to date by every change. */
rung_digest rung_state_digest(const rung_state *s);

/* Bytes in use, by what they are for. */
typedef struct rung_stats {
    uint64_t seq, refused;
    uint64_t boards, players, windows, ladders, entries, friendships, ids, banned, profiles;
    uint64_t sets, set_members; /* of the Redis protocol */
    uint64_t bytes_total, bytes_players, bytes_entries /* main rankings */, bytes_scopes,
        bytes_teams, bytes_friends, bytes_ids, bytes_profiles, bytes_boards, bytes_sets;
    uint64_t id_capacity; /* the memory for submission ids, as it is set now */
    int64_t id_keep_ms;
    uint64_t submissions; /* of one board only: since it is in memory, refused ones too */
} rung_stats;
void rung_state_stats(const rung_state *s, rung_stats *out); /* O(windows) */
/* The share of one board: windows, ladders, entries, submissions and the bytes of its rankings and its definition; the
 * rest is 0. RUNG_NOT_FOUND. */
rung_status rung_state_board_stats(const rung_state *s, rung_slice board, rung_stats *out);

/* ---- asking: a view is one ranking ---- */

typedef struct rung_query {
    rung_slice board;
    rung_slice
        window; /* "all", "hour", "day", "week", "month", "year", a season's name; empty: all, or the board's first */
    rung_slice window_id; /* "2026-W46", ...; empty: the window that contains `now` */
    rung_slice on;        /* or a local date inside the wanted window */
    rung_slice scope;     /* "country:FI"; empty: everybody */
    bool teams;           /* the team ranking instead of the players' */
    bool has_rank;
    rung_rank_style rank; /* when has_rank, else the board's */
    int64_t
        now_ms; /* chooses the current window, and the time decayed scores are shown for; 0: log time */
} rung_query;

struct rung_view {     /* private but for what is commented; valid until the next apply */
    uint32_t total;    /* entries */
    uint32_t distinct; /* distinct scores */
    rung_rank_style rank;
    bool closed;
    uint32_t kind;
    int64_t ordinal, start_ms, end_ms; /* start and end: INT64_MIN and INT64_MAX for all */
    rung_slice season;
    const rung_state *state;
    const void *board, *window, *ladder; /* ladder NULL: nobody is ranked here */
    bool teams;
    int64_t now_ms;
};

/* RUNG_OK (perhaps an empty view: a window that has no entry yet), RUNG_NOT_FOUND (no such board, scope
 * attribute, season or teams; or a window that is no longer, or not, in memory: `err` tells which), RUNG_EINVAL
 * (malformed). */
RUNG_NODISCARD rung_status rung_state_view(const rung_state *s, const rung_query *q, rung_view *out,
                                           rung_err *err);

typedef struct rung_row {
    uint32_t rank;   /* in the view's style */
    uint32_t index;  /* place in the full order, from 0 */
    uint32_t number; /* the player's (or team's) number */
    rung_slice id;   /* player or team */
    uint32_t value_count;
    rung_value values[RUNG_COLUMNS_MAX];
    bool has_at;
    int64_t at_ms;
    double percentile;
    uint32_t members;   /* team views */
    uint32_t list_rank; /* friends and lists: rank among those listed, in the view's style */
} rung_row;

/* Rows [offset, offset + limit) in order; returns how many there are. */
uint32_t rung_view_top(const rung_view *v, uint32_t offset, uint32_t limit, rung_row *rows);

/* The player (or team) with `around` rows above and below; where the board ends on one side the other side is
 * longer, so that 2 x around + 1 rows are there if the board has them. `*self_out` is the row of the player.
 * rows: room for 2 x around + 1. RUNG_OK or RUNG_NOT_FOUND. */
rung_status rung_view_around(const rung_view *v, rung_slice id, uint32_t around, rung_row *rows,
                             uint32_t *count_out, uint32_t *self_out);

/* Ask for the memory that n questions for a place will read: player ids[i] in views[i]. Asked together they wait for
 * it about as long as one. Changes no answer. */
void rung_view_prefetch(uint32_t n, const rung_view *const *views, const rung_slice *ids);

/* One row per id, in order; found[i] tells which are ranked. */
void rung_view_rows(const rung_view *v, uint32_t n, const rung_slice *ids, rung_row *rows,
                    bool *found);

/* The rank a score would have (of somebody not ranked yet, submitted at now), and the `around` rows above and
 * below that place. rows: 2 x around. `*above_out` of the `*count_out` rows stand above. RUNG_EINVAL when the
 * values do not fit the board. Missing columns: the worst... 0. */
RUNG_NODISCARD rung_status rung_view_at_score(const rung_view *v, uint32_t value_count,
                                              const rung_value *values, uint32_t around,
                                              uint32_t *rank_out, rung_row *rows,
                                              uint32_t *count_out, uint32_t *above_out,
                                              rung_err *err);

/* Who holds `rank` (in the view's style), or, where ties leave it empty, who stands at that place: the score it
 * takes. RUNG_NOT_FOUND past the end. */
rung_status rung_view_target_rank(const rung_view *v, uint32_t rank, rung_row *row);
/* The last entry that is in the best `percent` (0 < percent <= 100): index ceil(total x percent / 100) - 1. */
rung_status rung_view_target_percent(const rung_view *v, double percent, rung_row *row);

/* Entries with a first score column between `low` and `high`, both included, whatever the order of the board; decayed
 * ones as they are shown, 0 and infinite included. RUNG_OK or RUNG_EINVAL (not a number). */
RUNG_NODISCARD rung_status rung_view_count_range(const rung_view *v, rung_value low,
                                                 rung_value high, uint32_t *count_out);

typedef struct rung_bucket {
    rung_value low,
        high; /* by width: [low, high), the last also high; by count: the smallest and largest score in it */
    uint32_t count;
} rung_bucket;

/* Split the range of scores (first column) into `n` buckets of equal width, ascending by score. Integer and
 * decimal edges are exact: edge i = low + floor((high - low + 1) x i / n) (the last one, high + 1, is shown as
 * high); n is cut to the number of distinct values possible. An infinite range is one bucket. Returns how many;
 * 0 when empty. */
uint32_t rung_view_distribution_by_width(const rung_view *v, uint32_t n, rung_bucket *buckets);
/* Split the entries in order (best first) into n buckets as equal in count as can be; returns how many (at most
 * total). */
uint32_t rung_view_distribution_by_count(const rung_view *v, uint32_t n, rung_bucket *buckets);
/* The score at a share num/den down the order, nearest rank. RUNG_NOT_FOUND when empty. */
rung_status rung_view_quantile(const rung_view *v, uint32_t num, uint32_t den, rung_row *row);

/* The player and those the player follows, ranked among themselves (list_rank) and in the view (rank). Rows
 * [offset, offset + limit) of that list, best first. `*total_out`: how many of them are ranked. A player not
 * ranked is left out; a player without friends is alone. RUNG_NOT_FOUND: no such player. Scratch memory from
 * `alloc`: RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_view_friends(const rung_view *v, const rung_alloc *alloc,
                                             rung_slice player, uint32_t offset, uint32_t limit,
                                             rung_row *rows, uint32_t *count_out,
                                             uint32_t *total_out);
/* The same for any list of ids (unknown and unranked ones are left out; repeated ones count once). */
RUNG_NODISCARD rung_status rung_view_list(const rung_view *v, const rung_alloc *alloc, uint32_t n,
                                          const rung_slice *ids, uint32_t offset, uint32_t limit,
                                          rung_row *rows, uint32_t *count_out, uint32_t *total_out);

/* ---- looking around ---- */

/* Board number i of 0..boards-1 in order of creation... numbers of deleted boards are reused: RUNG_NOT_FOUND
 * where there is none. `*def` borrows. */
rung_status rung_state_board_at(const rung_state *s, uint32_t i, rung_slice *id_out,
                                const rung_board_def **def_out);
uint32_t rung_state_board_span(const rung_state *s);
rung_status rung_state_board(const rung_state *s, rung_slice id, const rung_board_def **def_out);

/* For whoever keeps an answer: the number of the last event that changed anything visible of a board, be it its
 * definition, entries, windows, bans, or somebody's profile. 0: no such board. After a load no less than that. */
uint64_t rung_state_board_version(const rung_state *s, rung_slice board);

typedef struct rung_window_info {
    uint32_t kind;
    int64_t ordinal, start_ms, end_ms;
    rung_slice season;
    bool closed;
    uint32_t total;
    char id[RUNG_NAME_MAX + 1]; /* "2026-W46", "all", or the season's name; NUL-terminated */
} rung_window_info;

/* Windows of a board in memory, by kind, newest first; returns how many there are (may exceed `room`). */
uint32_t rung_state_windows(const rung_state *s, rung_slice board, rung_window_info *out,
                            uint32_t room);

/* A player's profile: count of attributes; attributes borrow. RUNG_NOT_FOUND: nobody by that id. */
rung_status rung_state_player(const rung_state *s, rung_slice id, uint32_t *count_out,
                              rung_attribute *attributes /* RUNG_ATTRIBUTES_MAX */,
                              bool *banned_out);
/* The attributes alone, by the number of a row that is still valid; returns how many. For lists: no look-up by id. */
uint32_t rung_state_profile(const rung_state *s, uint32_t number,
                            rung_attribute *attributes /* RUNG_ATTRIBUTES_MAX */);
/* Whom the player follows, by number... ids ascending by player number; returns how many there are (may exceed
 * `room`). */
uint32_t rung_state_friends(const rung_state *s, rung_slice id, rung_slice *ids, uint32_t room);

/* NULL, or which invariant is broken: ladders' own checks, scopes and teams recomputed from the main rankings,
 * digest recomputed. O(n log n), for tests. */
const char *rung_state_check(const rung_state *s);

#endif
