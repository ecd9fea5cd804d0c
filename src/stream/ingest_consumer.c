/* SPDX-License-Identifier: Apache-2.0 */
/* The member of the consumer group: partitions come and go, records are read while there is room, offsets are
 * committed. */
#include "stream/ingest_items.h"

enum {
    BYTES_MAX = 16 << 20, /* of the records in flight; one is always taken */
    TAKE_MAX = 256,       /* records read in one step */
    PAUSE_MS = 500, /* without room for so long, partitions are paused, and polled for rebalances */
    REJOIN_MS = 1000,    /* when the offsets of the group cannot be read */
    RECOMMIT_MS = 10000, /* commit everything again: an earlier commit may have failed */
    ASK_MS = 10000,      /* how long to wait for a broker's answer */
    FIRST_MS = 2000,     /* without the first record for so long, it is asked for again */
    NEXT_MS = 60000,     /* and then so often: perhaps there are only marks of transactions */
};

/* ---- partitions ---- */

static rung__part *find_part(rung_ingest *g, int32_t partition) {
    for (uint32_t i = 0; i < g->part_count; i++)
        if (g->parts[i].partition == partition)
            return &g->parts[i];
    return NULL;
}

/* Commit what is done. Waits for the answer unless `is_async`. */
void rung__ingest_commit(rung_ingest *g, bool is_async) {
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)g->part_count + 1);
    bool is_again = rung__ingest_now_ms(g) - g->recommitted_ms >= RECOMMIT_MS;
    if (is_again)
        g->recommitted_ms = rung__ingest_now_ms(g);
    for (uint32_t i = 0; i < g->part_count; i++) {
        rung__part *p = &g->parts[i];
        if (p->is_stuck || (p->done <= p->committed && !is_again))
            continue;
        rd_kafka_topic_partition_list_add(list, g->config.topic, p->partition)->offset = p->done;
        p->committed = p->done;
    }
    g->committed_ms = rung__ingest_now_ms(g);
    if (list->cnt)
        rd_kafka_commit(g->consumer, list, is_async); /* if it fails, records come again */
    rd_kafka_topic_partition_list_destroy(list);
}

/* I4. Records that the loop or the producer has are forgotten when those are done with them. */
static void drop_parts(rung_ingest *g) {
    for (uint32_t i = 0; i < g->part_count; i++)
        for (rung__item *it = g->parts[i].items.first, *next; it; it = next) {
            next = it->in_part.next;
            it->part = NULL;
            if (it->phase == RUNG__ITEM_DEAD)
                g->unburied--;
            if (it->phase != RUNG__ITEM_OUT && it->phase != RUNG__ITEM_BURIED)
                rung__item_forget(it);
        }
    g->part_count = 0;
    g->is_paused = false;
    g->full_since_ms = 0;
}

/* `offset` -1: it does not fit. */
static bool add_part(rung_ingest *g, int32_t partition, int64_t offset, int64_t committed) {
    if (g->part_count == g->part_cap) {
        uint32_t cap = g->part_cap ? 2 * g->part_cap : 16;
        rung__part *grown = rung_alloc_resize(g->config.alloc, g->parts,
                                              g->part_cap * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return false;
        g->parts = grown;
        g->part_cap = cap;
    }
    g->parts[g->part_count++] = (rung__part){.partition = partition,
                                             .is_stuck = offset < 0,
                                             .position = offset,
                                             .done = offset,
                                             .asked_ms = rung__ingest_now_ms(g),
                                             .committed = committed};
    return true;
}

/* Where each partition begins (RD_KAFKA_OFFSET_BEGINNING) or ends. NULL: no broker says. */
static rd_kafka_topic_partition_list_t *
ask_edge(rung_ingest *g, const rd_kafka_topic_partition_list_t *of, int64_t which) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_copy(of);
    for (int i = 0; i < list->cnt; i++)
        list->elems[i].offset = which;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(g->consumer, list, ASK_MS);
    for (int i = 0; i < list->cnt && !code; i++)
        code = list->elems[i].err || list->elems[i].offset < 0 ? RD_KAFKA_RESP_ERR__FAIL : 0;
    if (!code)
        return list;
    rd_kafka_topic_partition_list_destroy(list);
    return NULL;
}

/* Where to begin, by what the group has committed and what the partition has. -1: it does not fit. */
static int64_t choose_start(const rung_ingest *g, int32_t partition, int64_t committed, int64_t low,
                            int64_t high) {
    if (committed < 0)
        return g->config.starts_at_end ? high : low;
    if (committed > high) {
        rung__kafka_say(&g->kafka,
                        "ingest %s: partition %d of topic %s ends at offset %lld, but the group is "
                        "at %lld: the topic was created again. It is not read; use another group",
                        g->config.name, partition, g->config.topic, (long long)high,
                        (long long)committed);
        return -1;
    }
    if (committed < low)
        rung__kafka_say(&g->kafka,
                        "ingest %s: %lld records of partition %d were deleted before they were "
                        "read",
                        g->config.name, (long long)(low - committed), partition);
    return committed < low ? low : committed;
}

/* Begin with these partitions; the list gets their offsets, and loses those that do not fit. */
static bool begin_parts(rung_ingest *g, rd_kafka_topic_partition_list_t *list) {
    if (rd_kafka_committed(g->consumer, list, ASK_MS))
        return false;
    rd_kafka_topic_partition_list_t *low = ask_edge(g, list, RD_KAFKA_OFFSET_BEGINNING);
    rd_kafka_topic_partition_list_t *high = low ? ask_edge(g, list, RD_KAFKA_OFFSET_END) : NULL;
    bool is_good = high != NULL;
    for (int i = 0; i < list->cnt && is_good; i++) {
        rd_kafka_topic_partition_t *one = &list->elems[i];
        int64_t committed =
            one->offset < 0 ? -1 : one->offset; /* -1: the start is committed, too */
        one->offset =
            choose_start(g, one->partition, committed, low->elems[i].offset, high->elems[i].offset);
        is_good = !one->err && add_part(g, one->partition, one->offset, committed);
    }
    for (int i = list->cnt; i-- > 0 && is_good;)
        if (list->elems[i].offset < 0)
            rd_kafka_topic_partition_list_del_by_idx(list, i);
    if (low)
        rd_kafka_topic_partition_list_destroy(low);
    if (high)
        rd_kafka_topic_partition_list_destroy(high);
    return is_good;
}

static void on_assigned(rung_ingest *g, const rd_kafka_topic_partition_list_t *given) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_copy(given);
    drop_parts(g);
    if (begin_parts(g, list)) {
        rd_kafka_assign(g->consumer, list);
    } else {
        drop_parts(g);
        rd_kafka_assign(g->consumer, NULL);
        g->rejoin_at_ms = rung__ingest_now_ms(g) + REJOIN_MS;
    }
    rd_kafka_topic_partition_list_destroy(list);
}

void rung__ingest_on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                               rd_kafka_topic_partition_list_t *list, void *ctx) {
    rung_ingest *g = ctx;
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        on_assigned(g, list);
        return;
    }
    if (!rd_kafka_assignment_lost(rk)) {
        rung__ingest_hear(g);
        rung__ingest_commit(g, false);
    }
    drop_parts(g);
    rd_kafka_assign(rk, NULL);
}

/* ---- the consumer ---- */

rung_status rung__ingest_subscribe(rung_ingest *g) {
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, g->config.topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(g->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    g->rejoin_at_ms = code ? rung__ingest_now_ms(g) + REJOIN_MS : 0;
    return code ? RUNG_EIO : RUNG_OK;
}

static void set_paused(rung_ingest *g, bool is_paused) {
    rd_kafka_topic_partition_list_t *list;
    if (g->is_paused == is_paused || rd_kafka_assignment(g->consumer, &list))
        return;
    if (is_paused)
        rd_kafka_pause_partitions(g->consumer, list);
    else
        rd_kafka_resume_partitions(g->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    g->is_paused = is_paused;
}

static bool is_full(const rung_ingest *g) {
    return g->in_use == g->config.in_flight_max || (g->bytes >= BYTES_MAX && g->in_use);
}

/* Paused partitions lose what was fetched ahead, so a short lack of room is only waited for. Returns whether to
 * read. */
static bool make_room(rung_ingest *g) {
    if (!is_full(g)) {
        g->full_since_ms = 0;
        if (g->in_use <= g->config.in_flight_max / 2)
            set_paused(g, false);
        return true;
    }
    if (!g->full_since_ms)
        g->full_since_ms = rung__ingest_now_ms(g);
    if (rung__ingest_now_ms(g) - g->full_since_ms < PAUSE_MS)
        return false;
    set_paused(g, true);
    return true;
}

int64_t rung__ingest_lag(const rung_ingest *g, const rung__part *p) {
    int64_t low, high;
    if (p->is_stuck ||
        rd_kafka_get_watermark_offsets(g->consumer, g->config.topic, p->partition, &low, &high) ||
        high < 0)
        return -1;
    return high > p->done ? high - p->done : 0;
}

/* I5. Fetch again from `position` on; what was fetched before is dropped. */
static void ask(rung_ingest *g, rung__part *p) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *one =
        rd_kafka_topic_partition_list_add(list, g->config.topic, p->partition);
    one->offset = p->position;
    rd_kafka_error_t *error = rd_kafka_seek_partitions(g->consumer, list, FIRST_MS);
    p->asked_ms = rung__ingest_now_ms(g);
    p->is_asked = !error && !one->err;
    if (!p->is_asked && !g->rejoin_at_ms)
        g->rejoin_at_ms = p->asked_ms + REJOIN_MS;
    if (error)
        rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(list);
}

void rung__ingest_ask_again(rung_ingest *g) {
    int64_t now = rung__ingest_now_ms(g);
    if (g->is_paused || is_full(g))
        return;
    for (uint32_t i = 0; i < g->part_count; i++) {
        rung__part *p = &g->parts[i];
        if (!p->is_begun && now - p->asked_ms >= (p->is_asked ? NEXT_MS : FIRST_MS) &&
            rung__ingest_lag(g, p) > 0)
            ask(g, p);
    }
}

static void take(rung_ingest *g, rd_kafka_message_t *m) {
    rung__part *p = find_part(g, m->partition);
    if (p && !p->is_begun && !p->is_asked && m->offset > p->position) {
        ask(g, p);
        rd_kafka_message_destroy(m);
        return;
    }
    if (p && m->offset >= p->position && !g->free) { /* a rebalance came in between */
        p->position = INT64_MAX;
        g->rejoin_at_ms = rung__ingest_now_ms(g);
    }
    if (!p || m->offset < p->position) {
        rd_kafka_message_destroy(m);
        return;
    }
    rung__item *it = g->free;
    g->free = it->next;
    *it = (rung__item){.ingest = g,
                       .part = p,
                       .message = m,
                       .partition = m->partition,
                       .offset = (uint64_t)m->offset};
    g->in_use++;
    g->bytes += m->len;
    g->counts.records++;
    p->position = m->offset + 1;
    p->is_begun = true;
    RUNG_LIST_APPEND(&p->items, it, in_part);
    if (!p->next)
        p->next = it;
}

static void note_error(rung_ingest *g, const rd_kafka_message_t *m) {
    if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && !g->rejoin_at_ms)
        g->rejoin_at_ms = rung__ingest_now_ms(g) + REJOIN_MS; /* the offsets are looked at again */
    if (m->err != g->said)
        rung__kafka_say(&g->kafka, "ingest %s: %s", g->config.name, rd_kafka_message_errstr(m));
    g->said = m->err;
}

/* Returns whether there may be more. */
bool rung__ingest_take(rung_ingest *g) {
    rd_kafka_message_t *m = NULL;
    if (!make_room(g))
        return false;
    for (uint32_t n = 0; n < TAKE_MAX && (n == 0 || !is_full(g)); n++) {
        m = rd_kafka_consumer_poll(g->consumer, 0);
        if (!m)
            return false;
        if (m->err) {
            note_error(g, m);
            rd_kafka_message_destroy(m);
            continue;
        }
        g->said = RD_KAFKA_RESP_ERR_NO_ERROR;
        take(g, m);
    }
    return !is_full(g);
}
