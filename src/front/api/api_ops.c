/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: health, readiness, snapshots, metrics, the OpenAPI document, and the console's files. */
#include "codec/http1.h"
#include "front/api/assets.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- health ---- */

void rung_api_health(rung_call *c) {
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung_exchange_answer(c->x, 200, RUNG_TYPE_JSON, RUNG_SLICE("{\"status\":\"ok\"}"));
}

/* Warnings do not make the server unready: it answers every read, with the time that it trusts. */
static void write_warnings(rung_json_writer *w, rung_hub_time t, bool is_log_silent) {
    if (!t.is_held && !t.is_log_ahead && !is_log_silent)
        return;
    RUNG_JSON_OPEN(w, "warnings", array);
    if (is_log_silent)
        rung_json_write_string(w, RUNG_SLICE("log_unavailable"));
    if (t.is_held)
        rung_json_write_string(w, RUNG_SLICE("clock_held"));
    if (t.is_log_ahead)
        rung_json_write_string(w, RUNG_SLICE("log_time_ahead"));
    rung_json_close_array(w);
}

/* Report the progress of recovery. */
static void answer_recovering(rung_call *c) {
    char members[160];
    rung_err err;
    rung_api_progress p = c->api->config.progress(c->api->config.ctx);
    int len = snprintf(
        members, sizeof members, "\"progress\":{\"reading\":\"%s\",\"done\":%llu,\"total\":%llu}",
        p.what ? p.what : "", (unsigned long long)p.done, (unsigned long long)p.total);
    RUNG_FAIL_WHY(&err, RUNG_ECLOSED, RUNG_REASON_RECOVERING,
                  "the server is still recovering: %.0f %% of the %s is read",
                  p.total ? 100.0 * (double)p.done / (double)p.total : 0.0,
                  p.what ? p.what : "folder");
    rung__call_fail_more(c, &err, rung_slice_of(members, (size_t)len));
}

/* Where this server is in a log that it shares. */
static void write_log(rung_json_writer *w, const rung_hub_stats *s) {
    if (!s->log_end_seq)
        return;
    RUNG_JSON_OPEN(w, "log", object);
    RUNG_JSON_MEMBER(w, "end_seq", uint, s->log_end_seq);
    RUNG_JSON_MEMBER(w, "lag", uint,
                     s->log_end_seq > s->applied_seq ? s->log_end_seq - s->applied_seq : 0);
    RUNG_JSON_MEMBER(w, "silent_ms", int, s->log_silent_ms);
    rung_json_close_object(w);
}

/* Others wrote while it recovered: it applies that, and is not ready before. */
static void answer_catching_up(rung_call *c, const rung_hub_stats *s) {
    char members[160];
    rung_err err;
    typedef unsigned long long ull;
    int len = snprintf(members, sizeof members,
                       "\"progress\":{\"reading\":\"log\",\"done\":%llu,\"total\":%llu}",
                       (ull)s->applied_seq, (ull)s->log_end_seq);
    RUNG_FAIL_WHY(&err, RUNG_ECLOSED, RUNG_REASON_RECOVERING,
                  "the server is catching up: %llu of %llu records are applied",
                  (ull)s->applied_seq, (ull)s->log_end_seq);
    rung__call_fail_more(c, &err, rung_slice_of(members, (size_t)len));
}

/* writes=true: would a change be accepted now? */
static bool check_writable(rung_call *c, const rung_hub_stats *s) {
    if (!rung__call_arg(c, "writes")->number)
        return true;
    if (s->status < 0)
        return rung__call_fail_with(c, RUNG_EIO, RUNG_REASON_NONE, NULL, "the disk is full");
    if (s->log_silent_ms > 0)
        return rung__call_fail_with(c, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE, NULL,
                                    "no broker answers");
    return true;
}

void rung_api_ready(rung_call *c) {
    rung_api *api = c->api;
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    if (!api->service.hub || api->is_draining) {
        if (!api->is_draining && api->config.progress)
            answer_recovering(c);
        else
            rung__call_not_ready(c);
        return;
    }
    if (!rung__call_check_state(c))
        return;
    rung_hub_stats stats = rung_hub_stat(api->service.hub);
    rung_status st = stats.status;
    if (st < 0 && st != RUNG_ENOSPC) {
        rung__call_fail_with(c, RUNG_EIO, RUNG_REASON_NONE, NULL, "the log has failed");
        return;
    }
    if (!stats.is_ready) {
        answer_catching_up(c, &stats);
        return;
    }
    if (!check_writable(c, &stats))
        return;
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "status", string, st < 0 ? RUNG_SLICE("read_only") : RUNG_SLICE("ready"));
    RUNG_JSON_MEMBER(w, "seq", uint, rung_state_seq(rung__api_state(api)));
    RUNG_JSON_KEY(w, "digest");
    rung__write_digest(w, rung_state_digest(rung__api_state(api)));
    write_log(w, &stats);
    write_warnings(w, rung_hub_look_at_time(api->service.hub), stats.log_silent_ms > 0);
    rung__call_answer(c, 200);
}

/* ---- the clock ---- */

void rung_api_clock(rung_call *c) {
    rung_hub_time t = rung_hub_look_at_time(c->api->service.hub);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "wall", time, t.wall_ms);
    RUNG_JSON_MEMBER(w, "log_time", time, t.log_ms);
    RUNG_JSON_MEMBER(w, "offset_ms", int, t.wall_ms - t.log_ms);
    RUNG_JSON_MEMBER(w, "held", bool, t.is_held);
    RUNG_JSON_MEMBER(w, "log_time_ahead", bool, t.is_log_ahead);
    RUNG_JSON_MEMBER(w, "max_jump_ms", int, t.max_jump_ms);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer(c, 200);
}

void rung_api_accept_clock(rung_call *c) {
    rung_slot slots[CLOCK_FIELDS] = {0};
    if (!rung__call_read_body(c, slots))
        return;
    if (!slots[CLOCK_ACCEPT].integer) {
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_NONE, "accept", "must be true");
        return;
    }
    rung_hub_accept_time(c->api->service.hub);
    rung_api_clock(c);
}

/* ---- snapshots ---- */

void rung_api_snapshot(rung_call *c) {
    rung_err err = {0};
    rung_status st = rung_hub_snapshot(c->api->service.hub, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    rung__call_answer_changed(c, 202, st == RUNG_OK);
}

/* ---- metrics ---- */

static void counter(rung_json_writer *w, const char *name, const char *help, uint64_t value) {
    rung_metrics_family(w, name, "counter", help);
    rung_metrics_uint(w, name, "", value);
}

static void gauge(rung_json_writer *w, const char *name, const char *help, double value) {
    rung_metrics_family(w, name, "gauge", help);
    rung_metrics_real(w, name, "", value);
}

static void write_sync_times(rung_json_writer *w, const rung_hub_stats *s) {
    static const char name[] = "rung_log_sync_seconds";
    char label[48];
    uint64_t below = 0;
    rung_metrics_family(w, name, "histogram", "Writing and syncing one batch of events.");
    for (unsigned i = 0; i < RUNG_LOG_TIME_BUCKETS; i++) {
        below += s->sync_us[i];
        if (i + 1 < RUNG_LOG_TIME_BUCKETS)
            snprintf(label, sizeof label, "le=\"%u.%06u\"", (1u << i) / 1000000,
                     (1u << i) % 1000000);
        else
            snprintf(label, sizeof label, "le=\"+Inf\"");
        rung_metrics_uint(w, "rung_log_sync_seconds_bucket", label, below);
    }
    rung_metrics_real(w, "rung_log_sync_seconds_sum", "", (double)s->sync_us_total / 1e6);
    rung_metrics_uint(w, "rung_log_sync_seconds_count", "", below);
}

static void write_hub(rung_json_writer *w, const rung_api *api) {
    rung_hub_stats s = rung_hub_stat(api->service.hub);
    counter(w, "rung_changes_put_total", "Changes proposed.", s.put);
    counter(w, "rung_changes_answered_total", "Changes answered.", s.answered);
    counter(w, "rung_changes_refused_total", "Changes refused before they were applied.",
            s.refused);
    gauge(w, "rung_changes_waiting", "Changes in flight.", s.waiting);
    gauge(w, "rung_changes_room", "How many more changes have room now.",
          rung_commit_room(rung_hub_commit(api->service.hub), (rung_hub_sender){0}));
    counter(w, "rung_log_batches_total", "Batches written to the log.", s.batches);
    counter(w, "rung_log_bytes_total", "Bytes written to the log since the start.", s.log_bytes);
    gauge(w, "rung_log_durable_seq", "Last event on stable storage.", (double)s.durable_seq);
    if (s.log_end_seq) {
        gauge(w, "rung_log_end_seq", "Last event of the shared log.", (double)s.log_end_seq);
        gauge(w, "rung_log_lag_events", "Events of the shared log that are not applied here yet.",
              s.log_end_seq > s.applied_seq ? (double)(s.log_end_seq - s.applied_seq) : 0);
        gauge(w, "rung_log_silent_seconds",
              "How long ago a broker last answered; 0 while they answer.",
              (double)s.log_silent_ms / 1000);
        counter(w, "rung_log_rejected_total", "Changes that the shared log did not take.",
                s.log_rejected);
        counter(w, "rung_log_unknown_total", "Changes whose outcome is unknown.", s.log_unknown);
        counter(w, "rung_log_rebuilds_total",
                "Producers replaced after an error that they did not survive.", s.log_rebuilds);
        counter(w, "rung_log_foreign_total", "Events of other servers applied.", s.log_foreign);
    }
    gauge(w, "rung_log_writable", "0 while the disk is full or after the log failed.",
          s.status >= 0);
    write_sync_times(w, &s);
    counter(w, "rung_snapshots_total", "Snapshots taken since the start.", s.snapshots);
    counter(w, "rung_snapshot_failures_total", "Snapshots that failed.", s.snapshot_failures);
    gauge(w, "rung_snapshot_seq", "Event of the newest snapshot.", (double)s.snapshot_seq);
    gauge(w, "rung_replay_seconds",
          "How long a start would take to replay the log after the newest snapshot; an estimate.",
          (double)s.replay_ms / 1e3);
    gauge(w, "rung_snapshots_kept", "Snapshots in the data folder.", (double)s.snapshots_kept);
    gauge(w, "rung_snapshot_bytes", "Bytes of all of them.", (double)s.snapshot_bytes);
    gauge(w, "rung_log_first_seq", "Oldest event that the log still has.", (double)s.log_first_seq);
    gauge(w, "rung_log_disk_bytes", "Bytes of the log's files; 0: the log is elsewhere.",
          (double)s.log_disk_bytes);
    gauge(w, "rung_log_oldest_timestamp_seconds",
          "The oldest moment that can be rebuilt from snapshots and log; 0: unknown.",
          (double)s.log_reach_ms / 1e3);
    gauge(w, "rung_log_short", "1 while size or disk end the log before the time of log.keep.",
          s.is_log_short);
    rung_hub_time t = rung_hub_look_at_time(api->service.hub);
    gauge(w, "rung_clock_held", "1 while the wall clock has jumped ahead and is not followed.",
          t.is_held);
    gauge(w, "rung_clock_offset_seconds",
          "The wall clock minus log time: above 0 while it is held, below while log time is ahead.",
          (double)(t.wall_ms - t.log_ms) / 1e3);
    gauge(w, "rung_snapshot_running", "1 while one is being taken.", s.is_snapshotting);
    gauge(w, "rung_memory_bytes", "Memory of players, rankings and keys.", (double)s.memory);
    gauge(w, "rung_memory_max_bytes", "Its limit (memory.max); 0: none.", (double)s.memory_max);
    counter(w, "rung_memory_refused_total", "Changes refused because it was full.",
            s.memory_refused);
}

static void write_nodes(rung_json_writer *w, const rung_api *api) {
    const rung_nodes *nodes = rung_hub_nodes(api->service.hub);
    if (!nodes)
        return;
    rung_nodes_stats s = rung_nodes_stat(nodes);
    const rung_divergence *d = rung_hub_divergence(api->service.hub);
    gauge(w, "rung_nodes_present", "Servers that share the log, with this one.", s.present);
    gauge(w, "rung_nodes_disagreeing", "Of the others, those with another digest than ours.",
          s.disagreeing);
    gauge(w, "rung_digest_checkpoint_seq", "Our last checkpoint.", (double)s.checkpoint.seq);
    gauge(w, "rung_digest_agreed_seq", "The last one that more than half of the servers confirm.",
          (double)s.agreed.seq);
    if (s.agreed.seq)
        gauge(w, "rung_digest_age_seconds", "How long ago that one was taken.",
              (double)(rung_hub_now(api->service.hub) - s.agreed_ms) / 1e3);
    counter(w, "rung_digest_disputes_total", "Checkpoints that a server had another digest of.",
            s.disputes);
    gauge(w, "rung_diverged",
          "1 when the state differs from that of the other servers and nothing is served.",
          d != NULL);
    gauge(w, "rung_diverged_seq", "The checkpoint at which that was found; 0: it was not.",
          d ? (double)d->seq : 0);
}

static void write_bytes(rung_json_writer *w, const rung_stats *s) {
    const struct {
        const char *label;
        uint64_t bytes;
    } parts[] = {
        {"for=\"players\"", s->bytes_players},   {"for=\"entries\"", s->bytes_entries},
        {"for=\"scopes\"", s->bytes_scopes},     {"for=\"teams\"", s->bytes_teams},
        {"for=\"friends\"", s->bytes_friends},   {"for=\"ids\"", s->bytes_ids},
        {"for=\"profiles\"", s->bytes_profiles}, {"for=\"boards\"", s->bytes_boards},
        {"for=\"sets\"", s->bytes_sets},
    };
    uint64_t rest = s->bytes_total;
    rung_metrics_family(w, "rung_state_bytes", "gauge",
                        "Memory of the state, by what it is for; their sum is all of it.");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        rung_metrics_uint(w, "rung_state_bytes", parts[i].label, parts[i].bytes);
        rest -= parts[i].bytes;
    }
    rung_metrics_uint(w, "rung_state_bytes", "for=\"rest\"", rest);
}

static void write_state(rung_json_writer *w, const rung_api *api) {
    rung_stats s;
    rung_state_stats(rung__api_state(api), &s);
    counter(w, "rung_events_total", "Events applied: the sequence.", s.seq);
    counter(w, "rung_events_refused_total", "Of those, refused by a rule.", s.refused);
    gauge(w, "rung_boards", "Boards.", (double)s.boards);
    gauge(w, "rung_players", "Players known.", (double)s.players);
    gauge(w, "rung_windows", "Windows in memory.", (double)s.windows);
    gauge(w, "rung_entries", "Entries of all windows.", (double)s.entries);
    gauge(w, "rung_friendships", "Follow relations between players.", (double)s.friendships);
    gauge(w, "rung_submission_ids", "Ids of submissions remembered.", (double)s.ids);
    gauge(w, "rung_banned", "Players banned.", (double)s.banned);
    write_bytes(w, &s);
}

/* One number of each of the first boards that the caller may see: the number of series is bounded. */
static void write_of_boards(rung_json_writer *w, const rung_api *api, rung_slice sight,
                            uint32_t family) {
    static const struct {
        const char *name, *type, *help;
    } families[] = {
        {"rung_board_entries", "gauge", "Entries of a board's first window, of the first boards."},
        {"rung_board_bytes", "gauge",
         "Memory of a board's rankings and definition, of the first boards."},
        {"rung_board_submissions_total", "counter",
         "Submissions to a board, also those refused, of the first boards."}};
    const rung_state *s = rung__api_state(api);
    const char *name = families[family].name;
    uint32_t span = rung_state_board_span(s), most = api->config.metrics_boards_max, shown = 0;
    rung_metrics_family(w, name, families[family].type, families[family].help);
    for (uint32_t i = 0; i < span && i < 100 * most && shown < most; i++) {
        rung_slice id;
        const rung_board_def *def;
        rung_stats stats;
        rung_view view;
        if (rung_state_board_at(s, i, &id, &def) != RUNG_OK ||
            !rung_access_sees(api->service.access, sight, id) ||
            rung_state_board_stats(s, id, &stats) != RUNG_OK ||
            rung_state_view(s, &(rung_query){.board = id}, &view, NULL) != RUNG_OK)
            continue;
        const uint64_t numbers[] = {view.total, stats.bytes_total, stats.submissions};
        rung_json_append(w, rung_slice_str(name));
        rung_json_append(w, RUNG_SLICE("{board="));
        rung_metrics_label(w, id);
        rung_json_append(w, RUNG_SLICE("}"));
        rung_metrics_uint(w, "", "", numbers[family]);
        shown++;
    }
}

static void write_stalls(rung_json_writer *w, const rung_api *api) {
    rung_loop *loop = api->config.loop;
    const rung_stalls *s = &loop->turn.stalls;
    char label[48];
    uint64_t below = 0;
    rung_metrics_family(w, "rung_loop_stall_seconds", "histogram",
                        "Turns of the event loop: while one lasts, everybody else waits.");
    for (unsigned i = 0; i < RUNG_STALL_BUCKETS; i++) {
        below += s->count[i];
        if (i + 1 < RUNG_STALL_BUCKETS)
            snprintf(label, sizeof label, "le=\"%g\"", rung_stall_bounds_us[i] / 1e6);
        else
            snprintf(label, sizeof label, "le=\"+Inf\"");
        rung_metrics_uint(w, "rung_loop_stall_seconds_bucket", label, below);
    }
    rung_metrics_real(w, "rung_loop_stall_seconds_sum", "", (double)s->total_ns / 1e9);
    rung_metrics_uint(w, "rung_loop_stall_seconds_count", "", below);
    gauge(w, "rung_loop_stall_longest_seconds", "The longest turn of the last 15 to 30 seconds.",
          (double)rung_turn_longest_ns(&loop->turn, rung_loop_clock_ns(loop)) / 1e9);
}

static void write_transport(rung_json_writer *w, const rung_api *api) {
    if (api->net) {
        rung_net_stats n = rung_net_stat(api->net);
        counter(w, "rung_connections_total", "Connections accepted.", n.accepted);
        counter(w, "rung_connections_refused_total", "Connections over the limit.", n.refused);
        counter(w, "rung_connections_timed_out_total", "Connections that took too long.",
                n.timed_out);
        counter(w, "rung_connections_cut_off_total",
                "Connections closed for holding too much memory.", n.cut_off);
        counter(w, "rung_connections_refused_by_address_total",
                "Of the refused: because their address has too many.", n.refused_address);
        counter(w, "rung_connections_refused_by_proxy_header_total",
                "Connections from trusted proxies without a good PROXY header.", n.refused_proxy);
        gauge(w, "rung_connections", "Connections open.", n.open);
        gauge(w, "rung_connections_reserved",
              "Of those, in places reserved for health checks and admins.", n.reserved);
        gauge(w, "rung_connections_held_bytes",
              "Unfinished requests, queued commands and unread answers of all connections.",
              (double)n.held);
        gauge(w, "rung_network_bytes", "Memory of connections and buffers.", (double)n.memory);
    }
    if (api->http) {
        rung_http_stats h = rung_http_stat(api->http);
        counter(w, "rung_http_malformed_total", "Requests refused by the transport.", h.malformed);
        counter(w, "rung_http_overloaded_total", "Requests over the limit.", h.overloaded);
        gauge(w, "rung_http_in_flight", "Requests in flight.", h.in_flight);
    }
    const rung_metrics *m = &api->metrics;
    rung_asker_stats asked = rung_asker_stat(api->service.asker);
    counter(w, "rung_http_received_bytes_total", "Bytes of requests.", m->bytes_in);
    counter(w, "rung_http_sent_bytes_total", "Bytes of answers.", m->bytes_out);
    counter(w, "rung_batch_lines_total", "Submissions in batches.", m->batch_lines);
    counter(w, "rung_batch_refused_total", "Of those, refused.", m->batch_refused);
    gauge(w, "rung_batches", "Batches in flight.", api->batch_shares.total);
    counter(w, "rung_waits_total", "Reads that waited for a sequence.", m->waits);
    counter(w, "rung_wait_timeouts_total", "Of those, timed out.", m->wait_timeouts + asked.late);
    gauge(w, "rung_waiting", "Reads waiting now.", api->waiting_shares.total);
    counter(w, "rung_archive_questions_total", "Questions to the archive.", asked.questions);
    counter(w, "rung_archive_question_failures_total", "Of those, failed.", asked.failures);
    gauge(w, "rung_archive_asking", "Questions waiting for the archive.", asked.waiting);
}

static void write_live(rung_json_writer *w, const rung_api *api) {
    rung_live_stats l = rung_live_stat(api->live);
    gauge(w, "rung_live_viewers", "Viewers of live topics.", l.viewers);
    gauge(w, "rung_live_topics", "Live topics.", l.topics);
    counter(w, "rung_live_frames_total", "Frames made.", l.frames);
    counter(w, "rung_live_sent_total", "Frames given to viewers.", l.sent);
    counter(w, "rung_live_skipped_total", "Frames skipped for slow viewers.", l.skipped);
    counter(w, "rung_live_resumed_total", "Viewers that resumed after a reconnect.", l.resumed);
    counter(w, "rung_live_anew_total", "Viewers that reconnected and got the full state.", l.anew);
    gauge(w, "rung_live_bytes", "Memory of topics and viewers.", (double)l.memory);
}

static void write_archive(rung_json_writer *w, const rung_api *api) {
    rung_archive_stats s = {0};
    if (!api->config.archive_stat || !api->config.archive_stat(api->config.ctx, &s))
        return;
    gauge(w, "rung_archive_seq", "Last event in the archive.", (double)s.cursor_seq);
    gauge(w, "rung_archive_behind_events", "Events not archived yet.", (double)s.behind_events);
    gauge(w, "rung_archive_behind_seconds", "Age of the oldest of them.",
          (double)s.behind_ms / 1e3);
    counter(w, "rung_archive_windows_total", "Windows archived since the start.", s.windows);
    counter(w, "rung_archive_failures_total", "Failed attempts.", s.failures);
    counter(w, "rung_archive_outcomes_lost_total",
            "Events archived without their outcome: too many were waiting.", s.outcomes_lost);
    counter(w, "rung_archive_changes_lost_total",
            "Audit records archived without what changed: too much was waiting.", s.changes_lost);
    rung_metrics_family(w, "rung_archive_cpu_seconds_total", "counter",
                        "Processor time of the archive's thread.");
    rung_metrics_real(w, "rung_archive_cpu_seconds_total", "", (double)s.cpu_ns / 1e9);
    gauge(w, "rung_archive_damaged", "1 when damage was found in the file after the start.",
          s.is_damaged);
    gauge(w, "rung_archive_failing", "1 while the archive cannot be written.", s.is_failing);
    gauge(w, "rung_archive_writer", "1 if this server writes the archive, 0 if another one does.",
          s.is_writer);
}

static void write_feed(rung_json_writer *w, const rung_api *api) {
    rung_api_feed_stat s = {0};
    if (!api->config.feed_stat || !api->config.feed_stat(api->config.ctx, &s))
        return;
    gauge(w, "rung_feed_publisher", "1 when this server publishes the change feed.",
          s.is_publisher);
    gauge(w, "rung_feed_seq", "Event up to which the change feed is published.",
          (double)s.published_seq);
    gauge(w, "rung_feed_behind_events", "Events not published yet.", (double)s.behind_events);
    gauge(w, "rung_feed_behind_seconds", "Age of the oldest of them.", (double)s.behind_ms / 1e3);
    gauge(w, "rung_feed_failing", "1 while the topic cannot be read or written.", s.is_failing);
    counter(w, "rung_feed_records_total", "Records sent to the change feed.", s.records);
    counter(w, "rung_feed_replays_total", "Times records were made again from the log.", s.replays);
    counter(w, "rung_feed_gaps_total", "Gaps: changes that neither log nor snapshots had.", s.gaps);
    counter(w, "rung_feed_failures_total", "Failed attempts.", s.failures);
}

static void write_reconcile(rung_json_writer *w, const rung_api *api) {
    rung_api_reconcile_stat s = {0};
    if (!api->config.reconcile_stat || !api->config.reconcile_stat(api->config.ctx, &s))
        return;
    gauge(w, "rung_reconcile_running", "1 while the server compares itself with its log.",
          s.is_running);
    gauge(w, "rung_reconcile_difference",
          "1 if the last comparison with the log found a difference.", s.has_difference);
    counter(w, "rung_reconcile_passes_total", "Complete comparisons.", s.passes);
    counter(w, "rung_reconcile_failures_total", "Comparisons that could not be completed.",
            s.failures);
    gauge(w, "rung_reconcile_snapshots", "Snapshots compared in the last one.",
          (double)s.snapshots);
    gauge(w, "rung_reconcile_windows", "Archived windows compared in the last one.",
          (double)s.windows);
    gauge(w, "rung_reconcile_last_timestamp_seconds", "When it ended; 0: there was none.",
          (double)s.last_ms / 1e3);
}

static void write_resp(rung_json_writer *w, const rung_api *api) {
    rung_api_resp_stat s = {0};
    if (!api->config.resp_stat || !api->config.resp_stat(api->config.ctx, &s))
        return;
    counter(w, "rung_resp_connections_total", "Connections of the Redis protocol.", s.connections);
    gauge(w, "rung_resp_connections", "Of those, open.", s.open);
    counter(w, "rung_resp_commands_total", "Commands of the Redis protocol.", s.commands);
    counter(w, "rung_resp_errors_total", "Of those, answered with an error.", s.errors);
    counter(w, "rung_resp_malformed_total", "Connections closed for a protocol error.",
            s.protocol_errors);
    counter(w, "rung_resp_timed_out_total",
            "Connections that took too long to authenticate or to send a command.", s.timed_out);
    gauge(w, "rung_resp_blocked", "Clients waiting in a blocking command.", s.blocked);
    counter(w, "rung_resp_work_total", "Members scanned by commands that may take long.", s.work);
    counter(w, "rung_resp_blocked_looks_total", "Keys checked for clients that wait.",
            s.blocked_looks);
    gauge(w, "rung_resp_in_flight", "Changes of the Redis protocol not answered yet.", s.in_flight);
}

/* ---- ingest ---- */

typedef struct ingest_family {
    const char *name, *type, *help;
    size_t offset; /* of a uint64_t in rung_api_ingest_stat */
} ingest_family;

static const ingest_family ingest_families[] = {
    {"rung_ingest_records_total", "counter", "Records read from a foreign topic.",
     offsetof(rung_api_ingest_stat, records)},
    {"rung_ingest_applied_total", "counter", "Of those, answered: durable and applied.",
     offsetof(rung_api_ingest_stat, applied)},
    {"rung_ingest_duplicates_total", "counter", "Of those, records that had their effect before.",
     offsetof(rung_api_ingest_stat, duplicates)},
    {"rung_ingest_dead_letters_total", "counter", "Records sent to the dead-letter topic.",
     offsetof(rung_api_ingest_stat, dead_letters)},
    {"rung_ingest_retries_total", "counter", "Records that were tried again.",
     offsetof(rung_api_ingest_stat, retries)},
};

static const char *ingest_label(const rung_api_ingest_stat *s, char out[64]) {
    snprintf(out, 64, "ingest=\"%s\"", s->name);
    return out;
}

static void write_ingest_lags(rung_json_writer *w, const rung_api_ingest_stat *s) {
    char label[96];
    for (uint32_t i = 0; i < s->lag_count; i++) {
        if (s->lags[i].records < 0)
            continue;
        snprintf(label, sizeof label, "ingest=\"%s\",partition=\"%d\"", s->name,
                 s->lags[i].partition);
        rung_metrics_uint(w, "rung_ingest_lag_records", label, (uint64_t)s->lags[i].records);
    }
}

static uint64_t lag_of(const rung_api_ingest_stat *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->lag_count; i++)
        sum += s->lags[i].records > 0 ? (uint64_t)s->lags[i].records : 0;
    return sum;
}

static void write_ingest_gauges(rung_json_writer *w, const rung_api *api) {
    rung_api_ingest_stat s;
    char label[64];
    rung_metrics_family(w, "rung_ingest_behind_records", "gauge",
                        "Records of this server's partitions that have no answer yet.");
    for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
        rung_metrics_uint(w, "rung_ingest_behind_records", ingest_label(&s, label), lag_of(&s));
    rung_metrics_family(w, "rung_ingest_in_flight", "gauge", "Records read and not answered.");
    for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
        rung_metrics_uint(w, "rung_ingest_in_flight", ingest_label(&s, label), s.in_flight);
    rung_metrics_family(w, "rung_ingest_stuck_partitions", "gauge",
                        "Partitions that are not read: the group's offset does not fit the topic.");
    for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
        rung_metrics_uint(w, "rung_ingest_stuck_partitions", ingest_label(&s, label), s.stuck);
    rung_metrics_family(w, "rung_ingest_stalled_seconds", "gauge",
                        "For how long every record has been refused for now.");
    for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
        rung_metrics_real(w, "rung_ingest_stalled_seconds", ingest_label(&s, label),
                          (double)s.stalled_ms / 1000);
}

static void write_ingest(rung_json_writer *w, const rung_api *api) {
    rung_api_ingest_stat s;
    char label[64];
    if (!api->config.ingest_stat || !api->config.ingest_stat(api->config.ctx, 0, &s))
        return;
    for (size_t f = 0; f < sizeof ingest_families / sizeof ingest_families[0]; f++) {
        const ingest_family *family = &ingest_families[f];
        rung_metrics_family(w, family->name, family->type, family->help);
        for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
            rung_metrics_uint(w, family->name, ingest_label(&s, label),
                              *(const uint64_t *)((const char *)&s + family->offset));
    }
    write_ingest_gauges(w, api);
    rung_metrics_family(w, "rung_ingest_lag_records", "gauge",
                        "Records of a partition that have no answer yet, or are not read.");
    for (uint32_t i = 0; api->config.ingest_stat(api->config.ctx, i, &s); i++)
        write_ingest_lags(w, &s);
}

static void write_info(rung_json_writer *w, const rung_api *api) {
    rung_metrics_family(w, "rung_info", "gauge", "1, with the version as a label.");
    rung_json_append(w, RUNG_SLICE("rung_info{version="));
    rung_metrics_label(w, rung_slice_str(api->config.version ? api->config.version : "0"));
    rung_json_append(w, RUNG_SLICE("} 1\n"));
    gauge(w, "rung_ready",
          "1 when recovered, close to the end of its log, not stopping and not diverged.",
          api->service.hub && rung_hub_stat(api->service.hub).is_ready && !api->is_draining &&
              !rung_hub_divergence(api->service.hub));
}

static void write_guard(rung_json_writer *w, const rung_api *api) {
    rung_access_stats s = rung_access_stat(api->service.access);
    counter(w, "rung_tokens_verified_total", "Signatures of player tokens verified.", s.verified);
    counter(w, "rung_tokens_forged_total", "Of those, invalid.", s.forged);
    counter(w, "rung_tokens_unverified_total",
            "Tokens refused unverified, after too many invalid ones from their address.",
            s.unverified);
}

static long resident_pages(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages;
}

static void write_process(rung_json_writer *w) {
    struct rusage usage = {0};
    long resident = resident_pages();
    if (resident > 0)
        gauge(w, "process_resident_memory_bytes", "Memory of the process.",
              (double)resident * (double)sysconf(_SC_PAGESIZE));
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        rung_metrics_family(w, "process_cpu_seconds_total", "counter", "Processor time used.");
        rung_metrics_real(w, "process_cpu_seconds_total", "", seconds);
    }
}

/* Metrics of the whole server: traffic, memory and totals of all boards. */
static void write_server(rung_json_writer *w, const rung_api *api) {
    write_process(w);
    rung_metrics_write_routes(w, &api->metrics);
    write_stalls(w, api);
    write_transport(w, api);
    write_guard(w, api);
    write_live(w, api);
    write_resp(w, api);
    if (api->service.hub) {
        write_hub(w, api);
        write_nodes(w, api);
        write_state(w, api);
    }
    write_archive(w, api);
    write_ingest(w, api);
    write_feed(w, api);
    write_reconcile(w, api);
}

/* A key limited to boards sees only their metrics. */
void rung_api_metrics(rung_call *c) {
    rung_api *api = c->api;
    rung_json_writer *w = &api->out;
    char text[RUNG_SIGHT_MAX];
    rung_slice sight = rung_access_sight(api->service.access, &c->who, text);
    rung_json_writer_reset(w);
    write_info(w, api);
    if (!sight.ptr)
        write_server(w, api);
    for (uint32_t family = 0; api->service.hub && family < 3; family++)
        write_of_boards(w, api, sight, family);
    if (rung_json_failed(w)) {
        rung__call_fail_with(c, RUNG_ENOMEM, RUNG_REASON_NONE, NULL, "out of memory");
        return;
    }
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung_exchange_answer(c->x, 200, "text/plain; version=0.0.4; charset=utf-8",
                         rung_json_written(w));
}

/* ---- the document and the console ---- */

void rung_api_openapi(rung_call *c) {
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("max-age=60"));
    rung_exchange_answer(c->x, 200, RUNG_TYPE_JSON, rung_json_written(&c->api->openapi));
}

/* Compressed at build time, if the client accepts that. */
static rung_slice asset_body(rung_exchange *x, const rung_web_asset *asset) {
    if (!asset->gzip_size ||
        !rung_list_has(rung_exchange_header(x, "accept-encoding"), RUNG_SLICE("gzip")))
        return rung_slice_of(asset->bytes, asset->size);
    rung_exchange_set(x, "Content-Encoding", RUNG_SLICE("gzip"));
    rung_exchange_set(x, "Vary", RUNG_SLICE("Accept-Encoding"));
    return rung_slice_of(asset->gzip, asset->gzip_size);
}

bool rung__api_asset(rung_exchange *x, const rung_request *r) {
    if (r->method != RUNG_METHOD_GET && r->method != RUNG_METHOD_HEAD)
        return false;
    const rung_web_asset *asset = rung_web_asset_find(r->path);
    if (!asset)
        return false;
    rung_slice etag = rung_slice_str(asset->etag);
    rung_exchange_set(x, "ETag", etag);
    rung_exchange_set(x, "Cache-Control",
                      asset->is_immutable ? RUNG_SLICE("public, max-age=31536000, immutable")
                                          : RUNG_SLICE("no-cache"));
    if (asset->policy)
        rung_exchange_set(x, "Content-Security-Policy", rung_slice_str(asset->policy));
    if (rung_slice_eq(rung_exchange_header(x, "if-none-match"), etag))
        rung_exchange_answer(x, 304, NULL, (rung_slice){NULL, 0});
    else
        rung_exchange_answer(x, 200, asset->content_type, asset_body(x, asset));
    return true;
}
