/* SPDX-License-Identifier: Apache-2.0 */
/* The live routes: server-sent events as an answer without an end, WebSocket by upgrade.
 *
 * front/live decides what is shown. This file reads the parameters, checks permissions and writes rows: as in other
 * answers, with the place in the list and without the percentile, which changes with every new entry. */
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/problem.h"
#include "front/api/submission.h"
#include "front/live/live.h"
#include "front/live/websocket.h"
#include "service/sessions.h"
#include "service/submit.h"

#include <stdio.h>
#include <string.h>

/* ---- how it looks ---- */

static rung_ranking ranking_of(const rung_state *s, const rung_live_spec *spec,
                               const rung_view *view) {
    rung_ranking k = {.board = spec->board,
                      .scope = spec->scope,
                      .state = s,
                      .kind = view->kind,
                      .start_ms = view->start_ms,
                      .end_ms = view->end_ms,
                      .closed = view->closed,
                      .rank = view->rank,
                      .total = rung_view_size(view),
                      .has_numbers = true,
                      .seq = rung_state_seq(s)};
    if (rung_state_board(s, spec->board, &k.def) != RUNG_OK)
        k.def = NULL;
    k.window_id_len = rung_window_id_write(view->kind, view->ordinal, view->season, k.window_id);
    rung_view_sketch(view, &k.sketch);
    return k;
}

static void write_head(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                       const rung_view *view, uint64_t seq) {
    rung_ranking k = ranking_of(rung__api_state(ctx), spec, view);
    k.seq = seq;
    rung_answer_head(w, &k);
}

static void write_row(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                      const rung_view *view, const rung_row *row, uint32_t place, bool among) {
    rung_ranking k = ranking_of(rung__api_state(ctx), spec, view);
    rung_answer_place(w, &k, row, place, among);
}

static const rung_state *state_of(void *ctx) {
    const rung_api *api = ctx;
    return api->service.hub ? rung__api_state(api) : NULL;
}

/* Now or, if the clock is behind the log, log time. */
static int64_t now_of(void *ctx) {
    const rung_api *api = ctx;
    int64_t now_ms = rung_hub_now(api->service.hub), log_ms = rung_state_time(rung__api_state(api));
    return now_ms > log_ms ? now_ms : log_ms;
}

static bool sees_board(void *ctx, rung_slice sight, rung_slice board) {
    return rung_access_sees(((const rung_api *)ctx)->service.access, sight, board);
}

static bool reveal(void *ctx, rung_slice board, rung_slice player) {
    const rung_api *api = ctx;
    return rung_hub_reveal(api->service.hub, board, player);
}

static void conceal(void *ctx) {
    rung_hub_conceal(((const rung_api *)ctx)->service.hub);
}

static uint64_t rights_of(void *ctx) {
    return rung_access_generation(((const rung_api *)ctx)->service.access);
}

rung_status rung__live_create(rung_api *api, rung_err *err) {
    return rung_live_create(&(rung_live_config){.alloc = api->config.alloc,
                                                .loop = api->config.loop,
                                                .state = state_of,
                                                .now_ms = now_of,
                                                .write_head = write_head,
                                                .write_row = write_row,
                                                .sees = sees_board,
                                                .rights = rights_of,
                                                .reveal = reveal,
                                                .conceal = conceal,
                                                .ctx = api,
                                                .frame_rate = api->config.live_frame_rate,
                                                .viewers_max = api->config.live_viewers_max,
                                                .topics_max = api->config.live_topics_max},
                            &api->live, err);
}

/* ---- what is asked ---- */

/* The last event that the client has seen, if it says so. False: malformed, and the call is ended. */
static bool read_since(rung_call *c, uint64_t *since, bool *has_since) {
    rung_slice id = rung_exchange_header(c->x, "last-event-id");
    const rung_arg *a = rung__call_arg(c, "since");
    *has_since = a->given;
    *since = (uint64_t)a->number;
    if (!id.len)
        return true;
    *since = 0;
    *has_since = true;
    for (size_t i = 0; i < id.len; i++) {
        if (id.ptr[i] < '0' || id.ptr[i] > '9' || i >= 19)
            return rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "Last-Event-ID",
                                        "expected the id of an event");
        *since = *since * 10 + (uint64_t)(id.ptr[i] - '0');
    }
    return true;
}

static uint64_t asker_of(const rung_call *c) {
    return rung_access_identity(c->api->service.access, &c->who);
}

/* Is it the player who asks? */
static bool is_self(const rung_who *who, rung_slice player) {
    return who->player_len && rung_slice_eq(rung_who_player(who), player);
}

static rung_live_spec board_spec(const rung_call *c) {
    rung_slice player = rung__call_text(c, "player"), friends = rung__call_text(c, "friends");
    rung_slice whose = rung_who_resolve(&c->who, player.len ? player : friends);
    const rung_arg *rank = rung__call_arg(c, "rank");
    return (rung_live_spec){.kind = player.len    ? RUNG_LIVE_AROUND
                                    : friends.len ? RUNG_LIVE_FRIENDS
                                                  : RUNG_LIVE_TOP,
                            .board = c->board,
                            .player = whose,
                            .is_own = is_self(&c->who, whose),
                            .count = rung__call_count(c, player.len ? "around" : "limit"),
                            .window = rung__call_text(c, "window"),
                            .window_id = rung__call_text(c, "window_id"),
                            .scope = rung__call_text(c, "scope"),
                            .has_rank = rank->given,
                            .rank = rank->given ? (rung_rank_style)rank->number : RUNG_RANK_UNIQUE,
                            .asker = asker_of(c)};
}

/* ---- who may ---- */

/* The permission that a viewer needs as long as it watches. */
typedef struct permit {
    rung_api *api;
    rung_who *who;
    rung_slice board, player; /* of the path; ptr NULL: none */
    uint64_t sight;           /* of a feed: a hash of the boards it may see */
} permit;

/* A feed ends when its boards change. */
static uint64_t sight_of(rung_api *api, rung_who *who) {
    static const rung_hash_key key = {0};
    char text[RUNG_SIGHT_MAX];
    rung_slice sight = rung_access_sight(api->service.access, who, text);
    return sight.ptr ? rung_hash_keyed(&key, sight.ptr, sight.len) : 1;
}

static permit permit_of(rung_call *c) {
    return (permit){c->api, &c->who, c->board, c->player, sight_of(c->api, &c->who)};
}

static rung_verdict allow(const permit *p, const rung_need *need, rung_err *err) {
    rung_access_answer why;
    const rung_divergence *d = rung_hub_divergence(p->api->service.hub);
    if (d) {
        rung_divergence_fail(d, err);
        return RUNG_ACCESS_FORBIDDEN;
    }
    rung_verdict v = rung_access_allow(p->api->service.access, p->who, need,
                                       rung_hub_now(p->api->service.hub), &why);
    if (v != RUNG_ACCESS_OK && err)
        *err = why.err;
    return v;
}

static bool may_still(const permit *p, rung_err *err) {
    if (!p->api->service.hub)
        return true;
    rung_need need = {.role = RUNG_ROLE_READ, .board = p->board, .player = p->player};
    if (allow(p, &need, err) != RUNG_ACCESS_OK)
        return false;
    if (p->board.ptr || sight_of(p->api, p->who) == p->sight)
        return true;
    RUNG_FAIL(err, RUNG_EREFUSED, "the key's boards have changed");
    return false;
}

/* A list of friends needs a key, even on a public board. */
static rung_need watch_need(const permit *p, const rung_live_spec *spec) {
    return (rung_need){.role = RUNG_ROLE_READ,
                       .is_keyed = spec->kind == RUNG_LIVE_FRIENDS,
                       .board = p->board,
                       .player = spec->player.len ? spec->player : p->player};
}

/* ---- server-sent events ---- */

typedef struct stream {
    rung_exchange *x;
    rung_viewer *viewer;
    permit permit;
} stream;

static void stream_send(void *ctx, rung_blob *frame) {
    rung_exchange_write_blob(((stream *)ctx)->x, frame);
}

static size_t stream_queued(void *ctx) {
    return rung_exchange_queued(((stream *)ctx)->x);
}

static bool stream_may(void *ctx) {
    return may_still(&((stream *)ctx)->permit, NULL);
}

static void stream_end(void *ctx, rung_viewer *v, rung_live_end why) {
    static const char *const words[] = {"stopping", "gone", "forbidden", "unavailable"};
    stream *s = ctx;
    char text[512];
    rung_err err = {0};
    rung_json_writer w = {.data = text, .size = sizeof text};
    (void)v;
    s->viewer = NULL;
    rung_json_append(&w, RUNG_SLICE("event: end\ndata: "));
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "why", word, words[why]);
    if (why == RUNG_LIVE_FORBIDDEN && !may_still(&s->permit, &err))
        RUNG_JSON_MEMBER(&w, "detail", word, err.message);
    rung_json_close_object(&w);
    rung_json_append(&w, RUNG_SLICE("\n\n"));
    if (!rung_json_failed(&w))
        rung_exchange_write(s->x, rung_json_written(&w));
    rung_exchange_end(s->x);
}

static void stream_gone(void *ctx, rung_exchange *x) {
    stream *s = ctx;
    if (s->viewer)
        rung_live_leave(s->viewer);
    rung_exchange_cut(x);
}

static void open_stream(rung_call *c, const rung_live_spec *spec, const uint64_t *since) {
    static const rung_live_sink sink = {.encoding = RUNG_LIVE_SSE,
                                        .send = stream_send,
                                        .queued = stream_queued,
                                        .may = stream_may,
                                        .end = stream_end};
    rung_err err = {0};
    stream *s = rung_exchange_alloc(c->x, sizeof *s);
    rung_status st = s ? rung_live_check(c->api->live, spec, &err) : RUNG_ENOMEM;
    if (st != RUNG_OK) {
        rung__call_malformed(c, st, &err);
        return;
    }
    *s = (stream){.x = c->x, .permit = permit_of(c)};
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung_exchange_set(c->x, "X-Accel-Buffering", RUNG_SLICE("no"));
    rung_exchange_watch(c->x, &(rung_exchange_watcher){.gone = stream_gone, .ctx = s});
    rung_exchange_begin(c->x, 200, RUNG_TYPE_EVENTS);
    if (!rung_exchange_is_chunked(c->x)) { /* HEAD or HTTP/1.0 */
        rung_exchange_end(c->x);
        return;
    }
    rung_exchange_write(c->x, RUNG_SLICE("retry: 2000\n\n"));
    st = rung_live_open(c->api->live, spec, since, &sink, s, &s->viewer, &err);
    if (st != RUNG_OK) /* rung_live_check() passed, so it is out of memory */
        stream_end(s, NULL, RUNG_LIVE_FAILED);
}

/* ---- WebSocket ---- */

enum { PENDING_MAX = 16 }; /* submissions in flight of one WebSocket */
struct submission;

/* The client of a WebSocket, which outlives its exchange. */
typedef struct peer {
    permit permit; /* its texts are below */
    rung_who who;
    rung_websocket *ws;
    uint32_t share;         /* of what is in flight */
    uint32_t pending_count; /* up to PENDING_MAX */
    struct submission *pending[PENDING_MAX];
    uint64_t asker;
    char board[RUNG_NAME_MAX], player[RUNG_NAME_MAX];
} peer;

static bool peer_may(void *ctx, rung_live_spec *spec, rung_err *err) {
    peer *p = ctx;
    if (!spec)
        return may_still(&p->permit, err);
    spec->asker = p->asker;
    spec->player = rung_who_resolve(&p->who, spec->player);
    spec->is_own = is_self(&p->who, spec->player);
    rung_need need = watch_need(&p->permit, spec);
    return p->permit.api->service.hub && allow(&p->permit, &need, err) == RUNG_ACCESS_OK;
}

/* ---- a player's own submissions over a WebSocket ---- */

/* One that is in flight. */
typedef struct submission {
    rung_api *api;
    peer *peer; /* NULL: the connection is gone */
    uint64_t nonce;
    size_t board_len;
    char board[RUNG_NAME_MAX];
} submission;

static void forget_submission(submission *m) {
    peer *p = m->peer;
    for (uint32_t i = 0; p && i < p->pending_count; i++)
        if (p->pending[i] == m) {
            p->pending[i] = p->pending[--p->pending_count];
            break;
        }
    rung_alloc_free(m->api->config.alloc, m, sizeof *m);
}

static void say_refused(peer *p, uint64_t nonce, rung_status st, const rung_access_answer *why) {
    char text[1024];
    rung_json_writer w = {.data = text, .size = sizeof text};
    rung_problem problem = rung__access_problem(st, why);
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "type", word, "error");
    if (nonce)
        RUNG_JSON_MEMBER(&w, "nonce", uint, nonce);
    rung_problem_write(&w, &problem);
    rung_json_close_object(&w);
    if (!rung_json_failed(&w))
        rung_websocket_say(p->ws, rung_json_written(&w));
}

static void say_outcome(const submission *m, const rung_outcome *outcome) {
    peer *p = m->peer;
    rung_json_writer *w = &m->api->out;
    const rung_board_def *def;
    rung_slice board = rung_slice_of(m->board, m->board_len);
    if (rung_state_board(rung__api_state(m->api), board, &def) != RUNG_OK) {
        rung_access_answer why = {0};
        say_refused(p, m->nonce, RUNG_FAIL_FIELD(&why.err, RUNG_EABSENT, "board", "no such board"),
                    &why);
        return;
    }
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "type", word, "outcome");
    RUNG_JSON_MEMBER(w, "nonce", uint, m->nonce);
    rung_answer_outcome(w, def, rung_who_player(&p->who), outcome);
    rung_json_close_object(w);
    if (!rung_json_failed(w))
        rung_websocket_say(p->ws, rung_json_written(w));
}

static void submission_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                                const rung_err *err) {
    submission *m = ctx;
    rung_access_answer why = {0};
    if (err)
        why.err = *err;
    if (m->peer && st < 0)
        say_refused(m->peer, m->nonce, st, &why);
    else if (m->peer)
        say_outcome(m, outcome);
    forget_submission(m);
}

/* Signed as if it came over HTTP: POST /v1/boards/{board}/scores. */
static rung_status verify_message(const peer *p, const rung_websocket_submission *q, int64_t now_ms,
                                  rung_signature *signature, rung_err *err) {
    char target[32 + 3 * RUNG_NAME_MAX], *at = target;
    rung_slice_put(&at, RUNG_SLICE("/v1/boards/"));
    at += rung_url_encode(q->board, at);
    rung_slice_put(&at, RUNG_SLICE("/scores"));
    rung_signed_text text = {RUNG_SLICE("POST"), rung_slice_of(target, (size_t)(at - target)),
                             q->body};
    rung_status st =
        rung_signature_read(q->session, q->time, q->nonce, q->signature, signature, err);
    if (st < 0)
        return st;
    return rung_signed_verify(&p->permit.api->service, &p->who, q->board, signature, &text, now_ms,
                              err);
}

/* Read and propose it. */
static rung_status put_message(peer *p, rung_slice board, const rung_signature *signature,
                               char *text, size_t len, int64_t now_ms, rung_access_answer *why) {
    rung_api *api = p->permit.api;
    rung_slot slots[SCORE_FIELDS];
    const rung_board_def *def;
    rung_status st =
        rung_submission_read(&rung_submission_schema, text, len, &api->reader, slots, &why->err);
    if (st < 0) {
        if (why->err.reason == RUNG_REASON_NONE)
            why->err.reason = RUNG_REASON_MALFORMED;
        return st;
    }
    st = rung_submit_open(&api->service, NULL, board, now_ms, &def, why);
    if (st >= 0)
        st = rung_submission_fill(slots, board, def, &api->reader, &api->event, &why->err);
    if (st >= 0)
        st = rung_signed_fill(&p->who, signature, &api->event.score, &why->err);
    if (st < 0)
        return st;
    submission *m = rung_alloc_zeroed(api->config.alloc, sizeof *m);
    if (!m)
        return RUNG_FAIL(&why->err, RUNG_ENOMEM, "out of memory");
    *m = (submission){.api = api, .peer = p, .nonce = signature->nonce, .board_len = board.len};
    memcpy(m->board, board.ptr, board.len);
    p->pending[p->pending_count++] = m;
    st = rung_submit_put(&api->service, &p->who, (rung_hub_sender){.share = p->share}, &api->event,
                         now_ms, submission_answered, m, why);
    if (st < 0)
        forget_submission(m);
    return st;
}

static void peer_submit(void *ctx, const rung_websocket_submission *sent) {
    peer *p = ctx;
    rung_websocket_submission own = *sent, *q = &own;
    rung_api *api = p->permit.api;
    char text[RUNG_WEBSOCKET_MESSAGE_MAX];
    rung_signature signature = {0};
    rung_access_answer why = {0};
    rung_need need = {.role = RUNG_ROLE_SERVER, .cost = 1, .is_signed = true};
    rung_status st = RUNG_OK;
    if (!api->service.hub || api->is_stopped)
        return;
    int64_t now_ms = rung_hub_now(api->service.hub);
    if (!q->board.len)
        q->board = p->permit.board;
    need.board = q->board;
    if (!rung_name_is_valid(q->board))
        st = RUNG_FAIL_FIELD_WHY(&why.err, RUNG_EINVAL, RUNG_REASON_MALFORMED, "board",
                                 "expected the board's id");
    else if (!p->who.player_len)
        st = RUNG_FAIL_WHY(&why.err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN,
                           "only a player's token may submit here");
    else if (rung_hub_divergence(api->service.hub))
        st = rung_divergence_fail(rung_hub_divergence(api->service.hub), &why.err);
    else if (rung_access_allow(api->service.access, &p->who, &need, now_ms, &why) != RUNG_ACCESS_OK)
        st = why.err.code;
    else if (p->pending_count == PENDING_MAX)
        st = RUNG_FAIL_WHY(&why.err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                           "at most %d submissions in flight", PENDING_MAX);
    if (st >= 0)
        st = verify_message(p, q, now_ms, &signature, &why.err);
    if (st >= 0) {
        if (q->body.len) /* shorter than its message */
            memcpy(text, q->body.ptr, q->body.len);
        st = put_message(p, q->board, &signature, text, q->body.len, now_ms, &why);
    }
    if (st < 0)
        say_refused(p, signature.nonce, st, &why);
}

static void peer_closed(void *ctx) {
    peer *p = ctx;
    for (uint32_t i = 0; i < p->pending_count; i++)
        p->pending[i]->peer = NULL;
    rung_alloc_free(p->permit.api->config.alloc, p, sizeof *p);
}

static peer *make_peer(rung_call *c) {
    peer *p = rung_alloc_zeroed(c->api->config.alloc, sizeof *p);
    if (!p)
        return NULL;
    p->who = c->who;
    p->asker = asker_of(c);
    p->share = rung__call_share(c);
    p->permit = permit_of(c);
    p->permit.who = &p->who;
    if (c->board.len)
        p->permit.board.ptr = memcpy(p->board, c->board.ptr, c->board.len);
    if (c->player.len)
        p->permit.player.ptr = memcpy(p->player, c->player.ptr, c->player.len);
    return p;
}

/* Check the WebSocket handshake. False: the call is ended. */
static bool check_handshake(rung_call *c, char accept[RUNG_WEBSOCKET_ACCEPT_SIZE]) {
    if (!rung_slice_eq(rung_exchange_header(c->x, "sec-websocket-version"), RUNG_SLICE("13"))) {
        rung_exchange_set(c->x, "Sec-WebSocket-Version", RUNG_SLICE("13"));
        rung__call_fail_with(c, RUNG_EVERSION, RUNG_REASON_WEBSOCKET, "Sec-WebSocket-Version",
                             "expected 13");
        return false;
    }
    if (!rung_websocket_accept(rung_exchange_header(c->x, "sec-websocket-key"), accept))
        return rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "Sec-WebSocket-Key",
                                    "expected 16 bytes in base64");
    if (!rung_exchange_may_change(c->x))
        return rung__call_fail_with(c, RUNG_EREFUSED, RUNG_REASON_ORIGIN, "Origin",
                                    "not among the configured ones");
    return true;
}

/* rung_live_check() has checked that they fit. */
#define SPEC_TEXTS_MAX (4 * RUNG_NAME_MAX + RUNG_LIVE_SCOPE_MAX + RUNG_SIGHT_MAX)

/* Copy the spec's texts: they belong to the exchange, which ends with the upgrade. */
static rung_live_spec keep_spec(const rung_live_spec *spec, char texts[SPEC_TEXTS_MAX]) {
    rung_live_spec kept = *spec;
    rung_slice *slices[] = {&kept.board,     &kept.player, &kept.window,
                            &kept.window_id, &kept.scope,  &kept.sight};
    for (size_t i = 0; i < RUNG_COUNT_OF(slices); i++)
        *slices[i] = rung_slice_put(&texts, *slices[i]);
    return kept;
}

static void open_websocket(rung_call *c, const rung_live_spec *spec, const uint64_t *since) {
    char accept[RUNG_WEBSOCKET_ACCEPT_SIZE], headers[128];
    rung_err err = {0};
    rung_websocket *ws = NULL;
    if (!check_handshake(c, accept))
        return;
    rung_status st = rung_live_check(c->api->live, spec, &err);
    peer *p = st == RUNG_OK ? make_peer(c) : NULL;
    if (st == RUNG_OK && !p)
        st = RUNG_ENOMEM;
    if (st == RUNG_OK)
        st = rung_websocket_create(&(rung_websocket_config){.alloc = c->api->config.alloc,
                                                            .live = c->api->live,
                                                            .board = c->board,
                                                            .may = peer_may,
                                                            .submit = peer_submit,
                                                            .closed = peer_closed,
                                                            .ctx = p},
                                   &ws, &err);
    if (st != RUNG_OK) {
        if (p)
            peer_closed(p);
        rung__call_malformed(c, st, &err);
        return;
    }
    p->ws = ws;
    int len = snprintf(headers, sizeof headers,
                       "Upgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n", accept);
    char texts[SPEC_TEXTS_MAX];
    rung_live_spec kept = keep_spec(spec, texts);
    rung_conn *conn = rung_exchange_upgrade(c->x, rung_slice_of(headers, (size_t)len),
                                            rung_websocket_protocol(), ws);
    if (!conn)
        rung_websocket_destroy(ws);
    else
        rung_websocket_begin(ws, conn, &kept, since);
}

static void open_live(rung_call *c, const rung_live_spec *spec) {
    uint64_t since;
    bool has_since;
    if (!read_since(c, &since, &has_since))
        return;
    if (rung_exchange_request(c->x)->wants_upgrade)
        open_websocket(c, spec, has_since ? &since : NULL);
    else
        open_stream(c, spec, has_since ? &since : NULL);
}

void rung_api_board_live(rung_call *c) {
    rung_live_spec spec = board_spec(c);
    permit p = permit_of(c);
    rung_access_answer why = {0};
    rung_need need = watch_need(&p, &spec);
    if (rung__call_text(c, "player").len && rung__call_text(c, "friends").len)
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "friends",
                             "not together with player");
    else if (allow(&p, &need, &why.err) != RUNG_ACCESS_OK)
        rung__call_refuse(c, why.err.code, &why);
    else
        open_live(c, &spec);
}

void rung_api_player_live(rung_call *c) {
    char *sight = rung__call_alloc(c, RUNG_SIGHT_MAX);
    if (!sight)
        return;
    open_live(c,
              &(rung_live_spec){.kind = RUNG_LIVE_FEED,
                                .player = c->player,
                                .is_own = is_self(&c->who, c->player),
                                .window = rung__call_text(c, "window"),
                                .sight = rung_access_sight(c->api->service.access, &c->who, sight),
                                .asker = asker_of(c)});
}
