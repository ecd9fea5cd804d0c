/* SPDX-License-Identifier: Apache-2.0 */
#include "service/replay_report.h"

#include "model/calendar.h"

#include <stdio.h>
#include <string.h>

enum { GROUP = 64 }; /* rows that are looked up together */

typedef struct sides {
    rung_view before, after;
    bool has_before, has_after;
} sides;

static bool same_score(const rung_row *a, const rung_row *b) {
    return a->value_count == b->value_count &&
           memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0;
}

/* `from` has the rows, `to` is looked at for the same players. Returns how many rows there are. */
static uint32_t pair_up(const rung_view *from, const rung_view *to, uint32_t at, rung_row *rows,
                        rung_row *others, bool *found) {
    rung_slice ids[GROUP];
    uint32_t n = rung_view_top(from, at, GROUP, rows);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = rows[i].id;
    memset(found, 0, GROUP * sizeof *found);
    if (to)
        rung_view_rows(to, n, ids, others, found);
    return n;
}

static rung_move move_of(const rung_row *before, const rung_row *after) {
    const rung_row *any = after ? after : before;
    rung_move m = {.player_len = (uint32_t)any->id.len,
                   .rank_before = before ? before->rank : 0,
                   .rank_after = after ? after->rank : 0};
    memcpy(m.player, any->id.ptr, any->id.len);
    if (before)
        m.before = before->values[0];
    if (after)
        m.after = after->values[0];
    return m;
}

static uint32_t distance(const rung_move *m) {
    return m->rank_before > m->rank_after ? m->rank_before - m->rank_after
                                          : m->rank_after - m->rank_before;
}

/* Keep the largest, in order; of equal ones the first. */
static void keep(rung_move *list, uint32_t *count, const rung_move *m) {
    uint32_t at = *count;
    while (at && distance(&list[at - 1]) < distance(m))
        at--;
    if (at == RUNG_REPORT_LARGEST_MAX)
        return;
    if (*count < RUNG_REPORT_LARGEST_MAX)
        (*count)++;
    memmove(&list[at + 1], &list[at], (*count - at - 1) * sizeof *list);
    list[at] = *m;
}

static void count_one(rung_report_window *w, const rung_row *before, const rung_row *after) {
    if (!before) {
        w->entered++;
        return;
    }
    if (before->rank == after->rank) {
        *(same_score(before, after) ? &w->same : &w->rescored) += 1;
        return;
    }
    w->moved++;
    rung_move m = move_of(before, after);
    if (m.rank_after < m.rank_before)
        keep(w->up, &w->up_count, &m);
    else
        keep(w->down, &w->down_count, &m);
}

static void compare(const sides *s, rung_report_window *w) {
    rung_row rows[GROUP], others[GROUP];
    bool found[GROUP];
    w->before = s->has_before ? s->before.total : 0;
    w->after = s->has_after ? s->after.total : 0;
    for (uint32_t at = 0, n; s->has_after && at < w->after; at += n) {
        n = pair_up(&s->after, s->has_before ? &s->before : NULL, at, rows, others, found);
        if (!n)
            break;
        for (uint32_t i = 0; i < n; i++)
            count_one(w, found[i] ? &others[i] : NULL, &rows[i]);
    }
    w->left = w->before + w->entered - w->after;
}

static void name_window(const rung_view *v, rung_report_window *w) {
    w->kind = v->kind;
    if (v->kind == RUNG_WINDOW_ALL)
        snprintf(w->id, sizeof w->id, "all");
    else if (v->kind == RUNG_WINDOW_SEASON)
        snprintf(w->id, sizeof w->id, "%.*s", (int)v->season.len, v->season.ptr);
    else
        w->id[rung_window_id_format(v->kind, v->ordinal, w->id)] = '\0';
}

static void add_window(const rung_view *v, bool is_after, rung_replay_report *out) {
    sides s = {0};
    rung_view twin;
    bool has_twin = rung_state_shadow_twin(v, &twin) == RUNG_OK;
    out->window_total++;
    if (out->window_count == RUNG_REPORT_WINDOWS_MAX)
        return;
    *(is_after ? &s.after : &s.before) = *v;
    *(is_after ? &s.has_after : &s.has_before) = true;
    if (has_twin) {
        *(is_after ? &s.before : &s.after) = twin;
        *(is_after ? &s.has_before : &s.has_after) = true;
    }
    rung_report_window *w = &out->windows[out->window_count++];
    name_window(v, w);
    compare(&s, w);
}

void rung_replay_report_make(const rung_state *s, rung_slice board, rung_replay_report *out) {
    rung_shadow_info info;
    rung_view v, twin;
    out->seq = rung_state_seq(s);
    if (rung_state_shadow(s, board, &info) != RUNG_OK)
        return;
    bool after_is_shadow = !info.was_live;
    for (uint32_t i = 0; rung_state_shadow_window(s, board, after_is_shadow, i, &v) == RUNG_OK; i++)
        add_window(&v, true, out);
    for (uint32_t i = 0; rung_state_shadow_window(s, board, !after_is_shadow, i, &v) == RUNG_OK;
         i++)
        if (rung_state_shadow_twin(&v, &twin) != RUNG_OK)
            add_window(&v, false, out);
}

/* ---- all moves ---- */

static rung_status find_sides(const rung_state *s, const rung_query *query, sides *out,
                              rung_err *err) {
    rung_shadow_info info;
    rung_view v, twin;
    if (rung_state_shadow(s, query->board, &info) != RUNG_OK || info.phase != RUNG_SHADOW_READY)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "replay", "the board has no complete replay");
    rung_status st = rung_state_view(s, query, &v, err);
    if (st != RUNG_OK)
        return st == RUNG_NOT_FOUND ? RUNG_EABSENT : st;
    bool has_twin = rung_state_shadow_twin(&v, &twin) == RUNG_OK;
    *out = (sides){0};
    *(info.was_live ? &out->after : &out->before) = v;
    *(info.was_live ? &out->has_after : &out->has_before) = v.ladder != NULL;
    *(info.was_live ? &out->before : &out->after) = has_twin ? twin : v;
    *(info.was_live ? &out->has_before : &out->has_after) = has_twin;
    return RUNG_OK;
}

static bool is_move(const rung_row *before, const rung_row *after) {
    return !before || !after || before->rank != after->rank || !same_score(before, after);
}

rung_status rung_replay_moves(const rung_state *s, const rung_query *query,
                              rung_moves_cursor *cursor, uint32_t span, rung_move *moves,
                              uint32_t max, uint32_t *count_out, rung_err *err) {
    rung_row rows[GROUP], others[GROUP];
    bool found[GROUP];
    sides v;
    *count_out = 0;
    rung_status st = find_sides(s, query, &v, err);
    if (st < 0)
        return st;
    for (uint32_t looked = 0; looked < span && *count_out < max;) {
        const rung_view *from = cursor->is_left ? &v.before : &v.after,
                        *to = cursor->is_left ? &v.after : &v.before;
        bool has_from = cursor->is_left ? v.has_before : v.has_after,
             has_to = cursor->is_left ? v.has_after : v.has_before;
        uint32_t n = has_from ? pair_up(from, has_to ? to : NULL, cursor->at, rows, others, found)
                              : 0,
                 i = 0;
        for (; i < n && *count_out < max; i++) {
            if (cursor->is_left ? !found[i] : is_move(found[i] ? &others[i] : NULL, &rows[i]))
                moves[(*count_out)++] = cursor->is_left
                                            ? move_of(&rows[i], NULL)
                                            : move_of(found[i] ? &others[i] : NULL, &rows[i]);
        }
        cursor->at += i;
        looked += i ? i : 1;
        if (i < n || n == GROUP)
            continue;
        if (cursor->is_left)
            return RUNG_NOT_FOUND;
        *cursor = (rung_moves_cursor){.is_left = true};
    }
    return RUNG_OK;
}
