/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler, in this order: route, path parameters, identity and rate, permission, query
 * parameters, sequence to wait for, body. A step that fails ends the call.
 *
 * Invariants:
 *  1. A call that waits for a sequence is in `waiting`, and its waiter is in the hub; both end together.
 *  2. A call that waits for the archive belongs to the asker until it is answered.
 *  3. Nothing starts after rung_api_stop().
 *  4. answer_ranked is wanted while `ranked` has calls, so the loop does not sleep before they are answered. */
#include "front/api/api.h"

#include "base/assert.h"
#include "front/api/archive_calls.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/past_calls.h"
#include "front/http/origin.h"
#include "service/moderate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    WAIT_MS = 5000,
    WAITING_MAX = 10000,
    FORECASTS_MAX = 256,
    LINE_MS = 10000,
    METRICS_BOARDS_MAX = 100,
    OUT_KEEP = 1 << 20, /* larger scratch buffers are freed after use */
    OUT_MAX = 64 << 20,
};

/* ---- ending a call ---- */

const rung_arg *rung__call_find(const rung_call *c, const char *name) {
    for (uint32_t i = 0; i < c->route->param_count; i++)
        if (strcmp(c->route->params[i].name, name) == 0)
            return &c->args.arg[i];
    return NULL;
}

rung_slice rung__call_text(const rung_call *c, const char *name) {
    const rung_arg *arg = rung__call_find(c, name);
    return arg && arg->given ? arg->text : (rung_slice){NULL, 0};
}

const rung_arg *rung__call_arg(const rung_call *c, const char *name) {
    const rung_arg *arg = rung__call_find(c, name);
    RUNG_ASSERT(arg);
    return arg;
}

rung_json_writer *rung__call_begin(rung_call *c) {
    rung_json_writer *w = &c->api->out;
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    return w;
}

void rung__call_send(rung_call *c, int status) {
    rung_json_writer *w = &c->api->out;
    if (rung_json_failed(w))
        rung__call_fail_with(c, RUNG_ENOMEM, RUNG_REASON_NONE, NULL, "out of memory");
    else
        rung_exchange_answer(c->x, status, RUNG_TYPE_JSON, rung_json_written(w));
    if (w->size > OUT_KEEP) /* a large answer is rare */
        rung_json_writer_deinit(w);
}

void rung__call_answer(rung_call *c, int status) {
    rung_json_close_object(&c->api->out);
    rung__call_send(c, status);
}

void rung__call_answer_seq(rung_call *c, int status, uint64_t seq) {
    RUNG_JSON_MEMBER(&c->api->out, "seq", uint, seq);
    rung__call_answer(c, status);
}

static void set_number(rung_exchange *x, const char *name, uint32_t value) {
    char digits[20];
    rung_exchange_set(x, name, rung_slice_of(digits, rung_digits_format(value, digits)));
}

/* `members`: as in rung_exchange_problem(). */
static void end_more(rung_exchange *x, const rung_problem *p, rung_slice members) {
    if (p->retry_s)
        set_number(x, "Retry-After", (uint32_t)p->retry_s);
    rung_exchange_problem(x, p->status, p->code, members, p->detail);
}

static void end_with(rung_exchange *x, const rung_problem *p) {
    char bytes[256 + 32];
    rung_json_writer w = {.data = bytes, .size = sizeof bytes};
    rung_problem_write_field(&w, p);
    if (rung_json_failed(&w))
        rung_json_writer_reset(&w);
    end_more(x, p, rung_json_written(&w));
}

bool rung__call_fail(rung_call *c, rung_status st, const rung_err *err) {
    rung_problem p = rung_problem_of(st, err);
    end_with(c->x, &p);
    return false;
}

void rung__call_fail_more(rung_call *c, const rung_err *err, rung_slice members) {
    rung_problem p = rung_problem_of(err->code, err);
    end_more(c->x, &p, members);
}

bool rung__call_fail_with(rung_call *c, rung_status st, rung_reason reason, const char *field,
                          const char *text) {
    rung_err err;
    if (field)
        RUNG_FAIL_FIELD_WHY(&err, st, reason, "%s", "%s", field, text);
    else
        RUNG_FAIL_WHY(&err, st, reason, "%s", text);
    return rung__call_fail(c, st, &err);
}

bool rung__call_malformed(rung_call *c, rung_status st, rung_err *err) {
    if (err->reason == RUNG_REASON_NONE)
        err->reason = RUNG_REASON_MALFORMED;
    return rung__call_fail(c, st, err);
}

void rung__call_absent(rung_call *c, const char *field, const char *text) {
    rung__call_fail_with(c, RUNG_NOT_FOUND, RUNG_REASON_NONE, field, text);
}

const rung_board_def *rung__call_board(rung_call *c) {
    const rung_board_def *def;
    if (rung_state_board(rung__api_state(c->api), c->board, &def) == RUNG_OK)
        return def;
    rung__call_absent(c, "board", "no such board");
    return NULL;
}

void rung__call_overloaded(rung_call *c) {
    rung__call_fail_with(c, RUNG_ELIMIT, RUNG_REASON_OVERLOADED, NULL,
                         rung_status_text(RUNG_ELIMIT));
}

void rung__call_not_ready(rung_call *c) {
    if (c->api->is_draining)
        rung__call_fail_with(c, RUNG_ECLOSED, RUNG_REASON_NONE, NULL, "server is shutting down");
    else
        rung__call_fail_with(c, RUNG_ECLOSED, RUNG_REASON_RECOVERING, NULL,
                             "the server is still recovering");
}

bool rung__call_check_state(rung_call *c) {
    rung_err err;
    const rung_divergence *d =
        c->api->service.hub ? rung_hub_divergence(c->api->service.hub) : NULL;
    if (!d || c->route->flags & RUNG_IS_DIAGNOSIS)
        return true;
    return rung__call_fail(c, rung_divergence_fail(d, &err), &err);
}

/* ---- changes ---- */

uint32_t rung__call_share(rung_call *c) {
    if (!c->share)
        c->share = rung_access_share(c->api->service.access, &c->who);
    return c->share;
}

void *rung__call_alloc(rung_call *c, size_t size) {
    void *memory = rung_exchange_alloc(c->x, size);
    if (!memory)
        rung__call_fail(c, RUNG_ENOMEM, NULL);
    return memory;
}

void rung__call_answer_changed(rung_call *c, int status, bool changed) {
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "changed", bool, changed);
    rung__call_answer_seq(c, status, rung_state_seq(rung__api_state(c->api)));
}

void rung__call_changed(void *ctx, rung_status st, const rung_outcome *outcome,
                        const rung_err *err) {
    rung_call *c = ctx;
    (void)outcome;
    if (st < 0)
        rung__call_fail(c, st, err);
    else
        rung__call_answer_changed(c, 200, st == RUNG_OK);
}

void rung__call_change(rung_call *c) {
    rung_err err = {0};
    rung__call_actor actor;
    rung_status st = rung_moderate_put(&c->api->service, rung__call_signed(c, &actor),
                                       &c->api->event, rung__call_changed, c, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
}

bool rung__call_read_body(rung_call *c, rung_slot *slots) {
    rung_err err = {0};
    rung_json_init(&c->api->reader, c->body, c->body_len, &err);
    rung_status st = rung_schema_read(c->route->body, &c->api->reader, slots);
    if (st >= 0)
        st = rung_json_end(&c->api->reader);
    return st >= 0 || rung__call_malformed(c, st, &err);
}

/* Questions of a player who is banned in the shadow see the player's own entries. Live views are shared with others:
 * they reveal what they show to this player alone (front/live/topic.c). */
static void handle(rung_call *c) {
    rung_hub *hub = c->api->service.hub;
    bool is_question = c->route->method == RUNG_METHOD_GET && !(c->route->flags & RUNG_IS_STREAM);
    bool is_revealed = c->who.player_len && hub && is_question &&
                       rung_hub_reveal(hub, c->board, rung_who_player(&c->who));
    c->is_ghost = is_revealed;
    c->route->handle(c); /* the call may be gone */
    if (is_revealed)
        rung_hub_conceal(hub);
}

/* ---- waiting for a sequence ---- */

static void arm_wait_timer(rung_api *api);

static void leave_waiting(rung_call *c) {
    rung_hub_cancel(c->api->service.hub, &c->waiter);
    rung_fair_give(&c->api->waiting_shares, c->share, 1);
    RUNG_LIST_REMOVE(&c->api->waiting, c, link);
}

static void wait_expired(void *ctx) {
    rung_api *api = ctx;
    int64_t now_ms = (int64_t)rung_loop_now_ms(api->config.loop);
    while (api->waiting.first && api->waiting.first->deadline_ms <= now_ms) {
        rung_call *c = api->waiting.first;
        leave_waiting(c);
        api->metrics.wait_timeouts++;
        rung__call_fail_with(c, RUNG_EBUSY, RUNG_REASON_SEQ_BEHIND, "min_seq",
                             "that position has not been reached yet");
    }
    arm_wait_timer(api);
}

static void arm_wait_timer(rung_api *api) {
    if (!api->waiting.first) {
        rung_timer_stop(api->config.loop, &api->wait_timer);
        return;
    }
    int64_t left = api->waiting.first->deadline_ms - (int64_t)rung_loop_now_ms(api->config.loop);
    rung_timer_start(api->config.loop, &api->wait_timer, left > 0 ? (uint64_t)left : 0, 0);
}

static void wait_over(void *ctx) {
    rung_call *c = ctx;
    leave_waiting(c);
    if (rung__call_may_still(c))
        handle(c);
}

static void wait_failed(void *ctx, const rung_err *err) {
    rung_call *c = ctx;
    leave_waiting(c);
    rung__call_fail(c, err->code, err);
}

/* For a sequence, or, if that is 0, for all that any node has acknowledged. */
static void wait_for(rung_call *c, uint64_t seq) {
    rung_api *api = c->api;
    if (seq > rung_hub_reach(api->service.hub)) {
        rung__call_fail_with(c, RUNG_ERANGE, RUNG_REASON_SEQ_AHEAD, "min_seq",
                             "far ahead of this log; was it restored from a backup?");
        return;
    }
    if (!rung_fair_may(&api->waiting_shares, rung__call_share(c), false)) {
        rung__call_overloaded(c);
        return;
    }
    rung_fair_take(&api->waiting_shares, c->share, 1);
    api->metrics.waits++;
    c->deadline_ms = (int64_t)rung_loop_now_ms(api->config.loop) + api->config.wait_ms;
    c->waiter = (rung_hub_waiter){.seq = seq, .ready = wait_over, .failed = wait_failed, .ctx = c};
    RUNG_LIST_APPEND(&api->waiting, c, link);
    if (api->waiting.first == c)
        arm_wait_timer(api);
    if (seq)
        rung_hub_wait(api->service.hub, &c->waiter);
    else
        rung_hub_wait_for_end(api->service.hub, &c->waiter);
}

/* Call the handler, now or when the state has reached min_seq, or the end of the log. Nobody knows that end while no
 * broker answers. */
static void go(rung_call *c) {
    const rung_arg *as_of = rung__call_find(c, "as_of");
    if (as_of && as_of->given && !c->api->config.is_past_helper) {
        rung__past_ask(c, as_of->text);
        return;
    }
    const rung_arg *min_seq = rung__call_find(c, "min_seq"), *latest = rung__call_find(c, "latest");
    if (latest && latest->number && rung_hub_silent_ms(c->api->service.hub) > 0)
        rung__call_fail_with(c, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE, NULL, "no broker answers");
    else if (latest && latest->number)
        wait_for(c, 0);
    else if (min_seq && (uint64_t)min_seq->number > rung_state_seq(rung__api_state(c->api)))
        wait_for(c, (uint64_t)min_seq->number);
    else
        handle(c);
}

/* ---- bodies ---- */

/* The handler gets a copy, which it may change. */
static void got_body(void *ctx, rung_exchange *x, rung_slice body) {
    rung_call *c = ctx;
    rung_api *api = c->api;
    rung_buffer *copy = &api->body;
    (void)x;
    rung_buffer_put(copy, body.ptr, body.len);
    if (api->is_stopped)
        rung__call_fail(c, RUNG_ECLOSED, NULL);
    else if (body.len == 0 && c->route->body_kind != RUNG_BODY_OPTIONAL)
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, NULL,
                             "a body is needed: JSON as application/json");
    else if (copy->is_failed)
        rung__call_fail(c, RUNG_ENOMEM, NULL);
    else if (rung__call_may_still(c)) {
        c->body = copy->data;
        c->body_len = copy->len;
        c->route->handle(c);
    }
    rung_buffer_reset(copy, OUT_KEEP);
}

#define TYPE_FORM "application/x-www-form-urlencoded"

static bool is_type(rung_slice type, const char *wanted) {
    size_t len = strlen(wanted);
    if (type.len < len || (type.len > len && type.ptr[len] != ';' && type.ptr[len] != ' '))
        return false;
    return strncasecmp(type.ptr, wanted, len) == 0;
}

static bool takes_lines(const rung_route *r) {
    return r->body_kind == RUNG_BODY_BATCH || r->body_kind == RUNG_BODY_ANY;
}

/* A page of another origin can send forms and plain text without a preflight, but not JSON. Other clients may leave the
 * type out, or send that of a form, as `curl -d` does. */
static bool check_type(rung_call *c) {
    rung_slice coding = rung_exchange_header(c->x, "content-encoding");
    if (coding.len && !is_type(coding, "identity"))
        return rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_MEDIA_TYPE,
                                    "Content-Encoding", "compressed bodies are not supported");
    rung_slice type = rung_exchange_header(c->x, "content-type");
    bool is_page = rung_exchange_header(c->x, "origin").ptr != NULL;
    if (is_type(type, RUNG_TYPE_JSON) || (!is_page && (!type.ptr || is_type(type, TYPE_FORM))) ||
        (takes_lines(c->route) && is_type(type, RUNG_TYPE_NDJSON)))
        return true;
    return rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_MEDIA_TYPE, "Content-Type",
                                takes_lines(c->route) ? "expected " RUNG_TYPE_JSON
                                                        " or " RUNG_TYPE_NDJSON
                                                      : "expected " RUNG_TYPE_JSON);
}

static size_t body_limit(const rung_call *c) {
    uint32_t most = c->api->config.body_max;
    return most && most < c->route->body_max ? most : c->route->body_max;
}

static void take_body(rung_call *c) {
    const rung_request *r = rung_exchange_request(c->x);
    rung_body_kind kind = c->route->body_kind;
    if (kind == RUNG_BODY_NONE && r->has_body)
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, NULL,
                             "this request takes no body");
    else if (kind == RUNG_BODY_NONE)
        go(c);
    else if (r->has_body && !check_type(c))
        return;
    else if (takes_lines(c->route) &&
             is_type(rung_exchange_header(c->x, "content-type"), RUNG_TYPE_NDJSON))
        c->route->handle(c);
    else
        rung_exchange_collect(c->x, body_limit(c), got_body, c);
}

/* ---- who asks ---- */

rung_problem rung__access_problem(rung_status st, const rung_access_answer *why) {
    rung_problem p = rung_problem_of(st, &why->err);
    if (why->err.reason == RUNG_REASON_RATE)
        p.retry_s = (int)why->rate.retry_s;
    return p;
}

void rung__call_refuse(rung_call *c, rung_status st, const rung_access_answer *why) {
    rung_problem p = rung__access_problem(st, why);
    if (p.status == 401)
        rung_exchange_set(c->x, "WWW-Authenticate", RUNG_SLICE("Bearer"));
    end_with(c->x, &p);
}

/* What the route needs on this board. */
static rung_need need_of(const rung_call *c, rung_slice board) {
    return (rung_need){.role = c->route->role,
                       .is_keyed = c->route->flags & RUNG_NEEDS_KEY,
                       .board = board,
                       .player = c->player,
                       .is_signed = rung__call_is_signed(c)};
}

static bool check_may(rung_call *c, rung_slice board, int64_t now_ms) {
    rung_access_answer why;
    rung_need need = need_of(c, board);
    rung_verdict v = rung_access_allow(c->api->service.access, &c->who, &need, now_ms, &why);
    if (v != RUNG_ACCESS_OK)
        rung__call_refuse(c, why.err.code, &why);
    return v == RUNG_ACCESS_OK;
}

static int64_t now_of(const rung_api *api) {
    rung_hub *hub = api->service.hub;
    return hub ? rung_hub_now(hub) : rung_loop_wall_ms(api->config.loop);
}

/* Also those that are not events, such as a new key. */
static bool check_present(rung_call *c) {
    rung_err err = {0};
    if (!(c->route->flags & RUNG_IS_CHANGE) || !c->api->service.hub ||
        rung_hub_check_present(c->api->service.hub, &err) == RUNG_OK)
        return true;
    return rung__call_fail(c, err.code, &err);
}

/* Refuse changes that a page of another origin makes its user's browser send. */
static bool check_origin(rung_call *c) {
    if (!(c->route->flags & RUNG_IS_CHANGE) || rung_exchange_may_change(c->x))
        return true;
    return rung__call_fail_with(c, RUNG_EREFUSED, RUNG_REASON_ORIGIN, NULL,
                                "pages of this origin may not change anything");
}

/* The argument of that name in the path, or in the query; NULL: the route has none. */
static const rung_arg *find_in(const rung_call *c, bool in_path, const char *name) {
    const rung_arg *arg = rung__call_find(c, name);
    return arg && c->route->params[arg - c->args.arg].in_path == in_path ? arg : NULL;
}

rung_hub_sender rung__call_signed(rung_call *c, rung__call_actor *room) {
    const rung_arg *reason = find_in(c, false, "reason");
    rung_exchange_peer(c->x, room->address);
    room->actor = rung_who_actor(&c->who, rung_slice_str(room->address),
                                 reason ? reason->text : (rung_slice){0});
    rung_hub_sender from = rung__call_sender(c);
    from.actor = &room->actor;
    return from;
}

/* Permissions may have changed while the call waited for its body, its sequence or the archive. */
bool rung__call_may_still(rung_call *c) {
    if (!rung__call_check_state(c))
        return false;
    bool is_each = c->route->body_kind == RUNG_BODY_BATCH || c->route->flags & RUNG_IS_LIST;
    return c->route->flags & RUNG_IS_UNGUARDED ||
           check_may(c, is_each ? RUNG_BOARDS_EACH : c->board, now_of(c->api));
}

static void show_rate(rung_call *c, const rung_rate_answer *rate) {
    if (!rate->limit)
        return;
    set_number(c->x, "RateLimit-Limit", rate->limit);
    set_number(c->x, "RateLimit-Remaining", rate->remaining);
    set_number(c->x, "RateLimit-Reset", rate->reset_s);
}

/* While the brokers of a shared log do not answer, reads go on and say how old they may be. */
static void show_age(rung_call *c) {
    const rung_hub *hub = c->api->service.hub;
    int64_t silent_ms = hub ? rung_hub_silent_ms(hub) : 0;
    if (silent_ms > 0)
        set_number(c->x, "Rung-Age", (uint32_t)((silent_ms + 999) / 1000));
}

static bool check_who(rung_call *c, int64_t now_ms) {
    rung_access_answer answer;
    if (c->route->flags & RUNG_IS_UNGUARDED)
        return true;
    bool is_each = c->route->body_kind == RUNG_BODY_BATCH || c->route->flags & RUNG_IS_LIST ||
                   find_in(c, false, "board"); /* its boards are checked one by one, later */
    rung_need need = need_of(c, is_each ? RUNG_BOARDS_EACH : c->board);
    need.cost = 1;
    rung_verdict v = rung_access_enter(
        c->api->service.access, rung_access_bearer(rung_exchange_header(c->x, "authorization")),
        rung_exchange_peer_key(c->x), &need, now_ms, &c->who, &answer);
    show_rate(c, &answer.rate);
    if (v != RUNG_ACCESS_OK)
        rung__call_refuse(c, answer.err.code, &answer);
    return v == RUNG_ACCESS_OK && check_origin(c) && check_present(c);
}

/* ---- arguments ---- */

static void find_subjects(rung_call *c) {
    const rung_arg *board = find_in(c, true, "board"), *player = find_in(c, true, "player");
    if (board)
        c->board = board->text;
    if (player)
        c->player = player->text;
}

/* A board in the query needs the same permission; without it the request is about all boards. */
static bool check_query_board(rung_call *c, int64_t now_ms) {
    const rung_arg *board = find_in(c, false, "board");
    if (!board)
        return true;
    c->board = board->text;
    return check_may(c, c->board, now_ms);
}

static void run(rung_call *c, const rung_slice *segments) {
    const rung_request *r = rung_exchange_request(c->x);
    int64_t now_ms = now_of(c->api);
    rung_err err = {0};
    char *scratch = rung__call_alloc(c, r->path.len + 2 * r->query.len + 2);
    if (!scratch)
        return;
    rung_status st = rung_route_read_path(c->route, segments, &c->args, scratch, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    find_subjects(c);
    show_age(c);
    if (!check_who(c, now_ms))
        return;
    st = rung_route_read_query(c->route, r->query, &c->args, scratch + r->path.len, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    if (!check_query_board(c, now_ms))
        return;
    if (c->player.ptr)
        c->player = rung_who_resolve(&c->who, c->player);
    take_body(c);
}

/* ---- the transport's side ---- */

/* Before there is a call. */
static void refuse(rung_exchange *x, rung_status st, const rung_err *err) {
    rung_problem p = rung_problem_of(st, err);
    end_with(x, &p);
}

/* May it use a reserved connection? Health, readiness and metrics may, and every request with an admin's key. */
static bool is_urgent(const rung_api *api, const rung_exchange *x) {
    rung_slice path = rung_exchange_request(x)->path;
    if (rung_slice_eq(path, RUNG_SLICE("/healthz")) || rung_slice_eq(path, RUNG_SLICE("/readyz")) ||
        rung_slice_eq(path, RUNG_SLICE("/metrics")))
        return true;
    return rung_access_is_admin(api->service.access,
                                rung_access_bearer(rung_exchange_header(x, "authorization")),
                                now_of(api));
}

/* Checks that come before routing. */
static rung_status admit(const rung_api *api, const rung_exchange *x, rung_err *err) {
    const rung_request *r = rung_exchange_request(x);
    if (rung_exchange_is_reserved(x) && !is_urgent(api, x))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_CONNECTIONS,
                             "only health checks and admins are answered: all other connections "
                             "are taken, or too many are from this address");
    if (!rung_access_is_open(api->service.access))
        return RUNG_OK;
    return rung_origin_check_local(rung_exchange_header(x, "origin"), r->host, r->is_unix, err);
}

void rung_api_handle(void *ctx, rung_exchange *x) {
    rung_api *api = ctx;
    const rung_request *r = rung_exchange_request(x);
    const rung_route *route = NULL;
    rung_slice segments[RUNG_URL_SEGMENTS_MAX];
    char allowed[RUNG_ALLOWED_MAX] = "";
    rung_err err = {0};
    rung_status st = admit(api, x, &err);
    if (st < 0) {
        refuse(x, st, &err);
        return;
    }
    st = rung_route_find(r->method, r->path, &route, segments, allowed, &err);
    if (st == RUNG_NOT_FOUND && rung__api_asset(x, r))
        return;
    if (st == RUNG_OK && route->handle == rung_api_metrics && api->config.is_unmeasured)
        st = RUNG_FAIL(&err, RUNG_NOT_FOUND, "metrics are switched off (metrics = off)");
    if (st == RUNG_EUNSUPPORTED)
        rung_exchange_set(x, "Allow", rung_slice_str(allowed));
    if (st != RUNG_OK) {
        refuse(x, st, &err);
        return;
    }
    rung_call *c = rung_exchange_alloc(x, sizeof *c);
    if (!c) {
        refuse(x, RUNG_ENOMEM, NULL);
        return;
    }
    c->api = api;
    c->x = x;
    c->route = route;
    rung_exchange_set_user(x, c);
    if (api->failure.code < 0) {
        rung__call_fail(c, api->failure.code, &api->failure);
        return;
    }
    if ((!api->service.hub || api->is_stopped) && !(route->flags & RUNG_IS_OPEN_EARLY)) {
        rung__call_not_ready(c);
        return;
    }
    if (route->flags & RUNG_IS_OPEN_EARLY || rung__call_check_state(c))
        run(c, segments);
}

void rung_api_observe(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                      uint64_t bytes_in, uint64_t bytes_out) {
    rung_api *api = ctx;
    const rung_call *c = rung_exchange_user(x);
    uint32_t route = c ? (uint32_t)(c->route - rung_routes) : RUNG_METRICS_ROUTES_MAX;
    bool is_timed = !c || !(c->is_stream || c->route->flags & RUNG_IS_STREAM);
    rung_metrics_count(&api->metrics, route, status, is_timed ? &took_us : NULL, bytes_in,
                       bytes_out);
    if (api->config.answered)
        api->config.answered(api->config.ctx, x, status, took_us, bytes_in, bytes_out);
}

/* ---- lifecycle ---- */

static rung_status make_openapi(rung_api *api) {
    api->openapi.alloc = api->config.alloc;
    rung_openapi_write(&api->openapi, api->config.version ? api->config.version : "0");
    return rung_json_failed(&api->openapi) ? RUNG_ENOMEM : RUNG_OK;
}

static void free_memory(rung_api *api) {
    const rung_alloc *a = api->config.alloc;
    rung_asker_destroy(api->service.asker);
    rung_as_of_destroy(api->past);
    rung_replay_destroy(api->replay);
    rung_trials_destroy(api->trials);
    rung_json_writer_deinit(&api->out);
    rung_page_cache_deinit(&api->pages);
    rung_paging_destroy(api->paging);
    rung_buffer_deinit(&api->body);
    rung_alloc_free(a, api->rows, RUNG_API_ROWS_MAX * sizeof *api->rows);
    rung_json_writer_deinit(&api->openapi);
    rung_alloc_free(a, api, sizeof *api);
}

static void join_loop(rung_api *api) {
    rung_turn *turn = &api->config.loop->turn;
    api->wait_timer = (rung_timer){.call = wait_expired, .ctx = api};
    api->throttled = (rung_timer){.call = rung__batch_on_throttled, .ctx = api};
    api->line_timer = (rung_timer){.call = rung__batch_end_silent, .ctx = api};
    api->answer_ranked = (rung_task){.run = rung__answer_ranked, .ctx = api};
    api->answer_batches = (rung_task){.run = rung__answer_batches, .ctx = api};
    api->answer_forecast = (rung_task){.run = rung__answer_forecast, .ctx = api};
    rung_turn_add(turn, RUNG_PHASE_ANSWER, &api->answer_ranked);
    rung_turn_add(turn, RUNG_PHASE_ANSWER, &api->answer_batches);
    rung_turn_add(turn, RUNG_PHASE_ANSWER, &api->answer_forecast);
}

static void leave_loop(rung_api *api) {
    rung_loop *loop = api->config.loop;
    rung_timer *timers[] = {&api->wait_timer,  &api->ask_timer,  &api->throttled,
                            &api->line_timer,  &api->past_timer, &api->replay_timer,
                            &api->paging_timer};
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        rung_timer_stop(loop, timers[i]);
    rung_turn_remove(&loop->turn, &api->answer_ranked);
    rung_turn_remove(&loop->turn, &api->answer_batches);
    rung_turn_remove(&loop->turn, &api->answer_forecast);
}

rung_status rung_api_create(const rung_api_config *config, rung_api **api_out, rung_err *err) {
    rung_api *api = rung_alloc_zeroed(config->alloc, sizeof *api);
    if (!api)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    api->config = *config;
    api->service = (rung_service){.access = config->access, .alloc = config->alloc};
    api->config.wait_ms = config->wait_ms ? config->wait_ms : WAIT_MS;
    api->config.waiting_max = config->waiting_max ? config->waiting_max : WAITING_MAX;
    api->config.line_ms = config->line_ms ? config->line_ms : LINE_MS;
    api->waiting_shares.max = api->config.waiting_max;
    api->batch_shares.max = RUNG_API_BATCHES_MAX;
    api->forecast_shares.max = FORECASTS_MAX;
    if (!config->metrics_boards_max)
        api->config.metrics_boards_max = METRICS_BOARDS_MAX;
    api->out = (rung_json_writer){.alloc = config->alloc, .limit = OUT_MAX};
    api->body.alloc = config->alloc;
    api->rows = rung_alloc_zeroed(config->alloc, RUNG_API_ROWS_MAX * sizeof *api->rows);
    rung_status st = api->rows ? make_openapi(api) : RUNG_ENOMEM;
    if (st < 0)
        RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st >= 0)
        st = rung__archive_create(api, err);
    if (st >= 0)
        st = rung__paging_start(api, err);
    if (st >= 0)
        st = rung__past_create(api, err);
    if (st >= 0)
        st = rung__replay_create(api, err);
    if (st >= 0)
        st = rung__trials_create(api, err);
    if (st >= 0)
        st = rung__live_create(api, err);
    if (st < 0) {
        free_memory(api);
        return st;
    }
    if (api->service.access)
        rung_access_watch(api->service.access, rung__api_key_changed, api);
    join_loop(api);
    api->boot = rung_loop_clock_ns(config->loop);
    *api_out = api;
    return RUNG_OK;
}

void rung_api_destroy(rung_api *api) {
    if (!api)
        return;
    if (api->service.access)
        rung_access_watch(api->service.access, NULL, NULL);
    if (!api->is_stopped)
        rung_api_stop(api);
    rung_live_destroy(api->live);
    leave_loop(api);
    free_memory(api);
}

void rung_api_attach(rung_api *api, const rung_net *net, const rung_http *http) {
    api->net = net;
    api->http = http;
}

void rung_api_start(rung_api *api, rung_hub *hub) {
    RUNG_ASSERT(!api->is_stopped);
    api->service.hub = hub;
    rung_asker_start(api->service.asker, rung_hub_state(hub));
    rung_replay_start(api->replay, hub);
}

void rung_api_fail(rung_api *api, const rung_err *err) {
    api->failure = *err;
}

rung_as_of *rung_api_as_of(rung_api *api) {
    return api->past;
}

rung_asker *rung_api_asker(rung_api *api) {
    return api->service.asker;
}

void rung_api_settle(rung_api *api) {
    if (!api)
        return;
    while (rung_asker_is_busy(api->service.asker) || rung_as_of_is_busy(api->past) ||
           rung_replay_is_busy(api->replay) || rung_trials_is_busy(api->trials) ||
           api->key_change || api->download_count > 0)
        rung_loop_run(api->config.loop, RUNG_RUN_ONCE);
    /* What it holds belongs to the state, which goes with the hub. */
    rung_paging_destroy(api->paging);
    api->paging = NULL;
}

static void refuse_waiting(rung_api *api) {
    while (api->waiting.first) {
        rung_call *c = api->waiting.first;
        leave_waiting(c);
        rung__call_fail(c, RUNG_ECLOSED, NULL);
    }
}

void rung_api_drain(rung_api *api) {
    api->is_draining = true;
}

void rung_api_stop(rung_api *api) {
    api->is_draining = api->is_stopped = true;
    rung_live_stop(api->live);
    rung_timer_stop(api->config.loop, &api->ask_timer);
    rung_asker_stop(api->service.asker);
    rung_timer_stop(api->config.loop, &api->past_timer);
    rung_as_of_stop(api->past);
    rung_timer_stop(api->config.loop, &api->replay_timer);
    rung_replay_stop(api->replay);
    rung_trials_stop(api->trials);
    if (api->service.hub) {
        refuse_waiting(api);
        rung__answer_ranked(api);
        rung__forecast_stop_all(api);
    }
    arm_wait_timer(api);
    rung__batch_stop_all(api);
    rung__download_stop_all(api);
}

/* ---- work in other threads ---- */

static void run_work(rung_work *w) {
    rung_asker_work *work = w->ctx;
    work->run(work);
}

static void work_done(rung_work *w) {
    rung_asker_work *work = w->ctx;
    work->done(work);
}

bool rung__api_begin_work(rung_api *api, rung_work *slot, rung_asker_work *work) {
    *slot = (rung_work){.run = run_work, .done = work_done, .ctx = work};
    return rung_loop_work(api->config.loop, slot) == RUNG_OK;
}
