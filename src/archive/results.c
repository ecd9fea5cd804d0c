/* SPDX-License-Identifier: Apache-2.0 */
/* A result is a byte, the number of values; then for each its type and decimals, as rung_outcome has them, and eight
 * bytes. It is that of the board's first window, as in an outcome. */
#include "archive/results.h"

#include "archive/archive.h"

#include <string.h>

enum { AT_ONCE = 64, VALUE_BYTES = 1 + sizeof(rung_value) };

/* Players of one board, looked up together: their cache misses overlap. */
typedef struct group {
    const rung_state *state;
    rung_buffer *out;
    rung_slice board;
    uint32_t count;
    rung_slice players[AT_ONCE];
    rung_row rows[AT_ONCE];
    bool found[AT_ONCE];
} group;

static void put_result(rung_buffer *out, const rung_archive_values *types, const rung_row *row) {
    uint8_t bytes[1 + RUNG_COLUMNS_MAX * VALUE_BYTES], *at = bytes;
    *at++ = (uint8_t)row->value_count;
    for (uint32_t i = 0; i < row->value_count; i++) {
        *at++ = (uint8_t)(types->types[i] | types->decimals[i] << 4);
        memcpy(at, &row->values[i], sizeof row->values[i]);
        at += sizeof row->values[i];
    }
    rung_buffer_put(out, (const char *)bytes, (size_t)(at - bytes));
}

static void flush(group *g) {
    rung_view view;
    const rung_board_def *def;
    rung_archive_values types = {0};
    if (!g->count)
        return;
    memset(g->found, 0, sizeof g->found);
    if (rung_state_board(g->state, g->board, &def) == RUNG_OK &&
        rung_state_view(g->state, &(rung_query){.board = g->board}, &view, NULL) == RUNG_OK) {
        types = rung_archive_values_of(def);
        rung_view_rows(&view, g->count, g->players, g->rows, g->found);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        const rung_row none = {0};
        put_result(g->out, &types, g->found[i] ? &g->rows[i] : &none);
    }
    g->count = 0;
}

static void add(group *g, rung_slice board, rung_slice player) {
    if (g->count == AT_ONCE || (g->count && !rung_slice_eq(board, g->board)))
        flush(g);
    g->board = board;
    g->players[g->count++] = player;
}

static bool names_members(const rung_zcommand *c) {
    return c->kind == RUNG_ZCOMMAND_ZADD || c->kind == RUNG_ZCOMMAND_ZREM;
}

static void add_members(group *g, rung_slice rest) {
    rung_zcommand c;
    rung_zcommand_item item;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        while (names_members(&c) && rung_zcommand_item_next(&c, &item))
            add(g, c.key, item.name);
}

static void add_match(group *g, const rung_match_event *match) {
    rung_match_cursor c = {.rest = match->packed};
    rung_match_entry entry;
    while (rung_match_next(&c, &entry))
        add(g, match->board, entry.player);
}

bool rung_results_has(const rung_event *event) {
    rung_slice rest = event->keys.packed;
    rung_zcommand c;
    if (event->kind == RUNG_EVENT_MATCH)
        return true;
    if (event->kind == RUNG_EVENT_REVIEWED)
        return event->reviewed.verdict == RUNG_VERDICT_PROMOTE;
    while (event->kind == RUNG_EVENT_KEYS && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if (names_members(&c))
            return true;
    return false;
}

void rung_results_pack(const rung_state *state, const rung_event *event, rung_buffer *out) {
    group g = {.state = state, .out = out};
    if (event->kind == RUNG_EVENT_KEYS)
        add_members(&g, event->keys.packed);
    else if (event->kind == RUNG_EVENT_MATCH)
        add_match(&g, &event->match);
    else
        add(&g, event->reviewed.board, event->reviewed.player);
    flush(&g);
}

bool rung_results_next(rung_slice *packed, rung_archive_values *out) {
    const char *at = packed->ptr;
    *out = (rung_archive_values){0};
    if (!packed->len)
        return false;
    out->count = (uint8_t)*at++;
    for (uint32_t i = 0; i < out->count; i++) {
        out->types[i] = (uint8_t)*at & 15;
        out->decimals[i] = (uint8_t)*at++ >> 4;
        memcpy(&out->values[i], at, sizeof out->values[i]);
        at += sizeof out->values[i];
    }
    packed->len -= (size_t)(at - packed->ptr);
    packed->ptr = at;
    return out->count > 0;
}
