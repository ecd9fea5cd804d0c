/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

typedef struct reader {
    const char *at, *end;
    sim_fields *out;
    char path[64];
} reader;

static bool read_value(reader *r);

static bool take(reader *r, char c) {
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* Names and numbers are plain text here: an escape stays as it is. */
static bool read_string(reader *r, char *text, size_t size) {
    size_t len = 0;
    if (!take(r, '"'))
        return false;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\')
            r->at++;
        if (r->at == r->end)
            return false;
        if (len + 1 < size)
            text[len++] = *r->at;
        r->at++;
    }
    text[len] = 0;
    return take(r, '"');
}

static bool add(reader *r, const char *value) {
    if (r->out->count == SIM_FIELDS_MAX)
        return false;
    sim_field *f = &r->out->at[r->out->count++];
    snprintf(f->path, sizeof f->path, "%s", r->path);
    snprintf(f->value, sizeof f->value, "%s", value);
    return true;
}

static bool read_member(reader *r, const char *name) {
    size_t len = strlen(r->path);
    snprintf(r->path + len, sizeof r->path - len, "%s%s", len ? "." : "", name);
    bool is_good = read_value(r);
    r->path[len] = 0;
    return is_good;
}

static bool read_object(reader *r) {
    char name[48];
    r->at++;
    if (take(r, '}'))
        return true;
    do
        if (!read_string(r, name, sizeof name) || !take(r, ':') || !read_member(r, name))
            return false;
    while (take(r, ','));
    return take(r, '}');
}

static bool read_array(reader *r) {
    char name[16];
    r->at++;
    if (take(r, ']'))
        return true;
    uint32_t i = 0;
    do {
        snprintf(name, sizeof name, "%u", i++);
        if (!read_member(r, name))
            return false;
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_word(reader *r) {
    char word[40];
    size_t len = 0;
    while (r->at < r->end && !strchr(",]}", *r->at) && len + 1 < sizeof word)
        word[len++] = *r->at++;
    word[len] = 0;
    if (len == 0)
        return false;
    return add(r, strcmp(word, "true") == 0    ? "1"
                  : strcmp(word, "false") == 0 ? "0"
                  : strcmp(word, "null") == 0  ? ""
                                               : word);
}

static bool read_value(reader *r) {
    char text[96];
    if (r->at == r->end)
        return false;
    if (*r->at == '{')
        return read_object(r);
    if (*r->at == '[')
        return read_array(r);
    if (*r->at == '"')
        return read_string(r, text, sizeof text) && add(r, text);
    return read_word(r);
}

bool sim_fields_read(sim_fields *f, const char *json, size_t len) {
    reader r = {.at = json, .end = json + len, .out = f};
    f->count = 0;
    while (r.at < r.end && strchr(" \r\n", r.end[-1]))
        r.end--;
    return read_value(&r) && r.at == r.end;
}

const char *sim_fields_get(const sim_fields *f, const char *format, ...) {
    char path[64];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    for (uint32_t i = 0; i < f->count; i++)
        if (strcmp(f->at[i].path, path) == 0)
            return f->at[i].value;
    return NULL;
}

void sim_fields_read_pairs(sim_fields *f, const char *text) {
    f->count = 0;
    while (*text && f->count < SIM_FIELDS_MAX) {
        sim_field *to = &f->at[f->count];
        if (sscanf(text, "%*[[ ]%63[^] ] %95[^] ]", to->path, to->value) != 2)
            return;
        f->count++;
        text = strchr(strchr(text + 1, ' ') + 1, ' ');
        if (!text)
            return;
    }
}

/* ---- replies of the Redis protocol ---- */

typedef struct reply {
    const char *at, *end;
    char *text;
    size_t len, size;
    bool is_bad;
} reply;

static void put(reply *r, const char *bytes, size_t len) {
    for (size_t i = 0; i < len && r->len + 1 < r->size; i++)
        r->text[r->len++] = bytes[i];
    r->text[r->len] = 0;
}

static bool read_reply(reply *r);

static bool read_bulk(reply *r, long count) {
    if (count < 0) {
        put(r, "nil", 3);
        return true;
    }
    if (r->end - r->at < count + 2)
        return false;
    put(r, r->at, (size_t)count);
    r->at += count + 2;
    return true;
}

static bool read_list(reply *r, long count) {
    if (count < 0) {
        put(r, "nil", 3);
        return true;
    }
    put(r, "[", 1);
    for (long i = 0; i < count; i++) {
        if (i)
            put(r, " ", 1);
        if (!read_reply(r))
            return false;
    }
    put(r, "]", 1);
    return true;
}

/* False: incomplete, or no reply at all. */
static bool read_reply(reply *r) {
    const char *end = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;
    if (!end)
        return false;
    const char *line = r->at + 1;
    char kind = *r->at;
    size_t len = (size_t)(end - line) - 1;
    r->at = end + 1;
    switch (kind) {
    case '-':
        put(r, "-", 1);
        put(r, line, len);
        return true;
    case '+':
    case ':':
        put(r, line, len);
        return true;
    case '$':
        return read_bulk(r, strtol(line, NULL, 10));
    case '*':
        return read_list(r, strtol(line, NULL, 10));
    default:
        r->is_bad = true;
        return false;
    }
}

ptrdiff_t sim_reply_read(const char *bytes, size_t len, char *text, size_t size) {
    reply r = {.at = bytes, .end = bytes + len, .text = text, .size = size};
    text[0] = 0;
    if (read_reply(&r))
        return r.at - bytes;
    return r.is_bad ? -1 : 0;
}
