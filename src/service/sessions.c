/* SPDX-License-Identifier: Apache-2.0 */
/* The cheap checks come first: a session that is over or a nonce that was used costs no HMAC. */
#include "service/sessions.h"

#include <openssl/crypto.h>

/* The newest key of sessions that is live; NULL: there is none. */
static const rung_key *newest_key(const rung_keys *keys, int64_t now_ms) {
    const rung_key *newest = NULL;
    for (size_t i = 0; i < rung_keys_count(keys); i++) {
        const rung_key *key = rung_keys_at(keys, i);
        if (key->alg == RUNG_ALG_SESSION && rung_key_is_live(key, now_ms))
            newest = key;
    }
    return newest;
}

rung_status rung_session_begin(const rung_service *s, rung_hub_sender from, rung_slice player,
                               int64_t life_ms, const uint8_t chance[RUNG_SESSION_CHANCE_SIZE],
                               int64_t now_ms, char id_out[RUNG_SESSION_ID_SIZE],
                               rung_hub_answer *answer, void *ctx, rung_err *err) {
    const rung_key *key = newest_key(rung_access_keys(s->access), now_ms);
    if (!key)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED,
                         "no key for sessions: rung keys create --role player-token --alg session");
    rung_session_id_make(chance, id_out);
    rung_event event = {.kind = RUNG_EVENT_SESSION,
                        .session = {.id = rung_slice_of(id_out, RUNG_SESSION_ID_SIZE),
                                    .player = player,
                                    .key = key->id,
                                    .expires_ms = now_ms + life_ms,
                                    .window_ms = rung_access_signature_window(s->access)}};
    return rung_commit_put(rung_hub_commit(s->hub), from, &event, NULL, answer, ctx, err);
}

static const rung_key *find_key(const rung_service *s, rung_slice id, int64_t now_ms) {
    const rung_key *key = rung_keys_find(rung_access_keys(s->access), id);
    return key && key->alg == RUNG_ALG_SESSION && rung_key_is_live(key, now_ms) ? key : NULL;
}

rung_status rung_session_show(const rung_service *s, rung_slice id, int64_t now_ms,
                              rung_session_info *out, char secret_out[RUNG_SESSION_SECRET_SIZE],
                              rung_err *err) {
    const rung_key *key = NULL;
    if (rung_state_session(rung_hub_state(s->hub), id, out) == RUNG_OK)
        key = find_key(s, out->key, now_ms);
    if (!key)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "session", "no such session");
    if (!rung_session_secret(key, id, out->player, secret_out))
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    return RUNG_OK;
}

rung_status rung_signed_verify(const rung_service *s, const rung_who *who, rung_slice board,
                               const rung_signature *signature, const rung_signed_text *text,
                               int64_t now_ms, rung_err *err) {
    char secret[RUNG_SESSION_SECRET_SIZE];
    rung_session_info session;
    rung_score_event e = {.board = board, .player = rung_who_player(who)};
    e.session = signature->session;
    e.nonce = signature->nonce;
    e.signed_ms = signature->time_ms;
    rung_status st = rung_state_check_signed(rung_hub_state(s->hub), &e, now_ms, err);
    if (st < 0)
        return st;
    if (rung_session_show(s, e.session, now_ms, &session, secret, err) < 0)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_EXPIRED, "session",
                                   "the server's key for it has been revoked or has expired");
    bool is_good = rung_signature_matches(signature, text, secret);
    OPENSSL_cleanse(secret, sizeof secret);
    return is_good ? RUNG_OK
                   : RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_SIGNATURE, "signature",
                                         "it does not match the request");
}

rung_status rung_signed_fill(const rung_who *who, const rung_signature *signature,
                             rung_score_event *e, rung_err *err) {
    e->player = rung_who_resolve(who, e->player);
    if (!rung_slice_eq(e->player, rung_who_player(who)))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN, "player",
                                   "a player's token may submit for its own player only");
    if (e->has_at)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "at",
                               "not in a player's own submission: the server's time counts");
    e->session = signature->session;
    e->nonce = signature->nonce;
    e->signed_ms = signature->time_ms;
    return RUNG_OK;
}
