/* SPDX-License-Identifier: Apache-2.0 */
/* demo_world.h - a small world to play in: players with names and countries, friendships, and
 * points that keep coming in.
 *
 * One board, "arena": points add up; ranked for all of time, this week and today, and within each
 * country. The world begins four weeks ago by a clock of its own and is played through to the
 * present, so that its windows have opened and closed as they would have. The same seed and number
 * of players give the same story. One thread. */
#ifndef RUNG_APP_DEMO_WORLD_H
#define RUNG_APP_DEMO_WORLD_H

#include "base/slice.h"
#include "base/status.h"

#include <rung/rung.h>

#include <stdbool.h>
#include <stdint.h>

#define RUNG_DEMO_BOARD       "arena"
#define RUNG_DEMO_PLAYERS_MAX 400000u /* as many different names as there are */

enum { RUNG_DEMO_NAME_MAX = 24, RUNG_DEMO_BATCH = 4096 };

typedef struct rung_demo_world {
    rung *db;
    uint32_t player_count;
    char (*names)[RUNG_DEMO_NAME_MAX];
    uint64_t chance;  /* state of the generator */
    int64_t story_ms; /* the time in the story; 0 once it has reached the present */
    uint32_t rival_count;
    rung_slice *rivals; /* who fights for the top just now; names of ours */
    rung_score_event *batch;
    rung_status *statuses;
} rung_demo_world;

enum { RUNG_DEMO_RIVALS_MAX = 40 };

/* Who player `i` is: "aino.fox", and "FI". The same for ever. */
void rung_demo_name(uint32_t i, char out[RUNG_DEMO_NAME_MAX]);
const char *rung_demo_country(uint32_t i);

/* Make it and play it to the present; `progress` may be NULL. `player_count` from 10 to
 * RUNG_DEMO_PLAYERS_MAX. On failure destroy it all the same. */
RUNG_NODISCARD rung_status rung_demo_world_create(rung_demo_world *w, uint32_t player_count,
                                                  void (*progress)(void *ctx, uint64_t done,
                                                                   uint64_t total),
                                                  void *ctx, rung_err *err);
void rung_demo_world_destroy(rung_demo_world *w);

/* `count` (at most RUNG_DEMO_BATCH) more submissions, now. */
RUNG_NODISCARD rung_status rung_demo_world_play(rung_demo_world *w, uint32_t count, rung_err *err);

/* Let those who stand on top in this view fight it out: they play more than their share from now
 * on. */
void rung_demo_world_excite(rung_demo_world *w, const rung_view *view);

#endif
