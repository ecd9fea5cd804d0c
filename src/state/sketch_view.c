/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of sketch boards. A view of one has no entries in its ladder; what it shows comes from `sketch`. */
#include "state/sketch_view.h"

#include "state/ban.h"
#include "state/sketch.h"

#include <math.h>
#include <string.h>

static const rung__sketch *sketch_of(const rung_view *v) {
    return v->sketch;
}

static const rung__board *board_of(const rung_view *v) {
    return v->board;
}

void rung_view_sketch(const rung_view *v, rung_sketch_info *out) {
    const rung__sketch *k = sketch_of(v);
    memset(out, 0, sizeof *out);
    out->kind = v->sketch_kind;
    if (out->kind)
        out->memory_bytes = board_of(v)->def->sketch_memory;
    if (!k)
        return;
    out->submissions = out->total = k->submissions;
    out->players = rung_distinct_estimate(k->players);
    out->players_error_ppm = rung_distinct_error_ppm(k->players);
    if (k->hitters) {
        out->total = rung_hitters_total(k->hitters);
        out->held = rung_hitters_count(k->hitters);
        out->error = rung_hitters_floor(k->hitters);
    }
    if (k->quantiles) {
        out->total = rung_quantiles_count(k->quantiles);
        out->error = rung_quantiles_error(k->quantiles);
    }
}

uint64_t rung_view_size(const rung_view *v) {
    const rung__sketch *k = sketch_of(v);
    return v->sketch_kind && k ? rung__sketch_size(k) : v->total;
}

/* ---- counts ---- */

static bool is_banned(const rung_state *s, rung_slice name, uint32_t *player_out) {
    if (rung_names_find(s->players, name, player_out) != RUNG_OK) {
        *player_out = RUNG__NONE;
        return false;
    }
    return rung__sparse_get(&s->bans, *player_out) != NULL;
}

static uint32_t count_bans(const rung_state *s) {
    return s->bans.map.array_count + s->bans.map.hash_count;
}

/* Names that are shown, and of those that are not, how many have a greater count. */
static uint32_t count_hidden(const rung_view *v, uint64_t above) {
    const rung_hitters *h = sketch_of(v)->hitters;
    uint32_t player = 0, n = 0;
    rung_hitter row;
    for (const rung__ban *ban; count_bans(v->state) && (ban = rung__ban_next(v->state, &player));
         player++)
        n += rung_hitters_find(h, rung_names_id(v->state->players, player), &row) == RUNG_OK &&
             row.count > above;
    return n;
}

static void fill_row(const rung_hitter *h, uint32_t number, uint32_t index, uint32_t rank,
                     uint32_t shown, rung_row *row) {
    memset(row, 0, sizeof *row);
    row->rank = rank;
    row->index = index;
    row->number = number;
    row->id = h->name;
    row->value_count = 1;
    row->values[0].i = (int64_t)h->count;
    row->has_bounds = true;
    row->low = h->count - h->error;
    row->high = h->count;
    row->percentile = 100.0 * (double)(shown - rank + 1) / (double)shown;
}

uint32_t rung__sketch_top(const rung_view *v, uint32_t offset, uint32_t limit, rung_row *rows) {
    const rung__sketch *k = sketch_of(v);
    if (!k || !k->hitters || !limit)
        return 0;
    const rung_alloc *alloc = v->state->alloc;
    uint32_t held = rung_hitters_count(k->hitters), hidden = count_hidden(v, 0), written = 0;
    uint64_t want = (uint64_t)offset + limit + hidden;
    uint32_t count = want < held ? (uint32_t)want : held;
    size_t bytes = count * sizeof(rung_hitter);
    rung_hitter *list = count ? rung_alloc_get(alloc, bytes) : NULL;
    if (!list)
        return 0;
    count = rung_hitters_top(k->hitters, 0, count, list);
    uint64_t before = 0;
    for (uint32_t i = 0, index = 0, rank = 1, player; i < count && written < limit; i++) {
        if (is_banned(v->state, list[i].name, &player))
            continue;
        if (index && list[i].count != before)
            rank = index + 1;
        before = list[i].count;
        if (index >= offset)
            fill_row(&list[i], player, index, rank, held - hidden, &rows[written++]);
        index++;
    }
    rung_alloc_free(alloc, list, bytes);
    return written;
}

rung_status rung__sketch_row(const rung_view *v, rung_slice id, rung_row *row) {
    const rung__sketch *k = sketch_of(v);
    rung_hitter h;
    uint32_t player;
    if (!k || !k->hitters || rung_hitters_find(k->hitters, id, &h) != RUNG_OK ||
        is_banned(v->state, id, &player))
        return RUNG_NOT_FOUND;
    uint32_t above = rung_hitters_above(k->hitters, h.count) - count_hidden(v, h.count);
    fill_row(&h, player, above, above + 1, rung_hitters_count(k->hitters) - count_hidden(v, 0),
             row);
    return RUNG_OK;
}

void rung_view_bounds(const rung_view *v, rung_slice player, uint64_t *low_out,
                      uint64_t *high_out) {
    const rung__sketch *k = sketch_of(v);
    rung_hitter h;
    *low_out = *high_out = 0;
    if (!k || !k->hitters)
        return;
    *high_out = rung_hitters_floor(k->hitters);
    if (rung_hitters_find(k->hitters, player, &h) != RUNG_OK)
        return;
    *low_out = h.count - h.error;
    *high_out = h.count;
}

rung_status rung_views_players(const rung_alloc *alloc, uint32_t n, const rung_view *views,
                               uint64_t *players_out) {
    rung_distinct *all = NULL;
    rung_status st = RUNG_OK;
    *players_out = 0;
    for (uint32_t i = 0; i < n && st >= 0; i++) {
        const rung__sketch *k = sketch_of(&views[i]);
        if (!k)
            continue;
        rung__sketch_parts parts =
            rung__sketch_parts_of(views[i].sketch_kind, board_of(&views[i])->def->sketch_memory);
        if (!all)
            st = rung_distinct_create(&(rung_distinct_config){alloc, parts.precision, 0}, &all);
        if (st >= 0)
            st = rung_distinct_merge(all, k->players);
    }
    if (st >= 0 && all)
        *players_out = rung_distinct_estimate(all);
    rung_distinct_destroy(all);
    return st;
}

/* ---- percentile ---- */

static double percentile_of(uint64_t better, uint64_t total) {
    return total ? 100.0 * (double)(total - better) / (double)total : 100.0;
}

rung_status rung_view_place(const rung_view *v, rung_value score, rung_place *out) {
    const rung__sketch *k = sketch_of(v);
    rung_rank_bounds better = {0, 0, 0};
    uint64_t key;
    if (v->sketch_kind != RUNG_SKETCH_PERCENTILE ||
        rung_score_encode(&board_of(v)->def->key.columns[0], score, &key) < 0)
        return RUNG_EINVAL;
    memset(out, 0, sizeof *out);
    if (k) {
        rung_quantiles_below(k->quantiles, key, &better);
        out->total = rung_quantiles_count(k->quantiles);
    }
    out->rank_low = better.low + 1;
    out->rank = better.estimate + 1;
    out->rank_high = better.high + 1;
    out->percentile_low = percentile_of(better.high, out->total);
    out->percentile = percentile_of(better.estimate, out->total);
    out->percentile_high = percentile_of(better.low, out->total);
    return RUNG_OK;
}

static rung_value score_of(const rung_view *v, uint64_t key) {
    const rung_column *column = &board_of(v)->def->key.columns[0];
    rung_value value = rung_score_decode(column, key);
    if (column->type == RUNG_SCORE_REAL && value.d == 0)
        value.d = 0; /* no key between two scores is -0 */
    return value;
}

rung_status rung_view_score_at(const rung_view *v, uint64_t rank, rung_value *score_out) {
    const rung__sketch *k = sketch_of(v);
    uint64_t key, least, greatest;
    if (!k || !k->quantiles || !rank || rung_quantiles_at(k->quantiles, rank - 1, &key) != RUNG_OK)
        return RUNG_NOT_FOUND;
    if (rung_quantiles_span(k->quantiles, &least, &greatest))
        key = key < least ? least : key > greatest ? greatest : key;
    *score_out = score_of(v, key);
    return RUNG_OK;
}

rung_status rung_view_scores_below(const rung_view *v, rung_value score, uint64_t *below_out,
                                   uint64_t *equal_out) {
    const rung__sketch *k = sketch_of(v);
    const rung_column *column = &board_of(v)->def->key.columns[0];
    rung_rank_bounds below = {0, 0, 0}, upto = {0, 0, 0};
    uint64_t key;
    if (v->sketch_kind != RUNG_SKETCH_PERCENTILE || rung_score_encode(column, score, &key) < 0)
        return RUNG_EINVAL;
    if (k) {
        rung_quantiles_below(k->quantiles, key, &below);
        rung_quantiles_upto(k->quantiles, key, &upto);
    }
    *equal_out = upto.estimate > below.estimate ? upto.estimate - below.estimate : 0;
    *below_out = column->order == RUNG_ORDER_ASC || !k
                     ? below.estimate
                     : rung_quantiles_count(k->quantiles) - below.estimate - *equal_out;
    return RUNG_OK;
}

rung_status rung_view_score_span(const rung_view *v, rung_value *least_out,
                                 rung_value *greatest_out) {
    const rung__sketch *k = sketch_of(v);
    uint64_t least, greatest;
    if (!k || !k->quantiles || !rung_quantiles_span(k->quantiles, &least, &greatest))
        return RUNG_NOT_FOUND;
    bool is_desc = board_of(v)->def->key.columns[0].order == RUNG_ORDER_DESC;
    *least_out = score_of(v, is_desc ? greatest : least);
    *greatest_out = score_of(v, is_desc ? least : greatest);
    return RUNG_OK;
}

static uint64_t total_of(const rung_view *v) {
    const rung__sketch *k = sketch_of(v);
    return k && k->quantiles ? rung_quantiles_count(k->quantiles) : 0;
}

rung_status rung_view_score_at_percent(const rung_view *v, double percent, rung_value *score_out) {
    uint64_t total = total_of(v);
    if (!total || !(percent > 0) || percent > 100)
        return RUNG_NOT_FOUND;
    double nth = ceil((double)total * percent / 100.0);
    return rung_view_score_at(v,
                              nth < 1               ? 1
                              : nth > (double)total ? total
                                                    : (uint64_t)nth,
                              score_out);
}

static uint32_t spread_by_count(const rung_view *v, uint32_t n, rung_bucket *buckets) {
    uint64_t total = total_of(v);
    bool is_desc = board_of(v)->def->key.columns[0].order == RUNG_ORDER_DESC;
    n = n < total ? n : (uint32_t)total;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = (uint64_t)((rung__wide)total * i / n),
                 end = (uint64_t)((rung__wide)total * (i + 1) / n);
        rung_value a = {0}, z = {0};
        rung_ignore(rung_view_score_at(v, start + 1, &a), "within the total");
        rung_ignore(rung_view_score_at(v, end, &z), "within the total");
        buckets[i] = (rung_bucket){is_desc ? z : a, is_desc ? a : z, end - start};
    }
    return n;
}

/* Scores below `edge`. */
static uint64_t count_below(const rung_view *v, rung_value edge) {
    const rung_quantiles *q = sketch_of(v)->quantiles;
    const rung_column *column = &board_of(v)->def->key.columns[0];
    rung_rank_bounds bounds = {0, 0, 0};
    uint64_t key;
    if (rung_score_encode(column, edge, &key) < 0)
        return 0;
    if (column->order == RUNG_ORDER_ASC)
        rung_quantiles_below(q, key, &bounds);
    else
        rung_quantiles_upto(q, key, &bounds);
    return column->order == RUNG_ORDER_ASC ? bounds.estimate : total_of(v) - bounds.estimate;
}

static uint32_t spread_by_width(const rung_view *v, uint32_t n, rung_bucket *buckets) {
    const rung__sketch *k = sketch_of(v);
    const rung_column *column = &board_of(v)->def->key.columns[0];
    uint64_t least, greatest, below = 0, total = total_of(v);
    if (!k || !n || !rung_quantiles_span(k->quantiles, &least, &greatest))
        return 0;
    bool is_desc = column->order == RUNG_ORDER_DESC, is_real = column->type == RUNG_SCORE_REAL;
    rung_value low = score_of(v, is_desc ? greatest : least),
               high = score_of(v, is_desc ? least : greatest), edge = low;
    rung__wide span = is_real ? 0 : (rung__wide)high.i - low.i + 1;
    if (!is_real && span < n)
        n = (uint32_t)span;
    if (is_real && (!(high.d > low.d) || isinf(high.d - low.d)))
        n = 1;
    for (uint32_t i = 0; i < n; i++) {
        bool is_last = i + 1 == n;
        rung_value next = high;
        if (!is_last && is_real)
            next.d = low.d + (high.d - low.d) * ((double)(i + 1) / (double)n);
        else if (!is_last)
            next.i = (int64_t)(low.i + span * (i + 1) / n);
        uint64_t upto = is_last ? total : count_below(v, next);
        upto = upto < below ? below : upto;
        buckets[i] = (rung_bucket){edge, next, upto - below};
        below = upto;
        edge = next;
    }
    return n;
}

uint32_t rung_view_spread(const rung_view *v, uint32_t n, bool by_count, rung_bucket *buckets) {
    if (!v->sketch_kind)
        return by_count ? rung_view_distribution_by_count(v, n, buckets)
                        : rung_view_distribution_by_width(v, n, buckets);
    if (v->sketch_kind != RUNG_SKETCH_PERCENTILE)
        return 0;
    return by_count ? spread_by_count(v, n, buckets) : spread_by_width(v, n, buckets);
}
