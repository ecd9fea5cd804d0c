/* SPDX-License-Identifier: Apache-2.0 */
/* A command as bytes, in the terms of base/bytes.h:
 *
 *   byte      kind
 *   then, by kind:
 *     zadd           byte flags, text key, number of items; per item: text member, real score
 *     zrem           text key, number of items; per item: text member
 *     zremrange      text key, range
 *     zpop           byte flags, number: how many; number of items; per item: text key
 *     zrangestore    byte flags, text destination, text source, range; with limit: signed offset, signed limit
 *     zstore         byte combine, byte aggregate, text destination, number of items; per item: text key, real weight
 *     del            number of items; per item: text key
 *     expire         byte flags, text key, signed time
 *     persist        text key
 *     rename         byte flags, text key, text new name
 *     flush          nothing
 *     sadd, srem     text key, number of items; per item: text member
 *     sketch, sketch_add
 *                    byte flags, text key, number of items; per item: text name, real number
 *   a range is
 *     byte by; by rank: signed start, signed stop; by score: byte (bit 0 min is open, bit 1 max), real min, real max;
 *     by members: byte (bits 0-1 kind of min, bits 2-3 of max), then the text of each that has one
 *
 * One table says which fields a kind has; checking, writing and reading follow it.
 *
 * Invariants
 *   1. What decodes encodes to the same bytes, and the other way round.
 *   2. A field that the kind does not have is 0. */
#include "model/zcommand.h"

#include "model/board.h"
#include "model/coder.h"

enum {
    FLAGS = 1,
    KEY = 2,
    OTHER = 4,
    RANGE = 8,
    ITEMS = 16,
    NUMBERS = 32, /* items have one */
    POP = 64,
    COMBINE = 128,
    TIME = 256,
};

typedef struct shape {
    const char *name;
    uint16_t fields;
    uint8_t flags; /* that it knows */
} shape;

static const shape SHAPES[] = {
    [RUNG_ZCOMMAND_ZADD] = {"zadd", FLAGS | KEY | ITEMS | NUMBERS,
                            RUNG_IF_MASK | RUNG_ZCOMMAND_INCR},
    [RUNG_ZCOMMAND_ZREM] = {"zrem", KEY | ITEMS, 0},
    [RUNG_ZCOMMAND_ZREMRANGE] = {"zremrange", KEY | RANGE, 0},
    [RUNG_ZCOMMAND_ZPOP] = {"zpop", FLAGS | POP | ITEMS, RUNG_ZCOMMAND_MAX},
    [RUNG_ZCOMMAND_ZRANGESTORE] = {"zrangestore", FLAGS | KEY | OTHER | RANGE,
                                   RUNG_ZCOMMAND_REV | RUNG_ZCOMMAND_LIMIT},
    [RUNG_ZCOMMAND_ZSTORE] = {"zstore", COMBINE | KEY | ITEMS | NUMBERS, 0},
    [RUNG_ZCOMMAND_DEL] = {"del", ITEMS, 0},
    [RUNG_ZCOMMAND_EXPIRE] = {"expire", FLAGS | KEY | TIME, RUNG_IF_MASK},
    [RUNG_ZCOMMAND_PERSIST] = {"persist", KEY, 0},
    [RUNG_ZCOMMAND_RENAME] = {"rename", FLAGS | KEY | OTHER, RUNG_IF_NX},
    [RUNG_ZCOMMAND_FLUSH] = {"flush", 0, 0},
    [RUNG_ZCOMMAND_SADD] = {"sadd", KEY | ITEMS, 0},
    [RUNG_ZCOMMAND_SREM] = {"srem", KEY | ITEMS, 0},
    [RUNG_ZCOMMAND_SKETCH] = {"sketch", FLAGS | KEY | ITEMS | NUMBERS, 0x31},
    [RUNG_ZCOMMAND_SKETCH_ADD] = {"sketch_add", FLAGS | KEY | ITEMS | NUMBERS, 0x31},
};

static const shape *shape_of(unsigned kind) {
    return kind < sizeof SHAPES / sizeof SHAPES[0] && SHAPES[kind].name ? &SHAPES[kind] : NULL;
}

const char *rung_zcommand_kind_name(rung_zcommand_kind kind) {
    const shape *s = shape_of(kind);
    return s ? s->name : "unknown";
}

/* ---- validity ---------------------------------------------------------------------------------------- */

static rung_status check_name(rung_slice name, const char *field, rung_err *err) {
    if (rung_name_is_valid(name))
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s",
                           "1 to %d bytes of UTF-8 without control characters", field,
                           RUNG_NAME_MAX);
}

static rung_status check_flags(const rung_zcommand *c, const shape *s, rung_err *err) {
    uint32_t f = c->flags;
    bool excluded = f & RUNG_IF_GT && f & RUNG_IF_LT;
    if (f & RUNG_IF_NX && f & (RUNG_IF_XX | RUNG_IF_GT | RUNG_IF_LT))
        excluded = true;
    if (f & ~(uint32_t)s->flags)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "flags", "one that %s does not have", s->name);
    if (c->kind >= RUNG_ZCOMMAND_SKETCH)
        return f >> RUNG_ZCOMMAND_SKETCH_SHIFT
                   ? RUNG_OK
                   : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "flags", "no kind of sketch");
    if (c->kind == RUNG_ZCOMMAND_ZPOP || c->kind == RUNG_ZCOMMAND_ZRANGESTORE)
        excluded = f & RUNG_ZCOMMAND_LIMIT && c->range.by == RUNG_RANGE_RANK;
    if (excluded)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "flags", "they exclude each other");
    if (f & RUNG_ZCOMMAND_INCR && c->item_count != 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "flags", "an increment is of one member");
    return RUNG_OK;
}

static rung_status check_bound(const rung_lex_bound *b, rung_err *err) {
    if (b->kind > RUNG_LEX_OPEN)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "range", "an unknown bound");
    if (b->text.len > (b->kind >= RUNG_LEX_CLOSED ? RUNG_ZCOMMAND_BOUND_MAX : 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "range", "a bound of at most %d bytes",
                               RUNG_ZCOMMAND_BOUND_MAX);
    return RUNG_OK;
}

static rung_status check_range(const rung_range *r, rung_err *err) {
    if (r->by > RUNG_RANGE_LEX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "range", "by rank, score or member");
    if (r->by == RUNG_RANGE_SCORE && (__builtin_isnan(r->min) || __builtin_isnan(r->max)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "range", "a number");
    if (r->by != RUNG_RANGE_LEX)
        return RUNG_OK;
    rung_status st = check_bound(&r->lex_min, err);
    return st < 0 ? st : check_bound(&r->lex_max, err);
}

static rung_status check_item(const rung_zcommand_item *item, rung_err *err) {
    if (__builtin_isnan(item->number))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "number", "a number");
    return check_name(item->name, "name", err);
}

/* All but the items. */
static rung_status check_fields(const rung_zcommand *c, const shape *s, rung_err *err) {
    rung_status st = check_flags(c, s, err);
    if (st >= 0 && s->fields & KEY)
        st = check_name(c->key, "key", err);
    if (st >= 0 && s->fields & OTHER)
        st = check_name(c->other, "key", err);
    if (st >= 0 && s->fields & RANGE)
        st = check_range(&c->range, err);
    if (st < 0)
        return st;
    if (s->fields & ITEMS && c->item_count < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "items", "at least one");
    if (s->fields & COMBINE &&
        (c->combine > RUNG_KEYS_DIFF || c->aggregate > RUNG_AGGREGATE_MAX ||
         (c->combine == RUNG_KEYS_DIFF && c->aggregate != RUNG_AGGREGATE_SUM)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "combine", "an unknown way");
    return RUNG_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

/* A byte of flags, none above `all`. */
static unsigned code_bits(const rung__coder *c, unsigned bits, unsigned all) {
    RUNG__CODE_BYTE(c, bits);
    if (bits > all)
        rung_byte_reader_fail(c->r, "a range has an unknown bit");
    return bits;
}

static void code_range(const rung__coder *c, rung_range *r) {
    unsigned bits;
    RUNG__CODE_BYTE(c, r->by);
    switch (r->by) {
    case RUNG_RANGE_RANK:
        rung__code_signed(c, &r->start);
        rung__code_signed(c, &r->stop);
        return;
    case RUNG_RANGE_SCORE:
        bits = code_bits(c, r->min_is_open | (unsigned)r->max_is_open << 1, 3);
        r->min_is_open = bits & 1;
        r->max_is_open = bits >> 1 & 1;
        rung__code_real(c, &r->min);
        rung__code_real(c, &r->max);
        return;
    case RUNG_RANGE_LEX:
        bits = code_bits(c, r->lex_min.kind | (unsigned)r->lex_max.kind << 2, 15);
        r->lex_min.kind = (rung_lex_kind)(bits & 3);
        r->lex_max.kind = (rung_lex_kind)(bits >> 2 & 3);
        if (r->lex_min.kind >= RUNG_LEX_CLOSED)
            rung__code_text(c, &r->lex_min.text);
        if (r->lex_max.kind >= RUNG_LEX_CLOSED)
            rung__code_text(c, &r->lex_max.text);
        return;
    }
    rung_byte_reader_fail(c->r, "a range is by something unknown");
}

/* All but the kind and the items. */
static void code_command(const rung__coder *c, rung_zcommand *z, const shape *s) {
    if (s->fields & FLAGS)
        RUNG__CODE_BYTE(c, z->flags);
    if (s->fields & COMBINE) {
        RUNG__CODE_BYTE(c, z->combine);
        RUNG__CODE_BYTE(c, z->aggregate);
    }
    if (s->fields & POP)
        rung__code_number(c, &z->pop_count);
    if (s->fields & KEY)
        rung__code_text(c, &z->key);
    if (s->fields & OTHER)
        rung__code_text(c, &z->other);
    if (s->fields & RANGE)
        code_range(c, &z->range);
    if (s->fields & TIME)
        rung__code_signed(c, &z->at_ms);
    if (z->kind == RUNG_ZCOMMAND_ZRANGESTORE && z->flags & RUNG_ZCOMMAND_LIMIT) {
        rung__code_signed(c, &z->offset);
        rung__code_signed(c, &z->limit);
    }
}

static void put_items(rung_byte_writer *w, const rung_zcommand *c, const shape *s) {
    rung_put_number(w, c->item_count);
    if (!c->items) {
        rung_put_bytes(w, c->packed_items.ptr, c->packed_items.len);
        return;
    }
    for (uint32_t i = 0; i < c->item_count; i++) {
        rung_put_text(w, c->items[i].name);
        if (s->fields & NUMBERS)
            rung_put_real(w, c->items[i].number);
    }
}

rung_status rung_zcommand_encode(const rung_zcommand *command, void *out, size_t size,
                                 size_t *length_out, rung_err *err) {
    const shape *s = shape_of(command->kind);
    if (!s)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "command", "%u is not known here",
                               (unsigned)command->kind);
    rung_status st = check_fields(command, s, err);
    for (uint32_t i = 0; st >= 0 && command->items && i < command->item_count; i++)
        st = check_item(&command->items[i], err);
    if (st < 0)
        return st;
    rung_byte_writer w = rung_byte_writer_of(out, size);
    rung_zcommand copy = *command;
    rung_put_byte(&w, (uint8_t)command->kind);
    code_command(&(rung__coder){.w = &w}, &copy, s);
    if (s->fields & ITEMS)
        put_items(&w, command, s);
    size_t length = rung_byte_writer_length(&w);
    *length_out = length;
    return length <= size
               ? RUNG_OK
               : RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "command", "it takes %zu bytes", length);
}

static rung_zcommand_item get_item(rung_byte_reader *r, const shape *s) {
    rung_zcommand_item item = {.name = rung_get_text(r)};
    if (s->fields & NUMBERS)
        item.number = rung_get_real(r);
    return item;
}

static rung_status get_items(rung_byte_reader *r, rung_zcommand *c, const shape *s, rung_err *err) {
    c->item_count = rung_get_count(r, UINT32_MAX);
    const uint8_t *start = r->at;
    for (uint32_t i = 0; i < c->item_count && !r->fault; i++) {
        rung_zcommand_item item = get_item(r, s);
        rung_status st = r->fault ? RUNG_OK : check_item(&item, err);
        if (st < 0)
            return st;
    }
    if (!r->fault)
        c->packed_items = rung_slice_of(start, (size_t)(r->at - start));
    return RUNG_OK;
}

rung_status rung_zcommand_next(rung_slice *packed, rung_zcommand *command_out, rung_err *err) {
    if (packed->len == 0)
        return RUNG_NOT_FOUND;
    rung_byte_reader r = rung_byte_reader_of(*packed);
    rung_zcommand c = {.kind = (rung_zcommand_kind)rung_get_byte(&r)};
    const shape *s = shape_of(c.kind);
    if (!s)
        return RUNG_FAIL_FIELD(err, RUNG_EVERSION, "command", "%u is not known here",
                               (unsigned)c.kind);
    code_command(&(rung__coder){.r = &r}, &c, s);
    rung_status st = s->fields & ITEMS ? get_items(&r, &c, s, err) : RUNG_OK;
    if (st >= 0 && r.fault)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "a command is damaged: %s", r.fault);
    if (st >= 0)
        st = check_fields(&c, s, err);
    if (st < 0)
        return st;
    *packed = rung_get_rest(&r);
    *command_out = c;
    return RUNG_OK;
}

bool rung_zcommand_item_next(rung_zcommand *command, rung_zcommand_item *item_out) {
    const shape *s = shape_of(command->kind);
    if (!s || command->packed_items.len == 0)
        return false;
    rung_byte_reader r = rung_byte_reader_of(command->packed_items);
    rung_zcommand_item item = get_item(&r, s);
    if (r.fault)
        return false;
    command->packed_items = rung_get_rest(&r);
    *item_out = item;
    return true;
}

rung_status rung_zcommands_check(uint32_t count, rung_slice packed, rung_err *err) {
    rung_zcommand c;
    uint32_t n = 0;
    rung_status st;
    while ((st = rung_zcommand_next(&packed, &c, err)) == RUNG_OK)
        n++;
    if (st < 0)
        return st;
    if (n != count || n < 1 || n > RUNG_ZCOMMANDS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "commands", "1 to %u, as many as announced",
                               RUNG_ZCOMMANDS_MAX);
    return RUNG_OK;
}
