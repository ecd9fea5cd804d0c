/* SPDX-License-Identifier: Apache-2.0 */
/* rung size: what a load needs, with the arithmetic. Asks no server and opens no folder. */
#include "cli/sizing.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "codec/json_writer.h"

#include <stdarg.h>
#include <string.h>

typedef struct size_args {
    uint64_t players, windows, scopes, keep, active, writes, reads, tops, average, ids, connections,
        viewers, days;
    bool http, no_ids, no_archive, replicated, json;
} size_args;

static const rung_option size_options[] = {
    RUNG_OPTION_NUMBER(size_args, players, "--players", "N",
                       "players on the board (default 1000000)"),
    RUNG_OPTION_NUMBER(size_args, windows, "--windows", "N",
                       "open windows that a score counts in, `all` among them (default 1)"),
    RUNG_OPTION_NUMBER(size_args, scopes, "--scopes", "N", "attributes with rankings of their own"),
    RUNG_OPTION_NUMBER(size_args, keep, "--keep", "N",
                       "closed windows of each kind in memory (default 2)"),
    RUNG_OPTION_NUMBER(size_args, active, "--active", "PERCENT",
                       "players who play in each window (default 100)"),
    RUNG_OPTION_NUMBER(size_args, writes, "--writes", "RATE",
                       "submissions per second at the busiest time (default 1000)"),
    RUNG_OPTION_NUMBER(size_args, reads, "--reads", "RATE", "ranks per second (default 10000)"),
    RUNG_OPTION_NUMBER(size_args, tops, "--tops", "RATE", "pages of 100 per second"),
    RUNG_OPTION_NUMBER(size_args, average, "--average", "PERCENT",
                       "a whole day's mean rate, of the busiest (default 40)"),
    RUNG_OPTION_NUMBER(size_args, ids, "--ids", "N", "`ids.capacity` (default 1000000)"),
    RUNG_OPTION_NUMBER(size_args, connections, "--connections", "N", "connections (default 1000)"),
    RUNG_OPTION_NUMBER(size_args, viewers, "--viewers", "N", "viewers of live pages"),
    RUNG_OPTION_NUMBER(size_args, days, "--days", "N", "days of log and snapshots (default 30)"),
    RUNG_OPTION_FLAG(size_args, http, "--over-http", "requests are HTTP, not the Redis protocol"),
    RUNG_OPTION_FLAG(size_args, no_ids, "--without-ids", "submissions carry no id"),
    RUNG_OPTION_FLAG(size_args, no_archive, "--without-archive", "as `rung serve --archive off`"),
    RUNG_OPTION_FLAG(size_args, replicated, "--replicated", "several servers on one log in Kafka"),
    RUNG_OPTION_FLAG(size_args, json, "--json", "print load, result and costs as JSON"),
};

static double or_default(uint64_t given, double otherwise) {
    return given ? (double)given : otherwise;
}

static rung_load load_of(const size_args *a) {
    return (rung_load){
        .players = or_default(a->players, 1e6),
        .windows = or_default(a->windows, 1),
        .scopes = (double)a->scopes,
        .keep = or_default(a->keep, 2),
        .active = or_default(a->active, 100) / 100,
        .writes = or_default(a->writes, 1000),
        .reads = or_default(a->reads, 10000),
        .tops = (double)a->tops,
        .average = or_default(a->average, 40) / 100,
        .ids = or_default(a->ids, 1e6),
        .connections = or_default(a->connections, 1000),
        .viewers = (double)a->viewers,
        .days = or_default(a->days, 30),
        .over_http = a->http,
        .has_ids = !a->no_ids,
        .has_archive = !a->no_archive,
        .is_replicated = a->replicated,
    };
}

/* ---- for people ---- */

static const char *amount(double bytes, char out[RUNG_COUNT_TEXT_MAX]) {
    return rung_size_text((uint64_t)bytes, out);
}

static const char *count(double n, char out[RUNG_COUNT_TEXT_MAX]) {
    return rung_count_text((uint64_t)n, out);
}

static void heading(const char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void heading(const char *text, const char *format, ...) {
    va_list args;
    char total[128];
    va_start(args, format);
    vsnprintf(total, sizeof total, format, args);
    va_end(args);
    rung_print_colored(RUNG_COLOR_BOLD, "%-10s%s\n", text, total);
}

static void term(const char *name, double bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void term(const char *name, double bytes, const char *format, ...) {
    char text[RUNG_COUNT_TEXT_MAX];
    va_list args;
    if (bytes <= 0)
        return;
    printf("  %-22s%12s   ", name, amount(bytes, text));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void print_memory(const rung_load *l, const rung_sizing *s, const rung_costs *c) {
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX];
    heading("Memory", "%s", amount(s->memory, a));
    term("names", s->memory_players, "%s players x %g B", count(l->players, a), c->name_bytes);
    term("rankings", s->memory_rankings, "%s players x %.3g rankings x %g B", count(l->players, a),
         s->rankings, c->entry_bytes);
    term("submission ids", s->memory_ids, "%s ids x %g B", count(s->memory_ids / c->id_bytes, a),
         c->id_bytes);
    term("beside a snapshot", s->memory_snapshot, "%.0f %% of the above",
         RUNG_SNAPSHOT_SHARE * 100);
    term("clients", s->memory_clients, "%s connections x %g B + %s viewers x %g B",
         count(l->connections, a), c->connection_bytes, count(l->viewers, b), c->viewer_bytes);
    term("the program", s->memory_base, "code, buffers of log and archive");
}

static void print_disk(const rung_load *l, const rung_sizing *s, const rung_costs *c) {
    char a[RUNG_COUNT_TEXT_MAX];
    heading("Disk", "%s for %g days", amount(s->disk, a), l->days);
    double a_day = l->writes * l->average * 86400;
    term("log, a day", s->log_per_day, "%s submissions x %g B, compressed", count(a_day, a),
         c->packed_bytes + (l->has_ids ? c->id_packed_bytes : 0));
    term("log, kept", s->log_kept, "x %g days (log.keep)", l->days);
    term("snapshots, kept", s->snapshots_kept, "%g x %s players x %.3g rankings x %g B",
         l->days + 1, count(l->players, a), s->rankings, c->snapshot_bytes);
    term("archive, a day", s->archive_per_day, "%s submissions x %g B", count(a_day, a),
         c->archive_bytes);
}

static void print_flow(const rung_load *l, const rung_sizing *s, const rung_costs *c) {
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], d[RUNG_COUNT_TEXT_MAX];
    heading("A second", "at the busiest time");
    term("log", s->log_bandwidth, "%s submissions x %g B", count(l->writes, a),
         c->log_bytes + (l->has_ids ? c->id_log_bytes : 0));
    term("network in", s->network_in, "%s submissions x %g B", count(l->writes, a),
         l->over_http ? c->http_write_in : c->resp_write_in);
    term("network out", s->network_out, "%s ranks x %g B + %s tops x %g B", count(l->reads, a),
         l->over_http ? c->http_read_out : c->resp_read_out, count(l->tops, b),
         l->over_http ? c->http_top_out : c->resp_top_out);
    heading("Cores", "%.2f", s->owner_cores + s->archive_cores);
    printf("  submissions           %9.2f      %s/s x %g us, and %g us for each further ranking\n",
           s->write_cores, count(l->writes, a), l->over_http ? c->http_write_us : c->resp_write_us,
           c->ranking_us);
    printf("  questions             %9.2f      %s ranks/s x %g us + %s tops/s x %g us\n",
           s->read_cores, count(l->reads, b), l->over_http ? c->http_read_us : c->resp_read_us,
           count(l->tops, d), l->over_http ? c->http_top_us : c->resp_top_us);
    if (l->has_archive)
        printf("  archive               %9.2f      a thread of its own: %s/s x %g us\n",
               s->archive_cores, count(l->writes, a), c->archive_us);
}

static void print_servers(const rung_load *l, const rung_sizing *s) {
    if (s->servers > 0) {
        heading("Servers", "%.0f", s->servers);
        if (l->is_replicated || s->servers > 1)
            printf("  on one log in Kafka: each folds every submission and takes its part of the "
                   "requests;\n  none is busy for more than %.0f %% of its core\n",
                   RUNG_BUSY_MAX * 100);
        else
            printf("  one core is busy for %.0f %% (at most %.0f %% keeps answers quick)\n",
                   s->owner_cores * 100, RUNG_BUSY_MAX * 100);
    } else {
        heading("Servers", "none: submissions alone keep one core busier than %.0f %%",
                RUNG_BUSY_MAX * 100);
        printf("  each server folds every submission; spread the boards over several logs\n");
    }
    heading("Restart", "%.1f s after a clean stop, %.1f s after a crash", s->restart_clean,
            s->restart_killed);
}

/* ---- for programs ---- */

static void member(rung_json_writer *w, const char *name, double value) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_write_real(w, value);
}

static int print_json(const rung_command *self, const rung_load *l, const rung_sizing *s,
                      const rung_costs *c) {
    rung_json_writer w = {.alloc = rung_alloc_heap(), .limit = 1 << 16};
    rung_json_open_object(&w);
    RUNG_JSON_OPEN(&w, "load", object);
#define MEMBER(of, name) member(&w, #name, (of)->name);
    MEMBER(l, players)
    MEMBER(l, windows) MEMBER(l, scopes) MEMBER(l, keep) MEMBER(l, active) MEMBER(l, writes)
        MEMBER(l, reads) MEMBER(l, tops) MEMBER(l, average) MEMBER(l, ids) MEMBER(l, connections)
            MEMBER(l, viewers) MEMBER(l, days) rung_json_close_object(&w);
    RUNG_JSON_OPEN(&w, "needs", object);
    MEMBER(s, rankings)
    MEMBER(s, memory_players) MEMBER(s, memory_rankings) MEMBER(s, memory_ids)
        MEMBER(s, memory_clients) MEMBER(s, memory_base) MEMBER(s, memory_snapshot)
            MEMBER(s, memory) MEMBER(s, log_per_day) MEMBER(s, log_kept) MEMBER(s, snapshots_kept)
                MEMBER(s, archive_per_day) MEMBER(s, disk) MEMBER(s, log_bandwidth)
                    MEMBER(s, network_in) MEMBER(s, network_out) MEMBER(s, write_cores)
                        MEMBER(s, read_cores) MEMBER(s, archive_cores) MEMBER(s, owner_cores)
                            MEMBER(s, servers) MEMBER(s, restart_clean) MEMBER(s, restart_killed)
                                rung_json_close_object(&w);
    RUNG_JSON_OPEN(&w, "costs", object);
#define X(name, value, unit) MEMBER(c, name)
    RUNG_COSTS(X)
#undef X
#undef MEMBER
    rung_json_close_object(&w);
    rung_json_close_object(&w);
    bool failed = rung_json_failed(&w);
    if (!failed) {
        rung_slice json = rung_json_written(&w);
        printf("%.*s\n", (int)json.len, (const char *)json.ptr);
    }
    rung_json_writer_deinit(&w);
    return failed ? rung_command_refuse(self, RUNG_EXIT_PROBLEM, "out of memory") : RUNG_EXIT_OK;
}

static int run(const rung_command *self, void *args_ptr) {
    const size_args *args = args_ptr;
    if (args->active > 100)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--active is a percentage, 1 to 100");
    if (args->average > 100)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--average is a percentage, 1 to 100");
    if (args->windows > 7)
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   "--windows is 1 to 7: a board has no more");
    rung_load load = load_of(args);
    rung_sizing sizing = rung_sizing_of(&load, &rung_costs_measured);
    if (args->json)
        return print_json(self, &load, &sizing, &rung_costs_measured);
    print_memory(&load, &sizing, &rung_costs_measured);
    print_disk(&load, &sizing, &rung_costs_measured);
    print_flow(&load, &sizing, &rung_costs_measured);
    print_servers(&load, &sizing);
    return RUNG_EXIT_OK;
}

const rung_command rung_command_size = {
    .name = "size",
    .summary = "estimate memory, disk, network, cores and servers for a load",
    .details = "Arithmetic on costs that were measured with ten million players; plan with a\n"
               "margin of a third. docs/capacity.md explains each line.\n"
               "\n"
               "  rung size --players 10000000 --windows 3 --writes 20000 --reads 50000\n",
    RUNG_OPTIONS(size_args, size_options),
    .run = run,
};
