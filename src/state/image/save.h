/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - the whole state as a stream of bytes, and back. docs/formats/state.md specifies every byte.
 *
 * The stream holds everything that apply and the queries depend on. A loaded state gives exactly the same results as
 * the saved one, now and after any further events, and saves to the same bytes. Loading rebuilds what can be derived:
 * the scopes of open windows, teams, followers, counts.
 *
 *     st = rung_state_save(s, write_some, file, NULL);
 *     st = rung_state_load(&config, read_some, file, NULL, NULL, &s, &err);
 *
 * Pure: callbacks write and read the bytes. Saving allocates nothing, so a forked child may do it. */
#ifndef RUNG_STATE_IMAGE_SAVE_H
#define RUNG_STATE_IMAGE_SAVE_H

#include "state/state.h"

#define RUNG_STATE_FORMAT 6u /* the version written; load also reads 1 to 5 */

/* Writes the next bytes, at least one. A negative status ends the save, which returns it. */
typedef rung_status (*rung_save_sink)(void *ctx, const void *bytes, size_t len);

/* Reads the next bytes, borrowed until the next call. RUNG_OK; RUNG_NOT_FOUND at the end. The load always reads up to
 * the end, so that a source can verify its trailer. A negative status ends the load, which returns it. */
typedef rung_status (*rung_load_source)(void *ctx, const void **bytes_out, size_t *len_out);

/* Progress: player numbers, entries and remembered ids done, out of a total. A successful save or load ends with a
 * call where done == total. */
typedef struct rung_save_progress {
    void (*tell)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
} rung_save_progress;

/* Runs a function in another thread, one at a time. */
typedef struct rung_load_helper {
    void *ctx;
    bool (*begin)(void *ctx, void (*work)(void *arg), void *arg); /* false: cannot start it */
    void (*wait)(void *ctx); /* until the function has returned; its writes are then visible here */
} rung_load_helper;

/* RUNG_OK; the failure of the sink; RUNG_ENOMEM for an incomplete state (state.h). `progress` may be NULL. Allocates
 * nothing; needs about 150 KB of stack. */
RUNG_NODISCARD rung_status rung_state_save(const rung_state *s, rung_save_sink sink, void *ctx,
                                           const rung_save_progress *progress);

/* Create a state from saved bytes. In `config`, id_capacity and id_keep_ms may be 0: as saved. Safe for any input:
 * memory grows only with the bytes read. RUNG_OK; RUNG_ECORRUPT: not the bytes of a save, or the digest differs;
 * RUNG_EVERSION; RUNG_ELIMIT: more boards than config->boards_max; RUNG_ENOMEM; or the failure of the source.
 * `progress`, `helper` and `err` may be NULL. A helper saves a quarter of the time; both threads then use
 * config->alloc. */
RUNG_NODISCARD rung_status rung_state_load(const rung_state_config *config, rung_load_source source,
                                           void *ctx, const rung_save_progress *progress,
                                           const rung_load_helper *helper, rung_state **out,
                                           rung_err *err);

#endif
