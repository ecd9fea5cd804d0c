/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes have one form: a flag announces something that is not the default. */
#include "model/match.h"

#include "base/bytes.h"
#include "model/board.h"

#include <string.h>

enum { FIRST = 1, WEIGHT = 2, PLAYED = 4, FLAGS = 7 };

static bool take(rung_slice *rest, void *out, size_t size) {
    if (rest->len < size)
        return false;
    memcpy(out, rest->ptr, size);
    *rest = rung_slice_of(rest->ptr + size, rest->len - size);
    return true;
}

static bool take_real(rung_slice *rest, double *out) {
    uint8_t bytes[8];
    if (!take(rest, bytes, sizeof bytes))
        return false;
    *out = rung_real_at(bytes);
    return *out != 1;
}

static bool fail(rung_match_cursor *c, const char *fault) {
    c->fault = fault;
    return false;
}

bool rung_match_next(rung_match_cursor *c, rung_match_entry *out) {
    uint8_t flags, len, place[4];
    if (c->fault || c->rest.len == 0)
        return false;
    rung_match_entry e = {.weight = 1, .played = 1};
    if (!take(&c->rest, &flags, 1) || flags & ~FLAGS || (!c->has_entry && !(flags & FIRST)))
        return fail(c, "unknown flags of a player");
    if (flags & FIRST) {
        if (!take(&c->rest, place, sizeof place))
            return fail(c, "a place is cut off");
        e.is_first = true;
        e.place = (int32_t)((uint32_t)place[0] | (uint32_t)place[1] << 8 |
                            (uint32_t)place[2] << 16 | (uint32_t)place[3] << 24);
        e.side = c->has_entry ? c->entry.side + 1 : 0;
    } else {
        e.place = c->entry.place;
        e.side = c->entry.side;
        e.index = c->entry.index + 1;
    }
    if (!take(&c->rest, &len, 1) || c->rest.len < len)
        return fail(c, "a player is cut off");
    e.player = rung_slice_of(c->rest.ptr, len);
    c->rest = rung_slice_of(c->rest.ptr + len, c->rest.len - len);
    if ((flags & WEIGHT && !take_real(&c->rest, &e.weight)) ||
        (flags & PLAYED && !take_real(&c->rest, &e.played)))
        return fail(c, "a weight is cut off or not needed");
    c->entry = *out = e;
    c->has_entry = true;
    return true;
}

bool rung_match_put(rung_byte_writer *w, const rung_match_entry *entry) {
    size_t need = 1u + (entry->is_first ? 4u : 0u) + 1u + entry->player.len +
                  (entry->weight != 1 ? 8u : 0u) + (entry->played != 1 ? 8u : 0u);
    if (rung_byte_writer_room(w) < need)
        return false;
    rung_put_byte(w, (uint8_t)((entry->is_first ? FIRST : 0) | (entry->weight != 1 ? WEIGHT : 0) |
                               (entry->played != 1 ? PLAYED : 0)));
    for (int i = 0; entry->is_first && i < 4; i++)
        rung_put_byte(w, (uint8_t)((uint32_t)entry->place >> 8 * i));
    rung_put_byte(w, (uint8_t)entry->player.len);
    rung_put_bytes(w, entry->player.ptr, entry->player.len);
    if (entry->weight != 1)
        rung_put_real(w, entry->weight);
    if (entry->played != 1)
        rung_put_real(w, entry->played);
    return true;
}

rung_status rung_match_entry_check(const rung_match_entry *e, rung_err *err) {
    if (!rung_name_is_valid(e->player))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].player",
                               "1 to %d bytes of UTF-8 without control characters", e->side,
                               e->index, RUNG_NAME_MAX);
    if (!(e->weight >= 0.01 && e->weight <= 100))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].weight",
                               "must be 0.01 to 100", e->side, e->index);
    if (!(e->played >= 0.001 && e->played <= 1))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].played",
                               "must be 0.001 to 1", e->side, e->index);
    return RUNG_OK;
}

/* Nobody twice: at most 256 players, so comparing the new one with all before is at most 32,640 comparisons, most of
 * them of lengths. */
static rung_status check_unique(const rung_slice *seen, uint32_t count, const rung_match_entry *e,
                                rung_err *err) {
    for (uint32_t i = 0; i < count; i++)
        if (rung_slice_eq(seen[i], e->player))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].player",
                                   "already in this match", e->side, e->index);
    return RUNG_OK;
}

rung_status rung_match_packed_check(rung_slice packed, uint32_t *count_out, rung_err *err) {
    rung_slice seen[RUNG_MATCH_PLAYERS_MAX];
    rung_match_cursor c = {.rest = packed};
    rung_match_entry e = {0};
    uint32_t count = 0;
    while (rung_match_next(&c, &e)) {
        if (count == RUNG_MATCH_PLAYERS_MAX)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "at most %d players",
                                   RUNG_MATCH_PLAYERS_MAX);
        rung_status st = rung_match_entry_check(&e, err);
        if (st == RUNG_OK)
            st = check_unique(seen, count, &e, err);
        if (st < 0)
            return st;
        seen[count++] = e.player;
    }
    if (c.fault)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "%s", c.fault);
    if (count == 0 || e.side == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "a match has at least two sides");
    *count_out = count;
    return RUNG_OK;
}
