/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses are counted in a short list of those we give; another one (a new one of the transport) counts as the class
 * it belongs to. A histogram's buckets are cumulative only in the text: counting touches one of them. */
#include "front/api/metrics.h"

#include "front/api/routes.h"
#include "model/text.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const int STATUSES[RUNG_METRICS_STATUSES] = {
    0,   101, 200, 201, 204, 304, 400, 401, 403, 404, 405, 408,
    409, 411, 413, 414, 415, 421, 422, 429, 431, 500, 503, 507,
};

static const uint32_t BUCKETS_US[RUNG_METRICS_BUCKETS] = {
    25,    50,    100,   250,    500,    1000,   2500,    5000,
    10000, 25000, 50000, 100000, 250000, 500000, 1000000, 5000000,
};

static uint32_t status_index(int status) {
    for (uint32_t i = 0; i < RUNG_METRICS_STATUSES; i++)
        if (STATUSES[i] == status)
            return i;
    return status / 100 == 4 ? 6 : 21; /* as 400, as 500 */
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

static void put_uint(rung_json_writer *w, uint64_t value) {
    char digits[20];
    rung_json_append(w, rung_slice_of(digits, rung_digits_format(value, digits)));
}

static void put_real(rung_json_writer *w, double value) {
    char text[RUNG_TEXT_NUMBER_MAX];
    rung_json_append(w, rung_slice_of(text, rung_text_format_real(value, text)));
}

void rung_metrics_family(rung_json_writer *w, const char *name, const char *type,
                         const char *help) {
    put(w, "# HELP ");
    put(w, name);
    put(w, " ");
    put(w, help);
    put(w, "\n# TYPE ");
    put(w, name);
    put(w, " ");
    put(w, type);
    put(w, "\n");
}

static void put_name(rung_json_writer *w, const char *name, const char *labels) {
    put(w, name);
    if (*labels) {
        put(w, "{");
        put(w, labels);
        put(w, "}");
    }
    put(w, " ");
}

void rung_metrics_uint(rung_json_writer *w, const char *name, const char *labels, uint64_t value) {
    put_name(w, name, labels);
    put_uint(w, value);
    put(w, "\n");
}

void rung_metrics_real(rung_json_writer *w, const char *name, const char *labels, double value) {
    put_name(w, name, labels);
    put_real(w, value);
    put(w, "\n");
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

static void put_route_labels(rung_json_writer *w, uint32_t route, const char *more) {
    put(w, "{route=\"");
    put(w, route_id(route));
    put(w, "\"");
    put(w, more);
}

static uint32_t metrics_index(uint32_t i) {
    return i < rung_route_count ? i : RUNG_METRICS_ROUTES_MAX - 1;
}

static void write_requests(rung_json_writer *w, const rung_metrics *m) {
    rung_metrics_family(w, "rung_http_requests_total", "counter",
                        "Requests by route and status; 0: the client went away.");
    for (uint32_t i = 0; i <= rung_route_count; i++) {
        const rung_route_metrics *r = &m->routes[metrics_index(i)];
        for (uint32_t s = 0; s < RUNG_METRICS_STATUSES; s++) {
            if (!r->by_status[s])
                continue;
            put(w, "rung_http_requests_total");
            put_route_labels(w, i, ",code=\"");
            put_uint(w, (uint64_t)STATUSES[s]);
            put(w, "\"} ");
            put_uint(w, r->by_status[s]);
            put(w, "\n");
        }
    }
}

static void write_times(rung_json_writer *w, const rung_metrics *m, uint32_t i) {
    const rung_route_metrics *r = &m->routes[metrics_index(i)];
    uint64_t count = 0;
    for (uint32_t b = 0; b <= RUNG_METRICS_BUCKETS; b++)
        count += r->took[b];
    if (!count)
        return;
    uint64_t below = 0;
    for (uint32_t b = 0; b <= RUNG_METRICS_BUCKETS; b++) {
        below += r->took[b];
        put(w, "rung_http_request_seconds_bucket");
        put_route_labels(w, i, ",le=\"");
        if (b < RUNG_METRICS_BUCKETS)
            put_real(w, BUCKETS_US[b] / 1e6);
        else
            put(w, "+Inf");
        put(w, "\"} ");
        put_uint(w, below);
        put(w, "\n");
    }
    put(w, "rung_http_request_seconds_sum");
    put_route_labels(w, i, "} ");
    put_real(w, (double)r->took_us_total / 1e6);
    put(w, "\nrung_http_request_seconds_count");
    put_route_labels(w, i, "} ");
    put_uint(w, count);
    put(w, "\n");
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
