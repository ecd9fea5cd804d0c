/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a record, by I1 to I4 of the header. */
#include "stream/ingest_items.h"

#include <stdio.h>
#include <string.h>

enum {
    AGAIN_MIN_MS = 20, /* the first delay of a retry; it doubles */
    AGAIN_MAX_MS = 2000,
    SAY_MS = 1000, /* a shorter delay is not worth a line */
};

/* ---- records ---- */

static void release_text(rung__item *it) {
    rung_alloc_free(it->ingest->config.alloc, it->text, it->text ? it->message->len + 1 : 0);
    it->text = NULL;
    it->is_read = false;
}

void rung__item_forget(rung__item *it) {
    rung_ingest *g = it->ingest;
    release_text(it);
    g->bytes -= it->message->len;
    g->in_use--;
    rd_kafka_message_destroy(it->message);
    it->message = NULL;
    it->next = g->free;
    g->free = it;
}

/* I1. */
static void finish(rung__item *it) {
    rung__part *p = it->part;
    it->phase = RUNG__ITEM_DONE;
    release_text(it);
    if (!p) {
        rung__item_forget(it); /* I4 */
        return;
    }
    for (rung__item *first; (first = p->items.first) != NULL && first->phase == RUNG__ITEM_DONE;) {
        p->done = (int64_t)first->offset + 1;
        if (p->next == first)
            p->next = first->in_part.next;
        RUNG_LIST_REMOVE(&p->items, first, in_part);
        rung__item_forget(first);
    }
}

static void bury(rung__item *it) {
    rung_ingest *g = it->ingest;
    rung__dead_letter letter = {.original = it->message,
                                .ingest = g->config.name,
                                .code = g->config.code ? g->config.code(it->st, &it->err)
                                                       : rung_status_name(it->st),
                                .err = &it->err,
                                .is_cut = it->is_cut,
                                .tag = it};
    if (!g->letters.created_ms)
        rung__dead_letters_create(&g->letters);
    rd_kafka_resp_err_t code = rung__dead_letters_send(&g->letters, &letter);
    if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE && !it->is_cut) {
        it->is_cut = letter.is_cut = true;
        code = rung__dead_letters_send(&g->letters, &letter);
    }
    it->phase = code ? RUNG__ITEM_DEAD : RUNG__ITEM_BURIED;
    g->unburied += code != 0;
    if (code && g->bury_at_ms <= rung__ingest_now_ms(g))
        g->bury_at_ms = rung__ingest_now_ms(g) + AGAIN_MAX_MS;
}

/* A record that cannot be ingested. */
static void die(rung__item *it, rung_status st) {
    it->st = st;
    release_text(it);
    bury(it);
}

void rung__ingest_bury_again(rung_ingest *g) {
    if (!g->unburied || rung__ingest_now_ms(g) < g->bury_at_ms)
        return;
    g->unburied = 0;
    for (uint32_t i = 0; i < g->config.in_flight_max; i++)
        if (g->pool[i].message && g->pool[i].phase == RUNG__ITEM_DEAD) {
            g->counts.retries++;
            bury(&g->pool[i]);
        }
}

void rung__ingest_on_report(rd_kafka_t *rk, const rd_kafka_message_t *report, void *ctx) {
    rung_ingest *g = ctx;
    rung__item *it = report->_private;
    (void)rk;
    if (!report->err) {
        g->counts.dead_letters++;
        finish(it);
        return;
    }
    if (report->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        it->is_cut = true;
    else if (g->said != report->err)
        rung__kafka_say(&g->kafka, "ingest %s: dead letters wait: %s", g->config.name,
                        rd_kafka_err2str(report->err));
    g->said = report->err;
    it->phase = RUNG__ITEM_DEAD;
    g->unburied++;
    g->bury_at_ms = rung__ingest_now_ms(g) + (it->is_cut ? 0 : AGAIN_MIN_MS);
    if (!it->is_cut)
        rung__dead_letters_create(&g->letters); /* perhaps somebody deleted it */
}

/* Map a record. False: there is no memory for it now. */
static bool read_item(rung__item *it) {
    rung_ingest *g = it->ingest;
    const rd_kafka_message_t *m = it->message;
    rd_kafka_timestamp_type_t type;
    if (it->is_read)
        return true;
    it->text = rung_alloc_get(g->config.alloc, m->len + 1);
    if (!it->text)
        return false;
    if (m->len)
        memcpy(it->text, m->payload, m->len);
    rung_map_record record = {.text = it->text,
                              .len = m->len,
                              .key = rung_slice_of(m->key, m->key_len),
                              .timestamp_ms = rd_kafka_message_timestamp(m, &type)};
    if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
        record.timestamp_ms = -1;
    it->is_read = true;
    rung_status st =
        rung_mapping_read(g->config.mapping, &record, &g->reader, &it->mapped, &it->err);
    if (st < 0)
        die(it, st);
    return true;
}

/* ---- what the loop answered ---- */

static void delay(rung_ingest *g) {
    int64_t now = rung__ingest_now_ms(g);
    g->again_ms = g->again_ms ? 2 * g->again_ms : AGAIN_MIN_MS;
    g->again_ms = g->again_ms < AGAIN_MAX_MS ? g->again_ms : AGAIN_MAX_MS;
    g->again_at_ms = now + g->again_ms;
    if (!g->stalled_ms)
        g->stalled_ms = now;
    if (g->is_stall_said || now - g->stalled_ms < SAY_MS)
        return;
    rung__kafka_say(&g->kafka, "ingest %s waits: %s", g->config.name, g->why);
    g->is_stall_said = true;
}

static void end_delay(rung_ingest *g) {
    if (g->is_stall_said)
        rung__kafka_say(&g->kafka, "ingest %s goes on", g->config.name);
    g->is_stall_said = false;
    g->stalled_ms = g->again_ms = 0;
}

static void put_off(rung__item *it) {
    it->phase = RUNG__ITEM_AGAIN;
    it->ingest->counts.retries++;
    if (it->part)
        it->part->again++;
    else
        rung__item_forget(it); /* I4 */
}

static void hear_one(rung__item *it) {
    rung_ingest *g = it->ingest;
    if (it->part)
        it->part->out--;
    if (it->st < 0 && rung__item_is_for_now(it->st, &it->err)) {
        snprintf(g->why, sizeof g->why, "%.199s", it->err.message);
        put_off(it);
        return;
    }
    end_delay(g);
    if (it->st < 0) {
        die(it, it->st);
        return;
    }
    g->counts.applied++;
    g->counts.duplicates += it->st == RUNG_DUPLICATE;
    finish(it);
}

/* I3. */
bool rung__ingest_hear(rung_ingest *g) {
    pthread_mutex_lock(&g->lock);
    rung__item_queue results = g->results, back = {0};
    g->results = (rung__item_queue){0};
    bool is_gated = g->is_gated;
    if (is_gated) {
        back = g->inbox;
        g->inbox = (rung__item_queue){0};
    }
    g->is_gated = false;
    pthread_mutex_unlock(&g->lock);
    bool is_any = results.first != NULL;
    for (rung__item *it; (it = rung__item_pop(&results)) != NULL;)
        hear_one(it);
    for (rung__item *it; (it = rung__item_pop(&back)) != NULL;) {
        if (it->part)
            it->part->out--;
        put_off(it);
    }
    if (is_gated)
        delay(g);
    return is_any;
}

/* Records that were put off are new again, in their places. */
static void renew(rung__part *p) {
    if (!p->again || p->out)
        return;
    for (rung__item *it = p->items.first; it; it = it->in_part.next)
        if (it->phase == RUNG__ITEM_AGAIN)
            it->phase = RUNG__ITEM_NEW;
    p->again = 0;
    p->next = p->items.first;
}

/* Returns how many records of the partition go to the inbox. */
static uint32_t hand_over_part(rung_ingest *g, rung__part *p, rung__item_queue *out) {
    uint32_t count = 0;
    renew(p);
    for (rung__item *it; !p->again && (it = p->next) != NULL; p->next = it->in_part.next) {
        if (it->phase != RUNG__ITEM_NEW)
            continue;
        if (it->offset - p->items.first->offset >= RUNG_SOURCE_WINDOW) /* I2 */
            break;
        if (!read_item(it)) {
            snprintf(g->why, sizeof g->why, "out of memory");
            put_off(it);
            delay(g);
            break;
        }
        if (it->phase != RUNG__ITEM_NEW) /* it cannot be mapped */
            continue;
        it->phase = RUNG__ITEM_OUT;
        p->out++;
        rung__item_push(out, it);
        count++;
    }
    return count;
}

void rung__ingest_hand_over(rung_ingest *g) {
    rung__item_queue all = {0};
    uint32_t count = 0;
    if (g->stalled_ms && rung__ingest_now_ms(g) < g->again_at_ms)
        return;
    for (uint32_t i = 0; i < g->part_count; i++)
        count += hand_over_part(g, &g->parts[i], &all);
    if (!count)
        return;
    pthread_mutex_lock(&g->lock);
    *(g->inbox.last ? &g->inbox.last->next : &g->inbox.first) = all.first;
    g->inbox.last = all.last;
    pthread_mutex_unlock(&g->lock);
    g->config.wake(g->config.ctx);
}
