/* SPDX-License-Identifier: Apache-2.0 */
#include "support/key_model.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names: of several lengths, some the beginning of others ---- */

rung_slice key_model_key(uint32_t key) {
    static const char *const names[KEY_MODEL_KEYS] = {"own",    "a",        "aa",
                                                      "zset:b", "\xc3\xa4", "z z"};
    return rung_slice_str(names[key]);
}

rung_slice key_model_member(uint32_t member) {
    static char names[KEY_MODEL_MEMBERS][16];
    if (!names[member][0])
        snprintf(names[member], sizeof names[member], "%.*s%c", 1 + (int)member / 8, "mmm",
                 'a' + (int)(member * 5 % 8));
    return rung_slice_str(names[member]);
}

uint32_t key_model_find_key(rung_slice name) {
    uint32_t i = 0;
    while (!rung_slice_eq(key_model_key(i), name))
        i++;
    return i;
}

uint32_t key_model_find_member(rung_slice name) {
    uint32_t i = 0;
    while (!rung_slice_eq(key_model_member(i), name))
        i++;
    return i;
}

/* ---- seeing ---- */

static bool is_visible(const key_model *m, const model_key *k, uint32_t member) {
    return k->has[member] && (k->kind == MODEL_SET || !m->banned[member]);
}

static uint32_t count_of(const key_model *m, const model_key *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < KEY_MODEL_MEMBERS; i++)
        n += is_visible(m, k, i);
    return n;
}

static model_kind kind_of(const key_model *m, const model_key *k) {
    return k->kind == MODEL_ZSET && count_of(m, k) == 0 ? MODEL_NONE : k->kind;
}

model_kind key_model_kind(const key_model *m, uint32_t key, int64_t now_ms) {
    const model_key *k = &m->keys[key];
    return k->has_expiry && k->expires_ms <= now_ms ? MODEL_NONE : kind_of(m, k);
}

/* Ascending by score; then by member, which the board of its own rules has the other way round. */
static bool goes_before(const model_row *a, const model_row *b, bool is_own) {
    if (a->score != b->score)
        return a->score < b->score;
    int c = rung_slice_cmp(key_model_member(a->member), key_model_member(b->member));
    return is_own ? c > 0 : c < 0;
}

static void sort_rows(model_row *rows, uint32_t n, bool is_own) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k && goes_before(&rows[k], &rows[k - 1], is_own); k--) {
            model_row swap = rows[k];
            rows[k] = rows[k - 1];
            rows[k - 1] = swap;
        }
}

uint32_t key_model_rows(const key_model *m, uint32_t key, model_row *rows) {
    const model_key *k = &m->keys[key];
    uint32_t n = 0;
    for (uint32_t i = 0; i < KEY_MODEL_MEMBERS; i++)
        if (is_visible(m, k, i))
            rows[n++] = (model_row){i, k->kind == MODEL_SET ? 1 : k->score[i]};
    sort_rows(rows, n, k->kind == MODEL_OWN);
    return n;
}

static bool above_bound(const rung_lex_bound *b, uint32_t member) {
    int c = rung_slice_cmp(key_model_member(member), b->text);
    return b->kind == RUNG_LEX_LOWEST || (b->kind == RUNG_LEX_CLOSED && c >= 0) ||
           (b->kind == RUNG_LEX_OPEN && c > 0);
}

static bool below_bound(const rung_lex_bound *b, uint32_t member) {
    int c = rung_slice_cmp(key_model_member(member), b->text);
    return b->kind == RUNG_LEX_HIGHEST || (b->kind == RUNG_LEX_CLOSED && c <= 0) ||
           (b->kind == RUNG_LEX_OPEN && c < 0);
}

static bool is_inside(const rung_range *r, const model_row *row) {
    if (r->by == RUNG_RANGE_LEX)
        return above_bound(&r->lex_min, row->member) && below_bound(&r->lex_max, row->member);
    return (r->min_is_open ? row->score > r->min : row->score >= r->min) &&
           (r->max_is_open ? row->score < r->max : row->score <= r->max);
}

void key_model_range(const key_model *m, uint32_t key, const rung_range *r, bool rev,
                     uint32_t *first, uint32_t *end) {
    model_row rows[KEY_MODEL_MEMBERS];
    int64_t n = key_model_rows(m, key, rows), start = r->start, stop = r->stop;
    *first = *end = 0;
    if (r->by == RUNG_RANGE_RANK) {
        start = start < 0 ? start + n : start;
        stop = stop < 0 ? stop + n : stop;
        start = start < 0 ? 0 : start;
        stop = stop >= n ? n - 1 : stop;
        if (start > stop || start >= n)
            return;
        *first = (uint32_t)(rev ? n - 1 - stop : start);
        *end = (uint32_t)(rev ? n - start : stop + 1);
        return;
    }
    while (*first < n && !is_inside(r, &rows[*first]))
        (*first)++;
    *end = *first;
    while (*end < n && is_inside(r, &rows[*end]))
        (*end)++;
}

/* ---- combining ---- */

static double number_or_0(double x) {
    return isnan(x) ? 0 : x;
}

static double aggregate_of(rung_aggregate how, double a, double b) {
    if (how == RUNG_AGGREGATE_MIN)
        return b < a ? b : a;
    if (how == RUNG_AGGREGATE_MAX)
        return b > a ? b : a;
    return number_or_0(a + b);
}

/* A set shows all its members, but nothing made of it has a banned one. */
static bool counts(const key_model *m, uint32_t key, uint32_t member) {
    return kind_of(m, &m->keys[key]) != MODEL_NONE && m->keys[key].has[member] &&
           !m->banned[member];
}

uint32_t key_model_combine(const key_model *m, rung_combine_keys combine, rung_aggregate how,
                           uint32_t n, const uint32_t *keys, const double *weights,
                           model_row *rows) {
    uint32_t order[16], total = 0;
    for (uint32_t i = 0; i < n; i++) { /* by size, stable */
        uint32_t at = i;
        for (; at && count_of(m, &m->keys[keys[order[at - 1]]]) > count_of(m, &m->keys[keys[i]]);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t member = 0; member < KEY_MODEL_MEMBERS; member++) {
        uint32_t in = 0;
        double value = 0;
        for (uint32_t i = 0; i < n; i++) {
            const model_key *k = &m->keys[keys[order[i]]];
            if (!counts(m, keys[order[i]], member))
                continue;
            double mine = weights[order[i]] * (k->kind == MODEL_SET ? 1 : k->score[member]);
            if (combine != RUNG_KEYS_INTER || i == 0) /* as Redis has it */
                mine = number_or_0(mine);
            value = in++ ? aggregate_of(how, value, mine) : mine;
        }
        bool others = false;
        for (uint32_t i = 1; i < n; i++)
            others = others || counts(m, keys[i], member);
        if (combine == RUNG_KEYS_DIFF) {
            const model_key *k = &m->keys[keys[0]];
            value = k->kind == MODEL_SET ? 1 : k->score[member];
        }
        bool is_in = combine == RUNG_KEYS_UNION   ? in > 0
                     : combine == RUNG_KEYS_INTER ? in == n
                                                  : counts(m, keys[0], member) && !others;
        if (is_in)
            rows[total++] = (model_row){member, value};
    }
    sort_rows(rows, total, false);
    return total;
}

/* ---- changing ---- */

static void gone(model_key *k) {
    memset(k, 0, sizeof *k);
}

static bool has_any(const model_key *k) {
    for (uint32_t i = 0; i < KEY_MODEL_MEMBERS; i++)
        if (k->has[i])
            return true;
    return false;
}

/* After a command took members out. */
static void drop_if_empty(model_key *k) {
    if ((k->kind == MODEL_ZSET || k->kind == MODEL_SET) && !has_any(k))
        gone(k);
}

void key_model_pass(key_model *m, int64_t ts_ms) {
    m->time_ms = ts_ms > m->time_ms ? ts_ms : m->time_ms;
    for (uint32_t i = 0; i < KEY_MODEL_KEYS; i++)
        if (m->keys[i].has_expiry && m->keys[i].expires_ms <= m->time_ms)
            gone(&m->keys[i]);
}

void key_model_ban(key_model *m, uint32_t member, bool banned) {
    m->banned[member] = banned;
}

void key_model_erase(key_model *m, uint32_t member) {
    m->banned[member] = false;
    for (uint32_t i = 0; i < KEY_MODEL_KEYS; i++) {
        m->keys[i].has[member] = false;
        if (m->keys[i].kind == MODEL_SET)
            drop_if_empty(&m->keys[i]);
    }
}

void key_model_remove(key_model *m, uint32_t key, uint32_t member) {
    if (m->keys[key].kind != MODEL_SET)
        m->keys[key].has[member] = false;
}

void key_model_define(key_model *m) {
    m->keys[KEY_MODEL_OWN].kind = MODEL_OWN;
}

/* One member of a ZADD; false ends the command. */
static bool zadd_one(key_model *m, model_key *k, uint32_t flags, uint32_t member, double number,
                     model_result *out) {
    bool exists = k->has[member], is_incr = flags & RUNG_ZCOMMAND_INCR;
    if (k->kind == MODEL_NONE && flags & RUNG_IF_XX)
        return true;
    if (k->kind == MODEL_OWN && (number != rint(number) || fabs(number) > 9007199254740992.0)) {
        out->error = RUNG_ZKEY_REFUSED;
        return false;
    }
    if (m->banned[member]) {
        out->error = RUNG_ZKEY_REFUSED;
        return false;
    }
    if (exists ? flags & RUNG_IF_NX : flags & RUNG_IF_XX)
        return true;
    double old = k->score[member], value = is_incr && exists ? old + number : number;
    if (isnan(value)) {
        out->error = RUNG_ZKEY_NAN;
        return false;
    }
    if (exists &&
        ((flags & RUNG_IF_GT && !(value > old)) || (flags & RUNG_IF_LT && !(value < old))))
        return true;
    if (k->kind == MODEL_NONE)
        k->kind = MODEL_ZSET;
    out->count += !exists;
    out->updated += exists && value != old;
    k->has[member] = true;
    k->score[member] = value == 0 ? 0 : value; /* no -0 is kept */
    out->has_score = is_incr;
    out->score = k->score[member];
    return true;
}

static void zadd(key_model *m, rung_zcommand *c, model_result *out) {
    model_key *k = &m->keys[key_model_find_key(c->key)];
    rung_zcommand_item item;
    if (k->kind == MODEL_SET) {
        out->error = RUNG_ZKEY_WRONG_TYPE;
        return;
    }
    while (rung_zcommand_item_next(c, &item))
        if (!zadd_one(m, k, c->flags, key_model_find_member(item.name), item.number, out))
            break;
}

static void take_out(model_key *k, uint32_t member, model_result *out) {
    out->count += k->has[member];
    k->has[member] = false;
}

static void zpop(key_model *m, rung_zcommand *c, model_result *out) {
    rung_zcommand_item item;
    model_row rows[KEY_MODEL_MEMBERS];
    while (rung_zcommand_item_next(c, &item)) {
        uint32_t key = key_model_find_key(item.name);
        model_key *k = &m->keys[key];
        if (k->kind == MODEL_SET) {
            out->error = RUNG_ZKEY_WRONG_TYPE;
            return;
        }
        uint32_t n = key_model_rows(m, key, rows);
        if (!n)
            continue;
        out->key = (int)key;
        for (uint32_t i = 0; i < n && i < c->pop_count; i++) {
            out->rows[out->row_count++] = rows[c->flags & RUNG_ZCOMMAND_MAX ? n - 1 - i : i];
            take_out(k, out->rows[i].member, out);
        }
        drop_if_empty(k);
        return;
    }
}

static bool in_the_way(key_model *m, rung_slice name, model_result *out) {
    if (m->keys[key_model_find_key(name)].kind != MODEL_OWN)
        return false;
    out->error = RUNG_ZKEY_REFUSED;
    return true;
}

static void store(key_model *m, rung_slice name, const model_row *rows, uint32_t n,
                  model_result *out) {
    model_key *k = &m->keys[key_model_find_key(name)];
    gone(k);
    k->kind = n ? MODEL_ZSET : MODEL_NONE;
    for (uint32_t i = 0; i < n; i++) {
        k->has[rows[i].member] = true;
        k->score[rows[i].member] = rows[i].score == 0 ? 0 : rows[i].score;
    }
    out->count = n;
}

static void zrangestore(key_model *m, const rung_zcommand *c, model_result *out) {
    uint32_t from = key_model_find_key(c->other), first, end;
    model_row rows[KEY_MODEL_MEMBERS], kept[KEY_MODEL_MEMBERS];
    bool rev = c->flags & RUNG_ZCOMMAND_REV;
    if (m->keys[from].kind == MODEL_SET) {
        out->error = RUNG_ZKEY_WRONG_TYPE;
        return;
    }
    if (in_the_way(m, c->key, out))
        return;
    key_model_rows(m, from, rows);
    key_model_range(m, from, &c->range, rev, &first, &end);
    uint32_t n = 0;
    for (uint32_t i = 0; i < end - first; i++) {
        bool is_limited = c->flags & RUNG_ZCOMMAND_LIMIT;
        if (is_limited && (c->offset < 0 || i < c->offset || (c->limit >= 0 && n >= c->limit)))
            continue;
        kept[n++] = rows[rev ? end - 1 - i : first + i];
    }
    store(m, c->key, kept, n, out);
}

static void zstore(key_model *m, rung_zcommand *c, model_result *out) {
    uint32_t keys[16], n = 0;
    double weights[16];
    model_row rows[KEY_MODEL_MEMBERS];
    rung_zcommand_item item;
    if (in_the_way(m, c->key, out))
        return;
    for (; rung_zcommand_item_next(c, &item); n++) {
        keys[n] = key_model_find_key(item.name);
        weights[n] = item.number;
    }
    uint32_t total = key_model_combine(m, c->combine, c->aggregate, n, keys, weights, rows);
    store(m, c->key, rows, total, out);
}

/* Level 1: the board with rules of its own goes, or gets an end, only by an admin's command. */
static bool denied(const key_model *m, rung_slice name, model_result *out) {
    bool is_denied =
        m->rules >= 1 && !m->is_admin && m->keys[key_model_find_key(name)].kind == MODEL_OWN;
    if (is_denied)
        out->error = RUNG_ZKEY_DENIED;
    return is_denied;
}

static void del(key_model *m, rung_zcommand *c, model_result *out) {
    rung_zcommand_item item;
    for (rung_zcommand all = *c; rung_zcommand_item_next(&all, &item);)
        if (denied(m, item.name, out))
            return;
    while (rung_zcommand_item_next(c, &item)) {
        model_key *k = &m->keys[key_model_find_key(item.name)];
        out->count += kind_of(m, k) != MODEL_NONE;
        gone(k);
    }
}

static void flush(key_model *m, model_result *out) {
    if (denied(m, key_model_key(KEY_MODEL_OWN), out))
        return;
    for (uint32_t i = 0; i < KEY_MODEL_KEYS; i++)
        gone(&m->keys[i]);
}

static void expire(key_model *m, const rung_zcommand *c, model_result *out) {
    model_key *k = &m->keys[key_model_find_key(c->key)];
    if (denied(m, c->key, out))
        return;
    if (kind_of(m, k) == MODEL_NONE || (c->flags & RUNG_IF_NX && k->has_expiry) ||
        (c->flags & RUNG_IF_XX && !k->has_expiry) ||
        (c->flags & RUNG_IF_GT && !(k->has_expiry && c->at_ms > k->expires_ms)) ||
        (c->flags & RUNG_IF_LT && k->has_expiry && !(c->at_ms < k->expires_ms)))
        return;
    out->count = 1;
    if (c->at_ms <= m->time_ms) {
        gone(k);
        return;
    }
    k->has_expiry = true;
    k->expires_ms = c->at_ms;
}

static void persist(key_model *m, const rung_zcommand *c, model_result *out) {
    model_key *k = &m->keys[key_model_find_key(c->key)];
    if (denied(m, c->key, out) || kind_of(m, k) == MODEL_NONE || !k->has_expiry)
        return;
    out->count = 1;
    k->has_expiry = false;
    k->expires_ms = 0;
}

static void rename_key(key_model *m, const rung_zcommand *c, model_result *out) {
    model_key *from = &m->keys[key_model_find_key(c->key)],
              *to = &m->keys[key_model_find_key(c->other)];
    if (kind_of(m, from) == MODEL_NONE) {
        out->error = RUNG_ZKEY_NO_SUCH;
        return;
    }
    if (c->flags & RUNG_IF_NX && kind_of(m, to) != MODEL_NONE)
        return;
    if (from != to && (in_the_way(m, c->key, out) || in_the_way(m, c->other, out)))
        return;
    out->count = 1;
    if (from == to)
        return;
    *to = *from;
    gone(from);
}

static void sadd(key_model *m, rung_zcommand *c, model_result *out) {
    model_key *k = &m->keys[key_model_find_key(c->key)];
    rung_zcommand_item item;
    if (kind_of(m, k) == MODEL_ZSET || k->kind == MODEL_OWN) {
        out->error = RUNG_ZKEY_WRONG_TYPE;
        return;
    }
    if (k->kind == MODEL_ZSET) /* all of it is hidden */
        gone(k);
    k->kind = MODEL_SET;
    while (rung_zcommand_item_next(c, &item)) {
        uint32_t member = key_model_find_member(item.name);
        out->count += !k->has[member];
        k->has[member] = true;
    }
}

static void take_members(key_model *m, rung_zcommand *c, model_kind wrong, model_result *out) {
    model_key *k = &m->keys[key_model_find_key(c->key)];
    rung_zcommand_item item;
    model_kind kind = kind_of(m, k);
    if (kind == wrong || (wrong == MODEL_ZSET && kind == MODEL_OWN)) {
        out->error = RUNG_ZKEY_WRONG_TYPE;
        return;
    }
    while (kind != MODEL_NONE && rung_zcommand_item_next(c, &item))
        take_out(k, key_model_find_member(item.name), out);
    if (kind != MODEL_NONE)
        drop_if_empty(k);
}

void key_model_apply(key_model *m, rung_zcommand *c, model_result *out) {
    model_row rows[KEY_MODEL_MEMBERS];
    uint32_t key, first, end;
    memset(out, 0, sizeof *out);
    out->key = -1;
    switch (c->kind) {
    case RUNG_ZCOMMAND_ZADD:
        zadd(m, c, out);
        break;
    case RUNG_ZCOMMAND_ZREM:
        take_members(m, c, MODEL_SET, out);
        break;
    case RUNG_ZCOMMAND_SREM:
        take_members(m, c, MODEL_ZSET, out);
        break;
    case RUNG_ZCOMMAND_SKETCH:
    case RUNG_ZCOMMAND_SKETCH_ADD: /* test_sketches.c has these */
        break;
    case RUNG_ZCOMMAND_ZREMRANGE:
        key = key_model_find_key(c->key);
        if (m->keys[key].kind == MODEL_SET) {
            out->error = RUNG_ZKEY_WRONG_TYPE;
            break;
        }
        key_model_rows(m, key, rows);
        key_model_range(m, key, &c->range, false, &first, &end);
        for (uint32_t i = first; i < end; i++)
            take_out(&m->keys[key], rows[i].member, out);
        if (out->count)
            drop_if_empty(&m->keys[key]);
        break;
    case RUNG_ZCOMMAND_ZPOP:
        zpop(m, c, out);
        break;
    case RUNG_ZCOMMAND_ZRANGESTORE:
        zrangestore(m, c, out);
        break;
    case RUNG_ZCOMMAND_ZSTORE:
        zstore(m, c, out);
        break;
    case RUNG_ZCOMMAND_DEL:
        del(m, c, out);
        break;
    case RUNG_ZCOMMAND_EXPIRE:
        expire(m, c, out);
        break;
    case RUNG_ZCOMMAND_PERSIST:
        persist(m, c, out);
        break;
    case RUNG_ZCOMMAND_RENAME:
        rename_key(m, c, out);
        break;
    case RUNG_ZCOMMAND_FLUSH:
        flush(m, out);
        break;
    case RUNG_ZCOMMAND_SADD:
        sadd(m, c, out);
        break;
    }
}
