/* SPDX-License-Identifier: Apache-2.0 */
/* event_gen.h - valid events by chance, for every proof that takes "any event"; and an event as text, to compare two.
 *
 *     event_gen gen;
 *     event_gen_init(&gen, test_seed(1));
 *     event_gen_any(&gen, &event);             // its texts live in `gen` until the next call
 *
 * All kinds, and the extremes of every field: shortest and longest names, all lengths of UTF-8, the ends of the
 * integers and of time, infinities, lists that are empty and lists that are full. With `board_count` and `player_count`
 * names come from small sets, times are of one week and zones are real, so that events meet: for tests of the state. */
#ifndef RUNG_TESTS_EVENT_GEN_H
#define RUNG_TESTS_EVENT_GEN_H

#include "model/event.h"
#include "support/rng.h"

enum { EVENT_GEN_TEXT_MAX = 640 << 10 };

typedef struct event_gen {
    rung_rng rng;
    uint32_t board_count,
        player_count; /* 0: names of any shape; otherwise board-0, ..., player-0, ... */
    size_t used;      /* private */
    char text[EVENT_GEN_TEXT_MAX];
    size_t commands_used;
    char commands[64 << 10];
} event_gen;

void event_gen_init(event_gen *g, uint64_t seed);

/* One event of a kind, or of any kind. */
void event_gen_make(event_gen *g, rung_event_kind kind, rung_event *event_out);
void event_gen_any(event_gen *g, rung_event *event_out);

/* A definition; its texts live until the next event or definition. */
void event_gen_def(event_gen *g, rung_board_def *def_out);

/* Every field that means something, on one line of ASCII: two events are the same when their texts are. From malloc:
 * the caller frees it. */
char *event_text(const rung_event *event);
char *board_def_text(const rung_board_def *def);

#endif
