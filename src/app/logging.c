/* SPDX-License-Identifier: Apache-2.0 */
#include "app/logging.h"

#include "cli/terminal.h"
#include "model/calendar.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const level_names[] = {"debug", "info", "warning", "error"};

/* ---- secrets ---- */

static bool names_a_secret(const char *name) {
    static const char *const words[] = {"key",      "token",         "secret",
                                        "password", "authorization", "cookie"};
    for (; *name; name++)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strncasecmp(name, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

static size_t word_end(rung_slice text, size_t at) {
    while (at < text.len && !strchr(" \"',;", text.ptr[at]))
        at++;
    return at;
}

static bool begins(rung_slice text, size_t at, const char *with) {
    size_t len = strlen(with);
    return text.len - at >= len && strncasecmp(text.ptr + at, with, len) == 0;
}

/* If a secret starts at `at`: how many bytes of it to show, and where it ends. 0: none. */
static size_t secret_at(rung_slice text, size_t at, size_t *end_out) {
    static const char *const starts[] = {"Bearer ",      "Basic ",      "rung_read_",
                                         "rung_server_", "rung_admin_", "eyJ"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (begins(text, at, starts[i])) {
            *end_out = word_end(text, at + strlen(starts[i]));
            return strlen(starts[i]);
        }
    if (begins(text, at, "://")) {
        size_t end = word_end(text, at);
        const char *user_end = memchr(text.ptr + at + 3, '@', end - at - 3);
        const char *path = memchr(text.ptr + at + 3, '/', end - at - 3);
        if (user_end && (!path || user_end < path)) {
            *end_out = (size_t)(user_end - text.ptr);
            return 3;
        }
    }
    return 0;
}

enum { TEXT_MAX = 1024 };

/* `text`, cut to TEXT_MAX, with stars for secrets. */
static rung_slice clean(rung_slice text, char out[TEXT_MAX + 8]) {
    size_t n = 0;
    for (size_t at = 0, end; at < text.len && n < TEXT_MAX - 32;) {
        size_t shown = secret_at(text, at, &end);
        if (shown == 0) {
            out[n++] = text.ptr[at++];
            continue;
        }
        memcpy(out + n, text.ptr + at, shown);
        memcpy(out + n + shown, "***", 3);
        n += shown + 3;
        at = end;
    }
    return rung_slice_of(out, n);
}

/* ---- lines ---- */

static void print_field(FILE *f, const rung_logger *l, const rung_log_field *field) {
    char buffer[TEXT_MAX + 8];
    rung_slice text = names_a_secret(field->name) ? RUNG_SLICE("***") : clean(field->text, buffer);
    fprintf(f, l->is_json ? ",\"%s\":" : " %s=", field->name);
    if (!field->text.ptr)
        fprintf(f, "%lld", (long long)field->number);
    else if (l->is_json)
        rung_print_json(f, text);
    else
        rung_print_word(f, text);
}

static void print_line(FILE *f, const rung_logger *l, rung_log_level level, const char *message,
                       size_t count, const rung_log_field *fields) {
    char buffer[TEXT_MAX + 8];
    rung_slice text = clean(rung_slice_str(message), buffer);
    char time[RUNG_TIME_TEXT_MAX];
    rung_clock clock = l->clock.now_ms ? l->clock : rung_clock_real();
    int time_len = (int)rung_time_format(rung_clock_now(&clock), time);
    fprintf(f, "%s%.*s", l->is_json ? "{\"ts\":\"" : "", time_len, time);
    if (l->is_json) {
        fprintf(f, "\",\"level\":\"%s\",\"msg\":", level_names[level]);
        rung_print_json(f, text);
    } else {
        fprintf(f, " %s ", level_names[level]);
        for (size_t i = 0; i < text.len; i++) /* a line is one line */
            fputc((unsigned char)text.ptr[i] < 0x20 ? ' ' : text.ptr[i], f);
    }
    for (size_t i = 0; i < count; i++)
        if (fields[i].name)
            print_field(f, l, &fields[i]);
    fputs(l->is_json ? "}" : "", f);
}

/* The length of the line without its end; 0 if it does not fit. */
static size_t try_format(const rung_logger *l, rung_log_level level, const char *message,
                         size_t field_count, const rung_log_field *fields, char *out, size_t room) {
    FILE *f = fmemopen(out, room, "w");
    if (!f)
        return 0;
    print_line(f, l, level, message, field_count, fields);
    bool is_whole = fflush(f) == 0 && !ferror(f);
    long len = ftell(f);
    fclose(f);
    return is_whole && len > 0 && (size_t)len < room ? (size_t)len : 0;
}

size_t rung_logger_format(const rung_logger *l, rung_log_level level, const char *message,
                          size_t field_count, const rung_log_field *fields,
                          char out[RUNG_LOG_LINE_MAX]) {
    size_t room = RUNG_LOG_LINE_MAX - 1;
    size_t len = try_format(l, level, message, field_count, fields, out, room);
    if (len == 0)
        len = try_format(l, level, message, 0, NULL, out, room);
    out[len++] = '\n';
    return len;
}

void rung_logger_write(const rung_logger *l, rung_log_level level, const char *message,
                       size_t field_count, const rung_log_field *fields) {
    char line[RUNG_LOG_LINE_MAX];
    if (level < l->level)
        return;
    size_t len = rung_logger_format(l, level, message, field_count, fields, line);
    ssize_t done = write(l->fd ? l->fd : STDERR_FILENO, line, len);
    (void)done; /* nobody to tell */
}
