/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/metrics.h"

#include "base/alloc.h"
#include "front/api/problem.h"
#include "front/api/routes.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static bool is_counted_as(int status, int shown) {
    static rung_metrics m;
    char line[96];
    m = (rung_metrics){0};
    rung_json_writer w = {.alloc = rung_alloc_heap()};
    rung_metrics_count(&m, 0, status, NULL, 0, 0);
    rung_metrics_write_routes(&w, &m);
    rung_json_append(&w, RUNG_SLICE("\0"));
    snprintf(line, sizeof line, "{route=\"%s\",code=\"%d\"} 1\n", rung_routes[0].id, shown);
    bool is_found = strstr(rung_json_written(&w).ptr, line) != NULL;
    rung_json_writer_deinit(&w);
    return is_found;
}

/* A 202 that counts as a 500 burns the error budget of somebody who did nothing wrong. */
TEST(every_status_counts_as_itself) {
    for (uint32_t r = 0; r < rung_route_count; r++)
        for (size_t i = 0; i < sizeof rung_routes[r].results / sizeof rung_routes[r].results[0];
             i++)
            if (rung_routes[r].results[i].status)
                CHECK(is_counted_as(rung_routes[r].results[i].status,
                                    rung_routes[r].results[i].status));
    for (uint32_t i = 0; i < rung_problem_row_count; i++)
        CHECK_MSG(is_counted_as(rung_problem_rows[i].status, rung_problem_rows[i].status), "%d",
                  rung_problem_rows[i].status);
}

TEST(an_unknown_status_counts_in_its_hundred) {
    CHECK(is_counted_as(299, 200));
    CHECK(is_counted_as(499, 400));
    CHECK(is_counted_as(599, 500));
}

RUNG_TEST_MAIN
