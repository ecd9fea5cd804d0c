/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of players: begun and ended by the game's server. The secret is derived when it is shown (guard/signature.h)
 * and kept nowhere; the buffer of the answer is wiped. */
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"
#include "service/sessions.h"

#include <string.h>

static void write_session(rung_json_writer *w, rung_slice id, const rung_session_info *info,
                          rung_slice secret) {
    RUNG_JSON_MEMBER(w, "session", string, id);
    RUNG_JSON_MEMBER(w, "player", string, info->player);
    RUNG_JSON_MEMBER(w, "secret", string, secret);
    RUNG_JSON_MEMBER(w, "expires", time, info->expires_ms);
    RUNG_JSON_MEMBER(w, "window_s", int, info->window_ms / 1000);
}

static void answer_session(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *why) {
    rung_call *c = ctx;
    rung_api *api = c->api;
    char secret[RUNG_SESSION_SECRET_SIZE];
    rung_session_info info;
    rung_err err = {0};
    (void)outcome;
    if (st >= 0) {
        why = &err;
        st = rung_session_show(&api->service, c->note, rung_hub_now(api->service.hub), &info,
                               secret, &err);
    }
    if (st < 0) {
        rung__call_fail(c, st, why);
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    write_session(w, c->note, &info, rung_slice_of(secret, sizeof secret));
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 201, rung_state_seq(rung__api_state(api)));
    explicit_bzero(secret, sizeof secret);
    if (w->data)
        explicit_bzero(w->data, w->size);
}

void rung_api_begin_session(rung_call *c) {
    rung_api *api = c->api;
    rung_slot slots[SESSION_FIELDS];
    uint8_t chance[RUNG_SESSION_CHANCE_SIZE];
    rung_err err = {0};
    if (!rung__call_read_body(c, slots))
        return;
    char *id = rung__call_alloc(c, RUNG_SESSION_ID_SIZE);
    if (!id)
        return;
    c->note = rung_slice_of(id, RUNG_SESSION_ID_SIZE);
    int64_t life_s =
        slots[SESSION_LIFE].present ? slots[SESSION_LIFE].integer : RUNG_SESSION_LIFE_S_DEFAULT;
    rung_status st = rung_loop_random(api->config.loop, chance, sizeof chance);
    if (st < 0)
        st = RUNG_FAIL(&err, RUNG_EIO, "the system gave no random bytes");
    else
        st = rung_session_begin(&api->service, rung__call_sender(c), slots[SESSION_PLAYER].text,
                                life_s * 1000, chance, rung_hub_now(api->service.hub), id,
                                answer_session, c, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
}

static void end_sessions(rung_call *c, rung_slice id, rung_slice player) {
    rung_event *e = &c->api->event;
    e->kind = RUNG_EVENT_SESSION;
    memset(&e->session, 0, sizeof e->session);
    e->session.is_ended = true;
    e->session.id = id;
    e->session.player = player;
    rung__call_change(c);
}

void rung_api_end_session(rung_call *c) {
    rung_slice id = rung__call_arg(c, "session")->text;
    if (rung_session_id_is_valid(id))
        end_sessions(c, id, (rung_slice){NULL, 0});
    else
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "session",
                             "expected the id of a session");
}

void rung_api_end_sessions(rung_call *c) {
    end_sessions(c, (rung_slice){NULL, 0}, c->player);
}

/* ---- what players sign ---- */

bool rung__call_is_signed(const rung_call *c) {
    return c->route->flags & RUNG_MAY_SIGN && rung_exchange_header(c->x, "rung-signature").ptr;
}

rung_status rung__call_verify(rung_call *c, int64_t now_ms, rung_signature *out, rung_err *err) {
    const rung_request *r = rung_exchange_request(c->x);
    char target[RUNG_SIGNED_TARGET_MAX], *at = target;
    rung_status st = rung_signature_read(rung_exchange_header(c->x, "rung-session"),
                                         rung_exchange_header(c->x, "rung-time"),
                                         rung_exchange_header(c->x, "rung-nonce"),
                                         rung_exchange_header(c->x, "rung-signature"), out, err);
    if (st < 0)
        return st;
    if (r->path.len + 1 + r->query.len > sizeof target)
        return RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_SIGNATURE,
                             "the path and query are too long to be signed");
    rung_slice_put(&at, r->path);
    if (r->query.len) {
        rung_slice_put(&at, RUNG_SLICE("?"));
        rung_slice_put(&at, r->query);
    }
    rung_signed_text text = {.method = RUNG_SLICE("POST"),
                             .target = rung_slice_of(target, (size_t)(at - target)),
                             .body = rung_slice_of(c->body, c->body_len)};
    return rung_signed_verify(&c->api->service, &c->who, c->board, out, &text, now_ms, err);
}
