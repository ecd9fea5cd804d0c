/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h - the embeddable leaderboard: exact ranks in memory and a durable log, inside your own process.
 *
 *     rung *db;
 *     rung_open(&(rung_config){.path = "scores"}, &db, &err);           // no path: in memory only
 *     rung_board_def def = rung_board_def_default();
 *     rung_board_define(db, RUNG_SLICE("race"), &def, &err);
 *     rung_submit(db, &(rung_score_event){.board = RUNG_SLICE("race"), .player = RUNG_SLICE("ada"),
 *                                         .value_count = 1, .values = {{.i = 4200}}}, &outcome, &err);
 *     rung_ask(db, &(rung_query){.board = RUNG_SLICE("race")}, &view, &err);
 *     count = rung_view_top(&view, 0, 10, rows);
 *     rung_close(db, &err);
 *
 * This header opens a database, changes it and closes it. The headers it includes define the types: model/board.h
 * boards, model/event.h submissions, base/status.h statuses. state/state.h has all the queries. docs/library.md is
 * the tour.
 *
 * Errors: a negative status means failed or refused, 0 means done, a positive status is another expected result.
 * `err` is the last parameter, may be NULL, and is filled on failure only. Programs test its code, reason and field
 * (the part of the input at fault, if any). Its message is for people and may change.
 *
 * Texts are slices (pointer and length). The library copies what it keeps. Slices and views that it returns are valid
 * until the next change through the same handle.
 *
 * Threads: use a handle from one thread at a time; it need not be the same thread. Handles are independent of each
 * other: there are no globals and no hidden threads. After fork() only one of the two processes may use a handle. The
 * folder stays locked until both have ended. */
#ifndef RUNG_RUNG_H
#define RUNG_RUNG_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "model/board.h"
#include "model/calendar.h"
#include "model/event.h"
#include "model/match.h"
#include "model/score.h"
#include "model/zone.h"
#include "state/ratings.h"
#include "state/sketches.h"
#include "state/state.h"

#define RUNG_VERSION "0.1.0"

/* The version of the linked library. Compare it with RUNG_VERSION, the version compiled against. */
const char *rung_version(void);

/* Heap object. Release it with rung_close(). */
typedef struct rung rung;

/* Zero is a good default for every field. The library uses the texts and functions until close. */
typedef struct rung_config {
    /* The data folder, created if absent (but not its parents). NULL: keep everything in memory only. */
    const char *path;
    /* 0: every change is on stable storage before its call returns, so no acknowledged change is ever lost. N: a call
     * returns when its change is written, and the first call after N ms syncs (a timer that calls rung_tick() will
     * do). A killed process then loses nothing; a machine that crashes loses the changes since the last sync. */
    uint32_t sync_every_ms;
    /* Size of one preallocated log file in bytes: at least 4 MiB, a multiple of 512. 0: 16 MiB. */
    uint64_t segment_size;
    /* How many submission ids to remember, and for how long. 0: keep the settings stored in the path, initially
     * 1,000,000 and 24 hours. Other values are logged as an event and become the stored settings. */
    uint32_t id_capacity;
    int64_t id_keep_ms;
    /* How far in the future a submission's `at` may be; beyond that it is refused (RUNG_EFUTURE). 0: one minute.
     * INT64_MAX: no limit, but every window opened that way stays in memory until its time comes. */
    int64_t at_ahead_ms;
    /* The largest forward jump of the system clock to follow. After a larger jump, time continues as if there had
     * been none (see rung_time_look). 0: five minutes. INT64_MAX: no limit. Ignored when now_ms is given. */
    int64_t max_jump_ms;
    const char *zoneinfo;         /* folder of time zone files; NULL: /usr/share/zoneinfo */
    const rung_alloc *alloc;      /* NULL: the process heap */
    int64_t (*now_ms)(void *ctx); /* Unix milliseconds; NULL: the system clock */
    /* Progress while rung_open() reads a path: what it reads ("snapshot", then "log") and how far it is. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    /* One line for the operator, such as "cut a torn tail" or "skipped a damaged snapshot". */
    void (*say)(void *ctx, const char *line);
    void *ctx; /* passed to the three functions above */
} rung_config;

/* Open a database. `config` NULL: in memory, with the defaults. With a path, this locks the folder, loads the newest
 * intact snapshot and replays the rest of the log before it returns. RUNG_EBUSY names the process that has the folder
 * open. RUNG_ECORRUPT names the file and offset of the damage; open never skips or repairs anything. Also
 * RUNG_EVERSION, RUNG_EIO, RUNG_ENOSPC, RUNG_ENOMEM and RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_open(const rung_config *config, rung **db_out, rung_err *err);

/* Wait for a background snapshot, sync, and release everything. The handle is gone whatever this returns. Accepts
 * NULL. A failure means that changes acknowledged under sync_every_ms may be lost, or repeats an earlier failure of
 * the log. */
rung_status rung_close(rung *db, rung_err *err);

/* ---- changes ----
 *
 * Each change is one event: check it, stamp it with the time, make it durable, apply it, return the result. All
 * return:
 *   RUNG_OK
 *   RUNG_UNCHANGED   the state was like that already
 *   RUNG_EINVAL      malformed; not logged
 *   RUNG_EABSENT, RUNG_EREFUSED and others: the state refused it (docs/boards.md); logged as refused
 *   RUNG_ENOSPC      the disk is full; nothing changed; retry when there is space
 *   RUNG_ENOMEM
 *   RUNG_EIO         the log failed; from now on the handle still answers queries but refuses every change with the
 *                    same message: close it and open it again
 * Before each change, every window that is due closes. */

/* Submit one score. `out` (may be NULL) receives the effect: rank before and after, and the next player above.
 * RUNG_DUPLICATE: the id was seen before; `out` holds the first result. rung_score_event describes the fields. */
RUNG_NODISCARD rung_status rung_submit(rung *db, const rung_score_event *score, rung_outcome *out,
                                       rung_err *err);

/* Submit many scores. The result is the same as one by one in order, but much faster: one sync per 4,096 scores or 1.5
 * MiB. statuses[i] is what rung_submit would have returned; outs and errs (n of each) may be NULL. Returns RUNG_OK
 * when all were processed. If the log or an allocation fails, returns that failure, which is also the status of every
 * score that was not applied. */
RUNG_NODISCARD rung_status rung_submit_many(rung *db, size_t n, const rung_score_event *scores,
                                            rung_status *statuses, rung_outcome *outs,
                                            rung_err *errs, rung_err *err);

/* Submit the result of a match to a rating board (docs/ratings.md). `packed` has its players, in the bytes that
 * rung_match_add() writes; player_count is counted here. RUNG_OK: rung_state_match_rows(rung_state_of(db), &count) has
 * what it did to every player, until the next change. RUNG_DUPLICATE: the id was seen before, and nothing changed. */
RUNG_NODISCARD rung_status rung_submit_match(rung *db, const rung_match_event *match,
                                             rung_err *err);

/* Append a player to `packed`, of `size` bytes (RUNG_MATCH_PACKED_MAX is always enough), and raise *len. The first
 * player of each side has is_first and the side's place; a weight or a part played of 0 means 1. RUNG_ELIMIT: there is
 * no room; RUNG_EINVAL names the field. */
RUNG_NODISCARD rung_status rung_match_add(uint8_t *packed, size_t size, size_t *len,
                                          const rung_match_entry *player, rung_err *err);

/* Create a board, or change it (docs/boards.md says what can change; otherwise RUNG_EUNSUPPORTED names the field).
 * def->zone_name names a time zone. If zone_rules is empty, the rules are read from the zoneinfo folder now and
 * stored in the log; RUNG_EABSENT if there is no such zone. */
RUNG_NODISCARD rung_status rung_board_define(rung *db, rung_slice board, const rung_board_def *def,
                                             rung_err *err);
RUNG_NODISCARD rung_status rung_board_delete(rung *db, rung_slice board, rung_err *err);

/* Remove the player from every window of one board. */
RUNG_NODISCARD rung_status rung_entry_remove(rung *db, rung_slice board, rung_slice player,
                                             rung_err *err);

/* Replace the whole profile. Attributes may come in any order, each name once. They decide which scopes and teams the
 * player belongs to. */
RUNG_NODISCARD rung_status rung_player_set(rung *db, rung_slice player, uint32_t count,
                                           const rung_attribute *attributes, rung_err *err);
/* Forget the player everywhere: entries, profile, friendships, ban and name. Past events stay in the log until
 * snapshots let it be truncated. */
RUNG_NODISCARD rung_status rung_player_erase(rung *db, rung_slice player, rung_err *err);

/* Hide the player from every ranking; unban restores every entry. The log keeps `reason`, which may be empty. */
RUNG_NODISCARD rung_status rung_player_ban(rung *db, rung_slice player, rung_slice reason,
                                           rung_err *err);
RUNG_NODISCARD rung_status rung_player_unban(rung *db, rung_slice player, rung_slice reason,
                                             rung_err *err);

/* A mutual friendship, or with `follow` one way: player -> other. */
RUNG_NODISCARD rung_status rung_friend_add(rung *db, rung_slice player, rung_slice other,
                                           bool follow, rung_err *err);
RUNG_NODISCARD rung_status rung_friend_remove(rung *db, rung_slice player, rung_slice other,
                                              bool follow, rung_err *err);
/* Replace the whole list of a player's friends; at most RUNG_FRIENDS_MAX. */
RUNG_NODISCARD rung_status rung_friends_replace(rung *db, rung_slice player, uint32_t count,
                                                const rung_slice *others, bool follow,
                                                rung_err *err);

/* ---- queries ---- */

/* A view of one ranking: board, window, scope. query->now_ms 0 means now. RUNG_OK, RUNG_NOT_FOUND or RUNG_EINVAL
 * (`err` says what and why). A view needs no release. Query it with the rung_view_*() functions. */
RUNG_NODISCARD rung_status rung_ask(const rung *db, const rung_query *query, rung_view *view_out,
                                    rung_err *err);

/* The state, read-only, for rung_state_board(), rung_state_windows(), rung_state_player(), rung_state_friends(),
 * rung_state_digest(), rung_state_stats(), rung_state_seq() and others. Valid until close. */
const rung_state *rung_state_of(const rung *db);

/* The current time of this handle, in Unix milliseconds. */
int64_t rung_now(const rung *db);

/* ---- upkeep ---- */

/* Close every window that is due, and sync if sync_every_ms has passed. Call it from a timer (rung_state_next_close()
 * says when it is due) or never: the next change does the same. RUNG_UNCHANGED: nothing was due. */
RUNG_NODISCARD rung_status rung_tick(rung *db, rung_err *err);

/* The system clock, and the time that changes are stamped with. Log time never runs backwards, so a clock that jumps
 * ahead by more than max_jump_ms is not followed: time is held. It continues from the last trusted time until the
 * clock returns or rung_time_accept() confirms the jump. */
typedef struct rung_time {
    int64_t wall_ms; /* the system clock */
    int64_t log_ms;  /* stamp of the next change */
    bool is_held;
} rung_time;
rung_time rung_time_look(rung *db);
bool rung_time_accept(rung *db); /* returns whether it was held */

/* Make every acknowledged change durable. A no-op when sync_every_ms is 0. */
RUNG_NODISCARD rung_status rung_sync(rung *db, rung_err *err);

/* Write a snapshot, so that the next open need not replay the events it contains. The two newest snapshots are kept,
 * and the log from the older one on. RUNG_UNCHANGED: nothing changed since the last snapshot. RUNG_EUNSUPPORTED: no
 * path. With `in_background` a forked child writes it; RUNG_OK then means that it has started, RUNG_EBUSY that one is
 * running. */
RUNG_NODISCARD rung_status rung_snapshot(rung *db, bool in_background, rung_err *err);

/* Wait for the background snapshot and return how it ended; RUNG_UNCHANGED if there was none. rung_tick() and
 * rung_snapshot() also notice its end and report a failure through `say`. */
RUNG_NODISCARD rung_status rung_snapshot_wait(rung *db, rung_err *err);

#endif
