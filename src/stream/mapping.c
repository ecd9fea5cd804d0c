/* SPDX-License-Identifier: Apache-2.0 */
/* Paths are followed while the record is read: at each object, only those that share its path so far are looked at, and
 * everything else is skipped (but checked: a record that is not JSON as a whole is refused).
 *
 * No path may begin with another one. So a value is either taken or entered, never both, and a value taken as JSON
 * (meta) is as it was sent: reading would unescape the strings in it. */
#include "stream/mapping.h"

#include "codec/match_json.h"
#include "model/calendar.h"
#include "service/submit.h"

#include <string.h>

typedef rung_map_expression expression;

static const char *const names[RUNG_MAP_COLUMN + 1] = {"board", "player", "score", "delta",  "at",
                                                       "id",    "meta",   "sides", "columns"};

const char *rung_map_target_name(rung_map_target target) {
    return names[target < RUNG_MAP_COLUMN ? target : RUNG_MAP_COLUMN];
}

/* ---- expressions ---- */

static rung_slice trim(rung_slice text) {
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = rung_slice_of(text.ptr + 1, text.len - 1);
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* Cut `text` at the first `byte`: returns the part before it, and leaves the rest. */
static rung_slice cut(rung_slice *text, char byte) {
    const char *at = text->len ? memchr(text->ptr, byte, text->len) : NULL;
    rung_slice before = rung_slice_of(text->ptr, at ? (size_t)(at - text->ptr) : text->len);
    size_t taken = before.len + (at != NULL);
    *text = rung_slice_of(text->ptr + taken, text->len - taken);
    return before;
}

static rung_status parse_path(expression *e, rung_slice path, rung_err *err) {
    e->kind = RUNG_MAP_IS_PATH;
    while (path.len) {
        if (e->step_count == RUNG_MAP_STEPS_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL, "a path of at most %d keys", RUNG_MAP_STEPS_MAX);
        bool is_last = !memchr(path.ptr, '.', path.len);
        rung_slice step = cut(&path, '.');
        if (!step.len || (!is_last && !path.len) || step.len > RUNG_JSON_KEY_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL, "a path of keys, such as $.user.id");
        e->steps[e->step_count++] = step;
    }
    if (e->step_count)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_EINVAL, "a path of keys, such as $.user.id");
}

static rung_status parse(rung_slice text, bool may_be_time, expression *out, rung_err *err) {
    expression e = {.text = text};
    rung_status st = RUNG_OK;
    if (!text.len)
        return RUNG_FAIL(err, RUNG_EINVAL, "a path such as $.user.id, $key, or a constant");
    if (text.ptr[0] != '$')
        e.kind = RUNG_MAP_IS_CONSTANT;
    else if (rung_slice_eq(text, RUNG_SLICE("$key")))
        e.kind = RUNG_MAP_IS_KEY;
    else if (rung_slice_eq(text, RUNG_SLICE("$timestamp")) && may_be_time)
        e.kind = RUNG_MAP_IS_TIMESTAMP;
    else if (text.len > 2 && text.ptr[1] == '.')
        st = parse_path(&e, rung_slice_of(text.ptr + 2, text.len - 2), err);
    else
        st = RUNG_FAIL(err, RUNG_EINVAL, "$.KEY.KEY, $key%s, or a constant without $ in front",
                       may_be_time ? ", $timestamp" : "");
    if (st == RUNG_OK)
        *out = e;
    return st;
}

rung_status rung_mapping_set(rung_mapping *m, rung_map_target target, rung_slice text,
                             rung_err *err) {
    return parse(trim(text), target == RUNG_MAP_AT, &m->targets[target], err);
}

rung_status rung_mapping_set_columns(rung_mapping *m, rung_slice text, rung_err *err) {
    while (trim(text).len) {
        rung_slice one = cut(&text, ','), name = trim(cut(&one, ':'));
        uint32_t i = m->column_count;
        if (i == RUNG_MAP_COLUMNS_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL, "at most %d columns", RUNG_MAP_COLUMNS_MAX);
        if (!rung_attribute_name_is_valid(name))
            return RUNG_FAIL(err, RUNG_EINVAL, "NAME: EXPRESSION, ...");
        for (uint32_t k = 0; k < i; k++)
            if (rung_slice_eq(m->columns[k], name))
                return RUNG_FAIL(err, RUNG_EINVAL, "each column once");
        rung_status st = parse(trim(one), false, &m->targets[RUNG_MAP_COLUMN + i], err);
        if (st < 0)
            return st;
        m->columns[m->column_count++] = name;
    }
    return RUNG_OK;
}

/* Is `a` a path, and the beginning of the longer path `b`? */
static bool begins(const expression *a, const expression *b) {
    if (a->kind != RUNG_MAP_IS_PATH || b->kind != RUNG_MAP_IS_PATH ||
        a->step_count >= b->step_count)
        return false;
    for (uint32_t i = 0; i < a->step_count; i++)
        if (!rung_slice_eq(a->steps[i], b->steps[i]))
            return false;
    return true;
}

/* What a match has no use for. */
static rung_status check_match(const rung_mapping *m, rung_err *err) {
    const rung_map_target others[] = {RUNG_MAP_PLAYER, RUNG_MAP_SCORE, RUNG_MAP_DELTA,
                                      RUNG_MAP_META};
    for (size_t i = 0; i < RUNG_COUNT_OF(others); i++)
        if (m->targets[others[i]].kind)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "not together with sides",
                                   rung_map_target_name(others[i]));
    if (m->column_count)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns", "not together with sides");
    if (m->targets[RUNG_MAP_SIDES].kind != RUNG_MAP_IS_PATH)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "a path of keys, such as $.sides");
    return RUNG_OK;
}

rung_status rung_mapping_check(const rung_mapping *m, rung_err *err) {
    const rung_map_target needed[] = {RUNG_MAP_BOARD, RUNG_MAP_PLAYER};
    bool is_match = m->targets[RUNG_MAP_SIDES].kind;
    rung_status st = is_match ? check_match(m, err) : RUNG_OK;
    if (st < 0)
        return st;
    for (size_t i = 0; i < (is_match ? 1 : RUNG_COUNT_OF(needed)); i++)
        if (!m->targets[needed[i]].kind)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "required but missing",
                                   rung_map_target_name(needed[i]));
    if (m->targets[RUNG_MAP_SCORE].kind && m->targets[RUNG_MAP_DELTA].kind)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "delta", "not together with score");
    for (uint32_t i = 0; i < RUNG_MAP_TARGETS; i++)
        for (uint32_t k = 0; k < RUNG_MAP_TARGETS; k++)
            if (begins(&m->targets[i], &m->targets[k]))
                return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%.*s is inside of %.*s",
                                       rung_map_target_name((rung_map_target)k),
                                       (int)m->targets[k].text.len, m->targets[k].text.ptr,
                                       (int)m->targets[i].text.len, m->targets[i].text.ptr);
    return RUNG_OK;
}

/* ---- reading a record ---- */

typedef struct value {
    rung_json_kind kind; /* NONE: missing */
    rung_slice text;     /* of a string its content, of others their JSON */
} value;

typedef struct reading {
    const rung_mapping *m;
    rung_json *r;
    value values[RUNG_MAP_TARGETS];
} reading;

static rung_status take_value(reading *g, value *out) {
    rung_status st;
    out->kind = rung_json_peek(g->r);
    if (out->kind == RUNG_JSON_STRING)
        st = rung_json_string(g->r, &out->text);
    else
        st = rung_json_skip(g->r, &out->text);
    return st;
}

/* Which of `targets` have `key` at this depth of their paths? */
static uint32_t matching(const reading *g, uint32_t targets, uint32_t depth, rung_slice key) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < RUNG_MAP_TARGETS; i++)
        if (targets >> i & 1 && rung_slice_eq(g->m->targets[i].steps[depth], key))
            found |= 1u << i;
    return found;
}

static rung_status read_object(reading *g, uint32_t targets, uint32_t depth);

/* The value of a key that `targets` name: all of their paths end here, or none does. */
static rung_status read_value(reading *g, uint32_t targets, uint32_t depth) {
    value v;
    uint32_t first = (uint32_t)__builtin_ctz(targets);
    if (g->m->targets[first].step_count > depth + 1)
        return rung_json_peek(g->r) == RUNG_JSON_OBJECT ? read_object(g, targets, depth + 1)
                                                        : rung_json_skip(g->r, NULL);
    rung_status st = take_value(g, &v);
    for (uint32_t i = 0; st == RUNG_OK && i < RUNG_MAP_TARGETS; i++)
        if (targets >> i & 1)
            g->values[i] = v;
    return st;
}

static rung_status read_object(reading *g, uint32_t targets, uint32_t depth) {
    rung_slice key;
    rung_status st = rung_json_enter_object(g->r);
    while (st == RUNG_OK && (st = rung_json_next_key(g->r, &key)) == RUNG_OK) {
        uint32_t here = matching(g, targets, depth, key);
        st = here ? read_value(g, here, depth) : rung_json_skip(g->r, NULL);
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_paths(reading *g, const rung_map_record *record, rung_err *err) {
    uint32_t targets = 0;
    for (uint32_t i = 0; i < RUNG_MAP_TARGETS; i++)
        targets |= (uint32_t)(g->m->targets[i].kind == RUNG_MAP_IS_PATH) << i;
    rung_json_init(g->r, record->text, record->len, err);
    rung_status st = read_object(g, targets, 0);
    if (st == RUNG_OK)
        st = rung_json_end(g->r);
    if (st < 0 && err)
        err->reason = RUNG_REASON_MALFORMED;
    return st;
}

static void add_others(reading *g, const rung_map_record *record) {
    for (uint32_t i = 0; i < RUNG_MAP_TARGETS; i++) {
        const expression *e = &g->m->targets[i];
        if (e->kind == RUNG_MAP_IS_CONSTANT)
            g->values[i] = (value){RUNG_JSON_STRING, e->text};
        else if (e->kind == RUNG_MAP_IS_KEY && record->key.ptr)
            g->values[i] = (value){RUNG_JSON_STRING, record->key};
    }
}

/* ---- what it means ---- */

static rung_status fail_type(rung_map_target target, const char *expected, rung_err *err) {
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected %s", rung_map_target_name(target),
                           expected);
}

/* A string, or the text of a number. Missing and null are the same. */
static rung_status take_text(const reading *g, rung_map_target target, bool is_needed,
                             rung_slice *out, rung_err *err) {
    const value *v = &g->values[target];
    const expression *e = &g->m->targets[target];
    if (v->kind == RUNG_JSON_STRING || v->kind == RUNG_JSON_NUMBER) {
        *out = v->text;
        return RUNG_OK;
    }
    if (v->kind != RUNG_JSON_NONE && v->kind != RUNG_JSON_NULL)
        return fail_type(target, "a string or a number", err);
    *out = (rung_slice){NULL, 0};
    if (!is_needed || !e->kind)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "the record has no %.*s",
                           rung_map_target_name(target), (int)(e->text.len < 80 ? e->text.len : 80),
                           e->text.ptr);
}

static rung_status take_value_text(const reading *g, rung_mapped *out, rung_err *err) {
    out->is_delta = g->m->targets[RUNG_MAP_DELTA].kind != RUNG_MAP_UNSET;
    return take_text(g, out->is_delta ? RUNG_MAP_DELTA : RUNG_MAP_SCORE, true, &out->value, err);
}

/* As in a request: milliseconds, or RFC 3339. */
static rung_status take_time(const reading *g, const rung_map_record *record, rung_mapped *out,
                             rung_err *err) {
    const value *v = &g->values[RUNG_MAP_AT];
    rung_err why;
    rung_status st = RUNG_OK;
    out->has_at = v->kind != RUNG_JSON_NONE && v->kind != RUNG_JSON_NULL;
    if (g->m->targets[RUNG_MAP_AT].kind == RUNG_MAP_IS_TIMESTAMP) {
        out->has_at = record->timestamp_ms >= 0;
        out->at_ms = record->timestamp_ms;
        return RUNG_OK;
    }
    if (!out->has_at)
        return RUNG_OK;
    if (v->kind == RUNG_JSON_NUMBER) {
        rung_json_init_at(g->r, v->text, NULL, 0, &why);
        st = rung_json_int64(g->r, &out->at_ms);
    } else {
        st =
            v->kind == RUNG_JSON_STRING ? rung_time_parse(v->text, &out->at_ms, &why) : RUNG_EINVAL;
    }
    return st < 0 ? fail_type(RUNG_MAP_AT, "milliseconds since 1970 or an RFC 3339 time", err)
                  : RUNG_OK;
}

/* The JSON text, of a string its content. */
static rung_slice meta_of(const value *v) {
    return v->kind == RUNG_JSON_NONE || v->kind == RUNG_JSON_NULL ? (rung_slice){NULL, 0} : v->text;
}

/* The packed players are shorter than their JSON, and take its place in the record: so they live as long, and a record
 * that is submitted again need not be read again. */
static rung_status take_sides(const reading *g, rung_mapped *out, rung_err *err) {
    const value *v = &g->values[RUNG_MAP_SIDES];
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_match_event match = {0};
    if (v->kind == RUNG_JSON_NONE || v->kind == RUNG_JSON_NULL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "the record has none");
    if (v->kind != RUNG_JSON_ARRAY)
        return fail_type(RUNG_MAP_SIDES, "an array", err);
    rung_status st = rung_match_json_sides(v->text, g->r, packed, &match, err);
    if (st < 0)
        return st;
    if (match.packed.len > v->text.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "longer than its JSON");
    memcpy((char *)(uintptr_t)v->text.ptr, packed, match.packed.len);
    out->packed = rung_slice_of(v->text.ptr, match.packed.len);
    out->player_count = match.player_count;
    return RUNG_OK;
}

static rung_status take_all(const reading *g, const rung_map_record *record, rung_mapped *out,
                            rung_err *err) {
    rung_status st = take_text(g, RUNG_MAP_BOARD, true, &out->board, err);
    bool is_match = g->m->targets[RUNG_MAP_SIDES].kind;
    if (st == RUNG_OK && !is_match)
        st = take_text(g, RUNG_MAP_PLAYER, true, &out->player, err);
    if (st == RUNG_OK && !is_match)
        st = take_value_text(g, out, err);
    if (st == RUNG_OK)
        st = take_text(g, RUNG_MAP_ID, false, &out->id, err);
    for (uint32_t i = 0; st == RUNG_OK && i < g->m->column_count; i++)
        st = take_text(g, (rung_map_target)(RUNG_MAP_COLUMN + i), false, &out->columns[i], err);
    if (st == RUNG_OK)
        st = take_time(g, record, out, err);
    out->meta = meta_of(&g->values[RUNG_MAP_META]);
    return st == RUNG_OK && is_match ? take_sides(g, out, err) : st;
}

rung_status rung_mapping_read(const rung_mapping *m, const rung_map_record *record,
                              rung_json *reader, rung_mapped *out, rung_err *err) {
    reading g = {.m = m, .r = reader};
    *out = (rung_mapped){0};
    rung_status st = read_paths(&g, record, err);
    if (st < 0)
        return st;
    add_others(&g, record);
    return take_all(&g, record, out, err);
}

/* ---- the event ---- */

static rung_status fill_column(const rung_mapping *m, const rung_mapped *mapped,
                               const rung_board_def *def, uint32_t column, rung_score_event *e,
                               rung_err *err) {
    rung_slice name = def->column_names[column - 1];
    rung_err why;
    uint32_t i = 0;
    while (i < m->column_count && !rung_slice_eq(m->columns[i], name))
        i++;
    if (i == m->column_count || !mapped->columns[i].ptr)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns.%.*s", "required but missing",
                               (int)name.len, name.ptr);
    rung_status st = rung_submit_value(def, column, mapped->columns[i], e, &why);
    return st < 0 ? RUNG_FAIL_FIELD(err, st, "columns.%.*s", "%s", (int)name.len, name.ptr,
                                    why.message)
                  : RUNG_OK;
}

static rung_status fill_values(const rung_mapping *m, const rung_mapped *mapped,
                               const rung_board_def *def, rung_score_event *e, rung_err *err) {
    rung_err why;
    if (!mapped->value.ptr) {
        if (def->update == RUNG_UPDATE_COUNT)
            return RUNG_OK;
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "required but missing");
    }
    e->is_delta = mapped->is_delta;
    e->value_count = def->key.column_count;
    rung_status st = rung_submit_value(def, 0, mapped->value, e, &why);
    if (st < 0)
        return RUNG_FAIL_FIELD(err, st, "%s", "%s", mapped->is_delta ? "delta" : "score",
                               why.message);
    for (uint32_t i = 1; st == RUNG_OK && i < def->key.column_count; i++)
        st = fill_column(m, mapped, def, i, e, err);
    return st;
}

rung_status rung_mapping_fill(const rung_mapping *m, const rung_mapped *mapped,
                              const rung_board_def *def, rung_event *event, rung_err *err) {
    if (mapped->packed.len) {
        event->kind = RUNG_EVENT_MATCH;
        event->match = (rung_match_event){.board = mapped->board,
                                          .id = mapped->id,
                                          .has_at = mapped->has_at,
                                          .at_ms = mapped->at_ms,
                                          .packed = mapped->packed,
                                          .player_count = mapped->player_count};
        return RUNG_OK;
    }
    event->kind = RUNG_EVENT_SCORE;
    event->score = (rung_score_event){.board = mapped->board,
                                      .player = mapped->player,
                                      .id = mapped->id,
                                      .meta = mapped->meta,
                                      .has_at = mapped->has_at,
                                      .at_ms = mapped->at_ms};
    return fill_values(m, mapped, def, &event->score, err);
}
