/* SPDX-License-Identifier: Apache-2.0 */
/* One cursor over the text, and a stack with one frame per open object or array.
 *
 * Invariants:
 *   1. at <= len; status < 0 means that reading has stopped.
 *   2. Before a value is read, `at` is anywhere in the white space before it; afterwards at the byte after it.
 *   3. key_hashes[first_key .. key_count) are the hashes of the unescaped keys of the innermost object that were
 *      returned, in order; key_offsets has their positions in the text.
 *
 * Repeated keys are found by comparing 32-bit hashes with those before in the same object: a short array for usual
 * objects, and some tens of microseconds at the limit, whatever keys a client chose. If hashes are equal, the keys
 * themselves are compared. */
#include "codec/json_reader.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "model/text.h"
#include "model/utf8.h"

enum { PATH_MAX_BYTES = 120 };

/* ---- failing ---- */

typedef struct path {
    char text[PATH_MAX_BYTES + 4];
    size_t len;
} path;

static void path_put(path *p, const char *bytes, size_t len) {
    for (size_t i = 0; i < len && p->len < PATH_MAX_BYTES; i++)
        p->text[p->len++] = bytes[i];
    p->text[p->len] = 0;
}

static void path_put_index(path *p, uint32_t index) {
    char text[24] = "[";
    size_t len = 1 + rung_digits_format(index, text + 1);
    text[len++] = ']';
    path_put(p, text, len);
}

/* The key as spelled in the text, so that a message contains nothing unprintable. */
static void path_put_key(path *p, const rung_json *r, size_t quote) {
    size_t from = quote + 1, to = from;
    while (to < r->len && r->text[to] != '"')
        to += r->text[to] == '\\' ? 2 : 1;
    if (p->len)
        path_put(p, ".", 1);
    if (to <= r->len && rung_utf8_is_plain(rung_slice_of(r->text + from, to - from)))
        path_put(p, r->text + from, to - from);
    else
        path_put(p, "?", 1);
}

/* Cut off a character that the limit split. */
static void path_trim(path *p) {
    while (p->len && !rung_utf8_is_text(rung_slice_of(p->text, p->len)))
        p->text[--p->len] = 0;
}

static void path_build(path *p, const rung_json *r) {
    p->len = 0;
    p->text[0] = 0;
    if (r->prefix)
        path_put(p, r->prefix, strlen(r->prefix));
    for (uint32_t i = 0; i < r->depth; i++) {
        const rung__json_frame *f = &r->frames[i];
        if (f->is_begun && f->is_array)
            path_put_index(p, f->place);
        else if (f->is_begun)
            path_put_key(p, r, f->place);
    }
    path_trim(p);
}

static rung_status tell(rung_json *r, const path *p, size_t at, rung_status st, const char *what) {
    r->status = st;
    if (p->len)
        return RUNG_FAIL_FIELD(r->err, st, "%s", "%s (byte %zu)", p->text, what, r->base + at);
    return RUNG_FAIL(r->err, st, "byte %zu: %s", r->base + at, what);
}

__attribute__((cold, noinline)) static rung_status fail(rung_json *r, size_t at, rung_status st,
                                                        const char *what) {
    if (r->status < 0)
        return r->status;
    path p;
    path_build(&p, r);
    return tell(r, &p, at, st, what);
}

rung_status rung_json_refuse(rung_json *r, rung_status st, const char *what) {
    return fail(r, r->at, st, what);
}

rung_status rung__json_refuse_missing(rung_json *r, const char *name) {
    if (r->status < 0)
        return r->status;
    path p;
    path_build(&p, r);
    if (p.len)
        path_put(&p, ".", 1);
    path_put(&p, name, strlen(name));
    return tell(r, &p, r->at, RUNG_EINVAL, "required but missing");
}

/* ---- bytes ---- */

static void skip_space(rung_json *r) {
    while (r->at < r->len) {
        char c = r->text[r->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        r->at++;
    }
}

/* The byte at the cursor, or 0, which no rule of the grammar accepts. */
static char here(const rung_json *r) {
    return r->at < r->len ? r->text[r->at] : 0;
}

/* ---- strings ---- */

typedef struct string_token {
    size_t from, to; /* between the quotes */
    bool has_escapes;
} string_token;

/* Four hexadecimal digits at `p`, which has `left` bytes; -1 when they are not. */
static int32_t hex4(const char *p, size_t left) {
    if (left < 4)
        return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = rung_hex_value(p[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool is_high_surrogate(int32_t unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_surrogate(int32_t unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

/* The length of the escape at `p` (a backslash); 0: not valid. */
static size_t escape_size(const char *p, size_t left) {
    if (left < 2)
        return 0;
    if (p[1] && strchr("\"\\/bfnrt", p[1]))
        return 2;
    if (p[1] != 'u')
        return 0;
    int32_t unit = hex4(p + 2, left - 2);
    if (unit < 0 || is_low_surrogate(unit))
        return 0;
    if (!is_high_surrogate(unit))
        return 6;
    if (left < 12 || p[6] != '\\' || p[7] != 'u')
        return 0;
    return is_low_surrogate(hex4(p + 8, left - 8)) ? 12 : 0;
}

/* Validate the string whose opening quote is at the cursor, and step past it. */
static rung_status scan_string(rung_json *r, string_token *token) {
    const char *text = r->text;
    size_t at = r->at + 1;
    bool has_high = false;
    token->from = at;
    token->has_escapes = false;
    for (;;) {
        if (r->len - at >= sizeof(uint64_t)) {
            uint64_t found = rung__json_stops(text + at);
            if (!found) {
                at += sizeof(uint64_t);
                continue;
            }
            at += (size_t)__builtin_ctzll(found) / 8;
        } else if (at >= r->len) {
            return fail(r, at, RUNG_EINVAL, "the text ends inside a string");
        }
        unsigned char c = (unsigned char)text[at];
        if (c == '"')
            break;
        if (c == '\\') {
            size_t size = escape_size(text + at, r->len - at);
            if (!size)
                return fail(r, at, RUNG_EINVAL, "not a valid escape");
            token->has_escapes = true;
            at += size;
        } else if (c < 0x20) {
            return fail(r, at, RUNG_EINVAL, "a control character in a string must be escaped");
        } else {
            has_high |= c >= 0x80;
            at++;
        }
    }
    token->to = at;
    if (has_high && !rung_utf8_is_text(rung_slice_of(text + token->from, at - token->from)))
        return fail(r, token->from, RUNG_EINVAL, "not valid UTF-8");
    r->at = at + 1;
    return RUNG_OK;
}

static size_t put_utf8(char *out, uint32_t code) {
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out[0] = (char)(lead[more] | code >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Decode the validated escape at *p into out[4]; returns its length and advances *p. */
static size_t unescape_one(const char **p, char out[4]) {
    const char *at = *p;
    if (at[1] != 'u') {
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *plain = strchr(from, at[1]);
        out[0] = plain ? to[plain - from] : at[1];
        *p = at + 2;
        return 1;
    }
    int32_t unit = hex4(at + 2, 4);
    *p = at + 6;
    if (is_high_surrogate(unit)) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(at + 8, 4) - 0xdc00);
        *p = at + 12;
    }
    return put_utf8(out, (uint32_t)unit);
}

/* Unescape validated bytes to `out`, which may overlap them: an escape is never shorter than its value. Returns the
 * length; more than `room`: they do not fit. */
static size_t unescape(const char *from, const char *to, char *out, size_t room) {
    size_t len = 0, size;
    for (char bytes[4]; from < to && len <= room; len += size) {
        size = 1;
        if (*from == '\\')
            size = unescape_one(&from, bytes);
        else
            bytes[0] = *from++;
        if (len + size <= room)
            memcpy(out + len, bytes, size);
    }
    return len;
}

static rung_slice string_value(rung_json *r, const string_token *token) {
    char *from = r->text + token->from;
    size_t len = token->to - token->from;
    if (token->has_escapes)
        len = unescape(from, from + len, from, len);
    return rung_slice_of(from, len);
}

/* ---- keys ---- */

/* The key as text: in place when it has no escapes, else in the reader's own buffer. */
static rung_status key_value(rung_json *r, const string_token *token, rung_slice *key_out) {
    const char *from = r->text + token->from;
    size_t len = token->to - token->from;
    if (token->has_escapes) {
        len = unescape(from, from + len, r->key, RUNG_JSON_KEY_MAX);
        from = r->key;
    }
    if (len > RUNG_JSON_KEY_MAX)
        return fail(r, token->from, RUNG_ELIMIT, "a key is longer than 256 bytes");
    *key_out = rung_slice_of(from, len);
    return RUNG_OK;
}

static uint32_t key_hash(rung_slice key) {
    uint64_t h = key.len;
    size_t i = 0;
    for (; i + 8 <= key.len; i += 8)
        h = (h ^ rung_get64((const uint8_t *)key.ptr + i)) * 0x9e3779b97f4a7c15u;
    for (; i < key.len; i++)
        h = (h ^ (unsigned char)key.ptr[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

/* Is the validated key at `quote`, unescaped, equal to `key`? */
static bool key_is(const rung_json *r, size_t quote, rung_slice key) {
    const char *p = r->text + quote + 1;
    size_t i = 0;
    while (*p != '"') {
        char bytes[4];
        size_t size = 1;
        if (*p == '\\')
            size = unescape_one(&p, bytes);
        else
            bytes[0] = *p++;
        if (key.len - i < size || memcmp(key.ptr + i, bytes, size) != 0)
            return false;
        i += size;
    }
    return i == key.len;
}

static rung_status remember_key(rung_json *r, rung_slice key) {
    const rung__json_frame *f = &r->frames[r->depth - 1];
    uint32_t hash = key_hash(key);
    for (uint32_t i = f->first_key; i < r->key_count; i++)
        if (r->key_hashes[i] == hash && key_is(r, r->key_offsets[i], key))
            return fail(r, f->place, RUNG_EINVAL, "given twice");
    if (r->key_count == RUNG_JSON_KEYS_MAX)
        return fail(r, f->place, RUNG_ELIMIT, "too many fields");
    r->key_hashes[r->key_count] = hash;
    r->key_offsets[r->key_count++] = f->place;
    return RUNG_OK;
}

/* ---- objects and arrays ---- */

static rung_status enter(rung_json *r, char open, bool is_array, const char *expected) {
    if (r->status < 0)
        return r->status;
    skip_space(r);
    if (here(r) != open)
        return fail(r, r->at, RUNG_EINVAL, expected);
    if (r->depth == RUNG_JSON_DEPTH_MAX)
        return fail(r, r->at, RUNG_ELIMIT, "nested too deep");
    r->frames[r->depth++] = (rung__json_frame){.is_array = is_array, .first_key = r->key_count};
    r->at++;
    return RUNG_OK;
}

rung_status rung_json_enter_object(rung_json *r) {
    return enter(r, '{', false, "expected an object");
}

rung_status rung_json_enter_array(rung_json *r) {
    return enter(r, '[', true, "expected an array");
}

static rung_status leave(rung_json *r) {
    r->key_count = r->frames[--r->depth].first_key;
    r->at++;
    return RUNG_NOT_FOUND;
}

rung_status rung__json_next_key_unchecked(rung_json *r, rung_slice *key_out) {
    if (r->status < 0)
        return r->status;
    RUNG_ASSERT(r->depth && !r->frames[r->depth - 1].is_array);
    rung__json_frame *f = &r->frames[r->depth - 1];
    skip_space(r);
    if (here(r) == '}')
        return leave(r);
    if (f->is_begun) {
        if (here(r) != ',')
            return fail(r, r->at, RUNG_EINVAL, "expected ',' or '}' after the value");
        r->at++;
        skip_space(r);
    }
    if (here(r) != '"') {
        f->is_begun = false; /* keep the previous field out of the path */
        return fail(r, r->at, RUNG_EINVAL, "expected a field's name in quotes");
    }
    f->place = (uint32_t)r->at;
    f->is_begun = false;
    string_token token;
    rung_status st = scan_string(r, &token);
    if (st < 0)
        return st;
    f->is_begun = true;
    st = key_value(r, &token, key_out);
    if (st < 0)
        return st;
    skip_space(r);
    if (here(r) != ':')
        return fail(r, r->at, RUNG_EINVAL, "expected ':' after the field's name");
    r->at++;
    return RUNG_OK;
}

rung_status rung_json_next_key(rung_json *r, rung_slice *key_out) {
    rung_slice key;
    rung_status st = rung__json_next_key_unchecked(r, &key);
    if (st != RUNG_OK)
        return st;
    st = remember_key(r, key);
    if (st == RUNG_OK)
        *key_out = key;
    return st;
}

rung_slice rung__json_keep_key(rung_json *r) {
    char *from = r->text + r->frames[r->depth - 1].place + 1, *to = from;
    bool has_escapes = false;
    while (*to != '"') {
        has_escapes |= *to == '\\';
        to += *to == '\\' ? 2 : 1;
    }
    size_t len = has_escapes ? unescape(from, to, from, (size_t)(to - from)) : (size_t)(to - from);
    from[len] = '"'; /* the path finds its end here */
    return rung_slice_of(from, len);
}

rung_status rung_json_next_item(rung_json *r) {
    if (r->status < 0)
        return r->status;
    RUNG_ASSERT(r->depth && r->frames[r->depth - 1].is_array);
    rung__json_frame *f = &r->frames[r->depth - 1];
    skip_space(r);
    if (here(r) == ']')
        return leave(r);
    if (!f->is_begun) {
        f->is_begun = true;
        return RUNG_OK;
    }
    if (here(r) != ',')
        return fail(r, r->at, RUNG_EINVAL, "expected ',' or ']' after the item");
    r->at++;
    f->place++;
    return RUNG_OK;
}

/* ---- values ---- */

void rung_json_init(rung_json *r, char *text, size_t len, rung_err *err) {
    rung_json_init_at(r, rung_slice_of(text, len), NULL, 0, err);
}

void rung_json_init_at(rung_json *r, rung_slice piece, const char *prefix, size_t base,
                       rung_err *err) {
    RUNG_ASSERT(piece.len < UINT32_MAX);
    r->text = (char *)(uintptr_t)piece.ptr; /* a piece of a text that was given as writable */
    r->len = piece.len;
    r->at = 0;
    r->status = RUNG_OK;
    r->err = err;
    r->prefix = prefix;
    r->base = base;
    r->depth = 0;
    r->key_count = 0;
}

rung_json_kind rung_json_peek(rung_json *r) {
    if (r->status < 0)
        return RUNG_JSON_NONE;
    skip_space(r);
    char c = here(r);
    switch (c) {
    case '{':
        return RUNG_JSON_OBJECT;
    case '[':
        return RUNG_JSON_ARRAY;
    case '"':
        return RUNG_JSON_STRING;
    case 't':
    case 'f':
        return RUNG_JSON_BOOL;
    case 'n':
        return RUNG_JSON_NULL;
    default:
        if (c == '-' || rung_is_digit(c))
            return RUNG_JSON_NUMBER;
        fail(r, r->at, RUNG_EINVAL, r->at < r->len ? "not a JSON value" : "the text ends too soon");
        return RUNG_JSON_NONE;
    }
}

/* false: there is none. */
static bool skip_digits(rung_json *r) {
    size_t from = r->at;
    while (rung_is_digit(here(r)))
        r->at++;
    return r->at > from;
}

static rung_status scan_number(rung_json *r, rung_slice *number_out) {
    size_t from = r->at;
    r->at += here(r) == '-';
    if (here(r) == '0')
        r->at++;
    else if (!skip_digits(r))
        return fail(r, r->at, RUNG_EINVAL, "not a number");
    if (here(r) == '.') {
        r->at++;
        if (!skip_digits(r))
            return fail(r, r->at, RUNG_EINVAL, "expected a digit after the point");
    }
    if ((here(r) | 0x20) == 'e') {
        r->at++;
        r->at += here(r) == '+' || here(r) == '-';
        if (!skip_digits(r))
            return fail(r, r->at, RUNG_EINVAL, "expected a digit in the exponent");
    }
    if (r->at - from > RUNG_JSON_NUMBER_MAX)
        return fail(r, from, RUNG_ELIMIT, "a number is longer than 1024 bytes");
    *number_out = rung_slice_of(r->text + from, r->at - from);
    return RUNG_OK;
}

static rung_status scan_word(rung_json *r, const char *word, size_t len) {
    if (r->len - r->at < len || memcmp(r->text + r->at, word, len) != 0)
        return fail(r, r->at, RUNG_EINVAL, "not a JSON value");
    r->at += len;
    return RUNG_OK;
}

/* The next value must be of one kind. */
static rung_status expect(rung_json *r, rung_json_kind kind, const char *expected) {
    rung_json_kind found = rung_json_peek(r);
    if (found == RUNG_JSON_NONE)
        return r->status;
    return found == kind ? RUNG_OK : fail(r, r->at, RUNG_EINVAL, expected);
}

rung_status rung_json_string(rung_json *r, rung_slice *text_out) {
    string_token token;
    rung_status st = expect(r, RUNG_JSON_STRING, "expected a string");
    if (st == RUNG_OK)
        st = scan_string(r, &token);
    if (st == RUNG_OK)
        *text_out = string_value(r, &token);
    return st;
}

rung_status rung_json_number(rung_json *r, rung_slice *number_out) {
    rung_status st = expect(r, RUNG_JSON_NUMBER, "expected a number");
    return st == RUNG_OK ? scan_number(r, number_out) : st;
}

rung_status rung__json_whole(rung_slice number, int64_t *value_out) {
    size_t i = number.ptr[0] == '-';
    if (number.len - i > 18)
        return rung_text_parse_fixed(number, 0, value_out, NULL);
    int64_t value = 0;
    for (; i < number.len; i++) {
        if (!rung_is_digit(number.ptr[i]))
            return rung_text_parse_fixed(number, 0, value_out, NULL);
        value = value * 10 + (number.ptr[i] - '0');
    }
    *value_out = number.ptr[0] == '-' ? -value : value;
    return RUNG_OK;
}

rung_status rung_json_int64(rung_json *r, int64_t *value_out) {
    rung_slice number;
    rung_status st = expect(r, RUNG_JSON_NUMBER, "expected a whole number");
    size_t from = r->at;
    if (st == RUNG_OK)
        st = scan_number(r, &number);
    if (st < 0)
        return st;
    st = rung__json_whole(number, value_out);
    if (st == RUNG_ERANGE)
        return fail(r, from, RUNG_ERANGE, "the number is out of range");
    return st < 0 ? fail(r, from, RUNG_EINVAL, "expected a whole number") : RUNG_OK;
}

rung_status rung_json_uint32(rung_json *r, uint32_t *value_out) {
    int64_t value;
    rung_status st = rung_json_int64(r, &value);
    if (st < 0)
        return st;
    if (value < 0 || value > UINT32_MAX)
        return fail(r, r->at, RUNG_ERANGE, "expected a whole number from 0 to 4294967295");
    *value_out = (uint32_t)value;
    return RUNG_OK;
}

static rung_status scan_bool(rung_json *r, bool *value_out) {
    bool value = here(r) == 't';
    rung_status st = value ? scan_word(r, "true", 4) : scan_word(r, "false", 5);
    if (st == RUNG_OK)
        *value_out = value;
    return st;
}

rung_status rung_json_bool(rung_json *r, bool *value_out) {
    rung_status st = expect(r, RUNG_JSON_BOOL, "expected true or false");
    return st == RUNG_OK ? scan_bool(r, value_out) : st;
}

static rung_status skip_value(rung_json *r);

static rung_status skip_object(rung_json *r) {
    rung_slice key;
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK)
        st = skip_value(r);
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

static rung_status skip_array(rung_json *r) {
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK)
        st = skip_value(r);
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

/* Recursion ends at RUNG_JSON_DEPTH_MAX. */
static rung_status skip_value(rung_json *r) {
    rung_slice number;
    string_token token;
    bool flag;
    switch (rung_json_peek(r)) {
    case RUNG_JSON_OBJECT:
        return skip_object(r);
    case RUNG_JSON_ARRAY:
        return skip_array(r);
    case RUNG_JSON_STRING:
        return scan_string(r, &token);
    case RUNG_JSON_NUMBER:
        return scan_number(r, &number);
    case RUNG_JSON_BOOL:
        return scan_bool(r, &flag);
    case RUNG_JSON_NULL:
        return scan_word(r, "null", 4);
    case RUNG_JSON_NONE:
        break;
    }
    return r->status;
}

rung_status rung_json_skip(rung_json *r, rung_slice *raw_out) {
    if (r->status < 0)
        return r->status;
    skip_space(r);
    size_t from = r->at;
    rung_status st = skip_value(r);
    if (st == RUNG_OK && raw_out)
        *raw_out = rung_slice_of(r->text + from, r->at - from);
    return st;
}

rung_status rung_json_end(rung_json *r) {
    if (r->status < 0)
        return r->status;
    skip_space(r);
    return r->at == r->len ? RUNG_OK : fail(r, r->at, RUNG_EINVAL, "nothing may follow the value");
}
