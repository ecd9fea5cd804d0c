/* SPDX-License-Identifier: Apache-2.0 */
#include "service/moderate.h"

static rung_status check_friend(const rung_event *e, rung_err *err) {
    if (!rung_slice_eq(e->friend.player, e->friend.other))
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friend", "a player cannot be their own friend");
}

static rung_status check_friends(const rung_event *e, rung_err *err) {
    rung_slice packed = e->friends.packed, name;
    if (packed.len > RUNG_FRIENDS_BYTES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "friends",
                               "the names are too long together, %zu bytes of %zu", packed.len,
                               RUNG_FRIENDS_BYTES_MAX);
    while (rung_names_next(&packed, &name))
        if (rung_slice_eq(name, e->friends.player))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends",
                                   "a player cannot be their own friend");
    return RUNG_OK;
}

rung_status rung_moderate_put(const rung_service *s, rung_hub_sender from, rung_event *event,
                              rung_hub_answer *answer, void *ctx, rung_err *err) {
    rung_status st = RUNG_OK;
    if (event->kind == RUNG_EVENT_FRIEND_ADDED || event->kind == RUNG_EVENT_FRIEND_REMOVED)
        st = check_friend(event, err);
    else if (event->kind == RUNG_EVENT_FRIENDS_REPLACED)
        st = check_friends(event, err);
    if (st < 0)
        return st;
    return rung_commit_put(rung_hub_commit(s->hub), from, event, NULL, answer, ctx, err);
}

rung_status rung_moderate_key(const rung_service *s, const rung_actor *actor, const rung_key *key,
                              bool is_revoked, rung_err *err) {
    char boards[RUNG_KEY_BOARDS_MAX], *end = boards;
    for (uint32_t i = 0; i < key->pattern_count; i++) {
        if ((size_t)(boards + sizeof boards - end) < key->patterns[i].len + 1)
            break; /* the first ones tell enough */
        if (i)
            *end++ = ',';
        rung_slice_put(&end, key->patterns[i]);
    }
    rung_event event = {.kind = RUNG_EVENT_KEY_CHANGED,
                        .key = {.id = key->id,
                                .role = rung_slice_str(rung_role_name(key->role)),
                                .boards = rung_slice_of(boards, (size_t)(end - boards)),
                                .is_revoked = is_revoked,
                                .expires_ms = key->expires_ms}};
    return rung_commit_put(rung_hub_commit(s->hub), (rung_hub_sender){.actor = actor}, &event, NULL,
                           NULL, NULL, err);
}
