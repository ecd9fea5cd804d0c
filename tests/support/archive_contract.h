/* SPDX-License-Identifier: Apache-2.0 */
/* archive_contract.h - what every implementation of the archive port must do, as tests to be called with one.
 *
 *     static rung_status open(void *ctx, rung_archive **out, rung_err *err) { ... }
 *     TEST(closed_windows) { archive_contract_closed_windows(&(archive_maker){open, NULL}); }
 *
 * And the kit they are made of: a state beside an archive, fed with the same events. */
#ifndef RUNG_TESTS_ARCHIVE_CONTRACT_H
#define RUNG_TESTS_ARCHIVE_CONTRACT_H

#include "archive/archive.h"
#include "archive/closed_window.h"
#include "state/state.h"

/* Opens the same archive every time; its first opening finds it empty. */
typedef struct archive_maker {
    rung_status (*open)(void *ctx, rung_archive **out, rung_err *err);
    void *ctx;
} archive_maker;

/* ---- the kit ---- */

enum { ARCHIVE_KIT_PACKED_MAX = 4096 };

typedef struct archive_kit {
    rung_state *state;
    rung_archive *archive; /* NULL: only the state */
    uint32_t packed_count; /* windows closed by the event being applied */
    rung_packed packed[ARCHIVE_KIT_PACKED_MAX];
    uint64_t closed_count; /* windows ever closed */
    bool in_batch;
} archive_kit;

void archive_kit_init(archive_kit *k, rung_archive *archive);
void archive_kit_deinit(archive_kit *k); /* the archive stays open */
/* Apply, and archive in the open batch (one is begun if need be). Returns the state's status. */
rung_status archive_kit_apply(archive_kit *k, const rung_event *event);
void archive_kit_commit(archive_kit *k); /* nothing without a batch */

/* Short ways to make events. */
rung_event archive_event_define(const char *board, const rung_board_def *def, int64_t ts_ms);
rung_event archive_event_score(const char *board, const char *player, int64_t score, int64_t ts_ms);
rung_event archive_event_tick(int64_t ts_ms);
rung_event archive_event_ban(const char *player, bool on, int64_t ts_ms);
rung_event archive_event_erase(const char *player, int64_t ts_ms);
rung_event archive_event_remove(const char *board, const char *player, int64_t ts_ms);

/* Every closed window in the state's memory is answered by the archive with the same rows: top, around, single
 * rows, all rank styles. Returns how many windows were compared. */
uint32_t archive_compare(const rung_state *state, rung_archive *archive);

/* ---- the contract ---- */

void archive_contract_empty(const archive_maker *m);
void archive_contract_batches(const archive_maker *m);
void archive_contract_score_events(const archive_maker *m);
void archive_contract_closed_windows(const archive_maker *m);
void archive_contract_hidden(const archive_maker *m);
void archive_contract_erased(const archive_maker *m);
void archive_contract_history(const archive_maker *m);
void archive_contract_extremes(const archive_maker *m);
/* One random history; the maker's archive is used up by it. Returns comparisons made. */
uint32_t archive_contract_random(const archive_maker *m, uint64_t seed, uint32_t events);

#endif
