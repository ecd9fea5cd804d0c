/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes: text board; text definition, empty: none; number of players, text each; number of matches, number each;
 * byte has_sources; byte has_span;
 * signed from, to; number until; signed created; number trial_last. */
#include "service/replay_task.h"

#include "base/bytes.h"

#include <string.h>

struct rung_replay_task {
    const rung_alloc *alloc;
    rung_replay_spec spec;
    rung_board_def def;
    rung_slice *players;
    uint64_t matches[RUNG_MATCHES_REMOVED_MAX];
    size_t size;
    uint8_t bytes[];
};

static void write_spec(rung_byte_writer *w, const rung_replay_spec *s, rung_slice def) {
    rung_put_text(w, s->board);
    rung_put_text(w, def);
    rung_put_number(w, s->player_count);
    for (uint32_t i = 0; i < s->player_count; i++)
        rung_put_text(w, s->players[i]);
    rung_put_number(w, s->match_count);
    for (uint32_t i = 0; i < s->match_count; i++)
        rung_put_number(w, s->matches[i]);
    rung_put_byte(w, s->has_sources);
    rung_put_byte(w, s->has_span);
    rung_put_signed(w, s->from_ms);
    rung_put_signed(w, s->to_ms);
    rung_put_number(w, s->until_seq);
    rung_put_signed(w, s->created_ms);
    rung_put_number(w, s->trial_last);
}

static rung_status read_def(rung_replay_task *t, rung_slice def, rung_err *err) {
    if (!def.len)
        return RUNG_OK;
    rung_status st = rung_board_def_decode(def, &t->def, err);
    t->spec.def = &t->def;
    return st;
}

static rung_status read_spec(rung_replay_task *t, rung_err *err) {
    rung_slice bytes = rung_slice_of(t->bytes, t->size);
    rung_byte_reader r = rung_byte_reader_of(bytes);
    t->spec.board = rung_get_text(&r);
    rung_slice def = rung_get_text(&r);
    uint32_t count = rung_get_count(&r, RUNG_REPLAY_PLAYERS_MAX);
    if (count) {
        t->players = rung_alloc_get(t->alloc, count * sizeof *t->players);
        if (!t->players)
            return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
        t->spec.player_count = count;
        t->spec.players = t->players;
    }
    for (uint32_t i = 0; i < count; i++)
        t->players[i] = rung_get_text(&r);
    t->spec.matches = t->matches;
    t->spec.match_count = rung_get_count(&r, RUNG_MATCHES_REMOVED_MAX);
    for (uint32_t i = 0; i < t->spec.match_count && !r.fault; i++)
        t->matches[i] = rung_get_number(&r);
    t->spec.has_sources = rung_get_byte(&r) != 0;
    t->spec.has_span = rung_get_byte(&r) != 0;
    t->spec.from_ms = rung_get_signed(&r);
    t->spec.to_ms = rung_get_signed(&r);
    t->spec.until_seq = rung_get_number(&r);
    t->spec.created_ms = rung_get_signed(&r);
    t->spec.trial_last = (uint32_t)rung_get_number(&r);
    rung_status st = rung_byte_reader_finish(&r, bytes, "a replay", err);
    return st < 0 ? st : read_def(t, def, err);
}

rung_status rung_replay_task_read(const rung_alloc *alloc, rung_slice bytes, rung_replay_task **out,
                                  rung_err *err) {
    rung_replay_task *t = rung_alloc_zeroed(alloc, sizeof *t + bytes.len);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    t->alloc = alloc;
    t->size = bytes.len;
    memcpy(t->bytes, bytes.ptr, bytes.len);
    rung_status st = read_spec(t, err);
    if (st < 0) {
        rung_replay_task_free(t);
        return st;
    }
    *out = t;
    return RUNG_OK;
}

rung_status rung_replay_task_copy(const rung_alloc *alloc, const rung_replay_spec *spec,
                                  rung_replay_task **out, rung_err *err) {
    size_t def_len = 0;
    uint8_t *def = NULL, *bytes = rung_alloc_get(alloc, RUNG_REPLAY_TASK_BYTES_MAX);
    rung_status st = bytes ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_OK && spec->def) {
        def = rung_alloc_get(alloc, RUNG_BOARD_DEF_BYTES_MAX);
        st = def ? rung_board_def_encode(spec->def, def, RUNG_BOARD_DEF_BYTES_MAX, &def_len)
                 : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
        if (st < 0 && def)
            rung_ignore(RUNG_FAIL_FIELD(err, st, "definition", "it is not valid"), "as st");
    }
    if (st == RUNG_OK) {
        rung_byte_writer w = rung_byte_writer_of(bytes, RUNG_REPLAY_TASK_BYTES_MAX);
        write_spec(&w, spec, rung_slice_of(def, def_len));
        size_t len = rung_byte_writer_length(&w);
        st = len > RUNG_REPLAY_TASK_BYTES_MAX
                 ? RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "exclude.players", "the names are too long")
                 : rung_replay_task_read(alloc, rung_slice_of(bytes, len), out, err);
    }
    rung_alloc_free(alloc, def, def ? RUNG_BOARD_DEF_BYTES_MAX : 0);
    rung_alloc_free(alloc, bytes, bytes ? RUNG_REPLAY_TASK_BYTES_MAX : 0);
    return st;
}

void rung_replay_task_free(rung_replay_task *t) {
    if (!t)
        return;
    rung_alloc_free(t->alloc, t->players, t->spec.player_count * sizeof *t->players);
    rung_alloc_free(t->alloc, t, sizeof *t + t->size);
}

const rung_replay_spec *rung_replay_task_spec(const rung_replay_task *t) {
    return &t->spec;
}

rung_slice rung_replay_task_bytes(const rung_replay_task *t) {
    return rung_slice_of(t->bytes, t->size);
}
