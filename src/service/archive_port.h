/* SPDX-License-Identifier: Apache-2.0 */
/* archive_port.h - the queries that an archive answers: closed windows, a player's history, submitted scores.
 *
 *     rung_archive_view view;
 *     if (port->open(archive, &(rung_archive_query){.board = b, .kind = RUNG_WINDOW_WEEK, .window_id = id}, &view,
 *                    &err) == RUNG_OK) {
 *         port->top(&view, 0, 10, rows, &count, &err);
 *         port->close(&view);
 *     }
 *
 * The room `archive` implements it. Rows are the same as the state's. Calls may block on the disk, so they run on the
 * threads of service/asker.h, never on the state's. Times are Unix milliseconds.
 * Threads: one at a time per archive; another thread opens its own. */
#ifndef RUNG_SERVICE_ARCHIVE_PORT_H
#define RUNG_SERVICE_ARCHIVE_PORT_H

#include "base/slice.h"
#include "base/status.h"
#include "model/rule.h"
#include "model/zcommand.h"
#include "state/state.h"

typedef struct rung_archive rung_archive; /* the implementation's */
struct rung_archive_row;

/* Score columns with their types. */
typedef struct rung_archive_values {
    uint32_t count;
    rung_value values[RUNG_COLUMNS_MAX];
    uint8_t types[RUNG_COLUMNS_MAX];    /* rung_score_type */
    uint8_t decimals[RUNG_COLUMNS_MAX]; /* of decimals */
} rung_archive_values;

#define RUNG_STATUS_UNKNOWN 127 /* the outcome of the event is not known */

typedef struct rung_archive_score {
    uint64_t seq;
    rung_slice board, player;
    bool is_delta, has_at;
    int64_t at_ms; /* as sent; the log time if it was not */
    int64_t ts_ms;
    rung_archive_values values;
    rung_slice id, meta; /* may be empty */
    int status;          /* rung_status of applying it, or RUNG_STATUS_UNKNOWN */
    rung_rule rule;      /* which rule refused it, if one of them did */
    /* The player's score after the event, in the board's first window and types. false: refused, a duplicate, or not
     * known. */
    bool has_result;
    rung_archive_values result;
    bool is_removal; /* the player was removed from the board: no values */
    /* Of an event with several rows: its position in it, from 1. 0: the only one. */
    uint32_t part;
    /* 0: a score, delta or removal. A rung_zcommand_kind: a Redis command that is not about a single member: no player,
     * no values. Or one of the kinds below. */
    uint8_t command;
} rung_archive_score;

/* Kinds of rows beside Redis commands, for rung_archive_score.command. Stored: the values never change. */
enum {
    RUNG_ARCHIVE_MATCH = 16,    /* a player of a match: no values; meta has side, place, ... */
    RUNG_ARCHIVE_PROMOTED = 17, /* a tentative score that counts from now on: no values */
    RUNG_ARCHIVE_SWAPPED = 18,  /* the board has the content of its shadow: no player */
    RUNG_ARCHIVE_KINDS_END,
};

/* One record of the audit trail. Texts that do not apply are empty. */
typedef struct rung_archive_audit {
    uint64_t seq;
    uint64_t entry;  /* key of the implementation, ascending with seq; unused when adding */
    int64_t ts_ms;   /* 0: not known */
    rung_slice kind; /* "board defined", "banned", ... */
    rung_slice board, player;
    rung_slice details; /* JSON */
    int status;
    rung_rule rule; /* of a refused submission */
    /* Who asked: the id of the key, the player of a token, the client's address. */
    rung_slice actor_key, actor_player, actor_address;
    rung_slice reason;        /* as the actor gave it */
    rung_slice before, after; /* JSON: what the event changed */
} rung_archive_audit;

/* How often a rule refused submissions of a board within one minute of log time. */
typedef struct rung_archive_refusals {
    rung_slice board;
    rung_rule rule;
    int64_t minute_ms; /* its start */
    uint64_t count;
    uint64_t first_seq, last_seq;
} rung_archive_refusals;

/* What a row is: "score", "delta", "removal", "match", "promoted", "swapped", or the name of a Redis command. */
static inline const char *rung_archive_kind_of(const rung_archive_score *s) {
    static const char *const kinds[] = {"match", "promoted", "swapped"};
    if (s->command >= RUNG_ARCHIVE_MATCH)
        return kinds[s->command - RUNG_ARCHIVE_MATCH];
    if (s->command)
        return rung_zcommand_kind_name((rung_zcommand_kind)s->command);
    return s->is_removal ? "removal" : s->is_delta ? "delta" : "score";
}

typedef struct rung_archive_window {
    int64_t key; /* key of the implementation */
    rung_slice board;
    uint32_t kind; /* a rung_window_kind */
    rung_slice id; /* "2026-W46", or the season's name */
    int64_t start_ms, end_ms;
    uint64_t closed_seq;
    int64_t closed_ms;        /* log time */
    uint32_t total, distinct; /* including hidden standings, except in lists of windows */
    rung_rank_style rank;
    rung_slice definition; /* encoded definition at the time the window closed */
    bool has_scopes;       /* false for windows that an old version archived without scopes */
} rung_archive_window;

/* One ranking of a closed window. */
typedef struct rung_archive_ranking {
    int64_t window; /* keys */
    int64_t scope;  /* 0: everybody */
} rung_archive_ranking;

/* A player's position at some time. */
typedef struct rung_archive_point {
    int64_t time_ms;
    bool is_sample; /* a daily sample; otherwise a window's end */
    uint32_t kind;  /* of window; 0: all of time */
    rung_slice window_id;
    uint32_t place, sparse, dense, total;
    rung_archive_values values;
} rung_archive_point;

typedef struct rung_archive_score_query {
    rung_slice board, player; /* at least one is not empty */
    int64_t from_ms, to_ms;   /* by at: [from, to); both 0: always */
    bool newest_first;        /* else oldest first */
    /* With after_seq: continue after this one, for the next page. */
    int64_t after_at_ms;
    uint64_t after_seq; /* 0: from the beginning */
    uint32_t after_part;
} rung_archive_score_query;

/* Records that match all of the texts that are not empty. */
typedef struct rung_archive_audit_query {
    rung_slice board, player, kind;
    rung_slice actor;       /* the id of a key */
    int64_t from_ms, to_ms; /* [from, to); both 0: always */
    bool newest_first;      /* else oldest first */
    /* Continue after this record, for the next page; 0: from the beginning. */
    uint64_t after_seq, after_entry;
} rung_archive_audit_query;

typedef struct rung_archive_query {
    rung_slice board;
    uint32_t kind; /* a rung_window_kind */
    rung_slice window_id;
    rung_slice scope; /* "country:FI"; empty: everybody */
    bool teams;       /* the team ranking instead of the players' */
    bool has_rank;
    rung_rank_style rank; /* when has_rank, else the board's at the time */
    int64_t now_ms;       /* the time decayed scores are shown for; 0: the window's end */
} rung_archive_query;

/* One closed window in one snapshot of the archive. Fields without a comment are private. */
typedef struct rung_archive_view {
    uint32_t total, distinct; /* without hidden standings */
    rung_rank_style rank;
    rung_archive_window window;
    rung_archive *archive;
    rung_archive_ranking ranking;
    struct rung_archive_row *hidden;
    uint32_t hidden_count;
    const rung_row *teams; /* all of them, in order; NULL: a ranking of players */
    double decay;          /* factor on scores */
} rung_archive_view;

typedef struct rung_archive_port {
    /* How long the next question may take; afterwards it fails. May be NULL: none takes long. */
    void (*limit)(rung_archive *a, uint32_t ms);
    /* The last archived sequence (0: none) and the log time there. `log_time_ms_out` may be NULL. */
    rung_status (*cursor)(rung_archive *a, uint64_t *seq_out, int64_t *log_time_ms_out,
                          rung_err *err);

    /* RUNG_OK: the view must be closed; until then this archive takes no other query. RUNG_NOT_FOUND: the archive has
     * no such window (yet: compare the cursor). If several have that name (the board was deleted and created again),
     * the last one counts. RUNG_EABSENT: it has the window but not this ranking: the board did not rank by the
     * attribute or had no teams when the window closed, or an old version archived the window without scopes.
     * RUNG_EINVAL: malformed scope. */
    rung_status (*open)(rung_archive *a, const rung_archive_query *q, rung_archive_view *view_out,
                        rung_err *err);
    void (*close)(rung_archive_view *view); /* invalidates slices in its rows */
    /* As rung_view_top, rung_view_around and rung_view_rows of state.h, with the same rows, except that team
     * numbers are 0. */
    rung_status (*top)(rung_archive_view *view, uint32_t offset, uint32_t limit, rung_row *rows,
                       uint32_t *count_out, rung_err *err);
    rung_status (*around)(rung_archive_view *view, rung_slice id, uint32_t around, rung_row *rows,
                          uint32_t *count_out, uint32_t *self_out, rung_err *err);
    rung_status (*rows)(rung_archive_view *view, uint32_t n, const rung_slice *ids, rung_row *rows,
                        bool *found, rung_err *err);

    /* The next four: results are valid until the next query. */

    /* Closed windows of a board, latest end first. kind 0: all kinds. before_end_ms is INT64_MAX for the first page,
     * then the end of the last window shown. */
    rung_status (*windows)(rung_archive *a, rung_slice board, uint32_t kind, int64_t before_end_ms,
                           uint32_t limit, rung_archive_window *out, uint32_t *count_out,
                           rung_err *err);
    /* A player's positions on a board in [from, to), oldest first: at the ends of windows and in daily samples, with
     * the ranks of that time. */
    rung_status (*history)(rung_archive *a, rung_slice board, rung_slice player, int64_t from_ms,
                           int64_t to_ms, uint32_t limit, rung_archive_point *out,
                           uint32_t *count_out, rung_err *err);
    /* Score events by board, player and time, ordered by (at, seq) in either direction. */
    rung_status (*scores)(rung_archive *a, const rung_archive_score_query *q, uint32_t limit,
                          rung_archive_score *out, uint32_t *count_out, rung_err *err);
    /* The audit trail, ordered by (seq, entry) in either direction. */
    rung_status (*audit)(rung_archive *a, const rung_archive_audit_query *q, uint32_t limit,
                         rung_archive_audit *out, uint32_t *count_out, rung_err *err);
} rung_archive_port;

/* The archive's progress, and how far it must be for its answers to be up to date. */
typedef struct rung_archive_stats {
    uint64_t cursor_seq;  /* the last archived event */
    uint64_t changed_seq; /* the last event that changed closed windows: a ban, a removal, ... */
    uint64_t closed_seq;  /* the last event that closed a window */
    uint64_t behind_events, windows, failures; /* windows and failures: since the start */
    int64_t behind_ms; /* age of the oldest event that is not archived, to within one batch */
    uint64_t outcomes_lost,
        changes_lost; /* since the start: records that lack their outcome, or what they changed */
    uint64_t cpu_ns;  /* processor time since the start */
    bool is_damaged;  /* the file, found after the start */
    bool is_failing;  /* the last attempt to write failed */
    bool is_writer;   /* of several servers that share the archive, this one wrote last */
} rung_archive_stats;

#endif
