/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - players' sessions, and the submissions that players sign with them, for every protocol.
 *
 *     rung_session_begin(&service, from, player, life_ms, chance, now_ms, id, answer, ctx, &err);  // a game's server
 *     rung_session_show(&service, id, &info, secret, &err);                            // when it is answered
 *     ...
 *     rung_signed_verify(&service, &who, board, &signature, &text, now_ms, &err);      // the body, still unread
 *     rung_signed_fill(&who, &signature, &event.score, &err);                          // once it is
 *
 * docs/trust.md says what is signed and what that stops. Thread: the owner of the state. */
#ifndef RUNG_SERVICE_SESSIONS_H
#define RUNG_SERVICE_SESSIONS_H

#include "guard/signature.h"
#include "service/service.h"

#define RUNG_SESSION_LIFE_S_MIN     60
#define RUNG_SESSION_LIFE_S_MAX     (7 * 86400)
#define RUNG_SESSION_LIFE_S_DEFAULT 3600

/* Propose a new session. RUNG_EUNSUPPORTED: the server has no key for sessions; otherwise as rung_commit_put(). */
RUNG_NODISCARD rung_status rung_session_begin(const rung_service *s, rung_hub_sender from,
                                              rung_slice player, int64_t life_ms,
                                              const uint8_t chance[RUNG_SESSION_CHANCE_SIZE],
                                              int64_t now_ms, char id_out[RUNG_SESSION_ID_SIZE],
                                              rung_hub_answer *answer, void *ctx, rung_err *err);

/* What is known of a session, and its secret: wipe that after use. RUNG_EABSENT: it is over, or its key is. */
RUNG_NODISCARD rung_status rung_session_show(const rung_service *s, rung_slice id, int64_t now_ms,
                                             rung_session_info *out,
                                             char secret_out[RUNG_SESSION_SECRET_SIZE],
                                             rung_err *err);

/* May the player of this token submit what is signed to the board? RUNG_OK, or RUNG_EREFUSED as
 * rung_state_check_signed(), or with RUNG_REASON_SIGNATURE: it does not match. */
RUNG_NODISCARD rung_status rung_signed_verify(const rung_service *s, const rung_who *who,
                                              rung_slice board, const rung_signature *signature,
                                              const rung_signed_text *text, int64_t now_ms,
                                              rung_err *err);

/* Put the verified signature into the event; "me" is the token's player. RUNG_EREFUSED: it is about another player.
 * RUNG_EINVAL: the player says when it was. */
RUNG_NODISCARD rung_status rung_signed_fill(const rung_who *who, const rung_signature *signature,
                                            rung_score_event *e, rung_err *err);

#endif
