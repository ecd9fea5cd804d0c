/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sampler.h"

#include "base/bytes.h"
#include "support/check.h"

#include <stdio.h>

static void note(rung_sampler *s, uint32_t board, uint32_t player) {
    char board_name[32], player_name[32];
    snprintf(board_name, sizeof board_name, "board%u", board);
    snprintf(player_name, sizeof player_name, "player%u", player);
    rung_event e = {
        .kind = RUNG_EVENT_SCORE,
        .score = {.board = rung_slice_str(board_name), .player = rung_slice_str(player_name)}};
    rung_sampler_note(s, &e);
}

static size_t bytes_of(uint32_t boards, uint32_t players, uint32_t rounds, uint32_t max) {
    rung_alloc_meter meter;
    rung_sampler *s;
    rung_alloc_meter_init(&meter, rung_alloc_heap());
    CHECK_OK(rung_sampler_create(&meter.port, &(rung_hash_key){1, 2}, max, &s));
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t b = 0; b < boards; b++)
            for (uint32_t p = 0; p < players; p++)
                note(s, b, p);
    size_t used = meter.used;
    rung_sampler_destroy(s);
    CHECK_EQ_U64(meter.used, 0);
    return used;
}

TEST(a_board_of_one_player_costs_little) {
    CHECK(bytes_of(20000, 1, 1, 0) < 20000 * 200);
    CHECK(bytes_of(1, 20000, 1, 0) < 20000 * 200);
}

TEST(who_plays_again_costs_nothing) {
    CHECK_EQ_U64(bytes_of(30, 40, 5, 0), bytes_of(30, 40, 1, 0));
}

TEST(there_are_at_most_so_many) {
    CHECK_EQ_U64(bytes_of(1, 5000, 1, 100), bytes_of(1, 100, 1, 100));
}

/* All players of a match and of a command take part in the day, as often as they are named. */
TEST(matches_and_commands_are_played) {
    const rung_zcommand_item items[] = {{RUNG_SLICE("ada"), 1}, {RUNG_SLICE("bob"), 2}};
    const rung_zcommand add = {
        .kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("b"), .item_count = 2, .items = items};
    uint8_t command[256], players[256];
    size_t len;
    rung_err err = {0};
    CHECK_OK(rung_zcommand_encode(&add, command, sizeof command, &len, &err));
    rung_event keys = {.kind = RUNG_EVENT_KEYS,
                       .keys = {.count = 1, .packed = rung_slice_of(command, len)}};
    rung_byte_writer w = rung_byte_writer_of(players, sizeof players);
    for (int i = 0; i < 2; i++)
        CHECK(rung_match_put(
            &w,
            &(rung_match_entry){
                .player = items[i].name, .is_first = true, .place = i, .weight = 1, .played = 1}));
    rung_event match = {.kind = RUNG_EVENT_MATCH,
                        .match = {.board = RUNG_SLICE("b"),
                                  .player_count = 2,
                                  .packed = rung_slice_of(players, (size_t)(w.at - players))}};
    rung_sampler *s;
    CHECK_OK(rung_sampler_create(rung_alloc_heap(), &(rung_hash_key){1, 2}, 0, &s));
    CHECK_EQ_U64(rung_sampler_count(s), 0);
    rung_sampler_note(s, &keys);
    CHECK_EQ_U64(rung_sampler_count(s), 2);
    rung_sampler_note(s, &match);
    CHECK_EQ_U64(rung_sampler_count(s), 2);
    rung_sampler_destroy(s);
}

RUNG_TEST_MAIN
