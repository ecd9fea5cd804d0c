/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses are counted in a fixed list; any other counts as the first of its hundred that is in it. Histogram buckets
 * become cumulative only in the text: counting touches one of them. */
#include "front/api/metrics.h"

#include "front/api/routes.h"
#include "model/text.h"

#include <stdio.h>

enum { LABELS_MAX = 96 }; /* bytes: a route and a number */

static const int STATUSES[RUNG_METRICS_STATUSES] = {
    0,   101, 200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 410,
    411, 413, 414, 415, 416, 417, 421, 422, 426, 429, 431, 500, 501, 503, 505, 507,
};

static const uint32_t BUCKETS_US[RUNG_METRICS_BUCKETS] = {
    25,    50,    100,   250,    500,    1000,   2500,    5000,
    10000, 25000, 50000, 100000, 250000, 500000, 1000000, 5000000,
};

static uint32_t status_index(int status) {
    uint32_t first = 0; /* of its hundred */
    for (uint32_t i = 0; i < RUNG_METRICS_STATUSES; i++) {
        if (STATUSES[i] == status)
            return i;
        if (!first && STATUSES[i] / 100 == status / 100)
            first = i;
    }
    return first;
}

static void count_time(rung_route_metrics *r, uint64_t took_us) {
    uint32_t i = 0;
    while (i < RUNG_METRICS_BUCKETS && took_us > BUCKETS_US[i])
        i++;
    r->took[i]++;
    r->took_us_total += took_us;
}

void rung_metrics_count(rung_metrics *m, uint32_t route, int status, const uint64_t *took_us,
                        uint64_t bytes_in, uint64_t bytes_out) {
    rung_route_metrics *r =
        &m->routes[route < RUNG_METRICS_ROUTES_MAX ? route : RUNG_METRICS_ROUTES_MAX - 1];
    r->by_status[status_index(status)]++;
    if (took_us)
        count_time(r, *took_us);
    m->bytes_in += bytes_in;
    m->bytes_out += bytes_out;
}

/* ---- text ---- */

static void put(rung_json_writer *w, const char *text) {
    rung_json_append(w, rung_slice_str(text));
}

void rung_metrics_family(rung_json_writer *w, const char *name, const char *type,
                         const char *help) {
    const char *const parts[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        put(w, parts[i]);
}

static void put_sample(rung_json_writer *w, const char *name, const char *labels, const char *value,
                       size_t len) {
    put(w, name);
    if (*labels) {
        put(w, "{");
        put(w, labels);
        put(w, "}");
    }
    put(w, " ");
    rung_json_append(w, rung_slice_of(value, len));
    put(w, "\n");
}

void rung_metrics_uint(rung_json_writer *w, const char *name, const char *labels, uint64_t value) {
    char digits[20];
    put_sample(w, name, labels, digits, rung_digits_format(value, digits));
}

void rung_metrics_real(rung_json_writer *w, const char *name, const char *labels, double value) {
    char text[RUNG_TEXT_NUMBER_MAX];
    put_sample(w, name, labels, text, rung_text_format_real(value, text));
}

void rung_metrics_label(rung_json_writer *w, rung_slice value) {
    put(w, "\"");
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '"' || value.ptr[i] == '\\')
            put(w, "\\");
        rung_json_append(w, rung_slice_of(value.ptr + i, 1));
    }
    put(w, "\"");
}

/* ---- requests ---- */

static const char *route_id(uint32_t i) {
    return i < rung_route_count ? rung_routes[i].id : "none";
}

static const rung_route_metrics *metrics_of(const rung_metrics *m, uint32_t i) {
    return &m->routes[i < rung_route_count ? i : RUNG_METRICS_ROUTES_MAX - 1];
}

static void write_requests(rung_json_writer *w, const rung_metrics *m) {
    char labels[LABELS_MAX];
    rung_metrics_family(w, "rung_http_requests_total", "counter",
                        "Requests by route and status; 0: the client went away.");
    for (uint32_t i = 0; i <= rung_route_count; i++) {
        const rung_route_metrics *r = metrics_of(m, i);
        for (uint32_t s = 0; s < RUNG_METRICS_STATUSES; s++) {
            if (!r->by_status[s])
                continue;
            snprintf(labels, sizeof labels, "route=\"%s\",code=\"%d\"", route_id(i), STATUSES[s]);
            rung_metrics_uint(w, "rung_http_requests_total", labels, r->by_status[s]);
        }
    }
}

static void write_times(rung_json_writer *w, const rung_metrics *m, uint32_t i) {
    const rung_route_metrics *r = metrics_of(m, i);
    char labels[LABELS_MAX], le[RUNG_TEXT_NUMBER_MAX];
    uint64_t count = 0, below = 0;
    for (uint32_t b = 0; b <= RUNG_METRICS_BUCKETS; b++)
        count += r->took[b];
    if (!count)
        return;
    for (uint32_t b = 0; b <= RUNG_METRICS_BUCKETS; b++) {
        size_t len = b < RUNG_METRICS_BUCKETS ? rung_text_format_real(BUCKETS_US[b] / 1e6, le) : 4;
        const char *text = b < RUNG_METRICS_BUCKETS ? le : "+Inf";
        below += r->took[b];
        snprintf(labels, sizeof labels, "route=\"%s\",le=\"%.*s\"", route_id(i), (int)len, text);
        rung_metrics_uint(w, "rung_http_request_seconds_bucket", labels, below);
    }
    snprintf(labels, sizeof labels, "route=\"%s\"", route_id(i));
    rung_metrics_real(w, "rung_http_request_seconds_sum", labels, (double)r->took_us_total / 1e6);
    rung_metrics_uint(w, "rung_http_request_seconds_count", labels, count);
}

void rung_metrics_write_routes(rung_json_writer *w, const rung_metrics *m) {
    write_requests(w, m);
    rung_metrics_family(
        w, "rung_http_request_seconds", "histogram",
        "From a request's last byte of head to its answer, by route; live views and "
        "streams of submissions are not timed.");
    for (uint32_t i = 0; i <= rung_route_count; i++)
        write_times(w, m, i);
}
