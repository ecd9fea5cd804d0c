/* SPDX-License-Identifier: Apache-2.0 */
/* state_model.h - docs/boards.md once more, written to be believed: arrays, filters and sorting.
 *
 * Every accepted fact is kept in a plain array; every question copies what it is about, sorts it and looks. Nothing is
 * kept up to date: no ranks, no totals, no scopes, no teams. Costs are O(n log n) per question and nobody minds.
 * Uses src/model (calendar, zones, comparing scores), which is proven apart, and nothing of src/state or src/ladder.
 *
 *     state_model *m = state_model_create(&config);
 *     state_model_apply(m, &event, status_of_the_other, &answer);
 *     st = state_model_view(m, &query, &view);   rows in order, then model_top() and friends
 *
 * Decay is the textbook's sum in long double: its scores are compared with a tolerance and its order only where
 * scores differ by more; state.h's own order is then taken over by model_view_adopt(). */
#ifndef RUNG_TESTS_STATE_MODEL_H
#define RUNG_TESTS_STATE_MODEL_H

#include "state/state.h"

#define MODEL_TOLERANCE 1e-9L

typedef struct state_model
    state_model; /* heap object; whoever created it calls state_model_destroy() */

typedef struct state_model_config {
    uint32_t id_capacity; /* as in rung_state_config, but 0 is not allowed */
    int64_t id_keep_ms;
} state_model_config;

state_model *state_model_create(const state_model_config *config);
void state_model_destroy(state_model *m);

/* ---- changes ---- */

typedef struct model_answer {
    rung_status status;
    const char *
        rule; /* which rule refused it (EREFUSED), or which field cannot change (EUNSUPPORTED); else NULL */
    rung_outcome outcome;    /* slices live as long as the model */
    bool is_change_doubtful; /* decay: too small to say whether anything changed */
    bool is_rank_doubtful;   /* decay: somebody's score is too close to say who is above */
    bool is_decay;
    /* Of each rule of the definition: 1 broken, 0 kept, -1 too close to say. Of a submission that was judged. */
    uint32_t rule_count;
    int broken[RUNG_BOARD_RULES_MAX];
} model_answer;

/* `hint` is the status of the implementation, believed only where arithmetic in doubles leaves it open (a z-score at
 * the very edge). */
void state_model_apply(state_model *m, const rung_event *event, rung_status hint,
                       model_answer *out);

/* ---- the whole ---- */

int64_t state_model_time(const state_model *m);
int64_t state_model_next_close(const state_model *m);

typedef struct model_counts {
    uint64_t seq, refused, boards, players, windows, friendships, ids, banned, profiles;
} model_counts;
model_counts state_model_counts(const state_model *m);

/* ---- questions ---- */

typedef struct model_row {
    rung_row row;     /* complete but for list_rank */
    uint32_t better;  /* entries with a better score */
    uint32_t group;   /* better scores */
    long double size; /* decay: log2 of the score, to compare with a tolerance */
} model_row;

typedef struct model_view {
    uint32_t total, distinct;
    rung_rank_style rank;
    bool closed;
    uint32_t kind;
    int64_t ordinal, start_ms, end_ms;
    rung_slice season;
    const rung_board_def *def;
    rung_keyspec key; /* the board's; in a team view one column, equal teams by name */
    bool teams, is_decay, is_mean;
    int64_t now_ms;
    model_row *rows; /* total of them, in order */
    const state_model *model;
} model_view;

/* As rung_state_view(). The view is valid until the next apply; model_view_deinit() frees its rows. */
rung_status state_model_view(const state_model *m, const rung_query *q, model_view *out);
void model_view_deinit(model_view *v);

/* Decay only: take over the order of these rows if it is right within the tolerance. NULL, or what is wrong. */
const char *model_view_adopt(model_view *v, const rung_row *rows, uint32_t count);

uint32_t model_top(const model_view *v, uint32_t offset, uint32_t limit, rung_row *rows);
rung_status model_around(const model_view *v, rung_slice id, uint32_t around, rung_row *rows,
                         uint32_t *count_out, uint32_t *self_out);
bool model_row_of(const model_view *v, rung_slice id, rung_row *row);
rung_status model_at_score(const model_view *v, uint32_t value_count, const rung_value *values,
                           uint32_t around, uint32_t *rank_out, rung_row *rows, uint32_t *count_out,
                           uint32_t *above_out);
rung_status model_target_rank(const model_view *v, uint32_t rank, rung_row *row);
rung_status model_target_percent(const model_view *v, double percent, rung_row *row);
uint32_t model_count_range(const model_view *v, rung_value low, rung_value high);
uint32_t model_distribution_by_width(const model_view *v, uint32_t n,
                                     rung_bucket *buckets); /* integers only */
rung_status model_quantile(const model_view *v, uint32_t num, uint32_t den, rung_row *row);
rung_status model_friends(const model_view *v, rung_slice player, uint32_t offset, uint32_t limit,
                          rung_row *rows, uint32_t *count_out, uint32_t *total_out);
void model_list(const model_view *v, uint32_t n, const rung_slice *ids, uint32_t offset,
                uint32_t limit, rung_row *rows, uint32_t *count_out, uint32_t *total_out);

const rung_board_def *state_model_board(const state_model *m, rung_slice id); /* NULL: none */
uint32_t state_model_windows(const state_model *m, rung_slice board, rung_window_info *out,
                             uint32_t room);
/* Show a player in spite of a shadow ban, or hide them again. false: there is no such ban. */
bool state_model_reveal(state_model *m, rung_slice player, bool is_shown);
rung_status state_model_player(const state_model *m, rung_slice id, uint32_t *count_out,
                               rung_attribute *attributes, bool *banned_out);
uint32_t state_model_friends(const state_model *m, rung_slice id, rung_slice *ids, uint32_t room);

#endif
