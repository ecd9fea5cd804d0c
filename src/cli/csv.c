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

/* A record being gathered: text of `len` bytes, the current field since `start`. */
typedef struct gathering {
    rung_csv *c;
    size_t len, start;
    rung_err *err;
} gathering;

static rung_status put(gathering *g, int byte) {
    if (g->len == RUNG_CSV_RECORD_MAX)
        return fail(g->c, "longer than 64 KiB", g->err);
    if (byte == '\0')
        return fail(g->c, "holds a zero byte: this is no text", g->err);
    g->c->text[g->len++] = (char)byte;
    return RUNG_OK;
}

static rung_status end_field(gathering *g) {
    rung_csv *c = g->c;
    if (c->count == RUNG_CSV_FIELDS_MAX)
        return fail(c, "more than 64 fields", g->err);
    c->fields[c->count++] = rung_slice_of(c->text + g->start, g->len - g->start);
    g->start = g->len;
    return RUNG_OK;
}

/* Up to the closing quote, which is taken too. */
static rung_status take_quoted(gathering *g) {
    for (;;) {
        int byte = take(g->c);
        if (byte == EOF)
            return fail(g->c, "the quote does not end", g->err);
        if (byte == '"' && peek(g->c) != '"')
            break;
        if (byte == '"')
            take(g->c);
        rung_status st = put(g, byte);
        if (st < 0)
            return st;
    }
    int next = peek(g->c);
    if (next != ',' && next != '\n' && next != '\r' && next != EOF)
        return fail(g->c, "text after a closing quote", g->err);
    return RUNG_OK;
}

static rung_status take_record(gathering *g) {
    for (;;) {
        rung_status st = RUNG_OK;
        int byte = take(g->c);
        if (byte == '"' && g->len == g->start)
            st = take_quoted(g);
        else if (byte == ',')
            st = end_field(g);
        else if (byte == '\n' || byte == EOF)
            return end_field(g);
        else if (byte == '\r' && (peek(g->c) == '\n' || peek(g->c) == EOF))
            continue;
        else
            st = put(g, byte);
        if (st < 0)
            return st;
    }
}

static rung_status take_line(gathering *g) {
    for (int byte; (byte = take(g->c)) != '\n' && byte != EOF;) {
        rung_status st = put(g, byte);
        if (st < 0)
            return st;
    }
    if (g->len > 0 && g->c->text[g->len - 1] == '\r')
        g->len--;
    return end_field(g);
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
        gathering g = {.c = c, .err = err};
        c->line = c->lines_read + 1;
        c->count = 0;
        if (peek(c) == EOF)
            return ferror(c->in) ? RUNG_FAIL(err, RUNG_EIO, "cannot read the input")
                                 : RUNG_NOT_FOUND;
        rung_status st = is_line ? take_line(&g) : take_record(&g);
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
        fwrite(field.ptr, 1, field.len, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < field.len; i++)
        fputs(field.ptr[i] == '"' ? "\"\"" : (char[]){field.ptr[i], '\0'}, out);
    fputc('"', out);
}
