/* SPDX-License-Identifier: Apache-2.0 */
/* moderate.h - changes about people and boards that are not scores: bans, removed entries, erasure, profiles, friends.
 *
 *     rung_event event = {.kind = RUNG_EVENT_BANNED, .ban = {.player = player, .reason = reason}};
 *     rung_moderate_put(&service, from, &event, answer, ctx, &err);
 *
 * Whether the sender may is asked before (access.h). Thread: the owner of the state. */
#ifndef RUNG_SERVICE_MODERATE_H
#define RUNG_SERVICE_MODERATE_H

#include "service/service.h"

/* Propose the change: rung_commit_put() behind the checks. RUNG_EINVAL: a player as their own friend; RUNG_ELIMIT:
 * the names of a list of friends are too long together. */
RUNG_NODISCARD rung_status rung_moderate_put(const rung_service *s, rung_hub_sender from,
                                             rung_event *event, rung_hub_answer *answer, void *ctx,
                                             rung_err *err);

/* Record in the log that a key of the server was created or revoked: id, role, boards and expiry, no secret. */
RUNG_NODISCARD rung_status rung_moderate_key(const rung_service *s, const rung_actor *actor,
                                             const rung_key *key, bool is_revoked, rung_err *err);

#endif
