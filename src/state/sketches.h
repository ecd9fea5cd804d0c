/* SPDX-License-Identifier: Apache-2.0 */
/* sketches.h - what sketch boards answer beside the queries of state.h (docs/boards.md, "Sketch boards").
 *
 *     rung_ask(db, &(rung_query){.board = RUNG_SLICE("plays")}, &view, &err);
 *     n = rung_view_top(&view, 0, 10, rows);              // counts: each row has bounds
 *     rung_view_place(&view, (rung_value){.i = 4200}, &place);  // percentile: where a score stands
 *
 * Every answer states how far off it can be. Pure; one thread at a time. */
#ifndef RUNG_STATE_SKETCHES_H
#define RUNG_STATE_SKETCHES_H

#include "state/state.h"

/* A ranking of a sketch board as a whole. */
typedef struct rung_sketch_info {
    rung_sketch_kind kind; /* RUNG_SKETCH_NONE: an exact ranking; the rest is 0 */
    uint64_t memory_bytes; /* that it holds, all of it from the first submission on */
    uint64_t submissions;
    uint64_t
        total; /* counts: the sum of everything counted; percentile: scores; distinct: submissions */
    uint64_t held; /* counts: names held */
    /* No answer is off by more. counts: by so much, and no name that is not held has more; percentile: by so many
     * ranks. O(memory) for percentile. */
    uint64_t error;
    uint64_t players;           /* different players, estimated */
    uint32_t players_error_ppm; /* the standard error of that, in millionths of it */
} rung_sketch_info;
void rung_view_sketch(const rung_view *v, rung_sketch_info *out);

/* Entries of a ranking; of a sketch board names held (counts), scores (percentile) or different players (distinct). */
uint64_t rung_view_size(const rung_view *v);

/* Where a score stands: low <= truth <= high, and the estimate lies between. */
typedef struct rung_place {
    uint64_t rank_low, rank, rank_high; /* 1 + scores that are better */
    uint64_t total;
    double percentile_low, percentile, percentile_high; /* scores at or below it */
} rung_place;
/* Of a percentile board. RUNG_OK, or RUNG_EINVAL: not a score of the board. */
RUNG_NODISCARD rung_status rung_view_place(const rung_view *v, rung_value score, rung_place *out);

/* The score at a rank, from 1, by the estimate; or at the end of the best `percent`. RUNG_NOT_FOUND past the end. */
rung_status rung_view_score_at(const rung_view *v, uint64_t rank, rung_value *score_out);
rung_status rung_view_score_at_percent(const rung_view *v, double percent, rung_value *score_out);

/* rung_view_distribution_by_count() or _by_width(), also of a percentile board, by the estimate. */
uint32_t rung_view_spread(const rung_view *v, uint32_t n, bool by_count, rung_bucket *buckets);

/* Different players in several rankings together, of sketch boards; those of other boards are empty. RUNG_OK,
 * RUNG_ENOMEM, or RUNG_EINVAL: their counts have different sizes. */
RUNG_NODISCARD rung_status rung_views_players(const rung_alloc *alloc, uint32_t n,
                                              const rung_view *views, uint64_t *players_out);
/* percentile: scores below `score` and equal to it, by the estimate, whatever the order of the board. RUNG_OK or
 * RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_view_scores_below(const rung_view *v, rung_value score,
                                                  uint64_t *below_out, uint64_t *equal_out);
/* percentile: the smallest and the greatest score, exactly. RUNG_NOT_FOUND: there is none. */
rung_status rung_view_score_span(const rung_view *v, rung_value *least_out,
                                 rung_value *greatest_out);

/* counts: what is known of a name's total, also of one that is not held (low 0). */
void rung_view_bounds(const rung_view *v, rung_slice player, uint64_t *low_out, uint64_t *high_out);

/* Beyond rung_board_def_check(): can the memory guarantee `error`? RUNG_OK or RUNG_EINVAL (field memory). */
RUNG_NODISCARD rung_status rung_sketch_def_check(const rung_board_def *def, rung_err *err);

#endif
