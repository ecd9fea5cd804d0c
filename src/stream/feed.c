/* SPDX-License-Identifier: Apache-2.0 */
/* Every server makes the same records from the same log (feed_record.c). One of them publishes.
 *
 *     owner:   apply -> on_change -> ring                          (never waits)
 *     worker:  ring, or a replay of the log -> topic -> acknowledged
 *
 * The worker of a server that does not lead only looks at the topic now and then. When it becomes the leader it reads
 * the last record of each partition, and goes on after the least of them; in each partition it leaves out what is
 * there. Whatever is no longer in the ring it makes again by replaying the log into a second state.
 *
 * Why two publishers at a time do no harm (docs/adr/0017-change-feed.md): a publisher begins at or before the end of
 * each partition, and sends without leaving anything out (feed_topic.c, T1). So the first time that a position appears
 * in a partition, everything before it has appeared. A reader that drops what is not after the last position it has
 * seen gets every record once, in order.
 *
 * Invariants:
 *   F1  last[p] is the position of the last record in partition p, as read at the start or sent since. Only records
 *       after it are sent there.
 *   F2  read_seq: all records of events up to this one were sent, or were in the topic. The published sequence is
 *       the least of read_seq and what is not acknowledged yet.
 *   F3  Only events that a power cut does not undo are published (rung_log_sure_seq).
 *   F4  A snapshot is begun only when every partition is past the newest one, so that of the two that are kept one is
 *       old enough for the next publisher; after keep_ms the feed gives that up, and may have a gap. */
#include "stream/feed.h"

#include "journal/snapshot_file.h"
#include "stream/feed_replay.h"
#include "stream/feed_ring.h"
#include "stream/feed_topic.h"
#include "stream/kafka_client.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    PARTITIONS = 6,
    SESSION_MS = 6000, /* what brokers accept at least, by default */
    PROGRESS_MS = 2000,
    LOOK_MS = 5000,
    RETRY_MS = 1000,
    TIMEOUT_MS = 5000,
    IDLE_MS = 50,     /* between two polls */
    BUSY_MS = 2,      /* the same, while as much is in flight as may be */
    STOP_MS = 2000,   /* to publish the rest */
    IN_FLIGHT = 8192, /* records */
    BATCH = 64,       /* records sent with the lock held */
    GAP_TRIES = 3,
    HEARTBEAT_MS = 3600000,
    GROUP_SIZE = RUNG_KAFKA_TOPIC_MAX + 16,
    JSON_SIZE = 256,
};
#define MEMORY_BYTES ((size_t)32 << 20)
#define KEEP_MS      INT64_C(86400000)
/* A shared log may delete records after a day, and a server must find what comes after its snapshot. */
#define SHARED_KEEP_MS_MAX INT64_C(43200000)

/* What is known of a partition. F1 */
typedef struct partition {
    rung__feed_position last;
    int64_t sent_ms; /* monotonic */
} partition;

struct rung_feed {
    rung_feed_config config;
    rung_hub_follower port;
    char group[GROUP_SIZE];
    rung_log *log;
    uint8_t log_id[RUNG_LOG_ID_SIZE];

    /* The owner's. */
    rung__feed_writer writer;
    rung_dir dir;
    int64_t held_since_ms; /* snapshots; 0: not held */
    bool has_given_up;     /* F4 */

    pthread_mutex_t lock; /* protects the next */
    rung__feed_ring ring;
    uint64_t applied_seq;
    int64_t log_time_ms;
    bool is_idle; /* the worker has nothing to publish */
    uint64_t mark_seq;
    int64_t mark_ms;     /* when mark_seq was applied: how old the backlog is */
    uint64_t resume_seq; /* a publisher that begins now goes on after this one, or a later one */
    rung_feed_stats stats;

    /* The worker's. */
    rung__feed_topic *topic; /* NULL: no session */
    partition *partitions;
    rung__feed_end *ends;
    uint32_t partition_count;
    bool is_publishing; /* it leads and knows where to go on */
    uint64_t place;     /* in the ring */
    uint64_t from_seq;  /* records of earlier events are passed over */
    uint64_t read_seq;  /* F2 */
    rung__feed_replay *replay;
    rung__feed_writer replay_writer;
    bool is_replay_cut; /* the session ended, or we stop: what the replay emits is dropped */
    uint64_t due_serial, due_seq; /* once this is acknowledged, resume_seq is due_seq */
    rung_json_writer json;
    char json_room[JSON_SIZE];
    int64_t next_look_ms, next_resume_ms, next_progress_ms, next_try_ms, stop_by_ms;
    bool is_failing, is_ahead;
    uint32_t gap_tries;

    _Atomic uint64_t records;
    atomic_bool is_stopping;
    rung_worker *worker;
};

static int64_t now_ms(const rung_feed *f) {
    return rung_clock_monotonic_ms(&f->config.kafka.clock);
}

/* ---- the owner: changes into the ring ---- */

static void add_record(void *ctx, const rung__feed_record *record) {
    rung_feed *f = ctx;
    pthread_mutex_lock(&f->lock);
    rung__feed_ring_add(&f->ring, record);
    pthread_mutex_unlock(&f->lock);
}

static void lose_event(void *ctx, uint64_t seq) {
    rung_feed *f = ctx;
    pthread_mutex_lock(&f->lock);
    rung__feed_ring_forget(&f->ring, seq);
    pthread_mutex_unlock(&f->lock);
}

static void on_change(void *ctx, const rung_change *change) {
    rung__feed_write_change(&((rung_feed *)ctx)->writer, change);
}

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    rung__feed_write_close(&((rung_feed *)ctx)->writer, board, view);
}

static void applied(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes) {
    rung_feed *f = ctx;
    int64_t at_ms = events[count - 1]->ts_ms;
    (void)statuses, (void)outcomes;
    rung__feed_write_end(&f->writer);
    pthread_mutex_lock(&f->lock);
    f->applied_seq = first_seq + count - 1;
    f->log_time_ms = at_ms > f->log_time_ms ? at_ms : f->log_time_ms;
    if (f->mark_seq <= f->stats.published_seq) {
        f->mark_seq = f->applied_seq;
        f->mark_ms = now_ms(f);
    }
    bool is_idle = f->is_idle;
    f->is_idle = false;
    pthread_mutex_unlock(&f->lock);
    if (is_idle)
        rung_worker_wake(f->worker);
}

/* A record without an event: nothing to publish. */
static void passed(void *ctx, uint64_t seq) {
    rung_feed *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->applied_seq = seq;
    pthread_mutex_unlock(&f->lock);
}

/* ---- the owner: snapshots ---- */

/* F4 */
static uint64_t snapshot_before(void *ctx) {
    rung_feed *f = ctx;
    uint64_t newest = 0;
    size_t count = 0;
    pthread_mutex_lock(&f->lock);
    uint64_t seq = f->resume_seq;
    pthread_mutex_unlock(&f->lock);
    if (rung_snapshot_list(&f->dir, &newest, 1, &count, NULL) < 0 || count == 0 || seq >= newest) {
        f->held_since_ms = 0;
        f->has_given_up = false;
        return UINT64_MAX;
    }
    f->held_since_ms = f->held_since_ms ? f->held_since_ms : now_ms(f);
    int64_t keep_ms = f->config.keep_ms;
    if (rung_log_is_shared(f->log) && keep_ms > SHARED_KEEP_MS_MAX)
        keep_ms = SHARED_KEEP_MS_MAX;
    if (now_ms(f) - f->held_since_ms < keep_ms)
        return 0;
    if (!f->has_given_up)
        rung__kafka_say(&f->config.kafka,
                        "the change feed is at %" PRIu64
                        " and behind for too long: snapshots and the log no longer wait for it. "
                        "It may go on with a gap",
                        seq);
    f->has_given_up = true;
    return UINT64_MAX;
}

/* ---- the worker: sending ---- */

static rung_status send_to(rung_feed *f, uint32_t p, rung_slice key, rung_slice json,
                           rung__feed_position position, rung_err *err) {
    partition *to = &f->partitions[p];
    rung_status st = rung__feed_topic_send(f->topic, p, key, json, position, err);
    if (st != RUNG_OK)
        return st;
    to->last = position;
    to->sent_ms = now_ms(f);
    f->records++;
    return RUNG_OK;
}

/* F1. RUNG_EBUSY: some of it may have been sent; try again. */
static rung_status send_record(rung_feed *f, const rung__feed_record *r, rung_err *err) {
    uint32_t first = 0, end = f->partition_count;
    rung_status st = RUNG_OK;
    if (!r->is_for_all) {
        first = rung__feed_topic_partition_of(f->topic, r->key);
        end = first + 1;
    }
    for (uint32_t p = first; p < end && st == RUNG_OK; p++)
        if (rung__feed_is_after(r->position, f->partitions[p].last))
            st = send_to(f, p, r->key, r->json, r->position, err);
    return st;
}

/* A record of our own to one partition: it says that all up to `seq` is published. */
static rung_status send_own(rung_feed *f, uint32_t p, uint64_t seq, rung_err *err) {
    return send_to(f, p, (rung_slice){NULL, 0}, rung_json_written(&f->json),
                   (rung__feed_position){seq, RUNG__FEED_ALL}, err);
}

/* F2 */
static void note_published(rung_feed *f) {
    rung__feed_position oldest;
    uint64_t seq = f->read_seq;
    if (rung__feed_topic_oldest(f->topic, &oldest) && oldest.seq <= seq)
        seq = oldest.n == RUNG__FEED_ALL ? oldest.seq : oldest.seq - 1;
    pthread_mutex_lock(&f->lock);
    f->stats.is_known = true;
    f->stats.published_seq = seq;
    if (rung__feed_topic_acked(f->topic) >= f->due_serial && f->due_seq > f->resume_seq)
        f->resume_seq = f->due_seq;
    if (f->mark_seq <= seq && f->applied_seq > seq) {
        f->mark_seq = f->applied_seq;
        f->mark_ms = now_ms(f);
    }
    pthread_mutex_unlock(&f->lock);
}

static uint64_t complete_seq(rung__feed_position p) {
    return p.n == RUNG__FEED_ALL || p.seq == 0 ? p.seq : p.seq - 1;
}

/* What the next publisher will find, as soon as everything that is in flight is acknowledged. */
static void note_due(rung_feed *f) {
    uint64_t least = UINT64_MAX;
    if (rung__feed_topic_acked(f->topic) < f->due_serial)
        return;
    for (uint32_t p = 0; p < f->partition_count; p++) {
        uint64_t seq = complete_seq(f->partitions[p].last);
        least = seq < least ? seq : least;
    }
    f->due_seq = least;
    f->due_serial = rung__feed_topic_sent(f->topic);
}

static int64_t log_time(rung_feed *f) {
    pthread_mutex_lock(&f->lock);
    int64_t at_ms = f->log_time_ms;
    pthread_mutex_unlock(&f->lock);
    return at_ms;
}

/* Where nothing was sent for some time, say how far the feed is: a partition without changes must not hold back the
 * next publisher, and retention must not delete the last record. */
static rung_status send_progress(rung_feed *f, rung_err *err) {
    int64_t now = now_ms(f);
    uint64_t seq = f->stats.published_seq; /* only this thread changes it */
    rung_status st = RUNG_OK;
    if (now < f->next_progress_ms)
        return RUNG_OK;
    f->next_progress_ms = now + f->config.progress_ms;
    rung__feed_write_progress(&f->json, seq, log_time(f));
    for (uint32_t p = 0; p < f->partition_count && st == RUNG_OK; p++) {
        const partition *to = &f->partitions[p];
        bool is_new = rung__feed_is_after((rung__feed_position){seq, RUNG__FEED_ALL}, to->last);
        if (is_new || (to->last.n == RUNG__FEED_ALL && now - to->sent_ms >= HEARTBEAT_MS))
            st = send_own(f, p, seq, err);
    }
    note_due(f);
    return st == RUNG_EBUSY ? RUNG_OK : st;
}

/* ---- the worker: from the ring ---- */

/* F3. Lock held. */
static uint64_t last_sure(const rung_feed *f) {
    uint64_t sure = rung_log_sure_seq(f->log);
    return f->applied_seq < sure ? f->applied_seq : sure;
}

/* Send up to BATCH records. RUNG_OK: there may be more; RUNG_NOT_FOUND: no more for now; RUNG_EBUSY; RUNG_ESTALE: the
 * ring has lost the next one. Lock held: librdkafka only queues. */
static rung_status send_batch(rung_feed *f, rung_err *err) {
    uint64_t last = last_sure(f);
    if (rung__feed_ring_has_lost(&f->ring, f->place))
        return RUNG_ESTALE;
    for (uint32_t i = 0; i < BATCH; i++) {
        rung__feed_record r;
        if (!rung__feed_ring_look(&f->ring, &f->place, &r) || r.position.seq > last) {
            f->read_seq = last > f->read_seq ? last : f->read_seq;
            return RUNG_NOT_FOUND;
        }
        rung_status st = r.position.seq < f->from_seq ? RUNG_OK : send_record(f, &r, err);
        if (st != RUNG_OK)
            return st;
        if (r.position.seq > f->read_seq + 1)
            f->read_seq = r.position.seq - 1;
        rung__feed_ring_pass(&f->ring, &f->place);
    }
    return RUNG_OK;
}

static rung_status publish_ring(rung_feed *f, rung_err *err) {
    pthread_mutex_lock(&f->lock);
    rung_status st = send_batch(f, err);
    f->is_idle = st == RUNG_NOT_FOUND;
    pthread_mutex_unlock(&f->lock);
    return st;
}

/* ---- the worker: from the log ---- */

/* Is it over for this session? */
static bool is_cut(rung_feed *f) {
    return f->is_replay_cut || f->is_stopping || !rung__feed_topic_is_leader(f->topic);
}

/* Waits for the brokers: this is the worker. */
static void send_replayed(void *ctx, const rung__feed_record *record) {
    rung_feed *f = ctx;
    rung_status st = RUNG_EBUSY;
    if (record->position.seq < f->from_seq)
        return;
    while (st == RUNG_EBUSY && !is_cut(f)) {
        st = send_record(f, record, NULL);
        if (st == RUNG_EBUSY && rung__feed_topic_poll(f->topic, IDLE_MS, NULL) < 0)
            st = RUNG_EIO;
    }
    f->is_replay_cut = f->is_replay_cut || st != RUNG_OK;
}

static void lose_replayed(void *ctx, uint64_t seq) {
    (void)seq;
    ((rung_feed *)ctx)->is_replay_cut = true; /* and begin again */
}

/* A record of our own to every partition. Waits for the brokers. */
static rung_status send_everywhere(rung_feed *f, uint64_t seq, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint32_t p = 0; p < f->partition_count && st == RUNG_OK; p++)
        while ((st = send_own(f, p, seq, err)) == RUNG_EBUSY) {
            if (is_cut(f))
                return RUNG_FAIL(err, RUNG_EIO, "another server publishes now");
            rung_status polled = rung__feed_topic_poll(f->topic, IDLE_MS, err);
            if (polled < 0)
                return polled;
        }
    return st;
}

/* State in every partition that the feed goes on with event `first`. */
static rung_status send_gap(rung_feed *f, uint64_t first, rung_err *err) {
    rung__feed_write_gap(&f->json, f->read_seq + 1, first - 1);
    f->from_seq = first;
    f->read_seq = first - 1;
    return send_everywhere(f, first - 1, err);
}

/* What is not to be had any more. */
static rung_status skip_to(rung_feed *f, uint64_t first, rung_err *err) {
    rung__kafka_say(&f->config.kafka,
                    "the change feed goes on with a gap: the changes of events %" PRIu64
                    " to %" PRIu64 " are not in it, for neither the log nor a snapshot has them",
                    f->read_seq + 1, first - 1);
    pthread_mutex_lock(&f->lock);
    f->stats.gaps++;
    pthread_mutex_unlock(&f->lock);
    return send_gap(f, first, err);
}

static void end_replay(rung_feed *f) {
    rung__feed_replay_close(f->replay);
    f->replay = NULL;
}

/* Where servers share the log, let the others try first: a failed session leaves the group. */
static bool others_may_have_it(rung_feed *f) {
    return rung_log_is_shared(f->log) && f->gap_tries++ < GAP_TRIES;
}

/* Go on with the ring if it reaches back to the next event, otherwise with the log. */
static rung_status attach(rung_feed *f, rung_err *err) {
    uint64_t next = f->read_seq + 1, first = next;
    pthread_mutex_lock(&f->lock);
    uint64_t ring_first = f->ring.first_seq;
    if (ring_first <= next)
        f->place = f->ring.head;
    pthread_mutex_unlock(&f->lock);
    f->from_seq = next;
    if (ring_first <= next) {
        f->gap_tries = 0;
        return RUNG_OK;
    }
    rung__feed_replay_config c = {.alloc = f->config.alloc,
                                  .fs = f->config.fs,
                                  .folder = f->config.folder,
                                  .log = f->log,
                                  .log_id = f->log_id,
                                  .writer = &f->replay_writer};
    f->is_replay_cut = false;
    rung_status st = rung__feed_replay_open(&c, next, ring_first, &f->replay, &first, err);
    bool is_gap = st == RUNG_NOT_FOUND || (st == RUNG_OK && first > next);
    if (is_gap && others_may_have_it(f)) {
        end_replay(f);
        return RUNG_FAIL(err, RUNG_EIO,
                         "this server no longer has the changes after event %" PRIu64
                         "; another one may have them",
                         f->read_seq);
    }
    if (st == RUNG_NOT_FOUND) {
        st = skip_to(f, ring_first, err);
        return st < 0 ? st : attach(f, err); /* the ring may have moved on */
    }
    if (st < 0)
        return st;
    pthread_mutex_lock(&f->lock);
    f->stats.replays++;
    pthread_mutex_unlock(&f->lock);
    return is_gap ? skip_to(f, first, err) : RUNG_OK;
}

/* RUNG_OK: there is more; RUNG_NOT_FOUND: not now. */
static rung_status publish_replay(rung_feed *f, rung_err *err) {
    pthread_mutex_lock(&f->lock);
    uint64_t last = last_sure(f), ring_first = f->ring.first_seq;
    pthread_mutex_unlock(&f->lock);
    if (rung__feed_replay_seq(f->replay) + 1 >= ring_first) {
        end_replay(f);
        return attach(f, err);
    }
    rung_status st = rung__feed_replay_step(f->replay, last, err);
    if (st < 0)
        return st;
    if (f->is_replay_cut)
        return RUNG_FAIL(err, RUNG_EIO, "the replay was interrupted");
    uint64_t seq = rung__feed_replay_seq(f->replay);
    f->read_seq = seq > f->read_seq ? seq : f->read_seq;
    return st;
}

/* ---- the worker: where the feed is ---- */

/* Read the ends. False: the topic is empty. */
static rung_status look(rung_feed *f, bool *is_known, uint64_t *seq_out, rung_err *err) {
    uint64_t least = UINT64_MAX;
    rung_status st = rung__feed_topic_ends(f->topic, f->ends, err);
    if (st < 0)
        return st;
    for (uint32_t p = 0; p < f->partition_count; p++)
        if (f->ends[p].is_known && complete_seq(f->ends[p].last) < least)
            least = complete_seq(f->ends[p].last);
    *is_known = least != UINT64_MAX;
    *seq_out = *is_known ? least : 0;
    return RUNG_OK;
}

static void note_seen(rung_feed *f, bool is_known, uint64_t seq) {
    pthread_mutex_lock(&f->lock);
    f->stats.is_known = is_known;
    if (seq > f->stats.published_seq)
        f->stats.published_seq = seq;
    if (seq > f->resume_seq)
        f->resume_seq = seq;
    pthread_mutex_unlock(&f->lock);
}

/* A feed that no server has published to: where does it begin? */
static rung_status begin_feed(rung_feed *f, uint64_t last, rung_err *err) {
    f->read_seq = 0;
    for (uint32_t p = 0; p < f->partition_count; p++)
        f->partitions[p] = (partition){.last = {0, 0}};
    if (!f->config.is_from_first && last > 0) {
        rung__kafka_say(&f->config.kafka, "the change feed %s begins after event %" PRIu64,
                        f->config.kafka.topic, last);
        return send_gap(f, last + 1, err);
    }
    rung__feed_write_progress(&f->json, 0, log_time(f));
    return send_everywhere(f, 0, err);
}

/* This server leads: find where to go on. RUNG_NOT_FOUND: it must catch up with the log first. */
static rung_status resume(rung_feed *f, rung_err *err) {
    bool is_known;
    uint64_t seq;
    rung_status st = look(f, &is_known, &seq, err);
    if (st < 0)
        return st;
    pthread_mutex_lock(&f->lock);
    uint64_t last = last_sure(f);
    pthread_mutex_unlock(&f->lock);
    if (seq > last) {
        if (!f->is_ahead)
            rung__kafka_say(&f->config.kafka,
                            "the change feed is at %" PRIu64 ", this server at %" PRIu64
                            ": if it does not catch up, topic %s is of another log",
                            seq, last, f->config.kafka.topic);
        f->is_ahead = true;
        return RUNG_NOT_FOUND;
    }
    f->is_ahead = false;
    if (!is_known) {
        st = begin_feed(f, last, err);
    } else {
        f->read_seq = seq;
        for (uint32_t p = 0; p < f->partition_count; p++)
            f->partitions[p] = (partition){.last = f->ends[p].is_known
                                                       ? f->ends[p].last
                                                       : (rung__feed_position){seq, RUNG__FEED_ALL},
                                           .sent_ms = now_ms(f)};
    }
    if (st == RUNG_OK)
        st = attach(f, err);
    f->is_publishing = st == RUNG_OK;
    f->next_progress_ms = 0;
    f->due_serial = 0;
    return st;
}

/* ---- the worker: sessions ---- */

static void set_publisher(rung_feed *f, bool is_publisher) {
    pthread_mutex_lock(&f->lock);
    f->stats.is_publisher = is_publisher;
    f->is_idle = false;
    pthread_mutex_unlock(&f->lock);
}

static void stop_publishing(rung_feed *f) {
    end_replay(f);
    f->is_publishing = false;
    set_publisher(f, false);
}

static void close_session(rung_feed *f, uint32_t flush_ms) {
    const rung_alloc *a = f->config.alloc;
    stop_publishing(f);
    rung__feed_topic_close(f->topic, flush_ms);
    f->topic = NULL;
    rung_alloc_free(a, f->partitions, f->partition_count * sizeof *f->partitions);
    rung_alloc_free(a, f->ends, f->partition_count * sizeof *f->ends);
    f->partitions = NULL;
    f->ends = NULL;
    f->partition_count = 0;
}

static rung_status open_session(rung_feed *f, rung_err *err) {
    const rung_feed_config *c = &f->config;
    rung__feed_topic_config topic = {.kafka = c->kafka,
                                     .group = f->group,
                                     .partitions = c->partitions,
                                     .session_ms = c->session_ms};
    rung_status st = rung__feed_topic_open(&topic, &f->topic, err);
    if (st < 0)
        return st == RUNG_EBUSY ? RUNG_EIO : st; /* busy is what a session may be */
    uint32_t count = rung__feed_topic_partitions(f->topic);
    f->partitions = rung_alloc_zeroed(c->alloc, count * sizeof *f->partitions);
    f->ends = f->partitions ? rung_alloc_zeroed(c->alloc, count * sizeof *f->ends) : NULL;
    if (!f->ends) {
        rung_alloc_free(c->alloc, f->partitions, f->partitions ? count * sizeof *f->partitions : 0);
        f->partitions = NULL;
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    f->partition_count = count;
    f->next_look_ms = f->next_resume_ms = 0;
    return RUNG_OK;
}

/* Tell the operator when it starts to fail and when it works again. */
static void report(rung_feed *f, rung_status st, const rung_err *err) {
    bool is_failing = st < 0;
    pthread_mutex_lock(&f->lock);
    f->stats.status = is_failing ? st : RUNG_OK;
    f->stats.failures += is_failing;
    pthread_mutex_unlock(&f->lock);
    if (is_failing == f->is_failing || f->is_stopping)
        return;
    f->is_failing = is_failing;
    if (is_failing)
        rung__kafka_say(&f->config.kafka, "the change feed falls behind, will be tried again: %s",
                        err->message);
    else
        rung__kafka_say(&f->config.kafka, "the change feed works again");
}

/* Not the leader: see how far the feed is, now and then. */
static rung_status stand_by(rung_feed *f, rung_err *err) {
    bool is_known;
    uint64_t seq;
    if (f->is_publishing)
        stop_publishing(f);
    if (now_ms(f) < f->next_look_ms)
        return RUNG_NOT_FOUND;
    f->next_look_ms = now_ms(f) + f->config.look_ms;
    rung_status st = look(f, &is_known, &seq, err);
    if (st == RUNG_OK)
        note_seen(f, is_known, seq);
    return st < 0 ? st : RUNG_NOT_FOUND;
}

static rung_status publish(rung_feed *f, rung_err *err) {
    if (!f->is_publishing) {
        if (now_ms(f) < f->next_resume_ms)
            return RUNG_NOT_FOUND;
        rung_status st = resume(f, err);
        if (st == RUNG_NOT_FOUND) /* behind the feed */
            f->next_resume_ms = now_ms(f) + f->config.progress_ms;
        if (st != RUNG_OK)
            return st;
        set_publisher(f, true);
    }
    rung_status st = f->replay ? publish_replay(f, err) : publish_ring(f, err);
    if (st == RUNG_ESTALE) /* the brokers are too slow for the ring */
        st = attach(f, err);
    note_published(f);
    return st < 0 && st != RUNG_EBUSY ? st : send_progress(f, err) < 0 ? RUNG_EIO : st;
}

/* One piece of work. RUNG_OK: go on at once; RUNG_NOT_FOUND, RUNG_EBUSY: soon. */
static rung_status work(rung_feed *f, rung_err *err) {
    rung_status st = f->topic ? RUNG_OK : open_session(f, err);
    if (st == RUNG_OK)
        st = rung__feed_topic_poll(f->topic, 0, err);
    if (st < 0)
        return st;
    return rung__feed_topic_is_leader(f->topic) ? publish(f, err) : stand_by(f, err);
}

static bool has_rest(const rung_feed *f, rung_status st) {
    rung__feed_position oldest;
    return f->is_publishing && !f->replay && now_ms(f) < f->stop_by_ms &&
           (st == RUNG_OK || st == RUNG_EBUSY || rung__feed_topic_oldest(f->topic, &oldest));
}

/* Publish what is in memory, if that is a matter of moments. */
static uint32_t stop(rung_feed *f, rung_status st) {
    if (st >= 0 || st == RUNG_EBUSY)
        while (has_rest(f, st)) {
            st = publish_ring(f, NULL);
            if (rung__feed_topic_poll(f->topic, 1, NULL) < 0)
                break;
        }
    if (f->is_publishing && !f->replay && st == RUNG_NOT_FOUND) {
        note_published(f);
        f->next_progress_ms = 0;
        rung_ignore(send_progress(f, NULL), "the next publisher does without");
    }
    close_session(f, STOP_MS / 4);
    return RUNG_WORKER_END;
}

static uint32_t step(void *arg, bool is_stopping) {
    rung_feed *f = arg;
    rung_err err = {0};
    if (is_stopping && (!f->topic || !f->is_publishing))
        return stop(f, RUNG_EIO);
    if (now_ms(f) < f->next_try_ms && !is_stopping)
        return (uint32_t)(f->next_try_ms - now_ms(f));
    rung_status st = work(f, &err);
    if (is_stopping)
        return stop(f, st);
    bool has_failed = st < 0 && st != RUNG_EBUSY;
    if (has_failed) {
        close_session(f, 0);
        f->next_try_ms = now_ms(f) + f->config.retry_ms;
    }
    if (has_failed || f->is_publishing || !rung__feed_topic_is_leader(f->topic))
        report(f, has_failed ? st : RUNG_OK, &err);
    return has_failed         ? f->config.retry_ms
           : st == RUNG_OK    ? RUNG_WORKER_AGAIN
           : st == RUNG_EBUSY ? BUSY_MS
                              : IDLE_MS;
}

/* ---- the hub's port ---- */

static void release_parts(rung_feed *f) {
    rung__feed_writer_deinit(&f->writer);
    rung__feed_writer_deinit(&f->replay_writer);
    rung__feed_ring_deinit(&f->ring, f->config.alloc);
    rung_dir_close(&f->dir);
}

static void end(void *ctx) {
    rung_feed *f = ctx;
    f->stop_by_ms = now_ms(f) + STOP_MS;
    f->is_stopping = true;
    rung_worker_stop(f->worker);
    f->worker = NULL;
    release_parts(f);
}

static rung_status begin(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                         uint64_t state_seq, const rung_state *state, rung_err *err) {
    rung_feed *f = ctx;
    const rung_feed_config *c = &f->config;
    (void)first_seq;
    f->log = log;
    memcpy(f->log_id, log_id, sizeof f->log_id);
    f->writer = (rung__feed_writer){
        .alloc = c->alloc, .boards = c->boards, .emit = add_record, .lose = lose_event, .ctx = f};
    f->replay_writer = (rung__feed_writer){.alloc = c->alloc,
                                           .boards = c->boards,
                                           .emit = send_replayed,
                                           .lose = lose_replayed,
                                           .ctx = f};
    f->json = (rung_json_writer){.data = f->json_room, .size = sizeof f->json_room};
    f->applied_seq = state_seq;
    f->log_time_ms = rung_state_time(state);
    f->is_stopping = false;
    rung_status st = rung_dir_open(&f->dir, c->fs ? c->fs : rung_fs_posix(), c->folder, false, err);
    if (st < 0)
        return st;
    st = rung__feed_ring_init(&f->ring, c->alloc, c->memory_bytes, state_seq + 1);
    if (st < 0)
        st = RUNG_FAIL(err, st, "no memory for the change feed");
    if (st == RUNG_OK)
        st = rung_worker_start(c->kafka.threads, c->alloc, step, f, &f->worker, err);
    if (st < 0)
        release_parts(f);
    return st;
}

const rung_hub_follower *rung_feed_port(rung_feed *f) {
    return &f->port;
}

/* ---- life ---- */

static void set_defaults(rung_feed_config *c) {
    c->kafka.alloc = c->alloc;
    c->kafka.proposals_max = c->kafka.proposals_max ? c->kafka.proposals_max : IN_FLIGHT;
    c->kafka.timeout_ms = TIMEOUT_MS;
    c->kafka.connect_ms = TIMEOUT_MS;
    rung__kafka_defaults(&c->kafka);
    c->partitions = c->partitions ? c->partitions : PARTITIONS;
    c->memory_bytes = c->memory_bytes ? c->memory_bytes : MEMORY_BYTES;
    c->keep_ms = c->keep_ms ? c->keep_ms : KEEP_MS;
    c->session_ms = c->session_ms ? c->session_ms : SESSION_MS;
    c->progress_ms = c->progress_ms ? c->progress_ms : PROGRESS_MS;
    c->look_ms = c->look_ms ? c->look_ms : LOOK_MS;
    c->retry_ms = c->retry_ms ? c->retry_ms : RETRY_MS;
}

rung_status rung_feed_create(const rung_feed_config *config, rung_feed **out, rung_err *err) {
    rung_feed *f = rung_alloc_zeroed(config->alloc, sizeof *f);
    if (!f)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    f->config = *config;
    set_defaults(&f->config);
    snprintf(f->group, sizeof f->group, "rung-feed-%s", config->kafka.topic);
    pthread_mutex_init(&f->lock, NULL);
    f->port = (rung_hub_follower){.ctx = f,
                                  .begin = begin,
                                  .applied = applied,
                                  .passed = passed,
                                  .on_close = on_close,
                                  .on_change = on_change,
                                  .snapshot_before = snapshot_before,
                                  .end = end};
    *out = f;
    return RUNG_OK;
}

void rung_feed_destroy(rung_feed *f) {
    if (!f)
        return;
    pthread_mutex_destroy(&f->lock);
    rung_alloc_free(f->config.alloc, f, sizeof *f);
}

rung_feed_stats rung_feed_stat(rung_feed *f) {
    pthread_mutex_lock(&f->lock);
    rung_feed_stats s = f->stats;
    s.records = f->records;
    s.behind_events = f->applied_seq > s.published_seq ? f->applied_seq - s.published_seq : 0;
    s.behind_ms = f->mark_seq > s.published_seq ? now_ms(f) - f->mark_ms : 0;
    pthread_mutex_unlock(&f->lock);
    return s;
}
