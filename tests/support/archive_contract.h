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

/* Since which event each board has ranked by an attribute without a break, and has had the teams that it has. A scope
 * that is added, or a team ranking that changes, changes what memory says of closed windows, and nothing in the
 * archive: such windows are not compared. Zero is a table of nothing. */
enum { ARCHIVE_AGES_MAX = 256 };
typedef struct archive_ages {
    uint32_t count;
    struct {
        char board[RUNG_NAME_MAX + 1], what[96];
        uint64_t since;
        bool is_seen;
    } ages[ARCHIVE_AGES_MAX];
} archive_ages;
void archive_ages_note(archive_ages *a,
                       const rung_state *state); /* after every event that may define or delete */

enum { ARCHIVE_KIT_PACKED_MAX = 4096 };

typedef struct archive_kit {
    rung_state *state;
    rung_archive *archive; /* NULL: only the state */
    uint32_t packed_count; /* windows closed by the event being applied */
    rung_buffer packed[ARCHIVE_KIT_PACKED_MAX];
    rung_buffer last; /* of the last window that closed */
    uint64_t closed_count; /* windows ever closed */
    archive_ages ages;
    bool in_batch;
} archive_kit;

void archive_kit_init(archive_kit *k, rung_archive *archive);
void archive_kit_deinit(archive_kit *k); /* the archive stays open */
/* Apply, and archive in the open batch (one is begun if need be). Returns the state's status. */
rung_status archive_kit_apply(archive_kit *k, const rung_event *event);
/* What the archive gets to know of an event, from what apply returned. */
rung_archive_effect archive_effect_of(rung_status st, const rung_outcome *o);
void archive_kit_commit(archive_kit *k); /* nothing without a batch */

/* Short ways to make events. */
rung_event archive_event_define(const char *board, const rung_board_def *def, int64_t ts_ms);
rung_event archive_event_score(const char *board, const char *player, int64_t score, int64_t ts_ms);
rung_event archive_event_tick(int64_t ts_ms);
rung_event archive_event_ban(const char *player, bool on, int64_t ts_ms);
rung_event archive_event_erase(const char *player, int64_t ts_ms);
rung_event archive_event_profile(const char *player, const char *attribute, const char *value,
                                 int64_t ts_ms);
rung_event archive_event_remove(const char *board, const char *player, int64_t ts_ms);

/* Every closed window in the state's memory is answered by the archive with the same rows: top, around, single
 * rows, all rank styles. Returns how many windows were compared. */
uint32_t archive_compare(const rung_state *state, rung_archive *archive);
/* The same for every scope and the teams of those windows. `ages` may be NULL: nothing was ever changed. Returns how
 * many rankings were compared. */
uint32_t archive_compare_scopes(const rung_state *state, rung_archive *archive,
                                const archive_ages *ages);

/* ---- the contract ---- */

void archive_contract_empty(const archive_maker *m);
void archive_contract_batches(const archive_maker *m);
void archive_contract_score_events(const archive_maker *m);
void archive_contract_results(const archive_maker *m);
void archive_contract_audit(const archive_maker *m);
void archive_contract_refusals(const archive_maker *m);
void archive_contract_commands(const archive_maker *m);
void archive_contract_players(const archive_maker *m);
void archive_contract_compared(const archive_maker *m);
void archive_contract_closed_windows(const archive_maker *m);
void archive_contract_flushed(const archive_maker *m);
void archive_contract_hidden(const archive_maker *m);
void archive_contract_scopes(const archive_maker *m);
void archive_contract_teams(const archive_maker *m, rung_combine combine, uint32_t top);
void archive_contract_erased(const archive_maker *m);
void archive_contract_history(const archive_maker *m);
void archive_contract_extremes(const archive_maker *m);
/* One random history; the maker's archive is used up by it. Returns comparisons made of windows; adds those of scopes
 * and teams to `*rankings_out`. */
uint32_t archive_contract_random(const archive_maker *m, uint64_t seed, uint32_t events,
                                 uint32_t *rankings_out);

#endif
