/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly all names are plain ASCII: look at 8 bytes as one word, the last such word overlapping the one before, and
 * only if something else turns up walk character by character. */
#include "model/utf8.h"

#define ONES ((uint64_t)0x0101010101010101)
#define HIGH (ONES * 0x80)

/* Are all 8 bytes within 0x20 to 0x7e? The second term has a high bit where a byte is below 0x20, the third where it is
 * 0x7f; a borrow can set a wrong one only beside a right one. */
static bool is_plain_word(uint64_t w) {
    uint64_t deleted = w ^ (ONES * 0x7f);
    return ((w | ((w - ONES * 0x20) & ~w) | ((deleted - ONES) & ~deleted)) & HIGH) == 0;
}

static bool is_tail(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

/* The bytes of the character at `p`, where `left` > 0 bytes are; 0 when it is none. The ranges of the second byte
 * are those of RFC 3629, section 4. */
static size_t character_size(const uint8_t *p, size_t left) {
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

static bool is_plain_ascii(const uint8_t *p, size_t len) {
    uint64_t word;
    if (len < sizeof word) {
        bool is_plain = true;
        for (size_t i = 0; i < len; i++)
            is_plain &= (uint8_t)(p[i] - 0x20) < 0x5f;
        return is_plain;
    }
    for (size_t i = 0; i < len - sizeof word; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        if (!is_plain_word(word))
            return false;
    }
    memcpy(&word, p + len - sizeof word, sizeof word);
    return is_plain_word(word);
}

static bool is_valid(const uint8_t *p, size_t len, bool allow_control) {
    for (size_t i = 0, size; i < len; i += size) {
        size = character_size(p + i, len - i);
        if (!size || (allow_control ? p[i] == 0 : is_control(p + i)))
            return false;
    }
    return true;
}

bool rung_utf8_is_text(rung_slice text) {
    const uint8_t *p = (const uint8_t *)text.ptr;
    return is_plain_ascii(p, text.len) || is_valid(p, text.len, true);
}

bool rung_utf8_is_plain(rung_slice text) {
    const uint8_t *p = (const uint8_t *)text.ptr;
    return is_plain_ascii(p, text.len) || is_valid(p, text.len, false);
}
