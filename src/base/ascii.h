/* SPDX-License-Identifier: Apache-2.0 */
/* ascii.h - character classes, independent of the locale. Pure. */
#ifndef RUNG_BASE_ASCII_H
#define RUNG_BASE_ASCII_H

#include <stdbool.h>

static inline bool rung_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static inline bool rung_is_letter(char c) {
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static inline char rung_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* 0 to 15 for a hexadecimal digit of either case, else -1. */
static inline int rung_hex_value(char c) {
    if (rung_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
