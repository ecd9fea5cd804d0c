/* SPDX-License-Identifier: Apache-2.0 */
/* A window packed by a child has the same bytes as one packed here, and is that of the moment of the fork. */
#include "archive/pack_job.h"

#include "support/archive_contract.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

#define T0 INT64_C(1763164800000)

static rung_state *fill(uint32_t players) {
    rung_state *s;
    rung_board_def def = rung_board_def_default();
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    for (uint32_t i = 0; i < players; i++) {
        char name[24];
        snprintf(name, sizeof name, "player-%u", i);
        e = archive_event_score("b", name, (int64_t)(i * 7919u % 1000u), T0 + i);
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    }
    e = archive_event_ban("player-7", true, T0 + players);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    return s;
}

static rung_view view_of(const rung_state *s) {
    rung_view v;
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("b")}, &v, NULL));
    return v;
}

TEST(a_child_packs_what_was_there) {
    rung_state *s = fill(20000);
    rung_view v = view_of(s);
    rung_pack_job *job;
    rung_buffer here;
    rung_slice there, again;
    rung_err err = {0};
    CHECK_OK(rung_closed_window_pack(rung_alloc_heap(), RUNG_SLICE("b"), &v, &here));
    CHECK_OK(rung_pack_job_begin(NULL, rung_alloc_heap(), RUNG_SLICE("b"), &v, &job, &err));
    rung_event e = archive_event_erase("player-9", T0 + 30000);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL)); /* the child does not see it */
    CHECK_OK(rung_pack_job_wait(job, &there, &err));
    CHECK_EQ_U64(there.len, here.len);
    CHECK(memcmp(there.ptr, here.data, here.len) == 0);
    CHECK_OK(rung_pack_job_wait(job, &again, &err));
    CHECK_EQ_PTR(again.ptr, there.ptr);
    rung_pack_job_end(job);
    rung_buffer_deinit(&here);
    rung_state_destroy(s);
}

TEST(a_job_may_end_before_its_child) {
    rung_state *s = fill(5000);
    rung_view v = view_of(s);
    rung_err err = {0};
    for (int i = 0; i < 10; i++) {
        rung_pack_job *job;
        CHECK_OK(rung_pack_job_begin(NULL, rung_alloc_heap(), RUNG_SLICE("b"), &v, &job, &err));
        rung_pack_job_end(job);
    }
    rung_pack_job_end(NULL);
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
