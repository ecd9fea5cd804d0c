/* SPDX-License-Identifier: Apache-2.0 */
/* The state's own arithmetic computes team scores from exact sums. On decay boards they are sums of doubles, where
 * the state adds weights of 38 bits: equal to about eleven digits. */
#include "archive/teams.h"

#include <stdlib.h>
#include <string.h>

/* ---- adding up ---- */

void rung__tally_add(rung__tally *t, const rung_board_def *def, rung_value score) {
    bool counts = def->team_combine != RUNG_COMBINE_TOP || t->members < def->team_top;
    t->members++;
    if (!counts)
        return;
    if (def->update == RUNG_UPDATE_DECAY)
        t->decayed += score.d;
    else
        t->sum += rung_team_contribution(def, score);
}

rung_team_sum rung__tally_sum(const rung__tally *t, const rung_board_def *def) {
    rung_value decayed = {.d = t->decayed};
    return def->update == RUNG_UPDATE_DECAY ? decayed.i : t->sum;
}

/* The visible members from the top, as many as count. */
static rung_status add_up(const rung_archive_view *v, const rung_board_def *def,
                          rung_archive_scope *team, rung_err *err) {
    enum { AT_ONCE = 64 };
    rung_archive_row some[AT_ONCE];
    rung_archive_ranking of_team = {v->ranking.window, team->key};
    rung__tally t = {0};
    uint32_t count, from = 1, left = team->total - team->hidden;
    if (def->team_combine == RUNG_COMBINE_TOP && left > def->team_top)
        left = def->team_top;
    while (left > 0) {
        rung_status st = v->archive->ops->rows(v->archive, &of_team, from,
                                               left < AT_ONCE ? left : AT_ONCE, some, &count, err);
        if (st < 0)
            return st;
        if (count == 0 || count > left)
            return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: members of a team are missing");
        for (uint32_t i = 0; i < count; i++)
            rung__tally_add(&t, def, some[i].values.values[0]);
        from = some[count - 1].place + 1;
        left -= count;
    }
    team->team_sum = rung__tally_sum(&t, def);
    return RUNG_OK;
}

/* ---- putting in order ---- */

typedef struct ranked {
    uint64_t word; /* smaller: better */
    rung_value score;
    rung_slice name;
    uint32_t members;
} ranked;

static int compare(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    return a->word != b->word ? (a->word > b->word) - (a->word < b->word)
                              : rung_slice_cmp(a->name, b->name);
}

static rung_status rank_of(const rung_board_def *def, const rung_archive_scope *team, ranked *out,
                           rung_err *err) {
    rung_column column = rung_team_column(def);
    rung_value v = {.i = (int64_t)team->team_sum};
    uint32_t members = team->total - team->hidden;
    *out = (ranked){.name = team->value, .members = members};
    if (def->update != RUNG_UPDATE_DECAY)
        v = rung_team_score(def, team->team_sum, members);
    else if (def->team_combine == RUNG_COMBINE_MEAN)
        v.d /= (double)members;
    if (rung_score_encode(&column, v, &out->word) < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: the score of a team is damaged");
    out->score = rung_score_decode(&column, out->word);
    return RUNG_OK;
}

static void fill_rows(rung_archive_view *v, const ranked *teams, uint32_t count, rung_row *rows) {
    uint32_t sparse = 0, dense = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || teams[i].word != teams[i - 1].word) {
            sparse = i + 1;
            dense++;
        }
        rows[i] = (rung_row){.index = i,
                             .id = teams[i].name,
                             .value_count = 1,
                             .values = {teams[i].score},
                             .members = teams[i].members,
                             .rank = rung_rank_in(v->rank, i + 1, sparse, dense),
                             .percentile = 100.0 * (double)(count - sparse + 1) / (double)count};
        if (v->decay != 1)
            rows[i].values[0].d *= v->decay;
    }
    v->teams = rows;
    v->total = count;
    v->distinct = dense;
}

rung_status rung__teams_open(rung_archive_view *v, const rung_board_def *def, rung_err *err) {
    rung_archive *a = v->archive;
    rung_archive_scope *all;
    uint32_t all_count, count = 0;
    rung_status st = a->ops->scopes(a, v->window.key, def->team_by, &all, &all_count, err);
    if (st < 0)
        return st;
    ranked *teams = rung__archive_get(a, (all_count + (size_t)1) * sizeof *teams);
    rung_row *rows = rung__archive_get(a, (all_count + (size_t)1) * sizeof *rows);
    if (!teams || !rows)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    for (uint32_t i = 0; st >= 0 && i < all_count; i++) {
        if (all[i].hidden >= all[i].total)
            continue; /* nobody is left */
        st = all[i].hidden ? add_up(v, def, &all[i], err) : RUNG_OK;
        if (st >= 0)
            st = rank_of(def, &all[i], &teams[count++], err);
    }
    if (st < 0)
        return st;
    qsort(teams, count, sizeof *teams, compare);
    fill_rows(v, teams, count, rows);
    return RUNG_OK;
}
