/* SPDX-License-Identifier: Apache-2.0 */
/* Fields mostly come in the order of the table, so the search for a name starts after the last one found. A field is
 * repeated if its slot is taken; the reader's own, slower check of keys is not used here. */
#include "codec/schema.h"

#include "base/assert.h"
#include "model/calendar.h"
#include "model/text.h"
#include "model/words.h"

enum { NAME_NEAR_MAX = 48, TEXT_MAX = 200 };

/* ---- messages ---- */

typedef struct message {
    char text[TEXT_MAX];
    size_t len;
} message;

static void say(message *m, const char *text) {
    while (*text && m->len < TEXT_MAX - 1)
        m->text[m->len++] = *text++;
    m->text[m->len] = 0;
}

static void say_number(message *m, int64_t value) {
    char digits[RUNG_TEXT_NUMBER_MAX];
    digits[rung_text_format_fixed(value, 0, digits)] = 0;
    say(m, digits);
}

static void say_types(message *m, uint32_t types) {
    static const struct {
        uint32_t type;
        const char *text;
    } words[] = {
        {RUNG_FIELD_STRING, "a string"},    {RUNG_FIELD_TIME, "an RFC 3339 time in quotes"},
        {RUNG_FIELD_NUMBER, "a number"},    {RUNG_FIELD_INTEGER, "a whole number"},
        {RUNG_FIELD_BOOL, "true or false"}, {RUNG_FIELD_OBJECT, "an object"},
        {RUNG_FIELD_ARRAY, "an array"},     {RUNG_FIELD_NULL, "null"},
    };
    const char *between = "expected ";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (types & words[i].type) {
            say(m, between);
            say(m, words[i].text);
            between = " or ";
        }
}

static rung_status refuse_types(rung_json *r, uint32_t types) {
    message m = {.len = 0};
    say_types(&m, types);
    return rung_json_refuse(r, RUNG_EINVAL, m.text);
}

static rung_status refuse_values(rung_json *r, const char *const *values) {
    message m = {.len = 0};
    say(&m, "expected one of");
    for (const char *between = " "; *values; values++, between = ", ") {
        say(&m, between);
        say(&m, *values);
    }
    return rung_json_refuse(r, RUNG_EINVAL, m.text);
}

/* "expected a to b things", or "at least a", or "at most b". */
static rung_status refuse_span(rung_json *r, rung_status st, int64_t low, int64_t high,
                               bool has_high, const char *what) {
    message m = {.len = 0};
    say(&m, has_high ? "expected " : "expected at least ");
    say_number(&m, low);
    if (has_high) {
        say(&m, " to ");
        say_number(&m, high);
    }
    say(&m, what);
    return rung_json_refuse(r, st, m.text);
}

/* The edit distance (change, add, drop, swap) between two short names; `limit` + 1 if it is more. */
static uint32_t distance(rung_slice a, rung_slice b, uint32_t limit) {
    uint8_t rows[3][NAME_NEAR_MAX + 1];
    size_t gap = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (a.len > NAME_NEAR_MAX || b.len > NAME_NEAR_MAX || gap > limit)
        return limit + 1;
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= a.len; i++) {
        uint8_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        now[0] = (uint8_t)i;
        for (size_t j = 1; j <= b.len; j++) {
            uint8_t best = (uint8_t)(before[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]));
            if (before[j] + 1 < best)
                best = (uint8_t)(before[j] + 1);
            if (now[j - 1] + 1 < best)
                best = (uint8_t)(now[j - 1] + 1);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                twice[j - 2] + 1 < best)
                best = (uint8_t)(twice[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

static const rung_field *nearest(const rung_schema *schema, rung_slice name) {
    uint32_t limit = name.len <= 4 ? 1 : 2, best = limit + 1;
    const rung_field *found = NULL;
    for (uint32_t i = 0; i < schema->count; i++) {
        const rung_field *f = &schema->fields[i];
        uint32_t d = distance(name, rung_slice_of(f->name, f->name_len), limit);
        if (d < best) {
            best = d;
            found = f;
        }
    }
    return found;
}

static rung_status refuse_unknown(rung_json *r, const rung_schema *schema, rung_slice name) {
    message m = {.len = 0};
    say(&m, "unknown field");
    const rung_field *near = nearest(schema, name);
    if (near) {
        say(&m, "; did you mean \"");
        say(&m, near->name);
        say(&m, "\"?");
    }
    return rung_json_refuse(r, RUNG_EINVAL, m.text);
}

/* ---- values ---- */

static uint32_t type_of(rung_json_kind kind) {
    static const uint8_t types[] = {
        [RUNG_JSON_NONE] = 0,
        [RUNG_JSON_NULL] = RUNG_FIELD_NULL,
        [RUNG_JSON_BOOL] = RUNG_FIELD_BOOL,
        [RUNG_JSON_NUMBER] = RUNG_FIELD_NUMBER | RUNG_FIELD_INTEGER,
        [RUNG_JSON_STRING] = RUNG_FIELD_STRING | RUNG_FIELD_TIME,
        [RUNG_JSON_OBJECT] = RUNG_FIELD_OBJECT,
        [RUNG_JSON_ARRAY] = RUNG_FIELD_ARRAY,
    };
    return types[kind];
}

static rung_status check_choice(rung_json *r, const char *const *values, rung_slice text,
                                uint32_t *choice_out) {
    int choice = rung_word_find(values, text);
    if (choice < 0)
        return refuse_values(r, values);
    *choice_out = (uint32_t)choice;
    return RUNG_OK;
}

static rung_status check_string(rung_json *r, const rung_field *f, rung_slot *slot) {
    rung_slice text = slot->text;
    if (text.len < f->len_min || (f->len_max && text.len > f->len_max))
        return refuse_span(r, RUNG_EINVAL, f->len_min, f->len_max, f->len_max != 0, " bytes");
    if (f->types & RUNG_FIELD_TIME) {
        rung_status st = rung_time_parse(text, &slot->integer, NULL);
        if (st == RUNG_ERANGE)
            return rung_json_refuse(r, st, "years 1900 to 9999 are supported");
        if (st < 0 && !(f->types & RUNG_FIELD_STRING))
            return refuse_types(r, f->types);
    }
    return f->values ? check_choice(r, f->values, text, &slot->choice) : RUNG_OK;
}

static rung_status check_number(rung_json *r, const rung_field *f, rung_slot *slot) {
    if (!(f->types & RUNG_FIELD_INTEGER))
        return RUNG_OK;
    rung_status st = rung__json_whole(slot->text, &slot->integer);
    if (st < 0 && f->types & RUNG_FIELD_NUMBER)
        return RUNG_OK;
    if (st == RUNG_ERANGE)
        return rung_json_refuse(r, st, "the number is out of range");
    if (st < 0)
        return refuse_types(r, f->types);
    if (f->has_range && (slot->integer < f->min || slot->integer > f->max))
        return refuse_span(r, RUNG_ERANGE, f->min, f->max, true, "");
    return RUNG_OK;
}

static rung_status check_item(rung_json *r, const rung_field *f) {
    rung_json_kind kind = rung_json_peek(r);
    if (f->items && kind != RUNG_JSON_NONE && !(type_of(kind) & f->items))
        return refuse_types(r, f->items);
    rung_slice raw = {0};
    rung_status st = rung_json_skip(r, &raw);
    /* Escapes only make a string longer, so the reader checks again what passes here. */
    if (st == RUNG_OK && kind == RUNG_JSON_STRING && f->item_len_max &&
        raw.len - 2 > f->item_len_max && !memchr(raw.ptr, '\\', raw.len))
        return refuse_span(r, RUNG_EINVAL, 0, f->item_len_max, true, " bytes");
    if (st == RUNG_OK && kind == RUNG_JSON_STRING && f->values) {
        uint32_t choice;
        return check_choice(r, f->values, rung_slice_of(raw.ptr + 1, raw.len - 2), &choice);
    }
    return st;
}

static rung_status read_array(rung_json *r, const rung_field *f, rung_slot *slot) {
    const char *from = r->text + r->at;
    uint32_t count = 0;
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = check_item(r, f);
        count++;
    }
    if (st < 0)
        return st;
    slot->text = rung_slice_of(from, (size_t)(r->text + r->at - from));
    slot->integer = count;
    if (count < f->items_min || (f->items_max && count > f->items_max))
        return refuse_span(r, RUNG_EINVAL, f->items_min, f->items_max, f->items_max != 0, " items");
    return RUNG_OK;
}

static rung_status read_value(rung_json *r, const rung_field *f, rung_slot *slot) {
    bool flag;
    rung_status st;
    slot->kind = rung_json_peek(r);
    slot->offset = rung_json_offset(r);
    if (slot->kind == RUNG_JSON_NONE)
        return r->status;
    if (!(type_of(slot->kind) & f->types))
        return refuse_types(r, f->types);
    slot->present = true;
    slot->choice = 0;
    slot->integer = 0;
    switch (slot->kind) {
    case RUNG_JSON_STRING:
        st = rung_json_string(r, &slot->text);
        return st == RUNG_OK ? check_string(r, f, slot) : st;
    case RUNG_JSON_NUMBER:
        st = rung_json_number(r, &slot->text);
        return st == RUNG_OK ? check_number(r, f, slot) : st;
    case RUNG_JSON_BOOL:
        st = rung_json_bool(r, &flag);
        if (st == RUNG_OK)
            slot->integer = flag;
        return st;
    case RUNG_JSON_ARRAY:
        return read_array(r, f, slot);
    default:
        return rung_json_skip(r, &slot->text);
    }
}

/* ---- objects ---- */

/* Find the field with that name, starting at `from` and wrapping around; count: none. */
static uint32_t find_field(const rung_schema *schema, rung_slice name, uint32_t from) {
    for (uint32_t n = 0, i = from; n < schema->count; n++, i++) {
        if (i >= schema->count)
            i = 0;
        const rung_field *f = &schema->fields[i];
        if (f->name_len == name.len && memcmp(f->name, name.ptr, name.len) == 0)
            return i;
    }
    return schema->count;
}

static rung_status read_other(const rung_schema *schema, rung_json *r, rung_slice name,
                              rung_slot *slots, uint32_t *others) {
    if (!schema->others)
        return refuse_unknown(r, schema, name);
    rung_slot *first = slots + schema->count;
    for (uint32_t i = 0; i < *others; i++)
        if (rung_slice_eq(first[i].name, name))
            return rung_json_refuse(r, RUNG_EINVAL, "given twice");
    if (*others == schema->others_max)
        return rung_json_refuse(r, RUNG_ELIMIT, "too many fields");
    rung_slot *slot = &first[(*others)++];
    slot->name = rung__json_keep_key(r);
    return read_value(r, schema->others, slot);
}

static rung_status read_field(const rung_schema *schema, rung_json *r, uint32_t i,
                              rung_slot *slot) {
    if (slot->present)
        return rung_json_refuse(r, RUNG_EINVAL, "given twice");
    return read_value(r, &schema->fields[i], slot);
}

static rung_status check_required(const rung_schema *schema, rung_json *r, const rung_slot *slots) {
    for (uint32_t i = 0; i < schema->count; i++)
        if (schema->fields[i].required && !slots[i].present)
            return rung__json_refuse_missing(r, schema->fields[i].name);
    return RUNG_OK;
}

rung_status rung_schema_read(const rung_schema *schema, rung_json *r, rung_slot *slots) {
    RUNG_ASSERT(schema->count <= RUNG_SCHEMA_FIELDS_MAX);
    for (uint32_t i = 0; i < schema->count + schema->others_max; i++)
        slots[i].present = false;
    uint32_t next = 0, others = 0;
    rung_slice name;
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung__json_next_key_unchecked(r, &name)) == RUNG_OK) {
        uint32_t i = find_field(schema, name, next);
        if (i < schema->count)
            st = read_field(schema, r, i, &slots[i]);
        else
            st = read_other(schema, r, name, slots, &others);
        next = i + 1;
    }
    return st == RUNG_NOT_FOUND ? check_required(schema, r, slots) : st;
}

rung_status rung_schema_read_at(const rung_schema *schema, rung_json *r, rung_slice object,
                                const char *path, size_t offset, rung_slot *slots, rung_err *err) {
    rung_json_init_at(r, object, path, offset, err);
    rung_status st = rung_schema_read(schema, r, slots);
    return st == RUNG_OK ? rung_json_end(r) : st;
}
