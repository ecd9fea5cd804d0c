/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "base/assert.h"

#include <string.h>

bool rung_number_parse(const char *text, uint64_t *number_out) {
    uint64_t n = 0;
    if (*text == '\0')
        return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        if (__builtin_mul_overflow(n, UINT64_C(10), &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
            return false;
    }
    *number_out = n;
    return true;
}

/* ---- reading ---- */

enum { OPTIONS_MAX = 128 };

typedef struct reading {
    const rung_option *options;
    size_t count;
    bool is_given[OPTIONS_MAX];
    char *into;
    rung_err *err;
} reading;

static rung_status store(const reading *r, const rung_option *o, const char *value) {
    char *field = r->into + o->offset;
    if (o->kind == RUNG_OPTION_IS_FLAG) {
        *(bool *)field = true;
    } else if (o->kind == RUNG_OPTION_IS_NUMBER) {
        uint64_t number;
        if (!rung_number_parse(value, &number) || number == 0)
            return RUNG_FAIL(r->err, RUNG_EINVAL,
                             "%s: expected a whole number from 1 on, not \"%.60s\"", o->name,
                             value);
        *(uint64_t *)field = number;
    } else if (o->kind == RUNG_OPTION_IS_MANY) {
        rung_words *words = (rung_words *)field;
        if (words->count == RUNG_WORDS_MAX)
            return RUNG_FAIL(r->err, RUNG_EINVAL, "%s: at most %d of them", o->name,
                             RUNG_WORDS_MAX);
        words->word[words->count++] = value;
    } else {
        *(const char **)field = value;
    }
    return RUNG_OK;
}

static rung_status take_operand(reading *r, const char *word) {
    for (size_t i = 0; i < r->count; i++)
        if (rung_option_is_operand(&r->options[i]) &&
            (!r->is_given[i] || r->options[i].kind == RUNG_OPTION_IS_MANY)) {
            r->is_given[i] = true;
            return store(r, &r->options[i], word);
        }
    return RUNG_FAIL(r->err, RUNG_EINVAL, "\"%.60s\" is one word too many", word);
}

/* "--name", "--name=value", or "--name" with its value in the next word, which sets `*used_next`. */
static rung_status take_option(reading *r, const char *word, const char *next, bool *used_next) {
    size_t len = strcspn(word, "=");
    size_t i = 0;
    while (i < r->count &&
           (rung_option_is_operand(&r->options[i]) || strlen(r->options[i].name) != len ||
            memcmp(r->options[i].name, word, len) != 0))
        i++;
    if (i == r->count)
        return RUNG_FAIL(r->err, RUNG_EINVAL, "there is no option %.60s", word);
    const rung_option *o = &r->options[i];
    const char *value = word[len] == '=' ? word + len + 1 : NULL;
    if (r->is_given[i])
        return RUNG_FAIL(r->err, RUNG_EINVAL, "%s is given twice", o->name);
    r->is_given[i] = true;
    if (o->kind == RUNG_OPTION_IS_FLAG && value)
        return RUNG_FAIL(r->err, RUNG_EINVAL, "%s takes no value", o->name);
    if (o->kind != RUNG_OPTION_IS_FLAG && !value) {
        if (!next)
            return RUNG_FAIL(r->err, RUNG_EINVAL, "%s needs a value: %s", o->name, o->value);
        value = next;
        *used_next = true;
    }
    return store(r, o, value);
}

/* A dash alone is a word, and -5 is a number. */
static bool looks_like_option(const char *word) {
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9') &&
           word[1] != '.';
}

rung_status rung_options_read(const rung_option *options, size_t count, int argc, char **argv,
                              void *into, rung_err *err) {
    reading r = {.options = options, .count = count, .into = into, .err = err};
    bool is_plain = false;
    RUNG_ASSERT(count <= OPTIONS_MAX);
    for (int i = 0; i < argc; i++) {
        rung_status st = RUNG_OK;
        bool used_next = false;
        if (!is_plain && strcmp(argv[i], "--") == 0)
            is_plain = true;
        else if (!is_plain && looks_like_option(argv[i]))
            st = take_option(&r, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next);
        else
            st = take_operand(&r, argv[i]);
        if (st < 0)
            return st;
        i += used_next;
    }
    for (size_t i = 0; i < count; i++)
        if ((options[i].kind == RUNG_OPTION_IS_OPERAND || options[i].kind == RUNG_OPTION_IS_MANY) &&
            !r.is_given[i])
            return RUNG_FAIL(err, RUNG_EINVAL, "%s is missing: %s", options[i].name,
                             options[i].help);
    return RUNG_OK;
}

/* ---- help ---- */

bool rung_option_is_operand(const rung_option *o) {
    return o->kind == RUNG_OPTION_IS_OPERAND || o->kind == RUNG_OPTION_IS_OPTIONAL ||
           o->kind == RUNG_OPTION_IS_MANY;
}

enum { USAGE_OPTIONS_MAX = 7 };

void rung_options_print_usage(const rung_option *options, size_t count, FILE *out) {
    size_t option_count = 0;
    for (size_t i = 0; i < count; i++) {
        const rung_option *o = &options[i];
        option_count += !rung_option_is_operand(o);
        if (o->kind == RUNG_OPTION_IS_OPERAND)
            fprintf(out, " %s", o->name);
        else if (o->kind == RUNG_OPTION_IS_OPTIONAL)
            fprintf(out, " [%s]", o->name);
        else if (o->kind == RUNG_OPTION_IS_MANY)
            fprintf(out, " %s ...", o->name);
    }
    if (option_count > USAGE_OPTIONS_MAX) {
        fputs(" [OPTION ...]", out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const rung_option *o = &options[i];
        if (!rung_option_is_operand(o))
            fprintf(out, " [%s%s%s]", o->name, o->value ? " " : "", o->value ? o->value : "");
    }
}

static int left_of(const rung_option *o, char out[80]) {
    return snprintf(out, 80, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
}

void rung_options_print_help(const rung_option *options, size_t count, FILE *out) {
    enum { WIDTH_MIN = 18, WIDTH_MAX = 34 };
    char left[80];
    int width = WIDTH_MIN;
    for (size_t i = 0; i < count; i++) {
        int len = left_of(&options[i], left);
        width = len > width && len <= WIDTH_MAX ? len : width;
    }
    for (size_t i = 0; i < count; i++) {
        if (left_of(&options[i], left) > WIDTH_MAX)
            fprintf(out, "  %s\n  %-*s %s\n", left, width, "", options[i].help);
        else
            fprintf(out, "  %-*s %s\n", width, left, options[i].help);
    }
}
