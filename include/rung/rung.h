/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h - the embeddable leaderboard: exact ranks in memory, every event in a durable log, in
 * your own process.
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
 * This header opens, changes and closes. Its words (boards, scores, statuses) and every question
 * that can be asked are in the headers it includes: state/state.h has the questions,
 * model/board.h the boards, model/event.h the submissions, base/status.h the statuses.
 * docs/library.md is the tour.
 *
 * Errors: negative = failed or refused, 0 = done, positive = an expected other answer. `err`
 * comes last, may be NULL, and is filled on failure only. Decide by its code, reason and field
 * (the part of the input at fault, if any); its message is for people and may change.
 *
 * Texts are slices, pointer and length; the library keeps none beyond the call. Slices and views
 * in answers are valid until the next change of the same handle.
 *
 * Threads: one at a time per handle; which one does not matter. Several handles are independent
 * of each other: there are no globals, and no hidden threads. After a fork() only one of the two
 * processes may go on using a handle; the folder stays locked until both have ended. */
#ifndef RUNG_RUNG_H
#define RUNG_RUNG_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "model/board.h"
#include "model/calendar.h"
#include "model/event.h"
#include "model/score.h"
#include "model/zone.h"
#include "state/state.h"

#define RUNG_VERSION "0.1.0"

/* The version of the library that is linked: compare with RUNG_VERSION, the one compiled
 * against. */
const char *rung_version(void);

typedef struct rung rung; /* heap object; whoever opened it calls rung_close() */

/* Zero is a good default for every field. Texts and functions are used until close. */
typedef struct rung_config {
    /* The folder, created if absent (not its parents). NULL: in memory, gone with close. */
    const char *path;
    /* 0: a change is on stable storage before it is answered; nothing answered is ever lost. N: answered
     * when written, synced by the first call that finds N ms passed (rung_tick() from a timer will do): a
     * killed process loses nothing, a crashed machine the changes since the last sync. */
    uint32_t sync_every_ms;
    /* Bytes of one log file, preallocated: 4 MiB or more, a multiple of 512. 0: 16 MiB. */
    uint64_t segment_size;
    /* How many submission ids are remembered, and for how long. 0: as the path has them; at first 1,000,000
     * and 24 hours. Other values than the path has are an event of their own: it keeps them from then on. */
    uint32_t id_capacity;
    int64_t id_keep_ms;
    /* How far after now a submission's `at` may lie; one that lies further is refused (RUNG_EFUTURE). 0: one minute.
     * INT64_MAX: as far as it likes, and every window that it opens stays until its time has come. */
    int64_t at_ahead_ms;
    /* How far the system's clock may jump ahead and still be followed; beyond that time goes on as if it had not
     * (rung_time_look). 0: five minutes. INT64_MAX: however far. Without meaning where now_ms is given. */
    int64_t max_jump_ms;
    const char *zoneinfo;         /* the folder of time zone files; NULL: /usr/share/zoneinfo */
    const rung_alloc *alloc;      /* NULL: the process heap */
    int64_t (*now_ms)(void *ctx); /* Unix milliseconds; NULL: the system's clock */
    /* While a path is opened: what is being read ("snapshot", then "log"), and how far it is. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    /* One line for the operator: a torn tail cut off, a damaged snapshot passed over. */
    void (*say)(void *ctx, const char *line);
    void *ctx; /* for the three above */
} rung_config;

/* Open. `config` NULL: in memory with the defaults. With a path: takes its lock, loads the
 * newest whole snapshot, replays the rest of the log, and only then returns. RUNG_EBUSY names
 * the process that has it open, RUNG_ECORRUPT the file and place of the damage (nothing is ever
 * skipped or repaired), RUNG_EVERSION, RUNG_EIO, RUNG_ENOSPC, RUNG_ENOMEM, RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_open(const rung_config *config, rung **db_out, rung_err *err);

/* Wait for a snapshot in the background, sync what is not yet, release everything; the handle is
 * gone whatever is returned. NULL is accepted. A failure concerns changes answered under
 * sync_every_ms, or repeats that the log had failed before. */
rung_status rung_close(rung *db, rung_err *err);

/* ---- changes ----
 *
 * Each is one event: checked, stamped with the clock's time, made durable, applied, answered.
 * Common to all: RUNG_OK; RUNG_UNCHANGED when it was so already; RUNG_EINVAL (ill-formed, not
 * taken in at all); RUNG_EABSENT, RUNG_EREFUSED and others when the state says no
 * (docs/boards.md lists them; the event is in the log as refused); RUNG_ENOSPC: the disk is
 * full, nothing changed, try again when it is not; RUNG_ENOMEM; RUNG_EIO: the log failed, and
 * from then on the handle answers questions but refuses every change with the same message:
 * close and open again. A window whose time is up by the clock is closed before the change. */

/* One score. `out` (may be NULL) tells what it did: rank before and after, who is next.
 * RUNG_DUPLICATE: the id was seen before, `out` is the first answer. The
 * fields of a submission are described at rung_score_event. */
RUNG_NODISCARD rung_status rung_submit(rung *db, const rung_score_event *score, rung_outcome *out,
                                       rung_err *err);

/* Many scores, the same as one by one in order and much faster: one sync for every 4,096 of them
 * or 1 MiB. statuses[i] is what rung_submit would have returned; outs and errs (n of each) may
 * be NULL. Returns RUNG_OK when all were dealt with; a failure of the log or of memory is
 * returned, and is the status of every score that was not applied. */
RUNG_NODISCARD rung_status rung_submit_many(rung *db, size_t n, const rung_score_event *scores,
                                            rung_status *statuses, rung_outcome *outs,
                                            rung_err *errs, rung_err *err);

/* Create a board, or change it (what can be changed: docs/boards.md; else RUNG_EUNSUPPORTED
 * naming the field). A zone is named in def->zone_name; where zone_rules is empty its rules are
 * read from the zoneinfo folder, now, and kept in the log: RUNG_EABSENT when there is no such
 * zone. */
RUNG_NODISCARD rung_status rung_board_define(rung *db, rung_slice board, const rung_board_def *def,
                                             rung_err *err);
RUNG_NODISCARD rung_status rung_board_delete(rung *db, rung_slice board, rung_err *err);

/* Take the player out of every window of one board. */
RUNG_NODISCARD rung_status rung_entry_remove(rung *db, rung_slice board, rung_slice player,
                                             rung_err *err);

/* The whole profile, in place of the old one; attributes in any order, each name once. They
 * decide the rankings of scopes and teams. */
RUNG_NODISCARD rung_status rung_player_set(rung *db, rung_slice player, uint32_t count,
                                           const rung_attribute *attributes, rung_err *err);
/* Forget the player everywhere: entries, profile, friendships, ban and name. The log keeps the
 * past events until a snapshot lets them go. */
RUNG_NODISCARD rung_status rung_player_erase(rung *db, rung_slice player, rung_err *err);

/* Hide the player from every ranking at once; unban puts everything back. `reason` is kept in
 * the log; may be empty. */
RUNG_NODISCARD rung_status rung_player_ban(rung *db, rung_slice player, rung_slice reason,
                                           rung_err *err);
RUNG_NODISCARD rung_status rung_player_unban(rung *db, rung_slice player, rung_slice reason,
                                             rung_err *err);

/* Mutual friendship, or with `follow` one way: player -> other. */
RUNG_NODISCARD rung_status rung_friend_add(rung *db, rung_slice player, rung_slice other,
                                           bool follow, rung_err *err);
RUNG_NODISCARD rung_status rung_friend_remove(rung *db, rung_slice player, rung_slice other,
                                              bool follow, rung_err *err);
/* All of a player's friends at once, in place of the old list; up to RUNG_FRIENDS_MAX. */
RUNG_NODISCARD rung_status rung_friends_replace(rung *db, rung_slice player, uint32_t count,
                                                const rung_slice *others, bool follow,
                                                rung_err *err);

/* ---- questions ---- */

/* A view of one ranking: board, window, scope. query->now_ms 0 means the clock's time. RUNG_OK,
 * RUNG_NOT_FOUND or RUNG_EINVAL (`err` tells which and why). The view costs nothing to keep or
 * drop; ask it with the rung_view_*() functions. */
RUNG_NODISCARD rung_status rung_ask(const rung *db, const rung_query *query, rung_view *view_out,
                                    rung_err *err);

/* The state, for reading: rung_state_board(), rung_state_windows(), rung_state_player(),
 * rung_state_friends(), rung_state_digest(), rung_state_stats(), rung_state_seq(), ... Valid
 * until close. */
const rung_state *rung_state_of(const rung *db);

/* The time as the handle sees it, Unix milliseconds. */
int64_t rung_now(const rung *db);

/* ---- upkeep ---- */

/* Close the windows whose time is up, and sync if sync_every_ms has passed. Call it from a timer
 * (rung_state_next_close() says when it is due), or not at all: the next change does the same.
 * RUNG_UNCHANGED when nothing was due. */
RUNG_NODISCARD rung_status rung_tick(rung *db, rung_err *err);

/* The system's clock, and the time that changes get. Log time never runs back, so a clock that jumps ahead by more
 * than max_jump_ms is not followed: time is held, and goes on from the last trusted time, until the clock is back or
 * rung_time_accept() confirms it. */
typedef struct rung_time {
    int64_t wall_ms; /* the system's clock */
    int64_t log_ms;  /* what the next change will count as */
    bool is_held;
} rung_time;
rung_time rung_time_look(rung *db);
bool rung_time_accept(rung *db); /* was it held? */

/* Everything answered so far is on stable storage when this returns RUNG_OK. Nothing to do with
 * sync_every_ms 0. */
RUNG_NODISCARD rung_status rung_sync(rung *db, rung_err *err);

/* Write the whole state beside the log, so that the next open need not replay what is in it. Two
 * are kept, and of the log what comes after the older. RUNG_UNCHANGED when nothing has changed
 * since the last one; RUNG_EUNSUPPORTED without a path. `in_background`: a forked child writes
 * it and RUNG_OK means that it has begun (RUNG_EBUSY: one is under way). */
RUNG_NODISCARD rung_status rung_snapshot(rung *db, bool in_background, rung_err *err);

/* Wait for a snapshot in the background: how it ended, or RUNG_UNCHANGED when there was none.
 * rung_tick() and rung_snapshot() also notice the end (and tell `say` of a failure). */
RUNG_NODISCARD rung_status rung_snapshot_wait(rung *db, rung_err *err);

#endif
