/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - the three ways to count a place. */
#ifndef RUNG_BASE_RANK_H
#define RUNG_BASE_RANK_H

/* The values are written to the log: they never change. */
typedef enum rung_rank_style {
    RUNG_RANK_UNIQUE = 0, /* 1 2 3 4: position in the full order */
    RUNG_RANK_SPARSE = 1, /* 1 1 3 4: one more than the number of entries with a better score */
    RUNG_RANK_DENSE = 2,  /* 1 1 2 3: one more than the number of better scores */
} rung_rank_style;

#endif
