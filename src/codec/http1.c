/* SPDX-License-Identifier: Apache-2.0 */
/* http1.c - a request's head line by line, a chunked body byte by byte.
 *
 * Why not a library: the available parsers accept a bare LF as a line end, blanks in field names, folded lines, or
 * any byte after a CR in chunk framing. Each of these lets two servers see different requests in the same bytes. The
 * fuzz target compares us with such a library: it must parse whatever we accept in the same way.
 *
 *   1. A line is parsed once, when its LF has arrived; the search for the LF continues where it stopped.
 *   2. A line ends with CRLF and contains no other CR, LF or control character except a tab in a value.
 *   3. At RUNG_OK: at most one of is_chunked and has_length; HTTP/1.1 has a host; path starts with '/' or is "*".
 *
 * The chunked decoder, edges by the byte read:
 *     SIZE -hex-> SIZE -;-> EXTENSION ... -CR-> SIZE_LF -LF-> DATA (or TRAILER after a size of 0)
 *     DATA -left = 0-> DATA_CR -CR-> DATA_LF -LF-> SIZE
 *     TRAILER -CR-> END_LF -LF-> done;  -token-> TRAILER_NAME -:-> TRAILER_VALUE -CR-> TRAILER_LF -LF-> TRAILER */
#include "codec/http1.h"

#include "base/ascii.h"

#include <string.h>

/* ---- classes of bytes ---- */

#define TOKEN  1u /* field names, methods */
#define TARGET 2u /* RFC 3986, without '#' */
#define VALUE  4u /* visible, blank, tab, or above ASCII */
#define HOST   8u

static const uint8_t classes[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = TOKEN | TARGET | VALUE | HOST,
    ['"'] = VALUE,
    ['#'] = TOKEN | VALUE,
    ['$' ... '\''] = TOKEN | TARGET | VALUE | HOST,
    ['(' ... ')'] = TARGET | VALUE | HOST,
    ['*' ... '+'] = TOKEN | TARGET | VALUE | HOST,
    [','] = TARGET | VALUE | HOST,
    ['-' ... '.'] = TOKEN | TARGET | VALUE | HOST,
    ['/'] = TARGET | VALUE,
    ['0' ... '9'] = TOKEN | TARGET | VALUE | HOST,
    [':' ... ';'] = TARGET | VALUE | HOST,
    ['<'] = VALUE,
    ['='] = TARGET | VALUE | HOST,
    ['>'] = VALUE,
    ['?' ... '@'] = TARGET | VALUE,
    ['A' ... 'Z'] = TOKEN | TARGET | VALUE | HOST,
    ['['] = TARGET | VALUE | HOST,
    ['\\'] = VALUE,
    [']'] = TARGET | VALUE | HOST,
    ['^'] = TOKEN | VALUE,
    ['_'] = TOKEN | TARGET | VALUE | HOST,
    ['`'] = TOKEN | VALUE,
    ['a' ... 'z'] = TOKEN | TARGET | VALUE | HOST,
    ['{'] = VALUE,
    ['|'] = TOKEN | VALUE,
    ['}'] = VALUE,
    ['~'] = TOKEN | TARGET | VALUE | HOST,
    [0x80 ... 0xff] = VALUE,
};

static bool is(char byte, unsigned of) {
    return (classes[(uint8_t)byte] & of) != 0;
}

static bool is_all(rung_slice text, unsigned of) {
    for (size_t i = 0; i < text.len; i++)
        if (!is(text.ptr[i], of))
            return false;
    return true;
}

/* `name` is in lower case. */
static bool is_name(rung_slice text, rung_slice name) {
    if (text.len != name.len)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (rung_lower(text.ptr[i]) != name.ptr[i])
            return false;
    return true;
}

static rung_slice trim(rung_slice text) {
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = rung_slice_of(text.ptr + 1, text.len - 1);
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* The next item of a comma-separated list, trimmed; false at its end. */
static bool next_item(rung_slice *list, rung_slice *item) {
    if (!list->ptr)
        return false;
    const char *comma = list->len ? memchr(list->ptr, ',', list->len) : NULL;
    if (!comma) {
        *item = trim(*list);
        *list = (rung_slice){0};
        return true;
    }
    size_t len = (size_t)(comma - list->ptr);
    *item = trim(rung_slice_of(list->ptr, len));
    *list = rung_slice_of(comma + 1, list->len - len - 1);
    return true;
}

/* Is there a parameter q=0, q=0.0, ... ? */
static bool has_zero_weight(rung_slice parameters) {
    const char *p = parameters.ptr, *end = p + parameters.len;
    while (p < end && (*p == ';' || *p == ' ' || *p == '\t'))
        p++;
    if (end - p < 3 || rung_lower(p[0]) != 'q' || p[1] != '=' || p[2] != '0')
        return false;
    for (p += 3; p < end; p++)
        if (*p >= '1' && *p <= '9')
            return false;
    return true;
}

bool rung_list_has(rung_slice list, rung_slice token) {
    rung_slice item;
    while (next_item(&list, &item)) {
        const char *semicolon = item.len ? memchr(item.ptr, ';', item.len) : NULL;
        size_t len = semicolon ? (size_t)(semicolon - item.ptr) : item.len;
        if (is_name(trim(rung_slice_of(item.ptr, len)), token))
            return !has_zero_weight(rung_slice_of(item.ptr + len, item.len - len));
    }
    return false;
}

/* ---- ranges ---- */

/* Take the digits at the start; false: there are none, or the number is too large. */
static bool take_number(rung_slice *text, uint64_t *number_out) {
    uint64_t n = 0;
    size_t i = 0;
    for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(text->ptr[i] - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *text = rung_slice_of(text->ptr + i, text->len - i);
    if (i > 0)
        *number_out = n;
    return i > 0;
}

static bool take_char(rung_slice *text, char c) {
    if (!text->len || text->ptr[0] != c)
        return false;
    *text = rung_slice_of(text->ptr + 1, text->len - 1);
    return true;
}

rung_status rung_range_read(rung_slice field, uint64_t size, uint64_t *from_out,
                            uint64_t *len_out) {
    const rung_slice unit = RUNG_SLICE("bytes=");
    uint64_t first = 0, last = UINT64_MAX;
    if (field.len <= unit.len || !is_name(rung_slice_of(field.ptr, unit.len), unit))
        return RUNG_NOT_FOUND;
    rung_slice text = trim(rung_slice_of(field.ptr + unit.len, field.len - unit.len));
    bool has_first = take_number(&text, &first);
    if (!take_char(&text, '-'))
        return RUNG_NOT_FOUND;
    bool has_last = take_number(&text, &last);
    if (text.len || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RUNG_NOT_FOUND;
    if (!has_first) { /* the last so many bytes */
        first = last < size ? size - last : 0;
        last = UINT64_MAX;
    }
    if (first >= size)
        return RUNG_ERANGE;
    *from_out = first;
    *len_out = (last < size ? last + 1 : size) - first;
    return RUNG_OK;
}

bool rung_content_range_read(rung_slice field, uint64_t *from_out, uint64_t *size_out) {
    const rung_slice unit = RUNG_SLICE("bytes ");
    uint64_t first = 0, last = 0, size;
    if (field.len <= unit.len || !is_name(rung_slice_of(field.ptr, unit.len), unit))
        return false;
    rung_slice text = rung_slice_of(field.ptr + unit.len, field.len - unit.len);
    bool is_beyond = take_char(&text, '*');
    if (!is_beyond &&
        (!take_number(&text, &first) || !take_char(&text, '-') || !take_number(&text, &last)))
        return false;
    if (!take_char(&text, '/') || !take_number(&text, &size) || text.len)
        return false;
    if (!is_beyond && (last < first || last >= size))
        return false;
    *from_out = is_beyond ? size : first;
    *size_out = size;
    return true;
}

/* ---- the head ---- */

typedef struct reading {
    rung_head *head;
    const rung_head_limits *limits;
    const char *bytes;
    rung_head_problem *problem;
} reading;

static rung_status refuse(reading *r, int status, const char *code, const char *detail) {
    *r->problem = (rung_head_problem){status, code, detail};
    return RUNG_EINVAL;
}

static rung_status malformed(reading *r, const char *detail) {
    return refuse(r, 400, "malformed", detail);
}

static rung_head_part part_of(const reading *r, rung_slice text) {
    return (rung_head_part){(uint16_t)(text.ptr - r->bytes), (uint16_t)text.len};
}

static rung_method method_of(rung_slice text) {
    static const rung_slice names[RUNG_METHOD_OTHER] = {
        [RUNG_METHOD_GET] = {"GET", 3},         [RUNG_METHOD_HEAD] = {"HEAD", 4},
        [RUNG_METHOD_POST] = {"POST", 4},       [RUNG_METHOD_PUT] = {"PUT", 3},
        [RUNG_METHOD_DELETE] = {"DELETE", 6},   [RUNG_METHOD_PATCH] = {"PATCH", 5},
        [RUNG_METHOD_OPTIONS] = {"OPTIONS", 7},
    };
    for (int i = 0; i < RUNG_METHOD_OTHER; i++)
        if (rung_slice_eq(text, names[i]))
            return (rung_method)i;
    return RUNG_METHOD_OTHER;
}

/* http://host/path: the path follows the scheme and authority. */
static rung_status absolute_target(reading *r, rung_slice *target) {
    size_t scheme = 0;
    if (target->len > 7 && is_name(rung_slice_of(target->ptr, 7), RUNG_SLICE("http://")))
        scheme = 7;
    else if (target->len > 8 && is_name(rung_slice_of(target->ptr, 8), RUNG_SLICE("https://")))
        scheme = 8;
    if (!scheme)
        return malformed(r, "request target: expected a path that starts with /");
    size_t end = scheme;
    while (end < target->len && target->ptr[end] != '/' && target->ptr[end] != '?')
        end++;
    rung_slice authority = rung_slice_of(target->ptr + scheme, end - scheme);
    if (!authority.len || !is_all(authority, HOST) || end == target->len || target->ptr[end] != '/')
        return malformed(r, "request target: expected http://host/path");
    r->head->authority = part_of(r, authority);
    *target = rung_slice_of(target->ptr + end, target->len - end);
    return RUNG_OK;
}

static rung_status parse_target(reading *r, rung_slice target) {
    rung_head *h = r->head;
    if (target.len > r->limits->target_max)
        return refuse(r, 414, "target_too_long", "request target: longer than allowed");
    if (!target.len || !is_all(target, TARGET))
        return malformed(r, "request target: a byte in it must be percent-encoded");
    if (rung_slice_eq(target, RUNG_SLICE("*")) && h->method == RUNG_METHOD_OPTIONS) {
        h->path = part_of(r, target);
        return RUNG_OK;
    }
    if (target.ptr[0] != '/') {
        rung_status st = absolute_target(r, &target);
        if (st < 0)
            return st;
    }
    const char *mark = memchr(target.ptr, '?', target.len);
    rung_slice query = {0};
    if (mark) {
        query = rung_slice_of(mark + 1, target.len - (size_t)(mark - target.ptr) - 1);
        target.len = (size_t)(mark - target.ptr);
        h->query = part_of(r, query);
    }
    h->path = part_of(r, target);
    return RUNG_OK;
}

static rung_status parse_version(reading *r, rung_slice version) {
    if (rung_slice_eq(version, RUNG_SLICE("HTTP/1.1"))) {
        r->head->minor_version = 1;
        return RUNG_OK;
    }
    if (rung_slice_eq(version, RUNG_SLICE("HTTP/1.0")))
        return RUNG_OK;
    bool is_version = version.len == 8 && memcmp(version.ptr, "HTTP/", 5) == 0 &&
                      rung_is_digit(version.ptr[5]) && version.ptr[6] == '.' &&
                      rung_is_digit(version.ptr[7]);
    if (is_version)
        return refuse(r, 505, "version_not_supported", "this server speaks HTTP/1.1 and HTTP/1.0");
    return malformed(r, "request line: expected METHOD TARGET HTTP/1.1");
}

static rung_status parse_request_line(reading *r, rung_slice line) {
    rung_head *h = r->head;
    const char *first = memchr(line.ptr, ' ', line.len);
    const char *second =
        first ? memchr(first + 1, ' ', line.len - (size_t)(first + 1 - line.ptr)) : NULL;
    if (!second)
        return malformed(r, "request line: expected METHOD TARGET HTTP/1.1");
    rung_slice method = rung_slice_of(line.ptr, (size_t)(first - line.ptr));
    rung_slice target = rung_slice_of(first + 1, (size_t)(second - first - 1));
    rung_slice version = rung_slice_of(second + 1, line.len - (size_t)(second + 1 - line.ptr));
    if (!method.len || method.len > 32 || !is_all(method, TOKEN))
        return malformed(r, "method: expected a token of 1 to 32 characters");
    h->method = method_of(method);
    h->method_text = part_of(r, method);
    if (rung_slice_eq(method, RUNG_SLICE("CONNECT")))
        return refuse(r, 501, "method_not_implemented", "CONNECT: this is not a proxy");
    rung_status st = parse_version(r, version);
    return st < 0 ? st : parse_target(r, target);
}

static rung_status parse_length(reading *r, rung_slice value) {
    uint64_t length = 0;
    if (value.len < 1 || value.len > 18)
        return malformed(r, "Content-Length: expected 1 to 18 digits");
    for (size_t i = 0; i < value.len; i++) {
        if (!rung_is_digit(value.ptr[i]))
            return malformed(r, "Content-Length: expected digits only");
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    r->head->has_length = true;
    r->head->length = length;
    return RUNG_OK;
}

static rung_status parse_host(reading *r, rung_slice value) {
    if (!value.len || !is_all(value, HOST))
        return malformed(r, "Host: expected a name with an optional port");
    r->head->has_host = true;
    r->head->host = part_of(r, value);
    return RUNG_OK;
}

static rung_status parse_coding(reading *r, rung_slice value) {
    if (!is_name(value, RUNG_SLICE("chunked")))
        return refuse(r, 501, "coding_not_implemented",
                      "Transfer-Encoding: only chunked is understood here");
    r->head->is_chunked = true;
    return RUNG_OK;
}

static void parse_connection(rung_head *h, rung_slice value) {
    rung_slice item;
    while (next_item(&value, &item)) {
        h->says_close |= is_name(item, RUNG_SLICE("close"));
        h->says_keep_alive |= is_name(item, RUNG_SLICE("keep-alive"));
        h->says_upgrade |= is_name(item, RUNG_SLICE("upgrade"));
    }
}

static rung_status parse_expect(reading *r, rung_slice value) {
    if (!is_name(value, RUNG_SLICE("100-continue")))
        return refuse(r, 417, "expectation_failed", "Expect: only 100-continue is understood here");
    r->head->expects_continue = true;
    return RUNG_OK;
}

/* The fields with a meaning here, and those that must not repeat. */
typedef enum known {
    HOST_FIELD,
    LENGTH,
    CODING,
    EXPECT,
    UPGRADE,
    CONTENT_TYPE,
    AUTHORIZATION,
    ORIGIN,
    LAST_EVENT_ID,
    WEBSOCKET_KEY,
    WEBSOCKET_VERSION,
    CONNECTION, /* this and what follows may come several times */
    OTHER,
} known;

static known known_field(rung_slice name) {
    static const struct {
        rung_slice name;
        known field;
    } table[] = {
        {{"host", 4}, HOST_FIELD},
        {{"origin", 6}, ORIGIN},
        {{"expect", 6}, EXPECT},
        {{"upgrade", 7}, UPGRADE},
        {{"connection", 10}, CONNECTION},
        {{"content-type", 12}, CONTENT_TYPE},
        {{"authorization", 13}, AUTHORIZATION},
        {{"last-event-id", 13}, LAST_EVENT_ID},
        {{"content-length", 14}, LENGTH},
        {{"transfer-encoding", 17}, CODING},
        {{"sec-websocket-key", 17}, WEBSOCKET_KEY},
        {{"sec-websocket-version", 21}, WEBSOCKET_VERSION},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (is_name(name, table[i].name))
            return table[i].field;
    return OTHER;
}

static rung_status parse_known(reading *r, known field, rung_slice value) {
    rung_head *h = r->head;
    if (field < CONNECTION) {
        if (h->seen & (1u << field))
            return malformed(r,
                             "a header field that may come once came twice (Host, Content-Length, "
                             "Transfer-Encoding, Authorization, ...)");
        h->seen |= 1u << field;
    }
    switch (field) {
    case HOST_FIELD:
        return parse_host(r, value);
    case LENGTH:
        return parse_length(r, value);
    case CODING:
        return parse_coding(r, value);
    case EXPECT:
        return parse_expect(r, value);
    case UPGRADE:
        h->names_websocket = is_name(value, RUNG_SLICE("websocket"));
        return RUNG_OK;
    case CONNECTION:
        parse_connection(h, value);
        return RUNG_OK;
    default:
        return RUNG_OK;
    }
}

static rung_status parse_field(reading *r, rung_slice line) {
    rung_head *h = r->head;
    if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
        return malformed(r, "header field: a folded line");
    size_t len = 0;
    while (len < line.len && is(line.ptr[len], TOKEN))
        len++;
    if (len == 0 || len == line.len || line.ptr[len] != ':')
        return malformed(r, "header field: expected Name: value, without blanks before the colon");
    if (h->field_count >= r->limits->fields_max || h->field_count >= RUNG_HEAD_FIELDS_MAX)
        return refuse(r, 431, "too_many_headers", "more header fields than allowed");
    rung_slice name = rung_slice_of(line.ptr, len);
    rung_slice value = rung_slice_of(line.ptr + len + 1, line.len - len - 1);
    if (!is_all(value, VALUE))
        return malformed(r, "header field: a control character in its value");
    value = trim(value);
    h->fields[h->field_count++] = (rung_head_field){part_of(r, name), part_of(r, value)};
    return parse_known(r, known_field(name), value);
}

/* After the empty line: check rules across fields. */
static rung_status check_head(reading *r) {
    rung_head *h = r->head;
    if (h->minor_version == 1 && !h->has_host)
        return malformed(r, "Host: missing");
    if (h->is_chunked && h->has_length)
        return malformed(r, "Content-Length and Transfer-Encoding together");
    if (h->is_chunked && h->minor_version == 0)
        return malformed(r, "Transfer-Encoding: not in HTTP/1.0");
    if (h->authority.len) {
        rung_slice host = rung_head_slice(r->bytes, h->host),
                   authority = rung_head_slice(r->bytes, h->authority);
        if (h->has_host && !rung_slice_eq(host, authority))
            return malformed(r, "Host: is not that of the request target");
        h->host = h->authority;
    }
    h->wants_upgrade = h->says_upgrade && h->names_websocket && h->minor_version == 1 &&
                       !h->is_chunked && !(h->has_length && h->length);
    return RUNG_OK;
}

/* A line without its CRLF. `*done` when it was the last one. */
static rung_status parse_line(reading *r, rung_slice line, bool *done) {
    rung_head *h = r->head;
    if (!h->has_request_line) {
        if (!line.len && h->line == 0)
            return RUNG_OK; /* allow one empty line before a request, as RFC 9112 asks */
        h->has_request_line = true;
        return line.len ? parse_request_line(r, line)
                        : malformed(r, "request line: expected METHOD TARGET HTTP/1.1");
    }
    if (line.len)
        return parse_field(r, line);
    *done = true;
    return check_head(r);
}

/* An unfinished head may already be invalid: refuse other protocols at once. */
static rung_status check_start(reading *r, rung_slice bytes) {
    if (r->head->has_request_line || !bytes.len)
        return RUNG_PARTIAL;
    char first = bytes.ptr[r->head->line < bytes.len ? r->head->line : 0];
    if (!is(first, TOKEN) && first != '\r')
        return malformed(r, "request line: expected METHOD TARGET HTTP/1.1");
    return RUNG_PARTIAL;
}

static rung_status too_large(reading *r) {
    rung_head *h = r->head;
    if (!h->has_request_line && r->limits->target_max < r->limits->size_max)
        return refuse(r, 414, "target_too_long", "request line: longer than allowed");
    return refuse(r, 431, "headers_too_large", "the head of the request is longer than allowed");
}

rung_status rung_head_parse(rung_head *h, const rung_head_limits *limits, rung_slice bytes,
                            size_t *size_out, rung_head_problem *problem) {
    reading r = {h, limits, bytes.ptr, problem};
    size_t size_max = limits->size_max < RUNG_HEAD_SIZE_MAX ? limits->size_max : RUNG_HEAD_SIZE_MAX;
    bool done = false;
    while (!done) {
        size_t end = bytes.len < size_max ? bytes.len : size_max;
        const char *lf =
            end > h->scanned ? memchr(bytes.ptr + h->scanned, '\n', end - h->scanned) : NULL;
        if (!lf) {
            h->scanned = (uint32_t)end;
            return bytes.len >= size_max ? too_large(&r) : check_start(&r, bytes);
        }
        size_t len = (size_t)(lf - (bytes.ptr + h->line));
        if (!len || lf[-1] != '\r')
            return malformed(&r, "a line that does not end in CR LF");
        rung_slice line = rung_slice_of(bytes.ptr + h->line, len - 1);
        if (memchr(line.ptr, '\r', line.len))
            return malformed(&r, "a CR inside a line");
        rung_status st = parse_line(&r, line, &done);
        if (st < 0)
            return st;
        h->line = h->scanned = (uint32_t)(lf + 1 - bytes.ptr);
    }
    *size_out = h->line;
    return RUNG_OK;
}

rung_slice rung_head_find(const rung_head *h, const char *bytes, rung_slice lower_name) {
    for (uint32_t i = 0; i < h->field_count; i++)
        if (is_name(rung_head_slice(bytes, h->fields[i].name), lower_name))
            return rung_head_slice(bytes, h->fields[i].value);
    return (rung_slice){0};
}

/* ---- chunked ---- */

enum {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    END_LF,
    DONE,
    BROKEN,
};

static uint8_t in_size(rung_chunks *c, char byte) {
    int digit = rung_hex_value(byte);
    if (digit >= 0) {
        c->left = c->left << 4 | (uint64_t)digit;
        return ++c->digits <= 15 ? SIZE : BROKEN;
    }
    if (!c->digits)
        return BROKEN;
    return byte == '\r' ? SIZE_LF : byte == ';' ? EXTENSION : BROKEN;
}

static uint8_t in_trailer(rung_chunks *c, char byte) {
    if (++c->trailer_len > RUNG_CHUNKS_TRAILER_MAX)
        return BROKEN;
    switch (c->state) {
    case TRAILER:
        c->line_len = 0;
        return byte == '\r' ? END_LF : is(byte, TOKEN) ? TRAILER_NAME : BROKEN;
    case TRAILER_NAME:
        if (++c->line_len > RUNG_CHUNKS_LINE_MAX)
            return BROKEN;
        return byte == ':' ? TRAILER_VALUE : is(byte, TOKEN) ? TRAILER_NAME : BROKEN;
    case TRAILER_VALUE:
        return byte == '\r' ? TRAILER_LF : is(byte, VALUE) ? TRAILER_VALUE : BROKEN;
    case TRAILER_LF:
        return byte == '\n' ? TRAILER : BROKEN;
    default:
        return byte == '\n' ? DONE : BROKEN;
    }
}

/* One byte of framing; the state that follows. */
static uint8_t step(rung_chunks *c, char byte) {
    switch (c->state) {
    case SIZE:
        return in_size(c, byte);
    case EXTENSION:
        if (++c->line_len > RUNG_CHUNKS_LINE_MAX)
            return BROKEN;
        return byte == '\r' ? SIZE_LF : is(byte, VALUE) ? EXTENSION : BROKEN;
    case SIZE_LF:
        c->digits = 0;
        c->line_len = 0;
        return byte != '\n' ? BROKEN : c->left ? DATA : TRAILER;
    case DATA_CR:
        return byte == '\r' ? DATA_LF : BROKEN;
    case DATA_LF:
        return byte == '\n' ? SIZE : BROKEN;
    default:
        return in_trailer(c, byte);
    }
}

rung_chunks_event rung_chunks_next(rung_chunks *c, rung_slice *input, rung_slice *piece_out) {
    while (c->state != DONE && c->state != BROKEN) {
        if (!input->len)
            return RUNG_CHUNKS_MORE;
        if (c->state == DATA) {
            size_t n = c->left < input->len ? (size_t)c->left : input->len;
            *piece_out = rung_slice_of(input->ptr, n);
            *input = rung_slice_of(input->ptr + n, input->len - n);
            c->left -= n;
            if (!c->left)
                c->state = DATA_CR;
            return RUNG_CHUNKS_PIECE;
        }
        c->state = step(c, *input->ptr);
        *input = rung_slice_of(input->ptr + 1, input->len - 1);
    }
    return c->state == DONE ? RUNG_CHUNKS_END : RUNG_CHUNKS_BAD;
}
