/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/base64url.h"

static const char alphabet[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

size_t rung_base64url_encode(rung_slice bytes, char *text_out) {
    size_t written = 0;
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (uint8_t)bytes.ptr[i];
        for (held += 8; held >= 6; held -= 6)
            text_out[written++] = alphabet[bits >> (held - 6) & 63];
    }
    if (held)
        text_out[written++] = alphabet[bits << (6 - held) & 63];
    return written;
}

/* The value of a character; -1: not in the alphabet. */
static int value_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool rung_base64url_decode(rung_slice text, uint8_t *bytes_out, size_t *len_out) {
    size_t written = 0;
    uint32_t bits = 0;
    unsigned held = 0;
    if (text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int value = value_of(text.ptr[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes_out[written++] = (uint8_t)(bits >> held);
        }
    }
    if (bits & ((1u << held) - 1)) /* leftover bits would give the same bytes a second text */
        return false;
    *len_out = written;
    return true;
}
