/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: what a connection has under way in the hub.
 *
 *  1. The hub works off in the order of putting, so the replies of one connection come in order by themselves:
 *     everything behind a request that is under way goes through the hub, too.
 *  2. Questions behind a change are gathered in a script and placed once; more are added as long as nothing else was
 *     put.
 *  3. A transaction is one event. Its questions are answered between its changes, from the sink; those before the first
 *     change by a reader placed right before it. Nothing can come between the two: both are put in one call.
 *  4. Consecutive changes of one member each, by one command to one key, are a run: one request for all of them, which
 *     is answered several times. A change may join while the run has answers to come, whatever was put in between: the
 *     hub keeps the order.
 *  5. WATCH: the keys' versions are compared when EXEC is put, and no change of them may be under way then, since the
 *     hub would apply it first. Changes of RESP clients are counted by key; if others are under way, EXEC waits a
 *     moment.
 *
 * A script's item is a head and its arguments, each a length and its bytes. */
#include "front/resp/internal.h"

#include "base/assert.h"
#include "base/hash.h"

enum {
    REQUESTS_KEPT = 1024,
    SCRIPT_FIRST = 256,
    EXEC_TRIES_MAX = 8,
    UNPACKED_FIRST = 64,
    RUN_MAX = 64 /* at its end a session that is paused goes on */
};

typedef enum item_kind { ITEM_RUN, ITEM_RAW, ITEM_CHANGE } item_kind;

typedef struct item_head {
    uint32_t kind;
    uint32_t count; /* arguments; of a change: its style */
    uint32_t bytes; /* behind the head */
    const rung__resp_command *command;
} item_head;

/* ---- scripts ---- */

void rung__resp_script_free(rung_resp *r, rung__resp_script *script) {
    rung_alloc_free(r->config.alloc, script->data, script->size);
    *script = (rung__resp_script){0};
}

static char *script_reserve(rung_resp *r, rung__resp_script *script, size_t more) {
    if (script->size - script->len < more) {
        size_t size = script->size ? script->size : SCRIPT_FIRST;
        while (size - script->len < more)
            size *= 2;
        char *data = rung_alloc_resize(r->config.alloc, script->data, script->size, size);
        if (!data)
            return NULL;
        script->data = data;
        script->size = size;
    }
    return script->data + script->len;
}

size_t rung__resp_script_need(const rung_slice *argv, uint32_t argc) {
    size_t bytes = sizeof(item_head) + argc * sizeof(uint32_t);
    for (uint32_t i = 0; i < argc; i++)
        bytes += argv[i].len;
    return bytes;
}

bool rung__resp_script_add(rung_resp *r, rung__resp_script *script, const rung__resp_command *c,
                           const rung_slice *argv, uint32_t argc) {
    size_t bytes = rung__resp_script_need(argv, argc) - sizeof(item_head);
    char *at = script_reserve(r, script, sizeof(item_head) + bytes);
    if (!at)
        return false;
    item_head head = {ITEM_RUN, argc, (uint32_t)bytes, c};
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    for (uint32_t i = 0; i < argc; i++) {
        uint32_t len = (uint32_t)argv[i].len;
        memcpy(at, &len, sizeof len);
        memcpy(at + sizeof len, argv[i].ptr, len);
        at += sizeof len + len;
    }
    script->len += sizeof head + bytes;
    script->count++;
    return true;
}

static bool add_bytes(rung_resp *r, rung__resp_script *script, item_head head, rung_slice bytes) {
    head.bytes = (uint32_t)bytes.len;
    char *at = script_reserve(r, script, sizeof head + bytes.len);
    if (!at)
        return false;
    memcpy(at, &head, sizeof head);
    if (bytes.len)
        memcpy(at + sizeof head, bytes.ptr, bytes.len);
    script->len += sizeof head + bytes.len;
    script->count++;
    return true;
}

bool rung__resp_script_add_raw(rung_resp *r, rung__resp_script *script, rung_slice bytes) {
    return add_bytes(r, script, (item_head){.kind = ITEM_RAW}, bytes);
}

/* The head at `at`; its arguments go to r->unpacked, for a run. */
static item_head script_item(rung_resp *r, const rung__resp_script *script, size_t at) {
    item_head head;
    memcpy(&head, script->data + at, sizeof head);
    if (head.kind != ITEM_RUN)
        return head;
    const char *p = script->data + at + sizeof head;
    for (uint32_t i = 0; i < head.count; i++) {
        uint32_t len;
        memcpy(&len, p, sizeof len);
        r->unpacked[i] = rung_slice_of(p + sizeof len, len);
        p += sizeof len + len;
    }
    return head;
}

/* Arguments are unpacked beside those that a parser read: EXEC may stand in the middle of those. */
static bool unpacked_reserve(rung_resp *r, uint32_t count) {
    if (r->unpacked_size >= count)
        return true;
    uint32_t size = count > UNPACKED_FIRST ? count : UNPACKED_FIRST;
    rung_slice *items = rung_alloc_resize(r->config.alloc, r->unpacked,
                                          r->unpacked_size * sizeof *items, size * sizeof *items);
    if (!items)
        return false;
    r->unpacked = items;
    r->unpacked_size = size;
    return true;
}

/* Work off what stands before the next change, or all. */
static void run_script(rung__resp_call *call, rung__resp_request *q) {
    rung__resp_script *script = &q->script;
    while (q->at < script->len) {
        item_head head;
        memcpy(&head, script->data + q->at, sizeof head);
        if (head.kind == ITEM_CHANGE)
            return;
        rung_slice bytes = rung_slice_of(script->data + q->at + sizeof head, head.bytes);
        if (head.kind == ITEM_RAW) {
            rung_resp_raw(call->out, bytes);
        } else if (!unpacked_reserve(call->r, head.count)) {
            rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        } else {
            script_item(call->r, script, q->at);
            call->command = head.command;
            call->argv = call->r->unpacked;
            call->argc = head.count;
            head.command->answer(call);
        }
        rung__resp_spill(call);
        q->at += sizeof head + head.bytes;
    }
}

/* ---- requests ---- */

static rung__resp_request *request_new(rung__resp_session *s) {
    rung_resp *r = s->r;
    rung__resp_request *q = r->free_requests;
    if (q) {
        r->free_requests = q->next_free;
        r->free_count--;
    } else {
        q = rung_alloc_get(r->config.alloc, sizeof *q);
        if (!q)
            return NULL;
    }
    rung__resp_keep_awake(r);
    memset(q, 0, offsetof(rung__resp_request, key));
    q->session = s;
    s->pending++;
    return q;
}

static uint32_t in_flight_slot(rung_slice key) {
    uint64_t h = key.len, word;
    for (size_t i = 0; i < key.len; i += sizeof word) {
        size_t n = key.len - i < sizeof word ? key.len - i : sizeof word;
        word = 0;
        memcpy(&word, key.ptr + i, n);
        h = rung_hash_word(h ^ word);
    }
    return (uint32_t)(h % RUNG__IN_FLIGHT_SLOTS);
}

static void enter_flight(rung__resp_request *q, uint32_t slot) {
    rung_resp *r = q->session->r;
    q->slot = slot;
    q->is_counted = true;
    r->stats.in_flight++;
    if (slot == RUNG__IN_FLIGHT_WIDE)
        r->in_flight_wide++;
    else
        r->in_flight_by_key[slot]++;
}

static void leave_flight(rung__resp_request *q) {
    rung_resp *r = q->session->r;
    if (!q->is_counted)
        return;
    q->is_counted = false;
    r->stats.in_flight--;
    if (q->slot == RUNG__IN_FLIGHT_WIDE)
        r->in_flight_wide--;
    else
        r->in_flight_by_key[q->slot]--;
}

/* It is over; the session goes on by itself. */
static void release(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    rung_resp *r = s->r;
    leave_flight(q);
    if (s->tail == q)
        s->tail = NULL;
    if (s->run == q)
        s->run = NULL;
    s->pending--;
    s->pending_bytes -= q->script.len;
    rung__resp_script_free(r, &q->script);
    if (r->free_count < REQUESTS_KEPT) {
        q->next_free = r->free_requests;
        r->free_requests = q;
        r->free_count++;
    } else {
        rung_alloc_free(r->config.alloc, q, sizeof *q);
    }
}

/* At the end of an answer: the session may be gone afterwards. */
static void finish(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    release(q);
    rung__resp_session_go_on(s);
}

void rung__resp_requests_free(rung_resp *r) {
    while (r->free_requests) {
        rung__resp_request *q = r->free_requests;
        r->free_requests = q->next_free;
        rung_alloc_free(r->config.alloc, q, sizeof *q);
    }
}

static rung__resp_call begin(rung__resp_request *q) {
    rung__resp_call call = rung__resp_call_begin(q->session);
    call.command = q->command;
    call.style = q->style;
    call.spent = &q->work;
    return call;
}

/* ---- questions in their place ---- */

static void script_ready(void *ctx) {
    rung__resp_request *q = ctx;
    if (q->session->tail == q)
        q->session->tail = NULL;
    rung__resp_call call = begin(q);
    run_script(&call, q);
    rung__resp_call_end(&call);
    finish(q);
}

/* The request whose script takes what comes now; NULL: not now. */
static rung__resp_request *open_script(rung__resp_session *s) {
    if (s->tail)
        return s->tail;
    rung__resp_request *q = request_new(s);
    if (!q)
        return NULL;
    if (rung_hub_place_from(s->r->hub, rung__resp_sender(s, true), script_ready, q, NULL) < 0) {
        release(q);
        return NULL;
    }
    s->tail = q;
    return q;
}

bool rung__resp_ask_later(rung__resp_session *s, const rung__resp_command *c,
                          const rung_slice *argv, uint32_t argc) {
    rung__resp_request *q = open_script(s);
    if (!q)
        return false;
    size_t before = q->script.len;
    if (!rung__resp_script_add(s->r, &q->script, c, argv, argc))
        return false;
    s->pending_bytes += q->script.len - before;
    return true;
}

bool rung__resp_say_later(rung__resp_session *s, rung_slice bytes) {
    rung__resp_request *q = open_script(s);
    if (!q)
        return false;
    size_t before = q->script.len;
    if (!rung__resp_script_add_raw(s->r, &q->script, bytes))
        return false;
    s->pending_bytes += q->script.len - before;
    return true;
}

/* ---- changes of one member ---- */

static rung_slice run_key(const rung__resp_request *q) {
    return rung_slice_of(q->key, q->key_len);
}

/* A run with the key kept for the answers: it says how the score is shown, and what refused it. NULL: no memory. */
static rung__resp_request *begin_run(const rung__resp_call *call, rung_slice key) {
    rung__resp_request *q = request_new(call->s);
    if (!q)
        return NULL;
    q->command = call->command;
    q->style = call->style;
    q->key_len = (uint8_t)(key.len < RUNG_NAME_MAX ? key.len : RUNG_NAME_MAX);
    memcpy(q->key, key.ptr, q->key_len);
    q->run_count = q->run_left = 1;
    enter_flight(q, in_flight_slot(key));
    call->s->run = q;
    return q;
}

/* The session's run with one change more, or a new one; NULL: no memory. */
static rung__resp_request *join_run(const rung__resp_call *call, rung_slice key) {
    rung__resp_session *s = call->s;
    rung__resp_request *q = s->run;
    if (!q || q->command != call->command || q->style != call->style || q->run_count == RUN_MAX ||
        !rung_slice_eq(run_key(q), key))
        return begin_run(call, key);
    rung__resp_keep_awake(s->r);
    q->run_count++;
    q->run_left++;
    s->pending++;
    s->r->stats.in_flight++;
    return q;
}

/* One of its changes is answered, or was not put; true: it was the last, and the request is gone. */
static bool leave_run(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    if (--q->run_left == 0) {
        release(q);
        return true;
    }
    s->pending--;
    s->r->stats.in_flight--;
    return false;
}

static void score_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    rung__resp_call *call = rung__resp_gather(s);
    call->command = q->command;
    call->style = q->style;
    if (!outcome)
        rung__resp_error_status(call, st, err);
    else if (q->command->build)
        rung__resp_reply_score(call, run_key(q), st, outcome, err);
    else
        rung__resp_reply_submit(call, run_key(q), st, outcome, err);
    if (leave_run(q))
        rung__resp_session_go_on(s);
}

/* What to do when the hub refused: true when it is answered, false when it is to be tried again. */
static bool refuse(rung__resp_call *call, rung_status st, const rung_err *err) {
    if (st == RUNG_ELIMIT)
        return false;
    rung__resp_error_status(call, st, err);
    return true;
}

static bool put_score(rung__resp_call *call, rung_event *event) {
    rung_err err;
    rung_access_answer why;
    if (rung_access_admit(call->r->access, event->score.player, call->now_ms, &why) !=
        RUNG_ACCESS_OK) {
        rung__resp_error(call, "THROTTLED too many submissions for this player, try again later");
        return true;
    }
    rung__resp_request *q = join_run(call, event->score.board);
    if (!q) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return true;
    }
    rung_status st = rung_hub_put_from(call->r->hub, rung__resp_sender(call->s, true), event, NULL,
                                       score_answered, q, &err);
    if (st < 0) {
        leave_run(q);
        return refuse(call, st, &err);
    }
    call->before.run = q;
    call->s->tail = NULL;
    return true;
}

/* How many more may join a run of the session. */
static uint32_t run_room(const rung__resp_session *s, const rung__resp_request *q) {
    const rung_resp_config *c = &s->r->config;
    uint32_t room = RUN_MAX - q->run_count;
    if (s->pending >= c->pending_max || s->pending_bytes >= c->pending_bytes_max)
        return 0;
    return room < c->pending_max - s->pending ? room : c->pending_max - s->pending;
}

/* One that is not put leaves no trace: it will be told what is wrong when it is looked at by itself. */
uint32_t rung__resp_change_alike(rung__resp_call *call, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    rung__resp_request *q = call->before.run;
    rung_event *event = &r->event;
    size_t mark = call->out->len;
    uint64_t errors = r->stats.errors;
    uint32_t room = run_room(s, q), count = n < room ? n : room, done = 0;
    rung_access_answer why;
    for (; done < count; done++) {
        call->argv += call->argc;
        call->style = 0;
        if (call->command->score(call, &event->score) != RUNG__BUILD_CHANGE ||
            call->style != q->style ||
            rung_access_admit(r->access, event->score.player, call->now_ms, &why) !=
                RUNG_ACCESS_OK ||
            rung_hub_put_from(r->hub, rung__resp_sender(s, true), event, NULL, score_answered, q,
                              NULL) < 0)
            break;
    }
    call->out->len = mark;
    r->stats.errors = errors;
    q->run_count += done;
    q->run_left += done;
    s->pending += done;
    r->stats.in_flight += done;
    if (done)
        s->tail = NULL;
    return done;
}

/* ---- other changes ---- */

static void change_told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    (void)i;
    rung__resp_call call = begin(q);
    call.is_continued = q->is_told;
    q->is_told = true;
    q->command->reply(&call, result);
    rung__resp_call_end(&call);
}

static void change_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                            const rung_err *err) {
    rung__resp_request *q = ctx;
    (void)outcome;
    if (!q->is_told) {
        rung__resp_call call = begin(q);
        rung__resp_error_status(&call, st, err);
        rung__resp_call_end(&call);
    }
    rung__resp_worked(q->session->r, q->work);
    finish(q);
}

static uint32_t in_flight_slot_of(const rung_zcommand *c) {
    bool is_single = c->kind == RUNG_ZCOMMAND_ZADD || c->kind == RUNG_ZCOMMAND_ZREM ||
                     c->kind == RUNG_ZCOMMAND_ZREMRANGE || c->kind == RUNG_ZCOMMAND_EXPIRE ||
                     c->kind == RUNG_ZCOMMAND_PERSIST || c->kind == RUNG_ZCOMMAND_SADD ||
                     c->kind == RUNG_ZCOMMAND_SREM || c->kind == RUNG_ZCOMMAND_ZSTORE ||
                     c->kind == RUNG_ZCOMMAND_ZRANGESTORE;
    return is_single ? in_flight_slot(c->key) : RUNG__IN_FLIGHT_WIDE;
}

/* Pack at r->pack + at. Negative: an error has been written; RUNG_ELIMIT: there is no room for it. */
static rung_status pack_command(rung__resp_call *call, const rung_zcommand *c, size_t at,
                                size_t *length_out) {
    rung_err err;
    rung_status st = rung_zcommand_encode(c, call->r->pack + at, RUNG_ZCOMMANDS_BYTES_MAX - at,
                                          length_out, &err);
    if (st == RUNG_ELIMIT)
        rung__resp_error(call, "ERR the command is too long for one record of the log");
    else if (st < 0)
        rung__resp_error_status(call, st, &err);
    return st;
}

static bool takes_away(rung_zcommand_kind kind) {
    return kind == RUNG_ZCOMMAND_DEL || kind == RUNG_ZCOMMAND_EXPIRE ||
           kind == RUNG_ZCOMMAND_PERSIST || kind == RUNG_ZCOMMAND_FLUSH;
}

/* May the sender take away boards with rules of their own? It is asked again when the commands are applied: a board may
 * get its rules between now and then. */
static bool is_admin(rung__resp_session *s, int64_t now_ms) {
    rung_need need = {.role = RUNG_ROLE_ADMIN, .board = RUNG_BOARDS_EACH};
    return rung_access_allow(s->r->access, &s->who, &need, now_ms, NULL) == RUNG_ACCESS_OK;
}

static bool put_change(rung__resp_call *call, const rung_zcommand *c) {
    rung_resp *r = call->r;
    rung_err err;
    size_t length;
    if (pack_command(call, c, 0, &length) < 0)
        return true;
    rung__resp_request *q = request_new(call->s);
    if (!q) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return true;
    }
    q->command = call->command;
    q->style = call->style;
    q->work = call->work;
    r->event.kind = RUNG_EVENT_KEYS;
    r->event.keys.count = 1;
    r->event.keys.packed = rung_slice_of(r->pack, length);
    r->event.keys.is_admin = takes_away(c->kind) && is_admin(call->s, call->now_ms);
    rung_status st = rung_hub_put_from(r->hub, rung__resp_sender(call->s, true), &r->event,
                                       change_told, change_answered, q, &err);
    if (st < 0) {
        release(q);
        return refuse(call, st, &err);
    }
    call->s->tail = NULL;
    enter_flight(q, in_flight_slot_of(c));
    return true;
}

static bool build_change(rung__resp_call *call) {
    rung_zcommand c;
    switch (call->command->build(call, &c)) {
    case RUNG__BUILD_QUESTION:
        if (call->s->pending)
            return rung__resp_ask_later(call->s, call->command, call->argv, call->argc);
        call->command->answer(call);
        return true;
    case RUNG__BUILD_CHANGE:
        return put_change(call, &c);
    case RUNG__BUILD_ERROR:
    case RUNG__BUILD_OTHER:
        break;
    }
    return true;
}

bool rung__resp_change(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung_event *event = &call->r->event;
    event->kind = RUNG_EVENT_SCORE;
    rung__resp_built built = c->score ? c->score(call, &event->score) : RUNG__BUILD_OTHER;
    if (built == RUNG__BUILD_CHANGE)
        return put_score(call, event);
    return built == RUNG__BUILD_OTHER ? build_change(call) : true;
}

/* ---- pops for clients that wait ---- */

static void pop_told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    if (!q->is_told && !result->key.len && result->error == RUNG_ZKEY_FINE)
        return; /* somebody was faster: it goes on waiting */
    change_told(ctx, i, result);
}

static void pop_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    (void)outcome;
    if (st < 0 && !q->is_told) {
        rung__resp_call call = begin(q);
        rung__resp_error_status(&call, st, err);
        rung__resp_call_end(&call);
        q->is_told = true;
    }
    bool is_told = q->is_told;
    release(q);
    rung__resp_pop_answered(s, is_told);
}

rung_status rung__resp_pop_for(rung__resp_session *s, const rung__resp_command *c, uint32_t style,
                               rung_slice packed) {
    rung_resp *r = s->r;
    rung__resp_request *q = request_new(s);
    if (!q)
        return RUNG_ENOMEM;
    q->command = c;
    q->style = style;
    r->event.kind = RUNG_EVENT_KEYS;
    r->event.keys.count = 1;
    r->event.keys.packed = packed;
    r->event.keys.is_admin = false; /* a pop leaves every board where it is */
    rung_status st = rung_hub_put_from(r->hub, rung__resp_sender(s, false), &r->event, pop_told,
                                       pop_answered, q, NULL);
    if (st < 0) {
        release(q);
        return st;
    }
    s->tail = NULL;
    enter_flight(q, RUNG__IN_FLIGHT_WIDE);
    return RUNG_OK;
}

/* ---- transactions ---- */

void rung__resp_queue_clear(rung__resp_session *s) {
    rung__resp_script_free(s->r, &s->queue);
    s->is_multi = s->is_dirty = false;
}

void rung__resp_watch_clear(rung__resp_session *s) {
    rung_alloc_free(s->r->config.alloc, s->watched, s->watched_size * sizeof *s->watched);
    s->watched = NULL;
    s->watched_count = s->watched_size = 0;
}

/* A change's reply, and what is asked between it and the next. */
static void exec_told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    (void)i;
    rung__resp_call call = begin(q);
    item_head head;
    call.is_inside = true;
    run_script(&call, q);
    memcpy(&head, q->script.data + q->at, sizeof head);
    RUNG_ASSERT(head.kind == ITEM_CHANGE);
    call.command = head.command;
    call.style = head.count;
    call.is_continued = q->is_told;
    head.command->reply(&call, result);
    q->is_told = result->more;
    if (!result->more) {
        q->at += sizeof head + head.bytes;
        call.style = 0;
        call.is_continued = false;
        run_script(&call, q);
    }
    rung__resp_call_end(&call);
}

/* Changes that were not applied are told so, one by one: the header may have gone already. */
static void exec_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    rung__resp_request *q = ctx;
    (void)outcome;
    rung__resp_call call = begin(q);
    for (;;) {
        run_script(&call, q);
        if (q->at >= q->script.len)
            break;
        rung__resp_error_status(&call, st, err);
        q->at += sizeof(item_head);
    }
    rung__resp_call_end(&call);
    rung__resp_worked(q->session->r, q->work);
    finish(q);
}

/* What is asked before the first change; or why there is no change. */
static void exec_begins(void *ctx) {
    rung__resp_request *q = ctx;
    rung__resp_call call = begin(q);
    if (q->failure < 0)
        rung__resp_error_status(&call, q->failure, NULL);
    else
        run_script(&call, q);
    rung__resp_call_end(&call);
    if (q->failure < 0)
        finish(q);
}

/* Append to the script what the queued command at argv became; count changes and their bytes. RUNG_OK, RUNG_ENOMEM, or
 * RUNG_ELIMIT when the transaction is too long for one event. */
static rung_status exec_item(rung__resp_call *call, rung__resp_script *script, uint32_t *changes,
                             size_t *bytes) {
    rung_resp *r = call->r;
    rung_zcommand c;
    size_t mark = call->out->len, length;
    bool is_added;
    call->style = 0;
    call->work = 0;
    rung__resp_built built =
        call->command->build ? call->command->build(call, &c) : RUNG__BUILD_QUESTION;
    rung_status st = RUNG_OK;
    if (built == RUNG__BUILD_CHANGE)
        st = pack_command(call, &c, *bytes, &length);
    if (built == RUNG__BUILD_QUESTION) {
        is_added = rung__resp_script_add(r, script, call->command, call->argv, call->argc);
    } else if (built == RUNG__BUILD_ERROR || st < 0) {
        is_added = rung__resp_script_add_raw(
            r, script, rung_slice_of(call->out->data + mark, call->out->len - mark));
        call->out->len = mark;
    } else {
        item_head head = {.kind = ITEM_CHANGE, .count = call->style, .command = call->command};
        ++*changes;
        *bytes += length;
        is_added = add_bytes(r, script, head, (rung_slice){NULL, 0});
    }
    return st == RUNG_ELIMIT ? st : is_added ? RUNG_OK : RUNG_ENOMEM;
}

/* The queue as a script, the header first. RUNG_EREFUSED: something may not be done, and an error has been written. */
static rung_status exec_script(rung__resp_call *call, rung__resp_script *script, uint32_t *changes,
                               size_t *bytes) {
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    rung_resp_array(call->out, s->queue.count);
    bool is_added = rung__resp_script_add_raw(
        call->r, script, rung_slice_of(call->out->data + mark, call->out->len - mark));
    call->out->len = mark;
    rung_status st = is_added ? RUNG_OK : RUNG_ENOMEM;
    for (size_t at = 0; st == RUNG_OK && at < s->queue.len;) {
        item_head head;
        memcpy(&head, s->queue.data + at, sizeof head);
        if (!unpacked_reserve(call->r, head.count))
            return RUNG_ENOMEM;
        script_item(call->r, &s->queue, at);
        call->command = head.command;
        call->argv = call->r->unpacked;
        call->argc = head.count;
        if (!rung__resp_may_run(call)) /* it might when it was queued */
            return RUNG_EREFUSED;
        st = exec_item(call, script, changes, bytes);
        at += sizeof head + head.bytes;
    }
    return st;
}

/* Is something asked before the first change? Errors that are known already do not count. */
static bool has_questions_first(const rung__resp_script *script) {
    for (size_t at = 0; at < script->len;) {
        item_head head;
        memcpy(&head, script->data + at, sizeof head);
        if (head.kind != ITEM_RAW)
            return head.kind == ITEM_RUN;
        at += sizeof head + head.bytes;
    }
    return false;
}

/* Put the request's script with its packed changes. RUNG_OK: it will be answered. */
static rung_status put_exec(rung__resp_request *q, uint32_t changes, size_t bytes) {
    rung_resp *r = q->session->r;
    bool is_placed = has_questions_first(&q->script);
    rung_status st = is_placed ? rung_hub_place_from(r->hub, rung__resp_sender(q->session, false),
                                                     exec_begins, q, NULL)
                               : RUNG_OK;
    if (st < 0)
        return st;
    r->event.kind = RUNG_EVENT_KEYS;
    r->event.keys.count = changes;
    r->event.keys.packed = rung_slice_of(r->pack, bytes);
    r->event.keys.is_admin = is_admin(q->session, rung_hub_now(r->hub));
    st = rung_hub_put_from(r->hub, rung__resp_sender(q->session, false), &r->event, exec_told,
                           exec_answered, q, NULL);
    if (st >= 0)
        enter_flight(q, RUNG__IN_FLIGHT_WIDE);
    else if (is_placed)
        q->failure = st; /* the reader that is placed will tell */
    return is_placed ? RUNG_OK : st;
}

/* EXEC when nothing is watched, or what is watched has been found unchanged. */
static void exec_now(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    uint32_t changes = 0;
    size_t bytes = 0;
    bool is_behind = s->pending > 0;
    size_t mark = call->out->len;
    rung__resp_request *q = request_new(s);
    if (!q) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return;
    }
    call->spent = &q->work;
    call->r->moved = 0;
    memset(call->r->moved_to, 0, sizeof call->r->moved_to);
    rung_status st = exec_script(call, &q->script, &changes, &bytes);
    bool is_too_long = st == RUNG_ELIMIT;
    s->pending_bytes += q->script.len;
    if (st == RUNG_OK && !changes && !is_behind) {
        run_script(call, q);
        call->spent = NULL;
        release(q);
        return;
    }
    call->spent = NULL;
    if (st == RUNG_OK)
        st = changes ? put_exec(q, changes, bytes)
                     : rung_hub_place_from(call->r->hub, rung__resp_sender(s, false), script_ready,
                                           q, NULL);
    s->tail = NULL;
    if (st < 0) {
        release(q);
        if (st == RUNG_EREFUSED)
            rung__resp_exec_abort(call, mark);
        else if (is_too_long)
            rung__resp_error(call, "EXECABORT Transaction discarded because it is too long.");
        else
            rung__resp_error_status(call, st, NULL);
    }
}

/* ---- watching ---- */

static bool is_changed(const rung__resp_call *call) {
    const rung__resp_session *s = call->s;
    for (uint32_t i = 0; i < s->watched_count; i++) {
        const rung__resp_watched *w = &s->watched[i];
        rung_zkey k;
        rung_zkey_open(call->state, rung_slice_of(w->name, w->len), call->now_ms, &k);
        if (k.version != w->version || (k.kind != RUNG_ZKEY_NONE) != w->is_there)
            return true;
    }
    return false;
}

/* May a change of a watched key be under way? */
static bool is_changing(const rung__resp_call *call) {
    const rung_resp *r = call->r;
    if (r->in_flight_wide || rung_hub_stat(r->hub).waiting > r->stats.in_flight)
        return true;
    for (uint32_t i = 0; i < call->s->watched_count; i++) {
        const rung__resp_watched *w = &call->s->watched[i];
        if (r->in_flight_by_key[in_flight_slot(rung_slice_of(w->name, w->len))])
            return true;
    }
    return false;
}

static void watched_ready(void *ctx);

/* RUNG_OK: EXEC may be put; RUNG_UNCHANGED: it is off; RUNG_PARTIAL: the request will look again. */
static rung_status look_at_watched(const rung__resp_call *call, rung__resp_request *q) {
    if (is_changed(call))
        return RUNG_UNCHANGED;
    if (!is_changing(call))
        return RUNG_OK;
    if (q->tries++ == EXEC_TRIES_MAX ||
        rung_hub_place_from(call->r->hub, rung__resp_sender(call->s, false), watched_ready, q,
                            NULL) < 0)
        return RUNG_UNCHANGED;
    return RUNG_PARTIAL;
}

static void end_watched(rung__resp_call *call, rung_status st) {
    if (st == RUNG_UNCHANGED)
        rung_resp_null_array(call->out);
    else
        exec_now(call);
    rung__resp_queue_clear(call->s);
    rung__resp_watch_clear(call->s);
}

/* Everything that was under way when it was placed has been applied. */
static void watched_ready(void *ctx) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    rung__resp_call call = rung__resp_call_begin(s);
    rung_status st = look_at_watched(&call, q);
    if (st != RUNG_PARTIAL) {
        release(q);
        end_watched(&call, st);
    }
    rung__resp_call_end(&call);
    rung__resp_session_go_on(s);
}

void rung__resp_exec(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    if (!s->is_multi) {
        rung__resp_error(call, "ERR EXEC without MULTI");
        return;
    }
    if (s->is_dirty) {
        rung__resp_error(call, "EXECABORT Transaction discarded because of previous errors.");
        rung__resp_queue_clear(s);
        rung__resp_watch_clear(s);
        return;
    }
    if (!s->watched_count) {
        exec_now(call);
        rung__resp_queue_clear(s);
        return;
    }
    rung__resp_request *q = request_new(s);
    rung_status st = q ? look_at_watched(call, q) : RUNG_UNCHANGED;
    if (st == RUNG_PARTIAL) {
        rung__resp_session_pause(s, 0);
        return;
    }
    if (q)
        release(q);
    end_watched(call, st);
}
