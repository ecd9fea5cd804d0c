/* SPDX-License-Identifier: Apache-2.0 */
#include "front/resp/permission.h"

#include "front/resp/arguments.h"
#include "front/resp/server.h"

static const rung_slice NONE = {NULL, 0};

/* ---- who ---- */

void rung__resp_forget_who(rung__resp_session *s, int64_t now_ms) {
    rung_access_identify(s->r->access, NONE, rung_conn_peer_key(s->conn), now_ms, &s->who, NULL);
}

/* Clients send the user name "default"; there is no other. */
bool rung__resp_log_in(rung__resp_call *call, rung_slice user, rung_slice secret) {
    rung__resp_session *s = call->s;
    rung_who who;
    rung_access_answer why;
    rung_verdict v = RUNG_ACCESS_UNKNOWN;
    if (rung__resp_is_word(user, "default") && secret.len)
        v = rung_access_identify(call->r->access, secret, rung_conn_peer_key(s->conn), call->now_ms,
                                 &who, &why);
    if (v == RUNG_ACCESS_TOO_MANY)
        return rung__resp_error_throttled(call, "too many bad tokens from this address", &why);
    if (v != RUNG_ACCESS_OK)
        return rung__resp_error(call,
                                "WRONGPASS invalid username-password pair or user is disabled.");
    s->who = who;
    call->is_known = false;
    rung__resp_session_limits(s, call->now_ms);
    return true;
}

/* ---- may it? ---- */

static bool may(rung__resp_session *s, const rung_need *need, int64_t now_ms) {
    return rung_access_allow(s->r->access, &s->who, need, now_ms, NULL) == RUNG_ACCESS_OK;
}

bool rung__resp_is_stranger(rung__resp_session *s, int64_t now_ms) {
    rung_need need = {.role = RUNG_ROLE_READ, .player = rung_who_player(&s->who)};
    return !may(s, &need, now_ms);
}

bool rung__resp_has_role(rung__resp_session *s, rung_role role, rung_slice board, int64_t now_ms) {
    return may(s, &(rung_need){.role = role, .board = board}, now_ms);
}

bool rung__resp_is_admin(rung__resp_session *s, int64_t now_ms) {
    return rung__resp_has_role(s, RUNG_ROLE_ADMIN, RUNG_BOARDS_EACH, now_ms);
}

/* Only an admin may delete a board with its own rules. */
static bool is_ruled(const rung__resp_call *call, rung_slice key) {
    rung_zkey k;
    rung_zkey_open(call->state, key, call->now_ms, &k);
    return k.kind == RUNG_ZKEY_BOARD || (k.kind == RUNG_ZKEY_SKETCH && k.is_defined);
}

static bool may_use_key(rung__resp_call *call, rung_slice key, rung_slice player) {
    const rung__resp_command *c = call->command;
    if (!key.len)
        key.ptr = NULL; /* no board has that name */
    rung_need need = {.role = c->role,
                      .is_keyed = c->flags & RUNG__KEYED,
                      .board = key,
                      .player = player,
                      .is_signed = c->flags & RUNG__SIGNED};
    if (c->flags & RUNG__REMOVES && is_ruled(call, key))
        need.role = RUNG_ROLE_ADMIN;
    return may(call->s, &need, call->now_ms);
}

static bool may_use_keys(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung_slice key, player = NONE;
    if (c->player_arg && (uint32_t)c->player_arg < call->argc)
        player = call->argv[c->player_arg];
    for (uint32_t i = 0; rung__resp_command_key(c, call->argv, call->argc, i, &key); i++)
        if (!may_use_key(call, key, player))
            return false;
    return true;
}

bool rung__resp_is_served(rung__resp_call *call) {
    rung_err err;
    const rung_divergence *d = rung_hub_divergence(call->r->hub);
    return !d || rung__resp_error_status(call, rung_divergence_fail(d, &err), &err);
}

bool rung__resp_is_permitted(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung__resp_session *s = call->s;
    rung_need need = {.role = c->role};
    if (c->flags & RUNG__NO_AUTH)
        return true;
    if (!call->is_known && rung__resp_is_stranger(s, call->now_ms)) {
        rung__resp_session_limits(s, call->now_ms);
        return rung__resp_error(call, "NOAUTH Authentication required.");
    }
    call->is_known = true;
    if (c->flags & (RUNG__READ | RUNG__WRITE | RUNG__EXEC) && !rung__resp_is_served(call))
        return false;
    if (c->role == RUNG_ROLE_NONE)
        return true;
    if (c->first_key || c->flags & RUNG__MOVABLE ? may_use_keys(call) : may(s, &need, call->now_ms))
        return true;
    need.board = RUNG_BOARDS_EACH;
    need.player = rung_who_player(&s->who);
    if (c->first_key && may(s, &need, call->now_ms))
        return rung__resp_error_denied(call);
    return rung__resp_error_of(call, "NOPERM this user has no permissions to run the '",
                               rung_slice_str(c->name), "' command");
}

bool rung__resp_is_within_rate(rung__resp_call *call, uint32_t n, rung_access_answer *why) {
    rung_who *who = &call->s->who;
    rung_need need = {.role = RUNG_ROLE_READ, .player = rung_who_player(who), .cost = n};
    rung_verdict v = rung_access_allow(call->r->access, who, &need, call->now_ms, why);
    call->is_known = v == RUNG_ACCESS_OK;
    return v != RUNG_ACCESS_TOO_MANY;
}

bool rung__resp_sees_all(const rung__resp_call *call) {
    char text[RUNG_SIGHT_MAX];
    return !rung_access_sight(call->r->access, &call->s->who, text).ptr;
}

/* For a key that may not see all, every name is checked. */
uint64_t rung__resp_count_visible(const rung__resp_call *call) {
    rung_slice name;
    rung_zkey_kind kind;
    uint64_t cursor = 0, count = 0;
    if (rung__resp_sees_all(call))
        return rung_zkeys_count(call->state);
    while (rung_zkeys_next(call->state, call->now_ms, &cursor, &name, &kind))
        count += rung__resp_has_role(call->s, RUNG_ROLE_READ, name, call->now_ms);
    return count;
}

void rung__resp_reveal_and_answer(rung__resp_call *call) {
    const rung_who *who = &call->s->who;
    rung_hub *hub = call->r->hub;
    bool is_revealed = who->player_len && hub && call->command->flags & RUNG__READ &&
                       rung_hub_reveal(hub, (rung_slice){NULL, 0}, rung_who_player(who));
    call->command->answer(call);
    if (is_revealed)
        rung_hub_conceal(hub);
}
