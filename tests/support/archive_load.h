/* SPDX-License-Identifier: Apache-2.0 */
/* archive_load.h - a history in which the event of a sequence is known from the sequence alone, so that after any
 * accident one can say what an archive must hold: scores of 40 players on a board with hours and days, 50 events an
 * hour, bans and moves to another country between. */
#ifndef RUNG_TESTS_ARCHIVE_LOAD_H
#define RUNG_TESTS_ARCHIVE_LOAD_H

#include "base/hash.h"
#include "support/archive_contract.h"

#include <stdio.h>

#define ARCHIVE_LOAD_T0 INT64_C(1763164800000)

typedef struct archive_load {
    char player[16], id[24];
    rung_event event;
} archive_load;

static inline bool archive_load_is_score(uint64_t seq) {
    return seq > 1 && seq % 50 != 0 && seq % 97 > 1 && seq % 13 != 5;
}

/* The event of `seq`; its texts live in `l`. */
static inline const rung_event *archive_load_event(archive_load *l, uint64_t seq) {
    int64_t ts_ms = ARCHIVE_LOAD_T0 + (int64_t)seq * 72000;
    uint64_t x = rung_hash_word(seq);
    snprintf(l->player, sizeof l->player, "player%u", (unsigned)(x % 40));
    snprintf(l->id, sizeof l->id, "id-%llu", (unsigned long long)seq);
    if (seq == 1) {
        rung_board_def def = rung_board_def_default();
        def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR) | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
        def.keep = 2;
        def.scope_count = 1;
        def.scopes[0] = RUNG_SLICE("country");
        def.has_teams = true;
        def.team_by = RUNG_SLICE("country");
        l->event = archive_event_define("load", &def, ts_ms);
    } else if (seq % 50 == 0) {
        l->event = archive_event_tick(ts_ms);
    } else if (seq % 97 <= 1) {
        snprintf(l->player, sizeof l->player, "player%u", (unsigned)(seq / 97 % 40));
        l->event = archive_event_ban(l->player, seq % 97 == 0, ts_ms);
    } else if (seq % 13 == 5) {
        l->event = archive_event_profile(l->player, "country", x & 64 ? "FI" : "SE", ts_ms);
    } else {
        l->event = archive_event_score("load", l->player, (int64_t)(x >> 32) % 25, ts_ms);
        l->event.score.id = rung_slice_str(l->id);
    }
    return &l->event;
}

#endif
