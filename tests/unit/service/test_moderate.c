/* SPDX-License-Identifier: Apache-2.0 */
/* Changes about people and boards: what is refused before it is logged. */
#include "service/moderate.h"

#include "service/define.h"
#include "support/check.h"

#include <string.h>

static int64_t now(void *ctx) {
    (void)ctx;
    return INT64_C(1794744000000);
}

static void wake(void *ctx) {
    (void)ctx;
}

static rung_service start(void) {
    rung_service s = {0};
    rung_hub_config config = {.alloc = rung_alloc_heap(), .clock = {now, NULL}, .wake = wake};
    CHECK_OK(rung_hub_open(&config, &s.hub, NULL));
    return s;
}

TEST(friends) {
    static char long_list[RUNG_FRIENDS_BYTES_MAX + 1];
    rung_service s = start();
    rung_err err;
    rung_event e = {.kind = RUNG_EVENT_FRIEND_ADDED};
    e.friend.player = RUNG_SLICE("ada");
    e.friend.other = RUNG_SLICE("bob");
    CHECK_OK(rung_moderate_put(&s, (rung_hub_sender){0}, &e, NULL, NULL, &err));
    e.kind = RUNG_EVENT_FRIEND_REMOVED;
    e.friend.other = e.friend.player;
    CHECK_STATUS(rung_moderate_put(&s, (rung_hub_sender){0}, &e, NULL, NULL, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "friend");
    e = (rung_event){.kind = RUNG_EVENT_FRIENDS_REPLACED};
    e.friends.player = RUNG_SLICE("ada");
    e.friends.count = 2;
    e.friends.packed = RUNG_SLICE("\3bob\3eve");
    CHECK_OK(rung_moderate_put(&s, (rung_hub_sender){0}, &e, NULL, NULL, &err));
    e.friends.packed = RUNG_SLICE("\3bob\3ada");
    CHECK_STATUS(rung_moderate_put(&s, (rung_hub_sender){0}, &e, NULL, NULL, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "friends");
    e.friends.packed = rung_slice_of(long_list, sizeof long_list);
    CHECK_STATUS(rung_moderate_put(&s, (rung_hub_sender){0}, &e, NULL, NULL, &err), RUNG_ELIMIT);
    rung_hub_flush(s.hub);
    rung_slice ids[4];
    CHECK_EQ_U64(rung_state_friends(rung_hub_state(s.hub), RUNG_SLICE("ada"), ids, 4), 2);
    CHECK_OK(rung_hub_close(s.hub, NULL));
}

TEST(definitions) {
    static const struct {
        uint32_t limits;
        const char *field;
    } rows[] = {{RUNG_LIMIT_MIN, "limits.min"},
                {RUNG_LIMIT_MAX, "limits.max"},
                {RUNG_LIMIT_STEP, "limits.max_step"},
                {RUNG_LIMIT_Z, "limits.z_score"}};
    rung_service s = start();
    rung_slice visits = RUNG_SLICE("visits");
    rung_err err;
    bool is_new;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rung_board_def def = rung_board_def_default();
        def.update = RUNG_UPDATE_COUNT;
        def.limits = rows[i].limits;
        CHECK_STATUS(
            rung_define_put(&s, (rung_hub_sender){0}, visits, &def, &is_new, NULL, NULL, &err),
            RUNG_EINVAL);
        CHECK_EQ_STR(err.field, rows[i].field);
        CHECK(is_new);
    }
    rung_board_def def = rung_board_def_default();
    def.zone_name = RUNG_SLICE("localtime");
    CHECK_STATUS(rung_define_put(&s, (rung_hub_sender){0}, visits, &def, NULL, NULL, NULL, &err),
                 RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "timezone");
    def.zone_name = RUNG_SLICE("Nowhere/Land");
    CHECK_STATUS(rung_define_put(&s, (rung_hub_sender){0}, visits, &def, NULL, NULL, NULL, &err),
                 RUNG_EABSENT);
    def = rung_board_def_default();
    CHECK_OK(rung_define_put(&s, (rung_hub_sender){0}, visits, &def, &is_new, NULL, NULL, &err));
    rung_hub_flush(s.hub);
    CHECK_OK(rung_define_put(&s, (rung_hub_sender){0}, visits, &def, &is_new, NULL, NULL, &err));
    CHECK(!is_new);
    CHECK_OK(rung_hub_close(s.hub, NULL));
}

RUNG_TEST_MAIN
