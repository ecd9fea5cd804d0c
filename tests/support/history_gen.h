/* SPDX-License-Identifier: Apache-2.0 */
/* history_gen.h - random histories by seed: boards of every kind and everything that can happen to them.
 *
 * Events come one by one; the same seed gives the same history. A seed also has a taste: how many players and boards,
 * how fast time runs, how many ids are remembered, and an interesting place in the calendar to begin at (clock changes,
 * ends of years, a day that was skipped). Values are few, so that ties abound, with extremes between. The generator
 * remembers the definitions it sent and recent submissions, so that most events make sense; some on purpose do not.
 *
 *     history_gen *g = history_gen_create(seed);
 *     for (...) { history_gen_next(g, &event); ... }
 *
 * Texts of events live as long as the generator. Ends the test as skipped where the system has no time zone files. */
#ifndef RUNG_TESTS_HISTORY_GEN_H
#define RUNG_TESTS_HISTORY_GEN_H

#include "model/event.h"
#include "support/rng.h"

#include <stdio.h>

enum { HISTORY_PLAYERS_MAX = 320, HISTORY_BOARDS_MAX = 4, HISTORY_VALUES_MAX = 8 };

typedef struct history_gen
    history_gen; /* heap object; whoever created it calls history_gen_destroy() */

typedef struct history_taste {
    uint32_t player_count, board_count;
    rung_slice players[HISTORY_PLAYERS_MAX], boards[HISTORY_BOARDS_MAX];
    uint32_t id_capacity;
    int64_t id_keep_ms;
    int64_t start_ms; /* log time at the beginning */
    int64_t pace_ms;  /* usual time between two events */
    uint32_t score_percent;
    bool is_plain;  /* no extreme values: sums can go on for long */
    bool is_fickle; /* scopes and teams come and go */
} history_taste;

history_gen *history_gen_create(uint64_t seed);
void history_gen_destroy(history_gen *g);
const history_taste *history_gen_taste(const history_gen *g);

/* The next event. */
/* Call it first: no board will have rules. */
void history_gen_without_rules(history_gen *g);
void history_gen_next(history_gen *g, rung_event *out);

/* ---- for those who ask questions about such a history ---- */

rung_rng *history_gen_rng(history_gen *g);
rung_slice history_text(history_gen *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
rung_slice history_player(history_gen *g); /* mostly one that exists */
/* The definition last sent for board i, or NULL. */
const rung_board_def *history_def(const history_gen *g, uint32_t i);
/* A value of that column as submissions have it. */
rung_value history_value(history_gen *g, const rung_board_def *def, const rung_column *column);
/* A time near the log time, at a window's edge, or far away. */
int64_t history_instant(history_gen *g, const rung_board_def *def);
/* A value of that attribute that players may have. */
rung_slice history_attribute_value(history_gen *g, rung_slice name);
int64_t history_time(const history_gen *g);

/* The event in words, one line. */
void history_print(FILE *file, const rung_event *event);

#endif
