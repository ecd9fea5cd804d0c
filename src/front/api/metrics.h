/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - counting requests by route and status, and how long they took.
 *
 * Fixed arrays, no allocation: the number of series does not depend on the requests. Thread: the loop's. */
#ifndef RUNG_FRONT_API_METRICS_H
#define RUNG_FRONT_API_METRICS_H

#include "codec/json_writer.h"

#include <stdint.h>

#define RUNG_METRICS_ROUTES_MAX 128 /* the last counts requests without a route */
#define RUNG_METRICS_STATUSES   32
#define RUNG_METRICS_BUCKETS    16

typedef struct rung_route_metrics {
    uint64_t by_status[RUNG_METRICS_STATUSES];
    uint64_t took[RUNG_METRICS_BUCKETS + 1]; /* the last: beyond all */
    uint64_t took_us_total;
} rung_route_metrics;

typedef struct rung_metrics {
    rung_route_metrics routes[RUNG_METRICS_ROUTES_MAX];
    uint64_t bytes_in, bytes_out;
    uint64_t batch_lines, batch_refused; /* submissions of batches */
    uint64_t waits, wait_timeouts;       /* reads that waited for a sequence */
} rung_metrics;

/* Count a request; `status` 0: its client disconnected. `took_us` NULL: not timed. */
void rung_metrics_count(rung_metrics *m, uint32_t route, int status, const uint64_t *took_us,
                        uint64_t bytes_in, uint64_t bytes_out);

/* ---- the text format of Prometheus ---- */

/* "# HELP" and "# TYPE" of a family. */
void rung_metrics_family(rung_json_writer *w, const char *name, const char *type, const char *help);
/* One sample: `labels` as text without braces, may be empty. */
void rung_metrics_uint(rung_json_writer *w, const char *name, const char *labels, uint64_t value);
void rung_metrics_real(rung_json_writer *w, const char *name, const char *labels, double value);
/* A label's value, quoted and escaped. */
void rung_metrics_label(rung_json_writer *w, rung_slice value);

/* Requests and their times, by the table of routes. */
void rung_metrics_write_routes(rung_json_writer *w, const rung_metrics *m);

#endif
