/* SPDX-License-Identifier: Apache-2.0 */
/* Fast path: nearly all names are plain ASCII. Check 8 bytes as one word, the last word overlapping the one before;
 * walk character by character only if something else turns up. Fewer than 8 bytes are combined into one word. */
#include "model/utf8.h"

#define ONES RUNG__UTF8_ONES

static bool is_tail(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

/* The ranges of the second byte are those of RFC 3629, section 4. */
size_t rung_utf8_size(const char *text, size_t left) {
    const uint8_t *p = (const uint8_t *)text;
    uint8_t lead = p[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (left < size)
        return 0;
    uint8_t from = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t to = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < from || p[1] > to)
        return 0;
    for (size_t i = 2; i < size; i++)
        if (!is_tail(p[i]))
            return 0;
    return size;
}

static bool is_control(const uint8_t *character) {
    return character[0] < 0x20 || character[0] == 0x7f ||
           (character[0] == 0xc2 && character[1] < 0xa0);
}

/* A word that contains all of 1 to 7 bytes, some of them twice, padded with spaces. */
static inline uint64_t short_word(const uint8_t *p, size_t len) {
    uint32_t first, last;
    if (len < sizeof first)
        return ONES * 0x20 << 24 | (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 | p[len - 1];
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + len - sizeof last, sizeof last);
    return (uint64_t)first << 32 | last;
}

static inline bool is_plain_ascii(const uint8_t *p, size_t len) {
    uint64_t word;
    if (len < sizeof word)
        return !len || rung__utf8_is_ascii_word(short_word(p, len));
    for (; len > sizeof word; p += sizeof word, len -= sizeof word) {
        memcpy(&word, p, sizeof word);
        if (!rung__utf8_is_ascii_word(word))
            return false;
    }
    memcpy(&word, p + len - sizeof word, sizeof word); /* it begins before `p` */
    return rung__utf8_is_ascii_word(word);
}

__attribute__((noinline)) static bool is_valid(const uint8_t *p, size_t len, bool allow_control) {
    for (size_t i = 0, size; i < len; i += size) {
        size = rung_utf8_size((const char *)p + i, len - i);
        if (!size || (allow_control ? p[i] == 0 : is_control(p + i)))
            return false;
    }
    return true;
}

bool rung_utf8_is_text(rung_slice text) {
    const uint8_t *p = (const uint8_t *)text.ptr;
    return is_plain_ascii(p, text.len) || is_valid(p, text.len, true);
}

bool rung__utf8_is_plain(rung_slice text) {
    const uint8_t *p = (const uint8_t *)text.ptr;
    return is_plain_ascii(p, text.len) || is_valid(p, text.len, false);
}
