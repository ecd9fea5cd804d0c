/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts and the order of checks are those of Redis 7's networking.c, so that client tests of protocol errors
 * pass here, too. As in Redis, the two bytes after a bulk string are not checked.
 *
 * Invariants:
 *   1. at <= the length given; bytes before `at` are parsed and never read again.
 *   2. `count` spans are known; args_left more are to come. bulk_len >= 0: the header of the next one was parsed.
 *   3. spans == own, or spans has `size` elements from alloc. */
#include "codec/resp_parser.h"

#include "base/ascii.h"
#include "base/assert.h"

enum { ARGS_FIRST = 256, ARGS_KEPT = 4096, LINE_KEPT = 4096 };

/* ---- arguments ---- */

void rung_resp_args_deinit(rung_resp_args *args) {
    rung_alloc_free(args->alloc, args->items, args->size * sizeof *args->items);
    rung_buffer_deinit(&args->line);
    *args = (rung_resp_args){.alloc = args->alloc};
}

void rung_resp_args_reset(rung_resp_args *args) {
    if (args->size > ARGS_KEPT || args->line.size > LINE_KEPT)
        rung_resp_args_deinit(args);
    args->count = 0;
    args->head.len = 0;
}

static bool args_reserve(rung_resp_args *args, uint32_t more) {
    uint32_t count = args->count + more;
    rung_slice *items =
        rung_alloc_array(args->alloc, args->items, &args->size,
                         count < ARGS_FIRST ? ARGS_FIRST - 1 : count, sizeof *items);
    args->items = items ? items : args->items;
    return items;
}

/* ---- the parser's life ---- */

void rung_resp_parser_restart(rung_resp_parser *p) {
    if (p->spans != p->own) {
        rung_alloc_free(p->alloc, p->spans, p->size * sizeof *p->spans);
        p->spans = p->own;
        p->size = RUNG_RESP_PARSER_ARGS_OWN;
    }
    p->at = p->seen = 0;
    p->args_left = -1;
    p->bulk_len = -1;
    p->count = 0;
}

void rung_resp_parser_init(rung_resp_parser *p, const rung_alloc *alloc, rung_resp_limits limits) {
    RUNG_ASSERT(limits.command_max <= INT32_MAX);
    *p = (rung_resp_parser){.limits = limits, .alloc = alloc, .size = RUNG_RESP_PARSER_ARGS_OWN};
    p->spans = p->own;
    rung_resp_parser_restart(p);
}

void rung_resp_parser_deinit(rung_resp_parser *p) {
    if (p->spans)
        rung_resp_parser_restart(p);
}

static bool add_span(rung_resp_parser *p, uint32_t offset, uint32_t len) {
    if (p->count == p->size) {
        uint32_t size = p->size * 2;
        bool is_own = p->spans == p->own;
        rung__resp_span *spans =
            rung_alloc_resize(p->alloc, is_own ? NULL : p->spans,
                              is_own ? 0 : p->size * sizeof *spans, size * sizeof *spans);
        if (!spans)
            return false;
        if (is_own)
            memcpy(spans, p->own, sizeof p->own);
        p->spans = spans;
        p->size = size;
    }
    p->spans[p->count++] = (rung__resp_span){offset, len};
    return true;
}

static rung_status fail(rung_resp_parser *p, const char *what) {
    size_t len = strlen(what);
    RUNG_ASSERT(len < sizeof p->error);
    memcpy(p->error, what, len + 1);
    return RUNG_EINVAL;
}

static const char *too_many(const rung_resp_parser *p) {
    return p->limits.is_stranger ? "Protocol error: unauthenticated multibulk length"
                                 : "Protocol error: invalid multibulk length";
}

/* ---- lines ---- */

bool rung_resp_integer(rung_slice text, int64_t *value_out) {
    size_t i = text.len && text.ptr[0] == '-';
    bool is_negative = i;
    if (text.len == i || text.len - i > 19)
        return false;
    if (text.ptr[i] == '0' && (text.len > 1))
        return false;
    uint64_t value = 0;
    for (; i < text.len; i++) {
        unsigned digit = (unsigned char)text.ptr[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    if (value > (uint64_t)INT64_MAX + is_negative)
        return false;
    *value_out = is_negative ? (int64_t)-value : (int64_t)value;
    return true;
}

/* The line at `at`, up to its '\r', including the byte after that. RUNG_OK, with `at` after it; RUNG_PARTIAL; or
 * `too_big`. */
static rung_status take_line(rung_resp_parser *p, rung_slice bytes, const char *too_big,
                             rung_slice *line_out) {
    const char *from = bytes.ptr + p->at;
    size_t left = bytes.len - p->at;
    const char *end = left > p->seen ? memchr(from + p->seen, '\r', left - p->seen) : NULL;
    if (!end) {
        p->seen = (uint32_t)left;
        return left > RUNG_RESP_INLINE_MAX ? fail(p, too_big) : RUNG_PARTIAL;
    }
    size_t len = (size_t)(end - from);
    if (len + 2 > left) {
        p->seen = (uint32_t)len;
        return RUNG_PARTIAL;
    }
    *line_out = rung_slice_of(from, len);
    p->at += (uint32_t)len + 2;
    p->seen = 0;
    return RUNG_OK;
}

/* ---- arrays of bulk strings ---- */

static rung_status read_count(rung_resp_parser *p, rung_slice bytes) {
    rung_slice line;
    int64_t count;
    rung_status st = take_line(p, bytes, "Protocol error: too big mbulk count string", &line);
    if (st != RUNG_OK)
        return st;
    if (!rung_resp_integer(rung_slice_of(line.ptr + 1, line.len - 1), &count) || count > INT32_MAX)
        return fail(p, "Protocol error: invalid multibulk length");
    if (count > p->limits.args_max)
        return fail(p, too_many(p));
    p->args_left = count > 0 ? (int32_t)count : 0;
    return RUNG_OK;
}

static rung_status read_bulk_length(rung_resp_parser *p, rung_slice bytes) {
    rung_slice line;
    rung_status st = take_line(p, bytes, "Protocol error: too big bulk count string", &line);
    if (st != RUNG_OK)
        return st;
    if (!line.len || line.ptr[0] != '$') {
        char what[] = "Protocol error: expected '$', got '?'";
        char got = line.len ? line.ptr[0] : '\r';
        /* A reply is one line: bytes that would end it become spaces, as in Redis. */
        what[sizeof what - 3] = got == '\r' || got == '\n' || got == 0 ? ' ' : got;
        return fail(p, what);
    }
    if (!rung_resp_integer(rung_slice_of(line.ptr + 1, line.len - 1), &p->bulk_len) ||
        p->bulk_len < 0)
        return fail(p, "Protocol error: invalid bulk length");
    if (p->bulk_len > p->limits.bulk_max || p->at + p->bulk_len + 2 > p->limits.command_max)
        return fail(p, p->limits.is_stranger ? "Protocol error: unauthenticated bulk length"
                                             : "Protocol error: invalid bulk length");
    return RUNG_OK;
}

static rung_status read_array(rung_resp_parser *p, rung_slice bytes) {
    rung_status st = p->args_left < 0 ? read_count(p, bytes) : RUNG_OK;
    while (st == RUNG_OK && p->args_left > 0) {
        if (p->bulk_len < 0 && (st = read_bulk_length(p, bytes)) != RUNG_OK)
            return st;
        if ((int64_t)(bytes.len - p->at) < p->bulk_len + 2)
            return RUNG_PARTIAL;
        if (!add_span(p, p->at, (uint32_t)p->bulk_len))
            return RUNG_ENOMEM;
        p->at += (uint32_t)p->bulk_len + 2;
        p->bulk_len = -1;
        p->args_left--;
    }
    return st;
}

/* ---- inline commands ---- */

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Decode the escape after a backslash in double quotes at text[i]; advances i to its last byte. */
static char unescape(rung_slice text, size_t *i) {
    char c = text.ptr[++*i];
    if (c == 'x' && *i + 2 < text.len && rung_hex_value(text.ptr[*i + 1]) >= 0 &&
        rung_hex_value(text.ptr[*i + 2]) >= 0) {
        c = (char)(rung_hex_value(text.ptr[*i + 1]) << 4 | rung_hex_value(text.ptr[*i + 2]));
        *i += 2;
        return c;
    }
    static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? bytes[found - letters] : c;
}

/* Append the quoted part that starts at text[*i] to `out`; advances past the closing quote. false: there is none, or
 * no space after it. */
static bool take_quoted(rung_slice text, size_t *i, char **out) {
    char quote = text.ptr[*i];
    for (size_t at = *i + 1; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == quote) {
            *i = at + 1;
            return *i == text.len || is_space(text.ptr[*i]);
        }
        if (c == '\\' && at + 1 < text.len) {
            if (quote == '"')
                c = unescape(text, &at);
            else if (text.ptr[at + 1] == '\'')
                c = text.ptr[++at];
        }
        *(*out)++ = c;
    }
    return false;
}

/* One word from text[*i] on. */
static bool take_word(rung_slice text, size_t *i, char **out) {
    while (*i < text.len && !is_space(text.ptr[*i])) {
        char c = text.ptr[*i];
        if (c == '"' || c == '\'')
            return take_quoted(text, i, out);
        *(*out)++ = c;
        ++*i;
    }
    return true;
}

static rung_status read_words(rung_resp_parser *p, rung_resp_args *args, rung_slice line) {
    char *out = args->line.data;
    for (size_t i = 0;;) {
        while (i < line.len && is_space(line.ptr[i]))
            i++;
        if (i == line.len)
            return RUNG_OK;
        char *from = out;
        if (!take_word(line, &i, &out))
            return fail(p, "Protocol error: unbalanced quotes in request");
        if (p->count == p->limits.args_max)
            return fail(p, too_many(p));
        if (!add_span(p, (uint32_t)(from - args->line.data), (uint32_t)(out - from)))
            return RUNG_ENOMEM;
    }
}

static rung_status read_inline(rung_resp_parser *p, rung_resp_args *args, rung_slice bytes) {
    const char *end = memchr(bytes.ptr + p->seen, '\n', bytes.len - p->seen);
    if (!end) {
        p->seen = (uint32_t)bytes.len;
        return bytes.len > RUNG_RESP_INLINE_MAX ? fail(p, "Protocol error: too big inline request")
                                                : RUNG_PARTIAL;
    }
    size_t len = (size_t)(end - bytes.ptr);
    if (len > RUNG_RESP_INLINE_MAX)
        return fail(p, "Protocol error: too big inline request");
    p->at = (uint32_t)len + 1;
    if (len && bytes.ptr[len - 1] == '\r')
        len--;
    args->line.alloc = args->alloc;
    if (!rung_buffer_reserve(&args->line, len + 1))
        return RUNG_ENOMEM;
    return read_words(p, args, rung_slice_of(bytes.ptr, len));
}

/* ---- one command ---- */

/* Parse the line at `p`: its type and a number of one to three digits. Returns its end; NULL: not that simple. */
static inline const char *take_header(const char *p, const char *end, char type,
                                      uint32_t *value_out) {
    enum { HEADER_MAX = 6 };
    if (end - p < HEADER_MAX || p[0] != type)
        return NULL;
    uint32_t value = (unsigned char)p[1] - (uint32_t)'0';
    if (value - 1 > 8) /* no digit, or 0 */
        return NULL;
    for (p += 2; *p != '\r'; p++) {
        uint32_t digit = (unsigned char)*p - (uint32_t)'0';
        if (digit > 9 || value > 99)
            return NULL;
        value = value * 10 + digit;
    }
    *value_out = value;
    return p + 2;
}

enum { HEAD_ARGS = 2 }; /* name and key: pipelined commands mostly differ only after them */

/* Parse the arguments from the i-th on. Returns their end; NULL: one of them is not that simple. */
static inline const char *take_args(const rung_resp_parser *p, const char *at, const char *end,
                                    uint32_t i, uint32_t count, rung_slice *items) {
    for (uint32_t len; i < count; i++) {
        at = take_header(at, end, '$', &len);
        if (!at || len > p->limits.bulk_max || end - at < (int64_t)len + 2)
            return NULL;
        items[i] = rung_slice_of(at, len);
        at += len + 2;
    }
    return at;
}

/* Fast path: nearly every command is complete and has a few short arguments. Returns its end; NULL: not such a
 * command. */
static inline const char *take_plain(const rung_resp_parser *p, const rung_resp_args *args,
                                     const char *at, const char *end, uint32_t *count_out,
                                     size_t *head_len_out) {
    const char *start = at;
    uint32_t count;
    at = take_header(at, end, '*', &count);
    if (!at || count > p->limits.args_max || count > args->size - args->count)
        return NULL;
    rung_slice *items = args->items + args->count;
    at = take_args(p, at, end, 0, count < HEAD_ARGS ? count : HEAD_ARGS, items);
    if (!at)
        return NULL;
    *count_out = count;
    *head_len_out = count < HEAD_ARGS ? 0 : (size_t)(at - start);
    return take_args(p, at, end, HEAD_ARGS, count, items);
}

/* The same for a command that starts with the same bytes as the previous one: its first arguments are at the same
 * offsets. The limits may have changed. */
static inline const char *take_alike(const rung_resp_parser *p, const rung_resp_args *args,
                                     const char *at, const char *end) {
    rung_slice head = args->head;
    uint32_t count = args->head_count;
    if (count > args->size - args->count || count > p->limits.args_max ||
        head.len > p->limits.bulk_max || memcmp(head.ptr, at, head.len) != 0)
        return NULL;
    rung_slice *items = args->items + args->count;
    const rung_slice *before = items - count;
    for (uint32_t i = 0; i < HEAD_ARGS; i++)
        items[i] = rung_slice_of(at + (before[i].ptr - head.ptr), before[i].len);
    return take_args(p, at + head.len, end, HEAD_ARGS, count, items);
}

/* false: it is not plain, and nothing has been done. */
static inline bool read_plain(const rung_resp_parser *p, rung_resp_args *args, rung_slice bytes,
                              size_t *used_out, rung_resp_command *command_out) {
    const char *end = bytes.ptr + bytes.len, *at = NULL;
    uint32_t count = args->head_count;
    size_t head_len = args->head.len;
    if (p->at || p->seen || p->args_left >= 0)
        return false;
    if (head_len && head_len < bytes.len)
        at = take_alike(p, args, bytes.ptr, end);
    bool is_alike = at;
    if (!at)
        at = take_plain(p, args, bytes.ptr, end, &count, &head_len);
    if (!at || (size_t)(at - bytes.ptr) > p->limits.command_max)
        return false;
    *used_out = (size_t)(at - bytes.ptr);
    *command_out = (rung_resp_command){args->count, count, false, is_alike};
    args->head = rung_slice_of(bytes.ptr, head_len);
    args->head_count = count;
    args->count += count;
    return true;
}

/* Never inlined: a plain command does not pay for it. */
__attribute__((noinline)) static rung_status read_any(rung_resp_parser *p, rung_resp_args *args,
                                                      rung_slice bytes, size_t *used_out,
                                                      rung_resp_command *command_out) {
    bool is_inline = bytes.ptr[0] != '*';
    args->head.len = 0;
    rung_status st = is_inline ? read_inline(p, args, bytes) : read_array(p, bytes);
    if (st != RUNG_OK)
        return st;
    if (!args_reserve(args, p->count))
        return RUNG_ENOMEM;
    const char *base = is_inline ? args->line.data : bytes.ptr;
    for (uint32_t i = 0; i < p->count; i++)
        args->items[args->count + i] = rung_slice_of(base + p->spans[i].offset, p->spans[i].len);
    *command_out = (rung_resp_command){args->count, p->count, is_inline, false};
    args->count += p->count;
    *used_out = p->at;
    rung_resp_parser_restart(p);
    return RUNG_OK;
}

rung_status rung_resp_parse(rung_resp_parser *p, rung_resp_args *args, rung_slice bytes,
                            size_t *used_out, rung_resp_command *command_out) {
    if (!bytes.len)
        return RUNG_PARTIAL;
    if (read_plain(p, args, bytes, used_out, command_out))
        return RUNG_OK;
    return read_any(p, args, bytes, used_out, command_out);
}
