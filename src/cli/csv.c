/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/csv.h"

typedef unsigned long long ull;

static int take(rung_csv *c) {
    int byte = getc_unlocked(c->in);
    if (byte == EOF)
        return EOF;
    c->offset++;
    c->lines_read += byte == '\n';
    return byte;
}

static int peek(rung_csv *c) {
    int byte = getc_unlocked(c->in);
    if (byte != EOF)
        ungetc(byte, c->in);
    return byte;
}

static rung_status fail(const rung_csv *c, const char *what, rung_err *err) {
    return RUNG_FAIL(err, RUNG_EINVAL, "line %llu: %s", (ull)c->line, what);
}

static rung_status put(rung_csv *c, int byte, rung_err *err) {
    if (c->len == RUNG_CSV_RECORD_MAX)
        return fail(c, "longer than 64 KiB", err);
    if (byte == '\0')
        return fail(c, "not text: contains a zero byte", err);
    c->text[c->len++] = (char)byte;
    return RUNG_OK;
}

static rung_status end_field(rung_csv *c, rung_err *err) {
    if (c->count == RUNG_CSV_FIELDS_MAX)
        return fail(c, "more than 64 fields", err);
    c->fields[c->count++] = rung_slice_of(c->text + c->start, c->len - c->start);
    c->start = c->len;
    return RUNG_OK;
}

/* Read up to and including the closing quote. */
static rung_status take_quoted(rung_csv *c, rung_err *err) {
    for (;;) {
        int byte = take(c);
        if (byte == EOF)
            return fail(c, "the quote does not end", err);
        if (byte == '"' && peek(c) != '"')
            break;
        if (byte == '"')
            take(c);
        rung_status st = put(c, byte, err);
        if (st < 0)
            return st;
    }
    int next = peek(c);
    if (next != ',' && next != '\n' && next != '\r' && next != EOF)
        return fail(c, "text after a closing quote", err);
    return RUNG_OK;
}

static rung_status take_record(rung_csv *c, rung_err *err) {
    for (rung_status st = RUNG_OK; st >= 0;) {
        int byte = take(c);
        if (byte == '"' && c->len == c->start)
            st = take_quoted(c, err);
        else if (byte == ',')
            st = end_field(c, err);
        else if (byte == '\n' || byte == EOF)
            return end_field(c, err);
        else if (byte != '\r' || (peek(c) != '\n' && peek(c) != EOF))
            st = put(c, byte, err);
    }
    return RUNG_EINVAL;
}

static rung_status take_line(rung_csv *c, rung_err *err) {
    for (int byte; (byte = take(c)) != '\n' && byte != EOF;) {
        rung_status st = put(c, byte, err);
        if (st < 0)
            return st;
    }
    if (c->len > 0 && c->text[c->len - 1] == '\r')
        c->len--;
    return end_field(c, err);
}

static void skip_mark(rung_csv *c) {
    static const char mark[] = "\xef\xbb\xbf";
    for (size_t i = 0; i < 3 && c->offset == i && peek(c) == (unsigned char)mark[i]; i++)
        take(c);
}

rung_status rung_csv_next(rung_csv *c, bool is_line, rung_err *err) {
    if (c->offset == 0)
        skip_mark(c);
    for (;;) {
        c->line = c->lines_read + 1;
        c->count = 0;
        c->len = c->start = 0;
        if (peek(c) == EOF)
            return ferror(c->in) ? RUNG_FAIL(err, RUNG_EIO, "cannot read the input")
                                 : RUNG_NOT_FOUND;
        rung_status st = is_line ? take_line(c, err) : take_record(c, err);
        if (st < 0)
            return st;
        if (c->count > 1 || c->fields[0].len > 0)
            return RUNG_OK;
    }
}

void rung_csv_print(FILE *out, rung_slice field) {
    bool is_plain = true;
    for (size_t i = 0; i < field.len; i++)
        is_plain &= !strchr("\",\r\n", field.ptr[i]);
    if (is_plain) {
        if (field.len) /* an empty one may have no bytes at all */
            fwrite(field.ptr, 1, field.len, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < field.len; i++)
        fputs(field.ptr[i] == '"' ? "\"\"" : (char[]){field.ptr[i], '\0'}, out);
    fputc('"', out);
}
