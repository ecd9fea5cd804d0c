/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sizing.h"

#define SECONDS_PER_DAY 86400.0

const rung_costs rung_costs_measured = {
#define X(name, value, unit) .name = (value),
    RUNG_COSTS(X)
#undef X
};

static double ceiling(double x) {
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

static void size_memory(const rung_load *l, const rung_costs *c, rung_sizing *s) {
    s->memory_players = l->players * c->name_bytes;
    s->memory_rankings = l->players * s->rankings * c->entry_bytes;
    double ids = l->writes * l->average * SECONDS_PER_DAY;
    s->memory_ids = l->has_ids ? (ids < l->ids ? ids : l->ids) * c->id_bytes : 0;
    s->memory_clients = l->connections * c->connection_bytes + l->viewers * c->viewer_bytes;
    s->memory_base = RUNG_BASE_BYTES;
    double state = s->memory_players + s->memory_rankings + s->memory_ids;
    s->memory_snapshot = state * RUNG_SNAPSHOT_SHARE;
    s->memory = state + s->memory_snapshot + s->memory_clients + s->memory_base;
}

static void size_disk(const rung_load *l, const rung_costs *c, rung_sizing *s) {
    double a_day = l->writes * l->average * SECONDS_PER_DAY;
    double id_packed = l->has_ids ? c->id_packed_bytes : 0;
    s->log_bandwidth = l->writes * (c->log_bytes + (l->has_ids ? c->id_log_bytes : 0));
    s->log_per_day = a_day * (c->packed_bytes + id_packed);
    s->log_kept = s->log_per_day * l->days;
    s->snapshots_kept = l->players * s->rankings * c->snapshot_bytes * (l->days + 1);
    s->archive_per_day = l->has_archive ? a_day * c->archive_bytes : 0;
    s->disk = s->log_kept + s->snapshots_kept + s->archive_per_day * l->days;
}

static void size_work(const rung_load *l, const rung_costs *c, rung_sizing *s) {
    double write_us = l->over_http ? c->http_write_us : c->resp_write_us;
    double read_us = l->over_http ? c->http_read_us : c->resp_read_us;
    double top_us = l->over_http ? c->http_top_us : c->resp_top_us;
    double more_us = (1 + l->scopes) * l->windows * c->ranking_us - c->ranking_us;
    s->write_cores = l->writes * (write_us + more_us) / 1e6;
    s->read_cores = (l->reads * read_us + l->tops * top_us) / 1e6;
    s->archive_cores = l->has_archive ? l->writes * c->archive_us / 1e6 : 0;
    s->owner_cores = s->write_cores + s->read_cores;
    /* On a shared log each server takes its part of the requests, and folds all submissions. */
    double fold = l->writes * (c->fold_us + more_us) / 1e6;
    s->servers = 1;
    if (s->owner_cores > RUNG_BUSY_MAX) {
        double divided = s->owner_cores - fold; /* what more servers share */
        s->servers = fold >= RUNG_BUSY_MAX ? 0 : ceiling(divided / (RUNG_BUSY_MAX - fold));
        if (s->servers > 0 && s->servers < 2)
            s->servers = 2;
    }
    if (l->is_replicated && s->servers > 0 && s->servers < 3)
        s->servers = 3; /* one may be away, one may be upgraded */
    s->network_in = l->writes * (l->over_http ? c->http_write_in : c->resp_write_in);
    s->network_out = l->reads * (l->over_http ? c->http_read_out : c->resp_read_out) +
                     l->tops * (l->over_http ? c->http_top_out : c->resp_top_out);
}

rung_sizing rung_sizing_of(const rung_load *l, const rung_costs *c) {
    rung_sizing s = {0};
    double calendar = l->windows > 1 ? (l->windows - 1) * (1 + l->keep) * l->active : 0;
    s.rankings = (1 + calendar) * (1 + l->scopes);
    size_memory(l, c, &s);
    size_disk(l, c, &s);
    size_work(l, c, &s);
    s.restart_clean = l->players * s.rankings * c->load_us / 1e6;
    s.restart_killed = s.restart_clean + RUNG_REPLAY_TARGET_S;
    return s;
}
