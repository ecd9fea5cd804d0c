/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - the archive: score events, closed windows with all final standings, players, an audit trail.
 *
 * One follower of the log writes the archive in batches. A batch and its cursor (how far the archive has got) become
 * visible atomically. The archive answers queries on windows that have left memory, with the same rows that the state
 * would have returned. For open windows the state is the authority.
 *
 *     rung_archive_begin(a, &err);
 *     rung_archive_add_event(a, seq, &event, log_time_ms, &effect, &err);
 *     rung_archive_commit(a, seq, log_time_ms, &err);
 *
 * Queries go through the port rung_archive_reading (service/archive_port.h).
 *
 * Times are Unix milliseconds. After a failure inside a batch, call rung_archive_rollback() and retry the batch.
 * Threads: one thread at a time uses an archive; a second thread opens its own. */
#ifndef RUNG_ARCHIVE_ARCHIVE_H
#define RUNG_ARCHIVE_ARCHIVE_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "model/event.h"
#include "service/archive_port.h"
#include "state/scope_values.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* What an event did. */
typedef struct rung_archive_effect {
    int status; /* rung_status of applying it, or RUNG_STATUS_UNKNOWN */
    rung_rule rule;
    rung_value limit; /* as in rung_outcome */
    rung_archive_values
        result; /* of a submission; count 0: none. Of one that a limit refused, types[0] and decimals[0]
                                 * are those of the board's score */
    rung_slice before, after; /* JSON; may be empty */
    rung_slice results;       /* of an event with several players (results.h); empty: not known */
} rung_archive_effect;

/* One value of a scope or team attribute at the time a window closed, such as "country:FI". */
typedef struct rung_archive_scope {
    int64_t key; /* key of the implementation; unused when adding */
    rung_slice attribute, value;
    uint32_t total, distinct; /* including hidden standings */
    uint32_t hidden;          /* number of hidden standings; unused when adding */
    bool is_team;             /* this attribute forms the teams */
    /* the sum of contributions (state/team.h) of all who count for the team; on decay boards the bits of a double,
     * the sum of the scores as of the window's end */
    __int128 team_sum;
} rung_archive_scope;

/* The position of a standing in one scope. */
typedef struct rung_archive_scope_rank {
    uint32_t scope; /* index in the window's list of scopes */
    uint32_t place, sparse, dense;
} rung_archive_scope_rank;

/* One final standing. Decayed scores are as of the window's end. */
typedef struct rung_archive_row {
    uint32_t place; /* position in the full order, from 1: the unique rank */
    uint32_t sparse, dense;
    uint32_t number; /* the player's number at the time */
    rung_slice player;
    rung_archive_values values;
    bool has_at;
    int64_t at_ms;
    uint32_t hidden;                       /* when adding: why it is not shown (bits below), or 0 */
    const rung_archive_scope_rank *scopes; /* when adding: its scopes */
    uint32_t scope_count;
} rung_archive_row;

typedef struct rung_archive_sample {
    uint64_t seq;
    rung_slice board, player;
    rung_archive_point point;
} rung_archive_sample;

/* Why a standing is hidden; bits. */
enum { RUNG_HIDDEN_BANNED = 1, RUNG_HIDDEN_REMOVED = 2 };

/* Returns rows in order: RUNG_OK, RUNG_NOT_FOUND at the end, or a failure. */
typedef rung_status rung_archive_next_row(void *ctx, rung_archive_row *row_out, rung_err *err);

/* An implementation. The slices it returns live in the archive's arena (rung__archive_keep). */
typedef struct rung_archive_ops {
    /* a batch. RUNG_PARTIAL: another server writes this archive, nothing has begun; the cursor tells how far it is */
    rung_status (*begin)(rung_archive *a, rung_err *err);
    rung_status (*add_score)(rung_archive *a, const rung_archive_score *s, rung_err *err);
    rung_status (*add_audit)(rung_archive *a, const rung_archive_audit *r, rung_err *err);
    /* Fill in the counts of r's board, rule and minute: zeros if there are none. */
    rung_status (*find_refusals)(rung_archive *a, rung_archive_refusals *r, rung_err *err);
    /* Replace these counts. */
    rung_status (*put_refusals)(rung_archive *a, const rung_archive_refusals *r, rung_err *err);
    rung_status (*put_player)(rung_archive *a, uint64_t seq, int64_t ts_ms, rung_slice player,
                              rung_slice profile, rung_err *err);
    rung_status (*add_window)(rung_archive *a, const rung_archive_window *w,
                              const rung_archive_scope *scopes, uint32_t scope_count,
                              rung_archive_next_row *next, void *ctx, rung_err *err);
    rung_status (*add_sample)(rung_archive *a, const rung_archive_sample *s, rung_err *err);
    /* Set or clear a bit on all standings of the player: on one board, or on all if `board` is empty. */
    rung_status (*hide)(rung_archive *a, uint64_t seq, rung_slice board, rung_slice player,
                        uint32_t bit, bool on, rung_err *err);
    rung_status (*erase)(rung_archive *a, uint64_t seq, rung_slice player, rung_err *err);
    rung_status (*retire_board)(rung_archive *a, rung_slice board, uint64_t seq, rung_err *err);
    rung_status (*retire_all)(rung_archive *a, uint64_t seq, rung_err *err);
    rung_status (*commit)(rung_archive *a, uint64_t seq, int64_t log_time_ms, rung_err *err);
    void (*rollback)(rung_archive *a);
    /* Between batches: one small step of what can wait. Removes events, samples and closed windows from before
     * `before_ms` (INT64_MIN: none), and brings tables up to date that follow events later. *more_out: there is more to
     * do. NULL: there never is. */
    rung_status (*upkeep)(rung_archive *a, int64_t before_ms, bool *more_out, rung_err *err);
    /* queries; between read_begin and read_end they see one snapshot */
    rung_status (*cursor)(rung_archive *a, uint64_t *seq_out, int64_t *log_time_ms_out,
                          rung_err *err);
    rung_status (*read_begin)(rung_archive *a, rung_err *err);
    void (*read_end)(rung_archive *a);
    rung_status (*find_window)(rung_archive *a, rung_slice board, uint32_t kind, rung_slice id,
                               rung_archive_window *out, rung_err *err);
    rung_status (*windows)(rung_archive *a, rung_slice board, uint32_t kind, int64_t before_end_ms,
                           uint32_t limit, rung_archive_window *out, uint32_t *count_out,
                           rung_err *err);
    /* One scope of a window, without its hidden standings. RUNG_NOT_FOUND: it was empty. */
    rung_status (*find_scope)(rung_archive *a, int64_t window, rung_slice attribute,
                              rung_slice value, rung_archive_scope *out, rung_err *err);
    /* All scopes of one attribute; `*scopes_out` in the arena. */
    rung_status (*scopes)(rung_archive *a, int64_t window, rung_slice attribute,
                          rung_archive_scope **scopes_out, uint32_t *count_out, rung_err *err);
    /* The hidden standings of one ranking, ascending, with their places and ranks in it; `*rows_out` is in the arena.
     */
    rung_status (*hidden)(rung_archive *a, const rung_archive_ranking *r,
                          rung_archive_row **rows_out, uint32_t *count_out, rung_err *err);
    /* Up to `limit` visible standings, starting at a place. */
    rung_status (*rows)(rung_archive *a, const rung_archive_ranking *r, uint32_t from_place,
                        uint32_t limit, rung_archive_row *out, uint32_t *count_out, rung_err *err);
    /* The player's standing, if visible. RUNG_NOT_FOUND. */
    rung_status (*row_of)(rung_archive *a, const rung_archive_ranking *r, rung_slice player,
                          rung_archive_row *out, rung_err *err);
    rung_status (*history)(rung_archive *a, rung_slice board, rung_slice player, int64_t from_ms,
                           int64_t to_ms, uint32_t limit, rung_archive_point *out,
                           uint32_t *count_out, rung_err *err);
    rung_status (*scores)(rung_archive *a, const rung_archive_score_query *q, uint32_t limit,
                          rung_archive_score *out, uint32_t *count_out, rung_err *err);
    rung_status (*audit)(rung_archive *a, const rung_archive_audit_query *q, uint32_t limit,
                         rung_archive_audit *out, uint32_t *count_out, rung_err *err);
    /* The next two are NULL for archives whose calls never wait long. */
    /* From any thread: let the call in progress fail, and later ones. */
    void (*interrupt)(rung_archive *a);
    /* How long the next question may take. */
    void (*limit)(rung_archive *a, uint32_t ms);
    void (*close)(rung_archive *a);
} rung_archive_ops;

/* The first member of every implementation. */
struct rung_archive {
    const rung_archive_ops *ops;
    const rung_alloc *alloc;
    struct rung__archive_chunk *arena; /* texts of answers */
    bool may_be_away;                  /* it can be out of reach for a while, also at the start */
};

/* Accepts NULL; rolls back an open batch. */
static inline void rung_archive_close(rung_archive *a) {
    if (a)
        a->ops->close(a);
}

/* ---- changes, between begin and commit ---- */

RUNG_NODISCARD static inline rung_status rung_archive_begin(rung_archive *a, rung_err *err) {
    return a->ops->begin(a, err);
}

/* Archive an event according to its kind: a score, an audit record, a profile, hidden or erased standings.
 * `log_time_ms` is the largest ts up to this event. */
RUNG_NODISCARD rung_status rung_archive_add_event(rung_archive *a, uint64_t seq,
                                                  const rung_event *event, int64_t log_time_ms,
                                                  const rung_archive_effect *effect, rung_err *err);
/* Does the event change the results for windows archived earlier: who is shown, or whether they still belong to the
 * board? */
bool rung_archive_is_changed_by(const rung_event *event);
/* Add a closed window or a set of samples, packed by closed_window.h; a window also gets an audit record.
 * RUNG_ECORRUPT: not such bytes. All events up to its sequence must have been added before. */
RUNG_NODISCARD rung_status rung_archive_add_packed(rung_archive *a, rung_slice packed,
                                                   rung_err *err);
/* Record that events up to `seq` were never archived. */
RUNG_NODISCARD rung_status rung_archive_add_gap(rung_archive *a, uint64_t first_seq,
                                                uint64_t last_seq, rung_err *err);

/* Make the batch durable and visible; the cursor becomes `seq`. */
RUNG_NODISCARD static inline rung_status rung_archive_commit(rung_archive *a, uint64_t seq,
                                                             int64_t log_time_ms, rung_err *err) {
    return a->ops->commit(a, seq, log_time_ms, err);
}

/* A no-op without a batch. */
static inline void rung_archive_rollback(rung_archive *a) {
    a->ops->rollback(a);
}

/* ---- queries ---- */

/* The last archived sequence (0: none) and the log time there. `log_time_ms_out` may be NULL. */
RUNG_NODISCARD static inline rung_status
rung_archive_cursor(rung_archive *a, uint64_t *seq_out, int64_t *log_time_ms_out, rung_err *err) {
    return a->ops->cursor(a, seq_out, log_time_ms_out, err);
}

/* All other queries. */
extern const rung_archive_port rung_archive_reading;

/* ---- for implementations ---- */

/* Allocate in the arena, for the current result; NULL: out of memory. */
void *rung__archive_get(rung_archive *a, size_t size);
RUNG_NODISCARD bool rung__archive_keep(rung_archive *a, const void *bytes, size_t len,
                                       rung_slice *out);
void rung__archive_forget(rung_archive *a);

/* Back from rung_archive_kind_of(); false: not known. */
bool rung_archive_kind_read(rung_slice kind, rung_archive_score *s);

/* The window as of a moment had a standing whose player was erased since. */
rung_status rung__archive_fail_erased(rung_err *err);

/* The columns of a board as the types of values. */
rung_archive_values rung_archive_values_of(const rung_board_def *def);

#endif
