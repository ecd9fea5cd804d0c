/* SPDX-License-Identifier: Apache-2.0 */
/* Many submissions in one request, scores of any boards or matches of one: an array, or NDJSON of any length. Reading,
 * submitting and answering are pipelined, in order and in constant memory:
 *
 *     pieces -> in -> take_paid -> put -> [hub] -> answered -> out -> the client
 *                                  \-> ring: submissions in flight, in order, refused ones among them
 *
 * The ring keeps the order: a line that is refused at once waits in it behind those that the hub has not answered.
 *
 * The batch stops reading when the ring or the hub is full, when the client does not read its results, or when the
 * sender's rate is used up. It continues on: an answer (ring), a waiter for the next sequence (hub), `drained`
 * (client), a timer (rate). Elements of an array beyond the rate are refused instead: its sender waits for the whole
 * answer.
 *
 * Invariants:
 *  1. ring[head % ring_size .. tail % ring_size) are the submissions without a result in `out`, oldest first. The hub
 *     has `pending` of them, and answers in the order of submission.
 *  2. The hub has the first entry of the ring: a refusal is written as soon as nothing is before it.
 *  3. `in` holds unread input from in_at on.
 *  4. The batch lives until pending is 0 and its exchange has ended. */
#include "base/assert.h"
#include "codec/match_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/submission.h"
#include "service/matches.h"
#include "service/submit.h"

#include <string.h>

enum {
#ifdef RUNG_TEST_BUILD
    RING = 16, /* tiny, so that tests reach the limit */
    RING_FIRST = 4,
    OUT_FLUSH = 512,
#else
    RING = 8192,
    RING_FIRST = 64, /* it doubles */
    OUT_FLUSH = 32 << 10,
#endif
    LINE_BYTES_MAX = 64 << 10, /* of a score */
    ITEMS_MAX = 10000,         /* of an array */
    THROTTLED_MS = 50,         /* between attempts to continue a throttled batch */
    REFUSAL_MAX = 512,         /* bytes of one refusal */
};

typedef struct entry {
    uint64_t line;
    char *refusal; /* NULL: the hub has it */
    uint16_t refusal_len;
    uint8_t type, decimals; /* of the score, for the result */
} entry;

typedef struct rung_batch {
    rung_call *call;
    rung_api *api;
    RUNG_LINK(struct rung_batch) link;
    bool is_array, is_matches;
    bool is_input_over, is_held, is_full, is_stopping, is_waiting, is_flush_due;
    bool is_skipping; /* discards the rest of a line that was too long */

    rung_buffer in;
    size_t in_at;
    size_t scanned; /* no line end in [in_at, in_at + scanned) */
    uint64_t line;  /* lines taken */
    rung_json *items;
    rung_json_writer out;

    uint64_t head, tail;
    uint32_t pending;
    uint32_t ring_size;
    entry *ring;
    rung_hub_waiter waiter;
    uint64_t heard_ms; /* time of its last line, by the loop's clock */
    bool is_begun;     /* the first submission, which the request paid for, was taken */
    bool is_throttled; /* the next line waits for the sender's rate */
} rung_batch;

static size_t line_bytes_max(const rung_batch *b) {
    return b->is_matches ? RUNG_API_MATCH_BYTES_MAX : LINE_BYTES_MAX;
}

static entry *entry_at(const rung_batch *b, uint64_t i) {
    return &b->ring[i % b->ring_size];
}

/* ---- life ---- */

static void destroy(rung_batch *b) {
    rung_api *api = b->api;
    const rung_alloc *a = api->config.alloc;
    if (b->is_waiting)
        rung_hub_cancel(api->service.hub, &b->waiter);
    for (; b->head != b->tail; b->head++)
        if (entry_at(b, b->head)->refusal)
            rung_alloc_free(a, entry_at(b, b->head)->refusal, REFUSAL_MAX);
    RUNG_LIST_REMOVE(&api->batches, b, link);
    rung_fair_give(&api->batch_shares, b->call->share, 1);
    rung_json_writer_deinit(&b->out);
    rung_buffer_deinit(&b->in);
    rung_alloc_free(a, b->items, b->items ? sizeof *b->items : 0);
    rung_alloc_free(a, b->ring, b->ring_size * sizeof *b->ring);
    rung_alloc_free(a, b, sizeof *b);
}

/* False: out of memory, and the ring is unchanged. */
static bool grow_ring(rung_batch *b, uint32_t size) {
    const rung_alloc *a = b->api->config.alloc;
    entry *ring = rung_alloc_get(a, size * sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t i = b->head; i != b->tail; i++)
        ring[i % size] = *entry_at(b, i);
    rung_alloc_free(a, b->ring, b->ring_size * sizeof *ring);
    rung_exchange_charge(b->call->x, (ptrdiff_t)((size - b->ring_size) * sizeof *ring));
    b->ring = ring;
    b->ring_size = size;
    return true;
}

static rung_batch *create(rung_call *c, bool is_array, bool is_matches) {
    rung_api *api = c->api;
    const rung_alloc *a = api->config.alloc;
    if (!rung_fair_may(&api->batch_shares, rung__call_share(c), false))
        return NULL;
    rung_batch *b = rung_alloc_zeroed(a, sizeof *b);
    if (!b)
        return NULL;
    b->call = c;
    b->api = api;
    b->is_array = is_array;
    b->is_matches = is_matches;
    b->out = (rung_json_writer){.alloc = a};
    b->in = (rung_buffer){.alloc = a, .limit = c->body_len}; /* of an array: exact */
    RUNG_LIST_PREPEND(&api->batches, b, link);
    rung_fair_take(&api->batch_shares, c->share, 1);
    b->heard_ms = rung_loop_now_ms(api->config.loop);
    b->items = is_array ? rung_alloc_get(a, sizeof *b->items) : NULL;
    if (grow_ring(b, RING_FIRST) && (b->items || !is_array))
        return b;
    destroy(b);
    return NULL;
}

/* ---- output ---- */

static void flush(rung_batch *b) {
    b->is_flush_due = false;
    if (!b->out.len)
        return;
    if (!rung_exchange_write(b->call->x, rung_json_written(&b->out)))
        b->is_full = true;
    b->out.len = 0; /* keeps is_comma_due */
}

/* Send the results of one turn in one chunk. */
static void flush_soon(rung_batch *b) {
    if (b->out.len >= OUT_FLUSH) {
        flush(b);
    } else if (!b->is_flush_due) {
        b->is_flush_due = true;
        rung_turn_want(&b->api->answer_batches);
    }
}

static void end_line(rung_batch *b) {
    if (b->is_array)
        return;
    rung_json_append(&b->out, RUNG_SLICE("\n"));
    b->out.is_comma_due = false;
}

static void write_refusal(rung_json_writer *w, uint64_t line, const rung_problem *p) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "line", uint, line);
    RUNG_JSON_OPEN(w, "error", object);
    rung_problem_write(w, p);
    rung_json_close_object(w);
    rung_json_close_object(w);
}

/* Write the refusals at the front of the ring. */
static void write_refused(rung_batch *b) {
    for (; b->head != b->tail && entry_at(b, b->head)->refusal; b->head++) {
        entry *e = entry_at(b, b->head);
        rung_json_write_raw(&b->out, rung_slice_of(e->refusal, e->refusal_len));
        end_line(b);
        rung_alloc_free(b->api->config.alloc, e->refusal, REFUSAL_MAX);
        rung_exchange_charge(b->call->x, -REFUSAL_MAX);
    }
}

/* ---- input ---- */

static bool append(rung_batch *b, rung_slice piece) {
    size_t size = b->in.size;
    if (b->in_at) {
        memmove(b->in.data, b->in.data + b->in_at, b->in.len - b->in_at);
        b->in.len -= b->in_at;
        b->in_at = 0;
    }
    rung_buffer_put(&b->in, piece.ptr, piece.len);
    rung_exchange_charge(b->call->x, (ptrdiff_t)(b->in.size - size));
    return !b->in.is_failed;
}

static bool is_blank(rung_slice line) {
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r')
            return false;
    return true;
}

/* Discard the rest of a line that was refused as too long. */
static void skip_line(rung_batch *b) {
    char *end = memchr(b->in.data + b->in_at, '\n', b->in.len - b->in_at);
    b->is_skipping = !end;
    b->in_at = end ? (size_t)(end - b->in.data) + 1 : b->in.len;
}

/* The next line of NDJSON; false: it is incomplete. Blank lines are skipped unless they are too long: a long line is
 * refused before its end arrives, and the result must not depend on how the input was split. */
static bool take_line(rung_batch *b, rung_slice *line_out) {
    if (b->is_skipping)
        skip_line(b);
    while (b->in_at < b->in.len) {
        char *from = b->in.data + b->in_at;
        size_t left = b->in.len - b->in_at;
        char *end = memchr(from + b->scanned, '\n', left - b->scanned);
        if (!end && !b->is_input_over) {
            b->scanned = left;
            return false;
        }
        size_t len = end ? (size_t)(end - from) : left;
        b->in_at += end ? len + 1 : len;
        b->scanned = 0;
        b->line++;
        *line_out = rung_slice_of(from, len);
        if (len > line_bytes_max(b) || !is_blank(*line_out))
            return true;
    }
    return false;
}

static bool take_item(rung_batch *b, rung_slice *item_out) {
    if (b->is_input_over)
        return false;
    if (rung_json_next_item(b->items) != RUNG_OK) {
        b->is_input_over = true;
        return false;
    }
    rung_status st = rung_json_skip(b->items, item_out);
    RUNG_ASSERT(st == RUNG_OK); /* the array was checked before */
    b->line++;
    return true;
}

/* ---- one submission ---- */

static void refuse(rung_batch *b, const rung_problem *p) {
    b->api->metrics.batch_refused++;
    if (b->head == b->tail) {
        write_refusal(&b->out, b->line, p);
        end_line(b);
        flush_soon(b);
        return;
    }
    char *text = rung_alloc_get(b->api->config.alloc, REFUSAL_MAX);
    if (!text) { /* out of memory: end the answer incomplete */
        b->is_stopping = true;
        return;
    }
    rung_json_writer w = {.data = text, .size = REFUSAL_MAX};
    write_refusal(&w, b->line, p);
    if (rung_json_failed(&w)) { /* too many escapes */
        rung_problem plain = *p;
        plain.detail = RUNG_SLICE("see the code");
        plain.field.len = 0;
        rung_json_writer_reset(&w);
        write_refusal(&w, b->line, &plain);
    }
    *entry_at(b, b->tail++) =
        (entry){.line = b->line, .refusal = text, .refusal_len = (uint16_t)w.len};
    rung_exchange_charge(b->call->x, REFUSAL_MAX);
}

static void refuse_why(rung_batch *b, rung_status st, const rung_access_answer *why) {
    rung_problem p = rung__access_problem(st, why);
    refuse(b, &p);
}

/* A stream whose key is no longer valid ends with a line that says so. */
static void check_sender(rung_batch *b) {
    rung_access_answer why;
    rung_need need = {.role = RUNG_ROLE_SERVER,
                      .board = b->is_matches ? b->call->board : RUNG_BOARDS_EACH};
    if (rung_access_allow(b->api->service.access, &b->call->who, &need,
                          rung_hub_now(b->api->service.hub), &why) == RUNG_ACCESS_OK)
        return;
    b->line++;
    refuse_why(b, why.err.code, &why);
    b->is_stopping = true;
}

/* Each submission counts as one request; the request itself was the first. */
static rung_verdict pay(rung_batch *b, rung_access_answer *why) {
    bool is_paid = !b->is_begun;
    b->is_begun = true;
    return is_paid
               ? RUNG_ACCESS_OK
               : rung_access_allow(b->api->service.access, &b->call->who, &(rung_need){.cost = 1},
                                   rung_hub_now(b->api->service.hub), why);
}

static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err);

/* A batch can wait for room, so it leaves most of it to senders that cannot. */
static rung_hub_sender sender_of(const rung_batch *b) {
    return (rung_hub_sender){.share = b->call->share, .is_patient = true};
}

static void submit_score(rung_batch *b, rung_slice text) {
    rung_api *api = b->api;
    const rung_board_def *def;
    rung_slot slots[SCORE_FIELDS];
    rung_access_answer why = {0};
    int64_t now_ms = rung_hub_now(api->service.hub);
    rung_status st = rung_submission_read(&rung_batch_submission_schema,
                                          (char *)(uintptr_t)text.ptr /* it is in b->in */,
                                          text.len, &api->reader, slots, &why.err);
    rung_slice board = slots[SCORE_BOARD].text;
    if (st < 0 && why.err.reason == RUNG_REASON_NONE)
        why.err.reason = RUNG_REASON_MALFORMED;
    if (st >= 0) /* for every line: the key may have been revoked */
        st = rung_submit_open(&api->service, &b->call->who, board, now_ms, &def, &why);
    if (st >= 0)
        st = rung_submission_fill(slots, board, def, &api->reader, &api->event, &why.err);
    if (st >= 0)
        st = rung_submit_put(&api->service, &b->call->who, sender_of(b), &api->event, now_ms,
                             answered, b, &why);
    if (st < 0) {
        refuse_why(b, st, &why);
        return;
    }
    *entry_at(b, b->tail++) = (entry){.line = b->line,
                                      .type = (uint8_t)def->key.columns[0].type,
                                      .decimals = (uint8_t)def->key.columns[0].decimals};
    b->pending++;
}

static void submit_match(rung_batch *b, rung_slice text) {
    rung_api *api = b->api;
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_access_answer why = {0};
    rung_need need = {.role = RUNG_ROLE_SERVER, .board = b->call->board};
    rung_status st =
        rung_match_json_read(&rung_match_schema, (char *)(uintptr_t)text.ptr /* it is in b->in */,
                             text.len, &api->reader, packed, &api->event.match, &why.err);
    if (st >= 0 && rung_access_allow(api->service.access, &b->call->who, &need,
                                     rung_hub_now(api->service.hub), &why) != RUNG_ACCESS_OK)
        st = why.err.code;
    api->event.kind = RUNG_EVENT_MATCH;
    api->event.match.board = b->call->board;
    if (st >= 0)
        st = rung_match_submit(&api->service, sender_of(b), &api->event, answered, b, &why.err);
    if (st < 0) {
        refuse_why(b, st, &why);
        return;
    }
    *entry_at(b, b->tail++) = (entry){.line = b->line};
    b->pending++;
}

/* ---- the pump ---- */

static void pump(rung_batch *b);

static void hub_has_room(void *ctx) {
    rung_batch *b = ctx;
    b->is_waiting = false;
    pump(b);
}

static void look_again_soon(rung_api *api) {
    if (!api->throttled.is_running)
        rung_timer_start(api->config.loop, &api->throttled, THROTTLED_MS, THROTTLED_MS);
}

/* The hub is full of other senders' changes: try again when it has applied one. If all are applied but not answered, or
 * the disk is full, no further sequence comes, so a timer tries too. */
static void wait_for_hub(rung_batch *b) {
    if (b->is_waiting || b->pending)
        return;
    b->is_waiting = true;
    look_again_soon(b->api);
    b->waiter = (rung_hub_waiter){
        .seq = rung_state_seq(rung__api_state(b->api)) + 1, .ready = hub_has_room, .ctx = b};
    rung_hub_wait(b->api->service.hub, &b->waiter);
}

/* Is there room in the ring? It may grow. */
static bool has_room(rung_batch *b) {
    return b->tail - b->head < b->ring_size ||
           (b->ring_size < RING && grow_ring(b, b->ring_size * 2));
}

static bool is_stalled(rung_batch *b) {
    if (b->is_full || b->is_throttled || !has_room(b))
        return true;
    if (rung_commit_room(rung_hub_commit(b->api->service.hub), sender_of(b)))
        return false;
    wait_for_hub(b);
    return true;
}

static void finish(rung_batch *b) {
    rung_exchange *x = b->call->x;
    bool is_whole = b->is_input_over && !b->is_stopping && !rung_json_failed(&b->out);
    if (b->is_array)
        rung_json_append(&b->out, RUNG_SLICE("]"));
    flush(b);
    destroy(b);
    if (is_whole)
        rung_exchange_end(x);
    else
        rung_exchange_cut(x);
}

static void refuse_long_line(rung_batch *b) {
    rung_access_answer why = {0};
    rung_status st = RUNG_FAIL_WHY(&why.err, RUNG_ELIMIT, RUNG_REASON_TOO_LARGE,
                                   "a line is longer than %zu bytes", line_bytes_max(b));
    refuse_why(b, st, &why);
}

/* Take the next submission and charge the sender's rate. False: there is none yet, or it waits and is put back. */
static bool take_paid(rung_batch *b, rung_slice *text_out) {
    size_t in_at = b->in_at;
    uint64_t line = b->line;
    bool is_skipping = b->is_skipping;
    rung_access_answer why;
    while (b->is_array ? take_item(b, text_out) : take_line(b, text_out)) {
        if (pay(b, &why) == RUNG_ACCESS_OK)
            return true;
        if (b->is_array) {
            b->api->metrics.batch_lines++;
            refuse_why(b, why.err.code, &why);
            if (b->is_stopping || b->is_full || !has_room(b))
                return false;
            continue;
        }
        b->in_at = in_at;
        b->line = line;
        b->is_skipping = is_skipping;
        b->is_throttled = true;
        look_again_soon(b->api);
        return false;
    }
    return false;
}

static void take_text(rung_batch *b, rung_slice text) {
    b->heard_ms = rung_loop_now_ms(b->api->config.loop);
    b->api->metrics.batch_lines++;
    if ((!b->is_array || b->is_matches) && text.len > line_bytes_max(b))
        refuse_long_line(b);
    else if (b->is_matches)
        submit_match(b, text);
    else
        submit_score(b, text);
}

static bool is_line_too_long(const rung_batch *b) {
    return !b->is_array && b->in.len - b->in_at > line_bytes_max(b) &&
           b->scanned == b->in.len - b->in_at;
}

/* Refuse a line before its end has arrived. */
static void refuse_begun_line(rung_batch *b) {
    b->line++;
    b->api->metrics.batch_lines++;
    refuse_long_line(b);
    b->in_at = b->in.len;
    b->scanned = 0;
    b->is_skipping = true;
}

static void pump(rung_batch *b) {
    rung_slice text;
    bool stalled = false;
    while (!b->is_stopping && !(stalled = is_stalled(b)) && take_paid(b, &text))
        take_text(b, text);
    stalled |= b->is_throttled;
    if (!b->is_stopping && !stalled && is_line_too_long(b))
        refuse_begun_line(b);
    bool is_done = b->is_stopping || (b->is_input_over && !stalled && b->in_at == b->in.len);
    if (is_done && b->pending == 0 && b->head == b->tail) {
        finish(b);
        return;
    }
    if (stalled == b->is_held || b->is_array || b->is_input_over)
        return;
    b->is_held = stalled;
    if (stalled)
        rung_exchange_hold(b->call->x);
    else
        rung_exchange_go_on(b->call->x);
}

static void write_result(rung_batch *b, const entry *e, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    if (st < 0) {
        rung_problem p = rung_problem_of(st, err);
        write_refusal(&b->out, e->line, &p);
        b->api->metrics.batch_refused++;
    } else if (b->is_matches) {
        rung_json_open_object(&b->out);
        RUNG_JSON_MEMBER(&b->out, "line", uint, e->line);
        rung_answer_match(&b->out, rung__api_state(b->api), b->call->board, st, outcome);
        rung_json_close_object(&b->out);
    } else {
        rung_column score = {.type = (rung_score_type)e->type, .decimals = e->decimals};
        rung_answer_batch_line(&b->out, &score, e->line, outcome);
    }
    end_line(b);
}

static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    rung_batch *b = ctx;
    RUNG_ASSERT(b->pending && !entry_at(b, b->head)->refusal);
    write_result(b, entry_at(b, b->head), st, outcome, err);
    b->heard_ms = rung_loop_now_ms(b->api->config.loop);
    b->head++;
    b->pending--;
    write_refused(b);
    flush_soon(b);
    /* Resume at half a ring, not for every line. */
    if (b->pending == 0 || (b->is_held && b->tail - b->head <= b->ring_size / 2))
        pump(b);
}

/* ---- the exchange's side ---- */

static void got_piece(void *ctx, rung_exchange *x, rung_slice piece) {
    rung_batch *b = ctx;
    (void)x;
    if (piece.len == 0)
        b->is_input_over = true;
    else if (!b->is_stopping && !append(b, piece))
        b->is_stopping = true;
    if (!b->is_stopping)
        check_sender(b);
    pump(b);
}

static void drained(void *ctx, rung_exchange *x) {
    rung_batch *b = ctx;
    (void)x;
    b->is_full = false;
    pump(b);
}

static void gone(void *ctx, rung_exchange *x) {
    rung_batch *b = ctx;
    (void)x;
    b->is_stopping = true;
    pump(b);
}

/* Does it hold its place without submitting? Not while we do not read, or the client does not. */
static bool is_silent(const rung_batch *b, uint64_t now_ms) {
    return !b->is_array && !b->is_input_over && !b->is_stopping && !b->is_held && !b->is_full &&
           !b->is_throttled && b->pending == 0 && now_ms - b->heard_ms >= b->api->config.line_ms;
}

/* End streams without submissions. Blank lines keep the connection open, but not the place. */
void rung__batch_end_silent(void *ctx) {
    rung_api *api = ctx;
    uint64_t now_ms = rung_loop_now_ms(api->config.loop);
    for (rung_batch *b = api->batches.first, *next; b; b = next) {
        next = b->link.next;
        if (!is_silent(b, now_ms))
            continue;
        b->line++;
        rung_access_answer why = {0};
        rung_status st =
            RUNG_FAIL_WHY(&why.err, RUNG_EBUSY, RUNG_REASON_SILENT, "no submission for too long");
        refuse_why(b, st, &why);
        b->is_stopping = true;
        pump(b);
    }
    if (!api->batches.first)
        rung_timer_stop(api->config.loop, &api->line_timer);
}

static void start_stream(rung_call *c, bool is_matches) {
    rung_batch *b = create(c, false, is_matches);
    if (!b) {
        rung__call_overloaded(c);
        return;
    }
    c->is_stream = true;
    rung_exchange_watch(c->x, &(rung_exchange_watcher){.drained = drained, .gone = gone, .ctx = b});
    uint64_t often_ms = c->api->config.line_ms / 8 + 1;
    if (!c->api->line_timer.is_running)
        rung_timer_start(c->api->config.loop, &c->api->line_timer, often_ms, often_ms);
    rung_exchange_stream(c->x, UINT64_MAX, got_piece, b);
    rung_exchange_begin(c->x, 200, RUNG_TYPE_NDJSON);
}

/* Check the whole array before any of it is submitted. */
static bool check_array(rung_call *c, rung_json *r) {
    rung_err err = {0};
    uint32_t count = 0;
    rung_json_init(r, c->body, c->body_len, &err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_skip(r, NULL);
        count++;
    }
    st = rung_json_end(r);
    if (st < 0)
        return rung__call_malformed(c, st, &err);
    if (count > ITEMS_MAX) {
        rung__call_fail_with(c, RUNG_ELIMIT, RUNG_REASON_TOO_LARGE, NULL,
                             "an array has at most 10,000 submissions; send NDJSON for more");
        return false;
    }
    return true;
}

static void start_array(rung_call *c, bool is_matches) {
    if (!check_array(c, &c->api->reader))
        return;
    rung_batch *b = create(c, true, is_matches);
    if (!b || !append(b, rung_slice_of(c->body, c->body_len))) {
        if (b)
            destroy(b);
        if (b)
            rung__call_fail(c, RUNG_ENOMEM, NULL);
        else
            rung__call_overloaded(c);
        return;
    }
    rung_json_init(b->items, b->in.data, b->in.len, NULL);
    rung_ignore(rung_json_enter_array(b->items), "checked above");
    b->in_at = b->in.len; /* `items` reads it */
    rung_exchange_watch(c->x, &(rung_exchange_watcher){.drained = drained, .gone = gone, .ctx = b});
    rung_exchange_begin(c->x, 200, RUNG_TYPE_JSON);
    rung_json_append(&b->out, RUNG_SLICE("["));
    pump(b);
}

void rung_api_submit_many(rung_call *c) {
    if (c->body)
        start_array(c, false);
    else
        start_stream(c, false);
}

void rung__api_submit_matches(rung_call *c) {
    if (c->body)
        start_array(c, true);
    else
        start_stream(c, true);
}

/* ---- all of them ---- */

void rung__answer_batches(void *ctx) {
    rung_api *api = ctx;
    for (rung_batch *b = api->batches.first; b; b = b->link.next)
        if (b->is_flush_due)
            flush(b);
}

/* Continue batches that wait for their rate or for the hub. */
void rung__batch_on_throttled(void *ctx) {
    rung_api *api = ctx;
    bool is_left = false;
    for (rung_batch *b = api->batches.first, *next; b; b = next) {
        next = b->link.next;
        if (!b->is_throttled && !b->is_waiting)
            continue;
        b->is_throttled = false;
        if (!b->is_stopping)
            check_sender(b);
        pump(b);
    }
    for (const rung_batch *b = api->batches.first; b; b = b->link.next)
        is_left |= b->is_throttled || b->is_waiting;
    if (!is_left)
        rung_timer_stop(api->config.loop, &api->throttled);
}

void rung__batch_stop_all(rung_api *api) {
    for (rung_batch *b = api->batches.first, *next; b; b = next) {
        next = b->link.next;
        b->is_stopping = true;
        pump(b);
    }
}
