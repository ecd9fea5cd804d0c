/* SPDX-License-Identifier: Apache-2.0 */
/* numeric: the number of groups, the weight of the first (a power of 10000), the sign, the number of decimals shown,
 * then groups of four decimal digits, without zeros at either end. Everything is big-endian. */
#include "archive/postgres/copy_row.h"

#include "model/text.h"

enum { GROUPS_MAX = 8, POSITIVE = 0, NEGATIVE = 0x4000, PLUS_INF = 0xd000, MINUS_INF = 0xf000 };

static void put_big(rung_buffer *b, uint64_t n, unsigned bytes) {
    if (!rung_buffer_reserve(b, bytes))
        return;
    for (unsigned i = 0; i < bytes; i++)
        b->data[b->len + i] = (char)(n >> (8 * (bytes - 1 - i)));
    b->len += bytes;
}

void rung__pgrow_row(rung_buffer *b, uint16_t columns) {
    put_big(b, columns, 2);
}

void rung__pgrow_null(rung_buffer *b) {
    put_big(b, UINT32_MAX, 4);
}

void rung__pgrow_int(rung_buffer *b, int64_t n) {
    put_big(b, 8, 4);
    put_big(b, (uint64_t)n, 8);
}

void rung__pgrow_int4(rung_buffer *b, int32_t n) {
    put_big(b, 4, 4);
    put_big(b, (uint32_t)n, 4);
}

void rung__pgrow_bool(rung_buffer *b, bool is_on) {
    put_big(b, 1, 4);
    put_big(b, is_on, 1);
}

void rung__pgrow_bytes(rung_buffer *b, const void *bytes, size_t len) {
    put_big(b, len, 4);
    rung_buffer_put(b, bytes, len);
}

void rung__pgrow_text(rung_buffer *b, rung_slice text) {
    if (text.len)
        rung__pgrow_bytes(b, text.ptr, text.len);
    else
        rung__pgrow_null(b);
}

static void put_numeric(rung_buffer *b, const uint16_t *groups, int count, int weight,
                        unsigned sign, unsigned decimals) {
    while (count && groups[0] == 0) {
        groups++;
        count--;
        weight--;
    }
    while (count && groups[count - 1] == 0)
        count--;
    put_big(b, 8 + 2 * (uint64_t)count, 4);
    put_big(b, (uint64_t)count, 2);
    put_big(b, count ? (uint16_t)weight : 0, 2);
    put_big(b, sign, 2);
    put_big(b, decimals, 2);
    for (int i = 0; i < count; i++)
        put_big(b, groups[i], 2);
}

void rung__pgrow_fixed(rung_buffer *b, int64_t fixed, unsigned decimals) {
    static const uint64_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    uint16_t groups[GROUPS_MAX];
    int at = GROUPS_MAX, fraction_groups = (int)(decimals + 3) / 4;
    uint64_t size = fixed < 0 ? -(uint64_t)fixed : (uint64_t)fixed;
    uint64_t whole = size / powers[decimals];
    uint64_t fraction = size % powers[decimals] * powers[(4 - decimals % 4) % 4];
    for (int i = 0; i < fraction_groups; i++, fraction /= 10000)
        groups[--at] = (uint16_t)(fraction % 10000);
    for (; whole; whole /= 10000)
        groups[--at] = (uint16_t)(whole % 10000);
    int count = GROUPS_MAX - at;
    put_numeric(b, groups + at, count, count - fraction_groups - 1, fixed < 0 ? NEGATIVE : POSITIVE,
                decimals);
}

/* The digits of "-12.5e-7" without point and leading zeros; *point_out: how many of them are before the point, which
 * may be negative. */
static int digits_of(const char *text, size_t len, char digits[RUNG_TEXT_NUMBER_MAX],
                     int *point_out) {
    int count = 0, point = 0, exponent = 0;
    bool is_fraction = false;
    size_t i = text[0] == '-';
    for (; i < len && text[i] != 'e'; i++) {
        if (text[i] == '.') {
            is_fraction = true;
            continue;
        }
        if (count || text[i] != '0')
            digits[count++] = (char)(text[i] - '0');
        if (is_fraction ? count == 0 : count > 0)
            point += is_fraction ? -1 : 1;
    }
    if (i < len) {
        bool is_negative = text[i + 1] == '-';
        for (i += 2; i < len; i++)
            exponent = exponent * 10 + (text[i] - '0');
        exponent = is_negative ? -exponent : exponent;
    }
    *point_out = point + exponent;
    return count;
}

void rung__pgrow_real(rung_buffer *b, double real) {
    char text[RUNG_TEXT_NUMBER_MAX], digits[RUNG_TEXT_NUMBER_MAX];
    uint16_t groups[GROUPS_MAX] = {0};
    int point;
    if (__builtin_isinf(real)) {
        put_numeric(b, groups, 0, 0, real < 0 ? MINUS_INF : PLUS_INF, 0);
        return;
    }
    size_t len = rung_text_format_real(real, text);
    int count = digits_of(text, len, digits, &point);
    int weight = (point + 3999) / 4 - 1000; /* of the first group: (point - 1) / 4, rounded down */
    int lead = 4 * (weight + 1) - point;
    for (int i = 0; i < count; i++) {
        static const uint16_t powers[] = {1000, 100, 10, 1};
        int at = lead + i;
        groups[at / 4] = (uint16_t)(groups[at / 4] + digits[i] * powers[at % 4]);
    }
    put_numeric(b, groups, (lead + count + 3) / 4, weight, real < 0 ? NEGATIVE : POSITIVE,
                count > point ? (unsigned)(count - point) : 0);
}

void rung__pgrow_value(rung_buffer *b, const rung_archive_values *v, uint32_t i) {
    if (i >= v->count)
        rung__pgrow_null(b);
    else if (v->types[i] == RUNG_SCORE_REAL)
        rung__pgrow_real(b, v->values[i].d);
    else
        rung__pgrow_fixed(b, v->values[i].i, v->decimals[i]);
}

void rung__pgrow_values(rung_buffer *b, const rung_archive_values *v) {
    for (uint32_t i = 0; i < RUNG_COLUMNS_MAX; i++)
        rung__pgrow_value(b, v, i);
}

/* The type of the elements of an array. */
static uint32_t element_of(uint32_t array) {
    switch (array) {
    case RUNG__ARRAY_INT:
        return 20;
    case RUNG__ARRAY_INT4:
        return 23;
    case RUNG__ARRAY_NUMERIC:
        return 1700;
    default:
        return 25;
    }
}

void rung__pgrow_array_header(char out[RUNG__ARRAY_HEADER], uint32_t type, uint32_t count) {
    /* one dimension, with NULLs, elements of this type, so many, counted from 1 */
    rung_buffer b = {.data = out, .size = RUNG__ARRAY_HEADER};
    const uint32_t words[] = {1, 1, element_of(type), count, 1};
    for (int i = 0; i < 5; i++)
        put_big(&b, words[i], 4);
}
