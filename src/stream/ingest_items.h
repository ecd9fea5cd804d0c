/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_items.h - records on their way from a foreign topic to an answer; shared by the files of ingest. Private to
 * the room.
 *
 *     consumer --take--> NEW --hand_over--> OUT: [inbox] --turn--> the hub --answer--> [results] --hear--+--> DONE
 *                         ^                                                                              |
 *                         +------- after a delay, in order ------- AGAIN <--- refused for now -----------+
 *                         |                                                                              |
 *                         +--- cannot be mapped ---> DEAD --> BURIED: [producer] --report--> DONE    DEAD <-- for good
 *
 * The two lists in brackets are shared with the loop, under the lock; everything else of a record is its owner's: the
 * loop's while it is OUT, the thread's otherwise.
 *
 * Invariants:
 *   I1 A partition's records are in its list from their taking on, in the order of their offsets. All before the first
 *      are DONE; the first one's offset is what may be committed.
 *   I2 A record is handed over only if it is less than RUNG_SOURCE_WINDOW behind the first: then the state knows every
 *      offset that may come again (state/sources.c).
 *   I3 After a record is refused for now, the loop submits nothing (the gate) until the thread has heard of it. Then
 *      what waited in the inbox is taken back, and each partition goes on when none of its records is OUT, with its
 *      first record that is not DONE. Only records that were in flight together can overtake each other.
 *   I4 A record of a partition that was taken away from us is answered, or buried, and forgotten.
 *   I5 The first record of a partition that was given to us is the one at `position`, or the broker has none there. It
 *      is asked for, because librdkafka 2.0 sometimes drops what it fetched first after a session was lost and goes on
 *      behind it: records would be left out, or none come until there are newer ones. */
#ifndef RUNG_STREAM_INGEST_ITEMS_H
#define RUNG_STREAM_INGEST_ITEMS_H

#include "base/list.h"
#include "stream/dead_letters.h"
#include "stream/ingest.h"
#include "stream/kafka_client.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum rung__item_phase {
    RUNG__ITEM_NEW,
    RUNG__ITEM_OUT,
    RUNG__ITEM_AGAIN,
    RUNG__ITEM_DEAD,
    RUNG__ITEM_BURIED,
    RUNG__ITEM_DONE,
} rung__item_phase;

typedef struct rung__item {
    rung_ingest *ingest;
    struct rung__part *part; /* NULL: it was taken away from us */
    RUNG_LINK(struct rung__item) in_part;
    struct rung__item *next; /* in the inbox, the results, or the list of free ones */
    rd_kafka_message_t *message;
    int32_t partition;
    uint64_t offset;
    rung__item_phase phase;
    bool is_read; /* `mapped` is valid, and borrows from `text` */
    bool is_cut;
    char *text;
    rung_mapped mapped;
    rung_status st;
    rung_err err;
} rung__item;

typedef struct rung__part {
    int32_t partition;
    bool is_stuck; /* its offset does not fit the topic */
    RUNG_LIST(rung__item) items;
    rung__item *next;        /* the first that was not handed over */
    uint32_t out, again;     /* how many are in these phases */
    int64_t position;        /* the next offset to take */
    bool is_begun, is_asked; /* a record came since it is ours; it was asked for again (I5) */
    int64_t asked_ms;        /* when it was last asked for */
    int64_t done, committed; /* all before are done; that, as far as the group knows */
} rung__part;

typedef struct rung__item_queue {
    rung__item *first, *last;
} rung__item_queue;

struct rung_ingest {
    rung_ingest_config config;
    rung_kafka_config kafka, letters_kafka;
    rung__kafka_hooks consumer_hooks, producer_hooks;
    rung_hub_sender sender;
    _Atomic(rung_worker *) worker;

    /* The thread's. */
    rd_kafka_t *consumer;
    rd_kafka_queue_t *events;
    rung__dead_letters letters;
    rung__item *pool, *free;
    uint32_t in_use;
    size_t bytes;
    uint32_t unburied; /* DEAD: the producer did not take them yet */
    rung__part *parts;
    uint32_t part_count, part_cap;
    rung_json reader;
    bool is_ready; /* subscribed */
    bool is_paused;
    int64_t full_since_ms, again_at_ms, again_ms, bury_at_ms, rejoin_at_ms, committed_ms,
        recommitted_ms, stalled_ms;
    rd_kafka_resp_err_t said; /* the last error that was said */
    bool is_stall_said;
    char why[200]; /* of the last record that was put off */
    rung_ingest_stats counts;

    /* The loop's. */
    rung_event event;
    bool is_stopped;

    pthread_mutex_t lock;
    rung__item_queue inbox, results;
    bool is_gated;
    rung_ingest_stats stats;
    rung_ingest_lag *lags;
    uint32_t lag_count, lag_cap;
};

static inline int64_t rung__ingest_now_ms(const rung_ingest *g) {
    return rung_clock_monotonic_ms(&g->config.clock);
}

static inline void rung__ingest_wake(rung_ingest *g) {
    rung_worker *worker = g->worker;
    if (worker)
        rung_worker_wake(worker);
}

static inline void rung__item_push(rung__item_queue *q, rung__item *it) {
    it->next = NULL;
    *(q->last ? &q->last->next : &q->first) = it;
    q->last = it;
}

static inline rung__item *rung__item_pop(rung__item_queue *q) {
    rung__item *it = q->first;
    if (it) {
        q->first = it->next;
        q->last = q->first ? q->last : NULL;
    }
    return it;
}

/* May the record succeed when it is submitted again? */
bool rung__item_is_for_now(rung_status st, const rung_err *err);

/* ---- ingest_items.c; the thread's ---- */

void rung__item_forget(rung__item *it);
/* Hear what became of the records that the loop had. Returns whether there were any. */
bool rung__ingest_hear(rung_ingest *g);
/* Give the loop what is new, of every partition in order. */
void rung__ingest_hand_over(rung_ingest *g);
void rung__ingest_bury_again(rung_ingest *g); /* dead letters that the producer did not take */
void rung__ingest_on_report(rd_kafka_t *rk, const rd_kafka_message_t *report, void *ctx);

/* ---- ingest_consumer.c; the thread's ---- */

RUNG_NODISCARD rung_status rung__ingest_subscribe(rung_ingest *g);
/* Commit what is done. Waits for the answer unless `is_async`. */
void rung__ingest_commit(rung_ingest *g, bool is_async);
void rung__ingest_on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                               rd_kafka_topic_partition_list_t *list, void *ctx);
/* Read some records. Returns whether there may be more. */
bool rung__ingest_take(rung_ingest *g);
void rung__ingest_ask_again(rung_ingest *g); /* for records that should have come (I5) */
/* How many records of the partition are not done; -1: nobody knows. */
int64_t rung__ingest_lag(const rung_ingest *g, const rung__part *p);

#endif
