/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - the whole state as a stream of bytes, and back. docs/formats/state.md specifies every byte.
 *
 * What is saved is all that apply and the queries depend on: a state that was loaded answers, now and after any
 * further events, exactly as the one that was saved, and saves to the same bytes. What can be derived (the
 * scopes of open windows, teams, who follows whom backwards, counts) is built anew.
 *
 *     st = rung_state_save(s, write_some, file, NULL);
 *     st = rung_state_load(&config, read_some, file, NULL, NULL, &s, &err);
 *
 * Pure: bytes go out and come in through callbacks. Saving allocates nothing, so that a forked child may do it. */
#ifndef RUNG_STATE_IMAGE_SAVE_H
#define RUNG_STATE_IMAGE_SAVE_H

#include "state/state.h"

#define RUNG_STATE_FORMAT 3u /* the version written; 1 and 2 are read as well */

/* Takes the next bytes, at least one. A negative status ends the save and is its answer. */
typedef rung_status (*rung_save_sink)(void *ctx, const void *bytes, size_t len);

/* Gives the next bytes, borrowed until the next call. RUNG_OK; RUNG_NOT_FOUND at the end, which is asked for
 * even when all is read, so that a source which checks a trailer has done so; a negative status ends the load
 * as its answer. */
typedef rung_status (*rung_load_source)(void *ctx, const void **bytes_out, size_t *len_out);

/* Told now and then how far it is: player numbers, entries and remembered ids done, of how many. The last call of one
 * that succeeds has done == total. */
typedef struct rung_save_progress {
    void (*tell)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
} rung_save_progress;

/* Somebody who does a piece of work meanwhile: another thread. One piece at a time. */
typedef struct rung_load_helper {
    void *ctx;
    bool (*begin)(void *ctx, void (*work)(void *arg), void *arg); /* false: cannot */
    void (*wait)(void *ctx); /* until what was begun is done, and visible here */
} rung_load_helper;

/* RUNG_OK; what the sink answered; RUNG_ENOMEM for a state that is no longer whole. `progress` may be NULL. Allocates
 * nothing; takes about 150 KB of stack. */
RUNG_NODISCARD rung_status rung_state_save(const rung_state *s, rung_save_sink sink, void *ctx,
                                           const rung_save_progress *progress);

/* A new state from the bytes of one. Of `config`, id_capacity and id_keep_ms may be 0: as saved. Survives any bytes,
 * and takes memory in step with what it has read. RUNG_OK; RUNG_ECORRUPT: not what a save writes, or another digest;
 * RUNG_EVERSION; RUNG_ELIMIT: more boards than config->boards_max; RUNG_ENOMEM; what the source answered.
 * `progress`, `helper` and `err` may be NULL. With a helper, which saves a quarter of the time, config->alloc is used
 * from both threads. */
RUNG_NODISCARD rung_status rung_state_load(const rung_state_config *config, rung_load_source source,
                                           void *ctx, const rung_save_progress *progress,
                                           const rung_load_helper *helper, rung_state **out,
                                           rung_err *err);

#endif
