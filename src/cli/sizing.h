/* SPDX-License-Identifier: Apache-2.0 */
/* sizing.h - what a load needs: memory, disk, network, cores, servers. Arithmetic on measured costs, nothing else.
 *
 * The costs come from docs/benchmarks.md and docs/operations.md; the test e2e.size fails when one of them is more than
 * 30 % away from what those pages say. docs/capacity.md explains the model. */
#ifndef RUNG_CLI_SIZING_H
#define RUNG_CLI_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, value, unit): what one thing costs. Times are the server's processor time, with 10 M players. */
#define RUNG_COSTS(X)                                                                              \
    X(name_bytes, 28, "bytes of memory per player: name and number")                               \
    X(entry_bytes, 31.3, "bytes of memory per player and ranking")                                 \
    X(id_bytes, 160, "bytes of memory per remembered submission id")                               \
    X(connection_bytes, 819, "bytes of memory per connection")                                     \
    X(viewer_bytes, 5325, "bytes of memory per viewer of a live page")                             \
    X(log_bytes, 74.2, "bytes of log per submission")                                              \
    X(packed_bytes, 22, "bytes of log per submission, compressed")                                 \
    X(id_log_bytes, 16, "bytes of log more for an id")                                             \
    X(id_packed_bytes, 12, "bytes of log more for an id, compressed")                              \
    X(snapshot_bytes, 14, "bytes of a snapshot per player and ranking")                            \
    X(archive_bytes, 11.3, "bytes of archive per submission")                                      \
    X(resp_write_us, 1.67, "us per submission, Redis protocol, depth 16")                          \
    X(resp_read_us, 1.35, "us per rank, Redis protocol, depth 16")                                 \
    X(resp_top_us, 1.63, "us per top 100, Redis protocol, depth 16")                               \
    X(http_write_us, 15.3, "us per submission over HTTP, keep-alive")                              \
    X(http_read_us, 9.0, "us per rank over HTTP")                                                  \
    X(http_top_us, 10.4, "us per top 100 over HTTP")                                               \
    X(ranking_us, 0.64, "us per submission for each further ranking")                              \
    X(fold_us, 1.75, "us per submission that another server accepted")                             \
    X(archive_us, 0.46, "us per submission of the archive's thread")                               \
    X(load_us, 0.13, "us per player and ranking to load a snapshot")                               \
    X(replay_us, 1.75, "us per submission to replay")                                              \
    X(resp_write_in, 52, "bytes of a submission, Redis protocol")                                  \
    X(resp_read_out, 10, "bytes of a rank's answer, Redis protocol")                               \
    X(resp_top_out, 3000, "bytes of a top 100, Redis protocol")                                    \
    X(http_write_in, 180, "bytes of a submission over HTTP")                                       \
    X(http_read_out, 420, "bytes of a rank's answer over HTTP")                                    \
    X(http_top_out, 13500, "bytes of a top 100 over HTTP")

typedef struct rung_costs {
#define X(name, value, unit) double name;
    RUNG_COSTS(X)
#undef X
} rung_costs;

extern const rung_costs rung_costs_measured;

/* What is planned. Rates are per second, at the busiest time; `average` is the share of them over a whole day. */
typedef struct rung_load {
    double players, windows, scopes;
    double keep;   /* closed windows of each calendar kind in memory */
    double active; /* share of the players who play in a calendar window */
    double writes, reads, tops;
    double average;
    double ids; /* remembered at most */
    double connections, viewers;
    double days; /* of log and daily snapshots */
    bool over_http, has_ids, has_archive, is_replicated;
} rung_load;

typedef struct rung_sizing {
    double rankings; /* whole ones, counting a window that only some play in as a part */
    double memory_players, memory_rankings, memory_ids, memory_clients, memory_base,
        memory_snapshot, memory;
    double log_per_day, log_kept, snapshots_kept, archive_per_day, disk;
    double log_bandwidth, network_in, network_out;
    double write_cores, read_cores, archive_cores;
    double owner_cores; /* of the thread that holds the state, all of one server's load */
    double servers;     /* 0: no number of servers can do it */
    double restart_clean, restart_killed;
} rung_sizing;

/* The share of its one core that the thread with the state may be busy for, so that queues stay short. */
#define RUNG_BUSY_MAX 0.6
/* How long a start may replay, see `recovery.target`. */
#define RUNG_REPLAY_TARGET_S 15.0
/* What a snapshot may take beside the state, as a share of it. */
#define RUNG_SNAPSHOT_SHARE 0.2
/* Program, libraries, buffers of log and archive. */
#define RUNG_BASE_BYTES 268435456.0

rung_sizing rung_sizing_of(const rung_load *load, const rung_costs *c);

#endif
