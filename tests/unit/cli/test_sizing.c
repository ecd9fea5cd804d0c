/* SPDX-License-Identifier: Apache-2.0 */
/* The capacity model: sums worked out by hand, and what must grow with what. */
#include "cli/sizing.h"
#include "support/check.h"

#include <math.h>

static const rung_costs costs = {
    .name_bytes = 10,
    .entry_bytes = 20,
    .id_bytes = 100,
    .connection_bytes = 1000,
    .viewer_bytes = 5000,
    .log_bytes = 70,
    .packed_bytes = 20,
    .id_log_bytes = 16,
    .id_packed_bytes = 10,
    .snapshot_bytes = 14,
    .archive_bytes = 10,
    .resp_write_us = 2,
    .resp_read_us = 1,
    .resp_top_us = 3,
    .http_write_us = 20,
    .http_read_us = 10,
    .http_top_us = 30,
    .ranking_us = 0.5,
    .fold_us = 1,
    .archive_us = 0.5,
    .load_us = 0.1,
    .resp_write_in = 50,
    .resp_read_out = 10,
    .resp_top_out = 3000,
};

static rung_load plain(void) {
    return (rung_load){.players = 1e6,
                       .windows = 1,
                       .keep = 2,
                       .active = 1,
                       .writes = 1000,
                       .reads = 10000,
                       .average = 0.5,
                       .ids = 1e6,
                       .connections = 100,
                       .days = 10,
                       .has_ids = true,
                       .has_archive = true};
}

static void is(double got, double wanted, const char *what) {
    CHECK_MSG(fabs(got - wanted) <= 1e-9 * fabs(wanted), "%s: %.17g, not %.17g", what, got, wanted);
}

TEST(sums_by_hand) {
    rung_load l = plain();
    rung_sizing s = rung_sizing_of(&l, &costs);
    is(s.rankings, 1, "rankings");
    is(s.memory_players, 1e7, "names");
    is(s.memory_rankings, 2e7, "rankings' memory");
    is(s.memory_ids, 1e8, "ids: the capacity, since a day has more");
    is(s.memory_snapshot, 0.2 * 1.3e8, "beside a snapshot");
    is(s.memory, 1.3e8 * 1.2 + 1e5 + RUNG_BASE_BYTES, "memory");
    is(s.log_per_day, 500 * 86400.0 * 30, "log a day");
    is(s.snapshots_kept, 11 * 1.4e7, "snapshots");
    is(s.disk, 500 * 86400.0 * 40 * 10 + 11 * 1.4e7, "disk");
    is(s.log_bandwidth, 86000, "log a second");
    is(s.network_in, 50000, "in");
    is(s.network_out, 100000, "out");
    is(s.write_cores, 0.002, "submissions");
    is(s.read_cores, 0.01, "ranks");
    is(s.archive_cores, 0.0005, "archive");
    is(s.servers, 1, "servers");
    is(s.restart_clean, 0.1, "restart");
}

TEST(windows_and_scopes_multiply) {
    rung_load l = plain();
    l.windows = 3;
    l.active = 0.5;
    l.scopes = 1;
    rung_sizing s = rung_sizing_of(&l, &costs);
    /* all, and two kinds of an open and two closed windows each, which half of the players are in; twice, by scope */
    is(s.rankings, (1 + 2 * 3 * 0.5) * 2, "rankings");
    is(s.write_cores, 1000 * (2 + 5 * 0.5) / 1e6, "a submission changes six rankings");
}

TEST(servers_share_questions_and_fold_every_submission) {
    rung_load l = plain();
    l.reads = 500000; /* half a core */
    is(rung_sizing_of(&l, &costs).servers, 1, "one suffices");
    l.reads = 1100000;
    is(rung_sizing_of(&l, &costs).servers, 2, "two");
    l.reads = 6000000;
    is(rung_sizing_of(&l, &costs).servers, 11, "6.001 cores of requests, 0.599 for each server");
    l.writes = 600000; /* all of a core's share for folding alone */
    is(rung_sizing_of(&l, &costs).servers, 0, "no number can");
    l = plain();
    l.is_replicated = true;
    is(rung_sizing_of(&l, &costs).servers, 3, "replicated");
}

TEST(measured_costs_are_sane) {
    const double *all = (const double *)&rung_costs_measured;
    for (size_t i = 0; i < sizeof rung_costs_measured / sizeof *all; i++)
        CHECK_MSG(all[i] > 0 && all[i] < 1e6, "cost %zu is %g", i, all[i]);
}

RUNG_TEST_MAIN
